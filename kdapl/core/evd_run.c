// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The runner of an EVD: it takes the events as they arrive and gives them to the
 * EVD's sink, which is the upcall of a kernel consumer or the event ring of a
 * process (struct kdapl_sink).
 *
 * An EVD has one run at a time, in softirq, or in process context for the EVDs of
 * kernel consumers whose upcalls may sleep.  Whoever adds an event schedules one
 * (kdapl_evd_kick()), and so does the handler of a CQ that was armed.
 *
 * Callers: evd.c starts and stops it, the faces set sinks; drain.c, ep.c and the faces wait until
 * a sink has what is queued (kdapl_evd_await_run()).
 */
#include "evd_run.h"
#include "evd_cq.h"
#include "evd_fifo.h"
#include "evd_kick.h"
#include "evd_streams.h"

/* Is run @run over, and did the last run end within its budget, or have @more runs ended since? */
static bool evd_run_is_over(const struct kdapl_evd *evd, u32 run, u32 more)
{
	/* Pairs with evd_deliver(). */
	s32 later = smp_load_acquire(&evd->runs_ended) - run;

	return later >= 0 && (!READ_ONCE(evd->unfinished) || later >= more);
}

/**
 * kdapl_evd_await_run - let the sink take what is queued now
 * @evd: any EVD; not from one of its own deliveries
 *
 * Returns when the sink has it or has no room, or if there is no sink.  May sleep.
 */
void kdapl_evd_await_run(struct kdapl_evd *evd)
{
	/*
	 * A run that starts from here on finds everything that is queued now, and may need
	 * as many more runs as there are budgets in it.  Pairs with evd_deliver(): a run that
	 * started before does not clear our kick.
	 */
	u32 run = smp_load_acquire(&evd->runs_started) + 1;
	u32 more = READ_ONCE(evd->nr_fifo) / KDAPL_EVD_BUDGET;

	/* With softirqs on here, a run in softirq would wait until ksoftirqd is scheduled. */
	local_bh_disable();
	kdapl_evd_kick(evd);
	local_bh_enable();
	/* A dead EVD need not have another run. */
	wait_event(evd->idle, READ_ONCE(evd->dead) || evd_run_is_over(evd, run, more));
}

/**
 * kdapl_evd_hand_over - let the sink take what is queued now, if anything is
 * @evd: as for kdapl_evd_await_run()
 *
 * The same as kdapl_evd_await_run(), but an EVD that has nothing costs no run.  May sleep.
 *
 * Return: false if some of it must not be seen yet, as that of a bind whose RMR is not settled.
 */
bool kdapl_evd_hand_over(struct kdapl_evd *evd)
{
	bool any;

	/* What a runner has taken from the FIFO may not be with the sink yet. */
	spin_lock_irq(&evd->lock);
	any = evd->nr_fifo || evd->runner;
	spin_unlock_irq(&evd->lock);
	if (!any)
		return true;
	kdapl_evd_await_run(evd);
	return !READ_ONCE(evd->waiting);
}

/* ---- a run ---------------------------------------------------------- */

/* Has nothing that notifies come since kdapl_evd_hush()?  If something has, that is over. */
static bool evd_still_hushed(struct kdapl_evd *evd)
{
	bool hushed;

	spin_lock_irq(&evd->lock);
	hushed = evd->hushed && evd->arrivals == evd->hushed_at;
	WRITE_ONCE(evd->hushed, hushed);
	spin_unlock_irq(&evd->lock);
	return hushed;
}

/*
 * On an EVD where not every event notifies, a run delivers only if there is one that
 * does, but then it delivers everything (E106).  The event ring of a process gets all
 * events as they come; there it is the waiter that is not woken.  @solicited: a solicited one is
 * among them, or was in an earlier run.
 */
static bool run_is_due(struct kdapl_evd *evd, u32 max, bool solicited, u32 *fetched)
{
	if (unlikely(READ_ONCE(evd->hushed))) {
		*fetched = kdapl_evd_fetch(evd, max, NULL);
		return !evd_still_hushed(evd);
	}
	if (evd->config == KDAPL_EVD_CONFIG_THRESHOLD ||
	    evd->obj.space->user || evd->unfinished)
		return true;
	*fetched = kdapl_evd_fetch(evd, max, NULL);
	return solicited || READ_ONCE(evd->nr_notify);
}

/*
 * Delivers at most @budget events.  A single fetch of completions is bounded by @budget, too.
 * Returns how many events were delivered, or @budget if the next run is to come at once.
 */
static int evd_deliver(struct kdapl_evd *evd, int budget)
{
	const struct kdapl_sink *sink;
	bool notify = false, room = false, due, one;
	struct kdapl_event_slot *slot;
	DAT_EVENT event;
	u32 fetched = 0;
	bool solicited;
	void *arg;
	int n = 0;

	spin_lock_irq(&evd->lock);
	sink = evd->sink;
	arg = evd->sink_arg;
	WRITE_ONCE(evd->runner, current);
	atomic_set(&evd->pending, 0);
	/* What no sink is told of now is for the next one. */
	solicited = sink && xchg(&evd->solicited, false);
	/* The CQ has called its handler, and is not armed any more. */
	if (solicited) {
		evd->for_solicited = false;
		evd->arrivals++;
	}
	/*
	 * Pairs with kdapl_evd_await_run(): who sees this number kicks after @pending was
	 * cleared, so another run follows.
	 */
	smp_store_release(&evd->runs_started, evd->runs_started + 1);
	spin_unlock_irq(&evd->lock);

	due = sink && run_is_due(evd, budget, solicited, &fetched);
	if (due) {
		while (n < budget && (room = sink->room(evd, arg)) &&
		       READ_ONCE(evd->sink) == sink &&
		       kdapl_evd_take(evd, &event, &one, &slot)) {
			sink->deliver(evd, arg, &event, kdapl_evd_has_more(evd));
			if (slot)
				slot->done(slot, false);
			notify |= one;
			n++;
		}
	}
	/*
	 * No sink takes completions now, but drains and connections have to be told of them
	 * all the same.  In all other cases what arrives after the last kdapl_evd_take()
	 * must stay in the CQ: arming notices it there, but not in the FIFO.
	 */
	if (!sink || (due && !room))
		fetched = kdapl_evd_fetch(evd, budget, NULL);
	/* Events for which there is no room wake as well, also behind some that do not (E35). */
	if (due && !room)
		notify |= READ_ONCE(evd->nr_notify);
	notify |= solicited;
	if (n || notify)
		sink->done(evd, arg, notify);
	WRITE_ONCE(evd->unfinished, n == budget);

	spin_lock_irq(&evd->lock);
	/* Pairs with kdapl_evd_set_sink(): this run is done with its sink. */
	smp_store_release(&evd->runner, NULL);
	/* Pairs with evd_run_is_over(): @unfinished is that of this run. */
	smp_store_release(&evd->runs_ended, evd->runs_started);
	spin_unlock_irq(&evd->lock);
	/* Hardly ever does somebody wait for the end of a run. */
	if (wq_has_sleeper(&evd->idle))
		wake_up_all(&evd->idle);
	return fetched == budget ? budget : n;
}

/*
 * Arms the CQs; if there is neither a sink nor a drain, only those that queue pairs use, for
 * the watch.  True: the runner has to look again at once.  It need not while the next
 * completion has to wait for something (WC_WAIT): it would only find that again, and whoever
 * ends the wait kicks the EVD.
 */
static bool evd_arm(struct kdapl_evd *evd)
{
	bool again, watched, solicited, failed;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	watched = !evd->sink && !evd->drainers;
	solicited = evd->sink && !evd->drainers && evd->config == KDAPL_EVD_CONFIG_SOLICITED;
	again = kdapl_evd_arm_cqs(evd, watched, solicited, &failed);
	if (failed)
		kdapl_evd_cq_faulted(evd);
	/* Completions that came before the CQs were armed, or that the last run did not get to. */
	again |= evd->wc_next != evd->wc_end;
	/* For those that came before, no handler is called, and each counts as solicited. */
	evd->for_solicited = solicited && !again && !failed;
	again &= !evd->waiting;
	/*
	 * Without a sink nobody is in a hurry, so the watch will look; it also tries again to
	 * arm a CQ that could not be armed.  Under the lock: whoever makes the EVD dead
	 * cancels the watch afterwards.
	 */
	if ((failed || (again && watched)) && !evd->dead)
		kdapl_evd_watch(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
	return again && !watched;
}

/* Has anybody kicked the EVD since the runner looked last? */
static bool evd_was_kicked(struct kdapl_evd *evd)
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
		/* Whoever kicks sees it complete, and schedules it, or we see the kick. */
		smp_mb();
		if (evd_arm(evd) || evd_was_kicked(evd))
			irq_poll_sched(iop);
	}
	return n;
}

static void evd_poll_work(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(work, struct kdapl_evd, work);

	if (evd_deliver(evd, KDAPL_EVD_BUDGET) == KDAPL_EVD_BUDGET ||
	    evd_arm(evd) || evd_was_kicked(evd))
		kdapl_evd_schedule(evd);
	kdapl_object_put(&evd->obj);
}

/**
 * kdapl_evd_run_init - give a new EVD its runner
 * @evd: zeroed
 */
void kdapl_evd_run_init(struct kdapl_evd *evd)
{
	init_waitqueue_head(&evd->idle);
	INIT_WORK(&evd->work, evd_poll_work);
	irq_poll_init(&evd->iop, KDAPL_EVD_BUDGET, evd_poll_softirq);
}

/* ---- the sink ------------------------------------------------------- */

/**
 * kdapl_evd_set_sink - set, replace or remove who takes the events
 * @evd: any EVD
 * @sink: NULL to remove
 * @arg: for the sink's functions
 * @sync: wait until the former sink is not running any more; may sleep then
 *
 * Return: 0; -EDEADLK for @sync from a delivery of this EVD itself (E108);
 * -ESTALE for a @sink on a dead EVD: that sink would never be told that the EVD is dead.
 */
int kdapl_evd_set_sink(struct kdapl_evd *evd, const struct kdapl_sink *sink,
		       void *arg, bool sync)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&evd->lock, flags);
	if (sync && kdapl_evd_in_upcall(evd))
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

	if (sync) {
		/* Pairs with evd_deliver(): the caller may free what the former sink has used. */
		wait_event(evd->idle, !smp_load_acquire(&evd->runner));
	}
	/*
	 * What is queued has to be delivered to the new sink (E105), and the CQ to be armed
	 * for it (E111).  Also without a sink: the CQ may be armed for solicited completions
	 * only, and other completions may be the sign of a broken connection (D52).  Not on a
	 * dead EVD, whose events are dropped: a run could bring in more.
	 */
	if (!READ_ONCE(evd->dead))
		kdapl_evd_kick(evd);
	return 0;
}

/**
 * kdapl_evd_hush - leave what is queued now to dat_evd_dequeue() (E107)
 * @evd: any EVD
 * @hush: false: take that back
 *
 * The next run that delivers is when something has come that notifies; that run delivers
 * everything.  A completion in the CQ is not queued yet (kdapl_evd_pull()).  Any context.
 */
void kdapl_evd_hush(struct kdapl_evd *evd, bool hush)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	WRITE_ONCE(evd->hushed, hush);
	evd->hushed_at = evd->arrivals;
	/* The handler of a CQ was called for what is queued; what comes from now on notifies. */
	if (hush && xchg(&evd->solicited, false))
		evd->for_solicited = false;
	/* E105: what was queued while only solicited ones notify starts the sink as well. */
	if (!hush && evd->nr_fifo && evd->config == KDAPL_EVD_CONFIG_SOLICITED)
		WRITE_ONCE(evd->solicited, true);
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_arrivals - has anything come that notifies?
 * @evd: any EVD
 *
 * For a sink that leaves all events where they are.  Any context.
 *
 * Return: a number that changes whenever an event comes in that notifies.
 */
u32 kdapl_evd_arrivals(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->arrivals);
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
	kdapl_evd_await_run(evd);
	return READ_ONCE(evd->nr_fifo);
}
