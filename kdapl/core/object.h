/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The common head of every DAT object: its handle, its references, who still
 * uses it, and the Interface Adapter it belongs to.  core/object.c is the one
 * place that makes, finds and retires objects; the structure of each type, in the
 * other files of core/, begins with struct kdapl_object.
 *
 * The steps of an object's life, from kdapl_object_init() to the last kdapl_object_put(), and the
 * three counts that must not be mixed up (ref, users, and the section of the IA) are told in
 * Documentation/overview.rst, The life of an object; the locks in Documentation/locking.rst.
 */
#ifndef KDAPL_OBJECT_H
#define KDAPL_OBJECT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <dat/kdat.h>
#include "dat_private.h"
#include "ret.h"
#include "user.h"

struct kdapl_ia;

/* Also the type field of a handle, hence never 0: E5 reserves 0, 1 and 2. */
enum kdapl_type {
	KDAPL_IA = 1,
	KDAPL_PZ,
	KDAPL_LMR,
	KDAPL_RMR,
	KDAPL_EVD,
	KDAPL_EP,
	KDAPL_PSP,
	KDAPL_RSP,
	KDAPL_CR,
	KDAPL_SRQ,
	KDAPL_NR_TYPES
};

/*
 * A handle is a token: type (8 bits), generation (24 bits), index of a slot (32
 * bits, of which the lower KDAPL_INDEX_BITS are used).
 */
#define KDAPL_CHUNK_SLOTS	256
#define KDAPL_GENERATION_MAX	0xffffffU
#define KDAPL_INDEX_BITS	20

/*
 * struct kdapl_slot - a place in the table of handles
 * @obj: the object whose handle names this slot now, or NULL
 * @generation: that of @obj's handle, or of the next handle to be given out
 * @next_free: links the free slots by index
 */
struct kdapl_slot {
	struct kdapl_object __rcu *obj;
	u32 generation;
	u32 next_free;
};

/*
 * struct kdapl_slots - the directory of the chunks that slots live in
 * @nr_chunks: in @chunk
 * @rcu: frees it when a larger one has replaced it; the chunks stay
 * @chunk: KDAPL_CHUNK_SLOTS slots each
 */
struct kdapl_slots {
	u32 nr_chunks;
	struct rcu_head rcu;
	struct kdapl_slot *chunk[];
};

/*
 * struct kdapl_space - who can name what: one per open file, one for the kernel
 * @lock: slot allocation
 * @slots: all slots; chunks stay until the space goes
 * @free_slot, @last_free: first and last of the free slots, linked by index; 0 ends
 *			   the list.  The slot that was free for the longest time
 *			   is used next, so that a dead handle stays wrong for long
 * @nr_free: how many there are
 * @nr_objects: slots in use, compared with @max_objects
 * @max_objects: limit of this space
 * @owner: the user who opened it, who has a limit for all his spaces; NULL for the kernel
 * @nr_live: objects whose memory is not released yet
 * @nr_rmrs, @max_rmrs: number of RMRs, which have a limit of their own, since each takes
 *			memory of the device as well
 * @ias: open adapters of this space (kdapl_object.on_ia), under @ia_lock
 * @sections: of its adapters, one for each device (core/ia.h); only of a process
 * @ia_lock: protects @ias and @sections
 * @lingering: connections that wait only for their peers (kdapl_ia.linger), and one more until
 *	       kdapl_space_teardown() is through
 * @lingered: called when @lingering is 0
 * @net: the opener's network namespace, held
 * @user: memory and pointers are a process's; what it makes is accounted to it
 */
struct kdapl_space {
	spinlock_t lock;
	struct kdapl_slots __rcu *slots;
	u32 free_slot;
	u32 last_free;
	u32 nr_free;
	u32 nr_objects;
	u32 max_objects;
	struct kdapl_user *owner;
	atomic_t nr_live;
	atomic_t nr_rmrs;
	int max_rmrs;
	struct list_head ias;
	struct list_head sections;
	struct mutex ia_lock;
	atomic_t lingering;
	void (*lingered)(struct kdapl_space *space);
	struct net *net;
	bool user;
};

/* Why an object has to come to its end. */
enum kdapl_end {
	KDAPL_END_CLOSE,	/* its IA is being closed */
	KDAPL_END_BROKEN,	/* its device failed, or is being removed */
};

/*
 * struct kdapl_object_ops - what differs between the types of objects
 * @release: frees the memory; process context, after an RCU grace period
 * @begin_end: begins what takes time at the end, and does not wait for it, so that
 *	       all objects of an IA can end at the same time; may be NULL
 * @release_verbs: gives back everything that belongs to the device and waits until
 *		   the device no longer touches the object, which stays as a shell.
 *		   Idempotent; may sleep
 * @teardown: does the same, retires the handle and drops the object.  The caller
 *	      has a reference; may sleep
 *
 * An IA itself has @release only.
 */
struct kdapl_object_ops {
	void (*release)(struct kdapl_object *obj);
	void (*begin_end)(struct kdapl_object *obj, enum kdapl_end why);
	void (*release_verbs)(struct kdapl_object *obj);
	void (*teardown)(struct kdapl_object *obj);
};

struct kdapl_object {
	u64 token;
	refcount_t ref;
	atomic_t users;
	enum kdapl_type type;
	struct kdapl_space *space;
	struct kdapl_ia *ia;
	u64 number;	/* among those of @ia, from 1; later ones are further down its list */
	struct list_head on_ia;
	DAT_CONTEXT context;
	const struct kdapl_object_ops *ops;
	union {
		struct rcu_head rcu;
		struct work_struct release_work;
	};
};

/* The space of all kernel consumers. */
extern struct kdapl_space kdapl_kernel_space;
/*
 * What sleeps on behalf of an object runs here, or on a workqueue for processes (kdapl_wq_of()).
 * So work that processes cause does not hold that of kernel consumers up, however much it is
 * and however slow they are.  Memory may be reclaimed through a kernel consumer (storage), and
 * then its connections have to end without new memory: kdapl_kernel_wq has a thread for that
 * case (WQ_MEM_RECLAIM), and no work on it waits for memory, or for other work that does.
 */
extern struct workqueue_struct *kdapl_kernel_wq;
/* Work for kernel consumers that may wait for memory, see kdapl_slow_wq_of(). */
extern struct workqueue_struct *kdapl_slow_wq;
/*
 * Calls that wait for the driver of an iWARP device, which waits for a peer's TCP: minutes if
 * nobody answers.  However many attempts of kernel consumers wait here, other work does not
 * line up behind them.  Each user has a workqueue of his own for it (kdapl_user_iwarp_wq()).
 */
extern struct workqueue_struct *kdapl_iwarp_wq;
/*
 * Upcalls that sleep have a workqueue of their own: they wait for work on kdapl_kernel_wq, and no
 * work there waits for an upcall.  This one, too, has a thread for the case that there is no
 * memory for another, which then serves one EVD after the other.
 */
extern struct workqueue_struct *kdapl_upcall_wq;

int kdapl_space_init(struct kdapl_space *space, struct net *net,
		     struct kdapl_user *owner, u32 max_objects);
void kdapl_space_destroy(struct kdapl_space *space);

static inline struct workqueue_struct *kdapl_wq_of(const struct kdapl_space *space)
{
	return space->owner ? kdapl_user_wq(space->owner) : kdapl_kernel_wq;
}

static inline struct workqueue_struct *kdapl_slow_wq_of(const struct kdapl_space *space)
{
	return space->owner ? kdapl_user_wq(space->owner) : kdapl_slow_wq;
}

/* Allocation flags: what a process makes is charged to it (A8). */
static inline gfp_t kdapl_gfp(const struct kdapl_space *space)
{
	return space->user ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
}

int kdapl_object_init(struct kdapl_object *obj, enum kdapl_type type,
		      struct kdapl_space *space, struct kdapl_ia *ia,
		      const struct kdapl_object_ops *ops);
void *kdapl_object_alloc(size_t size, enum kdapl_type type,
			 struct kdapl_ia *ia,
			 const struct kdapl_object_ops *ops);
void kdapl_object_abort(struct kdapl_object *obj);
void kdapl_object_publish(struct kdapl_object *obj);
bool kdapl_object_retire(struct kdapl_object *obj);

/*
 * The object in a slot.  NULL for an index that was never given out, and for a slot that is
 * free or whose object was retired.  The caller is in an RCU read section, which keeps the
 * object's memory.
 */
static inline struct kdapl_object *kdapl_slot_object(const struct kdapl_space *space,
						     u32 index)
{
	u32 chunk = index / KDAPL_CHUNK_SLOTS;
	const struct kdapl_slots *slots;

	slots = rcu_dereference_check(space->slots, rcu_read_lock_sched_held());
	if (unlikely(chunk >= slots->nr_chunks))
		return NULL;
	/* A process names the index: not even speculation follows one out of bounds. */
	chunk = array_index_nospec(chunk, slots->nr_chunks);
	return rcu_dereference_check(slots->chunk[chunk]
				     [index % KDAPL_CHUNK_SLOTS].obj,
				     rcu_read_lock_sched_held());
}

/* @type 0 finds an object of any type. */
struct kdapl_object *kdapl_object_find(struct kdapl_space *space,
				       DAT_HANDLE handle,
				       enum kdapl_type type);

static inline void kdapl_object_get(struct kdapl_object *obj)
{
	refcount_inc(&obj->ref);
}

void kdapl_object_put(struct kdapl_object *obj);

/* A dead object (kdapl_object_kill) takes no new user. */
static inline bool kdapl_object_use(struct kdapl_object *obj)
{
	return atomic_inc_unless_negative(&obj->users);
}

static inline void kdapl_object_unuse(struct kdapl_object *obj)
{
	atomic_dec(&obj->users);
}

int kdapl_object_kill(struct kdapl_object *obj);

static inline DAT_HANDLE kdapl_handle(const struct kdapl_object *obj)
{
	return (DAT_HANDLE)(uintptr_t)obj->token;
}

/* DAT_HANDLE_NULL for an object (something with a head) that is not there. */
#define kdapl_handle_or_null(ptr)					\
({									\
	typeof(ptr) __ptr = (ptr);					\
									\
	__ptr ? kdapl_handle(&__ptr->obj) : DAT_HANDLE_NULL;		\
})

/* We keep addresses in a wider type than DAT's, so that those of IPv6 fit. */
static inline DAT_IA_ADDRESS_PTR
kdapl_address(struct sockaddr_storage *addr)
{
	return (struct sockaddr *)addr;
}

#endif /* KDAPL_OBJECT_H */
