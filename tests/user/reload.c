// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program that has the library as a plugin has it: it loads it, uses it and closes it, and
 * again. The argument is an adapter; without one the library is asked for a list alone.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>
#include "check.h"

#define ROUNDS	20

static const char *adapter;

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The type of a function is that of its declaration. */
#define FUNCTION(library, name)	((__typeof__(name) *)dlsym(library, #name))

#define IS_DONE(library, name, ...)	CHECK_EQ(FUNCTION(library, name)(__VA_ARGS__), DAT_SUCCESS)

static void list(void *library)
{
	DAT_COUNT number;

	FUNCTION(library, dat_registry_list_providers)(0, &number, NULL);
}

/* The CNO has had a thread of the library's, which may outlive the close. */
static void use(void *library)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_IA_HANDLE ia;
	DAT_CNO_HANDLE cno;

	IS_DONE(library, dat_ia_openv, (DAT_NAME_PTR)adapter, 8, &async, &ia, 1, 2, DAT_TRUE);
	IS_DONE(library, dat_cno_create, ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno);
	IS_DONE(library, dat_evd_create, ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd);
	IS_DONE(library, dat_evd_free, evd);
	IS_DONE(library, dat_cno_free, cno);
	IS_DONE(library, dat_ia_close, ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void load(void)
{
	void *library = dlopen("libdat.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		FAIL("%s", dlerror());
	if (adapter)
		use(library);
	else
		list(library);
	CHECK(!dlclose(library));
}

/* A thread of a CNO gives back two of them a moment after the CNO was freed. */
static void case_reload(void)
{
	double end = check_now() + 120;
	void *library;
	int before, i;

	load();
	library = dlopen("libdat.so.1", RTLD_NOW | RTLD_NOLOAD);
	CHECK(library);
	CHECK(!dlclose(library));
	before = descriptors();
	for (i = 0; i < ROUNDS; i++)
		load();
	while (descriptors() > before && check_now() < end)
		usleep(1000);
	CHECK(descriptors() <= before);
}

static const struct check_case cases[] = {
	{ "the library stays when it is closed", case_reload },
};

int main(int argc, char **argv)
{
	adapter = argc > 1 ? argv[1] : NULL;
	return check_run(cases, ARRAY_SIZE(cases), NULL, 0, NULL);
}
