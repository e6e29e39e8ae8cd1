/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the stress test needs of the place it runs in, a process or the kernel.
 * port_user.c, port_kernel.c.
 */
#ifndef STRESS_PORT_H
#define STRESS_PORT_H

#ifdef __KERNEL__
#include <linux/in.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <dat/kdat.h>

struct lock {
	struct mutex mutex;	/* of whatever has the lock in it */
};

/* A macro, so that lockdep knows locks of different places apart. */
#define lock_init(lock)	mutex_init(&(lock)->mutex)
#else
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <dat/udat.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct lock {
	pthread_mutex_t mutex;
};
#endif

/* Of whole words that several threads write; all sequentially consistent. */
#define load(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define add(p, v)	__atomic_add_fetch(p, v, __ATOMIC_SEQ_CST)
#define set_bits(p, v)	__atomic_fetch_or(p, v, __ATOMIC_SEQ_CST)
#define exchange(p, v)	__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define change(p, old, new)						\
	__atomic_compare_exchange_n(p, old, new, false,			\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#ifndef lock_init
void lock_init(struct lock *lock);
#endif
void lock(struct lock *lock);
void unlock(struct lock *lock);

u64 now_ms(void);
void nap_us(u32 us);
/* A line of the report */
void say(const char *format, ...) __printf(1, 2);
void vsay(const char *format, va_list args) __printf(1, 0);
void *mem_new(size_t size);
void mem_free(void *mem);
/* A thread that runs until @run returns; join waits for that. */
struct thread;
struct thread *thread_start(void (*run)(void *arg), void *arg);
void thread_join(struct thread *thread);

/* The calls that the two faces have under different names. */
DAT_RETURN port_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			   DAT_EVD_HANDLE *evd);
DAT_RETURN port_evd_wait(DAT_EVD_HANDLE evd, u32 timeout, DAT_EVENT *event);
DAT_RETURN port_lmr_create(DAT_IA_HANDLE ia, void *mem, size_t size,
			   DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights, DAT_LMR_HANDLE *lmr,
			   DAT_LMR_CONTEXT *context,
			   DAT_RMR_CONTEXT *rmr_context);

#endif /* STRESS_PORT_H */
