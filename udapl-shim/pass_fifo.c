// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The FIFO of an EVD in passthrough. It has completions that were polled or made by the library,
 * the events that end connections, and other events that were moved there from the kernel's ring.
 * pass_event.c takes them. The EVD is locked in all of this file, except where it says otherwise.
 */
#include <stdlib.h>

#include "pass_event.h"
#include "pass_srq.h"

static struct pass_cookie *cookie_of(struct pass_node *node)
{
	return (struct pass_cookie *)((char *)node - offsetof(struct pass_cookie, node));
}

/* pass_cookie_free - the consumer has the event, or gets none, so the cookie is free (mt:T13) */
inline void pass_cookie_free(struct pass_cookie *cookie)
{
	if (cookie->flags & PASS_COOKIE_SRQ) {
		pass_srq_cookie_back(cookie);
		return;
	}
	cookie->rmr_obj = NULL;
	/* ORDER: pairs with pass_cookie_is_free(): the cookie is read before it is free. */
	atomic_store_explicit(&cookie->place, PASS_FREE, memory_order_release);
}

/* Does a completion wake a waiter (E35)? */
static bool cookie_notifies(const struct pass_evd *evd, const struct pass_cookie *cookie)
{
	if (cookie->status != DAT_DTO_SUCCESS)
		return true;
	return !evd->solicited && !(cookie->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* pass_fifo_add - append an event */
void pass_fifo_add(struct pass_evd *evd, struct pass_node *node)
{
	node->next = NULL;
	node->mark = evd->taken + shim_ring_filled(evd->ring);
	if (!evd->first)
		pass_evd_set_aside(evd, PASS_FIFO, true);
	*evd->last = node;
	evd->last = &node->next;
	evd->nr_fifo++;
	evd->notified += node->notify;
}

/* pass_fifo_add_cookie - append a completion */
void pass_fifo_add_cookie(struct pass_evd *evd, struct pass_cookie *cookie)
{
	/* Nobody wants the completions of a hidden EVD (mt:T11). */
	if (!evd->obj) {
		pass_cookie_free(cookie);
		return;
	}
	cookie->node.kind = PASS_COOKIE;
	cookie->node.notify = cookie_notifies(evd, cookie);
	atomic_fetch_add(&cookie->dir->ep->refs, 1);
	pass_fifo_add(evd, &cookie->node);
}

/*
 * pass_fifo_flushed - complete a post as flushed, since no queue pair will complete it
 * @evd: not locked; NULL if the EP has none
 */
void pass_fifo_flushed(struct pass_evd *evd, struct pass_cookie *cookie)
{
	cookie->status = DAT_DTO_ERR_FLUSHED;
	cookie->length = 0;
	if (!evd) {
		pass_cookie_free(cookie);
		return;
	}
	shim_lock(evd->lock);
	pass_fifo_add_cookie(evd, cookie);
	pass_evd_wake(evd);
	shim_unlock(evd->lock);
}

static void fill_completion(const struct pass_evd *evd, const struct pass_cookie *cookie,
			    DAT_EVENT *event)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;

	if (!cookie->rmr_obj) {
		pass_fill_dto(evd->obj, cookie, cookie->status, cookie->length, event);
		if (!cookie->dir->is_recv && pass_cookie_extends(cookie))
			face_extended(event, cookie->operation, 0);
		else if (cookie->dir->is_recv && cookie->node.immed && !cookie->status)
			face_extended(event, KDAPL_DID_RECV_IMMED, cookie->node.word);
		return;
	}
	event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	event->evd_handle = evd->obj;
	bind->rmr_handle = cookie->rmr_obj;
	bind->user_cookie.as_64 = cookie->user;
	bind->status = cookie->status;
}

static struct pass_node *fifo_remove(struct pass_evd *evd)
{
	struct pass_node *node = evd->first;

	evd->first = node->next;
	if (!evd->first) {
		evd->last = &evd->first;
		pass_evd_set_aside(evd, PASS_FIFO, false);
	}
	evd->nr_fifo--;
	return node;
}

/* pass_fifo_take - take the first entry of a FIFO that is not empty */
enum pass_took pass_fifo_take(struct pass_evd *evd, DAT_EVENT *event,
			      struct kdapl_uapi_event *kernel)
{
	struct pass_node *node = fifo_remove(evd);
	struct pass_cookie *cookie;
	struct pass_ep *ep;

	if (node->kind == PASS_MOVED) {
		*kernel = ((struct pass_moved *)node)->event;
		free(node);
		return PASS_TOOK_KERNEL;
	}
	cookie = cookie_of(node);
	ep = cookie->dir->ep;
	fill_completion(evd, cookie, event);
	pass_cookie_free(cookie);
	pass_ep_put(ep);
	return PASS_TOOK;
}

/* pass_moved_new - memory for an event of the ring; NULL if there is none. No lock is needed */
struct pass_moved *pass_moved_new(void)
{
	struct pass_moved *moved = malloc(sizeof(*moved));

	if (moved)
		moved->node = (struct pass_node) { .kind = PASS_MOVED, .notify = true };
	return moved;
}

/* pass_fifo_insert - put an event of the ring before the entries that came later (its mark) */
void pass_fifo_insert(struct pass_evd *evd, struct pass_moved *moved)
{
	struct pass_node **link;

	for (link = &evd->first; *link && (*link)->mark <= moved->node.mark;
	     link = &(*link)->next)
		;
	if (!evd->first)
		pass_evd_set_aside(evd, PASS_FIFO, true);
	moved->node.next = *link;
	*link = &moved->node;
	if (!moved->node.next)
		evd->last = &moved->node.next;
	evd->nr_fifo++;
	evd->notified++;
}

/* pass_fifo_drop - drop all events, since the EVD is freed */
void pass_fifo_drop(struct pass_evd *evd)
{
	struct kdapl_uapi_event kernel;
	DAT_EVENT event;

	while (evd->first)
		pass_fifo_take(evd, &event, &kernel);
}
