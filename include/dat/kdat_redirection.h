/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The function table of a provider in the kernel, and what dat_redirection.h
 * does not have of it. Included by dat_registry.h.
 */
#ifndef _KDAT_REDIRECTION_H_
#define _KDAT_REDIRECTION_H_

#include <dat/dat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef DAT_POINTER_TO(dat_ia_memtype_hint) DAT_IA_MEMTYPE_HINT_FUNC;
typedef DAT_POINTER_TO(dat_evd_kcreate) DAT_EVD_KCREATE_FUNC;
typedef DAT_POINTER_TO(dat_evd_modify_upcall) DAT_EVD_MODIFY_UPCALL_FUNC;
typedef DAT_POINTER_TO(dat_lmr_kcreate) DAT_LMR_KCREATE_FUNC;

#define DAT_IA_MEMTYPE_HINT(ia, ...) \
	DAT_PROVIDER_CALL(ia_memtype_hint_func, ia, __VA_ARGS__)
#define DAT_EVD_KCREATE(ia, ...) \
	DAT_PROVIDER_CALL(evd_kcreate_func, ia, __VA_ARGS__)
#define DAT_EVD_MODIFY_UPCALL(evd, ...) \
	DAT_PROVIDER_CALL(evd_modify_upcall_func, evd, __VA_ARGS__)
#define DAT_LMR_KCREATE(ia, ...) \
	DAT_PROVIDER_CALL(lmr_kcreate_func, ia, __VA_ARGS__)

/* The order of the members is part of the binary interface. */
struct dat_provider {
	const char *device_name;
	DAT_PVOID extension;	/* the provider's own */

	DAT_IA_OPEN_FUNC ia_open_func;
	DAT_IA_QUERY_FUNC ia_query_func;
	DAT_IA_CLOSE_FUNC ia_close_func;
	DAT_IA_MEMTYPE_HINT_FUNC ia_memtype_hint_func;
	DAT_SET_CONSUMER_CONTEXT_FUNC set_consumer_context_func;
	DAT_GET_CONSUMER_CONTEXT_FUNC get_consumer_context_func;
	DAT_GET_HANDLE_TYPE_FUNC get_handle_type_func;
	DAT_CR_QUERY_FUNC cr_query_func;
	DAT_CR_ACCEPT_FUNC cr_accept_func;
	DAT_CR_REJECT_FUNC cr_reject_func;
	DAT_CR_HANDOFF_FUNC cr_handoff_func;
	DAT_EVD_KCREATE_FUNC evd_kcreate_func;
	DAT_EVD_QUERY_FUNC evd_query_func;
	DAT_EVD_MODIFY_UPCALL_FUNC evd_modify_upcall_func;
	DAT_EVD_RESIZE_FUNC evd_resize_func;
	DAT_EVD_POST_SE_FUNC evd_post_se_func;
	DAT_EVD_DEQUEUE_FUNC evd_dequeue_func;
	DAT_EVD_FREE_FUNC evd_free_func;
	DAT_EP_CREATE_FUNC ep_create_func;
	DAT_EP_QUERY_FUNC ep_query_func;
	DAT_EP_MODIFY_FUNC ep_modify_func;
	DAT_EP_CONNECT_FUNC ep_connect_func;
	DAT_EP_DUP_CONNECT_FUNC ep_dup_connect_func;
	DAT_EP_DISCONNECT_FUNC ep_disconnect_func;
	DAT_EP_POST_SEND_FUNC ep_post_send_func;
	DAT_EP_POST_RECV_FUNC ep_post_recv_func;
	DAT_EP_POST_RDMA_READ_FUNC ep_post_rdma_read_func;
	DAT_EP_POST_RDMA_WRITE_FUNC ep_post_rdma_write_func;
	DAT_EP_GET_STATUS_FUNC ep_get_status_func;
	DAT_EP_FREE_FUNC ep_free_func;
	DAT_LMR_KCREATE_FUNC lmr_kcreate_func;
	DAT_LMR_QUERY_FUNC lmr_query_func;
	DAT_LMR_FREE_FUNC lmr_free_func;
	DAT_RMR_CREATE_FUNC rmr_create_func;
	DAT_RMR_QUERY_FUNC rmr_query_func;
	DAT_RMR_BIND_FUNC rmr_bind_func;
	DAT_RMR_FREE_FUNC rmr_free_func;
	DAT_PSP_CREATE_FUNC psp_create_func;
	DAT_PSP_QUERY_FUNC psp_query_func;
	DAT_PSP_FREE_FUNC psp_free_func;
	DAT_RSP_CREATE_FUNC rsp_create_func;
	DAT_RSP_QUERY_FUNC rsp_query_func;
	DAT_RSP_FREE_FUNC rsp_free_func;
	DAT_PZ_CREATE_FUNC pz_create_func;
	DAT_PZ_QUERY_FUNC pz_query_func;
	DAT_PZ_FREE_FUNC pz_free_func;

	/* since 1.1 */
	DAT_PSP_CREATE_ANY_FUNC psp_create_any_func;
	DAT_EP_RESET_FUNC ep_reset_func;

	/* since 1.2 */
	DAT_LMR_SYNC_RDMA_READ_FUNC lmr_sync_rdma_read_func;
	DAT_LMR_SYNC_RDMA_WRITE_FUNC lmr_sync_rdma_write_func;
	DAT_EP_CREATE_WITH_SRQ_FUNC ep_create_with_srq_func;
	DAT_EP_RECV_QUERY_FUNC ep_recv_query_func;
	DAT_EP_SET_WATERMARK_FUNC ep_set_watermark_func;
	DAT_SRQ_CREATE_FUNC srq_create_func;
	DAT_SRQ_FREE_FUNC srq_free_func;
	DAT_SRQ_POST_RECV_FUNC srq_post_recv_func;
	DAT_SRQ_QUERY_FUNC srq_query_func;
	DAT_SRQ_RESIZE_FUNC srq_resize_func;
	DAT_SRQ_SET_LW_FUNC srq_set_lw_func;
};

#ifdef __cplusplus
}
#endif

#endif /* _KDAT_REDIRECTION_H_ */
