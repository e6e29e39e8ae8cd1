// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection: the graceful drain, abrupt disconnect, both sides at
 * once, the peer, the link, and disconnect while a connection is being made.
 */
#include "memory.h"
#include "stage.h"

#define GRACEFUL	DAT_CLOSE_GRACEFUL_FLAG
#define ABRUPT		DAT_CLOSE_ABRUPT_FLAG
#define ESTABLISHED	DAT_CONNECTION_EVENT_ESTABLISHED
#define ACCEPT_ERROR	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED

/* The node of the pair that acts, and the other one (D9). */
static struct node *actor(struct pair *p, int passive)
{
	return passive ? &p->b : &p->a;
}

static struct node *other(struct pair *p, int passive)
{
	return passive ? &p->a : &p->b;
}

/* The node disconnects; the rest is what account_until() looks at. */
static bool both_end(struct node *node, struct account *of_node,
		     struct node *peer, struct account *of_peer)
{
	return account_until(of_node, node, DISCONNECTED) &&
	       account_until(of_peer, peer, DISCONNECTED);
}

/* ---- arguments and states ----------------------------------------------- */

static void bad_arguments(void)
{
	struct staged s;
	int i;

	for (i = 0; i < NR_STAGES && !failed(); i++) {
		if (!stage_new(&s, &stages[i]))
			return;
		BAD_ARG(dat_ep_disconnect(s.node.ep, 2), 2);
		BAD_ARG(dat_ep_disconnect(s.node.ep, 0x80000000), 2);
		stage_unharmed(&s);
	}
	BAD_HANDLE(dat_ep_disconnect(DAT_HANDLE_NULL, GRACEFUL), EP);
	BAD_HANDLE(dat_ep_disconnect(s.node.conn, 2), EP);
	OK(dat_ep_free(s.node.ep));
	BAD_HANDLE(dat_ep_disconnect(s.node.ep, GRACEFUL), EP);
}

static void illegal_states(void)
{
	static const DAT_EP_STATE states[] = {
		DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_RESERVED,
		DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	};
	struct staged s;
	unsigned int i, j;

	for (i = 0; i < NR_STAGES && !failed(); i++) {
		for (j = 0; j < ARRAY_SIZE(states); j++)
			if (stages[i].state == states[j])
				break;
		if (j == ARRAY_SIZE(states))
			continue;
		if (!stage_new(&s, &stages[i]))
			return;
		EXPECT(dat_ep_disconnect(s.node.ep, ABRUPT), stages[i].refusal);
		EXPECT(dat_ep_disconnect(s.node.ep, GRACEFUL),
		       stages[i].refusal);
		stage_unharmed(&s);
	}
}

/* Requests: refused with the state's code, sent, or flushed. */
static void requests_by_state(void)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_RMR_TRIPLET to;
	DAT_RETURN wanted;
	DAT_RMR_HANDLE rmr;
	struct staged s;
	int i, j;

	for (i = 0; i < NR_STAGES && !failed(); i++) {
		if (!stage_new(&s, &stages[i]))
			return;
		wanted = stages[i].refusal;
		status = DAT_DTO_ERR_FLUSHED;
		if (stages[i].state == DAT_EP_STATE_CONNECTED)
			status = DAT_DTO_SUCCESS;
		if (stages[i].state == DAT_EP_STATE_CONNECTED ||
		    stages[i].state == DAT_EP_STATE_DISCONNECTED)
			wanted = DAT_SUCCESS;
		/* A provider's EP has no PZ, and no LMR fits (mt:T11). */
		if (stages[i].state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING &&
		    !adopt(&s.node))
			return;
		to = remote_piece(&s.peer.mem, 0, 8);
		OK(wanted ? DAT_SUCCESS : node_recv(&s.peer, 0, 8, 1));
		EXPECT(node_send(&s.node, 0, 8, 0, 0), wanted);
		EXPECT(node_write(&s.node, 0, 8, &to, 1, 0), wanted);
		/* It has no outgoing reads by default either (mt:T16). */
		if (stages[i].state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
			EXPECT(node_read(&s.node, 0, 8, &to, 2, 0), wanted);
		if (!OK(dat_rmr_create(s.node.side->pz, &rmr)))
			return;
		EXPECT(node_bind(&s.node, rmr, 0, 8, 3, 0), wanted);
		for (j = 0; j < 3 && !wanted; j++)
			want_done(s.node.request, s.node.ep, j, status);
		if (!wanted)
			want_bound(s.node.request, rmr, 3, status);
		OK(dat_rmr_free(rmr));
		stage_unharmed(&s);
	}
}

/* ---- graceful: the drain ------------------------------------------------ */

/* What graceful_mixed() posts: sends of 100 bytes around all other kinds. */
#define MIXED_SENDS	5
#define MIXED_REQUESTS	9
#define MIXED_LENGTH	1000

static void post_mixed(struct node *node, struct node *peer,
		       DAT_RMR_HANDLE *rmrs)
{
	DAT_RMR_TRIPLET from = remote_piece(&peer->mem, 8000, MIXED_LENGTH);
	DAT_RMR_TRIPLET to = remote_piece(&peer->mem, 2000, MIXED_LENGTH);

	OK(node_send(node, 0, 100, 0, 0));
	OK(node_send(node, 100, 100, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(node_read(node, 4000, MIXED_LENGTH, &from, 2, 0));
	OK(node_write(node, 0, MIXED_LENGTH, &to, 3, 0));
	OK(node_send(node, 200, 100, 4, 0));
	OK(node_send(node, 300, 100, 5, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(node_bind(node, rmrs[0], 0, 100, 6, 0));
	OK(node_bind(node, rmrs[1], 0, 100, 7, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(node_send(node, 400, 100, 8, 0));
}

/* D5: the call has returned, and all that it has to wait for is still to come. */
static void returned_at_once(struct node *node)
{
	DAT_BOOLEAN request_idle;
	DAT_EP_STATE state;

	if (OK(dat_ep_get_status(node->ep, &state, NULL, &request_idle))) {
		CHECK_EQ(state, DAT_EP_STATE_DISCONNECT_PENDING);
		CHECK(!request_idle);
	}
	nothing_more(node->request);
	nothing_more(node->conn);
}

/* D14, D16: what a draining EP says to everything. */
static void calls_while_pending(struct node *node, struct node *peer,
				DAT_RMR_HANDLE rmr)
{
	DAT_RMR_TRIPLET remote = remote_piece(&peer->mem, 0, 8);

	BAD_STATE(node_send(node, 0, 8, 50, 0), EP_DISCPENDING);
	BAD_STATE(node_read(node, 0, 8, &remote, 50, 0), EP_DISCPENDING);
	BAD_STATE(node_write(node, 0, 8, &remote, 50, 0), EP_DISCPENDING);
	BAD_STATE(node_bind(node, rmr, 0, 8, 50, 0), EP_DISCPENDING);
	BAD_STATE(dat_ep_reset(node->ep), EP_DISCPENDING);
	OK(dat_ep_disconnect(node->ep, GRACEFUL));
	state_is(node->ep, DAT_EP_STATE_DISCONNECT_PENDING);
}

/* What post_mixed() bound, with a completion or without, is in force. */
static bool mixed_bound(struct node *node, DAT_RMR_HANDLE *rmrs)
{
	DAT_RMR_PARAM param;
	int i;

	for (i = 0; i < 3; i++)
		if (!OK(dat_rmr_query(rmrs[i], DAT_RMR_FIELD_ALL, &param)) ||
		    !CHECK_EQ(!!param.rmr_context, i < 2) ||
		    !CHECK_EQ(param.lmr_triplet.lmr_context,
			      i < 2 ? node->mem.context : 0) ||
		    !CHECK_EQ(param.lmr_triplet.virtual_address,
			      i < 2 ? (uintptr_t)node->mem.va : 0) ||
		    !CHECK_EQ(param.lmr_triplet.segment_length,
			      i < 2 ? 100 : 0))
			return FAIL("RMR %d", i);
	return true;
}

static bool graceful_mixed_once(struct pair *p, enum evds how, int passive)
{
	struct node *node = actor(p, passive), *peer = other(p, passive);
	struct account mine = { .request.suppressed = 1 << 1 | 1 << 5 | 1 << 7 };
	struct account theirs = {};
	DAT_RMR_HANDLE rmrs[3];
	DAT_EVENT event;
	int i;

	if (!pair_new(p, how, NULL, NULL))
		return false;
	for (i = 0; i < 3; i++)
		if (!OK(dat_rmr_create(node->side->pz, &rmrs[i])))
			return false;
	mem_fill(&node->mem, 0, MIXED_LENGTH, 1);
	mem_fill(&peer->mem, 8000, MIXED_LENGTH, 2);
	OK(node_recv(node, 30000, 64, RECV | 0));
	post_mixed(node, peer, rmrs);
	OK(dat_ep_disconnect(node->ep, GRACEFUL));
	returned_at_once(node);
	calls_while_pending(node, peer, rmrs[2]);
	/* D15: the peer may send, and there may be one receive more for it. */
	OK(node_recv(node, 31000, 64, RECV | 1));
	OK(node_recv(node, 32000, 64, RECV | 2));
	for (i = 0; i < 2; i++)
		OK(node_send(peer, 20000, 8, i, 0));
	for (i = 0; i < 2; i++)
		if (!want_event(node->recv, DAT_DTO_COMPLETION_EVENT, &event) ||
		    !account_event(&mine, node, &event))
			return false;
	CHECK_EQ(mine.recv.good, 2);
	silent(node->conn);
	state_is(node->ep, DAT_EP_STATE_DISCONNECT_PENDING);
	/* Now the peer is ready. */
	for (i = 0; i < MIXED_SENDS; i++)
		OK(node_recv(peer, 9000 + 100 * i, 100, RECV | i));
	if (!both_end(node, &mine, peer, &theirs) || !mixed_bound(node, rmrs))
		return false;
	for (i = 0; i < 3; i++)
		OK(dat_rmr_free(rmrs[i]));
	return account_closed(&mine, MIXED_REQUESTS, 3) &&
	       account_closed(&theirs, 2, MIXED_SENDS) &&
	       CHECK_EQ(mine.request.good, MIXED_REQUESTS) &&
	       CHECK_EQ(mine.recv.good, 2) &&
	       CHECK_EQ(theirs.recv.good, MIXED_SENDS) &&
	       mem_check(&node->mem, 4000, MIXED_LENGTH, 2) &&
	       mem_check(&peer->mem, 2000, MIXED_LENGTH, 1);
}

static void graceful_mixed(void)
{
	struct pair p = {};
	int i;

	for (i = 0; i < 4 && !failed(); i++)
		if (graceful_mixed_once(&p, i & 1, i >> 1))
			pair_free(&p);
}

/* D13: receives are not waited for. */
static void graceful_idle(void)
{
	struct pair p = {};
	int i, j;

	for (i = 0; i < 8 && !failed(); i++) {
		struct node *node = actor(&p, i & 1), *peer = other(&p, i & 1);
		struct account mine = {}, theirs = {};

		if (!pair_new(&p, i >> 1 & 1, NULL, NULL))
			return;
		for (j = 0; j < NODE_RECVS; j++) {
			OK(node_recv(node, 0, 64, RECV | j));
			OK(node_recv(peer, 0, 64, RECV | j));
		}
		OK(dat_ep_disconnect(node->ep, i >> 2 ? ABRUPT : GRACEFUL));
		if (!both_end(node, &mine, peer, &theirs))
			return;
		account_closed(&mine, 0, NODE_RECVS);
		account_closed(&theirs, 0, NODE_RECVS);
		CHECK_EQ(mine.recv.good + theirs.recv.good, 0);
		pair_free(&p);
	}
}

/* How a drain with sends that nobody receives may end. */
enum drain_end {
	END_ABRUPT, END_PEER_ABRUPT, END_PEER_GRACEFUL, END_PEER_FREE,
	END_PEER_CLOSE, NR_DRAIN_ENDS
};

static bool end_drain(struct node *node, struct node *peer, enum drain_end how)
{
	switch (how) {
	case END_ABRUPT:
		return OK(dat_ep_disconnect(node->ep, ABRUPT));
	case END_PEER_ABRUPT:
		return OK(dat_ep_disconnect(peer->ep, ABRUPT));
	case END_PEER_GRACEFUL:
		return OK(dat_ep_disconnect(peer->ep, GRACEFUL));
	case END_PEER_FREE:
		return OK(dat_ep_free(peer->ep));
	default:
		side_close(peer->side, ABRUPT);
		return !failed() && side_open(peer->side);
	}
}

static void end_of_drain(enum drain_end how)
{
	DAT_RMR_HANDLE rmr;
	struct pair p = {};
	int i, j;

	for (i = 0; i < 4 && !failed(); i++) {
		struct node *node = actor(&p, i & 1), *peer = other(&p, i & 1);
		struct account mine = { .request.suppressed = 2 }, theirs = {};

		memset(&p, 0, sizeof(p));
		if (!pair_new(&p, i >> 1, NULL, NULL))
			return;
		if (!OK(dat_rmr_create(node->side->pz, &rmr)))
			return;
		OK(node_recv(node, 0, 64, RECV));
		for (j = 0; j < NODE_REQUESTS - 1; j++)
			OK(node_send(node, 0, 100, j, j == 1 ?
				     DAT_COMPLETION_SUPPRESS_FLAG : 0));
		OK(node_bind(node, rmr, 0, 100, j, 0));
		OK(dat_ep_disconnect(node->ep, GRACEFUL));
		state_is(node->ep, DAT_EP_STATE_DISCONNECT_PENDING);
		if (!end_drain(node, peer, how) ||
		    !account_until(&mine, node, DISCONNECTED))
			return;
		account_closed(&mine, NODE_REQUESTS, 1);
		CHECK_EQ(mine.request.good + mine.recv.good, 0);
		if (how < END_PEER_FREE)
			account_until(&theirs, peer, DISCONNECTED);
		if (how == END_PEER_FREE)
			peer->ep = DAT_HANDLE_NULL;
		OK(dat_rmr_free(rmr));
		if (how != END_PEER_CLOSE)
			pair_free(&p);
	}
}

static void abrupt_ends_drain(void)
{
	end_of_drain(END_ABRUPT);
}

static void peer_abrupt_ends_drain(void)
{
	end_of_drain(END_PEER_ABRUPT);
}

static void peer_graceful_ends_drain(void)
{
	end_of_drain(END_PEER_GRACEFUL);
}

static void peer_free_ends_drain(void)
{
	end_of_drain(END_PEER_FREE);
}

static void peer_close_ends_drain(void)
{
	end_of_drain(END_PEER_CLOSE);
}

/* Both drain, and both get what they wait for: nothing is flushed on side a. */
static void both_drain(void)
{
	struct account mine = {}, theirs = {};
	struct pair p = {};
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < 4; i++) {
		OK(node_send(&p.a, 0, 100, i, 0));
		OK(node_send(&p.b, 0, 100, i, 0));
	}
	OK(dat_ep_disconnect(p.a.ep, GRACEFUL));
	OK(dat_ep_disconnect(p.b.ep, GRACEFUL));
	silent(p.a.conn);
	silent(p.b.conn);
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	state_is(p.b.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	for (i = 0; i < 4; i++)
		OK(node_recv(&p.b, 0, 100, RECV | i));
	if (both_end(&p.a, &mine, &p.b, &theirs)) {
		account_closed(&mine, 4, 0);
		account_closed(&theirs, 4, 4);
		CHECK_EQ(mine.request.good, 4);
		CHECK_EQ(theirs.recv.good, 4);
		CHECK_EQ(theirs.request.good, 0);
	}
}

/* The drain finds out by itself, and the other side when it wants to send. */
static void link_ends_drain(void)
{
	struct account mine = {}, theirs = {};
	struct pair p = {};
	DAT_EVENT event;
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < 4; i++)
		OK(node_send(&p.a, 0, 100, i, 0));
	OK(node_recv(&p.a, 0, 100, RECV));
	OK(dat_ep_disconnect(p.a.ep, GRACEFUL));
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	if (!link_down(&side_a) || !link_down(&side_b))
		return;
	/* RULING 9: its own status, and DISCONNECTED for all that. */
	if (!want_event(p.a.request, DAT_DTO_COMPLETION_EVENT, &event))
		return;
	CHECK_EQ(event.event_data.dto_completion_event_data.status,
		 DAT_DTO_ERR_TRANSPORT);
	account_event(&mine, &p.a, &event);
	account_until(&mine, &p.a, DISCONNECTED);
	account_closed(&mine, 4, 1);
	CHECK_EQ(mine.request.good + mine.recv.good, 0);
	/* Side b heard nothing, and its disconnect does not need the peer. */
	state_is(p.b.ep, DAT_EP_STATE_CONNECTED);
	OK(node_recv(&p.b, 0, 100, RECV));
	OK(dat_ep_disconnect(p.b.ep, GRACEFUL));
	account_until(&theirs, &p.b, DISCONNECTED);
	account_closed(&theirs, 0, 1);
}

/* D53 */
static bool stays_ended(struct node *node)
{
	return OK(dat_ep_disconnect(node->ep, GRACEFUL)) &&
	       OK(dat_ep_disconnect(node->ep, ABRUPT)) && silent(node->conn);
}

/*
 * The end of a connection that the peer's side noticed to be broken: its disconnect may be
 * here before the device on this side says so.  @end: which it was.
 */
static bool ended_by_break(struct account *account, struct node *node, DAT_EVENT_NUMBER *end)
{
	return account_break(account, node, end) && stays_ended(node);
}

/* A request that fails while the others wait. */
static void request_fails_in_drain(void)
{
	struct account mine = {}, theirs = {};
	DAT_EVENT_NUMBER end;
	DAT_RMR_TRIPLET bad;
	struct pair p = {};

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	bad = remote_piece(&p.b.mem, 0, 100);
	bad.rmr_context ^= 0x5a5a00;
	OK(node_recv(&p.a, 0, 100, RECV));
	OK(node_send(&p.a, 0, 100, 0, 0));
	OK(node_write(&p.a, 0, 100, &bad, 1, 0));
	OK(node_send(&p.a, 0, 100, 2, 0));
	OK(node_send(&p.a, 0, 100, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(dat_ep_disconnect(p.a.ep, GRACEFUL));
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	OK(node_recv(&p.b, 0, 100, RECV));
	want_done(p.a.request, p.a.ep, 0, DAT_DTO_SUCCESS);
	want_refused(&p.a, 1);
	mine.request.next = 2;
	mine.request.over = true;
	if (account_until(&mine, &p.a, DISCONNECTED))
		account_closed(&mine, 4, 1);
	/* mt:T55: the target's EP breaks, or is disconnected by its peer. */
	if (ended_by_break(&theirs, &p.b, &end) && account_closed(&theirs, 0, 1))
		CHECK_EQ(theirs.recv.good, 1);
}

/* Nobody takes a completion before the end. */
static void nobody_dequeues(void)
{
	int i, j;

	for (i = 0; i < 2 && !failed(); i++) {
		struct account mine = {}, theirs = {};
		struct pair p = {};
		DAT_EVENT event;

		if (!pair_new(&p, THREE_EVDS, NULL, NULL))
			return;
		for (j = 0; j < NODE_REQUESTS; j++)
			OK(node_recv(&p.b, 0, 64, RECV | j));
		for (j = 0; j < NODE_REQUESTS; j++)
			OK(node_send(&p.a, 0, 64, j, 0));
		OK(node_recv(&p.a, 0, 64, RECV));
		OK(dat_ep_disconnect(p.a.ep, i ? ABRUPT : GRACEFUL));
		if (!want_conn(p.a.conn, p.a.ep, DISCONNECTED))
			return;
		idle(p.a.ep);
		account_until(&theirs, &p.b, DISCONNECTED);
		while (event_within(p.a.request, 0, &event))
			account_event(&mine, &p.a, &event);
		while (event_within(p.a.recv, 0, &event))
			account_event(&mine, &p.a, &event);
		account_closed(&mine, NODE_REQUESTS, 1);
		account_closed(&theirs, 0, NODE_REQUESTS);
		if (!i)
			CHECK_EQ(mine.request.good, NODE_REQUESTS);
	}
}

/* Posts behind the end become idle, though their flushes are not taken either. */
static void only_the_status(void)
{
	struct account account = {};
	struct pair p = {};
	u64 end = deadline();
	DAT_BOOLEAN recv = DAT_FALSE, request = DAT_FALSE;
	DAT_EP_STATE state;
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	OK(node_recv(&p.a, 0, 64, RECV));
	OK(dat_ep_disconnect(p.b.ep, ABRUPT));
	if (!want_conn(p.b.conn, p.b.ep, DISCONNECTED) ||
	    !state_comes(p.a.ep, DAT_EP_STATE_DISCONNECTED))
		return;
	for (i = 0; i < 4; i++) {
		OK(node_recv(&p.a, 0, 64, RECV | (i + 1)));
		OK(node_send(&p.a, 0, 64, i, 0));
	}
	while (!(recv && request) && CHECK(now_us() < end)) {
		OK(dat_ep_get_status(p.a.ep, &state, &recv, &request));
		yield_cpu();
	}
	CHECK_EQ(state, DAT_EP_STATE_DISCONNECTED);
	account_until(&account, &p.a, DISCONNECTED);
	account_closed(&account, 4, 5);
}

#define SHORT	2

/* The next @n completions can be taken now, without waiting; what failed was flushed. */
static bool done_already(struct account *account, struct node *node,
			 DAT_EVD_HANDLE evd, int n)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event = {};
	int i;

	dto = &event.event_data.dto_completion_event_data;
	for (i = 0; i < n; i++)
		if (!OK(dat_evd_dequeue(evd, &event)) ||
		    !account_event(account, node, &event) ||
		    !CHECK(dto->status == DAT_DTO_SUCCESS ||
			   dto->status == DAT_DTO_ERR_FLUSHED))
			return FAIL("completion %d", i);
	return true;
}

/* The EVDs for completions are shorter than what completes there. */
static bool short_pair(struct pair *p)
{
	return evd_new(&side_a, SHORT, DAT_EVD_DTO_FLAG, &p->a.recv) &&
	       evd_new(&side_a, SHORT, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
		       &p->a.request) &&
	       pair_new(p, THREE_EVDS, NULL, NULL);
}

/*
 * D45: the event comes on an EVD of its own, while the completions before it have filled
 * the others, and most of them did not find room where their consumer looks first (the
 * ring of a process).  Whoever has seen the event gets all of them without waiting.
 * What the peer has received is answered a moment later.  An abrupt disconnect does not
 * wait for the last answers, and the requests that lack them are flushed (mt:T53).
 */
static void full_rings(void)
{
	int i, j;

	/* by us, gracefully and abruptly, and by the peer */
	for (i = 0; i < 3 && !failed(); i++) {
		struct account mine = {};
		struct pair p = {};

		if (!short_pair(&p))
			return;
		for (j = 0; j < NODE_RECVS; j++)
			if (!OK(node_recv(&p.a, 0, 64, RECV | j)) ||
			    !OK(node_recv(&p.b, 0, 64, RECV | j)))
				return;
		for (j = 0; j < NODE_REQUESTS; j++)
			if (!OK(node_send(&p.a, 0, 64, j, 0)) ||
			    !want_done(p.b.recv, p.b.ep, RECV | j, DAT_DTO_SUCCESS))
				return;
		for (j = 0; j < NODE_RECVS / 2; j++)
			if (!OK(node_send(&p.b, 0, 64, j, 0)) ||
			    !want_done(p.b.request, p.b.ep, j, DAT_DTO_SUCCESS))
				return;
		OK(dat_ep_disconnect(i < 2 ? p.a.ep : p.b.ep, i ? ABRUPT : GRACEFUL));
		if (!want_conn(p.a.conn, p.a.ep, DISCONNECTED))
			return;
		if (!done_already(&mine, &p.a, p.a.recv, NODE_RECVS) ||
		    !done_already(&mine, &p.a, p.a.request, NODE_REQUESTS))
			return;
		CHECK_EQ(mine.recv.good, NODE_RECVS / 2);
		if (i != 1)
			CHECK_EQ(mine.request.good, NODE_REQUESTS);
		nothing_more(p.a.recv);
		nothing_more(p.a.request);
		want_conn(p.b.conn, p.b.ep, DISCONNECTED);
		pair_free(&p);
	}
}

/* ---- abrupt ------------------------------------------------------------- */

/*
 * Both directions have work outstanding when one side ends it: the first ones
 * may have succeeded, all others are flushed, in order, each once.
 */
static void abrupt_outstanding(void)
{
	unsigned int i, j, n = rounds_in_full(60), good = 0, flushed = 0;
	DAT_RMR_HANDLE rmr;
	struct pair p = {};

	for (i = 0; i < n && !failed(); i++) {
		struct node *node = actor(&p, i & 1), *peer = other(&p, i & 1);
		struct account mine = {}, theirs = {};
		/* 0..16 of the sends have a receive. */
		unsigned int ready = i % (NODE_RECVS + 1);

		if (!pair_new(&p, i >> 1 & 1, NULL, NULL))
			return;
		for (j = 0; j < ready; j++)
			OK(node_recv(peer, 0, 4096, RECV | j));
		for (j = 0; j < NODE_RECVS; j++)
			OK(node_recv(node, 0, 4096, RECV | j));
		if (!OK(dat_rmr_create(node->side->pz, &rmr)))
			return;
		for (j = 0; j < NODE_REQUESTS; j++) {
			if (j == i % NODE_REQUESTS)
				OK(node_bind(node, rmr, 0, 4096, j, 0));
			else
				OK(node_send(node, 4096, 4096, j, 0));
			OK(node_send(peer, 4096, 4096, j, 0));
		}
		OK(dat_ep_disconnect(node->ep, ABRUPT));
		if (!both_end(node, &mine, peer, &theirs))
			return;
		account_closed(&mine, NODE_REQUESTS, NODE_RECVS);
		account_closed(&theirs, NODE_REQUESTS, ready);
		CHECK(mine.request.good <= (u64)ready + 1);
		OK(dat_rmr_free(rmr));
		good += mine.request.good + theirs.request.good;
		flushed += 2 * NODE_REQUESTS - mine.request.good -
			   theirs.request.good;
		pair_free(&p);
	}
	note("requests: %u succeeded, %u flushed", good, flushed);
	CHECK(flushed);
}

/* D4, D6, D53: after the end nothing happens any more, however it came. */
static void after_the_end(void)
{
	struct account mine = {}, theirs = {};
	struct pair p = {};
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < 2; i++)
		OK(dat_ep_disconnect(p.a.ep, GRACEFUL));
	for (i = 0; i < 2; i++)
		OK(dat_ep_disconnect(p.a.ep, ABRUPT));
	both_end(&p.a, &mine, &p.b, &theirs);
	for (i = 0; i < 4; i++) {
		OK(dat_ep_disconnect(p.a.ep, i & 1 ? ABRUPT : GRACEFUL));
		OK(dat_ep_disconnect(p.b.ep, i & 1 ? ABRUPT : GRACEFUL));
	}
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECTED);
	silent(p.a.conn);
	silent(p.b.conn);
	/* D46: work of now is flushed at once. */
	OK(node_recv(&p.a, 0, 8, RECV | 1));
	want_done(p.a.recv, p.a.ep, RECV | 1, DAT_DTO_ERR_FLUSHED);
	OK(node_send(&p.a, 0, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	want_done(p.a.request, p.a.ep, 2, DAT_DTO_ERR_FLUSHED);
	nothing_more(p.a.conn);
}

/* An EP without EVDs for its completions. */
static void no_completion_evds(void)
{
	struct listener listener = {};
	struct node a = { .side = &side_a }, b = {};
	int i;

	if (!evd_new(&side_a, 16, DAT_EVD_CONNECTION_FLAG, &a.conn) ||
	    !mem_new(&side_a, &a.mem, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG) ||
	    !node_ep(&a, NULL) || !node_new(&b, &side_b, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !pair_connect(&a, &b, &listener))
		return;
	for (i = 0; i < 4; i++) {
		OK(node_recv(&b, 0, 64, RECV | i));
		OK(node_recv(&a, 0, 64, RECV | i));
		OK(node_send(&a, 0, 64, i, 0));
	}
	OK(dat_ep_disconnect(a.ep, GRACEFUL));
	want_conn(a.conn, a.ep, DISCONNECTED);
	for (i = 0; i < 4; i++)
		want_done(b.recv, b.ep, RECV | i, DAT_DTO_SUCCESS);
	want_conn(b.conn, b.ep, DISCONNECTED);
	nothing_more(a.conn);
}

/* No room for DISCONNECTED: the state does not depend on that. */
static void full_connect_evd(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_RETURN ret;
	struct node a = {}, b = {};
	struct listener listener = {};
	int n = 0;

	a.side = &side_a;
	if (!evd_new(&side_a, 1, DAT_EVD_CONNECTION_FLAG, &a.conn) ||
	    !node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !pair_connect(&a, &b, &listener))
		return;
	do {
		ret = dat_evd_post_se(a.conn, &event);
	} while (!ret && n++ < 100000);
	IS(ret, DAT_QUEUE_FULL, 0);
	OK(node_recv(&a, 0, 64, 1));
	OK(dat_ep_disconnect(a.ep, ABRUPT));
	if (want_event(side_a.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, &event))
		CHECK(event.event_data.asynch_error_event_data.dat_handle ==
		      a.conn);
	want_done(a.recv, a.ep, 1, DAT_DTO_ERR_FLUSHED);
	want_conn(b.conn, b.ep, DISCONNECTED);
	state_is(a.ep, DAT_EP_STATE_DISCONNECTED);
	while (n-- > 0)
		if (!want_event(a.conn, DAT_SOFTWARE_EVENT, &event))
			return;
	silent(a.conn);
	OK(dat_ep_reset(a.ep));
}

/* ---- both sides at the same instant -------------------------------------- */

/* So many pairs live and end side by side, which saves much waiting. */
#define BOTH_PAIRS	16
#define BOTH_ROUNDS	125

/* Of each life: so many receives, and sends that may find one. */
#define BOTH_RECVS	3
#define BOTH_SENDS	2

/* One side of all pairs. */
struct half {
	struct node nodes[BOTH_PAIRS];
	/* When it called, this one had not heard of the other's call. */
	bool connected[BOTH_PAIRS];
};

struct both {
	struct half a, b;
	struct listener listener;
	struct barrier barrier;
	unsigned int round;
	bool end;
	unsigned int met;
};

/* One after the other: a.nodes[i] is connected to b.nodes[i]. */
static bool both_connect(struct both *both)
{
	int i, j;

	for (i = 0; i < BOTH_PAIRS; i++) {
		struct node *a = &both->a.nodes[i], *b = &both->b.nodes[i];

		if (!pair_connect(a, b, &both->listener))
			return false;
		for (j = 0; j < BOTH_RECVS; j++) {
			OK(node_recv(a, 0, 64, RECV | j));
			OK(node_recv(b, 0, 64, RECV | j));
		}
	}
	return !failed();
}

/* One side's half of a round. */
static bool both_side(struct both *both, struct half *half, int flag_bit)
{
	DAT_CLOSE_FLAGS flags = both->round & 1 << flag_bit ? GRACEFUL : ABRUPT;
	struct node *nodes = half->nodes;
	DAT_EP_STATE state;
	int i, j;

	for (i = 0; i < BOTH_PAIRS; i++)
		for (j = 0; j < BOTH_SENDS; j++)
			OK(node_send(&nodes[i], 0, 64, j, 0));
	for (i = 0; i < BOTH_PAIRS; i++) {
		if (!barrier_wait(&both->barrier))
			return false;
		OK(dat_ep_get_status(nodes[i].ep, &state, NULL, NULL));
		OK(dat_ep_disconnect(nodes[i].ep, flags));
		half->connected[i] = state == DAT_EP_STATE_CONNECTED;
	}
	for (i = 0; i < BOTH_PAIRS; i++) {
		struct account account = {};

		if (!account_until(&account, &nodes[i], DISCONNECTED) ||
		    !account_closed(&account, BOTH_SENDS, BOTH_RECVS) ||
		    !OK(dat_ep_reset(nodes[i].ep)))
			return false;
	}
	return barrier_wait(&both->barrier);
}

static int both_thread(void *arg)
{
	struct both *both = arg;

	while (barrier_wait(&both->barrier) && !both->end &&
	       both_side(both, &both->b, 1))
		;
	return 0;
}

static bool both_round(struct both *both)
{
	int i;

	if (!both_connect(both) || !barrier_wait(&both->barrier) ||
	    !both_side(both, &both->a, 0))
		return false;
	for (i = 0; i < BOTH_PAIRS; i++)
		both->met += both->a.connected[i] && both->b.connected[i];
	return true;
}

/* A busy machine may keep the two threads apart: rounds are added until enough met. */
static void both_at_once(void)
{
	struct both *both = scenario_alloc(sizeof(*both));
	struct thread *thread = scenario_alloc(sizeof(*thread));
	unsigned int i, n = rounds(BOTH_ROUNDS * BOTH_PAIRS) / BOTH_PAIRS;
	unsigned int enough = n * BOTH_PAIRS / 4;
	u64 end = 0;

	if (!both || !thread ||
	    !listener_new(&both->listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < BOTH_PAIRS; i++)
		if (!node_new(&both->a.nodes[i], &side_a, i & 1, NULL) ||
		    !node_new(&both->b.nodes[i], &side_b, i & 1, NULL))
			return;
	both->barrier.n = 2;
	if (!thread_start(thread, both_thread, both))
		return;
	for (; both->round < n || (both->met < enough && now_us() < end); both->round++) {
		if (!both_round(both))
			return;
		if (both->round < n)
			end = deadline();
	}
	both->end = true;
	barrier_wait(&both->barrier);
	thread_join(thread);
	note("%u times, %u of them both sides were connected when they called",
	     both->round * BOTH_PAIRS, both->met);
	CHECK(both->met >= enough);
}

/* ---- while the connection is made ---------------------------------------- */

#define PREPOSTED	5

/* Cancelled: the receives flushed, one DISCONNECTED, and never anything else. */
static bool cancelled(struct node *node)
{
	struct account account = {};

	state_is(node->ep, DAT_EP_STATE_DISCONNECTED);
	return account_until(&account, node, DISCONNECTED) &&
	       account_closed(&account, 0, PREPOSTED) &&
	       CHECK_EQ(account.recv.good, 0);
}

static bool prepost(struct node *node)
{
	int i;

	for (i = 0; i < PREPOSTED; i++)
		if (!OK(node_recv(node, 0, 64, RECV | i)))
			return false;
	return true;
}

/* The request has arrived, and is answered after the attempt was given up. */
static void cancel_active(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	int i;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < 4 && !failed(); i++) {
		if (!prepost(&a) || !start_connect(&a, listener.qual) ||
		    !next_request(&listener, &cr))
			return;
		state_is(a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
		OK(dat_ep_disconnect(a.ep, i & 1 ? ABRUPT : GRACEFUL));
		if (!cancelled(&a))
			return;
		/* D34 */
		if (i & 2) {
			OK(dat_cr_reject(cr));
		} else {
			OK(node_recv(&b, 0, 64, RECV));
			OK(dat_cr_accept(cr, b.ep, 0, NULL));
			accepted_in_vain(&b);
			want_dto(b.recv, b.ep, RECV, DAT_DTO_ERR_FLUSHED, 0);
			state_is(b.ep, DAT_EP_STATE_DISCONNECTED);
			idle(b.ep);
			nothing_more(b.recv);
			nothing_more(b.request);
			nothing_more(b.conn);
			OK(dat_ep_reset(b.ep));
		}
		silent(a.conn);
		OK(dat_ep_reset(a.ep));
	}
	/* D36 */
	pair_connect(&a, &b, &listener);
	nothing_more(a.conn);
}

#define RACES		1000

/* Room for requests to come; their senders have given up, which is no error. */
static bool reject_old(struct listener *listener)
{
	DAT_EVENT event;

	while (event_within(listener->requests, 0, &event))
		OK(dat_cr_reject(event.event_data.cr_arrival_event_data
				 .cr_handle));
	return !failed();
}

/* D32, D36: nobody answers, and the next attempt begins at once. */
static void cancel_at_once(void)
{
	struct listener listener = {}, fresh = {};
	unsigned int i, n = rounds(RACES);
	struct node a = {}, b = {};

	if (!node_new(&a, &side_a, ONE_EVD, NULL) ||
	    !node_new(&b, &side_b, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < n && !failed(); i++) {
		if (!prepost(&a) || !start_connect(&a, listener.qual))
			return;
		sleep_us(random_u32() % 2000);
		OK(dat_ep_disconnect(a.ep, i & 1 ? ABRUPT : GRACEFUL));
		if (!cancelled(&a) || !OK(dat_ep_reset(a.ep)) ||
		    !reject_old(&listener))
			return;
	}
	/* Requests that were given up may be left on the old listener. */
	if (listener_new(&fresh, DAT_PSP_CONSUMER_FLAG))
		pair_connect(&a, &b, &fresh);
	nothing_more(a.conn);
	nothing_more(b.conn);
	note("%u times", i);
}

/* D33: the timer of a cancelled attempt is dead. */
static void cancel_timer(void)
{
	const u32 timer_us = limit_of_request(2 * 1000 * 1000);
	struct listener listener = {};
	struct node a = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (!node_new(&a, &side_a, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) || !prepost(&a) ||
	    !OK(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
			       listener.qual, timer_us, 0, NULL,
			       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)) ||
	    !next_request(&listener, &cr))
		return;
	OK(dat_ep_disconnect(a.ep, ABRUPT));
	if (!cancelled(&a))
		return;
	CHECK(!event_within(a.conn, timer_us / 1000 + SILENCE_MS, &event));
	OK(dat_cr_reject(cr));
}

/*
 * The passive side does not hear that the active one is connected, so
 * COMPLETION_PENDING stays.
 */
static void cancel_passive(void)
{
	struct listener listener = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < 2 && !failed(); i++) {
		struct node a = {}, b = {};

		if (!node_new(&a, &side_a, ONE_EVD, NULL) ||
		    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
		    !prepost(&b) || !start_connect(&a, listener.qual) ||
		    !next_request(&listener, &cr) || !link_down(&side_a) ||
		    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) ||
		    !want_event(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED,
				&event))
			return;
		state_is(b.ep, DAT_EP_STATE_COMPLETION_PENDING);
		OK(dat_ep_disconnect(b.ep, i ? ABRUPT : GRACEFUL));
		if (!cancelled(&b) || !link_up(&side_a))
			return;
		/* D35, RULING 53 */
		want_conn(a.conn, a.ep, DISCONNECTED);
		silent(b.conn);
		nothing_more(a.conn);
	}
}

/*
 * What the end of an attempt races with.  Of two threads one disconnects side a,
 * and the other one is the rival; of CONFIRM it accepts, disconnects side b, and
 * the rival is the peer's confirmation.
 */
enum rival { ACCEPT, REJECT, TIMER, CONFIRM };

#define RACE_TIMER_US	10000
#define RACE_DELAY_MAX	100000

struct race {
	enum rival rival;
	struct node a, b;
	struct listener listener;
	struct barrier barrier;
	struct thread thread;
	DAT_CR_HANDLE cr;
	unsigned int round;
	unsigned int delay;
	bool end;
	/* Rounds in which the disconnect, or its rival, came first. */
	unsigned int won, lost;
};

/*
 * Disconnects after some time that follows the results, so that either may come
 * first on any machine.
 */
static void race_disconnect(struct race *r, struct node *node)
{
	sleep_us(random_u32() % (2 * r->delay + 1));
	OK(dat_ep_disconnect(node->ep, r->round & 1 ? ABRUPT : GRACEFUL));
}

static void race_count(struct race *r, bool won)
{
	if (won) {
		r->won++;
		r->delay += r->delay / 4 + 8;
		if (r->delay > RACE_DELAY_MAX)
			r->delay = RACE_DELAY_MAX;
	} else {
		r->lost++;
		r->delay -= r->delay / 4;
	}
}

static void race_rival(struct race *r)
{
	switch (r->rival) {
	case ACCEPT:
		OK(dat_cr_accept(r->cr, r->b.ep, 0, NULL));
		break;
	case REJECT:
		OK(dat_cr_reject(r->cr));
		break;
	case CONFIRM:
		OK(dat_cr_accept(r->cr, r->b.ep, 0, NULL));
		race_disconnect(r, &r->b);
		break;
	default:
		break;
	}
}

static int race_thread(void *arg)
{
	struct race *r = arg;

	while (barrier_wait(&r->barrier) && !r->end) {
		race_rival(r);
		if (!barrier_wait(&r->barrier))
			break;
	}
	return 0;
}

static bool race_begin(struct race *r)
{
	if (!prepost(&r->a))
		return false;
	if (r->rival == TIMER)
		return reject_old(&r->listener) &&
		       OK(dat_ep_connect(r->a.ep,
					 (DAT_IA_ADDRESS_PTR)&side_b.addr,
					 r->listener.qual,
					 random_u32() % RACE_TIMER_US + 1, 0,
					 NULL, DAT_QOS_BEST_EFFORT,
					 DAT_CONNECT_DEFAULT_FLAG));
	return (r->rival == REJECT || prepost(&r->b)) &&
	       start_connect(&r->a, r->listener.qual) &&
	       next_request(&r->listener, &r->cr);
}

/*
 * The node's one event, or ESTABLISHED, which DISCONNECTED follows (RULING 53);
 * the receives are flushed before the end.  Then the node is as before.
 */
static DAT_EVENT_NUMBER race_end(struct node *node)
{
	struct account account = {};
	DAT_EVENT event;

	if (!account_first(&account, node, &event))
		return 0;
	if (event.event_number == ESTABLISHED)
		account_until(&account, node, DISCONNECTED);
	else
		nothing_more(node->conn);
	account_closed(&account, 0, PREPOSTED);
	CHECK_EQ(account.recv.good, 0);
	state_is(node->ep, DAT_EP_STATE_DISCONNECTED);
	OK(dat_ep_reset(node->ep));
	return event.event_number;
}

/* D32, D34, D35: what may have become of it on either side. */
static bool race_ends(struct race *r)
{
	DAT_EVENT_NUMBER a = race_end(&r->a), b = 0;

	if (r->rival == ACCEPT || r->rival == CONFIRM)
		b = race_end(&r->b);
	race_count(r, (r->rival == CONFIRM ? b : a) == DISCONNECTED);
	switch (r->rival) {
	case ACCEPT:
		return CHECK(a == DISCONNECTED || a == ESTABLISHED) &&
		       CHECK(b == ACCEPT_ERROR || b == ESTABLISHED);
	case REJECT:
		return CHECK(a == DISCONNECTED ||
			     a == DAT_CONNECTION_EVENT_PEER_REJECTED) &&
		       state_is(r->b.ep, DAT_EP_STATE_UNCONNECTED) &&
		       nothing_more(r->b.conn);
	case TIMER:
		return CHECK(a == DISCONNECTED ||
			     a == DAT_CONNECTION_EVENT_TIMED_OUT ||
			     a == DAT_CONNECTION_EVENT_UNREACHABLE);
	default:
		return CHECK(a == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
			     a == ESTABLISHED) &&
		       CHECK(b == DISCONNECTED || b == ESTABLISHED) &&
		       CHECK(a == ESTABLISHED || b == DISCONNECTED);
	}
}

static bool race_once(struct race *r)
{
	if (!race_begin(r) || !barrier_wait(&r->barrier))
		return false;
	if (r->rival != CONFIRM)
		race_disconnect(r, &r->a);
	return barrier_wait(&r->barrier) && race_ends(r);
}

/*
 * In few rounds on a slow machine the delay does not get as long as it should be, or the
 * rival is late for other reasons: rounds are added until each has come first often enough.
 */
static void race(enum rival rival)
{
	struct race *r = scenario_alloc(sizeof(*r));
	unsigned int n = rounds(RACES), enough = n / 10;
	u64 end = 0;

	if (!r)
		return;
	r->rival = rival;
	r->barrier.n = 2;
	if (!node_new(&r->a, &side_a, ONE_EVD, NULL) ||
	    !node_new(&r->b, &side_b, ONE_EVD, NULL) ||
	    !listener_new(&r->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !thread_start(&r->thread, race_thread, r))
		return;
	for (; r->round < n || ((r->won < enough || r->lost < enough) && now_us() < end);
	     r->round++) {
		if (!race_once(r))
			return;
		if (r->round < n)
			end = deadline();
	}
	r->end = true;
	barrier_wait(&r->barrier);
	thread_join(&r->thread);
	note("the disconnect came first %u times, its rival %u times", r->won,
	     r->lost);
	CHECK(r->won >= enough && r->lost >= enough);
}

static void cancel_races_accept(void)
{
	race(ACCEPT);
}

static void cancel_races_reject(void)
{
	race(REJECT);
}

static void cancel_races_timer(void)
{
	race(TIMER);
}

static void cancel_races_confirmation(void)
{
	race(CONFIRM);
}

/* ---- broken ------------------------------------------------------------- */

/* D52, D53 */
static bool broken(struct account *account, struct node *node)
{
	return account_until(account, node, DAT_CONNECTION_EVENT_BROKEN) && stays_ended(node);
}

static void broken_by_link(void)
{
	struct account mine = {}, theirs = {};
	struct pair p = {};
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !link_down(&side_a) ||
	    !link_down(&side_b))
		return;
	for (i = 0; i < 4; i++) {
		OK(node_recv(&p.a, 0, 64, RECV | i));
		OK(node_send(&p.a, 0, 64, i, 0));
		OK(node_send(&p.b, 0, 64, i, 0));
	}
	want_done(p.a.request, p.a.ep, 0, DAT_DTO_ERR_TRANSPORT);
	mine.request.next = 1;
	mine.request.over = true;
	if (broken(&mine, &p.a) && broken(&theirs, &p.b)) {
		account_closed(&mine, 4, 4);
		account_closed(&theirs, 4, 0);
		CHECK_EQ(theirs.request.good, 0);
	}
}

/*
 * The send that comes first waits for a receive, so that all is posted when the
 * request behind it fails.  The target's device answers and puts its queue pair in
 * error: the disconnect of the side that heard of it first may come in between, and then
 * that is how the other side's connection ends (A5, mt:T55).
 */
static bool broken_by_key_once(struct pair *p, DAT_EVENT_NUMBER *end)
{
	struct account mine = {}, theirs = {};
	DAT_RMR_TRIPLET bad;
	int i;

	if (!pair_new(p, THREE_EVDS, NULL, NULL))
		return false;
	bad = remote_piece(&p->b.mem, 0, 64);
	bad.rmr_context ^= 0x5a5a00;
	for (i = 0; i < 4; i++)
		OK(node_recv(&p->a, 0, 64, RECV | i));
	OK(node_send(&p->a, 0, 64, 0, 0));
	OK(node_write(&p->a, 0, 64, &bad, 1, 0));
	OK(node_send(&p->a, 0, 64, 2, 0));
	OK(node_recv(&p->b, 0, 64, RECV));
	want_done(p->a.request, p->a.ep, 0, DAT_DTO_SUCCESS);
	want_refused(&p->a, 1);
	mine.request.next = 2;
	mine.request.over = true;
	return ended_by_break(&mine, &p->a, end) && account_closed(&mine, 3, 4) &&
	       CHECK_EQ(mine.recv.good, 0) && ended_by_break(&theirs, &p->b, end) &&
	       account_closed(&theirs, 0, 1) && CHECK_EQ(theirs.recv.good, 1);
}

static bool broken_by_length_once(struct pair *p, DAT_EVENT_NUMBER *end)
{
	struct account mine = {}, theirs = {};
	DAT_EVENT_NUMBER peers_end;
	DAT_EVENT event;

	if (!pair_new(p, ONE_EVD, NULL, NULL))
		return false;
	OK(node_send(&p->a, 0, 65, 0, 0));
	OK(node_send(&p->a, 0, 64, 1, 0));
	OK(node_recv(&p->b, 0, 64, RECV));
	/*
	 * Which failure it is depends on the device (mt:T50 wants
	 * LOCAL_LENGTH).
	 */
	if (!want_event(p->b.recv, DAT_DTO_COMPLETION_EVENT, &event))
		return false;
	CHECK(event.event_data.dto_completion_event_data.status !=
	      DAT_DTO_ERR_FLUSHED);
	account_event(&theirs, &p->b, &event);
	return ended_by_break(&theirs, &p->b, end) && account_closed(&theirs, 0, 1) &&
	       CHECK_EQ(theirs.recv.good, 0) &&
	       ended_by_break(&mine, &p->a, &peers_end) && account_closed(&mine, 2, 0) &&
	       CHECK_EQ(mine.request.good, 0);
}

/* The target's side learns of it from its device, if not each time. */
static void target_breaks(bool (*once)(struct pair *p, DAT_EVENT_NUMBER *end))
{
	DAT_EVENT_NUMBER end = 0;
	struct pair p = {};
	int i;

	for (i = 0; i < 8 && end != DAT_CONNECTION_EVENT_BROKEN; i++) {
		if (!once(&p, &end))
			return;
		pair_free(&p);
	}
	CHECK_EQ(end, DAT_CONNECTION_EVENT_BROKEN);
}

static void broken_by_key(void)
{
	target_breaks(broken_by_key_once);
}

static void broken_by_length(void)
{
	target_breaks(broken_by_length_once);
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("D1 D2 bad flags in each of the nine states, bad handles",
		    bad_arguments),
	SCENARIO("D3 illegal states: refused, and all goes on", illegal_states),
	SCENARIO_IB("M2 mt:T9 D14 D46 requests in each of the nine states",
		    requests_by_state),
	SCENARIO_IB("D9 D10 D11 D12 D14 D15 D16 D17 D40 D41 D43 D44 D45 T26 T28 T31 mt:T20 "
		    "graceful: mixed requests wait for withheld receives, then all succeed",
		    graceful_mixed, .srq = SRQ_BOTH),
	SCENARIO("D4 D6 D7 D8 D9 D13 D24 D42 D48 D50 T27 T32 mt:M56 nothing but receives: "
		 "flushed in order, one event on each side",
		 graceful_idle, .srq = SRQ_BOTH),
	SCENARIO_IB("D5 D6 D20 D22 D40 D42 T29 abrupt ends the drain",
		    abrupt_ends_drain),
	SCENARIO_IB("D17 D50 D51 T30 the peer's abrupt disconnect ends the drain",
		    peer_abrupt_ends_drain),
	SCENARIO_IB("D17 D50 D51 T30 the peer's graceful disconnect ends the drain",
		    peer_graceful_ends_drain),
	SCENARIO_IB("D17 D50 F7 T34 the peer's free ends the drain",
		    peer_free_ends_drain),
	SCENARIO_IB("D17 D50 F17 I15 T37 the peer's abrupt close of its IA ends the drain",
		    peer_close_ends_drain),
	SCENARIO_IB("D6 D11 D12 D51 both sides drain", both_drain),
	SCENARIO_IB("D5 D17 D18 T30 a cut link ends the drain: DISCONNECTED, not BROKEN",
		    link_ends_drain),
	SCENARIO_IB("D18 mt:T41 mt:T55 a request fails in the drain: "
		    "DISCONNECTED, not BROKEN",
		    request_fails_in_drain),
	SCENARIO("D19 D45 nobody takes completions", nobody_dequeues),
	SCENARIO("D8 D46 M5 posts after the end, and nobody takes anything", only_the_status),
	SCENARIO_IB("D45 mt:T40 EVDs shorter than what completes there",
		    full_rings),
	SCENARIO_IB("D20 D21 D23 D40 D43 D50 mt:T41 mt:T53 "
		    "abrupt with K outstanding in each direction",
		    abrupt_outstanding, .srq = SRQ_BOTH),
	SCENARIO("D4 D6 D46 D53 mt:T9 mt:T10 mt:T54 "
		 "disconnect again, and posts after the end",
		 after_the_end),
	SCENARIO("D47 mt:T11 no EVD for completions", no_completion_evds),
	SCENARIO("D49 E65 no room for DISCONNECTED", full_connect_evd),
	SCENARIO_IB("D6 D9 D40 D51 R10 R14 "
		    "both sides disconnect at the same instant, many times",
		    both_at_once),
	SCENARIO("D30 D31 D32 D34 D36 T20 T23 "
		 "ACTIVE_CONNECTION_PENDING: the attempt is cancelled",
		 cancel_active),
	SCENARIO_IB("D30 D31 D32 D36 cancelled and begun again, many times",
		    cancel_at_once),
	SCENARIO("D33 a cancelled attempt has no timer", cancel_timer),
	SCENARIO_IB("D30 D31 D32 D35 T24 COMPLETION_PENDING: the attempt is cancelled",
		    cancel_passive),
	SCENARIO("D32 D34 D36 cancel against the peer's accept, many times",
		 cancel_races_accept),
	SCENARIO("D32 D34 D36 cancel against the peer's reject, many times",
		 cancel_races_reject),
	SCENARIO_IB("D4 D32 D33 D36 cancel against the timer, many times",
		    cancel_races_timer),
	SCENARIO("D6 D31 D32 D35 D36 COMPLETION_PENDING: cancel against the peer's "
		 "confirmation, many times",
		 cancel_races_confirmation),
	SCENARIO_IB("D52 D53 T33 a cut link breaks the connection",
		    broken_by_link),
	SCENARIO_IB("D52 D53 mt:T52 mt:T55 a bad key breaks the connection",
		    broken_by_key),
	SCENARIO_IB("D52 D53 mt:T50 mt:T52 a message too long breaks the connection",
		    broken_by_length),
};

SCENARIO_TABLE(disconnect_table);
