// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Maps the status of a work completion to DAT's: the table of mt:T48, constant data.
 * core/evd_fifo.c uses it for every completion that is not a success.
 */
#include <linux/kernel.h>
#include "glue.h"

/* A status without an entry has 0 here, which stands for DAT_DTO_ERR_TRANSPORT. */
static const u8 dto_status[] = {
	[IB_WC_LOC_LEN_ERR]	  = DAT_DTO_ERR_LOCAL_LENGTH,
	[IB_WC_LOC_QP_OP_ERR]	  = DAT_DTO_ERR_LOCAL_EP,
	[IB_WC_LOC_EEC_OP_ERR]	  = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_LOC_PROT_ERR]	  = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_WR_FLUSH_ERR]	  = DAT_DTO_ERR_FLUSHED,
	[IB_WC_MW_BIND_ERR]	  = DAT_RMR_OPERATION_FAILED,
	[IB_WC_BAD_RESP_ERR]	  = DAT_DTO_ERR_BAD_RESPONSE,
	[IB_WC_LOC_ACCESS_ERR]	  = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_REM_INV_REQ_ERR]	  = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_REM_ACCESS_ERR]	  = DAT_DTO_ERR_REMOTE_ACCESS,
	[IB_WC_REM_OP_ERR]	  = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_RETRY_EXC_ERR]	  = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_RNR_RETRY_EXC_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IB_WC_LOC_RDD_VIOL_ERR]  = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_REM_INV_RD_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_REM_ABORT_ERR]	  = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_INV_EECN_ERR]	  = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_INV_EEC_STATE_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_FATAL_ERR]	  = DAT_DTO_ERR_TRANSPORT,
	[IB_WC_RESP_TIMEOUT_ERR]  = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IB_WC_GENERAL_ERR]	  = DAT_DTO_ERR_TRANSPORT,
};

/**
 * kdapl_wc_status - the DAT status of a work completion (mt:T48)
 * @status: as the device gave it, any value
 *
 * Any context.
 *
 * Return: DAT_DTO_SUCCESS for IB_WC_SUCCESS, else the error of the table; an
 * unknown status is DAT_DTO_ERR_TRANSPORT, never a success or a flush.
 */
DAT_DTO_COMPLETION_STATUS kdapl_wc_status(enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS)
		return DAT_DTO_SUCCESS;
	if ((unsigned int)status >= ARRAY_SIZE(dto_status) ||
	    !dto_status[status])
		return DAT_DTO_ERR_TRANSPORT;
	return dto_status[status];
}
