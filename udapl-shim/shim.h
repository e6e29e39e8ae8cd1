/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libdat, from the inside: applications call dat_*, each call looks its handles
 * up, fills one structure of <rdma/kdapl.h>, makes one ioctl on /dev/kdapl and
 * gives the kernel's DAT_RETURN back. All rules of DAT are the kernel's; the
 * library adds what a process needs: handles that are pointers, memory behind
 * the pointers of events and queries, the mapped event ring, and CNOs.
 *
 *	handle.c	handles: the table of objects, kernel token to object
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

/* What the headers of DAT declare is what the library exports. */
#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#pragma GCC visibility pop

#include <rdma/kdapl.h>
#include "dat_private.h"

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
 * struct shim_object - what a handle points to
 * @provider: the first word, as DAT wants it
 * @type: 0 when dead
 * @hash_next: the chain of @token's bucket
 * @next_dead: the queue of dead objects
 * @token: the kernel's handle; stays when the object dies, for events that are
 *	   still queued
 * @ia: the object of its IA; an IA's own is itself
 * @context: consumer context
 * @lock: protects @body, and an EVD's ring
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
	uint32_t pad;
	atomic_uint_least64_t token;
	struct shim_object *_Atomic ia;
	atomic_uint_least64_t context;
	pthread_mutex_t lock;
	void *body;
} __attribute__((aligned(128)));

_Static_assert(sizeof(struct shim_object) == 128, "objects are found by shifts");
_Static_assert(offsetof(struct shim_object, provider) == 0, "DAT_HANDLE_TO_PROVIDER");

/* handle.c */

/* The table; written by handle.c, read by shim_object_at(). */
extern _Atomic uintptr_t shim_table_base;
extern _Atomic size_t shim_table_size;

/* The object that a handle names if it is any object of ours, dead or not. */
static inline struct shim_object *shim_object_at(DAT_HANDLE handle)
{
	/* ORDER: a size that is not 0 comes with its base, see table_grow() */
	size_t size = atomic_load_explicit(&shim_table_size,
					   memory_order_acquire);
	uintptr_t base = atomic_load_explicit(&shim_table_base,
					      memory_order_relaxed);
	uintptr_t offset = (uintptr_t)handle - base;

	if (offset >= size || offset % sizeof(struct shim_object))
		return NULL;
	return (struct shim_object *)(base + offset);
}

/* The live object of a type, or NULL; never faults (E5). */
static inline struct shim_object *shim_find(DAT_HANDLE handle, uint32_t type)
{
	struct shim_object *obj = shim_object_at(handle);

	if (!obj || atomic_load_explicit(&obj->type,
					 memory_order_acquire) != type)
		return NULL;
	return obj;
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

struct shim_object *shim_object_get(uint64_t token, uint32_t type,
				    struct shim_object *ia, bool *made);
struct shim_object *shim_object_new(uint32_t type, struct shim_object *ia,
				    void *body);
bool shim_object_dress(struct shim_object *obj, uint32_t type, uint64_t token,
		       void *body);
void shim_object_kill(struct shim_object *obj);
struct shim_object *shim_by_token(uint64_t token);
DAT_HANDLE shim_handle(uint64_t token);
void shim_for_each(struct shim_object *ia,
		   void (*func)(struct shim_object *obj, void *arg), void *arg);
void shim_table_lock(void);
void shim_table_unlock(void);
void shim_table_child(void);

/* dev.c */

int shim_dev_open(void);
int shim_fd(void);
DAT_RETURN shim_ioctl(unsigned long cmd, void *arg, DAT_RETURN fault);

/* What a bad pointer or count of the consumer's is told to be. */
#define SHIM_ARG(n)	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define SHIM_BAD(kind)	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind)
/* For calls that hand the kernel no pointer of the consumer's. */
#define SHIM_NO_FAULT	DAT_ERROR(DAT_INTERNAL_ERROR, 0)
#define SHIM_NO_MEMORY	\
	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

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
 * @header: NULL if not mapped: events are taken by ioctl then
 * @consumer: our own copy of what the kernel reads in @index
 */
struct shim_ring {
	const struct kdapl_uapi_ring_header *header;
	const struct kdapl_uapi_event *events;
	struct kdapl_uapi_ring_index *index;
	uint32_t mask;
	uint32_t consumer;
	struct kdapl_uapi_ring where;
};

void shim_ring_map(struct shim_ring *ring, const struct kdapl_uapi_ring *where);
void shim_ring_unmap(struct shim_ring *ring);
bool shim_ring_take(struct shim_ring *ring, uint64_t evd,
		    struct kdapl_uapi_event *event);
uint32_t shim_ring_count(struct shim_ring *ring, uint64_t evd);

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

/* event.c */
void shim_event(struct shim_object *evd, const struct kdapl_uapi_event *from,
		DAT_EVENT *event);

/* post.c */
DAT_RETURN shim_post(const struct shim_object *ep, struct kdapl_uapi_dto *dtos,
		     uint32_t count, uint32_t *done);

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
