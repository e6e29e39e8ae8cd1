/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all calls of kernel consumers begin with, in kdat.c and kdat_*.c. */
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

/* Is it a handle of ours, and of this type? */
static inline bool handle_is(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_HANDLE_TYPE is;

	return !kdapl_get_handle_type(SPACE, handle, &is) && is == type;
}

const DAT_PROVIDER *kdat_provider_at(DAT_HANDLE handle);

/*
 * May the handle be another provider's, an address?  A token has the type of its object, 1 or
 * more, in the highest byte, where an address has 0 or the sign.  So one comparison is all that
 * a call on an object of kdapl's pays.
 */
static __always_inline bool kdat_is_address(DAT_HANDLE handle)
{
	return unlikely((s64)(uintptr_t)handle < 1LL << 56);
}

/*
 * kdat_other - the table of the provider that a module has added and a handle belongs to; NULL:
 * the handle is kdapl's, or nobody's
 *
 * Any context.
 */
static __always_inline const DAT_PROVIDER *kdat_other(DAT_HANDLE handle)
{
	return kdat_is_address(handle) ? kdat_provider_at(handle) : NULL;
}

/* The call @call of another provider; it does not have what is missing in its table. */
#define KDAT_THEIRS(other, call, ...)						\
({										\
	const DAT_PROVIDER *__other = (other);					\
										\
	__other->call##_func ? __other->call##_func(__VA_ARGS__) : RET(NOT_IMPLEMENTED); \
})

#endif /* KDAPL_KDAT_CALL_H */
