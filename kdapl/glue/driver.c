// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is known of particular drivers: one function for each fact.  Called by device.c, mostly
 * when a port appears, and by cq.c, mr.c, qp.c, qp_user.c and window.c.  A driver that a function
 * does not name is taken to do what verbs specify.  It is the other way round in
 * kdapl_driver_pins() and kdapl_driver_user_qp(): these name the drivers that are known to be
 * safe, and no other counts as safe.  Documentation/drivers.rst has what each driver does.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_verbs.h>
#include "../compat.h"
#include "driver.h"
#include "glue.h"

/* ---- memory --------------------------------------------------------- */

/**
 * kdapl_driver_takes_iova - can memory be registered at an address of our choice?
 * @ib: device
 *
 * Any context.
 *
 * Return: false for ocrdma, which takes ib_mr.iova for the DMA address of the
 * first byte (ocrdma_build_reg()), and so would give access to other memory.
 */
bool kdapl_driver_takes_iova(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_OCRDMA;
}

/**
 * kdapl_driver_page_sizes - with which page sizes does fast registration work?
 * @ib: device
 *
 * Any context.
 *
 * Return: a mask, as ib_device_attr.page_size_cap.  Only PAGE_SIZE for vmw_pvrdma, which
 * tells its device that size, whatever size the pages of an MR have (set_reg_seg()).  No less than
 * PAGE_SIZE for Soft-RoCE.  That says 4 KiB, but for each page of an MR it keeps one of the
 * kernel's (rxe_set_page()) and forgets where in it the MR's began: with larger pages of the
 * kernel it would read and write other memory.
 */
u64 kdapl_driver_page_sizes(const struct ib_device *ib)
{
	if (ib->ops.driver_id == RDMA_DRIVER_VMW_PVRDMA)
		return PAGE_SIZE;
	if (ib->ops.driver_id == RDMA_DRIVER_RXE)
		return ib->attrs.page_size_cap & ~(u64)(PAGE_SIZE - 1);
	return ib->attrs.page_size_cap;
}

static bool upon_rdmavt(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_HFI1 ||
	       ib->ops.driver_id == RDMA_DRIVER_QIB;
}

/*
 * The most pages that an MR of rdmavt can have.  rdmavt keeps the addresses of 256 pages in one
 * page, and pointers to these pages in an array that is part of the MR, which it allocates with
 * kmalloc().
 */
#define RVT_PAGES	((KMALLOC_MAX_SIZE - PAGE_SIZE) / sizeof(void *) * \
			 (PAGE_SIZE / 16))

/**
 * kdapl_driver_frmr_pages - how many pages can a region have?
 * @ib: device
 *
 * Any context.
 *
 * Return: what the driver says.  Drivers on rdmavt say the largest 32-bit number; for these,
 * the number for which rdmavt has tables.
 */
u32 kdapl_driver_frmr_pages(const struct ib_device *ib)
{
	u32 pages = ib->attrs.max_fast_reg_page_list_len;

	return upon_rdmavt(ib) ? min_t(u64, pages, RVT_PAGES) : pages;
}

/**
 * kdapl_driver_overreads - does the driver read the entry behind the last page of an MR?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE of some kernels (KDAPL_RXE_MR_OVERREAD).  Then the MR has to be
 * made with one entry more than it has pages.
 */
bool kdapl_driver_overreads(const struct ib_device *ib)
{
	return KDAPL_RXE_MR_OVERREAD && ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_driver_pins - can this driver register memory of a process?
 * @ib: device
 *
 * Any context.
 *
 * Return: whether its ops.reg_user_mr is known to work without the driver's own
 * user context (facts 2).  Other drivers, irdma, mthca and hns among them,
 * crash without it or register other memory.
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

/**
 * kdapl_driver_only - must this driver register the memory of processes?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for the drivers on rdmavt.  There an access with the local key counts
 * from the address that ib_map_mr_sg() has set, which is the kernel's, even after the
 * MR was given the address of the process (rvt_lkey_ok()).  Also true for siw: if the
 * second segment of a message lies in memory that was registered by work requests, siw
 * may send other memory of the kernel (siw_tx_hdt()).  Memory that siw registers itself
 * it looks up by another function, which is correct.
 */
bool kdapl_driver_only(const struct ib_device *ib)
{
	return upon_rdmavt(ib) || ib->ops.driver_id == RDMA_DRIVER_SIW;
}

/**
 * kdapl_driver_binds - can memory be registered by a bind, and its key be taken back?
 * @ib: device
 *
 * Any context.
 *
 * Return: false for hns.  Its ib_map_mr_sg() allocates memory and may sleep, which a bind must
 * not do; and it does not take IB_WR_LOCAL_INV, so no key could be taken back.
 */
bool kdapl_driver_binds(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_HNS;
}

/**
 * kdapl_driver_registers_twice - may a registration be executed a second time?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE.  When it has to repeat a request, it executes a registration that
 * was posted after that request a second time.  It then finds the MR registered already, and
 * stops the send queue without a completion (facts 0).  But it delays an invalidation until all
 * requests before it are complete, so a registration directly behind an invalidation is executed
 * only once.
 */
bool kdapl_driver_registers_twice(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/* ---- completion queues and queue pairs ------------------------------ */

/**
 * kdapl_driver_never_solicited - does the driver lack solicited completions?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for siw, which does not check whether a message was solicited, and so
 * never calls the handler of a CQ that is armed for solicited completions only
 * (siw_rqe_complete()).
 */
bool kdapl_driver_never_solicited(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_SIW;
}

/**
 * kdapl_driver_leaves_tasklet - may the handler of a CQ be called after the CQ was destroyed?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE of some kernels (KDAPL_RXE_CQ_TASKLET), which calls the handler in
 * a tasklet that is part of the CQ, and leaves the tasklet scheduled when it destroys the CQ.
 */
bool kdapl_driver_leaves_tasklet(const struct ib_device *ib)
{
	return KDAPL_RXE_CQ_TASKLET && ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_driver_mute_faults - may the send queue stop for ever without a completion?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE.  When the memory of a request is gone, it stops the send queue
 * only: the receive queue goes on, and no completion reports the fault (facts 0).
 */
bool kdapl_driver_mute_faults(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_driver_puts_aside - does the driver put answers of the peer aside?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE.  It puts aside an answer that arrives while it is about to repeat a
 * request.  It processes that answer when another packet arrives, when the timeout for an answer
 * expires, or when the queue pair is moved to SQD to be drained.
 */
bool kdapl_driver_puts_aside(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_driver_immed - does the device have RDMA writes with immediate data?
 * @ib: device
 * @iwarp: the port speaks iWARP
 *
 * Any context.
 *
 * Return: true for InfiniBand and RoCE, of which these writes are a part.  iWARP got them later
 * (RFC 7306): true for erdma and irdma, whose drivers post them and report the data; cxgb4 has them
 * with some adapters only and does not tell with which, siw refuses them.
 */
bool kdapl_driver_immed(const struct ib_device *ib, bool iwarp)
{
	return !iwarp || ib->ops.driver_id == RDMA_DRIVER_ERDMA ||
	       ib->ops.driver_id == RDMA_DRIVER_IRDMA;
}

/**
 * kdapl_driver_posts_atomics - can the kernel post atomics to a device that has them?
 * @ib: device
 *
 * Any context.
 *
 * Return: false for mlx5, which answers those of a peer, and carries out those that a process posts
 * by its verbs library, but refuses them from the kernel, each time with a line in the log.
 */
bool kdapl_driver_posts_atomics(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_MLX5;
}

#define SYNC	KDAPL_HINT_SYNC_STATE

/*
 * The drivers with which the kernel can move a queue pair of a process: they modify it without
 * udata, which only a call of the process's verbs library has.
 *
 * With other drivers kdapl uses queue pairs of the kernel.  Not listed are drivers that would
 * fault or do harm (mlx4 and mthca take the doorbell page from the udata, qedr writes a
 * doorbell that a process's queue pair does not have), drivers that have no RC or do not
 * work with the CM (efa, usnic), and drivers that nobody has looked at.
 */
static const struct {
	enum rdma_driver_id driver;
	u32 hints;
} drivers[] = {
	/* The driver uses the udata only if there is one.  The library posts in RTS only. */
	{ RDMA_DRIVER_MLX5, SYNC },
	/* The driver ignores the udata of a modify. */
	{ RDMA_DRIVER_BNXT_RE, SYNC },
	/* Without udata there is no push page, and a second move to ERR flushes nothing. */
	{ RDMA_DRIVER_IRDMA, SYNC },
	/* The driver ignores the udata.  The library tests the state. */
	{ RDMA_DRIVER_HNS, SYNC },
	/* The driver ignores the udata. */
	{ RDMA_DRIVER_ERDMA, SYNC },
	/*
	 * The driver ignores the udata.  The library keeps no state.  It must not modify the
	 * queue pair itself: that changes the kernel's state without a lock, and could revive
	 * a queue pair that we have just moved to ERR.  The driver may damage what processes
	 * send (Documentation/drivers.rst), so they have to ask for passthrough.
	 */
	{ RDMA_DRIVER_SIW, KDAPL_HINT_ASKED },
	/*
	 * The driver ignores the udata.  As with siw the library keeps no state and must not
	 * modify the queue pair, except that it has to move it to INIT itself.  The hints stand
	 * for faults of the driver (Documentation/drivers.rst).
	 */
	{ RDMA_DRIVER_RXE, KDAPL_HINT_MUTE_FAULTS | KDAPL_HINT_WIDE_WINDOWS },
};

/**
 * kdapl_driver_user_qp - can the kernel move a queue pair that a process has made?
 * @ib: device
 * @hints: out, if it can: KDAPL_HINT_*, how the driver's library differs
 *
 * Any context.
 *
 * Return: true for the drivers in the table above.
 */
bool kdapl_driver_user_qp(const struct ib_device *ib, u32 *hints)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (drivers[i].driver != ib->ops.driver_id)
			continue;
		*hints = drivers[i].hints;
		return true;
	}
	return false;
}

/* ---- shared receive queues ------------------------------------------ */

/**
 * kdapl_driver_srq_safe - can an endpoint on a shared receive queue be freed?
 * @ib: device
 *
 * Any context.
 *
 * Return: false for qedr and cxgb4, whose shared receive queues are therefore not used.  These
 * drivers have no LAST_WQE_REACHED, and nothing else tells when the last completion of a queue
 * pair is in the CQ.  A completion that is polled after the queue pair was destroyed does harm:
 * qedr then reads the queue pair in freed memory; cxgb4 skips the completion, and with it the
 * entry of the SRQ, so that the SRQ takes no receives any more after one round of its ring.
 */
bool kdapl_driver_srq_safe(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_QEDR && ib->ops.driver_id != RDMA_DRIVER_CXGB4;
}

/**
 * kdapl_driver_srq_tells_last - is the event LAST_WQE_REACHED raised, and at the right time?
 * @ib: device
 *
 * Any context.
 *
 * Return: false for Soft-RoCE, which does not raise it on 6.1, and on later kernels ignores a
 * message that is half received when it raises it; and for Soft-iWARP, which has no such event.
 */
bool kdapl_driver_srq_tells_last(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_RXE && ib->ops.driver_id != RDMA_DRIVER_SIW;
}

/**
 * kdapl_driver_srq_keeps - may a receive that a queue pair has taken never complete?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE.  It takes receives from an SRQ in the order of posting.  When a
 * queue pair ends, it forgets the receive of a message that has arrived only in part.
 */
bool kdapl_driver_srq_keeps(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_driver_srq_zone_of_qp - are receives from an SRQ checked against the queue pair's zone?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE, which looks a receive's memory up in the zone of the queue pair;
 * false: the device uses the zone of the shared receive queue.
 */
bool kdapl_driver_srq_zone_of_qp(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}
