// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting binds: the way of a dat_rmr_bind(), dat_lmr_fmr() or dat_lmr_invalidate() to the queue
 * pair.  It is a request like a DTO, in one or two work requests, and keeps the rules of post.c;
 * beside the lock of the direction it takes that of its RMR.
 *
 * Callers: rmr.c and fmr.c.
 */
#include "post.h"
#include "rmr.h"
#include "../trace.h"

/* Work requests of a bind at most. */
#define BIND_WRS	2

/* ---- checks --------------------------------------------------------- */

/* Checks the arguments of a bind; the caller holds the lock of the direction. */
static DAT_RETURN check_bind(const struct kdapl_ep *ep, struct kdapl_bind *bind,
			     DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret;

	if (ep->obj.ia != bind->rmr->obj.ia)
		return RET_BAD_HANDLE(EP);
	/* E18: the completion goes only where it is expected. */
	if (!ep->req.binds)
		return RET_BAD_HANDLE(EVD_REQUEST);
	ret = kdapl_rmr_check_region(ep, bind);
	if (ret)
		return ret;
	if ((u32)flags & ~ep->limits[KDAPL_DTO_BIND].flags)
		return RET_BAD_ARG(6);
	if (!bind->context)
		return RET_BAD_ARG(7);
	return kdapl_rmr_check_rights(ep, bind);
}

/* The same for dat_lmr_fmr() and dat_lmr_invalidate(), which have checked the rest. */
static DAT_RETURN check_fmr_bind(const struct kdapl_ep *ep, const struct kdapl_bind *bind,
				 DAT_COMPLETION_FLAGS flags)
{
	if (ep->obj.ia != bind->rmr->obj.ia)
		return RET_BAD_HANDLE(EP);
	if ((u32)flags & ~ep->limits[KDAPL_DTO_BIND].flags)
		return bind->list ? RET_BAD_ARG(9) : RET_BAD_ARG(4);
	/* Local rights are no condition: unlike that of an RMR the memory is not another LMR's. */
	return ep->pz == bind->rmr->pz ? DAT_SUCCESS : kdapl_rmr_check_rights(ep, bind);
}

/* ---- under the lock of the direction -------------------------------- */

/*
 * A bind of two work requests is a chain.  The queue pair has room for both of each bind if the
 * request EVD takes completions of binds.  If not, the second one of a dat_lmr_fmr() comes out
 * of the reserve.
 */
static bool bind_chain(struct kdapl_dir *dir, struct kdapl_cookie *cookie)
{
	u32 more = !dir->binds;

	if (!kdapl_post_reserve(dir, more))
		return false;
	cookie->flags |= KDAPL_COOKIE_CHAIN;
	cookie->more = more;
	dir->posted++;
	return true;
}

/* One or two work requests; the last one's completion is that of the bind. */
static DAT_RETURN post_bind_wrs(struct kdapl_dir *dir, struct kdapl_bind *bind,
				struct kdapl_cookie *cookie)
{
	const struct ib_send_wr *bad;
	struct kdapl_bind_wr wr;
	DAT_RETURN ret;
	int err;

	ret = kdapl_rmr_begin(bind, cookie, &wr);
	if (!ret && wr.first != wr.last && !bind_chain(dir, cookie)) {
		kdapl_rmr_cancel(bind->rmr);
		ret = RET_NO_RESOURCE(MEMORY);
	}
	if (ret) {
		dir->posted--;
		cookie_put_back(dir, cookie);
		return ret;
	}
	wr.first->wr_id = (uintptr_t)cookie | KDAPL_WR_PART;
	wr.last->wr_id = (uintptr_t)cookie;
	wr.first->send_flags |= IB_SEND_SIGNALED;
	wr.last->send_flags |= IB_SEND_SIGNALED;
	if (cookie->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		wr.first->send_flags |= IB_SEND_FENCE;
	trace_kdapl_post(dir->ep, cookie, KDAPL_DTO_BIND);
	err = ib_post_send(dir->ep->conn->qp.ib, wr.first, &bad);
	if (err && bad == wr.first) {
		if (cookie->flags & KDAPL_COOKIE_CHAIN) {
			kdapl_chain_end(cookie);
			dir->posted--;
		}
		ret = kdapl_post_bind_refused(dir, cookie, err);
		/* A dat_lmr_invalidate() takes the memory away also if it is flushed later. */
		if (ret || !bind->takes)
			kdapl_rmr_cancel(bind->rmr);
		return ret;
	}
	if (err) {
		dir->posted--;
		kdapl_post_chain_broken(dir, cookie, err);
	}
	bind->rkey = wr.rkey;
	return DAT_SUCCESS;
}

/*
 * A bind that is not posted, but flushed.  A dat_lmr_invalidate() takes the memory away all
 * the same, before its completion can be seen (fifo_take() in evd_fifo.c).
 */
static DAT_RETURN post_bind_aside(struct kdapl_dir *dir, struct kdapl_bind *bind,
				  struct kdapl_cookie *cookie)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (bind->takes)
		ret = kdapl_rmr_begin(bind, cookie, NULL);
	if (!ret)
		return kdapl_post_bind_aside(dir, cookie);
	cookie_put_back(dir, cookie);
	return ret;
}

/* The same as post_dto(), for a bind. */
static DAT_RETURN post_bind(struct kdapl_ep *ep, struct kdapl_bind *bind,
			    u64 user, DAT_COMPLETION_FLAGS flags)
{
	const struct kdapl_segments none = {};
	struct kdapl_dir *dir = &ep->req;
	struct kdapl_cookie *cookie;
	DAT_RETURN ret;

	lockdep_assert_held(&dir->lock);
	if (dir->gate != KDAPL_GATE_POST) {
		ret = kdapl_post_check_aside(ep, dir);
		if (ret)
			return ret;
	}
	/* A bind is not held until there is room: its key and regions would have to wait, too. */
	if (deep_is_full(dir, BIND_WRS))
		return RET_NO_RESOURCE(MEMORY);
	cookie = cookie_take(dir, KDAPL_DTO_BIND, user, 0, flags);
	if (!cookie)
		return RET_NO_RESOURCE(MEMORY);
	if (dir->gate == KDAPL_GATE_DEEP)
		cookie->flags |= KDAPL_COOKIE_DEEP;
	kdapl_object_get(&bind->rmr->obj);
	cookie->rmr = bind->rmr;
	cookie->failed = false;
	if (!gate_is_open(dir)) {
		ret = post_bind_aside(dir, bind, cookie);
	} else {
		cookie->owed = true;
		dir->posted++;
		if (dir->lkeys)
			note_keys(dir, cookie, none);
		ret = post_bind_wrs(dir, bind, cookie);
	}
	if (ret) {
		cookie->rmr = NULL;
		kdapl_object_put(&bind->rmr->obj);
	}
	return ret;
}

/* ---- entry ---------------------------------------------------------- */

/**
 * kdapl_ep_post_bind - the way of a bind to the queue pair, for rmr.c and fmr.c
 * @space: of the caller
 * @handle: of an EP
 * @bind: what to bind; its rkey is filled, 0 for what never reaches the device
 * @cookie: given back in the completion
 * @flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED where the EP's attributes have it
 *
 * Any context; never sleeps.  Rules mt:M29..M34, mt:M38, mt:M47.
 *
 * Return: as dat_rmr_bind(), but for the RMR's handle.
 */
DAT_RETURN kdapl_ep_post_bind(struct kdapl_space *space, DAT_EP_HANDLE handle,
			      struct kdapl_bind *bind, DAT_DTO_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags)
{
	struct kdapl_object *obj;
	unsigned long irqflags;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	irqflags = kdapl_peek_begin();
	obj = kdapl_object_peek(space, handle, KDAPL_EP);
	ret = RET_BAD_HANDLE(EP);
	if (!obj)
		goto out;
	ep = kdapl_ep_of(obj);
	spin_lock(&ep->req.lock);
	ret = bind->rmr->fmr ? check_fmr_bind(ep, bind, flags) : check_bind(ep, bind, flags);
	if (!ret)
		ret = post_bind(ep, bind, cookie.as_64, flags);
	spin_unlock(&ep->req.lock);
out:
	kdapl_peek_end(irqflags);
	return ret;
}
