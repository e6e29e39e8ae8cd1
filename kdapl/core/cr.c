// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection Requests: dat_cr_query, dat_cr_accept, dat_cr_reject.  A hand-over is an
 * arrival at another service point, and in sp_request.c.
 *
 * A CR owns a connection that has no endpoint yet, and perhaps an endpoint (of
 * its RSP, or made by the provider).  It lives until it is answered: there is
 * no timer, and the active side giving up does not remove it (P44).
 *
 * Callers: the faces; sp_request.c, which makes it; ia_open.c (tear-down).
 */
#include <linux/slab.h>
#include "ep_apply.h"
#include "evd_fifo.h"
#include "ia.h"
#include "op.h"
#include "sp.h"
#include "../trace.h"

static const struct kdapl_cm_ops *cm_ops(const struct kdapl_object *obj)
{
	return obj->ia->dev->cm;
}

static void cr_release(struct kdapl_object *obj)
{
	kfree(kdapl_cr_of(obj));
}

/**
 * kdapl_cr_end - end a request that is not accepted
 * @cr: its lock is held; it has a connection
 * @mark: the peer sees that a consumer rejects, with what he has put into kdapl_conn.out;
 *	  otherwise, that nobody took the request (P47)
 *
 * May sleep.
 */
void kdapl_cr_end(struct kdapl_cr *cr, bool mark)
{
	struct kdapl_conn *conn = cr->conn;
	struct kdapl_ep *ep = cr->ep;
	bool ours;

	cr->conn = NULL;
	cr->ep = NULL;
	if (mark && kdapl_id_is_there(conn))
		cm_ops(&cr->obj)->reject(conn->id, conn->out, conn->out_len);
	/* If the id was handed over, @conn has none, and this has nothing to destroy. */
	kdapl_conn_destroy_id(conn);
	kdapl_conn_put(conn);
	if (ep) {
		/*
		 * P71: a consumer's endpoint is UNCONNECTED again, and one that the
		 * provider made is gone.  We ask which it is before the input, because
		 * the consumer may free his own as soon as it is UNCONNECTED.
		 */
		ours = READ_ONCE(ep->state) == KDAPL_EP_TENTATIVE;
		kdapl_ep_input(ep, NULL, KDAPL_EP_OP_REJECT);
		if (ours)
			kdapl_ep_finish(ep);
		kdapl_object_put(&ep->obj);
	}
}

/* Ends a request that nobody will answer, unless it has ended. */
static void cr_drop(struct kdapl_cr *cr)
{
	kdapl_object_get(&cr->obj);
	mutex_lock(&cr->lock);
	if (cr->conn)
		kdapl_cr_end(cr, false);
	mutex_unlock(&cr->lock);
	kdapl_object_retire(&cr->obj);
	kdapl_object_put(&cr->obj);
}

/* @lost: the CR-EVD was freed with the event in it, so nobody has the handle (P15, E60). */
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
 * The caller sets the endpoint that the CR owns before it publishes the CR.
 *
 * Return: with one reference, or NULL.
 */
struct kdapl_cr *kdapl_cr_alloc(struct kdapl_ia *ia, struct kdapl_conn *conn)
{
	struct kdapl_cr *cr;

	cr = kdapl_object_alloc(sizeof(*cr), KDAPL_CR, ia, &cr_ops);
	if (!cr)
		return NULL;
	mutex_init(&cr->lock);
	cr->conn = conn;
	cr->slot.reserved = true;
	cr->slot.done = cr_slot_done;
	return cr;
}

/* The device goes: the request ends.  Its handle stays; it can be queried and rejected. */
static void cr_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_cr *cr = kdapl_cr_of(obj);

	mutex_lock(&cr->lock);
	if (cr->conn)
		kdapl_conn_destroy_id(cr->conn);
	mutex_unlock(&cr->lock);
}

/* The IA goes (P47). */
static void cr_teardown(struct kdapl_object *obj)
{
	cr_drop(kdapl_cr_of(obj));
}

static const struct kdapl_object_ops cr_ops = {
	.release = cr_release,
	.release_verbs = cr_release_verbs,
	.teardown = cr_teardown,
};

/**
 * kdapl_cr_lost - end a request whose event nobody saw (P15, E60)
 * @space: of the consumer
 * @handle: of the CR; anything else does nothing
 *
 * The active side sees NON_PEER_REJECTED.  May sleep.
 */
void kdapl_cr_lost(struct kdapl_space *space, DAT_CR_HANDLE handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_CR, DAT_INVALID_HANDLE_CR);
	if (!ret)
		cr_drop(kdapl_cr_of(op.obj));
	kdapl_op_end(&op, ret);
}

static DAT_RETURN cr_fill(struct kdapl_cr *cr, DAT_CR_PARAM *param,
			  struct sockaddr_storage *address, void *buf, u32 size)
{
	struct kdapl_conn *conn = cr->conn;

	lockdep_assert_held(&cr->lock);
	if (!conn)
		return RET_BAD_HANDLE(CR);
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
	struct kdapl_cr *cr;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, handle, KDAPL_CR, DAT_INVALID_HANDLE_CR,
				  mask & ~DAT_CR_FIELD_ALL, param);
	if (!ret) {
		cr = kdapl_cr_of(op.obj);
		mutex_lock(&cr->lock);
		ret = cr_fill(cr, param, address, buf, size);
		mutex_unlock(&cr->lock);
	}
	return kdapl_op_end(&op, ret);
}

/* dat_cr_query.  May sleep: an answer that is under way is waited for. */
DAT_RETURN kdapl_cr_query(struct kdapl_space *space, DAT_CR_HANDLE handle,
			  DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	return kdapl_cr_query_copy(space, handle, mask, param, NULL, NULL, 0);
}

/*
 * P50: the endpoint of an acceptance, with a reference.  If the CR owns one it is that,
 * and the consumer must not name any.
 */
static DAT_RETURN cr_accept_ep(struct kdapl_cr *cr, DAT_EP_HANDLE handle,
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

/* Sends our acceptance.  The queue pair works already. */
static int cr_send_acceptance(struct kdapl_conn *conn, struct kdapl_ep *ep, u8 size)
{
	const struct kdapl_cm_params params = {
		.qp_num = conn->qp.num,
		.rd_atomic_in = kdapl_conn_rd_in(ep),
		.rd_atomic_out = kdapl_conn_rd_out(conn, ep),
		.private_data = conn->out,
		.private_data_len = size,
	};
	int err;

	conn->ia->dev->cm->lock(conn->id);
	err = conn->ia->dev->cm->accept(conn->id, &params);
	trace_kdapl_accept(conn, err);
	/* After a failure the CM has rejected the peer, and sends nothing more. */
	kdapl_id_input(conn, err ? KDAPL_ID_IN_PEER_GONE : KDAPL_ID_IN_ACCEPT);
	conn->ia->dev->cm->unlock(conn->id);
	return err;
}

/*
 * The endpoint has the connection.  Now the queue pair begins to work and gets the receives
 * that were held, and our acceptance goes out.  The caller is a user of the id, so the work
 * item meanwhile neither destroys the id nor puts the queue pair into the error state.  (A
 * process may do that by verbs with a queue pair of its own; the work item does it again
 * afterwards.)
 *
 * The queue pair may not receive before this.  A peer that does not wait for our acceptance
 * may send at once, and whoever takes such a message from the CQ asks the connection for its
 * endpoint.  P56: if the peer has gone the call is not refused; an event tells of it afterwards.
 */
static void cr_answer(struct kdapl_conn *conn, struct kdapl_ep *ep, u8 size)
{
	int err = kdapl_id_peer_gone(conn) ? -ENOTCONN : kdapl_conn_move_qp(conn, ep);

	kdapl_ep_post_held(ep, conn);
	if (!err)
		err = cr_send_acceptance(conn, ep, size);
	if (err)
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_NON_PEER_REJECT);
}

/*
 * Up to kdapl_ep_begin() nothing is changed (P54).  From there on the call succeeds, and a
 * failure is ACCEPT_COMPLETION_ERROR.  kdapl_ep.use_lock is held, so that nobody exchanges the
 * PZ and EVDs of which the queue pair is made before the endpoint has it.
 */
static DAT_RETURN cr_accept_as(struct kdapl_cr *cr, struct kdapl_ep *ep,
			       enum kdapl_ep_input input, u8 size)
{
	struct kdapl_conn *conn = cr->conn;
	DAT_RETURN ret;

	lockdep_assert_held(&ep->use_lock);
	ret = kdapl_ep_peek(ep, input) ?: kdapl_ep_ready(ep);
	if (!ret && kdapl_ep_lacks_qp(ep))
		ret = RET_BAD_STATE(EP_NOTREADY);
	if (ret)
		return ret;
	if (kdapl_conn_make_qp(conn, ep))
		return RET_NO_RESOURCE(TEP);

	/* The work item does not destroy the id while we use it. */
	kdapl_id_use(conn);
	cm_ops(&cr->obj)->lock(conn->id);
	ret = kdapl_ep_begin(ep, conn, input);
	cm_ops(&cr->obj)->unlock(conn->id);
	if (!ret)
		cr_answer(conn, ep, size);
	kdapl_id_unuse(conn);
	if (ret)
		kdapl_conn_undo_qp(conn, ep);
	return ret;
}

/* The CR's lock is held, and the section of its IA. */
static DAT_RETURN cr_accept(struct kdapl_cr *cr, struct kdapl_ep *ep,
			    const void *data, u8 size)
{
	DAT_RETURN ret;

	memcpy(cr->conn->out, data, size);
	mutex_lock(&ep->use_lock);
	ret = cr_accept_as(cr, ep, cr->ep ? KDAPL_EP_OP_ACCEPT_OWN :
					    KDAPL_EP_OP_ACCEPT, size);
	mutex_unlock(&ep->use_lock);
	if (ret)
		return ret;
	/* The connection is the endpoint's now. */
	kdapl_conn_put(cr->conn);
	cr->conn = NULL;
	if (cr->ep)
		kdapl_object_put(&cr->ep->obj);
	cr->ep = NULL;
	kdapl_object_retire(&cr->obj);
	return DAT_SUCCESS;
}

/* Checks what has to be right before the section is entered. */
static DAT_RETURN cr_check_accept(struct kdapl_cr *cr, DAT_EP_HANDLE ep_handle,
				  DAT_COUNT size, const void *data,
				  struct kdapl_ep **ep)
{
	DAT_RETURN ret;

	lockdep_assert_held(&cr->lock);
	if (!cr->conn)
		return RET_BAD_HANDLE(CR);
	ret = cr_accept_ep(cr, ep_handle, ep);
	if (ret)
		return ret;
	if (size < 0 || size > KDAPL_REQ_PRIVATE_DATA)
		return RET_BAD_ARG(3);
	return size && !data ? RET_BAD_ARG(4) : DAT_SUCCESS;
}

/*
 * A removal ends one IA after the other, and may have to wait for each acceptance of the last
 * seconds (kdapl_id_left_to_cm()).  It waits for all of them at once only if no IA accepts until
 * its turn comes: the device is gone for all of them (E71).
 */
static DAT_RETURN cr_enter(struct kdapl_op *op)
{
	DAT_RETURN ret = kdapl_op_enter(op);

	if (!ret && READ_ONCE(op->obj->ia->dev->gone))
		ret = RET(INVALID_STATE);
	return ret;
}

/*
 * dat_cr_accept.  Takes the CR's lock, kdapl_ep.use_lock and the handler mutex of the id,
 * in this order.  May sleep for memory, not for the peer.
 */
DAT_RETURN kdapl_cr_accept(struct kdapl_space *space, DAT_CR_HANDLE handle,
			   DAT_EP_HANDLE ep_handle, DAT_COUNT size,
			   const void *data)
{
	struct kdapl_ep *ep = NULL;
	struct kdapl_cr *cr;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_CR, DAT_INVALID_HANDLE_CR);
	if (ret)
		return kdapl_op_end(&op, ret);
	cr = kdapl_cr_of(op.obj);
	mutex_lock(&cr->lock);
	ret = cr_check_accept(cr, ep_handle, size, data, &ep);
	if (!ret)
		ret = cr_enter(&op);
	if (!ret)
		ret = cr_accept(cr, ep, data, size);
	mutex_unlock(&cr->lock);
	if (ep)
		kdapl_object_put(&ep->obj);
	return kdapl_op_end(&op, ret);
}

static DAT_RETURN cr_check_reject(const struct kdapl_cr *cr, DAT_COUNT size, const void *data)
{
	lockdep_assert_held(&cr->lock);
	if (!cr->conn)
		return RET_BAD_HANDLE(CR);
	if (size < 0 || size > KDAPL_REQ_PRIVATE_DATA)
		return RET_BAD_ARG(2);
	return size && !data ? RET_BAD_ARG(3) : DAT_SUCCESS;
}

static DAT_RETURN cr_reject(struct kdapl_cr *cr, DAT_COUNT size, const void *data)
{
	DAT_RETURN ret;

	mutex_lock(&cr->lock);
	ret = cr_check_reject(cr, size, data);
	if (!ret) {
		memcpy(cr->conn->out, data, size);
		cr->conn->out_len = size;
		kdapl_cr_end(cr, true);
	}
	mutex_unlock(&cr->lock);
	if (!ret)
		kdapl_object_retire(&cr->obj);
	return ret;
}

/* dat_cr_reject of DAT 2.0.  May sleep; the id is destroyed on return. */
DAT_RETURN kdapl_cr_reject_with(struct kdapl_space *space, DAT_CR_HANDLE handle,
				DAT_COUNT size, const void *data)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_CR,
				   DAT_INVALID_HANDLE_CR);
	if (!ret)
		ret = cr_reject(kdapl_cr_of(op.obj), size, data);
	return kdapl_op_end(&op, ret);
}

/* dat_cr_reject of DAT 1.2: without private data */
DAT_RETURN kdapl_cr_reject(struct kdapl_space *space, DAT_CR_HANDLE handle)
{
	return kdapl_cr_reject_with(space, handle, 0, NULL);
}
