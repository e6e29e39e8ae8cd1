// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posts to a queue pair of the process's own: the data path. One lock is taken, that of
 * the direction; nothing is looked up but the LMRs, by an index. The checks are those of
 * kdapl/core/post.c, in its order.
 *
 * The queue pair takes a post while the board says Connected and nobody has begun to end
 * the connection (@gate, under the lock). The kernel may end it at any moment: then the
 * queue pair flushes the post, or, if it does so no more, is made to (pass_end.c), since
 * the post was counted first.
 */
#include "passthrough.h"

/* The local segments of a DTO as the device is told of them. */
struct post_segments {
	struct ibv_sge *sge;
	uint32_t nr;
	uint64_t length;
};

/* ---- checks ------------------------------------------------------------ */

static DAT_RETURN protection_violation(uint32_t sink)
{
	return DAT_ERROR(DAT_PROTECTION_VIOLATION,
			 sink ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

/* The device may not write there, or not what a read has fetched (mt:T30, mt:T35). */
static DAT_RETURN no_sink(const struct pass_lmr *lmr)
{
	return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
			 lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ?
			 DAT_PRIVILEGES_RDMA_WRITE : DAT_PRIVILEGES_WRITE);
}

/* One segment, checks in their order (mt:T5, mt:T29). */
static inline __attribute__((always_inline)) DAT_RETURN
check_segment(const struct pass_dir *dir, const DAT_LMR_TRIPLET *segment,
	      uint32_t sink, struct ibv_sge *sge)
{
	const struct pass_lmr *lmr = pass_lmr_find(segment->lmr_context);

	if (SHIM_UNLIKELY(!lmr))
		return protection_violation(sink);
	if (SHIM_UNLIKELY(!pass_lmr_inside(lmr, segment->virtual_address,
					   segment->segment_length)))
		return RET_BAD_ARG(3);
	if (SHIM_UNLIKELY(lmr->pz != dir->pz))
		return protection_violation(sink);
	if (SHIM_UNLIKELY(sink & ~lmr->sinks))
		return no_sink(lmr);
	sge->addr = segment->virtual_address;
	sge->length = segment->segment_length;
	sge->lkey = lmr->lkey;
	return DAT_SUCCESS;
}

static inline __attribute__((always_inline)) DAT_RETURN
check_segments(const struct pass_ep *ep, const struct pass_dir *dir, uint32_t op,
	       DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
	       struct post_segments *to)
{
	uint32_t sink = op == KDAPL_OP_RECV ? PASS_SINK_RECV :
			op == KDAPL_OP_RDMA_READ ? PASS_SINK_READ : 0;
	const DAT_LMR_TRIPLET *end = iov + segments;
	const uint64_t max = ep->limits[op].max_length;
	struct ibv_sge *sge = to->sge;
	uint64_t left = max;
	DAT_RETURN ret;

	for (; iov != end; iov++) {
		if (SHIM_UNLIKELY(!iov->segment_length))
			continue;	/* mt:T3 */
		ret = check_segment(dir, iov, sink, sge);
		if (SHIM_UNLIKELY(ret))
			return ret;
		if (SHIM_UNLIKELY(iov->segment_length > left))
			return RET_BAD_ARG(3);	/* mt:T6 */
		left -= iov->segment_length;
		sge++;
	}
	to->nr = sge - to->sge;
	to->length = max - left;
	return DAT_SUCCESS;
}

/* mt:T33: a read fetches the remote length, spread over the local segments. */
static uint32_t segments_trim(struct ibv_sge *sge, uint64_t length)
{
	uint32_t i = 0;

	do {
		if (sge[i].length > length)
			sge[i].length = length;
		length -= sge[i].length;
		i++;
	} while (length);
	return i;
}

/* mt:T3: a read of nothing needs no segment; but iWARP devices want just one. */
static uint32_t segments_of_nothing(const struct pass_ep *ep, struct ibv_sge *sge)
{
	if (!pass_ia_of(ep->ia)->iwarp)
		return 0;
	*sge = (struct ibv_sge) { 0 };
	return 1;
}

/* The remote segment of an RDMA operation against the local ones. */
static DAT_RETURN check_lengths(const struct pass_ep *ep, uint32_t op,
				const DAT_RMR_TRIPLET *remote,
				struct post_segments *to)
{
	uint64_t length = remote->segment_length;

	if (op == KDAPL_OP_RDMA_WRITE)
		return length < to->length ? RET(LENGTH_ERROR) : DAT_SUCCESS;
	if (to->length < length)
		return RET(LENGTH_ERROR);
	to->nr = length ? segments_trim(to->sge, length) :
			  segments_of_nothing(ep, to->sge);
	to->length = length;
	return DAT_SUCCESS;
}

/* Everything that can be judged without the endpoint's state. */
static inline __attribute__((always_inline)) DAT_RETURN
check_dto(const struct pass_ep *ep, const struct pass_dir *dir, uint32_t op,
	  DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
	  const DAT_RMR_TRIPLET *remote, uint32_t flags, struct post_segments *to)
{
	const struct pass_limits *limits = &ep->limits[op];
	bool rdma = op == KDAPL_OP_RDMA_READ || op == KDAPL_OP_RDMA_WRITE;
	DAT_RETURN ret;

	if (SHIM_UNLIKELY((uint32_t)segments > limits->max_iov))
		return RET_BAD_ARG(2);
	if (SHIM_UNLIKELY(segments && !iov))
		return RET_BAD_ARG(3);
	if (rdma && remote->target_address + remote->segment_length <
		    remote->target_address)
		return RET_BAD_ARG(5);
	if (SHIM_UNLIKELY(flags & ~limits->flags))
		return rdma ? RET_BAD_ARG(6) : RET_BAD_ARG(5);
	ret = check_segments(ep, dir, op, segments, iov, to);
	if (SHIM_UNLIKELY(ret) || !rdma)
		return ret;
	return check_lengths(ep, op, remote, to);
}

/* ---- cookies ----------------------------------------------------------- */

/* The next cookie, if its last event was dequeued (mt:T13, mt:T14). */
static inline __attribute__((always_inline)) struct pass_cookie *
cookie_take(struct pass_dir *dir, uint64_t user, uint64_t length, uint32_t flags)
{
	uint32_t i = dir->next;
	struct pass_cookie *cookie = &dir->ring[i];

	/* ORDER: pairs with pass_cookie_free(): its old event was read before. */
	if (SHIM_UNLIKELY(atomic_load_explicit(&cookie->busy, memory_order_acquire)))
		return NULL;
	cookie->user = user;
	cookie->length = length;
	cookie->flags = flags;
	atomic_store_explicit(&cookie->busy, true, memory_order_relaxed);
	dir->next = i + 1 == dir->size ? 0 : i + 1;
	return cookie;
}

/*
 * pass_cookie_take - the same for a bind
 *
 * The lock of the direction is held, as for all functions below.
 */
struct pass_cookie *pass_cookie_take(struct pass_dir *dir, uint64_t user,
				     uint64_t length, uint32_t flags)
{
	return cookie_take(dir, user, length, flags);
}

static void dir_pull(struct pass_dir *dir)
{
	if (!dir->evd)
		return;
	shim_lock(dir->evd->lock);
	pass_fifo_pull(dir->evd);
	if (dir->evd->first)
		pass_evd_wake(dir->evd);
	shim_unlock(dir->evd->lock);
}

/*
 * pass_cookie_room - poll for a free cookie, if there is none
 *
 * Of what is suppressed (mt:T15), and of all that goes to a hidden EVD (mt:T11), the
 * completions may be there, and the consumer has no reason to ask for them.
 */
__attribute__((noinline)) void pass_cookie_room(struct pass_dir *dir)
{
	if (atomic_load_explicit(&dir->ring[dir->next].busy, memory_order_acquire))
		dir_pull(dir);
}

/* pass_dir_pull - look what has completed; the lock of the direction is not held */
void pass_dir_pull(struct pass_dir *dir)
{
	shim_lock(&dir->lock);
	dir_pull(dir);
	shim_unlock(&dir->lock);
}

/* pass_cookie_put_back - the post failed, and nobody has seen the cookie */
void pass_cookie_put_back(struct pass_dir *dir, struct pass_cookie *cookie)
{
	cookie->on_queue = false;
	cookie->rmr = NULL;
	cookie->rmr_obj = NULL;
	dir->next = cookie - dir->ring;
	atomic_store_explicit(&cookie->busy, false, memory_order_relaxed);
}

/* Of receives that may have to be posted again, and keys of requests. */
static void note_segments(struct pass_dir *dir, struct pass_cookie *cookie,
			  const struct ibv_sge *sge, uint32_t nr)
{
	struct ibv_sge *to = &dir->sge[(cookie - dir->ring) * dir->max_sge];
	uint32_t i;

	for (i = 0; i < nr; i++)
		to[i] = sge[i];
	cookie->nr_sge = nr;
}

/* ---- the gate is not open ---------------------------------------------- */

/* A library that caches the state refuses requests until it has seen RTS. */
static void sync_state(struct pass_dir *dir)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	if (pass_ia_of(dir->ep->ia)->hints & KDAPL_VERBS_SYNC_STATE)
		ibv_modify_qp(dir->qp, &attr, IBV_QP_STATE);
}

/*
 * pass_gate_aside - what becomes of a post
 * @gate: out: PASS_POST, or how pass_put_aside() keeps it
 *
 * Return: DAT_SUCCESS, or why it is refused.
 */
DAT_RETURN pass_gate_aside(struct pass_dir *dir, enum pass_gate *gate)
{
	const struct kdapl_uapi_board_ep *board = dir->board;
	uint32_t state = pass_state(board);
	bool ended = dir->gate == PASS_LATE || dir->gate == PASS_FLUSH;
	DAT_RETURN refusal;

	refusal = shim_load_acquire(dir->is_recv ? &board->refuse_recv :
						   &board->refuse_request);
	*gate = dir->gate;
	/* The board may not show yet what the event of the end has told. */
	if (ended && (state != DAT_EP_STATE_DISCONNECT_PENDING ||
		      atomic_load(&dir->ep->over)))
		return DAT_SUCCESS;
	if (refusal)
		return refusal;
	if (ended)
		return DAT_SUCCESS;
	switch (state) {
	case DAT_EP_STATE_CONNECTED:
		if (dir->gate == PASS_ASIDE && !dir->is_recv && dir->qp)
			sync_state(dir);
		dir->gate = dir->qp ? PASS_POST : PASS_LATE;
		*gate = dir->gate;
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		*gate = dir->qp && !(shim_load_acquire(&board->flags) &
				     KDAPL_BOARD_ERROR) ? PASS_POST : PASS_LATE;
		break;
	case DAT_EP_STATE_DISCONNECTED:
		*gate = PASS_LATE;
		break;
	default:
		*gate = dir->qp ? PASS_POST : PASS_ASIDE;
	}
	return DAT_SUCCESS;
}

/* pass_put_aside - keep a post that goes to no queue pair, or flush it */
void pass_put_aside(struct pass_dir *dir, struct pass_cookie *cookie,
		    enum pass_gate gate)
{
	cookie->on_queue = false;
	switch (gate) {
	case PASS_ASIDE:
		if (!dir->held++)
			dir->held_first = cookie - dir->ring;
		break;
	case PASS_LATE:
		cookie->late_next = NULL;
		*dir->late_end = cookie;
		dir->late_end = &cookie->late_next;
		pass_end_want(dir->ep);
		break;
	default:
		pass_fifo_flushed(dir->evd, cookie);
	}
}

static int post_recv(struct pass_dir *dir, struct pass_cookie *cookie,
		     struct ibv_sge *sge, uint32_t nr)
{
	struct ibv_recv_wr wr = {
		.wr_id = (uintptr_t)cookie,
		.sg_list = sge,
		.num_sge = nr,
	}, *bad;

	return ibv_post_recv(dir->qp, &wr, &bad);
}

/*
 * pass_post_held - give a new queue pair the receives that wait for one
 *
 * They stay where they are until the connection is there, in case it never is.
 *
 * Return: 0 or an errno; some may be posted then.
 */
int pass_post_held(struct pass_dir *dir)
{
	struct pass_cookie *cookie;
	uint32_t i;
	int err;

	while (dir->held) {
		i = (dir->held_first + dir->kept) % dir->size;
		cookie = &dir->ring[i];
		cookie->on_queue = true;
		err = post_recv(dir, cookie, &dir->sge[i * dir->max_sge],
				cookie->nr_sge);
		if (err)
			return err;
		dir->posted++;
		dir->held--;
		dir->kept++;
	}
	return 0;
}

/*
 * The device did not take the post. That is no fault of the consumer's when the connection
 * is about to end, which the board may not show yet.
 */
static DAT_RETURN post_refused(struct pass_dir *dir, struct pass_cookie *cookie, int err)
{
	dir->posted--;
	if (err != ENOMEM && (pass_ia_of(dir->ep->ia)->iwarp ||
			      pass_state(dir->board) != DAT_EP_STATE_CONNECTED)) {
		pass_put_aside(dir, cookie, PASS_LATE);
		return DAT_SUCCESS;
	}
	pass_cookie_put_back(dir, cookie);
	return err == ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET(INTERNAL_ERROR);
}

/* ---- the post ---------------------------------------------------------- */

static inline __attribute__((always_inline)) int
post_request(struct pass_dir *dir, struct pass_cookie *cookie, uint32_t op,
	     const struct post_segments *from, const DAT_RMR_TRIPLET *remote,
	     uint32_t flags)
{
	struct ibv_send_wr wr, *bad;

	wr.wr_id = (uintptr_t)cookie;
	wr.next = NULL;
	wr.sg_list = from->sge;
	wr.num_sge = from->nr;
	wr.opcode = op == KDAPL_OP_SEND ? IBV_WR_SEND :
		    op == KDAPL_OP_RDMA_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (SHIM_UNLIKELY(flags)) {
		if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			wr.send_flags |= IBV_SEND_SOLICITED;
		if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
			wr.send_flags |= IBV_SEND_FENCE;
	}
	if (op != KDAPL_OP_SEND) {
		wr.wr.rdma.remote_addr = remote->target_address;
		wr.wr.rdma.rkey = remote->rmr_context;
	}
	return ibv_post_send(dir->qp, &wr, &bad);
}

static inline __attribute__((always_inline)) DAT_RETURN
post_locked(struct pass_ep *ep, struct pass_dir *dir, uint32_t op, DAT_COUNT segments,
	    const DAT_LMR_TRIPLET *iov, uint64_t user, const DAT_RMR_TRIPLET *remote,
	    uint32_t flags)
{
	struct ibv_sge sge[PASS_MAX_SGE];
	struct post_segments to = { .sge = sge };
	enum pass_gate gate = PASS_POST;
	struct pass_cookie *cookie;
	bool early = false;
	DAT_RETURN ret;
	int err;

	ret = check_dto(ep, dir, op, segments, iov, remote, flags, &to);
	if (SHIM_UNLIKELY(ret))
		return ret;
	if (SHIM_UNLIKELY(dir->gate != PASS_POST ||
			  pass_state(dir->board) != DAT_EP_STATE_CONNECTED)) {
		ret = pass_gate_aside(dir, &gate);
		if (ret)
			return ret;
		early = dir->gate == PASS_ASIDE;
	}
	if (op == KDAPL_OP_RDMA_READ && SHIM_UNLIKELY(!ep->reads))
		return RET_NO_RESOURCE(CREDITS);	/* mt:T16 */
	cookie = cookie_take(dir, user, to.length, flags);
	if (SHIM_UNLIKELY(!cookie)) {
		pass_cookie_room(dir);
		cookie = pass_cookie_take(dir, user, to.length, flags);
		if (!cookie)
			return RET_NO_RESOURCE(MEMORY);
	}
	if (SHIM_UNLIKELY(early || ep->keys))
		note_segments(dir, cookie, sge, to.nr);
	if (SHIM_UNLIKELY(gate != PASS_POST)) {
		pass_put_aside(dir, cookie, gate);
		return DAT_SUCCESS;
	}

	/* Before the call: the completion may be there before it returns. */
	cookie->on_queue = true;
	dir->posted++;
	if (op == KDAPL_OP_RECV)
		err = post_recv(dir, cookie, sge, to.nr);
	else
		err = post_request(dir, cookie, op, &to, remote, flags);
	if (SHIM_UNLIKELY(err))
		return post_refused(dir, cookie, err);
	if (SHIM_UNLIKELY(early) && !dir->kept++)
		dir->held_first = cookie - dir->ring;
	return DAT_SUCCESS;
}

/* The kernel made the EP for a request, and nobody has used it here so far. */
static __attribute__((noinline)) struct pass_ep *first_use(struct shim_object *obj)
{
	struct pass_ep *ep = pass_ep_get(obj);

	if (ep)
		pass_ep_put(ep);
	return ep;
}

static inline __attribute__((always_inline)) DAT_RETURN
post_one(struct shim_object *obj, uint32_t op, DAT_COUNT segments,
	 const DAT_LMR_TRIPLET *iov, uint64_t user, const DAT_RMR_TRIPLET *remote,
	 uint32_t flags)
{
	DAT_RETURN ret = RET_BAD_HANDLE(EP);
	struct pass_ep *ep = pass_ep_of(obj);
	struct pass_dir *dir;

	if (SHIM_UNLIKELY(!ep)) {
		ep = first_use(obj);
		if (!ep)
			return ret;
	}
	/* Its memory is never given back; the lock tells whether it is still this EP. */
	dir = &ep->dir[op == KDAPL_OP_RECV ? PASS_RECV : PASS_REQ];
	shim_lock(&dir->lock);
	if (SHIM_LIKELY(atomic_load_explicit(&ep->obj, memory_order_relaxed) == obj))
		ret = post_locked(ep, dir, op, segments, iov, user, remote, flags);
	shim_unlock(&dir->lock);
	return ret;
}

DAT_RETURN pass_post_send(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_SEND, segments, iov, cookie, NULL, flags);
}

DAT_RETURN pass_post_recv(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_RECV, segments, iov, cookie, NULL, flags);
}

DAT_RETURN pass_post_read(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			  const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_RDMA_READ, segments, iov, cookie, remote, flags);
}

DAT_RETURN pass_post_write(struct shim_object *ep, DAT_COUNT segments,
			   const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			   const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_RDMA_WRITE, segments, iov, cookie, remote, flags);
}
