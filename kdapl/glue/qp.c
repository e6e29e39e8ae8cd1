// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs owned by the kernel: kdapl_ib_qp_ops and kdapl_iw_qp_ops, called by
 * core/conn.c, core/conn_qp.c, core/drain.c and core/post.c.  Queue pairs of processes are
 * in qp_user.c, which uses the functions of this file to move them.
 *
 * A queue pair is made without rdma_cm, and moved with the attributes that
 * rdma_init_qp_attr() gives (A7, facts 6).  It is in INIT from the start, so that
 * receives can be posted to it before there is a peer.
 */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "cq.h"
#include "driver.h"
#include "qp.h"
#include "refused.h"

/* In InfiniBand 7 receiver-not-ready retries mean: without limit (mt:T51). */
#define RNR_RETRY_INFINITE	7

/*
 * A queue pair allows every kind of remote access that the device has.  The memory regions decide
 * what the peer may reach.
 */
static int qp_access(const struct kdapl_qp *qp)
{
	return IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
	       (qp->dev->answers_atomics ? IB_ACCESS_REMOTE_ATOMIC : 0);
}

static void qp_event(struct ib_event *event, void *context)
{
	struct kdapl_qp *qp = context;

	if (qp->event)
		qp->event(qp, event->event);
}

static int qp_to_init(struct kdapl_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = 0,
		.port_num = qp->dev->port,
		.qp_access_flags = qp_access(qp),
	};
	int ret;

	ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	return kdapl_refused("qp_init", ret);
}

static void qp_destroy(struct kdapl_qp *qp)
{
	kdapl_refused("qp_destroy", ib_destroy_qp(qp->ib));
	qp->ib = NULL;
	kdapl_uncharge_queue(&qp->charge, qp->dev->ib);
}

static u64 qp_bytes(const struct kdapl_qp_init *init)
{
	return (u64)init->max_send_wr *
	       (KDAPL_WQE_BYTES + KDAPL_SGE_BYTES * init->max_send_sge) +
	       (u64)init->max_recv_wr *
	       (KDAPL_WQE_BYTES + KDAPL_SGE_BYTES * init->max_recv_sge);
}

static int qp_pay(struct kdapl_qp *qp, const struct kdapl_qp_init *init)
{
	int ret;

	if (!init->user)
		return 0;
	ret = kdapl_cq_pay(init->send_cq) ?: kdapl_cq_pay(init->recv_cq);
	return ret ?: kdapl_charge_queue(&qp->charge, qp->dev->ib, qp_bytes(init));
}

static int qp_create(struct kdapl_qp *qp, const struct kdapl_qp_init *init)
{
	struct ib_qp_init_attr attr = {
		.event_handler = qp_event,
		.qp_context = qp,
		.send_cq = init->send_cq->ib,
		.recv_cq = init->recv_cq->ib,
		.srq = init->srq ? init->srq->ib : NULL,
		.cap = {
			.max_send_wr = init->max_send_wr,
			.max_recv_wr = init->max_recv_wr,
			.max_send_sge = init->max_send_sge,
			.max_recv_sge = init->max_recv_sge,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *new;
	int ret;

	ret = qp_pay(qp, init);
	if (ret)
		return ret;
	new = ib_create_qp(init->pd, &attr);
	if (IS_ERR(new)) {
		kdapl_uncharge_queue(&qp->charge, qp->dev->ib);
		return kdapl_refused("qp_create", PTR_ERR(new));
	}
	qp->ib = new;

	ret = qp_to_init(qp);
	if (ret) {
		qp_destroy(qp);
		return ret;
	}
	qp->num = new->qp_num;
	return 0;
}

/*
 * Sets the attributes of INIT once more.  When the queue pair was made, the path to the peer
 * was not known, and so its partition (P_Key) was not either.  The handshake has found both.
 */
static int qp_confirm_init(struct kdapl_qp *qp, struct rdma_cm_id *id)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	int mask, ret;

	ret = rdma_init_qp_attr(id, &attr, &mask);
	if (ret)
		return kdapl_refused("qp_attr_init", ret);
	attr.qp_access_flags = qp_access(qp);
	ret = ib_modify_qp(qp->ib, &attr, mask);
	return kdapl_refused("qp_confirm_init", ret);
}

static int qp_check_port(const struct kdapl_qp *qp, const struct rdma_cm_id *id)
{
	if (id->device != qp->dev->ib || id->port_num != qp->dev->port)
		return kdapl_refused("qp_move_port", -ENODEV);
	return 0;
}

/* kdapl_qp_ops.move, for queue pairs of the kernel and of processes */
int kdapl_qp_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
		  enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out)
{
	struct ib_qp_attr attr = { .qp_state = state };
	bool rtr = state == IB_QPS_RTR;
	int mask, ret;

	ret = qp_check_port(qp, id);
	if (ret)
		return ret;
	if (rtr) {
		ret = qp_confirm_init(qp, id);
		if (ret)
			return ret;
	}

	ret = rdma_init_qp_attr(id, &attr, &mask);
	if (ret)
		return kdapl_refused(rtr ? "qp_attr_rtr" : "qp_attr_rts", ret);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic = rd_atomic_in;
	/* attr has what the peer has granted, which may be less than was asked for. */
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic = min(rd_atomic_out, attr.max_rd_atomic);
	if (mask & IB_QP_RNR_RETRY)
		attr.rnr_retry = RNR_RETRY_INFINITE;
	ret = ib_modify_qp(qp->ib, &attr, mask);
	return kdapl_refused(rtr ? "qp_rtr" : "qp_rts", ret);
}

/* The same on iWARP, where rdma_connect() and rdma_accept() make the driver move it. */
int kdapl_qp_iw_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
		     enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out)
{
	return qp_check_port(qp, id);
}

/* kdapl_qp_ops.error, for queue pairs of the kernel and of processes */
int kdapl_qp_error(struct kdapl_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE);

	return kdapl_refused("qp_error", ret);
}

/* A queue pair that cannot even be queried counts as broken. */
static bool qp_in_error(struct kdapl_qp *qp)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int ret = ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init);

	if (kdapl_refused("qp_query", ret))
		return true;
	return attr.qp_state == IB_QPS_ERR || attr.qp_state == IB_QPS_SQE;
}

/*
 * kdapl_qp_ops.seek_answers, for queue pairs of the kernel and of processes.  A driver that
 * puts answers aside processes them when the queue pair is moved to SQD.
 */
bool kdapl_qp_seek_answers(struct kdapl_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };

	if (!kdapl_driver_puts_aside(qp->dev->ib))
		return false;
	return !kdapl_refused("qp_drain", ib_modify_qp(qp->ib, &attr, IB_QP_STATE));
}

const struct kdapl_qp_ops kdapl_ib_qp_ops = {
	.cq_create = kdapl_cq_create,
	.cq_resize = kdapl_cq_resize,
	.cq_arm = kdapl_cq_arm,
	.cq_destroy = kdapl_cq_destroy,
	.create = qp_create,
	.move = kdapl_qp_move,
	.error = kdapl_qp_error,
	.in_error = qp_in_error,
	.seek_answers = kdapl_qp_seek_answers,
	.destroy = qp_destroy,
	.srq_create = kdapl_srq_ib_create,
	.srq_resize = kdapl_srq_ib_resize,
	.srq_arm = kdapl_srq_ib_arm,
	.srq_destroy = kdapl_srq_ib_destroy,
};

const struct kdapl_qp_ops kdapl_iw_qp_ops = {
	.cq_create = kdapl_cq_create,
	.cq_resize = kdapl_cq_resize,
	.cq_arm = kdapl_cq_arm,
	.cq_destroy = kdapl_cq_destroy,
	.create = qp_create,
	.move = kdapl_qp_iw_move,
	.error = kdapl_qp_error,
	.in_error = qp_in_error,
	.seek_answers = kdapl_qp_seek_answers,
	.destroy = qp_destroy,
	.srq_create = kdapl_srq_ib_create,
	.srq_resize = kdapl_srq_ib_resize,
	.srq_arm = kdapl_srq_ib_arm,
	.srq_destroy = kdapl_srq_ib_destroy,
};
