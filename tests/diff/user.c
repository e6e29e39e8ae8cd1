// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * udat_diff: plays programs in passthrough, forwarded, and with a kernel consumer, if
 * kdapl_diff is loaded, and compares the transcripts.  Each way is a process of its own, since
 * the library reads KDAPL_MODE once.  Of a program whose transcripts differ, or in which a rule
 * was broken, the shortest one that was found is printed, in the form that -p reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "diff.h"

#define KERNEL_PLAY	"/sys/kernel/debug/kdapl_diff/play"
#define KERNEL_TEXT	"/sys/kernel/debug/kdapl_diff/transcript"
#define TEXT_SIZE	(256 << 10)
#define QUAL		34000
#define SHRINKS		100	/* runs that the search for a shorter program may take */
#define SHRINK_LIMIT	3000	/* ms, in these */
#define PATIENCE	(4 * LIMIT_MS / 1000)

enum { PASSTHROUGH, FORWARDED, KERNEL, WAYS };

static const char *const way_names[WAYS] = { "passthrough", "forwarded", "kernel" };

struct way {
	pid_t pid;
	int pipe;
	char text[TEXT_SIZE];
};

static struct way ways[WAYS];
static unsigned int n_ways = KERNEL;
static unsigned long counts[OPS];
static bool verbose;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static size_t print(char *text, size_t size, const struct program *program)
{
	size_t n = snprintf(text, size, "%s", program->extended ? "extended\n" : "");
	u32 i;

	for (i = 0; i < program->n; i++) {
		const struct op *op = &program->ops[i];

		n += snprintf(text + n, size - n, "%s %u %u %u %u %u\n", op_names[op->kind],
			      op->side, op->slot, op->a, op->b, op->c);
	}
	return n;
}

/* ---- running -------------------------------------------------------------------------- */

static void play_in_kernel(const struct program *program)
{
	char text[8192];
	size_t n = snprintf(text, sizeof(text), "limit %u\n", program->limit);
	int fd = open(KERNEL_PLAY, O_WRONLY);
	ssize_t got;

	n += print(text + n, sizeof(text) - n, program);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		die(KERNEL_PLAY);
	close(fd);
	fd = open(KERNEL_TEXT, O_RDONLY);
	while ((got = read(fd, text, sizeof(text))) > 0) {
		if (write(STDOUT_FILENO, text, got) != got)
			die("pipe");
	}
}

static void start(u32 which, const struct program *program)
{
	struct way *way = &ways[which];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	fflush(stdout);
	way->pid = fork();
	if (way->pid < 0)
		die("fork");
	way->pipe = ends[0];
	if (way->pid) {
		close(ends[1]);
		return;
	}
	dup2(ends[1], STDOUT_FILENO);
	alarm(PATIENCE);
	if (which == KERNEL) {
		play_in_kernel(program);
	} else {
		setenv("KDAPL_MODE", way_names[which], 1);
		play(program, QUAL + which * 2 * SIDES);
	}
	_exit(0);
}

static void finish(struct way *way)
{
	size_t n = 0;
	ssize_t got;
	int status;

	while ((got = read(way->pipe, way->text + n, TEXT_SIZE - 64 - n)) > 0)
		n += got;
	close(way->pipe);
	waitpid(way->pid, &status, 0);
	way->text[n] = 0;
	if (status)
		sprintf(way->text + n, "RULE the process ended with status 0x%x\n", status);
}

/* Plays it in every way; true: as it should be. */
static bool agrees(const struct program *program)
{
	bool same = true;
	u32 i;

	for (i = 0; i < n_ways; i++) {
		start(i, program);
		finish(&ways[i]);
		same = same && !strstr(ways[i].text, "RULE ");
	}
	for (i = 1; i < n_ways; i++)
		same = same && !strcmp(ways[0].text, ways[i].text);
	return same;
}

/* ---- telling ---------------------------------------------------------------------------- */

static size_t line_of(const char *text)
{
	const char *end = strchr(text, '\n');

	return end ? (size_t)(end - text) + 1 : strlen(text);
}

/* The first line in which the transcripts part, after what they have in common */
static void tell_difference(void)
{
	const char *at[WAYS];
	u32 i, same = 1;

	for (i = 0; i < n_ways; i++)
		at[i] = ways[i].text;
	while (same && *at[0]) {
		size_t n = line_of(at[0]);

		for (i = 1; i < n_ways; i++)
			same = same && !strncmp(at[0], at[i], n);
		for (i = 0; same && i < n_ways; i++)
			at[i] += n;
	}
	for (i = 0; i < n_ways; i++)
		if (strcmp(at[i], at[(i + 1) % n_ways]))
			break;
	for (same = i == n_ways, i = 0; !same && i < n_ways; i++)
		printf("    %-11s goes on: %.*s\n", way_names[i], (int)strcspn(at[i], "\n"),
		       at[i]);
	for (i = 0; i < n_ways; i++) {
		const char *rule = ways[i].text;

		while ((rule = strstr(rule, "RULE "))) {
			printf("    %-11s %.*s\n", way_names[i], (int)strcspn(rule, "\n"), rule);
			rule++;
		}
	}
}

static void tell_all(void)
{
	u32 i;

	for (i = 0; i < n_ways; i++)
		printf("---- %s\n%s", way_names[i], ways[i].text);
}

/* ---- shrinking ---------------------------------------------------------------------------- */

static void without(struct program *to, const struct program *from, u32 first, u32 n)
{
	*to = *from;
	to->n -= n;
	memmove(to->ops + first, to->ops + first + n, (to->n - first) * sizeof(to->ops[0]));
}

/* Leaves out ever smaller pieces while it still fails; leaves the transcripts of the result. */
static void shrink(struct program *program)
{
	struct program shorter;
	u32 piece, first, runs = 0;

	program->limit = SHRINK_LIMIT;
	for (piece = program->n / 2; piece; piece /= 2) {
		for (first = 0; first + piece <= program->n && runs < SHRINKS;) {
			without(&shorter, program, first, piece);
			runs++;
			if (agrees(&shorter))
				first += piece;
			else
				*program = shorter;
		}
	}
	agrees(program);
}

static void tell_failure(unsigned long long seed, struct program *program)
{
	char text[8192];

	printf("FAIL seed %llu\n", seed);
	tell_difference();
	if (verbose) {
		tell_all();
		return;
	}
	shrink(program);
	print(text, sizeof(text), program);
	printf("  the shortest program that was found (udat_diff -p FILE):\n%s", text);
	tell_difference();
	fflush(stdout);
}

/* ---- the run -------------------------------------------------------------------------------- */

/*
 * What @name answers when it does its work.  A wait comes after all that is due has been taken, and
 * by waiting, too: what is left for the call itself is the time-out.
 */
static const char *answer_of(const char *name)
{
	return strcmp(name, "wait") ? ": DAT_SUCCESS" : ": DAT_TIMEOUT_EXPIRED";
}

/* What has done its work: a test of calls that all fail would prove nothing. */
static void count(const struct program *program)
{
	const char *line, *answer;
	char name[16];
	u32 i, at;

	for (line = ways[0].text; *line; line += line_of(line)) {
		if (sscanf(line, "%u %15s %*u.%*u:", &at, name) != 2)
			continue;
		answer = answer_of(name);
		if (!memmem(line, line_of(line), answer, strlen(answer)))
			continue;
		for (i = 0; i < OPS; i++)
			counts[i] += at < program->n && !strcmp(name, op_names[i]);
	}
}

static u32 tell_counts(unsigned long n)
{
	u32 i, never = 0, ops = has_extensions ? OPS : FIRST_EXTENSION;

	for (i = 0; i < ops; i++) {
		printf("%s%s %lu", i ? ", " : "done: ", op_names[i], counts[i]);
		never += !counts[i];
	}
	printf("\n");
	if (n < 100)
		return 0;
	printf("%s every operation has done its work\n", never ? "FAIL" : "ok");
	return never ? 1 : 0;
}

static int run_file(const char *name)
{
	struct program program;
	char text[8192] = "";
	FILE *file = fopen(name, "r");
	bool same;
	int bad;

	if (!file || !fread(text, 1, sizeof(text) - 1, file))
		die(name);
	bad = parse(&program, text);
	if (bad) {
		fprintf(stderr, "%s: line %d is no operation\n", name, bad);
		return 2;
	}
	same = agrees(&program);
	tell_all();
	tell_difference();
	printf("%d passed, %d failed\n", same, !same);
	return !same;
}

static int run_seeds(unsigned long long seed, unsigned long n)
{
	unsigned long i, failed = 0;
	struct program program;

	for (i = 0; i < n; i++, seed++) {
		generate(&program, seed, has_extensions);
		if (agrees(&program)) {
			count(&program);
			continue;
		}
		failed++;
		tell_failure(seed, &program);
	}
	i = n + (n >= 100);
	failed += tell_counts(n);
	printf("%lu passed, %lu failed\n", i - failed, failed);
	return failed > 0;
}

int main(int argc, char **argv)
{
	unsigned long long seed = 1;
	const char *file = NULL;
	unsigned long n = 100;
	int option;

	while ((option = getopt(argc, argv, "n:s:p:v")) > 0) {
		switch (option) {
		case 'n':
			n = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			file = optarg;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			fputs("usage: udat_diff [-s FIRST_SEED] [-n SEEDS] [-v] [-p FILE]\n",
			      stderr);
			return 2;
		}
	}
	if (!access(KERNEL_PLAY, W_OK))
		n_ways = WAYS;
	return file ? run_file(file) : run_seeds(seed, n);
}
