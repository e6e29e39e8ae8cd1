// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Times in buckets that are equally wide on a logarithmic scale, so that one slow time in a
 * thousand can be seen beside the fast ones. Called by report.c and svg.c.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pingpong.h"

#define PER_LINE	(PER_DECADE / 20)	/* buckets in a line of the text */
#define BAR		40			/* characters of the longest bar */

static const char hashes[BAR + 1] = "########################################";

/* bucket_of - the bucket of a time */
unsigned int bucket_of(uint64_t ns)
{
	/* A time on an edge belongs to the bucket above, however its logarithm is rounded. */
	unsigned int bucket = ns ? log10(ns) * PER_DECADE + 0.000001 : 0;

	return bucket < NR_BUCKETS ? bucket : NR_BUCKETS - 1;
}

/* bucket_ns - the lower edge of a bucket, which is the upper edge of the one before it */
double bucket_ns(unsigned int bucket)
{
	return pow(10, (double)bucket / PER_DECADE);
}

/* count_times - how many of the times are in each bucket */
void count_times(const uint64_t *ns, size_t number, uint64_t counts[NR_BUCKETS])
{
	size_t i;

	memset(counts, 0, NR_BUCKETS * sizeof(*counts));
	for (i = 0; i < number; i++)
		counts[bucket_of(ns[i])]++;
}

/* Counts the times of each line of the text, from @counts[0] on. Returns the largest count. */
static uint64_t lines_of(const struct result *result, uint64_t counts[NR_BUCKETS])
{
	uint64_t most = 0;
	unsigned int i;

	count_times(result->sorted, result->done, counts);
	for (i = 0; i < NR_BUCKETS; i++) {
		if (i % PER_LINE)
			counts[i / PER_LINE] += counts[i];
		else
			counts[i / PER_LINE] = counts[i];
	}
	for (i = 0; i < NR_BUCKETS / PER_LINE; i++)
		most = counts[i] > most ? counts[i] : most;
	return most;
}

/* print_histogram - print the times as lines with bars; @what: what was timed */
void print_histogram(const struct result *result, const char *what)
{
	unsigned int first = bucket_of(result->sorted[0]) / PER_LINE;
	unsigned int last = bucket_of(result->sorted[result->done - 1]) / PER_LINE;
	uint64_t counts[NR_BUCKETS], most = lines_of(result, counts);
	unsigned int i, skipped = 0;

	printf("  %zu %s, us: min %.1f  50%% %.1f  90%% %.1f  99%% %.1f  99.9%% %.1f  max %.1f\n",
	       result->done, what, percentile(result->sorted, result->done, 0),
	       percentile(result->sorted, result->done, 500),
	       percentile(result->sorted, result->done, 900),
	       percentile(result->sorted, result->done, 990),
	       percentile(result->sorted, result->done, 999),
	       percentile(result->sorted, result->done, 1000));
	for (i = first; i <= last; i++) {
		if (!counts[i]) {
			if (!skipped++)
				puts("         ...");
			continue;
		}
		skipped = 0;
		printf("  %10.1f .. %10.1f %8" PRIu64 " %6.2f%% %.*s\n",
		       bucket_ns(i * PER_LINE) / 1e3, bucket_ns((i + 1) * PER_LINE) / 1e3,
		       counts[i], 100.0 * counts[i] / result->done,
		       (int)((counts[i] * BAR + most - 1) / most), hashes);
	}
}

/* print_histogram_json - the same as JSON: lower edge, upper edge and count of each line */
void print_histogram_json(const struct result *result)
{
	uint64_t counts[NR_BUCKETS];
	const char *comma = "";
	unsigned int i;

	lines_of(result, counts);
	printf(", \"histogram_us\": [");
	for (i = 0; i < NR_BUCKETS / PER_LINE; i++) {
		if (!counts[i])
			continue;
		printf("%s[%.3f, %.3f, %" PRIu64 "]", comma, bucket_ns(i * PER_LINE) / 1e3,
		       bucket_ns((i + 1) * PER_LINE) / 1e3, counts[i]);
		comma = ", ";
	}
	putchar(']');
}
