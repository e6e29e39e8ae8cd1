// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_iwarp: what the core does on a port that speaks iWARP, where the device
 * itself ends queue pairs.  And how the connection of a registrar fails there: neither
 * Soft-iWARP nor the fake device can be made to fail it, so its event handler is called
 * directly.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include "core/user.h"
#include "glue/listen.h"
#include "glue/registrar_iw.h"
#include "stage.h"

/* ---- the connection of a registrar ------------------------------------------ */

/* As good as for ever */
#define LONG_TIME	(1000 * HZ)
#define SHORT_TIME	(HZ / 20)

/**
 * struct link_test - a link whose request is under way
 * @b: bench
 * @link: has no queue pairs
 * @active: its active id, as far as the handler looks at it
 * @other: another id of the link
 * @late: work for later
 */
struct link_test {
	struct bench *b;
	struct kdapl_iw_link *link;
	struct rdma_cm_id active, other;
	struct delayed_work late;
};

static struct link_test *link_begin(struct kunit *test)
{
	struct link_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->b = test->priv;
	t->link = kdapl_iw_link_alloc(t->b->fake->dev, NULL);
	KUNIT_ASSERT_NOT_NULL(test, t->link);
	t->active.context = t->link;
	t->other.context = t->link;
	t->link->active = &t->active;
	return t;
}

static void link_end(struct link_test *t)
{
	t->link->active = NULL;
	kdapl_iw_link_close(t->link);
}

static int link_tells(struct rdma_cm_id *id, enum rdma_cm_event_type what, int status)
{
	struct rdma_cm_event event = { .event = what, .status = status };

	return kdapl_iw_link_event(id, &event);
}

static int link_wait(struct link_test *t, unsigned long limit, unsigned long step)
{
	return kdapl_iw_link_wait(t->link, KDAPL_IW_UP, limit, step);
}

/*
 * The handler does not connect: the driver would wait for TCP in the CM's one thread, with
 * a socket in the CM's namespace.  Whoever opens the registrar does it next.
 */
static void registrar_routed(struct kunit *test)
{
	struct link_test *t = link_begin(test);

	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, kdapl_iw_link_wait(t->link, KDAPL_IW_ROUTED,
							     SHORT_TIME, SHORT_TIME));
	KUNIT_EXPECT_EQ(test, 0, link_tells(&t->active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0));
	KUNIT_EXPECT_EQ(test, 0, kdapl_iw_link_wait(t->link, KDAPL_IW_ROUTED,
						    LONG_TIME, LONG_TIME));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, link_wait(t, SHORT_TIME, SHORT_TIME));
	KUNIT_EXPECT_FALSE(test, kdapl_iw_link_lost(t->link));
	link_end(t);
}

/* The far end may hear of it first; that is not enough. */
static void registrar_connected(struct kunit *test)
{
	struct link_test *t = link_begin(test);

	KUNIT_EXPECT_EQ(test, 0, link_tells(&t->other, RDMA_CM_EVENT_ESTABLISHED, 0));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT,
			link_wait(t, SHORT_TIME, SHORT_TIME));
	KUNIT_EXPECT_EQ(test, 0, link_tells(&t->active, RDMA_CM_EVENT_ESTABLISHED, 0));
	KUNIT_EXPECT_EQ(test, 0, link_wait(t, LONG_TIME, LONG_TIME));
	KUNIT_EXPECT_FALSE(test, kdapl_iw_link_lost(t->link));
	/* Its address has gone; or the device. */
	KUNIT_EXPECT_EQ(test, 0, link_tells(&t->other, RDMA_CM_EVENT_DISCONNECTED, 0));
	KUNIT_EXPECT_TRUE(test, kdapl_iw_link_lost(t->link));
	link_end(t);
}

struct link_failure {
	const char *name;
	enum rdma_cm_event_type event;
	int status, error;
};

static const struct link_failure link_failures[] = {
	{ "no address", RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH, -EHOSTUNREACH },
	{ "no route", RDMA_CM_EVENT_ROUTE_ERROR, -ENETUNREACH, -ENETUNREACH },
	{ "no answer", RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, -ETIMEDOUT },
	{ "rejected", RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, -ECONNREFUSED },
	{ "failed", RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, -EINVAL },
	{ "disconnected", RDMA_CM_EVENT_DISCONNECTED, 0, -ECONNRESET },
	{ "removed", RDMA_CM_EVENT_DEVICE_REMOVAL, 0, -ECONNRESET },
};

static void link_failure_name(const struct link_failure *f, char *name)
{
	strscpy(name, f->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(link_failures, link_failures, link_failure_name);

static void registrar_fails(struct kunit *test)
{
	const struct link_failure *f = test->param_value;
	struct link_test *t = link_begin(test);

	KUNIT_EXPECT_EQ(test, 0, link_tells(&t->active, f->event, f->status));
	KUNIT_EXPECT_EQ(test, f->error,
			link_wait(t, LONG_TIME, LONG_TIME));
	KUNIT_EXPECT_TRUE(test, kdapl_iw_link_lost(t->link));
	/* What comes of it afterwards is not why. */
	link_tells(&t->active, RDMA_CM_EVENT_DISCONNECTED, 0);
	KUNIT_EXPECT_EQ(test, f->error,
			link_wait(t, LONG_TIME, LONG_TIME));
	link_end(t);
}

static void device_is_going(struct work_struct *work)
{
	struct link_test *t = container_of(to_delayed_work(work), struct link_test,
					   late);

	WRITE_ONCE(t->b->fake->dev->gone, true);
}

/* A10: who removes the device waits for nobody who waits for the CM. */
static void registrar_device_goes(struct kunit *test)
{
	struct link_test *t = link_begin(test);

	INIT_DELAYED_WORK(&t->late, device_is_going);
	schedule_delayed_work(&t->late, SHORT_TIME);
	KUNIT_EXPECT_EQ(test, -ENODEV,
			link_wait(t, LONG_TIME, SHORT_TIME));
	flush_delayed_work(&t->late);
	t->b->fake->dev->gone = false;
	link_end(t);
}

/* A stranger found the port number: he is turned away, and nothing else happens. */
static void registrar_stranger(struct kunit *test)
{
	struct link_test *t = link_begin(test);
	u8 guess[KDAPL_IW_SECRET] = {};
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_CONNECT_REQUEST,
		.param.conn.private_data = guess,
		.param.conn.private_data_len = sizeof(guess),
	};

	KUNIT_EXPECT_EQ(test, -EACCES, kdapl_iw_link_event(&t->other, &event));
	event.param.conn.private_data = t->link->secret;
	event.param.conn.private_data_len = sizeof(guess) - 1;
	KUNIT_EXPECT_EQ(test, -EACCES, kdapl_iw_link_event(&t->other, &event));
	event.param.conn.private_data = NULL;
	event.param.conn.private_data_len = 0;
	KUNIT_EXPECT_EQ(test, -EACCES, kdapl_iw_link_event(&t->other, &event));
	KUNIT_EXPECT_FALSE(test, kdapl_iw_link_lost(t->link));
	KUNIT_EXPECT_NULL(test, t->link->passive);
	link_end(t);
}

/* P7: neither a short queue of the consumer's nor a long one is the driver's. */
static void backlog(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 128, kdapl_iw_backlog(1));
	KUNIT_EXPECT_EQ(test, 500, kdapl_iw_backlog(500));
	KUNIT_EXPECT_EQ(test, 1024, kdapl_iw_backlog(1 << 20));
}

/* ---- connections -------------------------------------------------------------- */

static void stage_iwarp(struct bench *b, enum kdapl_ep_state state, struct stage *s)
{
	b->fake->dev->iwarp = true;
	bench_stage(b, state, s);
}

static void expect_flushed(struct bench *b, u32 event)
{
	DAT_EVENT e;
	int i;

	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(b->test, (u32)DAT_DTO_COMPLETION_EVENT,
				bench_event(b, b->evd, &e));
		KUNIT_EXPECT_EQ(b->test, FLUSHED,
				e.event_data.dto_completion_event_data.status);
	}
	expect_event(b, b->evd, event);
	expect_empty(b, b->evd);
}

/*
 * D50: the device flushes a queue pair whose peer has disconnected, and the CM tells
 * later: nobody sees the completions before it is known that nothing broke.
 */
static void flushed_before_told(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_flush(bench_qp(b, s.ep));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, s.ep));
	fake_peer_disconnected(s.id);
	expect_flushed(b, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* T22, T32: ... and what it had received before is seen at once. */
static void received_before_flushed(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_complete_recv(bench_qp(b, s.ep), 0, IB_WC_SUCCESS, 1, false);
	fake_flush(bench_qp(b, s.ep));
	expect_dto(b, b->evd, 100, DTO_OK);
	expect_empty(b, b->evd);
	fake_peer_disconnected(s.id);
	while (s.posts-- > 1)
		expect_event(b, b->evd, DAT_DTO_COMPLETION_EVENT);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* E101, E106: ... and are seen then by an upcall, though no event of the connection wakes it. */
static void flushed_to_an_upcall(struct kunit *test)
{
	static const DAT_EP_ATTR attr = {
		.max_recv_dtos = 4,
		.max_recv_iov = 1,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		.max_request_dtos = 4,
		.max_request_iov = 1,
	};
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 16, DAT_EVD_DTO_FLAG);
	struct kdapl_evd *evd = kdapl_evd_find(&b->space, dto);
	DAT_EP_HANDLE ep;
	struct taker *t;

	KUNIT_ASSERT_NOT_NULL(test, evd);
	b->fake->dev->iwarp = true;
	t = taker_start(b, evd);
	ep = bench_ep_attr(b, dto, b->evd, b->evd, &attr);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 0));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 1));
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_flush(bench_qp(b, ep));
	expect_taken(b, t, 0);
	fake_peer_disconnected(bench_id(b, ep));
	expect_taken(b, t, 2);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 0, kdapl_evd_set_sink(evd, NULL, NULL, true));
	kdapl_evd_put(evd);
}

/* E44: ... and of another endpoint on the same EVD it is seen as well, before and after. */
static void others_do_not_wait(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s, other;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	bench_stage(b, KDAPL_EP_CONNECTED, &other);
	fake_flush(bench_qp(b, s.ep));
	fake_complete_recv(bench_qp(b, other.ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 100, DTO_OK);
	expect_empty(b, b->evd);
	fake_peer_disconnected(s.id);
	expect_flushed(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	fake_complete_recv(bench_qp(b, other.ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 101, DTO_OK);
	expect_empty(b, b->evd);
}

/* Waits until a connection awaits the CM, and has the CM's time be over. */
static void no_word_of_cm(struct bench *b, DAT_EP_HANDLE ep)
{
	struct kdapl_conn *conn = bench_conn(b, ep);

	bench_settle(b);
	KUNIT_EXPECT_NE(b->test, 0UL, READ_ONCE(conn->cm_until));
	WRITE_ONCE(conn->cm_until, jiffies - 1);
	kdapl_conn_run(conn);
}

/* D52: a CM that never tells holds nothing up for ever. */
static void flushed_never_told(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	KUNIT_EXPECT_EQ(test, 0UL, bench_conn(b, s.ep)->cm_until);
	fake_flush(bench_qp(b, s.ep));
	expect_empty(b, b->evd);
	no_word_of_cm(b, s.ep);
	expect_flushed(b, DAT_CONNECTION_EVENT_BROKEN);
}

/* D52, E70: what broke it the device says of the queue pair, not its state. */
static void flushed_after_error(struct kunit *test)
{
	struct bench *b = test->priv;
	struct fake_qp *qp;
	struct stage s;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	qp = bench_qp(b, s.ep);
	/* The core may move it to error at once, and lets it go when it is flushed. */
	b->fake->hold_flush = true;
	fake_queue_event(qp, IB_EVENT_QP_ACCESS_ERR);
	fake_flush(qp);
	b->fake->hold_flush = false;
	fake_peer_disconnected(s.id);
	expect_async(b, DAT_ASYNC_ERROR_EP_BROKEN, s.ep, DAT_EP_OTHER_ERROR);
	expect_flushed(b, DAT_CONNECTION_EVENT_BROKEN);
}

/* D52: a request that failed breaks it here as well. */
static void failed_request(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;
	DAT_EVENT e;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_LOC_QP_OP_ERR);
	KUNIT_ASSERT_EQ(test, (u32)DAT_DTO_COMPLETION_EVENT,
			bench_event(b, b->evd, &e));
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_LOCAL_EP,
			e.event_data.dto_completion_event_data.status);
	while (bench_event(b, b->evd, &e) == DAT_DTO_COMPLETION_EVENT)
		;
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_BROKEN, e.event_number);
}

/* C8: on some drivers the call itself says that nobody listens. */
static void refused_at_once(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);

	b->fake->dev->iwarp = true;
	fake_fail(b->fake, FAKE_CM_CONNECT, 1, -ECONNREFUSED);
	bench_attempt(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/**
 * struct tcp - a peer that does not answer the driver's TCP before bench_go_on()
 * @b: bench
 * @ep: whose attempt it is
 * @in_callback: the core called the driver from a callback of the CM
 * @given_up: the driver waits no longer
 */
struct tcp {
	struct bench *b;
	struct kdapl_ep *ep;
	bool in_callback, given_up;
};

static void await_tcp(void *arg)
{
	struct tcp *tcp = arg;
	struct fake_id *id = fake_id_of(tcp->b->fake, tcp->ep);

	tcp->in_callback = !id || READ_ONCE(id->caller) == current;
	if (!tcp->in_callback)
		tcp->given_up = !wait_for_completion_timeout(&tcp->b->go_on,
							     LONG_TIME);
}

/* C10, D31: the driver waits for TCP, and nobody but the attempt waits for the driver. */
static void slow_connect(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE slow = bench_ep(b, b->evd), quick = bench_ep(b, b->evd);
	struct tcp *tcp = kunit_kzalloc(test, sizeof(*tcp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tcp);
	*tcp = (struct tcp) { .b = b, .ep = bench_ep_of(b, slow) };
	b->fake->dev->iwarp = true;
	fake_hook(b->fake, FAKE_CM_CONNECT, await_tcp, tcp);
	bench_request(b, slow);
	KUNIT_EXPECT_TRUE(test, fake_wait_calls(b->fake, FAKE_CM_CONNECT, 1));
	/* However many there are: objects are released here, among other things. */
	flush_workqueue(kdapl_slow_wq);
	KUNIT_EXPECT_FALSE(test, tcp->given_up);
	bench_connect(b, quick);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, slow));
	bench_go_on(b);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_FALSE(test, tcp->in_callback);
}

/* Whether the queue pair is in error when the CM is asked to disconnect */
struct at_close {
	struct bench *b;
	u32 errors;
};

static void note_errors(void *arg)
{
	struct at_close *at = arg;

	at->errors = at->b->fake->calls[FAKE_QP_ERROR];
}

/* D20: with requests outstanding the CM must not close in order. */
static void abrupt_close(struct kunit *test)
{
	struct at_close at = { .b = test->priv, .errors = 9 };
	struct bench *b = test->priv;
	struct stage s;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_hook(b->fake, FAKE_CM_DISCONNECT, note_errors, &at);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
	expect_flushed(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 1U, at.errors);
}

/* D11: without, it must, or the peer could lose what was sent last. */
static void graceful_close(struct kunit *test)
{
	struct at_close at = { .b = test->priv, .errors = 9 };
	struct bench *b = test->priv;
	struct stage s;
	DAT_EVENT e;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_hook(b->fake, FAKE_CM_DISCONNECT, note_errors, &at);
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, s.ep));
	fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);
	fake_complete_send(bench_qp(b, s.ep), 0, IB_WC_SUCCESS);
	while (bench_event(b, b->evd, &e) == DAT_DTO_COMPLETION_EVENT)
		;
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_EVENT_DISCONNECTED, e.event_number);
	KUNIT_EXPECT_EQ(test, 0U, at.errors);
}

/* ---- an end before the CM has told of the beginning ------------------------------ */

struct early;

/* struct early_stage - a stage in COMPLETION_PENDING, its bench, and how it is to end */
struct early_stage {
	struct bench *b;
	struct stage s;
	const struct early *how;
};

static DAT_RETURN early_abrupt(struct early_stage *e)
{
	return bench_abrupt(e->b, e->s.ep);
}

static DAT_RETURN early_graceful(struct early_stage *e)
{
	return bench_graceful(e->b, e->s.ep);
}

static DAT_RETURN early_free(struct early_stage *e)
{
	return kdapl_ep_free(&e->b->space, e->s.ep);
}

static DAT_RETURN early_close(struct early_stage *e)
{
	return kdapl_ia_close(&e->b->space, e->b->ia, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN early_kill(struct early_stage *e)
{
	kdapl_ia_close_all(&e->b->space);
	return DAT_SUCCESS;
}

static DAT_RETURN early_removal(struct early_stage *e)
{
	kdapl_ia_device_gone(bench_ia(e->b));
	return DAT_SUCCESS;
}

static DAT_RETURN early_error(struct early_stage *e)
{
	fake_queue_event(bench_qp(e->b, e->s.ep), IB_EVENT_QP_ACCESS_ERR);
	return DAT_SUCCESS;
}

/**
 * struct early - how an accepted connection ends before the CM has told that it is established
 * @name: of the case
 * @end: ends it
 * @message: a message has come before, which confirms the connection to the endpoint (T22)
 * @returns: the call does not wait for the end
 */
struct early {
	const char *name;
	DAT_RETURN (*end)(struct early_stage *e);
	bool message;
	bool returns;
};

static DAT_RETURN early_end(void *arg)
{
	struct early_stage *e = arg;

	return e->how->end(e);
}

static const struct early earlies[] = {
	{ "abrupt", early_abrupt, .returns = true },
	{ "graceful", early_graceful, .returns = true },
	{ "error", early_error, .returns = true },
	{ "free", early_free },
	{ "close", early_close },
	{ "kill", early_kill },
	{ "removal", early_removal },
	{ "abrupt after a message", early_abrupt, .message = true, .returns = true },
	{ "graceful after a message", early_graceful, .message = true, .returns = true },
	{ "free after a message", early_free, .message = true },
	{ "close after a message", early_close, .message = true },
	{ "removal after a message", early_removal, .message = true },
};

static void early_name(const struct early *e, char *name)
{
	strscpy(name, e->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(earlies, earlies, early_name);

/* The connection has begun to end, and nobody has touched its queue pair or its id. */
static void expect_untouched(struct bench *b, const u32 *calls)
{
	static const enum fake_op ops[] = {
		FAKE_QP_ERROR, FAKE_QP_DESTROY, FAKE_CM_DISCONNECT, FAKE_CM_DESTROY,
	};
	int i;

	bench_settle(b);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		KUNIT_EXPECT_EQ(b->test, calls[ops[i]], b->fake->calls[ops[i]]);
}

/*
 * P51, D35: a driver for iWARP tells iwcm of an end when the queue pair leaves RTS, and iwcm has
 * a BUG() for one that it hears of before the beginning.  So an end of whatever kind waits until
 * it has heard, and then takes its course; or until the peer has had its time (@late).
 */
static void end_early(struct kunit *test, bool late)
{
	const struct early *how = test->param_value;
	struct bench *b = test->priv;
	struct early_stage e = { .b = b, .how = how };
	u32 calls[FAKE_NR_OPS];
	struct kdapl_conn *conn;
	struct elsewhere call;

	stage_iwarp(b, KDAPL_EP_COMPLETION_PENDING, &e.s);
	conn = bench_conn(b, e.s.ep);
	kdapl_conn_get(conn);
	WRITE_ONCE(conn->confirm_until, jiffies + BENCH_AGES);
	if (how->message) {
		fake_complete_recv(bench_qp(b, e.s.ep), 0, IB_WC_SUCCESS, 1, false);
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	bench_settle(b);
	memcpy(calls, b->fake->calls, sizeof(calls));
	elsewhere_begin(&call, early_end, &e);
	KUNIT_EXPECT_EQ(test, how->returns, elsewhere_ends(&call, how->returns ?
							   USEC_PER_SEC * 60 : 200000));
	expect_untouched(b, calls);
	if (late) {
		WRITE_ONCE(conn->confirm_until, jiffies - 1);
		kdapl_conn_run(conn);
	} else {
		fake_confirmed(e.s.id);
	}
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&call));
	KUNIT_EXPECT_TRUE(test, fake_wait_calls(b->fake, FAKE_QP_DESTROY,
						calls[FAKE_QP_DESTROY] + 1));
	kdapl_conn_put(conn);
}

static void ends_before_confirmed(struct kunit *test)
{
	end_early(test, false);
}

static void never_confirmed(struct kunit *test)
{
	end_early(test, true);
}

/* Elsewhere the end of a queue pair is nobody's affair but ours, and does not wait (D35). */
static void ends_at_once_elsewhere(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	bench_stage(b, KDAPL_EP_COMPLETION_PENDING, &s);
	WRITE_ONCE(bench_conn(b, s.ep)->confirm_until, jiffies + BENCH_AGES);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	bench_linger_on(s.id);
	bench_unstage(b, &s);
}

/* ---- a device that does not take a post now ------------------------------------- */

/*
 * mt:T12: siw takes no receive while it moves the queue pair.  The receive waits, those
 * after it wait behind it, and the device gets them as soon as it takes them.
 */
static void receive_not_now(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;
	u32 calls;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	calls = b->fake->calls[FAKE_POST_RECV];
	fake_fail(b->fake, FAKE_POST_RECV, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, s.ep, 7));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, s.ep, 8));
	/* One was refused. */
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_POST_RECV, calls + 3));
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, s.ep, 9));
	KUNIT_EXPECT_EQ(test, calls + 4, b->fake->calls[FAKE_POST_RECV]);
	KUNIT_EXPECT_EQ(test, 5U, bench_qp(b, s.ep)->recv.nr);
	fake_complete_recv(bench_qp(b, s.ep), 2, IB_WC_SUCCESS, 1, false);
	fake_complete_recv(bench_qp(b, s.ep), 2, IB_WC_SUCCESS, 1, false);
	fake_complete_recv(bench_qp(b, s.ep), 2, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 7, DTO_OK);
	expect_dto(b, b->evd, 8, DTO_OK);
	expect_dto(b, b->evd, 9, DTO_OK);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, s.ep));
}

/* A7: ... and so do those that were posted before there was a queue pair. */
static void held_not_now(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	u32 calls = b->fake->calls[FAKE_POST_RECV];

	b->fake->dev->iwarp = true;
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 1));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 2));
	fake_fail(b->fake, FAKE_POST_RECV, 2, -ENOTCONN);
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_POST_RECV, calls + 3));
	bench_settle(b);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 1, DTO_OK);
	expect_dto(b, b->evd, 2, DTO_OK);
	expect_empty(b, b->evd);
}

/*
 * mt:T9, mt:T20: siw takes no request once it has begun to end the connection, which its
 * CM tells later.  The request is flushed behind those that were posted before.
 */
static void request_not_now(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;
	DAT_EVENT e;
	int i;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, s.ep, 7, 0));
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, s.ep, 8, 0));
	KUNIT_EXPECT_EQ(test, 2U, bench_qp(b, s.ep)->send.nr);
	fake_flush(bench_qp(b, s.ep));
	expect_empty(b, b->evd);
	fake_peer_disconnected(s.id);
	for (i = 0; i < 4; i++)
		expect_event(b, b->evd, DAT_DTO_COMPLETION_EVENT);
	expect_dto(b, b->evd, 7, FLUSHED);
	expect_dto(b, b->evd, 8, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, EMPTY, kdapl_evd_dequeue(&b->space, b->evd, &e));
}

/* ... also if the CM never tells. */
static void request_never_told(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;
	int i;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, s.ep, 7, 0));
	no_word_of_cm(b, s.ep);
	for (i = 0; i < 4; i++)
		expect_event(b, b->evd, DAT_DTO_COMPLETION_EVENT);
	expect_dto(b, b->evd, 7, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_empty(b, b->evd);
}

/* On other devices ENOTCONN is what any other error is. */
static void not_connected(struct kunit *test)
{
	struct bench *b = test->priv;
	struct stage s;

	bench_stage(b, KDAPL_EP_CONNECTED, &s);
	fake_fail(b->fake, FAKE_POST_RECV, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, INTERNAL, bench_recv(b, s.ep, 7));
	fake_fail(b->fake, FAKE_POST_SEND, 1, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, INTERNAL, bench_send(b, s.ep, 8, 0));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, s.ep));
}

/* ---- memory, and who may open it ---------------------------------------------- */

/* mt:T35: the sink of a read needs the right of remote write, a receive does not. */
static void read_sink(struct kunit *test)
{
	DAT_RMR_TRIPLET remote = { .rmr_context = 1, .segment_length = 1 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	struct bench *b = test->priv;
	DAT_REGION_DESCRIPTION region = { .for_va = b->memory };
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 1,
	};
	DAT_LMR_HANDLE lmr;
	struct stage s;

	stage_iwarp(b, KDAPL_EP_CONNECTED, &s);
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_lmr_create(&b->space, b->ia, DAT_MEM_TYPE_VIRTUAL,
					 region, PAGE_SIZE, b->pz,
					 DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
					 DAT_MEM_PRIV_REMOTE_READ_FLAG,
					 DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
					 &iov.lmr_context, NULL, NULL, NULL));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
					DAT_PRIVILEGES_RDMA_WRITE),
			fake_post(&b->space, s.ep, KDAPL_DTO_RDMA_READ, 1, &iov,
				  cookie, &remote, 0));
	KUNIT_EXPECT_EQ(test, DONE,
			fake_post_recv(&b->space, s.ep, 1, &iov, cookie, 0));
	iov.lmr_context = b->lmr_context;
	KUNIT_EXPECT_EQ(test, DONE,
			fake_post(&b->space, s.ep, KDAPL_DTO_RDMA_READ, 1, &iov,
				  cookie, &remote, 0));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s.ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(&b->space, lmr));
}

/* ---- what is done for a user ---------------------------------------------------- */

/* More than may wait at once */
#define MANY	64

/* Users who have workqueues of their own at a time */
#define WITH_QUEUES	1000

/* struct waiting - an attempt, or a close, that waits for the driver until @go */
struct waiting {
	struct work_struct work;
	struct completion *go;
	atomic_t *begun;
};

/* struct apart - one user has very many that wait, and another one a last one */
struct apart {
	struct waiting *w;
	struct kdapl_user *user[2];
	struct completion go;
	atomic_t begun;
	atomic_t other;
};

static bool apart_begin(struct kunit *test, struct apart *a)
{
	int i;

	a->w = kunit_kcalloc(test, MANY + 1, sizeof(*a->w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, a->w);
	init_completion(&a->go);
	for (i = 0; i <= MANY; i++) {
		a->w[i].go = &a->go;
		a->w[i].begun = i < MANY ? &a->begun : &a->other;
	}
	for (i = 0; i < 2; i++)
		a->user[i] = kdapl_user_get(KUIDT_INIT(90000 + i), 2, 10);
	KUNIT_EXPECT_FALSE(test, IS_ERR(a->user[0]) || IS_ERR(a->user[1]));
	return !IS_ERR(a->user[0]) && !IS_ERR(a->user[1]);
}

/* Of those of the first user @most have begun, and that of the other one has. All may end. */
static void apart_expect(struct kunit *test, struct apart *a, int most)
{
	wait_var_event_timeout(&a->begun, atomic_read(&a->begun) >= most, BENCH_PATIENCE);
	wait_var_event_timeout(&a->other, atomic_read(&a->other), BENCH_PATIENCE);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&a->other));
	KUNIT_EXPECT_EQ(test, most, atomic_read(&a->begun));
	complete_all(&a->go);
}

static void apart_end(struct apart *a)
{
	int i;

	for (i = 0; i < 2; i++)
		if (!IS_ERR_OR_NULL(a->user[i]))
			kdapl_user_put(a->user[i]);
}

static void wait_for_driver(struct work_struct *work)
{
	struct waiting *w = container_of(work, struct waiting, work);

	atomic_inc(w->begun);
	wake_up_var(w->begun);
	wait_for_completion(w->go);
}

/* What one user has wait on such a workqueue has a limit, and holds up nobody else. */
static void apart_on(struct kunit *test, int most,
		     struct workqueue_struct *(*wq_of)(const struct kdapl_user *user))
{
	struct apart a = {};
	int i;

	if (!apart_begin(test, &a))
		goto out;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_TRUE(test, kdapl_user_open_iwarp(a.user[i]));
	for (i = 0; i <= MANY; i++) {
		INIT_WORK(&a.w[i].work, wait_for_driver);
		queue_work(wq_of(a.user[i == MANY]), &a.w[i].work);
	}
	apart_expect(test, &a, most);
	for (i = 0; i <= MANY; i++)
		flush_work(&a.w[i].work);
	KUNIT_EXPECT_EQ(test, MANY, atomic_read(&a.begun));
out:
	apart_end(&a);
}

/* A8: attempts that wait for a driver. */
static void users_apart(struct kunit *test)
{
	apart_on(test, 32, kdapl_user_iwarp_wq);
}

/* A8, I19: files that other processes than their openers have closed last. */
static void closings_apart(struct kunit *test)
{
	apart_on(test, 8, kdapl_user_close_wq);
}

/* struct last - a user's last file is closed on a workqueue of his */
struct last {
	struct work_struct work;
	struct kdapl_user *user;
};

static void close_last(struct work_struct *work)
{
	kdapl_user_put(container_of(work, struct last, work)->user);
}

/* A8, I19: a user may have so many files, and his workqueues go with the last one. */
static void files_of_a_user(struct kunit *test)
{
	struct last last = { .user = kdapl_user_get(KUIDT_INIT(90000), 2, 10) };
	struct kdapl_user *user = kdapl_user_get(KUIDT_INIT(90000), 2, 10);

	INIT_WORK_ONSTACK(&last.work, close_last);
	KUNIT_ASSERT_FALSE(test, IS_ERR(user));
	KUNIT_EXPECT_PTR_EQ(test, last.user, user);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EMFILE), kdapl_user_get(KUIDT_INIT(90000), 2, 10));
	kdapl_user_put(user);
	user = kdapl_user_get(KUIDT_INIT(90000), 2, 10);
	KUNIT_ASSERT_PTR_EQ(test, last.user, user);
	kdapl_user_put(user);
	queue_work(kdapl_user_close_wq(user), &last.work);
	flush_work(&last.work);
	destroy_work_on_stack(&last.work);
	user = kdapl_user_get(KUIDT_INIT(90000), 1, 10);
	KUNIT_ASSERT_FALSE(test, IS_ERR(user));
	kdapl_user_put(user);
}

/*
 * A8: a user for whom there is no workqueue any more shares one with others, and another one for
 * what waits for a driver, so that this does not hold up the rest.
 */
static void users_who_share(struct kunit *test)
{
	struct kdapl_user **user = kunit_kcalloc(test, WITH_QUEUES + 1, sizeof(*user), GFP_KERNEL);
	int n = 0;

	KUNIT_ASSERT_NOT_NULL(test, user);
	do
		user[n] = kdapl_user_get(KUIDT_INIT(90000 + n), 2, 10);
	while (!IS_ERR(user[n]) && ++n <= WITH_QUEUES);
	KUNIT_EXPECT_EQ(test, WITH_QUEUES + 1, n);
	if (n > WITH_QUEUES) {
		KUNIT_EXPECT_PTR_NE(test, kdapl_users_wq, kdapl_user_wq(user[0]));
		KUNIT_EXPECT_TRUE(test, kdapl_user_open_iwarp(user[WITH_QUEUES]));
		KUNIT_EXPECT_PTR_EQ(test, kdapl_users_wq, kdapl_user_wq(user[WITH_QUEUES]));
		KUNIT_EXPECT_PTR_EQ(test, kdapl_users_iwarp_wq,
				    kdapl_user_iwarp_wq(user[WITH_QUEUES]));
		KUNIT_EXPECT_PTR_NE(test, kdapl_users_close_wq, kdapl_user_close_wq(user[0]));
		KUNIT_EXPECT_PTR_EQ(test, kdapl_users_close_wq,
				    kdapl_user_close_wq(user[WITH_QUEUES]));
	}
	while (n--)
		kdapl_user_put(user[n]);
}

/* struct attempt - a thread that connects an endpoint */
struct attempt {
	struct elsewhere call;
	struct bench *b;
	DAT_EP_HANDLE ep;
};

static DAT_RETURN connects(void *arg)
{
	struct attempt *a = arg;

	return bench_do_connect(a->b, a->ep);
}

/* A8: a connect that fails at once does not wait for the peers of other attempts. */
static void fails_while_others_wait(struct kunit *test)
{
	struct bench *b = test->priv;
	struct attempt a = { .b = b, .ep = bench_ep(b, b->evd) };
	struct waiting *w = kunit_kcalloc(test, MANY, sizeof(*w), GFP_KERNEL);
	struct completion go;
	atomic_t begun = ATOMIC_INIT(0);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	b->fake->dev->iwarp = true;
	init_completion(&go);
	for (i = 0; i < MANY; i++) {
		w[i].go = &go;
		w[i].begun = &begun;
		INIT_WORK(&w[i].work, wait_for_driver);
		queue_work(kdapl_iwarp_wq, &w[i].work);
	}
	wait_var_event_timeout(&begun, atomic_read(&begun) >= 32, BENCH_PATIENCE);
	KUNIT_EXPECT_EQ(test, 32, atomic_read(&begun));
	fake_fail(b->fake, FAKE_QP_CREATE, 1, -ENOMEM);
	elsewhere_begin(&a.call, connects, &a);
	if (!elsewhere_ends(&a.call, 120 * USEC_PER_SEC))
		KUNIT_FAIL(test, "the connect waits for other attempts");
	complete_all(&go);
	KUNIT_EXPECT_EQ(test, IR(TEP), elsewhere_end(&a.call));
	for (i = 0; i < MANY; i++)
		flush_work(&w[i].work);
	expect_empty(b, b->evd);
}

static struct kunit_case kdapl_iwarp_cases[] = {
	KUNIT_CASE(registrar_routed),
	KUNIT_CASE(registrar_connected),
	KUNIT_CASE_PARAM(registrar_fails, link_failures_gen_params),
	KUNIT_CASE(registrar_device_goes),
	KUNIT_CASE(registrar_stranger),
	KUNIT_CASE(backlog),
	KUNIT_CASE(flushed_before_told),
	KUNIT_CASE(received_before_flushed),
	KUNIT_CASE(flushed_to_an_upcall),
	KUNIT_CASE(others_do_not_wait),
	KUNIT_CASE(flushed_never_told),
	KUNIT_CASE(flushed_after_error),
	KUNIT_CASE(failed_request),
	KUNIT_CASE(refused_at_once),
	KUNIT_CASE(slow_connect),
	KUNIT_CASE(abrupt_close),
	KUNIT_CASE(graceful_close),
	KUNIT_CASE_PARAM(ends_before_confirmed, earlies_gen_params),
	KUNIT_CASE_PARAM(never_confirmed, earlies_gen_params),
	KUNIT_CASE(ends_at_once_elsewhere),
	KUNIT_CASE(receive_not_now),
	KUNIT_CASE(held_not_now),
	KUNIT_CASE(request_not_now),
	KUNIT_CASE(request_never_told),
	KUNIT_CASE(not_connected),
	KUNIT_CASE(read_sink),
	KUNIT_CASE(users_apart),
	KUNIT_CASE(closings_apart),
	KUNIT_CASE(files_of_a_user),
	KUNIT_CASE(users_who_share),
	KUNIT_CASE(fails_while_others_wait),
	{}
};

static struct kunit_suite kdapl_iwarp_suite = {
	.name = "kdapl_iwarp",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_iwarp_cases,
};

kunit_test_suite(kdapl_iwarp_suite);
