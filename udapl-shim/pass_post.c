// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posts to a queue pair in passthrough: the data path. A post takes one lock, that of the
 * direction, and looks nothing up but the LMRs, by an index. It is checked by the same code as in
 * the module (common/dto/check.h).
 *
 * A post goes to the queue pair while the board says Connected and the library has not begun to
 * end the connection (pass_dir.gate, under the lock). The kernel may end the connection at any
 * moment in between. Then the queue pair flushes the post; or if the post came after the flush,
 * the queue pair is made to flush once more (pass_end.c), because the post was counted before it
 * was made.
 */
#include "dto/check.h"
#include "pass_srq.h"

/* ---- the post ---------------------------------------------------------- */

/* Of a request that transfers @length bytes of our memory: if these are few they go inside it. */
static inline unsigned int send_flags(const struct pass_dir *dir, uint64_t length)
{
	return length - 1 < dir->max_inline ? IBV_SEND_SIGNALED | IBV_SEND_INLINE :
					      IBV_SEND_SIGNALED;
}

/* pass_give_request - post a request to the queue pair; 0 or an errno */
int pass_give_request(struct pass_dir *dir, const struct pass_cookie *cookie,
		      const struct kdapl_dto *dto, struct ibv_sge *sge, uint32_t nr)
{
	const struct kdapl_dto_row *row = &kdapl_dto_rows[dto->kind];
	struct ibv_send_wr wr, *bad;

	wr.wr_id = (uintptr_t)cookie;
	wr.next = NULL;
	wr.sg_list = sge;
	wr.num_sge = nr;
	wr.opcode = row->opcode;
	wr.imm_data = dto->word;
	wr.send_flags = nr && !row->sink ? send_flags(dir, cookie->length) : IBV_SEND_SIGNALED;
	if (cookie->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		wr.send_flags |= IBV_SEND_SOLICITED;
	if (cookie->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		wr.send_flags |= IBV_SEND_FENCE;
	if (row->atomic) {
		wr.wr.atomic.remote_addr = face_remote_address(dto->remote);
		wr.wr.atomic.rkey = dto->remote->rmr_context;
		wr.wr.atomic.compare_add = dto->kind == KDAPL_DTO_CMP_SWAP ? dto->compare :
									    dto->operand;
		wr.wr.atomic.swap = dto->operand;
	} else if (row->remote) {
		wr.wr.rdma.remote_addr = face_remote_address(dto->remote);
		wr.wr.rdma.rkey = dto->remote->rmr_context;
	} else {
		/* Where siw's library takes the key of an invalidation from. */
		wr.wr.rdma.rkey = dto->word;
	}
	return ibv_post_send(dir->qp, &wr, &bad);
}

/*
 * Keeps the segments in the cookie: those of posts that are held, or of receives that may have to
 * be posted to another queue pair, and those of requests for pass_fence_key().
 */
static void note_segments(struct pass_cookie *cookie, const struct ibv_sge *sge,
			  uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		cookie->sge[i] = sge[i];
	cookie->nr_sge = nr;
}

/* Keeps the rest of a request that has to wait for room on the queue pair. */
static void note_request(const struct pass_cookie *cookie, const struct kdapl_dto *dto)
{
	struct pass_request *request = pass_cookie_request(cookie);

	request->dto = *dto;
	if (kdapl_dto_rows[dto->kind].remote)
		request->remote = *dto->remote;
	request->dto.remote = &request->remote;
}

static DAT_RETURN post_locked(struct pass_ep *ep, struct pass_dir *dir,
			      const struct kdapl_dto *dto)
{
	const struct kdapl_dto_row *row = &kdapl_dto_rows[dto->kind];
	struct ibv_sge sge[PASS_MAX_SGE];
	struct kdapl_segments to = { .sge = sge };
	struct pass_cookie *cookie;
	enum pass_gate gate;
	DAT_RETURN ret;
	bool early;
	int err;

	ret = row->needs ?
	      kdapl_check_extension(dir, &ep->limits[dto->kind], dto, ep->pia->extensions, &to) :
	      kdapl_check_dto(dir, &ep->limits[dto->kind], dto, dto->kind, &to);
	if (ret)
		return ret;
	pass_cookie_room(dir);
	ret = pass_gate_aside(dir, &gate);
	if (ret)
		return ret;
	early = dir->is_recv && dir->gate == PASS_ASIDE;
	if (row->credit && !ep->reads)
		return RET_NO_RESOURCE(CREDITS);	/* mt:T16 */
	cookie = pass_cookie_take(dir, dto->cookie.as_64, to.length, dto->flags);
	if (!cookie)
		return RET_NO_RESOURCE(MEMORY);
	cookie->operation = row->operation;
	if (early || ep->keys || gate == PASS_ASIDE)
		note_segments(cookie, sge, to.nr);
	if (gate == PASS_ASIDE && !dir->is_recv)
		note_request(cookie, dto);
	if (gate != PASS_POST) {
		pass_put_aside(dir, cookie, gate);
		return DAT_SUCCESS;
	}

	/* All this is before the call, since the completion may come before that returns. */
	pass_cookie_move(cookie, pass_cookie_place(cookie));
	dir->posted++;
	err = dir->is_recv ? pass_give_recv(dir, cookie, sge, to.nr) :
			     pass_give_request(dir, cookie, dto, sge, to.nr);
	if (err)
		return pass_post_refused(dir, cookie, err);
	if (early && !dir->kept++)
		dir->kept_first = cookie;
	return DAT_SUCCESS;
}

/* The library's half of an EP; made now if it is missing, as of an EP made for a request. */
static struct pass_ep *ep_used(struct shim_object *obj)
{
	struct pass_ep *ep = pass_ep_of(obj);

	if (!ep) {
		ep = pass_ep_get(obj);
		if (ep)
			pass_ep_put(ep);
	}
	return ep;
}

/* The kind and the flags of a post in one argument */
#define POST_HOW(kind, flags)	((uint64_t)(kind) << 32 | (flags))

/*
 * Handles any kind of post. The lock of the direction is held, and dropped here. The arguments are
 * few enough to be passed in registers, so post_one() can jump here without a stack frame of its
 * own.
 */
static __attribute__((noinline)) DAT_RETURN
post_judge(struct pass_dir *dir, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
	   uint64_t user, const DAT_RMR_TRIPLET *remote, uint64_t how)
{
	const struct kdapl_dto dto = {
		.kind = how >> 32,
		.segments = segments,
		.iov = iov,
		.cookie.as_64 = user,
		.remote = remote,
		.flags = (uint32_t)how,
	};
	DAT_RETURN ret;

	ret = post_locked(dir->ep, dir, &dto);
	shim_unlock(&dir->lock);
	return ret;
}

/* Refuses a post on an EP that was freed since its handle was checked. Unlocks the direction. */
static __attribute__((noinline)) DAT_RETURN post_freed(struct pass_dir *dir)
{
	shim_unlock(&dir->lock);
	return RET_BAD_HANDLE(EP);
}

/* Handles any kind of post from the beginning; no lock is held. */
static __attribute__((noinline)) DAT_RETURN
post_whole(struct shim_object *obj, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
	   uint64_t user, const DAT_RMR_TRIPLET *remote, uint64_t how)
{
	struct pass_ep *ep = ep_used(obj);
	struct pass_dir *dir;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	dir = &ep->dir[how >> 32 == KDAPL_DTO_RECV ? PASS_RECV : PASS_REQ];
	shim_lock(&dir->lock);
	if (dir->owner != obj)
		return post_freed(dir);
	return post_judge(dir, segments, iov, user, remote, how);
}

/* The device did not take the plain post whose wr_id is @id. Unlocks the direction. */
static __attribute__((noinline)) DAT_RETURN
plain_refused(struct pass_dir *dir, uint64_t id, int err)
{
	DAT_RETURN ret;

	ret = pass_post_refused(dir, (struct pass_cookie *)(uintptr_t)id, err);
	shim_unlock(&dir->lock);
	return ret;
}

/* May an RDMA operation go the short way, as far as the EP and the remote segment go? */
static inline bool is_plain_rdma(const struct pass_ep *ep, enum kdapl_dto_kind kind,
				 uint64_t length, const DAT_RMR_TRIPLET *remote)
{
	const struct kdapl_dto_limits *limits = &ep->limits[kind];

	if (!limits->max_iov || length - 1 >= limits->max_length || kdapl_remote_wraps(remote))
		return false;
	return kdapl_dto_rows[kind].fetches ?
	       ep->reads && remote->segment_length == length : remote->segment_length >= length;
}

/* May a DTO of one segment go the short way (post_one())? Fills @sge in for the device. */
static inline __attribute__((always_inline)) bool
is_plain(const struct pass_dir *dir, enum kdapl_dto_kind kind, const struct pass_cookie *cookie,
	 const DAT_LMR_TRIPLET *segment, uint64_t length, const DAT_RMR_TRIPLET *remote,
	 struct ibv_sge *sge)
{
	if (SHIM_UNLIKELY(dir->gate != PASS_POST || !pass_cookie_is_free(cookie) ||
			  !shim_holds(&dir->board->state, DAT_EP_STATE_CONNECTED) ||
			  (!remote && length - 1 >= dir->max_plain) ||
			  kdapl_check_segment(dir, segment, length, kdapl_dto_rows[kind].sink,
					      sge)))
		return false;
	return !remote || is_plain_rdma(dir->ep, kind, length, remote);
}

/*
 * A post. Nearly all posts have one segment, no flags, a connection and a free cookie; these are
 * plain, and made here, in one piece. If anything is different, nothing has been changed yet when
 * that is found, and post_judge() or post_whole() does the whole post. The memory of an EP is never
 * given back, so it can be locked without a reference; then @owner tells whether it is still that
 * of the object.
 */
static inline __attribute__((always_inline)) DAT_RETURN
post_one(struct shim_object *obj, enum kdapl_dto_kind kind, DAT_COUNT segments,
	 const DAT_LMR_TRIPLET *iov, uint64_t user, const DAT_RMR_TRIPLET *remote,
	 uint32_t flags)
{
	struct pass_ep *ep = pass_ep_of(obj);
	struct pass_cookie *cookie;
	DAT_LMR_TRIPLET segment;
	struct pass_dir *dir;
	struct ibv_sge *sge;
	uint64_t length;
	int err;

	if (SHIM_UNLIKELY(!ep || (segments ^ 1) | flags || !iov))
		return post_whole(obj, segments, iov, user, remote, POST_HOW(kind, flags));
	dir = &ep->dir[kind == KDAPL_DTO_RECV ? PASS_RECV : PASS_REQ];
	SHIM_FORGET(dir);
	if (SHIM_UNLIKELY(!shim_trylock(&dir->lock)))
		return post_whole(obj, 1, iov, user, remote, POST_HOW(kind, 0));
	if (SHIM_UNLIKELY(dir->owner != obj))
		return post_freed(dir);
	cookie = dir->next;
	sge = cookie->sge;
	/* A copy: after each atomic access the compiler would load the consumer's triplet again. */
	segment = *iov;
	length = segment.segment_length;
	/*
	 * That of DAT 2.0 has 32 bits. The compiler would keep it in either width, and save one
	 * register more for that, which a receive does not need.
	 */
	if (kind != KDAPL_DTO_RECV && sizeof(segment.segment_length) < sizeof(length))
		SHIM_FORGET(length);
	if (SHIM_UNLIKELY(!is_plain(dir, kind, cookie, &segment, length, remote, sge)))
		return post_judge(dir, 1, iov, user, remote, POST_HOW(kind, 0));

	cookie->user = user;
	cookie->length = length;
	/* This and the count come before the call: the completion may come before it returns. */
	pass_cookie_move_plain(cookie, kind);
	dir->next = cookie->after;
	dir->posted++;
	if (kind == KDAPL_DTO_RECV) {
		dir->wr.recv.wr_id = (uintptr_t)cookie;
		dir->wr.recv.sg_list = sge;
		err = ibv_post_recv(dir->qp, &dir->wr.recv, &dir->bad.recv);
	} else if (kind == KDAPL_DTO_SEND) {
		dir->wr.send.wr_id = (uintptr_t)cookie;
		dir->wr.send.sg_list = sge;
		dir->wr.send.send_flags = send_flags(dir, length);
		err = ibv_post_send(dir->qp, &dir->wr.send, &dir->bad.send);
	} else {
		dir->wr.rdma.wr_id = (uintptr_t)cookie;
		dir->wr.rdma.sg_list = sge;
		dir->wr.rdma.opcode = kdapl_dto_rows[kind].opcode;
		dir->wr.rdma.send_flags = kdapl_dto_rows[kind].sink ? IBV_SEND_SIGNALED :
					  send_flags(dir, length);
		dir->wr.rdma.wr.rdma.remote_addr = face_remote_address(remote);
		dir->wr.rdma.wr.rdma.rkey = remote->rmr_context;
		err = ibv_post_send(dir->qp, &dir->wr.rdma, &dir->bad.send);
	}
	if (SHIM_UNLIKELY(err))
		return plain_refused(dir, kind == KDAPL_DTO_RECV ? dir->wr.recv.wr_id :
				     kind == KDAPL_DTO_SEND ? dir->wr.send.wr_id :
							   dir->wr.rdma.wr_id, err);
	shim_unlock(&dir->lock);
	return DAT_SUCCESS;
}

DAT_RETURN pass_post_send(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	return post_one(ep, KDAPL_DTO_SEND, segments, iov, cookie, NULL, flags);
}

DAT_RETURN pass_post_recv(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	return post_one(ep, KDAPL_DTO_RECV, segments, iov, cookie, NULL, flags);
}

DAT_RETURN pass_post_read(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			  const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return post_one(ep, KDAPL_DTO_RDMA_READ, segments, iov, cookie, remote, flags);
}

DAT_RETURN pass_post_write(struct shim_object *ep, DAT_COUNT segments,
			   const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			   const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return post_one(ep, KDAPL_DTO_RDMA_WRITE, segments, iov, cookie, remote, flags);
}

_Static_assert(KDAPL_DTO_IS_ABI, "the kernel's");

/* pass_post_extension - post a request that DAT 1.2 does not have */
DAT_RETURN pass_post_extension(struct shim_object *obj, const struct shim_request *request)
{
	struct kdapl_dto dto = {
		.kind = (enum kdapl_dto_kind)request->op,
		.segments = request->segments,
		.iov = request->iov,
		.cookie.as_64 = request->cookie,
		.remote = request->remote,
		.word = request->operand,
		.flags = request->flags,
		.operand = request->operand,
		.compare = request->compare,
	};
	struct pass_ep *ep = ep_used(obj);
	DAT_LMR_TRIPLET sink;
	struct pass_dir *dir;
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (dto.kind == KDAPL_DTO_RDMA_READ_TO_RMR) {
		ret = pass_rmr_sink(obj->ia, request->iov, &sink);
		if (ret)
			return ret;
		dto.iov = &sink;
	}
	dir = &ep->dir[PASS_REQ];
	shim_lock(&dir->lock);
	if (dir->owner != obj)
		return post_freed(dir);
	ret = post_locked(ep, dir, &dto);
	shim_unlock(&dir->lock);
	return ret;
}

/* ---- shared receive queues ------------------------------------------------ */

/* Checks a receive, and posts it if there is room. The lock of the SRQ is held (mt:T57). */
static DAT_RETURN srq_post(struct pass_srq *srq, DAT_COUNT segments,
			   const DAT_LMR_TRIPLET *iov, uint64_t user)
{
	const struct kdapl_dto dto = {
		.kind = KDAPL_DTO_RECV,
		.segments = segments,
		.iov = iov,
	};
	struct ibv_sge sge[PASS_MAX_SGE];
	struct kdapl_segments to = { .sge = sge };
	DAT_RETURN ret;

	ret = kdapl_check_dto(&srq->dir, &srq->limits, &dto, KDAPL_DTO_RECV, &to);
	return ret ? ret : pass_srq_give(srq, user, to.length, sge, to.nr);
}

static DAT_RETURN srq_post_once(struct pass_srq *srq, struct shim_object *obj,
				DAT_COUNT segments, const DAT_LMR_TRIPLET *iov, uint64_t user)
{
	DAT_RETURN ret = RET_BAD_HANDLE(SRQ);

	shim_lock(&srq->dir.lock);
	if (srq->dir.owner == obj)
		ret = srq_post(srq, segments, iov, user);
	shim_unlock(&srq->dir.lock);
	return ret;
}

/*
 * The memory of an SRQ is never given back, like that of an EP. A queue that the device has lost
 * becomes full, or refuses receives; but posts on it have to succeed (mt:M59). So if a post fails
 * in this way, the device is asked whether the queue is lost, and the post is made once more.
 */
DAT_RETURN pass_srq_post_recv(struct shim_object *obj, DAT_COUNT segments,
			      const DAT_LMR_TRIPLET *iov, uint64_t user)
{
	struct pass_srq *srq = atomic_load_explicit(&obj->pass, memory_order_acquire);
	DAT_RETURN ret;

	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	if (pass_srq_is_full(srq))
		pass_srq_pull(srq);
	ret = srq_post_once(srq, obj, segments, iov, user);
	if (DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR ||
	    DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
		pass_srq_news(obj);
		ret = srq_post_once(srq, obj, segments, iov, user);
	}
	return ret;
}
