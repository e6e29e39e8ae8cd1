// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The operations of an IA whose queues and memory registrations the kernel has: each call is an
 * ioctl, and completions come through the event ring like all other events. Called by cmd_*.c,
 * cno.c and post.c through the table at the end.
 */
#include <stdlib.h>

#include "shim.h"

/* ---- memory ------------------------------------------------------------ */

static DAT_RETURN pz_made(struct shim_object *pz)
{
	(void)pz;
	return DAT_SUCCESS;
}

static DAT_RETURN pz_free(struct shim_object *pz)
{
	return shim_handle_call(KDAPL_IOC_PZ_FREE, pz);
}

static DAT_RETURN lmr_create(struct kdapl_uapi_lmr_create *arg,
			     struct shim_object *pz, struct shim_lmr *body,
			     struct shim_object **lmrp)
{
	struct shim_object *lmr;
	DAT_RETURN ret;

	ret = shim_ioctl(KDAPL_IOC_LMR_CREATE, arg, RET_BAD_ARG(3));
	if (ret)
		return ret;
	lmr = shim_object_get(arg->lmr, SHIM_LMR, pz->ia, NULL);
	if (!lmr || !shim_object_dress(lmr, SHIM_LMR, arg->lmr, body)) {
		struct kdapl_uapi_handle undo = { .handle = arg->lmr };

		shim_ioctl(KDAPL_IOC_LMR_FREE, &undo, RET_NO_FAULT);
		return RET_NO_RESOURCE(MEMORY);
	}
	*lmrp = lmr;
	return DAT_SUCCESS;
}

static DAT_RETURN lmr_query(struct shim_object *lmr,
			    struct kdapl_uapi_lmr_query *arg)
{
	(void)lmr;
	return shim_ioctl(KDAPL_IOC_LMR_QUERY, arg, RET_BAD_ARG(2));
}

static DAT_RETURN lmr_free(struct shim_object *lmr)
{
	return shim_handle_call(KDAPL_IOC_LMR_FREE, lmr);
}

static DAT_RETURN lmr_sync(struct shim_object *ia,
			   struct kdapl_uapi_lmr_sync *arg)
{
	struct kdapl_uapi_segment copies[FACE_COPIES];
	struct kdapl_uapi_lmr_sync own = *arg;

	(void)ia;
	own.segments = face_segments((const void *)(uintptr_t)arg->segments, arg->number,
				     copies);
	return shim_ioctl(KDAPL_IOC_LMR_SYNC, &own, RET_BAD_ARG(2));
}

static DAT_RETURN rmr_create(struct shim_object *pz, struct shim_object **rmrp)
{
	bool revocable = FACE_EXTENDED && shim_dev_features() & KDAPL_FEATURE_INVALIDATE;
	struct kdapl_uapi_rmr_create arg = {
		.pz = shim_token(pz),
		.flags = revocable ? KDAPL_RMR_REVOCABLE : 0,
	};
	struct kdapl_uapi_handle undo = { 0 };
	struct shim_object *rmr;
	DAT_RETURN ret;

	ret = shim_ioctl(KDAPL_IOC_RMR_CREATE, &arg, RET_NO_FAULT);
	if (ret)
		return ret;
	rmr = shim_object_get(arg.rmr, SHIM_RMR, pz->ia, NULL);
	if (!rmr) {
		undo.handle = arg.rmr;
		shim_ioctl(KDAPL_IOC_RMR_FREE, &undo, RET_NO_FAULT);
		return RET_NO_RESOURCE(MEMORY);
	}
	*rmrp = rmr;
	return DAT_SUCCESS;
}

static DAT_RETURN rmr_query(struct shim_object *rmr,
			    struct kdapl_uapi_rmr_query *arg)
{
	(void)rmr;
	return shim_ioctl(KDAPL_IOC_RMR_QUERY, arg, RET_BAD_ARG(2));
}

static DAT_RETURN rmr_bind(struct shim_object *rmr, struct shim_object *ep,
			   struct kdapl_uapi_rmr_bind *arg)
{
	(void)rmr;
	(void)ep;
	return shim_ioctl(KDAPL_IOC_RMR_BIND, arg, RET_NO_FAULT);
}

static DAT_RETURN rmr_free(struct shim_object *rmr)
{
	return shim_handle_call(KDAPL_IOC_RMR_FREE, rmr);
}

/* ---- Event Dispatchers ------------------------------------------------- */

static DAT_RETURN evd_made(struct shim_object *evd)
{
	(void)evd;
	return DAT_SUCCESS;
}

static void evd_gone(struct shim_object *evd, struct shim_evd *body)
{
	(void)evd;
	(void)body;
}

static DAT_RETURN evd_poll_fd(struct shim_object *evd, struct shim_evd *body)
{
	struct kdapl_uapi_evd_poll_fd arg = { .evd = shim_token(evd) };
	DAT_RETURN ret;

	shim_fds_lock();
	ret = shim_ioctl(KDAPL_IOC_EVD_POLL_FD, &arg, RET_NO_FAULT);
	if (!ret)
		shim_fd_keep(&body->poll_fd, arg.fd);
	shim_fds_unlock();
	return ret;
}

/* The kernel keeps its CQs armed by itself. */
static void evd_rearm(struct shim_object *evd)
{
	(void)evd;
}

/* The kernel wakes those who poll the descriptor only for events that notify. */
static bool evd_notifies(struct shim_object *evd)
{
	(void)evd;
	return true;
}

static uint32_t evd_queued(struct shim_object *evd)
{
	(void)evd;
	return 0;
}

/*
 * The part of evd_dequeue() for everything but a completion at the head of the
 * ring: an event of another kind, or an empty ring, in which case the kernel is
 * asked for more. Out of line, so that completions do not pay for it. Unlocks
 * the EVD.
 */
static __attribute__((noinline)) DAT_RETURN
evd_dequeue_other(struct shim_object *evd, DAT_EVENT *event)
{
	struct shim_evd *body = evd->body;
	struct kdapl_uapi_event taken;
	bool found;

	found = shim_ring_take(&body->ring, shim_token(evd), &taken);
	shim_unlock(&evd->lock);
	if (!found)
		return FACE_QUEUE_EMPTY;
	shim_event(evd, &taken, event);
	return DAT_SUCCESS;
}

/*
 * The part of evd_dequeue() for a ring that is not empty. Unlocks the EVD. Out of line, so
 * that a call that finds no event does not save the registers that only this part needs.
 */
static __attribute__((noinline)) DAT_RETURN
evd_dequeue_first(struct shim_object *evd, DAT_EVENT *event)
{
	const struct kdapl_uapi_event *first;
	struct shim_evd *body = evd->body;
	struct shim_ring *ring = &body->ring;

	first = shim_ring_first(ring);
	if (SHIM_UNLIKELY(first->event_number != DAT_DTO_COMPLETION_EVENT))
		return evd_dequeue_other(evd, event);
	shim_dto_event(evd, &first->dto, event);
	shim_ring_pop(ring);
	shim_unlock(&evd->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_dequeue(struct shim_object *evd, DAT_EVENT *event)
{
	struct shim_evd *body;
	DAT_RETURN ret;

	shim_lock(&evd->lock);
	ret = shim_evd_check(evd, event);
	if (SHIM_UNLIKELY(ret)) {
		shim_unlock(&evd->lock);
		return ret;
	}
	body = evd->body;
	if (shim_ring_filled(&body->ring))
		return evd_dequeue_first(evd, event);
	if (shim_ring_ask(&body->ring))
		return evd_dequeue_other(evd, event);
	shim_unlock(&evd->lock);
	return FACE_QUEUE_EMPTY;
}

static DAT_RETURN evd_set_waitable(struct shim_object *evd, bool waitable)
{
	struct kdapl_uapi_evd_set_waitable arg = {
		.evd = shim_token(evd),
		.waitable = waitable,
	};

	return shim_ioctl(KDAPL_IOC_EVD_SET_WAITABLE, &arg, RET_NO_FAULT);
}

/*
 * Waits in the kernel until there are enough events. @evd is locked on entry
 * and on return, and unlocked meanwhile. If its IA was closed meanwhile, this
 * returns DAT_ABORT, and the EVD has no body any more. Only a close does that:
 * dat_evd_free() refuses an EVD that has a waiter.
 */
static DAT_RETURN evd_block(struct shim_object *evd,
			    struct kdapl_uapi_evd_wait *arg)
{
	struct shim_evd *body = evd->body;
	DAT_RETURN ret;

	body->waiter = true;
	shim_unlock(&evd->lock);
	ret = shim_ioctl(KDAPL_IOC_EVD_WAIT, arg, RET_NO_FAULT);
	shim_lock(&evd->lock);
	if (!shim_is(evd, SHIM_EVD, arg->evd) || !evd->body)
		return RET(ABORT);
	body->waiter = false;
	/* The caller gets an event and learns how many more there are; no trigger is due. */
	if (!ret)
		body->withheld = false;
	if (body->clear_late) {
		body->clear_late = false;
		evd_set_waitable(evd, true);
	}
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		return RET(ABORT);
	return ret;
}

/* Takes the first event if there is one already, else waits. @evd is locked. */
static DAT_RETURN wait_and_take(struct shim_object *evd,
				struct kdapl_uapi_evd_wait *arg,
				struct kdapl_uapi_event *event, DAT_COUNT *more)
{
	struct shim_evd *body = evd->body;
	DAT_RETURN ret;

	/*
	 * A threshold of one is legal on every EVD. Any other one the kernel has
	 * to check first. Of a ring that is not mapped it alone knows how many
	 * events are left.
	 */
	if (arg->threshold == 1 && shim_ring_mapped(&body->ring) &&
	    shim_ring_take(&body->ring, arg->evd, event)) {
		*more = shim_ring_count(&body->ring, arg->evd);
		return DAT_SUCCESS;
	}
	do {
		ret = evd_block(evd, arg);
		if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ||
		    DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
			*more = arg->queued;
		if (ret)
			return ret;
	} while (!shim_ring_take(&body->ring, arg->evd, event));

	*more = shim_ring_mapped(&body->ring) ? shim_ring_count(&body->ring, arg->evd) :
		arg->queued - 1;
	return DAT_SUCCESS;
}

static DAT_RETURN evd_wait(struct shim_object *evd,
			   struct kdapl_uapi_evd_wait *arg, DAT_EVENT *event,
			   DAT_COUNT *more)
{
	struct kdapl_uapi_event taken;
	DAT_RETURN ret;

	ret = wait_and_take(evd, arg, &taken, more);
	shim_unlock(&evd->lock);
	if (ret)
		shim_cno_tell(evd);
	else
		shim_event(evd, &taken, event);
	return ret;
}

/* ---- Endpoints --------------------------------------------------------- */

static DAT_RETURN ep_made(struct shim_object *ep)
{
	(void)ep;
	return DAT_SUCCESS;
}

static DAT_RETURN ep_modify(struct shim_object *ep,
			    struct kdapl_uapi_ep_param *arg)
{
	(void)ep;
	return shim_ioctl(KDAPL_IOC_EP_MODIFY, arg, RET_BAD_ARG(3));
}

static DAT_RETURN ep_connect(struct shim_object *ep,
			     struct kdapl_uapi_ep_connect *arg)
{
	(void)ep;
	return shim_ioctl(KDAPL_IOC_EP_CONNECT, arg, RET_BAD_ARG(6));
}

static DAT_RETURN ep_dup_connect(struct shim_object *ep,
				 struct kdapl_uapi_ep_dup_connect *arg)
{
	(void)ep;
	return shim_ioctl(KDAPL_IOC_EP_DUP_CONNECT, arg, RET_BAD_ARG(5));
}

static DAT_RETURN cr_accept(struct shim_object *ep,
			    struct kdapl_uapi_cr_accept *arg)
{
	(void)ep;
	return shim_ioctl(KDAPL_IOC_CR_ACCEPT, arg, RET_BAD_ARG(4));
}

static DAT_RETURN ep_disconnect(struct shim_object *ep, uint32_t flags)
{
	return shim_flags_call(KDAPL_IOC_EP_DISCONNECT, ep, flags);
}

static DAT_RETURN ep_reset(struct shim_object *ep)
{
	return shim_handle_call(KDAPL_IOC_EP_RESET, ep);
}

static DAT_RETURN ep_free(struct shim_object *ep)
{
	return shim_handle_call(KDAPL_IOC_EP_FREE, ep);
}

static void ep_gone(struct shim_object *ep)
{
	(void)ep;
}

static DAT_RETURN ep_status(struct shim_object *ep,
			    struct kdapl_uapi_ep_get_status *arg)
{
	(void)ep;
	return shim_ioctl(KDAPL_IOC_EP_GET_STATUS, arg, RET_NO_FAULT);
}

static DAT_RETURN ep_recv_query(struct shim_object *ep,
				struct kdapl_uapi_ep_recv_query *arg)
{
	(void)ep;
	return shim_ioctl(KDAPL_IOC_EP_RECV_QUERY, arg, RET_NO_FAULT);
}

static DAT_RETURN srq_made(struct shim_object *srq, const struct kdapl_uapi_srq_create *arg)
{
	(void)srq;
	(void)arg;
	return DAT_SUCCESS;
}

static DAT_RETURN srq_free(struct shim_object *srq)
{
	return shim_handle_call(KDAPL_IOC_SRQ_FREE, srq);
}

static DAT_RETURN srq_post_recv(struct shim_object *srq, DAT_COUNT segments,
				const DAT_LMR_TRIPLET *iov, uint64_t cookie)
{
	struct kdapl_uapi_segment copies[FACE_COPIES];
	struct kdapl_uapi_dto dto = {
		.op = KDAPL_OP_RECV,
		.num_segments = segments,
		.segments = face_segments(iov, (uint32_t)segments, copies),
		.cookie = cookie,
	};
	struct kdapl_uapi_post arg = {
		.dtos = (uintptr_t)&dto,
		.count = 1,
		.ep = shim_token(srq),
	};

	return shim_ioctl(KDAPL_IOC_SRQ_POST, &arg, RET_BAD_ARG(3));
}

static DAT_RETURN srq_query(struct shim_object *srq, struct kdapl_uapi_srq_query *arg)
{
	(void)srq;
	return shim_ioctl(KDAPL_IOC_SRQ_QUERY, arg, RET_NO_FAULT);
}

/* Makes an ioctl whose only argument is a number of receives. */
static DAT_RETURN srq_count(unsigned long cmd, const struct shim_object *srq, DAT_COUNT count)
{
	struct kdapl_uapi_srq_count arg = { .count = count, .srq = shim_token(srq) };

	return shim_ioctl(cmd, &arg, RET_NO_FAULT);
}

static DAT_RETURN srq_resize(struct shim_object *srq, DAT_COUNT count)
{
	return srq_count(KDAPL_IOC_SRQ_RESIZE, srq, count);
}

static DAT_RETURN srq_set_lw(struct shim_object *srq, DAT_COUNT count)
{
	return srq_count(KDAPL_IOC_SRQ_SET_LW, srq, count);
}

static void ia_closing(struct shim_object *ia)
{
	(void)ia;
}

static void ia_closed(struct shim_object *ia)
{
	(void)ia;
}

/*
 * Posts one DTO, as an array of one element, since the ioctl takes an array. Takes no lock and
 * allocates nothing.
 */
static inline __attribute__((always_inline)) DAT_RETURN
post_one(struct shim_object *ep, uint32_t op, DAT_COUNT segments,
	 const DAT_LMR_TRIPLET *iov, uint64_t cookie, const DAT_RMR_TRIPLET *remote,
	 uint32_t flags)
{
	struct kdapl_uapi_segment copies[FACE_COPIES];
	struct kdapl_uapi_dto dto = {
		.op = op,
		.flags = flags,
		.num_segments = segments,
		.segments = face_segments(iov, (uint32_t)segments, copies),
		.cookie = cookie,
	};
	struct kdapl_uapi_post arg = {
		.dtos = (uintptr_t)&dto,
		.count = 1,
		.ep = shim_token(ep),
	};

	if (remote) {
		dto.rmr_context = remote->rmr_context;
		dto.target_address = face_remote_address(remote);
		dto.target_length = remote->segment_length;
	}
	return shim_ioctl(KDAPL_IOC_POST, &arg, RET_BAD_ARG(3));
}

static DAT_RETURN post_send(struct shim_object *ep, DAT_COUNT segments,
			    const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_SEND, segments, iov, cookie, NULL, flags);
}

static DAT_RETURN post_recv(struct shim_object *ep, DAT_COUNT segments,
			    const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_RECV, segments, iov, cookie, NULL, flags);
}

static DAT_RETURN post_read(struct shim_object *ep, DAT_COUNT segments,
			    const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			    const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_RDMA_READ, segments, iov, cookie, remote, flags);
}

static DAT_RETURN post_write(struct shim_object *ep, DAT_COUNT segments,
			     const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			     const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return post_one(ep, KDAPL_OP_RDMA_WRITE, segments, iov, cookie, remote, flags);
}

static DAT_RETURN post_extension(struct shim_object *ep, const struct shim_request *request)
{
	struct kdapl_uapi_segment copies[FACE_COPIES];
	struct kdapl_uapi_dto_more more = {
		.segments = face_segments(request->iov, (uint32_t)request->segments, copies),
		.operand = request->operand,
		.compare = request->compare,
	};
	struct kdapl_uapi_dto dto = {
		.op = request->op,
		.flags = request->flags,
		.num_segments = request->segments,
		.rmr_context = request->remote->rmr_context,
		.segments = (uintptr_t)&more,
		.cookie = request->cookie,
		.target_address = face_remote_address(request->remote),
		.target_length = request->remote->segment_length,
	};
	struct kdapl_uapi_post arg = {
		.dtos = (uintptr_t)&dto,
		.count = 1,
		.ep = shim_token(ep),
	};

	if (!(shim_dev_features() & KDAPL_FEATURE_EXTENSIONS))
		return RET(MODEL_NOT_SUPPORTED);
	return shim_ioctl(KDAPL_IOC_POST, &arg, RET_BAD_ARG(3));
}

const struct shim_ops shim_forwarded = {
	.name = "forwarded",
	.pz_made = pz_made,
	.pz_free = pz_free,
	.lmr_create = lmr_create,
	.lmr_query = lmr_query,
	.lmr_free = lmr_free,
	.lmr_sync = lmr_sync,
	.rmr_create = rmr_create,
	.rmr_query = rmr_query,
	.rmr_bind = rmr_bind,
	.rmr_free = rmr_free,
	.evd_made = evd_made,
	.evd_gone = evd_gone,
	.evd_poll_fd = evd_poll_fd,
	.evd_rearm = evd_rearm,
	.evd_notifies = evd_notifies,
	.evd_queued = evd_queued,
	.evd_dequeue = evd_dequeue,
	.evd_wait = evd_wait,
	.evd_set_waitable = evd_set_waitable,
	.ep_made = ep_made,
	.ep_modify = ep_modify,
	.ep_connect = ep_connect,
	.ep_dup_connect = ep_dup_connect,
	.cr_accept = cr_accept,
	.ep_disconnect = ep_disconnect,
	.ep_reset = ep_reset,
	.ep_free = ep_free,
	.ep_gone = ep_gone,
	.ep_status = ep_status,
	.ep_recv_query = ep_recv_query,
	.srq_made = srq_made,
	.srq_free = srq_free,
	.srq_post_recv = srq_post_recv,
	.srq_query = srq_query,
	.srq_resize = srq_resize,
	.srq_set_lw = srq_set_lw,
	.ia_closing = ia_closing,
	.ia_closed = ia_closed,
	.post_send = post_send,
	.post_recv = post_recv,
	.post_read = post_read,
	.post_write = post_write,
	.post_extension = post_extension,
};
