/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all calls of kernel consumers begin with: kdat.c, kdat_linux.c. */
#ifndef KDAPL_KDAT_CALL_H
#define KDAPL_KDAT_CALL_H

#include <linux/kernel.h>
#include <linux/preempt.h>
#include "core/core.h"

#define SPACE		(&kdapl_kernel_space)
#define FROM_SOFTIRQ	RET(MODEL_NOT_SUPPORTED)

/*
 * May the caller sleep?  A softirq upcall never may, and is told so (E99).  Of
 * others that must not, those with a lock, a debug kernel reports each call,
 * whether it would have slept or not.
 */
static inline bool may_sleep(void)
{
	if (!in_task())
		return false;
	might_sleep();
	return true;
}

#endif /* KDAPL_KDAT_CALL_H */
