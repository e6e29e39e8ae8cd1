// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints in any state, and the census; stage.h tells what they are for.
 */
#include <linux/iopoll.h>
#include "stage.h"

#define STAGE_QUAL	7900

/* ---- the census -------------------------------------------------------------- */

static void count_evd(struct kdapl_evd *evd, struct census *c)
{
	const struct kdapl_streams *s = &evd->streams;
	struct kdapl_evd_cq *cq;
	int i;

	for (i = 0; i < KDAPL_STREAM_NR_FLAGS; i++)
		c->streams += s->recv[i] + s->request[i];
	c->streams += s->other;
	list_for_each_entry(cq, &evd->cqs, on_evd)
		c->streams += cq->entries + cq->nr_shares +
			atomic_read(&cq->nr_qps);
	c->room += evd->nr_fifo + evd->nr_slots;
}

static void count_objects(struct kdapl_ia *ia, struct census *c)
{
	struct kdapl_object *obj;
	struct kdapl_conn *conn;
	int type;

	mutex_lock(&ia->lock);
	for (type = 0; type < KDAPL_NR_TYPES; type++) {
		list_for_each_entry(obj, &ia->objects[type], on_ia) {
			c->users += atomic_read(&obj->users);
			if (type == KDAPL_EVD)
				count_evd(kdapl_evd_of(obj), c);
		}
	}
	mutex_unlock(&ia->lock);
	spin_lock_irq(&ia->linger_lock);
	list_for_each_entry(conn, &ia->linger, linger)
		c->lingering++;
	spin_unlock_irq(&ia->linger_lock);
}

static void count_device(struct fake_device *fake, struct census *c)
{
	struct list_head *entry;

	spin_lock_irq(&fake->lock);
	c->zones = fake->nr_zones;
	c->regions = fake->nr_regions;
	c->lists = fake->nr_lists;
	c->windows = fake->nr_windows;
	list_for_each(entry, &fake->qps)
		c->qps++;
	list_for_each(entry, &fake->ids)
		c->ids++;
	spin_unlock_irq(&fake->lock);
}

struct census bench_census(struct bench *b)
{
	struct census c = {};
	struct kdapl_object *obj;
	int live, rounds = 0;

	/*
	 * A release drops references, which leads to further releases: that of an endpoint to
	 * that of its memory, its zone and its adapter. Not every round takes an object away.
	 */
	do {
		live = atomic_read(&b->space.nr_live);
		bench_settle(b);
		rcu_barrier();
		bench_settle(b);
	} while (++rounds < 3 || atomic_read(&b->space.nr_live) != live);
	c.handles = b->space.nr_objects;
	c.live = atomic_read(&b->space.nr_live);
	mutex_lock(&b->space.ia_lock);
	list_for_each_entry(obj, &b->space.ias, on_ia)
		count_objects(container_of(obj, struct kdapl_ia, obj), &c);
	mutex_unlock(&b->space.ia_lock);
	count_device(b->fake, &c);
	return c;
}

void __expect_same(struct bench *b, const struct census *before, int line)
{
	struct census now = bench_census(b);

#define SAME(field) \
	KUNIT_EXPECT_EQ_MSG(b->test, now.field, before->field, \
			    "expected in line %d", line)
	SAME(handles);
	SAME(live);
	SAME(users);
	SAME(streams);
	SAME(room);
	SAME(lingering);
	SAME(qps);
	SAME(ids);
	SAME(zones);
	SAME(regions);
	SAME(lists);
	SAME(windows);
#undef SAME
}

/* ---- small things -------------------------------------------------------------- */

struct kdapl_ia *bench_ia(struct bench *b)
{
	struct kdapl_object *obj = kdapl_object_find(&b->space, b->ia, KDAPL_IA);

	KUNIT_ASSERT_NOT_NULL(b->test, obj);
	kdapl_object_put(obj);
	return obj->ia;
}

struct fake_cq *bench_cq(struct kdapl_evd *evd)
{
	struct kdapl_evd_cq *c;

	c = list_first_entry(&evd->cqs, struct kdapl_evd_cq, on_evd);
	return container_of(c->cq.ib, struct fake_cq, ib);
}

static bool is_armed(struct kdapl_evd *evd, bool solicited)
{
	struct fake_cq *cq = bench_cq(evd);

	return READ_ONCE(cq->armed) && READ_ONCE(cq->solicited_only) == solicited;
}

bool bench_armed(struct kdapl_evd *evd, bool solicited)
{
	unsigned long until = jiffies + BENCH_PATIENCE;

	while (!is_armed(evd, solicited) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	return is_armed(evd, solicited);
}

bool bench_evd_rests(struct kdapl_evd *evd, bool solicited)
{
	kdapl_evd_await_run(evd);
	return bench_armed(evd, solicited);
}

void bench_no_watch(struct kdapl_evd *evd)
{
	flush_delayed_work(&evd->watch);
	mod_delayed_work(kdapl_kernel_wq, &evd->watch, BENCH_AGES);
}

struct kdapl_conn *bench_conn(struct bench *b, DAT_EP_HANDLE ep)
{
	struct kdapl_conn *conn = bench_ep_of(b, ep)->conn;

	KUNIT_ASSERT_NOT_NULL(b->test, conn);
	return conn;
}

static bool flush_began(const struct kdapl_conn *conn)
{
	return READ_ONCE(conn->flush) != KDAPL_FLUSH_NONE;
}

void bench_flushing(struct bench *b, DAT_EP_HANDLE ep)
{
	struct kdapl_conn *conn = bench_conn(b, ep);
	unsigned long until = jiffies + 120 * HZ;

	while (!flush_began(conn) && time_before(jiffies, until))
		usleep_range(500, 1000);
	KUNIT_ASSERT_TRUE(b->test, flush_began(conn));
}

void bench_no_flush(struct bench *b, DAT_EP_HANDLE ep)
{
	struct kdapl_conn *conn = bench_conn(b, ep);

	bench_flushing(b, ep);
	WRITE_ONCE(conn->flush_until, jiffies - HZ);
	kdapl_conn_run(conn);
}

void bench_linger_on(struct fake_id *id)
{
	WRITE_ONCE(id->conn->linger_until, jiffies + BENCH_AGES);
}

DAT_CR_HANDLE bench_cr(struct bench *b, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(b->test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			bench_event(b, evd, &event));
	return event.event_data.cr_arrival_event_data.cr_handle;
}

DAT_PSP_HANDLE bench_psp(struct bench *b, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_psp_create(&b->space, b->ia, qual, b->evd,
					 DAT_PSP_CONSUMER_FLAG, &psp));
	return psp;
}

DAT_RETURN bench_do_connect(struct bench *b, DAT_EP_HANDLE ep)
{
	return kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000,
				DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

void __expect_async(struct bench *b, u32 number, DAT_HANDLE about,
		    DAT_COUNT reason, int line)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;

	data = &event.event_data.asynch_error_event_data;
	KUNIT_EXPECT_EQ_MSG(b->test, number, bench_event(b, b->async, &event),
			    "expected in line %d", line);
	KUNIT_EXPECT_PTR_EQ_MSG(b->test, about, data->dat_handle,
				"expected in line %d", line);
	KUNIT_EXPECT_EQ_MSG(b->test, reason, data->reason,
			    "expected in line %d", line);
}

/* ---- the stages ------------------------------------------------------------------ */

static void stage_sp(struct bench *b, struct stage *s, DAT_PSP_FLAGS flags)
{
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_psp_create(&b->space, b->ia, STAGE_QUAL, b->evd,
					 flags, &s->sp));
}

static void stage_request(struct bench *b, struct stage *s)
{
	KUNIT_ASSERT_EQ(b->test, 0,
			fake_request(b->fake, STAGE_QUAL, "", 0, &s->id));
	s->cr = bench_cr(b, b->evd);
}

static void stage_tentative(struct bench *b, struct stage *s)
{
	DAT_CR_PARAM param = {};

	stage_sp(b, s, DAT_PSP_PROVIDER_FLAG);
	stage_request(b, s);
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_cr_query(&b->space, s->cr, DAT_CR_FIELD_ALL,
				       &param));
	s->ep = param.local_ep_handle;
}

static void stage_accepted(struct bench *b, struct stage *s)
{
	stage_sp(b, s, DAT_PSP_CONSUMER_FLAG);
	stage_request(b, s);
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_cr_accept(&b->space, s->cr, s->ep, 0, NULL));
	s->cr = DAT_HANDLE_NULL;
}

static void stage_connected(struct bench *b, struct stage *s)
{
	int i;

	bench_connect(b, s->ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(b->test, DONE, bench_send(b, s->ep, i, 0));
	s->posts += 2;
	s->id = bench_id(b, s->ep);
}

/* One that the device does not complete. */
static void stage_flushing(struct bench *b, struct stage *s, bool peer)
{
	u32 calls = b->fake->calls[FAKE_QP_ERROR];

	b->fake->hold_flush = true;
	if (peer)
		fake_peer_disconnected(s->id);
	else
		KUNIT_ASSERT_EQ(b->test, DONE, bench_abrupt(b, s->ep));
	KUNIT_ASSERT_TRUE(b->test,
			  fake_wait_calls(b->fake, FAKE_QP_ERROR, calls + 1));
}

static void stage_ended(struct bench *b, struct stage *s)
{
	DAT_EVENT event;

	fake_peer_disconnected(s->id);
	s->id = NULL;
	while (bench_event(b, b->evd, &event) == DAT_DTO_COMPLETION_EVENT)
		s->posts--;
	KUNIT_EXPECT_EQ(b->test, s->posts, 0U);
	bench_settle(b);
}

void bench_stage(struct bench *b, enum kdapl_ep_state state, struct stage *s)
{
	int i;

	memset(s, 0, sizeof(*s));
	if (state == KDAPL_EP_TENTATIVE) {
		stage_tentative(b, s);
		goto out;
	}
	s->ep = bench_ep(b, b->evd);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(b->test, DONE, bench_recv(b, s->ep, 100 + i));
	s->posts = 2;

	switch (state) {
	case KDAPL_EP_RESERVED:
	case KDAPL_EP_PASSIVE_PENDING:
		s->is_rsp = true;
		KUNIT_ASSERT_EQ(b->test, DONE,
				kdapl_rsp_create(&b->space, b->ia, STAGE_QUAL,
						 s->ep, b->evd, &s->sp));
		if (state == KDAPL_EP_PASSIVE_PENDING)
			stage_request(b, s);
		break;
	case KDAPL_EP_RESOLVING:
		i = b->fake->calls[FAKE_CM_RESOLVE];
		KUNIT_ASSERT_EQ(b->test, DONE, bench_do_connect(b, s->ep));
		KUNIT_ASSERT_TRUE(b->test,
				  fake_wait_calls(b->fake, FAKE_CM_RESOLVE, i + 1));
		s->id = bench_id(b, s->ep);
		break;
	case KDAPL_EP_REQUESTED:
		s->id = bench_request(b, s->ep);
		break;
	case KDAPL_EP_COMPLETION_PENDING:
		stage_accepted(b, s);
		break;
	case KDAPL_EP_CONNECTED:
		stage_connected(b, s);
		break;
	case KDAPL_EP_DRAINING:
		stage_connected(b, s);
		KUNIT_ASSERT_EQ(b->test, DONE, bench_graceful(b, s->ep));
		break;
	case KDAPL_EP_FLUSHING:
	case KDAPL_EP_DISC_FLUSHING:
		stage_connected(b, s);
		stage_flushing(b, s, state == KDAPL_EP_DISC_FLUSHING);
		break;
	case KDAPL_EP_DISC_IDLE:
		stage_connected(b, s);
		stage_ended(b, s);
		break;
	default:
		break;
	}
out:
	KUNIT_ASSERT_EQ(b->test, (u32)state, (u32)bench_ep_of(b, s->ep)->state);
}

void bench_unstage(struct bench *b, struct stage *s)
{
	DAT_RETURN ret = DONE;

	if (s->cr)
		KUNIT_EXPECT_EQ(b->test, DONE,
				kdapl_cr_reject(&b->space, s->cr));
	if (s->sp)
		ret = s->is_rsp ? kdapl_rsp_free(&b->space, s->sp) :
				  kdapl_psp_free(&b->space, s->sp);
	KUNIT_EXPECT_EQ(b->test, DONE, ret);
}

static bool taker_room(struct kdapl_evd *evd, void *arg)
{
	return true;
}

static void taker_deliver(struct kdapl_evd *evd, void *arg,
			  const DAT_EVENT *event, bool more)
{
	const DAT_EVENT_DATA *data = &event->event_data;
	struct taker *t = arg;
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	if (t->nr < ARRAY_SIZE(t->cookies))
		t->cookies[t->nr] =
			event->event_number == DAT_RMR_BIND_COMPLETION_EVENT ?
			data->rmr_completion_event_data.user_cookie.as_64 :
			data->dto_completion_event_data.user_cookie.as_64;
	t->nr++;
	spin_unlock_irqrestore(&t->lock, flags);
}

static void taker_done(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static const struct kdapl_sink taker_sink = {
	.room = taker_room,
	.deliver = taker_deliver,
	.done = taker_done,
};

struct taker *taker_start(struct bench *b, struct kdapl_evd *evd)
{
	struct taker *t = kunit_kzalloc(b->test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(b->test, t);
	spin_lock_init(&t->lock);
	KUNIT_EXPECT_EQ(b->test, 0, kdapl_evd_set_sink(evd, &taker_sink, t, false));
	return t;
}

void expect_taken_nr(struct bench *b, struct taker *t, unsigned int nr)
{
	unsigned long until = jiffies + 120 * HZ;

	while (READ_ONCE(t->nr) < nr && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	bench_settle(b);
	KUNIT_EXPECT_EQ(b->test, nr, READ_ONCE(t->nr));
}

void expect_taken(struct bench *b, struct taker *t, unsigned int nr)
{
	unsigned int i;

	expect_taken_nr(b, t, nr);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(b->test, (u64)i, t->cookies[i]);
}

static void elsewhere_work(struct work_struct *work)
{
	struct elsewhere *e = container_of(work, struct elsewhere, work);

	e->ret = e->call(e->arg);
	WRITE_ONCE(e->done, true);
}

void elsewhere_begin(struct elsewhere *e, DAT_RETURN (*call)(void *arg), void *arg)
{
	e->call = call;
	e->arg = arg;
	e->done = false;
	INIT_WORK_ONSTACK(&e->work, elsewhere_work);
	queue_work(system_unbound_wq, &e->work);
}

bool elsewhere_ends(struct elsewhere *e, u64 us)
{
	bool done;

	return !read_poll_timeout(READ_ONCE, done, done, 1000, us, false, e->done);
}

DAT_RETURN elsewhere_end(struct elsewhere *e)
{
	flush_work(&e->work);
	destroy_work_on_stack(&e->work);
	return e->ret;
}
