// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue pair of a connection: made at connect or accept with the PZ, EVDs and
 * limits of the endpoint, and destroyed once nothing is posted on it any more.
 *
 * One that a process has made is bound to the endpoint before (passthrough.c), and the
 * connection takes it over.  It stays bound when the connection is over, until the
 * process has taken what was flushed, or the endpoint is reset, freed or loses its
 * device.  Whoever of these comes first lets go of it, under @use_lock of the endpoint or
 * @qp_lock of the connection.  What is let go of is in the error state, unless the device
 * has refused that: nobody could end its connection later.
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

/* @qp is a process's.  Returns KDAPL_VIEW_*, what it is to be shown. */
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
	/* 0 is no life. */
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
 * @ep: its use_lock is held; without one nothing is done
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
 * @ep: the endpoint; the peer's offer limits only what we send
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
 * Completions that no one has seen yet may name a former queue pair of another connection on
 * the SRQ by the address that the new one got.  Another one is made then, and those before
 * it keep their addresses meanwhile.
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
		.max_send_wr = max_t(u32, kdapl_ep_request_wrs(ep), 1),
		.max_recv_wr = max_t(u32, ep->attr.max_recv_dtos, 1),
		.max_send_sge = max_t(u32, kdapl_ep_request_sge(&ep->attr), 1),
		.max_recv_sge = max_t(u32, ep->attr.max_recv_iov, 1),
		.user = conn->ia->obj.space->user,
	};
	int ret;

	/* What a queue pair reported of which nothing came is not said of this one. */
	WRITE_ONCE(conn->qp_failed, false);
	WRITE_ONCE(conn->last_wqe, false);
	/* On iWARP it is the CM that moves it, at any time. */
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
 * The queue pair can send from here on.  A completion that was held back because it
 * could not (wc_judge()) is looked at again.  Only one that was held back before we got
 * the lock needs that: whoever takes the lock after us sees conn->rts.
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
	/* Pairs with wc_judge(): what came with the acceptance is in place. */
	smp_store_release(&conn->rts, true);
	return 0;
}

/**
 * kdapl_conn_move_qp - the queue pair can receive, then send, as the CM has agreed
 * @conn: with its queue pair in INIT, and the connection of @ep: what the queue pair
 *	  receives is looked at from here on
 * @ep: as made
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
 * @conn: nothing is posted on its queue pair, or never was; or it is over, and the queue
 *	  pair a process's.  There may be none
 * @ep: as made
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
 * kdapl_conn_release_cqs - nothing in the CQs is of a connection any more
 * @conn: its queue pair is destroyed, and what that had completed was taken from the CQs
 * @ep: as made
 *
 * Until now neither CQ was replaced: a completion in there that nobody had taken would have
 * gone with it, and its DTO, which succeeded, would be flushed.  Idempotent.  Any context.
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
 * @ep: as made
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
 * kdapl_conn_error_qp - have the queue pair complete all that it has
 * @conn: its endpoint knows that it ends
 *
 * That of a process may have been let go of.  If the device refuses, the process is not
 * shown that it was done, and can ask for it again (KDAPL_TOLD_FLUSH).  May sleep.
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
 * kdapl_conn_ask_qp - does the device say that the queue pair is in error, and not by us?
 * @conn: any connection
 *
 * May sleep.
 */
bool kdapl_conn_ask_qp(struct kdapl_conn *conn)
{
	unsigned int noio;
	bool ret = false;

	/*
	 * Who destroys it, after @told, holds the lock for as long as the driver takes, and
	 * here the CM's handler mutex may be held.
	 */
	if (READ_ONCE(conn->told))
		return false;
	mutex_lock(&conn->qp_lock);
	/* The driver may allocate, and the end of the connection waits for the lock. */
	noio = memalloc_noio_save();
	if (conn->qp.ib && !READ_ONCE(conn->told))
		ret = qp_ops(conn)->in_error(&conn->qp);
	memalloc_noio_restore(noio);
	mutex_unlock(&conn->qp_lock);
	return ret;
}

/**
 * kdapl_conn_qp_in_error - is the queue pair in error, and not by us?
 * @conn: any connection
 *
 * On iWARP it is after every end; there the device tells of an error by itself.
 * May sleep.
 */
bool kdapl_conn_qp_in_error(struct kdapl_conn *conn)
{
	if (conn->ia->dev->iwarp)
		return READ_ONCE(conn->qp_failed);
	return kdapl_conn_ask_qp(conn);
}
