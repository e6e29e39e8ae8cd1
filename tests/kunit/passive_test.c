// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_passive: what can go wrong with service points, requests and
 * answers to them (P of the rules; A7).
 */
#include "core/ep_apply.h"
#include "stage.h"

#define QUAL	7300

/* ---- service points ------------------------------------------------------------- */

static DAT_RETURN make_psp(struct bench *b, DAT_EVD_HANDLE evd)
{
	DAT_PSP_HANDLE psp;

	return kdapl_psp_create(&b->space, b->ia, QUAL, evd,
				DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN make_rsp(struct bench *b, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
	DAT_RSP_HANDLE rsp;

	return kdapl_rsp_create(&b->space, b->ia, QUAL, ep, evd, &rsp);
}

/* P4, P20, P28: a service point that cannot listen was never there. */
static void listen_refused(struct kunit *test)
{
	static const struct {
		int error;
		DAT_RETURN ret;
	} errors[] = {
		{ -EADDRINUSE, DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE) },
		{ -EADDRNOTAVAIL,
		  DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE) },
		{ -EACCES, DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE) },
		{ -ENOMEM, IR(TEP) },
	};
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct census before = bench_census(b);
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake_fail(b->fake, FAKE_CM_LISTEN, 1, errors[i].error);
		KUNIT_EXPECT_EQ(test, errors[i].ret, make_psp(b, b->evd));
		expect_same(b, &before);

		fake_fail(b->fake, FAKE_CM_LISTEN, 1, errors[i].error);
		KUNIT_EXPECT_EQ(test, errors[i].ret, make_rsp(b, ep, b->evd));
		KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED,
				bench_state(b, ep));
		expect_same(b, &before);
	}
}

/* E21, P28: an EVD with streams that do not always notify takes no requests. */
static void streams_disagree(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd = bench_evd(b, 16, DAT_EVD_DTO_FLAG | DAT_EVD_CR_FLAG);
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 2,
		.max_request_dtos = 2,
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	DAT_EP_HANDLE ep = bench_ep_attr(b, evd, evd, b->evd, &attr);
	struct census before = bench_census(b);

	KUNIT_EXPECT_EQ(test, IH(EVD_CR), make_psp(b, evd));
	KUNIT_EXPECT_EQ(test, IH(EVD_CR), make_rsp(b, ep, evd));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, ep));
	expect_same(b, &before);
}

static void free_the_psp(void *arg)
{
	struct kdapl_ia *ia = arg;
	struct kdapl_object *obj = list_first_entry(&ia->objects[KDAPL_PSP],
						    struct kdapl_object, on_ia);

	kdapl_psp_free(obj->space, kdapl_handle(obj));
}

/* P5, E114: its handle is guessed and freed before it listens: nothing listens then. */
static void freed_before_it_listens(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_PSP_HANDLE psp;

	fake_hook(b->fake, FAKE_CM_LISTEN, free_the_psp, bench_ia(b));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_psp_create(&b->space, b->ia, QUAL, b->evd,
					 DAT_PSP_CONSUMER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, IH(PSP), kdapl_psp_free(&b->space, psp));
	KUNIT_EXPECT_EQ(test, -ENOENT, fake_request(b->fake, QUAL, "", 0, NULL));
	expect_same(b, &before);

	/* and one that fails to listen after it was freed */
	fake_hook(b->fake, FAKE_CM_LISTEN, free_the_psp, bench_ia(b));
	fake_fail(b->fake, FAKE_CM_LISTEN, 1, -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE),
			make_psp(b, b->evd));
	expect_same(b, &before);
}

/* struct freeing - a thread that frees a service point */
struct freeing {
	struct elsewhere call;
	struct bench *b;
	DAT_PSP_HANDLE psp;
};

static DAT_RETURN frees(void *arg)
{
	struct freeing *f = arg;

	return kdapl_psp_free(&f->b->space, f->psp);
}

/* struct eager - a peer who sends a request as soon as there is an address that listens */
struct eager {
	struct bench *b;
	int ret;
};

static void eager_request(void *arg)
{
	struct eager *peer = arg;

	peer->ret = fake_request(peer->b->fake, QUAL, "", 0, NULL);
}

static const int late_errors[] = { 0, -EADDRINUSE, -ENOMEM, -EDQUOT };

static void late_error_name(const int *err, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "error %d", *err);
}

KUNIT_ARRAY_PARAM(late_errors, late_errors, late_error_name);

/*
 * E2, E.17: a service point that listens at one address, and cannot at the next one, has not taken
 * a request meanwhile: no event names it, and the endpoint of a RSP is as before.  The peer finds
 * nobody listening, also if it can in the end.
 */
static void request_before_it_listens(struct kunit *test)
{
	const int err = *(const int *)test->param_value;
	struct bench *b = test->priv;
	struct eager peer = { .b = b };
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_HANDLE sp[2];
	DAT_RETURN ret;
	int i;

	for (i = 0; i < 2; i++) {
		fake_hook(b->fake, FAKE_CM_LISTEN, eager_request, &peer);
		fake_fail(b->fake, FAKE_CM_LISTEN, 1, err);
		ret = i ? kdapl_psp_create(&b->space, b->ia, QUAL, b->evd,
					   DAT_PSP_PROVIDER_FLAG, &sp[1]) :
			  kdapl_rsp_create(&b->space, b->ia, QUAL, ep, b->evd, &sp[0]);
		KUNIT_EXPECT_EQ(test, !err, !ret);
		KUNIT_EXPECT_EQ(test, -ECONNREFUSED, peer.ret);
		expect_empty(b, b->evd);
		if (ret)
			continue;
		KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, bench_cr(b, b->evd)));
		KUNIT_EXPECT_EQ(test, DONE, i ? kdapl_psp_free(&b->space, sp[1]) :
						kdapl_rsp_free(&b->space, sp[0]));
	}
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, ep));
}

/* P14, E114: neither of two frees returns before the qualifier can be used again. */
static void freed_by_two(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct freeing first = { .b = b }, second = { .b = b };
	DAT_RETURN ret[2];

	first.psp = bench_psp(b, QUAL);
	second.psp = first.psp;
	bench_stop_at(b, FAKE_CM_UNLISTEN);
	elsewhere_begin(&first.call, frees, &first);
	bench_stopped(b);
	elsewhere_begin(&second.call, frees, &second);
	KUNIT_EXPECT_FALSE(test, elsewhere_ends(&second.call, 100000));
	bench_go_on(b);
	ret[0] = elsewhere_end(&first.call);
	ret[1] = elsewhere_end(&second.call);
	KUNIT_EXPECT_TRUE(test, (ret[0] == DONE && ret[1] == IH(PSP)) ||
			  (ret[0] == IH(PSP) && ret[1] == DONE));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->calls[FAKE_CM_UNLISTEN]);
	expect_same(b, &before);
}

/* ---- requests --------------------------------------------------------------------- */

/* P7, P13, P22: what cannot be taken is refused, and leaves no trace. */
static void request_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE crs = bench_evd(b, 1, DAT_EVD_CR_FLAG);
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct census before;
	DAT_RSP_HANDLE rsp;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	/* no room */
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_psp_create(&b->space, b->ia, QUAL, crs,
					 DAT_PSP_PROVIDER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	before = bench_census(b);
	KUNIT_EXPECT_EQ(test, -ENOBUFS,
			fake_request(b->fake, QUAL, "", 0, NULL));
	expect_same(b, &before);
	cr = bench_cr(b, crs);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_psp_free(&b->space, psp));

	/* a RSP that had its request */
	KUNIT_ASSERT_EQ(test, DONE, kdapl_rsp_create(&b->space, b->ia, QUAL, ep,
						     b->evd, &rsp));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	cr = bench_cr(b, b->evd);
	before = bench_census(b);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED,
			fake_request(b->fake, QUAL, "", 0, NULL));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
			bench_state(b, ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));
	expect_empty(b, b->evd);
}

/* I15, P13: a request at an adapter that is being closed. */
static void request_at_the_close(struct kunit *test)
{
	struct bench *b = test->priv;
	struct kdapl_ia *ia = bench_ia(b);
	struct census before;

	bench_psp(b, QUAL);
	before = bench_census(b);
	WRITE_ONCE(ia->closing, true);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED,
			fake_request(b->fake, QUAL, "", 0, NULL));
	WRITE_ONCE(ia->closing, false);
	expect_same(b, &before);
}

/* P21, P31: a RSP without an endpoint shows the provider's once there is a request. */
static void rsp_shows_its_endpoint(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_CR_PARAM asked = {};
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_rsp_create(&b->space, b->ia, QUAL, DAT_HANDLE_NULL,
					 b->evd, &rsp));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rsp_query(&b->space, rsp,
						    DAT_RSP_FIELD_ALL, &param));
	KUNIT_EXPECT_PTR_EQ(test, DAT_HANDLE_NULL, param.ep_handle);
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	cr = bench_cr(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_query(&b->space, cr,
						   DAT_CR_FIELD_ALL, &asked));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rsp_query(&b->space, rsp,
						    DAT_RSP_FIELD_ALL, &param));
	KUNIT_EXPECT_PTR_EQ(test, asked.local_ep_handle, param.ep_handle);
	KUNIT_EXPECT_EQ(test, QUAL, (int)param.conn_qual);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_rsp_free(&b->space, rsp));
	expect_same(b, &before);
}

/* P41, P43: a copy of what came with a request, no longer than asked for. */
static void copies_of_a_request(struct kunit *test)
{
	struct bench *b = test->priv;
	struct sockaddr_storage address = {};
	DAT_CR_PARAM param = {};
	char buf[8] = "........";
	DAT_CR_HANDLE cr;

	bench_psp(b, QUAL);
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "hello", 5, NULL));
	cr = bench_cr(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_query_copy(&b->space, cr, DAT_CR_FIELD_ALL, &param,
					    &address, buf, 3));
	KUNIT_EXPECT_EQ(test, 0, memcmp(buf, "hel.....", 8));
	KUNIT_EXPECT_EQ(test, 5, (int)param.private_data_size);
	KUNIT_EXPECT_EQ(test, 1234, (int)kdapl_port_of(&address));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_query_copy(&b->space, cr, DAT_CR_FIELD_ALL, &param,
					    &address, buf, sizeof(buf)));
	KUNIT_EXPECT_EQ(test, 0, memcmp(buf, "hello...", 8));
}

/* P15, E60: nobody ever saw its event: it ends, and only once. */
static void lost_request(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before;
	DAT_CR_HANDLE cr;

	bench_psp(b, QUAL);
	before = bench_census(b);
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	cr = bench_cr(b, b->evd);
	kdapl_cr_lost(&b->space, cr);
	expect_same(b, &before);
	kdapl_cr_lost(&b->space, cr);
	kdapl_cr_lost(&b->space, b->evd);
	KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject(&b->space, cr));
	expect_same(b, &before);
}

/* ---- answers ------------------------------------------------------------------------ */

/* P54, P57: until the CM is asked nothing changes, and the CR can be answered again. */
static void accept_refused(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct census before;
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	bench_recv(b, ep, 1);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	cr = bench_cr(b, b->evd);
	before = bench_census(b);

	fake_fail(b->fake, FAKE_QP_CREATE, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, IR(TEP),
			kdapl_cr_accept(&b->space, cr, ep, 0, NULL));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, ep));
	expect_same(b, &before);

	expect_empty(b, b->evd);
	KUNIT_EXPECT_FALSE(test, id->accepted);

	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_accept(&b->space, cr, ep, 0, NULL));
	fake_confirmed(id);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 1, DTO_OK);
}

static void reserve(void *ep)
{
	kdapl_ep_input(ep, NULL, KDAPL_EP_OP_RESERVE);
}

/* P50, P54: the endpoint is taken by another thread while its queue is made. */
static void state_changes_during_accept(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct kdapl_ep *e = bench_ep_of(b, ep);
	struct census before;
	DAT_CR_HANDLE cr;

	bench_recv(b, ep, 1);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	cr = bench_cr(b, b->evd);
	before = bench_census(b);
	fake_hook(b->fake, FAKE_QP_CREATE, reserve, e);
	KUNIT_EXPECT_EQ(test, IS(EP_RESERVED),
			kdapl_cr_accept(&b->space, cr, ep, 0, NULL));
	expect_same(b, &before);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_QP_RTR], 0U);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_POST_RECV], 0U);
	KUNIT_EXPECT_EQ(test, b->fake->calls[FAKE_CM_ACCEPT], 0U);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_input(e, NULL, KDAPL_EP_OP_UNRESERVE));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));
}

/* P56, P57: the peer gave up, the queue refuses a receive, breaks: one event each. */
static void accept_fails_afterwards(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before;
	struct fake_id *id;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	int round, i;

	bench_psp(b, QUAL);
	before = bench_census(b);
	for (round = 0; round < 3; round++) {
		ep = bench_ep(b, b->evd);
		for (i = 0; i < 3; i++)
			bench_recv(b, ep, i);
		KUNIT_ASSERT_EQ(test, 0,
				fake_request(b->fake, QUAL, "", 0, &id));
		cr = bench_cr(b, b->evd);
		if (round == 0)
			fake_input(id, KDAPL_EP_IN_PEER_DISCONNECT);
		if (round == 1)
			fake_fail(b->fake, FAKE_POST_RECV, 2, -EIO);
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_cr_accept(&b->space, cr, ep, 0, NULL));
		if (round == 2)
			fake_queue_event(bench_qp(b, ep), IB_EVENT_QP_FATAL);
		for (i = 0; i < 3; i++)
			expect_dto(b, b->evd, i, FLUSHED);
		expect_event(b, b->evd,
			     DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		if (round == 2)
			expect_async(b, DAT_ASYNC_ERROR_EP_BROKEN, ep,
				     DAT_EP_TRANSFER_TO_ERROR);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, ep));
		if (bench_census(b).lingering)
			fake_peer_disconnected(id);
		expect_same(b, &before);
	}
	expect_empty(b, b->evd);
}

static void break_the_queue(void *arg)
{
	struct fake_device *fake = arg;
	struct fake_qp *qp = list_first_entry(&fake->qps, struct fake_qp, entry);
	struct kdapl_conn *conn = container_of(qp->qp, struct kdapl_conn, qp);

	fake_queue_event(qp, IB_EVENT_QP_FATAL);
	/* Not flush_work(): other work waits for the lock of who accepts here. */
	while (work_busy(&conn->work.work))
		usleep_range(100, 200);
}

/* E70, P57: a queue pair that breaks while it begins to work is the endpoint's already. */
static void queue_breaks_during_accept(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_CR_HANDLE cr;

	bench_recv(b, ep, 1);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	cr = bench_cr(b, b->evd);
	fake_hook(b->fake, FAKE_QP_RTR, break_the_queue, b->fake);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_accept(&b->space, cr, ep, 0, NULL));
	expect_async(b, DAT_ASYNC_ERROR_EP_BROKEN, ep, DAT_EP_TRANSFER_TO_ERROR);
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_empty(b, b->evd);
}

/* The end of an acceptance that was given up; its receives are flushed. */
static void expect_given_up(struct bench *b, struct stage *s)
{
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	bench_unstage(b, s);
	KUNIT_EXPECT_EQ(b->test, DONE, kdapl_ep_free(&b->space, s->ep));
	bench_linger_on(s->id);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(b->test, 1U, bench_census(b).lingering);
}

/*
 * P53, D35, F6: given up before the peer has confirmed: the id stays, for the peer
 * has to hear of it as soon as it is connected; or it never is.
 */
static void accept_given_up(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	u32 calls = b->fake->calls[FAKE_CM_DISCONNECT];
	struct stage s;
	int confirmed;

	for (confirmed = 0; confirmed < 2; confirmed++) {
		bench_stage(b, KDAPL_EP_COMPLETION_PENDING, &s);
		KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, s.ep));
		expect_given_up(b, &s);
		KUNIT_EXPECT_EQ(test, calls, b->fake->calls[FAKE_CM_DISCONNECT]);
		if (confirmed) {
			fake_confirmed(s.id);
			KUNIT_EXPECT_EQ(test, calls + 1,
					b->fake->calls[FAKE_CM_DISCONNECT]);
			KUNIT_EXPECT_EQ(test, 1U, bench_census(b).lingering);
			expect_empty(b, b->evd);
		}
		fake_peer_disconnected(s.id);
		expect_same(b, &before);
	}
}

/* P53, D35: given up, and the peer never confirms: the id does not wait for long. */
static void given_up_and_unreachable(struct kunit *test)
{
	static const enum kdapl_ep_input inputs[] = {
		KDAPL_EP_IN_UNREACHABLE, KDAPL_EP_IN_PEER_REJECT,
		KDAPL_EP_IN_NON_PEER_REJECT,
	};
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct stage s;
	int i;

	for (i = 0; i < ARRAY_SIZE(inputs); i++) {
		bench_stage(b, KDAPL_EP_COMPLETION_PENDING, &s);
		KUNIT_EXPECT_EQ(test, DONE, bench_graceful(b, s.ep));
		expect_given_up(b, &s);
		fake_input(s.id, inputs[i]);
		expect_same(b, &before);
	}
}

/* P53, D35: the peer confirms before anything was done about the abort. */
static void confirmed_after_the_abort(struct kunit *test)
{
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	u32 calls = b->fake->calls[FAKE_CM_DISCONNECT];
	struct stage s;

	bench_stage(b, KDAPL_EP_COMPLETION_PENDING, &s);
	fake_handler_lock(s.id);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
	kdapl_conn_confirmed(s.id->conn);
	fake_handler_unlock(s.id);
	expect_given_up(b, &s);
	KUNIT_EXPECT_EQ(test, calls + 1, b->fake->calls[FAKE_CM_DISCONNECT]);
	fake_peer_disconnected(s.id);
	expect_same(b, &before);
}

/* D12, P58, RULING 46: what the peer sent before it went shows that it was connected. */
static void data_then_disconnect(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	struct fake_id *id;

	bench_recv(b, ep, 1);
	bench_recv(b, ep, 2);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_cr_accept(&b->space, bench_cr(b, b->evd), ep, 0,
					NULL));
	/* nobody polls, so nobody need have seen it when the CM comes */
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	fake_peer_disconnected(id);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_dto(b, dto, 1, DTO_OK);
	expect_dto(b, dto, 2, FLUSHED);
	expect_empty(b, dto);
	expect_empty(b, b->evd);
}

/*
 * D35, F6: confirmed by data, and over before the CM knows of the confirmation: it
 * would disconnect nothing yet, so the peer is told when it does.
 */
static void over_before_confirmed(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE dto = bench_evd(b, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep = bench_ep_attr(b, dto, dto, b->evd, NULL);
	u32 calls = b->fake->calls[FAKE_CM_DISCONNECT];
	struct fake_id *id;

	bench_recv(b, ep, 1);
	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_cr_accept(&b->space, bench_cr(b, b->evd), ep, 0,
					NULL));
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, dto, 1, DTO_OK);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, ep));
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_reset(&b->space, ep));
	bench_linger_on(id);
	KUNIT_EXPECT_EQ(test, calls, b->fake->calls[FAKE_CM_DISCONNECT]);
	KUNIT_EXPECT_EQ(test, 1U, bench_census(b).lingering);
	fake_confirmed(id);
	KUNIT_EXPECT_EQ(test, calls + 1, b->fake->calls[FAKE_CM_DISCONNECT]);
	fake_peer_disconnected(id);
	expect_empty(b, b->evd);
}

/* P70..P72: a CM that cannot tell the peer: the request is over all the same. */
static void reject_refused(struct kunit *test)
{
	static const enum kdapl_ep_state states[] = {
		KDAPL_EP_PASSIVE_PENDING, KDAPL_EP_TENTATIVE,
	};
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	struct stage s;
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		bench_stage(b, states[i], &s);
		fake_fail(b->fake, FAKE_CM_REJECT, 1, -EINVAL);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, s.cr));
		KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject(&b->space, s.cr));
		s.cr = DAT_HANDLE_NULL;
		bench_unstage(b, &s);
		if (states[i] == KDAPL_EP_PASSIVE_PENDING) {
			KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED,
					bench_state(b, s.ep));
			KUNIT_EXPECT_EQ(test, DONE,
					kdapl_ep_free(&b->space, s.ep));
			expect_dto(b, b->evd, 100, FLUSHED);
			expect_dto(b, b->evd, 101, FLUSHED);
		}
		expect_same(b, &before);
	}
}

/* struct rejection - an id that is rejected, and gone as soon as it was */
struct rejection {
	struct kunit *test;
	const struct fake_id *id;
};

static void check_rejection(void *arg)
{
	const struct rejection *r = arg;

	KUNIT_EXPECT_TRUE(r->test, r->id->rejected);
	KUNIT_EXPECT_EQ(r->test, KDAPL_REQ_PRIVATE_DATA, (int)r->id->data_len);
	KUNIT_EXPECT_STREQ(r->test, "no", (const char *)r->id->data);
}

/* RULING 65, P70: a reject's data go out, and what is wrong with them leaves the request. */
static void reject_with_data(struct kunit *test)
{
	static const char data[KDAPL_REQ_PRIVATE_DATA] = "no";
	struct rejection r = { .test = test };
	struct bench *b = test->priv;
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "hello", 5, &id));
	cr = bench_cr(b, b->evd);
	KUNIT_EXPECT_EQ(test, IP(2), kdapl_cr_reject_with(&b->space, cr, -1, data));
	KUNIT_EXPECT_EQ(test, IP(2), kdapl_cr_reject_with(&b->space, cr, sizeof(data) + 1, data));
	KUNIT_EXPECT_EQ(test, IP(3), kdapl_cr_reject_with(&b->space, cr, 1, NULL));
	KUNIT_EXPECT_FALSE(test, id->rejected);
	r.id = id;
	fake_hook(b->fake, FAKE_CM_REJECT, check_rejection, &r);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject_with(&b->space, cr, sizeof(data), data));
	KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject_with(&b->space, cr, 0, NULL));
}

/* P80..P83: handed to another service point, whole, or nothing happened. */
static void handoffs(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE small = bench_evd(b, 1, DAT_EVD_CR_FLAG);
	struct census before;
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "hello", 5, &id));
	cr = bench_cr(b, b->evd);
	before = bench_census(b);
	KUNIT_EXPECT_EQ(test, IP(2), kdapl_cr_handoff(&b->space, cr, 0));
	KUNIT_EXPECT_EQ(test, IP(2), kdapl_cr_handoff(&b->space, cr, 65536));
	KUNIT_EXPECT_EQ(test, IP(2), kdapl_cr_handoff(&b->space, cr, QUAL + 1));
	KUNIT_EXPECT_EQ(test, IH(CR),
			kdapl_cr_handoff(&b->space, b->evd, QUAL));
	expect_same(b, &before);

	/* the peer gave up meanwhile, which the new CR knows as well */
	fake_input(id, KDAPL_EP_IN_PEER_DISCONNECT);
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_psp_create(&b->space, b->ia, QUAL + 1, small,
					 DAT_PSP_CONSUMER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_handoff(&b->space, cr, QUAL + 1));
	KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject(&b->space, cr));
	cr = bench_cr(b, small);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_query(&b->space, cr,
						   DAT_CR_FIELD_ALL, &param));
	KUNIT_EXPECT_EQ(test, 0, memcmp(param.private_data, "hello", 5));
	KUNIT_EXPECT_FALSE(test, id->rejected);
	KUNIT_EXPECT_TRUE(test, kdapl_id_peer_gone(id->conn));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));

	/* no room there: refused as on arrival */
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL + 1, "", 0, NULL));
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	cr = bench_cr(b, b->evd);
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_handoff(&b->space, cr, QUAL + 1));
	KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject(&b->space, cr));
	kdapl_cr_reject(&b->space, bench_cr(b, small));
	expect_empty(b, small);
	bench_settle(b);
	/* the two listeners'; the second one's handle for that of the request */
	KUNIT_EXPECT_EQ(test, bench_census(b).ids, 2U);
	KUNIT_EXPECT_EQ(test, bench_census(b).handles, before.handles);
}

/* What the event of the next request, sent to the address @second behind the first, names */
static const struct sockaddr_in *asked_at(struct bench *b, u32 second)
{
	DAT_EVENT event = {};

	b->fake->second = second;
	KUNIT_EXPECT_EQ(b->test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	b->fake->second = 0;
	KUNIT_ASSERT_EQ(b->test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			bench_event(b, b->evd, &event));
	kdapl_cr_reject(&b->space, event.event_data.cr_arrival_event_data.cr_handle);
	/* It stays when the request is answered. */
	return (void *)event.event_data.cr_arrival_event_data.local_ia_address_ptr;
}

/* E11: of the addresses of a port the event names that which the peer has asked for. */
static void second_address(struct kunit *test)
{
	struct bench *b = test->priv;
	const struct sockaddr_in *at, *first;

	bench_psp(b, QUAL);
	first = asked_at(b, 0);
	at = asked_at(b, 2);
	KUNIT_EXPECT_EQ(test, fake_address.sin_addr.s_addr, first->sin_addr.s_addr);
	KUNIT_EXPECT_EQ(test, ntohl(fake_address.sin_addr.s_addr) + 2,
			ntohl(at->sin_addr.s_addr));
	KUNIT_EXPECT_EQ(test, 0U, (u32)at->sin_port);
	KUNIT_EXPECT_PTR_EQ(test, first, asked_at(b, 0));
	KUNIT_EXPECT_PTR_EQ(test, at, asked_at(b, 2));
}

/*
 * A8, P9, P80: the process of a service point has not asked for the endpoint that it gets with a
 * request, nor who hands the request over: its CQ is paid for with its queue pair.
 */
static void nobody_pays_for_requests(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_PSP_HANDLE psp;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_psp_create(&b->space, b->ia, QUAL + 1, b->evd,
						     DAT_PSP_PROVIDER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL + 1, "", 0, NULL));
	KUNIT_EXPECT_EQ(test, 1U, b->fake->nr_unpaid_cqs);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, bench_cr(b, b->evd)));

	bench_psp(b, QUAL);
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, NULL));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_handoff(&b->space, bench_cr(b, b->evd), QUAL + 1));
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_unpaid_cqs);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, bench_cr(b, b->evd)));

	bench_ep(b, DAT_HANDLE_NULL);
	KUNIT_EXPECT_EQ(test, 2U, b->fake->nr_unpaid_cqs);
}

/* P45, P80: to a service point of another process, where the request is from then on. */
static void handoff_to_another_process(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EVD_HANDLE evd, async = DAT_HANDLE_NULL;
	struct kdapl_space there;
	DAT_IA_HANDLE ia = NULL;
	struct census before;
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	struct fake_id *id;
	DAT_EVENT event = {};
	DAT_RETURN ret;

	bench_psp(b, QUAL);
	before = bench_census(b);
	KUNIT_ASSERT_EQ(test, 0, kdapl_space_init(&there, &init_net, NULL, 1000));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ia_open(&there, "fake-1", 1, &async, 1, 2,
						  DAT_TRUE, &ia));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_create(&there, ia, 1,
						     DAT_EVD_CR_FLAG, &evd));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_psp_create(&there, ia, QUAL + 1, evd,
					 DAT_PSP_CONSUMER_FLAG, &psp));
	KUNIT_EXPECT_EQ(test, 0, fake_request(b->fake, QUAL, "hello", 5, &id));
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			bench_event(b, b->evd, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;

	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_handoff(&b->space, cr, QUAL + 1));
	KUNIT_EXPECT_EQ(test, IH(CR), kdapl_cr_reject(&b->space, cr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_evd_dequeue(&there, evd, &event));
	KUNIT_EXPECT_EQ(test, (u32)DAT_CONNECTION_REQUEST_EVENT,
			(u32)event.event_number);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ret = kdapl_cr_query(&there, cr, DAT_CR_FIELD_ALL, &param);
	KUNIT_EXPECT_EQ(test, DONE, ret);
	if (!ret) {
		KUNIT_EXPECT_EQ(test, 0, memcmp(param.private_data, "hello", 5));
		KUNIT_EXPECT_FALSE(test, id->rejected);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&there, cr));
	}

	kdapl_ia_close_all(&there);
	kdapl_space_destroy(&there);
	expect_empty(b, b->evd);
	expect_same(b, &before);
}

/* E71, P47: the device goes: the request ends; its shell is rejected, not accepted. */
static void device_goes(struct kunit *test)
{
	static const enum kdapl_ep_state states[] = {
		KDAPL_EP_PASSIVE_PENDING, KDAPL_EP_TENTATIVE,
	};
	struct bench *b = test->priv;
	struct stage s[ARRAY_SIZE(states)];
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		bench_stage(b, states[i], &s[i]);
		/* they share a port */
		KUNIT_EXPECT_EQ(test, DONE, s[i].is_rsp ?
				kdapl_rsp_free(&b->space, s[i].sp) :
				kdapl_psp_free(&b->space, s[i].sp));
	}
	kdapl_ia_device_gone(bench_ia(b));
	KUNIT_EXPECT_EQ(test, bench_census(b).ids, 0U);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		KUNIT_EXPECT_EQ(test, GONE,
				kdapl_cr_accept(&b->space, s[i].cr,
						DAT_HANDLE_NULL, 0, NULL));
		KUNIT_EXPECT_EQ(test, GONE,
				kdapl_cr_handoff(&b->space, s[i].cr, QUAL));
		KUNIT_EXPECT_EQ(test, DONE,
				kdapl_cr_reject(&b->space, s[i].cr));
	}
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, s[0].ep));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(&b->space, s[0].ep));
}

/*
 * E71, A10: on a device that is being removed nothing is accepted any more, also where the removal
 * has not come to the IA yet: it would have to wait for each acceptance on iWARP.
 */
static void device_is_going(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	struct fake_id *id;
	DAT_CR_HANDLE cr;

	bench_psp(b, QUAL);
	KUNIT_ASSERT_EQ(test, 0, fake_request(b->fake, QUAL, "", 0, &id));
	cr = bench_cr(b, b->evd);
	WRITE_ONCE(b->fake->dev->gone, true);
	KUNIT_EXPECT_EQ(test, GONE, kdapl_cr_accept(&b->space, cr, ep, 0, NULL));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_UNCONNECTED, bench_state(b, ep));
	KUNIT_EXPECT_EQ(test, 0U, b->fake->calls[FAKE_CM_ACCEPT]);
	KUNIT_EXPECT_EQ(test, DONE, kdapl_cr_reject(&b->space, cr));
	WRITE_ONCE(b->fake->dev->gone, false);
}

static struct kunit_case kdapl_passive_cases[] = {
	KUNIT_CASE(listen_refused),
	KUNIT_CASE(streams_disagree),
	KUNIT_CASE(freed_before_it_listens),
	KUNIT_CASE_PARAM(request_before_it_listens, late_errors_gen_params),
	KUNIT_CASE(freed_by_two),
	KUNIT_CASE(request_refused),
	KUNIT_CASE(request_at_the_close),
	KUNIT_CASE(rsp_shows_its_endpoint),
	KUNIT_CASE(copies_of_a_request),
	KUNIT_CASE(lost_request),
	KUNIT_CASE(accept_refused),
	KUNIT_CASE(state_changes_during_accept),
	KUNIT_CASE(accept_fails_afterwards),
	KUNIT_CASE(queue_breaks_during_accept),
	KUNIT_CASE(accept_given_up),
	KUNIT_CASE(given_up_and_unreachable),
	KUNIT_CASE(confirmed_after_the_abort),
	KUNIT_CASE(data_then_disconnect),
	KUNIT_CASE(over_before_confirmed),
	KUNIT_CASE(reject_refused),
	KUNIT_CASE(reject_with_data),
	KUNIT_CASE(handoffs),
	KUNIT_CASE(second_address),
	KUNIT_CASE(nobody_pays_for_requests),
	KUNIT_CASE(handoff_to_another_process),
	KUNIT_CASE(device_goes),
	KUNIT_CASE(device_is_going),
	{}
};

static struct kunit_suite kdapl_passive_suite = {
	.name = "kdapl_passive",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_passive_cases,
};

kunit_test_suite(kdapl_passive_suite);
