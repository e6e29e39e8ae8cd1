// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_registry_providers_related(), which the registry of DAT 2.0 has besides that of 1.2: does one
 * adapter take over when another one fails? Not in the provider, whose registry is OpenFabrics'.
 */
#include <stdlib.h>
#include <string.h>

#include "../registry.h"

/* Is there an adapter of this name, whosever? */
static DAT_RETURN is_registered(const char *name)
{
	DAT_PROVIDER_INFO *infos = NULL, **list = NULL;
	DAT_COUNT room = 0, number = 0, i;
	DAT_RETURN ret;

	/* The first round only tells the number; another is needed if adapters come meanwhile. */
	do {
		room = number;
		free(infos);
		free(list);
		infos = calloc(room + 1, sizeof(*infos));
		list = calloc(room + 1, sizeof(*list));
		for (i = 0; infos && list && i < room; i++)
			list[i] = &infos[i];
		ret = infos && list ? dat_registry_list_providers(room, &number, list) :
				      RET_NO_RESOURCE(MEMORY);
	} while (ret == RET_BAD_ARG(1) && number > room);
	for (i = 0; !ret && i < number && strcmp(infos[i].ia_name, name); i++)
		;
	if (!ret && i == number)
		ret = RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	free(infos);
	free(list);
	return ret;
}

/* Is it the name of one of kdapl's adapters in the kernel's list? */
static bool is_own(const char *name)
{
	DAT_PROVIDER_INFO *infos;
	uint32_t number, i;
	bool own = false;

	if (shim_adapters(&infos, &number))
		return false;
	for (i = 0; i < number; i++)
		own |= !strcmp(infos[i].ia_name, name);
	free(infos);
	return own;
}

/*
 * dat_registry_providers_related - does one of two adapters take over when the other one fails?
 * @relationship: out: DAT_HA_FALSE for two adapters of kdapl, which has no such pairs;
 *	DAT_HA_UNKNOWN if either is another's, whose provider tells it of an open IA only, or has a
 *	name that dat.conf has given to it
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1, /ARG2, /ARG3 for null pointers;
 * DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED; DAT_INTERNAL_ERROR if there is no registry to ask;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY. RULING 67.
 */
DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR ia_name_1,
					  const DAT_NAME_PTR ia_name_2,
					  DAT_HA_RELATIONSHIP *relationship)
{
	DAT_RETURN ret;

	if (!ia_name_1)
		return RET_BAD_ARG(1);
	if (!ia_name_2)
		return RET_BAD_ARG(2);
	if (!relationship)
		return RET_BAD_ARG(3);
	ret = is_registered(ia_name_1);
	if (!ret)
		ret = is_registered(ia_name_2);
	if (!ret)
		*relationship = is_own(ia_name_1) && is_own(ia_name_2) ? DAT_HA_FALSE :
									 DAT_HA_UNKNOWN;
	return ret;
}
