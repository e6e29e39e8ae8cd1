// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The calls whose arguments are others in DAT 2.0 (face2/face.c), as DAT 1.2 has them. */
#include "shim.h"

DAT_RETURN own_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			  DAT_VADDR *registered_address)
{
	return shim_lmr_create(ia_handle, mem_type, region_description, length, pz_handle,
			       privileges, lmr_handle, lmr_context, rmr_context,
			       registered_length, registered_address, DAT_SUCCESS);
}

DAT_RETURN own_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *context)
{
	return shim_rmr_bind(rmr_handle, lmr_triplet, mem_priv, ep_handle, user_cookie,
			     completion_flags, context, DAT_SUCCESS);
}

DAT_RETURN own_cr_reject(DAT_CR_HANDLE cr_handle)
{
	return shim_cr_reject(cr_handle, 0, NULL);
}
