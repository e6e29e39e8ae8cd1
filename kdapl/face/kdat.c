// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: include/dat/kdat.h, exported.  A function here
 * is the call into the core with the kernel's handle space; the rules are kept
 * in core/, and the contract of each call is told here.  What only this face
 * has are the upcalls (kdat_upcall.c) and the answer for an optional part of DAT that kdapl
 * does not offer: receive watermarks.  Shared receive queues are in kdat_srq.c, opening and
 * closing an adapter and the registry in kdat_registry.c.
 *
 * A call on a handle of a provider that another module has added is that provider's to answer
 * (kdat_other()), and so is its contract.
 *
 * "Upcall context" means that the function never sleeps and may be called from
 * a softirq upcall (E99), "process context" that it may sleep: see may_sleep().
 *
 * A return code is written TYPE/SUBTYPE, and what a call that failed was given
 * is as it was before (E2).  Three codes are not repeated at each function:
 *
 *	DAT_INVALID_HANDLE is what a null, freed, forged or wrong-type handle
 *	gets, an object of an IA that was closed, and all but the first of
 *	several calls that free the same object (E5, E114).
 *
 *	DAT_INVALID_STATE without a subtype is what a call gets that needs the
 *	device after that was removed: calls that create, register, modify,
 *	listen, connect, accept, hand over, bind or synchronise, and a receive
 *	that would have to wait for a connection (E71).
 *
 *	DAT_MODEL_NOT_SUPPORTED is what a function that needs process context
 *	gets in softirq.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include "kdat_call.h"
#include "kdat_upcall.h"

#define INVALID_HANDLE(which) \
	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
#define INVALID_ARG(n) \
	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

static bool handle_is(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_HANDLE_TYPE is;

	return !kdapl_get_handle_type(SPACE, handle, &is) && is == type;
}

/* ---- IA: opened and closed in kdat_registry.c --------------------------- */

/**
 * dat_ia_query - attributes of an adapter and its provider
 * @ia_handle: an IA
 * @async_evd_handle: out: its async EVD; null: not wanted
 * @ia_attr_mask: DAT_IA_FIELD_*
 * @ia_attr: out; may be null with mask 0
 * @provider_attr_mask: DAT_PROVIDER_FIELD_*
 * @provider_attr: out; may be null with mask 0
 *
 * Pointers in the attributes are good until the IA is closed.  Process context.
 * Rules I20..I22.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG3 and
 * /ARG5 for unknown mask bits, /ARG4 and /ARG6 for null structures.
 */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, ia_query, ia_handle, async_evd_handle, ia_attr_mask,
				   ia_attr, provider_attr_mask, provider_attr);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_ia_query(SPACE, ia_handle, async_evd_handle, ia_attr_mask,
			      ia_attr, provider_attr_mask, provider_attr);
}
EXPORT_SYMBOL(dat_ia_query);

/**
 * dat_ia_memtype_hint - what registrations of a kind go best with
 * @ia_handle: an IA
 * @mem_type: as for dat_lmr_kcreate()
 * @length: bytes that will be registered, at least 1
 * @mem_optimization: as for dat_lmr_kcreate()
 * @preferred_length: out: bytes; may be null
 * @preferred_alignment: out: bytes; may be null
 *
 * Process context.  Rule mt:M80.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for an
 * unknown type, /ARG3 for length 0 or one that cannot be rounded up to whole
 * pages, /ARG4 for an unknown optimization; DAT_MODEL_NOT_SUPPORTED for a type
 * that kdapl does not register.
 */
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			       DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, ia_memtype_hint, ia_handle, mem_type, length,
				   mem_optimization, preferred_length, preferred_alignment);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_memtype_hint(SPACE, ia_handle, mem_type, length,
				  mem_optimization, preferred_length,
				  preferred_alignment);
}
EXPORT_SYMBOL(dat_ia_memtype_hint);

/* ---- every object ------------------------------------------------------- */

/**
 * dat_set_consumer_context - attach a value to an object
 * @dat_handle: any object
 * @context: replaces the present one; never looked at
 *
 * Upcall context.  Rules G30, G31.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/HANDLE1.
 */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	const DAT_PROVIDER *other = kdat_other(dat_handle);

	if (other)
		return KDAT_THEIRS(other, set_consumer_context, dat_handle, context);
	return kdapl_set_context(SPACE, dat_handle, context);
}
EXPORT_SYMBOL(dat_set_consumer_context);

/**
 * dat_get_consumer_context - the value attached to an object
 * @dat_handle: any object
 * @context: out; 0 if nothing was attached
 *
 * Upcall context.  Rules G30, G31.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/HANDLE1; DAT_INVALID_PARAMETER/ARG2
 * for a null pointer.
 */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	const DAT_PROVIDER *other = kdat_other(dat_handle);

	if (other)
		return KDAT_THEIRS(other, get_consumer_context, dat_handle, context);
	return kdapl_get_context(SPACE, dat_handle, context);
}
EXPORT_SYMBOL(dat_get_consumer_context);

/**
 * dat_get_handle_type - what is it?
 * @dat_handle: any object
 * @handle_type: out: DAT_HANDLE_TYPE_*
 *
 * Upcall context.  Rules G28, G29.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/HANDLE1; DAT_INVALID_PARAMETER/ARG2
 * for a null pointer.
 */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type)
{
	const DAT_PROVIDER *other = kdat_other(dat_handle);

	if (other)
		return KDAT_THEIRS(other, get_handle_type, dat_handle, handle_type);
	return kdapl_get_handle_type(SPACE, dat_handle, handle_type);
}
EXPORT_SYMBOL(dat_get_handle_type);

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
 * while an RMR is bound to it, or a bind that names it is outstanding.
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

/* ---- EVD ---------------------------------------------------------------- */

/* The arguments that are judged before those of kdapl_evd_create(). */
static DAT_RETURN kcreate_check(DAT_IA_HANDLE ia, DAT_COUNT qlen,
				DAT_UPCALL_POLICY policy,
				const DAT_UPCALL_OBJECT *upcall)
{
	if (!handle_is(ia, DAT_HANDLE_TYPE_IA))
		return INVALID_HANDLE(IA);
	if (qlen <= 0)
		return INVALID_ARG(2);
	if (policy != DAT_UPCALL_DISABLE && !kdat_upcall_active(policy))
		return INVALID_ARG(3);
	if (kdat_upcall_active(policy) && (!upcall || !upcall->upcall_func))
		return INVALID_ARG(4);
	return DAT_SUCCESS;
}

/**
 * dat_evd_kcreate - make an EVD with its upcall
 * @ia_handle: an IA
 * @evd_min_qlen: events that it holds besides completions, 1 .. max_evd_qlen
 * @upcall_policy: DISABLE: events wait for dat_evd_dequeue();
 *	SINGLE_INSTANCE: they are given to @upcall one after the other; MANY:
 *	the same (E97)
 * @upcall: function and its first argument; copied; with DISABLE may be null
 * @evd_flags: DAT_EVD_*_FLAG, the streams that may feed it, at least one
 * @evd_handle: out
 *
 * An EVD for DTO, RMR bind and software events alone runs its upcall in softirq
 * context, any other in process context (E98).  Process context.
 * Rules E12..E16, E92..E101, E110.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for
 * the length, /ARG3 for an unknown policy or TEARDOWN, /ARG4 for an active
 * policy without a function, /ARG5 for the flags, /ARG6 for a null
 * @evd_handle; DAT_INSUFFICIENT_RESOURCES/TEVD for a length above max_evd_qlen,
 * /MEMORY.
 */
DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);
	DAT_EVD_HANDLE handle;
	struct kdapl_evd *evd;
	DAT_RETURN ret;
	int err;

	if (other)
		return KDAT_THEIRS(other, evd_kcreate, ia_handle, evd_min_qlen, upcall_policy,
				   upcall, evd_flags, evd_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	ret = kcreate_check(ia_handle, evd_min_qlen, upcall_policy, upcall);
	if (ret)
		return ret;
	ret = kdapl_evd_create(SPACE, ia_handle, evd_min_qlen, evd_flags,
			       evd_handle ? &handle : NULL);
	if (ret)
		return ret;

	/* The IA may have been closed meanwhile, and the EVD with it. */
	evd = kdapl_evd_find(SPACE, handle);
	if (!evd)
		return INVALID_HANDLE(IA);
	err = kdat_upcall_init(evd, upcall_policy, upcall);
	kdapl_evd_put(evd);
	if (err == -ESTALE)
		return INVALID_HANDLE(IA);
	if (err) {
		kdapl_evd_free(SPACE, handle);
		return RET_NO_RESOURCE(MEMORY);
	}
	*evd_handle = handle;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL(dat_evd_kcreate);

/**
 * dat_evd_modify_upcall - change policy and upcall of an EVD
 * @evd_handle: an EVD
 * @upcall_policy: DISABLE: no upcall starts any more; TEARDOWN: and none is
 *	running when the call returns; SINGLE_INSTANCE, MANY: upcalls start for
 *	what is queued at once
 * @upcall: replaces function and instance data as a pair; DAT_UPCALL_SAME
 *	(null) keeps them
 *
 * Process context; TEARDOWN not from the EVD's own upcall, and not under a lock
 * that the upcall takes.  Rules E92, E102..E105, E108..E110.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for an unknown policy, /ARG3 for an active policy
 * without a function; DAT_INVALID_STATE/EVD_IN_USE for TEARDOWN from the EVD's
 * own upcall; DAT_INSUFFICIENT_RESOURCES/MEMORY, only at the first call for an
 * EVD that dat_ia_openv() made.
 */
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);
	struct kdapl_evd *evd;
	int err;

	if (other)
		return KDAT_THEIRS(other, evd_modify_upcall, evd_handle, upcall_policy, upcall);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	evd = kdapl_evd_find(SPACE, evd_handle);
	if (!evd)
		return INVALID_HANDLE(EVD_REQUEST);
	if (upcall_policy != DAT_UPCALL_DISABLE &&
	    upcall_policy != DAT_UPCALL_TEARDOWN &&
	    !kdat_upcall_active(upcall_policy)) {
		kdapl_evd_put(evd);
		return INVALID_ARG(2);
	}
	err = kdat_upcall_modify(evd, upcall_policy, upcall);
	kdapl_evd_put(evd);
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EINVAL:
		return INVALID_ARG(3);
	case -EDEADLK:
		return RET_BAD_STATE(EVD_IN_USE);
	case -ESTALE:
		return INVALID_HANDLE(EVD_REQUEST);
	default:
		return RET_NO_RESOURCE(MEMORY);
	}
}
EXPORT_SYMBOL(dat_evd_modify_upcall);

/**
 * dat_evd_query - parameters of an EVD
 * @evd_handle: an EVD
 * @evd_param_mask: DAT_EVD_FIELD_*
 * @evd_param: out
 *
 * After TEARDOWN the policy reads DISABLE.  Upcall context.  Rule E104.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);
	struct kdapl_evd *evd;
	DAT_RETURN ret;

	if (other)
		return KDAT_THEIRS(other, evd_query, evd_handle, evd_param_mask, evd_param);
	evd = kdapl_evd_find(SPACE, evd_handle);
	if (!evd)
		return INVALID_HANDLE(EVD_REQUEST);
	ret = kdapl_evd_query(SPACE, evd_handle, evd_param_mask, evd_param);
	if (!ret)
		kdat_upcall_query(evd, evd_param);
	kdapl_evd_put(evd);
	return ret;
}
EXPORT_SYMBOL(dat_evd_query);

/**
 * dat_evd_resize - change the length of an EVD
 * @evd_handle: an EVD
 * @evd_min_qlen: entries, 1 .. max_evd_qlen; less than the present length
 *	succeeds, and the present length stays in force
 *
 * Process context.  Rules E49, E53..E57.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for another length; DAT_INVALID_STATE/EVD_IN_USE
 * with more events queued than that; DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_resize, evd_handle, evd_min_qlen);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_evd_resize(SPACE, evd_handle, evd_min_qlen);
}
EXPORT_SYMBOL(dat_evd_resize);

/**
 * dat_evd_post_se - queue a software event
 * @evd_handle: an EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: a DAT_SOFTWARE_EVENT; copied
 *
 * Upcall context.  Rules E50..E52, E101.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG1 for an EVD without the flag, /ARG2 for a null
 * event or one with another number; DAT_QUEUE_FULL.
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_post_se, evd_handle, event);
	return kdapl_evd_post_se(SPACE, evd_handle, event);
}
EXPORT_SYMBOL(dat_evd_post_se);

/**
 * dat_evd_dequeue - take the oldest event
 * @evd_handle: an EVD
 * @event: out
 *
 * Legal whatever the upcall policy is, also from the upcall.  Upcall context.
 * Rules E41..E48, E95.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for a null @event; DAT_QUEUE_EMPTY.
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_dequeue, evd_handle, event);
	return kdapl_evd_dequeue(SPACE, evd_handle, event);
}
EXPORT_SYMBOL(dat_evd_dequeue);

/**
 * dat_evd_free - free an EVD
 * @evd_handle: an EVD that no EP, PSP or RSP feeds
 *
 * What is queued is lost; connection requests among it are rejected.  When it
 * returned, no upcall of the EVD runs or will run.  Process context, not from
 * the EVD's own upcall.  Rules E58..E60, E102, E108.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_STATE/EVD_IN_USE while something feeds it, for the async EVD of
 * an open IA, and from its own upcall.
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_free, evd_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_evd_free(SPACE, evd_handle);
}
EXPORT_SYMBOL(dat_evd_free);

/* ---- EP ----------------------------------------------------------------- */

/**
 * dat_ep_create - make an endpoint
 * @ia_handle: an IA
 * @pz_handle: a PZ of the IA, or null
 * @recv_completion_evd_handle: an EVD with the DTO flag, or null: receive
 *	completions are not wanted
 * @request_completion_evd_handle: the same for requests
 * @connect_evd_handle: an EVD with the CONNECTION flag, or null
 * @ep_attributes: null: defaults, among them RDMA read depths of 4 both ways,
 *	or what the device has if that is less
 * @ep_handle: out: an EP in state Unconnected
 *
 * What is null can be set by dat_ep_modify(); PZ and connect EVD are needed for
 * connecting.  Process context.  Rules E.1, E17..E22.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ, /EVD_RECV, /EVD_REQUEST,
 * /EVD_CONN; DAT_INVALID_PARAMETER/ARG6 for attributes beyond the IA's limits,
 * or completion flags that do not agree with what feeds the EVD already (E21),
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
 * @ep_param: out, filled whole; its pointers are good as long as the EP
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
 * @ep_param_mask: DAT_EP_FIELD_*; which of them its state allows: M4
 * @ep_param: new values
 *
 * All or nothing.  Process context.  Rules E.4, M4.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for
 * unknown bits and for what can never change, /ARG3 for a null @ep_param, a bad
 * value or handle in it, and for fewer receives or segments than are posted;
 * DAT_INVALID_STATE/EP_... for what the state does not allow, and for the flags
 * of receives while receives are posted; DAT_INSUFFICIENT_RESOURCES/TEVD,
 * /MEMORY, the latter also for another number of DTOs while completions from
 * before the last such change are not dequeued.
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
 * @remote_conn_qual: 1 .. 65535, a port of RDMA_PS_TCP
 * @timeout: microseconds, not 0, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes, 0 .. max_private_data_size
 * @private_data: copied; ignored with size 0
 * @quality_of_service: DAT_QOS_BEST_EFFORT
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG
 *
 * One connection event tells the outcome.  Process context; does not wait for
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
 * dat_ep_dup_connect - connect to where another endpoint is connected to
 * @ep_handle: an Unconnected EP with PZ and connect EVD
 * @ep_dup_handle: a Connected EP of the same IA, its active side
 * @timeout: microseconds, not 0, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes, 0 .. max_private_data_size
 * @private_data: copied; ignored with size 0
 * @quality_of_service: DAT_QOS_BEST_EFFORT
 *
 * One connection event tells the outcome.  Process context; does not wait for
 * the peer.  Rules C1..C21.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP, also for EPs of different IAs;
 * DAT_INVALID_PARAMETER/ARG2 for an @ep_dup_handle that was the passive side,
 * /ARG3 for the timeout, /ARG4 for the size, /ARG5 for a null @private_data;
 * DAT_INVALID_STATE/EP_..., of @ep_dup_handle first, /EP_NOTREADY;
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
 * One DISCONNECTED event tells the end.  Upcall context.  Rules D1..D54.
 *
 * Return: DAT_SUCCESS, also in state Disconnected, without effect;
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
 * Waits until the former connection has flushed, for 10 seconds at most, and not for
 * the peer; but on iWARP, after an attempt that nobody has answered yet, as long as the
 * driver tries (siw: two minutes).  Process context.  Rules R1..R16.
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
 * A connection ends as by an abrupt disconnect, without an event here.  When it
 * returned, the device does not touch the EP's buffers any more.  It waits for
 * the flush, 10 seconds at most, and neither for the peer nor for an upcall; on iWARP
 * as dat_ep_reset() does.  Process context.  Rules F1..F18.
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
 * Buffers that were posted and whose completion was not seen in the device's queue yet; each
 * completes once, so both numbers are the same.  Either pointer may be null.  Nobody but the
 * device knows what an EP holds of an SRQ.  Upcall context.  Rules E.11, RULING 43.
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
 * dat_ep_set_watermark - bounds on the buffers held from a shared queue
 * @ep_handle: an EP
 * @soft_high_watermark: at least 0, or DAT_WATERMARK_INFINITE
 * @hard_high_watermark: the same
 *
 * Not offered (srq_watermarks_supported has neither bit).  Process context.  Rules E.12,
 * mt:M66.
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
		return INVALID_HANDLE(EP);
	if (!watermark_valid(soft_high_watermark))
		return INVALID_ARG(2);
	if (!watermark_valid(hard_high_watermark))
		return INVALID_ARG(3);
	return RET(MODEL_NOT_SUPPORTED);
}
EXPORT_SYMBOL(dat_ep_set_watermark);

/* ---- posting ------------------------------------------------------------ */

/* To another provider's endpoint, if it is one. */
static noinline DAT_RETURN other_post(DAT_EP_HANDLE ep, const struct kdapl_dto *dto)
{
	DAT_LMR_TRIPLET *iov = (DAT_LMR_TRIPLET *)dto->iov;
	const DAT_PROVIDER *other = kdat_other(ep);

	if (!other)
		return INVALID_HANDLE(EP);
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

/* Posts to kdapl's endpoints pay nothing for others but a comparison: no register is saved. */
static __always_inline DAT_RETURN ep_post(DAT_EP_HANDLE ep, const struct kdapl_dto *dto)
{
	return kdat_is_address(ep) ? other_post(ep, dto) : kdapl_ep_post(SPACE, ep, dto);
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
 * Disconnected; DAT_PROTECTION_VIOLATION/READ for a context of no LMR, or of
 * one in another PZ; DAT_INSUFFICIENT_RESOURCES/MEMORY when max_request_dtos
 * are outstanding; DAT_INTERNAL_ERROR when the device refuses the request.
 * Every LMR can be read from, whatever privileges it has (mt:T30).
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_SEND,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie,
		.flags = completion_flags,
	};

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
 * Return: as dat_ep_post_send(), with DAT_PROTECTION_VIOLATION/WRITE,
 * DAT_PRIVILEGES_VIOLATION/WRITE, DAT_INSUFFICIENT_RESOURCES/MEMORY when
 * max_recv_dtos are outstanding, and no DAT_INVALID_STATE with the EP's state.
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RECV,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie,
		.flags = completion_flags,
	};

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
 * Return: as dat_ep_post_send(), with max_rdma_size for the bytes, /ARG5 for a
 * @remote_iov that is null or wraps, /ARG6 for the flags, DAT_LENGTH_ERROR when
 * the local segments are too short, DAT_PROTECTION_VIOLATION/WRITE,
 * DAT_PRIVILEGES_VIOLATION/WRITE and DAT_INSUFFICIENT_RESOURCES/CREDITS for an
 * EP without outgoing reads.
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RDMA_READ,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie,
		.remote = remote_iov,
		.flags = completion_flags,
	};

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
 * Return: as dat_ep_post_send(), with max_rdma_size for the bytes, /ARG5 for a
 * @remote_iov that is null or wraps, /ARG6 for the flags and DAT_LENGTH_ERROR
 * when the remote buffer is too short.
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RDMA_WRITE,
		.segments = num_segments,
		.iov = local_iov,
		.cookie = user_cookie,
		.remote = remote_iov,
		.flags = completion_flags,
	};

	return ep_post(ep_handle, &dto);
}
EXPORT_SYMBOL(dat_ep_post_rdma_write);

/* ---- service points and connection requests ----------------------------- */

/**
 * dat_psp_create - listen
 * @ia_handle: an IA
 * @conn_qual: 1 .. 65535, a port of RDMA_PS_TCP
 * @evd_handle: an EVD with the CR flag; its length is the backlog
 * @psp_flags: who makes the EP of a request
 * @psp_handle: out
 *
 * Listens when it returned; the first request may arrive before that.  Process
 * context.  Rules P1..P10.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /EVD_CR, the latter also for an
 * EVD that DTOs without notification feed (E21); DAT_INVALID_PARAMETER/ARG2 for
 * the qualifier, /ARG4 for the flags, /ARG5 for a null @psp_handle;
 * DAT_CONN_QUAL_IN_USE; DAT_CONN_QUAL_UNAVAILABLE when the adapter's address is
 * just going; DAT_PRIVILEGES_VIOLATION for a qualifier below 1024 when the
 * calling process has no right to bind it; DAT_INSUFFICIENT_RESOURCES/TEP,
 * /MEMORY.
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, psp_create, ia_handle, conn_qual, evd_handle, psp_flags,
				   psp_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_psp_create(SPACE, ia_handle, conn_qual, evd_handle,
				psp_flags, psp_handle);
}
EXPORT_SYMBOL(dat_psp_create);

/**
 * dat_psp_create_any - listen on a qualifier that is free
 * @ia_handle: an IA
 * @conn_qual: out: the qualifier, 1024 or more
 * @evd_handle: an EVD with the CR flag; its length is the backlog
 * @psp_flags: who makes the EP of a request
 * @psp_handle: out
 *
 * Process context.  Rule P16.
 *
 * Return: as dat_psp_create(), with DAT_INVALID_PARAMETER/ARG2 for a null
 * @conn_qual, DAT_CONN_QUAL_UNAVAILABLE for none free, and never
 * DAT_CONN_QUAL_IN_USE or DAT_PRIVILEGES_VIOLATION.
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, psp_create_any, ia_handle, conn_qual, evd_handle,
				   psp_flags, psp_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_psp_create_any(SPACE, ia_handle, conn_qual, evd_handle,
				    psp_flags, psp_handle);
}
EXPORT_SYMBOL(dat_psp_create_any);

/**
 * dat_psp_query - parameters of a public service point
 * @psp_handle: a PSP
 * @psp_param_mask: DAT_PSP_FIELD_*
 * @psp_param: out
 *
 * Process context.  Rule P17.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PSP; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	const DAT_PROVIDER *other = kdat_other(psp_handle);

	if (other)
		return KDAT_THEIRS(other, psp_query, psp_handle, psp_param_mask, psp_param);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_psp_query(SPACE, psp_handle, psp_param_mask, psp_param);
}
EXPORT_SYMBOL(dat_psp_query);

/**
 * dat_psp_free - stop listening
 * @psp_handle: a PSP
 *
 * Requests that have arrived stay.  Process context.  Rules P11..P15.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PSP.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	const DAT_PROVIDER *other = kdat_other(psp_handle);

	if (other)
		return KDAT_THEIRS(other, psp_free, psp_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_psp_free(SPACE, psp_handle);
}
EXPORT_SYMBOL(dat_psp_free);

/**
 * dat_rsp_create - listen for one request, for one endpoint
 * @ia_handle: an IA
 * @conn_qual: 1 .. 65535, a port of RDMA_PS_TCP
 * @ep_handle: an Unconnected EP; null: one is made when the request arrives
 * @evd_handle: an EVD with the CR flag
 * @rsp_handle: out
 *
 * Process context.  Rules P20..P32.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /EP, /EVD_CR;
 * DAT_INVALID_PARAMETER/ARG2 for the qualifier, /ARG5 for a null @rsp_handle;
 * DAT_INVALID_STATE/EP_... for an EP that is not Unconnected; otherwise as
 * dat_psp_create().
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);

	if (other)
		return KDAT_THEIRS(other, rsp_create, ia_handle, conn_qual, ep_handle, evd_handle,
				   rsp_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_rsp_create(SPACE, ia_handle, conn_qual, ep_handle,
				evd_handle, rsp_handle);
}
EXPORT_SYMBOL(dat_rsp_create);

/**
 * dat_rsp_query - parameters of a reserved service point
 * @rsp_handle: an RSP
 * @rsp_param_mask: DAT_RSP_FIELD_*
 * @rsp_param: out
 *
 * Process context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RSP; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	const DAT_PROVIDER *other = kdat_other(rsp_handle);

	if (other)
		return KDAT_THEIRS(other, rsp_query, rsp_handle, rsp_param_mask, rsp_param);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_rsp_query(SPACE, rsp_handle, rsp_param_mask, rsp_param);
}
EXPORT_SYMBOL(dat_rsp_query);

/**
 * dat_rsp_free - stop listening
 * @rsp_handle: an RSP
 *
 * Its EP is Unconnected again unless the request has arrived.  Process context.
 * Rules P26..P29.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RSP.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	const DAT_PROVIDER *other = kdat_other(rsp_handle);

	if (other)
		return KDAT_THEIRS(other, rsp_free, rsp_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_rsp_free(SPACE, rsp_handle);
}
EXPORT_SYMBOL(dat_rsp_free);

/**
 * dat_cr_query - who asks to connect
 * @cr_handle: a CR
 * @cr_param_mask: DAT_CR_FIELD_*
 * @cr_param: out; its pointers are good until the CR is accepted or rejected
 *
 * The transport pads private data with zeros.  Process context.
 * Rules P40..P43.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CR; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	const DAT_PROVIDER *other = kdat_other(cr_handle);

	if (other)
		return KDAT_THEIRS(other, cr_query, cr_handle, cr_param_mask, cr_param);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_cr_query(SPACE, cr_handle, cr_param_mask, cr_param);
}
EXPORT_SYMBOL(dat_cr_query);

/**
 * dat_cr_accept - accept a connection request
 * @cr_handle: a CR
 * @ep_handle: an Unconnected EP with PZ and connect EVD; null if the CR has one
 * @private_data_size: bytes, 0 .. max_private_data_size
 * @private_data: copied; ignored with size 0
 *
 * After success the CR is gone, and one event on the EP's connect EVD tells the
 * outcome; after a failure the CR can be answered again.  Process context; does
 * not wait for the peer.  Rules P50..P61.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CR, /EP, the latter also for an EP
 * given for a CR that has one; DAT_INVALID_PARAMETER/ARG3 for the size, /ARG4
 * for a null @private_data; DAT_INVALID_STATE/EP_... for another state,
 * /EP_NOTREADY without PZ or connect EVD; DAT_INSUFFICIENT_RESOURCES/TEP when
 * no queue pair can be made.
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	const DAT_PROVIDER *other = kdat_other(cr_handle);

	if (other)
		return KDAT_THEIRS(other, cr_accept, cr_handle, ep_handle, private_data_size,
				   private_data);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_cr_accept(SPACE, cr_handle, ep_handle, private_data_size,
			       private_data);
}
EXPORT_SYMBOL(dat_cr_accept);

/**
 * dat_cr_reject - reject a connection request
 * @cr_handle: a CR
 *
 * The CR is gone, and with it an EP that the provider made for it; the EP of an
 * RSP is Unconnected again.  The peer sees PEER_REJECTED.  Process context.
 * Rules P70..P72.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CR.
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	const DAT_PROVIDER *other = kdat_other(cr_handle);

	if (other)
		return KDAT_THEIRS(other, cr_reject, cr_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_cr_reject(SPACE, cr_handle);
}
EXPORT_SYMBOL(dat_cr_reject);

/**
 * dat_cr_handoff - give a connection request to another service point
 * @cr_handle: a CR
 * @handoff: qualifier of a service point that listens at this adapter,
 *	     whoever's it is
 *
 * The CR is gone, and with it an EP that the provider made for it; the service
 * point raises a request of its own.  Process context.  Rules P80..P84.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CR; DAT_INVALID_PARAMETER/ARG2 when
 * nobody listens there; DAT_INVALID_STATE when the device is gone.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	const DAT_PROVIDER *other = kdat_other(cr_handle);

	if (other)
		return KDAT_THEIRS(other, cr_handoff, cr_handle, handoff);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_cr_handoff(SPACE, cr_handle, handoff);
}
EXPORT_SYMBOL(dat_cr_handoff);
