// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Endpoints without a connection: creation, query, modify, posting, free. */
#include "rig.h"

static void create_arguments(void)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_COUNT depth;

	rig_open(&a);
#define BAD(field, value)						\
	do {								\
		DAT_EP_ATTR bad = attr;					\
									\
		bad.field = value;					\
		CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, \
					&bad, &ep), ARG(6));		\
	} while (0)
	BAD(service_type, 1);
	BAD(max_message_size, a.attr.max_message_size + 1);
	BAD(max_rdma_size, a.attr.max_rdma_size + 1);
	BAD(max_recv_dtos, -1);
	BAD(max_recv_dtos, a.attr.max_dto_per_ep + 1);
	BAD(max_request_dtos, -1);
	BAD(max_request_dtos, a.attr.max_dto_per_ep + 1);
	BAD(max_recv_iov, -1);
	BAD(max_recv_iov, a.attr.max_iov_segments_per_dto + 1);
	BAD(max_request_iov, a.attr.max_iov_segments_per_dto + 1);
	BAD(max_rdma_read_in, a.attr.max_rdma_read_per_ep_in + 1);
	BAD(max_rdma_read_out, a.attr.max_rdma_read_per_ep_out + 1);
	BAD(max_rdma_read_iov, a.attr.max_iov_segments_per_rdma_read + 1);
	BAD(max_rdma_write_iov, a.attr.max_iov_segments_per_rdma_write + 1);
	BAD(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG);
	BAD(request_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	BAD(request_completion_flags, 0x40);
#undef BAD
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, &attr, NULL),
		  ARG(7));
	attr.qos = DAT_QOS_PREMIUM;
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, &attr, &ep),
		  ERR2(MODEL_NOT_SUPPORTED, 0));
	OK(dat_ep_create(a.ia, NULL, NULL, NULL, NULL, NULL, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	depth = a.attr.max_rdma_read_per_ep_in;
	CHECK_EQ(param.ep_attr.max_rdma_read_in, depth < 4 ? depth : 4);
	depth = a.attr.max_rdma_read_per_ep_out;
	CHECK_EQ(param.ep_attr.max_rdma_read_out, depth < 4 ? depth : 4);
	OK(dat_ep_free(ep));
}

static void query(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_STATE state;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	rig_open(&a);
	ep = new_ep(&a);
	CHECK_RET(dat_ep_query(ep, 0x800, &param), ARG(2));
	CHECK_RET(dat_ep_query(ep, 0x80000000, &param), ARG(2));
	CHECK_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, NULL), ARG(3));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia && param.pz_handle == a.pz);
	CHECK(param.recv_evd_handle == a.recv);
	CHECK(param.request_evd_handle == a.req);
	CHECK(param.connect_evd_handle == a.conn);
	CHECK(!param.srq_handle);
	CHECK_EQ(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	CHECK(param.ep_attr.max_recv_dtos >= attr.max_recv_dtos);
	CHECK(param.ep_attr.max_request_dtos >= attr.max_request_dtos);
	CHECK(param.ep_attr.max_recv_iov >= attr.max_recv_iov);
	CHECK_EQ(param.ep_attr.max_rdma_read_in, attr.max_rdma_read_in);
	CHECK_EQ(param.ep_attr.max_rdma_read_out, attr.max_rdma_read_out);
	CHECK_EQ(param.ep_attr.max_message_size, attr.max_message_size);

	OK(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	CHECK_EQ(state, DAT_EP_STATE_UNCONNECTED);
	CHECK(recv_idle && request_idle);
	OK(post_recv(&a, ep, 0, 8, 1));
	OK(dat_ep_get_status(ep, NULL, &recv_idle, &request_idle));
	CHECK(!recv_idle && request_idle);
	OK(dat_ep_get_status(ep, NULL, NULL, NULL));
}

static void modify(void)
{
	static const DAT_EP_PARAM_MASK never[] = {
		0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x400, 0x01000000, 0x800,
		0x80000000, 1ull << 40,
	};
	DAT_EP_PARAM param = { 0 }, seen;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	size_t i;

	rig_open(&a);
	ep = new_ep(&a);
	OK(dat_pz_create(a.ia, &pz));
	evd = new_evd(&a, 32, DAT_EVD_DTO_FLAG);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		CHECK_RET(dat_ep_modify(ep, never[i], &param), ARG(2));
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, NULL), ARG(3));
	OK(dat_ep_modify(ep, 0, &param));
	param.pz_handle = a.conn;
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), ARG(3));
	param.recv_evd_handle = a.conn;	/* no DTO flag */
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param),
		  ARG(3));

	/* all or nothing */
	param.pz_handle = pz;
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
				DAT_EP_FIELD_RECV_EVD_HANDLE, &param), ARG(3));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &seen));
	CHECK(seen.pz_handle == a.pz && seen.recv_evd_handle == a.recv);

	param.recv_evd_handle = evd;
	param.connect_evd_handle = DAT_HANDLE_NULL;
	param.ep_attr.max_recv_dtos = 20;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
			 DAT_EP_FIELD_RECV_EVD_HANDLE |
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &seen));
	CHECK(seen.pz_handle == pz && seen.recv_evd_handle == evd);
	CHECK(!seen.connect_evd_handle && seen.request_evd_handle == a.req);
	CHECK(seen.ep_attr.max_recv_dtos >= 20);
	CHECK_RET(dat_pz_free(pz), STATE(PZ_IN_USE));
	/* The old EVD lost the stream. */
	OK(dat_evd_free(a.recv));

	/* not ready: no connect EVD, no PZ */
	CHECK_RET(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&a.address, 5, LONG, 0,
				 NULL, 0, 0), STATE(EP_NOTREADY));
	param.connect_evd_handle = a.conn;
	param.pz_handle = DAT_HANDLE_NULL;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	CHECK_RET(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&a.address, 5, LONG, 0,
				 NULL, 0, 0), STATE(EP_NOTREADY));
	/* mt:T11: no PZ matches no LMR */
	CHECK_RET(post_recv(&a, ep, 0, 8, 1),
		  ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_WRITE));
	OK(dat_ep_post_recv(ep, 0, NULL, cookie(1), 0));
}

/* Row UNC of M1 and M2. */
static void unconnected(void)
{
	DAT_RMR_TRIPLET to;
	DAT_EP_HANDLE ep;

	rig_open(&a);
	ep = new_ep(&a);
	to = remote(&a, 0, 8);
	CHECK_RET(post_send(&a, ep, 0, 8, 1, 0), STATE(EP_UNCONNECTED));
	CHECK_RET(post_read(&a, ep, 0, &to, 8, 1, 0), STATE(EP_UNCONNECTED));
	CHECK_RET(post_write(&a, ep, 0, &to, 8, 1, 0), STATE(EP_UNCONNECTED));
	CHECK_RET(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
		  STATE(EP_UNCONNECTED));
	CHECK_RET(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG),
		  STATE(EP_UNCONNECTED));
	CHECK_RET(dat_ep_disconnect(ep, 2), ARG(2));
	OK(post_recv(&a, ep, 0, 8, 1));
	OK(dat_ep_reset(ep));
	no_event(a.recv);
	no_event(a.conn);
	OK(dat_ep_free(ep));
	CHECK_RET(dat_ep_free(ep), HANDLE(EP));
	no_event(a.conn);
}

/* mt:T13, mt:T14: at least as many as asked for, then no more. */
static void receive_room(void)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	rig_open(&a);
	ep = new_ep(&a);
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	do {
		ret = post_recv(&a, ep, 0, 8, n++);
	} while (!ret && n < 100000);
	CHECK_RET(ret, ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK(n - 1 >= param.ep_attr.max_recv_dtos);
}

static const struct check_case cases[] = {
	{ "E.1 dat_ep_create: arguments", create_arguments },
	{ "T1 E.3 E.5 dat_ep_query, dat_ep_get_status", query },
	{ "M4 E.4 A.5 mt:M4 mt:T11 dat_ep_modify", modify },
	{ "M1 M2 T36 R2 F1 F5 D1 D3 mt:T9 an unconnected EP", unconnected },
	{ "mt:T13 mt:T14 room for receives", receive_room },
};

SET(ep_set);
