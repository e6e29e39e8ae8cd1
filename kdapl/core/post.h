/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What posts of DTOs (post.c) and of binds (post_bind.c) do alike, under the lock of the
 * direction.
 */
#ifndef KDAPL_POST_H
#define KDAPL_POST_H

#include "post_check.h"

/* ---- cookies -------------------------------------------------------- */

/* Takes the next cookie, if the event of its last post was dequeued (mt:T13, mt:T14). */
static __always_inline struct kdapl_cookie *
cookie_take(struct kdapl_dir *dir, enum kdapl_dto_kind kind, u64 user, u64 length,
	    DAT_COMPLETION_FLAGS flags)
{
	u32 i = dir->next;
	struct kdapl_cookie *cookie = &dir->ring[i];

	/* Pairs with kdapl_cookie_free(): the event was read before we write here. */
	if (unlikely(smp_load_acquire(&cookie->busy)))
		return NULL;
	cookie->user = user;
	cookie->length = length;
	cookie->flags = flags;
	cookie->operation = kdapl_dto_rows[kind].operation;
	cookie->busy = true;
	dir->next = i + 1 == dir->size ? 0 : i + 1;
	return cookie;
}

/* The post failed, and nobody has seen the cookie. */
static inline void cookie_put_back(struct kdapl_dir *dir, struct kdapl_cookie *cookie)
{
	cookie->busy = false;
	cookie->owed = false;
	dir->next = cookie - dir->ring;
}

static inline void note_keys(struct kdapl_dir *dir, const struct kdapl_cookie *cookie,
			     struct kdapl_segments from)
{
	u32 i = cookie - dir->ring, n;
	u32 *lkeys = &dir->lkeys[i * dir->max_sge];

	for (n = 0; n < from.nr; n++)
		lkeys[n] = from.sge[n].lkey;
	dir->nr_sge[i] = from.nr;
}

/* ---- gates ---------------------------------------------------------- */

/* Do posts go to the queue pair, if it has room for them? */
static inline bool gate_is_open(const struct kdapl_dir *dir)
{
	lockdep_assert_held(&dir->lock);
	return dir->gate == KDAPL_GATE_POST || dir->gate == KDAPL_GATE_DEEP;
}

/* Has the queue pair no room for @wrs work requests?  Nor while older posts are held. */
static inline bool deep_is_full(const struct kdapl_dir *dir, u32 wrs)
{
	lockdep_assert_held(&dir->lock);
	return dir->gate == KDAPL_GATE_DEEP && (dir->held || kdapl_dir_left(dir) < wrs);
}

/* post.c */
DAT_RETURN kdapl_post_check_aside(const struct kdapl_ep *ep, const struct kdapl_dir *dir);
DAT_RETURN kdapl_post_bind_aside(struct kdapl_dir *dir, struct kdapl_cookie *cookie);
DAT_RETURN kdapl_post_bind_refused(struct kdapl_dir *dir, struct kdapl_cookie *cookie, int err);
void kdapl_post_chain_broken(struct kdapl_dir *dir, struct kdapl_cookie *cookie, int err);
bool kdapl_post_reserve(struct kdapl_dir *dir, u32 more);

#endif /* KDAPL_POST_H */
