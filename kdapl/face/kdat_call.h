/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all calls of kernel consumers have in common, for kdat.c and kdat_*.c. */
#ifndef KDAPL_KDAT_CALL_H
#define KDAPL_KDAT_CALL_H

#include <linux/kernel.h>
#include <linux/preempt.h>
#include <dat/kdat.h>
#include <dat/dat_registry.h>
#include "core/core.h"

#define SPACE		(&kdapl_kernel_space)
#define FROM_SOFTIRQ	RET(MODEL_NOT_SUPPORTED)

/*
 * May the caller sleep?  In softirq and interrupt context it may not, and the call returns
 * FROM_SOFTIRQ (E99).  A caller in task context that must not sleep, because it holds a spinlock,
 * is not found out here, but a debug kernel reports it, whether the call would have slept or
 * not.
 */
static inline bool may_sleep(void)
{
	if (!in_task())
		return false;
	might_sleep();
	return true;
}

/* Is it a handle of kdapl, and of this type? */
static inline bool handle_is(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_HANDLE_TYPE is;

	return !kdapl_get_handle_type(SPACE, handle, &is) && is == type;
}

const DAT_PROVIDER *kdat_provider_at(DAT_HANDLE handle);

/*
 * May the handle belong to another provider, that is, be an address?  A handle of kdapl has the
 * type of the object, which is 1 or more, in its highest byte.  In an address that byte is 0, or
 * its highest bit is set.  So a call on an object of kdapl costs only one comparison more.
 */
static __always_inline bool kdat_is_address(DAT_HANDLE handle)
{
	return unlikely((s64)(uintptr_t)handle < 1LL << 56);
}

/*
 * kdat_other - the function table of the provider that a handle belongs to, if that is a
 * provider that another module has added; NULL: the handle is one of kdapl, or none at all
 *
 * Any context.
 */
static __always_inline const DAT_PROVIDER *kdat_other(DAT_HANDLE handle)
{
	return kdat_is_address(handle) ? kdat_provider_at(handle) : NULL;
}

/* Makes a call of another provider; if its table does not have it: DAT_NOT_IMPLEMENTED. */
#define KDAT_THEIRS(other, call, ...)						\
({										\
	const DAT_PROVIDER *__other = (other);					\
										\
	__other->call##_func ? __other->call##_func(__VA_ARGS__) : RET(NOT_IMPLEMENTED); \
})

#endif /* KDAPL_KDAT_CALL_H */
