// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * udat_stress: worlds in processes of their own, on two adapters.
 *
 *	udat_stress [-s SECONDS] [-r SEED] [-n]
 *
 * Two processes live as long as the test and account for everything.  The others
 * are killed at any moment, close their adapter abruptly while all their threads
 * use it, or end well, and are started again.  Where the kernel can, it refuses
 * memory to kdapl (failslab, fail_page_alloc) now and then; -n: it does not.
 *
 * The parent opens nothing.  It prints a line every few seconds, and sees to it
 * that nothing hangs and that the dead leave nothing.  It ends after SECONDS, on a
 * slow machine up to LATE_MS later, when there is enough to judge by.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "faults.h"
#include "stress.h"

#define OBJECTS		"/sys/kernel/debug/kdapl/objects"
#define STEADY		2	/* of the worlds; the others are mortal */
#define HANG_MS		120000
#define LINE_MS		5000

/* struct child - a world's process, as its parent sees it */
struct child {
	pid_t pid;
	u64 kill_at;		/* 0: not */
	u64 killed;		/* when it was */
	u64 gone;		/* when its process was; its objects may not be */
	pid_t last;
	u64 beats[WORKERS + 1];
	u64 beat_at[WORKERS + 1];
};

static struct child children[WORLDS];
static u64 seed, begun, stopped;
static u32 kills, left_over, hung, crashed;

static u32 chance(u32 limit)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(seed >> 33) % limit;
}

/* ---- in the child ---------------------------------------------------------- */

static struct world self;

static enum world_end live(struct world *w)
{
	struct worker dice = { .rng = w->seed };
	u64 end = now_ms() + 300 + below(&dice, 4000);

	while (!load(&board->stop) && (w->number < STEADY || now_ms() < end))
		nap_us(10000);
	return w->number < STEADY || load(&board->stop) || !below(&dice, 3) ?
	       END_DRAINED : END_ABRUPT;
}

static void child(u32 number, u64 child_seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	self.number = number;
	self.ia_name = number % 2 ? "rxe1-1" : "rxe0-1";
	self.seed = child_seed;
	board->places[number].device = number % 2;
	_exit(!world_run(&self, live));
}

/* ---- in the parent --------------------------------------------------------- */

static void start(u32 number)
{
	struct child *c = &children[number];
	u64 child_seed = (u64)chance(1U << 30) << 20 | number;
	u32 i;

	board->places[number].alive = 0;
	memset(c, 0, sizeof(*c));
	memset(board->calls[number], 0, sizeof(board->calls[number]));
	for (i = 0; i <= WORKERS; i++)
		c->beat_at[i] = now_ms();
	/* The first one for certain: it lives longer than that by itself. */
	if (number >= STEADY && (!kills || (!load(&board->patient) && chance(100) < 60)))
		c->kill_at = now_ms() + 1 + chance(kills ? 6000 : 300);
	c->pid = fork();
	if (!c->pid)
		child(number, child_seed);
	if (c->pid < 0) {
		perror("udat_stress: fork");
		exit(2);
	}
	c->last = c->pid;
}

static bool has_objects(pid_t pid)
{
	FILE *f = fopen(OBJECTS, "r");
	char line[256], mark[32];
	bool found = false;

	snprintf(mark, sizeof(mark), "space pid %d:", pid);
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, mark, strlen(mark));
	if (f)
		fclose(f);
	return found;
}

static void show_file(const char *path)
{
	char line[256];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	if (f)
		fclose(f);
	fflush(stdout);
}

/* What every thread is doing; the kernel's log gets all others. */
static void stuck(u32 number, const char *what)
{
	FILE *f = fopen("/proc/sysrq-trigger", "w");
	struct child *c = &children[number];
	char command[160];
	u32 i;

	hung++;
	say("world %u (pid %d): %s for %u s", number, c->last, what,
	    HANG_MS / 1000);
	for (i = 0; i <= WORKERS; i++)
		say("  thread %u: %s", i, load(&board->calls[number][i]) ?: "-");
	snprintf(command, sizeof(command),
		 "grep -H . /proc/%d/task/*/stack 2> /dev/null", c->last);
	if (system(command))
		say("  (no stacks)");
	show_file(OBJECTS);
	if (f) {
		fputs("w", f);
		fflush(f);
		fputs("t", f);
		fclose(f);
	}
}

static void reap(u32 number)
{
	struct child *c = &children[number];
	int status;

	if (waitpid(c->pid, &status, WNOHANG) != c->pid) {
		if (c->killed && now_ms() > c->killed + HANG_MS) {
			stuck(number, "killed and not dead");
			c->killed = 0;
		}
		return;
	}
	c->pid = 0;
	c->gone = now_ms();
	if (c->killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		kills++;
	} else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		crashed++;
		say("FAIL world %u ended with status 0x%x", number, status);
	}
}

static void watch(u32 number)
{
	struct child *c = &children[number];
	u64 now = now_ms();
	u32 i;

	for (i = 0; i <= WORKERS; i++) {
		u64 beats = load(&board->beats[number][i]);

		if (beats != c->beats[i] ||
		    (i < WORKERS && !load(&board->calls[number][i]))) {
			c->beats[i] = beats;
			c->beat_at[i] = now;
		} else if (now > c->beat_at[i] + HANG_MS) {
			stuck(number, "no progress");
			c->beat_at[i] = now;
		}
	}
}

/* One look at a child; false: there is none and there will be none. */
static bool attend(u32 number)
{
	struct child *c = &children[number];

	if (c->pid) {
		if (c->kill_at && now_ms() >= c->kill_at) {
			c->killed = now_ms();
			c->kill_at = 0;
			kill(c->pid, SIGKILL);
		}
		watch(number);
		reap(number);
		return true;
	}
	if (c->gone && has_objects(c->last)) {
		if (now_ms() < c->gone + HANG_MS)
			return true;
		left_over++;
		stuck(number, "dead, and has objects");
	}
	c->gone = 0;
	if (stopped)
		return false;
	start(number);
	return true;
}

static void progress(u32 probability)
{
	const u64 *n = board->counts;

	say("%4llu s: %llu calls (%llu refused), %llu posts (%llu completed, %llu binds), %llu connections (%llu failed, %llu compared), %llu EPs freed, %llu worlds, %u processes killed, %u allocations failed (%u %%)",
	    (unsigned long long)(now_ms() - begun) / 1000,
	    (unsigned long long)n[COUNT_CALLS],
	    (unsigned long long)n[COUNT_REFUSED],
	    (unsigned long long)n[COUNT_POSTS],
	    (unsigned long long)n[COUNT_COMPLETED],
	    (unsigned long long)n[COUNT_BINDS],
	    (unsigned long long)n[COUNT_CONNECTED],
	    (unsigned long long)n[COUNT_UNCONNECTED],
	    (unsigned long long)n[COUNT_PAIRS],
	    (unsigned long long)n[COUNT_FREED],
	    (unsigned long long)n[COUNT_WORLDS], kills, faults_count(), probability);
}

/* Processes were killed, and allocations failed, if they can be made to. */
static bool enough_harm(void)
{
	return kills && (!board->faults || faults_count());
}

/*
 * When the time is over allocations go on to fail only if none has failed yet: the worlds then do
 * what is still wanted of them, and are not hindered.
 */
static u32 next_probability(bool over)
{
	static const u32 probabilities[] = { 0, 0, 1, 1, 3, 10 };

	if (over)
		return faults_count() ? 0 : 10;
	return probabilities[chance(ARRAY_SIZE(probabilities))];
}

static void run(u32 seconds)
{
	u64 end = begun + seconds * 1000ULL, late = end + LATE_MS;
	u64 line = begun + LINE_MS;
	u32 i, probability = 0;
	bool any = true;

	while (any && !hung) {
		any = false;
		for (i = 0; i < WORLDS; i++)
			any |= attend(i);
		store(&board->patient, now_ms() >= end);
		if (!stopped && now_ms() >= end &&
		    ((enough() && enough_harm()) || now_ms() >= late)) {
			stopped = now_ms();
			faults_set(probability = 0);
			store(&board->stop, 1);
		}
		if (now_ms() >= line) {
			progress(probability);
			line += LINE_MS;
			if (board->faults && !stopped) {
				probability = next_probability(now_ms() >= end);
				faults_set(probability);
			}
		}
		nap_us(20000);
	}
	progress(probability);
}

/* ---- the verdict ----------------------------------------------------------- */

static u32 passed, failed;

static void verdict(bool good, const char *name)
{
	say("%s %s", good ? "ok" : "FAIL", name);
	*(good ? &passed : &failed) += 1;
}

static void verdicts(void)
{
	failed = tell_rules();
	passed = RULES - failed;
	verdict(!left_over, "F17 I19 a killed process leaves nothing");
	verdict(!crashed, "every process ends as it should");
	verdict(!hung, "no call and no process hangs");
	verdict(board->counts[COUNT_CONNECTED] && board->counts[COUNT_BINDS] && enough_harm(),
		"there were connections, binds, kills, and failed allocations");
	say("%u passed, %u failed", passed, failed);
}

static void setup(bool faults)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED || access(OBJECTS, R_OK)) {
		fprintf(stderr, "udat_stress: %s (root, debugfs mounted, kdapl loaded?)\n",
			strerror(errno));
		exit(2);
	}
	board->seed = seed;
	if (faults && faults_init())
		board->faults = 1;
	else
		say("no allocation is made to fail%s", faults ?
		    ": this kernel has no fault injection" : "");
	begun = now_ms();
}

int main(int argc, char **argv)
{
	unsigned int seconds = 60;
	bool faults = true;
	u32 i;
	int c;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = time(NULL);
	while ((c = getopt(argc, argv, "s:r:n")) != -1) {
		switch (c) {
		case 's':
			seconds = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			faults = false;
			break;
		default:
			return 2;
		}
	}
	say("seed %llu, %u s", (unsigned long long)seed, seconds);
	setup(faults);
	for (i = 0; i < WORLDS; i++)
		start(i);
	run(seconds);
	for (i = 0; i < WORLDS; i++) {
		if (children[i].pid)
			kill(children[i].pid, SIGKILL);
	}
	verdicts();
	return failed ? 1 : 0;
}
