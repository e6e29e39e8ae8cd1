// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: protection zones, local and remote memory regions.  Kernel
 * modules call these functions; what all of them have in common is told in
 * Documentation/kdat-api.rst, The contracts.
 */
#include <linux/export.h>
#include "kdat_call.h"

/* ---- PZ ----------------------------------------------------------------- */

/**
 * dat_pz_create - make a protection zone
 * @ia_handle: an IA
 * @pz_handle: out
 *
 * Process context.  Rules mt:M1..M3.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for a
 * null @pz_handle; DAT_INSUFFICIENT_RESOURCES/PROTECTION_DOMAIN when the device
 * has none left, /MEMORY.
 */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, pz_create, ia_handle, pz_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_pz_create(SPACE, ia_handle, pz_handle);
}
EXPORT_SYMBOL(dat_pz_create);

/**
 * dat_pz_query - the IA of a zone
 * @pz_handle: a PZ
 * @pz_param_mask: DAT_PZ_FIELD_*
 * @pz_param: out
 *
 * Process context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PZ; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	const DAT_PROVIDER *other = kdat_other(pz_handle);

	if (other)
		return KDAT_THEIRS(other, pz_query, pz_handle, pz_param_mask, pz_param);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_pz_query(SPACE, pz_handle, pz_param_mask, pz_param);
}
EXPORT_SYMBOL(dat_pz_query);

/**
 * dat_pz_free - free a zone
 * @pz_handle: a PZ
 *
 * Process context.  Rule mt:M3.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PZ; DAT_INVALID_STATE/PZ_IN_USE while
 * there is an EP, an LMR, an RMR or an SRQ in it.
 */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	const DAT_PROVIDER *other = kdat_other(pz_handle);

	if (other)
		return KDAT_THEIRS(other, pz_free, pz_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_pz_free(SPACE, pz_handle);
}
EXPORT_SYMBOL(dat_pz_free);

/* ---- LMR ---------------------------------------------------------------- */

/**
 * dat_lmr_kcreate - register kernel memory
 * @ia_handle: an IA
 * @mem_type: VIRTUAL: kernel addresses, linear or vmalloc; PHYSICAL: one range
 *	of physical addresses; LMR: the memory of another LMR
 * @region_description: for_va, for_pa or for_lmr_handle, as @mem_type says
 * @length: bytes, 1 .. max_lmr_block_size; ignored with type LMR
 * @pz_handle: a PZ of the IA
 * @privileges: DAT_MEM_PRIV_*_FLAG and KDAT_MEM_PRIV_REMOTE_ATOMIC_FLAG, any of them
 * @mem_optimization: a hint; kdapl always registers exactly the memory that is asked for
 * @lmr_handle: out
 * @lmr_context: out: names the LMR in a local segment; may be null
 * @rmr_context: out: names it to a peer, 0 without a remote privilege; may be
 *	null
 * @registered_length: out: bytes that are registered: @length; may be null
 * @registered_address: out: the address of the first byte, for segments; may be null
 *
 * The memory must stay until the LMR is freed.  Process context.
 * Rules mt:M5..M19, mt:M71..M77.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /LMR, /PZ;
 * DAT_INVALID_PARAMETER/ARG2 for an unknown type, /ARG3 for memory that does not
 * exist or is not RAM, /ARG4 for a length of 0, one that wraps or is above the
 * limit, and for memory in more pieces than the device maps at once, /ARG6 for
 * unknown privileges, /ARG7 for an unknown optimization, /ARG8 for a null
 * @lmr_handle; DAT_MODEL_NOT_SUPPORTED for types PLATFORM, IA and BYPASS, and for
 * REMOTE_ATOMIC if the device has no atomics;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY, /MEMORY_REGION when the device has no memory region
 * left, or no queue pair to register memory with.
 */
DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS privileges,
			   DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle,
			   DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, lmr_kcreate, ia_handle, mem_type, region_description,
				   length, pz_handle, privileges, mem_optimization, lmr_handle,
				   lmr_context, rmr_context, registered_length, registered_address);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_lmr_create(SPACE, ia_handle, mem_type, region_description,
				length, pz_handle, privileges, mem_optimization,
				lmr_handle, lmr_context, rmr_context,
				registered_length, registered_address);
}
EXPORT_SYMBOL(dat_lmr_kcreate);

/**
 * dat_lmr_query - parameters of an LMR
 * @lmr_handle: an LMR
 * @lmr_param_mask: DAT_LMR_FIELD_*
 * @lmr_param: out
 *
 * Upcall context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	const DAT_PROVIDER *other = kdat_other(lmr_handle);

	if (other)
		return KDAT_THEIRS(other, lmr_query, lmr_handle, lmr_param_mask, lmr_param);
	return kdapl_lmr_query(SPACE, lmr_handle, lmr_param_mask, lmr_param);
}
EXPORT_SYMBOL(dat_lmr_query);

/**
 * dat_lmr_free - undo a registration
 * @lmr_handle: an LMR
 *
 * When this has returned, neither context gives access and the device does not
 * touch the memory any more; the memory itself is not changed.  Transfers that are
 * using it at this moment may fail and end their connection.  Process context.
 * Rules L1..L14, mt:M22..M27.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR; DAT_INVALID_STATE/LMR_IN_USE
 * while an RMR is bound to it, a bind that names it is outstanding, another LMR is just
 * being made of its memory, or it is an LMR of dat_lmr_allocate() that has memory.
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	const DAT_PROVIDER *other = kdat_other(lmr_handle);

	if (other)
		return KDAT_THEIRS(other, lmr_free, lmr_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_lmr_free(SPACE, lmr_handle);
}
EXPORT_SYMBOL(dat_lmr_free);

/**
 * dat_lmr_sync_rdma_read - make local writes visible to RDMA reads of a peer
 * @ia_handle: an IA
 * @local_segments: parts of LMRs of this IA
 * @num_segments: how many; 0 is fine
 *
 * Process context.  Rules mt:M67..M70.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for a
 * null array or a segment that is not inside an LMR.
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, lmr_sync_rdma_read, ia_handle, local_segments,
				   num_segments);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_lmr_sync(SPACE, ia_handle, local_segments, num_segments,
			      true);
}
EXPORT_SYMBOL(dat_lmr_sync_rdma_read);

/**
 * dat_lmr_sync_rdma_write - make RDMA writes of a peer visible to local reads
 * @ia_handle: an IA
 * @local_segments: parts of LMRs of this IA
 * @num_segments: how many; 0 is fine
 *
 * Process context.  Rules mt:M67..M70.
 *
 * Return: as dat_lmr_sync_rdma_read().
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, lmr_sync_rdma_write, ia_handle, local_segments,
				   num_segments);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_lmr_sync(SPACE, ia_handle, local_segments, num_segments,
			      false);
}
EXPORT_SYMBOL(dat_lmr_sync_rdma_write);

/* ---- RMR ---------------------------------------------------------------- */

/**
 * dat_rmr_create - make a window for peers that is bound to no memory yet
 * @pz_handle: a PZ
 * @rmr_handle: out
 *
 * This is slow and a bind is fast, so make an RMR once and bind it many times.  Process
 * context.  Rule mt:M28.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PZ; DAT_INVALID_PARAMETER/ARG2
 * for a null @rmr_handle; DAT_INSUFFICIENT_RESOURCES/MEMORY_REGION when the
 * device has no memory regions left, /MEMORY; DAT_MODEL_NOT_SUPPORTED on a device that
 * can have no windows.
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	const DAT_PROVIDER *other = kdat_other(pz_handle);

	if (other)
		return KDAT_THEIRS(other, rmr_create, pz_handle, rmr_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_rmr_create(SPACE, pz_handle, rmr_handle);
}
EXPORT_SYMBOL(dat_rmr_create);

/**
 * dat_rmr_query - parameters of an RMR
 * @rmr_handle: an RMR
 * @rmr_param_mask: DAT_RMR_FIELD_*
 * @rmr_param: out: as the last bind that has completed has set it; the triplet, the
 *	privileges and the context of an unbound RMR are 0
 *
 * Upcall context.  Rule mt:M41.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RMR; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	const DAT_PROVIDER *other = kdat_other(rmr_handle);

	if (other)
		return KDAT_THEIRS(other, rmr_query, rmr_handle, rmr_param_mask, rmr_param);
	return kdapl_rmr_query(SPACE, rmr_handle, rmr_param_mask, rmr_param);
}
EXPORT_SYMBOL(dat_rmr_query);

/**
 * dat_rmr_bind - open a part of an LMR to peers, or close it
 * @rmr_handle: an RMR
 * @lmr_triplet: the part; copied; with segment_length 0 the RMR is unbound, and
 *	the rest of the triplet and @mem_privileges are ignored
 * @mem_privileges: any of DAT_MEM_PRIV_REMOTE_READ_FLAG and _WRITE_FLAG; for each
 *	of them the LMR needs the local privilege of the same kind; local flags are
 *	ignored
 * @ep_handle: an EP of the RMR's PZ, Connected; in state Disconnected the bind
 *	is flushed and the RMR stays as it is
 * @user_cookie: comes back in the completion
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if the EP's
 *	attributes have it
 * @rmr_context: out: names the memory to peers, in place of the former context;
 *	0 for an unbind
 *
 * The bind is a request of the EP: it completes in the order of the posts, with
 * DAT_RMR_BIND_COMPLETION_EVENT, and no request that is posted after it starts before it
 * is done.  So a send that carries the context may be posted at once.  Peers can use the
 * window through every EP of the PZ, and it outlives the EP that it was bound on.  Upcall
 * context.  Rules mt:M29..M40, mt:M42, mt:M45..M47.
 *
 * Return: DAT_SUCCESS, and one completion follows; DAT_INVALID_HANDLE/RMR, /EP,
 * /EVD_REQUEST when the EP's request EVD has no RMR_BIND flag;
 * DAT_INVALID_PARAMETER/ARG2 for a null triplet, or one that is not inside an
 * LMR of this IA, /ARG3 for unknown privileges, /ARG6 for the flags, /ARG7 for
 * a null @rmr_context; DAT_INVALID_STATE/EP_... when the EP is neither
 * Connected nor Disconnected; DAT_PROTECTION_VIOLATION/RDMA_READ, /RDMA_WRITE
 * when the zones differ; DAT_PRIVILEGES_VIOLATION/RDMA_READ, /RDMA_WRITE for an
 * LMR without the local privilege; DAT_INSUFFICIENT_RESOURCES/MEMORY when
 * max_request_dtos are outstanding, or after a failed bind, as long as the RMR's window
 * could not be renewed, /MEMORY_REGION while a bind of this RMR is outstanding,
 * and for a part that has more pages than a window can show (512); DAT_INTERNAL_ERROR
 * when the device refuses the request.
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	const DAT_PROVIDER *other = kdat_other(rmr_handle);

	if (other)
		return KDAT_THEIRS(other, rmr_bind, rmr_handle, lmr_triplet, mem_privileges,
				   ep_handle, user_cookie, completion_flags, rmr_context);
	return kdapl_rmr_bind(SPACE, rmr_handle, lmr_triplet, mem_privileges,
			      ep_handle, user_cookie, completion_flags,
			      rmr_context);
}
EXPORT_SYMBOL(dat_rmr_bind);

/**
 * dat_rmr_free - unbind and free an RMR
 * @rmr_handle: an RMR, bound or not
 *
 * When this has returned, the RMR's context gives no access, and the LMR that it was bound
 * to can be freed.  If a bind is outstanding, that is so only when the bind has completed; the
 * completion event names the handle, which is dead by then.  Process context.  Rules mt:M43,
 * mt:M44.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RMR.
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	const DAT_PROVIDER *other = kdat_other(rmr_handle);

	if (other)
		return KDAT_THEIRS(other, rmr_free, rmr_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_rmr_free(SPACE, rmr_handle);
}
EXPORT_SYMBOL(dat_rmr_free);
