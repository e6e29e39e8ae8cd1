// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receives of a Shared Receive Queue (SRQ): dat_srq_post_recv, and what becomes of a receive
 * until its cookie can be used again.
 *
 * A receive belongs to no endpoint until the device says which queue pair has completed it.
 * Whoever looks at a completion first claims it for the endpoint (kdapl_srq_claim()); from then on
 * it is a completion like any other.  Plain endpoints have nothing of all this: their cookies do
 * not have KDAPL_COOKIE_SRQ.  The table that a claim goes by, and the receives that Soft-RoCE
 * forgets, are told of in Documentation/life-of-a-dto.rst, A receive of a shared queue.
 *
 * Callers: the faces post; evd_fifo.c claims and gives back; conn_qp.c and drain.c keep
 * the table; lmr.c waits for posts.
 */
#include "evd_fifo.h"
#include "ia.h"
#include "lmr.h"
#include "post_check.h"
#include "srq.h"
#include "walk.h"
#include "../compat.h"
#include "../trace.h"

/* ---- posting -------------------------------------------------------- */

static int post_to_device(struct kdapl_srq *srq, const struct kdapl_cookie *cookie,
			  struct kdapl_segments from)
{
	struct ib_recv_wr wr = {
		.wr_id = (uintptr_t)cookie,
		.sg_list = from.sge,
		.num_sge = from.nr,
	};

	return ib_post_srq_recv(srq->rq.ib, &wr, NULL);
}

/* Posts a receive whose arguments were checked; the state of the queue was not. */
static DAT_RETURN srq_post(struct kdapl_srq *srq, const struct kdapl_dto *dto,
			   struct kdapl_segments from)
{
	struct kdapl_srq_cookie *sc;
	int err = 0;

	lockdep_assert_held(&srq->lock);
	if (!srq->rq.ib)
		return RET(INVALID_STATE);	/* E71 */
	if (srq->outstanding >= srq->max)
		return RET_NO_RESOURCE(MEMORY);
	sc = list_first_entry(&srq->free, struct kdapl_srq_cookie, entry);
	sc->number = ++srq->next_number;
	sc->cookie.user = dto->cookie.as_64;
	sc->cookie.length = from.length;
	sc->cookie.operation = KDAPL_DID_RECV;
	sc->cookie.busy = true;
	/* Before the call: the completion may be there before it returns. */
	sc->cookie.owed = true;
	srq->outstanding++;
	srq->queued++;
	list_move_tail(&sc->entry, &srq->posted);
	trace_kdapl_srq_post(&sc->cookie);
	/* A queue in error takes no receive any more: it is kept from the device (mt:M59). */
	if (!srq->broken)
		err = post_to_device(srq, &sc->cookie, from);
	if (!err)
		return DAT_SUCCESS;
	trace_kdapl_post_refused(&sc->cookie, err);
	sc->cookie.owed = false;
	sc->cookie.busy = false;
	srq->outstanding--;
	srq->queued--;
	list_move(&sc->entry, &srq->free);
	return err == -ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET(INTERNAL_ERROR);
}

/* A receive whose memory is, in part, a list; @sge has room for its segments. */
static noinline DAT_RETURN srq_post_lists(struct kdapl_srq *srq, const struct kdapl_dto *dto,
					  struct ib_sge *sge)
{
	struct ib_sge pieces[KDAPL_MAX_SGE];
	struct kdapl_segments named = { .sge = sge }, from = { .sge = pieces };
	struct kdapl_walk walk = {};
	DAT_RETURN ret;
	u32 n;

	lockdep_assert_held(&srq->lock);
	ret = check_posted(&srq->obj, &srq->pz, &srq->limits, dto, KDAPL_DTO_RECV, &named,
			   true);
	if (ret)
		return ret;
	kdapl_walk_begin(&walk, srq->obj.space, dto->iov, named.sge, named.nr);
	n = kdapl_walk_count(&walk);
	if (!n)
		return kdapl_protection_violation(KDAPL_SINK_RECV);
	if (n > srq->limits.max_iov)
		return RET_BAD_ARG(2);
	from.nr = kdapl_walk_take(&walk, pieces, srq->limits.max_iov, &from.length);
	if (walk.lost)
		return kdapl_protection_violation(KDAPL_SINK_RECV);
	return srq_post(srq, dto, from);
}

/**
 * kdapl_srq_post_recv - dat_srq_post_recv
 * @space: of the caller
 * @handle: of an SRQ
 * @dto: a receive without flags
 *
 * The contract is in face/kdat_srq.c.  Any context; never sleeps.  The SRQ's memory stays
 * (kdapl_peek_begin()).  An LMR that was found stays registered until the device has its key
 * (kdapl_srq_sync_posts()).  Rules mt:T57, mt:M58, mt:M59.
 *
 * Return: as dat_srq_post_recv().
 */
DAT_RETURN kdapl_srq_post_recv(struct kdapl_space *space, DAT_SRQ_HANDLE handle,
			       const struct kdapl_dto *dto)
{
	struct ib_sge sge[KDAPL_MAX_SGE] kdapl_uninitialized;
	struct kdapl_segments segments = { .sge = sge };
	struct kdapl_object *obj;
	struct kdapl_srq *srq;
	unsigned long flags;
	DAT_RETURN ret;

	flags = kdapl_peek_begin();
	obj = kdapl_object_peek(space, handle, KDAPL_SRQ);
	ret = RET_BAD_HANDLE(SRQ);
	if (!obj)
		goto out;
	srq = kdapl_srq_of(obj);
	spin_lock(&srq->lock);
	ret = check_posted(&srq->obj, &srq->pz, &srq->limits, dto, KDAPL_DTO_RECV,
			   &segments, false);
	if (!ret)
		ret = srq_post(srq, dto, segments);
	else if (ret == HAS_LIST)
		ret = srq_post_lists(srq, dto, sge);
	spin_unlock(&srq->lock);
	/* In passthrough the process posts by itself, so the code is this one in any case. */
	if (unlikely(ret) && kdapl_ia_is_passthrough(srq->obj.ia))
		ret = RET(INVALID_STATE);
out:
	kdapl_peek_end(flags);
	return ret;
}

/**
 * kdapl_srq_sync_posts - wait for posts that are under way
 * @srq: its memory stays
 *
 * Whoever posts now has the device's answer when this returns.  Any context.
 */
void kdapl_srq_sync_posts(struct kdapl_srq *srq)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* ---- who has taken it ----------------------------------------------- */

/* No two queue pairs have the same key: the structures are larger, and aligned. */
static unsigned long qp_key(const struct ib_qp *qp)
{
	BUILD_BUG_ON(sizeof(struct ib_qp) < 64);
	return (unsigned long)qp >> 6;
}

/**
 * kdapl_srq_add_qp - the queue pair of a connection may take receives from here on
 * @srq: of its endpoint
 * @conn: its queue pair has just been made
 *
 * May sleep.
 *
 * Return: 0; -EBUSY: there may be completions of a former queue pair at that address;
 * -ENOMEM.
 */
int kdapl_srq_add_qp(struct kdapl_srq *srq, struct kdapl_conn *conn)
{
	unsigned long key = qp_key(conn->qp.ib);
	int ret;

	/* Receives that were taken before now were not taken by this queue pair. */
	spin_lock_irq(&srq->lock);
	conn->srq_taken = srq->taken;
	spin_unlock_irq(&srq->lock);
	ret = xa_insert(&srq->qps, key, conn, GFP_KERNEL);
	if (!ret)
		conn->srq_key = key;
	return ret;
}

/**
 * kdapl_srq_leave - no completion of a connection's queue pair will come any more
 * @srq: of its endpoint; NULL: it has none
 * @conn: its queue pair is destroyed, and the CQ was pulled since
 *
 * Idempotent.  Process context.
 */
void kdapl_srq_leave(struct kdapl_srq *srq, struct kdapl_conn *conn)
{
	if (!conn->srq_key)
		return;
	xa_erase(&srq->qps, conn->srq_key);
	conn->srq_key = 0;
}

/**
 * kdapl_srq_claim - find the endpoint to which a completion of an SRQ's receive belongs
 * @wc: completion, not accounted for; the lock of the EVD that polled it is held
 * @cookie: its cookie, KDAPL_COOKIE_SRQ
 *
 * May be called any number of times for a completion.  Any context.
 *
 * Return: false: there is no such queue pair, and the completion is to be dropped.
 */
bool kdapl_srq_claim(const struct ib_wc *wc, struct kdapl_cookie *cookie)
{
	struct kdapl_srq_cookie *sc = kdapl_srq_cookie_of(cookie);
	struct kdapl_srq *srq = sc->srq;
	struct kdapl_conn *conn;
	struct kdapl_dir *dir;
	unsigned long flags;
	bool low;

	if (cookie->dir != &srq->dir)
		return true;
	/* The connection stays in the table: this completion of it is not accounted for. */
	conn = xa_load(&srq->qps, qp_key(wc->qp));
	if (!conn || !READ_ONCE(cookie->owed))
		return false;
	dir = &conn->ep->recv;
	spin_lock_irqsave(&srq->lock, flags);
	list_del_init(&sc->entry);
	srq->queued--;
	srq->taken = max(srq->taken, sc->number);
	WRITE_ONCE(conn->srq_taken, max(conn->srq_taken, sc->number));
	low = srq->armed && srq->queued < srq->lw;
	if (low)
		srq->armed = false;
	spin_unlock_irqrestore(&srq->lock, flags);
	cookie->dir = dir;
	WRITE_ONCE(dir->posted, dir->posted + 1);
	if (low)
		kdapl_srq_raise(srq, KDAPL_SRQ_LOW);
	return true;
}

/**
 * kdapl_srq_cookie_back - the event of a receive was read, or is lost
 * @cookie: KDAPL_COOKIE_SRQ, claimed or flushed
 *
 * Any context; the lock of an EVD may be held.
 */
void kdapl_srq_cookie_back(struct kdapl_cookie *cookie)
{
	struct kdapl_srq_cookie *sc = kdapl_srq_cookie_of(cookie);
	struct kdapl_srq *srq = sc->srq;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	cookie->dir = &srq->dir;
	list_add(&sc->entry, &srq->free);
	srq->outstanding--;
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* ---- receives that a device has forgotten --------------------------- */

/* Connections that are looked at before others may have the processor. */
#define WALK_BATCH	256

/*
 * Up to this number no queue pair has a receive any more (kdapl_conn.srq_taken).  There may be
 * very many queue pairs, so @srq->lock is not held, with which interrupts are off.  The number is
 * true all the same: that of a connection only grows; one that leaves the table meanwhile has
 * nothing; and the queue pair of one that comes has taken nothing that was taken before.
 */
static u64 srq_taken_by_all(struct kdapl_srq *srq)
{
	XA_STATE(xas, &srq->qps, 0);
	struct kdapl_conn *conn;
	unsigned int n = 0;
	u64 least;

	spin_lock_irq(&srq->lock);
	least = srq->taken;
	spin_unlock_irq(&srq->lock);
	/* With this lock no connection leaves the table. */
	xas_lock(&xas);
	xas_for_each(&xas, conn, ULONG_MAX) {
		least = min(least, READ_ONCE(conn->srq_taken));
		if (++n % WALK_BATCH)
			continue;
		xas_pause(&xas);
		xas_unlock(&xas);
		cond_resched();
		xas_lock(&xas);
	}
	xas_unlock(&xas);
	return least;
}

/* The oldest receive, if a later one was taken, and its number is not above @least; or NULL. */
static struct kdapl_srq_cookie *srq_next_lost(struct kdapl_srq *srq, u64 least)
{
	struct kdapl_srq_cookie *sc;

	spin_lock_irq(&srq->lock);
	sc = list_first_entry_or_null(&srq->posted, struct kdapl_srq_cookie, entry);
	if (sc && (sc->number >= srq->taken || sc->number > least))
		sc = NULL;
	if (sc) {
		list_del_init(&sc->entry);
		srq->queued--;
	}
	spin_unlock_irq(&srq->lock);
	return sc;
}

/* Was a receive taken after the oldest one that has not completed? */
static bool srq_has_gap(struct kdapl_srq *srq)
{
	struct kdapl_srq_cookie *sc;
	bool ret;

	spin_lock_irq(&srq->lock);
	sc = list_first_entry_or_null(&srq->posted, struct kdapl_srq_cookie, entry);
	ret = sc && sc->number < srq->taken;
	spin_unlock_irq(&srq->lock);
	return ret;
}

/**
 * kdapl_srq_reclaim - flush the receives that the device has forgotten to an endpoint that ends
 * @srq: of the endpoint
 * @ep: its connection has left @srq
 *
 * Process context.  Rule D48.
 */
void kdapl_srq_reclaim(struct kdapl_srq *srq, struct kdapl_ep *ep)
{
	struct kdapl_srq_cookie *sc;
	u64 least;

	if (!srq->obj.ia->dev->srq_keeps || !srq_has_gap(srq))
		return;
	least = srq_taken_by_all(srq);
	while ((sc = srq_next_lost(srq, least))) {
		spin_lock_irq(&ep->recv.lock);
		sc->cookie.owed = false;
		sc->cookie.dir = &ep->recv;
		kdapl_evd_post_flushed(ep->recv.evd, &sc->cookie);
		spin_unlock_irq(&ep->recv.lock);
	}
}
