/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared receive queues in passthrough: what pass_srq.c offers to the files that post, complete
 * and end connections. The kernel has the object: its zone, the endpoints on it, its size and its
 * low watermark. The library has the queue.
 */
#ifndef PASS_SRQ_H
#define PASS_SRQ_H

#include "passthrough.h"

/* In pass_cookie.flags, beside the flags of DAT: the cookie is a receive of an SRQ. */
#define PASS_COOKIE_SRQ	0x80

#define PASS_SRQ_QPS	256u

struct pass_srq_cookie;
struct pass_srq_cookies;

/**
 * struct pass_share - room in a completion queue that the EPs on one SRQ share: all those whose
 *	receives complete there
 * @evd, @cq: the completion queue; @entries: how many of its entries are reserved
 * @users: number of these EPs
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
 * @dir: @dir.lock protects all that follows, except @use and what that protects; @dir.owner is
 *	the object, NULL once that is freed; @dir.pz is its zone. The cookie of a receive points to
 *	this direction until it is known which EP has taken the receive
 * @srq: the verbs queue; NULL once it is being destroyed
 * @limits: of a post
 * @pia: its IA; @pz: its zone
 * @token: the kernel's handle
 * @refs: references: of the object, and of each EP on it, which keeps its own until the last
 *	event of the EP is taken
 * @max: receives that may be outstanding
 * @mark: the low watermark while it is armed, else 0
 * @fell_low: the device has said that fewer receives are left than its watermark, since the last
 *	time that @mark was taken back (take_mark())
 * @telling: number of threads that are about to tell the kernel that a watermark was reached.
 *	It is not reset when the memory is used for another SRQ, since such a thread may be late
 * @broken: the device has lost the queue
 * @outstanding: receives that were posted and whose event was not taken yet; @queued: those of
 *	them whose completion was not polled yet
 * @free: cookies that no receive has; @first, @last: those that are queued, in posting order
 * @number: number of the last post
 * @taken: number of the last post that a queue pair is known to have taken
 * @qps: hash table from the number of a queue pair to the direction of its EP
 * @use: held by operations that change the SRQ; protects @armed, @size, @room, @cookies, @shares
 * @armed: the device has been given a watermark
 * @size: receives that the verbs queue holds; @room: number of cookies, which are in @cookies
 * @next: in pass_ia.srqs
 */
struct pass_srq {
	struct pass_dir dir;
	struct ibv_srq *srq;
	struct kdapl_dto_limits limits;
	struct pass_ia *pia;
	struct pass_pz *pz;
	uint64_t token;
	atomic_uint refs;
	uint32_t max;
	uint32_t mark;
	bool fell_low;
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

/* for EPs on an SRQ */
struct pass_srq *pass_srq_get(struct shim_object *obj);
void pass_srq_put(struct pass_srq *srq);
DAT_RETURN pass_share_take(struct pass_srq *srq, struct pass_evd *evd,
			   struct pass_share **share);
void pass_share_put(struct pass_share *share);
bool pass_srq_enter(struct pass_dir *dir, uint32_t qp_num);
bool pass_srq_leave(struct pass_dir *dir, bool force);

/* for receives of an SRQ */
bool pass_srq_is_full(struct pass_srq *srq);
void pass_srq_pull(struct pass_srq *srq);
DAT_RETURN pass_srq_give(struct pass_srq *srq, uint64_t user, uint64_t length,
			 struct ibv_sge *sge, uint32_t nr);
bool pass_srq_claim(const struct ibv_wc *wc, struct pass_cookie *cookie);
void pass_srq_cookie_back(struct pass_cookie *cookie);

#endif /* PASS_SRQ_H */
