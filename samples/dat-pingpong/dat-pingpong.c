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
 * protocol (../pingpong-protocol.h).
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pingpong.h"

#define DEVICE	"/dev/kdapl"

static const uint32_t default_sizes[] = { 1, 64, 1024, 4096, 65536, 1048576 };

_Static_assert(PP_PORT == 18515, "the help text names it");

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
	"      --poll            look for events all the time instead of sleeping\n"
	"  -q, --quiet           no progress\n"
	"client:\n"
	"  -m, --mode LIST       send, write, read or all (all)\n"
	"      --sizes LIST      bytes, e.g. 1,64,4K,1M (1 byte to 1 MiB)\n"
	"  -n, --iterations N    round trips per mode and size (fewer for large sizes)\n"
	"  -v, --verify          fill and check every byte, on both sides\n"
	"      --json            print the results as JSON\n"
	"server:\n"
	"      --connections N   end after N connections (never)\n"
	"\n"
	"Exit status: 0 all passed, 1 something failed, 2 wrong usage.\n";

static int fatal(const char *what, DAT_RETURN ret)
{
	char name[128];

	fprintf(stderr, "dat-pingpong: %s: %s\n", what,
		ret_name(ret, name, sizeof(name)));
	return 1;
}

/* Tells why there is no IA, and what to do about it. */
static void hint_at_device(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		fprintf(stderr,
			"  There is no RDMA port with an address. `rdma link` shows the devices;\n"
			"  one in software: rdma link add rxe0 type rxe netdev eth0\n");
	} else if (errno == ENOENT || errno == ENXIO || errno == ENODEV) {
		fprintf(stderr,
			"  %s is missing: is the module loaded? (modprobe kdapl)\n",
			DEVICE);
	} else {
		fprintf(stderr,
			"  %s: %s (its udev rule decides who may use it)\n",
			DEVICE, strerror(errno));
	}
}

/* The registry's entries, which the caller frees; NULL when there are none. */
static DAT_PROVIDER_INFO *list_registry(DAT_COUNT *number)
{
	DAT_PROVIDER_INFO *infos, **list;
	DAT_RETURN ret;
	DAT_COUNT i;

	*number = 0;
	ret = dat_registry_list_providers(0, number, NULL);
	if (!*number) {
		if (ret)
			fatal("no interface adapters", ret);
		else
			fprintf(stderr, "dat-pingpong: no interface adapters\n");
		hint_at_device();
		return NULL;
	}
	infos = calloc(*number, sizeof(*infos));
	list = calloc(*number, sizeof(*list));
	for (i = 0; infos && list && i < *number; i++)
		list[i] = &infos[i];
	if (!infos || !list)
		ret = DAT_INSUFFICIENT_RESOURCES;
	else
		ret = dat_registry_list_providers(*number, number, list);
	free(list);
	if (!ret)
		return infos;
	free(infos);
	fatal("dat_registry_list_providers", ret);
	return NULL;
}

static DAT_RETURN open_ia(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)name, 8, &async_evd, ia);
}

static void address_text(const struct sockaddr *address, char *text,
			 size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	const struct sockaddr_in *in = (const void *)address;

	*text = '\0';
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, text, size);
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, text, size);
}

/* Whose queues a connection has, by the provider's own attribute; libdat(3) tells more. */
static const char *mode_of(const DAT_PROVIDER_ATTR *provider)
{
	int i;

	for (i = 0; i < provider->num_provider_specific_attr; i++)
		if (!strcmp(provider->provider_specific_attr[i].name, "mode"))
			return provider->provider_specific_attr[i].value;
	return "-";
}

static int list_one(const char *name)
{
	char address[INET6_ADDRSTRLEN];
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	ret = open_ia(name, &ia);
	if (ret)
		return fatal(name, ret);
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr,
			   DAT_PROVIDER_FIELD_ALL, &provider);
	if (!ret) {
		address_text(attr.ia_address_ptr, address, sizeof(address));
		printf("%-16s %-40s %-12s %s\n", name, address, mode_of(&provider),
		       attr.vendor_name);
	}
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret ? fatal(name, ret) : 0;
}

static int list_ias(void)
{
	DAT_PROVIDER_INFO *infos;
	DAT_COUNT number, i;
	int status = 0;

	infos = list_registry(&number);
	if (!infos)
		return 1;
	printf("%-16s %-40s %-12s %s\n", "IA", "address", "mode", "driver");
	for (i = 0; i < number; i++)
		status |= list_one(infos[i].ia_name);
	free(infos);
	return status;
}

/* Without -i the only adapter there is. Its name is never freed. */
static const char *choose_ia(void)
{
	DAT_PROVIDER_INFO *infos;
	DAT_COUNT number, i;

	infos = list_registry(&number);
	if (!infos)
		return NULL;
	if (number == 1)
		return infos[0].ia_name;
	fprintf(stderr, "dat-pingpong: which adapter? Choose with -i:");
	for (i = 0; i < number; i++)
		fprintf(stderr, " %s", infos[i].ia_name);
	fputc('\n', stderr);
	free(infos);
	return NULL;
}

/* Client */

static uint32_t iterations_for(const struct options *opt, uint32_t size)
{
	uint32_t number;

	if (opt->iterations)
		return opt->iterations;
	number = size ? (16u << 20) / size : 1000;
	return number < 20 ? 20 : number > 1000 ? 1000 : number;
}

static void run_test(const struct options *opt, DAT_IA_HANDLE ia,
		     const struct sockaddr *address, struct result *result)
{
	struct link link;

	result->pass = link_open(&link, opt, ia, &result->test) &&
		       link_connect(&link, address) &&
		       exchange_client(&link, result);
	if (link.established && !link.ended &&
	    !link_disconnect(&link, result->pass ? DAT_CLOSE_GRACEFUL_FLAG :
			     DAT_CLOSE_ABRUPT_FLAG))
		result->pass = false;
	memcpy(result->error, link.error, sizeof(result->error));
	link_close(&link);
}

static int run_client(const struct options *opt, DAT_IA_HANDLE ia)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *address;
	struct result result;
	unsigned int mode, i;
	int err;

	err = getaddrinfo(opt->address, NULL, &hints, &address);
	if (err) {
		fprintf(stderr, "dat-pingpong: %s: %s\n", opt->address,
			gai_strerror(err));
		return 1;
	}
	report_begin(opt);
	for (mode = 0; mode < PP_MODES; mode++) {
		if (!(opt->modes & (1 << mode)))
			continue;
		for (i = 0; i < opt->nr_sizes && !interrupted; i++) {
			memset(&result, 0, sizeof(result));
			result.test.mode = mode;
			result.test.size = opt->sizes[i];
			result.test.iterations =
				iterations_for(opt, opt->sizes[i]);
			result.test.verify = opt->verify;
			run_test(opt, ia, address->ai_addr, &result);
			report_result(opt, &result);
		}
	}
	freeaddrinfo(address);
	return report_end(opt) && !interrupted ? 0 : 1;
}

/* Server */

/* Reads the request of a client. False: it cannot be served. */
static bool hello_in(const DAT_CR_PARAM *cr, struct test *test)
{
	struct pp_hello hello;

	if (cr->private_data_size < (int)sizeof(hello))
		return false;
	memcpy(&hello, cr->private_data, sizeof(hello));
	test->mode = be32toh(hello.mode);
	test->size = be32toh(hello.size);
	test->iterations = be32toh(hello.iterations);
	test->verify = be32toh(hello.flags) & PP_F_VERIFY;
	return be32toh(hello.magic) == PP_MAGIC &&
	       be32toh(hello.version) == PP_VERSION &&
	       be32toh(hello.mode) < PP_MODES && test->size <= PP_MAX_SIZE;
}

/*
 * The client ends the connection. Until then the server's endpoint has to stay,
 * or the last message might not arrive.
 */
static bool wait_end(struct link *link)
{
	while (!link->ended)
		if (!link_pump(link))
			return false;
	return link->end == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       fail(link, "the connection broke");
}

static bool serve_client(const struct options *opt, DAT_IA_HANDLE ia,
			 DAT_CR_HANDLE cr)
{
	char address[INET6_ADDRSTRLEN] = "?";
	DAT_CR_PARAM param;
	struct link link;
	struct test test;
	uint32_t done = 0;
	DAT_RETURN ret;
	bool pass;

	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret) {
		fatal("dat_cr_query", ret);
		return false;
	}
	address_text(param.remote_ia_address_ptr, address, sizeof(address));
	if (!hello_in(&param, &test)) {
		printf("%s: not a ping-pong client, refused\n", address);
		dat_cr_reject(cr);
		return false;
	}

	if (link_open(&link, opt, ia, &test)) {
		pass = link_accept(&link, cr) && exchange_server(&link, &done);
	} else {
		dat_cr_reject(cr);
		pass = false;
	}
	if (pass)
		pass = wait_end(&link);
	else if (link.established && !link.ended)
		link_disconnect(&link, DAT_CLOSE_ABRUPT_FLAG);
	printf("%s: %s, %u bytes, %u of %u: %s%s\n", address,
	       mode_names[test.mode], test.size, done, test.iterations,
	       pass ? "pass" : "FAIL: ", pass ? "" : link.error);
	fflush(stdout);
	link_close(&link);
	return pass;
}

static int server_loop(const struct options *opt, DAT_IA_HANDLE ia,
		       DAT_EVD_HANDLE evd)
{
	unsigned int served = 0;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;
	int status = 0;

	while (!interrupted &&
	       (!opt->connections || served < opt->connections)) {
		/*
		 * A signal that comes just before the call does not interrupt
		 * it, so the call waits for half a second at most.
		 */
		ret = dat_evd_wait(evd, 500000, 1, &event, &more);
		if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL ||
		    DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
			continue;
		if (ret)
			return fatal("dat_evd_wait", ret);
		if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
			continue;
		served++;
		if (!serve_client(opt, ia,
				  event.event_data.cr_arrival_event_data.cr_handle))
			status = 1;
	}
	return status;
}

static int run_server(const struct options *opt, DAT_IA_HANDLE ia)
{
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	int status;

	ret = dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd);
	if (ret)
		return fatal("dat_evd_create", ret);
	ret = dat_psp_create(ia, opt->port, evd, DAT_PSP_CONSUMER_FLAG, &psp);
	if (ret) {
		status = fatal("dat_psp_create", ret);
		if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
			fprintf(stderr, "  Port %u is taken: choose another with -p.\n",
				opt->port);
		dat_evd_free(evd);
		return status;
	}
	printf("listening on %s port %u\n", opt->ia_name, opt->port);
	fflush(stdout);
	status = server_loop(opt, ia, evd);
	dat_psp_free(psp);
	dat_evd_free(evd);
	return status;
}

static int open_and_run(const struct options *opt)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	int status;

	ret = open_ia(opt->ia_name, &ia);
	if (ret) {
		status = fatal(opt->ia_name, ret);
		if (access(DEVICE, R_OK | W_OK))
			hint_at_device();
		else
			fprintf(stderr, "  dat-pingpong --list shows the names.\n");
		return status;
	}
	status = opt->server ? run_server(opt, ia) : run_client(opt, ia);
	ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	if (ret) {
		status = fatal("dat_ia_close", ret);
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	return status;
}

/* Options */

static bool number_in(const char *text, unsigned long min, unsigned long max,
		      unsigned int *value)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 0);
	if (end != text && (*end == 'K' || *end == 'k')) {
		n *= 1024;
		end++;
	} else if (end != text && (*end == 'M' || *end == 'm')) {
		n *= 1048576;
		end++;
	}
	if (errno || end == text || *end || *text == '-' || n < min || n > max)
		return false;
	*value = n;
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
			opt->modes = (1 << PP_MODES) - 1;
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

enum { OPT_LIST = 256, OPT_SIZES, OPT_JSON, OPT_POLL, OPT_CONNECTIONS };

static const struct option long_options[] = {
	{ "list", no_argument, NULL, OPT_LIST },
	{ "server", no_argument, NULL, 's' },
	{ "connect", required_argument, NULL, 'c' },
	{ "ia", required_argument, NULL, 'i' },
	{ "port", required_argument, NULL, 'p' },
	{ "timeout", required_argument, NULL, 't' },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "quiet", no_argument, NULL, 'q' },
	{ "mode", required_argument, NULL, 'm' },
	{ "sizes", required_argument, NULL, OPT_SIZES },
	{ "iterations", required_argument, NULL, 'n' },
	{ "verify", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
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
	case 'v':
		return opt->verify = true;
	case OPT_JSON:
		return opt->json = true;
	case OPT_CONNECTIONS:
		return number_in(arg, 1, 1000000000, &opt->connections);
	default:
		return false;
	}
}

static bool options_in(struct options *opt, int argc, char **argv)
{
	int c;

	opt->port = PP_PORT;
	opt->modes = (1 << PP_MODES) - 1;
	opt->timeout = 30;
	memcpy(opt->sizes, default_sizes, sizeof(default_sizes));
	opt->nr_sizes = sizeof(default_sizes) / sizeof(*default_sizes);
	while ((c = getopt_long(argc, argv, "sc:i:p:t:qm:n:vh", long_options,
				NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			exit(0);
		}
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
	if (opt->list + opt->server + !!opt->address != 1) {
		fprintf(stderr, "dat-pingpong: one of --list, -s and -c ADDRESS\n");
		return false;
	}
	return true;
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
	if (opt.list)
		return list_ias();
	if (!opt.ia_name)
		opt.ia_name = choose_ia();
	if (!opt.ia_name)
		return 1;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return open_and_run(&opt);
}
