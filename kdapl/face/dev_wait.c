// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event rings: taking events by ioctl, waiting for them, and poll(2).  A
 * process that has mapped its ring takes events without a call, and calls
 * these functions to sleep. dev_ring.h describes the barriers.
 *
 * Called by dev_evd.c, and by poll(2) of the descriptors made here.
 */
#include <linux/anon_inodes.h>
#include <linux/bottom_half.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include "dev_ring.h"
#include "../core/evd.h"

/* ---- taking ------------------------------------------------------------ */

/**
 * kdapl_ring_refill - put the events that wait in the kernel into the ring
 * @ring: of @evd
 * @evd: with a reference
 *
 * If not all of them fit, KDAPL_RING_MORE is set again.  May sleep.
 */
void kdapl_ring_refill(struct kdapl_ring *ring, struct kdapl_evd *evd)
{
	WRITE_ONCE(ring->full, false);
	atomic_andnot(KDAPL_RING_MORE, kdapl_ring_flags(READ_ONCE(ring->buf)));
	/*
	 * Pairs with ring_room(): a run that does not see what the process has taken, and so may
	 * have set MORE before it was cleared here, is not taken for the one that is waited for.
	 */
	smp_mb__after_atomic();
	kdapl_evd_await_run(evd);
}

/**
 * kdapl_ring_look - have the runner look for completions, for a process that
 * polls
 * @evd: with a reference
 *
 * The completion that the process waits for may be in the CQ already, while the
 * softirq that would deliver it has to wait for other work of its processor,
 * such as acknowledging the same message.  So the runner, which is a softirq as
 * well, is started here.  If it were raised in plain process context, it would
 * be left to ksoftirqd, which has to get the processor from the processes that
 * poll.  With bottom halves disabled it runs in local_bh_enable() instead.
 *
 * Does not wait for a runner that runs on another processor.  Process context.
 */
void kdapl_ring_look(struct kdapl_evd *evd)
{
	local_bh_disable();
	kdapl_evd_kick(evd);
	local_bh_enable();
}

/**
 * kdapl_ring_take - take an event for a process that has not mapped the ring
 * @ring: of @evd
 * @evd: with a reference
 * @event: out
 *
 * A process that takes events from the mapped ring at the same time may get an
 * event twice; the ABI requires that it uses a lock.  Takes @ring->lock; may
 * sleep.  Rules E36, E41.
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY, DAT_INVALID_STATE/EVD_WAITER.
 */
DAT_RETURN kdapl_ring_take(struct kdapl_ring *ring, struct kdapl_evd *evd,
			   struct kdapl_uapi_event *event)
{
	DAT_RETURN ret = RET(QUEUE_EMPTY);
	struct kdapl_ring_buf *buf;
	u32 consumer;

	if (kdapl_ring_waited(ring))
		return RET_BAD_STATE(EVD_WAITER);
	mutex_lock(&ring->lock);
	buf = ring->buf;
	if (!kdapl_ring_count(ring))
		kdapl_ring_refill(ring, evd);
	if (kdapl_ring_held(buf, &consumer)) {
		*event = buf->events[consumer & (buf->nr - 1)];
		/* Pairs with kdapl_ring_held(). */
		smp_store_release(&buf->index->consumer, consumer + 1);
		ret = DAT_SUCCESS;
	}
	mutex_unlock(&ring->lock);
	return ret;
}

/* ---- waiting ----------------------------------------------------------- */

/**
 * kdapl_ring_waited - is a thread waiting (E36)?
 * @ring: any ring
 *
 * Any context.
 *
 * Return: whether one is in kdapl_ring_wait().
 */
bool kdapl_ring_waited(const struct kdapl_ring *ring)
{
	return atomic_read(&ring->waiter);
}

/**
 * kdapl_ring_waitable - may a thread wait (E26)?
 * @ring: any ring
 *
 * Any context.
 *
 * Return: what kdapl_ring_set_waitable() has set last.
 */
bool kdapl_ring_waitable(const struct kdapl_ring *ring)
{
	return !(atomic_read(&ring->unwaitable) & 1);
}

/**
 * kdapl_ring_set_waitable - dat_evd_set_unwaitable and its opposite (E26, E27)
 * @ring: any ring
 * @waitable: whether waiting shall be allowed
 *
 * When waiting becomes forbidden, a thread that waits returns, even if waiting is
 * allowed again before the thread runs.  Any context.
 */
void kdapl_ring_set_waitable(struct kdapl_ring *ring, bool waitable)
{
	int old = atomic_read(&ring->unwaitable);

	do {
		if (!(old & 1) == waitable)
			return;
	} while (!atomic_try_cmpxchg(&ring->unwaitable, &old, old + 1));
	wake_up_all(&ring->wait);
}

/*
 * Checks whether a wait is over.  @unwaitable: value of that count when the wait began;
 * @notified: value of that count at the last check.  Return: true: it is over, and *@ret is
 * what the wait returns
 */
static bool wait_over(struct kdapl_ring *ring, struct kdapl_evd *evd,
		      u32 threshold, int unwaitable, int *notified,
		      bool expired, DAT_RETURN *ret)
{
	/* Pairs with ring_done(): who sees the change counts what it is about. */
	int now = atomic_read_acquire(&ring->notified);
	bool look = expired || now != *notified;

	*notified = now;
	if (kdapl_evd_dead(evd))
		*ret = RET(ABORT);
	else if (atomic_read(&ring->unwaitable) != unwaitable)
		*ret = RET_BAD_STATE(EVD_UNWAITABLE);
	else if (look && kdapl_ring_count(ring) >= threshold)
		*ret = DAT_SUCCESS;
	else if (expired)
		*ret = RET(TIMEOUT_EXPIRED);
	else if (signal_pending(current))
		*ret = RET(INTERRUPTED_CALL);
	else
		return false;
	return true;
}

static DAT_RETURN ring_sleep(struct kdapl_ring *ring, struct kdapl_evd *evd,
			     u32 threshold, int unwaitable, ktime_t deadline)
{
	bool forever = deadline == KTIME_MAX;
	int notified = atomic_read_acquire(&ring->notified);
	bool expired;
	DAT_RETURN ret;
	DEFINE_WAIT(wait);

	/*
	 * Events that are there already end the wait, whether they notify or not (E30).
	 */
	if (kdapl_ring_count(ring) >= threshold)
		return DAT_SUCCESS;
	expired = ktime_compare(ktime_get(), deadline) >= 0;
	for (;;) {
		prepare_to_wait(&ring->wait, &wait, TASK_INTERRUPTIBLE);
		if (wait_over(ring, evd, threshold, unwaitable, &notified,
			      expired, &ret))
			break;
		expired = !schedule_hrtimeout_range(forever ? NULL : &deadline,
						    current->timer_slack_ns,
						    HRTIMER_MODE_ABS);
	}
	finish_wait(&ring->wait, &wait);
	return ret;
}

/**
 * kdapl_ring_wait - wait until a number of events is there
 * @ring: of @evd
 * @evd: with a reference
 * @threshold: at least 1, at most the EVD's length
 * @deadline: when the wait ends; KTIME_MAX: never
 * @queued: out: events in the ring
 *
 * Takes no event.  May sleep.  Rules E26, E27, E30, E32..E36, E38, E39.
 *
 * Return: DAT_SUCCESS, DAT_TIMEOUT_EXPIRED, DAT_INTERRUPTED_CALL, DAT_ABORT,
 * DAT_INVALID_STATE/EVD_UNWAITABLE, /EVD_WAITER.
 */
DAT_RETURN kdapl_ring_wait(struct kdapl_ring *ring, struct kdapl_evd *evd,
			   u32 threshold, ktime_t deadline, u32 *queued)
{
	int unwaitable = atomic_read(&ring->unwaitable);
	DAT_RETURN ret;

	if (unwaitable & 1)
		return RET_BAD_STATE(EVD_UNWAITABLE);
	if (atomic_xchg(&ring->waiter, 1))
		return RET_BAD_STATE(EVD_WAITER);
	if (kdapl_ring_more(ring))
		kdapl_ring_refill(ring, evd);
	ret = ring_sleep(ring, evd, threshold, unwaitable, deadline);
	/*
	 * When the time is over, events that have come without notifying count, too
	 * (E33, E34).
	 */
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED && kdapl_ring_more(ring)) {
		kdapl_ring_refill(ring, evd);
		if (kdapl_ring_count(ring) >= threshold)
			ret = DAT_SUCCESS;
	}
	*queued = kdapl_ring_count(ring);
	atomic_set_release(&ring->waiter, 0);
	return ret;
}

/* ---- poll(2) ----------------------------------------------------------- */

static __poll_t ring_poll(struct file *filp, poll_table *table)
{
	struct kdapl_ring *ring = filp->private_data;
	__poll_t mask = 0;

	poll_wait(filp, &ring->wait, table);
	if (kdapl_ring_count(ring) || READ_ONCE(ring->full))
		mask = EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ring->dead))
		mask |= EPOLLHUP;
	return mask;
}

static int ring_poll_release(struct inode *inode, struct file *filp)
{
	kdapl_ring_put(filp->private_data);
	return 0;
}

static const struct file_operations ring_poll_fops = {
	.owner = THIS_MODULE,
	.poll = ring_poll,
	.release = ring_poll_release,
};

/**
 * kdapl_ring_poll_file - make a file that is readable while events are there
 * @ring: any ring; the file takes a reference
 *
 * The file may stay open longer than the EVD and the file of /dev/kdapl exist.  May sleep.
 *
 * Return: the file, or an errno.
 */
struct file *kdapl_ring_poll_file(struct kdapl_ring *ring)
{
	struct file *filp;

	kref_get(&ring->ref);
	filp = anon_inode_getfile("[kdapl-evd]", &ring_poll_fops, ring, O_RDONLY);
	if (IS_ERR(filp))
		kdapl_ring_put(ring);
	return filp;
}
