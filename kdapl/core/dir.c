// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The two directions of an endpoint, and the ring of cookies that each has had
 * since the endpoint was made: one cookie for each DTO that may be outstanding.
 *
 * Callers: ep.c and ep_attr.c make, replace and free the rings; post.c and drain.c
 * use the cookies.
 */
#include <linux/slab.h>
#include "dir.h"

/*
 * struct kdapl_cookie_ring - the memory of a direction's cookies
 * @former: the ring before, whose events may not have been dequeued yet
 * @size: cookies
 * @sge, @nr_sge: of kdapl_dir
 * @cookies: the slots
 *
 * A ring stays until the endpoint goes, although a modify may replace it:
 * events that nobody dequeued yet are in its cookies.
 */
struct kdapl_cookie_ring {
	struct kdapl_cookie_ring *former;
	u32 size;
	struct ib_sge *sge;
	u8 *nr_sge;
	struct kdapl_cookie cookies[];
};

struct kdapl_cookie_ring *kdapl_ring_alloc(struct kdapl_dir *dir, u32 size,
				     u32 max_sge, gfp_t gfp)
{
	struct kdapl_cookie_ring *ring;
	u32 i;

	ring = kvzalloc(struct_size(ring, cookies, size), gfp);
	if (!ring)
		return NULL;
	if ((dir->is_recv || max_sge) && size) {
		ring->sge = kvcalloc(size, max_t(size_t, max_sge, 1) * sizeof(*ring->sge), gfp);
		ring->nr_sge = kvcalloc(size, sizeof(*ring->nr_sge), gfp);
		if (!ring->sge || !ring->nr_sge) {
			kvfree(ring->nr_sge);
			kvfree(ring->sge);
			kvfree(ring);
			return NULL;
		}
	}
	ring->size = size;
	for (i = 0; i < size; i++) {
		ring->cookies[i].dir = dir;
		ring->cookies[i].node.is_cookie = true;
	}
	return ring;
}

void kdapl_rings_free(struct kdapl_cookie_ring *ring)
{
	while (ring) {
		struct kdapl_cookie_ring *former = ring->former;

		kvfree(ring->nr_sge);
		kvfree(ring->sge);
		kvfree(ring);
		ring = former;
	}
}

/*
 * Are there events in the rings before the present one that nobody dequeued?
 * Then it cannot be replaced now: two rings are enough for one endpoint.
 */
bool kdapl_dir_pinned(const struct kdapl_dir *dir)
{
	const struct kdapl_cookie_ring *ring = dir->rings ? dir->rings->former : NULL;
	u32 i;

	for (i = 0; ring && i < ring->size; i++) {
		/* Pairs with cookie_release(): nobody reads a free one. */
		if (smp_load_acquire(&ring->cookies[i].busy))
			return true;
	}
	return false;
}

/*
 * Held receives move along; the caller made sure that they fit.  What the ring
 * before the present one was is for the caller to free.
 */
struct kdapl_cookie_ring *kdapl_dir_install(struct kdapl_dir *dir,
				       struct kdapl_cookie_ring *ring, u32 max_sge)
{
	struct kdapl_cookie_ring *unused = NULL;
	u32 size = ring->size;
	u32 i, n;

	for (n = 0; n < dir->held; n++) {
		i = (dir->held_first + n) % dir->size;
		ring->cookies[n].user = dir->ring[i].user;
		ring->cookies[n].length = dir->ring[i].length;
		ring->cookies[n].flags = dir->ring[i].flags;
		ring->cookies[n].busy = true;
		ring->nr_sge[n] = dir->nr_sge[i];
		memcpy(&ring->sge[n * max_sge], &dir->sge[i * dir->max_sge],
		       dir->nr_sge[i] * sizeof(*dir->sge));
		dir->ring[i].busy = false;
	}
	if (dir->rings)
		swap(unused, dir->rings->former);
	ring->former = dir->rings;
	dir->rings = ring;
	dir->ring = ring->cookies;
	dir->sge = ring->sge;
	dir->nr_sge = ring->nr_sge;
	dir->size = size;
	dir->max_sge = max_sge;
	dir->held_first = 0;
	dir->next = size ? dir->held % size : 0;
	return unused;
}

void kdapl_dir_init(struct kdapl_dir *dir, struct kdapl_ep *ep, bool is_recv)
{
	spin_lock_init(&dir->lock);
	INIT_LIST_HEAD(&dir->late);
	dir->ep = ep;
	dir->is_recv = is_recv;
}
