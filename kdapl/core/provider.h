/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Providers that other modules have added to the registry of kernel consumers (provider.c).
 * Used by face/kdat*.c, and by the data path once a look-up has failed.
 */
#ifndef KDAPL_PROVIDER_H
#define KDAPL_PROVIDER_H

#include <linux/types.h>
#include "core.h"
#include <dat/dat_registry.h>
#undef dat_registry_add_provider

struct kdapl_dto;
struct module;

DAT_RETURN kdapl_provider_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info,
			      struct module *owner);
DAT_RETURN kdapl_provider_remove(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);
DAT_RETURN kdapl_provider_list(DAT_COUNT max, DAT_COUNT *number, DAT_PROVIDER_INFO *list[]);
bool kdapl_provider_open(const DAT_PROVIDER_INFO *asked, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_HANDLE *ia, DAT_RETURN *ret);
bool kdapl_provider_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags, DAT_RETURN *ret);
const DAT_PROVIDER *kdapl_provider_of(DAT_HANDLE handle);
DAT_RETURN kdapl_provider_post(struct kdapl_space *space, DAT_EP_HANDLE ep,
			       const struct kdapl_dto *dto);
DAT_RETURN kdapl_provider_dequeue(struct kdapl_space *space, DAT_EVD_HANDLE evd,
				  DAT_EVENT *event);

/*
 * kdapl_other - the table of the provider that a handle of a kernel consumer belongs to; NULL:
 * it is kdapl's, or nobody's
 *
 * Other providers' handles are addresses, which have the highest bit, as no token has.
 * Any context.
 */
static inline const DAT_PROVIDER *kdapl_other(DAT_HANDLE handle)
{
	return likely((long)(uintptr_t)handle >= 0) ? NULL : kdapl_provider_of(handle);
}

/* What is missing in a provider's table it does not have. */
#define KDAPL_THEIRS(other, call, ...)						\
	((other)->call##_func ? (other)->call##_func(__VA_ARGS__) : RET(NOT_IMPLEMENTED))

#endif /* KDAPL_PROVIDER_H */
