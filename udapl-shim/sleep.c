// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How a thread of the application sleeps in a wait: the clock, and signals, one of which ends the
 * wait (E38, E85); and threads of the library, which are to have no signals at all. Called by
 * pass_wait.c and cno.c, the clock by all who have a deadline, and pass_end.c.
 */
#include <errno.h>
#include <time.h>

#include "shim.h"

/* shim_now - ns since the boot */
uint64_t shim_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* shim_deadline - when so many microseconds are over; ns, UINT64_MAX: never */
uint64_t shim_deadline(DAT_TIMEOUT timeout)
{
	return timeout == DAT_TIMEOUT_INFINITE ? UINT64_MAX : shim_now() + timeout * 1000ull;
}

static void signals_hold(struct shim_sleep *sleep)
{
	sigset_t all;

	if (sleep->held)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &sleep->mask);
	sleep->held = true;
}

/*
 * shim_sleep - sleep until a descriptor is ready, a signal has been handled, or the time is over
 * @sleep: of this wait
 * @fds, @n: the descriptors
 * @most: ns, to sleep at most; UINT64_MAX: as long as the deadline allows
 *
 * Call it without a lock. Signals stay blocked until shim_sleep_end(), but for the sleeps.
 *
 * Return: as of ppoll(2), but the negative errno of a failure.
 */
int shim_sleep(struct shim_sleep *sleep, struct pollfd *fds, nfds_t n, uint64_t most)
{
	struct timespec limit;
	uint64_t now;
	int ready;

	if (sleep->deadline != UINT64_MAX) {
		now = shim_now();
		if (sleep->deadline <= now)
			most = 0;
		else if (sleep->deadline - now < most)
			most = sleep->deadline - now;
	}
	limit.tv_sec = most / 1000000000u;
	limit.tv_nsec = most % 1000000000u;
	signals_hold(sleep);
	ready = ppoll(fds, n, most == UINT64_MAX ? NULL : &limit, &sleep->mask);
	return ready < 0 ? -errno : ready;
}

/* shim_sleep_end - the wait is over: a signal that came between two sleeps is handled now */
void shim_sleep_end(struct shim_sleep *sleep)
{
	if (sleep->held)
		pthread_sigmask(SIG_SETMASK, &sleep->mask, NULL);
	sleep->held = false;
}

/* shim_name_thread - how the calling thread, which is the library's, shows in ps -L and top -H */
void shim_name_thread(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

/*
 * shim_thread - start a thread of the library, for which nobody waits
 * @stack: bytes of its stack; 0: as the program's own threads, for one that calls the program
 *
 * All signals are blocked in it, so that they go to the program's own threads. Return: false if no
 * thread could be made.
 */
bool shim_thread(void *(*run)(void *arg), void *arg, size_t stack, pthread_t *thread)
{
	pthread_attr_t attr;
	sigset_t all, old;
	bool made;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	made = !pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return made;
}
