// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Plays a program on a world of its own, and writes the transcript: a line for each operation
 * with what the call returned, and one for each event.
 *
 * The transcript leaves out what DAT leaves open (Documentation/testing.rst, Both modes alike, has
 * the list): the events that are due are taken before any is written, stream by stream.  model.c
 * says what is due; the rules that it looks at hold for what is left out as well.
 */
#include "diff.h"

#define X(name)	#name,
const char *const op_names[OPS] = { DIFF_OPS(X) };
#undef X

/* Memory of an item: for its message, and what its request may reach at the peer */
static u8 *item_mem(const struct side *side, u32 number)
{
	return side->mem + number * MSG;
}

static u8 *item_rdma(const struct side *side, u32 number)
{
	return side->mem + ITEMS * MSG + number * RDMA;
}

static u32 sum(const u8 *data, u32 length)
{
	u32 i, hash = 2166136261u;

	for (i = 0; i < length; i++)
		hash = (hash ^ data[i]) * 16777619;
	return hash;
}

static void fill(u8 *data, u32 length, u32 number)
{
	u32 i;

	for (i = 0; i < length; i++)
		data[i] = number * 37 + i;
}

static void tell(const struct world *w, const struct op *op, DAT_RETURN ret)
{
	const char *major = "", *minor = "";

	dat_strerror(ret, &major, &minor);
	/* The calls of the two faces have other arguments. */
	if (op->kind >= FIRST_EXTENSION)
		minor = "";
	say("%u %s %u.%u: %s %s", w->op, op_names[op->kind], op->side, op->slot, major, minor);
}

/* A call that is a part of an operation. Codes by name: the versions of DAT number them apart. */
static void tell_part(const char *call, DAT_RETURN ret)
{
	const char *major = "", *minor = "";

	dat_strerror(ret, &major, &minor);
	say("  %s: %s %s", call, major, minor);
}

/* Something that was due did not come.  The rest of the program would only repeat that. */
static void late(struct world *w, const char *what, u32 side, u32 slot)
{
	say("RULE %s never came: %u.%u", what, side, slot);
	w->stop = true;
}

/* ---- waiting for states --------------------------------------------------------- */

/*
 * Waits until @ep is in the state that the model says.  Asking for the status would have the
 * library poll, and hide what nobody polls for; a break it may only find so (rules-by-mode.rst).
 */
static void wait_state(struct world *w, struct ep *ep, bool poll)
{
	u64 end = now_ms() + w->limit;
	DAT_EP_STATE state;
	DAT_EP_PARAM param;

	if (ep->freed)
		return;
	do {
		if (poll && !dat_ep_get_status(ep->handle, &state, NULL, NULL) &&
		    state == ep->state)
			return;
		if (!poll && !dat_ep_query(ep->handle, DAT_EP_FIELD_EP_STATE, &param) &&
		    param.ep_state == ep->state)
			return;
		nap_us(1000);
	} while (now_ms() < end);
	late(w, "state", ep->side, ep->slot);
}

static void wait_states(struct world *w, bool poll)
{
	u32 i;

	for (i = 0; i < w->n_eps && !w->stop; i++)
		wait_state(w, &w->eps[i], poll);
}

/*
 * What can complete has when the direction is idle: then no end of the connection is in a race
 * with it.  A direction in which something waits is never idle.
 */
static void settle(struct world *w, struct ep *ep)
{
	bool requests = !waiting(w, ep, REQUEST), recvs = !waiting(w, ep, RECV);
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	u64 end = now_ms() + w->limit;
	u32 i;

	if (ep->freed)
		return;
	while (dat_ep_get_status(ep->handle, NULL, &recv_idle, &request_idle) ||
	       (requests && !request_idle) || (recvs && !recv_idle)) {
		if (now_ms() > end) {
			late(w, "idle", ep->side, ep->slot);
			return;
		}
		nap_us(1000);
	}
	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->ep != ep || item->stage != DUE ||
		    !(item->stream == REQUEST ? requests : item->stream == RECV && recvs))
			continue;
		item->stage = SURE;
		/* A message is acknowledged behind its receive. */
		if (item->stream == REQUEST && item->partner && item->partner->stage == DUE)
			item->partner->stage = SURE;
	}
}

/* ---- events ----------------------------------------------------------------------- */

static struct ep *find_ep(struct world *w, DAT_EP_HANDLE handle)
{
	u32 i;

	for (i = w->n_eps; i-- > 0;) {
		if (w->eps[i].handle == handle)
			return &w->eps[i];
	}
	return NULL;
}

static struct item *find_post(struct world *w, u64 cookie)
{
	return cookie < w->n_items && w->items[cookie].stage != TAKEN ? &w->items[cookie] : NULL;
}

/*
 * The first event of the endpoint that is due there, or else elsewhere; which one it should be is
 * compared.
 */
static struct item *find_connection(struct world *w, DAT_EP_HANDLE handle, u32 evd)
{
	struct ep *ep = find_ep(w, handle);
	struct item *other = NULL;
	u32 i;

	for (i = 0; ep && i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->stream != CONNECTION || item->ep != ep || item->stage == TAKEN)
			continue;
		if (item->evd == evd)
			return item;
		other = other ? other : item;
	}
	return other;
}

static bool is_atomic(u32 kind)
{
	return kind == OP_cmp_swap || kind == OP_fetch_add;
}

static void enter_dto(struct world *w, struct item *item, u32 evd, u32 status, u64 length,
		      u32 word)
{
	struct side *side = &w->sides[item->side];
	bool receives = (item->stream == RECV || is_atomic(item->kind)) && !status;
	bool any = item->result == ANY;

	oracle(w, item, evd, status);
	if (item->result == FAIL && item->stream == REQUEST && status)
		status = DAT_DTO_ERR_REMOTE_ACCESS;	/* or flushed */
	if (any)
		snprintf(item->text, sizeof(item->text), "any");
	else
		snprintf(item->text, sizeof(item->text), "status %u length %llu sum %x word %x",
			 status, (unsigned long long)length,
			 receives ? sum(item_mem(side, item->number), length) : 0, word);
}

/* Does it say nothing yet?  After ESTABLISHED comes DISCONNECTED in place of this (RULING 53). */
static bool is_prelude(const struct item *item, u32 number)
{
	return item->number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR &&
	       number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static void enter_connection(struct item *item, u32 number)
{
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED &&
	    item->number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR)
		number = item->number;
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED &&
	    item->number == DAT_CONNECTION_EVENT_BROKEN)
		number = DAT_CONNECTION_EVENT_BROKEN;
	if (number != item->number)
		say("RULE event 0x%x came, and not 0x%x", number, item->number);
	snprintf(item->text, sizeof(item->text), "event 0x%x", number);
}

/* Enters an event in the books; its line is written when all have come. */
static struct item *enter(struct world *w, u32 evd, const DAT_EVENT *event)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct item *item = NULL;
	u32 word;

	switch ((u32)event_kind(event, &word)) {
	case DAT_DTO_COMPLETION_EVENT:
		item = find_post(w, dto->user_cookie.as_64);
		if (!item || !item->ep || item->ep->handle != dto->ep_handle)
			break;
		enter_dto(w, item, evd, dto->status, dto->transfered_length, word);
		goto found;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		item = find_post(w, bind->user_cookie.as_64);
		if (!item || item->kind != OP_bind)
			break;
		enter_dto(w, item, evd, bind->status, 0, 0);
		goto found;
	case DAT_SOFTWARE_EVENT:
		item = find_post(w, (uintptr_t)event->event_data.software_event_data.pointer);
		if (item)
			goto found;
		break;
	default:
		item = find_connection(w, event->event_data.connect_event_data.ep_handle, evd);
		if (!item)
			break;
		if (is_prelude(item, event->event_number))
			return NULL;
		enter_connection(item, event->event_number);
		goto found;
	}
	say("RULE mt:T36 E42 an event that is not due: 0x%x cookie %llu", event->event_number,
	    (unsigned long long)dto->user_cookie.as_64);
	return NULL;
found:
	if (item->evd != evd && !item->lost)
		say("RULE E.4 on EVD %u, not on %u", evd, item->evd);
	item->stage = TAKEN;
	return item;
}

static bool any_due(struct world *w, u32 side, u32 evd)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		if (is_due(&w->items[i], side, evd))
			return true;
	}
	return false;
}

/* By endpoint, then by stream; within one as they came. */
static void tell_taken(struct world *w, u32 n)
{
	static const char *const names[] = { "recv", "request", "connection", "software" };
	u32 stream, i, k;

	for (i = 0; i <= w->n_eps; i++) {
		struct ep *ep = i < w->n_eps ? &w->eps[i] : NULL;

		for (stream = RECV; stream <= SOFTWARE; stream++) {
			for (k = 0; k < n; k++) {
				struct item *item = w->taken[k];

				if (item->ep == ep && item->stream == stream && !item->lost)
					say("  ep %u %s %u: %s", i, names[stream],
					    (u32)(item - w->items), item->text);
			}
		}
	}
}

/* Takes all events of an EVD until those that are due have come and nothing else is there. */
static void take(struct world *w, u32 side, u32 evd, bool wait)
{
	DAT_EVD_HANDLE handle = w->sides[side].evds[evd];
	u64 end = now_ms() + w->limit;
	bool empty = false;
	struct item *item;
	DAT_EVENT event;
	u32 n = 0;

	for (;;) {
		if (!(wait && any_due(w, side, evd) ? port_evd_wait(handle, 5000, &event) :
						      dat_evd_dequeue(handle, &event))) {
			item = enter(w, evd, &event);
			if (item && n < ITEMS)
				w->taken[n++] = item;
			empty = false;
			continue;
		}
		/* Those of a receive that wakes nobody, or of a drain, may be behind a time-out. */
		if (!wait && !empty)
			oracle_empty(w, side, evd);
		empty = true;
		if (w->stop || !any_due(w, side, evd))
			break;
		if (now_ms() > end) {
			late(w, "event", side, evd);
			break;
		}
		nap_us(1000);
	}
	tell_taken(w, n);
}

/* ---- endpoints ---------------------------------------------------------------------- */

static void evd_handles(const struct side *side, u32 code, u32 *evds, DAT_EVD_HANDLE *handles)
{
	u32 i;

	for (i = 0; i < 3; i++, code /= EVDS + 1) {
		evds[i] = code % (EVDS + 1);
		handles[i] = evds[i] == NO_EVD ? DAT_HANDLE_NULL : side->evds[evds[i]];
	}
}

/* a: the three EVDs */
static DAT_RETURN op_create(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.max_message_size = MSG, .max_rdma_size = MSG, .max_recv_dtos = DTOS,
		.max_request_dtos = DTOS, .max_recv_iov = 2, .max_request_iov = 2,
		.max_rdma_read_in = 2, .max_rdma_read_out = 2, .max_rdma_read_iov = 2,
		.max_rdma_write_iov = 2, .srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct ep *ep = &w->eps[w->n_eps];
	DAT_EVD_HANDLE evds[3];
	DAT_RETURN ret;

	if (side->slots[op->slot] && !side->slots[op->slot]->freed)
		return DAT_SUCCESS;
	memset(ep, 0, sizeof(*ep));
	evd_handles(side, op->a, ep->evds, evds);
	ep->srq = op->slot == SLOTS - 1;
	if (ep->srq)
		ret = dat_ep_create_with_srq(side->ia, side->pz, evds[0], evds[1], evds[2],
					     side->srq, &attr, &ep->handle);
	else
		ret = dat_ep_create(side->ia, side->pz, evds[0], evds[1], evds[2], &attr,
				    &ep->handle);
	if (ret)
		return ret;
	ep->side = op->side;
	ep->slot = op->slot;
	ep->state = DAT_EP_STATE_UNCONNECTED;
	side->slots[op->slot] = ep;
	w->n_eps++;
	return ret;
}

static void ep_freed(struct world *w, struct ep *ep)
{
	u32 i;

	if (ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		end_connection(w, ep, false, true);
	ep->freed = true;
	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->ep != ep)
			continue;
		if (item->stage == WAITS) {
			item->stage = SURE;
			item->result = FLUSH;
			if (item->rmr)
				item->rmr->bound = false;
		}
		item->lost = item->stage != TAKEN;
	}
}

static DAT_RETURN op_free(struct world *w, const struct op *op)
{
	struct ep *ep = w->sides[op->side].slots[op->slot];
	DAT_RETURN ret = dat_ep_free(ep->handle);

	if (!ret)
		ep_freed(w, ep);
	return ret;
}

/* a: EVDs, b: a bit for each of the three that changes */
static DAT_RETURN op_modify(struct world *w, const struct op *op)
{
	static const DAT_EP_PARAM_MASK fields[] = {
		DAT_EP_FIELD_RECV_EVD_HANDLE, DAT_EP_FIELD_REQUEST_EVD_HANDLE,
		DAT_EP_FIELD_CONNECT_EVD_HANDLE,
	};
	struct side *side = &w->sides[op->side];
	struct ep *ep = side->slots[op->slot];
	DAT_EP_PARAM_MASK mask = 0;
	DAT_EP_PARAM *param = mem_new(sizeof(*param));
	DAT_EVD_HANDLE handles[3];
	u32 evds[3], i;
	DAT_RETURN ret;

	evd_handles(side, op->a, evds, handles);
	param->recv_evd_handle = handles[RECV];
	param->request_evd_handle = handles[REQUEST];
	param->connect_evd_handle = handles[CONNECTION];
	for (i = 0; i < 3; i++)
		mask |= op->b & 1 << i ? fields[i] : 0;
	ret = dat_ep_modify(ep->handle, mask, param);
	for (i = 0; !ret && i < 3; i++) {
		if (op->b & 1 << i)
			ep->evds[i] = evds[i];
	}
	mem_free(param);
	return ret;
}

static DAT_RETURN op_reset(struct world *w, const struct op *op)
{
	struct ep *ep = w->sides[op->side].slots[op->slot];
	DAT_RETURN ret = dat_ep_reset(ep->handle);

	if (!ret && ep->state == DAT_EP_STATE_DISCONNECTED) {
		ep->state = DAT_EP_STATE_UNCONNECTED;
		ep->life++;
		ep->peer = NULL;
	}
	return ret;
}

static DAT_RETURN op_status(struct world *w, const struct op *op)
{
	struct ep *ep = w->sides[op->side].slots[op->slot];
	DAT_BOOLEAN recv, request;
	DAT_EP_STATE state;
	DAT_RETURN ret;

	settle(w, ep);
	ret = dat_ep_get_status(ep->handle, &state, &recv, &request);
	if (!ret)
		say("  state %u idle %u %u", state, !!recv, !!request);
	return ret;
}

static u32 evd_number(const struct side *side, DAT_EVD_HANDLE handle)
{
	u32 i;

	for (i = 0; i < EVDS && side->evds[i] != handle; i++)
		;
	return handle ? i : 9;
}

static DAT_RETURN op_query(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	DAT_EP_PARAM *param = mem_new(sizeof(*param));
	DAT_RETURN ret;

	ret = dat_ep_query(side->slots[op->slot]->handle, DAT_EP_FIELD_ALL, param);
	if (!ret)
		say("  state %u evds %u %u %u srq %d zone %d flags %u %u", param->ep_state,
		    evd_number(side, param->recv_evd_handle),
		    evd_number(side, param->request_evd_handle),
		    evd_number(side, param->connect_evd_handle),
		    param->srq_handle == side->srq, param->pz_handle == side->pz,
		    param->ep_attr.recv_completion_flags, param->ep_attr.request_completion_flags);
	mem_free(param);
	return ret;
}

/* How many receives are posted: not while some may be completing at this moment */
static DAT_RETURN op_recv_query(struct world *w, const struct op *op)
{
	struct ep *ep = w->sides[op->side].slots[op->slot];
	DAT_COUNT held = 0, span = 0;
	DAT_RETURN ret;
	u32 i;

	settle(w, ep);
	ret = dat_ep_recv_query(ep->handle, &held, &span);
	for (i = 0; i < w->n_items; i++) {
		if (w->items[i].ep == ep && w->items[i].stream == RECV && w->items[i].stage == DUE)
			return ret;
	}
	if (!ret)
		say("  %d receives", held);
	return ret;
}

/* ---- connections ---------------------------------------------------------------------- */

enum { ACCEPTED, REJECTED, NOBODY, ABORTED, ABORTED_REJECTED, FREED };

static bool next_request(struct world *w, struct side *side, DAT_CR_HANDLE *cr)
{
	u64 end = now_ms() + w->limit;
	DAT_EVENT event;

	while (dat_evd_dequeue(side->cr, &event)) {
		if (now_ms() > end) {
			late(w, "request", side - w->sides, 0);
			return false;
		}
		nap_us(1000);
	}
	*cr = event.event_data.cr_arrival_event_data.cr_handle;
	return true;
}

/* The request of @ep, which may have been withdrawn, is answered. */
static void answer(struct world *w, struct ep *ep, struct ep *peer, DAT_CR_HANDLE cr, u32 way)
{
	bool alone = ep->freed || ep->state == DAT_EP_STATE_DISCONNECTED, accepted;
	DAT_RETURN ret;

	if (way == REJECTED || way == ABORTED_REJECTED || !peer) {
		tell_part("reject", dat_cr_reject(cr));
		accepted = false;
	} else {
		ret = dat_cr_accept(cr, peer->handle, 0, NULL);
		tell_part("accept", ret);
		accepted = !ret;
		if (ret)
			tell_part("reject", dat_cr_reject(cr));
	}
	if (alone) {
		if (accepted)
			ended(w, peer, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, false);
		return;
	}
	if (!accepted) {
		ended(w, ep, DAT_CONNECTION_EVENT_PEER_REJECTED, false);
		return;
	}
	ep->peer = peer;
	peer->peer = ep;
	ep->state = DAT_EP_STATE_CONNECTED;
	peer->state = DAT_EP_STATE_CONNECTED;
	event_due(w, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	event_due(w, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* a: the peer's slot, b: how it ends */
static DAT_RETURN op_connect(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side], *far = &w->sides[!op->side];
	struct ep *ep = side->slots[op->slot], *peer = far->slots[op->a % SLOTS];
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	ret = dat_ep_connect(ep->handle, (DAT_IA_ADDRESS_PTR)&far->address,
			     op->b == NOBODY ? far->qual + SIDES : far->qual, LIMIT_MS * 1000, 0,
			     NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret)
		return ret;
	if (op->b == NOBODY) {
		ended(w, ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
		wait_states(w, false);
		return ret;
	}
	if (!next_request(w, far, &cr))
		return ret;
	if (op->b == ABORTED || op->b == ABORTED_REJECTED) {
		tell_part("disconnect", dat_ep_disconnect(ep->handle, DAT_CLOSE_ABRUPT_FLAG));
		ended(w, ep, DAT_CONNECTION_EVENT_DISCONNECTED, false);
	} else if (op->b == FREED) {
		tell_part("free", dat_ep_free(ep->handle));
		ep_freed(w, ep);
	}
	answer(w, ep, peer, cr, op->b);
	wait_states(w, false);
	return ret;
}

/* a: flag */
static DAT_RETURN op_disconnect(struct world *w, const struct op *op)
{
	struct ep *ep = w->sides[op->side].slots[op->slot];
	DAT_RETURN ret = dat_ep_disconnect(ep->handle, op->a);

	if (ret || (ep->state != DAT_EP_STATE_CONNECTED &&
		    ep->state != DAT_EP_STATE_DISCONNECT_PENDING))
		return ret;
	if (op->a == DAT_CLOSE_ABRUPT_FLAG)
		end_connection(w, ep, false, false);
	else
		ep->state = DAT_EP_STATE_DISCONNECT_PENDING;
	return ret;
}

/* ---- posts -------------------------------------------------------------------------------- */

/* What is wrong with a post, if anything; BAD_KEY shows at the peer only. */
enum { GOOD, BAD_LMR, MANY_SEGMENTS, BAD_FLAG, TOO_LONG, OUTSIDE, BAD_KEY, BADS };

static DAT_COUNT segments(const struct side *side, DAT_LMR_TRIPLET *iov, u32 number, u32 length,
			  u32 bad)
{
	u32 half = length / 2, i;

	memset(iov, 0, 3 * sizeof(*iov));
	for (i = 0; i < 3; i++)
		iov[i].lmr_context = side->context ^ (bad == BAD_LMR ? 0x5a5a00 : 0);
	iov[0].virtual_address = (uintptr_t)item_mem(side, number);
	iov[0].segment_length = length > 64 ? half : length;
	iov[1].virtual_address = iov[0].virtual_address + half;
	iov[1].segment_length = length - half;
	if (bad == TOO_LONG)
		iov[0].segment_length = 2 * MSG;
	if (bad == OUTSIDE)
		iov[0].virtual_address = (uintptr_t)item_rdma(side, ITEMS);
	if (bad == MANY_SEGMENTS)
		return 3;
	return length > 64 ? 2 : length > 0;
}

/*
 * The post was taken or refused.  A success that shows nothing is waited for: nothing else tells
 * whether it was before an end.
 */
static void posted(struct world *w, struct ep *ep, struct item *item, DAT_RETURN ret)
{
	if (ret) {
		w->n_items--;
		return;
	}
	if (item->late)
		item_ready(item, FLUSH);
	advance(w);
	if (item->silent && item->stage == DUE)
		settle(w, ep);
}

/*
 * Before a request: the state that a call tells may be ahead of the one by which the library
 * judges a post, which is that of the events that it can see (core/ep_view.c).  So these are
 * taken first.  Receives are taken in every state.
 */
static void catch_up(struct world *w, struct ep *ep)
{
	struct item *made = find_event(w, ep, ep->life, false);
	struct item *end = find_event(w, ep, ep->life, true);

	if (ep->freed)
		return;
	if (made && made->stage != TAKEN)
		take(w, ep->side, made->evd, false);
	if (end && end->stage != TAKEN)
		take(w, ep->side, end->evd, false);
}

/*
 * No post is made where it depends on time, or on the face, whether there is room: where
 * completions free slots that may count as dequeued when they are in the ring of a process, or
 * that free themselves because nothing shows.  One too many is made if all are held for certain.
 */
static bool room_is_known(struct world *w, struct ep *ep, enum stream stream)
{
	return w->n_items + 8 < ITEMS && (occupied(w, ep, stream, false) < DTOS ||
					  occupied(w, ep, stream, true) == DTOS);
}

/* a: length, b: how many, c: what is wrong */
static DAT_RETURN op_recv(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	struct ep *ep = side->slots[op->slot];
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_LMR_TRIPLET iov[3];
	struct item *item;
	u32 i;

	for (i = 0; i < op->b && !ret && room_is_known(w, ep, RECV); i++) {
		DAT_DTO_COOKIE cookie = { .as_64 = w->n_items };
		DAT_COUNT n = segments(side, iov, w->n_items, op->a, op->c);

		item = item_new(w, RECV, OP_recv, ep);
		item->length = op->a;
		ret = dat_ep_post_recv(ep->handle, n, iov, cookie,
				       op->c == BAD_FLAG ? 0x40 : DAT_COMPLETION_DEFAULT_FLAG);
		posted(w, ep, item, ret);
	}
	return ret;
}

/* a: length, b: how many */
static DAT_RETURN op_srq_recv(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_LMR_TRIPLET iov[3];
	struct item *item;
	u32 i;

	for (i = 0; i < op->b && !ret && w->n_items + 8 < ITEMS; i++) {
		DAT_DTO_COOKIE cookie = { .as_64 = w->n_items };
		DAT_COUNT n = segments(side, iov, w->n_items, op->a, op->c);

		item = item_new(w, RECV, OP_srq_recv, NULL);
		item->side = op->side;
		item->length = op->a;
		ret = dat_srq_post_recv(side->srq, n, iov, cookie);
		if (ret)
			w->n_items--;
	}
	return ret;
}

/* b: flags. Of a suppressed request the success must not be in a race: it is made alone. */
static bool silent(struct world *w, struct ep *ep, const struct op *op)
{
	return op->b & DAT_COMPLETION_SUPPRESS_FLAG && !waiting(w, ep, REQUEST);
}

static DAT_COMPLETION_FLAGS flags_of(const struct op *op, bool suppressed)
{
	u32 flags = op->b & (DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			     DAT_COMPLETION_BARRIER_FENCE_FLAG);

	if (op->kind != OP_send)
		flags &= ~DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	return op->c == BAD_FLAG ? 0x40 : flags | suppressed;
}

/* a: length, b: flags, c: what is wrong */
static DAT_RETURN op_send(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	struct ep *ep = side->slots[op->slot];
	DAT_DTO_COOKIE cookie = { .as_64 = w->n_items };
	DAT_LMR_TRIPLET iov[3];
	struct item *item;
	bool srq, quiet;
	DAT_RETURN ret;
	DAT_COUNT n;

	catch_up(w, ep);
	srq = ep->state == DAT_EP_STATE_CONNECTED && ep->peer->srq;
	if (!room_is_known(w, ep, REQUEST) || (srq && !next_receive(w, ep->peer)))
		return DAT_SUCCESS;
	quiet = silent(w, ep, op) && (ep->state != DAT_EP_STATE_CONNECTED ||
				      next_receive(w, ep->peer));
	n = segments(side, iov, w->n_items, op->a, op->c);
	fill(item_mem(side, w->n_items), op->a, w->n_items);
	item = item_new(w, REQUEST, OP_send, ep);
	item->length = op->a;
	item->silent = quiet;
	ret = dat_ep_post_send(ep->handle, n, iov, cookie, flags_of(op, quiet));
	posted(w, ep, item, ret);
	if (!ret && srq)
		settle(w, ep);
	return ret;
}

/* Is it known whether the peer's memory can be reached through this RMR? */
static bool rmr_is_known(const struct rmr *rmr)
{
	return !rmr->bind || ((rmr->bind->stage == SURE || rmr->bind->stage == TAKEN) &&
			      rmr->bind->result != ANY);
}

/* a: length, and by which key, the LMR's or a RMR's; b: flags, c: what is wrong */
static DAT_RETURN rdma(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side], *far = &w->sides[!op->side];
	struct ep *ep = side->slots[op->slot];
	u32 number = w->n_items, length = op->a % (RDMA + 1), which = op->a % (RMRS + 2);
	DAT_RMR_TRIPLET remote = { .rmr_context = far->rmr_context };
	struct rmr *rmr = which < RMRS ? &far->rmrs[which] : NULL;
	bool quiet = silent(w, ep, op);
	DAT_DTO_COOKIE cookie = { .as_64 = number };
	DAT_LMR_TRIPLET iov[3];
	struct item *item;
	DAT_RETURN ret;
	DAT_COUNT n;

	catch_up(w, ep);
	if (!room_is_known(w, ep, REQUEST) || (rmr && !rmr_is_known(rmr)))
		return DAT_SUCCESS;
	/* A key that was never one is no key of another region by chance. */
	if (rmr && rmr->context)
		remote.rmr_context = rmr->context;
	else if (rmr)
		rmr = NULL;
	if (op->c == BAD_KEY)
		remote.rmr_context ^= 0x5a5a00;
	n = segments(side, iov, number, length, op->c);
	fill(item_mem(side, number), length, number);
	remote.target_address = (uintptr_t)item_rdma(far, number);
	remote.segment_length = length;
	quiet = quiet && op->c != BAD_KEY;
	item = item_new(w, REQUEST, op->kind, ep);
	item->length = length;
	item->silent = quiet;
	/* Nothing is looked at for no bytes; on Soft-RoCE nor is its key. */
	item->bad = length && (op->c == BAD_KEY || (rmr && !rmr->bound));
	if (op->kind == OP_write)
		ret = dat_ep_post_rdma_write(ep->handle, n, iov, cookie, &remote,
					     flags_of(op, quiet));
	else
		ret = dat_ep_post_rdma_read(ep->handle, n, iov, cookie, &remote,
					    flags_of(op, quiet));
	posted(w, ep, item, ret);
	return ret;
}

static DAT_RETURN op_write(struct world *w, const struct op *op)
{
	return rdma(w, op);
}

static DAT_RETURN op_read(struct world *w, const struct op *op)
{
	return rdma(w, op);
}

/* X4: a write with immediate data to the peer of @ep breaks the connection, as soon as it polls. */
static bool tells_nobody(const struct ep *ep)
{
	return ep->state == DAT_EP_STATE_CONNECTED && ep->peer->evds[RECV] == NO_EVD;
}

/*
 * An extension: a: length of a write, what an atomic adds or compares; b: flags, c: what is wrong.
 * No write with immediate data fails at the peer, where it may have taken a receive or not.  An
 * atomic of a program has one segment always.
 */
static DAT_RETURN extension(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side], *far = &w->sides[!op->side];
	struct ep *ep = side->slots[op->slot];
	u32 number = w->n_items, length = is_atomic(op->kind) ? 8 : op->a % (RDMA + 1);
	bool takes = !is_atomic(op->kind), srq, quiet;
	u32 bad = op->c == MANY_SEGMENTS && !takes ? GOOD : op->c;
	DAT_LMR_TRIPLET iov[3];
	struct post post = {
		.kind = op->kind,
		.iov = iov,
		.cookie.as_64 = number,
		.remote = { .rmr_context = far->rmr_context, .segment_length = length },
		.operand = number * 2654435761u + 1,
	};
	struct item *item;
	DAT_RETURN ret;
	u64 was;

	catch_up(w, ep);
	srq = takes && ep->state == DAT_EP_STATE_CONNECTED && ep->peer->srq;
	if (!room_is_known(w, ep, REQUEST) || (srq && !next_receive(w, ep->peer)) ||
	    (takes && (op->c == BAD_KEY || tells_nobody(ep))))
		return DAT_SUCCESS;
	quiet = silent(w, ep, op) && op->c != BAD_KEY &&
		(!takes || ep->state != DAT_EP_STATE_CONNECTED || next_receive(w, ep->peer));
	post.segments = segments(side, iov, number, length, bad);
	post.flags = flags_of(op, quiet);
	post.remote.target_address = (uintptr_t)item_rdma(far, number);
	if (takes) {
		fill(item_mem(side, number), length, number);
	} else {
		fill(item_rdma(far, number), length, number);
		memcpy(&was, item_rdma(far, number), sizeof(was));
		post.compare = was + op->a % 2;
	}
	if (op->c == BAD_KEY)
		post.remote.rmr_context ^= 0x5a5a00;
	item = item_new(w, REQUEST, op->kind, ep);
	item->length = length;
	item->silent = quiet;
	item->bad = op->c == BAD_KEY;
	ret = post_extension(ep->handle, &post);
	posted(w, ep, item, ret);
	if (!ret && srq)
		settle(w, ep);
	return ret;
}

static DAT_RETURN op_write_immed(struct world *w, const struct op *op)
{
	return extension(w, op);
}

static DAT_RETURN op_cmp_swap(struct world *w, const struct op *op)
{
	return extension(w, op);
}

static DAT_RETURN op_fetch_add(struct world *w, const struct op *op)
{
	return extension(w, op);
}

/* a: which RMR, and one in four unbinds it; b: flags, c: what is wrong */
static DAT_RETURN op_bind(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	struct ep *ep = side->slots[op->slot];
	struct rmr *rmr = &side->rmrs[op->a % RMRS];
	DAT_RMR_COOKIE cookie = { .as_64 = w->n_items };
	bool unbinds = op->a / RMRS % 4 == 3, quiet = silent(w, ep, op);
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET part;
	struct item *item;
	DAT_RETURN ret;

	catch_up(w, ep);
	/*
	 * Soft-RoCE may forget an invalidation that waits for the request ahead of it, if that
	 * completes at this very moment (Documentation/drivers.rst).
	 */
	settle(w, ep);
	if (rmr->bind && rmr->bind->stage == DUE && rmr->bind->ep)
		settle(w, rmr->bind->ep);
	if (!room_is_known(w, ep, REQUEST) ||
	    (rmr->bind && rmr->bind->stage == DUE))
		return DAT_SUCCESS;
	memset(&part, 0, sizeof(part));
	part.lmr_context = side->context ^ (op->c == BAD_LMR ? 0x5a5a00 : 0);
	part.virtual_address = (uintptr_t)item_rdma(side, op->c == OUTSIDE ? ITEMS : 0);
	part.segment_length = unbinds ? 0 : ITEMS * RDMA;
	item = item_new(w, REQUEST, OP_bind, ep);
	item->silent = quiet;
	ret = dat_rmr_bind(rmr->handle, &part, DAT_MEM_PRIV_ALL_FLAG, ep->handle, cookie,
			   flags_of(op, quiet), &context);
	if (!ret) {
		item->rmr = rmr;
		rmr->bind = item;
		rmr->unbinds = unbinds;
		if (!unbinds)
			rmr->context = context;
		if (item->late)
			rmr->bound = false;
	}
	posted(w, ep, item, ret);
	return ret;
}

/* a: which RMR. Another one takes its place. */
static DAT_RETURN op_rmr_free(struct world *w, const struct op *op)
{
	struct side *side = &w->sides[op->side];
	struct rmr *rmr = &side->rmrs[op->a % RMRS];
	DAT_RETURN ret;

	if (rmr->bind && rmr->bind->stage < SURE && rmr->bind->ep)
		settle(w, rmr->bind->ep);
	ret = dat_rmr_free(rmr->handle);
	if (rmr->bind)
		rmr->bind->rmr = NULL;
	rmr->bind = NULL;
	rmr->bound = false;
	rmr->context = 0;
	if (dat_rmr_create(side->pz, &rmr->handle))
		w->stop = true;
	return ret;
}

/* ---- SRQ, EVDs ---------------------------------------------------------------------------- */

/* Completions that are not taken count here, and not there (mt:M57). */
static bool srq_is_known(struct world *w, u32 side)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->kind == OP_srq_recv && item->side == side &&
		    (item->stage == DUE || item->stage == SURE))
			return false;
	}
	return true;
}

static DAT_RETURN op_srq_query(struct world *w, const struct op *op)
{
	DAT_SRQ_PARAM param;
	DAT_RETURN ret = dat_srq_query(w->sides[op->side].srq, DAT_SRQ_FIELD_ALL, &param);

	if (!ret && srq_is_known(w, op->side))
		say("  error %d outstanding %d", param.srq_state == DAT_SRQ_STATE_ERROR,
		    param.outstanding_dto_count);
	return ret;
}

/* a: size */
static DAT_RETURN op_srq_resize(struct world *w, const struct op *op)
{
	if (!srq_is_known(w, op->side))
		return DAT_SUCCESS;
	return dat_srq_resize(w->sides[op->side].srq, op->a);
}

/* slot: EVD, a: wait, and not dequeue */
static DAT_RETURN op_take(struct world *w, const struct op *op)
{
	take(w, op->side, op->slot, op->a);
	return DAT_SUCCESS;
}

/* slot: EVD, a: how long.  Kernel consumers do not wait, and have another word for it. */
static DAT_RETURN op_wait(struct world *w, const struct op *op)
{
	DAT_RETURN ret;
	DAT_EVENT event;

	take(w, op->side, op->slot, true);
	ret = port_evd_wait(w->sides[op->side].evds[op->slot], op->a % 3000, &event);
	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		ret ^= DAT_QUEUE_EMPTY ^ DAT_TIMEOUT_EXPIRED;
	return ret;
}

static DAT_RETURN op_software(struct world *w, const struct op *op)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct item *item = item_new(w, SOFTWARE, OP_software, NULL);
	DAT_RETURN ret;

	event.event_data.software_event_data.pointer = (void *)(uintptr_t)item->number;
	ret = dat_evd_post_se(w->sides[op->side].evds[op->slot], &event);
	if (ret) {
		w->n_items--;
		return ret;
	}
	item->side = op->side;
	item->evd = op->slot;
	item->stage = SURE;
	return ret;
}

/* slot: EVD, a: length.  How much is queued is known when everything is (E54). */
static DAT_RETURN op_resize(struct world *w, const struct op *op)
{
	u32 i;

	for (i = 0; i < w->n_items; i++) {
		struct item *item = &w->items[i];

		if (item->side == op->side && item->evd == op->slot && item->stage != TAKEN &&
		    (item->lost || item->stage == DUE || item->silent))
			return DAT_SUCCESS;
	}
	return dat_evd_resize(w->sides[op->side].evds[op->slot], op->a);
}

static DAT_RETURN op_settle(struct world *w, const struct op *op)
{
	settle(w, w->sides[op->side].slots[op->slot]);
	return DAT_SUCCESS;
}

/* ---- the world ----------------------------------------------------------------------- */

#define MUST(call) ({							\
	DAT_RETURN ret_ = (call);					\
	if (ret_)							\
		say("RULE the world cannot open: %s: 0x%x", #call, ret_); \
	!ret_; })

static bool open_side(struct world *w, u32 number, u32 qual)
{
	static const char *const names[SIDES] = { "rxe0-1", "rxe1-1" };
	DAT_SRQ_ATTR srq = { .max_recv_dtos = DTOS * 2, .max_recv_iov = 2 };
	size_t size = ITEMS * (MSG + RDMA);
	struct side *side = &w->sides[number];
	DAT_IA_ATTR *attr = mem_new(sizeof(*attr));
	DAT_EVD_FLAGS flags = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;
	DAT_MEM_PRIV_FLAGS rights = DAT_MEM_PRIV_ALL_FLAG;
	bool ok;
	u32 i;

	if (w->extended) {
		flags |= evd_extended;
		rights |= priv_atomic;
	}
	side->qual = qual + number;
	side->mem = mem_new(size);
	ok = side->mem && attr &&
	     MUST(dat_ia_open((DAT_NAME_PTR)names[number], 64, &side->async, &side->ia)) &&
	     MUST(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL)) &&
	     MUST(dat_pz_create(side->ia, &side->pz)) &&
	     MUST(port_lmr_create(side->ia, side->mem, size, side->pz, rights, &side->lmr,
				  &side->context, &side->rmr_context)) &&
	     MUST(dat_srq_create(side->ia, side->pz, &srq, &side->srq)) &&
	     MUST(port_evd_create(side->ia, QLEN, DAT_EVD_CR_FLAG, &side->cr)) &&
	     MUST(dat_psp_create(side->ia, side->qual, side->cr, DAT_PSP_CONSUMER_FLAG,
				 &side->psp));
	if (ok)
		memcpy(&side->address, attr->ia_address_ptr, sizeof(side->address));
	for (i = 0; ok && i < EVDS; i++)
		ok = MUST(port_evd_create(side->ia, QLEN, i == EVDS - 1 ? flags :
					  flags | DAT_EVD_CONNECTION_FLAG, &side->evds[i]));
	for (i = 0; ok && i < RMRS; i++)
		ok = MUST(dat_rmr_create(side->pz, &side->rmrs[i].handle));
	mem_free(attr);
	return ok;
}

static void close_side(struct side *side)
{
	if (side->ia)
		tell_part("close", dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG));
	mem_free(side->mem);
}

static DAT_RETURN (*const players[OPS])(struct world *w, const struct op *op) = {
#define X(name)	op_##name,
	DIFF_OPS(X)
#undef X
};

/* The slot of these is that of an EVD, of the others that of an endpoint. */
static bool on_evd(u32 kind)
{
	return kind == OP_take || kind == OP_wait || kind == OP_software || kind == OP_resize;
}

static void run_op(struct world *w, const struct op *op)
{
	u32 breaks = w->breaks;

	if (op->kind != OP_create && !on_evd(op->kind) && !w->sides[op->side].slots[op->slot])
		return;
	tell(w, op, players[op->kind](w, op));
	advance(w);
	if (!w->stop)
		wait_states(w, w->breaks != breaks);
}

/*
 * Everything that is due comes, and what was written is there.  If something has not come, all the
 * rest is told, too: perhaps it went elsewhere.
 */
static void finish(struct world *w)
{
	u32 side, evd;

	for (side = 0; side < SIDES; side++) {
		for (evd = 0; evd < EVDS; evd++)
			take(w, side, evd, false);
	}
	for (side = 0; side < SIDES && !w->raced && !w->stop; side++)
		say("memory %x", sum(item_rdma(&w->sides[side], 0), ITEMS * RDMA));
}

/* play - make a world, with service points at @qual and behind, and play there */
void play(const struct program *program, u32 qual)
{
	struct world *w = mem_new(sizeof(*w));
	bool ok = w;
	u32 i;

	if (w) {
		w->limit = program->limit;
		w->extended = program->extended;
	}
	for (i = 0; ok && i < SIDES; i++)
		ok = open_side(w, i, qual);
	for (i = 0; ok && i < program->n && !w->stop; i++) {
		w->op = i;
		run_op(w, &program->ops[i]);
	}
	if (ok)
		finish(w);
	for (i = 0; w && i < SIDES; i++)
		close_side(&w->sides[i]);
	mem_free(w);
}

/*
 * parse - a program from its text, a line for each operation, before them perhaps one for the
 *	limit and one that says that it has extensions
 *
 * Return: 0, or the number of a bad operation.
 */
int parse(struct program *program, char *text)
{
	char *line, name[16];
	struct op op;

	program->n = 0;
	program->limit = LIMIT_MS;
	program->extended = false;
	while ((line = strsep(&text, "\n"))) {
		if (!*line || sscanf(line, "limit %u", &program->limit) == 1)
			continue;
		if (!strcmp(line, "extended")) {
			program->extended = true;
			continue;
		}
		if (program->n == MAX_OPS ||
		    sscanf(line, "%15s %u %u %u %u %u", name, &op.side, &op.slot, &op.a, &op.b,
			   &op.c) != 6)
			return program->n + 1;
		for (op.kind = 0; op.kind < OPS && strcmp(name, op_names[op.kind]); op.kind++)
			;
		if (op.kind >= (program->extended ? OPS : FIRST_EXTENSION) || op.side >= SIDES ||
		    op.slot >= (on_evd(op.kind) ? EVDS : SLOTS))
			return program->n + 1;
		program->ops[program->n++] = op;
	}
	return 0;
}
