// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: protection zones, local and remote memory regions.  Kernel
 * modules call these functions; kdat.c says what all of them have in common.
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
 * has none left, or no queue pair to register memory with; /MEMORY.
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
 * an EP, an LMR or an RMR has it.
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
 * @privileges: DAT_MEM_PRIV_*_FLAG, any of them
 * @mem_optimization: a hint; kdapl is always exact
 * @lmr_handle: out
 * @lmr_context: out: names the LMR in a local segment; may be null
 * @rmr_context: out: names it to a peer, 0 without a remote privilege; may be
 *	null
 * @registered_length: out: bytes that are accessible: as asked; may be null
 * @registered_address: out: what segments count from; may be null
 *
 * The memory must stay until the LMR is freed.  Process context.
 * Rules mt:M5..M19, mt:M71..M77.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /LMR, /PZ;
 * DAT_INVALID_PARAMETER/ARG2 for an unknown type, /ARG3 for memory that is not
 * there or not RAM, /ARG4 for a length of 0, one that wraps or is above the
 * limit, and for memory in more pieces than the device maps at once, /ARG6 for
 * unknown privileges, /ARG7 for an unknown optimization, /ARG8 for a null
 * @lmr_handle; DAT_MODEL_NOT_SUPPORTED for types PLATFORM, IA and BYPASS;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY, /MEMORY_REGION when the device has none
 * left.
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
 * When it returned, neither context admits anything and the device does not
 * touch the memory any more; the memory itself stays as it is.  Transfers that
 * use it at this moment may fail and end their connection.  Process context.
 * Rules L1..L14, mt:M22..M27.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/LMR; DAT_INVALID_STATE/LMR_IN_USE
 * while an RMR is bound to it, a bind that names it is outstanding, or another LMR is just
 * being made over it.
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
 * dat_lmr_sync_rdma_read - local writes before a peer's RDMA read
 * @ia_handle: an IA
 * @local_segments: parts of LMRs of this IA
 * @num_segments: how many; 0 is fine
 *
 * Process context.  Rules mt:M67..M70.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for a
 * null array or a segment that is no part of an LMR.
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
 * dat_lmr_sync_rdma_write - a peer's RDMA write before local reads
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
 * dat_rmr_create - make a window for peers, bound to no memory yet
 * @pz_handle: a PZ
 * @rmr_handle: out
 *
 * Slow, where a bind is fast: made once and bound many times.  Process context.
 * Rule mt:M28.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PZ; DAT_INVALID_PARAMETER/ARG2
 * for a null @rmr_handle; DAT_INSUFFICIENT_RESOURCES/MEMORY_REGION when the
 * device has none left, /MEMORY; DAT_MODEL_NOT_SUPPORTED on a device that
 * registers no memory by work request.
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
 * @rmr_param: out: what the last bind that completed has made of it; of an
 *	unbound RMR triplet, privileges and context are 0
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
 *	the rest of the triplet and @mem_privileges are not looked at
 * @mem_privileges: DAT_MEM_PRIV_REMOTE_READ_FLAG and _WRITE_FLAG, any of them,
 *	for each of which the LMR needs the local privilege; local flags are
 *	ignored
 * @ep_handle: an EP of the RMR's PZ, Connected; in state Disconnected the bind
 *	is flushed and the RMR stays as it is
 * @user_cookie: comes back in the completion
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if the EP's
 *	attributes have it
 * @rmr_context: out: names the memory to peers, in place of the former context;
 *	0 for an unbind
 *
 * A request of the EP: it completes in the order of the posts, with
 * DAT_RMR_BIND_COMPLETION_EVENT, and no request posted after it starts before,
 * so that a send with the context may follow at once.  The window is good
 * through every EP of the PZ and outlives the one it was bound on.  Upcall
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
 * max_request_dtos are outstanding, or after a failed bind whose window could
 * not be made anew yet, /MEMORY_REGION while a bind of this RMR is outstanding,
 * and for a part that has more pages than a window (512); DAT_INTERNAL_ERROR
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
 * When it returned, its context admits nothing and its LMR can be freed.  If a
 * bind is outstanding, that is so when its completion is there, which names the
 * dead handle.  Process context.  Rules mt:M43, mt:M44.
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
