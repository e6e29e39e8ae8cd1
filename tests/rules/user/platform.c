// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The scenario suite as a program.
 *
 *	udat_rules [-a IA] [-b IA] [-A MODE] [-B MODE] [TEXT]
 *
 * Runs the scenarios with TEXT in their name, or with one of several texts that "|"
 * divides, or all of them; "removal" is the one that waits for the removal of side b's
 * device (removal.c).  KDAPL_MODE is set to MODE before the IA of that side is opened.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "user.h"
#include "../../user/proc.h"

#define OBJECTS	"/sys/kernel/debug/kdapl/objects"

static const char *mode_a, *mode_b;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void say(const char *line)
{
	puts(line);
}

void *platform_alloc(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * Shared memory, whose pages are allocated when they are touched: first every other
 * one, then the rest.
 */
void *platform_alloc_scattered(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), i;
	char *memory;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	for (i = 0; i < size; i += 2 * page)
		__atomic_store_n(&memory[i], 0, __ATOMIC_RELAXED);
	for (i = page; i < size; i += 2 * page)
		__atomic_store_n(&memory[i], 0, __ATOMIC_RELAXED);
	return memory;
}

void platform_free(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}

void platform_lock(void)
{
	pthread_mutex_lock(&lock);
}

void platform_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void *thread_fn(void *arg)
{
	struct thread *thread = arg;

	thread->ret = thread->fn(thread->arg);
	return NULL;
}

bool platform_thread_start(struct thread *thread)
{
	return !pthread_create(&thread->pthread, NULL, thread_fn, thread);
}

void platform_thread_join(struct thread *thread)
{
	pthread_join(thread->pthread, NULL);
}

void yield_cpu(void)
{
	sched_yield();
}

void sleep_us(unsigned int us)
{
	usleep(us);
}

u64 now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

u32 random_u32(void)
{
	u32 number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = now_us();
	return number;
}

int run_command(const char *command)
{
	int status = system(command);

	return status < 0 || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/* A process without an IA is not listed, and has 0. */
int live_objects(void)
{
	char line[256];
	int pid, n, found = 0;
	FILE *f = fopen(OBJECTS, "r");

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "space pid %d: objects %d", &pid, &n) == 2 &&
		    pid == getpid())
			found += n;
	fclose(f);
	return found;
}

u64 pinned_kb(void)
{
	return proc_number("/proc/self/status", "VmPin:");
}

u64 locked_kb(void)
{
	return proc_number("/proc/self/status", "VmLck:");
}

u64 pins(void)
{
	return proc_pins();
}

u64 sysfs_number(const char *path)
{
	return proc_number(path, "");
}

void platform_before_open(const struct side *side)
{
	const char *mode = side == &side_a ? mode_a : mode_b;

	if (mode)
		setenv("KDAPL_MODE", mode, 1);
}

DAT_RETURN platform_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen,
			       DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(ia, qlen, DAT_HANDLE_NULL, flags, evd);
}

DAT_RETURN platform_lmr_register(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				 DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				 DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
				 DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
				 DAT_VADDR *address)
{
	return dat_lmr_create(ia, type, region, length, pz, privileges, lmr,
			      context, rmr_context, size, address);
}

bool platform_node(struct node *node, struct side *side)
{
	return node_new(node, side, ONE_EVD, NULL);
}

bool platform_receive_again(struct node *node)
{
	(void)node;
	return true;
}

DAT_RETURN platform_evd_wait(DAT_EVD_HANDLE evd, unsigned int ms,
			     DAT_EVENT *event)
{
	DAT_COUNT more;

	return ms ? dat_evd_wait(evd, ms * 1000, 1, event, &more) :
		    dat_evd_dequeue(evd, event);
}

const struct scenario_table * const platform_tables[] = {
	&user_args_table,
	&user_ia_table,
	&user_memory_table,
#ifndef NO_VERBS
	&raw_table,
#endif
	&wait_table,
	&cno_table,
	&user_srq_table,
	&threads_table,
	&process_table,
#if DAT_VERSION_MAJOR >= 2
	&face2_table,
	&extension_table,
	&keys_table,
#endif
	NULL
};

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:b:A:B:")) != -1) {
		switch (c) {
		case 'a':
			side_a.name = optarg;
			break;
		case 'b':
			side_b.name = optarg;
			break;
		case 'A':
			mode_a = optarg;
			break;
		case 'B':
			mode_b = optarg;
			break;
		default:
			return 2;
		}
	}
	if (access(OBJECTS, R_OK)) {
		fprintf(stderr, "udat_rules: %s: %s (root, and debugfs mounted?)\n",
			OBJECTS, strerror(errno));
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	return run_scenarios(optind < argc ? argv[optind] : "") ? 1 : 0;
}
