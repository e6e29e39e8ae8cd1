/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Inputs of the endpoint table, see ep_apply.c. */
#ifndef KDAPL_EP_APPLY_H
#define KDAPL_EP_APPLY_H

#include "ep.h"

void kdapl_ep_lock_dirs(struct kdapl_ep *ep)
	__acquires(&ep->req.lock) __acquires(&ep->recv.lock);
void kdapl_ep_unlock_dirs(struct kdapl_ep *ep)
	__releases(&ep->recv.lock) __releases(&ep->req.lock);
void kdapl_ep_set_gates(struct kdapl_ep *ep);
u32 kdapl_ep_event_life(const struct kdapl_ep *ep);
DAT_RETURN kdapl_ep_input(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input);
DAT_RETURN kdapl_ep_begin(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input);
void kdapl_ep_post_held(struct kdapl_ep *ep, struct kdapl_conn *conn);
void kdapl_ep_leave_conn(struct kdapl_ep *ep);
bool kdapl_ep_resolved(struct kdapl_ep *ep, struct kdapl_conn *conn);
bool kdapl_ep_reset_flushed(struct kdapl_ep *ep, DAT_RETURN *ret,
			    struct kdapl_conn **conn);
DAT_RETURN kdapl_ep_ready(struct kdapl_ep *ep);

/* What @input would return now; the state may change at once. */
static inline DAT_RETURN kdapl_ep_peek(struct kdapl_ep *ep,
				       enum kdapl_ep_input input)
{
	return kdapl_ep_fsm(READ_ONCE(ep->state), input)->ret;
}

#endif /* KDAPL_EP_APPLY_H */
