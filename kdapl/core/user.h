/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Users: what each may have, and what is done for him, in all files that he has open (user.c). */
#ifndef KDAPL_USER_H
#define KDAPL_USER_H

#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct kdapl_user;

/* The workqueues of all users who have none of their own. */
extern struct workqueue_struct *kdapl_users_wq;
extern struct workqueue_struct *kdapl_users_close_wq;
extern struct workqueue_struct *kdapl_users_iwarp_wq;

struct kdapl_user *kdapl_user_get(kuid_t uid, u32 max_files, u32 max_objects);
void kdapl_user_put(struct kdapl_user *user);
struct workqueue_struct *kdapl_user_wq(const struct kdapl_user *user);
struct workqueue_struct *kdapl_user_close_wq(const struct kdapl_user *user);
bool kdapl_user_open_iwarp(struct kdapl_user *user);
struct workqueue_struct *kdapl_user_iwarp_wq(const struct kdapl_user *user);
bool kdapl_user_take(struct kdapl_user *user);
void kdapl_user_give(struct kdapl_user *user);
bool kdapl_user_take_room(struct kdapl_user *user);
void kdapl_user_give_room(struct kdapl_user *user);
bool kdapl_user_take_rmr(struct kdapl_user *user);
void kdapl_user_give_rmr(struct kdapl_user *user);
bool kdapl_user_take_id(struct kdapl_user *user);
void kdapl_user_give_id(struct kdapl_user *user);

#endif /* KDAPL_USER_H */
