/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The streams of an EVD, see evd_streams.c. */
#ifndef KDAPL_EVD_STREAMS_H
#define KDAPL_EVD_STREAMS_H

#include "evd.h"

void kdapl_evd_streams_init(struct kdapl_evd *evd);
int kdapl_evd_attach(struct kdapl_evd *evd, enum kdapl_stream stream,
		     DAT_COMPLETION_FLAGS flags, const struct kdapl_streams *own);
void kdapl_evd_detach(struct kdapl_evd *evd, enum kdapl_stream stream,
		      DAT_COMPLETION_FLAGS flags);
void kdapl_streams_add(struct kdapl_streams *streams, enum kdapl_stream stream,
		       DAT_COMPLETION_FLAGS flags);
void kdapl_evd_watch(struct kdapl_evd *evd);
void kdapl_evd_cq_failed(struct kdapl_evd *evd);
void kdapl_evd_report(struct kdapl_evd *evd);

#endif /* KDAPL_EVD_STREAMS_H */
