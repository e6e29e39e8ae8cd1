// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection Requests: dat_cr_query, dat_cr_accept, dat_cr_reject,
 * dat_cr_handoff.
 *
 * A CR owns a connection that has no endpoint yet, and perhaps an endpoint (of
 * its RSP, or made by the provider).  It lives until it is answered: there is
 * no timer, and the active side giving up does not remove it (P44).
 */
#include <linux/slab.h>
#include "ep_apply.h"
#include "evd_fifo.h"
#include "ia.h"
#include "sp.h"
#include "../trace.h"


static const struct kdapl_cm_ops *cm_ops(const struct kdapl_object *obj)
{
	return obj->ia->dev->cm;
}

static void cr_release(struct kdapl_object *obj)
{
	kfree(container_of(obj, struct kdapl_cr, obj));
}

/*
 * Ends a request that is not accepted; the CR's lock is held.  Without @mark
 * the peer sees a request that nobody took (P47).
 */
static void cr_end(struct kdapl_cr *cr, bool mark)
{
	struct kdapl_conn *conn = cr->conn;
	struct kdapl_ep *ep = cr->ep;
	bool ours;

	cr->conn = NULL;
	cr->ep = NULL;
	if (mark && conn->id)
		cm_ops(&cr->obj)->reject(conn->id, true);
	/* Nothing is left to destroy when it was handed over. */
	kdapl_conn_destroy_id(conn);
	kdapl_conn_put(conn);
	if (ep) {
		/*
		 * PCP -> UNC, TENT -> gone (P71).  Asked before: the former is the
		 * consumer's again behind it, and may be freed by him at once.
		 */
		ours = READ_ONCE(ep->state) == KDAPL_EP_TENTATIVE;
		kdapl_ep_input(ep, NULL, KDAPL_EP_OP_REJECT);
		if (ours)
			kdapl_ep_finish(ep);
		kdapl_object_put(&ep->obj);
	}
}

/* Ends a request nobody will answer; once. */
static void cr_drop(struct kdapl_cr *cr)
{
	kdapl_object_get(&cr->obj);
	mutex_lock(&cr->lock);
	if (cr->conn)
		cr_end(cr, false);
	mutex_unlock(&cr->lock);
	kdapl_object_retire(&cr->obj);
	kdapl_object_put(&cr->obj);
}

/* P15, E60: with the CR-EVD goes a request that nobody could name. */
static void cr_slot_done(struct kdapl_event_slot *slot, bool lost)
{
	struct kdapl_cr *cr = container_of(slot, struct kdapl_cr, slot);

	if (lost)
		cr_drop(cr);
	kdapl_object_put(&cr->obj);
}

static const struct kdapl_object_ops cr_ops;

/**
 * kdapl_cr_alloc - a request, not published yet
 * @ia: of the service point
 * @conn: the caller's reference is the CR's from here on
 *
 * The caller sets the endpoint that it owns before it is published.
 *
 * Return: with one reference, or NULL.
 */
struct kdapl_cr *kdapl_cr_alloc(struct kdapl_ia *ia, struct kdapl_conn *conn)
{
	struct kdapl_cr *cr = kzalloc(sizeof(*cr), kdapl_gfp(ia->obj.space));

	if (!cr)
		return NULL;
	if (kdapl_object_init(&cr->obj, KDAPL_CR, ia->obj.space, ia, &cr_ops)) {
		kfree(cr);
		return NULL;
	}
	mutex_init(&cr->lock);
	cr->conn = conn;
	cr->slot.reserved = true;
	cr->slot.done = cr_slot_done;
	return cr;
}

/*
 * The device goes: the request ends
 * @obj: a CR; the handle stays, every answer is refused
 */
static void cr_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_cr *cr = container_of(obj, struct kdapl_cr, obj);

	mutex_lock(&cr->lock);
	if (cr->conn)
		kdapl_conn_destroy_id(cr->conn);
	mutex_unlock(&cr->lock);
}

/*
 * The IA of a request goes (P47)
 * @obj: a CR
 */
static void cr_teardown(struct kdapl_object *obj)
{
	cr_drop(container_of(obj, struct kdapl_cr, obj));
}

static const struct kdapl_object_ops cr_ops = {
	.release = cr_release,
	.release_verbs = cr_release_verbs,
	.teardown = cr_teardown,
};

static struct kdapl_cr *cr_find(struct kdapl_space *space, DAT_CR_HANDLE handle)
{
	struct kdapl_object *obj = kdapl_object_find(space, handle, KDAPL_CR);

	return obj ? container_of(obj, struct kdapl_cr, obj) : NULL;
}

/**
 * kdapl_cr_lost - end a request whose event nobody saw (P15, E60)
 * @space: of the consumer
 * @handle: of the CR; anything else does nothing
 *
 * The active side sees NON_PEER_REJECTED.  May sleep.
 */
void kdapl_cr_lost(struct kdapl_space *space, DAT_CR_HANDLE handle)
{
	struct kdapl_cr *cr = cr_find(space, handle);

	if (!cr)
		return;
	cr_drop(cr);
	kdapl_object_put(&cr->obj);
}

static DAT_RETURN cr_query(struct kdapl_cr *cr, DAT_CR_PARAM_MASK mask,
			   DAT_CR_PARAM *param, struct sockaddr_storage *address,
			   void *buf, u32 size)
{
	struct kdapl_conn *conn = cr->conn;

	if (!conn)
		return RET_BAD_HANDLE(CR);
	if (mask & ~DAT_CR_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!param)
		return RET_BAD_ARG(3);
	param->remote_ia_address_ptr = kdapl_address(&conn->peer);
	param->remote_port_qual = conn->peer_port;
	param->private_data_size = conn->in_len;
	param->private_data = conn->in;
	param->local_ep_handle = kdapl_handle_or_null(cr->ep);
	if (address)
		*address = conn->peer;
	if (buf)
		memcpy(buf, conn->in, min_t(u32, size, conn->in_len));
	return DAT_SUCCESS;
}

/**
 * kdapl_cr_query_copy - dat_cr_query for a process
 * @space: of the caller
 * @handle: handle of a CR
 * @mask: DAT_CR_FIELD_*
 * @param: out; its pointers are not for the caller
 * @address: out, may be NULL: the active EP's address
 * @buf: out, may be NULL: at most @size bytes of private data
 * @size: of @buf
 *
 * May sleep.  Return: as kdapl_cr_query().
 */
DAT_RETURN kdapl_cr_query_copy(struct kdapl_space *space, DAT_CR_HANDLE handle,
			       DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param,
			       struct sockaddr_storage *address,
			       void *buf, u32 size)
{
	struct kdapl_cr *cr = cr_find(space, handle);
	DAT_RETURN ret;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	mutex_lock(&cr->lock);
	ret = cr_query(cr, mask, param, address, buf, size);
	mutex_unlock(&cr->lock);
	kdapl_object_put(&cr->obj);
	return ret;
}

/**
 * kdapl_cr_query - dat_cr_query
 * @space: of the caller
 * @handle: handle of a CR
 * @mask: DAT_CR_FIELD_*
 * @param: out, filled whole; its pointers are good until the CR is answered (P43)
 *
 * May sleep.  Rules P40..P43.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CR; DAT_INVALID_PARAMETER/ARG2, /ARG3.
 */
DAT_RETURN kdapl_cr_query(struct kdapl_space *space, DAT_CR_HANDLE handle,
			  DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	return kdapl_cr_query_copy(space, handle, mask, param, NULL, NULL, 0);
}

/* P50: whose endpoint it is, and that it may be named. */
static DAT_RETURN accept_ep(struct kdapl_cr *cr, DAT_EP_HANDLE handle,
			    struct kdapl_ep **ep)
{
	if (cr->ep) {
		if (handle != DAT_HANDLE_NULL)
			return RET_BAD_HANDLE(EP);
		*ep = cr->ep;
		kdapl_object_get(&cr->ep->obj);
		return DAT_SUCCESS;
	}
	*ep = kdapl_ep_find(cr->obj.space, handle);
	if (*ep && (*ep)->obj.ia == cr->obj.ia)
		return DAT_SUCCESS;
	return RET_BAD_HANDLE(EP);
}

/* The queue as the peer's request says; false: the peer has gone (P56). */
static bool move_queue(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	const struct kdapl_qp_ops *ops = conn->ia->dev->qp;
	u8 out = kdapl_conn_rd_out(conn, ep);
	u8 in = kdapl_conn_rd_in(conn, ep);

	if (READ_ONCE(conn->peer_gone) ||
	    ops->move(&conn->qp, conn->id, IB_QPS_RTR, in, out) ||
	    ops->move(&conn->qp, conn->id, IB_QPS_RTS, in, out))
		return false;
	/* Pairs with gate(): the queue is ready to send. */
	smp_store_release(&conn->rts, true);
	return true;
}

/*
 * The CR's lock is held.  Up to kdapl_ep_begin() nothing is changed (P54), from
 * there on the call succeeds and a failure is ACCEPT_COMPLETION_ERROR.
 */
static DAT_RETURN accept(struct kdapl_cr *cr, struct kdapl_ep *ep,
			 const void *data, u8 size)
{
	enum kdapl_ep_input input = cr->ep ? KDAPL_EP_OP_ACCEPT_OWN :
					     KDAPL_EP_OP_ACCEPT;
	struct kdapl_conn *conn = cr->conn;
	struct kdapl_cm_params params = {
		.private_data = conn->out,
		.private_data_len = size,
	};
	DAT_RETURN ret;
	bool moved;
	int err;

	/*
	 * The endpoint is not the connection's yet: what the queue is made of
	 * must stay until it is.
	 */
	mutex_lock(&ep->use_lock);
	ret = kdapl_ep_fsm(READ_ONCE(ep->state), input)->ret ?: kdapl_ep_ready(ep);
	if (ret)
		goto unlock;
	err = kdapl_conn_make_queue(conn, ep);
	ret = RET_NO_RESOURCE(TEP);
	if (err)
		goto unlock;
	moved = move_queue(conn, ep);
	params.qp_num = conn->qp.num;
	params.rd_atomic_in = kdapl_conn_rd_in(conn, ep);
	params.rd_atomic_out = kdapl_conn_rd_out(conn, ep);
	memcpy(conn->out, data, size);

	/*
	 * An abort by another thread waits for us (kdapl_ep.use_lock) before it
	 * ends the id.
	 */
	cm_ops(&cr->obj)->lock(conn->id);
	ret = kdapl_ep_begin(ep, conn, input, true);
	if (!ret)
		err = moved ? cm_ops(&cr->obj)->accept(conn->id, &params) : -ENOTCONN;
	conn->accepted = !ret && !err;
	cm_ops(&cr->obj)->unlock(conn->id);
	if (ret)
		kdapl_conn_drop_queue(conn, ep);
	else if (err)
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_NON_PEER_REJECT);
unlock:
	mutex_unlock(&ep->use_lock);
	return ret;
}

/**
 * kdapl_cr_accept - dat_cr_accept
 * @space: of the caller
 * @handle: handle of a CR
 * @ep_handle: handle of an EP in UNCONNECTED of the same IA; null for a CR that
 *	       owns its endpoint (P50)
 * @size: bytes of @data, 0 .. max_private_data_size
 * @data: private data for the active side's ESTABLISHED
 *
 * Asynchronous: ESTABLISHED or ACCEPT_COMPLETION_ERROR follows, or DISCONNECTED
 * if the consumer aborts (P53).  May sleep for memory.  Rules P50..P61.
 *
 * Return: DAT_SUCCESS, the CR is destroyed; DAT_INVALID_HANDLE/CR, /EP;
 * DAT_INVALID_PARAMETER/ARG3, /ARG4; DAT_INVALID_STATE with the EP's state or
 * /EP_NOTREADY; DAT_INSUFFICIENT_RESOURCES: the CR can be answered again.
 */
DAT_RETURN kdapl_cr_accept(struct kdapl_space *space, DAT_CR_HANDLE handle,
			   DAT_EP_HANDLE ep_handle, DAT_COUNT size,
			   const void *data)
{
	struct kdapl_cr *cr = cr_find(space, handle);
	struct kdapl_ep *ep = NULL;
	DAT_RETURN ret;
	int idx;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	mutex_lock(&cr->lock);
	ret = RET_BAD_HANDLE(CR);
	if (!cr->conn)
		goto unlock;
	ret = accept_ep(cr, ep_handle, &ep);
	if (ret)
		goto unlock;
	ret = RET_BAD_ARG(3);
	if (size < 0 || size > KDAPL_REQ_PRIVATE_DATA)
		goto unlock;
	ret = RET_BAD_ARG(4);
	if (size && !data)
		goto unlock;

	ret = kdapl_ia_enter(cr->obj.ia, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_CR);
		goto unlock;
	}
	ret = accept(cr, ep, data, size);
	if (!ret) {
		/* The connection is the endpoint's now. */
		kdapl_conn_put(cr->conn);
		cr->conn = NULL;
		if (cr->ep)
			kdapl_object_put(&cr->ep->obj);
		cr->ep = NULL;
		kdapl_object_retire(&cr->obj);
	}
	kdapl_ia_leave(cr->obj.ia, idx);
unlock:
	mutex_unlock(&cr->lock);
	if (ep)
		kdapl_object_put(&ep->obj);
	kdapl_object_put(&cr->obj);
	return ret;
}

/**
 * kdapl_cr_reject - dat_cr_reject
 * @space: of the caller
 * @handle: handle of a CR
 *
 * Synchronous; may sleep.  The active side sees PEER_REJECTED.  Rules P70..P72.
 *
 * Return: DAT_SUCCESS, the CR is destroyed; DAT_INVALID_HANDLE/CR.
 */
DAT_RETURN kdapl_cr_reject(struct kdapl_space *space, DAT_CR_HANDLE handle)
{
	struct kdapl_cr *cr = cr_find(space, handle);
	DAT_RETURN ret = RET_BAD_HANDLE(CR);
	int idx;

	if (!cr)
		return ret;
	if (!kdapl_ia_enter_shell(cr->obj.ia, &idx)) {
		mutex_lock(&cr->lock);
		if (cr->conn) {
			cr_end(cr, true);
			ret = DAT_SUCCESS;
		}
		mutex_unlock(&cr->lock);
		if (!ret)
			kdapl_object_retire(&cr->obj);
		kdapl_ia_leave(cr->obj.ia, idx);
	}
	kdapl_object_put(&cr->obj);
	return ret;
}

/*
 * The CR's lock is held, and the section of its IA.  What cannot be taken there
 * for lack of room is refused as it would be on arrival (P83).
 */
static DAT_RETURN handoff(struct kdapl_cr *cr, DAT_CONN_QUAL qual)
{
	struct kdapl_sp *sp = NULL;
	DAT_RETURN ret;
	int idx, err;

	if (qual && qual <= U16_MAX)
		sp = kdapl_sp_listening(cr->obj.ia, qual);
	if (!sp)
		return RET_BAD_ARG(2);
	err = -ECONNREFUSED;
	ret = kdapl_ia_enter(sp->obj.ia, &idx);
	if (!ret) {
		err = kdapl_sp_hand_over(sp, cr->conn);
		kdapl_ia_leave(sp->obj.ia, idx);
	}
	kdapl_object_put(&sp->obj);
	/* The device goes, theirs before ours (E71). */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		return RET(INVALID_STATE);
	if (err == -ECONNREFUSED)
		return RET_BAD_ARG(2);
	cr_end(cr, false);
	return DAT_SUCCESS;
}

/**
 * kdapl_cr_handoff - dat_cr_handoff
 * @space: of the caller
 * @handle: handle of a CR
 * @qual: of the service point that is to have the request: of this adapter,
 *	  in this network namespace, whoever's it is
 *
 * Synchronous; may sleep.  The service point raises a request of its own; the
 * active side does not notice.  When the backlog there is full the active side
 * sees NON_PEER_REJECTED.  Rules P80..P84.
 *
 * Return: DAT_SUCCESS, the CR is destroyed; DAT_INVALID_HANDLE/CR;
 * DAT_INVALID_PARAMETER/ARG2: nobody listens there; DAT_INVALID_STATE when the
 * device is gone (E71).
 */
DAT_RETURN kdapl_cr_handoff(struct kdapl_space *space, DAT_CR_HANDLE handle,
			    DAT_CONN_QUAL qual)
{
	struct kdapl_cr *cr = cr_find(space, handle);
	DAT_RETURN ret;
	int idx;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	ret = kdapl_ia_enter(cr->obj.ia, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_CR);
		goto put;
	}
	mutex_lock(&cr->lock);
	ret = cr->conn ? handoff(cr, qual) : RET_BAD_HANDLE(CR);
	mutex_unlock(&cr->lock);
	if (!ret)
		kdapl_object_retire(&cr->obj);
	kdapl_ia_leave(cr->obj.ia, idx);
put:
	kdapl_object_put(&cr->obj);
	return ret;
}
