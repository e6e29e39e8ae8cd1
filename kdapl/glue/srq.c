// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues of the kernel: the srq_* operations of kdapl_ib_qp_ops and
 * kdapl_iw_qp_ops, called by core/srq.c.
 */
#include <rdma/ib_verbs.h>
#include "qp.h"
#include "refused.h"

static void srq_event(struct ib_event *event, void *context)
{
	struct kdapl_shared_rq *rq = context;

	rq->event(rq, event->event);
}

static u64 srq_bytes(u32 max_wr, u32 max_sge)
{
	return (u64)max_wr * (KDAPL_WQE_BYTES + KDAPL_SGE_BYTES * max_sge);
}

/* kdapl_qp_ops.srq_create */
int kdapl_srq_ib_create(struct kdapl_shared_rq *rq, struct ib_pd *pd, u32 max_wr,
			u32 max_sge)
{
	struct ib_srq_init_attr init = {
		.event_handler = srq_event,
		.srq_context = rq,
		.attr = { .max_wr = max_wr, .max_sge = max_sge },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *new;
	int ret;

	if (rq->user) {
		ret = kdapl_charge_queue(&rq->charge, rq->dev->ib,
					 srq_bytes(max_wr, max_sge));
		if (ret)
			return ret;
	}
	new = ib_create_srq(pd, &init);
	if (IS_ERR(new)) {
		kdapl_uncharge_queue(&rq->charge, rq->dev->ib);
		return kdapl_refused("srq_create", PTR_ERR(new));
	}
	rq->ib = new;
	rq->max_sge = max_sge;
	/* A driver either sets max_wr to what it has made, or does not change it. */
	rq->size = max(max_wr, init.attr.max_wr);
	return 0;
}

/* kdapl_qp_ops.srq_resize */
int kdapl_srq_ib_resize(struct kdapl_shared_rq *rq, u32 max_wr)
{
	struct ib_srq_attr attr = { .max_wr = max_wr };
	struct kdapl_charge more = {};
	int ret;

	if (rq->user) {
		ret = kdapl_charge_bytes(&more, srq_bytes(max_wr, rq->max_sge));
		if (ret)
			return ret;
	}
	ret = ib_modify_srq(rq->ib, &attr, IB_SRQ_MAX_WR);
	if (ret) {
		kdapl_uncharge_pages(&more);
		return kdapl_refused("srq_resize", ret);
	}
	kdapl_charge_replace(&rq->charge, &more);
	rq->size = max(max_wr, attr.max_wr);
	return 0;
}

/* kdapl_qp_ops.srq_arm */
int kdapl_srq_ib_arm(struct kdapl_shared_rq *rq, u32 limit)
{
	struct ib_srq_attr attr = { .srq_limit = limit };

	return kdapl_refused("srq_arm", ib_modify_srq(rq->ib, &attr, IB_SRQ_LIMIT));
}

/* kdapl_qp_ops.srq_destroy */
void kdapl_srq_ib_destroy(struct kdapl_shared_rq *rq)
{
	ib_destroy_srq(rq->ib);
	rq->ib = NULL;
	kdapl_uncharge_queue(&rq->charge, rq->dev->ib);
}
