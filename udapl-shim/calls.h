/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the dat_* calls do for objects of this library, in cmd_*.c and cno.c: own_x() carries out
 * dat_x() and checks the handles itself. Called by calls.c, which has the exported functions; by
 * registry.c, which has dat_ia_close(); and by cmd_*.c for other calls.
 */
#ifndef SHIM_CALLS_H
#define SHIM_CALLS_H

__typeof__(dat_ia_query) own_ia_query;
__typeof__(dat_ia_close) own_ia_close;
__typeof__(dat_set_consumer_context) own_set_consumer_context;
__typeof__(dat_get_consumer_context) own_get_consumer_context;
__typeof__(dat_get_handle_type) own_get_handle_type;
__typeof__(dat_pz_create) own_pz_create;
__typeof__(dat_pz_query) own_pz_query;
__typeof__(dat_pz_free) own_pz_free;
__typeof__(dat_lmr_create) own_lmr_create;
__typeof__(dat_lmr_query) own_lmr_query;
__typeof__(dat_lmr_free) own_lmr_free;
__typeof__(dat_lmr_sync_rdma_read) own_lmr_sync_rdma_read;
__typeof__(dat_lmr_sync_rdma_write) own_lmr_sync_rdma_write;
__typeof__(dat_rmr_create) own_rmr_create;
__typeof__(dat_rmr_query) own_rmr_query;
__typeof__(dat_rmr_bind) own_rmr_bind;
__typeof__(dat_rmr_free) own_rmr_free;
__typeof__(dat_evd_create) own_evd_create;
__typeof__(dat_evd_query) own_evd_query;
__typeof__(dat_evd_modify_cno) own_evd_modify_cno;
__typeof__(dat_evd_enable) own_evd_enable;
__typeof__(dat_evd_disable) own_evd_disable;
__typeof__(dat_evd_wait) own_evd_wait;
__typeof__(dat_evd_resize) own_evd_resize;
__typeof__(dat_evd_post_se) own_evd_post_se;
__typeof__(dat_evd_set_unwaitable) own_evd_set_unwaitable;
__typeof__(dat_evd_clear_unwaitable) own_evd_clear_unwaitable;
__typeof__(dat_evd_free) own_evd_free;
__typeof__(dat_cno_create) own_cno_create;
__typeof__(dat_cno_modify_agent) own_cno_modify_agent;
__typeof__(dat_cno_query) own_cno_query;
__typeof__(dat_cno_wait) own_cno_wait;
__typeof__(dat_cno_free) own_cno_free;
__typeof__(dat_ep_create) own_ep_create;
__typeof__(dat_ep_create_with_srq) own_ep_create_with_srq;
__typeof__(dat_ep_query) own_ep_query;
__typeof__(dat_ep_modify) own_ep_modify;
__typeof__(dat_ep_connect) own_ep_connect;
__typeof__(dat_ep_dup_connect) own_ep_dup_connect;
__typeof__(dat_ep_disconnect) own_ep_disconnect;
__typeof__(dat_ep_get_status) own_ep_get_status;
__typeof__(dat_ep_reset) own_ep_reset;
__typeof__(dat_ep_recv_query) own_ep_recv_query;
__typeof__(dat_ep_set_watermark) own_ep_set_watermark;
__typeof__(dat_ep_free) own_ep_free;
__typeof__(dat_srq_create) own_srq_create;
__typeof__(dat_srq_post_recv) own_srq_post_recv;
__typeof__(dat_srq_query) own_srq_query;
__typeof__(dat_srq_resize) own_srq_resize;
__typeof__(dat_srq_set_lw) own_srq_set_lw;
__typeof__(dat_srq_free) own_srq_free;
__typeof__(dat_psp_create) own_psp_create;
__typeof__(dat_psp_create_any) own_psp_create_any;
__typeof__(dat_psp_query) own_psp_query;
__typeof__(dat_psp_free) own_psp_free;
__typeof__(dat_rsp_create) own_rsp_create;
__typeof__(dat_rsp_query) own_rsp_query;
__typeof__(dat_rsp_free) own_rsp_free;
__typeof__(dat_cr_query) own_cr_query;
__typeof__(dat_cr_accept) own_cr_accept;
__typeof__(dat_cr_reject) own_cr_reject;
__typeof__(dat_cr_handoff) own_cr_handoff;

/* What a call of the data path does with a handle that names no live object of this library */
__typeof__(dat_evd_dequeue) other_evd_dequeue __attribute__((cold));
__typeof__(dat_ep_post_send) other_ep_post_send __attribute__((cold));
__typeof__(dat_ep_post_recv) other_ep_post_recv __attribute__((cold));
__typeof__(dat_ep_post_rdma_read) other_ep_post_rdma_read __attribute__((cold));
__typeof__(dat_ep_post_rdma_write) other_ep_post_rdma_write __attribute__((cold));

#endif /* SHIM_CALLS_H */
