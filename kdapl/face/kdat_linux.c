// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers beyond DAT 1.2: include/dat/kdat_linux.h, exported.  As in
 * kdat.c a function is the call into the core with the kernel's handle space, and its
 * contract is told here, in the words and with the conventions of that file.
 */
#include <linux/export.h>
#include <dat/kdat_linux.h>
#include "core/fmr.h"
#include "glue/clients.h"
#include "kdat_call.h"

/**
 * dat_lmr_allocate - make an LMR whose memory comes later, and changes
 * @ia_handle: an IA
 * @pz_handle: a PZ of the IA
 * @max_physical_pages: of the memory at any time, 1 .. 2048; if peers may reach it, no more
 *	than a window has (512, or what the device registers at once)
 * @lmr_scope: EP, PZ, ANY: it may have remote rights, and any endpoint of the PZ may use it;
 *	LOCAL: no peer
 * @lmr_handle: out
 *
 * Until dat_lmr_fmr() it has no memory, and no context that names it.  dat_lmr_free() ends
 * it; while it has memory, that is DAT_INVALID_STATE/LMR_IN_USE, because the device reaches
 * the memory by a key that stays.  Process context.  Rules mt:M1, mt:M3.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ; DAT_INVALID_PARAMETER/ARG3 for the
 * pages, /ARG4 for an unknown scope, /ARG5 for a null @lmr_handle;
 * DAT_MODEL_NOT_SUPPORTED for another scope than LOCAL where the device has no windows;
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
 * @lmr_handle: an LMR of dat_lmr_allocate() that has none
 * @mem_type: PLATFORM
 * @region_description: for_platform is a struct kdat_memory
 * @number_of_pages: not looked at: the list says it
 * @mem_privileges: DAT_MEM_PRIV_*_FLAG: what the device may do, for this side and for peers.
 *	Of memory that nobody may read it may destroy what it does not write, where memory
 *	is copied for DMA
 * @va_type: ZB: the addresses of segments count from 0, the first byte of the memory; with a
 *	remote privilege from the offset of that byte in its page, which dat_lmr_query()
 *	tells as registered_address
 * @ep_handle: with a remote privilege: an EP of the LMR's zone; else not looked at
 * @user_cookie: with a remote privilege: comes back in the completion
 * @completion_flags: SUPPRESS or none; with a remote privilege what dat_rmr_bind() takes.
 *	Without one nothing is posted, so there is no event
 * @lmr_context: out: names the memory in local segments, until it is taken away
 * @rmr_context: out: names it to peers, 0 without a remote privilege; may be null
 *
 * With a remote privilege this is a request of the EP, as dat_rmr_bind() is: it takes one of
 * max_request_dtos, completes in the order of the posts, with DAT_DTO_COMPLETION_EVENT, and
 * no request posted after it starts before, so that a send with the key may follow at once.
 * Where the request EVD has no RMR_BIND flag, it also takes one of the EP's reserve.  Peers
 * reach the memory through every EP of the PZ, until dat_lmr_invalidate(), or until a
 * message of a peer takes the key away (dat_ep_post_send_with_invalidate()): the completion
 * of its receive names the key (struct kdat_dto_completion_event_data).  If the request
 * fails, or is flushed, no peer ever reaches the memory, and it stays until it is taken
 * away.  In state Disconnected that is so at once, and *@rmr_context is 0.  A device that
 * speaks iWARP can put what a read fetches only where REMOTE_WRITE is among the privileges;
 * the read is posted to the same EP.
 *
 * A segment may name any part of the memory.  The device takes it in pieces, as many as
 * the list has: a message in no more than the segments that the EP's attributes allow for
 * its kind, an RDMA operation in any number, for which the EP has a reserve
 * (KDAT_EP_REQUEST_RESERVE).  Upcall context.  Rules mt:T1..T36, mt:M1, mt:M15, mt:M33.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR, also for an LMR of another kind, /EP;
 * DAT_INVALID_PARAMETER/ARG2 for another type, /ARG3 for a null pointer, no bytes, a list
 * that has fewer, or an entry without bytes, or more pages than the LMR can have, or, with
 * a remote privilege, gaps within a page, /ARG5 for unknown privileges, and for remote ones
 * of an LMR of scope LOCAL, /ARG6 for another @va_type, /ARG9 for other flags, /ARG10 for a
 * null @lmr_context;
 * DAT_PROTECTION_VIOLATION/RDMA_READ, /RDMA_WRITE when the zones differ;
 * DAT_INVALID_STATE/LMR_IN_USE when it has memory, /EP_... when the EP is neither Connected
 * nor Disconnected; DAT_INSUFFICIENT_RESOURCES/MEMORY when the memory cannot be mapped for
 * DMA, the EP has no slot or no reserve, or after a failed registration that could not be
 * made anew yet, /MEMORY_REGION when a former registration of the LMR has not completed yet:
 * it has when a request that was posted after it has; DAT_INTERNAL_ERROR when the device
 * refuses the request.
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
 * dat_lmr_invalidate - take the memory of an LMR away
 * @lmr_handle: an LMR of dat_lmr_allocate() that has memory
 * @ep_handle: an EP of its zone, if a peer may reach the memory; else not looked at
 * @user_cookie: comes back in the completion, if there is one
 * @completion_flags: SUPPRESS or none; if a peer may reach it, what dat_rmr_bind() takes
 *
 * No DTO that names the memory is being posted or outstanding: the event of each was
 * taken, or a later one of the same EP's queue, or that of its disconnection.  On return
 * the device has nothing to do with the memory, also if the device is gone.  If the IA is
 * closed at the same time, that is so when dat_ia_close() has returned.
 *
 * If a peer may reach the memory, this is a request of the EP, which completes with
 * DAT_DTO_COMPLETION_EVENT; in state Disconnected, too, where it is flushed.  When it has
 * completed, however, and not before, no peer reaches the memory, and the device has nothing
 * to do with it.  Nothing is posted, and no event comes, if the peer's message has taken the
 * key away, if the registration has failed, and if the device is gone.  Who does not know
 * which of it is so, because a message may be on its way, asks dat_lmr_query() afterwards:
 * it tells length 0 when the memory is gone.  Upcall context.  Rules mt:M37, mt:M40.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR, also for an LMR of another kind, /EP;
 * DAT_INVALID_PARAMETER/ARG4 for other flags; DAT_PROTECTION_VIOLATION/RDMA_READ when the
 * zones differ; DAT_INVALID_STATE/LMR_FREE when it has none, /EP_... when the EP is neither
 * Connected nor Disconnected; DAT_INSUFFICIENT_RESOURCES/MEMORY when the EP has no slot,
 * /MEMORY_REGION when the registration, or another dat_lmr_invalidate(), has not completed
 * yet; DAT_INTERNAL_ERROR when the device refuses the request.
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
 * dat_ep_post_send_with_invalidate - send a message, and take a key away at the peer
 * @ep_handle: as for dat_ep_post_send()
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @user_cookie: as for dat_ep_post_send()
 * @completion_flags: as for dat_ep_post_send()
 * @invalidate_flag: DAT_TRUE; with DAT_FALSE this is dat_ep_post_send()
 * @rmr_context: the key.  The peer's device forgets it when it takes the message.  If the
 *	peer is kdapl, it is the present key of a dat_lmr_fmr() in the zone of its EP; any
 *	other key breaks the connection, as it may with other peers that do not expect it
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
		.invalidate = rmr_context,
		.flags = completion_flags,
	};

	return kdapl_ep_post(SPACE, ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_send_with_invalidate);

/**
 * kdat_client_register - be told which adapters there are
 * @client: its functions are filled in; stays until kdat_client_unregister()
 *
 * @client->add is called for each adapter that has an address, or gets one, before this
 * returns or later; @client->remove for each before its RDMA device goes, which waits for
 * that, as the removal of other devices does.  Neither registers or unregisters a client,
 * nor waits for somebody who does; the caller of this has no lock that they take, and is no
 * upcall.  Process context.  Rules G12, E71.
 */
void kdat_client_register(struct kdat_client *client)
{
	kdapl_client_register(client);
}
EXPORT_SYMBOL(kdat_client_register);

/**
 * kdat_client_unregister - do not be told any more
 * @client: registered
 *
 * @client->remove has been called for every adapter that @client->add was called for when
 * this returns, and neither is called any more.  Process context.
 */
void kdat_client_unregister(struct kdat_client *client)
{
	kdapl_client_unregister(client);
}
EXPORT_SYMBOL(kdat_client_unregister);
