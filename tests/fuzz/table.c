// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the calls of /dev/kdapl are made of: each field of each structure, what it means, and
 * what a good value is.  table_check() compares it with the header, whose calls the Makefile
 * has listed in all_calls.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

#define FIELD(st, f, ...) \
	{ .name = #f, .at = offsetof(struct kdapl_uapi_##st, f), \
	  .size = sizeof(((struct kdapl_uapi_##st *)0)->f), __VA_ARGS__ }
#define F(st, f, _kind)		FIELD(st, f, .kind = _kind)
#define FX(st, f, _kind, _aux)	FIELD(st, f, .kind = _kind, .aux = _aux)
#define F_OUT(st, f)		FIELD(st, f, .kind = ANSWER, .out = true)
#define F_RET(st)		FIELD(st, ret, .kind = RET, .out = true)
/* In and out */
#define F_IO(st, f, _kind, _aux) FIELD(st, f, .kind = _kind, .aux = _aux, .out = true)
#define F_PTR(st, f, _shape, _count) \
	FIELD(st, f, .kind = POINTER, .aux = _shape, \
	      .count = offsetof(struct kdapl_uapi_##st, _count))

#define FLAGS_COMPLETION	(DAT_COMPLETION_SUPPRESS_FLAG | \
				 DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
				 DAT_COMPLETION_UNSIGNALLED_FLAG | \
				 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* EVDs that can be what they are to be */
#define DTO_EVD		GOOD_FOR(T_EVD, DAT_EVD_DTO_FLAG)
#define REQUEST_EVD	GOOD_FOR(T_EVD, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define CONNECT_EVD	GOOD_FOR(T_EVD, DAT_EVD_CONNECTION_FLAG)
#define CR_EVD		GOOD_FOR(T_EVD, DAT_EVD_CR_FLAG)

/* The attributes of an endpoint, in a structure that has them as attr */
#define F_ATTR(st, way)							\
	way(st, attr.max_message_size, NUMBER, 4096),			\
	way(st, attr.max_rdma_size, NUMBER, 4096),			\
	way(st, attr.service_type, EXACT, 0),				\
	way(st, attr.qos, EXACT, 0),					\
	way(st, attr.recv_completion_flags, BITS, 0),			\
	way(st, attr.request_completion_flags, BITS, 0),		\
	way(st, attr.max_recv_dtos, NUMBER, QUEUE),			\
	way(st, attr.max_request_dtos, NUMBER, QUEUE),			\
	way(st, attr.max_recv_iov, NUMBER, 3),				\
	way(st, attr.max_request_iov, NUMBER, 3),			\
	way(st, attr.max_rdma_read_in, NUMBER, 2),			\
	way(st, attr.max_rdma_read_out, NUMBER, 2),			\
	way(st, attr.srq_soft_hw, EXACT, ~0U),				\
	way(st, attr.max_rdma_read_iov, NUMBER, 2),			\
	way(st, attr.max_rdma_write_iov, NUMBER, 2),			\
	way(st, attr.transport_specific_count, EXACT, 0),		\
	way(st, attr.provider_specific_count, EXACT, 0),		\
	F(st, attr.pad, PAD)

static const struct field query_abi[] = {
	FX(query_abi, version, EXACT, KDAPL_ABI_VERSION), F_OUT(query_abi, min_version),
	F_OUT(query_abi, max_version), F_OUT(query_abi, max_dtos),
	F_OUT(query_abi, features), F_OUT(query_abi, max_segments), F(query_abi, pad, PAD),
};

static const struct field handle_type[] = {
	F_RET(handle_type), F_OUT(handle_type, type), F(handle_type, handle, ANY_HANDLE),
};

static const struct field ia_list[] = {
	F_RET(ia_list), FX(ia_list, max, COUNT, 8),
	F_PTR(ia_list, list, PROVIDERS_OUT, max), F_OUT(ia_list, number),
	F(ia_list, pad, PAD),
};

static const struct field ia_open[] = {
	F_RET(ia_open), FX(ia_open, async_qlen, NUMBER, 8), F(ia_open, name, NAME),
	FX(ia_open, version_major, EXACT, 1), FX(ia_open, version_minor, EXACT, 2),
	FX(ia_open, thread_safe, ONE_OF, 2), F(ia_open, pad, PAD),
	F_IO(ia_open, async_evd, MAYBE_HANDLE, T_EVD), F_OUT(ia_open, ia),
	F_OUT(ia_open, ring),
};

static const struct field ia_close[] = {
	F_RET(handle_flags), FX(handle_flags, flags, BITS, 1),
	FX(handle_flags, handle, HANDLE, T_IA),
};

static const struct field ia_query[] = {
	F_RET(ia_query), F(ia_query, pad, PAD), FX(ia_query, ia, HANDLE, T_IA),
	FX(ia_query, ia_mask, MASK, 0xfff), FX(ia_query, provider_mask, MASK, 0xfff),
	F_OUT(ia_query, async_evd), F_OUT(ia_query, ia_attr), F_OUT(ia_query, provider_attr),
};

static const struct field ia_passthrough[] = {
	F_RET(ia_passthrough), F(ia_passthrough, uverbs_fd, VERBS_FD),
	FX(ia_passthrough, ia, HANDLE, T_IA), F_OUT(ia_passthrough, board_offset),
	F_OUT(ia_passthrough, board_size),
	F_IO(ia_passthrough, hints, EXACT, KDAPL_VERBS_OWN_SRQS),
};

#define ONE_HANDLE(_name, _type) \
	static const struct field _name[] = { \
		F_RET(handle), F(handle, pad, PAD), FX(handle, handle, HANDLE, _type), \
	}
ONE_HANDLE(of_ia, T_IA);
ONE_HANDLE(of_pz, T_PZ);
ONE_HANDLE(of_lmr, T_LMR);
ONE_HANDLE(of_rmr, T_RMR);
ONE_HANDLE(of_evd, T_EVD);
ONE_HANDLE(of_ep, T_EP);
ONE_HANDLE(of_psp, T_PSP);
ONE_HANDLE(of_rsp, T_RSP);
ONE_HANDLE(of_cr, T_CR);

static const struct field pz_create[] = {
	F_RET(pz_create), F(pz_create, pad, PAD), FX(pz_create, ia, HANDLE, T_IA),
	F_OUT(pz_create, pz),
};

static const struct field pz_query[] = {
	F_RET(pz_query), FX(pz_query, mask, MASK, 1), FX(pz_query, pz, HANDLE, T_PZ),
	F_OUT(pz_query, ia),
};

static const struct field lmr_create[] = {
	F_RET(lmr_create), FX(lmr_create, mem_type, ONE_OF, 2),
	FX(lmr_create, ia, HANDLE, T_IA), FX(lmr_create, pz, HANDLE, T_PZ),
	F(lmr_create, region, REGION), F(lmr_create, length, LENGTH),
	FX(lmr_create, privileges, BITS, DAT_MEM_PRIV_ALL_FLAG | KDAPL_PRIV_REMOTE_ATOMIC),
	F(lmr_create, pad, PAD),
	F_OUT(lmr_create, lmr), F_OUT(lmr_create, lmr_context),
	F_OUT(lmr_create, rmr_context), F_OUT(lmr_create, registered_size),
	F_OUT(lmr_create, registered_address),
};

static const struct field lmr_query[] = {
	F_RET(lmr_query), FX(lmr_query, mask, MASK, 0xff), FX(lmr_query, lmr, HANDLE, T_LMR),
	F_OUT(lmr_query, ia), F_OUT(lmr_query, pz), F_OUT(lmr_query, region),
	F_OUT(lmr_query, length), F_OUT(lmr_query, mem_type), F_OUT(lmr_query, privileges),
	F_OUT(lmr_query, lmr_context), F_OUT(lmr_query, rmr_context),
	F_OUT(lmr_query, registered_size), F_OUT(lmr_query, registered_address),
};

static const struct field lmr_sync[] = {
	F_RET(lmr_sync), FX(lmr_sync, direction, ONE_OF, 2), FX(lmr_sync, ia, HANDLE, T_IA),
	F_PTR(lmr_sync, segments, SEGMENTS, number), FX(lmr_sync, number, COUNT, 8),
};

static const struct field rmr_create[] = {
	F_RET(rmr_create), FX(rmr_create, flags, BITS, KDAPL_RMR_REVOCABLE),
	FX(rmr_create, pz, HANDLE, T_PZ),
	F_OUT(rmr_create, rmr),
};

static const struct field rmr_query[] = {
	F_RET(rmr_query), FX(rmr_query, mask, MASK, 0x1f), FX(rmr_query, rmr, HANDLE, T_RMR),
	F_OUT(rmr_query, ia), F_OUT(rmr_query, pz), F_OUT(rmr_query, segment),
	F_OUT(rmr_query, privileges), F_OUT(rmr_query, rmr_context),
};

static const struct field rmr_bind[] = {
	F_RET(rmr_bind),
	FX(rmr_bind, privileges, BITS,
	   DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG),
	FX(rmr_bind, rmr, HANDLE, T_RMR), F(rmr_bind, segment.lmr_context, LKEY),
	F(rmr_bind, segment.unused, PAD), F(rmr_bind, segment.address, ADDRESS),
	F(rmr_bind, segment.length, EXTENT), FX(rmr_bind, ep, HANDLE, GOOD_FOR(T_EP, CONNECTED)),
	F(rmr_bind, cookie, COOKIE), FX(rmr_bind, flags, BITS, FLAGS_COMPLETION),
	F_OUT(rmr_bind, rmr_context),
};

static const struct field evd_create[] = {
	F_RET(evd_create), FX(evd_create, qlen, NUMBER, 32), FX(evd_create, ia, HANDLE, T_IA),
	FX(evd_create, flags, BITS,
	   (DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG) | DAT_EVD_SOFTWARE_FLAG),
	F(evd_create, pad, PAD), F_OUT(evd_create, evd), F_OUT(evd_create, ring),
};

static const struct field evd_query[] = {
	F_RET(evd_query), FX(evd_query, mask, MASK, 0x3f), FX(evd_query, evd, HANDLE, T_EVD),
	F_OUT(evd_query, ia), F_OUT(evd_query, qlen), F_OUT(evd_query, flags),
	F_OUT(evd_query, state), F(evd_query, pad, PAD),
};

static const struct field evd_resize[] = {
	F_RET(evd_resize), FX(evd_resize, qlen, NUMBER, 64), FX(evd_resize, evd, HANDLE, T_EVD),
	F_OUT(evd_resize, ring),
};

static const struct field evd_ring[] = {
	F_RET(evd_ring), F(evd_ring, pad, PAD), FX(evd_ring, evd, HANDLE, T_EVD),
	F_OUT(evd_ring, ring),
};

static const struct field evd_post_se[] = {
	F_RET(evd_post_se), F(evd_post_se, event_number, SOFTWARE),
	FX(evd_post_se, evd, HANDLE, GOOD_FOR(T_EVD, DAT_EVD_SOFTWARE_FLAG)),
	F(evd_post_se, pointer, COOKIE),
};

static const struct field evd_wait[] = {
	F_RET(evd_wait), F(evd_wait, timeout, TIMEOUT), FX(evd_wait, evd, HANDLE, T_EVD),
	FX(evd_wait, threshold, NUMBER, 1), F_OUT(evd_wait, queued),
	F_IO(evd_wait, deadline, DEADLINE, 0),
};

static const struct field evd_dequeue[] = {
	F_RET(evd_dequeue), F(evd_dequeue, pad, PAD), FX(evd_dequeue, evd, HANDLE, T_EVD),
	F_OUT(evd_dequeue, event),
};

static const struct field evd_poll_fd[] = {
	F_RET(evd_poll_fd), F_OUT(evd_poll_fd, fd), FX(evd_poll_fd, evd, HANDLE, T_EVD),
};

static const struct field evd_set_waitable[] = {
	F_RET(evd_set_waitable), FX(evd_set_waitable, waitable, ONE_OF, 2),
	FX(evd_set_waitable, evd, HANDLE, T_EVD),
};

static const struct field ep_create[] = {
	F_RET(ep_create), FX(ep_create, flags, BITS, KDAPL_EP_HAS_ATTR),
	FX(ep_create, ia, HANDLE, T_IA), FX(ep_create, pz, HANDLE, T_PZ),
	FX(ep_create, recv_evd, MAYBE_HANDLE, DTO_EVD),
	FX(ep_create, request_evd, MAYBE_HANDLE, REQUEST_EVD),
	FX(ep_create, connect_evd, MAYBE_HANDLE, CONNECT_EVD), F_ATTR(ep_create, FX),
	F_OUT(ep_create, ep),
};

/* A modify may name PZ, EVDs, and most attributes. */
#define PARAM(_name, _mask, way)						\
	static const struct field _name[] = {					\
		F_RET(ep_param), way(ep_param, ep_state, ONE_OF, 13),		\
		FX(ep_param, ep, HANDLE, T_EP), FX(ep_param, mask, MASK, _mask),	\
		way(ep_param, ia, MAYBE_HANDLE, T_IA),				\
		way(ep_param, local_address, SOCKADDR, 0),			\
		way(ep_param, local_port_qual, QUAL, 0),			\
		way(ep_param, remote_address, SOCKADDR, 0),			\
		way(ep_param, remote_port_qual, QUAL, 0),			\
		way(ep_param, pz, MAYBE_HANDLE, T_PZ),				\
		way(ep_param, recv_evd, MAYBE_HANDLE, DTO_EVD),			\
		way(ep_param, request_evd, MAYBE_HANDLE, REQUEST_EVD),		\
		way(ep_param, connect_evd, MAYBE_HANDLE, CONNECT_EVD),		\
		way(ep_param, srq, MAYBE_HANDLE, T_SRQ), F_ATTR(ep_param, way),	\
	}
PARAM(ep_query, 0x1fffffff, F_IO);
PARAM(ep_modify, 0x06fc63c0, FX);

static const struct field ep_get_status[] = {
	F_RET(ep_get_status), F_OUT(ep_get_status, state), F_OUT(ep_get_status, recv_idle),
	F_OUT(ep_get_status, request_idle), FX(ep_get_status, ep, HANDLE, T_EP),
};

static const struct field ep_connect[] = {
	F_RET(ep_connect), FX(ep_connect, flags, EXACT, 0), F(ep_connect, timeout, TIMEOUT),
	FX(ep_connect, qos, EXACT, 0), FX(ep_connect, ep, HANDLE, T_EP),
	F(ep_connect, address, SOCKADDR), F(ep_connect, conn_qual, QUAL),
	F_PTR(ep_connect, private_data, BYTES_IN, private_data_size),
	FX(ep_connect, private_data_size, COUNT, 32), F(ep_connect, pad, PAD),
};

static const struct field ep_dup_connect[] = {
	F_RET(ep_dup_connect), F(ep_dup_connect, timeout, TIMEOUT),
	FX(ep_dup_connect, qos, EXACT, 0), FX(ep_dup_connect, private_data_size, COUNT, 32),
	FX(ep_dup_connect, ep, HANDLE, T_EP), FX(ep_dup_connect, dup_ep, HANDLE, T_EP),
	F_PTR(ep_dup_connect, private_data, BYTES_IN, private_data_size),
};

static const struct field ep_disconnect[] = {
	F_RET(handle_flags), FX(handle_flags, flags, BITS, 1),
	FX(handle_flags, handle, HANDLE, T_EP),
};

static const struct field ep_private_data[] = {
	F_RET(ep_private_data), FX(ep_private_data, size, COUNT, 256),
	FX(ep_private_data, ep, HANDLE, T_EP), F_PTR(ep_private_data, buf, BYTES_OUT, size),
	F_OUT(ep_private_data, length), F(ep_private_data, life, EVENT_LIFE),
};

static const struct field ep_board[] = {
	F_RET(ep_board), F_OUT(ep_board, slot), FX(ep_board, ep, HANDLE_OR_IA, T_EP),
};

static const struct field ep_bind[] = {
	F_RET(ep_bind), F(ep_bind, uverbs_fd, VERBS_FD), FX(ep_bind, ep, HANDLE, T_EP),
	F(ep_bind, qp_num, QP_NUM), F_OUT(ep_bind, life),
};

static const struct field ep_tell[] = {
	F_RET(ep_tell), FX(ep_tell, what, ONE_OF, 5), FX(ep_tell, ep, HANDLE, T_EP),
	F(ep_tell, life, BOUND_LIFE), F(ep_tell, pad, PAD),
};

static const struct field board_event[] = {
	F_RET(board_event), F(board_event, eventfd, EVENT_FD),
};

static const struct field post[] = {
	F_RET(post), FX(post, count, COUNT, 8), FX(post, ep, HANDLE, GOOD_FOR(T_EP, CONNECTED)),
	F_PTR(post, dtos, DTOS, count), F_OUT(post, done), F(post, pad, PAD),
};

/* conn_qual of CREATE_ANY is written. */
#define PSP(_name, way, _kind)							\
	static const struct field _name[] = {					\
		F_RET(psp_create), FX(psp_create, flags, BITS, 1),		\
		FX(psp_create, ia, HANDLE, T_IA),				\
		way(psp_create, conn_qual, _kind, 0),				\
		FX(psp_create, evd, HANDLE, CR_EVD), F_OUT(psp_create, psp),	\
	}
PSP(psp_create, FX, NEW_QUAL);
PSP(psp_create_any, F_IO, ANSWER);

static const struct field psp_query[] = {
	F_RET(psp_query), FX(psp_query, mask, MASK, 0xf), FX(psp_query, psp, HANDLE, T_PSP),
	F_OUT(psp_query, ia), F_OUT(psp_query, conn_qual), F_OUT(psp_query, evd),
	F_OUT(psp_query, flags), F(psp_query, pad, PAD),
};

static const struct field rsp_create[] = {
	F_RET(rsp_create), F(rsp_create, pad, PAD), FX(rsp_create, ia, HANDLE, T_IA),
	F(rsp_create, conn_qual, NEW_QUAL), FX(rsp_create, ep, HANDLE, T_EP),
	FX(rsp_create, evd, HANDLE, CR_EVD), F_OUT(rsp_create, rsp),
};

static const struct field rsp_query[] = {
	F_RET(rsp_query), FX(rsp_query, mask, MASK, 0xf), FX(rsp_query, rsp, HANDLE, T_RSP),
	F_OUT(rsp_query, ia), F_OUT(rsp_query, conn_qual), F_OUT(rsp_query, evd),
	F_OUT(rsp_query, ep),
};

static const struct field cr_query[] = {
	F_RET(cr_query), FX(cr_query, mask, MASK, 0x1f), FX(cr_query, cr, HANDLE, T_CR),
	F_PTR(cr_query, private_data, BYTES_OUT, size), FX(cr_query, size, COUNT, 256),
	F_OUT(cr_query, private_data_size), F_OUT(cr_query, remote_address),
	F_OUT(cr_query, remote_port_qual), F_OUT(cr_query, local_ep),
};

static const struct field cr_reject[] = {
	F_RET(cr_reject), FX(cr_reject, private_data_size, COUNT, 32),
	FX(cr_reject, cr, HANDLE, T_CR),
	F_PTR(cr_reject, private_data, BYTES_IN, private_data_size),
};

static const struct field cr_accept[] = {
	F_RET(cr_accept), FX(cr_accept, private_data_size, COUNT, 32),
	FX(cr_accept, cr, HANDLE, T_CR), FX(cr_accept, ep, MAYBE_HANDLE, T_EP),
	F_PTR(cr_accept, private_data, BYTES_IN, private_data_size),
};

static const struct field cr_handoff[] = {
	F_RET(cr_handoff), F(cr_handoff, pad, PAD), FX(cr_handoff, cr, HANDLE, T_CR),
	F(cr_handoff, conn_qual, QUAL),
};

ONE_HANDLE(of_srq, T_SRQ);

static const struct field srq_create[] = {
	F_RET(srq_create), FX(srq_create, max_recv_dtos, NUMBER, QUEUE),
	FX(srq_create, max_recv_iov, NUMBER, 3),
	FX(srq_create, low_watermark, EXACT, DAT_SRQ_LW_DEFAULT),
	FX(srq_create, ia, HANDLE, T_IA), FX(srq_create, pz, HANDLE, T_PZ),
	F_OUT(srq_create, srq),
};

static const struct field srq_query[] = {
	F_RET(srq_query), FX(srq_query, mask, MASK, 0xff), FX(srq_query, srq, HANDLE, T_SRQ),
	F_OUT(srq_query, ia), F_OUT(srq_query, pz), F_OUT(srq_query, state),
	F_OUT(srq_query, max_recv_dtos), F_OUT(srq_query, max_recv_iov),
	F_OUT(srq_query, low_watermark), F_OUT(srq_query, available),
	F_OUT(srq_query, outstanding),
};

static const struct field srq_count[] = {
	F_RET(srq_count), FX(srq_count, count, NUMBER, QUEUE), FX(srq_count, srq, HANDLE, T_SRQ),
};

static const struct field srq_tell[] = {
	F_RET(srq_tell), FX(srq_tell, what, ONE_OF, 2), FX(srq_tell, srq, HANDLE, T_SRQ),
};

static const struct field cq_settle[] = {
	F_RET(cq_settle), F(cq_settle, pad, PAD),
};

static const struct field srq_post[] = {
	F_RET(post), FX(post, count, COUNT, 8), FX(post, ep, HANDLE, T_SRQ),
	F_PTR(post, dtos, DTOS, count), F_OUT(post, done), F(post, pad, PAD),
};

static const struct field ep_create_with_srq[] = {
	F_RET(ep_create_with_srq), FX(ep_create_with_srq, flags, EXACT, KDAPL_EP_HAS_ATTR),
	FX(ep_create_with_srq, ia, HANDLE, T_IA), FX(ep_create_with_srq, pz, HANDLE, T_PZ),
	FX(ep_create_with_srq, recv_evd, MAYBE_HANDLE, DTO_EVD),
	FX(ep_create_with_srq, request_evd, MAYBE_HANDLE, REQUEST_EVD),
	FX(ep_create_with_srq, connect_evd, MAYBE_HANDLE, CONNECT_EVD),
	FX(ep_create_with_srq, srq, HANDLE, T_SRQ), F_ATTR(ep_create_with_srq, FX),
	F_OUT(ep_create_with_srq, ep),
};

static const struct field ep_recv_query[] = {
	F_RET(ep_recv_query), F(ep_recv_query, pad, PAD), FX(ep_recv_query, ep, HANDLE, T_EP),
	F_OUT(ep_recv_query, allocated), F_OUT(ep_recv_query, span),
};

#define CALL(_cmd, _fields, _weight) \
	{ #_cmd, KDAPL_IOC_##_cmd, _fields, ARRAY_SIZE(_fields), _weight }

const struct call calls[] = {
	CALL(QUERY_ABI, query_abi, 2), CALL(HANDLE_TYPE, handle_type, 5),
	CALL(IA_LIST, ia_list, 3), CALL(IA_OPEN, ia_open, 5), CALL(IA_CLOSE, ia_close, 2),
	CALL(IA_QUERY, ia_query, 5), CALL(IA_PASSTHROUGH, ia_passthrough, 4),
	CALL(IA_CQ_FAULT, of_ia, 3), CALL(IA_TELL_LAST, of_ia, 2),
	CALL(PZ_CREATE, pz_create, 5), CALL(PZ_QUERY, pz_query, 4), CALL(PZ_FREE, of_pz, 4),
	CALL(LMR_CREATE, lmr_create, 10), CALL(LMR_QUERY, lmr_query, 5),
	CALL(LMR_FREE, of_lmr, 5), CALL(LMR_SYNC, lmr_sync, 6),
	CALL(EVD_CREATE, evd_create, 6), CALL(EVD_QUERY, evd_query, 5),
	CALL(EVD_RESIZE, evd_resize, 10), CALL(EVD_FREE, of_evd, 4),
	CALL(EVD_POST_SE, evd_post_se, 12), CALL(EVD_WAIT, evd_wait, 10),
	CALL(EVD_DEQUEUE, evd_dequeue, 20), CALL(EVD_REFILL, of_evd, 6),
	CALL(EVD_RING, evd_ring, 5), CALL(EVD_POLL_FD, evd_poll_fd, 4),
	CALL(EVD_SET_WAITABLE, evd_set_waitable, 4), CALL(CQ_SETTLE, cq_settle, 2),
	CALL(EP_CREATE, ep_create, 10), CALL(EP_QUERY, ep_query, 6),
	CALL(EP_MODIFY, ep_modify, 10), CALL(EP_GET_STATUS, ep_get_status, 5),
	CALL(EP_CONNECT, ep_connect, 10), CALL(EP_DUP_CONNECT, ep_dup_connect, 6),
	CALL(EP_DISCONNECT, ep_disconnect, 8), CALL(EP_RESET, of_ep, 6),
	CALL(EP_FREE, of_ep, 5), CALL(EP_PRIVATE_DATA, ep_private_data, 6),
	CALL(EP_BOARD, ep_board, 5), CALL(EP_BIND, ep_bind, 8), CALL(EP_TELL, ep_tell, 10),
	CALL(POST, post, 30), CALL(PSP_CREATE, psp_create, 6),
	CALL(PSP_CREATE_ANY, psp_create_any, 6), CALL(PSP_QUERY, psp_query, 4),
	CALL(PSP_FREE, of_psp, 4), CALL(RSP_CREATE, rsp_create, 6),
	CALL(RSP_QUERY, rsp_query, 4), CALL(RSP_FREE, of_rsp, 4), CALL(CR_QUERY, cr_query, 6),
	CALL(CR_ACCEPT, cr_accept, 8), CALL(CR_REJECT, of_cr, 4),
	CALL(CR_REJECT_DATA, cr_reject, 4),
	CALL(CR_HANDOFF, cr_handoff, 4), CALL(RMR_CREATE, rmr_create, 5),
	CALL(RMR_QUERY, rmr_query, 4), CALL(RMR_BIND, rmr_bind, 10), CALL(RMR_FREE, of_rmr, 4),
	CALL(SRQ_CREATE, srq_create, 8), CALL(SRQ_QUERY, srq_query, 5),
	CALL(SRQ_RESIZE, srq_count, 8), CALL(SRQ_SET_LW, srq_count, 6),
	CALL(SRQ_POST, srq_post, 20), CALL(SRQ_FREE, of_srq, 4),
	CALL(SRQ_TELL, srq_tell, 6),
	CALL(EP_CREATE_WITH_SRQ, ep_create_with_srq, 10),
	CALL(EP_RECV_QUERY, ep_recv_query, 5), CALL(BOARD_EVENT, board_event, 2),
};

const unsigned int nr_calls = ARRAY_SIZE(calls);

/* ---- what the structures point to -------------------------------------------------- */

static const struct field segment[] = {
	F(segment, lmr_context, LKEY), F(segment, unused, IGNORED),
	F(segment, address, ADDRESS), F(segment, length, EXTENT),
};

static const struct field dto[] = {
	FX(dto, op, ONE_OF, KDAPL_OP_RDMA_READ_TO_RMR + 1), FX(dto, flags, BITS, FLAGS_COMPLETION),
	FX(dto, num_segments, COUNT, 3), F(dto, rmr_context, RKEY),
	F_PTR(dto, segments, SEGMENTS, num_segments), F(dto, cookie, COOKIE),
	F(dto, target_address, TARGET), F(dto, target_length, TARGET_EXTENT),
};

const struct shape_of shapes[SHAPES] = {
	[SEGMENTS] = { sizeof(struct kdapl_uapi_segment), segment, ARRAY_SIZE(segment) },
	[DTOS] = { sizeof(struct kdapl_uapi_dto), dto, ARRAY_SIZE(dto) },
	[BYTES_IN] = { 1, NULL, 0 },
	[BYTES_OUT] = { 1, NULL, 0 },
	[PROVIDERS_OUT] = { sizeof(struct kdapl_uapi_provider_info), NULL, 0 },
};

/* ---- is it complete? ----------------------------------------------------------------- */

/* What the header has, the Makefile's list: X(KDAPL_IOC_...) */
static const struct {
	const char *name;
	unsigned int cmd;
} header[] = {
#define X(name)	{ #name, name },
#include "all_calls.h"
#undef X
};

const struct call *call_of(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < nr_calls; i++)
		if (calls[i].cmd == cmd)
			return &calls[i];
	return NULL;
}

/* Each byte belongs to one field. */
static bool covered(const char *name, const struct field *fields, unsigned int nr,
		    unsigned int size)
{
	unsigned int i, byte, times;

	for (byte = 0; byte < size; byte++) {
		for (times = i = 0; i < nr; i++)
			times += byte >= fields[i].at && byte < fields[i].at + fields[i].size;
		if (times == 1)
			continue;
		printf("FAIL %s: byte %u of its structure is in %u fields of the table\n", name,
		       byte, times);
		return false;
	}
	return true;
}

bool table_check(void)
{
	bool good = nr_calls <= MAX_CALLS;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(header); i++) {
		if (call_of(header[i].cmd))
			continue;
		printf("FAIL %s is not in the table of calls\n", header[i].name);
		good = false;
	}
	if (nr_calls != ARRAY_SIZE(header)) {
		printf("FAIL the table has %u calls, the header %zu\n", nr_calls,
		       ARRAY_SIZE(header));
		good = false;
	}
	for (i = 0; i < nr_calls; i++)
		good &= covered(calls[i].name, calls[i].fields, calls[i].nr_fields,
				_IOC_SIZE(calls[i].cmd));
	for (i = 0; i < SHAPES; i++)
		good &= !shapes[i].fields || covered("what a pointer names", shapes[i].fields,
						     shapes[i].nr_fields, shapes[i].size);
	return good;
}
