/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A pointer type for each function of a provider's table, DAT_X_FUNC for dat_x, and a macro,
 * DAT_X, that calls the provider of a handle directly.
 *
 * Included by udat_redirection.h, which holds the table itself.
 */
#ifndef _DAT_REDIRECTION_H_
#define _DAT_REDIRECTION_H_

#ifndef _UDAT_H_
#error "include <dat2/udat.h> first"
#endif

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dat_provider DAT_PROVIDER;

#define DAT_POINTER_TO(function)	__typeof__(&(function))

/*
 * Calls the member func of the provider that the handle belongs to, with
 * the handle as the first argument, evaluated once.
 */
#define DAT_PROVIDER_CALL(func, handle, ...)				\
	(__extension__ ({						\
		DAT_HANDLE dat_handle_ = (handle);			\
		DAT_HANDLE_TO_PROVIDER(dat_handle_)->func(		\
			dat_handle_, ##__VA_ARGS__);			\
	}))

/* No version here: the registry has checked it before it calls ia_open_func. */
typedef DAT_POINTER_TO(dat_ia_openv) DAT_IA_OPENV_FUNC;
typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(const DAT_NAME_PTR ia_name,
				       DAT_COUNT asynch_evd_min_qlen,
				       DAT_EVD_HANDLE *asynch_evd_handle,
				       DAT_IA_HANDLE *ia_handle);

typedef DAT_POINTER_TO(dat_ia_query) DAT_IA_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_ia_close) DAT_IA_CLOSE_FUNC;
typedef DAT_POINTER_TO(dat_set_consumer_context) DAT_SET_CONSUMER_CONTEXT_FUNC;
typedef DAT_POINTER_TO(dat_get_consumer_context) DAT_GET_CONSUMER_CONTEXT_FUNC;
typedef DAT_POINTER_TO(dat_get_handle_type) DAT_GET_HANDLE_TYPE_FUNC;
typedef DAT_POINTER_TO(dat_cr_query) DAT_CR_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_cr_accept) DAT_CR_ACCEPT_FUNC;
typedef DAT_POINTER_TO(dat_cr_reject) DAT_CR_REJECT_FUNC;
typedef DAT_POINTER_TO(dat_cr_handoff) DAT_CR_HANDOFF_FUNC;
typedef DAT_POINTER_TO(dat_evd_query) DAT_EVD_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_evd_resize) DAT_EVD_RESIZE_FUNC;
typedef DAT_POINTER_TO(dat_evd_post_se) DAT_EVD_POST_SE_FUNC;
typedef DAT_POINTER_TO(dat_evd_dequeue) DAT_EVD_DEQUEUE_FUNC;
typedef DAT_POINTER_TO(dat_evd_free) DAT_EVD_FREE_FUNC;
typedef DAT_POINTER_TO(dat_ep_create) DAT_EP_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_ep_query) DAT_EP_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_ep_modify) DAT_EP_MODIFY_FUNC;
typedef DAT_POINTER_TO(dat_ep_connect) DAT_EP_CONNECT_FUNC;
typedef DAT_POINTER_TO(dat_ep_dup_connect) DAT_EP_DUP_CONNECT_FUNC;
typedef DAT_POINTER_TO(dat_ep_disconnect) DAT_EP_DISCONNECT_FUNC;
typedef DAT_POINTER_TO(dat_ep_post_send) DAT_EP_POST_SEND_FUNC;
typedef DAT_POINTER_TO(dat_ep_post_recv) DAT_EP_POST_RECV_FUNC;
typedef DAT_POINTER_TO(dat_ep_post_rdma_read) DAT_EP_POST_RDMA_READ_FUNC;
typedef DAT_POINTER_TO(dat_ep_post_rdma_write) DAT_EP_POST_RDMA_WRITE_FUNC;
typedef DAT_POINTER_TO(dat_ep_get_status) DAT_EP_GET_STATUS_FUNC;
typedef DAT_POINTER_TO(dat_ep_free) DAT_EP_FREE_FUNC;
typedef DAT_POINTER_TO(dat_lmr_query) DAT_LMR_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_lmr_free) DAT_LMR_FREE_FUNC;
typedef DAT_POINTER_TO(dat_rmr_create) DAT_RMR_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_rmr_query) DAT_RMR_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_rmr_bind) DAT_RMR_BIND_FUNC;
typedef DAT_POINTER_TO(dat_rmr_free) DAT_RMR_FREE_FUNC;
typedef DAT_POINTER_TO(dat_psp_create) DAT_PSP_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_psp_query) DAT_PSP_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_psp_free) DAT_PSP_FREE_FUNC;
typedef DAT_POINTER_TO(dat_rsp_create) DAT_RSP_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_rsp_query) DAT_RSP_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_rsp_free) DAT_RSP_FREE_FUNC;
typedef DAT_POINTER_TO(dat_pz_create) DAT_PZ_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_pz_query) DAT_PZ_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_pz_free) DAT_PZ_FREE_FUNC;
typedef DAT_POINTER_TO(dat_psp_create_any) DAT_PSP_CREATE_ANY_FUNC;
typedef DAT_POINTER_TO(dat_ep_reset) DAT_EP_RESET_FUNC;
typedef DAT_POINTER_TO(dat_lmr_sync_rdma_read) DAT_LMR_SYNC_RDMA_READ_FUNC;
typedef DAT_POINTER_TO(dat_lmr_sync_rdma_write) DAT_LMR_SYNC_RDMA_WRITE_FUNC;
typedef DAT_POINTER_TO(dat_ep_create_with_srq) DAT_EP_CREATE_WITH_SRQ_FUNC;
typedef DAT_POINTER_TO(dat_ep_recv_query) DAT_EP_RECV_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_ep_set_watermark) DAT_EP_SET_WATERMARK_FUNC;
typedef DAT_POINTER_TO(dat_srq_create) DAT_SRQ_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_srq_free) DAT_SRQ_FREE_FUNC;
typedef DAT_POINTER_TO(dat_srq_post_recv) DAT_SRQ_POST_RECV_FUNC;
typedef DAT_POINTER_TO(dat_srq_query) DAT_SRQ_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_srq_resize) DAT_SRQ_RESIZE_FUNC;
typedef DAT_POINTER_TO(dat_srq_set_lw) DAT_SRQ_SET_LW_FUNC;
typedef DAT_POINTER_TO(dat_csp_create) DAT_CSP_CREATE_FUNC;
typedef DAT_POINTER_TO(dat_csp_query) DAT_CSP_QUERY_FUNC;
typedef DAT_POINTER_TO(dat_csp_free) DAT_CSP_FREE_FUNC;
typedef DAT_POINTER_TO(dat_ep_common_connect) DAT_EP_COMMON_CONNECT_FUNC;
typedef DAT_POINTER_TO(dat_rmr_create_for_ep) DAT_RMR_CREATE_FOR_EP_FUNC;
typedef DAT_POINTER_TO(dat_ep_post_send_with_invalidate) DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC;
typedef DAT_POINTER_TO(dat_ep_post_rdma_read_to_rmr) DAT_EP_POST_RDMA_READ_TO_RMR_FUNC;

typedef DAT_RETURN (*DAT_IA_HA_RELATED_FUNC)(DAT_IA_HANDLE ia_handle,
					     const DAT_NAME_PTR ia_name,
					     DAT_BOOLEAN *answer);
/* What dat_extension_op becomes: the arguments of the operation are a list. */
typedef DAT_RETURN (*DAT_HANDLE_EXTENDEDOP_FUNC)(DAT_HANDLE handle,
						 DAT_EXTENDED_OP extended_op,
						 va_list args);

#define DAT_IA_QUERY(ia, ...) \
	DAT_PROVIDER_CALL(ia_query_func, ia, __VA_ARGS__)
#define DAT_SET_CONSUMER_CONTEXT(handle, ...) \
	DAT_PROVIDER_CALL(set_consumer_context_func, handle, __VA_ARGS__)
#define DAT_GET_CONSUMER_CONTEXT(handle, ...) \
	DAT_PROVIDER_CALL(get_consumer_context_func, handle, __VA_ARGS__)
#define DAT_GET_HANDLE_TYPE(handle, ...) \
	DAT_PROVIDER_CALL(get_handle_type_func, handle, __VA_ARGS__)
#define DAT_CR_QUERY(cr, ...) \
	DAT_PROVIDER_CALL(cr_query_func, cr, __VA_ARGS__)
#define DAT_CR_ACCEPT(cr, ...) \
	DAT_PROVIDER_CALL(cr_accept_func, cr, __VA_ARGS__)
#define DAT_CR_REJECT(cr, ...) \
	DAT_PROVIDER_CALL(cr_reject_func, cr, __VA_ARGS__)
#define DAT_CR_HANDOFF(cr, ...) \
	DAT_PROVIDER_CALL(cr_handoff_func, cr, __VA_ARGS__)
#define DAT_EVD_QUERY(evd, ...) \
	DAT_PROVIDER_CALL(evd_query_func, evd, __VA_ARGS__)
#define DAT_EVD_RESIZE(evd, ...) \
	DAT_PROVIDER_CALL(evd_resize_func, evd, __VA_ARGS__)
#define DAT_EVD_POST_SE(evd, ...) \
	DAT_PROVIDER_CALL(evd_post_se_func, evd, __VA_ARGS__)
#define DAT_EVD_DEQUEUE(evd, ...) \
	DAT_PROVIDER_CALL(evd_dequeue_func, evd, __VA_ARGS__)
#define DAT_EVD_FREE(evd) \
	DAT_PROVIDER_CALL(evd_free_func, evd)
#define DAT_EP_CREATE(ia, ...) \
	DAT_PROVIDER_CALL(ep_create_func, ia, __VA_ARGS__)
#define DAT_EP_QUERY(ep, ...) \
	DAT_PROVIDER_CALL(ep_query_func, ep, __VA_ARGS__)
#define DAT_EP_MODIFY(ep, ...) \
	DAT_PROVIDER_CALL(ep_modify_func, ep, __VA_ARGS__)
#define DAT_EP_CONNECT(ep, ...) \
	DAT_PROVIDER_CALL(ep_connect_func, ep, __VA_ARGS__)
#define DAT_EP_DUP_CONNECT(ep, ...) \
	DAT_PROVIDER_CALL(ep_dup_connect_func, ep, __VA_ARGS__)
#define DAT_EP_DISCONNECT(ep, ...) \
	DAT_PROVIDER_CALL(ep_disconnect_func, ep, __VA_ARGS__)
#define DAT_EP_POST_SEND(ep, ...) \
	DAT_PROVIDER_CALL(ep_post_send_func, ep, __VA_ARGS__)
#define DAT_EP_POST_RECV(ep, ...) \
	DAT_PROVIDER_CALL(ep_post_recv_func, ep, __VA_ARGS__)
#define DAT_EP_POST_RDMA_READ(ep, ...) \
	DAT_PROVIDER_CALL(ep_post_rdma_read_func, ep, __VA_ARGS__)
#define DAT_EP_POST_RDMA_WRITE(ep, ...) \
	DAT_PROVIDER_CALL(ep_post_rdma_write_func, ep, __VA_ARGS__)
#define DAT_EP_GET_STATUS(ep, ...) \
	DAT_PROVIDER_CALL(ep_get_status_func, ep, __VA_ARGS__)
#define DAT_EP_FREE(ep) \
	DAT_PROVIDER_CALL(ep_free_func, ep)
#define DAT_LMR_QUERY(lmr, ...) \
	DAT_PROVIDER_CALL(lmr_query_func, lmr, __VA_ARGS__)
#define DAT_LMR_FREE(lmr) \
	DAT_PROVIDER_CALL(lmr_free_func, lmr)
#define DAT_RMR_CREATE(pz, ...) \
	DAT_PROVIDER_CALL(rmr_create_func, pz, __VA_ARGS__)
#define DAT_RMR_QUERY(rmr, ...) \
	DAT_PROVIDER_CALL(rmr_query_func, rmr, __VA_ARGS__)
#define DAT_RMR_BIND(rmr, ...) \
	DAT_PROVIDER_CALL(rmr_bind_func, rmr, __VA_ARGS__)
#define DAT_RMR_FREE(rmr) \
	DAT_PROVIDER_CALL(rmr_free_func, rmr)
#define DAT_PSP_CREATE(ia, ...) \
	DAT_PROVIDER_CALL(psp_create_func, ia, __VA_ARGS__)
#define DAT_PSP_QUERY(psp, ...) \
	DAT_PROVIDER_CALL(psp_query_func, psp, __VA_ARGS__)
#define DAT_PSP_FREE(psp) \
	DAT_PROVIDER_CALL(psp_free_func, psp)
#define DAT_RSP_CREATE(ia, ...) \
	DAT_PROVIDER_CALL(rsp_create_func, ia, __VA_ARGS__)
#define DAT_RSP_QUERY(rsp, ...) \
	DAT_PROVIDER_CALL(rsp_query_func, rsp, __VA_ARGS__)
#define DAT_RSP_FREE(rsp) \
	DAT_PROVIDER_CALL(rsp_free_func, rsp)
#define DAT_PZ_CREATE(ia, ...) \
	DAT_PROVIDER_CALL(pz_create_func, ia, __VA_ARGS__)
#define DAT_PZ_QUERY(pz, ...) \
	DAT_PROVIDER_CALL(pz_query_func, pz, __VA_ARGS__)
#define DAT_PZ_FREE(pz) \
	DAT_PROVIDER_CALL(pz_free_func, pz)
#define DAT_PSP_CREATE_ANY(ia, ...) \
	DAT_PROVIDER_CALL(psp_create_any_func, ia, __VA_ARGS__)
#define DAT_EP_RESET(ep) \
	DAT_PROVIDER_CALL(ep_reset_func, ep)
#define DAT_LMR_SYNC_RDMA_READ(ia, ...) \
	DAT_PROVIDER_CALL(lmr_sync_rdma_read_func, ia, __VA_ARGS__)
#define DAT_LMR_SYNC_RDMA_WRITE(ia, ...) \
	DAT_PROVIDER_CALL(lmr_sync_rdma_write_func, ia, __VA_ARGS__)
#define DAT_EP_CREATE_WITH_SRQ(ia, ...) \
	DAT_PROVIDER_CALL(ep_create_with_srq_func, ia, __VA_ARGS__)
#define DAT_EP_RECV_QUERY(ep, ...) \
	DAT_PROVIDER_CALL(ep_recv_query_func, ep, __VA_ARGS__)
#define DAT_EP_SET_WATERMARK(ep, ...) \
	DAT_PROVIDER_CALL(ep_set_watermark_func, ep, __VA_ARGS__)
#define DAT_SRQ_CREATE(ia, ...) \
	DAT_PROVIDER_CALL(srq_create_func, ia, __VA_ARGS__)
#define DAT_SRQ_FREE(srq) \
	DAT_PROVIDER_CALL(srq_free_func, srq)
#define DAT_SRQ_POST_RECV(srq, ...) \
	DAT_PROVIDER_CALL(srq_post_recv_func, srq, __VA_ARGS__)
#define DAT_SRQ_QUERY(srq, ...) \
	DAT_PROVIDER_CALL(srq_query_func, srq, __VA_ARGS__)
#define DAT_SRQ_RESIZE(srq, ...) \
	DAT_PROVIDER_CALL(srq_resize_func, srq, __VA_ARGS__)
#define DAT_SRQ_SET_LW(srq, ...) \
	DAT_PROVIDER_CALL(srq_set_lw_func, srq, __VA_ARGS__)
#define DAT_CSP_CREATE(ia, ...) \
	DAT_PROVIDER_CALL(csp_create_func, ia, __VA_ARGS__)
#define DAT_CSP_QUERY(csp, ...) \
	DAT_PROVIDER_CALL(csp_query_func, csp, __VA_ARGS__)
#define DAT_CSP_FREE(csp) \
	DAT_PROVIDER_CALL(csp_free_func, csp)
#define DAT_EP_COMMON_CONNECT(ep, ...) \
	DAT_PROVIDER_CALL(ep_common_connect_func, ep, __VA_ARGS__)
#define DAT_RMR_CREATE_FOR_EP(pz, ...) \
	DAT_PROVIDER_CALL(rmr_create_for_ep_func, pz, __VA_ARGS__)
#define DAT_EP_POST_SEND_WITH_INVALIDATE(ep, ...) \
	DAT_PROVIDER_CALL(ep_post_send_with_invalidate_func, ep, __VA_ARGS__)
#define DAT_EP_POST_RDMA_READ_TO_RMR(ep, ...) \
	DAT_PROVIDER_CALL(ep_post_rdma_read_to_rmr_func, ep, __VA_ARGS__)
#define DAT_IA_HA_RELATED(ia, ...) \
	DAT_PROVIDER_CALL(ia_ha_related_func, ia, __VA_ARGS__)
#define DAT_HANDLE_EXTENDEDOP(handle, ...) \
	DAT_PROVIDER_CALL(handle_extendedop_func, handle, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REDIRECTION_H_ */
