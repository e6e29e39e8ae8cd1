// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A life: LIFE calls of a process of nobody's, by one thread or several, in one mode.  At its
 * end it closes its files, or just ends, or is killed in the middle of its calls.
 */
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "fuzz.h"

#define NOBODY		65534
#define MEMLOCK		(64 << 20)
#define ALARM		SIGUSR1

static _Thread_local struct worker *self;

static void on_fault(int signal)
{
	if (self && self->guarded)
		siglongjmp(self->jump, 1);
	/* The fuzzer itself: its parent sees how it ended. */
	sigaction(signal, &(struct sigaction) { .sa_handler = SIG_DFL }, NULL);
	raise(signal);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void signals(void)
{
	struct sigaction fault = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct sigaction alarm = { .sa_handler = on_alarm };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(ALARM, &alarm, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Nothing that root may, and memory to lock as a user of RDMA has it. */
static void drop_privileges(void)
{
	struct rlimit memlock = { MEMLOCK, MEMLOCK }, core = { 0, 0 };

	setrlimit(RLIMIT_MEMLOCK, &memlock);
	setrlimit(RLIMIT_CORE, &core);
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(3);
	/* After the change of the user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* @size bytes that are there, so that no access to them fails; behind them nothing is. */
static uint8_t *memory(size_t size)
{
	uint8_t *at = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED || mprotect(at + size, PAGE, PROT_NONE))
		_exit(3);
	return at;
}

/* ---- threads --------------------------------------------------------------------------- */

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct life *life = w->life;
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = ALARM,
	};

	self = w;
	event._sigev_un._tid = syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &w->timer))
		_exit(3);
	w->rng = mix(mix(shared->seed, life->process), ~(life->next + w->index));
	if (!w->index && !life->bare) {
		side_begin(w, 0);
		side_begin(w, 1);
	}
	while (!look(life->over))
		step(w);
	return NULL;
}

/*
 * Changes the structure of a call under way, and what it points to.  Only a little, so that a
 * pointer does not lead to what the program needs.
 */
static void *scribbler_main(void *arg)
{
	struct life *life = arg;
	uint64_t rng = life->end;
	struct worker *w;
	uint8_t *at;

	for (;;) {
		sem_wait(&life->race);
		while ((w = look(life->racing))) {
			rng = mix(rng, 1);
			at = rng & 1 ? life->scribbled : w->payload;
			/* Whoever ends the race after the second look waits: end_race(). */
			__atomic_store_n(&life->scribbling, w, __ATOMIC_SEQ_CST);
			if (__atomic_load_n(&life->racing, __ATOMIC_SEQ_CST) == w)
				at[(rng >> 8) % (PAGE / 8) * 8] ^= rng >> 32;
			__atomic_store_n(&life->scribbling, NULL, __ATOMIC_SEQ_CST);
		}
	}
	return NULL;
}

static void *killer_main(void *arg)
{
	struct life *life = arg;

	sem_wait(&life->doom);
	raise(SIGKILL);
	return NULL;
}

/* ---- birth and death --------------------------------------------------------------------- */

static uint64_t fate(unsigned int process, uint64_t number)
{
	return mix(mix(shared->seed, process), ~number);
}

enum end life_end(unsigned int process, uint64_t number)
{
	unsigned int n = (fate(process, number) >> 8) % 100;

	return n < 40 ? END_KILL : n < 70 ? END_EXIT : END_CLOSE;
}

static struct life *born(unsigned int process, uint64_t number)
{
	struct life *life = calloc(1, sizeof(*life));
	uint64_t n = fate(process, number);
	unsigned int i;

	if (!life)
		_exit(3);
	life->process = process;
	life->next = number;
	life->end = (number / LIFE + 1) * LIFE;
	life->how = life_end(process, number);
	life->kill_at = number + (n >> 16) % LIFE;
	/* A third each alone, so that all it does can be had again */
	life->threads = 1 + (n >> 32) % THREADS;
	life->passthrough = (n >> 40) % 100 < 40;
	life->bare = (n >> 48) % 100 < 5;
	pthread_mutex_init(&life->lock, NULL);
	pthread_mutex_init(&life->map_lock, NULL);
	pthread_mutex_init(&life->verbs_lock, NULL);
	sem_init(&life->race, 0, 0);
	sem_init(&life->doom, 0, 0);
	life->scribbled = memory(PAGE);
	life->hole = memory(PAGE) + PAGE;
	for (i = 0; i < POLL_FDS; i++)
		life->poll_fds[i] = -1;
	life->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (i = 0; i < THREADS; i++) {
		life->workers[i].life = life;
		life->workers[i].index = i;
		life->workers[i].page = memory(PAGE);
		life->workers[i].payload = memory(PAYLOAD);
	}
	return life;
}

static void open_sides(struct life *life, const char *const ia_names[FILES])
{
	unsigned int i;

	for (i = 0; i < FILES; i++) {
		life->sides[i].ia_name = ia_names[i];
		life->sides[i].area = memory(AREA);
		life->sides[i].fd = -1;
		side_open(life, i);
		if (life->sides[i].fd < 0 && !look(shared->stop))
			_exit(4);
	}
	/* Without them a life is forwarded: allocations may fail. */
	if (life->passthrough && !verbs_open(life))
		life->passthrough = false;
}

static void close_all(struct life *life)
{
	unsigned int i;

	for (i = 0; i < MAPS; i++)
		if (life->maps[i].what != NO_MAP)
			munmap(life->maps[i].at, life->maps[i].size);
	for (i = 0; i < FILES; i++)
		close(life->sides[i].fd);
}

void life_main(unsigned int process, uint64_t number, const char *const ia_names[FILES])
{
	uint64_t born_us = clock_us(CLOCK_MONOTONIC);
	struct life *life;
	pthread_t thread;
	unsigned int i;

	drop_privileges();
	signals();
	life = born(process, number);
	open_sides(life, ia_names);
	account("birth", clock_us(CLOCK_MONOTONIC) - born_us, clock_us(CLOCK_PROCESS_CPUTIME_ID));
	pthread_create(&thread, NULL, scribbler_main, life);
	if (life->how == END_KILL)
		pthread_create(&thread, NULL, killer_main, life);
	for (i = 0; i < life->threads; i++)
		if (pthread_create(&life->workers[i].thread, NULL, worker_main,
				   &life->workers[i]))
			_exit(3);
	for (i = 0; i < life->threads; i++)
		pthread_join(life->workers[i].thread, NULL);
	if (life->how == END_KILL)
		raise(SIGKILL);
	if (life->how == END_CLOSE)
		close_all(life);
	_exit(0);
}
