/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The completion queues (CQs) of an EVD, see evd_cq.c. */
#ifndef KDAPL_EVD_CQ_H
#define KDAPL_EVD_CQ_H

#include "evd.h"

/* On one EVD as many entries may be promised as so many of the device's largest CQs have. */
#define KDAPL_EVD_MAX_CQS	8

/* Shares of an endpoint: one for each direction. */
#define KDAPL_CQ_SHARES	2

/*
 * struct kdapl_evd_cq - a CQ of an EVD
 * @cq: its @ib is NULL once the device is gone
 * @evd: whose
 * @on_evd: entry in kdapl_evd.cqs; written under kdapl_evd.streams_lock and kdapl_evd.lock
 * @entries: how many entries of the CQ are promised to its shares, all together
 * @pools: struct cq_pool: groups of shares, each of which takes only the room of its largest
 * @nr_shares: directions of endpoints that have a share, connected or not
 * @nr_qps: queue pairs that use the CQ now, each counted for either direction; grows
 *	    under kdapl_evd.streams_lock
 */
struct kdapl_evd_cq {
	struct kdapl_cq cq;
	struct kdapl_evd *evd;
	struct list_head on_evd;
	u32 entries;
	struct list_head pools;
	u32 nr_shares;
	atomic_t nr_qps;
};

/*
 * struct kdapl_cq_share - what one direction of an endpoint needs of a CQ
 * @cq: where its queue pairs complete; NULL: it has no share
 * @entries: completions that it may have outstanding at once
 * @pool: key of the pool that the share is in (struct cq_pool): all shares of it together
 *	  have no more completions outstanding than the largest of them.  NULL: in none
 */
struct kdapl_cq_share {
	struct kdapl_evd_cq *cq;
	u32 entries;
	const void *pool;
};

int kdapl_evd_take_shares(struct kdapl_evd *evd, struct kdapl_cq_share *shares,
			  u32 n, const struct kdapl_cq_share *own);
int kdapl_evd_grow_share(struct kdapl_cq_share *share, u32 entries);
void kdapl_evd_give_share(struct kdapl_cq_share *share);
int kdapl_evd_hold_cq(struct kdapl_evd_cq *c);
void kdapl_evd_release_cq(struct kdapl_evd_cq *c);
struct ib_wc *kdapl_evd_poll_cqs(struct kdapl_evd *evd);
bool kdapl_evd_arm_cqs(struct kdapl_evd *evd, bool used, bool solicited,
		       bool *failed);
void kdapl_evd_destroy_cqs(struct kdapl_evd *evd);
void kdapl_evd_free_cqs(struct kdapl_evd *evd);

#endif /* KDAPL_EVD_CQ_H */
