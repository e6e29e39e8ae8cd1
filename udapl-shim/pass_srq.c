// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues in passthrough: the library's half, which does what kdapl/core/srq.c and
 * srq_post.c do for the queues of the kernel.
 *
 * A receive belongs to no EP until its completion is polled, and is claimed for one, once, by the
 * number of the queue pair (pass_srq_enter(), pass_srq_leave()). Receives that an EP has of its own
 * do not pay for any of this, since cookies of an SRQ are never PASS_PLAIN.
 *
 * Documentation/rules-by-mode.rst, Shared receive queues, describes both halves: the table of
 * numbers, the low watermark, the receives that Soft-RoCE forgets, the end of a connection.
 */
#include <sched.h>
#include <stdlib.h>

#include "pass_srq.h"

/**
 * struct pass_srq_cookie - a receive of an SRQ
 * @cookie: @cookie.dir is pass_srq.dir until the receive is claimed, then that of an EP
 * @number: number of the post
 * @next, @prev: in the list of queued receives; @next also in that of free cookies
 */
struct pass_srq_cookie {
	struct pass_cookie cookie;
	struct pass_srq *srq;
	uint64_t number;
	struct pass_srq_cookie *next;
	struct pass_srq_cookie *prev;
};

/* A piece of memory with cookies; @next: the piece before, from when the SRQ was smaller */
struct pass_srq_cookies {
	struct pass_srq_cookies *next;
	struct pass_srq_cookie at[];
};

/*
 * The memory of an SRQ is used for other SRQs, but never given back: a post may look at an SRQ that
 * was freed just now.
 */
static struct {
	pthread_mutex_t lock;
	struct pass_srq *free;
} srq_pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* pass_srqs_child - a child of fork() has none of its parent's SRQs */
void pass_srqs_child(void)
{
	pthread_mutex_init(&srq_pool.lock, NULL);
	srq_pool.free = NULL;
}

static struct pass_srq_cookie *srq_cookie_of(struct pass_cookie *cookie)
{
	return (struct pass_srq_cookie *)cookie;
}

_Static_assert(!offsetof(struct pass_srq_cookie, cookie), "srq_cookie_of()");

/* ---- memory ------------------------------------------------------------- */

static struct pass_srq *pool_take(void)
{
	struct pass_srq *srq;

	pthread_mutex_lock(&srq_pool.lock);
	srq = srq_pool.free;
	if (srq)
		srq_pool.free = srq->next_free;
	pthread_mutex_unlock(&srq_pool.lock);
	if (srq)
		return srq;
	srq = calloc(1, sizeof(*srq));
	if (srq)
		pthread_mutex_init(&srq->use, NULL);
	return srq;
}

/* pass_srq_put - drop a reference; the last one gives the cookies back */
void pass_srq_put(struct pass_srq *srq)
{
	struct pass_srq_cookies *next;

	if (atomic_fetch_sub(&srq->refs, 1) != 1)
		return;
	for (; srq->cookies; srq->cookies = next) {
		next = srq->cookies->next;
		free(srq->cookies);
	}
	pthread_mutex_lock(&srq_pool.lock);
	srq->next_free = srq_pool.free;
	srq_pool.free = srq;
	pthread_mutex_unlock(&srq_pool.lock);
}

/* pass_srq_get - the library's half of an SRQ, with a reference; NULL if it was freed */
struct pass_srq *pass_srq_get(struct shim_object *obj)
{
	struct pass_srq *srq = atomic_load(&obj->pass);
	unsigned int refs = srq ? atomic_load(&srq->refs) : 0;

	while (refs)
		if (atomic_compare_exchange_weak(&srq->refs, &refs, refs + 1)) {
			if (srq->dir.owner == obj)
				return srq;
			pass_srq_put(srq);
			break;
		}
	return NULL;
}

/*
 * Makes room for @n receives. @srq->use is held, or no other thread can find the SRQ yet. Return:
 * false without memory.
 */
static bool make_room(struct pass_srq *srq, uint32_t n)
{
	struct pass_srq_cookies *more;
	uint32_t i;

	if (n <= srq->room)
		return true;
	more = calloc(1, sizeof(*more) + (size_t)(n - srq->room) * sizeof(*more->at));
	if (!more)
		return false;
	shim_lock(&srq->dir.lock);
	for (i = 0; i < n - srq->room; i++) {
		struct pass_srq_cookie *sc = &more->at[i];

		sc->srq = srq;
		sc->cookie.dir = &srq->dir;
		sc->cookie.flags = PASS_COOKIE_SRQ;
		sc->next = srq->free;
		srq->free = sc;
	}
	shim_unlock(&srq->dir.lock);
	more->next = srq->cookies;
	srq->cookies = more;
	srq->room = n;
	return true;
}

/* ---- the low watermark -------------------------------------------------- */

/* Polls the queues of an EVD, which is not locked. */
static void pull_evd(struct pass_evd *evd)
{
	shim_lock(evd->lock);
	pass_wc_pull(evd);
	if (evd->first)
		pass_evd_wake(evd);
	shim_unlock(evd->lock);
}

/*
 * Polls all EVDs on which receives of the SRQ complete, or with @hidden only hidden ones, which no
 * consumer polls. @srq->use is held.
 */
static void pull_shares(struct pass_srq *srq, bool hidden)
{
	struct pass_share *share;

	for (share = srq->shares; share; share = share->next)
		if (!hidden || !share->evd->obj)
			pull_evd(share->evd);
}

static void tell(const struct pass_srq *srq, enum kdapl_uapi_srq_news what)
{
	struct kdapl_uapi_srq_tell arg = { .what = what, .srq = srq->token };

	shim_ioctl(KDAPL_IOC_SRQ_TELL, &arg, RET_NO_FAULT);
}

/*
 * Is the watermark reached? If so it is disarmed, so this is true once for each that was set. The
 * lock of the SRQ is held. After true the caller has to drop the lock and call report_low().
 */
static bool is_low(struct pass_srq *srq)
{
	bool low = srq->mark && (srq->fell_low || srq->queued < srq->mark);

	if (low) {
		srq->mark = 0;
		atomic_fetch_add(&srq->telling, 1);
	}
	return low;
}

static void report_low(struct pass_srq *srq)
{
	tell(srq, KDAPL_SRQ_TELL_LOW);
	atomic_fetch_sub(&srq->telling, 1);
}

/* pass_srq_reached - the device has said that fewer receives are left than its watermark */
void pass_srq_reached(struct pass_srq *srq)
{
	bool low;

	shim_lock(&srq->dir.lock);
	srq->fell_low = true;
	low = is_low(srq);
	shim_unlock(&srq->dir.lock);
	if (low)
		report_low(srq);
}

/*
 * Disarms the watermark. If it was reached before, this waits until the kernel has been told: the
 * caller sets the next one, and the kernel would take later news for news of that one. Return: the
 * watermark that was armed, or 0.
 */
static uint32_t take_mark(struct pass_srq *srq)
{
	uint32_t mark;

	shim_lock(&srq->dir.lock);
	mark = srq->mark;
	srq->mark = 0;
	srq->fell_low = false;
	shim_unlock(&srq->dir.lock);
	while (atomic_load(&srq->telling))
		sched_yield();
	return mark;
}

/* Arms a watermark. Return: false if it is 0, or was reached at once. */
static bool give_mark(struct pass_srq *srq, uint32_t mark)
{
	bool low;

	shim_lock(&srq->dir.lock);
	srq->mark = mark;
	low = is_low(srq);
	shim_unlock(&srq->dir.lock);
	if (low)
		report_low(srq);
	return mark && !low;
}

/*
 * Gives the device a watermark. It may fail: the library compares as well, when completions are
 * polled.
 */
static void arm_device(struct pass_srq *srq, uint32_t mark)
{
	struct ibv_srq_attr attr = { .srq_limit = mark };

	ibv_modify_srq(srq->srq, &attr, IBV_SRQ_LIMIT);
	srq->armed = mark;
}

/*
 * Sets a watermark after the former one was taken back (take_mark()). If the device has told of
 * the former one, and nobody has read that yet, it is read here and dropped (mt:M63). The device
 * need not tell of receives that were taken before the new one is armed, so all completions are
 * polled afterwards, and thereby counted.
 */
static void replace_mark(struct pass_srq *srq, uint32_t mark)
{
	if (srq->armed) {
		arm_device(srq, 0);
		pass_context_events(srq->pia->context);
		take_mark(srq);
	}
	if (!give_mark(srq, mark))
		return;
	arm_device(srq, mark);
	pull_shares(srq, false);
}

/* pass_srq_lost - the device has lost the queue (mt:M65) */
void pass_srq_lost(struct pass_srq *srq)
{
	shim_lock(&srq->dir.lock);
	srq->broken = true;
	shim_unlock(&srq->dir.lock);
	tell(srq, KDAPL_SRQ_TELL_ERROR);
}

/* ---- receives ----------------------------------------------------------- */

/* The lock of the SRQ is held in queue_add(), queue_remove() and cookie_back(). */
static void queue_add(struct pass_srq *srq, struct pass_srq_cookie *sc)
{
	srq->queued++;
	sc->next = NULL;
	sc->prev = srq->last;
	*(srq->last ? &srq->last->next : &srq->first) = sc;
	srq->last = sc;
}

static void queue_remove(struct pass_srq *srq, struct pass_srq_cookie *sc)
{
	srq->queued--;
	*(sc->prev ? &sc->prev->next : &srq->first) = sc->next;
	*(sc->next ? &sc->next->prev : &srq->last) = sc->prev;
}

static void cookie_back(struct pass_srq *srq, struct pass_srq_cookie *sc)
{
	sc->cookie.dir = &srq->dir;
	pass_cookie_move(&sc->cookie, PASS_FREE);
	sc->next = srq->free;
	srq->free = sc;
	srq->outstanding--;
}

/* pass_srq_cookie_back - the event of a receive was taken, or no consumer wants it */
void pass_srq_cookie_back(struct pass_cookie *cookie)
{
	struct pass_srq_cookie *sc = srq_cookie_of(cookie);
	struct pass_srq *srq = sc->srq;

	shim_lock(&srq->dir.lock);
	cookie_back(srq, sc);
	shim_unlock(&srq->dir.lock);
}

/* pass_srq_is_full - are as many receives outstanding as may be (mt:M58)? */
bool pass_srq_is_full(struct pass_srq *srq)
{
	bool full;

	shim_lock(&srq->dir.lock);
	full = srq->outstanding >= srq->max;
	shim_unlock(&srq->dir.lock);
	return full;
}

/* pass_srq_pull - poll the completions on hidden EVDs, which no consumer polls (mt:T11) */
void pass_srq_pull(struct pass_srq *srq)
{
	pthread_mutex_lock(&srq->use);
	pull_shares(srq, true);
	pthread_mutex_unlock(&srq->use);
}

/*
 * Gives the device a receive. A queue that the device has lost takes none any more; the post
 * succeeds nevertheless, and the receive stays queued (mt:M59). Return: 0 or an errno.
 */
static int give_device(struct pass_srq *srq, struct pass_srq_cookie *sc, struct ibv_sge *sge,
		       uint32_t nr)
{
	struct ibv_recv_wr wr = {
		.wr_id = (uintptr_t)&sc->cookie,
		.sg_list = sge,
		.num_sge = nr,
	}, *bad;
	struct ibv_sge nothing;

	if (!nr) {
		wr.sg_list = &nothing;
		wr.num_sge = pass_no_bytes(srq->pz, &nothing);
	}
	return srq->broken ? 0 : ibv_post_srq_recv(srq->srq, &wr, &bad);
}

/* pass_srq_give - post a checked receive; the lock is held, and the SRQ has its owner */
DAT_RETURN pass_srq_give(struct pass_srq *srq, uint64_t user, uint64_t length,
			 struct ibv_sge *sge, uint32_t nr)
{
	DAT_RETURN ret = pass_ia_refusal(srq->pia);
	struct pass_srq_cookie *sc = srq->free;
	int err;

	if (ret)
		return ret;
	if (srq->outstanding >= srq->max)
		return RET_NO_RESOURCE(MEMORY);
	srq->free = sc->next;
	srq->outstanding++;
	sc->cookie.user = user;
	sc->cookie.length = length;
	sc->number = ++srq->number;
	queue_add(srq, sc);
	/* Before the call: the completion may be there before it returns. */
	pass_cookie_move(&sc->cookie, PASS_OWED);
	err = give_device(srq, sc, sge, nr);
	if (!err)
		return DAT_SUCCESS;
	queue_remove(srq, sc);
	cookie_back(srq, sc);
	return err == ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET(INTERNAL_ERROR);
}

/* ---- who has taken it --------------------------------------------------- */

/*
 * The link of the table that points to the direction of a queue pair, or the NULL link at which it
 * is to be added. The lock of the SRQ is held.
 */
static struct pass_dir **qp_place(struct pass_srq *srq, uint32_t qp_num)
{
	struct pass_dir **link = &srq->qps[qp_num % PASS_SRQ_QPS];

	while (*link && (*link)->srq_qp != qp_num)
		link = &(*link)->srq_next;
	return link;
}

/*
 * pass_srq_enter - put a new queue pair into the table, before it can take receives
 * @dir: direction of receives of an EP on the SRQ, without a queue pair
 *
 * Return: false if the number is still in the table, since completions of a former queue pair with
 * that number may be left.
 */
bool pass_srq_enter(struct pass_dir *dir, uint32_t qp_num)
{
	struct pass_srq *srq = dir->srq;
	struct pass_dir **place;
	bool entered;

	shim_lock(&srq->dir.lock);
	place = qp_place(srq, qp_num);
	entered = !*place;
	if (entered) {
		dir->srq_qp = qp_num;
		dir->srq_next = NULL;
		/* This queue pair has taken none of the receives that were taken before. */
		dir->srq_taken = srq->taken;
		dir->in_srq = true;
		*place = dir;
	}
	shim_unlock(&srq->dir.lock);
	return entered;
}

/*
 * pass_srq_claim - find the EP that has taken a receive of an SRQ
 * @wc: the completion, not accounted for yet; the EVD that has polled it is locked
 * @cookie: its cookie, with PASS_COOKIE_SRQ
 *
 * May be called several times for one completion. Return: false if the table does not have the
 * queue pair. The cookie is free then, and the completion has to be dropped.
 */
bool pass_srq_claim(const struct ibv_wc *wc, struct pass_cookie *cookie)
{
	struct pass_srq_cookie *sc = srq_cookie_of(cookie);
	struct pass_srq *srq = sc->srq;
	struct pass_dir *dir;
	bool low;

	if (cookie->dir != &srq->dir)
		return true;
	shim_lock(&srq->dir.lock);
	dir = *qp_place(srq, wc->qp_num);
	queue_remove(srq, sc);
	if (sc->number > srq->taken)
		srq->taken = sc->number;
	if (dir) {
		cookie->dir = dir;
		if (sc->number > dir->srq_taken)
			dir->srq_taken = sc->number;
	} else {
		cookie_back(srq, sc);
	}
	low = is_low(srq);
	shim_unlock(&srq->dir.lock);
	if (low)
		report_low(srq);
	return dir;
}

/* Has each queue pair in the table completed the receive of this number or a later one? */
static bool taken_by_all(const struct pass_srq *srq, uint64_t number)
{
	const struct pass_dir *dir;
	uint32_t i;

	for (i = 0; i < PASS_SRQ_QPS; i++)
		for (dir = srq->qps[i]; dir; dir = dir->srq_next)
			if (dir->srq_taken < number)
				return false;
	return true;
}

/* Takes the oldest receive that no queue pair has any more, and gives it to @dir; or NULL. */
static struct pass_srq_cookie *next_lost(struct pass_srq *srq, struct pass_dir *dir)
{
	struct pass_srq_cookie *sc;

	shim_lock(&srq->dir.lock);
	sc = srq->first;
	if (sc && sc->number < srq->taken && taken_by_all(srq, sc->number)) {
		queue_remove(srq, sc);
		pass_cookie_move(&sc->cookie, PASS_HERE);
		sc->cookie.dir = dir;
	} else {
		sc = NULL;
	}
	shim_unlock(&srq->dir.lock);
	return sc;
}

/*
 * pass_srq_leave - poll the last completions of a queue pair, and take it out of the table
 * @dir: its queue pair is destroyed, so that no completion is added; pass_ep.use is held
 * @force: do not wait any longer for completions that must not be shown yet, but flush them
 *
 * Return: false if there are such completions; the caller has to come again.
 */
bool pass_srq_leave(struct pass_dir *dir, bool force)
{
	struct pass_srq *srq = dir->srq;
	struct pass_evd *evd = dir->evd;
	struct pass_srq_cookie *sc;
	bool waits;

	if (!dir->in_srq)
		return true;
	pull_evd(evd);
	shim_lock(evd->lock);
	if (force)
		pass_wc_forget(evd, dir);
	waits = dir->waiting;
	shim_unlock(evd->lock);
	if (waits)
		return false;
	shim_lock(&srq->dir.lock);
	*qp_place(srq, dir->srq_qp) = dir->srq_next;
	dir->in_srq = false;
	shim_unlock(&srq->dir.lock);
	while (srq->pia->hints & KDAPL_VERBS_SRQ_KEEPS && (sc = next_lost(srq, dir)))
		pass_fifo_flushed(evd, &sc->cookie);
	return true;
}

/* ---- completion queues -------------------------------------------------- */

/*
 * pass_share_take - reserve room on an EVD for an EP that completes receives of an SRQ there
 *
 * All such EPs share one reservation, since together they complete no more receives than the SRQ
 * holds. Return: as pass_evd_reserve().
 */
DAT_RETURN pass_share_take(struct pass_srq *srq, struct pass_evd *evd,
			   struct pass_share **sharep)
{
	DAT_RETURN ret = RET_NO_RESOURCE(MEMORY);
	struct pass_share *share;

	pthread_mutex_lock(&srq->use);
	for (share = srq->shares; share && share->evd != evd; share = share->next)
		;
	if (share) {
		share->users++;
		ret = DAT_SUCCESS;
	} else {
		share = calloc(1, sizeof(*share));
		if (share)
			ret = pass_evd_reserve(evd, NULL, srq->room, &share->cq);
		if (ret) {
			free(share);
			share = NULL;
		} else {
			share->srq = srq;
			share->evd = evd;
			share->entries = srq->room;
			share->users = 1;
			share->next = srq->shares;
			srq->shares = share;
		}
	}
	pthread_mutex_unlock(&srq->use);
	*sharep = share;
	return ret;
}

/* pass_share_put - an EP does not use the room any more; @share may be NULL */
void pass_share_put(struct pass_share *share)
{
	struct pass_srq *srq = share ? share->srq : NULL;
	struct pass_share **link;

	if (!share)
		return;
	pthread_mutex_lock(&srq->use);
	if (!--share->users) {
		for (link = &srq->shares; *link != share; link = &(*link)->next)
			;
		*link = share->next;
		pass_evd_unreserve(share->evd, share->cq, share->entries);
		free(share);
	}
	pthread_mutex_unlock(&srq->use);
}

static bool grow_shares(struct pass_srq *srq, uint32_t entries)
{
	struct pass_share *share;

	for (share = srq->shares; share; share = share->next) {
		if (share->entries >= entries)
			continue;
		if (!pass_evd_extend(share->evd, share->cq, entries - share->entries))
			return false;
		share->entries = entries;
	}
	return true;
}

/* ---- life --------------------------------------------------------------- */

static DAT_RETURN queue_make(struct pass_srq *srq, const struct pass_pz *pz)
{
	struct ibv_srq_init_attr init = {
		.srq_context = srq,
		.attr = { .max_wr = srq->max, .max_sge = srq->limits.max_iov },
	};

	if (!make_room(srq, srq->max))
		return RET_NO_RESOURCE(MEMORY);
	srq->srq = ibv_create_srq(pz->pd, &init);
	if (!srq->srq)
		return errno == ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET_NO_RESOURCE(SRQ);
	srq->size = init.attr.max_wr > srq->max ? init.attr.max_wr : srq->max;
	pass_context_count_srqs(srq->pia->context, 1);
	return DAT_SUCCESS;
}

static struct pass_srq *srq_alloc(struct shim_object *obj, struct pass_ia *pia,
				  const struct kdapl_uapi_srq_create *arg)
{
	struct pass_srq *srq = pool_take();

	if (!srq)
		return NULL;
	/* The lock is for a late post on the former SRQ of this memory: it looks at the owner. */
	shim_lock(&srq->dir.lock);
	srq->dir.is_recv = true;
	srq->srq = NULL;
	srq->limits = (struct kdapl_dto_limits) {
		.max_iov = pass_iov(arg->max_recv_iov),
		.max_length = pia->max_message,
	};
	srq->pia = pia;
	srq->token = shim_token(obj);
	srq->max = arg->max_recv_dtos;
	srq->mark = 0;
	srq->fell_low = false;
	srq->armed = false;
	srq->broken = false;
	srq->outstanding = 0;
	srq->queued = 0;
	srq->free = NULL;
	srq->first = NULL;
	srq->last = NULL;
	srq->number = 0;
	srq->taken = 0;
	srq->room = 0;
	srq->cookies = NULL;
	srq->shares = NULL;
	shim_unlock(&srq->dir.lock);
	atomic_store(&srq->refs, 1);
	return srq;
}

static DAT_RETURN srq_make(struct shim_object *obj, struct pass_ia *pia, struct pass_pz *pz,
			   const struct kdapl_uapi_srq_create *arg)
{
	struct pass_srq *srq = srq_alloc(obj, pia, arg);
	DAT_RETURN ret;

	if (!srq)
		return RET_NO_RESOURCE(MEMORY);
	ret = queue_make(srq, pz);
	if (ret) {
		pass_srq_put(srq);
		return ret;
	}
	shim_lock(&srq->dir.lock);
	srq->pz = pz;
	srq->dir.pz = pz;
	srq->dir.owner = obj;
	shim_unlock(&srq->dir.lock);
	pthread_mutex_lock(&pia->lock);
	srq->next = pia->srqs;
	pia->srqs = srq;
	pthread_mutex_unlock(&pia->lock);
	atomic_store(&obj->pass, srq);
	/* A close of the IA at the same time has either seen the SRQ, or is seen here. */
	if (atomic_load(&pia->closing))
		pass_srq_close(obj);
	return DAT_SUCCESS;
}

DAT_RETURN pass_srq_made(struct shim_object *obj, const struct kdapl_uapi_srq_create *arg)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct shim_object *pz_obj = shim_by_token(arg->pz);
	struct pass_pz *pz;
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(IA);
	pz = pz_obj ? pass_pz_use(pz_obj, arg->pz) : NULL;
	ret = pz ? srq_make(obj, pia, pz, arg) : RET_BAD_HANDLE(PZ);
	if (pz && ret)
		pass_pz_unuse(pz);
	pass_ia_put(pia);
	return ret;
}

static bool is_left(void *arg)
{
	const struct pass_srq *srq = arg;

	return !pass_eps_use(srq->pia, srq);
}

/*
 * pass_srq_close - the kernel has destroyed the SRQ, or its IA
 *
 * The receives that are queued go back to the consumer without events (mt:M52). Of several
 * callers only the one that takes the SRQ off its object does anything. It waits for threads that
 * free EPs on the SRQ, until they have destroyed the queue pairs.
 */
void pass_srq_close(struct shim_object *obj)
{
	struct pass_srq *srq = atomic_exchange(&obj->pass, NULL), **link;
	struct pass_ia *pia = srq ? srq->pia : NULL;
	struct pass_pz *pz;
	struct ibv_srq *queue;
	bool let_go;

	if (!srq)
		return;
	pthread_mutex_lock(&srq->use);
	shim_lock(&srq->dir.lock);
	pz = srq->pz;
	queue = srq->srq;
	srq->srq = NULL;
	srq->mark = 0;
	srq->dir.owner = NULL;
	shim_unlock(&srq->dir.lock);
	pthread_mutex_unlock(&srq->use);
	pthread_mutex_lock(&pia->lock);
	for (link = &pia->srqs; *link != srq; link = &(*link)->next)
		;
	*link = srq->next;
	pthread_mutex_unlock(&pia->lock);
	shim_await(&pia->news, is_left, srq, UINT64_MAX);
	let_go = pass_let_go(ibv_destroy_srq(queue));
	pass_context_count_srqs(pia->context, -1);
	pass_pz_unuse(pz);
	/* Completions of a queue that the device keeps name its cookies: these stay. */
	if (let_go)
		pass_srq_put(srq);
}

DAT_RETURN pass_srq_free(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(SRQ);
	ret = shim_handle_call(KDAPL_IOC_SRQ_FREE, obj);
	if (!ret)
		pass_srq_close(obj);
	pass_ia_put(pia);
	return ret;
}

/* ---- query, size and watermark ------------------------------------------ */

/*
 * pass_srq_news - take what the device has told, since it may have lost the queue (mt:M65)
 *
 * No thread listens to the device all the time. So this is called where the consumer queries the
 * SRQ, and where a post fails in a way that a lost queue explains. No lock is held.
 */
void pass_srq_news(const struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);

	if (!pia)
		return;
	pass_context_events(pia->context);
	pass_ia_put(pia);
}

/*
 * The kernel answers all but the number of outstanding receives. That the device has lost the
 * queue it learns from pass_srq_news().
 */
DAT_RETURN pass_srq_query(struct shim_object *obj, struct kdapl_uapi_srq_query *arg)
{
	struct pass_srq *srq = pass_srq_get(obj);
	DAT_RETURN ret;

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	pass_srq_news(obj);
	ret = shim_ioctl(KDAPL_IOC_SRQ_QUERY, arg, RET_NO_FAULT);
	pass_srq_pull(srq);
	shim_lock(&srq->dir.lock);
	arg->outstanding = srq->outstanding;
	shim_unlock(&srq->dir.lock);
	pass_srq_put(srq);
	return ret;
}

/* Return: false if more than @max receives are outstanding. */
static bool set_max(struct pass_srq *srq, uint32_t max)
{
	bool fits;

	shim_lock(&srq->dir.lock);
	fits = srq->outstanding <= max;
	if (fits)
		srq->max = max;
	shim_unlock(&srq->dir.lock);
	return fits;
}

static bool queue_grow(struct pass_srq *srq, uint32_t max)
{
	struct ibv_srq_attr attr = { .max_wr = max };

	if (!make_room(srq, max) || !grow_shares(srq, srq->room))
		return false;
	if (max <= srq->size)
		return true;
	if (ibv_modify_srq(srq->srq, &attr, IBV_SRQ_MAX_WR))
		return false;
	srq->size = max;
	return true;
}

static DAT_RETURN kernel_count(const struct pass_srq *srq, unsigned long cmd, DAT_COUNT count)
{
	struct kdapl_uapi_srq_count arg = { .count = count, .srq = srq->token };

	return shim_ioctl(cmd, &arg, RET_NO_FAULT);
}

/*
 * The kernel checks the argument and compares it with the watermark; the library compares it with
 * the number of outstanding receives (mt:M64).
 */
static DAT_RETURN srq_resize(struct pass_srq *srq, DAT_COUNT count)
{
	DAT_COUNT former = srq->max;
	DAT_RETURN ret;

	if (count > 0 && !set_max(srq, count < former ? count : former))
		return RET(INVALID_STATE);
	ret = kernel_count(srq, KDAPL_IOC_SRQ_RESIZE, count);
	if (!ret && count > former && !queue_grow(srq, count)) {
		ret = RET_NO_RESOURCE(MEMORY);
		kernel_count(srq, KDAPL_IOC_SRQ_RESIZE, former);
	}
	set_max(srq, ret ? former : count);
	return ret;
}

DAT_RETURN pass_srq_resize(struct shim_object *obj, DAT_COUNT count)
{
	struct pass_srq *srq = pass_srq_get(obj);
	DAT_RETURN ret;

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	pthread_mutex_lock(&srq->use);
	ret = srq->srq ? srq_resize(srq, count) : RET_BAD_HANDLE(SRQ);
	pthread_mutex_unlock(&srq->use);
	pass_srq_put(srq);
	return ret;
}

/*
 * A watermark that is replaced is not reached any more (mt:M63). But if it was reached before this
 * call, the event is still due; so what the device has told is read first. If the kernel refuses
 * the new one, the former one is armed again.
 */
static DAT_RETURN srq_set_lw(struct pass_srq *srq, DAT_COUNT count)
{
	uint32_t former;
	DAT_RETURN ret;

	if (srq->armed)
		pass_context_events(srq->pia->context);
	former = take_mark(srq);
	ret = kernel_count(srq, KDAPL_IOC_SRQ_SET_LW, count);
	if (ret)
		give_mark(srq, former);
	else
		replace_mark(srq, count);
	return ret;
}

DAT_RETURN pass_srq_set_lw(struct shim_object *obj, DAT_COUNT count)
{
	struct pass_srq *srq = pass_srq_get(obj);
	DAT_RETURN ret;

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	pthread_mutex_lock(&srq->use);
	ret = srq->srq ? srq_set_lw(srq, count) : RET_BAD_HANDLE(SRQ);
	pthread_mutex_unlock(&srq->use);
	pass_srq_put(srq);
	return ret;
}
