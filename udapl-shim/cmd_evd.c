// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event Dispatchers. The kernel fills the ring of an EVD; taking an event is
 * done here, without a system call, and so is the rule that a waiter owns its
 * EVD (E36): the kernel cannot see who takes from the ring.
 *
 * The lock of the EVD is held while the ring is touched, and not while waiting.
 */
#include <stdlib.h>

#include "shim.h"


/* The object of an EVD that the kernel has just made, with its ring mapped. */
DAT_RETURN shim_evd_object(uint64_t token, struct shim_object *ia,
			   const struct kdapl_uapi_ring *ring,
			   struct shim_object **evdp)
{
	struct shim_evd *body = calloc(1, sizeof(*body));
	struct shim_object *evd = NULL;

	if (body)
		evd = shim_object_get(token, SHIM_EVD, ia, NULL);
	if (!evd) {
		free(body);
		return RET_NO_RESOURCE(MEMORY);
	}
	body->poll_fd.fd = -1;
	shim_ring_map(&body->ring, ring);
	if (!shim_object_dress(evd, SHIM_EVD, token, body)) {
		shim_ring_unmap(&body->ring);
		free(body);
		return RET_NO_RESOURCE(MEMORY);
	}
	*evdp = evd;
	return DAT_SUCCESS;
}

/* The kernel's EVD is gone; a waiter finds out when it comes back. */
void shim_evd_body_free(struct shim_object *evd)
{
	struct shim_evd *body;

	shim_lock(&evd->lock);
	body = evd->body;
	evd->body = NULL;
	shim_unlock(&evd->lock);
	if (!body)
		return;
	shim_cno_detach(evd, body);
	shim_ring_unmap(&body->ring);
	shim_fd_close(&body->poll_fd);
	free(body);
}

/*
 * Locks an EVD; NULL if the handle is bad. What the handle points to is locked
 * first and looked at then: any object of ours can be locked, and the answer does
 * not change any more.
 */
static inline struct shim_object *evd_lock(DAT_EVD_HANDLE handle)
{
	struct shim_object *evd = handle;

	if (!shim_points_to_object(handle))
		return NULL;
	shim_lock(&evd->lock);
	if (SHIM_LIKELY(shim_lives(evd, SHIM_EVD) && evd->body))
		return evd;
	shim_unlock(&evd->lock);
	return NULL;
}

static void evd_unlock(struct shim_object *evd)
{
	shim_unlock(&evd->lock);
}

/*
 * dat_evd_create - an EVD for the streams in the flags
 *
 * Codes: INVALID_HANDLE/IA, /CNO; INVALID_PARAMETER/ARG2, /ARG4, /ARG5 (E13,
 * E14); INSUFFICIENT_RESOURCES/TEVD, /MEMORY.
 */
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct shim_object *cno = shim_find(cno_handle, SHIM_CNO);
	struct kdapl_uapi_handle undo = { 0 };
	struct kdapl_uapi_evd_create arg = {
		.qlen = evd_min_qlen,
		.flags = evd_flags,
	};
	struct shim_object *evd;
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (cno_handle != DAT_HANDLE_NULL && (!cno || cno->ia != ia))
		return RET_BAD_HANDLE(CNO);
	if (evd_min_qlen <= 0)
		return RET_BAD_ARG(2);
	if (!evd_handle)
		return RET_BAD_ARG(5);
	arg.ia = shim_token(ia);
	ret = shim_ioctl(KDAPL_IOC_EVD_CREATE, &arg, RET_BAD_ARG(4));
	if (ret)
		return ret;

	undo.handle = arg.evd;
	ret = shim_evd_object(arg.evd, ia, &arg.ring, &evd);
	if (ret)
		goto free_evd;
	if (cno) {
		ret = shim_cno_attach(evd, cno);
		if (ret)
			goto free_object;
	}
	*evd_handle = evd;
	return DAT_SUCCESS;
free_object:
	shim_evd_body_free(evd);
	shim_object_kill(evd);
free_evd:
	shim_ioctl(KDAPL_IOC_EVD_FREE, &undo, RET_NO_FAULT);
	return ret;
}

/* Codes: INVALID_HANDLE/EVD_REQUEST, INVALID_PARAMETER/ARG2, /ARG3. */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	struct kdapl_uapi_evd_query arg = { .mask = evd_param_mask };
	struct shim_object *evd = evd_lock(evd_handle);
	const struct shim_evd *body;
	DAT_CNO_HANDLE cno;
	uint32_t state;
	DAT_RETURN ret;

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	body = evd->body;
	state = body->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED;
	state |= body->unwaitable ? DAT_EVD_STATE_UNWAITABLE :
				    DAT_EVD_STATE_WAITABLE;
	cno = body->cno;
	arg.evd = shim_token(evd);
	evd_unlock(evd);

	if (evd_param_mask & ~DAT_EVD_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!evd_param)
		return RET_BAD_ARG(3);
	ret = shim_ioctl(KDAPL_IOC_EVD_QUERY, &arg, RET_BAD_ARG(2));
	if (ret)
		return ret;
	evd_param->ia_handle = shim_handle(arg.ia);
	evd_param->evd_qlen = arg.qlen;
	evd_param->evd_state =
		state | (arg.state & DAT_EVD_STATE_CONFIG_THRESHOLD);
	evd_param->cno_handle = cno;
	evd_param->evd_flags = arg.flags;
	return DAT_SUCCESS;
}

/*
 * dat_evd_resize - change the length, keeping what is queued
 *
 * Codes: INVALID_HANDLE/EVD_REQUEST; INVALID_PARAMETER/ARG2 (E53);
 * INSUFFICIENT_RESOURCES (E56, E57); INVALID_STATE/EVD_IN_USE (E54),
 * /EVD_WAITER (E55).
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	struct kdapl_uapi_evd_resize arg = { .qlen = evd_min_qlen };
	struct shim_object *evd = evd_lock(evd_handle);
	struct shim_evd *body;
	struct shim_ring old;
	DAT_RETURN ret;

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	body = evd->body;
	if (evd_min_qlen <= 0) {
		ret = RET_BAD_ARG(2);
	} else if (body->waiter) {
		ret = RET_BAD_STATE(EVD_WAITER);
	} else {
		arg.evd = shim_token(evd);
		ret = shim_ioctl(KDAPL_IOC_EVD_RESIZE, &arg, RET_BAD_ARG(2));
		if (!ret &&
		    arg.ring.data_offset != body->ring.where.data_offset) {
			old = body->ring;
			shim_ring_map(&body->ring, &arg.ring);
			shim_ring_unmap(&old);
		}
	}
	evd_unlock(evd);
	return ret;
}

/* Codes: INVALID_HANDLE/EVD_REQUEST, INVALID_STATE/EVD_IN_USE, /EVD_WAITER. */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);
	const struct shim_evd *body;
	DAT_RETURN ret;

	if (evd)
		shim_cno_collect(evd);
	evd = evd_lock(evd_handle);
	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	body = evd->body;
	if (body->waiter)
		ret = RET_BAD_STATE(EVD_WAITER);
	else
		ret = shim_handle_call(KDAPL_IOC_EVD_FREE, evd);
	evd_unlock(evd);
	if (ret)
		return ret;

	/* Only one of several frees got here: the kernel lets one succeed. */
	shim_evd_body_free(evd);
	shim_object_kill(evd);
	return DAT_SUCCESS;
}

/*
 * dat_evd_post_se - queue an event of the consumer's own
 *
 * Codes: INVALID_HANDLE/EVD_REQUEST; INVALID_PARAMETER/ARG1 (E17), /ARG2 (E50);
 * QUEUE_FULL (E51).
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);
	struct kdapl_uapi_evd_post_se arg = { 0 };

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (!event)
		return RET_BAD_ARG(2);
	arg.evd = shim_token(evd);
	arg.event_number = event->event_number;
	arg.pointer =
		(uintptr_t)event->event_data.software_event_data.pointer;
	return shim_ioctl(KDAPL_IOC_EVD_POST_SE, &arg, RET_BAD_ARG(2));
}

/*
 * The rest of dat_evd_dequeue(): no completion is first in the ring. Asks the
 * kernel for more if the ring is empty. Releases the EVD.
 */
static __attribute__((noinline)) DAT_RETURN
evd_dequeue_other(struct shim_object *evd, DAT_EVENT *event)
{
	struct shim_evd *body = evd->body;
	struct kdapl_uapi_event taken;
	bool found;

	found = shim_ring_take(&body->ring, shim_token(evd), &taken);
	evd_unlock(evd);
	if (!found)
		return RET(QUEUE_EMPTY);
	shim_event(evd, &taken, event);
	return DAT_SUCCESS;
}

/*
 * dat_evd_dequeue - take the first event; never waits (E41)
 *
 * Codes: INVALID_HANDLE/EVD_REQUEST; INVALID_PARAMETER/ARG2; QUEUE_EMPTY;
 * INVALID_STATE/EVD_WAITER (E36).
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct shim_object *evd = evd_lock(evd_handle);
	const struct kdapl_uapi_event *first;
	struct shim_ring *ring;
	struct shim_evd *body;

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	body = evd->body;
	ring = &body->ring;
	if (SHIM_UNLIKELY(!event || body->waiter)) {
		evd_unlock(evd);
		return event ? RET_BAD_STATE(EVD_WAITER) : RET_BAD_ARG(2);
	}
	if (!shim_ring_filled(ring)) {
		if (shim_ring_ask(ring))
			return evd_dequeue_other(evd, event);
		evd_unlock(evd);
		return RET(QUEUE_EMPTY);
	}
	first = shim_ring_first(ring);
	if (SHIM_UNLIKELY(first->event_number != DAT_DTO_COMPLETION_EVENT))
		return evd_dequeue_other(evd, event);
	shim_dto_event(evd, &first->dto, event);
	shim_ring_pop(ring);
	evd_unlock(evd);
	return DAT_SUCCESS;
}

static DAT_RETURN tell_waitable(const struct shim_object *evd, bool waitable)
{
	struct kdapl_uapi_evd_set_waitable arg = {
		.evd = shim_token(evd),
		.waitable = waitable,
	};

	return shim_ioctl(KDAPL_IOC_EVD_SET_WAITABLE, &arg, RET_NO_FAULT);
}

/*
 * Waits in the kernel until there are enough events. The lock is given up
 * meanwhile, the body is there again except with DAT_ABORT: then the EVD went
 * with its IA, nobody else can free it under a waiter.
 */
static DAT_RETURN evd_block(struct shim_object *evd,
			    struct kdapl_uapi_evd_wait *arg)
{
	struct shim_evd *body = evd->body;
	DAT_RETURN ret;

	body->waiter = true;
	body->withheld = false;
	shim_unlock(&evd->lock);
	ret = shim_ioctl(KDAPL_IOC_EVD_WAIT, arg, RET_NO_FAULT);
	shim_lock(&evd->lock);
	if (!shim_is(evd, SHIM_EVD, arg->evd) || !evd->body)
		return RET(ABORT);
	body->waiter = false;
	/* Who has an event is told of the others. */
	if (!ret)
		body->withheld = false;
	if (body->clear_late) {
		body->clear_late = false;
		tell_waitable(evd, true);
	}
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		return RET(ABORT);
	return ret;
}

/* The lock is held. The first event if there is one already, else waits. */
static DAT_RETURN evd_wait(struct shim_object *evd,
			   struct kdapl_uapi_evd_wait *arg,
			   struct kdapl_uapi_event *event, DAT_COUNT *more)
{
	struct shim_evd *body = evd->body;
	DAT_RETURN ret;

	/* A threshold of one is good on every EVD, others the kernel judges. */
	if (arg->threshold == 1 &&
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

/*
 * dat_evd_wait - wait for @threshold events, take the first
 *
 * Codes: INVALID_HANDLE/EVD_REQUEST; INVALID_PARAMETER/ARG3 (E31), /ARG4, /ARG5
 * (E40); INVALID_STATE/EVD_CONFIG_NOTIFY, /EVD_CONFIG_SOLICITED (E31),
 * /EVD_UNWAITABLE (E26, E27), /EVD_WAITER (E36); TIMEOUT_EXPIRED (E33);
 * INTERRUPTED_CALL (E38); ABORT (E39).
 */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, DAT_EVENT *event,
			DAT_COUNT *n_more_events)
{
	struct kdapl_uapi_evd_wait arg = {
		.timeout = timeout,
		.threshold = threshold,
	};
	struct shim_object *evd = evd_lock(evd_handle);
	struct kdapl_uapi_event taken;
	struct shim_evd *body;
	DAT_RETURN ret;

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	body = evd->body;
	arg.evd = shim_token(evd);
	if (threshold < 1)
		ret = RET_BAD_ARG(3);
	else if (!event)
		ret = RET_BAD_ARG(4);
	else if (!n_more_events)
		ret = RET_BAD_ARG(5);
	else if (body->waiter)
		ret = RET_BAD_STATE(EVD_WAITER);
	else if (body->unwaitable)
		ret = RET_BAD_STATE(EVD_UNWAITABLE);
	else
		ret = evd_wait(evd, &arg, &taken, n_more_events);
	evd_unlock(evd);
	if (ret)
		shim_cno_tell(evd);
	else
		shim_event(evd, &taken, event);
	return ret;
}

/*
 * A waiter that was told to go may not be in the kernel yet. It goes all the
 * same, since the kernel hears of the EVD being waitable again only from the
 * waiter itself (E27).
 */
static DAT_RETURN evd_set_waitable(DAT_EVD_HANDLE evd_handle, bool waitable)
{
	struct shim_object *evd = evd_lock(evd_handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct shim_evd *body;

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	body = evd->body;
	body->clear_late = waitable && body->waiter;
	if (!body->clear_late)
		ret = tell_waitable(evd, waitable);
	if (!ret)
		body->unwaitable = !waitable;
	evd_unlock(evd);
	return ret;
}

/* Codes: INVALID_HANDLE/EVD_REQUEST (E26, E27). */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	return evd_set_waitable(evd_handle, false);
}

/* Codes: INVALID_HANDLE/EVD_REQUEST. */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	return evd_set_waitable(evd_handle, true);
}

static DAT_RETURN evd_enable(DAT_EVD_HANDLE evd_handle, bool enable)
{
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);

	return evd ? shim_cno_enable(evd, enable) : RET_BAD_HANDLE(EVD_REQUEST);
}

/* Codes: INVALID_HANDLE/EVD_REQUEST (E23, E24, E87). */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	return evd_enable(evd_handle, true);
}

/* Codes: INVALID_HANDLE/EVD_REQUEST (E25). */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	return evd_enable(evd_handle, false);
}
