// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_ep_connect, dat_ep_dup_connect and dat_ep_disconnect: what they check, and
 * how a connection begins.  The table decides (ep_apply.c), the work item of the
 * connection does the rest (conn_work.c).
 *
 * Callers: the faces.
 */
#include <linux/inet.h>
#include <linux/in6.h>
#include <net/ipv6.h>
#include "ep.h"
#include "ep_apply.h"
#include "ia.h"
#include "op.h"

/* RULING 37: an address is refused only for what its bytes show. */
static DAT_RETURN check_address(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)sa;
	__be32 ip = sin->sin_addr.s_addr;

	if (sa->sa_family == AF_INET) {
		if (ipv4_is_multicast(ip) || ipv4_is_lbcast(ip))
			return RET_BAD_ADDRESS(UNSUPPORTED);
		if (!ipv4_is_zeronet(ip) && (ntohl(ip) >> 28) != 0xf)
			return DAT_SUCCESS;
	} else if (sa->sa_family == AF_INET6) {
		if (ipv6_addr_is_multicast(&sin6->sin6_addr))
			return RET_BAD_ADDRESS(UNSUPPORTED);
		if (!ipv6_addr_any(&sin6->sin6_addr))
			return DAT_SUCCESS;
	}
	return RET_BAD_ADDRESS(MALFORMED);
}

static void set_sockaddr(struct sockaddr_storage *to, const struct sockaddr *from,
			 u16 port)
{
	if (from->sa_family == AF_INET6) {
		memcpy(to, from, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)to)->sin6_port = htons(port);
	} else {
		memcpy(to, from, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)to)->sin_port = htons(port);
	}
}

/*
 * Up to kdapl_ep_begin() nothing is changed.  The queue pair is made before that, in the
 * consumer's own thread.  Its size, and that of the completion queues, is the consumer's
 * choice, so the time that it takes must not be that of the CM, whose one thread serves all
 * of the host.  Besides, the consumer learns at once if it cannot have a queue pair.
 * kdapl_ep.use_lock is held, so that nobody exchanges the PZ and EVDs of which the queue pair
 * is made before the endpoint has it.
 */
static DAT_RETURN ep_attempt(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	DAT_RETURN ret;

	mutex_lock(&ep->use_lock);
	ret = kdapl_ep_peek(ep, KDAPL_EP_OP_CONNECT) ?: kdapl_ep_ready(ep);
	if (!ret && kdapl_ep_lacks_qp(ep))
		ret = RET_BAD_STATE(EP_NOTREADY);
	if (!ret && kdapl_conn_make_qp(conn, ep))
		ret = RET_NO_RESOURCE(TEP);
	if (!ret) {
		ret = kdapl_ep_begin(ep, conn, KDAPL_EP_OP_CONNECT);
		if (ret)
			kdapl_conn_undo_qp(conn, ep);
	}
	mutex_unlock(&ep->use_lock);
	if (!ret)
		kdapl_ep_post_held(ep, conn);
	return ret;
}

/*
 * The common end of connect and dup_connect: everything was checked but the
 * state, which is judged again with the change.
 */
static DAT_RETURN ep_connect(struct kdapl_ep *ep, const struct sockaddr *to,
			     u64 qual, u32 flags, DAT_TIMEOUT timeout,
			     DAT_COUNT size, const void *data)
{
	struct kdapl_conn *conn;
	DAT_RETURN ret;
	int err;

	conn = kdapl_conn_alloc(ep->obj.ia);
	if (!conn)
		return RET_NO_RESOURCE(MEMORY);
	conn->active = true;
	conn->qual = qual;
	conn->flags = flags;
	conn->timeout = timeout;
	set_sockaddr(&conn->peer, to, kdapl_port_of_qual(qual));
	memcpy(conn->out, data, size);
	conn->out_len = size;

	err = kdapl_id_open(conn);
	if (err) {
		ret = RET_NO_RESOURCE(TEP);
		goto put;
	}
	/* The attempt may end at any moment: then its work item waits for this user. */
	kdapl_id_use(conn);
	conn->local = kdapl_ia_address(conn->ia, &conn->id->route.addr);
	ret = conn->local ? ep_attempt(ep, conn) : RET_NO_RESOURCE(MEMORY);
	if (!ret)
		kdapl_conn_resolve(conn);
	kdapl_id_unuse(conn);
	if (ret)
		kdapl_conn_destroy_id(conn);
put:
	kdapl_conn_put(conn);
	return ret;
}

static DAT_RETURN check_private_data(DAT_COUNT size, const void *data,
				     enum dat_return_subtype size_arg,
				     enum dat_return_subtype data_arg)
{
	if (size < 0 || size > KDAPL_REQ_PRIVATE_DATA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, size_arg);
	if (size && !data)
		return DAT_ERROR(DAT_INVALID_PARAMETER, data_arg);
	return DAT_SUCCESS;
}

/*
 * dat_ep_connect.  May sleep for memory, never for the peer.  RULING 35 and 37 say which
 * check comes first and what is looked at in an address.
 */
DAT_RETURN kdapl_ep_connect(struct kdapl_space *space, DAT_EP_HANDLE handle,
			    DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			    DAT_TIMEOUT timeout, DAT_COUNT size,
			    const void *data, DAT_QOS qos,
			    DAT_CONNECT_FLAGS flags)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret && !address)
		ret = RET_BAD_ARG(2);
	if (!ret && !kdapl_port_of_qual(qual))
		ret = RET_BAD_ARG(3);
	if (!ret && !timeout)
		ret = RET_BAD_ARG(4);
	if (!ret)
		ret = check_private_data(size, data, DAT_INVALID_ARG5, DAT_INVALID_ARG6);
	if (!ret && flags & ~DAT_CONNECT_MULTIPATH_FLAG)
		ret = RET_BAD_ARG(8);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = kdapl_ep_peek(kdapl_ep_of(op.obj), KDAPL_EP_OP_CONNECT);
	if (!ret)
		ret = kdapl_ep_ready(kdapl_ep_of(op.obj));
	if (!ret && (qos != DAT_QOS_BEST_EFFORT || flags & DAT_CONNECT_MULTIPATH_FLAG))
		ret = RET(MODEL_NOT_SUPPORTED);
	if (!ret)
		ret = check_address(address);
	if (!ret)
		ret = ep_connect(kdapl_ep_of(op.obj), address, qual, flags, timeout,
				 size, data);
	return kdapl_op_end(&op, ret);
}

/*
 * How @dup was connected.  Its state is judged before that of the other endpoint (C1); C15, C16
 * and C18 are judged after both.
 */
static DAT_RETURN dup_source(struct kdapl_ep *dup, struct sockaddr_storage *to,
			     u64 *qual, u32 *flags, bool *active)
{
	DAT_RETURN ret;

	spin_lock_irq(&dup->lock);
	ret = kdapl_ep_fsm(dup->state, KDAPL_EP_OP_DUP_SOURCE)->ret;
	if (!ret) {
		*to = dup->conn->peer;
		*qual = dup->conn->qual;
		*flags = dup->conn->flags;
		*active = dup->conn->active;
	}
	spin_unlock_irq(&dup->lock);
	return ret;
}

/*
 * dat_ep_dup_connect.  An endpoint of the passive side cannot be duplicated: what it
 * would have to connect to is not known (RULING 33).
 */
DAT_RETURN kdapl_ep_dup_connect(struct kdapl_space *space, DAT_EP_HANDLE handle,
				DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
				DAT_COUNT size, const void *data, DAT_QOS qos)
{
	struct kdapl_ep *dup = kdapl_ep_find(space, dup_handle);
	struct sockaddr_storage to;
	bool active = false;
	struct kdapl_op op;
	DAT_RETURN ret;
	u32 flags = 0;
	u64 qual = 0;

	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret && (!dup || dup->obj.ia != op.obj->ia))
		ret = op.bad_handle;
	if (!ret && !timeout)
		ret = RET_BAD_ARG(3);
	if (!ret)
		ret = check_private_data(size, data, DAT_INVALID_ARG4, DAT_INVALID_ARG5);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = dup_source(dup, &to, &qual, &flags, &active);
	if (!ret)
		ret = kdapl_ep_peek(kdapl_ep_of(op.obj), KDAPL_EP_OP_CONNECT);
	if (!ret && !active)
		ret = RET_BAD_ARG(2);
	if (!ret)
		ret = kdapl_ep_ready(kdapl_ep_of(op.obj));
	if (!ret && qos != DAT_QOS_BEST_EFFORT)
		ret = RET(MODEL_NOT_SUPPORTED);
	if (!ret)
		ret = ep_connect(kdapl_ep_of(op.obj), (struct sockaddr *)&to, qual,
				 flags, timeout, size, data);
	if (dup)
		kdapl_object_put(&dup->obj);
	return kdapl_op_end(&op, ret);
}

/* dat_ep_disconnect.  Any context. */
DAT_RETURN kdapl_ep_disconnect(struct kdapl_space *space, DAT_EP_HANDLE handle,
			       DAT_CLOSE_FLAGS flags)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret && flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		ret = RET_BAD_ARG(2);
	if (!ret)
		ret = kdapl_ep_input(kdapl_ep_of(op.obj), NULL,
				     flags == DAT_CLOSE_ABRUPT_FLAG ?
				     KDAPL_EP_OP_DISC_ABRUPT :
				     KDAPL_EP_OP_DISC_GRACEFUL);
	return kdapl_op_end(&op, ret);
}
