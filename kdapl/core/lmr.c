// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Local Memory Regions: dat_lmr_create and dat_lmr_kcreate, query, free, sync,
 * dat_ia_memtype_hint.  Each segment of a post is checked in common/dto/check.h.
 *
 * The life of an LMR: memory is registered with the device (glue/mr.c), the
 * lmr_context made known to posts, the handle published; to free it, the other
 * way round, with a wait in between for posts that still use the device's key.
 * lmr_contexts are ours, not the device's keys, which no process may name (A8).
 */
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "core.h"
#include "drain.h"
#include "fmr.h"
#include "ia.h"
#include "lmr.h"
#include "op.h"
#include "srq.h"
#include "rmr.h"

/* The arguments of one creation, and what their handles name. */
struct lmr_args {
	struct kdapl_space *space;
	struct kdapl_ia *ia;
	struct kdapl_pz *pz;
	struct kdapl_lmr *source;	/* for DAT_MEM_TYPE_LMR only */
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION description;
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_MEM_OPTIMIZE_FLAGS mem_optimization;
	u32 max_pages;			/* for dat_lmr_allocate only */
	bool remote;			/* the same */
	DAT_LMR_HANDLE *handle;
	struct kdapl_pages *pages;	/* pinned, until they are registered */
};

/*
 * Creation
 */

/**
 * kdapl_lmr_max_length - the most that one LMR can have on a device
 * @dev: device
 *
 * It is the IA attribute max_lmr_block_size.  Memory that is not contiguous may reach the
 * device's number of pages earlier.  Any context.  Rule mt:M11.
 *
 * Return: bytes.
 */
u64 kdapl_lmr_max_length(const struct kdapl_device *dev)
{
	u64 page = dev->attrs.page_size_cap & (SZ_4G - 1);
	u64 mapped;

	/* The largest page that struct ib_mr can name. */
	page = page ? 1ULL << __fls(page) : PAGE_SIZE;
	mapped = page * max(dev->max_frmr_pages, 1U);
	return dev->attrs.max_mr_size ? min(dev->attrs.max_mr_size, mapped) :
					mapped;
}

static DAT_RETURN check_mem_type(const struct kdapl_space *space,
				 DAT_MEM_TYPE mem_type)
{
	switch ((u32)mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
		return DAT_SUCCESS;
	case KDAPL_MEM_TYPE_SHARED_VIRTUAL:
		return space->user ? DAT_SUCCESS : RET_BAD_ARG(2);
	case DAT_MEM_TYPE_PHYSICAL:
		return space->user ? RET_BAD_ARG(2) : DAT_SUCCESS;
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
		return space->user ? RET_BAD_ARG(2) :
		       RET(MODEL_NOT_SUPPORTED);
	default:
		return RET_BAD_ARG(2);
	}
}

static bool known_optimization(DAT_MEM_OPTIMIZE_FLAGS hint)
{
	switch ((u32)hint) {
	case DAT_MEM_OPTIMIZE_DONT_CARE:
	case DAT_MEM_OPTIMIZE_IA:
	case DAT_MEM_OPTIMIZE_MIN_EXPOSURE:
	case DAT_MEM_OPTIMIZE_EXACT_EXPOSURE:
		return true;
	default:
		return false;
	}
}

/* Where the memory of an LMR without source begins. */
static u64 start_of(const struct lmr_args *args)
{
	return args->mem_type == DAT_MEM_TYPE_PHYSICAL ?
	       args->description.for_pa :
	       (uintptr_t)args->description.for_va;
}

/* In the order of the arguments (E3), whose numbers differ between the two calls. */
static DAT_RETURN check_args(const struct lmr_args *args)
{
	DAT_RETURN ret = check_mem_type(args->space, args->mem_type);

	if (ret)
		return ret;
	if (!args->source &&
	    (!args->length ||
	     args->length - 1 > U64_MAX - start_of(args) ||
	     args->length > kdapl_lmr_max_length(args->ia->dev)))
		return RET_BAD_ARG(4);
	if (args->privileges & ~KDAPL_LMR_PRIVILEGES)
		return RET_BAD_ARG(6);
	if (args->privileges & KDAPL_MEM_PRIV_ATOMIC && !args->ia->dev->answers_atomics)
		return RET(MODEL_NOT_SUPPORTED);
	if (args->space->user)
		return args->handle ? DAT_SUCCESS : RET_BAD_ARG(7);
	if (!known_optimization(args->mem_optimization))
		return RET_BAD_ARG(7);
	return args->handle ? DAT_SUCCESS : RET_BAD_ARG(8);
}

static int access_of(DAT_MEM_PRIV_FLAGS privileges)
{
	int access = 0;

	if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (privileges & KDAPL_MEM_PRIV_ATOMIC)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

static DAT_RETURN reg_failed(int error)
{
	switch (error) {
	case -EFAULT:
		return RET_BAD_ARG(3);
	case -EACCES:
		return RET_BAD_ARG(6);
	case -E2BIG:
		return RET_BAD_ARG(4);
	case -ENOMEM:
	case -EPERM:
		return RET_NO_RESOURCE(MEMORY);
	default:
		return RET_NO_RESOURCE(MEMORY_REGION);
	}
}

/* Can the new LMR use the pages of its source as they are pinned (mt:M7, mt:M13)? */
static bool shares_pages(const struct lmr_args *args)
{
	bool write = args->privileges & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
					 DAT_MEM_PRIV_REMOTE_WRITE_FLAG | KDAPL_MEM_PRIV_ATOMIC);

	return args->source && args->source->share >= (write ? KDAPL_SHARE_WRITE :
							       KDAPL_SHARE_READ);
}

static struct kdapl_region_init region_init(const struct lmr_args *args)
{
	struct kdapl_region *source = args->source ? args->source->region : NULL;

	return (struct kdapl_region_init) {
		.user = args->space->user,
		.physical = args->mem_type == DAT_MEM_TYPE_PHYSICAL,
		.source = shares_pages(args) ? source : NULL,
		.former = shares_pages(args) ? NULL : source,
		.start = args->source ? args->source->start : start_of(args),
		.length = args->source ? args->source->length : args->length,
		.access = access_of(args->privileges),
		.pages = args->pages,
	};
}

/*
 * Memory of a process is pinned before the IA's section is entered, since pinning may take
 * as long as the process likes (A10).  A source whose pages cannot be shared is pinned once
 * more, by its address, and has to be there still.
 */
static DAT_RETURN lmr_pin(struct lmr_args *args)
{
	struct kdapl_device *dev = args->ia->dev;
	struct kdapl_region_init init;
	int ret;

	if (!args->space->user || shares_pages(args) || !dev->mr->pin)
		return DAT_SUCCESS;
	init = region_init(args);
	ret = dev->mr->pin(dev, &init);
	if (ret)
		return reg_failed(ret);
	args->pages = init.pages;
	return DAT_SUCCESS;
}

static void lmr_release(struct kdapl_object *obj)
{
	struct kdapl_lmr *lmr = kdapl_lmr_of(obj);

	if (lmr->rmr)
		kdapl_object_abort(&lmr->rmr->obj);
	kdapl_object_put(&lmr->pz->obj);
	mutex_destroy(&lmr->region_lock);
	kfree(lmr);
}

static const struct kdapl_object_ops lmr_ops;

/* With a reference to the zone, but no use of it yet. */
static struct kdapl_lmr *lmr_alloc(const struct lmr_args *args)
{
	struct kdapl_lmr *lmr;

	lmr = kdapl_object_alloc(sizeof(*lmr), KDAPL_LMR, args->ia, &lmr_ops);
	if (!lmr)
		return NULL;
	mutex_init(&lmr->region_lock);
	kdapl_object_get(&args->pz->obj);
	lmr->pz = args->pz;
	lmr->privileges = args->privileges;
	lmr->sinks = kdapl_lmr_sinks(args->ia->dev, args->privileges);
	lmr->mem_type = args->mem_type;
	lmr->description = args->description;
	lmr->max_pages = args->max_pages;
	spin_lock_init(&lmr->list_lock);
	return lmr;
}

static DAT_RETURN lmr_register(struct kdapl_lmr *lmr, struct lmr_args *args)
{
	struct kdapl_region_init init = region_init(args);
	struct kdapl_region *region;

	if (args->max_pages) {
		lmr->lkey = args->ia->dev->mr->zone_key(args->pz->zone);
		return args->remote ? kdapl_rmr_create_for(lmr) : DAT_SUCCESS;
	}
	args->pages = NULL;
	region = args->ia->dev->mr->reg(args->pz->zone, &init);
	if (IS_ERR(region))
		return reg_failed(PTR_ERR(region));
	lmr->region = region;
	lmr->start = region->start;
	lmr->length = region->length;
	lmr->lkey = region->lkey;
	lmr->share = region->share;
	if (args->privileges & KDAPL_REMOTE_PRIVILEGES)
		lmr->rmr_context = region->rkey;
	lmr->context = kdapl_lmr_context(&lmr->obj);
	return DAT_SUCCESS;
}

/*
 * Registers, and makes the LMR known to posts.  Caller is in the IA's section.
 * Return: DAT_SUCCESS and *@new with its first reference, not published yet.
 */
static DAT_RETURN lmr_make(struct lmr_args *args, struct kdapl_lmr **new)
{
	struct kdapl_lmr *lmr;
	DAT_RETURN ret;

	lmr = lmr_alloc(args);
	if (!lmr)
		return reg_failed(-ENOMEM);
	ret = lmr_register(lmr, args);
	if (ret)
		kdapl_object_abort(&lmr->obj);
	else
		*new = lmr;
	return ret;
}

/*
 * The zone and the source are in use while the LMR is made, so that neither can
 * be freed under it; the zone stays so until the LMR goes.
 */
static DAT_RETURN lmr_make_used(struct lmr_args *args, struct kdapl_lmr **new)
{
	DAT_RETURN ret;

	if (args->source && !kdapl_object_use(&args->source->obj))
		return RET_BAD_HANDLE(LMR);
	if (kdapl_object_use(&args->pz->obj)) {
		ret = lmr_make(args, new);
		if (ret)
			kdapl_object_unuse(&args->pz->obj);
	} else {
		ret = RET_BAD_HANDLE(PZ);
	}
	if (args->source)
		kdapl_object_unuse(&args->source->obj);
	return ret;
}

static struct kdapl_lmr *lmr_find(struct kdapl_space *space,
				  DAT_LMR_HANDLE handle)
{
	struct kdapl_object *obj = kdapl_object_find(space, handle, KDAPL_LMR);

	return obj ? kdapl_lmr_of(obj) : NULL;
}

static void args_put(const struct lmr_args *args)
{
	if (args->pages)
		args->ia->dev->mr->unpin(args->pages);
	if (args->source)
		kdapl_object_put(&args->source->obj);
	if (args->pz)
		kdapl_object_put(&args->pz->obj);
}

/* All handles come before all other arguments (E3); undone by args_put(). */
static DAT_RETURN args_find(struct lmr_args *args, struct kdapl_ia *ia,
			    DAT_PZ_HANDLE pz)
{
	args->ia = ia;
	if (args->mem_type == DAT_MEM_TYPE_LMR) {
		args->source = lmr_find(args->space,
					args->description.for_lmr_handle);
		/* An LMR whose memory changes has no memory that would stay. */
		if (!args->source || args->source->obj.ia != args->ia ||
		    args->source->max_pages)
			return RET_BAD_HANDLE(LMR);
	}
	args->pz = kdapl_pz_find(args->space, pz);
	if (!args->pz || args->pz->obj.ia != args->ia)
		return RET_BAD_HANDLE(PZ);
	return DAT_SUCCESS;
}

/*
 * dat_lmr_create and dat_lmr_kcreate.  In a user space it is called by the process whose
 * memory it is; @mem_type may be SHARED_VIRTUAL and not PHYSICAL, there is no
 * @mem_optimization, and the handle is argument 7 instead of 8.
 */
DAT_RETURN kdapl_lmr_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			    DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			    DAT_LMR_HANDLE *lmr_handle,
			    DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context,
			    DAT_VLEN *registered_size,
			    DAT_VADDR *registered_address)
{
	struct lmr_args args = {
		.space = space,
		.mem_type = mem_type,
		.description = region,
		.length = length,
		.privileges = privileges,
		.mem_optimization = mem_optimization,
		.handle = lmr_handle,
	};
	struct kdapl_lmr *lmr;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret && kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret)
		ret = args_find(&args, op.obj->ia, pz);
	if (!ret)
		ret = check_args(&args);
	if (!ret)
		ret = lmr_pin(&args);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = lmr_make_used(&args, &lmr);
	if (ret)
		goto end;

	*lmr_handle = kdapl_handle(&lmr->obj);
	if (lmr_context)
		*lmr_context = kdapl_lmr_context(&lmr->obj);
	if (rmr_context)
		*rmr_context = lmr->rmr_context;
	if (registered_size)
		*registered_size = lmr->length;
	if (registered_address)
		*registered_address = lmr->start;
	kdapl_object_publish(&lmr->obj);
end:
	args_put(&args);
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_lmr_allocate - dat_lmr_allocate
 * @space: of the caller
 * @ia: handle of an IA
 * @pz: of a PZ of it
 * @max_pages: of the memory that dat_lmr_fmr() may give the LMR
 * @scope: DAT_LMR_SCOPE_*
 * @handle: out
 *
 * The contract is in face/kdat_linux.c.  Sleeps.
 *
 * Return: as dat_lmr_allocate().
 */
DAT_RETURN kdapl_lmr_allocate(struct kdapl_space *space, DAT_IA_HANDLE ia,
			      DAT_PZ_HANDLE pz, DAT_COUNT max_pages,
			      DAT_LMR_SCOPE scope, DAT_LMR_HANDLE *handle)
{
	struct lmr_args args = {
		.space = space,
		.mem_type = DAT_MEM_TYPE_PLATFORM,
		.max_pages = max_pages,
		.remote = scope != KDAT_LMR_SCOPE_LOCAL,
		.handle = handle,
	};
	struct kdapl_lmr *lmr;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = args_find(&args, op.obj->ia, pz);
	if (!ret && (max_pages <= 0 || max_pages > KDAPL_FMR_PAGES))
		ret = RET_BAD_ARG(3);
	if (!ret && args.remote && args.ia->dev->max_window_pages &&
	    max_pages > args.ia->dev->max_window_pages)
		ret = RET_BAD_ARG(3);
	if (!ret && scope > DAT_LMR_SCOPE_ANY && scope != KDAT_LMR_SCOPE_LOCAL)
		ret = RET_BAD_ARG(4);
	if (!ret && !handle)
		ret = RET_BAD_ARG(5);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = lmr_make_used(&args, &lmr);
	if (!ret) {
		*handle = kdapl_handle(&lmr->obj);
		kdapl_object_publish(&lmr->obj);
	}
	args_put(&args);
	return kdapl_op_end(&op, ret);
}

static void lmr_fill(struct kdapl_lmr *lmr, DAT_LMR_PARAM *param)
{
	param->ia_handle = kdapl_handle(&lmr->obj.ia->obj);
	param->mem_type = lmr->mem_type;
	param->region_desc = lmr->description;
	param->length = lmr->length;
	param->pz_handle = kdapl_handle(&lmr->pz->obj);
	param->mem_priv = lmr->privileges;
	param->lmr_context = kdapl_lmr_context(&lmr->obj);
	param->rmr_context = lmr->rmr_context;
	param->registered_size = lmr->length;
	param->registered_address = lmr->start;
	if (lmr->max_pages)
		kdapl_fmr_fill(lmr, param);
}

/* dat_lmr_query.  Any context. */
DAT_RETURN kdapl_lmr_query(struct kdapl_space *space, DAT_LMR_HANDLE lmr_handle,
			   DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, lmr_handle, KDAPL_LMR,
				  DAT_INVALID_HANDLE_LMR,
				  mask & ~DAT_LMR_FIELD_ALL, param);
	if (!ret)
		lmr_fill(kdapl_lmr_of(op.obj), param);
	return kdapl_op_end(&op, ret);
}

/*
 * The end
 */

/*
 * Give back what belongs to the device
 * @obj: an LMR; no post uses its key any more
 *
 * Idempotent; the LMR stays as a shell.  If there are several callers at once, each of them
 * returns only when the device does not know the LMR any more, because the removal of the
 * device goes on then.  May sleep.  mt:M24, mt:M25, mt:M79.
 */
static void lmr_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_lmr *lmr = kdapl_lmr_of(obj);

	mutex_lock(&lmr->region_lock);
	if (lmr->region) {
		WRITE_ONCE(lmr->lkey, 0);
		obj->ia->dev->mr->dereg(lmr->region);
		lmr->region = NULL;
	}
	mutex_unlock(&lmr->region_lock);
	if (lmr->rmr)
		kdapl_rmr_end(lmr->rmr);
	if (lmr->max_pages)
		kdapl_fmr_end(lmr);
}

/*
 * Take an LMR away from its consumer
 * @obj: an LMR, with a reference of the caller; no endpoint is left to post
 *
 * Tear-down of the IA (I15).  May sleep.
 */
static void lmr_teardown(struct kdapl_object *obj)
{
	struct kdapl_lmr *lmr = kdapl_lmr_of(obj);

	lmr_release_verbs(obj);
	if (kdapl_object_retire(obj))
		kdapl_object_unuse(&lmr->pz->obj);
}

static const struct kdapl_object_ops lmr_ops = {
	.release = lmr_release,
	.release_verbs = lmr_release_verbs,
	.teardown = lmr_teardown,
};

/* How long requests that name a freed LMR may take to end. */
#define KEY_GONE_LIMIT	(2 * HZ)

/*
 * Waits for posts that found the LMR: when it returns each has handed the LMR's key to
 * the device, or never will (mt:T12).  A grace period of RCU would do that too, but it makes
 * every processor of the host work, and a process could cause that as often as it likes.
 */
static void sync_posts(struct kdapl_ia *ia)
{
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(ia, KDAPL_EP, obj))) {
		kdapl_dir_sync_posts(&kdapl_ep_of(obj)->req);
		kdapl_dir_sync_posts(&kdapl_ep_of(obj)->recv);
	}
	while ((obj = kdapl_ia_next_object(ia, KDAPL_SRQ, obj)))
		kdapl_srq_sync_posts(kdapl_srq_of(obj));
}

static void end_requests(struct kdapl_ia *ia, u32 lkey)
{
	unsigned long until = jiffies + KEY_GONE_LIMIT;
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(ia, KDAPL_EP, obj)))
		kdapl_ep_key_gone(kdapl_ep_of(obj), lkey, until);
}

/* Caller is in the section of the LMR's IA, and has killed the LMR. */
static void lmr_unmake(struct kdapl_lmr *lmr)
{
	struct kdapl_ia *ia = lmr->obj.ia;
	u32 lkey = READ_ONCE(lmr->lkey);

	/* From here on no post finds the LMR, and no dat_lmr_sync_*. */
	WRITE_ONCE(lmr->context, 0);
	sync_posts(ia);
	/* Retired last: until then a removal of the device finds the LMR, and waits for us. */
	lmr_release_verbs(&lmr->obj);
	/* The key of an LMR whose memory changes is that of the zone, and stays. */
	if (ia->dev->mute_faults && !lmr->max_pages)
		end_requests(ia, lkey);
	kdapl_object_retire(&lmr->obj);
	kdapl_object_unuse(&lmr->pz->obj);
}

/*
 * Kills an LMR, unless it has a list.  The device reaches a list by a key that stays valid, so
 * the consumer has to say by dat_lmr_invalidate() that it is done with the list.
 * dat_lmr_fmr() counts as a user of the LMR and sets the list under @list_lock, so a free sees
 * either the user or the list.
 */
static DAT_RETURN lmr_kill(struct kdapl_op *op)
{
	struct kdapl_lmr *lmr = kdapl_lmr_of(op->obj);
	unsigned long flags;
	DAT_RETURN ret;

	spin_lock_irqsave(&lmr->list_lock, flags);
	ret = RET_BAD_STATE(LMR_IN_USE);
	if (!lmr->list.sg)
		ret = kdapl_op_kill(op, ret);
	spin_unlock_irqrestore(&lmr->list_lock, flags);
	return ret;
}

/*
 * dat_lmr_free.  Any process may call it, not only the one whose memory it is.
 * Of two racing calls one wins (E114).
 */
DAT_RETURN kdapl_lmr_free(struct kdapl_space *space, DAT_LMR_HANDLE lmr_handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, lmr_handle, KDAPL_LMR,
				   DAT_INVALID_HANDLE_LMR);
	if (!ret)
		ret = lmr_kill(&op);
	if (!ret)
		lmr_unmake(kdapl_lmr_of(op.obj));
	return kdapl_op_end(&op, ret);
}

/*
 * An LMR that a peer has invalidated
 */

/* The search for the LMR.  Process context, since the list of an IA's objects has a mutex. */
struct lmr_search {
	struct work_struct work;
	struct kdapl_ia *ia;
	u32 key;
};

/*
 * Soft-RoCE also lets a peer invalidate a region without remote rights, by its local key.  An
 * LMR whose memory changes has no local key of its own.
 */
static bool lmr_has_key(const struct kdapl_lmr *lmr, u32 key)
{
	return key && !lmr->max_pages && (lmr->rmr_context == key || READ_ONCE(lmr->lkey) == key);
}

static void lmr_search_work(struct work_struct *work)
{
	struct lmr_search *search = container_of(work, struct lmr_search, work);
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(search->ia, KDAPL_LMR, obj)))
		if (lmr_has_key(kdapl_lmr_of(obj), search->key))
			WRITE_ONCE(kdapl_lmr_of(obj)->context, 0);
	kdapl_object_put(&search->ia->obj);
	kfree(search);
}

/**
 * kdapl_lmr_invalidated - let no post use an LMR whose key the device has forgotten
 * @ia: adapter
 * @key: what a peer's send with invalidate named; any value
 *
 * A peer that knows the key of a region can do this to all who use the region, by any
 * connection of its zone.  Local posts that name it are refused from then on, like those to a
 * freed LMR; on the queue pair they would fail, and break connections of others.  If there is
 * no memory for the search, they do.  Any context, locks may be held.  Rule mt:M81.
 */
void kdapl_lmr_invalidated(struct kdapl_ia *ia, u32 key)
{
	struct lmr_search *search;

	/* A peer can have this done as often as it likes: no warning for each. */
	search = kmalloc(sizeof(*search), GFP_ATOMIC | __GFP_NOWARN);
	if (!search)
		return;
	INIT_WORK(&search->work, lmr_search_work);
	kdapl_object_get(&ia->obj);
	search->ia = ia;
	search->key = key;
	queue_work(kdapl_slow_wq_of(ia->obj.space), &search->work);
}

/*
 * Coherence and hints
 */

/**
 * kdapl_lmr_of_segment - find the LMR in which a segment lies
 * @ia: adapter
 * @segment: of a post
 *
 * Any context; the caller is in an RCU read section, which keeps the LMR.
 *
 * Return: the LMR of @ia that @segment lies in, or NULL.
 */
struct kdapl_lmr *kdapl_lmr_of_segment(const struct kdapl_ia *ia,
				       const DAT_LMR_TRIPLET *segment)
{
	struct kdapl_lmr *lmr;

	lmr = kdapl_lmr_peek(ia->obj.space, segment->lmr_context);
	return lmr && lmr->obj.ia == ia && kdapl_lmr_inside(lmr, segment) ?
	       lmr : NULL;
}

static bool all_known(const struct kdapl_ia *ia, const DAT_LMR_TRIPLET *segments,
		      DAT_VLEN number)
{
	bool known = true;
	DAT_VLEN i;

	for (i = 0; i < number && known; i++) {
		rcu_read_lock();
		known = kdapl_lmr_of_segment(ia, &segments[i]);
		rcu_read_unlock();
	}
	return known;
}

/* As kdapl_lmr_of_segment(), with a reference. */
static struct kdapl_lmr *lmr_find_segment(const struct kdapl_ia *ia,
					  const DAT_LMR_TRIPLET *segment)
{
	struct kdapl_lmr *lmr;

	rcu_read_lock();
	lmr = kdapl_lmr_of_segment(ia, segment);
	if (lmr && !refcount_inc_not_zero(&lmr->obj.ref))
		lmr = NULL;
	rcu_read_unlock();
	return lmr;
}

static void sync_segment(struct kdapl_ia *ia, const DAT_LMR_TRIPLET *segment,
			 bool rdma_read)
{
	struct kdapl_lmr *lmr = lmr_find_segment(ia, segment);
	const struct kdapl_mr_ops *ops = ia->dev->mr;
	u64 offset;

	if (!lmr)
		return;
	/* Under the lock the memory stays mapped: whoever frees the LMR waits for it. */
	mutex_lock(&lmr->region_lock);
	if (lmr->region) {
		offset = segment->virtual_address - lmr->start;
		if (!rdma_read)
			ops->sync(lmr->region, offset, segment->segment_length,
				  true);
		ops->sync(lmr->region, offset, segment->segment_length, false);
	}
	mutex_unlock(&lmr->region_lock);
	kdapl_object_put(&lmr->obj);
}

/*
 * dat_lmr_sync_rdma_read and dat_lmr_sync_rdma_write, by @rdma_read.
 */
DAT_RETURN kdapl_lmr_sync(struct kdapl_space *space, DAT_IA_HANDLE ia_handle,
			  const DAT_LMR_TRIPLET *segments, DAT_VLEN number,
			  bool rdma_read)
{
	struct kdapl_op op;
	DAT_RETURN ret;
	DAT_VLEN i;

	ret = kdapl_op_find(&op, space, ia_handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret && kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret && number &&
	    (!segments || !all_known(op.obj->ia, segments, number)))
		ret = RET_BAD_ARG(2);
	if (!ret)
		ret = kdapl_op_enter(&op);
	/* Each segment takes a walk over pages, and whoever closes the IA waits for all of them. */
	for (i = 0; !ret && i < number; i++) {
		sync_segment(op.obj->ia, &segments[i], rdma_read);
		cond_resched();
		if (fatal_signal_pending(current))
			break;
	}
	return kdapl_op_end(&op, ret);
}

/* dat_ia_memtype_hint.  Any context. */
DAT_RETURN kdapl_memtype_hint(struct kdapl_space *space,
			      DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			      DAT_VLEN length,
			      DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			      DAT_VLEN *preferred_length,
			      DAT_VADDR *preferred_alignment)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia_handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = check_mem_type(space, mem_type);
	if (!ret && (!length || length > U64_MAX - (PAGE_SIZE - 1)))
		ret = RET_BAD_ARG(3);
	if (!ret && !known_optimization(mem_optimization))
		ret = RET_BAD_ARG(4);
	if (!ret && preferred_length)
		*preferred_length = round_up(length, (u64)PAGE_SIZE);
	if (!ret && preferred_alignment)
		*preferred_alignment = PAGE_SIZE;
	return kdapl_op_end(&op, ret);
}
