/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One direction of an endpoint, requests or receives: its gate, which says what
 * becomes of a post, its ring of cookies, and the count of what is outstanding.
 */
#ifndef KDAPL_DIR_H
#define KDAPL_DIR_H

#include <linux/spinlock.h>
#include "cookie.h"

struct kdapl_cookie_ring;
struct kdapl_ep;

/*
 * Posts moved or completed in one go, with interrupts off; an endpoint may have
 * as many as the device's queue pairs are long.
 */
#define KDAPL_DIR_BATCH	64

/* What becomes of a post; follows the state, set with it. */
enum kdapl_gate {
	KDAPL_GATE_REFUSE,	/* kdapl_dir.refusal */
	KDAPL_GATE_HOLD,	/* receives: posted later; requests: flushed, see @held */
	KDAPL_GATE_POST,
	KDAPL_GATE_LATE,	/* flushed in turn, after the old life's last event */
	KDAPL_GATE_FLUSH,	/* flushed at once */
};

/*
 * struct kdapl_dir - one direction of an endpoint
 * @lock: gate, ring, posted; the only lock of a post (A4)
 * @ep: whose
 * @evd: where completions go, never NULL (hidden if the consumer gave none)
 * @gate, @refusal: see above
 * @await: the connection is not confirmed yet; the first successful receive
 *	   confirms it (A7)
 * @posted: work requests given to the queue pair in this life; under @lock.  Receives
 *	    out of an SRQ: those that it has completed; under @evd's lock
 * @completed: of those, completions seen; under @evd's lock
 * @held: receives waiting for a queue pair, from @ring[@held_first] on; requests that
 *	  an iWARP device refused, or any device took only in part, because the connection
 *	  ends, and those posted after them: they are flushed
 * @late: posts of KDAPL_GATE_LATE, @nr_late of them
 * @ring: @size cookies, used round, or a busy one for a size of 0; @next is the
 *	  next one
 * @max_sge: segments of one post at most
 * @sge: segments of held receives, @max_sge per cookie; NULL for requests
 * @lkeys: keys of requests on the queue pair, @max_sge per cookie, where
 *	   kdapl_ep_key_gone() looks for them (kdapl_device.mute_faults); else NULL
 * @nr_sge: how many of @sge or @lkeys each cookie has
 * @reserve: work requests that the queue pair has for requests of more than one
 *	     (post.c)
 * @reserved: of those, how many are on the queue pair
 * @rings: memory of @ring and of the rings it replaced
 * @binds: of requests: the EVD takes completions of binds
 */
struct kdapl_dir {
	spinlock_t lock;
	struct kdapl_ep *ep;
	struct kdapl_evd *evd;
	u8 gate;
	bool await;
	bool is_recv;
	bool binds;
	DAT_RETURN refusal;
	u32 posted;
	u32 completed;
	u32 held;
	u32 held_first;
	struct list_head late;
	u32 nr_late;
	u32 size;
	u32 next;
	u32 max_sge;
	struct kdapl_cookie *ring;
	struct ib_sge *sge;
	u32 *lkeys;
	u8 *nr_sge;
	u32 reserve;
	atomic_t reserved;
	struct kdapl_cookie_ring *rings;
};

/* A chain is not on the queue pair any more: its work requests are in reserve again. */
static inline void kdapl_chain_end(struct kdapl_cookie *cookie)
{
	cookie->flags &= ~KDAPL_COOKIE_CHAIN;
	atomic_sub(cookie->more, &cookie->dir->reserved);
}

void kdapl_dir_init(struct kdapl_dir *dir, struct kdapl_ep *ep, bool is_recv);
void kdapl_dir_settle_posts(struct kdapl_dir *dir);
struct kdapl_cookie_ring *kdapl_cookie_ring_alloc(struct kdapl_dir *dir, u32 size,
						  u32 max_sge, bool lkeys, gfp_t gfp);
void kdapl_cookie_rings_free(struct kdapl_cookie_ring *ring);
bool kdapl_dir_pinned(const struct kdapl_dir *dir);
int kdapl_dir_copy_held(const struct kdapl_dir *dir, struct kdapl_cookie_ring *ring,
			u32 max_sge);
struct kdapl_cookie_ring *kdapl_dir_install(struct kdapl_dir *dir,
					    struct kdapl_cookie_ring *ring,
					    u32 max_sge);
void kdapl_dir_leave_copied(struct kdapl_dir *dir);

#endif /* KDAPL_DIR_H */
