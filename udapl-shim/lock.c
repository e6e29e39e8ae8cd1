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
 * The thread cannot know whether others sleep as well, so it leaves the lock
 * marked as contended. If it was the only one, its unlock makes one system call
 * that wakes nobody.
 */
void shim_lock_sleep(struct shim_lock *lock)
{
	while (atomic_exchange_explicit(&lock->state, SHIM_LOCK_CONTENDED,
					memory_order_acquire) != SHIM_LOCK_FREE)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE,
			SHIM_LOCK_CONTENDED, NULL, NULL, 0);
}

/*
 * shim_lock_wake - let one of the threads that sleep for a free lock try again
 */
void shim_lock_wake(struct shim_lock *lock)
{
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
