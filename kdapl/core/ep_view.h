/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a process in passthrough is shown of an endpoint, see ep_view.c. */
#ifndef KDAPL_EP_VIEW_H
#define KDAPL_EP_VIEW_H

#include "ep.h"

void kdapl_ep_view_update(struct kdapl_ep *ep);
void kdapl_ep_view_flag(struct kdapl_ep *ep, u32 life, u32 what);
void kdapl_ep_view_hold(struct kdapl_ep *ep, u32 what);
void kdapl_ep_view_publish(struct kdapl_ep *ep);
void kdapl_ep_view_end(struct kdapl_ep *ep);

#endif /* KDAPL_EP_VIEW_H */
