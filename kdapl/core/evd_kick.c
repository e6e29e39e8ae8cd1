// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Wakes an EVD's runner, and tells its watch when the device has failed.
 *
 * Callers: whoever adds an event, the handler of a CQ, whoever polls or arms one, the faces.
 */
#include "evd_kick.h"

/*
 * The work item has a reference of its own, because a free does not wait for the end of the
 * work: an upcall of another EVD that frees this one could not (E100).
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
	/* Pairs with evd_was_kicked(): a kick during the runner's last look is not lost. */
	atomic_set_release(&evd->pending, 1);
	kdapl_evd_schedule(evd);
}

/**
 * kdapl_evd_unhide - an event that had to wait for its RMR can be taken
 * @evd: whose oldest event it may be
 *
 * It counts as one that has come now: who was told of it before has not found it.  Any context.
 */
void kdapl_evd_unhide(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->arrivals++;
	WRITE_ONCE(evd->waiting, false);
	spin_unlock_irqrestore(&evd->lock, flags);
	kdapl_evd_kick(evd);
}

/**
 * kdapl_evd_watch_now - have the watch look at once
 * @evd: nobody has made it dead, or whoever does cancels the watch afterwards
 *
 * For what needs process context.  Any context.
 */
void kdapl_evd_watch_now(struct kdapl_evd *evd)
{
	mod_delayed_work(kdapl_wq_of(evd->obj.space), &evd->watch, 0);
}

/**
 * kdapl_evd_cq_faulted - the device could not poll or arm a CQ (E72)
 * @evd: whose CQ; its lock is held
 *
 * The device will be asked again, so a completion may be late, but none is lost.  The watch
 * tells the async EVDs, and once only for each EVD, because a device with such a fault may
 * have it each time.
 * Any context.
 */
void kdapl_evd_cq_faulted(struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	if (evd->cq_faulted || evd->dead)
		return;
	evd->cq_faulted = true;
	WRITE_ONCE(evd->cq_fault_unreported, true);
	kdapl_evd_watch_now(evd);
}
