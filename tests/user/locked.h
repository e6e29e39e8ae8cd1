/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* For the tests of tables that have to do in a process which locks all memory that it maps. */
#ifndef LOCKED_H
#define LOCKED_H

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

/*
 * Calls @make in a child that locks all memory it maps, but may not lock as much as a table has
 * addresses. It returns 0 if the table can be used. The parent must not have the table yet.
 */
static inline void in_locked_child(int (*make)(void))
{
	const struct rlimit limit = { 8 << 20, 8 << 20 };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || (!getuid() && setuid(65534)) ||
		    mlockall(MCL_FUTURE))
			_exit(100);
		_exit(make());
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

#endif /* LOCKED_H */
