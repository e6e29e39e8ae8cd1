// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues, which kdapl does not offer: dat_srq_create() returns
 * DAT_MODEL_NOT_SUPPORTED (mt:M48), and since no SRQ exists every handle of one
 * is bad. The kernel is not asked.
 */
#include "shim.h"

DAT_RETURN own_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	if (!shim_find(ia_handle, SHIM_IA))
		return RET_BAD_HANDLE(IA);
	if (!shim_find(pz_handle, SHIM_PZ))
		return RET_BAD_HANDLE(PZ);
	if (!srq_attr)
		return RET_BAD_ARG(3);
	if (!srq_handle)
		return RET_BAD_ARG(4);
	return RET(MODEL_NOT_SUPPORTED);
}

DAT_RETURN own_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle)
{
	uint64_t token;

	(void)srq_handle;
	(void)ep_attributes;
	(void)ep_handle;
	if (!shim_find(ia_handle, SHIM_IA))
		return RET_BAD_HANDLE(IA);
	if (!shim_optional(pz_handle, SHIM_PZ, &token))
		return RET_BAD_HANDLE(PZ);
	if (!shim_optional(recv_evd_handle, SHIM_EVD, &token))
		return RET_BAD_HANDLE(EVD_RECV);
	if (!shim_optional(request_evd_handle, SHIM_EVD, &token))
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (!shim_optional(connect_evd_handle, SHIM_EVD, &token))
		return RET_BAD_HANDLE(EVD_CONN);
	return RET_BAD_HANDLE(SRQ);
}

DAT_RETURN own_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	(void)srq_handle;
	return RET_BAD_HANDLE(SRQ);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie)
{
	return other_srq_post_recv(srq_handle, num_segments, local_iov, user_cookie);
}

DAT_RETURN own_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	(void)srq_handle;
	(void)srq_param_mask;
	(void)srq_param;
	return RET_BAD_HANDLE(SRQ);
}

DAT_RETURN own_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	(void)srq_handle;
	(void)srq_max_recv_dto;
	return RET_BAD_HANDLE(SRQ);
}

DAT_RETURN own_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	(void)srq_handle;
	(void)low_watermark;
	return RET_BAD_HANDLE(SRQ);
}
