/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The cookie of a posted DTO or bind: one slot of the ring that each direction of
 * an endpoint has (dir.h).  It is taken at the post (post.c).  Then the device completes
 * the DTO, or drain.c does, as flushed.  The slot is free again when the consumer has taken
 * the completion event (evd_fifo.c), or at once if the success was suppressed.  Receives of a
 * shared receive queue have theirs in a list instead (srq.h).
 */
#ifndef KDAPL_COOKIE_H
#define KDAPL_COOKIE_H

#include "evd.h"

struct kdapl_dir;
struct kdapl_rmr;

/*
 * struct kdapl_cookie - one posted DTO or bind, from the post until its event is
 * taken
 * @node: in an EVD's FIFO, or in kdapl_dir.late, or in kdapl_evd.aside
 * @dir: the direction that it belongs to; of a receive of an SRQ that no endpoint has taken
 *	 yet, kdapl_srq.dir
 * @rmr: the RMR of a bind, with a reference; NULL for a DTO and in a free slot.  A bind whose
 *	 RMR stands for an LMR (kdapl_rmr.fmr) completes like a DTO
 * @user: the consumer's 64 bits
 * @length: of the post; of a receive whose message has come, that of the message
 *	    (mt:T48, mt:T49)
 * @more: of a KDAPL_COOKIE_CHAIN: work requests beyond the first (kdapl_dir.reserve)
 * @key: of a receive that has succeeded, unless as a plain one (wc_is_plain()): the key that
 *	 its message has taken away, or 0; or the immediate data, as @operation says
 * @status: DAT_DTO_COMPLETION_STATUS
 * @operation: enum kdapl_operation; of a receive that has completed, by what it was filled
 * @flags: completion flags of the post, and KDAPL_COOKIE_*
 * @busy: the slot is taken: from the post until the event is dequeued (mt:T13)
 * @owed: given to the device, which owes a completion
 * @aside: it is in kdapl_evd.aside; under that EVD's lock
 * @failed: one of its work requests before the last one has failed; in a
 *	    KDAPL_COOKIE_CHAIN @status then says how
 */
struct kdapl_cookie {
	struct kdapl_node node;
	struct kdapl_dir *dir;
	struct kdapl_rmr *rmr;
	u64 user;
	u32 length;
	union {
		u32 more;
		u32 key;
	};
	u8 status;
	u8 operation;
	u16 flags;
	bool busy;
	bool owed;
	bool aside;
	bool failed;
};

/* There are as many as DTOs may be outstanding, so this is most of what an endpoint takes. */
static_assert(sizeof(struct kdapl_cookie) <= 64);

/* In kdapl_cookie.flags: a post of several work requests (post_chain(), bind_chain()). */
#define KDAPL_COOKIE_CHAIN	0x80
/* In kdapl_cookie.flags: of a shared receive queue (srq.h). */
#define KDAPL_COOKIE_SRQ	0x40
/* In kdapl_cookie.flags: on the queue pair of a deep direction (kdapl_dir.deep). */
#define KDAPL_COOKIE_DEEP	0x20
/*
 * In kdapl_cookie.flags: a request that is an extension of DAT.  No post has the completion flag of
 * this value.
 */
#define KDAPL_COOKIE_EXTENDED	0x10
/*
 * In kdapl_cookie.flags: the device was not asked to tell of the success of the request before
 * this one, whose cookie is the one before in the ring (batch_follow()).
 */
#define KDAPL_COOKIE_TELLS_BOTH	0x100

/*
 * The wr_id of a work request is the address of its post's cookie.  This bit in it says that
 * the work request is not the last one of its post: its completion does not complete the post.
 */
#define KDAPL_WR_PART		1UL

static inline struct kdapl_cookie *kdapl_wc_cookie(const struct ib_wc *wc)
{
	return (struct kdapl_cookie *)(uintptr_t)(wc->wr_id & ~(u64)KDAPL_WR_PART);
}

static inline struct kdapl_cookie *kdapl_cookie_of(struct kdapl_node *node)
{
	return container_of(node, struct kdapl_cookie, node);
}

#endif /* KDAPL_COOKIE_H */
