// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What dat-pingpong prints: progress while a test runs, and the results with
 * their percentiles, as a table or as JSON.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pingpong.h"

const char *const mode_names[PP_MODES] = { "send", "write", "read" };

static unsigned int nr_results, nr_failed;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest time that at least @per_mille of all do not exceed, in us. */
static double percentile(const uint64_t *sorted, uint32_t number,
			 uint32_t per_mille)
{
	uint64_t rank = ((uint64_t)number * per_mille + 999) / 1000;

	return sorted[rank ? rank - 1 : 0] / 1e3;
}

/* result_times - fill in @result from @number round trips, which are sorted */
void result_times(struct result *result, uint64_t *ns, uint32_t number,
		  uint64_t total_ns)
{
	result->done = number;
	result->seconds = total_ns / 1e9;
	if (!number)
		return;
	qsort(ns, number, sizeof(*ns), compare_times);
	result->min = ns[0] / 1e3;
	result->median = percentile(ns, number, 500);
	result->p90 = percentile(ns, number, 900);
	result->p99 = percentile(ns, number, 990);
	result->p999 = percentile(ns, number, 999);
	result->max = ns[number - 1] / 1e3;
	result->mib_per_s = 2.0 * result->test.size * number / 1048576 /
			    result->seconds;
}

/*
 * progress - tell how far a test is, if it takes more than two seconds
 *
 * On a terminal it is one line that changes.
 */
void progress(const struct options *opt, const struct test *test,
	      uint32_t done, uint64_t now)
{
	static uint64_t next;
	bool tty;

	if (done == 1)
		next = now + 2000000000ull;
	if (opt->quiet || now < next)
		return;
	tty = isatty(STDERR_FILENO);
	next = now + (tty ? 500000000ull : 5000000000ull);
	fprintf(stderr, "%s%s %u bytes: %u of %u (%u%%)%s", tty ? "\r" : "",
		mode_names[test->mode], test->size, done, test->iterations,
		(unsigned int)(100ull * done / test->iterations),
		tty ? "   " : "\n");
	if (tty && done == test->iterations)
		fputs("\r\033[K", stderr);
}

void report_begin(const struct options *opt)
{
	if (opt->json) {
		printf("{\n  \"ia\": \"%s\",\n  \"server\": \"%s\",\n"
		       "  \"port\": %u,\n  \"results\": [", opt->ia_name,
		       opt->address, opt->port);
		return;
	}
	printf("%s to %s port %u, %s; round trips in us\n", opt->ia_name,
	       opt->address, opt->port,
	       opt->verify ? "every byte verified" : "not verified (-v)");
	printf("%-5s %8s %7s %9s %9s %9s %9s %9s %9s %9s  %s\n", "mode",
	       "bytes", "trips", "min", "median", "90%", "99%", "99.9%", "max",
	       "MiB/s", "");
}

/* Our own texts need no quoting, but names and addresses may. */
static void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s >= ' ')
			putchar(*s);
	}
	putchar('"');
}

static void report_json(const struct options *opt, const struct result *r)
{
	printf("%s\n    {\"mode\": \"%s\", \"size\": %u, \"iterations\": %u, "
	       "\"done\": %u, \"verified\": %s, \"pass\": %s, ",
	       nr_results ? "," : "", mode_names[r->test.mode], r->test.size,
	       r->test.iterations, r->done, opt->verify ? "true" : "false",
	       r->pass ? "true" : "false");
	if (!r->pass) {
		printf("\"error\": ");
		print_json_string(r->error);
		printf(", ");
	}
	printf("\"seconds\": %.6f, \"min_us\": %.3f, \"median_us\": %.3f, "
	       "\"p90_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, "
	       "\"max_us\": %.3f, \"mib_per_s\": %.3f}",
	       r->seconds, r->min, r->median, r->p90, r->p99, r->p999, r->max,
	       r->mib_per_s);
}

void report_result(const struct options *opt, const struct result *r)
{
	if (opt->json)
		report_json(opt, r);
	else if (r->pass)
		printf("%-5s %8u %7u %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.2f  pass\n",
		       mode_names[r->test.mode], r->test.size, r->done, r->min,
		       r->median, r->p90, r->p99, r->p999, r->max,
		       r->mib_per_s);
	else
		printf("%-5s %8u %7u  FAIL: %s\n", mode_names[r->test.mode],
		       r->test.size, r->done, r->error);
	fflush(stdout);
	nr_results++;
	nr_failed += !r->pass;
}

bool report_end(const struct options *opt)
{
	if (opt->json)
		printf("\n  ],\n  \"pass\": %s\n}\n",
		       nr_failed ? "false" : "true");
	else
		printf("%u passed, %u failed\n", nr_results - nr_failed,
		       nr_failed);
	fflush(stdout);
	return !nr_failed;
}
