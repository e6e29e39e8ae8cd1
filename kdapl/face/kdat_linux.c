// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers beyond DAT 1.2: the exported functions of
 * include/dat/kdat_linux.h.  As in kdat.c, each function calls the core with the kernel's
 * handle space, and its contract is here, in the terms of Documentation/kdat-api.rst, The
 * contracts.
 */
#include <linux/export.h>
#include <dat/kdat_linux.h>
#include "core/fmr.h"
#include "glue/clients.h"
#include "kdat_call.h"

/**
 * dat_lmr_allocate - make an LMR that is given memory later, again and again
 * @ia_handle: an IA
 * @pz_handle: a PZ of the IA
 * @max_physical_pages: the most pages that the LMR can have at a time, 1 .. 2048; with a scope
 *	other than LOCAL, no more than a window can show (512, or what the device registers at
 *	once)
 * @lmr_scope: EP, PZ, ANY: the memory may have remote privileges, and any endpoint of the PZ
 *	may use it; LOCAL: it never has remote privileges
 * @lmr_handle: out
 *
 * Until dat_lmr_fmr() the LMR has no memory, and no context names it.  dat_lmr_free() frees
 * it.  While the LMR has memory, dat_lmr_free() returns DAT_INVALID_STATE/LMR_IN_USE, because
 * the device reaches that memory by a key that would stay valid.  Process context.  Rules
 * mt:M1, mt:M3.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ; DAT_INVALID_PARAMETER/ARG3 for the
 * number of pages, /ARG4 for an unknown scope, /ARG5 for a null @lmr_handle;
 * DAT_MODEL_NOT_SUPPORTED for a scope other than LOCAL if the device has no windows;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY, /MEMORY_REGION.
 */
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT max_physical_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle)
{
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_lmr_allocate(SPACE, ia_handle, pz_handle,
				  max_physical_pages, lmr_scope, lmr_handle);
}
EXPORT_SYMBOL(dat_lmr_allocate);

/**
 * dat_lmr_fmr - give an LMR memory
 * @lmr_handle: an LMR of dat_lmr_allocate() that has no memory
 * @mem_type: PLATFORM
 * @region_description: for_platform points to a struct kdat_memory
 * @number_of_pages: ignored: the list has the number
 * @mem_privileges: DAT_MEM_PRIV_*_FLAG: what the device may do with the memory, for this side
 *	and for peers
 * @va_type: ZB: the addresses in segments count from 0, the first byte of the memory; with a
 *	remote privilege they count from the offset of that byte in its page, which
 *	dat_lmr_query() returns as registered_address
 * @ep_handle: with a remote privilege: an EP of the LMR's zone; otherwise ignored
 * @user_cookie: with a remote privilege: comes back in the completion
 * @completion_flags: without a remote privilege: SUPPRESS or none; nothing is posted then, so
 *	there is no event anyhow.  With a remote privilege: as for dat_rmr_bind()
 * @lmr_context: out: names the memory in local segments, until it is taken away
 * @rmr_context: out: names the memory to peers; 0 without a remote privilege; may be null
 *
 * With a remote privilege this is a request of the EP, as dat_rmr_bind() is.  It takes one of
 * max_request_dtos, and completes in the order of the posts, with DAT_DTO_COMPLETION_EVENT.  No
 * request that is posted after it starts before it is done, so a send that carries the key may
 * be posted at once.  If the request EVD has no RMR_BIND flag, it also takes one work request of
 * the EP's reserve.
 *
 * Peers reach the memory through every EP of the PZ, until dat_lmr_invalidate(), or until a
 * message of a peer invalidates the key (dat_ep_post_send_with_invalidate()); the completion
 * of the receive of that message names the key (struct kdat_dto_completion_event_data).  If
 * the request fails or is flushed, no peer ever reaches the memory; the LMR keeps the memory
 * until it is taken away.  In state Disconnected this happens at once, and *@rmr_context is 0.
 *
 * On iWARP an RDMA read can fetch data only into memory that has the REMOTE_WRITE privilege, and
 * has to be posted to the same EP.
 *
 * A segment may name any part of the memory.  The device gets it in as many pieces as the list
 * has.  A message may have no more pieces than the segments that the EP's attributes allow for
 * its kind.  An RDMA operation may have any number, for which the EP needs a reserve of work
 * requests (KDAT_EP_REQUEST_RESERVE).  Upcall context.  Rules mt:T1..T36, mt:M1, mt:M15,
 * mt:M33.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR, also for an LMR of another kind, /EP;
 * DAT_INVALID_PARAMETER/ARG2 for another type, /ARG3 for a null pointer, a length of 0, a list
 * that has fewer bytes or an entry without bytes, more pages than the LMR can have, or, with
 * a remote privilege, gaps within a page, /ARG5 for unknown privileges, and for remote ones
 * with an LMR of scope LOCAL, /ARG6 for another @va_type, /ARG9 for other flags, /ARG10 for a
 * null @lmr_context;
 * DAT_PROTECTION_VIOLATION/RDMA_READ, /RDMA_WRITE when the zones differ;
 * DAT_INVALID_STATE/LMR_IN_USE when the LMR has memory, /EP_... when the EP is neither Connected
 * nor Disconnected; DAT_INSUFFICIENT_RESOURCES/MEMORY when the memory cannot be mapped for
 * DMA, when the EP has no request slot or no reserve left, or after a failed registration, as
 * long as the window could not be renewed, /MEMORY_REGION when the device does not map the list,
 * and when a former registration of the LMR has not completed yet (it has if a request that was
 * posted after it has completed);
 * DAT_INTERNAL_ERROR when the device refuses the request.
 */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN number_of_pages, DAT_MEM_PRIV_FLAGS mem_privileges,
		       DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
		       DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	const struct kdapl_fmr fmr = {
		.mem_type = mem_type,
		.region = region_description,
		.privileges = mem_privileges,
		.va_type = va_type,
		.ep = ep_handle,
		.cookie = user_cookie,
		.flags = completion_flags,
		.lmr_context = lmr_context,
		.rmr_context = rmr_context,
	};

	return kdapl_fmr(SPACE, lmr_handle, &fmr);
}
EXPORT_SYMBOL(dat_lmr_fmr);

/**
 * kdat_lmr_state - what dat_lmr_query() of DAT 2.0 says of an LMR beside its parameters
 * @lmr_handle: an LMR of any kind
 * @lmr_state: out: fmr_support: it is of dat_lmr_allocate(); bound: it has memory
 *
 * Another LMR than those of dat_lmr_allocate() has its memory as long as it exists.  Upcall
 * context.  Rule mt:M15.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR; DAT_INVALID_PARAMETER/ARG2 for a null
 * @lmr_state.
 */
DAT_RETURN kdat_lmr_state(DAT_LMR_HANDLE lmr_handle, DAT_LMR_STATE *lmr_state)
{
	return kdapl_lmr_state(SPACE, lmr_handle, lmr_state);
}
EXPORT_SYMBOL(kdat_lmr_state);

/**
 * dat_ia_reserved_lmr - the LMR that names all memory by bus addresses
 * @ia_handle: an IA
 * @reserved_lmr_handle: not written
 * @reserved_lmr_context: not written
 *
 * There is none (RULING 77).  Any context.
 *
 * Return: DAT_MODEL_NOT_SUPPORTED; DAT_INVALID_HANDLE/IA.
 */
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *reserved_lmr_handle,
			       DAT_LMR_CONTEXT *reserved_lmr_context)
{
	if (!handle_is(ia_handle, DAT_HANDLE_TYPE_IA))
		return RET_BAD_HANDLE(IA);
	return RET(MODEL_NOT_SUPPORTED);
}
EXPORT_SYMBOL(dat_ia_reserved_lmr);

/**
 * dat_lmr_invalidate - take the memory of an LMR away
 * @lmr_handle: an LMR of dat_lmr_allocate() that has memory
 * @ep_handle: if a peer may reach the memory: an EP of the LMR's zone; otherwise ignored
 * @user_cookie: comes back in the completion, if there is one
 * @completion_flags: if a peer may reach the memory: as for dat_rmr_bind(); otherwise SUPPRESS
 *	or none
 *
 * The caller makes sure that no DTO which names the memory is being posted or is outstanding:
 * for each of them, its event was taken, or that of a DTO of the same direction of the EP (the
 * requests or the receives) which was posted later, or the event of the EP's disconnection.
 *
 * If no peer may reach the memory, the device does not use it any more on return, also if the
 * device is gone.  If the IA is being closed at the same time, that is so only when
 * dat_ia_close() has returned.
 *
 * If a peer may reach the memory, this is a request of the EP, which completes with
 * DAT_DTO_COMPLETION_EVENT; also in state Disconnected, where it is flushed.  Only when it has
 * completed, but then whatever its status is, no peer reaches the memory and the device does
 * not use it any more.  Nothing is posted, and no event comes, if a message of the peer has
 * invalidated the key, if the registration has failed, or if the device is gone.  A caller that
 * does not know whether one of these is the case, because a message may be on its way, calls
 * dat_lmr_query() afterwards: length 0 means that the memory is gone.  Upcall context.  Rules
 * mt:M37, mt:M40.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR, also for an LMR of another kind, /EP;
 * DAT_INVALID_PARAMETER/ARG4 for other flags; DAT_PROTECTION_VIOLATION/RDMA_READ when the
 * zones differ; DAT_INVALID_STATE/LMR_FREE when the LMR has no memory, /EP_... when the EP is
 * neither Connected nor Disconnected; DAT_INSUFFICIENT_RESOURCES/MEMORY when the EP has no
 * request slot left, /MEMORY_REGION when the registration, or another dat_lmr_invalidate(), has
 * not completed yet; DAT_INTERNAL_ERROR when the device refuses the request.
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags)
{
	return kdapl_fmr_invalidate(SPACE, lmr_handle, ep_handle, user_cookie,
				    completion_flags);
}
EXPORT_SYMBOL(dat_lmr_invalidate);

/**
 * dat_ep_post_send_with_invalidate - send a message that invalidates a key at the peer
 * @ep_handle: as for dat_ep_post_send()
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @user_cookie: as for dat_ep_post_send()
 * @completion_flags: as for dat_ep_post_send()
 * @invalidate_flag: DAT_TRUE; with DAT_FALSE this is dat_ep_post_send()
 * @rmr_context: the key.  The peer's device invalidates it when it receives the message.  If
 *	the peer is kdapl, it has to be the present key of a dat_lmr_fmr(), or of an RMR of a
 *	program of DAT 2.0 (V3), in the zone of the peer's EP; any other key breaks the
 *	connection.  It may also break the connection to another peer that does not expect it
 *
 * Upcall context.  Rules mt:T1..T36, mt:M81.
 *
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context)
{
	const struct kdapl_dto dto = {
		.kind = invalidate_flag ? KDAPL_DTO_SEND_INVALIDATE : KDAPL_DTO_SEND,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie,
		.word = rmr_context,
		.flags = completion_flags,
	};

	return kdapl_ep_post(SPACE, ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_send_with_invalidate);

/**
 * kdat_cr_reject - reject a connection request, with private data
 * @cr_handle: a CR
 * @private_data_size: bytes, 0 .. max_private_data_size
 * @private_data: copied; ignored with size 0
 *
 * As dat_cr_reject(), and the peer's PEER_REJECTED event has the private data, which the transport
 * pads with zeros; if they are nothing but zeros it has none.  Process context.  Rules P70..P72,
 * RULING 65.
 *
 * Return: as dat_cr_reject(); DAT_INVALID_PARAMETER/ARG2 for the size, /ARG3 for a null
 * @private_data.  The request stays then.
 */
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const void *private_data)
{
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_cr_reject_with(SPACE, cr_handle, private_data_size, private_data);
}
EXPORT_SYMBOL(kdat_cr_reject);

/**
 * kdat_ep_post_requests - post several requests, of which the device is told at once
 * @ep_handle: as for dat_ep_post_send()
 * @num_requests: 1 .. KDAT_MAX_REQUESTS
 * @requests: each with the arguments of the dat_ep_post_* call of its kind; copied
 * @posted: out: how many were posted, the first ones
 *
 * They are posted in this order, with no other post in between.  A call into the device costs as
 * much as the rest of a post, or more, and so does its doorbell; this makes one for up to eight
 * requests.  The device does not tell of the success of a suppressed request (mt:T20) that has
 * another one of the same call behind it, so it is outstanding until that one has completed.
 * Interrupts are off meanwhile, but not with PREEMPT_RT.  Upcall context.  Rules mt:T1..T36,
 * X1..X6.
 *
 * Return: DAT_SUCCESS, all were posted; DAT_INVALID_HANDLE/EP, DAT_INVALID_PARAMETER/ARG2 for the
 * count, /ARG3 for a null array, /ARG4 for a null @posted, and none was posted.  Otherwise as the
 * call of the kind of the first request that was not posted, with its argument numbers;
 * DAT_INVALID_PARAMETER/ARG3 as well if it is of no kind.  For RDMA_WRITE_IMMED, CMP_SWAP and
 * FETCH_ADD, which have no call, as dat_ep_post_rdma_write(), but in no more pieces of memory than
 * the device takes at once, as a message (ARG2); also DAT_MODEL_NOT_SUPPORTED if the
 * device does not have the kind; for the last two also DAT_INVALID_PARAMETER/ARG5 for a remote
 * address that is no multiple of 8, DAT_LENGTH_ERROR for another length than 8,
 * DAT_INSUFFICIENT_RESOURCES/CREDITS.
 */
DAT_RETURN kdat_ep_post_requests(DAT_EP_HANDLE ep_handle, DAT_COUNT num_requests,
				 const struct kdat_request *requests, DAT_COUNT *posted)
{
	return kdapl_ep_post_requests(SPACE, ep_handle, num_requests, requests, posted);
}
EXPORT_SYMBOL(kdat_ep_post_requests);

/**
 * kdat_client_register - ask to be told which adapters there are
 * @client: its functions are filled in; must stay until kdat_client_unregister()
 *
 * @client->add is called for each adapter that has an address, before this returns, and for
 * each that gets one, later.  @client->remove is called for each of these adapters before its
 * RDMA device goes.  The removal of the device waits for that call, and so does the removal of
 * other devices.  The two functions must neither register or unregister a client nor wait for
 * somebody who does.  The caller of this must hold no lock that they take, and must not be in
 * an upcall.  Process context.  Rules G12, E71.
 */
void kdat_client_register(struct kdat_client *client)
{
	kdapl_client_register(client);
}
EXPORT_SYMBOL(kdat_client_register);

/**
 * kdat_client_unregister - ask not to be told of adapters any more
 * @client: registered
 *
 * When this returns, @client->remove has been called for every adapter for which @client->add
 * was called, and neither is called any more.  It is called for all adapters at the same time, so
 * that the peers of none are waited for longer than those of one.  Process context.
 */
void kdat_client_unregister(struct kdat_client *client)
{
	kdapl_client_unregister(client);
}
EXPORT_SYMBOL(kdat_client_unregister);
