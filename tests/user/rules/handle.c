// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles: what they are, contexts, and every call with every kind of bad one
 * (ev: E5, G28..G31; A1).
 */
#include "rig.h"

static DAT_EVENT event;
static DAT_COUNT count;
static DAT_HANDLE out, ep, own_rmr;
static DAT_EP_STATE ep_state;
static DAT_CONN_QUAL qual;
static DAT_HANDLE_TYPE handle_type;
static DAT_CONTEXT context;
static DAT_SRQ_ATTR srq_attr;
static DAT_LMR_TRIPLET iov;
static DAT_RMR_TRIPLET rmr;
static union {
	DAT_EVD_PARAM evd;
	DAT_EP_PARAM ep;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_PZ_PARAM pz;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CR_PARAM cr;
	DAT_CNO_PARAM cno;
} param;

static DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a.mem };

	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz,
			      DAT_MEM_PRIV_ALL_FLAG, &out, NULL, NULL, NULL,
			      NULL);
}

static DAT_RETURN lmr_of_lmr(DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = lmr };

	return dat_lmr_create(a.ia, DAT_MEM_TYPE_LMR, region, 64, a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &out, NULL, NULL, NULL,
			      NULL);
}

/* One handle of one call each; the other arguments are good. */

static DAT_RETURN call_ia_close(DAT_HANDLE h)
{
	return dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_ia_query(DAT_HANDLE h)
{
	return dat_ia_query(h, NULL, 0, NULL, 0, NULL);
}

static DAT_RETURN call_pz_create(DAT_HANDLE h)
{
	return dat_pz_create(h, &out);
}

static DAT_RETURN call_pz_query(DAT_HANDLE h)
{
	return dat_pz_query(h, DAT_PZ_FIELD_ALL, &param.pz);
}

static DAT_RETURN call_pz_free(DAT_HANDLE h)
{
	return dat_pz_free(h);
}

static DAT_RETURN call_lmr_create_ia(DAT_HANDLE h)
{
	return lmr_create(h, a.pz);
}

static DAT_RETURN call_lmr_create_pz(DAT_HANDLE h)
{
	return lmr_create(a.ia, h);
}

static DAT_RETURN call_lmr_create_lmr(DAT_HANDLE h)
{
	return lmr_of_lmr(h);
}

static DAT_RETURN call_lmr_query(DAT_HANDLE h)
{
	return dat_lmr_query(h, DAT_LMR_FIELD_ALL, &param.lmr);
}

static DAT_RETURN call_lmr_free(DAT_HANDLE h)
{
	return dat_lmr_free(h);
}

static DAT_RETURN call_rmr_create(DAT_HANDLE h)
{
	return dat_rmr_create(h, &out);
}

static DAT_RETURN call_rmr_query(DAT_HANDLE h)
{
	return dat_rmr_query(h, DAT_RMR_FIELD_ALL, &param.rmr);
}

static DAT_RETURN call_rmr_bind_rmr(DAT_HANDLE h)
{
	return dat_rmr_bind(h, &iov, 0, ep, cookie(0), 0, &rmr.rmr_context);
}

static DAT_RETURN call_rmr_bind_ep(DAT_HANDLE h)
{
	return dat_rmr_bind(own_rmr, &iov, 0, h, cookie(0), 0,
			    &rmr.rmr_context);
}

static DAT_RETURN call_rmr_free(DAT_HANDLE h)
{
	return dat_rmr_free(h);
}

static DAT_RETURN call_lmr_sync_rdma_read(DAT_HANDLE h)
{
	return dat_lmr_sync_rdma_read(h, &iov, 1);
}

static DAT_RETURN call_lmr_sync_rdma_write(DAT_HANDLE h)
{
	return dat_lmr_sync_rdma_write(h, &iov, 1);
}

static DAT_RETURN call_evd_create_ia(DAT_HANDLE h)
{
	return dat_evd_create(h, 8, NULL, DAT_EVD_DTO_FLAG, &out);
}

static DAT_RETURN call_evd_create_cno(DAT_HANDLE h)
{
	return dat_evd_create(a.ia, 8, h, DAT_EVD_DTO_FLAG, &out);
}

static DAT_RETURN call_evd_query(DAT_HANDLE h)
{
	return dat_evd_query(h, DAT_EVD_FIELD_ALL, &param.evd);
}

static DAT_RETURN call_evd_resize(DAT_HANDLE h)
{
	return dat_evd_resize(h, 8);
}

static DAT_RETURN call_evd_post_se(DAT_HANDLE h)
{
	return dat_evd_post_se(h, &event);
}

static DAT_RETURN call_evd_dequeue(DAT_HANDLE h)
{
	return dat_evd_dequeue(h, &event);
}

static DAT_RETURN call_evd_wait(DAT_HANDLE h)
{
	return dat_evd_wait(h, 0, 1, &event, &count);
}

static DAT_RETURN call_evd_modify_cno_evd(DAT_HANDLE h)
{
	return dat_evd_modify_cno(h, NULL);
}

static DAT_RETURN call_evd_modify_cno_cno(DAT_HANDLE h)
{
	return dat_evd_modify_cno(a.req, h);
}

static DAT_RETURN call_evd_enable(DAT_HANDLE h)
{
	return dat_evd_enable(h);
}

static DAT_RETURN call_evd_disable(DAT_HANDLE h)
{
	return dat_evd_disable(h);
}

static DAT_RETURN call_evd_set_unwaitable(DAT_HANDLE h)
{
	return dat_evd_set_unwaitable(h);
}

static DAT_RETURN call_evd_clear_unwaitable(DAT_HANDLE h)
{
	return dat_evd_clear_unwaitable(h);
}

static DAT_RETURN call_evd_free(DAT_HANDLE h)
{
	return dat_evd_free(h);
}

static DAT_RETURN call_cno_create(DAT_HANDLE h)
{
	return dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &out);
}

static DAT_RETURN call_cno_query(DAT_HANDLE h)
{
	return dat_cno_query(h, DAT_CNO_FIELD_ALL, &param.cno);
}

static DAT_RETURN call_cno_modify_agent(DAT_HANDLE h)
{
	return dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL);
}

static DAT_RETURN call_cno_wait(DAT_HANDLE h)
{
	return dat_cno_wait(h, 0, &out);
}

static DAT_RETURN call_cno_free(DAT_HANDLE h)
{
	return dat_cno_free(h);
}

static DAT_RETURN call_ep_create_ia(DAT_HANDLE h)
{
	return dat_ep_create(h, NULL, NULL, NULL, NULL, NULL, &out);
}

static DAT_RETURN call_ep_create_pz(DAT_HANDLE h)
{
	return dat_ep_create(a.ia, h, NULL, NULL, NULL, NULL, &out);
}

static DAT_RETURN call_ep_create_recv_evd(DAT_HANDLE h)
{
	return dat_ep_create(a.ia, a.pz, h, NULL, NULL, NULL, &out);
}

static DAT_RETURN call_ep_create_request_evd(DAT_HANDLE h)
{
	return dat_ep_create(a.ia, a.pz, NULL, h, NULL, NULL, &out);
}

static DAT_RETURN call_ep_create_connect_evd(DAT_HANDLE h)
{
	return dat_ep_create(a.ia, a.pz, NULL, NULL, h, NULL, &out);
}

static DAT_RETURN call_ep_create_with_srq(DAT_HANDLE h)
{
	return dat_ep_create_with_srq(a.ia, a.pz, NULL, NULL, NULL, h, NULL,
				      &out);
}

static DAT_RETURN call_ep_query(DAT_HANDLE h)
{
	return dat_ep_query(h, DAT_EP_FIELD_ALL, &param.ep);
}

static DAT_RETURN call_ep_modify(DAT_HANDLE h)
{
	return dat_ep_modify(h, 0, &param.ep);
}

static DAT_RETURN call_ep_get_status(DAT_HANDLE h)
{
	return dat_ep_get_status(h, &ep_state, NULL, NULL);
}

static DAT_RETURN call_ep_connect(DAT_HANDLE h)
{
	return dat_ep_connect(h, (DAT_IA_ADDRESS_PTR)&a.address, 1, 1, 0, NULL,
			      0, 0);
}

static DAT_RETURN call_ep_dup_connect_ep(DAT_HANDLE h)
{
	return dat_ep_dup_connect(h, ep, 1, 0, NULL, 0);
}

static DAT_RETURN call_ep_dup_connect_dup(DAT_HANDLE h)
{
	return dat_ep_dup_connect(ep, h, 1, 0, NULL, 0);
}

static DAT_RETURN call_ep_disconnect(DAT_HANDLE h)
{
	return dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_ep_reset(DAT_HANDLE h)
{
	return dat_ep_reset(h);
}

static DAT_RETURN call_ep_free(DAT_HANDLE h)
{
	return dat_ep_free(h);
}

static DAT_RETURN call_ep_post_send(DAT_HANDLE h)
{
	return dat_ep_post_send(h, 1, &iov, cookie(0), 0);
}

static DAT_RETURN call_ep_post_recv(DAT_HANDLE h)
{
	return dat_ep_post_recv(h, 1, &iov, cookie(0), 0);
}

static DAT_RETURN call_ep_post_rdma_read(DAT_HANDLE h)
{
	return dat_ep_post_rdma_read(h, 1, &iov, cookie(0), &rmr, 0);
}

static DAT_RETURN call_ep_post_rdma_write(DAT_HANDLE h)
{
	return dat_ep_post_rdma_write(h, 1, &iov, cookie(0), &rmr, 0);
}

static DAT_RETURN call_ep_recv_query(DAT_HANDLE h)
{
	return dat_ep_recv_query(h, &count, &count);
}

static DAT_RETURN call_ep_set_watermark(DAT_HANDLE h)
{
	return dat_ep_set_watermark(h, 1, 1);
}

static DAT_RETURN call_psp_create_ia(DAT_HANDLE h)
{
	return dat_psp_create(h, 20000, a.cr, 0, &out);
}

static DAT_RETURN call_psp_create_evd(DAT_HANDLE h)
{
	return dat_psp_create(a.ia, 20000, h, 0, &out);
}

static DAT_RETURN call_psp_create_any_ia(DAT_HANDLE h)
{
	return dat_psp_create_any(h, &qual, a.cr, 0, &out);
}

static DAT_RETURN call_psp_create_any_evd(DAT_HANDLE h)
{
	return dat_psp_create_any(a.ia, &qual, h, 0, &out);
}

static DAT_RETURN call_psp_query(DAT_HANDLE h)
{
	return dat_psp_query(h, DAT_PSP_FIELD_ALL, &param.psp);
}

static DAT_RETURN call_psp_free(DAT_HANDLE h)
{
	return dat_psp_free(h);
}

static DAT_RETURN call_rsp_create_ia(DAT_HANDLE h)
{
	return dat_rsp_create(h, 20000, ep, a.cr, &out);
}

static DAT_RETURN call_rsp_create_ep(DAT_HANDLE h)
{
	return dat_rsp_create(a.ia, 20000, h, a.cr, &out);
}

static DAT_RETURN call_rsp_create_evd(DAT_HANDLE h)
{
	return dat_rsp_create(a.ia, 20000, ep, h, &out);
}

static DAT_RETURN call_rsp_query(DAT_HANDLE h)
{
	return dat_rsp_query(h, DAT_RSP_FIELD_ALL, &param.rsp);
}

static DAT_RETURN call_rsp_free(DAT_HANDLE h)
{
	return dat_rsp_free(h);
}

static DAT_RETURN call_cr_query(DAT_HANDLE h)
{
	return dat_cr_query(h, DAT_CR_FIELD_ALL, &param.cr);
}

static DAT_RETURN call_cr_accept(DAT_HANDLE h)
{
	return dat_cr_accept(h, ep, 0, NULL);
}

static DAT_RETURN call_cr_reject(DAT_HANDLE h)
{
	return dat_cr_reject(h);
}

static DAT_RETURN call_cr_handoff(DAT_HANDLE h)
{
	return dat_cr_handoff(h, 1);
}

static DAT_RETURN call_srq_create_ia(DAT_HANDLE h)
{
	return dat_srq_create(h, a.pz, &srq_attr, &out);
}

static DAT_RETURN call_srq_create_pz(DAT_HANDLE h)
{
	return dat_srq_create(a.ia, h, &srq_attr, &out);
}

static DAT_RETURN call_srq_query(DAT_HANDLE h)
{
	return dat_srq_query(h, 0, NULL);
}

static DAT_RETURN call_srq_resize(DAT_HANDLE h)
{
	return dat_srq_resize(h, 1);
}

static DAT_RETURN call_srq_post_recv(DAT_HANDLE h)
{
	return dat_srq_post_recv(h, 1, &iov, cookie(0));
}

static DAT_RETURN call_srq_set_lw(DAT_HANDLE h)
{
	return dat_srq_set_lw(h, 1);
}

static DAT_RETURN call_srq_free(DAT_HANDLE h)
{
	return dat_srq_free(h);
}

static DAT_RETURN call_get_handle_type(DAT_HANDLE h)
{
	return dat_get_handle_type(h, &handle_type);
}

static DAT_RETURN call_get_consumer_context(DAT_HANDLE h)
{
	return dat_get_consumer_context(h, &context);
}

static DAT_RETURN call_set_consumer_context(DAT_HANDLE h)
{
	return dat_set_consumer_context(h, context);
}

/* The kind that a call asks for; null is good where it says so. */
static const struct {
	const char *name;
	DAT_RETURN (*call)(DAT_HANDLE h);
	DAT_RETURN expected;
	bool null_is_good;
} calls[] = {
	{ "dat_ia_close", call_ia_close, HANDLE(IA), false },
	{ "dat_ia_query", call_ia_query, HANDLE(IA), false },
	{ "dat_pz_create", call_pz_create, HANDLE(IA), false },
	{ "dat_pz_query", call_pz_query, HANDLE(PZ), false },
	{ "dat_pz_free", call_pz_free, HANDLE(PZ), false },
	{ "dat_lmr_create (ia)", call_lmr_create_ia, HANDLE(IA), false },
	{ "dat_lmr_create (pz)", call_lmr_create_pz, HANDLE(PZ), false },
	{ "dat_lmr_create (lmr)", call_lmr_create_lmr, HANDLE(LMR), false },
	{ "dat_lmr_query", call_lmr_query, HANDLE(LMR), false },
	{ "dat_lmr_free", call_lmr_free, HANDLE(LMR), false },
	{ "dat_rmr_create", call_rmr_create, HANDLE(PZ), false },
	{ "dat_rmr_query", call_rmr_query, HANDLE(RMR), false },
	{ "dat_rmr_bind (rmr)", call_rmr_bind_rmr, HANDLE(RMR), false },
	{ "dat_rmr_bind (ep)", call_rmr_bind_ep, HANDLE(EP), false },
	{ "dat_rmr_free", call_rmr_free, HANDLE(RMR), false },
	{ "dat_lmr_sync_rdma_read", call_lmr_sync_rdma_read,
	  HANDLE(IA), false },
	{ "dat_lmr_sync_rdma_write", call_lmr_sync_rdma_write,
	  HANDLE(IA), false },
	{ "dat_evd_create (ia)", call_evd_create_ia, HANDLE(IA), false },
	{ "dat_evd_create (cno)", call_evd_create_cno, HANDLE(CNO), true },
	{ "dat_evd_query", call_evd_query, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_resize", call_evd_resize, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_post_se", call_evd_post_se, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_dequeue", call_evd_dequeue, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_wait", call_evd_wait, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_modify_cno (evd)", call_evd_modify_cno_evd,
	  HANDLE(EVD_REQUEST), false },
	{ "dat_evd_modify_cno (cno)", call_evd_modify_cno_cno,
	  HANDLE(CNO), true },
	{ "dat_evd_enable", call_evd_enable, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_disable", call_evd_disable, HANDLE(EVD_REQUEST), false },
	{ "dat_evd_set_unwaitable", call_evd_set_unwaitable,
	  HANDLE(EVD_REQUEST), false },
	{ "dat_evd_clear_unwaitable", call_evd_clear_unwaitable,
	  HANDLE(EVD_REQUEST), false },
	{ "dat_evd_free", call_evd_free, HANDLE(EVD_REQUEST), false },
	{ "dat_cno_create", call_cno_create, HANDLE(IA), false },
	{ "dat_cno_query", call_cno_query, HANDLE(CNO), false },
	{ "dat_cno_modify_agent", call_cno_modify_agent, HANDLE(CNO), false },
	{ "dat_cno_wait", call_cno_wait, HANDLE(CNO), false },
	{ "dat_cno_free", call_cno_free, HANDLE(CNO), false },
	{ "dat_ep_create (ia)", call_ep_create_ia, HANDLE(IA), false },
	{ "dat_ep_create (pz)", call_ep_create_pz, HANDLE(PZ), true },
	{ "dat_ep_create (recv evd)", call_ep_create_recv_evd,
	  HANDLE(EVD_RECV), true },
	{ "dat_ep_create (request evd)", call_ep_create_request_evd,
	  HANDLE(EVD_REQUEST), true },
	{ "dat_ep_create (connect evd)", call_ep_create_connect_evd,
	  HANDLE(EVD_CONN), true },
	{ "dat_ep_create_with_srq", call_ep_create_with_srq,
	  HANDLE(SRQ), false },
	{ "dat_ep_query", call_ep_query, HANDLE(EP), false },
	{ "dat_ep_modify", call_ep_modify, HANDLE(EP), false },
	{ "dat_ep_get_status", call_ep_get_status, HANDLE(EP), false },
	{ "dat_ep_connect", call_ep_connect, HANDLE(EP), false },
	{ "dat_ep_dup_connect (ep)", call_ep_dup_connect_ep,
	  HANDLE(EP), false },
	{ "dat_ep_dup_connect (dup)", call_ep_dup_connect_dup,
	  HANDLE(EP), false },
	{ "dat_ep_disconnect", call_ep_disconnect, HANDLE(EP), false },
	{ "dat_ep_reset", call_ep_reset, HANDLE(EP), false },
	{ "dat_ep_free", call_ep_free, HANDLE(EP), false },
	{ "dat_ep_post_send", call_ep_post_send, HANDLE(EP), false },
	{ "dat_ep_post_recv", call_ep_post_recv, HANDLE(EP), false },
	{ "dat_ep_post_rdma_read", call_ep_post_rdma_read, HANDLE(EP), false },
	{ "dat_ep_post_rdma_write", call_ep_post_rdma_write,
	  HANDLE(EP), false },
	{ "dat_ep_recv_query", call_ep_recv_query, HANDLE(EP), false },
	{ "dat_ep_set_watermark", call_ep_set_watermark, HANDLE(EP), false },
	{ "dat_psp_create (ia)", call_psp_create_ia, HANDLE(IA), false },
	{ "dat_psp_create (evd)", call_psp_create_evd, HANDLE(EVD_CR), false },
	{ "dat_psp_create_any (ia)", call_psp_create_any_ia,
	  HANDLE(IA), false },
	{ "dat_psp_create_any (evd)", call_psp_create_any_evd,
	  HANDLE(EVD_CR), false },
	{ "dat_psp_query", call_psp_query, HANDLE(PSP), false },
	{ "dat_psp_free", call_psp_free, HANDLE(PSP), false },
	{ "dat_rsp_create (ia)", call_rsp_create_ia, HANDLE(IA), false },
	{ "dat_rsp_create (ep)", call_rsp_create_ep, HANDLE(EP), true },
	{ "dat_rsp_create (evd)", call_rsp_create_evd, HANDLE(EVD_CR), false },
	{ "dat_rsp_query", call_rsp_query, HANDLE(RSP), false },
	{ "dat_rsp_free", call_rsp_free, HANDLE(RSP), false },
	{ "dat_cr_query", call_cr_query, HANDLE(CR), false },
	{ "dat_cr_accept", call_cr_accept, HANDLE(CR), false },
	{ "dat_cr_reject", call_cr_reject, HANDLE(CR), false },
	{ "dat_cr_handoff", call_cr_handoff, HANDLE(CR), false },
	{ "dat_srq_create (ia)", call_srq_create_ia, HANDLE(IA), false },
	{ "dat_srq_create (pz)", call_srq_create_pz, HANDLE(PZ), false },
	{ "dat_srq_query", call_srq_query, HANDLE(SRQ), false },
	{ "dat_srq_resize", call_srq_resize, HANDLE(SRQ), false },
	{ "dat_srq_post_recv", call_srq_post_recv, HANDLE(SRQ), false },
	{ "dat_srq_set_lw", call_srq_set_lw, HANDLE(SRQ), false },
	{ "dat_srq_free", call_srq_free, HANDLE(SRQ), false },
	{ "dat_get_handle_type", call_get_handle_type,
	  ERR(INVALID_HANDLE, HANDLE1), false },
	{ "dat_get_consumer_context", call_get_consumer_context,
	  ERR(INVALID_HANDLE, HANDLE1), false },
	{ "dat_set_consumer_context", call_set_consumer_context,
	  ERR(INVALID_HANDLE, HANDLE1), false },
};

static void one_bad(size_t i, const char *what, uintptr_t bits)
{
	volatile uintptr_t handle = bits;	/* no guessing by the compiler */
	char got[128], want[128];
	DAT_RETURN ret;

	if (!bits && calls[i].null_is_good)
		return;
	ret = calls[i].call((DAT_HANDLE)handle);
	if (ret == calls[i].expected)
		return;
	FAIL("%s with %s: %s, expected %s", calls[i].name, what,
	     check_name(ret, got, sizeof(got)),
	     check_name(calls[i].expected, want, sizeof(want)));
}

static void bad_handles(void)
{
	DAT_PZ_HANDLE freed;
	int on_stack[64] = { 0 };
	size_t i;

	rig_open(&a);
	ep = new_ep(&a);
	iov = seg(&a, 0, 8);
	OK(dat_rmr_create(a.pz, &own_rmr));
	event.event_number = DAT_SOFTWARE_EVENT;
	OK(dat_pz_create(a.ia, &freed));
	OK(dat_pz_free(freed));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		one_bad(i, "null", 0);
		one_bad(i, "1", 1);
		one_bad(i, "2", 2);
		one_bad(i, "all ones", -1);
		one_bad(i, "an address of nothing", 0x1000);
		one_bad(i, "a pointer into the stack", (uintptr_t)on_stack);
		one_bad(i, "a pointer beside an object", (uintptr_t)a.ia + 8);
		one_bad(i, "a pointer past the objects",
			(uintptr_t)a.ia + 4096 * 128);
		one_bad(i, "a freed handle", (uintptr_t)freed);
	}
	is_state(ep, DAT_EP_STATE_UNCONNECTED);
}

/* An object of another type each: an EP's handle where an IA is asked for. */
static void wrong_types(void)
{
	DAT_RETURN expected;
	DAT_HANDLE wrong[6];
	size_t i, k;

	rig_open(&a);
	ep = new_ep(&a);
	iov = seg(&a, 0, 8);
	OK(dat_rmr_create(a.pz, &own_rmr));
	wrong[0] = a.ia;
	wrong[1] = a.pz;
	wrong[2] = a.lmr;
	wrong[3] = a.async;
	wrong[4] = ep;
	wrong[5] = own_rmr;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		expected = calls[i].expected;
		if (expected == ERR(INVALID_HANDLE, HANDLE1))
			continue;
		for (k = 0; k < ARRAY_SIZE(wrong); k++) {
			if ((k == 0 && expected == HANDLE(IA)) ||
			    (k == 1 && expected == HANDLE(PZ)) ||
			    (k == 2 && expected == HANDLE(LMR)) ||
			    (k == 3 && expected == HANDLE(EVD_REQUEST) &&
			     !calls[i].null_is_good) ||
			    (k == 4 && expected == HANDLE(EP)) ||
			    (k == 5 && expected == HANDLE(RMR)))
				continue;
			one_bad(i, "an object of another type",
				(uintptr_t)wrong[k]);
		}
	}
	is_state(ep, DAT_EP_STATE_UNCONNECTED);
}

static void is_type(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_CONTEXT in, seen;
	DAT_HANDLE_TYPE now;

	OK(dat_get_handle_type(handle, &now));
	CHECK_EQ(now, type);
	CHECK_RET(dat_get_handle_type(handle, NULL), ARG(2));
	CHECK_RET(dat_get_consumer_context(handle, NULL), ARG(2));
	OK(dat_get_consumer_context(handle, &seen));
	CHECK_EQ(seen.as_64, 0);
	in.as_64 = 0x123456789abcdef0ull + type;
	OK(dat_set_consumer_context(handle, in));
	OK(dat_get_consumer_context(handle, &seen));
	CHECK_EQ(seen.as_64, in.as_64);
	in.as_64 = 0;
	OK(dat_set_consumer_context(handle, in));
	OK(dat_get_consumer_context(handle, &seen));
	CHECK_EQ(seen.as_64, 0);
}

static void types_and_contexts(void)
{
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CNO_HANDLE cno;
	DAT_EP_HANDLE ep_a;
	DAT_CR_PARAM cr_param;
	DAT_CR_HANDLE cr;

	rig_both();
	ep_a = new_ep(&a);
	OK(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_rmr_create(a.pz, &own_rmr));
	psp = listen_any(DAT_PSP_PROVIDER_FLAG, &qual);
	OK(dat_rsp_create(b.ia, 30123, new_ep(&b), b.cr, &rsp));
	start_connect(ep_a, qual);
	cr = next_request();
	is_type(a.ia, DAT_HANDLE_TYPE_IA);
	is_type(a.pz, DAT_HANDLE_TYPE_PZ);
	is_type(a.lmr, DAT_HANDLE_TYPE_LMR);
	is_type(own_rmr, DAT_HANDLE_TYPE_RMR);
	is_type(a.recv, DAT_HANDLE_TYPE_EVD);
	is_type(ep_a, DAT_HANDLE_TYPE_EP);
	is_type(psp, DAT_HANDLE_TYPE_PSP);
	is_type(rsp, DAT_HANDLE_TYPE_RSP);
	is_type(cno, DAT_HANDLE_TYPE_CNO);
	/* G31: what the provider made */
	is_type(a.async, DAT_HANDLE_TYPE_EVD);
	is_type(cr, DAT_HANDLE_TYPE_CR);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	is_type(cr_param.local_ep_handle, DAT_HANDLE_TYPE_EP);
	OK(dat_cr_reject(cr));
}

static void srq_not_there(void)
{
	rig_open(&a);
	CHECK_RET(dat_srq_create(a.ia, a.pz, NULL, &out), ARG(3));
	CHECK_RET(dat_srq_create(a.ia, a.pz, &srq_attr, NULL), ARG(4));
	CHECK_RET(dat_srq_create(a.ia, a.pz, &srq_attr, &out),
		  ERR2(MODEL_NOT_SUPPORTED, 0));
	ep = new_ep(&a);
	CHECK_RET(dat_ep_recv_query(ep, &count, &count),
		  ERR2(MODEL_NOT_SUPPORTED, 0));
	CHECK_RET(dat_ep_set_watermark(ep, -2, 1), ARG(2));
	CHECK_RET(dat_ep_set_watermark(ep, 1, -2), ARG(3));
	CHECK_RET(dat_ep_set_watermark(ep, 1, 1), ERR2(MODEL_NOT_SUPPORTED, 0));
}

static const struct check_case cases[] = {
	{ "A1 E5 bad handles at every call", bad_handles },
	{ "A1 E5 handles of other types at every call", wrong_types },
	{ "G28..G31 handle types and contexts", types_and_contexts },
	{ "D48 R16 mt:M48..M66 mt:T57 mt:T58 RULING43 no SRQ, no watermarks", srq_not_there },
};

SET(handle_set);
