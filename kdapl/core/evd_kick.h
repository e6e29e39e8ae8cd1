/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Waking the runner of an EVD, see evd_kick.c; kdapl_evd_kick() is in core.h. */
#ifndef KDAPL_EVD_KICK_H
#define KDAPL_EVD_KICK_H

#include "evd.h"

void kdapl_evd_schedule(struct kdapl_evd *evd);
void kdapl_evd_unhide(struct kdapl_evd *evd);
void kdapl_evd_watch_now(struct kdapl_evd *evd);
void kdapl_evd_cq_faulted(struct kdapl_evd *evd);

#endif /* KDAPL_EVD_KICK_H */
