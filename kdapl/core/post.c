// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: dat_ep_post_send, _recv, _rdma_read, _rdma_write, and the way to the
 * queue of a bind (core/rmr.c).  This is the data path (A4): the token look-up
 * and the checks under RCU, then one lock, under which the gate decides, a
 * cookie is taken and the queue is called.  It never sleeps, allocates, or takes
 * a lock that two endpoints share (mt:T17); a bind takes its RMR's.
 */
#include "ep.h"
#include "evd_fifo.h"
#include "ia.h"
#include "lmr.h"
#include "rmr.h"
#include "../trace.h"


/* What differs between the five posts. */
struct post {
	enum kdapl_dto dto;
	DAT_COUNT segments;
	const DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	const DAT_RMR_TRIPLET *remote;
	struct kdapl_bind *bind;
	u32 flags;
	/* filled by check() */
	struct ib_sge sge[KDAPL_MAX_SGE];
	u32 nr_sge;
	u64 length;
};

/* mt:T19, the flags that each kind of post may carry (UNSIGNALLED aside). */
static const u32 dto_flags[] = {
	[KDAPL_DTO_RECV] = 0,
	[KDAPL_DTO_SEND] = DAT_COMPLETION_SUPPRESS_FLAG |
			   DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			   DAT_COMPLETION_BARRIER_FENCE_FLAG,
	[KDAPL_DTO_RDMA_READ] = DAT_COMPLETION_SUPPRESS_FLAG |
				DAT_COMPLETION_BARRIER_FENCE_FLAG,
	[KDAPL_DTO_RDMA_WRITE] = DAT_COMPLETION_SUPPRESS_FLAG |
				 DAT_COMPLETION_BARRIER_FENCE_FLAG,
	[KDAPL_DTO_BIND] = DAT_COMPLETION_SUPPRESS_FLAG |
			   DAT_COMPLETION_BARRIER_FENCE_FLAG,
};

static bool is_rdma(const struct post *p)
{
	return p->dto == KDAPL_DTO_RDMA_READ || p->dto == KDAPL_DTO_RDMA_WRITE;
}

/* mt:T19, mt:T21 */
static bool flags_ok(const struct kdapl_ep *ep, const struct post *p)
{
	u32 attr = p->dto == KDAPL_DTO_RECV ? ep->attr.recv_completion_flags :
					      ep->attr.request_completion_flags;

	return !(p->flags & ~(dto_flags[p->dto] |
			      (attr & DAT_COMPLETION_UNSIGNALLED_FLAG)));
}

static u32 max_iov(const struct kdapl_ep *ep, enum kdapl_dto dto)
{
	switch (dto) {
	case KDAPL_DTO_RECV:
		return ep->attr.max_recv_iov;
	case KDAPL_DTO_SEND:
		return ep->attr.max_request_iov;
	case KDAPL_DTO_RDMA_READ:
		return ep->attr.max_rdma_read_iov;
	default:
		return ep->attr.max_rdma_write_iov;
	}
}

/*
 * mt:T33: what a read fetches is the remote length, spread over the segments.
 */
static void trim(struct post *p, u64 length)
{
	u64 left = length;
	u32 i;

	for (i = 0; i < p->nr_sge && left; i++) {
		p->sge[i].length = min_t(u64, p->sge[i].length, left);
		left -= p->sge[i].length;
	}
	p->nr_sge = i;
	p->length = length;
}

static DAT_RETURN check_segments(struct kdapl_ep *ep, struct post *p)
{
	bool sink = p->dto == KDAPL_DTO_RECV || p->dto == KDAPL_DTO_RDMA_READ;
	u64 max = is_rdma(p) ? ep->attr.max_rdma_size : ep->attr.max_message_size;
	DAT_RETURN ret;
	int i;

	p->nr_sge = 0;
	p->length = 0;
	for (i = 0; i < p->segments; i++) {
		const DAT_LMR_TRIPLET *s = &p->iov[i];

		if (!s->segment_length)
			continue;	/* mt:T3 */
		ret = kdapl_lmr_check(ep->obj.space, READ_ONCE(ep->pz), s,
				      sink ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
					     DAT_MEM_PRIV_LOCAL_READ_FLAG,
				      &p->sge[p->nr_sge]);
		if (ret)
			return ret;
		p->nr_sge++;
		if (s->segment_length > max - p->length)
			return RET_BAD_ARG(3);	/* mt:T6 */
		p->length += s->segment_length;
	}
	return DAT_SUCCESS;
}

/* E18: the completion of a bind goes only where it is expected. */
static bool takes_binds(const struct kdapl_dir *dir)
{
	return READ_ONCE(dir->binds);
}

static DAT_RETURN check_bind(struct kdapl_ep *ep, struct post *p)
{
	struct kdapl_bind *bind = p->bind;
	DAT_RETURN ret;

	if (ep->obj.ia != bind->rmr->obj.ia)
		return RET_BAD_HANDLE(EP);
	if (!takes_binds(&ep->req))
		return RET_BAD_HANDLE(EVD_REQUEST);
	ret = kdapl_rmr_check_region(ep, bind);
	if (ret)
		return ret;
	if (!flags_ok(ep, p))
		return RET_BAD_ARG(6);
	if (!bind->context)
		return RET_BAD_ARG(7);
	return kdapl_rmr_check_rights(ep, bind);
}

/* Everything that can be judged without the endpoint's state (RULING 35). */
static DAT_RETURN check(struct kdapl_ep *ep, struct post *p)
{
	const DAT_RMR_TRIPLET *remote = p->remote;
	DAT_RETURN ret;

	if (p->dto == KDAPL_DTO_BIND)
		return check_bind(ep, p);
	if (p->segments < 0 || p->segments > max_iov(ep, p->dto))
		return RET_BAD_ARG(2);
	if (p->segments && !p->iov)
		return RET_BAD_ARG(3);
	if (is_rdma(p) && (!remote || remote->target_address +
			   remote->segment_length < remote->target_address))
		return RET_BAD_ARG(5);
	if (!flags_ok(ep, p))
		return is_rdma(p) ? RET_BAD_ARG(6) : RET_BAD_ARG(5);
	ret = check_segments(ep, p);
	if (ret || !is_rdma(p))
		return ret;

	if (p->dto == KDAPL_DTO_RDMA_WRITE)
		return remote->segment_length < p->length ?
		       RET(LENGTH_ERROR) : DAT_SUCCESS;
	if (p->length < remote->segment_length)
		return RET(LENGTH_ERROR);
	trim(p, remote->segment_length);
	return DAT_SUCCESS;
}

/* The next cookie, if its last event was dequeued (mt:T13, mt:T14). */
static struct kdapl_cookie *cookie_get(struct kdapl_dir *dir, const struct post *p)
{
	struct kdapl_cookie *cookie;

	if (!dir->size)
		return NULL;
	cookie = &dir->ring[dir->next];
	/* Pairs with cookie_release(): its old event was read before. */
	if (smp_load_acquire(&cookie->busy))
		return NULL;
	cookie->user = p->cookie.as_64;
	cookie->length = p->length;
	cookie->flags = p->flags;
	cookie->failed = false;
	cookie->rmr = NULL;
	if (unlikely(p->bind)) {
		cookie->rmr = p->bind->rmr;
		kdapl_object_get(&cookie->rmr->obj);
	}
	cookie->busy = true;
	if (++dir->next == dir->size)
		dir->next = 0;
	return cookie;
}

static void cookie_unget(struct kdapl_dir *dir, struct kdapl_cookie *cookie)
{
	if (unlikely(cookie->rmr))
		kdapl_object_put(&cookie->rmr->obj);
	cookie->busy = false;
	cookie->on_queue = false;
	dir->next = cookie - dir->ring;
}

static void note_segments(struct kdapl_dir *dir, const struct kdapl_cookie *cookie,
			  const struct post *p)
{
	u32 i = cookie - dir->ring;

	memcpy(&dir->sge[i * dir->max_sge], p->sge, p->nr_sge * sizeof(p->sge[0]));
	dir->nr_sge[i] = p->nr_sge;
}

static void hold(struct kdapl_dir *dir, struct kdapl_cookie *cookie,
		 const struct post *p)
{
	if (!dir->held++)
		dir->held_first = cookie - dir->ring;
	note_segments(dir, cookie, p);
}

static int post_recv(struct kdapl_qp *qp, struct kdapl_cookie *cookie,
		     struct post *p)
{
	struct ib_recv_wr wr = {
		.wr_id = (uintptr_t)cookie,
		.sg_list = p->sge,
		.num_sge = p->nr_sge,
	};

	return qp->dev->qp->post_recv(qp, &wr);
}

/* A4: always signalled; suppression is done when the completion comes in. */
static int post_request(struct kdapl_qp *qp, struct kdapl_cookie *cookie,
			struct post *p)
{
	static const u8 opcodes[] = {
		[KDAPL_DTO_SEND] = IB_WR_SEND,
		[KDAPL_DTO_RDMA_READ] = IB_WR_RDMA_READ,
		[KDAPL_DTO_RDMA_WRITE] = IB_WR_RDMA_WRITE,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = (uintptr_t)cookie,
			.sg_list = p->sge,
			.num_sge = p->nr_sge,
			.opcode = opcodes[p->dto],
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	if (p->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		wr.wr.send_flags |= IB_SEND_SOLICITED;
	if (p->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		wr.wr.send_flags |= IB_SEND_FENCE;
	if (p->remote) {
		wr.remote_addr = p->remote->target_address;
		wr.rkey = p->remote->rmr_context;
	}
	return qp->dev->qp->post_send(qp, &wr.wr, NULL);
}

static DAT_RETURN post_failed(int error)
{
	trace_kdapl_error("post", error);
	if (error == -ENOMEM)
		return RET_NO_RESOURCE(MEMORY);
	return RET(INTERNAL_ERROR);
}

/* One or two work requests; the last one's completion is that of the bind. */
static DAT_RETURN post_bind(struct kdapl_qp *qp, struct kdapl_cookie *cookie,
			    struct post *p)
{
	const struct ib_send_wr *bad;
	struct kdapl_bind_wr wr;
	DAT_RETURN ret;
	int err;

	ret = kdapl_rmr_begin(p->bind, cookie, &wr);
	if (ret)
		return ret;
	wr.first->wr_id = (uintptr_t)cookie | KDAPL_WR_INVALIDATE;
	wr.last->wr_id = (uintptr_t)cookie;
	wr.first->send_flags |= IB_SEND_SIGNALED;
	wr.last->send_flags |= IB_SEND_SIGNALED;
	if (p->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		wr.first->send_flags |= IB_SEND_FENCE;
	err = qp->dev->qp->post_send(qp, wr.first, &bad);
	if (err && bad == wr.first) {
		kdapl_rmr_cancel(p->bind->rmr);
		return post_failed(err);
	}
	/*
	 * The former key is being taken back, and no completion will come: the
	 * connection breaks, and the bind is flushed with the rest.
	 */
	if (err)
		qp->event(qp, IB_EVENT_QP_REQ_ERR);
	p->bind->rkey = wr.rkey;
	return DAT_SUCCESS;
}

static DAT_RETURN queue(struct kdapl_ep *ep, struct kdapl_dir *dir,
			struct kdapl_cookie *cookie, struct post *p)
{
	struct kdapl_qp *qp = &ep->conn->qp;
	int err;

	if (unlikely(p->bind))
		return post_bind(qp, cookie, p);
	err = dir->is_recv ? post_recv(qp, cookie, p) : post_request(qp, cookie, p);
	return likely(!err) ? DAT_SUCCESS : post_failed(err);
}

/* Caller holds @dir's lock. */
static DAT_RETURN give(struct kdapl_ep *ep, struct kdapl_dir *dir, struct post *p)
{
	struct kdapl_cookie *cookie;
	DAT_RETURN ret;

	if (dir->gate == KDAPL_GATE_REFUSE)
		return dir->refusal;
	/* check() saw the attributes without the lock; a modify may have come. */
	if (dir->sge && p->nr_sge > dir->max_sge)
		return RET_BAD_ARG(2);
	if (unlikely(p->bind) && !takes_binds(dir))
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (p->dto == KDAPL_DTO_RDMA_READ && !ep->attr.max_rdma_read_out)
		return RET_NO_RESOURCE(CREDITS);	/* mt:T16 */
	if (dir->gate == KDAPL_GATE_HOLD && READ_ONCE(ep->obj.ia->removed))
		return RET(INVALID_STATE);	/* E71 */
	cookie = cookie_get(dir, p);
	if (!cookie)
		return RET_NO_RESOURCE(MEMORY);

	switch (dir->gate) {
	case KDAPL_GATE_HOLD:
		hold(dir, cookie, p);
		return DAT_SUCCESS;
	case KDAPL_GATE_LATE:
		list_add_tail(&cookie->node.link, &dir->late);
		return DAT_SUCCESS;
	case KDAPL_GATE_FLUSH:
		kdapl_evd_post_flushed(dir->evd, cookie);
		return DAT_SUCCESS;
	}

	/* Before the call: the completion may be there before it returns. */
	cookie->on_queue = true;
	dir->posted++;
	if (!dir->is_recv && dir->sge)
		note_segments(dir, cookie, p);
	ret = queue(ep, dir, cookie, p);
	if (unlikely(ret)) {
		dir->posted--;
		cookie_unget(dir, cookie);
	}
	return ret;
}

static DAT_RETURN post(struct kdapl_space *space, DAT_EP_HANDLE handle,
		       struct post *p)
{
	struct kdapl_object *obj;
	struct kdapl_dir *dir;
	struct kdapl_ep *ep;
	unsigned long flags;
	DAT_RETURN ret;

	/*
	 * The read section keeps the endpoint's memory and, until the work
	 * request is with the device, the LMRs that the checks found (L5,
	 * mt:T12).
	 */
	rcu_read_lock();
	obj = kdapl_object_find_rcu(space, handle, KDAPL_EP);
	ret = RET_BAD_HANDLE(EP);
	if (!obj)
		goto out;
	ep = kdapl_ep_of(obj);
	ret = check(ep, p);
	if (ret)
		goto out;
	dir = p->dto == KDAPL_DTO_RECV ? &ep->recv : &ep->req;
	spin_lock_irqsave(&dir->lock, flags);
	ret = give(ep, dir, p);
	spin_unlock_irqrestore(&dir->lock, flags);
out:
	rcu_read_unlock();
	return ret;
}

/**
 * kdapl_ep_post_send - dat_ep_post_send
 * @space: of the caller
 * @ep: handle of an EP
 * @segments: 0 .. max_request_iov
 * @iov: @segments local segments; copied (mt:T7)
 * @cookie: given back in the completion
 * @flags: SUPPRESS, SOLICITED_WAIT, BARRIER_FENCE, UNSIGNALLED where the EP's
 *	   attributes have it (mt:T21)
 *
 * Any context; never sleeps.  Rules mt:T1..T31, M2.
 *
 * Return: DAT_SUCCESS, and one completion follows (mt:T36);
 * DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2, /ARG3, /ARG5;
 * DAT_PROTECTION_VIOLATION/READ; DAT_INVALID_STATE with the EP's state; DAT_INSUFFICIENT_RESOURCES/MEMORY when
 * max_request_dtos are outstanding; DAT_INTERNAL_ERROR when the device refuses.
 */
DAT_RETURN kdapl_ep_post_send(struct kdapl_space *space, DAT_EP_HANDLE ep,
			      DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct post p;

	p.dto = KDAPL_DTO_SEND;
	p.segments = segments;
	p.iov = iov;
	p.cookie = cookie;
	p.remote = NULL;
	p.bind = NULL;
	p.flags = flags;
	return post(space, ep, &p);
}

/**
 * kdapl_ep_post_recv - dat_ep_post_recv
 * @space: of the caller
 * @ep: handle of an EP, in any state
 * @segments: 0 .. max_recv_iov
 * @iov: @segments local segments; copied (mt:T7)
 * @cookie: given back in the completion
 * @flags: UNSIGNALLED where the EP's attributes have it (mt:T21)
 *
 * Any context; never sleeps.  Rules mt:T1..T31, M2, mt:T10.
 *
 * Return: as kdapl_ep_post_send(), with DAT_PROTECTION_VIOLATION/WRITE and
 * DAT_PRIVILEGES_VIOLATION/WRITE.
 */
DAT_RETURN kdapl_ep_post_recv(struct kdapl_space *space, DAT_EP_HANDLE ep,
			      DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct post p;

	p.dto = KDAPL_DTO_RECV;
	p.segments = segments;
	p.iov = iov;
	p.cookie = cookie;
	p.remote = NULL;
	p.bind = NULL;
	p.flags = flags;
	return post(space, ep, &p);
}

/**
 * kdapl_ep_post_rdma_read - dat_ep_post_rdma_read
 * @space: of the caller
 * @ep: handle of an EP
 * @segments: 0 .. max_rdma_read_iov
 * @iov: @segments local segments, together at least as long as @remote
 * @cookie: given back in the completion
 * @remote: what is read: exactly its segment_length bytes (mt:T33)
 * @flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED where the EP's attributes have it
 *
 * Any context; never sleeps.  Rules mt:T1..T34.
 *
 * Return: as kdapl_ep_post_recv(), and DAT_INVALID_PARAMETER/ARG5 for @remote, /ARG6 for @flags; DAT_LENGTH_ERROR;
 * DAT_INSUFFICIENT_RESOURCES/CREDITS for an EP without outgoing reads (mt:T16).
 */
DAT_RETURN kdapl_ep_post_rdma_read(struct kdapl_space *space, DAT_EP_HANDLE ep,
				   DAT_COUNT segments,
				   const DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	struct post p;

	p.dto = KDAPL_DTO_RDMA_READ;
	p.segments = segments;
	p.iov = iov;
	p.cookie = cookie;
	p.remote = remote;
	p.bind = NULL;
	p.flags = flags;
	return post(space, ep, &p);
}

/**
 * kdapl_ep_post_rdma_write - dat_ep_post_rdma_write
 * @space: of the caller
 * @ep: handle of an EP
 * @segments: 0 .. max_rdma_write_iov
 * @iov: @segments local segments, together at most as long as @remote
 * @cookie: given back in the completion
 * @remote: where it is written
 * @flags: as kdapl_ep_post_rdma_read()
 *
 * Any context; never sleeps.  Rules mt:T1..T34.
 *
 * Return: as kdapl_ep_post_send(), and DAT_INVALID_PARAMETER/ARG5 for @remote,
 * /ARG6 for @flags; DAT_LENGTH_ERROR.
 */
DAT_RETURN kdapl_ep_post_rdma_write(struct kdapl_space *space, DAT_EP_HANDLE ep,
				    DAT_COUNT segments,
				    const DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags)
{
	struct post p;

	p.dto = KDAPL_DTO_RDMA_WRITE;
	p.segments = segments;
	p.iov = iov;
	p.cookie = cookie;
	p.remote = remote;
	p.bind = NULL;
	p.flags = flags;
	return post(space, ep, &p);
}

/**
 * kdapl_ep_post_bind - the way of a bind to the queue, for kdapl_rmr_bind()
 * @space: of the caller
 * @ep: handle of an EP
 * @bind: what to bind; its rkey is filled, 0 for what never reaches the device
 * @cookie: given back in the completion
 * @flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED where the EP's attributes have it
 *
 * Any context; never sleeps.  Rules mt:M29..M34, mt:M38, mt:M47.
 *
 * Return: as kdapl_rmr_bind(), but for the RMR's handle.
 */
DAT_RETURN kdapl_ep_post_bind(struct kdapl_space *space, DAT_EP_HANDLE ep,
			      struct kdapl_bind *bind, DAT_DTO_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags)
{
	struct post p;

	p.dto = KDAPL_DTO_BIND;
	p.segments = 0;
	p.iov = NULL;
	p.nr_sge = 0;
	p.length = 0;
	p.cookie = cookie;
	p.remote = NULL;
	p.bind = bind;
	p.flags = flags;
	return post(space, ep, &p);
}
