// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat-pingpong: send a message to a peer and back, over uDAPL.
 *
 *	dat-pingpong --list			the IAs of this host
 *	dat-pingpong -s [-i IA]			server
 *	dat-pingpong [-i IA] -c ADDRESS		client
 *
 * It tests (with -v every byte), measures round trips, and shows how an
 * application uses the library. kdat-pingpong in the kernel speaks the same
 * protocol (../pingpong-protocol.h). This file has the options; pingpong.h lists
 * the other files.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

#define ALL_MODES	((1u << PP_MODES) - 1)

static const uint32_t default_sizes[] = { 1, 64, 1024, 4096, 65536, 1048576 };

_Static_assert(PP_PORT == 18515 && MAX_ENDPOINTS == 1024, "the help text names them");

static const char help[] =
	"dat-pingpong: round trips over uDAPL\n"
	"\n"
	"  dat-pingpong --list                    show the interface adapters (IAs)\n"
	"  dat-pingpong -s [options]              be the server\n"
	"  dat-pingpong -c ADDRESS [options]      be the client of the one there\n"
	"\n"
	"  -i, --ia IA           adapter to use (needed if there are several)\n"
	"  -p, --port N          connection qualifier, 18515 unless given\n"
	"  -t, --timeout S       give up after S seconds without progress (30)\n"
	"      --connections N   server: end after N connections (never)\n"
	"                        client: make N, one after the other, and time those\n"
	"      --srq             receive from a shared receive queue\n"
	"      --poll            look for events all the time instead of sleeping\n"
	"  -q, --quiet           no progress; of a server, only clients that fail\n"
	"client:\n"
	"  -m, --mode LIST       send, write, read or all (all)\n"
	"      --sizes LIST      bytes, e.g. 1,64,4K,1M (1 byte to 1 MiB)\n"
	"  -n, --iterations N    round trips per mode and size (fewer for large sizes)\n"
	"      --endpoints N     N connections at once, round trips on each in turn (1 to 1024)\n"
	"      --rmr             buffers are open to the peer through bound RMRs\n"
	"  -v, --verify          fill and check every byte, on both sides\n"
	"      --histogram       show how the times are spread\n"
	"      --svg FILE        draw that\n"
	"      --json            print the results as JSON\n"
	"\n"
	"Exit status: 0 all passed, 1 something failed, 2 wrong usage.\n";

static int open_and_run(const struct options *opt)
{
	struct adapter adapter;
	int status;

	status = adapter_open(&adapter, opt);
	if (status)
		return status;
	status = opt->server ? run_server(&adapter) : run_client(&adapter);
	return adapter_close(&adapter) || status;
}

static bool number_in(const char *text, unsigned long min, unsigned long max,
		      unsigned int *value)
{
	unsigned long n, unit = 1;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 0);
	if (end != text && (*end == 'K' || *end == 'k')) {
		unit = 1024;
		end++;
	} else if (end != text && (*end == 'M' || *end == 'm')) {
		unit = 1048576;
		end++;
	}
	if (errno || end == text || *end || *text == '-' || n > max / unit || n * unit < min)
		return false;
	*value = n * unit;
	return true;
}

static bool sizes_in(struct options *opt, char *text)
{
	char *word;

	opt->nr_sizes = 0;
	for (word = strtok(text, ","); word; word = strtok(NULL, ","))
		if (opt->nr_sizes == MAX_SIZES ||
		    !number_in(word, 1, PP_MAX_SIZE,
			       &opt->sizes[opt->nr_sizes++]))
			return false;
	return opt->nr_sizes;
}

static bool modes_in(struct options *opt, char *text)
{
	unsigned int mode;
	char *word;

	opt->modes = 0;
	for (word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		if (!strcmp(word, "all")) {
			opt->modes = ALL_MODES;
			continue;
		}
		for (mode = 0; mode < PP_MODES; mode++)
			if (!strcmp(word, mode_names[mode]))
				break;
		if (mode == PP_MODES)
			return false;
		opt->modes |= 1 << mode;
	}
	return opt->modes;
}

enum { OPT_LIST = 256, OPT_SIZES, OPT_JSON, OPT_POLL, OPT_CONNECTIONS, OPT_ENDPOINTS,
	OPT_SRQ, OPT_RMR, OPT_HISTOGRAM, OPT_SVG };

static const struct option long_options[] = {
	{ "list", no_argument, NULL, OPT_LIST },
	{ "server", no_argument, NULL, 's' },
	{ "connect", required_argument, NULL, 'c' },
	{ "ia", required_argument, NULL, 'i' },
	{ "port", required_argument, NULL, 'p' },
	{ "timeout", required_argument, NULL, 't' },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "srq", no_argument, NULL, OPT_SRQ },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "quiet", no_argument, NULL, 'q' },
	{ "mode", required_argument, NULL, 'm' },
	{ "sizes", required_argument, NULL, OPT_SIZES },
	{ "iterations", required_argument, NULL, 'n' },
	{ "endpoints", required_argument, NULL, OPT_ENDPOINTS },
	{ "rmr", no_argument, NULL, OPT_RMR },
	{ "verify", no_argument, NULL, 'v' },
	{ "histogram", no_argument, NULL, OPT_HISTOGRAM },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* False: the option is unknown, or its value is bad. */
static bool option_in(struct options *opt, int c, char *arg)
{
	switch (c) {
	case OPT_LIST:
		return opt->list = true;
	case 's':
		return opt->server = true;
	case 'c':
		opt->address = arg;
		return true;
	case 'i':
		opt->ia_name = arg;
		return true;
	case 'p':
		return number_in(arg, 1, 65535, &opt->port);
	case 't':
		return number_in(arg, 1, 4000, &opt->timeout);
	case OPT_CONNECTIONS:
		return number_in(arg, 1, 1000000000, &opt->connections);
	case OPT_SRQ:
		return opt->srq = true;
	case OPT_POLL:
		return opt->poll = true;
	case 'q':
		return opt->quiet = true;
	case 'm':
		return modes_in(opt, arg);
	case OPT_SIZES:
		return sizes_in(opt, arg);
	case 'n':
		return number_in(arg, 1, 100000000, &opt->iterations);
	case OPT_ENDPOINTS:
		return number_in(arg, 1, MAX_ENDPOINTS, &opt->endpoints);
	case OPT_RMR:
		return opt->rmr = true;
	case 'v':
		return opt->verify = true;
	case OPT_HISTOGRAM:
		return opt->histogram = true;
	case OPT_SVG:
		opt->svg = arg;
		return true;
	case OPT_JSON:
		return opt->json = true;
	default:
		return false;
	}
}

/* Why the options contradict each other; NULL: they do not. */
static const char *contradiction(const struct options *opt)
{
	if (opt->list + opt->server + !!opt->address != 1)
		return "one of --list, -s and -c ADDRESS";
	if (!opt->address && (opt->rmr || opt->histogram || opt->svg || opt->endpoints))
		return "--rmr, --histogram, --svg and --endpoints are for clients";
	if (opt->connections && opt->endpoints)
		return "--connections are one after the other, --endpoints at once";
	if (opt->rmr && opt->modes & (1 << PP_SEND))
		return "--rmr is for the modes write and read: messages need none";
	return NULL;
}

/* Sets what was not given; some defaults depend on other options. */
static void defaults(struct options *opt)
{
	bool connecting = opt->address && opt->connections;

	if (!opt->modes)
		opt->modes = opt->rmr ? ALL_MODES & ~(1u << PP_SEND) :
			     connecting ? 1u << PP_SEND : ALL_MODES;
	if (!opt->nr_sizes) {
		memcpy(opt->sizes, default_sizes, sizeof(default_sizes));
		opt->nr_sizes = connecting ? 1 : sizeof(default_sizes) / sizeof(*default_sizes);
	}
	if (!opt->endpoints)
		opt->endpoints = 1;
}

static bool options_in(struct options *opt, int argc, char **argv)
{
	const char *wrong;
	int c;

	opt->port = PP_PORT;
	opt->timeout = 30;
	while ((c = getopt_long(argc, argv, "sc:i:p:t:qm:n:vh", long_options,
				NULL)) != -1) {
		if (c == 'h')
			return opt->help = true;
		if (!option_in(opt, c, optarg)) {
			if (c != '?')
				fprintf(stderr, "dat-pingpong: bad value: %s\n",
					optarg);
			return false;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "dat-pingpong: what is %s?\n", argv[optind]);
		return false;
	}
	wrong = contradiction(opt);
	if (wrong) {
		fprintf(stderr, "dat-pingpong: %s\n", wrong);
		return false;
	}
	defaults(opt);
	return true;
}

/* The exit status: that of the work, and 1 if not all that it has printed could be written */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "dat-pingpong: standard output cannot be written: %s\n", strerror(errno));
	return status ? status : 1;
}

static void on_signal(int sig)
{
	(void)sig;
	interrupted = true;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct options opt = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!options_in(&opt, argc, argv)) {
		fprintf(stderr, "Try dat-pingpong --help.\n");
		return 2;
	}
	if (opt.help) {
		fputs(help, stdout);
		return finish(0);
	}
	if (opt.list)
		return finish(list_adapters());
	if (!opt.ia_name)
		opt.ia_name = choose_adapter();
	if (!opt.ia_name)
		return 1;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return finish(open_and_run(&opt));
}
