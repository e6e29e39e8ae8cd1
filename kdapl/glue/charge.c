// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Charging processes for what is made for them on a device: each verbs object, as
 * uverbs does, to the process's rdma cgroup; memory that cannot be swapped out, pinned
 * pages and the queues of a driver, to its locked memory (RLIMIT_MEMLOCK).
 *
 * The process that asks pays: everything here charges current.  A kernel thread pays
 * nothing: what the CM's thread has to make for a request is paid by the process that
 * accepts it (kdapl_cq.unpaid).  What is charged is remembered, so that it is given back to whom
 * it was taken from, in whatever process that happens.  A charge on an object is given back
 * before the device goes, which forgets the limits that were set for it.
 *
 * Callers: the files of the glue that make verbs objects or pin memory, and
 * core/ia_open.c for an open adapter.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <rdma/ib_verbs.h>
#include "charge.h"
#include "refused.h"

/**
 * kdapl_charge_object - the calling process gets an object of a device
 * @charge: holds no object yet
 * @ib: device
 * @type: RDMACG_RESOURCE_HCA_HANDLE for an open adapter, RDMACG_RESOURCE_HCA_OBJECT
 *	  for a PD, CQ, queue pair or memory region
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN: its rdma cgroup has as many as it may have; -ENOMEM.
 */
int kdapl_charge_object(struct kdapl_charge *charge, struct ib_device *ib,
			enum rdmacg_resource_type type)
{
#ifdef CONFIG_CGROUP_RDMA
	if (!current->mm)
		return 0;
	return kdapl_refused("charge_object",
			     rdmacg_try_charge(&charge->cgroup, &ib->cg_device,
					       type));
#else
	return 0;
#endif
}

/**
 * kdapl_uncharge_object - undo kdapl_charge_object(), if it was called
 * @charge: as charged, or nothing
 * @ib: as charged; still registered
 * @type: as charged
 *
 * Any process; may sleep.
 */
void kdapl_uncharge_object(struct kdapl_charge *charge, struct ib_device *ib,
			   enum rdmacg_resource_type type)
{
#ifdef CONFIG_CGROUP_RDMA
	if (charge->cgroup)
		rdmacg_uncharge(charge->cgroup, &ib->cg_device, type);
#endif
	charge->cgroup = NULL;
}

/* May the calling process have so many pages locked? */
static bool may_lock(u64 pages)
{
	return pages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       capable(CAP_IPC_LOCK);
}

/**
 * kdapl_charge_pages - the calling process has pages that cannot be swapped out
 * @charge: holds no pages yet
 * @pages: how many
 *
 * Counts them in the process's pinned_vm, as the RDMA core does.  Process context.
 *
 * Return: 0; -ENOMEM: more than it may lock (RLIMIT_MEMLOCK).
 */
int kdapl_charge_pages(struct kdapl_charge *charge, unsigned long pages)
{
	struct mm_struct *mm = current->mm;

	if (!mm)
		return 0;
	if (!may_lock(atomic64_add_return(pages, &mm->pinned_vm))) {
		atomic64_sub(pages, &mm->pinned_vm);
		return kdapl_refused("charge_pages", -ENOMEM);
	}
	mmgrab(mm);
	charge->mm = mm;
	charge->pages = pages;
	return 0;
}

/**
 * kdapl_uncharge_pages - undo kdapl_charge_pages(), if it was called
 * @charge: as charged, or nothing
 *
 * Any process; may sleep.
 */
void kdapl_uncharge_pages(struct kdapl_charge *charge)
{
	if (!charge->mm)
		return;
	atomic64_sub(charge->pages, &charge->mm->pinned_vm);
	mmdrop(charge->mm);
	charge->mm = NULL;
	charge->pages = 0;
}

/**
 * kdapl_charge_bytes - kdapl_charge_pages(), by the size
 * @charge: holds no pages yet
 * @bytes: how many; each page that is begun counts
 */
int kdapl_charge_bytes(struct kdapl_charge *charge, u64 bytes)
{
	return kdapl_charge_pages(charge, DIV_ROUND_UP_ULL(bytes, PAGE_SIZE));
}

/**
 * kdapl_charge_replace - a queue has another size
 * @charge: of the queue; it stays the object that was charged
 * @pages: charged for the new size; nothing afterwards
 *
 * What was charged for the old size is given back, to whom it was taken from.  @charge is
 * never without @mm meanwhile: kdapl_cq_pay() would charge it again.  Process context.
 */
void kdapl_charge_replace(struct kdapl_charge *charge, struct kdapl_charge *pages)
{
	struct mm_struct *old = charge->mm;

	WRITE_ONCE(charge->mm, pages->mm);
	pages->mm = old;
	swap(charge->pages, pages->pages);
	kdapl_uncharge_pages(pages);
}

/**
 * kdapl_charge_queue - the calling process gets a CQ or a queue pair
 * @charge: nothing yet
 * @ib: device
 * @bytes: an estimate of what the driver allocates for its entries
 *
 * Nobody else counts that memory: drivers take it from the kernel, for whomever the
 * queue is.  May sleep.
 *
 * Return: 0; -EAGAIN and -ENOMEM as kdapl_charge_object() and kdapl_charge_pages().
 */
int kdapl_charge_queue(struct kdapl_charge *charge, struct ib_device *ib,
		       u64 bytes)
{
	int ret = kdapl_charge_object(charge, ib, RDMACG_RESOURCE_HCA_OBJECT);

	if (ret)
		return ret;
	ret = kdapl_charge_bytes(charge, bytes);
	if (ret)
		kdapl_uncharge_object(charge, ib, RDMACG_RESOURCE_HCA_OBJECT);
	return ret;
}

/**
 * kdapl_uncharge_queue - undo kdapl_charge_queue(), if it was called
 * @charge: as charged, or nothing
 * @ib: as charged; still registered
 *
 * Any process; may sleep.
 */
void kdapl_uncharge_queue(struct kdapl_charge *charge, struct ib_device *ib)
{
	kdapl_uncharge_pages(charge);
	kdapl_uncharge_object(charge, ib, RDMACG_RESOURCE_HCA_OBJECT);
}
