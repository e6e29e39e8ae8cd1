/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * LMRs whose memory changes with each transfer, see fmr.c: what the face and lmr.c call.
 */
#ifndef KDAPL_FMR_H
#define KDAPL_FMR_H

#include <dat/kdat_linux.h>
#include "lmr.h"

/* Pages of a list at most: they are mapped, and posted, with interrupts off. */
#define KDAPL_FMR_PAGES		2048

/* struct kdapl_fmr - the arguments of dat_lmr_fmr(), as there */
struct kdapl_fmr {
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
	DAT_EP_HANDLE ep;
	DAT_LMR_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_CONTEXT *lmr_context;
	DAT_RMR_CONTEXT *rmr_context;
};

DAT_RETURN kdapl_lmr_allocate(struct kdapl_space *space, DAT_IA_HANDLE ia,
			      DAT_PZ_HANDLE pz, DAT_COUNT max_pages,
			      DAT_LMR_SCOPE scope, DAT_LMR_HANDLE *handle);
DAT_RETURN kdapl_fmr(struct kdapl_space *space, DAT_LMR_HANDLE handle,
		     const struct kdapl_fmr *fmr);
DAT_RETURN kdapl_fmr_invalidate(struct kdapl_space *space, DAT_LMR_HANDLE handle,
				DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdapl_lmr_state(struct kdapl_space *space, DAT_LMR_HANDLE handle,
			   DAT_LMR_STATE *state);
void kdapl_fmr_fill(struct kdapl_lmr *lmr, DAT_LMR_PARAM *param);
bool kdapl_fmr_take(struct kdapl_lmr *lmr, u32 context);
void kdapl_fmr_end(struct kdapl_lmr *lmr);

#endif /* KDAPL_FMR_H */
