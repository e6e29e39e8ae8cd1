// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection domains and memory regions: kdapl_ib_mr_ops, called by core/pz.c
 * and core/lmr.c.
 *
 * Registration is synchronous and belongs to no endpoint, but verbs do it by a
 * work request.  So every zone has a registrar: a queue pair connected to
 * itself, which never sends a packet (A6).  It runs one registration at a time
 * and is trusted only as long as each of them succeeds: after any failure it is
 * thrown away, and so is the memory region, since nobody can say whether the
 * device had executed the request; both are made anew, once.
 *
 * Memory of a process is pinned here and goes the way of kernel memory.  What has
 * more pages than one fast registration can map is registered by the driver, where
 * that works without the driver's own user context (kdapl_driver_pins()).
 */
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "cq.h"
#include "glue.h"
#include "../compat.h"
#include "mr.h"

/* A device that has not answered by then is as good as dead. */
#define REGISTRAR_TIMEOUT	(10 * HZ)
/* One registration at a time; some devices want more than one slot. */
#define REGISTRAR_DEPTH		4

/**
 * struct mem - a region and what it holds
 * @region: what the core sees
 * @zone: in which it is registered
 * @mr: the verbs object
 * @pages: under it
 * @by_driver: the driver has pinned them, too
 */
struct mem {
	struct kdapl_region region;
	struct kdapl_zone *zone;
	struct ib_mr *mr;
	struct kdapl_pages *pages;
	bool by_driver;
};

/*
 * The key byte of every registration differs from that of the one before, so
 * that a device which uses an index again makes another key of it (mt:M27).
 */
static atomic_t next_key = ATOMIC_INIT(0);

/**
 * kdapl_mr_next_key - a key whose lowest byte the last 255 did not have
 *
 * Any context.
 */
u32 kdapl_mr_next_key(void)
{
	return atomic_inc_return(&next_key);
}

/**
 * kdapl_mr_keys_used - the MRs of a window go, and their keys are not to come again
 * @key: the last one that the window counted
 *
 * Any context.
 */
void kdapl_mr_keys_used(u32 key)
{
	int now = atomic_read(&next_key);

	while ((s32)(key - (u32)now) > 0 &&
	       !atomic_try_cmpxchg(&next_key, &now, key))
		;
}

/*
 * The registrar
 */

static void registrar_completed(struct kdapl_cq *cq)
{
	complete(&container_of(cq, struct kdapl_zone, cq)->done);
}

/* The path to ourselves.  Nothing is sent on it, but drivers resolve it. */
static int own_path(struct kdapl_device *dev, const struct ib_port_attr *port,
		    struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid = ERR_PTR(-ENOENT);
	u8 mac[ETH_ALEN];
	int index, ret = 0;

	ah->type = rdma_ah_find_type(dev->ib, dev->port);
	rdma_ah_set_port_num(ah, dev->port);
	rdma_ah_set_dlid(ah, port->lid);
	if (ah->type == RDMA_AH_ATTR_TYPE_IB && port->lid)
		return 0;

	for (index = 0; index < port->gid_tbl_len && IS_ERR(gid); index++)
		gid = rdma_get_gid_attr(dev->ib, dev->port, index);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	rdma_ah_set_grh(ah, NULL, 0, gid->index, 1, 0);
	rdma_ah_set_dgid_raw(ah, (void *)gid->gid.raw);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE) {
		ret = rdma_read_gid_l2_fields(gid, NULL, mac);
		if (!ret)
			ether_addr_copy(ah->roce.dmac, mac);
	}
	rdma_put_gid_attr(gid);
	return ret;
}

static int registrar_connect(struct kdapl_zone *zone)
{
	struct kdapl_device *dev = zone->dev;
	struct ib_port_attr port;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = dev->port,
	};
	int ret;

	ret = ib_query_port(dev->ib, dev->port, &port);
	if (ret)
		return ret;
	ret = ib_modify_qp(zone->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = zone->qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	ret = own_path(dev, &port, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(zone->qp, &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTS;
	attr.max_rd_atomic = 1;
	return ib_modify_qp(zone->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static void registrar_close(struct kdapl_zone *zone)
{
	if (!zone->qp)
		return;
	ib_destroy_qp(zone->qp);
	zone->qp = NULL;
	kdapl_cq_destroy(&zone->cq);
}

/*
 * Its path counts for nothing later: an address that goes away with the GID
 * taken here does not disturb a queue that sends no packet.
 */
static int registrar_open(struct kdapl_zone *zone)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap.max_send_wr = REGISTRAR_DEPTH,
		.cap.max_send_sge = 1,
		.port_num = zone->dev->port,
	};
	int ret;

	zone->cq.dev = zone->dev;
	zone->cq.handler = registrar_completed;
	ret = kdapl_cq_create(&zone->cq, REGISTRAR_DEPTH);
	if (ret)
		return ret;
	init.send_cq = zone->cq.ib;
	init.recv_cq = zone->cq.ib;
	zone->qp = ib_create_qp(zone->pd, &init);
	if (IS_ERR(zone->qp)) {
		ret = PTR_ERR(zone->qp);
		zone->qp = NULL;
		kdapl_cq_destroy(&zone->cq);
		return ret;
	}
	ret = registrar_connect(zone);
	if (ret)
		registrar_close(zone);
	return ret;
}

/* Posts one request and waits for its end.  Never spins (facts 0). */
static int registrar_post(struct kdapl_zone *zone, const struct ib_send_wr *wr)
{
	struct ib_wc wc;
	int ret;

	lockdep_assert_held(&zone->lock);
	reinit_completion(&zone->done);
	ret = kdapl_cq_arm(&zone->cq, false);
	if (ret < 0)
		return ret;
	ret = ib_post_send(zone->qp, wr, NULL);
	if (ret)
		return ret;

	/* The handler may be that of an earlier completion: look again. */
	while (!(ret = ib_poll_cq(zone->cq.ib, 1, &wc)))
		if (!wait_for_completion_timeout(&zone->done,
						 REGISTRAR_TIMEOUT))
			return -ETIMEDOUT;
	if (ret < 0)
		return ret;
	return wc.status == IB_WC_SUCCESS ? 0 : -EIO;
}

/* After a failure the registrar is gone; the next request builds a new one. */
static int registrar_run(struct kdapl_zone *zone, const struct ib_send_wr *wr)
{
	int ret = 0;

	mutex_lock(&zone->lock);
	if (!zone->qp)
		ret = registrar_open(zone);
	if (!ret) {
		ret = registrar_post(zone, wr);
		if (ret)
			registrar_close(zone);
	}
	mutex_unlock(&zone->lock);
	return ret;
}

/*
 * Zones
 */

/**
 * ib_zone_create - kdapl_mr_ops.zone_create
 * @dev: device to make it on
 *
 * Caller is in the IA's section.  May sleep.
 *
 * Return: the zone, or what the device says, -ENOMEM among others.
 */
static struct kdapl_zone *ib_zone_create(struct kdapl_device *dev)
{
	struct kdapl_zone *zone;
	int ret;

	zone = kzalloc(sizeof(*zone), GFP_KERNEL_ACCOUNT);
	if (!zone)
		return ERR_PTR(-ENOMEM);
	zone->dev = dev;
	mutex_init(&zone->lock);
	init_completion(&zone->done);
	zone->pd = ib_alloc_pd(dev->ib, 0);
	if (IS_ERR(zone->pd)) {
		ret = PTR_ERR(zone->pd);
		goto free;
	}
	ret = registrar_open(zone);
	if (ret)
		goto dealloc;
	return zone;

dealloc:
	ib_dealloc_pd(zone->pd);
free:
	kfree(zone);
	return ERR_PTR(ret);
}

/**
 * ib_zone_destroy - kdapl_mr_ops.zone_destroy
 * @zone: no region and no queue pair is left in it
 *
 * May sleep.
 */
static void ib_zone_destroy(struct kdapl_zone *zone)
{
	registrar_close(zone);
	ib_dealloc_pd(zone->pd);
	mutex_destroy(&zone->lock);
	kfree(zone);
}

static struct ib_pd *ib_zone_pd(struct kdapl_zone *zone)
{
	return zone->pd;
}

/*
 * Fast registration
 */

/* Entries that pages of @shift take, contiguous memory taken together. */
static u64 entries(struct scatterlist *sgl, unsigned int nents,
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
 * The largest page that the memory could be mapped with: the address for the
 * device must be that of the consumer within a page, and wherever the memory is
 * not contiguous a page must end and another begin.
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
 * kdapl_mr_shift - the smallest page that memory can be mapped with
 * @dev: device
 * @sgl: mapped for it, @nents entries
 * @nents: not 0
 * @start: the consumer's address of the first byte
 * @max: entries that the MR has
 *
 * Any context.
 *
 * Return: the page's shift, or -E2BIG.
 */
int kdapl_mr_shift(const struct kdapl_device *dev, struct scatterlist *sgl,
		   unsigned int nents, u64 start, u32 max)
{
	unsigned int shift, largest = largest_shift(sgl, nents, start);

	for (shift = PAGE_SHIFT; shift <= largest; shift++)
		if (dev->attrs.page_size_cap & BIT_ULL(shift) &&
		    entries(sgl, nents, shift) <= max)
			return shift;
	return -E2BIG;
}

/* Room for the entry that the driver looks at beyond the last one. */
static bool overreads(const struct ib_device *ib)
{
	return KDAPL_RXE_MR_OVERREAD && ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_mr_alloc - a fast-registration MR
 * @zone: in which
 * @entries: that it can map
 *
 * May sleep.
 *
 * Return: the MR, not registered, or an error pointer.
 */
struct ib_mr *kdapl_mr_alloc(struct kdapl_zone *zone, u32 entries)
{
	return ib_alloc_mr(zone->pd, IB_MR_TYPE_MEM_REG,
			   entries + overreads(zone->dev->ib));
}

/**
 * kdapl_mr_dereg - take an MR back
 * @zone: in which it is
 * @mr: not to be used afterwards
 *
 * May sleep.  A device that refuses may reach the memory still.
 */
void kdapl_mr_dereg(struct kdapl_zone *zone, struct ib_mr *mr)
{
	if (WARN_ON_ONCE(ib_dereg_mr(mr)))
		WRITE_ONCE(zone->stuck, true);
}

/* Pages that a device may still write must not be given back. */
static void put_pages(struct kdapl_zone *zone, struct kdapl_pages *pages)
{
	if (pages && !READ_ONCE(zone->stuck))
		kdapl_pages_put(pages);
}

/**
 * kdapl_mr_map - let an MR that is not registered map memory
 * @mr: of kdapl_mr_alloc()
 * @sgl: mapped for its device, @nents entries
 * @nents: not 0
 * @shift: of the page, from kdapl_mr_shift()
 * @start: the consumer's address of the first byte
 * @length: bytes that @sgl has
 * @key: its next key byte
 *
 * Any context.
 *
 * Return: 0, or an errno.
 */
int kdapl_mr_map(struct ib_mr *mr, struct scatterlist *sgl, unsigned int nents,
		 unsigned int shift, u64 start, u64 length, u8 key)
{
	int n = ib_map_mr_sg(mr, sgl, nents, NULL, 1UL << shift);

	if (n != nents || mr->length != length)
		return n < 0 ? n : -E2BIG;
	mr->iova = start;
	ib_update_fast_reg_key(mr, key);
	return 0;
}

/* A new MR that maps @pages and has not been registered yet. */
static struct ib_mr *map_pages(struct kdapl_zone *zone,
			       const struct kdapl_pages *pages,
			       unsigned int shift)
{
	const struct sg_table *sgt = &pages->sg.sgt;
	struct ib_mr *mr;
	int ret;

	mr = kdapl_mr_alloc(zone, entries(sgt->sgl, sgt->nents, shift));
	if (IS_ERR(mr))
		return mr;
	ret = kdapl_mr_map(mr, sgt->sgl, sgt->nents, shift, pages->start,
			   pages->length, atomic_inc_return(&next_key));
	if (ret) {
		kdapl_mr_dereg(zone, mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/*
 * Maps and registers, a second time with another MR and another registrar if
 * need be.
 */
static struct ib_mr *fast_register(struct kdapl_zone *zone,
				   const struct kdapl_pages *pages, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.access = access,
	};
	int shift, attempt, ret = 0;

	shift = kdapl_mr_shift(zone->dev, pages->sg.sgt.sgl, pages->sg.sgt.nents,
			       pages->start, zone->dev->max_frmr_pages);
	if (shift < 0)
		return ERR_PTR(shift);

	for (attempt = 0; attempt < 2; attempt++) {
		wr.mr = map_pages(zone, pages, shift);
		if (IS_ERR(wr.mr))
			return wr.mr;
		wr.key = wr.mr->rkey;
		ret = registrar_run(zone, &wr.wr);
		if (!ret)
			return wr.mr;
		kdapl_mr_dereg(zone, wr.mr);
	}
	return ERR_PTR(ret);
}

/*
 * Regions
 */

static bool writes(int access)
{
	return access & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
}

/**
 * kdapl_driver_pins - can this driver register memory of a process?
 * @ib: device
 *
 * Return: whether its ops.reg_user_mr is known not to need a user context
 * (facts 2).  The others, irdma, mthca and hns among them, crash or register
 * something else.
 */
bool kdapl_driver_pins(const struct ib_device *ib)
{
	switch (ib->ops.driver_id) {
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_CXGB4:
	case RDMA_DRIVER_ERDMA:
	case RDMA_DRIVER_HFI1:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_OCRDMA:
	case RDMA_DRIVER_QEDR:
	case RDMA_DRIVER_QIB:
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
	case RDMA_DRIVER_VMW_PVRDMA:
		return true;
	default:
		return false;
	}
}

/*
 * Does the driver register memory of a process?  Where it can, what is too large
 * for fast registration.
 */
static bool by_driver(const struct kdapl_device *dev, u64 start, u64 length)
{
	return dev->driver_pins &&
	       PFN_UP(start + length) - PFN_DOWN(start) > dev->max_frmr_pages;
}

/**
 * ib_pin - kdapl_mr_ops.pin
 * @dev: device
 * @init: memory of the calling process; its pages are filled in
 *
 * Outside the section of the IA, may sleep for as long as the process's own
 * pager likes (A10).  Does not touch the device.  What the driver registers it
 * pins, too; our own pin is for windows then.  Each is charged, since they need
 * not be the same pages if the process plays with its mappings.
 *
 * Return: 0, and @init->pages; -EFAULT, -EACCES, -ENOMEM, -E2BIG as
 * kdapl_pages_pin().
 */
static int ib_pin(struct kdapl_device *dev, struct kdapl_region_init *init)
{
	struct kdapl_pages *pages;

	pages = kdapl_pages_pin(dev->max_segment, init->start, init->length,
				writes(init->access));
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	init->pages = pages;
	return 0;
}

/* Fast registration of @pages; the reference stays the caller's. */
static int reg_pages(struct mem *mem, struct kdapl_pages *pages, int access)
{
	int ret = kdapl_pages_map(pages, mem->zone->dev->ib);

	if (ret)
		return ret;
	mem->mr = fast_register(mem->zone, pages, access);
	return PTR_ERR_OR_ZERO(mem->mr);
}

static int reg_by_driver(struct mem *mem, const struct kdapl_region_init *init,
			 int access)
{
	int ret;

	/* The driver looks at current->mm without a doubt. */
	if (!kdapl_user_range(init->start, init->length))
		return -EFAULT;
	mem->mr = ib_reg_user_mr(mem->zone->pd, init->start, init->length,
				 init->start, access);
	if (IS_ERR(mem->mr))
		return PTR_ERR(mem->mr);
	ret = kdapl_pages_map(init->pages, mem->zone->dev->ib);
	if (ret) {
		kdapl_mr_dereg(mem->zone, mem->mr);
		return ret;
	}
	mem->by_driver = true;
	return 0;
}

static int reg_user(struct mem *mem, const struct kdapl_region_init *init,
		    int access)
{
	int ret;

	if (by_driver(mem->zone->dev, init->start, init->length)) {
		ret = reg_by_driver(mem, init, access);
		/*
		 * Before 6.3 drivers pin as if for writing even what is only
		 * read, which shared mappings may refuse.
		 */
		if (ret != -EFAULT || writes(access))
			return ret;
	}
	return reg_pages(mem, init->pages, access);
}

/* Another region over the pages of @source (mt:M7, mt:M8). */
static int reg_shared(struct mem *mem, struct kdapl_region_init *init,
		      int access)
{
	const struct mem *source = container_of(init->source, struct mem,
						region);

	init->pages = source->pages;
	refcount_inc(&init->pages->ref);
	return reg_pages(mem, init->pages, access);
}

static int reg_kernel(struct mem *mem, struct kdapl_region_init *init,
		      int access)
{
	struct kdapl_pages *pages;

	pages = kdapl_pages_kernel(mem->zone->dev->max_segment, init->start,
				   init->length, init->physical);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	init->pages = pages;
	return reg_pages(mem, pages, access);
}

/* What another region over the same pages may do without their process. */
static int shareable(const struct mem *mem)
{
	if (mem->by_driver)
		return 0;
	return mem->pages->writable ? KDAPL_SHARE_WRITE : KDAPL_SHARE_READ;
}

static void fill_region(struct mem *mem, const struct kdapl_region_init *init,
			int access)
{
	struct kdapl_region *region = &mem->region;

	mem->pages = init->pages;
	region->start = init->source ? mem->pages->start : init->start;
	region->length = init->source ? mem->pages->length : init->length;
	region->lkey = mem->mr->lkey;
	if (access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE))
		region->rkey = mem->mr->rkey;
	region->share = shareable(mem);
}

/**
 * ib_reg - kdapl_mr_ops.reg
 * @zone: to register in
 * @init: what to register; @init->pages are taken over, on failure too
 *
 * Caller is in the IA's section.  Memory of a process: called in that process,
 * after ib_pin().  May sleep.  mt:M5, mt:M6, mt:M16, mt:M73, mt:M74, mt:M77.
 *
 * Return: the region, both keys working; -EFAULT: not mapped as asked, or not
 * RAM; -EACCES: not writable as asked; -ENOMEM: no memory, or none that the
 * process may lock; -E2BIG: more pages than the device can map at once;
 * otherwise what the device says.
 */
static struct kdapl_region *ib_reg(struct kdapl_zone *zone,
				   struct kdapl_region_init *init)
{
	int ret = -ENOMEM, access = init->access;
	struct mem *mem;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		goto put;
	mem->zone = zone;
	/*
	 * Verbs: remote write needs local write; mt:T30 keeps it from being
	 * used.
	 */
	if (access & IB_ACCESS_REMOTE_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE;

	if (init->source)
		ret = reg_shared(mem, init, access);
	else if (init->user)
		ret = reg_user(mem, init, access);
	else
		ret = reg_kernel(mem, init, access);
	if (ret)
		goto free;
	fill_region(mem, init, access);
	return &mem->region;

free:
	kfree(mem);
put:
	put_pages(zone, init->pages);
	return ERR_PTR(ret);
}

/**
 * kdapl_region_pages - the pages of a region
 * @region: in use
 *
 * Return: mapped pages.
 */
const struct kdapl_pages *kdapl_region_pages(const struct kdapl_region *region)
{
	return container_of(region, struct mem, region)->pages;
}

/**
 * ib_dereg - kdapl_mr_ops.dereg
 * @region: no post names it any more
 *
 * Any process, also while the device is being removed.  May sleep.  mt:M24,
 * mt:M25.
 */
static void ib_dereg(struct kdapl_region *region)
{
	struct mem *mem = container_of(region, struct mem, region);

	kdapl_mr_dereg(mem->zone, mem->mr);
	put_pages(mem->zone, mem->pages);
	kfree(mem);
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

/**
 * ib_sync - kdapl_mr_ops.sync
 * @region: to sync
 * @offset: from its start
 * @length: bytes, inside the region
 * @for_cpu: for the CPU, else for the device
 *
 * What a driver pinned is the driver's to keep coherent.  Any context.  mt:M70.
 */
static void ib_sync(struct kdapl_region *region, u64 offset, u64 length,
		    bool for_cpu)
{
	struct mem *mem = container_of(region, struct mem, region);
	struct scatterlist *sg;
	unsigned int i;
	u64 n;

	if (mem->by_driver)
		return;
	for_each_sgtable_dma_sg(&mem->pages->sg.sgt, sg, i) {
		if (!length)
			break;
		if (offset >= sg_dma_len(sg)) {
			offset -= sg_dma_len(sg);
			continue;
		}
		n = min_t(u64, length, sg_dma_len(sg) - offset);
		sync_one(mem->pages->ib, sg_dma_address(sg) + offset, n,
			 for_cpu);
		length -= n;
		offset = 0;
	}
}

const struct kdapl_mr_ops kdapl_ib_mr_ops = {
	.zone_create = ib_zone_create,
	.zone_destroy = ib_zone_destroy,
	.zone_pd = ib_zone_pd,
	.pin = ib_pin,
	.unpin = kdapl_pages_put,
	.reg = ib_reg,
	.dereg = ib_dereg,
	.window_create = kdapl_window_create,
	.window_destroy = kdapl_window_destroy,
	.window_renew = kdapl_window_renew,
	.window_bind = kdapl_window_bind,
	.window_bound = kdapl_window_bound,
	.sync = ib_sync,
};
