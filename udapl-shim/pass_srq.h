/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared receive queues of the process's own: what pass_srq.c shows to those who post,
 * complete and end. The kernel has the object, with its zone, endpoints, size and mark.
 */
#ifndef PASS_SRQ_H
#define PASS_SRQ_H

#include "passthrough.h"

/* In pass_cookie.flags, beside those of DAT: a receive of an SRQ */
#define PASS_COOKIE_SRQ	0x80

#define PASS_SRQ_QPS	256u

struct pass_srq_cookie;
struct pass_srq_cookies;

/**
 * struct pass_share - the room in a completion queue that all EPs have who complete receives
 *	of an SRQ there
 * @evd, @cq: the queue; @entries: of it, reserved
 * @users: EPs
 */
struct pass_share {
	struct pass_srq *srq;
	struct pass_evd *evd;
	struct pass_cq *cq;
	uint32_t entries;
	uint32_t users;
	struct pass_share *next;
};

/**
 * struct pass_srq - an SRQ
 * @dir: @dir.lock is that of all that follows but @use and what it protects; @dir.owner is the
 *	object, NULL once that is freed; @dir.pz its zone. Stands in a cookie for the direction
 *	of an EP that is not known yet
 * @srq: the queue; NULL once it is destroyed
 * @limits: of a post
 * @pia: of its IA; @pz: its zone
 * @token: the kernel's handle
 * @refs: of the object, and of each EP on it, which keeps it until its last event is taken
 * @max: receives that may be outstanding
 * @mark: the low watermark, while it is armed, else 0
 * @told: the device has said since @mark was set or taken back that fewer are left
 * @telling: threads that are about to tell the kernel of a mark that was reached; never set
 *	back, since the last of them may be late
 * @broken: the device has lost the queue
 * @outstanding: posted, and the completion was not dequeued; @queued: nor polled
 * @free: cookies of none; @first, @last: of those that are queued, in the order of posting
 * @number: of the last post
 * @taken: of the last post that is known to have been taken
 * @qps: directions of EPs by the number of their queue pair
 * @use: held by operations: @armed, @size, @room, @cookies, @shares
 * @armed: the device has been given a mark
 * @size: receives that the queue holds; @room: cookies, which are in @cookies
 * @next: of the IA
 */
struct pass_srq {
	struct pass_dir dir;
	struct ibv_srq *srq;
	struct pass_limits limits;
	struct pass_ia *pia;
	struct pass_pz *pz;
	uint64_t token;
	atomic_uint refs;
	uint32_t max;
	uint32_t mark;
	bool told;
	atomic_uint telling;
	bool broken;
	uint32_t outstanding;
	uint32_t queued;
	struct pass_srq_cookie *free;
	struct pass_srq_cookie *first;
	struct pass_srq_cookie *last;
	uint64_t number;
	uint64_t taken;
	struct pass_dir *qps[PASS_SRQ_QPS];
	pthread_mutex_t use;
	bool armed;
	uint32_t size;
	uint32_t room;
	struct pass_srq_cookies *cookies;
	struct pass_share *shares;
	struct pass_srq *next;
	struct pass_srq *next_free;
};

void pass_srqs_child(void);
DAT_RETURN pass_srq_made(struct shim_object *srq, const struct kdapl_uapi_srq_create *arg);
DAT_RETURN pass_srq_free(struct shim_object *srq);
void pass_srq_close(struct shim_object *srq);
DAT_RETURN pass_srq_query(struct shim_object *srq, struct kdapl_uapi_srq_query *arg);
DAT_RETURN pass_srq_resize(struct shim_object *srq, DAT_COUNT count);
DAT_RETURN pass_srq_set_lw(struct shim_object *srq, DAT_COUNT count);
void pass_srq_reached(struct pass_srq *srq);
void pass_srq_lost(struct pass_srq *srq);
void pass_srq_news(const struct shim_object *srq);

/* of an EP */
struct pass_srq *pass_srq_get(struct shim_object *obj);
void pass_srq_put(struct pass_srq *srq);
DAT_RETURN pass_share_take(struct pass_srq *srq, struct pass_evd *evd,
			   struct pass_share **share);
void pass_share_put(struct pass_share *share);
bool pass_srq_enter(struct pass_dir *dir, uint32_t qp_num);
bool pass_srq_leave(struct pass_dir *dir, bool force);

/* of a receive */
bool pass_srq_is_full(struct pass_srq *srq);
void pass_srq_pull(struct pass_srq *srq);
DAT_RETURN pass_srq_give(struct pass_srq *srq, uint64_t user, uint64_t length,
			 struct ibv_sge *sge, uint32_t nr);
bool pass_srq_claim(const struct ibv_wc *wc, struct pass_cookie *cookie);
void pass_srq_cookie_back(struct pass_cookie *cookie);

#endif /* PASS_SRQ_H */
