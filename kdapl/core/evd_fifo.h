/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events and completions of an EVD, for those who raise them (evd_post.c) and those
 * who take them (evd_fifo.c).
 */
#ifndef KDAPL_EVD_FIFO_H
#define KDAPL_EVD_FIFO_H

#include "evd.h"

struct kdapl_cookie;

static inline struct kdapl_event_slot *kdapl_slot_of(struct kdapl_node *node)
{
	return container_of(node, struct kdapl_event_slot, node);
}

/* Is there an event, or a completion fetched already?  It may be taken at once. */
static inline bool kdapl_evd_has_more(const struct kdapl_evd *evd)
{
	return !list_empty(&evd->fifo) ||
	       READ_ONCE(evd->wc_next) != READ_ONCE(evd->wc_end);
}

static inline void kdapl_fifo_add(struct kdapl_evd *evd, struct kdapl_node *node)
{
	lockdep_assert_held(&evd->lock);
	list_add_tail(&node->link, &evd->fifo);
	evd->nr_fifo++;
	evd->nr_slots += !node->is_cookie;
	evd->nr_notify += node->notify;
	evd->arrivals += node->notify;
}

bool kdapl_evd_post(struct kdapl_evd *evd, struct kdapl_event_slot *slot);
void kdapl_evd_drop_data(struct kdapl_evd *evd, struct kdapl_event_slot *slot);
bool kdapl_evd_post_pooled(struct kdapl_evd *evd, const DAT_EVENT *event);
void kdapl_evd_post_async(struct kdapl_evd *evd, u32 number, DAT_HANDLE handle,
			  DAT_COUNT reason);
void kdapl_evd_post_flushed(struct kdapl_evd *evd, struct kdapl_cookie *cookie);
bool kdapl_evd_reserve(struct kdapl_evd *evd);
void kdapl_evd_unreserve(struct kdapl_evd *evd);
u32 kdapl_evd_queued(struct kdapl_evd *evd);

bool kdapl_evd_take(struct kdapl_evd *evd, DAT_EVENT *event, bool *notify,
		    struct kdapl_event_slot **slot);
u32 kdapl_evd_fetch(struct kdapl_evd *evd, u32 max, bool *waits);
bool kdapl_evd_pull(struct kdapl_evd *evd);
void kdapl_evd_overflow(struct kdapl_evd *evd);
void kdapl_evd_drop_events(struct kdapl_evd *evd);

#endif /* KDAPL_EVD_FIFO_H */
