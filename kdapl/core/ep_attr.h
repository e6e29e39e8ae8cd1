/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The attributes of an endpoint and the objects that it uses, see ep_attr.c.
 */
#ifndef KDAPL_EP_ATTR_H
#define KDAPL_EP_ATTR_H

#include "ep.h"

struct kdapl_pz;

/*
 * struct kdapl_ep_use - the objects of an endpoint, each with a use and a reference
 * @pz, @recv_evd, @request_evd, @connect_evd: as the consumer gave them, or NULL
 * @hidden: stands in for an EVD for completions that the consumer did not give
 * @lent: @hidden belongs to another kdapl_ep_use
 * @recv_flags, @recv_entries: how the stream of receives is attached
 * @request_flags, @request_entries: how the stream of requests is attached
 * @attached: of the above, what was attached and has to be detached
 *
 * Taken as a whole before anything changes, and given back as a whole.
 */
struct kdapl_ep_use {
	struct kdapl_pz *pz;
	struct kdapl_evd *recv_evd;
	struct kdapl_evd *request_evd;
	struct kdapl_evd *connect_evd;
	struct kdapl_evd *hidden;
	bool lent;
	u32 recv_flags;
	u32 recv_entries;
	u32 request_flags;
	u32 request_entries;
	u8 attached;
};

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
