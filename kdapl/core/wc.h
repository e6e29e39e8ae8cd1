/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a completion is, by what the device says of it; for evd_fifo.c, which judges them. */
#ifndef KDAPL_WC_H
#define KDAPL_WC_H

#include <dat/kdat_linux.h>
#include "dir.h"

/*
 * A DTO that is several work requests completes with the last one.  Of the completions
 * before that one only a failure matters to it.
 */
static inline bool wc_is_part(const struct ib_wc *wc)
{
	return wc->wr_id & KDAPL_WR_PART;
}

/*
 * Is a receive's completion what a plain send of the peer's leaves behind (mt:T59)?  The
 * peer may use verbs that DAT does not have: a write with immediate data takes a
 * receive without filling it, and a send may invalidate the device's key of a region.
 */
static inline bool wc_is_message(const struct ib_wc *wc,
				 const struct kdapl_cookie *cookie)
{
	return wc->opcode == IB_WC_RECV && wc->byte_len <= cookie->length &&
	       !(wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE));
}

/*
 * Was a receive taken by a peer's write with immediate data, and does its consumer know of such
 * writes?  The receive stays unfilled.
 */
static inline bool wc_is_immed(const struct ib_wc *wc, const struct kdapl_cookie *cookie)
{
	return wc->status == IB_WC_SUCCESS && wc->opcode == IB_WC_RECV_RDMA_WITH_IMM &&
	       wc->wc_flags & IB_WC_WITH_IMM &&
	       cookie->dir->evd->flags & KDAT_EVD_EXTENDED_FLAG;
}

#endif /* KDAPL_WC_H */
