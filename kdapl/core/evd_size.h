/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The streams of an EVD and the size of its CQ, see evd_size.c. */
#ifndef KDAPL_EVD_SIZE_H
#define KDAPL_EVD_SIZE_H

#include "evd.h"

void kdapl_evd_size_init(struct kdapl_evd *evd);
int kdapl_evd_attach(struct kdapl_evd *evd, enum kdapl_stream stream,
		     DAT_COMPLETION_FLAGS flags, u32 entries,
		     const struct kdapl_streams *own);
void kdapl_evd_detach(struct kdapl_evd *evd, enum kdapl_stream stream,
		      DAT_COMPLETION_FLAGS flags, u32 entries);
void kdapl_streams_add(struct kdapl_streams *streams, enum kdapl_stream stream,
		       DAT_COMPLETION_FLAGS flags, u32 entries);
void kdapl_evd_watch(struct kdapl_evd *evd);
int kdapl_evd_hold_cq(struct kdapl_evd *evd);
void kdapl_evd_release_cq(struct kdapl_evd *evd);
void kdapl_evd_destroy_cq(struct kdapl_evd *evd);

#endif /* KDAPL_EVD_SIZE_H */
