// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Providers of other modules, in the registry of kernel consumers: who they are, who has their
 * adapters open, and to whom a handle belongs.
 *
 * A handle of another provider is the address of something whose first word is the address of
 * the provider's table.  Tokens of kdapl's objects have not got the highest bit, addresses
 * have.  So whoever looks a handle up asks here only for what cannot be a token, and the data
 * path only when its look-up has failed.  Spaces of processes have no other providers.
 *
 * An open IA holds a reference of its provider's module.
 *
 * Callers: face/kdat.c, face/kdat_registry.c; post.c and evd_fifo.c.
 */
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "../glue/glue.h"
#include "provider.h"
#include "ret.h"

/**
 * struct provider - what a module has added
 * @entry: in the order of the registration; read under RCU
 * @table: of its functions
 * @info: a copy
 * @owner: the module, NULL for one that is not known
 * @opens: IAs that are open, or being opened
 */
struct provider {
	struct list_head entry;
	const DAT_PROVIDER *table;
	DAT_PROVIDER_INFO info;
	struct module *owner;
	unsigned int opens;
	struct rcu_head rcu;
};

/* An IA of another provider; @closing: somebody closes it. */
struct open_ia {
	struct list_head entry;
	DAT_IA_HANDLE handle;
	struct provider *provider;
	bool closing;
};

/* Of all of this, held for moments. */
static DEFINE_MUTEX(provider_lock);
static LIST_HEAD(providers);
static LIST_HEAD(open_ias);
/* How many are open, or being opened: without any no handle is followed. */
static atomic_t nr_open;

static bool is_name(const DAT_PROVIDER_INFO *info)
{
	size_t length = strnlen(info->ia_name, sizeof(info->ia_name));

	return length && length < sizeof(info->ia_name);
}

static struct provider *find_provider(const DAT_PROVIDER_INFO *info)
{
	struct provider *p;

	lockdep_assert_held(&provider_lock);
	list_for_each_entry(p, &providers, entry)
		if (p->info.dapl_version_major == info->dapl_version_major &&
		    p->info.dapl_version_minor == info->dapl_version_minor &&
		    !p->info.is_thread_safe == !info->is_thread_safe &&
		    !strcmp(p->info.ia_name, info->ia_name))
			return p;
	return NULL;
}

/* Is it the key of an adapter of kdapl's (G8)? */
static bool is_own(const DAT_PROVIDER_INFO *info)
{
	struct kdapl_device *dev;

	if (info->dapl_version_major != DAT_VERSION_MAJOR ||
	    info->dapl_version_minor != DAT_VERSION_MINOR || !info->is_thread_safe)
		return false;
	dev = kdapl_device_get(info->ia_name, &init_net);
	if (dev)
		kdapl_device_put(dev);
	return dev;
}

/**
 * kdapl_provider_add - dat_registry_add_provider
 * @table: of its functions
 * @info: copied
 * @owner: kept loaded while an IA is open, or NULL
 *
 * May sleep.  Rule G5.
 *
 * Return: as dat_registry_add_provider().
 */
DAT_RETURN kdapl_provider_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info,
			      struct module *owner)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct provider *p;

	if (!table)
		return RET_BAD_ARG(1);
	if (!info || !is_name(info))
		return RET_BAD_ARG(2);
	if (is_own(info))
		return RET(PROVIDER_ALREADY_REGISTERED);
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return RET_NO_RESOURCE(MEMORY);
	p->table = table;
	p->info = *info;
	p->owner = owner;
	mutex_lock(&provider_lock);
	if (find_provider(info))
		ret = RET(PROVIDER_ALREADY_REGISTERED);
	else
		list_add_tail_rcu(&p->entry, &providers);
	mutex_unlock(&provider_lock);
	if (ret != DAT_SUCCESS)
		kfree(p);
	return ret;
}

/**
 * kdapl_provider_remove - dat_registry_remove_provider
 * @table: as it was added
 * @info: the same
 *
 * May sleep.  Rules G6, G7.
 *
 * Return: as dat_registry_remove_provider().
 */
DAT_RETURN kdapl_provider_remove(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct provider *p;

	if (!table)
		return RET_BAD_ARG(1);
	if (!info || !is_name(info))
		return RET_BAD_ARG(2);
	mutex_lock(&provider_lock);
	p = find_provider(info);
	if (!p)
		ret = RET_BAD_ARG(2);
	else if (p->table != table)
		ret = RET_BAD_ARG(1);
	else if (p->opens)
		ret = RET(PROVIDER_IN_USE);
	else
		list_del_rcu(&p->entry);
	mutex_unlock(&provider_lock);
	if (ret == DAT_SUCCESS)
		kfree_rcu(p, rcu);
	return ret;
}

/**
 * kdapl_provider_list - those that were added
 * @max: room in @list
 * @number: out: how many there are
 * @list: filled if all have room there; not looked at otherwise
 *
 * May sleep.  Rule G13.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 when there are more, /ARG3 for a null
 * pointer.
 */
DAT_RETURN kdapl_provider_list(DAT_COUNT max, DAT_COUNT *number, DAT_PROVIDER_INFO *list[])
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct provider *p;
	DAT_COUNT n = 0;

	mutex_lock(&provider_lock);
	*number = 0;
	list_for_each_entry(p, &providers, entry)
		(*number)++;
	if (*number > max)
		ret = RET_BAD_ARG(1);
	list_for_each_entry(p, &providers, entry) {
		if (ret == DAT_SUCCESS && (!list || !list[n]))
			ret = RET_BAD_ARG(3);
		if (ret != DAT_SUCCESS)
			break;
		*list[n++] = p->info;
	}
	mutex_unlock(&provider_lock);
	return ret;
}

/* What it lacks of what is asked for: a subtype; they have the order of the comparisons (G9). */
static u32 lacks(const struct provider *p, const DAT_PROVIDER_INFO *asked)
{
	if (strcmp(p->info.ia_name, asked->ia_name))
		return DAT_NAME_NOT_REGISTERED;
	if (p->info.dapl_version_major != asked->dapl_version_major)
		return DAT_MAJOR_NOT_FOUND;
	if (p->info.dapl_version_minor < asked->dapl_version_minor)
		return DAT_MINOR_NOT_FOUND;
	if (asked->is_thread_safe && !p->info.is_thread_safe)
		return DAT_THREAD_SAFETY_NOT_FOUND;
	return DAT_NO_SUBTYPE;
}

/* Of two that serve it, is it the better one (G9)? */
static bool is_better(const struct provider *p, const struct provider *than,
		      const DAT_PROVIDER_INFO *asked)
{
	if (!than || p->info.dapl_version_minor != than->info.dapl_version_minor)
		return !than || p->info.dapl_version_minor < than->info.dapl_version_minor;
	return !p->info.is_thread_safe == !asked->is_thread_safe;
}

/* The provider for what is asked, with a reference of its module; or what is lacking. */
static struct provider *begin_open(const DAT_PROVIDER_INFO *asked, u32 *lacking)
{
	struct provider *p, *best = NULL;

	*lacking = DAT_NAME_NOT_REGISTERED;
	mutex_lock(&provider_lock);
	list_for_each_entry(p, &providers, entry) {
		*lacking = max(*lacking, lacks(p, asked));
		if (!lacks(p, asked) && is_better(p, best, asked))
			best = p;
	}
	/* A module that is being unloaded is not there any more. */
	if (best && !try_module_get(best->owner))
		best = NULL;
	if (best) {
		best->opens++;
		atomic_inc(&nr_open);
	}
	mutex_unlock(&provider_lock);
	return best;
}

static void end_open(struct provider *p)
{
	struct module *owner = p->owner;

	mutex_lock(&provider_lock);
	p->opens--;
	mutex_unlock(&provider_lock);
	atomic_dec(&nr_open);
	module_put(owner);
}

/* Does the handle begin with the address of the table? */
static bool begins_with(DAT_HANDLE handle, const DAT_PROVIDER *table)
{
	const DAT_PROVIDER *word;

	return (long)(uintptr_t)handle < 0 && !get_kernel_nofault(word, (void **)handle) &&
	       word == table;
}

/**
 * kdapl_provider_open - open an adapter that a module has added
 * @asked: its name, version and thread safety
 * @qlen: of dat_ia_openv()
 * @async_evd: of dat_ia_openv()
 * @ia: out
 * @ret: out: what dat_ia_openv() returns, or would if kdapl had no such adapter either
 *
 * May sleep.  Rules G7, G9.
 *
 * Return: false if no provider serves that.
 */
bool kdapl_provider_open(const DAT_PROVIDER_INFO *asked, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_HANDLE *ia, DAT_RETURN *ret)
{
	DAT_IA_HANDLE handle = DAT_HANDLE_NULL;
	struct open_ia *open;
	struct provider *p;
	u32 lacking;

	p = begin_open(asked, &lacking);
	if (!p) {
		*ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, lacking);
		return false;
	}
	*ret = RET_NO_RESOURCE(MEMORY);
	open = kzalloc(sizeof(*open), GFP_KERNEL);
	if (!open)
		goto out;
	*ret = KDAPL_THEIRS(p->table, ia_open, (DAT_NAME_PTR)asked->ia_name, qlen, async_evd,
			    &handle);
	if (*ret == DAT_SUCCESS && !begins_with(handle, p->table)) {
		/* Nobody could ever call it. */
		KDAPL_THEIRS(p->table, ia_close, handle, DAT_CLOSE_ABRUPT_FLAG);
		*ret = RET(INTERNAL_ERROR);
	}
out:
	if (*ret != DAT_SUCCESS) {
		kfree(open);
		end_open(p);
		return true;
	}
	open->handle = handle;
	open->provider = p;
	mutex_lock(&provider_lock);
	list_add(&open->entry, &open_ias);
	mutex_unlock(&provider_lock);
	*ia = handle;
	return true;
}

/* The IA of a handle, which nobody else closes now. */
static struct open_ia *begin_close(DAT_IA_HANDLE handle)
{
	struct open_ia *open, *found = NULL;

	mutex_lock(&provider_lock);
	list_for_each_entry(open, &open_ias, entry)
		if (open->handle == handle && !open->closing)
			found = open;
	if (found)
		found->closing = true;
	mutex_unlock(&provider_lock);
	return found;
}

/**
 * kdapl_provider_close - close an adapter of another provider
 * @ia: any handle
 * @flags: of dat_ia_close()
 * @ret: out: what dat_ia_close() returns
 *
 * May sleep.  Rule G7.
 *
 * Return: false if it is no such adapter, or another caller closes it.
 */
bool kdapl_provider_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags, DAT_RETURN *ret)
{
	struct open_ia *open = begin_close(ia);
	struct provider *p;

	if (!open)
		return false;
	p = open->provider;
	*ret = KDAPL_THEIRS(p->table, ia_close, ia, flags);
	mutex_lock(&provider_lock);
	open->closing = false;
	if (*ret == DAT_SUCCESS)
		list_del(&open->entry);
	mutex_unlock(&provider_lock);
	if (*ret != DAT_SUCCESS)
		return true;
	kfree(open);
	end_open(p);
	return true;
}

/**
 * kdapl_provider_of - the slow half of kdapl_other()
 * @handle: an address
 *
 * While an IA of another provider is open the handle is followed, if there is memory behind
 * it.  Any context.
 *
 * Return: a table, good while the consumer has an IA of it open; or NULL.
 */
const DAT_PROVIDER *kdapl_provider_of(DAT_HANDLE handle)
{
	const DAT_PROVIDER *word, *table = NULL;
	struct provider *p;

	if (!atomic_read(&nr_open) || get_kernel_nofault(word, (void **)handle))
		return NULL;
	rcu_read_lock();
	list_for_each_entry_rcu(p, &providers, entry)
		if (p->table == word)
			table = word;
	rcu_read_unlock();
	return table;
}

/**
 * kdapl_provider_post - a post whose endpoint is not kdapl's
 * @space: of the caller
 * @ep: what it has for a handle
 * @dto: what to post
 *
 * Any context.
 *
 * Return: what its provider returns; DAT_INVALID_HANDLE/EP if it has none.
 */
DAT_RETURN kdapl_provider_post(struct kdapl_space *space, DAT_EP_HANDLE ep,
			       const struct kdapl_dto *dto)
{
	const DAT_PROVIDER *other = space->user ? NULL : kdapl_other(ep);
	DAT_LMR_TRIPLET *iov = (DAT_LMR_TRIPLET *)dto->iov;

	if (!other)
		return RET_BAD_HANDLE(EP);
	switch (dto->kind) {
	case KDAPL_DTO_SEND:
		return KDAPL_THEIRS(other, ep_post_send, ep, dto->segments, iov, dto->cookie,
				    dto->flags);
	case KDAPL_DTO_RECV:
		return KDAPL_THEIRS(other, ep_post_recv, ep, dto->segments, iov, dto->cookie,
				    dto->flags);
	case KDAPL_DTO_RDMA_READ:
		return KDAPL_THEIRS(other, ep_post_rdma_read, ep, dto->segments, iov, dto->cookie,
				    dto->remote, dto->flags);
	case KDAPL_DTO_RDMA_WRITE:
		return KDAPL_THEIRS(other, ep_post_rdma_write, ep, dto->segments, iov, dto->cookie,
				    dto->remote, dto->flags);
	default:
		/* A send that takes a key away is no call of DAT 1.2. */
		return RET(NOT_IMPLEMENTED);
	}
}

/**
 * kdapl_provider_dequeue - dat_evd_dequeue for an EVD that is not kdapl's
 * @space: of the caller
 * @evd: what it has for a handle
 * @event: out
 *
 * Any context.
 *
 * Return: what its provider returns; DAT_INVALID_HANDLE/EVD_REQUEST if it has none.
 */
DAT_RETURN kdapl_provider_dequeue(struct kdapl_space *space, DAT_EVD_HANDLE evd,
				  DAT_EVENT *event)
{
	const DAT_PROVIDER *other = space->user ? NULL : kdapl_other(evd);

	return other ? KDAPL_THEIRS(other, evd_dequeue, evd, event) : RET_BAD_HANDLE(EVD_REQUEST);
}
