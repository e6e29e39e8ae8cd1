// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues: what they are made with, who takes what is posted, and what
 * becomes of it when a connection ends.  Side b has the SRQ.  An IA whose device has none says
 * so, which the first scenario proves.
 */
#include "pool.h"
#include "stage.h"

static const DAT_SRQ_ATTR pool_attr = {
	.max_recv_dtos = POOL_RECVS,
	.max_recv_iov = 2,
	.low_watermark = DAT_SRQ_LW_DEFAULT,
};

static DAT_RETURN srq_new(const DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR own = *attr;

	return dat_srq_create(side_b.ia, side_b.pz, &own, srq);
}

bool srqs_here(void)
{
	if (!side_b.provider.srq_supported)
		note("this IA has no shared receive queues");
	return side_b.provider.srq_supported;
}

bool marks_here(void)
{
	if (!srqs_here())
		return false;
	if (!(side_b.provider.srq_watermarks_supported & 1))
		note("this IA has no low watermarks");
	return side_b.provider.srq_watermarks_supported & 1;
}

bool pool_new(struct pool *pool)
{
	return mem_new(&side_b, &pool->mem, POOL_RECVS * BUFFER,
		       DAT_MEM_PRIV_LOCAL_WRITE_FLAG) &&
	       OK(srq_new(&pool_attr, &pool->srq));
}

DAT_RETURN pool_post(struct pool *pool, u64 number)
{
	DAT_LMR_TRIPLET iov = piece(&pool->mem, number % POOL_RECVS * BUFFER, BUFFER);

	return dat_srq_post_recv(pool->srq, 1, &iov, cookie(number));
}

void pool_fill(struct pool *pool, int n)
{
	while (n--)
		OK(pool_post(pool, n));
}

static DAT_COUNT outstanding(const struct pool *pool)
{
	DAT_SRQ_PARAM param = {};

	OK(dat_srq_query(pool->srq, DAT_SRQ_FIELD_ALL, &param));
	return param.outstanding_dto_count;
}

/* An EP of side b on the SRQ, in the place of the one that node_new() makes. */
static bool pool_node(struct node *node, struct pool *pool, enum evds evds)
{
	return node_new(node, &side_b, evds, NULL) &&
	       OK(dat_ep_free(node->ep)) &&
	       OK(dat_ep_create_with_srq(side_b.ia, side_b.pz, node->recv, node->request,
					 node->conn, pool->srq, &node_attr, &node->ep));
}

bool pool_pair(struct pair *pair, struct pool *pool, enum evds evds)
{
	return node_new(&pair->a, &side_a, evds, NULL) &&
	       pool_node(&pair->b, pool, evds) &&
	       listener_new(&pair->listener, DAT_PSP_CONSUMER_FLAG) &&
	       pair_connect(&pair->a, &pair->b, &pair->listener);
}

/* The next completion of @node's receives; its number in @number. */
static bool next_taken(struct node *node, DAT_DTO_COMPLETION_STATUS status, u64 *number)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!want_event(node->recv, DAT_DTO_COMPLETION_EVENT, &event))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	*number = dto->user_cookie.as_64;
	return CHECK(dto->ep_handle == node->ep) && CHECK_EQ(dto->status, status) &&
	       (status || CHECK_EQ(dto->transfered_length, BUFFER));
}

bool pool_send(struct pair *pair, int n)
{
	while (n--)
		if (!OK(node_send(&pair->a, 0, BUFFER, 7, 0)) ||
		    !want_done(pair->a.request, pair->a.ep, 7, DAT_DTO_SUCCESS))
			return false;
	return true;
}

void pool_taken(struct pair *pair, int n)
{
	u64 number;

	while (n-- && next_taken(&pair->b, DAT_DTO_SUCCESS, &number))
		;
}

/* One message of @pair, which has three EVDs; the receive that it took in @number. */
static bool pool_message(struct pair *pair, struct pool *pool, u64 *number)
{
	u8 seed = random_u32();

	mem_fill(&pair->a.mem, 0, BUFFER, seed);
	return OK(node_send(&pair->a, 0, BUFFER, 7, 0)) &&
	       want_done(pair->a.request, pair->a.ep, 7, DAT_DTO_SUCCESS) &&
	       next_taken(&pair->b, DAT_DTO_SUCCESS, number) &&
	       mem_check(&pool->mem, *number % POOL_RECVS * BUFFER, BUFFER, seed);
}

static bool pair_ends(struct pair *pair, DAT_CLOSE_FLAGS flags)
{
	return OK(dat_ep_disconnect(pair->b.ep, flags)) &&
	       want_conn(pair->b.conn, pair->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       want_conn(pair->a.conn, pair->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ---- creation ------------------------------------------------------------- */

static void bad_attr(DAT_COUNT dtos, DAT_COUNT iov, DAT_COUNT lw)
{
	DAT_SRQ_ATTR attr = { dtos, iov, lw };
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	if (!BAD_ARG(srq_new(&attr, &srq), 3))
		FAIL("of %d receives, %d segments, mark %d", dtos, iov, lw);
}

static void none_offered(void)
{
	DAT_SRQ_HANDLE srq;

	CHECK_EQ(side_b.attr.max_srqs, 0);
	CHECK_EQ(side_b.attr.max_ep_per_srq, 0);
	CHECK_EQ(side_b.attr.max_recv_per_srq, 0);
	CHECK_EQ(side_b.provider.srq_watermarks_supported, 0);
	CHECK_EQ(side_b.provider.srq_info_supported, 0);
	IS(srq_new(&pool_attr, &srq), DAT_MODEL_NOT_SUPPORTED, 0);
}

static void creation(void)
{
	const DAT_IA_ATTR *ia = &side_b.attr;
	DAT_SRQ_ATTR attr = pool_attr;
	DAT_SRQ_PARAM param = {};
	struct pool pool = {};

	BAD_ARG(dat_srq_create(side_b.ia, side_b.pz, NULL, &pool.srq), 3);
	BAD_ARG(dat_srq_create(side_b.ia, side_b.pz, &attr, NULL), 4);
	/* The PZ of another IA. */
	BAD_HANDLE(dat_srq_create(side_b.ia, side_a.pz, &attr, &pool.srq), PZ);
	if (!srqs_here()) {
		none_offered();
		return;
	}
	CHECK(ia->max_srqs > 0);
	CHECK(ia->max_ep_per_srq > 0);
	CHECK(ia->max_recv_per_srq >= POOL_RECVS);
	CHECK_EQ(side_b.provider.srq_info_supported, 0x10);
	bad_attr(0, 1, 0);
	bad_attr(-1, 1, 0);
	bad_attr(ia->max_recv_per_srq + 1, 1, 0);
	bad_attr(1, 0, 0);
	bad_attr(1, -1, 0);
	bad_attr(1, ia->max_iov_segments_per_dto + 1, 0);
	bad_attr(1, 1, 1);
	if (!pool_new(&pool))
		return;
	has_type(pool.srq, DAT_HANDLE_TYPE_SRQ);
	BAD_ARG(dat_srq_query(pool.srq, DAT_SRQ_FIELD_ALL + 1, &param), 2);
	BAD_ARG(dat_srq_query(pool.srq, DAT_SRQ_FIELD_ALL, NULL), 3);
	OK(dat_srq_query(pool.srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK(param.ia_handle == side_b.ia);
	CHECK(param.pz_handle == side_b.pz);
	CHECK_EQ(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	CHECK_EQ(param.max_recv_dtos, POOL_RECVS);
	CHECK_EQ(param.max_recv_iov, pool_attr.max_recv_iov);
	CHECK_EQ(param.low_watermark, 0);
	CHECK_EQ(param.available_dto_count, DAT_VALUE_UNKNOWN);
	CHECK_EQ(param.outstanding_dto_count, 0);
	/* mt:M3: the SRQ counts. */
	mem_free(&pool.mem);
	BAD_STATE(dat_pz_free(side_b.pz), PZ_IN_USE);
	OK(dat_srq_free(pool.srq));
	BAD_HANDLE(dat_srq_free(pool.srq), SRQ);
	BAD_HANDLE(dat_srq_query(pool.srq, 0, &param), SRQ);
}

static void posts(void)
{
	DAT_LMR_TRIPLET iov[3];
	struct pool pool = {};
	struct mem other = {};
	DAT_PZ_HANDLE own;
	int i;

	if (!srqs_here() || !pool_new(&pool) ||
	    !mem_new(&side_b, &other, BUFFER, DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return;
	for (i = 0; i < 3; i++)
		iov[i] = piece(&pool.mem, 0, 1);
	BAD_ARG(dat_srq_post_recv(pool.srq, 3, iov, cookie(1)), 2);
	BAD_ARG(dat_srq_post_recv(pool.srq, -1, iov, cookie(1)), 2);
	BAD_ARG(dat_srq_post_recv(pool.srq, 1, NULL, cookie(1)), 3);
	iov[0] = piece(&pool.mem, 1, pool.mem.size);
	BAD_ARG(dat_srq_post_recv(pool.srq, 1, iov, cookie(1)), 3);
	iov[0] = piece(&other, 0, 1);
	IS(dat_srq_post_recv(pool.srq, 1, iov, cookie(1)), DAT_PRIVILEGES_VIOLATION,
	   DAT_PRIVILEGES_WRITE);
	iov[0].lmr_context ^= 0x5a5a00;
	IS(dat_srq_post_recv(pool.srq, 1, iov, cookie(1)), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_WRITE);
	mem_free(&other);
	/* An LMR of another zone than the SRQ's. */
	own = side_b.pz;
	if (!OK(dat_pz_create(side_b.ia, &side_b.pz)))
		return;
	mem_new(&side_b, &other, BUFFER, DAT_MEM_PRIV_ALL_FLAG);
	iov[0] = piece(&other, 0, 1);
	IS(dat_srq_post_recv(pool.srq, 1, iov, cookie(1)), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_WRITE);
	mem_free(&other);
	OK(dat_pz_free(side_b.pz));
	side_b.pz = own;
	CHECK_EQ(outstanding(&pool), 0);
	/* mt:M58, and mt:T3: nothing to fill. */
	OK(dat_srq_post_recv(pool.srq, 0, NULL, cookie(0)));
	for (i = 1; i < POOL_RECVS; i++)
		OK(pool_post(&pool, i));
	IS(pool_post(&pool, i), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	CHECK_EQ(outstanding(&pool), POOL_RECVS);
	/* mt:M52: they complete nowhere. */
	OK(dat_srq_free(pool.srq));
	mem_free(&pool.mem);
}

/* ---- endpoints ------------------------------------------------------------ */

static DAT_RETURN ep_on(struct node *node, DAT_PZ_HANDLE pz, struct pool *pool,
			const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create_with_srq(side_b.ia, pz, node->recv, node->request, node->conn,
				      pool->srq, attr, ep);
}

static void ep_creation(void)
{
	DAT_EP_ATTR attr = node_attr;
	DAT_EP_PARAM param = {};
	struct pool pool = {};
	struct node node = {};
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	if (!srqs_here() || !pool_new(&pool) || !pool_node(&node, &pool, THREE_EVDS))
		return;
	BAD_ARG(ep_on(&node, side_b.pz, &pool, NULL, &ep), 7);
	BAD_ARG(ep_on(&node, side_b.pz, &pool, &node_attr, NULL), 8);
	attr.max_request_dtos = side_b.attr.max_dto_per_ep + 1;
	BAD_ARG(ep_on(&node, side_b.pz, &pool, &attr, &ep), 7);
	attr = node_attr;
	attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	BAD_ARG(ep_on(&node, side_b.pz, &pool, &attr, &ep), 7);
	/* What is said of the segments of a receive is not looked at (E.2). */
	attr = node_attr;
	attr.max_recv_iov = -1;
	if (OK(ep_on(&node, side_b.pz, &pool, &attr, &ep))) {
		OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
		CHECK(param.srq_handle == pool.srq);
		CHECK_EQ(param.ep_attr.max_recv_iov, pool_attr.max_recv_iov);
		CHECK_EQ(param.ep_attr.max_recv_dtos, node_attr.max_recv_dtos);
		/* RULING 21 */
		BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &param), 2);
		OK(dat_ep_free(ep));
	}
	/* mt:M50 */
	if (!OK(dat_pz_create(side_b.ia, &pz)))
		return;
	if (side_b.provider.srq_ep_pz_difference_supported) {
		OK(ep_on(&node, pz, &pool, &node_attr, &ep));
		OK(dat_ep_free(ep));
	} else {
		BAD_ARG(ep_on(&node, pz, &pool, &node_attr, &ep), 2);
		param.pz_handle = pz;
		BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_PZ_HANDLE, &param), 3);
	}
	OK(dat_pz_free(pz));
	/* mt:M51, RULING 31 */
	BAD_STATE(node_recv(&node, 0, 1, 1), SRQ_IN_USE);
	idle(node.ep);
	/* mt:M52, F11 */
	BAD_STATE(dat_srq_free(pool.srq), SRQ_IN_USE);
	OK(dat_ep_free(node.ep));
	OK(dat_srq_free(pool.srq));
}

/*
 * E21: the receives of an endpoint on an SRQ are a stream like others.  While they are
 * EVD_THRESHOLD, which DEFAULT is, all DTOs of their EVD are, and connections may share it.
 */
static void streams(void)
{
	DAT_EP_ATTR attr = node_attr;
	struct pool pool = {};
	struct node node = {}, quiet = { .side = &side_b };
	DAT_EP_HANDLE ep;

	if (!srqs_here() || !pool_new(&pool) || !pool_node(&node, &pool, ONE_EVD))
		return;
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	BAD_ARG(ep_on(&node, side_b.pz, &pool, &attr, &ep), 7);
	attr = node_attr;
	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	BAD_ARG(ep_on(&node, side_b.pz, &pool, &attr, &ep), 7);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	BAD_ARG(ep_on(&node, side_b.pz, &pool, &attr, &ep), 7);
	/* Nor does an endpoint without an SRQ get there with other flags. */
	BAD_ARG(dat_ep_create(side_b.ia, side_b.pz, node.recv, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			      &attr, &ep), 6);
	OK(ep_on(&node, side_b.pz, &pool, &node_attr, &ep));
	OK(dat_ep_free(ep));
	/* On an EVD of its own it does, and then the others do not. */
	if (!evd_new(&side_b, 8, DAT_EVD_DTO_FLAG, &quiet.recv) ||
	    !OK(ep_on(&quiet, side_b.pz, &pool, &attr, &quiet.ep)))
		return;
	BAD_ARG(ep_on(&quiet, side_b.pz, &pool, &node_attr, &ep), 7);
	OK(dat_ep_free(quiet.ep));
	OK(ep_on(&quiet, side_b.pz, &pool, &node_attr, &ep));
}

/* Receives that are not on an SRQ can be counted (E.11); what an EP holds of one cannot. */
static void held_receives(void)
{
	DAT_COUNT held = 0, span = 0;
	struct pool pool = {};
	struct node node = {};

	if (!node_new(&node, &side_b, ONE_EVD, NULL))
		return;
	CHECK_EQ(side_b.provider.ep_recv_info_supported, 0x11);
	OK(dat_ep_recv_query(node.ep, NULL, NULL));
	OK(dat_ep_recv_query(node.ep, &held, &span));
	CHECK_EQ(held, 0);
	OK(node_recv(&node, 0, 1, 1));
	OK(node_recv(&node, 1, 1, 2));
	OK(dat_ep_recv_query(node.ep, &held, &span));
	CHECK_EQ(held, 2);
	CHECK_EQ(span, 2);
	OK(dat_ep_free(node.ep));
	if (!srqs_here() || !pool_new(&pool) || !pool_node(&node, &pool, ONE_EVD))
		return;
	IS(dat_ep_recv_query(node.ep, &held, &span), DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_ARG(dat_ep_set_watermark(node.ep, -2, 1), 2);
	BAD_ARG(dat_ep_set_watermark(node.ep, 1, -2), 3);
	IS(dat_ep_set_watermark(node.ep, 1, 1), DAT_MODEL_NOT_SUPPORTED, 0);
}

/* ---- messages ------------------------------------------------------------- */

#define PAIRS	3

/* @pairs on one SRQ, and one listener. */
static bool pool_pairs(struct pair *pairs, int n, struct pool *pool)
{
	int i;

	if (!pool_new(pool) || !pool_pair(&pairs[0], pool, THREE_EVDS))
		return false;
	for (i = 1; i < n; i++) {
		pairs[i].listener = pairs[0].listener;
		/* The receives of all come to one EVD. */
		pairs[i].b.recv = pairs[0].b.recv;
		pairs[i].b.side = &side_b;
		if (!node_new(&pairs[i].a, &side_a, THREE_EVDS, NULL) ||
		    !pool_node(&pairs[i].b, pool, THREE_EVDS) ||
		    !pair_connect(&pairs[i].a, &pairs[i].b, &pairs[0].listener))
			return false;
	}
	return true;
}

static void many_on_one(void)
{
	struct pair pairs[PAIRS] = {};
	struct pool pool = {};
	u64 seen = 0, number;
	unsigned int i;

	if (!srqs_here() || !pool_pairs(pairs, PAIRS, &pool))
		return;
	BAD_STATE(node_recv(&pairs[0].b, 0, 1, 1), SRQ_IN_USE);
	for (i = 0; i < POOL_RECVS; i++)
		OK(pool_post(&pool, i));
	/* mt:M53: each message to its EP, with the cookie of a post, each once. */
	for (i = 0; i < POOL_RECVS && !failed(); i++) {
		if (!pool_message(&pairs[i % PAIRS], &pool, &number))
			return;
		CHECK(number < POOL_RECVS && !(seen & 1ULL << number));
		seen |= 1ULL << number;
	}
	CHECK_EQ(outstanding(&pool), 0);
	for (i = 0; i < PAIRS; i++)
		idle(pairs[i].b.ep);
	nothing_more(pairs[0].b.recv);
}

static void empty(void)
{
	struct pool pool = {};
	struct pair pair = {};
	u64 number;

	if (!srqs_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	mem_fill(&pair.a.mem, 0, BUFFER, 5);
	OK(node_send(&pair.a, 0, BUFFER, 7, 0));
	/* iWARP knows no retry: there the sender must not send before (mt:T51). */
	silent(pair.b.recv);
	OK(pool_post(&pool, 3));
	want_done(pair.a.request, pair.a.ep, 7, DAT_DTO_SUCCESS);
	if (next_taken(&pair.b, DAT_DTO_SUCCESS, &number))
		CHECK_EQ(number, 3);
	mem_check(&pool.mem, 3 * BUFFER, BUFFER, 5);
	pair_ends(&pair, DAT_CLOSE_GRACEFUL_FLAG);
}

static void counts(void)
{
	struct pool pool = {};
	struct pair pair = {};
	u64 number;
	int i;

	if (!srqs_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	for (i = 0; i < 3; i++)
		OK(pool_post(&pool, i));
	CHECK_EQ(outstanding(&pool), 3);
	OK(node_send(&pair.a, 0, BUFFER, 7, 0));
	want_done(pair.a.request, pair.a.ep, 7, DAT_DTO_SUCCESS);
	/* mt:M57: until its completion is dequeued, which is until it is in an event ring. */
#ifdef __KERNEL__
	CHECK_EQ(outstanding(&pool), 3);
#else
	CHECK(outstanding(&pool) >= 2);
#endif
	next_taken(&pair.b, DAT_DTO_SUCCESS, &number);
	CHECK_EQ(outstanding(&pool), 2);
}

/* ---- watermark and size --------------------------------------------------- */

bool is_low(const struct pool *pool, const DAT_EVENT *event)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *data = &event->event_data.asynch_error_event_data;

	return CHECK_EQ(event->event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR) &&
	       CHECK(data->dat_handle == pool->srq) &&
	       CHECK_EQ(data->reason, DAT_SRQ_LOW_WATERMARK_EVENT);
}

bool want_low(const struct pool *pool)
{
	DAT_EVENT event;

	return want_event(side_b.async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, &event) &&
	       is_low(pool, &event);
}

static void watermark(void)
{
	DAT_SRQ_PARAM param = {};
	struct pool pool = {};
	struct pair pair = {};
	u64 number;
	int i;

	if (!srqs_here() || !pool_new(&pool))
		return;
	BAD_ARG(dat_srq_set_lw(pool.srq, -1), 2);
	BAD_ARG(dat_srq_set_lw(pool.srq, POOL_RECVS + 1), 2);
	if (!(side_b.provider.srq_watermarks_supported & 1)) {
		IS(dat_srq_set_lw(pool.srq, 1), DAT_MODEL_NOT_SUPPORTED, 0);
		return;
	}
	if (!pool_pair(&pair, &pool, THREE_EVDS))
		return;
	/* mt:M63: there are fewer already. */
	OK(pool_post(&pool, 0));
	OK(dat_srq_set_lw(pool.srq, 2));
	want_low(&pool);
	OK(dat_srq_query(pool.srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(param.low_watermark, 2);
	for (i = 1; i < 4; i++)
		OK(pool_post(&pool, i));
	/* mt:M61: 4, 3, and 2 is no less than 2, and then 1 and 0: one event. */
	OK(dat_srq_set_lw(pool.srq, 2));
	pool_message(&pair, &pool, &number);
	pool_message(&pair, &pool, &number);
	silent(side_b.async);
	pool_message(&pair, &pool, &number);
	want_low(&pool);
	pool_message(&pair, &pool, &number);
	silent(side_b.async);
	/* mt:M62: disarmed. */
	for (i = 4; i < 8; i++)
		OK(pool_post(&pool, i));
	OK(dat_srq_set_lw(pool.srq, 4));
	OK(dat_srq_set_lw(pool.srq, 0));
	pool_message(&pair, &pool, &number);
	silent(side_b.async);
}

/* The device alone knows of a message whose completion nobody polls. */
static void nobody_polls(void)
{
	struct pool pool = {};
	struct pair pair = {};

	if (!marks_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	pool_fill(&pool, 4);
	OK(dat_srq_set_lw(pool.srq, 2));
	pool_send(&pair, 2);
	silent(side_b.async);
	pool_send(&pair, 1);
	want_low(&pool);
	/* Nor is it reached once more when the completions are polled. */
	pool_taken(&pair, 3);
	silent(side_b.async);
}

/*
 * Each mark has its event, and no other's. Whoever finds out first that one is reached, the
 * device or who polls: the other has to be late for the next one.
 */
static void marks_replaced(void)
{
	struct pool pool = {};
	struct pair pair = {};
	bool polled;
	int i;

	if (!marks_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	for (i = 0; i < 2; i++) {
		polled = i;
		pool_fill(&pool, 4);
		OK(dat_srq_set_lw(pool.srq, 2));
		pool_send(&pair, 3);
		if (polled)
			pool_taken(&pair, 3);
		/* A call that is refused changes nothing. */
		BAD_ARG(dat_srq_set_lw(pool.srq, POOL_RECVS + 1), 2);
		pool_fill(&pool, 8);
		OK(dat_srq_set_lw(pool.srq, 4));
		/* Of the first mark; 9 are left. */
		want_low(&pool);
		silent(side_b.async);
		pool_send(&pair, 6);
		want_low(&pool);
		pool_send(&pair, 3);
		pool_taken(&pair, polled ? 9 : 12);
		silent(side_b.async);
		CHECK_EQ(outstanding(&pool), 0);
	}
}

/* What a device has told of an SRQ that is gone is nothing to the next one. */
static void freed_when_low(void)
{
	struct pool pool = {}, next = {};
	struct pair pair = {}, other = {};
	DAT_EVENT event;

	if (!marks_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	pool_fill(&pool, 4);
	OK(dat_srq_set_lw(pool.srq, 2));
	pool_send(&pair, 3);
	OK(dat_ep_free(pair.b.ep));
	OK(dat_srq_free(pool.srq));
	if (!pool_new(&next))
		return;
	other.listener = pair.listener;
	if (!node_new(&other.a, &side_a, THREE_EVDS, NULL) ||
	    !pool_node(&other.b, &next, THREE_EVDS) ||
	    !pair_connect(&other.a, &other.b, &other.listener))
		return;
	pool_fill(&next, 4);
	OK(dat_srq_set_lw(next.srq, 2));
	/* The event of the first one may have been there before it was freed. */
	while (event_within(side_b.async, SILENCE_MS, &event))
		CHECK(event.event_data.asynch_error_event_data.dat_handle != next.srq);
	pool_send(&other, 3);
	want_low(&next);
	silent(side_b.async);
}

static void resizing(void)
{
	DAT_COUNT more = 3 * POOL_RECVS;
	DAT_SRQ_PARAM param = {};
	struct pool pool = {};
	struct pair pair = {};
	DAT_RETURN ret;
	u64 number;
	int i;

	if (!srqs_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	BAD_ARG(dat_srq_resize(pool.srq, 0), 2);
	BAD_ARG(dat_srq_resize(pool.srq, -1), 2);
	BAD_ARG(dat_srq_resize(pool.srq, side_b.attr.max_recv_per_srq + 1), 2);
	for (i = 0; i < 4; i++)
		OK(pool_post(&pool, i));
	IS(dat_srq_resize(pool.srq, 3), DAT_INVALID_STATE, 0);
	OK(dat_srq_resize(pool.srq, 4));
	IS(pool_post(&pool, 4), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	OK(dat_srq_query(pool.srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(param.max_recv_dtos, 4);
	if (side_b.provider.srq_watermarks_supported & 1) {
		pool_message(&pair, &pool, &number);
		OK(dat_srq_set_lw(pool.srq, 3));
		IS(dat_srq_resize(pool.srq, 2), DAT_INVALID_STATE, 0);
		OK(dat_srq_set_lw(pool.srq, 0));
		OK(dat_srq_resize(pool.srq, 3));
		OK(dat_srq_resize(pool.srq, 4));
		OK(pool_post(&pool, 4));
	}
	/* Some devices cannot make one larger; then it is as it was. */
	ret = dat_srq_resize(pool.srq, more);
	if (ret) {
		IS(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		more = 4;
	}
	OK(dat_srq_query(pool.srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(param.max_recv_dtos, more);
	/* Nothing was lost, and all of the room is there. */
	for (i = outstanding(&pool); i < more; i++)
		OK(pool_post(&pool, 100 + i));
	IS(pool_post(&pool, 1), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	for (i = 0; i < more && !failed(); i++)
		pool_message(&pair, &pool, &number);
	CHECK_EQ(outstanding(&pool), 0);
	pair_ends(&pair, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- ends ----------------------------------------------------------------- */

/* The EP is connected again, and takes what others left. */
static bool again(struct pair *pair, struct pool *pool)
{
	u64 number;

	return OK(dat_ep_reset(pair->a.ep)) && OK(dat_ep_reset(pair->b.ep)) &&
	       pair_connect(&pair->a, &pair->b, &pair->listener) &&
	       pool_message(pair, pool, &number);
}

static void one_ends(void)
{
	struct pair pairs[2] = {};
	struct pool pool = {};
	u64 number;
	int i;

	if (!srqs_here() || !pool_pairs(pairs, 2, &pool))
		return;
	for (i = 0; i < 8; i++)
		OK(pool_post(&pool, i));
	pool_message(&pairs[0], &pool, &number);
	pair_ends(&pairs[0], DAT_CLOSE_ABRUPT_FLAG);
	/* D48, mt:M56: what is in the SRQ stays there, and nothing is flushed. */
	nothing_more(pairs[0].b.recv);
	CHECK_EQ(outstanding(&pool), 7);
	BAD_STATE(node_recv(&pairs[0].b, 0, 1, 1), SRQ_IN_USE);
	pool_message(&pairs[1], &pool, &number);
	/* R16 */
	again(&pairs[0], &pool);
	pair_ends(&pairs[1], DAT_CLOSE_GRACEFUL_FLAG);
	OK(dat_ep_free(pairs[1].b.ep));
	pool_message(&pairs[0], &pool, &number);
	CHECK_EQ(outstanding(&pool), 4);
	BAD_STATE(dat_srq_free(pool.srq), SRQ_IN_USE);
	/* Freed while it is connected. */
	OK(dat_ep_free(pairs[0].b.ep));
	OK(dat_srq_free(pool.srq));
	mem_free(&pool.mem);
}

/* A message that the receive has no room for breaks its connection alone. */
static void one_breaks(void)
{
	struct pair pairs[2] = {};
	struct pool pool = {};
	DAT_EVENT event;
	u64 number;
	int i;

	if (!srqs_here() || !pool_pairs(pairs, 2, &pool))
		return;
	for (i = 0; i < 4; i++)
		OK(pool_post(&pool, i));
	OK(node_send(&pairs[0].a, 0, BUFFER + 1, 7, 0));
	/* mt:T50, by whatever name the device gives it. */
	want_event(pairs[0].b.recv, DAT_DTO_COMPLETION_EVENT, &event);
	CHECK(event.event_data.dto_completion_event_data.ep_handle == pairs[0].b.ep);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	/* The sender's side breaks as well, and its disconnect may be here first. */
	ended(&pairs[0].b);
	CHECK_EQ(outstanding(&pool), 3);
	pool_message(&pairs[1], &pool, &number);
	pair_ends(&pairs[1], DAT_CLOSE_ABRUPT_FLAG);
}

/* mt:M23: the memory of a receive goes while it is in the SRQ. */
static void memory_goes(void)
{
	struct pair pairs[2] = {};
	struct pool pool = {};
	struct mem gone = {};
	DAT_LMR_TRIPLET iov;
	DAT_EVENT event;

	if (!srqs_here() || !pool_pairs(pairs, 2, &pool) ||
	    !mem_new(&side_b, &gone, BUFFER, DAT_MEM_PRIV_ALL_FLAG))
		return;
	iov = piece(&gone, 0, BUFFER);
	OK(dat_srq_post_recv(pool.srq, 1, &iov, cookie(1)));
	OK(dat_lmr_free(gone.lmr));
	gone.lmr = DAT_HANDLE_NULL;
	OK(node_send(&pairs[0].a, 0, BUFFER, 7, 0));
	/* The sender's side breaks as well, and its disconnect may be here first. */
	ended(&pairs[0].b);
	want_event(pairs[0].b.recv, DAT_DTO_COMPLETION_EVENT, &event);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	CHECK_EQ(outstanding(&pool), 0);
}

/*
 * Connections of one SRQ end while messages come in, again and again: each receive
 * completes at most once, and what did not is in the SRQ still.
 */
static void ends_under_load(void)
{
	const u64 all = 4 * POOL_RECVS;
	unsigned int round, rounds_here = rounds(12);
	u64 posted = 0, done = 0, sent;
	struct pair pair = {};
	struct pool pool = {};
	DAT_EVENT event;

	if (!srqs_here() || !pool_new(&pool) || !pool_pair(&pair, &pool, THREE_EVDS))
		return;
	for (round = 0; round < rounds_here && posted < 1000 * all && !failed(); round++) {
		while (outstanding(&pool) < POOL_RECVS && OK(pool_post(&pool, posted)))
			posted++;
		for (sent = 0; sent < NODE_REQUESTS; sent++)
			OK(node_send(&pair.a, 0, BUFFER, sent, 0));
		OK(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG));
		want_conn(pair.b.conn, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		/* D45: all that the EP had taken is here by now. */
		while (!dat_evd_dequeue(pair.b.recv, &event)) {
			CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
			done++;
		}
		CHECK_EQ(outstanding(&pool), posted - done);
		idle(pair.b.ep);
		next_event(pair.a.conn, &event);
		while (sent--)
			want_event(pair.a.request, DAT_DTO_COMPLETION_EVENT, &event);
		OK(dat_ep_reset(pair.a.ep));
		OK(dat_ep_reset(pair.b.ep));
		pair_connect(&pair.a, &pair.b, &pair.listener);
	}
	note("%llu receives posted, %llu of them completed", posted, done);
	/* R6: nothing of a former life came after its end. */
	nothing_more(pair.b.recv);
	OK(dat_ep_free(pair.b.ep));
	OK(dat_srq_free(pool.srq));
}

static const struct scenario scenarios[] = {
	SCENARIO("mt:M3 mt:M48 mt:M49 mt:M52 mt:M57 I24 SRQ made, asked and freed", creation),
	SCENARIO("mt:M50 mt:M52 mt:M58 mt:T57 SRQ posts", posts),
	SCENARIO("E.2 F11 mt:M50 mt:M51 mt:M52 RULING21 RULING31 RULING49 SRQ endpoints",
		 ep_creation),
	SCENARIO("E21 SRQ endpoints and the flags of their EVD", streams),
	SCENARIO("E.11 E.12 RULING43 mt:M66 SRQ what an endpoint holds", held_receives),
	SCENARIO("mt:M51 mt:M53 mt:M60 mt:T48 SRQ many endpoints on one", many_on_one),
	SCENARIO_IB("mt:M55 mt:T51 SRQ that is empty", empty),
	SCENARIO("mt:M57 SRQ counts", counts),
	SCENARIO("E72 mt:M61 mt:M62 mt:M63 SRQ low watermark", watermark),
	SCENARIO("mt:M61 SRQ low watermark, and nobody polls", nobody_polls),
	SCENARIO_IB("mt:M61 mt:M63 SRQ low watermarks, one after the other", marks_replaced),
	SCENARIO_IB("mt:M52 mt:M61 SRQ low watermark, and freed", freed_when_low),
	SCENARIO("mt:M64 SRQ resized", resizing),
	SCENARIO("D48 R16 mt:M52 mt:M56 SRQ serves others when one ends", one_ends),
	SCENARIO_IB("D52 mt:T50 mt:M53 SRQ message too long", one_breaks),
	SCENARIO_IB("mt:M23 SRQ memory that goes", memory_goes),
	SCENARIO_IB("D45 D48 R6 R16 mt:M54 mt:T36 mt:T58 SRQ ends under load",
		    ends_under_load),
};

SCENARIO_TABLE(srq_table);
