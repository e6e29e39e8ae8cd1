// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registry of kernel consumers: kdapl's adapters, and the providers that other modules add;
 * and the calls that open and close either.  As in kdat.c the contracts are told here.
 */
#include <linux/export.h>
#include <linux/string.h>
#include "core/provider.h"
#include "kdat_call.h"

/**
 * kdat_registry_add_provider - enter a provider, whose module is kept while it is open
 * @provider: as for dat_registry_add_provider()
 * @provider_info: the same
 * @owner: the module that is not unloaded while an IA is open; THIS_MODULE
 *
 * What dat_registry_add_provider() is in a module: a macro of <dat/dat_registry.h>.  Process
 * context.
 *
 * Return: as dat_registry_add_provider().
 */
DAT_RETURN kdat_registry_add_provider(const DAT_PROVIDER *provider,
				      const DAT_PROVIDER_INFO *provider_info,
				      struct module *owner)
{
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_provider_add(provider, provider_info, owner);
}
EXPORT_SYMBOL(kdat_registry_add_provider);

/**
 * dat_registry_add_provider - enter a provider
 * @provider: its functions; NULL for those that it does not have.  The table stays where it
 *	is until the provider is removed, and the first word of each of its handles, which are
 *	addresses, is the address of the table
 * @provider_info: a name for dat_ia_open(), a version, thread safety; copied
 *
 * From now on its adapter is listed, and opened by that name.  What is not in the table of DAT
 * 1.2 (<dat/kdat_linux.h>) is for kdapl's adapters only.  The module is not unloaded while
 * an IA is open, and has removed the provider when it is.  Process context.  Rules G2, G5.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a null @provider, /ARG2 for null info or
 * a name that is empty or has no end; DAT_PROVIDER_ALREADY_REGISTERED for the name, version and
 * thread safety of another one, or of an adapter of kdapl's;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	return kdat_registry_add_provider(provider, provider_info, NULL);
}
EXPORT_SYMBOL(dat_registry_add_provider);

/**
 * dat_registry_remove_provider - take a provider out
 * @provider: as it was added
 * @provider_info: the same
 *
 * Process context.  Rules G6, G7.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a null @provider, and for another one
 * than was added, /ARG2 for null info, a bad name, and what is not registered;
 * DAT_PROVIDER_IN_USE while an IA of it is open.
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_provider_remove(provider, provider_info);
}
EXPORT_SYMBOL(dat_registry_remove_provider);

/**
 * dat_registry_list_providers - list the adapters that can be opened
 * @max_to_return: entries of @dat_provider_list; 0 asks for the number only,
 *	which comes with ARG1 unless there are none
 * @entries_returned: out: how many there are
 * @dat_provider_list: pointers to the caller's structures, filled in
 *
 * kdapl's adapters in the order of their registration, then those of other providers in theirs.
 * Process context.  Rules G12, G13.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 when there are more than
 * @max_to_return (then @entries_returned is set all the same), /ARG2 for a null
 * @entries_returned, /ARG3 for a null list or a null pointer in it.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	DAT_COUNT own, others;
	DAT_RETURN ret;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (!entries_returned)
		return RET_BAD_ARG(2);
	kdapl_provider_list(0, &others, NULL);
	if (!others)
		return kdapl_registry_list(SPACE, max_to_return, entries_returned,
					   dat_provider_list);
	kdapl_registry_list(SPACE, 0, &own, NULL);
	*entries_returned = own + others;
	if (max_to_return < own + others)
		return RET_BAD_ARG(1);
	ret = kdapl_registry_list(SPACE, max_to_return, &own, dat_provider_list);
	if (ret)
		return ret;
	/* If one of them has come or gone meanwhile, the room that is left decides. */
	ret = kdapl_provider_list(max_to_return - own, &others, dat_provider_list + own);
	*entries_returned = own + others;
	return ret;
}
EXPORT_SYMBOL(dat_registry_list_providers);

/* Arguments that the registry refuses are kdapl's to refuse. */
static bool may_be_others(const char *name, const DAT_EVD_HANDLE *async_evd,
			  const DAT_IA_HANDLE *ia)
{
	return name && async_evd && ia &&
	       strnlen(name, DAT_NAME_MAX_LENGTH) < DAT_NAME_MAX_LENGTH;
}

/**
 * dat_ia_openv - open an adapter
 * @ia_name: name in the registry, "<device>-<port>", at most 255 bytes
 * @asynch_evd_min_qlen: length of the async EVD to be made, 1 .. max_evd_qlen;
 *	not looked at when @asynch_evd_handle is one
 * @asynch_evd_handle: in: null, or an EVD of this adapter with the async flag;
 *	out: the async EVD.  One that is made here has no upcall (E112)
 * @ia_handle: out: the IA
 * @dat_version_major: version that the consumer was compiled for
 * @dat_version_minor: the same
 * @thread_safety: not looked at: kdapl always is
 *
 * An adapter of a provider that a module has added, if there is one of that name, else kdapl's;
 * what another provider answers is its own.  Usually called as dat_ia_open().  Process context.
 * Rules I1..I10, E112, G9.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a bad name, /ARG2 for the
 * length, /ARG3 and /ARG4 for null pointers; DAT_INVALID_HANDLE/EVD_ASYNC for
 * an EVD without the async flag or of another adapter;
 * DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED for an adapter that does not exist
 * or has no address, /MAJOR_NOT_FOUND, /MINOR_NOT_FOUND;
 * DAT_INSUFFICIENT_RESOURCES/TEVD for a length above max_evd_qlen, /MEMORY.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name,
			DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_version_major,
			DAT_UINT32 dat_version_minor,
			DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO asked = {
		.dapl_version_major = dat_version_major,
		.dapl_version_minor = dat_version_minor,
		.is_thread_safe = thread_safety,
	};
	DAT_RETURN ret, why = DAT_SUCCESS;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (may_be_others(ia_name, asynch_evd_handle, ia_handle)) {
		strscpy(asked.ia_name, ia_name, sizeof(asked.ia_name));
		if (kdapl_provider_open(&asked, asynch_evd_min_qlen, asynch_evd_handle, ia_handle,
					&why))
			return why;
	}
	ret = kdapl_ia_open(SPACE, ia_name, asynch_evd_min_qlen, asynch_evd_handle,
			    dat_version_major, dat_version_minor, thread_safety, ia_handle);
	/* Who got farther in the comparison says what is missing (G9). */
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND && why > ret)
		ret = why;
	return ret;
}
EXPORT_SYMBOL(dat_ia_openv);

/**
 * dat_ia_close - close an adapter
 * @ia_handle: an IA
 * @close_flags: abrupt: with everything made on it; graceful: only if nothing
 *	is left but the async EVD that the open made, and no other open uses
 *	that
 *
 * When it returned, no upcall of the IA's EVDs runs or will run.  Process
 * context, not from an upcall of the same IA.  Rules I11..I18, E102, E108.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for
 * other flags; DAT_INVALID_STATE/IA_IN_USE for a graceful close with objects
 * left or the async EVD lent, and for any close from an upcall of the IA.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	DAT_RETURN ret;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	if (kdapl_provider_close(ia_handle, close_flags, &ret))
		return ret;
	return kdapl_ia_close(SPACE, ia_handle, close_flags);
}
EXPORT_SYMBOL(dat_ia_close);
