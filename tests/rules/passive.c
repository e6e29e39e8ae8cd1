// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The passive side: service points, connection requests, accept and reject.
 */
#include "memory.h"
#include "stage.h"

#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define ESTABLISHED	DAT_CONNECTION_EVENT_ESTABLISHED
#define ACCEPT_ERROR	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
#define NOT_BY_PEER	DAT_CONNECTION_EVENT_NON_PEER_REJECTED
#define REJECTED	DAT_CONNECTION_EVENT_PEER_REJECTED
#define ROUNDS		60

/* Nodes of side a that ask; they use one another's memory. */
static bool askers_new(struct node *askers, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!node_new(&askers[i], &side_a, THREE_EVDS, NULL))
			return false;
	return true;
}

/* The provider's EP of @cr in the place of @node's. */
static bool take_ep(struct node *node, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	if (!OK(dat_ep_free(node->ep)) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)) ||
	    !CHECK(param.local_ep_handle != DAT_HANDLE_NULL))
		return false;
	node->ep = param.local_ep_handle;
	return state_is(node->ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

static bool reject(struct listener *listener, struct node *asker)
{
	DAT_CR_HANDLE cr;

	return next_request(listener, &cr) && OK(dat_cr_reject(cr)) &&
	       want_conn(asker->conn, asker->ep, REJECTED);
}

/* ---- public service points ---------------------------------------------- */

static DAT_CR_HANDLE cr_of(const DAT_EVENT *event)
{
	return event->event_data.cr_arrival_event_data.cr_handle;
}

/* Two listeners with one backlog; a request too many is refused, silently. */
static void backlog_play(struct listener *first, struct listener *second,
			 struct node *askers, DAT_COUNT room)
{
	struct node *late;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	for (i = 0; i <= room; i++)
		if (!start_connect(&askers[i], i & 1 ? second->qual :
						       first->qual))
			return;
	/* Whichever comes last; then there is no room for another one either. */
	i = any_conn(askers, room + 1, &event);
	if (i < 0 || !CHECK_EQ(event.event_number, NOT_BY_PEER))
		return;
	late = &askers[i];
	if (!OK(dat_ep_reset(late->ep)) ||
	    !start_connect(late, first->qual) ||
	    !want_conn(late->conn, late->ep, NOT_BY_PEER) ||
	    !OK(dat_ep_reset(late->ep)))
		return;
	CHECK(!event_within(side_b.async, 0, &event));
	/* A CR that was dequeued does not count, answered or not. */
	if (!want_event(first->requests, DAT_CONNECTION_REQUEST_EVENT, &event) ||
	    !start_connect(late, second->qual))
		return;
	cr = cr_of(&event);
	for (i = 0; i < room; i++) {
		if (!want_event(first->requests, DAT_CONNECTION_REQUEST_EVENT,
				&event))
			return;
		OK(dat_cr_reject(cr_of(&event)));
	}
	OK(dat_cr_reject(cr));
	for (i = 0; i <= room; i++)
		want_conn(askers[i].conn, askers[i].ep, REJECTED);
	CHECK(!event_within(first->requests, 0, &event));
}

static void backlog(void)
{
	struct listener first = {}, second = {};
	struct node *askers;
	DAT_EVD_PARAM param;
	DAT_COUNT room;

	if (!evd_new(&side_b, 4, DAT_EVD_CR_FLAG, &first.requests) ||
	    !OK(dat_psp_create_any(side_b.ia, &first.qual, first.requests,
				   DAT_PSP_CONSUMER_FLAG, &first.psp)) ||
	    !OK(dat_psp_create_any(side_b.ia, &second.qual, first.requests,
				   DAT_PSP_CONSUMER_FLAG, &second.psp)) ||
	    !OK(dat_evd_query(first.requests, DAT_EVD_FIELD_ALL, &param)))
		return;
	room = param.evd_qlen;
	askers = scenario_alloc((room + 1) * sizeof(*askers));
	if (askers && askers_new(askers, room + 1))
		backlog_play(&first, &second, askers, room);
}

/* Freed over its requests; nothing of it is left but them. */
static void psp_freed(void)
{
	struct listener consumer = {}, provider = {};
	struct node askers[5] = {}, b = {}, own = {};
	DAT_CR_HANDLE cr[4];
	DAT_PSP_PARAM param;
	DAT_PSP_HANDLE psp;
	int i;

	if (!askers_new(askers, 5) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !node_new(&own, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&consumer, DAT_PSP_CONSUMER_FLAG) ||
	    !listener_new(&provider, DAT_PSP_PROVIDER_FLAG))
		return;
	/* One of each is dequeued before, one after; in order of arrival. */
	for (i = 0; i < 4; i++)
		if (!start_connect(&askers[i], i & 1 ? provider.qual :
						       consumer.qual) ||
		    (i < 2 && !next_request(i & 1 ? &provider : &consumer,
					    &cr[i])))
			return;
	if (!start_connect(&askers[4], consumer.qual) ||
	    !next_request(&consumer, &cr[2]) || !next_request(&provider, &cr[3]))
		return;
	BAD_STATE(dat_evd_free(consumer.requests), EVD_IN_USE);
	OK(dat_psp_free(consumer.psp));
	OK(dat_psp_free(provider.psp));
	BAD_HANDLE(dat_psp_free(consumer.psp), PSP);
	BAD_HANDLE(dat_psp_query(consumer.psp, DAT_PSP_FIELD_ALL, &param), PSP);
	if (OK(node_recv(&b, 0, 64, 1)) &&
	    OK(dat_cr_accept(cr[0], b.ep, 0, NULL)) &&
	    established(&askers[0], &b))
		message(&askers[0], &b, 1);
	if (take_ep(&own, cr[1]) && adopt(&own) &&
	    OK(node_recv(&own, 0, 64, 1)) &&
	    OK(dat_cr_accept(cr[1], DAT_HANDLE_NULL, 0, NULL)) &&
	    established(&askers[1], &own))
		message(&askers[1], &own, 1);
	OK(dat_cr_reject(cr[2]));
	OK(dat_cr_reject(cr[3]));
	want_conn(askers[3].conn, askers[3].ep, REJECTED);
	/* P14, while connections of the old one live. */
	OK(dat_psp_create(side_b.ia, consumer.qual, consumer.requests,
			  DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
}

/* Which of two requests came first is not known: each gets an answer. */
static void psp_freed_undequeued(void)
{
	struct node askers[3] = {};
	struct listener listener = {};
	DAT_CR_HANDLE cr;
	int i;

	if (!askers_new(askers, 3) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < 3; i++)
		if (!start_connect(&askers[i], listener.qual))
			return;
	if (!next_request(&listener, &cr) || !OK(dat_cr_reject(cr)))
		return;
	for (i = 0; i < 2; i++)
		if (!next_request(&listener, &cr) || !OK(dat_cr_reject(cr)))
			return;
	OK(dat_psp_free(listener.psp));
	for (i = 0; i < 3; i++)
		if (!want_conn(askers[i].conn, askers[i].ep, REJECTED) ||
		    !OK(dat_ep_reset(askers[i].ep)))
			return;
	/* As if nobody listened. */
	if (start_connect(&askers[0], listener.qual))
		want_conn(askers[0].conn, askers[0].ep, NOT_BY_PEER);
	OK(dat_evd_free(listener.requests));
}

/* A service point is freed while requests come. */
struct sp_race {
	struct listener listener;
	struct barrier barrier;
	bool reserved;
};

static int sp_race_thread(void *arg)
{
	struct sp_race *r = arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (!barrier_wait(&r->barrier))
			return 0;
		sleep_us(random_u32() % 20000 + 1);
		OK(r->reserved ? dat_rsp_free(r->listener.psp) :
				 dat_psp_free(r->listener.psp));
		if (!barrier_wait(&r->barrier))
			return 0;
	}
	return 0;
}

#define ASKERS	3

/* The attempt is over: 1 rejected, 0 nobody listened; -1: neither yet. */
static int answered(struct node *asker)
{
	DAT_EVENT event;

	if (!event_within(asker->conn, 0, &event))
		return -1;
	CHECK(event.event_number == REJECTED ||
	      event.event_number == NOT_BY_PEER);
	OK(dat_ep_reset(asker->ep));
	return event.event_number == REJECTED;
}

/* Each request became a CR, or nobody listened: nothing in between. */
static bool all_answered(struct sp_race *r, struct node *askers)
{
	u64 end = deadline();
	int i, requests = 0, rejected = 0, over = 0;
	int result[ASKERS] = { -1, -1, -1 };
	DAT_EVENT event;

	while (over < ASKERS && now_us() < end && !failed()) {
		if (event_within(r->listener.requests, 1, &event)) {
			OK(dat_cr_reject(cr_of(&event)));
			requests++;
		}
		for (i = 0; i < ASKERS; i++) {
			if (result[i] >= 0)
				continue;
			result[i] = answered(&askers[i]);
			over += result[i] >= 0;
			rejected += result[i] == 1;
		}
	}
	return CHECK_EQ(over, ASKERS) && CHECK_EQ(requests, rejected) &&
	       CHECK(!event_within(r->listener.requests, 0, &event));
}

static bool psp_race_once(struct sp_race *r, struct node *askers)
{
	int i;

	if (!OK(dat_psp_create(side_b.ia, r->listener.qual,
			       r->listener.requests, DAT_PSP_CONSUMER_FLAG,
			       &r->listener.psp)) ||
	    !barrier_wait(&r->barrier))
		return false;
	for (i = 0; i < ASKERS; i++)
		if (!start_connect(&askers[i], r->listener.qual))
			return false;
	return barrier_wait(&r->barrier) && all_answered(r, askers);
}

static void psp_race(void)
{
	struct sp_race *r = scenario_alloc(sizeof(*r));
	struct node askers[ASKERS] = {};
	struct thread thread;
	int i;

	if (!r || !askers_new(askers, ASKERS) ||
	    !listener_new(&r->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_psp_free(r->listener.psp)))
		return;
	r->barrier.n = 2;
	if (!thread_start(&thread, sp_race_thread, r))
		return;
	for (i = 0; i < ROUNDS && psp_race_once(r, askers); i++)
		;
	thread_join(&thread);
}

/* With the CR-EVD go the requests that nobody dequeued, and what they own. */
static void evd_freed(void)
{
	struct node a = {}, b = {};
	struct listener listener = {};
	DAT_RSP_HANDLE rsp;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_psp_free(listener.psp)) ||
	    !OK(dat_rsp_create(side_b.ia, listener.qual, b.ep,
			       listener.requests, &rsp)) ||
	    !start_connect(&a, listener.qual))
		return;
	if (!state_comes(b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING))
		return;
	BAD_STATE(dat_evd_free(listener.requests), EVD_IN_USE);
	OK(dat_rsp_free(rsp));
	OK(dat_evd_free(listener.requests));
	want_conn(a.conn, a.ep, NOT_BY_PEER);
	state_is(b.ep, DAT_EP_STATE_UNCONNECTED);
	OK(dat_ep_free(b.ep));
}

#define QUALS	64

static void chosen_qualifiers(void)
{
	DAT_CONN_QUAL qual[QUALS];
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE requests;
	int i, j;

	if (!evd_new(&side_b, 4, DAT_EVD_CR_FLAG, &requests))
		return;
	for (i = 0; i < QUALS; i++) {
		if (!OK(dat_psp_create_any(side_b.ia, &qual[i], requests,
					   DAT_PSP_CONSUMER_FLAG, &psp)) ||
		    !CHECK(qual[i] >= 1024 && qual[i] <= 65535))
			return;
		for (j = 0; j < i; j++)
			if (!CHECK(qual[i] != qual[j]))
				return;
	}
	IS(dat_psp_create(side_b.ia, qual[0], requests, DAT_PSP_CONSUMER_FLAG,
			  &psp), DAT_CONN_QUAL_IN_USE, 0);
}

/* Above the ports.  OpenFabrics' provider makes the same port of both, and no other. */
#define LONG_QUAL	0x10000000007ULL
#define LONG_QUAL_TOO	(LONG_QUAL + 32001)
#define THEIR_PORT	54653

/* A service point listens at the first one.  By the name @qual it is met, too. */
static void meet_at(struct listener *listener, DAT_CONN_QUAL qual)
{
	struct node a = {}, b = {};
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !start_connect(&a, qual) || !next_request(listener, &cr) ||
	    !OK(dat_cr_handoff(cr, qual)) || !next_request(listener, &cr) ||
	    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) || !established(&a, &b))
		return;
	if (OK(dat_ep_query(a.ep, DAT_EP_FIELD_REMOTE_PORT_QUAL, &param)))
		CHECK_EQ(param.remote_port_qual, qual);
	if (OK(dat_ep_query(b.ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param)))
		CHECK_EQ(param.local_port_qual, LONG_QUAL);
	node_free(&a);
	node_free(&b);
}

static void long_qualifiers(void)
{
	struct listener listener = {};
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_HANDLE out;

	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_psp_free(listener.psp)) ||
	    !OK(dat_psp_create(side_b.ia, LONG_QUAL, listener.requests,
			       DAT_PSP_CONSUMER_FLAG, &listener.psp)))
		return;
	listener.qual = LONG_QUAL;
	if (OK(dat_psp_query(listener.psp, DAT_PSP_FIELD_ALL, &psp_param)))
		CHECK_EQ(psp_param.conn_qual, LONG_QUAL);
	IS(dat_psp_create(side_b.ia, LONG_QUAL_TOO, listener.requests,
			  DAT_PSP_CONSUMER_FLAG, &out), DAT_CONN_QUAL_IN_USE, 0);
	IS(dat_rsp_create(side_b.ia, THEIR_PORT, DAT_HANDLE_NULL, listener.requests,
			  &out), DAT_CONN_QUAL_IN_USE, 0);
	meet_at(&listener, LONG_QUAL);
	meet_at(&listener, LONG_QUAL_TOO);
	meet_at(&listener, THEIR_PORT);
	OK(dat_psp_free(listener.psp));
	listener.psp = NULL;

	if (OK(dat_rsp_create(side_b.ia, LONG_QUAL_TOO, DAT_HANDLE_NULL,
			      listener.requests, &out)) &&
	    OK(dat_rsp_query(out, DAT_RSP_FIELD_ALL, &rsp_param)))
		CHECK_EQ(rsp_param.conn_qual, LONG_QUAL_TOO);
}

#define ASKED_QUAL	20200

struct asker {
	struct node node;
	u64 stop;
	/* Attempts that have ended. */
	u64 ended;
};

/* Asks all the time, so that a request may come before its listener is known. */
static int asking_thread(void *arg)
{
	struct asker *asker = arg;
	struct node *a = &asker->node;

	while (!failed() && !read_u64(&asker->stop))
		if (!start_connect(a, ASKED_QUAL) || !next_conn(a) ||
		    !add_u64(&asker->ended, 1) || !OK(dat_ep_reset(a->ep)))
			break;
	return 0;
}

/*
 * One that came before the PSP was freed may take a moment to be seen.  The attempt that
 * was under way then is over when two more have ended: the first of them may have had
 * its answer before.
 */
static bool reject_waiting(struct listener *listener, struct asker *asker)
{
	u64 enough = read_u64(&asker->ended) + 2, end = deadline();
	DAT_EVENT event;

	while (read_u64(&asker->ended) < enough) {
		if (event_within(listener->requests, 1, &event)) {
			if (!OK(dat_cr_reject(cr_of(&event))))
				return false;
		} else if (now_us() > end) {
			return FAIL("an attempt does not end");
		}
	}
	return true;
}

static void request_before_return(void)
{
	struct asker *asker = scenario_alloc(sizeof(*asker));
	struct listener listener = { .qual = ASKED_QUAL };
	struct thread thread;
	DAT_CR_HANDLE cr;
	int i;

	if (!asker || !node_new(&asker->node, &side_a, THREE_EVDS, NULL) ||
	    !evd_new(&side_b, 8, DAT_EVD_CR_FLAG, &listener.requests) ||
	    !thread_start(&thread, asking_thread, asker))
		return;
	for (i = 0; i < 20 && !failed(); i++)
		if (!OK(dat_psp_create(side_b.ia, listener.qual,
				       listener.requests, DAT_PSP_CONSUMER_FLAG,
				       &listener.psp)) ||
		    !next_request(&listener, &cr) || !OK(dat_cr_reject(cr)) ||
		    !OK(dat_psp_free(listener.psp)) ||
		    !reject_waiting(&listener, asker))
			break;
	set_u64(&asker->stop, 1);
	thread_join(&thread);
}

/* ---- reserved service points -------------------------------------------- */

/* An EP of side b reserved on the listener's qualifier; its PSP is gone. */
static bool reserve(struct listener *listener, DAT_EP_HANDLE ep)
{
	if (!listener->requests &&
	    (!listener_new(listener, DAT_PSP_CONSUMER_FLAG) ||
	     !OK(dat_psp_free(listener->psp))))
		return false;
	return OK(dat_rsp_create(side_b.ia, listener->qual, ep,
				 listener->requests, &listener->psp));
}

/* What may be done with an EP that is not the consumer's (P30). */
static bool reserved_calls(struct node *node, DAT_EP_STATE state,
			   DAT_RETURN refusal)
{
	DAT_EP_PARAM param = {};
	DAT_COUNT allocated, span;
	DAT_RETURN ret;

	param.pz_handle = node->side->pz;
	EXPECT(dat_ep_modify(node->ep, DAT_EP_FIELD_PZ_HANDLE, &param), refusal);
	param.recv_evd_handle = node->recv;
	param.ep_attr.max_request_dtos = NODE_REQUESTS;
	OK(dat_ep_modify(node->ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	OK(dat_ep_query(node->ep, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(param.ep_state, state);
	ret = dat_ep_recv_query(node->ep, &allocated, &span);
	CHECK(!ret || DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED);
	return state_is(node->ep, state);
}

/* One request, for this EP, and never another one; the handle lasts. */
static void reserved_accept(void)
{
	struct node askers[2] = {}, b = {}, other = {};
	struct listener listener = {};
	DAT_CR_PARAM cr_param;
	DAT_RSP_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	if (!askers_new(askers, 2) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !node_new(&other, &side_b, THREE_EVDS, NULL) ||
	    !OK(node_recv(&b, 0, 64, 1)) || !reserve(&listener, b.ep) ||
	    !OK(node_recv(&b, 0, 64, 2)) ||
	    !reserved_calls(&b, stages[1].state, stages[1].refusal) ||
	    !start_connect(&askers[0], listener.qual) ||
	    !next_request(&listener, &cr) ||
	    !reserved_calls(&b, stages[2].state, stages[2].refusal) ||
	    !OK(node_recv(&b, 0, 64, 3)))
		return;
	if (OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param)))
		CHECK(cr_param.local_ep_handle == b.ep);
	/* P24: it accepts with no other, and not even with itself by name. */
	BAD_HANDLE(dat_cr_accept(cr, b.ep, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, other.ep, 0, NULL), EP);
	/* P22 */
	if (!start_connect(&askers[1], listener.qual) ||
	    !want_conn(askers[1].conn, askers[1].ep, NOT_BY_PEER) ||
	    !OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL)) ||
	    !established(&askers[0], &b) || !message(&askers[0], &b, 1) ||
	    !message(&askers[0], &b, 2) || !message(&askers[0], &b, 3) ||
	    !OK(dat_ep_reset(askers[1].ep)) ||
	    !start_connect(&askers[1], listener.qual) ||
	    !want_conn(askers[1].conn, askers[1].ep, NOT_BY_PEER))
		return;
	/* P29: valid, and in the way of others, until it is freed. */
	OK(dat_rsp_query(listener.psp, DAT_RSP_FIELD_ALL, &param));
	CHECK_EQ(param.conn_qual, listener.qual);
	IS(dat_psp_create(side_b.ia, listener.qual, listener.requests,
			  DAT_PSP_CONSUMER_FLAG, &psp), DAT_CONN_QUAL_IN_USE, 0);
	OK(dat_rsp_free(listener.psp));
	BAD_HANDLE(dat_rsp_free(listener.psp), RSP);
	BAD_HANDLE(dat_rsp_query(listener.psp, DAT_RSP_FIELD_ALL, &param), RSP);
	OK(dat_psp_create(side_b.ia, listener.qual, listener.requests,
			  DAT_PSP_CONSUMER_FLAG, &psp));
	state_is(b.ep, DAT_EP_STATE_CONNECTED);
	nothing_more(b.conn);
}

/* The EP comes back as it was, with its receives; the RSP has had its one. */
static void reserved_reject(void)
{
	struct listener listener = {}, again = {};
	struct node a = {}, b = {};
	int i;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !OK(node_recv(&b, 0, 64, 1)) || !reserve(&listener, b.ep) ||
	    !start_connect(&a, listener.qual) || !reject(&listener, &a) ||
	    !state_is(b.ep, DAT_EP_STATE_UNCONNECTED) ||
	    !nothing_more(b.recv) || !nothing_more(b.conn))
		return;
	for (i = 0; i < 2; i++)
		if (!OK(dat_ep_reset(a.ep)) ||
		    !start_connect(&a, listener.qual) ||
		    !want_conn(a.conn, a.ep, NOT_BY_PEER))
			return;
	/* Reserved by another one, while the first still has its handle. */
	if (!reserve(&again, b.ep) || !OK(dat_rsp_free(listener.psp)) ||
	    !state_is(b.ep, DAT_EP_STATE_RESERVED) ||
	    !OK(dat_rsp_free(again.psp)) ||
	    !state_is(b.ep, DAT_EP_STATE_UNCONNECTED) ||
	    !OK(dat_ep_reset(a.ep)) || !reserve(&listener, b.ep))
		return;
	OK(dat_rsp_free(listener.psp));
	if (listener_new(&again, DAT_PSP_CONSUMER_FLAG) &&
	    pair_connect(&a, &b, &again))
		message(&a, &b, 1);
}

/* Freed after the request came: EP and CR stay, for accept and for reject. */
static void reserved_freed(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	int i;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !OK(node_recv(&b, 0, 64, 1)))
		return;
	for (i = 0; i < 2; i++) {
		if (!reserve(&listener, b.ep) ||
		    !start_connect(&a, listener.qual) ||
		    !next_request(&listener, &cr) ||
		    !OK(dat_rsp_free(listener.psp)) ||
		    !state_is(b.ep,
			      DAT_EP_STATE_PASSIVE_CONNECTION_PENDING))
			return;
		if (!i) {
			OK(dat_cr_reject(cr));
			if (!want_conn(a.conn, a.ep, REJECTED) ||
			    !OK(dat_ep_reset(a.ep)))
				return;
		}
	}
	if (OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL)) &&
	    established(&a, &b))
		message(&a, &b, 1);
}

/* The provider makes the EP when the request comes (P21, P9). */
static void reserved_without_ep(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_RSP_PARAM param;
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !reserve(&listener, DAT_HANDLE_NULL) ||
	    !OK(dat_rsp_query(listener.psp, DAT_RSP_FIELD_ALL, &param)))
		return;
	CHECK(param.ep_handle == DAT_HANDLE_NULL);
	if (!start_connect(&a, listener.qual) || !next_request(&listener, &cr) ||
	    !take_ep(&b, cr) ||
	    !OK(dat_rsp_query(listener.psp, DAT_RSP_FIELD_ALL, &param)))
		return;
	CHECK(param.ep_handle == b.ep);
	BAD_STATE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP_NOTREADY);
	if (adopt(&b) && OK(dat_rsp_free(listener.psp)) &&
	    state_is(b.ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) &&
	    OK(node_recv(&b, 0, 64, 1)) &&
	    OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL)) &&
	    established(&a, &b))
		message(&a, &b, 1);
}

/* P28: either way, but not a bit of both. */
static bool rsp_race_once(struct sp_race *r, struct node *a, struct node *b)
{
	DAT_EP_STATE state;
	DAT_EVENT event;
	bool ok;

	if (!reserve(&r->listener, b->ep) || !barrier_wait(&r->barrier) ||
	    !start_connect(a, r->listener.qual) ||
	    !barrier_wait(&r->barrier) ||
	    !OK(dat_ep_get_status(b->ep, &state, NULL, NULL)))
		return false;
	if (state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
		ok = reject(&r->listener, a);
	else
		ok = CHECK_EQ(state, DAT_EP_STATE_UNCONNECTED) &&
		     want_conn(a->conn, a->ep, NOT_BY_PEER);
	return ok && state_is(b->ep, DAT_EP_STATE_UNCONNECTED) &&
	       CHECK(!event_within(r->listener.requests, 0, &event)) &&
	       OK(dat_ep_reset(a->ep));
}

static void rsp_race(void)
{
	struct sp_race *r = scenario_alloc(sizeof(*r));
	struct node a = {}, b = {};
	struct thread thread;
	int i;

	if (!r || !node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL))
		return;
	r->barrier.n = 2;
	r->reserved = true;
	if (!thread_start(&thread, sp_race_thread, r))
		return;
	for (i = 0; i < ROUNDS && rsp_race_once(r, &a, &b); i++)
		;
	thread_join(&thread);
}

/* ---- the active side gives up ------------------------------------------- */

enum give_up { CANCEL, FREE, TIMER, CLOSE, NR_GIVE_UPS };
enum owner { CONSUMER, PROVIDER, RESERVED, NR_OWNERS };

static bool give_up(struct node *a, enum give_up how)
{
	switch (how) {
	case CANCEL:
		return OK(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG)) &&
		       want_conn(a->conn, a->ep, DISCONNECTED);
	case FREE:
		return OK(dat_ep_free(a->ep));
	case TIMER:
		return want_conn(a->conn, a->ep,
				 DAT_CONNECTION_EVENT_TIMED_OUT);
	default:
		side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
		return !failed() && side_open(&side_a);
	}
}

/* The request, with a limit that ends after it came in. */
static bool ask(struct node *a, struct listener *listener, enum give_up how,
		DAT_CR_HANDLE *cr)
{
	if (how != TIMER)
		return start_connect(a, listener->qual) &&
		       next_request(listener, cr);
	return OK(dat_ep_connect(a->ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
				 listener->qual, limit_of_request(1500000), 0, NULL,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG)) &&
	       next_request(listener, cr);
}

/* The CR and its EP wait as if nothing had happened, and can be answered. */
static bool given_up(enum give_up how, enum owner owner, bool accept)
{
	struct listener listener = {};
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	struct node a = {}, b = {};
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL))
		return false;
	if (owner == RESERVED ? !reserve(&listener, b.ep) :
	    !listener_new(&listener, owner == PROVIDER ? DAT_PSP_PROVIDER_FLAG :
							 DAT_PSP_CONSUMER_FLAG))
		return false;
	if (!ask(&a, &listener, how, &cr))
		return false;
	if (owner == PROVIDER) {
		state = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
		if (!take_ep(&b, cr) || !adopt(&b))
			return false;
	} else if (owner == RESERVED) {
		state = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;
	}
	if (!OK(node_recv(&b, 0, 64, 1)) || !give_up(&a, how) ||
	    !state_is(b.ep, state) || !nothing_more(b.conn) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
		return false;
	if (!accept)
		return OK(dat_cr_reject(cr)) &&
		       BAD_HANDLE(dat_cr_reject(cr), CR) &&
		       (owner == PROVIDER ?
			BAD_HANDLE(dat_ep_reset(b.ep), EP) :
			state_is(b.ep, DAT_EP_STATE_UNCONNECTED) &&
			nothing_more(b.recv));
	return OK(dat_cr_accept(cr, owner == CONSUMER ? b.ep : DAT_HANDLE_NULL,
				0, NULL)) &&
	       want_conn(b.conn, b.ep, ACCEPT_ERROR) &&
	       state_is(b.ep, DAT_EP_STATE_DISCONNECTED) &&
	       want_done(b.recv, b.ep, 1, DAT_DTO_ERR_FLUSHED) &&
	       nothing_more(b.conn) && OK(dat_ep_reset(b.ep)) &&
	       OK(dat_ep_free(b.ep));
}

static void all_give_up(bool accept)
{
	enum give_up how;
	enum owner owner;

	for (how = 0; how < NR_GIVE_UPS; how++)
		for (owner = 0; owner < NR_OWNERS; owner++)
			if (!given_up(how, owner, accept)) {
				FAIL("given up %d, owner %d", how, owner);
				return;
			}
}

static void given_up_accept(void)
{
	all_give_up(true);
}

static void given_up_reject(void)
{
	all_give_up(false);
}

/* ---- accept ------------------------------------------------------------- */

/* Every way to be refused, and the request is as good as before. */
static void accept_refused(void)
{
	struct node a = {}, b = {}, foreign = {}, bare = {}, busy = {};
	struct listener listener = {};
	u8 hello[16], welcome[16];
	DAT_CONNECTION_EVENT_DATA *est;
	DAT_CR_PARAM before, after;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	memset(hello, 1, sizeof(hello));
	memset(welcome, 2, sizeof(welcome));
	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !node_new(&busy, &side_b, THREE_EVDS, NULL) ||
	    !node_new(&foreign, &side_a, THREE_EVDS, NULL) ||
	    !OK(dat_ep_create(side_b.ia, side_b.pz, DAT_HANDLE_NULL,
			      DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
			      &bare.ep)) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !pair_connect(&foreign, &busy, &listener) ||
	    !OK(node_recv(&b, 0, 64, 1)) ||
	    !OK(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
			       listener.qual, CONNECT_US, sizeof(hello), hello,
			       DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG)) ||
	    !next_request(&listener, &cr) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &before)))
		return;
	BAD_HANDLE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, foreign.ep, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, b.recv, 0, NULL), EP);
	BAD_STATE(dat_cr_accept(cr, busy.ep, 0, NULL), EP_CONNECTED);
	BAD_STATE(dat_cr_accept(cr, bare.ep, 0, NULL), EP_NOTREADY);
	BAD_ARG(dat_cr_accept(cr, b.ep, -1, welcome), 3);
	BAD_ARG(dat_cr_accept(cr, b.ep, side_b.max_private_data + 1, welcome),
		3);
	BAD_ARG(dat_cr_accept(cr, b.ep, 1, NULL), 4);
	state_is(b.ep, DAT_EP_STATE_UNCONNECTED);
	state_is(a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &after));
	CHECK(after.private_data_size == before.private_data_size &&
	      !memcmp(after.private_data, hello, sizeof(hello)));
	CHECK_EQ(after.remote_port_qual, before.remote_port_qual);
	if (!OK(dat_cr_accept(cr, b.ep, sizeof(welcome), welcome)) ||
	    !want_event(a.conn, ESTABLISHED, &event) ||
	    !want_conn(b.conn, b.ep, ESTABLISHED))
		return;
	est = &event.event_data.connect_event_data;
	CHECK(est->private_data_size >= (DAT_COUNT)sizeof(welcome) &&
	      !memcmp(est->private_data, welcome, sizeof(welcome)));
	/* P45: it is gone now. */
	BAD_HANDLE(dat_cr_query(cr, DAT_CR_FIELD_ALL, &after), CR);
	BAD_HANDLE(dat_cr_accept(cr, b.ep, 0, NULL), CR);
	BAD_HANDLE(dat_cr_reject(cr), CR);
	message(&a, &b, 1);
	/* P55: readable until the EP is reset. */
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	CHECK(!memcmp(est->private_data, welcome, sizeof(welcome)));
	if (want_conn(a.conn, a.ep, DISCONNECTED))
		CHECK(!memcmp(est->private_data, welcome, sizeof(welcome)));
}

#define MANY	8

/* Requests of one PSP, answered from the last to the first. */
static void any_order(void)
{
	struct node a[MANY] = {}, b[MANY] = {};
	struct listener listener = {};
	DAT_CR_HANDLE cr[MANY];
	int i;

	if (!askers_new(a, MANY) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < MANY; i++)
		if (!node_new(&b[i], &side_b, THREE_EVDS, NULL) ||
		    !start_connect(&a[i], listener.qual) ||
		    !next_request(&listener, &cr[i]))
			return;
	for (i = MANY - 1; i >= 0; i--) {
		if (i % 3 == 0) {
			OK(dat_cr_reject(cr[i]));
			want_conn(a[i].conn, a[i].ep, REJECTED);
			continue;
		}
		OK(node_recv(&b[i], 0, 64, 1));
		OK(dat_cr_accept(cr[i], b[i].ep, 0, NULL));
		if (!established(&a[i], &b[i]))
			return;
		/* P61: an EP is accepted with once. */
		BAD_STATE(dat_cr_accept(cr[0], b[i].ep, 0, NULL),
			  EP_CONNECTED);
		if (!message(&a[i], &b[i], 1))
			return;
	}
}

/* P58: the active side sends as soon as it may. */
static void data_comes_first(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	if (!node_new(&a, &side_a, ONE_EVD, NULL) ||
	    !node_new(&b, &side_b, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < ROUNDS; i++) {
		if (!OK(node_recv(&b, 0, 64, i)) ||
		    !start_connect(&a, listener.qual) ||
		    !next_request(&listener, &cr) ||
		    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) ||
		    !want_event(a.conn, ESTABLISHED, &event) ||
		    !OK(node_send(&a, 0, 64, i, 0)) ||
		    !want_conn(b.conn, b.ep, ESTABLISHED) ||
		    !want_done(b.conn, b.ep, i, DAT_DTO_SUCCESS) ||
		    !want_done(a.conn, a.ep, i, DAT_DTO_SUCCESS) ||
		    !OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
		    !want_conn(a.conn, a.ep, DISCONNECTED) ||
		    !want_conn(b.conn, b.ep, DISCONNECTED) ||
		    !OK(dat_ep_reset(a.ep)) || !OK(dat_ep_reset(b.ep)))
			return;
	}
}

/* And if what should come before the data never came. */
static void confirmation_lost(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (!node_new(&a, &side_a, ONE_EVD, NULL) ||
	    !node_new(&b, &side_b, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(node_recv(&b, 0, 64, 1)) || !start_connect(&a, listener.qual) ||
	    !next_request(&listener, &cr) || !link_down(&side_a) ||
	    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) ||
	    !want_event(a.conn, ESTABLISHED, &event) ||
	    !state_is(b.ep, DAT_EP_STATE_COMPLETION_PENDING) ||
	    !link_up(&side_a) || !OK(node_send(&a, 0, 64, 2, 0)) ||
	    !want_conn(b.conn, b.ep, ESTABLISHED) ||
	    !want_done(b.conn, b.ep, 1, DAT_DTO_SUCCESS))
		return;
	/* Both are whole: the end comes over as ever. */
	want_done(a.conn, a.ep, 2, DAT_DTO_SUCCESS);
	OK(dat_ep_disconnect(b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(b.conn, b.ep, DISCONNECTED);
	want_conn(a.conn, a.ep, DISCONNECTED);
}

/* P59: once accepted with, the provider's EP is like any other. */
static void providers_ep_stays(void)
{
	struct listener provider = {}, consumer = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	int i;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&provider, DAT_PSP_PROVIDER_FLAG) ||
	    !listener_new(&consumer, DAT_PSP_CONSUMER_FLAG) ||
	    !start_connect(&a, provider.qual) ||
	    !next_request(&provider, &cr) || !take_ep(&b, cr) || !adopt(&b) ||
	    !OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
	    !want_conn(a.conn, a.ep, DISCONNECTED) ||
	    !OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL)) ||
	    !accepted_in_vain(&b))
		return;
	for (i = 0; i < 2; i++)
		if (!OK(dat_ep_reset(a.ep)) || !OK(dat_ep_reset(b.ep)) ||
		    !OK(node_recv(&b, 0, 64, 1)) ||
		    !pair_connect(&a, &b, &consumer) || !message(&a, &b, 1) ||
		    !OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
		    !want_conn(a.conn, a.ep, DISCONNECTED) ||
		    !want_conn(b.conn, b.ep, DISCONNECTED))
			return;
	OK(dat_ep_free(b.ep));
}

/* P47: dequeued or not, of a PSP and of a RSP, and without a mark. */
static void pending_at_close(void)
{
	struct listener psp = {}, rsp = {};
	struct node askers[4] = {}, b = {};
	DAT_CR_HANDLE cr;
	int i;

	if (!askers_new(askers, 4) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&psp, DAT_PSP_CONSUMER_FLAG) ||
	    !reserve(&rsp, b.ep))
		return;
	for (i = 0; i < 4; i++)
		if (!start_connect(&askers[i], i == 3 ? rsp.qual : psp.qual))
			return;
	if (!next_request(&psp, &cr) || !next_request(&rsp, &cr))
		return;
	side_close(&side_b, DAT_CLOSE_ABRUPT_FLAG);
	for (i = 0; i < 4; i++)
		want_conn(askers[i].conn, askers[i].ep, NOT_BY_PEER);
}

static const struct scenario scenarios[] = {
	SCENARIO("P3 P7 E67 two PSPs share a backlog; dequeueing makes room", backlog),
	SCENARIO("P8 P9 P11 P12 P14 P15 a PSP is freed over its requests",
		 psp_freed),
	SCENARIO("P6 P11 T17 requests in flight, then nobody listens",
		 psp_freed_undequeued),
	SCENARIO("P13 a PSP is freed while requests come", psp_race),
	SCENARIO("P15 P44 P71 E60 the CR-EVD goes with its requests", evd_freed),
	SCENARIO("P4 P16 sixty-four qualifiers chosen", chosen_qualifiers),
	SCENARIO("P4 P17 P80 qualifiers above the ports", long_qualifiers),
	SCENARIO("P5 P14 a request may come before psp_create returns",
		 request_before_return),
	SCENARIO("P20 P22 P23 P24 P29 P30 P31 T3 T5 T11 a RSP, its one request accepted",
		 reserved_accept, .srq = SRQ_B),
	SCENARIO("P22 P25 P26 P71 T4 T6 a RSP, its one request rejected",
		 reserved_reject),
	SCENARIO("P27 P31 a RSP is freed over its request", reserved_freed),
	SCENARIO("P9 P21 P27 P51 T2 T12 a RSP without an EP", reserved_without_ep),
	SCENARIO("P28 a RSP is freed while its request comes", rsp_race),
	SCENARIO_IB("P44 P53 P56 P57 P59 T23 the active side has given up: accept",
		    given_up_accept),
	SCENARIO_IB("P44 P71 P72 T8 the active side has given up: reject",
		    given_up_reject),
	SCENARIO("P42 P43 P45 P50..P55 accept refused, and tried again",
		 accept_refused),
	SCENARIO("P46 P61 P70 requests answered in any order", any_order),
	SCENARIO("P58 T22 ESTABLISHED before the first receive", data_comes_first,
		 .srq = SRQ_B),
	SCENARIO_IB("P58 T22 the first message in the place of the confirmation",
		    confirmation_lost),
	SCENARIO("P59 T23 the provider's EP survives a failed accept, and lives",
		 providers_ep_stays),
	SCENARIO("P47 requests that wait when the IA is closed", pending_at_close),
};

SCENARIO_TABLE(passive_table);
