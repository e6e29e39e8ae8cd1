/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything that differs between the kernels kdapl builds for: 6.1 (Debian
 * 12), 6.12 and newer.  No other file of kdapl.ko tests LINUX_VERSION_CODE; each of the
 * storage targets has a compat.h of its own.
 */
#ifndef KDAPL_COMPAT_H
#define KDAPL_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

/*
 * Before 6.4 Soft-RoCE runs the completion handlers of a CQ from a tasklet that
 * is part of the CQ, and destroying the CQ does not wait for it (glue/cq.c).
 */
#define KDAPL_RXE_CQ_TASKLET (LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0))

/*
 * Before 6.3 Soft-RoCE keeps the pages of a region in tables of 256.  Where a
 * region fills its last table, copying its last byte makes the driver read the
 * pointer of a table after that one (glue/driver.c).
 */
#define KDAPL_RXE_MR_OVERREAD (LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0))

/*
 * Since 6.17 a workqueue whose work stays on the processor that has queued it (main.c) has to
 * say so.  Before, work stayed there unless the queue was unbound.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define KDAPL_WQ_PERCPU 0
#else
#define KDAPL_WQ_PERCPU WQ_PERCPU
#endif

/*
 * How pages that are only read are pinned for long (glue/pin.c).  Before 6.3
 * only a forced write gives the process its own copy of a page that it shares
 * with others.  Without that copy, the process would get one at its next write,
 * and the device would go on reading the old page.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define KDAPL_FOLL_READ (FOLL_WRITE | FOLL_FORCE)
#else
#define KDAPL_FOLL_READ 0
#endif

/*
 * Is an address of the kernel mapped page by page (glue/pin.c)?  That is so in the vmalloc area,
 * which holds kernel stacks as well, and for the static data of modules.  In 6.1 a module cannot
 * call the kernel's own function, and on some processors it cannot know where modules are: there
 * they are what is neither in that area nor in the linear mapping.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline bool kdapl_is_vmapped(const void *at)
{
	if (is_vmalloc_addr(at))
		return true;
#ifdef MODULES_VADDR
	if (!__builtin_constant_p(MODULES_VADDR))
		return !virt_addr_valid(at);
	return (unsigned long)at >= MODULES_VADDR && (unsigned long)at < MODULES_END;
#else
	return false;
#endif
}
#else
#define kdapl_is_vmapped(at) is_vmalloc_or_module_addr(at)
#endif

/*
 * Resizes a CQ of the kernel (glue/cq.c).  7.1 took the function away: from there on it is as
 * if no driver could.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define kdapl_ib_has_resize_cq(ib) ((ib)->ops.resize_cq)
#define kdapl_ib_resize_cq(cq, cqe) ib_resize_cq(cq, cqe)
#else
struct ib_cq;

#define kdapl_ib_has_resize_cq(ib) false

static inline int kdapl_ib_resize_cq(struct ib_cq *cq, int cqe)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * Looks up the route of an IPv6 packet (glue/address.c).  As long as IPv6 could be a
 * module, its functions were called through a table; now it is built in, and the
 * table is gone with its header.  sparse does not know __has_include.
 */
#ifdef __has_include
#if !__has_include("net/ipv6_stubs.h")
#define kdapl_ip6_route(net, fl6) ip6_dst_lookup_flow(net, NULL, fl6, NULL)
#endif
#endif
#ifndef kdapl_ip6_route
#include <net/ipv6_stubs.h>
#define kdapl_ip6_route(net, fl6) \
	ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL)
#endif

/*
 * Defined if uverbs has functions that keep a queue pair of a process from being destroyed
 * (glue/uverbs.c).  No kernel has them so far but one with the patch of the folder patches/.
 */
#ifdef __has_include
#if __has_include("rdma/uverbs_qp.h")
#define KDAPL_UVERBS_HOLDS
#endif
#endif

/* Adds 1 to an eventfd (face/dev_board.c).  Since 6.8 it is never more than 1. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define kdapl_eventfd_signal(event) eventfd_signal(event, 1)
#else
#define kdapl_eventfd_signal(event) eventfd_signal(event)
#endif

/* Sets and clears flags of an area that is being mapped. */
static inline void kdapl_vm_flags_mod(struct vm_area_struct *vma,
				      unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#else
	vm_flags_mod(vma, set, clear);
#endif
}

/* The attributes of the request that a dump of generic netlink answers (face/netlink.c). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define kdapl_dump_attrs(cb) (genl_dumpit_info(cb)->attrs)
#else
#define kdapl_dump_attrs(cb) (genl_info_dump(cb)->attrs)
#endif

/* Since 6.10 __assign_str() takes the source from __string() by itself. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define kdapl_assign_str(dst, src) __assign_str(dst, src)
#else
#define kdapl_assign_str(dst, src) __assign_str(dst)
#endif

/*
 * For an array or a structure on the stack of the data path that is filled as far
 * as it is read.  Without the attribute a kernel with CONFIG_INIT_STACK_ALL_ZERO clears it at
 * each call.  Compilers that do not know the attribute do not clear the stack either.
 */
#if __has_attribute(__uninitialized__)
#define kdapl_uninitialized __attribute__((__uninitialized__))
#else
#define kdapl_uninitialized
#endif

#endif /* KDAPL_COMPAT_H */
