// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The provider for OpenFabrics' registry in a process that has the library of DAT 1.2 as well, and
 * has it first: this program is linked with it. The registry of 2.0 is kdapl's own, which has the
 * functions of the other one under the same names and version. Needs neither the module nor a
 * device.
 */
#include <dlfcn.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>
#include "check.h"

static const DAT_PROVIDER_INFO info = {
	.ia_name = "planted", .dapl_version_major = 2, .dapl_version_minor = 0,
};

/* Its table is looked at by nobody. */
static const DAT_PROVIDER other = { .device_name = "other" };

/* The type of a function is that of its declaration. */
#define OF(library, name)	((__typeof__(name) *)dlsym(library, #name))

static void *loaded(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

	if (!library)
		FAIL("%s", dlerror());
	return library;
}

static void right_registry(void)
{
	void *registry = loaded("libdat2.so.2"), *plugin = loaded("libdaplkdapl.so.2");
	__typeof__(dat_registry_add_provider) *add = OF(registry, dat_registry_add_provider);
	DAT_PROVIDER_INIT_FUNC init = dlsym(plugin, DAT_PROVIDER_INIT_FUNC_STR);
	DAT_PROVIDER_FINI_FUNC fini = dlsym(plugin, DAT_PROVIDER_FINI_FUNC_STR);

	CHECK(add && add != dat_registry_add_provider && init && fini);
	init(&info, "rxe0-1");
	CHECK_EQ(DAT_GET_TYPE(add(&other, &info)), DAT_PROVIDER_ALREADY_REGISTERED);
	CHECK_RET(dat_registry_add_provider(&other, &info), DAT_SUCCESS);
	fini(&info);
	CHECK_EQ(add(&other, &info), DAT_SUCCESS);
	CHECK_EQ(OF(registry, dat_registry_remove_provider)(&other, &info), DAT_SUCCESS);
	CHECK_RET(dat_registry_remove_provider(&other, &info), DAT_SUCCESS);
}

static const struct check_case cases[] = {
	{ "G2 a provider of 2.0 beside the library of 1.2", right_registry },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
