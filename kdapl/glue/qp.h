/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions of qp.c that qp_user.c uses, too: they move queue pairs of the kernel and
 * of processes.  And the functions of srq.c, for the tables in qp.c.  The contracts are in
 * glue.h.
 */
#ifndef KDAPL_GLUE_QP_H
#define KDAPL_GLUE_QP_H

#include "glue.h"

/* Estimates of what a driver allocates for a work request, and for each segment of it. */
#define KDAPL_WQE_BYTES	64
#define KDAPL_SGE_BYTES	16

int kdapl_srq_ib_create(struct kdapl_shared_rq *rq, struct ib_pd *pd, u32 max_wr,
			u32 max_sge);
int kdapl_srq_ib_resize(struct kdapl_shared_rq *rq, u32 max_wr);
int kdapl_srq_ib_arm(struct kdapl_shared_rq *rq, u32 limit);
void kdapl_srq_ib_destroy(struct kdapl_shared_rq *rq);

int kdapl_qp_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
		  enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out);
int kdapl_qp_iw_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
		     enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out);
int kdapl_qp_error(struct kdapl_qp *qp);
bool kdapl_qp_seek_answers(struct kdapl_qp *qp);

#endif /* KDAPL_GLUE_QP_H */
