// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What dat-pingpong prints: progress while a test runs, and the results with
 * their percentiles, as a table or as JSON; and the clock. Called by client.c,
 * exchange.c and others.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pingpong.h"

/* How many endpoints the table names, the slowest ones. JSON has all of them. */
#define NAMED	16

const char *const mode_names[PP_MODES] = { "send", "write", "read" };

static unsigned int nr_results, nr_failed;

/* The times of an endpoint in us; @number: its number, from 0 on */
struct endpoint {
	unsigned int number;
	double median, p99, max;
};

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

void sort_times(uint64_t *ns, size_t number)
{
	qsort(ns, number, sizeof(*ns), compare_times);
}

/* percentile - the smallest time that at least @per_mille of all do not exceed, in us */
double percentile(const uint64_t *sorted, size_t number, unsigned int per_mille)
{
	uint64_t rank = ((uint64_t)number * per_mille + 999) / 1000;

	return number ? sorted[rank ? rank - 1 : 0] / 1e3 : 0;
}

/* Connections per second; or MiB per second, counting the bytes of both directions. */
static double rate(const struct options *opt, const struct result *r)
{
	if (!r->seconds)
		return 0;
	return opt->connections ? r->done / r->seconds :
	       2.0 * r->test.size * r->done / 1048576 / r->seconds;
}

/*
 * progress - tell how far a test is, if it takes more than two seconds
 *
 * On a terminal it is one line that changes.
 */
void progress(const struct options *opt, const struct test *test, size_t done, size_t all,
	      uint64_t now)
{
	static uint64_t next;
	static size_t last;
	bool tty;

	if (done < last || !last)
		next = now + 2000000000ull;
	last = done == all ? 0 : done;
	if (opt->quiet || now < next)
		return;
	tty = isatty(STDERR_FILENO);
	next = now + (tty ? 500000000ull : 5000000000ull);
	fprintf(stderr, "%s%s %u bytes: %zu of %zu (%u%%)%s", tty ? "\r" : "",
		mode_names[test->mode], test->size, done, all,
		(unsigned int)(100 * done / all), tty ? "   " : "\n");
	if (tty && done == all)
		fputs("\r\033[K", stderr);
}

static const char *what_is_timed(const struct options *opt)
{
	return opt->connections ? "connections" : "round trips";
}

/*
 * Names come from dat.conf, and addresses from the command line; they may have any bytes. Bytes
 * that are not ASCII are written as if they were Latin-1, since their encoding is not known.
 */
static void print_json_string(const char *s)
{
	unsigned char c;

	putchar('"');
	for (; *s; s++) {
		c = *s;
		if (c < ' ' || c >= 0x7f)
			printf("\\u%04x", c);
		else if (c == '"' || c == '\\')
			printf("\\%c", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void begin_json(const struct options *opt)
{
	printf("{\n  \"ia\": ");
	print_json_string(opt->ia_name);
	printf(",\n  \"server\": ");
	print_json_string(opt->address);
	printf(",\n  \"port\": %u,\n  \"results\": [", opt->port);
}

void report_begin(const struct options *opt)
{
	if (opt->json) {
		begin_json(opt);
		return;
	}
	printf("%s to %s port %u, %s%s%s; %s in us", opt->ia_name,
	       opt->address, opt->port,
	       opt->verify ? "every byte verified" : "not verified (-v)",
	       opt->srq ? ", shared receive queue" : "", opt->rmr ? ", bound RMRs" : "",
	       what_is_timed(opt));
	if (opt->endpoints > 1)
		printf(" on %u endpoints in turn", opt->endpoints);
	printf("\n%-5s %8s %7s %9s %9s %9s %9s %9s %9s %9s  %s\n", "mode",
	       "bytes", opt->connections ? "made" : "trips", "min", "median", "90%", "99%",
	       "99.9%", "max", opt->connections ? "/s" : "MiB/s", "");
}

/* ---- the endpoints ------------------------------------------------------ */

static int slower_first(const void *a, const void *b)
{
	const struct endpoint *x = a, *y = b;

	return x->median > y->median ? -1 : x->median < y->median;
}

/* Sorts each endpoint's own times. NULL: no memory. The caller frees it. */
static struct endpoint *endpoints_of(const struct options *opt, const struct result *r)
{
	struct endpoint *endpoints = calloc(opt->endpoints, sizeof(*endpoints));
	uint32_t number = r->test.iterations;
	unsigned int i;
	uint64_t *ns;

	for (i = 0; endpoints && i < opt->endpoints; i++) {
		ns = r->ns + (size_t)i * number;
		sort_times(ns, number);
		endpoints[i].number = i;
		endpoints[i].median = percentile(ns, number, 500);
		endpoints[i].p99 = percentile(ns, number, 990);
		endpoints[i].max = percentile(ns, number, 1000);
	}
	return endpoints;
}

static void print_endpoints(const struct options *opt, const struct result *r)
{
	struct endpoint *endpoints = endpoints_of(opt, r);
	unsigned int i, named = opt->endpoints < NAMED ? opt->endpoints : NAMED;

	if (!endpoints)
		return;
	qsort(endpoints, opt->endpoints, sizeof(*endpoints), slower_first);
	printf("  %u endpoints, %.0f trips/s together; medians %.1f to %.1f; slowest first:\n",
	       opt->endpoints, r->done / r->seconds, endpoints[opt->endpoints - 1].median,
	       endpoints[0].median);
	for (i = 0; i < named; i++)
		printf("  endpoint %4u: median %9.1f  99%% %9.1f  max %9.1f\n",
		       endpoints[i].number, endpoints[i].median, endpoints[i].p99,
		       endpoints[i].max);
	if (named < opt->endpoints)
		printf("  and %u faster ones\n", opt->endpoints - named);
	free(endpoints);
}

static void print_endpoints_json(const struct options *opt, const struct result *r)
{
	struct endpoint *endpoints = endpoints_of(opt, r);
	unsigned int i;

	printf(", \"endpoints\": [");
	for (i = 0; endpoints && i < opt->endpoints; i++)
		printf("%s{\"median_us\": %.3f, \"p99_us\": %.3f, \"max_us\": %.3f}",
		       i ? ", " : "", endpoints[i].median, endpoints[i].p99,
		       endpoints[i].max);
	putchar(']');
	free(endpoints);
}

/* ---- a result ----------------------------------------------------------- */

static double of(const struct result *r, unsigned int per_mille)
{
	return percentile(r->sorted, r->done, per_mille);
}

static void report_json(const struct options *opt, const struct result *r, bool timed)
{
	printf("%s\n    {\"mode\": \"%s\", \"size\": %u, \"iterations\": %u, "
	       "\"done\": %zu, \"verified\": %s, \"pass\": %s",
	       nr_results ? "," : "", mode_names[r->test.mode], r->test.size,
	       r->test.iterations, r->done, opt->verify ? "true" : "false",
	       r->pass ? "true" : "false");
	if (!r->pass) {
		printf(", \"error\": ");
		print_json_string(r->failure.text);
	}
	if (opt->connections)
		printf(", \"connections\": %u, \"failed\": %zu, \"per_second\": %.3f",
		       opt->connections, r->failed, rate(opt, r));
	if (timed) {
		printf(", \"seconds\": %.6f, \"min_us\": %.3f, \"median_us\": %.3f, "
		       "\"p90_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, "
		       "\"max_us\": %.3f", r->seconds, of(r, 0), of(r, 500), of(r, 900),
		       of(r, 990), of(r, 999), of(r, 1000));
		if (!opt->connections)
			printf(", \"mib_per_s\": %.3f", rate(opt, r));
		if (opt->histogram)
			print_histogram_json(r);
		if (opt->endpoints > 1)
			print_endpoints_json(opt, r);
	}
	putchar('}');
}

static void report_line(const struct options *opt, const struct result *r, bool timed)
{
	printf("%-5s %8u %7zu ", mode_names[r->test.mode], r->test.size, r->done);
	if (timed)
		printf("%9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.2f  ", of(r, 0), of(r, 500),
		       of(r, 900), of(r, 990), of(r, 999), of(r, 1000), rate(opt, r));
	if (r->pass)
		puts("pass");
	else if (opt->connections)
		printf("FAIL: %zu failed, of %u to be made: %s\n", r->failed,
		       opt->connections, r->failure.text);
	else
		printf(" FAIL: %s\n", r->failure.text);
	if (timed && opt->histogram)
		print_histogram(r, what_is_timed(opt));
	if (timed && opt->endpoints > 1)
		print_endpoints(opt, r);
}

/* report_result - report a test. With --connections one that failed may have times as well. */
void report_result(const struct options *opt, const struct result *r)
{
	bool timed = r->pass || (opt->connections && r->done);

	if (opt->json)
		report_json(opt, r, timed);
	else
		report_line(opt, r, timed);
	if (timed && opt->svg)
		svg_add(opt, r);
	fflush(stdout);
	nr_results++;
	nr_failed += !r->pass;
}

/* report_end - the last line, and the picture; false: something failed */
bool report_end(const struct options *opt, unsigned int not_tried)
{
	bool good = !nr_failed && !not_tried;

	if (opt->svg && !svg_close(opt))
		good = false;
	if (opt->json)
		printf("\n  ],\n  \"not_tried\": %u,\n  \"pass\": %s\n}\n", not_tried,
		       good ? "true" : "false");
	else if (not_tried)
		printf("%u passed, %u failed, %u not tried\n", nr_results - nr_failed,
		       nr_failed, not_tried);
	else
		printf("%u passed, %u failed\n", nr_results - nr_failed, nr_failed);
	fflush(stdout);
	return good;
}
