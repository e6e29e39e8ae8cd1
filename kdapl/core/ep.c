// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints: their life, and dat_ep_create, _query, _get_status, _reset, _free.
 * Their state is ep_apply.c's, their attributes and what they use ep_attr.c's,
 * connecting ep_connect.c's, posting post.c's.
 *
 * Callers: the faces, ia_open.c (tear-down), sp_request.c and cr.c (endpoints that the provider
 * makes).
 */
#include <linux/slab.h>
#include "ep.h"
#include "drain.h"
#include "ep_apply.h"
#include "ep_attr.h"
#include "ep_view.h"
#include "ia.h"
#include "lmr.h"
#include "op.h"
#include "srq.h"

/* ---- life ----------------------------------------------------------- */

static void ep_release(struct kdapl_object *obj)
{
	struct kdapl_ep *ep = kdapl_ep_of(obj);

	kdapl_cookie_rings_free(ep->req.rings);
	kdapl_cookie_rings_free(ep->recv.rings);
	if (ep->srq)
		kdapl_object_put(&ep->srq->obj);
	kfree(ep);
}

static const struct kdapl_object_ops ep_ops;

static struct kdapl_ep *ep_alloc(struct kdapl_ia *ia, enum kdapl_ep_state state,
				 struct kdapl_srq *srq)
{
	struct kdapl_ep *ep;

	ep = kdapl_object_alloc(sizeof(*ep), KDAPL_EP, ia, &ep_ops);
	if (!ep)
		return NULL;
	spin_lock_init(&ep->lock);
	mutex_init(&ep->use_lock);
	kdapl_dir_init(&ep->req, ep, false);
	kdapl_dir_init(&ep->recv, ep, true);
	ep->state = state;
	ep->last_state = state;
	ep->view_state = state;
	ep->local = &ia->addr;
	ep->srq = srq;
	if (srq)
		kdapl_object_get(&srq->obj);
	spin_lock_irq(&ep->lock);
	kdapl_ep_lock_dirs(ep);
	kdapl_ep_set_gates(ep);
	kdapl_ep_unlock_dirs(ep);
	spin_unlock_irq(&ep->lock);
	return ep;
}

/* Makes an endpoint with its objects attached, not published yet. */
static DAT_RETURN ep_build(struct kdapl_ia *ia, struct kdapl_ep_use *use,
			   const DAT_EP_ATTR *attr, enum kdapl_ep_state state,
			   struct kdapl_ep **out)
{
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	ep = ep_alloc(ia, state, use->srq);
	if (!ep)
		return RET_NO_RESOURCE(MEMORY);
	ret = kdapl_ep_configure(ep, use, attr);
	if (ret)
		kdapl_object_abort(&ep->obj);
	else
		*out = ep;
	return ret;
}

/**
 * kdapl_ep_create_tentative - the provider's own endpoint for a request (P9)
 * @ia: of the service point
 *
 * PZ and EVDs are null until the consumer sets them.  May sleep; the handler
 * mutex of the request's id may be held.
 *
 * Return: published in TENTATIVE, with a reference for the caller; or NULL.
 */
struct kdapl_ep *kdapl_ep_create_tentative(struct kdapl_ia *ia)
{
	struct kdapl_ep *ep = NULL;
	struct kdapl_ep_use use = { .unpaid = true };
	DAT_EP_ATTR attr;

	kdapl_ep_default_attr(ia->dev, &attr);
	if (ep_build(ia, &use, &attr, KDAPL_EP_TENTATIVE, &ep)) {
		kdapl_ep_use_put(&use);
		return NULL;
	}
	kdapl_object_get(&ep->obj);
	kdapl_object_publish(&ep->obj);
	return ep;
}

/*
 * When a call that ends a life of the endpoint returns, all events of that life can be
 * dequeued (R5, F8).  So flushed binds are settled here, since their completions wait for
 * their RMRs.  A process finds its events in a ring, which the runners of the EVDs fill: this
 * waits until the events are in there (R6).
 */
static void ep_settle(struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->use_lock);
	kdapl_ep_settle_binds(ep);
	/* Nothing attached: another thread has freed the endpoint, and perhaps its EVDs. */
	if (!ep->obj.space->user || !ep->use.attached)
		return;
	kdapl_evd_await_run(ep->req.evd);
	kdapl_evd_await_run(ep->recv.evd);
	if (ep->connect_evd)
		kdapl_evd_await_run(ep->connect_evd);
}

/**
 * kdapl_ep_finish - destroy an endpoint whose state is GONE
 * @ep: the caller has a reference
 *
 * On return no device and no callback of the CM touches the endpoint, and no new event names
 * it; those that are queued are still delivered, by upcalls as well (F12).  Its handle is
 * dead, its uses are given back (F10, F11).  May sleep; drives the drain itself (A10).
 */
void kdapl_ep_finish(struct kdapl_ep *ep)
{
	struct kdapl_conn *conn = ep->conn;

	if (conn) {
		kdapl_conn_finish(conn);
		/* Before the endpoint leaves @conn, by which a device removal finds it. */
		kdapl_conn_drop_qp(conn, ep);
		spin_lock_irq(&ep->lock);
		kdapl_ep_leave_conn(ep);
		spin_unlock_irq(&ep->lock);
		kdapl_conn_put(conn);
	} else {
		kdapl_ep_flush_rest(ep, false);
	}
	/* Posts that came while the flush was running; there will be no more. */
	kdapl_dir_flush_late(&ep->req);
	kdapl_dir_flush_late(&ep->recv);
	mutex_lock(&ep->use_lock);
	ep_settle(ep);
	kdapl_ep_unbind(ep);
	kdapl_ep_use_put(&ep->use);
	WRITE_ONCE(ep->pz, NULL);
	WRITE_ONCE(ep->connect_evd, NULL);
	mutex_unlock(&ep->use_lock);
	kdapl_ep_view_end(ep);
	/* Last: up to here a removal of the device finds the endpoint, and waits for us. */
	kdapl_object_retire(&ep->obj);
}

/*
 * The device of an endpoint goes
 * @obj: the endpoint
 *
 * A connection breaks (E71); its queue pair and its CM id are gone on return.  May
 * sleep.
 */
static void ep_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_ep *ep = kdapl_ep_of(obj);
	struct kdapl_conn *conn;
	struct kdapl_evd *hidden;

	kdapl_ep_input(ep, NULL, KDAPL_EP_IN_BROKEN);
	conn = kdapl_ep_get_conn(ep);
	if (conn) {
		kdapl_conn_finish(conn);
		kdapl_conn_destroy_id(conn);
		kdapl_conn_drop_qp(conn, ep);
		kdapl_conn_put(conn);
	}
	/* The hidden EVD has no handle, so a walk over the EVDs does not find it. */
	mutex_lock(&ep->use_lock);
	kdapl_ep_unbind(ep);
	hidden = ep->use.hidden;
	if (hidden)
		hidden->obj.ops->release_verbs(&hidden->obj);
	mutex_unlock(&ep->use_lock);
}

static void ep_begin_end(struct kdapl_object *obj, enum kdapl_end why)
{
	kdapl_ep_input(kdapl_ep_of(obj), NULL, why == KDAPL_END_CLOSE ?
		       KDAPL_EP_IN_TEARDOWN : KDAPL_EP_IN_BROKEN);
}

/*
 * The IA of an endpoint goes (I15, I19)
 * @obj: the endpoint, in any state
 */
static void ep_teardown(struct kdapl_object *obj)
{
	struct kdapl_ep *ep = kdapl_ep_of(obj);

	kdapl_object_get(obj);
	kdapl_ep_input(ep, NULL, KDAPL_EP_IN_TEARDOWN);
	kdapl_ep_finish(ep);
	kdapl_object_put(obj);
}

static const struct kdapl_object_ops ep_ops = {
	.release = ep_release,
	.begin_end = ep_begin_end,
	.release_verbs = ep_release_verbs,
	.teardown = ep_teardown,
};

/* ---- operations ----------------------------------------------------- */

/*
 * The arguments of a creation that are not handles; @granted: @attr or defaults.  With an
 * SRQ the call has one argument more, the attributes must not be NULL, and what they say of
 * the segments of a receive is not looked at (E.2).
 */
static DAT_RETURN check_create(const struct kdapl_ia *ia, const DAT_EP_ATTR *attr,
			       const DAT_EP_HANDLE *handle, DAT_EP_ATTR *granted,
			       struct kdapl_ep_use *use)
{
	const struct kdapl_device *dev = ia->dev;
	DAT_RETURN bad_attr = use->srq ? RET_BAD_ARG(7) : RET_BAD_ARG(6);

	if (!kdapl_ep_zone_fits(use))
		return RET_BAD_ARG(2);
	if (!attr && use->srq)
		return bad_attr;
	if (attr)
		*granted = *attr;
	else
		kdapl_ep_default_attr(dev, granted);
	if (use->srq)
		granted->max_recv_iov = use->srq->limits.max_iov;
	if (!kdapl_ep_attr_check(dev, granted))
		return bad_attr;
	/* RULING 68; with an SRQ exactly what was asked is granted (E.2). */
	if (!use->srq)
		granted->max_rdma_size = dev->max_msg_sz;
	if (attr && !ia->obj.space->user &&
	    !kdapl_ep_attr_reserve(dev, attr, &use->reserve))
		return bad_attr;
	if (!handle)
		return use->srq ? RET_BAD_ARG(8) : RET_BAD_ARG(7);
	return granted->qos == DAT_QOS_BEST_EFFORT ? DAT_SUCCESS :
						     RET(MODEL_NOT_SUPPORTED);
}

/*
 * Makes and publishes the endpoint.  An SRQ must not grow after the endpoint has got its share
 * of a CQ and before it can be found: its share would stay too small.  So the SRQ's mutex is
 * held.
 */
static DAT_RETURN ep_make(struct kdapl_ia *ia, struct kdapl_ep_use *use,
			  const DAT_EP_ATTR *granted, DAT_EP_HANDLE *handle)
{
	struct kdapl_srq *srq = use->srq;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	if (srq)
		mutex_lock(&srq->mutex);
	ret = ep_build(ia, use, granted, KDAPL_EP_UNCONNECTED, &ep);
	if (!ret) {
		*handle = kdapl_handle(&ep->obj);
		kdapl_object_publish(&ep->obj);
	}
	if (srq)
		mutex_unlock(&srq->mutex);
	return ret;
}

/* @srq: NULL for an endpoint with receives of its own. */
static DAT_RETURN ep_create(struct kdapl_space *space, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			    DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			    DAT_EVD_HANDLE connect_evd, const DAT_SRQ_HANDLE *srq,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	struct kdapl_ep_use use = {};
	DAT_EP_ATTR granted;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = kdapl_ep_use_find(&use, op.obj->ia, pz, recv_evd, request_evd,
					connect_evd);
	if (!ret && srq) {
		use.srq = kdapl_srq_find(space, *srq);
		if (!use.srq || use.srq->obj.ia != op.obj->ia)
			ret = RET_BAD_HANDLE(SRQ);
	}
	if (!ret)
		ret = check_create(op.obj->ia, attr, handle, &granted, &use);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = ep_make(op.obj->ia, &use, &granted, handle);
	/* Before the section is left: a hidden EVD may have a CQ. */
	kdapl_ep_use_put(&use);
	return kdapl_op_end(&op, ret);
}

/* dat_ep_create.  Rules T1, E17..E22, E.1. */
DAT_RETURN kdapl_ep_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			   DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd,
			   DAT_EVD_HANDLE connect_evd,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	return ep_create(space, ia, pz, recv_evd, request_evd, connect_evd, NULL, attr,
			 handle);
}

/* dat_ep_create_with_srq.  Rules T1, E.2. */
DAT_RETURN kdapl_ep_create_with_srq(struct kdapl_space *space, DAT_IA_HANDLE ia,
				    DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd,
				    DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
				    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	return ep_create(space, ia, pz, recv_evd, request_evd, connect_evd, &srq, attr,
			 handle);
}

static DAT_RETURN ep_fill(struct kdapl_ep *ep, DAT_EP_PARAM *param)
{
	DAT_RETURN ret = RET_BAD_HANDLE(EP);
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	/* The objects that a freed endpoint has used may have been freed, too. */
	if (ep->state == KDAPL_EP_GONE)
		goto unlock;
	*param = (DAT_EP_PARAM) {
		.ia_handle = kdapl_handle(&ep->obj.ia->obj),
		.ep_state = kdapl_ep_fsm_dat_state(ep->state),
		.local_ia_address_ptr = kdapl_address(ep->local),
		.local_port_qual = ep->local_qual,
		.remote_ia_address_ptr = kdapl_address(&ep->remote),
		.remote_port_qual = ep->remote_qual,
		.pz_handle = kdapl_handle_or_null(ep->use.pz),
		.recv_evd_handle = kdapl_handle_or_null(ep->use.recv_evd),
		.request_evd_handle = kdapl_handle_or_null(ep->use.request_evd),
		.connect_evd_handle = kdapl_handle_or_null(ep->use.connect_evd),
		.srq_handle = kdapl_handle_or_null(ep->use.srq),
		.ep_attr = ep->attr,
	};
	ret = DAT_SUCCESS;
unlock:
	spin_unlock_irqrestore(&ep->lock, flags);
	return ret;
}

/*
 * dat_ep_query.  Any context.  The pointers in @param are good as long as the EP.
 */
DAT_RETURN kdapl_ep_query(struct kdapl_space *space, DAT_EP_HANDLE handle,
			  DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, handle, KDAPL_EP,
				  DAT_INVALID_HANDLE_EP,
				  mask & ~DAT_EP_FIELD_ALL, param);
	if (!ret)
		ret = ep_fill(kdapl_ep_of(op.obj), param);
	return kdapl_op_end(&op, ret);
}

/* Nothing outstanding or in progress (RULING 44); completions may be queued. */
static bool dir_idle(const struct kdapl_dir *dir)
{
	return !dir->held && list_empty(&dir->late) &&
	       READ_ONCE(dir->completed) == dir->posted;
}

static DAT_RETURN ep_get_status(struct kdapl_ep *ep, DAT_EP_STATE *state,
				DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	bool recv, request;
	unsigned long flags;
	u8 s;

	spin_lock_irqsave(&ep->lock, flags);
	kdapl_ep_lock_dirs(ep);
	s = ep->state;
	recv = dir_idle(&ep->recv);
	request = dir_idle(&ep->req);
	kdapl_ep_unlock_dirs(ep);
	spin_unlock_irqrestore(&ep->lock, flags);

	if (s == KDAPL_EP_GONE)
		return RET_BAD_HANDLE(EP);
	if (state)
		*state = kdapl_ep_fsm_dat_state(s);
	if (recv_idle)
		*recv_idle = recv ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = request ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

/*
 * Whoever is told that nothing is outstanding can dequeue the completions.  A process looks for
 * them in its event rings, which the runners fill.  Not under ep->use_lock: a reset holds that for
 * long.  Return: false if some must not be seen yet.
 */
static bool ep_hand_over(struct kdapl_ep *ep)
{
	struct kdapl_evd *evds[2] = {};
	unsigned long flags;
	bool all = true;
	u32 i;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state != KDAPL_EP_GONE) {
		evds[0] = ep->use.recv_evd;
		if (ep->use.request_evd != evds[0])
			evds[1] = ep->use.request_evd;
	}
	for (i = 0; i < ARRAY_SIZE(evds); i++)
		if (evds[i])
			kdapl_object_get(&evds[i]->obj);
	spin_unlock_irqrestore(&ep->lock, flags);
	for (i = 0; i < ARRAY_SIZE(evds); i++) {
		if (!evds[i])
			continue;
		all &= kdapl_evd_hand_over(evds[i]);
		kdapl_evd_put(evds[i]);
	}
	return all;
}

/* dat_ep_get_status.  Any context for kernel consumers; may sleep for a process. */
DAT_RETURN kdapl_ep_get_status(struct kdapl_space *space, DAT_EP_HANDLE handle,
			       DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret)
		ret = ep_get_status(kdapl_ep_of(op.obj), state, recv_idle, request_idle);
	if (!ret && space->user &&
	    ((recv_idle && *recv_idle) || (request_idle && *request_idle)) &&
	    !ep_hand_over(kdapl_ep_of(op.obj))) {
		/* Then something is in progress. */
		if (recv_idle)
			*recv_idle = DAT_FALSE;
		if (request_idle)
			*request_idle = DAT_FALSE;
	}
	return kdapl_op_end(&op, ret);
}

/* Receives that were posted, and are not known to have completed. */
static DAT_COUNT dir_held_by_ep(struct kdapl_dir *dir)
{
	unsigned long flags;
	DAT_COUNT n;

	spin_lock_irqsave(&dir->lock, flags);
	n = dir->held + dir->nr_late + dir->posted - READ_ONCE(dir->completed);
	spin_unlock_irqrestore(&dir->lock, flags);
	return n;
}

/*
 * dat_ep_recv_query.  Only the device knows what an endpoint has taken from an SRQ (mt:M57),
 * and in passthrough only the process knows what it has posted.  Any context for kernel consumers;
 * may sleep for a process.  Rules E.11, RULING 43.
 */
DAT_RETURN kdapl_ep_recv_query(struct kdapl_space *space, DAT_EP_HANDLE handle,
			       DAT_COUNT *allocated, DAT_COUNT *span)
{
	struct kdapl_ep *ep;
	struct kdapl_op op;
	DAT_COUNT n;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret && (kdapl_ep_of(op.obj)->srq || kdapl_ia_is_passthrough(op.obj->ia)))
		ret = RET(MODEL_NOT_SUPPORTED);
	if (!ret) {
		ep = kdapl_ep_of(op.obj);
		n = dir_held_by_ep(&ep->recv);
		/* Each of them completes once. */
		if (allocated)
			*allocated = n;
		if (span)
			*span = n;
		if (space->user)
			ep_hand_over(ep);
	}
	return kdapl_op_end(&op, ret);
}

static DAT_RETURN ep_reset(struct kdapl_ep *ep)
{
	struct kdapl_conn *conn;
	DAT_RETURN ret;

	/* Held until ep_settle() is through, so that no connect or accept begins a new life. */
	mutex_lock(&ep->use_lock);
	/* The flush of the old life comes first (R15), and its queue pair goes (R10). */
	while (!kdapl_ep_reset_flushed(ep, &ret, &conn)) {
		mutex_unlock(&ep->use_lock);
		kdapl_conn_finish(conn);
		kdapl_conn_drop_qp(conn, ep);
		kdapl_conn_put(conn);
		mutex_lock(&ep->use_lock);
	}
	if (conn)
		ep_settle(ep);
	mutex_unlock(&ep->use_lock);
	if (conn)
		kdapl_conn_put(conn);
	return ret;
}

/* dat_ep_reset.  Sleeps until the flush of the old life is over (R10, R15). */
DAT_RETURN kdapl_ep_reset(struct kdapl_space *space, DAT_EP_HANDLE handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_EP,
				   DAT_INVALID_HANDLE_EP);
	if (!ret)
		ret = ep_reset(kdapl_ep_of(op.obj));
	return kdapl_op_end(&op, ret);
}

/*
 * dat_ep_free.  Sleeps until the flush is over, but neither for the peer nor for an
 * upcall (A10).
 */
DAT_RETURN kdapl_ep_free(struct kdapl_space *space, DAT_EP_HANDLE handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_EP,
				   DAT_INVALID_HANDLE_EP);
	/* Of two frees the table lets one through. */
	if (!ret)
		ret = kdapl_ep_input(kdapl_ep_of(op.obj), NULL, KDAPL_EP_OP_FREE);
	if (!ret)
		kdapl_ep_finish(kdapl_ep_of(op.obj));
	return kdapl_op_end(&op, ret);
}

static void copy_private_data(struct kdapl_ep *ep, u32 life, void *buf, u32 size,
			      u32 *length)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	*length = 0;
	if (ep->conn && ep->conn->active && kdapl_ep_event_life(ep) == life) {
		*length = ep->conn->in_len;
		memcpy(buf, ep->conn->in, min(size, *length));
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * kdapl_ep_private_data - the private data of an acceptance or a rejection (E7, RULING 65)
 * @space: of the caller
 * @handle: handle of an EP
 * @life: what the event of a process had in place of the pointer
 * @buf: gets at most @size bytes
 * @size: of @buf
 * @length: out: all there is; 0 on the passive side, and once the endpoint has given up
 *	    the connection that the event told of
 *
 * Any context.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP.
 */
DAT_RETURN kdapl_ep_private_data(struct kdapl_space *space, DAT_EP_HANDLE handle,
				 u32 life, void *buf, u32 size, u32 *length)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret)
		copy_private_data(kdapl_ep_of(op.obj), life, buf, size, length);
	return kdapl_op_end(&op, ret);
}
