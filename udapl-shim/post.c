// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls that post a data transfer. Each posts one DTO, in an array of one,
 * since the ioctl takes many. Nothing is locked and nothing allocated.
 */
#include "shim.h"

/*
 * What the four calls have in common. Inline, so that the compiler makes of
 * each only what its kind of DTO needs.
 */
static inline __attribute__((always_inline)) DAT_RETURN
post_one(DAT_EP_HANDLE ep_handle, uint32_t op, DAT_COUNT segments,
	 const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_dto dto = {
		.op = op,
		.flags = flags,
		.num_segments = segments,
		.segments = (uintptr_t)iov,
		.cookie = cookie.as_64,
	};
	struct kdapl_uapi_post arg = {
		.dtos = (uintptr_t)&dto,
		.count = 1,
	};

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (remote) {
		dto.rmr_context = remote->rmr_context;
		dto.target_address = remote->target_address;
		dto.target_length = remote->segment_length;
	}
	arg.ep = shim_token(ep);
	return shim_ioctl(KDAPL_IOC_POST, &arg, RET_BAD_ARG(3));
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return post_one(ep_handle, KDAPL_OP_SEND, num_segments, local_iov,
			user_cookie, NULL, completion_flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	return post_one(ep_handle, KDAPL_OP_RECV, num_segments, local_iov,
			user_cookie, NULL, completion_flags);
}

/* The two RDMA calls: @remote may not be null (mt:T2). */
static DAT_RETURN post_rdma(DAT_EP_HANDLE ep_handle, uint32_t op,
			    DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie,
			    const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS flags)
{
	if (!remote && shim_find(ep_handle, SHIM_EP))
		return RET_BAD_ARG(5);
	return post_one(ep_handle, op, segments, iov, cookie, remote, flags);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, KDAPL_OP_RDMA_READ, num_segments, local_iov,
			 user_cookie, remote_iov, completion_flags);
}

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
