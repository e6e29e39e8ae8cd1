/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Moving queue pairs, whoever has made them; qp.c for qp_user.c. */
#ifndef KDAPL_GLUE_QP_H
#define KDAPL_GLUE_QP_H

#include "glue.h"

int kdapl_qp_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
		  enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out);
int kdapl_qp_iw_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
		     enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out);
int kdapl_qp_error(struct kdapl_qp *qp);
bool kdapl_qp_seek_answers(struct kdapl_qp *qp);

#endif /* KDAPL_GLUE_QP_H */
