// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Running the upcalls of kernel consumers (E93..E113): a sink of core/evd.c
 * that hands each event to the consumer's function.
 *
 * The core runs a sink single-instance, in order, with no lock held, in softirq
 * or process context as the sink says, and stops looking as soon as it is
 * removed.  So an EVD has this sink exactly while its policy is an active one.
 * What is kept here is the policy and the consumer's object.
 */
#include <linux/errno.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include "kdat_upcall.h"

/**
 * struct kdat_upcall - policy and object of one EVD, kept with it
 * @lock: everything here; interrupts off, since a softirq upcall reads @run
 * @policy: as set last; TEARDOWN is stored as DISABLE (E104)
 * @object: as set last, for queries and DAT_UPCALL_SAME
 * @run: what an upcall that starts now calls.  It keeps its value when upcalls
 *	 are switched off: an event that was dequeued for an upcall at that very
 *	 moment must still be delivered (E42)
 */
struct kdat_upcall {
	seqlock_t lock;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT object;
	DAT_UPCALL_OBJECT run;
};

static bool sink_room(struct kdapl_evd *evd, void *arg)
{
	return true;
}

static void sink_deliver(struct kdapl_evd *evd, void *arg,
			 const DAT_EVENT *event, bool more)
{
	struct kdat_upcall *up = arg;
	DAT_UPCALL_OBJECT run;
	unsigned int seq;

	do {
		seq = read_seqbegin(&up->lock);
		run = up->run;
	} while (read_seqretry(&up->lock, seq));

	run.upcall_func(run.instance_data, event, more ? DAT_TRUE : DAT_FALSE);
}

static void sink_done(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static const struct kdapl_sink softirq_sink = {
	.room = sink_room,
	.deliver = sink_deliver,
	.done = sink_done,
};

static const struct kdapl_sink process_sink = {
	.room = sink_room,
	.deliver = sink_deliver,
	.done = sink_done,
	.sleeps = true,
};

/* E98: consumers of these streams accept, create and free, which sleeps. */
static const struct kdapl_sink *sink_for(struct kdapl_evd *evd)
{
	if (kdapl_evd_flags(evd) &
	    (DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_ASYNC_FLAG))
		return &process_sink;
	return &softirq_sink;
}

/* What is kept with @evd, made on first use; NULL: no memory.  May sleep. */
static struct kdat_upcall *upcall_of(struct kdapl_evd *evd)
{
	struct kdat_upcall *up = kdapl_evd_face(evd), *new;

	if (up)
		return up;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return NULL;
	seqlock_init(&new->lock);
	new->policy = DAT_UPCALL_DISABLE;
	up = kdapl_evd_set_face(evd, new);
	if (up != new)
		kfree(new);
	return up;
}

/*
 * Sets policy and object, and the sink by the policy.  The sink is set inside
 * the lock so that it always belongs to the policy that is stored.
 */
static int upcall_set(struct kdapl_evd *evd, struct kdat_upcall *up,
		      DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall)
{
	const struct kdapl_sink *sink = NULL;
	unsigned long flags;
	int ret = -EINVAL;

	write_seqlock_irqsave(&up->lock, flags);
	if (kdat_upcall_active(policy)) {
		const DAT_UPCALL_OBJECT *run = upcall ?: &up->object;

		if (!run->upcall_func)
			goto out;
		up->run = *run;
		sink = sink_for(evd);
	}
	if (upcall)
		up->object = *upcall;
	up->policy = policy;
	ret = kdapl_evd_set_sink(evd, sink, up, false);
out:
	write_sequnlock_irqrestore(&up->lock, flags);
	return ret;
}

/**
 * kdat_upcall_init - the policy and the object that an EVD is created with
 * @evd: a new EVD
 * @policy: DISABLE, SINGLE_INSTANCE or MANY
 * @upcall: has a function unless @policy is DISABLE; NULL: none
 *
 * May sleep.  Rules E93..E98, E110.
 *
 * Return: 0; -ENOMEM; -ESTALE: the EVD was freed meanwhile.
 */
int kdat_upcall_init(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall)
{
	struct kdat_upcall *up = upcall_of(evd);

	if (!up)
		return -ENOMEM;
	return upcall_set(evd, up, policy, upcall);
}

/**
 * kdat_upcall_modify - change policy and object
 * @evd: any EVD of a kernel consumer
 * @policy: a valid one, TEARDOWN included
 * @upcall: NULL: keep the object
 *
 * With TEARDOWN waits until no upcall of @evd runs any more.  A call that
 * enables upcalls at the same moment counts as made before; the upcall which
 * that one started may then still be running.  May sleep.  Rules E103..E109.
 *
 * Return: 0; -EINVAL for an active policy and no function; -EDEADLK for
 * TEARDOWN from the EVD's own upcall; -ENOMEM; -ESTALE for an active policy and
 * an EVD that was freed meanwhile.
 */
int kdat_upcall_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		       const DAT_UPCALL_OBJECT *upcall)
{
	struct kdat_upcall *up = upcall_of(evd);
	int ret;

	if (!up)
		return -ENOMEM;
	if (policy == DAT_UPCALL_TEARDOWN) {
		ret = kdapl_evd_set_sink(evd, NULL, NULL, true);
		if (ret)
			return ret;
		policy = DAT_UPCALL_DISABLE;
	}
	return upcall_set(evd, up, policy, upcall);
}

/**
 * kdat_upcall_query - fill in the fields of a query that are kept here
 * @evd: any EVD of a kernel consumer
 * @param: out: upcall_policy and upcall
 *
 * Any context.
 */
void kdat_upcall_query(struct kdapl_evd *evd, DAT_EVD_PARAM *param)
{
	struct kdat_upcall *up = kdapl_evd_face(evd);
	unsigned int seq;

	if (!up) {
		param->upcall_policy = DAT_UPCALL_DISABLE;
		param->upcall = DAT_UPCALL_NULL;
		return;
	}
	do {
		seq = read_seqbegin(&up->lock);
		param->upcall_policy = up->policy;
		param->upcall = up->object;
	} while (read_seqretry(&up->lock, seq));
}
