/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Users, and how many objects each may have in all files that he has open (user.c). */
#ifndef KDAPL_USER_H
#define KDAPL_USER_H

#include <linux/uidgid.h>

struct kdapl_user;

struct kdapl_user *kdapl_user_get(kuid_t uid, u32 max_objects);
void kdapl_user_put(struct kdapl_user *user);
bool kdapl_user_take(struct kdapl_user *user);
void kdapl_user_give(struct kdapl_user *user);

#endif /* KDAPL_USER_H */
