// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_deep: endpoints that may have more DTOs than a completion queue of the device
 * holds (mt:T13).  Those beyond its room are held, and given to the queue pair as the device
 * completes others.
 */
#include <linux/completion.h>
#include <dat/kdat_linux.h>
#include "stage.h"

#define ROOM	8	/* entries of the device's largest completion queue */
#define MANY	20	/* DTOs of a direction */
#define RECV	100	/* cookies of receives begin here */

static const struct direction {
	const char *name;
	bool recv;
} directions[] = {
	{ "requests", false },
	{ "receives", true },
};

static void direction_name(const struct direction *d, char *name)
{
	strscpy(name, d->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(directions, directions, direction_name);

/* An endpoint; its completion queues are no larger than ROOM. */
static DAT_EP_HANDLE deep_ep_on(struct bench *b, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
				DAT_COMPLETION_FLAGS recv_flags)
{
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = MANY,
		.max_request_dtos = MANY,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_write_iov = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_read_out = 1,
		.recv_completion_flags = recv_flags,
	};

	b->fake->dev->attrs.max_cqe = ROOM;
	return bench_ep_attr(b, recv, request, b->evd, &attr);
}

static DAT_EP_HANDLE deep_ep(struct bench *b, DAT_EVD_HANDLE dto)
{
	return deep_ep_on(b, dto, dto, 0);
}

static void connected(struct bench *b, DAT_EP_HANDLE ep)
{
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void post(struct bench *b, DAT_EP_HANDLE ep, bool recv, u32 i)
{
	KUNIT_ASSERT_EQ(b->test, DONE, recv ? bench_recv(b, ep, RECV + i) :
					      bench_send(b, ep, i, 0));
}

static void post_many(struct bench *b, DAT_EP_HANDLE ep, bool recv, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		post(b, ep, recv, i);
}

static u32 on_queue(struct bench *b, DAT_EP_HANDLE ep, bool recv)
{
	struct fake_qp *qp = bench_qp(b, ep);

	return recv ? READ_ONCE(qp->recv.nr) : READ_ONCE(qp->send.nr);
}

/* Waits until the queue pair has so many. */
static void expect_on_queue(struct bench *b, DAT_EP_HANDLE ep, bool recv, u32 nr)
{
	unsigned long until = jiffies + BENCH_PATIENCE;

	while (on_queue(b, ep, recv) != nr && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(b->test, nr, on_queue(b, ep, recv));
}

static void done(struct bench *b, DAT_EP_HANDLE ep, bool recv, enum ib_wc_status status)
{
	struct fake_qp *qp = bench_qp(b, ep);

	if (recv)
		fake_complete_recv(qp, 0, status, 1, false);
	else
		fake_complete_send(qp, 0, status);
}

/* The oldest DTO of a direction succeeds, which has to be the one that was posted as @i. */
#define done_and_taken(b, ep, recv, dto, i) \
	__done_and_taken(b, ep, recv, dto, i, __LINE__)
static void __done_and_taken(struct bench *b, DAT_EP_HANDLE ep, bool recv, DAT_EVD_HANDLE dto,
			     u32 i, int line)
{
	done(b, ep, recv, IB_WC_SUCCESS);
	__expect_dto(b, dto, (recv ? RECV : 0) + i, DTO_OK, line);
}

static void expect_idle(struct bench *b, DAT_EP_HANDLE ep, bool idle)
{
	DAT_BOOLEAN recv, request;

	KUNIT_EXPECT_EQ(b->test, DONE,
			kdapl_ep_get_status(&b->space, ep, NULL, &recv, &request));
	KUNIT_EXPECT_EQ(b->test, idle, recv == DAT_TRUE && request == DAT_TRUE);
}

static void free_both(struct bench *b, DAT_EP_HANDLE ep, DAT_EVD_HANDLE dto)
{
	expect_empty(b, dto);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, ep));
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_evd_free(&b->space, dto));
}

/* mt:T13, mt:T40, M5: half of the room has to be free, and then it is filled, in order. */
static void in_order(struct kunit *test)
{
	bool recv = ((const struct direction *)test->param_value)->recv;
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	u32 i;

	connected(b, ep);
	post_many(b, ep, recv, MANY);
	KUNIT_EXPECT_EQ(test, IR(MEMORY),
			recv ? bench_recv(b, ep, MANY) : bench_send(b, ep, MANY, 0));
	KUNIT_EXPECT_EQ(test, (u32)ROOM, on_queue(b, ep, recv));
	for (i = 0; i < ROOM / 2 - 1; i++)
		done_and_taken(b, ep, recv, dto, i);
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, ROOM - i, on_queue(b, ep, recv));
	expect_idle(b, ep, false);
	done_and_taken(b, ep, recv, dto, i++);
	expect_on_queue(b, ep, recv, ROOM);
	/* Behind those that wait */
	post(b, ep, recv, MANY);
	for (; i <= MANY; i++) {
		done_and_taken(b, ep, recv, dto, i);
		bench_settle(b);
	}
	expect_idle(b, ep, true);
	KUNIT_EXPECT_EQ(test, 0U, on_queue(b, ep, recv));
	post(b, ep, recv, 0);
	KUNIT_EXPECT_EQ(test, 1U, on_queue(b, ep, recv));
	done_and_taken(b, ep, recv, dto, 0);
	free_both(b, ep, dto);
}

/* X1, mt:T7: an atomic that waits for room keeps its operands. */
static void operands_held(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	DAT_LMR_TRIPLET iov = {
		.lmr_context = b->lmr_context,
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 8,
	};
	const DAT_RMR_TRIPLET remote = {
		.rmr_context = 77,
		.target_address = 0x5008,
		.segment_length = 8,
	};
	struct kdat_request request = {
		.kind = KDAT_CMP_SWAP,
		.num_segments = 1,
		.local_iov = &iov,
		.user_cookie.as_64 = ROOM,
		.remote_buffer = &remote,
		.operand = 3,
		.compare = 1ULL << 40,
	};
	const struct fake_wr *wr;
	DAT_COUNT posted;
	u32 i;

	connected(b, ep);
	post_many(b, ep, false, ROOM);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_post_requests(&b->space, ep, 1, &request, &posted));
	memset(&request, 0, sizeof(request));
	for (i = 0; i < ROOM / 2; i++)
		done_and_taken(b, ep, false, dto, i);
	expect_on_queue(b, ep, false, ROOM / 2 + 1);
	wr = &bench_qp(b, ep)->send.wr[ROOM / 2];
	KUNIT_EXPECT_EQ(test, IB_WR_ATOMIC_CMP_AND_SWP, wr->opcode);
	KUNIT_EXPECT_EQ(test, 0x5008ULL, wr->remote_addr);
	KUNIT_EXPECT_EQ(test, 77U, wr->rkey);
	KUNIT_EXPECT_EQ(test, 1ULL << 40, wr->operands[0]);
	KUNIT_EXPECT_EQ(test, 3ULL, wr->operands[1]);
	for (; i <= ROOM; i++)
		done_and_taken(b, ep, false, dto, i);
	free_both(b, ep, dto);
}

/* mt:T7: the device gets what was posted, though the consumer's arguments are gone. */
static void as_posted(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	DAT_LMR_TRIPLET iov = {
		.lmr_context = b->lmr_context,
		.virtual_address = (uintptr_t)b->memory + 3,
		.segment_length = 5,
	};
	const DAT_RMR_TRIPLET remote = {
		.rmr_context = 77,
		.target_address = 0x5000,
		.segment_length = 5,
	};
	const struct fake_wr *wr;
	u32 i;

	connected(b, ep);
	post_many(b, ep, false, ROOM);
	KUNIT_EXPECT_EQ(test, DONE,
			fake_post(&b->space, ep, KDAPL_DTO_RDMA_WRITE, 1, &iov,
				  (DAT_DTO_COOKIE) { .as_64 = ROOM }, &remote,
				  DAT_COMPLETION_BARRIER_FENCE_FLAG));
	memset(&iov, 0, sizeof(iov));
	for (i = 0; i < ROOM / 2; i++)
		done_and_taken(b, ep, false, dto, i);
	expect_on_queue(b, ep, false, ROOM / 2 + 1);
	wr = &bench_qp(b, ep)->send.wr[ROOM / 2];
	KUNIT_EXPECT_EQ(test, IB_WR_RDMA_WRITE, wr->opcode);
	KUNIT_EXPECT_EQ(test, (int)(IB_SEND_SIGNALED | IB_SEND_FENCE), wr->send_flags);
	KUNIT_EXPECT_EQ(test, 0x5000ULL, wr->remote_addr);
	KUNIT_EXPECT_EQ(test, 77U, wr->rkey);
	KUNIT_ASSERT_EQ(test, 1U, wr->nr_sge);
	KUNIT_EXPECT_EQ(test, 5U, wr->sge[0].length);
	for (; i <= ROOM; i++)
		done_and_taken(b, ep, false, dto, i);
	free_both(b, ep, dto);
}

/* A7: receives that waited for the queue pair find no room on it. */
static void early(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	u32 i;

	post_many(b, ep, true, MANY - 1);
	connected(b, ep);
	KUNIT_EXPECT_EQ(test, (u32)ROOM, on_queue(b, ep, true));
	post(b, ep, true, MANY - 1);
	for (i = 0; i < MANY; i++) {
		done_and_taken(b, ep, true, dto, i);
		bench_settle(b);
	}
	free_both(b, ep, dto);
}

/* All posts of both directions, each in order; they are there by now. */
static void expect_flushed(struct bench *b, DAT_EVD_HANDLE dto)
{
	u64 next[2] = { 0, RECV }, cookie;
	DAT_EVENT event;
	u32 i;

	for (i = 0; i < 2 * MANY; i++) {
		KUNIT_ASSERT_EQ(b->test, DONE, kdapl_evd_dequeue(&b->space, dto, &event));
		cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
		KUNIT_EXPECT_EQ(b->test, next[cookie >= RECV]++, cookie);
		KUNIT_EXPECT_EQ(b->test, FLUSHED,
				event.event_data.dto_completion_event_data.status);
	}
}

/* D43, D45: what waits for room is flushed behind what the device had, and before the event. */
static void flushed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto;
	DAT_EP_HANDLE ep;
	u32 round;

	for (round = 0; round < 2; round++) {
		dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
		ep = deep_ep(b, dto);
		connected(b, ep);
		post_many(b, ep, false, MANY);
		post_many(b, ep, true, MANY);
		b->fake->hold_flush = round;
		KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
		if (round)
			bench_no_flush(b, ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		b->fake->hold_flush = false;
		expect_flushed(b, dto);
		expect_idle(b, ep, true);
		free_both(b, ep, dto);
	}
}

/* D10, D17: a graceful disconnect waits for those that wait for room, too. */
static void drained(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	u32 i;

	connected(b, ep);
	post_many(b, ep, false, MANY);
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, ep));
	for (i = 0; i < MANY; i++) {
		if (!on_queue(b, ep, false))
			expect_on_queue(b, ep, false, min_t(u32, ROOM, MANY - i));
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING, bench_state(b, ep));
		done(b, ep, false, IB_WC_SUCCESS);
	}
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (i = 0; i < MANY; i++)
		expect_dto(b, dto, i, DTO_OK);
	free_both(b, ep, dto);
}

/* mt:T15: nobody takes the completions, since there is no event to come of them. */
static void suppressed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	u32 i;

	connected(b, ep);
	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_EQ(test, DONE,
				bench_send(b, ep, i, DAT_COMPLETION_SUPPRESS_FLAG));
	while (i) {
		u32 n = min_t(u32, ROOM, i);

		expect_on_queue(b, ep, false, n);
		for (i -= n; n; n--)
			done(b, ep, false, IB_WC_SUCCESS);
	}
	free_both(b, ep, dto);
}

/*
 * struct solicited - an endpoint whose receives are SOLICITED_WAIT, connected
 * @evd: of these, with a taker
 */
struct solicited {
	DAT_EP_HANDLE ep;
	struct kdapl_evd *evd;
	struct taker *t;
};

static struct solicited solicited_begin(struct bench *b)
{
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	struct solicited s = {
		.ep = deep_ep_on(b, dto, b->evd, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		.evd = kdapl_evd_find(&b->space, dto),
	};

	KUNIT_ASSERT_NOT_NULL(b->test, s.evd);
	kdapl_evd_put(s.evd);
	s.t = taker_start(b, s.evd);
	connected(b, s.ep);
	return s;
}

static void solicited_end(struct bench *b, struct solicited *s)
{
	KUNIT_EXPECT_EQ(b->test, 0, kdapl_evd_set_sink(s->evd, NULL, NULL, true));
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, s->ep));
}

/* E35: nor of completions that wake nobody, because only solicited ones do. */
static void unsolicited(struct kunit *test)
{
	struct bench *b = test->priv;
	struct solicited s = solicited_begin(b);
	u32 i;

	post_many(b, s.ep, true, MANY);
	KUNIT_EXPECT_TRUE(test, bench_armed(s.evd, true));
	for (i = 0; i < ROOM; i++)
		done(b, s.ep, true, IB_WC_SUCCESS);
	expect_on_queue(b, s.ep, true, ROOM);
	/* They were counted, and are no reason for an upcall until a solicited one comes. */
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(s.t->nr));
	fake_complete_recv(bench_qp(b, s.ep), 0, IB_WC_SUCCESS, 1, true);
	expect_taken_nr(b, s.t, ROOM + 1);
	solicited_end(b, &s);
}

/* A solicited one wakes as well if it was counted before the handler of its CQ was called. */
static void solicited_late(struct kunit *test)
{
	struct bench *b = test->priv;
	struct solicited s = solicited_begin(b);

	post_many(b, s.ep, true, 2);
	KUNIT_EXPECT_TRUE(test, bench_armed(s.evd, true));
	done(b, s.ep, true, IB_WC_SUCCESS);
	kdapl_evd_pull(s.evd);
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(s.t->nr));
	/* Its completion is in the FIFO by now; only the call of the handler is still to come. */
	fake_cq_event(bench_qp(b, s.ep)->recv_cq);
	expect_taken_nr(b, s.t, 1);
	solicited_end(b, &s);
}

/*
 * struct late - the sink of a process; during its first run the handler of the CQ is called
 * @cq: NULL afterwards
 * @notified: how often it was to wake
 */
struct late {
	struct fake_cq *cq;
	u32 taken;
	u32 notified;
};

static bool late_room(struct kdapl_evd *evd, void *arg)
{
	struct late *late = arg;
	struct fake_cq *cq = late->cq;

	late->cq = NULL;
	if (cq)
		fake_cq_event(cq);
	return true;
}

static void late_deliver(struct kdapl_evd *evd, void *arg, const DAT_EVENT *event, bool more)
{
	struct late *late = arg;

	late->taken++;
}

static void late_done(struct kdapl_evd *evd, void *arg, bool notify)
{
	struct late *late = arg;

	WRITE_ONCE(late->notified, late->notified + notify);
}

static const struct kdapl_sink late_sink = {
	.room = late_room,
	.deliver = late_deliver,
	.done = late_done,
};

/* ... and if the run that gives it to the sink was under way by then. */
static void solicited_in_run(struct kunit *test)
{
	struct bench *b = test->priv;
	struct solicited s = solicited_begin(b);
	struct late *late = kunit_kzalloc(test, sizeof(*late), GFP_KERNEL);
	unsigned long until = jiffies + BENCH_PATIENCE;

	KUNIT_ASSERT_NOT_NULL(test, late);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(s.evd, &late_sink, late, true));
	post_many(b, s.ep, true, 2);
	KUNIT_EXPECT_TRUE(test, bench_armed(s.evd, true));
	b->space.user = true;
	done(b, s.ep, true, IB_WC_SUCCESS);
	late->cq = bench_qp(b, s.ep)->recv_cq;
	kdapl_evd_pull(s.evd);
	while (!READ_ONCE(late->notified) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, 1, READ_ONCE(late->notified));
	KUNIT_EXPECT_EQ(test, 1, late->taken);
	b->space.user = false;
	solicited_end(b, &s);
}

static DECLARE_COMPLETION(peer_has_all);

static bool busy_room(struct kdapl_evd *evd, void *arg)
{
	return true;
}

static void busy_deliver(struct kdapl_evd *evd, void *arg, const DAT_EVENT *event, bool more)
{
	wait_for_completion(&peer_has_all);
}

static void busy_done(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static const struct kdapl_sink busy_sink = {
	.sleeps = true,
	.room = busy_room,
	.deliver = busy_deliver,
	.done = busy_done,
};

/* mt:T13: an upcall waits for what the peer does once it has got all that waits for room. */
static void busy_upcall(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG | KDAT_EVD_PROCESS_FLAG);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	kdapl_evd_put(evd);
	reinit_completion(&peer_has_all);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, &busy_sink, NULL, false));
	connected(b, ep);
	post_many(b, ep, false, ROOM + 1);
	for (i = 0; i < ROOM; i++)
		done(b, ep, false, IB_WC_SUCCESS);
	expect_on_queue(b, ep, false, 1);
	complete_all(&peer_has_all);
	done(b, ep, false, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
}

/* D52: the consumer believes that it was posted, so the connection breaks. */
static void refused(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = deep_ep(b, dto);
	u32 i;

	connected(b, ep);
	post_many(b, ep, false, MANY);
	fake_fail(b->fake, FAKE_POST_SEND, 2, -EIO);
	for (i = 0; i < ROOM / 2; i++)
		done_and_taken(b, ep, false, dto, i);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	for (; i < MANY; i++)
		expect_dto(b, dto, i, FLUSHED);
	free_both(b, ep, dto);
}

/* mt:M29: a bind is made at once, or refused for lack of room. */
static void binds(struct kunit *test)
{
	struct bench *b = test->priv;
	const DAT_LMR_TRIPLET part = {
		.lmr_context = b->lmr_context,
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 64,
	};
	const DAT_RMR_COOKIE user = { .as_64 = ROOM };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;
	u32 i;

	b->fake->dev->attrs.max_cqe = ROOM;
	ep = bench_ep(b, b->evd);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_rmr_create(&b->space, b->pz, &rmr));
	connected(b, ep);
	/* A bind is two work requests. */
	post_many(b, ep, false, ROOM - 1);
	KUNIT_EXPECT_EQ(test, IR(MEMORY),
			kdapl_rmr_bind(&b->space, rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
				       user, 0, &context));
	done_and_taken(b, ep, false, b->evd, 0);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_rmr_bind(&b->space, rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
				       user, 0, &context));
	KUNIT_EXPECT_EQ(test, (u32)ROOM, on_queue(b, ep, false));
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
	for (i = 1; i < ROOM - 1; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_event(b, b->evd, DAT_RMR_BIND_COMPLETION_EVENT);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, rmr));
}

static struct kunit_case kdapl_deep_cases[] = {
	KUNIT_CASE_PARAM(in_order, directions_gen_params),
	KUNIT_CASE(operands_held),
	KUNIT_CASE(as_posted),
	KUNIT_CASE(early),
	KUNIT_CASE(flushed),
	KUNIT_CASE(drained),
	KUNIT_CASE(suppressed),
	KUNIT_CASE(unsolicited),
	KUNIT_CASE(solicited_late),
	KUNIT_CASE(solicited_in_run),
	KUNIT_CASE(busy_upcall),
	KUNIT_CASE(refused),
	KUNIT_CASE(binds),
	{}
};

static struct kunit_suite kdapl_deep_suite = {
	.name = "kdapl_deep",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_deep_cases,
};

kunit_test_suite(kdapl_deep_suite);
