// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls of Protection Zones and Local Memory Regions. Only applications
 * have dat_lmr_create(), so its contract is here; kernel modules have
 * dat_lmr_kcreate().
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim.h"

DAT_RETURN own_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct kdapl_uapi_pz_create arg = { 0 };
	struct shim_object *pz;
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!pz_handle)
		return RET_BAD_ARG(2);
	arg.ia = shim_token(ia);
	ret = shim_ioctl(KDAPL_IOC_PZ_CREATE, &arg, RET_NO_FAULT);
	if (ret)
		return ret;
	pz = shim_object_get(arg.pz, SHIM_PZ, ia, NULL);
	ret = pz ? pz->ops->pz_made(pz) : RET_NO_RESOURCE(MEMORY);
	if (ret) {
		struct kdapl_uapi_handle undo = { .handle = arg.pz };

		if (pz)
			shim_object_kill(pz);
		shim_ioctl(KDAPL_IOC_PZ_FREE, &undo, RET_NO_FAULT);
		return ret;
	}
	*pz_handle = pz;
	return DAT_SUCCESS;
}

DAT_RETURN own_pz_query(DAT_PZ_HANDLE pz_handle,
			DAT_PZ_PARAM_MASK pz_param_mask, DAT_PZ_PARAM *pz_param)
{
	struct shim_object *pz = shim_find(pz_handle, SHIM_PZ);
	struct kdapl_uapi_pz_query arg = { .mask = pz_param_mask };
	DAT_RETURN ret;

	if (!pz)
		return RET_BAD_HANDLE(PZ);
	if (pz_param_mask & ~DAT_PZ_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!pz_param)
		return RET_BAD_ARG(3);
	arg.pz = shim_token(pz);
	ret = shim_ioctl(KDAPL_IOC_PZ_QUERY, &arg, RET_BAD_ARG(2));
	if (!ret)
		pz_param->ia_handle = shim_ia_shown(arg.ia);
	return ret;
}

DAT_RETURN own_pz_free(DAT_PZ_HANDLE pz_handle)
{
	struct shim_object *pz = shim_find(pz_handle, SHIM_PZ);
	DAT_RETURN ret;

	if (!pz)
		return RET_BAD_HANDLE(PZ);
	ret = pz->ops->pz_free(pz);
	if (!ret)
		shim_object_kill(pz);
	return ret;
}

/*
 * Copies the cookie of shared memory. The consumer's pointer to it may be bad
 * (mt:M9), and to read through that would kill the program. So the cookie goes
 * through a pipe: write(2) from a bad pointer fails with EFAULT.
 */
static DAT_RETURN cookie_in(char to[DAT_LMR_COOKIE_SIZE],
			    const DAT_LMR_COOKIE from)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return RET_NO_RESOURCE(MEMORY);
	if (write(fds[1], from, DAT_LMR_COOKIE_SIZE) != DAT_LMR_COOKIE_SIZE ||
	    read(fds[0], to, DAT_LMR_COOKIE_SIZE) != DAT_LMR_COOKIE_SIZE)
		ret = RET_BAD_ARG(3);
	close(fds[0]);
	close(fds[1]);
	return ret;
}

/* Fills in the region for the kernel, and keeps in @body what dat_lmr_query() shows of it. */
static DAT_RETURN region_in(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *in,
			    struct kdapl_uapi_lmr_create *arg,
			    struct shim_lmr *body)
{
	struct shim_object *lmr;
	DAT_RETURN ret;

	body->region = *in;
	switch (type) {
	case DAT_MEM_TYPE_LMR:
		lmr = shim_find(in->for_lmr_handle, SHIM_LMR);
		if (!lmr)
			return RET_BAD_HANDLE(LMR);
		arg->region = shim_token(lmr);
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		ret = cookie_in(body->cookie,
				in->for_shared_memory.shared_memory_id);
		if (ret)
			return ret;
		body->region.for_shared_memory.shared_memory_id =
			(DAT_LMR_COOKIE)body->cookie;
		arg->region =
			(uintptr_t)in->for_shared_memory.virtual_address;
		return DAT_SUCCESS;
	default:
		arg->region = (uintptr_t)in->for_va;
		return DAT_SUCCESS;
	}
}

/*
 * shim_lmr_create - dat_lmr_create(): register memory of the process
 * @ia_handle: an IA
 * @mem_type: VIRTUAL, LMR or SHARED_VIRTUAL
 * @region_description: what @mem_type says: an address, an LMR whose memory is
 *	registered once more, or an address and a cookie, which queries show
 * @length: bytes, at least 1; unused for an LMR
 * @pz_handle: a PZ of the IA
 * @privileges: DAT_MEM_PRIV_*_FLAG
 * @lmr_handle: out
 * @lmr_context: NULL, or out: the number of the LMR in segments of posts
 * @rmr_context: NULL, or out: by which peers name the memory
 * @registered_length: NULL, or out
 * @registered_address: NULL, or out
 * @more: what is wrong with arguments that only this face has
 *
 * Rules mt:M4..M19.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ, /LMR; @more;
 * DAT_INVALID_PARAMETER/ARG2 .. /ARG7, which count as in DAT 1.2; DAT_MODEL_NOT_SUPPORTED (mt:M10);
 * DAT_INSUFFICIENT_RESOURCES, with /MEMORY also when RLIMIT_MEMLOCK is reached
 * (mt:M19).
 */
DAT_RETURN shim_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address, DAT_RETURN more)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct shim_object *pz = shim_find(pz_handle, SHIM_PZ);
	struct kdapl_uapi_lmr_create arg = {
		.mem_type = mem_type,
		.length = length,
		.privileges = face_privileges(privileges),
	};
	struct shim_object *lmr;
	struct shim_lmr *body;
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!pz)
		return RET_BAD_HANDLE(PZ);
	body = calloc(1, sizeof(*body));
	if (!body)
		return RET_NO_RESOURCE(MEMORY);
	arg.ia = shim_token(ia);
	arg.pz = shim_token(pz);
	ret = region_in(mem_type, &region_description, &arg, body);
	if (!ret)
		ret = more;
	if (!ret && !lmr_handle)
		ret = RET_BAD_ARG(7);
	if (!ret)
		ret = ia->ops->lmr_create(&arg, pz, body, &lmr);
	if (ret) {
		free(body);
		return ret;
	}
	body->context = arg.lmr_context;
	*lmr_handle = lmr;
	if (lmr_context)
		*lmr_context = arg.lmr_context;
	if (rmr_context)
		*rmr_context = arg.rmr_context;
	if (registered_length)
		*registered_length = arg.registered_size;
	if (registered_address)
		*registered_address = arg.registered_address;
	return DAT_SUCCESS;
}

/* shim_lmr_context - the number of an LMR in segments of posts. Return: false for a bad handle. */
bool shim_lmr_context(DAT_LMR_HANDLE lmr_handle, DAT_LMR_CONTEXT *context)
{
	struct shim_object *lmr = shim_find(lmr_handle, SHIM_LMR);
	const struct shim_lmr *body;

	if (!lmr)
		return false;
	shim_lock(&lmr->lock);
	body = lmr->body;
	if (body)
		*context = body->context;
	shim_unlock(&lmr->lock);
	return body;
}

DAT_RETURN own_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	struct shim_object *lmr = shim_find(lmr_handle, SHIM_LMR);
	struct kdapl_uapi_lmr_query arg = { .mask = face_lmr_mask(lmr_param_mask) };
	const struct shim_lmr *body;
	DAT_RETURN ret;

	if (!lmr)
		return RET_BAD_HANDLE(LMR);
	if (lmr_param_mask & ~DAT_LMR_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!lmr_param)
		return RET_BAD_ARG(3);
	arg.lmr = shim_token(lmr);
	ret = lmr->ops->lmr_query(lmr, &arg);
	if (ret)
		return ret;

	lmr_param->ia_handle = shim_ia_shown(arg.ia);
	lmr_param->mem_type = arg.mem_type;
	lmr_param->length = arg.length;
	lmr_param->pz_handle = shim_handle(arg.pz);
	lmr_param->mem_priv = arg.privileges;
	lmr_param->lmr_context = arg.lmr_context;
	lmr_param->rmr_context = arg.rmr_context;
	lmr_param->registered_size = arg.registered_size;
	lmr_param->registered_address = arg.registered_address;
	face_lmr_param(lmr_param);
	shim_lock(&lmr->lock);
	body = lmr->body;
	if (body)
		lmr_param->region_desc = body->region;
	shim_unlock(&lmr->lock);
	return DAT_SUCCESS;
}

DAT_RETURN own_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct shim_object *lmr = shim_find(lmr_handle, SHIM_LMR);
	DAT_RETURN ret;

	if (!lmr)
		return RET_BAD_HANDLE(LMR);
	ret = lmr->ops->lmr_free(lmr);
	if (ret)
		return ret;
	free(shim_object_end(lmr));
	return DAT_SUCCESS;
}

/*
 * Makes several ioctls if need be: one takes at most FACE_SYNC_BATCH segments.
 */
static DAT_RETURN lmr_sync(DAT_IA_HANDLE ia_handle,
			   const DAT_LMR_TRIPLET *segments, DAT_VLEN number,
			   uint32_t direction)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct kdapl_uapi_lmr_sync arg = { .direction = direction };
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (number && !segments)
		return RET_BAD_ARG(2);
	arg.ia = shim_token(ia);
	do {
		arg.segments = (uintptr_t)segments;
		arg.number = number < FACE_SYNC_BATCH ? number : FACE_SYNC_BATCH;
		ret = ia->ops->lmr_sync(ia, &arg);
		if (ret)
			return ret;
		segments += arg.number;
		number -= arg.number;
	} while (number);
	return DAT_SUCCESS;
}

DAT_RETURN own_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	return lmr_sync(ia_handle, local_segments, num_segments,
			KDAPL_SYNC_RDMA_READ);
}

DAT_RETURN own_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	return lmr_sync(ia_handle, local_segments, num_segments,
			KDAPL_SYNC_RDMA_WRITE);
}
