// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Prints the frequency of this machine's time stamp counter, in kHz. scripts/vm calls it,
 * and tells its guests, which have the same counter.  A guest that measures the frequency
 * by itself while the host is busy gets a value that is wrong by factors, and then all its
 * clocks are wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct reading {
	uint64_t ns;
	uint64_t ticks;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * Reads both clocks at one moment, as nearly as possible: of many tries, the one that took
 * the shortest time.
 */
static struct reading take_reading(void)
{
	uint64_t before, after, ticks, best = UINT64_MAX;
	struct reading reading = { 0, 0 };
	int i;

	for (i = 0; i < 1000; i++) {
		before = now();
		ticks = __rdtsc();
		after = now();
		if (after - before >= best)
			continue;
		best = after - before;
		reading.ns = before + best / 2;
		reading.ticks = ticks;
	}
	return reading;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };
	struct reading a = take_reading(), b;

	nanosleep(&pause, NULL);
	b = take_reading();
	printf("%.0f\n", (b.ticks - a.ticks) * 1e6 / (b.ns - a.ns));
	return 0;
}
