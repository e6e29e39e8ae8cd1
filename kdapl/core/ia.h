/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The Interface Adapter: an opened device port and the root of every object
 * made on it.  ia_open.c opens it and takes it down, ia_query.c says what it can
 * do, ia_async.c has its asynchronous events.  The operations of the core enter its
 * section (ia.c) around whatever touches the device.
 */
#ifndef KDAPL_IA_H
#define KDAPL_IA_H

#include <linux/srcu.h>
#include "core.h"
#include "object.h"
#include "../glue/glue.h"

/*
 * struct kdapl_section - what operations that may touch a device run in (A10)
 * @srcu: whoever closes an adapter, or removes the device, waits for it
 * @dev: device
 * @nr_ias: adapters that use it; under kdapl_space.ia_lock
 * @over: nobody is in it any more, nor will be (kdapl_ia_close_all())
 * @entry: in kdapl_space.sections, if the space is a process's
 *
 * A section has memory for each processor, which no limit of a process counts.  So all adapters
 * that a process has opened on a device share one, however many they are, and the close of one
 * adapter also waits for operations on the others.
 */
struct kdapl_section {
	struct srcu_struct srcu;
	const struct kdapl_device *dev;
	u32 nr_ias;
	bool over;
	struct list_head entry;
};

/*
 * struct kdapl_ia - an open adapter
 * @dev: its device, with a reference; memory stays when the device is removed
 * @qp: the operations on the queue pairs of its endpoints
 * @passthrough: the process has made these queue pairs itself, as well as its memory regions
 *		 and CQs, of which the kernel knows nothing.  Set once, before the first
 *		 object is made; under @lock
 * @own_srqs: in passthrough: the process has queues for SRQs, too; set as @passthrough is
 * @watch: in passthrough: looks at the queue pairs, for processes that do not do so themselves
 * @section: operations that may touch the device run in it
 * @closing: no operation enters any more, and no handle of this IA is found (I15);
 *	     also while the IA is being opened.  Set under @lock
 * @removed: the device is gone; what is left are shells that can be queried,
 *	     dequeued from and freed (E71)
 * @show, @place: in passthrough: how its process is shown whether the device is there; under @lock
 * @lock: the lists of objects
 * @objects: live objects by type (kdapl_object.on_ia)
 * @nr_objects: all of them, @async_evd included if this open made it
 * @nr_unpublished: objects that are being made, and those that never get a handle
 * @last_number: kdapl_object.number of the newest one
 * @teardown_lock: held while the objects are taken down.  A close and the removal of the
 *		   device do that one after the other
 * @async_lock: @async_evd; a leaf
 * @async_evd: made by the open, or brought by the opener (I5), with a use and a
 *	       reference; NULL: DAT_EVD_OUT_OF_SCOPE (I6, I13).  Under
 *	       @async_lock
 * @own_async: the open made @async_evd
 * @lent: another IA has, or had, one of its EVDs as @async_evd; set once
 * @tells_last: an endpoint on an SRQ tells when it takes no more receives (RULING 69); set once
 * @fatal: work item that breaks the EPs after the device has reported a fatal error
 * @on_dev: entry in kdapl_device.ias
 * @charge: of an open device, to the process that opened it; under @teardown_lock
 * @addr: address of the port when it was opened
 * @locals: struct kdapl_local: addresses of the port that connections have used
 * @locals_lock: protects @locals, which only grows; a leaf
 * @name: registry name when it was opened
 * @keys: RMRs whose keys messages may invalidate (rmr_lmr.c), by the part that does not change
 * @linger: connections that are over for their endpoints, and whose CM ids are still there
 *	    (core/conn_work.c)
 * @linger_lock: protects @linger; a leaf
 */
struct kdapl_ia {
	struct kdapl_object obj;
	struct kdapl_device *dev;
	const struct kdapl_qp_ops *qp;
	bool passthrough;
	bool own_srqs;
	struct delayed_work watch;
	kdapl_show_fn *show;
	void *place;
	struct kdapl_section *section;
	bool closing;
	bool removed;
	struct mutex lock;
	struct list_head objects[KDAPL_NR_TYPES];
	u32 nr_objects;
	u32 nr_unpublished;
	u64 last_number;
	struct mutex teardown_lock;
	spinlock_t async_lock;
	struct kdapl_evd *async_evd;
	bool own_async;
	bool lent;
	bool tells_last;
	struct work_struct fatal;
	struct list_head on_dev;
	struct kdapl_charge charge;
	struct sockaddr_storage addr;
	struct list_head locals;
	spinlock_t locals_lock;
	struct xarray keys;
	struct list_head linger;
	spinlock_t linger_lock;
	char name[DAT_NAME_MAX_LENGTH];
};

/*
 * struct kdapl_local - an address of the port of an IA, to which events and EPs point
 * @link: in kdapl_ia.locals; it stays as long as the IA
 * @address: with port 0
 */
struct kdapl_local {
	struct list_head link;
	struct sockaddr_storage address;
};

/* Has the process made the queue pairs of @ia itself?  Any context. */
static inline bool kdapl_ia_is_passthrough(const struct kdapl_ia *ia)
{
	/* Pairs with kdapl_ia_passthrough(): @qp and @watch are those of the mode. */
	return smp_load_acquire(&ia->passthrough);
}

/**
 * kdapl_peek_begin - begin an RCU read section on the data path
 *
 * In it a handle is looked up and the lock of what it names is taken, by spin_lock().  Interrupts
 * have to be off under that lock, and are turned off here, because that begins an RCU read
 * section as well and costs less than rcu_read_lock().  With PREEMPT_RT they stay on: a spinlock
 * may sleep there, and completion handlers, against which it is taken so, are threads.  Any
 * context.
 *
 * Return: for kdapl_peek_end().
 */
static __always_inline unsigned long kdapl_peek_begin(void)
	__acquires(RCU)
{
	unsigned long flags = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		rcu_read_lock();
	} else {
		local_irq_save(flags);
		__acquire(RCU);
	}
	return flags;
}

/**
 * kdapl_peek_end - end the section
 * @flags: from kdapl_peek_begin()
 */
static __always_inline void kdapl_peek_end(unsigned long flags)
	__releases(RCU)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		rcu_read_unlock();
	} else {
		__release(RCU);
		local_irq_restore(flags);
	}
}

/**
 * kdapl_object_peek - look a handle up, without a reference
 * @space: in which the handle is valid
 * @handle: any value at all
 * @type: what it must be; 0 for any type
 *
 * Caller is in an RCU read section, as kdapl_peek_begin() begins one: the object's memory stays
 * until the end of that.  The object may be retired at any moment; only under its own lock can be
 * seen whether it still works.  Any context.
 *
 * Return: the object, or NULL: freed, forged, foreign, of another type, or its
 * IA is closing (E5, I15).
 */
static inline struct kdapl_object *kdapl_object_peek(const struct kdapl_space *space,
						     DAT_HANDLE handle,
						     enum kdapl_type type)
{
	u64 token = (uintptr_t)handle;
	struct kdapl_object *obj;

	if (unlikely(type && token >> 56 != type))
		return NULL;
	obj = kdapl_slot_object(space, token);
	if (unlikely(!obj || obj->token != token || READ_ONCE(obj->ia->closing)))
		return NULL;
	return obj;
}

/*
 * uDAPL's values of *async_evd_handle that are no handles (I6); see
 * <dat/udat.h>.
 */
#define KDAPL_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)1)
#define KDAPL_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)2)

/*
 * kdapl_ia_enter - enter the section of @ia
 * @idx: for kdapl_ia_leave()
 *
 * May sleep inside.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE (without subtype:
 * the caller says whose) when the IA is closing; DAT_INVALID_STATE when the
 * device is gone (E71).  Only on DAT_SUCCESS the section was entered.
 */
DAT_RETURN kdapl_ia_enter(struct kdapl_ia *ia, int *idx);
/* The same for operations that also work on a shell: frees, queries. */
DAT_RETURN kdapl_ia_enter_shell(struct kdapl_ia *ia, int *idx);

static inline void kdapl_ia_leave(struct kdapl_ia *ia, int idx)
{
	__acquire(&ia->section->srcu);	/* see kdapl_ia_enter_shell() */
	srcu_read_unlock(&ia->section->srcu, idx);
}

struct kdapl_section *kdapl_section_get(struct kdapl_space *space,
					struct kdapl_device *dev);
void kdapl_section_put(struct kdapl_space *space, struct kdapl_section *section);

struct kdapl_object *kdapl_ia_next_object(struct kdapl_ia *ia,
					  enum kdapl_type type,
					  struct kdapl_object *prev);
void kdapl_ia_set_link(struct sockaddr_storage *to, const struct rdma_addr *addr);
struct sockaddr_storage *kdapl_ia_address(struct kdapl_ia *ia, const struct rdma_addr *addr);

/* An asynchronous error to every async EVD of @ia (E75); may sleep, not for memory. */
void kdapl_ia_report(struct kdapl_ia *ia, u32 number, DAT_COUNT reason);
void kdapl_ia_async_event(struct kdapl_ia *ia, u32 number, DAT_HANDLE handle,
			  DAT_COUNT reason);
/* Shows the process of @ia nothing more: the place may soon be that of another object. */
void kdapl_ia_view_end(struct kdapl_ia *ia);
/* The device of @ia is gone (E71), as its process is shown from here on.  May sleep. */
void kdapl_ia_set_removed(struct kdapl_ia *ia);
/* The device is being removed: called for each of its IAs, may sleep. */
void kdapl_ia_device_gone(struct kdapl_ia *ia);

#endif /* KDAPL_IA_H */
