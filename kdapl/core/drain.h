/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The end of what was posted, see drain.c. */
#ifndef KDAPL_DRAIN_H
#define KDAPL_DRAIN_H

#include "ep.h"

unsigned long kdapl_drain_step(struct kdapl_conn *conn);
bool kdapl_answers_may_come(const struct kdapl_conn *conn);
unsigned long kdapl_leave_step(struct kdapl_conn *conn);
unsigned long kdapl_flush_step(struct kdapl_conn *conn);
void kdapl_abandon_requests(struct kdapl_conn *conn);
void kdapl_flush_over(struct kdapl_conn *conn);
void kdapl_dir_flush_late(struct kdapl_dir *dir);
void kdapl_ep_settle_binds(struct kdapl_ep *ep);
void kdapl_ep_flush_rest(struct kdapl_ep *ep, bool lost);
void kdapl_ep_key_gone(struct kdapl_ep *ep, u32 lkey, unsigned long until);

#endif /* KDAPL_DRAIN_H */
