// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_ep_dup_connect: what it repeats of another EP's connection, and all the
 * ways in which it can end.
 */
#include "stage.h"

#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define ESTABLISHED	DAT_CONNECTION_EVENT_ESTABLISHED
#define NOT_BY_PEER	DAT_CONNECTION_EVENT_NON_PEER_REJECTED
#define REJECTED	DAT_CONNECTION_EVENT_PEER_REJECTED
#define TIMED_OUT	DAT_CONNECTION_EVENT_TIMED_OUT
#define UNREACHABLE	DAT_CONNECTION_EVENT_UNREACHABLE

static DAT_RETURN dup_of(struct node *node, struct node *of,
			 DAT_TIMEOUT timeout)
{
	return dat_ep_dup_connect(node->ep, of->ep, timeout, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

/* C2: whatever becomes of the other, this connection is as it was. */
static bool pair_works(struct pair *p)
{
	return nothing_more(p->a.conn) && nothing_more(p->b.conn) &&
	       state_is(p->a.ep, DAT_EP_STATE_CONNECTED) &&
	       OK(node_recv(&p->b, 0, 64, 1)) && message(&p->a, &p->b, 1) &&
	       OK(node_recv(&p->a, 0, 64, 2)) && message(&p->b, &p->a, 2);
}

/* A connected pair, and an EP that waits with two receives. */
static bool dup_new(struct pair *p, struct node *node)
{
	return pair_new(p, THREE_EVDS, NULL, NULL) &&
	       node_new(node, &side_a, THREE_EVDS, NULL);
}

static bool dup_start(struct node *node, struct node *of, DAT_TIMEOUT timeout)
{
	return OK(node_recv(node, 0, 64, 10)) &&
	       OK(node_recv(node, 64, 64, 11)) &&
	       OK(dup_of(node, of, timeout));
}

/* The attempt is over with @event, and once; the EP can be used again. */
static bool dup_failed(struct node *node, const DAT_EVENT *event,
		       DAT_EVENT_NUMBER number, DAT_EVENT_NUMBER other)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;

	if (event->event_number != number && event->event_number != other)
		return FAIL("%s came, not %s", event_name(event->event_number),
			    event_name(number));
	return CHECK(data->ep_handle == node->ep) &&
	       CHECK_EQ(data->private_data_size, 0) &&
	       state_is(node->ep, DAT_EP_STATE_DISCONNECTED) &&
	       want_done(node->recv, node->ep, 10, DAT_DTO_ERR_FLUSHED) &&
	       want_done(node->recv, node->ep, 11, DAT_DTO_ERR_FLUSHED) &&
	       nothing_more(node->conn) && OK(dat_ep_reset(node->ep));
}

/* With @number, or with @other if that is not 0. */
static bool dup_fails(struct node *node, DAT_EVENT_NUMBER number,
		      DAT_EVENT_NUMBER other)
{
	DAT_EVENT event;

	return next_event(node->conn, &event) &&
	       dup_failed(node, &event, number, other);
}

/* ---- what is repeated --------------------------------------------------- */

#define CHAIN	5

/* The request of @node, and what it must say of it. */
static bool chain_request(struct pair *p, struct node *node, u8 *data,
			  DAT_COUNT size, DAT_CR_HANDLE *cr)
{
	DAT_EP_PARAM self, first;
	DAT_CR_PARAM param;

	if (!next_request(&p->listener, cr) ||
	    !OK(dat_cr_query(*cr, DAT_CR_FIELD_ALL, &param)) ||
	    !OK(dat_ep_query(node->ep, DAT_EP_FIELD_ALL, &self)) ||
	    !OK(dat_ep_query(p->a.ep, DAT_EP_FIELD_ALL, &first)))
		return false;
	return CHECK_EQ(self.remote_port_qual, p->listener.qual) &&
	       CHECK(!memcmp(self.remote_ia_address_ptr, &side_b.addr,
			     offsetof(struct sockaddr_in, sin_port))) &&
	       CHECK_EQ(param.remote_port_qual, self.local_port_qual) &&
	       CHECK(self.local_port_qual != first.local_port_qual) &&
	       CHECK(param.private_data_size >= size) &&
	       CHECK(!memcmp(param.private_data, data, size));
}

static bool chain_accept(struct node *active, struct node *passive,
			 DAT_CR_HANDLE cr, u8 *data, DAT_COUNT size)
{
	DAT_CONNECTION_EVENT_DATA *est;
	DAT_EVENT event;

	est = &event.event_data.connect_event_data;
	return OK(dat_cr_accept(cr, passive->ep, size, data)) &&
	       want_event(active->conn, ESTABLISHED, &event) &&
	       CHECK(est->ep_handle == active->ep) &&
	       CHECK(est->private_data_size >= size) &&
	       CHECK(!memcmp(est->private_data, data, size)) &&
	       want_conn(passive->conn, passive->ep, ESTABLISHED);
}

static bool chain_link(struct pair *p, struct node *from, struct node *a,
		       struct node *b, int i)
{
	u8 hello[32], welcome[32];
	DAT_CR_HANDLE cr;

	memset(hello, i + 1, sizeof(hello));
	memset(welcome, i + 101, sizeof(welcome));
	return node_new(a, &side_a, THREE_EVDS, NULL) &&
	       node_new(b, &side_b, THREE_EVDS, NULL) &&
	       OK(dat_ep_dup_connect(a->ep, from->ep, CONNECT_US,
				     sizeof(hello), hello,
				     DAT_QOS_BEST_EFFORT)) &&
	       state_is(a->ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) &&
	       chain_request(p, a, hello, sizeof(hello), &cr) &&
	       chain_accept(a, b, cr, welcome, sizeof(welcome)) &&
	       OK(node_recv(b, 0, 64, 1)) && message(a, b, 1) && pair_works(p);
}

/* Each but the first is of the one before, which may be gone by the next. */
static void chain(void)
{
	struct node *a = scenario_alloc(CHAIN * sizeof(*a));
	struct node *b = scenario_alloc(CHAIN * sizeof(*b));
	struct pair p = {};
	int i;

	if (!a || !b || !pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < CHAIN; i++) {
		if (!chain_link(&p, i ? &a[i - 1] : &p.a, &a[i], &b[i], i))
			return;
		if (i)
			OK(dat_ep_free(a[i - 1].ep));
	}
}

/* ---- arguments ---------------------------------------------------------- */

static void arguments(void)
{
	struct node node = {}, b = {}, bare = {};
	struct pair p = {};
	u8 data[8] = {};

	if (!dup_new(&p, &node) || !node_new(&b, &side_b, THREE_EVDS, NULL))
		return;
	BAD_ARG(dup_of(&node, &p.a, 0), 3);
	BAD_ARG(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US, -1, data, 0), 4);
	BAD_ARG(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US,
				   side_a.max_private_data + 1, data, 0), 4);
	BAD_ARG(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US, 1, NULL, 0), 5);
	IS(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US, 0, NULL,
			      DAT_QOS_PREMIUM), DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_STATE(dup_of(&p.a, &p.a, CONNECT_US), EP_CONNECTED);
	BAD_STATE(dup_of(&node, &node, CONNECT_US), EP_UNCONNECTED);
	/* The passive side has no qualifier to repeat. */
	BAD_ARG(dup_of(&b, &p.b, CONNECT_US), 2);
	BAD_HANDLE(dup_of(&b, &p.a, CONNECT_US), EP);
	BAD_HANDLE(dup_of(&node, &p.b, CONNECT_US), EP);
	bare = node;
	if (OK(dat_ep_create(side_a.ia, side_a.pz, node.recv, node.request,
			     DAT_HANDLE_NULL, &node_attr, &bare.ep)))
		BAD_STATE(dup_of(&bare, &p.a, CONNECT_US), EP_NOTREADY);
	if (OK(dat_ep_create(side_a.ia, DAT_HANDLE_NULL, node.recv,
			     node.request, node.conn, &node_attr, &bare.ep)))
		BAD_STATE(dup_of(&bare, &p.a, CONNECT_US), EP_NOTREADY);
	state_is(node.ep, DAT_EP_STATE_UNCONNECTED);
	nothing_more(p.listener.requests);
	nothing_more(node.conn);
	pair_works(&p);
}

/* ---- how it ends -------------------------------------------------------- */

static void peer_rejects(void)
{
	struct node node = {};
	struct pair p = {};
	DAT_CR_HANDLE cr;

	if (dup_new(&p, &node) && dup_start(&node, &p.a, CONNECT_US) &&
	    next_request(&p.listener, &cr) && OK(dat_cr_reject(cr)) &&
	    dup_fails(&node, REJECTED, 0))
		pair_works(&p);
}

static void nobody_listens(void)
{
	struct node node = {};
	struct pair p = {};

	if (dup_new(&p, &node) && OK(dat_psp_free(p.listener.psp)) &&
	    dup_start(&node, &p.a, CONNECT_US) &&
	    dup_fails(&node, NOT_BY_PEER, 0))
		pair_works(&p);
}

/* One request more than there is room, whichever comes last. */
static void no_room(struct pair *p, struct node *nodes, DAT_COUNT room)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i, late;

	for (i = 0; i <= room; i++)
		if (!node_new(&nodes[i], &side_a, THREE_EVDS, NULL) ||
		    !dup_start(&nodes[i], &p->a, CONNECT_US))
			return;
	late = any_conn(nodes, room + 1, &event);
	/* The others have theirs: a second attempt finds none either. */
	if (late < 0 || !dup_failed(&nodes[late], &event, NOT_BY_PEER, 0) ||
	    !dup_start(&nodes[late], &p->a, CONNECT_US) ||
	    !dup_fails(&nodes[late], NOT_BY_PEER, 0))
		return;
	/* With one that is dequeued there is. */
	if (!next_request(&p->listener, &cr) ||
	    !dup_start(&nodes[late], &p->a, CONNECT_US) ||
	    !OK(dat_cr_reject(cr)))
		return;
	for (i = 0; i < room; i++)
		if (!next_request(&p->listener, &cr) || !OK(dat_cr_reject(cr)))
			return;
	for (i = 0; i <= room; i++)
		if (!dup_fails(&nodes[i], REJECTED, 0))
			return;
	pair_works(p);
}

static void backlog_full(void)
{
	DAT_EVD_PARAM param;
	struct node *nodes;
	struct pair p = {};

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_psp_free(p.listener.psp)) ||
	    !OK(dat_evd_free(p.listener.requests)) ||
	    !evd_new(&side_b, 2, DAT_EVD_CR_FLAG, &p.listener.requests) ||
	    !OK(dat_psp_create(side_b.ia, p.listener.qual, p.listener.requests,
			       DAT_PSP_CONSUMER_FLAG, &p.listener.psp)) ||
	    !OK(dat_evd_query(p.listener.requests, DAT_EVD_FIELD_ALL, &param)))
		return;
	nodes = scenario_alloc((param.evd_qlen + 1) * sizeof(*nodes));
	if (nodes)
		no_room(&p, nodes, param.evd_qlen);
}

/* Side a has to look for the address again. */
static bool forget_neighbours(void)
{
	char command[100];
	int status;

	snprintf(command, sizeof(command), "ip neigh flush dev %s", side_a.nic);
	status = run_command(command);
	return !status || FAIL("%s: exit status %d", command, status);
}

/* The host is off; the first connection may or may not have noticed by then. */
static bool host_gone(DAT_TIMEOUT timeout)
{
	struct node node = {};
	struct pair p = {};
	DAT_EVENT event;

	if (!dup_new(&p, &node) || !link_down(&side_a) || !forget_neighbours() ||
	    !dup_start(&node, &p.a, timeout))
		return false;
	/*
	 * If the neighbour made itself known again, the request has gone out: the
	 * CM gives up late, or our limit comes first.
	 */
	if (!event_within(node.conn, 4 * WAIT_MS, &event))
		return FAIL("no event came");
	if (!dup_failed(&node, &event, UNREACHABLE,
			timeout == DAT_TIMEOUT_INFINITE ? 0 : TIMED_OUT) ||
	    !link_up(&side_a))
		return false;
	return !event_within(p.a.conn, 0, &event) ||
	       CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
}

/* With and without a limit of our own. */
static void host_unreachable(void)
{
	if (host_gone(DAT_TIMEOUT_INFINITE))
		host_gone(300000);
}

/* RULING 3: no answer to a request that is out is a timeout, else unreachable. */
static bool times_out(struct pair *p, struct node *node, DAT_TIMEOUT timeout)
{
	u64 start = now_us();
	DAT_EVENT event;
	bool out;

	if (!dup_start(node, &p->a, timeout))
		return false;
	out = event_within(p->listener.requests, timeout / 1000, &event);
	if (!dup_fails(node, TIMED_OUT, out ? 0 : UNREACHABLE))
		return FAIL("timeout %llu us", (u64)timeout);
	if (now_us() - start < timeout)
		return FAIL("%llu us are over before their time", (u64)timeout);
	if (!out && !event_within(p->listener.requests, SILENCE_MS, &event))
		return true;
	return CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT) &&
	       OK(dat_cr_reject(event.event_data.cr_arrival_event_data
				.cr_handle));
}

static void timeouts(void)
{
	static const DAT_TIMEOUT times[] = {
		1, 2, 10, 100, 500, 1000, 3000, 10000, 50000, 500000, 2000000,
	};
	struct node node = {};
	struct pair p = {};
	unsigned int i;

	if (!dup_new(&p, &node))
		return;
	for (i = 0; i < ARRAY_SIZE(times); i++)
		if (!times_out(&p, &node, times[i]))
			return;
	silent(node.conn);
	pair_works(&p);
}

/* The longest time, and no limit: nothing ends it but the answer. */
static void no_timeout(void)
{
	static const DAT_TIMEOUT times[] = {
		DAT_TIMEOUT_INFINITE - 1, DAT_TIMEOUT_INFINITE,
	};
	struct node node = {};
	struct pair p = {};
	DAT_CR_HANDLE cr;
	unsigned int i;

	if (!dup_new(&p, &node))
		return;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		struct node b = {};

		if (!node_new(&b, &side_b, THREE_EVDS, NULL) ||
		    !OK(node_recv(&node, 0, 64, 1)) ||
		    !OK(dup_of(&node, &p.a, times[i])) ||
		    !next_request(&p.listener, &cr) || !silent(node.conn) ||
		    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) ||
		    !established(&node, &b) || !message(&b, &node, 1) ||
		    !pair_works(&p) || !OK(dat_ep_free(node.ep)) ||
		    !node_ep(&node, NULL))
			return;
	}
}

static void cancelled(void)
{
	struct node node = {};
	struct pair p = {};
	DAT_CR_HANDLE cr;

	if (dup_new(&p, &node) && dup_start(&node, &p.a, CONNECT_US) &&
	    next_request(&p.listener, &cr) &&
	    OK(dat_ep_disconnect(node.ep, DAT_CLOSE_GRACEFUL_FLAG)) &&
	    dup_fails(&node, DISCONNECTED, 0) && OK(dat_cr_reject(cr)))
		pair_works(&p);
}

/* ---- the other goes meanwhile ------------------------------------------- */

enum fate { ABRUPT, GRACEFUL, PEER, BREAK, FREE, NR_FATES };

static bool end_first(struct pair *p, enum fate fate)
{
	DAT_RMR_TRIPLET bad = { .rmr_context = 0x5a5a5a, .segment_length = 8 };

	switch (fate) {
	case ABRUPT:
		return OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	case GRACEFUL:
		return OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	case PEER:
		return OK(dat_ep_disconnect(p->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	case BREAK:
		return OK(node_write(&p->a, 0, 8, &bad, 0, 0));
	default:
		return OK(dat_ep_free(p->a.ep));
	}
}

static bool without_first(struct listener *listener, enum fate fate)
{
	struct node node = {}, b = {};
	struct pair p = {};
	DAT_CR_HANDLE cr;
	bool ok;

	p.listener = *listener;
	ok = node_new(&p.a, &side_a, THREE_EVDS, NULL) &&
	     node_new(&p.b, &side_b, THREE_EVDS, NULL) &&
	     pair_connect(&p.a, &p.b, listener) &&
	     node_new(&node, &side_a, THREE_EVDS, NULL) &&
	     node_new(&b, &side_b, THREE_EVDS, NULL) &&
	     OK(node_recv(&node, 0, 64, 1)) &&
	     OK(dup_of(&node, &p.a, CONNECT_US)) && end_first(&p, fate) &&
	     next_request(listener, &cr) &&
	     OK(dat_cr_accept(cr, b.ep, 0, NULL)) && established(&node, &b) &&
	     message(&b, &node, 1) &&
	     (fate == FREE || CHECK(next_conn(&p.a))) &&
	     CHECK(next_conn(&p.b)) && nothing_more(node.conn) &&
	     state_is(node.ep, DAT_EP_STATE_CONNECTED);
	if (ok) {
		if (fate == FREE)
			p.a.ep = DAT_HANDLE_NULL;
		node_free(&p.a);
		node_free(&p.b);
		node_free(&node);
		node_free(&b);
	}
	return ok;
}

static void others_fate(void)
{
	struct listener listener = {};
	int i;

	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < 5 * NR_FATES; i++)
		if (!without_first(&listener, i % NR_FATES)) {
			FAIL("fate %d of the duplicated EP", i % NR_FATES);
			return;
		}
}

/* ---- depths ------------------------------------------------------------- */

/* C21, P60: more reads than the other side takes may end it, equal may not. */
static bool depths_once(struct listener *listener, DAT_COUNT out, DAT_COUNT in)
{
	DAT_EP_ATTR attr_a = node_attr, attr_b = node_attr;
	struct node a = {}, b = {};
	DAT_EVENT_NUMBER number;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	attr_a.max_rdma_read_out = out;
	attr_b.max_rdma_read_in = in;
	if (!node_new(&a, &side_a, THREE_EVDS, &attr_a) ||
	    !node_new(&b, &side_b, THREE_EVDS, &attr_b) ||
	    !start_connect(&a, listener->qual) ||
	    !next_request(listener, &cr) ||
	    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) || !next_event(a.conn, &event))
		return false;
	number = event.event_number;
	CHECK(number == ESTABLISHED || (out > in && number == NOT_BY_PEER));
	OK(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(param.ep_attr.max_rdma_read_out, out);
	OK(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &param));
	return CHECK_EQ(param.ep_attr.max_rdma_read_in, in);
}

static void depths(void)
{
	struct listener listener = {};

	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	depths_once(&listener, 2, 2);
	depths_once(&listener, 1, 4);
	depths_once(&listener, 4, 1);
	depths_once(&listener, 4, 0);
}

static const struct scenario scenarios[] = {
	SCENARIO("C2..C6 C11 C20 T14 duplicates of duplicates, each with private data of its own",
		 chain),
	SCENARIO("C12..C18 arguments of dat_ep_dup_connect", arguments),
	SCENARIO("C2 C7 C11 the peer's consumer rejects a duplicate", peer_rejects),
	SCENARIO("C2 C8 C11 P11 nobody listens for a duplicate", nobody_listens),
	SCENARIO("C2 C8 C11 P7 no room for a duplicate's request", backlog_full),
	SCENARIO("C9 C10 C11 RULING3 the host of a duplicate is gone",
		 host_unreachable),
	SCENARIO("C2 C10 C11 C12 RULING3 timeouts of 1 us to 2 s, none before its time",
		 timeouts),
	SCENARIO("C6 C12 the longest timeout, and none", no_timeout),
	SCENARIO("C2 C11 D30 D31 a duplicate is cancelled", cancelled),
	SCENARIO("C19 the duplicated EP disconnects, breaks, is freed", others_fate),
	SCENARIO("C21 P60 depths: equal ones connect, none is changed", depths),
};

SCENARIO_TABLE(dup_table);
