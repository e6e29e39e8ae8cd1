// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Windows: what an RMR shows of a region.  The operations window_* of
 * kdapl_ib_mr_ops, called by core/rmr.c.
 *
 * The kernel has no memory windows for its own consumers (facts 7), so a window
 * is two fast-registration MRs that take turns (A6): while one is registered the
 * other maps the next range, and a bind is a pair of work requests, which takes
 * the key of the former back and registers the latter.
 */
#include <linux/slab.h>
#include "mr.h"
#include "../compat.h"

/*
 * Pages of a window at most: a bind walks through them with interrupts off, and
 * each window has tables for so many, twice.
 */
#define WINDOW_PAGES	512U

/**
 * struct kdapl_window - two MRs that take turns
 * @zone: in which
 * @mr: both NULL after a renewal that failed
 * @device_key: by which the device knows each; that of @mr is ahead when a bind
 *		was not posted
 * @bound: which of them is registered, -1 for none
 * @next: what @bound becomes when the outstanding bind has completed
 * @spare: the one whose turn it is
 * @key: its lowest byte is that of the last bind; the next 255 have others
 *	(mt:M36)
 * @pages: that each of @mr can map
 * @sg: room for the part of a region's list that is being mapped
 */
struct kdapl_window {
	struct kdapl_zone *zone;
	struct ib_mr *mr[2];
	u32 device_key[2];
	int bound;
	int next;
	int spare;
	u32 key;
	u32 pages;
	struct scatterlist sg[];
};

static int alloc_mrs(struct kdapl_window *window)
{
	struct ib_mr *mr[2];

	mr[0] = kdapl_mr_alloc(window->zone, window->pages);
	if (IS_ERR(mr[0]))
		return PTR_ERR(mr[0]);
	mr[1] = kdapl_mr_alloc(window->zone, window->pages);
	if (IS_ERR(mr[1])) {
		kdapl_mr_dereg(window->zone, mr[0]);
		return PTR_ERR(mr[1]);
	}
	memcpy(window->mr, mr, sizeof(mr));
	window->device_key[0] = mr[0]->rkey;
	window->device_key[1] = mr[1]->rkey;
	window->bound = -1;
	return 0;
}

static void dereg_mrs(struct kdapl_window *window)
{
	int i;

	kdapl_mr_keys_used(window->key);
	for (i = 0; i < ARRAY_SIZE(window->mr) && window->mr[i]; i++) {
		kdapl_mr_dereg(window->zone, window->mr[i]);
		window->mr[i] = NULL;
	}
}

/**
 * kdapl_window_create - kdapl_mr_ops.window_create
 * @zone: in which
 *
 * Caller is in the IA's section.  May sleep.
 *
 * Return: the window, or an error pointer.
 */
struct kdapl_window *kdapl_window_create(struct kdapl_zone *zone)
{
	u32 pages = min(zone->dev->max_frmr_pages, WINDOW_PAGES);
	struct kdapl_window *window;
	int ret;

	if (!pages)
		return ERR_PTR(-EOPNOTSUPP);
	window = kzalloc(struct_size(window, sg, pages), GFP_KERNEL_ACCOUNT);
	if (!window)
		return ERR_PTR(-ENOMEM);
	window->zone = zone;
	window->pages = pages;
	window->key = kdapl_mr_next_key();
	sg_init_table(window->sg, pages);
	ret = alloc_mrs(window);
	if (ret) {
		kfree(window);
		return ERR_PTR(ret);
	}
	return window;
}

/**
 * kdapl_window_destroy - kdapl_mr_ops.window_destroy
 * @window: no bind is outstanding
 *
 * May sleep.  mt:M43.
 */
void kdapl_window_destroy(struct kdapl_window *window)
{
	dereg_mrs(window);
	kfree(window);
}

/**
 * kdapl_window_renew - kdapl_mr_ops.window_renew
 * @window: its last bind failed or was flushed: nobody knows how far the device
 *	    got (facts 4), and only MRs that are gone admit nothing (mt:M40)
 *
 * May sleep.
 *
 * Return: 0, or an errno and the window has no MRs.
 */
int kdapl_window_renew(struct kdapl_window *window)
{
	dereg_mrs(window);
	return alloc_mrs(window);
}

/*
 * Soft-RoCE executes a registration again when a request before it has to be
 * repeated, and stops then without a word (facts 0).  It holds an invalidation
 * back until all requests before it are complete, and so what follows it.
 */
static bool needs_barrier(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

static void invalidate(struct kdapl_bind_wr *wr, u32 rkey)
{
	wr->inv = (struct ib_send_wr) {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = rkey,
	};
	wr->first = &wr->inv;
	wr->last = &wr->inv;
}

/* An unbound window has nothing to take back; its bind completes all the same. */
static void do_nothing(struct kdapl_bind_wr *wr)
{
	/*
	 * No address and no key are looked at for 0 bytes; the peer's queue has
	 * to admit writes as such, as those of rdma_cm do.
	 */
	wr->nop = (struct ib_rdma_wr) { .wr.opcode = IB_WR_RDMA_WRITE };
	wr->first = &wr->nop.wr;
	wr->last = &wr->nop.wr;
}

static void unbind(struct kdapl_window *window, struct kdapl_bind_wr *wr)
{
	if (window->bound >= 0)
		invalidate(wr, window->device_key[window->bound]);
	else
		do_nothing(wr);
	wr->rkey = 0;
	window->next = -1;
}

static int map(struct kdapl_window *window, const struct kdapl_pages *pages,
	       struct ib_mr *mr, u64 start, u64 length)
{
	int n, shift;

	n = kdapl_pages_slice(pages, start, length, window->sg, window->pages);
	if (n < 0)
		return n;
	shift = kdapl_mr_shift(window->zone->dev, window->sg, n, start,
			       window->pages);
	if (shift < 0)
		return shift;
	return kdapl_mr_map(mr, window->sg, n, shift, start, length,
			    window->key + 1);
}

/**
 * kdapl_window_bind - kdapl_mr_ops.window_bind
 * @window: no bind is outstanding
 * @region: stays until the window is bound elsewhere
 * @start: of the bytes to show, as the region's consumer counts
 * @length: of them; 0 to show nothing
 * @access: IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_WRITE
 * @wr: out
 *
 * Any context; the caller serialises.  mt:M35..M37, mt:M45.
 *
 * Return: 0; -E2BIG: more pages than the window has; -ENOMEM: a renewal had
 * failed.
 */
int kdapl_window_bind(struct kdapl_window *window, struct kdapl_region *region,
		      u64 start, u64 length, int access,
		      struct kdapl_bind_wr *wr)
{
	struct ib_mr *mr = window->mr[window->spare];
	int ret;

	if (!mr)
		return -ENOMEM;
	if (!length) {
		unbind(window, wr);
		return 0;
	}
	ret = map(window, kdapl_region_pages(region), mr, start, length);
	if (ret)
		return ret;
	window->key++;
	if (access & IB_ACCESS_REMOTE_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE;
	wr->reg = (struct ib_reg_wr) {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};
	if (window->bound >= 0)
		invalidate(wr, window->device_key[window->bound]);
	else if (needs_barrier(window->zone->dev->ib))
		invalidate(wr, window->device_key[window->spare]);
	else
		wr->first = &wr->reg.wr;
	wr->inv.next = &wr->reg.wr;
	wr->last = &wr->reg.wr;
	wr->rkey = mr->rkey;
	window->next = window->spare;
	return 0;
}

/**
 * kdapl_window_bound - kdapl_mr_ops.window_bound
 * @window: the work requests of its last bind have completed
 *
 * Any context; the caller serialises.
 */
void kdapl_window_bound(struct kdapl_window *window)
{
	window->bound = window->next;
	if (window->bound < 0)
		return;
	window->device_key[window->bound] = window->mr[window->bound]->rkey;
	window->spare = !window->bound;
}
