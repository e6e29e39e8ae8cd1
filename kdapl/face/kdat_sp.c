// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: public and reserved service points, and connection requests.
 * Kernel modules call these functions; what all of them have in common is told in
 * Documentation/kdat-api.rst, The contracts.
 */
#include <linux/export.h>
#include "kdat_call.h"

/**
 * dat_psp_create - make a service point that listens
 * @ia_handle: an IA
 * @conn_qual: a port of RDMA_PS_TCP, or more, which is folded to one (RULING 47); not 0
 * @evd_handle: an EVD with the CR flag; its length is the backlog
 * @psp_flags: whether the consumer or the provider makes the EP for a request
 * @psp_handle: out
 *
 * The service point listens when this has returned; the first request may arrive before
 * that.  Process context.  Rules P1..P10.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /EVD_CR, the latter also for an
 * EVD that DTO streams without notification feed (E21); DAT_INVALID_PARAMETER/ARG2 for
 * the qualifier, /ARG4 for the flags, /ARG5 for a null @psp_handle;
 * DAT_CONN_QUAL_IN_USE; DAT_CONN_QUAL_UNAVAILABLE when no address of the adapter can be
 * bound, for example because it is just being removed; DAT_PRIVILEGES_VIOLATION for a qualifier
 * below 1024 if the calling process may not bind it; DAT_INSUFFICIENT_RESOURCES/TEP,
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
 * @psp_flags: whether the consumer or the provider makes the EP for a request
 * @psp_handle: out
 *
 * Process context.  Rule P16.
 *
 * Return: as dat_psp_create(), but with DAT_INVALID_PARAMETER/ARG2 for a null
 * @conn_qual, DAT_CONN_QUAL_UNAVAILABLE also if no qualifier is free, and never
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
 * Connection requests that have arrived already stay.  Process context.  Rules P11..P15.
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
 * @conn_qual: a port of RDMA_PS_TCP, or more, which is folded to one (RULING 47); not 0
 * @ep_handle: an Unconnected EP; null: kdapl makes one when the request arrives
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
 * dat_cr_query - parameters of a connection request: the peer and its private data
 * @cr_handle: a CR
 * @cr_param_mask: DAT_CR_FIELD_*
 * @cr_param: out; its pointers are valid until the CR is accepted, rejected or handed off
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
 * If this succeeds, the CR is gone, and one event on the EP's connect EVD reports the
 * outcome; if it fails, the CR can be answered again.  Process context; does
 * not wait for the peer.  Rules P50..P61.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CR, /EP, the latter also if @ep_handle is
 * given for a CR that has an EP; DAT_INVALID_PARAMETER/ARG3 for the size, /ARG4
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
 * The CR is freed, and with it an EP that the provider has made for it; the EP of an
 * RSP becomes Unconnected again.  The peer sees PEER_REJECTED.  Process context.
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
 * @handoff: qualifier of a service point that listens at this adapter and may belong
 *	     to any consumer
 *
 * The CR is freed, and with it an EP that the provider has made for it; the other service
 * point raises a connection request of its own.  Process context.  Rules P80..P84.
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
