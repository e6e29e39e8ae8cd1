/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For the tests of the registry: a process reads its dat.conf once, so each case has a child of
 * its own, with that file, and what the child says on stderr is looked at.
 */
#ifndef PROVIDERS_H
#define PROVIDERS_H

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>
#include "check.h"

#define NOT_FOUND(which)	ERR2(PROVIDER_NOT_FOUND, DAT_##which)

static char conf[64];		/* the file; empty: none was made */
static char said[16384];	/* by the last child, on stderr */

/* Where the providers are that this test was built with. */
static const char *provider(const char *name)
{
	static char path[PATH_MAX];
	char self[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(path, sizeof(path), "%.2000s/provider/%.100s", dirname(self), name);
	return path;
}

static void read_said(FILE *file)
{
	size_t length;

	rewind(file);
	length = fread(said, 1, sizeof(said) - 1, file);
	said[length] = '\0';
	fclose(file);
}

/* Has a child run a part of a case; what fails there fails here. */
static void in_child(void (*run)(void))
{
	FILE *file = tmpfile();
	int status;
	pid_t pid;

	CHECK(file);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(fileno(file), STDERR_FILENO);
		if (*conf)
			setenv("DAT_OVERRIDE", conf, 1);
		if (!setjmp(check_end))
			run();
		fflush(stdout);
		_exit(check_failed);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	read_said(file);
	if (status)
		FAIL("the child failed (status %d); it said: %s", status, said);
}

/* Writes the dat.conf of the children to come. */
__attribute__((format(printf, 1, 2)))
static void write_conf(const char *format, ...)
{
	va_list args;
	FILE *file;
	int fd;

	if (*conf)
		unlink(conf);
	strcpy(conf, "/tmp/dat.conf.XXXXXX");
	fd = mkstemp(conf);
	CHECK(fd >= 0);
	file = fdopen(fd, "w");
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

/* After each case */
static void no_conf(void)
{
	if (*conf)
		unlink(conf);
	*conf = '\0';
	unsetenv("DAT_DEBUG");
}

static void told(const char *text)
{
	if (!strstr(said, text))
		FAIL("\"%s\" is not in what was said: %s", text, said);
}

static void said_lines(int number)
{
	const char *at = said;
	int lines = 0;

	while ((at = strchr(at, '\n'))) {
		at++;
		lines++;
	}
	if (lines != number)
		FAIL("%d lines, not %d: %s", lines, number, said);
}

static DAT_RETURN ia_open(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)name, 8, &async, ia);
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia)
{
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

#endif /* PROVIDERS_H */
