// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: verbs CQs that the core polls and arms itself (A3,
 * core/evd_fifo.c).  glue/qp.c puts these functions into kdapl_ib_qp_ops and
 * kdapl_iw_qp_ops; glue/registrar.c uses them for its own CQ.
 *
 * Destroying a CQ is the delicate part.  By then no queue pair uses the CQ and
 * nobody arms it again, but its handler may be due or running.  ib_destroy_cq()
 * waits for the handler, except on Soft-RoCE before 6.4.  There the handler runs in a
 * tasklet that is part of the CQ, and destroying the CQ leaves the tasklet
 * scheduled in freed memory.  There is no way to find out whether it is scheduled.  So
 * kdapl_cq_destroy() schedules a tasklet of ours on every CPU: the tasklets of a
 * CPU run in order, so when all of ours have run, the driver's has run, too
 * (kdapl_driver_leaves_tasklet()).  A process in passthrough, whose CQs are its own, asks for the
 * same before it destroys them (kdapl_cq_sync_handlers()).
 */
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include "../compat.h"
#include "cq.h"
#include "driver.h"
#include "refused.h"

/* An estimate of the memory that a driver allocates for each completion. */
#define CQE_BYTES	64

/* Counts the CQs that were made, to spread them over the completion vectors of their devices. */
static atomic_t last_vector = ATOMIC_INIT(0);

static void cq_completed(struct ib_cq *ib, void *context)
{
	struct kdapl_cq *cq = context;

	cq->handler(cq);
}

static void cq_event(struct ib_event *event, void *context)
{
	struct kdapl_cq *cq = context;

	if (event->event == IB_EVENT_CQ_ERR && cq->error)
		cq->error(cq);
}

/*
 * How many completions a CQ holds that was made or resized for @asked.  Some drivers report more
 * entries than can be used for completions (bnxt_re, irdma after a resize).  ocrdma reports
 * nothing, but fails if it cannot give what was asked for.
 */
static u32 cq_holds(const struct ib_cq *ib, u32 asked)
{
	return ib->cqe ? min_t(u32, ib->cqe, asked) : asked;
}

/* kdapl_qp_ops.cq_create */
int kdapl_cq_create(struct kdapl_cq *cq, u32 cqe)
{
	struct ib_device *ib = cq->dev->ib;
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		.comp_vector = (u32)atomic_inc_return(&last_vector) %
			       max(ib->num_comp_vectors, 1),
	};
	struct ib_cq *new;
	int ret;

	cq->charge = (struct kdapl_charge) {};
	ret = cq->user && !cq->unpaid ?
	      kdapl_charge_queue(&cq->charge, ib, (u64)cqe * CQE_BYTES) : 0;
	if (ret)
		return ret;
	new = ib_create_cq(ib, cq_completed, cq_event, cq, &attr);
	if (IS_ERR(new)) {
		kdapl_uncharge_queue(&cq->charge, ib);
		return kdapl_refused("cq_create", PTR_ERR(new));
	}

	cq->size = cq_holds(new, cqe);
	cq->armed = false;
	/* ORDER: who sees @ib may poll and arm the CQ, and has to see the fields set above. */
	smp_store_release(&cq->ib, new);
	return 0;
}

/**
 * kdapl_cq_pay - charge the calling process for a CQ that nobody was charged for yet
 * @cq: of a process, or of the kernel.  If nobody was charged for it, no other queue pair
 *	begins to use it at the same time
 *
 * Called before a queue pair is made on the CQ, and before the CQ is resized.  Nobody was
 * charged if the CQ was made for an endpoint that a service point provides: it was made by the
 * CM's thread, or by a process that has handed the request over.
 *
 * Return: 0, also if there was nothing to do, or what kdapl_charge_queue() says.
 */
int kdapl_cq_pay(struct kdapl_cq *cq)
{
	if (!cq->user || READ_ONCE(cq->charge.mm))
		return 0;
	return kdapl_charge_queue(&cq->charge, cq->dev->ib, (u64)cq->size * CQE_BYTES);
}

/*
 * kdapl_qp_ops.cq_resize.  The calling process, which need not be the one that made the CQ,
 * is charged for the new size before the charge for the old size is given back, because the
 * driver has both queues for a moment.
 */
int kdapl_cq_resize(struct kdapl_cq *cq, u32 cqe)
{
	struct kdapl_charge charge = {};
	int ret;

	/*
	 * First, or the charge for the pages below would make kdapl_cq_pay() take the CQ for
	 * paid, although the object was never charged.
	 */
	ret = kdapl_cq_pay(cq);
	if (ret)
		return ret;
	if (cq->user)
		ret = kdapl_charge_bytes(&charge, (u64)cqe * CQE_BYTES);
	if (ret)
		return ret;
	ret = kdapl_refused("cq_resize", kdapl_ib_resize_cq(cq->ib, cqe));
	if (ret) {
		kdapl_uncharge_pages(&charge);
		return ret;
	}
	kdapl_charge_replace(&cq->charge, &charge);
	cq->size = cq_holds(cq->ib, cqe);
	return 0;
}

/*
 * kdapl_qp_ops.cq_arm.  With a driver that would never call the handler for a solicited
 * completion, the CQ is armed for all of them.
 */
int kdapl_cq_arm(struct kdapl_cq *cq, bool solicited)
{
	if (solicited && kdapl_driver_never_solicited(cq->ib->device))
		solicited = false;
	WRITE_ONCE(cq->armed, true);
	return ib_req_notify_cq(cq->ib, IB_CQ_REPORT_MISSED_EVENTS |
				(solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP));
}

/* CPUs on which our tasklet has yet to run */
static atomic_t barrier_left;
static DECLARE_COMPLETION(barrier_done);

static void barrier_run(struct tasklet_struct *t)
{
	if (atomic_dec_and_test(&barrier_left))
		complete(&barrier_done);
}

/*
 * Set up at the first use: the initialiser of a module's per-CPU variable
 * cannot hold an address, here that of barrier_run().
 */
static DEFINE_PER_CPU(struct tasklet_struct, barrier_tasklet);
static DEFINE_PER_CPU(struct timer_list, barrier_timer);

static void barrier_queue(void *unused)
{
	tasklet_schedule(this_cpu_ptr(&barrier_tasklet));
}

static void barrier_tick(struct timer_list *unused)
{
	barrier_queue(NULL);
}

static void barrier_setup(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		tasklet_setup(per_cpu_ptr(&barrier_tasklet, cpu), barrier_run);
		timer_setup(per_cpu_ptr(&barrier_timer, cpu), barrier_tick, TIMER_PINNED);
	}
}

/*
 * Schedules the tasklet on every CPU; the caller keeps them from coming and going, and the last
 * round is over.  With PREEMPT_RT no softirq may be raised in an interrupt from another CPU, so a
 * timer of the CPU's own does it there, which takes until its next tick.
 */
static void barrier_queue_all(void)
{
	int cpu;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT)) {
		on_each_cpu(barrier_queue, NULL, true);
		return;
	}
	for_each_online_cpu(cpu) {
		per_cpu(barrier_timer, cpu).expires = jiffies;
		add_timer_on(per_cpu_ptr(&barrier_timer, cpu), cpu);
	}
}

static void barrier_fn(struct work_struct *work)
{
	static bool ready;
	int round;

	if (!ready)
		barrier_setup();
	ready = true;
	cpus_read_lock();
	/*
	 * A tasklet that is scheduled on one CPU while it still runs on another one is
	 * put back to the end of the list, behind ours.  That run has ended when the
	 * first round is over, so this cannot happen again in the second round.
	 */
	for (round = 0; round < 2; round++) {
		reinit_completion(&barrier_done);
		atomic_set(&barrier_left, num_online_cpus());
		barrier_queue_all();
		wait_for_completion(&barrier_done);
	}
	cpus_read_unlock();
}

static DECLARE_WORK(barrier_work, barrier_fn);

/*
 * Returns when every tasklet that was scheduled or running at the call has run.
 *
 * A kernel thread does that, once for all who call meanwhile.  A process might have to wait for
 * its turn to run in between, and then all would wait who destroy a CQ, or bring a processor up.
 * It has a workqueue of its own, which does not wait for memory (a kernel consumer may destroy a
 * CQ to free some), but for processors that come or go.
 */
static void tasklet_barrier(void)
{
	queue_work(kdapl_barrier_wq, &barrier_work);
	flush_work(&barrier_work);
}

/**
 * kdapl_cq_sync_handlers - wait for the handlers of CQs that are about to be destroyed
 *
 * For CQs of processes, which uverbs destroys: in these nothing completes any more, and no driver
 * but one that leaves a tasklet needs this.  May sleep.
 */
void kdapl_cq_sync_handlers(void)
{
	if (KDAPL_RXE_CQ_TASKLET)
		tasklet_barrier();
}

/* kdapl_qp_ops.cq_destroy: A10, facts 5. */
void kdapl_cq_destroy(struct kdapl_cq *cq)
{
	if (kdapl_driver_leaves_tasklet(cq->ib->device) && READ_ONCE(cq->armed))
		tasklet_barrier();
	ib_destroy_cq(cq->ib);
	cq->ib = NULL;
	kdapl_uncharge_queue(&cq->charge, cq->dev->ib);
}
