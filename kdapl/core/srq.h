/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared Receive Queues: receives that are posted once for all endpoints on a queue, each
 * of which takes the next one when a message arrives.  srq.c has the life of SRQs, srq_post.c
 * what is posted to them, and what becomes of it.
 */
#ifndef KDAPL_SRQ_H
#define KDAPL_SRQ_H

#include <linux/xarray.h>
#include "ep.h"

struct kdapl_pz;

/* Bits of kdapl_srq.due: what the work item of an SRQ has to tell */
#define KDAPL_SRQ_LOW	0	/* the low watermark was reached */
#define KDAPL_SRQ_ERROR	1	/* the device has lost the queue */

/*
 * struct kdapl_srq_cookie - a receive of an SRQ
 * @cookie: @cookie.dir is the SRQ's own until it is known which endpoint took the receive,
 *	    and that endpoint's from then on
 * @srq: whose
 * @entry: in kdapl_srq.free or kdapl_srq.posted
 * @number: of the post, counted from 1
 */
struct kdapl_srq_cookie {
	struct kdapl_cookie cookie;
	struct kdapl_srq *srq;
	struct list_head entry;
	u64 number;
};

struct kdapl_srq_cookies;

/*
 * struct kdapl_srq_limits - what SRQs an adapter can have
 * @srqs: how many; 0: none
 * @recvs: in one
 * @iov: segments of a receive
 */
struct kdapl_srq_limits {
	u32 srqs;
	u32 recvs;
	u32 iov;
};

/*
 * struct kdapl_srq - a Shared Receive Queue
 * @rq: the device's queue, none in passthrough; used for posts under @lock, changed under
 *	@mutex and @lock
 * @mutex: creation of endpoints, resizing, arming
 * @lock: all that follows but @cq_entries, @qps, @work; nests inside the lock of an EVD.  The only
 *	  lock of a post
 * @dir: what kdapl_cookie.dir points to until the endpoint is known; has no endpoint
 * @limits: of a post
 * @pz: its zone
 * @cq_entries: completions that an endpoint on it may have outstanding, under @mutex
 * @max: receives that may be outstanding
 * @lw: the low watermark that was set
 * @armed: @lw is set, and has not been reached since
 * @broken: the device has lost the queue
 * @room: how many cookies there are, in @cookies; only grows
 * @outstanding: receives that were posted, and whose completion was not dequeued
 * @free: cookies that are free for a post
 * @posted: receives that were posted and of which no completion has been seen, @queued of
 *	    them, in the order of posting
 * @next_number: number of the last post; the next one has one more
 * @taken: of all receives that are known to have been taken, the highest number
 * @qps: connections by the address of their queue pair, see srq_post.c
 * @due, @work: asynchronous events to raise
 */
struct kdapl_srq {
	struct kdapl_object obj;
	struct kdapl_shared_rq rq;
	struct mutex mutex;
	spinlock_t lock;
	struct kdapl_dir dir;
	struct kdapl_dto_limits limits;
	struct kdapl_pz *pz;
	u32 cq_entries;
	u32 max;
	u32 lw;
	bool armed;
	bool broken;
	u32 room;
	u32 outstanding;
	u32 queued;
	struct list_head free;
	struct list_head posted;
	u64 next_number;
	u64 taken;
	struct kdapl_srq_cookies *cookies;
	struct xarray qps;
	unsigned long due;
	struct work_struct work;
};

static inline struct kdapl_srq *kdapl_srq_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_srq, obj);
}

static inline struct kdapl_srq_cookie *kdapl_srq_cookie_of(const struct kdapl_cookie *cookie)
{
	return container_of(cookie, struct kdapl_srq_cookie, cookie);
}

/* srq.c */
void kdapl_srq_limits(const struct kdapl_ia *ia, struct kdapl_srq_limits *limits);
struct kdapl_srq *kdapl_srq_find(struct kdapl_space *space, DAT_SRQ_HANDLE handle);
void kdapl_srq_raise(struct kdapl_srq *srq, unsigned int what);

/* srq_post.c */
void kdapl_srq_sync_posts(struct kdapl_srq *srq);
int kdapl_srq_add_qp(struct kdapl_srq *srq, struct kdapl_conn *conn);
void kdapl_srq_leave(struct kdapl_srq *srq, struct kdapl_conn *conn);
void kdapl_srq_reclaim(struct kdapl_srq *srq, struct kdapl_ep *ep);
bool kdapl_srq_claim(const struct ib_wc *wc, struct kdapl_cookie *cookie);
void kdapl_srq_cookie_back(struct kdapl_cookie *cookie);

#endif /* KDAPL_SRQ_H */
