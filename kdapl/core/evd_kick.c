// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Telling the runner of an EVD that there is something for it.
 *
 * Callers: whoever adds an event, the handler of a CQ, the faces.
 */
#include "evd_kick.h"

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
