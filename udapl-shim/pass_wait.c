// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of an EVD in passthrough, whose completion queues are the process's own, and waiting
 * for its events.
 *
 * A thread that waits sleeps in ppoll(2) on one descriptor, its bed, which has in it those by
 * which events may come; for a CNO the same ones are in another epoll descriptor. When that is
 * readable the thread of the CNO arms the queues and looks for events (pass_evd_notifies()), and
 * triggers the CNO only if it has found some. Which descriptors these are, and why no wake-up and
 * no signal is lost, is told in Documentation/life-of-a-dto.rst, In passthrough.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "passthrough.h"

/* A completion queue gets at least so many entries; if that is too few it is resized later. */
#define MIN_CQ	256u

/*
 * How long an EVD that is freed waits for the EPs that use it; ns. It is more than the ten
 * seconds after which the library flushes an EP itself (FLUSH_LIMIT of pass_end.c).
 */
#define EPS_LIMIT	20000000000ull

/* The pause between two looks of a waiter that no descriptor would wake; ns */
#define LOOK_NS	1000000u

/* ---- life -------------------------------------------------------------- */

/* An empty ring, for hidden EVDs, which the kernel does not know. */
static const struct kdapl_uapi_ring_header no_header;
static struct shim_ring no_ring = { .header = &no_header };

/* The caller has a reference of @pia; the EVD takes one of its own. */
static struct pass_evd *evd_alloc(struct pass_ia *pia, struct shim_object *obj)
{
	struct pass_evd *evd = calloc(1, sizeof(*evd));

	if (!evd)
		return NULL;
	atomic_fetch_add(&pia->refs, 1);
	evd->pia = pia;
	evd->obj = obj;
	evd->lock = obj ? &obj->lock : &evd->own_lock;
	evd->ring = obj ? &((struct shim_evd *)obj->body)->ring : &no_ring;
	evd->async = obj && ((struct shim_evd *)obj->body)->async;
	evd->last = &evd->first;
	atomic_store(&evd->aside, PASS_QUEUES);
	evd->channel_fd.fd = -1;
	evd->kernel_fd.fd = -1;
	evd->bell.fd = -1;
	evd->alarm.fd = -1;
	evd->alarm_at = UINT64_MAX;
	evd->bed.fd = -1;
	return evd;
}

struct pass_evd *pass_evd_hidden(struct pass_ia *pia)
{
	return evd_alloc(pia, NULL);
}

/*
 * Destroys the completion queues. No queue pair uses them, so nothing completes there any more. But
 * the device's driver may be about to call the handler of one that was armed, and not wait for that
 * itself (KDAPL_VERBS_LATE_CQS): then the kernel waits.
 */
static void cqs_destroy(struct pass_evd *evd)
{
	struct kdapl_uapi_cq_settle arg = { 0 };
	bool armed = false;
	uint32_t i;

	for (i = 0; i < evd->nr_cqs; i++)
		armed |= evd->cqs[i].armed;
	if (armed && evd->pia->hints & KDAPL_VERBS_LATE_CQS)
		shim_ioctl(KDAPL_IOC_CQ_SETTLE, &arg, RET_NO_FAULT);
	for (i = 0; i < evd->nr_cqs; i++)
		ibv_destroy_cq(evd->cqs[i].cq);
}

/* pass_evd_free - free an EVD that nobody uses any more */
void pass_evd_free(struct pass_evd *evd)
{
	struct pass_dir *dir;

	shim_lock(evd->lock);
	pass_fifo_drop(evd);
	shim_unlock(evd->lock);
	cqs_destroy(evd);
	while (evd->parked) {
		dir = evd->parked;
		evd->parked = dir->next_parked;
		shim_lock(&dir->lock);
		dir->parked = NULL;
		shim_unlock(&dir->lock);
		pass_ep_put(dir->ep);
	}
	shim_fds_lock();
	shim_fd_forget(&evd->channel_fd);
	/*
	 * It is refused if a queue was not destroyed, also because the device is gone. Then the
	 * descriptor is closed nevertheless, since nobody polls the queue any more.
	 */
	if (evd->channel && ibv_destroy_comp_channel(evd->channel))
		close(evd->channel->fd);
	shim_fds_unlock();
	shim_fd_close(&evd->kernel_fd);
	shim_fd_close(&evd->bell);
	shim_fd_close(&evd->alarm);
	shim_fd_close(&evd->bed);
	pass_ia_put(evd->pia);
	free(evd);
}

DAT_RETURN pass_evd_made(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_evd *evd;
	bool closed;

	if (!pia)
		return RET_BAD_HANDLE(IA);
	evd = evd_alloc(pia, obj);
	pass_ia_put(pia);
	if (!evd)
		return RET_NO_RESOURCE(MEMORY);
	/* If another thread closes the IA meanwhile, it has taken the body first. */
	shim_lock(&obj->lock);
	closed = !obj->body;
	if (!closed)
		atomic_store(&obj->pass, evd);
	shim_unlock(&obj->lock);
	if (!closed)
		return DAT_SUCCESS;
	pass_evd_free(evd);
	return RET_BAD_HANDLE(IA);
}

static bool is_unused(void *arg)
{
	struct pass_evd *evd = arg;
	bool asleep;

	shim_lock(evd->lock);
	pass_evd_wake(evd);
	asleep = evd->sleepers;
	shim_unlock(evd->lock);
	return !asleep && !atomic_load(&evd->users) && !pass_eps_use(evd->pia, evd->obj);
}

/*
 * pass_evd_gone - the kernel has destroyed the EVD
 *
 * The object has no body any more, so no thread begins to wait. Threads that do wait are told to
 * return. This waits for them, and for threads that are still freeing or modifying an EP that
 * has used the EVD.
 */
void pass_evd_gone(struct shim_object *obj, struct shim_evd *body)
{
	struct pass_evd *evd;

	(void)body;
	shim_lock(&obj->lock);
	evd = atomic_exchange(&obj->pass, NULL);
	if (evd)
		evd->dead = true;
	shim_unlock(&obj->lock);
	if (!evd)
		return;
	/* If an EP may still look at it for so long, it is never freed. */
	if (shim_await(&evd->pia->news, is_unused, evd, shim_now() + EPS_LIMIT))
		pass_evd_free(evd);
	else
		evd->ring = &no_ring;
}

/*
 * pass_evd_use - keep an EVD for a direction of an EP
 *
 * The direction must not look at the EVD any more after pass_evd_unuse(). Return: NULL if the
 * EVD is being freed.
 */
struct pass_evd *pass_evd_use(struct shim_object *obj)
{
	struct pass_evd *evd;

	shim_lock(&obj->lock);
	evd = pass_evd_of(obj);
	if (evd)
		atomic_fetch_add(&evd->users, 1);
	shim_unlock(&obj->lock);
	return evd;
}

void pass_evd_unuse(struct pass_evd *evd)
{
	struct pass_ia *pia = evd->pia;

	atomic_fetch_sub(&evd->users, 1);
	shim_wake(&pia->news);
}

/* pass_evd_back - one of the @sleepers has locked the EVD again */
void pass_evd_back(struct pass_evd *evd)
{
	evd->sleepers--;
	if (evd->dead)
		shim_wake(&evd->pia->news);
}

/* ---- completion queues ------------------------------------------------- */

static bool epoll_has(int epoll, int fd, uint32_t edge)
{
	struct epoll_event event = { .events = EPOLLIN | edge };

	return fd < 0 || !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Has the channel wake who sleeps, as soon as there are both it and @bed. */
static void channel_wakes(struct pass_evd *evd)
{
	if (evd->channel && evd->bed.fd >= 0 && !evd->channel_in_bed)
		evd->channel_in_bed = epoll_has(evd->bed.fd, evd->channel_fd.fd, 0);
}

static bool channel_make(struct pass_evd *evd)
{
	int flags;

	if (evd->channel)
		return true;
	shim_fds_lock();
	evd->channel = ibv_create_comp_channel(evd->pia->ctx);
	if (evd->channel)
		shim_fd_keep(&evd->channel_fd, evd->channel->fd);
	shim_fds_unlock();
	if (!evd->channel)
		return false;
	channel_wakes(evd);
	flags = fcntl(evd->channel->fd, F_GETFL);
	return !fcntl(evd->channel->fd, F_SETFL, flags | O_NONBLOCK);
}

static uint32_t cq_size_for(const struct pass_evd *evd, uint64_t entries)
{
	uint64_t size = MIN_CQ;

	while (size < entries)
		size *= 2;
	return size < evd->pia->max_cqe ? size : evd->pia->max_cqe;
}

/*
 * Makes the descriptor readable at the next completion that notifies. If directions of receives
 * are SOLICITED_WAIT these are the solicited ones alone, unless the device does not tell them
 * apart. If the queue cannot be armed, who waits is woken to look (pass_keeper_nudge()).
 */
static void arm_queue(struct pass_evd *evd, struct pass_cq *cq)
{
	bool all = evd->pia->hints & KDAPL_VERBS_UNSOLICITED;

	cq->armed = true;
	if (ibv_req_notify_cq(cq->cq, evd->solicited && !all))
		pass_evd_faulted(evd);
}

static void arm_queues(struct pass_evd *evd)
{
	uint32_t i;

	evd->deaf = false;
	for (i = 0; i < evd->nr_cqs; i++)
		arm_queue(evd, &evd->cqs[i]);
}

/*
 * A new queue is armed if the others are. Threads that sleep are woken, since they may have
 * begun to sleep before there was a completion channel.
 */
static struct pass_cq *cq_add(struct pass_evd *evd, uint64_t entries)
{
	struct pass_cq *cq = &evd->cqs[evd->nr_cqs];

	if (evd->nr_cqs == PASS_MAX_CQS || !channel_make(evd))
		return NULL;
	cq->cq = ibv_create_cq(evd->pia->ctx, cq_size_for(evd, entries), NULL,
			       evd->channel, 0);
	if (!cq->cq)
		return NULL;
	cq->size = cq->cq->cqe;
	cq->promised = 0;
	cq->armed = false;
	evd->nr_cqs++;
	pass_evd_set_aside(evd, PASS_QUEUES, evd->nr_cqs != 1);
	if (evd->sleepers || evd->cno)
		arm_queue(evd, cq);
	if (evd->sleepers)
		pass_evd_wake(evd);
	return cq;
}

/* Resizes a queue so that it holds at least @entries in all. */
static bool cq_grow(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries)
{
	uint32_t size = cq_size_for(evd, entries);

	if (size < entries || ibv_resize_cq(cq->cq, size))
		return false;
	cq->size = cq->cq->cqe;
	return entries <= cq->size;
}

/* The reserved entries of a queue, without those that @ep, which may be NULL, has now. */
static uint32_t promised_to_others(const struct pass_cq *cq, const struct pass_ep *ep)
{
	uint32_t promised = cq->promised;
	int i;

	for (i = 0; ep && i < PASS_DIRS; i++)
		if (ep->dir[i].cq == cq)
			promised -= ep->dir[i].share;
	return promised;
}

/*
 * pass_evd_reserve - find room for the completions of a direction of an EP
 * @evd: not locked
 * @ep: NULL, or an EP whose present reservations are given up when these are there, so that they
 *	count as room. It has no queue pair, so nothing completes there meanwhile. @ep->use is held
 * @entries: number of completions to reserve
 * @cqp: out: the completion queue of @evd that has them; NULL after an error
 *
 * Return: DAT_SUCCESS; DAT_INSUFFICIENT_RESOURCES/TEVD, /MEMORY.
 */
DAT_RETURN pass_evd_reserve(struct pass_evd *evd, const struct pass_ep *ep, uint32_t entries,
			    struct pass_cq **cqp)
{
	struct pass_cq *cq = NULL, *first = &evd->cqs[0];
	DAT_RETURN ret = DAT_SUCCESS;
	uint64_t all = entries;
	uint32_t i, promised;

	shim_lock(evd->lock);
	for (i = 0; i < evd->nr_cqs; i++) {
		promised = promised_to_others(&evd->cqs[i], ep);
		all += promised;
		if (!cq && promised + entries <= evd->cqs[i].size)
			cq = &evd->cqs[i];
	}
	if (entries > evd->pia->max_cqe ||
	    all > (uint64_t)evd->pia->max_cqe * PASS_MAX_CQS) {
		ret = RET_NO_RESOURCE(TEVD);
		goto out;
	}
	if (!cq && evd->nr_cqs && cq_grow(evd, first, promised_to_others(first, ep) + entries))
		cq = first;
	if (!cq)
		cq = cq_add(evd, evd->nr_cqs ? 2 * all : entries);
	if (cq)
		cq->promised += entries;
	else
		ret = RET_NO_RESOURCE(MEMORY);
out:
	shim_unlock(evd->lock);
	*cqp = cq;
	return ret;
}

/*
 * pass_evd_extend - reserve @entries more completions in a queue that has been reserved before
 * @evd: not locked
 *
 * Return: false if the queue cannot be made larger.
 */
bool pass_evd_extend(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries)
{
	bool fits;

	shim_lock(evd->lock);
	fits = cq->promised + entries <= cq->size ||
	       cq_grow(evd, cq, cq->promised + entries);
	if (fits)
		cq->promised += entries;
	shim_unlock(evd->lock);
	return fits;
}

void pass_evd_unreserve(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries)
{
	shim_lock(evd->lock);
	cq->promised -= entries;
	shim_unlock(evd->lock);
}

/*
 * The thread of pass_keeper.c is not told of the next completion any more: who takes an event of
 * the channel may take it instead of that thread, or the queues may be armed in another way. The
 * EVD is locked.
 */
static void keeper_disarmed(struct pass_evd *evd)
{
	if (!evd->kept_armed)
		return;
	evd->kept_armed = false;
	pass_keeper_listen();
}

/*
 * Takes an event of the completion channel. If the queues are armed for solicited completions,
 * this event is the only sign that one was solicited, as the completion itself does not say so.
 * So it counts as an event that notifies. Return: false if there was none.
 */
static bool take_channel_event(struct pass_evd *evd)
{
	struct ibv_cq *cq;
	void *context;

	if (!evd->channel || ibv_get_cq_event(evd->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	evd->notified += !!evd->solicited;
	keeper_disarmed(evd);
	return true;
}

/* Sets the alarm, unless it goes off by @time anyway; ns. */
static void alarm_by(struct pass_evd *evd, uint64_t time)
{
	const struct itimerspec at = {
		.it_value = { time / 1000000000u, time % 1000000000u },
	};

	if (evd->alarm_at <= time)
		return;
	evd->alarm_at = time;
	timerfd_settime(evd->alarm.fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Takes what the alarm has told, if it has gone off. Then it is not set any more. */
static void alarm_clear(struct pass_evd *evd)
{
	uint64_t times;

	if (read(evd->alarm.fd, &times, sizeof(times)) > 0)
		evd->alarm_at = UINT64_MAX;
}

/*
 * pass_evd_wake - have waiters and the thread of the CNO look again; the EVD is locked
 *
 * The bell's descriptor is readable at once. That of an alarm would be when the timer's interrupt
 * has come, and a dat_cno_wait() that only looks would find no trigger before that.
 */
void pass_evd_wake(struct pass_evd *evd)
{
	if (evd->rung || evd->bell.fd < 0 || (!evd->sleepers && !evd->cno))
		return;
	evd->rung = true;
	eventfd_write(evd->bell.fd, 1);
}

/* The bell was heard, or who would have heard it looks now. */
static void bell_clear(struct pass_evd *evd)
{
	eventfd_t times;

	if (!evd->rung)
		return;
	evd->rung = false;
	eventfd_read(evd->bell.fd, &times);
}

/*
 * pass_evd_count_solicited - one more direction of receives is SOLICITED_WAIT, or one less
 * @evd: not locked
 *
 * The queues are armed anew if somebody relies on that: while they are armed for solicited
 * completions alone they do not tell of any others. The thread of pass_keeper.c does so itself.
 */
void pass_evd_count_solicited(struct pass_evd *evd, int by)
{
	shim_lock(evd->lock);
	evd->solicited += by;
	if (evd->sleepers || evd->cno)
		arm_queues(evd);
	keeper_disarmed(evd);
	shim_unlock(evd->lock);
}

/* ---- descriptors ------------------------------------------------------- */

/* What a CNO needs, and a waiter as well */
static DAT_RETURN make_descriptors(struct shim_object *obj, struct pass_evd *evd)
{
	struct kdapl_uapi_evd_poll_fd arg = { .evd = shim_token(obj) };
	DAT_RETURN ret = DAT_SUCCESS;

	shim_fds_lock();
	if (evd->kernel_fd.fd < 0) {
		ret = shim_ioctl(KDAPL_IOC_EVD_POLL_FD, &arg, RET_NO_FAULT);
		if (!ret)
			shim_fd_keep(&evd->kernel_fd, arg.fd);
	}
	if (!ret && evd->bell.fd < 0 &&
	    !shim_fd_keep(&evd->bell, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)))
		ret = RET_NO_RESOURCE(MEMORY);
	shim_fds_unlock();
	return ret;
}

/* The descriptor of the device's asynchronous events; -1 if none of these is for the EVD. */
static int async_fd(const struct pass_evd *evd)
{
	return evd->async ? pass_context_fd(evd->pia->context) : -1;
}

/*
 * Makes the bed of the waiters, unless it is there. Return: the return code of an error that is no
 * lack of memory or descriptors, without which they look by themselves (evd_sleep()).
 */
static DAT_RETURN bed_make(struct shim_object *obj, struct pass_evd *evd)
{
	DAT_RETURN ret;
	bool full;

	if (evd->bed.fd < 0) {
		ret = make_descriptors(obj, evd);
		if (ret)
			return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ? DAT_SUCCESS : ret;
		shim_fds_lock();
		full = evd->alarm.fd >= 0 ||
		       shim_fd_keep(&evd->alarm, timerfd_create(CLOCK_MONOTONIC,
								TFD_CLOEXEC | TFD_NONBLOCK));
		full = full && shim_fd_keep(&evd->bed, epoll_create1(EPOLL_CLOEXEC)) &&
		       epoll_has(evd->bed.fd, evd->kernel_fd.fd, 0) &&
		       epoll_has(evd->bed.fd, evd->bell.fd, 0) &&
		       epoll_has(evd->bed.fd, evd->alarm.fd, 0) &&
		       epoll_has(evd->bed.fd, async_fd(evd), 0);
		shim_fds_unlock();
		if (!full)
			shim_fd_close(&evd->bed);
	}
	channel_wakes(evd);
	return DAT_SUCCESS;
}

/* pass_evd_poll_fd - make the one epoll descriptor of all these, for a CNO */
DAT_RETURN pass_evd_poll_fd(struct shim_object *obj, struct shim_evd *body)
{
	struct pass_evd *evd = pass_evd_of(obj);
	DAT_RETURN ret = make_descriptors(obj, evd);
	int epoll;

	if (ret)
		return ret;
	if (!channel_make(evd))
		return RET_NO_RESOURCE(MEMORY);
	shim_fds_lock();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!shim_fd_keep(&body->poll_fd, epoll))
		ret = RET_NO_RESOURCE(MEMORY);
	shim_fds_unlock();
	if (!ret && (!epoll_has(epoll, evd->channel_fd.fd, EPOLLET) ||
		     !epoll_has(epoll, evd->kernel_fd.fd, EPOLLET) ||
		     !epoll_has(epoll, async_fd(evd), EPOLLET) ||
		     !epoll_has(epoll, evd->bell.fd, EPOLLET)))
		ret = RET_NO_RESOURCE(MEMORY);
	if (ret)
		shim_fd_close(&body->poll_fd);
	return ret;
}

/* ---- what the device tells --------------------------------------------- */

/*
 * pass_evd_hears - may the device have told something of an SRQ that becomes an event of the EVD?
 *
 * The SRQ may be on another IA of the same device, since IAs can share an asynchronous EVD (I5).
 */
bool pass_evd_hears(const struct pass_evd *evd)
{
	return evd->async && pass_context_has_srqs(evd->pia->context);
}

/*
 * Takes what the device has told, with the EVD unlocked. A thread that sleeps calls this only when
 * its descriptor has told it to (look_who_told()).
 */
static void hear(struct shim_object *obj, struct pass_evd *evd)
{
	evd->sleepers++;
	shim_unlock(&obj->lock);
	pass_context_events(evd->pia->context);
	shim_lock(&obj->lock);
	pass_evd_back(evd);
}

/* ---- a CNO ------------------------------------------------------------- */

/* How many events have come to the ring so far */
static uint64_t ring_total(const struct pass_evd *evd)
{
	return evd->taken + shim_ring_filled(evd->ring);
}

/*
 * Notes that the CNO, or a waiter, knows of the first @ring events of the ring, and of all others
 * that are there now. If it knows them because they were counted, @ring is from before the count:
 * the kernel may add an event at any time, and one that nobody has counted would be taken for known
 * when its descriptor tells of it. Return: true if there is nothing new since the last time.
 */
static bool note_known(struct pass_evd *evd, uint64_t ring)
{
	bool known = evd->known_notified == evd->notified && evd->known_ring == ring;

	evd->known_notified = evd->notified;
	evd->known_ring = ring;
	return known;
}

/* Gives queue pairs the posts for which there is room, with the EVD unlocked. */
static void refill(struct shim_object *obj, struct pass_evd *evd)
{
	if (!pass_evd_aside(evd, PASS_DUE))
		return;
	evd->sleepers++;
	shim_unlock(&obj->lock);
	pass_evd_refill(evd);
	shim_lock(&obj->lock);
	pass_evd_back(evd);
}

/*
 * Arms the queues and polls. Completions that have come before the queues were armed may have been
 * solicited or not; nobody can tell, so they count as one that notifies.
 */
static void arm_and_pull(struct pass_evd *evd)
{
	uint32_t before = evd->nr_fifo;

	arm_queues(evd);
	pass_wc_pull(evd);
	if (evd->nr_fifo > before)
		evd->notified += !!evd->solicited;
}

/* The same for a waiter, who polls when he looks, which he does next. */
static void arm_for_wait(struct pass_evd *evd)
{
	if (evd->solicited)
		arm_and_pull(evd);
	else
		arm_queues(evd);
}

/* Takes what the descriptors tell, arms the queues, and counts the events. */
static uint32_t arm_and_count(struct pass_evd *evd, uint32_t *kernels)
{
	while (take_channel_event(evd))
		;
	bell_clear(evd);
	pass_wc_pull(evd);
	arm_and_pull(evd);
	return pass_event_count(evd, kernels);
}

/*
 * pass_evd_rearm - a CNO begins to watch; events that are there already trigger it (E87)
 *
 * The bell rings for these events, and for a waiter, which has to look again because what
 * the descriptors had to tell it was taken here. Otherwise it must not: of several EVDs
 * whose descriptors become readable, the first one is the EVD of the trigger.
 */
void pass_evd_rearm(struct shim_object *obj)
{
	struct pass_evd *evd = pass_evd_of(obj);
	uint64_t ring = ring_total(evd);
	uint32_t kernels, queued;

	evd->cno = true;
	queued = arm_and_count(evd, &kernels);
	note_known(evd, ring);
	if (queued)
		evd->known_notified--;
	if (queued || pass_evd_aside(evd, PASS_WAITER))
		pass_evd_wake(evd);
}

/*
 * pass_evd_notifies - has an event come that triggers the CNO, and of which nobody knows (E76)?
 *
 * Called because the descriptor of the EVD was readable. It is also readable for completions that
 * do not notify, and for those that must not be shown yet. If a thread waits for the EVD by now,
 * nothing is read from the descriptors, because that thread needs it; when it returns it tells
 * the CNO what is left (give_way_to_cno()).
 */
bool pass_evd_notifies(struct shim_object *obj)
{
	struct pass_evd *evd;
	uint32_t kernels, queued;
	bool triggers = false;
	uint64_t ring;

	shim_lock(&obj->lock);
	evd = pass_evd_of(obj);
	if (evd) {
		refill(obj, evd);
		if (pass_evd_hears(evd))
			hear(obj, evd);
	}
	if (evd && !evd->dead && !pass_evd_aside(evd, PASS_WAITER)) {
		ring = ring_total(evd);
		queued = arm_and_count(evd, &kernels);
		triggers = !note_known(evd, ring) && queued;
	}
	shim_unlock(&obj->lock);
	return triggers;
}

/*
 * pass_evd_listen - have the channel tell of the next completion, for the thread of pass_keeper.c
 *
 * It takes what the channel has told already, so that it is not woken by that; others who sleep are
 * woken for what was found. Until it listens again, it is told when somebody else takes an event of
 * the channel and does not arm the queues again (keeper_disarmed()). Return: false if completions
 * may come of which the channel does not tell. A channel whose device is gone (@evd->mute) would
 * wake the thread at once, each time.
 */
bool pass_evd_listen(struct pass_evd *evd)
{
	struct pollfd fd = { .fd = evd->channel_fd.fd };
	bool tells;

	shim_lock(evd->lock);
	evd->kept_armed = false;
	evd->mute |= poll(&fd, 1, 0) > 0 && fd.revents & POLLERR;
	while (take_channel_event(evd))
		;
	arm_and_pull(evd);
	if (evd->first)
		pass_evd_wake(evd);
	evd->kept_armed = true;
	tells = evd->channel && !evd->mute && !evd->deaf && !evd->solicited;
	shim_unlock(evd->lock);
	return tells;
}

/* pass_evd_queued - events in the EVD, which is locked */
uint32_t pass_evd_queued(struct shim_object *obj)
{
	uint32_t kernels;

	return pass_event_count(pass_evd_of(obj), &kernels);
}

/* ---- waiting ----------------------------------------------------------- */

DAT_RETURN pass_evd_set_waitable(struct shim_object *obj, bool waitable)
{
	struct pass_evd *evd = pass_evd_of(obj);

	if (!waitable) {
		evd->unwaitables++;
		pass_evd_wake(evd);
	}
	return DAT_SUCCESS;
}

/*
 * E31: a threshold above 1 is allowed only if every event of the EVD notifies. The kernel knows
 * the streams that feed it.
 */
static DAT_RETURN check_threshold(const struct kdapl_uapi_evd_wait *arg)
{
	struct kdapl_uapi_evd_query query = {
		.evd = arg->evd,
		.mask = DAT_EVD_FIELD_ALL,
	};
	DAT_RETURN ret;

	if (arg->threshold == 1)
		return DAT_SUCCESS;
	ret = shim_ioctl(KDAPL_IOC_EVD_QUERY, &query, RET_NO_FAULT);
	if (ret)
		return ret;
	if (arg->threshold > query.qlen)
		return RET_BAD_ARG(3);
	switch (query.state & DAT_EVD_STATE_CONFIG_THRESHOLD) {
	case DAT_EVD_STATE_CONFIG_NOTIFY:
		return RET_BAD_STATE(EVD_CONFIG_NOTIFY);
	case DAT_EVD_STATE_CONFIG_SOLICITED:
		return RET_BAD_STATE(EVD_CONFIG_SOLICITED);
	default:
		return DAT_SUCCESS;
	}
}

/*
 * struct waiting - one dat_evd_wait()
 * @sleep: the signals
 * @deadline: ns; UINT64_MAX: none; 0: not known before there is need to sleep
 * @armed: the queues are armed, and what had completed before was looked at
 * @blocked: it has slept
 * @stuck: the ring has events for which there is no memory (empty_ring())
 */
struct waiting {
	struct shim_sleep sleep;
	uint64_t deadline;
	bool armed;
	bool blocked;
	bool stuck;
};

/*
 * Moves events that are in the ring, but too few, into the FIFO: the kernel's descriptor is
 * readable as long as they are there. Return: true if some were moved.
 */
static bool empty_ring(struct pass_evd *evd, struct waiting *w)
{
	uint32_t first = evd->ring->consumer;

	w->stuck = false;
	if (!shim_ring_filled(evd->ring))
		return false;
	pass_event_move_ring(evd);
	w->stuck = evd->ring->consumer == first;
	return !w->stuck;
}

/*
 * Takes what has ended a sleep, if the channel had no event. Descriptors whose device is gone tell
 * nothing more, and would end each sleep at once; so they leave the bed.
 */
static void look_who_told(struct shim_object *obj, struct pass_evd *evd)
{
	struct pollfd fds[3] = {
		{ .fd = evd->alarm.fd, .events = POLLIN },
		{ .fd = evd->channel_fd.fd },
		{ .fd = async_fd(evd), .events = POLLIN },
	};

	bell_clear(evd);
	poll(fds, 3, 0);
	if (fds[0].revents)
		alarm_clear(evd);
	if (fds[1].revents & POLLERR) {
		evd->mute = true;
		epoll_ctl(evd->bed.fd, EPOLL_CTL_DEL, fds[1].fd, NULL);
	}
	if (fds[2].revents & POLLERR) {
		evd->async = false;
		epoll_ctl(evd->bed.fd, EPOLL_CTL_DEL, fds[2].fd, NULL);
	}
	if (fds[2].revents)
		hear(obj, evd);
}

/* Sleeps with the EVD unlocked. Return: true if a signal ended the sleep. */
static bool evd_sleep(struct shim_object *obj, struct pass_evd *evd, struct waiting *w)
{
	struct pollfd bed = { .fd = evd->bed.fd, .events = POLLIN };
	/*
	 * If there was no memory for the events of the ring their descriptor would end each sleep
	 * at once. So the sleep is short and on nothing, since nobody tells when there is memory;
	 * nor when there are descriptors, if some could not be had. What the descriptors would have
	 * told is looked at after it.
	 */
	bool nap = w->stuck || bed.fd < 0 || evd->channel_in_bed != !!evd->channel;
	int n;

	if (!nap)
		alarm_by(evd, w->deadline);
	evd->sleepers++;
	w->blocked = true;
	w->sleep.deadline = nap ? w->deadline : UINT64_MAX;
	shim_unlock(&obj->lock);
	n = shim_sleep(&w->sleep, &bed, !nap, nap ? LOOK_NS : UINT64_MAX);
	shim_lock(&obj->lock);
	pass_evd_back(evd);
	if (n > 0 || nap) {
		w->armed = false;
		if (!take_channel_event(evd))
			look_who_told(obj, evd);
	}
	return n == -EINTR;
}

/* Return: true if the wait is over, with the return code in *@ret. */
static bool wait_over(struct shim_object *obj, struct pass_evd *evd, uint64_t token,
		      uint32_t unwaitables, bool enough, bool expired, bool signalled,
		      DAT_RETURN *ret)
{
	if (evd->dead || !shim_is(obj, SHIM_EVD, token) || !obj->body)
		*ret = RET(ABORT);
	else if (evd->unwaitables != unwaitables)
		*ret = RET_BAD_STATE(EVD_UNWAITABLE);
	else if (enough)
		*ret = DAT_SUCCESS;
	else if (expired)
		*ret = RET(TIMEOUT_EXPIRED);
	else if (signalled)
		*ret = RET(INTERRUPTED_CALL);
	else
		return false;
	return true;
}

/*
 * Waits for arg->threshold events (E30..E40). Events that do not notify are counted, but their
 * arrival does not end the wait. The EVD is locked on entry and return.
 *
 * The thread looks, arms the queues, and looks once more before it sleeps. The queues stay armed
 * until the channel tells of a completion. *@queued: out: number of events in the EVD
 */
static DAT_RETURN wait_for(struct shim_object *obj, struct pass_evd *evd,
			   const struct kdapl_uapi_evd_wait *arg, struct waiting *w,
			   uint32_t *queued)
{
	uint32_t threshold = arg->threshold, unwaitables = evd->unwaitables;
	uint32_t notified = evd->notified, ring = 0, kernels;
	bool expired = !arg->timeout, woken = true, signalled = false;
	DAT_RETURN ret;

	for (;;) {
		if (!evd->dead)
			refill(obj, evd);
		if (!evd->dead && expired && pass_evd_hears(evd))
			hear(obj, evd);
		if (!evd->dead) {
			*queued = pass_event_count(evd, &kernels);
			woken |= notified != evd->notified || expired ||
				 kernels != ring;
			notified = evd->notified;
			ring = kernels;
		}
		if (wait_over(obj, evd, arg->evd, unwaitables,
			      woken && *queued >= threshold, expired, signalled, &ret)) {
			shim_sleep_end(&w->sleep);
			return ret;
		}
		/* The clock is looked at only if a sleep has not brought enough. */
		if (w->blocked && shim_now() >= w->deadline) {
			expired = true;
			continue;
		}
		if (!w->armed) {
			if (!w->deadline)
				w->deadline = shim_deadline(arg->timeout);
			arm_for_wait(evd);
			w->armed = true;
			continue;
		}
		if (empty_ring(evd, w))
			continue;
		woken = false;
		signalled = evd_sleep(obj, evd, w);
	}
}

/*
 * A waiter returns, and from now on the EVD triggers its CNO again (E37, E76). The events that
 * came while the waiter slept were for the waiter, if it has got one (@took). The CNO has to be
 * triggered for all others. The waiter has taken the events of the completion channel, so the
 * thread of the CNO is not woken by them; and that thread has left to the waiter what the device
 * told meanwhile. So the queues are armed and polled here, and the CNO's thread is woken if there
 * is something new or the device may have told something.
 *
 * Return: the number of events left. They are counted after the first note_known(), so that each
 * event for which the CNO will not be triggered is in the number that the waiter returns.
 */
static uint32_t give_way_to_cno(struct pass_evd *evd, const struct waiting *w, bool took)
{
	uint32_t kernels, left;

	if (took && w->blocked)
		note_known(evd, ring_total(evd));
	if (!w->armed)
		arm_and_pull(evd);
	left = arm_and_count(evd, &kernels);
	if (!note_known(evd, ring_total(evd)))
		evd->known_notified--;
	else if (!pass_evd_hears(evd))
		return left;
	pass_evd_wake(evd);
	return left;
}

static DAT_RETURN wait_and_take(struct shim_object *obj, struct pass_evd *evd,
				const struct kdapl_uapi_evd_wait *arg, DAT_EVENT *event,
				struct kdapl_uapi_event *kernel, enum pass_took *took,
				DAT_COUNT *more)
{
	struct waiting w = { 0 };
	struct shim_evd *body = obj->body;
	uint32_t queued = 0, left;
	DAT_RETURN ret;

	/* Most events that are there already are one completion of one queue. */
	if (arg->threshold == 1 && !evd->cno && pass_event_take_only(evd, event)) {
		*took = PASS_TOOK;
		*more = 0;
		return DAT_SUCCESS;
	}
	ret = check_threshold(arg);
	if (!ret && arg->timeout)
		ret = bed_make(obj, evd);
	if (ret)
		return ret;
	*took = PASS_TOOK_NONE;
	body->waiter = true;
	pass_evd_set_aside(evd, PASS_WAITER, true);
	body->withheld = false;
	/* Drops the channel's news of solicited completions that were polled before this call. */
	while (evd->solicited && take_channel_event(evd))
		;
	do {
		ret = wait_for(obj, evd, arg, &w, &queued);
		if (DAT_GET_TYPE(ret) == DAT_ABORT)
			return ret;
		if (ret)
			*more = queued;
		else
			*took = pass_event_take(evd, event, kernel);
	} while (!ret && *took == PASS_TOOK_NONE);
	body->waiter = false;
	pass_evd_set_aside(evd, PASS_WAITER, false);
	body->clear_late = false;
	body->withheld = false;
	left = evd->cno ? give_way_to_cno(evd, &w, !ret) : queued - 1;
	if (!ret)
		*more = left;
	refill(obj, evd);
	return ret;
}

DAT_RETURN pass_evd_wait(struct shim_object *obj, struct kdapl_uapi_evd_wait *arg,
			 DAT_EVENT *event, DAT_COUNT *more)
{
	struct pass_evd *evd = pass_evd_of(obj);
	struct kdapl_uapi_event kernel;
	enum pass_took took;
	int cancelable;
	DAT_RETURN ret;

	/* A thread that was canceled in its sleep would stay the EVD's waiter for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
	ret = wait_and_take(obj, evd, arg, event, &kernel, &took, more);
	shim_unlock(&obj->lock);
	pthread_setcancelstate(cancelable, NULL);
	if (!ret && took == PASS_TOOK_KERNEL)
		shim_event(obj, &kernel, event);
	return ret;
}
