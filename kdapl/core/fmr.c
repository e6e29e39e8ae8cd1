// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * LMRs whose memory changes with each transfer: dat_lmr_allocate, _fmr, _invalidate.
 *
 * Such an LMR is made once; dat_lmr_fmr() gives it a scatterlist and makes that known to the
 * device, dat_lmr_invalidate() takes the list away, both in any context.  With remote rights
 * both are requests of an endpoint, by an RMR that the LMR has for that (rmr.c).  When the device
 * goes, the memory is taken away from all LMRs (kdapl_fmr_end()).  How a DTO finds the memory,
 * and when it is the consumer's again, is told in Documentation/life-of-memory.rst, Memory that
 * changes.
 *
 * Callers: face/kdat_linux.c; rmr.c, and lmr.c at the end of an LMR.
 */
#include <linux/scatterlist.h>
#include <dat/kdat_linux.h>
#include "evd_fifo.h"
#include "fmr.h"
#include "ia.h"
#include "op.h"
#include "rmr.h"

/* ---- memory --------------------------------------------------------- */

/* Has the list as many bytes as it is said to have, in no more pages than may be? */
static bool list_fits(const struct kdat_memory *memory, u32 max_pages)
{
	struct scatterlist *sg = memory->list;
	u32 pages = 0, i;
	u64 bytes = 0;

	for (i = 0; i < memory->entries; i++, sg = sg_next(sg)) {
		/* A device may take a length of 0 for a very large one. */
		if (!sg || !sg->length || pages > max_pages)
			return false;
		bytes += sg->length;
		pages += DIV_ROUND_UP(offset_in_page(sg->offset) + sg->length, PAGE_SIZE);
	}
	return pages <= max_pages && memory->offset < bytes &&
	       memory->length <= bytes - memory->offset;
}

/* What the device does with the memory.  Every LMR may be read locally, without a flag. */
static enum dma_data_direction direction_of(DAT_MEM_PRIV_FLAGS privileges)
{
	const u32 writes = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

	return privileges & writes ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

/* Verbs want the address of a region to agree with the memory within a page. */
static u64 list_start(const struct kdapl_list *list)
{
	u64 offset = list->offset;
	struct scatterlist *sg = kdapl_sg_seek(list->sg, &offset);

	return offset_in_page(sg_dma_address(sg) + offset);
}

/* The lmr_context of the memory that is being given: not 0, and not that of the last memory. */
static u32 next_context(struct kdapl_lmr *lmr)
{
	return kdapl_lmr_context(&lmr->obj) + (++lmr->fmrs << KDAPL_INDEX_BITS);
}

/* Makes the memory known to the device.  No lmr_context names it yet, so no post finds it. */
static DAT_RETURN fmr_give(struct kdapl_lmr *lmr, const struct kdat_memory *memory,
			   DAT_MEM_PRIV_FLAGS privileges)
{
	struct kdapl_device *dev = lmr->obj.ia->dev;
	struct kdapl_list list = {
		.sg = memory->list,
		.entries = memory->entries,
		.offset = memory->offset,
		.length = memory->length,
		.direction = direction_of(privileges),
	};

	lockdep_assert_held(&lmr->list_lock);
	if (lmr->list.sg)
		return RET_BAD_STATE(LMR_IN_USE);
	if (dev->mr->map(dev, &list))
		return RET_NO_RESOURCE(MEMORY);
	if (privileges & KDAPL_REMOTE_PRIVILEGES)
		list.start = list_start(&list);
	lmr->list = list;
	lmr->privileges = privileges;
	lmr->sinks = kdapl_lmr_sinks(dev, privileges);
	return DAT_SUCCESS;
}

/* Gives the memory its lmr_context: from here on posts find it. */
static void fmr_name(struct kdapl_lmr *lmr, const struct kdapl_fmr *fmr, u32 key)
{
	lockdep_assert_held(&lmr->list_lock);
	lmr->rmr_context = key;
	/* mt:T35: an iWARP read puts what it fetches where a remote key says, and there is none. */
	if (!key && lmr->obj.ia->dev->iwarp)
		lmr->sinks &= ~KDAPL_SINK_READ;
	WRITE_ONCE(lmr->context, next_context(lmr));
	*fmr->lmr_context = lmr->context;
	if (fmr->rmr_context)
		*fmr->rmr_context = key;
}

/* Takes the memory of an LMR away from the device.  False: the LMR has none. */
static bool fmr_take(struct kdapl_lmr *lmr)
{
	struct kdapl_device *dev = lmr->obj.ia->dev;

	lockdep_assert_held(&lmr->list_lock);
	if (!lmr->list.sg)
		return false;
	WRITE_ONCE(lmr->context, 0);
	dev->mr->unmap(dev, &lmr->list);
	WRITE_ONCE(lmr->list.sg, NULL);
	return true;
}

/**
 * kdapl_fmr_take - take a certain memory of an LMR away
 * @lmr: no peer has a right on that memory any more
 * @context: the lmr_context of the memory; does nothing if the LMR has other memory by now,
 *	     or none
 *
 * Any context.
 *
 * Return: whether it had that memory.
 */
bool kdapl_fmr_take(struct kdapl_lmr *lmr, u32 context)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&lmr->list_lock, flags);
	/* While the memory is just being given, @lmr->context is 0: then it is left alone. */
	taken = context && lmr->context == context && fmr_take(lmr);
	spin_unlock_irqrestore(&lmr->list_lock, flags);
	return taken;
}

/**
 * kdapl_fmr_end - take the memory of an LMR away, if it has any
 * @lmr: its device is still there; no post uses it
 *
 * Any context.
 */
void kdapl_fmr_end(struct kdapl_lmr *lmr)
{
	unsigned long flags;

	spin_lock_irqsave(&lmr->list_lock, flags);
	fmr_take(lmr);
	spin_unlock_irqrestore(&lmr->list_lock, flags);
}

/* ---- operations ----------------------------------------------------- */

/* These calls are for LMRs of dat_lmr_allocate() alone. */
static DAT_RETURN fmr_find(struct kdapl_op *op, struct kdapl_space *space,
			   DAT_LMR_HANDLE handle)
{
	DAT_RETURN ret;

	ret = kdapl_op_find(op, space, handle, KDAPL_LMR, DAT_INVALID_HANDLE_LMR);
	if (!ret && !kdapl_lmr_of(op->obj)->max_pages)
		ret = op->bad_handle;
	return ret;
}

/* In the order of the arguments (E3). */
static DAT_RETURN check_fmr(const struct kdapl_lmr *lmr, const struct kdapl_fmr *fmr)
{
	const struct kdat_memory *memory = fmr->region.for_platform;

	if (fmr->mem_type != DAT_MEM_TYPE_PLATFORM)
		return RET_BAD_ARG(2);
	if (!memory || !memory->list || !memory->length ||
	    !list_fits(memory, lmr->max_pages))
		return RET_BAD_ARG(3);
	if (fmr->privileges & ~DAT_MEM_PRIV_ALL_FLAG ||
	    (fmr->privileges & KDAPL_REMOTE_PRIVILEGES && !lmr->rmr))
		return RET_BAD_ARG(5);
	if (fmr->va_type != DAT_VA_TYPE_ZB)
		return RET_BAD_ARG(6);
	/* With remote privileges the flags depend on the EP: check_fmr_bind() looks at them. */
	if (!(fmr->privileges & KDAPL_REMOTE_PRIVILEGES) &&
	    fmr->flags & ~DAT_COMPLETION_SUPPRESS_FLAG)
		return RET_BAD_ARG(9);
	if (!fmr->lmr_context)
		return RET_BAD_ARG(10);
	return DAT_SUCCESS;
}

/*
 * Is a dat_lmr_fmr() or a dat_lmr_invalidate() that is a request still outstanding?  Its
 * completion may be in the CQ, where nobody has looked yet: that is pulled.
 */
static bool fmr_busy(struct kdapl_rmr *rmr)
{
	struct kdapl_evd *evd = NULL;
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	if (rmr->cookie) {
		evd = rmr->evd;
		kdapl_object_get(&evd->obj);
	}
	spin_unlock_irqrestore(&rmr->lock, flags);
	if (!evd)
		return false;
	kdapl_evd_pull(evd);
	kdapl_object_put(&evd->obj);
	return READ_ONCE(rmr->cookie);
}

static DAT_RETURN fmr_local(struct kdapl_lmr *lmr, const struct kdapl_fmr *fmr)
{
	unsigned long flags;
	DAT_RETURN ret;

	spin_lock_irqsave(&lmr->list_lock, flags);
	ret = fmr_give(lmr, fmr->region.for_platform, fmr->privileges);
	if (!ret)
		fmr_name(lmr, fmr, 0);
	spin_unlock_irqrestore(&lmr->list_lock, flags);
	return ret;
}

/*
 * The lock cannot be held while the bind is posted, and need not be: as long as no context
 * names the memory it is not taken away again.
 */
static DAT_RETURN fmr_remote(struct kdapl_lmr *lmr, const struct kdapl_fmr *fmr)
{
	struct kdapl_bind bind = {
		.rmr = lmr->rmr,
		.privileges = fmr->privileges,
		.list = &lmr->list,
		.lmr = lmr,
	};
	unsigned long flags;
	DAT_RETURN ret;

	if (READ_ONCE(lmr->context))
		return RET_BAD_STATE(LMR_IN_USE);
	if (fmr_busy(lmr->rmr))
		return RET_NO_RESOURCE(MEMORY_REGION);
	spin_lock_irqsave(&lmr->list_lock, flags);
	ret = fmr_give(lmr, fmr->region.for_platform, fmr->privileges);
	spin_unlock_irqrestore(&lmr->list_lock, flags);
	if (ret)
		return ret;
	ret = kdapl_ep_post_bind(lmr->obj.space, fmr->ep, &bind, fmr->cookie, fmr->flags);
	spin_lock_irqsave(&lmr->list_lock, flags);
	if (!ret)
		fmr_name(lmr, fmr, bind.rkey);
	else
		fmr_take(lmr);
	spin_unlock_irqrestore(&lmr->list_lock, flags);
	return ret;
}

/* An LMR that is being freed gets no memory, and one that is getting memory cannot be freed. */
static DAT_RETURN fmr_do(struct kdapl_lmr *lmr, const struct kdapl_fmr *fmr)
{
	DAT_RETURN ret;

	if (!kdapl_object_use(&lmr->obj))
		return RET_BAD_HANDLE(LMR);
	if (fmr->privileges & KDAPL_REMOTE_PRIVILEGES)
		ret = fmr_remote(lmr, fmr);
	else
		ret = fmr_local(lmr, fmr);
	kdapl_object_unuse(&lmr->obj);
	return ret;
}

/**
 * kdapl_fmr - dat_lmr_fmr
 * @space: of the caller
 * @handle: of an LMR
 * @fmr: the other arguments
 *
 * The contract is in face/kdat_linux.c.  Any context.
 *
 * Return: as dat_lmr_fmr().
 */
DAT_RETURN kdapl_fmr(struct kdapl_space *space, DAT_LMR_HANDLE handle,
		     const struct kdapl_fmr *fmr)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = fmr_find(&op, space, handle);
	if (!ret)
		ret = check_fmr(kdapl_lmr_of(op.obj), fmr);
	/* In the section, so that the device is not removed before the LMR has the memory. */
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = fmr_do(kdapl_lmr_of(op.obj), fmr);
	return kdapl_op_end(&op, ret);
}

/* Takes the memory of @context away at once: no peer has a right on it. */
static DAT_RETURN invalidate_now(struct kdapl_lmr *lmr, u32 context)
{
	/* The removal of the device may have taken it away already. */
	if (kdapl_fmr_take(lmr, context) || READ_ONCE(lmr->obj.ia->removed))
		return DAT_SUCCESS;
	return RET_BAD_STATE(LMR_FREE);
}

static DAT_RETURN invalidate_remote(struct kdapl_lmr *lmr, u32 context, DAT_EP_HANDLE ep,
				    DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct kdapl_bind bind = {
		.rmr = lmr->rmr,
		.lmr = lmr,
		.takes = context,
	};

	if (!bind.takes)
		return RET_BAD_STATE(LMR_FREE);
	if (fmr_busy(lmr->rmr))
		return RET_NO_RESOURCE(MEMORY_REGION);
	return kdapl_ep_post_bind(lmr->obj.space, ep, &bind, cookie, flags);
}

static DAT_RETURN invalidate_do(struct kdapl_lmr *lmr, DAT_EP_HANDLE ep,
				DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret;
	u32 context;

	if (!kdapl_object_use(&lmr->obj))
		return RET_BAD_HANDLE(LMR);
	/*
	 * The context, which names the memory, is read before we look whether peers have
	 * rights.  If in between another thread takes the memory away and gives the LMR other
	 * memory, we may find rights that are on the other memory.  But @context names the
	 * first one, so nothing of the other one is taken away.
	 */
	context = smp_load_acquire(&lmr->context);
	if (lmr->rmr && kdapl_rmr_opens(lmr->rmr))
		ret = invalidate_remote(lmr, context, ep, cookie, flags);
	else if (flags & ~DAT_COMPLETION_SUPPRESS_FLAG)
		ret = RET_BAD_ARG(4);
	else
		ret = invalidate_now(lmr, context);
	kdapl_object_unuse(&lmr->obj);
	return ret;
}

/**
 * kdapl_fmr_invalidate - dat_lmr_invalidate
 * @space: of the caller
 * @handle: of an LMR
 * @ep: of its zone; not looked at if no peer has rights
 * @cookie: comes back in the completion; not looked at if no peer has rights
 * @flags: completion flags
 *
 * The contract is in face/kdat_linux.c.  Any context.
 *
 * Return: as dat_lmr_invalidate().
 */
DAT_RETURN kdapl_fmr_invalidate(struct kdapl_space *space, DAT_LMR_HANDLE handle,
				DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = fmr_find(&op, space, handle);
	if (!ret)
		ret = kdapl_op_enter_shell(&op);
	if (!ret)
		ret = invalidate_do(kdapl_lmr_of(op.obj), ep, cookie, flags);
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_fmr_fill - what dat_lmr_query() tells of such an LMR
 * @lmr: it has max_pages
 * @param: out: what depends on its memory
 *
 * Any context.
 */
void kdapl_fmr_fill(struct kdapl_lmr *lmr, DAT_LMR_PARAM *param)
{
	unsigned long flags;

	param->rmr_context = lmr->rmr ? kdapl_rmr_shown(lmr->rmr) : 0;
	spin_lock_irqsave(&lmr->list_lock, flags);
	param->mem_priv = lmr->privileges;
	param->lmr_context = lmr->context;
	param->length = lmr->list.sg ? lmr->list.length : 0;
	param->registered_size = param->length;
	param->registered_address = lmr->list.sg ? lmr->list.start : 0;
	spin_unlock_irqrestore(&lmr->list_lock, flags);
}

/* kdat_lmr_state() */
DAT_RETURN kdapl_lmr_state(struct kdapl_space *space, DAT_LMR_HANDLE handle,
			   DAT_LMR_STATE *state)
{
	struct kdapl_lmr *lmr;
	unsigned long flags;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_LMR, DAT_INVALID_HANDLE_LMR);
	if (!ret && !state)
		ret = RET_BAD_ARG(2);
	if (!ret) {
		lmr = kdapl_lmr_of(op.obj);
		spin_lock_irqsave(&lmr->list_lock, flags);
		state->fmr_support = lmr->max_pages ? DAT_TRUE : DAT_FALSE;
		state->bound = !lmr->max_pages || lmr->list.sg ? DAT_TRUE : DAT_FALSE;
		spin_unlock_irqrestore(&lmr->list_lock, flags);
	}
	return kdapl_op_end(&op, ret);
}
