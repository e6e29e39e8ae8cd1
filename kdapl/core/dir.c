// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The two directions of an endpoint, and the ring of cookies that each has had
 * since the endpoint was made: one cookie for each DTO that may be outstanding.
 *
 * Callers: ep.c and ep_attr.c make, replace and free the rings, srq.c has a direction without
 * one; lmr.c and rmr.c wait for posts; evd_fifo.c has requests completed.  The cookies are used by
 * post.c and drain.c, which call nothing here.
 */
#include <linux/slab.h>
#include "dir.h"
#include "ep.h"
#include "../trace.h"

/* Stands for a ring without cookies: a post finds it busy, and need not test the size. */
static struct kdapl_cookie never_free = { .busy = true };

static void cookie_ring_free(struct kdapl_cookie_ring *ring)
{
	kvfree(ring->lkeys);
	kvfree(ring->wrs);
	kvfree(ring->sge);
	kvfree(ring->cookies);
	kvfree(ring);
}

/**
 * kdapl_cookie_ring_alloc - a ring of cookies
 * @dir: the direction that it is for
 * @size: cookies
 * @max_sge: segments of one post at most
 * @lkeys: of requests: keep the keys of the segments
 * @deep: of requests: they may be held until there is room (kdapl_dir.deep)
 * @gfp: of the memory
 *
 * May sleep.  Return: for kdapl_dir_install(), or NULL.
 */
struct kdapl_cookie_ring *kdapl_cookie_ring_alloc(struct kdapl_dir *dir, u32 size,
						  u32 max_sge, bool lkeys, bool deep,
						  gfp_t gfp)
{
	size_t per_post = max_t(size_t, max_sge, 1);
	bool sges = dir->is_recv || deep;
	bool wrs = !dir->is_recv && deep;
	struct kdapl_cookie_ring *ring;
	u32 i;

	ring = kvzalloc(struct_size(ring, nr_sge, size), gfp);
	if (!ring)
		return NULL;
	ring->cookies = kvcalloc(size, sizeof(*ring->cookies), gfp);
	if (sges)
		ring->sge = kvcalloc(size, per_post * sizeof(*ring->sge), gfp);
	if (wrs)
		ring->wrs = kvcalloc(size, sizeof(*ring->wrs), gfp);
	if (lkeys)
		ring->lkeys = kvcalloc(size, per_post * sizeof(*ring->lkeys), gfp);
	if (!ring->cookies || (sges && !ring->sge) || (wrs && !ring->wrs) ||
	    (lkeys && !ring->lkeys)) {
		cookie_ring_free(ring);
		return NULL;
	}
	ring->size = size;
	for (i = 0; i < size; i++) {
		ring->cookies[i].dir = dir;
		ring->cookies[i].node.is_cookie = true;
	}
	return ring;
}

/**
 * kdapl_cookie_rings_free - free a ring and those that it replaced
 * @ring: may be NULL
 */
void kdapl_cookie_rings_free(struct kdapl_cookie_ring *ring)
{
	while (ring) {
		struct kdapl_cookie_ring *former = ring->former;

		cookie_ring_free(ring);
		ring = former;
	}
}

/**
 * kdapl_dir_pinned - must the ring not be replaced now?
 * @dir: its lock need not be held, but nobody else replaces the ring meanwhile
 *
 * Return: true while events that nobody has dequeued are in the ring before the present
 * one, since an endpoint keeps at most two rings.  False stays false until another ring is
 * installed: no post takes a slot of a former ring.
 */
bool kdapl_dir_pinned(const struct kdapl_dir *dir)
{
	const struct kdapl_cookie_ring *ring = dir->rings ? dir->rings->former : NULL;
	u32 i;

	for (i = 0; ring && i < ring->size; i++) {
		/* Pairs with kdapl_cookie_free(): the event in a free slot was read. */
		if (smp_load_acquire(&ring->cookies[i].busy))
			return true;
	}
	return false;
}

/**
 * kdapl_dir_copy_held - copy held receives to the ring that is to be installed
 * @dir: its lock is held; in a state in which no held receive leaves it
 * @ring: of kdapl_cookie_ring_alloc()
 * @max_sge: segments of one post at most
 *
 * At most a batch, because interrupts are off.  The caller drops the lock in between.
 *
 * Return: 0: all of them are there, as long as the lock is held; -EAGAIN: there are more;
 * -ENOSPC: they do not fit.
 */
int kdapl_dir_copy_held(const struct kdapl_dir *dir, struct kdapl_cookie_ring *ring,
			u32 max_sge)
{
	u32 end = min(dir->held, ring->copied + KDAPL_DIR_BATCH);
	u32 i, n;

	lockdep_assert_held(&dir->lock);
	if (dir->held > ring->size)
		return -ENOSPC;
	for (n = ring->copied; n < end; n++) {
		i = (dir->held_first + n) % dir->size;
		if (dir->nr_sge[i] > max_sge)
			return -ENOSPC;
		ring->cookies[n].user = dir->ring[i].user;
		ring->cookies[n].length = dir->ring[i].length;
		ring->cookies[n].flags = dir->ring[i].flags;
		ring->cookies[n].operation = dir->ring[i].operation;
		ring->cookies[n].busy = true;
		ring->nr_sge[n] = dir->nr_sge[i];
		memcpy(&ring->sge[n * max_sge], &dir->rings->sge[i * dir->max_sge],
		       dir->nr_sge[i] * sizeof(*ring->sge));
	}
	ring->copied = end;
	return end < dir->held ? -EAGAIN : 0;
}

/**
 * kdapl_dir_install - use another ring from here on
 * @dir: its lock is held, and it is not pinned
 * @ring: of kdapl_cookie_ring_alloc(); with all held receives
 * @max_sge: segments of one post at most
 *
 * To be followed by kdapl_dir_leave_copied().
 *
 * Return: the ring before the present one, for the caller to free; may be NULL.
 */
struct kdapl_cookie_ring *kdapl_dir_install(struct kdapl_dir *dir,
					    struct kdapl_cookie_ring *ring,
					    u32 max_sge)
{
	struct kdapl_cookie_ring *unused = NULL;
	u32 size = ring->size;

	if (dir->rings)
		swap(unused, dir->rings->former);
	ring->former = dir->rings;
	ring->copied_from = dir->held_first;
	dir->rings = ring;
	dir->ring = size ? ring->cookies : &never_free;
	dir->lkeys = ring->lkeys;
	dir->nr_sge = ring->nr_sge;
	dir->size = size;
	dir->max_sge = max_sge;
	dir->held_first = 0;
	dir->next = size ? dir->held % size : 0;
	return unused;
}

/**
 * kdapl_dir_leave_copied - held receives that were copied leave the former ring
 * @dir: its lock is not held; nobody replaces the ring meanwhile
 *
 * Nobody but kdapl_dir_pinned() looks at their former slots any more.
 */
void kdapl_dir_leave_copied(struct kdapl_dir *dir)
{
	const struct kdapl_cookie_ring *ring = dir->rings;
	u32 n;

	for (n = 0; n < ring->copied; n++)
		ring->former->cookies[(ring->copied_from + n) %
				      ring->former->size].busy = false;
}

/**
 * kdapl_dir_init - an empty direction, without a ring
 * @dir: zeroed
 * @ep: whose
 * @is_recv: of receives, else of requests
 */
void kdapl_dir_init(struct kdapl_dir *dir, struct kdapl_ep *ep, bool is_recv)
{
	spin_lock_init(&dir->lock);
	INIT_LIST_HEAD(&dir->late);
	dir->ep = ep;
	dir->is_recv = is_recv;
	dir->ring = &never_free;
}

/**
 * kdapl_dir_sync_posts - wait for posts that are under way
 * @dir: its memory stays
 *
 * On return the device has answered every post that was under way at the call.  No lock of
 * a direction is held.  Any context.
 */
void kdapl_dir_sync_posts(struct kdapl_dir *dir)
{
	unsigned long flags;

	spin_lock_irqsave(&dir->lock, flags);
	spin_unlock_irqrestore(&dir->lock, flags);
}

/**
 * kdapl_dir_complete_before - account for requests of which the device was not asked to tell
 * @cookie: of a request that has completed, with KDAPL_COOKIE_TELLS_BOTH
 *
 * Those before it have succeeded (batch_follow() in post.c): a device completes requests in their
 * order, and tells of each failure.  Nobody wants to hear of their success.  The lock of the EVD is
 * held.
 */
void kdapl_dir_complete_before(struct kdapl_cookie *cookie)
{
	struct kdapl_dir *dir = cookie->dir;
	u16 flags = cookie->flags;
	u32 nr = 0;

	while (flags & KDAPL_COOKIE_TELLS_BOTH) {
		cookie = cookie == dir->ring ? cookie + dir->size - 1 : cookie - 1;
		/* It has failed, and was told of by itself, as were those before it. */
		if (!cookie->owed)
			break;
		/* Once the slot is free a post may write there. */
		flags = cookie->flags;
		cookie->owed = false;
		cookie->status = DAT_DTO_SUCCESS;
		trace_kdapl_completion(cookie, dir->ep->conn->qp.num, IB_WC_SUCCESS);
		kdapl_cookie_free(cookie);
		nr++;
	}
	WRITE_ONCE(dir->completed, dir->completed + nr);
}
