// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls that post a data transfer, in either mode.
 */
#include "shim.h"

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);

	if (!ep)
		return RET_BAD_HANDLE(EP);
	return ep->ops->post(ep, KDAPL_OP_SEND, num_segments, local_iov,
			     user_cookie.as_64, NULL, completion_flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);

	if (!ep)
		return RET_BAD_HANDLE(EP);
	return ep->ops->post(ep, KDAPL_OP_RECV, num_segments, local_iov,
			     user_cookie.as_64, NULL, completion_flags);
}

/* The two RDMA calls: @remote may not be null (mt:T2). */
static DAT_RETURN post_rdma(DAT_EP_HANDLE ep_handle, uint32_t op,
			    DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie,
			    const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!remote)
		return RET_BAD_ARG(5);
	return ep->ops->post(ep, op, segments, iov, cookie.as_64, remote, flags);
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
