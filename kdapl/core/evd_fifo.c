// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events and completions of an EVD: its FIFO, and the completion queue (CQ)
 * behind it.
 *
 * An event gets into the FIFO when a source raises it (evd_post.c), or when the
 * completions of the CQ are brought there (a pull).  While the FIFO is empty
 * kdapl_evd_take() hands a completion from the CQ straight to its caller.  Either way
 * what the completion says about its connection is told to the endpoint before anybody
 * can see the completion.
 *
 * Callers: evd_run.c and dat_evd_dequeue take events; drain.c, conn_cm.c, conn_work.c, fmr.c, evd.c
 * and evd_run.c pull; the watch (evd_streams.c) and evd_run.c fetch.
 */
#include <dat/kdat_linux.h>
#include "evd_fifo.h"
#include "ep.h"
#include "evd_cq.h"
#include "evd_kick.h"
#include "ia.h"
#include "lmr.h"
#include "rmr.h"
#include "srq.h"
#include "wc.h"
#include "../trace.h"

/* ---- the FIFO ------------------------------------------------------- */

/*
 * A dat_lmr_invalidate() that was flushed unmaps the memory when its completion becomes
 * visible.  Until its RMR is settled, that completion and all events behind it stay hidden.
 * Whoever settles the RMR kicks the EVD then.
 */
static bool cookie_waits(struct kdapl_evd *evd, struct kdapl_cookie *cookie)
{
	bool waits;

	if (likely(!cookie->rmr))
		return false;
	waits = !kdapl_rmr_complete(cookie->rmr, cookie, false);
	/* For evd_arm(): another look would be in vain. */
	WRITE_ONCE(evd->waiting, waits);
	return waits;
}

/* Takes the oldest event; NULL: there is none, or it has to wait for its RMR. */
static struct kdapl_node *fifo_take(struct kdapl_evd *evd)
{
	struct kdapl_node *node;

	lockdep_assert_held(&evd->lock);
	node = list_first_entry_or_null(&evd->fifo, struct kdapl_node, link);
	if (!node || (node->is_cookie && cookie_waits(evd, kdapl_cookie_of(node))))
		return NULL;
	list_del(&node->link);
	evd->nr_fifo--;
	evd->nr_notify -= node->notify;
	if (!node->is_cookie) {
		evd->nr_slots--;
		evd->overflowed = false;
	}
	return node;
}

static void fill_bind(struct kdapl_evd *evd, struct kdapl_cookie *cookie,
		      DAT_EVENT *event)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;

	event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	event->evd_handle = kdapl_handle(&evd->obj);
	bind->rmr_handle = kdapl_handle(&cookie->rmr->obj);
	bind->user_cookie.as_64 = cookie->user;
	bind->status = cookie->status;
}

/*
 * @key goes to rmr_context of <dat/kdat_linux.h>, or what else is there, where DAT's own structure
 * has padding.
 */
static __always_inline void fill_dto(struct kdapl_evd *evd, struct kdapl_cookie *cookie,
				     DAT_EVENT *event, u32 status, u32 key)
{
	struct kdat_dto_completion_event_data *dto =
		(void *)&event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = kdapl_handle(&evd->obj);
	dto->ep_handle = kdapl_handle(&cookie->dir->ep->obj);
	dto->user_cookie.as_64 = cookie->user;
	dto->status = status;
	dto->rmr_context = key;
	dto->transfered_length = cookie->length;
	*kdapl_event_operation(event) = cookie->operation;
}

static void fill_completion(struct kdapl_evd *evd, struct kdapl_cookie *cookie,
			    DAT_EVENT *event)
{
	bool received = cookie->dir->is_recv && cookie->status == DAT_DTO_SUCCESS;
	u32 key = 0;

	if (received)
		key = cookie->key;
	else if (cookie->flags & KDAPL_COOKIE_EXTENDED)
		key = cookie->operation;
	if (cookie->rmr && !cookie->rmr->fmr)
		fill_bind(evd, cookie, event);
	else
		fill_dto(evd, cookie, event, cookie->status, key);
	if (received && cookie->operation == KDAPL_DID_RECV_IMMED)
		event->event_number = KDAT_IMMED_EVENT;
}

/*
 * kdapl_cookie_free() for a cookie that may be that of a bind, which has a reference to its RMR, or
 * of a receive of an SRQ, which can be posted again only once it is on the SRQ's free list.
 */
static void cookie_release(struct kdapl_cookie *cookie)
{
	struct kdapl_rmr *rmr = cookie->rmr;
	u16 flags = cookie->flags;

	cookie->rmr = NULL;
	kdapl_cookie_free(cookie);
	if (rmr)
		kdapl_object_put(&rmr->obj);
	else if (flags & KDAPL_COOKIE_SRQ)
		kdapl_srq_cookie_back(cookie);
}

/* The event of a cookie in the FIFO was read, or is lost; no lock held. */
static void cookie_done(struct kdapl_cookie *cookie)
{
	struct kdapl_ep *ep = cookie->dir->ep;

	cookie_release(cookie);
	kdapl_object_put(&ep->obj);
}

/*
 * E35: does the event notify?  No device tells whether it is solicited.  But one that came while
 * the CQ was armed for solicited completions has the CQ's handler called if it is
 * (kdapl_evd.solicited), and does not notify by itself.
 */
static bool cookie_notifies(const struct kdapl_evd *evd, const struct kdapl_cookie *cookie)
{
	lockdep_assert_held(&evd->lock);
	if (cookie->status != DAT_DTO_SUCCESS)
		return true;
	if (evd->for_solicited && READ_ONCE(evd->config) == KDAPL_EVD_CONFIG_SOLICITED)
		return false;
	return !(cookie->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* ---- completions ---------------------------------------------------- */

/* The next completion not looked at yet; it stays the next until take_wc(). */
static inline struct ib_wc *next_wc(struct kdapl_evd *evd)
{
	int n;

	lockdep_assert_held(&evd->lock);
	if (evd->wc_next == evd->wc_end) {
		if (unlikely(!evd->only_cq))
			return kdapl_evd_poll_cqs(evd);
		n = ib_poll_cq(evd->only_cq, KDAPL_WC_BATCH, evd->wc);
		if (n <= 0) {
			if (unlikely(n < 0))
				kdapl_evd_cq_faulted(evd);
			return NULL;
		}
		evd->wc_next = 0;
		evd->wc_end = n;
	}
	return &evd->wc[evd->wc_next];
}

/*
 * Is it a DTO's success that nobody but the consumer has to be told of?  Nearly every
 * completion is.  wc_judge() decides about the others.
 */
static inline bool wc_is_plain(const struct kdapl_evd *evd, const struct ib_wc *wc)
{
	const struct kdapl_cookie *cookie = kdapl_wc_cookie(wc);

	return wc->status == IB_WC_SUCCESS && !wc_is_part(wc) &&
	       READ_ONCE(cookie->owed) && !cookie->rmr &&
	       !(cookie->flags & (DAT_COMPLETION_SUPPRESS_FLAG | KDAPL_COOKIE_CHAIN |
				  KDAPL_COOKIE_SRQ | KDAPL_COOKIE_DEEP |
				  KDAPL_COOKIE_EXTENDED | KDAPL_COOKIE_TELLS_BOTH)) &&
	       (!cookie->dir->is_recv || wc_is_message(wc, cookie)) &&
	       !READ_ONCE(cookie->dir->await) && !evd->waiting && !evd->drainers;
}

/* What has to happen before a completion can be seen */
enum wc_verdict {
	WC_VISIBLE,	/* nothing */
	WC_TELL,	/* the endpoint is told, then the completion is judged again */
	WC_WAIT,	/* something that is under way; the EVD is kicked after it */
	WC_ASIDE,	/* the CM has to tell; those of other endpoints do not wait for that */
	WC_STALE,	/* it completes no DTO, or one that was completed already: drop it */
};

/*
 * A work request has completed, other than by a plain completion.  The work item is told if it
 * waits for that, or if posts wait for room.
 */
static void wc_count(struct kdapl_dir *dir, struct kdapl_conn *conn)
{
	WRITE_ONCE(dir->completed, dir->completed + 1);
	if (READ_ONCE(conn->awaits_wcs))
		kdapl_conn_run(conn);
	if (unlikely(dir->deep))
		kdapl_conn_seek_room(conn, dir);
}

/*
 * A work request that is not the last one of its post has completed.  Each of them counts in
 * kdapl_dir.posted and kdapl_dir.completed.  The first failure says what the status of the post
 * is; the work requests after it are flushed.
 */
static void wc_note_part(struct kdapl_cookie *cookie, const struct ib_wc *wc)
{
	wc_count(cookie->dir, cookie->dir->ep->conn);
	if (wc->status == IB_WC_SUCCESS || wc->status == IB_WC_WR_FLUSH_ERR ||
	    cookie->failed)
		return;
	cookie->failed = true;
	cookie->status = kdapl_wc_status(wc->status);
}

/*
 * The RMR, or the LMR of a list, is told what became of a bind before the bind's completion
 * can be seen (mt:M40).
 */
static enum wc_verdict wc_judge_bind(struct kdapl_cookie *cookie,
				     const struct ib_wc *wc)
{
	bool success = wc->status == IB_WC_SUCCESS;

	if (unlikely(wc_is_part(wc))) {
		wc_note_part(cookie, wc);
		return WC_STALE;
	}
	if (likely(!cookie->rmr))
		return WC_VISIBLE;
	return kdapl_rmr_complete(cookie->rmr, cookie, success) ? WC_VISIBLE :
								  WC_WAIT;
}

/* In ib_wc.wc_flags, beside those of verbs: the peer was allowed to invalidate the key. */
#define WC_KEY_TAKEN	BIT(30)

/*
 * Was the peer allowed to invalidate the key that its send, otherwise a plain one, has
 * invalidated?  Only that of an RMR for which this is meant may be, be it one of an LMR of
 * dat_lmr_allocate() or a consumer's (kdapl_rmr.revocable).
 */
static bool wc_takes_key(struct kdapl_evd *evd, struct ib_wc *wc, const struct kdapl_cookie *cookie)
{
	if (wc->opcode != IB_WC_RECV || wc->byte_len > cookie->length ||
	    (wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)) !=
	    IB_WC_WITH_INVALIDATE)
		return false;
	if (!(wc->wc_flags & WC_KEY_TAKEN) &&
	    kdapl_rmr_take_key(evd, cookie->dir->ep, wc->ex.invalidate_rkey))
		wc->wc_flags |= WC_KEY_TAKEN;
	return wc->wc_flags & WC_KEY_TAKEN;
}

/*
 * A receive that no plain send has filled is made a failure, whatever the device says: from
 * here on it is treated like any other one, and breaks the connection.  A receive of an SRQ
 * is claimed for the endpoint that has taken it.  WC_VISIBLE: it is to be judged; WC_WAIT: when
 * the RMR is unbound whose key its message has taken; WC_STALE: no endpoint has taken it.
 */
static enum wc_verdict wc_check_recv(struct kdapl_evd *evd, struct ib_wc *wc)
{
	struct kdapl_cookie *cookie = kdapl_wc_cookie(wc);

	if (!cookie->dir->is_recv)
		return WC_VISIBLE;
	if (cookie->flags & KDAPL_COOKIE_SRQ && !kdapl_srq_claim(wc, cookie))
		return WC_STALE;
	/* DAT has no invalidation by a peer's send: the device has refused one (mt:M81). */
	if (wc->status == IB_WC_REM_INV_REQ_ERR)
		wc->status = IB_WC_BAD_RESP_ERR;
	if (wc->status != IB_WC_SUCCESS || !READ_ONCE(cookie->owed) ||
	    wc_is_message(wc, cookie) || wc_is_immed(wc, cookie))
		return WC_VISIBLE;
	if (wc_takes_key(evd, wc, cookie))
		return kdapl_evd_unbinds(evd) ? WC_WAIT : WC_VISIBLE;
	wc->status = wc->byte_len > cookie->length ? IB_WC_LOC_LEN_ERR :
						     IB_WC_BAD_RESP_ERR;
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		kdapl_lmr_invalidated(cookie->dir->ep->obj.ia,
				      wc->ex.invalidate_rkey);
	return WC_VISIBLE;
}

/*
 * An iWARP device flushes a queue pair whenever its connection ends, and may do so before
 * the CM has told how it ended.  Until the CM does, or its time is over, the completion
 * is put aside (kdapl_conn_await_cm()).
 */
static noinline bool wc_awaits_cm(struct kdapl_conn *conn, const struct ib_wc *wc)
{
	if (!conn->ia->dev->iwarp || wc->status != IB_WC_WR_FLUSH_ERR)
		return false;
	kdapl_conn_await_cm(conn);
	return true;
}

/*
 * What @wc says about its connection must be told to the endpoint before @wc can be seen.
 * A7: the first data confirms the connection.  D52: the first error may be the only sign
 * that the connection is broken.
 */
static enum wc_verdict wc_judge(const struct ib_wc *wc, struct kdapl_conn **conn,
				enum kdapl_ep_input *input)
{
	struct kdapl_cookie *cookie = kdapl_wc_cookie(wc);
	struct kdapl_dir *dir = cookie->dir;
	struct kdapl_conn *c;
	bool ends;

	/*
	 * Not owed any more: drain.c has completed the DTO, since its queue pair failed to
	 * flush.  A chain that was not posted whole is not owed either, but its parts are
	 * counted all the same.
	 */
	if (unlikely(!READ_ONCE(cookie->owed) &&
		     !(wc_is_part(wc) && cookie->flags & KDAPL_COOKIE_CHAIN)))
		return WC_STALE;
	c = dir->ep->conn;
	if (wc->status != IB_WC_SUCCESS) {
		ends = READ_ONCE(c->ends);
		if (ends || wc_awaits_cm(c, wc))
			return (ends && !dir->nr_aside) || wc_is_part(wc) ?
			       wc_judge_bind(cookie, wc) : WC_ASIDE;
		*input = KDAPL_EP_IN_BROKEN;
	} else {
		if (likely(!READ_ONCE(dir->await)))
			return wc_judge_bind(cookie, wc);
		/* The connection ends, so there is nothing to confirm; see wc_dat_status(). */
		if (READ_ONCE(c->ends))
			return WC_VISIBLE;
		/* Accepted, but our queue pair cannot send yet.  When it can, the EVD is kicked. */
		if (!smp_load_acquire(&c->rts))
			return WC_WAIT;
		*input = KDAPL_EP_IN_ESTABLISHED;
	}
	*conn = c;
	return WC_TELL;
}

/*
 * A bind that fails has one status, whatever failed; a flush is no failure (mt:M39).
 * A message for an attempt that was given up before it was confirmed is not received: the
 * receive counts as flushed, for nothing is received before ESTABLISHED (D31, RULING 46).
 */
static u32 wc_dat_status(const struct kdapl_cookie *cookie, const struct ib_wc *wc)
{
	if (unlikely(READ_ONCE(cookie->dir->await)))
		return wc->status == IB_WC_SUCCESS ? DAT_DTO_ERR_FLUSHED :
						     kdapl_wc_status(wc->status);
	if (unlikely(cookie->rmr) && wc->status != IB_WC_SUCCESS &&
	    (cookie->failed || wc->status != IB_WC_WR_FLUSH_ERR))
		return DAT_RMR_OPERATION_FAILED;
	if (unlikely(cookie->flags & KDAPL_COOKIE_CHAIN && cookie->failed))
		return cookie->status;
	return kdapl_wc_status(wc->status);
}

/* What the message that a receive has got says besides its data. */
static void cookie_note_word(struct kdapl_cookie *cookie, const struct ib_wc *wc)
{
	cookie->operation = KDAPL_DID_RECV;
	cookie->key = 0;
	if (cookie->status != DAT_DTO_SUCCESS)
		return;
	if (wc->wc_flags & WC_KEY_TAKEN) {
		cookie->operation = KDAPL_DID_RECV_INVALIDATE;
		cookie->key = wc->ex.invalidate_rkey;
	} else if (wc_is_immed(wc, cookie)) {
		cookie->operation = KDAPL_DID_RECV_IMMED;
		cookie->key = (__force u32)wc->ex.imm_data;
	}
}

/*
 * Accounts for a completion, which @wc is.  If it is an event at all, that goes to @event, or
 * with @event NULL to the FIFO.  @plain: wc_is_plain().  @notify: out, for @event; of a plain
 * one NULL: of no interest.  True: @event was filled.
 */
static __always_inline bool account_wc(struct kdapl_evd *evd, struct kdapl_cookie *cookie,
				       const struct ib_wc *wc, DAT_EVENT *event,
				       bool *notify, bool plain)
{
	struct kdapl_dir *dir = cookie->dir;
	struct kdapl_conn *conn = dir->ep->conn;
	bool filled = false;

	if (!plain && cookie->flags & KDAPL_COOKIE_TELLS_BOTH)
		kdapl_dir_complete_before(cookie);
	cookie->owed = false;
	cookie->status = plain ? DAT_DTO_SUCCESS : wc_dat_status(cookie, wc);
	if (!plain && cookie->status != DAT_DTO_SUCCESS)
		cookie->length = 0;
	else if (dir->is_recv)
		cookie->length = wc->byte_len;
	if (!plain && dir->is_recv)
		cookie_note_word(cookie, wc);
	if (!plain && cookie->flags & KDAPL_COOKIE_CHAIN)
		kdapl_chain_end(cookie);
	trace_kdapl_completion(cookie, conn->qp.num, wc->status);

	if (plain) {
		fill_dto(evd, cookie, event, DAT_DTO_SUCCESS, 0);
		if (notify)
			*notify = cookie_notifies(evd, cookie);
		kdapl_cookie_free(cookie);
		filled = true;
	} else if (cookie->status == DAT_DTO_SUCCESS &&
		   (cookie->flags & DAT_COMPLETION_SUPPRESS_FLAG)) {
		cookie_release(cookie);
	} else if (event) {
		fill_completion(evd, cookie, event);
		*notify = cookie_notifies(evd, cookie);
		cookie_release(cookie);
		filled = true;
	} else {
		cookie->node.notify = cookie_notifies(evd, cookie);
		kdapl_object_get(&dir->ep->obj);
		kdapl_fifo_add(evd, &cookie->node);
	}

	if (plain)
		WRITE_ONCE(dir->completed, dir->completed + 1);
	else
		wc_count(dir, conn);
	return filled;
}

/* The same for the next completion. */
static __always_inline bool take_wc(struct kdapl_evd *evd, DAT_EVENT *event,
				    bool *notify, bool plain)
{
	const struct ib_wc *wc = &evd->wc[evd->wc_next++];

	return account_wc(evd, kdapl_wc_cookie(wc), wc, event, notify, plain);
}

/*
 * Takes what was put aside, and need not wait for the CM any more, into the FIFO, but no more than
 * @left, which it counts down.  A bind may then have to wait for its RMR, and stops what comes
 * after it.
 *
 * Return: WC_VISIBLE: there is more; WC_WAIT: it stopped at a bind; WC_STALE: that was all.
 */
static noinline enum wc_verdict aside_take(struct kdapl_evd *evd, u32 *left)
{
	static const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	struct kdapl_cookie *cookie, *next;

	lockdep_assert_held(&evd->lock);
	list_for_each_entry_safe(cookie, next, &evd->aside, node.link) {
		if (!READ_ONCE(cookie->dir->ep->conn->ends))
			continue;
		if (!*left)
			return WC_VISIBLE;
		if (wc_judge_bind(cookie, &flushed) == WC_WAIT)
			return WC_WAIT;
		--*left;
		kdapl_cookie_from_aside(cookie);
		account_wc(evd, cookie, &flushed, NULL, NULL, false);
	}
	return WC_STALE;
}

/*
 * The same in batches, between which the lock is dropped, since as many may be aside as were
 * posted.  Whoever finds a completion of the same direction meanwhile takes the rest before it.
 *
 * Return: true: it stopped at a bind that has to wait.
 */
static noinline bool aside_take_all(struct kdapl_evd *evd, u32 *left, unsigned long *flags)
	__must_hold(&evd->lock)
{
	enum wc_verdict verdict;
	u32 batch, rest;

	for (;;) {
		batch = min_t(u32, *left, KDAPL_WC_BATCH);
		rest = batch;
		verdict = aside_take(evd, &rest);
		*left -= batch - rest;
		if (verdict != WC_VISIBLE || !*left)
			return verdict == WC_WAIT;
		spin_unlock_irqrestore(&evd->lock, *flags);
		spin_lock_irqsave(&evd->lock, *flags);
	}
}

/*
 * Puts the next completion aside, a flush that waits for the CM.  If the CM has told meanwhile,
 * those that were put aside before it come first (D43), and it is judged again.
 */
static noinline enum wc_verdict wc_put_aside(struct kdapl_evd *evd, struct kdapl_cookie *cookie)
{
	struct kdapl_dir *dir = cookie->dir;
	u32 all = U32_MAX;

	if (READ_ONCE(dir->ep->conn->ends)) {
		aside_take(evd, &all);
		return dir->nr_aside ? WC_WAIT : WC_TELL;
	}
	evd->wc_next++;
	cookie->aside = true;
	dir->nr_aside++;
	list_add_tail(&cookie->node.link, &evd->aside);
	return WC_STALE;
}

/*
 * Judges the next completion, and tells the endpoint what it has to be told.  For that the
 * lock is dropped, and the caller has to look for the next completion anew.
 */
static enum wc_verdict wc_judge_and_report(struct kdapl_evd *evd,
					   struct ib_wc *wc, unsigned long *flags)
	__must_hold(&evd->lock)
{
	enum kdapl_ep_input input;
	struct kdapl_conn *conn;
	enum wc_verdict verdict;

	verdict = wc_check_recv(evd, wc);
	if (likely(verdict == WC_VISIBLE))
		verdict = wc_judge(wc, &conn, &input);
	if (unlikely(verdict == WC_ASIDE)) {
		verdict = wc_put_aside(evd, kdapl_wc_cookie(wc));
		WRITE_ONCE(evd->waiting, verdict == WC_WAIT);
		return verdict;
	}
	WRITE_ONCE(evd->waiting, verdict == WC_WAIT);
	if (verdict == WC_STALE) {
		trace_kdapl_dropped(kdapl_wc_cookie(wc), wc->status);
		evd->wc_next++;
	}
	if (verdict != WC_TELL)
		return verdict;
	/*
	 * The connection is still there: this completion is not accounted for, so its
	 * queue pair has not drained.  While the lock is dropped another thread may take
	 * the completion, having given the endpoint the same input.
	 */
	kdapl_conn_get(conn);
	spin_unlock_irqrestore(&evd->lock, *flags);
	kdapl_conn_input(conn, input, 0);
	kdapl_conn_put(conn);
	spin_lock_irqsave(&evd->lock, *flags);
	return WC_TELL;
}

/* Counts @left down.  After each batch it drops the lock, for interrupts and other threads. */
static u32 one_less(struct kdapl_evd *evd, u32 left, unsigned long *flags)
	__must_hold(&evd->lock)
{
	if (!(--left % KDAPL_WC_BATCH)) {
		spin_unlock_irqrestore(&evd->lock, *flags);
		spin_lock_irqsave(&evd->lock, *flags);
	}
	return left;
}

/**
 * kdapl_evd_fetch - bring completions of the CQ into the FIFO, and wake nobody
 * @evd: any EVD
 * @max: at most so many, and no more than it takes to have all that are there now.  What
 *	 comes meanwhile is left for the next call: posts whose success is suppressed may
 *	 follow each other as fast as their completions are taken, and it would never end
 * @waits: out: it stopped at a completion that has to wait; NULL: of no interest
 *
 * Any context, no lock of an EP or EVD held.
 *
 * Return: how many were accounted for; @max: there may be more.
 */
u32 kdapl_evd_fetch(struct kdapl_evd *evd, u32 max, bool *waits)
{
	enum wc_verdict verdict = WC_STALE;
	bool aside_waits = false;
	unsigned long flags;
	struct ib_wc *wc;
	u32 left;

	spin_lock_irqsave(&evd->lock, flags);
	max = min(max, evd->most_wcs);
	left = max;
	if (unlikely(!list_empty(&evd->aside)))
		aside_waits = aside_take_all(evd, &left, &flags);
	while (left && (wc = next_wc(evd)) != NULL) {
		verdict = wc_judge_and_report(evd, wc, &flags);
		if (verdict == WC_WAIT)
			break;
		if (verdict == WC_TELL)
			continue;
		if (verdict == WC_VISIBLE)
			take_wc(evd, NULL, NULL, false);
		left = one_less(evd, left, &flags);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	if (waits)
		*waits = aside_waits || verdict == WC_WAIT;
	return max - left;
}

/**
 * kdapl_evd_pull - bring all completions of the CQ into the FIFO
 * @evd: any EVD
 *
 * Any context, no lock of an EP or EVD held.  It kicks the runner of a sink: the runner may
 * be about to arm the CQ, and arming does not notice what is in the FIFO by now.
 *
 * Return: true: whatever was in the CQ at the call was accounted for; false: it stopped at a
 * completion that has to wait.
 */
bool kdapl_evd_pull(struct kdapl_evd *evd)
{
	bool waits;

	kdapl_evd_fetch(evd, U32_MAX, &waits);
	if (READ_ONCE(evd->nr_fifo) && READ_ONCE(evd->sink))
		kdapl_evd_kick(evd);
	return !waits;
}

/* A slot of the pool is put back at once, and NULL returned: nothing is left to be done. */
static struct kdapl_event_slot *pool_slot_back(struct kdapl_evd *evd,
					       struct kdapl_event_slot *slot)
{
	if (slot->done)
		return slot;
	list_add(&slot->node.link, &evd->free_slots);
	return NULL;
}

/**
 * kdapl_evd_take - take the oldest event
 * @evd: any EVD
 * @event: out
 * @notify: out: the event wakes a waiter and starts an upcall (E35)
 * @slot: out: its done() is to be called, without a lock, when the event has got to where it
 *	  goes; NULL: there is none
 *
 * Any context, no lock of an EP or EVD held.  Return: false: there is none.
 */
bool kdapl_evd_take(struct kdapl_evd *evd, DAT_EVENT *event, bool *notify,
		    struct kdapl_event_slot **slot)
{
	struct kdapl_cookie *cookie = NULL;
	struct kdapl_node *node;
	unsigned long flags;
	bool found = false;
	struct ib_wc *wc;
	u32 left;

	*slot = NULL;
	spin_lock_irqsave(&evd->lock, flags);
	left = evd->most_wcs;
	for (;;) {
		if (!list_empty(&evd->fifo)) {
			node = fifo_take(evd);
			if (!node)
				break;
			*notify = node->notify;
			if (node->is_cookie) {
				cookie = kdapl_cookie_of(node);
				fill_completion(evd, cookie, event);
			} else {
				*event = kdapl_slot_of(node)->event;
				event->evd_handle = kdapl_handle(&evd->obj);
				*slot = pool_slot_back(evd, kdapl_slot_of(node));
			}
			found = true;
			break;
		}
		wc = left ? next_wc(evd) : NULL;
		if (!wc)
			break;
		if (likely(wc_is_plain(evd, wc))) {
			found = take_wc(evd, event, notify, true);
			break;
		}
		switch (wc_judge_and_report(evd, wc, &flags)) {
		case WC_WAIT:
			goto out;
		case WC_TELL:
			continue;
		case WC_ASIDE:
		case WC_STALE:
			break;
		case WC_VISIBLE:
			found = take_wc(evd, event, notify, false);
			break;
		}
		if (found)
			break;
		left = one_less(evd, left, &flags);
	}
out:
	spin_unlock_irqrestore(&evd->lock, flags);
	if (cookie)
		cookie_done(cookie);
	return found;
}

/* Takes the next event if that is simple; ASK: it is not, see kdapl_evd_take(). */
enum at_once { TOOK, NONE, ASK };

static inline enum at_once evd_take_at_once(struct kdapl_evd *evd, DAT_EVENT *event)
{
	struct ib_wc *wc;

	if (unlikely(!list_empty(&evd->fifo)))
		return ASK;
	wc = next_wc(evd);
	if (!wc)
		return NONE;
	if (unlikely(!wc_is_plain(evd, wc)))
		return ASK;
	take_wc(evd, event, NULL, true);
	return TOOK;
}

/* Takes an event that evd_take_at_once() could not; drops a reference of @evd. */
static noinline DAT_RETURN evd_dequeue(struct kdapl_evd *evd, DAT_EVENT *event)
{
	DAT_RETURN ret = RET(QUEUE_EMPTY);
	struct kdapl_event_slot *slot;
	bool notify;

	if (kdapl_evd_take(evd, event, &notify, &slot))
		ret = DAT_SUCCESS;
	if (slot)
		slot->done(slot, false);
	/* A batch may have been fetched from the CQ: the sink has to get the rest of it. */
	if (!ret && READ_ONCE(evd->sink) && kdapl_evd_has_more(evd))
		kdapl_evd_kick(evd);
	kdapl_object_put(&evd->obj);
	return ret;
}

/**
 * kdapl_evd_dequeue - dat_evd_dequeue
 * @space: of the caller
 * @handle: of an EVD
 * @event: out
 *
 * The contract is in face/kdat_evd.c.  The EVD's memory stays while it looks
 * (kdapl_peek_begin()).  Any context.  Rules E41..E48.
 *
 * Return: as dat_evd_dequeue().
 */
DAT_RETURN kdapl_evd_dequeue(struct kdapl_space *space, DAT_EVD_HANDLE handle,
			     DAT_EVENT *event)
{
	struct kdapl_object *obj;
	struct kdapl_evd *evd;
	enum at_once took;
	unsigned long flags;

	flags = kdapl_peek_begin();
	obj = kdapl_object_peek(space, handle, KDAPL_EVD);
	if (unlikely(!obj || !event)) {
		kdapl_peek_end(flags);
		return obj ? RET_BAD_ARG(2) : RET_BAD_HANDLE(EVD_REQUEST);
	}
	evd = kdapl_evd_of(obj);
	spin_lock(&evd->lock);
	took = evd_take_at_once(evd, event);
	/*
	 * The sink has to get the rest of the batch that was fetched.  The kick is made
	 * under the lock: the EVD cannot be freed before its sink has been taken away,
	 * which needs the lock too.
	 */
	if (took == TOOK && unlikely(evd->sink) && kdapl_evd_has_more(evd))
		kdapl_evd_kick(evd);
	spin_unlock(&evd->lock);
	if (unlikely(took == ASK && !refcount_inc_not_zero(&obj->ref))) {
		kdapl_peek_end(flags);
		return RET_BAD_HANDLE(EVD_REQUEST);
	}
	kdapl_peek_end(flags);
	if (unlikely(took == ASK))
		return evd_dequeue(evd, event);
	return took == TOOK ? DAT_SUCCESS : RET(QUEUE_EMPTY);
}

/* Ends the wait of the oldest event for its RMR, if it has to (cookie_waits()). */
static void fifo_settle_bind(struct kdapl_evd *evd)
{
	struct kdapl_cookie *cookie = NULL;
	struct kdapl_rmr *rmr = NULL;
	struct kdapl_node *node;

	spin_lock_irq(&evd->lock);
	node = list_first_entry_or_null(&evd->fifo, struct kdapl_node, link);
	if (node && node->is_cookie)
		cookie = kdapl_cookie_of(node);
	if (cookie && cookie->rmr) {
		rmr = cookie->rmr;
		kdapl_object_get(&rmr->obj);
	}
	spin_unlock_irq(&evd->lock);
	if (!rmr)
		return;
	kdapl_rmr_settle_bind(rmr, cookie);
	kdapl_object_put(&rmr->obj);
}

/**
 * kdapl_evd_drop_events - throw away what is in the FIFO
 * @evd: nothing adds an event to it any more
 *
 * The sources of the events are told that they were lost (E60).  May sleep.
 */
void kdapl_evd_drop_events(struct kdapl_evd *evd)
{
	struct kdapl_event_slot *slot;
	struct kdapl_node *node;

	do {
		slot = NULL;
		fifo_settle_bind(evd);
		spin_lock_irq(&evd->lock);
		node = fifo_take(evd);
		if (node && !node->is_cookie)
			slot = pool_slot_back(evd, kdapl_slot_of(node));
		spin_unlock_irq(&evd->lock);
		if (slot)
			slot->done(slot, true);
		else if (node && node->is_cookie)
			cookie_done(kdapl_cookie_of(node));
		/* There may be as many as its endpoints had room for. */
		cond_resched();
	} while (node);
}
