/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the scenarios of the user face have in addition: threads that wait, and ways to
 * see that they do (wait.c).
 */
#ifndef RULES_USER_H
#define RULES_USER_H

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../memory.h"

/* How long to wait for what should happen; 0 once the scenario has failed. */
#define WAIT_US		(failed() ? 0 : WAIT_MS * 1000u)

#define UNWAITABLE	DAT_ERROR(DAT_INVALID_STATE, \
				  DAT_INVALID_STATE_EVD_UNWAITABLE)

/* A thread in dat_evd_wait, and the result */
struct waiter {
	pthread_t thread;
	atomic_int tid;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT more;
	u64 took_us;
};

/* Starts a waiter, and returns when its thread sleeps. */
void start_waiter(struct waiter *w, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold);
void end_waiter(struct waiter *w, DAT_RETURN expected);
/* Does this thread of the process sleep? */
bool sleeps(pid_t tid);
/* Waits until @value is @n or more, or until the limit. */
void wait_until(atomic_int *value, int n);
/* How many mappings of /dev/kdapl the process has: event rings, and the board */
int mappings(void);
/* Nothing is queued on the EVD. */
void empty(DAT_EVD_HANDLE evd);

extern const struct scenario_table user_args_table, wait_table, cno_table,
				   user_ia_table, user_memory_table, raw_table,
				   user_srq_table, threads_table, process_table, face2_table,
				   extension_table, keys_table;

/* The agent in a DAT_CNO_PARAM; DAT 2.0 has it elsewhere (face2/dat/udat.h). */
#ifndef cno_agent
#define cno_agent(param)	(&(param)->agent)
#endif

#endif /* RULES_USER_H */
