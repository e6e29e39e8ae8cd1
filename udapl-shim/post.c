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
	struct shim_object *ep = ep_handle;

	if (SHIM_UNLIKELY(!shim_names(ep_handle, SHIM_EP)))
		return other_ep_post_send(ep_handle, num_segments, local_iov, user_cookie,
					  completion_flags);
	return ep->ops->post_send(ep, num_segments, local_iov, user_cookie.as_64,
				  completion_flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct shim_object *ep = ep_handle;

	if (SHIM_UNLIKELY(!shim_names(ep_handle, SHIM_EP)))
		return other_ep_post_recv(ep_handle, num_segments, local_iov, user_cookie,
					  completion_flags);
	return ep->ops->post_recv(ep, num_segments, local_iov, user_cookie.as_64,
				  completion_flags);
}

/* In the two RDMA calls the remote segment may not be null (mt:T2). */

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	struct shim_object *ep = ep_handle;

	if (SHIM_UNLIKELY(!shim_names(ep_handle, SHIM_EP)))
		return other_ep_post_rdma_read(ep_handle, num_segments, local_iov,
					       user_cookie, remote_iov, completion_flags);
	if (SHIM_UNLIKELY(!remote_iov))
		return shim_no_remote("dat_ep_post_rdma_read");
	return ep->ops->post_read(ep, num_segments, local_iov, user_cookie.as_64,
				  remote_iov, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	struct shim_object *ep = ep_handle;

	if (SHIM_UNLIKELY(!shim_names(ep_handle, SHIM_EP)))
		return other_ep_post_rdma_write(ep_handle, num_segments, local_iov,
						user_cookie, remote_iov, completion_flags);
	if (SHIM_UNLIKELY(!remote_iov))
		return shim_no_remote("dat_ep_post_rdma_write");
	return ep->ops->post_write(ep, num_segments, local_iov, user_cookie.as_64,
				   remote_iov, completion_flags);
}
