// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * udat_fuzz: starts the lives of PROCS processes one after the other, watches them, makes
 * allocations fail meanwhile, and judges what is left.  Runs as root, the lives do not.
 *
 *	udat_fuzz [-c CALLS] [-r SEED] [-f FROM] [-p PROCESS] [-n] [-s] [-t] [IA IA]
 *
 *	-c  so many calls in all
 *	-r  the seed that an earlier run has printed
 *	-f  begin with the life that has call FROM of each process
 *	-p  only that process
 *	-n  no allocation is made to fail
 *	-s  stop at the first wrong answer, as at a complaint of the kernel
 *	-t  only look whether the table of calls is complete: needs no module
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "faults.h"
#include "fuzz.h"

#define OBJECT_LIST	"/sys/kernel/debug/kdapl/objects"
#define HANG_MS		120000
#define LINE_MS		5000
#define SETTLE_MS	180000	/* for the canaries to be connected */
/* Enough for each call to have succeeded, and for all that is to be seen */
#define ENOUGH_CALLS	40000
#define VIOLATIONS	20	/* that are shown */

struct process {
	pid_t pid, last;
	bool wanted;
	uint64_t number;	/* where its life begins */
	enum end how;
	uint64_t begun;
	uint64_t gone;		/* when it was; its objects may not be */
};

struct shared *shared;
static const char *ia_names[FILES] = { "rxe0-1", "rxe1-1" };
static struct process processes[PROCS];
static pid_t canaries[CANARIES];
static uint64_t wanted = 50000, begun, first_call;
static unsigned int killed, lives, crashed, hung, left_over, complaints, dead_canaries;
static unsigned int passed, failed;
static bool faults, stops;
static int kmsg = -1;

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

uint64_t clock_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* A place that is empty is taken by the first one that has this name to tell. */
static struct cost *cost_of(const char *name)
{
	const char *found;
	unsigned int i;

	for (i = 0; i < MAX_COSTS; i++) {
		found = NULL;
		if (look(shared->costs[i].name) == name ||
		    __atomic_compare_exchange_n(&shared->costs[i].name, &found, name, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    found == name)
			return &shared->costs[i];
	}
	return NULL;
}

void account(const char *name, uint64_t us, uint64_t cpu_us)
{
	struct cost *cost = cost_of(name);

	if (!cost)
		return;
	add(cost->times, 1);
	add(cost->us, us);
	add(cost->cpu_us, cpu_us);
	/* Two at once may leave the shorter one. */
	if (us > look(cost->longest_us))
		tell(cost->longest_us, us);
}

/* A line at a time, from whichever process */
void say(const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, n) != n)
		_exit(3);
}

void violation(struct worker *w, unsigned int which, const char *format, ...)
{
	char what[256];
	va_list args;

	if (add(shared->violations[which], 1) >= VIOLATIONS)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	say("FAIL %s  [seed %llu, process %u, call %llu, %u threads]", what,
	    (unsigned long long)shared->seed, w->life->process,
	    (unsigned long long)w->number, w->life->threads);
}

/* ---- what goes wrong ------------------------------------------------------------------ */

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

static void show_calls(void)
{
	unsigned int p, t;
	const char *name;

	for (p = 0; p < PROCS; p++)
		for (t = 0; t < THREADS; t++) {
			name = look(shared->process[p].threads[t].name);
			if (!processes[p].pid && !name)
				continue;
			say("  process %u, thread %u: call %llu%s%s", p, t, (unsigned long long)
			    look(shared->process[p].threads[t].number), name ? ", in " : "",
			    name ?: "");
		}
	say("  again: make fuzz SEED=%llu FROM=%llu", (unsigned long long)shared->seed,
	    (unsigned long long)look(shared->process[0].number));
}

static void show_stacks(pid_t pid)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "grep -H . /proc/%d/task/*/stack 2> /dev/null", pid);
	fflush(stdout);
	if (system(command))
		say("  (no stacks)");
}

/* What the kernel says of all that wait, its own threads above all */
static void show_waiting(void)
{
	FILE *f = fopen("/proc/sysrq-trigger", "w");
	char record[2048];
	ssize_t n;

	if (!f || kmsg < 0)
		return;
	fputs("w", f);
	fclose(f);
	while ((n = read(kmsg, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		say("  %s", record + strcspn(record, ";"));
	}
}

/* Who holds what the one waits for may be another of them. */
static void hang(unsigned int p, const char *what)
{
	unsigned int i;

	hung++;
	say("FAIL process %u (pid %d): %s for %u s", p, processes[p].last, what, HANG_MS / 1000);
	show_calls();
	for (i = 0; i < PROCS; i++)
		show_stacks(processes[i].last);
	show_waiting();
	show_file(OBJECT_LIST);
}

/* What scripts/vm would find in the log at the end; here it tells which calls it was. */
static bool kernel_complains(void)
{
	static const char *const reports[] = {
		"WARNING: ", "BUG: ", "kernel BUG at", "Oops", "general protection fault",
		"UBSAN: ", "ODEBUG: ", "refcount_t: ", "list_add corruption",
		"list_del corruption", "blocked for more than",
	};
	char record[2048];
	unsigned int i;
	ssize_t n;

	while (kmsg >= 0 && ((n = read(kmsg, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
		record[n > 0 ? n : 0] = '\0';
		for (i = 0; i < ARRAY_SIZE(reports); i++)
			if (strstr(record, reports[i])) {
				say("FAIL the kernel complains after %llu calls: %.200s",
				    (unsigned long long)look(shared->counts[C_CALLS]), record);
				return true;
			}
	}
	return false;
}

static bool has_objects(pid_t pid)
{
	FILE *f = fopen(OBJECT_LIST, "r");
	char line[256], mark[32];
	bool found = false;

	snprintf(mark, sizeof(mark), "space pid %d:", pid);
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, mark, strlen(mark));
	if (f)
		fclose(f);
	return found;
}

/* ---- processes --------------------------------------------------------------------------- */

static void start(unsigned int p)
{
	struct process *process = &processes[p];

	memset(shared->process[p].threads, 0, sizeof(shared->process[p].threads));
	process->how = life_end(p, process->number);
	process->gone = 0;
	process->begun = now_ms();
	process->pid = fork();
	if (!process->pid)
		life_main(p, process->number, ia_names);
	if (process->pid < 0) {
		perror("udat_fuzz: fork");
		exit(2);
	}
	process->last = process->pid;
	lives++;
}

/* When the life's last call began, or the life */
static uint64_t last_sign(unsigned int p)
{
	uint64_t since, last = processes[p].begun;
	unsigned int t;

	for (t = 0; t < THREADS; t++) {
		since = look(shared->process[p].threads[t].since);
		if (since > last)
			last = since;
	}
	return last;
}

static void reap(unsigned int p)
{
	struct process *process = &processes[p];
	bool by_kill;
	int status;

	if (waitpid(process->pid, &status, WNOHANG) != process->pid)
		return;
	process->pid = 0;
	process->gone = now_ms();
	account("death", 1000 * (process->gone - last_sign(p)), 0);
	process->number = (process->number / LIFE + 1) * LIFE;
	by_kill = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	killed += by_kill;
	if (process->how == END_KILL ? by_kill : WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	crashed++;
	say("FAIL process %u, the life before call %llu: ended with status 0x%x", p,
	    (unsigned long long)process->number, status);
}

/* A call that does not return, or a process that has made its last one and does not end */
static void watch(unsigned int p)
{
	uint64_t since, last = last_sign(p);
	unsigned int t;

	for (t = 0; t < THREADS; t++) {
		since = look(shared->process[p].threads[t].since);
		if (!look(shared->process[p].threads[t].name) || now_ms() < since + HANG_MS)
			continue;
		hang(p, "no progress");
		return;
	}
	if (now_ms() > last + HANG_MS)
		hang(p, "no call, and no end");
}

/* One look; false: all calls are made. */
static bool attend(unsigned int p)
{
	struct process *process = &processes[p];

	if (process->pid) {
		watch(p);
		reap(p);
		return true;
	}
	if (process->gone && has_objects(process->last)) {
		if (now_ms() < process->gone + HANG_MS)
			return true;
		left_over++;
		hang(p, "dead, and has objects");
	}
	if (process->gone)
		account("what is left goes", 1000 * (now_ms() - process->gone), 0);
	process->gone = 0;
	if (!process->wanted || look(shared->counts[C_CALLS]) >= wanted || look(shared->stop))
		return false;
	start(p);
	return true;
}

static void attend_canary(unsigned int i)
{
	int status;

	if (!canaries[i] || waitpid(canaries[i], &status, WNOHANG) != canaries[i])
		return;
	canaries[i] = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status) && look(shared->stop))
		return;
	dead_canaries++;
	say("FAIL canary %u ended with status 0x%x", i, status);
}

/* Before anything hostile is there */
static bool start_canaries(void)
{
	uint64_t end = now_ms() + SETTLE_MS;
	unsigned int i;

	for (i = 0; i < CANARIES; i++) {
		canaries[i] = fork();
		if (!canaries[i])
			canary_main(i, ia_names);
	}
	for (i = 0; i < CANARIES; i++)
		while (!look(shared->canary[i]) && now_ms() < end)
			usleep(10000);
	return look(shared->canary[0]) && look(shared->canary[1]);
}

static void end_canaries(void)
{
	uint64_t end = now_ms() + HANG_MS;
	unsigned int i;

	for (i = 0; i < CANARIES; i++) {
		while (canaries[i] && now_ms() < end) {
			attend_canary(i);
			usleep(10000);
		}
		if (!canaries[i])
			continue;
		say("FAIL canary %u hangs", i);
		show_stacks(canaries[i]);
		show_waiting();
		hung++;
	}
}

/* ---- the run ------------------------------------------------------------------------------- */

static void progress(unsigned int probability)
{
	static uint64_t last_calls, last_ms;
	const uint64_t *n = shared->counts;
	uint64_t ms = now_ms() - begun, made = look(n[C_CALLS]);

	say("%4llu s: %llu of %llu calls (%llu/s): %llu done, %llu refused, %llu errno, "
	    "%llu of mappings; %llu connections, %llu events, %llu posts; %u lives, %u killed; "
	    "%u allocations failed (%u %%); canaries %llu + %llu messages",
	    (unsigned long long)ms / 1000, (unsigned long long)made, (unsigned long long)wanted,
	    (unsigned long long)((made - last_calls) * 1000 / (ms - last_ms ?: 1)),
	    (unsigned long long)n[C_DONE], (unsigned long long)n[C_REFUSED],
	    (unsigned long long)n[C_ERRNO], (unsigned long long)n[C_MAPS],
	    (unsigned long long)n[C_CONNECTED], (unsigned long long)n[C_EVENTS],
	    (unsigned long long)n[C_POSTS], lives, killed, faults ? faults_count() : 0,
	    probability, (unsigned long long)look(shared->canary[0]),
	    (unsigned long long)look(shared->canary[1]));
	last_calls = made;
	last_ms = ms;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void run_all(void)
{
	static const unsigned int probabilities[] = { 0, 0, 1, 1, 3, 10 };
	uint64_t line = now_ms() + LINE_MS, turn = 0;
	unsigned int i, probability = 0;
	bool any = true;

	while (any) {
		any = false;
		for (i = 0; i < PROCS; i++)
			any |= attend(i);
		for (i = 0; i < CANARIES; i++)
			attend_canary(i);
		if (!complaints && kernel_complains()) {
			complaints++;
			show_calls();
		}
		if (hung)
			return;
		if (interrupted || complaints || dead_canaries ||
		    (stops && (look(shared->violations[0]) || look(shared->violations[1]))))
			tell(shared->stop, 1);
		if (now_ms() >= line) {
			progress(probability);
			line += LINE_MS;
			probability = probabilities[mix(shared->seed, turn++) %
						    ARRAY_SIZE(probabilities)];
			if (faults)
				faults_set(probability);
		}
		usleep(20000);
	}
	if (faults)
		faults_set(0);
	progress(0);
	if (interrupted)
		show_calls();
}

/* ---- the verdict ------------------------------------------------------------------------- */

static void verdict(bool good, const char *name)
{
	say("%s %s", good ? "ok" : "FAIL", name);
	*(good ? &passed : &failed) += 1;
}

static bool each_succeeded(void)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < nr_calls; i++) {
		if (shared->per_call[i][0])
			continue;
		say("FAIL no %s has succeeded", calls[i].name);
		good = false;
	}
	return good;
}

static void table(void)
{
	unsigned int i;

	say("%-18s %9s %9s %9s", "call", "done", "refused", "errno");
	for (i = 0; i < nr_calls; i++)
		say("%-18s %9llu %9llu %9llu", calls[i].name,
		    (unsigned long long)shared->per_call[i][0],
		    (unsigned long long)shared->per_call[i][1],
		    (unsigned long long)shared->per_call[i][2]);
}

static int by_time(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return (x->us < y->us) - (x->us > y->us);
}

/* What took most time first */
static void cost_table(void)
{
	const struct cost *cost;
	uint64_t all = 0;
	unsigned int i;

	for (i = 0; i < MAX_COSTS; i++)
		all += shared->costs[i].us;
	qsort(shared->costs, MAX_COSTS, sizeof(*cost), by_time);
	say("%-24s %9s %9s %9s %9s %6s", "what takes time", "times", "mean us", "cpu us",
	    "most ms", "share");
	for (cost = shared->costs; cost < shared->costs + MAX_COSTS && cost->times; cost++)
		say("%-24s %9llu %9llu %9llu %9llu %5.1f%%", cost->name,
		    (unsigned long long)cost->times,
		    (unsigned long long)(cost->us / cost->times),
		    (unsigned long long)(cost->cpu_us / cost->times),
		    (unsigned long long)cost->longest_us / 1000,
		    100.0 * cost->us / (all ?: 1));
}

static void verdicts(void)
{
	const uint64_t *n = shared->counts;
	bool enough = n[C_CALLS] >= ENOUGH_CALLS;

	table();
	cost_table();
	verdict(!shared->violations[0] && n[C_ANSWERS], "A8 each answer is one that the ABI has");
	verdict(!shared->violations[1] && n[C_UNTOUCHED],
		"A8 nothing is written but what is out, and no secret");
	verdict(!left_over, "F17 I19 a process that ended leaves nothing");
	verdict(!crashed, "every process ends as it should");
	verdict(!hung, "no call and no process hangs");
	verdict(!complaints, "the kernel does not complain");
	verdict(!dead_canaries, "the processes beside are not harmed");
	/* A short run need not have seen all. */
	if (!enough)
		return;
	verdict(each_succeeded(), "each call has succeeded");
	verdict(n[C_CONNECTED] && n[C_ENDED] && n[C_BINDS] && n[C_FORKS] && killed &&
		(!faults || faults_count()),
		"there were connections, binds, kills, forks, and failed allocations");
}

/* ---- options --------------------------------------------------------------------------------- */

static void setup(bool want_faults)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || access(OBJECT_LIST, R_OK)) {
		fprintf(stderr, "udat_fuzz: %s (root, debugfs mounted, kdapl loaded?)\n",
			strerror(errno));
		exit(2);
	}
	faults = want_faults && faults_init();
	if (!faults)
		say("no allocation is made to fail%s", want_faults ?
		    ": this kernel has no fault injection" : "");
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg >= 0)
		lseek(kmsg, 0, SEEK_END);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	begun = now_ms();
}

static void usage(void)
{
	fputs("udat_fuzz [-c CALLS] [-r SEED] [-f FROM] [-p PROCESS] [-n] [-s] [-t] [IA IA]\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	uint64_t seed = 0;
	bool want_faults = true, has_seed = false;
	int option, only = -1;
	unsigned int p;

	while ((option = getopt(argc, argv, "c:r:f:p:nst")) != -1) {
		switch (option) {
		case 'c':
			wanted = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			has_seed = true;
			break;
		case 'f':
			first_call = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			only = atoi(optarg);
			break;
		case 'n':
			want_faults = false;
			break;
		case 's':
			stops = true;
			break;
		case 't':
			return !table_check();
		default:
			usage();
		}
	}
	if (!table_check())
		return 2;
	for (p = 0; p < FILES && optind < argc; p++)
		ia_names[p] = argv[optind++];
	if (!has_seed && getrandom(&seed, 4, 0) != 4)
		return 2;
	setup(want_faults);
	verbs_list();
	shared->seed = seed;
	say("seed %llu; again: make fuzz SEED=%llu", (unsigned long long)seed,
	    (unsigned long long)seed);
	for (p = 0; p < PROCS; p++) {
		processes[p].wanted = only < 0 || (int)p == only;
		processes[p].number = first_call / LIFE * LIFE;
	}
	if (start_canaries())
		run_all();
	else
		verdict(false, "the canaries are connected");
	tell(shared->stop, 1);
	end_canaries();
	verdicts();
	say("%u passed, %u failed", passed, failed);
	return failed ? 1 : 0;
}
