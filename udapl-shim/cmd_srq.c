// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls of shared receive queues. The kernel makes an SRQ in both modes; in passthrough
 * pass_srq.c makes the queue of the process that belongs to it.
 */
#include "shim.h"

/* Does the module have shared receive queues? Older ones do not. */
static bool offered(void)
{
	return shim_dev_features() & KDAPL_FEATURE_SRQ;
}

DAT_RETURN own_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct shim_object *pz = shim_find(pz_handle, SHIM_PZ), *srq;
	struct kdapl_uapi_srq_create arg = { 0 };
	struct kdapl_uapi_handle undo = { 0 };
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!pz)
		return RET_BAD_HANDLE(PZ);
	if (!srq_attr)
		return RET_BAD_ARG(3);
	if (!srq_handle)
		return RET_BAD_ARG(4);
	if (!offered())
		return RET(MODEL_NOT_SUPPORTED);
	arg.max_recv_dtos = srq_attr->max_recv_dtos;
	arg.max_recv_iov = srq_attr->max_recv_iov;
	arg.low_watermark = srq_attr->low_watermark;
	arg.ia = shim_token(ia);
	arg.pz = shim_token(pz);
	ret = shim_ioctl(KDAPL_IOC_SRQ_CREATE, &arg, RET_NO_FAULT);
	if (ret)
		return ret;
	srq = shim_object_get(arg.srq, SHIM_SRQ, ia, NULL);
	ret = srq ? srq->ops->srq_made(srq, &arg) : RET_NO_RESOURCE(MEMORY);
	if (ret) {
		if (srq)
			shim_object_kill(srq);
		undo.handle = arg.srq;
		shim_ioctl(KDAPL_IOC_SRQ_FREE, &undo, RET_NO_FAULT);
		return ret;
	}
	*srq_handle = srq;
	return DAT_SUCCESS;
}

DAT_RETURN own_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	struct shim_object *srq = shim_find(srq_handle, SHIM_SRQ);
	DAT_RETURN ret;

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	ret = srq->ops->srq_free(srq);
	if (!ret)
		shim_object_kill(srq);
	return ret;
}

DAT_RETURN own_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie)
{
	struct shim_object *srq = shim_find(srq_handle, SHIM_SRQ);

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	return srq->ops->srq_post_recv(srq, num_segments, local_iov, user_cookie.as_64);
}

DAT_RETURN own_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	struct shim_object *srq = shim_find(srq_handle, SHIM_SRQ);
	struct kdapl_uapi_srq_query arg = { .mask = srq_param_mask };
	DAT_RETURN ret;

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	if (srq_param_mask & ~DAT_SRQ_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!srq_param)
		return RET_BAD_ARG(3);
	arg.srq = shim_token(srq);
	ret = srq->ops->srq_query(srq, &arg);
	if (ret)
		return ret;
	srq_param->ia_handle = shim_ia_shown(arg.ia);
	srq_param->srq_state = face_srq_state(arg.state);
	srq_param->pz_handle = shim_handle(arg.pz);
	srq_param->max_recv_dtos = arg.max_recv_dtos;
	srq_param->max_recv_iov = arg.max_recv_iov;
	srq_param->low_watermark = arg.low_watermark;
	srq_param->available_dto_count = arg.available;
	srq_param->outstanding_dto_count = arg.outstanding;
	return DAT_SUCCESS;
}

DAT_RETURN own_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	struct shim_object *srq = shim_find(srq_handle, SHIM_SRQ);

	return srq ? srq->ops->srq_resize(srq, srq_max_recv_dto) : RET_BAD_HANDLE(SRQ);
}

DAT_RETURN own_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	struct shim_object *srq = shim_find(srq_handle, SHIM_SRQ);

	return srq ? srq->ops->srq_set_lw(srq, low_watermark) : RET_BAD_HANDLE(SRQ);
}
