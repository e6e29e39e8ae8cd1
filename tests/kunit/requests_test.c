// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_requests: several requests that are posted together (kdat_ep_post_requests), of which
 * the device is told at once.
 */
#include <dat/kdat_linux.h>
#include "stage.h"

#define DEPTH	20	/* requests that the endpoint may have outstanding */
#define AT_ONCE	8	/* requests that the queue pair is given in one call */

/*
 * struct together - an endpoint, and requests of one byte for it
 * @requests: by turns a write and a send; their cookies are 0, 1, ...
 */
struct together {
	struct bench *b;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE dto;
	DAT_LMR_TRIPLET byte;
	DAT_RMR_TRIPLET remote;
	struct kdat_request requests[KDAT_MAX_REQUESTS + 1];
	u32 calls;
	u32 posted;
};

/* Calls into the device, and work requests that these have had, since begun(). */
static u32 calls(const struct together *t)
{
	return READ_ONCE(t->b->fake->calls[FAKE_POST_SEND]) - t->calls;
}

static u32 work_requests(const struct together *t)
{
	const struct fake_device *fake = t->b->fake;

	return READ_ONCE(fake->calls[FAKE_POST_SEND]) + READ_ONCE(fake->calls[FAKE_POST_NEXT]) -
	       t->posted;
}

static void begun(struct together *t)
{
	t->calls = 0;
	t->posted = 0;
	t->calls = calls(t);
	t->posted = work_requests(t);
}

static struct together *together(struct kunit *test, bool connect)
{
	static const DAT_EP_ATTR attr = {
		.max_recv_dtos = 1,
		.max_recv_iov = 1,
		.max_request_dtos = DEPTH,
		.max_request_iov = 1,
		.max_rdma_write_iov = 1,
	};
	struct together *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct bench *b = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->b = b;
	t->dto = bench_evd(b, 2 * DEPTH, DAT_EVD_DTO_FLAG);
	t->ep = bench_ep_attr(b, t->dto, t->dto, b->evd, &attr);
	t->byte.lmr_context = b->lmr_context;
	t->byte.virtual_address = (uintptr_t)b->memory;
	t->byte.segment_length = 1;
	t->remote.segment_length = 1;
	for (i = 0; i <= KDAT_MAX_REQUESTS; i++)
		t->requests[i] = (struct kdat_request) {
			.kind = i % 2 ? KDAT_SEND : KDAT_RDMA_WRITE,
			.num_segments = 1,
			.local_iov = &t->byte,
			.user_cookie.as_64 = i,
			.remote_buffer = &t->remote,
		};
	if (connect) {
		bench_connect(b, t->ep);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	begun(t);
	return t;
}

/* Just so many of @nr are posted, from the @first on. */
static void post(struct together *t, u32 first, u32 nr, DAT_RETURN ret, u32 posted)
{
	DAT_COUNT done = -1;

	KUNIT_EXPECT_EQ(t->b->test, ret,
			kdapl_ep_post_requests(&t->b->space, t->ep, nr, &t->requests[first],
					       &done));
	KUNIT_EXPECT_EQ(t->b->test, (DAT_COUNT)posted, done);
}

/* The next @nr succeed, from the one with cookie @first on. */
static void succeed(struct together *t, u32 first, u32 nr)
{
	u32 i;

	for (i = first; i < first + nr; i++) {
		fake_complete_send(bench_qp(t->b, t->ep), 0, IB_WC_SUCCESS);
		expect_dto(t->b, t->dto, i, DTO_OK);
	}
}

static void end(struct together *t)
{
	expect_empty(t->b, t->dto);
	KUNIT_EXPECT_EQ(t->b->test, DONE, kdapl_ep_free(&t->b->space, t->ep));
	KUNIT_EXPECT_EQ(t->b->test, DONE, kdapl_evd_free(&t->b->space, t->dto));
}

/* mt:T40: one call for eight, in order, each with its own completion. */
static void at_once(struct kunit *test)
{
	struct together *t = together(test, true);
	const struct fake_wr *wr;
	u32 i;

	post(t, 0, DEPTH, DONE, DEPTH);
	KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(DEPTH, AT_ONCE), calls(t));
	KUNIT_EXPECT_EQ(test, DEPTH, work_requests(t));
	for (i = 0; i < DEPTH; i++) {
		wr = &bench_qp(t->b, t->ep)->send.wr[i];
		KUNIT_EXPECT_EQ(test, i % 2 ? IB_WR_SEND : IB_WR_RDMA_WRITE, wr->opcode);
		KUNIT_EXPECT_EQ(test, 1, wr->nr_sge);
	}
	succeed(t, 0, DEPTH);
	end(t);
}

/* mt:T1: ... and nothing changes. */
static void arguments(struct kunit *test)
{
	struct together *t = together(test, true);
	struct kdapl_space *space = &t->b->space;
	DAT_COUNT done;

	post(t, 0, 1, DONE, 1);
	KUNIT_EXPECT_EQ(test, IH(EP),
			kdapl_ep_post_requests(space, t->dto, 1, t->requests, &done));
	KUNIT_EXPECT_EQ(test, IP(2),
			kdapl_ep_post_requests(space, t->ep, 0, t->requests, &done));
	KUNIT_EXPECT_EQ(test, IP(2),
			kdapl_ep_post_requests(space, t->ep, -1, t->requests, &done));
	KUNIT_EXPECT_EQ(test, IP(2),
			kdapl_ep_post_requests(space, t->ep, KDAT_MAX_REQUESTS + 1,
					       t->requests, &done));
	KUNIT_EXPECT_EQ(test, IP(3), kdapl_ep_post_requests(space, t->ep, 1, NULL, &done));
	KUNIT_EXPECT_EQ(test, IP(4),
			kdapl_ep_post_requests(space, t->ep, 1, t->requests, NULL));
	t->requests[1].kind = KDAT_FETCH_ADD + 1;
	post(t, 1, 1, IP(3), 0);
	KUNIT_EXPECT_EQ(test, 1, work_requests(t));
	succeed(t, 0, 1);
	end(t);
}

/* mt:T5, mt:T29: those before the one that is refused are posted, those behind it are not. */
static void refused(struct kunit *test)
{
	struct together *t = together(test, true);

	t->requests[3].num_segments = 2;
	post(t, 0, 8, IP(2), 3);
	KUNIT_EXPECT_EQ(test, 1, calls(t));
	t->requests[3].num_segments = 1;
	t->requests[3].kind = KDAT_RDMA_WRITE;
	t->requests[3].remote_buffer = NULL;
	post(t, 3, 1, IP(5), 0);
	t->requests[3].remote_buffer = &t->remote;
	post(t, 3, 5, DONE, 5);
	succeed(t, 0, 8);
	end(t);
}

/* mt:T13: as many as there is room for. */
static void full(struct kunit *test)
{
	struct together *t = together(test, true);

	post(t, 0, KDAT_MAX_REQUESTS, IR(MEMORY), DEPTH);
	succeed(t, 0, 5);
	post(t, DEPTH, 6, IR(MEMORY), 5);
	succeed(t, 5, DEPTH);
	end(t);
}

/* mt:T14: the device takes some of them only. */
static void device_refuses(struct kunit *test)
{
	struct together *t = together(test, true);

	/* The fourth: of the first call the third that follows. */
	fake_fail(t->b->fake, FAKE_POST_NEXT, 3, -ENOMEM);
	post(t, 0, 6, IR(MEMORY), 3);
	post(t, 3, DEPTH - 3, DONE, DEPTH - 3);
	succeed(t, 0, DEPTH);
	/* The first one, in the second call. */
	fake_fail(t->b->fake, FAKE_POST_SEND, 2, -EIO);
	post(t, 0, AT_ONCE + 2, DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE), AT_ONCE);
	post(t, AT_ONCE, 2, DONE, 2);
	succeed(t, 0, AT_ONCE + 2);
	end(t);
}

/* M2, D46: no connection, and one that is over. */
static void states(struct kunit *test)
{
	struct together *t = together(test, false);
	u32 i;

	post(t, 0, 3, IS(EP_UNCONNECTED), 0);
	bench_connect(t->b, t->ep);
	expect_event(t->b, t->b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	post(t, 0, 3, DONE, 3);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_disconnect(&t->b->space, t->ep,
							DAT_CLOSE_ABRUPT_FLAG));
	fake_flush(bench_qp(t->b, t->ep));
	expect_event(t->b, t->b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	post(t, 3, 3, DONE, 3);
	for (i = 0; i < 6; i++)
		expect_dto(t->b, t->dto, i, FLUSHED);
	end(t);
}

/* The first @nr requests, writes and sends by turns, are suppressed, and the others are not. */
static void suppress(struct together *t, u32 nr)
{
	u32 i;

	for (i = 0; i <= KDAT_MAX_REQUESTS; i++)
		t->requests[i].completion_flags = i < nr ? DAT_COMPLETION_SUPPRESS_FLAG :
							   DAT_COMPLETION_DEFAULT_FLAG;
}

static void complete_first(struct together *t, u32 nr, enum ib_wc_status status)
{
	for (; nr; nr--)
		fake_complete_send(bench_qp(t->b, t->ep), 0, status);
}

/* Is the device asked to tell of the success of the last requests? */
static void expect_signalled(struct together *t, u32 i, bool signalled)
{
	KUNIT_EXPECT_EQ(t->b->test, signalled ? IB_SEND_SIGNALED : 0,
			bench_qp(t->b, t->ep)->send.wr[i].send_flags);
}

/* A4, mt:T20: the device tells of the last request of each call, and of those with an event. */
static void untold(struct kunit *test)
{
	struct together *t = together(test, true);
	u32 i;

	suppress(t, AT_ONCE + 2);
	post(t, 0, AT_ONCE + 4, DONE, AT_ONCE + 4);
	for (i = 0; i < AT_ONCE + 4; i++)
		expect_signalled(t, i, i == AT_ONCE - 1 || i >= AT_ONCE + 2);
	complete_first(t, AT_ONCE + 2, IB_WC_SUCCESS);
	expect_empty(t->b, t->dto);
	succeed(t, AT_ONCE + 2, 2);

	/* All slots are free again, round the end of the ring, and nothing is outstanding. */
	suppress(t, DEPTH - 1);
	post(t, 0, DEPTH + 1, IR(MEMORY), DEPTH);
	complete_first(t, DEPTH - 1, IB_WC_SUCCESS);
	succeed(t, DEPTH - 1, 1);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_disconnect(&t->b->space, t->ep,
							DAT_CLOSE_GRACEFUL_FLAG));
	expect_event(t->b, t->b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	end(t);
}

/* mt:T20, D52: those before the one that fails have succeeded, those behind it are flushed. */
static void untold_fails(struct kunit *test)
{
	struct together *t = together(test, true);

	suppress(t, 5);
	post(t, 0, 6, DONE, 6);
	complete_first(t, 2, IB_WC_SUCCESS);
	complete_first(t, 1, IB_WC_REM_ACCESS_ERR);
	expect_dto(t->b, t->dto, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	fake_flush(bench_qp(t->b, t->ep));
	expect_event(t->b, t->b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(t->b, t->dto, 3, FLUSHED);
	expect_dto(t->b, t->dto, 4, FLUSHED);
	expect_dto(t->b, t->dto, 5, FLUSHED);
	end(t);
}

/* mt:T14, D52: the one that would tell of them is refused, so nothing would. */
static void untold_and_refused(struct kunit *test)
{
	struct together *t = together(test, true);
	u32 i;

	suppress(t, 3);
	fake_fail(t->b->fake, FAKE_POST_NEXT, 3, -ENOMEM);
	post(t, 0, 5, DONE, 5);
	KUNIT_EXPECT_EQ(test, 4, work_requests(t));
	fake_flush(bench_qp(t->b, t->ep));
	expect_event(t->b, t->b->evd, DAT_CONNECTION_EVENT_BROKEN);
	for (i = 0; i < 5; i++)
		expect_dto(t->b, t->dto, i, FLUSHED);
	end(t);
}

static struct kunit_case kdapl_requests_cases[] = {
	KUNIT_CASE(at_once),
	KUNIT_CASE(arguments),
	KUNIT_CASE(refused),
	KUNIT_CASE(full),
	KUNIT_CASE(device_refuses),
	KUNIT_CASE(states),
	KUNIT_CASE(untold),
	KUNIT_CASE(untold_fails),
	KUNIT_CASE(untold_and_refused),
	{}
};

static struct kunit_suite kdapl_requests_suite = {
	.name = "kdapl_requests",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_requests_cases,
};

kunit_test_suite(kdapl_requests_suite);
