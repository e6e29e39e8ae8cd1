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
		       DAT_EVENT_NUMBER number)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;

	if (event->event_number != number)
		return FAIL("%s came, not %s", event_name(event->event_number),
			    event_name(number));
	return CHECK(data->ep_handle == node->ep) &&
	       CHECK_EQ(data->private_data_size, 0) &&
	       state_is(node->ep, DAT_EP_STATE_DISCONNECTED) &&
	       want_done(node->recv, node->ep, 10, DAT_DTO_ERR_FLUSHED) &&
	       want_done(node->recv, node->ep, 11, DAT_DTO_ERR_FLUSHED) &&
	       nothing_more(node->conn) && OK(dat_ep_reset(node->ep));
}

static bool dup_fails(struct node *node, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	return next_event(node->conn, &event) &&
	       dup_failed(node, &event, number);
}

/* ---- what is repeated --------------------------------------------------- */

#define CHAIN	5

/* Private data, of which all bytes are @byte: different ones in each call. */
struct words {
	u8 bytes[256];
	DAT_COUNT size;
};

static bool words_new(struct words *words, DAT_COUNT size, u8 byte)
{
	words->size = size;
	if (!CHECK(size <= (DAT_COUNT)sizeof(words->bytes)))
		return false;
	memset(words->bytes, byte, size);
	return true;
}

/* Whole (C5); the transport may pad with zeros (P42). */
static bool same_words(const struct words *words, const void *data,
		       DAT_COUNT size)
{
	const u8 *bytes = data;
	DAT_COUNT i;

	if (!CHECK(size >= words->size))
		return false;
	for (i = 0; i < size; i++)
		if (bytes[i] != (i < words->size ? words->bytes[i] : 0))
			return FAIL("byte %d of %d, of %d sent, is %#x", i, size,
				    words->size, bytes[i]);
	return true;
}

/* What the call itself has settled: the EP knows both ends (C3, C4). */
static bool chain_start(struct pair *p, struct node *node, struct node *from,
			struct words *hello, DAT_CONN_QUAL *port)
{
	DAT_EP_PARAM self, other;

	if (!OK(dat_ep_dup_connect(node->ep, from->ep, CONNECT_US, hello->size,
				   hello->size ? hello->bytes : NULL,
				   DAT_QOS_BEST_EFFORT)) ||
	    !OK(dat_ep_query(node->ep, DAT_EP_FIELD_ALL, &self)) ||
	    !OK(dat_ep_query(from->ep, DAT_EP_FIELD_ALL, &other)))
		return false;
	*port = self.local_port_qual;
	return CHECK_EQ(self.ep_state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) &&
	       CHECK(*port) && CHECK(*port != other.local_port_qual) &&
	       CHECK_EQ(self.remote_port_qual, p->listener.qual) &&
	       same_address(self.remote_ia_address_ptr, &side_b);
}

/* The request, and what it must say of the one who asks. */
static bool chain_request(struct pair *p, DAT_CONN_QUAL port,
			  const struct words *hello, DAT_CR_HANDLE *cr)
{
	DAT_CR_PARAM param;

	return next_request(&p->listener, cr) &&
	       OK(dat_cr_query(*cr, DAT_CR_FIELD_ALL, &param)) &&
	       same_address(param.remote_ia_address_ptr, &side_a) &&
	       CHECK_EQ(param.remote_port_qual, port) &&
	       same_words(hello, param.private_data, param.private_data_size);
}

static bool chain_accept(struct node *active, struct node *passive,
			 DAT_CR_HANDLE cr, struct words *welcome)
{
	DAT_CONNECTION_EVENT_DATA *est;
	DAT_EVENT event;

	est = &event.event_data.connect_event_data;
	return OK(dat_cr_accept(cr, passive->ep, welcome->size,
				welcome->bytes)) &&
	       want_event(active->conn, ESTABLISHED, &event) &&
	       CHECK(est->ep_handle == active->ep) &&
	       same_words(welcome, est->private_data, est->private_data_size) &&
	       want_conn(passive->conn, passive->ep, ESTABLISHED);
}

/* The last has no private data: it does not get that of the one before. */
static bool chain_link(struct pair *p, struct node *from, struct node *a,
		       struct node *b, int i)
{
	struct words hello, welcome;
	DAT_CONN_QUAL port;
	DAT_CR_HANDLE cr;

	return words_new(&hello, i < CHAIN - 1 ? side_a.max_private_data : 0,
			 i + 1) &&
	       words_new(&welcome, side_b.max_private_data, i + 101) &&
	       node_new(a, &side_a, THREE_EVDS, NULL) &&
	       node_new(b, &side_b, THREE_EVDS, NULL) &&
	       chain_start(p, a, from, &hello, &port) &&
	       chain_request(p, port, &hello, &cr) &&
	       chain_accept(a, b, cr, &welcome) &&
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
	DAT_CR_HANDLE cr;
	u8 data[8] = {};

	if (!dup_new(&p, &node) || !node_new(&b, &side_b, THREE_EVDS, NULL))
		return;
	BAD_ARG(dup_of(&node, &p.a, 0), 3);
	BAD_ARG(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US, -1, data, 0), 4);
	BAD_ARG(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US,
				   side_a.max_private_data + 1, data, 0), 4);
	BAD_ARG(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US, 1, NULL, 0), 5);
	BAD_STATE(dup_of(&p.a, &p.a, CONNECT_US), EP_CONNECTED);
	BAD_STATE(dup_of(&node, &node, CONNECT_US), EP_UNCONNECTED);
	/* Neither is in the state it needs; the code is for the second (C1). */
	BAD_STATE(dup_of(&p.a, &node, CONNECT_US), EP_UNCONNECTED);
	/* The passive side has no qualifier to repeat; the states are first. */
	BAD_ARG(dup_of(&b, &p.b, CONNECT_US), 2);
	BAD_STATE(dup_of(&p.b, &p.b, CONNECT_US), EP_CONNECTED);
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
	/* All that did not harm it. */
	if (OK(node_recv(&node, 0, 64, 1)) && OK(dup_of(&node, &p.a, CONNECT_US)) &&
	    next_request(&p.listener, &cr) &&
	    OK(dat_cr_accept(cr, b.ep, 0, NULL)) && established(&node, &b))
		message(&b, &node, 1);
}

/* ---- how it ends -------------------------------------------------------- */

static void peer_rejects(void)
{
	struct node node = {};
	struct pair p = {};
	DAT_CR_HANDLE cr;

	if (dup_new(&p, &node) && dup_start(&node, &p.a, CONNECT_US) &&
	    next_request(&p.listener, &cr) && OK(dat_cr_reject(cr)) &&
	    dup_fails(&node, REJECTED))
		pair_works(&p);
}

static void nobody_listens(void)
{
	struct node node = {};
	struct pair p = {};

	if (dup_new(&p, &node) && OK(dat_psp_free(p.listener.psp)) &&
	    dup_start(&node, &p.a, CONNECT_US) &&
	    dup_fails(&node, NOT_BY_PEER))
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
	if (late < 0 || !dup_failed(&nodes[late], &event, NOT_BY_PEER) ||
	    !dup_start(&nodes[late], &p->a, CONNECT_US) ||
	    !dup_fails(&nodes[late], NOT_BY_PEER))
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
		if (!dup_fails(&nodes[i], REJECTED))
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

/* The host is off, and its address is known or has to be looked for. */
struct absence {
	DAT_TIMEOUT timeout;
	bool known;
	DAT_EVENT_NUMBER end;
};

static bool host_gone(struct pair *p, struct node *node,
		      const struct absence *absence)
{
	DAT_EVENT event;
	u64 start;

	if (!(absence->known ? link_down(&side_a) : host_off(&side_a)))
		return false;
	start = now_us();
	if (!dup_start(node, &p->a, absence->timeout))
		return false;
	/* The CM takes its time. */
	if (!event_within(node->conn, WAIT_MS, &event))
		return FAIL("no event came");
	if (absence->timeout != DAT_TIMEOUT_INFINITE &&
	    now_us() - start < absence->timeout)
		return FAIL("over before its time");
	return dup_failed(node, &event, absence->end) && link_up(&side_a) &&
	       silent(p->listener.requests) && pair_works(p);
}

/* RULING 3: who ended it, and did the request go out? */
static void host_unreachable(void)
{
	static const struct absence absences[] = {
		{ 300000, false, UNREACHABLE },
		{ 3000000, true, TIMED_OUT },
		{ DAT_TIMEOUT_INFINITE, false, UNREACHABLE },
		{ DAT_TIMEOUT_INFINITE, true, UNREACHABLE },
	};
	/* The last two take as long as the CM does, which a brief run does not wait for. */
	unsigned int i, n = rounds_in_full(2 * ARRAY_SIZE(absences));
	struct node node = {};
	struct pair p = {};

	if (!dup_new(&p, &node))
		return;
	for (i = 0; i < n && i < ARRAY_SIZE(absences); i++)
		if (!host_gone(&p, &node, &absences[i])) {
			FAIL("timeout %llu us, the address is %sknown",
			     (u64)absences[i].timeout,
			     absences[i].known ? "" : "not ");
			return;
		}
}

/* RULING 3: a request that went out is a timeout, and else unreachable. */
static bool times_out(struct pair *p, struct node *node, DAT_TIMEOUT timeout)
{
	u64 start = now_us();
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (!dup_start(node, &p->a, timeout) || !next_event(node->conn, &event))
		return false;
	if (now_us() - start < timeout)
		return FAIL("%llu us are over before their time", (u64)timeout);
	if (event.event_number == UNREACHABLE)
		return dup_failed(node, &event, UNREACHABLE) &&
		       silent(p->listener.requests);
	return dup_failed(node, &event, TIMED_OUT) &&
	       next_request(&p->listener, &cr) && OK(dat_cr_reject(cr));
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
		if (!times_out(&p, &node, times[i])) {
			FAIL("timeout %llu us", (u64)times[i]);
			return;
		}
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
	    dup_fails(&node, DISCONNECTED) && OK(dat_cr_reject(cr)))
		pair_works(&p);
}

/* In the middle of looking for the address, or sooner: nothing but the one event. */
static bool cancelled_once(struct pair *p, struct node *node, bool dup,
			   DAT_CLOSE_FLAGS flags)
{
	if (!OK(node_recv(node, 0, 64, 10)) ||
	    !OK(node_recv(node, 64, 64, 11)) ||
	    !(dup ? OK(dup_of(node, &p->a, CONNECT_US)) :
		    start_connect(node, p->listener.qual)))
		return false;
	sleep_us(random_u32() % 50000 + 1);
	return state_is(node->ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) &&
	       OK(dat_ep_disconnect(node->ep, flags)) &&
	       dup_fails(node, DISCONNECTED);
}

static void cancelled_unresolved(void)
{
	struct node node = {}, b = {};
	struct pair p = {};
	DAT_CR_HANDLE cr;
	int i;

	if (!dup_new(&p, &node) || !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !host_off(&side_a))
		return;
	for (i = 0; i < 8; i++)
		if (!cancelled_once(&p, &node, i & 1, i & 2 ?
				    DAT_CLOSE_GRACEFUL_FLAG :
				    DAT_CLOSE_ABRUPT_FLAG))
			return;
	if (!link_up(&side_a) || !silent(p.listener.requests) ||
	    !nothing_more(node.conn))
		return;
	/* D36: and now one that is not. */
	if (OK(node_recv(&node, 0, 64, 1)) && start_connect(&node, p.listener.qual) &&
	    next_request(&p.listener, &cr) &&
	    OK(dat_cr_accept(cr, b.ep, 0, NULL)) && established(&node, &b) &&
	    message(&b, &node, 1))
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

/*
 * C21, P60: more reads than the other side takes may end it, equal may not.  The
 * EP's own count, whatever those of the one it is a duplicate of (@of, or NULL).
 */
static bool depths_once(struct listener *listener, struct node *of,
			DAT_COUNT out, DAT_COUNT in)
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
	    !(of ? OK(dup_of(&a, of, CONNECT_US)) :
		   start_connect(&a, listener->qual)) ||
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
	static const DAT_COUNT counts[][2] = {
		{ 2, 2 }, { 1, 4 }, { 4, 1 }, { 4, 0 },
	};
	struct pair p = {};
	unsigned int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		if (!depths_once(&p.listener, NULL, counts[i][0], counts[i][1]) ||
		    !depths_once(&p.listener, &p.a, counts[i][0], counts[i][1]))
			FAIL("%d reads out, %d in", counts[i][0], counts[i][1]);
	pair_works(&p);
}

static const struct scenario scenarios[] = {
	SCENARIO("C2..C6 C11 C20 T14 duplicates of duplicates, each with private data of its own",
		 chain),
	SCENARIO("C1 C12..C18 arguments of dat_ep_dup_connect", arguments),
	SCENARIO("C2 C7 C11 the peer's consumer rejects a duplicate", peer_rejects),
	SCENARIO("C2 C8 C11 P11 nobody listens for a duplicate",
		 nobody_listens),
	SCENARIO("C2 C8 C11 P7 no room for a duplicate's request", backlog_full),
	SCENARIO_IB("C2 C9 C10 C11 RULING3 the host of a duplicate is gone",
		    host_unreachable),
	SCENARIO_IB("C2 C10 C11 C12 RULING3 timeouts of 1 us to 2 s, none before its time",
		    timeouts),
	SCENARIO("C6 C12 the longest timeout, and none", no_timeout),
	SCENARIO_IB("C2 C11 D30 D31 a duplicate is cancelled", cancelled),
	SCENARIO("D30 D31 D32 D36 an attempt is cancelled while its address is looked for",
		 cancelled_unresolved),
	SCENARIO("C19 the duplicated EP disconnects, breaks, is freed", others_fate),
	SCENARIO("C21 P60 depths: equal ones connect, none is changed", depths),
};

SCENARIO_TABLE(dup_table);
