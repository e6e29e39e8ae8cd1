// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is known of particular drivers, a function for each fact.  device.c, which asks most of
 * them as a port appears, cq.c, mr.c, qp.c, qp_user.c and window.c call them.  A driver that is
 * not named does what verbs say; but where a function names those that are known to be safe
 * (kdapl_driver_pins(), kdapl_driver_user_qp()), no other is.  Documentation/drivers.rst has
 * what each of them does.
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
 * first byte (ocrdma_build_reg()), so that it would give access to other memory.
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
 * Return: a mask, as ib_device_attr.page_size_cap.  vmw_pvrdma tells its device
 * of PAGE_SIZE whatever size the pages of an MR have (set_reg_seg()).
 */
u64 kdapl_driver_page_sizes(const struct ib_device *ib)
{
	if (ib->ops.driver_id == RDMA_DRIVER_VMW_PVRDMA)
		return PAGE_SIZE;
	return ib->attrs.page_size_cap;
}

static bool upon_rdmavt(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_HFI1 ||
	       ib->ops.driver_id == RDMA_DRIVER_QIB;
}

/*
 * rdmavt keeps the addresses of 256 pages in a page, and those pages in an array that it
 * allocates with the MR.
 */
#define RVT_PAGES	((KMALLOC_MAX_SIZE - PAGE_SIZE) / sizeof(void *) * \
			 (PAGE_SIZE / 16))

/**
 * kdapl_driver_frmr_pages - how many pages can a region have?
 * @ib: device
 *
 * Any context.
 *
 * Return: what the driver says, and for those upon rdmavt, which say as many as 32 bits can
 * count, what they have tables for.
 */
u32 kdapl_driver_frmr_pages(const struct ib_device *ib)
{
	u32 pages = ib->attrs.max_fast_reg_page_list_len;

	return upon_rdmavt(ib) ? min_t(u64, pages, RVT_PAGES) : pages;
}

/**
 * kdapl_driver_overreads - does the driver look at an entry beyond the last one?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE of some kernels (KDAPL_RXE_MR_OVERREAD).  That entry must exist
 * then.
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
 * crash without one or register something else.
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
 * Return: true for the drivers upon rdmavt.  There a local key goes on counting
 * from the address that ib_map_mr_sg() found, which is the kernel's, after the
 * MR was given the process's (rvt_lkey_ok()).  And for siw, which may send other
 * memory of the kernel for the second segment of a message that lies in memory
 * registered by work requests (siw_tx_hdt()); what it registers itself it looks
 * up by another function, and that is right.
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
 * Return: false for hns, whose ib_map_mr_sg() allocates memory, and so sleeps, where a bind may
 * not; and which does not take IB_WR_LOCAL_INV, so no key could be taken back.
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
 * Return: true for Soft-RoCE.  It executes a registration a second time when it has to repeat a
 * request before it, finds the MR registered, and stops the send queue without a completion
 * (facts 0).  It holds an invalidation back until all requests before it are complete, so a
 * registration behind one is executed once.
 */
bool kdapl_driver_registers_twice(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/* ---- completion queues and queue pairs ------------------------------ */

/**
 * kdapl_driver_never_solicited - does the driver know no solicited completions?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for siw, which does not look at whether a message was solicited, and so
 * never calls the handler of a CQ that is armed for these alone (siw_rqe_complete()).
 */
bool kdapl_driver_never_solicited(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_SIW;
}

/**
 * kdapl_driver_leaves_tasklet - may the handler of a CQ be due when the CQ has been destroyed?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE of some kernels (KDAPL_RXE_CQ_TASKLET), which calls the handler in
 * a tasklet that is part of the CQ, and leaves that scheduled.
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
 * Return: true for Soft-RoCE.  When it finds the memory of a request gone, it stops the send
 * queue alone: the receive queue goes on, and no completion tells (facts 0).
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
 * Return: true for Soft-RoCE.  It puts an answer aside that comes while it is about to repeat a
 * request, and looks at it again when another packet comes, when the time for an answer is
 * over, or to be drained, by a move to SQD.
 */
bool kdapl_driver_puts_aside(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

#define SYNC	KDAPL_HINT_SYNC_STATE

/*
 * What a driver must do: modify a queue pair of a process without the udata that only a
 * call of its library has.  Not listed, and so served by queue pairs of the kernel's,
 * are those that would fault or do harm (mlx4 and mthca take the doorbell page from the
 * udata, qedr writes a doorbell that a process's queue pair does not have), those that
 * have no RC or not the CM (efa, usnic), and those that nobody has looked at.
 */
static const struct {
	enum rdma_driver_id driver;
	u32 hints;
} drivers[] = {
	/* Looks at the udata if there is one.  Its library posts in RTS only. */
	{ RDMA_DRIVER_MLX5, SYNC },
	/* Does not look at the udata of a modify. */
	{ RDMA_DRIVER_BNXT_RE, SYNC },
	/* Without it there is no push page, and a second move to ERR flushes nothing. */
	{ RDMA_DRIVER_IRDMA, SYNC },
	/* Does not look at it.  Its library tests the state. */
	{ RDMA_DRIVER_HNS, SYNC },
	/* Does not look at it. */
	{ RDMA_DRIVER_ERDMA, SYNC },
	/*
	 * Does not look at it.  Its library has no state, and changes the kernel's without
	 * a lock: a modify of its own could bring back what we have just ended.  What
	 * processes send may be damaged (Documentation/drivers.rst), so they have to ask.
	 */
	{ RDMA_DRIVER_SIW, KDAPL_HINT_ASKED },
	/*
	 * Does not look at it.  As with siw, but that its library has to go to INIT by
	 * itself; and the faults of the driver that are told in Documentation/drivers.rst.
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
 * Return: false for qedr and cxgb4, whose shared receive queues are not used.  They have no
 * LAST_WQE_REACHED, and nothing else tells when the last completion of a queue pair is in the
 * CQ; one that is polled when the queue pair has gone does harm.  qedr reads the queue pair
 * through freed memory.  cxgb4 skips it, and with it the entry of the SRQ: after one round of
 * its ring the SRQ takes nothing more.
 */
bool kdapl_driver_srq_safe(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_QEDR && ib->ops.driver_id != RDMA_DRIVER_CXGB4;
}

/**
 * kdapl_driver_srq_tells_last - is the event LAST_WQE_REACHED raised, and right?
 * @ib: device
 *
 * Any context.
 *
 * Return: false for Soft-RoCE, which raises none on 6.1, and on later kernels forgets a message
 * that is half received when it does; and for Soft-iWARP, which has none.
 */
bool kdapl_driver_srq_tells_last(const struct ib_device *ib)
{
	return ib->ops.driver_id != RDMA_DRIVER_RXE && ib->ops.driver_id != RDMA_DRIVER_SIW;
}

/**
 * kdapl_driver_srq_keeps - may a queue pair go with a receive that it has taken?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE.  It takes receives in the order of posting, and forgets the one of
 * a message that has come in part.
 */
bool kdapl_driver_srq_keeps(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}

/**
 * kdapl_driver_srq_zone_of_qp - whose zone governs receives out of a shared receive queue?
 * @ib: device
 *
 * Any context.
 *
 * Return: true for Soft-RoCE, which looks up a receive's memory in the zone of the queue pair;
 * false: the queue's own.
 */
bool kdapl_driver_srq_zone_of_qp(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_RXE;
}
