// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: shared receive queues.  Kernel modules call these functions;
 * what all of them have in common is told in Documentation/kdat-api.rst, The contracts.
 */
#include <linux/export.h>
#include "kdat_call.h"

/**
 * dat_srq_create - make a shared receive queue
 * @ia_handle: an IA
 * @pz_handle: a PZ of the IA; all LMRs that are posted have to be in it
 * @srq_attr: max_recv_dtos 1 .. max_recv_per_srq, max_recv_iov 1 ..
 *	max_iov_segments_per_dto, low_watermark DAT_SRQ_LW_DEFAULT
 * @srq_handle: out: an SRQ, empty, without endpoints
 *
 * Process context.  Rules mt:M48, mt:M49.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ; DAT_INVALID_PARAMETER/ARG3, /ARG4;
 * DAT_INSUFFICIENT_RESOURCES/SRQ, /MEMORY; DAT_MODEL_NOT_SUPPORTED if the IA's
 * srq_supported is false.
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, srq_create, ia_handle, pz_handle, srq_attr, srq_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_srq_create(SPACE, ia_handle, pz_handle, srq_attr, srq_handle);
}
EXPORT_SYMBOL(dat_srq_create);

/**
 * dat_ep_create_with_srq - make an endpoint that receives from a shared receive queue
 * @ia_handle: an IA
 * @pz_handle: a PZ, or null; has to be the SRQ's, unless srq_ep_pz_difference_supported is true
 * @recv_evd_handle: an EVD for DTOs, or null
 * @request_evd_handle: an EVD for DTOs, or null
 * @connect_evd_handle: an EVD for connection events, or null
 * @srq_handle: an SRQ of @ia_handle, which the endpoint uses as long as it exists
 * @ep_attributes: as for dat_ep_create(); max_recv_iov is ignored: that of the SRQ applies
 * @ep_handle: out
 *
 * A message that arrives while the EP is connected takes a buffer of the SRQ.  It completes on
 * @recv_evd_handle, with this EP and the cookie with which the buffer was posted.
 * dat_ep_post_recv() on this EP is refused.  Process context.  Rules E.2, mt:M50, mt:M51,
 * mt:M53.
 *
 * Return: as dat_ep_create(), but with /ARG7 for the attributes, which must not be null, and
 * /ARG8 for a null @ep_handle; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_PARAMETER/ARG2 for a PZ that
 * is not the SRQ's.
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, ep_create_with_srq, ia_handle, pz_handle, recv_evd_handle,
				   request_evd_handle, connect_evd_handle, srq_handle,
				   ep_attributes, ep_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_create_with_srq(SPACE, ia_handle, pz_handle, recv_evd_handle,
					request_evd_handle, connect_evd_handle,
					srq_handle, ep_attributes, ep_handle);
}
EXPORT_SYMBOL(dat_ep_create_with_srq);

/**
 * dat_srq_query - parameters of a shared receive queue
 * @srq_handle: an SRQ
 * @srq_param_mask: DAT_SRQ_FIELD_*
 * @srq_param: out; available_dto_count is DAT_VALUE_UNKNOWN, since only the device knows
 *	when a buffer is taken; outstanding_dto_count is exact
 *
 * Upcall context.  Rule mt:M57.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_PARAMETER/ARG2, /ARG3.
 */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	const DAT_PROVIDER *other = kdat_other(srq_handle);

	if (other)
		return KDAT_THEIRS(other, srq_query, srq_handle, srq_param_mask, srq_param);
	return kdapl_srq_query(SPACE, srq_handle, srq_param_mask, srq_param);
}
EXPORT_SYMBOL(dat_srq_query);

/* Posts to an SRQ of another provider, like other_post() in kdat_ep.c. */
static noinline DAT_RETURN other_post_recv(DAT_SRQ_HANDLE srq, const struct kdapl_dto *dto)
{
	const DAT_PROVIDER *other = kdat_other(srq);

	if (!other)
		return RET_BAD_HANDLE(SRQ);
	return KDAT_THEIRS(other, srq_post_recv, srq, dto->segments, (DAT_LMR_TRIPLET *)dto->iov,
			   dto->cookie);
}

/**
 * dat_srq_post_recv - post a buffer to a shared receive queue
 * @srq_handle: an SRQ in any state
 * @num_segments: 0 .. max_recv_iov
 * @local_iov: parts of LMRs with local write, all of the SRQ's PZ; copied
 * @user_cookie: comes back in the completion
 *
 * Upcall context.  Rules mt:T57, mt:M58, mt:M59.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_PARAMETER/ARG2 for too many
 * segments, /ARG3 for a null @local_iov, a segment that is not in its LMR or more bytes than
 * max_message_size; DAT_PROTECTION_VIOLATION/WRITE; DAT_PRIVILEGES_VIOLATION/WRITE;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY when max_recv_dtos buffers are outstanding, that is, were
 * posted and their completions not dequeued yet.
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie)
{
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RECV,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie,
	};

	if (kdat_is_address(srq_handle))
		return other_post_recv(srq_handle, &dto);
	return kdapl_srq_post_recv(SPACE, srq_handle, &dto);
}
EXPORT_SYMBOL(dat_srq_post_recv);

/**
 * dat_srq_resize - change the length of a shared receive queue
 * @srq_handle: an SRQ
 * @srq_max_recv_dto: 1 .. max_recv_per_srq
 *
 * Buffers that are posted stay.  Process context.  Rule mt:M64.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_PARAMETER/ARG2;
 * DAT_INVALID_STATE for a length below the number of outstanding buffers, or below a low
 * watermark that is armed; DAT_INSUFFICIENT_RESOURCES/MEMORY, also if the device cannot enlarge
 * the queue, or the CQ of a connected EP on the SRQ.
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	const DAT_PROVIDER *other = kdat_other(srq_handle);

	if (other)
		return KDAT_THEIRS(other, srq_resize, srq_handle, srq_max_recv_dto);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_srq_resize(SPACE, srq_handle, srq_max_recv_dto);
}
EXPORT_SYMBOL(dat_srq_resize);

/**
 * dat_srq_set_lw - arm the low watermark of a shared receive queue
 * @srq_handle: an SRQ
 * @low_watermark: buffers, 0 .. max_recv_dtos; 0 disarms it
 *
 * When fewer buffers than that are left, which may be so at once, one event
 * DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, with the SRQ and the reason
 * DAT_SRQ_LOW_WATERMARK_EVENT, goes to the async EVDs.  Process context.  Rules mt:M61..M63.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_PARAMETER/ARG2;
 * DAT_MODEL_NOT_SUPPORTED if srq_watermarks_supported lacks 0x001.
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	const DAT_PROVIDER *other = kdat_other(srq_handle);

	if (other)
		return KDAT_THEIRS(other, srq_set_lw, srq_handle, low_watermark);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_srq_set_lw(SPACE, srq_handle, low_watermark);
}
EXPORT_SYMBOL(dat_srq_set_lw);

/**
 * dat_srq_free - free a shared receive queue
 * @srq_handle: an SRQ without endpoints
 *
 * Buffers that are still posted go back to the consumer without completions.  Process
 * context.  Rule mt:M52.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/SRQ; DAT_INVALID_STATE/SRQ_IN_USE.
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	const DAT_PROVIDER *other = kdat_other(srq_handle);

	if (other)
		return KDAT_THEIRS(other, srq_free, srq_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_srq_free(SPACE, srq_handle);
}
EXPORT_SYMBOL(dat_srq_free);
