/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a CM event means to an endpoint; see cm_event.c. */
#ifndef KDAPL_CM_EVENT_H
#define KDAPL_CM_EVENT_H

#include <rdma/rdma_cm.h>
#include "../core/ep_fsm.h"

/* The event alone is no input of the endpoint table. */
#define KDAPL_CM_NO_INPUT	KDAPL_EP_NR_INPUTS

/*
 * The private data of a reject that a consumer asked for begin with this mark; his own are behind
 * it.  By the mark the peer can tell it from the reject of a request that was dropped (A.7).
 */
#define KDAPL_CM_MARK		4
extern const u8 kdapl_cm_mark[KDAPL_CM_MARK];

enum kdapl_ep_input kdapl_cm_event_input(enum rdma_cm_event_type event,
					 int status, bool mark);
bool kdapl_cm_reject_mark(const void *data, u8 len);
const void *kdapl_cm_reject_data(const void *data, u8 *len);
int kdapl_cm_connect_error(int err);

#endif /* KDAPL_CM_EVENT_H */
