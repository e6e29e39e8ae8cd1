// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of an EVD whose completion queues are the process's own, and waiting for its
 * events.
 *
 * A thread that waits sleeps in one ppoll(2) on three descriptors: the completion channel,
 * the kernel's descriptor of the ring, and an eventfd for what comes by neither (a flushed
 * post, the end of a connection, an EVD that is freed). It arms the queues, looks once more,
 * and sleeps; so a completion is either seen by that look or wakes it. For an asynchronous EVD
 * there is a fourth, by which the device tells of the process's queues (pass_ctx.c): a thread
 * that is woken by it tells the kernel, which raises the event, and sleeps on. If there are no
 * descriptors to be had, a thread that waits looks by itself, again and again.
 *
 * A CNO has the same ones, and a timer, in one descriptor. When that is readable the CNO's
 * thread arms the queues and looks, in pass_evd_notifies(), before anybody is told.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "passthrough.h"

/* A completion queue has at least so many entries; one that is too small is resized. */
#define MIN_CQ	256u

/* A device has ten seconds to flush an EP, and after that the library does; ns */
#define EPS_LIMIT	20000000000ull

/* How often a waiter looks by itself while something is to be looked at */
#define LOOK_NS	1000000u

uint64_t pass_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void pass_pause(unsigned int us)
{
	struct timespec t = { .tv_nsec = us * 1000l };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* ---- life -------------------------------------------------------------- */

/* The ring of a hidden EVD, which the kernel does not know. */
static const struct kdapl_uapi_ring_header no_header;
static struct shim_ring no_ring = { .header = &no_header };

/* @pia: kept by the caller; the EVD keeps it, too */
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
	evd->wake.fd = -1;
	evd->later.fd = -1;
	return evd;
}

struct pass_evd *pass_evd_hidden(struct pass_ia *pia)
{
	return evd_alloc(pia, NULL);
}

static void evd_free(struct pass_evd *evd)
{
	struct pass_dir *dir;
	uint32_t i;

	shim_lock(evd->lock);
	pass_fifo_drop(evd);
	shim_unlock(evd->lock);
	for (i = 0; i < evd->nr_cqs; i++)
		ibv_destroy_cq(evd->cqs[i].cq);
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
	if (evd->channel)
		ibv_destroy_comp_channel(evd->channel);
	shim_fds_unlock();
	shim_fd_close(&evd->kernel_fd);
	shim_fd_close(&evd->wake);
	shim_fd_close(&evd->later);
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
	/* Who closes the IA meanwhile takes the body first. */
	shim_lock(&obj->lock);
	closed = !obj->body;
	if (!closed)
		atomic_store(&obj->pass, evd);
	shim_unlock(&obj->lock);
	if (!closed)
		return DAT_SUCCESS;
	evd_free(evd);
	return RET_BAD_HANDLE(IA);
}

void pass_evd_hidden_free(struct pass_evd *evd)
{
	if (evd)
		evd_free(evd);
}

/*
 * pass_evd_gone - the kernel has destroyed the EVD
 *
 * Its body is not there any more, so nobody begins to wait. Who waits is told to return,
 * and is waited for; so is who frees or modifies an EP that has used it.
 */
void pass_evd_gone(struct shim_object *obj, struct shim_evd *body)
{
	uint64_t until = pass_now() + EPS_LIMIT;
	struct pass_evd *evd;
	bool asleep, used;

	(void)body;
	shim_lock(&obj->lock);
	evd = atomic_exchange(&obj->pass, NULL);
	if (evd)
		evd->dead = true;
	shim_unlock(&obj->lock);
	if (!evd)
		return;
	for (;;) {
		shim_lock(&obj->lock);
		asleep = evd->sleepers;
		pass_evd_wake(evd);
		shim_unlock(&obj->lock);
		used = atomic_load(&evd->users) || pass_eps_connect_with(evd->pia, obj);
		if (!asleep && (!used || pass_now() > until))
			break;
		pass_pause(100);
	}
	evd->ring = &no_ring;
	/* An EP that is never given back may look at it. */
	if (!used)
		evd_free(evd);
}

/*
 * pass_evd_use - a direction of an EP has the EVD, or is about to; pass_evd_unuse() is its last
 * look at it. NULL: the EVD is being freed.
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
	atomic_fetch_sub(&evd->users, 1);
}

/* ---- completion queues ------------------------------------------------- */

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

/* Has the next completion that somebody waits for wake the descriptor. */
static void arm_queue(const struct pass_evd *evd, struct pass_cq *cq)
{
	bool all = evd->pia->hints & KDAPL_VERBS_UNSOLICITED;

	ibv_req_notify_cq(cq->cq, evd->solicited && !all);
}

static void arm_queues(struct pass_evd *evd)
{
	uint32_t i;

	for (i = 0; i < evd->nr_cqs; i++)
		arm_queue(evd, &evd->cqs[i]);
}

/* A new queue is armed if the others are. Who sleeps may not know the channel yet. */
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
	evd->nr_cqs++;
	pass_evd_set_aside(evd, PASS_QUEUES, evd->nr_cqs != 1);
	if (evd->sleepers || evd->cno)
		arm_queue(evd, cq);
	if (evd->sleepers)
		pass_evd_wake(evd);
	return cq;
}

/* Has a queue hold so many entries in all. */
static bool cq_grow(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries)
{
	uint32_t size = cq_size_for(evd, entries);

	if (size < entries || ibv_resize_cq(cq->cq, size))
		return false;
	cq->size = cq->cq->cqe;
	return entries <= cq->size;
}

/* What is promised of a queue, but for what @ep, if there is one, has of it now. */
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
 * pass_evd_reserve - a direction of an EP is going to complete on an EVD
 * @evd: not locked
 * @ep: what this EP has reserved is going to be given up for this, and makes room; or NULL.
 *	It has no queue pair, so nothing completes there meanwhile. @ep->use is held
 * @cq: out: the queue that has room for @entries completions more
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
 * pass_evd_extend - more completions than were reserved, in the same queue
 * @evd: not locked
 *
 * Return: false: the queue cannot be made larger.
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
 * Takes an event of the channel. What the device calls solicited it says by that alone, so
 * it counts as one that notifies. Return: false: there was none.
 */
static bool take_channel_event(struct pass_evd *evd)
{
	struct ibv_cq *cq;
	void *context;

	if (!evd->channel || ibv_get_cq_event(evd->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	evd->notified += !!evd->solicited;
	return true;
}

static void drain_wake(struct pass_evd *evd)
{
	uint64_t count;

	if (evd->wake.fd >= 0 && read(evd->wake.fd, &count, sizeof(count)) < 0)
		return;
}

/* pass_evd_wake - let who waits look again; the EVD is locked */
void pass_evd_wake(struct pass_evd *evd)
{
	uint64_t one = 1;

	if (evd->wake.fd < 0 || !(evd->sleepers || evd->cno))
		return;
	/* Fails only when the counter is full, and then it is readable. */
	if (write(evd->wake.fd, &one, sizeof(one)) < 0)
		return;
}

/*
 * pass_evd_count_solicited - one more direction of receives is SOLICITED_WAIT, or one less
 * @evd: not locked
 *
 * A queue that is armed for these completions alone does not tell of others.
 */
void pass_evd_count_solicited(struct pass_evd *evd, int by)
{
	shim_lock(evd->lock);
	evd->solicited += by;
	if (evd->sleepers || evd->cno)
		arm_queues(evd);
	shim_unlock(evd->lock);
}

/* ---- descriptors ------------------------------------------------------- */

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
	if (!ret && evd->wake.fd < 0 &&
	    !shim_fd_keep(&evd->wake, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)))
		ret = RET_NO_RESOURCE(MEMORY);
	shim_fds_unlock();
	return ret;
}

/* The descriptor by which the device tells; -1: nothing of what it tells is for the EVD. */
static int async_fd(const struct pass_evd *evd)
{
	return evd->async ? pass_context_fd(evd->pia->context) : -1;
}

static bool epoll_has(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	return fd < 0 || !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* pass_evd_poll_fd - one descriptor of all, for a CNO */
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
	if (!shim_fd_keep(&body->poll_fd, epoll) ||
	    !shim_fd_keep(&evd->later, timerfd_create(CLOCK_MONOTONIC,
						      TFD_CLOEXEC | TFD_NONBLOCK)))
		ret = RET_NO_RESOURCE(MEMORY);
	shim_fds_unlock();
	if (!ret && (!epoll_has(epoll, evd->channel_fd.fd) ||
		     !epoll_has(epoll, evd->kernel_fd.fd) ||
		     !epoll_has(epoll, async_fd(evd)) ||
		     !epoll_has(epoll, evd->wake.fd) ||
		     !epoll_has(epoll, evd->later.fd)))
		ret = RET_NO_RESOURCE(MEMORY);
	if (ret) {
		shim_fd_close(&body->poll_fd);
		shim_fd_close(&evd->later);
	}
	return ret;
}

/* ---- what the device tells --------------------------------------------- */

/*
 * pass_evd_hears - may the device have told of an SRQ what becomes an event of the EVD?
 *
 * The EVD may be that of another IA on the same device (I5).
 */
bool pass_evd_hears(const struct pass_evd *evd)
{
	return evd->async && pass_context_has_srqs(evd->pia->context);
}

/* Takes what it has told, with the EVD unlocked. Who sleeps need not: see evd_sleep(). */
static void hear(struct shim_object *obj, struct pass_evd *evd)
{
	if (!pass_evd_hears(evd))
		return;
	evd->sleepers++;
	shim_unlock(&obj->lock);
	pass_context_events(evd->pia->context);
	shim_lock(&obj->lock);
	evd->sleepers--;
}

/* ---- a CNO ------------------------------------------------------------- */

/* What is there now is known, to the CNO or to a waiter. Return: it was known before. */
static bool tell(struct pass_evd *evd)
{
	uint64_t ring = evd->taken + shim_ring_filled(evd->ring);
	bool known = evd->told_notified == evd->notified && evd->told_ring == ring;

	evd->told_notified = evd->notified;
	evd->told_ring = ring;
	return known;
}

/* Looks at connections that are ending, with the EVD unlocked. */
static void watch(struct shim_object *obj, struct pass_evd *evd)
{
	struct pass_ia *pia = evd->pia;

	if (!pass_evd_watched(evd))
		return;
	evd->sleepers++;
	shim_unlock(&obj->lock);
	pass_watch_run(pia, evd);
	shim_lock(&obj->lock);
	evd->sleepers--;
}

/* Is there something to be looked at again, of which nobody will tell? */
static bool has_to_look(const struct pass_evd *evd)
{
	return pass_evd_aside(evd, PASS_WAITING) || pass_evd_watched(evd) ||
	       evd->kernel_fd.fd < 0 || evd->wake.fd < 0;
}

/* Has the CNO's thread look again in a moment, if need be. */
static void look_later(const struct pass_evd *evd)
{
	static const struct itimerspec later = { .it_value.tv_nsec = LOOK_NS };

	if (has_to_look(evd))
		timerfd_settime(evd->later.fd, 0, &later, NULL);
}

/* What has come to a queue that was not armed may have been solicited, or not. */
static void arm_and_pull(struct pass_evd *evd)
{
	uint32_t before = evd->nr_fifo;

	arm_queues(evd);
	pass_wc_pull(evd);
	if (evd->nr_fifo > before)
		evd->notified += !!evd->solicited;
}

/* Takes what the descriptors tell, arms the queues, and counts the events. */
static uint32_t arm_and_count(struct pass_evd *evd, uint32_t *kernels)
{
	while (take_channel_event(evd))
		;
	drain_wake(evd);
	pass_wc_pull(evd);
	arm_and_pull(evd);
	return pass_event_count(evd, kernels);
}

/*
 * pass_evd_rearm - a CNO begins to watch; what is there already triggers it (E87)
 *
 * Nothing else makes the descriptor readable: of two EVDs the one that was so first is the
 * one of the trigger. A waiter has to look again for what was taken here of what wakes it.
 */
void pass_evd_rearm(struct shim_object *obj)
{
	struct pass_evd *evd = pass_evd_of(obj);
	uint32_t kernels, queued;

	evd->cno = true;
	queued = arm_and_count(evd, &kernels);
	tell(evd);
	look_later(evd);
	if (queued)
		evd->told_notified--;
	if (queued || pass_evd_aside(evd, PASS_WAITER))
		pass_evd_wake(evd);
}

/*
 * pass_evd_notifies - is an event there that triggers, and of which nobody was told (E76)?
 *
 * The descriptor of the EVD was readable. It is so for completions that do not notify, too,
 * and for those that cannot be seen yet. If somebody waits by now, what there is to be read
 * is his (give_way_to_cno()).
 */
bool pass_evd_notifies(struct shim_object *obj)
{
	struct pass_evd *evd;
	uint32_t kernels, queued;
	bool triggers = false;

	shim_lock(&obj->lock);
	evd = pass_evd_of(obj);
	if (evd) {
		watch(obj, evd);
		hear(obj, evd);
	}
	if (evd && !evd->dead && !pass_evd_aside(evd, PASS_WAITER)) {
		queued = arm_and_count(evd, &kernels);
		triggers = !tell(evd) && queued;
		look_later(evd);
	}
	shim_unlock(&obj->lock);
	return triggers;
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

/* E31: more than one event only if each of them notifies. The kernel knows the streams. */
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
 * @deadline: ns; UINT64_MAX: none
 * @armed: the queues are, and what has completed before was looked at
 * @blocked: it has slept
 * @slept, @held, @mask: its signals. A wait that sleeps once ends with a signal that comes
 *	then. One that has to sleep again must not lose a signal that comes between, so they
 *	are held back until it sleeps: from the second time on, or from the first one if one
 *	event is not enough, if it has to look by itself, or if what the device tells may wake it
 *	for others.
 */
struct waiting {
	uint64_t deadline;
	bool armed;
	bool blocked;
	bool slept;
	bool held;
	sigset_t mask;
};

static void signals_hold(struct waiting *w)
{
	sigset_t all;

	if (w->slept && !w->held) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &w->mask);
		w->held = true;
	}
	w->slept = true;
}

static void signals_give_back(struct waiting *w)
{
	if (w->held)
		pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
	w->held = false;
}

/* How long to sleep, at most; ns */
static uint64_t sleep_time(const struct waiting *w, bool look)
{
	uint64_t now, left = UINT64_MAX;

	if (w->deadline != UINT64_MAX) {
		now = pass_now();
		left = w->deadline <= now ? 0 : w->deadline - now;
	}
	return look && left > LOOK_NS ? LOOK_NS : left;
}

/* Sleeps with the EVD unlocked. Return: 0, or the errno of ppoll(2). */
static int evd_sleep(struct shim_object *obj, struct pass_evd *evd, struct waiting *w)
{
	/* Readable while events are there that are too few: no use to sleep on. */
	bool ring_too = !shim_ring_filled(evd->ring);
	struct pollfd fds[4] = {
		{ .fd = evd->wake.fd, .events = POLLIN },
		{ .fd = evd->mute ? -1 : evd->channel_fd.fd, .events = POLLIN },
		{ .fd = ring_too ? evd->kernel_fd.fd : -1, .events = POLLIN },
		{ .fd = async_fd(evd), .events = POLLIN },
	};
	uint64_t left = sleep_time(w, has_to_look(evd) || !ring_too);
	struct timespec limit = {
		.tv_sec = left / 1000000000u,
		.tv_nsec = left % 1000000000u,
	};
	int n, err;

	evd->sleepers++;
	w->blocked = true;
	shim_unlock(&obj->lock);
	signals_hold(w);
	n = ppoll(fds, 4, left == UINT64_MAX ? NULL : &limit, w->held ? &w->mask : NULL);
	err = n < 0 ? errno : 0;
	if (n > 0 && fds[3].revents)
		pass_context_events(evd->pia->context);
	shim_lock(&obj->lock);
	evd->sleepers--;
	/* Without their device these two have nothing to tell, and would end each sleep. */
	if (n > 0 && fds[1].revents & POLLERR)
		evd->mute = true;
	if (n > 0 && fds[3].revents & POLLERR)
		evd->async = false;
	if (n > 0 && fds[0].revents)
		drain_wake(evd);
	if (n > 0 && fds[1].revents) {
		take_channel_event(evd);
		w->armed = false;
	}
	return err;
}

/* One look. True: the wait is over, with the code *@ret. */
static bool wait_over(struct shim_object *obj, struct pass_evd *evd, uint64_t token,
		      uint32_t unwaitables, bool enough, bool expired, int err,
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
	else if (err == EINTR)
		*ret = RET(INTERRUPTED_CALL);
	else
		return false;
	return true;
}

/*
 * Waits for @threshold events (E30..E40). Events that do not notify count, but do not end
 * the wait. The EVD is locked on entry and return.
 *
 * It looks, arms the queues, and looks once more before it sleeps. They stay armed until the
 * channel has told of a completion.
 */
static DAT_RETURN wait_for(struct shim_object *obj, struct pass_evd *evd,
			   const struct kdapl_uapi_evd_wait *arg, struct waiting *w,
			   uint32_t *queued)
{
	uint32_t threshold = arg->threshold, unwaitables = evd->unwaitables;
	uint32_t notified = evd->notified, ring = 0, kernels;
	bool expired = !arg->timeout, woken = true;
	DAT_RETURN ret;
	int err = 0;

	for (;;) {
		if (!evd->dead)
			watch(obj, evd);
		if (!evd->dead && expired)
			hear(obj, evd);
		if (!evd->dead) {
			*queued = pass_event_count(evd, &kernels);
			woken |= notified != evd->notified || expired ||
				 kernels != ring;
			notified = evd->notified;
			ring = kernels;
		}
		if (wait_over(obj, evd, arg->evd, unwaitables,
			      woken && *queued >= threshold, expired, err, &ret)) {
			signals_give_back(w);
			return ret;
		}
		if (!w->armed) {
			arm_and_pull(evd);
			w->armed = true;
			continue;
		}
		woken = false;
		err = evd_sleep(obj, evd, w);
		expired = w->deadline != UINT64_MAX && pass_now() >= w->deadline;
	}
}

/*
 * The waiter goes. What came while it slept was for it, if it has got an event; of all else
 * the CNO has to hear (E37, E76). What the channel has told the waiter it does not tell the
 * CNO's thread; and what the device has told meanwhile that thread has left to the waiter.
 *
 * Return: how many events are left. It is counted after the first tell(), so that the waiter is
 * told of each event of which the CNO will not hear.
 */
static uint32_t give_way_to_cno(struct pass_evd *evd, const struct waiting *w, bool took)
{
	uint32_t kernels, left;

	if (took && w->blocked)
		tell(evd);
	if (!w->armed)
		arm_and_pull(evd);
	left = arm_and_count(evd, &kernels);
	look_later(evd);
	if (!tell(evd))
		evd->told_notified--;
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
	struct waiting w = {
		.deadline = arg->timeout == DAT_TIMEOUT_INFINITE ? UINT64_MAX :
			    pass_now() + arg->timeout * 1000ull,
	};
	struct shim_evd *body = obj->body;
	uint32_t queued = 0, left;
	DAT_RETURN ret;

	ret = check_threshold(arg);
	if (!ret)
		ret = make_descriptors(obj, evd);
	/* It can do without: has_to_look() */
	if (ret && DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
		return ret;
	w.slept = arg->threshold > 1 || evd->async || has_to_look(evd);
	*took = PASS_TOOK_NONE;
	body->waiter = true;
	pass_evd_set_aside(evd, PASS_WAITER, true);
	body->withheld = false;
	/* Of solicited completions that were taken already */
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

	/* A thread that ended in its sleep would be a waiter for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
	ret = wait_and_take(obj, evd, arg, event, &kernel, &took, more);
	shim_unlock(&obj->lock);
	pthread_setcancelstate(cancelable, NULL);
	if (!ret && took == PASS_TOOK_KERNEL)
		shim_event(obj, &kernel, event);
	return ret;
}
