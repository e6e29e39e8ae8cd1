// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls of Remote Memory Regions. The completion of a bind comes as an
 * event (event.c). If the RMR was freed before that, the event still shows its
 * handle, since a dead object stays in the table of handles (mt:M44).
 */
#include "shim.h"

DAT_RETURN own_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct shim_object *pz = shim_find(pz_handle, SHIM_PZ), *rmr;
	DAT_RETURN ret;

	if (!pz)
		return RET_BAD_HANDLE(PZ);
	if (!rmr_handle)
		return RET_BAD_ARG(2);
	ret = pz->ops->rmr_create(pz, &rmr);
	if (!ret)
		*rmr_handle = rmr;
	return ret;
}

DAT_RETURN own_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	struct shim_object *rmr = shim_find(rmr_handle, SHIM_RMR);
	struct kdapl_uapi_rmr_query arg = { .mask = face_rmr_mask(rmr_param_mask) };
	DAT_RETURN ret;

	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	if (rmr_param_mask & ~DAT_RMR_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!rmr_param)
		return RET_BAD_ARG(3);
	arg.rmr = shim_token(rmr);
	ret = rmr->ops->rmr_query(rmr, &arg);
	if (ret)
		return ret;
	rmr_param->ia_handle = shim_ia_shown(arg.ia);
	rmr_param->pz_handle = shim_handle(arg.pz);
	rmr_param->lmr_triplet = (DAT_LMR_TRIPLET) {
		.lmr_context = arg.segment.lmr_context,
		.virtual_address = arg.segment.address,
		.segment_length = arg.segment.length,
	};
	rmr_param->mem_priv = arg.privileges;
	rmr_param->rmr_context = arg.rmr_context;
	face_rmr_param(rmr_param);
	return DAT_SUCCESS;
}

/*
 * shim_rmr_bind - dat_rmr_bind(), as own_rmr_bind() of either face asks for it
 * @more: what is wrong with arguments that only this face has
 *
 * Return: as dat_rmr_bind() of DAT 1.2, whose parameters these are but for @more; or @more.
 */
DAT_RETURN shim_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			 DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *context, DAT_RETURN more)
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
	if (more)
		return more;
	arg.rmr = shim_token(rmr);
	arg.ep = shim_token(ep);
	arg.segment = (struct kdapl_uapi_segment) {
		.lmr_context = lmr_triplet->lmr_context,
		.address = lmr_triplet->virtual_address,
		.length = lmr_triplet->segment_length,
	};
	ret = rmr->ops->rmr_bind(rmr, ep, &arg);
	if (!ret)
		*context = arg.rmr_context;
	return ret;
}

DAT_RETURN own_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	struct shim_object *rmr = shim_find(rmr_handle, SHIM_RMR);
	DAT_RETURN ret;

	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	ret = rmr->ops->rmr_free(rmr);
	if (!ret)
		shim_object_kill(rmr);
	return ret;
}
