// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registry of kernel consumers: kdapl's own adapters, which glue/device.c knows, and the
 * providers that other modules have added; and the calls that open and close an adapter of
 * either kind.  As in kdat.c, the contracts are at the functions here.
 *
 * All other calls of DAT 1.2 (kdat.c and kdat_*.c) ask kdat_other() for the table of a handle, and
 * call the provider through it.  What keeps that table, the entry of the provider and its module
 * is told in Documentation/locking.rst, References.  No lock is held while another provider is
 * called.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "glue/glue.h"
#include "kdat_call.h"

/*
 * struct entry - a provider that a module has added
 * @list: in entries, in the order of registration
 * @table: the provider's functions
 * @info: its name, version and thread safety; no two entries have the same
 * @owner: the module; NULL if it is built into the kernel
 * @opens: number of its IAs that are open, being opened or being closed
 */
struct entry {
	struct list_head list;
	const DAT_PROVIDER *table;
	DAT_PROVIDER_INFO info;
	struct module *owner;
	unsigned int opens;
	struct rcu_head rcu;
};

/*
 * struct open_ia - an open IA of another provider
 * @closing: a call of dat_ia_close() is closing it
 */
struct open_ia {
	struct list_head list;
	DAT_IA_HANDLE handle;
	struct entry *entry;
	bool closing;
};

/* Protects entries and open_ias; the entries are also read under RCU. */
static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(entries);
static LIST_HEAD(open_ias);

/* ---- to which provider does a handle belong? ----------------------------- */

/**
 * kdat_provider_at - the slow half of kdat_other()
 * @handle: not a handle of kdapl
 *
 * If no module has added a provider, the handle is not dereferenced.  Otherwise it is, in a way
 * that does no harm if there is no memory at that address.  Any context.  Rule E5.
 *
 * Return: the table of a provider, which stays valid while the consumer has an IA of that
 * provider open; or NULL.
 */
const DAT_PROVIDER *kdat_provider_at(DAT_HANDLE handle)
{
	const DAT_PROVIDER *word, *table = NULL;
	struct entry *e;

	if (list_empty(&entries) ||
	    get_kernel_nofault(word, (const DAT_PROVIDER *const *)handle))
		return NULL;
	rcu_read_lock();
	list_for_each_entry_rcu(e, &entries, list)
		if (e->table == word)
			table = word;
	rcu_read_unlock();
	return table;
}

/* ---- which provider opens an adapter? ------------------------------------ */

static bool is_name(const char *name)
{
	size_t length = strnlen(name, DAT_NAME_MAX_LENGTH);

	return length && length < DAT_NAME_MAX_LENGTH;
}

/* Has kdapl an adapter of that name? */
static bool is_own_name(const char *name)
{
	struct kdapl_device *dev = kdapl_device_get(name, &init_net);

	if (dev)
		kdapl_device_put(dev);
	return dev;
}

/* What all adapters of kdapl have in common; only their names differ. */
static const DAT_PROVIDER_INFO own = {
	.dapl_version_major = DAT_VERSION_MAJOR,
	.dapl_version_minor = DAT_VERSION_MINOR,
	.is_thread_safe = DAT_TRUE,
};

/* Compares version and thread safety, not the names. */
static bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       !a->is_thread_safe == !b->is_thread_safe;
}

/*
 * The subtype that says why a provider does not serve what is asked for; DAT_NO_SUBTYPE: it does.
 * The subtypes are numbered in the order of the comparisons (G9).
 */
static u32 version_lacks(const DAT_PROVIDER_INFO *info, const DAT_PROVIDER_INFO *asked)
{
	if (info->dapl_version_major != asked->dapl_version_major)
		return DAT_MAJOR_NOT_FOUND;
	if (info->dapl_version_minor < asked->dapl_version_minor)
		return DAT_MINOR_NOT_FOUND;
	if (asked->is_thread_safe && !info->is_thread_safe)
		return DAT_THREAD_SAFETY_NOT_FOUND;
	return DAT_NO_SUBTYPE;
}

/* Is @info better than @than, when both serve what is asked for (G9)? */
static bool is_better(const DAT_PROVIDER_INFO *info, const DAT_PROVIDER_INFO *than,
		      const DAT_PROVIDER_INFO *asked)
{
	if (info->dapl_version_minor != than->dapl_version_minor)
		return info->dapl_version_minor < than->dapl_version_minor;
	return !info->is_thread_safe == !asked->is_thread_safe &&
	       !than->is_thread_safe != !asked->is_thread_safe;
}

/*
 * Finds the entry that serves best what is asked for.  Its @opens is incremented, and a reference
 * to its module taken.  NULL: no entry serves it, or an adapter of kdapl serves it as well or
 * better.  @lacking: out: the subtype of the entry that has passed most of the comparisons.
 */
static struct entry *entry_get(const DAT_PROVIDER_INFO *asked, u32 *lacking)
{
	const DAT_PROVIDER_INFO *best = NULL;
	struct entry *e, *found = NULL;
	u32 why;

	if (is_own_name(asked->ia_name) && !version_lacks(&own, asked))
		best = &own;
	mutex_lock(&registry_lock);
	list_for_each_entry(e, &entries, list) {
		if (strcmp(e->info.ia_name, asked->ia_name))
			continue;
		why = version_lacks(&e->info, asked);
		*lacking = max(*lacking, why);
		if (why || (best && !is_better(&e->info, best, asked)))
			continue;
		best = &e->info;
		found = e;
	}
	/* If the module is being unloaded, it is about to remove its provider. */
	if (found && !try_module_get(found->owner))
		found = NULL;
	if (found)
		found->opens++;
	mutex_unlock(&registry_lock);
	return found;
}

static void entry_put(struct entry *e)
{
	mutex_lock(&registry_lock);
	e->opens--;
	module_put(e->owner);
	mutex_unlock(&registry_lock);
}

/* ---- adding, removing, listing ------------------------------------------- */

static struct entry *find_entry(const DAT_PROVIDER_INFO *info)
{
	struct entry *e;

	lockdep_assert_held(&registry_lock);
	list_for_each_entry(e, &entries, list)
		if (same_key(&e->info, info) && !strcmp(e->info.ia_name, info->ia_name))
			return e;
	return NULL;
}

/* Checks the arguments of adding and removing that do not depend on the registry. */
static DAT_RETURN check_args(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (!provider)
		return RET_BAD_ARG(1);
	if (!info || !is_name(info->ia_name))
		return RET_BAD_ARG(2);
	return DAT_SUCCESS;
}

/**
 * kdat_registry_add_provider - add a provider of another module
 * @provider: the table of its functions, null for those that it does not have.  The table must
 *	not move until the provider is removed, and each handle of the provider has to point to
 *	something whose first word is the address of the table
 * @provider_info: the name for dat_ia_open(), version, thread safety; copied
 * @owner: the module; it is not unloaded while an IA of the provider is open
 *
 * dat_registry_add_provider() of <dat/dat_registry.h> calls this with the module that it is
 * compiled into.
 *
 * From now on the adapter is listed, and can be opened by its name.  Calls of DAT 1.2 on its
 * handles go to the provider, which determines in which contexts each may be made; a call that
 * its table does not have returns DAT_NOT_IMPLEMENTED.  The calls that <dat/kdat_linux.h> adds
 * are for kdapl's adapters only, and treat a handle of another provider as an invalid handle.
 * The same table may be added under several names.  The module has to remove the provider
 * before it is unloaded.  Process context.  Rules G2, G5, G8.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a null @provider, /ARG2 for a null
 * @provider_info or a name that is empty or not terminated; DAT_PROVIDER_ALREADY_REGISTERED if
 * another provider, or an adapter of kdapl, has the same name, version and thread safety;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN kdat_registry_add_provider(const DAT_PROVIDER *provider,
				      const DAT_PROVIDER_INFO *provider_info,
				      struct module *owner)
{
	DAT_RETURN ret = check_args(provider, provider_info);
	struct entry *e;

	if (ret)
		return ret;
	if (same_key(provider_info, &own) && is_own_name(provider_info->ia_name))
		return RET(PROVIDER_ALREADY_REGISTERED);
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return RET_NO_RESOURCE(MEMORY);
	e->table = provider;
	e->info = *provider_info;
	e->owner = owner;
	mutex_lock(&registry_lock);
	if (find_entry(provider_info)) {
		mutex_unlock(&registry_lock);
		kfree(e);
		return RET(PROVIDER_ALREADY_REGISTERED);
	}
	list_add_tail_rcu(&e->list, &entries);
	mutex_unlock(&registry_lock);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL(kdat_registry_add_provider);

/**
 * dat_registry_remove_provider - remove a provider from the registry
 * @provider: as it was added
 * @provider_info: as it was added
 *
 * Process context.  Rules G6, G7.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a null @provider, and for another one
 * than was added with this info, /ARG2 for a null @provider_info, a bad name, and info that was
 * not added; DAT_PROVIDER_IN_USE while an IA of the provider is open, being opened or being
 * closed.
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret = check_args(provider, provider_info);
	struct entry *e;

	if (ret)
		return ret;
	mutex_lock(&registry_lock);
	e = find_entry(provider_info);
	if (!e)
		ret = RET_BAD_ARG(2);
	else if (e->table != provider)
		ret = RET_BAD_ARG(1);
	else if (e->opens)
		ret = RET(PROVIDER_IN_USE);
	else
		list_del_rcu(&e->list);
	mutex_unlock(&registry_lock);
	if (ret == DAT_SUCCESS)
		kfree_rcu(e, rcu);
	return ret;
}
EXPORT_SYMBOL(dat_registry_remove_provider);

/* Do the first @number entries of a caller's list point to structures? */
static bool has_room(DAT_PROVIDER_INFO *const list[], DAT_COUNT number)
{
	DAT_COUNT i;

	for (i = 0; i < number; i++)
		if (!list || !list[i])
			return false;
	return true;
}

/**
 * dat_registry_list_providers - list the adapters that can be opened
 * @max_to_return: length of @dat_provider_list; with 0 only the number is returned, and
 *	the call returns ARG1 unless that is 0, too
 * @entries_returned: out: how many adapters there are
 * @dat_provider_list: pointers to structures of the caller, which are filled in
 *
 * The list has first the providers that modules have added, then kdapl's adapters, both in
 * the order of their registration.  Process context.  Rules G12, G13.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 if there are more adapters than
 * @max_to_return (@entries_returned is set in this case, too), /ARG2 for a null
 * @entries_returned, /ARG3 for a null list or a null pointer in it.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	DAT_COUNT added = 0, adapters = 0, left = -1, i = 0;
	DAT_PROVIDER_INFO **rest = NULL;
	struct entry *e;
	DAT_RETURN ret;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (!entries_returned)
		return RET_BAD_ARG(2);
	mutex_lock(&registry_lock);
	list_for_each_entry(e, &entries, list)
		added++;
	if (max_to_return >= added) {
		left = max_to_return - added;
		if (has_room(dat_provider_list, added))
			rest = dat_provider_list + added;
	}
	/*
	 * ARG1 (too few places) takes precedence over ARG3 (a null pointer), so ask the core
	 * even if it is certain that there is one of them: left is -1, or rest NULL, then.
	 */
	ret = kdapl_registry_list(SPACE, left, &adapters, rest);
	if (ret == DAT_SUCCESS && added && !rest)
		ret = RET_BAD_ARG(3);
	if (ret != RET_BAD_ARG(3))
		*entries_returned = added + adapters;
	if (ret == DAT_SUCCESS)
		list_for_each_entry(e, &entries, list)
			*dat_provider_list[i++] = e->info;
	mutex_unlock(&registry_lock);
	return ret;
}
EXPORT_SYMBOL(dat_registry_list_providers);

/* ---- opening and closing ------------------------------------------------- */

/* Makes the provider of an entry, whose @opens counts this, open the adapter. */
static DAT_RETURN entry_open(struct entry *e, const DAT_NAME_PTR name, DAT_COUNT qlen,
			     DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	struct open_ia *open;
	DAT_RETURN ret;

	open = kzalloc(sizeof(*open), GFP_KERNEL);
	if (!open)
		return RET_NO_RESOURCE(MEMORY);
	open->entry = e;
	ret = KDAT_THEIRS(e->table, ia_open, name, qlen, async_evd, &open->handle);
	if (ret == DAT_SUCCESS && kdat_other(open->handle) != e->table) {
		/* With such a handle no call of the consumer would reach the provider. */
		KDAT_THEIRS(e->table, ia_close, open->handle, DAT_CLOSE_ABRUPT_FLAG);
		ret = RET(INTERNAL_ERROR);
	}
	if (ret != DAT_SUCCESS) {
		kfree(open);
		return ret;
	}
	mutex_lock(&registry_lock);
	list_add(&open->list, &open_ias);
	mutex_unlock(&registry_lock);
	*ia = open->handle;
	return DAT_SUCCESS;
}

/**
 * dat_ia_openv - open an adapter
 * @ia_name: name in the registry, at most 255 bytes; "<device>-<port>" for an adapter of kdapl
 * @asynch_evd_min_qlen: length of the async EVD to be made, 1 .. max_evd_qlen;
 *	ignored if @asynch_evd_handle points to an EVD
 * @asynch_evd_handle: in: null, or an EVD of this adapter with the async flag;
 *	out: the async EVD.  An EVD that is made here has no upcall (E112)
 * @ia_handle: out: the IA
 * @dat_version_major: major version of DAT that the consumer was compiled for
 * @dat_version_minor: minor version of the same
 * @thread_safety: DAT_TRUE: the provider has to be thread safe.  kdapl always is
 *
 * Usually called as dat_ia_open().  An adapter of kdapl is opened if there is one of that name
 * that suits the request, unless a provider that a module has added under that name suits it
 * better.  If a provider opens the adapter, its return code is returned.  Process context.
 * Rules I1..I10, E112, G9.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a bad name, /ARG2 for the
 * length, /ARG3 and /ARG4 for null pointers; DAT_INVALID_HANDLE/EVD_ASYNC for
 * an EVD without the async flag, or of another adapter;
 * DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED for an adapter that does not exist
 * or has no address, /MAJOR_NOT_FOUND, /MINOR_NOT_FOUND, /THREAD_SAFETY_NOT_FOUND;
 * DAT_INSUFFICIENT_RESOURCES/TEVD for a length above max_evd_qlen, /MEMORY;
 * DAT_INTERNAL_ERROR if another provider's handle does not begin with its table.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name,
			DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_version_major,
			DAT_UINT32 dat_version_minor,
			DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO asked = {
		.dapl_version_major = dat_version_major,
		.dapl_version_minor = dat_version_minor,
		.is_thread_safe = thread_safety,
	};
	u32 lacking = DAT_NO_SUBTYPE;
	struct entry *e = NULL;
	DAT_RETURN ret;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	/* If one of these arguments is wrong, kdapl_ia_open() returns the code for it. */
	if (ia_name && is_name(ia_name) && asynch_evd_handle && ia_handle) {
		strscpy(asked.ia_name, ia_name, sizeof(asked.ia_name));
		e = entry_get(&asked, &lacking);
	}
	if (e) {
		ret = entry_open(e, ia_name, asynch_evd_min_qlen, asynch_evd_handle, ia_handle);
		if (ret != DAT_SUCCESS)
			entry_put(e);
		return ret;
	}
	ret = kdapl_ia_open(SPACE, ia_name, asynch_evd_min_qlen,
			    asynch_evd_handle, dat_version_major,
			    dat_version_minor, thread_safety, ia_handle);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND && DAT_GET_SUBTYPE(ret) < lacking)
		ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, lacking);
	return ret;
}
EXPORT_SYMBOL(dat_ia_openv);

/*
 * Finds the IA of another provider by its handle, and marks it as being closed; NULL: there is
 * none, or somebody else is closing it.
 */
static struct open_ia *begin_close(DAT_IA_HANDLE handle)
{
	struct open_ia *open, *found = NULL;

	mutex_lock(&registry_lock);
	list_for_each_entry(open, &open_ias, list)
		if (open->handle == handle && !open->closing)
			found = open;
	if (found)
		found->closing = true;
	mutex_unlock(&registry_lock);
	return found;
}

static DAT_RETURN other_close(struct open_ia *open, DAT_CLOSE_FLAGS flags)
{
	struct entry *e = open->entry;
	DAT_RETURN ret;

	ret = KDAT_THEIRS(e->table, ia_close, open->handle, flags);
	mutex_lock(&registry_lock);
	open->closing = false;
	if (ret == DAT_SUCCESS)
		list_del(&open->list);
	mutex_unlock(&registry_lock);
	if (ret == DAT_SUCCESS) {
		kfree(open);
		entry_put(e);
	}
	return ret;
}

/**
 * dat_ia_close - close an adapter
 * @ia_handle: an IA
 * @close_flags: abrupt: the IA and everything that was made on it is freed; graceful: only
 *	if nothing is left on the IA but the async EVD that its open has made, and no other
 *	open IA uses that EVD
 *
 * When this has returned, no upcall of the IA's EVDs runs or will run.  Waits up to 9 s for
 * peers that have not answered a disconnect yet.  Process context, but not from an upcall of
 * the same IA.  Rules I11..I18, E102, E108.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for
 * other flags; DAT_INVALID_STATE/IA_IN_USE for a graceful close while objects are
 * left or another IA uses the async EVD, and for any close from an upcall of the IA.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct open_ia *open = NULL;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (kdat_other(ia_handle))
		open = begin_close(ia_handle);
	if (open)
		return other_close(open, close_flags);
	return kdapl_ia_close(SPACE, ia_handle, close_flags);
}
EXPORT_SYMBOL(dat_ia_close);
