// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles and the life of objects (core/object.h tells the rules).
 *
 * Slots live in chunks that stay for the life of the space, and a directory of the
 * chunks is replaced as a whole when it is full.  So a look-up is a few loads and
 * one compare under RCU, and a forged index hits either no chunk or a slot whose
 * object has another token.  A slot whose generation would wrap is never used
 * again (A1).
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "object.h"
#include "core.h"
#include "ia.h"
#include "user.h"
#include "../trace.h"

/*
 * A slot is used again only when it is not among so many that are free for the shortest time, as
 * long as there can be more slots (RULING 54).
 */
#define SLOTS_KEPT	(KDAPL_CHUNK_SLOTS / 2)

/* RMRs of one open file (user.c limits those of all files of a user) */
#define FILE_MAX_RMRS	1024

static u64 make_token(enum kdapl_type type, u32 generation, u32 index)
{
	return (u64)type << 56 | (u64)generation << 32 | index;
}

/* The slot of an index that was given out; the directory does not change. */
static struct kdapl_slot *slot_at(const struct kdapl_slots *slots, u32 index)
{
	return &slots->chunk[index / KDAPL_CHUNK_SLOTS][index % KDAPL_CHUNK_SLOTS];
}

/* The directory, for a caller that holds the lock under which it is replaced. */
static struct kdapl_slots *space_slots(const struct kdapl_space *space)
{
	return rcu_dereference_protected(space->slots,
					 lockdep_is_held(&space->lock));
}

static struct kdapl_slots *slots_alloc(struct kdapl_space *space, u32 nr_chunks)
{
	struct kdapl_slots *slots;

	slots = kvzalloc(struct_size(slots, chunk, nr_chunks), kdapl_gfp(space));
	if (slots)
		slots->nr_chunks = nr_chunks;
	return slots;
}

/**
 * kdapl_space_init - make an empty space
 * @space: to initialise
 * @net: the opener's network namespace; a reference is taken
 * @owner: the user whose process it belongs to, or NULL for kernel consumers.  On success the
 *	   space takes over the caller's reference
 * @max_objects: how many objects it may hold at once
 *
 * May sleep.  Return: 0; -ENOMEM.
 */
int kdapl_space_init(struct kdapl_space *space, struct net *net,
		     struct kdapl_user *owner, u32 max_objects)
{
	struct kdapl_slots *slots = slots_alloc(space, 0);

	if (!slots)
		return -ENOMEM;
	memset(space, 0, sizeof(*space));
	RCU_INIT_POINTER(space->slots, slots);
	spin_lock_init(&space->lock);
	INIT_LIST_HEAD(&space->ias);
	INIT_LIST_HEAD(&space->sections);
	mutex_init(&space->ia_lock);
	atomic_set(&space->lingering, 1);
	space->net = get_net(net);
	space->owner = owner;
	space->user = owner;
	space->max_objects = min_t(u32, max_objects, BIT(KDAPL_INDEX_BITS) - 1);
	space->max_rmrs = owner ? FILE_MAX_RMRS : INT_MAX;
	return 0;
}

/**
 * kdapl_space_destroy - give a space back
 * @space: all its IAs are closed (kdapl_ia_close_all())
 *
 * Waits until the memory of its last object has been released.  May sleep.
 */
void kdapl_space_destroy(struct kdapl_space *space)
{
	struct kdapl_slots *slots = rcu_dereference_raw(space->slots);
	u32 i;

	wait_var_event(&space->nr_live, !atomic_read(&space->nr_live));
	WARN_ON_ONCE(space->nr_objects);
	for (i = 0; i < slots->nr_chunks; i++)
		kvfree(slots->chunk[i]);
	kvfree(slots);
	put_net(space->net);
	if (space->owner)
		kdapl_user_put(space->owner);
}

/* Puts @n free slots at the end of the list, behind those that have been free for longer. */
static void slots_add_free(struct kdapl_space *space, u32 first, u32 last, u32 n)
{
	lockdep_assert_held(&space->lock);
	space->nr_free += n;
	if (space->free_slot)
		slot_at(space_slots(space), space->last_free)->next_free = first;
	else
		space->free_slot = first;
	space->last_free = last;
}

static u32 space_nr_chunks(struct kdapl_space *space)
{
	u32 n;

	rcu_read_lock();
	n = rcu_dereference(space->slots)->nr_chunks;
	rcu_read_unlock();
	return n;
}

/* Is a slot free that may be used, without that slots are added first? */
static bool slots_suffice(struct kdapl_space *space)
{
	lockdep_assert_held(&space->lock);
	return space->nr_free > SLOTS_KEPT ||
	       (space->nr_free &&
		space_slots(space)->nr_chunks * KDAPL_CHUNK_SLOTS > space->max_objects);
}

/*
 * Puts @new, a directory with one chunk more, in the place of the one with @n chunks; the slots
 * of @chunk become free.  Readers go on with the directory that they have found.
 *
 * Return: the replaced directory, for the caller to free; NULL: nothing was done, because
 * another thread has added a chunk, or freed a slot, in the meantime.
 */
static struct kdapl_slots *space_add_chunk(struct kdapl_space *space, struct kdapl_slots *new,
					   struct kdapl_slot *chunk, u32 n)
{
	u32 first = n * KDAPL_CHUNK_SLOTS;
	struct kdapl_slots *old;

	spin_lock_irq(&space->lock);
	old = space_slots(space);
	if (old->nr_chunks == n && !slots_suffice(space)) {
		memcpy(new->chunk, old->chunk, n * sizeof(*new->chunk));
		new->chunk[n] = chunk;
		rcu_assign_pointer(space->slots, new);
		/* Slot 0 stays unused: 0 ends the free list. */
		slots_add_free(space, n ? first : 1, first + KDAPL_CHUNK_SLOTS - 1,
			       n ? KDAPL_CHUNK_SLOTS : KDAPL_CHUNK_SLOTS - 1);
	} else {
		old = NULL;
	}
	spin_unlock_irq(&space->lock);
	return old;
}

/*
 * Adds slots.  Others may take them before the caller does.
 *
 * No lock is held while memory is allocated.  A process at the limit of its memory cgroup may
 * wait long for memory.  The CM's callbacks, which need a slot for each request, would then
 * have to wait for the lock.
 */
static int space_grow(struct kdapl_space *space)
{
	struct kdapl_slots *new, *old = NULL;
	u32 n = space_nr_chunks(space), i;
	struct kdapl_slot *chunk;
	int ret = 0;

	if (n == BIT(KDAPL_INDEX_BITS) / KDAPL_CHUNK_SLOTS)
		return -ENOSPC;
	new = slots_alloc(space, n + 1);
	chunk = kvcalloc(KDAPL_CHUNK_SLOTS, sizeof(*chunk), kdapl_gfp(space));
	if (new && chunk) {
		for (i = 0; i < KDAPL_CHUNK_SLOTS - 1; i++)
			chunk[i].next_free = n * KDAPL_CHUNK_SLOTS + i + 1;
		old = space_add_chunk(space, new, chunk, n);
	} else {
		ret = -ENOMEM;
	}
	if (old) {
		kvfree_rcu(old, rcu);
	} else {
		kvfree(new);
		kvfree(chunk);
	}
	return ret;
}

/* Counts one more object; false: there may be no more.  Undone by space_uncount(). */
static bool space_count(struct kdapl_space *space)
{
	lockdep_assert_held(&space->lock);
	if (space->nr_objects >= space->max_objects ||
	    (space->owner && !kdapl_user_take(space->owner)))
		return false;
	space->nr_objects++;
	return true;
}

static void space_uncount(struct kdapl_space *space)
{
	lockdep_assert_held(&space->lock);
	space->nr_objects--;
	if (space->owner)
		kdapl_user_give(space->owner);
}

/*
 * The slot that has been free for the longest time; or NULL, if slots are to be added first.  @any:
 * none can be added, so take what there is.
 */
static struct kdapl_slot *slot_take_free(struct kdapl_space *space, bool any, u32 *index)
{
	struct kdapl_slot *slot;

	lockdep_assert_held(&space->lock);
	*index = any || slots_suffice(space) ? space->free_slot : 0;
	if (!*index)
		return NULL;
	space->nr_free--;
	slot = slot_at(space_slots(space), *index);
	/* The @next_free of the last slot is old: nothing follows it. */
	space->free_slot = *index == space->last_free ? 0 : slot->next_free;
	return slot;
}

static int slot_reserve(struct kdapl_space *space, u32 *index,
			struct kdapl_slot **slot)
{
	int full = 0, ret = 0;

	for (;;) {
		spin_lock_irq(&space->lock);
		*slot = NULL;
		if (space_count(space))
			*slot = slot_take_free(space, full, index);
		else
			ret = -ENOSPC;
		if (!*slot && !ret) {
			space_uncount(space);
			ret = full;
		}
		spin_unlock_irq(&space->lock);
		if (*slot || ret)
			return ret;
		full = space_grow(space);
	}
}

static void slot_return(struct kdapl_object *obj)
{
	struct kdapl_space *space = obj->space;
	u32 index = (u32)obj->token;
	struct kdapl_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	space_uncount(space);
	slot = slot_at(space_slots(space), index);
	if (slot->generation < KDAPL_GENERATION_MAX) {
		slot->generation++;
		slots_add_free(space, index, index, 1);
	}
	spin_unlock_irqrestore(&space->lock, flags);
}

/**
 * kdapl_object_init - give a new object its head, with one reference
 * @obj: zeroed memory
 * @type: of the object
 * @space: in which its handle will be valid
 * @ia: its adapter, of which a reference is taken; NULL for an IA itself
 * @ops: of the type
 *
 * Reserves the handle; it resolves to nothing until kdapl_object_publish().
 * Undone by kdapl_object_abort() before that.  May sleep.
 *
 * Return: 0, -ENOMEM, -ENOSPC when the space is full.
 */
int kdapl_object_init(struct kdapl_object *obj, enum kdapl_type type,
		      struct kdapl_space *space, struct kdapl_ia *ia,
		      const struct kdapl_object_ops *ops)
{
	struct kdapl_slot *slot;
	u32 index;
	int ret;

	if (space->owner && !kdapl_user_take_room(space->owner))
		return -ENOSPC;
	ret = slot_reserve(space, &index, &slot);
	if (ret) {
		if (space->owner)
			kdapl_user_give_room(space->owner);
		return ret;
	}

	obj->token = make_token(type, slot->generation, index);
	refcount_set(&obj->ref, 1);
	atomic_set(&obj->users, 0);
	obj->type = type;
	obj->space = space;
	obj->ia = ia ?: container_of(obj, struct kdapl_ia, obj);
	INIT_LIST_HEAD(&obj->on_ia);
	obj->ops = ops;
	atomic_inc(&space->nr_live);
	if (ia) {
		kdapl_object_get(&ia->obj);
		mutex_lock(&ia->lock);
		ia->nr_unpublished++;
		mutex_unlock(&ia->lock);
	}
	return 0;
}

/* The pointer to @obj in its slot.  Chunks are never freed before the space, so no lock. */
static struct kdapl_object __rcu **object_slot(struct kdapl_object *obj)
{
	struct kdapl_object __rcu **slot;

	rcu_read_lock();
	slot = &slot_at(rcu_dereference(obj->space->slots), (u32)obj->token)->obj;
	rcu_read_unlock();
	return slot;
}

/**
 * kdapl_object_alloc - a new object of an IA, with one reference
 * @size: of the structure that begins with the head
 * @type: of the object
 * @ia: its adapter, of which a reference is taken
 * @ops: of the type; from here on @ops->release frees the structure
 *
 * The rest of the structure is zero.  Charged to the process whose space it is.
 * May sleep.
 *
 * Return: the structure, or NULL: no memory, or the space is full.
 */
void *kdapl_object_alloc(size_t size, enum kdapl_type type,
			 struct kdapl_ia *ia,
			 const struct kdapl_object_ops *ops)
{
	struct kdapl_space *space = ia->obj.space;
	struct kdapl_object *obj;

	obj = kzalloc(size, kdapl_gfp(space));
	if (obj && kdapl_object_init(obj, type, space, ia, ops)) {
		kfree(obj);
		return NULL;
	}
	return obj;
}

/**
 * kdapl_object_publish - make the handle work
 * @obj: completely built
 *
 * From here on other threads find it.  Takes the IA's list lock; may sleep.
 */
void kdapl_object_publish(struct kdapl_object *obj)
{
	struct kdapl_space *space = obj->space;
	struct kdapl_ia *ia = obj->ia;

	if (obj->type == KDAPL_IA) {
		mutex_lock(&space->ia_lock);
		list_add_tail(&obj->on_ia, &space->ias);
		mutex_unlock(&space->ia_lock);
	} else {
		mutex_lock(&ia->lock);
		obj->number = ++ia->last_number;
		list_add_tail(&obj->on_ia, &ia->objects[obj->type]);
		ia->nr_unpublished--;
		ia->nr_objects++;
		mutex_unlock(&ia->lock);
	}
	trace_kdapl_object_new(obj);
	rcu_assign_pointer(*object_slot(obj), obj);
}

/**
 * kdapl_object_abort - undo kdapl_object_init() of an unpublished object
 * @obj: its memory is released by ops->release
 *
 * May sleep.
 */
void kdapl_object_abort(struct kdapl_object *obj)
{
	struct kdapl_ia *ia = obj->ia;

	if (obj->type != KDAPL_IA) {
		mutex_lock(&ia->lock);
		ia->nr_unpublished--;
		mutex_unlock(&ia->lock);
	}
	slot_return(obj);
	kdapl_object_put(obj);
}

/**
 * kdapl_object_retire - the handle is dead for ever
 * @obj: a published object; the caller has a reference besides the handle's,
 *	 or does not use @obj afterwards
 *
 * If several callers retire an object, one of them wins (E114).  Drops the handle's
 * reference.  May sleep.
 *
 * Return: true for the one who retired it.
 */
bool kdapl_object_retire(struct kdapl_object *obj)
{
	struct kdapl_space *space = obj->space;
	struct kdapl_object __rcu **slot = object_slot(obj);
	struct kdapl_ia *ia = obj->ia;

	/* Without __rcu, which cmpxchg() of some processors casts away (riscv). */
	if (cmpxchg((struct kdapl_object * __force *)slot, obj, NULL) != obj)
		return false;
	slot_return(obj);

	if (obj->type == KDAPL_IA) {
		mutex_lock(&space->ia_lock);
		list_del_init(&obj->on_ia);
		mutex_unlock(&space->ia_lock);
	} else {
		mutex_lock(&ia->lock);
		list_del_init(&obj->on_ia);
		ia->nr_objects--;
		mutex_unlock(&ia->lock);
	}
	trace_kdapl_object_free(obj);
	kdapl_object_put(obj);
	return true;
}

/**
 * kdapl_object_find - look a handle up and take a reference
 * @space: in which the handle is valid
 * @handle: any value at all
 * @type: what it must be; 0 for any type
 *
 * Any context.
 *
 * Return: as kdapl_object_peek().
 */
struct kdapl_object *kdapl_object_find(struct kdapl_space *space,
				       DAT_HANDLE handle, enum kdapl_type type)
{
	struct kdapl_object *obj;

	rcu_read_lock();
	obj = kdapl_object_peek(space, handle, type);
	if (obj && !refcount_inc_not_zero(&obj->ref))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

static void object_release(struct work_struct *work)
{
	struct kdapl_object *obj = container_of(work, struct kdapl_object,
						release_work);
	struct kdapl_ia *ia = obj->type == KDAPL_IA ? NULL : obj->ia;
	struct kdapl_space *space = obj->space;

	obj->ops->release(obj);
	if (ia)
		kdapl_object_put(&ia->obj);
	if (space->owner)
		kdapl_user_give_room(space->owner);
	/* As soon as the count is 0 the space may be freed: only its address is used then. */
	if (atomic_dec_and_test(&space->nr_live))
		wake_up_var(&space->nr_live);
}

/* A grace period is over: no look-up has @rcu's object any more.  Its release may sleep. */
static void object_unseen(struct rcu_head *rcu)
{
	struct kdapl_object *obj = container_of(rcu, struct kdapl_object, rcu);

	/* @release_work takes the place of @rcu, with which RCU is done. */
	INIT_WORK(&obj->release_work, object_release);
	queue_work(kdapl_slow_wq_of(obj->space), &obj->release_work);
}

/**
 * kdapl_object_put - drop a reference
 * @obj: not to be used afterwards
 *
 * Any context; the release itself runs later, in process context.
 */
void kdapl_object_put(struct kdapl_object *obj)
{
	if (!refcount_dec_and_test(&obj->ref))
		return;
	call_rcu(&obj->rcu, object_unseen);
}

/**
 * kdapl_object_kill - take no new user, if there is none now
 * @obj: a PZ, EVD, LMR, SRQ
 *
 * Return: 0: kdapl_object_use() fails from here on; -EBUSY: it is used (..._IN_USE); -ESTALE:
 * another caller has killed it, and is about to retire its handle.
 */
int kdapl_object_kill(struct kdapl_object *obj)
{
	int users = atomic_cmpxchg(&obj->users, 0, INT_MIN);

	if (!users)
		return 0;
	return users > 0 ? -EBUSY : -ESTALE;
}

static const u8 handle_types[KDAPL_NR_TYPES] = {
	[KDAPL_IA]  = DAT_HANDLE_TYPE_IA,
	[KDAPL_PZ]  = DAT_HANDLE_TYPE_PZ,
	[KDAPL_LMR] = DAT_HANDLE_TYPE_LMR,
	[KDAPL_RMR] = DAT_HANDLE_TYPE_RMR,
	[KDAPL_EVD] = DAT_HANDLE_TYPE_EVD,
	[KDAPL_EP]  = DAT_HANDLE_TYPE_EP,
	[KDAPL_PSP] = DAT_HANDLE_TYPE_PSP,
	[KDAPL_RSP] = DAT_HANDLE_TYPE_RSP,
	[KDAPL_CR]  = DAT_HANDLE_TYPE_CR,
	[KDAPL_SRQ] = DAT_HANDLE_TYPE_SRQ,
};

/* dat_get_handle_type.  Any context. */
DAT_RETURN kdapl_get_handle_type(struct kdapl_space *space, DAT_HANDLE handle,
				 DAT_HANDLE_TYPE *type)
{
	DAT_RETURN ret = RET_BAD_HANDLE1;
	struct kdapl_object *obj;

	rcu_read_lock();
	obj = kdapl_object_peek(space, handle, 0);
	if (obj && !type) {
		ret = RET_BAD_ARG(2);
	} else if (obj) {
		*type = handle_types[obj->type];
		ret = DAT_SUCCESS;
	}
	rcu_read_unlock();
	return ret;
}

/* dat_get_consumer_context.  Any context. */
DAT_RETURN kdapl_get_context(struct kdapl_space *space, DAT_HANDLE handle,
			     DAT_CONTEXT *context)
{
	DAT_RETURN ret = RET_BAD_HANDLE1;
	struct kdapl_object *obj;

	rcu_read_lock();
	obj = kdapl_object_peek(space, handle, 0);
	if (obj && !context) {
		ret = RET_BAD_ARG(2);
	} else if (obj) {
		context->as_64 = READ_ONCE(obj->context.as_64);
		ret = DAT_SUCCESS;
	}
	rcu_read_unlock();
	return ret;
}

/* dat_set_consumer_context.  Any context. */
DAT_RETURN kdapl_set_context(struct kdapl_space *space, DAT_HANDLE handle,
			     DAT_CONTEXT context)
{
	DAT_RETURN ret = RET_BAD_HANDLE1;
	struct kdapl_object *obj;

	rcu_read_lock();
	obj = kdapl_object_peek(space, handle, 0);
	if (obj) {
		WRITE_ONCE(obj->context.as_64, context.as_64);
		ret = DAT_SUCCESS;
	}
	rcu_read_unlock();
	return ret;
}
