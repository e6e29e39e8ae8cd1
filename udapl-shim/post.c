// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Data transfers. The kernel takes arrays of DTOs; the calls of DAT post one
 * each. Nothing is locked here and nothing allocated.
 */
#include "shim.h"

/*
 * shim_post - post @count DTOs in order, up to the first that is refused
 * (mt:T18)
 * @done: how many were posted
 *
 * Return: the code of the DTO that was refused, with argument numbers of its
 * own call.
 */
DAT_RETURN shim_post(const struct shim_object *ep, struct kdapl_uapi_dto *dtos,
		     uint32_t count, uint32_t *done)
{
	struct kdapl_uapi_post arg;
	DAT_RETURN ret = DAT_SUCCESS;
	uint32_t posted = 0;

	while (posted < count && !ret) {
		arg = (struct kdapl_uapi_post) {
			.ep = shim_token(ep),
			.dtos = (uintptr_t)(dtos + posted),
			.count = count - posted < KDAPL_UAPI_MAX_DTOS ?
				 count - posted : KDAPL_UAPI_MAX_DTOS,
		};
		ret = shim_ioctl(KDAPL_IOC_POST, &arg, SHIM_ARG(3));
		posted += arg.done;
	}
	*done = posted;
	return ret;
}

static DAT_RETURN post_one(DAT_EP_HANDLE ep_handle, uint32_t op,
			   DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			   DAT_COMPLETION_FLAGS flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_dto dto = {
		.op = op,
		.flags = flags,
		.num_segments = segments,
		.segments = (uintptr_t)iov,
		.cookie = cookie.as_64,
	};
	uint32_t done;

	if (!ep)
		return SHIM_BAD(EP);
	if (remote) {
		dto.rmr_context = remote->rmr_context;
		dto.target_address = remote->target_address;
		dto.target_length = remote->segment_length;
	}
	return shim_post(ep, &dto, 1, &done);
}

/* Codes: mt:11.5. */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return post_one(ep_handle, KDAPL_OP_SEND, num_segments, local_iov,
			user_cookie, NULL, completion_flags);
}

/* Codes: mt:11.5. */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return post_one(ep_handle, KDAPL_OP_RECV, num_segments, local_iov,
			user_cookie, NULL, completion_flags);
}

/* The two calls with a remote buffer, which may not be null (mt:T2). */
static DAT_RETURN post_rdma(DAT_EP_HANDLE ep_handle, uint32_t op,
			    DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie,
			    const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS flags)
{
	if (!remote && shim_find(ep_handle, SHIM_EP))
		return SHIM_ARG(5);
	return post_one(ep_handle, op, segments, iov, cookie, remote, flags);
}

/* Codes: mt:11.5. */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, KDAPL_OP_RDMA_READ, num_segments, local_iov,
			 user_cookie, remote_iov, completion_flags);
}

/* Codes: mt:11.5. */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, KDAPL_OP_RDMA_WRITE, num_segments,
			 local_iov, user_cookie, remote_iov, completion_flags);
}
