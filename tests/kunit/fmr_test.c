// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_fmr: LMRs whose memory changes (dat_lmr_allocate, _fmr, _invalidate), and DTOs
 * whose memory is a list, in as many work requests as the device needs (mt:T3..T36).
 */
#include <linux/scatterlist.h>
#include "core/fmr.h"
#include "core/walk.h"
#include "stage.h"

#define PIECES		40
#define PIECE		256
#define OFFSET		100
/* Of the fake device: segments of a write, and of a read */
#define PER_WRITE	8
#define PER_READ	4
#define RESERVE		12

/*
 * struct rig - a connected endpoint with a reserve, and a list of PIECES pieces
 * @before: a census before any of them
 * @lmr: for at most 2 * PIECES pages; it has no memory
 * @context: of the memory that it was given last
 */
struct rig {
	struct bench *b;
	struct census before;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	struct scatterlist sg[PIECES];
	struct kdat_memory memory;
};

static const DAT_NAMED_ATTR reserve = { KDAT_EP_REQUEST_RESERVE, "12" };

static const DAT_EP_ATTR attr = {
	.service_type = DAT_SERVICE_TYPE_RC,
	.max_recv_dtos = 8,
	.max_request_dtos = 8,
	.max_recv_iov = 4,
	.max_request_iov = 4,
	.max_rdma_read_in = 2,
	.max_rdma_read_out = 2,
	.max_rdma_read_iov = PER_READ,
	.max_rdma_write_iov = PER_WRITE,
	.ep_provider_specific_count = 1,
	.ep_provider_specific = (DAT_NAMED_ATTR *)&reserve,
};

static const DAT_RMR_TRIPLET remote = {
	.rmr_context = 0x7700,
	.target_address = 0x10000,
	.segment_length = SZ_64K,
};

/* Pieces that do not follow each other, in the memory of the bench */
static void list_init(struct rig *r)
{
	char *memory = r->b->memory;
	int i;

	sg_init_table(r->sg, PIECES);
	for (i = 0; i < PIECES; i++)
		sg_set_buf(&r->sg[i], memory + (i * 7 * 16) % (PAGE_SIZE - PIECE), PIECE);
	r->memory = (struct kdat_memory) {
		.list = r->sg,
		.entries = PIECES,
		.offset = OFFSET,
		.length = PIECES * PIECE - OFFSET,
	};
}

static struct rig *rig_new(struct kunit *test)
{
	struct rig *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct bench *b = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->b = b;
	r->before = bench_census(b);
	list_init(r);
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, 2 * PIECES,
					   KDAT_LMR_SCOPE_LOCAL, &r->lmr));
	r->ep = bench_ep_attr(b, b->evd, b->evd, b->evd, &attr);
	bench_connect(b, r->ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	return r;
}

static struct kdapl_fmr fmr_of(struct rig *r)
{
	return (struct kdapl_fmr) {
		.mem_type = DAT_MEM_TYPE_PLATFORM,
		.region.for_platform = &r->memory,
		.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		.va_type = DAT_VA_TYPE_ZB,
		.lmr_context = &r->context,
	};
}

static DAT_RETURN give(struct rig *r)
{
	struct kdapl_fmr fmr = fmr_of(r);

	return kdapl_fmr(&r->b->space, r->lmr, &fmr);
}

static DAT_RETURN take(struct rig *r)
{
	const DAT_LMR_COOKIE none = {};

	return kdapl_fmr_invalidate(&r->b->space, r->lmr, DAT_HANDLE_NULL, none, 0);
}

/* Everything goes, and nothing is left. */
static void rig_end(struct rig *r)
{
	struct bench *b = r->b;
	struct fake_id *id = fake_id_of(b->fake, bench_ep_of(b, r->ep));

	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, r->ep));
	if (bench_census(b).lingering)
		fake_peer_disconnected(id);
	take(r);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_lmr_free(&b->space, r->lmr));
	expect_empty(b, b->evd);
	expect_same(b, &r->before);
}

/* @length bytes of the list from @start on */
static DAT_RETURN post(struct rig *r, enum kdapl_dto_kind kind, u64 start, u64 length,
		       u64 number)
{
	const DAT_LMR_TRIPLET part = {
		.lmr_context = r->context,
		.virtual_address = start,
		.segment_length = length,
	};
	DAT_RMR_TRIPLET to = remote;
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	if (kind == KDAPL_DTO_RDMA_READ)
		to.segment_length = length;
	return fake_post(&r->b->space, r->ep, kind, 1, &part, cookie, &to, 0);
}

static struct fake_wr *wr_of(struct rig *r, u32 i)
{
	return &bench_qp(r->b, r->ep)->send.wr[i];
}

static u32 nr_wrs(struct rig *r)
{
	return bench_qp(r->b, r->ep)->send.nr;
}

/*
 * Is what the work requests from @first on name the @length bytes of the list from @start
 * on, in order, one of the peer's bytes after the other?
 */
static void expect_bytes(struct rig *r, u32 first, u64 start, u64 length)
{
	struct kunit *test = r->b->test;
	u64 at = start + OFFSET, done = 0;
	struct fake_wr *wr;
	u32 i, n;

	for (i = first; done < length; i++) {
		KUNIT_ASSERT_LT(test, i, nr_wrs(r));
		wr = wr_of(r, i);
		KUNIT_EXPECT_EQ(test, remote.target_address + done, wr->remote_addr);
		KUNIT_EXPECT_EQ(test, remote.rmr_context, wr->rkey);
		for (n = 0; n < wr->nr_sge; n++) {
			char *piece = sg_virt(&r->sg[at / PIECE]);

			KUNIT_EXPECT_EQ(test, (uintptr_t)piece + at % PIECE,
					(uintptr_t)wr->sge[n].addr);
			KUNIT_EXPECT_EQ(test, (u32)FAKE_ZONE_KEY, wr->sge[n].lkey);
			KUNIT_EXPECT_LE(test, at % PIECE + wr->sge[n].length, PIECE);
			at += wr->sge[n].length;
			done += wr->sge[n].length;
		}
	}
	KUNIT_EXPECT_EQ(test, length, done);
	KUNIT_EXPECT_EQ(test, i, nr_wrs(r));
}

static void expect_done(struct rig *r, u64 cookie, u32 status, u64 length)
{
	struct bench *b = r->b;
	DAT_EVENT e;

	KUNIT_EXPECT_EQ(b->test, (u32)DAT_DTO_COMPLETION_EVENT, bench_event(b, b->evd, &e));
	KUNIT_EXPECT_EQ(b->test, cookie,
			e.event_data.dto_completion_event_data.user_cookie.as_64);
	KUNIT_EXPECT_EQ(b->test, status,
			(u32)e.event_data.dto_completion_event_data.status);
	KUNIT_EXPECT_EQ(b->test, length,
			e.event_data.dto_completion_event_data.transfered_length);
}

/* Each work request completes, and the last one of a post completes it. */
static void carry_out(struct rig *r)
{
	while (nr_wrs(r))
		fake_complete_send(bench_qp(r->b, r->ep), 0, IB_WC_SUCCESS);
}

/* mt:M1, mt:T5: memory comes and goes, and only the present context names it. */
static void turns(struct kunit *test)
{
	struct rig *r = rig_new(test);
	DAT_LMR_CONTEXT first, third;
	DAT_LMR_PARAM param;

	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE), take(r));
	KUNIT_EXPECT_EQ(test, DONE, give(r));
	first = r->context;
	KUNIT_EXPECT_NE(test, 0U, first);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE),
			give(r));
	KUNIT_EXPECT_EQ(test, first, r->context);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_query(&r->b->space, r->lmr, DAT_LMR_FIELD_ALL,
						    &param));
	KUNIT_EXPECT_EQ(test, first, param.lmr_context);
	KUNIT_EXPECT_EQ(test, r->memory.length, param.length);
	KUNIT_EXPECT_EQ(test, 1U, r->b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, DONE, take(r));
	KUNIT_EXPECT_EQ(test, 0U, r->b->fake->nr_lists);

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	KUNIT_EXPECT_NE(test, first, r->context);
	third = r->context;
	r->context = first;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
			post(r, KDAPL_DTO_RDMA_WRITE, 0, 1, 1));
	r->context = third;
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, 1, 2));
	carry_out(r);
	expect_done(r, 2, DTO_OK, 1);
	/* L5: the device might use it. */
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE),
			kdapl_lmr_free(&r->b->space, r->lmr));
	rig_end(r);
}

/* The call is refused; then its arguments are good again. */
static void expect_bad(struct rig *r, struct kdapl_fmr *fmr, enum dat_return_subtype arg)
{
	KUNIT_EXPECT_EQ(r->b->test, DAT_ERROR(DAT_INVALID_PARAMETER, arg),
			kdapl_fmr(&r->b->space, r->lmr, fmr));
	list_init(r);
	*fmr = fmr_of(r);
}

/* E3, mt:M1: what is no memory, and what is no LMR of this kind. */
static void bad_arguments(struct kunit *test)
{
	struct rig *r = rig_new(test);
	const struct kdapl_fmr good = fmr_of(r);
	const DAT_LMR_COOKIE none = {};
	struct bench *b = r->b;
	struct kdapl_fmr fmr;
	DAT_LMR_HANDLE lmr;

	fmr = good;
	fmr.mem_type = DAT_MEM_TYPE_VIRTUAL;
	expect_bad(r, &fmr, DAT_INVALID_ARG2);
	fmr.region.for_platform = NULL;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->memory.list = NULL;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->memory.length = 0;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->memory.length++;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->sg[3].length = 0;
	r->memory.length -= PIECE;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->memory.offset = PIECES * PIECE;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->memory.entries++;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	r->memory.length = U64_MAX;
	expect_bad(r, &fmr, DAT_INVALID_ARG3);
	fmr.privileges = 0x40;
	expect_bad(r, &fmr, DAT_INVALID_ARG5);
	fmr.va_type = DAT_VA_TYPE_VA;
	expect_bad(r, &fmr, DAT_INVALID_ARG6);
	fmr.flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	expect_bad(r, &fmr, DAT_INVALID_ARG9);
	fmr.lmr_context = NULL;
	expect_bad(r, &fmr, DAT_INVALID_ARG10);
	fmr.privileges = DAT_MEM_PRIV_ALL_FLAG;
	expect_bad(r, &fmr, DAT_INVALID_ARG5);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
			kdapl_fmr(&b->space, b->lmr, &good));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
			kdapl_fmr_invalidate(&b->space, b->lmr, DAT_HANDLE_NULL, none,
					     0));
	fake_fail(b->fake, FAKE_MAP, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
			give(r));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, 0,
					   KDAT_LMR_SCOPE_LOCAL, &lmr));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, KDAPL_FMR_PAGES + 1,
					   KDAT_LMR_SCOPE_LOCAL, &lmr));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, 1, 7, &lmr));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, 1,
					   KDAT_LMR_SCOPE_LOCAL, NULL));
	/* An LMR for two pages gets no three. */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_allocate(&b->space, b->ia, b->pz, 2,
						       KDAT_LMR_SCOPE_LOCAL, &lmr));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			kdapl_fmr(&b->space, lmr, &good));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, lmr));
	rig_end(r);
}

/* mt:T5, mt:T30: a segment is inside the memory, and has the right that the DTO needs. */
static void bad_segments(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct kdapl_fmr fmr = fmr_of(r);
	const u64 all = r->memory.length;

	fmr.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr(&r->b->space, r->lmr, &fmr));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			post(r, KDAPL_DTO_RDMA_WRITE, 0, all + 1, 1));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			post(r, KDAPL_DTO_RDMA_WRITE, all, 1, 1));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			post(r, KDAPL_DTO_RDMA_WRITE, U64_MAX, 2, 1));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE),
			post(r, KDAPL_DTO_RDMA_READ, 0, 1, 1));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE),
			post(r, KDAPL_DTO_RECV, 0, 1, 1));
	/* A message is one work request. */
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			post(r, KDAPL_DTO_SEND, 0, 5 * PIECE, 1));
	KUNIT_EXPECT_EQ(test, 0U, nr_wrs(r));
	rig_end(r);
}

/* mt:T3, mt:T36: as many pieces as the device takes at once are one work request. */
static void at_once(struct kunit *test)
{
	struct rig *r = rig_new(test);
	const u64 some = PER_WRITE * PIECE - OFFSET;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, some, 1));
	KUNIT_EXPECT_EQ(test, 1U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, (u32)PER_WRITE, wr_of(r, 0)->nr_sge);
	expect_bytes(r, 0, 0, some);
	carry_out(r);
	expect_done(r, 1, DTO_OK, some);

	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_SEND, 3, 3 * PIECE, 2));
	KUNIT_EXPECT_EQ(test, 4U, wr_of(r, 0)->nr_sge);
	carry_out(r);
	expect_done(r, 2, DTO_OK, 3 * PIECE);
	rig_end(r);
}

/* mt:T3: a segment in the first entry, up to its end and one byte beyond. */
static void first_entry(struct kunit *test)
{
	const u64 rest = PIECE - OFFSET;
	const struct {
		u64 start, length;
		u32 pieces;
	} parts[] = {
		{ 0, rest, 1 },
		{ 7, rest - 7, 1 },
		{ rest - 1, 1, 1 },
		{ 0, rest + 1, 2 },
		{ 7, rest - 6, 2 },
		{ rest, 1, 1 },
	};
	struct rig *r = rig_new(test);
	u32 i;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, parts[i].start,
						 parts[i].length, i));
		KUNIT_EXPECT_EQ(test, parts[i].pieces, wr_of(r, 0)->nr_sge);
		expect_bytes(r, 0, parts[i].start, parts[i].length);
		carry_out(r);
		expect_done(r, i, DTO_OK, parts[i].length);
	}
	rig_end(r);
}

/* mt:T3: a read of nothing names memory, and fetches none. */
static void read_of_nothing(struct kunit *test)
{
	struct rig *r = rig_new(test);
	DAT_LMR_TRIPLET part = { .segment_length = 2 * PIECE };
	const DAT_RMR_TRIPLET nothing = { .rmr_context = 0x7700 };
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	u64 start;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	part.lmr_context = r->context;
	for (start = 0; start <= 2 * PIECE; start += PIECE) {
		part.virtual_address = start;
		KUNIT_EXPECT_EQ(test, DONE,
				fake_post(&r->b->space, r->ep, KDAPL_DTO_RDMA_READ, 1, &part,
					  cookie, &nothing, 0));
		KUNIT_EXPECT_EQ(test, 0U, wr_of(r, 0)->nr_sge);
		carry_out(r);
		expect_done(r, 1, DTO_OK, 0);
	}
	rig_end(r);
}

/* mt:T12: what names memory that goes at this moment is not posted in part. */
static void goes_meanwhile(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct bench *b = r->b;
	const DAT_LMR_COOKIE none = {};
	struct kdapl_fmr fmr = fmr_of(r);
	DAT_LMR_TRIPLET parts[2] = {
		{ .virtual_address = PIECE, .segment_length = 2 * PIECE },
		{ .virtual_address = PIECE, .segment_length = PIECE },
	};
	const struct ib_sge named[2] = { { .length = 2 * PIECE }, { .length = PIECE } };
	struct kdapl_walk walk = {}, early = {};
	struct ib_sge pieces[PER_WRITE];
	DAT_LMR_HANDLE other;
	u64 length;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	parts[0].lmr_context = r->context;
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, PIECES,
					   KDAT_LMR_SCOPE_LOCAL, &other));
	fmr.lmr_context = &parts[1].lmr_context;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr(&b->space, other, &fmr));

	/* As a post has: no LMR is freed before it is over. */
	rcu_read_lock();
	kdapl_walk_begin(&early, &b->space, parts, named, 2);
	kdapl_walk_begin(&walk, &b->space, parts, named, 2);
	KUNIT_EXPECT_EQ(test, 5U, kdapl_walk_count(&walk));
	KUNIT_EXPECT_EQ(test, 5U, kdapl_walk_take(&walk, pieces, PER_WRITE, &length));
	KUNIT_EXPECT_FALSE(test, walk.lost);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr_invalidate(&b->space, other, DAT_HANDLE_NULL,
							 none, 0));
	KUNIT_EXPECT_EQ(test, 0U, kdapl_walk_count(&early));
	kdapl_walk_take(&early, pieces, PER_WRITE, &length);
	KUNIT_EXPECT_TRUE(test, early.lost);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, other));
	rig_end(r);
}

/* mt:T30: memory that may be written may be read, so the device is told of both. */
static void both_ways(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct kdapl_fmr fmr = fmr_of(r);
	struct kdapl_object *lmr;

	fmr.privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr(&r->b->space, r->lmr, &fmr));
	lmr = kdapl_object_find(&r->b->space, r->lmr, KDAPL_LMR);
	KUNIT_ASSERT_NOT_NULL(test, lmr);
	KUNIT_EXPECT_EQ(test, DMA_BIDIRECTIONAL, kdapl_lmr_of(lmr)->list.direction);
	kdapl_object_put(lmr);
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_SEND, 0, PIECE, 1));
	carry_out(r);
	expect_done(r, 1, DTO_OK, PIECE);
	rig_end(r);
}

/* mt:T33, mt:T36: more of them are a chain, of which only the last one completes. */
static void chain_of(struct rig *r, enum kdapl_dto_kind kind, u32 per_wr)
{
	struct kunit *test = r->b->test;
	const u64 start = 17, length = r->memory.length - 40;
	u32 n = DIV_ROUND_UP(PIECES, per_wr), i;

	KUNIT_EXPECT_EQ(test, DONE, post(r, kind, start, length, 5));
	KUNIT_ASSERT_EQ(test, n, nr_wrs(r));
	expect_bytes(r, 0, start, length);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_LE(test, wr_of(r, i)->nr_sge, per_wr);
		KUNIT_EXPECT_EQ(test, IB_SEND_SIGNALED, wr_of(r, i)->send_flags);
	}
	KUNIT_EXPECT_EQ(test, n - 1,
			(u32)atomic_read(&bench_ep_of(r->b, r->ep)->req.reserved));
	carry_out(r);
	expect_done(r, 5, DTO_OK, length);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bench_ep_of(r->b, r->ep)->req.reserved));
	expect_empty(r->b, r->b->evd);
}

static void chain(struct kunit *test)
{
	struct rig *r = rig_new(test);

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	chain_of(r, KDAPL_DTO_RDMA_WRITE, PER_WRITE);
	chain_of(r, KDAPL_DTO_RDMA_READ, PER_READ);
	rig_end(r);
}

/* A part of the list, and what names it, for kdapl_ep_post_requests() */
static void request_of(struct rig *r, struct kdat_request *request, enum kdat_request_kind kind,
		       DAT_LMR_TRIPLET *part, u64 length, u64 number)
{
	*part = (DAT_LMR_TRIPLET) {
		.lmr_context = r->context,
		.segment_length = length,
	};
	*request = (struct kdat_request) {
		.kind = kind,
		.num_segments = 1,
		.local_iov = part,
		.user_cookie.as_64 = number,
		.remote_buffer = &remote,
	};
}

/*
 * mt:T3, mt:T5, mt:T40: of several requests at once those whose lists are one work request each are
 * one call of the device; one that takes several work requests is posted between the others.
 */
static void together(struct kunit *test)
{
	struct rig *r = rig_new(test);
	const u64 some = PER_WRITE * PIECE - OFFSET, all = r->memory.length;
	const u32 links = DIV_ROUND_UP(PIECES, PER_WRITE);
	struct fake_device *fake = r->b->fake;
	struct kdat_request requests[3];
	DAT_LMR_TRIPLET parts[3];
	DAT_COUNT done;
	u32 calls;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	request_of(r, &requests[0], KDAT_RDMA_WRITE, &parts[0], some, 0);
	request_of(r, &requests[1], KDAT_SEND, &parts[1], 3 * PIECE, 1);
	request_of(r, &requests[2], KDAT_SEND, &parts[2], 1, 2);
	calls = READ_ONCE(fake->calls[FAKE_POST_SEND]);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_post_requests(&r->b->space, r->ep, 3, requests, &done));
	KUNIT_EXPECT_EQ(test, 3, done);
	KUNIT_EXPECT_EQ(test, calls + 1, READ_ONCE(fake->calls[FAKE_POST_SEND]));
	KUNIT_ASSERT_EQ(test, 3U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, (u32)PER_WRITE, wr_of(r, 0)->nr_sge);
	KUNIT_EXPECT_EQ(test, 4U, wr_of(r, 1)->nr_sge);
	KUNIT_EXPECT_EQ(test, 1U, wr_of(r, 2)->nr_sge);
	KUNIT_EXPECT_EQ(test, (uintptr_t)sg_virt(&r->sg[1]), (uintptr_t)wr_of(r, 1)->sge[1].addr);
	carry_out(r);
	expect_done(r, 0, DTO_OK, some);
	expect_done(r, 1, DTO_OK, 3 * PIECE);
	expect_done(r, 2, DTO_OK, 1);

	request_of(r, &requests[0], KDAT_SEND, &parts[0], 1, 3);
	request_of(r, &requests[1], KDAT_RDMA_WRITE, &parts[1], all, 4);
	request_of(r, &requests[2], KDAT_SEND, &parts[2], 3 * PIECE, 5);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_post_requests(&r->b->space, r->ep, 3, requests, &done));
	KUNIT_ASSERT_EQ(test, links + 2, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, IB_WR_SEND, wr_of(r, 0)->opcode);
	KUNIT_EXPECT_EQ(test, IB_WR_RDMA_WRITE, wr_of(r, 1)->opcode);
	KUNIT_EXPECT_EQ(test, IB_WR_SEND, wr_of(r, links + 1)->opcode);
	carry_out(r);
	expect_done(r, 3, DTO_OK, 1);
	expect_done(r, 4, DTO_OK, all);
	expect_done(r, 5, DTO_OK, 3 * PIECE);

	/* A message in more pieces than the device takes */
	parts[1].segment_length = 5 * PIECE;
	requests[1].kind = KDAT_SEND;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			kdapl_ep_post_requests(&r->b->space, r->ep, 3, requests, &done));
	KUNIT_EXPECT_EQ(test, 1, done);
	KUNIT_EXPECT_EQ(test, 1U, nr_wrs(r));
	carry_out(r);
	expect_done(r, 3, DTO_OK, 1);
	rig_end(r);
}

/* mt:T13: without reserve a long one is refused, and nothing is posted of it. */
static void no_reserve(struct kunit *test)
{
	struct rig *r = rig_new(test);
	const u64 all = r->memory.length;
	struct kdapl_dir *dir = &bench_ep_of(r->b, r->ep)->req;
	u32 i;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	/* More than there ever will be */
	dir->reserve = 3;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			post(r, KDAPL_DTO_RDMA_WRITE, 0, all, 1));
	dir->reserve = RESERVE;
	/* Four more each */
	for (i = 0; i < RESERVE / 4; i++)
		KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, all, i));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
			post(r, KDAPL_DTO_RDMA_WRITE, 0, all, 9));
	KUNIT_EXPECT_EQ(test, 5U * (RESERVE / 4), nr_wrs(r));
	/* What needs none passes. */
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, PIECE, i));
	carry_out(r);
	for (i = 0; i < RESERVE / 4; i++)
		expect_done(r, i, DTO_OK, all);
	expect_done(r, i, DTO_OK, PIECE);
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, all, 9));
	carry_out(r);
	expect_done(r, 9, DTO_OK, all);
	rig_end(r);
}

/* mt:T40, D52: one that fails says why, and the last one completes it, once. */
static void part_fails(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct bench *b = r->b;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, r->memory.length, 1));
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, 1, 2));
	fake_complete_send(bench_qp(b, r->ep), 0, IB_WC_SUCCESS);
	fake_complete_send(bench_qp(b, r->ep), 0, IB_WC_REM_ACCESS_ERR);
	expect_done(r, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	expect_done(r, 2, FLUSHED, 0);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bench_ep_of(b, r->ep)->req.reserved));
	rig_end(r);
}

/* mt:T12, mt:T17: the device refuses the first one, or a later one. */
static void refused(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct bench *b = r->b;
	DAT_EVENT event;
	int broken = 0, i;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
			post(r, KDAPL_DTO_RDMA_WRITE, 0, r->memory.length, 1));
	KUNIT_EXPECT_EQ(test, 0U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bench_ep_of(b, r->ep)->req.reserved));
	chain_of(r, KDAPL_DTO_RDMA_WRITE, PER_WRITE);

	fake_fail(b->fake, FAKE_POST_SEND, 3, -EINVAL);
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, r->memory.length, 2));
	/* It breaks, and nothing that is posted behind it passes, before the end or after. */
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, 1, 3));
	expect_done(r, 2, FLUSHED, 0);
	for (i = 0; i < 2; i++) {
		if (bench_event(b, b->evd, &event) == DAT_CONNECTION_EVENT_BROKEN) {
			broken++;
			continue;
		}
		KUNIT_EXPECT_EQ(test, 3ULL,
				event.event_data.dto_completion_event_data.user_cookie.as_64);
		KUNIT_EXPECT_EQ(test, (u32)FLUSHED,
				(u32)event.event_data.dto_completion_event_data.status);
	}
	KUNIT_EXPECT_EQ(test, 1, broken);
	KUNIT_EXPECT_EQ(test, (u32)DAT_ASYNC_ERROR_EP_BROKEN,
			bench_event(b, b->async, &event));
	rig_end(r);
}

/* T33, R1: an endpoint that is reset begins with its whole reserve. */
static void reserve_again(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct bench *b = r->b;

	KUNIT_EXPECT_EQ(test, DONE, give(r));
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, r->memory.length, 1));
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, r->ep));
	expect_done(r, 1, FLUSHED, 0);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* In state Disconnected it is flushed at once. */
	KUNIT_EXPECT_EQ(test, DONE, post(r, KDAPL_DTO_RDMA_WRITE, 0, r->memory.length, 2));
	expect_done(r, 2, FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bench_ep_of(b, r->ep)->req.reserved));
	rig_end(r);
}

/* E71, A10: the device takes the memory along, and who wants it back gets it. */
static void device_goes(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct bench *b = r->b;
	DAT_LMR_HANDLE other;

	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_allocate(&b->space, b->ia, b->pz, 2 * PIECES,
						       KDAT_LMR_SCOPE_LOCAL, &other));
	KUNIT_EXPECT_EQ(test, DONE, give(r));
	kdapl_ia_device_gone(bench_ia(b));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, DONE, take(r));
	KUNIT_EXPECT_EQ(test, GONE, give(r));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, r->lmr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, other));
}

/* mt:T1: the attributes of an endpoint say what it has in reserve. */
static void reserve_named(struct kunit *test)
{
	static const struct {
		const char *name, *value;
		bool good;
	} rows[] = {
		{ KDAT_EP_REQUEST_RESERVE, "0", true },
		{ KDAT_EP_REQUEST_RESERVE, "112", true },
		{ KDAT_EP_REQUEST_RESERVE, "113", false },
		{ KDAT_EP_REQUEST_RESERVE, "-1", false },
		{ KDAT_EP_REQUEST_RESERVE, "some", false },
		{ KDAT_EP_REQUEST_RESERVE, NULL, false },
		{ "other", "some", true },
		{ NULL, "some", true },
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		DAT_NAMED_ATTR named = { rows[i].name, rows[i].value };
		DAT_EP_ATTR with = attr;

		with.ep_provider_specific = &named;
		ret = kdapl_ep_create(&b->space, b->ia, b->pz, b->evd, b->evd, b->evd,
				      &with, &ep);
		KUNIT_EXPECT_EQ(test, rows[i].good ? DONE :
				DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6), ret);
		if (!ret)
			KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	}
}

/* mt:T1: a send that takes a key away at the peer is a send like any other. */
static void send_invalidate(struct kunit *test)
{
	struct rig *r = rig_new(test);
	struct bench *b = r->b;
	const DAT_LMR_TRIPLET part = {
		.lmr_context = b->lmr_context,
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 9,
	};
	struct kdapl_dto dto = {
		.kind = KDAPL_DTO_SEND_INVALIDATE,
		.segments = 1,
		.iov = &part,
		.cookie.as_64 = 4,
		.word = 0xabcd,
	};

	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_post(&b->space, r->ep, &dto));
	KUNIT_EXPECT_EQ(test, IB_WR_SEND_WITH_INV, wr_of(r, 0)->opcode);
	KUNIT_EXPECT_EQ(test, 0xabcdU, wr_of(r, 0)->rkey);
	carry_out(r);
	expect_done(r, 4, DTO_OK, 9);
	dto.flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
			kdapl_ep_post(&b->space, r->ep, &dto));
	dto.flags = 0;
	dto.segments = 5;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			kdapl_ep_post(&b->space, r->ep, &dto));
	rig_end(r);
}

static struct kunit_case kdapl_fmr_cases[] = {
	KUNIT_CASE(turns),
	KUNIT_CASE(bad_arguments),
	KUNIT_CASE(bad_segments),
	KUNIT_CASE(at_once),
	KUNIT_CASE(first_entry),
	KUNIT_CASE(read_of_nothing),
	KUNIT_CASE(goes_meanwhile),
	KUNIT_CASE(both_ways),
	KUNIT_CASE(chain),
	KUNIT_CASE(together),
	KUNIT_CASE(no_reserve),
	KUNIT_CASE(part_fails),
	KUNIT_CASE(refused),
	KUNIT_CASE(reserve_again),
	KUNIT_CASE(device_goes),
	KUNIT_CASE(reserve_named),
	KUNIT_CASE(send_invalidate),
	{}
};

static struct kunit_suite kdapl_fmr_suite = {
	.name = "kdapl_fmr",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_fmr_cases,
};

kunit_test_suite(kdapl_fmr_suite);
