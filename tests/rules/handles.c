// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles: what they are, the contexts of consumers, and every call with every
 * kind of bad one.
 */
#include "stage.h"

#define QUAL		20000

/* One object of each type, and what else the calls are given. */
static struct it {
	struct node node;
	struct listener listener;
	DAT_RMR_HANDLE rmr;
	DAT_HANDLE out;
	DAT_EVENT event;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET remote;
	DAT_CONN_QUAL qual;
	DAT_SRQ_ATTR srq;
	DAT_CONTEXT context;
	DAT_EP_STATE state;
	DAT_HANDLE_TYPE type;
	DAT_COUNT count;
	DAT_VLEN length;
	union {
		DAT_EVD_PARAM evd;
		DAT_EP_PARAM ep;
		DAT_LMR_PARAM lmr;
		DAT_RMR_PARAM rmr;
		DAT_PZ_PARAM pz;
		DAT_PSP_PARAM psp;
		DAT_RSP_PARAM rsp;
		DAT_CR_PARAM cr;
	} param;
} it;

static bool it_new(void)
{
	memset(&it, 0, sizeof(it));
	it.event.event_number = DAT_SOFTWARE_EVENT;
	it.qual = QUAL;
	it.srq.max_recv_dtos = 1;
	it.srq.max_recv_iov = 1;
	if (!node_new(&it.node, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&it.listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_rmr_create(side_b.pz, &it.rmr)))
		return false;
	it.iov = piece(&it.node.mem, 0, 8);
	return true;
}

static DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION region = { .for_va = it.node.mem.va };

	return platform_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz,
				   DAT_MEM_PRIV_ALL_FLAG, &it.out, NULL, NULL);
}

static DAT_RETURN lmr_of_lmr(DAT_LMR_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = lmr };

	return platform_lmr_create(side_b.ia, DAT_MEM_TYPE_LMR, region, 64,
				   side_b.pz, DAT_MEM_PRIV_ALL_FLAG, &it.out,
				   NULL, NULL);
}

/* ---- every call --------------------------------------------------------- */

static void refuse_ia(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;

	REFUSES(IA, IA, dat_ia_query(h, NULL, 0, NULL, 0, NULL));
	REFUSES(IA, IA, dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG));
	REFUSES(IA, IA, dat_pz_create(h, &it.out));
	REFUSES(IA, IA, lmr_create(h, side_b.pz));
	REFUSES(IA, IA, dat_lmr_sync_rdma_read(h, &it.iov, 1));
	REFUSES(IA, IA, dat_lmr_sync_rdma_write(h, &it.iov, 1));
	REFUSES(IA, IA, platform_evd_create(h, 8, DAT_EVD_DTO_FLAG, &it.out));
	REFUSES(IA, IA, dat_ep_create(h, side_b.pz, NULL, NULL, NULL, NULL,
				      &it.out));
	REFUSES(IA, IA, dat_ep_create_with_srq(h, NULL, NULL, NULL, NULL, NULL,
					       &node_attr, &it.out));
	REFUSES(IA, IA, dat_srq_create(h, side_b.pz, &it.srq, &it.out));
	REFUSES(IA, IA, dat_psp_create(h, QUAL, it.listener.requests, 0,
				       &it.out));
	REFUSES(IA, IA, dat_psp_create_any(h, &it.qual, it.listener.requests, 0,
					   &it.out));
	REFUSES(IA, IA, dat_rsp_create(h, QUAL, it.node.ep,
				       it.listener.requests, &it.out));
}

static void refuse_memory(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;

	REFUSES(PZ, PZ, dat_pz_query(h, DAT_PZ_FIELD_ALL, &it.param.pz));
	REFUSES(PZ, PZ, dat_pz_free(h));
	REFUSES(PZ, PZ, lmr_create(side_b.ia, h));
	REFUSES(PZ, PZ, dat_rmr_create(h, &it.out));
	REFUSES(PZ, PZ, dat_srq_create(side_b.ia, h, &it.srq, &it.out));
	REFUSES_ANY(PZ, PZ, dat_ep_create(side_b.ia, h, NULL, NULL, NULL, NULL,
					  &it.out));
	REFUSES(LMR, LMR, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &it.param.lmr));
	REFUSES(LMR, LMR, lmr_of_lmr(h));
	REFUSES(LMR, LMR, dat_lmr_free(h));
	REFUSES(RMR, RMR, dat_rmr_query(h, DAT_RMR_FIELD_ALL, &it.param.rmr));
	REFUSES(RMR, RMR, dat_rmr_bind(h, &it.iov, 0, it.node.ep, cookie(0), 0,
				       &it.remote.rmr_context));
	REFUSES(RMR, RMR, dat_rmr_free(h));
	REFUSES(EP, EP, dat_rmr_bind(it.rmr, &it.iov, 0, h, cookie(0), 0,
				     &it.remote.rmr_context));
}

static void refuse_evd(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;

	REFUSES(EVD, EVD_REQUEST, dat_evd_query(h, DAT_EVD_FIELD_ALL,
						&it.param.evd));
	REFUSES(EVD, EVD_REQUEST, dat_evd_resize(h, 8));
	REFUSES(EVD, EVD_REQUEST, dat_evd_post_se(h, &it.event));
	REFUSES(EVD, EVD_REQUEST, dat_evd_dequeue(h, &it.event));
	REFUSES(EVD, EVD_REQUEST, dat_evd_free(h));
	REFUSES(EVD, EVD_CR, dat_psp_create(side_b.ia, QUAL, h, 0, &it.out));
	REFUSES(EVD, EVD_CR, dat_psp_create_any(side_b.ia, &it.qual, h, 0,
						&it.out));
	REFUSES(EVD, EVD_CR, dat_rsp_create(side_b.ia, QUAL, it.node.ep, h,
					    &it.out));
	REFUSES_ANY(EVD, EVD_RECV, dat_ep_create(side_b.ia, side_b.pz, h, NULL,
						 NULL, NULL, &it.out));
	REFUSES_ANY(EVD, EVD_REQUEST, dat_ep_create(side_b.ia, side_b.pz, NULL, h,
						    NULL, NULL, &it.out));
	REFUSES_ANY(EVD, EVD_CONN, dat_ep_create(side_b.ia, side_b.pz, NULL, NULL,
						 h, NULL, &it.out));
}

static void refuse_ep(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;

	REFUSES(EP, EP, dat_ep_query(h, DAT_EP_FIELD_ALL, &it.param.ep));
	REFUSES(EP, EP, dat_ep_modify(h, 0, &it.param.ep));
	REFUSES(EP, EP, dat_ep_get_status(h, &it.state, NULL, NULL));
	REFUSES(EP, EP, dat_ep_connect(h, (DAT_IA_ADDRESS_PTR)&side_b.addr, 1, 1,
				       0, NULL, 0, 0));
	REFUSES(EP, EP, dat_ep_dup_connect(h, it.node.ep, 1, 0, NULL, 0));
	REFUSES(EP, EP, dat_ep_dup_connect(it.node.ep, h, 1, 0, NULL, 0));
	REFUSES(EP, EP, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG));
	REFUSES(EP, EP, dat_ep_reset(h));
	REFUSES(EP, EP, dat_ep_free(h));
	REFUSES(EP, EP, dat_ep_recv_query(h, &it.count, &it.count));
	REFUSES(EP, EP, dat_ep_set_watermark(h, 1, 1));
	REFUSES(EP, EP, dat_ep_post_send(h, 1, &it.iov, cookie(0), 0));
	REFUSES(EP, EP, dat_ep_post_recv(h, 1, &it.iov, cookie(0), 0));
	REFUSES(EP, EP, dat_ep_post_rdma_read(h, 1, &it.iov, cookie(0),
					      &it.remote, 0));
	REFUSES(EP, EP, dat_ep_post_rdma_write(h, 1, &it.iov, cookie(0),
					       &it.remote, 0));
	REFUSES_ANY(EP, EP, dat_rsp_create(side_b.ia, QUAL, h,
					   it.listener.requests, &it.out));
}

static void refuse_connections(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;

	REFUSES(PSP, PSP, dat_psp_query(h, DAT_PSP_FIELD_ALL, &it.param.psp));
	REFUSES(PSP, PSP, dat_psp_free(h));
	REFUSES(RSP, RSP, dat_rsp_query(h, DAT_RSP_FIELD_ALL, &it.param.rsp));
	REFUSES(RSP, RSP, dat_rsp_free(h));
	REFUSES(CR, CR, dat_cr_query(h, DAT_CR_FIELD_ALL, &it.param.cr));
	REFUSES(CR, CR, dat_cr_accept(h, it.node.ep, 0, NULL));
	REFUSES(CR, CR, dat_cr_reject(h));
	REFUSES(CR, CR, dat_cr_handoff(h, 1));
}

static void refuse_srq(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;

	REFUSES(SRQ, SRQ, dat_srq_query(h, 0, NULL));
	REFUSES(SRQ, SRQ, dat_srq_resize(h, 1));
	REFUSES(SRQ, SRQ, dat_srq_post_recv(h, 1, &it.iov, cookie(0)));
	REFUSES(SRQ, SRQ, dat_srq_set_lw(h, 1));
	REFUSES(SRQ, SRQ, dat_srq_free(h));
	REFUSES(SRQ, SRQ, dat_ep_create_with_srq(side_b.ia, side_b.pz, NULL,
						 NULL, NULL, h, &node_attr,
						 &it.out));
}

static void refuse_all(DAT_HANDLE handle, const char *what)
{
	struct bad bad = { handle, NO_TYPE, what };

	if (failed())
		return;
	/* Whatever the number is, it may be that of an object. */
	if (dat_get_handle_type(handle, &bad.type)) {
		bad.type = NO_TYPE;
		IS(dat_get_handle_type(handle, &it.type), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
		IS(dat_get_consumer_context(handle, &it.context),
		   DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
		IS(dat_set_consumer_context(handle, it.context),
		   DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	}
	refuse_ia(&bad);
	refuse_memory(&bad);
	refuse_evd(&bad);
	refuse_ep(&bad);
	refuse_connections(&bad);
	refuse_srq(&bad);
	platform_refuse(&bad);
}

/* All that took part is as it was. */
static void unharmed(void)
{
	state_is(it.node.ep, DAT_EP_STATE_UNCONNECTED);
	nothing_more(it.node.recv);
	nothing_more(it.node.request);
	nothing_more(it.node.conn);
	OK(dat_rmr_query(it.rmr, DAT_RMR_FIELD_ALL, &it.param.rmr));
	OK(dat_psp_query(it.listener.psp, DAT_PSP_FIELD_ALL, &it.param.psp));
	OK(node_recv(&it.node, 0, 8, 1));
}

bool handle_refused(DAT_HANDLE handle, const char *what)
{
	if (it_new())
		refuse_all(handle, what);
	unharmed();
	return !failed();
}

static DAT_HANDLE number(uintptr_t bits)
{
	/* The compiler is not to guess what lies there. */
	asm("" : "+r" (bits));
	return (DAT_HANDLE)bits;
}

static void bad_handles(void)
{
	uintptr_t ia = (uintptr_t)side_b.ia;
	DAT_PZ_HANDLE freed;
	int on_stack = 0;

	if (!it_new() || !OK(dat_pz_create(side_b.ia, &freed)) ||
	    !OK(dat_pz_free(freed)))
		return;
	refuse_all(DAT_HANDLE_NULL, "null");
	refuse_all(number(1), "1");
	refuse_all(number(2), "2");
	refuse_all(number(~0UL), "all ones");
	refuse_all(number(0x1000), "an address of nothing");
	refuse_all(number((uintptr_t)&on_stack), "an address of the stack");
	refuse_all(number(ia + 8), "8 beside an object's");
	refuse_all(number(ia + 4096 * 128), "a number beyond the objects'");
	refuse_all(freed, "a freed object's");
	unharmed();
}

static void turned_bits(DAT_HANDLE handle, const char *what)
{
	unsigned int bit;

	for (bit = 0; bit < 8 * sizeof(handle); bit++)
		refuse_all(number((uintptr_t)handle ^ 1UL << bit), what);
}

static void all_turned_bits(void)
{
	if (!it_new())
		return;
	turned_bits(side_b.ia, "a bit of an IA's turned over");
	turned_bits(side_b.pz, "a bit of a PZ's turned over");
	turned_bits(it.node.mem.lmr, "a bit of an LMR's turned over");
	turned_bits(it.rmr, "a bit of an RMR's turned over");
	turned_bits(it.node.recv, "a bit of an EVD's turned over");
	turned_bits(it.node.ep, "a bit of an EP's turned over");
	turned_bits(it.listener.psp, "a bit of a PSP's turned over");
	unharmed();
}

static void wrong_types(void)
{
	if (!it_new())
		return;
	refuse_all(side_b.ia, "an IA's");
	refuse_all(side_b.pz, "a PZ's");
	refuse_all(it.node.mem.lmr, "an LMR's");
	refuse_all(it.rmr, "an RMR's");
	refuse_all(it.node.ep, "an EP's");
	refuse_all(it.listener.psp, "a PSP's");
	unharmed();
}

/* Right type, wrong stream (E17); another IA's (E19). */
static void wrong_streams(void)
{
	DAT_EVD_HANDLE crs, dtos, conns, soft;

	if (!it_new() ||
	    !OK(platform_evd_create(side_b.ia, 4, DAT_EVD_SOFTWARE_FLAG, &soft)) ||
	    !OK(platform_evd_create(side_b.ia, 4, DAT_EVD_DTO_FLAG, &dtos)))
		return;
	crs = it.listener.requests;
	conns = it.node.conn;
#define EP_ON(ia, pz, recv, request, conn)				\
	dat_ep_create(ia, pz, recv, request, conn, NULL, &it.out)
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, crs, NULL, NULL), EVD_RECV);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, conns, NULL, NULL), EVD_RECV);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, side_b.async, NULL, NULL), EVD_RECV);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, NULL, crs, NULL), EVD_REQUEST);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, NULL, soft, NULL), EVD_REQUEST);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, NULL, side_b.async, NULL),
		   EVD_REQUEST);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, NULL, NULL, crs), EVD_CONN);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, NULL, NULL, dtos), EVD_CONN);
	BAD_HANDLE(EP_ON(side_b.ia, side_b.pz, NULL, NULL, side_b.async), EVD_CONN);
	BAD_HANDLE(EP_ON(side_a.ia, side_a.pz, it.node.recv, NULL, NULL), EVD_RECV);
	BAD_HANDLE(EP_ON(side_a.ia, side_a.pz, NULL, it.node.request, NULL),
		   EVD_REQUEST);
	BAD_HANDLE(EP_ON(side_a.ia, side_a.pz, NULL, NULL, conns), EVD_CONN);
	BAD_HANDLE(EP_ON(side_a.ia, side_b.pz, NULL, NULL, NULL), PZ);
#undef EP_ON
	BAD_HANDLE(lmr_create(side_a.ia, side_b.pz), PZ);
	BAD_HANDLE(dat_psp_create(side_b.ia, QUAL, conns, 0, &it.out), EVD_CR);
	BAD_HANDLE(dat_psp_create(side_b.ia, QUAL, side_b.async, 0, &it.out),
		   EVD_CR);
	BAD_HANDLE(dat_psp_create(side_a.ia, QUAL, crs, 0, &it.out), EVD_CR);
	BAD_HANDLE(dat_rsp_create(side_b.ia, QUAL, it.node.ep, conns, &it.out),
		   EVD_CR);
	BAD_HANDLE(dat_rsp_create(side_a.ia, QUAL, NULL, crs, &it.out),
		   EVD_CR);
	BAD_ARG(post_se(dtos, 1), 1);
	BAD_ARG(post_se(side_b.async, 1), 1);
	unharmed();
	/* What is fed is not freed (E58, E59); and what is not, is. */
	BAD_STATE(dat_evd_free(it.node.recv), EVD_IN_USE);
	BAD_STATE(dat_evd_free(it.node.request), EVD_IN_USE);
	BAD_STATE(dat_evd_free(conns), EVD_IN_USE);
	BAD_STATE(dat_evd_free(crs), EVD_IN_USE);
	BAD_STATE(dat_evd_free(side_b.async), EVD_IN_USE);
	OK(dat_ep_free(it.node.ep));
	OK(dat_evd_free(it.node.recv));
	OK(dat_evd_free(it.node.request));
	OK(dat_evd_free(conns));
	OK(dat_psp_free(it.listener.psp));
	OK(dat_evd_free(crs));
}

/* ---- types and contexts ------------------------------------------------- */

void has_type(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_CONTEXT in = { .as_64 = 0x123456789abcdef0ULL + type }, seen;
	DAT_HANDLE_TYPE is;

	if (!OK(dat_get_handle_type(handle, &is)) || !CHECK_EQ(is, type))
		return;
	BAD_ARG(dat_get_handle_type(handle, NULL), 2);
	BAD_ARG(dat_get_consumer_context(handle, NULL), 2);
	if (OK(dat_get_consumer_context(handle, &seen)))
		CHECK_EQ(seen.as_64, 0);
	OK(dat_set_consumer_context(handle, in));
	if (OK(dat_get_consumer_context(handle, &seen)))
		CHECK_EQ(seen.as_64, in.as_64);
	in.as_64 = 0;
	OK(dat_set_consumer_context(handle, in));
	if (OK(dat_get_consumer_context(handle, &seen)))
		CHECK_EQ(seen.as_64, 0);
}

static void types_and_contexts(void)
{
	struct listener listener = {};
	struct node a = {};
	DAT_CR_PARAM param;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	if (!it_new() || !node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_PROVIDER_FLAG) ||
	    !OK(dat_rsp_create(side_b.ia, QUAL + 1, it.node.ep,
			       it.listener.requests, &rsp)) ||
	    !start_connect(&a, listener.qual) || !next_request(&listener, &cr) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
		return;
	has_type(side_b.ia, DAT_HANDLE_TYPE_IA);
	has_type(side_b.pz, DAT_HANDLE_TYPE_PZ);
	has_type(it.node.mem.lmr, DAT_HANDLE_TYPE_LMR);
	has_type(it.rmr, DAT_HANDLE_TYPE_RMR);
	has_type(it.node.recv, DAT_HANDLE_TYPE_EVD);
	has_type(it.node.ep, DAT_HANDLE_TYPE_EP);
	has_type(listener.psp, DAT_HANDLE_TYPE_PSP);
	has_type(rsp, DAT_HANDLE_TYPE_RSP);
	/* G31: what the provider made. */
	has_type(side_b.async, DAT_HANDLE_TYPE_EVD);
	has_type(cr, DAT_HANDLE_TYPE_CR);
	has_type(param.local_ep_handle, DAT_HANDLE_TYPE_EP);
}

static const struct scenario scenarios[] = {
	SCENARIO("A1 E5 D2 R4 L10 G29 mt:M29 bad handles at every call",
		 bad_handles),
	SCENARIO("A1 E5 a handle with a bit turned over at every call",
		 all_turned_bits),
	SCENARIO("A1 E5 D2 R4 L10 G29 mt:M29 handles of other types at every call",
		 wrong_types),
	SCENARIO("E5 E17 E19 E58 E59 mt:M1 what may feed an EVD", wrong_streams),
	SCENARIO("G28..G31 handle types and contexts", types_and_contexts),
};

SCENARIO_TABLE(handles_table);
