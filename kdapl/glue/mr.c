// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Zones and memory regions: kdapl_ib_mr_ops, called by core/pz.c and
 * core/lmr.c; and functions for fast-registration MRs, which glue/window.c uses as well.
 *
 * All memory is registered in the same steps.  Its pages are found, and pinned if they
 * belong to a process (glue/pin.c); they are mapped for the device; an MR is made that
 * maps them; and the zone's registrar has the device register that MR
 * (glue/registrar.c).  A registration that fails may have been executed all the
 * same, so its MR is given back, and another MR is tried, once.
 *
 * There are two exceptions, in which the driver registers memory of a process instead:
 * memory that has more pages than one MR can map, where the driver does that without its
 * own user context (kdapl_driver_pins()); and all memory of processes where fast
 * registration does not work for it (kdapl_driver_only()).
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "driver.h"
#include "mr.h"
#include "refused.h"

/**
 * struct kdapl_ib_region - a region and what it holds
 * @region: what the core sees
 * @zone: the zone it is registered in
 * @mr: the verbs object
 * @pages: the pages under it, with a reference
 * @charge: for @mr
 * @by_driver: the driver made @mr, and has pinned the pages itself as well
 */
struct kdapl_ib_region {
	struct kdapl_region region;
	struct kdapl_zone *zone;
	struct ib_mr *mr;
	struct kdapl_pages *pages;
	struct kdapl_charge charge;
	bool by_driver;
};

static struct kdapl_ib_region *ib_region_of(const struct kdapl_region *region)
{
	return container_of(region, struct kdapl_ib_region, region);
}

/*
 * Keys
 */

/*
 * The lowest byte of an MR's key is ours to choose.  Each registration gets
 * another byte than the one before.  So when a device uses the index of a former MR
 * again, the key is another one, and a peer that still has the old key does not
 * reach the new memory (mt:M27).
 */
static atomic_t last_key = ATOMIC_INIT(0);

/**
 * kdapl_mr_next_key - a key byte that was not used recently
 *
 * Any context.
 *
 * Return: a number whose lowest byte differs from those of the last 255 calls.
 */
u32 kdapl_mr_next_key(void)
{
	return atomic_inc_return(&last_key);
}

/**
 * kdapl_mr_keys_used - do not give out again, soon, the key bytes that a window has used
 * @key: the last key of the window, whose MRs are being given back.  A window begins with a
 *	 number from kdapl_mr_next_key(), and counts on from there by itself
 *
 * Any context.
 */
void kdapl_mr_keys_used(u32 key)
{
	int last = atomic_read(&last_key);

	while ((s32)(key - (u32)last) > 0 &&
	       !atomic_try_cmpxchg(&last_key, &last, key))
		;
}

/*
 * Zones
 */

/**
 * kdapl_mr_charge - charge the calling process for an MR, or for a zone itself
 * @zone: the zone; if it does not belong to a process, nothing is charged
 * @charge: empty
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN: the process may have no more objects; -ENOMEM.
 */
int kdapl_mr_charge(struct kdapl_zone *zone, struct kdapl_charge *charge)
{
	return zone->user ? kdapl_charge_object(charge, zone->dev->ib,
						RDMACG_RESOURCE_HCA_OBJECT) : 0;
}

/**
 * kdapl_mr_uncharge - undo kdapl_mr_charge(), and kdapl_charge_pages() if that was called
 * @zone: that of kdapl_mr_charge()
 * @charge: of kdapl_mr_charge(); may be empty
 *
 * Any process; may sleep.
 */
void kdapl_mr_uncharge(struct kdapl_zone *zone, struct kdapl_charge *charge)
{
	kdapl_uncharge_pages(charge);
	kdapl_uncharge_object(charge, zone->dev->ib, RDMACG_RESOURCE_HCA_OBJECT);
}

/* kdapl_mr_ops.zone_create */
static struct kdapl_zone *zone_create(struct kdapl_device *dev, bool user)
{
	struct kdapl_zone *zone;
	int ret;

	zone = kzalloc(sizeof(*zone), GFP_KERNEL_ACCOUNT);
	if (!zone)
		return ERR_PTR(-ENOMEM);
	zone->dev = dev;
	zone->user = user;
	ret = kdapl_mr_charge(zone, &zone->charge);
	if (ret)
		goto free;
	zone->pd = ib_alloc_pd(dev->ib, 0);
	if (IS_ERR(zone->pd)) {
		ret = kdapl_refused("pd_alloc", PTR_ERR(zone->pd));
		goto uncharge;
	}
	kdapl_registrar_init(&zone->registrar, dev, zone->pd, user);
	return zone;

uncharge:
	kdapl_mr_uncharge(zone, &zone->charge);
free:
	kfree(zone);
	return ERR_PTR(ret);
}

/* kdapl_mr_ops.zone_destroy */
static void zone_destroy(struct kdapl_zone *zone)
{
	kdapl_registrar_destroy(&zone->registrar);
	ib_dealloc_pd(zone->pd);
	kdapl_mr_uncharge(zone, &zone->charge);
	kfree(zone);
}

/* kdapl_mr_ops.zone_pd */
static struct ib_pd *zone_pd(struct kdapl_zone *zone)
{
	return zone->pd;
}

/*
 * Fast registration
 */

/*
 * How many pages of size 1 << @shift the memory touches.  Pieces that follow each other
 * without a gap count as one, so the page where they meet is counted once.
 */
static u64 sg_pages(struct scatterlist *sgl, unsigned int nents,
		    unsigned int shift)
{
	struct scatterlist *sg;
	u64 first = 0, end = 0, n = 0;
	unsigned int i;

	for_each_sg(sgl, sg, nents, i) {
		if (i && sg_dma_address(sg) == end) {
			end += sg_dma_len(sg);
			continue;
		}
		if (i)
			n += ((end - 1) >> shift) - (first >> shift) + 1;
		first = sg_dma_address(sg);
		end = first + sg_dma_len(sg);
	}
	return n + ((end - 1) >> shift) - (first >> shift) + 1;
}

/*
 * The binary logarithm of the largest page size with which the memory can be mapped.  Two
 * conditions bound it: the DMA address of a byte and the consumer's address of it must have
 * the same offset in their pages; and where the memory has a gap, the piece before it must
 * end, and the piece behind it begin, at the edge of a page.
 */
static unsigned int largest_shift(struct scatterlist *sgl, unsigned int nents,
				  u64 start)
{
	struct scatterlist *sg;
	u64 bits = 0, end = 0;
	unsigned int i;

	for_each_sg(sgl, sg, nents, i) {
		if (!i)
			bits = sg_dma_address(sg) ^ start;
		else if (sg_dma_address(sg) != end)
			bits |= sg_dma_address(sg) | end;
		end = sg_dma_address(sg) + sg_dma_len(sg);
	}
	/* ib_mr.page_size is 32 bits wide. */
	return bits ? min_t(unsigned int, __ffs64(bits), 31) : 31;
}

/**
 * kdapl_mr_first_shift - the largest page size of a device up to a bound
 * @sizes: the sizes, as kdapl_driver_page_sizes()
 * @most: binary logarithm of the bound
 *
 * With %PAGE_SHIFT an MR needs no more entries than the kernel has pages.  A device need not have
 * that size where the kernel's pages are large, but all have 4 KiB, the smallest that verbs know.
 * Any context.
 *
 * Return: the binary logarithm of the size; if there is none, @most.
 */
unsigned int kdapl_mr_first_shift(u64 sizes, unsigned int most)
{
	sizes &= BIT_ULL(most + 1) - SZ_4K;
	return most >= ilog2(SZ_4K) && sizes ? __fls(sizes) : most;
}

/**
 * kdapl_mr_shift - the page size with which memory is mapped
 * @dev: device
 * @sgl: DMA addresses and lengths of the memory, for @dev
 * @nents: entries of @sgl, not 0
 * @start: the consumer's address of the first byte
 * @max: the most pages that the MR can map
 *
 * The largest up to %PAGE_SIZE with which it can be mapped, or if that takes too many pages, the
 * next larger one with which it can be.  Any context.
 *
 * Return: the binary logarithm of the page size; -E2BIG if the memory needs more than
 * @max pages with every page size that the device supports.
 */
int kdapl_mr_shift(const struct kdapl_device *dev, struct scatterlist *sgl,
		   unsigned int nents, u64 start, u32 max)
{
	unsigned int shift, largest = largest_shift(sgl, nents, start);
	u64 sizes = dev->attrs.page_size_cap & ~(u64)(SZ_4K - 1);

	shift = kdapl_mr_first_shift(sizes, min_t(unsigned int, largest, PAGE_SHIFT));
	for (; shift <= largest; shift++)
		if (sizes & BIT_ULL(shift) &&
		    sg_pages(sgl, nents, shift) <= max)
			return shift;
	return -E2BIG;
}

/**
 * kdapl_mr_alloc - make a fast-registration MR
 * @zone: zone to make it in
 * @entries: pages that it shall be able to map
 *
 * Caller is in the IA's section.  May sleep.
 *
 * Return: the MR, not registered yet; or an error pointer with the device's errno,
 * -ENOMEM among others.
 */
struct ib_mr *kdapl_mr_alloc(struct kdapl_zone *zone, u32 entries)
{
	struct ib_mr *mr;

	mr = ib_alloc_mr(zone->pd, IB_MR_TYPE_MEM_REG,
			 entries + kdapl_driver_overreads(zone->dev->ib));
	if (IS_ERR(mr))
		kdapl_refused("mr_alloc", PTR_ERR(mr));
	return mr;
}

/**
 * kdapl_mr_dereg - give an MR back
 * @zone: the zone it is in
 * @mr: not to be used afterwards
 *
 * When this returns, the keys of the MR give no access.  If the device refuses to give
 * the MR back, the zone is marked as stuck, and its pages are never freed.  May sleep.
 */
void kdapl_mr_dereg(struct kdapl_zone *zone, struct ib_mr *mr)
{
	int ret = kdapl_refused("mr_dereg", ib_dereg_mr(mr));

	if (WARN_ON_ONCE(ret))
		WRITE_ONCE(zone->stuck, true);
}

/* Drops a reference to pages, unless the device may still reach them: then they are leaked. */
static void put_pages(struct kdapl_zone *zone, struct kdapl_pages *pages)
{
	if (pages && !READ_ONCE(zone->stuck))
		kdapl_pages_put(pages);
}

/**
 * kdapl_mr_map - have an MR that is not registered map memory
 * @mr: from kdapl_mr_alloc()
 * @sgl: DMA addresses and lengths of the memory, for the MR's device
 * @nents: entries of @sgl, not 0
 * @shift: from kdapl_mr_shift()
 * @start: the consumer's address of the first byte
 * @length: bytes that @sgl has
 * @key: lowest byte of the key that the MR will have
 *
 * Any context.
 *
 * Return: 0; -E2BIG when the MR cannot map all of it; or the device's errno.
 */
int kdapl_mr_map(struct ib_mr *mr, struct scatterlist *sgl, unsigned int nents,
		 unsigned int shift, u64 start, u64 length, u8 key)
{
	int n = ib_map_mr_sg(mr, sgl, nents, NULL, 1UL << shift);

	if (n != nents || mr->length != length)
		return kdapl_refused("mr_map", n < 0 ? n : -E2BIG);
	mr->iova = start;
	ib_update_fast_reg_key(mr, key);
	return 0;
}

/* Makes an MR that maps @pages and is not registered yet. */
static struct ib_mr *mr_of_pages(struct kdapl_zone *zone,
				 const struct kdapl_pages *pages,
				 unsigned int shift)
{
	const struct sg_table *sgt = &pages->sg.sgt;
	struct ib_mr *mr;
	int ret;

	mr = kdapl_mr_alloc(zone, sg_pages(sgt->sgl, sgt->nents, shift));
	if (IS_ERR(mr))
		return mr;
	ret = kdapl_mr_map(mr, sgt->sgl, sgt->nents, shift, pages->start,
			   pages->length, kdapl_mr_next_key());
	if (ret) {
		kdapl_mr_dereg(zone, mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/*
 * Registers pages by a work request of the registrar.  After a failure it tries a second time,
 * with another MR and another queue pair of the registrar, since one of these two may have
 * been the cause.
 */
static struct ib_mr *fast_register(struct kdapl_zone *zone,
				   const struct kdapl_pages *pages, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.access = access,
	};
	int shift, attempt, ret = -ENODEV;

	shift = kdapl_mr_shift(zone->dev, pages->sg.sgt.sgl, pages->sg.sgt.nents,
			       pages->start, zone->dev->max_frmr_pages);
	if (shift < 0)
		return ERR_PTR(shift);

	for (attempt = 0; attempt < 2 && !READ_ONCE(zone->dev->gone); attempt++) {
		wr.mr = mr_of_pages(zone, pages, shift);
		if (IS_ERR(wr.mr))
			return wr.mr;
		wr.key = wr.mr->rkey;
		ret = kdapl_registrar_run(&zone->registrar, &wr.wr);
		if (!ret)
			return wr.mr;
		kdapl_mr_dereg(zone, wr.mr);
	}
	return ERR_PTR(ret);
}

/*
 * Regions
 */

static bool access_writes(int access)
{
	return access & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			 IB_ACCESS_REMOTE_ATOMIC);
}

/* Does the driver have to register this memory of a process? */
static bool driver_registers(const struct kdapl_device *dev, u64 start,
			     u64 length)
{
	if (dev->driver_only)
		return true;
	return dev->driver_pins &&
	       ((start + length - 1) >> dev->mr_shift) - (start >> dev->mr_shift) + 1 >
	       dev->max_frmr_pages;
}

/*
 * kdapl_mr_ops.pin.  A driver that registers memory pins it by itself.  We pin that memory as
 * well, because windows on it need our own list of its pages.
 */
static int region_pin(struct kdapl_device *dev, struct kdapl_region_init *init)
{
	struct kdapl_pages *pages;

	pages = kdapl_pages_pin(dev->max_segment, init->start, init->length,
				access_writes(init->access));
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	init->pages = pages;
	return 0;
}

/* Registers @pages through the registrar.  The caller keeps its reference to them. */
static int reg_pages(struct kdapl_ib_region *reg, struct kdapl_pages *pages,
		     int access)
{
	int ret = kdapl_pages_map(pages, reg->zone->dev->ib);

	if (ret)
		return ret;
	reg->mr = fast_register(reg->zone, pages, access);
	return PTR_ERR_OR_ZERO(reg->mr);
}

static int reg_by_driver(struct kdapl_ib_region *reg,
			 const struct kdapl_region_init *init, int access)
{
	struct kdapl_device *dev = reg->zone->dev;
	struct kdapl_pager pager;
	int ret;

	/* Drivers use current->mm without checking it. */
	if (!kdapl_user_range(init->start, init->length))
		return -EFAULT;
	ret = kdapl_device_begin_paging(dev, &pager);
	if (ret)
		return ret;
	reg->mr = ib_reg_user_mr(reg->zone->pd, init->start, init->length,
				 init->start, access);
	kdapl_device_end_paging(dev, &pager);
	if (IS_ERR(reg->mr))
		return kdapl_refused("mr_reg_user", PTR_ERR(reg->mr));
	ret = kdapl_pages_map(init->pages, reg->zone->dev->ib);
	if (ret) {
		kdapl_mr_dereg(reg->zone, reg->mr);
		return ret;
	}
	reg->by_driver = true;
	return 0;
}

static int reg_user(struct kdapl_ib_region *reg,
		    const struct kdapl_region_init *init, int access)
{
	int ret;

	/*
	 * The process may have changed its mappings, or be another one.  If it changes them after
	 * this, before the driver pins, it gets what it has made itself.
	 */
	if (init->former && !kdapl_pages_same(init->pages, ib_region_of(init->former)->pages))
		return kdapl_refused("mr_former", -EFAULT);
	if (driver_registers(reg->zone->dev, init->start, init->length)) {
		/*
		 * The driver charges the process for the pages that it pins, so our
		 * charge for the same pages is given back.  If the process changes its
		 * mappings in between, the two pin different pages, and the process is
		 * charged for half of what is pinned.
		 */
		kdapl_uncharge_pages(&init->pages->charge);
		ret = reg_by_driver(reg, init, access);
		/*
		 * Before 6.3 drivers pin memory for writing even if they only read
		 * it, and a shared mapping may refuse that.  Our own pin did not ask
		 * for write access, so fast registration may still work.
		 */
		if (ret != -EFAULT || access_writes(access) ||
		    reg->zone->dev->driver_only)
			return ret;
		ret = kdapl_pages_charge(init->pages);
		if (ret)
			return ret;
	}
	return reg_pages(reg, init->pages, access);
}

/* An estimate of what a driver allocates for each entry of a fast registration, in bytes. */
#define PAGE_ENTRY	16

/*
 * Registers another region over the pages of @init->source (mt:M7, mt:M8).  The pages were
 * charged already, but not the list of them that the driver allocates, and a process may make
 * very many such regions.  So it is charged for each list, at least one page (mt:M19).
 */
static int reg_shared(struct kdapl_ib_region *reg,
		      struct kdapl_region_init *init, int access)
{
	int ret;

	init->pages = ib_region_of(init->source)->pages;
	refcount_inc(&init->pages->ref);
	if (reg->zone->user) {
		ret = kdapl_charge_pages(&reg->charge,
					 DIV_ROUND_UP_ULL(init->pages->length,
							  PAGE_SIZE / PAGE_ENTRY <<
							  reg->zone->dev->mr_shift));
		if (ret)
			return ret;
	}
	return reg_pages(reg, init->pages, access);
}

static int reg_kernel(struct kdapl_ib_region *reg,
		      struct kdapl_region_init *init, int access)
{
	struct kdapl_pages *pages;

	pages = kdapl_pages_kernel(reg->zone->dev->max_segment, init->start,
				   init->length, init->physical);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	init->pages = pages;
	return reg_pages(reg, pages, access);
}

static enum kdapl_share region_share(const struct kdapl_ib_region *reg)
{
	if (reg->by_driver)
		return KDAPL_SHARE_NONE;
	return reg->pages->writable ? KDAPL_SHARE_WRITE : KDAPL_SHARE_READ;
}

static void region_fill(struct kdapl_ib_region *reg,
			const struct kdapl_region_init *init, int access)
{
	struct kdapl_region *region = &reg->region;

	reg->pages = init->pages;
	region->start = init->source ? reg->pages->start : init->start;
	region->length = init->source ? reg->pages->length : init->length;
	region->lkey = reg->mr->lkey;
	if (access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		region->rkey = reg->mr->rkey;
	region->share = region_share(reg);
}

/* kdapl_mr_ops.reg: mt:M5, mt:M6, mt:M16, mt:M73, mt:M74, mt:M77. */
static struct kdapl_region *region_reg(struct kdapl_zone *zone,
				       struct kdapl_region_init *init)
{
	int ret = -ENOMEM, access = init->access;
	struct kdapl_ib_region *reg;

	reg = kzalloc(sizeof(*reg), GFP_KERNEL_ACCOUNT);
	if (!reg)
		goto put;
	reg->zone = zone;
	ret = kdapl_mr_charge(zone, &reg->charge);
	if (ret)
		goto free;
	/*
	 * Verbs refuse remote write and atomics without local write, so local write is added.
	 * If the consumer did not ask for local write, the core refuses posts that would need
	 * it (mt:T30).
	 */
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		access |= IB_ACCESS_LOCAL_WRITE;

	if (init->source)
		ret = reg_shared(reg, init, access);
	else if (init->user)
		ret = reg_user(reg, init, access);
	else
		ret = reg_kernel(reg, init, access);
	if (ret)
		goto uncharge;
	region_fill(reg, init, access);
	return &reg->region;

uncharge:
	kdapl_mr_uncharge(zone, &reg->charge);
free:
	kfree(reg);
put:
	put_pages(zone, init->pages);
	return ERR_PTR(ret);
}

/**
 * kdapl_region_pages - the pages of a region
 * @region: registered
 *
 * Any context.
 *
 * Return: the pages, mapped for DMA, for as long as the region stays.
 */
const struct kdapl_pages *kdapl_region_pages(const struct kdapl_region *region)
{
	return ib_region_of(region)->pages;
}

/* kdapl_mr_ops.dereg: mt:M24, mt:M25. */
static void region_dereg(struct kdapl_region *region)
{
	struct kdapl_ib_region *reg = ib_region_of(region);

	kdapl_mr_dereg(reg->zone, reg->mr);
	kdapl_mr_uncharge(reg->zone, &reg->charge);
	put_pages(reg->zone, reg->pages);
	kfree(reg);
}

static void sync_one(struct ib_device *ib, dma_addr_t addr, size_t length,
		     bool for_cpu)
{
	if (for_cpu)
		ib_dma_sync_single_for_cpu(ib, addr, length, DMA_BIDIRECTIONAL);
	else
		ib_dma_sync_single_for_device(ib, addr, length,
					      DMA_BIDIRECTIONAL);
}

/*
 * kdapl_mr_ops.sync: mt:M70.  Memory that the driver has registered the driver keeps coherent
 * by itself.
 */
static void region_sync(struct kdapl_region *region, u64 offset, u64 length,
			bool for_cpu)
{
	struct kdapl_ib_region *reg = ib_region_of(region);
	struct scatterlist *sg;
	unsigned int i;
	u64 n;

	if (reg->by_driver)
		return;
	for_each_sgtable_dma_sg(&reg->pages->sg.sgt, sg, i) {
		if (!length)
			break;
		if (offset >= sg_dma_len(sg)) {
			offset -= sg_dma_len(sg);
			continue;
		}
		n = min_t(u64, length, sg_dma_len(sg) - offset);
		sync_one(reg->pages->ib, sg_dma_address(sg) + offset, n,
			 for_cpu);
		length -= n;
		offset = 0;
	}
}

const struct kdapl_mr_ops kdapl_ib_mr_ops = {
	.zone_create = zone_create,
	.zone_destroy = zone_destroy,
	.zone_pd = zone_pd,
	.pin = region_pin,
	.unpin = kdapl_pages_put,
	.reg = region_reg,
	.dereg = region_dereg,
	.map = kdapl_sgl_map,
	.unmap = kdapl_sgl_unmap,
	.zone_key = kdapl_zone_key,
	.window_create = kdapl_window_create,
	.window_destroy = kdapl_window_destroy,
	.window_renew = kdapl_window_renew,
	.window_empty = kdapl_window_empty,
	.window_bind = kdapl_window_bind,
	.window_bind_list = kdapl_window_bind_list,
	.window_bound = kdapl_window_bound,
	.window_taken = kdapl_window_taken,
	.window_keys = kdapl_window_keys,
	.sync = region_sync,
};
