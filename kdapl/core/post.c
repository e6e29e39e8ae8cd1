// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: dat_ep_post_send, _recv, _rdma_read, _rdma_write, and kdat_ep_post_requests.  Binds have
 * post_bind.c.
 *
 * This is the data path (A4).  It never sleeps, allocates, or takes a lock that two endpoints
 * share (mt:T17).  All of it runs in an RCU read section (kdapl_peek_begin()) and under the lock
 * of the direction, which keeps the LMRs that the checks have found (mt:T12,
 * kdapl_dir_sync_posts()).  Documentation/life-of-a-dto.rst, The post, has the steps.
 *
 * A segment whose memory is a list (fmr.c) takes another way, and posts without lists pay nothing
 * for it: Documentation/life-of-memory.rst, Memory that changes.
 *
 * Callers: the faces.
 */
#include <dat/kdat_linux.h>
#include "ep.h"
#include "evd_fifo.h"
#include "ia.h"
#include "post.h"
#include "walk.h"
#include "../compat.h"
#include "../trace.h"

/* ---- checks --------------------------------------------------------- */

/* Checks an extension of DAT (kdapl_dto_row.needs). */
static noinline DAT_RETURN check_extension(const struct kdapl_ep *ep, const struct kdapl_dto *dto,
					   struct kdapl_segments *to, bool lists)
{
	const struct port_target target = { .obj = &ep->obj, .pz = &ep->pz, .lists = lists };

	return kdapl_check_extension(&target, &ep->limits[dto->kind], dto,
				     ep->obj.ia->dev->extensions, to);
}

/* Checks the arguments of a DTO; the caller holds the lock of the direction. */
static __always_inline DAT_RETURN check_dto(const struct kdapl_ep *ep,
					    const struct kdapl_dto *dto,
					    enum kdapl_dto_kind kind,
					    struct kdapl_segments *to, bool lists)
{
	if (unlikely(kdapl_dto_rows[kind].needs))
		return check_extension(ep, dto, to, lists);
	if (unlikely(kind == KDAPL_DTO_RDMA_READ_TO_RMR))
		return kdapl_check_read_to_rmr(ep, dto, to);
	return check_posted(&ep->obj, &ep->pz, &ep->limits[kind], dto, kind, to, lists);
}

/* A request that will only be flushed needs no segments. */
static void cookie_hold(struct kdapl_dir *dir, const struct kdapl_cookie *cookie,
			struct kdapl_segments from)
{
	struct ib_sge *sge = dir->rings->sge;
	u32 i = cookie - dir->ring;

	if (!dir->held)
		dir->held_first = i;
	WRITE_ONCE(dir->held, dir->held + 1);
	if (!sge)
		return;
	memcpy(&sge[i * dir->max_sge], from.sge, from.nr * sizeof(*from.sge));
	dir->nr_sge[i] = from.nr;
}

/* ---- under the lock of the direction -------------------------------- */

static inline int post_receive(struct ib_qp *qp, const struct kdapl_cookie *cookie,
			       struct kdapl_segments from)
{
	struct ib_recv_wr wr = {
		.wr_id = (uintptr_t)cookie,
		.sg_list = from.sge,
		.num_sge = from.nr,
	};

	return ib_post_recv(qp, &wr, NULL);
}

/*
 * Fills in the fields that are read of a request of its opcode, but for atomics.  A4: signalled,
 * but for what batch_follow() leaves out; otherwise suppression is done when the completion comes
 * in.
 */
static __always_inline void fill_request(struct ib_rdma_wr *wr,
					 const struct kdapl_cookie *cookie,
					 const struct kdapl_dto *dto,
					 enum kdapl_dto_kind kind,
					 struct kdapl_segments from)
{
	wr->wr.next = NULL;
	wr->wr.wr_id = (uintptr_t)cookie;
	wr->wr.sg_list = from.sge;
	wr->wr.num_sge = from.nr;
	wr->wr.opcode = kdapl_dto_rows[kind].opcode;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	/* Immediate data are in the same place, and are sent as they lie there (X4). */
	wr->wr.ex.invalidate_rkey = kdapl_dto_rows[kind].word ? dto->word : 0;
	if (unlikely(dto->flags)) {
		if (dto->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			wr->wr.send_flags |= IB_SEND_SOLICITED;
		if (dto->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
			wr->wr.send_flags |= IB_SEND_FENCE;
	}
	if (kdapl_dto_rows[kind].remote) {
		wr->remote_addr = dto->remote->target_address;
		wr->rkey = dto->remote->rmr_context;
	}
}

static noinline void fill_atomic(union kdapl_request_wr *wr, const struct kdapl_cookie *cookie,
				 const struct kdapl_dto *dto, struct kdapl_segments from)
{
	fill_request(&wr->rdma, cookie, dto, dto->kind, from);
	/* What fill_request() has put into other places of the union. */
	wr->atomic.remote_addr = dto->remote->target_address;
	wr->atomic.rkey = dto->remote->rmr_context;
	wr->atomic.compare_add = dto->kind == KDAPL_DTO_CMP_SWAP ? dto->compare : dto->operand;
	wr->atomic.swap = dto->kind == KDAPL_DTO_CMP_SWAP ? dto->operand : 0;
}

static noinline int post_atomic(struct ib_qp *qp, const struct kdapl_cookie *cookie,
				const struct kdapl_dto *dto, struct kdapl_segments from)
{
	union kdapl_request_wr wr = {};

	fill_atomic(&wr, cookie, dto, from);
	return ib_post_send(qp, &wr.rdma.wr, NULL);
}

static __always_inline int post_request(struct ib_qp *qp,
					const struct kdapl_cookie *cookie,
					const struct kdapl_dto *dto,
					enum kdapl_dto_kind kind,
					struct kdapl_segments from)
{
	struct ib_rdma_wr wr kdapl_uninitialized;

	if (kdapl_dto_rows[kind].atomic)
		return post_atomic(qp, cookie, dto, from);
	fill_request(&wr, cookie, dto, kind, from);
	return ib_post_send(qp, &wr.wr, NULL);
}

/* ---- posts that do not go to the queue pair now -------------------------- */

/* The gate is not POST.  Does a DTO go to the queue pair all the same? */
static noinline bool post_deep(const struct kdapl_dir *dir, struct kdapl_cookie *cookie)
{
	if (dir->gate != KDAPL_GATE_DEEP || deep_is_full(dir, 1))
		return false;
	cookie->flags |= KDAPL_COOKIE_DEEP;
	return true;
}

/* The queue pair has no room: the DTO is held, as a whole. */
static void hold_deep(struct kdapl_dir *dir, const struct kdapl_cookie *cookie,
		      const struct kdapl_dto *dto, struct kdapl_segments from)
{
	const struct kdapl_cookie_ring *ring = dir->rings;
	u32 i = cookie - dir->ring;

	cookie_hold(dir, cookie, from);
	if (!dir->is_recv) {
		from.sge = &ring->sge[i * dir->max_sge];
		if (kdapl_dto_rows[dto->kind].atomic)
			fill_atomic(&ring->wrs[i].wr, cookie, dto, from);
		else
			fill_request(&ring->wrs[i].wr.rdma, cookie, dto, dto->kind, from);
		ring->wrs[i].kind = dto->kind;
		if (dir->lkeys)
			note_keys(dir, cookie, from);
	}
	kdapl_conn_seek_room(dir->ep->conn, dir);
}

/* The gate is not open: may the post be put aside? */
noinline DAT_RETURN kdapl_post_check_aside(const struct kdapl_ep *ep,
				       const struct kdapl_dir *dir)
{
	if (dir->gate == KDAPL_GATE_REFUSE) {
		kdapl_count(ep->obj.ia->dev, KDAPL_COUNT_POSTS_REFUSED);
		return dir->refusal;
	}
	if (dir->gate == KDAPL_GATE_HOLD && READ_ONCE(ep->obj.ia->removed))
		return RET(INVALID_STATE);	/* E71 */
	return DAT_SUCCESS;
}

/* The gate is not open: the post is held, late, or flushed at once.  @dto: NULL for a bind */
static noinline DAT_RETURN post_aside(struct kdapl_dir *dir,
				      struct kdapl_cookie *cookie,
				      const struct kdapl_dto *dto,
				      enum kdapl_dto_kind kind,
				      struct kdapl_segments from)
{
	trace_kdapl_post(dir->ep, cookie, kind);
	switch (dir->gate) {
	case KDAPL_GATE_HOLD:
		cookie_hold(dir, cookie, from);
		break;
	case KDAPL_GATE_DEEP:
		hold_deep(dir, cookie, dto, from);
		break;
	case KDAPL_GATE_LATE:
		list_add_tail(&cookie->node.link, &dir->late);
		dir->nr_late++;
		break;
	default:
		kdapl_evd_post_flushed(dir->evd, cookie);
	}
	return DAT_SUCCESS;
}

/*
 * The device did not take the post.  Where that may be for the moment only, a receive is posted
 * again by the work item, and a request is flushed with those before it, because it is refused
 * so only when the connection ends.  What is posted meanwhile is held behind it.
 */
static noinline DAT_RETURN post_refused(struct kdapl_dir *dir,
					struct kdapl_cookie *cookie,
					struct kdapl_segments from, int err)
{
	struct kdapl_conn *conn = dir->ep->conn;

	lockdep_assert_held(&dir->lock);
	dir->posted--;
	if (!kdapl_conn_not_now(conn, err)) {
		trace_kdapl_post_refused(cookie, err);
		cookie_put_back(dir, cookie);
		return err == -ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET(INTERNAL_ERROR);
	}
	trace_kdapl_post_kept(cookie, err);
	cookie->owed = false;
	cookie_hold(dir, cookie, from);
	dir->gate = KDAPL_GATE_HOLD;
	dir->spoilt = !dir->is_recv;
	if (dir->is_recv)
		kdapl_conn_schedule(conn, KDAPL_CONN_POST_HELD);
	else
		kdapl_conn_await_cm(conn);
	return DAT_SUCCESS;
}

/* Do the endpoint's state and its attributes let a DTO pass? */
static __always_inline DAT_RETURN check_post(const struct kdapl_ep *ep,
					     const struct kdapl_dir *dir,
					     enum kdapl_dto_kind kind)
{
	DAT_RETURN ret;

	lockdep_assert_held(&dir->lock);
	if (unlikely(dir->gate != KDAPL_GATE_POST)) {
		ret = kdapl_post_check_aside(ep, dir);
		if (ret)
			return ret;
	}
	if (unlikely(kdapl_dto_rows[kind].credit && !ep->attr.max_rdma_read_out))
		return RET_NO_RESOURCE(CREDITS);	/* mt:T16 */
	return DAT_SUCCESS;
}

static __always_inline DAT_RETURN post_dto(struct kdapl_ep *ep,
					   struct kdapl_dir *dir,
					   const struct kdapl_dto *dto,
					   enum kdapl_dto_kind kind,
					   struct kdapl_segments from)
{
	struct kdapl_cookie *cookie;
	DAT_RETURN ret;
	int err;

	ret = check_post(ep, dir, kind);
	if (unlikely(ret))
		return ret;
	cookie = cookie_take(dir, kind, dto->cookie.as_64, from.length, dto->flags);
	if (unlikely(!cookie))
		return RET_NO_RESOURCE(MEMORY);
	if (kdapl_dto_rows[kind].needs)
		cookie->flags |= KDAPL_COOKIE_EXTENDED;
	if (unlikely(dir->gate != KDAPL_GATE_POST) && !post_deep(dir, cookie))
		return post_aside(dir, cookie, dto, kind, from);

	/* Before the call: another thread may see the completion before it returns. */
	cookie->owed = true;
	dir->posted++;
	if (kind != KDAPL_DTO_RECV && dir->lkeys)
		note_keys(dir, cookie, from);
	trace_kdapl_post(ep, cookie, kind);
	err = kind == KDAPL_DTO_RECV ?
	      post_receive(ep->conn->qp.ib, cookie, from) :
	      post_request(ep->conn->qp.ib, cookie, dto, kind, from);
	if (likely(!err))
		return DAT_SUCCESS;
	return post_refused(dir, cookie, from, err);
}

/* For binds, which have no segments.  With these in the arguments, posts would cost more. */
DAT_RETURN kdapl_post_bind_aside(struct kdapl_dir *dir, struct kdapl_cookie *cookie)
{
	const struct kdapl_segments none = {};

	return post_aside(dir, cookie, NULL, KDAPL_DTO_BIND, none);
}

DAT_RETURN kdapl_post_bind_refused(struct kdapl_dir *dir, struct kdapl_cookie *cookie, int err)
{
	const struct kdapl_segments none = {};

	return post_refused(dir, cookie, none, err);
}

/* ---- several requests at once: collecting them --------------------------- */

/* So many requests, with so many segments, are given to the queue pair in one call. */
#define BATCH_WRS	8
#define BATCH_SGES	(2 * KDAPL_MAX_SGE)

struct post_batch {
	u32 nr;
	u32 nr_sge;
	struct ib_rdma_wr wrs[BATCH_WRS];
	struct ib_sge sge[BATCH_SGES];
};

static struct kdapl_cookie *batch_cookie(const struct post_batch *batch, u32 i)
{
	return (struct kdapl_cookie *)(uintptr_t)batch->wrs[i].wr.wr_id;
}

/*
 * Another request follows in the same call.  So if nobody wants to hear of the success of the one
 * before, the device need not tell of it: when it tells of the other one, both are complete
 * (kdapl_dir_complete_before()).  The last request of a call is always signalled, so whoever
 * counts completions waits for no request that nothing will be told of.
 */
static void batch_follow(const struct post_batch *batch, struct ib_rdma_wr *wr,
			 struct kdapl_cookie *cookie)
{
	wr[-1].wr.next = &wr->wr;
	if (!(batch_cookie(batch, batch->nr - 1)->flags & DAT_COMPLETION_SUPPRESS_FLAG))
		return;
	wr[-1].wr.send_flags &= ~IB_SEND_SIGNALED;
	cookie->flags |= KDAPL_COOKIE_TELLS_BOTH;
}

/* Adds a request, which was checked, and for which the gate is open. */
static DAT_RETURN batch_add(struct kdapl_ep *ep, struct post_batch *batch,
			    const struct kdapl_dto *dto, struct kdapl_segments from)
{
	struct ib_rdma_wr *wr = &batch->wrs[batch->nr];
	struct kdapl_dir *dir = &ep->req;
	struct kdapl_cookie *cookie;

	cookie = cookie_take(dir, dto->kind, dto->cookie.as_64, from.length, dto->flags);
	if (unlikely(!cookie))
		return RET_NO_RESOURCE(MEMORY);
	cookie->owed = true;
	dir->posted++;
	if (dir->lkeys)
		note_keys(dir, cookie, from);
	trace_kdapl_post(ep, cookie, dto->kind);
	fill_request(wr, cookie, dto, dto->kind, from);
	if (batch->nr)
		batch_follow(batch, wr, cookie);
	batch->nr++;
	batch->nr_sge += from.nr;
	return DAT_SUCCESS;
}

/* ---- memory that is a list --------------------------------------------- */

/*
 * Posts the next work request of a chain, with as many pieces as the device takes at once.
 * Each work request is signalled (A4), and is counted in @posted.
 */
static int post_link(const struct kdapl_ep *ep, struct kdapl_dir *dir,
		     const struct kdapl_dto *dto, struct kdapl_walk *walk,
		     struct ib_rdma_wr *wr)
{
	struct ib_sge pieces[KDAPL_MAX_SGE];
	u64 length;
	int err;

	wr->wr.sg_list = pieces;
	wr->wr.num_sge = kdapl_walk_take(walk, pieces, ep->limits[dto->kind].max_iov,
					 &length);
	if (walk->lost)
		return -EFAULT;
	if (walk->named == walk->end)
		wr->wr.wr_id &= ~(u64)KDAPL_WR_PART;
	dir->posted++;
	err = ib_post_send(ep->conn->qp.ib, &wr->wr, NULL);
	if (err)
		dir->posted--;
	wr->remote_addr += length;
	/*
	 * The fence is on the first work request alone: reads that are complete before it
	 * are complete before the rest.
	 */
	wr->wr.send_flags = IB_SEND_SIGNALED;
	return err;
}

/*
 * The device has taken some work requests of a chain, and refused the next one.  So the
 * connection breaks, or is about to end, and the chain is flushed then.  Until it is, what is
 * posted behind it is held, and does not reach the peer.
 */
void kdapl_post_chain_broken(struct kdapl_dir *dir, struct kdapl_cookie *cookie, int err)
{
	const struct kdapl_segments none = {};
	struct kdapl_conn *conn = dir->ep->conn;

	lockdep_assert_held(&dir->lock);
	trace_kdapl_post_kept(cookie, err);
	cookie->owed = false;
	cookie_hold(dir, cookie, none);
	dir->gate = KDAPL_GATE_HOLD;
	dir->spoilt = true;
	if (kdapl_conn_not_now(conn, err))
		kdapl_conn_await_cm(conn);
	else
		kdapl_conn_half_posted(conn);
}

/*
 * The work requests of an RDMA operation are posted one after the other.  The lock keeps
 * other posts from coming in between, and there is room for all of them on the queue pair.
 */
static DAT_RETURN post_chain(struct kdapl_ep *ep, const struct kdapl_dto *dto,
			     struct kdapl_cookie *cookie, struct kdapl_walk *walk)
{
	const struct kdapl_segments none = {};
	struct kdapl_dir *dir = &ep->req;
	struct ib_rdma_wr wr = {
		.wr.wr_id = (uintptr_t)cookie | KDAPL_WR_PART,
		.wr.opcode = kdapl_dto_rows[dto->kind].opcode,
		.wr.send_flags = IB_SEND_SIGNALED |
				 (dto->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG ?
				  IB_SEND_FENCE : 0),
		.remote_addr = dto->remote->target_address,
		.rkey = dto->remote->rmr_context,
	};
	DAT_RETURN ret;
	int err;

	err = post_link(ep, dir, dto, walk, &wr);
	if (err) {
		kdapl_chain_end(cookie);
		/* post_refused() takes it back, as for a DTO of one work request. */
		dir->posted++;
		ret = post_refused(dir, cookie, none, err);
		/* Memory of the list was taken away just now. */
		if (err == -EFAULT)
			ret = kdapl_protection_violation(kdapl_dto_rows[dto->kind].sink);
		return ret;
	}
	while (!err && walk->named != walk->end)
		err = post_link(ep, dir, dto, walk, &wr);
	if (err)
		kdapl_post_chain_broken(dir, cookie, err);
	return DAT_SUCCESS;
}

/* Takes @more work requests out of the reserve, if there are so many. */
bool kdapl_post_reserve(struct kdapl_dir *dir, u32 more)
{
	lockdep_assert_held(&dir->lock);
	/* Completions may give some back meanwhile; only posts take, under the lock. */
	if (more > dir->reserve - atomic_read(&dir->reserved))
		return false;
	atomic_add(more, &dir->reserved);
	return true;
}

/* An RDMA operation with more @pieces than the device takes at once; the gate is open. */
static DAT_RETURN post_long(struct kdapl_ep *ep, const struct kdapl_dto *dto,
			    struct kdapl_walk *walk, struct kdapl_segments named,
			    u32 pieces)
{
	u32 more = DIV_ROUND_UP(pieces, ep->limits[dto->kind].max_iov) - 1;
	struct kdapl_dir *dir = &ep->req;
	struct kdapl_cookie *cookie;
	DAT_RETURN ret;

	/* Not even with the whole reserve could it be posted. */
	if (more > dir->reserve || more >= dir->room)
		return RET_BAD_ARG(2);
	ret = check_post(ep, dir, dto->kind);
	if (ret)
		return ret;
	/* A chain is not held until there is room. */
	if (deep_is_full(dir, more + 1))
		return RET_NO_RESOURCE(MEMORY);
	if (!kdapl_post_reserve(dir, more))
		return RET_NO_RESOURCE(MEMORY);
	cookie = cookie_take(dir, dto->kind, dto->cookie.as_64, named.length, dto->flags);
	if (!cookie) {
		atomic_sub(more, &dir->reserved);
		return RET_NO_RESOURCE(MEMORY);
	}
	cookie->flags |= KDAPL_COOKIE_CHAIN;
	cookie->failed = false;
	cookie->more = more;
	cookie->owed = true;
	if (dir->lkeys)
		note_keys(dir, cookie, named);
	trace_kdapl_post(ep, cookie, dto->kind);
	return post_chain(ep, dto, cookie, walk);
}

/*
 * A DTO whose memory is, in part, a list.  @sge has room for its segments.  A message is
 * one work request, so it must not be in more pieces than the device takes.  With @batch the
 * request is collected there; HAS_LIST: it has to be posted by itself.
 */
static noinline DAT_RETURN post_lists(struct kdapl_ep *ep, struct kdapl_dir *dir,
				      const struct kdapl_dto *dto, struct ib_sge *sge,
				      struct post_batch *batch)
{
	struct ib_sge pieces[KDAPL_MAX_SGE];
	struct kdapl_segments named = { .sge = sge }, from = { .sge = pieces };
	u32 max = ep->limits[dto->kind].max_iov, n;
	struct kdapl_walk walk;
	DAT_RETURN ret;

	lockdep_assert_held(&dir->lock);
	ret = check_dto(ep, dto, dto->kind, &named, true);
	if (ret)
		return ret;
	if (batch && (dir->gate != KDAPL_GATE_POST || !named.nr))
		return HAS_LIST;
	/*
	 * A post that will only be flushed needs no memory, and that may be gone with the
	 * device by now.
	 */
	if (!gate_is_open(dir) && !(dir->gate == KDAPL_GATE_HOLD && dir->is_recv)) {
		from.length = named.length;
		return post_dto(ep, dir, dto, dto->kind, from);
	}
	/* A read of nothing (mt:T3). */
	if (!named.nr)
		return post_dto(ep, dir, dto, dto->kind, named);
	walk.whole = read_names_whole(&ep->obj, kdapl_dto_rows[dto->kind].fetches);
	kdapl_walk_begin(&walk, ep->obj.space, dto->iov, named.sge, named.nr);
	n = kdapl_walk_count(&walk);
	if (!n)
		return kdapl_protection_violation(kdapl_dto_rows[dto->kind].sink);
	if (n > max && !kdapl_dto_rows[dto->kind].chains)
		return RET_BAD_ARG(2);
	if (n > max)
		return batch ? HAS_LIST : post_long(ep, dto, &walk, named, n);
	from.nr = kdapl_walk_take(&walk, pieces, max, &from.length);
	if (walk.lost)
		return kdapl_protection_violation(kdapl_dto_rows[dto->kind].sink);
	if (!batch)
		return post_dto(ep, dir, dto, dto->kind, from);
	/* What was in the batch's memory has been read: the segments as they were named. */
	memcpy(&batch->sge[batch->nr_sge], pieces, from.nr * sizeof(*pieces));
	from.sge = &batch->sge[batch->nr_sge];
	return check_post(ep, dir, dto->kind) ?: batch_add(ep, batch, dto, from);
}

/* ---- several requests at once: posting what was collected ---------------- */

/*
 * The device has taken the requests before @first, and not the others.  These were never posted.
 * But where the device refuses them for the moment only, they are held, in their order, and flushed
 * behind those that it has (post_refused()).  So they are if the device would tell of the last one
 * that it has taken only together with one that it has not: then the connection breaks, as it does
 * for half a chain, and what nothing was told of is flushed as what a device has lost.
 */
static noinline DAT_RETURN batch_refused(struct kdapl_dir *dir, const struct post_batch *batch,
					 u32 first, u32 nr, int err)
{
	bool untold = first && !(batch->wrs[first - 1].wr.send_flags & IB_SEND_SIGNALED);
	bool held = untold || kdapl_conn_not_now(dir->ep->conn, err);
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_segments from = {};
	u32 i;

	/* The last one first: the next post takes the cookie that is put back last. */
	for (i = nr - 1; i > first && !held; i--) {
		dir->posted--;
		cookie_put_back(dir, batch_cookie(batch, i));
	}
	if (untold) {
		dir->posted--;
		kdapl_post_chain_broken(dir, batch_cookie(batch, first), err);
	} else {
		from.sge = batch->wrs[first].wr.sg_list;
		from.nr = batch->wrs[first].wr.num_sge;
		ret = post_refused(dir, batch_cookie(batch, first), from, err);
	}
	for (i = first + 1; i < nr && held; i++) {
		struct kdapl_cookie *cookie = batch_cookie(batch, i);

		dir->posted--;
		cookie->owed = false;
		from.sge = batch->wrs[i].wr.sg_list;
		from.nr = batch->wrs[i].wr.num_sge;
		trace_kdapl_post_kept(cookie, err);
		cookie_hold(dir, cookie, from);
	}
	return ret;
}

/* Gives the queue pair what was collected.  @done: counts what was posted */
static DAT_RETURN batch_post(struct kdapl_ep *ep, struct post_batch *batch, u32 *done)
{
	const struct ib_send_wr *bad = &batch->wrs[0].wr;
	u32 nr = batch->nr, taken;
	DAT_RETURN ret;
	int err;

	batch->nr = 0;
	batch->nr_sge = 0;
	if (!nr)
		return DAT_SUCCESS;
	batch->wrs[nr - 1].wr.next = NULL;
	err = ib_post_send(ep->conn->qp.ib, &batch->wrs[0].wr, &bad);
	if (likely(!err)) {
		*done += nr;
		return DAT_SUCCESS;
	}
	taken = rdma_wr(bad) - batch->wrs;
	ret = batch_refused(&ep->req, batch, taken, nr, err);
	*done += ret ? taken : nr;
	return ret;
}

/*
 * Posts a request, or collects it.  One that is not for the queue pair now, that takes several work
 * requests, or that is an extension, is posted by itself, behind those that were collected.
 */
static DAT_RETURN batch_one(struct kdapl_ep *ep, struct post_batch *batch,
			    const struct kdapl_dto *dto, u32 *done)
{
	struct kdapl_segments from = { .sge = &batch->sge[batch->nr_sge] };
	bool alone = kdapl_dto_rows[dto->kind].needs;
	struct kdapl_dir *dir = &ep->req;
	DAT_RETURN ret, before;

	ret = check_dto(ep, dto, dto->kind, &from, false);
	if (ret == HAS_LIST && !alone) {
		ret = post_lists(ep, dir, dto, from.sge, batch);
		if (!ret)
			return DAT_SUCCESS;
	} else if (likely(!ret && dir->gate == KDAPL_GATE_POST && !alone)) {
		ret = check_post(ep, dir, dto->kind) ?: batch_add(ep, batch, dto, from);
		if (likely(!ret))
			return DAT_SUCCESS;
	}
	before = batch_post(ep, batch, done);
	if (before)
		return before;
	if (ret == HAS_LIST)
		ret = post_lists(ep, dir, dto, from.sge, NULL);
	else if (!ret)
		ret = post_dto(ep, dir, dto, dto->kind, from);
	*done += !ret;
	return ret;
}

/* Of a request as a kernel consumer describes it; false: it is of no kind. */
static bool dto_of(const struct kdat_request *request, struct kdapl_dto *dto)
{
	static const enum kdapl_dto_kind kinds[] = {
		[KDAT_SEND] = KDAPL_DTO_SEND,
		[KDAT_SEND_INVALIDATE] = KDAPL_DTO_SEND_INVALIDATE,
		[KDAT_RDMA_READ] = KDAPL_DTO_RDMA_READ,
		[KDAT_RDMA_WRITE] = KDAPL_DTO_RDMA_WRITE,
		[KDAT_RDMA_WRITE_IMMED] = KDAPL_DTO_RDMA_WRITE_IMMED,
		[KDAT_CMP_SWAP] = KDAPL_DTO_CMP_SWAP,
		[KDAT_FETCH_ADD] = KDAPL_DTO_FETCH_ADD,
	};

	if ((u32)request->kind >= ARRAY_SIZE(kinds))
		return false;
	*dto = (struct kdapl_dto) {
		.kind = kinds[request->kind],
		.segments = request->num_segments,
		.iov = request->local_iov,
		.cookie = request->user_cookie,
		.remote = request->remote_buffer,
		.word = request->rmr_context,
		.flags = request->completion_flags,
		.operand = request->operand,
		.compare = request->compare,
	};
	return true;
}

static DAT_RETURN post_requests(struct kdapl_ep *ep, u32 nr, const struct kdat_request *requests,
				u32 *done)
{
	struct post_batch batch kdapl_uninitialized;
	DAT_RETURN ret = DAT_SUCCESS, before;
	struct kdapl_dto dto;
	u32 i;

	lockdep_assert_held(&ep->req.lock);
	batch.nr = 0;
	batch.nr_sge = 0;
	for (i = 0; i < nr && !ret; i++) {
		if (batch.nr == BATCH_WRS || batch.nr_sge > BATCH_SGES - KDAPL_MAX_SGE)
			ret = batch_post(ep, &batch, done);
		if (!ret)
			ret = dto_of(&requests[i], &dto) ? batch_one(ep, &batch, &dto, done) :
							   RET_BAD_ARG(3);
	}
	before = batch_post(ep, &batch, done);
	return before ?: ret;
}

/* ---- entries -------------------------------------------------------- */

/* @kind is @dto->kind. */
static __always_inline DAT_RETURN ep_post(struct kdapl_space *space,
					  DAT_EP_HANDLE handle,
					  const struct kdapl_dto *dto,
					  enum kdapl_dto_kind kind)
{
	struct ib_sge sge[KDAPL_MAX_SGE] kdapl_uninitialized;
	struct kdapl_segments segments = { .sge = sge };
	struct kdapl_object *obj;
	struct kdapl_dir *dir;
	struct kdapl_ep *ep;
	unsigned long flags;
	DAT_RETURN ret;

	flags = kdapl_peek_begin();
	obj = kdapl_object_peek(space, handle, KDAPL_EP);
	ret = RET_BAD_HANDLE(EP);
	if (unlikely(!obj))
		goto out;
	ep = kdapl_ep_of(obj);
	dir = kind == KDAPL_DTO_RECV ? &ep->recv : &ep->req;
	spin_lock(&dir->lock);
	ret = check_dto(ep, dto, kind, &segments, false);
	if (likely(!ret))
		ret = post_dto(ep, dir, dto, kind, segments);
	else if (ret == HAS_LIST)
		ret = post_lists(ep, dir, dto, sge, NULL);
	spin_unlock(&dir->lock);
	/* In passthrough the process posts by itself, so the code is this one in any case. */
	if (unlikely(ret) && kdapl_ia_is_passthrough(ep->obj.ia))
		ret = RET(INVALID_STATE);
out:
	kdapl_peek_end(flags);
	return ret;
}

/**
 * kdapl_ep_post - dat_ep_post_send, _recv, _rdma_read, _rdma_write, _send_with_invalidate, and
 *	the extensions
 * @space: of the caller
 * @handle: of an EP
 * @dto: what to post; the argument numbers in return codes are those of the
 *	 dat_* call of its kind, for the extensions those of dat_ep_post_rdma_write
 *
 * The contracts are in face/kdat_ep.c.  Any context; never sleeps.  Rules
 * mt:T1..T36, M2.
 *
 * Return: as the dat_* call of @dto's kind.
 */
DAT_RETURN kdapl_ep_post(struct kdapl_space *space, DAT_EP_HANDLE handle,
			 const struct kdapl_dto *dto)
{
	/* So the compiler makes a function of each kind, without what only other kinds need. */
	if (dto->kind == KDAPL_DTO_RECV)
		return ep_post(space, handle, dto, KDAPL_DTO_RECV);
	if (dto->kind == KDAPL_DTO_SEND)
		return ep_post(space, handle, dto, KDAPL_DTO_SEND);
	if (dto->kind == KDAPL_DTO_RDMA_READ)
		return ep_post(space, handle, dto, KDAPL_DTO_RDMA_READ);
	if (dto->kind == KDAPL_DTO_RDMA_WRITE)
		return ep_post(space, handle, dto, KDAPL_DTO_RDMA_WRITE);
	return ep_post(space, handle, dto, dto->kind);
}

/**
 * kdapl_ep_post_requests - kdat_ep_post_requests
 * @space: of the caller
 * @handle: of an EP
 * @nr: of @requests
 * @requests: what to post
 * @done: out: how many were posted, the first ones
 *
 * The contract is in face/kdat_linux.c.  Any context; never sleeps.  Rules mt:T1..T36, M2.
 *
 * Return: as the dat_* call of the first one that was not posted; DAT_INVALID_PARAMETER/ARG2,
 * /ARG3, also for a kind that there is not, /ARG4.
 */
DAT_RETURN kdapl_ep_post_requests(struct kdapl_space *space, DAT_EP_HANDLE handle, DAT_COUNT nr,
				  const struct kdat_request *requests, DAT_COUNT *done)
{
	struct kdapl_object *obj;
	unsigned long flags;
	struct kdapl_ep *ep;
	DAT_RETURN ret;
	u32 n = 0;

	flags = kdapl_peek_begin();
	obj = kdapl_object_peek(space, handle, KDAPL_EP);
	ret = obj ? DAT_SUCCESS : RET_BAD_HANDLE(EP);
	if (!ret && (nr < 1 || nr > KDAT_MAX_REQUESTS))
		ret = RET_BAD_ARG(2);
	if (!ret && !requests)
		ret = RET_BAD_ARG(3);
	if (!ret && !done)
		ret = RET_BAD_ARG(4);
	if (!ret) {
		ep = kdapl_ep_of(obj);
		spin_lock(&ep->req.lock);
		ret = post_requests(ep, nr, requests, &n);
		spin_unlock(&ep->req.lock);
		*done = n;
	}
	kdapl_peek_end(flags);
	return ret;
}
