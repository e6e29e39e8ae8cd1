// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_ep_free: in every state that allows it, with all that may be going on, and
 * what is left afterwards: nothing.
 */
#include "stage.h"

#define ABRUPT		DAT_CLOSE_ABRUPT_FLAG
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define ESTABLISHED	DAT_CONNECTION_EVENT_ESTABLISHED
#define ACCEPT_ERROR	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
#define NOT_BY_PEER	DAT_CONNECTION_EVENT_NON_PEER_REJECTED

/* ---- a handle that is dead ---------------------------------------------- */

static void dead_posts(struct node *node)
{
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };

	BAD_HANDLE(node_recv(node, 0, 8, 1), EP);
	BAD_HANDLE(node_send(node, 0, 8, 1, 0), EP);
	BAD_HANDLE(node_read(node, 0, 8, &remote, 1, 0), EP);
	BAD_HANDLE(node_write(node, 0, 8, &remote, 1, 0), EP);
}

static void dead_connects(struct node *node)
{
	DAT_EP_HANDLE ep = node->ep;

	BAD_HANDLE(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&side_b.addr, 20001,
				  CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG), EP);
	BAD_HANDLE(dat_ep_dup_connect(ep, ep, CONNECT_US, 0, NULL,
				      DAT_QOS_BEST_EFFORT), EP);
	BAD_HANDLE(dat_ep_disconnect(ep, ABRUPT), EP);
	BAD_HANDLE(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), EP);
}

/* F5: every call that takes an EP. */
static bool dead(struct node *node)
{
	DAT_COUNT allocated, span;
	DAT_EP_HANDLE ep = node->ep;
	DAT_EP_PARAM param = {};
	DAT_CONTEXT context;
	DAT_RSP_HANDLE rsp;
	DAT_EP_STATE state;
	DAT_EVD_HANDLE requests;
	DAT_HANDLE_TYPE type;

	dead_posts(node);
	dead_connects(node);
	BAD_HANDLE(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), EP);
	BAD_HANDLE(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), EP);
	BAD_HANDLE(dat_ep_get_status(ep, &state, NULL, NULL), EP);
	BAD_HANDLE(dat_ep_recv_query(ep, &allocated, &span), EP);
	BAD_HANDLE(dat_ep_set_watermark(ep, 1, 1), EP);
	BAD_HANDLE(dat_ep_reset(ep), EP);
	BAD_HANDLE(dat_ep_free(ep), EP);
	IS(dat_get_consumer_context(ep, &context), DAT_INVALID_HANDLE,
	   DAT_INVALID_HANDLE1);
	IS(dat_get_handle_type(ep, &type), DAT_INVALID_HANDLE,
	   DAT_INVALID_HANDLE1);
	if (evd_new(node->side, 8, DAT_EVD_CR_FLAG, &requests)) {
		BAD_HANDLE(dat_rsp_create(node->side->ia, 20101, ep, requests,
					  &rsp), EP);
		OK(dat_evd_free(requests));
	}
	return !failed();
}

/* ---- in each state ------------------------------------------------------ */

/* What the peer sees of it (F6, F7, D34, D35). */
static bool peer_after_free(struct staged *s)
{
	DAT_EVENT_NUMBER number;

	switch (s->is->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return OK(dat_cr_accept(s->cr, s->peer.ep, 0, NULL)) &&
		       want_conn(s->peer.conn, s->peer.ep, ACCEPT_ERROR);
	case DAT_EP_STATE_COMPLETION_PENDING:
		/* It is established already, and gets the end when packets pass. */
		return link_up(&side_a) &&
		       want_conn(s->peer.conn, s->peer.ep, DISCONNECTED);
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		number = next_conn(&s->peer);
		return CHECK_EQ(number, DISCONNECTED);
	default:
		return true;
	}
}

/* Completions may be there or not (F9); nothing else, and nothing later. */
static bool quiet_after_free(struct node *node)
{
	DAT_EVENT event;
	u64 n = 0;

	for (; event_within(node->recv, 0, &event); n++)
		if (!CHECK_EQ(event.event_data.dto_completion_event_data
			      .user_cookie.as_64, STAGE_RECV))
			return false;
	CHECK(n <= 1);
	for (n = 0; event_within(node->request, 0, &event); n++)
		if (!CHECK_EQ(event.event_data.dto_completion_event_data
			      .user_cookie.as_64, STAGE_SEND))
			return false;
	CHECK(n <= 1);
	return nothing_more(node->conn);
}

static bool free_in_state(const struct stage *stage)
{
	struct staged s;

	return stage_new(&s, stage) && OK(dat_ep_free(s.node.ep)) &&
	       quiet_after_free(&s.node) && dead(&s.node) &&
	       peer_after_free(&s) && nothing_more(s.node.conn) &&
	       nothing_more(s.node.recv) && nothing_more(s.node.request) &&
	       OK(dat_evd_free(s.node.recv)) &&
	       OK(dat_evd_free(s.node.request)) && OK(dat_evd_free(s.node.conn));
}

static void free_allowed(void)
{
	int i;

	for (i = 0; i < NR_STAGES; i++) {
		switch (stages[i].state) {
		case DAT_EP_STATE_RESERVED:
		case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
			break;
		default:
			if (!free_in_state(&stages[i])) {
				FAIL("in state %s", stages[i].name);
				return;
			}
		}
	}
}

/* What has to be done first, and then it works. */
static bool free_after(struct staged *s)
{
	switch (s->is->state) {
	case DAT_EP_STATE_RESERVED:
		return OK(dat_rsp_free(s->rsp)) &&
		       state_is(s->node.ep, DAT_EP_STATE_UNCONNECTED) &&
		       OK(dat_ep_free(s->node.ep));
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return OK(dat_cr_reject(s->cr)) &&
		       state_is(s->node.ep, DAT_EP_STATE_UNCONNECTED) &&
		       OK(dat_ep_free(s->node.ep)) &&
		       want_conn(s->peer.conn, s->peer.ep,
				 DAT_CONNECTION_EVENT_PEER_REJECTED) &&
		       OK(dat_rsp_free(s->rsp));
	default:
		return OK(dat_cr_reject(s->cr)) &&
		       want_conn(s->peer.conn, s->peer.ep,
				 DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
}

static void free_refused(void)
{
	struct staged s;
	int i;

	for (i = 0; i < NR_STAGES; i++) {
		switch (stages[i].state) {
		case DAT_EP_STATE_RESERVED:
		case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
			if (!stage_new(&s, &stages[i]))
				return;
			EXPECT(dat_ep_free(s.node.ep), stages[i].refusal);
			EXPECT(dat_ep_free(s.node.ep), stages[i].refusal);
			if (!free_after(&s) || !dead(&s.node)) {
				FAIL("in state %s", stages[i].name);
				return;
			}
			break;
		default:
			break;
		}
	}
}

/* ---- never again -------------------------------------------------------- */

#define DEAD	16
#define NEW	3000

static void never_again(void)
{
	struct node node = {}, young = {};
	DAT_EP_HANDLE gone[DEAD];
	int i, j, n = rounds_in_full(NEW);

	if (!node_new(&node, &side_a, THREE_EVDS, NULL))
		return;
	young = node;
	for (i = 0; i < DEAD; i++) {
		gone[i] = node.ep;
		if (!OK(dat_ep_free(node.ep)) || !node_ep(&node, NULL))
			return;
	}
	for (i = 0; i < n; i++) {
		if (!node_ep(&young, NULL))
			return;
		for (j = 0; j < DEAD; j++)
			if (!CHECK(young.ep != gone[j]))
				return;
		if (!OK(dat_ep_free(young.ep)))
			return;
	}
	for (j = 0; j < DEAD; j++) {
		young.ep = gone[j];
		if (!dead(&young))
			return;
	}
	state_is(node.ep, DAT_EP_STATE_UNCONNECTED);
}

/* ---- with traffic ------------------------------------------------------- */

#define BIG		16384
#define TRAFFIC_ROUNDS	30

/* Sends both ways and writes into the other's memory, of @length each. */
static bool traffic(struct node *node, struct node *peer)
{
	DAT_RMR_TRIPLET to = remote_piece(&peer->mem, BIG, BIG);
	int i;

	for (i = 0; i < NODE_REQUESTS / 2; i++)
		if (!OK(node_send(node, 0, BIG, 2 * i, 0)) ||
		    !OK(node_write(node, 0, BIG, &to, 2 * i + 1, 0)))
			return false;
	return true;
}

static bool recvs(struct node *node)
{
	int i;

	for (i = 0; i < NODE_RECVS; i++)
		if (!OK(node_recv(node, 2 * BIG, BIG, RECV | i)))
			return false;
	return true;
}

/* F9: the completions that are queued come in order, each once at most. */
static bool in_order(struct node *node)
{
	struct account account = {};
	DAT_EVENT event;

	while (event_within(node->recv, 0, &event))
		if (!account_event(&account, node, &event))
			return false;
	while (event_within(node->request, 0, &event))
		if (!account_event(&account, node, &event))
			return false;
	return true;
}

/* The other side: its end is an ordinary one. */
static bool peer_ends(struct node *node)
{
	struct account account = {};

	return account_until(&account, node, DISCONNECTED) &&
	       account_closed(&account, NODE_REQUESTS, NODE_RECVS);
}

static bool busy_pair(struct pair *p, struct listener *listener)
{
	memset(p, 0, sizeof(*p));
	return node_new(&p->a, &side_a, THREE_EVDS, NULL) &&
	       node_new(&p->b, &side_b, THREE_EVDS, NULL) &&
	       recvs(&p->a) && recvs(&p->b) &&
	       pair_connect(&p->a, &p->b, listener) &&
	       traffic(&p->b, &p->a) && traffic(&p->a, &p->b);
}

/* Freed while DTOs run, at any point; in the end nothing came late. */
static void in_flight(void)
{
	struct listener listener = {};
	struct node *node, *peer;
	unsigned int i, n = rounds_in_full(TRAFFIC_ROUNDS);
	struct pair p;

	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < n; i++) {
		if (!busy_pair(&p, &listener))
			return;
		node = i & 1 ? &p.b : &p.a;
		peer = i & 1 ? &p.a : &p.b;
		if (i & 2)
			OK(dat_ep_disconnect(node->ep, DAT_CLOSE_GRACEFUL_FLAG));
		sleep_us(random_u32() % 4000 + 1);
		/* A drain may be over by then, and says so (F8). */
		if (!OK(dat_ep_free(node->ep)) || !in_order(node) ||
		    !peer_ends(peer))
			return;
		if (nothing_more(node->recv) && nothing_more(node->request)) {
			node->ep = DAT_HANDLE_NULL;
			pair_free(&p);
		}
	}
}

/*
 * The memory may go, or be used for something else, as soon as free returned:
 * the peer was writing into it.  The kernel's memory debugging sees the first.
 */
static bool memory_once(struct listener *listener, bool keep)
{
	struct pair p;
	u8 *va;

	if (!busy_pair(&p, listener))
		return false;
	sleep_us(random_u32() % 2000 + 1);
	if (!OK(dat_ep_free(p.a.ep)))
		return false;
	p.a.ep = DAT_HANDLE_NULL;
	va = p.a.mem.va;
	if (keep)
		memset(va, 0xa5, NODE_MEMORY);
	else
		mem_free(&p.a.mem);
	if (!peer_ends(&p.b))
		return false;
	if (keep && CHECK(va[0] == 0xa5))
		CHECK(!memcmp(va, va + 1, NODE_MEMORY - 1));
	pair_free(&p);
	return !failed();
}

static void memory_at_once(void)
{
	unsigned int i, n = rounds_in_full(TRAFFIC_ROUNDS);
	struct listener listener = {};

	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < n; i++)
		if (!memory_once(&listener, i & 1))
			return;
}

/* ---- what an EP holds --------------------------------------------------- */

static void holds(void)
{
	struct node node = { .side = &side_a };
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	if (!node_new(&node, &side_a, THREE_EVDS, NULL) ||
	    !OK(dat_ep_free(node.ep)) || !OK(dat_pz_create(side_a.ia, &pz)) ||
	    !OK(dat_ep_create(side_a.ia, pz, node.recv, node.request, node.conn,
			      &node_attr, &node.ep)))
		return;
	OK(dat_ep_post_recv(node.ep, 0, NULL, cookie(1),
			    DAT_COMPLETION_DEFAULT_FLAG));
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	BAD_STATE(dat_evd_free(node.recv), EVD_IN_USE);
	BAD_STATE(dat_evd_free(node.request), EVD_IN_USE);
	BAD_STATE(dat_evd_free(node.conn), EVD_IN_USE);
	BAD_STATE(dat_ia_close(side_a.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	state_is(node.ep, DAT_EP_STATE_UNCONNECTED);
	OK(dat_ep_free(node.ep));
	/* At most once; nobody has to fetch it. */
	event_within(node.recv, 0, &event);
	nothing_more(node.recv);
	OK(dat_pz_free(pz));
	OK(dat_evd_free(node.recv));
	OK(dat_evd_free(node.request));
	OK(dat_evd_free(node.conn));
}

/* ---- the IA goes -------------------------------------------------------- */

/* What event the peer gets when side b is closed (F6, F7, P47). */
static bool peer_after_close(struct staged *s)
{
	switch (s->is->state) {
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return want_conn(s->peer.conn, s->peer.ep, NOT_BY_PEER);
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return want_conn(s->node.conn, s->node.ep, NOT_BY_PEER);
	case DAT_EP_STATE_COMPLETION_PENDING:
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return want_conn(s->peer.conn, s->peer.ep, DISCONNECTED);
	default:
		return s->peer.side == &side_b || nothing_more(s->peer.conn);
	}
}

/* Nine EPs, a state each; the last one needs a cut link. */
static bool stage_all(struct staged *s)
{
	int i, last = -1;

	for (i = 0; i < NR_STAGES; i++) {
		if (stages[i].state == DAT_EP_STATE_COMPLETION_PENDING)
			last = i;
		else if (!stage_new(&s[i], &stages[i]))
			return false;
	}
	return stage_new(&s[last], &stages[last]);
}

/* On a slow machine the cut link ends a drain before we look. */
static bool still_staged(const struct staged *s)
{
	bool drains = s->is->state == DAT_EP_STATE_DISCONNECT_PENDING;
	DAT_EP_STATE state;

	return OK(dat_ep_get_status(s->node.ep, &state, NULL, NULL)) &&
	       (state == s->is->state ||
		(drains && state == DAT_EP_STATE_DISCONNECTED) ||
		FAIL("state %d, not %s", state, s->is->name));
}

static void closed_in_every_state(void)
{
	struct staged *s = scenario_alloc(NR_STAGES * sizeof(*s));
	int i;

	if (!s || !stage_all(s))
		return;
	BAD_STATE(dat_ia_close(side_a.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	BAD_STATE(dat_ia_close(side_b.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	for (i = 0; i < NR_STAGES; i++)
		still_staged(&s[i]);
	side_close(&side_b, ABRUPT);
	if (!link_up(&side_a))
		return;
	for (i = 0; i < NR_STAGES; i++) {
		if (s[i].node.side == &side_b)
			dead_posts(&s[i].node);
		if (!peer_after_close(&s[i])) {
			FAIL("in state %s", stages[i].name);
			return;
		}
	}
}

/* The same for the EPs of the side that connects. */
static void active_side_closed(void)
{
	struct staged s;
	int i;

	for (i = 0; i < NR_STAGES && !failed(); i++) {
		if (stages[i].state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING &&
		    stages[i].state != DAT_EP_STATE_CONNECTED)
			continue;
		if (!stage_new(&s, &stages[i]))
			return;
		side_close(&side_a, ABRUPT);
		if (stages[i].state == DAT_EP_STATE_CONNECTED)
			want_conn(s.node.conn, s.node.ep, DISCONNECTED);
		else if (OK(dat_cr_accept(s.cr, s.peer.ep, 0, NULL)))
			want_conn(s.peer.conn, s.peer.ep, ACCEPT_ERROR);
		if (!failed() && !side_open(&side_a))
			return;
	}
}

/* ---- races -------------------------------------------------------------- */

#define RACES	60

/* Of two threads one frees, and the other does what it races with. */
enum rival { ACCEPT, REJECT, DISCONNECT, BREAK, TIMER };

struct race {
	enum rival rival;
	struct node a, b;
	struct listener listener;
	DAT_CR_HANDLE cr;
	struct barrier barrier;
};

static void some_time(void)
{
	u32 us = random_u32() % 1500;

	if (us & 1)
		sleep_us(us);
}

static bool rival(struct race *r)
{
	DAT_RMR_TRIPLET bad = { .rmr_context = 0x5a5a5a, .segment_length = 8 };

	switch (r->rival) {
	case ACCEPT:
		return OK(dat_cr_accept(r->cr, r->b.ep, 0, NULL));
	case REJECT:
		return OK(dat_cr_reject(r->cr));
	case DISCONNECT:
		return OK(dat_ep_disconnect(r->b.ep, ABRUPT));
	case BREAK:
		/* Refused after the peer is gone, or a state too early. */
		node_write(&r->b, 0, 8, &bad, 0, 0);
		return true;
	default:
		return true;
	}
}

static int rival_thread(void *arg)
{
	struct race *r = arg;
	int i;

	for (i = 0; i < RACES; i++) {
		if (!barrier_wait(&r->barrier))
			return 0;
		some_time();
		rival(r);
		if (!barrier_wait(&r->barrier))
			return 0;
	}
	return 0;
}

static bool race_begin(struct race *r)
{
	if (!node_ep(&r->a, NULL) || !OK(node_recv(&r->a, 0, 64, 1)))
		return false;
	switch (r->rival) {
	case ACCEPT:
	case REJECT:
		return start_connect(&r->a, r->listener.qual) &&
		       next_request(&r->listener, &r->cr);
	case TIMER:
		return OK(dat_ep_connect(r->a.ep,
					 (DAT_IA_ADDRESS_PTR)&side_b.addr,
					 r->listener.qual,
					 random_u32() % 3000 + 1, 0, NULL,
					 DAT_QOS_BEST_EFFORT,
					 DAT_CONNECT_DEFAULT_FLAG));
	default:
		return pair_connect(&r->a, &r->b, &r->listener);
	}
}

/* Side b's end of it, whichever way it went; then it is as before. */
static bool race_end_b(struct race *r)
{
	DAT_EVENT_NUMBER number;
	DAT_EVENT event;

	if (r->rival == REJECT)
		return nothing_more(r->b.conn);
	if (r->rival == TIMER) {
		while (event_within(r->listener.requests, 0, &event))
			OK(dat_cr_reject(event.event_data.cr_arrival_event_data
					 .cr_handle));
		return !failed();
	}
	number = next_conn(&r->b);
	if (number == ESTABLISHED && r->rival == ACCEPT)
		number = next_conn(&r->b);
	while (event_within(r->b.request, 0, &event))
		;
	return CHECK(number == DISCONNECTED ||
		     (number == ACCEPT_ERROR && r->rival == ACCEPT) ||
		     (number == DAT_CONNECTION_EVENT_BROKEN &&
		      r->rival == BREAK)) &&
	       OK(dat_ep_reset(r->b.ep)) && nothing_more(r->b.conn);
}

/* F8: what free found queued is there; afterwards nothing comes. */
static bool race_once(struct race *r)
{
	DAT_EVENT event;

	if (!race_begin(r) || !barrier_wait(&r->barrier))
		return false;
	some_time();
	if (!OK(dat_ep_free(r->a.ep)))
		return false;
	while (event_within(r->a.conn, 0, &event))
		CHECK(event.event_data.connect_event_data.ep_handle == r->a.ep);
	while (event_within(r->a.recv, 0, &event))
		;
	return barrier_wait(&r->barrier) && race_end_b(r) &&
	       nothing_more(r->a.conn) && nothing_more(r->a.recv);
}

static void race(enum rival rival)
{
	struct race *r = scenario_alloc(sizeof(*r));
	struct thread thread;
	int i;

	if (!r)
		return;
	r->rival = rival;
	r->barrier.n = 2;
	if (!node_new(&r->a, &side_a, THREE_EVDS, NULL) ||
	    !OK(dat_ep_free(r->a.ep)) ||
	    !node_new(&r->b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&r->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !thread_start(&thread, rival_thread, r))
		return;
	for (i = 0; i < RACES && race_once(r); i++)
		;
	thread_join(&thread);
}

static void race_accept(void)
{
	race(ACCEPT);
}

static void race_reject(void)
{
	race(REJECT);
}

static void race_disconnect(void)
{
	race(DISCONNECT);
}

static void race_break(void)
{
	race(BREAK);
}

static void race_timer(void)
{
	race(TIMER);
}

/* The passive EP, from the accept on. */
static void passive_races(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_EVENT_NUMBER number;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < RACES; i++) {
		if (!start_connect(&a, listener.qual) ||
		    !next_request(&listener, &cr) ||
		    !OK(dat_cr_accept(cr, b.ep, 0, NULL)))
			return;
		some_time();
		if (!OK(dat_ep_free(b.ep)))
			return;
		while (event_within(b.conn, 0, &event))
			CHECK_EQ(event.event_number, ESTABLISHED);
		/* RULING 53. */
		number = next_conn(&a);
		if (number == ESTABLISHED)
			CHECK_EQ(next_conn(&a), DISCONNECTED);
		else
			CHECK_EQ(number, NOT_BY_PEER);
		if (failed() || !nothing_more(b.conn) ||
		    !nothing_more(a.conn) || !OK(dat_ep_reset(a.ep)) ||
		    !node_ep(&b, NULL))
			return;
	}
}

/* ---- an end that nobody has taken ------------------------------------------ */

static bool state_is_now(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	DAT_EP_PARAM param;

	return OK(dat_ep_query(ep, DAT_EP_FIELD_EP_STATE, &param)) && param.ep_state == state;
}

/*
 * The peer of p->a disconnects, and p->a is freed before anybody has taken what its end has left
 * in its EVD.
 *
 * Return: true: the event of the end was there, behind all completions.  False: the free came
 * before that event, as it may while the receives are being flushed, and so there is none (F8).
 */
static bool free_behind_end_once(struct pair *p, u64 until)
{
	struct account account = {};
	bool ended = false;
	DAT_EVENT event;
	int i;

	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&p->a, 0, 64, RECV | i));
	OK(dat_ep_disconnect(p->b.ep, ABRUPT));
	want_conn(p->b.conn, p->b.ep, DISCONNECTED);
	/* The query of the state takes no event, and does not look for completions either. */
	while (!state_is_now(p->a.ep, DAT_EP_STATE_DISCONNECTED) && CHECK(now_us() < until))
		yield_cpu();
	OK(dat_ep_free(p->a.ep));
	while (!failed() && event_within(p->a.conn, 0, &event)) {
		if (event.event_number != DISCONNECTED) {
			account_event(&account, &p->a, &event);
			CHECK(!ended);
			continue;
		}
		CHECK(!ended);
		ended = CHECK(event.event_data.connect_event_data.ep_handle == p->a.ep) &&
			account_closed(&account, 0, NODE_RECVS);
	}
	nothing_more(p->a.conn);
	p->a.ep = DAT_HANDLE_NULL;
	return ended;
}

static void free_behind_end(void)
{
	u64 until = deadline();
	bool ended = false;

	while (!ended && !failed() && CHECK(now_us() < until)) {
		struct pair p = {};

		if (!pair_new(&p, ONE_EVD, NULL, NULL))
			return;
		ended = free_behind_end_once(&p, until);
		if (!failed())
			pair_free(&p);
	}
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("F1 F5..F10 F16 T21 T25 T34 T36 D34 D35 freed in each state that allows it",
		    free_allowed),
	SCENARIO("F2..F5 T4 T6 T8 P71 Reserved, passive, tentative: refused, and what to do first",
		 free_refused),
	SCENARIO("F5 a dead handle stays dead, and 3000 new EPs have others",
		 never_again),
	SCENARIO_IB("F1 F7 F8 F9 F16 freed with traffic in both directions",
		    in_flight, .srq = SRQ_BOTH),
	SCENARIO_IB("F12 the memory may go as soon as the EP is free",
		    memory_at_once),
	SCENARIO("F10 F11 F18 EVDs and PZ are in use until then", holds),
	SCENARIO_IB("F17 F18 P47 T37 the IA of EPs in all nine states is closed",
		    closed_in_every_state),
	SCENARIO("F17 D34 the IA of the active side is closed", active_side_closed),
	SCENARIO("F6 F8 F14 free against the peer's accept", race_accept),
	SCENARIO("F6 F8 F14 free against the peer's reject", race_reject),
	SCENARIO("F7 F8 F14 free against the peer's disconnect", race_disconnect),
	SCENARIO("F7 F8 F14 free against a broken connection", race_break),
	SCENARIO_IB("F6 F8 F14 free against the timer", race_timer),
	SCENARIO("F6 F8 F14 D35 free against the end of an accept", passive_races),
	SCENARIO("D44 D45 E46 F8 F9 freed when nobody has taken the end", free_behind_end),
};

SCENARIO_TABLE(free_table);
