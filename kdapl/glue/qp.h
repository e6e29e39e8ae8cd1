/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Moving queue pairs, whoever has made them; qp.c for qp_user.c.  And what srq.c
 * contributes to the tables that qp.c puts together; the contracts are in glue.h.
 */
#ifndef KDAPL_GLUE_QP_H
#define KDAPL_GLUE_QP_H

#include "glue.h"

/* What a work request takes in the memory of a driver, about: itself and a segment. */
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
