// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection whose queue pair is the process's own, the library's half of what
 * kdapl/core/drain.c does for queue pairs of the kernel's: each post completes exactly once,
 * and the event that tells of the end follows the last of them (A5).
 *
 * The kernel puts the queue pair into the error state and raises the event. Who takes that
 * from the ring holds it here (pass_end_hold()). From then on no post goes to the queue pair;
 * both EVDs are polled until each direction has completed what was posted. If some of it was
 * posted so late that the device does not flush it by itself, the kernel is asked to repeat
 * the move. Then the queue pair is destroyed, the event goes into the FIFO, and posts that
 * came meanwhile are flushed behind it (D46). A device that has not flushed in ten seconds
 * never will.
 *
 * An EP on a shared receive queue (SRQ) has no receives of its own, and nobody counts what its
 * queue pair takes. There the end waits for the requests, and until the device has said that it
 * takes no more, if it says so at all; then the queue pair is destroyed, and the completion queue
 * is polled to its end. A device adds nothing for a queue pair that is no more.
 *
 * A graceful disconnect waits until all requests have completed by themselves. Who polls
 * finds that out (pass_watch_run()); in case nobody does, a thread looks while the drain is
 * pending, and no longer.
 */
#include <signal.h>
#include <stdlib.h>

#include "pass_event.h"
#include "pass_srq.h"

#define FLUSH_LIMIT	10000000000ull	/* ns */
#define FLUSH_AGAIN	5000000ull
/* An event that finds no room in the ring holds the board back, for as long as it likes. */
#define ROOM_LIMIT	1000000000ull

/* ---- who has to look --------------------------------------------------- */

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

/* pass_end_want - the connection is over, and its flush has to be looked after */
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
	bool drained, all = true;

	if (evd) {
		shim_lock(evd->lock);
		all = pass_wc_pull(evd);
		if (all || evd->first)
			pass_evd_wake(evd);
		shim_unlock(evd->lock);
	}
	shim_lock(&dir->lock);
	drained = dir->posted == atomic_load_explicit(&dir->completed,
						      memory_order_acquire);
	shim_unlock(&dir->lock);
	/* Some libraries drop completions with their queue pair. */
	return drained && (all || !dir->srq);
}

/* Has the queue pair of an EP on an SRQ ended, as far as the device says so? */
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
		shim_unlock(&ep->dir[i].lock);
	}
}

/* Once more the error state, which flushes what was posted after the first time. */
static void flush_again(struct pass_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = ep->dir[PASS_REQ].qp;

	if (ep->bound)
		pass_tell(ep, KDAPL_TELL_FLUSH);
	else if (qp)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* False: come again. *@lost: the device has had its time. */
static bool flushed(struct pass_ep *ep, bool *lost)
{
	uint64_t now;

	*lost = false;
	if (ep_drained(ep))
		return true;
	now = pass_now();
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

/* Has all come that the queue pair, which is destroyed, took from an SRQ? False: come again. */
static bool left_srq(struct pass_ep *ep)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];

	if (!recv->in_srq)
		return true;
	if (!ep->flush_until)
		ep->flush_until = pass_now() + FLUSH_LIMIT;
	return pass_srq_leave(recv, pass_now() >= ep->flush_until);
}

/* From here on a completion is not its own. Return: the device owed one. */
static bool cookie_disown(struct pass_dir *dir, struct pass_cookie *cookie)
{
	bool owed;

	shim_lock(dir->evd->lock);
	owed = pass_cookie_owed(cookie);
	if (owed)
		pass_cookie_move(cookie, PASS_HERE);
	if (owed && cookie->rmr) {
		pass_rmr_completed(cookie, false);
		cookie->rmr = NULL;
	}
	shim_unlock(dir->evd->lock);
	return owed;
}

/* Completes what the device still owes, in the order of the posts. */
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
 * Nobody waits for what the device still owes. It may be in the completion queue, where
 * another thread looks.
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
	/* What comes from here on has nobody who looks after it. */
	dir->gate = PASS_FLUSH;
	shim_unlock(&dir->lock);
}

/* Those that never were on a queue pair, and those that came since the end. */
static void dir_flush_rest(struct pass_dir *dir, enum pass_gate gate, bool held)
{
	struct pass_cookie *cookie;

	shim_lock(&dir->lock);
	for (; held && dir->held; dir->held--) {
		cookie = dir->held_first;
		dir->held_first = cookie->after;
		pass_fifo_flushed(dir->evd, cookie);
	}
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

/* Takes the event of the end off the ring, if nobody has. */
static void seek_end(struct pass_ep *ep)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;

	if (!evd)
		return;
	shim_lock(evd->lock);
	if (!ep->end_held && !atomic_load(&ep->over))
		pass_event_move_ring(evd);
	/* Who was woken for an event in the ring finds it in the FIFO now. */
	if (evd->first)
		pass_evd_wake(evd);
	shim_unlock(evd->lock);
}

/*
 * Puts the event into the FIFO, behind which later posts are flushed. @force: if it is not
 * held it was shown before, or there is none. Return: false: it has not come yet.
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

/* Has the kernel shown the end of this life, and so raised the event before? */
static bool kernel_is_through(const struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[PASS_REQ].board;

	return pass_state(board) == DAT_EP_STATE_DISCONNECTED &&
	       shim_load_acquire(&board->life) == ep->life;
}

/*
 * One step of the end. @ep->use is held. @force: the kernel has raised the event, or never
 * will. Return: it is over.
 */
static bool end_step(struct pass_ep *ep, bool force)
{
	bool lost;
	int i;

	close_gates(ep);
	/* What is not in the ring then the kernel has found no room for (E63). */
	force |= kernel_is_through(ep);
	seek_end(ep);
	if (ep->dir[PASS_REQ].qp) {
		if (!flushed(ep, &lost))
			return false;
		pass_drop_qp(ep);
		/* What was in the completion queues when the queue pair went counts. */
		if (lost && !ep_drained(ep))
			for (i = 0; i < PASS_DIRS; i++)
				dir_lose(&ep->dir[i]);
	}
	if (!left_srq(ep) || !show_end(ep, force))
		return false;
	for (i = 0; i < PASS_DIRS; i++)
		dir_flush_rest(&ep->dir[i], PASS_FLUSH, true);
	if (atomic_exchange(&ep->ending, false))
		watch(ep, -1);
	return true;
}

static void drain_over(struct pass_ep *ep)
{
	if (atomic_exchange(&ep->draining, false))
		watch(ep, -1);
}

/* @ep->use is held. Return: the drain is over, or goes on no more. */
static bool drain_step(struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[PASS_REQ].board;
	uint32_t life, flags;

	if (!atomic_load(&ep->draining))
		return true;
	life = shim_load_acquire(&board->life);
	flags = shim_load_acquire(&board->flags);
	/* ORDER: the flags are those of a life that was there before and after (abi.rst). */
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

/* pass_end_look - has all completed that an end or a drain waits for? */
bool pass_end_look(struct pass_ep *ep)
{
	bool over = true;

	if (pthread_mutex_trylock(&ep->use))
		return false;
	if (ep->obj) {
		over = drain_step(ep);
		if (atomic_load(&ep->ending))
			over = end_step(ep, false) && over;
	}
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
 * The kernel lets an EVD go as soon as it has freed the EP, of which the library has the
 * rest to do then.
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

/* pass_watch_run - look at the endpoints of an EVD that end or drain; no lock is held */
void pass_watch_run(struct pass_ia *pia, struct pass_evd *evd)
{
	struct pass_ep *ep, *found;
	uint32_t skip = 0, nr;
	bool ends;

	for (;;) {
		found = NULL;
		nr = 0;
		pthread_mutex_lock(&pia->lock);
		for (ep = pia->eps; ep; ep = ep->next) {
			ends = atomic_load(&ep->ending) || atomic_load(&ep->draining);
			if (ends && ep->obj && uses(ep, evd->obj, evd) && nr++ == skip) {
				atomic_fetch_add(&ep->refs, 1);
				found = ep;
				break;
			}
		}
		pthread_mutex_unlock(&pia->lock);
		if (!found)
			return;
		if (!pass_end_look(found))
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

/* Without a thread the drain ends when somebody polls. */
static void start_drain_thread(struct pass_ep *ep)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;

	atomic_fetch_add(&ep->refs, 1);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &attr, drain_thread, ep))
		pass_ep_put(ep);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

static DAT_RETURN ep_disconnect(struct shim_object *obj, struct pass_ep *ep,
				uint32_t flags)
{
	bool pending = false;
	DAT_RETURN ret;

	ret = shim_flags_call(KDAPL_IOC_EP_DISCONNECT, obj, flags);
	/* What the caller posts next comes after the end. */
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
		if (pending)
			start_drain_thread(ep);
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

/* The kernel has let go of the queue pair. @ep->use is held. */
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

/* Events about the EP that are in the ring now are about former connections. */
static void forget_events(struct pass_ep *ep)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;

	if (!evd)
		return;
	shim_lock(evd->lock);
	ep->old_until = evd->taken + shim_ring_filled(evd->ring);
	shim_unlock(evd->lock);
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
	/* An EP that was not connected keeps the receives that wait. */
	if (!ret && (ep->dir[PASS_REQ].qp || ep->dir[PASS_REQ].gate != PASS_ASIDE ||
		     atomic_load(&ep->ending))) {
		finish(ep);
		forget_events(ep);
		for (i = 0; i < PASS_DIRS; i++)
			dir_flush_rest(&ep->dir[i], PASS_ASIDE, false);
	}
	pthread_mutex_unlock(&ep->use);
	pass_ep_put(ep);
	return ret;
}

/* Another thread may close the IA, and then has done with the EP what is to be done. */
static void free_rest(struct shim_object *obj, struct pass_ep *ep)
{
	pthread_mutex_lock(&ep->use);
	if (!ep->left) {
		atomic_store(&obj->pass, NULL);
		finish(ep);
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

/* Nobody holds the event of the end from here on. */
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
 * pass_end_close - the kernel has destroyed the EP, and nobody waits for its completions
 *
 * Those that were polled stay in their FIFOs. The IA is not closed yet, or the caller has
 * kept its context.
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
