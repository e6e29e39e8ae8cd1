// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared Receive Queues: their life, and dat_srq_create, _free, _query, _resize, _set_lw.
 * What is posted to them is in srq_post.c.
 *
 * An SRQ is used by the endpoints on it, and uses its PZ.  When it is freed, its cookies may
 * still be in the FIFOs of EVDs.  So its memory stays until the last of these endpoints has
 * gone (kdapl_ep.srq).
 *
 * In passthrough the queue is the process's own, which posts and counts (kdapl_srq_limits()).
 * The SRQ then stands for its zone, its endpoints, its size and its low watermark, and the
 * process tells when that is reached (kdapl_srq_tell()).
 *
 * Callers: the faces; ia_open.c (tear-down); ep.c, which makes endpoints on it; ia_query.c for
 * limits; srq_post.c, which raises events.
 */
#include <linux/slab.h>
#include "srq.h"
#include "ep_attr.h"
#include "ia.h"
#include "lmr.h"
#include "op.h"

/*
 * struct kdapl_srq_cookies - memory of cookies
 * @next: the cookies that were there before the SRQ grew
 * @at: the cookies
 */
struct kdapl_srq_cookies {
	struct kdapl_srq_cookies *next;
	struct kdapl_srq_cookie at[];
};

/* Is the queue the process's own? */
static bool srq_is_users(const struct kdapl_srq *srq)
{
	return kdapl_ia_is_passthrough(srq->obj.ia);
}

/* ---- cookies -------------------------------------------------------- */

/* Makes room for @n receives; the caller has @srq->mutex, or is alone. */
static bool srq_make_room(struct kdapl_srq *srq, u32 n)
{
	struct kdapl_srq_cookies *more;
	u32 i, missing;

	if (n <= srq->room)
		return true;
	missing = n - srq->room;
	more = kvzalloc(struct_size(more, at, missing), kdapl_gfp(srq->obj.space));
	if (!more)
		return false;
	for (i = 0; i < missing; i++) {
		struct kdapl_srq_cookie *sc = &more->at[i];

		sc->srq = srq;
		sc->cookie.dir = &srq->dir;
		sc->cookie.node.is_cookie = true;
		sc->cookie.flags = KDAPL_COOKIE_SRQ;
		spin_lock_irq(&srq->lock);
		list_add_tail(&sc->entry, &srq->free);
		spin_unlock_irq(&srq->lock);
	}
	more->next = srq->cookies;
	srq->cookies = more;
	srq->room = n;
	return true;
}

static void srq_release(struct kdapl_object *obj)
{
	struct kdapl_srq *srq = kdapl_srq_of(obj);

	while (srq->cookies) {
		struct kdapl_srq_cookies *next = srq->cookies->next;

		kvfree(srq->cookies);
		srq->cookies = next;
	}
	xa_destroy(&srq->qps);
	mutex_destroy(&srq->mutex);
	kfree(srq);
}

/* ---- events --------------------------------------------------------- */

static void srq_async(struct kdapl_srq *srq, DAT_COUNT reason)
{
	kdapl_ia_async_event(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
			     kdapl_handle(&srq->obj), reason);
}

static void srq_work(struct work_struct *work)
{
	struct kdapl_srq *srq = container_of(work, struct kdapl_srq, work);

	if (test_and_clear_bit(KDAPL_SRQ_LOW, &srq->due))
		srq_async(srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	if (test_and_clear_bit(KDAPL_SRQ_ERROR, &srq->due))
		srq_async(srq, DAT_SRQ_TRANSFER_TO_ERROR);
	kdapl_object_put(&srq->obj);
}

/**
 * kdapl_srq_raise - raise an asynchronous event about an SRQ (E72)
 * @srq: any
 * @what: KDAPL_SRQ_LOW or KDAPL_SRQ_ERROR
 *
 * Any context.
 */
void kdapl_srq_raise(struct kdapl_srq *srq, unsigned int what)
{
	set_bit(what, &srq->due);
	kdapl_object_get(&srq->obj);
	if (!queue_work(kdapl_wq_of(srq->obj.space), &srq->work))
		kdapl_object_put(&srq->obj);
}

/*
 * The device says that few receives are left, or that it has lost the queue.  It may say the
 * former of a low watermark that was reached or taken back since: no event then (mt:M63).
 *
 * If another one was set meanwhile, what is late is taken for that: its event comes early, once.
 * Nothing tells the two apart, since a device may know of messages that nobody has polled for, and
 * half of the drivers answer a query with the limit that was set last, reached or not.
 */
static void srq_event(struct kdapl_shared_rq *rq, enum ib_event_type event)
{
	struct kdapl_srq *srq = container_of(rq, struct kdapl_srq, rq);
	bool low = false, lost = false;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	if (event == IB_EVENT_SRQ_LIMIT_REACHED) {
		low = srq->armed;
		srq->armed = false;
	} else if (event == IB_EVENT_SRQ_ERR) {
		lost = !srq->broken;
		srq->broken = true;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (low)
		kdapl_srq_raise(srq, KDAPL_SRQ_LOW);
	if (lost)
		kdapl_srq_raise(srq, KDAPL_SRQ_ERROR);
}

/* ---- life ----------------------------------------------------------- */

/**
 * kdapl_srq_limits - what SRQs an adapter can have
 * @ia: adapter
 * @limits: out; all 0: none
 *
 * In passthrough there are SRQs only if the process has queues for them.  All receives of an
 * SRQ may complete in one CQ, which bounds their number.  Any context.
 */
void kdapl_srq_limits(const struct kdapl_ia *ia, struct kdapl_srq_limits *limits)
{
	const struct ib_device_attr *a = &ia->dev->attrs;
	struct kdapl_ep_limits ep;

	*limits = (struct kdapl_srq_limits) {};
	if (kdapl_ia_is_passthrough(ia) && !ia->own_srqs)
		return;
	if (a->max_srq <= 0 || a->max_srq_wr <= 0 || a->max_srq_sge <= 0)
		return;
	kdapl_ep_limits(ia->dev, &ep);
	limits->srqs = a->max_srq;
	limits->recvs = min(a->max_srq_wr, a->max_cqe);
	limits->iov = min_t(u32, ep.iov, a->max_srq_sge);
}

/**
 * kdapl_srq_find - look an SRQ up
 * @space: in which @handle is valid
 * @handle: any value
 *
 * Any context.
 *
 * Return: the SRQ with a reference, or NULL.
 */
struct kdapl_srq *kdapl_srq_find(struct kdapl_space *space, DAT_SRQ_HANDLE handle)
{
	struct kdapl_object *obj = kdapl_object_find(space, handle, KDAPL_SRQ);

	return obj ? kdapl_srq_of(obj) : NULL;
}

/*
 * Give back what belongs to the device
 * @obj: an SRQ without queue pairs
 *
 * Idempotent; the SRQ stays as a shell.  Receives that are in the queue complete nowhere
 * (mt:M52).  May sleep.
 */
static void srq_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_srq *srq = kdapl_srq_of(obj);
	struct kdapl_shared_rq rq;

	mutex_lock(&srq->mutex);
	/* A post that is under way ends before we get the lock, and no further one begins. */
	spin_lock_irq(&srq->lock);
	rq = srq->rq;
	srq->rq.ib = NULL;
	srq->rq.charge = (struct kdapl_charge) {};
	srq->armed = false;
	spin_unlock_irq(&srq->lock);
	if (rq.ib)
		rq.dev->qp->srq_destroy(&rq);
	mutex_unlock(&srq->mutex);
}

static void srq_teardown(struct kdapl_object *obj)
{
	struct kdapl_srq *srq = kdapl_srq_of(obj);
	struct kdapl_pz *pz = srq->pz;

	srq_release_verbs(obj);
	/* Under the lock: a query may be looking at @pz. */
	spin_lock_irq(&srq->lock);
	srq->pz = NULL;
	spin_unlock_irq(&srq->lock);
	kdapl_object_unuse(&pz->obj);
	kdapl_object_put(&pz->obj);
	kdapl_object_retire(obj);
}

static const struct kdapl_object_ops srq_ops = {
	.release = srq_release,
	.release_verbs = srq_release_verbs,
	.teardown = srq_teardown,
};

static struct kdapl_srq *srq_alloc(struct kdapl_ia *ia, const DAT_SRQ_ATTR *attr)
{
	struct kdapl_srq *srq;

	srq = kdapl_object_alloc(sizeof(*srq), KDAPL_SRQ, ia, &srq_ops);
	if (!srq)
		return NULL;
	mutex_init(&srq->mutex);
	spin_lock_init(&srq->lock);
	kdapl_dir_init(&srq->dir, NULL, true);
	INIT_LIST_HEAD(&srq->free);
	INIT_LIST_HEAD(&srq->posted);
	INIT_WORK(&srq->work, srq_work);
	xa_init_flags(&srq->qps, ia->obj.space->user ? XA_FLAGS_ACCOUNT : 0);
	srq->rq.dev = ia->dev;
	srq->rq.event = srq_event;
	srq->rq.user = ia->obj.space->user;
	srq->max = attr->max_recv_dtos;
	srq->cq_entries = srq->max;
	srq->limits.max_iov = attr->max_recv_iov;
	srq->limits.max_length = ia->dev->max_msg_sz;
	if (srq_is_users(srq) || srq_make_room(srq, srq->max))
		return srq;
	kdapl_object_abort(&srq->obj);
	return NULL;
}

/* Makes and publishes an SRQ; takes over a reference of @pz on success. */
static DAT_RETURN srq_make(struct kdapl_ia *ia, struct kdapl_pz *pz,
			   const DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *handle)
{
	struct kdapl_device *dev = ia->dev;
	struct kdapl_srq *srq;
	int err = 0;

	if (!kdapl_object_use(&pz->obj))
		return RET_BAD_HANDLE(PZ);
	srq = srq_alloc(ia, attr);
	if (!srq) {
		kdapl_object_unuse(&pz->obj);
		return RET_NO_RESOURCE(MEMORY);
	}
	/* The zone cannot be freed, since it has a user. */
	if (!srq_is_users(srq))
		err = dev->qp->srq_create(&srq->rq, dev->mr->zone_pd(pz->zone), srq->max,
					  srq->limits.max_iov);
	if (err) {
		kdapl_object_unuse(&pz->obj);
		kdapl_object_abort(&srq->obj);
		return err == -ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET_NO_RESOURCE(SRQ);
	}
	srq->pz = pz;
	*handle = kdapl_handle(&srq->obj);
	kdapl_object_publish(&srq->obj);
	return DAT_SUCCESS;
}

static DAT_RETURN check_create(const struct kdapl_ia *ia, const DAT_SRQ_ATTR *attr,
			       const DAT_SRQ_HANDLE *handle)
{
	struct kdapl_srq_limits limits;

	kdapl_srq_limits(ia, &limits);
	if (!attr)
		return RET_BAD_ARG(3);
	if (limits.srqs &&
	    (attr->max_recv_dtos <= 0 || (u32)attr->max_recv_dtos > limits.recvs ||
	     attr->max_recv_iov <= 0 || (u32)attr->max_recv_iov > limits.iov ||
	     attr->low_watermark != DAT_SRQ_LW_DEFAULT))
		return RET_BAD_ARG(3);
	if (!handle)
		return RET_BAD_ARG(4);
	return limits.srqs ? DAT_SUCCESS : RET(MODEL_NOT_SUPPORTED);
}

/* dat_srq_create.  Rules mt:M48, mt:M49. */
DAT_RETURN kdapl_srq_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_PZ_HANDLE pz_handle, const DAT_SRQ_ATTR *attr,
			    DAT_SRQ_HANDLE *handle)
{
	struct kdapl_pz *pz = NULL;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret) {
		pz = kdapl_pz_find(space, pz_handle);
		if (!pz || pz->obj.ia != op.obj->ia)
			ret = RET_BAD_HANDLE(PZ);
	}
	if (!ret)
		ret = check_create(op.obj->ia, attr, handle);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = srq_make(op.obj->ia, pz, attr, handle);
	if (ret && pz)
		kdapl_object_put(&pz->obj);
	return kdapl_op_end(&op, ret);
}

/* dat_srq_free.  Of two racing calls one wins (E114). */
DAT_RETURN kdapl_srq_free(struct kdapl_space *space, DAT_SRQ_HANDLE handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_SRQ, DAT_INVALID_HANDLE_SRQ);
	if (!ret)
		ret = kdapl_op_kill(&op, RET_BAD_STATE(SRQ_IN_USE));
	/* Retired last: until then a removal of the device finds the SRQ, and waits for us. */
	if (!ret)
		srq_teardown(op.obj);
	return kdapl_op_end(&op, ret);
}

/* ---- query, size and watermark -------------------------------------- */

static void srq_fill(struct kdapl_srq *srq, DAT_SRQ_PARAM *param)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	*param = (DAT_SRQ_PARAM) {
		.ia_handle = kdapl_handle(&srq->obj.ia->obj),
		.srq_state = srq->broken ? DAT_SRQ_STATE_ERROR :
					   DAT_SRQ_STATE_OPERATIONAL,
		.pz_handle = kdapl_handle_or_null(srq->pz),
		.max_recv_dtos = srq->max,
		.max_recv_iov = srq->limits.max_iov,
		.low_watermark = srq->lw,
		/* Only the device sees that a receive is taken (mt:M57). */
		.available_dto_count = DAT_VALUE_UNKNOWN,
		.outstanding_dto_count = srq->outstanding,
	};
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* dat_srq_query.  Any context.  Rule mt:M57. */
DAT_RETURN kdapl_srq_query(struct kdapl_space *space, DAT_SRQ_HANDLE handle,
			   DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, handle, KDAPL_SRQ, DAT_INVALID_HANDLE_SRQ,
				  mask & ~DAT_SRQ_FIELD_ALL, param);
	if (!ret)
		srq_fill(kdapl_srq_of(op.obj), param);
	return kdapl_op_end(&op, ret);
}

/* May @max receives be outstanding?  If so, and @set, @max is the limit from now on. */
static DAT_RETURN srq_try_max(struct kdapl_srq *srq, u32 max, bool set)
{
	DAT_RETURN ret = DAT_SUCCESS;

	spin_lock_irq(&srq->lock);
	if (srq->outstanding > max || (srq->armed && srq->lw > max))
		ret = RET(INVALID_STATE);
	else if (set)
		srq->max = max;
	spin_unlock_irq(&srq->lock);
	return ret;
}

/*
 * Has the CQs of all endpoints on @srq get room for its completions.  Endpoints that are made
 * afterwards have it from the beginning, and their creation waits for the mutex.
 */
static bool srq_grow_shares(struct kdapl_srq *srq, u32 max)
{
	u32 former = srq->cq_entries;
	struct kdapl_object *obj = NULL;
	bool ret = true;

	lockdep_assert_held(&srq->mutex);
	if (max <= former)
		return true;
	WRITE_ONCE(srq->cq_entries, max);
	while ((obj = kdapl_ia_next_object(srq->obj.ia, KDAPL_EP, obj)))
		ret = kdapl_ep_grow_share(kdapl_ep_of(obj), srq, max) && ret;
	if (!ret)
		WRITE_ONCE(srq->cq_entries, former);
	return ret;
}

static DAT_RETURN srq_resize(struct kdapl_srq *srq, u32 max)
{
	const struct kdapl_qp_ops *ops = srq->rq.dev->qp;
	DAT_RETURN ret;

	lockdep_assert_held(&srq->mutex);
	if (srq_is_users(srq))
		return srq_try_max(srq, max, true);
	if (!srq->rq.ib)
		return RET_BAD_HANDLE(SRQ);
	ret = srq_try_max(srq, max, false);
	if (ret)
		return ret;
	if (!srq_make_room(srq, max) || !srq_grow_shares(srq, max) ||
	    (max > srq->rq.size && ops->srq_resize(&srq->rq, max)))
		return RET_NO_RESOURCE(MEMORY);
	return srq_try_max(srq, max, true);
}

/* dat_srq_resize.  Rule mt:M64. */
DAT_RETURN kdapl_srq_resize(struct kdapl_space *space, DAT_SRQ_HANDLE handle,
			    DAT_COUNT max)
{
	struct kdapl_srq_limits limits;
	struct kdapl_srq *srq;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_SRQ, DAT_INVALID_HANDLE_SRQ);
	if (!ret) {
		kdapl_srq_limits(op.obj->ia, &limits);
		if (max <= 0 || (u32)max > limits.recvs)
			ret = RET_BAD_ARG(2);
	}
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret) {
		srq = kdapl_srq_of(op.obj);
		mutex_lock(&srq->mutex);
		ret = srq_resize(srq, max);
		mutex_unlock(&srq->mutex);
	}
	return kdapl_op_end(&op, ret);
}

/*
 * Arms the low watermark, or raises the event at once if fewer receives than that can be left
 * (mt:M63).  It does no harm if a device does not arm: the watermark is also compared with what
 * is known to be left (srq_post.c).  In passthrough only the process knows what is left.
 */
static DAT_RETURN srq_set_lw(struct kdapl_srq *srq, u32 lw)
{
	const struct kdapl_qp_ops *ops = srq->rq.dev->qp;
	DAT_RETURN ret = DAT_SUCCESS;
	bool users = srq_is_users(srq), low = false;

	lockdep_assert_held(&srq->mutex);
	if (!users && !srq->rq.ib)
		return RET_BAD_HANDLE(SRQ);
	spin_lock_irq(&srq->lock);
	if (lw > srq->max) {
		ret = RET_BAD_ARG(2);
	} else {
		low = !users && srq->queued < lw;
		srq->lw = lw;
		srq->armed = lw && !low;
	}
	spin_unlock_irq(&srq->lock);
	if (ret || users)
		return ret;
	ops->srq_arm(&srq->rq, low ? 0 : lw);
	if (low)
		kdapl_srq_raise(srq, KDAPL_SRQ_LOW);
	return DAT_SUCCESS;
}

/* dat_srq_set_lw.  Rules mt:M61..M63. */
DAT_RETURN kdapl_srq_set_lw(struct kdapl_space *space, DAT_SRQ_HANDLE handle,
			    DAT_COUNT lw)
{
	struct kdapl_srq *srq;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_SRQ, DAT_INVALID_HANDLE_SRQ);
	if (!ret && (lw < 0 || (u32)lw > READ_ONCE(kdapl_srq_of(op.obj)->max)))
		ret = RET_BAD_ARG(2);
	if (!ret && !op.obj->ia->dev->srq_arms)
		ret = RET(MODEL_NOT_SUPPORTED);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret) {
		srq = kdapl_srq_of(op.obj);
		mutex_lock(&srq->mutex);
		ret = srq_set_lw(srq, lw);
		mutex_unlock(&srq->mutex);
	}
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_srq_tell - a process tells what it sees of an SRQ's queue, which is its own
 * @space: of the process
 * @handle: of an SRQ
 * @low: fewer receives are left than the low watermark; else the device has lost the queue
 *
 * It is treated like what the device tells of a queue of the kernel's: a watermark that is not
 * armed is not reached, and a queue is lost only once.  Any context.  Rules mt:M61, mt:M65.
 *
 * Return: DAT_SUCCESS, also if it changed nothing; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_STATE
 * if the adapter is not in passthrough.
 */
DAT_RETURN kdapl_srq_tell(struct kdapl_space *space, DAT_SRQ_HANDLE handle, bool low)
{
	struct kdapl_srq *srq;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_SRQ, DAT_INVALID_HANDLE_SRQ);
	if (!ret) {
		srq = kdapl_srq_of(op.obj);
		if (srq_is_users(srq))
			srq_event(&srq->rq, low ? IB_EVENT_SRQ_LIMIT_REACHED :
						  IB_EVENT_SRQ_ERR);
		else
			ret = RET(INVALID_STATE);
	}
	return kdapl_op_end(&op, ret);
}
