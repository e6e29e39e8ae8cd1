// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_rmr: binds (mt:M28..mt:M47), and what can go wrong
 * with them: the device refuses, fails one half of a bind or the other, never
 * completes it; the RMR, the endpoint or the device goes while one is outstanding.
 */
#include <dat/kdat_linux.h>
#include "core/conn.h"
#include "core/evd_fifo.h"
#include "core/rmr.h"
#include "core/user.h"
#include "stage.h"

#define FAILED	DAT_RMR_OPERATION_FAILED

/**
 * struct rig - an RMR, a connected endpoint to bind it through, an LMR to show
 * @before: a census before any of them
 * @evd: where binds complete
 * @context: what the last bind gave
 */
struct rig {
	struct bench *b;
	struct census before;
	DAT_EP_HANDLE ep;
	struct kdapl_evd *evd;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET part;
	DAT_RMR_CONTEXT context;
};

static void rig_connect(struct rig *r)
{
	bench_connect(r->b, r->ep);
	expect_event(r->b, r->b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void rig_register(struct rig *r)
{
	struct bench *b = r->b;
	DAT_REGION_DESCRIPTION region = { .for_va = b->memory };

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_lmr_create(&b->space, b->ia, DAT_MEM_TYPE_VIRTUAL,
					 region, PAGE_SIZE, b->pz,
					 DAT_MEM_PRIV_ALL_FLAG,
					 DAT_MEM_OPTIMIZE_DONT_CARE, &r->lmr,
					 &r->part.lmr_context, NULL, NULL, NULL));
}

static void rig_init(struct rig *r, struct bench *b)
{
	memset(r, 0, sizeof(*r));
	r->b = b;
	r->before = bench_census(b);
	r->ep = bench_ep(b, b->evd);
	r->evd = bench_ep_of(b, r->ep)->req.evd;
	rig_register(r);
	r->part.virtual_address = (uintptr_t)b->memory + 16;
	r->part.segment_length = 64;
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_rmr_create(&b->space, b->pz, &r->rmr));
	rig_connect(r);
}

/* Nothing is bound and nothing outstanding: everything can be freed. */
static void rig_exit(struct rig *r)
{
	struct bench *b = r->b;
	struct fake_id *id = fake_id_of(b->fake, bench_ep_of(b, r->ep));

	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, r->ep));
	if (bench_census(b).lingering)
		fake_peer_disconnected(id);
	if (r->rmr)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_rmr_free(&b->space, r->rmr));
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_lmr_free(&b->space, r->lmr));
	expect_empty(b, b->evd);
	expect_same(b, &r->before);
}

static DAT_RETURN bind_flags(struct rig *r, u64 cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_COOKIE user = { .as_64 = cookie };

	return kdapl_rmr_bind(&r->b->space, r->rmr, &r->part,
			      DAT_MEM_PRIV_REMOTE_READ_FLAG, r->ep, user, flags,
			      &r->context);
}

static DAT_RETURN bind(struct rig *r, u64 cookie)
{
	return bind_flags(r, cookie, 0);
}

static DAT_RETURN unbind_flags(struct rig *r, u64 cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_COOKIE user = { .as_64 = cookie };
	DAT_LMR_TRIPLET none = {};

	return kdapl_rmr_bind(&r->b->space, r->rmr, &none, 0, r->ep, user, flags,
			      &r->context);
}

static DAT_RETURN unbind(struct rig *r, u64 cookie)
{
	return unbind_flags(r, cookie, 0);
}

/* The device does the next @n work requests. */
static void carry_out(struct rig *r, int n)
{
	struct kdapl_ep *ep = bench_ep_of(r->b, r->ep);

	while (n--)
		KUNIT_EXPECT_TRUE(r->b->test, fake_complete_any(r->b->fake, ep));
}

#define expect_bind(r, cookie, status) \
	__expect_bind(r, cookie, status, __LINE__)
static void __expect_bind(struct rig *r, u64 cookie, u32 status, int line)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	struct kunit *test = r->b->test;
	DAT_EVENT event;

	data = &event.event_data.rmr_completion_event_data;
	KUNIT_EXPECT_EQ_MSG(test, (u32)DAT_RMR_BIND_COMPLETION_EVENT,
			    bench_event(r->b, r->b->evd, &event),
			    "expected in line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, (u64)data->user_cookie.as_64, cookie,
			    "expected in line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, (u32)data->status, status,
			    "expected in line %d", line);
}

/* What the RMR shows; 0: nothing. */
static DAT_RMR_CONTEXT shown(struct rig *r)
{
	DAT_RMR_PARAM param = {};

	KUNIT_EXPECT_EQ(r->b->test, DONE,
			kdapl_rmr_query(&r->b->space, r->rmr, DAT_RMR_FIELD_ALL,
					&param));
	KUNIT_EXPECT_EQ(r->b->test, !param.rmr_context,
			!param.lmr_triplet.segment_length);
	return param.rmr_context;
}

static DAT_RETURN free_lmr(struct rig *r)
{
	return kdapl_lmr_free(&r->b->space, r->lmr);
}

/* mt:M22, mt:M35..M38, mt:M40, mt:M41: what is bound changes with the completion, not before. */
static void binds_one_after_the_other(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_RMR_CONTEXT first;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	first = r.context;
	KUNIT_EXPECT_NE(test, 0U, (u32)first);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	/* the former key goes, before the new one comes */
	carry_out(&r, 1);
	expect_empty(b, b->evd);
	carry_out(&r, 1);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (u32)first, (u32)shown(&r));

	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	KUNIT_EXPECT_NE(test, (u32)first, (u32)r.context);
	KUNIT_EXPECT_EQ(test, (u32)first, (u32)shown(&r));
	carry_out(&r, 2);
	expect_bind(&r, 2, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));

	KUNIT_EXPECT_EQ(test, DONE, unbind(&r, 3));
	KUNIT_EXPECT_EQ(test, 0U, (u32)r.context);
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	carry_out(&r, 1);
	expect_bind(&r, 3, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_WINDOW_RENEW]);
	rig_exit(&r);
}

/* mt:M38, mt:T23: the fence is before all of a bind; each work request completes. */
static void flags_of_binds(struct kunit *test)
{
	static const struct {
		DAT_COMPLETION_FLAGS flags;
		int first;
	} ways[] = {
		{ 0, 0 },
		{ DAT_COMPLETION_SUPPRESS_FLAG, 0 },
		{ DAT_COMPLETION_BARRIER_FENCE_FLAG, IB_SEND_FENCE },
	};
	struct bench *b = test->priv;
	struct fake_wr *wr;
	struct rig r;
	int i;

	rig_init(&r, b);
	wr = bench_qp(b, r.ep)->send.wr;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		KUNIT_EXPECT_EQ(test, DONE, bind_flags(&r, i, ways[i].flags));
		KUNIT_EXPECT_EQ(test, wr[0].send_flags,
				ways[i].first | IB_SEND_SIGNALED);
		KUNIT_EXPECT_EQ(test, wr[1].send_flags, (int)IB_SEND_SIGNALED);
		carry_out(&r, 2);
		if (!(ways[i].flags & DAT_COMPLETION_SUPPRESS_FLAG))
			expect_bind(&r, i, DAT_DTO_SUCCESS);
		expect_empty(b, b->evd);
	}
	KUNIT_EXPECT_EQ(test, DONE,
			unbind_flags(&r, i, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	KUNIT_EXPECT_EQ(test, wr[0].send_flags,
			IB_SEND_FENCE | IB_SEND_SIGNALED);
	carry_out(&r, 1);
	expect_bind(&r, i, DAT_DTO_SUCCESS);
	rig_exit(&r);
}

/*
 * mt:M38, mt:T21, E35, E106: the completion of a bind without a signal wakes nobody;
 * it is there with the next one that does.  A failure always does (mt:T28).
 */
static void unsignalled_binds(struct kunit *test)
{
	const DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_request_iov = 1,
		.request_completion_flags = quiet,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG |
				       DAT_EVD_RMR_BIND_FLAG);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	struct taker *t;
	struct rig r = { .b = b };

	KUNIT_ASSERT_NOT_NULL(test, evd);
	t = taker_start(b, evd);
	rig_register(&r);
	r.ep = bench_ep_attr(b, DAT_HANDLE_NULL, dto, b->evd, &attr);
	r.part.virtual_address = (uintptr_t)b->memory;
	r.part.segment_length = 64;
	KUNIT_ASSERT_EQ(test, DONE, kdapl_rmr_create(&b->space, b->pz, &r.rmr));
	rig_connect(&r);
	KUNIT_EXPECT_EQ(test, DONE, bind_flags(&r, 0, quiet));
	carry_out(&r, 2);
	expect_taken(b, t, 0);
	/* On a busy machine the runner, which makes room, may be yet to come. */
	kdapl_evd_await_run(evd);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	carry_out(&r, 2);
	expect_taken(b, t, 2);
	KUNIT_EXPECT_EQ(test, DONE, bind_flags(&r, 2, quiet));
	bench_abrupt(b, r.ep);
	expect_taken(b, t, 3);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
	kdapl_evd_put(evd);
}

/* mt:M34, mt:M45, D54: what the device refuses is not begun; what was bound stays. */
static void refused_binds(struct kunit *test)
{
	static const struct {
		enum fake_op op;
		int error;
		DAT_RETURN ret;
	} errors[] = {
		{ FAKE_WINDOW_BIND, -E2BIG, IR(MEMORY_REGION) },
		{ FAKE_WINDOW_BIND, -EOPNOTSUPP, IR(MEMORY_REGION) },
		{ FAKE_POST_SEND, -ENOMEM, IR(MEMORY) },
		{ FAKE_POST_SEND, -EIO, INTERNAL },
	};
	struct bench *b = test->priv;
	DAT_RMR_CONTEXT before;
	struct census c;
	struct rig r;
	int i;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	before = r.context;
	/* A6: one at a time */
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, IR(MEMORY_REGION), bind(&r, 2));
	KUNIT_EXPECT_EQ(test, IR(MEMORY_REGION), unbind(&r, 2));
	expect_same(b, &c);
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		c = bench_census(b);
		r.context = 0x5a5a;
		fake_fail(b->fake, errors[i].op, 1, errors[i].error);
		KUNIT_EXPECT_EQ(test, errors[i].ret, i % 2 ? unbind(&r, 2) :
							     bind(&r, 2));
		KUNIT_EXPECT_EQ(test, 0x5a5aU, (u32)r.context);
		KUNIT_EXPECT_EQ(test, (u32)before, (u32)shown(&r));
		expect_same(b, &c);
		expect_empty(b, b->evd);
	}
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, r.ep));
	KUNIT_EXPECT_EQ(test, DONE, unbind(&r, 3));
	carry_out(&r, 1);
	expect_bind(&r, 3, DAT_DTO_SUCCESS);
	rig_exit(&r);
}

/*
 * mt:M33, mt:M39, A5, A6: the device takes one half: the connection breaks, and nothing is bound.
 * Its end waits for what the device has taken, and not for what it has not.
 */
static void half_of_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct kdapl_conn *conn;
	DAT_EVENT event;
	struct rig r;

	rig_init(&r, b);
	conn = bench_conn(b, r.ep);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	b->fake->hold_flush = true;	/* and with it the limit of a flush */
	fake_fail(b->fake, FAKE_POST_NEXT, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	KUNIT_EXPECT_FALSE(test, fake_fails(b->fake, FAKE_POST_NEXT));
	KUNIT_EXPECT_TRUE(test, fake_wait_calls(b->fake, FAKE_QP_ERROR, 1));
	b->fake->hold_flush = false;
	fake_flush(bench_qp(b, r.ep));
	kdapl_conn_get(conn);
	if (!wait_event_timeout(conn->wait, kdapl_conn_has_flushed(conn), BENCH_PATIENCE / 10)) {
		KUNIT_FAIL(test, "the end waits for its limit");
		bench_no_flush(b, r.ep);
	}
	kdapl_conn_put(conn);
	expect_bind(&r, 2, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, (u32)DAT_ASYNC_ERROR_EP_BROKEN,
			bench_event(b, b->async, &event));
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_WINDOW_RENEW]);
	rig_exit(&r);
}

static DAT_RETURN lmr_freed(void *arg)
{
	return free_lmr(arg);
}

static DAT_RETURN rmr_freed(void *arg)
{
	struct rig *r = arg;

	return kdapl_rmr_free(&r->b->space, r->rmr);
}

/*
 * In another thread, while this one is in an RCU read section: for less than 21 seconds,
 * after which the kernel complains of that.  With one processor and no preemption nobody else
 * runs meanwhile; there whoever waits for a grace period makes one pass.
 */
static bool frees_without_rcu(struct rig *r, DAT_RETURN (*free)(void *arg))
{
	unsigned long until = jiffies + 15 * HZ;
	struct elsewhere e;
	bool done;

	if (!IS_ENABLED(CONFIG_SMP)) {
		unsigned long now = get_state_synchronize_rcu();

		KUNIT_EXPECT_EQ(r->b->test, DONE, free(r));
		return !poll_state_synchronize_rcu(now);
	}
	rcu_read_lock();
	elsewhere_begin(&e, free, r);
	while (!READ_ONCE(e.done) && time_before(jiffies, until))
		cpu_relax();
	done = READ_ONCE(e.done);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(r->b->test, DONE, elsewhere_end(&e));
	return done;
}

/*
 * mt:T12 mt:M25 mt:M44: a free does not wait for a grace period of RCU, which a process
 * could ask for in a loop, at the cost of every processor.
 */
static void freed_without_grace_period(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_TRUE(test, frees_without_rcu(&r, lmr_freed));
	rig_register(&r);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	KUNIT_EXPECT_TRUE(test, frees_without_rcu(&r, rmr_freed));
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	bench_settle(b);
	r.rmr = DAT_HANDLE_NULL;
	rig_exit(&r);
}

/* How a bind fails. */
enum way { FIRST_FAILS, SECOND_FAILS, FLUSHED_WITH_IT, NEVER_FLUSHED, WAYS };

static void fail_bind(struct rig *r, enum way way)
{
	struct bench *b = r->b;
	struct fake_qp *qp = bench_qp(b, r->ep);

	switch (way) {
	case FIRST_FAILS:
		fake_complete_send(qp, 0, IB_WC_MW_BIND_ERR);
		expect_bind(r, 2, FAILED);
		expect_dto(b, b->evd, 3, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
		break;
	case SECOND_FAILS:
		fake_complete_send(qp, 0, IB_WC_SUCCESS);
		fake_complete_send(qp, 0, IB_WC_LOC_PROT_ERR);
		expect_bind(r, 2, FAILED);
		expect_dto(b, b->evd, 3, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
		break;
	default:
		b->fake->hold_flush = way == NEVER_FLUSHED;
		KUNIT_EXPECT_EQ(b->test, DONE, bench_abrupt(b, r->ep));
		if (way == NEVER_FLUSHED)
			bench_no_flush(b, r->ep);
		expect_bind(r, 2, FLUSHED);
		expect_dto(b, b->evd, 3, FLUSHED);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
		b->fake->hold_flush = false;
	}
}

/*
 * mt:M39, mt:M40, D43: a bind that fails leaves nothing bound and its LMRs free, in its
 * turn; and if the renewal of the window fails as well, a later bind renews it.
 */
static void failed_binds(struct kunit *test)
{
	struct bench *b = test->priv;
	bool renewal_fails;
	struct rig r;
	DAT_RETURN ret;
	int round;
	u32 calls;

	for (round = 0; round < 2 * WAYS; round++) {
		renewal_fails = round >= WAYS;
		rig_init(&r, b);
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
		carry_out(&r, 2);
		expect_bind(&r, 1, DAT_DTO_SUCCESS);
		calls = b->fake->calls[FAKE_WINDOW_RENEW];
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r.ep, 3, 0));
		if (renewal_fails)
			fake_fail(b->fake, FAKE_WINDOW_RENEW, 1, -ENOMEM);
		fail_bind(&r, round % WAYS);
		KUNIT_EXPECT_EQ(test, calls + 1,
				b->fake->calls[FAKE_WINDOW_RENEW]);
		KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
		expect_empty(b, b->evd);

		fake_peer_disconnected(bench_id(b, r.ep));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r.ep));
		rig_connect(&r);
		ret = bind(&r, 4);
		KUNIT_EXPECT_EQ(test, renewal_fails ? IR(MEMORY) : DONE, ret);
		if (ret) {
			KUNIT_EXPECT_TRUE(test,
					  fake_wait_calls(b->fake, FAKE_WINDOW_RENEW,
							  calls + 2));
			bench_settle(b);
			KUNIT_EXPECT_EQ(test, DONE, bind(&r, 4));
		}
		carry_out(&r, 2);
		expect_bind(&r, 4, DAT_DTO_SUCCESS);
		KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
		r.rmr = DAT_HANDLE_NULL;
		rig_exit(&r);
	}
}

static void look(void *arg)
{
	struct rig *r = arg;
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(r->b->test, EMPTY,
			kdapl_evd_dequeue(&r->b->space, r->b->evd, &event));
	kdapl_evd_pull(r->evd);
	KUNIT_EXPECT_EQ(r->b->test, EMPTY,
			kdapl_evd_dequeue(&r->b->space, r->b->evd, &event));
}

/* mt:M40, D43: nobody sees the failure before the window is safe, nor what is behind. */
static void failure_waits_for_the_renewal(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r.ep, 3, 0));
	fake_hook(b->fake, FAKE_WINDOW_RENEW, look, &r);
	fail_bind(&r, SECOND_FAILS);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_WINDOW_RENEW]);
	rig_exit(&r);
}

/*
 * A bind of @r, on @binder, fails, and the renewal of its window takes until
 * bench_go_on().  An endpoint without any bind shares the EVD of completions.
 */
struct bystander {
	struct rig r;
	struct fake_qp *binder;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;	/* of its connections */
	struct fake_qp *qp;
	u32 status;		/* with which its DTOs come out */
};

/* @attr: of the bystander; NULL: the default */
static struct bystander *bystander_init(struct bench *b, const DAT_EP_ATTR *attr)
{
	struct bystander *s = kunit_kzalloc(b->test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(b->test, s);
	rig_init(&s->r, b);
	s->evd = bench_evd(b, 16, BENCH_EVD_FLAGS);
	s->ep = bench_ep_attr(b, b->evd, b->evd, s->evd, attr);
	s->status = FLUSHED;
	bench_connect(b, s->ep);
	expect_event(b, s->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(b->test, DONE, bench_send(b, s->ep, 10, 0));
	KUNIT_EXPECT_EQ(b->test, DONE, bench_send(b, s->ep, 11, 0));
	KUNIT_EXPECT_EQ(b->test, DONE, bench_recv(b, s->ep, 12));
	s->qp = bench_qp(b, s->ep);
	s->binder = bench_qp(b, s->r.ep);
	KUNIT_EXPECT_EQ(b->test, DONE, bind(&s->r, 2));
	return s;
}

static void bind_goes_wrong(struct bystander *s)
{
	bench_stop_at(s->r.b, FAKE_WINDOW_RENEW);
	fake_complete_send(s->binder, 0, IB_WC_SUCCESS);
	fake_complete_send(s->binder, 0, IB_WC_LOC_PROT_ERR);
}

/* So far nobody sees anything.  Not expect_empty(), which waits for the renewal. */
static void bystander_waits(struct bystander *s)
{
	struct kunit *test = s->r.b->test;
	struct bench *b = s->r.b;
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING,
			bench_state(b, s->ep));
	KUNIT_EXPECT_EQ(test, EMPTY, kdapl_evd_dequeue(&b->space, s->evd, &event));
	KUNIT_EXPECT_EQ(test, EMPTY, kdapl_evd_dequeue(&b->space, b->evd, &event));
	KUNIT_EXPECT_FALSE(test, kdapl_evd_pull(s->r.evd));
}

/* All that there is comes in the end; between two endpoints there is no order. */
static void bystander_exit(struct bystander *s)
{
	struct kunit *test = s->r.b->test;
	struct bench *b = s->r.b;
	u32 binds = 0, ends = 0, number;
	u64 dtos = 10;
	DAT_EVENT event;

	bench_go_on(b);
	while (binds + ends + dtos < 15) {
		number = bench_event(b, b->evd, &event);
		if (number == DAT_RMR_BIND_COMPLETION_EVENT) {
			binds++;
		} else if (number == DAT_CONNECTION_EVENT_BROKEN) {
			ends++;
		} else {
			KUNIT_ASSERT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT, number);
			KUNIT_EXPECT_EQ(test, dtos++, (u64)event.event_data
					.dto_completion_event_data.user_cookie.as_64);
			KUNIT_EXPECT_EQ(test, s->status, (u32)event.event_data
					.dto_completion_event_data.status);
		}
	}
	KUNIT_EXPECT_EQ(test, 1U, binds);
	KUNIT_EXPECT_EQ(test, 1U, ends);
	KUNIT_EXPECT_EQ(test, 13ULL, dtos);
	expect_event(b, s->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, kdapl_evd_pull(s->r.evd));
	fake_peer_disconnected(bench_id(b, s->ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s->ep));
	bench_settle(b);
	expect_empty(b, s->evd);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, s->evd));
	rig_exit(&s->r);
}

/* D19 D43 mt:M40: who only waits behind a bind of another endpoint is not given up. */
static void waits_behind_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct bystander *s = bystander_init(b, NULL);
	struct kdapl_conn *conn;
	unsigned long until = jiffies + BENCH_PATIENCE;

	bind_goes_wrong(s);
	bench_stopped(b);
	conn = bench_conn(b, s->ep);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s->ep));
	bench_no_flush(b, s->ep);
	while (time_after(jiffies, READ_ONCE(conn->flush_until)) &&
	       fake_qp_of(b->fake, bench_ep_of(b, s->ep)) &&
	       time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_PTR_EQ(test, s->qp,
			    fake_qp_of(b->fake, bench_ep_of(b, s->ep)));
	bystander_waits(s);
	bystander_exit(s);
}

/* The device flushes when its queue pair is destroyed, and a bind is just failing. */
static void flush_at_the_last_moment(void *arg)
{
	struct bystander *s = arg;

	bind_goes_wrong(s);
	fake_flush(s->qp);
}

/*
 * D43 mt:M40: nor is an endpoint that was given up over while completions of it are in
 * the EVD: they name memory that goes with it.
 */
static void lost_behind_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct bystander *s = bystander_init(b, NULL);

	b->fake->hold_flush = true;
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s->ep));
	fake_hook(b->fake, FAKE_QP_DESTROY, flush_at_the_last_moment, s);
	bench_no_flush(b, s->ep);
	bench_stopped(b);
	bystander_waits(s);
	b->fake->hold_flush = false;
	bystander_exit(s);
}

/* A bind had succeeded, but its completions come when nobody waits for the device any more. */
static void bound_at_the_last_moment(void *arg)
{
	struct rig *r = arg;
	struct fake_qp *qp = bench_qp(r->b, r->ep);

	/* The interrupt is late: who ends the connection is the first to look. */
	WRITE_ONCE(qp->send_cq->armed, false);
	fake_complete_send(qp, 0, IB_WC_SUCCESS);
	fake_complete_send(qp, 0, IB_WC_SUCCESS);
}

/* mt:M40, mt:M41: a bind of which the consumer sees a success is in effect. */
static void bound_by_a_lost_queue(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	b->fake->hold_flush = true;
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, r.ep));
	fake_hook(b->fake, FAKE_QP_DESTROY, bound_at_the_last_moment, &r);
	bench_no_flush(b, r.ep);
	expect_bind(&r, 1, DTO_OK);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, r.context, shown(&r));
	b->fake->hold_flush = false;
	rig_exit(&r);
}

/* The same, but what it flushes last it had done, and that is in a CQ of its own. */
static void done_at_the_last_moment(void *arg)
{
	struct bystander *s = arg;

	bind_goes_wrong(s);
	KUNIT_EXPECT_FALSE(s->r.b->test, kdapl_evd_pull(s->r.evd));
	fake_complete_send(s->qp, 0, IB_WC_SUCCESS);
	fake_complete_send(s->qp, 0, IB_WC_SUCCESS);
	fake_complete_recv(s->qp, 0, IB_WC_SUCCESS, 1, false);
}

/*
 * A3, D43: a CQ is not replaced by a larger one before all was taken that a queue pair has
 * left there.
 */
static void lost_in_a_cq_that_is_too_small(struct kunit *test)
{
	/* The CQ that the binder has got has no room for so many. */
	const DAT_EP_ATTR attr = {
		.max_recv_dtos = 50,
		.max_request_dtos = 25,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct bench *b = test->priv;
	struct bystander *s;
	DAT_EP_HANDLE larger;
	u32 nr_cqs;

	b->fake->no_resize = -EOPNOTSUPP;
	s = bystander_init(b, &attr);
	KUNIT_ASSERT_PTR_NE(test, s->binder->send_cq, s->qp->send_cq);
	s->status = DTO_OK;
	b->fake->hold_flush = true;
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s->ep));
	fake_hook(b->fake, FAKE_QP_DESTROY, done_at_the_last_moment, s);
	bench_no_flush(b, s->ep);
	bench_stopped(b);
	bystander_waits(s);

	nr_cqs = b->fake->nr_cqs;
	larger = bench_ep_attr(b, b->evd, b->evd, b->evd, &attr);
	KUNIT_EXPECT_EQ(test, nr_cqs + 1, b->fake->nr_cqs);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, larger));
	b->fake->hold_flush = false;
	bystander_exit(s);
}

/*
 * mt:M39, mt:M40, D52: a bind that the device fails breaks the endpoint, takes both
 * keys with it and leaves the LMR; once, however often somebody looks meanwhile: the
 * next bind is nobody's business.
 */
static void settled_once(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;
	int way;

	for (way = FIRST_FAILS; way <= SECOND_FAILS; way++) {
		rig_init(&r, b);
		b->fake->calls[FAKE_WINDOW_RENEW] = 0;
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
		carry_out(&r, 2);
		expect_bind(&r, 1, DAT_DTO_SUCCESS);
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r.ep, 3, 0));
		fake_hook(b->fake, FAKE_WINDOW_RENEW, look, &r);
		fail_bind(&r, way);
		bench_settle(b);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED,
				bench_state(b, r.ep));
		KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
		KUNIT_EXPECT_EQ(test, DONE, free_lmr(&r));

		rig_register(&r);
		fake_peer_disconnected(bench_id(b, r.ep));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, r.ep));
		rig_connect(&r);
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 4));
		bench_settle(b);
		KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
		carry_out(&r, 2);
		expect_bind(&r, 4, DAT_DTO_SUCCESS);
		KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
		KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_WINDOW_RENEW]);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
		r.rmr = DAT_HANDLE_NULL;
		rig_exit(&r);
	}
}

/* D11, D14, mt:M33: a graceful disconnect waits for both halves of a bind. */
static void graceful_waits_for_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;
	int i;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, r.ep));
	for (i = 0; i < 2; i++) {
		flush_delayed_work(&bench_conn(b, r.ep)->work);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECT_PENDING,
				bench_state(b, r.ep));
		KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_QP_ERROR]);
		expect_empty(b, b->evd);
		carry_out(&r, 1);
	}
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	rig_exit(&r);
}

/*
 * mt:M40: the completion of a bind that was settled before says nothing about the one
 * that is outstanding now.
 */
static void completion_of_a_former_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct kdapl_cookie former = {};
	struct kdapl_object *obj;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	obj = kdapl_object_find(&b->space, r.rmr, KDAPL_RMR);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_TRUE(test, kdapl_rmr_complete(container_of(obj, struct kdapl_rmr, obj),
						   &former, false));
	kdapl_object_put(obj);
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_WINDOW_RENEW]);
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, unbind(&r, 2));
	carry_out(&r, 1);
	expect_bind(&r, 2, DAT_DTO_SUCCESS);
	rig_exit(&r);
}

/* mt:M38, D46: in Disconnected a bind is flushed at once, and nothing was bound by it. */
static void flushed_at_once(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	rig_init(&r, b);
	fake_peer_disconnected(bench_id(b, r.ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	KUNIT_EXPECT_EQ(test, 0U, (u32)r.context);
	expect_bind(&r, 1, FLUSHED);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_WINDOW_BIND]);
	rig_exit(&r);
}

/*
 * mt:M43, mt:M44: freed while a bind is outstanding, which ends it, however it comes out;
 * until then the LMR is in use, and the handle is dead at once.
 */
static void freed_with_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;
	int way;

	/* WAYS: it succeeds */
	for (way = 0; way <= WAYS; way++) {
		rig_init(&r, b);
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
		KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r.ep, 3, 0));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
		KUNIT_EXPECT_EQ(test, IH(RMR), kdapl_rmr_free(&b->space, r.rmr));
		KUNIT_EXPECT_EQ(test, IH(RMR), bind(&r, 4));
		r.rmr = DAT_HANDLE_NULL;
		KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_windows);
		KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
		if (way < WAYS) {
			fail_bind(&r, way);
		} else {
			carry_out(&r, 3);
			expect_bind(&r, 2, DAT_DTO_SUCCESS);
			expect_dto(b, b->evd, 3, DTO_OK);
		}
		KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_windows);
		rig_exit(&r);
	}
}

/* mt:M22, mt:M40, F7: the endpoint of an outstanding bind is freed. */
static void endpoint_freed_with_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct fake_id *id;
	struct rig r;
	int bound;

	for (bound = 0; bound < 2; bound++) {
		rig_init(&r, b);
		if (bound) {
			KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
			carry_out(&r, 2);
			expect_bind(&r, 1, DAT_DTO_SUCCESS);
		}
		KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
		id = bench_id(b, r.ep);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, r.ep));
		expect_bind(&r, 2, FLUSHED);
		KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
		fake_peer_disconnected(id);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, r.lmr));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
		expect_empty(b, b->evd);
		expect_same(b, &r.before);
	}
}

/* E71, mt:M44, A10: the device goes; a shell of an RMR stays. */
static void device_goes_with_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	kdapl_ia_device_gone(bench_ia(b));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_windows);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_regions);
	expect_bind(&r, 2, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 3));
	expect_bind(&r, 3, FLUSHED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, r.lmr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, r.ep));
	expect_empty(b, b->evd);
}

/* E71, mt:M34: when a removal has begun, no bind is put aside behind what waits. */
static void removal_begins_before_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct kdapl_ia *ia = bench_ia(b);
	struct census c;
	struct rig r;

	rig_init(&r, b);
	b->fake->dev->iwarp = true;
	/* The device takes no request any more, of which its CM has yet to tell. */
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, r.ep, 7, 0));
	c = bench_census(b);
	WRITE_ONCE(ia->removed, true);
	r.context = 0x5a5a;
	KUNIT_EXPECT_EQ(test, GONE, bind(&r, 1));
	KUNIT_EXPECT_EQ(test, 0x5a5aU, (u32)r.context);
	expect_same(b, &c);
	WRITE_ONCE(ia->removed, false);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	fake_peer_disconnected(bench_id(b, r.ep));
	expect_dto(b, b->evd, 7, DAT_DTO_ERR_FLUSHED);
	expect_bind(&r, 2, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	rig_exit(&r);
}

/* I15, mt:M22: the close asks no LMR whether it is in use. */
static void adapter_closes_with_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census c;
	struct rig r;

	rig_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 1));
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, b->ia,
						   DAT_CLOSE_ABRUPT_FLAG));
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0U, c.live);
	KUNIT_EXPECT_EQ(test, 0U, c.windows + c.regions + c.zones + c.ids);
}

/* mt:M3, mt:M28: as many as the space admits; a zone with an RMR stays. */
static void limit_of_a_space(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	int max = b->space.max_rmrs;
	DAT_RMR_HANDLE rmr, more;
	DAT_PZ_HANDLE pz;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_create(&b->space, pz, &rmr));
	b->space.max_rmrs = 1;
	KUNIT_EXPECT_EQ(test, IR(MEMORY), kdapl_rmr_create(&b->space, pz, &more));
	KUNIT_EXPECT_EQ(test, IS(PZ_IN_USE), kdapl_pz_free(&b->space, pz));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, rmr));
	bench_census(b);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_create(&b->space, pz, &more));
	b->space.max_rmrs = max;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, more));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));
	expect_same(b, &before);
}

/* A8: nor has a user more for opening more files. */
static void limit_of_a_user(struct kunit *test)
{
	struct kdapl_user *user = kdapl_user_get(KUIDT_INIT(90000), 2, 10);
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_RMR_HANDLE rmr, more;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, user);
	b->space.owner = user;
	while (kdapl_user_take_rmr(user))
		;
	KUNIT_EXPECT_EQ(test, IR(MEMORY), kdapl_rmr_create(&b->space, b->pz, &more));
	kdapl_user_give_rmr(user);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_create(&b->space, b->pz, &rmr));
		KUNIT_EXPECT_EQ(test, IR(MEMORY),
				kdapl_rmr_create(&b->space, b->pz, &more));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, rmr));
		expect_same(b, &before);
	}
	b->space.owner = NULL;
	/* What was freed is released by work of the user's. */
	rcu_barrier();
	kdapl_user_put(user);
}

/* ---- messages that invalidate the key (V3) -------------------------------- */

static void revocable_init(struct rig *r, struct bench *b)
{
	rig_init(r, b);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_rmr_free(&b->space, r->rmr));
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_rmr_create_revocable(&b->space, b->pz, &r->rmr));
}

static void bind_whole(struct rig *r, u64 cookie)
{
	KUNIT_ASSERT_EQ(r->b->test, DONE, bind(r, cookie));
	carry_out(r, 2);
	expect_bind(r, cookie, DAT_DTO_SUCCESS);
}

/* A message comes that has invalidated @key. */
static void message(struct rig *r, u32 key)
{
	const struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.byte_len = 1,
		.wc_flags = IB_WC_WITH_INVALIDATE,
		.ex.invalidate_rkey = key,
	};

	KUNIT_ASSERT_EQ(r->b->test, DONE, bench_recv(r->b, r->ep, 77));
	fake_complete_recv_as(bench_qp(r->b, r->ep), &wc);
}

/* Its receive succeeds, and says which key it was. */
static void expect_revoked(struct rig *r, u32 key)
{
	const struct kdat_dto_completion_event_data *dto;
	struct kunit *test = r->b->test;
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT,
			bench_event(r->b, r->b->evd, &event));
	dto = kdat_dto_completion(&event);
	KUNIT_EXPECT_EQ(test, 77ULL, (u64)dto->user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, (u32)DAT_DTO_SUCCESS, (u32)dto->status);
	KUNIT_EXPECT_EQ(test, key, (u32)dto->rmr_context);
	KUNIT_EXPECT_EQ(test, (u32)KDAPL_DID_RECV_INVALIDATE, *kdapl_event_operation(&event));
}

/* ... or it may not, and the connection breaks. */
static void expect_broken(struct rig *r)
{
	expect_dto(r->b, r->b->evd, 77, DAT_DTO_ERR_BAD_RESPONSE);
	expect_event(r->b, r->b->evd, DAT_CONNECTION_EVENT_BROKEN);
}

/*
 * What the device does for a key is not known from the message that names it, which may be older
 * than what the key shows.  So while the window is being renewed, nobody sees the receive, and
 * the LMR is in use, but nothing is shown any more.
 */
static void expect_renewal(struct rig *r)
{
	bench_stopped(r->b);
	look(r);
	KUNIT_EXPECT_EQ(r->b->test, 0U, (u32)shown(r));
	KUNIT_EXPECT_EQ(r->b->test, IS(LMR_IN_USE), free_lmr(r));
	bench_go_on(r->b);
}

static void revoke(struct rig *r, u32 key)
{
	bench_stop_at(r->b, FAKE_WINDOW_RENEW);
	message(r, key);
	expect_renewal(r);
	expect_revoked(r, key);
	KUNIT_EXPECT_EQ(r->b->test, 0U, (u32)shown(r));
}

/* V3 V4: nothing is shown any more, the LMR is not in use, and the RMR can be bound again. */
static void peer_revokes(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_RMR_CONTEXT first;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	first = r.context;
	revoke(&r, first);
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(&r));
	rig_register(&r);
	bind_whole(&r, 2);
	KUNIT_EXPECT_NE(test, (u32)first, (u32)r.context);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	/* The key before it is nobody's any more. */
	message(&r, first);
	expect_broken(&r);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
	r.rmr = DAT_HANDLE_NULL;
	rig_exit(&r);
}

/*
 * V4: a message that is seen when its key is there again, 256 binds later; the device has the
 * memory still.
 */
static void revoked_after_all_keys(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_RMR_CONTEXT first;
	struct rig r;
	int i;

	revocable_init(&r, b);
	bind_whole(&r, 0);
	first = r.context;
	for (i = 1; i <= 256; i++)
		bind_whole(&r, i);
	KUNIT_EXPECT_EQ(test, (u32)first, (u32)r.context);
	revoke(&r, first);
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(&r));
	rig_register(&r);
	rig_exit(&r);
}

/* V4: one that names the key of a bind that is outstanding, of which it may know nothing. */
static void revoked_before_it_is_shown(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	message(&r, r.context);
	expect_revoked(&r, r.context);
	bench_stop_at(b, FAKE_WINDOW_RENEW);
	carry_out(&r, 2);
	bench_stopped(b);
	look(&r);
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	bench_go_on(b);
	expect_bind(&r, 2, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(&r));
	rig_register(&r);
	rig_exit(&r);
}

/* V4: one that came before the bind which has replaced its key, and is seen after it: once. */
static void revoked_before_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_RMR_CONTEXT first;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	first = r.context;
	bind_whole(&r, 2);
	message(&r, first);
	expect_revoked(&r, first);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	KUNIT_EXPECT_EQ(test, DONE, unbind(&r, 3));
	first = shown(&r);
	carry_out(&r, 1);
	expect_bind(&r, 3, DAT_DTO_SUCCESS);
	message(&r, first);
	expect_revoked(&r, first);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_WINDOW_RENEW]);
	message(&r, first);
	expect_broken(&r);
	rig_exit(&r);
}

static DAT_RETURN bound_again(void *arg)
{
	return bind(arg, 2);
}

/* V4: a bind meanwhile waits, and is not refused. */
static void bound_while_it_is_revoked(struct kunit *test)
{
	unsigned long until = jiffies + BENCH_PATIENCE / 50;
	struct bench *b = test->priv;
	struct elsewhere e;
	struct rig r;
	u32 key;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	key = r.context;
	bench_stop_at(b, FAKE_WINDOW_RENEW);
	message(&r, key);
	bench_stopped(b);
	elsewhere_begin(&e, bound_again, &r);
	while (!READ_ONCE(e.done) && time_before(jiffies, until))
		usleep_range(1000, 2000);
	bench_go_on(b);
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&e));
	expect_revoked(&r, key);
	carry_out(&r, 2);
	expect_bind(&r, 2, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
	r.rmr = DAT_HANDLE_NULL;
	rig_exit(&r);
}

static DAT_RETURN rmr_freed_elsewhere(void *arg)
{
	struct rig *r = arg;

	return kdapl_rmr_free(&r->b->space, r->rmr);
}

/* V4: the RMR is freed meanwhile, and the receive is seen all the same. */
static void freed_while_it_is_revoked(struct kunit *test)
{
	struct bench *b = test->priv;
	struct elsewhere e;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	bench_stop_at(b, FAKE_WINDOW_RENEW);
	message(&r, r.context);
	bench_stopped(b);
	elsewhere_begin(&e, rmr_freed_elsewhere, &r);
	bench_go_on(b);
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&e));
	expect_revoked(&r, r.context);
	r.rmr = DAT_HANDLE_NULL;
	rig_exit(&r);
}

/* V3, mt:M81: the RMR of a consumer that does not know of such messages. */
static void not_to_be_revoked(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	rig_init(&r, b);
	bind_whole(&r, 1);
	message(&r, r.context);
	expect_broken(&r);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
	r.rmr = DAT_HANDLE_NULL;
	rig_exit(&r);
}

/* V3: a message to an endpoint of another zone has no say. */
static void revoked_from_another_zone(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE other;
	DAT_PZ_HANDLE pz;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz));
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_create(&b->space, b->ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					DAT_HANDLE_NULL, NULL, &other));
	KUNIT_EXPECT_FALSE(test, kdapl_rmr_take_key(r.evd, bench_ep_of(b, other), r.context));
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, other));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));
	message(&r, r.context);
	expect_revoked(&r, r.context);
	rig_exit(&r);
}

/* V3 V4, mt:M40: with a bind outstanding, each of the two keys goes for itself. */
static void revoked_with_a_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_RMR_CONTEXT first;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	first = r.context;
	/* The present key: the next one is shown all the same. */
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	message(&r, first);
	expect_revoked(&r, first);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, IS(LMR_IN_USE), free_lmr(&r));
	carry_out(&r, 2);
	expect_bind(&r, 2, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (u32)r.context, (u32)shown(&r));
	/* Both: none is. */
	first = r.context;
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 3));
	message(&r, first);
	expect_revoked(&r, first);
	message(&r, r.context);
	expect_revoked(&r, r.context);
	carry_out(&r, 2);
	expect_bind(&r, 3, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(&r));
	rig_register(&r);
	/* During an unbind, which has nothing left to do. */
	bind_whole(&r, 4);
	first = r.context;
	KUNIT_EXPECT_EQ(test, DONE, unbind(&r, 5));
	message(&r, first);
	expect_revoked(&r, first);
	/* None a second time. */
	message(&r, first);
	expect_dto(b, b->evd, 77, DAT_DTO_ERR_BAD_RESPONSE);
	expect_bind(&r, 5, DAT_DTO_ERR_FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	rig_exit(&r);
}

/* What the core does when the peer's message has come and the post is not through yet */
static void message_is_judged(void *arg)
{
	struct rig *r = arg;

	KUNIT_EXPECT_TRUE(r->b->test,
			  kdapl_rmr_take_key(r->evd, bench_ep_of(r->b, r->ep), r->context));
}

/* V4: the message comes while a bind is refused: what was bound before is gone, with its window. */
static void revoked_at_a_refused_bind(struct kunit *test)
{
	struct bench *b = test->priv;
	struct rig r;

	revocable_init(&r, b);
	bind_whole(&r, 1);
	fake_hook(b->fake, FAKE_POST_SEND, message_is_judged, &r);
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), bind(&r, 2));
	KUNIT_EXPECT_EQ(test, 0U, (u32)shown(&r));
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_WINDOW_RENEW]);
	KUNIT_EXPECT_EQ(test, DONE, free_lmr(&r));
	rig_register(&r);
	bind_whole(&r, 3);
	rig_exit(&r);
}

/* ---- reads to an RMR (V5) --------------------------------------------------- */

#define NO_SUCH_KEY	DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE)

static DAT_RETURN bind_rights(struct rig *r, u64 cookie, DAT_MEM_PRIV_FLAGS rights)
{
	DAT_RMR_COOKIE user = { .as_64 = cookie };

	return kdapl_rmr_bind(&r->b->space, r->rmr, &r->part, rights, r->ep, user, 0,
			      &r->context);
}

static DAT_RETURN read_to(struct rig *r, u32 key, u64 offset, u64 length, DAT_COUNT segments)
{
	const DAT_RMR_TRIPLET from = { .rmr_context = 9, .segment_length = length };
	const DAT_LMR_TRIPLET to = {
		.lmr_context = key,
		.virtual_address = r->part.virtual_address + offset,
		.segment_length = length,
	};
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RDMA_READ_TO_RMR,
		.segments = segments,
		.iov = &to,
		.cookie.as_64 = 55,
		.remote = &from,
	};

	return kdapl_ep_post(&r->b->space, r->ep, &dto);
}

/* V5: the device is told of the LMR's memory, from the post of the bind on. */
static void read_to_what_is_shown(struct kunit *test)
{
	struct bench *b = test->priv;
	const struct fake_wr *wr;
	struct rig r;

	revocable_init(&r, b);
	KUNIT_EXPECT_EQ(test, DONE, bind_rights(&r, 1, DAT_MEM_PRIV_REMOTE_WRITE_FLAG));
	KUNIT_EXPECT_EQ(test, DONE, read_to(&r, r.context, 8, 16, 1));
	wr = &bench_qp(b, r.ep)->send.wr[2];
	KUNIT_EXPECT_EQ(test, IB_WR_RDMA_READ, wr->opcode);
	KUNIT_EXPECT_EQ(test, 1U, wr->nr_sge);
	KUNIT_EXPECT_EQ(test, (u64)r.part.virtual_address + 8, (u64)wr->sge[0].addr);
	KUNIT_EXPECT_EQ(test, 16U, wr->sge[0].length);
	KUNIT_EXPECT_NE(test, (u32)r.context, wr->sge[0].lkey);
	carry_out(&r, 3);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	expect_dto(b, b->evd, 55, DAT_DTO_SUCCESS);
	/* All of it, and nothing at all, whatever is named then */
	KUNIT_EXPECT_EQ(test, DONE, read_to(&r, r.context, 0, 64, 1));
	KUNIT_EXPECT_EQ(test, DONE, read_to(&r, 0, 0, 0, 1));
	carry_out(&r, 2);
	expect_dto(b, b->evd, 55, DAT_DTO_SUCCESS);
	expect_dto(b, b->evd, 55, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
	r.rmr = DAT_HANDLE_NULL;
	rig_exit(&r);
}

/* V5: what is refused. */
static void read_to_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	u32 key;
	struct rig r;

	revocable_init(&r, b);
	KUNIT_EXPECT_EQ(test, NO_SUCH_KEY, read_to(&r, 0x12345600, 0, 8, 1));
	KUNIT_EXPECT_EQ(test, NO_SUCH_KEY, read_to(&r, 0, 0, 8, 1));
	KUNIT_EXPECT_EQ(test, NO_SUCH_KEY, read_to(&r, r.part.lmr_context, 0, 8, 1));
	KUNIT_EXPECT_EQ(test, DONE, bind_rights(&r, 1, DAT_MEM_PRIV_REMOTE_WRITE_FLAG));
	carry_out(&r, 2);
	expect_bind(&r, 1, DAT_DTO_SUCCESS);
	key = r.context;
	KUNIT_EXPECT_EQ(test, NO_SUCH_KEY, read_to(&r, key + 1, 0, 8, 1));
	KUNIT_EXPECT_EQ(test, IP(2), read_to(&r, key, 0, 8, 0));
	KUNIT_EXPECT_EQ(test, IP(2), read_to(&r, key, 0, 8, 2));
	KUNIT_EXPECT_EQ(test, IP(3), read_to(&r, key, -1, 8, 1));
	KUNIT_EXPECT_EQ(test, IP(3), read_to(&r, key, 57, 8, 1));
	KUNIT_EXPECT_EQ(test, IP(3), read_to(&r, key, 65, 8, 1));
	KUNIT_EXPECT_EQ(test, IP(3), read_to(&r, key, 8, -8, 1));
	/* The key that was taken away, also while the next bind is outstanding */
	KUNIT_EXPECT_EQ(test, DONE, bind(&r, 2));
	message(&r, key);
	expect_revoked(&r, key);
	KUNIT_EXPECT_EQ(test, NO_SUCH_KEY, read_to(&r, key, 0, 8, 1));
	carry_out(&r, 2);
	expect_bind(&r, 2, DAT_DTO_SUCCESS);
	/* This bind was for reads of peers only. */
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE),
			read_to(&r, r.context, 0, 8, 1));
	KUNIT_EXPECT_EQ(test, IP(3), read_to(&r, r.context, 57, 8, 1));
	key = r.context;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rmr_free(&b->space, r.rmr));
	r.rmr = DAT_HANDLE_NULL;
	KUNIT_EXPECT_EQ(test, NO_SUCH_KEY, read_to(&r, key, 0, 8, 1));
	expect_empty(b, b->evd);
	rig_exit(&r);
}

static struct kunit_case kdapl_rmr_cases[] = {
	KUNIT_CASE(binds_one_after_the_other),
	KUNIT_CASE(flags_of_binds),
	KUNIT_CASE(unsignalled_binds),
	KUNIT_CASE(refused_binds),
	KUNIT_CASE(half_of_a_bind),
	KUNIT_CASE(freed_without_grace_period),
	KUNIT_CASE(failed_binds),
	KUNIT_CASE(failure_waits_for_the_renewal),
	KUNIT_CASE(waits_behind_a_bind),
	KUNIT_CASE(lost_behind_a_bind),
	KUNIT_CASE(bound_by_a_lost_queue),
	KUNIT_CASE(lost_in_a_cq_that_is_too_small),
	KUNIT_CASE(settled_once),
	KUNIT_CASE(completion_of_a_former_bind),
	KUNIT_CASE(graceful_waits_for_a_bind),
	KUNIT_CASE(flushed_at_once),
	KUNIT_CASE(freed_with_a_bind),
	KUNIT_CASE(endpoint_freed_with_a_bind),
	KUNIT_CASE(device_goes_with_a_bind),
	KUNIT_CASE(removal_begins_before_a_bind),
	KUNIT_CASE(adapter_closes_with_a_bind),
	KUNIT_CASE(limit_of_a_space),
	KUNIT_CASE(limit_of_a_user),
	KUNIT_CASE(peer_revokes),
	KUNIT_CASE(revoked_after_all_keys),
	KUNIT_CASE(revoked_before_it_is_shown),
	KUNIT_CASE(revoked_before_a_bind),
	KUNIT_CASE(bound_while_it_is_revoked),
	KUNIT_CASE(freed_while_it_is_revoked),
	KUNIT_CASE(not_to_be_revoked),
	KUNIT_CASE(revoked_from_another_zone),
	KUNIT_CASE(revoked_with_a_bind),
	KUNIT_CASE(revoked_at_a_refused_bind),
	KUNIT_CASE(read_to_what_is_shown),
	KUNIT_CASE(read_to_refused),
	{}
};

static struct kunit_suite kdapl_rmr_suite = {
	.name = "kdapl_rmr",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_rmr_cases,
};

kunit_test_suite(kdapl_rmr_suite);
