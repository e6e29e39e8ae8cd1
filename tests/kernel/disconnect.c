// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection: graceful, abrupt, by the peer; what is flushed and in
 * which order; reset, and free in each state that allows it.
 */
#include <linux/string.h>
#include "kdat_rules.h"

static bool idle(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return OK(dat_ep_get_status(ep, &state, &recv_idle, &request_idle)) &&
	       CHECK(state == DAT_EP_STATE_DISCONNECTED) &&
	       CHECK(recv_idle == DAT_TRUE) && CHECK(request_idle == DAT_TRUE);
}

/* @n receives flushed in order, from cookie @first, then @number, then idle. */
static bool flushed(struct node *node, u64 first, int n,
		    DAT_EVENT_NUMBER number)
{
	int i;

	for (i = 0; i < n; i++)
		if (!want_dto(node->events, node->ep, first + i,
			      DAT_DTO_ERR_FLUSHED, 0))
			return false;
	return want_conn(node->events, node->ep, number) && idle(node->ep);
}

static void receives_flushed(void)
{
	static const DAT_CLOSE_FLAGS flags[] = {
		DAT_CLOSE_GRACEFUL_FLAG, DAT_CLOSE_ABRUPT_FLAG
	};
	struct link link;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		memset(&link, 0, sizeof(link));
		if (!link_new(&link, NULL, NULL))
			goto out;
		for (j = 0; j < 10; j++) {
			OK(node_recv(&link.a, 0, 64, j));
			OK(node_recv(&link.b, 0, 64, j));
		}
		OK(dat_ep_disconnect(link.a.ep, flags[i]));
		flushed(&link.a, 0, 10, DAT_CONNECTION_EVENT_DISCONNECTED);
		flushed(&link.b, 0, 10, DAT_CONNECTION_EVENT_DISCONNECTED);
		/* D4, D6: no second event, whoever asks how often. */
		OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		OK(dat_ep_disconnect(link.b.ep, DAT_CLOSE_ABRUPT_FLAG));
		OK(dat_ep_disconnect(link.b.ep, DAT_CLOSE_GRACEFUL_FLAG));
		nothing_more(link.a.events);
		nothing_more(link.b.events);
		link_free(&link);
	}
	return;
out:
	link_free(&link);
}

static void passive_disconnects(void)
{
	struct link link = {};

	if (link_new(&link, NULL, NULL) && OK(node_recv(&link.a, 0, 8, 1)) &&
	    OK(dat_ep_disconnect(link.b.ep, DAT_CLOSE_GRACEFUL_FLAG))) {
		flushed(&link.b, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
		flushed(&link.a, 1, 1, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	link_free(&link);
}

static void both_disconnect(void)
{
	struct link link = {};

	if (link_new(&link, NULL, NULL) &&
	    OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_GRACEFUL_FLAG)) &&
	    OK(dat_ep_disconnect(link.b.ep, DAT_CLOSE_GRACEFUL_FLAG))) {
		flushed(&link.a, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
		flushed(&link.b, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
		nothing_more(link.a.events);
		nothing_more(link.b.events);
	}
	link_free(&link);
}

/* A peer that is not ready holds the drain up. */
static void graceful_drains(void)
{
	DAT_RMR_TRIPLET remote;
	struct link link = {};
	DAT_EP_HANDLE ep;
	int i;

	if (!link_new(&link, NULL, NULL))
		goto out;
	ep = link.a.ep;
	mem_fill(&link.a.mem, 0, 1000, 1);
	mem_fill(&link.b.mem, 8000, 1000, 2);
	remote = remote_piece(&link.b.mem, 8000, 1000);
	OK(node_recv(&link.a, 30000, 64, 40));
	OK(node_send(&link.a, 0, 100, 0, 0));
	OK(node_send(&link.a, 0, 100, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(node_read(&link.a, 4000, 1000, &remote, 2, 0));
	remote = remote_piece(&link.b.mem, 2000, 1000);
	OK(node_write(&link.a, 0, 1000, &remote, 3, 0));
	OK(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	/* D10, D14, D15, D16 */
	state_is(ep, DAT_EP_STATE_DISCONNECT_PENDING);
	BAD_STATE(node_send(&link.a, 0, 8, 50, 0), EP_DISCPENDING);
	BAD_STATE(node_read(&link.a, 0, 1000, &remote, 50, 0), EP_DISCPENDING);
	BAD_STATE(node_write(&link.a, 0, 8, &remote, 50, 0), EP_DISCPENDING);
	BAD_STATE(dat_ep_reset(ep), EP_DISCPENDING);
	OK(node_recv(&link.a, 31000, 64, 41));
	OK(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	OK(node_send(&link.b, 0, 8, 60, 0));
	want_dto(link.a.events, ep, 40, DAT_DTO_SUCCESS, 8);
	want_dto(link.b.events, link.b.ep, 60, DAT_DTO_SUCCESS, 8);
	state_is(ep, DAT_EP_STATE_DISCONNECT_PENDING);
	/* D11, D12: now the peer is ready. */
	for (i = 0; i < 2; i++)
		OK(node_recv(&link.b, 0, 100, 70 + i));
	want_dto(link.a.events, ep, 0, DAT_DTO_SUCCESS, 100);
	want_dto(link.a.events, ep, 2, DAT_DTO_SUCCESS, 1000);
	want_dto(link.a.events, ep, 3, DAT_DTO_SUCCESS, 1000);
	flushed(&link.a, 41, 1, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (i = 0; i < 2; i++)
		want_dto(link.b.events, link.b.ep, 70 + i, DAT_DTO_SUCCESS, 100);
	flushed(&link.b, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
	mem_check(&link.a.mem, 4000, 1000, 2);
	mem_check(&link.b.mem, 2000, 1000, 1);
	nothing_more(link.a.events);
	nothing_more(link.b.events);
out:
	link_free(&link);
}

static void abrupt_ends_drain(void)
{
	struct link link = {};
	int i;

	if (!link_new(&link, NULL, NULL))
		goto out;
	OK(node_recv(&link.a, 0, 8, 100));
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(node_send(&link.a, 0, 100, i, 0));
	OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	state_is(link.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	/* Two queues: the receive may come anywhere among the requests. */
	{
		int recvs = 0, next = 0;
		DAT_EVENT event;

		while (recvs + next < NODE_REQUESTS + 1) {
			const DAT_DTO_COMPLETION_EVENT_DATA *dto =
				&event.event_data.dto_completion_event_data;

			if (!want_event(link.a.events, DAT_DTO_COMPLETION_EVENT,
					&event))
				goto out;
			CHECK(dto->status == DAT_DTO_ERR_FLUSHED);
			if (dto->user_cookie.as_64 == 100)
				recvs++;
			else
				CHECK((int)dto->user_cookie.as_64 == next++);
		}
	}
	flushed(&link.a, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
	flushed(&link.b, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
	nothing_more(link.a.events);
out:
	link_free(&link);
}

/* Successes first, then failures, under load (D20, D21, D23). */
static void abrupt_under_load(void)
{
	struct link link = {};
	bool over = false;
	DAT_EVENT event;
	int i, n = 0;

	if (!link_new(&link, NULL, NULL))
		goto out;
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&link.b, 0, 4096, i));
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(node_send(&link.a, 0, 4096, i, 0));
	OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (n = 0; n < NODE_REQUESTS; n++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		if (!want_event(link.a.events, DAT_DTO_COMPLETION_EVENT,
				&event))
			goto out;
		CHECK((int)dto->user_cookie.as_64 == n);
		if (dto->status == DAT_DTO_SUCCESS)
			CHECK(!over);
		else
			over = true;
		CHECK(!over || dto->status == DAT_DTO_ERR_FLUSHED);
	}
	flushed(&link.a, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
out:
	link_free(&link);
}

/* Nobody takes the completions: the disconnect ends all the same (D19). */
static void nobody_dequeues(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_EVD_HANDLE evd = NULL;
	DAT_EVENT event;
	int i;

	if (!node_new(&b, &side_b, NULL) || !node_new(&a, &side_a, NULL) ||
	    !OK(dat_ep_free(a.ep)))
		goto out;
	a.ep = DAT_HANDLE_NULL;
	if (!OK(dat_evd_kcreate(side_a.ia, 64, DAT_UPCALL_DISABLE, NULL,
				DAT_EVD_DTO_FLAG, &evd)) ||
	    !OK(dat_ep_create(side_a.ia, side_a.pz, evd, evd, a.events->evd,
			      &node_attr, &a.ep)) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !link_connect(&a, &b, &listener))
		goto out;
	for (i = 0; i < 4; i++) {
		OK(node_recv(&b, 0, 64, i));
		OK(node_send(&a, 0, 64, i, 0));
	}
	OK(node_recv(&a, 0, 64, 10));
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* D45: all are there when the event is. */
	for (i = 0; i < 5; i++)
		OK(dat_evd_dequeue(evd, &event));
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	idle(a.ep);
out:
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
	if (evd)
		OK(dat_evd_free(evd));
}

/* ---- Disconnected, and after -------------------------------------------- */

static void posts_in_disconnected(void)
{
	DAT_RMR_TRIPLET remote;
	struct link link = {};

	if (!link_new(&link, NULL, NULL) ||
	    !link_disconnect(&link, DAT_CLOSE_ABRUPT_FLAG))
		goto out;
	remote = remote_piece(&link.b.mem, 0, 8);
	OK(node_recv(&link.a, 0, 8, 1));
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	OK(node_send(&link.a, 0, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	want_dto(link.a.events, link.a.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	OK(node_read(&link.a, 0, 8, &remote, 3, 0));
	want_dto(link.a.events, link.a.ep, 3, DAT_DTO_ERR_FLUSHED, 0);
	OK(node_write(&link.a, 0, 8, &remote, 4, 0));
	want_dto(link.a.events, link.a.ep, 4, DAT_DTO_ERR_FLUSHED, 0);
	/* The parameters are looked at all the same. */
	BAD_ARG(dat_ep_post_send(link.a.ep, -1, NULL, (DAT_CONTEXT) {}, 0), 2);
	nothing_more(link.a.events);
out:
	link_free(&link);
}

static void reset_and_reconnect(void)
{
	struct link link = {};
	int round, i;

	if (!link_new(&link, NULL, NULL))
		goto out;
	BAD_STATE(dat_ep_reset(link.a.ep), EP_CONNECTED);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < NODE_RECVS; i++)
			OK(node_recv(&link.b, 0, 64, round * 100 + i));
		for (i = 0; i < 3; i++)
			OK(node_send(&link.a, 0, 64, i, 0));
		for (i = 0; i < 3; i++) {
			want_dto(link.a.events, link.a.ep, i, DAT_DTO_SUCCESS,
				 64);
			want_dto(link.b.events, link.b.ep, round * 100 + i,
				 DAT_DTO_SUCCESS, 64);
		}
		OK(dat_ep_disconnect(round & 1 ? link.a.ep : link.b.ep,
				     round & 2 ? DAT_CLOSE_ABRUPT_FLAG :
						 DAT_CLOSE_GRACEFUL_FLAG));
		flushed(&link.a, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
		flushed(&link.b, round * 100 + 3, NODE_RECVS - 3,
			DAT_CONNECTION_EVENT_DISCONNECTED);
		if (!OK(dat_ep_reset(link.a.ep)) || !OK(dat_ep_reset(link.b.ep)))
			goto out;
		state_is(link.a.ep, DAT_EP_STATE_UNCONNECTED);
		/* R2: in Unconnected it does nothing. */
		OK(node_recv(&link.a, 0, 64, 77));
		OK(dat_ep_reset(link.a.ep));
		if (!link_connect(&link.a, &link.b, &link.listener))
			goto out;
		OK(node_send(&link.b, 0, 64, 5, 0));
		want_dto(link.a.events, link.a.ep, 77, DAT_DTO_SUCCESS, 64);
		want_dto(link.b.events, link.b.ep, 5, DAT_DTO_SUCCESS, 64);
	}
	nothing_more(link.a.events);
	nothing_more(link.b.events);
out:
	link_free(&link);
}

static void free_connected(void)
{
	struct link link = {};
	DAT_EP_HANDLE ep;

	if (!link_new(&link, NULL, NULL))
		goto out;
	/* F10, F11 */
	BAD_STATE(dat_evd_free(link.a.events->evd), EVD_IN_USE);
	BAD_STATE(dat_pz_free(side_a.pz), PZ_IN_USE);
	BAD_STATE(dat_ia_close(side_a.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(node_recv(&link.a, 0, 8, 1));
	OK(node_send(&link.a, 0, 8, 2, 0));
	ep = link.a.ep;
	OK(dat_ep_free(ep));
	BAD_HANDLE(dat_ep_free(ep), EP);
	BAD_HANDLE(dat_ep_get_status(ep, NULL, NULL, NULL), EP);
	BAD_HANDLE(dat_ep_disconnect(ep, 0), EP);
	link.a.ep = DAT_HANDLE_NULL;
	flushed(&link.b, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
out:
	link_free(&link);
}

static void free_draining(void)
{
	struct link link = {};

	if (link_new(&link, NULL, NULL) && OK(node_send(&link.a, 0, 8, 2, 0)) &&
	    OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_GRACEFUL_FLAG)) &&
	    state_is(link.a.ep, DAT_EP_STATE_DISCONNECT_PENDING) &&
	    OK(dat_ep_free(link.a.ep))) {
		link.a.ep = DAT_HANDLE_NULL;
		flushed(&link.b, 0, 0, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	link_free(&link);
}

static void free_completion_pending(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (node_new(&a, &side_a, NULL) && node_new(&b, &side_b, NULL) &&
	    listener_new(&listener, DAT_PSP_CONSUMER_FLAG) &&
	    OK(node_recv(&b, 0, 8, 1)) && start_connect(&a, listener.qual) &&
	    next_request(&listener, &cr) &&
	    OK(dat_cr_accept(cr, b.ep, 0, NULL)) && OK(dat_ep_free(b.ep))) {
		b.ep = DAT_HANDLE_NULL;
		/* RULING 53: either order on the other side. */
		if (next_event(a.events, &event) &&
		    event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			want_conn(a.events, a.ep,
				  DAT_CONNECTION_EVENT_DISCONNECTED);
		else
			CHECK(event.event_number ==
			      DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
}

/* F1: with receives posted, never connected, and twice in a row. */
static void free_unconnected(void)
{
	struct node a = {};
	DAT_EP_HANDLE ep;
	int i;

	if (node_new(&a, &side_a, NULL)) {
		for (i = 0; i < NODE_RECVS; i++)
			OK(node_recv(&a, 0, 8, i));
		ep = a.ep;
		BAD_STATE(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
			  EP_UNCONNECTED);
		BAD_STATE(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG),
			  EP_UNCONNECTED);
		OK(dat_ep_free(ep));
		a.ep = DAT_HANDLE_NULL;
		BAD_HANDLE(dat_ep_free(ep), EP);
		/* F9: all of them, in order. */
		for (i = 0; i < NODE_RECVS; i++)
			want_dto(a.events, ep, i, DAT_DTO_ERR_FLUSHED, 0);
		nothing_more(a.events);
	}
	node_free(&a);
}

const struct test_case disconnect_cases[] = {
	{ "T31 T32 D4 D6 D7 D8 D13 D24 D43 D45 D50 E46",
	  "disconnect: receives flushed in order, before the one event",
	  receives_flushed },
	{ "D9", "the passive side disconnects", passive_disconnects },
	{ "D6 D51", "both sides disconnect", both_disconnect },
	{ "T26 T28 D10 D11 D12 D13 D14 D15 D16 D17 D40", "graceful: the drain",
	  graceful_drains },
	{ "T29 D22 D42", "abrupt: ends the drain", abrupt_ends_drain },
	{ "T27 D20 D21 D43 mt:T41 mt:T53", "abrupt, under load", abrupt_under_load },
	{ "D19 D45", "nobody dequeues", nobody_dequeues },
	{ "D46 mt:T9 mt:T10 mt:T54", "posts in Disconnected",
	  posts_in_disconnected },
	{ "T35 R1 R2 R3 R10 R11 R14", "reset and connect again",
	  reset_and_reconnect },
	{ "T34 F1 F5 F7 F10 F11 F18", "free, connected", free_connected },
	{ "T34 F1 F16", "free, draining", free_draining },
	{ "T25 F1 F6", "free, completion pending", free_completion_pending },
	{ "T36 F1 F5 F9 D3", "free, unconnected with receives", free_unconnected },
	{}
};
