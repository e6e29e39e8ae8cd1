// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Remote Memory Regions. The completion of a bind comes through the EVD of the
 * EP's requests (event.c); a handle that was freed meanwhile still names its
 * dead object there (mt:M44).
 */
#include "shim.h"

/*
 * dat_rmr_create - a window for peers, bound to no memory yet
 *
 * Codes: INVALID_HANDLE/PZ; INVALID_PARAMETER/ARG2; INSUFFICIENT_RESOURCES;
 * MODEL_NOT_SUPPORTED (mt:M28).
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct shim_object *pz = shim_find(pz_handle, SHIM_PZ), *rmr;
	struct kdapl_uapi_rmr_create arg = { 0 };
	struct kdapl_uapi_handle undo = { 0 };
	DAT_RETURN ret;

	if (!pz)
		return RET_BAD_HANDLE(PZ);
	if (!rmr_handle)
		return RET_BAD_ARG(2);
	arg.pz = shim_token(pz);
	ret = shim_ioctl(KDAPL_IOC_RMR_CREATE, &arg, RET_NO_FAULT);
	if (ret)
		return ret;
	rmr = shim_object_get(arg.rmr, SHIM_RMR, pz->ia, NULL);
	if (!rmr) {
		undo.handle = arg.rmr;
		shim_ioctl(KDAPL_IOC_RMR_FREE, &undo, RET_NO_FAULT);
		return RET_NO_RESOURCE(MEMORY);
	}
	*rmr_handle = rmr;
	return DAT_SUCCESS;
}

/* Codes: INVALID_HANDLE/RMR, INVALID_PARAMETER/ARG2, /ARG3 (mt:M41). */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	struct shim_object *rmr = shim_find(rmr_handle, SHIM_RMR);
	struct kdapl_uapi_rmr_query arg = { .mask = rmr_param_mask };
	DAT_RETURN ret;

	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	if (rmr_param_mask & ~DAT_RMR_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!rmr_param)
		return RET_BAD_ARG(3);
	arg.rmr = shim_token(rmr);
	ret = shim_ioctl(KDAPL_IOC_RMR_QUERY, &arg, RET_BAD_ARG(2));
	if (ret)
		return ret;
	rmr_param->ia_handle = shim_handle(arg.ia);
	rmr_param->pz_handle = shim_handle(arg.pz);
	rmr_param->lmr_triplet = (DAT_LMR_TRIPLET) {
		.lmr_context = arg.segment.lmr_context,
		.virtual_address = arg.segment.address,
		.segment_length = arg.segment.length,
	};
	rmr_param->mem_priv = arg.privileges;
	rmr_param->rmr_context = arg.rmr_context;
	return DAT_SUCCESS;
}

/*
 * dat_rmr_bind - open a part of an LMR to peers; with length 0, close it
 *
 * Codes: INVALID_HANDLE/RMR, /EP, /EVD_REQUEST; INVALID_PARAMETER/ARG2, /ARG3,
 * /ARG6, /ARG7; INVALID_STATE; PROTECTION_VIOLATION; PRIVILEGES_VIOLATION;
 * INSUFFICIENT_RESOURCES (mt:M29..M38, mt:M45).
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *context)
{
	struct shim_object *rmr = shim_find(rmr_handle, SHIM_RMR);
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_rmr_bind arg = {
		.privileges = mem_priv,
		.cookie = user_cookie.as_64,
		.flags = completion_flags,
	};
	DAT_RETURN ret;

	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!lmr_triplet)
		return RET_BAD_ARG(2);
	if (!context)
		return RET_BAD_ARG(7);
	arg.rmr = shim_token(rmr);
	arg.ep = shim_token(ep);
	arg.segment = (struct kdapl_uapi_segment) {
		.lmr_context = lmr_triplet->lmr_context,
		.address = lmr_triplet->virtual_address,
		.length = lmr_triplet->segment_length,
	};
	ret = shim_ioctl(KDAPL_IOC_RMR_BIND, &arg, RET_NO_FAULT);
	if (!ret)
		*context = arg.rmr_context;
	return ret;
}

/* Codes: INVALID_HANDLE/RMR (mt:M43, mt:M44). */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	struct shim_object *rmr = shim_find(rmr_handle, SHIM_RMR);
	DAT_RETURN ret;

	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	ret = shim_handle_call(KDAPL_IOC_RMR_FREE, rmr);
	if (!ret)
		shim_object_kill(rmr);
	return ret;
}
