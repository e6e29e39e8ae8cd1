// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls of Event Dispatchers, except dat_evd_modify_cno() (cno.c).
 *
 * The kernel fills the ring of an EVD, and the library takes the events out.
 * The kernel does not see which thread takes them; therefore the library
 * enforces the rule that no other thread takes events while one waits (E36).
 * The EVD is locked whenever its ring is used, and unlocked while a thread waits
 * in the kernel.
 *
 * Only applications have dat_evd_create(), dat_evd_wait(), and the calls that
 * set whether an EVD is waitable or enabled. Of the calls that kernel modules
 * have as well, dat_evd_dequeue(), dat_evd_resize() and dat_evd_free() return
 * DAT_INVALID_STATE/EVD_WAITER here in addition, while a thread waits.
 */
#include <stdlib.h>

#include "shim.h"

/*
 * shim_evd_object - make the object of an EVD that the kernel has just made
 * @flags: the DAT_EVD_*_FLAG that the EVD was made with
 */
DAT_RETURN shim_evd_object(uint64_t token, struct shim_object *ia, DAT_EVD_FLAGS flags,
			   const struct kdapl_uapi_ring *ring,
			   struct shim_object **evdp)
{
	struct shim_evd *body = calloc(1, sizeof(*body));
	struct shim_object *evd = NULL;
	DAT_RETURN ret;

	if (body)
		evd = shim_object_get(token, SHIM_EVD, ia, NULL);
	if (!evd) {
		free(body);
		return RET_NO_RESOURCE(MEMORY);
	}
	body->poll_fd.fd = -1;
	body->async = flags & DAT_EVD_ASYNC_FLAG;
	shim_ring_map(&body->ring, ring);
	if (!shim_object_dress(evd, SHIM_EVD, token, body)) {
		shim_ring_unmap(&body->ring);
		free(body);
		return RET_NO_RESOURCE(MEMORY);
	}
	ret = evd->ops->evd_made(evd);
	if (ret) {
		shim_evd_body_free(evd);
		shim_object_kill(evd);
		return ret;
	}
	*evdp = evd;
	return DAT_SUCCESS;
}

/*
 * shim_evd_body_free - free the body of an EVD that the kernel has destroyed
 *
 * A thread that was waiting in the kernel finds the body gone when it returns.
 */
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
	evd->ops->evd_gone(evd, body);
	shim_ring_unmap(&body->ring);
	shim_fd_close(&body->poll_fd);
	free(body);
}

/*
 * Locks an EVD. Return: the EVD, whose body stays while it is locked; NULL if the handle is bad.
 * The handle is checked before the EVD is locked, because memory where no object was made yet
 * is only readable, and taking a lock there would crash. It is checked again afterwards,
 * because the EVD may have died in between; the lock of a dead object still works.
 */
static inline struct shim_object *evd_lock(DAT_EVD_HANDLE handle)
{
	struct shim_object *evd = handle;

	if (!shim_names(handle, SHIM_EVD))
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
 * dat_evd_create - make an EVD
 * @ia_handle: an IA
 * @evd_min_qlen: events that it holds besides completions, 1 .. max_evd_qlen
 * @cno_handle: a CNO of the same IA, or null
 * @evd_flags: DAT_EVD_*_FLAG, the streams that may feed it, at least one
 * @evd_handle: out
 *
 * Rules E12..E16.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /CNO; DAT_INVALID_PARAMETER/ARG2
 * for the length, /ARG4 for the flags, /ARG5 for a null @evd_handle;
 * DAT_INSUFFICIENT_RESOURCES/TEVD for a length above max_evd_qlen, /MEMORY.
 */
DAT_RETURN own_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
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
	/* A flag of the library's own */
	if (evd_flags & KDAPL_EVD_EXTENDED)
		return RET_BAD_ARG(4);
	if (!evd_handle)
		return RET_BAD_ARG(5);
	if (FACE_EXTENDED && shim_dev_features() & KDAPL_FEATURE_EXTENSIONS)
		arg.flags |= KDAPL_EVD_EXTENDED;
	arg.ia = shim_token(ia);
	ret = shim_ioctl(KDAPL_IOC_EVD_CREATE, &arg, RET_BAD_ARG(4));
	if (ret)
		return ret;

	undo.handle = arg.evd;
	ret = shim_evd_object(arg.evd, ia, evd_flags, &arg.ring, &evd);
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

DAT_RETURN own_evd_query(DAT_EVD_HANDLE evd_handle,
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
	evd_param->ia_handle = shim_ia_shown(arg.ia);
	evd_param->evd_qlen = arg.qlen;
	evd_param->evd_state =
		state | (arg.state & DAT_EVD_STATE_CONFIG_THRESHOLD);
	evd_param->cno_handle = cno;
	evd_param->evd_flags = arg.flags & ~KDAPL_EVD_EXTENDED;
	return DAT_SUCCESS;
}

DAT_RETURN own_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
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
	} else if (evd->ops->evd_queued(evd) > (uint32_t)evd_min_qlen) {
		ret = RET_BAD_STATE(EVD_IN_USE);
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

DAT_RETURN own_evd_free(DAT_EVD_HANDLE evd_handle)
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

	/* If several threads free the EVD at once, the kernel lets only one get here. */
	shim_evd_body_free(evd);
	shim_object_kill(evd);
	return DAT_SUCCESS;
}

DAT_RETURN own_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
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

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct shim_object *evd = evd_handle;

	if (SHIM_UNLIKELY(!shim_names(evd_handle, SHIM_EVD)))
		return other_evd_dequeue(evd_handle, event);
	return evd->ops->evd_dequeue(evd, event);
}

/*
 * dat_evd_wait - wait for events and take the first one
 * @evd_handle: an EVD
 * @timeout: microseconds, 0 to look once, or DAT_TIMEOUT_INFINITE
 * @threshold: how many events to wait for, 1 .. the EVD's length; more
 *	than 1 only if no stream of the EVD has unsignalled or solicited
 *	completions
 * @event: out
 * @n_more_events: out: how many are queued behind @event; after a timeout or a
 *	signal, how many are queued
 *
 * Rules E26, E27, E30..E40.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG3 for the threshold, /ARG4, /ARG5 for null pointers;
 * DAT_INVALID_STATE with /EVD_CONFIG_NOTIFY or /EVD_CONFIG_SOLICITED for a
 * threshold that the streams forbid, /EVD_UNWAITABLE, also when the EVD becomes
 * so during the wait, /EVD_WAITER when another thread waits;
 * DAT_TIMEOUT_EXPIRED (E33); DAT_INTERRUPTED_CALL after a signal with a handler
 * (E38); DAT_ABORT when the IA was closed during the wait (E39).
 */
DAT_RETURN own_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, DAT_EVENT *event,
			DAT_COUNT *n_more_events)
{
	struct kdapl_uapi_evd_wait arg = {
		.timeout = timeout,
		.threshold = threshold,
	};
	struct shim_object *evd = evd_lock(evd_handle);
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
		return evd->ops->evd_wait(evd, &arg, event, n_more_events);
	evd_unlock(evd);
	shim_cno_tell(evd);
	return ret;
}

/*
 * A thread that called dat_evd_wait() before the EVD became unwaitable has to
 * return with EVD_UNWAITABLE, even if the EVD is made waitable again before the
 * thread has reached the kernel (E27). So while there is a waiter, the kernel
 * is not told that the EVD is waitable again; the waiter tells it when it
 * returns (shim_evd.clear_late).
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
		ret = evd->ops->evd_set_waitable(evd, waitable);
	if (!ret)
		body->unwaitable = !waitable;
	evd_unlock(evd);
	return ret;
}

/*
 * dat_evd_set_unwaitable - forbid waiting
 *
 * A thread that waits returns with DAT_INVALID_STATE/EVD_UNWAITABLE. Rules E26,
 * E27.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST.
 */
DAT_RETURN own_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	return evd_set_waitable(evd_handle, false);
}

/*
 * dat_evd_clear_unwaitable - allow waiting again
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST.
 */
DAT_RETURN own_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	return evd_set_waitable(evd_handle, true);
}

static DAT_RETURN evd_enable(DAT_EVD_HANDLE evd_handle, bool enable)
{
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);

	return evd ? shim_cno_enable(evd, enable) : RET_BAD_HANDLE(EVD_REQUEST);
}

/*
 * dat_evd_enable - let events trigger the CNO again
 *
 * If events are queued the CNO is triggered at once. Rules E23, E24, E87.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST.
 */
DAT_RETURN own_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	return evd_enable(evd_handle, true);
}

/*
 * dat_evd_disable - keep events from triggering the CNO (E25)
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST.
 */
DAT_RETURN own_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	return evd_enable(evd_handle, false);
}
