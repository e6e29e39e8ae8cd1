// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Taking the events of an EVD whose completion queues are the process's own: from its FIFO,
 * the kernel's ring and the completion queues, in the order that passthrough.h tells. The EVD
 * is locked in all of this file, except where it says otherwise.
 *
 * An event that ends a connection is taken off the ring and given to pass_end.c, which puts
 * it into the FIFO behind the last completion (A5).
 */
#include <stdlib.h>

#include "pass_event.h"

/* The event is out, so the board follows; ns, for a kernel that is not as it should be */
#define BOARD_LIMIT	60000000000ull

/* The EP that an event of the ring is about, if the event ends its present connection. */
static struct pass_ep *ends_ep(const struct pass_evd *evd,
			       const struct kdapl_uapi_event *event, uint64_t index)
{
	struct shim_object *obj;
	struct pass_ep *ep;

	if (!pass_is_connection(event->event_number) ||
	    event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return NULL;
	obj = shim_by_token(event->connect.ep);
	ep = obj ? pass_ep_of(obj) : NULL;
	if (!ep || ep->token != event->connect.ep || ep->connect_evd != evd->obj ||
	    atomic_load(&ep->over) || (int64_t)(index - ep->old_until) < 0)
		return NULL;
	return ep;
}

/*
 * Whoever has the event may post, so the board has to show the state of which it tells. An
 * event that was there before the EP was reset tells of another connection.
 */
static void note_established(const struct kdapl_uapi_event *event, uint64_t index)
{
	struct shim_object *obj = shim_by_token(event->connect.ep);
	struct pass_ep *ep = obj ? pass_ep_of(obj) : NULL;

	if (!ep || ep->token != event->connect.ep ||
	    (int64_t)(index - ep->old_until) < 0)
		return;
	atomic_store(&ep->established, true);
	pass_await_board(ep, pass_is_pending, BOARD_LIMIT);
}

/* Takes an event off the ring. False: it is held until its connection is flushed. */
static bool ring_take(struct pass_evd *evd, struct kdapl_uapi_event *event)
{
	uint64_t index = evd->taken;
	struct pass_ep *ep;

	if (!shim_ring_take(evd->ring, shim_token(evd->obj), event))
		return false;
	evd->taken++;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		note_established(event, index);
	ep = ends_ep(evd, event, index);
	if (ep)
		pass_end_hold(ep, event);
	return !ep;
}

/*
 * pass_event_move_ring - have the events of the ring in the FIFO
 *
 * For what has to follow an event in the ring that nobody has taken: the end of a connection
 * is held then. Each goes before what came later. Without memory the rest stays. What is in a
 * ring that is not mapped is known once it was taken, so there it is the kernel who tells that
 * nothing is left.
 */
void pass_event_move_ring(struct pass_evd *evd)
{
	struct pass_moved *moved;
	uint64_t index;

	while (shim_ring_filled(evd->ring) || !shim_ring_mapped(evd->ring)) {
		moved = pass_moved_new();
		if (!moved)
			return;
		index = evd->taken;
		if (ring_take(evd, &moved->event)) {
			moved->node.mark = index;
			pass_fifo_insert(evd, moved);
			continue;
		}
		free(moved);
		/* Not even one that is held */
		if (evd->taken == index)
			return;
	}
}

/* Events of the ring that could be taken. */
static uint32_t ring_ready(struct pass_evd *evd)
{
	const struct shim_ring *ring = evd->ring;
	uint32_t filled = shim_ring_count(evd->ring, shim_token(evd->obj));
	uint32_t ready = filled, i;
	struct pass_ep *ep;

	for (i = 0; i < filled; i++) {
		ep = ends_ep(evd, &ring->events[(ring->consumer + i) & ring->mask],
			     evd->taken + i);
		if (ep) {
			pass_end_want(ep);
			ready--;
		}
	}
	return ready;
}

/*
 * pass_event_count - events that can be taken now, completions among them
 * @kernels: out: those of them that are in the kernel's ring
 */
uint32_t pass_event_count(struct pass_evd *evd, uint32_t *kernels)
{
	if (!shim_ring_mapped(evd->ring))
		pass_event_move_ring(evd);
	pass_wc_pull(evd);
	*kernels = ring_ready(evd);
	return evd->nr_fifo + *kernels;
}

/*
 * pass_event_take - take the oldest event
 * @event: out, for PASS_TOOK
 * @kernel: out, for PASS_TOOK_KERNEL: the caller makes the event of it, when the EVD is
 *	unlocked
 */
enum pass_took pass_event_take(struct pass_evd *evd, DAT_EVENT *event,
			       struct kdapl_uapi_event *kernel)
{
	for (;;) {
		if (evd->first && (int64_t)(evd->first->mark - evd->taken) <= 0)
			return pass_fifo_take(evd, event, kernel);
		if (shim_ring_has(evd->ring)) {
			uint64_t taken = evd->taken;

			if (ring_take(evd, kernel))
				return PASS_TOOK_KERNEL;
			if (evd->taken != taken)
				continue;
		}
		if (evd->first)
			return pass_fifo_take(evd, event, kernel);
		pass_wc_pull(evd);
		if (!evd->first)
			return PASS_TOOK_NONE;
	}
}

/* ---- dat_evd_dequeue --------------------------------------------------- */

/*
 * All but a plain completion behind an empty ring. Unlocks the EVD. If nothing is there,
 * connections that are ending get a look, since their last event may be what is wanted; and so
 * does what the device has told, which is a system call, if the EVD is not for completions, too.
 */
static __attribute__((noinline)) DAT_RETURN dequeue_other(struct shim_object *obj,
							  DAT_EVENT *event)
{
	struct kdapl_uapi_event kernel;
	bool looked = false, watched, hears;
	struct pass_evd *evd;
	enum pass_took took;
	DAT_RETURN ret;

	ret = shim_evd_check(obj, event);
	while (!ret) {
		evd = pass_evd_of(obj);
		if (!evd)
			break;
		took = pass_event_take(evd, event, &kernel);
		watched = pass_evd_watched(evd);
		hears = !evd->nr_cqs && pass_evd_hears(evd);
		if (took == PASS_TOOK_NONE && (looked || !(watched || hears)))
			break;
		/* Who frees the EVD waits for sleepers. */
		evd->sleepers += took == PASS_TOOK_NONE;
		shim_unlock(&obj->lock);
		if (took == PASS_TOOK_KERNEL)
			shim_event(obj, &kernel, event);
		if (took != PASS_TOOK_NONE)
			return DAT_SUCCESS;
		if (hears)
			pass_context_events(evd->pia->context);
		if (watched)
			pass_watch_run(evd->pia, evd);
		looked = true;
		shim_lock(&obj->lock);
		evd->sleepers--;
		ret = shim_lives(obj, SHIM_EVD) ? DAT_SUCCESS : RET(QUEUE_EMPTY);
	}
	shim_unlock(&obj->lock);
	return ret ? ret : RET(QUEUE_EMPTY);
}

/* A success that nobody has to hear of but its consumer: nearly every completion. */
static inline bool is_plain(const struct ibv_wc *wc, const struct pass_cookie *cookie)
{
	return wc->status == IBV_WC_SUCCESS && shim_byte_holds(&cookie->place, PASS_PLAIN) &&
	       (!cookie->dir->is_recv ||
		(pass_wc_is_message(wc, cookie) && !cookie->dir->await));
}

/* Takes @wc, the next of @left completions, if it is a plain one. Unlocks the EVD. */
static inline __attribute__((always_inline)) DAT_RETURN
dequeue_wc(struct shim_object *obj, struct pass_evd *evd, struct ibv_wc *wc, int left,
	   DAT_EVENT *event)
{
	struct pass_cookie *cookie = pass_wc_cookie(wc);
	struct pass_dir *dir;

	if (SHIM_UNLIKELY(!is_plain(wc, cookie))) {
		evd->wc_next = wc;
		evd->wc_left = left;
		return dequeue_other(obj, event);
	}
	evd->wc_next = wc + 1;
	evd->wc_left = left - 1;
	dir = cookie->dir;
	pass_fill_dto(obj, cookie, DAT_DTO_SUCCESS,
		      dir->is_recv ? wc->byte_len : cookie->length, event);
	shim_count(&dir->completed);
	/* ORDER: pairs with pass_cookie_is_free(): the cookie was read before. */
	atomic_store_explicit(&cookie->place, PASS_FREE, memory_order_release);
	return shim_object_unlock(obj, DAT_SUCCESS);
}

/* All but a look at an EVD that is there, and has nothing but its completion queue. */
static __attribute__((noinline)) DAT_RETURN dequeue_aside(struct shim_object *obj,
							  DAT_EVENT *event)
{
	struct pass_evd *evd = pass_evd_of(obj);

	if (SHIM_LIKELY(!shim_evd_check(obj, event) && evd && evd->wc_left &&
			shim_holds(&evd->aside, 0) && !shim_ring_has(evd->ring)))
		return dequeue_wc(obj, evd, evd->wc_next, evd->wc_left, event);
	return dequeue_other(obj, event);
}

/* Another thread has the EVD locked. */
static __attribute__((noinline)) DAT_RETURN dequeue_late(struct shim_object *obj,
							 DAT_EVENT *event)
{
	shim_lock(&obj->lock);
	return dequeue_aside(obj, event);
}

/* Can there be an event in the completion queue alone? */
static inline bool has_queue_alone(const struct pass_evd *evd)
{
	return shim_long_holds(&evd->not_idle, 0) && shim_ring_is_idle(evd->ring);
}

/* Reads again what it would have cost to keep: see @event. */
static inline __attribute__((always_inline)) DAT_RETURN dequeue_polled(struct shim_object *obj,
								       int polled)
{
	struct pass_evd *evd = pass_evd_of(obj);

	return dequeue_wc(obj, evd, evd->wc, polled, evd->event);
}

DAT_RETURN pass_evd_dequeue(struct shim_object *obj, DAT_EVENT *event)
{
	struct pass_evd *evd;
	int polled;

	if (SHIM_UNLIKELY(!shim_trylock(&obj->lock)))
		return dequeue_late(obj, event);
	evd = pass_evd_of(obj);
	if (SHIM_UNLIKELY(!shim_lives(obj, SHIM_EVD) || !evd || !event ||
			  !has_queue_alone(evd)))
		return dequeue_aside(obj, event);
	evd->event = event;
	polled = ibv_poll_cq(evd->cqs[0].cq, PASS_WCS, evd->wc);
	SHIM_FORGET(obj);
	if (polled > 0)
		return dequeue_polled(obj, polled);
	return shim_object_unlock(obj, RET(QUEUE_EMPTY));
}
