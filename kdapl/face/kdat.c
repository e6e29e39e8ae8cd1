// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: the exported functions of include/dat/kdat.h.  Each of them
 * calls the core with the kernel's handle space.  The core enforces the rules; the contract of
 * each call is at the function here, and what all contracts have in common, contexts and
 * return codes, is told in Documentation/kdat-api.rst, The contracts.
 *
 * This file has the queries of an adapter, and the calls that every object has; the others are
 * in kdat_*.c.  Only this face has upcalls (kdat_upcall.c) and the providers of other modules
 * (kdat_registry.c): if a handle belongs to one of these, the call is passed on to it
 * (kdat_other()).  It answers the call for an optional part of DAT that kdapl does not offer:
 * receive watermarks (dat_ep_set_watermark()).
 */
#include <linux/export.h>
#include "kdat_call.h"

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
 * Pointers in the attributes are valid until the IA is closed.  Process context.
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
 * dat_ia_memtype_hint - the length and alignment that suit registrations of a kind best
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
 * @context: replaces the present value; kdapl does not interpret it
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
 * dat_get_handle_type - the type of an object
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
