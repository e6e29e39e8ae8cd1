// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints without a connection: what a query says, what dat_ep_modify changes
 * and what it leaves alone, and the room for posts.
 */
#include "stage.h"

#define FLAGS_BOTH	(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS | \
			 DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
#define THRESHOLD	DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define UNSIGNALLED	DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED	DAT_COMPLETION_SOLICITED_WAIT_FLAG

static bool attr_of(DAT_EP_HANDLE ep, DAT_EP_ATTR *attr)
{
	DAT_EP_PARAM param;

	/* All of it can be compared, padding and all. */
	memset(&param, 0, sizeof(param));
	if (!OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param)))
		return false;
	memcpy(attr, &param.ep_attr, sizeof(*attr));
	return true;
}

/* ---- query -------------------------------------------------------------- */

static void query(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	struct node node = {};
	DAT_EP_PARAM param;

	if (!node_new(&node, &side_b, THREE_EVDS, NULL) ||
	    !OK(dat_ep_query(node.ep, DAT_EP_FIELD_ALL, &param)))
		return;
	CHECK(param.ia_handle == side_b.ia && param.pz_handle == side_b.pz);
	CHECK(param.recv_evd_handle == node.recv);
	CHECK(param.request_evd_handle == node.request);
	CHECK(param.connect_evd_handle == node.conn);
	CHECK(!param.srq_handle);
	CHECK_EQ(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	CHECK(param.ep_attr.max_recv_dtos >= node_attr.max_recv_dtos);
	CHECK(param.ep_attr.max_request_dtos >= node_attr.max_request_dtos);
	CHECK(param.ep_attr.max_recv_iov >= node_attr.max_recv_iov);
	CHECK_EQ(param.ep_attr.max_rdma_read_in, node_attr.max_rdma_read_in);
	CHECK_EQ(param.ep_attr.max_rdma_read_out, node_attr.max_rdma_read_out);
	CHECK_EQ(param.ep_attr.max_message_size, node_attr.max_message_size);
	idle(node.ep);
	OK(node_recv(&node, 0, 8, 1));
	if (OK(dat_ep_get_status(node.ep, NULL, &recv_idle, &request_idle)))
		CHECK(!recv_idle && request_idle);
	OK(dat_ep_get_status(node.ep, NULL, NULL, NULL));
}

/* Row Unconnected of M1 and M2. */
static void unconnected(void)
{
	struct node node = {};
	DAT_RMR_TRIPLET to;
	int i;

	if (!node_new(&node, &side_a, THREE_EVDS, NULL))
		return;
	to = remote_piece(&node.mem, 0, 8);
	BAD_STATE(node_send(&node, 0, 8, 1, 0), EP_UNCONNECTED);
	BAD_STATE(node_read(&node, 0, 8, &to, 1, 0), EP_UNCONNECTED);
	BAD_STATE(node_write(&node, 0, 8, &to, 1, 0), EP_UNCONNECTED);
	BAD_STATE(dat_ep_disconnect(node.ep, DAT_CLOSE_ABRUPT_FLAG),
		  EP_UNCONNECTED);
	BAD_STATE(dat_ep_disconnect(node.ep, DAT_CLOSE_GRACEFUL_FLAG),
		  EP_UNCONNECTED);
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&node, 0, 8, i));
	OK(dat_ep_reset(node.ep));
	nothing_more(node.recv);
	OK(dat_ep_free(node.ep));
	BAD_HANDLE(dat_ep_free(node.ep), EP);
	/* F9: all of them, in order. */
	for (i = 0; i < NODE_RECVS; i++)
		want_dto(node.recv, node.ep, i, DAT_DTO_ERR_FLUSHED, 0);
	nothing_more(node.recv);
	nothing_more(node.request);
	nothing_more(node.conn);
}

/* ---- modify ------------------------------------------------------------- */

static DAT_RETURN try_connect(DAT_EP_HANDLE ep)
{
	return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&side_b.addr, 5,
			      CONNECT_US, 0, NULL, 0, 0);
}

static void modify(void)
{
	DAT_EP_PARAM param = {}, seen = {};
	struct node node = {};
	DAT_EP_HANDLE bare;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;

	if (!node_new(&node, &side_b, THREE_EVDS, NULL) ||
	    !OK(dat_pz_create(side_b.ia, &pz)) ||
	    !evd_new(&side_b, 32, DAT_EVD_DTO_FLAG, &evd))
		return;
	/* All or nothing. */
	param.pz_handle = pz;
	param.recv_evd_handle = node.conn;
	BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_PZ_HANDLE |
			      DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);
	OK(dat_ep_query(node.ep, DAT_EP_FIELD_ALL, &seen));
	CHECK(seen.pz_handle == side_b.pz && seen.recv_evd_handle == node.recv);

	param.recv_evd_handle = evd;
	param.ep_attr.max_recv_dtos = 20;
	OK(dat_ep_modify(node.ep, DAT_EP_FIELD_PZ_HANDLE |
			 DAT_EP_FIELD_RECV_EVD_HANDLE |
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	OK(dat_ep_query(node.ep, DAT_EP_FIELD_ALL, &seen));
	CHECK(seen.pz_handle == pz && seen.recv_evd_handle == evd);
	CHECK(!seen.connect_evd_handle);
	CHECK(seen.request_evd_handle == node.request);
	CHECK(seen.ep_attr.max_recv_dtos >= 20);
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	/* The old EVD lost the stream. */
	OK(dat_evd_free(node.recv));

	/* Neither without a connect EVD nor without a PZ (A.5). */
	BAD_STATE(try_connect(node.ep), EP_NOTREADY);
	param.connect_evd_handle = node.conn;
	param.pz_handle = DAT_HANDLE_NULL;
	OK(dat_ep_modify(node.ep, DAT_EP_FIELD_PZ_HANDLE |
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	BAD_STATE(try_connect(node.ep), EP_NOTREADY);
	if (OK(dat_ep_create(side_b.ia, NULL, NULL, NULL, NULL, NULL, &bare)))
		BAD_STATE(try_connect(bare), EP_NOTREADY);
	/* mt:T11: no PZ matches no LMR. */
	IS(node_recv(&node, 0, 8, 1), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_WRITE);
	OK(dat_ep_post_recv(node.ep, 0, NULL, cookie(1), 0));
}

static DAT_RETURN set_flags(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			    DAT_COMPLETION_FLAGS recv,
			    DAT_COMPLETION_FLAGS request)
{
	DAT_EP_PARAM param = {
		.ep_attr.recv_completion_flags = recv,
		.ep_attr.request_completion_flags = request,
	};

	return dat_ep_modify(ep, mask, &param);
}

static bool flags_are(DAT_EP_HANDLE ep, DAT_COMPLETION_FLAGS recv,
		      DAT_COMPLETION_FLAGS request)
{
	DAT_EP_ATTR attr;

	return attr_of(ep, &attr) && CHECK_EQ(attr.recv_completion_flags, recv) &&
	       CHECK_EQ(attr.request_completion_flags, request);
}

static DAT_RETURN ep_on(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			DAT_COMPLETION_FLAGS recv_flags,
			DAT_COMPLETION_FLAGS request_flags, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = node_attr;

	attr.recv_completion_flags = recv_flags;
	attr.request_completion_flags = request_flags;
	return dat_ep_create(side_b.ia, side_b.pz, recv, request, NULL, &attr,
			     ep);
}

/* One EVD for both directions, and two endpoints on it. */
static void flags_shared(DAT_EVD_HANDLE evd)
{
	DAT_EP_HANDLE ep, other;
	int i;

	if (!OK(ep_on(evd, evd, 0, 0, &ep)))
		return;
	OK(set_flags(ep, FLAGS_BOTH, UNSIGNALLED, UNSIGNALLED));
	flags_are(ep, UNSIGNALLED, UNSIGNALLED);
	/* The two directions of one endpoint are two streams. */
	BAD_ARG(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
			  THRESHOLD, 0), 3);
	BAD_ARG(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
			  SOLICITED, 0), 3);
	flags_are(ep, UNSIGNALLED, UNSIGNALLED);
	/* A refused change leaves the EVD as it was. */
	BAD_ARG(ep_on(evd, NULL, 0, 0, &other), 6);
	OK(set_flags(ep, FLAGS_BOTH, DAT_COMPLETION_DEFAULT_FLAG, THRESHOLD));
	flags_are(ep, THRESHOLD, THRESHOLD);
	/* An endpoint that is not alone. */
	if (OK(ep_on(evd, NULL, 0, 0, &other))) {
		BAD_ARG(set_flags(ep, FLAGS_BOTH, UNSIGNALLED, UNSIGNALLED), 3);
		BAD_ARG(set_flags(other, FLAGS_BOTH, UNSIGNALLED, THRESHOLD), 3);
		OK(set_flags(other, FLAGS_BOTH, THRESHOLD, UNSIGNALLED));
		flags_are(ep, THRESHOLD, THRESHOLD);
		OK(dat_ep_free(other));
	}
	for (i = 0; i < 20; i++) {
		OK(set_flags(ep, FLAGS_BOTH, UNSIGNALLED, UNSIGNALLED));
		OK(set_flags(ep, FLAGS_BOTH, THRESHOLD, THRESHOLD));
	}
	OK(dat_ep_free(ep));
}

/* Receives alone on their EVD; then with connection events. */
static void flags_alone(DAT_EVD_HANDLE evd)
{
	DAT_EP_PARAM param = { .connect_evd_handle = evd };
	DAT_EP_HANDLE ep;

	if (!OK(ep_on(evd, NULL, 0, 0, &ep)))
		return;
	OK(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, SOLICITED,
		     0));
	OK(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, UNSIGNALLED,
		     0));
	flags_are(ep, UNSIGNALLED, THRESHOLD);
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), 3);
	/* Both at once. */
	param.ep_attr.recv_completion_flags = THRESHOLD;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	BAD_ARG(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
			  SOLICITED, 0), 3);
	param.connect_evd_handle = DAT_HANDLE_NULL;
	param.ep_attr.recv_completion_flags = SOLICITED;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	flags_are(ep, SOLICITED, THRESHOLD);
	OK(dat_ep_free(ep));
}

static void completion_flags(void)
{
	DAT_EVD_HANDLE evd, merged;
	DAT_EP_ATTR attr = node_attr;
	DAT_EP_HANDLE ep, other;

	if (!evd_new(&side_b, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
		     &merged) ||
	    !evd_new(&side_b, 64, DAT_EVD_DTO_FLAG, &evd))
		return;
	/* E21: such an EVD has no other kind of stream, and no other flags. */
	attr.request_completion_flags = UNSIGNALLED;
	BAD_ARG(dat_ep_create(side_b.ia, side_b.pz, NULL, merged, merged, &attr,
			      &ep), 6);
	OK(ep_on(NULL, evd, 0, UNSIGNALLED, &ep));
	BAD_ARG(ep_on(NULL, evd, 0, 0, &other), 6);
	OK(dat_ep_free(ep));
	flags_shared(merged);
	flags_alone(merged);
	/* Not one stream was left behind. */
	OK(dat_evd_free(merged));
	OK(dat_evd_free(evd));
}

/* dat_ep_modify of one attribute changes that one and nothing else. */
#define SET(field, mask, value) do { \
	param.ep_attr = node_attr; \
	param.ep_attr.field = (value); \
	want.field = (value); \
	if (OK(dat_ep_modify(node.ep, DAT_EP_FIELD_EP_ATTR_##mask, &param)) && \
	    attr_of(node.ep, &now) && memcmp(&now, &want, sizeof(now))) \
		FAIL("%s alone, or something else, changed", #field); \
	} while (0)

static void each_attribute(void)
{
	DAT_EP_PARAM param = {};
	struct node node = {};
	DAT_EP_ATTR want, now;

	if (!node_new(&node, &side_b, THREE_EVDS, NULL) ||
	    !attr_of(node.ep, &want))
		return;
	SET(max_message_size, MAX_MESSAGE_SIZE, 12345);
	SET(max_rdma_size, MAX_RDMA_SIZE, 23456);
	SET(max_recv_dtos, MAX_RECV_DTOS, 99);
	SET(max_request_dtos, MAX_REQUEST_DTOS, 77);
	SET(max_recv_iov, MAX_RECV_IOV, 2);
	SET(max_request_iov, MAX_REQUEST_IOV, 3);
	SET(max_rdma_read_in, MAX_RDMA_READ_IN, 2);
	SET(max_rdma_read_out, MAX_RDMA_READ_OUT, 1);
	SET(max_rdma_read_iov, MAX_RDMA_READ_IOV, 1);
	SET(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, 2);
	SET(max_recv_dtos, MAX_RECV_DTOS, 5);
}

/* The completion queue need not hold what an endpoint had and what it gets. */
static void large_queues(void)
{
	const DAT_IA_ATTR *ia = &side_b.attr;
	DAT_EP_ATTR attr = node_attr;
	DAT_EP_PARAM param = {};
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	int i;

	if (!evd_new(&side_b, 16, DAT_EVD_DTO_FLAG, &evd))
		return;
	attr.max_recv_iov = 1;
	attr.max_request_dtos = 10;
	attr.max_recv_dtos = ia->max_dto_per_ep - 100;
	if (!OK(dat_ep_create(side_b.ia, side_b.pz, evd, evd, NULL, &attr, &ep)))
		return;
	param.ep_attr.max_message_size = 4096;
	for (i = 0; i < 3; i++)
		OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
				 &param));
	param.ep_attr.max_recv_dtos = attr.max_recv_dtos - 1;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	/* Both directions together are more than one queue holds, so there are two. */
	param.ep_attr.max_recv_dtos = ia->max_dto_per_ep;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	CHECK(attr_of(ep, &attr) && attr.max_recv_dtos >= ia->max_dto_per_ep);
}

/* Exactly what the IA says can be had, and no more. */
static void largest(void)
{
	const DAT_COUNT most = side_b.attr.max_dto_per_ep;
	struct listener listener;
	DAT_EP_ATTR attr = node_attr;
	struct node a = {}, b = {};

	attr.max_recv_dtos = most;
	attr.max_request_dtos = most;
	if (!evd_new(&side_b, 16, DAT_EVD_DTO_FLAG, &b.recv) ||
	    !evd_new(&side_b, 16, DAT_EVD_DTO_FLAG, &b.request) ||
	    !node_new(&b, &side_b, THREE_EVDS, &attr) ||
	    !attr_of(b.ep, &attr))
		return;
	CHECK(attr.max_recv_dtos >= most && attr.max_request_dtos >= most);
	if (node_new(&a, &side_a, THREE_EVDS, NULL) &&
	    listener_new(&listener, DAT_PSP_CONSUMER_FLAG) &&
	    pair_connect(&a, &b, &listener)) {
		OK(node_recv(&b, 0, 8, 1));
		OK(node_send(&a, 0, 8, 2, 0));
		want_dto(b.recv, b.ep, 1, DAT_DTO_SUCCESS, 8);
	}
}

/* One EVD for both directions, which no bind uses: each request is one completion. */
static bool many_node(struct node *node, struct side *side, DAT_COUNT n)
{
	DAT_EP_ATTR attr = node_attr;

	attr.max_recv_dtos = n;
	attr.max_request_dtos = n;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	if (!evd_new(side, 16, DAT_EVD_DTO_FLAG, &node->recv))
		return false;
	node->request = node->recv;
	return node_new(node, side, THREE_EVDS, &attr);
}

/* All that @n receives and @n sends make, which nobody has dequeued before. */
static bool many_taken(struct node *node, DAT_COUNT n)
{
	struct account account = {};
	DAT_EVENT event;
	DAT_COUNT i;

	for (i = 0; i < 2 * n; i++)
		if (!next_event(node->recv, &event) || !account_event(&account, node, &event))
			return false;
	return account_closed(&account, n, n) && CHECK_EQ(account.request.good, n) &&
	       CHECK_EQ(account.recv.good, n) && idle(node->ep) && nothing_more(node->recv);
}

/*
 * 50,000 DTOs are outstanding at each of two EPs, more than the largest completion queue of
 * Soft-RoCE holds. That is done once, whatever the run; with a kernel for debugging, where it
 * would take minutes, a part of it is.
 */
static void most_outstanding(void)
{
	struct node *nodes[2], a = {}, b = {};
	struct listener listener;
	DAT_COUNT n = 25000, i;
	u64 start = now_us();
	int side;

	if (n > side_a.attr.max_dto_per_ep)
		n = side_a.attr.max_dto_per_ep;
	if (!run_command("test -e /sys/kernel/debug/kmemleak"))
		n = rounds(n);
	if (!many_node(&a, &side_a, n) || !many_node(&b, &side_b, n))
		return;
	nodes[0] = &a;
	nodes[1] = &b;
	for (side = 0; side < 2; side++)
		for (i = 0; i < n; i++)
			if (!OK(node_recv(nodes[side], 0, 8, i | RECV)))
				return;
	if (!listener_new(&listener, DAT_PSP_CONSUMER_FLAG) || !pair_connect(&a, &b, &listener))
		return;
	for (i = 0; i < n; i++)
		for (side = 0; side < 2; side++)
			if (!OK(node_send(nodes[side], 8, 8, i, 0)))
				return;
	if (many_taken(&b, n) && many_taken(&a, n))
		note("%d receives and %d sends at once, at either end, in %llu ms", n, n,
		     (now_us() - start) / 1000);
}

/* ---- room --------------------------------------------------------------- */

/* mt:T13, mt:T14: at least as many as asked for, then no more. */
static void recv_room(void)
{
	struct node node = {};
	DAT_EP_ATTR attr;
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	if (!node_new(&node, &side_a, THREE_EVDS, NULL) ||
	    !attr_of(node.ep, &attr))
		return;
	do {
		ret = node_recv(&node, 0, 8, n++);
	} while (!ret && n < 100000);
	IS(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	CHECK(n - 1 >= attr.max_recv_dtos);
}

/* An EP that is made smaller while a thread posts receives on it */
struct shrink {
	struct node node;
	struct barrier barrier;
	struct thread thread;
	DAT_COUNT posted;
};

static int shrink_thread(void *arg)
{
	struct shrink *s = arg;

	barrier_wait(&s->barrier);
	while (s->posted < NODE_RECVS && !node_recv(&s->node, 0, 8, s->posted))
		s->posted++;
	return 0;
}

/* It has become smaller in time, or what has been posted does not fit. */
static bool shrink_once(struct shrink *s)
{
	DAT_EP_PARAM param = { .ep_attr.max_recv_dtos = NODE_RECVS / 2 };
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	s->barrier.n = 2;
	s->posted = 0;
	if (!node_ep(&s->node, NULL) || !thread_start(&s->thread, shrink_thread, s))
		return false;
	barrier_wait(&s->barrier);
	ret = dat_ep_modify(s->node.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param);
	thread_join(&s->thread);
	if (ret)
		BAD_ARG(ret, 3);
	return !failed() && attr_of(s->node.ep, &attr) &&
	       CHECK(attr.max_recv_dtos >= s->posted) &&
	       CHECK(s->posted >= NODE_RECVS / 2) && OK(dat_ep_free(s->node.ep));
}

static void shrink(void)
{
	struct shrink *s = scenario_alloc(sizeof(*s));
	unsigned int n;

	if (!s || !node_new(&s->node, &side_a, THREE_EVDS, NULL) ||
	    !OK(dat_ep_free(s->node.ep)))
		return;
	for (n = rounds(200); n && shrink_once(s); n--)
		;
}

/* mt:T16 */
static void no_credits(void)
{
	DAT_EP_ATTR attr = node_attr;
	DAT_RMR_TRIPLET remote;
	struct pair p = {};

	attr.max_rdma_read_out = 0;
	if (!pair_new(&p, THREE_EVDS, &attr, NULL))
		return;
	remote = remote_piece(&p.b.mem, 0, 64);
	IS(node_read(&p.a, 0, 64, &remote, 1, 0), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_CREDITS);
	OK(node_write(&p.a, 0, 64, &remote, 2, 0));
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 64);
}

static const struct scenario scenarios[] = {
	SCENARIO("T1 E.3 E.5 EP query and status", query),
	SCENARIO("M1 M2 T36 R2 F1 F5 F9 D1 D3 E20 mt:T9 an unconnected EP",
		 unconnected),
	SCENARIO("M4 E.4 A.5 mt:M4 mt:T11 modify: all or nothing", modify),
	SCENARIO("E21 E.4 modify: completion flags; other EPs' count",
		 completion_flags),
	SCENARIO("E.4 M4 modify: each attribute, and no other", each_attribute),
	SCENARIO("E.4 A3 modify: a queue larger than half of the device's",
		 large_queues),
	SCENARIO("E.1 mt:T13 an EP as large as the IA says", largest),
	SCENARIO("A3 E57 mt:T13 50,000 DTOs outstanding at an EP, on one EVD", most_outstanding),
	SCENARIO("mt:T13 mt:T14 room for receives", recv_room),
	SCENARIO("M4 E114 mt:T14 made smaller while another thread posts receives", shrink),
	SCENARIO("mt:T16 no outgoing reads", no_credits),
};

SCENARIO_TABLE(ep_table);
