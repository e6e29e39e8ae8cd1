/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the programs that measure applications share (user-cost.c, user-batch.c,
 * user-times.c): the end of one that fails; the counter, and the line that tells
 * a figure.
 */
#ifndef BENCH_USER_H
#define BENCH_USER_H

#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

static inline void die(const char *what, unsigned int value)
{
	fprintf(stderr, "%s: %s: %#x\n", program_invocation_short_name, what,
		value);
	exit(1);
}

#define DAT(call)						\
	do {							\
		DAT_RETURN ret_ = (call);			\
								\
		if (ret_)					\
			die(#call, ret_);			\
	} while (0)

static inline unsigned long long ticks(void)
{
	unsigned int unused;

	return __rdtscp(&unused);
}

/* Of reading the counter twice. */
static unsigned long long overhead = ~0ULL;

static inline void measure_overhead(void)
{
	unsigned long long start, took;
	int i;

	for (i = 0; i < 1000; i++) {
		start = ticks();
		took = ticks() - start;
		if (took < overhead)
			overhead = took;
	}
}

static inline int compare_ticks(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return x < y ? -1 : x > y;
}

/* Of samples of @each calls, for one call. A sample that was never taken is 0. */
static inline void say(const char *who, const char *what,
		       unsigned long long *took, int n, int each)
{
	qsort(took, n, sizeof(*took), compare_ticks);
	while (n && !*took) {
		took++;
		n--;
	}
	if (!n)
		return;
	printf("%s %s median=%llu min=%llu max=%llu n=%d\n", who, what,
	       (took[n / 2] - overhead) / each, (took[0] - overhead) / each,
	       (took[n - 1] - overhead) / each, n);
}

#endif /* BENCH_USER_H */
