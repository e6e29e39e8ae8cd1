/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the files of libdat share. An application calls dat_*; most calls look their handles up,
 * fill one structure of <rdma/kdapl.h>, make one ioctl on /dev/kdapl and return the kernel's
 * DAT_RETURN. For these the rules of DAT are kept in the kernel. In passthrough those of posts,
 * completions, memory, binds and shared receive queues are kept in pass_*.c, which has to agree
 * with the kernel's (Documentation/rules-by-mode.rst).
 *
 * Which file has what, from the call on, and in what the contracts of kdapl/face/kdat*.c are
 * different for an application is told in Documentation/overview.rst, The library, from call to
 * file; the files here only describe what is different for an application, and the calls that only
 * applications have (<dat/udat.h>). Locks: Documentation/locking.rst, The library.
 */
#ifndef SHIM_H
#define SHIM_H

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* The library exports what the headers of DAT declare, and nothing else. */
#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#pragma GCC visibility pop

#include "face.h"

#include <rdma/kdapl.h>
#include "calls.h"
#include "dat_private.h"
#include "ret.h"

#define SHIM_LIKELY(x)		__builtin_expect(!!(x), 1)
#define SHIM_UNLIKELY(x)	__builtin_expect(!!(x), 0)

/*
 * Makes the compiler forget what it knows about a pointer. Without this it keeps addresses at a
 * constant distance from the pointer in registers of their own, which the frequent calls would
 * have to save.
 */
#define SHIM_FORGET(ptr)	__asm__("" : "+r" (ptr))

/*
 * Does a word that another thread or the kernel may be writing hold @value? A load-acquire and a
 * comparison. On x86 one instruction does both. For an atomic load compilers make two of it, and
 * each of the frequent calls has several such comparisons.
 */
#ifdef __x86_64__
#define SHIM_HOLDS(type, suffix, word, value)					\
({										\
	bool holds_;								\
										\
	__asm__ __volatile__("cmp" suffix " %2, %1"				\
			     : "=@cce" (holds_)					\
			     : "m" (*(const type *)(word)), "re" (value)	\
			     : "memory");					\
	holds_;									\
})
#else
#define SHIM_HOLDS(type, suffix, word, value)					\
	(__atomic_load_n((const type *)(word), __ATOMIC_ACQUIRE) == (value))
#endif

static inline bool shim_byte_holds(const void *word, uint8_t value)
{
	return SHIM_HOLDS(uint8_t, "b", word, value);
}

static inline bool shim_holds(const void *word, uint32_t value)
{
	return SHIM_HOLDS(uint32_t, "l", word, value);
}

static inline bool shim_long_holds(const void *word, uint64_t value)
{
	return SHIM_HOLDS(uint64_t, "q", word, value);
}

/*
 * Adds one to a counter that other threads read, as a store-release. Only one thread at a time may
 * do so. One instruction on x86, as above.
 */
static inline void shim_count(atomic_uint_least32_t *counter)
{
#ifdef __x86_64__
	__asm__ __volatile__("incl %0" : "+m" (*(uint32_t *)counter) : : "memory");
#else
	atomic_store_explicit(counter,
			      atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_release);
#endif
}

/* The type of an object: 0 once it is dead, else its DAT_HANDLE_TYPE plus 1. */
#define LIVE(type)	((uint32_t)(type) + 1)
#define SHIM_IA		LIVE(DAT_HANDLE_TYPE_IA)
#define SHIM_PZ		LIVE(DAT_HANDLE_TYPE_PZ)
#define SHIM_LMR	LIVE(DAT_HANDLE_TYPE_LMR)
#define SHIM_RMR	LIVE(DAT_HANDLE_TYPE_RMR)
#define SHIM_EVD	LIVE(DAT_HANDLE_TYPE_EVD)
#define SHIM_EP		LIVE(DAT_HANDLE_TYPE_EP)
#define SHIM_PSP	LIVE(DAT_HANDLE_TYPE_PSP)
#define SHIM_RSP	LIVE(DAT_HANDLE_TYPE_RSP)
#define SHIM_CR		LIVE(DAT_HANDLE_TYPE_CR)
#define SHIM_CNO	LIVE(DAT_HANDLE_TYPE_CNO)
#define SHIM_SRQ	LIVE(DAT_HANDLE_TYPE_SRQ)

/**
 * struct shim_lock - a lock of one word
 * @state: SHIM_LOCK_TAKEN, plus SHIM_LOCK_SLEEPER for each thread that sleeps for it
 *
 * dat_evd_dequeue() takes and releases such a lock for every event. So taking and
 * releasing are inline, one atomic instruction and a jump each as long as no other
 * thread wants the lock; a pthread mutex costs several times that. Zeroed memory is
 * a free lock.
 */
struct shim_lock {
	atomic_uint_least32_t state;
};

#define SHIM_LOCK_TAKEN		1u
#define SHIM_LOCK_SLEEPER	2u

void shim_lock_sleep(struct shim_lock *lock);
void shim_lock_wake(struct shim_lock *lock);

/* Sets a bit, which takes no register on x86; a compare-and-exchange would take two. */
static inline bool shim_trylock(struct shim_lock *lock)
{
	return !(atomic_fetch_or_explicit(&lock->state, SHIM_LOCK_TAKEN,
					  memory_order_acquire) & SHIM_LOCK_TAKEN);
}

/*
 * Return: true if threads sleep for the lock, so that the caller has to wake one
 * (shim_lock_wake()). By then the memory of the lock may have been freed, by a thread that has
 * taken the lock meanwhile.
 */
static inline bool shim_lock_release(struct shim_lock *lock)
{
	return atomic_fetch_sub_explicit(&lock->state, SHIM_LOCK_TAKEN,
					 memory_order_release) != SHIM_LOCK_TAKEN;
}

static inline void shim_lock(struct shim_lock *lock)
{
	if (SHIM_UNLIKELY(!shim_trylock(lock)))
		shim_lock_sleep(lock);
}

static inline void shim_unlock(struct shim_lock *lock)
{
	if (SHIM_UNLIKELY(shim_lock_release(lock)))
		shim_lock_wake(lock);
}

/**
 * struct shim_news - by which threads that wait for something hear of changes
 * @count: of changes while somebody has waited
 * @waiters: threads in shim_await()
 */
struct shim_news {
	atomic_uint count;
	atomic_uint waiters;
};

bool shim_await(struct shim_news *news, bool (*done)(void *arg), void *arg, uint64_t until);
void shim_wake(struct shim_news *news);

/**
 * struct shim_sleep - one wait of a thread, which may sleep several times (sleep.c)
 * @deadline: ns; UINT64_MAX: none
 * @held, @mask: any wait may be woken for nothing, and must not lose a signal that comes between
 *	two sleeps. So signals are blocked from before the first sleep on (@held; @mask is what was
 *	blocked before), and ppoll(2) lets them in
 */
struct shim_sleep {
	uint64_t deadline;
	bool held;
	sigset_t mask;
};

uint64_t shim_now(void);
uint64_t shim_deadline(DAT_TIMEOUT timeout);
int shim_sleep(struct shim_sleep *sleep, struct pollfd *fds, nfds_t n, uint64_t most);
void shim_sleep_end(struct shim_sleep *sleep);
void shim_name_thread(const char *name);
bool shim_thread(void *(*run)(void *arg), void *arg, size_t stack, pthread_t *thread);

/**
 * struct shim_object - what a handle points to
 * @provider: the function table; DAT wants its address in the first word
 * @type: SHIM_IA ...; 0 when the object is dead
 * @hash_next: number of the next object in the hash chain of @token
 * @next_dead: number of the object that died after this one, while this one is dead
 * @lock: protects @body, and the ring in the body of an EVD; in passthrough more
 *	  (Documentation/locking.rst)
 * @token: the kernel's handle; 0 if the kernel does not know the object: a CNO, and
 *	   in passthrough an LMR or RMR. A dead object keeps it, because events that
 *	   name the object may still be queued
 * @ia: the IA it was made on; an IA points to itself
 * @context: consumer context
 * @body: what an object of this type needs besides, or NULL
 * @ops: the functions for the mode of its IA; not NULL if it is or was alive
 * @pass: its data for passthrough (struct pass_*), else NULL
 * @counters: those of face2/counters.c, once something was counted; they stay with the memory of
 *	      the object
 *
 * The memory of objects is never given back. So once a pointer is known to point to
 * an object it can be read, whatever has become of the object. Zeroed memory is a
 * dead object.
 */
struct shim_object {
	const DAT_PROVIDER *provider;
	atomic_uint_least32_t type;
	atomic_uint_least32_t hash_next;
	uint32_t next_dead;
	struct shim_lock lock;
	atomic_uint_least64_t token;
	struct shim_object *_Atomic ia;
	atomic_uint_least64_t context;
	void *body;
	const struct shim_ops *ops;
	/* struct pass_ia, pass_evd, pass_ep and so on, as @type says */
	void *_Atomic pass;
	atomic_uint_least64_t *_Atomic counters;
} __attribute__((aligned(128)));

uint32_t shim_object_wake(struct shim_object *obj, uint32_t ret);

/*
 * Unlocks an object and returns @ret. It is for the end of a frequent call: waking a thread is the
 * last thing that is done, so the caller need not keep anything across it.
 */
static inline uint32_t shim_object_unlock(struct shim_object *obj, uint32_t ret)
{
	if (SHIM_UNLIKELY(shim_lock_release(&obj->lock)))
		return shim_object_wake(obj, ret);
	return ret;
}

_Static_assert(sizeof(struct shim_object) == 128, "objects are found by shifts");
_Static_assert(offsetof(struct shim_object, provider) == 0, "DAT_HANDLE_TO_PROVIDER");

struct shim_evd;
struct shim_lmr;

/**
 * struct shim_request - a request that DAT 1.2 does not have (post_extension)
 * @op: KDAPL_OP_RDMA_WRITE_IMMED, ...
 * @segments, @iov, @cookie, @remote, @flags: as those of dat_ep_post_rdma_write(); @remote is not
 *	null, and of a send all zero; @iov of a KDAPL_OP_RDMA_READ_TO_RMR has an rmr_context
 * @operand, @compare: as in struct kdapl_uapi_dto_more
 */
struct shim_request {
	uint32_t op;
	DAT_COUNT segments;
	const DAT_LMR_TRIPLET *iov;
	uint64_t cookie;
	const DAT_RMR_TRIPLET *remote;
	uint32_t flags;
	uint64_t operand;
	uint64_t compare;
};

/* Calls about service points, which are the same in all modes, for whoever counts them */
enum shim_sp_call {
	SHIM_PSP_CREATE, SHIM_PSP_CREATE_ANY, SHIM_PSP_FREE, SHIM_RSP_CREATE, SHIM_RSP_FREE,
	SHIM_CR_REJECT,
};

/**
 * struct shim_ops - the functions that differ by the mode of an IA
 *
 * The callers have looked their handles up, and have filled in the structure for the
 * kernel. Functions that return a number return the DAT_RETURN of their dat_* call,
 * except @evd_queued. There are two tables, shim_forwarded and shim_passthrough, and for an IA that
 * counts, or with DAT_DEBUG, one made from them (shim_ops_over()). All that differs by the mode is
 * here; the rest of the library looks at the mode only to show it.
 *
 * @name, @passthrough: the mode
 * @counts: the object has counters (face2/counters.c)
 * @sp_called: of an IA that counts: a call about service points has succeeded; else NULL
 * @plain: in a table that counts, the one that it was made from
 * @quiet: in a table for DAT_DEBUG, the one that it was made from
 * @pz_made: the kernel has made the zone; after a failure the caller undoes that
 * @pz_free: dat_pz_free, but the caller kills the handle
 * @lmr_create: dat_lmr_create; gives *@lmr the body @body
 * @lmr_query, @rmr_query: fill the structure as the kernel does
 * @lmr_free, @rmr_free: dat_lmr_free and dat_rmr_free, but the caller kills the handle
 * @lmr_sync: dat_lmr_sync_* of one batch of segments
 * @rmr_create, @rmr_bind: as the dat_* calls
 * @evd_made: the EVD has got its body; after a failure the caller undoes that
 * @evd_gone: the EVD's body is about to be freed, and no other thread finds it
 * @evd_poll_fd: makes @body->poll_fd, which a CNO watches; the EVD is locked
 * @evd_rearm: a CNO is about to rely on that descriptor; the EVD is locked
 * @evd_notifies: the descriptor was readable: is an event there that triggers the CNO? The
 *	CNO is locked, and the EVD is not
 * @evd_queued: number of events in the EVD, or 0 where the kernel counts them all by itself; the
 *	EVD is locked
 * @evd_dequeue: dat_evd_dequeue; makes the checks of shim_evd_check() with the EVD locked
 * @evd_wait: dat_evd_wait of an EVD that is locked; unlocks it
 * @evd_set_waitable: tells the kernel, or the waiters in the library; the EVD is locked
 * @ep_made: the kernel has made the EP; after a failure the caller undoes that
 * @ep_modify, @ep_connect, @ep_dup_connect, @cr_accept, @ep_disconnect, @ep_reset: the
 *	ioctl, and what has to be done besides; @cr_accept's @ep is the EP of the connection,
 *	or NULL if the library does not know it
 * @ep_free: the same for dat_ep_free, but the caller kills the handle
 * @ep_gone: the kernel has destroyed the EP without dat_ep_free
 * @ep_status: dat_ep_get_status
 * @ep_recv_query: dat_ep_recv_query, fills the structure
 * @srq_made: the kernel has made the SRQ; after a failure the caller undoes that
 * @srq_free: dat_srq_free, but the caller kills the handle
 * @srq_post_recv, @srq_resize, @srq_set_lw: as the dat_* calls
 * @srq_query: fills the structure as the kernel does
 * @ia_closing: the kernel has closed the IA, whose handle is dead and whose objects are
 *	about to die
 * @ia_closed: the objects of the IA are dead
 * @post_send, @post_recv, @post_read, @post_write: as the dat_* calls
 * @post_extension: a request that DAT 1.2 does not have. The places of arguments in the code that
 *	it returns are those of dat_ep_post_rdma_write()
 */
struct shim_ops {
	const char *name;
	bool passthrough;
	bool counts;
	void (*sp_called)(struct shim_object *ia, enum shim_sp_call call);
	const struct shim_ops *plain;
	const struct shim_ops *quiet;
	uint32_t (*pz_made)(struct shim_object *pz);
	uint32_t (*pz_free)(struct shim_object *pz);
	uint32_t (*lmr_create)(struct kdapl_uapi_lmr_create *arg,
			       struct shim_object *pz, struct shim_lmr *body,
			       struct shim_object **lmr);
	uint32_t (*lmr_query)(struct shim_object *lmr,
			      struct kdapl_uapi_lmr_query *arg);
	uint32_t (*lmr_free)(struct shim_object *lmr);
	uint32_t (*lmr_sync)(struct shim_object *ia,
			     struct kdapl_uapi_lmr_sync *arg);
	uint32_t (*rmr_create)(struct shim_object *pz, struct shim_object **rmr);
	uint32_t (*rmr_query)(struct shim_object *rmr,
			      struct kdapl_uapi_rmr_query *arg);
	uint32_t (*rmr_bind)(struct shim_object *rmr, struct shim_object *ep,
			     struct kdapl_uapi_rmr_bind *arg);
	uint32_t (*rmr_free)(struct shim_object *rmr);
	uint32_t (*evd_made)(struct shim_object *evd);
	void (*evd_gone)(struct shim_object *evd, struct shim_evd *body);
	uint32_t (*evd_poll_fd)(struct shim_object *evd, struct shim_evd *body);
	void (*evd_rearm)(struct shim_object *evd);
	bool (*evd_notifies)(struct shim_object *evd);
	uint32_t (*evd_queued)(struct shim_object *evd);
	uint32_t (*evd_dequeue)(struct shim_object *evd, DAT_EVENT *event);
	uint32_t (*evd_wait)(struct shim_object *evd,
			     struct kdapl_uapi_evd_wait *arg, DAT_EVENT *event,
			     DAT_COUNT *more);
	uint32_t (*evd_set_waitable)(struct shim_object *evd, bool waitable);
	uint32_t (*ep_made)(struct shim_object *ep);
	uint32_t (*ep_modify)(struct shim_object *ep,
			      struct kdapl_uapi_ep_param *arg);
	uint32_t (*ep_connect)(struct shim_object *ep,
			       struct kdapl_uapi_ep_connect *arg);
	uint32_t (*ep_dup_connect)(struct shim_object *ep,
				   struct kdapl_uapi_ep_dup_connect *arg);
	uint32_t (*cr_accept)(struct shim_object *ep,
			      struct kdapl_uapi_cr_accept *arg);
	uint32_t (*ep_disconnect)(struct shim_object *ep, uint32_t flags);
	uint32_t (*ep_reset)(struct shim_object *ep);
	uint32_t (*ep_free)(struct shim_object *ep);
	void (*ep_gone)(struct shim_object *ep);
	uint32_t (*ep_status)(struct shim_object *ep,
			      struct kdapl_uapi_ep_get_status *arg);
	uint32_t (*ep_recv_query)(struct shim_object *ep,
				  struct kdapl_uapi_ep_recv_query *arg);
	uint32_t (*srq_made)(struct shim_object *srq,
			     const struct kdapl_uapi_srq_create *arg);
	uint32_t (*srq_free)(struct shim_object *srq);
	uint32_t (*srq_post_recv)(struct shim_object *srq, DAT_COUNT segments,
				  const DAT_LMR_TRIPLET *iov, uint64_t cookie);
	uint32_t (*srq_query)(struct shim_object *srq,
			      struct kdapl_uapi_srq_query *arg);
	uint32_t (*srq_resize)(struct shim_object *srq, DAT_COUNT count);
	uint32_t (*srq_set_lw)(struct shim_object *srq, DAT_COUNT count);
	void (*ia_closing)(struct shim_object *ia);
	void (*ia_closed)(struct shim_object *ia);
	uint32_t (*post_send)(struct shim_object *ep, DAT_COUNT segments,
			      const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			      uint32_t flags);
	uint32_t (*post_recv)(struct shim_object *ep, DAT_COUNT segments,
			      const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			      uint32_t flags);
	uint32_t (*post_read)(struct shim_object *ep, DAT_COUNT segments,
			      const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			      const DAT_RMR_TRIPLET *remote, uint32_t flags);
	uint32_t (*post_write)(struct shim_object *ep, DAT_COUNT segments,
			       const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			       const DAT_RMR_TRIPLET *remote, uint32_t flags);
	uint32_t (*post_extension)(struct shim_object *ep, const struct shim_request *request);
};

extern const struct shim_ops shim_forwarded, shim_passthrough;

/* handle.c */

/*
 * Where the objects lie: a range of addresses whose size is a power of two, and which begins at a
 * multiple of its size. An address is that of an object if its bits in @mask are those of @base.
 * Before the range is reserved that is true for no address. Both words are written once, before
 * the first handle is made. A thread that checks a made-up handle at that moment may still see
 * the former value of one or both, by which the handle is bad as well (handle.c).
 */
extern struct shim_table {
	uintptr_t base;
	uintptr_t mask;
} shim_table __attribute__((visibility("hidden")));

/* Does a handle point to an object of this library, live or dead? */
static inline bool shim_points_to_object(DAT_HANDLE handle)
{
	return SHIM_LIKELY(((uintptr_t)handle & shim_table.mask) == shim_table.base);
}

/* Is an object alive, and of that type? */
static inline bool shim_lives(const struct shim_object *obj, uint32_t type)
{
	return shim_holds(&obj->type, type);
}

/*
 * Does a handle name an object that is alive and of that type? The handle may be any value, since
 * it is not followed before it is known to point to an object (E5).
 */
static inline bool shim_names(DAT_HANDLE handle, uint32_t type)
{
	return shim_points_to_object(handle) && shim_lives(handle, type);
}

/* The object that a handle names, or NULL. */
static inline struct shim_object *shim_find(DAT_HANDLE handle, uint32_t type)
{
	return shim_names(handle, type) ? handle : NULL;
}

static inline uint64_t shim_token(const struct shim_object *obj)
{
	return atomic_load_explicit(&obj->token, memory_order_relaxed);
}

/*
 * Is @obj still the object that was looked up? It may have died since then, and
 * its memory may have become another object.
 */
static inline bool shim_is(const struct shim_object *obj, uint32_t type,
			   uint64_t token)
{
	return atomic_load_explicit(&obj->type, memory_order_relaxed) == type &&
	       shim_token(obj) == token;
}

/*
 * The hash from tokens to objects: for each bucket the number of its first
 * object. Numbers start at 1; 0 means none.
 */
#define SHIM_HASH_BITS	15
extern atomic_uint_least32_t shim_table_heads[1 << SHIM_HASH_BITS];

static inline atomic_uint_least32_t *shim_table_head(uint64_t token)
{
	return &shim_table_heads[token * 0x9e3779b97f4a7c15u >>
				 (64 - SHIM_HASH_BITS)];
}

static inline struct shim_object *shim_object_nr(uint32_t nr)
{
	return (struct shim_object *)shim_table.base + (nr - 1);
}

struct shim_object *shim_table_search(uint64_t token);

/*
 * The object of a token, live or dead, or NULL. Unless the process has many
 * thousands of objects, it is nearly always the first in its bucket.
 */
static inline struct shim_object *shim_by_token(uint64_t token)
{
	uint32_t nr = atomic_load_explicit(shim_table_head(token),
					   memory_order_acquire);

	if (SHIM_LIKELY(nr && shim_token(shim_object_nr(nr)) == token))
		return shim_object_nr(nr);
	return shim_table_search(token);
}

/*
 * The handle that the consumer gets for a token of the kernel: null for 0, and
 * for an object that has been dead so long that another one has its memory.
 */
static inline DAT_HANDLE shim_handle(uint64_t token)
{
	return shim_by_token(token);
}

struct shim_object *shim_object_get(uint64_t token, uint32_t type,
				    struct shim_object *ia, bool *made);
struct shim_object *shim_object_new(uint32_t type, struct shim_object *ia,
				    void *body);
bool shim_object_dress(struct shim_object *obj, uint32_t type, uint64_t token,
		       void *body);
bool shim_object_hide(struct shim_object *obj);
void shim_object_bury(struct shim_object *obj);
void shim_object_kill(struct shim_object *obj);
void *shim_object_end(struct shim_object *obj);
void shim_for_each(struct shim_object *ia,
		   void (*func)(struct shim_object *obj, void *arg), void *arg);
void *shim_reserve(size_t size);
void shim_table_lock(void);
void shim_table_unlock(void);
void shim_table_child(void);

/* dev.c */

/* The descriptor of /dev/kdapl, -1 while it is closed. */
extern atomic_int shim_dev_fd;

int shim_dev_open(void);
uint64_t shim_dev_features(void);
bool shim_no_room(int err);

/*
 * A call opens at most so many descriptors. So if one has failed without saying why, and fewer are
 * left, that may be the reason (shim_few_descriptors()).
 */
#define SHIM_CALL_DESCRIPTORS	4

bool shim_few_descriptors(int number);
DAT_RETURN shim_ioctl_failed(DAT_RETURN fault);

static inline int shim_fd(void)
{
	return atomic_load_explicit(&shim_dev_fd, memory_order_relaxed);
}

/*
 * Makes an ioctl and returns the DAT_RETURN that the kernel left in the first
 * word of its structure, as the version of DAT has it. @fault: what to return if the
 * kernel could not use a pointer or a number that the consumer gave (EFAULT, EINVAL)
 */
static inline DAT_RETURN shim_ioctl(unsigned long cmd, void *arg,
				    DAT_RETURN fault)
{
	if (ioctl(shim_fd(), cmd, arg))
		return shim_ioctl_failed(fault);
	return face_ret(*(const uint32_t *)arg);
}

/**
 * struct shim_fd - a descriptor that a forked child must not keep
 * @fd: -1 if there is none
 * @next: in the list of all that are open
 * @link: the pointer in that list that points here
 */
struct shim_fd {
	int fd;
	struct shim_fd *next;
	struct shim_fd **link;
};

void shim_fds_lock(void);
void shim_fds_unlock(void);
bool shim_fd_keep(struct shim_fd *fd, int number);
void shim_fd_forget(struct shim_fd *fd);
void shim_fd_close(struct shim_fd *fd);

DAT_RETURN shim_handle_call(unsigned long cmd, const struct shim_object *obj);
DAT_RETURN shim_flags_call(unsigned long cmd, const struct shim_object *obj,
			   uint32_t flags);

/*
 * The token of an argument that may be null, which gives 0. Return: false for a
 * bad handle
 */
static inline bool shim_optional(DAT_HANDLE handle, uint32_t type,
				 uint64_t *token)
{
	struct shim_object *obj;

	*token = 0;
	if (handle == DAT_HANDLE_NULL)
		return true;
	obj = shim_find(handle, type);
	if (obj)
		*token = shim_token(obj);
	return obj;
}

/* ring.c */

/**
 * struct shim_ring - the event ring of an EVD, as mapped from the kernel
 * @header: what the kernel writes besides events; if nothing could be mapped, a
 *	    header of the library's own that says: empty, ask the kernel
 * @events: the slots
 * @index: the page from which the kernel reads how many events were taken
 * @consumer: how many events were taken; also written to @index
 * @no_flags: 0; @consumer and this are compared with the first two words of
 *	      @header at once (shim_ring_is_idle())
 * @mask: number of slots less one
 * @patience: how many more looks may find nothing before the kernel is asked
 * @where: what to map, as the kernel described it
 *
 * Protected by the lock of the EVD.
 */
struct shim_ring {
	const struct kdapl_uapi_ring_header *header;
	const struct kdapl_uapi_event *events;
	struct kdapl_uapi_ring_index *index;
	uint32_t consumer;
	uint32_t no_flags;
	uint32_t mask;
	uint32_t patience;
	struct kdapl_uapi_ring where;
};

void shim_ring_map(struct shim_ring *ring, const struct kdapl_uapi_ring *where);
void shim_ring_unmap(struct shim_ring *ring);
bool shim_ring_mapped(const struct shim_ring *ring);
uint32_t shim_ring_count(struct shim_ring *ring, uint64_t evd);

/*
 * A thread that polls asks the kernel after it has found the ring empty this many
 * times, which costs about as much as the one system call. A completion may be
 * waiting for a softirq that is late, for instance because its processor is busy;
 * the call runs the softirq.
 */
#define SHIM_RING_PATIENCE	32

/* For fields of the ABI, which are plain integers, not C11 atomics */
static inline uint32_t shim_load_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* How many events are in the ring now. */
static inline uint32_t shim_ring_filled(const struct shim_ring *ring)
{
	return shim_load_acquire(&ring->header->producer) - ring->consumer;
}

/* May there be events in the kernel that are not in the ring? */
static inline bool shim_ring_more(const struct shim_ring *ring)
{
	return shim_load_acquire(&ring->header->flags) & KDAPL_RING_MORE;
}

/* Are there events in the ring, or may there be some in the kernel that are not in the ring? */
static inline bool shim_ring_has(const struct shim_ring *ring)
{
	return shim_ring_filled(ring) || shim_ring_more(ring);
}

/* Two words of 32 bits in one load */
typedef uint64_t __attribute__((may_alias)) shim_two_words;

_Static_assert(offsetof(struct kdapl_uapi_ring_header, producer) == 0 &&
	       offsetof(struct kdapl_uapi_ring_header, flags) == 4 &&
	       offsetof(struct shim_ring, no_flags) == offsetof(struct shim_ring, consumer) + 4,
	       "shim_ring_is_idle() compares two words at once");

/*
 * Are there no events in the ring, and no flags? Flags other than KDAPL_RING_MORE do not mean that
 * there are events, but they are rare, so they need not be told apart here.
 */
static inline bool shim_ring_is_idle(const struct shim_ring *ring)
{
	return __atomic_load_n((const shim_two_words *)ring->header, __ATOMIC_ACQUIRE) ==
	       *(const shim_two_words *)&ring->consumer;
}

/*
 * The oldest event of a ring that is not empty; it stays until shim_ring_pop().
 */
static inline const struct kdapl_uapi_event *
shim_ring_first(const struct shim_ring *ring)
{
	return &ring->events[ring->consumer & ring->mask];
}

/* Gives the slot of the oldest event back to the kernel, after it was read. */
static inline void shim_ring_pop(struct shim_ring *ring)
{
	ring->patience = SHIM_RING_PATIENCE;
	__atomic_store_n(&ring->index->consumer, ++ring->consumer,
			 __ATOMIC_RELEASE);
}

/*
 * The ring was found empty: should the kernel be asked whether it has events?
 */
static inline bool shim_ring_ask(struct shim_ring *ring)
{
	return SHIM_UNLIKELY(!--ring->patience ||
			     shim_load_acquire(&ring->header->flags) &
			     KDAPL_RING_MORE);
}

bool shim_ring_take(struct shim_ring *ring, uint64_t evd,
		    struct kdapl_uapi_event *event);

/* The bodies of objects: what the library keeps of each type */

/**
 * struct shim_local - an address of the port of an IA, to which events point
 * @next: the next one of the same IA
 * @address: with port 0
 */
struct shim_local {
	struct shim_local *next;
	struct sockaddr_storage address;
};

/**
 * struct shim_ia - the body of an IA
 * @extensions: KDAPL_EXT_*, what the device can besides
 * @address: what ia_address_ptr points to
 * @locals: addresses at which connection requests have come
 * @async_evd: the asynchronous EVD that dat_ia_open() gave or was given
 * @name: the name of dat.conf by which it was opened; NULL if that is the kernel's name
 */
struct shim_ia {
	uint32_t extensions;
	struct sockaddr_storage address;
	struct shim_local *locals;
	DAT_EVD_HANDLE async_evd;
	const char *name;
};

/**
 * struct shim_lmr - the body of an LMR
 * @region: what dat_lmr_query has to show
 * @context: the number of the LMR in segments of posts
 * @cookie: what its shared_memory_id points to
 */
struct shim_lmr {
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT context;
	char cookie[DAT_LMR_COOKIE_SIZE];
};

/**
 * struct shim_evd - the body of an EVD
 * @ring: its events
 * @waiter: a thread is in dat_evd_wait (E36)
 * @unwaitable: dat_evd_set_unwaitable was called last (E26)
 * @clear_late: dat_evd_clear_unwaitable was called while a thread was still
 *		waiting, which has to return with an error; that thread will tell
 *		the kernel that the EVD is waitable again
 * @disabled: dat_evd_disable was called last (E23)
 * @withheld: events arrived that did not trigger the CNO, since the waiter was
 *	      going to take them; cleared when the waiter gets an event, or when
 *	      the CNO is told after all
 * @poll_fd: descriptor by which the CNO learns of events; made when the EVD
 *	     first gets a CNO
 * @cno: its CNO or NULL
 * @async: it takes asynchronous events
 */
struct shim_evd {
	struct shim_ring ring;
	bool waiter;
	bool unwaitable;
	bool clear_late;
	bool disabled;
	bool withheld;
	bool async;
	struct shim_fd poll_fd;
	struct shim_object *cno;
};

/**
 * struct shim_ep - the body of an EP: memory behind pointers that the consumer
 * has
 * @local: what dat_ep_query's local_ia_address_ptr points to
 * @remote: the same for the remote one
 * @private_data: what came with ESTABLISHED, kept until the EP is reset or freed (E7)
 * @provider_made: the kernel made the EP for a request that has not been
 *	   accepted; it is freed when the request is rejected (P71)
 */
struct shim_ep {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	void *private_data;
	bool provider_made;
};

/* No transport has more private data. */
#define SHIM_PRIVATE_DATA	512

/**
 * struct shim_cr - the body of a CR
 * @remote: what dat_cr_query's remote_ia_address_ptr points to
 * @local_ep: kernel handle of the EP that the request is for, or 0
 * @private_data: what dat_cr_query's private_data points to
 */
struct shim_cr {
	struct sockaddr_storage remote;
	uint64_t local_ep;
	char private_data[SHIM_PRIVATE_DATA];
};

/* cmd_ia.c */
bool shim_addr_in(struct kdapl_uapi_addr *to, const struct sockaddr *from);
void shim_addr_out(struct sockaddr_storage *to,
		   const struct kdapl_uapi_addr *from);

/* The token of the IA or PZ of an object, for queries that the library answers. */
static inline uint64_t shim_token_or_null(const struct shim_object *obj)
{
	return obj ? shim_token(obj) : 0;
}

/* cmd_evd.c */
DAT_RETURN shim_evd_object(uint64_t token, struct shim_object *ia, DAT_EVD_FLAGS flags,
			   const struct kdapl_uapi_ring *ring,
			   struct shim_object **evd);
void shim_evd_body_free(struct shim_object *evd);

/* May an event of the EVD be taken now? The EVD is locked. */
static inline DAT_RETURN shim_evd_check(const struct shim_object *evd,
					const DAT_EVENT *event)
{
	const struct shim_evd *body = evd->body;

	if (SHIM_UNLIKELY(!shim_lives(evd, SHIM_EVD) || !body))
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (SHIM_UNLIKELY(!event))
		return RET_BAD_ARG(2);
	return SHIM_UNLIKELY(body->waiter) ? RET_BAD_STATE(EVD_WAITER) : DAT_SUCCESS;
}

/* cmd_mem.c, cmd_rmr.c, cmd_sp.c: what own_*() of face1/face.c and face2/face.c is made of */
DAT_RETURN shim_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address, DAT_RETURN more);
bool shim_lmr_context(DAT_LMR_HANDLE lmr_handle, DAT_LMR_CONTEXT *context);
DAT_RETURN shim_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			 DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *context, DAT_RETURN more);
DAT_RETURN shim_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const void *private_data);

/* cmd_ep.c */
struct shim_ep *shim_ep_body(struct shim_object *ep);
void shim_ep_end(struct shim_object *ep);
struct shim_object *shim_ep_seen(uint64_t token, struct shim_object *ia);

/* Makes the DAT_EVENT of a completion; inline because every transfer needs it. */
static inline void shim_dto_event(struct shim_object *evd,
				  const struct kdapl_uapi_dto_event *from,
				  DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *to =
		&event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	to->ep_handle = shim_handle(from->ep);
	to->user_cookie.as_64 = from->cookie;
	to->status = from->status;
	to->transfered_length = face_length(from->length);
	face_dto(to, from->operation, from->rmr_context);
}

/* mode.c */
enum shim_mode {
	SHIM_MODE_FORWARDED,
	SHIM_MODE_PASSTHROUGH,
	SHIM_MODE_AUTO,
};

struct shim_record;
enum shim_mode shim_mode_asked(const struct shim_record *record, const char **asked_by);
void shim_mode_refused(const char *ia_name, const char *asked_by, const char *why);
bool shim_mode_parse(const char *word, size_t length, enum shim_mode *mode);
bool shim_counts_asked(const struct shim_record *record);
const struct shim_ops *shim_ops_over(const struct shim_ops *ops, struct shim_ops *_Atomic *made,
				     void (*change)(struct shim_ops *over,
						    const struct shim_ops *ops));

/* pass_ia.c */
void shim_pass_child(void);
DAT_RETURN shim_pass_open(struct shim_object *ia, const char *ia_name,
			  enum shim_mode mode, const char *asked_by);

/* event.c */
void shim_event(struct shim_object *evd, const struct kdapl_uapi_event *from,
		DAT_EVENT *event);

/* cno.c */
DAT_RETURN shim_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent, int *fd,
			   DAT_CNO_HANDLE *cno_handle);
DAT_RETURN shim_cno_attach(struct shim_object *evd, struct shim_object *cno);
void shim_cno_collect(struct shim_object *evd);
void shim_cno_detach(struct shim_object *evd, struct shim_evd *body);
DAT_RETURN shim_cno_enable(struct shim_object *evd, bool enable);
void shim_cno_tell(struct shim_object *evd);
bool shim_cno_left(struct shim_object *ia);
void shim_cno_end(struct shim_object *cno);
void shim_cno_close(struct shim_object *cno);

/* registry.c */
const DAT_PROVIDER *shim_other(DAT_HANDLE handle);
DAT_IA_HANDLE shim_ia_shown(uint64_t token);
DAT_BOOLEAN shim_ia_safety(const struct shim_object *ia, DAT_BOOLEAN own);
void shim_registry_lock(void);
void shim_registry_unlock(void);
void shim_registry_child(void);

/* debug.c */
bool shim_debugging(void);
void shim_say(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));
void shim_why(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));
void shim_why_theirs(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));
DAT_RETURN shim_failed(const char *call, const char *params, DAT_RETURN ret)
	__attribute__((cold));
DAT_RETURN shim_refused(const char *call, const char *params, DAT_RETURN ret, ...)
	__attribute__((cold));
DAT_RETURN shim_open_failed(const char *name, DAT_RETURN ret) __attribute__((cold));
DAT_RETURN shim_no_remote(const char *call) __attribute__((cold));
const struct shim_ops *shim_loud(const struct shim_ops *ops);

/* provider.c */
extern const DAT_PROVIDER shim_provider;

#endif /* SHIM_H */
