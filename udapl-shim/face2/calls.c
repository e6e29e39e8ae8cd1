// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The dat_* calls of DAT 2.0 that DAT 1.2 has with other arguments (face1/calls.c), or not at all;
 * the rest is in ../calls.c. Of the new ones face2/libdat2.map exports those that do something.
 */
#include "call.h"

CALL(lmr_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
      DAT_REGION_DESCRIPTION region_description, DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
      DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
      DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
      DAT_VADDR *registered_address),
     (ia_handle, mem_type, region_description, length, pz_handle, privileges, va_type,
      lmr_handle, lmr_context, rmr_context, registered_length, registered_address))

CALL(rmr_bind, rmr_handle,
     (DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
      DAT_MEM_PRIV_FLAGS mem_priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
      DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
      DAT_RMR_CONTEXT *context),
     (rmr_handle, lmr_handle, lmr_triplet, mem_priv, va_type, ep_handle, user_cookie,
      completion_flags, context))

CALL(cr_reject, cr_handle,
     (DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size, const DAT_PVOID private_data),
     (cr_handle, private_data_size, private_data))

/* New in 2.0 */

CALL(csp_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
      DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_handle),
     (ia_handle, comm, address, evd_handle, csp_handle))

CALL(csp_query, csp_handle,
     (DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask, DAT_CSP_PARAM *csp_param),
     (csp_handle, csp_param_mask, csp_param))

CALL(csp_free, csp_handle,
     (DAT_CSP_HANDLE csp_handle),
     (csp_handle))

CALL(ep_common_connect, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address, DAT_TIMEOUT timeout,
      DAT_COUNT private_data_size, const DAT_PVOID private_data),
     (ep_handle, remote_ia_address, timeout, private_data_size, private_data))

CALL(rmr_create_for_ep, pz_handle,
     (DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle),
     (pz_handle, rmr_handle))

CALL(ep_post_send_with_invalidate, ep_handle,
     (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
      DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
      DAT_BOOLEAN invalidate_flag, DAT_RMR_CONTEXT rmr_context),
     (ep_handle, num_segments, local_iov, user_cookie, completion_flags, invalidate_flag,
      rmr_context))

CALL(ep_post_rdma_read_to_rmr, ep_handle,
     (DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
      const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags),
     (ep_handle, local_iov, user_cookie, remote_iov, completion_flags))

CALL(cno_fd_create, ia_handle,
     (DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *cno_handle),
     (ia_handle, fd, cno_handle))

CALL(cno_trigger, cno_handle,
     (DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle),
     (cno_handle, evd_handle))

/* Its arguments are those of the operation, so there is nothing to print of them. */
DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...)
{
	const DAT_PROVIDER *other = shim_other(handle);
	DAT_RETURN ret;
	va_list args;

	va_start(args, operation);
	ret = other ? THEIRS(other, handle_extendedop, (handle, operation, args)) :
		      face_extendedop(handle, operation, args);
	va_end(args);
	return ret ? shim_failed("dat_extension_op", "(handle, operation)", ret) : ret;
}
