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
bool kdapl_ep_zone_fits(const struct kdapl_ep_use *use);
bool kdapl_ep_grow_share(struct kdapl_ep *ep, const struct kdapl_srq *srq, u32 entries);
void kdapl_ep_default_attr(const struct kdapl_device *dev, DAT_EP_ATTR *attr);
bool kdapl_ep_attr_check(const struct kdapl_device *dev, DAT_EP_ATTR *attr);
bool kdapl_ep_attr_reserve(const struct kdapl_device *dev, const DAT_EP_ATTR *attr,
			   u32 *reserve);
DAT_RETURN kdapl_ep_configure(struct kdapl_ep *ep, struct kdapl_ep_use *use,
			      const DAT_EP_ATTR *attr);
/*
 * struct kdapl_ep_limits - the most that an endpoint can have
 * @dtos: in each direction
 * @iov: segments of a send, and of a receive
 * @read_iov, @write_iov: segments of an RDMA read or write
 * @read_in, @read_out: RDMA reads outstanding
 */
struct kdapl_ep_limits {
	u32 dtos;
	u32 iov;
	u32 read_iov;
	u32 write_iov;
	u32 read_in;
	u32 read_out;
};

void kdapl_ep_limits(const struct kdapl_device *dev, struct kdapl_ep_limits *limits);
u32 kdapl_ep_request_sge(const DAT_EP_ATTR *attr);

#endif /* KDAPL_EP_ATTR_H */
