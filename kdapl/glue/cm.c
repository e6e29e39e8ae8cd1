// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CM ids: kdapl_ib_cm_ops and kdapl_iw_cm_ops on rdma_cm, called by the core (conn_id.c,
 * conn_work.c, conn_cm.c, sp.c, sp_request.c, cr.c); and the event handlers, which call the
 * functions of core/input.h.  Ids that listen are made and destroyed by listen.c.
 *
 * rdma_cm does not own the queue pair of an id: connect and accept are only given the
 * number of the queue pair, and glue/qp.c moves it (A7, facts 6).  Therefore the active side
 * gets CONNECT_RESPONSE instead of ESTABLISHED.  On iWARP the driver, which is given the same
 * number, moves the queue pair, and both sides get ESTABLISHED.
 *
 * rdma_cm calls the handler of an id with the id's mutex held, one call at a time, in a work item
 * that may sleep.  What a handler may do there is told in
 * Documentation/life-of-a-connection.rst, Who may do what, and iWARP.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "../core/input.h"
#include "cm_event.h"
#include "listen.h"
#include "refused.h"

/*
 * The first number ends a connection whose peer is dead.  The second, 7, means without limit:
 * a peer that has no receive posted is waited for (mt:T51).
 */
#define RETRY_COUNT		6
#define RNR_RETRY_COUNT		7
/* For the path query on InfiniBand; RoCE needs none. */
#define ROUTE_TIMEOUT_MS	2000

static u8 ack_timeout = 16;
module_param(ack_timeout, byte, 0444);
MODULE_PARM_DESC(ack_timeout,
		 "Time a queue waits for an answer: 4.096 us * 2^n, n up to 31 (default 16)");

static u8 rnr_timer = 12;
module_param(rnr_timer, byte, 0444);
MODULE_PARM_DESC(rnr_timer,
		 "Pause asked of a sender that finds no receive, by the InfiniBand table, up to 31 (default 12: 0.64 ms)");

static int id_set_timers(struct rdma_cm_id *id)
{
	int ret;

	ret = rdma_set_ack_timeout(id, min_t(u8, ack_timeout, 31));
	if (ret)
		return ret;
	return rdma_set_min_rnr_timer(id, min_t(u8, rnr_timer, 31));
}

/**
 * kdapl_cm_bind - bind an id to an address of a device
 * @id: not bound yet
 * @dev: device of the IA
 * @addr: one of its addresses
 * @port: port number; 0: rdma_cm chooses one
 *
 * rdma_cm finds the device by the address alone.  A second RDMA device may have the
 * same address (Soft-RoCE over the interface of a hardware device), so the device that
 * rdma_cm has found is checked.
 *
 * Return: 0; -ENODEV: rdma_cm has found another device or port; or an errno of rdma_cm.
 */
int kdapl_cm_bind(struct rdma_cm_id *id, const struct kdapl_device *dev,
		  const struct kdapl_address *addr, u16 port)
{
	struct kdapl_address at = *addr;
	int ret;

	if (at.sa.sa_family == AF_INET)
		at.in.sin_port = htons(port);
	else
		at.in6.sin6_port = htons(port);

	ret = rdma_bind_addr(id, &at.sa);
	if (ret)
		return ret;
	if (id->device != dev->ib || id->port_num != dev->port)
		return -ENODEV;
	return 0;
}

/* Binds an id to the address from which @to is reached, and to a free port. */
static int id_bind_for(struct rdma_cm_id *id, struct kdapl_device *dev,
		       struct net *net, const struct sockaddr *to)
{
	struct kdapl_addresses list;
	int ret;

	ret = kdapl_device_addresses(dev, net, &list);
	if (ret)
		return ret;
	ret = -ENODEV;
	if (list.n)
		ret = kdapl_cm_bind(id, dev,
				    kdapl_address_source(&list, net, to,
							 kdapl_route), 0);
	kvfree(list.at);
	return ret;
}

static void set_conn_param(struct rdma_conn_param *to,
			   const struct kdapl_cm_params *p)
{
	*to = (struct rdma_conn_param) {
		.private_data = p->private_data,
		.private_data_len = p->private_data_len,
		.responder_resources = p->rd_atomic_in,
		.initiator_depth = p->rd_atomic_out,
		.retry_count = RETRY_COUNT,
		.rnr_retry_count = RNR_RETRY_COUNT,
		.qp_num = p->qp_num,
	};
}

static void conn_event(struct rdma_cm_id *id, const struct rdma_cm_event *event)
{
	struct kdapl_conn *conn = id->context;
	bool mark = event->event == RDMA_CM_EVENT_REJECTED &&
		    kdapl_cm_reject_mark(event->param.conn.private_data,
					 event->param.conn.private_data_len);
	enum kdapl_ep_input input;

	/* Why the CM has refused DAT has no place to tell.  The trace has. */
	if (event->event == RDMA_CM_EVENT_REJECTED && !mark)
		kdapl_refused(rdma_reject_msg(id, event->status), -ECONNREFUSED);
	input = kdapl_cm_event_input(event->event, event->status, mark);
	if (input == KDAPL_EP_IN_PEER_REJECT) {
		u8 len = event->param.conn.private_data_len;
		const void *data = kdapl_cm_reject_data(event->param.conn.private_data, &len);

		kdapl_conn_rejected(conn, data, len, event->status);
	} else if (input != KDAPL_CM_NO_INPUT) {
		kdapl_conn_input(conn, input, event->status);
	}
}

/*
 * Handles the events of a connection's id.  Never returns an error, because rdma_cm would then
 * destroy the id.
 */
static int conn_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_conn *conn = id->context;
	int ret;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = rdma_resolve_route(id, ROUTE_TIMEOUT_MS);
		if (ret)
			kdapl_conn_input(conn, KDAPL_EP_IN_UNREACHABLE, ret);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		kdapl_conn_resolved(conn);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		kdapl_conn_answered(conn, event->param.conn.private_data,
				    event->param.conn.private_data_len);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		kdapl_conn_confirmed(conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		kdapl_conn_peer_disconnected(conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (event->status == -ETIMEDOUT) {
			kdapl_conn_unresolved(conn);
			break;
		}
		fallthrough;
	default:
		conn_event(id, event);
	}
	return 0;
}

/*
 * The same for the active side on iWARP.  There the event for the peer's acceptance is
 * ESTABLISHED, not CONNECT_RESPONSE, and the queue pair can send by then.
 */
static int iw_active_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_ESTABLISHED)
		return conn_handler(id, event);
	kdapl_conn_answered(id->context, event->param.conn.private_data,
			    event->param.conn.private_data_len);
	return 0;
}

/*
 * Handles a connection request.  rdma_cm gives its depths as seen from our side:
 * initiator_depth is the number of RDMA reads that we may have outstanding at the peer.  If
 * this returns an error, rdma_cm destroys @id, and the peer gets a reject without
 * kdapl_cm_mark.
 */
static int sp_request(struct rdma_cm_id *id, const struct rdma_conn_param *p)
{
	struct kdapl_sp *sp = id->context;
	struct kdapl_conn *conn;
	int ret;

	ret = id_set_timers(id);
	if (ret)
		return ret;
	ret = kdapl_sp_request(sp, id, p->private_data, p->private_data_len,
			       p->initiator_depth, &conn);
	if (ret)
		return ret;

	kdapl_conn_get(conn);
	id->context = conn;
	id->event_handler = conn_handler;
	return 0;
}

/*
 * Handles the events of a listening id.  A connection request comes with a new id of its own.
 * ADDR_CHANGE comes when a bond has switched to another port, which has the bond's addresses
 * from now on.  The only other event is the removal of the device, by which time the
 * service point is gone (facts 8).
 */
int kdapl_cm_sp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE)
		kdapl_listen_follow();
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return sp_request(id, &event->param.conn);
}

static int cm_open(struct kdapl_conn *conn, struct kdapl_device *dev,
		   struct net *net, const struct sockaddr *to,
		   struct rdma_cm_id **id)
{
	rdma_cm_event_handler handler = dev->iwarp ? iw_active_handler : conn_handler;
	struct rdma_cm_id *new;
	int ret;

	new = rdma_create_id(net, handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(new))
		return PTR_ERR(new);
	ret = id_set_timers(new);
	if (ret)
		goto err_destroy;
	ret = id_bind_for(new, dev, net, to);
	if (ret)
		goto err_destroy;

	kdapl_conn_get(conn);
	*id = new;
	return 0;

err_destroy:
	rdma_destroy_id(new);
	return ret;
}

static int cm_resolve(struct rdma_cm_id *id, const struct sockaddr *to,
		      u32 timeout_ms)
{
	struct sockaddr_in6 peer;
	int ret;

	if (to->sa_family != AF_INET6)
		return rdma_resolve_addr(id, NULL, to, timeout_ms);

	peer = *(const struct sockaddr_in6 *)to;
	ret = kdapl_address_scope(&peer, (struct sockaddr *)
				  &id->route.addr.src_addr);
	if (ret)
		return ret;
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&peer, timeout_ms);
}

static int cm_connect(struct rdma_cm_id *id, const struct kdapl_cm_params *p)
{
	struct rdma_conn_param param;

	set_conn_param(&param, p);
	return rdma_connect_locked(id, &param);
}

/*
 * rdma_connect() takes the handler mutex, so events of the id wait until the driver has
 * returned.
 */
static int iw_connect(struct rdma_cm_id *id, const struct kdapl_cm_params *p)
{
	struct rdma_conn_param param;

	set_conn_param(&param, p);
	return kdapl_cm_connect_error(rdma_connect(id, &param));
}

static int cm_established(struct rdma_cm_id *id)
{
	return rdma_accept(id, NULL);
}

/* On iWARP the peer's acceptance is not answered. */
static int iw_established(struct rdma_cm_id *id)
{
	return 0;
}

static int cm_accept(struct rdma_cm_id *id, const struct kdapl_cm_params *p)
{
	struct rdma_conn_param param;

	set_conn_param(&param, p);
	return rdma_accept(id, &param);
}

static int cm_reject(struct rdma_cm_id *id, const void *data, u8 len)
{
	u8 marked[KDAPL_CM_MARK + KDAPL_REQ_PRIVATE_DATA];

	BUILD_BUG_ON(sizeof(marked) > IB_CM_REJ_PRIVATE_DATA_SIZE);
	memcpy(marked, kdapl_cm_mark, KDAPL_CM_MARK);
	memcpy(marked + KDAPL_CM_MARK, data, len);
	return rdma_reject(id, marked, KDAPL_CM_MARK + len, IB_CM_REJ_CONSUMER_DEFINED);
}

static int cm_disconnect(struct rdma_cm_id *id)
{
	return rdma_disconnect(id);
}

static void cm_lock(struct rdma_cm_id *id)
{
	rdma_lock_handler(id);
}

static void cm_unlock(struct rdma_cm_id *id)
{
	rdma_unlock_handler(id);
}

static void cm_hand_over(struct rdma_cm_id *id, struct kdapl_conn *conn)
{
	struct kdapl_conn *from = id->context;

	kdapl_conn_get(conn);
	id->context = conn;
	kdapl_conn_put(from);
}

static void cm_destroy(struct rdma_cm_id *id)
{
	struct kdapl_conn *conn;

	/* sp_request() runs with this mutex held, and may not have set the context yet. */
	rdma_lock_handler(id);
	conn = id->context;
	rdma_unlock_handler(id);

	rdma_destroy_id(id);
	kdapl_conn_put(conn);
}

const struct kdapl_cm_ops kdapl_ib_cm_ops = {
	.open = cm_open,
	.resolve = cm_resolve,
	.connect = cm_connect,
	.established = cm_established,
	.accept = cm_accept,
	.reject = cm_reject,
	.hand_over = cm_hand_over,
	.disconnect = cm_disconnect,
	.lock = cm_lock,
	.unlock = cm_unlock,
	.destroy = cm_destroy,
	.listen = kdapl_cm_listen,
	.unlisten = kdapl_cm_unlisten,
};

const struct kdapl_cm_ops kdapl_iw_cm_ops = {
	.open = cm_open,
	.resolve = cm_resolve,
	.connect = iw_connect,
	.established = iw_established,
	.accept = cm_accept,
	.reject = cm_reject,
	.hand_over = cm_hand_over,
	.disconnect = cm_disconnect,
	.lock = cm_lock,
	.unlock = cm_unlock,
	.destroy = cm_destroy,
	.listen = kdapl_cm_listen,
	.unlisten = kdapl_cm_unlisten,
};
