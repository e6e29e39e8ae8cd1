// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: endpoints, and posting to them.  Kernel modules call these
 * functions; what all of them have in common is told in Documentation/kdat-api.rst, The
 * contracts.
 */
#include <linux/export.h>
#include "kdat_call.h"
#include "../compat.h"

/* ---- EP ----------------------------------------------------------------- */

/**
 * dat_ep_create - make an endpoint
 * @ia_handle: an IA
 * @pz_handle: a PZ of the IA, or null
 * @recv_completion_evd_handle: an EVD with the DTO flag, or null: receive
 *	completions are not wanted
 * @request_completion_evd_handle: the same for requests
 * @connect_evd_handle: an EVD with the CONNECTION flag, or null
 * @ep_attributes: null: the defaults, among them RDMA read depths of 4 in both
 *	directions, or less if the device has less
 * @ep_handle: out: an EP in state Unconnected
 *
 * Handles that are null here can be set by dat_ep_modify(); PZ and connect EVD are
 * needed for connecting.  Process context.  Rules E.1, E17..E22.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ, /EVD_RECV, /EVD_REQUEST,
 * /EVD_CONN; DAT_INVALID_PARAMETER/ARG6 for attributes beyond the IA's limits,
 * or completion flags that do not go together with what feeds the EVD already (E21),
 * /ARG7 for a null @ep_handle; DAT_MODEL_NOT_SUPPORTED for a quality of
 * service; DAT_INSUFFICIENT_RESOURCES/TEVD when the EVD's completion queue
 * cannot be made large enough, /MEMORY.
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_completion_evd_handle,
			 DAT_EVD_HANDLE request_completion_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, ep_create, ia_handle, pz_handle,
				   recv_completion_evd_handle, request_completion_evd_handle,
				   connect_evd_handle, ep_attributes, ep_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_create(SPACE, ia_handle, pz_handle,
			       recv_completion_evd_handle,
			       request_completion_evd_handle,
			       connect_evd_handle, ep_attributes, ep_handle);
}
EXPORT_SYMBOL(dat_ep_create);

/**
 * dat_ep_query - parameters of an endpoint
 * @ep_handle: an EP
 * @ep_param_mask: DAT_EP_FIELD_*
 * @ep_param: out; all fields are filled in; its pointers are valid as long as the EP exists
 *
 * Upcall context.  Rules E.3.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_query, ep_handle, ep_param_mask, ep_param);
	return kdapl_ep_query(SPACE, ep_handle, ep_param_mask, ep_param);
}
EXPORT_SYMBOL(dat_ep_query);

/**
 * dat_ep_modify - change parameters of an endpoint
 * @ep_handle: an EP
 * @ep_param_mask: DAT_EP_FIELD_*; rule M4 says which of them the state allows
 * @ep_param: new values
 *
 * Either all of the fields are changed or none.  Process context.  Rules E.4, M4.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for
 * unknown bits and for fields that can never change, /ARG3 for a null @ep_param, a bad
 * value or handle in it, and for fewer receives or segments than are posted;
 * DAT_INVALID_STATE/EP_... for fields that the state does not allow to change, and for the
 * completion flags of receives while receives are posted; DAT_INSUFFICIENT_RESOURCES/TEVD,
 * /MEMORY, the latter also for another number of DTOs while completions from
 * before the last such change have not been dequeued.
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_modify, ep_handle, ep_param_mask, ep_param);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_modify(SPACE, ep_handle, ep_param_mask, ep_param);
}
EXPORT_SYMBOL(dat_ep_modify);

/**
 * dat_ep_get_status - state of an endpoint
 * @ep_handle: an EP
 * @ep_state: out; may be null
 * @recv_idle: out: no receive is posted; may be null
 * @request_idle: out: no request is outstanding; may be null
 *
 * Upcall context.  Rules E.5, D8, D45.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP.
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_get_status, ep_handle, ep_state, recv_idle,
				   request_idle);
	return kdapl_ep_get_status(SPACE, ep_handle, ep_state, recv_idle,
				   request_idle);
}
EXPORT_SYMBOL(dat_ep_get_status);

/**
 * dat_ep_connect - start to connect
 * @ep_handle: an Unconnected EP with PZ and connect EVD
 * @remote_ia_address: IPv4 or IPv6 address; the port in it is not used
 * @remote_conn_qual: a port of RDMA_PS_TCP, or more, which is folded to one (RULING 47); not 0
 * @timeout: microseconds, not 0, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes, 0 .. max_private_data_size
 * @private_data: copied; ignored with size 0
 * @quality_of_service: DAT_QOS_BEST_EFFORT
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG
 *
 * One connection event reports the outcome.  Process context; does not wait for
 * the peer.  Rules E.6, C3..C13, C18.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for a
 * null address, /ARG3 for the qualifier, /ARG4 for the timeout, /ARG5 for the
 * size, /ARG6 for a null @private_data, /ARG8 for unknown flags;
 * DAT_INVALID_STATE/EP_... for another state, /EP_NOTREADY without PZ or
 * connect EVD; DAT_MODEL_NOT_SUPPORTED for another quality or multipath;
 * DAT_INVALID_ADDRESS/MALFORMED, /UNSUPPORTED for multicast and broadcast;
 * DAT_INSUFFICIENT_RESOURCES/TEP when the CM has no id or port left, /MEMORY.
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data,
			  DAT_QOS quality_of_service,
			  DAT_CONNECT_FLAGS connect_flags)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_connect, ep_handle, remote_ia_address,
				   remote_conn_qual, timeout, private_data_size, private_data,
				   quality_of_service, connect_flags);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_connect(SPACE, ep_handle, remote_ia_address,
				remote_conn_qual, timeout, private_data_size,
				private_data, quality_of_service,
				connect_flags);
}
EXPORT_SYMBOL(dat_ep_connect);

/**
 * dat_ep_dup_connect - connect to the peer and qualifier that another endpoint is connected to
 * @ep_handle: an Unconnected EP with PZ and connect EVD
 * @ep_dup_handle: a Connected EP of the same IA that was the active side
 * @timeout: microseconds, not 0, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes, 0 .. max_private_data_size
 * @private_data: copied; ignored with size 0
 * @quality_of_service: DAT_QOS_BEST_EFFORT
 *
 * One connection event reports the outcome.  Process context; does not wait for
 * the peer.  Rules C1..C21.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP, also for EPs of different IAs;
 * DAT_INVALID_PARAMETER/ARG2 for an @ep_dup_handle that was the passive side,
 * /ARG3 for the timeout, /ARG4 for the size, /ARG5 for a null @private_data;
 * DAT_INVALID_STATE/EP_..., where @ep_dup_handle is checked first, /EP_NOTREADY;
 * DAT_MODEL_NOT_SUPPORTED for another quality; DAT_INSUFFICIENT_RESOURCES/TEP,
 * /MEMORY.
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data,
			      DAT_QOS quality_of_service)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_dup_connect, ep_handle, ep_dup_handle, timeout,
				   private_data_size, private_data, quality_of_service);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_dup_connect(SPACE, ep_handle, ep_dup_handle, timeout,
				    private_data_size, private_data,
				    quality_of_service);
}
EXPORT_SYMBOL(dat_ep_dup_connect);

/**
 * dat_ep_disconnect - start to disconnect
 * @ep_handle: an EP
 * @close_flags: graceful: posted requests complete first; abrupt: they are
 *	flushed
 *
 * One DISCONNECTED event reports the end.  Upcall context.  Rules D1..D54.
 *
 * Return: DAT_SUCCESS, also in state Disconnected, where it has no effect;
 * DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for other flags;
 * DAT_INVALID_STATE/EP_UNCONNECTED, /EP_RESERVED, /EP_PASSCONNPENDING,
 * /EP_TENTCONNPENDING.
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS close_flags)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_disconnect, ep_handle, close_flags);
	return kdapl_ep_disconnect(SPACE, ep_handle, close_flags);
}
EXPORT_SYMBOL(dat_ep_disconnect);

/**
 * dat_ep_reset - make a Disconnected endpoint Unconnected
 * @ep_handle: an EP that is Disconnected or Unconnected
 *
 * Waits until the DTOs of the former connection are flushed, for 10 seconds at most; it does
 * not wait for the peer.  But on iWARP, after an attempt to connect that nobody has answered
 * yet, it waits as long as the driver tries (siw: two minutes).  Process context.  Rules
 * R1..R16.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_STATE/EP_... in any
 * other state.
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_reset, ep_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_reset(SPACE, ep_handle);
}
EXPORT_SYMBOL(dat_ep_reset);

/**
 * dat_ep_free - free an endpoint
 * @ep_handle: an EP that no service point or connection request holds
 *
 * A connection of the EP ends as by an abrupt disconnect, but raises no event here.  When
 * this has returned, the device does not touch the EP's buffers any more.  Events of the EP
 * that are queued are still delivered, also by upcalls.  So if their cookies point to memory,
 * that may be freed only after the EVD was freed.  This waits for the flush, for 10 seconds at
 * most, and on iWARP as dat_ep_reset() does, but neither for the peer nor for an upcall.
 * Process context.  Rules F1..F18.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_STATE/EP_RESERVED,
 * /EP_PASSCONNPENDING, /EP_TENTCONNPENDING.
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_free, ep_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ep_free(SPACE, ep_handle);
}
EXPORT_SYMBOL(dat_ep_free);

/**
 * dat_ep_recv_query - receive buffers that an endpoint holds
 * @ep_handle: an EP
 * @nbufs_allocated: out
 * @bufs_alloc_span: out
 *
 * Counts buffers that were posted and whose completion was not found in the device's CQ yet.
 * Each buffer completes once, so both numbers are the same.  Either pointer may be null.  Not for
 * an EP on an SRQ: only the device knows what that holds.  Upcall context.  Rules E.11,
 * RULING 43.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_MODEL_NOT_SUPPORTED for an EP on an SRQ.
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_recv_query, ep_handle, nbufs_allocated,
				   bufs_alloc_span);
	return kdapl_ep_recv_query(SPACE, ep_handle, nbufs_allocated, bufs_alloc_span);
}
EXPORT_SYMBOL(dat_ep_recv_query);

static bool watermark_valid(DAT_COUNT mark)
{
	return mark >= 0 || mark == DAT_WATERMARK_INFINITE;
}

/**
 * dat_ep_set_watermark - bounds on the buffers that an endpoint may hold from a shared queue
 * @ep_handle: an EP
 * @soft_high_watermark: at least 0, or DAT_WATERMARK_INFINITE
 * @hard_high_watermark: at least 0, or DAT_WATERMARK_INFINITE
 *
 * kdapl does not offer this (srq_watermarks_supported has neither bit).  Process context.
 * Rules E.12, mt:M66.
 *
 * Return: DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2, /ARG3;
 * DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	const DAT_PROVIDER *other = kdat_other(ep_handle);

	if (other)
		return KDAT_THEIRS(other, ep_set_watermark, ep_handle, soft_high_watermark,
				   hard_high_watermark);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (!handle_is(ep_handle, DAT_HANDLE_TYPE_EP))
		return RET_BAD_HANDLE(EP);
	if (!watermark_valid(soft_high_watermark))
		return RET_BAD_ARG(2);
	if (!watermark_valid(hard_high_watermark))
		return RET_BAD_ARG(3);
	return RET(MODEL_NOT_SUPPORTED);
}
EXPORT_SYMBOL(dat_ep_set_watermark);

/* ---- posting ------------------------------------------------------------ */

/* Posts to an endpoint of another provider, if @ep is one.  The handle is no handle of kdapl. */
static noinline DAT_RETURN other_post(DAT_EP_HANDLE ep, const struct kdapl_dto *dto)
{
	DAT_LMR_TRIPLET *iov = (DAT_LMR_TRIPLET *)dto->iov;
	const DAT_PROVIDER *other = kdat_other(ep);

	if (!other)
		return RET_BAD_HANDLE(EP);
	switch (dto->kind) {
	case KDAPL_DTO_RECV:
		return KDAT_THEIRS(other, ep_post_recv, ep, dto->segments, iov, dto->cookie,
				   dto->flags);
	case KDAPL_DTO_RDMA_READ:
		return KDAT_THEIRS(other, ep_post_rdma_read, ep, dto->segments, iov, dto->cookie,
				   dto->remote, dto->flags);
	case KDAPL_DTO_RDMA_WRITE:
		return KDAT_THEIRS(other, ep_post_rdma_write, ep, dto->segments, iov, dto->cookie,
				   dto->remote, dto->flags);
	default:
		return KDAT_THEIRS(other, ep_post_send, ep, dto->segments, iov, dto->cookie,
				   dto->flags);
	}
}

/*
 * Posts.  For an endpoint of kdapl, that there are other providers costs one comparison only:
 * other_post() is not inline, so that no registers are saved for it.
 */
static __always_inline DAT_RETURN ep_post(DAT_EP_HANDLE ep, const struct kdapl_dto *dto)
{
	return kdat_is_address(ep) ? other_post(ep, dto) : kdapl_ep_post(SPACE, ep, dto);
}

/*
 * What all kinds of posts have.  What only other kinds have is not read of this one, and setting it
 * to zero would cost each post as many instructions.
 */
static __always_inline void set_dto(struct kdapl_dto *dto, enum kdapl_dto_kind kind,
				    DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	dto->kind = kind;
	dto->segments = segments;
	dto->iov = iov;
	dto->cookie = cookie;
	dto->flags = flags;
}

/**
 * dat_ep_post_send - post a send
 * @ep_handle: an EP, Connected; in state Disconnected the post is flushed
 * @num_segments: 0 .. max_request_iov
 * @local_iov: parts of LMRs, all of the EP's PZ; copied
 * @user_cookie: comes back in the completion
 * @completion_flags: SUPPRESS, SOLICITED_WAIT, BARRIER_FENCE, and UNSIGNALLED
 *	if the EP's attributes have it
 *
 * Upcall context.  Rules mt:T1..T28.
 *
 * Return: DAT_SUCCESS, and one completion follows; DAT_INVALID_HANDLE/EP;
 * DAT_INVALID_PARAMETER/ARG2 for the count, /ARG3 for a null array, a segment
 * that is not inside its LMR, or more bytes than max_message_size, /ARG5 for
 * the flags; DAT_INVALID_STATE/EP_... when the EP is neither Connected nor
 * Disconnected; DAT_PROTECTION_VIOLATION/READ for a context that belongs to no LMR, or to
 * an LMR in another PZ; DAT_INSUFFICIENT_RESOURCES/MEMORY when max_request_dtos
 * are outstanding; DAT_INTERNAL_ERROR when the device refuses the request.
 * Every LMR can be sent from, whatever its privileges are (mt:T30).
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_dto dto kdapl_uninitialized;

	set_dto(&dto, KDAPL_DTO_SEND, num_segments, local_iov, user_cookie,
		completion_flags);
	return ep_post(ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_send);

/**
 * dat_ep_post_recv - post a buffer for a message
 * @ep_handle: an EP in any state
 * @num_segments: 0 .. max_recv_iov
 * @local_iov: parts of LMRs with local write, all of the EP's PZ; copied
 * @user_cookie: comes back in the completion
 * @completion_flags: 0, or UNSIGNALLED if the EP's attributes have it
 *
 * Before the EP is Connected the buffer waits; in state Disconnected it is
 * flushed.  Upcall context.  Rules mt:T1..T15.
 *
 * Return: as dat_ep_post_send(), but with DAT_PROTECTION_VIOLATION/WRITE,
 * DAT_PRIVILEGES_VIOLATION/WRITE for an LMR without local write,
 * DAT_INSUFFICIENT_RESOURCES/MEMORY when max_recv_dtos are outstanding, and without
 * DAT_INVALID_STATE for the EP's state.
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_dto dto kdapl_uninitialized;

	set_dto(&dto, KDAPL_DTO_RECV, num_segments, local_iov, user_cookie,
		completion_flags);
	return ep_post(ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_recv);

/**
 * dat_ep_post_rdma_read - read from the peer's memory
 * @ep_handle: an EP, Connected; in state Disconnected the post is flushed
 * @num_segments: 0 .. max_rdma_read_iov
 * @local_iov: parts of LMRs with local write, all of the EP's PZ; copied
 * @user_cookie: comes back in the completion
 * @remote_iov: the peer's memory; its length is what is read
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if the EP's
 *	attributes have it
 *
 * Upcall context.  Rules mt:T1..T35.
 *
 * Return: as dat_ep_post_send(), but with max_rdma_size as the limit of bytes, /ARG5 for a
 * @remote_iov that is null or wraps, /ARG6 for the flags, DAT_LENGTH_ERROR when
 * the local segments are too short, DAT_PROTECTION_VIOLATION/WRITE,
 * DAT_PRIVILEGES_VIOLATION/WRITE for an LMR without local write, and /RDMA_WRITE on iWARP for
 * one without remote write (mt:T35), and DAT_INSUFFICIENT_RESOURCES/CREDITS for an EP without
 * outgoing reads.
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_dto dto kdapl_uninitialized;

	set_dto(&dto, KDAPL_DTO_RDMA_READ, num_segments, local_iov, user_cookie,
		completion_flags);
	dto.remote = remote_iov;
	return ep_post(ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_rdma_read);

/**
 * dat_ep_post_rdma_write - write to the peer's memory
 * @ep_handle: an EP, Connected; in state Disconnected the post is flushed
 * @num_segments: 0 .. max_rdma_write_iov
 * @local_iov: parts of LMRs, all of the EP's PZ; copied
 * @user_cookie: comes back in the completion
 * @remote_iov: the peer's memory, at least as long as the local segments
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if the EP's
 *	attributes have it
 *
 * Upcall context.  Rules mt:T1..T35.
 *
 * Return: as dat_ep_post_send(), but with max_rdma_size as the limit of bytes, /ARG5 for a
 * @remote_iov that is null or wraps, /ARG6 for the flags, and DAT_LENGTH_ERROR
 * when the remote buffer is too short.
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	struct kdapl_dto dto kdapl_uninitialized;

	set_dto(&dto, KDAPL_DTO_RDMA_WRITE, num_segments, local_iov, user_cookie,
		completion_flags);
	dto.remote = remote_iov;
	return ep_post(ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_rdma_write);
