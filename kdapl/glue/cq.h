/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions of glue/cq.c, most of which are operations of the tables in glue/qp.c; their
 * contracts are in glue.h.
 */
#ifndef KDAPL_CQ_H
#define KDAPL_CQ_H

#include "glue.h"

/* For the tasklets that Soft-RoCE leaves behind (tasklet_barrier()) */
extern struct workqueue_struct *kdapl_barrier_wq;

int kdapl_cq_create(struct kdapl_cq *cq, u32 cqe);
int kdapl_cq_resize(struct kdapl_cq *cq, u32 cqe);
int kdapl_cq_arm(struct kdapl_cq *cq, bool solicited);
int kdapl_cq_pay(struct kdapl_cq *cq);
void kdapl_cq_destroy(struct kdapl_cq *cq);

#endif /* KDAPL_CQ_H */
