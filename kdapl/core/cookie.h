/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The cookie of a posted DTO or bind: one slot of the ring that each direction of
 * an endpoint has (dir.h).  It is taken at the post (post.c) and free again when
 * the consumer has taken the completion event (evd_fifo.c), or drain.c has
 * completed it as flushed in between.
 */
#ifndef KDAPL_COOKIE_H
#define KDAPL_COOKIE_H

#include "evd.h"

struct kdapl_dir;
struct kdapl_rmr;

/*
 * struct kdapl_cookie - one posted DTO or bind, from the post until its event is
 * taken
 * @node: in an EVD's FIFO, or in kdapl_dir.late
 * @dir: whose
 * @rmr: of a bind, with a reference; NULL for a DTO and in a free slot
 * @user: the consumer's 64 bits
 * @length: of the post; of a receive whose message has come, that of the message
 *	    (mt:T48, mt:T49)
 * @status: DAT_DTO_COMPLETION_STATUS
 * @flags: completion flags of the post
 * @busy: the slot is taken: from the post until the event is dequeued (mt:T13)
 * @on_queue: given to the device, which owes a completion
 * @failed: a bind whose first work request failed
 */
struct kdapl_cookie {
	struct kdapl_node node;
	struct kdapl_dir *dir;
	struct kdapl_rmr *rmr;
	u64 user;
	u64 length;
	u32 status;
	u8 flags;
	bool busy;
	bool on_queue;
	bool failed;
};

static inline struct kdapl_cookie *kdapl_cookie_of(struct kdapl_node *node)
{
	return container_of(node, struct kdapl_cookie, node);
}

#endif /* KDAPL_COOKIE_H */
