// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Windows, by which an RMR shows a part of a region, or a whole list, to peers.  These are
 * the operations window_* of kdapl_ib_mr_ops, called by core/rmr.c.
 *
 * The kernel has no memory windows for its own consumers (facts 7), so a window
 * is made of two fast-registration MRs that take turns (A6).  While one of them
 * is registered, the other one is free to map the next range.  A bind is then a
 * pair of work requests: the first takes the key of the registered MR back, the
 * second registers the other MR.
 */
#include <linux/slab.h>
#include "driver.h"
#include "mr.h"

/*
 * The most pages that a window can show.  A bind walks them with interrupts off, and
 * each window has tables for that many pages, twice.
 */
#define WINDOW_PAGES	512U

/**
 * struct kdapl_window - two MRs that take turns
 * @zone: the zone they are in
 * @mr: the MRs; both NULL after a renewal that failed
 * @device_key: the key by which the device knows each of @mr.  mr->rkey is the
 *		next key already while a bind with that MR is outstanding
 * @bound: the index of the MR that is registered, -1 for none
 * @next: what @bound becomes when the outstanding bind has completed
 * @spare: the index of the MR that the next bind uses
 * @key: counts binds; its lowest byte is that of the last key, so that 256
 *	 binds in a row have different keys (mt:M36)
 * @charge: for each of @mr
 * @pages: the most pages of the kernel that each of @mr can map
 * @entries: how many pages of the device these are
 * @sg: room for the part of a region's list that a bind maps
 */
struct kdapl_window {
	struct kdapl_zone *zone;
	struct ib_mr *mr[2];
	u32 device_key[2];
	int bound;
	int next;
	int spare;
	u32 key;
	struct kdapl_charge charge[2];
	u32 pages;
	u32 entries;
	struct scatterlist sg[];
};

/**
 * kdapl_window_pages - how many pages can a window show on a device?
 * @ib: device
 * @mr_shift: kdapl_device.mr_shift
 *
 * Any context.
 *
 * Return: the number, of pages of the kernel; 0: the device can have no windows.
 */
u32 kdapl_window_pages(const struct ib_device *ib, unsigned int mr_shift)
{
	u32 entries = ib->attrs.max_fast_reg_page_list_len;

	if (!kdapl_driver_binds(ib))
		return 0;
	return min(entries >> (PAGE_SHIFT - mr_shift), WINDOW_PAGES);
}

static int window_alloc_mrs(struct kdapl_window *window)
{
	struct ib_mr *mr[2];

	mr[0] = kdapl_mr_alloc(window->zone, window->entries);
	if (IS_ERR(mr[0]))
		return PTR_ERR(mr[0]);
	mr[1] = kdapl_mr_alloc(window->zone, window->entries);
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

/* kdapl_mr_ops.window_empty */
void kdapl_window_empty(struct kdapl_window *window)
{
	int i;

	kdapl_mr_keys_used(window->key);
	for (i = 0; i < ARRAY_SIZE(window->mr) && window->mr[i]; i++) {
		kdapl_mr_dereg(window->zone, window->mr[i]);
		window->mr[i] = NULL;
	}
}

static int window_charge(struct kdapl_window *window)
{
	int ret;

	ret = kdapl_mr_charge(window->zone, &window->charge[0]);
	if (ret)
		return ret;
	ret = kdapl_mr_charge(window->zone, &window->charge[1]);
	if (ret)
		kdapl_mr_uncharge(window->zone, &window->charge[0]);
	return ret;
}

static void window_uncharge(struct kdapl_window *window)
{
	kdapl_mr_uncharge(window->zone, &window->charge[0]);
	kdapl_mr_uncharge(window->zone, &window->charge[1]);
}

/* kdapl_mr_ops.window_create */
struct kdapl_window *kdapl_window_create(struct kdapl_zone *zone, u32 pages)
{
	struct kdapl_window *window;
	int ret;

	if (!pages)
		return ERR_PTR(-EOPNOTSUPP);
	window = kzalloc(struct_size(window, sg, pages), GFP_KERNEL_ACCOUNT);
	if (!window)
		return ERR_PTR(-ENOMEM);
	window->zone = zone;
	window->pages = pages;
	window->entries = pages << (PAGE_SHIFT - zone->dev->mr_shift);
	window->key = kdapl_mr_next_key();
	sg_init_table(window->sg, pages);
	ret = window_charge(window);
	if (ret)
		goto free;
	ret = window_alloc_mrs(window);
	if (ret)
		goto uncharge;
	return window;

uncharge:
	window_uncharge(window);
free:
	kfree(window);
	return ERR_PTR(ret);
}

/* kdapl_mr_ops.window_destroy: mt:M43. */
void kdapl_window_destroy(struct kdapl_window *window)
{
	kdapl_window_empty(window);
	window_uncharge(window);
	kfree(window);
}

/*
 * kdapl_mr_ops.window_renew.  When a bind has failed or was flushed, the device may
 * have executed both of its work requests, one, or none (facts 4).  Only giving the
 * MRs back makes sure that their keys give no access (mt:M40).
 */
int kdapl_window_renew(struct kdapl_window *window)
{
	kdapl_window_empty(window);
	return window_alloc_mrs(window);
}

static void wr_invalidate(struct kdapl_bind_wr *wr, u32 rkey)
{
	wr->inv = (struct ib_send_wr) {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = rkey,
	};
	wr->first = &wr->inv;
	wr->last = &wr->inv;
}

/*
 * Makes the work request for the unbind of a window that shows nothing.  There is no key to
 * take back, but the unbind must complete like any other.  So it is an RDMA write of no
 * bytes, for which the peer's device checks neither address nor key.  The peer's queue pair
 * has to allow writes; those that rdma_cm makes and ours do.
 */
static void wr_do_nothing(struct kdapl_bind_wr *wr)
{
	wr->nop = (struct ib_rdma_wr) { .wr.opcode = IB_WR_RDMA_WRITE };
	wr->first = &wr->nop.wr;
	wr->last = &wr->nop.wr;
}

static void window_unbind(struct kdapl_window *window, struct kdapl_bind_wr *wr)
{
	if (window->bound >= 0)
		wr_invalidate(wr, window->device_key[window->bound]);
	else
		wr_do_nothing(wr);
	wr->rkey = 0;
	window->next = -1;
}

/* Has the spare MR map the first @n entries of @window->sg; @n may be an errno. */
static int window_map(struct kdapl_window *window, int n, u64 start, u64 length)
{
	int shift;

	if (n < 0)
		return n;
	shift = kdapl_mr_shift(window->zone->dev, window->sg, n, start,
			       window->entries);
	if (shift < 0)
		return shift;
	return kdapl_mr_map(window->mr[window->spare], window->sg, n, shift, start,
			    length, window->key + 1);
}

/*
 * Makes the work requests that register the spare MR, which has been mapped, in place of the
 * other one.  Verbs refuse remote write without local write, so local write is added, as
 * region_reg() does.
 *
 * The first work request invalidates the MR that is registered.  If there is none, only a driver
 * that may execute a registration twice gets one, for the spare MR itself
 * (kdapl_driver_registers_twice()).
 */
static void window_register(struct kdapl_window *window, int access,
			    struct kdapl_bind_wr *wr)
{
	struct ib_mr *mr = window->mr[window->spare];

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
		wr_invalidate(wr, window->device_key[window->bound]);
	else if (kdapl_driver_registers_twice(window->zone->dev->ib))
		wr_invalidate(wr, window->device_key[window->spare]);
	else
		wr->first = &wr->reg.wr;
	wr->inv.next = &wr->reg.wr;
	wr->last = &wr->reg.wr;
	wr->rkey = mr->rkey;
	window->next = window->spare;
}

/* kdapl_mr_ops.window_bind: mt:M35..M37, mt:M45. */
int kdapl_window_bind(struct kdapl_window *window, struct kdapl_region *region,
		      u64 start, u64 length, int access,
		      struct kdapl_bind_wr *wr)
{
	int n, ret;

	if (!window->mr[window->spare])
		return -ENOMEM;
	if (!length) {
		window_unbind(window, wr);
		return 0;
	}
	n = kdapl_pages_slice(kdapl_region_pages(region), start, length, window->sg,
			      window->pages);
	ret = window_map(window, n, start, length);
	if (!ret)
		window_register(window, access, wr);
	return ret;
}

/* kdapl_mr_ops.window_bind_list */
int kdapl_window_bind_list(struct kdapl_window *window, const struct kdapl_list *list,
			   int access, struct kdapl_bind_wr *wr)
{
	int n, ret;

	if (!window->mr[window->spare])
		return -ENOMEM;
	n = kdapl_sg_slice(list->sg, list->offset, list->length, window->sg,
			   window->pages);
	ret = window_map(window, n, list->start, list->length);
	if (!ret)
		window_register(window, access, wr);
	return ret;
}

/* kdapl_mr_ops.window_bound */
void kdapl_window_bound(struct kdapl_window *window)
{
	window->bound = window->next;
	if (window->bound < 0)
		return;
	window->device_key[window->bound] = window->mr[window->bound]->rkey;
	window->spare = !window->bound;
}

/*
 * kdapl_mr_ops.window_taken.  The MR keeps its key, which gives no access until the MR is
 * registered again.
 */
void kdapl_window_taken(struct kdapl_window *window)
{
	window->bound = -1;
}

/* kdapl_mr_ops.window_keys */
void kdapl_window_keys(const struct kdapl_window *window, u32 *keys)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(window->mr); i++)
		keys[i] = window->mr[i] ? window->device_key[i] : 0;
}
