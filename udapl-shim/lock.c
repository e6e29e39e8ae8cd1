// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The slow half of struct shim_lock: threads that find a lock taken sleep in
 * the kernel (futex(2)) until it is released. The fast half is in shim.h.
 */
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
