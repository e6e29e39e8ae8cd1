/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libdat, from the inside: applications call dat_*, each call looks its handles
 * up, fills one structure of <rdma/kdapl.h>, makes one ioctl on /dev/kdapl and
 * gives the kernel's DAT_RETURN back. All rules of DAT are the kernel's; the
 * library adds what a process needs: handles that are pointers, memory behind
 * the pointers of events and queries, the mapped event ring, and CNOs.
 *
 *	handle.c	handles: the table of objects, kernel token to object
 *	lock.c		the lock of an object
 *	dev.c		the device file: open, version, fork, errno
 *	ring.c		the mapped event ring of an EVD
 *	event.c		kernel event to DAT_EVENT
 *	cmd_*.c		the calls, a file a family; post.c: data transfer
 *	cno.c		CNOs, a wait over several EVDs
 *	provider.c	the function table that every handle points to
 *
 * Locks, outer to inner: an object's lock; the table's lock (handle.c) or that
 * of descriptors (dev.c). The device's lock (dev.c) is outside all. No two
 * objects are locked at a time, except a CNO outside an EVD.
 */
#ifndef SHIM_H
#define SHIM_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* What the headers of DAT declare is what the library exports. */
#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#pragma GCC visibility pop

#include <rdma/kdapl.h>
#include "dat_private.h"
#include "ret.h"

#define SHIM_LIKELY(x)		__builtin_expect(!!(x), 1)
#define SHIM_UNLIKELY(x)	__builtin_expect(!!(x), 0)

/* An object is dead (0) or of a DAT_HANDLE_TYPE. */
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
#define SHIM_MAX	LIVE(DAT_HANDLE_TYPE_SRQ)

/**
 * struct shim_lock - a lock of one word
 * @state: see below
 *
 * Taking one that is free and releasing one that nobody waits for is one atomic
 * instruction each, written into the caller: dat_evd_dequeue() does both for
 * every event. All zero is a free lock.
 */
struct shim_lock {
	atomic_uint_least32_t state;
};

enum {
	SHIM_LOCK_FREE,
	SHIM_LOCK_TAKEN,
	SHIM_LOCK_CONTENDED,	/* taken, and there may be sleepers */
};

void shim_lock_sleep(struct shim_lock *lock);
void shim_lock_wake(struct shim_lock *lock);

static inline void shim_lock(struct shim_lock *lock)
{
	uint32_t state = SHIM_LOCK_FREE;

	if (SHIM_UNLIKELY(!atomic_compare_exchange_strong_explicit(
			&lock->state, &state, SHIM_LOCK_TAKEN,
			memory_order_acquire, memory_order_relaxed)))
		shim_lock_sleep(lock);
}

static inline void shim_unlock(struct shim_lock *lock)
{
	if (SHIM_UNLIKELY(atomic_exchange_explicit(&lock->state, SHIM_LOCK_FREE,
						   memory_order_release) ==
			  SHIM_LOCK_CONTENDED))
		shim_lock_wake(lock);
}

/**
 * struct shim_object - what a handle points to
 * @provider: the first word, as DAT wants it
 * @type: 0 when dead
 * @hash_next: the chain of @token's bucket
 * @next_dead: the queue of dead objects
 * @lock: protects @body, and an EVD's ring
 * @token: the kernel's handle; stays when the object dies, for events that are
 *	   still queued
 * @ia: the object of its IA; an IA's own is itself
 * @context: consumer context
 * @body: what this type needs besides, or NULL
 *
 * Objects lie in memory that is never given back, so any pointer can be looked
 * at once it is known to be one of theirs. All zero is a dead object.
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
} __attribute__((aligned(128)));

_Static_assert(sizeof(struct shim_object) == 128, "objects are found by shifts");
_Static_assert(offsetof(struct shim_object, provider) == 0, "DAT_HANDLE_TO_PROVIDER");

/* handle.c */

/*
 * Where the objects lie; written by handle.c. The first @size bytes from @base
 * are accessible.
 */
extern struct shim_table {
	_Atomic uintptr_t base;
	_Atomic size_t size;
} shim_table;

/* Does a handle point to an object of ours, dead or not? */
static inline bool shim_points_to_object(DAT_HANDLE handle)
{
	/* ORDER: a size that is not 0 comes with its base, see table_grow() */
	size_t size = atomic_load_explicit(&shim_table.size,
					   memory_order_acquire);
	uintptr_t base = atomic_load_explicit(&shim_table.base,
					      memory_order_relaxed);
	uintptr_t offset = (uintptr_t)handle - base;

	return SHIM_LIKELY(offset < size &&
			   !(offset % sizeof(struct shim_object)));
}

/* Is it alive, and of that type? */
static inline bool shim_lives(const struct shim_object *obj, uint32_t type)
{
	return atomic_load_explicit(&obj->type, memory_order_acquire) == type;
}

/* The live object of a type, or NULL; never faults (E5). */
static inline struct shim_object *shim_find(DAT_HANDLE handle, uint32_t type)
{
	return shim_points_to_object(handle) && shim_lives(handle, type) ?
	       handle : NULL;
}

static inline uint64_t shim_token(const struct shim_object *obj)
{
	return atomic_load_explicit(&obj->token, memory_order_relaxed);
}

/* True while @obj is live and still the object that was looked up. */
static inline bool shim_is(const struct shim_object *obj, uint32_t type,
			   uint64_t token)
{
	return atomic_load_explicit(&obj->type, memory_order_relaxed) == type &&
	       shim_token(obj) == token;
}

/* The objects of tokens: the number, from 1, of the first one in each bucket. */
#define SHIM_HASH_BITS	15
extern atomic_uint_least32_t shim_table_heads[1 << SHIM_HASH_BITS];

static inline atomic_uint_least32_t *shim_table_head(uint64_t token)
{
	return &shim_table_heads[token * 0x9e3779b97f4a7c15u >>
				 (64 - SHIM_HASH_BITS)];
}

static inline struct shim_object *shim_object_nr(uint32_t nr)
{
	uintptr_t base = atomic_load_explicit(&shim_table.base,
					      memory_order_relaxed);

	return (struct shim_object *)base + (nr - 1);
}

struct shim_object *shim_table_search(uint64_t token);

/*
 * The object of a token, dead ones included, or NULL. It is the first of its
 * bucket but in a process with many thousands of objects.
 */
static inline struct shim_object *shim_by_token(uint64_t token)
{
	uint32_t nr = atomic_load_explicit(shim_table_head(token),
					   memory_order_acquire);

	if (SHIM_LIKELY(nr && shim_token(shim_object_nr(nr)) == token))
		return shim_object_nr(nr);
	return shim_table_search(token);
}

/* The same as a handle for the consumer; null for 0 and for the long dead. */
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
void shim_object_kill(struct shim_object *obj);
void shim_for_each(struct shim_object *ia,
		   void (*func)(struct shim_object *obj, void *arg), void *arg);
void shim_table_lock(void);
void shim_table_unlock(void);
void shim_table_child(void);

/* dev.c */

/* The descriptor, or -1; written by dev.c, read by shim_fd(). */
extern atomic_int shim_dev_fd;

int shim_dev_open(void);
DAT_RETURN shim_ioctl_failed(DAT_RETURN fault);

static inline int shim_fd(void)
{
	return atomic_load_explicit(&shim_dev_fd, memory_order_relaxed);
}

/*
 * Makes a call whose structure begins with ret. @fault: what to answer when the
 * kernel could not use a pointer or a count of the consumer's
 */
static inline DAT_RETURN shim_ioctl(unsigned long cmd, void *arg,
				    DAT_RETURN fault)
{
	if (ioctl(shim_fd(), cmd, arg))
		return shim_ioctl_failed(fault);
	return *(const uint32_t *)arg;
}

/**
 * struct shim_fd - a descriptor that a forked child must not keep
 * @fd: -1 if there is none
 * @next, @link: the list of all that are open; @link is where it hangs
 */
struct shim_fd {
	int fd;
	struct shim_fd *next;
	struct shim_fd **link;
};

void shim_fds_lock(void);
void shim_fds_unlock(void);
bool shim_fd_keep(struct shim_fd *fd, int number);
void shim_fd_close(struct shim_fd *fd);

DAT_RETURN shim_handle_call(unsigned long cmd, const struct shim_object *obj);
DAT_RETURN shim_flags_call(unsigned long cmd, const struct shim_object *obj,
			   uint32_t flags);

/*
 * A handle that a call takes: null gives 0 where null is allowed, a bad one
 * @bad.
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
 * struct shim_ring - the mapped events of an EVD
 * @header: what the kernel writes besides events; an empty one of our own while
 *	    nothing is mapped
 * @events: the slots
 * @index: where the kernel reads how far we are
 * @mask: number of slots less one
 * @consumer: events taken; our own copy of what is in @index
 * @patience: looks that may find nothing until the kernel is asked
 * @where: what the kernel said of the ring
 *
 * The EVD's lock is held by whoever touches it.
 */
struct shim_ring {
	const struct kdapl_uapi_ring_header *header;
	const struct kdapl_uapi_event *events;
	struct kdapl_uapi_ring_index *index;
	uint32_t mask;
	uint32_t consumer;
	uint32_t patience;
	struct kdapl_uapi_ring where;
};

void shim_ring_map(struct shim_ring *ring, const struct kdapl_uapi_ring *where);
void shim_ring_unmap(struct shim_ring *ring);
bool shim_ring_mapped(const struct shim_ring *ring);
uint32_t shim_ring_count(struct shim_ring *ring, uint64_t evd);

/*
 * A thread that polls asks the kernel after this many looks in vain: a completion
 * may wait there for an interrupt or softirq that comes late, for instance because
 * the processor that has to run it does something else. So many looks cost about
 * as much as the call.
 */
#define SHIM_RING_PATIENCE	32

/* C11 atomics cannot be laid over the ABI's plain fields. */
static inline uint32_t shim_load_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Events that are in the ring now. */
static inline uint32_t shim_ring_filled(const struct shim_ring *ring)
{
	return shim_load_acquire(&ring->header->producer) - ring->consumer;
}

/* The oldest event of a ring that is not empty; it stays until shim_ring_pop(). */
static inline const struct kdapl_uapi_event *
shim_ring_first(const struct shim_ring *ring)
{
	return &ring->events[ring->consumer & ring->mask];
}

/* The oldest event has been read, the kernel may use its slot again. */
static inline void shim_ring_pop(struct shim_ring *ring)
{
	ring->patience = SHIM_RING_PATIENCE;
	__atomic_store_n(&ring->index->consumer, ++ring->consumer,
			 __ATOMIC_RELEASE);
}

/* The ring was found empty: is it time to ask the kernel? */
static inline bool shim_ring_ask(struct shim_ring *ring)
{
	return SHIM_UNLIKELY(!--ring->patience ||
			     shim_load_acquire(&ring->header->flags) &
			     KDAPL_RING_MORE);
}

bool shim_ring_take(struct shim_ring *ring, uint64_t evd,
		    struct kdapl_uapi_event *event);

/* Bodies */

struct shim_ia {
	struct sockaddr_storage address;
	DAT_EVD_HANDLE async_evd;
};

struct shim_lmr {
	DAT_REGION_DESCRIPTION region;
	char cookie[DAT_LMR_COOKIE_SIZE];
};

/**
 * struct shim_evd - what an EVD needs in the process
 * @ring: its events
 * @waiter: a thread is in dat_evd_wait (E36)
 * @unwaitable: dat_evd_set_unwaitable (E26)
 * @clear_late: waitable again, which the kernel hears when @waiter has gone
 * @disabled: dat_evd_disable (E23)
 * @withheld: events came for which the CNO was not told because of @waiter
 * @poll_fd: for the CNO, made when it first gets one
 * @cno: its CNO or NULL
 */
struct shim_evd {
	struct shim_ring ring;
	bool waiter;
	bool unwaitable;
	bool clear_late;
	bool disabled;
	bool withheld;
	struct shim_fd poll_fd;
	struct shim_object *cno;
};

/**
 * struct shim_ep - memory behind pointers given to the consumer
 * @local, @remote: of dat_ep_query
 * @private_data: of ESTABLISHED, until the EP is reset or freed (E7)
 * @provider_made: came with a CR that has not been accepted (P71)
 */
struct shim_ep {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	void *private_data;
	bool provider_made;
};

/* Larger than any transport's private data. */
#define SHIM_PRIVATE_DATA	512

struct shim_cr {
	struct sockaddr_storage remote;
	uint64_t local_ep;
	char private_data[SHIM_PRIVATE_DATA];
};

/* cmd_ia.c */
bool shim_addr_in(struct kdapl_uapi_addr *to, const struct sockaddr *from);
void shim_addr_out(struct sockaddr_storage *to,
		   const struct kdapl_uapi_addr *from);

/* cmd_evd.c */
DAT_RETURN shim_evd_object(uint64_t token, struct shim_object *ia,
			   const struct kdapl_uapi_ring *ring,
			   struct shim_object **evd);
void shim_evd_body_free(struct shim_object *evd);

/* cmd_ep.c */
struct shim_ep *shim_ep_body(struct shim_object *ep);
void shim_ep_body_free(struct shim_object *ep);
struct shim_object *shim_ep_seen(uint64_t token, struct shim_object *ia);

/* A completion as the consumer of @evd gets to see it. */
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
	to->transfered_length = from->length;
}

/* event.c */
void shim_event(struct shim_object *evd, const struct kdapl_uapi_event *from,
		DAT_EVENT *event);

/* cno.c */
DAT_RETURN shim_cno_attach(struct shim_object *evd, struct shim_object *cno);
void shim_cno_collect(struct shim_object *evd);
void shim_cno_detach(struct shim_object *evd, struct shim_evd *body);
DAT_RETURN shim_cno_enable(struct shim_object *evd, bool enable);
void shim_cno_tell(struct shim_object *evd);
bool shim_cno_left(struct shim_object *ia);
void shim_cno_close(struct shim_object *cno);

/* provider.c */
extern const DAT_PROVIDER shim_provider;

#endif /* SHIM_H */
