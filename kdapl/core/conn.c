// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of one connection: a CM id and a queue pair, made at connect or
 * accept and gone after the drain (A5, A7).
 *
 * Three contexts meet here.  The endpoint table (ep.c) decides under the EP's
 * lock and leaves bits in @todo.  The work item does what they say, one at a
 * time: once an endpoint has the connection, nobody else destroys its id or its
 * queue.  CM callbacks come in with the id's handler mutex held
 * and make or move the queue while the attempt is young; the work item
 * destroys the id, and so waits for them, before it looks at the queue of an
 * attempt.
 */
#include <linux/slab.h>
#include "conn.h"
#include "drain.h"
#include "ep_apply.h"
#include "evd_fifo.h"
#include "ia.h"
#include "../trace.h"

/* How long an id waits for the peer to answer our disconnect. */
#define LINGER_LIMIT	(20 * HZ)

/* Upper bound of address resolution; the consumer's timeout may be shorter. */
#define RESOLVE_LIMIT	msecs_to_jiffies(5000)

/*
 * The first of several tries, each twice as long.  A neighbour that answers
 * before the kernel's resolver has put its request on the list is noticed only
 * when the try is over; on a virtual network that is the rule.
 */
#define RESOLVE_FIRST_MS 20

static const struct kdapl_cm_ops *cm_ops(const struct kdapl_conn *conn)
{
	return conn->ia->dev->cm;
}

/* ---- references and scheduling -------------------------------------------------- */

/**
 * kdapl_conn_get - take a reference
 * @conn: the connection
 */
void kdapl_conn_get(struct kdapl_conn *conn)
{
	refcount_inc(&conn->ref);
}

/**
 * kdapl_conn_put - drop a reference
 * @conn: not to be used afterwards
 *
 * Any context: what could sleep was done by the work item long before.
 */
void kdapl_conn_put(struct kdapl_conn *conn)
{
	if (!refcount_dec_and_test(&conn->ref))
		return;
	if (conn->ep)
		kdapl_object_put(&conn->ep->obj);
	kdapl_object_put(&conn->ia->obj);
	kfree(conn);
}

static void conn_queue_delayed(struct kdapl_conn *conn, unsigned long delay)
{
	/* The pending work holds a reference. */
	kdapl_conn_get(conn);
	if (mod_delayed_work(kdapl_wq, &conn->work, delay))
		kdapl_conn_put(conn);
}

/**
 * kdapl_conn_queue - hand actions to the work item
 * @conn: the connection
 * @todo: KDAPL_EP_ACT_* of the second group
 *
 * Any context.
 */
void kdapl_conn_queue(struct kdapl_conn *conn, unsigned long todo)
{
	atomic_long_or(todo, &conn->todo);
	conn_queue_delayed(conn, 0);
}

/**
 * kdapl_conn_run - make the work item run now
 * @conn: the connection
 *
 * A completion came in that a drain or flush waits for.  Any context; the EVD's
 * lock may be held.
 */
void kdapl_conn_run(struct kdapl_conn *conn)
{
	conn_queue_delayed(conn, 0);
}

/**
 * kdapl_conn_run_later - make the work item run, unless it is to run anyhow
 * @conn: the connection
 * @delay: jiffies
 *
 * Does not put off what somebody else has asked for.  Any context.
 */
void kdapl_conn_run_later(struct kdapl_conn *conn, unsigned long delay)
{
	kdapl_conn_get(conn);
	if (!queue_delayed_work(kdapl_wq, &conn->work, delay))
		kdapl_conn_put(conn);
}

/* ---- the id ---- */

static void drop_id(struct kdapl_conn *conn)
{
	kdapl_conn_wait_handed(conn);
	cm_ops(conn)->destroy(conn->id);
	conn->id = NULL;
}

/*
 * Who is just accepting has left the id's handler lock, which is not to be destroyed
 * before its unlock returns; @accepted does not change any more.
 */
static void wait_for_accept(struct kdapl_conn *conn)
{
	if (conn->active)
		return;
	mutex_lock(&conn->ep->use_lock);
	mutex_unlock(&conn->ep->use_lock);
}

/* Nobody waits for the peer any more. */
static bool peer_is_done(struct kdapl_conn *conn)
{
	return READ_ONCE(conn->peer_gone) || READ_ONCE(conn->ia->closing);
}

/* Until its time is over, whoever queues the work meanwhile. */
static void keep_id(struct kdapl_conn *conn)
{
	atomic_long_or(KDAPL_CONN_LINGER, &conn->todo);
	conn_queue_delayed(conn, max_t(long, conn->linger_until - jiffies, 0));
	/* The answer, or the close, may have come before. */
	if (peer_is_done(conn))
		conn_queue_delayed(conn, 0);
}

static bool id_is_due(struct kdapl_conn *conn)
{
	return peer_is_done(conn) || time_after_eq(jiffies, conn->linger_until);
}

/*
 * The peer has not answered our disconnect, or not even our acceptance: the id
 * stays to repeat it.
 */
static void linger(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;

	if (!conn->id)
		return;
	/* For who destroys it, now or when the endpoint is gone. */
	wait_for_accept(conn);
	if (!conn->asked || peer_is_done(conn)) {
		drop_id(conn);
		return;
	}
	kdapl_conn_get(conn);
	spin_lock_irq(&ia->linger_lock);
	list_add_tail(&conn->linger, &ia->linger);
	spin_unlock_irq(&ia->linger_lock);
	conn->linger_until = jiffies + LINGER_LIMIT;
	keep_id(conn);
}

static void resolve(struct kdapl_conn *conn)
{
	long left = conn->resolve_until - jiffies;
	u32 ms;

	/* An abort came first. */
	if (!conn->id)
		return;
	ms = min(conn->resolve_ms, jiffies_to_msecs(max(left, 1L)));
	conn->resolve_ms *= 2;
	if (cm_ops(conn)->resolve(conn->id, (struct sockaddr *)&conn->peer, ms))
		kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_UNREACHABLE);
}

static void destroy_id(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;
	bool listed;

	if (conn->id)
		drop_id(conn);
	spin_lock_irq(&ia->linger_lock);
	listed = !list_empty(&conn->linger);
	list_del_init(&conn->linger);
	spin_unlock_irq(&ia->linger_lock);
	if (listed)
		kdapl_conn_put(conn);
}

/*
 * Tells the peer.  One that has our acceptance and has not answered it cannot be
 * told yet: the CM disconnects nothing before, although data may have confirmed
 * the connection; kdapl_conn_confirmed() does then.  One that has disconnected is
 * answered in any case.
 */
static void disconnect(struct kdapl_conn *conn)
{
	cm_ops(conn)->lock(conn->id);
	conn->asked = true;
	if (conn->active || conn->confirmed || conn->peer_gone)
		cm_ops(conn)->disconnect(conn->id);
	cm_ops(conn)->unlock(conn->id);
}

/*
 * Ends an attempt, with its id.  But a peer that has our acceptance is connected,
 * and a rejection that follows at its heels, or gets lost, would never be noticed
 * there: the id stays, and disconnects as soon as the peer has answered (D35).
 */
static void abort_attempt(struct kdapl_conn *conn)
{
	wait_for_accept(conn);
	if (conn->id && conn->accepted)
		disconnect(conn);
	else
		destroy_id(conn);
}

/**
 * kdapl_conn_half_posted - of the two work requests of a bind only one was posted
 * @conn: its queue pair is there, so it is
 * @err: why the device refused the second one
 *
 * The RMR's former key is being taken back, and no completion will tell: the
 * connection breaks, and the bind is flushed with the rest (mt:M40).  Any context;
 * the lock of the request direction is held.
 */
void kdapl_conn_half_posted(struct kdapl_conn *conn, int err)
{
	trace_kdapl_error("post_second_of_bind", err);
	kdapl_conn_queue(conn, KDAPL_CONN_ERROR);
}

/* Any context; the queue is there, so the connection is. */
static void conn_queue_event(struct kdapl_qp *qp, enum ib_event_type event)
{
	struct kdapl_conn *conn = container_of(qp, struct kdapl_conn, qp);

	switch (event) {
	case IB_EVENT_QP_FATAL:
		kdapl_conn_queue(conn, KDAPL_CONN_FATAL);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		kdapl_conn_queue(conn, KDAPL_CONN_ERROR);
		break;
	default:
		break;
	}
}

/* E70: the device reported it, so there is an asynchronous event as well. */
static void conn_queue_broken(struct kdapl_conn *conn, DAT_COUNT reason)
{
	struct kdapl_ep *ep = conn->ep;

	if (!ep)
		return;
	kdapl_ia_async_event(conn->ia, DAT_ASYNC_ERROR_EP_BROKEN,
			     kdapl_handle(&ep->obj), reason);
	kdapl_ep_input(ep, conn, KDAPL_EP_IN_BROKEN);
}

/* The endpoint has flushed: nothing uses the queue pair any more. */
static void conn_over(struct kdapl_conn *conn)
{
	conn->doing = 0;
	kdapl_conn_drop_queue(conn, conn->ep);
	linger(conn);
	WRITE_ONCE(conn->done, true);
	wake_up_all(&conn->wait);
}

static void conn_work(struct work_struct *work)
{
	struct kdapl_conn *conn = container_of(to_delayed_work(work),
					       struct kdapl_conn, work);
	unsigned long todo = atomic_long_xchg(&conn->todo, 0);

	conn->doing |= todo & (KDAPL_EP_ACT_DRAIN | KDAPL_EP_ACT_FLUSH);
	if (todo & KDAPL_CONN_FATAL)
		conn_queue_broken(conn, DAT_EP_TRANSFER_TO_ERROR);
	else if (todo & KDAPL_CONN_ERROR)
		conn_queue_broken(conn, DAT_EP_OTHER_ERROR);
	if (todo & KDAPL_CONN_REAP || (todo & KDAPL_CONN_LINGER && id_is_due(conn)))
		destroy_id(conn);
	else if (todo & KDAPL_CONN_LINGER)
		keep_id(conn);
	else if (todo & KDAPL_EP_ACT_ABORT)
		abort_attempt(conn);
	else if (todo & KDAPL_CONN_RESOLVE)
		resolve(conn);
	if (todo & KDAPL_EP_ACT_DISC && conn->id)
		disconnect(conn);
	if (conn->doing & KDAPL_EP_ACT_FLUSH) {
		if (kdapl_flush_step(conn))
			conn_over(conn);
	} else if (conn->doing & KDAPL_EP_ACT_DRAIN && kdapl_drain_step(conn)) {
		conn->doing &= ~KDAPL_EP_ACT_DRAIN;
	}
	kdapl_conn_put(conn);
}

/**
 * kdapl_conn_finish - wait until nothing of the queue is left
 * @conn: its endpoint is in a state that flushes or has flushed
 *
 * Drives the work item; does not depend on any other thread polling (A10).
 * May sleep.
 */
void kdapl_conn_finish(struct kdapl_conn *conn)
{
	while (!wait_event_timeout(conn->wait, READ_ONCE(conn->done), HZ / 20))
		conn_queue_delayed(conn, 0);
}

/**
 * kdapl_conn_destroy_id - destroy the CM id, through the work item
 * @conn: no endpoint, or one that has flushed
 *
 * No callback runs or will run on return.  May sleep; not with the id's handler
 * mutex held.
 */
void kdapl_conn_destroy_id(struct kdapl_conn *conn)
{
	kdapl_conn_queue(conn, KDAPL_CONN_REAP);
	flush_delayed_work(&conn->work);
}

/**
 * kdapl_conn_wait_handed - wait for who handed the id over to let go of it
 * @conn: made by kdapl_sp_hand_over(), or any other
 *
 * May sleep; not with the id's handler mutex held.
 */
void kdapl_conn_wait_handed(struct kdapl_conn *conn)
{
	/* Pairs with kdapl_conn_handed(): the mutex is not touched any more. */
	wait_event(conn->wait, !smp_load_acquire(&conn->handed));
}

/**
 * kdapl_conn_handed - the unlock of the id's handler mutex has returned
 * @conn: made by kdapl_sp_hand_over(), with a reference of its own, which is put
 */
void kdapl_conn_handed(struct kdapl_conn *conn)
{
	/* Pairs with kdapl_conn_wait_handed(). */
	smp_store_release(&conn->handed, false);
	wake_up_all(&conn->wait);
	kdapl_conn_put(conn);
}

/**
 * kdapl_conn_linger_flush - destroy the ids that still wait for their peers
 * @ia: being closed, or its device removed
 */
void kdapl_conn_linger_flush(struct kdapl_ia *ia)
{
	struct kdapl_conn *conn;

	for (;;) {
		spin_lock_irq(&ia->linger_lock);
		conn = list_first_entry_or_null(&ia->linger, struct kdapl_conn,
						linger);
		if (conn)
			kdapl_conn_get(conn);
		spin_unlock_irq(&ia->linger_lock);
		if (!conn)
			break;
		kdapl_conn_destroy_id(conn);
		kdapl_conn_put(conn);
	}
}

/* ---- life ---------------------------------------------------------------------------- */

static void conn_timer(struct work_struct *work)
{
	struct kdapl_conn *conn = container_of(to_delayed_work(work),
					       struct kdapl_conn, timer);
	s64 left = ktime_us_delta(conn->deadline, ktime_get());

	/* C10: jiffies may have lagged behind when the timer was armed. */
	if (left > 0 && !READ_ONCE(conn->told)) {
		queue_delayed_work(kdapl_wq, &conn->timer,
				   usecs_to_jiffies(left) + 1);
		return;
	}
	kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_TIMER);
	kdapl_conn_put(conn);
}

/**
 * kdapl_conn_alloc - a connection without endpoint, id or queue
 * @ia: its adapter
 *
 * May sleep.  Return: with one reference, or NULL.
 */
struct kdapl_conn *kdapl_conn_alloc(struct kdapl_ia *ia)
{
	struct kdapl_conn *conn;

	conn = kzalloc(sizeof(*conn), kdapl_gfp(ia->obj.space));
	if (!conn)
		return NULL;
	refcount_set(&conn->ref, 1);
	kdapl_object_get(&ia->obj);
	conn->ia = ia;
	conn->qp.event = conn_queue_event;
	mutex_init(&conn->queue_lock);
	init_waitqueue_head(&conn->wait);
	INIT_LIST_HEAD(&conn->linger);
	INIT_DELAYED_WORK(&conn->work, conn_work);
	INIT_DELAYED_WORK(&conn->timer, conn_timer);
	return conn;
}

/**
 * kdapl_port_of - the port of a socket address
 * @addr: IPv4 or IPv6
 */
u16 kdapl_port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/**
 * kdapl_conn_open - the CM id of an active connection, bound to a local port
 * @conn: without an id
 *
 * RULING 52: the port is known when the call returns.  Return: 0 or an errno.
 */
int kdapl_conn_open(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;
	int ret = cm_ops(conn)->open(conn, ia->dev, ia->obj.space->net, &conn->id);

	if (!ret)
		conn->local_port = kdapl_port_of(&conn->id->route.addr.src_addr);
	return ret;
}

/**
 * kdapl_conn_start - begin the attempt
 * @conn: its endpoint goes to RESOLVING; the EP's lock is held, so that nothing
 *	  can end the attempt before there is a timer to stop
 *
 * The resolution is the work item's, as an abort is.
 */
void kdapl_conn_start(struct kdapl_conn *conn)
{
	conn->resolve_until = jiffies + RESOLVE_LIMIT;
	conn->resolve_ms = RESOLVE_FIRST_MS;
	if (conn->timeout != DAT_TIMEOUT_INFINITE) {
		kdapl_conn_get(conn);
		conn->deadline = ktime_add_us(ktime_get(), conn->timeout);
		/* One more jiffy: never before the time (C10). */
		queue_delayed_work(kdapl_wq, &conn->timer,
				   usecs_to_jiffies(conn->timeout) + 1);
	}
	kdapl_conn_queue(conn, KDAPL_CONN_RESOLVE);
}

/* ---- what the glue tells (input.h) ------------------------------------------------------- */

/* Nobody is there to be told any more: the id need not stay. */
static void peer_left(struct kdapl_conn *conn)
{
	WRITE_ONCE(conn->peer_gone, true);
	spin_lock_irq(&conn->ia->linger_lock);
	if (!list_empty(&conn->linger))
		conn_queue_delayed(conn, 0);
	spin_unlock_irq(&conn->ia->linger_lock);
}

/* The CM has given the connection up: what is told now it does not send. */
static bool given_up(enum kdapl_ep_input input)
{
	return input == KDAPL_EP_IN_PEER_REJECT ||
	       input == KDAPL_EP_IN_NON_PEER_REJECT ||
	       input == KDAPL_EP_IN_UNREACHABLE;
}

/**
 * kdapl_conn_input - a CM event that is an input of the table by itself
 * @conn: the id's connection
 * @input: what it means
 *
 * Context: the id's handler mutex; for ESTABLISHED and BROKEN, which a completion
 * may tell (evd.c), any context.
 */
void kdapl_conn_input(struct kdapl_conn *conn, enum kdapl_ep_input input)
{
	if (given_up(input))
		peer_left(conn);
	/* A request nobody answered yet: its end shows at the accept (P56). */
	if (!conn->ep) {
		WRITE_ONCE(conn->peer_gone, true);
		return;
	}
	trace_kdapl_cm(conn, input);
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
	conn->confirmed = true;
	if (conn->asked)
		cm_ops(conn)->disconnect(conn->id);
	kdapl_conn_input(conn, KDAPL_EP_IN_ESTABLISHED);
}

/**
 * kdapl_conn_unresolved - the address was not found in the time of the try
 * @conn: an active attempt
 *
 * Context: the id's handler mutex is held.
 */
void kdapl_conn_unresolved(struct kdapl_conn *conn)
{
	if (time_before(jiffies, conn->resolve_until))
		kdapl_conn_queue(conn, KDAPL_CONN_RESOLVE);
	else
		kdapl_conn_input(conn, KDAPL_EP_IN_UNREACHABLE);
}

/**
 * kdapl_conn_resolved - address and route are known
 * @conn: an active attempt
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_resolved(struct kdapl_conn *conn)
{
	struct kdapl_ep *ep = conn->ep;
	struct kdapl_cm_params params = {
		.rd_atomic_in = kdapl_conn_rd_in(conn, ep),
		.rd_atomic_out = kdapl_conn_rd_out(conn, ep),
		.private_data = conn->out,
		.private_data_len = conn->out_len,
	};

	if (kdapl_conn_make_queue(conn, ep)) {
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_NON_PEER_REJECT);
		return;
	}
	/* An attempt that is over meanwhile: the work item sees to the queue. */
	if (kdapl_ep_take_queue(ep, conn))
		return;
	params.qp_num = conn->qp.num;
	if (cm_ops(conn)->connect(conn->id, &params))
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_UNREACHABLE);
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
	const struct kdapl_qp_ops *ops = conn->ia->dev->qp;
	struct kdapl_ep *ep = conn->ep;
	u8 in = kdapl_conn_rd_in(conn, ep), out = kdapl_conn_rd_out(conn, ep);
	/* Once data can confirm the connection the endpoint may end under us. */
	struct kdapl_evd *evd = ep->recv.evd;

	/* In place before the first completion can confirm the connection. */
	conn->in_len = min_t(u8, len, sizeof(conn->in));
	memcpy(conn->in, data, conn->in_len);
	if (ops->move(&conn->qp, conn->id, IB_QPS_RTR, in, out) ||
	    ops->move(&conn->qp, conn->id, IB_QPS_RTS, in, out)) {
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_NON_PEER_REJECT);
		return;
	}
	kdapl_object_get(&evd->obj);
	/* Pairs with gate(): private data is in place, the queue may send. */
	smp_store_release(&conn->rts, true);
	kdapl_ep_input(ep, conn, cm_ops(conn)->established(conn->id) ?
		       KDAPL_EP_IN_NON_PEER_REJECT : KDAPL_EP_IN_ESTABLISHED);
	/* Data that came before we could send waits behind the gate. */
	kdapl_evd_kick(evd);
	kdapl_object_put(&evd->obj);
}

/*
 * The peer was connected, sent, and has disconnected before anybody looked: what
 * it sent confirms the connection first (D12, RULING 46).
 */
static void confirm_by_data(struct kdapl_conn *conn)
{
	struct kdapl_dir *recv = &conn->ep->recv;
	struct kdapl_evd *evd = NULL;

	/* An endpoint that is not told yet has its EVD, at least until we look. */
	rcu_read_lock();
	if (READ_ONCE(recv->await) && !READ_ONCE(conn->told)) {
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
 * kdapl_conn_peer_disconnected - the peer disconnected, or answered us
 * @conn: the id's connection
 *
 * A5: a queue that is in error already was broken, and the peer only reports it.
 *
 * Context: the id's handler mutex is held; may sleep.
 */
void kdapl_conn_peer_disconnected(struct kdapl_conn *conn)
{
	peer_left(conn);
	if (conn->ep) {
		confirm_by_data(conn);
		kdapl_conn_input(conn, kdapl_conn_queue_in_error(conn) ?
				 KDAPL_EP_IN_BROKEN : KDAPL_EP_IN_PEER_DISCONNECT);
	}
}
