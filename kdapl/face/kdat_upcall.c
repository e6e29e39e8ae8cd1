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
#include "core/evd_fifo.h"
#include "kdat_upcall.h"

/**
 * struct kdat_upcall - the policy and the upcall object of one EVD, attached to
 * that EVD
 * @policy_lock: protects all that follows.  An upcall in softirq context reads @run, so
 *		 interrupts are off while it is written
 * @policy: the policy that was set last, but DISABLE instead of TEARDOWN (E104)
 * @object: the object that was set last; for queries, and for DAT_UPCALL_SAME
 * @run: what the next upcall with an event calls.  It is kept when such upcalls are switched
 *	 off, because the core may have dequeued an event for an upcall at that very moment,
 *	 and must still deliver it (E42)
 * @tell: what the next upcall of NOTIFY calls
 * @told: with NOTIFY: kdapl_evd_arrivals() at the last upcall; it is the runner's
 * @fresh: with NOTIFY: no upcall was made since the policy was set
 */
struct kdat_upcall {
	seqlock_t policy_lock;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT object;
	DAT_UPCALL_OBJECT run;
	DAT_UPCALL_OBJECT tell;
	u32 told;
	bool fresh;
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

/* E115: with NOTIFY events stay where they are, as if there were no room, so none is delivered. */
static bool notify_room(struct kdapl_evd *evd, void *arg)
{
	return false;
}

static void notify_done(struct kdapl_evd *evd, void *arg, bool notify)
{
	u32 arrivals = kdapl_evd_arrivals(evd);
	struct kdat_upcall *up = arg;
	DAT_UPCALL_OBJECT tell;
	bool notifies;
	unsigned int seq;

	/* A sink is also told that its EVD is freed, in the thread that does that. */
	if (!notify || kdapl_evd_dead(evd))
		return;
	/* This run may have begun before another policy was set. */
	do {
		seq = read_seqbegin(&up->policy_lock);
		notifies = up->policy == KDAT_UPCALL_NOTIFY;
		tell = up->tell;
	} while (read_seqretry(&up->policy_lock, seq));
	/* A run may come for other reasons than a new event. */
	if (!notifies || (!xchg(&up->fresh, false) && arrivals == up->told))
		return;
	up->told = arrivals;
	tell.upcall_func(tell.instance_data, NULL, DAT_TRUE);
}

static const struct kdapl_sink softirq_notify_sink = {
	.room = notify_room,
	.done = notify_done,
};

static const struct kdapl_sink process_notify_sink = {
	.room = notify_room,
	.done = notify_done,
	.sleeps = true,
};

static const struct kdapl_sink *sink_for(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy)
{
	bool sleeps = kdapl_evd_sleeps(evd);

	if (policy == KDAT_UPCALL_NOTIFY)
		return sleeps ? &process_notify_sink : &softirq_notify_sink;
	return sleeps ? &process_sink : &softirq_sink;
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

static bool flag_is_known(DAT_UPCALL_FLAG flag)
{
	return flag == DAT_UPCALL_INVOC_NEW || flag == DAT_UPCALL_INVOC_ANY;
}

/*
 * Sets policy and object, and sets or removes the sink.  All of that is done under the
 * lock: otherwise, of two calls at the same time, the policy of one could remain together
 * with the sink of the other.
 */
static int upcall_set(struct kdapl_evd *evd, struct kdat_upcall *up,
		      DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall,
		      DAT_UPCALL_FLAG flag)
{
	const struct kdapl_sink *sink = NULL;
	bool active = policy != DAT_UPCALL_DISABLE;
	const DAT_UPCALL_OBJECT *run;
	unsigned long flags;
	int ret = -EINVAL;

	write_seqlock_irqsave(&up->policy_lock, flags);
	run = upcall ?: &up->object;
	if (active && !run->upcall_func)
		goto out;
	ret = -EOPNOTSUPP;
	if (!flag_is_known(flag))
		goto out;
	kdapl_evd_hush(evd, flag == DAT_UPCALL_INVOC_NEW);
	if (policy == KDAT_UPCALL_NOTIFY) {
		up->tell = *run;
		WRITE_ONCE(up->fresh, true);
	} else if (active) {
		up->run = *run;
	}
	if (active)
		sink = sink_for(evd, policy);
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
	return upcall_set(evd, up, policy, upcall, DAT_UPCALL_INVOC_ANY);
}

/**
 * kdat_upcall_modify - change policy and object
 * @evd: any EVD of a kernel consumer
 * @policy: a valid one, TEARDOWN and NOTIFY included
 * @upcall: NULL: keep the object
 * @flag: INVOC_NEW: no upcall is started for what is queued now, until something new comes; one
 *	that runs at this moment may go on with it
 *
 * With TEARDOWN it waits until no upcall of @evd runs any more.  Another call
 * that enables upcalls at the same moment counts as made before this one, but an
 * upcall that was started by it may still be running on return.  Takes the
 * EVD's policy_lock; may sleep.  Rules E103..E109, E115.
 *
 * Return: 0; -EINVAL for a policy that allows upcalls while there is no
 * function; -EOPNOTSUPP for an unknown @flag; -EDEADLK for TEARDOWN from the
 * EVD's own upcall; -ENOMEM; -ESTALE for a policy that allows upcalls on an EVD
 * that was freed meanwhile.
 */
int kdat_upcall_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		       const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag)
{
	struct kdat_upcall *up = upcall_of(evd);
	int ret;

	if (!up)
		return -ENOMEM;
	if (policy == DAT_UPCALL_TEARDOWN) {
		if (!flag_is_known(flag))
			return -EOPNOTSUPP;
		ret = kdapl_evd_set_sink(evd, NULL, NULL, true);
		if (ret)
			return ret;
		policy = DAT_UPCALL_DISABLE;
	}
	/* What is in the CQ is queued, too. */
	if (flag == DAT_UPCALL_INVOC_NEW && policy != DAT_UPCALL_DISABLE)
		kdapl_evd_pull(evd);
	return upcall_set(evd, up, policy, upcall, flag);
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
