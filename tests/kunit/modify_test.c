// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_modify: dat_ep_modify (M4, E.4), all or nothing: receives
 * that wait move along, rings that events are in stay, and what cannot be had, or
 * comes too late, changes nothing.
 */
#include <linux/iopoll.h>
#include "stage.h"

#define RECV_DTOS	DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS
#define RECV_IOV	DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV
#define REQUEST_DTOS	DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS
#define RECV_FLAGS	DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS

static DAT_RETURN sizes(struct bench *b, DAT_EP_HANDLE ep, DAT_COUNT recv_dtos,
			DAT_COUNT recv_iov)
{
	DAT_EP_PARAM param = {
		.ep_attr.max_recv_dtos = recv_dtos,
		.ep_attr.max_recv_iov = recv_iov,
	};

	return kdapl_ep_modify(&b->space, ep, RECV_DTOS | RECV_IOV, &param);
}

/* A receive of @segments segments, each of another length. */
static DAT_RETURN recv(struct bench *b, DAT_EP_HANDLE ep, u64 cookie, int segments)
{
	DAT_DTO_COOKIE user = { .as_64 = cookie };
	DAT_LMR_TRIPLET iov[4] = {};
	int i;

	for (i = 0; i < segments; i++) {
		iov[i].lmr_context = b->lmr_context;
		iov[i].virtual_address = (uintptr_t)b->memory + 16 * cookie + i;
		iov[i].segment_length = i + 1;
	}
	return fake_post_recv(&b->space, ep, segments, iov, user, 0);
}

/* The @index'th receive that the device has is that one. */
static void expect_recv(struct bench *b, DAT_EP_HANDLE ep, int index, u64 cookie,
			int segments)
{
	struct fake_wr *wr = &bench_qp(b, ep)->recv.wr[index];
	int i;

	KUNIT_ASSERT_EQ(b->test, (int)wr->nr_sge, segments);
	for (i = 0; i < segments; i++) {
		KUNIT_EXPECT_EQ(b->test, wr->sge[i].addr,
				(u64)(uintptr_t)b->memory + 16 * cookie + i);
		KUNIT_EXPECT_EQ(b->test, wr->sge[i].length, (u32)i + 1);
	}
}

/* What dat_ep_query says, byte for byte. */
static void expect_param(struct bench *b, DAT_EP_HANDLE ep,
			 const DAT_EP_PARAM *before)
{
	DAT_EP_PARAM now;

	memset(&now, 0, sizeof(now));
	KUNIT_EXPECT_EQ(b->test, DONE,
			kdapl_ep_query(&b->space, ep, DAT_EP_FIELD_ALL, &now));
	KUNIT_EXPECT_EQ(b->test, 0, memcmp(&now, before, sizeof(now)));
}

static void query(struct bench *b, DAT_EP_HANDLE ep, DAT_EP_PARAM *param)
{
	memset(param, 0, sizeof(*param));
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_ep_query(&b->space, ep, DAT_EP_FIELD_ALL, param));
}

/* M4, R2, mt:T10: receives that wait move to the new ring, from around its end too. */
static void receives_move_along(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	int i;

	/* a former life has used five of the eight slots */
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, i, 1));
	bench_connect(b, ep);
	fake_peer_disconnected(bench_id(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 5; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));

	for (i = 0; i < 6; i++)
		KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, i, 1 + i % 3));
	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, 12, 3));
	for (; i < 12; i++)
		KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, i, 1 + i % 3));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), recv(b, ep, i, 1));
	KUNIT_EXPECT_EQ(test, IP(2), recv(b, ep, i, 4));
	/* as small as it can be */
	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, 12, 4));

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < 12; i++)
		expect_recv(b, ep, i, i, 1 + i % 3);
	for (i = 0; i < 12; i++) {
		fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
		expect_dto(b, b->evd, i, DTO_OK);
	}
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, i, 1));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), recv(b, ep, i, 1));
}

#define CROWD	150

/* How often the lock is taken to copy them to a ring of that many. */
static int rounds_of_copy(struct kdapl_dir *dir, u32 size, int *ret)
{
	struct kdapl_cookie_ring *ring;
	int rounds = 0;

	ring = kdapl_cookie_ring_alloc(dir, size, 2, false, false, GFP_KERNEL);
	*ret = ring ? -EAGAIN : -ENOMEM;
	while (*ret == -EAGAIN && rounds++ < CROWD) {
		spin_lock_irq(&dir->lock);
		*ret = kdapl_dir_copy_held(dir, ring, 2);
		spin_unlock_irq(&dir->lock);
	}
	kdapl_cookie_rings_free(ring);
	return rounds;
}

/* M4, A4: many move a batch at a time, for interrupts are off meanwhile; none is lost. */
static void many_receives_move(struct kunit *test)
{
	const DAT_EP_ATTR attr = { .max_recv_dtos = CROWD, .max_recv_iov = 2 };
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep;
	int i, ret;

	b->fake->dev->attrs.max_qp_wr = 4 * CROWD;
	ep = bench_ep_attr(b, b->evd, b->evd, b->evd, &attr);
	for (i = 0; i < CROWD; i++)
		KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, i, 1 + i % 2));
	KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(CROWD, KDAPL_DIR_BATCH),
			rounds_of_copy(&bench_ep_of(b, ep)->recv, CROWD, &ret));
	KUNIT_EXPECT_EQ(test, 0, ret);
	rounds_of_copy(&bench_ep_of(b, ep)->recv, CROWD - 1, &ret);
	KUNIT_EXPECT_EQ(test, -ENOSPC, ret);

	KUNIT_EXPECT_EQ(test, IP(3), sizes(b, ep, CROWD - 1, 2));
	KUNIT_EXPECT_EQ(test, IP(3), sizes(b, ep, CROWD, 1));
	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, CROWD + 1, 2));
	KUNIT_EXPECT_EQ(test, DONE, recv(b, ep, i++, 1));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), recv(b, ep, i, 1));
	/* Their former slots are no events that nobody has taken. */
	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, CROWD + 2, 3));
	KUNIT_EXPECT_EQ(test, DONE, recv(b, ep, i++, 3));
	KUNIT_EXPECT_EQ(test, IR(MEMORY), recv(b, ep, i, 1));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	for (i = 0; i < CROWD + 2; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_empty(b, b->evd);
}

/* M4, M5: not below what waits, and not other flags than it was posted with. */
static void receives_do_not_fit(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EP_PARAM before, param = {
		.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	struct census c;

	KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, 1, 2));
	KUNIT_ASSERT_EQ(test, DONE, recv(b, ep, 2, 1));
	query(b, ep, &before);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, IP(3), sizes(b, ep, 1, 4));
	KUNIT_EXPECT_EQ(test, IP(3), sizes(b, ep, 4, 1));
	param.recv_evd_handle = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, IS(EP_UNCONNECTED),
			kdapl_ep_modify(&b->space, ep,
					RECV_FLAGS | DAT_EP_FIELD_RECV_EVD_HANDLE,
					&param));
	expect_param(b, ep, &before);
	expect_same(b, &c);
	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, 2, 2));
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_recv(b, ep, 0, 1, 2);
	expect_recv(b, ep, 1, 2, 1);
}

/* M4, R14: events of a former life keep their ring; a third one must wait for them. */
static void events_keep_their_ring(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EP_PARAM before, param = { .ep_attr.max_request_dtos = 3 };
	struct census c;
	int i;

	for (i = 0; i < 3; i++)
		bench_recv(b, ep, i);
	bench_connect(b, ep);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 9, 0));
	fake_peer_disconnected(bench_id(b, ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));

	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, 4, 2));
	query(b, ep, &before);
	c = bench_census(b);
	KUNIT_EXPECT_EQ(test, IR(MEMORY), sizes(b, ep, 5, 2));
	expect_param(b, ep, &before);
	expect_same(b, &c);
	/* requests have rings of their own */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_modify(&b->space, ep, REQUEST_DTOS,
						    &param));
	param.ep_attr.max_request_dtos = 4;
	KUNIT_EXPECT_EQ(test, IR(MEMORY),
			kdapl_ep_modify(&b->space, ep, REQUEST_DTOS, &param));

	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(b, b->evd, 9, FLUSHED);
	for (i = 0; i < 3; i++)
		expect_dto(b, b->evd, i, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, sizes(b, ep, 5, 2));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_modify(&b->space, ep, REQUEST_DTOS,
						    &param));
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Somebody else, and what he calls for */
struct rival {
	struct bench *b;
	DAT_EP_HANDLE ep;
	struct elsewhere call;
};

#define LIMIT_US	(120 * USEC_PER_SEC)

static DAT_RETURN connects(void *arg)
{
	struct rival *r = arg;

	return bench_do_connect(r->b, r->ep);
}

/* In a thread of its own, for this one holds the lock that it has to wait for. */
static void connects_meanwhile(void *arg)
{
	struct rival *r = arg;

	elsewhere_begin(&r->call, connects, r);
	KUNIT_EXPECT_FALSE(r->b->test, elsewhere_ends(&r->call, 100000));
}

/* M4: who connects while the new queues are made waits, and connects with them. */
static void connect_waits_for_modify(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct rival rival = { .b = b, .ep = ep };
	DAT_EP_PARAM param = {
		.recv_evd_handle = bench_evd(b, 8, DAT_EVD_DTO_FLAG),
		.ep_attr.max_recv_dtos = 6,
	};
	DAT_EP_PARAM now;

	bench_recv(b, ep, 1);
	fake_hook(b->fake, FAKE_CQ_CREATE, connects_meanwhile, &rival);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, ep,
					DAT_EP_FIELD_RECV_EVD_HANDLE | RECV_DTOS,
					&param));
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&rival.call));
	query(b, ep, &now);
	KUNIT_EXPECT_PTR_EQ(test, param.recv_evd_handle, now.recv_evd_handle);
	KUNIT_EXPECT_EQ(test, 6, now.ep_attr.max_recv_dtos);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
	expect_dto(b, param.recv_evd_handle, 1, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static DAT_RETURN frees(void *arg)
{
	struct rival *r = arg;

	return kdapl_ep_free(&r->b->space, r->ep);
}

static DAT_RETURN modifies_nothing(void *arg)
{
	struct rival *r = arg;
	DAT_EP_PARAM param = {};

	return kdapl_ep_modify(&r->b->space, r->ep, 0, &param);
}

static int wait_gone(const struct kdapl_ep *ep)
{
	enum kdapl_ep_state state;

	return read_poll_timeout(READ_ONCE, state, state == KDAPL_EP_GONE, 1000,
				 LIMIT_US, false, ep->state);
}

static int wait_refs(const struct kdapl_ep *ep, u32 refs)
{
	u32 now;

	return read_poll_timeout(refcount_read, now, now >= refs, 1000, LIMIT_US,
				 false, &ep->obj.ref);
}

/*
 * F5, F11: an endpoint that is being freed takes nothing more, even if all it is
 * asked for is to change nothing.  It has no EVDs, for which the core has its own.
 */
static void free_comes_first(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census none = bench_census(b);
	DAT_EP_HANDLE handle = bench_ep(b, DAT_HANDLE_NULL);
	struct kdapl_ep *ep = bench_ep_of(b, handle);
	struct rival free = { .b = b, .ep = handle }, modify = free;
	u32 refs;

	kdapl_object_get(&ep->obj);
	mutex_lock(&ep->use_lock);
	elsewhere_begin(&free.call, frees, &free);
	KUNIT_EXPECT_EQ(test, 0, wait_gone(ep));
	refs = refcount_read(&ep->obj.ref);
	elsewhere_begin(&modify.call, modifies_nothing, &modify);
	/* It has found the endpoint. */
	KUNIT_EXPECT_EQ(test, 0, wait_refs(ep, refs + 1));
	mutex_unlock(&ep->use_lock);
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&free.call));
	KUNIT_EXPECT_EQ(test, IH(EP), elsewhere_end(&modify.call));
	kdapl_object_put(&ep->obj);
	expect_same(b, &none);
}

/* M4, mt:T11: EVDs come and go, the core's own stands in, and uses follow. */
static void evds_come_and_go(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE other = bench_evd(b, 8, BENCH_EVD_FLAGS);
	struct census none = bench_census(b);
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EP_PARAM param = {};
	const DAT_EP_PARAM_MASK evds = DAT_EP_FIELD_RECV_EVD_HANDLE |
				       DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				       DAT_EP_FIELD_CONNECT_EVD_HANDLE;

	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, ep, evds, &param));
	KUNIT_EXPECT_EQ(test, IS(EP_NOTREADY), bench_do_connect(b, ep));
	/* once more, with the same stand-in */
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, ep, evds, &param));
	param.connect_evd_handle = other;
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, ep, evds, &param));
	KUNIT_EXPECT_EQ(test, IS(EVD_IN_USE), kdapl_evd_free(&b->space, other));
	bench_connect(b, ep);
	expect_event(b, other, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_peer_disconnected(bench_id(b, ep));
	expect_event(b, other, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));

	param.recv_evd_handle = other;
	param.request_evd_handle = other;
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, ep, evds, &param));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(b, ep, 1));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	expect_dto(b, other, 1, FLUSHED);
	expect_same(b, &none);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_free(&b->space, other));
}

/* M4, E.4: a quality of service that is not offered is a bad value here. */
static void quality_of_service(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EP_PARAM before, param = { .ep_attr.qos = DAT_QOS_HIGH_THROUGHPUT };

	query(b, ep, &before);
	KUNIT_EXPECT_EQ(test, IP(3),
			kdapl_ep_modify(&b->space, ep, DAT_EP_FIELD_EP_ATTR_QOS,
					&param));
	expect_param(b, ep, &before);
	param.ep_attr.qos = DAT_QOS_BEST_EFFORT;
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, ep, DAT_EP_FIELD_EP_ATTR_QOS,
					&param));
}

static struct kunit_case kdapl_modify_cases[] = {
	KUNIT_CASE(receives_move_along),
	KUNIT_CASE(many_receives_move),
	KUNIT_CASE(receives_do_not_fit),
	KUNIT_CASE(events_keep_their_ring),
	KUNIT_CASE(connect_waits_for_modify),
	KUNIT_CASE(free_comes_first),
	KUNIT_CASE(evds_come_and_go),
	KUNIT_CASE(quality_of_service),
	{}
};

static struct kunit_suite kdapl_modify_suite = {
	.name = "kdapl_modify",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_modify_cases,
};

kunit_test_suite(kdapl_modify_suite);
