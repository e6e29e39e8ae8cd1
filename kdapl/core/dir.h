/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One direction of an endpoint, requests or receives: its gate, which says what
 * becomes of a post, its ring of cookies, and the count of what is outstanding.
 */
#ifndef KDAPL_DIR_H
#define KDAPL_DIR_H

#include <linux/spinlock.h>
#include "dto/kind.h"
#include "cookie.h"

struct kdapl_ep;

/*
 * So many posts at most are moved or completed in one go, with interrupts off.  An
 * endpoint may have many more: as many as a queue pair of the device holds.
 */
#define KDAPL_DIR_BATCH	64

/* What becomes of a post; set together with the endpoint's state, from which it follows. */
enum kdapl_gate {
	KDAPL_GATE_REFUSE,	/* refused, with kdapl_dir.refusal */
	KDAPL_GATE_HOLD,	/* receives: posted later; requests: flushed, see @held */
	KDAPL_GATE_POST,
	KDAPL_GATE_DEEP,	/* posted, or held until the queue pair has room, see @deep */
	KDAPL_GATE_LATE,	/* flushed, after the last event of the connection that ends */
	KDAPL_GATE_FLUSH,	/* flushed at once */
};

/* A request, as it goes to the queue pair. */
union kdapl_request_wr {
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
};

/* A held request. */
struct kdapl_held_wr {
	union kdapl_request_wr wr;
	enum kdapl_dto_kind kind;
};

/*
 * struct kdapl_cookie_ring - the memory of a direction's cookies, and of its held posts
 * @former: the ring that it has replaced, whose events may not have been dequeued yet
 * @size: cookies
 * @copied: held receives that were copied from @former, into the first slots
 * @copied_from: slot of the first one in @former
 * @cookies: the slots
 * @sge: segments of held posts, kdapl_dir.max_sge per cookie; NULL for requests unless
 *	 kdapl_dir.deep
 * @wrs: held requests, one per cookie; NULL for receives, and unless kdapl_dir.deep
 * @lkeys, @nr_sge: of kdapl_dir
 *
 * A modify may replace the ring of an endpoint.  The former ring stays nevertheless, because
 * events that nobody has dequeued are in its cookies.
 */
struct kdapl_cookie_ring {
	struct kdapl_cookie_ring *former;
	u32 size;
	u32 copied;
	u32 copied_from;
	struct kdapl_cookie *cookies;
	struct ib_sge *sge;
	struct kdapl_held_wr *wrs;
	u32 *lkeys;
	u8 nr_sge[];
};

/*
 * struct kdapl_dir - one direction of an endpoint
 * @lock: gate, ring, posted; the only lock of a post (A4)
 * @ep: the endpoint
 * @evd: where completions go, never NULL (hidden if the consumer gave none)
 * @gate, @refusal: see above
 * @await: the connection is not confirmed yet; the first successful receive
 *	   confirms it (A7)
 * @posted: work requests given to the queue pair of the present connection; under @lock.  With
 *	    an SRQ: receives of it that the queue pair has completed; under @evd's lock
 * @completed: of those, completions seen; under @evd's lock
 * @nr_aside: of those that @completed does not count, in kdapl_evd.aside; under @evd's lock
 * @held: number of posts that the queue pair does not have, from @ring[@held_first] on.
 *	  They wait for a queue pair, which only receives do, or for room on it (@deep); or, with
 *	  @spoilt, for the end of the connection
 * @spoilt: of requests: the held ones will be flushed, because an iWARP device refused the first
 *	    of them at the end of the connection, or a device took it only in part, which breaks
 *	    the connection; the others were posted after it
 * @deep: @size asks for more work requests than a completion queue has room for.  The queue
 *	  pair is given @room of them at most.  Posts beyond these are held, and the work item of
 *	  the connection gives them to the queue pair, in order, when half of them have completed
 * @room: work requests that the queue pair holds, and its completion queue has room for
 * @late: posts of KDAPL_GATE_LATE, @nr_late of them
 * @ring: @size cookies, which are used in turn; for a size of 0, one that is always busy
 * @next: the cookie of the next post
 * @max_sge: segments of one post at most
 * @lkeys: local keys that the posted requests use, @max_sge per cookie, for
 *	   kdapl_ep_key_gone(); NULL unless kdapl_device.mute_faults
 * @nr_sge: how many of @lkeys, or of @rings->sge, each cookie has
 * @reserve: work requests that the send queue has for requests that take several (post.c),
 *	     beyond those that the attributes ask for
 * @reserved: of those, how many are on the queue pair
 * @rings: memory of @ring, and of the ring that it has replaced; NULL: it has no ring
 * @binds: of requests: the EVD takes completions of binds
 */
struct kdapl_dir {
	spinlock_t lock;
	DAT_RETURN refusal;
	struct kdapl_ep *ep;
	struct kdapl_evd *evd;
	u8 gate;
	bool await;
	bool is_recv;
	bool binds;
	bool deep;
	bool spoilt;
	u32 posted;
	u32 completed;
	u32 nr_aside;
	u32 room;
	u32 held;
	u32 held_first;
	struct list_head late;
	u32 nr_late;
	u32 size;
	u32 next;
	u32 max_sge;
	struct kdapl_cookie *ring;
	u32 *lkeys;
	u8 *nr_sge;
	u32 reserve;
	atomic_t reserved;
	struct kdapl_cookie_ring *rings;
};

/*
 * How many more work requests the queue pair takes.  At least so many if the caller holds the
 * lock, under which alone @posted grows; else a hint.
 */
static inline u32 kdapl_dir_left(const struct kdapl_dir *dir)
{
	return dir->room - (READ_ONCE(dir->posted) - READ_ONCE(dir->completed));
}

/* Do posts wait for nothing but room on the queue pair?  A hint without the lock. */
static inline bool kdapl_dir_seeks_room(const struct kdapl_dir *dir)
{
	return dir->deep && READ_ONCE(dir->held) && !READ_ONCE(dir->spoilt);
}

/* A chain is not on the queue pair any more: its work requests are in reserve again. */
static inline void kdapl_chain_end(struct kdapl_cookie *cookie)
{
	cookie->flags &= ~KDAPL_COOKIE_CHAIN;
	atomic_sub(cookie->more, &cookie->dir->reserved);
}

/* The slot of a DTO is free for the next post (mt:T13). */
static inline void kdapl_cookie_free(struct kdapl_cookie *cookie)
{
	/* Pairs with cookie_take(): the event was read before the slot is free. */
	smp_store_release(&cookie->busy, false);
}

/* A completion does not wait for the CM any more; the lock of the EVD is held. */
static inline void kdapl_cookie_from_aside(struct kdapl_cookie *cookie)
{
	if (!cookie->aside)
		return;
	cookie->aside = false;
	cookie->dir->nr_aside--;
	list_del(&cookie->node.link);
}

void kdapl_dir_init(struct kdapl_dir *dir, struct kdapl_ep *ep, bool is_recv);
void kdapl_dir_sync_posts(struct kdapl_dir *dir);
struct kdapl_cookie_ring *kdapl_cookie_ring_alloc(struct kdapl_dir *dir, u32 size,
						  u32 max_sge, bool lkeys, bool deep,
						  gfp_t gfp);
void kdapl_cookie_rings_free(struct kdapl_cookie_ring *ring);
bool kdapl_dir_pinned(const struct kdapl_dir *dir);
int kdapl_dir_copy_held(const struct kdapl_dir *dir, struct kdapl_cookie_ring *ring,
			u32 max_sge);
struct kdapl_cookie_ring *kdapl_dir_install(struct kdapl_dir *dir,
					    struct kdapl_cookie_ring *ring,
					    u32 max_sge);
void kdapl_dir_complete_before(struct kdapl_cookie *cookie);
void kdapl_dir_leave_copied(struct kdapl_dir *dir);

#endif /* KDAPL_DIR_H */
