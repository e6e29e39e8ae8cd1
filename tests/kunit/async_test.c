// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_async: what a device says by itself and who is told (E63..E75), when a
 * completion queue is armed and what starts an upcall, and what of a post the device
 * gets to see.
 */
#include "stage.h"
#include "core/input.h"

static void expect_told(struct bench *b, DAT_EVD_HANDLE evd, u32 number,
			DAT_HANDLE about, DAT_COUNT reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;

	data = &event.event_data.asynch_error_event_data;
	KUNIT_EXPECT_EQ(b->test, number, bench_event(b, evd, &event));
	KUNIT_EXPECT_PTR_EQ(b->test, evd, event.evd_handle);
	KUNIT_EXPECT_PTR_EQ(b->test, about, data->dat_handle);
	KUNIT_EXPECT_EQ(b->test, reason, data->reason);
}

static DAT_IA_HANDLE open_again(struct bench *b, DAT_EVD_HANDLE *async)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_ia_open(&b->space, "fake-1", 4, async,
				      DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
				      DAT_TRUE, &ia));
	return ia;
}

/* Two connection events for an EVD of length 1. */
static DAT_EVD_HANDLE overflow(struct bench *b, DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE small = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep;
	int i;

	KUNIT_ASSERT_EQ(b->test, DONE, kdapl_pz_create(&b->space, ia, &pz));
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_evd_create(&b->space, ia, 1,
					 DAT_EVD_CONNECTION_FLAG, &small));
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(b->test, DONE,
				kdapl_ep_create(&b->space, ia, pz, NULL, NULL,
						small, NULL, &ep));
		fake_input(bench_request(b, ep), KDAPL_EP_IN_PEER_REJECT);
	}
	return small;
}

static void raise(struct list_head *on_dev, void *event)
{
	kdapl_ia_async(on_dev, event);
}

static void device_says(struct bench *b, enum ib_event_type type)
{
	struct ib_event event = { .event = type };

	kdapl_device_walk_ias(b->fake->dev, raise, &event);
}

/* E16, E75: each async EVD of the IAs that it concerns, and no other. */
static void who_is_told(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE more = bench_evd(b, 4, DAT_EVD_ASYNC_FLAG);
	DAT_EVD_HANDLE theirs = DAT_HANDLE_NULL, full;
	DAT_IA_HANDLE ia = open_again(b, &theirs);

	full = overflow(b, b->ia);
	expect_told(b, b->async, DAT_ASYNC_ERROR_EVD_OVERFLOW, full, 0);
	expect_told(b, more, DAT_ASYNC_ERROR_EVD_OVERFLOW, full, 0);
	expect_empty(b, theirs);

	full = overflow(b, ia);
	expect_told(b, theirs, DAT_ASYNC_ERROR_EVD_OVERFLOW, full, 0);
	expect_empty(b, b->async);

	/* a port is everybody's; each is told of its own adapter */
	device_says(b, IB_EVENT_PORT_ERR);
	expect_told(b, b->async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		    b->ia, DAT_IA_OTHER_ERROR);
	expect_told(b, more, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, b->ia,
		    DAT_IA_OTHER_ERROR);
	expect_told(b, theirs, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, ia,
		    DAT_IA_OTHER_ERROR);
	expect_empty(b, b->async);
	expect_empty(b, more);
	expect_empty(b, theirs);
}

struct teller {
	struct work_struct work;
	struct bench *b;
};

static void tell(struct work_struct *work)
{
	device_says(container_of(work, struct teller, work)->b, IB_EVENT_PORT_ERR);
}

/*
 * E16, E72: as many adapters and EVDs as a process may have are told with no lock held and
 * interrupts on: one that cannot be told yet stops nobody but the one who tells.
 */
static void many_are_told(struct kunit *test)
{
	struct bench *b = test->priv;
	struct kdapl_device *dev = b->fake->dev;
	DAT_EVD_HANDLE more[40], theirs = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle = open_again(b, &theirs);
	unsigned long until = jiffies + 120 * HZ;
	struct teller teller = { .b = b };
	struct kdapl_object *obj;
	struct kdapl_ia *ia;
	DAT_EVENT event;
	bool free;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = bench_evd(b, 4, DAT_EVD_ASYNC_FLAG);
	obj = kdapl_object_find(&b->space, handle, KDAPL_IA);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	ia = container_of(obj, struct kdapl_ia, obj);
	INIT_WORK_ONSTACK(&teller.work, tell);
	mutex_lock(&ia->lock);
	queue_work(system_unbound_wq, &teller.work);
	for (i = 0; i < ARRAY_SIZE(more); i++)
		expect_told(b, more[i], DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, b->ia,
			    DAT_IA_OTHER_ERROR);
	expect_told(b, b->async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, b->ia,
		    DAT_IA_OTHER_ERROR);
	/* The other adapter is being told, and its lock is waited for. */
	while (READ_ONCE(dev->visited) != &ia->on_dev && time_before(jiffies, until))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_PTR_EQ(test, dev->visited, &ia->on_dev);
	free = spin_trylock(&dev->ias_lock);
	if (free)
		spin_unlock(&dev->ias_lock);
	KUNIT_EXPECT_TRUE(test, free);
	KUNIT_EXPECT_EQ(test, EMPTY, kdapl_evd_dequeue(&b->space, theirs, &event));
	mutex_unlock(&ia->lock);
	flush_work(&teller.work);
	destroy_work_on_stack(&teller.work);
	kdapl_object_put(obj);
	expect_told(b, theirs, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, handle,
		    DAT_IA_OTHER_ERROR);
	for (i = 0; i < ARRAY_SIZE(more); i++)
		expect_empty(b, more[i]);
	expect_empty(b, theirs);
}

/* I7, E75: an IA without an async EVD; its events go to the other opens'. */
static void out_of_scope(struct kunit *test)
{
	DAT_EVD_HANDLE async = (DAT_EVD_HANDLE)1UL, full;
	struct bench *b = test->priv;
	DAT_IA_HANDLE ia;

	b->space.user = true;
	ia = open_again(b, &async);
	KUNIT_EXPECT_PTR_EQ(test, (void *)2UL, (void *)async);
	full = overflow(b, ia);
	expect_told(b, b->async, DAT_ASYNC_ERROR_EVD_OVERFLOW, full, 0);
	expect_empty(b, b->async);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ia_close(&b->space, ia, DAT_CLOSE_ABRUPT_FLAG));
	b->space.user = false;
}

/*
 * E71, I7: the device goes. The adapters of a process are refused what is new as soon as the
 * first of them is told; nobody is told of another one, who is told himself.
 */
static void removal_of_several(struct kunit *test)
{
	DAT_EVD_HANDLE async = (DAT_EVD_HANDLE)1UL;
	struct bench *b = test->priv;
	struct kdapl_object *obj;
	DAT_IA_HANDLE ia[2];
	DAT_PZ_HANDLE pz;
	int i;

	b->space.user = true;
	for (i = 0; i < 2; i++) {
		async = (DAT_EVD_HANDLE)1UL;
		ia[i] = open_again(b, &async);
	}
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_create(&b->space, ia[1], &pz));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));
	obj = kdapl_object_find(&b->space, ia[0], KDAPL_IA);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_ia_device_gone(container_of(obj, struct kdapl_ia, obj));
	kdapl_object_put(obj);
	expect_empty(b, b->async);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, GONE, kdapl_pz_create(&b->space, ia[i], &pz));
	/* It was opened by a kernel consumer, so it stands alone. */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, ia[i],
							   DAT_CLOSE_ABRUPT_FLAG));
	b->space.user = false;
}

/* E65, E68, E69: completions are lost, nobody knows whose. */
static void queue_overflows(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE other = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE victim = bench_ep_attr(b, dto, dto, b->evd, NULL);
	DAT_EP_HANDLE lives = bench_ep_attr(b, other, other, b->evd, NULL);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);

	KUNIT_ASSERT_NOT_NULL(test, evd);
	bench_connect(b, victim);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_connect(b, lives);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_recv(b, victim, 1);
	bench_cq(evd)->cq->error(bench_cq(evd)->cq);
	expect_told(b, b->async, DAT_ASYNC_ERROR_EVD_OVERFLOW, dto,
		    DAT_EVD_OVERFLOW_ERROR);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(b, dto, 1, FLUSHED);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED, bench_state(b, victim));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, lives));
	expect_empty(b, b->async);
	expect_empty(b, b->evd);
	kdapl_evd_put(evd);
}

/* E70: a queue pair in trouble: an async event, and BROKEN. */
static void queue_pair_fails(struct kunit *test)
{
	static const struct {
		enum ib_event_type type;
		DAT_COUNT reason;
	} ways[] = {
		{ IB_EVENT_QP_FATAL, DAT_EP_TRANSFER_TO_ERROR },
		{ IB_EVENT_QP_REQ_ERR, DAT_EP_OTHER_ERROR },
		{ IB_EVENT_QP_ACCESS_ERR, DAT_EP_OTHER_ERROR },
	};
	struct bench *b = test->priv;
	struct kdapl_qp *qp;
	DAT_EP_HANDLE ep;
	int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ep = bench_ep(b, b->evd);
		bench_connect(b, ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		bench_recv(b, ep, i);
		qp = bench_qp(b, ep)->qp;
		qp->event(qp, ways[i].type);
		expect_told(b, b->async, DAT_ASYNC_ERROR_EP_BROKEN, ep,
			    ways[i].reason);
		expect_dto(b, b->evd, i, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
		expect_empty(b, b->async);
		expect_empty(b, b->evd);
	}
}

static void break_the_queue(void *qp)
{
	fake_queue_event(qp, IB_EVENT_QP_ACCESS_ERR);
}

/*
 * E70, R11: a device reports an error of a queue pair that is just being destroyed.  Its
 * connection is over, and the endpoint may have another one when the report is looked at.
 */
static void queue_pair_fails_late(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	for (i = 0; i < 2; i++) {
		bench_connect(b, ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_empty(b, b->async);
		fake_hook(b->fake, FAKE_QP_DESTROY, break_the_queue, bench_qp(b, ep));
		KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	}
	expect_empty(b, b->async);
	expect_empty(b, b->evd);
}

/* E71, E72, E74: what the device says, and what nobody needs to know. */
static void device_events(struct kunit *test)
{
	static const enum ib_event_type silent[] = {
		IB_EVENT_COMM_EST, IB_EVENT_SQ_DRAINED, IB_EVENT_PATH_MIG,
		IB_EVENT_PATH_MIG_ERR, IB_EVENT_QP_LAST_WQE_REACHED,
		IB_EVENT_PORT_ACTIVE, IB_EVENT_LID_CHANGE,
		IB_EVENT_PKEY_CHANGE, IB_EVENT_SM_CHANGE,
		IB_EVENT_GID_CHANGE, IB_EVENT_CLIENT_REREGISTER,
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct kdapl_qp *qp;
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	qp = bench_qp(b, ep)->qp;
	for (i = 0; i < ARRAY_SIZE(silent); i++) {
		device_says(b, silent[i]);
		qp->event(qp, silent[i]);
	}
	expect_empty(b, b->async);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, ep));

	device_says(b, IB_EVENT_PORT_ERR);
	expect_told(b, b->async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		    b->ia, DAT_IA_OTHER_ERROR);
	/* a link comes back */
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, ep));
	expect_empty(b, b->evd);

	device_says(b, IB_EVENT_DEVICE_FATAL);
	expect_told(b, b->async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, b->ia,
		    DAT_IA_CATASTROPHIC_ERROR);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_empty(b, b->async);
}

/* ---- streams ------------------------------------------------------------------- */

/* E14, E15: every set of streams. */
static void every_set_of_streams(struct kunit *test)
{
	const DAT_EVD_FLAGS all = DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG;
	struct bench *b = test->priv;
	DAT_EVD_FLAGS flags;
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;

	for (flags = 1; flags <= all; flags++) {
		if (flags & ~all)
			continue;
		evd = bench_evd(b, 1, flags);
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_evd_query(&b->space, evd,
						DAT_EVD_FIELD_ALL, &param));
		KUNIT_EXPECT_EQ(test, flags, param.evd_flags);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, evd));
	}
}

/* E18: a bind completes where binds are taken, or is refused. */
static void bind_wants_its_stream(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	DAT_LMR_TRIPLET piece = {
		.lmr_context = b->lmr_context,
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 64,
	};
	DAT_RMR_CONTEXT context = 77;
	DAT_RMR_HANDLE rmr;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_rmr_create(&b->space, b->pz, &rmr));
	bench_connect(b, ep);
	KUNIT_EXPECT_EQ(test, IH(EVD_REQUEST),
			kdapl_rmr_bind(&b->space, rmr, &piece,
				       DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
				       (DAT_RMR_COOKIE) {}, 0, &context));
	KUNIT_EXPECT_EQ(test, 77U, context);
	expect_empty(b, dto);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, rmr));
}

/* ---- what starts an upcall -------------------------------------------------------- */

/* The runner of @evd has looked, whatever it found. */
static void has_run(struct bench *b, struct kdapl_evd *evd)
{
	bench_settle(b);
	KUNIT_EXPECT_EQ(b->test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
}

/* E111: as long as nobody wants to know, completions start nothing. */
static void armed_for_somebody(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	struct taker *t;
	u32 runs;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	bench_connect(b, ep);
	bench_send(b, ep, 0, 0);
	bench_send(b, ep, 1, 0);
	/* The watch would look in a tenth of a second, which may be over at any moment. */
	bench_no_watch(evd);
	KUNIT_EXPECT_TRUE(test, bench_evd_rests(evd, false));
	runs = READ_ONCE(evd->runs_started);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, bench_cq(evd)->armed);
	KUNIT_EXPECT_EQ(test, runs, READ_ONCE(evd->runs_started));

	t = taker_start(b, evd);
	expect_taken(b, t, 1);
	/* and again, without anybody asking */
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_taken(b, t, 2);
	has_run(b, evd);
	kdapl_evd_put(evd);
}

/*
 * E106, mt:T28: when the last stream has gone that asked for solicited completions
 * only, the CQ is armed for all of them, because the next one hears of all.
 */
static void armed_for_all_again(struct kunit *test)
{
	const DAT_EP_ATTR solicited = {
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, b->evd, b->evd, &solicited);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);

	KUNIT_ASSERT_NOT_NULL(test, evd);
	taker_start(b, evd);
	KUNIT_EXPECT_TRUE(test, bench_armed(evd, true));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	bench_ep_attr(b, dto, b->evd, b->evd, NULL);
	KUNIT_EXPECT_TRUE(test, bench_armed(evd, false));
	has_run(b, evd);
	kdapl_evd_put(evd);
}

/* E106, mt:T21, mt:T27: alone it starts nothing; with one that does it comes first. */
static void unsignalled_starts_nothing(struct kunit *test)
{
	const DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_request_iov = 1,
		.request_completion_flags = quiet,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, DAT_HANDLE_NULL, dto, b->evd, &attr);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	struct taker *t;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	t = taker_start(b, evd);
	bench_connect(b, ep);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 0, quiet));
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 1, quiet));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	bench_settle(b);
	expect_taken(b, t, 0);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 2, 0));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_taken(b, t, 3);

	/* mt:T28: what is no success does start one */
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 3, quiet));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_REM_ACCESS_ERR);
	expect_taken(b, t, 4);
	has_run(b, evd);
	kdapl_evd_put(evd);
}

/* E106, mt:T22, mt:T28: an EVD for solicited receives. */
static void unsolicited_starts_nothing(struct kunit *test)
{
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_recv_iov = 1,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, DAT_HANDLE_NULL, b->evd, &attr);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	struct taker *t;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, i));
	t = taker_start(b, evd);
	bench_connect(b, ep);
	bench_settle(b);
	/* A run that is yet to come, for the connection, would find them. */
	KUNIT_EXPECT_TRUE(test, bench_evd_rests(evd, true));
	for (i = 0; i < 2; i++)
		fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	bench_settle(b);
	expect_taken(b, t, 0);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, true);
	expect_taken(b, t, 3);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_disconnect(&b->space, ep,
					    DAT_CLOSE_ABRUPT_FLAG));
	expect_taken(b, t, 4);
	has_run(b, evd);
	kdapl_evd_put(evd);
}

/*
 * mt:T59, D52: an EVD for solicited receives whose upcall goes is watched like any other
 * without one: a write with immediate data breaks the connection, although it is not
 * solicited.
 */
static void unsolicited_without_a_sink(struct kunit *test)
{
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_recv_iov = 1,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	const struct ib_wc write = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.wc_flags = IB_WC_WITH_IMM,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, DAT_HANDLE_NULL, b->evd, &attr);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);

	KUNIT_ASSERT_NOT_NULL(test, evd);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 0));
	taker_start(b, evd);
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_TRUE(test, bench_armed(evd, true));
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
	fake_complete_recv_as(bench_qp(b, ep), &write);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	kdapl_evd_put(evd);
}

/* mt:T37: an EVD that is full stops no transfer and loses no completion. */
static void full_evd_stops_nothing(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 2, BENCH_EVD_FLAGS |
				       DAT_EVD_SOFTWARE_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, evd, evd, b->evd, NULL);
	DAT_EVENT soft = { .event_number = DAT_SOFTWARE_EVENT };
	int i;

	bench_connect(b, ep);
	while (!kdapl_evd_post_se(&b->space, evd, &soft))
		;
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, i, 0));
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	}
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, ep));
	for (i = 0; i < 2; i++)
		expect_event(b, evd, DAT_SOFTWARE_EVENT);
	for (i = 0; i < 8; i++)
		expect_dto(b, evd, i, DAT_DTO_SUCCESS);
	expect_empty(b, evd);
	expect_empty(b, b->async);
}

/* ---- what the device gets to see --------------------------------------------------- */

/* mt:T20, mt:T22..T24, mt:T15: flags of the request; and always a completion. */
static void flags_of_requests(struct kunit *test)
{
	static const struct {
		DAT_COMPLETION_FLAGS flags;
		int send_flags;
	} ways[] = {
		{ 0, 0 },
		{ DAT_COMPLETION_SUPPRESS_FLAG, 0 },
		{ DAT_COMPLETION_SOLICITED_WAIT_FLAG, IB_SEND_SOLICITED },
		{ DAT_COMPLETION_BARRIER_FENCE_FLAG, IB_SEND_FENCE },
		{ DAT_COMPLETION_BARRIER_FENCE_FLAG |
		  DAT_COMPLETION_SUPPRESS_FLAG, IB_SEND_FENCE },
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct fake_qp *qp;
	int i;

	bench_connect(b, ep);
	qp = bench_qp(b, ep);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, i, ways[i].flags));
		KUNIT_EXPECT_EQ(test, qp->send.wr[i].send_flags,
				ways[i].send_flags | IB_SEND_SIGNALED);
	}
}

/* ---- endpoints and requests ---------------------------------------------------------- */

static void expect_state(struct bench *b, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	DAT_EP_STATE now = 99;
	DAT_EP_PARAM param;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(b->test, DONE,
				kdapl_ep_query(&b->space, ep, DAT_EP_FIELD_ALL,
					       &param));
		KUNIT_EXPECT_EQ(b->test, state, param.ep_state);
		KUNIT_EXPECT_EQ(b->test, DONE,
				kdapl_ep_get_status(&b->space, ep, &now, NULL,
						    NULL));
		KUNIT_EXPECT_EQ(b->test, state, now);
	}
}

static DAT_CR_HANDLE request_at(struct bench *b, DAT_EVD_HANDLE crs, u16 port)
{
	DAT_EVENT event = {};

	KUNIT_ASSERT_EQ(b->test, 0, fake_request(b->fake, port, "", 0, NULL));
	KUNIT_ASSERT_EQ(b->test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			bench_event(b, crs, &event));
	return event.event_data.cr_arrival_event_data.cr_handle;
}

/* M5: in each of the nine states. */
static void queries_in_every_state(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_CR_PARAM param = {};
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	expect_state(b, ep, DAT_EP_STATE_UNCONNECTED);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_rsp_create(&b->space, b->ia, 7301, ep,
						     crs, &rsp));
	expect_state(b, ep, DAT_EP_STATE_RESERVED);
	cr = request_at(b, crs, 7301);
	expect_state(b, ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_cr_accept(&b->space, cr, NULL, 0, NULL));
	expect_state(b, ep, DAT_EP_STATE_COMPLETION_PENDING);
	fake_confirmed(bench_id(b, ep));
	expect_state(b, ep, DAT_EP_STATE_CONNECTED);
	bench_send(b, ep, 1, 0);
	kdapl_ep_disconnect(&b->space, ep, DAT_CLOSE_GRACEFUL_FLAG);
	expect_state(b, ep, DAT_EP_STATE_DISCONNECT_PENDING);
	kdapl_ep_disconnect(&b->space, ep, DAT_CLOSE_ABRUPT_FLAG);
	bench_settle(b);
	expect_state(b, ep, DAT_EP_STATE_DISCONNECTED);

	ep = bench_ep(b, b->evd);
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000,
					 DAT_TIMEOUT_INFINITE, 0, NULL,
					 DAT_QOS_BEST_EFFORT, 0));
	expect_state(b, ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_rsp_create(&b->space, b->ia, 7302, NULL, crs,
					 &rsp));
	cr = request_at(b, crs, 7302);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_query(&b->space, cr, DAT_CR_FIELD_ALL, &param));
	expect_state(b, param.local_ep_handle,
		     DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

/* P10: no room for the CR, or for its endpoint: refused, and no trace here. */
static void no_room_for_a_request(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
	u32 room, limit = b->space.max_objects;
	DAT_PSP_HANDLE psp;

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_psp_create(&b->space, b->ia, 7303, crs,
					 DAT_PSP_PROVIDER_FLAG, &psp));
	for (room = 0; room < 2; room++) {
		b->space.max_objects = b->space.nr_objects + room;
		KUNIT_EXPECT_NE(test, 0, fake_request(b->fake, 7303, "", 0, NULL));
		bench_settle(b);
		KUNIT_EXPECT_EQ(test, b->space.nr_objects + room,
				b->space.max_objects);
		expect_empty(b, crs);
		expect_empty(b, b->async);
	}
	b->space.max_objects = limit;
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, 7303, "", 0, NULL));
	expect_event(b, crs, DAT_CONNECTION_REQUEST_EVENT);
}

static struct kunit_case kdapl_async_cases[] = {
	KUNIT_CASE(who_is_told),
	KUNIT_CASE(many_are_told),
	KUNIT_CASE(out_of_scope),
	KUNIT_CASE(removal_of_several),
	KUNIT_CASE(queue_overflows),
	KUNIT_CASE(queue_pair_fails),
	KUNIT_CASE(queue_pair_fails_late),
	KUNIT_CASE(device_events),
	KUNIT_CASE(every_set_of_streams),
	KUNIT_CASE(bind_wants_its_stream),
	KUNIT_CASE(armed_for_somebody),
	KUNIT_CASE(armed_for_all_again),
	KUNIT_CASE(unsignalled_starts_nothing),
	KUNIT_CASE(unsolicited_starts_nothing),
	KUNIT_CASE(unsolicited_without_a_sink),
	KUNIT_CASE(full_evd_stops_nothing),
	KUNIT_CASE(flags_of_requests),
	KUNIT_CASE(queries_in_every_state),
	KUNIT_CASE(no_room_for_a_request),
	{}
};

static struct kunit_suite kdapl_async_suite = {
	.name = "kdapl_async",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_async_cases,
};

kunit_test_suite(kdapl_async_suite);
