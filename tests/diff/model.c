// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What has to come of a program: which posts can complete, what an end flushes, which events
 * are due where.  The player needs it to know what to wait for.  It is also an oracle that does
 * not depend on the comparison: what both modes do wrong in the same way shows here.  What it
 * finds is a line of the transcript that begins with RULE.
 */
#include "diff.h"

/* Makes an item of @ep, or of nobody; it waits. */
struct item *item_new(struct world *w, enum stream stream, enum kind kind, struct ep *ep)
{
	struct item *item = &w->items[w->n_items++];

	memset(item, 0, sizeof(*item));
	item->stream = stream;
	item->kind = kind;
	item->ep = ep;
	item->evd = NO_EVD;
	item->number = item - w->items;
	if (ep) {
		item->life = ep->life;
		item->side = ep->side;
		item->late = stream != CONNECTION && ep->state == DAT_EP_STATE_DISCONNECTED;
	}
	return item;
}

/* The item will complete: E.4, on the EVD that its endpoint has now. */
void item_ready(struct item *item, enum result result)
{
	item->stage = result == FLUSH ? SURE : DUE;
	item->result = result;
	item->evd = item->ep->evds[item->stream];
}

static struct item *first_waiting(struct world *w, struct ep *ep, enum stream stream)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->stream == stream && item->stage == WAITS && item->ep == ep &&
		    item->life == ep->life)
			return item;
	}
	return NULL;
}

bool waiting(struct world *w, struct ep *ep, enum stream stream)
{
	return first_waiting(w, ep, stream);
}

/* The receive that the next message to @ep takes: its own first one, or the SRQ's (mt:T42) */
struct item *next_receive(struct world *w, struct ep *ep)
{
	u32 i;

	if (!ep->srq)
		return first_waiting(w, ep, RECV);
	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->kind == OP_srq_recv && item->side == ep->side && item->stage == WAITS)
			return item;
	}
	return NULL;
}

/*
 * Slots that are busy: @certainly, because the post cannot have completed, or perhaps, until its
 * completion was dequeued (mt:T13), in earlier lives as well
 */
u32 occupied(struct world *w, struct ep *ep, enum stream stream, bool certainly)
{
	u32 i, n = 0;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->stream == stream && item->ep == ep && item->kind != OP_srq_recv &&
		    (certainly ? item->stage == WAITS : item->stage != TAKEN))
			n++;
	}
	return n;
}

/* The event that made the connection of that life, or that ended it; NULL: there is none */
struct item *find_event(struct world *w, struct ep *ep, u32 life, bool end)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->stream == CONNECTION && item->ep == ep && item->life == life &&
		    item->end == end)
			return item;
	}
	return NULL;
}

void event_due(struct world *w, struct ep *ep, DAT_EVENT_NUMBER number)
{
	struct item *item = item_new(w, CONNECTION, OP_connect, ep);

	item->number = number;
	item->end = number != DAT_CONNECTION_EVENT_ESTABLISHED;
	item_ready(item, OK);
}

/* FR and FQ: whatever waits is flushed, and what has begun may go either way (D20). */
static void flush_all(struct world *w, struct ep *ep)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->ep != ep || item->life != ep->life || item->stream > REQUEST)
			continue;
		if (item->stage == WAITS) {
			item_ready(item, FLUSH);
			if (item->rmr)
				item->rmr->bound = false;	/* mt:M40 */
		} else if (item->stage == DUE) {
			item->stage = SURE;
			item->result = ANY;
			w->raced = true;
		}
	}
}

/* A drain has completed the requests of @ep, and so what they did at the peer (D11, D12). */
static void drained(struct world *w, struct ep *ep)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->ep != ep || item->stream != REQUEST || item->stage != DUE)
			continue;
		item->stage = SURE;
		if (item->partner && item->partner->stage == DUE)
			item->partner->stage = SURE;
	}
}

/* The connection or attempt of @ep is over, with this event, unless it is @freed (F8). */
void ended(struct world *w, struct ep *ep, DAT_EVENT_NUMBER number, bool freed)
{
	flush_all(w, ep);
	ep->state = DAT_EP_STATE_DISCONNECTED;
	if (!freed)
		event_due(w, ep, number);
}

/* end_connection - @by disconnects (or is @freed), with its requests @drained or not */
void end_connection(struct world *w, struct ep *by, bool was_drained, bool freed)
{
	struct ep *peer = by->peer;

	if (was_drained)
		drained(w, by);
	ended(w, by, DAT_CONNECTION_EVENT_DISCONNECTED, freed);
	ended(w, peer, DAT_CONNECTION_EVENT_DISCONNECTED, false);
}

/*
 * A request that fails ends the connection for both.  Which of the two hears first is a race,
 * so the event may be BROKEN or DISCONNECTED, and the request may be flushed instead (D52,
 * mt:T55); the requests before it have been carried out, but their completions are in that
 * race as well.
 */
static void broken(struct world *w, struct ep *ep, struct item *request, struct item *receive)
{
	w->breaks++;
	item_ready(request, FAIL);
	request->stage = SURE;
	if (receive) {
		item_ready(receive, FAIL);
		receive->stage = SURE;
	}
	ended(w, ep, DAT_CONNECTION_EVENT_BROKEN, false);
	ended(w, ep->peer, DAT_CONNECTION_EVENT_BROKEN, false);
}

/* A message, or a write with immediate data, which fills no receive. */
bool takes_receive(const struct item *request)
{
	return request->kind == OP_send || request->kind == OP_write_immed;
}

/* The first request that waits is carried out, if it can be; true: something changed. */
static bool step(struct world *w, struct ep *ep)
{
	struct item *request, *receive = NULL;

	if (ep->freed || (ep->state != DAT_EP_STATE_CONNECTED &&
			  ep->state != DAT_EP_STATE_DISCONNECT_PENDING))
		return false;
	request = first_waiting(w, ep, REQUEST);
	if (!request) {
		if (ep->state == DAT_EP_STATE_CONNECTED)
			return false;
		end_connection(w, ep, true, false);
		return true;
	}
	if (takes_receive(request)) {
		receive = next_receive(w, ep->peer);
		if (!receive)		/* mt:T51 */
			return false;
		receive->ep = ep->peer;
		receive->life = ep->peer->life;
		receive->partner = request;
		request->partner = receive;
	}
	if (request->bad || (request->kind == OP_send && receive->length < request->length)) {
		broken(w, ep, request, receive);
		return true;
	}
	item_ready(request, OK);
	if (request->rmr)
		request->rmr->bound = !request->rmr->unbinds;
	if (receive) {
		receive->length = request->length;
		item_ready(receive, OK);
	}
	return true;
}

/* Carries out whatever can be. */
void advance(struct world *w)
{
	bool any;
	u32 i;

	do {
		any = false;
		for (i = 0; i < w->n_eps; i++)
			any |= step(w, &w->eps[i]);
	} while (any);
}

/* Will the item be an event of that EVD for certain, and was not yet? */
bool is_due(const struct item *item, u32 side, u32 evd)
{
	return item->side == side && item->evd == evd && !item->lost &&
	       (item->stage == DUE || item->stage == SURE) &&
	       !(item->silent && item->result == OK);
}

/* ---- rules that hold whatever the other mode does ------------------------------ */

static void rule(const struct item *item, const char *text)
{
	say("RULE %s: post or event %u of ep %u.%u", text, item->number, item->ep->side,
	    item->ep->slot);
}

/* Of the direction: nothing after @item may have been taken, nor a failure before its success. */
static void oracle_direction(struct world *w, struct item *item, u32 status)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *other = &w->items[i];

		if (other == item || other->ep != item->ep || other->stream != item->stream ||
		    other->stage != TAKEN)
			continue;
		if (other > item && other->evd == item->evd && !item->ep->srq)
			rule(item, "D43 mt:T40 behind a later one");
		if (other->life == item->life && other->failed && !status)
			rule(item, "D21 E47 mt:T41 success after a failure");
	}
}

/*
 * oracle - @item was dequeued from @evd; if it is a transfer, with @status
 *
 * E45: not before ESTABLISHED.  D44, D45, E46: not behind the event of the end, unless it was
 * posted in Disconnected.  The order is one of an EVD they share.  That such a late post comes
 * behind the event (D46) can only be said of one that was posted behind it: the state may be
 * ahead of the event (rules-by-mode.rst).
 */
void oracle(struct world *w, struct item *item, u32 evd, u32 status)
{
	struct item *made, *end;

	if (item->stream > REQUEST)
		return;
	if (item->stage == WAITS)
		rule(item, "completed though it cannot");
	else if (item->result == OK && status)
		rule(item, "D11 mt:T53 failed, and nothing was in its way");
	else if (item->result == FLUSH && status != DAT_DTO_ERR_FLUSHED)
		rule(item, "D42 mt:T54 not flushed");
	else if (item->result == FAIL && !status)
		rule(item, "mt:T50 mt:T32 succeeded, and cannot have");
	item->failed = status;
	oracle_direction(w, item, status);
	made = find_event(w, item->ep, item->life, false);
	if (made && made->evd == evd && made->stage != TAKEN && !status)
		rule(item, "E45 completion before ESTABLISHED");
	end = find_event(w, item->ep, item->life, true);
	if (end && end->evd == evd && end->stage == TAKEN && !item->late)
		rule(item, "D44 D45 E46 completion behind the event of the end");
}

/* The EVD is empty: what comes before an end that was taken already is missing (D45). */
void oracle_empty(struct world *w, u32 side, u32 evd)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *end, *item = &w->items[i];

		if (item->stream > REQUEST || item->late || !is_due(item, side, evd))
			continue;
		end = find_event(w, item->ep, item->life, true);
		if (end && end->stage == TAKEN)
			rule(item, "D45 not there when the event of the end is");
	}
}
