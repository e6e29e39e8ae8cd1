// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Brings an EP into each of the nine states.  Used by the files about connections.
 */
#include "stage.h"

#define STAGE(name) { \
	DAT_EP_STATE_##name, #name, \
	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_##name) \
}

#define STAGE_PENDING(name, sub) { \
	DAT_EP_STATE_##name, #name, \
	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_##sub) \
}

const struct stage stages[NR_STAGES] = {
	STAGE(UNCONNECTED),
	STAGE(RESERVED),
	STAGE_PENDING(PASSIVE_CONNECTION_PENDING, PASSCONNPENDING),
	STAGE_PENDING(ACTIVE_CONNECTION_PENDING, ACTCONNPENDING),
	STAGE_PENDING(TENTATIVE_CONNECTION_PENDING, TENTCONNPENDING),
	STAGE_PENDING(COMPLETION_PENDING, COMPLPENDING),
	STAGE(CONNECTED),
	STAGE_PENDING(DISCONNECT_PENDING, DISCPENDING),
	STAGE(DISCONNECTED),
};

bool adopt(struct node *node)
{
	DAT_EP_PARAM param = {
		.pz_handle = node->side->pz,
		.recv_evd_handle = node->recv,
		.request_evd_handle = node->request,
		.connect_evd_handle = node->conn,
	};

	return OK(dat_ep_modify(node->ep, DAT_EP_FIELD_PZ_HANDLE |
				DAT_EP_FIELD_RECV_EVD_HANDLE |
				DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
}

bool established(struct node *active, struct node *passive)
{
	DAT_EVENT event;

	return want_event(active->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
			  &event) &&
	       CHECK(event.event_data.connect_event_data.ep_handle ==
		     active->ep) &&
	       want_conn(passive->conn, passive->ep,
			 DAT_CONNECTION_EVENT_ESTABLISHED);
}

bool state_comes(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	u64 end = deadline();
	DAT_EP_STATE is;

	do {
		if (!OK(dat_ep_get_status(ep, &is, NULL, NULL)))
			return false;
		yield_cpu();
	} while (is != state && now_us() < end);
	return CHECK_EQ(is, state);
}

/* The limit is so many times as long as the first request takes. */
#define LIMIT_FACTOR	8

DAT_TIMEOUT limit_of_request(DAT_TIMEOUT us)
{
	struct listener listener = {};
	struct node a = {};
	DAT_CR_HANDLE cr;
	u64 start, took = 0;

	if (!node_new(&a, &side_a, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return us;
	start = now_us();
	if (start_connect(&a, listener.qual) && next_request(&listener, &cr)) {
		took = now_us() - start;
		OK(dat_cr_reject(cr));
		want_conn(a.conn, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	node_free(&a);
	listener_free(&listener);
	return took * LIMIT_FACTOR > us ? took * LIMIT_FACTOR : us;
}

bool message(struct node *from, struct node *to, u64 number)
{
	u8 seed = random_u32();

	mem_fill(&from->mem, 0, 64, seed);
	return OK(node_send(from, 0, 64, 0, 0)) &&
	       want_done(from->request, from->ep, 0, DAT_DTO_SUCCESS) &&
	       want_done(to->recv, to->ep, number, DAT_DTO_SUCCESS) &&
	       mem_check(&to->mem, 0, 64, seed);
}

DAT_EVENT_NUMBER next_conn(struct node *node)
{
	DAT_EVENT event;

	if (!next_event(node->conn, &event) ||
	    !CHECK(event.event_data.connect_event_data.ep_handle == node->ep))
		return 0;
	return event.event_number;
}

int any_conn(struct node *nodes, int n, DAT_EVENT *event)
{
	u64 end = deadline();
	int i;

	do {
		for (i = 0; i < n; i++)
			if (event_within(nodes[i].conn, 0, event))
				return i;
		sleep_us(100);
	} while (now_us() < end);
	FAIL("no connection event on any of %d EPs", n);
	return -1;
}

/* ---- the way into a state ----------------------------------------------- */

/* Is the EP on side a, so that it asks for its connection itself? */
static bool asks(const struct stage *stage)
{
	return stage->state == DAT_EP_STATE_UNCONNECTED ||
	       stage->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
}

static struct node *asker(struct staged *s)
{
	return asks(s->is) ? &s->node : &s->peer;
}

/* Replaces the PSP by a RSP on the same qualifier. */
static bool reserve(struct staged *s)
{
	if (!OK(dat_psp_free(s->listener.psp)) ||
	    !OK(dat_rsp_create(side_b.ia, s->listener.qual, s->node.ep,
			       s->listener.requests, &s->rsp)))
		return false;
	/* next_request() compares this with the event's service point. */
	s->listener.psp = s->rsp;
	return true;
}

static bool ask(struct staged *s)
{
	return start_connect(asker(s), s->listener.qual) &&
	       next_request(&s->listener, &s->cr);
}

/* Replaces the node's EP by the one that the provider has made for the request. */
static bool take_provided(struct staged *s)
{
	DAT_CR_PARAM param;

	if (!OK(dat_ep_free(s->node.ep)) || !ask(s) ||
	    !OK(dat_cr_query(s->cr, DAT_CR_FIELD_ALL, &param)))
		return false;
	s->node.ep = param.local_ep_handle;
	return true;
}

static bool join(struct staged *s)
{
	return ask(s) && OK(dat_cr_accept(s->cr, s->node.ep, 0, NULL)) &&
	       established(&s->peer, &s->node);
}

static bool half_join(struct staged *s)
{
	DAT_EVENT event;

	return ask(s) && link_down(&side_a) &&
	       OK(dat_cr_accept(s->cr, s->node.ep, 0, NULL)) &&
	       want_event(s->peer.conn, DAT_CONNECTION_EVENT_ESTABLISHED,
			  &event);
}

/* The drain does not end, because the peer has no receive for the message. */
static bool drain(struct staged *s)
{
	return join(s) && OK(node_send(&s->node, 0, 64, STAGE_SEND, 0)) &&
	       OK(dat_ep_disconnect(s->node.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static bool part(struct staged *s)
{
	return want_conn(s->node.conn, s->node.ep,
			 DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       want_conn(s->peer.conn, s->peer.ep,
			 DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       want_done(s->node.recv, s->node.ep, STAGE_RECV,
			 DAT_DTO_ERR_FLUSHED);
}

static bool enter(struct staged *s)
{
	switch (s->is->state) {
	case DAT_EP_STATE_UNCONNECTED:
		return true;
	case DAT_EP_STATE_RESERVED:
		return reserve(s);
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return reserve(s) && ask(s);
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return ask(s);
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return take_provided(s);
	case DAT_EP_STATE_COMPLETION_PENDING:
		return half_join(s);
	case DAT_EP_STATE_CONNECTED:
		return join(s);
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return drain(s);
	default:
		return join(s) &&
		       OK(dat_ep_disconnect(s->node.ep, DAT_CLOSE_ABRUPT_FLAG)) &&
		       part(s);
	}
}

bool stage_new(struct staged *s, const struct stage *stage)
{
	bool tentative = stage->state ==
			 DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;

	memset(s, 0, sizeof(*s));
	s->is = stage;
	return node_new(&s->node, asks(stage) ? &side_a : &side_b, THREE_EVDS,
			NULL) &&
	       node_new(&s->peer, asks(stage) ? &side_b : &side_a, THREE_EVDS,
			NULL) &&
	       listener_new(&s->listener, tentative ? DAT_PSP_PROVIDER_FLAG :
						      DAT_PSP_CONSUMER_FLAG) &&
	       (tentative || OK(node_recv(&s->node, 0, 64, STAGE_RECV))) &&
	       enter(s) && state_is(s->node.ep, stage->state);
}

/* ---- and on from there -------------------------------------------------- */

static bool answer(struct staged *s)
{
	return OK(dat_cr_accept(s->cr, s->peer.ep, 0, NULL)) &&
	       established(&s->node, &s->peer);
}

static bool answer_own(struct staged *s)
{
	return OK(dat_cr_accept(s->cr, DAT_HANDLE_NULL, 0, NULL)) &&
	       established(&s->peer, &s->node);
}

static bool proceed(struct staged *s)
{
	switch (s->is->state) {
	case DAT_EP_STATE_UNCONNECTED:
		return ask(s) && answer(s);
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return answer(s);
	case DAT_EP_STATE_RESERVED:
		return ask(s) && answer_own(s);
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return answer_own(s);
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return adopt(&s->node) &&
		       OK(node_recv(&s->node, 0, 64, STAGE_RECV)) &&
		       answer_own(s);
	case DAT_EP_STATE_COMPLETION_PENDING:
		return link_up(&side_a) &&
		       want_conn(s->node.conn, s->node.ep,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
	case DAT_EP_STATE_CONNECTED:
		return true;
	default:
		return OK(dat_ep_reset(s->node.ep)) &&
		       OK(dat_ep_reset(s->peer.ep)) &&
		       OK(node_recv(&s->node, 0, 64, STAGE_RECV)) && join(s);
	}
}

bool stage_unharmed(struct staged *s)
{
	bool ok = state_is(s->node.ep, s->is->state);

	if (!ok)
		return false;
	if (s->is->state == DAT_EP_STATE_DISCONNECT_PENDING)
		ok = OK(node_recv(&s->peer, 0, 64, 1)) &&
		     want_done(s->node.request, s->node.ep, STAGE_SEND,
			       DAT_DTO_SUCCESS) && part(s);
	else
		ok = proceed(s) && message(&s->peer, &s->node, STAGE_RECV);
	if (!ok)
		return FAIL("in state %s", s->is->name);
	return nothing_more(s->node.recv) && nothing_more(s->node.request) &&
	       nothing_more(s->node.conn) && nothing_more(s->peer.conn);
}
