// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue pair of a connection: made at connect or accept with the PZ, EVDs and
 * limits of the endpoint, and destroyed once nothing is posted on it any more.
 *
 * A queue pair that a process has made is bound to the endpoint before (passthrough.c), and
 * the connection takes it over.  Who lets go of it, when, and under which lock is told in
 * Documentation/life-of-a-connection.rst, Queue pairs of a process.
 *
 * Callers: ep_connect.c and conn_cm.c (the active side), cr.c (the passive side),
 * conn_work.c (the end), drain.c (the end with a device that does not flush), ep.c and
 * passthrough.c (queue pairs of processes).
 */
#include <linux/sched/mm.h>
#include "conn.h"
#include "ep.h"
#include "ep_attr.h"
#include "ep_view.h"
#include "evd_cq.h"
#include "ia.h"
#include "lmr.h"
#include "srq.h"
#include "../trace.h"

static const struct kdapl_qp_ops *qp_ops(const struct kdapl_conn *conn)
{
	return conn->ia->qp;
}

/* ---- queue pairs of processes --------------------------------------- */

/* Lets go of a process's queue pair.  Returns the KDAPL_VIEW_* that it is to be shown. */
static u32 qp_let_go(const struct kdapl_ia *ia, struct kdapl_qp *qp)
{
	u32 flags = KDAPL_VIEW_UNBOUND;

	if (!ia->qp->error(qp))
		flags |= KDAPL_VIEW_ERROR;
	ia->qp->destroy(qp);
	return flags;
}

/**
 * kdapl_ep_take_qp - bind a queue pair that the process has made
 * @ep: on an adapter in passthrough; has none, and its use_lock is held
 * @init: names it
 *
 * The caller is in the IA's section.  May sleep.  Return: 0, or an errno of
 * kdapl_qp_ops.create.
 */
int kdapl_ep_take_qp(struct kdapl_ep *ep, const struct kdapl_qp_init *init)
{
	struct kdapl_ia *ia = ep->obj.ia;
	int ret;

	lockdep_assert_held(&ep->use_lock);
	ep->bound.dev = ia->dev;
	ret = ia->qp->create(&ep->bound, init);
	if (ret)
		return ret;
	spin_lock_irq(&ep->lock);
	/* Never 0, which means that nothing was bound. */
	ep->bind_life = (ep->bind_life + 1) ?: 1;
	ep->view_flags = 0;
	kdapl_ep_view_update(ep);
	spin_unlock_irq(&ep->lock);
	return 0;
}

/**
 * kdapl_ep_lacks_qp - must the process bind a queue pair before a connection?
 * @ep: its use_lock is held
 */
bool kdapl_ep_lacks_qp(const struct kdapl_ep *ep)
{
	return kdapl_ia_is_passthrough(ep->obj.ia) && !ep->bound.ib;
}

/**
 * kdapl_ep_unbind - let go of a queue pair that no connection has taken over
 * @ep: its use_lock is held; it may have no such queue pair
 *
 * May sleep.
 */
void kdapl_ep_unbind(struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->use_lock);
	if (!ep->bound.ib)
		return;
	kdapl_ep_view_flag(ep, ep->bind_life, qp_let_go(ep->obj.ia, &ep->bound));
}

/* The connection takes over what was bound. */
static int conn_take_bound(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->use_lock);
	if (!ep->bound.ib)
		return -ENOTCONN;
	mutex_lock(&conn->qp_lock);
	conn->bind_life = ep->bind_life;
	ep->bound.event = conn->qp.event;
	conn->qp = ep->bound;
	mutex_unlock(&conn->qp_lock);
	ep->bound = (struct kdapl_qp) {};
	return 0;
}

static void conn_unbind(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	u32 flags = 0;

	mutex_lock(&conn->qp_lock);
	if (conn->qp.ib)
		flags = qp_let_go(conn->ia, &conn->qp);
	mutex_unlock(&conn->qp_lock);
	if (flags)
		kdapl_ep_view_flag(ep, conn->bind_life, flags);
}

/* ---- all queue pairs ------------------------------------------------ */

/**
 * kdapl_conn_rd_in - RDMA reads the peer may have outstanding here
 * @ep: the endpoint; what the peer offers limits only the reads that we send
 */
u8 kdapl_conn_rd_in(const struct kdapl_ep *ep)
{
	return min_t(u32, ep->attr.max_rdma_read_in, U8_MAX);
}

/**
 * kdapl_conn_rd_out - RDMA reads we may have outstanding at the peer
 * @conn: knows on the passive side what the peer admits
 * @ep: its endpoint
 */
u8 kdapl_conn_rd_out(const struct kdapl_conn *conn, const struct kdapl_ep *ep)
{
	u32 out = min_t(u32, ep->attr.max_rdma_read_out, U8_MAX);

	return conn->active ? out : min_t(u32, out, conn->peer_rd_in);
}

/*
 * Completions of receives of an SRQ name their queue pair by its address (srq_post.c).  The
 * new queue pair may get the address of a former one of which there may be completions that
 * nobody has seen yet.  Then one more is made, and those with such addresses are destroyed
 * only afterwards, so that the device cannot give out the same address again meanwhile.
 */
static int conn_create_on_srq(struct kdapl_conn *conn, struct kdapl_srq *srq,
			      const struct kdapl_qp_init *init)
{
	const struct kdapl_qp_ops *ops = qp_ops(conn);
	struct kdapl_qp taken[8];
	int ret, n = 0;

	for (;;) {
		ret = ops->create(&conn->qp, init);
		if (!ret)
			ret = kdapl_srq_add_qp(srq, conn);
		if (ret != -EBUSY || !conn->qp.ib || n == ARRAY_SIZE(taken))
			break;
		taken[n++] = conn->qp;
		conn->qp.ib = NULL;
		conn->qp.charge = (struct kdapl_charge) {};
	}
	while (n--)
		ops->destroy(&taken[n]);
	if (ret && conn->qp.ib)
		ops->destroy(&conn->qp);
	return ret;
}

static int conn_create_qp(struct kdapl_conn *conn, struct kdapl_ep *ep,
			  const struct kdapl_qp_init *init)
{
	if (ep->srq)
		return conn_create_on_srq(conn, ep->srq, init);
	return qp_ops(conn)->create(&conn->qp, init);
}

/**
 * kdapl_conn_make_qp - make the queue pair of a connection
 * @conn: without a queue pair
 * @ep: whose PZ, EVDs and limits it has; ready (A.5)
 *
 * Takes over the one that its process has bound, on an adapter in passthrough.  May sleep.
 *
 * Return: 0, or an errno and nothing is left.
 */
int kdapl_conn_make_qp(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	struct kdapl_evd_cq *req = ep->use.shares[KDAPL_CQ_SHARE_REQUEST].cq;
	struct kdapl_evd_cq *recv = ep->use.shares[KDAPL_CQ_SHARE_RECV].cq;
	struct kdapl_device *dev = conn->ia->dev;
	struct kdapl_qp_init init = {
		.max_send_wr = max_t(u32, ep->req.room, 1),
		.max_recv_wr = max_t(u32, ep->recv.room, 1),
		.max_send_sge = max_t(u32, kdapl_ep_request_sge(&ep->attr), 1),
		.max_recv_sge = max_t(u32, ep->attr.max_recv_iov, 1),
		.user = conn->ia->obj.space->user,
	};
	int ret;

	/* Forget what the queue pair of an earlier accept, which failed, has reported. */
	WRITE_ONCE(conn->qp_failed, false);
	WRITE_ONCE(conn->last_wqe, false);
	/* On iWARP the CM moves the queue pair, at any time. */
	conn->moved = conn->ia->dev->iwarp;
	if (kdapl_ia_is_passthrough(conn->ia))
		return conn_take_bound(conn, ep);
	if (ep->srq) {
		init.srq = &ep->srq->rq;
		init.max_recv_wr = 0;
		init.max_recv_sge = 0;
	}
	if (!ep->pz->zone || (ep->srq && !ep->srq->rq.ib))
		return -ENODEV;
	init.send_cq = &req->cq;
	init.recv_cq = &recv->cq;
	init.pd = dev->mr->zone_pd(ep->pz->zone);
	ret = kdapl_evd_hold_cq(req);
	if (ret)
		return ret;
	ret = kdapl_evd_hold_cq(recv);
	if (ret)
		goto release_req;

	mutex_lock(&conn->qp_lock);
	conn->qp.dev = dev;
	ret = conn_create_qp(conn, ep, &init);
	mutex_unlock(&conn->qp_lock);
	if (ret)
		goto release_recv;
	conn->holds_cqs = true;
	return 0;

release_recv:
	kdapl_evd_release_cq(recv);
release_req:
	kdapl_evd_release_cq(req);
	return ret;
}

/*
 * The queue pair can send from here on.  A message that arrived before was held back, because
 * its consumer could not have answered it (wc_judge()); now somebody has to look at it again.
 * Whoever looks after we had the EVD's lock sees conn->rts, and does not hold back.  Whoever
 * held back before has set @waiting under the lock, and for him the runner is kicked.
 */
static void evd_wake_waiting(struct kdapl_evd *evd)
{
	unsigned long flags;
	bool waiting;

	spin_lock_irqsave(&evd->lock, flags);
	waiting = evd->waiting;
	spin_unlock_irqrestore(&evd->lock, flags);
	if (waiting)
		kdapl_evd_kick(evd);
}

static int conn_move_qp(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	u8 in = kdapl_conn_rd_in(ep), out = kdapl_conn_rd_out(conn, ep);
	int ret;

	conn->moved = true;
	ret = qp_ops(conn)->move(&conn->qp, conn->id, IB_QPS_RTR, in, out);
	trace_kdapl_move(conn, IB_QPS_RTR, ret);
	if (ret)
		return ret;
	ret = qp_ops(conn)->move(&conn->qp, conn->id, IB_QPS_RTS, in, out);
	trace_kdapl_move(conn, IB_QPS_RTS, ret);
	if (ret)
		return ret;
	/* Pairs with wc_judge(): who sees @rts also sees what came with the acceptance. */
	smp_store_release(&conn->rts, true);
	return 0;
}

/**
 * kdapl_conn_move_qp - let the queue pair receive, then send, as the CM has agreed
 * @conn: with its queue pair in INIT; @ep has begun it, since whoever takes a completion of
 *	  the queue pair from here on asks the connection for its endpoint
 * @ep: that of kdapl_conn_make_qp()
 *
 * May sleep; the id's handler mutex may be held.
 *
 * Return: 0, and a completion may confirm the connection from here on; or an errno.
 */
int kdapl_conn_move_qp(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	/*
	 * Once the queue pair can send, data can confirm the connection, and the
	 * endpoint may end and let go of its EVD before we are through.
	 */
	struct kdapl_evd *evd = ep->recv.evd;
	int ret;

	kdapl_object_get(&evd->obj);
	ret = conn_move_qp(conn, ep);
	evd_wake_waiting(evd);
	kdapl_object_put(&evd->obj);
	return ret;
}

/**
 * kdapl_conn_drop_qp - destroy the queue pair, or let go of a process's
 * @conn: nothing is posted on its queue pair, or nobody waits for its completion any more;
 *	  in passthrough it is over, or did not come about.  There may be no queue pair
 * @ep: that of kdapl_conn_make_qp()
 *
 * May sleep.
 */
void kdapl_conn_drop_qp(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	if (kdapl_ia_is_passthrough(conn->ia)) {
		conn_unbind(conn, ep);
		return;
	}
	if (!conn->qp.ib)
		return;
	mutex_lock(&conn->qp_lock);
	qp_ops(conn)->destroy(&conn->qp);
	mutex_unlock(&conn->qp_lock);
}

/**
 * kdapl_conn_release_cqs - let the CQs be replaced again
 * @conn: its queue pair is destroyed, and all that it had completed was taken from the CQs
 * @ep: that of kdapl_conn_make_qp()
 *
 * Before this neither CQ may be replaced by a larger one: a completion in there that nobody
 * had taken would be lost, and its DTO, although it has succeeded, would be flushed.
 * Idempotent.  Any context.
 */
void kdapl_conn_release_cqs(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	if (!conn->holds_cqs)
		return;
	conn->holds_cqs = false;
	kdapl_evd_release_cq(ep->use.shares[KDAPL_CQ_SHARE_RECV].cq);
	kdapl_evd_release_cq(ep->use.shares[KDAPL_CQ_SHARE_REQUEST].cq);
}

/**
 * kdapl_conn_undo_qp - undo kdapl_conn_make_qp(), the connection did not come about
 * @conn: nothing was received through its queue pair
 * @ep: that of kdapl_conn_make_qp()
 *
 * May sleep.
 */
void kdapl_conn_undo_qp(struct kdapl_conn *conn, struct kdapl_ep *ep)
{
	kdapl_conn_drop_qp(conn, ep);
	kdapl_srq_leave(ep->srq, conn);
	kdapl_conn_release_cqs(conn, ep);
}

/**
 * kdapl_conn_error_qp - put the queue pair into the error state, so that all on it completes
 * @conn: its endpoint knows that it ends
 *
 * If the queue pair was a process's and was let go of, nothing is done.  If the device
 * refuses, the process is not shown KDAPL_VIEW_ERROR, and can ask for it again
 * (KDAPL_TOLD_FLUSH).  May sleep.
 *
 * Return: 0, or an errno.
 */
int kdapl_conn_error_qp(struct kdapl_conn *conn)
{
	bool bound;
	int ret = 0;

	if (!kdapl_ia_is_passthrough(conn->ia))
		return qp_ops(conn)->error(&conn->qp);

	mutex_lock(&conn->qp_lock);
	bound = conn->qp.ib;
	if (bound)
		ret = qp_ops(conn)->error(&conn->qp);
	mutex_unlock(&conn->qp_lock);
	if (bound && !ret)
		kdapl_ep_view_flag(conn->ep, conn->bind_life, KDAPL_VIEW_ERROR);
	return ret;
}

/**
 * kdapl_conn_ask_qp - ask the device whether the queue pair has failed
 * @conn: any connection
 *
 * May sleep.  Return: true: it is in the error state, and we have not put it there; or its process
 * has taken it from RTS.
 */
bool kdapl_conn_ask_qp(struct kdapl_conn *conn)
{
	unsigned int noio;
	bool ret = false;

	/*
	 * After @ends somebody may be destroying it, and holds the lock for as long as the
	 * driver takes.  We must not wait for that: the CM's handler mutex may be held here.
	 */
	if (READ_ONCE(conn->ends))
		return false;
	mutex_lock(&conn->qp_lock);
	/* The driver may allocate, but not with I/O: the end of a connection waits for the lock. */
	noio = memalloc_noio_save();
	if (conn->qp.ib && !READ_ONCE(conn->ends))
		ret = qp_ops(conn)->in_error(&conn->qp);
	memalloc_noio_restore(noio);
	mutex_unlock(&conn->qp_lock);
	return ret;
}

/**
 * kdapl_conn_qp_in_error - has the queue pair failed?
 * @conn: any connection
 *
 * On iWARP every end of a connection leaves the queue pair in the error state, so its state
 * tells nothing.  There the device reports errors by itself.  May sleep.
 */
bool kdapl_conn_qp_in_error(struct kdapl_conn *conn)
{
	if (conn->ia->dev->iwarp)
		return READ_ONCE(conn->qp_failed);
	return kdapl_conn_ask_qp(conn);
}
