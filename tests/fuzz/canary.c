// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peaceful process beside the hostile ones: a connection through libdat, on which messages
 * go to and fro as long as the fuzzer runs.  Each has to arrive as it was sent, and nothing
 * else may come.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include "fuzz.h"
#include "pair.h"

#define CANARY_QUAL	33000
#define CANARY_USER	65533

static unsigned int me;

static void pair_fail(const char *what, unsigned int code)
{
	const char *major = "", *minor = "";

	dat_strerror(code, &major, &minor);
	say("FAIL canary %u: %s: 0x%x %s %s", me, what, code, major, minor);
	_exit(1);
}

/* Number 0 is forwarded, 1 has queue pairs of its own. */
void canary_main(unsigned int number, const char *const ia_names[FILES])
{
	static struct pair_end a, b;
	uint64_t n = 0;

	me = number;
	setenv("KDAPL_MODE", number ? "passthrough" : "forwarded", 1);
	if (setgid(CANARY_USER) || setuid(CANARY_USER))
		_exit(3);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pair_open(&a, ia_names[0]);
	pair_open(&b, ia_names[1]);
	pair_connect(&a, &b, CANARY_QUAL + me);
	while (!look(shared->stop)) {
		pair_message(&a, &b, n++);
		pair_message(&b, &a, n++);
		add(shared->canary[me], 2);
		usleep(100000);
	}
	PAIR_MUST(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	PAIR_MUST(dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG));
	_exit(0);
}
