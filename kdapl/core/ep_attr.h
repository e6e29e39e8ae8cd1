/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The attributes of an endpoint and the objects that it uses, see ep_attr.c.
 */
#ifndef KDAPL_EP_ATTR_H
#define KDAPL_EP_ATTR_H

#include "ep.h"

/* The handles of a create call, found and checked. */
DAT_RETURN kdapl_ep_use_find(struct kdapl_ep_use *use, struct kdapl_ia *ia,
			     DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			     DAT_EVD_HANDLE request_evd,
			     DAT_EVD_HANDLE connect_evd);
void kdapl_ep_use_put(struct kdapl_ep_use *use);
void kdapl_ep_default_attr(const struct kdapl_device *dev, DAT_EP_ATTR *attr);
bool kdapl_ep_attr_check(const struct kdapl_device *dev, DAT_EP_ATTR *attr);
DAT_RETURN kdapl_ep_configure(struct kdapl_ep *ep, struct kdapl_ep_use *use,
			      const DAT_EP_ATTR *attr);
u32 kdapl_ep_max_dtos(const struct kdapl_device *dev);
u32 kdapl_ep_request_wrs(const struct kdapl_ep *ep);

#endif /* KDAPL_EP_ATTR_H */
