// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What DAT 2.0 has otherwise than DAT 1.2, or besides: the calls whose arguments are others, the
 * new calls, and the codes that the kernel returns. face.h has the rest.
 */
#include "shim.h"

/* face_ret_slow - the code of DAT 2.0 for a code of the kernel's that is not DAT_SUCCESS */
DAT_RETURN face_ret_slow(uint32_t ret)
{
	uint32_t type = DAT_GET_TYPE(ret), subtype = DAT_GET_SUBTYPE(ret);

	if (type == FACE_KERNEL_NOT_IMPLEMENTED)
		type = DAT_NOT_IMPLEMENTED;
	subtype += (subtype > FACE_KERNEL_LAST_HANDLE) + (subtype > FACE_KERNEL_LAST_STATE);
	return (ret & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)) | type | subtype;
}

DAT_RETURN face_replaced(DAT_RETURN ret, const uint8_t places[9])
{
	uint32_t arg = DAT_GET_SUBTYPE(ret) - DAT_INVALID_ARG1;

	if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER || arg > 8)
		return ret;
	return ret + places[arg] - (arg + 1);
}

/* An argument that says from where the addresses of a region count; kdapl has no other than VA. */
static DAT_RETURN check_va_type(DAT_VA_TYPE va_type, DAT_RETURN bad)
{
	switch (va_type) {
	case DAT_VA_TYPE_VA:
		return DAT_SUCCESS;
	case DAT_VA_TYPE_ZB:
		return RET(MODEL_NOT_SUPPORTED);
	default:
		return bad;
	}
}

/* dat_lmr_create - as of DAT 1.2; @va_type: DAT_VA_TYPE_VA, or DAT_MODEL_NOT_SUPPORTED */
DAT_RETURN own_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
			  DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
			  DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	/* The last that this one has is a null pointer for the handle, argument 7 of 1.2. */
	static const uint8_t places[9] = { 1, 2, 3, 4, 5, 6, 8, 9, 10 };
	DAT_RETURN va = check_va_type(va_type, RET_BAD_ARG(7));
	DAT_RETURN ret;

	ret = shim_lmr_create(ia_handle, mem_type, region_description, length, pz_handle,
			      privileges, lmr_handle, lmr_context, rmr_context,
			      registered_length, registered_address, va);
	return ret == va ? ret : face_replaced(ret, places);
}

/* The LMR of a bind is named twice, by its handle and in the triplet; an unbind has none. */
static DAT_RETURN check_bound(DAT_LMR_HANDLE lmr_handle, const DAT_LMR_TRIPLET *triplet)
{
	DAT_LMR_CONTEXT context;

	if (!triplet || !triplet->segment_length)
		return DAT_SUCCESS;
	if (!shim_lmr_context(lmr_handle, &context))
		return RET_BAD_HANDLE(LMR);
	return triplet->lmr_context == context ? DAT_SUCCESS : RET_BAD_ARG(3);
}

/*
 * dat_rmr_bind - as of DAT 1.2
 * @lmr_handle: the LMR whose lmr_context the triplet has; ignored if the length is 0
 * @va_type: DAT_VA_TYPE_VA, or DAT_MODEL_NOT_SUPPORTED
 */
DAT_RETURN own_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_RMR_CONTEXT *context)
{
	static const uint8_t places[9] = { 1, 3, 4, 6, 7, 8, 9, 10, 10 };
	DAT_RETURN more = check_bound(lmr_handle, lmr_triplet);
	DAT_RETURN ret;

	if (!more)
		more = check_va_type(va_type, RET_BAD_ARG(5));
	ret = shim_rmr_bind(rmr_handle, lmr_triplet, mem_priv, ep_handle, user_cookie,
			    completion_flags, context, more);
	return more && ret == more ? ret : face_replaced(ret, places);
}

/*
 * dat_cr_reject - as of DAT 1.2; the peer gets the private data with its event (RULING 65)
 *
 * Return: as of DAT 1.2; DAT_INVALID_PARAMETER/ARG2 for the size, /ARG3 for a null pointer.
 */
DAT_RETURN own_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	return shim_cr_reject(cr_handle, private_data_size, private_data);
}

/* ---- new calls ----------------------------------------------------------- */

/*
 * dat_ep_common_connect - dat_ep_connect() to the port that is in the address, at best effort
 *
 * Return: as dat_ep_connect(); the places of the arguments are those of this call.
 */
DAT_RETURN own_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				 const DAT_PVOID private_data)
{
	static const uint8_t places[9] = { 1, 2, 2, 3, 4, 5, 2, 2, 2 };
	DAT_CONN_QUAL port = 0;

	if (remote_ia_address && remote_ia_address->sa_family == AF_INET)
		port = ntohs(((const struct sockaddr_in *)remote_ia_address)->sin_port);
	else if (remote_ia_address && remote_ia_address->sa_family == AF_INET6)
		port = ntohs(((const struct sockaddr_in6 *)remote_ia_address)->sin6_port);
	return face_replaced(own_ep_connect(ep_handle, remote_ia_address, port, timeout,
				       private_data_size, private_data, DAT_QOS_BEST_EFFORT,
				       DAT_CONNECT_DEFAULT_FLAG), places);
}

/*
 * dat_cno_fd_create - make a CNO that has a descriptor in the place of an agent
 * @fd: out: readable while the CNO is triggered; closed with the CNO
 *
 * Return: as dat_cno_create(); DAT_INVALID_PARAMETER/ARG2 for a null @fd, /ARG3 for a null
 * @cno_handle. RULING 66.
 */
DAT_RETURN own_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *cno_handle)
{
	if (!fd && shim_find(ia_handle, SHIM_IA))
		return RET_BAD_ARG(2);
	return shim_cno_create(ia_handle, DAT_OS_WAIT_PROXY_AGENT_NULL, fd, cno_handle);
}

/*
 * dat_cno_trigger - take the trigger of a CNO, with or without a descriptor
 *
 * Return: as dat_cno_wait() that does not wait; DAT_INVALID_PARAMETER/ARG2 for a null @evd_handle.
 */
DAT_RETURN own_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle)
{
	static const uint8_t places[9] = { 1, 2, 2, 2, 2, 2, 2, 2, 2 };

	return face_replaced(own_cno_wait(cno_handle, 0, evd_handle), places);
}

/*
 * dat_ep_post_send_with_invalidate - send a message that invalidates a key at the peer
 * @invalidate_flag: DAT_FALSE: it is dat_ep_post_send()
 * @rmr_context: the key, which is the peer's, so that only the peer's device can judge it
 *
 * Return: as dat_ep_post_send(); DAT_MODEL_NOT_SUPPORTED with a module that is too old. V1, V2.
 */
DAT_RETURN own_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context)
{
	static const DAT_RMR_TRIPLET none;
	const struct shim_request request = {
		.op = KDAPL_OP_SEND_INVALIDATE,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie.as_64,
		.remote = &none,
		.flags = completion_flags,
		.operand = rmr_context,
	};
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!invalidate_flag)
		return ep->ops->post_send(ep, num_segments, local_iov, user_cookie.as_64,
					  completion_flags);
	if (!(shim_dev_features() & KDAPL_FEATURE_INVALIDATE))
		return RET(MODEL_NOT_SUPPORTED);
	return ep->ops->post_extension(ep, &request);
}

/*
 * dat_ep_post_rdma_read_to_rmr - read from the peer into memory that an RMR shows
 * @local_iov: the RMR, by its present context, and a part of what it shows
 *
 * Return: as dat_ep_post_rdma_read(); DAT_MODEL_NOT_SUPPORTED with a module that is too old. V5,
 * RULING 76.
 */
DAT_RETURN own_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_iov,
					DAT_COMPLETION_FLAGS completion_flags)
{
	/* Those of dat_ep_post_rdma_read(), which has a number of segments besides. */
	static const uint8_t places[9] = { 1, 2, 2, 3, 4, 5 };
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	DAT_LMR_TRIPLET named;
	struct shim_request request = {
		.op = KDAPL_OP_RDMA_READ_TO_RMR,
		.segments = 1,
		.iov = &named,
		.cookie = user_cookie.as_64,
		.remote = remote_iov,
		.flags = completion_flags,
	};

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!(shim_dev_features() & KDAPL_FEATURE_READ_TO_RMR))
		return RET(MODEL_NOT_SUPPORTED);
	if (!local_iov)
		return RET_BAD_ARG(2);
	if (!remote_iov)
		return RET_BAD_ARG(4);
	named = (DAT_LMR_TRIPLET) {
		.virtual_address = local_iov->virtual_address,
		.segment_length = local_iov->segment_length,
		.lmr_context = local_iov->rmr_context,
	};
	return face_replaced(ep->ops->post_extension(ep, &request), places);
}

/* What this asks for kdapl's adapters do not have. The handle is looked at, as always. */

DAT_RETURN own_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	(void)rmr_handle;
	return shim_find(pz_handle, SHIM_PZ) ? RET(MODEL_NOT_SUPPORTED) : RET_BAD_HANDLE(PZ);
}

/* No two adapters make a pair of which one takes over for the other. */
DAT_RETURN face_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR ia_name,
			      DAT_BOOLEAN *answer)
{
	if (!shim_find(ia_handle, SHIM_IA))
		return RET_BAD_HANDLE(IA);
	if (!ia_name)
		return RET_BAD_ARG(2);
	if (!answer)
		return RET_BAD_ARG(3);
	*answer = DAT_FALSE;
	return DAT_SUCCESS;
}
