// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Drain and flush: how everything that was posted comes to its end when a connection does.  This
 * is the promise of dat_ep_disconnect: each DTO completes exactly once, and the one connection
 * event that tells of the end follows the last of them (A5).  Documentation/life-of-a-dto.rst says
 * why nothing is lost or doubled, and why it always ends.
 *
 * A drain waits until every request has completed by itself (a graceful disconnect, state
 * DRAINING).  A flush puts the queue pair into the error state, so that the device completes
 * whatever is left on it (FLUSHING, DISC_FLUSHING).
 *
 * Callers: the work item of the connection (conn_work.c) calls the steps, again and again, until
 * each says that it is over; ep.c settles binds, and lmr.c says which memory has gone.
 */
#include "drain.h"
#include "conn.h"
#include "ep_apply.h"
#include "ep_view.h"
#include "evd_fifo.h"
#include "ia.h"
#include "rmr.h"
#include "srq.h"
#include "../trace.h"

/* A device that has not flushed its queue pair in this time never will. */
#define FLUSH_LIMIT	(10 * HZ)

/* ---- counting ------------------------------------------------------- */

/*
 * The lock orders us behind the poller that accounted for the last completion: if we see that
 * it was accounted for, the poller is done with the connection.
 */
static bool dir_drained(struct kdapl_dir *dir)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&dir->evd->lock, flags);
	ret = dir->completed == dir->posted;
	spin_unlock_irqrestore(&dir->evd->lock, flags);
	return ret;
}

/* The same, with the completions that nobody has taken from the CQ yet. */
static bool dir_pull_drained(struct kdapl_dir *dir)
{
	if (dir_drained(dir))
		return true;
	kdapl_evd_pull(dir->evd);
	return dir_drained(dir);
}

/* The CQs of an EVD for which a connection waits are kept armed (D19). */
static void evd_keep_armed(struct kdapl_evd *evd, bool on)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->drainers += on ? 1 : -1;
	spin_unlock_irqrestore(&evd->lock, flags);
	if (on)
		kdapl_evd_kick(evd);
}

/*
 * Begins or ends to watch for completions that the device owes @conn.  @awaits_wcs is set before
 * the caller pulls the EVDs.  So whoever accounts for a completion after that pull gets the
 * EVD's lock after it, sees @awaits_wcs, and makes the work item run.
 */
static void conn_await_wcs(struct kdapl_conn *conn, bool on)
{
	struct kdapl_ep *ep = conn->ep;

	if (conn->awaits_wcs == on)
		return;
	conn->backoff = 1;
	WRITE_ONCE(conn->awaits_wcs, on);
	evd_keep_armed(ep->req.evd, on);
	evd_keep_armed(ep->recv.evd, on);
}

/* Jiffies until the work item looks again: more each time, and @limit at most. */
static unsigned long conn_next_look(struct kdapl_conn *conn, unsigned long limit)
{
	unsigned long delay = conn->backoff;

	conn->backoff = min(delay * 2, limit);
	return delay;
}

/*
 * Has the device completed all that @done asks for?  If not, its completions are
 * watched for from here on.  Most connections end with nothing outstanding, and need
 * no watch.
 */
static bool conn_check_wcs(struct kdapl_conn *conn, bool (*done)(struct kdapl_conn *))
{
	if (done(conn))
		return true;
	if (conn->awaits_wcs)
		return false;
	conn_await_wcs(conn, true);
	return done(conn);
}

/* ---- draining ------------------------------------------------------- */

/* What still waits for room on the queue pair, the work item gives to it. */
static bool conn_drained(struct kdapl_conn *conn)
{
	struct kdapl_dir *req = &conn->ep->req;

	return dir_pull_drained(req) && !kdapl_dir_seeks_room(req);
}

/**
 * kdapl_drain_step - have all requests completed by themselves?
 * @conn: its endpoint is in DRAINING, or has just left it
 *
 * Called by the work item only; may sleep.
 *
 * Return: 0: they have, and the endpoint was told, or in passthrough, where the process
 * tells; otherwise the jiffies after which to call again, or earlier, when a completion
 * comes in.
 */
unsigned long kdapl_drain_step(struct kdapl_conn *conn)
{
	/* In passthrough the process tells when they have (kdapl_ep_tell()). */
	if (kdapl_ia_is_passthrough(conn->ia))
		return 0;
	if (!conn_check_wcs(conn, conn_drained))
		return conn_next_look(conn, HZ / 10);
	kdapl_ep_input(conn->ep, conn, KDAPL_EP_IN_DRAINED);
	return 0;
}

/* ---- a peer that has left ------------------------------------------- */

/**
 * kdapl_answers_may_come - may the peer's disconnect have overtaken answers to our requests?
 * @conn: with an endpoint; its peer has disconnected
 *
 * Any context.
 */
bool kdapl_answers_may_come(const struct kdapl_conn *conn)
{
	const struct kdapl_dir *req = &conn->ep->req;

	return conn->ia->dev->answer_time && !READ_ONCE(conn->ends) &&
	       (kdapl_ia_is_passthrough(conn->ia) ||
		READ_ONCE(req->posted) != READ_ONCE(req->completed));
}

/* In passthrough only the process knows what it has outstanding, and it tells. */
static bool conn_answered(struct kdapl_conn *conn)
{
	if (kdapl_ia_is_passthrough(conn->ia))
		return READ_ONCE(conn->says_drained);
	return conn_check_wcs(conn, conn_drained);
}

/**
 * kdapl_leave_step - are all answers here that a peer gave before it disconnected?
 * @conn: its peer has disconnected while requests were outstanding
 *
 * A request that the peer has executed has to complete with success, and one that it has
 * refused with the reason, even if the device sees the answer after the CM has seen the
 * disconnect.  Answers are waited for during kdapl_device.answer_time, and a quarter of it
 * more if the device may have put answers aside.  Called by the work item only; may sleep.
 *
 * Return: 0: they are, or the time is over; otherwise the jiffies after which to call
 * again, or earlier, when a completion comes in.
 */
unsigned long kdapl_leave_step(struct kdapl_conn *conn)
{
	const struct kdapl_device *dev = conn->ia->dev;

	/* The connection ends for another reason, and is flushed anyhow. */
	if (READ_ONCE(conn->ends))
		return 0;
	if (!conn->answers_until) {
		/* From here on a process is believed that says it has drained. */
		WRITE_ONCE(conn->answers_until, (jiffies + dev->answer_time) ?: 1);
		conn->backoff = conn->backoff ?: 1;
		if (kdapl_ia_is_passthrough(conn->ia))
			kdapl_ep_view_flag(conn->ep, conn->bind_life, KDAPL_VIEW_LEFT);
	}
	if (conn_answered(conn))
		return 0;
	if (time_before(jiffies, conn->answers_until))
		return conn_next_look(conn, HZ / 50);
	if (conn->answers_sought || !conn->ia->qp->seek_answers(&conn->qp))
		return 0;
	conn->answers_sought = true;
	conn->answers_until = jiffies + dev->answer_time / 4;
	conn->backoff = 1;
	return conn_next_look(conn, HZ / 50);
}

/* ---- flushing ------------------------------------------------------- */

/*
 * Does @conn take receives from an SRQ of the kernel's?  In passthrough the SRQ is the
 * process's own, and it is the process that waits for what its queue pair took.
 */
static bool conn_shares(const struct kdapl_conn *conn)
{
	return conn->ep->srq && !kdapl_ia_is_passthrough(conn->ia);
}

/*
 * Nobody counts what a queue pair takes from an SRQ.  Some devices tell when all of that has
 * completed (@last).  The completions are taken from the CQ before the queue pair is
 * destroyed, because some drivers drop them then.  @last is read before the CQ is pulled, so
 * that a pull after the device has told takes all.  The CQ is also pulled before the device has
 * told, because a device may not be able to tell while its CQ is full.
 */
static bool srq_flushed(struct kdapl_conn *conn)
{
	bool last = !conn->ia->dev->srq_tells_last || READ_ONCE(conn->last_wqe);

	return kdapl_evd_pull(conn->ep->recv.evd) && last;
}

static bool conn_flushed(struct kdapl_conn *conn)
{
	bool requests = dir_pull_drained(&conn->ep->req);

	if (conn_shares(conn))
		return srq_flushed(conn) && requests;
	return dir_pull_drained(&conn->ep->recv) && requests;
}

/*
 * Do completions in @evd, which was pulled, wait behind one that is not @ep's?  A bind that
 * failed, or whose RMR was freed, waits until the RMR is settled, and so does a message that has
 * invalidated the key of an RMR (kdapl_evd.unbinding); the first message of a connection waits
 * until its queue pair can send.  All completions that came after it wait behind it: in the CQ, or
 * fetched from there.
 */
static bool evd_waits(struct kdapl_evd *evd, const struct kdapl_ep *ep)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&evd->lock, flags);
	ret = evd->waiting && evd->wc_next != evd->wc_end &&
	      kdapl_wc_cookie(&evd->wc[evd->wc_next])->dir->ep != ep;
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret;
}

/* After a pull of both EVDs: do completions there wait behind one of another endpoint? */
static bool conn_waits(struct kdapl_conn *conn)
{
	struct kdapl_ep *ep = conn->ep;

	return evd_waits(ep->req.evd, ep) || evd_waits(ep->recv.evd, ep);
}

/*
 * For a DTO whose queue pair is destroyed, after the CQ was pulled.  Returns true if its
 * completion is still missing: then the caller completes the DTO, and a completion that shows
 * up all the same is dropped.
 */
static bool cookie_disown(struct kdapl_cookie *cookie)
{
	struct kdapl_dir *dir = cookie->dir;
	struct kdapl_evd *evd = dir->evd;
	unsigned long flags;
	bool owed;

	spin_lock_irqsave(&evd->lock, flags);
	owed = cookie->owed;
	cookie->owed = false;
	kdapl_cookie_from_aside(cookie);
	dir->completed += owed;
	spin_unlock_irqrestore(&evd->lock, flags);
	return owed;
}

/*
 * Flushes the posts that came while the old life was being flushed (D46), a batch at a time.
 * Posts that come meanwhile wait behind them.
 */
void kdapl_dir_flush_late(struct kdapl_dir *dir)
{
	struct kdapl_cookie *cookie;
	unsigned long flags;
	bool more;
	u32 n;

	do {
		spin_lock_irqsave(&dir->lock, flags);
		for (n = 0; n < KDAPL_DIR_BATCH && !list_empty(&dir->late); n++) {
			cookie = list_first_entry(&dir->late, struct kdapl_cookie,
						  node.link);
			list_del(&cookie->node.link);
			dir->nr_late--;
			kdapl_evd_post_flushed(dir->evd, cookie);
		}
		more = !list_empty(&dir->late);
		if (!more && dir->gate == KDAPL_GATE_LATE)
			dir->gate = KDAPL_GATE_FLUSH;
		spin_unlock_irqrestore(&dir->lock, flags);
	} while (more);
}

/* Flushes at most a batch of held posts.  Returns true if there are more. */
static bool dir_flush_held(struct kdapl_dir *dir)
{
	u32 n;

	lockdep_assert_held(&dir->lock);
	for (n = 0; n < KDAPL_DIR_BATCH && dir->held; n++) {
		kdapl_evd_post_flushed(dir->evd, &dir->ring[dir->held_first]);
		dir->held_first = (dir->held_first + 1) % dir->size;
		WRITE_ONCE(dir->held, dir->held - 1);
	}
	return dir->held;
}

/* Flushes what a dead device owes in @n slots of the ring, from @i on.  Returns the next slot. */
static u32 dir_flush_lost(struct kdapl_dir *dir, u32 i, u32 n)
{
	lockdep_assert_held(&dir->lock);
	for (; n; n--, i = (i + 1) % dir->size) {
		struct kdapl_cookie *cookie = &dir->ring[i];

		if (cookie->busy && cookie_disown(cookie))
			kdapl_evd_post_flushed(dir->evd, cookie);
	}
	return i;
}

/*
 * The RMR of a bind, with a reference; NULL if it is no bind.  Somebody may be just taking
 * the completion of the bind, after which the cookie has no reference to the RMR any more.
 */
static struct kdapl_rmr *cookie_rmr(const struct kdapl_cookie *cookie)
{
	struct kdapl_rmr *rmr;

	rcu_read_lock();
	rmr = READ_ONCE(cookie->rmr);
	if (rmr && !refcount_inc_not_zero(&rmr->obj.ref))
		rmr = NULL;
	rcu_read_unlock();
	return rmr;
}

/**
 * kdapl_ep_settle_binds - settle the binds that no device will complete
 * @ep: no queue pair has work requests of its binds, no CQ has their completions, and no
 *	new bind is given to a queue pair meanwhile
 *
 * No completion tells what became of these binds.  They count as failed, and their RMRs know
 * that on return.  So their flushed completions, those made next and those already in the
 * FIFO, can be taken (cookie_waits() in evd_fifo.c).  A bind whose outcome is known already is
 * left alone.  May sleep; does all of this by itself (A10).
 */
void kdapl_ep_settle_binds(struct kdapl_ep *ep)
{
	struct kdapl_dir *dir = &ep->req;
	struct kdapl_rmr *rmr;
	u32 i;

	for (i = 0; i < dir->size; i++) {
		rmr = cookie_rmr(&dir->ring[i]);
		if (!rmr)
			continue;
		kdapl_rmr_settle_bind(rmr, &dir->ring[i]);
		kdapl_object_put(&rmr->obj);
	}
}

/*
 * Completes what a dead device never flushed (@lost), and then held posts, which were
 * posted later.  Posts that come meanwhile go to the list of late ones, and take only
 * cookies that are free.
 */
static void dir_flush(struct kdapl_dir *dir, bool lost)
{
	u32 i, n, left = lost ? dir->size : 0;
	unsigned long flags;
	bool more;

	/* In posting order; the ring is used round, @next is the oldest. */
	for (i = READ_ONCE(dir->next); left; left -= n) {
		n = min_t(u32, left, KDAPL_DIR_BATCH);
		spin_lock_irqsave(&dir->lock, flags);
		i = dir_flush_lost(dir, i, n);
		spin_unlock_irqrestore(&dir->lock, flags);
	}
	if (lost) {
		/* With a chain, all of its work requests are over, and each of them counts. */
		spin_lock_irqsave(&dir->evd->lock, flags);
		dir->completed = dir->posted;
		spin_unlock_irqrestore(&dir->evd->lock, flags);
	}
	do {
		spin_lock_irqsave(&dir->lock, flags);
		more = dir_flush_held(dir);
		spin_unlock_irqrestore(&dir->lock, flags);
	} while (more);
}

/**
 * kdapl_ep_flush_rest - complete what no queue pair will ever complete
 * @ep: its queue pair has drained, was destroyed, or never was; no further post can be
 *	put on hold
 * @lost: the device did not flush; what it still owes is completed here
 */
void kdapl_ep_flush_rest(struct kdapl_ep *ep, bool lost)
{
	dir_flush(&ep->req, lost);
	dir_flush(&ep->recv, lost);
}

/* How many DTOs the device owes; for the trace. */
static u32 dir_owed(const struct kdapl_dir *dir)
{
	return READ_ONCE(dir->posted) - READ_ONCE(dir->completed);
}

/*
 * Has the queue pair complete all that it has, by putting it into the error state.  If it has
 * nothing it is destroyed at once, which is less work for the device than the error state and
 * then the destruction.  With an SRQ that can be known only of a queue pair that has never
 * received, and so took nothing from the SRQ.  Either way the peer cannot reach our memory
 * through the queue pair any more when the endpoint is told.  A queue pair of a process is not
 * destroyed: what it has completes at the process, which waits for it.
 */
static void conn_begin_flush(struct kdapl_conn *conn)
{
	int err = 0;

	conn->flush_until = jiffies + FLUSH_LIMIT;
	if (conn->qp.ib && !kdapl_ia_is_passthrough(conn->ia) &&
	    (conn->ep->srq ? !conn->moved : conn_flushed(conn)))
		kdapl_conn_drop_qp(conn, conn->ep);
	else if (conn->qp.ib)
		err = kdapl_conn_error_qp(conn);
	trace_kdapl_flush(conn, dir_owed(&conn->ep->req),
			  dir_owed(&conn->ep->recv), err);
	conn->backoff = 1;
	WRITE_ONCE(conn->flush, KDAPL_FLUSH_BEGUN);
}

/**
 * kdapl_abandon_requests - the CM is about to close an iWARP connection
 * @conn: its endpoint disconnects, or answers the peer
 *
 * On iWARP the CM closes in order, for which no request may be outstanding; a device that
 * is asked for such a close all the same need not flush the requests.  So if any is
 * outstanding, the queue pair goes to the error state first, and the close is an abrupt one.
 * Called by the work item only; may sleep.
 */
void kdapl_abandon_requests(struct kdapl_conn *conn)
{
	bool drained;

	if (!conn->ia->dev->iwarp || !conn->qp.ib)
		return;
	drained = kdapl_ia_is_passthrough(conn->ia) ? READ_ONCE(conn->says_drained) :
						      conn_drained(conn);
	if (!drained)
		kdapl_conn_error_qp(conn);
}

/*
 * Destroys the queue pair: what the device has not completed it never will.  What is in the
 * CQs already is taken next (conn_reaped()).
 */
static void conn_lose(struct kdapl_conn *conn, int why)
{
	trace_kdapl_flushed(conn, dir_owed(&conn->ep->req),
			    dir_owed(&conn->ep->recv), why);
	kdapl_conn_drop_qp(conn, conn->ep);
	conn->backoff = 1;
	WRITE_ONCE(conn->flush, KDAPL_FLUSH_LOST);
}

/*
 * Have all completions of a queue pair that was destroyed been taken from the CQs?  Only what
 * the pulls return tells.  A separate check after them could miss completions that are still
 * in a CQ, if another thread had just taken the one that they had to wait behind.  The
 * completion of a bind may wait there for its RMR, which its own work item settles.
 */
static bool conn_reaped(struct kdapl_conn *conn)
{
	bool requests = kdapl_evd_pull(conn->ep->req.evd);

	return kdapl_evd_pull(conn->ep->recv.evd) && requests;
}

/* Completes what no device will, and tells the endpoint that all has completed. */
static void conn_end_flush(struct kdapl_conn *conn)
{
	bool lost = conn->flush == KDAPL_FLUSH_LOST;
	struct kdapl_ep *ep = conn->ep;

	if (!lost)
		trace_kdapl_flushed(conn, dir_owed(&ep->req), dir_owed(&ep->recv), 0);
	conn_await_wcs(conn, false);
	if (conn_shares(conn)) {
		kdapl_srq_leave(ep->srq, conn);
		kdapl_srq_reclaim(ep->srq, ep);
	}
	kdapl_ep_settle_binds(ep);
	kdapl_ep_flush_rest(ep, lost);
	/*
	 * A process looks for its completions in its event rings, which the
	 * runners fill: they have to be there before the connection event is (D45).  A
	 * kernel consumer takes them from the EVDs.  Its runner must not be
	 * waited for: it may be an upcall that waits for us.
	 */
	if (ep->obj.space->user) {
		kdapl_evd_await_run(ep->req.evd);
		kdapl_evd_await_run(ep->recv.evd);
	}
	kdapl_ep_input(ep, conn, KDAPL_EP_IN_FLUSHED);
}

/**
 * kdapl_flush_step - has everything that was posted completed?
 * @conn: its endpoint is in a state that flushes
 *
 * The first call puts the queue pair into the error state, or destroys it if nothing
 * is posted there.  Once the device has completed all, what never reached the queue
 * pair is completed too, and the endpoint is told, which raises the connection event.
 * Called by the work item only; may sleep.
 *
 * Return: 0: it has, and the caller destroys the queue pair, unless it is a process's, and
 * then calls kdapl_flush_over(); otherwise the jiffies after which to call again, or
 * earlier, when a completion comes in.
 */
unsigned long kdapl_flush_step(struct kdapl_conn *conn)
{
	if (conn->flush == KDAPL_FLUSH_NONE)
		conn_begin_flush(conn);
	if (conn->qp.ib && !conn_check_wcs(conn, conn_flushed)) {
		if (conn_waits(conn))
			conn->flush_until = jiffies + FLUSH_LIMIT;
		if (!time_after(jiffies, conn->flush_until))
			return conn_next_look(conn, HZ / 50);
		conn_lose(conn, -ETIMEDOUT);
	} else if (conn->qp.ib && conn_shares(conn)) {
		/* All was flushed, but receives that it took may be in the CQ only after this. */
		conn_lose(conn, 0);
	}
	if (conn->flush == KDAPL_FLUSH_LOST && !conn_reaped(conn))
		return conn_next_look(conn, HZ / 50);
	conn_end_flush(conn);
	return 0;
}

/**
 * kdapl_flush_over - nothing of a connection's queue pair is left
 * @conn: its queue pair is destroyed, or a process's
 *
 * Whoever waits to reset or free the endpoint goes on (kdapl_conn_finish()).  Called
 * by the work item only.
 */
void kdapl_flush_over(struct kdapl_conn *conn)
{
	/* Pairs with kdapl_conn_has_flushed(). */
	smp_store_release(&conn->flush, KDAPL_FLUSH_OVER);
	wake_up_all(&conn->wait);
}

/* ---- memory that goes while requests name it ------------------------ */

/* Has the device the post of a slot, or does the post wait for room there? */
static bool slot_is_out(const struct kdapl_dir *dir, u32 i)
{
	u32 first = dir->held_first;

	lockdep_assert_held(&dir->lock);
	return READ_ONCE(dir->ring[i].owed) ||
	       (i >= first ? i - first : i + dir->size - first) < dir->held;
}

static bool cookie_names_key(const struct kdapl_dir *dir, u32 i, u32 lkey)
{
	const u32 *lkeys = &dir->lkeys[i * dir->max_sge];
	u32 n;

	for (n = 0; n < dir->nr_sge[i]; n++)
		if (lkeys[n] == lkey)
			return true;
	return false;
}

/*
 * Does a request behind the oldest one name @lkey?  No new post can: the LMR is freed.  The newest
 * ones may wait for room, and name it as well.
 */
static bool dir_waits_with_key(struct kdapl_dir *dir, u32 lkey)
{
	bool behind = false, found = false, out;
	u32 i = READ_ONCE(dir->next), left;

	/* In posting order: the slots are used in turn, and @next is the oldest one. */
	for (left = dir->size; left && !found; left--, i = (i + 1) % dir->size) {
		if (!READ_ONCE(dir->ring[i].busy))
			continue;
		/* Under the lock, because the work item gives held posts to the device. */
		spin_lock_irq(&dir->lock);
		out = slot_is_out(dir, i);
		found = behind && out && cookie_names_key(dir, i, lkey);
		spin_unlock_irq(&dir->lock);
		behind |= out;
	}
	return found;
}

/* The connection of a request that dir_waits_with_key() finds, with a reference; or NULL. */
static struct kdapl_conn *ep_conn_with_key(struct kdapl_ep *ep, u32 lkey)
{
	struct kdapl_conn *conn;
	bool waits = false;

	mutex_lock(&ep->use_lock);
	conn = kdapl_ep_get_conn(ep);
	if (conn && ep->req.lkeys) {
		/* What the device has completed waits no more. */
		kdapl_evd_pull(ep->req.evd);
		waits = dir_waits_with_key(&ep->req, lkey);
	}
	mutex_unlock(&ep->use_lock);
	if (conn && !waits) {
		kdapl_conn_put(conn);
		conn = NULL;
	}
	return conn;
}

/**
 * kdapl_ep_key_gone - break a connection that waits for a request with freed memory
 * @ep: of the LMR's IA; its device has mute_faults
 * @lkey: of an LMR that was freed; the device does not know it any more
 * @until: jiffies; requests that name it may end by themselves until then
 *
 * Soft-RoCE stops the send queue at such a request.  If a request before it must be repeated,
 * that is never done, and neither of them completes: a graceful disconnect would not end.
 * So the connection is broken here, as such a request breaks it anyhow (mt:M23).  If it is
 * the oldest one, nothing is needed: it fails by itself, with a completion that says why.
 * Sleeps.
 */
void kdapl_ep_key_gone(struct kdapl_ep *ep, u32 lkey, unsigned long until)
{
	struct kdapl_conn *conn;

	while ((conn = ep_conn_with_key(ep, lkey)) && time_before(jiffies, until)) {
		kdapl_conn_put(conn);
		usleep_range(1000, 2000);
	}
	if (conn) {
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_BROKEN);
		kdapl_conn_put(conn);
	}
}
