// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Charging processes for what is made for them on a device.  Each verbs object is charged
 * to the process's rdma cgroup, as uverbs does.  Memory that cannot be swapped out (pinned
 * pages, and the queues that a driver allocates) is charged to the process's locked memory
 * (RLIMIT_MEMLOCK).
 *
 * The process that asks pays: everything here charges current.  A kernel thread pays nothing.
 * Each charge is remembered in a struct kdapl_charge, so that it is given back to the cgroup and
 * process that were charged, whatever process does that.  Documentation/threat-model.rst, What a
 * process can do, has the limits, and what is paid by whom in the end.
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
 * kdapl_charge_object - charge the calling process for an object of a device
 * @charge: holds no object yet
 * @ib: device
 * @type: RDMACG_RESOURCE_HCA_HANDLE for an open adapter, RDMACG_RESOURCE_HCA_OBJECT
 *	  for a PD, CQ, queue pair or memory region
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN: the process's rdma cgroup has as many as it may have; -ENOMEM.
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
 * @charge: of kdapl_charge_object(); may be empty
 * @ib: the device whose object it is; still registered
 * @type: that of kdapl_charge_object()
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

/* May the calling process have @pages pages locked in all? */
static bool may_lock(u64 pages)
{
	return pages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       capable(CAP_IPC_LOCK);
}

/**
 * kdapl_charge_pages - charge the calling process for pages that cannot be swapped out
 * @charge: holds no pages yet
 * @pages: how many
 *
 * Counts them in the process's pinned_vm, as the RDMA core does.  Process context.
 *
 * Return: 0; -ENOMEM: more than the process may lock (RLIMIT_MEMLOCK).
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
 * @charge: of kdapl_charge_pages(); may be empty
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
 * kdapl_charge_bytes - kdapl_charge_pages() for a number of bytes
 * @charge: holds no pages yet
 * @bytes: how many; rounded up to whole pages
 */
int kdapl_charge_bytes(struct kdapl_charge *charge, u64 bytes)
{
	return kdapl_charge_pages(charge, DIV_ROUND_UP_ULL(bytes, PAGE_SIZE));
}

/**
 * kdapl_charge_replace - charge a queue for its new size instead of its old one
 * @charge: of the queue; its charge for the object does not change
 * @pages: the charge for the new size; empty on return
 *
 * The charge for the old size is given back to the process that was charged.  @charge->mm is
 * replaced at once, without being NULL in between: otherwise kdapl_cq_pay() would charge the
 * queue a second time.  Process context.
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
 * kdapl_charge_queue - charge the calling process for a CQ, a queue pair or a shared receive queue
 * @charge: empty
 * @ib: device
 * @bytes: an estimate of what the driver allocates for the entries
 *
 * The memory has to be charged here: drivers allocate it as memory of the kernel,
 * whoever the queue is for, and nobody else counts it.  May sleep.
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
 * @charge: of kdapl_charge_queue(); may be empty
 * @ib: the device whose queue it is; still registered
 *
 * Any process; may sleep.
 */
void kdapl_uncharge_queue(struct kdapl_charge *charge, struct ib_device *ib)
{
	kdapl_uncharge_pages(charge);
	kdapl_uncharge_object(charge, ib, RDMACG_RESOURCE_HCA_OBJECT);
}
