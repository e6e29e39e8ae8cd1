/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a provider needs besides udat.h or kdat.h, which come first: the
 * table of its functions, and the calls that enter it in the registry.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#if defined(_UDAT_H_)
#include <dat/udat_redirection.h>
#elif defined(_KDAT_H_)
#include <dat/kdat_redirection.h>
#else
#error "include <dat/udat.h> (user level) or <dat/kdat.h> (kernel) first"
#endif

#ifdef _KDAT_H_
#include <linux/module.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Enters a provider. The table is not copied: it stays where it is, the provider's. May sleep. */
#ifdef _KDAT_H_
DAT_RETURN kdat_registry_add_provider(const DAT_PROVIDER *provider,
				      const DAT_PROVIDER_INFO *provider_info,
				      struct module *owner);

/* The module that calls this is not unloaded while an IA of the provider is open. */
static inline DAT_RETURN
dat_registry_add_provider(const DAT_PROVIDER *provider,
			  const DAT_PROVIDER_INFO *provider_info)
{
	return kdat_registry_add_provider(provider, provider_info, THIS_MODULE);
}
#else
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info);

/*
 * Not of DAT, but of OpenFabrics' library, where the handles of consumers are numbers: the
 * provider's handle of a consumer's IA, and vice versa. Here both are the same.
 */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);
#endif

/* Removes a provider that nobody has open. May sleep. */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info);

/*
 * The two functions that a provider library exports: called after loading
 * it, with the parameters of its dat.conf entry, and before unloading it.
 */
typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *provider_info,
				       const char *instance_data);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *provider_info);

#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
