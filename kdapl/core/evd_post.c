// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Raising events that do not come from a completion queue: those of connections and
 * requests, software and asynchronous events, and flushed completions that the core makes
 * itself.  Whether there is room for an event is decided here.
 *
 * Callers: the other files of the core.
 */
#include "evd_fifo.h"
#include "ep.h"
#include "evd_kick.h"
#include "rmr.h"
#include "../trace.h"

/*
 * Events that count against the length: in the FIFO, and those that the sink
 * delivered but its consumer has not taken (E51).
 */
u32 kdapl_evd_queued(struct kdapl_evd *evd)
{
	const struct kdapl_sink *sink = evd->sink;

	lockdep_assert_held(&evd->lock);
	return evd->nr_slots +
	       (sink && sink->held ? sink->held(evd, evd->sink_arg) : 0);
}

/* May an event be raised?  @reserved: kdapl_evd_reserve() has made room for it. */
static bool evd_has_room(struct kdapl_evd *evd, bool reserved)
{
	return (reserved || kdapl_evd_queued(evd) < evd->qlen) && !evd->dead;
}

/**
 * kdapl_evd_post - raise an event
 * @evd: where
 * @slot: filled but for evd_handle; belongs to @evd until ->done
 *
 * Any context; kdapl_ep.lock may be held, which makes the order of an endpoint's
 * events the order of its states (A2).
 *
 * Return: false if there is no room, or @evd is dead; @slot is the caller's.
 */
bool kdapl_evd_post(struct kdapl_evd *evd, struct kdapl_event_slot *slot)
{
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&evd->lock, flags);
	if (slot->reserved)
		evd->nr_slots--;
	room = evd_has_room(evd, slot->reserved);
	if (room) {
		slot->node.is_cookie = false;
		slot->node.notify = true;
		kdapl_fifo_add(evd, &slot->node);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	if (room)
		kdapl_evd_kick(evd);
	return room;
}

/**
 * kdapl_evd_drop_data - take the private data out of an ESTABLISHED that nobody has taken
 * @evd: where it was posted, if it was
 * @slot: its slot
 *
 * The endpoint gives up the connection, and the data is in the connection's memory (E7).
 * Any context; kdapl_ep.lock may be held.
 */
void kdapl_evd_drop_data(struct kdapl_evd *evd, struct kdapl_event_slot *slot)
{
	DAT_CONNECTION_EVENT_DATA *data = &slot->event.event_data.connect_event_data;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	data->private_data_size = 0;
	data->private_data = NULL;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_reserve - keep room for one event
 * @evd: the EVD
 *
 * A connection request can so be refused before anything was made for it (P7).
 * Any context.  Return: false when there is none.
 */
bool kdapl_evd_reserve(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&evd->lock, flags);
	room = evd_has_room(evd, false);
	evd->nr_slots += room;
	spin_unlock_irqrestore(&evd->lock, flags);
	return room;
}

/**
 * kdapl_evd_unreserve - give back the room of kdapl_evd_reserve()
 * @evd: the EVD
 */
void kdapl_evd_unreserve(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->nr_slots--;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_post_flushed - complete, as flushed, a DTO that the device will not complete
 * @evd: of its direction
 * @cookie: busy; the direction's lock is held.  The device never got the DTO, or has lost
 *	    it, or its queue pair is gone
 */
void kdapl_evd_post_flushed(struct kdapl_evd *evd, struct kdapl_cookie *cookie)
{
	unsigned long flags;

	lockdep_assert_held(&cookie->dir->lock);
	if (unlikely(cookie->flags & KDAPL_COOKIE_CHAIN))
		kdapl_chain_end(cookie);
	cookie->status = DAT_DTO_ERR_FLUSHED;
	cookie->length = 0;
	cookie->node.notify = true;
	trace_kdapl_completion(cookie, 0, IB_WC_WR_FLUSH_ERR);
	kdapl_object_get(&cookie->dir->ep->obj);

	spin_lock_irqsave(&evd->lock, flags);
	/* Have its RMR settled from now on, not only when somebody looks at the completion. */
	if (unlikely(cookie->rmr))
		kdapl_rmr_complete(cookie->rmr, cookie, false);
	kdapl_fifo_add(evd, &cookie->node);
	spin_unlock_irqrestore(&evd->lock, flags);
	kdapl_evd_kick(evd);
}

/* Raises an event in a slot of the EVD's pool, which goes back there (it has no ->done). */
bool kdapl_evd_post_pooled(struct kdapl_evd *evd, const DAT_EVENT *event)
{
	struct kdapl_event_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	slot = list_first_entry_or_null(&evd->free_slots,
					struct kdapl_event_slot, node.link);
	if (!evd_has_room(evd, false))
		slot = NULL;
	if (slot) {
		list_del(&slot->node.link);
		slot->event = *event;
		slot->node.is_cookie = false;
		slot->node.notify = true;
		kdapl_fifo_add(evd, &slot->node);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	if (slot)
		kdapl_evd_kick(evd);
	return slot;
}

/**
 * kdapl_evd_post_async - raise an asynchronous event
 * @evd: has DAT_EVD_ASYNC_FLAG
 * @number: DAT_ASYNC_ERROR_*
 * @handle: what it is about
 * @reason: DAT's number of what happened, for that type of object
 *
 * Dropped and counted when there is no room (E66).  Any context.
 */
void kdapl_evd_post_async(struct kdapl_evd *evd, u32 number, DAT_HANDLE handle,
			  DAT_COUNT reason)
{
	DAT_EVENT event = { .event_number = number };
	unsigned long flags;

	event.event_data.asynch_error_event_data.dat_handle = handle;
	event.event_data.asynch_error_event_data.reason = reason;
	if (kdapl_evd_post_pooled(evd, &event))
		return;
	spin_lock_irqsave(&evd->lock, flags);
	evd->dropped++;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_overflow - an event that was owed found no room
 * @evd: the full EVD
 *
 * The async EVDs are told once for each episode at most (E65).  The watch tells them, because
 * an adapter may have many of them, and interrupts may be off here.  Any context.
 */
void kdapl_evd_overflow(struct kdapl_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	/* Under the lock: whoever makes the EVD dead cancels the watch afterwards. */
	if (!evd->overflowed && !evd->dead) {
		WRITE_ONCE(evd->overflow_unreported, true);
		kdapl_evd_watch_now(evd);
	}
	evd->overflowed = true;
	spin_unlock_irqrestore(&evd->lock, flags);
}
