// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_fmr_remote: memory for one transfer that peers reach (dat_lmr_fmr with remote
 * rights): registered by a request, taken away by another one or by the peer's message
 * (mt:M81), and all that may come in between.
 */
#include <linux/scatterlist.h>
#include "core/fmr.h"
#include "core/ia.h"
#include "core/rmr.h"
#include "stage.h"

#define OFFSET	100
#define LENGTH	300
#define BUSY	IR(MEMORY_REGION)

/*
 * struct rig - a connected endpoint, and an LMR that can have remote rights
 * @before: a census before any of them
 * @context, @key: of the memory that it was given last
 */
struct rig {
	struct bench *b;
	struct census before;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	struct scatterlist sg;
	struct kdat_memory memory;
};

static DAT_LMR_HANDLE allocate(struct bench *b, DAT_LMR_SCOPE scope)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_lmr_allocate(&b->space, b->ia, b->pz, 4, scope, &lmr));
	return lmr;
}

static void rig_connect(struct rig *r)
{
	bench_connect(r->b, r->ep);
	expect_event(r->b, r->b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* @requests: EVD of the endpoint's requests */
static struct rig *rig_new_on(struct kunit *test, const DAT_EP_ATTR *attr,
			      DAT_EVD_HANDLE requests)
{
	struct rig *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct bench *b = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->b = b;
	r->before = bench_census(b);
	sg_init_one(&r->sg, b->memory, PAGE_SIZE);
	r->memory = (struct kdat_memory) {
		.list = &r->sg,
		.entries = 1,
		.offset = OFFSET,
		.length = LENGTH,
	};
	r->lmr = allocate(b, DAT_LMR_SCOPE_EP);
	r->ep = bench_ep_attr(b, b->evd, requests, b->evd, attr);
	rig_connect(r);
	return r;
}

static struct rig *rig_new(struct kunit *test, const DAT_EP_ATTR *attr)
{
	struct bench *b = test->priv;

	return rig_new_on(test, attr, b->evd);
}

/* No peer has rights; there may be memory. */
static DAT_RETURN take_and_free(struct bench *b, DAT_LMR_HANDLE lmr)
{
	const DAT_LMR_COOKIE none = {};

	kdapl_fmr_invalidate(&b->space, lmr, DAT_HANDLE_NULL, none, 0);
	return kdapl_lmr_free(&b->space, lmr);
}

/* No peer has rights, and everything can go. */
static void rig_end(struct rig *r)
{
	struct bench *b = r->b;
	struct fake_id *id = fake_id_of(b->fake, bench_ep_of(b, r->ep));

	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, r->ep));
	if (bench_census(b).lingering)
		fake_peer_disconnected(id);
	KUNIT_EXPECT_EQ(b->test, DONE, take_and_free(b, r->lmr));
	KUNIT_EXPECT_EQ(b->test, 0U, b->fake->nr_lists);
	expect_empty(b, b->evd);
	expect_same(b, &r->before);
}

static struct kdapl_fmr fmr_of(struct rig *r, u64 cookie)
{
	return (struct kdapl_fmr) {
		.mem_type = DAT_MEM_TYPE_PLATFORM,
		.region.for_platform = &r->memory,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.va_type = DAT_VA_TYPE_ZB,
		.ep = r->ep,
		.cookie.as_64 = cookie,
		.lmr_context = &r->context,
		.rmr_context = &r->key,
	};
}

static DAT_RETURN give(struct rig *r, u64 cookie)
{
	struct kdapl_fmr fmr = fmr_of(r, cookie);

	return kdapl_fmr(&r->b->space, r->lmr, &fmr);
}

static DAT_RETURN take_flags(struct rig *r, u64 cookie, DAT_COMPLETION_FLAGS flags)
{
	const DAT_LMR_COOKIE user = { .as_64 = cookie };

	return kdapl_fmr_invalidate(&r->b->space, r->lmr, r->ep, user, flags);
}

static DAT_RETURN take(struct rig *r, u64 cookie)
{
	return take_flags(r, cookie, 0);
}

static struct fake_wr *wr_of(struct rig *r, u32 i)
{
	return &bench_qp(r->b, r->ep)->send.wr[i];
}

static u32 nr_wrs(struct rig *r)
{
	return bench_qp(r->b, r->ep)->send.nr;
}

/* The device does the next @n work requests. */
static void carry_out(struct rig *r, int n)
{
	while (n--)
		fake_complete_send(bench_qp(r->b, r->ep), 0, IB_WC_SUCCESS);
}

/* The next event is a DTO's, and names @key, which is 0 for nearly all. */
static void expect_key(struct rig *r, u64 cookie, u32 status, u32 key)
{
	const struct kdat_dto_completion_event_data *dto;
	struct kunit *test = r->b->test;
	DAT_EVENT e;

	KUNIT_EXPECT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT,
			bench_event(r->b, r->b->evd, &e));
	dto = kdat_dto_completion(&e);
	KUNIT_EXPECT_EQ(test, cookie, (u64)dto->user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, status, (u32)dto->status);
	KUNIT_EXPECT_EQ(test, key, (u32)dto->rmr_context);
	KUNIT_EXPECT_PTR_EQ(test, r->ep, dto->ep_handle);
}

static void expect_done(struct rig *r, u64 cookie, u32 status)
{
	expect_key(r, cookie, status, 0);
}

static void give_whole(struct rig *r)
{
	KUNIT_ASSERT_EQ(r->b->test, DONE, give(r, 1));
	carry_out(r, 2);
	expect_done(r, 1, DTO_OK);
}

static DAT_RMR_CONTEXT shown(struct rig *r)
{
	DAT_LMR_PARAM param = {};

	KUNIT_EXPECT_EQ(r->b->test, DONE,
			kdapl_lmr_query(&r->b->space, r->lmr, DAT_LMR_FIELD_ALL, &param));
	return param.rmr_context;
}

/* The peer's message comes into a receive that is posted for it. */
static void message(struct rig *r, u32 key, u64 cookie)
{
	const struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.byte_len = 1,
		.wc_flags = IB_WC_WITH_INVALIDATE,
		.ex.invalidate_rkey = key,
	};

	KUNIT_ASSERT_EQ(r->b->test, DONE, bench_recv(r->b, r->ep, cookie));
	fake_complete_recv_as(bench_qp(r->b, r->ep), &wc);
}

static DAT_RETURN free_lmr(struct rig *r)
{
	return kdapl_lmr_free(&r->b->space, r->lmr);
}

/* mt:M15, mt:M33, mt:T36: registered by two requests, and taken away by one, in order. */
static void turns(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	u64 start = offset_in_page(b->memory) + OFFSET;
	DAT_LMR_PARAM param;
	u32 first;

	KUNIT_EXPECT_EQ(test, DONE, give(r, 1));
	first = r->key;
	KUNIT_EXPECT_NE(test, 0U, first);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r->ep, 2, 0));
	KUNIT_ASSERT_EQ(test, 3U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, IB_WR_LOCAL_INV, wr_of(r, 0)->opcode);
	KUNIT_EXPECT_EQ(test, IB_WR_REG_MR, wr_of(r, 1)->opcode);
	KUNIT_EXPECT_EQ(test, first, wr_of(r, 1)->rkey);
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
			wr_of(r, 1)->access & ~IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, IB_WR_SEND, wr_of(r, 2)->opcode);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_query(&b->space, r->lmr, DAT_LMR_FIELD_ALL,
						    &param));
	KUNIT_EXPECT_EQ(test, start, param.registered_address);
	KUNIT_EXPECT_EQ(test, (u64)LENGTH, param.length);
	KUNIT_EXPECT_EQ(test, first, param.rmr_context);
	KUNIT_EXPECT_EQ(test, r->context, param.lmr_context);
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), give(r, 3));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(r));
	KUNIT_EXPECT_EQ(test, BUSY, take(r, 3));
	carry_out(r, 3);
	expect_done(r, 1, DTO_OK);
	expect_done(r, 2, DTO_OK);
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(r));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), give(r, 3));

	KUNIT_EXPECT_EQ(test, DONE, take(r, 4));
	KUNIT_ASSERT_EQ(test, 1U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, IB_WR_LOCAL_INV, wr_of(r, 0)->opcode);
	KUNIT_EXPECT_EQ(test, first, wr_of(r, 0)->rkey);
	KUNIT_EXPECT_EQ(test, BUSY, take(r, 4));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(r));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
	carry_out(r, 1);
	expect_done(r, 4, DTO_OK);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, 0U, shown(r));
	KUNIT_EXPECT_EQ(test, IS(LMR_FREE), take(r, 5));

	/* Its success may be of no interest; who looks finds the memory gone. */
	give_whole(r);
	KUNIT_EXPECT_NE(test, first, r->key);
	KUNIT_EXPECT_EQ(test, DONE, take_flags(r, 6, DAT_COMPLETION_SUPPRESS_FLAG));
	carry_out(r, 1);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_WINDOW_RENEW]);
	rig_end(r);
}

/* mt:T5: local segments count from where the memory begins in its page, too. */
static void local_segments(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	u64 start = offset_in_page(b->memory) + OFFSET;
	DAT_LMR_TRIPLET part = { .segment_length = LENGTH };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	KUNIT_EXPECT_EQ(test, DONE, give(r, 1));
	part.lmr_context = r->context;
	part.virtual_address = start;
	KUNIT_EXPECT_EQ(test, DONE, fake_post_send(&b->space, r->ep, 1, &part, cookie, 0));
	KUNIT_EXPECT_EQ(test, (u64)(uintptr_t)b->memory + OFFSET, wr_of(r, 2)->sge[0].addr);
	KUNIT_EXPECT_EQ(test, (u32)LENGTH, wr_of(r, 2)->sge[0].length);
	KUNIT_EXPECT_EQ(test, (u32)FAKE_ZONE_KEY, wr_of(r, 2)->sge[0].lkey);
	part.virtual_address = start - 1;
	KUNIT_EXPECT_EQ(test, IP(3), fake_post_send(&b->space, r->ep, 1, &part, cookie, 0));
	part.virtual_address = start + 1;
	KUNIT_EXPECT_EQ(test, IP(3), fake_post_send(&b->space, r->ep, 1, &part, cookie, 0));
	carry_out(r, 3);
	expect_done(r, 1, DTO_OK);
	expect_done(r, 2, DTO_OK);
	message(r, r->key, 3);
	expect_key(r, 3, DTO_OK, r->key);
	rig_end(r);
}

/* mt:T35: what iWARP reads fetch comes by the key that peers have. */
static void iwarp_sink(struct kunit *test)
{
	const DAT_RMR_TRIPLET remote = { .rmr_context = 0x7700, .segment_length = LENGTH };
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	u64 start = offset_in_page(b->memory) + OFFSET;
	DAT_LMR_TRIPLET part = { .virtual_address = start, .segment_length = LENGTH };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	b->fake->dev->iwarp = true;
	KUNIT_EXPECT_EQ(test, DONE, give(r, 1));
	part.lmr_context = r->context;
	KUNIT_EXPECT_EQ(test, DONE, fake_post(&b->space, r->ep, KDAPL_DTO_RDMA_READ, 1, &part,
					      cookie, &remote, 0));
	KUNIT_EXPECT_EQ(test, start, wr_of(r, 2)->sge[0].addr);
	KUNIT_EXPECT_EQ(test, (u32)r->key, wr_of(r, 2)->sge[0].lkey);
	carry_out(r, 3);
	expect_done(r, 1, DTO_OK);
	expect_done(r, 2, DTO_OK);
	b->fake->dev->iwarp = false;
	KUNIT_EXPECT_EQ(test, DONE, take(r, 3));
	carry_out(r, 1);
	expect_done(r, 3, DTO_OK);
	rig_end(r);
}

/* What is refused leaves nothing mapped. */
static void expect_refused(struct rig *r, const struct kdapl_fmr *fmr, DAT_RETURN ret)
{
	KUNIT_EXPECT_EQ(r->b->test, ret, kdapl_fmr(&r->b->space, r->lmr, fmr));
	KUNIT_EXPECT_EQ(r->b->test, 0U, r->b->fake->nr_lists);
	KUNIT_EXPECT_EQ(r->b->test, 0U, nr_wrs(r));
}

/* E3, mt:M30, mt:T13: what no memory, no endpoint for it, or no right is. */
static void bad_arguments(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	const struct kdapl_fmr good = fmr_of(r, 1);
	struct kdapl_fmr fmr = good;
	struct bench *b = r->b;
	DAT_LMR_HANDLE local = allocate(b, KDAT_LMR_SCOPE_LOCAL), other;
	DAT_PZ_HANDLE pz;

	KUNIT_EXPECT_EQ(test, IP(5), kdapl_fmr(&b->space, local, &good));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, local));
	fmr.ep = b->evd;
	expect_refused(r, &fmr, IH(EP));
	fmr = good;
	fmr.flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	expect_refused(r, &fmr, IP(9));
	fmr = good;
	fmr.privileges = 0x40;
	expect_refused(r, &fmr, IP(5));
	fmr = good;
	fmr.lmr_context = NULL;
	expect_refused(r, &fmr, IP(10));
	fake_fail(b->fake, FAKE_WINDOW_BIND, 1, -E2BIG);
	expect_refused(r, &good, IP(3));
	fake_fail(b->fake, FAKE_MAP, 1, -ENOMEM);
	expect_refused(r, &good, IR(MEMORY));
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOMEM);
	expect_refused(r, &good, IR(MEMORY));

	/* Another zone than the endpoint's */
	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz));
	KUNIT_ASSERT_EQ(test, DONE, kdapl_lmr_allocate(&b->space, b->ia, pz, 1,
						       DAT_LMR_SCOPE_PZ, &other));
	KUNIT_EXPECT_EQ(test, IS(PZ_IN_USE), kdapl_pz_free(&b->space, pz));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_READ),
			kdapl_fmr(&b->space, other, &good));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, other));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));

	KUNIT_EXPECT_EQ(test, IP(3), kdapl_lmr_allocate(&b->space, b->ia, b->pz, 257,
							DAT_LMR_SCOPE_ANY, &other));
	b->fake->dev->max_window_pages = 0;
	KUNIT_EXPECT_EQ(test, MNS, kdapl_lmr_allocate(&b->space, b->ia, b->pz, 1,
						      DAT_LMR_SCOPE_ANY, &other));
	b->fake->dev->max_window_pages = 256;
	fake_fail(b->fake, FAKE_WINDOW_CREATE, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), kdapl_lmr_allocate(&b->space, b->ia, b->pz, 1,
							     DAT_LMR_SCOPE_ANY, &other));
	/* With local rights alone nothing is posted, and 0 is the beginning. */
	fmr = good;
	fmr.ep = DAT_HANDLE_NULL;
	fmr.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr(&b->space, r->lmr, &fmr));
	KUNIT_EXPECT_EQ(test, 0U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, 0U, (u32)r->key);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));

	give_whole(r);
	KUNIT_EXPECT_EQ(test, IP(4), take_flags(r, 2, DAT_COMPLETION_UNSIGNALLED_FLAG));
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), take(r, 2));
	KUNIT_EXPECT_EQ(test, (u32)r->key, (u32)shown(r));
	message(r, r->key, 3);
	expect_key(r, 3, DTO_OK, r->key);
	rig_end(r);
}

/* mt:T13: without the flag for binds the second request comes out of the reserve. */
static void reserve(struct kunit *test)
{
	static const DAT_NAMED_ATTR one = { KDAT_EP_REQUEST_RESERVE, "1" };
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.ep_provider_specific_count = 1,
		.ep_provider_specific = (DAT_NAMED_ATTR *)&one,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dtos = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	struct rig *r = rig_new(test, NULL);
	struct kdapl_fmr fmr;
	DAT_EP_HANDLE ep = bench_ep_attr(b, b->evd, dtos, b->evd, &attr);
	DAT_LMR_HANDLE other = allocate(b, DAT_LMR_SCOPE_EP);
	struct kdapl_dir *dir = &bench_ep_of(b, ep)->req;
	DAT_RMR_CONTEXT key;
	int i;

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fmr = fmr_of(r, 1);
	fmr.ep = ep;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr(&b->space, other, &fmr));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&dir->reserved));
	key = r->key;
	KUNIT_EXPECT_EQ(test, IR(MEMORY), kdapl_fmr(&b->space, r->lmr, &fmr));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
	for (i = 0; i < 2; i++)
		fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_dto(b, dtos, 1, DTO_OK);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&dir->reserved));
	/* By any endpoint of the zone */
	message(r, key, 2);
	expect_key(r, 2, DTO_OK, key);
	KUNIT_EXPECT_EQ(test, DONE, take_and_free(b, other));
	fake_peer_disconnected(bench_id(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	rig_end(r);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, dtos));
}

/* mt:M81, mt:T59: the peer takes its rights away, which nobody has to do any more. */
static void peer_takes(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;

	give_whole(r);
	message(r, r->key, 2);
	expect_key(r, 2, DTO_OK, r->key);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(r));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 3));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, 0U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, IS(LMR_FREE), take(r, 3));
	expect_empty(b, b->evd);

	/* Its key is not taken away a second time. */
	KUNIT_EXPECT_EQ(test, DONE, give(r, 4));
	KUNIT_EXPECT_EQ(test, 0U, wr_of(r, 0)->rkey);
	carry_out(r, 2);
	expect_done(r, 4, DTO_OK);
	/* What comes with no invalidation names no key. */
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, r->ep, 5));
	fake_complete_recv(bench_qp(b, r->ep), 0, IB_WC_SUCCESS, 1, false);
	expect_done(r, 5, DTO_OK);
	message(r, r->key, 6);
	expect_key(r, 6, DTO_OK, r->key);
	/* It may be freed with memory, too. */
	rig_end(r);
}

/* mt:M81: the answer is seen before the completion of the registration. */
static void answer_is_faster(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	u32 key;

	KUNIT_EXPECT_EQ(test, DONE, give(r, 1));
	key = r->key;
	message(r, key, 2);
	expect_key(r, 2, DTO_OK, key);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 3));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, BUSY, give(r, 4));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(r));
	/* Once the device has completed it, the next one is possible: nobody need look. */
	carry_out(r, 2);
	KUNIT_EXPECT_EQ(test, DONE, give(r, 4));
	KUNIT_EXPECT_NE(test, key, (u32)r->key);
	expect_done(r, 1, DTO_OK);
	carry_out(r, 2);
	expect_done(r, 4, DTO_OK);
	/* While it is being taken away here, too */
	KUNIT_EXPECT_EQ(test, DONE, take(r, 5));
	message(r, r->key, 6);
	expect_key(r, 6, DTO_OK, r->key);
	carry_out(r, 1);
	expect_done(r, 5, DTO_OK);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	rig_end(r);
}

/* What the core does when the peer's message has come and the post is not through yet */
static void message_is_judged(void *arg)
{
	struct rig *r = arg;

	struct kdapl_ep *ep = bench_ep_of(r->b, r->ep);

	KUNIT_EXPECT_TRUE(r->b->test, kdapl_rmr_take_key(ep->recv.evd, ep, r->key));
}

/*
 * mt:M81: the peer takes its rights back while an invalidation is refused.  Then none is
 * needed; and the peers' rights on the next memory are not taken by that message.
 */
static void peer_takes_at_refused(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;

	give_whole(r);
	fake_hook(b->fake, FAKE_POST_SEND, message_is_judged, r);
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), take(r, 2));
	KUNIT_EXPECT_EQ(test, 0U, shown(r));
	KUNIT_EXPECT_EQ(test, DONE, take(r, 3));
	KUNIT_EXPECT_EQ(test, 0U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);

	give_whole(r);
	KUNIT_EXPECT_EQ(test, (u32)r->key, shown(r));
	KUNIT_EXPECT_EQ(test, DONE, take(r, 4));
	KUNIT_EXPECT_EQ(test, 1U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
	carry_out(r, 1);
	expect_done(r, 4, DTO_OK);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	rig_end(r);
}

/*
 * mt:M40: an invalidation is of the memory that was there.  Here the peer is faster, and
 * there is other memory when it completes.
 */
static void late_invalidate(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct kdapl_fmr fmr = fmr_of(r, 0);
	struct bench *b = r->b;

	give_whole(r);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
	message(r, r->key, 3);
	expect_key(r, 3, DTO_OK, r->key);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 4));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	fmr.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_fmr(&b->space, r->lmr, &fmr));
	carry_out(r, 1);
	expect_done(r, 2, DTO_OK);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 5));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	rig_end(r);
}

/* E71, mt:M40: when a removal has only begun, the device has the key still. */
static void removal_begins(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	struct kdapl_ia *ia = bench_ep_of(b, r->ep)->obj.ia;

	give_whole(r);
	WRITE_ONCE(ia->removed, true);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
	KUNIT_EXPECT_EQ(test, 1U, nr_wrs(r));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
	WRITE_ONCE(ia->removed, false);
	carry_out(r, 1);
	expect_done(r, 2, DTO_OK);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	rig_end(r);
}

/* mt:T35, mt:M39: a registration that was flushed made no key, so no read can fetch. */
static void iwarp_no_key(struct kunit *test)
{
	const DAT_RMR_TRIPLET remote = { .rmr_context = 0x7700, .segment_length = LENGTH };
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	u64 start = offset_in_page(b->memory) + OFFSET;
	DAT_LMR_TRIPLET part = { .virtual_address = start, .segment_length = LENGTH };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	b->fake->dev->iwarp = true;
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, r->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, give(r, 1));
	expect_done(r, 1, FLUSHED);
	fake_peer_disconnected(bench_id(b, r->ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r->ep));
	rig_connect(r);
	part.lmr_context = r->context;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE),
			fake_post(&b->space, r->ep, KDAPL_DTO_RDMA_READ, 1, &part, cookie,
				  &remote, 0));
	KUNIT_EXPECT_EQ(test, 0U, nr_wrs(r));
	b->fake->dev->iwarp = false;
	KUNIT_EXPECT_EQ(test, DONE, take(r, 3));
	rig_end(r);
}

/* Which key the message names that is not expected */
enum foreign {
	STALE,
	TWICE,
	OF_OTHER_ZONE,
	NOBODYS,
	WITH_IMM,
	TOO_LONG,
	OF_LMR,		/* the last one: no receive names that afterwards */
	FOREIGN
};

static void foreign_message(struct rig *r, enum foreign way, u32 first)
{
	struct bench *b = r->b;
	struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.byte_len = way == TOO_LONG ? 100 : 1,
		.wc_flags = IB_WC_WITH_INVALIDATE,
		.ex.invalidate_rkey = r->key,
	};
	DAT_LMR_PARAM param;

	if (way == STALE)
		wc.ex.invalidate_rkey = first;
	if (way == OF_LMR) {
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_lmr_query(&b->space, b->lmr,
							       DAT_LMR_FIELD_ALL, &param));
		wc.ex.invalidate_rkey = param.rmr_context;
	}
	if (way == NOBODYS)
		wc.ex.invalidate_rkey = 0;
	if (way == WITH_IMM)
		wc.wc_flags |= IB_WC_WITH_IMM;
	if (way == TWICE) {
		message(r, r->key, 8);
		expect_key(r, 8, DTO_OK, r->key);
	}
	KUNIT_ASSERT_EQ(b->test, DONE, bench_recv(b, r->ep, 9));
	fake_complete_recv_as(bench_qp(b, r->ep), &wc);
	expect_done(r, 9, way == TOO_LONG ? DAT_DTO_ERR_LOCAL_LENGTH :
					    DAT_DTO_ERR_BAD_RESPONSE);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
}

/* mt:M81, mt:T59: any other invalidation breaks the connection, and takes nothing. */
static void unexpected(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_PZ_HANDLE pz, mine = b->pz;
	enum foreign way;
	struct rig *r;
	u32 first;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz));
	for (way = 0; way < FOREIGN; way++) {
		DAT_EP_HANDLE ep, in_zone;

		r = rig_new(test, NULL);
		give_whole(r);
		first = r->key;
		KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
		carry_out(r, 1);
		expect_done(r, 2, DTO_OK);
		give_whole(r);
		in_zone = r->ep;
		if (way == OF_OTHER_ZONE) {
			b->pz = pz;
			ep = bench_ep(b, b->evd);
			b->pz = mine;
			bench_connect(b, ep);
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
			r->ep = ep;
			KUNIT_ASSERT_EQ(test, DONE,
					fake_post_recv(&b->space, ep, 0, NULL,
						       (DAT_DTO_COOKIE){ .as_64 = 9 }, 0));
			fake_complete_recv_as(bench_qp(b, ep), &(struct ib_wc) {
				.opcode = IB_WC_RECV,
				.wc_flags = IB_WC_WITH_INVALIDATE,
				.ex.invalidate_rkey = r->key,
			});
			expect_done(r, 9, DAT_DTO_ERR_BAD_RESPONSE);
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
			fake_peer_disconnected(bench_id(b, ep));
			KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
			r->ep = in_zone;
		} else {
			foreign_message(r, way, first);
		}
		bench_settle(b);
		KUNIT_EXPECT_EQ(test, way == TWICE ? 0U : (u32)r->key, (u32)shown(r));
		KUNIT_EXPECT_EQ(test, DONE, take(r, 10));
		if (way == OF_OTHER_ZONE) {
			carry_out(r, 1);
			expect_done(r, 10, DTO_OK);
		} else if (way != TWICE) {
			expect_done(r, 10, FLUSHED);
		}
		KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
		if (way != OF_OTHER_ZONE)
			fake_peer_disconnected(bench_id(b, r->ep));
		rig_end(r);
	}
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));
}

/* mt:M39, mt:M40: a registration that is flushed or fails gives no rights; the memory stays. */
static void registration_fails(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig *r;
	int way;

	for (way = 0; way < 4; way++) {
		r = rig_new(test, NULL);
		if (way == 3)
			fake_fail(b->fake, FAKE_POST_NEXT, 1, -ENOMEM);
		KUNIT_EXPECT_EQ(test, DONE, give(r, 1));
		if (way == 0) {
			KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, r->ep));
			expect_done(r, 1, FLUSHED);
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		} else if (way == 3) {
			DAT_EVENT event;

			/* A5: the end waits only for what the device has taken. */
			expect_done(r, 1, FLUSHED);
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
			KUNIT_EXPECT_EQ(test, (u32)DAT_ASYNC_ERROR_EP_BROKEN,
					bench_event(b, b->async, &event));
		} else {
			if (way == 2)
				carry_out(r, 1);
			fake_complete_send(bench_qp(b, r->ep), 0, IB_WC_MW_BIND_ERR);
			expect_done(r, 1, DAT_RMR_OPERATION_FAILED);
			expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
		}
		KUNIT_EXPECT_EQ(test, 0U, (u32)shown(r));
		KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_lists);
		KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
		KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
		expect_empty(b, b->evd);

		/* In Disconnected it is never posted. */
		KUNIT_EXPECT_EQ(test, DONE, give(r, 3));
		KUNIT_EXPECT_EQ(test, 0U, (u32)r->key);
		expect_done(r, 3, FLUSHED);
		KUNIT_EXPECT_EQ(test, DONE, take(r, 4));
		fake_peer_disconnected(bench_id(b, r->ep));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r->ep));
		rig_connect(r);
		give_whole(r);
		message(r, r->key, 5);
		expect_key(r, 5, DTO_OK, r->key);
		rig_end(r);
	}
}

/* D20, D43: flushed with its connection, or lost, it takes the memory away all the same. */
static void invalidate_flushed(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig *r;
	int lost;

	for (lost = 0; lost < 2; lost++) {
		r = rig_new(test, NULL);
		give_whole(r);
		b->fake->calls[FAKE_WINDOW_RENEW] = 0;
		KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
		b->fake->hold_flush = lost;
		KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, r->ep));
		if (lost)
			bench_no_flush(b, r->ep);
		expect_done(r, 2, FLUSHED);
		KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_WINDOW_RENEW]);
		KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		b->fake->hold_flush = false;
		KUNIT_EXPECT_EQ(test, IS(LMR_FREE), take(r, 3));
		rig_end(r);
	}
}

static void look(void *arg)
{
	struct rig *r = arg;
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(r->b->test, EMPTY,
			kdapl_evd_dequeue(&r->b->space, r->b->evd, &event));
	KUNIT_EXPECT_EQ(r->b->test, 1U, r->b->fake->nr_lists);
}

/* mt:M40, D46: in Disconnected nobody sees it flushed before the key is dead. */
static void invalidate_in_disconnected(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;

	give_whole(r);
	fake_peer_disconnected(bench_id(b, r->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, (u32)r->key, (u32)shown(r));
	fake_hook(b->fake, FAKE_WINDOW_RENEW, look, r);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r->ep, 3, 0));
	expect_done(r, 2, FLUSHED);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_WINDOW_RENEW]);
	expect_done(r, 3, FLUSHED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r->ep));
	rig_connect(r);
	give_whole(r);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 4));
	carry_out(r, 1);
	expect_done(r, 4, DTO_OK);
	rig_end(r);
}

/*
 * struct teller - a sink that takes nothing, and notes what comes
 * @rig: of its EVD
 * @arrivals: kdapl_evd_arrivals() at the last run that was to notify
 * @before: the same when the window was about to be renewed
 */
struct teller {
	struct rig *rig;
	u32 arrivals;
	u32 before;
};

static bool teller_room(struct kdapl_evd *evd, void *arg)
{
	return false;
}

static void teller_done(struct kdapl_evd *evd, void *arg, bool notify)
{
	struct teller *teller = arg;

	if (notify && !kdapl_evd_dead(evd))
		WRITE_ONCE(teller->arrivals, kdapl_evd_arrivals(evd));
}

static const struct kdapl_sink teller_sink = {
	.room = teller_room,
	.done = teller_done,
	.sleeps = true,
};

static void look_told(void *arg)
{
	struct teller *teller = arg;
	struct kdapl_evd *evd = bench_ep_of(teller->rig->b, teller->rig->ep)->connect_evd;

	look(teller->rig);
	kdapl_evd_await_run(evd);
	teller->before = READ_ONCE(teller->arrivals);
}

/* E115: who was told of a completion while it was hidden is told once more when it is there. */
static void hidden_and_told(struct kunit *test)
{
	struct rig *r = rig_new(test, NULL);
	struct teller teller = { .rig = r };
	struct bench *b = r->b;
	struct kdapl_evd *evd = bench_ep_of(b, r->ep)->connect_evd;

	give_whole(r);
	fake_peer_disconnected(bench_id(b, r->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	fake_hook(b->fake, FAKE_WINDOW_RENEW, look_told, &teller);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, &teller_sink, &teller, false));
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
	bench_settle(b);
	kdapl_evd_await_run(evd);
	KUNIT_EXPECT_NE(test, teller.before, READ_ONCE(teller.arrivals));
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
	expect_done(r, 2, FLUSHED);
	rig_end(r);
}

/* All is over: who looks once finds that the memory was taken away, and then nothing. */
static void expect_taken_away(struct rig *r, DAT_EVD_HANDLE evd, u64 cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	struct kunit *test = r->b->test;
	DAT_EVENT event = {};

	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_dequeue(&r->b->space, evd, &event));
	KUNIT_EXPECT_EQ(test, cookie, (u64)dto->user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, (u32)FLUSHED, (u32)dto->status);
	KUNIT_EXPECT_EQ(test, 0U, r->b->fake->nr_lists);
	expect_empty(r->b, evd);
}

/* A peer that has got rights in another life, and has ended it. */
static void given_and_disconnected(struct rig *r, DAT_EVD_HANDLE requests, u64 cookie)
{
	struct bench *b = r->b;

	rig_connect(r);
	KUNIT_ASSERT_EQ(b->test, DONE, give(r, cookie));
	carry_out(r, 2);
	expect_dto(b, requests, cookie, DTO_OK);
	fake_peer_disconnected(bench_id(b, r->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * mt:M40, D45, R5: one that was flushed, in an EVD where nobody looks, can be dequeued when
 * the end of the connection can, when a reset returns, and when a free does.
 */
static void invalidate_before_the_end(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE requests = bench_evd(b, 16, BENCH_EVD_FLAGS);
	struct rig *r = rig_new_on(test, NULL, requests);

	KUNIT_ASSERT_EQ(test, DONE, give(r, 1));
	carry_out(r, 2);
	expect_dto(b, requests, 1, DTO_OK);
	/* The peer has closed, and the CM has not told yet. */
	b->fake->dev->iwarp = true;
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
	fake_peer_disconnected(bench_id(b, r->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_taken_away(r, requests, 2);
	b->fake->dev->iwarp = false;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r->ep));

	given_and_disconnected(r, requests, 3);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 4));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r->ep));
	expect_taken_away(r, requests, 4);

	given_and_disconnected(r, requests, 5);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 6));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, r->ep));
	expect_taken_away(r, requests, 6);
	r->ep = bench_ep(b, b->evd);
	rig_end(r);
}

/* E60: nobody has looked when its EVD goes; F7: nor its endpoint waits for it. */
static void evd_goes(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE mine = b->evd, evd = bench_evd(b, 16, BENCH_EVD_FLAGS);
	struct kdapl_object *lmr;
	struct kdapl_rmr *rmr;
	struct rig *r;

	b->evd = evd;
	r = rig_new(test, NULL);
	give_whole(r);
	fake_peer_disconnected(bench_id(b, r->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	lmr = kdapl_object_find(&b->space, r->lmr, KDAPL_LMR);
	KUNIT_ASSERT_NOT_NULL(test, lmr);
	rmr = kdapl_lmr_of(lmr)->rmr;
	kdapl_object_put(lmr);
	/* The work item that takes the memory away does not come to it yet. */
	mutex_lock(&rmr->window_lock);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 2));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(r));
	mutex_unlock(&rmr->window_lock);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, r->ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, evd));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(r));
	b->evd = mine;
}

/* What is outstanding when something else goes */
enum outstanding { REGISTRATION, NOTHING, INVALIDATION, FLUSHED_INVALIDATION, OUTSTANDINGS };

static void begin(struct rig *r, enum outstanding what)
{
	struct bench *b = r->b;

	if (what == REGISTRATION) {
		KUNIT_EXPECT_EQ(b->test, DONE, give(r, 1));
		return;
	}
	give_whole(r);
	if (what == FLUSHED_INVALIDATION) {
		fake_peer_disconnected(bench_id(b, r->ep));
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	if (what != NOTHING)
		KUNIT_EXPECT_EQ(b->test, DONE, take(r, 2));
}

/* E71, A10: the device takes the memory along; each DTO completes, and all can go. */
static void device_goes(struct kunit *test, enum outstanding what)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;

	begin(r, what);
	kdapl_ia_device_gone(bench_ia(b));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_windows);
	if (what != NOTHING)
		expect_done(r, what == REGISTRATION ? 1 : 2, FLUSHED);
	if (what != FLUSHED_INVALIDATION)
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, DONE, take(r, 3));
	KUNIT_EXPECT_EQ(test, GONE, give(r, 4));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(r));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, r->ep));
}

static void device_goes_0(struct kunit *test) { device_goes(test, REGISTRATION); }
static void device_goes_1(struct kunit *test) { device_goes(test, NOTHING); }
static void device_goes_2(struct kunit *test) { device_goes(test, INVALIDATION); }
static void device_goes_3(struct kunit *test) { device_goes(test, FLUSHED_INVALIDATION); }

/* I15: the close asks nobody. */
static void adapter_closes(struct kunit *test, enum outstanding what)
{
	struct rig *r = rig_new(test, NULL);
	struct bench *b = r->b;
	struct census c;

	begin(r, what);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia,
						   DAT_CLOSE_ABRUPT_FLAG));
	/* A work item may have the last reference of an object, and drop it a moment later. */
	bench_settle(b);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0U, c.live);
	KUNIT_EXPECT_EQ(test, 0U, c.windows + c.regions + c.zones + c.ids);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
}

static void adapter_closes_0(struct kunit *test) { adapter_closes(test, REGISTRATION); }
static void adapter_closes_1(struct kunit *test) { adapter_closes(test, NOTHING); }
static void adapter_closes_2(struct kunit *test) { adapter_closes(test, INVALIDATION); }
static void adapter_closes_3(struct kunit *test) { adapter_closes(test, FLUSHED_INVALIDATION); }

/* F7, D12: the endpoint is freed with either outstanding, and both complete as flushed. */
static void endpoint_goes(struct kunit *test)
{
	struct bench *b = test->priv;
	enum outstanding what;
	struct fake_id *id;
	struct rig *r;

	for (what = REGISTRATION; what <= INVALIDATION; what += INVALIDATION) {
		r = rig_new(test, NULL);
		begin(r, what);
		id = bench_id(b, r->ep);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, r->ep));
		expect_done(r, what == REGISTRATION ? 1 : 2, FLUSHED);
		KUNIT_EXPECT_EQ(test, what == REGISTRATION, b->fake->nr_lists);
		fake_peer_disconnected(id);
		KUNIT_EXPECT_EQ(test, DONE, take_and_free(b, r->lmr));
		KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_lists);
		expect_empty(b, b->evd);
		expect_same(b, &r->before);
	}
}

static struct kunit_case kdapl_fmr_remote_cases[] = {
	KUNIT_CASE(turns),
	KUNIT_CASE(local_segments),
	KUNIT_CASE(iwarp_sink),
	KUNIT_CASE(bad_arguments),
	KUNIT_CASE(reserve),
	KUNIT_CASE(peer_takes),
	KUNIT_CASE(answer_is_faster),
	KUNIT_CASE(peer_takes_at_refused),
	KUNIT_CASE(late_invalidate),
	KUNIT_CASE(removal_begins),
	KUNIT_CASE(iwarp_no_key),
	KUNIT_CASE(unexpected),
	KUNIT_CASE(registration_fails),
	KUNIT_CASE(invalidate_flushed),
	KUNIT_CASE(invalidate_in_disconnected),
	KUNIT_CASE(hidden_and_told),
	KUNIT_CASE(invalidate_before_the_end),
	KUNIT_CASE(evd_goes),
	KUNIT_CASE(device_goes_0),
	KUNIT_CASE(device_goes_1),
	KUNIT_CASE(device_goes_2),
	KUNIT_CASE(device_goes_3),
	KUNIT_CASE(adapter_closes_0),
	KUNIT_CASE(adapter_closes_1),
	KUNIT_CASE(adapter_closes_2),
	KUNIT_CASE(adapter_closes_3),
	KUNIT_CASE(endpoint_goes),
	{}
};

static struct kunit_suite kdapl_fmr_remote_suite = {
	.name = "kdapl_fmr_remote",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_fmr_remote_cases,
};

kunit_test_suite(kdapl_fmr_remote_suite);
