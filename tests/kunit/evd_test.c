// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_evd: what Event Dispatchers promise (E12..E75, D10..D54): order, room,
 * overflow, resizing.  The device is the scripted one, so completions come when and as
 * the test wants them.
 */
#include "face/dev.h"
#include "face/dev_ring.h"
#include "stage.h"

/* ---- software events --------------------------------------------------------- */

static DAT_RETURN post(struct bench *b, DAT_EVD_HANDLE evd, unsigned long tag)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.evd_handle = (DAT_EVD_HANDLE)~0UL,
	};

	event.event_data.software_event_data.pointer = (void *)tag;
	return kdapl_evd_post_se(&b->space, evd, &event);
}

static void expect_software(struct bench *b, DAT_EVD_HANDLE evd,
			    unsigned long tag)
{
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(b->test, (u32)DAT_SOFTWARE_EVENT,
			bench_event(b, evd, &event));
	KUNIT_EXPECT_PTR_EQ(b->test, evd, event.evd_handle);
	KUNIT_EXPECT_EQ(b->test, tag, (unsigned long)
			event.event_data.software_event_data.pointer);
}

/* E6, E41, E43, E50: in order, verbatim, with the EVD's own handle. */
static void software_in_order(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 8, DAT_EVD_SOFTWARE_FLAG);
	unsigned long round, i;

	expect_empty(b, evd);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 7; i++)
			KUNIT_EXPECT_EQ(test, DONE, post(b, evd, round + i));
		for (i = 0; i < 7; i++)
			expect_software(b, evd, round + i);
		expect_empty(b, evd);
	}
}

/* E51: the length is exact, and a refused post is no overflow. */
static void software_queue_full(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 3, DAT_EVD_SOFTWARE_FLAG);
	unsigned long i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, DONE, post(b, evd, i));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, post(b, evd, 99),
				DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE));
	expect_software(b, evd, 0);
	KUNIT_EXPECT_EQ(test, DONE, post(b, evd, 3));
	KUNIT_EXPECT_EQ(test, post(b, evd, 99),
			DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE));
	for (i = 1; i < 4; i++)
		expect_software(b, evd, i);
	expect_empty(b, evd);
	expect_empty(b, b->async);
}

/* ---- resizing ------------------------------------------------------------------ */

static DAT_COUNT qlen_of(struct bench *b, DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param = {};

	KUNIT_EXPECT_EQ(b->test, DONE,
			kdapl_evd_query(&b->space, evd, DAT_EVD_FIELD_ALL,
					&param));
	return param.evd_qlen;
}

/* E49, E56: growing keeps what is queued, in order, and makes room. */
static void resize_keeps_order(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 4, DAT_EVD_SOFTWARE_FLAG);
	unsigned long i;

	for (i = 0; i < 5; i++)
		post(b, evd, i);
	expect_software(b, evd, 0);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_resize(&b->space, evd, 20));
	KUNIT_EXPECT_EQ(test, 20, qlen_of(b, evd));
	for (i = 4; i < 21; i++)
		KUNIT_EXPECT_EQ(test, DONE, post(b, evd, i));
	KUNIT_EXPECT_EQ(test, post(b, evd, 99),
			DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE));
	/* one by one */
	for (; i < 24; i++) {
		KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_resize(&b->space, evd, i));
		KUNIT_EXPECT_EQ(test, DONE, post(b, evd, i));
		KUNIT_EXPECT_EQ(test, post(b, evd, 99),
				DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE));
	}
	for (i = 1; i < 24; i++)
		expect_software(b, evd, i);
	expect_empty(b, evd);
	/* all slots are there again */
	for (i = 0; i < 23; i++)
		KUNIT_EXPECT_EQ(test, DONE, post(b, evd, i));
	KUNIT_EXPECT_EQ(test, post(b, evd, 99),
			DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE));
	for (i = 0; i < 23; i++)
		expect_software(b, evd, i);
	expect_empty(b, evd);
}

/* E54: fewer than are queued is refused, and nothing changes. */
static void resize_below_queued(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 8, DAT_EVD_SOFTWARE_FLAG);
	unsigned long i;

	for (i = 0; i < 5; i++)
		post(b, evd, i);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&b->space, evd, 4),
			IS(EVD_IN_USE));
	KUNIT_EXPECT_EQ(test, 8, qlen_of(b, evd));
	/* as many are fine; the larger length may stay */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_resize(&b->space, evd, 5));
	KUNIT_EXPECT_GE(test, qlen_of(b, evd), 5);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_resize(&b->space, evd,
						     qlen_of(b, evd)));
	for (i = 0; i < 5; i++)
		expect_software(b, evd, i);
}

/* E54: completions that are still in the CQ count. */
static void resize_counts_completions(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	int i;

	bench_connect(b, ep);
	for (i = 0; i < 3; i++)
		bench_send(b, ep, i, 0);
	for (i = 0; i < 3; i++)
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kdapl_evd_resize(&b->space, dto, 2),
			IS(EVD_IN_USE));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_resize(&b->space, dto, 16));
	for (i = 0; i < 3; i++)
		expect_dto(b, dto, i, DTO_OK);
}

/* ---- order ------------------------------------------------------------------------ */

/* E43, D43: one EP's requests, and its receives, complete in posting order. */
static void completions_in_order(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE req = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE recv = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, recv, req, b->evd, NULL);
	int round, i;

	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 100 + i));
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 8; i++) {
			KUNIT_EXPECT_EQ(test, DONE,
					bench_send(b, ep, 10 * round + i, 0));
			fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS,
					   1, false);
		}
		for (i = 0; i < 8; i++) {
			fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
			expect_dto(b, recv, 100 + i, DTO_OK);
			KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 100 + i));
		}
		for (i = 0; i < 8; i++)
			expect_dto(b, req, 10 * round + i, DTO_OK);
	}
	expect_empty(b, req);
	expect_empty(b, recv);
}

/* E107: what was queued waits for the next one that comes, and is given away with it. */
static void hushed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	struct taker *t;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	bench_connect(b, ep);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, i, 0));
	for (i = 0; i < 2; i++)
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	kdapl_evd_pull(evd);
	kdapl_evd_hush(evd, true);
	t = taker_start(b, evd);
	kdapl_evd_await_run(evd);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(t->nr));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_taken_nr(b, t, 3);
	/* That was all: the next one comes like any other. */
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_taken_nr(b, t, 4);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
	kdapl_evd_put(evd);
}

/* mt:T13, mt:T14: a slot is busy from the post until its event was dequeued. */
static void slot_is_busy_until_dequeued(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, i, 0));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), bench_send(b, ep, 8, 0));
	for (i = 0; i < 8; i++)
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), bench_send(b, ep, 8, 0));
	expect_dto(b, b->evd, 0, DTO_OK);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 8, 0));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), bench_send(b, ep, 9, 0));
	for (i = 1; i < 8; i++)
		expect_dto(b, b->evd, i, DTO_OK);
}

/* mt:T20, mt:T15, D40: suppressed successes are no events and free their slots. */
static void suppressed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 30; i++) {
		KUNIT_EXPECT_EQ(test, DONE,
				bench_send(b, ep, i,
					   DAT_COMPLETION_SUPPRESS_FLAG));
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
		expect_empty(b, b->evd);
	}
	/* a failure shows */
	bench_send(b, ep, 77, DAT_COMPLETION_SUPPRESS_FLAG);
	bench_send(b, ep, 78, DAT_COMPLETION_SUPPRESS_FLAG);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_REM_ACCESS_ERR);
	expect_dto(b, b->evd, 77, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_dto(b, b->evd, 78, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
}

/* Accepts the one request that comes to @qual with @ep. */
static struct fake_id *accept(struct bench *b, DAT_EP_HANDLE ep,
			      DAT_EVD_HANDLE cr_evd, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp;
	struct fake_id *id;
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_psp_create(&b->space, b->ia, qual, cr_evd,
					 DAT_PSP_CONSUMER_FLAG, &psp));
	KUNIT_ASSERT_EQ(b->test, 0,
			fake_request(b->fake, qual, "hello", 5, &id));
	KUNIT_ASSERT_EQ(b->test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			bench_event(b, cr_evd, &event));
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_cr_accept(&b->space, event.event_data
					.cr_arrival_event_data.cr_handle,
					ep, 0, NULL));
	KUNIT_EXPECT_TRUE(b->test, id->accepted);
	return id;
}

/* E45, P58, RULING 46: data before the CM's report; ESTABLISHED goes first. */
static void established_before_data(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
	struct fake_id *id;

	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 1));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 2));
	id = accept(b, ep, crs, 7001);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_COMPLETION_PENDING,
			bench_state(b, ep));
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, ep));
	expect_dto(b, b->evd, 1, DTO_OK);
	expect_dto(b, b->evd, 2, DTO_OK);
	/* the CM's own report comes too late to be an event */
	fake_confirmed(id);
	expect_empty(b, b->evd);
}

/* E45, P58: the same where nobody polls; the CQ is looked at all the same. */
static void established_by_data_unpolled(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);

	bench_recv(b, ep, 1);
	accept(b, ep, crs, 7002);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(b, dto, 1, DTO_OK);
}

/* E7, P55: the acceptance's data on the active side, nothing on the passive one. */
static void private_data_of_established(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE active = bench_ep(b, b->evd);
	DAT_EP_HANDLE passive = bench_ep(b, b->evd);
	DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	data = &event.event_data.connect_event_data;
	fake_answered(bench_request(b, active), "welcome", 7);
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_ESTABLISHED,
			bench_event(b, b->evd, &event));
	KUNIT_EXPECT_PTR_EQ(test, active, data->ep_handle);
	KUNIT_ASSERT_EQ(test, 7, data->private_data_size);
	KUNIT_EXPECT_EQ(test, 0, memcmp(data->private_data, "welcome", 7));

	fake_confirmed(accept(b, passive, crs, 7003));
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_ESTABLISHED,
			bench_event(b, b->evd, &event));
	KUNIT_EXPECT_PTR_EQ(test, passive, data->ep_handle);
	KUNIT_EXPECT_EQ(test, 0, data->private_data_size);
	KUNIT_EXPECT_NULL(test, data->private_data);
}

static void posts(struct bench *b, DAT_EP_HANDLE ep)
{
	int i;

	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(b->test, DONE, bench_recv(b, ep, 100 + i));
		KUNIT_EXPECT_EQ(b->test, DONE, bench_send(b, ep, i, 0));
	}
}

/* T27, T31, E46, D20, D21, D43, D44, D45: successes, flushes, then the one DISCONNECTED. */
static void abrupt_disconnect_order(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i, sends = 0, recvs = 0;
	DAT_EVENT event;
	u64 cookie;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	posts(b, ep);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_disconnect(&b->space, ep,
					    DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT,
				bench_event(b, b->evd, &event));
		cookie = event.event_data.dto_completion_event_data
			 .user_cookie.as_64;
		if (cookie >= 100)
			KUNIT_EXPECT_EQ(test, cookie, 100ULL + recvs++);
		else
			KUNIT_EXPECT_EQ(test, cookie, (u64)sends++);
		KUNIT_EXPECT_EQ(test, event.event_data
				.dto_completion_event_data.status,
				cookie % 100 ? FLUSHED : DTO_OK);
	}
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED, bench_state(b, ep));
	KUNIT_EXPECT_GE(test, b->fake->calls[FAKE_CM_DISCONNECT], 1U);
	expect_empty(b, b->evd);
}

/* E46, D6, D8, D45: while the device has not flushed, there is no DISCONNECTED. */
static void event_waits_for_the_flush(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	DAT_BOOLEAN recv_idle, request_idle;
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	posts(b, ep);
	b->fake->hold_flush = true;
	kdapl_ep_disconnect(&b->space, ep, DAT_CLOSE_ABRUPT_FLAG);
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_QP_ERROR, 1));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING,
			bench_state(b, ep));
	/* D6: another call adds nothing */
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_disconnect(&b->space, ep,
					    DAT_CLOSE_ABRUPT_FLAG));
	b->fake->hold_flush = false;
	fake_flush(bench_qp(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* D45: everything can be dequeued now, without waiting */
	kdapl_ep_get_status(&b->space, ep, NULL, &recv_idle, &request_idle);
	KUNIT_EXPECT_TRUE(test, recv_idle);
	KUNIT_EXPECT_TRUE(test, request_idle);
	for (i = 0; i < 8; i++) {
		DAT_EVENT event;

		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_evd_dequeue(&b->space, dto, &event));
		KUNIT_EXPECT_EQ(test, event.event_data
				.dto_completion_event_data.status, FLUSHED);
	}
	expect_empty(b, dto);
	expect_empty(b, b->evd);
}

/* T26, T28, D10..D15, D19: requests run to success before the peer is told. */
static void graceful_disconnect_drains(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	posts(b, ep);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_disconnect(&b->space, ep,
					    DAT_CLOSE_GRACEFUL_FLAG));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING,
			bench_state(b, ep));
	KUNIT_EXPECT_EQ(test, IS(EP_DISCPENDING), bench_send(b, ep, 9, 0));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 104));
	/* D15: a message still finds its receive */
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, dto, 100, DTO_OK);
	for (i = 0; i < 4; i++) {
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_DISCONNECT], 0U);
		KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_QP_ERROR], 0U);
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	}
	/* D19: nobody dequeues, the drain ends all the same */
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_DISCONNECT], 1U);
	for (i = 0; i < 4; i++)
		expect_dto(b, dto, i, DTO_OK);
	for (i = 1; i < 5; i++)
		expect_dto(b, dto, 100 + i, FLUSHED);
	expect_empty(b, dto);
	expect_empty(b, b->evd);
}

/* Somebody brings a completion in that no consumer asks for. */
static bool is_fetched(struct kdapl_evd *evd)
{
	unsigned long until = jiffies + BENCH_PATIENCE;

	while (!READ_ONCE(evd->nr_fifo) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	return READ_ONCE(evd->nr_fifo);
}

/*
 * D52: an EVD without a sink costs nothing while nothing completes, and what completes
 * is seen: a failure that nobody dequeues breaks the connection.
 */
static void idle_evd_is_not_watched(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct kdapl_evd *evd = bench_ep_of(b, ep)->req.evd;
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 3; i++)
		bench_send(b, ep, i, 0);
	KUNIT_EXPECT_TRUE(test, bench_evd_rests(evd, false));
	bench_settle(b);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&evd->watch));
	/* The first completion starts it, and it goes by when it has looked. */
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, is_fetched(evd));
	flush_delayed_work(&evd->watch);
	KUNIT_EXPECT_TRUE(test, bench_armed(evd, false));
	bench_settle(b);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&evd->watch));
	expect_dto(b, dto, 0, DTO_OK);
	/* E72: a CQ that cannot be armed once is armed later. */
	fake_fail(b->fake, FAKE_CQ_ARM, 1, -EIO);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_dto(b, dto, 1, DTO_OK);
	KUNIT_EXPECT_TRUE(test, fake_wait_failed(b->fake, FAKE_CQ_ARM));
	expect_async(b, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, b->ia, DAT_IA_OTHER_ERROR);
	KUNIT_EXPECT_TRUE(test, bench_armed(evd, false));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_REM_ACCESS_ERR);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(b, dto, 2, DAT_DTO_ERR_REMOTE_ACCESS);
}

static void note_softirq(void *arg)
{
	*(bool *)arg = in_serving_softirq();
}

/* E113: what nobody waits for is fetched in process context, however much it is. */
static void watch_fetches_in_process_context(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct kdapl_evd *evd = bench_ep_of(b, ep)->req.evd;
	bool *softirq = kunit_kzalloc(test, sizeof(*softirq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, softirq);
	*softirq = true;
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_send(b, ep, 0, 0);
	/* A run for the connection, in softirq, may have been put off. */
	KUNIT_EXPECT_TRUE(test, bench_evd_rests(evd, false));
	fake_hook(b->fake, FAKE_CQ_POLL, note_softirq, softirq);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	flush_delayed_work(&evd->watch);
	kdapl_evd_await_run(evd);
	KUNIT_EXPECT_NULL(test, READ_ONCE(b->fake->hook));
	KUNIT_EXPECT_FALSE(test, *softirq);
	expect_dto(b, dto, 0, DTO_OK);
}

static bool no_room(struct kdapl_evd *evd, void *arg)
{
	return false;
}

static void deliver_nothing(struct kdapl_evd *evd, void *arg, const DAT_EVENT *event,
			    bool more)
{
}

static void done_nothing(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static const struct kdapl_sink full_sink = {
	.room = no_room,
	.deliver = deliver_nothing,
	.done = done_nothing,
};

/*
 * E113: nor does a run in softirq look at more completions than its budget, for a sink
 * that has no room or for none.  They are strays here, which cost no queue pair.
 */
static void run_keeps_its_budget(struct kunit *test)
{
	const u32 strays = 2 * KDAPL_EVD_BUDGET + KDAPL_WC_BATCH;
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, strays, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct kdapl_evd *evd = bench_ep_of(b, ep)->req.evd;
	unsigned long until = jiffies + 120 * HZ;
	struct fake_qp *qp;
	u32 round, runs, i;
	u64 wr_id;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	qp = bench_qp(b, ep);
	bench_send(b, ep, 0, 0);
	wr_id = qp->send.wr[0].wr_id;
	fake_complete_send(qp, 0, IB_WC_SUCCESS);
	expect_dto(b, dto, 0, DTO_OK);
	/* It has no budget. */
	bench_no_watch(evd);
	for (round = 0; round < 2; round++) {
		KUNIT_EXPECT_EQ(test, 0,
				kdapl_evd_set_sink(evd, round ? NULL : &full_sink,
						   NULL, true));
		kdapl_evd_await_run(evd);
		runs = READ_ONCE(evd->runs_started);
		/* The runner is kept off until all of them are there. */
		local_bh_disable();
		for (i = 0; i < strays; i++)
			fake_stray(qp->send_cq, wr_id, IB_WC_SUCCESS);
		kdapl_evd_kick(evd);
		local_bh_enable();
		while (READ_ONCE(qp->send_cq->nr) && time_before(jiffies, until))
			schedule_timeout_uninterruptible(1);
		KUNIT_EXPECT_EQ(test, 0U, READ_ONCE(qp->send_cq->nr));
		KUNIT_EXPECT_GE(test, READ_ONCE(evd->runs_started) - runs, 3U);
	}
}

/* T29, D16, D22: graceful again changes nothing, abrupt gives the drain up. */
static void abrupt_ends_the_drain(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 3; i++)
		bench_send(b, ep, i, 0);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_ep_disconnect(&b->space, ep,
						    DAT_CLOSE_GRACEFUL_FLAG));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_QP_ERROR], 0U);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_ep_disconnect(&b->space, ep,
						    DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 3; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(b, b->evd);
}

/* D18, RULING 9: a request that fails during the drain; E.DISC, not E.BRK. */
static void failure_during_the_drain(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 3; i++)
		bench_send(b, ep, i, 0);
	kdapl_ep_disconnect(&b->space, ep, DAT_CLOSE_GRACEFUL_FLAG);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_REM_ACCESS_ERR);
	expect_dto(b, b->evd, 0, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_dto(b, b->evd, 2, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(b, b->evd);
}

/* T33, E47, E48, D52, D53: the failed DTO, the flushes, one BROKEN; nobody polls. */
static void broken_is_noticed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 3; i++)
		bench_send(b, ep, i, 0);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_RETRY_EXC_ERR);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(b, dto, 0, DAT_DTO_ERR_TRANSPORT);
	expect_dto(b, dto, 1, FLUSHED);
	expect_dto(b, dto, 2, FLUSHED);
	/* D53 */
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_disconnect(&b->space, ep,
					    DAT_CLOSE_ABRUPT_FLAG));
	expect_empty(b, b->evd);
}

/* T32, D50: the peer's disconnect is answered, and is one DISCONNECTED here. */
static void peer_disconnects(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct fake_id *id;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_recv(b, ep, 100);
	id = bench_id(b, ep);
	fake_peer_disconnected(id);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED, bench_state(b, ep));
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_DISCONNECT], 1U);
	expect_empty(b, b->evd);
}

/* A5, D52: its queue was in error already: BROKEN. */
static void peer_reports_the_break(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_qp(b, ep)->broken = true;
	fake_peer_disconnected(bench_id(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_empty(b, b->evd);
}

/* D43, D46: posts in DIS are flushed, after everything of the old life, in order. */
static void late_posts_follow_the_event(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_recv(b, ep, 100);
	b->fake->hold_flush = true;
	fake_peer_disconnected(bench_id(b, ep));
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_QP_ERROR, 1));
	/* DIS by now, and the old life's receive not flushed yet */
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 100 + i));
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, i, 0));
	}
	expect_empty(b, b->evd);
	b->fake->hold_flush = false;
	fake_flush(bench_qp(b, ep));
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (i = 1; i <= 3; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	for (i = 1; i <= 3; i++)
		expect_dto(b, b->evd, 100 + i, FLUSHED);
	/* at once, from here on */
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 4, 0));
	expect_dto(b, b->evd, 4, FLUSHED);
	expect_empty(b, b->evd);
}

/* T35, R5, R6, R15: reset lets the end finish; nothing of it comes afterwards. */
static void reset_after_the_end(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int round;

	for (round = 0; round < 10; round++) {
		bench_recv(b, ep, round);
		bench_connect(b, ep);
		KUNIT_EXPECT_EQ(test, IS(EP_CONNECTED),
				kdapl_ep_reset(&b->space, ep));
		fake_peer_disconnected(bench_id(b, ep));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED,
				bench_state(b, ep));
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_dto(b, b->evd, round, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_empty(b, b->evd);
	}
}

/* R2, A7: receives posted before the connection wait for it, in order. */
static void receives_wait_for_the_queue(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, i));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_POST_RECV], 0U);
	bench_connect(b, ep);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_POST_RECV], 4U);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 4; i++)
		fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	for (i = 0; i < 4; i++)
		expect_dto(b, b->evd, i, DTO_OK);
}

/* T16..T19, C11, D31, A.4: each way an attempt fails has its own event, after the flush. */
static void attempts_that_fail(struct kunit *test)
{
	static const struct {
		enum kdapl_ep_input input;
		u32 event;
	} ways[] = {
		{ KDAPL_EP_IN_PEER_REJECT, 0x04002 },
		{ KDAPL_EP_IN_NON_PEER_REJECT, 0x04003 },
		{ KDAPL_EP_IN_PEER_DISCONNECT, 0x04003 },
		{ KDAPL_EP_IN_UNREACHABLE, 0x04008 },
		{ KDAPL_EP_IN_TIMER, 0x04007 },
		{ KDAPL_EP_IN_BROKEN, 0x04003 },
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep;
	int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ep = bench_ep(b, b->evd);
		bench_recv(b, ep, i);
		fake_input(bench_request(b, ep), ways[i].input);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED,
				bench_state(b, ep));
		expect_dto(b, b->evd, i, FLUSHED);
		expect_event(b, b->evd, ways[i].event);
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	}
}

/* C10, RULING 3: the timer, once before and once after the request went out. */
static void timer_of_an_attempt(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct kdapl_conn *conn;
	u32 calls;

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000, 50000,
					 0, NULL, DAT_QOS_BEST_EFFORT, 0));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_UNREACHABLE);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));

	calls = b->fake->calls[FAKE_CM_RESOLVE];
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000,
					 600000000, 0, NULL, DAT_QOS_BEST_EFFORT,
					 0));
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_CM_RESOLVE,
						calls + 1));
	fake_resolved(bench_id(b, ep));
	/* The request is out, whatever that took, and from here on time is short. */
	conn = bench_conn(b, ep);
	KUNIT_ASSERT_TRUE(test, delayed_work_pending(&conn->timer));
	conn->deadline = ktime_add_ms(ktime_get(), 50);
	mod_delayed_work(kdapl_kernel_wq, &conn->timer, msecs_to_jiffies(50));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_TIMED_OUT);
	expect_empty(b, b->evd);
}

/* ---- overflow ------------------------------------------------------------------------ */

/* An attempt that fails at once: one event on the connect EVD. */
static void fail_attempt(struct bench *b, DAT_EP_HANDLE ep)
{
	fake_input(bench_request(b, ep), KDAPL_EP_IN_PEER_REJECT);
	bench_settle(b);
}

/* E63..E65, E69, D49: the new event is lost, the old stay, one report an episode. */
static void overflow_of_connection_events(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE small = bench_evd(b, 2, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;
	int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 4; i++) {
			ep = bench_ep_attr(b, b->evd, b->evd, small, NULL);
			fail_attempt(b, ep);
			KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED,
					bench_state(b, ep));
		}
		expect_async(b, DAT_ASYNC_ERROR_EVD_OVERFLOW, small,
			     DAT_EVD_OVERFLOW_ERROR);
		expect_empty(b, b->async);
		for (i = 0; i < 2; i++)
			expect_event(b, small,
				     DAT_CONNECTION_EVENT_PEER_REJECTED);
		expect_empty(b, small);
	}
}

/* E67: a lost ESTABLISHED is an overflow, and the connection ends. */
static void overflow_of_established(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE small = bench_evd(b, 1, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE first, second;

	first = bench_ep_attr(b, b->evd, b->evd, small, NULL);
	second = bench_ep_attr(b, b->evd, b->evd, small, NULL);
	bench_connect(b, first);
	fake_answered(bench_request(b, second), NULL, 0);
	expect_async(b, DAT_ASYNC_ERROR_EVD_OVERFLOW, small,
		     DAT_EVD_OVERFLOW_ERROR);
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, first));
	KUNIT_EXPECT_NE(test, DAT_EP_STATE_CONNECTED, bench_state(b, second));
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_DISCONNECT], 1U);
	expect_event(b, small, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* E66: the async EVD itself is full: dropped, and later ones come again. */
static void overflow_of_the_async_evd(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE small[20];
	struct kdapl_evd *async = kdapl_evd_find(&b->space, b->async);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, async);
	for (i = 0; i < ARRAY_SIZE(small); i++) {
		small[i] = bench_evd(b, 1, DAT_EVD_CONNECTION_FLAG);
		fail_attempt(b, bench_ep_attr(b, b->evd, b->evd, small[i], NULL));
		fail_attempt(b, bench_ep_attr(b, b->evd, b->evd, small[i], NULL));
	}
	/* 16 entries */
	KUNIT_EXPECT_EQ(test, async->dropped, 4ULL);
	for (i = 0; i < 16; i++)
		expect_async(b, DAT_ASYNC_ERROR_EVD_OVERFLOW, small[i],
			     DAT_EVD_OVERFLOW_ERROR);
	expect_empty(b, b->async);

	expect_event(b, small[0], DAT_CONNECTION_EVENT_PEER_REJECTED);
	fail_attempt(b, bench_ep_attr(b, b->evd, b->evd, small[0], NULL));
	fail_attempt(b, bench_ep_attr(b, b->evd, b->evd, small[0], NULL));
	expect_async(b, DAT_ASYNC_ERROR_EVD_OVERFLOW, small[0],
		     DAT_EVD_OVERFLOW_ERROR);
	kdapl_evd_put(async);
}

/* P7, E67, RULING 28: the CR-EVD's length is a backlog, not an overflow. */
static void backlog_of_requests(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE crs = bench_evd(b, 2, DAT_EVD_CR_FLAG);
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_psp_create(&b->space, b->ia, 7100, crs,
					 DAT_PSP_CONSUMER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, 7100, "1", 1, NULL));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, 7100, "2", 1, NULL));
	KUNIT_EXPECT_NE(test, 0, fake_request(b->fake, 7100, "3", 1, NULL));
	expect_empty(b, b->async);
	/* one dequeued makes room for one, answered or not */
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			bench_event(b, crs, &event));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, 7100, "4", 1, NULL));
	KUNIT_EXPECT_NE(test, 0, fake_request(b->fake, 7100, "5", 1, NULL));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_psp_free(&b->space, psp));
}

/* ---- streams -------------------------------------------------------------------------- */

/* E21: completion flags of the streams on one EVD must agree. */
static void streams_must_agree(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE mixed = bench_evd(b, 64, BENCH_EVD_FLAGS);
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 2,
		.max_request_dtos = 2,
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	DAT_EP_HANDLE ep;

#define CREATE(recv, request, connect) \
	kdapl_ep_create(&b->space, b->ia, b->pz, recv, request, connect, \
			&attr, &ep)

	/* b: with another kind of stream only the threshold flag */
	KUNIT_EXPECT_EQ(test, IP(6), CREATE(mixed, mixed, mixed));
	KUNIT_EXPECT_EQ(test, DONE, CREATE(dto, dto, b->evd));
	/* a: and everybody the same */
	KUNIT_EXPECT_EQ(test, DONE, CREATE(dto, dto, b->evd));
	attr.request_completion_flags = 0;
	KUNIT_EXPECT_EQ(test, IP(6), CREATE(b->evd, dto, b->evd));
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_EXPECT_EQ(test, IP(6), CREATE(dto, b->evd, b->evd));
#undef CREATE
}

/* E20, E58..E60, F8, F10: in use while something feeds it; then events go with it. */
static void free_while_in_use(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 8, BENCH_EVD_FLAGS);
	DAT_EP_HANDLE ep = bench_ep(b, evd);
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(test, IS(EVD_IN_USE), kdapl_evd_free(&b->space, evd));
	bench_connect(b, ep);
	KUNIT_EXPECT_EQ(test, IS(EVD_IN_USE), kdapl_evd_free(&b->space, evd));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	/* RULING 15: what was there stays and names the dead handle */
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_ESTABLISHED,
			bench_event(b, evd, &event));
	KUNIT_EXPECT_PTR_EQ(test, ep,
			    event.event_data.connect_event_data.ep_handle);
	expect_empty(b, evd);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, evd));
	KUNIT_EXPECT_EQ(test, IH(EVD_REQUEST), kdapl_evd_free(&b->space, evd));
	/* E58 */
	KUNIT_EXPECT_EQ(test, IS(EVD_IN_USE),
			kdapl_evd_free(&b->space, b->async));
}

/* E60, P15: a request that nobody dequeued goes with its EVD. */
static void free_with_requests_queued(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
	u32 before = b->space.nr_objects;
	DAT_PSP_HANDLE psp;

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_psp_create(&b->space, b->ia, 7101, crs,
					 DAT_PSP_PROVIDER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, 7101, "1", 1, NULL));
	KUNIT_EXPECT_EQ(test, IS(EVD_IN_USE), kdapl_evd_free(&b->space, crs));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_psp_free(&b->space, psp));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, crs));
	bench_settle(b);
	/* EVD, CR and the provider's endpoint are gone */
	KUNIT_EXPECT_EQ(test, b->space.nr_objects, before - 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->ids));
}

/* mt:T11, D47: without EVDs completions are swallowed and slots come back. */
static void null_evds(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep_attr(b, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					 b->evd, NULL);
	unsigned long until;
	DAT_RETURN ret;
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 30; i++) {
		until = jiffies + 120 * HZ;
		do {
			ret = bench_send(b, ep, i, 0);
			if (ret)
				schedule_timeout_uninterruptible(1);
		} while (ret && time_before(jiffies, until));
		KUNIT_ASSERT_EQ(test, DONE, ret);
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	}
	bench_recv(b, ep, 1);
	kdapl_ep_disconnect(&b->space, ep, DAT_CLOSE_GRACEFUL_FLAG);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(b, b->evd);
}

/* T34, F7..F9, mt:T38: free with everything under way; no event, nothing left. */
static void free_under_traffic(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	u32 number;
	DAT_EVENT event;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	posts(b, ep);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->qps));
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_DISCONNECT], 1U);
	KUNIT_EXPECT_EQ(test, IH(EP), kdapl_ep_free(&b->space, ep));
	while (kdapl_evd_dequeue(&b->space, b->evd, &event) == DONE) {
		number = event.event_number;
		KUNIT_EXPECT_EQ(test, number, (u32)DAT_DTO_COMPLETION_EVENT);
	}
}

/* ---- a device that refuses -------------------------------------------------------------- */

/* D54, E.6: what fails before the call returns changes nothing. */
static void refusals_of_the_device(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);

	bench_recv(b, ep, 1);
	fake_fail(b->fake, FAKE_CM_OPEN, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(TEP),
			kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000,
					 DAT_TIMEOUT_INFINITE, 0, NULL,
					 DAT_QOS_BEST_EFFORT, 0));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, ep));
	expect_empty(b, b->evd);

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), bench_send(b, ep, 1, 0));
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 2, 0));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_dto(b, b->evd, 2, DTO_OK);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 1, DTO_OK);
	expect_empty(b, b->evd);
}

/* T23, C11, P57: what fails after it returned is one connection event. */
static void failures_after_the_call(struct kunit *test)
{
	static const enum fake_op active[] = {
		FAKE_CM_CONNECT, FAKE_QP_RTR, FAKE_QP_RTS, FAKE_CM_ESTABLISHED,
	};
	static const enum fake_op passive[] = {
		FAKE_QP_RTR, FAKE_QP_RTS, FAKE_CM_ACCEPT,
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	struct fake_id *id;
	int i;

	for (i = 0; i < ARRAY_SIZE(active); i++) {
		ep = bench_ep(b, b->evd);
		bench_recv(b, ep, i);
		fake_fail(b->fake, active[i], 1, -EINVAL);
		id = bench_attempt(b, ep);
		if (bench_state(b, ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
			fake_answered(id, NULL, 0);
		expect_dto(b, b->evd, i, FLUSHED);
		KUNIT_EXPECT_NE(test, 0U, bench_event(b, b->evd, &event));
		KUNIT_EXPECT_TRUE(test, event.event_number ==
				  DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
				  event.event_number ==
				  DAT_CONNECTION_EVENT_UNREACHABLE);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED,
				bench_state(b, ep));
		expect_empty(b, b->evd);
	}
	for (i = 0; i < ARRAY_SIZE(passive); i++) {
		DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
		DAT_PSP_HANDLE psp;

		ep = bench_ep(b, b->evd);
		bench_recv(b, ep, i);
		KUNIT_ASSERT_EQ(test, DONE,
				kdapl_psp_create(&b->space, b->ia, 7200 + i,
						 crs, DAT_PSP_CONSUMER_FLAG,
						 &psp));
		KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, 7200 + i, "", 0,
						      NULL));
		bench_event(b, crs, &event);
		fake_fail(b->fake, passive[i], 1, -EINVAL);
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_cr_accept(&b->space, event.event_data
						.cr_arrival_event_data.cr_handle,
						ep, 0, NULL));
		expect_dto(b, b->evd, i, FLUSHED);
		expect_event(b, b->evd,
			     DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		expect_empty(b, b->evd);
	}
}

/*
 * A8: endpoints that are freed keep their memory while nobody takes their events. A user has no
 * end of them, although each has its place among his objects back.
 */
static void freed_and_unread(struct kunit *test)
{
	struct kdapl_user *user = kdapl_user_get(KUIDT_INIT(90000), 2, 10);
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 1, DAT_EVD_DTO_FLAG);
	DAT_RETURN ret = DONE;
	DAT_EP_HANDLE ep;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, user);
	b->space.owner = user;
	for (i = 0; i < 10000; i++) {
		ret = kdapl_ep_create(&b->space, b->ia, b->pz, evd, evd, b->evd, NULL, &ep);
		if (ret)
			break;
		KUNIT_ASSERT_EQ(test, DONE, bench_recv(b, ep, i));
		KUNIT_ASSERT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	}
	KUNIT_EXPECT_EQ(test, IR(MEMORY), ret);
	KUNIT_EXPECT_GE(test, i, 2 * 10);
	/* Who takes the events has the room again. */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, evd));
	rcu_barrier();
	flush_workqueue(kdapl_user_wq(user));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_create(&b->space, b->ia, b->pz, b->evd, b->evd,
						    b->evd, NULL, &ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	b->space.owner = NULL;
	rcu_barrier();
	kdapl_user_put(user);
}

/* E71, A10: the device goes under traffic; shells stay and can be freed. */
static void device_goes(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EVD_HANDLE evd;
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 2; i++)
		bench_send(b, ep, i, 0);
	kdapl_ia_device_gone(container_of(b->fake->dev->ias.next,
					  struct kdapl_ia, on_dev));
	KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->qps));
	KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->ids));
	KUNIT_EXPECT_EQ(test, b->fake->nr_cqs, 0U);
	KUNIT_EXPECT_EQ(test, b->fake->nr_zones, 0U);
	KUNIT_EXPECT_EQ(test, b->fake->nr_regions, 0U);
	for (i = 0; i < 2; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_async(b, DAT_ASYNC_ERROR_IA_CATASTROPHIC, b->ia,
		     DAT_IA_CATASTROPHIC_ERROR);
	KUNIT_EXPECT_EQ(test, kdapl_evd_create(&b->space, b->ia, 4,
					       DAT_EVD_DTO_FLAG, &evd),
			DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, b->lmr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, b->evd));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, b->pz));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia,
						   DAT_CLOSE_GRACEFUL_FLAG));
}

/*
 * A8: while an EVD is being freed its handle is still found, so another thread of the process
 * may resize it. The ring is out of the tables by then, and gets nothing into them any more.
 */
static void ring_is_forgotten(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 4, DAT_EVD_SOFTWARE_FLAG);
	u64 handle = (uintptr_t)evd;
	struct kdapl_uapi_ring info;
	struct kdapl_file *file;
	struct kdapl_ring *ring;
	struct kdapl_evd *e;
	DAT_RETURN ret;

	file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file);
	file->space = b->space;
	xa_init(&file->rings);
	xa_init_flags(&file->maps, XA_FLAGS_ALLOC1);
	e = kdapl_evd_find(&b->space, evd);
	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_ASSERT_EQ(test, 0, kdapl_ring_create(file, (uintptr_t)b->ia, handle, &info));
	ring = kdapl_ring_find(file, handle);
	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_EXPECT_FALSE(test, xa_empty(&file->maps));
	kdapl_evd_set_sink(e, NULL, NULL, true);
	kdapl_ring_drop(file, handle);
	KUNIT_EXPECT_TRUE(test, xa_empty(&file->maps));
	ret = kdapl_ring_resize(file, ring, e, 4096);
	KUNIT_EXPECT_EQ(test, IH(EVD_REQUEST), ret);
	KUNIT_EXPECT_TRUE(test, xa_empty(&file->maps));
	kdapl_evd_set_sink(e, NULL, NULL, true);
	kdapl_ring_put(ring);
	kdapl_evd_put(e);
	xa_destroy(&file->maps);
	xa_destroy(&file->rings);
}

static struct kunit_case kdapl_evd_cases[] = {
	KUNIT_CASE(ring_is_forgotten),
	KUNIT_CASE(software_in_order),
	KUNIT_CASE(software_queue_full),
	KUNIT_CASE(resize_keeps_order),
	KUNIT_CASE(resize_below_queued),
	KUNIT_CASE(resize_counts_completions),
	KUNIT_CASE(completions_in_order),
	KUNIT_CASE(hushed),
	KUNIT_CASE(slot_is_busy_until_dequeued),
	KUNIT_CASE(suppressed),
	KUNIT_CASE(established_before_data),
	KUNIT_CASE(established_by_data_unpolled),
	KUNIT_CASE(private_data_of_established),
	KUNIT_CASE(abrupt_disconnect_order),
	KUNIT_CASE(event_waits_for_the_flush),
	KUNIT_CASE(graceful_disconnect_drains),
	KUNIT_CASE(idle_evd_is_not_watched),
	KUNIT_CASE(watch_fetches_in_process_context),
	KUNIT_CASE(run_keeps_its_budget),
	KUNIT_CASE(abrupt_ends_the_drain),
	KUNIT_CASE(failure_during_the_drain),
	KUNIT_CASE(broken_is_noticed),
	KUNIT_CASE(peer_disconnects),
	KUNIT_CASE(peer_reports_the_break),
	KUNIT_CASE(late_posts_follow_the_event),
	KUNIT_CASE(reset_after_the_end),
	KUNIT_CASE(receives_wait_for_the_queue),
	KUNIT_CASE(attempts_that_fail),
	KUNIT_CASE(timer_of_an_attempt),
	KUNIT_CASE(overflow_of_connection_events),
	KUNIT_CASE(overflow_of_established),
	KUNIT_CASE(overflow_of_the_async_evd),
	KUNIT_CASE(backlog_of_requests),
	KUNIT_CASE(streams_must_agree),
	KUNIT_CASE(free_while_in_use),
	KUNIT_CASE(free_with_requests_queued),
	KUNIT_CASE(null_evds),
	KUNIT_CASE(free_under_traffic),
	KUNIT_CASE(refusals_of_the_device),
	KUNIT_CASE(failures_after_the_call),
	KUNIT_CASE(freed_and_unread),
	KUNIT_CASE(device_goes),
	{}
};

static struct kunit_suite kdapl_evd_suite = {
	.name = "kdapl_evd",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_evd_cases,
};

kunit_test_suite(kdapl_evd_suite);
