/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between the kernels that kdat_iser builds for: 6.1, 6.12 and newer. */
#ifndef KDAT_ISER_COMPAT_H
#define KDAT_ISER_COMPAT_H

#include <linux/timer.h>
#include <linux/version.h>

/* The header moved in 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

/* Renamed in 6.2; the old name is gone since 6.16. */
static inline void kiser_timer_delete_sync(struct timer_list *timer)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	del_timer_sync(timer);
#else
	timer_delete_sync(timer);
#endif
}

#endif /* KDAT_ISER_COMPAT_H */
