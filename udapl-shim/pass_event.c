// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Taking the events of an EVD in passthrough: from its FIFO, the kernel's ring and the completion
 * queues, in the order that Documentation/life-of-a-dto.rst, In passthrough, explains. The EVD is
 * locked in all of this file, except where it says otherwise.
 *
 * An event that ends a connection is not given to the consumer when it is taken off the ring.
 * pass_end.c keeps it, and puts it into the FIFO behind the last completion (A5).
 */
#include <stdlib.h>

#include "pass_event.h"

/*
 * The EP to whose present connection or attempt an event of the ring belongs; NULL if that is over,
 * or if it is any other event.
 */
static struct pass_ep *present_ep(const struct kdapl_uapi_event *event)
{
	struct shim_object *obj;
	struct pass_ep *ep;

	if (!pass_is_connection(event->event_number))
		return NULL;
	obj = shim_by_token(event->connect.ep);
	ep = obj ? pass_ep_of(obj) : NULL;
	if (!ep || ep->token != event->connect.ep)
		return NULL;
	/*
	 * ORDER: pairs with bind_qp() in pass_conn.c: if that has cleared @over for the next life,
	 * the number of that life is read here, and no event of the former one has it.
	 */
	if (atomic_load(&ep->over) || atomic_load(&ep->life) != event->connect.life)
		return NULL;
	return ep;
}

/* The EP whose present connection an event of the ring ends, or NULL */
static struct pass_ep *ends_ep(const struct kdapl_uapi_event *event)
{
	return event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED ? NULL : present_ep(event);
}

/*
 * Takes an event off the ring. Return: false if there was none, or if it ends a connection, and so
 * is held until that is flushed (@evd->taken has grown then).
 */
static bool ring_take(struct pass_evd *evd, struct kdapl_uapi_event *event)
{
	struct pass_ep *ep;

	if (!shim_ring_take(evd->ring, shim_token(evd->obj), event))
		return false;
	evd->taken++;
	ep = present_ep(event);
	if (!ep)
		return true;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		atomic_store(&ep->established, true);
		return true;
	}
	pass_end_hold(ep, event);
	return false;
}

/*
 * pass_event_move_ring - move the events of the ring into the FIFO
 *
 * For callers that need to know what is in the ring although no consumer takes it: an event that
 * ends a connection is held thereby. Each of the others goes into the FIFO before the entries that
 * came later than it. Without memory the rest stays in the ring. So that none is left behind, the
 * kernel is asked for those that found no room in the ring. The events of a ring that could not be
 * mapped cannot be looked at, so they are all taken from the kernel.
 */
void pass_event_move_ring(struct pass_evd *evd)
{
	struct pass_moved *moved;
	uint64_t index;

	while (shim_ring_has(evd->ring)) {
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
		/* It was none, not even an event that is held now. */
		if (evd->taken == index)
			return;
	}
}

/* Number of events in the ring that the consumer can take: not those that end a connection. */
static uint32_t ring_ready(struct pass_evd *evd)
{
	const struct shim_ring *ring = evd->ring;
	uint32_t filled = shim_ring_count(evd->ring, shim_token(evd->obj));
	uint32_t ready = filled, i;
	struct pass_ep *ep;

	for (i = 0; i < filled; i++) {
		ep = ends_ep(&ring->events[(ring->consumer + i) & ring->mask]);
		if (ep) {
			pass_end_want(ep);
			ready--;
		}
	}
	return ready;
}

/*
 * pass_event_count - number of events that can be taken now, completions included
 * @kernels: out: how many of them are in the kernel's ring
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
 * @event: out: the event, for PASS_TOOK
 * @kernel: out: the event, for PASS_TOOK_KERNEL. The caller has to make a DAT_EVENT of it, after it
 *	has unlocked the EVD
 *
 * Return: PASS_TOOK_NONE if there is none.
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
 * Dequeues anything but a plain completion behind an empty ring. Unlocks the EVD. Then it gives
 * queue pairs the posts for which there is room by now. If there is no event, it also reads what
 * the device has told, if the EVD takes such events and no completions: that is a system call,
 * which an EVD for completions must not make here.
 */
static __attribute__((noinline)) DAT_RETURN dequeue_other(struct shim_object *obj,
							  DAT_EVENT *event)
{
	struct kdapl_uapi_event kernel;
	bool looked = false, due, hears;
	struct pass_evd *evd;
	enum pass_took took;
	DAT_RETURN ret;

	ret = shim_evd_check(obj, event);
	while (!ret) {
		evd = pass_evd_of(obj);
		if (!evd)
			break;
		took = pass_event_take(evd, event, &kernel);
		due = !looked && pass_evd_aside(evd, PASS_DUE);
		hears = took == PASS_TOOK_NONE && !looked && !evd->nr_cqs && pass_evd_hears(evd);
		if (took == PASS_TOOK_NONE && !due && !hears)
			break;
		/* Counts this thread as a sleeper, so that the EVD is not freed meanwhile. */
		evd->sleepers += due || hears;
		shim_unlock(&obj->lock);
		if (took == PASS_TOOK_KERNEL)
			shim_event(obj, &kernel, event);
		if (!due && !hears)
			return DAT_SUCCESS;
		if (hears)
			pass_context_events(evd->pia->context);
		if (due)
			pass_evd_refill(evd);
		looked = true;
		shim_lock(&obj->lock);
		pass_evd_back(evd);
		if (took != PASS_TOOK_NONE) {
			shim_unlock(&obj->lock);
			return DAT_SUCCESS;
		}
		ret = shim_lives(obj, SHIM_EVD) ? DAT_SUCCESS : FACE_QUEUE_EMPTY;
	}
	shim_unlock(&obj->lock);
	return ret ? ret : FACE_QUEUE_EMPTY;
}

/*
 * Is it a plain completion: a success that only has to be given to the consumer? Nearly all are.
 */
static inline bool is_plain(const struct ibv_wc *wc, const struct pass_cookie *cookie)
{
	return wc->status == IBV_WC_SUCCESS && shim_byte_holds(&cookie->place, PASS_PLAIN) &&
	       (!cookie->dir->is_recv ||
		(pass_wc_is_message(wc, cookie) && !cookie->dir->await));
}

/* Takes @wc, a plain completion, the first of @left polled ones. */
static inline __attribute__((always_inline)) void
take_plain(struct shim_object *obj, struct pass_evd *evd, struct ibv_wc *wc, int left,
	   DAT_EVENT *event)
{
	struct pass_cookie *cookie = pass_wc_cookie(wc);
	struct pass_dir *dir;

	evd->wc_next = wc + 1;
	evd->wc_left = left - 1;
	dir = cookie->dir;
	pass_fill_dto(obj, cookie, DAT_DTO_SUCCESS,
		      dir->is_recv ? wc->byte_len : cookie->length, event);
	shim_count(&dir->completed);
	/* ORDER: pairs with pass_cookie_is_free(): the cookie is read before it is free. */
	atomic_store_explicit(&cookie->place, PASS_FREE, memory_order_release);
}

/*
 * Takes @wc, the first of @left polled completions, if it is a plain one; else leaves all of them
 * to dequeue_other(). Unlocks the EVD.
 */
static inline __attribute__((always_inline)) DAT_RETURN
dequeue_wc(struct shim_object *obj, struct pass_evd *evd, struct ibv_wc *wc, int left,
	   DAT_EVENT *event)
{
	if (SHIM_UNLIKELY(!is_plain(wc, pass_wc_cookie(wc)))) {
		evd->wc_next = wc;
		evd->wc_left = left;
		return dequeue_other(obj, event);
	}
	take_plain(obj, evd, wc, left, event);
	return shim_object_unlock(obj, DAT_SUCCESS);
}

/*
 * Dequeues whatever the beginning of pass_evd_dequeue() does not handle: all but a poll of the one
 * completion queue of an EVD that has nothing else. Unlocks the EVD.
 */
static __attribute__((noinline)) DAT_RETURN dequeue_aside(struct shim_object *obj,
							  DAT_EVENT *event)
{
	struct pass_evd *evd = pass_evd_of(obj);

	if (SHIM_LIKELY(!shim_evd_check(obj, event) && evd && evd->wc_left &&
			shim_holds(&evd->aside, 0) && !shim_ring_has(evd->ring)))
		return dequeue_wc(obj, evd, evd->wc_next, evd->wc_left, event);
	return dequeue_other(obj, event);
}

/* Another thread has the EVD locked: waits for the lock. */
static __attribute__((noinline)) DAT_RETURN dequeue_late(struct shim_object *obj,
							 DAT_EVENT *event)
{
	shim_lock(&obj->lock);
	return dequeue_aside(obj, event);
}

/* Can events be in the one completion queue only, and nowhere else? */
static inline bool has_queue_alone(const struct pass_evd *evd)
{
	return shim_long_holds(&evd->not_idle, 0) && shim_ring_is_idle(evd->ring);
}

/*
 * pass_event_take_only - take the only event of an EVD, for a wait that is over at once then
 *
 * Return: false if there is none, or more than a look at the one completion queue is needed to take
 * and count what there is. What was polled is kept for that.
 */
bool pass_event_take_only(struct pass_evd *evd, DAT_EVENT *event)
{
	int polled;

	if (!has_queue_alone(evd))
		return false;
	polled = ibv_poll_cq(evd->cqs[0].cq, PASS_WCS, evd->wc);
	if (polled == 1 && is_plain(evd->wc, pass_wc_cookie(evd->wc))) {
		take_plain(evd->obj, evd, evd->wc, 1, event);
		return true;
	}
	if (SHIM_UNLIKELY(polled < 0))
		pass_evd_faulted(evd);
	evd->wc_next = evd->wc;
	evd->wc_left = polled > 0 ? polled : 0;
	return false;
}

/* Loads the EVD and the argument once more, which is cheaper than to keep them (@event). */
static inline __attribute__((always_inline)) DAT_RETURN dequeue_polled(struct shim_object *obj,
								       int polled)
{
	struct pass_evd *evd = pass_evd_of(obj);

	return dequeue_wc(obj, evd, evd->wc, polled, evd->event);
}

/* The one completion queue cannot be polled. Unlocks the EVD. */
static __attribute__((noinline)) DAT_RETURN dequeue_faulted(struct shim_object *obj)
{
	pass_evd_faulted(pass_evd_of(obj));
	return shim_object_unlock(obj, FACE_QUEUE_EMPTY);
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
	if (SHIM_UNLIKELY(polled))
		return dequeue_faulted(obj);
	return shim_object_unlock(obj, FACE_QUEUE_EMPTY);
}
