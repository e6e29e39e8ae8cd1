// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_end: every end from every state: dat_ep_free, dat_ep_reset, the
 * close of the adapter, the removal of its device, and its failure.  Each time
 * every post completes once, the event that is due comes or none does, and
 * nothing is left.
 */
#include <linux/workqueue.h>
#include "stage.h"

/**
 * struct start - a state, and what its ends are like
 * @free: what dat_ep_free says
 * @reset: what dat_ep_reset says
 * @event: the connection event when the device fails; 0: none
 */
struct start {
	enum kdapl_ep_state state;
	DAT_RETURN free;
	DAT_RETURN reset;
	u32 event;
};

#define REJECTED	DAT_CONNECTION_EVENT_NON_PEER_REJECTED
#define ERROR		DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
#define BROKEN		DAT_CONNECTION_EVENT_BROKEN
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED

static const struct start starts[] = {
	{ KDAPL_EP_UNCONNECTED, DONE, DONE, 0 },
	{ KDAPL_EP_RESERVED, IS(EP_RESERVED), IS(EP_RESERVED), 0 },
	{ KDAPL_EP_PASSIVE_PENDING, IS(EP_PASSCONNPENDING),
	  IS(EP_PASSCONNPENDING), 0 },
	{ KDAPL_EP_TENTATIVE, IS(EP_TENTCONNPENDING), IS(EP_TENTCONNPENDING), 0 },
	{ KDAPL_EP_RESOLVING, DONE, IS(EP_ACTCONNPENDING), REJECTED },
	{ KDAPL_EP_REQUESTED, DONE, IS(EP_ACTCONNPENDING), REJECTED },
	{ KDAPL_EP_COMPLETION_PENDING, DONE, IS(EP_COMPLPENDING), ERROR },
	{ KDAPL_EP_CONNECTED, DONE, IS(EP_CONNECTED), BROKEN },
	{ KDAPL_EP_DRAINING, DONE, IS(EP_DISCPENDING), DISCONNECTED },
	{ KDAPL_EP_FLUSHING, DONE, IS(EP_DISCPENDING), DISCONNECTED },
	{ KDAPL_EP_DISC_FLUSHING, DONE, DONE, DISCONNECTED },
	{ KDAPL_EP_DISC_IDLE, DONE, DONE, 0 },
};

static void start_name(const struct start *start, char *name)
{
	strscpy(name, kdapl_ep_state_name(start->state), KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(starts, starts, start_name);

/* Before a connection there is nothing that the device's end could break. */
static bool before_connection(const struct start *start)
{
	return start->state <= KDAPL_EP_TENTATIVE;
}

static bool flush_is_held(const struct start *start)
{
	return start->state == KDAPL_EP_FLUSHING ||
	       start->state == KDAPL_EP_DISC_FLUSHING;
}

/* While the test is in a call that waits for the flush, the device gives up. */
struct release {
	struct delayed_work work;
	struct bench *b;
	struct kdapl_conn *conn;
	enum kdapl_ep_state when;	/* not before the endpoint is in it */
};

static void release_now(struct work_struct *work)
{
	struct release *r = container_of(to_delayed_work(work), struct release,
					 work);
	unsigned long until = jiffies + BENCH_PATIENCE;

	while (READ_ONCE(r->conn->ep->state) != r->when && time_before(jiffies, until))
		usleep_range(500, 1000);
	WRITE_ONCE(r->conn->flush_until, jiffies - HZ);
	kdapl_conn_run(r->conn);
	kdapl_conn_put(r->conn);
}

static struct release *release_begin(struct bench *b, const struct start *start,
				     DAT_EP_HANDLE ep, enum kdapl_ep_state when)
{
	struct release *r = kunit_kzalloc(b->test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(b->test, r);
	INIT_DELAYED_WORK(&r->work, release_now);
	r->b = b;
	r->when = when;
	if (!flush_is_held(start))
		return r;
	r->conn = bench_conn(b, ep);
	/* The bench, and so @r, stays until that is put. */
	kdapl_conn_get(r->conn);
	schedule_delayed_work(&r->work, HZ / 10);
	return r;
}

static void release_end(struct release *r)
{
	flush_delayed_work(&r->work);
	r->b->fake->hold_flush = false;
}

/* All posts of @s, flushed, in order and once; then @event, or nothing. */
static void expect_end(struct bench *b, struct stage *s, u32 event)
{
	u64 next[2] = { 0, 100 };
	DAT_EVENT e;
	u64 cookie;
	u32 i;

	for (i = 0; i < s->posts; i++) {
		KUNIT_ASSERT_EQ(b->test, (u32)DAT_DTO_COMPLETION_EVENT,
				bench_event(b, b->evd, &e));
		cookie = e.event_data.dto_completion_event_data.user_cookie.as_64;
		KUNIT_EXPECT_EQ(b->test, cookie, next[cookie >= 100]++);
		KUNIT_EXPECT_EQ(b->test, FLUSHED,
				e.event_data.dto_completion_event_data.status);
	}
	s->posts = 0;
	if (event)
		expect_event(b, b->evd, event);
	expect_empty(b, b->evd);
}

/* The rest, by a consumer who does what the refusals of free ask for (F4, F6). */
static void finish(struct bench *b, const struct start *start, struct stage *s)
{
	bench_unstage(b, s);
	/* The provider's own endpoint went with its request (P71). */
	KUNIT_EXPECT_EQ(b->test, start->state == KDAPL_EP_TENTATIVE ? IH(EP) : DONE,
			kdapl_ep_free(&b->space, s->ep));
}

/* F1..F11, RULING 15: allowed or refused; and no event comes of it. */
static void freed(struct kunit *test)
{
	const struct start *start = test->param_value;
	struct bench *b = test->priv;
	struct census staged, before = bench_census(b);
	struct release *r;
	struct stage s;

	bench_stage(b, start->state, &s);
	if (start->free) {
		staged = bench_census(b);
		KUNIT_EXPECT_EQ(test, start->free,
				kdapl_ep_free(&b->space, s.ep));
		KUNIT_EXPECT_EQ(test, (u32)start->state,
				(u32)bench_ep_of(b, s.ep)->state);
		expect_same(b, &staged);
		expect_empty(b, b->evd);
		finish(b, start, &s);
	} else {
		/* Before the free there would be an event. */
		r = release_begin(b, start, s.ep, KDAPL_EP_GONE);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
		release_end(r);
		KUNIT_EXPECT_TRUE(test, list_empty(&b->fake->qps));
		bench_unstage(b, &s);
	}
	KUNIT_EXPECT_EQ(test, IH(EP), kdapl_ep_free(&b->space, s.ep));
	expect_end(b, &s, 0);
	if (bench_census(b).lingering)
		fake_peer_disconnected(s.id);
	expect_same(b, &before);
}

/* R1..R6, R15: allowed or refused; receives of an unconnected endpoint stay. */
static void reset(struct kunit *test)
{
	const struct start *start = test->param_value;
	struct bench *b = test->priv;
	struct census staged;
	struct release *r;
	struct stage s;
	int i;

	bench_stage(b, start->state, &s);
	if (start->reset) {
		staged = bench_census(b);
		KUNIT_EXPECT_EQ(test, start->reset, kdapl_ep_reset(&b->space, s.ep));
		KUNIT_EXPECT_EQ(test, (u32)start->state,
				(u32)bench_ep_of(b, s.ep)->state);
		expect_same(b, &staged);
		expect_empty(b, b->evd);
		return;
	}
	r = release_begin(b, start, s.ep, start->state);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, s.ep));
	release_end(r);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, s.ep));
	if (start->state != KDAPL_EP_UNCONNECTED)
		expect_end(b, &s, start->event);
	/* as good as new */
	bench_connect(b, s.ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < s.posts; i++) {
		fake_complete_recv(bench_qp(b, s.ep), 0, IB_WC_SUCCESS, 1, false);
		expect_dto(b, b->evd, 100 + i, DTO_OK);
	}
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
	KUNIT_EXPECT_EQ(test, IH(EP), kdapl_ep_reset(&b->space, s.ep));
	KUNIT_EXPECT_EQ(test, IH(EP), kdapl_ep_reset(&b->space, b->pz));
}

/* I15, F17: the close of the adapter takes every state along. */
static void closed(struct kunit *test)
{
	const struct start *start = test->param_value;
	struct bench *b = test->priv;
	struct census c;
	struct release *r;
	struct stage s;

	bench_stage(b, start->state, &s);
	KUNIT_EXPECT_EQ(test, IS(IA_IN_USE),
			kdapl_ia_close(&b->space, b->ia, DAT_CLOSE_GRACEFUL_FLAG));
	r = release_begin(b, start, s.ep, KDAPL_EP_GONE);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia,
						   DAT_CLOSE_ABRUPT_FLAG));
	release_end(r);
	KUNIT_EXPECT_EQ(test, IH(EP), kdapl_ep_free(&b->space, s.ep));
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0U, c.handles);
	KUNIT_EXPECT_EQ(test, 0U, c.live);
	KUNIT_EXPECT_EQ(test, 0U, c.ids + c.qps + c.zones + c.regions);
}

/* E71, A10: without its device a shell is left, and what was due has come. */
static void device_removed(struct kunit *test)
{
	const struct start *start = test->param_value;
	struct bench *b = test->priv;
	struct census c;
	struct release *r;
	struct stage s;

	bench_stage(b, start->state, &s);
	r = release_begin(b, start, s.ep, start->state);
	kdapl_ia_device_gone(bench_ia(b));
	release_end(r);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0U, c.ids + c.qps + c.zones + c.regions);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);
	expect_async(b, DAT_ASYNC_ERROR_IA_CATASTROPHIC, b->ia,
		     DAT_IA_CATASTROPHIC_ERROR);
	if (!before_connection(start)) {
		expect_end(b, &s, start->event);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED,
				bench_state(b, s.ep));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, s.ep));
		KUNIT_EXPECT_EQ(test, GONE, bench_do_connect(b, s.ep));
		KUNIT_EXPECT_EQ(test, GONE, bench_recv(b, s.ep, 1));
	}
	expect_empty(b, b->evd);
	finish(b, start, &s);
	expect_end(b, &s, 0);

	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, b->lmr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, b->evd));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, b->pz));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia,
						   DAT_CLOSE_GRACEFUL_FLAG));
}

/* E71, E72: a device that failed and is still there breaks what is connected. */
static void device_failed(struct kunit *test)
{
	const struct start *start = test->param_value;
	struct bench *b = test->priv;
	struct release *r;
	struct stage s;

	bench_stage(b, start->state, &s);
	fake_device_event(b->fake, IB_EVENT_DEVICE_FATAL);
	fake_device_event(b->fake, IB_EVENT_DEVICE_FATAL);
	expect_async(b, DAT_ASYNC_ERROR_IA_CATASTROPHIC, b->ia,
		     DAT_IA_CATASTROPHIC_ERROR);
	expect_async(b, DAT_ASYNC_ERROR_IA_CATASTROPHIC, b->ia,
		     DAT_IA_CATASTROPHIC_ERROR);
	r = release_begin(b, start, s.ep, start->state);
	if (before_connection(start)) {
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, (u32)start->state,
				(u32)bench_ep_of(b, s.ep)->state);
	} else {
		expect_end(b, &s, start->event);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED,
				bench_state(b, s.ep));
	}
	release_end(r);
	finish(b, start, &s);
	expect_end(b, &s, 0);
}

static struct kunit_case kdapl_end_cases[] = {
	KUNIT_CASE_PARAM(freed, starts_gen_params),
	KUNIT_CASE_PARAM(reset, starts_gen_params),
	KUNIT_CASE_PARAM(closed, starts_gen_params),
	KUNIT_CASE_PARAM(device_removed, starts_gen_params),
	KUNIT_CASE_PARAM(device_failed, starts_gen_params),
	{}
};

static struct kunit_suite kdapl_end_suite = {
	.name = "kdapl_end",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_end_cases,
};

kunit_test_suite(kdapl_end_suite);
