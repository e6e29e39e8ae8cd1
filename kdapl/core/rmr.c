// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Remote Memory Regions: dat_rmr_create, _query, _bind, _free.
 *
 * An RMR is a window upon a part of an LMR (glue/window.c).  A bind is a request of an endpoint,
 * so post_bind.c posts it, and kdapl_rmr_complete() judges it before anybody can see its
 * completion; what takes sleeping is left to rmr_work(), for which the completion waits
 * (mt:M40, mt:M44).  An LMR whose memory changes (fmr.c) has an RMR of its own, without a
 * handle, if peers may reach the memory.
 *
 * Documentation/life-of-memory.rst tells of the former in Windows, of the latter in With remote
 * rights.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "evd_kick.h"
#include "fmr.h"
#include "ia.h"
#include "op.h"
#include "rmr.h"
#include "user.h"

static struct kdapl_rmr *rmr_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_rmr, obj);
}

static const struct kdapl_mr_ops *mr_ops(const struct kdapl_rmr *rmr)
{
	return rmr->obj.ia->dev->mr;
}

static struct kdapl_rmr *rmr_find(struct kdapl_space *space,
				  DAT_RMR_HANDLE handle)
{
	struct kdapl_object *obj = kdapl_object_find(space, handle, KDAPL_RMR);

	return obj ? rmr_of(obj) : NULL;
}

/* ---- bindings ----------------------------------------------------------------- */

/*
 * The completion of a bind may wait until the RMR is settled, and the end of a connection
 * for that completion.  So the holder of this lock must not wait until dirty memory has been
 * written back, which may go through that connection (conn_work.c): the holder, and the driver
 * that it calls, allocate without I/O.
 */
static unsigned int window_lock(struct kdapl_rmr *rmr)
{
	mutex_lock(&rmr->window_lock);
	return memalloc_noio_save();
}

static void window_unlock(struct kdapl_rmr *rmr, unsigned int noio)
{
	memalloc_noio_restore(noio);
	mutex_unlock(&rmr->window_lock);
}

/* Gives the window back.  On return the RMR has nothing of the device; binds fail. */
static void window_release(struct kdapl_rmr *rmr)
{
	struct kdapl_window *window;

	lockdep_assert_held(&rmr->window_lock);
	kdapl_rmr_remove_keys(rmr);
	spin_lock_irq(&rmr->lock);
	window = rmr->window;
	rmr->window = NULL;
	spin_unlock_irq(&rmr->lock);
	if (window)
		mr_ops(rmr)->window_destroy(window);
}

/*
 * No key of the window admits anything afterwards, also if the renewal fails.  In that case
 * the next bind is refused, and has the RMR settled once more.
 */
static void window_renew(struct kdapl_rmr *rmr)
{
	lockdep_assert_held(&rmr->window_lock);
	if (!rmr->window)
		return;
	kdapl_rmr_remove_keys(rmr);
	mr_ops(rmr)->window_renew(rmr->window);
	if (kdapl_rmr_add_keys(rmr))
		return;
	/* Else the window could be bound, and neither a message nor a read would find its RMR. */
	kdapl_rmr_remove_keys(rmr);
	mr_ops(rmr)->window_empty(rmr->window);
}

/* What waited in an EVD can be taken; drops a reference.  @evd: NULL: nothing did */
static void evd_wake(struct kdapl_evd *evd)
{
	if (!evd)
		return;
	kdapl_evd_unhide(evd);
	kdapl_object_put(&evd->obj);
}

/*
 * Afterwards the RMR shows nothing, and what waited for that can be taken: the completion of an
 * outstanding bind, or the receive whose message has taken the key.  @cookie and @due are
 * cleared together.  If @due were cleared first, a look at the completion in between would set it
 * again, and the renewal would then hit the next bind.
 */
static void rmr_unbound(struct kdapl_rmr *rmr)
{
	struct kdapl_evd *evd = NULL, *taker;

	lockdep_assert_held(&rmr->window_lock);
	spin_lock_irq(&rmr->lock);
	if (rmr->cookie && rmr->takes)
		kdapl_fmr_take(rmr->fmr, rmr->takes);
	kdapl_binding_drop(&rmr->now);
	kdapl_binding_drop(&rmr->next);
	rmr->former = 0;
	if (rmr->cookie) {
		/* For the kick: as soon as the completion has been taken the EVD may be freed. */
		evd = rmr->evd;
		kdapl_object_get(&evd->obj);
	}
	rmr->cookie = NULL;
	rmr->due = false;
	taker = rmr->taker;
	rmr->taker = NULL;
	spin_unlock_irq(&rmr->lock);
	/* Pairs with kdapl_evd_unbinds(): who finds it cleared finds the LMR not in use. */
	if (taker)
		cmpxchg(&taker->unbinding, rmr, NULL);
	evd_wake(evd);
	evd_wake(taker);
}

/* The end of an RMR; no bind is on a send queue. */
static void rmr_finish(struct kdapl_rmr *rmr)
{
	lockdep_assert_held(&rmr->window_lock);
	window_release(rmr);
	/* Before rmr_unbound(): whoever gets the completion of the last bind may free the zone. */
	if (!rmr->gone)
		kdapl_object_unuse(&rmr->pz->obj);
	rmr->gone = true;
	rmr_unbound(rmr);
}

/*
 * Does what @due asks for: puts an RMR in order after a bind or a renewal that failed, or ends
 * an RMR that was freed with a bind outstanding.  No bind begins while that is due.
 */
static void rmr_settle(struct kdapl_rmr *rmr)
{
	unsigned int noio = window_lock(rmr);
	bool due, dead;

	spin_lock_irq(&rmr->lock);
	due = rmr->due;
	dead = rmr->dead;
	spin_unlock_irq(&rmr->lock);
	if (due && dead) {
		rmr_finish(rmr);
	} else if (due) {
		window_renew(rmr);
		rmr_unbound(rmr);
	}
	window_unlock(rmr, noio);
}

/* ---- creation and query ---------------------------------------------------------- */

/* May there be one more RMR?  Undone by rmr_uncount(). */
static bool rmr_count(struct kdapl_space *space)
{
	if (!atomic_add_unless(&space->nr_rmrs, 1, space->max_rmrs))
		return false;
	if (!space->owner || kdapl_user_take_rmr(space->owner))
		return true;
	atomic_dec(&space->nr_rmrs);
	return false;
}

static void rmr_uncount(struct kdapl_space *space)
{
	if (space->owner)
		kdapl_user_give_rmr(space->owner);
	atomic_dec(&space->nr_rmrs);
}

static void rmr_release(struct kdapl_object *obj)
{
	struct kdapl_rmr *rmr = rmr_of(obj);

	rmr_uncount(obj->space);
	kdapl_object_put(&rmr->pz->obj);
	mutex_destroy(&rmr->window_lock);
	kfree(rmr);
}

/* The work of kdapl_rmr_settle_soon(), which has taken a reference for it. */
static void rmr_work(struct work_struct *work)
{
	struct kdapl_rmr *rmr = container_of(work, struct kdapl_rmr, work);

	rmr_settle(rmr);
	kdapl_object_put(&rmr->obj);
}

static DAT_RETURN rmr_create_failed(int error)
{
	if (error == -EOPNOTSUPP)
		return RET(MODEL_NOT_SUPPORTED);
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, error == -ENOMEM ?
			 DAT_RESOURCE_MEMORY : DAT_RESOURCE_MEMORY_REGION);
}

static const struct kdapl_object_ops rmr_ops;

/* With a reference to the zone, but no use of it yet. */
static struct kdapl_rmr *rmr_alloc(struct kdapl_pz *pz)
{
	struct kdapl_space *space = pz->obj.space;
	struct kdapl_rmr *rmr;

	if (!rmr_count(space))
		return NULL;
	rmr = kdapl_object_alloc(sizeof(*rmr), KDAPL_RMR, pz->obj.ia, &rmr_ops);
	if (!rmr) {
		rmr_uncount(space);
		return NULL;
	}
	spin_lock_init(&rmr->lock);
	mutex_init(&rmr->window_lock);
	INIT_WORK(&rmr->work, rmr_work);
	kdapl_object_get(&pz->obj);
	rmr->pz = pz;
	return rmr;
}

/* An RMR that is not published.  Caller is in the section of the zone's IA. */
static DAT_RETURN rmr_make(struct kdapl_pz *pz, u32 pages, bool revocable,
			   struct kdapl_rmr **new)
{
	struct kdapl_window *window;
	unsigned int noio;
	struct kdapl_rmr *rmr;
	DAT_RETURN ret;
	bool added;

	rmr = rmr_alloc(pz);
	if (!rmr)
		return rmr_create_failed(-ENOMEM);
	if (!kdapl_object_use(&pz->obj)) {
		ret = RET_BAD_HANDLE(PZ);
		goto abort;
	}
	window = mr_ops(rmr)->window_create(pz->zone, pages);
	if (IS_ERR(window)) {
		ret = rmr_create_failed(PTR_ERR(window));
		goto unuse;
	}
	rmr->window = window;
	rmr->revocable = revocable;
	noio = window_lock(rmr);
	added = kdapl_rmr_add_keys(rmr);
	if (!added)
		window_release(rmr);
	window_unlock(rmr, noio);
	if (!added) {
		ret = rmr_create_failed(-ENOMEM);
		goto unuse;
	}
	*new = rmr;
	return DAT_SUCCESS;

unuse:
	kdapl_object_unuse(&pz->obj);
abort:
	kdapl_object_abort(&rmr->obj);
	return ret;
}

static DAT_RETURN rmr_create(struct kdapl_space *space, DAT_PZ_HANDLE pz_handle,
			     bool revocable, DAT_RMR_HANDLE *rmr_handle)
{
	struct kdapl_rmr *rmr;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, pz_handle, KDAPL_PZ, DAT_INVALID_HANDLE_PZ);
	if (!ret && kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret && !rmr_handle)
		ret = RET_BAD_ARG(2);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = rmr_make(kdapl_pz_of(op.obj), op.obj->ia->dev->max_window_pages,
			       revocable, &rmr);
	if (!ret) {
		*rmr_handle = kdapl_handle(&rmr->obj);
		kdapl_object_publish(&rmr->obj);
	}
	return kdapl_op_end(&op, ret);
}

/* dat_rmr_create */
DAT_RETURN kdapl_rmr_create(struct kdapl_space *space, DAT_PZ_HANDLE pz_handle,
			    DAT_RMR_HANDLE *rmr_handle)
{
	return rmr_create(space, pz_handle, false, rmr_handle);
}

/* dat_rmr_create of DAT 2.0: messages of peers may invalidate the RMR's key (V3) */
DAT_RETURN kdapl_rmr_create_revocable(struct kdapl_space *space, DAT_PZ_HANDLE pz_handle,
				      DAT_RMR_HANDLE *rmr_handle)
{
	return rmr_create(space, pz_handle, true, rmr_handle);
}

static void rmr_fill(struct kdapl_rmr *rmr, DAT_RMR_PARAM *param)
{
	static const struct kdapl_binding none;
	const struct kdapl_binding *now;
	unsigned long flags;

	param->ia_handle = kdapl_handle(&rmr->obj.ia->obj);
	param->pz_handle = kdapl_handle(&rmr->pz->obj);
	spin_lock_irqsave(&rmr->lock, flags);
	now = rmr->now.taken ? &none : &rmr->now;
	param->lmr_triplet = now->triplet;
	param->mem_priv = now->privileges;
	param->rmr_context = now->context;
	spin_unlock_irqrestore(&rmr->lock, flags);
}

/* dat_rmr_query.  Any context. */
DAT_RETURN kdapl_rmr_query(struct kdapl_space *space, DAT_RMR_HANDLE rmr_handle,
			   DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, rmr_handle, KDAPL_RMR,
				  DAT_INVALID_HANDLE_RMR,
				  mask & ~DAT_RMR_FIELD_ALL, param);
	if (!ret)
		rmr_fill(rmr_of(op.obj), param);
	return kdapl_op_end(&op, ret);
}

/* ---- binds ------------------------------------------------------------------------- */

/**
 * kdapl_rmr_check_region - check the arguments of a bind that name memory
 * @ep: endpoint of the bind
 * @bind: @lmr is filled in; NULL for an unbind (mt:M37)
 *
 * Caller is in an RCU read section, which keeps @bind->lmr.  Any context.
 * Rules mt:M29, mt:M31, mt:M37.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG2: no triplet, or not inside an
 * LMR of the IA; /ARG3: unknown privileges.
 */
DAT_RETURN kdapl_rmr_check_region(const struct kdapl_ep *ep,
				  struct kdapl_bind *bind)
{
	bind->lmr = NULL;
	if (!bind->triplet)
		return RET_BAD_ARG(2);
	if (!bind->triplet->segment_length)
		return DAT_SUCCESS;
	bind->lmr = kdapl_lmr_of_segment(ep->obj.ia, bind->triplet);
	if (!bind->lmr)
		return RET_BAD_ARG(2);
	return bind->privileges & ~DAT_MEM_PRIV_ALL_FLAG ? RET_BAD_ARG(3) :
							   DAT_SUCCESS;
}

/**
 * kdapl_rmr_check_rights - may this RMR show this memory through this endpoint?
 * @ep: endpoint of the bind
 * @bind: as kdapl_rmr_check_region() left it
 *
 * Caller is in the same RCU read section, and holds the lock of the endpoint's request
 * direction.  Any context.  Rules mt:M30, mt:M31.
 *
 * Return: DAT_SUCCESS; DAT_PROTECTION_VIOLATION/RDMA_READ, /RDMA_WRITE: EP, LMR
 * and RMR are not of one zone; DAT_PRIVILEGES_VIOLATION/RDMA_READ, /RDMA_WRITE:
 * the LMR does not have the local right.
 */
DAT_RETURN kdapl_rmr_check_rights(const struct kdapl_ep *ep,
				  const struct kdapl_bind *bind)
{
	const struct kdapl_pz *pz = bind->rmr->pz;
	u32 asked = bind->privileges & KDAPL_REMOTE_PRIVILEGES;

	if (ep->pz != pz || (bind->lmr && bind->lmr->pz != pz))
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 asked == DAT_MEM_PRIV_REMOTE_WRITE_FLAG ?
				 DAT_PROTECTION_RDMA_WRITE :
				 DAT_PROTECTION_RDMA_READ);
	if (!bind->lmr)
		return DAT_SUCCESS;
	if (asked & DAT_MEM_PRIV_REMOTE_READ_FLAG &&
	    !(bind->lmr->privileges & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return RET_NO_PRIVILEGE(RDMA_READ);
	if (asked & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !(bind->lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return RET_NO_PRIVILEGE(RDMA_WRITE);
	return DAT_SUCCESS;
}

static int remote_access_of(DAT_MEM_PRIV_FLAGS privileges)
{
	return (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG ?
		IB_ACCESS_REMOTE_READ : 0) |
	       (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ?
		IB_ACCESS_REMOTE_WRITE : 0);
}

static int window_bind(struct kdapl_rmr *rmr, const struct kdapl_bind *bind,
		       struct kdapl_bind_wr *wr)
{
	static const DAT_LMR_TRIPLET none;
	const DAT_LMR_TRIPLET *t = bind->triplet ?: &none;

	/* The window went with the device, or the RMR is being taken down (E71). */
	if (!rmr->window)
		return -ENODEV;
	if (bind->list)
		return mr_ops(rmr)->window_bind_list(rmr->window, bind->list,
						     remote_access_of(bind->privileges), wr);
	return mr_ops(rmr)->window_bind(rmr->window,
					bind->lmr ? bind->lmr->region : NULL,
					t->virtual_address, t->segment_length,
					remote_access_of(bind->privileges), wr);
}

static DAT_RETURN bind_refused(const struct kdapl_bind *bind, int error)
{
	switch (error) {
	case -E2BIG:
		return bind->list ? RET_BAD_ARG(3) : RET_NO_RESOURCE(MEMORY_REGION);
	case -ENOMEM:
		return RET_NO_RESOURCE(MEMORY);
	case -ENODEV:
		return RET(INVALID_STATE);
	default:
		return RET_NO_RESOURCE(MEMORY_REGION);
	}
}

static void binding_fill(struct kdapl_binding *binding,
			 const struct kdapl_bind *bind, u32 context)
{
	binding->lmr = bind->lmr;
	if (!bind->lmr)
		return;
	if (bind->triplet)
		binding->triplet = *bind->triplet;
	binding->privileges = bind->privileges;
	binding->context = context;
}

/**
 * kdapl_rmr_begin - prepare an RMR and the work requests of a bind
 * @bind: checked
 * @cookie: the slot of the bind's completion
 * @wr: out: what is to be posted.  NULL: nothing is posted, because this is the unbind of an
 *	RMR with an @fmr and will be flushed; its completion waits until the window has been
 *	renewed
 *
 * From here on the LMR is in use (mt:M22, mt:M40).  The caller either posts
 * @wr, in the same RCU read section, or calls kdapl_rmr_cancel().  It holds the
 * lock of the endpoint's request direction.  Takes the RMR's lock; any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RMR: the RMR was freed meanwhile;
 * DAT_INVALID_PARAMETER/ARG2: the LMR was freed meanwhile; DAT_INVALID_STATE/LMR_FREE: the
 * LMR does not have the memory any more that @bind takes away;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY_REGION: another bind of this RMR is
 * outstanding (A6), or the range has more pages than a window; /MEMORY: a
 * renewal of the window had failed; DAT_INVALID_STATE: the device is being
 * removed; DAT_INVALID_PARAMETER/ARG3: the device cannot map the list in one piece.
 */
DAT_RETURN kdapl_rmr_begin(const struct kdapl_bind *bind,
			   struct kdapl_cookie *cookie,
			   struct kdapl_bind_wr *wr)
{
	struct kdapl_rmr *rmr = bind->rmr;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rmr->lock, flags);
	if (rmr->dead)
		ret = RET_BAD_HANDLE(RMR);
	else if (rmr->cookie || rmr->due)
		ret = bind_refused(bind, -EBUSY);
	else if (bind->takes && READ_ONCE(rmr->fmr->context) != bind->takes)
		ret = RET_BAD_STATE(LMR_FREE);
	else if (bind->lmr && !kdapl_object_use(&bind->lmr->obj))
		ret = RET_BAD_ARG(2);
	if (ret)
		goto out;

	if (wr)
		err = window_bind(rmr, bind, wr);
	if (err) {
		ret = bind_refused(bind, err);
		if (err == -ENOMEM)
			kdapl_rmr_settle_soon(rmr);
		if (bind->lmr)
			kdapl_object_unuse(&bind->lmr->obj);
		goto out;
	}
	if (bind->lmr)
		kdapl_object_get(&bind->lmr->obj);
	binding_fill(&rmr->next, bind, wr ? wr->rkey : 0);
	rmr->takes = bind->takes;
	rmr->cookie = cookie;
	rmr->evd = cookie->dir->evd;
out:
	spin_unlock_irqrestore(&rmr->lock, flags);
	return ret;
}

/**
 * kdapl_rmr_cancel - undo kdapl_rmr_begin() of a bind that could not be posted
 * @rmr: on return as it would be without the bind
 *
 * If a peer has invalidated the present key meanwhile, the rest was left to the bind that is now
 * undone.  Caller holds what it held for kdapl_rmr_begin().  Takes the RMR's lock; any context.
 */
void kdapl_rmr_cancel(struct kdapl_rmr *rmr)
{
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	kdapl_binding_drop(&rmr->next);
	if (rmr->now.taken && !rmr->fmr) {
		kdapl_rmr_settle_soon(rmr);
	} else if (rmr->now.taken) {
		mr_ops(rmr)->window_taken(rmr->window);
		kdapl_binding_drop(&rmr->now);
	}
	rmr->cookie = NULL;
	spin_unlock_irqrestore(&rmr->lock, flags);
}

/**
 * kdapl_rmr_complete - judge a completion before anybody sees it
 * @rmr: the RMR of the bind
 * @cookie: the slot of the bind's completion
 * @success: of the completion
 *
 * Takes the RMR's lock; any context, the lock of the EVD or of the direction may be held.
 * Nothing is done for a cookie other than that of the outstanding bind: its bind was judged or
 * settled before, or was never begun.  If a peer has invalidated the key that a process's bind
 * has made, the window is renewed as after a failure (rmr_take() in rmr_lmr.c says why).  Rules
 * mt:M35, mt:M40, mt:M41, mt:M44, V4.
 *
 * Return: true: the completion may be seen; false: the RMR has to be settled
 * first, so the caller asks again when its EVD is kicked.
 */
bool kdapl_rmr_complete(struct kdapl_rmr *rmr, struct kdapl_cookie *cookie,
			bool success)
{
	bool settled = true;
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	if (rmr->cookie != cookie)
		goto out;
	if (!success || rmr->dead || (rmr->next.taken && !rmr->fmr)) {
		settled = false;
		kdapl_rmr_settle_soon(rmr);
		goto out;
	}
	if (rmr->takes)
		kdapl_fmr_take(rmr->fmr, rmr->takes);
	rmr->former = rmr->now.taken ? 0 : rmr->now.context;
	kdapl_binding_drop(&rmr->now);
	rmr->now = rmr->next;
	memset(&rmr->next, 0, sizeof(rmr->next));
	mr_ops(rmr)->window_bound(rmr->window);
	if (rmr->now.taken)
		mr_ops(rmr)->window_taken(rmr->window);
	if (rmr->now.taken || rmr->takes)
		kdapl_binding_drop(&rmr->now);
	rmr->cookie = NULL;
out:
	spin_unlock_irqrestore(&rmr->lock, flags);
	return settled;
}

/**
 * kdapl_rmr_settle_bind - end a bind that the device never completed
 * @rmr: the RMR of the bind
 * @cookie: the slot of the bind's completion; no queue pair has work requests of it
 *
 * The bind is treated as failed: on return its completion may be seen.  The completion must
 * not be in a CQ, where it may yet tell of a success.  Takes @rmr->window_lock; may sleep.
 * Rule mt:M40.
 */
void kdapl_rmr_settle_bind(struct kdapl_rmr *rmr, struct kdapl_cookie *cookie)
{
	if (!kdapl_rmr_complete(rmr, cookie, false))
		rmr_settle(rmr);
}

/*
 * dat_rmr_bind.  Any context and never sleeps, but for a revocable RMR: that is a process's, whose
 * bind waits for the renewal that a peer's message has made necessary, and is not refused for it.
 */
DAT_RETURN kdapl_rmr_bind(struct kdapl_space *space, DAT_RMR_HANDLE rmr_handle,
			  const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
			  DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			  DAT_RMR_CONTEXT *rmr_context)
{
	struct kdapl_bind bind = {
		.rmr = rmr_find(space, rmr_handle),
		.triplet = triplet,
		.privileges = privileges,
		.context = rmr_context,
	};
	DAT_RETURN ret;

	if (!bind.rmr)
		return RET_BAD_HANDLE(RMR);
	ret = kdapl_ep_post_bind(space, ep, &bind, cookie, flags);
	if (ret == RET_NO_RESOURCE(MEMORY_REGION) && bind.rmr->revocable) {
		rmr_settle(bind.rmr);
		ret = kdapl_ep_post_bind(space, ep, &bind, cookie, flags);
	}
	if (!ret)
		*rmr_context = bind.rkey;
	kdapl_object_put(&bind.rmr->obj);
	return ret;
}

/* ---- of an LMR ------------------------------------------------------------------------- */

/**
 * kdapl_rmr_create_for - make the RMR through which peers reach the memory of an LMR
 * @lmr: of dat_lmr_allocate(), not published yet; its rmr is filled in
 *
 * It is freed with the memory of @lmr; kdapl_rmr_end() comes before.  Caller is in the section
 * of the IA.  May sleep.
 *
 * Return: DAT_SUCCESS; DAT_MODEL_NOT_SUPPORTED: the device has no windows;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY, /MEMORY_REGION.
 */
DAT_RETURN kdapl_rmr_create_for(struct kdapl_lmr *lmr)
{
	u32 pages = min(lmr->max_pages, lmr->obj.ia->dev->max_window_pages);
	DAT_RETURN ret;

	ret = rmr_make(lmr->pz, pages, true, &lmr->rmr);
	if (!ret)
		lmr->rmr->fmr = lmr;
	return ret;
}

/**
 * kdapl_rmr_end - no peer reaches the memory of an LMR from here on
 * @rmr: of an LMR; no work request of it is on a send queue
 *
 * Idempotent.  May sleep.
 */
void kdapl_rmr_end(struct kdapl_rmr *rmr)
{
	unsigned int noio = window_lock(rmr);

	rmr_finish(rmr);
	window_unlock(rmr, noio);
}

/* ---- the end ------------------------------------------------------------------------- */

/*
 * Give back what belongs to the device
 * @obj: an RMR; no queue pair has a work request of its binds any more
 *
 * Idempotent; the RMR stays as a shell.  May sleep.
 */
static void rmr_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_rmr *rmr = rmr_of(obj);
	unsigned int noio = window_lock(rmr);

	window_release(rmr);
	window_unlock(rmr, noio);
}

/*
 * Take an RMR away from its consumer
 * @obj: an RMR, with a reference of the caller; no endpoint is left to post
 *
 * Tear-down of the IA (I15).  May sleep.
 */
static void rmr_teardown(struct kdapl_object *obj)
{
	kdapl_rmr_end(rmr_of(obj));
	kdapl_object_retire(obj);
}

static const struct kdapl_object_ops rmr_ops = {
	.release = rmr_release,
	.release_verbs = rmr_release_verbs,
	.teardown = rmr_teardown,
};

/*
 * Waits for a bind that is between kdapl_rmr_begin() and its post.  The thread that posts it
 * holds the lock of the direction, and has posted or cancelled it when it drops the lock.  The
 * memory of the endpoint stays meanwhile: it was there, with a bind outstanding, after our RCU
 * read section had begun.
 */
static void rmr_settle_post(struct kdapl_rmr *rmr)
{
	struct kdapl_dir *dir;

	rcu_read_lock();
	spin_lock_irq(&rmr->lock);
	dir = rmr->cookie ? rmr->cookie->dir : NULL;
	spin_unlock_irq(&rmr->lock);
	if (dir)
		kdapl_dir_sync_posts(dir);
	rcu_read_unlock();
}

/*
 * Caller is in the section of the RMR's IA.  While a bind is outstanding the
 * device has its work requests, so the window stays, and the bind's completion
 * ends the RMR.
 */
static DAT_RETURN rmr_unmake(struct kdapl_rmr *rmr)
{
	unsigned int noio = window_lock(rmr);
	bool dead, busy;

	spin_lock_irq(&rmr->lock);
	dead = rmr->dead;
	busy = rmr->cookie;
	rmr->dead = true;
	spin_unlock_irq(&rmr->lock);
	if (!dead && busy) {
		rmr_settle_post(rmr);
		busy = READ_ONCE(rmr->cookie);
	}
	if (!dead && !busy)
		rmr_finish(rmr);
	window_unlock(rmr, noio);
	if (dead)
		return RET_BAD_HANDLE(RMR);
	/* Retired last: until then a removal of the device finds the RMR, and waits for us. */
	kdapl_object_retire(&rmr->obj);
	return DAT_SUCCESS;
}

/*
 * dat_rmr_free.  Of two racing calls one wins (E114).  While a bind is outstanding the
 * LMR stays in use until its completion can be seen (mt:M44).
 */
DAT_RETURN kdapl_rmr_free(struct kdapl_space *space, DAT_RMR_HANDLE rmr_handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, rmr_handle, KDAPL_RMR,
				   DAT_INVALID_HANDLE_RMR);
	if (!ret)
		ret = rmr_unmake(rmr_of(op.obj));
	return kdapl_op_end(&op, ret);
}
