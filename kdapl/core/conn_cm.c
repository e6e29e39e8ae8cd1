// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The events of the CM for a connection (input.h), and what they lead to: the queue pair
 * is moved, and the endpoint table gets an input.
 *
 * Callers: glue/cm.c, from the callbacks of an id; evd_fifo.c and passthrough.c, for what
 * completions say; conn_work.c.
 */
#include "conn.h"
#include "drain.h"
#include "ep_apply.h"
#include "evd_fifo.h"
#include "ia.h"
#include "../trace.h"

/*
 * The peer has disconnected or answered, or the CM has given up.  An id that lingers waits for
 * nothing else, so the work item has it destroyed.
 */
static void conn_peer_gone(struct kdapl_conn *conn)
{
	kdapl_id_input(conn, KDAPL_ID_IN_PEER_GONE);
	spin_lock_irq(&conn->ia->linger_lock);
	if (!list_empty(&conn->linger))
		kdapl_conn_run(conn);
	spin_unlock_irq(&conn->ia->linger_lock);
}

/*
 * Did the CM give up?  After these inputs it sends nothing for this connection any more, so
 * no answer of the peer is to be waited for.
 */
static bool cm_gave_up(struct kdapl_conn *conn, enum kdapl_ep_input input)
{
	switch (input) {
	case KDAPL_EP_IN_PEER_REJECT:
	case KDAPL_EP_IN_NON_PEER_REJECT:
		return true;
	case KDAPL_EP_IN_UNREACHABLE:
		/* Of a connected id it only says that the peer's address has moved. */
		return conn->active ? !READ_ONCE(conn->rts) :
				      !kdapl_id_confirmed(conn);
	default:
		return false;
	}
}

/**
 * kdapl_conn_input - give an input of the endpoint table to a connection's endpoint
 * @conn: the id's connection
 * @input: what the news mean
 * @status: of the CM event, or an errno; for the trace
 *
 * Context: the id's handler mutex; any context for what a completion or a process tells
 * (evd_fifo.c, passthrough.c: ESTABLISHED, BROKEN, DRAINED) and for kdapl_conn_left().
 */
void kdapl_conn_input(struct kdapl_conn *conn, enum kdapl_ep_input input,
		      int status)
{
	trace_kdapl_cm(conn, input, status);
	/*
	 * A request that nobody has answered has no endpoint to tell: its consumer
	 * learns at the accept that the peer has gone (P56).
	 */
	if (!conn->ep || cm_gave_up(conn, input))
		conn_peer_gone(conn);
	if (conn->ep)
		kdapl_ep_input(conn->ep, conn, input);
}

/**
 * kdapl_conn_confirmed - the peer has confirmed our acceptance
 * @conn: a passive connection
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_confirmed(struct kdapl_conn *conn)
{
	trace_kdapl_established(conn, 0);
	kdapl_id_input(conn, KDAPL_ID_IN_CONFIRM);
	kdapl_conn_input(conn, KDAPL_EP_IN_ESTABLISHED, 0);
}

/**
 * kdapl_conn_unresolved - the address was not found in the time of this try
 * @conn: an active attempt
 *
 * Tries again, unless the time for all tries is over.  Context: the id's handler mutex is
 * held.
 */
void kdapl_conn_unresolved(struct kdapl_conn *conn)
{
	trace_kdapl_resolve(conn, -ETIMEDOUT);
	if (time_before(jiffies, conn->resolve_until))
		kdapl_conn_schedule(conn, KDAPL_CONN_ID_WORK);
	else
		kdapl_conn_input(conn, KDAPL_EP_IN_UNREACHABLE, -ETIMEDOUT);
}

/**
 * kdapl_conn_send_request - ask the peer for the connection
 * @conn: an active attempt whose endpoint has gone to REQUESTED
 *
 * Context: the id's handler mutex is held; on iWARP it is not, and the caller is the
 * second work item.  May sleep.
 */
void kdapl_conn_send_request(struct kdapl_conn *conn)
{
	struct kdapl_ep *ep = conn->ep;
	struct kdapl_cm_params params = {
		.rd_atomic_in = kdapl_conn_rd_in(ep),
		.rd_atomic_out = kdapl_conn_rd_out(conn, ep),
		.private_data = conn->out,
		.private_data_len = conn->out_len,
		.qp_num = conn->qp.num,
	};
	int err;

	err = conn->ia->dev->cm->connect(conn->id, &params);
	trace_kdapl_connect(conn, err);
	if (err)
		kdapl_ep_input(ep, conn, err == -ECONNREFUSED ?
			       KDAPL_EP_IN_NON_PEER_REJECT : KDAPL_EP_IN_UNREACHABLE);
}

/**
 * kdapl_conn_resolved - address and route are known
 * @conn: an active attempt
 *
 * This thread serves all connections of the host, and an iWARP driver may wait for TCP in
 * its connect, for minutes.  So on iWARP the second work item asks the peer.
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_resolved(struct kdapl_conn *conn)
{
	trace_kdapl_resolve(conn, 0);
	if (!kdapl_ep_resolved(conn->ep, conn))
		return;
	if (!conn->ia->dev->iwarp) {
		kdapl_conn_send_request(conn);
		return;
	}
	WRITE_ONCE(conn->resolved, true);
	kdapl_conn_schedule(conn, KDAPL_CONN_ID_WORK);
}

/**
 * kdapl_conn_answered - the peer accepted
 * @conn: an active attempt
 * @data: the acceptance's private data
 * @len: of @data
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_answered(struct kdapl_conn *conn, const void *data, u8 len)
{
	struct kdapl_ep *ep = conn->ep;
	int err;

	/* Set before the queue pair works: its first completion may raise ESTABLISHED. */
	conn->in_len = min_t(u8, len, sizeof(conn->in));
	memcpy(conn->in, data, conn->in_len);
	err = kdapl_conn_move_qp(conn, ep);
	if (!err) {
		err = conn->ia->dev->cm->established(conn->id);
		trace_kdapl_established(conn, err);
	}
	kdapl_ep_input(ep, conn, err ? KDAPL_EP_IN_NON_PEER_REJECT :
				       KDAPL_EP_IN_ESTABLISHED);
}

/**
 * kdapl_conn_rejected - the peer's consumer rejected
 * @conn: the id's connection
 * @data: the rejection's private data
 * @len: of @data
 * @status: of the CM event, for the trace
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_rejected(struct kdapl_conn *conn, const void *data, u8 len, int status)
{
	/* @in is the request's on the passive side, and after an acceptance that one's. */
	if (conn->active && !READ_ONCE(conn->rts)) {
		conn->in_len = min_t(u8, len, sizeof(conn->in));
		memcpy(conn->in, data, conn->in_len);
	}
	kdapl_conn_input(conn, KDAPL_EP_IN_PEER_REJECT, status);
}

/*
 * The peer may have connected, sent, and disconnected before anybody looked at the CQ: what
 * it sent confirms the connection first (D12, RULING 46).
 */
static void conn_confirm_by_data(struct kdapl_conn *conn)
{
	struct kdapl_dir *recv = &conn->ep->recv;
	struct kdapl_evd *evd = NULL;

	/*
	 * The endpoint cannot give up its EVD before @ends is set.  If @ends is set right
	 * after we have looked, RCU keeps the EVD's memory until we have tried to get a
	 * reference.
	 */
	rcu_read_lock();
	if (READ_ONCE(recv->await) && !READ_ONCE(conn->ends)) {
		evd = READ_ONCE(recv->evd);
		if (!refcount_inc_not_zero(&evd->obj.ref))
			evd = NULL;
	}
	rcu_read_unlock();
	if (!evd)
		return;
	kdapl_evd_pull(evd);
	kdapl_object_put(&evd->obj);
}

/**
 * kdapl_conn_left - the peer has disconnected, and its earlier answers are here
 * @conn: with an endpoint
 *
 * A5: if the queue pair is in error already, the connection was broken before, and the peer's
 * disconnect only reports that.
 *
 * Context: the id's handler mutex may be held; may sleep.
 */
void kdapl_conn_left(struct kdapl_conn *conn)
{
	kdapl_conn_input(conn, kdapl_conn_qp_in_error(conn) ?
			 KDAPL_EP_IN_BROKEN : KDAPL_EP_IN_PEER_DISCONNECT, 0);
}

/**
 * kdapl_conn_peer_disconnected - the peer disconnected, or answered our disconnect
 * @conn: the id's connection
 *
 * A disconnect comes through another queue pair than the answers to our requests, and
 * may overtake them.  If requests are outstanding, the work item waits for their answers,
 * for a bounded time (kdapl_leave_step()).
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_peer_disconnected(struct kdapl_conn *conn)
{
	conn_peer_gone(conn);
	if (!conn->ep)
		return;
	conn_confirm_by_data(conn);
	if (kdapl_answers_may_come(conn))
		kdapl_conn_schedule(conn, KDAPL_CONN_PEER_LEFT);
	else
		kdapl_conn_left(conn);
}
