// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Users.  A user could evade the limit of an open file by opening the file again, so there is
 * also a limit for all files that a user has open.  Work that is done later for his processes,
 * the closes of his files, and calls of an iWARP driver that wait, run in workqueues of his
 * own, so that nobody else waits behind them.
 *
 * Callers: face/dev.c, which opens files; object.c, which counts objects, rmr.c RMRs, and sp.c ids;
 * ia_open.c and conn.c, and object.h for whatever puts work on a workqueue.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
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
 * workqueue takes memory that no limit counts, up to some 10 KiB on large hosts, a user has up
 * to three of them, and whoever has a user namespace can act as very many users.
 */
#define USERS_WITH_QUEUES	1000

/*
 * Attempts of one user that wait for an iWARP driver at once.  Each occupies a kernel thread
 * for as long as the driver waits for the peer's TCP.
 */
#define IWARP_ATTEMPTS	32

/*
 * Files of one user that are being closed by kernel threads at once.  A close waits for the
 * local device alone, but where that is an iWARP driver it may be for long, and threads are the
 * host's.
 */
#define CLOSING_AT_ONCE	8

/*
 * struct kdapl_user - somebody who has files open
 * @entry: in users
 * @uid: who
 * @files: how many he has open, those that are being closed counted in; under users_lock
 * @left: how many more objects he may have
 * @room: how many more objects may have memory, freed ones among them
 * @rmrs_left: how many more RMRs he may have
 * @ids_left: how many more CM ids may listen for him
 * @wq: kdapl_user_wq(); NULL: he has no workqueues of his own
 * @close_wq: kdapl_user_close_wq(); there if @wq is
 * @iwarp_wq: kdapl_user_iwarp_wq(); set once
 * @end: user_end()
 */
struct kdapl_user {
	struct hlist_node entry;
	kuid_t uid;
	u32 files;
	atomic_t left;
	atomic_t room;
	atomic_t rmrs_left;
	atomic_t ids_left;
	struct workqueue_struct *wq;
	struct workqueue_struct *close_wq;
	struct workqueue_struct *iwarp_wq;
	struct work_struct end;
};

/*
 * All users, by their uids.  users_lock also protects kdapl_user.files.  It is a spinlock: a
 * process that opens or closes a file may have to wait for its turn to run, or for memory, and
 * nobody else must wait with it.
 */
static DEFINE_HASHTABLE(users, 10);
static DEFINE_SPINLOCK(users_lock);
static u32 users_with_queues;		/* under users_lock */

/* ---- a user's workqueues -------------------------------------------- */

static bool queues_reserve(void)
{
	bool ret;

	spin_lock(&users_lock);
	ret = users_with_queues < USERS_WITH_QUEUES;
	users_with_queues += ret;
	spin_unlock(&users_lock);
	return ret;
}

static void queues_release(void)
{
	spin_lock(&users_lock);
	users_with_queues--;
	spin_unlock(&users_lock);
}

static void user_destroy_queues(struct kdapl_user *user)
{
	if (user->iwarp_wq)
		destroy_workqueue(user->iwarp_wq);
	if (user->close_wq)
		destroy_workqueue(user->close_wq);
	if (user->wq)
		destroy_workqueue(user->wq);
}

/* Without memory for both he has none of his own. */
static void user_make_queues(struct kdapl_user *user)
{
	unsigned int uid = __kuid_val(user->uid);

	if (!queues_reserve())
		return;
	user->close_wq = alloc_workqueue("kdapl_close_%u", WQ_UNBOUND, CLOSING_AT_ONCE, uid);
	if (user->close_wq)
		user->wq = alloc_workqueue("kdapl_user_%u", WQ_UNBOUND, 0, uid);
	if (user->wq)
		return;
	user_destroy_queues(user);
	user->close_wq = NULL;
	queues_release();
}

/* ---- users ---------------------------------------------------------- */

static void user_free(struct kdapl_user *user)
{
	bool had_queues = user->wq;

	user_destroy_queues(user);
	kfree(user);
	if (had_queues)
		queues_release();
}

/*
 * The last file of a user is closed.  That may have been done on one of his workqueues, which
 * cannot be destroyed there.
 */
static void user_end(struct work_struct *work)
{
	user_free(container_of(work, struct kdapl_user, end));
}

static struct kdapl_user *user_alloc(kuid_t uid, u32 max_objects)
{
	struct kdapl_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->uid = uid;
	atomic_set(&user->left, min_t(u32, max_objects, INT_MAX));
	atomic_set(&user->room, min_t(u64, 2ULL * max_objects + USER_MORE_FREED, INT_MAX));
	atomic_set(&user->rmrs_left, USER_MAX_RMRS);
	atomic_set(&user->ids_left, USER_MAX_IDS);
	INIT_WORK(&user->end, user_end);
	user_make_queues(user);
	return user;
}

/*
 * The user, counted for one file more; NULL: he has none open; ERR_PTR(-EMFILE): he has as many
 * as he may have.
 */
static struct kdapl_user *user_find(kuid_t uid, u32 max_files)
{
	struct kdapl_user *user;

	lockdep_assert_held(&users_lock);
	hash_for_each_possible(users, user, entry, __kuid_val(uid)) {
		if (!uid_eq(user->uid, uid))
			continue;
		if (user->files >= max_files)
			return ERR_PTR(-EMFILE);
		user->files++;
		return user;
	}
	return NULL;
}

/**
 * kdapl_user_get - a user opens a file
 * @uid: who
 * @max_files: how many he may have open
 * @max_objects: objects that he may have in all his files, if this is his first one
 *
 * May sleep.  Return: undone by kdapl_user_put(); or an error pointer: -ENOMEM; -EMFILE: he has
 * as many files as he may have.
 */
struct kdapl_user *kdapl_user_get(kuid_t uid, u32 max_files, u32 max_objects)
{
	struct kdapl_user *user, *fresh;

	if (!max_files)
		return ERR_PTR(-EMFILE);
	spin_lock(&users_lock);
	user = user_find(uid, max_files);
	spin_unlock(&users_lock);
	if (user)
		return user;
	fresh = user_alloc(uid, max_objects);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	spin_lock(&users_lock);
	/* Another process of the same user may have been faster. */
	user = user_find(uid, max_files);
	if (!user) {
		fresh->files = 1;
		hash_add(users, &fresh->entry, __kuid_val(uid));
	}
	spin_unlock(&users_lock);
	if (!user)
		return fresh;
	user_free(fresh);
	return user;
}

/**
 * kdapl_user_put - a user has closed a file
 * @user: from kdapl_user_get(); no object of that file is left
 *
 * May sleep; a work item on one of his workqueues may call it.
 */
void kdapl_user_put(struct kdapl_user *user)
{
	bool last;

	spin_lock(&users_lock);
	last = !--user->files;
	if (last)
		hash_del(&user->entry);
	spin_unlock(&users_lock);
	if (last)
		queue_work(kdapl_users_wq, &user->end);
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
 * kdapl_user_close_wq - the workqueue on which a user's files are closed
 * @user: has a file open
 *
 * For those that another process than their opener closes last.  What runs there does not wait
 * for peers, and may wait for work on kdapl_user_wq() and kdapl_user_iwarp_wq().  If a user
 * closes very many files, his own closes wait for each other, and he does not take the threads
 * that others need.  Any context.
 */
struct workqueue_struct *kdapl_user_close_wq(const struct kdapl_user *user)
{
	return user->close_wq ?: kdapl_users_close_wq;
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
