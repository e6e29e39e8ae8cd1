// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The active side: private data both ways, every way in which an attempt to
 * connect can end, and many of them at once.
 */
#include "memory.h"
#include "stage.h"

#define ABRUPT		DAT_CLOSE_ABRUPT_FLAG
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define ESTABLISHED	DAT_CONNECTION_EVENT_ESTABLISHED

static DAT_RETURN connect_to(struct node *node, void *address,
			     DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			     DAT_COUNT size, void *data)
{
	return dat_ep_connect(node->ep, address, qual, timeout, size, data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- private data ------------------------------------------------------- */

struct words {
	u8 asked[512], answer[512];
};

static void words_fill(struct words *words)
{
	unsigned int i;

	for (i = 0; i < sizeof(words->asked); i++) {
		words->asked[i] = i + 1;
		words->answer[i] = 255 - i;
	}
}

static void request_says(const DAT_CR_PARAM *param, const struct node *a,
			 const struct words *words)
{
	const u8 *data = param->private_data;
	DAT_COUNT max = side_a.max_private_data, i;
	DAT_EP_PARAM local;

	if (!CHECK(param->private_data_size >= max))
		return;
	CHECK(!memcmp(data, words->asked, max));
	for (i = max; i < param->private_data_size; i++)	/* P42 */
		CHECK(!data[i]);
	CHECK(!param->local_ep_handle);
	/* P41 */
	if (OK(dat_ep_query(a->ep, DAT_EP_FIELD_ALL, &local))) {
		CHECK_EQ(local.local_port_qual, param->remote_port_qual);
		same_address(param->remote_ia_address_ptr, &side_a);
		same_address(local.local_ia_address_ptr, &side_a);
	}
}

/* P50, P52, P54: refused, and the request is still good. */
static void refused_accepts(DAT_CR_HANDLE cr, struct node *a, struct node *b,
			    u8 *answer)
{
	DAT_CR_PARAM param;

	BAD_ARG(dat_cr_query(cr, 0x20, &param), 2);
	BAD_ARG(dat_cr_query(cr, 1, NULL), 3);
	BAD_ARG(dat_cr_accept(cr, b->ep, -1, answer), 3);
	BAD_ARG(dat_cr_accept(cr, b->ep, side_b.max_private_data + 1, answer), 3);
	BAD_ARG(dat_cr_accept(cr, b->ep, 10000, answer), 3);
	BAD_ARG(dat_cr_accept(cr, b->ep, 4, NULL), 4);
	BAD_HANDLE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, a->ep, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, side_b.pz, 0, NULL), EP);
	state_is(b->ep, DAT_EP_STATE_UNCONNECTED);
}

static void private_data(void)
{
	struct words *words = scenario_alloc(sizeof(*words));
	DAT_COUNT max = side_a.max_private_data;
	const DAT_CONNECTION_EVENT_DATA *est;
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_EVENT event, second;
	DAT_CR_PARAM param;
	DAT_EP_PARAM local;
	DAT_CR_HANDLE cr;

	if (!words || !CHECK(max >= 56 && max <= (DAT_COUNT)sizeof(words->asked)) ||
	    !node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	words_fill(words);
	if (!OK(connect_to(&a, &side_b.addr, listener.qual, CONNECT_US, max,
			   words->asked)))
		return;
	memset(words->asked, 0, sizeof(words->asked));	/* it was copied */
	words_fill(words);
	state_is(a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	if (OK(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &local)))
		CHECK_EQ(local.remote_port_qual, listener.qual);
	if (!want_event(listener.requests, DAT_CONNECTION_REQUEST_EVENT, &event))
		return;
	arrival = &event.event_data.cr_arrival_event_data;
	cr = arrival->cr_handle;
	CHECK(arrival->sp_handle.psp_handle == listener.psp);
	CHECK_EQ(arrival->conn_qual, listener.qual);
	same_address(arrival->local_ia_address_ptr, &side_b);
	if (!OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
		return;
	request_says(&param, &a, words);
	refused_accepts(cr, &a, &b, words->answer);
	if (!OK(dat_cr_accept(cr, b.ep, max, words->answer)))
		return;
	/* P45 */
	BAD_HANDLE(dat_cr_query(cr, 1, &param), CR);
	BAD_HANDLE(dat_cr_accept(cr, b.ep, 0, NULL), CR);
	BAD_HANDLE(dat_cr_reject(cr), CR);

	if (!want_event(a.conn, ESTABLISHED, &event))
		return;
	est = &event.event_data.connect_event_data;
	CHECK(est->ep_handle == a.ep);
	if (!CHECK(est->private_data_size >= max))
		return;
	CHECK(!memcmp(est->private_data, words->answer, max));
	if (want_event(b.conn, ESTABLISHED, &second)) {
		const DAT_CONNECTION_EVENT_DATA *data =
			&second.event_data.connect_event_data;

		CHECK(data->ep_handle == b.ep);
		CHECK(!data->private_data_size && !data->private_data);
	}
	state_is(a.ep, DAT_EP_STATE_CONNECTED);
	state_is(b.ep, DAT_EP_STATE_CONNECTED);
	nothing_more(a.conn);
	nothing_more(b.conn);
	/* E7: it stays until the EP is reset. */
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(a.conn, a.ep, DISCONNECTED);
	CHECK(!memcmp(est->private_data, words->answer, max));
	want_conn(b.conn, b.ep, DISCONNECTED);
	OK(dat_ep_reset(a.ep));
}

/*
 * The accept says @answer; ESTABLISHED stays in the EVD of side a.  Side b may be told
 * first: side a's confirmation is on its way before side a's EP is connected.
 */
static bool unheard_connect(struct pair *p, void *answer)
{
	DAT_CR_HANDLE cr;

	return start_connect(&p->a, p->listener.qual) &&
	       next_request(&p->listener, &cr) &&
	       OK(dat_cr_accept(cr, p->b.ep, 4, answer)) &&
	       want_conn(p->b.conn, p->b.ep, ESTABLISHED) &&
	       state_comes(p->a.ep, DAT_EP_STATE_CONNECTED);
}

static bool unheard_end(struct pair *p)
{
	return OK(dat_ep_disconnect(p->a.ep, ABRUPT)) &&
	       want_conn(p->b.conn, p->b.ep, DISCONNECTED) &&
	       state_comes(p->a.ep, DAT_EP_STATE_DISCONNECTED) &&
	       OK(dat_ep_reset(p->a.ep)) && OK(dat_ep_reset(p->b.ep));
}

/* The event of a former life has no data, and takes none from the present one. */
static void heard_late(void)
{
	const DAT_CONNECTION_EVENT_DATA *est;
	struct pair p = {};
	DAT_EVENT event;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL) ||
	    !unheard_connect(&p, "one") || !unheard_end(&p) ||
	    !unheard_connect(&p, "two"))
		return;
	want_conn(p.a.conn, p.a.ep, ESTABLISHED);
	want_conn(p.a.conn, p.a.ep, DISCONNECTED);
	if (!want_event(p.a.conn, ESTABLISHED, &event))
		return;
	est = &event.event_data.connect_event_data;
	CHECK(est->private_data_size >= 4 && !memcmp(est->private_data, "two", 4));
	nothing_more(p.a.conn);
}

/* ---- how an attempt ends ------------------------------------------------ */

/* Once; its receive is flushed. */
static bool is_over(struct node *node)
{
	return state_is(node->ep, DAT_EP_STATE_DISCONNECTED) &&
	       want_dto(node->recv, node->ep, 1, DAT_DTO_ERR_FLUSHED, 0) &&
	       nothing_more(node->recv) && nothing_more(node->conn);
}

static bool ends_with(struct node *node, DAT_EVENT_NUMBER number)
{
	return want_conn(node->conn, node->ep, number) && is_over(node);
}

/* A node of each side with a receive, and a listener. */
static bool stage(struct node *a, struct node *b, struct listener *listener)
{
	return node_new(a, &side_a, THREE_EVDS, NULL) &&
	       node_new(b, &side_b, THREE_EVDS, NULL) &&
	       listener_new(listener, DAT_PSP_CONSUMER_FLAG) &&
	       OK(node_recv(a, 0, 64, 1)) && OK(node_recv(b, 0, 64, 1));
}

static void consumer_rejects(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;

	if (!stage(&a, &b, &listener) || !start_connect(&a, listener.qual) ||
	    !next_request(&listener, &cr) || !OK(dat_cr_reject(cr)))
		return;
	BAD_HANDLE(dat_cr_reject(cr), CR);
	BAD_HANDLE(dat_cr_accept(cr, b.ep, 0, NULL), CR);
	ends_with(&a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	nothing_more(b.conn);
}

static void nobody_listens(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};

	if (stage(&a, &b, &listener) && OK(dat_psp_free(listener.psp)) &&
	    start_connect(&a, listener.qual))
		ends_with(&a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void nobody_answers(void)
{
	const u32 timeout_us = limit_of_request(700000);
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	u64 start;

	if (!stage(&a, &b, &listener))
		return;
	start = now_us();
	if (!OK(connect_to(&a, &side_b.addr, listener.qual, timeout_us, 0,
			   NULL)) || !next_request(&listener, &cr) ||
	    !ends_with(&a, DAT_CONNECTION_EVENT_TIMED_OUT))
		return;
	CHECK(now_us() - start >= timeout_us);
	/* P44, P56: the request is still there; accepting it comes to nothing. */
	if (OK(dat_cr_accept(cr, b.ep, 0, NULL)) && accepted_in_vain(&b))
		is_over(&b);
	if (OK(dat_ep_reset(a.ep)) && OK(dat_ep_reset(b.ep)))
		pair_connect(&a, &b, &listener);
}

/* No host has an address in 192.0.2.0/24; the other is one of this network. */
static void nobody_there(void)
{
	struct sockaddr_in nowhere = *(struct sockaddr_in *)&side_b.addr;
	struct node a = {};

	nowhere.sin_addr.s_addr = htonl(0xc0000201);
	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !OK(node_recv(&a, 0, 64, 1)) ||
	    !OK(connect_to(&a, &nowhere, 4000, CONNECT_US, 0, NULL)) ||
	    !ends_with(&a, DAT_CONNECTION_EVENT_UNREACHABLE) ||
	    !OK(dat_ep_reset(a.ep)) || !OK(node_recv(&a, 0, 64, 1)))
		return;
	nowhere = *(struct sockaddr_in *)&side_b.addr;
	nowhere.sin_addr.s_addr ^= htonl(0xf0);
	OK(connect_to(&a, &nowhere, 4000, 300000, 0, NULL));
	ends_with(&a, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* ---- many receives ------------------------------------------------------ */

#define LOTS	300

static bool post_lots(struct node *node, u64 first, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!OK(node_recv(node, 0, 16, first + i)))
			return false;
	return true;
}

static bool flushed_lots(struct node *node, u64 first, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!want_dto(node->recv, node->ep, first + i,
			      DAT_DTO_ERR_FLUSHED, 0))
			return false;
	return true;
}

/* Receives held before there is a queue, posted on one, and after its end. */
static void held_lots(void)
{
	struct listener listener = {};
	DAT_EP_ATTR attr = node_attr;
	struct node a = {}, b = {};
	int i;

	attr.max_recv_dtos = LOTS;
	if (!node_new(&a, &side_a, ONE_EVD, &attr) ||
	    !node_new(&b, &side_b, ONE_EVD, &attr) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !post_lots(&a, 1000, LOTS) || !post_lots(&b, 2000, LOTS) ||
	    !pair_connect(&a, &b, &listener))
		return;
	for (i = 0; i < 100; i++)
		if (!OK(node_send(&a, 0, 16, i, 0)) ||
		    !want_dto(a.request, a.ep, i, DAT_DTO_SUCCESS, 16) ||
		    !want_dto(b.recv, b.ep, 2000 + i, DAT_DTO_SUCCESS, 16))
			return;
	if (!post_lots(&b, 2000 + LOTS, 100) ||
	    !OK(dat_ep_disconnect(a.ep, ABRUPT)))
		return;
	flushed_lots(&a, 1000, LOTS);
	want_conn(a.conn, a.ep, DISCONNECTED);
	flushed_lots(&b, 2100, LOTS);
	want_conn(b.conn, b.ep, DISCONNECTED);
	post_lots(&b, 3000, LOTS);
	flushed_lots(&b, 3000, LOTS);
	nothing_more(a.recv);
	nothing_more(b.recv);
}

/* The attempt is over before the receives are anywhere; more come meanwhile. */
static void aborted_lots(void)
{
	struct listener listener = {};
	DAT_EP_ATTR attr = node_attr;
	struct node a = {};
	int round;

	attr.max_recv_dtos = LOTS;
	if (!node_new(&a, &side_a, ONE_EVD, &attr) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (round = 0; round < 10 && !failed(); round++) {
		if (!post_lots(&a, 0, LOTS / 2) ||
		    !start_connect(&a, listener.qual) ||
		    !OK(dat_ep_disconnect(a.ep, ABRUPT)))
			return;
		/* What is posted in Disconnected: behind the event, in order. */
		post_lots(&a, LOTS / 2, LOTS / 2);
		flushed_lots(&a, 0, LOTS / 2);
		want_conn(a.conn, a.ep, DISCONNECTED);
		flushed_lots(&a, LOTS / 2, LOTS / 2);
		OK(dat_ep_reset(a.ep));
	}
	nothing_more(a.recv);
}

/* ---- many connections --------------------------------------------------- */

#define MANY	200
/*
 * A few requests or sends at a time.  Of 200 the last ones are answered so late by a slow
 * machine that they are repeated, which makes it slower still, until retries run out: the
 * CM gives a request up after a minute, and Soft-RoCE a send after seconds.
 */
#define AT_A_TIME	20

struct crowd {
	struct node a, b;
	struct listener listener;
	int nr;
	DAT_EP_HANDLE eps_a[MANY], eps_b[MANY];
};

static const DAT_EP_ATTR small = {
	.service_type = DAT_SERVICE_TYPE_RC,
	.max_message_size = 4096,
	.max_rdma_size = 4096,
	.max_recv_dtos = 2,
	.max_request_dtos = 2,
	.max_recv_iov = 1,
	.max_request_iov = 1,
	.srq_soft_hw = DAT_HW_DEFAULT,
	.max_rdma_read_iov = 1,
	.max_rdma_write_iov = 1,
};

static bool crowd_side(struct node *node, struct side *side, DAT_EP_HANDLE *eps,
		       int nr)
{
	int i;

	node->side = side;
	if (!evd_new(side, 1024, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
		     &node->conn))
		return false;
	node->recv = node->conn;
	node->request = node->conn;
	if (!mem_new(side, &node->mem, 4096, DAT_MEM_PRIV_ALL_FLAG))
		return false;
	for (i = 0; i < nr; i++) {
		if (!node_ep(node, &small))
			return false;
		eps[i] = node->ep;
	}
	return true;
}

/* Each of @count EPs is named by exactly one event of the kind, in any order. */
static bool each_has(struct node *node, const DAT_EP_HANDLE *eps, int count,
		     DAT_EVENT_NUMBER number)
{
	bool seen[MANY] = {};
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	int i, n;

	for (n = 0; n < count; n++) {
		if (!want_event(node->conn, number, &event))
			return FAIL("after %d of %d", n, count);
		ep = event.event_data.connect_event_data.ep_handle;
		if (number == DAT_DTO_COMPLETION_EVENT) {
			const DAT_DTO_COMPLETION_EVENT_DATA *dto =
				&event.event_data.dto_completion_event_data;

			ep = dto->ep_handle;
			CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
		}
		for (i = 0; i < count && eps[i] != ep; i++)
			;
		if (!CHECK(i < count) || !CHECK(!seen[i]))
			return false;
		seen[i] = true;
	}
	return true;
}

/* Requests come in any order: each says whose it is. */
static bool crowd_connect(struct crowd *crowd, u32 first)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	u32 i, n;

	for (i = first; i < first + AT_A_TIME; i++) {
		crowd->a.ep = crowd->eps_a[i];
		if (!OK(connect_to(&crowd->a, &side_b.addr,
				   crowd->listener.qual, CONNECT_US, sizeof(i),
				   &i)))
			return false;
	}
	for (i = first; i < first + AT_A_TIME; i++) {
		if (!next_request(&crowd->listener, &cr) ||
		    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
			return FAIL("request %u", i);
		memcpy(&n, param.private_data, sizeof(n));
		if (!CHECK(n >= first && n < first + AT_A_TIME) ||
		    !OK(dat_cr_accept(cr, crowd->eps_b[n], 0, NULL)))
			return false;
	}
	return each_has(&crowd->a, &crowd->eps_a[first], AT_A_TIME, ESTABLISHED) &&
	       each_has(&crowd->b, &crowd->eps_b[first], AT_A_TIME, ESTABLISHED);
}

static bool crowd_talk(struct crowd *crowd)
{
	int i;

	for (i = 0; i < crowd->nr; i++) {
		crowd->b.ep = crowd->eps_b[i];
		if (!OK(node_recv(&crowd->b, i * 8, 8, i)))
			return false;
	}
	for (i = 0; i < crowd->nr; i++) {
		crowd->a.ep = crowd->eps_a[i];
		if (!OK(node_send(&crowd->a, 0, 8, i, 0)))
			return false;
		if ((i + 1) % AT_A_TIME)
			continue;
		if (!each_has(&crowd->b, &crowd->eps_b[i + 1 - AT_A_TIME], AT_A_TIME,
			      DAT_DTO_COMPLETION_EVENT) ||
		    !each_has(&crowd->a, &crowd->eps_a[i + 1 - AT_A_TIME], AT_A_TIME,
			      DAT_DTO_COMPLETION_EVENT))
			return false;
	}
	return true;
}

static void many(void)
{
	struct crowd *crowd = scenario_alloc(sizeof(*crowd));
	DAT_EVENT event;
	int i;

	if (!crowd)
		return;
	crowd->nr = rounds_in_full(MANY / AT_A_TIME) * AT_A_TIME;
	if (!crowd_side(&crowd->a, &side_a, crowd->eps_a, crowd->nr) ||
	    !crowd_side(&crowd->b, &side_b, crowd->eps_b, crowd->nr) ||
	    !evd_new(&side_b, 256, DAT_EVD_CR_FLAG, &crowd->listener.requests) ||
	    !OK(dat_psp_create_any(side_b.ia, &crowd->listener.qual,
				   crowd->listener.requests,
				   DAT_PSP_CONSUMER_FLAG,
				   &crowd->listener.psp)))
		return;
	for (i = 0; i < crowd->nr; i += AT_A_TIME)
		if (!crowd_connect(crowd, i))
			return;
	if (!crowd_talk(crowd))
		return;
	/* By one side, by the other, or by both. */
	for (i = 0; i < crowd->nr; i++) {
		if (i % 3)
			OK(dat_ep_disconnect(crowd->eps_a[i], i >> 1 & 1));
		if (i % 3 != 1)
			OK(dat_ep_disconnect(crowd->eps_b[i], i & 1));
	}
	each_has(&crowd->a, crowd->eps_a, crowd->nr, DISCONNECTED);
	each_has(&crowd->b, crowd->eps_b, crowd->nr, DISCONNECTED);
	for (i = 0; i < crowd->nr; i++) {
		OK(dat_ep_free(crowd->eps_a[i]));
		OK(dat_ep_free(crowd->eps_b[i]));
	}
	CHECK(!event_within(side_a.async, 0, &event));
	CHECK(!event_within(side_b.async, 0, &event));
}

static const struct scenario scenarios[] = {
	SCENARIO("T10 T13 T15 T22 E7 E9 E10 E11 P8 P40 P41 P42 P45 P50 P52..P55 "
		 "private data both ways",
		 private_data),
	SCENARIO("E7 R5 R13 ESTABLISHED is taken in the next life", heard_late),
	SCENARIO("T16 C7 P45 P70 E8 the consumer rejects", consumer_rejects),
	SCENARIO("T17 C8 P11 nobody listens", nobody_listens),
	SCENARIO("T19 T23 C10 P44 P56 P57 nobody answers in time", nobody_answers),
	SCENARIO("T18 C9 C10 RULING3 nobody has the address", nobody_there),
	SCENARIO("D43 D45 D46 A7 300 receives: held, posted, flushed, in order",
		 held_lots),
	SCENARIO_IB("T20 D31 D43 D46 300 receives, and the attempt is aborted",
		    aborted_lots),
	SCENARIO("T15 T22 P6 D6 mt:M21 many connections at once", many),
};

SCENARIO_TABLE(connect_table);
