// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_cr_handoff: a request goes on to another service point, and the active side
 * does not notice.
 */
#include "memory.h"
#include "stage.h"

#define CR_ALL	((DAT_CR_PARAM_MASK)(DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR | \
				     DAT_CR_FIELD_REMOTE_PORT_QUAL | \
				     DAT_CR_FIELD_PRIVATE_DATA_SIZE | \
				     DAT_CR_FIELD_PRIVATE_DATA | \
				     DAT_CR_FIELD_LOCAL_EP_HANDLE))

#define HELLO		"to whom it may concern"

/* Two listeners on side b, and a request at the first one. */
struct play {
	struct node a;
	struct node b;
	struct listener first;
	struct listener second;
	DAT_CR_HANDLE cr;
};

static bool start_hello(struct node *node, DAT_CONN_QUAL qual)
{
	return OK(dat_ep_connect(node->ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
				 qual, CONNECT_US, sizeof(HELLO), HELLO,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
}

static bool play_new(struct play *play, DAT_PSP_FLAGS first,
		     DAT_PSP_FLAGS second)
{
	return node_new(&play->a, &side_a, THREE_EVDS, NULL) &&
	       node_new(&play->b, &side_b, THREE_EVDS, NULL) &&
	       listener_new(&play->first, first) &&
	       listener_new(&play->second, second) &&
	       start_hello(&play->a, play->first.qual) &&
	       next_request(&play->first, &play->cr);
}

/* @node's EP connects to side b's by way of @cr, and a message goes through. */
static bool accepted(struct node *a, struct node *b, DAT_CR_HANDLE cr,
		     DAT_EP_HANDLE ep)
{
	return OK(node_recv(b, 0, 64, STAGE_RECV)) &&
	       OK(dat_cr_accept(cr, ep, 0, NULL)) && established(a, b) &&
	       message(a, b, STAGE_RECV);
}

static bool is_dead(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	return BAD_HANDLE(dat_cr_query(cr, CR_ALL, &param), CR) &&
	       BAD_HANDLE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), CR) &&
	       BAD_HANDLE(dat_cr_reject(cr), CR) &&
	       BAD_HANDLE(dat_cr_handoff(cr, 1), CR);
}

static void once(void)
{
	DAT_CR_PARAM before, after;
	struct play play = {};
	DAT_CR_HANDLE cr;

	if (!play_new(&play, DAT_PSP_CONSUMER_FLAG, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_cr_query(play.cr, CR_ALL, &before)) ||
	    !OK(dat_cr_handoff(play.cr, play.second.qual)) ||
	    !is_dead(play.cr) || !next_request(&play.second, &cr) ||
	    !OK(dat_cr_query(cr, CR_ALL, &after)))
		return;
	same_address(after.remote_ia_address_ptr, &side_a);
	CHECK_EQ(after.remote_port_qual, before.remote_port_qual);
	CHECK(after.private_data_size >= (DAT_COUNT)sizeof(HELLO) &&
	      !memcmp(after.private_data, HELLO, sizeof(HELLO)));
	CHECK(after.local_ep_handle == DAT_HANDLE_NULL);
	nothing_more(play.a.conn);
	state_is(play.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	accepted(&play.a, &play.b, cr, play.b.ep);
	silent(play.first.requests);
}

/* From one to the other many times, and to itself. */
static void many(void)
{
	struct play play = {};
	struct listener *at;
	int i;

	if (!play_new(&play, DAT_PSP_CONSUMER_FLAG, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < 300; i++) {
		at = i % 3 ? &play.second : &play.first;
		if (!OK(dat_cr_handoff(play.cr, at->qual)) ||
		    !next_request(at, &play.cr))
			return;
	}
	accepted(&play.a, &play.b, play.cr, play.b.ep);
}

static void nobody(void)
{
	static const DAT_CONN_QUAL wrong[] = { 0, 65536, ~0ULL, 1 };
	struct play play = {};
	unsigned int i;

	if (!play_new(&play, DAT_PSP_CONSUMER_FLAG, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		BAD_ARG(dat_cr_handoff(play.cr, wrong[i]), 2);
	OK(dat_psp_free(play.second.psp));
	BAD_ARG(dat_cr_handoff(play.cr, play.second.qual), 2);
	accepted(&play.a, &play.b, play.cr, play.b.ep);
}

/* A tentative EP goes; where the provider makes them, there is a new one. */
static void tentative(void)
{
	DAT_EP_HANDLE first = DAT_HANDLE_NULL;
	struct play play = {};
	DAT_CR_PARAM param;
	DAT_EP_STATE state;
	DAT_CR_HANDLE cr;

	if (!play_new(&play, DAT_PSP_PROVIDER_FLAG, DAT_PSP_PROVIDER_FLAG) ||
	    !OK(dat_cr_query(play.cr, CR_ALL, &param)))
		return;
	first = param.local_ep_handle;
	if (!state_is(first, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) ||
	    !OK(dat_cr_handoff(play.cr, play.second.qual)) ||
	    !BAD_HANDLE(dat_ep_get_status(first, &state, NULL, NULL), EP) ||
	    !next_request(&play.second, &cr) ||
	    !OK(dat_cr_query(cr, CR_ALL, &param)))
		return;
	CHECK(param.local_ep_handle != DAT_HANDLE_NULL &&
	      param.local_ep_handle != first);
	/* Its own EP, in the place of the node's. */
	OK(dat_ep_free(play.b.ep));
	play.b.ep = param.local_ep_handle;
	if (adopt(&play.b))
		accepted(&play.a, &play.b, cr, DAT_HANDLE_NULL);
}

static bool rsp_new(struct listener *listener, DAT_EP_HANDLE ep,
		    DAT_RSP_HANDLE *rsp)
{
	/* The qualifier of a PSP that was, so that it is free. */
	if (!listener_new(listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_psp_free(listener->psp)))
		return false;
	listener->psp = NULL;
	return OK(dat_rsp_create(side_b.ia, listener->qual, ep,
				 listener->requests, rsp));
}

static bool rsp_request(struct listener *listener, DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;

	if (!want_event(listener->requests, DAT_CONNECTION_REQUEST_EVENT,
			&event))
		return false;
	*cr = event.event_data.cr_arrival_event_data.cr_handle;
	return CHECK_EQ(event.event_data.cr_arrival_event_data.conn_qual,
			listener->qual);
}

static void from_rsp(void)
{
	struct play play = {};
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	if (!node_new(&play.a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&play.b, &side_b, THREE_EVDS, NULL) ||
	    !OK(node_recv(&play.b, 0, 64, STAGE_RECV)) ||
	    !rsp_new(&play.first, play.b.ep, &rsp) ||
	    !listener_new(&play.second, DAT_PSP_CONSUMER_FLAG) ||
	    !start_hello(&play.a, play.first.qual) ||
	    !rsp_request(&play.first, &play.cr) ||
	    !state_is(play.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) ||
	    /* It took its request, and listens no more. */
	    !BAD_ARG(dat_cr_handoff(play.cr, play.first.qual), 2) ||
	    !OK(dat_cr_handoff(play.cr, play.second.qual)) ||
	    !state_is(play.b.ep, DAT_EP_STATE_UNCONNECTED) ||
	    !next_request(&play.second, &cr))
		return;
	/* With the receive that was posted before all this. */
	if (OK(dat_cr_accept(cr, play.b.ep, 0, NULL)) &&
	    established(&play.a, &play.b))
		message(&play.a, &play.b, STAGE_RECV);
}

static void to_rsp(void)
{
	struct node other = {};
	struct play play = {};
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	if (!play_new(&play, DAT_PSP_CONSUMER_FLAG, DAT_PSP_CONSUMER_FLAG) ||
	    !node_new(&other, &side_a, THREE_EVDS, NULL))
		return;
	listener_free(&play.second);
	if (!rsp_new(&play.second, play.b.ep, &rsp) ||
	    !OK(dat_cr_handoff(play.cr, play.second.qual)) ||
	    !rsp_request(&play.second, &cr) ||
	    !state_is(play.b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING))
		return;
	/* An RSP takes one request, so nobody listens there any more. */
	if (start_hello(&other, play.first.qual) &&
	    next_request(&play.first, &play.cr)) {
		BAD_ARG(dat_cr_handoff(play.cr, play.second.qual), 2);
		OK(dat_cr_reject(play.cr));
		want_conn(other.conn, other.ep,
			  DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	accepted(&play.a, &play.b, cr, DAT_HANDLE_NULL);
}

static void full(void)
{
	struct node other = {};
	struct play play = {};
	DAT_CR_HANDLE cr;
	DAT_COUNT i;
	DAT_EVD_PARAM evd;

	/* The second listener's backlog is as long as its EVD. */
	if (!node_new(&play.a, &side_a, THREE_EVDS, NULL) ||
	    !listener_new(&play.first, DAT_PSP_CONSUMER_FLAG) ||
	    !evd_new(&side_b, 1, DAT_EVD_CR_FLAG, &play.second.requests) ||
	    !OK(dat_psp_create_any(side_b.ia, &play.second.qual,
				   play.second.requests, DAT_PSP_CONSUMER_FLAG,
				   &play.second.psp)) ||
	    !OK(dat_evd_query(play.second.requests, DAT_EVD_FIELD_EVD_QLEN,
			      &evd)))
		return;
	for (i = 0; i < evd.evd_qlen; i++) {
		struct node filler = {};

		if (!node_new(&filler, &side_a, ONE_EVD, NULL) ||
		    !start_hello(&filler, play.first.qual) ||
		    !next_request(&play.first, &cr) ||
		    !OK(dat_cr_handoff(cr, play.second.qual)))
			return;
	}
	if (!start_hello(&play.a, play.first.qual) ||
	    !next_request(&play.first, &cr) ||
	    !OK(dat_cr_handoff(cr, play.second.qual)) || !is_dead(cr))
		return;
	want_conn(play.a.conn, play.a.ep,
		  DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* One dequeue makes room for one. */
	if (next_request(&play.second, &cr) &&
	    node_new(&other, &side_a, THREE_EVDS, NULL) &&
	    start_hello(&other, play.first.qual) &&
	    next_request(&play.first, &cr))
		OK(dat_cr_handoff(cr, play.second.qual));
	for (i = 0; i < evd.evd_qlen; i++)
		next_request(&play.second, &cr);
}

/* The active side gave up before; nobody notices until somebody accepts. */
static void gone(void)
{
	struct play play = {};
	DAT_CR_HANDLE cr;

	if (!play_new(&play, DAT_PSP_CONSUMER_FLAG, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_ep_disconnect(play.a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
	    !want_conn(play.a.conn, play.a.ep,
		       DAT_CONNECTION_EVENT_DISCONNECTED) ||
	    !OK(dat_cr_handoff(play.cr, play.second.qual)) ||
	    !next_request(&play.second, &cr))
		return;
	if (OK(dat_cr_accept(cr, play.b.ep, 0, NULL)))
		accepted_in_vain(&play.b);
}

/* A duplicate asks where the first one asked, and is handed off again. */
static void duplicate(void)
{
	struct node dup_a = {}, dup_b = {};
	struct play play = {};
	DAT_CR_HANDLE cr;

	if (!play_new(&play, DAT_PSP_CONSUMER_FLAG, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_cr_handoff(play.cr, play.second.qual)) ||
	    !next_request(&play.second, &cr) ||
	    !accepted(&play.a, &play.b, cr, play.b.ep) ||
	    !node_new(&dup_a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&dup_b, &side_b, THREE_EVDS, NULL) ||
	    !OK(dat_ep_dup_connect(dup_a.ep, play.a.ep, CONNECT_US, 0, NULL,
				   DAT_QOS_BEST_EFFORT)) ||
	    !next_request(&play.first, &cr) ||
	    !nothing_more(play.a.conn) ||
	    !OK(dat_cr_handoff(cr, play.second.qual)) ||
	    !next_request(&play.second, &cr))
		return;
	accepted(&dup_a, &dup_b, cr, dup_b.ep);
}

static const struct scenario scenarios[] = {
	SCENARIO("P80 P85 P41 P42 P45 a handoff is a request there, whole", once,
		 .srq = SRQ_B),
	SCENARIO("P80 300 handoffs, some of them to oneself", many),
	SCENARIO("P81 nobody listens there: the request is unharmed", nobody),
	SCENARIO("P82 P71 T9 a tentative endpoint goes, there is another",
		 tentative),
	SCENARIO("P82 T7 the endpoint of a spent RSP is the consumer's again",
		 from_rsp),
	SCENARIO("P84 P22 a handoff spends a RSP", to_rsp),
	SCENARIO("P83 P7 the backlog there is full: NON_PEER_REJECTED", full),
	SCENARIO("P80 P56 P44 a handoff of a request that was given up", gone),
	SCENARIO("C4 P80 a duplicate asks where the first one asked",
		 duplicate),
};

SCENARIO_TABLE(handoff_table);
