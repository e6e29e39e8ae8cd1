// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_passthrough: adapters whose queue pairs their process has made.  The test
 * plays the process, which binds them and tells, and uverbs, whose they are.  Orders of
 * events that devices do not show at will: what comes before what, what happens twice, and
 * who lets go of a queue pair.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/kthread.h>
#include "core/conn.h"
#include "core/evd_kick.h"
#include "face/dev.h"
#include "stage.h"

#define OUR_FILE	((struct file *)0x1000)
#define OTHER_FILE	((struct file *)0x2000)
#define NR_QPS		4
#define QUAL		4242
#define PATIENCE	(60 * HZ)

#define NOT_NOW		DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE)

/*
 * struct user_qp - a queue pair of the process; its number is its place, from 1
 * @ib: what the core sees
 * @state: as it was moved
 * @rc: it is one
 * @on_srq: it takes its receives from an SRQ of the process's
 * @bound: it is held
 * @binds, @errors, @let_go: how often
 * @let_go_in: its state then
 * @stops: the next move to the error state completes @stopped, and waits for @go_on
 */
struct user_qp {
	struct ib_qp ib;
	enum ib_qp_state state;
	bool rc;
	bool on_srq;
	bool bound;
	u32 binds;
	u32 errors;
	u32 let_go;
	enum ib_qp_state let_go_in;
	bool stops;
	struct completion stopped;
	struct completion go_on;
};

/*
 * struct pass - an adapter in passthrough, and its process
 * @b: the bench
 * @own_srqs: the process has queues for SRQs, too
 * @qp: the process's queue pairs
 * @at_rts, @at_query: called once, when a queue pair goes to RTS, or is asked
 * @error: what the device answers to a move to the error state
 * @queries: how often one was asked
 * @sought: how often answers were sought
 * @view: what the process is shown
 * @shows: how often it changed
 * @errors: moves to the error state before the CM was asked to disconnect
 * @events, @early: connection events that a sink got, and those that the process was shown
 *		    before
 * @other, @done, @ret: a call that another thread makes, its end, what it returned
 * @removal, @removed: the removal of the device by one more, and its end
 * @late: how often a queue pair was used after that
 * @ep: the endpoint that most of a test is about
 */
struct pass {
	struct bench *b;
	bool own_srqs;
	struct user_qp qp[NR_QPS];
	void (*at_rts)(struct pass *p);
	void (*at_query)(struct pass *p);
	int error;
	u32 queries;
	u32 sought;
	struct kdapl_ep_view view;
	u32 shows;
	u32 errors;
	u32 events;
	u32 early;
	struct work_struct other;
	struct completion done;
	DAT_RETURN ret;
	struct work_struct removal;
	struct completion removed;
	u32 late;
	DAT_EP_HANDLE ep;
};

/* Suites run one after the other. */
static struct pass *now;

/* ---- uverbs and the device ------------------------------------------------------- */

static struct user_qp *user_of(struct kdapl_qp *qp)
{
	return container_of(qp->ib, struct user_qp, ib);
}

static int user_create(struct kdapl_qp *qp, const struct kdapl_qp_init *init)
{
	struct user_qp *u;

	if (init->uverbs != OUR_FILE)
		return -EINVAL;
	if (!init->qp_num || init->qp_num > NR_QPS)
		return -ENOENT;
	u = &now->qp[init->qp_num - 1];
	if (u->bound)
		return -EBUSY;
	if (!u->rc || u->on_srq != !!init->srq || u->state != IB_QPS_INIT)
		return -EINVAL;
	u->bound = true;
	u->binds++;
	qp->ib = &u->ib;
	qp->num = init->qp_num;
	return 0;
}

static int user_move(struct kdapl_qp *qp, struct rdma_cm_id *id, enum ib_qp_state state,
		     u8 rd_atomic_in, u8 rd_atomic_out)
{
	void (*hook)(struct pass *p) = now->at_rts;

	user_of(qp)->state = state;
	if (state == IB_QPS_RTS && hook) {
		now->at_rts = NULL;
		hook(now);
	}
	return 0;
}

static int user_error(struct kdapl_qp *qp)
{
	struct user_qp *u = user_of(qp);

	if (u->stops) {
		u->stops = false;
		complete(&u->stopped);
		wait_for_completion(&u->go_on);
	}
	/* uverbs has freed it. */
	now->late += completion_done(&now->removed);
	if (now->error)
		return now->error;
	u->state = IB_QPS_ERR;
	u->errors++;
	return 0;
}

static bool user_in_error(struct kdapl_qp *qp)
{
	void (*hook)(struct pass *p) = now->at_query;

	WRITE_ONCE(now->queries, now->queries + 1);
	if (hook) {
		now->at_query = NULL;
		hook(now);
	}
	return READ_ONCE(user_of(qp)->state) == IB_QPS_ERR;
}

static bool user_seek_answers(struct kdapl_qp *qp)
{
	now->sought++;
	return true;
}

static void user_destroy(struct kdapl_qp *qp)
{
	struct user_qp *u = user_of(qp);

	KUNIT_EXPECT_TRUE(now->b->test, u->bound);
	u->bound = false;
	u->let_go_in = u->state;
	qp->ib = NULL;
	WRITE_ONCE(u->let_go, u->let_go + 1);
}

static int user_check_file(struct kdapl_device *dev, struct file *uverbs)
{
	return uverbs == OUR_FILE ? 0 : -EINVAL;
}

static const struct kdapl_qp_ops user_ops = {
	.create = user_create,
	.move = user_move,
	.error = user_error,
	.in_error = user_in_error,
	.seek_answers = user_seek_answers,
	.destroy = user_destroy,
	.check_file = user_check_file,
};

/* ---- the process ----------------------------------------------------------------- */

static int pass_open(struct kunit *test)
{
	struct pass *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct bench *b = p ? bench_bare(test) : NULL;
	int i;

	if (!b)
		return -ENOMEM;
	b->more = p;
	p->b = b;
	now = p;
	for (i = 0; i < NR_QPS; i++) {
		p->qp[i].rc = true;
		p->qp[i].state = IB_QPS_INIT;
		init_completion(&p->qp[i].stopped);
		init_completion(&p->qp[i].go_on);
	}
	init_completion(&p->done);
	init_completion(&p->removed);
	b->fake->dev->user_qp = &user_ops;
	b->fake->dev->verbs_hints = KDAPL_HINT_SYNC_STATE;
	b->space.user = true;
	return kdapl_ia_open(&b->space, "fake-1", 16, &b->async, DAT_VERSION_MAJOR,
			     DAT_VERSION_MINOR, DAT_TRUE, &b->ia) ? -EIO : 0;
}

static DAT_RETURN pass_mode(struct bench *b, struct file *uverbs)
{
	u32 hints = now->own_srqs ? KDAPL_HINT_OWN_SRQS : 0;
	DAT_RETURN ret = kdapl_ia_passthrough(&b->space, b->ia, uverbs, &hints);

	if (!ret)
		KUNIT_EXPECT_EQ(b->test, (u32)KDAPL_HINT_SYNC_STATE, hints);
	return ret;
}

static void pass_show(struct kdapl_space *space, void *place, const struct kdapl_ep_view *view)
{
	struct pass *p = place;

	p->view = *view;
	p->shows++;
}

static DAT_EP_HANDLE pass_ep(struct pass *p)
{
	DAT_EP_HANDLE ep = bench_ep(p->b, p->b->evd);

	KUNIT_EXPECT_EQ(p->b->test, DONE, kdapl_ep_show(&p->b->space, ep, pass_show, p));
	return ep;
}

/* The adapter of every test of the suite that does not open its own. */
static struct pass *pass_begin(struct kunit *test)
{
	struct bench *b = test->priv;

	KUNIT_ASSERT_EQ(test, DONE, pass_mode(b, OUR_FILE));
	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &b->pz));
	KUNIT_ASSERT_EQ(test, DONE, kdapl_evd_create(&b->space, b->ia, 64,
						     BENCH_EVD_FLAGS, &b->evd));
	now->ep = pass_ep(now);
	return now;
}

static int bind_as(struct pass *p, DAT_EP_HANDLE ep, struct file *uverbs, u32 num,
		   u32 *life, DAT_RETURN *ret)
{
	return kdapl_ep_bind(&p->b->space, ep, uverbs, num, life, ret);
}

/* Returns the life. */
static u32 pass_bind(struct pass *p, DAT_EP_HANDLE ep, u32 num)
{
	DAT_RETURN ret = NOT_NOW;
	u32 life = 0;

	KUNIT_ASSERT_EQ(p->b->test, 0, bind_as(p, ep, OUR_FILE, num, &life, &ret));
	KUNIT_ASSERT_EQ(p->b->test, DONE, ret);
	KUNIT_EXPECT_NE(p->b->test, 0U, life);
	return life;
}

static DAT_RETURN pass_tell(struct pass *p, u32 life, enum kdapl_tell what)
{
	return kdapl_ep_tell(&p->b->space, p->ep, life, what);
}

/* p->ep is connected, with the first queue pair. */
static u32 pass_connect(struct pass *p)
{
	u32 life = pass_bind(p, p->ep, 1);

	bench_connect(p->b, p->ep);
	expect_event(p->b, p->b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	return life;
}

/* p->ep has accepted, with the first queue pair, and nobody has confirmed. */
static u32 pass_accept(struct pass *p, struct fake_id **id)
{
	struct bench *b = p->b;
	u32 life = pass_bind(p, p->ep, 1);

	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(b->test, 0, fake_request(b->fake, QUAL, "", 0, id));
	KUNIT_ASSERT_EQ(b->test, DONE, kdapl_cr_accept(&b->space, bench_cr(b, b->evd),
						       p->ep, 0, NULL));
	KUNIT_ASSERT_EQ(b->test, DAT_EP_STATE_COMPLETION_PENDING, bench_state(b, p->ep));
	return life;
}

static void expect_let_go(struct pass *p, u32 num, u32 times)
{
	struct user_qp *u = &p->qp[num - 1];

	KUNIT_EXPECT_EQ(p->b->test, times, u->let_go);
	KUNIT_EXPECT_EQ(p->b->test, u->binds > u->let_go, u->bound);
	/* Nobody could end its connection later. */
	if (u->let_go)
		KUNIT_EXPECT_EQ(p->b->test, IB_QPS_ERR, u->let_go_in);
}

/* ---- the mode -------------------------------------------------------------------- */

/* The mode is that of an adapter on which nothing was made. */
static void mode_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	u32 hints = 0;

	b->fake->dev->user_qp = NULL;
	KUNIT_EXPECT_EQ(test, MNS, pass_mode(b, OUR_FILE));
	b->fake->dev->user_qp = &user_ops;
	KUNIT_EXPECT_EQ(test, IP(2), pass_mode(b, OTHER_FILE));
	KUNIT_EXPECT_EQ(test, IP(2), pass_mode(b, NULL));
	KUNIT_EXPECT_EQ(test, IH(IA), kdapl_ia_passthrough(&b->space, b->async, NULL,
							   &hints));
	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &b->pz));
	KUNIT_EXPECT_EQ(test, NOT_NOW, pass_mode(b, OUR_FILE));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, b->pz));
	KUNIT_EXPECT_EQ(test, DONE, pass_mode(b, OUR_FILE));
	KUNIT_EXPECT_EQ(test, NOT_NOW, pass_mode(b, OUR_FILE));
}

static void choose_mode(void *arg)
{
	struct pass *p = arg;

	p->ret = pass_mode(p->b, OUR_FILE);
}

/* What is being made is of the mode that the adapter has, and so the mode stays. */
static void mode_meanwhile(struct kunit *test)
{
	struct bench *b = test->priv;

	fake_hook(b->fake, FAKE_ZONE_CREATE, choose_mode, now);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &b->pz));
	KUNIT_EXPECT_EQ(test, NOT_NOW, now->ret);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, b->pz));

	now->ret = DONE;
	fake_hook(b->fake, FAKE_CQ_CREATE, choose_mode, now);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_ep_create(&b->space, b->ia, NULL, NULL, NULL,
						    NULL, NULL, &now->ep));
	KUNIT_EXPECT_EQ(test, NOT_NOW, now->ret);
	KUNIT_EXPECT_EQ(test, KDAPL_GATE_HOLD, bench_ep_of(b, now->ep)->recv.gate);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, now->ep));

	/* One whose making failed does not count any more. */
	fake_fail(b->fake, FAKE_ZONE_CREATE, 1, -ENOMEM);
	KUNIT_EXPECT_NE(test, DONE, kdapl_pz_create(&b->space, b->ia, &b->pz));
	KUNIT_EXPECT_EQ(test, DONE, pass_mode(b, OUR_FILE));
	KUNIT_ASSERT_EQ(test, DONE, kdapl_ep_create(&b->space, b->ia, NULL, NULL, NULL,
						    NULL, NULL, &now->ep));
	KUNIT_EXPECT_EQ(test, KDAPL_GATE_REFUSE, bench_ep_of(b, now->ep)->recv.gate);
}

/* Without the mode there is nothing to bind, to tell or to show. */
static void mode_missing(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_RETURN ret;
	u32 life;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &b->pz));
	b->evd = bench_evd(b, 8, DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG);
	now->ep = bench_ep(b, b->evd);
	KUNIT_EXPECT_EQ(test, 0, bind_as(now, now->ep, OUR_FILE, 1, &life, &ret));
	KUNIT_EXPECT_EQ(test, NOT_NOW, ret);
	KUNIT_EXPECT_EQ(test, NOT_NOW, pass_tell(now, 1, KDAPL_TOLD_BROKEN));
	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_ep_show(&b->space, now->ep, pass_show, now));
	KUNIT_EXPECT_EQ(test, 0U, now->qp[0].binds);
}

/* The device has nothing of the kernel's, and the calls that need that are refused. */
static void nothing_of_ours(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	DAT_REGION_DESCRIPTION region = { .for_va = b };
	DAT_LMR_TRIPLET iov = { .lmr_context = 1, .segment_length = 1 };
	DAT_EP_PARAM param = { .ep_attr.max_request_dtos = 4 };
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;

	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_zones);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);
	KUNIT_EXPECT_EQ(test, NOT_NOW,
			kdapl_lmr_create(&b->space, b->ia, DAT_MEM_TYPE_VIRTUAL, region, 1,
					 b->pz, DAT_MEM_PRIV_ALL_FLAG,
					 DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, NULL, NULL, NULL,
					 NULL));
	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_lmr_sync(&b->space, b->ia, &iov, 1, true));
	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_rmr_create(&b->space, b->pz, &rmr));
	KUNIT_EXPECT_EQ(test, NOT_NOW,
			fake_post_recv(&b->space, p->ep, 0, NULL, (DAT_DTO_COOKIE) {}, 0));
	KUNIT_EXPECT_EQ(test, NOT_NOW, bench_recv(b, p->ep, 1));
	KUNIT_EXPECT_EQ(test, NOT_NOW, bench_send(b, p->ep, 1, 0));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_modify(&b->space, p->ep,
					DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	pass_connect(p);
	KUNIT_EXPECT_EQ(test, NOT_NOW, bench_send(b, p->ep, 1, 0));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_cqs);
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_QP_CREATE]);
}

/* ---- shared receive queues ------------------------------------------------------- */

static DAT_RETURN srq_new(struct bench *b, DAT_SRQ_HANDLE *srq)
{
	const DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };

	return kdapl_srq_create(&b->space, b->ia, b->pz, &attr, srq);
}

/* A process that does not say that it has queues for them has no SRQs. */
static void srq_not_offered(struct kunit *test)
{
	struct bench *b = pass_begin(test)->b;
	DAT_SRQ_HANDLE srq;

	KUNIT_EXPECT_EQ(test, MNS, srq_new(b, &srq));
}

/* What the process takes from its queue the end of a connection does not wait for. */
static void srq_of_process(struct kunit *test)
{
	const DAT_EP_ATTR attr = { .max_recv_dtos = 8, .max_request_dtos = 8,
				   .max_request_iov = 1 };
	const DAT_LMR_TRIPLET nowhere = { .lmr_context = 1, .segment_length = 8 };
	struct kdapl_dto dto = { .kind = KDAPL_DTO_RECV };
	DAT_SRQ_HANDLE srq;
	struct bench *b;
	struct pass *p;
	DAT_RETURN ret;
	u32 life;

	now->own_srqs = true;
	p = pass_begin(test);
	b = p->b;
	b->fake->dev->srq_tells_last = true;
	KUNIT_ASSERT_EQ(test, DONE, srq_new(b, &srq));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->nr_srqs);
	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_srq_post_recv(&b->space, srq, &dto));
	/* Whatever else is wrong with it */
	dto.segments = 1;
	dto.iov = &nowhere;
	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_srq_post_recv(&b->space, srq, &dto));
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_create_with_srq(&b->space, b->ia, b->pz, b->evd, b->evd,
						 b->evd, srq, &attr, &p->ep));
	KUNIT_EXPECT_EQ(test, IS(SRQ_IN_USE), kdapl_srq_free(&b->space, srq));
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_as(p, p->ep, OUR_FILE, 1, &life, &ret));
	p->qp[0].on_srq = true;
	life = pass_connect(p);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_disconnect(&b->space, p->ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_let_go(p, 1, 0);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_let_go(p, 1, 1);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, p->ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_free(&b->space, srq));
}

/* mt:M61, mt:M65: what the process tells of its queue is news once, and when it was asked for. */
static void srq_tells(struct kunit *test)
{
	DAT_SRQ_HANDLE srq;
	struct bench *b;

	now->own_srqs = true;
	b = pass_begin(test)->b;
	KUNIT_ASSERT_EQ(test, DONE, srq_new(b, &srq));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_tell(&b->space, srq, true));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_set_lw(&b->space, srq, 4));
	expect_empty(b, b->async);
	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_srq_resize(&b->space, srq, 3));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_tell(&b->space, srq, true));
	expect_async(b, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, srq,
		     DAT_SRQ_LOW_WATERMARK_EVENT);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_tell(&b->space, srq, true));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_resize(&b->space, srq, 3));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_tell(&b->space, srq, false));
	expect_async(b, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, srq,
		     DAT_SRQ_TRANSFER_TO_ERROR);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_tell(&b->space, srq, false));
	expect_empty(b, b->async);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_srq_free(&b->space, srq));
}

/* E72: what the process tells of its completion queues; nobody can tell of the kernel's. */
static void cq_faults(struct kunit *test)
{
	struct bench *b = test->priv;

	KUNIT_EXPECT_EQ(test, NOT_NOW, kdapl_ia_cq_fault(&b->space, b->ia));
	expect_empty(b, b->async);
	pass_begin(test);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_cq_fault(&b->space, b->ia));
	expect_async(b, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, b->ia, DAT_IA_OTHER_ERROR);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
			kdapl_ia_cq_fault(&b->space, b->async));
	expect_empty(b, b->async);
}

/* ---- bind ------------------------------------------------------------------------ */

struct bind_case {
	const char *name;
	struct file *uverbs;
	u32 num;
	int error;
};

/* The third is no RC, the fourth is not in INIT. */
static const struct bind_case bind_cases[] = {
	{ "no file", NULL, 1, -EBADF },
	{ "another file", OTHER_FILE, 1, -EINVAL },
	{ "no such queue pair", OUR_FILE, NR_QPS + 1, -ENOENT },
	{ "number 0", OUR_FILE, 0, -ENOENT },
	{ "not RC", OUR_FILE, 3, -EINVAL },
	{ "not in INIT", OUR_FILE, 4, -EINVAL },
};

static void bind_case_name(const struct bind_case *c, char *name)
{
	strscpy(name, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bind_case, bind_cases, bind_case_name);

/* What is refused leaves nothing, and another bind can follow. */
static void bind_refused(struct kunit *test)
{
	const struct bind_case *c = test->param_value;
	struct pass *p = pass_begin(test);
	u32 life, shows = p->shows;
	DAT_RETURN ret;

	p->qp[2].rc = false;
	p->qp[3].state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, c->error, bind_as(p, p->ep, c->uverbs, c->num, &life, &ret));
	KUNIT_EXPECT_EQ(test, DONE, ret);
	KUNIT_EXPECT_EQ(test, shows, p->shows);
	pass_bind(p, p->ep, 1);
}

/* One queue pair has one endpoint, and one endpoint one queue pair. */
static void bind_twice(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	DAT_EP_HANDLE other = pass_ep(p);
	DAT_RETURN ret;
	u32 life;

	pass_bind(p, p->ep, 1);
	KUNIT_EXPECT_EQ(test, 0, bind_as(p, p->ep, OUR_FILE, 2, &life, &ret));
	KUNIT_EXPECT_EQ(test, IS(EP_UNCONNECTED), ret);
	KUNIT_EXPECT_EQ(test, -EBUSY, bind_as(p, other, OUR_FILE, 1, &life, &ret));
	pass_bind(p, other, 2);
	bench_connect(p->b, p->ep);
	KUNIT_EXPECT_EQ(test, 0, bind_as(p, p->ep, OUR_FILE, 3, &life, &ret));
	KUNIT_EXPECT_EQ(test, IS(EP_CONNECTED), ret);
	KUNIT_EXPECT_EQ(test, 0U, p->qp[2].binds);
}

/* A.5: connect, dup_connect and accept need one; what was refused can be done then. */
static void bind_missing(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	DAT_EP_HANDLE other = pass_ep(p);
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	KUNIT_EXPECT_EQ(test, IS(EP_NOTREADY), bench_do_connect(b, p->ep));
	pass_connect(p);
	KUNIT_EXPECT_EQ(test, IS(EP_NOTREADY),
			kdapl_ep_dup_connect(&b->space, other, p->ep, DAT_TIMEOUT_INFINITE,
					     0, NULL, DAT_QOS_BEST_EFFORT));
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	cr = bench_cr(b, b->evd);
	KUNIT_EXPECT_EQ(test, IS(EP_NOTREADY),
			kdapl_cr_accept(&b->space, cr, other, 0, NULL));
	pass_bind(p, other, 2);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_accept(&b->space, cr, other, 0, NULL));
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, p->qp[1].state);
}

/* P71, P9: an endpoint that awaits its accept can have one, and loses it with a reject. */
static void bind_tentative(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	DAT_CR_PARAM param = {};
	DAT_PSP_HANDLE psp;
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_psp_create(&b->space, b->ia, QUAL, b->evd,
						     DAT_PSP_PROVIDER_FLAG, &psp));
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	cr = bench_cr(b, b->evd);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_cr_query(&b->space, cr, DAT_CR_FIELD_ALL, &param));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_show(&b->space, param.local_ep_handle,
						  pass_show, p));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, p->view.state);
	pass_bind(p, param.local_ep_handle, 1);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));
	expect_let_go(p, 1, 1);
}

/* ---- what the process is shown --------------------------------------------------- */

static bool early_room(struct kdapl_evd *evd, void *arg)
{
	return true;
}

/* Is what the event tells of shown already? */
static void early_deliver(struct kdapl_evd *evd, void *arg, const DAT_EVENT *event,
			  bool more)
{
	struct pass *p = arg;
	u32 state = READ_ONCE(p->view.state);

	p->early += (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED &&
		     state == DAT_EP_STATE_CONNECTED) ||
		    (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED &&
		     state == DAT_EP_STATE_DISCONNECTED);
	WRITE_ONCE(p->events, p->events + 1);
}

static void early_done(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static const struct kdapl_sink early_sink = {
	.room = early_room,
	.deliver = early_deliver,
	.done = early_done,
};

#define MET	KDAPL_VIEW_ESTABLISHED

static void expect_view(struct pass *p, u32 life, u32 state, u32 flags)
{
	unsigned long until = jiffies + PATIENCE;

	while ((READ_ONCE(p->view.state) != state || READ_ONCE(p->view.flags) != flags) &&
	       time_before(jiffies, until))
		usleep_range(500, 1000);
	KUNIT_EXPECT_EQ(p->b->test, life, p->view.life);
	KUNIT_EXPECT_EQ(p->b->test, state, p->view.state);
	KUNIT_EXPECT_EQ(p->b->test, flags, p->view.flags);
}

/* M2: the view has the table's answers; A2: an event is there before what it tells of. */
static void view_follows(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct fake_id *id;
	u32 life;

	KUNIT_EXPECT_EQ(test, 0U, p->view.life);
	KUNIT_EXPECT_EQ(test, 0U, p->view.refuse_recv);
	KUNIT_EXPECT_EQ(test, (u32)IS(EP_UNCONNECTED), p->view.refuse_request);
	KUNIT_ASSERT_EQ(test, 0, kdapl_evd_set_sink(bench_ep_of(b, p->ep)->connect_evd,
						    &early_sink, p, false));
	life = pass_bind(p, p->ep, 1);
	expect_view(p, life, DAT_EP_STATE_UNCONNECTED, 0);
	id = bench_request(b, p->ep);
	expect_view(p, life, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, 0);
	KUNIT_EXPECT_EQ(test, (u32)IS(EP_ACTCONNPENDING), p->view.refuse_request);
	fake_answered(id, NULL, 0);
	expect_view(p, life, DAT_EP_STATE_CONNECTED, MET);
	KUNIT_EXPECT_EQ(test, 0U, p->view.refuse_request);
	KUNIT_EXPECT_EQ(test, 1U, p->events);

	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED, MET | KDAPL_VIEW_ERROR);
	KUNIT_EXPECT_EQ(test, 2U, p->events);
	KUNIT_EXPECT_EQ(test, 0U, p->early);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED,
		    MET | KDAPL_VIEW_ERROR | KDAPL_VIEW_UNBOUND);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));
	expect_view(p, life, DAT_EP_STATE_UNCONNECTED,
		    MET | KDAPL_VIEW_ERROR | KDAPL_VIEW_UNBOUND);
	expect_view(p, pass_bind(p, p->ep, 2), DAT_EP_STATE_UNCONNECTED, 0);
	expect_let_go(p, 1, 1);
}

/* Returns the life that a connection event names. */
static u32 life_of_event(struct bench *b, u32 number)
{
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(b->test, number, bench_event(b, b->evd, &event));
	return (uintptr_t)event.event_data.connect_event_data.private_data;
}

/*
 * A7, E7: each connection event names the bind that it is about, also one that is taken when
 * the next connection is there; and with that number ESTABLISHED's data is fetched.
 */
static void events_name_the_bind(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life, second, length = 0;
	char buf[8] = "";

	life = pass_bind(p, p->ep, 1);
	fake_answered(bench_request(b, p->ep), "one", 4);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_private_data(&b->space, p->ep, life, buf,
							  sizeof(buf), &length));
	KUNIT_EXPECT_EQ(test, 4U, length);
	KUNIT_EXPECT_STREQ(test, "one", buf);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));
	second = pass_bind(p, p->ep, 2);
	KUNIT_EXPECT_NE(test, life, second);
	bench_connect(b, p->ep);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_private_data(&b->space, p->ep, life, buf,
							  sizeof(buf), &length));
	KUNIT_EXPECT_EQ(test, 0U, length);
	KUNIT_EXPECT_EQ(test, life, life_of_event(b, DAT_CONNECTION_EVENT_ESTABLISHED));
	KUNIT_EXPECT_EQ(test, life, life_of_event(b, DAT_CONNECTION_EVENT_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, second, life_of_event(b, DAT_CONNECTION_EVENT_ESTABLISHED));
}

/* An attempt that the peer refuses was never established. */
static void view_of_refusal(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_bind(p, p->ep, 1);

	bench_request(b, p->ep);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	KUNIT_EXPECT_EQ(test, life, life_of_event(b, DAT_CONNECTION_EVENT_DISCONNECTED));
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED, KDAPL_VIEW_ERROR);
}

/* The same where the end is flushed in the state that it leads to. */
static void view_of_peers_end(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life, i;

	KUNIT_ASSERT_EQ(test, 0, kdapl_evd_set_sink(bench_ep_of(b, p->ep)->connect_evd,
						    &early_sink, p, false));
	for (i = 1; i <= NR_QPS; i++) {
		life = pass_bind(p, p->ep, i);
		bench_connect(b, p->ep);
		expect_view(p, life, DAT_EP_STATE_CONNECTED, MET);
		fake_peer_disconnected(bench_id(b, p->ep));
		expect_view(p, life, DAT_EP_STATE_DISCONNECTED, MET | KDAPL_VIEW_ERROR);
		KUNIT_EXPECT_EQ(test, 2 * i, p->events);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));
	}
	KUNIT_EXPECT_EQ(test, 0U, p->early);
}

static void peer_answers(struct work_struct *work)
{
	struct pass *p = container_of(work, struct pass, other);

	fake_answered(bench_id(p->b, p->ep), NULL, 0);
	complete(&p->done);
}

/*
 * A2: a callback of the CM, behind which all connections of the host wait, does not wait
 * for the runner; and what the event tells of is not shown before it.
 */
static void view_waits_for_runner(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct kdapl_evd *evd = bench_ep_of(b, p->ep)->connect_evd;
	u32 life;

	KUNIT_ASSERT_EQ(test, 0, kdapl_evd_set_sink(evd, &early_sink, p, false));
	life = pass_bind(p, p->ep, 1);
	bench_request(b, p->ep);
	irq_poll_disable(&evd->iop);
	INIT_WORK(&p->other, peer_answers);
	queue_work(system_unbound_wq, &p->other);
	KUNIT_EXPECT_NE(test, 0UL, wait_for_completion_timeout(&p->done, PATIENCE));
	KUNIT_EXPECT_EQ(test, 0U, p->events);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, p->ep));
	expect_view(p, life, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, 0);
	irq_poll_enable(&evd->iop);
	kdapl_evd_kick(evd);
	flush_work(&p->other);
	expect_view(p, life, DAT_EP_STATE_CONNECTED, MET);
	KUNIT_EXPECT_EQ(test, 1U, p->events);
	KUNIT_EXPECT_EQ(test, 0U, p->early);
}

/* When somebody waits for the runner, or the test is over without that. */
static void runner_goes_on(struct work_struct *work)
{
	struct pass *p = container_of(work, struct pass, other);
	struct kdapl_evd *evd = bench_ep_of(p->b, p->ep)->connect_evd;

	while (!wq_has_sleeper(&evd->idle) && !completion_done(&p->done))
		usleep_range(1000, 2000);
	irq_poll_enable(&evd->iop);
	kdapl_evd_kick(evd);
}

/* M5, RULING 44: a process that hears of no outstanding posts has all events in its ring. */
static void status_waits_for_runner(struct kunit *test)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct kdapl_evd *evd = bench_ep_of(b, p->ep)->connect_evd;

	KUNIT_ASSERT_EQ(test, 0, kdapl_evd_set_sink(evd, &early_sink, p, false));
	pass_bind(p, p->ep, 1);
	bench_request(b, p->ep);
	irq_poll_disable(&evd->iop);
	fake_answered(bench_id(b, p->ep), NULL, 0);
	INIT_WORK(&p->other, runner_goes_on);
	queue_work(system_unbound_wq, &p->other);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_get_status(&b->space, p->ep, NULL, &recv_idle,
							&request_idle));
	KUNIT_EXPECT_EQ(test, 1U, p->events);
	KUNIT_EXPECT_TRUE(test, recv_idle && request_idle);
	complete(&p->done);
	flush_work(&p->other);
}

/*
 * A2, D12: the end begins before the runner has shown that the connection is there.  It is
 * shown then, with that; and who asks where to look meanwhile sees what was before.
 */
static void view_of_end_meanwhile(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct kdapl_evd *evd = bench_ep_of(b, p->ep)->connect_evd;
	u32 life;

	KUNIT_ASSERT_EQ(test, 0, kdapl_evd_set_sink(evd, &early_sink, p, false));
	b->fake->dev->answer_time = 1000 * HZ;
	life = pass_bind(p, p->ep, 1);
	bench_request(b, p->ep);
	irq_poll_disable(&evd->iop);
	fake_answered(bench_id(b, p->ep), NULL, 0);
	fake_peer_disconnected(bench_id(b, p->ep));
	p->view.state = 0;
	p->view.life = 0;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_show(&b->space, p->ep, pass_show, p));
	KUNIT_EXPECT_EQ(test, life, p->view.life);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, p->view.state);
	irq_poll_enable(&evd->iop);
	kdapl_evd_kick(evd);
	expect_view(p, life, DAT_EP_STATE_CONNECTED, MET | KDAPL_VIEW_LEFT);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED,
		    MET | KDAPL_VIEW_LEFT | KDAPL_VIEW_ERROR);
	KUNIT_EXPECT_EQ(test, 2U, p->events);
}

/*
 * struct reader - a process that looks at the board as the ABI says
 * @file: of the process, which has not asked to be told of changes
 * @slot: of which the kernel makes each field the same as the life
 * @seen: how often it had the fields of a life
 * @mixed: how often one of them was of another
 */
struct reader {
	struct kdapl_file file;
	struct kdapl_uapi_board_ep slot;
	u32 seen;
	u32 mixed;
};

static int read_board(void *arg)
{
	struct reader *r = arg;
	u32 life, state, refuse, flags;

	while (!kthread_should_stop()) {
		cond_resched();
		/* Pairs with kdapl_board_show(): the fields are no older. */
		life = smp_load_acquire(&r->slot.life);
		state = READ_ONCE(r->slot.state);
		refuse = READ_ONCE(r->slot.refuse_recv);
		flags = READ_ONCE(r->slot.flags);
		smp_rmb(); /* the fields before the life, see kdapl_board_show() */
		if (!life || READ_ONCE(r->slot.life) != life)
			continue;
		r->mixed += state != life || refuse != life || flags != life;
		WRITE_ONCE(r->seen, r->seen + 1);
	}
	return 0;
}

/* A8: nobody takes the state of one life for that of another. */
static void board_keeps_lives_apart(struct kunit *test)
{
	struct reader *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned long until = jiffies + PATIENCE;
	struct task_struct *task;
	u32 life;

	KUNIT_ASSERT_NOT_NULL(test, r);
	task = kthread_run(read_board, r, "kdapl_reader");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	for (life = 1; READ_ONCE(r->seen) < 100000 && time_before(jiffies, until); life++) {
		const struct kdapl_ep_view view = {
			.life = life,
			.state = life,
			.refuse_request = life,
			.refuse_recv = life,
			.flags = life,
		};

		kdapl_board_show(&r->file.space, &r->slot, &view);
		cond_resched();
	}
	kthread_stop(task);
	KUNIT_EXPECT_GT(test, r->seen, 0U);
	KUNIT_EXPECT_EQ(test, 0U, r->mixed);
}

/* ---- tell ------------------------------------------------------------------------ */

/* A7: nothing confirms a connection before the queue pair can send. */
static void confirm_early(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct fake_id *id;
	u32 life = pass_bind(p, p->ep, 1);

	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_CONFIRM));
	id = bench_request(b, p->ep);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_CONFIRM));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
			bench_state(b, p->ep));
	expect_empty(b, b->evd);
	fake_answered(id, NULL, 0);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_empty(b, b->evd);
}

/* A7: data that comes before the peer's confirmation confirms, and that is no news then. */
static void confirm_passive(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct fake_id *id;
	u32 life = pass_accept(p, &id);

	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_CONFIRM));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_confirmed(id);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_CONFIRM));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, p->ep));
}

/* D3, D11: a graceful disconnect waits for the process, and for that only. */
static void drained(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, p->ep));
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, p->ep));
	expect_view(p, life, DAT_EP_STATE_DISCONNECT_PENDING, MET | KDAPL_VIEW_DRAIN);
	KUNIT_EXPECT_EQ(test, 0U, p->view.refuse_recv);
	KUNIT_EXPECT_NE(test, 0U, p->view.refuse_request);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, 0U, p->qp[0].errors);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life + 1, KDAPL_TOLD_DRAINED));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	expect_empty(b, b->evd);
	expect_let_go(p, 1, 0);
}

/* D15, RULING 9: an abrupt disconnect ends the wait, and so does the peer. */
static void drain_ended(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, p->ep));
	fake_peer_disconnected(bench_id(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));
	expect_let_go(p, 1, 1);
}

/* D52: the first failure breaks the connection, once. */
static void broken(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_BROKEN));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_BROKEN));
	expect_empty(b, b->evd);
	/* The process has to take what was flushed. */
	expect_let_go(p, 1, 0);
	KUNIT_EXPECT_EQ(test, 1U, p->qp[0].errors);
}

/* What is posted late is flushed by a second move; a connection that works has none. */
static void flush_again(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_FLUSH));
	KUNIT_EXPECT_EQ(test, 0U, p->qp[0].errors);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_FLUSH));
	KUNIT_EXPECT_EQ(test, 2U, p->qp[0].errors);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_FLUSH));
	KUNIT_EXPECT_EQ(test, 3U, p->qp[0].errors);
	expect_let_go(p, 1, 1);
}

/* What a device has refused is not shown as done. */
static void error_fails(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	p->error = -EIO;
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED, MET);
	p->error = 0;
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_FLUSH));
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED, MET | KDAPL_VIEW_ERROR);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));

	life = pass_bind(p, p->ep, 2);
	p->error = -EIO;
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_view(p, life, DAT_EP_STATE_UNCONNECTED, KDAPL_VIEW_UNBOUND);
	p->error = 0;
	life = pass_bind(p, p->ep, 3);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_view(p, life, DAT_EP_STATE_UNCONNECTED,
		    KDAPL_VIEW_ERROR | KDAPL_VIEW_UNBOUND);
}

/* R10: what is told of a former life concerns no later one. */
static void tell_former_life(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p), what;

	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));
	pass_bind(p, p->ep, 2);
	for (what = 0; what < KDAPL_NR_TOLD; what++)
		KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, what));
	expect_let_go(p, 2, 0);
	bench_connect(b, p->ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (what = 0; what < KDAPL_NR_TOLD; what++)
		KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, what));
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, p->ep));
	expect_let_go(p, 1, 1);
	expect_let_go(p, 2, 0);
}

/* ---- letting go ------------------------------------------------------------------ */

/* A connection that has not begun to end needs its queue pair. */
static void unbind_refused(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	KUNIT_EXPECT_EQ(test, IS(EP_CONNECTED), pass_tell(p, life, KDAPL_TOLD_UNBIND));
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, p->ep));
	KUNIT_EXPECT_EQ(test, IS(EP_DISCPENDING), pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_let_go(p, 1, 0);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_let_go(p, 1, 1);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_let_go(p, 1, 1);
}

/* One that no connection has taken over can be given back, and bound anew. */
static void unbind_unused(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	u32 life = pass_bind(p, p->ep, 1);

	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_let_go(p, 1, 1);
	KUNIT_EXPECT_EQ(test, IS(EP_NOTREADY), bench_do_connect(p->b, p->ep));
	KUNIT_EXPECT_NE(test, life, pass_bind(p, p->ep, 2));
}

struct accepting {
	struct pass *p;
	DAT_CR_HANDLE cr;
	u32 life;
};

static DAT_RETURN accept_cr(void *arg)
{
	struct accepting *a = arg;

	return kdapl_cr_accept(&a->p->b->space, a->cr, a->p->ep, 0, NULL);
}

static DAT_RETURN tell_unbind(void *arg)
{
	struct accepting *a = arg;

	return pass_tell(a->p, a->life, KDAPL_TOLD_UNBIND);
}

/*
 * A7: an accept has taken the queue pair over, and its connection has not begun.  A process that
 * says meanwhile that it is done with the queue pair hears that it cannot be let go of.
 */
static void unbind_while_accepted(struct kunit *test)
{
	struct accepting a = { .p = pass_begin(test) };
	struct bench *b = a.p->b;
	struct elsewhere accept, unbind;
	struct fake_id *id;
	void *bound;

	a.life = pass_bind(a.p, a.p->ep, 1);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	a.cr = bench_cr(b, b->evd);
	fake_handler_lock(id);
	elsewhere_begin(&accept, accept_cr, &a);
	KUNIT_EXPECT_EQ(test, 0, read_poll_timeout(READ_ONCE, bound, !bound, 1000,
						   jiffies_to_usecs(PATIENCE), false,
						   bench_ep_of(b, a.p->ep)->bound.ib));
	elsewhere_begin(&unbind, tell_unbind, &a);
	KUNIT_EXPECT_FALSE(test, elsewhere_ends(&unbind, USEC_PER_SEC));
	fake_handler_unlock(id);
	KUNIT_EXPECT_EQ(test, DONE, elsewhere_end(&accept));
	KUNIT_EXPECT_EQ(test, IS(EP_COMPLPENDING), elsewhere_end(&unbind));
	expect_let_go(a.p, 1, 0);
}

static void free_ep(struct work_struct *work)
{
	struct pass *p = container_of(work, struct pass, other);

	p->ret = kdapl_ep_free(&p->b->space, p->ep);
	complete(&p->done);
}

/* Another thread begins to free the endpoint while the queue pair goes to RTS. */
static void free_at_rts(struct pass *p)
{
	struct kdapl_ep *ep = bench_ep_of(p->b, p->ep);
	unsigned long until = jiffies + PATIENCE;

	INIT_WORK(&p->other, free_ep);
	queue_work(system_unbound_wq, &p->other);
	while (READ_ONCE(ep->state) == KDAPL_EP_COMPLETION_PENDING &&
	       time_before(jiffies, until))
		usleep_range(500, 1000);
}

/*
 * F6: an endpoint that is freed while its acceptance is under way does not let go of its
 * queue pair in RTS: the process would have a connection that nobody knows.
 */
static void freed_at_rts(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	pass_bind(p, p->ep, 1);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	cr = bench_cr(b, b->evd);
	p->at_rts = free_at_rts;
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_accept(&b->space, cr, p->ep, 0, NULL));
	wait_for_completion(&p->done);
	flush_work(&p->other);
	KUNIT_EXPECT_EQ(test, DONE, p->ret);
	expect_let_go(p, 1, 1);
	KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject(&b->space, cr));
}

enum pass_stage {
	BOUND,
	RESOLVING,
	REQUESTED,
	ACCEPTED,
	CONNECTED,
	DRAINING,
	DISCONNECTED,
};

enum pass_end {
	BY_FREE,
	BY_CLOSE,
	BY_REMOVAL,
	BY_REMOVAL_AND_FREE,
	BY_UNBIND_AND_CLOSE,
};

struct stage_case {
	const char *name;
	enum pass_stage stage;
};

static const struct stage_case stage_cases[] = {
	{ "bound", BOUND },
	{ "resolving", RESOLVING },
	{ "requested", REQUESTED },
	{ "accepted", ACCEPTED },
	{ "connected", CONNECTED },
	{ "draining", DRAINING },
	{ "disconnected", DISCONNECTED },
};

static void stage_case_name(const struct stage_case *c, char *name)
{
	strscpy(name, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(stage_case, stage_cases, stage_case_name);

static u32 bring_to(struct pass *p, enum pass_stage stage)
{
	struct bench *b = p->b;
	struct fake_id *id;
	u32 life;

	switch (stage) {
	case BOUND:
		return pass_bind(p, p->ep, 1);
	case RESOLVING:
		life = pass_bind(p, p->ep, 1);
		KUNIT_ASSERT_EQ(b->test, DONE, bench_do_connect(b, p->ep));
		return life;
	case REQUESTED:
		life = pass_bind(p, p->ep, 1);
		bench_request(b, p->ep);
		return life;
	case ACCEPTED:
		return pass_accept(p, &id);
	default:
		break;
	}
	life = pass_connect(p);
	if (stage == DRAINING)
		KUNIT_EXPECT_EQ(b->test, DONE, bench_graceful(b, p->ep));
	if (stage == DISCONNECTED) {
		KUNIT_EXPECT_EQ(b->test, DONE, bench_abrupt(b, p->ep));
		expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	return life;
}

/*
 * F12, I15, I19, E71: whoever comes first lets go of the queue pair, in the error state,
 * and nobody a second time.
 */
static void ends(struct kunit *test, enum pass_end end)
{
	const struct stage_case *c = test->param_value;
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = bring_to(p, c->stage);

	switch (end) {
	case BY_FREE:
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, p->ep));
		break;
	case BY_UNBIND_AND_CLOSE:
		pass_tell(p, life, KDAPL_TOLD_UNBIND);
		fallthrough;
	case BY_CLOSE:
		kdapl_ia_close_all(&b->space);
		break;
	case BY_REMOVAL:
	case BY_REMOVAL_AND_FREE:
		kdapl_ia_device_gone(bench_ia(b));
		expect_let_go(p, 1, 1);
		KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
		if (end == BY_REMOVAL_AND_FREE)
			KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, p->ep));
		break;
	}
	expect_let_go(p, 1, 1);
}

static void ends_by_free(struct kunit *test)
{
	ends(test, BY_FREE);
}

static void ends_by_close(struct kunit *test)
{
	ends(test, BY_CLOSE);
}

static void ends_by_removal(struct kunit *test)
{
	ends(test, BY_REMOVAL);
}

static void ends_by_removal_and_free(struct kunit *test)
{
	ends(test, BY_REMOVAL_AND_FREE);
}

static void ends_by_unbind_and_close(struct kunit *test)
{
	ends(test, BY_UNBIND_AND_CLOSE);
}

static void reset_ep(struct work_struct *work)
{
	struct pass *p = container_of(work, struct pass, other);

	p->ret = kdapl_ep_reset(&p->b->space, p->ep);
	complete(&p->done);
}

static void remove_device(struct work_struct *work)
{
	struct pass *p = container_of(work, struct pass, removal);

	kdapl_ia_device_gone(bench_ia(p->b));
	complete_all(&p->removed);
}

/* The next move of a queue pair to the error state stops, and it has come there. */
static void stop_by(struct pass *p, struct user_qp *u, struct work_struct *work)
{
	u->stops = true;
	queue_work(system_unbound_wq, work);
	KUNIT_EXPECT_NE(p->b->test, 0UL, wait_for_completion_timeout(&u->stopped, PATIENCE));
}

/*
 * E71: uverbs frees the queue pairs when the removal has returned.  It does not while
 * somebody who frees or resets an endpoint is moving one.  He began when the removal was
 * past the wait for operations: it was ending the connection of another endpoint, the
 * first one.
 */
static void removal_waits_for(struct kunit *test, work_func_t call)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;

	pass_connect(p);
	p->ep = pass_ep(p);
	pass_bind(p, p->ep, 2);
	bench_connect(b, p->ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_peer_disconnected(bench_id(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	bench_settle(b);

	INIT_WORK(&p->removal, remove_device);
	stop_by(p, &p->qp[0], &p->removal);
	INIT_WORK(&p->other, call);
	stop_by(p, &p->qp[1], &p->other);
	complete(&p->qp[0].go_on);
	KUNIT_EXPECT_EQ(test, 0UL, wait_for_completion_timeout(&p->removed, HZ));
	complete(&p->qp[1].go_on);
	wait_for_completion(&p->done);
	wait_for_completion(&p->removed);
	flush_work(&p->other);
	flush_work(&p->removal);
	KUNIT_EXPECT_EQ(test, DONE, p->ret);
	KUNIT_EXPECT_EQ(test, 0U, p->late);
	expect_let_go(p, 1, 1);
	expect_let_go(p, 2, 1);
}

static void removal_waits_for_free(struct kunit *test)
{
	removal_waits_for(test, free_ep);
}

static void removal_waits_for_reset(struct kunit *test)
{
	removal_waits_for(test, reset_ep);
}

/* E71: a device that is gone takes nothing more. */
static void bind_after_removal(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	DAT_RETURN ret;
	u32 life;

	kdapl_ia_device_gone(bench_ia(p->b));
	KUNIT_EXPECT_EQ(test, 0, bind_as(p, p->ep, OUR_FILE, 1, &life, &ret));
	KUNIT_EXPECT_EQ(test, NOT_NOW, ret);
	KUNIT_EXPECT_EQ(test, 0U, p->qp[0].binds);
}

/* ---- the watch ------------------------------------------------------------------- */

static void wait_queries(struct pass *p, u32 queries)
{
	unsigned long until = jiffies + PATIENCE;

	while (READ_ONCE(p->queries) < queries && time_before(jiffies, until))
		msleep(20);
	KUNIT_EXPECT_GE(p->b->test, READ_ONCE(p->queries), queries);
}

/* D52: a process that does not look learns of a broken connection all the same. */
static void watch_breaks(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;

	pass_connect(p);
	wait_queries(p, 2);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, bench_state(b, p->ep));
	WRITE_ONCE(p->qp[0].state, IB_QPS_ERR);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_BROKEN);
	expect_empty(b, b->evd);
}

static void close_ia(struct work_struct *work)
{
	struct pass *p = container_of(work, struct pass, other);

	p->ret = kdapl_ia_close(&p->b->space, p->b->ia, DAT_CLOSE_ABRUPT_FLAG);
	complete(&p->done);
}

/* The adapter is closed while the first queue pair is asked. */
static void close_at_query(struct pass *p)
{
	struct kdapl_ia *ia = bench_ia(p->b);
	unsigned long until = jiffies + PATIENCE;

	INIT_WORK(&p->other, close_ia);
	queue_work(system_unbound_wq, &p->other);
	while (!READ_ONCE(ia->closing) && time_before(jiffies, until))
		usleep_range(500, 1000);
}

/* A10: whoever waits for the section waits for one answer of the device, not for all. */
static void watch_gives_way(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	DAT_EP_HANDLE other = pass_ep(p);

	pass_connect(p);
	pass_bind(p, other, 2);
	bench_connect(b, other);
	p->at_query = close_at_query;
	wait_queries(p, 1);
	wait_for_completion(&p->done);
	flush_work(&p->other);
	KUNIT_EXPECT_EQ(test, DONE, p->ret);
	KUNIT_EXPECT_EQ(test, 1U, p->queries);
	expect_let_go(p, 1, 1);
	expect_let_go(p, 2, 1);
}

static enum ib_qp_state asked_state;
static int asked_error;

static int asked_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			  struct ib_qp_init_attr *init)
{
	attr->qp_state = asked_state;
	return asked_error;
}

/* A device that does not answer has not said that a connection is broken. */
static void query_fails(struct kunit *test)
{
	struct bench *b = test->priv;
	const struct kdapl_qp_ops *ops;
	struct ib_device *ib = &b->fake->ib;
	struct ib_qp ibqp = { .device = ib, .real_qp = &ibqp };
	struct kdapl_qp qp = { .dev = b->fake->dev, .ib = &ibqp };
	u32 hints;

	ib->ops.driver_id = RDMA_DRIVER_RXE;
	ib->ops.query_qp = asked_query_qp;
	ops = kdapl_user_qp_ops_of(ib, false, &hints);
	KUNIT_ASSERT_NOT_NULL(test, ops);
	asked_state = IB_QPS_RTS;
	asked_error = 0;
	KUNIT_EXPECT_FALSE(test, ops->in_error(&qp));
	asked_state = IB_QPS_ERR;
	KUNIT_EXPECT_TRUE(test, ops->in_error(&qp));
	asked_error = -EINTR;
	KUNIT_EXPECT_FALSE(test, ops->in_error(&qp));
}

/* D52: where a process can move its queue pair to, and what that is; iWARP reports less. */
static void query_says(struct kunit *test)
{
	static const struct {
		enum ib_qp_state state;
		bool broken, iw_broken;
	} says[] = {
		{ IB_QPS_RTS }, { IB_QPS_SQD },
		{ IB_QPS_ERR, true, true }, { IB_QPS_SQE, true, true },
		{ IB_QPS_RESET, true }, { IB_QPS_INIT, true }, { IB_QPS_RTR, true },
	};
	struct bench *b = test->priv;
	const struct kdapl_qp_ops *ops, *iw_ops;
	struct ib_device *ib = &b->fake->ib;
	struct ib_qp ibqp = { .device = ib, .real_qp = &ibqp };
	struct kdapl_qp qp = { .dev = b->fake->dev, .ib = &ibqp };
	u32 hints;
	int i;

	ib->ops.driver_id = RDMA_DRIVER_RXE;
	ib->ops.query_qp = asked_query_qp;
	ops = kdapl_user_qp_ops_of(ib, false, &hints);
	iw_ops = kdapl_user_qp_ops_of(ib, true, &hints);
	KUNIT_ASSERT_TRUE(test, ops && iw_ops);
	asked_error = 0;
	for (i = 0; i < ARRAY_SIZE(says); i++) {
		asked_state = says[i].state;
		KUNIT_EXPECT_EQ(test, says[i].broken, ops->in_error(&qp));
		KUNIT_EXPECT_EQ(test, says[i].iw_broken, iw_ops->in_error(&qp));
	}
}

/* Drivers that would do harm, and those that nobody has looked at, are not served. */
static void drivers_listed(struct kunit *test)
{
	struct bench *b = test->priv;
	u32 hints = 0, id, listed = 0;

	for (id = RDMA_DRIVER_UNKNOWN; id < 64; id++) {
		b->fake->ib.ops.driver_id = id;
		listed += !!kdapl_user_qp_ops_of(&b->fake->ib, false, &hints);
	}
	KUNIT_EXPECT_EQ(test, 7U, listed);
	b->fake->ib.ops.driver_id = RDMA_DRIVER_QEDR;
	KUNIT_EXPECT_NULL(test, kdapl_user_qp_ops_of(&b->fake->ib, false, &hints));
	b->fake->ib.ops.driver_id = RDMA_DRIVER_MLX4;
	KUNIT_EXPECT_NULL(test, kdapl_user_qp_ops_of(&b->fake->ib, false, &hints));
	b->fake->ib.ops.driver_id = RDMA_DRIVER_RXE;
	KUNIT_EXPECT_NOT_NULL(test, kdapl_user_qp_ops_of(&b->fake->ib, false, &hints));
	KUNIT_EXPECT_EQ(test, (u32)(KDAPL_HINT_MUTE_FAULTS | KDAPL_HINT_WIDE_WINDOWS), hints);
}

/* ---- the peer leaves ------------------------------------------------------------- */

/*
 * D12, RULING 46: what the peer has sent before it disconnected confirms the connection,
 * for which the process has a moment.
 */
static void peer_leaves(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct fake_id *id;
	u32 life;

	/* As long as the process may take on a busy machine. */
	b->fake->dev->answer_time = 100 * HZ;
	life = pass_accept(p, &id);
	fake_peer_disconnected(id);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_CONFIRM));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, 0U, p->qp[0].errors);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* A process that has nothing outstanding says so, and need not wait for the time. */
static void peer_left_drained(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life = pass_connect(p);

	b->fake->dev->answer_time = 1000 * HZ;
	/* It was not asked yet. */
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	fake_peer_disconnected(bench_id(b, p->ep));
	expect_view(p, life, DAT_EP_STATE_CONNECTED, MET | KDAPL_VIEW_LEFT);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 0U, p->sought);
	expect_view(p, life, DAT_EP_STATE_DISCONNECTED,
		    MET | KDAPL_VIEW_LEFT | KDAPL_VIEW_ERROR);
}

/* A5: the moment is over, and with it the connection. */
static void peer_left(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;

	pass_connect(p);
	b->fake->dev->answer_time = HZ / 5;
	fake_peer_disconnected(bench_id(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 1U, p->sought);
	KUNIT_EXPECT_EQ(test, 1U, p->qp[0].errors);
	expect_let_go(p, 1, 0);
}

/* ---- iWARP ----------------------------------------------------------------------- */

static void note_errors(void *arg)
{
	struct pass *p = arg;

	p->errors = p->qp[0].errors;
}

/*
 * The CM closes in order, for which nothing may be outstanding; only the process can say
 * that nothing is.
 */
static void iwarp_close(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	u32 life;

	b->fake->dev->iwarp = true;
	life = pass_connect(p);
	fake_hook(b->fake, FAKE_CM_DISCONNECT, note_errors, p);
	KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, p->ep));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 0U, p->errors);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, p->ep));

	p->qp[0].state = IB_QPS_INIT;
	p->qp[0].errors = 0;
	pass_connect(p);
	fake_hook(b->fake, FAKE_CM_DISCONNECT, note_errors, p);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 1U, p->errors);
}

/*
 * D35, P51: until the CM has heard of the peer nobody moves the queue pair or lets go of it,
 * whatever the process tells: the end, when it comes, would be iwcm's BUG().
 */
static void iwarp_ends_early(struct kunit *test)
{
	struct pass *p = pass_begin(test);
	struct bench *b = p->b;
	struct fake_id *id;
	u32 life;

	b->fake->dev->iwarp = true;
	life = pass_accept(p, &id);
	WRITE_ONCE(bench_conn(b, p->ep)->confirm_until, jiffies + BENCH_AGES);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, p->ep));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_FLUSH));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_BROKEN));
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_DRAINED));
	bench_settle(b);
	KUNIT_EXPECT_EQ(test, 0U, p->qp[0].errors);
	expect_let_go(p, 1, 0);
	fake_confirmed(id);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, 1U, p->qp[0].errors);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_FLUSH));
	KUNIT_EXPECT_EQ(test, 2U, p->qp[0].errors);
	KUNIT_EXPECT_EQ(test, DONE, pass_tell(p, life, KDAPL_TOLD_UNBIND));
	expect_let_go(p, 1, 1);
}

static struct kunit_case kdapl_passthrough_cases[] = {
	KUNIT_CASE(mode_refused),
	KUNIT_CASE(mode_meanwhile),
	KUNIT_CASE(mode_missing),
	KUNIT_CASE(nothing_of_ours),
	KUNIT_CASE(srq_not_offered),
	KUNIT_CASE(srq_of_process),
	KUNIT_CASE(srq_tells),
	KUNIT_CASE(cq_faults),
	KUNIT_CASE_PARAM(bind_refused, bind_case_gen_params),
	KUNIT_CASE(bind_twice),
	KUNIT_CASE(bind_missing),
	KUNIT_CASE(bind_tentative),
	KUNIT_CASE(view_follows),
	KUNIT_CASE(events_name_the_bind),
	KUNIT_CASE(view_of_refusal),
	KUNIT_CASE(view_of_peers_end),
	KUNIT_CASE(view_waits_for_runner),
	KUNIT_CASE(status_waits_for_runner),
	KUNIT_CASE(view_of_end_meanwhile),
	KUNIT_CASE(board_keeps_lives_apart),
	KUNIT_CASE(confirm_early),
	KUNIT_CASE(confirm_passive),
	KUNIT_CASE(drained),
	KUNIT_CASE(drain_ended),
	KUNIT_CASE(broken),
	KUNIT_CASE(flush_again),
	KUNIT_CASE(error_fails),
	KUNIT_CASE(tell_former_life),
	KUNIT_CASE(unbind_refused),
	KUNIT_CASE(unbind_unused),
	KUNIT_CASE(unbind_while_accepted),
	KUNIT_CASE(freed_at_rts),
	KUNIT_CASE_PARAM(ends_by_free, stage_case_gen_params),
	KUNIT_CASE_PARAM(ends_by_close, stage_case_gen_params),
	KUNIT_CASE_PARAM(ends_by_removal, stage_case_gen_params),
	KUNIT_CASE_PARAM(ends_by_removal_and_free, stage_case_gen_params),
	KUNIT_CASE_PARAM(ends_by_unbind_and_close, stage_case_gen_params),
	KUNIT_CASE(removal_waits_for_free),
	KUNIT_CASE(removal_waits_for_reset),
	KUNIT_CASE(bind_after_removal),
	KUNIT_CASE(watch_breaks),
	KUNIT_CASE(watch_gives_way),
	KUNIT_CASE(query_fails),
	KUNIT_CASE(query_says),
	KUNIT_CASE(drivers_listed),
	KUNIT_CASE(peer_leaves),
	KUNIT_CASE(peer_left_drained),
	KUNIT_CASE(peer_left),
	KUNIT_CASE(iwarp_close),
	KUNIT_CASE(iwarp_ends_early),
	{}
};

static struct kunit_suite kdapl_passthrough_suite = {
	.name = "kdapl_passthrough",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = pass_open,
	.exit = bench_exit,
	.test_cases = kdapl_passthrough_cases,
};

kunit_test_suite(kdapl_passthrough_suite);
