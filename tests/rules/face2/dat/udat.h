/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DAT 2.0 with the arguments of DAT 1.2: the rules are written for 1.2, and udat2_rules is their
 * second compilation, where <dat/udat.h> is this file. What 2.0 asks for besides is added by
 * twelve.c, which also puts the places of refused arguments back.
 */
#ifndef RULES_FACE2_UDAT_H
#define RULES_FACE2_UDAT_H

#include <dat2/udat.h>

#define target_address	virtual_address
#define cno_agent(param)	(&(param)->proxy.agent)

DAT_RETURN twelve_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			     DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			     DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			     DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			     DAT_VADDR *registered_address);
DAT_RETURN twelve_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN twelve_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			   DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);
DAT_RETURN twelve_cr_reject(DAT_CR_HANDLE cr);
DAT_RETURN twelve_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN twelve_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd);

#ifndef TWELVE_ITSELF
#define dat_lmr_create	twelve_lmr_create
#define dat_lmr_free	twelve_lmr_free
#define dat_rmr_bind	twelve_rmr_bind
#define dat_cr_reject	twelve_cr_reject
#define dat_evd_dequeue	twelve_evd_dequeue
#define dat_cno_wait	twelve_cno_wait
#endif

#endif /* RULES_FACE2_UDAT_H */
