// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection in passthrough: the library's half, which does what kdapl/core/drain.c
 * does for queue pairs of the kernel. Each post completes exactly once, and the event that tells
 * of the end comes after the last of these completions (A5).
 *
 * The kernel moves the queue pair to the error state and raises the event. The thread that takes
 * the event off the ring does not show it, but keeps it in the EP (pass_end_hold()). From then on
 * no post goes to the queue pair, and the EVDs of both directions are polled until each direction
 * has completed all that was posted. Something may have been posted so late that the device does
 * not flush it by itself; then the kernel is asked to repeat the move. When all has completed, the
 * queue pair is destroyed, the event goes into the FIFO of the connect EVD, and posts that came
 * meanwhile are flushed behind it (D46). If the device has not flushed everything after ten
 * seconds, the library does it instead.
 *
 * An EP on a shared receive queue (SRQ) has no receives of its own, and nobody counts the receives
 * that its queue pair takes. There the end waits until all requests have completed, and until the
 * device has said that the queue pair takes no more receives, if the device says so at all. Then
 * the queue pair is destroyed, after which the device adds no more completions for it, and the
 * completion queue is polled to its end.
 *
 * A graceful disconnect waits until all requests have completed by themselves, also those that had
 * to wait for room on the queue pair. Threads that poll
 * find out when they have (pass_watch_run()). In case none polls, a thread of the library looks,
 * too, for as long as the drain is pending.
 */
#include <stdlib.h>

#include "pass_event.h"
#include "pass_srq.h"

#define FLUSH_LIMIT	10000000000ull	/* ns */
#define FLUSH_AGAIN	5000000ull
/*
 * How long a disconnect waits for the board. The kernel writes the board after the event is in the
 * ring, and there may be no room in the ring for any length of time.
 */
#define ROOM_LIMIT	1000000000ull

/* ---- who has to look --------------------------------------------------- */

/* Counts the EP in pass_evd.aside of its EVDs (@by is 1), or takes it back (-1). */
static void watch(struct pass_ep *ep, unsigned int by)
{
	struct pass_evd *connect = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;
	int i;

	for (i = 0; i < PASS_DIRS; i++)
		if (ep->dir[i].evd)
			atomic_fetch_add(&ep->dir[i].evd->aside, by * PASS_WATCHED);
	if (connect)
		atomic_fetch_add(&connect->aside, by * PASS_WATCHED);
}

/* pass_end_want - the connection is over: have threads that poll carry out its end */
void pass_end_want(struct pass_ep *ep)
{
	if (!atomic_exchange(&ep->ending, true))
		watch(ep, 1);
}

/* pass_end_hold - keep the event of the end; the connect EVD is locked */
void pass_end_hold(struct pass_ep *ep, const struct kdapl_uapi_event *event)
{
	ep->end->event = *event;
	ep->end_held = true;
	pass_end_want(ep);
}

/* ---- counting ---------------------------------------------------------- */

static bool dir_drained(struct pass_dir *dir)
{
	struct pass_evd *evd = dir->evd;
	bool drained;

	if (evd) {
		shim_lock(evd->lock);
		pass_wc_pull(evd);
		if (evd->first)
			pass_evd_wake(evd);
		shim_unlock(evd->lock);
	}
	shim_lock(&dir->lock);
	pass_refill(dir);
	drained = !atomic_load(&dir->owing) &&
		  dir->posted == atomic_load_explicit(&dir->completed,
						      memory_order_acquire);
	shim_unlock(&dir->lock);
	/*
	 * Receives of an SRQ are not counted, but all that were in the completion queue are polled
	 * now. The queue pair is destroyed next, and some libraries drop its completions with it.
	 */
	return drained;
}

/*
 * Of an EP on an SRQ: has the device said that the queue pair takes no more receives? True as well
 * if it never says so, and for EPs without an SRQ.
 */
static bool took_last(struct pass_ep *ep)
{
	if (!ep->dir[PASS_RECV].srq || !(ep->pia->hints & KDAPL_VERBS_TELLS_LAST) ||
	    !atomic_load(&ep->established))
		return true;
	pass_context_events(ep->pia->context);
	return atomic_load(&ep->last_wqe);
}

static bool ep_drained(struct pass_ep *ep)
{
	bool requests = took_last(ep) && dir_drained(&ep->dir[PASS_REQ]);

	return dir_drained(&ep->dir[PASS_RECV]) && requests;
}

/* ---- flushing ---------------------------------------------------------- */

static void close_gates(struct pass_ep *ep)
{
	int i;

	for (i = 0; i < PASS_DIRS; i++) {
		shim_lock(&ep->dir[i].lock);
		if (ep->dir[i].gate != PASS_FLUSH)
			ep->dir[i].gate = PASS_LATE;
		/* What has waited for room is flushed behind what the queue pair has. */
		pass_owe_nothing(&ep->dir[i]);
		shim_unlock(&ep->dir[i].lock);
	}
}

/* Has the queue pair moved to the error state again, which flushes what was posted since. */
static void flush_again(struct pass_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = ep->dir[PASS_REQ].qp;

	if (ep->bound)
		pass_tell(ep, KDAPL_TELL_FLUSH);
	else if (qp)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/*
 * Has all completed that was posted? False: the caller has to come again. *@lost: true if the
 * device had its time and something may still be missing; the result is true then.
 */
static bool flushed(struct pass_ep *ep, bool *lost)
{
	uint64_t now;

	*lost = false;
	if (ep_drained(ep))
		return true;
	now = shim_now();
	if (!ep->flush_until) {
		ep->flush_until = now + FLUSH_LIMIT;
		ep->flush_next = now;
	}
	if (now >= ep->flush_next) {
		flush_again(ep);
		ep->flush_next = now + FLUSH_AGAIN;
		if (ep_drained(ep))
			return true;
	}
	*lost = now >= ep->flush_until;
	return *lost;
}

/*
 * Were all receives polled that the queue pair, which is destroyed, has taken from an SRQ? False:
 * the caller has to come again.
 */
static bool left_srq(struct pass_ep *ep)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];

	if (!recv->in_srq)
		return true;
	if (!ep->flush_until)
		ep->flush_until = shim_now() + FLUSH_LIMIT;
	return pass_srq_leave(recv, shim_now() >= ep->flush_until);
}

/*
 * If the device still owes the completion of a cookie, marks the cookie so that this completion
 * will be dropped. Return: whether it was owed.
 */
static bool cookie_disown(struct pass_dir *dir, struct pass_cookie *cookie)
{
	bool owed;

	shim_lock(dir->evd->lock);
	owed = pass_cookie_owed(cookie);
	if (owed) {
		/* All that the direction is owed goes the same way. */
		pass_wc_forget(dir->evd, dir);
		pass_cookie_move(cookie, PASS_HERE);
	}
	if (owed && cookie->rmr) {
		pass_rmr_completed(cookie, false);
		cookie->rmr = NULL;
	}
	shim_unlock(dir->evd->lock);
	return owed;
}

/* Flushes all posts that the device still owes, in posting order. */
static void dir_lose(struct pass_dir *dir)
{
	struct pass_cookie *cookie;
	bool lost = false;
	uint32_t n;

	shim_lock(&dir->lock);
	for (cookie = dir->next, n = 0; n < dir->size; n++, cookie = cookie->after) {
		if (!cookie_disown(dir, cookie))
			continue;
		pass_fifo_flushed(dir->evd, cookie);
		lost = true;
	}
	if (lost)
		pass_dir_park(dir);
	atomic_store(&dir->completed, dir->posted);
	shim_unlock(&dir->lock);
}

/*
 * Gives up what the device still owes, without events: the EP is destroyed. The completions may be
 * in the completion queue already, where another thread finds them; they are dropped there.
 */
static void dir_abandon(struct pass_dir *dir)
{
	struct pass_cookie *cookie;
	bool owed = false;
	uint32_t n;

	shim_lock(&dir->lock);
	for (cookie = dir->next, n = 0; n < dir->size; n++, cookie = cookie->after)
		owed |= cookie_disown(dir, cookie);
	if (owed)
		pass_dir_park(dir);
	/* A post from here on is flushed at once, since no end will come that flushes it. */
	dir->gate = PASS_FLUSH;
	shim_unlock(&dir->lock);
}

/* Flushes the posts that wait for a queue pair, or for room on it. */
static void dir_flush_held(struct pass_dir *dir)
{
	struct pass_cookie *cookie;

	shim_lock(&dir->lock);
	for (; dir->held; dir->held--) {
		cookie = dir->held_first;
		dir->held_first = cookie->after;
		pass_fifo_flushed(dir->evd, cookie);
	}
	shim_unlock(&dir->lock);
}

/*
 * Flushes the posts that came after the end of the connection. @gate: what becomes of posts from
 * here on
 */
static void dir_flush_late(struct pass_dir *dir, enum pass_gate gate)
{
	struct pass_cookie *cookie;

	shim_lock(&dir->lock);
	while (dir->late) {
		cookie = dir->late;
		dir->late = cookie->late_next;
		pass_fifo_flushed(dir->evd, cookie);
	}
	dir->late_end = &dir->late;
	dir->kept = 0;
	dir->gate = gate;
	shim_unlock(&dir->lock);
}

/* Takes the event of the end off the ring of the connect EVD, if no thread has yet. */
static void seek_end(struct pass_ep *ep)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;

	if (!evd)
		return;
	shim_lock(evd->lock);
	if (!ep->end_held && !atomic_load(&ep->over))
		pass_event_move_ring(evd);
	/* A thread that was woken for an event in the ring has to look for it in the FIFO now. */
	if (evd->first)
		pass_evd_wake(evd);
	shim_unlock(evd->lock);
}

/*
 * Puts the event of the end, if it is held, into the FIFO of the connect EVD. Later posts are
 * flushed behind it. @force: do not wait for an event that is not held; it was shown before, or
 * there will be none. Return: false if the event has not come yet.
 */
static bool show_end(struct pass_ep *ep, bool force)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;
	bool over;

	if (!evd)
		return true;
	shim_lock(evd->lock);
	over = force || ep->end_held || atomic_load(&ep->over);
	if (ep->end_held) {
		ep->end_held = false;
		pass_fifo_add(evd, &ep->end->node);
		ep->end = NULL;
		pass_evd_wake(evd);
	}
	if (over)
		atomic_store(&ep->over, true);
	shim_unlock(evd->lock);
	return over;
}

/* Does the board show the end of this connection? Then the kernel has raised the event before. */
static bool kernel_is_through(const struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[PASS_REQ].board;

	return pass_state(board) == DAT_EP_STATE_DISCONNECTED &&
	       shim_load_acquire(&board->life) == ep->life;
}

/*
 * Carries the end as far as it can go now. @ep->use is held. @force: the kernel has raised the
 * event of the end, or never will. Return: true if the end is over.
 */
static bool end_step(struct pass_ep *ep, bool force)
{
	bool lost;
	int i;

	close_gates(ep);
	/* Then an event that is not in the ring was dropped, since the EVD was full (E63). */
	force |= kernel_is_through(ep);
	seek_end(ep);
	if (ep->dir[PASS_REQ].qp) {
		if (!flushed(ep, &lost))
			return false;
		pass_drop_qp(ep);
		/* Completions that were in the queues when the queue pair was destroyed count. */
		if (lost && !ep_drained(ep))
			for (i = 0; i < PASS_DIRS; i++)
				dir_lose(&ep->dir[i]);
	}
	if (!left_srq(ep))
		return false;
	for (i = 0; i < PASS_DIRS; i++)
		dir_flush_held(&ep->dir[i]);
	if (!show_end(ep, force))
		return false;
	for (i = 0; i < PASS_DIRS; i++)
		dir_flush_late(&ep->dir[i], PASS_FLUSH);
	if (atomic_exchange(&ep->ending, false))
		watch(ep, -1);
	return true;
}

static void drain_over(struct pass_ep *ep)
{
	if (atomic_exchange(&ep->draining, false))
		watch(ep, -1);
}

/*
 * Tells the kernel if all requests of a graceful disconnect have completed. @ep->use is held.
 * Return: true if the drain is over, or was ended by something else.
 */
static bool drain_step(struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[PASS_REQ].board;
	uint32_t life, flags;

	if (!atomic_load(&ep->draining))
		return true;
	life = shim_load_acquire(&board->life);
	flags = shim_load_acquire(&board->flags);
	/* ORDER: the flags are of this life only if it is the same before and after (abi.rst). */
	atomic_thread_fence(memory_order_acquire);
	if (!life || life != shim_load_acquire(&board->life))
		return false;
	if (flags & KDAPL_BOARD_DRAIN && life == ep->life) {
		if (!dir_drained(&ep->dir[PASS_REQ]))
			return false;
		pass_tell(ep, KDAPL_TELL_DRAINED);
	}
	drain_over(ep);
	return true;
}

/*
 * pass_end_go - carry on the end and the drain of an EP as far as they can go now
 *
 * @ep->use is held. Return: true if both are over, or the EP was freed.
 */
bool pass_end_go(struct pass_ep *ep)
{
	bool over;

	if (!ep->obj)
		return true;
	over = drain_step(ep);
	if (atomic_load(&ep->ending))
		over = end_step(ep, false) && over;
	return over;
}

/* pass_end_look - pass_end_go(), unless another thread works on the EP */
bool pass_end_look(struct pass_ep *ep)
{
	bool over;

	if (pthread_mutex_trylock(&ep->use))
		return false;
	over = pass_end_go(ep);
	pthread_mutex_unlock(&ep->use);
	return over;
}

static bool uses(const struct pass_ep *ep, const struct shim_object *obj,
		 const struct pass_evd *evd)
{
	return ep->dir[PASS_REQ].evd == evd || ep->dir[PASS_RECV].evd == evd ||
	       (obj && ep->connect_evd == obj);
}

/*
 * pass_eps_connect_with - is an EVD still the connect EVD of an EP?
 *
 * The kernel frees an EVD as soon as it has freed the EPs on it, at a time when the library may
 * still have to finish its half of such an EP.
 */
bool pass_eps_connect_with(struct pass_ia *pia, const struct shim_object *evd)
{
	const struct pass_ep *ep;
	bool used = false;

	pthread_mutex_lock(&pia->lock);
	for (ep = pia->eps; ep && !used; ep = ep->next)
		used = ep->connect_evd == evd;
	pthread_mutex_unlock(&pia->lock);
	return used;
}

/*
 * pass_watch_run - carry on the ends and drains of the endpoints of an EVD, and give their queue
 * pairs the posts that have waited for room; no lock is held
 */
void pass_watch_run(struct pass_ia *pia, struct pass_evd *evd)
{
	struct pass_ep *ep, *found;
	uint32_t skip = 0, nr;
	bool ends, over;

	/* Before it looks: room that is made from here on sets it again. */
	pass_evd_set_aside(evd, PASS_DUE, false);
	for (;;) {
		found = NULL;
		nr = 0;
		pthread_mutex_lock(&pia->lock);
		for (ep = pia->eps; ep; ep = ep->next) {
			ends = atomic_load(&ep->ending) || atomic_load(&ep->draining) ||
			       pass_ep_owes(ep);
			if (ends && ep->obj && uses(ep, evd->obj, evd) && nr++ == skip) {
				atomic_fetch_add(&ep->refs, 1);
				found = ep;
				break;
			}
		}
		pthread_mutex_unlock(&pia->lock);
		if (!found)
			return;
		pass_ep_refill(found);
		over = pass_end_look(found);
		if (!over || pass_ep_owes(found))
			skip++;
		pass_ep_put(found);
	}
}

/* ---- dat_ep_disconnect ------------------------------------------------- */

static void *drain_thread(void *arg)
{
	struct pass_ep *ep = arg;
	unsigned int us = 50;

	while (!pass_end_look(ep) && atomic_load(&ep->draining)) {
		pass_pause(us);
		us = us < 2000 ? us * 2 : us;
	}
	pass_ep_put(ep);
	return NULL;
}

/* pass_thread - start a thread that works on an EP, and drops a reference of it; false: none */
bool pass_thread(void *(*run)(void *ep), struct pass_ep *ep)
{
	pthread_t thread;
	bool made;

	atomic_fetch_add(&ep->refs, 1);
	made = shim_thread(run, ep, &thread);
	if (!made)
		pass_ep_put(ep);
	return made;
}

static DAT_RETURN ep_disconnect(struct shim_object *obj, struct pass_ep *ep,
				uint32_t flags)
{
	bool pending = false;
	DAT_RETURN ret;

	ret = shim_flags_call(KDAPL_IOC_EP_DISCONNECT, obj, flags);
	/* What the caller posts next has to be judged by the new state. */
	if (!ret)
		pass_await_board(ep, pass_is_connected, ROOM_LIMIT);
	if (!ret && flags == DAT_CLOSE_GRACEFUL_FLAG) {
		pthread_mutex_lock(&ep->use);
		if (shim_load_acquire(&ep->dir[PASS_REQ].board->flags) &
		    KDAPL_BOARD_DRAIN && !atomic_exchange(&ep->draining, true)) {
			watch(ep, 1);
			pending = !drain_step(ep);
		}
		pthread_mutex_unlock(&ep->use);
		/* If the thread cannot be made, the drain ends when the consumer polls. */
		if (pending)
			pass_thread(drain_thread, ep);
	}
	return ret;
}

DAT_RETURN pass_ep_disconnect(struct shim_object *obj, uint32_t flags)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_ep *ep = pia ? pass_ep_get(obj) : NULL;
	DAT_RETURN ret = RET_BAD_HANDLE(EP);

	if (ep) {
		ret = ep_disconnect(obj, ep, flags);
		pass_ep_put(ep);
	}
	if (pia)
		pass_ia_put(pia);
	return ret;
}

/* ---- reset, free, close ------------------------------------------------ */

/*
 * Waits until the end of an EP is over. The kernel has let go of the queue pair. @ep->use is held.
 */
static void finish(struct pass_ep *ep)
{
	unsigned int us = 20;

	ep->bound = false;
	atomic_store(&ep->told, true);
	drain_over(ep);
	while (!end_step(ep, true)) {
		pass_pause(us);
		us = us < 1000 ? us * 2 : us;
	}
}

DAT_RETURN pass_ep_reset(struct shim_object *obj)
{
	struct pass_ep *ep = pass_ep_get(obj);
	DAT_RETURN ret;
	int i;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	pthread_mutex_lock(&ep->use);
	ret = shim_handle_call(KDAPL_IOC_EP_RESET, obj);
	/* An EP that had no connection keeps the receives that wait for a queue pair. */
	if (!ret && (ep->dir[PASS_REQ].qp || ep->dir[PASS_REQ].gate != PASS_ASIDE ||
		     atomic_load(&ep->ending))) {
		finish(ep);
		for (i = 0; i < PASS_DIRS; i++)
			dir_flush_late(&ep->dir[i], PASS_ASIDE);
	}
	pthread_mutex_unlock(&ep->use);
	pass_ep_put(ep);
	return ret;
}

/*
 * Frees the library's half of an EP. If another thread closes the IA at the same time it may have
 * done that already.
 */
static void free_rest(struct shim_object *obj, struct pass_ep *ep)
{
	pthread_mutex_lock(&ep->use);
	if (!ep->left) {
		pass_ep_off_board(ep);
		/* Its event of the end may be in the ring, and belongs behind its completions. */
		finish(ep);
		atomic_store(&obj->pass, NULL);
		pass_ep_leave(ep);
	}
	pthread_mutex_unlock(&ep->use);
}

DAT_RETURN pass_ep_free(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_ep *ep = pia ? pass_ep_get(obj) : NULL;
	DAT_RETURN ret;

	ret = shim_handle_call(KDAPL_IOC_EP_FREE, obj);
	if (ep && !ret)
		free_rest(obj, ep);
	if (ep)
		pass_ep_put(ep);
	if (pia)
		pass_ia_put(pia);
	return ret;
}

/* Drops the event of the end. One that is in the ring is shown like any other from here on. */
static void give_up_end(struct pass_ep *ep)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;

	if (evd)
		shim_lock(evd->lock);
	atomic_store(&ep->over, true);
	ep->end_held = false;
	if (evd)
		shim_unlock(evd->lock);
}

/*
 * pass_end_close - the kernel has destroyed the EP, so its outstanding posts are given up
 *
 * Completions that were polled stay in the FIFOs of their EVDs. The library's half of the IA
 * (pass_ia) is still there: it has not been closed, or the caller has a reference.
 */
void pass_end_close(struct pass_ep *ep)
{
	int i;

	pthread_mutex_lock(&ep->use);
	if (ep->left) {
		pthread_mutex_unlock(&ep->use);
		return;
	}
	give_up_end(ep);
	ep->bound = false;
	drain_over(ep);
	close_gates(ep);
	pass_drop_qp(ep);
	pass_srq_leave(&ep->dir[PASS_RECV], true);
	for (i = 0; i < PASS_DIRS; i++)
		dir_abandon(&ep->dir[i]);
	if (atomic_exchange(&ep->ending, false))
		watch(ep, -1);
	pass_ep_leave(ep);
	pthread_mutex_unlock(&ep->use);
}
