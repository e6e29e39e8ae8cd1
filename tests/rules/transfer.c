// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transfers: all kinds, every byte looked at; completion flags; transfers that
 * fail.  What a post refuses is in args.c, how transfers end with a connection
 * in disconnect.c and order.c.
 */
#include "memory.h"

#define ABRUPT		DAT_CLOSE_ABRUPT_FLAG
#define BROKEN		DAT_CONNECTION_EVENT_BROKEN
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define LARGE		(1 << 20)

/* A connected pair, whose nodes have 1 MiB each. */
static bool large_pair(struct pair *p, const DAT_EP_ATTR *attr)
{
	return mem_new(&side_a, &p->a.mem, LARGE, DAT_MEM_PRIV_ALL_FLAG) &&
	       mem_new(&side_b, &p->b.mem, LARGE, DAT_MEM_PRIV_ALL_FLAG) &&
	       pair_new(p, THREE_EVDS, attr, NULL);
}

/* ---- every kind, every size --------------------------------------------- */

static void sends(void)
{
	static const u32 sizes[] = {
		0, 1, 2, 1023, 1024, 1025, 4095, 4097, 65536, LARGE / 2, LARGE,
	};
	struct pair p = {};
	unsigned int i;

	if (!large_pair(&p, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes) && !failed(); i++) {
		mem_fill(&p.a.mem, 0, sizes[i], i);
		memset(p.b.mem.va, 0xee, LARGE);
		OK(node_recv(&p.b, 0, LARGE, i));
		OK(node_send(&p.a, 0, sizes[i], 100 + i, 0));
		want_dto(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS, sizes[i]);
		want_dto(p.a.request, p.a.ep, 100 + i, DAT_DTO_SUCCESS,
			 sizes[i]);
		mem_check(&p.b.mem, 0, sizes[i], i);
		CHECK(sizes[i] == LARGE || p.b.mem.va[sizes[i]] == 0xee);
	}
	/* The other way, and in order (mt:T42). */
	for (i = 0; i < 8; i++) {
		mem_fill(&p.b.mem, i * 100, 100, 40 + i);
		OK(node_recv(&p.a, i * 100, 100, 200 + i));
	}
	for (i = 0; i < 8; i++)
		OK(node_send(&p.b, i * 100, 100, 300 + i, 0));
	for (i = 0; i < 8; i++) {
		want_dto(p.a.recv, p.a.ep, 200 + i, DAT_DTO_SUCCESS, 100);
		want_dto(p.b.request, p.b.ep, 300 + i, DAT_DTO_SUCCESS, 100);
		mem_check(&p.a.mem, i * 100, 100, 40 + i);
	}
}

static void zero_length(void)
{
	DAT_LMR_TRIPLET nonsense = { .lmr_context = 77, .virtual_address = 5 };
	DAT_RMR_TRIPLET remote;
	struct pair p = {};
	int i, done = 0;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	remote = remote_piece(&p.b.mem, 0, 0);
	/* No segment; and one of length 0, which is not looked at (mt:T3). */
	OK(node_recv_iov(&p.b, 0, NULL, 0));
	OK(node_recv_iov(&p.b, 1, &nonsense, 1));
	OK(node_recv(&p.b, 0, 10, 2));
	OK(dat_ep_post_send(p.a.ep, 1, &nonsense, cookie(0), 0));
	OK(dat_ep_post_send(p.a.ep, 0, NULL, cookie(1), 0));
	OK(dat_ep_post_rdma_write(p.a.ep, 0, NULL, cookie(2), &remote, 0));
	OK(dat_ep_post_rdma_read(p.a.ep, 0, NULL, cookie(3), &remote, 0));
	/* On iWARP what follows a read may complete before it. */
	for (; side_is_iwarp(&side_a) && done < 4; done++)
		want_dto(p.a.request, p.a.ep, done, DAT_DTO_SUCCESS, 0);
	OK(node_send(&p.a, 0, 0, 4, 0));
	for (i = 0; i < 3; i++)
		want_dto(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS, 0);
	for (; done < 5; done++)
		want_dto(p.a.request, p.a.ep, done, DAT_DTO_SUCCESS, 0);
}

/*
 * mt:T3, mt:T4: gathered and scattered in order, empty segments skipped.  The first one lies
 * behind the others.
 */
static void segments(void)
{
	const size_t first = 50001;
	DAT_LMR_TRIPLET from[4], into[4];
	DAT_RMR_TRIPLET remote;
	struct pair p = {};
	struct mem *a = &p.a.mem, *b = &p.b.mem;
	struct mem line = { .va = scenario_alloc(1000) };

	if (!line.va || !pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	mem_fill(&line, 0, 1000, 5);
	from[0] = piece(a, first, 1);
	from[1] = (DAT_LMR_TRIPLET) { .lmr_context = ~0U };
	from[2] = piece(a, 3, 700);
	from[3] = piece(a, 10000, 299);
	memcpy(a->va + first, line.va, 1);
	memcpy(a->va + 3, line.va + 1, 700);
	memcpy(a->va + 10000, line.va + 701, 299);
	into[0] = piece(b, 7, 500);
	into[1] = piece(b, 30000, 400);
	into[2] = piece(b, 20001, 200);
	into[3] = piece(b, 1, 1);
	OK(node_recv_iov(&p.b, 4, into, 1));
	OK(dat_ep_post_send(p.a.ep, 4, from, cookie(2), 0));
	want_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS, 1000);
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 1000);
	CHECK(!memcmp(b->va + 7, line.va, 500));
	CHECK(!memcmp(b->va + 30000, line.va + 500, 400));
	CHECK(!memcmp(b->va + 20001, line.va + 900, 100));
	CHECK(!b->va[20101] && !b->va[1]);

	/* RDMA write gathers, RDMA read scatters; the rest stays (mt:T33). */
	remote = remote_piece(b, 40000, 2000);
	OK(dat_ep_post_rdma_write(p.a.ep, 4, from, cookie(3), &remote, 0));
	want_dto(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS, 1000);
	mem_arrives(b, 40000, 1000, 5);
	CHECK(!b->va[41000]);
	if (side_a.attr.max_iov_segments_per_rdma_read < 4)
		return;
	remote = remote_piece(b, 40000, 1000);
	memset(a->va, 0, NODE_MEMORY);
	from[3].segment_length = 500;
	OK(dat_ep_post_rdma_read(p.a.ep, 4, from, cookie(4), &remote, 0));
	want_dto(p.a.request, p.a.ep, 4, DAT_DTO_SUCCESS, 1000);
	CHECK(!memcmp(a->va + first, line.va, 1));
	CHECK(!memcmp(a->va + 3, line.va + 1, 700));
	CHECK(!memcmp(a->va + 10000, line.va + 701, 299) && !a->va[10299]);
}

static void rdma(void)
{
	static const u32 sizes[] = { 0, 1, 4096, 70001, LARGE / 2, LARGE - 4 };
	struct mem *a, *b;
	struct pair p = {};
	DAT_RMR_TRIPLET r;
	unsigned int i;
	size_t n;

	if (!large_pair(&p, NULL))
		return;
	a = &p.a.mem;
	b = &p.b.mem;
	for (i = 0; i < ARRAY_SIZE(sizes) && !failed(); i++) {
		n = sizes[i];
		r = remote_piece(b, 1, n);
		mem_fill(a, 0, n, i);
		memset(b->va, 0x11, LARGE);
		OK(node_write(&p.a, 0, n, &r, i, 0));
		want_dto(p.a.request, p.a.ep, i, DAT_DTO_SUCCESS, n);
		mem_arrives(b, 1, n, i);
		CHECK(b->va[0] == 0x11 && b->va[n + 1] == 0x11);
		mem_fill(b, 1, n, 50 + i);
		memset(a->va, 0x22, LARGE);
		OK(node_read(&p.a, 3, n, &r, 10 + i, 0));
		want_dto(p.a.request, p.a.ep, 10 + i, DAT_DTO_SUCCESS, n);
		mem_check(a, 3, n, 50 + i);
		CHECK(a->va[2] == 0x22 && a->va[n + 3] == 0x22);
	}
	/* mt:T33: the shorter length counts, where it may be shorter. */
	r = remote_piece(b, 0, 100);
	memset(a->va, 0x22, 200);
	OK(node_read(&p.a, 0, 200, &r, 1, 0));
	want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, 100);
	CHECK_EQ(a->va[100], 0x22);
	r = remote_piece(b, 0, 200);
	OK(node_write(&p.a, 0, 100, &r, 2, 0));
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 100);
	r = remote_piece(b, 0, 100);
	IS(node_read(&p.a, 0, 99, &r, 3, 0), DAT_LENGTH_ERROR, 0);
	IS(node_write(&p.a, 0, 101, &r, 3, 0), DAT_LENGTH_ERROR, 0);
	nothing_more(p.a.request);
	nothing_more(p.b.recv);
}

/* mt:T7, mt:T8: the arrays are the consumer's again, and the memory at the end. */
static void after_the_post(void)
{
	struct mem *a, *b;
	struct pair p = {};
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	a = &p.a.mem;
	b = &p.b.mem;
	mem_fill(a, 4096, 64, 1);
	mem_fill(a, 8192, 64, 2);
	/* Held up, since nobody receives it. */
	t = piece(a, 0, 64);
	OK(dat_ep_post_send(p.a.ep, 1, &t, cookie(1), 0));
	t = piece(a, 4096, 64);
	OK(dat_ep_post_send(p.a.ep, 1, &t, cookie(2), 0));
	t = piece(a, 8192, 64);
	r = remote_piece(b, 32768, 64);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, cookie(3), &r, 0));
	memset(&t, 0xff, sizeof(t));
	memset(&r, 0xff, sizeof(r));
	mem_fill(a, 0, 64, 77);
	t = piece(b, 0, 64);
	OK(dat_ep_post_recv(p.b.ep, 1, &t, cookie(4), 0));
	t = piece(b, 4096, 64);
	OK(dat_ep_post_recv(p.b.ep, 1, &t, cookie(5), 0));
	memset(&t, 0xff, sizeof(t));
	want_dto(p.b.recv, p.b.ep, 4, DAT_DTO_SUCCESS, 64);
	want_dto(p.b.recv, p.b.ep, 5, DAT_DTO_SUCCESS, 64);
	want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, 64);
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 64);
	want_dto(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS, 64);
	mem_check(b, 4096, 64, 1);
	mem_check(b, 32768, 64, 2);
}

/* ---- order -------------------------------------------------------------- */

/* mt:T44: read a place, then overwrite it: the read sees the old. */
static void fenced(void)
{
	DAT_RMR_TRIPLET r;
	struct pair p = {};
	int i;

	if (!large_pair(&p, NULL))
		return;
	r = remote_piece(&p.b.mem, 0, 65536);
	for (i = 0; i < 20 && !failed(); i++) {
		mem_fill(&p.b.mem, 0, 65536, i);
		mem_fill(&p.a.mem, 65536, 65536, 100 + i);
		OK(node_recv(&p.b, 131072, 8, 3));
		OK(node_read(&p.a, 0, 65536, &r, 1, 0));
		OK(node_write(&p.a, 65536, 65536, &r, 2,
			      DAT_COMPLETION_BARRIER_FENCE_FLAG));
		OK(node_send(&p.a, 0, 8, 3, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, 65536);
		want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 65536);
		want_dto(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS, 8);
		want_dto(p.b.recv, p.b.ep, 3, DAT_DTO_SUCCESS, 8);
		mem_check(&p.a.mem, 0, 65536, i);
		mem_check(&p.b.mem, 0, 65536, 100 + i);
	}
}

/* One EVD for everything: what comes before what (E45, E46, D44). */
static void one_evd(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int round, i;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (round = 0; round < 20 && !failed(); round++) {
		for (i = 0; i < 4; i++)
			OK(node_recv(&b, 0, 8, i));
		start_connect(&a, listener.qual);
		next_request(&listener, &cr);
		OK(dat_cr_accept(cr, b.ep, 0, NULL));
		want_event(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
		OK(node_send(&a, 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG));
		OK(node_send(&a, 0, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG));
		OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		want_conn(b.conn, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		want_dto(b.recv, b.ep, 0, DAT_DTO_SUCCESS, 8);
		want_dto(b.recv, b.ep, 1, DAT_DTO_SUCCESS, 8);
		want_dto(b.recv, b.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
		want_dto(b.recv, b.ep, 3, DAT_DTO_ERR_FLUSHED, 0);
		want_conn(b.conn, b.ep, DISCONNECTED);
		want_conn(a.conn, a.ep, DISCONNECTED);
		OK(dat_ep_reset(a.ep));
		OK(dat_ep_reset(b.ep));
	}
}

/* ---- completion flags --------------------------------------------------- */

/* Again and again while the queue is full. */
static DAT_RETURN write_when_room(struct node *node, const DAT_RMR_TRIPLET *to,
				  u64 number, DAT_COMPLETION_FLAGS flags)
{
	u64 end = deadline();
	DAT_RETURN ret;

	for (;;) {
		ret = node_write(node, 0, to->segment_length, to, number, flags);
		if (ret != DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				     DAT_RESOURCE_MEMORY) || now_us() > end)
			return ret;
		sleep_us(100);
	}
}

static void suppressed(void)
{
	DAT_RMR_TRIPLET r;
	struct pair p = {};
	int i, n;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	/* Several queues full; a slot is free once a later one completed. */
	for (n = 0; n < 6; n++) {
		for (i = 0; i < NODE_REQUESTS / 2; i++)
			OK(node_recv(&p.b, 0, 64, i));
		for (i = 0; i < NODE_REQUESTS / 2 - 1; i++)
			OK(node_send(&p.a, 0, 64, i,
				     DAT_COMPLETION_SUPPRESS_FLAG));
		OK(node_send(&p.a, 0, 64, 99, 0));
		want_dto(p.a.request, p.a.ep, 99, DAT_DTO_SUCCESS, 64);
		for (i = 0; i < NODE_REQUESTS / 2; i++)
			want_dto(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS, 64);
	}
	nothing_more(p.a.request);
	/* mt:T15: nothing but suppressed ones, far more than slots. */
	r = remote_piece(&p.b.mem, 0, 64);
	for (i = 0; i < 500 && !failed(); i++)
		OK(write_when_room(&p.a, &r, i, DAT_COMPLETION_SUPPRESS_FLAG));
	nothing_more(p.a.request);
	/* mt:T20: a failure is reported.  On iWARP the peer refuses in silence. */
	if (side_is_iwarp(&side_a))
		return;
	r.rmr_context ^= 0x55;
	OK(write_when_room(&p.a, &r, 1000, DAT_COMPLETION_SUPPRESS_FLAG));
	want_refused(&p.a, 1000);
}

/* ... and so is a flush. */
static void suppressed_flushed(void)
{
	struct pair p = {};

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	OK(node_send(&p.a, 0, 64, 5, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(dat_ep_disconnect(p.a.ep, ABRUPT));
	want_conn(p.a.conn, p.a.ep, DISCONNECTED);
	want_dto(p.a.request, p.a.ep, 5, DAT_DTO_ERR_FLUSHED, 0);
	nothing_more(p.a.request);
}

void quiet_transfers(struct pair *p)
{
	const DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_EP_ATTR attr_a = node_attr, attr_b = node_attr;
	int i;

	attr_a.request_completion_flags = quiet;
	attr_b.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (!pair_new(p, THREE_EVDS, &attr_a, &attr_b))
		return;
	for (i = 0; i < 5; i++)
		OK(node_recv(&p->b, 0, 64, i));
	for (i = 0; i < 4; i++)
		OK(node_send(&p->a, 0, 64, 10 + i, quiet));
	/* The last of each kind notifies; all others are there by then. */
	OK(node_send(&p->a, 0, 64, 14, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	for (i = 0; i < 5; i++) {
		want_dto(p->b.recv, p->b.ep, i, DAT_DTO_SUCCESS, 64);
		want_dto(p->a.request, p->a.ep, 10 + i, DAT_DTO_SUCCESS, 64);
	}
	/* mt:T28: an end notifies, whatever the flags; on an SRQ it flushes nothing (mt:M56). */
	OK(node_recv(&p->b, 0, 64, 6));
	OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	if (!p->b.srq)
		want_dto(p->b.recv, p->b.ep, 6, DAT_DTO_ERR_FLUSHED, 0);
	want_conn(p->b.conn, p->b.ep, DISCONNECTED);
	if (p->b.srq)
		left_in_srq(&p->b, 1);
	want_conn(p->a.conn, p->a.ep, DISCONNECTED);
}

/*
 * mt:T21, E21: legal on an endpoint whose attributes allow it.  On any other the
 * flags are refused, which args.c shows.
 */
static void unsignalled_in_order(void)
{
	struct pair p = {};

	quiet_transfers(&p);
}

/* ---- room --------------------------------------------------------------- */

/* mt:T13, mt:T14: nobody receives, so nothing completes. */
static void request_room(void)
{
	DAT_EP_PARAM param;
	struct pair p = {};
	DAT_RETURN ret;
	int n = 0, i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &param)))
		return;
	while (!(ret = node_send(&p.a, 0, 8, n, 0)) && n < 100000)
		n++;
	IS(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	CHECK(n >= param.ep_attr.max_request_dtos);
	silent(p.a.request);
	/* mt:T51: and now they go. */
	OK(node_recv(&p.b, 0, 8, 0));
	want_dto(p.b.recv, p.b.ep, 0, DAT_DTO_SUCCESS, 8);
	want_dto(p.a.request, p.a.ep, 0, DAT_DTO_SUCCESS, 8);
	OK(node_send(&p.a, 0, 8, n++, 0));
	IS(node_send(&p.a, 0, 8, n, 0), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_MEMORY);
	for (i = 1; i < n && !failed(); i++) {
		OK(node_recv(&p.b, 0, 8, i));
		want_dto(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS, 8);
		want_dto(p.a.request, p.a.ep, i, DAT_DTO_SUCCESS, 8);
	}
}

/* D47, mt:T11: no EVD, no completions; the transfers are done all the same. */
static void no_evds(void)
{
	struct node a = { .side = &side_a }, b = { .side = &side_b };
	struct listener listener = {};
	DAT_RMR_TRIPLET r;
	int i;

	if (!evd_new(&side_a, 8, DAT_EVD_CONNECTION_FLAG, &a.conn) ||
	    !evd_new(&side_b, 8, DAT_EVD_CONNECTION_FLAG, &b.conn) ||
	    !mem_new(&side_a, &a.mem, 4096, DAT_MEM_PRIV_ALL_FLAG) ||
	    !mem_new(&side_b, &b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG) ||
	    !node_ep(&a, NULL) || !node_ep(&b, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !pair_connect(&a, &b, &listener))
		return;
	r = remote_piece(&b.mem, 0, 1000);
	for (i = 0; i < 100 && !failed(); i++) {
		mem_fill(&a.mem, 0, 1000, i);
		OK(write_when_room(&a, &r, i, 0));
	}
	OK(node_recv(&b, 2000, 8, 1));
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(a.conn, a.ep, DISCONNECTED);
	want_conn(b.conn, b.ep, DISCONNECTED);
	mem_check(&b.mem, 0, 1000, 99);
}

/* ---- transfers that fail ------------------------------------------------ */

/*
 * How the connection of @node ends, whose peer does not accept request @number: the request
 * fails with @status and breaks the connection.  False: the peer, which was told of it as well,
 * has disconnected before this side's device said so.  Then the request may be flushed.
 */
static bool breaks_by(struct node *node, u64 number, DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT request, end;

	if (!want_event(node->request, DAT_DTO_COMPLETION_EVENT, &request) ||
	    !next_event(node->conn, &end))
		return false;
	dto = &request.event_data.dto_completion_event_data;
	CHECK_EQ(dto->user_cookie.as_64, number);
	CHECK_EQ(dto->transfered_length, 0);
	CHECK(end.event_data.connect_event_data.ep_handle == node->ep);
	if (end.event_number != DAT_CONNECTION_EVENT_DISCONNECTED) {
		CHECK_EQ(end.event_number, DAT_CONNECTION_EVENT_BROKEN);
		return CHECK_EQ(dto->status, status);
	}
	CHECK(dto->status == DAT_DTO_ERR_FLUSHED || dto->status == status);
	return false;
}

static bool too_long_once(void)
{
	struct pair p = {};
	bool broken;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return false;
	OK(node_recv(&p.b, 0, 32, 50));
	OK(node_recv(&p.b, 0, 32, 0));
	OK(node_recv(&p.a, 0, 64, 2));
	OK(node_send(&p.a, 0, 64, 1, 0));
	broken = breaks_by(&p.a, 1, DAT_DTO_ERR_REMOTE_RESPONDER);
	want_dto(p.a.recv, p.a.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECTED);
	nothing_more(p.a.conn);
	/* The refusal may be there, and the disconnect for it here, before the device says why. */
	ended(&p.b);
	/* rxe reports an operation error where hardware says length. */
	want_dto(p.b.recv, p.b.ep, 50, DAT_DTO_ERR_LOCAL_EP, 0);
	want_dto(p.b.recv, p.b.ep, 0, DAT_DTO_ERR_FLUSHED, 0);
	nothing_more(p.b.conn);
	pair_free(&p);
	return broken;
}

/* Until the refusal is seen on this side before the end of the connection. */
static void too_long(void)
{
	u64 until = deadline();

	while (!too_long_once() && !failed())
		CHECK(now_us() < until);
}

/* By a transfer of 64 bytes to @remote, held up until all is posted. */
static bool refused_once(const DAT_RMR_TRIPLET *remote, bool read)
{
	struct pair p = {};
	bool broken;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return false;
	OK(node_recv(&p.a, 0, 64, 4));
	OK(node_send(&p.a, 0, 8, 6, 0));
	OK(read ? node_read(&p.a, 0, 64, remote, 7, 0) :
		  node_write(&p.a, 0, 64, remote, 7, 0));
	OK(node_send(&p.a, 0, 8, 8, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(node_recv(&p.b, 0, 32, 5));
	OK(node_recv(&p.b, 0, 32, 9));
	want_dto(p.b.recv, p.b.ep, 5, DAT_DTO_SUCCESS, 8);
	want_dto(p.a.request, p.a.ep, 6, DAT_DTO_SUCCESS, 8);
	broken = breaks_by(&p.a, 7, DAT_DTO_ERR_REMOTE_ACCESS);
	want_dto(p.a.request, p.a.ep, 8, DAT_DTO_ERR_FLUSHED, 0);
	want_dto(p.a.recv, p.a.ep, 4, DAT_DTO_ERR_FLUSHED, 0);
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECTED);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	nothing_more(p.a.request);
	nothing_more(p.a.conn);
	/* The far side sees the error itself, or the end of its peer. */
	ended(&p.b);
	want_dto(p.b.recv, p.b.ep, 9, DAT_DTO_ERR_FLUSHED, 0);
	nothing_more(p.b.conn);
	pair_free(&p);
	return broken;
}

/* The same, as often as the peer's disconnect comes first. */
static void refused_by_peer(const DAT_RMR_TRIPLET *remote, bool read)
{
	u64 until = deadline();

	while (!failed() && !refused_once(remote, read))
		CHECK(now_us() < until);
}

static void remote_access(void)
{
	DAT_PZ_HANDLE own = side_b.pz;
	struct mem reads, writes, dead, elsewhere;
	DAT_RMR_TRIPLET remote;
	unsigned int i;

	if (!mem_new(&side_b, &reads, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG |
		     DAT_MEM_PRIV_REMOTE_READ_FLAG) ||
	    !mem_new(&side_b, &writes, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
		     DAT_MEM_PRIV_REMOTE_WRITE_FLAG) ||
	    !mem_new(&side_b, &dead, 4096, DAT_MEM_PRIV_ALL_FLAG) ||
	    !OK(dat_lmr_free(dead.lmr)) ||
	    !OK(dat_pz_create(side_b.ia, &side_b.pz)) ||
	    !mem_new(&side_b, &elsewhere, 4096, DAT_MEM_PRIV_ALL_FLAG))
		return;
	side_b.pz = own;
	mem_fill(&reads, 0, 4096, 3);
	mem_fill(&writes, 0, 4096, 3);
	mem_fill(&dead, 0, 4096, 3);
	mem_fill(&elsewhere, 0, 4096, 3);
	/* No right; beyond the end; a context that is none, or no more. */
	remote = remote_piece(&reads, 0, 64);
	refused_by_peer(&remote, false);
	remote = remote_piece(&writes, 0, 64);
	refused_by_peer(&remote, true);
	remote = remote_piece(&reads, 4096 - 63, 64);
	refused_by_peer(&remote, true);
	remote = remote_piece(&reads, 0, 64);
	remote.rmr_context ^= 0x10000;
	refused_by_peer(&remote, true);
	/* mt:M2: all rights, but another zone than the endpoint's. */
	for (i = 0; i < 2; i++) {
		remote = remote_piece(&dead, 0, 64);
		refused_by_peer(&remote, i);
		remote = remote_piece(&elsewhere, 0, 64);
		refused_by_peer(&remote, i);
	}
	mem_check(&reads, 0, 4096, 3);
	mem_check(&writes, 0, 4096, 3);
	mem_check(&dead, 0, 4096, 3);
	mem_check(&elsewhere, 0, 4096, 3);
}

/* D18: the drain fails in the middle, and yet it is DISCONNECTED. */
static void drain_fails(void)
{
	DAT_RMR_TRIPLET r;
	struct pair p = {};

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	r = remote_piece(&p.b.mem, 0, 64);
	r.rmr_context ^= 0x55;
	OK(node_send(&p.a, 0, 8, 0, 0));
	OK(node_write(&p.a, 0, 64, &r, 1, 0));
	OK(node_send(&p.a, 0, 8, 2, 0));
	OK(node_send(&p.a, 0, 8, 3, 0));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	OK(node_recv(&p.b, 0, 64, 9));
	want_conn(p.a.conn, p.a.ep, DISCONNECTED);
	want_dto(p.a.request, p.a.ep, 0, DAT_DTO_SUCCESS, 8);
	want_refused(&p.a, 1);
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	want_dto(p.a.request, p.a.ep, 3, DAT_DTO_ERR_FLUSHED, 0);
	nothing_more(p.a.conn);
}

static const struct scenario scenarios[] = {
	SCENARIO("D41 mt:T2 mt:T42 mt:T48 mt:T49 send and receive, 0 to 1 MiB",
		 sends, .srq = SRQ_BOTH),
	SCENARIO("mt:T2 mt:T3 mt:T57 transfers of length 0", zero_length, .srq = SRQ_B),
	SCENARIO("mt:T3 mt:T4 mt:T33 mt:T57 scatter and gather", segments, .srq = SRQ_B),
	SCENARIO("mt:T2 mt:T33 mt:T43 mt:T48 mt:T49 RDMA write and read", rdma,
		 .srq = SRQ_BOTH),
	SCENARIO_IB("mt:T7 mt:T8 after the post", after_the_post),
	SCENARIO("mt:T23 mt:T44 a read, and a fenced write behind it", fenced),
	SCENARIO("E45 E46 D44 order on one EVD", one_evd),
	SCENARIO("mt:T15 mt:T20 mt:T24 mt:T40 suppressed completions",
		 suppressed, .srq = SRQ_B),
	SCENARIO_IB("mt:T20 mt:T24 D40 suppressed, and flushed",
		    suppressed_flushed),
	SCENARIO("mt:M60 mt:T21 mt:T22 mt:T24 mt:T28 unsignalled and solicited completions",
		 unsignalled_in_order, .srq = SRQ_B),
	SCENARIO_IB("mt:T13 mt:T14 mt:T51 room for requests", request_room),
	SCENARIO("D47 mt:T11 no EVDs", no_evds),
	SCENARIO_IB("mt:T50 mt:T52 E48 a message too long", too_long),
	SCENARIO_IB("T33 D52 D53 L7 mt:M2 mt:M46 mt:T32 mt:T41 mt:T52 mt:T55 "
		    "remote memory that is not there",
		    remote_access),
	SCENARIO_IB("D18 E48 a drain fails", drain_fails),
};

SCENARIO_TABLE(transfer_table);
