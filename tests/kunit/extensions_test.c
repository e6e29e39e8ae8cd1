// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_extensions: requests that DAT 1.2 does not have, and receives that a peer's write
 * with immediate data takes, as kernel consumers see them (<dat/kdat_linux.h>).
 */
#include <dat/kdat_linux.h>
#include "core/ep.h"
#include "stage.h"

#define NO_MODEL	DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define IMMEDIATE	0x12345678

/*
 * struct extended - a connected endpoint, whose EVD takes KDAT_IMMED_EVENT
 * @request: a valid one of each kind, of 8 bytes, but for its kind
 */
struct extended {
	struct bench *b;
	DAT_EVD_HANDLE dto;
	DAT_EP_HANDLE ep;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET remote;
	struct kdat_request request;
};

static const struct kind_case {
	enum kdat_request_kind kind;
	enum ib_wr_opcode opcode;
	u32 operation;
} kinds[] = {
	{ KDAT_RDMA_WRITE_IMMED, IB_WR_RDMA_WRITE_WITH_IMM, 8 },
	{ KDAT_CMP_SWAP, IB_WR_ATOMIC_CMP_AND_SWP, 11 },
	{ KDAT_FETCH_ADD, IB_WR_ATOMIC_FETCH_AND_ADD, 10 },
};

static void kind_name(const struct kind_case *kind, char *text)
{
	snprintf(text, KUNIT_PARAM_DESC_SIZE, "opcode %d", kind->opcode);
}

KUNIT_ARRAY_PARAM(kind, kinds, kind_name);

static struct extended *extended(struct kunit *test, DAT_EVD_FLAGS flags, s32 reads)
{
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_recv_iov = 1,
		.max_request_dtos = 4,
		.max_request_iov = 1,
		.max_rdma_write_iov = 2,
		.max_rdma_read_iov = 2,
		.max_rdma_read_out = reads,
	};
	struct extended *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	const struct kind_case *kind = test->param_value;
	struct bench *b = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->b = b;
	x->dto = bench_evd(b, 64, DAT_EVD_DTO_FLAG | flags);
	x->ep = bench_ep_attr(b, x->dto, x->dto, b->evd, &attr);
	x->iov.lmr_context = b->lmr_context;
	x->iov.virtual_address = (uintptr_t)b->memory;
	x->iov.segment_length = 8;
	x->remote.rmr_context = 77;
	x->remote.target_address = 0x5008;
	x->remote.segment_length = 8;
	x->request = (struct kdat_request) {
		.kind = kind ? kind->kind : KDAT_RDMA_WRITE_IMMED,
		.num_segments = 1,
		.local_iov = &x->iov,
		.user_cookie.as_64 = 5,
		.remote_buffer = &x->remote,
		.immediate = IMMEDIATE,
		.operand = 3,
		.compare = 1ULL << 40,
	};
	return x;
}

static void connect(struct extended *x)
{
	bench_connect(x->b, x->ep);
	expect_event(x->b, x->b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_RETURN post(struct extended *x)
{
	DAT_COUNT posted = -1;
	DAT_RETURN ret;

	ret = kdapl_ep_post_requests(&x->b->space, x->ep, 1, &x->request, &posted);
	KUNIT_EXPECT_EQ(x->b->test, posted, ret ? 0 : 1);
	return ret;
}

/* The next event is a completion of cookie 5, which says that it is of @operation. */
static void told(struct extended *x, u32 operation, u32 status)
{
	const struct kdat_dto_completion_event_data *dto;
	struct kunit *test = x->b->test;
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT, bench_event(x->b, x->dto, &event));
	dto = kdat_dto_completion(&event);
	KUNIT_EXPECT_EQ(test, 5ULL, dto->user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, status, (u32)dto->status);
	KUNIT_EXPECT_EQ(test, operation, dto->operation);
	KUNIT_EXPECT_EQ(test, operation, *kdapl_event_operation(&event));
	KUNIT_EXPECT_EQ(test, status ? 0ULL : 8ULL, dto->transfered_length);
}

static void end(struct extended *x)
{
	struct bench *b = x->b;

	expect_empty(b, x->dto);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, x->ep));
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_evd_free(&b->space, x->dto));
}

/* X1, X3: the device gets it, in order with others, and the completion says what it was. */
static void posted(struct kunit *test)
{
	const struct kind_case *kind = test->param_value;
	struct extended *x = extended(test, 0, 1);
	const struct fake_wr *wr;

	connect(x);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(x->b, x->ep, 1, 0));
	x->request.completion_flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	KUNIT_EXPECT_EQ(test, DONE, post(x));
	wr = &bench_qp(x->b, x->ep)->send.wr[1];
	KUNIT_EXPECT_EQ(test, kind->opcode, wr->opcode);
	KUNIT_EXPECT_EQ(test, (int)(IB_SEND_SIGNALED | IB_SEND_FENCE), wr->send_flags);
	KUNIT_EXPECT_EQ(test, 77U, wr->rkey);
	KUNIT_EXPECT_EQ(test, 0x5008ULL, wr->remote_addr);
	KUNIT_EXPECT_EQ(test, 1U, wr->nr_sge);
	KUNIT_EXPECT_EQ(test, 8U, wr->sge[0].length);
	switch (kind->kind) {
	case KDAT_RDMA_WRITE_IMMED:
		KUNIT_EXPECT_EQ(test, (u32)IMMEDIATE, wr->immediate);
		break;
	case KDAT_CMP_SWAP:
		KUNIT_EXPECT_EQ(test, 1ULL << 40, wr->operands[0]);
		KUNIT_EXPECT_EQ(test, 3ULL, wr->operands[1]);
		break;
	default:
		KUNIT_EXPECT_EQ(test, 3ULL, wr->operands[0]);
	}
	fake_complete_send(bench_qp(x->b, x->ep), 0, IB_WC_SUCCESS);
	fake_complete_send(bench_qp(x->b, x->ep), 0, IB_WC_SUCCESS);
	expect_dto(x->b, x->dto, 1, DTO_OK);
	told(x, kind->operation, DTO_OK);
	/* The next use of its slot is none. */
	KUNIT_EXPECT_EQ(test, DONE, bench_send(x->b, x->ep, 5, 0));
	fake_complete_send(bench_qp(x->b, x->ep), 0, IB_WC_LOC_QP_OP_ERR);
	told(x, 0, DAT_DTO_ERR_LOCAL_EP);
	expect_event(x->b, x->b->evd, DAT_CONNECTION_EVENT_BROKEN);
	end(x);
}

/* X1, mt:T15: no event for a success that is suppressed, and its slot is free. */
static void suppressed(struct kunit *test)
{
	struct extended *x = extended(test, 0, 1);
	u32 i;

	connect(x);
	x->request.completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < 9; i++) {
		KUNIT_EXPECT_EQ(test, DONE, post(x));
		fake_complete_send(bench_qp(x->b, x->ep), 0, IB_WC_SUCCESS);
		expect_empty(x->b, x->dto);
	}
	end(x);
}

/* X1, X3, D45: what is flushed says what it was, and so does what is posted behind the end. */
static void flushed(struct kunit *test)
{
	const struct kind_case *kind = test->param_value;
	struct extended *x = extended(test, 0, 1);

	KUNIT_EXPECT_EQ(test, IS(EP_UNCONNECTED), post(x));
	connect(x);
	KUNIT_EXPECT_EQ(test, DONE, post(x));
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(x->b, x->ep));
	fake_flush(bench_qp(x->b, x->ep));
	expect_event(x->b, x->b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	told(x, kind->operation, FLUSHED);
	KUNIT_EXPECT_EQ(test, DONE, post(x));
	told(x, kind->operation, FLUSHED);
	end(x);
}

/* X2: a device that does not have it. */
static void not_there(struct kunit *test)
{
	struct extended *x = extended(test, 0, 1);

	x->b->fake->dev->extensions = 0;
	connect(x);
	KUNIT_EXPECT_EQ(test, NO_MODEL, post(x));
	x->request.num_segments = -1;
	KUNIT_EXPECT_EQ(test, NO_MODEL, post(x));
	end(x);
}

/* X5, mt:T16: atomics count as reads, writes with immediate data do not. */
static void credits(struct kunit *test)
{
	const struct kind_case *kind = test->param_value;
	struct extended *x = extended(test, 0, 0);
	bool write = kind->kind == KDAT_RDMA_WRITE_IMMED;

	connect(x);
	KUNIT_EXPECT_EQ(test, write ? DONE : DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
						       DAT_RESOURCE_CREDITS), post(x));
	if (write) {
		fake_complete_send(bench_qp(x->b, x->ep), 0, IB_WC_SUCCESS);
		told(x, kind->operation, DTO_OK);
	}
	end(x);
}

/* A peer's write with immediate data takes the oldest receive. */
static void arrive(struct extended *x, u32 length)
{
	const struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.wc_flags = IB_WC_WITH_IMM,
		.byte_len = length,
		.ex.imm_data = (__force __be32)IMMEDIATE,
	};

	fake_complete_recv_as(bench_qp(x->b, x->ep), &wc);
}

/* X4: the event has the data and the length of the write, which the receive need not hold. */
static void received(struct kunit *test)
{
	struct extended *x = extended(test, KDAT_EVD_EXTENDED_FLAG, 1);
	const struct kdat_dto_completion_event_data *dto;
	DAT_EVENT event;

	connect(x);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(x->b, x->ep, 1));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(x->b, x->ep, 2));
	arrive(x, 1 << 20);
	KUNIT_ASSERT_EQ(test, (u32)KDAT_IMMED_EVENT, bench_event(x->b, x->dto, &event));
	dto = kdat_dto_completion(&event);
	KUNIT_EXPECT_EQ(test, 1ULL, dto->user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, (u32)DTO_OK, (u32)dto->status);
	KUNIT_EXPECT_EQ(test, (u32)IMMEDIATE, dto->immediate);
	KUNIT_EXPECT_EQ(test, (u32)KDAPL_DID_RECV_IMMED, *kdapl_event_operation(&event));
	KUNIT_EXPECT_EQ(test, 1ULL << 20, dto->transfered_length);
	/* The next message is one like any other. */
	fake_complete_recv(bench_qp(x->b, x->ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(x->b, x->dto, 2, DTO_OK);
	end(x);
}

/* X4, mt:T59: who does not know of such writes sees a failure, and the connection breaks. */
static void unknown(struct kunit *test)
{
	struct extended *x = extended(test, 0, 1);

	connect(x);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(x->b, x->ep, 1));
	arrive(x, 1);
	expect_dto(x->b, x->dto, 1, DAT_DTO_ERR_BAD_RESPONSE);
	expect_event(x->b, x->b->evd, DAT_CONNECTION_EVENT_BROKEN);
	end(x);
}

/* X2: the attributes name what there is. */
static void attributes(struct kunit *test)
{
	static const struct {
		u32 extensions;
		u32 nr;
		const char *first;
	} all[] = {
		{ 0, 0, NULL },
		{ KDAPL_CAN_IMMED, 1, KDAT_ATTR_IMMED },
		{ KDAPL_CAN_ATOMIC, 2, KDAT_ATTR_CMP_SWAP },
		{ KDAPL_CAN_IMMED | KDAPL_CAN_ATOMIC, 3, KDAT_ATTR_IMMED },
	};
	DAT_PROVIDER_ATTR *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct bench *b = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		b->fake->dev->extensions = all[i].extensions;
		KUNIT_ASSERT_EQ(test, DONE,
				kdapl_ia_query(&b->space, b->ia, NULL, 0, NULL,
					       DAT_PROVIDER_FIELD_ALL, attr));
		KUNIT_ASSERT_EQ(test, all[i].nr, (u32)attr->num_provider_specific_attr);
		if (!all[i].nr)
			continue;
		KUNIT_EXPECT_STREQ(test, all[i].first, attr->provider_specific_attr[0].name);
		KUNIT_EXPECT_STREQ(test, "TRUE", attr->provider_specific_attr[0].value);
	}
}

/*
 * X1, mt:T20: an extension is posted by itself, so the device tells of the suppressed requests of
 * the same call before it, and all slots are free afterwards.
 */
static void behind_suppressed(struct kunit *test)
{
	struct extended *x = extended(test, 0, 1);
	struct kdat_request requests[3];
	DAT_COUNT posted, round, i;
	const struct fake_wr *wr;

	connect(x);
	requests[2] = x->request;
	requests[2].completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < 2; i++) {
		requests[i] = requests[2];
		requests[i].kind = KDAT_RDMA_WRITE;
	}
	/* The endpoint has room for four. */
	for (round = 0; round < 3; round++) {
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_post_requests(&x->b->space, x->ep, 3, requests,
								   &posted));
		KUNIT_EXPECT_EQ(test, 3, posted);
		for (i = 0; i < 3; i++) {
			wr = &bench_qp(x->b, x->ep)->send.wr[i];
			KUNIT_EXPECT_EQ(test, i > 0, !!(wr->send_flags & IB_SEND_SIGNALED));
		}
		for (i = 0; i < 3; i++)
			fake_complete_send(bench_qp(x->b, x->ep), 0, IB_WC_SUCCESS);
		expect_empty(x->b, x->dto);
	}
	end(x);
}

static struct kunit_case kdapl_extensions_cases[] = {
	KUNIT_CASE_PARAM(posted, kind_gen_params),
	KUNIT_CASE_PARAM(suppressed, kind_gen_params),
	KUNIT_CASE_PARAM(flushed, kind_gen_params),
	KUNIT_CASE_PARAM(not_there, kind_gen_params),
	KUNIT_CASE_PARAM(credits, kind_gen_params),
	KUNIT_CASE(received),
	KUNIT_CASE(unknown),
	KUNIT_CASE(attributes),
	KUNIT_CASE_PARAM(behind_suppressed, kind_gen_params),
	{}
};

static struct kunit_suite kdapl_extensions_suite = {
	.name = "kdapl_extensions",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_extensions_cases,
};

kunit_test_suite(kdapl_extensions_suite);
