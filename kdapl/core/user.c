// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Users.  The limit of one open file limits nobody who can open the file again, so
 * there is a second one, for all files that a user has open.
 *
 * Callers: face/dev.c, which opens files; object.c, which counts objects.
 */
#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "user.h"

/*
 * struct kdapl_user - somebody who has files open
 * @uid: who
 * @files: how many, under users_lock
 * @left: objects that he may have yet
 */
struct kdapl_user {
	kuid_t uid;
	u32 files;
	atomic_t left;
};

static DEFINE_MUTEX(users_lock);	/* users, kdapl_user.files */
static DEFINE_XARRAY(users);		/* by number */

static struct kdapl_user *user_add(kuid_t uid, u32 max_objects)
{
	struct kdapl_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&users_lock);
	if (!user)
		return NULL;
	user->uid = uid;
	atomic_set(&user->left, min_t(u32, max_objects, INT_MAX));
	if (!xa_is_err(xa_store(&users, __kuid_val(uid), user, GFP_KERNEL)))
		return user;
	kfree(user);
	return NULL;
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
 * kdapl_user_put - he closes it
 * @user: from kdapl_user_get(); no object of that file counts any more
 *
 * May sleep.
 */
void kdapl_user_put(struct kdapl_user *user)
{
	mutex_lock(&users_lock);
	if (!--user->files) {
		xa_erase(&users, __kuid_val(user->uid));
		kfree(user);
	}
	mutex_unlock(&users_lock);
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
 * @user: as taken
 *
 * Any context.
 */
void kdapl_user_give(struct kdapl_user *user)
{
	atomic_inc(&user->left);
}
