// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The dat_* calls that programs make, except those of the data path (post.c and
 * dat_evd_dequeue()), of the registry (registry.c), and those whose arguments depend on the version
 * of DAT (face1/calls.c, face2/calls.c). The handle decides which function carries
 * out a call. For an object of this library, and for an invalid handle, it is a function of this
 * library: own_ep_query() for dat_ep_query(). For an object of another provider, which dat.conf
 * or the program has added, it is the function in that provider's table. If the call fails and
 * DAT_DEBUG is set, debug.c prints why.
 */
#include "call.h"

/* The slow part of a call of the data path: its handle names no live object of this library. */
#define REST(call, handle, bad, params, args)					\
DAT_RETURN other_##call params							\
{										\
	const DAT_PROVIDER *other = shim_other(handle);				\
	DAT_RETURN ret = other ? THEIRS(other, call, args) : RET_BAD_HANDLE(bad); \
										\
	return ret ? shim_refused("dat_" #call, #params, ret, BARE args) : ret;	\
}

/* Adapters, contexts */

CALL(ia_query, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle, DAT_IA_ATTR_MASK ia_attr_mask,
      DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_attr_mask,
      DAT_PROVIDER_ATTR *provider_attr),
     (ia_handle, async_evd_handle, ia_attr_mask, ia_attr, provider_attr_mask, provider_attr))

CALL(set_consumer_context, dat_handle,
     (DAT_HANDLE dat_handle, DAT_CONTEXT context),
     (dat_handle, context))

CALL(get_consumer_context, dat_handle,
     (DAT_HANDLE dat_handle, DAT_CONTEXT *context),
     (dat_handle, context))

CALL(get_handle_type, dat_handle,
     (DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type),
     (dat_handle, handle_type))

/* Memory */

CALL(pz_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle),
     (ia_handle, pz_handle))

CALL(pz_query, pz_handle,
     (DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask, DAT_PZ_PARAM *pz_param),
     (pz_handle, pz_param_mask, pz_param))

CALL(pz_free, pz_handle,
     (DAT_PZ_HANDLE pz_handle),
     (pz_handle))

CALL(lmr_query, lmr_handle,
     (DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask, DAT_LMR_PARAM *lmr_param),
     (lmr_handle, lmr_param_mask, lmr_param))

CALL(lmr_free, lmr_handle,
     (DAT_LMR_HANDLE lmr_handle),
     (lmr_handle))

CALL(lmr_sync_rdma_read, ia_handle,
     (DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments, DAT_VLEN num_segments),
     (ia_handle, local_segments, num_segments))

CALL(lmr_sync_rdma_write, ia_handle,
     (DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments, DAT_VLEN num_segments),
     (ia_handle, local_segments, num_segments))

CALL(rmr_create, pz_handle,
     (DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle),
     (pz_handle, rmr_handle))

CALL(rmr_query, rmr_handle,
     (DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask, DAT_RMR_PARAM *rmr_param),
     (rmr_handle, rmr_param_mask, rmr_param))

CALL(rmr_free, rmr_handle,
     (DAT_RMR_HANDLE rmr_handle),
     (rmr_handle))

/* Events */

CALL(evd_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen, DAT_CNO_HANDLE cno_handle,
      DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle),
     (ia_handle, evd_min_qlen, cno_handle, evd_flags, evd_handle))

CALL(evd_query, evd_handle,
     (DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask, DAT_EVD_PARAM *evd_param),
     (evd_handle, evd_param_mask, evd_param))

CALL(evd_modify_cno, evd_handle,
     (DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle),
     (evd_handle, cno_handle))

CALL(evd_enable, evd_handle,
     (DAT_EVD_HANDLE evd_handle),
     (evd_handle))

CALL(evd_disable, evd_handle,
     (DAT_EVD_HANDLE evd_handle),
     (evd_handle))

CALL(evd_wait, evd_handle,
     (DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
      DAT_COUNT *n_more_events),
     (evd_handle, timeout, threshold, event, n_more_events))

CALL(evd_resize, evd_handle,
     (DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen),
     (evd_handle, evd_min_qlen))

CALL(evd_post_se, evd_handle,
     (DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event),
     (evd_handle, event))

REST(evd_dequeue, evd_handle, EVD_REQUEST,
     (DAT_EVD_HANDLE evd_handle, DAT_EVENT *event),
     (evd_handle, event))

CALL(evd_set_unwaitable, evd_handle,
     (DAT_EVD_HANDLE evd_handle),
     (evd_handle))

CALL(evd_clear_unwaitable, evd_handle,
     (DAT_EVD_HANDLE evd_handle),
     (evd_handle))

CALL(evd_free, evd_handle,
     (DAT_EVD_HANDLE evd_handle),
     (evd_handle))

CALL(cno_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno_handle),
     (ia_handle, agent, cno_handle))

CALL(cno_modify_agent, cno_handle,
     (DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent),
     (cno_handle, agent))

CALL(cno_query, cno_handle,
     (DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask, DAT_CNO_PARAM *cno_param),
     (cno_handle, cno_param_mask, cno_param))

CALL(cno_wait, cno_handle,
     (DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle),
     (cno_handle, timeout, evd_handle))

CALL(cno_free, cno_handle,
     (DAT_CNO_HANDLE cno_handle),
     (cno_handle))

/* Endpoints */

CALL(ep_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
      DAT_EVD_HANDLE recv_completion_evd_handle, DAT_EVD_HANDLE request_completion_evd_handle,
      DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
      DAT_EP_HANDLE *ep_handle),
     (ia_handle, pz_handle, recv_completion_evd_handle, request_completion_evd_handle,
      connect_evd_handle, ep_attributes, ep_handle))

CALL(ep_create_with_srq, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_EVD_HANDLE recv_evd_handle,
      DAT_EVD_HANDLE request_evd_handle, DAT_EVD_HANDLE connect_evd_handle,
      DAT_SRQ_HANDLE srq_handle, const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle),
     (ia_handle, pz_handle, recv_evd_handle, request_evd_handle, connect_evd_handle,
      srq_handle, ep_attributes, ep_handle))

CALL(ep_query, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask, DAT_EP_PARAM *ep_param),
     (ep_handle, ep_param_mask, ep_param))

CALL(ep_modify, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask, const DAT_EP_PARAM *ep_param),
     (ep_handle, ep_param_mask, ep_param))

CALL(ep_connect, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
      DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
      const DAT_PVOID private_data, DAT_QOS quality_of_service,
      DAT_CONNECT_FLAGS connect_flags),
     (ep_handle, remote_ia_address, remote_conn_qual, timeout, private_data_size, private_data,
      quality_of_service, connect_flags))

CALL(ep_dup_connect, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
      DAT_COUNT private_data_size, const DAT_PVOID private_data, DAT_QOS quality_of_service),
     (ep_handle, ep_dup_handle, timeout, private_data_size, private_data, quality_of_service))

CALL(ep_disconnect, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags),
     (ep_handle, close_flags))

REST(ep_post_send, ep_handle, EP,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
      DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags),
     (ep_handle, num_segments, local_iov, user_cookie, completion_flags))

REST(ep_post_recv, ep_handle, EP,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
      DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags),
     (ep_handle, num_segments, local_iov, user_cookie, completion_flags))

REST(ep_post_rdma_read, ep_handle, EP,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
      DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov,
      DAT_COMPLETION_FLAGS completion_flags),
     (ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags))

REST(ep_post_rdma_write, ep_handle, EP,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
      DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov,
      DAT_COMPLETION_FLAGS completion_flags),
     (ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags))

CALL(ep_get_status, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state, DAT_BOOLEAN *recv_idle,
      DAT_BOOLEAN *request_idle),
     (ep_handle, ep_state, recv_idle, request_idle))

CALL(ep_reset, ep_handle,
     (DAT_EP_HANDLE ep_handle),
     (ep_handle))

CALL(ep_recv_query, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated, DAT_COUNT *bufs_alloc_span),
     (ep_handle, nbufs_allocated, bufs_alloc_span))

CALL(ep_set_watermark, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark, DAT_COUNT hard_high_watermark),
     (ep_handle, soft_high_watermark, hard_high_watermark))

CALL(ep_free, ep_handle,
     (DAT_EP_HANDLE ep_handle),
     (ep_handle))

/* Shared receive queues */

CALL(srq_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
      DAT_SRQ_HANDLE *srq_handle),
     (ia_handle, pz_handle, srq_attr, srq_handle))

CALL(srq_query, srq_handle,
     (DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask, DAT_SRQ_PARAM *srq_param),
     (srq_handle, srq_param_mask, srq_param))

CALL(srq_post_recv, srq_handle,
     (DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
      DAT_DTO_COOKIE user_cookie),
     (srq_handle, num_segments, local_iov, user_cookie))

CALL(srq_resize, srq_handle,
     (DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto),
     (srq_handle, srq_max_recv_dto))

CALL(srq_set_lw, srq_handle,
     (DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark),
     (srq_handle, low_watermark))

CALL(srq_free, srq_handle,
     (DAT_SRQ_HANDLE srq_handle),
     (srq_handle))

/* Service points, connection requests */

CALL(psp_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd_handle,
      DAT_PSP_FLAGS psp_flags, DAT_PSP_HANDLE *psp_handle),
     (ia_handle, conn_qual, evd_handle, psp_flags, psp_handle))

CALL(psp_create_any, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd_handle,
      DAT_PSP_FLAGS psp_flags, DAT_PSP_HANDLE *psp_handle),
     (ia_handle, conn_qual, evd_handle, psp_flags, psp_handle))

CALL(psp_query, psp_handle,
     (DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask, DAT_PSP_PARAM *psp_param),
     (psp_handle, psp_param_mask, psp_param))

CALL(psp_free, psp_handle,
     (DAT_PSP_HANDLE psp_handle),
     (psp_handle))

CALL(rsp_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
      DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle),
     (ia_handle, conn_qual, ep_handle, evd_handle, rsp_handle))

CALL(rsp_query, rsp_handle,
     (DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask, DAT_RSP_PARAM *rsp_param),
     (rsp_handle, rsp_param_mask, rsp_param))

CALL(rsp_free, rsp_handle,
     (DAT_RSP_HANDLE rsp_handle),
     (rsp_handle))

CALL(cr_query, cr_handle,
     (DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask, DAT_CR_PARAM *cr_param),
     (cr_handle, cr_param_mask, cr_param))

CALL(cr_accept, cr_handle,
     (DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_COUNT private_data_size,
      const DAT_PVOID private_data),
     (cr_handle, ep_handle, private_data_size, private_data))

CALL(cr_handoff, cr_handle,
     (DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff),
     (cr_handle, handoff))
