// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection in passthrough: the library's half, which does what kdapl/core/drain.c
 * does for queue pairs of the kernel. Each post completes exactly once, and the event that tells
 * of the end comes after the last of these completions (A5).
 *
 * The thread that takes the event off the ring keeps it in the EP (pass_end_hold()). From then on
 * all goes step by step, as far as it can go at a time (pass_end_go()). The thread of
 * pass_keeper.c carries it on, and so does whoever asks for the status of the EP; reset and free
 * go as far as they can, and wait for that thread then. The steps, and why they lose nothing, are
 * told in Documentation/life-of-a-dto.rst, In passthrough.
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

/* pass_end_want - the connection is over: have its end carried out */
void pass_end_want(struct pass_ep *ep)
{
	atomic_store(&ep->ending, true);
	pass_keeper_add(ep);
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
	bool drained;

	pass_evd_pull(dir->evd);
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
 * Has all completed that was posted? False: the caller has to come again. @ep->lost is set if the
 * device had its time and something may still be missing; the result is true then.
 */
static bool flushed(struct pass_ep *ep)
{
	uint64_t now;

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
	ep->lost = now >= ep->flush_until;
	return ep->lost;
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

/*
 * Does not wait for what the device still owes. The completions may be in the completion queue
 * already, where another thread finds them; they are dropped there. @flush: all these posts are
 * flushed, in posting order; else the EP is destroyed, and they have no events
 */
static void dir_disown(struct pass_dir *dir, bool flush)
{
	struct pass_cookie *cookie;
	bool owed = false;
	uint32_t n;

	shim_lock(&dir->lock);
	for (cookie = dir->next, n = 0; n < dir->size; n++, cookie = cookie->after) {
		if (!cookie_disown(dir, cookie))
			continue;
		owed = true;
		if (flush)
			pass_fifo_flushed(dir->evd, cookie);
	}
	if (owed)
		pass_dir_park(dir);
	if (flush)
		atomic_store(&dir->completed, dir->posted);
	else	/* A post from here on is flushed at once, since no end will come that does. */
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
 * flushed behind it. @comes: if it is not held, it may still come. Return: false if the event has
 * not come yet.
 */
static bool show_end(struct pass_ep *ep, bool comes)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;
	bool over;

	if (!evd) {
		atomic_store(&ep->over, true);
		return true;
	}
	shim_lock(evd->lock);
	over = !comes || ep->end_held || atomic_load(&ep->over);
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

/* Does @board show the end of this connection? Then the kernel has raised the event before. */
static bool kernel_is_through(const struct pass_ep *ep, const struct kdapl_uapi_board_ep *board)
{
	return pass_state(board) == DAT_EP_STATE_DISCONNECTED &&
	       shim_load_acquire(&board->life) == ep->life;
}

/*
 * pass_ended_unseen - does the board show an end that nobody in this process has taken up?
 * @ep: false unless it is watched (pass_keeper_watch()), since others see to that otherwise
 *
 * An EP that the kernel frees, or whose IA it closes, shows Disconnected and refuses receives: what
 * becomes of it is for the call that does so. While it is being freed its entry of the board may
 * be another EP's already. No lock is needed; but what it says holds only as long as @ep->use is
 * held.
 */
bool pass_ended_unseen(const struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *const *place = &ep->dir[PASS_REQ].board;
	const struct kdapl_uapi_board_ep *board = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	/* As confirm() in pass_wc.c: first the entry, then @leaving, then which entry it was. */
	return atomic_load(&ep->watched) && !atomic_load(&ep->ending) &&
	       !atomic_load(&ep->over) && kernel_is_through(ep, board) &&
	       pass_board_ret(&board->refuse_recv) == DAT_SUCCESS && !atomic_load(&ep->leaving) &&
	       __atomic_load_n(place, __ATOMIC_RELAXED) == board;
}

/*
 * Carries the end as far as it can go now. @ep->use is held. Return: true if the end is over; its
 * queue pair may still have to be destroyed then (@ep->spent).
 */
static bool end_step(struct pass_ep *ep)
{
	bool through;
	int i;

	close_gates(ep);
	/* Then an event that is not in the ring was dropped, since the EVD was full (E63). */
	through = kernel_is_through(ep, ep->dir[PASS_REQ].board);
	seek_end(ep);
	if (ep->dir[PASS_REQ].qp && !atomic_load(&ep->spent)) {
		/* The kernel does not let go of the queue pair before it knows of the end. */
		if (!flushed(ep) || (ep->bound && !pass_ended_for_kernel(ep)))
			return false;
		atomic_store(&ep->spent, true);
	}
	/*
	 * It has to be destroyed first if it is not known yet what has completed, or if the peer
	 * can still write through it.
	 */
	if (atomic_load(&ep->spent) &&
	    (ep->lost || ep->dir[PASS_RECV].in_srq ||
	     (ep->bound && !pass_is_shut(ep->dir[PASS_REQ].board))))
		return false;
	/* Completions that were in the queues when the queue pair was destroyed count. */
	if (ep->lost && !ep_drained(ep))
		for (i = 0; i < PASS_DIRS; i++)
			dir_disown(&ep->dir[i], true);
	ep->lost = false;
	if (!left_srq(ep))
		return false;
	for (i = 0; i < PASS_DIRS; i++)
		dir_flush_held(&ep->dir[i]);
	if (!show_end(ep, !through))
		return false;
	for (i = 0; i < PASS_DIRS; i++)
		dir_flush_late(&ep->dir[i], PASS_FLUSH);
	atomic_store(&ep->ending, false);
	return true;
}

/*
 * Tells the kernel if all requests of a graceful disconnect have completed. @ep->use is held.
 * Return: true if the drain is over, or was ended by something else.
 */
static bool drain_step(struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[PASS_REQ].board;
	uint32_t life, state, flags;

	if (!atomic_load(&ep->draining))
		return true;
	life = shim_load_acquire(&board->life);
	state = pass_state(board);
	flags = shim_load_acquire(&board->flags);
	/* ORDER: the flags are of this life only if it is the same before and after (abi.rst). */
	atomic_thread_fence(memory_order_acquire);
	if (!life || life != shim_load_acquire(&board->life))
		return false;
	/* The board does not show yet that the disconnect has begun. */
	if (pass_is_connected(state) && life == ep->life)
		return false;
	if (flags & KDAPL_BOARD_DRAIN && life == ep->life) {
		if (!dir_drained(&ep->dir[PASS_REQ]))
			return false;
		pass_tell(ep, KDAPL_TELL_DRAINED);
	}
	atomic_store(&ep->draining, false);
	return true;
}

/*
 * pass_end_go - carry on the end and the drain of an EP as far as they can go now
 *
 * @ep->use is held.
 */
void pass_end_go(struct pass_ep *ep)
{
	if (!ep->obj)
		return;
	drain_step(ep);
	if (pass_ended_unseen(ep))
		atomic_store(&ep->ending, true);
	if (atomic_load(&ep->ending))
		end_step(ep);
}

/*
 * pass_end_here - carry on the end of an EP, and destroy its queue pair as soon as that may be
 *
 * That may take long. @ep->use is held. Return: true if both are over.
 */
bool pass_end_here(struct pass_ep *ep)
{
	bool over = end_step(ep);

	if (!atomic_load(&ep->spent))
		return over;
	pass_drop_qp(ep);
	return over || end_step(ep);
}

/*
 * pass_end_next - when an EP has to be looked at again though nothing tells of a change
 * @looked: ns; the last look at it began then or later
 * @next: in and out: ns; becomes no later than that
 *
 * The queue pair has to be moved to the error state again, until all is flushed; and a completion
 * waits for the CM only for a time (pass_wc.c). @ep->use is held.
 */
void pass_end_next(const struct pass_ep *ep, uint64_t looked, uint64_t *next)
{
	uint64_t cm_until = atomic_load(&ep->cm_until), again = shim_now() + FLUSH_AGAIN;

	/* If its time came after the look began, nobody may have seen that. */
	if (pass_ep_waits(ep) && cm_until > looked && cm_until < *next)
		*next = cm_until;
	if (atomic_load(&ep->ending) && again < *next && !atomic_load(&ep->spent) &&
	    (ep->dir[PASS_REQ].qp || ep->dir[PASS_RECV].in_srq))
		*next = again;
}

/* ---- dat_ep_disconnect ------------------------------------------------- */

struct life {
	const struct pass_ep *ep;
	uint32_t life;
};

/*
 * Does the board show that the EP is not connected any more? The kernel writes it after the event
 * is in the ring, so a thread whose call has changed the state may look a moment before that.
 */
static bool board_shows_end(void *arg)
{
	const struct life *of = arg;
	/* Read each time: if another thread frees the EP, it becomes another board. */
	const struct kdapl_uapi_board_ep *board = of->ep->dir[PASS_REQ].board;
	/* While this is 0 the kernel is writing the entry. */
	uint32_t now = shim_load_acquire(&board->life);

	return !pass_is_connected(pass_state(board)) || (now && now != of->life);
}

/* The kernel has begun to disconnect the EP. */
static void disconnected(struct pass_ep *ep, uint32_t flags)
{
	struct life of = { .ep = ep, .life = ep->life };

	/* What the caller posts next has to be judged by the new state. */
	pass_keeper_await(ep, board_shows_end, &of, shim_now() + ROOM_LIMIT);
	if (flags != DAT_CLOSE_GRACEFUL_FLAG)
		return;
	pthread_mutex_lock(&ep->use);
	/* Another thread may have reset the EP meanwhile, and connected it anew. */
	if (ep->life == of.life)
		atomic_store(&ep->draining, true);
	if (!drain_step(ep))
		pass_keeper_add(ep);
	pass_ep_unlock(ep);
}

DAT_RETURN pass_ep_disconnect(struct shim_object *obj, uint32_t flags)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_ep *ep = pia ? pass_ep_get(obj) : NULL;
	DAT_RETURN ret = RET_BAD_HANDLE(EP);

	if (ep) {
		ret = shim_flags_call(KDAPL_IOC_EP_DISCONNECT, obj, flags);
		if (!ret)
			disconnected(ep, flags);
		pass_ep_put(ep);
	}
	if (pia)
		pass_ia_put(pia);
	return ret;
}

/* ---- reset, free, close ------------------------------------------------ */

static bool is_back(void *arg)
{
	const struct pass_ep *ep = arg;

	return !atomic_load(&ep->lent);
}

/*
 * Waits until the end of an EP is over. The kernel has let go of the queue pair, and what it had to
 * tell of the end is in the ring. @ep->use is held.
 */
static void finish(struct pass_ep *ep)
{
	ep->bound = false;
	atomic_store(&ep->end_known, true);
	atomic_store(&ep->draining, false);
	seek_end(ep);
	atomic_store(&ep->over, true);
	while (!pass_end_here(ep)) {
		atomic_store(&ep->lent, true);
		pass_end_want(ep);
		shim_await(&ep->news, is_back, ep, UINT64_MAX);
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
	pass_ep_unlock(ep);
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
		/* Takes ESTABLISHED out of the ring as well, by which completions are judged. */
		seek_end(ep);
		pass_ep_off_board(ep);
		atomic_store(&ep->leaving, false);
		/* Its event of the end may be in the ring, and belongs behind its completions. */
		finish(ep);
		atomic_store(&obj->pass, NULL);
		pass_ep_leave(ep);
	}
	pass_ep_unlock(ep);
}

DAT_RETURN pass_ep_free(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_ep *ep = pia ? pass_ep_get(obj) : NULL;
	DAT_RETURN ret;

	if (ep)
		atomic_store(&ep->leaving, true);
	ret = shim_handle_call(KDAPL_IOC_EP_FREE, obj);
	if (ep && !ret)
		free_rest(obj, ep);
	/* It is not freed, and completions that came meanwhile were kept back. */
	if (ep && atomic_exchange(&ep->leaving, false))
		pass_keeper_look();
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
		pass_ep_unlock(ep);
		return;
	}
	give_up_end(ep);
	ep->bound = false;
	atomic_store(&ep->draining, false);
	close_gates(ep);
	pass_drop_qp(ep);
	pass_srq_leave(&ep->dir[PASS_RECV], true);
	for (i = 0; i < PASS_DIRS; i++)
		dir_disown(&ep->dir[i], false);
	atomic_store(&ep->ending, false);
	pass_ep_leave(ep);
	pass_ep_unlock(ep);
}
