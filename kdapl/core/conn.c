// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: references, and how the work item (conn_work.c) and the timer of
 * one get to run.
 *
 * Callers: everybody who has a connection.
 */
#include <linux/slab.h>
#include "conn.h"
#include "ep.h"
#include "ia.h"
#include "user.h"

/* After a device has ended a connection, the CM tells how within this time, or never. */
#define CM_LIMIT	(10 * HZ)

/* How often the work item looks for room that nobody else looks for */
#define ROOM_LOOK	msecs_to_jiffies(100)

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
 * Any context: the CM id and the queue pair, whose destruction sleeps, are gone long
 * before the last reference.
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

/**
 * kdapl_conn_run - make the work item run now
 * @conn: the connection
 *
 * Any context; the lock of an EVD may be held.
 */
void kdapl_conn_run(struct kdapl_conn *conn)
{
	/* The pending work holds a reference. */
	kdapl_conn_get(conn);
	if (mod_delayed_work(kdapl_wq_of(conn->ia->obj.space), &conn->work, 0))
		kdapl_conn_put(conn);
}

/**
 * kdapl_conn_schedule - hand actions to the work item
 * @conn: the connection
 * @todo: KDAPL_EP_ACT_* of the second group, KDAPL_CONN_*
 *
 * Any context.
 */
void kdapl_conn_schedule(struct kdapl_conn *conn, unsigned long todo)
{
	atomic_long_or(todo, &conn->todo);
	kdapl_conn_run(conn);
}

/**
 * kdapl_conn_half_posted - the device took only some of the work requests of one post
 * @conn: the caller posts on its queue pair, and so keeps it
 *
 * What the post was to do is done in part, so the connection breaks, and the post is flushed
 * with the rest.  If it was a bind, the RMR's former key is being taken back, and no
 * completion will tell (mt:M40).  Any context; the lock of the request direction is held.
 */
void kdapl_conn_half_posted(struct kdapl_conn *conn)
{
	kdapl_conn_schedule(conn, KDAPL_CONN_ERROR);
}

/**
 * kdapl_conn_not_now - does the refusal of a post only mean "not at the moment"?
 * @conn: the connection that the post was for
 * @err: what the device returned
 *
 * A driver for iWARP (siw) refuses posts with ENOTCONN while it changes the state of the
 * queue pair: while it connects, and when it has begun to end the connection, after which
 * everything is flushed.  In the first case it takes receives again afterwards.  Any context.
 */
bool kdapl_conn_not_now(const struct kdapl_conn *conn, int err)
{
	return err == -ENOTCONN && conn->ia->dev->iwarp;
}

/**
 * kdapl_conn_run_later - make the work item run, unless it is queued already
 * @conn: the connection
 * @delay: jiffies
 *
 * Does not put off an earlier run that somebody else has asked for.  Any context.
 */
void kdapl_conn_run_later(struct kdapl_conn *conn, unsigned long delay)
{
	kdapl_conn_get(conn);
	if (!queue_delayed_work(kdapl_wq_of(conn->ia->obj.space), &conn->work, delay))
		kdapl_conn_put(conn);
}

/*
 * The workqueue on which @id_work runs.  The connect of an iWARP driver waits for the peer, so
 * attempts have a workqueue of their own there.  Two things must not wait behind them: a passive
 * connection, which only answers its peer, and an attempt that failed before it began (it has
 * no endpoint), because its caller waits until its id is destroyed.  The work item is never on
 * two workqueues: it is not queued before the attempt begins or fails, and @ep does not change
 * afterwards.
 */
static struct workqueue_struct *slow_wq_of(const struct kdapl_conn *conn)
{
	struct kdapl_space *space = conn->ia->obj.space;

	if (!conn->ia->dev->iwarp || !conn->active || !READ_ONCE(conn->ep))
		return kdapl_slow_wq_of(space);
	return space->owner ? kdapl_user_iwarp_wq(space->owner) : kdapl_iwarp_wq;
}

/**
 * kdapl_conn_run_slow - make the work item of the CM id run
 * @conn: the connection
 *
 * Any context.
 */
void kdapl_conn_run_slow(struct kdapl_conn *conn)
{
	kdapl_conn_get(conn);
	if (!queue_work(slow_wq_of(conn), &conn->id_work))
		kdapl_conn_put(conn);
}

/**
 * kdapl_conn_await_cm - an iWARP device has ended a connection
 * @conn: the connection; its endpoint does not know yet
 *
 * The CM is about to tell how it has ended.  If it does not, the work item takes the
 * connection for broken.  Any context; the lock of an EVD may be held.
 */
void kdapl_conn_await_cm(struct kdapl_conn *conn)
{
	if (READ_ONCE(conn->cm_until))
		return;
	WRITE_ONCE(conn->cm_until, (jiffies + CM_LIMIT) ?: 1);
	kdapl_conn_run(conn);
}

/**
 * kdapl_conn_seek_room - have held posts given to the queue pair, if half of its room is free
 * @conn: of @dir
 * @dir: deep; a post was held there just now, or a completion was counted
 *
 * The barrier: of two threads, one of which holds the first post and the other counts the last
 * completion, one sees what the other has done.  While posts are held the work item also looks by
 * itself: perhaps nobody takes completions now, because they wake nobody unless they are solicited,
 * or because an upcall waits for what the peer does with these very posts.  Any context; the lock
 * of @dir or of its EVD may be held.
 */
void kdapl_conn_seek_room(struct kdapl_conn *conn, const struct kdapl_dir *dir)
{
	/* Pairs with itself: see above. */
	smp_mb();
	if (!kdapl_dir_seeks_room(dir) || READ_ONCE(conn->ends))
		return;
	kdapl_conn_run_later(conn, ROOM_LOOK);
	if (kdapl_dir_left(dir) >= DIV_ROUND_UP(dir->room, 2) &&
	    !(atomic_long_read(&conn->todo) & KDAPL_CONN_POST_HELD))
		kdapl_conn_schedule(conn, KDAPL_CONN_POST_HELD);
}

/**
 * kdapl_conn_start_timer - the time of an attempt begins
 * @conn: its endpoint goes to RESOLVING; the EP's lock is held, so that nothing
 *	  can end the attempt before there is a timer to stop
 */
void kdapl_conn_start_timer(struct kdapl_conn *conn)
{
	if (conn->timeout == DAT_TIMEOUT_INFINITE)
		return;
	kdapl_conn_get(conn);
	conn->deadline = ktime_add_us(ktime_get(), conn->timeout);
	/* One more jiffy, so that it never expires before its time (C10). */
	queue_delayed_work(kdapl_wq_of(conn->ia->obj.space), &conn->timer,
			   usecs_to_jiffies(conn->timeout) + 1);
}
