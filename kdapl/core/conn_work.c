// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The work items of one connection, from connect or accept until nothing is left after the
 * drain (A5, A7).  The endpoint table (ep_apply.c) leaves bits in @todo, and conn_work() does
 * what they say, one run at a time.  conn_id_work() makes the calls that wait for memory.
 * Documentation/life-of-a-connection.rst, Who may do what, tells how these, the consumer and the
 * CM's callbacks share a connection.
 *
 * Memory may be reclaimed through a kernel consumer's connections, so conn_work() must not wait
 * for it: it allocates without I/O (memalloc_noio_save()), and takes no mutex whose holders wait
 * for memory.  The rules are in Documentation/locking.rst, Contexts.
 *
 * Callers: ep_connect.c and sp_request.c make connections; ep.c, cr.c, passthrough.c and the
 * tear-down of an IA wait for their ends.
 */
#include <linux/sched/mm.h>
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
 * Of several tries the first one has no time, the second one this, and each other one twice as
 * much as that before it.  If a neighbour answers before the kernel's resolver has put its
 * request on the list, the answer is noticed only when the try is over; on a virtual network
 * that is the rule, and the first try is over as soon as it has begun.
 */
#define RESOLVE_SECOND_MS 20

/* ---- resolving ------------------------------------------------------ */

/**
 * kdapl_conn_resolve - look for the peer's address, for a limited time
 * @conn: an attempt; the caller is a user of its id, or the second work item
 *
 * kdapl_conn_resolved() or kdapl_conn_unresolved() follows.  May sleep, not for the
 * peer.
 */
void kdapl_conn_resolve(struct kdapl_conn *conn)
{
	u32 ms = conn->resolve_ms;
	long left;
	int err;

	/* The attempt was aborted before the work item came to resolve again. */
	if (!kdapl_id_is_there(conn))
		return;
	if (!ms)
		conn->resolve_until = jiffies + RESOLVE_LIMIT;
	conn->resolve_ms = ms ? 2 * ms : RESOLVE_SECOND_MS;
	left = conn->resolve_until - jiffies;
	ms = min(ms, jiffies_to_msecs(max(left, 1L)));
	err = conn->ia->dev->cm->resolve(conn->id, (struct sockaddr *)&conn->peer,
					 ms);
	if (err) {
		trace_kdapl_resolve(conn, err);
		kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_UNREACHABLE);
	}
}

/* ---- the end of the id ---------------------------------------------- */

/*
 * Ends an attempt, by destroying its id.  But if the peer has our acceptance it is connected,
 * and it would never notice a rejection that follows at once, or gets lost.  Then the id
 * stays, and disconnects as soon as the peer has confirmed (D35).  If such a peer has
 * disconnected already the id is destroyed as well: when the CM destroys an id that has not
 * answered a disconnect, it answers.
 *
 * Returns false if the work item has to wait for the end of the id.
 */
static bool conn_abort(struct kdapl_conn *conn)
{
	if (!kdapl_id_was_accepted(conn))
		return kdapl_id_retire(conn);
	kdapl_id_disconnect(conn);
	return true;
}

static bool conn_lingers(const struct kdapl_conn *conn)
{
	return !list_empty(&conn->linger);
}

/*
 * Jiffies that the peer may still take to answer our disconnect.  If nothing is outstanding,
 * the disconnect is all that tells the peer of the end.  When it gets lost the CM repeats it,
 * but only as long as the id is there.  A close of the IA waits for the answer, so it gives
 * the peer less time.  A removal of the device gives it none.
 */
static long conn_linger_left(const struct kdapl_conn *conn)
{
	const struct kdapl_ia *ia = conn->ia;

	if (READ_ONCE(ia->removed) || READ_ONCE(ia->dev->gone))
		return 0;
	return (READ_ONCE(ia->closing) ? conn->close_until : conn->linger_until) - jiffies;
}

/*
 * Has the id destroyed when the peer has answered, or its time is over, and runs once more
 * when the id is gone; otherwise looks again later.  @conn was put on the list before the
 * state is looked at here.  So a peer who answers afterwards makes the work item run
 * (conn_peer_gone()), and so does a close (kdapl_conn_linger_flush()).
 */
static void conn_linger_step(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;
	struct kdapl_space *space = ia->obj.space;
	long left = conn_linger_left(conn);

	if (kdapl_id_awaits_peer(conn) && left > 0) {
		kdapl_conn_run_later(conn, left);
		return;
	}
	if (!kdapl_id_retire(conn))
		return;
	spin_lock_irq(&ia->linger_lock);
	list_del_init(&conn->linger);
	spin_unlock_irq(&ia->linger_lock);
	wake_up_all(&conn->wait);
	/* The space stays as long as @ia, of which the work item's reference of @conn has one. */
	if (atomic_dec_and_test(&space->lingering))
		space->lingered(space);
	kdapl_conn_put(conn);
}

/* The endpoint is done with @conn and does not wait for its id, which may linger. */
static void conn_linger(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;

	if (!kdapl_id_is_there(conn))
		return;
	kdapl_conn_get(conn);
	conn->linger_until = jiffies + LINGER_LIMIT;
	conn->close_until = jiffies + ia->dev->close_time;
	atomic_inc(&ia->obj.space->lingering);
	spin_lock_irq(&ia->linger_lock);
	list_add_tail(&conn->linger, &ia->linger);
	spin_unlock_irq(&ia->linger_lock);
}

/* ---- the work item -------------------------------------------------- */

/* Any context.  A connection stays as long as its queue pair. */
static void conn_qp_event(struct kdapl_qp *qp, enum ib_event_type event)
{
	struct kdapl_conn *conn = container_of(qp, struct kdapl_conn, qp);

	switch (event) {
	case IB_EVENT_QP_FATAL:
		WRITE_ONCE(conn->qp_failed, true);
		kdapl_conn_schedule(conn, KDAPL_CONN_FATAL);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		WRITE_ONCE(conn->qp_failed, true);
		kdapl_conn_schedule(conn, KDAPL_CONN_ERROR);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		WRITE_ONCE(conn->last_wqe, true);
		kdapl_conn_run(conn);
		break;
	default:
		break;
	}
}

/*
 * E70: the device reported an error, or took only a part of a post, so there is an
 * asynchronous event as well.  A report that came when the connection was just over is
 * dropped: its endpoint may have another connection by now (R11).
 */
static void conn_qp_broken(struct kdapl_conn *conn, DAT_COUNT reason)
{
	struct kdapl_ep *ep = conn->ep;

	if (!ep || kdapl_conn_has_flushed(conn))
		return;
	kdapl_ia_async_event(conn->ia, DAT_ASYNC_ERROR_EP_BROKEN,
			     kdapl_handle(&ep->obj), reason);
	kdapl_ep_input(ep, conn, KDAPL_EP_IN_BROKEN);
}

/* The connection has ended, and the endpoint takes no more receives from its SRQ (RULING 69). */
static void conn_report_last(struct kdapl_conn *conn)
{
	struct kdapl_ep *ep = conn->ep;

	if (ep->srq && conn->moved && READ_ONCE(conn->ia->tells_last))
		kdapl_ia_async_event(conn->ia, DAT_ASYNC_ERROR_EP_BROKEN,
				     kdapl_handle(&ep->obj), DAT_EP_OTHER_ERROR);
}

/* A step of the drain or flush that is under way; comes again if it must. */
static void conn_end_step(struct kdapl_conn *conn)
{
	unsigned long delay;

	if (conn->doing & KDAPL_EP_ACT_FLUSH)
		delay = kdapl_flush_step(conn);
	else if (conn->doing & KDAPL_CONN_PEER_LEFT)
		delay = kdapl_leave_step(conn);
	else
		delay = kdapl_drain_step(conn);
	if (delay) {
		kdapl_conn_run_later(conn, delay);
	} else if (conn->doing & KDAPL_EP_ACT_FLUSH) {
		conn->doing = 0;
		/* In passthrough the process has to take what was flushed first. */
		if (!kdapl_ia_is_passthrough(conn->ia))
			kdapl_conn_drop_qp(conn, conn->ep);
		kdapl_conn_release_cqs(conn, conn->ep);
		conn_linger(conn);
		conn_report_last(conn);
		/* From here on somebody may reset or free the endpoint. */
		kdapl_flush_over(conn);
	} else {
		if (conn->doing & KDAPL_CONN_PEER_LEFT)
			kdapl_conn_left(conn);
		/* If a drain was under way, it has waited for the same requests. */
		conn->doing = 0;
	}
}

/* Gives the CM its time to tell how the connection has ended (kdapl_conn_await_cm()). */
static void conn_await_step(struct kdapl_conn *conn)
{
	unsigned long until = READ_ONCE(conn->cm_until);

	if (!until || READ_ONCE(conn->ends))
		return;
	if (time_before(jiffies, until))
		kdapl_conn_run_later(conn, until - jiffies);
	else
		kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_BROKEN);
}

/*
 * Does what @todo asks of the id.  Returns false if the id is being destroyed; the work item
 * runs again when it is gone.
 */
static bool conn_id_step(struct kdapl_conn *conn, unsigned long todo)
{
	if (todo & KDAPL_CONN_DESTROY_ID)
		return kdapl_id_retire(conn);
	if (todo & KDAPL_EP_ACT_ABORT)
		return conn_abort(conn);
	if (todo & KDAPL_CONN_ID_WORK)
		kdapl_conn_run_slow(conn);
	return true;
}

/*
 * Does @todo end the connection, and must that wait for the CM (kdapl_id_left_to_cm())?  Then the
 * work item runs again.
 */
static bool conn_waits_for_cm(struct kdapl_conn *conn, unsigned long todo)
{
	long left = 0;

	if (todo & (KDAPL_EP_ACT_ABORT | KDAPL_EP_ACT_DISC | KDAPL_EP_ACT_FLUSH |
		    KDAPL_CONN_DESTROY_ID))
		left = kdapl_id_left_to_cm(conn);
	if (left)
		kdapl_conn_run_later(conn, left);
	return left;
}

/* Counts completions that nobody takes, while posts wait for room (kdapl_conn_seek_room()). */
static void conn_look_for_room(struct kdapl_conn *conn, struct kdapl_dir *dir)
{
	if (!kdapl_dir_seeks_room(dir) || READ_ONCE(conn->ends))
		return;
	kdapl_evd_pull(dir->evd);
	kdapl_conn_seek_room(conn, dir);
}

static void conn_run(struct kdapl_conn *conn)
{
	unsigned long todo = atomic_long_xchg(&conn->todo, 0);

	/*
	 * An accept that is under way decides whether the acceptance goes out, and so what
	 * has to become of the id.  The last user of the id, and the end of the id, make the
	 * work item run again.
	 */
	if (!kdapl_id_is_free(conn) || conn_waits_for_cm(conn, todo) ||
	    !conn_id_step(conn, todo)) {
		atomic_long_or(todo, &conn->todo);
		return;
	}
	conn->doing |= todo & (KDAPL_EP_ACT_DRAIN | KDAPL_EP_ACT_FLUSH |
			       KDAPL_CONN_PEER_LEFT);
	if (todo & KDAPL_CONN_FATAL)
		conn_qp_broken(conn, DAT_EP_TRANSFER_TO_ERROR);
	else if (todo & KDAPL_CONN_ERROR)
		conn_qp_broken(conn, DAT_EP_OTHER_ERROR);

	if (todo & KDAPL_CONN_POST_HELD)
		kdapl_ep_post_held(conn->ep, conn);
	if (READ_ONCE(conn->ep)) {
		conn_look_for_room(conn, &conn->ep->recv);
		conn_look_for_room(conn, &conn->ep->req);
	}

	if (todo & KDAPL_EP_ACT_DISC) {
		kdapl_abandon_requests(conn);
		kdapl_id_disconnect(conn);
	}

	if (conn->doing)
		conn_end_step(conn);
	if (conn_lingers(conn))
		conn_linger_step(conn);
	conn_await_step(conn);
}

static void conn_work(struct work_struct *work)
{
	struct kdapl_conn *conn = container_of(to_delayed_work(work),
					       struct kdapl_conn, work);
	unsigned int noio = memalloc_noio_save();

	conn_run(conn);
	memalloc_noio_restore(noio);
	kdapl_conn_put(conn);
}

/*
 * What may wait for the kernel's CM, or for TCP.  One work item resolves, connects and
 * destroys, so the id of an attempt that is given up is destroyed only after the driver's
 * connect has returned.
 */
static void conn_id_work(struct work_struct *work)
{
	struct kdapl_conn *conn = container_of(work, struct kdapl_conn, id_work);

	if (kdapl_id_is_dying(conn)) {
		kdapl_id_destroy(conn);
		kdapl_conn_run(conn);
	} else if (READ_ONCE(conn->ia->dev->gone)) {
		/* A removal waits for all attempts on the workqueue: begin nothing more. */
		kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_UNREACHABLE);
	} else if (!READ_ONCE(conn->resolved)) {
		kdapl_conn_resolve(conn);
	} else if (!READ_ONCE(conn->ends)) {
		kdapl_conn_send_request(conn);
	}
	kdapl_conn_put(conn);
}

static void conn_timer(struct work_struct *work)
{
	struct kdapl_conn *conn = container_of(to_delayed_work(work),
					       struct kdapl_conn, timer);
	s64 left = ktime_us_delta(conn->deadline, ktime_get());

	/* C10: jiffies may have lagged behind when the timer was armed. */
	if (left > 0 && !READ_ONCE(conn->ends)) {
		queue_delayed_work(kdapl_wq_of(conn->ia->obj.space), &conn->timer,
				   usecs_to_jiffies(left) + 1);
		return;
	}
	kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_TIMER);
	kdapl_conn_put(conn);
}

/* ---- life ----------------------------------------------------------- */

/**
 * kdapl_conn_alloc - a connection without endpoint, id or queue pair
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
	conn->qp.event = conn_qp_event;
	spin_lock_init(&conn->id_lock);
	mutex_init(&conn->qp_lock);
	init_waitqueue_head(&conn->wait);
	INIT_LIST_HEAD(&conn->linger);
	INIT_DELAYED_WORK(&conn->work, conn_work);
	INIT_WORK(&conn->id_work, conn_id_work);
	INIT_DELAYED_WORK(&conn->timer, conn_timer);
	return conn;
}

/**
 * kdapl_conn_finish - wait until everything that was on the queue pair has ended
 * @conn: its endpoint is in a state that flushes or has flushed
 *
 * On return a queue pair of the kernel's is destroyed; one of a process stays bound
 * (kdapl_conn_drop_qp()).  Drives the work item; does not depend on any other thread
 * polling (A10).  May sleep.
 */
void kdapl_conn_finish(struct kdapl_conn *conn)
{
	while (!wait_event_timeout(conn->wait, kdapl_conn_has_flushed(conn), HZ / 20))
		kdapl_conn_run(conn);
}

static bool conn_id_is_gone(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;
	bool lingers;

	spin_lock_irq(&ia->linger_lock);
	lingers = conn_lingers(conn);
	spin_unlock_irq(&ia->linger_lock);
	return !lingers && !kdapl_id_is_there(conn);
}

/**
 * kdapl_conn_destroy_id - destroy the CM id, through the work items
 * @conn: no endpoint, or one that has flushed
 *
 * No callback runs or will run on return.  May sleep; not with the id's handler
 * mutex held.
 */
void kdapl_conn_destroy_id(struct kdapl_conn *conn)
{
	kdapl_conn_schedule(conn, KDAPL_CONN_DESTROY_ID);
	wait_event(conn->wait, conn_id_is_gone(conn));
}

/* The first connection of the list that was not told yet; it gets to the end.  NULL: none. */
static struct kdapl_conn *linger_next(struct kdapl_ia *ia)
{
	struct kdapl_conn *conn;

	spin_lock_irq(&ia->linger_lock);
	conn = list_first_entry_or_null(&ia->linger, struct kdapl_conn, linger);
	if (conn && conn->hurried)
		conn = NULL;
	if (conn) {
		kdapl_conn_get(conn);
		conn->hurried = true;
		list_move_tail(&conn->linger, &ia->linger);
	}
	spin_unlock_irq(&ia->linger_lock);
	return conn;
}

/**
 * kdapl_conn_linger_hurry - tell the ids that wait for their peers that they have less time
 * @ia: being closed; what was on it is torn down
 *
 * As kdapl_conn_linger_flush(), but waits for none.  Once for an IA.  May sleep.
 */
void kdapl_conn_linger_hurry(struct kdapl_ia *ia)
{
	struct kdapl_conn *conn;

	while ((conn = linger_next(ia))) {
		kdapl_conn_run(conn);
		kdapl_conn_put(conn);
		cond_resched();
	}
}

/**
 * kdapl_conn_linger_flush - end the ids that still wait for their peers
 * @ia: being closed, or its device removed
 *
 * For a peer that does not answer, a close waits until kdapl_device.close_time after the end
 * of the connection, and a removal does not wait at all.  May sleep.
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
		/* It has less time from now on: conn_linger_left(). */
		kdapl_conn_run(conn);
		wait_event(conn->wait, conn_id_is_gone(conn));
		kdapl_conn_put(conn);
	}
}
