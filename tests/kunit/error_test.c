// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_error: everything that can be lacking, systematically: each
 * allocation of each operation fails once, the space is full, each operation of
 * the device fails once in a whole life of objects; and what a device reports
 * about itself.  The test of an operation that failed is that nothing changed.
 */
#include <linux/sched.h>
#include "core/ia.h"
#include "stage.h"

#define QUAL	7400

/* ---- operations ------------------------------------------------------------------- */

/**
 * struct world - what the operations below work on
 * @ep: unconnected, with the bench's EVD
 * @other: connected
 * @dto: EVD without a stream yet
 * @soft: EVD of 4 software events
 * @crs: EVD for requests, with a PSP of the provider's kind at @QUAL
 * @cr: a request at another PSP
 * @made: what the operation made
 */
struct world {
	struct bench *b;
	DAT_EP_HANDLE ep;
	DAT_EP_HANDLE other;
	DAT_EVD_HANDLE dto;
	DAT_EVD_HANDLE soft;
	DAT_EVD_HANDLE crs;
	DAT_CR_HANDLE cr;
	DAT_HANDLE made;
};

static DAT_RETURN make_pz(struct world *w)
{
	return kdapl_pz_create(&w->b->space, w->b->ia, &w->made);
}

static DAT_RETURN drop_pz(struct world *w)
{
	return kdapl_pz_free(&w->b->space, w->made);
}

static DAT_RETURN make_evd(struct world *w)
{
	return kdapl_evd_create(&w->b->space, w->b->ia, 4,
				DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG,
				&w->made);
}

static DAT_RETURN drop_evd(struct world *w)
{
	return kdapl_evd_free(&w->b->space, w->made);
}

static DAT_RETURN make_lmr(struct world *w)
{
	DAT_REGION_DESCRIPTION region = { .for_va = w->b->memory };

	return kdapl_lmr_create(&w->b->space, w->b->ia, DAT_MEM_TYPE_VIRTUAL,
				region, PAGE_SIZE, w->b->pz,
				DAT_MEM_PRIV_ALL_FLAG, DAT_MEM_OPTIMIZE_DONT_CARE,
				&w->made, NULL, NULL, NULL, NULL);
}

static DAT_RETURN make_lmr_of_lmr(struct world *w)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = w->b->lmr };

	return kdapl_lmr_create(&w->b->space, w->b->ia, DAT_MEM_TYPE_LMR, region,
				0, w->b->pz, DAT_MEM_PRIV_ALL_FLAG,
				DAT_MEM_OPTIMIZE_DONT_CARE, &w->made, NULL, NULL,
				NULL, NULL);
}

static DAT_RETURN drop_lmr(struct world *w)
{
	return kdapl_lmr_free(&w->b->space, w->made);
}

static DAT_RETURN make_rmr(struct world *w)
{
	return kdapl_rmr_create(&w->b->space, w->b->pz, &w->made);
}

static DAT_RETURN drop_rmr(struct world *w)
{
	return kdapl_rmr_free(&w->b->space, w->made);
}

/* With a CQ to be made, and with EVDs of the core's own. */
static DAT_RETURN make_ep(struct world *w)
{
	return kdapl_ep_create(&w->b->space, w->b->ia, w->b->pz, w->dto, w->dto,
			       w->b->evd, NULL, &w->made);
}

/* With a CQ that two other endpoints leave no room in. */
static DAT_RETURN make_third_ep(struct world *w)
{
	return kdapl_ep_create(&w->b->space, w->b->ia, w->b->pz, w->b->evd, w->b->evd,
			       w->b->evd, NULL, &w->made);
}

static DAT_RETURN make_bare_ep(struct world *w)
{
	return kdapl_ep_create(&w->b->space, w->b->ia, DAT_HANDLE_NULL,
			       DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			       NULL, &w->made);
}

static DAT_RETURN drop_ep(struct world *w)
{
	return kdapl_ep_free(&w->b->space, w->made);
}

static DAT_RETURN make_psp(struct world *w)
{
	return kdapl_psp_create(&w->b->space, w->b->ia, QUAL + 1, w->b->evd,
				DAT_PSP_CONSUMER_FLAG, &w->made);
}

static DAT_RETURN drop_psp(struct world *w)
{
	return kdapl_psp_free(&w->b->space, w->made);
}

static DAT_RETURN make_rsp(struct world *w)
{
	return kdapl_rsp_create(&w->b->space, w->b->ia, QUAL + 1, w->ep,
				w->b->evd, &w->made);
}

static DAT_RETURN drop_rsp(struct world *w)
{
	return kdapl_rsp_free(&w->b->space, w->made);
}

static DAT_RETURN make_ia(struct world *w)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return kdapl_ia_open(&w->b->space, "fake-1", 4, &async, DAT_VERSION_MAJOR,
			     DAT_VERSION_MINOR, DAT_TRUE, &w->made);
}

static DAT_RETURN drop_ia(struct world *w)
{
	return kdapl_ia_close(&w->b->space, w->made, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN try_connect(struct world *w)
{
	return bench_do_connect(w->b, w->ep);
}

static DAT_RETURN try_dup_connect(struct world *w)
{
	return kdapl_ep_dup_connect(&w->b->space, w->ep, w->other,
				    DAT_TIMEOUT_INFINITE, 0, NULL,
				    DAT_QOS_BEST_EFFORT);
}

/* An attempt, or an acceptance, is given up. */
static DAT_RETURN give_up(struct world *w)
{
	bench_abrupt(w->b, w->ep);
	expect_event(w->b, w->b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	return kdapl_ep_reset(&w->b->space, w->ep);
}

static DAT_RETURN try_accept(struct world *w)
{
	return kdapl_cr_accept(&w->b->space, w->cr, w->ep, 0, NULL);
}

/* P7, P10: what is lacking is not told; the peer sees that nobody listens. */
static DAT_RETURN try_request(struct world *w)
{
	int ret = fake_request(w->b->fake, QUAL, "", 0, NULL);

	KUNIT_EXPECT_TRUE(w->b->test, !ret || ret == -ENOMEM);
	return ret ? IR(MEMORY) : DONE;
}

static DAT_RETURN drop_request(struct world *w)
{
	return kdapl_cr_reject(&w->b->space, bench_cr(w->b, w->crs));
}

static DAT_RETURN try_resize(struct world *w)
{
	return kdapl_evd_resize(&w->b->space, w->soft, 8);
}

static DAT_RETURN try_modify(struct world *w)
{
	DAT_EP_PARAM param = {
		.recv_evd_handle = w->dto,
		.ep_attr.max_recv_dtos = 5,
		.ep_attr.max_request_dtos = 6,
		.ep_attr.max_recv_iov = 2,
	};

	return kdapl_ep_modify(&w->b->space, w->ep,
			       DAT_EP_FIELD_RECV_EVD_HANDLE |
			       DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
			       DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param);
}

static DAT_RETURN undo_modify(struct world *w)
{
	DAT_EP_PARAM param = {
		.recv_evd_handle = w->b->evd,
		.ep_attr.max_recv_dtos = 8,
		.ep_attr.max_request_dtos = 8,
		.ep_attr.max_recv_iov = 4,
	};

	return kdapl_ep_modify(&w->b->space, w->ep,
			       DAT_EP_FIELD_RECV_EVD_HANDLE |
			       DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			       DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
			       DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param);
}

/**
 * struct operation - something that may lack something
 * @run: changes nothing unless it returns DAT_SUCCESS
 * @undo: takes everything back; NULL: cannot be done twice
 * @handle: it needs a free slot in the table of handles
 */
struct operation {
	const char *name;
	DAT_RETURN (*run)(struct world *w);
	DAT_RETURN (*undo)(struct world *w);
	bool handle;
};

static const struct operation operations[] = {
	{ "dat_pz_create", make_pz, drop_pz, true },
	{ "dat_evd_create", make_evd, drop_evd, true },
	{ "dat_lmr_create", make_lmr, drop_lmr, true },
	{ "dat_lmr_create, of an LMR", make_lmr_of_lmr, drop_lmr, true },
	{ "dat_rmr_create", make_rmr, drop_rmr, true },
	{ "dat_ep_create", make_ep, drop_ep, true },
	{ "dat_ep_create, bare", make_bare_ep, drop_ep, true },
	{ "dat_psp_create", make_psp, drop_psp, true },
	{ "dat_rsp_create", make_rsp, drop_rsp, true },
	{ "dat_ia_open", make_ia, drop_ia, true },
	{ "a connection request", try_request, drop_request, true },
	{ "dat_ep_connect", try_connect, give_up },
	{ "dat_ep_dup_connect", try_dup_connect, give_up },
	{ "dat_ep_modify", try_modify, undo_modify },
	{ "dat_cr_accept", try_accept },
	{ "dat_evd_resize", try_resize },
};

static void operation_name(const struct operation *op, char *name)
{
	strscpy(name, op->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(operations, operations, operation_name);

static void world_init(struct world *w, struct bench *b)
{
	DAT_PSP_HANDLE psp;

	w->b = b;
	w->ep = bench_ep(b, b->evd);
	w->other = bench_ep(b, b->evd);
	bench_connect(b, w->other);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	w->dto = bench_evd(b, 4, DAT_EVD_DTO_FLAG);
	w->soft = bench_evd(b, 4, DAT_EVD_SOFTWARE_FLAG);
	w->crs = bench_evd(b, 4, DAT_EVD_CR_FLAG);
	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_psp_create(&b->space, b->ia, QUAL, w->crs,
					 DAT_PSP_PROVIDER_FLAG, &psp));
	bench_psp(b, QUAL + 2);
	KUNIT_ASSERT_EQ(b->test, 0, fake_request(b->fake, QUAL + 2, "", 0, NULL));
	w->cr = bench_cr(b, b->evd);
}

static void expect_lack(struct bench *b, DAT_RETURN ret)
{
	KUNIT_EXPECT_EQ(b->test, (u32)DAT_GET_TYPE(ret),
			(u32)DAT_INSUFFICIENT_RESOURCES);
}

/* ---- lacks ------------------------------------------------------------------------------ */

#ifdef CONFIG_FAILSLAB
/* The @nth allocation from here on fails; 0: none. */
static void fail_allocation(u32 nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

/* True once it was reached. */
static bool allocation_failed(void)
{
	return !READ_ONCE(current->fail_nth);
}
#else
static void fail_allocation(u32 nth)
{
}

static bool allocation_failed(void)
{
	return false;
}
#endif

/* No operation makes more. */
#define ALLOCATIONS	60

/*
 * E2, P10, P13, P57, M4: each allocation that an operation makes fails once: it
 * says so and nothing has changed; and then it works.
 */
static void no_memory(struct kunit *test)
{
	const struct operation *op = test->param_value;
	struct bench *b = test->priv;
	struct census before;
	struct world w = {};
	bool reached;
	DAT_RETURN ret;
	u32 nth;

	world_init(&w, b);
	for (nth = 1; nth < ALLOCATIONS; nth++) {
		before = bench_census(b);
		fail_allocation(nth);
		ret = op->run(&w);
		reached = allocation_failed();
		fail_allocation(0);
		if (!reached)
			break;
		if (ret) {
			expect_lack(b, ret);
			expect_same(b, &before);
		} else if (op->undo) {
			/* it could do without */
			KUNIT_EXPECT_EQ(test, DONE, op->undo(&w));
			expect_same(b, &before);
		} else {
			return;
		}
	}
	KUNIT_EXPECT_EQ(test, DONE, ret);
	KUNIT_EXPECT_LT(test, nth, (u32)ALLOCATIONS);
	if (op->undo) {
		KUNIT_EXPECT_EQ(test, DONE, op->undo(&w));
		expect_same(b, &before);
	}
	if (nth == 1)
		kunit_skip(test, "allocations cannot be made to fail");
}

/* E2, P13: no handle is free. */
static void no_handle(struct kunit *test)
{
	const struct operation *op = test->param_value;
	struct bench *b = test->priv;
	struct census before;
	struct world w = {};
	u32 max = b->space.max_objects;

	if (!op->handle)
		kunit_skip(test, "needs none");
	world_init(&w, b);
	before = bench_census(b);
	b->space.max_objects = b->space.nr_objects;
	expect_lack(b, op->run(&w));
	expect_same(b, &before);
	b->space.max_objects = max;
	KUNIT_EXPECT_EQ(test, DONE, op->run(&w));
	KUNIT_EXPECT_EQ(test, DONE, op->undo(&w));
	expect_same(b, &before);
}

static const struct {
	const char *name;
	DAT_RETURN (*run)(struct world *w);
	enum fake_op op;
	int error;
	DAT_RETURN ret;
} refusals[] = {
	{ "PZ, memory", make_pz, FAKE_ZONE_CREATE, -ENOMEM, IR(MEMORY) },
	{ "PZ", make_pz, FAKE_ZONE_CREATE, -EAGAIN, IR(PROTECTION_DOMAIN) },
	{ "LMR", make_lmr, FAKE_REG, -EIO, IR(MEMORY_REGION) },
	{ "LMR, pins", make_lmr, FAKE_REG, -EPERM, IR(MEMORY) },
	{ "LMR, not mapped", make_lmr, FAKE_REG, -EFAULT, IP(3) },
	{ "LMR, too long", make_lmr, FAKE_REG, -E2BIG, IP(4) },
	{ "LMR, not writable", make_lmr, FAKE_REG, -EACCES, IP(6) },
	{ "RMR, memory", make_rmr, FAKE_WINDOW_CREATE, -ENOMEM, IR(MEMORY) },
	{ "RMR", make_rmr, FAKE_WINDOW_CREATE, -EINVAL, IR(MEMORY_REGION) },
	{ "RMR, none", make_rmr, FAKE_WINDOW_CREATE, -EOPNOTSUPP, MNS },
	{ "modify, CQ", try_modify, FAKE_CQ_CREATE, -ENOMEM, IR(MEMORY) },
	{ "EP, CQ", make_ep, FAKE_CQ_CREATE, -EINVAL, IR(MEMORY) },
	{ "EP, larger CQ", make_third_ep, FAKE_CQ_RESIZE, -EINVAL, IR(MEMORY) },
	{ "EP, no larger CQ", make_third_ep, FAKE_CQ_RESIZE, -ENOSPC, IR(TEVD) },
	{ "EP, hidden CQ", make_bare_ep, FAKE_CQ_CREATE, -ENOMEM, IR(MEMORY) },
	{ "connect", try_connect, FAKE_CM_OPEN, -EADDRNOTAVAIL, IR(TEP) },
	{ "connect, queue pair", try_connect, FAKE_QP_CREATE, -EAGAIN, IR(TEP) },
	{ "dup_connect", try_dup_connect, FAKE_CM_OPEN, -ENOMEM, IR(TEP) },
	{ "dup_connect, queue pair", try_dup_connect, FAKE_QP_CREATE, -ENOMEM, IR(TEP) },
	{ "accept", try_accept, FAKE_QP_CREATE, -EINVAL, IR(TEP) },
	{ "PSP", make_psp, FAKE_CM_LISTEN, -EINVAL, IR(TEP) },
	{ "RSP", make_rsp, FAKE_CM_LISTEN, -ENOMEM, IR(TEP) },
};

/* E.6, mt:M1, P4, P54, D54: what the device refuses has its code, and changed nothing. */
static void device_refuses(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before;
	struct world w = {};
	int i;

	world_init(&w, b);
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		before = bench_census(b);
		fake_fail(b->fake, refusals[i].op, 1, refusals[i].error);
		KUNIT_EXPECT_EQ_MSG(test, refusals[i].ret, refusals[i].run(&w),
				    "%s", refusals[i].name);
		KUNIT_EXPECT_FALSE_MSG(test,
				       fake_fails(b->fake, refusals[i].op),
				       "%s", refusals[i].name);
		expect_same(b, &before);
		expect_empty(b, b->evd);
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED,
				bench_state(b, w.ep));
	}
}

/* Another thread is in the midst of a free; the handle is there. */
static struct kdapl_object *dying(struct bench *b, DAT_HANDLE handle)
{
	struct kdapl_object *obj = kdapl_object_find(&b->space, handle, 0);

	KUNIT_ASSERT_NOT_NULL(b->test, obj);
	KUNIT_EXPECT_EQ(b->test, 0, kdapl_object_kill(obj));
	kdapl_object_put(obj);
	return obj;
}

static DAT_RETURN make_ep_with(struct world *w, DAT_PZ_HANDLE pz,
			       DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			       DAT_EVD_HANDLE connect)
{
	return kdapl_ep_create(&w->b->space, w->b->ia, pz, recv, request, connect,
			       NULL, &w->made);
}

/* E5, E114: what is being freed cannot be used any more, and nothing comes of it. */
static void used_while_freed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_REGION_DESCRIPTION region = { .for_va = b->memory };
	DAT_EVD_HANDLE evd = bench_evd(b, 4, BENCH_EVD_FLAGS);
	DAT_EVD_HANDLE other = bench_evd(b, 4, BENCH_EVD_FLAGS);
	struct kdapl_object *pz, *dead;
	struct census before;
	struct world w = {};

	world_init(&w, b);
	KUNIT_ASSERT_EQ(test, DONE, make_pz(&w));
	pz = dying(b, w.made);
	dead = dying(b, evd);
	before = bench_census(b);

	KUNIT_EXPECT_EQ(test, IH(PZ),
			kdapl_rmr_create(&b->space, kdapl_handle(pz), &w.made));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&b->space.nr_rmrs));
	KUNIT_EXPECT_EQ(test, IH(PZ),
			kdapl_lmr_create(&b->space, b->ia, DAT_MEM_TYPE_VIRTUAL,
					 region, PAGE_SIZE, kdapl_handle(pz),
					 DAT_MEM_PRIV_ALL_FLAG,
					 DAT_MEM_OPTIMIZE_DONT_CARE, &w.made,
					 NULL, NULL, NULL, NULL));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, IH(PZ), make_ep_with(&w, kdapl_handle(pz), other,
						   other, other));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, IH(EVD_RECV),
			make_ep_with(&w, b->pz, evd, other, other));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, IH(EVD_REQUEST),
			make_ep_with(&w, b->pz, other, evd, other));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, IH(EVD_CONN),
			make_ep_with(&w, b->pz, other, other, evd));
	expect_same(b, &before);

	pz->ops->teardown(pz);
	dead->ops->teardown(dead);
}

/* T17, C11, A10: of a device that goes one CQ or the other is gone already. */
static void cq_is_gone(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd[2];
	struct census before;
	struct kdapl_evd *e;
	DAT_EP_HANDLE ep;
	u32 i, calls;

	for (i = 0; i < 2; i++) {
		evd[0] = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
		evd[1] = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
		ep = bench_ep_attr(b, evd[0], evd[1], b->evd, NULL);
		e = kdapl_evd_find(&b->space, evd[i]);
		KUNIT_ASSERT_NOT_NULL(test, e);
		e->obj.ops->release_verbs(&e->obj);
		kdapl_evd_put(e);
		before = bench_census(b);
		calls = b->fake->calls[FAKE_QP_CREATE];
		KUNIT_EXPECT_EQ(test, IR(TEP), bench_do_connect(b, ep));
		KUNIT_EXPECT_EQ(test, calls, b->fake->calls[FAKE_QP_CREATE]);
		expect_empty(b, b->evd);
		expect_same(b, &before);
	}
}

/* ---- whole lives -------------------------------------------------------------------------- */

/**
 * struct life - objects of one whole life, in which any operation may fail
 * @idle: takes no part; with it the CQ has to grow
 * @posted, @completed: DTOs and binds
 */
struct life {
	struct bench *b;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;
	DAT_EP_HANDLE idle;
	DAT_PSP_HANDLE psp;
	DAT_LMR_TRIPLET segment;
	u32 posted;
	u32 completed;
};

static bool life_begin(struct life *l)
{
	struct bench *b = l->b;
	DAT_REGION_DESCRIPTION region = { .for_va = b->memory };
	DAT_LMR_CONTEXT context;

	if (kdapl_evd_create(&b->space, b->ia, 16, BENCH_EVD_FLAGS, &l->evd) ||
	    kdapl_pz_create(&b->space, b->ia, &l->pz) ||
	    kdapl_lmr_create(&b->space, b->ia, DAT_MEM_TYPE_VIRTUAL, region,
			     PAGE_SIZE, l->pz, DAT_MEM_PRIV_ALL_FLAG,
			     DAT_MEM_OPTIMIZE_DONT_CARE, &l->lmr, &context, NULL,
			     NULL, NULL) ||
	    kdapl_rmr_create(&b->space, l->pz, &l->rmr) ||
	    kdapl_ep_create(&b->space, b->ia, l->pz, l->evd, l->evd, l->evd, NULL,
			    &l->ep) ||
	    /* The CQ has to grow. */
	    kdapl_ep_create(&b->space, b->ia, l->pz, l->evd, l->evd, l->evd, NULL,
			    &l->idle) ||
	    kdapl_psp_create(&b->space, b->ia, QUAL, l->evd,
			     DAT_PSP_CONSUMER_FLAG, &l->psp))
		return false;
	l->segment = (DAT_LMR_TRIPLET) {
		.lmr_context = context,
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 8,
	};
	return true;
}

static void life_posts(struct life *l)
{
	struct kdapl_space *space = &l->b->space;
	DAT_DTO_COOKIE cookie = {};
	DAT_RMR_COOKIE bind = {};
	DAT_RMR_CONTEXT context;
	int i;

	for (i = 0; i < 2; i++) {
		l->posted += !fake_post_recv(space, l->ep, 1, &l->segment,
						 cookie, 0);
		l->posted += !fake_post_send(space, l->ep, 1, &l->segment,
						 cookie, 0);
	}
	l->posted += !kdapl_rmr_bind(space, l->rmr, &l->segment,
				     DAT_MEM_PRIV_REMOTE_READ_FLAG, l->ep, bind, 0,
				     &context);
}

/* The device does what it was given, as far as it has it. */
static void life_completes(struct life *l)
{
	struct kdapl_ep *ep = bench_ep_of(l->b, l->ep);

	while (fake_complete_any(l->b->fake, ep))
		;
}

/* The connection event that is due, and all completions before it. */
static u32 life_event(struct life *l)
{
	DAT_EVENT event;
	u32 number;

	do {
		number = bench_event(l->b, l->evd, &event);
		l->completed += number == DAT_DTO_COMPLETION_EVENT ||
				number == DAT_RMR_BIND_COMPLETION_EVENT;
	} while (number == DAT_DTO_COMPLETION_EVENT ||
		 number == DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_NE(l->b->test, number, 0U);
	return number;
}

static void life_end(struct life *l, bool graceful)
{
	struct fake_id *id;

	life_posts(l);
	life_completes(l);
	if (graceful)
		bench_graceful(l->b, l->ep);
	else
		bench_abrupt(l->b, l->ep);
	life_completes(l);
	life_event(l);
	bench_settle(l->b);
	id = fake_id_of(l->b->fake, bench_ep_of(l->b, l->ep));
	if (id)
		fake_peer_disconnected(id);
}

static void life_active(struct life *l)
{
	struct bench *b = l->b;
	struct fake_id *id;

	life_posts(l);
	if (bench_do_connect(b, l->ep))
		return;
	bench_settle(b);
	id = fake_id_of(b->fake, bench_ep_of(b, l->ep));
	if (id && bench_state(b, l->ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		fake_resolved(id);
	bench_settle(b);
	id = fake_id_of(b->fake, bench_ep_of(b, l->ep));
	if (id && bench_state(b, l->ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		fake_answered(id, NULL, 0);
	if (life_event(l) == DAT_CONNECTION_EVENT_ESTABLISHED)
		life_end(l, true);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_reset(&b->space, l->ep));
}

static void life_passive(struct life *l)
{
	struct bench *b = l->b;
	DAT_CR_HANDLE cr;
	struct fake_id *id;

	if (fake_request(b->fake, QUAL, "", 0, &id))
		return;
	KUNIT_EXPECT_EQ(b->test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			life_event(l));
	cr = kdapl_handle(list_first_entry(&bench_ia(b)->objects[KDAPL_CR],
					   struct kdapl_object, on_ia));
	if (kdapl_cr_accept(&b->space, cr, l->ep, 0, NULL)) {
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_cr_reject(&b->space, cr));
		return;
	}
	if (bench_state(b, l->ep) == DAT_EP_STATE_COMPLETION_PENDING)
		fake_confirmed(id);
	if (life_event(l) == DAT_CONNECTION_EVENT_ESTABLISHED)
		life_end(l, false);
}

/* Everything that was made is freed, and that never fails. */
static void life_over(struct life *l)
{
	struct bench *b = l->b;
	DAT_EVENT event;

	if (l->psp)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_psp_free(&b->space, l->psp));
	if (l->ep)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, l->ep));
	if (l->idle)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, l->idle));
	bench_settle(b);
	while (l->evd && kdapl_evd_dequeue(&b->space, l->evd, &event) == DONE)
		l->completed++;
	KUNIT_EXPECT_EQ(b->test, l->posted, l->completed);
	if (l->rmr)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_rmr_free(&b->space, l->rmr));
	if (l->lmr)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_lmr_free(&b->space, l->lmr));
	if (l->pz)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_pz_free(&b->space, l->pz));
	if (l->evd)
		KUNIT_EXPECT_EQ(b->test, DONE, kdapl_evd_free(&b->space, l->evd));
}

static void whole_life(struct bench *b)
{
	struct life l = { .b = b };

	if (life_begin(&l)) {
		life_active(&l);
		life_passive(&l);
	}
	life_over(&l);
}

static const struct sweep {
	const char *name;
	enum fake_op op;
} sweeps[] = {
	{ "cq_create", FAKE_CQ_CREATE },
	{ "cq_resize", FAKE_CQ_RESIZE },
	{ "cq_poll", FAKE_CQ_POLL },
	{ "cq_arm", FAKE_CQ_ARM },
	{ "create", FAKE_QP_CREATE },
	{ "move to RTR", FAKE_QP_RTR },
	{ "move to RTS", FAKE_QP_RTS },
	{ "error", FAKE_QP_ERROR },
	{ "post_send", FAKE_POST_SEND },
	{ "post_recv", FAKE_POST_RECV },
	{ "open", FAKE_CM_OPEN },
	{ "resolve", FAKE_CM_RESOLVE },
	{ "connect", FAKE_CM_CONNECT },
	{ "established", FAKE_CM_ESTABLISHED },
	{ "accept", FAKE_CM_ACCEPT },
	{ "reject", FAKE_CM_REJECT },
	{ "disconnect", FAKE_CM_DISCONNECT },
	{ "listen", FAKE_CM_LISTEN },
	{ "zone_create", FAKE_ZONE_CREATE },
	{ "reg", FAKE_REG },
	{ "window_create", FAKE_WINDOW_CREATE },
	{ "window_renew", FAKE_WINDOW_RENEW },
	{ "window_bind", FAKE_WINDOW_BIND },
	{ "address", FAKE_ADDRESS },
};

static void sweep_name(const struct sweep *sweep, char *name)
{
	strscpy(name, sweep->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sweeps, sweeps, sweep_name);

/* E72: an EVD that has seen a fault of its CQ has told. */
static void take_faults(struct bench *b)
{
	DAT_EVENT event;

	while (kdapl_evd_dequeue(&b->space, b->async, &event) == DONE)
		KUNIT_EXPECT_EQ(b->test, event.event_number,
				(u32)DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
}

/* CQs are polled and armed without end. */
#define MOST_CALLS	8

/*
 * mt:T36, C11, D43: any operation of the device fails, whenever it is called in a
 * whole life: one connection event an attempt, one completion a post, and all can
 * be freed.
 */
static void device_fails_once(struct kunit *test)
{
	const struct sweep *sweep = test->param_value;
	struct bench *b = test->priv;
	struct census before;
	u32 nth;

	for (nth = 1; nth <= MOST_CALLS; nth++) {
		before = bench_census(b);
		fake_fail(b->fake, sweep->op, nth, -EIO);
		whole_life(b);
		if (sweep->op == FAKE_CQ_POLL || sweep->op == FAKE_CQ_ARM)
			take_faults(b);
		expect_same(b, &before);
		if (fake_fails(b->fake, sweep->op))
			break;
	}
	fake_fail(b->fake, sweep->op, 1, 0);
	whole_life(b);
	expect_same(b, &before);
	expect_empty(b, b->async);
}

/* ---- queues that cannot grow ------------------------------------------------------------- */

/* E.6, mt:T36: a larger CQ cannot be had: what uses the old one goes on with it. */
static void cq_cannot_be_replaced(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 4, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE more, ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct census before = bench_census(b);
	DAT_EP_ATTR attr = { .max_recv_dtos = 60, .max_request_dtos = 60 };

	b->fake->no_resize = -EOPNOTSUPP;
	fake_fail(b->fake, FAKE_CQ_CREATE, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(MEMORY),
			kdapl_ep_create(&b->space, b->ia, b->pz, dto, dto, b->evd,
					&attr, &more));
	KUNIT_EXPECT_FALSE(test, fake_fails(b->fake, FAKE_CQ_CREATE));
	expect_same(b, &before);
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, DONE, bench_send(b, ep, 1, 0));
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	expect_dto(b, dto, 1, DTO_OK);

	/* and then it can */
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_create(&b->space, b->ia, b->pz, dto, dto, b->evd,
					&attr, &more));
	bench_connect(b, more);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- adapters ----------------------------------------------------------------------------- */

static DAT_RETURN open_with(struct bench *b, DAT_EVD_HANDLE *async,
			    DAT_IA_HANDLE *ia)
{
	return kdapl_ia_open(&b->space, "fake-1", 4, async, DAT_VERSION_MAJOR,
			     DAT_VERSION_MINOR, DAT_TRUE, ia);
}

static void device_going(void *arg)
{
	struct fake_device *fake = arg;

	spin_lock(&fake->dev->ias_lock);
	fake->dev->gone = true;
	spin_unlock(&fake->dev->ias_lock);
}

static void next_time(void *arg)
{
	fake_hook(arg, FAKE_ADDRESS, device_going, arg);
}

/* I3, I10, G9: an open that fails, however late, has made and written nothing. */
static void open_fails(struct kunit *test)
{
	DAT_RETURN gone = DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				    DAT_NAME_NOT_REGISTERED);
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	u32 max = b->space.max_objects;
	u32 nth;

	/* the address goes, before or after the EVD was made; then the device */
	for (nth = 1; nth <= 3; nth++) {
		if (nth < 3)
			fake_fail(b->fake, FAKE_ADDRESS, nth, -ENODEV);
		else
			fake_hook(b->fake, FAKE_ADDRESS, next_time, b->fake);
		KUNIT_EXPECT_EQ(test, gone, open_with(b, &async, &ia));
		KUNIT_EXPECT_NULL(test, async);
		KUNIT_EXPECT_NULL(test, ia);
		expect_same(b, &before);
	}
	b->fake->dev->gone = false;

	async = b->async;
	fake_fail(b->fake, FAKE_ADDRESS, 2, -ENODEV);
	KUNIT_EXPECT_EQ(test, gone, open_with(b, &async, &ia));
	KUNIT_EXPECT_PTR_EQ(test, b->async, async);
	expect_same(b, &before);

	async = DAT_HANDLE_NULL;
	b->space.max_objects = b->space.nr_objects;
	KUNIT_EXPECT_EQ(test, IR(MEMORY), open_with(b, &async, &ia));
	expect_same(b, &before);
	b->space.max_objects = max;
	KUNIT_EXPECT_EQ(test, DONE, open_with(b, &async, &ia));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, ia,
						   DAT_CLOSE_GRACEFUL_FLAG));
	expect_same(b, &before);
}

struct lender {
	struct bench *b;
	DAT_IA_HANDLE ia;
};

static void lender_closes(void *arg)
{
	struct lender *l = arg;

	kdapl_ia_close(&l->b->space, l->ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void lender_next(void *arg)
{
	struct lender *l = arg;

	fake_hook(l->b->fake, FAKE_ADDRESS, lender_closes, l);
}

static DAT_EVD_HANDLE async_of(struct bench *b, DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ia_query(&b->space, ia, &evd, 0,
						      NULL, 0, NULL));
	return evd;
}

/* I5, I6, I12, I13: an adapter that borrows, and the lender's end, in any order. */
static void lender_goes(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct lender lender = { .b = b };
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	int when;

	/* while it is borrowed; after the borrower; in the midst of its open */
	for (when = 0; when < 3; when++) {
		async = DAT_HANDLE_NULL;
		KUNIT_ASSERT_EQ(test, DONE, open_with(b, &async, &lender.ia));
		if (when == 2)
			fake_hook(b->fake, FAKE_ADDRESS, lender_next, &lender);
		KUNIT_ASSERT_EQ(test, DONE, open_with(b, &async, &ia));
		if (when < 2) {
			KUNIT_EXPECT_PTR_EQ(test, async, async_of(b, ia));
			KUNIT_EXPECT_EQ(test, IS(IA_IN_USE),
					kdapl_ia_close(&b->space, lender.ia,
						       DAT_CLOSE_GRACEFUL_FLAG));
		}
		if (when == 1)
			KUNIT_EXPECT_EQ(test, DONE,
					kdapl_ia_close(&b->space, ia,
						       DAT_CLOSE_GRACEFUL_FLAG));
		if (when < 2)
			KUNIT_EXPECT_EQ(test, DONE,
					kdapl_ia_close(&b->space, lender.ia, when ?
						       DAT_CLOSE_GRACEFUL_FLAG :
						       DAT_CLOSE_ABRUPT_FLAG));
		if (when != 1) {
			KUNIT_EXPECT_PTR_EQ(test, KDAPL_EVD_OUT_OF_SCOPE,
					    async_of(b, ia));
			KUNIT_EXPECT_EQ(test, DONE,
					kdapl_ia_close(&b->space, ia,
						       DAT_CLOSE_GRACEFUL_FLAG));
		}
		KUNIT_EXPECT_EQ(test, IH(IA), kdapl_ia_close(&b->space, lender.ia,
							     DAT_CLOSE_ABRUPT_FLAG));
		expect_same(b, &before);
	}
}

/* Where @name is in the registry; -1: it is not. */
static int entry_of(struct bench *b, const char *name)
{
	DAT_PROVIDER_INFO *info, *list[16];
	DAT_COUNT i, number = 0;
	int at = -1;

	info = kunit_kcalloc(b->test, ARRAY_SIZE(list), sizeof(*info), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(b->test, info);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = &info[i];
	KUNIT_EXPECT_EQ(b->test, DONE,
			kdapl_registry_list(&b->space, ARRAY_SIZE(list), &number,
					    list));
	for (i = 0; i < number; i++) {
		if (strcmp(info[i].ia_name, name))
			continue;
		KUNIT_EXPECT_EQ_MSG(b->test, -1, at, "twice %s", name);
		at = i;
	}
	return at;
}

/* I9, G8, G12: each port is an IA of its own, and goes alone. */
static void two_ports(struct kunit *test)
{
	struct bench *b = test->priv;
	struct fake_device *second = fake_create(2);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz[2];
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;

	KUNIT_ASSERT_NOT_NULL(test, second);
	KUNIT_EXPECT_GE(test, entry_of(b, "fake-1"), 0);
	KUNIT_EXPECT_EQ(test, entry_of(b, "fake-1") + 1, entry_of(b, "fake-2"));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_open(&b->space, "fake-2", 4, &async,
						  DAT_VERSION_MAJOR,
						  DAT_VERSION_MINOR, DAT_TRUE,
						  &ia));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_create(&b->space, ia, &pz[1]));
	KUNIT_EXPECT_EQ(test, 1U, second->nr_zones);
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_zones);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz[0]));
	KUNIT_EXPECT_EQ(test, 1U, second->nr_zones);
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_zones);
	/* nothing of one is good for the other */
	KUNIT_EXPECT_EQ(test, IH(PZ),
			kdapl_ep_create(&b->space, b->ia, pz[1], b->evd, b->evd,
					b->evd, NULL, &ep));

	fake_destroy(second);
	expect_event(b, async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_empty(b, b->async);
	KUNIT_EXPECT_EQ(test, -1, entry_of(b, "fake-2"));
	KUNIT_EXPECT_GE(test, entry_of(b, "fake-1"), 0);
	KUNIT_EXPECT_EQ(test, GONE, kdapl_pz_create(&b->space, ia, &pz[1]));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_close(&b->space, ia,
						   DAT_CLOSE_ABRUPT_FLAG));
	bench_connect(b, bench_ep(b, b->evd));
}

/* E71, A10: nothing new is made without the device; what is left can be looked at. */
static void without_the_device(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before;
	struct world w = {};
	int i;

	world_init(&w, b);
	KUNIT_EXPECT_EQ(test, DONE, make_bare_ep(&w));
	kdapl_ia_device_gone(bench_ia(b));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);
	before = bench_census(b);
	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		if (operations[i].run == make_ia || operations[i].run == try_request ||
		    operations[i].run == try_resize)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, GONE, operations[i].run(&w), "%s",
				    operations[i].name);
		expect_same(b, &before);
	}
}

static struct kunit_case kdapl_error_cases[] = {
	KUNIT_CASE_PARAM(no_memory, operations_gen_params),
	KUNIT_CASE_PARAM(no_handle, operations_gen_params),
	KUNIT_CASE(device_refuses),
	KUNIT_CASE(used_while_freed),
	KUNIT_CASE(cq_is_gone),
	KUNIT_CASE_PARAM(device_fails_once, sweeps_gen_params),
	KUNIT_CASE(cq_cannot_be_replaced),
	KUNIT_CASE(open_fails),
	KUNIT_CASE(lender_goes),
	KUNIT_CASE(two_ports),
	KUNIT_CASE(without_the_device),
	{}
};

static struct kunit_suite kdapl_error_suite = {
	.name = "kdapl_error",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_error_cases,
};

kunit_test_suite(kdapl_error_suite);
