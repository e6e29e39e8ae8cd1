// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: raw verbs CQs that core/evd.c polls and arms itself
 * (A3).  glue/qp.c puts these functions into kdapl_ib_qp_ops.
 *
 * Destroying one is the delicate part.  When cq_destroy is called no queue pair
 * uses the CQ any more and nobody arms it again, but a handler may be due or
 * running.  ib_destroy_cq() waits for it, except on Soft-RoCE before 6.4, where
 * the handler runs in a tasklet that lives in the CQ: destroying the CQ leaves
 * it scheduled in freed memory.  Whether one is due cannot be read off, hence
 * the barrier below: when a tasklet of ours, queued behind it, has run on every
 * CPU, so has the driver's.
 */
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "cq.h"
#include "../compat.h"

/* Spreads the CQs over the device's completion vectors. */
static atomic_t next_vector = ATOMIC_INIT(0);

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

/**
 * kdapl_cq_create - kdapl_qp_ops.cq_create
 * @cq: with @dev and @handler set
 * @cqe: entries it must hold at least
 *
 * Caller is in the IA's section.  May sleep.
 *
 * Return: 0 and @cq->ib, @cq->size are filled; -EINVAL for a size that the
 * device cannot have; -ENOMEM and what else the device says.
 */
int kdapl_cq_create(struct kdapl_cq *cq, u32 cqe)
{
	struct ib_device *ib = cq->dev->ib;
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		.comp_vector = (u32)atomic_inc_return(&next_vector) %
			       max(ib->num_comp_vectors, 1),
	};
	struct ib_cq *new;

	new = ib_create_cq(ib, cq_completed, cq_event, cq, &attr);
	if (IS_ERR(new))
		return PTR_ERR(new);

	cq->size = new->cqe;
	cq->armed = false;
	/* Whoever polls or arms may find it from here on. */
	smp_store_release(&cq->ib, new);
	return 0;
}

/**
 * kdapl_cq_resize - kdapl_qp_ops.cq_resize
 * @cq: may be in use
 * @cqe: entries it must hold at least
 *
 * Completions in it stay.  Caller is in the IA's section.  May sleep.
 *
 * Return: 0 and @cq->size is the new size; -EOPNOTSUPP where the device cannot
 * resize; -EINVAL for a size that it cannot have or that is too small for what
 * is in the CQ; -ENOMEM.
 */
int kdapl_cq_resize(struct kdapl_cq *cq, u32 cqe)
{
	int ret;

	ret = ib_resize_cq(cq->ib, cqe);
	if (ret)
		return ret;
	cq->size = cq->ib->cqe;
	return 0;
}

/**
 * kdapl_cq_arm - kdapl_qp_ops.cq_arm
 * @cq: to be armed
 * @solicited: only for completions with a solicited event, and errors
 *
 * Any context.
 *
 * Return: 0: armed; > 0: armed, but completions are in the CQ for which no
 * handler may come, poll again; an errno.
 */
int kdapl_cq_arm(struct kdapl_cq *cq, bool solicited)
{
	WRITE_ONCE(cq->armed, true);
	return ib_req_notify_cq(cq->ib, IB_CQ_REPORT_MISSED_EVENTS |
				(solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP));
}

static atomic_t barrier_left;
static DECLARE_COMPLETION(barrier_done);

static void barrier_run(struct tasklet_struct *t)
{
	if (atomic_dec_and_test(&barrier_left))
		complete(&barrier_done);
}

/* Set up when first used: in a module per-CPU data is not relocated. */
static DEFINE_PER_CPU(struct tasklet_struct, barrier_tasklet);

static void barrier_setup(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_setup(per_cpu_ptr(&barrier_tasklet, cpu), barrier_run);
}

static void barrier_queue(void *unused)
{
	tasklet_schedule(this_cpu_ptr(&barrier_tasklet));
}

/* Returns when every tasklet that was queued or running before has run. */
static void tasklet_barrier(void)
{
	static DEFINE_MUTEX(lock);
	static bool ready;
	int round;

	mutex_lock(&lock);
	if (!ready)
		barrier_setup();
	ready = true;
	cpus_read_lock();
	/*
	 * A tasklet that runs on another CPU at the moment is put behind ours.
	 * Once that run is over, as it is after the first round, it cannot
	 * happen again.
	 */
	for (round = 0; round < 2; round++) {
		reinit_completion(&barrier_done);
		atomic_set(&barrier_left, num_online_cpus());
		on_each_cpu(barrier_queue, NULL, true);
		wait_for_completion(&barrier_done);
	}
	cpus_read_unlock();
	mutex_unlock(&lock);
}

/**
 * kdapl_cq_destroy - kdapl_qp_ops.cq_destroy
 * @cq: with no queue pair on it, and not armed again
 *
 * Completions left in it are lost.  Returns when no handler runs or will run
 * (A10, facts 5).  May sleep.
 */
void kdapl_cq_destroy(struct kdapl_cq *cq)
{
	if (KDAPL_RXE_CQ_TASKLET && READ_ONCE(cq->armed) &&
	    cq->ib->device->ops.driver_id == RDMA_DRIVER_RXE)
		tasklet_barrier();
	ib_destroy_cq(cq->ib);
	cq->ib = NULL;
}
