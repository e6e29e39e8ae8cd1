// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The slow half of struct shim_lock: threads that find a lock taken sleep in
 * the kernel (futex(2)) until it is released. The fast half is in shim.h. And
 * struct shim_news, by which a thread waits for what another one brings about.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

/*
 * shim_lock_sleep - take a lock that another thread has
 *
 * The thread counts as a sleeper until it has the lock, so that a thread that
 * releases the lock meanwhile wakes a sleeper. futex(2) returns at once if the
 * state is not the one that was read: then the lock may be free.
 */
void shim_lock_sleep(struct shim_lock *lock)
{
	uint32_t state = atomic_fetch_add(&lock->state, SHIM_LOCK_SLEEPER) +
			 SHIM_LOCK_SLEEPER;

	for (;;) {
		if (state & SHIM_LOCK_TAKEN) {
			syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE,
				state, NULL, NULL, 0);
			state = atomic_load(&lock->state);
		} else if (atomic_compare_exchange_weak(&lock->state, &state,
							state - SHIM_LOCK_SLEEPER +
							SHIM_LOCK_TAKEN)) {
			return;
		}
	}
}

/*
 * shim_lock_wake - let one of the threads that sleep for a free lock try again
 */
void shim_lock_wake(struct shim_lock *lock)
{
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* shim_object_wake - the same for the lock of an object; returns @ret */
uint32_t shim_object_wake(struct shim_object *obj, uint32_t ret)
{
	shim_lock_wake(&obj->lock);
	return ret;
}

/*
 * shim_await - sleep until another thread has brought something about
 * @news: who changes what @done looks at calls shim_wake() afterwards
 * @done: called before each sleep, and after the last one
 * @until: ns; UINT64_MAX: for ever
 *
 * A thread that sleeps here is not cancelled. Return: what @done has returned last.
 */
bool shim_await(struct shim_news *news, bool (*done)(void *arg), void *arg, uint64_t until)
{
	const struct timespec end = { until / 1000000000u, until % 1000000000u };
	bool is_done, late = false;
	uint32_t seen;

	atomic_fetch_add(&news->waiters, 1);
	for (;;) {
		seen = atomic_load(&news->count);
		is_done = done(arg);
		if (is_done || late)
			break;
		late = syscall(SYS_futex, &news->count, FUTEX_WAIT_BITSET_PRIVATE, seen,
			       until == UINT64_MAX ? NULL : &end, NULL,
			       FUTEX_BITSET_MATCH_ANY) && errno == ETIMEDOUT;
	}
	atomic_fetch_sub(&news->waiters, 1);
	return is_done;
}

/* shim_wake - have all who wait look again; any lock may be held */
void shim_wake(struct shim_news *news)
{
	/* ORDER: pairs with shim_await(): it sees what was changed before, or is seen here. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load(&news->waiters))
		return;
	atomic_fetch_add(&news->count, 1);
	syscall(SYS_futex, &news->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
