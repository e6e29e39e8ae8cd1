// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * port.h for a process: threads and locks of POSIX, libdat.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "port.h"

void lock_init(struct lock *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

void lock(struct lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

void unlock(struct lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

void nap_us(u32 us)
{
	usleep(us);
}

/* One write each: several processes share the output. */
void vsay(const char *format, va_list args)
{
	char line[512];
	int n = vsnprintf(line, sizeof(line) - 1, format, args);

	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, n) != n)
		abort();
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsay(format, args);
	va_end(args);
}

void *mem_new(size_t size)
{
	return calloc(1, size);
}

void mem_free(void *mem)
{
	free(mem);
}

struct thread {
	pthread_t id;
	void (*run)(void *arg);
	void *arg;
};

static void *run(void *arg)
{
	struct thread *thread = arg;

	thread->run(thread->arg);
	return NULL;
}

struct thread *thread_start(void (*func)(void *arg), void *arg)
{
	struct thread *thread = mem_new(sizeof(*thread));

	if (!thread)
		abort();
	thread->run = func;
	thread->arg = arg;
	if (pthread_create(&thread->id, NULL, run, thread))
		abort();
	return thread;
}

void thread_join(struct thread *thread)
{
	pthread_join(thread->id, NULL);
	mem_free(thread);
}

DAT_RETURN port_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			   DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(ia, qlen, DAT_HANDLE_NULL, flags, evd);
}

DAT_RETURN port_evd_wait(DAT_EVD_HANDLE evd, u32 timeout, DAT_EVENT *event)
{
	DAT_COUNT more;

	return dat_evd_wait(evd, timeout, 1, event, &more);
}

DAT_RETURN port_lmr_create(DAT_IA_HANDLE ia, void *mem, size_t size,
			   DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights, DAT_LMR_HANDLE *lmr,
			   DAT_LMR_CONTEXT *context,
			   DAT_RMR_CONTEXT *rmr_context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem };

	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz,
			      rights, lmr, context, rmr_context,
			      NULL, NULL);
}
