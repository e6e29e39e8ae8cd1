// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events and completions of an EVD: its FIFO, and the completion queue (CQ)
 * behind it.
 *
 * An event gets into the FIFO when a source raises it (kdapl_evd_post() and its
 * kin), or when the completions of the CQ are brought there (a pull).  While the
 * FIFO is empty kdapl_evd_take() hands a completion from the CQ straight to its
 * caller.  Either way what the completion says about its connection is told to
 * the endpoint before anybody can see the completion.
 *
 * Callers: evd_run.c and dat_evd_dequeue take events; the other files of the core
 * raise them; drain.c pulls.
 */
#include "evd_fifo.h"
#include "ep.h"
#include "ia.h"
#include "rmr.h"
#include "../trace.h"

/* ---- telling the runner --------------------------------------------- */

/*
 * The work has a reference of its own: nobody waits for its end, which an upcall
 * of another EVD that frees this one could not do (E100).
 */
void kdapl_evd_schedule(struct kdapl_evd *evd)
{
	if (!evd->sleeps) {
		irq_poll_sched(&evd->iop);
		return;
	}
	kdapl_object_get(&evd->obj);
	if (!queue_work(kdapl_upcall_wq, &evd->work))
		kdapl_object_put(&evd->obj);
}

/**
 * kdapl_evd_kick - run the sink if there is anything to deliver
 * @evd: any EVD
 *
 * Any context.
 */
void kdapl_evd_kick(struct kdapl_evd *evd)
{
	/* Pairs with the runner: a kick during its last look is not lost. */
	atomic_set_release(&evd->pending, 1);
	kdapl_evd_schedule(evd);
}

/* ---- the FIFO ------------------------------------------------------- */

static void fifo_add(struct kdapl_evd *evd, struct kdapl_node *node)
{
	lockdep_assert_held(&evd->lock);
	list_add_tail(&node->link, &evd->fifo);
	evd->nr_fifo++;
	evd->nr_slots += !node->is_cookie;
	evd->nr_notify += node->notify;
}

static struct kdapl_node *fifo_take(struct kdapl_evd *evd)
{
	struct kdapl_node *node;

	lockdep_assert_held(&evd->lock);
	node = list_first_entry_or_null(&evd->fifo, struct kdapl_node, link);
	if (!node)
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

static void fill_dto(struct kdapl_evd *evd, struct kdapl_cookie *cookie,
		     DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	if (unlikely(cookie->rmr)) {
		fill_bind(evd, cookie, event);
		return;
	}
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = kdapl_handle(&evd->obj);
	dto->ep_handle = kdapl_handle(&cookie->dir->ep->obj);
	dto->user_cookie.as_64 = cookie->user;
	dto->status = cookie->status;
	dto->transfered_length = cookie->length;
}

/* The slot is free for the next post (mt:T13). */
static void cookie_release(struct kdapl_cookie *cookie)
{
	struct kdapl_rmr *rmr = cookie->rmr;

	/* Pairs with cookie_get(): the event was read before the slot is free. */
	smp_store_release(&cookie->busy, false);
	if (unlikely(rmr))
		kdapl_object_put(&rmr->obj);
}

/*
 * The consumer has the event of @node now; no lock held.  Not for slots of the
 * EVD's own pool, see kdapl_evd_take().
 */
static void node_done(struct kdapl_node *node, bool lost)
{
	if (node->is_cookie) {
		struct kdapl_cookie *cookie = kdapl_cookie_of(node);
		struct kdapl_ep *ep = cookie->dir->ep;

		cookie_release(cookie);
		kdapl_object_put(&ep->obj);
	} else {
		kdapl_slot_of(node)->done(kdapl_slot_of(node), lost);
	}
}

/* E35 */
static bool cookie_notifies(struct kdapl_evd *evd, struct kdapl_cookie *cookie,
			    bool solicited)
{
	if (cookie->status != DAT_DTO_SUCCESS)
		return true;
	if (cookie->flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		return false;
	return evd->config != KDAPL_EVD_CONFIG_SOLICITED ||
	       !cookie->dir->is_recv || solicited;
}

/* ---- completions ---------------------------------------------------- */

/* The next completion not looked at yet; it stays the next until take_wc(). */
static struct ib_wc *next_wc(struct kdapl_evd *evd)
{
	int n;

	lockdep_assert_held(&evd->lock);
	if (evd->wc_next == evd->wc_end) {
		if (!evd->cq.ib)
			return NULL;
		n = evd->cq.dev->qp->cq_poll(&evd->cq, KDAPL_WC_BATCH, evd->wc);
		if (n <= 0)
			return NULL;
		evd->wc_next = 0;
		evd->wc_end = n;
	}
	return &evd->wc[evd->wc_next];
}

static struct kdapl_cookie *wc_cookie(const struct ib_wc *wc)
{
	return (struct kdapl_cookie *)(uintptr_t)(wc->wr_id &
						  ~(u64)KDAPL_WR_INVALIDATE);
}

/*
 * The first of two work requests of a bind: the second one speaks for both, but
 * that the first one failed.
 */
static bool is_invalidate(const struct ib_wc *wc)
{
	return wc->wr_id & KDAPL_WR_INVALIDATE;
}

enum gate { GATE_PASS, GATE_INPUT, GATE_WAIT, GATE_STALE };

/*
 * The RMR knows what became of a bind before its completion can be seen
 * (mt:M40).
 */
static enum gate bind_gate(struct kdapl_cookie *cookie, const struct ib_wc *wc)
{
	bool success = wc->status == IB_WC_SUCCESS;

	/* First: of a bind that was not posted whole the slot may be another's. */
	if (unlikely(is_invalidate(wc))) {
		cookie->failed |= !success && wc->status != IB_WC_WR_FLUSH_ERR;
		return GATE_STALE;
	}
	if (likely(!cookie->rmr))
		return GATE_PASS;
	return kdapl_rmr_complete(cookie->rmr, cookie, success) ? GATE_PASS :
								  GATE_WAIT;
}

/*
 * What @wc says about its connection must be told to the endpoint before @wc
 * can be seen: A7 (first data confirms), D52 (the first error is all there is
 * to notice a broken connection by).
 */
static enum gate gate(const struct ib_wc *wc, struct kdapl_conn **conn,
		      enum kdapl_ep_input *input)
{
	struct kdapl_cookie *cookie = wc_cookie(wc);
	struct kdapl_dir *dir = cookie->dir;
	struct kdapl_conn *c;

	/* Its queue failed to flush, and the core completed it (kdapl_flush_step). */
	if (unlikely(!READ_ONCE(cookie->on_queue)))
		return GATE_STALE;
	c = dir->ep->conn;
	if (wc->status != IB_WC_SUCCESS) {
		if (READ_ONCE(c->told))
			return bind_gate(cookie, wc);
		*input = KDAPL_EP_IN_BROKEN;
	} else {
		if (likely(!READ_ONCE(dir->await)))
			return bind_gate(cookie, wc);
		/* Too late to confirm anything; see status_of(). */
		if (READ_ONCE(c->told))
			return GATE_PASS;
		/* Answered, but our queue cannot send yet: a moment more. */
		if (!smp_load_acquire(&c->rts))
			return GATE_WAIT;
		*input = KDAPL_EP_IN_ESTABLISHED;
	}
	*conn = c;
	return GATE_INPUT;
}

/*
 * A bind that fails has one status, whatever failed; a flush is no failure
 * (mt:M39).  A message for an attempt that has been given up is none: the
 * receive is flushed like the others, for nothing is received before
 * ESTABLISHED (D31, RULING 46).
 */
static u32 status_of(const struct kdapl_cookie *cookie, const struct ib_wc *wc)
{
	if (unlikely(READ_ONCE(cookie->dir->await)))
		return wc->status == IB_WC_SUCCESS ? DAT_DTO_ERR_FLUSHED :
						     kdapl_wc_status(wc->status);
	if (unlikely(cookie->rmr) && wc->status != IB_WC_SUCCESS &&
	    (cookie->failed || wc->status != IB_WC_WR_FLUSH_ERR))
		return DAT_RMR_OPERATION_FAILED;
	return kdapl_wc_status(wc->status);
}

/*
 * Accounts for the next completion.  With @event the completion goes there if
 * it is an event at all, else to the FIFO.  True: @event was filled.
 */
static bool take_wc(struct kdapl_evd *evd, DAT_EVENT *event, bool *notify)
{
	struct ib_wc *wc = &evd->wc[evd->wc_next++];
	struct kdapl_cookie *cookie = wc_cookie(wc);
	struct kdapl_dir *dir = cookie->dir;
	struct kdapl_conn *conn = dir->ep->conn;
	/* A CQ armed for solicited completions wakes by itself only for those. */
	bool solicited = true;
	bool filled = false;

	cookie->on_queue = false;
	cookie->status = status_of(cookie, wc);
	if (cookie->status != DAT_DTO_SUCCESS)
		cookie->length = 0;
	else if (dir->is_recv)
		cookie->length = wc->byte_len;

	if (cookie->status == DAT_DTO_SUCCESS &&
	    (cookie->flags & DAT_COMPLETION_SUPPRESS_FLAG)) {
		cookie_release(cookie);
	} else if (event) {
		fill_dto(evd, cookie, event);
		*notify = cookie_notifies(evd, cookie, solicited);
		cookie_release(cookie);
		filled = true;
	} else {
		cookie->node.notify = cookie_notifies(evd, cookie, solicited);
		kdapl_object_get(&dir->ep->obj);
		fifo_add(evd, &cookie->node);
	}

	WRITE_ONCE(dir->completed, dir->completed + 1);
	if (unlikely(READ_ONCE(conn->watching)))
		kdapl_conn_run(conn);
	return filled;
}

/* The lock is dropped for an input; then the caller looks again. */
static enum gate pass_gate(struct kdapl_evd *evd, const struct ib_wc *wc,
			   unsigned long *flags)
{
	enum kdapl_ep_input input;
	struct kdapl_conn *conn;
	enum gate g = gate(wc, &conn, &input);

	WRITE_ONCE(evd->waiting, g == GATE_WAIT);
	if (g == GATE_STALE)
		evd->wc_next++;
	if (g != GATE_INPUT)
		return g;
	/*
	 * The connection stays: this completion is not accounted for, so its
	 * queue has not drained.  Somebody else may take the completion while
	 * the lock is dropped, after the same input.
	 */
	kdapl_conn_get(conn);
	spin_unlock_irqrestore(&evd->lock, *flags);
	kdapl_conn_input(conn, input);
	kdapl_conn_put(conn);
	spin_lock_irqsave(&evd->lock, *flags);
	return GATE_INPUT;
}

/*
 * All that can be in the CQ now.  What comes meanwhile is for the next look: posts
 * whose success is suppressed may follow each other as fast as they are taken.
 */
static u32 all_wcs(const struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return evd->cq.size + KDAPL_WC_BATCH;
}

/* One less; after a batch interrupts and others who want the lock have a turn. */
static u32 one_less(struct kdapl_evd *evd, u32 left, unsigned long *flags)
{
	if (!(--left % KDAPL_WC_BATCH)) {
		spin_unlock_irqrestore(&evd->lock, *flags);
		spin_lock_irqsave(&evd->lock, *flags);
	}
	return left;
}

/* All completions of the CQ go into the FIFO; true if there were any. */
bool kdapl_evd_fetch(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool any = false;
	struct ib_wc *wc;
	u32 left;

	spin_lock_irqsave(&evd->lock, flags);
	left = all_wcs(evd);
	while (left && (wc = next_wc(evd)) != NULL) {
		enum gate g = pass_gate(evd, wc, &flags);

		if (g == GATE_WAIT)
			break;
		if (g == GATE_INPUT)
			continue;
		if (g == GATE_PASS) {
			take_wc(evd, NULL, NULL);
			any = true;
		}
		left = one_less(evd, left, &flags);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return any;
}

/**
 * kdapl_evd_pull - bring all completions of the CQ into the FIFO
 * @evd: any EVD
 *
 * Any context, no lock of an EP or EVD held.  The runner is told: it may be
 * about to arm the CQ, which does not see the FIFO.
 */
void kdapl_evd_pull(struct kdapl_evd *evd)
{
	if (kdapl_evd_fetch(evd) && READ_ONCE(evd->sink))
		kdapl_evd_kick(evd);
}

/*
 * A slot of the pool is free at once; NULL then, nothing is left to be done.  Before
 * the lock is dropped: a resize replaces the pool.
 */
static struct kdapl_node *pool_slot_back(struct kdapl_evd *evd,
					 struct kdapl_node *node)
{
	if (kdapl_slot_of(node)->done)
		return node;
	list_add(&node->link, &evd->free_slots);
	return NULL;
}

/* The first event, if there is one. */
bool kdapl_evd_take(struct kdapl_evd *evd, DAT_EVENT *event, bool *notify)
{
	struct kdapl_node *node = NULL;
	unsigned long flags;
	bool found = false;
	struct ib_wc *wc;
	u32 left;

	spin_lock_irqsave(&evd->lock, flags);
	left = all_wcs(evd);
	for (;;) {
		node = fifo_take(evd);
		if (node) {
			*notify = node->notify;
			if (node->is_cookie) {
				fill_dto(evd, kdapl_cookie_of(node), event);
			} else {
				*event = kdapl_slot_of(node)->event;
				event->evd_handle = kdapl_handle(&evd->obj);
				node = pool_slot_back(evd, node);
			}
			found = true;
			break;
		}
		wc = left ? next_wc(evd) : NULL;
		if (!wc)
			break;
		switch (pass_gate(evd, wc, &flags)) {
		case GATE_WAIT:
			goto out;
		case GATE_INPUT:
			continue;
		case GATE_STALE:
			break;
		case GATE_PASS:
			found = take_wc(evd, event, notify);
			break;
		}
		if (found)
			break;
		left = one_less(evd, left, &flags);
	}
out:
	spin_unlock_irqrestore(&evd->lock, flags);
	if (node)
		node_done(node, false);
	return found;
}

/* ---- raising events ------------------------------------------------- */

/* Events that count against the length: in the FIFO, and those that the sink
 * delivered but its consumer has not taken (E51).
 */
u32 kdapl_evd_queued(struct kdapl_evd *evd)
{
	const struct kdapl_sink *sink = evd->sink;

	lockdep_assert_held(&evd->lock);
	return evd->nr_slots +
	       (sink && sink->held ? sink->held(evd, evd->sink_arg) : 0);
}

/**
 * kdapl_evd_post - raise an event
 * @evd: where
 * @slot: filled but for evd_handle; belongs to @evd until ->done
 *
 * Any context; kdapl_ep.lock may be held, which makes the order of an endpoint's
 * events the order of its states (A2).
 *
 * Return: false if there is no room, or @evd is dead; @slot is the caller's.
 */
bool kdapl_evd_post(struct kdapl_evd *evd, struct kdapl_event_slot *slot)
{
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&evd->lock, flags);
	if (slot->reserved)
		evd->nr_slots--;
	room = (slot->reserved || kdapl_evd_queued(evd) < evd->qlen) && !evd->dead;
	if (room) {
		slot->node.is_cookie = false;
		slot->node.notify = true;
		fifo_add(evd, &slot->node);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	if (room)
		kdapl_evd_kick(evd);
	return room;
}

/**
 * kdapl_evd_reserve - keep room for one event
 * @evd: the EVD
 *
 * So that a connection request is refused before anything was made for it (P7).
 * Any context.  Return: false when there is none.
 */
bool kdapl_evd_reserve(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&evd->lock, flags);
	room = kdapl_evd_queued(evd) < evd->qlen && !evd->dead;
	evd->nr_slots += room;
	spin_unlock_irqrestore(&evd->lock, flags);
	return room;
}

/**
 * kdapl_evd_unreserve - give back the room of kdapl_evd_reserve()
 * @evd: the EVD
 */
void kdapl_evd_unreserve(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->nr_slots--;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_post_flushed - complete a DTO that was never on a queue as flushed
 * @evd: of its direction
 * @cookie: busy; the direction's lock is held
 */
void kdapl_evd_post_flushed(struct kdapl_evd *evd, struct kdapl_cookie *cookie)
{
	unsigned long flags;

	lockdep_assert_held(&cookie->dir->lock);
	cookie->status = DAT_DTO_ERR_FLUSHED;
	cookie->length = 0;
	cookie->node.notify = true;
	kdapl_object_get(&cookie->dir->ep->obj);

	spin_lock_irqsave(&evd->lock, flags);
	fifo_add(evd, &cookie->node);
	spin_unlock_irqrestore(&evd->lock, flags);
	kdapl_evd_kick(evd);
}

/* An event of the EVD's own pool; a slot without ->done goes back there. */
bool kdapl_evd_post_pooled(struct kdapl_evd *evd, const DAT_EVENT *event)
{
	struct kdapl_event_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	slot = list_first_entry_or_null(&evd->free_slots,
					struct kdapl_event_slot, node.link);
	if (kdapl_evd_queued(evd) >= evd->qlen || evd->dead)
		slot = NULL;
	if (slot) {
		list_del(&slot->node.link);
		slot->event = *event;
		slot->node.is_cookie = false;
		slot->node.notify = true;
		fifo_add(evd, &slot->node);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	if (slot)
		kdapl_evd_kick(evd);
	return slot;
}

/**
 * kdapl_evd_post_async - raise an asynchronous event
 * @evd: has DAT_EVD_ASYNC_FLAG
 * @number: DAT_ASYNC_ERROR_*
 * @handle: what it is about
 * @reason: of that kind of object
 *
 * Dropped and counted when there is no room (E66).  Any context.
 */
void kdapl_evd_post_async(struct kdapl_evd *evd, u32 number, DAT_HANDLE handle,
			  DAT_COUNT reason)
{
	DAT_EVENT event = { .event_number = number };
	unsigned long flags;

	event.event_data.asynch_error_event_data.dat_handle = handle;
	event.event_data.asynch_error_event_data.reason = reason;
	if (kdapl_evd_post_pooled(evd, &event))
		return;
	spin_lock_irqsave(&evd->lock, flags);
	evd->dropped++;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_overflow - an event that was owed found no room
 * @evd: the full EVD
 *
 * Tells the async EVDs once an episode (E65).  Any context.
 */
void kdapl_evd_overflow(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&evd->lock, flags);
	first = !evd->overflowed && !evd->dead;
	evd->overflowed = true;
	spin_unlock_irqrestore(&evd->lock, flags);
	if (first)
		kdapl_ia_async_event(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW,
				     kdapl_handle(&evd->obj),
				     DAT_EVD_OVERFLOW_ERROR);
}

/**
 * kdapl_evd_drop_events - throw away what is in the FIFO
 * @evd: nothing adds an event to it any more
 *
 * The sources of the events are told that they were lost (E60).  May sleep.
 */
void kdapl_evd_drop_events(struct kdapl_evd *evd)
{
	struct kdapl_node *node;
	bool more;

	do {
		spin_lock_irq(&evd->lock);
		node = fifo_take(evd);
		more = node;
		if (node && !node->is_cookie)
			node = pool_slot_back(evd, node);
		spin_unlock_irq(&evd->lock);
		if (node)
			node_done(node, true);
	} while (more);
}
