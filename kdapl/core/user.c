// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Users.  A user could evade the limit of an open file by opening the file again, so there is
 * also a limit for all files that a user has open.  Work that is done later for his processes,
 * and calls of an iWARP driver that wait, run in workqueues of his own, so that nobody else
 * waits behind them.
 *
 * Callers: face/dev.c, which opens files; object.c, which counts objects, rmr.c RMRs, and sp.c ids;
 * ia_open.c and conn.c, and object.h for whatever puts work on a workqueue.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "user.h"

/*
 * RMRs of one user.  Each is two memory regions of a device, whose tables no limit counts.
 * With most drivers so many take some 100 MiB.
 */
#define USER_MAX_RMRS	8192

/*
 * CM ids that listen for one user: a service point has one for each address of its port.  What
 * they take no limit counts: some KiB each, and on iWARP up to 80 KiB, for requests to come.
 */
#define USER_MAX_IDS	8192

/*
 * An object that was freed keeps its memory as long as an event or a completion names it, and
 * until RCU is done with it.  So there may be more objects with memory than objects: twice as
 * many as a user may have at once, and these.
 */
#define USER_MORE_FREED	4096

/*
 * So many users at once have workqueues of their own; others share those of the module.  A
 * workqueue takes memory that no limit counts, up to some 10 KiB on large hosts, and whoever has
 * a user namespace can act as very many users.
 */
#define USERS_WITH_QUEUES	1000

/*
 * Attempts of one user that wait for an iWARP driver at once.  Each occupies a kernel thread
 * for as long as the driver waits for the peer's TCP.
 */
#define IWARP_ATTEMPTS	32

/*
 * Files of one user that are being closed by kernel threads at once.  Each close may wait for
 * peers, or for an iWARP driver, and there are only so many threads for all users.
 */
#define CLOSING_AT_ONCE	8

/*
 * struct kdapl_user - somebody who has files open
 * @uid: who
 * @files: how many he has open, and how many are being closed; under users_lock
 * @left: how many more objects he may have
 * @room: how many more objects may have memory, freed ones among them
 * @rmrs_left: how many more RMRs he may have
 * @ids_left: how many more CM ids may listen for him
 * @wq: kdapl_user_wq(); NULL: he has no workqueues of his own
 * @iwarp_wq: kdapl_user_iwarp_wq(); set once
 * @closing_lock: protects the rest; taken in process context
 * @nr_closing: files that are being closed by kernel threads
 * @closing: struct kdapl_closing: files that wait for their turn
 */
struct kdapl_user {
	kuid_t uid;
	u32 files;
	atomic_t left;
	atomic_t room;
	atomic_t rmrs_left;
	atomic_t ids_left;
	struct workqueue_struct *wq;
	struct workqueue_struct *iwarp_wq;
	spinlock_t closing_lock;
	u32 nr_closing;
	struct list_head closing;
};

static DEFINE_MUTEX(users_lock);	/* users, kdapl_user.files */
static DEFINE_XARRAY(users);		/* by uid */
static u32 users_with_queues;		/* under users_lock */

static struct kdapl_user *user_add(kuid_t uid, u32 max_objects)
{
	/*
	 * Not charged: a process at the limit of its memory cgroup would wait for memory with
	 * the lock held, and so would all others who open the file.
	 */
	struct kdapl_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	lockdep_assert_held(&users_lock);
	if (!user)
		return NULL;
	user->uid = uid;
	atomic_set(&user->left, min_t(u32, max_objects, INT_MAX));
	atomic_set(&user->room, min_t(u64, 2ULL * max_objects + USER_MORE_FREED, INT_MAX));
	atomic_set(&user->rmrs_left, USER_MAX_RMRS);
	atomic_set(&user->ids_left, USER_MAX_IDS);
	spin_lock_init(&user->closing_lock);
	INIT_LIST_HEAD(&user->closing);
	if (xa_is_err(xa_store(&users, __kuid_val(uid), user, GFP_KERNEL))) {
		kfree(user);
		return NULL;
	}
	if (users_with_queues < USERS_WITH_QUEUES)
		user->wq = alloc_workqueue("kdapl_user_%u", WQ_UNBOUND, 0,
					   __kuid_val(uid));
	users_with_queues += !!user->wq;
	return user;
}

/**
 * kdapl_user_get - a user opens a file
 * @uid: who
 * @max_objects: objects that he may have in all his files, if this is his first one
 *
 * May sleep.  Return: undone by kdapl_user_put(); NULL: no memory.
 */
struct kdapl_user *kdapl_user_get(kuid_t uid, u32 max_objects)
{
	struct kdapl_user *user;

	mutex_lock(&users_lock);
	user = xa_load(&users, __kuid_val(uid)) ?: user_add(uid, max_objects);
	if (user)
		user->files++;
	mutex_unlock(&users_lock);
	return user;
}

/**
 * kdapl_user_put - a user has closed a file
 * @user: from kdapl_user_get(); no object of that file is left
 *
 * May sleep.
 */
void kdapl_user_put(struct kdapl_user *user)
{
	bool last;

	mutex_lock(&users_lock);
	last = !--user->files;
	if (last) {
		xa_erase(&users, __kuid_val(user->uid));
		users_with_queues -= !!user->wq;
	}
	mutex_unlock(&users_lock);
	if (!last)
		return;
	if (user->iwarp_wq)
		destroy_workqueue(user->iwarp_wq);
	if (user->wq)
		destroy_workqueue(user->wq);
	kfree(user);
}

static void closing_work(struct work_struct *work)
{
	struct kdapl_closing *closing = container_of(work, struct kdapl_closing, work);
	struct kdapl_user *user = closing->user;

	closing->close(closing);
	spin_lock(&user->closing_lock);
	closing = list_first_entry_or_null(&user->closing, struct kdapl_closing, entry);
	if (closing)
		list_del(&closing->entry);
	else
		user->nr_closing--;
	spin_unlock(&user->closing_lock);
	if (closing)
		queue_work(closing->wq, &closing->work);
	kdapl_user_put(user);
	module_put(THIS_MODULE);
}

/**
 * kdapl_user_close - have a kernel thread close a file
 * @user: whose
 * @wq: where; serves all users
 * @closing: of the file; @close is set
 *
 * If a user closes very many files, his own closes wait for each other, and he does not take
 * the threads that others need.  Until the close has ended it holds a reference of the module,
 * so that nobody has to wait for it in the unloading.  That destroys @wq, and so waits until
 * the code at the end of the last close has returned.  The caller has a reference of the
 * module.  May sleep.
 */
void kdapl_user_close(struct kdapl_user *user, struct workqueue_struct *wq,
		      struct kdapl_closing *closing)
{
	bool now;

	__module_get(THIS_MODULE);
	INIT_WORK(&closing->work, closing_work);
	closing->wq = wq;
	closing->user = user;
	mutex_lock(&users_lock);
	user->files++;
	mutex_unlock(&users_lock);
	spin_lock(&user->closing_lock);
	now = user->nr_closing < CLOSING_AT_ONCE;
	if (now)
		user->nr_closing++;
	else
		list_add_tail(&closing->entry, &user->closing);
	spin_unlock(&user->closing_lock);
	if (now)
		queue_work(wq, &closing->work);
}

/**
 * kdapl_user_uid - who is it?
 * @user: has a file open
 *
 * Any context.
 */
kuid_t kdapl_user_uid(const struct kdapl_user *user)
{
	return user->uid;
}

/**
 * kdapl_user_wq - the workqueue for what is done later for a user's processes
 * @user: has a file open
 *
 * Any context.
 */
struct workqueue_struct *kdapl_user_wq(const struct kdapl_user *user)
{
	return user->wq ?: kdapl_users_wq;
}

/**
 * kdapl_user_open_iwarp - a user opens an iWARP adapter
 * @user: whose process it is
 *
 * From here on kdapl_user_iwarp_wq() is his own, unless he has no workqueues of his own.  May
 * sleep.
 *
 * Return: false: no memory.
 */
bool kdapl_user_open_iwarp(struct kdapl_user *user)
{
	struct workqueue_struct *wq;

	if (!user->wq || READ_ONCE(user->iwarp_wq))
		return true;
	wq = alloc_workqueue("kdapl_iwarp_%u", WQ_UNBOUND, IWARP_ATTEMPTS,
			     __kuid_val(user->uid));
	if (!wq)
		return false;
	/* Another process of the same user may have been faster. */
	if (cmpxchg(&user->iwarp_wq, NULL, wq))
		destroy_workqueue(wq);
	return true;
}

/**
 * kdapl_user_iwarp_wq - the workqueue in which a user's calls wait for iWARP drivers
 * @user: has opened such an adapter (kdapl_user_open_iwarp())
 *
 * Whoever connects to hosts that do not answer fills it for minutes.  Nobody waits for that but
 * this user, or, where it is shared, attempts of those who share it.  Any context.
 */
struct workqueue_struct *kdapl_user_iwarp_wq(const struct kdapl_user *user)
{
	return user->iwarp_wq ?: kdapl_users_iwarp_wq;
}

/**
 * kdapl_user_take - count an object
 * @user: whose
 *
 * Any context.  Return: false: he has as many as he may have.
 */
bool kdapl_user_take(struct kdapl_user *user)
{
	return atomic_dec_if_positive(&user->left) >= 0;
}

/**
 * kdapl_user_give - an object does not count any more
 * @user: that of kdapl_user_take()
 *
 * Any context.
 */
void kdapl_user_give(struct kdapl_user *user)
{
	atomic_inc(&user->left);
}

/**
 * kdapl_user_take_room - an object is to get memory
 * @user: whose
 *
 * Any context.  Return: false: too many have memory.  He has freed objects, but not taken the
 * events that name them.
 */
bool kdapl_user_take_room(struct kdapl_user *user)
{
	return atomic_dec_if_positive(&user->room) >= 0;
}

/**
 * kdapl_user_give_room - an object has no memory any more
 * @user: that of kdapl_user_take_room()
 *
 * Any context.
 */
void kdapl_user_give_room(struct kdapl_user *user)
{
	atomic_inc(&user->room);
}

/**
 * kdapl_user_take_rmr - count an RMR
 * @user: whose
 *
 * Any context.  Return: false: he has as many as he may have.
 */
bool kdapl_user_take_rmr(struct kdapl_user *user)
{
	return atomic_dec_if_positive(&user->rmrs_left) >= 0;
}

/**
 * kdapl_user_give_rmr - an RMR has nothing of the device any more
 * @user: that of kdapl_user_take_rmr()
 *
 * Any context.
 */
void kdapl_user_give_rmr(struct kdapl_user *user)
{
	atomic_inc(&user->rmrs_left);
}

/**
 * kdapl_user_take_id - count a CM id that is to listen
 * @user: whose
 *
 * Any context.  Return: false: as many listen for him as may.
 */
bool kdapl_user_take_id(struct kdapl_user *user)
{
	return atomic_dec_if_positive(&user->ids_left) >= 0;
}

/**
 * kdapl_user_give_id - a CM id that listened is destroyed
 * @user: that of kdapl_user_take_id()
 *
 * Any context.
 */
void kdapl_user_give_id(struct kdapl_user *user)
{
	atomic_inc(&user->ids_left);
}
