/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What qp_user.c needs of uverbs: whose a file is, and that a queue pair is not destroyed.  The
 * contracts are in uverbs.c.
 */
#ifndef KDAPL_GLUE_UVERBS_H
#define KDAPL_GLUE_UVERBS_H

#include "glue.h"

/**
 * struct kdapl_user_hold - keeps a queue pair of a process from being destroyed
 * @entry: for qp_user.c
 * @qp: the queue pair
 */
struct kdapl_user_hold {
	struct hlist_node entry;
	struct ib_qp *qp;
};

int kdapl_uverbs_check_file(struct kdapl_device *dev, struct file *uverbs);
struct kdapl_user_hold *kdapl_uverbs_hold(struct kdapl_device *dev, struct file *uverbs,
					  u32 num);
void kdapl_uverbs_let_go(struct kdapl_user_hold *hold);
int kdapl_uverbs_init(void);
void kdapl_uverbs_exit(void);

#endif /* KDAPL_GLUE_UVERBS_H */
