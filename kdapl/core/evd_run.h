/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The runner of an EVD, see evd_run.c. */
#ifndef KDAPL_EVD_RUN_H
#define KDAPL_EVD_RUN_H

#include "evd.h"

void kdapl_evd_run_init(struct kdapl_evd *evd);

#endif /* KDAPL_EVD_RUN_H */
