// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_cq: the completion queues behind an EVD (A3, E57): how large they are
 * asked for, and what becomes of an EVD whose CQ cannot grow.
 */
#include "core/evd_fifo.h"
#include "stage.h"

#define NR_EPS	4

/*
 * Endpoints of 15 completions, which a CQ of 15 has room for.  In the order in which
 * they are made and connected they get CQs of 15, 15 and 31, the last two of them the
 * same.
 */
static const DAT_EP_ATTR small = {
	.max_recv_dtos = 7,
	.max_request_dtos = 8,
	.max_recv_iov = 1,
	.max_request_iov = 1,
};

/**
 * struct crowd - endpoints on an EVD, each connected before the next one is made
 * @dto: the EVD
 * @evd: the same, good while the handle is
 * @eps: attributes small
 */
struct crowd {
	DAT_EVD_HANDLE dto;
	struct kdapl_evd *evd;
	DAT_EP_HANDLE eps[NR_EPS];
};

static DAT_EP_HANDLE connected(struct bench *b, DAT_EVD_HANDLE dto,
			       const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, attr);

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	return ep;
}

static void crowd_init(struct bench *b, struct crowd *c, u32 nr_eps)
{
	u32 i;

	c->dto = bench_evd(b, 4, DAT_EVD_DTO_FLAG);
	c->evd = kdapl_evd_find(&b->space, c->dto);
	KUNIT_ASSERT_NOT_NULL(b->test, c->evd);
	kdapl_evd_put(c->evd);
	for (i = 0; i < nr_eps; i++)
		c->eps[i] = connected(b, c->dto, &small);
}

static void crowd_free(struct bench *b, struct crowd *c)
{
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_evd_free(&b->space, c->dto));
	KUNIT_EXPECT_EQ(b->test, 0U, b->fake->nr_cqs);
}

static DAT_RETURN create(struct bench *b, DAT_EVD_HANDLE dto, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ep)
{
	return kdapl_ep_create(&b->space, b->ia, b->pz, dto, dto, b->evd, attr, ep);
}

static void one_send(struct bench *b, DAT_EP_HANDLE ep, DAT_EVD_HANDLE dto, u64 cookie)
{
	KUNIT_EXPECT_EQ(b->test, DONE, bench_send(b, ep, cookie, 0));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_dto(b, dto, cookie, DTO_OK);
}

static void free_ep(struct bench *b, DAT_EP_HANDLE ep)
{
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, ep));
}

/* ---- a device that cannot resize ------------------------------------------------ */

/* Drivers say so in two ways. */
static const int refusals[] = { -EOPNOTSUPP, -ENOSYS };

static void refusal_desc(const int *refusal, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "resize answers %d", *refusal);
}

KUNIT_ARRAY_PARAM(refusals, refusals, refusal_desc);

/* Posts all that the endpoints from @first on may have, and completes it; nobody takes it. */
static void fill(struct bench *b, struct crowd *c, u32 first)
{
	u32 i, n;

	for (n = 0; n < 8; n++) {
		for (i = first; i < NR_EPS; i++) {
			if (n < small.max_recv_dtos)
				KUNIT_EXPECT_EQ(b->test, DONE,
						bench_recv(b, c->eps[i], 100 * i + n));
			KUNIT_EXPECT_EQ(b->test, DONE,
					bench_send(b, c->eps[i], 100 * i + 50 + n, 0));
		}
	}
	for (n = 0; n < 8; n++) {
		for (i = first; i < NR_EPS; i++) {
			if (n < small.max_recv_dtos)
				fake_complete_recv(bench_qp(b, c->eps[i]), 0,
						   IB_WC_SUCCESS, 1, false);
			fake_complete_send(bench_qp(b, c->eps[i]), 0, IB_WC_SUCCESS);
		}
	}
}

/* All of fill() is there, that of each direction in order. */
static void expect_filled(struct bench *b, struct crowd *c)
{
	u64 next[NR_EPS][2] = {}, cookie;
	DAT_EVENT event;
	u32 i, n;

	for (n = 0; n < 15 * NR_EPS; n++) {
		KUNIT_ASSERT_EQ(b->test, (u32)DAT_DTO_COMPLETION_EVENT,
				bench_event(b, c->dto, &event));
		cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
		i = cookie / 100;
		KUNIT_ASSERT_LT(b->test, i, NR_EPS);
		KUNIT_EXPECT_PTR_EQ(b->test, c->eps[i],
				    event.event_data.dto_completion_event_data.ep_handle);
		KUNIT_EXPECT_EQ(b->test, next[i][cookie % 100 >= 50]++, cookie % 50);
	}
	expect_empty(b, c->dto);
}

/* E57, A3: each endpoint is attached as if the CQ had grown, and nothing overflows. */
static void others_beside_it(struct kunit *test)
{
	const int *refusal = test->param_value;
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = *refusal;
	crowd_init(b, &c, NR_EPS);
	KUNIT_EXPECT_EQ(test, 3U, b->fake->nr_cqs);
	KUNIT_EXPECT_EQ(test, 15U + 15U + 31U, c.evd->cq_size);
	/* It was asked once. */
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_CQ_RESIZE]);
	for (i = 0; i < NR_EPS; i++)
		KUNIT_EXPECT_PTR_EQ(test, bench_qp(b, c.eps[i])->send_cq,
				    bench_qp(b, c.eps[i])->recv_cq);
	KUNIT_EXPECT_PTR_EQ(test, bench_qp(b, c.eps[2])->send_cq,
			    bench_qp(b, c.eps[3])->send_cq);
	for (i = 0; i < 3; i++) {
		fill(b, &c, 0);
		expect_filled(b, &c);
	}
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* E43: both directions complete on one CQ, though one has room for the first alone. */
static void directions_stay_together(struct kunit *test)
{
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = 12,
		.max_request_dtos = 12,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 3);
	c.eps[3] = connected(b, c.dto, &attr);
	KUNIT_EXPECT_PTR_EQ(test, bench_qp(b, c.eps[3])->send_cq,
			    bench_qp(b, c.eps[3])->recv_cq);
	KUNIT_EXPECT_EQ(test, 15U + 15U + 31U + 63U, c.evd->cq_size);
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* A5: a drain and a flush find what is in their own CQ. */
static void each_ends_by_itself(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, NR_EPS);
	for (i = 0; i < NR_EPS; i++) {
		KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, c.eps[i], 1));
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[i], 2, 0));
		KUNIT_EXPECT_EQ(test, DONE, i % 2 ? bench_graceful(b, c.eps[i]) :
						    bench_abrupt(b, c.eps[i]));
		if (i % 2) {
			expect_empty(b, b->evd);
			fake_complete_send(bench_qp(b, c.eps[i]), 0, IB_WC_SUCCESS);
		}
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_dto(b, c.dto, 2, i % 2 ? DTO_OK : FLUSHED);
		expect_dto(b, c.dto, 1, FLUSHED);
	}
	expect_empty(b, c.dto);
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* E57: a CQ that nobody has a share of is given back, but the last one stays. */
static void given_back(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, NR_EPS);
	KUNIT_EXPECT_PTR_EQ(test, NULL, c.evd->only_cq);
	free_ep(b, c.eps[3]);
	KUNIT_EXPECT_EQ(test, 3U, b->fake->nr_cqs);
	free_ep(b, c.eps[0]);
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_cqs);
	one_send(b, c.eps[2], c.dto, 1);
	free_ep(b, c.eps[2]);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_cqs);
	KUNIT_EXPECT_PTR_EQ(test, &bench_cq(c.evd)->ib, c.evd->only_cq);
	KUNIT_EXPECT_EQ(test, 15U, c.evd->cq_size);
	one_send(b, c.eps[1], c.dto, 2);

	c.eps[0] = connected(b, c.dto, &small);
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_cqs);
	one_send(b, c.eps[0], c.dto, 3);
	one_send(b, c.eps[1], c.dto, 4);
	free_ep(b, c.eps[0]);
	free_ep(b, c.eps[1]);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_cqs);
	crowd_free(b, &c);
}

/* E53, E54: resizing the EVD has nothing to do with them, but sees what they hold. */
static void evd_is_resized(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[i], i, 0));
		fake_complete_send(bench_qp(b, c.eps[i]), 0, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, IS(EVD_IN_USE), kdapl_evd_resize(&b->space, c.dto, 1));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_resize(&b->space, c.dto, 100));
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_cqs);
	/* a resize that looked has put them into the FIFO, a CQ after the other */
	KUNIT_EXPECT_EQ(test, 2U, c.evd->nr_fifo);
	for (i = 0; i < 2; i++)
		expect_event(b, c.dto, DAT_DTO_COMPLETION_EVENT);
	/* the next one is made with that in mind */
	c.eps[2] = connected(b, c.dto, &small);
	KUNIT_EXPECT_EQ(test, 15U + 15U + 127U, c.evd->cq_size);
	for (i = 0; i < 3; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* A10, E71: the device takes all of them along; the endpoints can still be freed. */
static void device_goes_with_all(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, NR_EPS);
	for (i = 0; i < NR_EPS; i++)
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[i], i, 0));
	kdapl_ia_device_gone(bench_ia(b));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);
	for (i = 0; i < NR_EPS; i++)
		expect_event(b, c.dto, DAT_DTO_COMPLETION_EVENT);
	expect_empty(b, c.dto);
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* E111: each of them tells of the next completion, again and again. */
static void each_is_armed(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;
	struct taker *t;
	u32 i, n = 0;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, NR_EPS);
	t = taker_start(b, c.evd);
	for (i = 0; i < 2 * NR_EPS; i++) {
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[i % NR_EPS], n++, 0));
		fake_complete_send(bench_qp(b, c.eps[i % NR_EPS]), 0, IB_WC_SUCCESS);
		expect_taken(b, t, n);
	}
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(c.evd, NULL, NULL, true));
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* D52: nobody looks at the EVD, and a connection on its second CQ breaks. */
static void broken_behind_the_second(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 2);
	for (i = 2; i--;) {
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[i], 1, 0));
		fake_complete_send(bench_qp(b, c.eps[i]), 0, IB_WC_RETRY_EXC_ERR);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
		expect_dto(b, c.dto, 1, DAT_DTO_ERR_TRANSPORT);
	}
	for (i = 0; i < 2; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* A CQ with more than a batch does not keep the others waiting. */
static void each_has_its_turn(struct kunit *test)
{
	const DAT_EP_ATTR large = {
		.max_recv_dtos = 1,
		.max_request_dtos = 60,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct bench *b = test->priv;
	u64 i, busy, quiet, cookie = 0;
	DAT_EVENT event;
	struct crowd c;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 0);
	for (i = 0; i < 2; i++)
		c.eps[i] = connected(b, c.dto, &large);
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_cqs);
	for (busy = 0; busy < 2; busy++) {
		quiet = !busy;
		b->fake->hold_wcs = true;
		for (i = 0; i < 60; i++) {
			KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[busy], 1, 0));
			fake_complete_send(bench_qp(b, c.eps[busy]), 0, IB_WC_SUCCESS);
		}
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, c.eps[quiet], 2, 0));
		fake_complete_send(bench_qp(b, c.eps[quiet]), 0, IB_WC_SUCCESS);
		b->fake->hold_wcs = false;
		for (i = 0; i < 61; i++) {
			KUNIT_ASSERT_NE(test, 0U, bench_event(b, c.dto, &event));
			cookie = event.event_data.dto_completion_event_data
				 .user_cookie.as_64;
			if (cookie == 2)
				break;
		}
		KUNIT_EXPECT_EQ(test, 2ULL, cookie);
		KUNIT_EXPECT_LE(test, i, (u64)2 * KDAPL_WC_BATCH);
		for (i++; i < 61; i++)
			expect_dto(b, c.dto, 1, DTO_OK);
		expect_empty(b, c.dto);
	}
	for (i = 0; i < 2; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* CQs that get as many completions as are taken; what these tell of is long over. */
struct refill {
	struct fake_device *fake;
	struct fake_cq *cqs[2];
	struct ib_wc stale;
};

static void refill(void *arg)
{
	struct refill *r = arg;
	struct fake_cq *cq;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&r->fake->lock, flags);
	for (i = 0; i < ARRAY_SIZE(r->cqs); i++)
		for (cq = r->cqs[i]; cq->nr < cq->size; cq->nr++)
			cq->wc[(cq->head + cq->nr) % FAKE_MAX_CQE] = r->stale;
	/* A hook is called once. */
	r->fake->hook = refill;
	spin_unlock_irqrestore(&r->fake->lock, flags);
}

/* A5: what was in a CQ at a pull is taken, however much comes into the others meanwhile. */
static void pulled_beside_busy_ones(struct kunit *test)
{
	struct bench *b = test->priv;
	struct refill r = { .fake = b->fake };
	struct fake_cq *quiet;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, NR_EPS);
	for (i = 0; i < 2; i++) {
		one_send(b, c.eps[i], c.dto, 1);
		r.cqs[i] = bench_qp(b, c.eps[i])->send_cq;
	}
	r.stale = (struct ib_wc) {
		.wr_id = (uintptr_t)bench_ep_of(b, c.eps[0])->req.ring,
		.status = IB_WC_SUCCESS,
	};
	/* Nobody but this thread takes them. */
	bench_no_watch(c.evd);
	kdapl_evd_await_run(c.evd);
	b->fake->hold_wcs = true;
	fill(b, &c, 2);
	quiet = bench_qp(b, c.eps[2])->send_cq;
	KUNIT_EXPECT_EQ(test, 30U, quiet->nr);
	b->fake->hold_wcs = false;
	fake_hook(b->fake, FAKE_CQ_POLL, refill, &r);
	KUNIT_EXPECT_TRUE(test, kdapl_evd_pull(c.evd));
	KUNIT_EXPECT_EQ(test, 0U, quiet->nr);
	fake_hook(b->fake, FAKE_NR_OPS, NULL, NULL);
	for (i = 0; i < 30; i++)
		expect_event(b, c.dto, DAT_DTO_COMPLETION_EVENT);
	expect_empty(b, c.dto);
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

/* E57: as long as no queue pair uses it, a larger one takes its place. */
static void larger_in_its_place(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 0);
	for (i = 0; i < NR_EPS; i++)
		c.eps[i] = bench_ep_attr(b, c.dto, c.dto, b->evd, &small);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_cqs);
	KUNIT_EXPECT_EQ(test, 63U, c.evd->cq_size);
	for (i = 0; i < NR_EPS; i++) {
		bench_connect(b, c.eps[i]);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	fill(b, &c, 0);
	expect_filled(b, &c);
	for (i = 0; i < NR_EPS; i++)
		free_ep(b, c.eps[i]);
	crowd_free(b, &c);
}

static DAT_RETURN modify(struct bench *b, DAT_EP_HANDLE ep, DAT_COUNT recv,
			 DAT_COUNT request)
{
	DAT_EP_PARAM param = {};

	param.ep_attr.max_recv_dtos = recv;
	param.ep_attr.max_request_dtos = request;
	return kdapl_ep_modify(&b->space, ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

/* M4, A3: what an endpoint has is not counted against what it asks for instead. */
static void endpoint_is_modified(struct kunit *test)
{
	struct bench *b = test->priv;
	struct crowd c;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 0);
	c.eps[0] = bench_ep_attr(b, c.dto, c.dto, b->evd, &small);
	c.eps[1] = bench_ep_attr(b, c.dto, c.dto, b->evd, &small);
	bench_connect(b, c.eps[0]);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, 31U, c.evd->cq_size);
	KUNIT_EXPECT_EQ(test, DONE, modify(b, c.eps[1], 8, 8));
	KUNIT_EXPECT_EQ(test, 31U, c.evd->cq_size);
	/* it moves; who is connected stays */
	KUNIT_EXPECT_EQ(test, DONE, modify(b, c.eps[1], 8, 9));
	KUNIT_EXPECT_EQ(test, 31U + 31U, c.evd->cq_size);
	bench_connect(b, c.eps[1]);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_PTR_NE(test, bench_qp(b, c.eps[0])->send_cq,
			    bench_qp(b, c.eps[1])->send_cq);
	one_send(b, c.eps[0], c.dto, 1);
	one_send(b, c.eps[1], c.dto, 2);
	free_ep(b, c.eps[1]);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_cqs);
	one_send(b, c.eps[0], c.dto, 3);
	free_ep(b, c.eps[0]);
	crowd_free(b, &c);
}

/* ---- what a device refuses --------------------------------------------------------- */

/* E.6, mt:T36: the second one cannot be had: nothing changes. */
static void second_is_refused(struct kunit *test)
{
	static const int errors[] = { -ENOMEM, -EINVAL, -EOPNOTSUPP, -ENOSPC };
	struct bench *b = test->priv;
	struct census before;
	DAT_EP_HANDLE more;
	struct crowd c;
	u32 i;

	b->fake->no_resize = -EOPNOTSUPP;
	crowd_init(b, &c, 1);
	before = bench_census(b);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake_fail(b->fake, FAKE_CQ_CREATE, 1, errors[i]);
		KUNIT_EXPECT_EQ(test, errors[i] == -ENOSPC ? IR(TEVD) : IR(MEMORY),
				create(b, c.dto, &small, &more));
		KUNIT_EXPECT_FALSE(test, fake_fails(b->fake, FAKE_CQ_CREATE));
		expect_same(b, &before);
		KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_cqs);
		KUNIT_EXPECT_EQ(test, 15U, c.evd->cq_size);
		one_send(b, c.eps[0], c.dto, i);
	}
	free_ep(b, c.eps[0]);
	crowd_free(b, &c);
}

/* A3: a device that gives less than was asked for is not relied upon. */
static void less_than_asked(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before;
	DAT_EP_HANDLE more;
	struct crowd c;

	crowd_init(b, &c, 0);
	b->fake->cq_short = 1;
	before = bench_census(b);
	KUNIT_EXPECT_EQ(test, IR(TEVD), create(b, c.dto, &small, &more));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);

	b->fake->cq_short = 0;
	c.eps[0] = connected(b, c.dto, &small);
	b->fake->cq_short = 2;
	before = bench_census(b);
	/* a resize, and then a second one */
	KUNIT_EXPECT_EQ(test, IR(TEVD), create(b, c.dto, &small, &more));
	expect_same(b, &before);
	b->fake->no_resize = -EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, IR(TEVD), create(b, c.dto, &small, &more));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_cqs);
	one_send(b, c.eps[0], c.dto, 1);
	free_ep(b, c.eps[0]);
	crowd_free(b, &c);
}

/* ---- how large ------------------------------------------------------------------------ */

/* A driver that adds one and rounds up does not double what is asked for. */
static void sizes_asked_for(struct kunit *test)
{
	static const struct {
		DAT_COUNT qlen, recv, request;
		u32 size;
	} ways[] = {
		{ 1, 0, 0, 1 },
		{ 1, 1, 1, 3 },
		{ 4, 7, 8, 15 },
		{ 4, 8, 8, 31 },
		{ 64, 8, 8, 63 },
		{ 65, 8, 8, 127 },
		{ FAKE_MAX_CQE, 8, 8, FAKE_MAX_CQE - 1 },
	};
	struct bench *b = test->priv;
	DAT_EP_ATTR attr = small;
	DAT_EVD_HANDLE dto;
	DAT_EP_HANDLE ep;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct kdapl_evd *evd;

		dto = bench_evd(b, ways[i].qlen, DAT_EVD_DTO_FLAG);
		attr.max_recv_dtos = ways[i].recv;
		attr.max_request_dtos = ways[i].request;
		ep = bench_ep_attr(b, dto, dto, b->evd, &attr);
		evd = kdapl_evd_find(&b->space, dto);
		KUNIT_ASSERT_NOT_NULL(test, evd);
		KUNIT_EXPECT_EQ(test, ways[i].size, bench_cq(evd)->size);
		kdapl_evd_put(evd);
		free_ep(b, ep);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, dto));
	}
}

/* E57: as many endpoints as eight CQs of the device have room for, and no more. */
static void to_the_limit(struct bench *b, u32 max_cqs)
{
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = FAKE_DEPTH,
		.max_request_dtos = FAKE_DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_EP_HANDLE eps[8 * FAKE_MAX_CQE / (2 * FAKE_DEPTH)], more;
	struct crowd c;
	u32 i;

	crowd_init(b, &c, 0);
	for (i = 0; i < ARRAY_SIZE(eps); i++)
		eps[i] = connected(b, c.dto, &attr);
	KUNIT_EXPECT_EQ(b->test, IR(TEVD), create(b, c.dto, &small, &more));
	KUNIT_EXPECT_LE(b->test, b->fake->nr_cqs, max_cqs);
	free_ep(b, eps[0]);
	KUNIT_EXPECT_EQ(b->test, DONE, create(b, c.dto, &small, &eps[0]));
	for (i = 0; i < ARRAY_SIZE(eps); i++)
		free_ep(b, eps[i]);
	crowd_free(b, &c);
}

static void limit_of_the_device(struct kunit *test)
{
	struct bench *b = test->priv;

	to_the_limit(b, 8);
	b->fake->no_resize = -EOPNOTSUPP;
	to_the_limit(b, 11);
}

static struct kunit_case kdapl_cq_cases[] = {
	KUNIT_CASE_PARAM(others_beside_it, refusals_gen_params),
	KUNIT_CASE(directions_stay_together),
	KUNIT_CASE(each_ends_by_itself),
	KUNIT_CASE(given_back),
	KUNIT_CASE(evd_is_resized),
	KUNIT_CASE(device_goes_with_all),
	KUNIT_CASE(each_is_armed),
	KUNIT_CASE(broken_behind_the_second),
	KUNIT_CASE(each_has_its_turn),
	KUNIT_CASE(pulled_beside_busy_ones),
	KUNIT_CASE(larger_in_its_place),
	KUNIT_CASE(endpoint_is_modified),
	KUNIT_CASE(second_is_refused),
	KUNIT_CASE(less_than_asked),
	KUNIT_CASE(sizes_asked_for),
	KUNIT_CASE(limit_of_the_device),
	{}
};

static struct kunit_suite kdapl_cq_suite = {
	.name = "kdapl_cq",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_cq_cases,
};

kunit_test_suite(kdapl_cq_suite);
