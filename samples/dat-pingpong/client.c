// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The client: for each mode and size a test, which is round trips on one connection or on
 * several (--endpoints), or connections one after the other (--connections). It ends early
 * when a failure makes the rest pointless. Called by dat-pingpong.c.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

/* So many connections that fail one after the other show that none can be made any more. */
#define HOPELESS	3

struct run {
	const struct adapter *adapter;
	const struct options *opt;
	const struct sockaddr *address;
};

/* The outcome of one call of play(); its caller has allocated @ns. */
struct go {
	uint64_t *ns;
	size_t done;			/* round trips */
	double seconds;			/* that they took together */
	struct failure failure;
};

static uint32_t iterations_for(const struct options *opt, uint32_t size)
{
	uint32_t number;

	if (opt->iterations)
		return opt->iterations;
	if (opt->connections)
		return 1;
	number = (16u << 20) / size;
	number = (number > 1000 ? 1000 : number) / opt->endpoints;
	return number < 20 ? 20 : number;
}

/* Ends a connection that is still there: gracefully after a test that passed, else abruptly. */
static void disconnect(struct link *link, bool pass)
{
	if (link->established && !link->ended)
		link_disconnect(link, pass ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * Makes @nr connections, plays the whole test on them, and ends them. All of them exist before
 * the first round trip.
 */
static bool play(const struct run *run, const struct test *test, struct link *links,
		 unsigned int nr, struct go *go)
{
	unsigned int i, open = 0;
	bool pass = true;
	uint64_t begin;

	while (pass && open < nr) {
		pass = link_open(&links[open], run->adapter, test) &&
		       link_connect(&links[open], run->address);
		open++;
	}
	if (pass) {
		begin = now_ns();
		pass = exchange_client(links, nr, go->ns, &go->done);
		go->seconds = (now_ns() - begin) / 1e9;
	}
	for (i = 0; i < open; i++)
		disconnect(&links[i], pass);
	for (i = 0; i < open; i++) {
		if (*links[i].failure.text && !*go->failure.text)
			go->failure = links[i].failure;
		link_close(&links[i]);
	}
	return pass && !*go->failure.text;
}

static void round_trips(const struct run *run, struct result *result, struct link *links)
{
	struct go go = { .ns = result->ns };

	result->pass = play(run, &result->test, links, run->opt->endpoints, &go);
	result->done = go.done;
	result->seconds = go.seconds;
	result->failure = go.failure;
}

/*
 * The test of --connections. A connection counts if it was made, took its round trips (one
 * unless -n says more), and was ended in order. Its time is that of all three, and so is the
 * rate.
 */
static void connections(const struct run *run, struct result *result, struct link *link)
{
	uint64_t *ns = calloc(result->test.iterations, sizeof(*ns)), begin = now_ns(), start;
	unsigned int wanted = run->opt->connections, in_a_row = 0;

	while (ns && result->done + result->failed < wanted) {
		struct go go = { .ns = ns };

		start = now_ns();
		if (play(run, &result->test, link, 1, &go)) {
			result->ns[result->done++] = now_ns() - start;
			in_a_row = 0;
		} else {
			if (!result->failed++)
				result->failure = go.failure;
			if (go.failure.extent != THIS_CONNECTION || !result->done ||
			    ++in_a_row == HOPELESS)
				break;
		}
		progress(run->opt, &result->test, result->done + result->failed, wanted,
			 now_ns());
	}
	free(ns);
	result->seconds = (now_ns() - begin) / 1e9;
	result->pass = result->done == wanted;
}

/* Has a test failed in a way that the other tests would fail in, too? */
static bool hopeless(const struct run *run, const struct result *result)
{
	if (result->pass)
		return false;
	if (interrupted || result->failure.extent == ALL_TESTS)
		return true;
	if (result->failure.extent == THIS_TEST)
		return false;
	/*
	 * With --connections a single connection may fail. Only if connections() has given up
	 * before it had tried all of them, the other tests are hopeless.
	 */
	return !run->opt->connections ||
	       result->done + result->failed < run->opt->connections;
}

/* Runs and reports one test. False: the other tests are pointless. */
static bool run_test(struct run *run, struct result *result)
{
	const struct options *opt = run->opt;
	size_t number = opt->connections ? opt->connections :
			(size_t)opt->endpoints * result->test.iterations;
	struct link *links = calloc(opt->endpoints, sizeof(*links));
	bool go_on;

	result->ns = calloc(number, sizeof(*result->ns));
	result->sorted = malloc(number * sizeof(*result->sorted));
	if (!links || !result->ns || !result->sorted)
		snprintf(result->failure.text, sizeof(result->failure.text),
			 "no memory for %zu times", number);
	else if (opt->connections)
		connections(run, result, links);
	else
		round_trips(run, result, links);

	if (result->pass || (opt->connections && result->done)) {
		memcpy(result->sorted, result->ns, result->done * sizeof(*result->ns));
		sort_times(result->sorted, result->done);
	}
	if (!result->pass && adapter_gone(run->adapter)) {
		snprintf(result->failure.text, sizeof(result->failure.text),
			 "%s is gone: its device failed or was removed (see --list)",
			 opt->ia_name);
		result->failure.extent = ALL_TESTS;
	}
	report_result(opt, result);
	go_on = !hopeless(run, result);
	free(links);
	free(result->ns);
	free(result->sorted);
	return go_on;
}

/* Returns how many tests were not tried. */
static unsigned int run_tests(struct run *run)
{
	const struct options *opt = run->opt;
	unsigned int mode, i, left = __builtin_popcount(opt->modes) * opt->nr_sizes;
	struct result result;

	for (mode = 0; mode < PP_MODES; mode++) {
		for (i = 0; opt->modes & (1 << mode) && i < opt->nr_sizes; i++) {
			memset(&result, 0, sizeof(result));
			result.test.mode = mode;
			result.test.size = opt->sizes[i];
			result.test.iterations = iterations_for(opt, opt->sizes[i]);
			result.test.verify = opt->verify;
			result.test.rmr = opt->rmr;
			left--;
			if (!run_test(run, &result))
				return left;
		}
	}
	return left;
}

/* run_client - all tests; returns the exit status */
int run_client(const struct adapter *adapter)
{
	const struct options *opt = adapter->opt;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct run run = { .adapter = adapter, .opt = opt };
	struct addrinfo *address;
	unsigned int not_tried;
	int err;

	err = getaddrinfo(opt->address, NULL, &hints, &address);
	if (err) {
		fprintf(stderr, "dat-pingpong: %s: %s: give -c the address of an RDMA port\n",
			opt->address, gai_strerror(err));
		return 1;
	}
	if (opt->svg && svg_open(opt->svg)) {
		freeaddrinfo(address);
		return 1;
	}
	run.address = address->ai_addr;
	report_begin(opt);
	not_tried = run_tests(&run);
	freeaddrinfo(address);
	if (!report_end(opt, not_tried) || interrupted)
		return 1;
	return 0;
}
