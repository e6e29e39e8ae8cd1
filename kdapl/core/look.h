/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is told of live objects to those who watch (look.c). */
#ifndef KDAPL_LOOK_H
#define KDAPL_LOOK_H

#include "ep.h"
#include "ia.h"

/*
 * Of an EP.  @life counts the queue pairs that were bound to it in passthrough.  There
 * @requests and @recvs are 0, since only the process knows what it has posted.
 */
struct kdapl_look_ep {
	enum kdapl_ep_state state;
	u32 qp;
	u32 life;
	u32 requests;
	u32 max_requests;
	u32 recvs;
	u32 max_recvs;
	u64 pz;
	u64 recv_evd;
	u64 request_evd;
	u64 connect_evd;
	u64 srq;
};

/* Of an SRQ; @recvs: outstanding, including those that queue pairs have taken */
struct kdapl_look_srq {
	bool broken;
	u32 recvs;
	u32 max_recvs;
	u32 low_watermark;
	u64 pz;
};

struct kdapl_look_evd {
	u32 queued;
	u32 qlen;
	u32 cqes;
	bool overflowed;
	u64 dropped;
};

/* Of an LMR, and of an RMR that is bound; @lmr: the LMR that the RMR is bound to */
struct kdapl_look_memory {
	u64 pz;
	u64 lmr;
	u64 length;
	u32 lmr_context;
	u32 rmr_context;
	u32 privileges;
};

/**
 * struct kdapl_look - an object as it was a moment ago
 * @obj: the object, with a reference of whoever looks
 * @refs: references of its memory, without that one
 * @users: objects that depend on it
 * @pages: of an LMR: pages of memory that the device knows; of an EP, EVD or SRQ: pages that
 *	   were charged for its queues
 * @remote: address of the peer of an EP or CR; its family is 0 if there is none
 * @remote_qual: the peer's port
 * @local_qual: ours, also of a service point
 * @evd: handle of a service point's EVD
 * @ep: of an EP
 * @event: of an EVD
 * @memory: of an LMR or RMR
 * @srq: of an SRQ
 */
struct kdapl_look {
	struct kdapl_object *obj;
	u32 refs;
	u32 users;
	u64 pages;
	struct sockaddr_storage remote;
	u64 remote_qual;
	u64 local_qual;
	u64 evd;
	union {
		struct kdapl_look_ep ep;
		struct kdapl_look_evd event;
		struct kdapl_look_memory memory;
		struct kdapl_look_srq srq;
	};
};

/**
 * struct kdapl_look_sum - all objects of a space
 * @objects: how many, by type
 * @ias: open IAs: [0] without, [1] with passthrough
 * @pages: that a process is charged for, except those that objects share
 */
struct kdapl_look_sum {
	u32 objects[KDAPL_NR_TYPES];
	u32 ias[2];
	u64 pages;
};

struct kdapl_object *kdapl_look_next(struct kdapl_space *space, u32 *index);
void kdapl_look_at(struct kdapl_look *look, struct kdapl_object *obj);
void kdapl_look_sum(struct kdapl_look_sum *sum, struct kdapl_space *space);

#endif /* KDAPL_LOOK_H */
