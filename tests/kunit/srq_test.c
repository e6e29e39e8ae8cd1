// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_srq: shared receive queues on a device that completes in any order, late or
 * not at all: each receive completes once, at an endpoint that may have taken it.
 */
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include "stage.h"

struct pool {
	struct bench *b;
	DAT_SRQ_HANDLE handle;
	struct kdapl_srq *srq;
	struct fake_srq *fake;
};

static DAT_RETURN post(struct pool *p, u64 cookie)
{
	const DAT_LMR_TRIPLET iov = {
		.lmr_context = p->b->lmr_context,
		.virtual_address = (uintptr_t)p->b->memory,
		.segment_length = 1,
	};
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RECV,
		.segments = 1,
		.iov = &iov,
		.cookie.as_64 = cookie,
	};

	return kdapl_srq_post_recv(&p->b->space, p->handle, &dto);
}

/* An SRQ of 8 receives with @n posted, whose cookies are 1 .. @n. */
static struct pool pool_new(struct kunit *test, u64 n)
{
	const DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct pool p = { .b = test->priv };
	u64 i;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_srq_create(&p.b->space, p.b->ia, p.b->pz, &attr,
						     &p.handle));
	p.srq = kdapl_srq_find(&p.b->space, p.handle);
	KUNIT_ASSERT_NOT_NULL(test, p.srq);
	p.fake = container_of(p.srq->rq.ib, struct fake_srq, ib);
	kdapl_object_put(&p.srq->obj);
	for (i = 1; i <= n; i++)
		KUNIT_EXPECT_EQ(test, DONE, post(&p, i));
	return p;
}

/* An endpoint on it, with all events on @evd. */
static DAT_EP_HANDLE pool_new_ep(struct pool *p, DAT_EVD_HANDLE evd)
{
	const DAT_EP_ATTR attr = { .max_recv_dtos = 8, .max_request_dtos = 8,
				   .max_request_iov = 1 };
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(p->b->test, DONE,
			kdapl_ep_create_with_srq(&p->b->space, p->b->ia, p->b->pz, evd, evd,
						 evd, p->handle, &attr, &ep));
	return ep;
}

/* The same, connected. */
static DAT_EP_HANDLE pool_ep(struct pool *p, DAT_EVD_HANDLE evd)
{
	DAT_EP_HANDLE ep = pool_new_ep(p, evd);

	bench_connect(p->b, ep);
	expect_event(p->b, evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	return ep;
}

static u32 outstanding(struct pool *p)
{
	DAT_SRQ_PARAM param = {};

	KUNIT_EXPECT_EQ(p->b->test, DONE, kdapl_srq_query(&p->b->space, p->handle,
							  DAT_SRQ_FIELD_ALL, &param));
	return param.outstanding_dto_count;
}

/* The next event is that receive of @ep. */
static void expect_recv(struct pool *p, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie,
			DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event = {};

	KUNIT_EXPECT_EQ(p->b->test, (u32)DAT_DTO_COMPLETION_EVENT,
			bench_event(p->b, evd, &event));
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_PTR_EQ(p->b->test, ep, dto->ep_handle);
	KUNIT_EXPECT_EQ(p->b->test, cookie, dto->user_cookie.as_64);
	KUNIT_EXPECT_EQ(p->b->test, status, dto->status);
}

static void end(struct pool *p, DAT_EP_HANDLE ep)
{
	KUNIT_EXPECT_EQ(p->b->test, DONE,
			kdapl_ep_disconnect(&p->b->space, ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void free_ep(struct pool *p, DAT_EP_HANDLE ep)
{
	KUNIT_EXPECT_EQ(p->b->test, DONE, kdapl_ep_free(&p->b->space, ep));
}

/* mt:M53, mt:M54: taken in order, completed in any, at the endpoint that has taken it. */
static void each_to_its_own(struct kunit *test)
{
	struct pool p = pool_new(test, 3);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE one = pool_ep(&p, evd), two = pool_ep(&p, evd);
	struct fake_wr *wr = kunit_kcalloc(test, 3, sizeof(*wr), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, wr);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, fake_srq_take(p.fake, &wr[i]));
	fake_complete_srq(bench_qp(p.b, two), &wr[2], IB_WC_SUCCESS, 1);
	fake_complete_srq(bench_qp(p.b, one), &wr[0], IB_WC_SUCCESS, 1);
	fake_complete_srq(bench_qp(p.b, two), &wr[1], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, two, 3, DTO_OK);
	expect_recv(&p, evd, one, 1, DTO_OK);
	KUNIT_EXPECT_EQ(test, 1U, outstanding(&p));
	expect_recv(&p, evd, two, 2, DTO_OK);
	KUNIT_EXPECT_EQ(test, 0U, outstanding(&p));
	expect_empty(p.b, evd);
	free_ep(&p, one);
	free_ep(&p, two);
}

/* A slot is taken again as soon as its event was dequeued, whatever became of the others. */
static void slots_in_any_order(struct kunit *test)
{
	struct pool p = pool_new(test, 8);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE ep = pool_ep(&p, evd);
	struct fake_wr *wr = kunit_kcalloc(test, 2, sizeof(*wr), GFP_KERNEL);
	u64 i;

	KUNIT_ASSERT_NOT_NULL(test, wr);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), post(&p, 9));
	fake_srq_take(p.fake, &wr[0]);
	for (i = 2; i < 40; i++) {
		fake_srq_take(p.fake, &wr[1]);
		fake_complete_srq(bench_qp(p.b, ep), &wr[1], IB_WC_SUCCESS, 1);
		expect_recv(&p, evd, ep, i, DTO_OK);
		KUNIT_EXPECT_EQ(test, DONE, post(&p, i + 7));
		KUNIT_EXPECT_EQ(test, IR(MEMORY), post(&p, 99));
	}
	fake_complete_srq(bench_qp(p.b, ep), &wr[0], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, ep, 1, DTO_OK);
	free_ep(&p, ep);
}

/* The device refuses one, which changes nothing. */
static void refused(struct kunit *test)
{
	struct pool p = pool_new(test, 1);

	fake_fail(p.b->fake, FAKE_POST_SRQ_RECV, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), post(&p, 2));
	KUNIT_EXPECT_EQ(test, 1U, outstanding(&p));
	KUNIT_EXPECT_EQ(test, DONE, post(&p, 2));
	KUNIT_EXPECT_EQ(test, 2U, p.fake->recv.nr);
}

struct late {
	struct fake_qp *qp;
	struct fake_wr wr;
};

static void complete_late(void *arg)
{
	struct late *late = arg;

	fake_complete_srq(late->qp, &late->wr, IB_WC_SUCCESS, 1);
}

/*
 * D48: what the device completes while the queue pair is being destroyed comes before the
 * event that tells of the end.
 */
static void completed_late(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE ep = pool_ep(&p, evd);
	struct late *late = kunit_kzalloc(test, sizeof(*late), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, late);
	late->qp = bench_qp(p.b, ep);
	fake_srq_take(p.fake, &late->wr);
	fake_hook(p.b->fake, FAKE_QP_DESTROY, complete_late, late);
	end(&p, ep);
	expect_recv(&p, evd, ep, 1, DTO_OK);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(p.b, evd);
	KUNIT_EXPECT_EQ(test, 1U, outstanding(&p));
	free_ep(&p, ep);
}

struct cq_user {
	struct late late;
	struct fake_device *fake;
	struct kdapl_evd_cq *cq;
	int nr_qps;
};

static void look_who_uses(void *arg)
{
	struct cq_user *user = arg;

	user->nr_qps = atomic_read(&user->cq->nr_qps);
}

static void complete_and_look(void *arg)
{
	struct cq_user *user = arg;

	complete_late(&user->late);
	fake_hook(user->fake, FAKE_CQ_POLL, look_who_uses, user);
}

/*
 * D48: a CQ that a queue pair has left with a completion of the SRQ in it is not replaced: it
 * is in use until that was taken.
 */
static void cq_kept_till_taken(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE ep = pool_ep(&p, evd);
	struct cq_user *user = kunit_kzalloc(test, sizeof(*user), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, user);
	user->fake = p.b->fake;
	user->cq = bench_ep_of(p.b, ep)->use.shares[KDAPL_CQ_SHARE_RECV].cq;
	user->late.qp = bench_qp(p.b, ep);
	fake_srq_take(p.fake, &user->late.wr);
	fake_hook(p.b->fake, FAKE_QP_DESTROY, complete_and_look, user);
	end(&p, ep);
	expect_recv(&p, evd, ep, 1, DTO_OK);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* The runner may take the completion while the queue pair is being destroyed: two. */
	KUNIT_EXPECT_LE(test, 1, user->nr_qps);
	free_ep(&p, ep);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&user->cq->nr_qps));
}

/* D48: a receive that the device has forgotten is flushed when nobody can have it any more. */
static void forgotten(struct kunit *test)
{
	struct pool p = pool_new(test, 4);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE one = pool_ep(&p, evd), two = pool_ep(&p, evd);
	struct fake_wr *wr = kunit_kcalloc(test, 2, sizeof(*wr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wr);
	fake_srq_take(p.fake, &wr[0]);	/* by one */
	fake_srq_take(p.fake, &wr[1]);
	fake_complete_srq(bench_qp(p.b, two), &wr[1], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, two, 2, DTO_OK);
	KUNIT_EXPECT_EQ(test, 3U, outstanding(&p));
	end(&p, one);
	expect_recv(&p, evd, one, 1, DAT_DTO_ERR_FLUSHED);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 2U, outstanding(&p));
	/* The others were not taken, so they stay (mt:M56). */
	end(&p, two);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(p.b, evd);
	KUNIT_EXPECT_EQ(test, 2U, outstanding(&p));
	free_ep(&p, one);
	free_ep(&p, two);
}

/* As long as another one may have it, it is not flushed. */
static void not_forgotten(struct kunit *test)
{
	struct pool p = pool_new(test, 4);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE one = pool_ep(&p, evd), two = pool_ep(&p, evd), three = pool_ep(&p, evd);
	struct fake_wr *wr = kunit_kcalloc(test, 2, sizeof(*wr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wr);
	fake_srq_take(p.fake, &wr[0]);	/* by three, which is slow */
	fake_srq_take(p.fake, &wr[1]);
	fake_complete_srq(bench_qp(p.b, two), &wr[1], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, two, 2, DTO_OK);
	end(&p, one);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	fake_complete_srq(bench_qp(p.b, three), &wr[0], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, three, 1, DTO_OK);
	free_ep(&p, one);
	free_ep(&p, two);
	free_ep(&p, three);
}

/*
 * A clock that ticks by a work item on the processor that it was started on, as long as
 * that processor takes interrupts and gives others their turn.
 */
struct clock {
	struct delayed_work work;
	u32 ticks;
};

static void tick(struct work_struct *work)
{
	struct clock *clock = container_of(to_delayed_work(work), struct clock, work);

	WRITE_ONCE(clock->ticks, clock->ticks + 1);
	schedule_delayed_work_on(raw_smp_processor_id(), &clock->work, 1);
}

#define FIRST_KEY	1000
#define MANY		(4 * SZ_1M)
#define ENOUGH_TICKS	5

/*
 * D48: however many connections an SRQ has, the end of one keeps the processor from nobody.
 * A connection that is slow to complete stands for all of them.
 */
static void many_connections(struct kunit *test)
{
	struct pool p = pool_new(test, 4);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE slow = pool_ep(&p, evd), fast = pool_ep(&p, evd);
	struct kdapl_conn *conn = bench_conn(p.b, slow);
	struct fake_wr *wr = kunit_kcalloc(test, 2, sizeof(*wr), GFP_KERNEL);
	struct clock *clock = kunit_kzalloc(test, sizeof(*clock), GFP_KERNEL);
	u32 before, ticks = 0, i, n = 0, nr = SZ_64K;

	KUNIT_ASSERT_TRUE(test, wr && clock);
	fake_srq_take(p.fake, &wr[0]);	/* by the slow one */
	fake_srq_take(p.fake, &wr[1]);
	fake_complete_srq(bench_qp(p.b, fast), &wr[1], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, fast, 2, DTO_OK);

	migrate_disable();
	INIT_DELAYED_WORK(&clock->work, tick);
	schedule_delayed_work_on(raw_smp_processor_id(), &clock->work, 1);
	for (; ticks < ENOUGH_TICKS && nr <= MANY; nr *= 2) {
		for (; n < nr && !xa_err(xa_store(&p.srq->qps, FIRST_KEY + n, conn, GFP_KERNEL));
		     n++)
			cond_resched();
		before = READ_ONCE(clock->ticks);
		kdapl_srq_reclaim(p.srq, bench_ep_of(p.b, fast));
		ticks = READ_ONCE(clock->ticks) - before;
	}
	cancel_delayed_work_sync(&clock->work);
	migrate_enable();
	KUNIT_EXPECT_GE_MSG(test, ticks, ENOUGH_TICKS, "with %u connections", n);
	for (i = 0; i < n; i++)
		xa_erase(&p.srq->qps, FIRST_KEY + i);

	fake_complete_srq(bench_qp(p.b, slow), &wr[0], IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, slow, 1, DTO_OK);
	end(&p, slow);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	free_ep(&p, slow);
	free_ep(&p, fast);
}

/* Where the device tells that a queue pair takes no more, that is waited for. */
static void last_one_told(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	DAT_EVD_HANDLE evd = p.b->evd;
	u32 errors = p.b->fake->calls[FAKE_QP_ERROR];
	struct fake_wr *wr = kunit_kzalloc(test, sizeof(*wr), GFP_KERNEL);
	struct fake_qp *qp;
	DAT_EP_HANDLE ep;

	KUNIT_ASSERT_NOT_NULL(test, wr);
	p.b->fake->dev->srq_tells_last = true;
	ep = pool_ep(&p, evd);
	qp = bench_qp(p.b, ep);
	p.b->fake->hold_flush = true;	/* and with it the limit of a flush */
	end(&p, ep);
	KUNIT_EXPECT_TRUE(test, fake_wait_calls(p.b->fake, FAKE_QP_ERROR, errors + 1));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING, bench_state(p.b, ep));
	fake_srq_take(p.fake, wr);
	fake_complete_srq(qp, wr, IB_WC_WR_FLUSH_ERR, 0);
	expect_recv(&p, evd, ep, 1, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING, bench_state(p.b, ep));
	fake_queue_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	free_ep(&p, ep);
}

/* RULING 69: who was connected tells that he takes no more, if the adapter was asked to. */
static void asked_to_tell(struct kunit *test)
{
	struct pool p = pool_new(test, 1);
	DAT_EP_HANDLE ep = pool_ep(&p, p.b->evd);

	end(&p, ep);
	expect_event(p.b, p.b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	free_ep(&p, ep);
	expect_empty(p.b, p.b->async);

	KUNIT_EXPECT_EQ(test, IH(IA), kdapl_ia_tell_last(&p.b->space, p.b->evd));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_tell_last(&p.b->space, p.b->ia));
	ep = pool_ep(&p, p.b->evd);
	end(&p, ep);
	expect_event(p.b, p.b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	bench_settle(p.b);
	expect_async(p.b, DAT_ASYNC_ERROR_EP_BROKEN, ep, DAT_EP_OTHER_ERROR);
	free_ep(&p, ep);

	ep = pool_new_ep(&p, p.b->evd);
	fake_input(bench_attempt(p.b, ep), KDAPL_EP_IN_PEER_REJECT);
	expect_event(p.b, p.b->evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	bench_settle(p.b);
	expect_empty(p.b, p.b->async);
	free_ep(&p, ep);
}

/* A queue pair that never received has nothing to tell, and is not asked. */
static void rejected(struct kunit *test)
{
	struct pool p = pool_new(test, 1);
	u32 errors = p.b->fake->calls[FAKE_QP_ERROR];
	DAT_EP_HANDLE ep = pool_new_ep(&p, p.b->evd);

	p.b->fake->dev->srq_tells_last = true;
	fake_input(bench_attempt(p.b, ep), KDAPL_EP_IN_PEER_REJECT);
	expect_event(p.b, p.b->evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	KUNIT_EXPECT_EQ(test, errors, p.b->fake->calls[FAKE_QP_ERROR]);
	KUNIT_EXPECT_EQ(test, 1U, outstanding(&p));
	free_ep(&p, ep);
}

static void receive_on_the_first(void *arg)
{
	struct pool *p = arg;
	struct fake_qp *qp = list_first_entry(&p->b->fake->qps, struct fake_qp, entry);
	struct fake_wr *wr = kunit_kzalloc(p->b->test, sizeof(*wr), GFP_KERNEL);

	if (wr && fake_srq_take(p->fake, wr))
		fake_complete_srq(qp, wr, IB_WC_SUCCESS, 1);
	/* It is looked at here and now. */
	expect_empty(p->b, p->b->evd);
}

/*
 * A7, E45: a peer that has guessed the number of our queue pair sends before we have
 * accepted.  The endpoint is known by then: the message confirms the connection.  Or its
 * receive is flushed, if the queue pair never gets as far as to send (P57, D31).
 */
static void received_before_accepted(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	u32 i;

	bench_psp(p.b, 7300);
	for (i = 1; i <= 2; i++) {
		ep = pool_new_ep(&p, evd);
		KUNIT_ASSERT_EQ(test, 0, fake_request(p.b->fake, 7300, "", 0, NULL));
		cr = bench_cr(p.b, evd);
		fake_hook(p.b->fake, FAKE_QP_RTS, receive_on_the_first, &p);
		if (i == 2)
			fake_fail(p.b->fake, FAKE_QP_RTS, 1, -EINVAL);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_accept(&p.b->space, cr, ep, 0, NULL));
		if (i == 1)
			expect_event(p.b, evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_recv(&p, evd, ep, i, i == 1 ? DTO_OK : DAT_DTO_ERR_FLUSHED);
		if (i == 2)
			expect_event(p.b, evd,
				     DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		expect_empty(p.b, evd);
		KUNIT_EXPECT_EQ(test, 2 - i, outstanding(&p));
		free_ep(&p, ep);
	}
}

static void expect_about(struct pool *p, DAT_COUNT reason)
{
	DAT_EVENT event = {};

	KUNIT_EXPECT_EQ(p->b->test, (u32)DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
			bench_event(p->b, p->b->async, &event));
	KUNIT_EXPECT_PTR_EQ(p->b->test, p->handle,
			    event.event_data.asynch_error_event_data.dat_handle);
	KUNIT_EXPECT_EQ(p->b->test, reason,
			event.event_data.asynch_error_event_data.reason);
}

/* mt:M61..M63: once for each arming, whoever sees it; stale news are dropped. */
static void low_watermark(struct kunit *test)
{
	struct pool p = pool_new(test, 4);
	DAT_EVD_HANDLE evd = p.b->evd;
	struct fake_wr *wr = kunit_kzalloc(test, sizeof(*wr), GFP_KERNEL);
	DAT_EP_HANDLE ep = pool_ep(&p, evd);

	KUNIT_ASSERT_NOT_NULL(test, wr);
	/* Not armed. */
	p.srq->rq.event(&p.srq->rq, IB_EVENT_SRQ_LIMIT_REACHED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_set_lw(&p.b->space, p.handle, 4));
	KUNIT_EXPECT_EQ(test, 4U, p.fake->limit);
	p.srq->rq.event(&p.srq->rq, IB_EVENT_SRQ_LIMIT_REACHED);
	p.srq->rq.event(&p.srq->rq, IB_EVENT_SRQ_LIMIT_REACHED);
	expect_about(&p, DAT_SRQ_LOW_WATERMARK_EVENT);
	/* The device does not tell, but it is seen. */
	fake_fail(p.b->fake, FAKE_SRQ_ARM, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_set_lw(&p.b->space, p.handle, 4));
	fake_srq_take(p.fake, wr);
	fake_complete_srq(bench_qp(p.b, ep), wr, IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, ep, 1, DTO_OK);
	expect_about(&p, DAT_SRQ_LOW_WATERMARK_EVENT);
	/* Fewer are left already. */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_set_lw(&p.b->space, p.handle, 4));
	expect_about(&p, DAT_SRQ_LOW_WATERMARK_EVENT);
	KUNIT_EXPECT_EQ(test, 0U, p.fake->limit);
	bench_settle(p.b);
	expect_empty(p.b, p.b->async);
	p.b->fake->dev->srq_arms = false;
	KUNIT_EXPECT_EQ(test, MNS, kdapl_srq_set_lw(&p.b->space, p.handle, 1));
	free_ep(&p, ep);
}

/* mt:M59, mt:M65: posts are accepted, and never taken. */
static void lost(struct kunit *test)
{
	struct pool p = pool_new(test, 1);
	DAT_SRQ_PARAM param = {};

	p.srq->rq.event(&p.srq->rq, IB_EVENT_SRQ_ERR);
	p.srq->rq.event(&p.srq->rq, IB_EVENT_SRQ_ERR);
	expect_about(&p, DAT_SRQ_TRANSFER_TO_ERROR);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_query(&p.b->space, p.handle, 0, &param));
	KUNIT_EXPECT_EQ(test, (u32)DAT_SRQ_STATE_ERROR, (u32)param.srq_state);
	KUNIT_EXPECT_EQ(test, DONE, post(&p, 2));
	KUNIT_EXPECT_EQ(test, 2U, outstanding(&p));
	bench_settle(p.b);
	expect_empty(p.b, p.b->async);
}

/* mt:M64 */
static void resized(struct kunit *test)
{
	struct pool p = pool_new(test, 8);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE ep = pool_ep(&p, evd);
	const DAT_RETURN state = DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	u64 i;

	KUNIT_EXPECT_EQ(test, state, kdapl_srq_resize(&p.b->space, p.handle, 7));
	fake_fail(p.b->fake, FAKE_SRQ_RESIZE, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), kdapl_srq_resize(&p.b->space, p.handle, 16));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), post(&p, 9));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_resize(&p.b->space, p.handle, 16));
	for (i = 9; i <= 16; i++)
		KUNIT_EXPECT_EQ(test, DONE, post(&p, i));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), post(&p, 17));
	/* The CQ of a connected endpoint cannot grow. */
	p.b->fake->no_resize = -EOPNOTSUPP;
	fake_fail(p.b->fake, FAKE_CQ_CREATE, 1, -ENOMEM);
	i = bench_ep_of(p.b, ep)->use.shares[KDAPL_CQ_SHARE_RECV].cq->cq.size;
	if (i < FAKE_DEPTH)
		KUNIT_EXPECT_EQ(test, IR(MEMORY),
				kdapl_srq_resize(&p.b->space, p.handle, FAKE_DEPTH));
	fake_fail(p.b->fake, FAKE_CQ_CREATE, 1, 0);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_resize(&p.b->space, p.handle, 16));
	free_ep(&p, ep);
}

/* All endpoints of an SRQ together take the room of one in the CQ. */
static void one_share(struct kunit *test)
{
	struct pool p = pool_new(test, 0);
	DAT_EVD_HANDLE evd = p.b->evd;
	struct kdapl_evd_cq *cq;
	DAT_EP_HANDLE ep[4];
	u32 i, first;

	ep[0] = pool_ep(&p, evd);
	cq = bench_ep_of(p.b, ep[0])->use.shares[KDAPL_CQ_SHARE_RECV].cq;
	first = cq->entries;
	for (i = 1; i < 4; i++)
		ep[i] = pool_ep(&p, evd);
	KUNIT_EXPECT_EQ(test, 8U + 4 * (first - 8), cq->entries);
	for (i = 0; i < 4; i++)
		free_ep(&p, ep[i]);
	KUNIT_EXPECT_EQ(test, 0U, cq->entries);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_free(&p.b->space, p.handle));
	KUNIT_EXPECT_EQ(test, 0U, p.b->fake->nr_srqs);
}

/* E57: where an EVD has several CQs, the endpoints in each share the room of one there. */
static void share_of_each_cq(struct kunit *test)
{
	struct pool p = pool_new(test, 0);
	DAT_EVD_HANDLE evd = p.b->evd;
	struct kdapl_evd_cq *cq[16];
	DAT_EP_HANDLE ep[16];
	u32 i, n, first = 0;

	p.b->fake->no_resize = -EOPNOTSUPP;
	for (n = 0; n < 15 && (!n || cq[n - 1] == cq[0]); n++) {
		ep[n] = pool_ep(&p, evd);
		cq[n] = bench_ep_of(p.b, ep[n])->use.shares[KDAPL_CQ_SHARE_RECV].cq;
		if (!n)
			first = cq[0]->entries;
	}
	KUNIT_ASSERT_PTR_NE(test, cq[0], cq[n - 1]);
	KUNIT_EXPECT_EQ(test, 8U + (n - 1) * (first - 8), cq[0]->entries);
	KUNIT_EXPECT_LE(test, cq[0]->entries, cq[0]->cq.size);
	KUNIT_EXPECT_EQ(test, first, cq[n - 1]->entries);
	ep[n] = pool_ep(&p, evd);
	KUNIT_EXPECT_EQ(test, 2 * first - 8, cq[n - 1]->entries);
	for (i = 0; i < n; i++)
		free_ep(&p, ep[i]);
	/* A pool whose endpoints are all gone takes nothing. */
	KUNIT_EXPECT_EQ(test, first, cq[n - 1]->entries);
	free_ep(&p, ep[n]);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_free(&p.b->space, p.handle));
}

/* E20, mt:T38: a completion that nobody dequeued outlives its endpoint and its SRQ. */
static void event_outlives_all(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE ep = pool_ep(&p, evd);
	struct fake_wr *wr = kunit_kzalloc(test, sizeof(*wr), GFP_KERNEL);
	DAT_EVENT event = {};

	KUNIT_ASSERT_NOT_NULL(test, wr);
	fake_srq_take(p.fake, wr);
	fake_complete_srq(bench_qp(p.b, ep), wr, IB_WC_SUCCESS, 1);
	KUNIT_EXPECT_EQ(test, IS(SRQ_IN_USE), kdapl_srq_free(&p.b->space, p.handle));
	free_ep(&p, ep);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_free(&p.b->space, p.handle));
	KUNIT_EXPECT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT, bench_event(p.b, evd, &event));
	KUNIT_EXPECT_EQ(test, 1ULL,
			event.event_data.dto_completion_event_data.user_cookie.as_64);
}

/* E71: the device goes; shells are left, which can be freed. */
static void device_goes(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	const DAT_RETURN gone = DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	DAT_EP_HANDLE ep = pool_ep(&p, p.b->evd);

	kdapl_ia_device_gone(bench_ia(p.b));
	KUNIT_EXPECT_EQ(test, 0U, p.b->fake->nr_srqs);
	KUNIT_EXPECT_EQ(test, gone, post(&p, 3));
	KUNIT_EXPECT_EQ(test, gone, kdapl_srq_resize(&p.b->space, p.handle, 8));
	KUNIT_EXPECT_EQ(test, gone, kdapl_srq_set_lw(&p.b->space, p.handle, 1));
	free_ep(&p, ep);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_free(&p.b->space, p.handle));
}

/*
 * The device makes the next @n queue pairs where completions of @conn's former ones may still
 * name them: their places in the table of the SRQ are not free.
 */
static void give_again(struct pool *p, struct kdapl_conn *conn, unsigned long *keys, u32 n)
{
	struct fake_qp *qp;
	u32 i;

	for (i = 0; i < n; i++) {
		qp = kzalloc(sizeof(*qp), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(p->b->test, qp);
		list_add_tail(&qp->entry, &p->b->fake->next_qps);
		keys[i] = (unsigned long)&qp->ib >> 6;
		KUNIT_ASSERT_EQ(p->b->test, 0,
				xa_insert(&p->srq->qps, keys[i], conn, GFP_KERNEL));
	}
}

/* mt:M53: a queue pair does not get completions of one that had its address before. */
static void address_given_again(struct kunit *test)
{
	struct pool p = pool_new(test, 2);
	DAT_EVD_HANDLE evd = p.b->evd;
	DAT_EP_HANDLE one = pool_ep(&p, evd), two, three = pool_new_ep(&p, evd);
	struct kdapl_conn *former = bench_ep_of(p.b, one)->conn;
	struct fake_wr *wr = kunit_kzalloc(test, sizeof(*wr), GFP_KERNEL);
	unsigned long keys[9];
	u32 i, calls;

	KUNIT_ASSERT_NOT_NULL(test, wr);
	give_again(&p, former, keys, 8);
	calls = p.b->fake->calls[FAKE_QP_CREATE];
	two = pool_ep(&p, evd);
	KUNIT_EXPECT_EQ(test, 9U, p.b->fake->calls[FAKE_QP_CREATE] - calls);
	fake_srq_take(p.fake, wr);
	fake_complete_srq(bench_qp(p.b, two), wr, IB_WC_SUCCESS, 1);
	expect_recv(&p, evd, two, 1, DTO_OK);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_PTR_EQ(test, (void *)former, xa_erase(&p.srq->qps, keys[i]));

	/* There is an end to it, and nothing is left of the attempt. */
	give_again(&p, former, keys, 9);
	KUNIT_EXPECT_EQ(test, IR(TEP),
			kdapl_ep_connect(&p.b->space, three, FAKE_PEER, 5000,
					 DAT_TIMEOUT_INFINITE, 0, NULL,
					 DAT_QOS_BEST_EFFORT, 0));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(p.b, three));
	for (i = 0; i < 9; i++)
		KUNIT_EXPECT_PTR_EQ(test, (void *)former, xa_erase(&p.srq->qps, keys[i]));
	bench_connect(p.b, three);
	expect_event(p.b, evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	free_ep(&p, one);
	free_ep(&p, two);
	free_ep(&p, three);
}

static struct kunit_case kdapl_srq_cases[] = {
	KUNIT_CASE(each_to_its_own),
	KUNIT_CASE(slots_in_any_order),
	KUNIT_CASE(refused),
	KUNIT_CASE(completed_late),
	KUNIT_CASE(cq_kept_till_taken),
	KUNIT_CASE(forgotten),
	KUNIT_CASE(not_forgotten),
	KUNIT_CASE(many_connections),
	KUNIT_CASE(last_one_told),
	KUNIT_CASE(asked_to_tell),
	KUNIT_CASE(rejected),
	KUNIT_CASE(received_before_accepted),
	KUNIT_CASE(low_watermark),
	KUNIT_CASE(lost),
	KUNIT_CASE(resized),
	KUNIT_CASE(one_share),
	KUNIT_CASE(share_of_each_cq),
	KUNIT_CASE(event_outlives_all),
	KUNIT_CASE(address_given_again),
	KUNIT_CASE(device_goes),
	{}
};

static struct kunit_suite kdapl_srq_suite = {
	.name = "kdapl_srq",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_srq_cases,
};

kunit_test_suite(kdapl_srq_suite);
