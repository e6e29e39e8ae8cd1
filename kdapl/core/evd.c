// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event Dispatchers: the FIFO, the completion queue behind it, the runner that
 * feeds a sink, and dat_evd_*.
 *
 * The walk of a completion: device -> kdapl_cq.handler (schedules the runner)
 * -> evd_deliver() -> take() or pull() -> next_wc() -> gate() -> take_wc().  A
 * consumer that polls enters at take().
 *
 * Who calls: the faces (dat_evd_*, sinks), ep.c and conn.c (events, drains),
 * post.c (posts that never reach a queue), ia.c (asynchronous events).
 */
#include <linux/slab.h>
#include "evd.h"
#include "ep.h"
#include "ia.h"
#include "rmr.h"
#include "../trace.h"

/* How often the CQ of an EVD that nobody is woken by is looked at (D52). */
#define WATCH_INTERVAL	msecs_to_jiffies(100)

#define EVD_FLAGS_ALL	(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)
#define EVD_FLAGS_DTO	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define EVD_FLAGS_SLEEP	(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | \
			 DAT_EVD_ASYNC_FLAG)
#define EVD_FLAGS_POOL	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_ASYNC_FLAG)

static inline struct kdapl_cookie *cookie_of(struct kdapl_node *node)
{
	return container_of(node, struct kdapl_cookie, node);
}

static inline struct kdapl_event_slot *slot_of(struct kdapl_node *node)
{
	return container_of(node, struct kdapl_event_slot, node);
}

/* ---- scheduling the runner ------------------------------------------------ */

/*
 * The work has a reference of its own: nobody waits for its end, which an upcall
 * of another EVD that frees this one could not do (E100).
 */
static void evd_schedule(struct kdapl_evd *evd)
{
	if (!evd->sleeps) {
		irq_poll_sched(&evd->iop);
		return;
	}
	kdapl_object_get(&evd->obj);
	if (!queue_work(kdapl_upcall_wq, &evd->work))
		kdapl_object_put(&evd->obj);
}

static void evd_cq_handler(struct kdapl_cq *cq)
{
	evd_schedule(container_of(cq, struct kdapl_evd, cq));
}

/* The CQ lost completions, nobody can tell whose (E68). */
static void evd_cq_error(struct kdapl_cq *cq)
{
	struct kdapl_evd *evd = container_of(cq, struct kdapl_evd, cq);

	WRITE_ONCE(evd->cq_failed, true);
	mod_delayed_work(kdapl_wq, &evd->watch, 0);
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
	evd_schedule(evd);
}

/* Is run @run over, with nothing left by its budget, or @more runs after it? */
static bool settled(const struct kdapl_evd *evd, u32 run, u32 more)
{
	/* Pairs with evd_deliver(). */
	s32 later = smp_load_acquire(&evd->runs_ended) - run;

	return later >= 0 && (!READ_ONCE(evd->unfinished) || later >= more);
}

/**
 * kdapl_evd_settle - let the sink take what is queued now
 * @evd: any EVD; not from one of its own deliveries
 *
 * Returns when the sink has it or has no room.  May sleep.
 */
void kdapl_evd_settle(struct kdapl_evd *evd)
{
	/* A run that starts from here on finds everything, a budget of it at a time. */
	/* Pairs with evd_deliver(): our kick is not cleared by an older run. */
	u32 run = smp_load_acquire(&evd->runs_started) + 1;
	u32 more = READ_ONCE(evd->nr_fifo) / KDAPL_EVD_BUDGET;

	kdapl_evd_kick(evd);
	/* Of a dead EVD no run need come any more. */
	wait_event(evd->idle, READ_ONCE(evd->dead) || settled(evd, run, more));
}

/* ---- the FIFO --------------------------------------------------------------- */

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

/* The slot is free for the next post (T13). */
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
 * EVD's own pool, see take().
 */
static void node_done(struct kdapl_node *node, bool lost)
{
	if (node->is_cookie) {
		struct kdapl_cookie *cookie = cookie_of(node);
		struct kdapl_ep *ep = cookie->dir->ep;

		cookie_release(cookie);
		kdapl_object_put(&ep->obj);
	} else {
		slot_of(node)->done(slot_of(node), lost);
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

/* ---- completions -------------------------------------------------------------- */

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

/* The RMR knows what became of a bind before its completion can be seen (M40). */
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

	/* Its queue failed to flush, and the core completed it (flush_step). */
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
 * A bind that fails has one status, whatever failed; a flush is no failure (M39).
 * A message for an attempt that has been given up is none: the receive is flushed
 * like the others, for nothing is received before ESTABLISHED (D31, RULING 46).
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
		kdapl_conn_progress(conn);
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
static bool pull(struct kdapl_evd *evd)
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
	if (pull(evd) && READ_ONCE(evd->sink))
		kdapl_evd_kick(evd);
}

/*
 * A slot of the pool is free at once; NULL then, nothing is left to be done.  Before
 * the lock is dropped: a resize replaces the pool.
 */
static struct kdapl_node *pool_slot_back(struct kdapl_evd *evd,
					 struct kdapl_node *node)
{
	if (slot_of(node)->done)
		return node;
	list_add(&node->link, &evd->free_slots);
	return NULL;
}

/* The first event, if there is one. */
static bool take(struct kdapl_evd *evd, DAT_EVENT *event, bool *notify)
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
				fill_dto(evd, cookie_of(node), event);
			} else {
				*event = slot_of(node)->event;
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

static bool evd_has_more(struct kdapl_evd *evd)
{
	return !list_empty(&evd->fifo) || READ_ONCE(evd->wc_next) != READ_ONCE(evd->wc_end);
}

/* ---- the runner ------------------------------------------------------------------ */

/*
 * On an EVD where not every event notifies, a run starts only for one that
 * does, but then it takes everything (E106).  A ring of a process takes all as
 * they come; it is its waiter that is not woken.
 */
static bool run_is_due(struct kdapl_evd *evd)
{
	if (evd->config == KDAPL_EVD_CONFIG_THRESHOLD ||
	    evd->obj.space->user || evd->unfinished)
		return true;
	pull(evd);
	return READ_ONCE(evd->nr_notify);
}

/* Delivers at most @budget events; returns how many. */
static int evd_deliver(struct kdapl_evd *evd, int budget)
{
	const struct kdapl_sink *sink;
	bool notify = false, room = false, due, one;
	DAT_EVENT event;
	void *arg;
	int n = 0;

	spin_lock_irq(&evd->lock);
	sink = evd->sink;
	arg = evd->sink_arg;
	evd->running = true;
	evd->runner = current;
	atomic_set(&evd->pending, 0);
	/* Pairs with settle: a kick for the run after this one is not cleared. */
	smp_store_release(&evd->runs_started, evd->runs_started + 1);
	spin_unlock_irq(&evd->lock);

	due = sink && run_is_due(evd);
	if (due) {
		while (n < budget && (room = sink->room(evd, arg)) &&
		       READ_ONCE(evd->sink) == sink &&
		       take(evd, &event, &one)) {
			sink->deliver(evd, arg, &event, evd_has_more(evd));
			notify |= one;
			n++;
		}
	}
	/*
	 * Nobody takes them now: drains and errors must be seen all the same.
	 * Not otherwise: what arrives after the last take() must stay in the
	 * CQ, where arming finds it.
	 */
	if (!sink || (due && !room))
		pull(evd);
	/* What finds no room wakes all the same, behind others that did not (E35). */
	if (due && !room)
		notify |= READ_ONCE(evd->nr_notify);
	if (n || notify)
		sink->done(evd, arg, notify);
	WRITE_ONCE(evd->unfinished, n == budget);

	spin_lock_irq(&evd->lock);
	evd->running = false;
	/* Pairs with settled(): @unfinished is that of this run. */
	smp_store_release(&evd->runs_ended, evd->runs_started);
	spin_unlock_irq(&evd->lock);
	wake_up_all(&evd->idle);
	return n;
}

/*
 * Arms the CQ if somebody wants to know; true: look again at once.  Not for what
 * is behind a completion that waits: who lets that one pass kicks.
 */
static bool evd_arm(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool again = false;

	spin_lock_irqsave(&evd->lock, flags);
	if (evd->cq.ib && (evd->sink || evd->drainers))
		again = evd->cq.dev->qp->cq_arm(&evd->cq, !evd->drainers &&
				evd->config == KDAPL_EVD_CONFIG_SOLICITED) > 0 ||
			/* what a look that was long enough has left */
			evd->wc_next != evd->wc_end;
	spin_unlock_irqrestore(&evd->lock, flags);
	return again && !READ_ONCE(evd->waiting);
}

/* Events that a sink with room would get now. */
static bool evd_unfinished(struct kdapl_evd *evd)
{
	return atomic_read_acquire(&evd->pending);
}

static int evd_poll_softirq(struct irq_poll *iop, int budget)
{
	struct kdapl_evd *evd = container_of(iop, struct kdapl_evd, iop);
	int n;

	n = evd_deliver(evd, budget);
	if (n < budget) {
		irq_poll_complete(iop);
		/* Whoever kicks saw it complete, or we see the kick. */
		smp_mb();
		if (evd_arm(evd) || evd_unfinished(evd))
			irq_poll_sched(iop);
	}
	return n;
}

static void evd_poll_work(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(work, struct kdapl_evd, work);

	if (evd_deliver(evd, KDAPL_EVD_BUDGET) == KDAPL_EVD_BUDGET ||
	    evd_arm(evd) || evd_unfinished(evd))
		evd_schedule(evd);
	kdapl_object_put(&evd->obj);
}

/**
 * kdapl_evd_set_sink - set, replace or remove who takes the events
 * @evd: any EVD
 * @sink: NULL to remove
 * @arg: for the sink's functions
 * @sync: wait until the former sink is not running any more; may sleep then
 *
 * Return: 0; -EDEADLK for @sync from a delivery of this EVD itself (E108);
 * -ESTALE for a @sink on a dead EVD, which will never know of it.
 */
int kdapl_evd_set_sink(struct kdapl_evd *evd, const struct kdapl_sink *sink,
		       void *arg, bool sync)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&evd->lock, flags);
	if (sync && evd->running && evd->runner == current)
		ret = -EDEADLK;
	else if (sink && evd->dead)
		ret = -ESTALE;
	if (ret) {
		spin_unlock_irqrestore(&evd->lock, flags);
		return ret;
	}
	WARN_ON_ONCE(sink && sink->sleeps != evd->sleeps);
	evd->sink = sink;
	evd->sink_arg = arg;
	spin_unlock_irqrestore(&evd->lock, flags);

	if (sync)
		wait_event(evd->idle, !READ_ONCE(evd->running));
	/* What is queued starts the new sink (E105); arms the CQ (E111). */
	if (sink)
		kdapl_evd_kick(evd);
	return 0;
}

/**
 * kdapl_evd_drain - somebody waits for completions to come in
 * @evd: EVD of a direction
 * @on: begin or end
 *
 * While one does, the CQ is kept armed though no consumer asks (D19).
 * Any context.
 */
void kdapl_evd_drain(struct kdapl_evd *evd, bool on)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->drainers += on ? 1 : -1;
	spin_unlock_irqrestore(&evd->lock, flags);
	if (on)
		kdapl_evd_kick(evd);
}

/* Events that count against the length: in the FIFO, and those that the sink
 * delivered but its consumer has not taken (E51).
 */
static u32 evd_queued(struct kdapl_evd *evd)
{
	const struct kdapl_sink *sink = evd->sink;

	lockdep_assert_held(&evd->lock);
	return evd->nr_slots +
	       (sink && sink->held ? sink->held(evd, evd->sink_arg) : 0);
}

/* ---- raising events ------------------------------------------------------------- */

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
	room = (slot->reserved || evd_queued(evd) < evd->qlen) && !evd->dead;
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
	room = evd_queued(evd) < evd->qlen && !evd->dead;
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
 * kdapl_evd_disown - the device will not complete a DTO any more
 * @evd: of its direction; its queue is destroyed and the CQ was pulled
 * @cookie: a slot in use
 *
 * A completion that shows up all the same is dropped (GATE_STALE).
 *
 * Return: true if the device owed the completion; the caller makes it.
 */
bool kdapl_evd_disown(struct kdapl_evd *evd, struct kdapl_cookie *cookie)
{
	struct kdapl_dir *dir = cookie->dir;
	unsigned long flags;
	bool owed;

	spin_lock_irqsave(&evd->lock, flags);
	owed = cookie->on_queue;
	cookie->on_queue = false;
	dir->completed += owed;
	spin_unlock_irqrestore(&evd->lock, flags);
	return owed;
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
static bool pool_post(struct kdapl_evd *evd, const DAT_EVENT *event)
{
	struct kdapl_event_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	slot = list_first_entry_or_null(&evd->free_slots,
					struct kdapl_event_slot, node.link);
	if (evd_queued(evd) >= evd->qlen || evd->dead)
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
	if (pool_post(evd, &event))
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

/* ---- streams and the size of the CQ ---------------------------------------------- */

static enum kdapl_stream_flags stream_flags(DAT_COMPLETION_FLAGS flags)
{
	switch (flags) {
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
		return KDAPL_STREAM_UNSIGNALLED;
	case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
		return KDAPL_STREAM_SOLICITED;
	default:
		return KDAPL_STREAM_THRESHOLD;
	}
}

static u32 count(const u32 *by_flags)
{
	u32 i, n = 0;

	for (i = 0; i < KDAPL_STREAM_NR_FLAGS; i++)
		n += by_flags[i];
	return n;
}

/* E21: may a stream with @flags be added to @s?  OTHER is always THRESHOLD. */
static bool streams_agree(const struct kdapl_streams *s,
			  enum kdapl_stream_flags flags)
{
	if (count(s->recv) != s->recv[flags] ||
	    count(s->request) != s->request[flags])
		return false;
	return flags == KDAPL_STREAM_THRESHOLD || !s->other;
}

/*
 * E22.  While an endpoint replaces its streams they need not agree; then what
 * starts most runs prevails, so that the CQ is armed for all that is awaited.
 */
static u32 streams_config(const struct kdapl_streams *s)
{
	if (s->recv[KDAPL_STREAM_THRESHOLD] || s->request[KDAPL_STREAM_THRESHOLD])
		return KDAPL_EVD_CONFIG_THRESHOLD;
	if (s->recv[KDAPL_STREAM_UNSIGNALLED] ||
	    s->request[KDAPL_STREAM_UNSIGNALLED])
		return KDAPL_EVD_CONFIG_NOTIFY;
	if (s->recv[KDAPL_STREAM_SOLICITED])
		return KDAPL_EVD_CONFIG_SOLICITED;
	return KDAPL_EVD_CONFIG_THRESHOLD;
}

static void streams_count(struct kdapl_streams *s, enum kdapl_stream stream,
			  enum kdapl_stream_flags flags, u32 entries, int by)
{
	switch (stream) {
	case KDAPL_STREAM_RECV:
		s->recv[flags] += by;
		break;
	case KDAPL_STREAM_REQUEST:
		s->request[flags] += by;
		break;
	case KDAPL_STREAM_OTHER:
		s->other += by;
		break;
	}
	s->entries += by * entries;
}

/* @s without @part, which is in it. */
static struct kdapl_streams streams_without(const struct kdapl_streams *s,
					    const struct kdapl_streams *part)
{
	struct kdapl_streams rest = *s;
	u32 i;

	for (i = 0; part && i < KDAPL_STREAM_NR_FLAGS; i++) {
		rest.recv[i] -= part->recv[i];
		rest.request[i] -= part->request[i];
	}
	if (part) {
		rest.other -= part->other;
		rest.entries -= part->entries;
	}
	return rest;
}

/**
 * kdapl_streams_add - count a stream
 * @streams: one more in there
 * @stream: what kind of source
 * @flags: completion flags of the direction, for RECV and REQUEST
 * @entries: CQ entries that it may need at once
 */
void kdapl_streams_add(struct kdapl_streams *streams, enum kdapl_stream stream,
		       DAT_COMPLETION_FLAGS flags, u32 entries)
{
	streams_count(streams, stream, stream_flags(flags), entries, 1);
}

/* Takes the CQ away from pollers first, so that none of them meets a freed one. */
static void cq_destroy(struct kdapl_evd *evd)
{
	struct kdapl_cq cq;

	spin_lock_irq(&evd->lock);
	cq = evd->cq;
	evd->cq.ib = NULL;
	spin_unlock_irq(&evd->lock);
	if (!cq.ib)
		return;
	cq.dev->qp->cq_destroy(&cq);
}

static int cq_create(struct kdapl_evd *evd, u32 entries)
{
	evd->cq.dev = evd->obj.ia->dev;
	evd->cq.handler = evd_cq_handler;
	evd->cq.error = evd_cq_error;
	return evd->cq.dev->qp->cq_create(&evd->cq, entries);
}

/* A larger CQ where no queue pair uses the old one, which stays on failure. */
static int cq_replace(struct kdapl_evd *evd, u32 entries)
{
	struct kdapl_cq old;
	int ret;

	spin_lock_irq(&evd->lock);
	old = evd->cq;
	evd->cq.ib = NULL;
	spin_unlock_irq(&evd->lock);
	ret = cq_create(evd, entries);
	if (!ret) {
		old.dev->qp->cq_destroy(&old);
		return 0;
	}
	spin_lock_irq(&evd->lock);
	evd->cq = old;
	spin_unlock_irq(&evd->lock);
	return ret;
}

/* A CQ of at least @entries; the queues on it keep working (A3, E57). */
static int cq_provide(struct kdapl_evd *evd, u32 entries)
{
	struct kdapl_device *dev = evd->obj.ia->dev;
	u32 limit = dev->attrs.max_cqe;
	int ret;

	lockdep_assert_held(&evd->reserve_lock);
	if (entries > limit)
		return -ENOSPC;
	if (entries < evd->qlen)
		entries = evd->qlen;
	entries = min_t(unsigned long, roundup_pow_of_two(entries), limit);
	if (!evd->cq.ib)
		return cq_create(evd, entries);
	if (evd->cq.size >= entries)
		return 0;
	ret = dev->qp->cq_resize(&evd->cq, entries);
	if (ret != -EOPNOTSUPP)
		return ret;
	return evd->queues ? -ENOSPC : cq_replace(evd, entries);
}

/* @evd's reserve_lock is held. */
static void evd_count(struct kdapl_evd *evd, enum kdapl_stream stream,
		      DAT_COMPLETION_FLAGS flags, u32 entries, int by)
{
	streams_count(&evd->streams, stream, stream_flags(flags), entries, by);
	WRITE_ONCE(evd->config, streams_config(&evd->streams));
}

/**
 * kdapl_evd_attach - a source begins to feed an EVD
 * @evd: gets a user
 * @stream: what kind of source
 * @flags: completion flags of the direction, for RECV and REQUEST
 * @entries: CQ entries that it may need at once
 * @own: streams of the caller that the new ones replace, or NULL
 *
 * May sleep; in the IA's section.
 *
 * Return: 0; -EINVAL: the flags do not agree with the other streams (E21);
 * -ENOSPC: no CQ can be that large; -ENOMEM; -ESTALE: the EVD is being freed.
 */
int kdapl_evd_attach(struct kdapl_evd *evd, enum kdapl_stream stream,
		     DAT_COMPLETION_FLAGS flags, u32 entries,
		     const struct kdapl_streams *own)
{
	struct kdapl_streams rest;
	int ret;

	if (!kdapl_object_use(&evd->obj))
		return -ESTALE;
	mutex_lock(&evd->reserve_lock);
	rest = streams_without(&evd->streams, own);
	ret = -EINVAL;
	if (!streams_agree(&rest, stream_flags(flags)))
		goto err;
	/* A direction without DTOs needs one, too: its queue pair does. */
	ret = stream == KDAPL_STREAM_OTHER ? 0 :
	      cq_provide(evd, rest.entries + entries);
	/* What the device says is not to be taken for an answer of ours. */
	if (ret && ret != -ENOSPC)
		ret = -ENOMEM;
	if (ret)
		goto err;
	evd_count(evd, stream, flags, entries, 1);
	mutex_unlock(&evd->reserve_lock);
	/* A CQ made just now is armed if somebody waits already. */
	kdapl_evd_kick(evd);
	return 0;

err:
	mutex_unlock(&evd->reserve_lock);
	kdapl_object_unuse(&evd->obj);
	return ret;
}

/**
 * kdapl_evd_detach - undo kdapl_evd_attach()
 * @evd: loses a user
 * @stream: as attached
 * @flags: as attached
 * @entries: as attached
 *
 * Events already queued stay (E20).  May sleep.
 */
void kdapl_evd_detach(struct kdapl_evd *evd, enum kdapl_stream stream,
		      DAT_COMPLETION_FLAGS flags, u32 entries)
{
	mutex_lock(&evd->reserve_lock);
	evd_count(evd, stream, flags, entries, -1);
	mutex_unlock(&evd->reserve_lock);
	kdapl_object_unuse(&evd->obj);
}

static void evd_watch(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(to_delayed_work(work),
					     struct kdapl_evd, watch);

	if (xchg(&evd->cq_failed, false)) {
		kdapl_evd_overflow(evd);
		kdapl_ia_break_eps(evd->obj.ia, evd);
	}
	/* With a sink the CQ is armed and the runner looks. */
	if (!READ_ONCE(evd->sink))
		kdapl_evd_pull(evd);
	if (READ_ONCE(evd->queues))
		queue_delayed_work(kdapl_wq, &evd->watch, WATCH_INTERVAL);
}

/**
 * kdapl_evd_hold_cq - a queue pair is about to use the CQ
 * @evd: of one of its directions, attached
 *
 * Until kdapl_evd_release_cq() the CQ is not replaced.  May sleep.
 *
 * Return: 0; -ENODEV when the CQ is gone with the device.
 */
int kdapl_evd_hold_cq(struct kdapl_evd *evd)
{
	int ret = 0;

	mutex_lock(&evd->reserve_lock);
	if (!evd->cq.ib)
		ret = -ENODEV;
	else if (!evd->queues++)
		queue_delayed_work(kdapl_wq, &evd->watch, WATCH_INTERVAL);
	mutex_unlock(&evd->reserve_lock);
	return ret;
}

/**
 * kdapl_evd_release_cq - the queue pair is destroyed
 * @evd: as held
 */
void kdapl_evd_release_cq(struct kdapl_evd *evd)
{
	mutex_lock(&evd->reserve_lock);
	WRITE_ONCE(evd->queues, evd->queues - 1);
	mutex_unlock(&evd->reserve_lock);
}

/* ---- life -------------------------------------------------------------------------- */

static void evd_release(struct kdapl_object *obj)
{
	struct kdapl_evd *evd = kdapl_evd_of(obj);

	/* A last kick of somebody who had a reference. */
	cancel_delayed_work_sync(&evd->watch);
	kvfree(evd->pool);
	kfree(evd->face);
	kfree(evd);
}

/* @entries slots, all of them on @free; NULL: no memory. */
static struct kdapl_event_slot *pool_alloc(struct kdapl_evd *evd, u32 entries,
					   struct list_head *free)
{
	struct kdapl_event_slot *pool;
	u32 i;

	pool = kvcalloc(entries, sizeof(*pool), kdapl_gfp(evd->obj.space));
	for (i = 0; pool && i < entries; i++)
		list_add_tail(&pool[i].node.link, free);
	return pool;
}

static struct kdapl_evd *evd_alloc(struct kdapl_ia *ia, u32 qlen, u32 flags)
{
	struct kdapl_space *space = ia->obj.space;
	struct kdapl_evd *evd;
	int ret;

	evd = kzalloc(sizeof(*evd), kdapl_gfp(space));
	if (!evd)
		return ERR_PTR(-ENOMEM);
	ret = kdapl_object_init(&evd->obj, KDAPL_EVD, space, ia, evd_release);
	if (ret) {
		kfree(evd);
		return ERR_PTR(ret);
	}
	spin_lock_init(&evd->lock);
	mutex_init(&evd->reserve_lock);
	INIT_LIST_HEAD(&evd->fifo);
	INIT_LIST_HEAD(&evd->free_slots);
	INIT_LIST_HEAD(&evd->on_async);
	init_waitqueue_head(&evd->idle);
	INIT_WORK(&evd->work, evd_poll_work);
	INIT_DELAYED_WORK(&evd->watch, evd_watch);
	irq_poll_init(&evd->iop, KDAPL_EVD_BUDGET, evd_poll_softirq);
	evd->flags = flags;
	/* E98: consumers of these accept, create and free, which sleeps. */
	evd->sleeps = !space->user && flags & EVD_FLAGS_SLEEP;
	evd->qlen = qlen;
	evd->config = KDAPL_EVD_CONFIG_THRESHOLD;

	if (flags & EVD_FLAGS_POOL) {
		evd->pool = pool_alloc(evd, qlen, &evd->free_slots);
		if (!evd->pool) {
			kdapl_object_abort(&evd->obj);
			return ERR_PTR(-ENOMEM);
		}
	}
	return evd;
}

static void evd_publish(struct kdapl_evd *evd)
{
	struct kdapl_ia *ia = evd->obj.ia;

	if (evd->flags & DAT_EVD_ASYNC_FLAG) {
		spin_lock_irq(&ia->async_lock);
		list_add_tail(&evd->on_async, &ia->async_evds);
		spin_unlock_irq(&ia->async_lock);
	}
	kdapl_object_publish(&evd->obj);
}

/* No new event, no new run of the sink; what is queued is lost (E60). */
static void evd_shutdown(struct kdapl_evd *evd)
{
	struct kdapl_ia *ia = evd->obj.ia;
	const struct kdapl_sink *sink;
	struct kdapl_node *node;
	void *arg;
	bool more;

	spin_lock_irq(&ia->async_lock);
	list_del_init(&evd->on_async);
	spin_unlock_irq(&ia->async_lock);

	spin_lock_irq(&evd->lock);
	WRITE_ONCE(evd->dead, true);
	sink = evd->sink;
	arg = evd->sink_arg;
	spin_unlock_irq(&evd->lock);
	wake_up_all(&evd->idle);
	kdapl_evd_set_sink(evd, NULL, NULL, true);
	if (sink)
		sink->done(evd, arg, true);

	kdapl_evd_release_verbs(&evd->obj);
	irq_poll_disable(&evd->iop);

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

/**
 * kdapl_evd_release_verbs - give the CQ back
 * @obj: an EVD on which no queue pair is left
 *
 * Events stay (A10).  May sleep.
 */
void kdapl_evd_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_evd *evd = kdapl_evd_of(obj);

	cancel_delayed_work_sync(&evd->watch);
	kdapl_evd_pull(evd);
	mutex_lock(&evd->reserve_lock);
	cq_destroy(evd);
	mutex_unlock(&evd->reserve_lock);
	/* The device may have reported an error of the CQ until it was gone. */
	cancel_delayed_work_sync(&evd->watch);
}

/**
 * kdapl_evd_teardown - the IA of an EVD goes
 * @obj: an EVD; nothing feeds it any more
 */
void kdapl_evd_teardown(struct kdapl_object *obj)
{
	kdapl_object_get(obj);
	if (kdapl_object_retire(obj))
		evd_shutdown(kdapl_evd_of(obj));
	kdapl_object_put(obj);
}

static void hidden_deliver(struct kdapl_evd *evd, void *arg,
			   const DAT_EVENT *event, bool more)
{
}

static void hidden_done(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static bool hidden_room(struct kdapl_evd *evd, void *arg)
{
	return true;
}

static const struct kdapl_sink hidden_sink = {
	.room = hidden_room,
	.deliver = hidden_deliver,
	.done = hidden_done,
};

/**
 * kdapl_evd_create_hidden - an EVD for completions that nobody wants (mt:T11)
 * @ia: its adapter
 *
 * Has no handle; it swallows what comes, so that slots become free.  May sleep.
 *
 * Return: the EVD, or NULL.
 */
struct kdapl_evd *kdapl_evd_create_hidden(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = evd_alloc(ia, 1, EVD_FLAGS_DTO);

	if (IS_ERR(evd))
		return NULL;
	kdapl_evd_set_sink(evd, &hidden_sink, NULL, false);
	return evd;
}

/**
 * kdapl_evd_free_hidden - free what kdapl_evd_create_hidden() made
 * @evd: nothing is attached any more; NULL is fine
 */
void kdapl_evd_free_hidden(struct kdapl_evd *evd)
{
	if (!evd)
		return;
	evd_shutdown(evd);
	kdapl_object_abort(&evd->obj);
}

/**
 * kdapl_evd_create_async - the EVD that dat_ia_open makes (I4)
 * @ia: being opened, published
 * @qlen: at least 1
 * @evd: out, with the handle's reference only
 *
 * Return: DAT_SUCCESS; DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN kdapl_evd_create_async(struct kdapl_ia *ia, DAT_COUNT qlen,
				  struct kdapl_evd **evd)
{
	*evd = evd_alloc(ia, qlen, DAT_EVD_ASYNC_FLAG);
	if (IS_ERR(*evd))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	evd_publish(*evd);
	return DAT_SUCCESS;
}

/* ---- operations ------------------------------------------------------------------- */

#define IH_EVD	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)

/**
 * kdapl_evd_find - look an EVD up
 * @space: in which the handle is valid
 * @evd: any value
 *
 * Any context.  Return: with a reference, or NULL.
 */
struct kdapl_evd *kdapl_evd_find(struct kdapl_space *space, DAT_EVD_HANDLE evd)
{
	struct kdapl_object *obj = kdapl_object_find(space, evd, KDAPL_EVD);

	return obj ? kdapl_evd_of(obj) : NULL;
}

/**
 * kdapl_evd_put - drop the reference of kdapl_evd_find()
 * @evd: the EVD
 */
void kdapl_evd_put(struct kdapl_evd *evd)
{
	kdapl_object_put(&evd->obj);
}

/**
 * kdapl_evd_flags - the streams an EVD was made for
 * @evd: the EVD
 */
DAT_EVD_FLAGS kdapl_evd_flags(const struct kdapl_evd *evd)
{
	return evd->flags;
}

/**
 * kdapl_evd_qlen - the reported length
 * @evd: the EVD
 */
DAT_COUNT kdapl_evd_qlen(struct kdapl_evd *evd)
{
	return READ_ONCE(evd->qlen);
}

/**
 * kdapl_evd_can_be - may it have this length (E53)?
 * @evd: the EVD
 * @qlen: any number
 */
bool kdapl_evd_can_be(const struct kdapl_evd *evd, DAT_COUNT qlen)
{
	return qlen > 0 && qlen <= evd->obj.ia->dev->attrs.max_cqe;
}

/**
 * kdapl_evd_backlog - events that the sink has had no room for
 * @evd: any EVD; not from one of its own deliveries
 *
 * May sleep.
 */
u32 kdapl_evd_backlog(struct kdapl_evd *evd)
{
	kdapl_evd_pull(evd);
	kdapl_evd_settle(evd);
	return READ_ONCE(evd->nr_fifo);
}

/**
 * kdapl_evd_config - E22, one of enum kdapl_evd_config
 * @evd: the EVD
 */
u32 kdapl_evd_config(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->config);
}

/**
 * kdapl_evd_dead - was it freed, or its IA closed?
 * @evd: the EVD
 */
bool kdapl_evd_dead(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->dead);
}

/**
 * kdapl_evd_set_face - attach what the face keeps with an EVD
 * @evd: the EVD
 * @face: kmalloc memory, freed with the EVD's if it is the first
 *
 * Any context.  Return: what is attached from now on.
 */
void *kdapl_evd_set_face(struct kdapl_evd *evd, void *face)
{
	void *old = cmpxchg(&evd->face, NULL, face);

	return old ?: face;
}

/**
 * kdapl_evd_face - what kdapl_evd_set_face() attached
 * @evd: the EVD
 *
 * Return: it, good as long as @evd; NULL if there is nothing.
 */
void *kdapl_evd_face(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->face);
}

/**
 * kdapl_evd_create - dat_evd_create, and the common part of dat_evd_kcreate
 * @space: of the caller
 * @ia: handle of an open IA
 * @qlen: entries for events that are not completions, 1 .. max_evd_qlen
 * @flags: DAT_EVD_*_FLAG, at least one (E13); all may be merged (E15)
 * @evd: out
 *
 * May sleep.  Rules E12..E16.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for
 * @qlen, /ARG4 (kernel /ARG5) for @flags, /ARG5 (kernel /ARG6) for a null @evd;
 * DAT_INSUFFICIENT_RESOURCES/TEVD above the limit, /MEMORY; DAT_INVALID_STATE
 * when the device is gone.
 */
DAT_RETURN kdapl_evd_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			    DAT_EVD_HANDLE *evd)
{
	struct kdapl_ia *adapter = kdapl_ia_find(space, ia);
	struct kdapl_evd *new;
	DAT_RETURN ret;
	int idx;

	if (!adapter)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (qlen <= 0)
		goto out;
	ret = DAT_ERROR(DAT_INVALID_PARAMETER,
			space->user ? DAT_INVALID_ARG4 : DAT_INVALID_ARG5);
	if (!flags || flags & ~EVD_FLAGS_ALL)
		goto out;
	ret = DAT_ERROR(DAT_INVALID_PARAMETER,
			space->user ? DAT_INVALID_ARG5 : DAT_INVALID_ARG6);
	if (!evd)
		goto out;
	ret = kdapl_ia_enter(adapter, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_IA);
		goto out;
	}

	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (qlen > adapter->dev->attrs.max_cqe)
		goto leave;
	new = evd_alloc(adapter, qlen, flags);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (IS_ERR(new))
		goto leave;
	*evd = kdapl_handle(&new->obj);
	evd_publish(new);
	ret = DAT_SUCCESS;
leave:
	kdapl_ia_leave(adapter, idx);
out:
	kdapl_object_put(&adapter->obj);
	return ret;
}

/**
 * kdapl_evd_query - dat_evd_query, the fields that the core knows
 * @space: of the caller
 * @evd: handle of an EVD
 * @mask: DAT_EVD_FIELD_*
 * @param: out: ia_handle, evd_qlen, evd_flags; the face adds its own fields
 *
 * Any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST; DAT_INVALID_PARAMETER
 * /ARG2 for unknown bits of @mask, /ARG3 for a null @param.
 */
DAT_RETURN kdapl_evd_query(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			   DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct kdapl_evd *e = kdapl_evd_find(space, evd);
	DAT_RETURN ret;

	if (!e)
		return IH_EVD;
	ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (mask & ~DAT_EVD_FIELD_ALL)
		goto out;
	ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!param)
		goto out;
	param->ia_handle = kdapl_handle(&e->obj.ia->obj);
	param->evd_qlen = kdapl_evd_qlen(e);
	param->evd_flags = e->flags;
	ret = DAT_SUCCESS;
out:
	kdapl_evd_put(e);
	return ret;
}

/*
 * A pool of @qlen slots; the ones in use keep their old memory's place.  The list is
 * made before, not with interrupts off.
 */
static DAT_RETURN evd_resize_pool(struct kdapl_evd *evd, u32 qlen)
{
	struct kdapl_event_slot *old, *pool, *slot;
	struct kdapl_node *node, *next;
	LIST_HEAD(fresh);

	pool = pool_alloc(evd, qlen, &fresh);
	if (!pool)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);

	spin_lock_irq(&evd->lock);
	old = evd->pool;
	list_for_each_entry_safe(node, next, &evd->fifo, link) {
		if (node->is_cookie || slot_of(node)->done)
			continue;
		slot = slot_of(list_first_entry(&fresh, struct kdapl_node, link));
		list_del(&slot->node.link);
		*slot = *slot_of(node);
		list_replace(&node->link, &slot->node.link);
	}
	INIT_LIST_HEAD(&evd->free_slots);
	list_splice(&fresh, &evd->free_slots);
	evd->pool = pool;
	evd->qlen = qlen;
	spin_unlock_irq(&evd->lock);
	kvfree(old);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_resize(struct kdapl_evd *evd, u32 qlen)
{
	DAT_RETURN ret = DAT_SUCCESS;
	u32 queued;

	kdapl_evd_pull(evd);
	spin_lock_irq(&evd->lock);
	queued = evd->nr_fifo - evd->nr_slots + evd_queued(evd);
	if (qlen < queued)
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	else if (qlen <= evd->qlen || !(evd->flags & EVD_FLAGS_POOL))
		evd->qlen = max(qlen, evd->qlen);
	spin_unlock_irq(&evd->lock);
	if (ret || qlen <= evd->qlen)
		return ret;
	return evd_resize_pool(evd, qlen);
}

/**
 * kdapl_evd_resize - dat_evd_resize
 * @space: of the caller
 * @evd: handle of an EVD
 * @qlen: 1 .. max_evd_qlen
 *
 * A smaller length succeeds and the larger one stays in force (E56).  The CQ
 * grows with what is attached, not here (A3).  May sleep.  Rules E49, E53..E57.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2; DAT_INVALID_STATE/EVD_IN_USE with more than @qlen
 * events queued; DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN kdapl_evd_resize(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			    DAT_COUNT qlen)
{
	struct kdapl_evd *e = kdapl_evd_find(space, evd);
	DAT_RETURN ret;

	if (!e)
		return IH_EVD;
	ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (kdapl_evd_can_be(e, qlen)) {
		mutex_lock(&e->reserve_lock);
		ret = evd_resize(e, qlen);
		mutex_unlock(&e->reserve_lock);
	}
	kdapl_evd_put(e);
	return ret;
}

/**
 * kdapl_evd_free - dat_evd_free
 * @space: of the caller
 * @evd: handle of an EVD
 *
 * Queued events are thrown away; connection requests among them are rejected
 * (E60, P15).  May sleep; not from the EVD's own upcall (E108).
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_STATE/EVD_IN_USE with a stream attached (E59), for the async EVD
 * of an IA (E58), from its own upcall.
 */
DAT_RETURN kdapl_evd_free(struct kdapl_space *space, DAT_EVD_HANDLE evd)
{
	struct kdapl_evd *e = kdapl_evd_find(space, evd);
	DAT_RETURN ret;
	int idx, err;

	if (!e)
		return IH_EVD;
	ret = kdapl_ia_enter_shell(e->obj.ia, &idx);
	if (ret) {
		ret = IH_EVD;
		goto out;
	}
	ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	if (READ_ONCE(e->running) && e->runner == current)
		goto leave;
	err = kdapl_object_kill(&e->obj);
	if (err == -ESTALE)
		ret = IH_EVD;
	if (err)
		goto leave;
	/*
	 * ORDER: the removal of the device finds it until its CQ is gone, and
	 * dat_ia_close from its upcall until that has ended (E108).
	 */
	evd_shutdown(e);
	kdapl_object_retire(&e->obj);
	ret = DAT_SUCCESS;
leave:
	kdapl_ia_leave(e->obj.ia, idx);
out:
	kdapl_evd_put(e);
	return ret;
}

/**
 * kdapl_evd_post_se - dat_evd_post_se
 * @space: of the caller
 * @evd: handle of an EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: a DAT_SOFTWARE_EVENT; copied
 *
 * Any context.  Rules E17, E50..E52.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST; DAT_INVALID_PARAMETER
 * /ARG1 for an EVD without the flag, /ARG2 for @event; DAT_QUEUE_FULL.
 */
DAT_RETURN kdapl_evd_post_se(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			     const DAT_EVENT *event)
{
	struct kdapl_evd *e = kdapl_evd_find(space, evd);
	DAT_RETURN ret;

	if (!e)
		return IH_EVD;
	if (!(e->flags & DAT_EVD_SOFTWARE_FLAG))
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	else if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (!pool_post(e, event))
		ret = READ_ONCE(e->dead) ? IH_EVD :
		      DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	else
		ret = DAT_SUCCESS;
	kdapl_evd_put(e);
	return ret;
}

/**
 * kdapl_evd_dequeue - dat_evd_dequeue
 * @space: of the caller
 * @evd: handle of an EVD
 * @event: out
 *
 * Any context.  Rules E41..E48.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for a null @event; DAT_QUEUE_EMPTY.
 */
DAT_RETURN kdapl_evd_dequeue(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			     DAT_EVENT *event)
{
	struct kdapl_evd *e = kdapl_evd_find(space, evd);
	DAT_RETURN ret;
	bool notify;

	if (!e)
		return IH_EVD;
	if (!event)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (take(e, event, &notify))
		ret = DAT_SUCCESS;
	else
		ret = DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	/* It took a batch from the device; a sink gets the rest. */
	if (!ret && READ_ONCE(e->sink) && evd_has_more(e))
		kdapl_evd_kick(e);
	kdapl_evd_put(e);
	return ret;
}
