// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdaplctl: shows the adapters of kdapl on this host, the open files of /dev/kdapl with the
 * processes that opened them, and the live DAT objects.  It changes nothing.  The manual page
 * is kdaplctl.8.
 *
 * A table of fields says what is known of an adapter, a file or an object, in the order in
 * which a person wants to see it.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include "print.h"

#define ARRAY(a)	(sizeof(a) / sizeof(*(a)))

static const char *const protocols[] = { "unknown", "InfiniBand", "RoCE", "iWARP", NULL };

static const char *const passthroughs[] = {
	"yes", "no (driver)", "no (kernel without uverbs)", NULL
};

static const char *const modes[] = { "forwarded", "passthrough", NULL };

static const char *const states[] = {
	"UNCONNECTED", "RESERVED", "PASSIVE_PENDING", "TENTATIVE", "RESOLVING", "REQUESTED",
	"COMPLETION_PENDING", "CONNECTED", "DRAINING", "FLUSHING", "DISCONNECTED_FLUSHING",
	"DISCONNECTED", "GONE", NULL
};

static const char *const srq_states[] = { "OPERATIONAL", "ERROR", NULL };

static const char *const types[] = {
	"", "IA", "PZ", "LMR", "RMR", "EVD", "EP", "PSP", "RSP", "CR", "SRQ", NULL
};

static const char *const limits[] = {
	"", "", "eps", "evds", "evd_qlen", "pzs", "lmrs", "lmr_length", "message_length",
	"dtos_per_ep", "segments_per_dto", "reads_in_per_ep", "reads_out_per_ep", NULL
};

static const char *const counters[] = {
	"", "", "established", "disconnected", "broken", "rejected", "unreachable",
	"timed_out", "accept_failed", "requests", "turned_away", "drains", "flushes",
	"posts_refused", NULL
};

static const struct field adapter_fields[] = {
	{ "ADAPTER", "name", KDAPL_NL_A_ADAPTER, .kind = STRING },
	{ "DEVICE", "device", KDAPL_NL_A_DEVICE, .kind = STRING },
	{ "PORT", "port", KDAPL_NL_A_PORT },
	{ "PROTOCOL", "protocol", KDAPL_NL_A_PROTOCOL, .kind = NAME, .names = protocols },
	{ "PASSTHROUGH", "passthrough", KDAPL_NL_A_PASSTHROUGH, .kind = NAME,
	  .names = passthroughs },
	{ "ADDRESSES", "addresses", KDAPL_NL_A_ADDRESSES, .kind = ADDRESSES },
	{ NULL, "limits", KDAPL_NL_A_LIMITS, .kind = NEST, .names = limits },
	{ NULL, "counters", KDAPL_NL_A_COUNTERS, .kind = NEST, .names = counters },
};

static const struct field file_fields[] = {
	{ "FILE", "file", KDAPL_NL_A_FILE },
	{ "PID", "pid", KDAPL_NL_A_PID },
	{ "USER", "uid", KDAPL_NL_A_UID, .kind = USER },
	{ "COMMAND", "command", KDAPL_NL_A_COMM, .kind = STRING },
	{ NULL, "forwarded_ias", KDAPL_NL_A_FORWARDED },
	{ NULL, "passthrough_ias", KDAPL_NL_A_PASSTHROUGHS },
	{ NULL, "pages", KDAPL_NL_A_PAGES, .kind = PAGES },
	{ NULL, "objects", KDAPL_NL_A_OBJECTS, .kind = NEST, .names = types },
};

#define OF(type)	(1u << KDAPL_NL_TYPE_##type)
#define SPS		(OF(PSP) | OF(RSP))

static const struct field object_fields[] = {
	{ "FILE", "file", KDAPL_NL_A_FILE },
	{ "PID", "pid", KDAPL_NL_A_PID },
	{ NULL, "uid", KDAPL_NL_A_UID },
	{ NULL, "type", KDAPL_NL_A_TYPE, .kind = NAME, .names = types },
	{ "HANDLE", "handle", KDAPL_NL_A_HANDLE, .kind = HANDLE },
	{ "ADAPTER", "adapter", KDAPL_NL_A_ADAPTER, .kind = STRING },
	{ NULL, "ia", KDAPL_NL_A_IA, .kind = HANDLE },
	{ "REFS", "refs", KDAPL_NL_A_REFS },
	{ "USERS", "users", KDAPL_NL_A_USERS },
	{ "MODE", "mode", KDAPL_NL_A_MODE, .kind = NAME, .names = modes, .types = OF(IA) },
	{ "REMOVED", "removed", KDAPL_NL_A_REMOVED, .kind = FLAG, .types = OF(IA) },
	{ "STATE", "state", KDAPL_NL_A_STATE, .kind = NAME, .names = states,
	  .types = OF(EP) },
	{ "REQUESTS", "requests", KDAPL_NL_A_REQUESTS, KDAPL_NL_A_MAX_REQUESTS,
	  .types = OF(EP) },
	{ "STATE", "state", KDAPL_NL_A_SRQ_STATE, .kind = NAME, .names = srq_states,
	  .types = OF(SRQ) },
	{ "RECVS", "recvs", KDAPL_NL_A_RECVS, KDAPL_NL_A_MAX_RECVS,
	  .types = OF(EP) | OF(SRQ) },
	{ "LOW-MARK", "low_watermark", KDAPL_NL_A_LOW_WATERMARK, .types = OF(SRQ) },
	{ "QP", "qp", KDAPL_NL_A_QP, .types = OF(EP) },
	{ NULL, "life", KDAPL_NL_A_LIFE, .types = OF(EP) },
	{ "PEER", "remote", KDAPL_NL_A_REMOTE, .kind = ADDRESS, .types = OF(EP) | OF(CR) },
	{ "PEER-QUAL", "remote_qual", KDAPL_NL_A_REMOTE_QUAL, .types = OF(EP) | OF(CR) },
	{ "QUAL", "local_qual", KDAPL_NL_A_LOCAL_QUAL, .types = OF(EP) | OF(CR) | SPS },
	{ "EVD", "evd", KDAPL_NL_A_EVD, .kind = HANDLE, .types = SPS },
	{ NULL, "recv_evd", KDAPL_NL_A_RECV_EVD, .kind = HANDLE, .types = OF(EP) },
	{ NULL, "request_evd", KDAPL_NL_A_REQUEST_EVD, .kind = HANDLE, .types = OF(EP) },
	{ NULL, "connect_evd", KDAPL_NL_A_CONNECT_EVD, .kind = HANDLE, .types = OF(EP) },
	{ NULL, "srq", KDAPL_NL_A_SRQ, .kind = HANDLE, .types = OF(EP) },
	{ "QUEUED", "queued", KDAPL_NL_A_QUEUED, KDAPL_NL_A_QLEN, .types = OF(EVD) },
	{ "CQES", "cqes", KDAPL_NL_A_CQES, .types = OF(EVD) },
	{ "OVERFLOWED", "overflowed", KDAPL_NL_A_OVERFLOWED, .kind = FLAG,
	  .types = OF(EVD) },
	{ "DROPPED", "dropped", KDAPL_NL_A_DROPPED, .types = OF(EVD) },
	{ "LENGTH", "length", KDAPL_NL_A_LENGTH, .kind = BYTES, .types = OF(LMR) | OF(RMR) },
	{ "PAGES", "pages", KDAPL_NL_A_PAGES, .types = OF(LMR) | OF(EVD) | OF(SRQ) },
	{ "LMR-CONTEXT", "lmr_context", KDAPL_NL_A_LMR_CONTEXT, .kind = HEX,
	  .types = OF(LMR) },
	{ "RMR-CONTEXT", "rmr_context", KDAPL_NL_A_RMR_CONTEXT, .kind = HEX,
	  .types = OF(LMR) | OF(RMR) },
	{ "BOUND-TO", "lmr", KDAPL_NL_A_LMR, .kind = HANDLE, .types = OF(RMR) },
	{ "RIGHTS", "rights", KDAPL_NL_A_PRIVILEGES, .kind = RIGHTS,
	  .types = OF(LMR) | OF(RMR) },
	{ NULL, "pz", KDAPL_NL_A_PZ, .kind = HANDLE,
	  .types = OF(EP) | OF(LMR) | OF(RMR) | OF(SRQ) },
};

static bool json;
static uint64_t only_pid;		/* 0: all */
static int only_type;			/* of objects; 0: all */
static unsigned long count;		/* how often top prints; 0: until it is stopped */
static double delay = 2;		/* between two prints of top, in seconds */

/* The value of an attribute in a nest; 0 if it is not there. */
static uint64_t in_nest(const struct nlattr *nest, int type)
{
	const struct nlattr *a;

	for (a = nest ? first_of(nest) : NULL; a; a = next_of(nest, a))
		if (type_of(a) == type)
			return number_of(a);
	return 0;
}

static uint64_t value_of(const struct message *m, int attr)
{
	return m->at[attr] ? number_of(m->at[attr]) : 0;
}

/* Does a message pass the option --pid? An adapter belongs to no process, and always does. */
static bool is_wanted(const struct message *m)
{
	return !only_pid || !m->at[KDAPL_NL_A_FILE] ||
	       value_of(m, KDAPL_NL_A_PID) == only_pid;
}

static void json_messages(const char *key, const struct message *all,
			  const struct field *fields, size_t n)
{
	size_t i, type;

	json_begin(key, '[');
	for (; all; all = all->next) {
		if (!is_wanted(all))
			continue;
		type = value_of(all, KDAPL_NL_A_TYPE);
		json_begin(NULL, '{');
		for (i = 0; i < n; i++)
			if (!fields[i].types || fields[i].types >> type & 1)
				json_field(&fields[i], all);
		json_end('}');
	}
	json_end(']');
}

/* ---- adapters ---------------------------------------------------------------- */

static void json_adapters(const char *key, const struct message *all)
{
	json_messages(key, all, adapter_fields, ARRAY(adapter_fields));
}

static void table_of_nest(const struct message *all, int attr, const char *const *names)
{
	char text[TEXT];
	int i;

	table_begin();
	table_word("ADAPTER", 0);
	for (i = 2; names[i]; i++) {
		char *p = text;

		snprintf(text, TEXT, "%s", names[i]);
		for (; *p; p++)
			*p = *p == '_' ? '-' : *p - ('a' <= *p && *p <= 'z') * 32;
		table_word(text, 1);
	}
	for (; all; all = all->next) {
		table_row();
		print_field(&adapter_fields[0], all);
		for (i = 2; names[i]; i++) {
			snprintf(text, TEXT, "%" PRIu64, in_nest(all->at[attr], i));
			table_word(text, 1);
		}
	}
	table_end();
}

static void print_adapters(const struct message *all)
{
	const struct message *m;
	size_t i;

	table_begin();
	for (i = 0; i < ARRAY(adapter_fields); i++)
		if (adapter_fields[i].title)
			print_field(&adapter_fields[i], NULL);
	for (m = all; m; m = m->next) {
		table_row();
		for (i = 0; i < ARRAY(adapter_fields); i++)
			if (adapter_fields[i].title)
				print_field(&adapter_fields[i], m);
	}
	table_end();
	if (!all)
		fprintf(stderr, "kdaplctl: no adapter: an RDMA port is one while it has an "
			"IP address in this network namespace (rdma link, ip address)\n");
}

static void do_adapters(void)
{
	struct message *all = kdapl_dump(KDAPL_NL_CMD_ADAPTERS, 0);

	if (json) {
		json_adapters(NULL, all);
	} else {
		print_adapters(all);
		if (all) {
			putchar('\n');
			table_of_nest(all, KDAPL_NL_A_LIMITS, limits);
		}
	}
	kdapl_free(all);
}

static void do_counters(void)
{
	struct message *all = kdapl_dump(KDAPL_NL_CMD_ADAPTERS, 0);

	if (json)
		json_adapters(NULL, all);
	else
		table_of_nest(all, KDAPL_NL_A_COUNTERS, counters);
	kdapl_free(all);
}

/* ---- files ------------------------------------------------------------------- */

static const char *mode_of(const struct message *m)
{
	uint64_t forwarded = value_of(m, KDAPL_NL_A_FORWARDED);
	uint64_t passthrough = value_of(m, KDAPL_NL_A_PASSTHROUGHS);

	if (!m->at[KDAPL_NL_A_UID])
		return "kernel";
	if (forwarded && passthrough)
		return "both";
	return passthrough ? modes[1] : forwarded ? modes[0] : "-";
}

static void print_file(const struct message *m)
{
	bool is_kernel = !m->at[KDAPL_NL_A_UID];
	char text[TEXT];
	int i;

	print_field(&file_fields[0], m);
	print_field(&file_fields[1], m);
	print_field(&file_fields[2], m);
	if (is_kernel)
		table_word("(kernel consumers)", 0);
	else if (!m->at[KDAPL_NL_A_COMM])
		table_word("(gone)", 0);
	else
		print_field(&file_fields[3], m);
	table_word(mode_of(m), 0);
	print_field(&file_fields[6], m);
	for (i = 1; types[i]; i++) {
		snprintf(text, TEXT, "%" PRIu64, in_nest(m->at[KDAPL_NL_A_OBJECTS], i));
		table_word(text, 1);
	}
}

static void print_file_titles(void)
{
	int i;

	for (i = 0; i < 4; i++)
		print_field(&file_fields[i], NULL);
	table_word("MODE", 0);
	table_word("MEMORY", 1);
	for (i = 1; types[i]; i++)
		table_word(types[i], 1);
}

/* Tells a user who sees nothing that only root is shown what belongs to others. */
static void hint_for_others(bool any)
{
	if (!any && geteuid())
		fprintf(stderr, "kdaplctl: nothing of yours; what others have is shown to "
			"root (CAP_NET_ADMIN)\n");
}

static void print_files(const struct message *all)
{
	bool any = false;

	table_begin();
	print_file_titles();
	for (; all; all = all->next) {
		if (!is_wanted(all))
			continue;
		table_row();
		print_file(all);
		any = true;
	}
	table_end();
	hint_for_others(any);
}

static void do_files(void)
{
	struct message *all = kdapl_dump(KDAPL_NL_CMD_FILES, 0);

	if (json)
		json_messages(NULL, all, file_fields, ARRAY(file_fields));
	else
		print_files(all);
	kdapl_free(all);
}

/* ---- objects ----------------------------------------------------------------- */

static bool is_column(const struct field *f, int type)
{
	return f->title && (!f->types || f->types >> type & 1);
}

/* Prints the table of one type.  Return: false if there are no objects of this type. */
static bool print_type(const struct message *all, int type, bool follows)
{
	bool any = false;
	size_t i;

	for (; all; all = all->next) {
		if ((int)value_of(all, KDAPL_NL_A_TYPE) != type || !is_wanted(all))
			continue;
		if (!any) {
			printf("%s%s\n", follows ? "\n" : "", types[type]);
			table_begin();
			for (i = 0; i < ARRAY(object_fields); i++)
				if (is_column(&object_fields[i], type))
					print_field(&object_fields[i], NULL);
		}
		any = true;
		table_row();
		for (i = 0; i < ARRAY(object_fields); i++)
			if (is_column(&object_fields[i], type))
				print_field(&object_fields[i], all);
	}
	if (any)
		table_end();
	return any;
}

static void print_objects(const struct message *all)
{
	bool any = false;
	int type;

	for (type = 1; types[type]; type++)
		any |= print_type(all, type, any);
	hint_for_others(any);
}

static void do_objects(void)
{
	struct message *all = kdapl_dump(KDAPL_NL_CMD_OBJECTS, only_type);

	if (json)
		json_messages(NULL, all, object_fields, ARRAY(object_fields));
	else
		print_objects(all);
	kdapl_free(all);
}

static void do_show(void)
{
	struct message *adapters = kdapl_dump(KDAPL_NL_CMD_ADAPTERS, 0);
	struct message *files = kdapl_dump(KDAPL_NL_CMD_FILES, 0);
	struct message *objects = kdapl_dump(KDAPL_NL_CMD_OBJECTS, 0);

	if (json) {
		json_begin(NULL, '{');
		json_adapters("adapters", adapters);
		json_messages("files", files, file_fields, ARRAY(file_fields));
		json_messages("objects", objects, object_fields, ARRAY(object_fields));
		json_end('}');
	} else {
		print_adapters(adapters);
		putchar('\n');
		table_of_nest(adapters, KDAPL_NL_A_COUNTERS, counters);
		putchar('\n');
		print_files(files);
		putchar('\n');
		print_objects(objects);
	}
	kdapl_free(adapters);
	kdapl_free(files);
	kdapl_free(objects);
}

/* ---- top --------------------------------------------------------------------- */

static uint64_t objects_of(const struct message *m)
{
	uint64_t n = 0;
	int i;

	for (i = 1; types[i]; i++)
		n += in_nest(m->at[KDAPL_NL_A_OBJECTS], i);
	return n;
}

/* Sorts files: most objects first; files with equally many stay in their order. */
static struct message *sorted(struct message *all)
{
	struct message *list = NULL, **at, *m;

	while ((m = all)) {
		all = m->next;
		for (at = &list; *at && objects_of(*at) >= objects_of(m); at = &(*at)->next)
			;
		m->next = *at;
		*at = m;
	}
	return list;
}

static void top_once(bool clear)
{
	struct message *adapters = kdapl_dump(KDAPL_NL_CMD_ADAPTERS, 0);
	struct message *files = sorted(kdapl_dump(KDAPL_NL_CMD_FILES, 0));
	uint64_t objects = 0, pages = 0, n = 0;
	char clock[32], memory[TEXT];
	time_t now = time(NULL);
	struct message *m;

	for (m = files; m; m = m->next) {
		objects += objects_of(m);
		pages += value_of(m, KDAPL_NL_A_PAGES);
		n += !!m->at[KDAPL_NL_A_UID];
	}
	if (json) {
		json_begin(NULL, '{');
		json_number("time", now);
		json_adapters("adapters", adapters);
		json_messages("files", files, file_fields, ARRAY(file_fields));
		json_end('}');
	} else {
		strftime(clock, sizeof(clock), "%T", localtime(&now));
		bytes_text(memory, pages * sysconf(_SC_PAGESIZE));
		if (clear)
			printf("\033[H\033[2J");
		printf("%s  files %" PRIu64 ", objects %" PRIu64 ", memory %s\n\n", clock, n,
		       objects, memory);
		table_of_nest(adapters, KDAPL_NL_A_COUNTERS, counters);
		putchar('\n');
		print_files(files);
	}
	kdapl_free(adapters);
	kdapl_free(files);
}

static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

/*
 * Makes a signal end the program after what it is printing now; a second one ends it at once.
 * A signal that is ignored stays ignored.
 */
static void end_in_pauses(int number)
{
	struct sigaction action = { .sa_handler = end, .sa_flags = SA_RESETHAND | SA_RESTART };
	struct sigaction before;

	sigaction(number, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

/* Return: false if a signal has come, before the pause or during it. */
static bool pause_for(const struct timespec *pause)
{
	sigset_t ends, before;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	if (!ended)
		ppoll(NULL, 0, pause, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return !ended;
}

/* Return: the exit status, 1 after a message if something that was printed cannot be written. */
static int written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "kdaplctl: cannot write: %s\n", strerror(errno));
	return 1;
}

static void do_top(void)
{
	struct timespec pause = {
		.tv_sec = delay,
		.tv_nsec = (delay - (time_t)delay) * 1e9,
	};
	bool clear = isatty(STDOUT_FILENO);
	unsigned long i;

	if (json) {
		/* When it is interrupted, the array is still closed, so that the JSON is valid. */
		end_in_pauses(SIGINT);
		end_in_pauses(SIGTERM);
		json_begin(NULL, '[');
	}
	for (i = 0; !count || i < count; i++) {
		if (i && !pause_for(&pause))
			break;
		if (i && !clear && !json)
			putchar('\n');
		top_once(clear);
		/* Fails when standard output is a pipe that nobody reads any more. */
		if (written())
			exit(1);
	}
	if (json)
		json_end(']');
}

/* ---- the command line -------------------------------------------------------- */

static void usage(FILE *to)
{
	fprintf(to,
		"usage: kdaplctl [-j] [-p PID] COMMAND\n"
		"\n"
		"  adapters        RDMA ports that kdapl can use, what they can do, and limits\n"
		"  counters        what has happened on them\n"
		"  files           open files of /dev/kdapl, with their processes (also: processes)\n"
		"  objects [TYPE]  live DAT objects: ia, pz, lmr, rmr, evd, ep, psp, rsp, cr, srq\n"
		"  show            all of these\n"
		"  top             adapters and files, most objects first, again and again\n"
		"\n"
		"  -j, --json           for programs\n"
		"  -p, --pid PID        only what that process has opened\n"
		"  -n, --count COUNT    top: so many times\n"
		"  -d, --delay SECONDS  top: between two times (2)\n"
		"  -h, --help           this\n"
		"\n"
		"Without CAP_NET_ADMIN you see your own files and objects.\n");
}

static void bad_usage(const char *what, const char *word)
{
	fprintf(stderr, "kdaplctl: %s: %s; see kdaplctl --help\n", what, word);
	exit(2);
}

static unsigned long number_option(const char *text, const char *what)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || end == text || !n || *text == '-')
		bad_usage(what, text);
	return n;
}

static double seconds_option(const char *text)
{
	double n;
	char *end;

	n = strtod(text, &end);
	if (*end || end == text || !(n > 0) || n > 1e6)
		bad_usage("not a number of seconds", text);
	return n;
}

static int type_option(const char *text)
{
	int i;

	for (i = 1; types[i]; i++)
		if (!strcasecmp(types[i], text))
			return i;
	bad_usage("no type of objects", text);
	return 0;
}

static const struct {
	const char *name;
	void (*run)(void);
} commands[] = {
	{ "adapters", do_adapters },
	{ "counters", do_counters },
	{ "files", do_files },
	{ "processes", do_files },
	{ "objects", do_objects },
	{ "show", do_show },
	{ "top", do_top },
};

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pid", required_argument, NULL, 'p' },
		{ "count", required_argument, NULL, 'n' },
		{ "delay", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "jp:n:d:h", longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'p':
			only_pid = number_option(optarg, "not the number of a process");
			break;
		case 'n':
			count = number_option(optarg, "not a count");
			break;
		case 'd':
			delay = seconds_option(optarg);
			break;
		case 'h':
			usage(stdout);
			return written();
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return 2;
	}
	for (i = 0; i < ARRAY(commands) && strcmp(commands[i].name, argv[optind]); i++)
		;
	if (i == ARRAY(commands))
		bad_usage("no such command", argv[optind]);
	optind++;
	if (commands[i].run == do_objects && optind < argc)
		only_type = type_option(argv[optind++]);
	if (optind < argc)
		bad_usage("one word too many", argv[optind]);
	if (kdapl_open())
		return 1;
	commands[i].run();
	return written();
}
