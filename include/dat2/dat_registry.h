/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a provider needs besides udat.h, which comes first: the
 * table of its functions, and the calls that enter it in the registry.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#ifndef _UDAT_H_
#error "include <dat2/udat.h> first"
#endif

#include <dat2/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enters a provider. The table is not copied: it stays where it is, the provider's. */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info);

/*
 * Not of DAT, but of OpenFabrics' library, where the handles of consumers are numbers: the
 * provider's handle of a consumer's IA, and vice versa. Here both are the same.
 */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

/* Removes a provider that nobody has open. */
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
