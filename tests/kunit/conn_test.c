// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_conn: what can go wrong with a connection while it is asked for,
 * lives, and ends (C, D and T of the rules; A5, A7), on the active side.  Events of
 * the CM come late or twice, the device refuses, breaks, or does not flush.
 */
#include "core/ep_apply.h"
#include "core/evd_fifo.h"
#include "stage.h"

/* ---- attempts -------------------------------------------------------------------- */

/* An attempt of @ep is over: its event came, and nothing of it is left. */
static void expect_over(struct bench *b, DAT_EP_HANDLE ep, u32 event,
			const struct census *before)
{
	expect_event(b, b->evd, event);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(b->test, DAT_EP_STATE_DISCONNECTED, bench_state(b, ep));
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, ep));
	expect_same(b, before);
}

/* T18, C11: the address cannot even be looked for. */
static void resolution_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);

	bench_recv(b, ep, 1);
	fake_fail(b->fake, FAKE_CM_RESOLVE, 1, -EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, DONE, bench_do_connect(b, ep));
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_over(b, ep, DAT_CONNECTION_EVENT_UNREACHABLE, &before);
}

/*
 * T18, C11: it is looked for again and again, and then no more.  The first try does not wait,
 * because the answer of a fast neighbour is found only when a try is over.
 */
static void resolution_repeated(struct kunit *test)
{
	static const u32 ms[] = { 20, 40, 80 };
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	u32 i, calls = b->fake->calls[FAKE_CM_RESOLVE];
	struct stage s;

	bench_stage(b, KDAPL_EP_RESOLVING, &s);
	WRITE_ONCE(bench_conn(b, s.ep)->resolve_until, jiffies + BENCH_AGES);
	KUNIT_EXPECT_EQ(test, s.id->resolve_ms, 0U);
	for (i = 2; i < 5; i++) {
		fake_unresolved(s.id);
		KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_CM_RESOLVE,
							calls + i));
		KUNIT_EXPECT_EQ(test, READ_ONCE(s.id->resolve_ms), ms[i - 2]);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
				bench_state(b, s.ep));
	}
	bench_conn(b, s.ep)->resolve_until = jiffies - 1;
	fake_unresolved(s.id);
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_over(b, s.ep, DAT_CONNECTION_EVENT_UNREACHABLE, &before);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_RESOLVE], calls + 4);
}

/* C11, D43: the queue is there and refuses one of the receives that waited. */
static void held_receive_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	for (i = 0; i < 4; i++)
		bench_recv(b, ep, i);
	fake_fail(b->fake, FAKE_POST_RECV, 2, -EIO);
	KUNIT_EXPECT_NULL(test, bench_attempt(b, ep));
	/* nothing was asked of the peer */
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_CONNECT], 0U);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_POST_RECV], 2U);
	for (i = 0; i < 4; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_over(b, ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &before);
}

static void reserve(void *ep)
{
	kdapl_ep_input(ep, NULL, KDAPL_EP_OP_RESERVE);
}

/* C1, C3: another thread was faster; the call that lost changed nothing. */
static void state_changes_during_connect(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct kdapl_ep *e = bench_ep_of(b, ep);
	struct census before = bench_census(b);

	fake_hook(b->fake, FAKE_CM_OPEN, reserve, e);
	KUNIT_EXPECT_EQ(test, IS(EP_RESERVED), bench_do_connect(b, ep));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_RESERVED, bench_state(b, ep));
	expect_same(b, &before);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_input(e, NULL, KDAPL_EP_OP_UNRESERVE));
}

static DAT_RETURN duplicate(struct bench *b, DAT_EP_HANDLE ep,
			    DAT_EP_HANDLE source, DAT_QOS qos)
{
	return kdapl_ep_dup_connect(&b->space, ep, source, DAT_TIMEOUT_INFINITE,
				    0, NULL, qos);
}

/*
 * C4, C14, C20, C21: dup_connect, of a duplicate too; a refusal of the model or of
 * the device changes nothing, and the depths stay as they were set.
 */
static void duplicates(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_PARAM *param = kunit_kcalloc(test, 3, sizeof(*param), GFP_KERNEL);
	DAT_EP_HANDLE ep[3];
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
	};
	struct census before;
	u32 calls;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, param);
	for (i = 0; i < 3; i++) {
		attr.max_rdma_read_in = 4 - i;
		attr.max_rdma_read_out = 1 + i;
		ep[i] = bench_ep_attr(b, b->evd, b->evd, b->evd, &attr);
	}
	bench_connect(b, ep[0]);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_ep_query(&b->space, ep[i], DAT_EP_FIELD_ALL,
					       &param[2]));
		before = bench_census(b);
		calls = b->fake->calls[FAKE_CM_OPEN];
		KUNIT_EXPECT_EQ(test, MNS, duplicate(b, ep[i], ep[i - 1],
						     DAT_QOS_HIGH_THROUGHPUT));
		KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_OPEN], calls);
		fake_fail(b->fake, FAKE_CM_OPEN, 1, -ENOMEM);
		KUNIT_EXPECT_EQ(test, IR(TEP), duplicate(b, ep[i], ep[i - 1],
							 DAT_QOS_BEST_EFFORT));
		expect_same(b, &before);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED,
				bench_state(b, ep[i]));

		calls = b->fake->calls[FAKE_CM_RESOLVE];
		KUNIT_EXPECT_EQ(test, DONE, duplicate(b, ep[i], ep[i - 1],
						      DAT_QOS_BEST_EFFORT));
		KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_CM_RESOLVE,
							calls + 1));
		fake_resolved(bench_id(b, ep[i]));
		fake_answered(bench_id(b, ep[i]), NULL, 0);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_ep_query(&b->space, ep[0], DAT_EP_FIELD_ALL,
					       &param[0]));
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_ep_query(&b->space, ep[i], DAT_EP_FIELD_ALL,
					       &param[1]));
		KUNIT_EXPECT_EQ(test, param[0].remote_port_qual,
				param[1].remote_port_qual);
		KUNIT_EXPECT_EQ(test, 0, memcmp(param[0].remote_ia_address_ptr,
						param[1].remote_ia_address_ptr,
						sizeof(struct sockaddr_in)));
		KUNIT_EXPECT_EQ(test, 4 - i, param[1].ep_attr.max_rdma_read_in);
		KUNIT_EXPECT_EQ(test, 1 + i, param[1].ep_attr.max_rdma_read_out);
		KUNIT_EXPECT_EQ(test, 0, memcmp(&param[1].ep_attr,
						&param[2].ep_attr,
						sizeof(param->ep_attr)));
	}
}

/* C3: an IPv6 address, with the qualifier as its port; the state at return. */
static void connects_by_ipv6(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(99),
		.sin6_addr.s6_addr = { 0xfd, 1, [15] = 7 },
	};
	struct sockaddr_in6 *peer;
	DAT_EP_PARAM param;

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_connect(&b->space, ep, (struct sockaddr *)&to, 5001,
					 DAT_TIMEOUT_INFINITE, 0, NULL,
					 DAT_QOS_BEST_EFFORT, 0));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
			bench_state(b, ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_query(&b->space, ep,
						   DAT_EP_FIELD_ALL, &param));
	KUNIT_EXPECT_NE(test, 0, (int)param.local_port_qual);
	peer = (struct sockaddr_in6 *)param.remote_ia_address_ptr;
	KUNIT_EXPECT_EQ(test, 0, memcmp(&peer->sin6_addr, &to.sin6_addr,
					sizeof(to.sin6_addr)));
	KUNIT_EXPECT_EQ(test, 5001, (int)kdapl_port_of((void *)peer));
	KUNIT_EXPECT_EQ(test, 5001, (int)param.remote_port_qual);
}

/* C10: a timer that runs early waits for the rest; one that is not needed goes. */
static void timer_runs_early(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct kdapl_conn *conn;
	int round;

	for (round = 0; round < 2; round++) {
		KUNIT_ASSERT_EQ(test, DONE,
				kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000,
						 600000000, 0, NULL,
						 DAT_QOS_BEST_EFFORT, 0));
		conn = bench_conn(b, ep);
		mod_delayed_work(kdapl_kernel_wq, &conn->timer, 0);
		bench_settle(b);
		KUNIT_EXPECT_TRUE(test, delayed_work_pending(&conn->timer));
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
				bench_state(b, ep));
		expect_empty(b, b->evd);
		if (round)
			break;
		conn->deadline = ktime_get();
		mod_delayed_work(kdapl_kernel_wq, &conn->timer, 0);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_UNREACHABLE);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	}
	fake_input(bench_id(b, ep), KDAPL_EP_IN_PEER_REJECT);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&conn->timer));
	expect_over(b, ep, DAT_CONNECTION_EVENT_PEER_REJECTED, &before);
}

/* D31, T20, A7: what the CM says of an attempt that was given up is not heard. */
static void answer_after_the_abort(struct kunit *test)
{
	static const enum kdapl_ep_state states[] = {
		KDAPL_EP_RESOLVING, KDAPL_EP_REQUESTED,
	};
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct kdapl_conn *conn;
	struct stage s;
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		bench_stage(b, states[i], &s);
		conn = bench_conn(b, s.ep);
		/* the CM is about to call back, so that nobody can end the id */
		fake_handler_lock(s.id);
		KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
		if (states[i] == KDAPL_EP_RESOLVING)
			kdapl_conn_resolved(conn);
		else
			kdapl_conn_answered(conn, "yes", 3);
		KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_CONNECT], (u32)i);
		fake_handler_unlock(s.id);
		expect_dto(b, b->evd, 100, FLUSHED);
		expect_dto(b, b->evd, 101, FLUSHED);
		expect_over(b, s.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &before);
	}
}

/* R6, A7: no input of a former connection reaches the one after the reset. */
static void former_connection(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct kdapl_conn *former;
	enum kdapl_ep_input input;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	former = bench_conn(b, ep);
	kdapl_conn_get(former);
	fake_peer_disconnected(bench_id(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);

	for (input = KDAPL_EP_IN_RESOLVED; input < KDAPL_EP_NR_INPUTS; input++)
		KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE),
				kdapl_ep_input(bench_ep_of(b, ep), former, input));
	kdapl_conn_peer_disconnected(former);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, ep));
	expect_empty(b, b->evd);
	kdapl_conn_put(former);
}

/* E45, P58: data before the queue can answer waits, and then follows ESTABLISHED. */
static void data_before_the_answer(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct fake_id *id;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	for (i = 0; i < 3; i++)
		bench_recv(b, ep, i);
	id = bench_request(b, ep);
	for (i = 0; i < 2; i++) {
		fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
		kdapl_evd_pull(evd);
		expect_empty(b, dto);
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
				bench_state(b, ep));
	}
	fake_answered(id, NULL, 0);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(b, dto, 0, DTO_OK);
	expect_dto(b, dto, 1, DTO_OK);
	expect_empty(b, dto);
	kdapl_evd_put(evd);
}

/* D31, D43: what has come is flushed as well, for the attempt was given up. */
static void data_and_no_answer(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	bench_stage(b, KDAPL_EP_REQUESTED, &s);
	fake_complete_recv(bench_qp(b, s.ep), 0, IB_WC_SUCCESS, 1, false);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(b, b->evd);
}

static const DAT_EP_ATTR one_way[] = {
	{ .max_request_dtos = 4, .max_request_iov = 1 },
	{ .max_recv_dtos = 4, .max_recv_iov = 1 },
	{ },
};

/* E17, E20: a direction without DTOs, on an EVD of its own or none, connects as well. */
static void empty_directions(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE recv, req, null = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep;
	int i;

	for (i = 0; i < ARRAY_SIZE(one_way); i++) {
		recv = bench_evd(b, 4, DAT_EVD_DTO_FLAG);
		req = bench_evd(b, 4, DAT_EVD_DTO_FLAG);
		ep = bench_ep_attr(b, recv, req, b->evd, &one_way[i]);
		bench_connect(b, ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		ep = bench_ep_attr(b, null, null, b->evd, &one_way[i]);
		bench_connect(b, ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

/* ---- the end ------------------------------------------------------------------------ */

/* E70: what the device says of a queue: an asynchronous event, and BROKEN. */
static void queue_events(struct kunit *test)
{
	static const struct {
		enum ib_event_type event;
		DAT_COUNT reason;
	} events[] = {
		{ IB_EVENT_QP_FATAL, DAT_EP_TRANSFER_TO_ERROR },
		{ IB_EVENT_QP_REQ_ERR, DAT_EP_OTHER_ERROR },
		{ IB_EVENT_QP_ACCESS_ERR, DAT_EP_OTHER_ERROR },
	};
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct stage s;
	int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		bench_stage(b, KDAPL_EP_CONNECTED, &s);
		fake_queue_event(bench_qp(b, s.ep), IB_EVENT_COMM_EST);
		fake_queue_event(bench_qp(b, s.ep), IB_EVENT_PATH_MIG);
		expect_empty(b, b->async);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED,
				bench_state(b, s.ep));
		fake_queue_event(bench_qp(b, s.ep), events[i].event);
		expect_async(b, DAT_ASYNC_ERROR_EP_BROKEN, s.ep,
			     events[i].reason);
		expect_dto(b, b->evd, 0, FLUSHED);
		expect_dto(b, b->evd, 1, FLUSHED);
		expect_dto(b, b->evd, 100, FLUSHED);
		expect_dto(b, b->evd, 101, FLUSHED);
		fake_peer_disconnected(s.id);
		expect_over(b, s.ep, DAT_CONNECTION_EVENT_BROKEN, &before);
	}
	expect_empty(b, b->async);
}

/*
 * D43, D50, D52, mt:T55: a disconnect overtakes what the peer has answered before.  The
 * answers are reported as they are; what is not answered is flushed, in bounded time.
 */
static void answers_behind_a_disconnect(struct kunit *test)
{
	static const struct {
		enum kdapl_ep_state state;
		enum ib_wc_status second;	/* IB_WC_FATAL_ERR: no answer */
		DAT_DTO_COMPLETION_STATUS status;
		u32 event;
	} cases[] = {
		{ KDAPL_EP_CONNECTED, IB_WC_SUCCESS, DTO_OK,
		  DAT_CONNECTION_EVENT_DISCONNECTED },
		{ KDAPL_EP_CONNECTED, IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS,
		  DAT_CONNECTION_EVENT_BROKEN },
		{ KDAPL_EP_CONNECTED, IB_WC_FATAL_ERR, FLUSHED,
		  DAT_CONNECTION_EVENT_DISCONNECTED },
		{ KDAPL_EP_DRAINING, IB_WC_SUCCESS, DTO_OK,
		  DAT_CONNECTION_EVENT_DISCONNECTED },
		{ KDAPL_EP_DRAINING, IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS,
		  DAT_CONNECTION_EVENT_DISCONNECTED },
	};
	struct bench *b = test->priv;
	struct kdapl_device *dev = b->fake->dev;
	struct census before = bench_census(b);
	struct stage s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bench_stage(b, cases[i].state, &s);
		dev->answer_time = 3600 * HZ;
		if (cases[i].second == IB_WC_FATAL_ERR)
			dev->answer_time = 1;
		fake_peer_disconnected(s.id);
		if (cases[i].second != IB_WC_FATAL_ERR) {
			expect_empty(b, b->evd);
			fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);
			expect_dto(b, b->evd, 0, DTO_OK);
			expect_empty(b, b->evd);
			fake_complete_send(bench_qp(b, s.ep), 0, cases[i].second);
		} else {
			expect_dto(b, b->evd, 0, FLUSHED);
		}
		expect_dto(b, b->evd, 1, cases[i].status);
		expect_dto(b, b->evd, 100, FLUSHED);
		expect_dto(b, b->evd, 101, FLUSHED);
		expect_over(b, s.ep, cases[i].event, &before);
		dev->answer_time = 0;
	}
}

/*
 * D43, D50, mt:T36: answers that came before the disconnect, and that the device has put
 * aside until it is asked for them.
 */
static void answers_put_aside(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct stage s;

	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	b->fake->dev->answer_time = 1;
	b->fake->answers_aside = 2;
	fake_peer_disconnected(s.id);
	expect_dto(b, b->evd, 0, DTO_OK);
	expect_dto(b, b->evd, 1, DTO_OK);
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_over(b, s.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &before);
	b->fake->dev->answer_time = 0;
	b->fake->answers_aside = 0;
}

/*
 * D8, D43, D45, mt:T36: a device that never flushes: the core does, once and in
 * order, and what the device says afterwards is not heard.
 */
static void device_never_flushes(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct fake_cq *cq[2];
	struct stage s;
	u64 wr[4];
	int round, i;

	for (round = 0; round < 2; round++) {
		bench_stage(b, KDAPL_EP_CONNECTED, &s);
		/* of four, one was on its way */
		for (i = 0; i < 2; i++) {
			wr[i] = bench_qp(b, s.ep)->send.wr[i].wr_id;
			wr[2 + i] = bench_qp(b, s.ep)->recv.wr[i].wr_id;
		}
		cq[0] = bench_qp(b, s.ep)->send_cq;
		cq[1] = bench_qp(b, s.ep)->recv_cq;
		fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);

		b->fake->hold_flush = true;
		if (round)
			fake_fail(b->fake, FAKE_QP_ERROR, 1, -EIO);
		i = b->fake->calls[FAKE_QP_ERROR];
		KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
		KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_QP_ERROR,
							i + 1));
		expect_dto(b, b->evd, 0, DTO_OK);
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING,
				bench_state(b, s.ep));
		bench_no_flush(b, s.ep);
		expect_dto(b, b->evd, 1, FLUSHED);
		expect_dto(b, b->evd, 100, FLUSHED);
		expect_dto(b, b->evd, 101, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->qps));
		b->fake->hold_flush = false;

		for (i = 0; i < 4; i++)
			fake_stray(cq[i / 2], wr[i], i % 2 ? IB_WC_SUCCESS :
						     IB_WC_WR_FLUSH_ERR);
		expect_empty(b, b->evd);
		fake_stray(cq[0], wr[1], IB_WC_GENERAL_ERR);
		kdapl_evd_pull(bench_ep_of(b, s.ep)->req.evd);
		expect_empty(b, b->evd);

		/* every slot is free again */
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, s.ep));
		for (i = 0; i < 8; i++)
			KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, s.ep, i));
		fake_peer_disconnected(s.id);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
		for (i = 0; i < 8; i++)
			expect_dto(b, b->evd, i, FLUSHED);
		expect_same(b, &before);
	}
}

/*
 * D40, D45: with nothing outstanding there is nothing to flush.  The queue pair goes
 * without the error state, and before the event; the consumer had its completion.
 */
static void idle_end_needs_no_flush(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	u32 errors;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 0, 0));
	/* nobody has looked at the completion when the end begins */
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	errors = b->fake->calls[FAKE_QP_ERROR];
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
	expect_dto(b, b->evd, 0, DTO_OK);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->qps));
	KUNIT_EXPECT_EQ(test, errors, b->fake->calls[FAKE_QP_ERROR]);
}

/* The work item of a connection whose id lingers comes within 20 seconds. */
static void expect_limit(struct bench *b, struct kdapl_conn *conn)
{
	bench_settle(b);
	KUNIT_EXPECT_TRUE(b->test, delayed_work_pending(&conn->work));
	KUNIT_EXPECT_TRUE(b->test, time_before_eq(conn->work.timer.expires,
						  jiffies + 20 * HZ));
}

/*
 * An endpoint that disconnected, is reset, and whose peer has not answered.  There is a
 * limit for that, which the machine must not come to before the test does.
 */
static void lingers(struct bench *b, struct stage *s)
{
	DAT_EVENT event;

	bench_stage(b, KDAPL_EP_CONNECTED, s);
	KUNIT_EXPECT_EQ(b->test, DONE, bench_abrupt(b, s->ep));
	while (bench_event(b, b->evd, &event) == DAT_DTO_COMPLETION_EVENT)
		;
	KUNIT_EXPECT_EQ(b->test, (u32)DAT_CONNECTION_EVENT_DISCONNECTED,
			(u32)event.event_number);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_reset(&b->space, s->ep));
	expect_limit(b, s->id->conn);
	bench_linger_on(s->id);
	KUNIT_EXPECT_EQ(b->test, 1U, bench_census(b).lingering);
}

/* R1, R6, A7: the id waits for the peer's answer; the endpoint does not. */
static void peer_answers_late(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census c;
	struct stage s;

	lingers(b, &s);
	bench_connect(b, s.ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 2U, c.ids);

	fake_peer_disconnected(s.id);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 1U, c.ids);
	KUNIT_EXPECT_EQ(test, 0U, c.lingering);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, s.ep));
	expect_empty(b, b->evd);
}

/* An endpoint that is reset in another thread. */
struct reset {
	struct bench *b;
	DAT_EP_HANDLE ep;
	struct elsewhere call;
};

static DAT_RETURN resets(void *arg)
{
	struct reset *r = arg;

	return kdapl_ep_reset(&r->b->space, r->ep);
}

/*
 * A5, A10: an id that takes long to destroy, since the kernel's CM waits for memory, holds
 * up neither the end of an established connection, nor the reset of its endpoint, nor the
 * next connection.
 */
static void id_goes_late(struct kunit *test)
{
	struct bench *b = test->priv;
	struct kdapl_conn *conn;
	struct reset reset;
	DAT_EVENT event;
	struct stage s;

	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	conn = bench_conn(b, s.ep);
	bench_stop_at(b, FAKE_CM_DESTROY);
	fake_peer_disconnected(s.id);
	while (bench_event(b, b->evd, &event) == DAT_DTO_COMPLETION_EVENT)
		;
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_DISCONNECTED,
			(u32)event.event_number);
	bench_stopped(b);
	KUNIT_EXPECT_TRUE(test, wait_event_timeout(conn->wait, kdapl_conn_has_flushed(conn),
						   BENCH_PATIENCE));
	reset = (struct reset) { .b = b, .ep = s.ep };
	elsewhere_begin(&reset.call, resets, &reset);
	if (!elsewhere_ends(&reset.call, 120 * USEC_PER_SEC)) {
		KUNIT_FAIL(test, "the reset waits for the id");
		bench_go_on(b);
	}
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&reset.call));
	bench_connect(b, s.ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_go_on(b);
	/* The former one is gone. */
	KUNIT_EXPECT_EQ(test, 1U, bench_census(b).ids);
}

/* A7: an answer that never comes is not waited for longer than the limit. */
static void peer_never_answers(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct kdapl_conn *conn;
	struct stage s;

	lingers(b, &s);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
	conn = s.id->conn;
	/* whoever wakes it before */
	mod_delayed_work(kdapl_kernel_wq, &conn->work, 0);
	KUNIT_EXPECT_EQ(test, 1U, bench_census(b).lingering);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&conn->work));
	conn->linger_until = jiffies;
	mod_delayed_work(kdapl_kernel_wq, &conn->work, 0);
	expect_same(b, &before);
}

/* I15, A10: nor does the tear-down of the adapter wait for it, nor that of the device. */
static void adapter_goes_before_the_answer(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census c;
	struct stage s;

	lingers(b, &s);
	kdapl_ia_device_gone(bench_ia(b));
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0U, c.ids);
	KUNIT_EXPECT_EQ(test, 0U, c.lingering);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, s.ep));
}

static void adapter_closes_before_the_answer(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census c;
	struct stage s;

	lingers(b, &s);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia,
						   DAT_CLOSE_ABRUPT_FLAG));
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0U, c.live);
	KUNIT_EXPECT_EQ(test, 0U, c.ids);
}

/* D5, D8: a CM that cannot tell the peer keeps neither a connection nor its id alive. */
static void disconnect_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct stage s;
	int round, i;

	for (round = 0; round < 3; round++) {
		bench_stage(b, KDAPL_EP_CONNECTED, &s);
		fake_fail(b->fake, FAKE_CM_DISCONNECT, 1, -EINVAL);
		if (round == 0)
			KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
		else if (round == 1)
			KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, s.ep));
		else
			fake_peer_disconnected(s.id);
		for (i = 0; i < 2; i++) {
			if (round == 1)
				fake_complete_send(bench_qp(b, s.ep), 0,
						   IB_WC_SUCCESS);
			expect_dto(b, b->evd, i, round == 1 ? DTO_OK : FLUSHED);
		}
		for (i = 0; i < 2; i++)
			expect_dto(b, b->evd, 100 + i, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		KUNIT_EXPECT_FALSE(test, fake_fails(b->fake, FAKE_CM_DISCONNECT));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
		expect_same(b, &before);
	}
}

/* ---- drains ----------------------------------------------------------------------------- */

#define EPS	3
#define DTOS	4

/* What is expected next of each direction of each endpoint. */
struct order {
	DAT_EP_HANDLE ep[EPS];
	u64 next[EPS][2];
};

static void expect_in_order(struct bench *b, DAT_EVD_HANDLE evd, struct order *o)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	u64 cookie;
	int i;

	dto = &event.event_data.dto_completion_event_data;
	KUNIT_ASSERT_EQ(b->test, (u32)DAT_DTO_COMPLETION_EVENT,
			bench_event(b, evd, &event));
	cookie = dto->user_cookie.as_64;
	for (i = 0; i < EPS - 1 && o->ep[i] != dto->ep_handle; i++)
		;
	KUNIT_EXPECT_PTR_EQ(b->test, o->ep[i], dto->ep_handle);
	KUNIT_EXPECT_EQ(b->test, o->next[i][cookie / 100]++, cookie % 100);
}

/*
 * T26, T28, D10..D15, D43: three endpoints on one CQ, their completions mixed: one
 * drains, and the other two do not hurry it, nor does it wait for them.
 */
static void drain_among_others(struct kunit *test)
{
	/* endpoint, and 1 for a receive */
	static const u8 mixed[][2] = {
		{ 1, 0 }, { 0, 1 }, { 2, 1 }, { 0, 0 }, { 1, 1 }, { 2, 0 },
		{ 0, 0 }, { 0, 1 }, { 1, 0 }, { 0, 0 }, { 2, 1 }, { 1, 1 },
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	struct order o = {};
	struct fake_qp *qp;
	int i, j;

	for (i = 0; i < EPS; i++) {
		o.ep[i] = bench_ep_attr(b, dto, dto, b->evd, NULL);
		bench_connect(b, o.ep[i]);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		for (j = 0; j < DTOS; j++) {
			bench_send(b, o.ep[i], j, 0);
			bench_recv(b, o.ep[i], 100 + j);
		}
	}
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, o.ep[0]));
	for (i = 0; i < ARRAY_SIZE(mixed); i++) {
		qp = bench_qp(b, o.ep[mixed[i][0]]);
		if (mixed[i][1])
			fake_complete_recv(qp, 0, IB_WC_SUCCESS, 1, false);
		else
			fake_complete_send(qp, 0, IB_WC_SUCCESS);
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING,
				bench_state(b, o.ep[0]));
	}
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_QP_ERROR], 0U);
	/* its last send; five of the others' are outstanding */
	fake_complete_send(bench_qp(b, o.ep[0]), 0, IB_WC_SUCCESS);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (i = 1; i < EPS; i++)
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED,
				bench_state(b, o.ep[i]));
	/* the mixed ones, that send, and two receives flushed */
	for (i = 0; i < ARRAY_SIZE(mixed) + 3; i++)
		expect_in_order(b, dto, &o);
	expect_empty(b, dto);
	KUNIT_EXPECT_EQ(test, o.next[0][0], (u64)DTOS);
	KUNIT_EXPECT_EQ(test, o.next[0][1], (u64)DTOS);
}

/* T29, T30, D17, D18: a drain that the peer, the CM or the device ends: one DISCONNECTED. */
static void drain_is_cut(struct kunit *test)
{
	static const enum kdapl_ep_input inputs[] = {
		KDAPL_EP_IN_PEER_DISCONNECT, KDAPL_EP_IN_UNREACHABLE,
		KDAPL_EP_IN_BROKEN,
	};
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct stage s;
	int round, i;

	for (round = 0; round < ARRAY_SIZE(inputs); round++) {
		bench_stage(b, KDAPL_EP_DRAINING, &s);
		fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);
		expect_dto(b, b->evd, 0, DTO_OK);
		expect_empty(b, b->evd);
		fake_input(s.id, inputs[round]);
		expect_dto(b, b->evd, 1, FLUSHED);
		for (i = 0; i < 2; i++)
			expect_dto(b, b->evd, 100 + i, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_empty(b, b->evd);
		/* All are told to the peer, whose address may only have moved. */
		fake_peer_disconnected(s.id);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
		expect_same(b, &before);
	}
}

/* D18, T33: a receive that fails while the sends drain ends the drain. */
static void receive_fails_during_the_drain(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE recv = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, recv, b->evd, b->evd, NULL);

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_send(b, ep, 1, 0);
	bench_recv(b, ep, 101);
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, ep));
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_LOC_LEN_ERR, 0, false);
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_dto(b, recv, 101, DAT_DTO_ERR_LOCAL_LENGTH);
	expect_empty(b, recv);
	expect_empty(b, b->evd);
}

/*
 * T13 T14: the thread of the CM serves all of the host.  What is as large as a consumer
 * wants it, the queue pair and the receives that wait for it, is done in his own time.
 */
static void nothing_large_in_cm_callbacks(struct kunit *test)
{
	static const enum fake_op large[] = {
		FAKE_CQ_CREATE, FAKE_CQ_RESIZE, FAKE_QP_CREATE, FAKE_POST_RECV,
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	u32 calls[ARRAY_SIZE(large)], resolve, i;

	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, i));
	resolve = b->fake->calls[FAKE_CM_RESOLVE];
	KUNIT_ASSERT_EQ(test, DONE, bench_do_connect(b, ep));
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_CM_RESOLVE,
						resolve + 1));
	for (i = 0; i < ARRAY_SIZE(large); i++)
		calls[i] = b->fake->calls[large[i]];
	fake_resolved(bench_id(b, ep));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_CM_CONNECT]);
	fake_answered(bench_id(b, ep), NULL, 0);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < ARRAY_SIZE(large); i++)
		KUNIT_EXPECT_EQ_MSG(test, calls[i], b->fake->calls[large[i]],
				    "operation %u", large[i]);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 0, DTO_OK);
}

/* E7 R5: an ESTABLISHED that is taken too late says so, and points nowhere. */
static void private_data_goes_with_its_life(struct kunit *test)
{
	DAT_CONNECTION_EVENT_DATA *data;
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	int end;

	data = &event.event_data.connect_event_data;
	/* In time, after a reset, after a free. */
	for (end = 0; end < 3; end++) {
		ep = bench_ep(b, b->evd);
		fake_answered(bench_request(b, ep), "data", 5);
		if (end) {
			KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
			bench_settle(b);
			fake_peer_disconnected(bench_id(b, ep));
			KUNIT_EXPECT_EQ(test, DONE,
					end == 1 ? kdapl_ep_reset(&b->space, ep) :
						   kdapl_ep_free(&b->space, ep));
		}
		KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_ESTABLISHED,
				bench_event(b, b->evd, &event));
		KUNIT_EXPECT_EQ(test, end ? 0 : 5, data->private_data_size);
		if (end)
			KUNIT_EXPECT_NULL(test, data->private_data);
		else
			KUNIT_EXPECT_STREQ(test, "data", (char *)data->private_data);
		if (end)
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_empty(b, b->evd);
	}
}

/* RULING 65: the data of a rejection are in its event, and go with the endpoint's life. */
static void rejection_has_data(struct kunit *test)
{
	DAT_CONNECTION_EVENT_DATA *data;
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EVENT event;

	data = &event.event_data.connect_event_data;
	fake_rejected(bench_request(b, ep), "no", 3);
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_PEER_REJECTED,
			bench_event(b, b->evd, &event));
	KUNIT_EXPECT_EQ(test, 3, data->private_data_size);
	KUNIT_EXPECT_STREQ(test, "no", (char *)data->private_data);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	fake_rejected(bench_request(b, ep), NULL, 0);
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_PEER_REJECTED,
			bench_event(b, b->evd, &event));
	KUNIT_EXPECT_EQ(test, 0, data->private_data_size);
	KUNIT_EXPECT_NULL(test, data->private_data);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
}

/* RULING 65, E7: a CM that rejects what it has accepted leaves the acceptance's data alone. */
static void rejection_after_the_answer(struct kunit *test)
{
	DAT_CONNECTION_EVENT_DATA *data;
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct fake_id *id;
	DAT_EVENT event;

	data = &event.event_data.connect_event_data;
	id = bench_request(b, ep);
	fake_answered(id, "yes", 4);
	fake_rejected(id, "no", 3);
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_ESTABLISHED,
			bench_event(b, b->evd, &event));
	KUNIT_EXPECT_EQ(test, 4, data->private_data_size);
	KUNIT_EXPECT_STREQ(test, "yes", (char *)data->private_data);
}

/* Connects; what a process gets with the event in place of the pointer. */
static u32 connect_as_process(struct bench *b, DAT_EP_HANDLE ep, const char *words)
{
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	data = &event.event_data.connect_event_data;
	fake_answered(bench_request(b, ep), words, strlen(words) + 1);
	KUNIT_EXPECT_EQ(b->test, (u32)DAT_CONNECTION_EVENT_ESTABLISHED,
			bench_event(b, b->evd, &event));
	KUNIT_EXPECT_EQ(b->test, (int)strlen(words) + 1, data->private_data_size);
	return (uintptr_t)data->private_data;
}

static void expect_fetch(struct bench *b, DAT_EP_HANDLE ep, u32 life, const char *words)
{
	u32 expected = words ? strlen(words) + 1 : 0, length = 99;
	char buf[16] = "";

	KUNIT_EXPECT_EQ(b->test, DONE,
			kdapl_ep_private_data(&b->space, ep, life, buf, sizeof(buf),
					      &length));
	KUNIT_EXPECT_EQ(b->test, expected, length);
	KUNIT_EXPECT_STREQ(b->test, words ?: "", buf);
}

/* E7 R13: a process that is late does not get the data of the next connection. */
static void process_fetches_private_data(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	u32 first, second;

	b->space.user = true;
	first = connect_as_process(b, ep, "one");
	expect_fetch(b, ep, first, "one");
	expect_fetch(b, ep, first + 1, NULL);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	fake_peer_disconnected(bench_id(b, ep));
	expect_fetch(b, ep, first, "one");
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	expect_fetch(b, ep, first, NULL);
	second = connect_as_process(b, ep, "second");
	expect_fetch(b, ep, first, NULL);
	expect_fetch(b, ep, second, "second");
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	bench_settle(b);
	b->space.user = false;
}

/* What a peer that is no DAT consumer may do with a receive of one byte */
static const struct foreign {
	const char *name;
	struct ib_wc wc;
	DAT_DTO_COMPLETION_STATUS status;
} foreigns[] = {
	{ "a write with immediate data",
	  { .opcode = IB_WC_RECV_RDMA_WITH_IMM, .byte_len = 1,
	    .wc_flags = IB_WC_WITH_IMM }, DAT_DTO_ERR_BAD_RESPONSE },
	{ "one without the flag",
	  { .opcode = IB_WC_RECV_RDMA_WITH_IMM }, DAT_DTO_ERR_BAD_RESPONSE },
	{ "a long write with immediate data",
	  { .opcode = IB_WC_RECV_RDMA_WITH_IMM, .byte_len = SZ_1M,
	    .wc_flags = IB_WC_WITH_IMM }, DAT_DTO_ERR_LOCAL_LENGTH },
	{ "a send with immediate data",
	  { .opcode = IB_WC_RECV, .byte_len = 1, .wc_flags = IB_WC_WITH_IMM },
	  DAT_DTO_ERR_BAD_RESPONSE },
	{ "a send with invalidate",
	  { .opcode = IB_WC_RECV, .byte_len = 1, .wc_flags = IB_WC_WITH_INVALIDATE,
	    .ex.invalidate_rkey = 0xffffff42 }, DAT_DTO_ERR_BAD_RESPONSE },
	{ "a send with invalidate that the device refuses",
	  { .opcode = IB_WC_RECV, .status = IB_WC_REM_INV_REQ_ERR }, DAT_DTO_ERR_BAD_RESPONSE },
	{ "a completion of a send",
	  { .opcode = IB_WC_SEND, .byte_len = 1 }, DAT_DTO_ERR_BAD_RESPONSE },
	{ "more than there is room for",
	  { .opcode = IB_WC_RECV, .byte_len = 2 }, DAT_DTO_ERR_LOCAL_LENGTH },
};

static void foreign_name(const struct foreign *foreign, char *name)
{
	strscpy(name, foreign->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(foreign, foreigns, foreign_name);

/* mt:T50 mt:T59: it fails, with its length 0, and the connection breaks. */
static void no_plain_send_filled_it(struct kunit *test)
{
	const struct foreign *foreign = test->param_value;
	struct bench *b = test->priv;
	struct stage s;
	DAT_EVENT event;

	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	fake_complete_recv_as(bench_qp(b, s.ep), &foreign->wc);
	KUNIT_EXPECT_EQ(test, bench_event(b, b->evd, &event),
			(u32)DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, 100ULL, (u64)event.event_data
			.dto_completion_event_data.user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, foreign->status,
			event.event_data.dto_completion_event_data.status);
	KUNIT_EXPECT_EQ(test, 0ULL, (u64)event.event_data
			.dto_completion_event_data.transfered_length);
	expect_dto(b, b->evd, 0, FLUSHED);
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_empty(b, b->evd);
	/* No key of ours was named. */
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, s.ep, 102));
	expect_dto(b, b->evd, 102, FLUSHED);
}

/* A7 mt:T59: nor does it confirm a connection. */
static void no_plain_send_confirms(struct kunit *test)
{
	const struct foreign *foreign = test->param_value;
	struct bench *b = test->priv;
	struct stage s;

	bench_stage(b, KDAPL_EP_COMPLETION_PENDING, &s);
	fake_complete_recv_as(bench_qp(b, s.ep), &foreign->wc);
	expect_dto(b, b->evd, 100, foreign->status);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_empty(b, b->evd);
}

/* mt:M81: an LMR whose key a peer took away is used by no post, and freed as ever. */
static void key_taken_away(struct kunit *test)
{
	struct bench *b = test->priv;
	struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.wc_flags = IB_WC_WITH_INVALIDATE,
	};
	DAT_LMR_PARAM before, after;
	DAT_EP_HANDLE other = bench_ep(b, b->evd);
	struct census census;
	struct stage s;

	bench_connect(b, other);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_query(&b->space, b->lmr,
						    DAT_LMR_FIELD_ALL, &before));
	KUNIT_ASSERT_NE(test, before.rmr_context, 0U);
	wc.ex.invalidate_rkey = before.rmr_context;
	fake_complete_recv_as(bench_qp(b, s.ep), &wc);
	expect_dto(b, b->evd, 100, DAT_DTO_ERR_BAD_RESPONSE);
	expect_dto(b, b->evd, 0, FLUSHED);
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	census = bench_census(b);
	bench_linger_on(s.id);
	KUNIT_EXPECT_EQ(test, bench_recv(b, other, 7),
			DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE));
	KUNIT_EXPECT_EQ(test, bench_send(b, other, 7, 0),
			DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ));
	expect_same(b, &census);
	KUNIT_EXPECT_EQ(test, (int)DAT_EP_STATE_CONNECTED,
			(int)bench_state(b, other));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_query(&b->space, b->lmr,
						    DAT_LMR_FIELD_ALL, &after));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&before, &after, sizeof(before)));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, b->lmr));
	census.regions--;
	KUNIT_EXPECT_EQ(test, census.regions, bench_census(b).regions);
}

/*
 * D19, D52, E72: CQs that cannot be polled or armed for a while delay, and lose nothing.  The
 * async EVD is told once.
 */
static void cq_operations_fail(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;
	DAT_EVENT event;
	int i;

	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	fake_fail(b->fake, FAKE_CQ_POLL, 1, -EIO);
	fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);
	i = kdapl_evd_dequeue(&b->space, b->evd, &event);
	KUNIT_EXPECT_FALSE(test, fake_fails(b->fake, FAKE_CQ_POLL));
	if (i == DONE)	/* the failure was the watch's */
		KUNIT_EXPECT_EQ(test, 0ULL, (u64)event.event_data
				.dto_completion_event_data.user_cookie.as_64);
	else
		expect_dto(b, b->evd, 0, DTO_OK);
	expect_async(b, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, b->ia, DAT_IA_OTHER_ERROR);

	fake_fail(b->fake, FAKE_CQ_ARM, 1, -EIO);
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, s.ep));
	bench_settle(b);
	fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);
	expect_dto(b, b->evd, 1, DTO_OK);
	for (i = 0; i < 2; i++)
		expect_dto(b, b->evd, 100 + i, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(b, b->async);
}

/* ---- memory that goes ------------------------------------------------------------ */

/**
 * struct gone - a request over memory that goes, and another one
 * @mute: the device may stop at it without a completion
 * @first: it is the older one
 * @done: the older one is complete, and nobody looked yet
 * @breaks: the connection breaks
 */
struct gone {
	bool mute;
	bool first;
	bool done;
	bool breaks;
};

static void send_from(struct bench *b, DAT_EP_HANDLE ep, DAT_LMR_CONTEXT context,
		      u64 number)
{
	DAT_LMR_TRIPLET iov[] = {
		{ b->lmr_context, 0, (uintptr_t)b->memory, 1 },
		{ context, 0, (uintptr_t)b->memory, 1 },
	};
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	KUNIT_EXPECT_EQ(b->test, DONE, fake_post_send(&b->space, ep, 2, iov,
						      cookie, 0));
}

/* L5, mt:M23, D17: dat_lmr_free and a request that would never complete. */
static void memory_goes(struct kunit *test)
{
	static const struct gone gone[] = {
		{ .mute = false },
		{ .mute = true, .breaks = true },
		{ .mute = true, .first = true },
		{ .mute = true, .done = true },
	};
	struct bench *b = test->priv;
	DAT_REGION_DESCRIPTION region = { .for_va = b->memory };
	struct census before = bench_census(b);
	DAT_LMR_CONTEXT context;
	const struct gone *g;
	DAT_LMR_HANDLE lmr;
	struct fake_id *id;
	DAT_EP_HANDLE ep;

	for (g = gone; g < gone + ARRAY_SIZE(gone); g++) {
		b->fake->dev->mute_faults = g->mute;
		KUNIT_ASSERT_EQ(test, DONE,
				kdapl_lmr_create(&b->space, b->ia,
						 DAT_MEM_TYPE_VIRTUAL, region,
						 PAGE_SIZE, b->pz,
						 DAT_MEM_PRIV_ALL_FLAG,
						 DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
						 &context, NULL, NULL, NULL));
		ep = bench_ep(b, b->evd);
		bench_connect(b, ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		id = bench_id(b, ep);
		send_from(b, ep, g->first ? context : b->lmr_context, 1);
		send_from(b, ep, g->first ? b->lmr_context : context, 2);
		if (g->done)
			fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, lmr));
		if (g->breaks) {
			expect_dto(b, b->evd, 1, FLUSHED);
			expect_dto(b, b->evd, 2, FLUSHED);
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
		} else {
			KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED,
					bench_state(b, ep));
			if (!g->done)
				fake_complete_send(bench_qp(b, ep), 0,
						   IB_WC_SUCCESS);
			fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
			expect_dto(b, b->evd, 1, DTO_OK);
			expect_dto(b, b->evd, 2, DTO_OK);
		}
		fake_peer_disconnected(id);
		if (!g->breaks)
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
		expect_same(b, &before);
	}
}

struct closing {
	struct work_struct work;
	struct completion over;
	struct bench *b;
	DAT_RETURN ret;
};

static void close_adapter(struct work_struct *work)
{
	struct closing *c = container_of(work, struct closing, work);

	c->ret = kdapl_ia_close(&c->b->space, c->b->ia, DAT_CLOSE_ABRUPT_FLAG);
	complete(&c->over);
}

/* Disconnects, whereupon a close waits for the peer. */
static struct fake_id *begin_close(struct bench *b, struct closing *c)
{
	struct stage s;

	b->fake->dev->close_time = BENCH_AGES;
	lingers(b, &s);
	c->b = b;
	init_completion(&c->over);
	INIT_WORK_ONSTACK(&c->work, close_adapter);
	queue_work(system_unbound_wq, &c->work);
	KUNIT_EXPECT_EQ(b->test, 0UL, wait_for_completion_timeout(&c->over, HZ / 2));
	return s.id;
}

static void end_close(struct bench *b, struct closing *c)
{
	KUNIT_EXPECT_NE(b->test, 0UL, wait_for_completion_timeout(&c->over, BENCH_PATIENCE));
	flush_work(&c->work);
	destroy_work_on_stack(&c->work);
	KUNIT_EXPECT_EQ(b->test, DONE, c->ret);
}

/*
 * D2, I15: the peer of a connection on which nothing is outstanding hears of its end by the
 * disconnect alone. A close waits until that was answered, or for its time, while the CM
 * repeats it.
 */
static void close_waits_for_answers(struct kunit *test)
{
	struct closing c = {};
	struct fake_id *id = begin_close(test->priv, &c);

	fake_peer_disconnected(id);
	end_close(test->priv, &c);
}

/* I15: there is no answer to a disconnect that did not go out. */
static void close_waits_for_no_unsent(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	b->fake->dev->close_time = BENCH_AGES;
	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	fake_fail(b->fake, FAKE_CM_DISCONNECT, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void hurry(struct list_head *on_dev, void *unused)
{
	kdapl_ia_hurry(on_dev);
}

/*
 * A10: the removal of the device does not wait for peers, and ends a close that does, before it
 * has to wait for who called that.
 */
static void removal_ends_close(struct kunit *test)
{
	struct bench *b = test->priv;
	struct closing c = {};

	begin_close(b, &c);
	WRITE_ONCE(b->fake->dev->gone, true);
	kdapl_device_walk_ias(b->fake->dev, hurry, NULL);
	end_close(b, &c);
}

/* A10: a consumer that hears of the removal closes its adapter, and that does not wait either. */
static void close_in_removal(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	b->fake->dev->close_time = BENCH_AGES;
	lingers(b, &s);
	WRITE_ONCE(b->fake->dev->gone, true);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static struct completion answered;

static void peers_answered(struct kdapl_space *space)
{
	complete(&answered);
}

/*
 * I15, I19: a file that another process than its opener closes last. Everything but what waits for
 * a peer is given back, whoever waits for how many peers; and it is told when none is waited for.
 */
static void teardown_waits_for_no_peer(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s, other;

	b->fake->dev->close_time = BENCH_AGES;
	lingers(b, &s);
	bench_stage(b, KDAPL_EP_CONNECTED, &other);
	init_completion(&answered);
	kdapl_space_disconnect(&b->space);
	KUNIT_EXPECT_EQ(test, KDAPL_EP_GONE, other.id->conn->ep->state);
	kdapl_space_teardown(&b->space, peers_answered);
	KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->qps));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_regions);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_zones);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);
	KUNIT_EXPECT_EQ(test, 2U, bench_census(b).lingering);

	fake_peer_disconnected(s.id);
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, 1U, bench_census(b).lingering);
	KUNIT_EXPECT_FALSE(test, completion_done(&answered));
	fake_peer_disconnected(other.id);
	KUNIT_EXPECT_NE(test, 0UL, wait_for_completion_timeout(&answered, BENCH_PATIENCE));
}

/* I15: from then on the peers have no more time than a close gives them. */
static void teardown_hurries_peers(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	b->fake->dev->close_time = 0;
	lingers(b, &s);
	init_completion(&answered);
	kdapl_space_disconnect(&b->space);
	KUNIT_EXPECT_EQ(test, 1U, bench_census(b).lingering);
	kdapl_space_teardown(&b->space, peers_answered);
	KUNIT_EXPECT_NE(test, 0UL, wait_for_completion_timeout(&answered, BENCH_PATIENCE));
}

static struct kunit_case kdapl_conn_cases[] = {
	KUNIT_CASE(resolution_refused),
	KUNIT_CASE(resolution_repeated),
	KUNIT_CASE(held_receive_refused),
	KUNIT_CASE(state_changes_during_connect),
	KUNIT_CASE(duplicates),
	KUNIT_CASE(connects_by_ipv6),
	KUNIT_CASE(timer_runs_early),
	KUNIT_CASE(answer_after_the_abort),
	KUNIT_CASE(former_connection),
	KUNIT_CASE(data_before_the_answer),
	KUNIT_CASE(data_and_no_answer),
	KUNIT_CASE(empty_directions),
	KUNIT_CASE(queue_events),
	KUNIT_CASE(answers_behind_a_disconnect),
	KUNIT_CASE(answers_put_aside),
	KUNIT_CASE(device_never_flushes),
	KUNIT_CASE(idle_end_needs_no_flush),
	KUNIT_CASE(peer_answers_late),
	KUNIT_CASE(id_goes_late),
	KUNIT_CASE(peer_never_answers),
	KUNIT_CASE(adapter_goes_before_the_answer),
	KUNIT_CASE(adapter_closes_before_the_answer),
	KUNIT_CASE(disconnect_refused),
	KUNIT_CASE(drain_among_others),
	KUNIT_CASE(drain_is_cut),
	KUNIT_CASE(receive_fails_during_the_drain),
	KUNIT_CASE(nothing_large_in_cm_callbacks),
	KUNIT_CASE(private_data_goes_with_its_life),
	KUNIT_CASE(process_fetches_private_data),
	KUNIT_CASE(rejection_has_data),
	KUNIT_CASE(rejection_after_the_answer),
	KUNIT_CASE_PARAM(no_plain_send_filled_it, foreign_gen_params),
	KUNIT_CASE_PARAM(no_plain_send_confirms, foreign_gen_params),
	KUNIT_CASE(key_taken_away),
	KUNIT_CASE(cq_operations_fail),
	KUNIT_CASE(memory_goes),
	KUNIT_CASE(close_waits_for_answers),
	KUNIT_CASE(close_waits_for_no_unsent),
	KUNIT_CASE(removal_ends_close),
	KUNIT_CASE(close_in_removal),
	KUNIT_CASE(teardown_waits_for_no_peer),
	KUNIT_CASE(teardown_hurries_peers),
	{}
};

static struct kunit_suite kdapl_conn_suite = {
	.name = "kdapl_conn",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_conn_cases,
};

kunit_test_suite(kdapl_conn_suite);
