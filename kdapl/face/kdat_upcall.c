// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Running the upcalls of kernel consumers (E93..E113).  Here is a sink for
 * core/evd_run.c, which hands each event of an EVD to the consumer's function;
 * kdat_evd.c has the entry points.
 *
 * The core calls a sink for one event at a time, in order, with no lock held,
 * in softirq or process context as the sink asks for, and stops as soon as the sink
 * is removed.  So an EVD has our sink exactly while its policy allows
 * upcalls.  This file keeps the policy and the consumer's upcall object.
 */
#include <linux/errno.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include "kdat_upcall.h"

/**
 * struct kdat_upcall - the policy and the upcall object of one EVD, attached to
 * that EVD
 * @policy_lock: protects all that follows.  An upcall in softirq context reads @run, so
 *		 interrupts are off while it is written
 * @policy: the policy that was set last, but DISABLE instead of TEARDOWN (E104)
 * @object: the object that was set last; for queries, and for DAT_UPCALL_SAME
 * @run: what the next upcall calls.  It is kept when upcalls are switched off, because
 *	 the core may have dequeued an event for an upcall at that very moment, and
 *	 must still deliver it (E42)
 */
struct kdat_upcall {
	seqlock_t policy_lock;
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
		seq = read_seqbegin(&up->policy_lock);
		run = up->run;
	} while (read_seqretry(&up->policy_lock, seq));

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

static const struct kdapl_sink *sink_for(struct kdapl_evd *evd)
{
	return kdapl_evd_sleeps(evd) ? &process_sink : &softirq_sink;
}

/* The struct kdat_upcall of @evd, which is made at the first call; NULL: no memory. */
static struct kdat_upcall *upcall_of(struct kdapl_evd *evd)
{
	struct kdat_upcall *up = kdapl_evd_face(evd), *new;

	if (up)
		return up;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return NULL;
	seqlock_init(&new->policy_lock);
	new->policy = DAT_UPCALL_DISABLE;
	up = kdapl_evd_set_face(evd, new);
	if (up != new)
		kfree(new);
	return up;
}

/*
 * Sets policy and object, and sets or removes the sink.  All of that is done under the
 * lock: otherwise, of two calls at the same time, the policy of one could remain together
 * with the sink of the other.
 */
static int upcall_set(struct kdapl_evd *evd, struct kdat_upcall *up,
		      DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall)
{
	const struct kdapl_sink *sink = NULL;
	unsigned long flags;
	int ret = -EINVAL;

	write_seqlock_irqsave(&up->policy_lock, flags);
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
	write_sequnlock_irqrestore(&up->policy_lock, flags);
	return ret;
}

/**
 * kdat_upcall_init - set the policy and the object that an EVD is created with
 * @evd: a new EVD
 * @policy: DISABLE, SINGLE_INSTANCE or MANY
 * @upcall: has a function unless @policy is DISABLE; NULL: there is no object
 *
 * Takes the EVD's policy_lock; may sleep.  Rules E93..E98, E110.
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
 * With TEARDOWN it waits until no upcall of @evd runs any more.  Another call
 * that enables upcalls at the same moment counts as made before this one, but an
 * upcall that was started by it may still be running on return.  Takes the
 * EVD's policy_lock; may sleep.  Rules E103..E109.
 *
 * Return: 0; -EINVAL for a policy that allows upcalls while there is no
 * function; -EDEADLK for TEARDOWN from the EVD's own upcall; -ENOMEM; -ESTALE
 * for a policy that allows upcalls on an EVD that was freed meanwhile.
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
 * kdat_upcall_query - fill in the fields of an EVD query that are kept here
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
		seq = read_seqbegin(&up->policy_lock);
		param->upcall_policy = up->policy;
		param->upcall = up->object;
	} while (read_seqretry(&up->policy_lock, seq));
}
