// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: Event Dispatchers.  Called through dev.c's table.  For waiting and for
 * taking events the calls here use the event ring: see dev_ring.h.
 */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include "dev_ring.h"
#include "../core/evd.h"

/*
 * Bits of DAT_EVD_STATE of <dat/udat.h>, which cannot be included here.  The bits for
 * the configuration come from the core.
 */
#define STATE_WAITABLE		0x04
#define STATE_UNWAITABLE	0x08

/* An EVD and its event ring, with a reference to each. */
struct evd_ref {
	struct kdapl_evd *evd;
	struct kdapl_ring *ring;
};

/*
 * Finds an EVD and its ring.  An EVD that is being made or freed may have no ring; for the
 * process it does not exist then.
 */
static DAT_RETURN evd_get(struct kdapl_file *file, u64 handle,
			  struct evd_ref *ref)
{
	ref->evd = kdapl_evd_find(&file->space, kdapl_dev_handle(handle));
	if (!ref->evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	ref->ring = kdapl_ring_find(file, handle);
	if (!ref->ring) {
		kdapl_evd_put(ref->evd);
		return RET_BAD_HANDLE(EVD_REQUEST);
	}
	return DAT_SUCCESS;
}

static void evd_put(struct evd_ref *ref)
{
	kdapl_ring_put(ref->ring);
	kdapl_evd_put(ref->evd);
}

static DAT_RETURN evd_free(struct kdapl_file *file, u64 evd)
{
	DAT_RETURN ret = kdapl_evd_free(&file->space, kdapl_dev_handle(evd));

	if (ret == DAT_SUCCESS)
		kdapl_ring_drop(file, evd);
	return ret;
}

int kdapl_dev_evd_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_create *arg = data;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	memset(&arg->ring, 0, sizeof(arg->ring));
	arg->ret = kdapl_evd_create(&file->space, kdapl_dev_handle(arg->ia),
				    arg->qlen, arg->flags, &evd);
	arg->evd = kdapl_dev_u64(evd);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	if (kdapl_ring_create(file, arg->ia, arg->evd, &arg->ring)) {
		kdapl_evd_free(&file->space, evd);
		arg->ret = RET_NO_RESOURCE(MEMORY);
	}
	return 0;
}

void kdapl_dev_evd_create_undo(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_create *arg = data;

	evd_free(file, arg->evd);
}

int kdapl_dev_evd_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_query *arg = data;
	DAT_EVD_PARAM param = {};
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ret = kdapl_evd_query(&file->space, kdapl_dev_handle(arg->evd),
				   arg->mask, &param);
	arg->ia = kdapl_dev_u64(param.ia_handle);
	arg->qlen = param.evd_qlen;
	arg->flags = param.evd_flags;
	arg->state = kdapl_evd_config(ref.evd) |
		(kdapl_ring_waitable(ref.ring) ? STATE_WAITABLE : STATE_UNWAITABLE);
	evd_put(&ref);
	return 0;
}

int kdapl_dev_evd_resize(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_resize *arg = data;
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ret = kdapl_ring_resize(file, ref.ring, ref.evd, arg->qlen);
	kdapl_ring_info(ref.ring, &arg->ring);
	evd_put(&ref);
	return 0;
}

int kdapl_dev_evd_free(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_handle *arg = data;
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->handle, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	if (kdapl_ring_waited(ref.ring))
		arg->ret = RET_BAD_STATE(EVD_WAITER);
	else
		arg->ret = evd_free(file, arg->handle);
	evd_put(&ref);
	return 0;
}

int kdapl_dev_evd_post_se(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_post_se *arg = data;
	DAT_EVENT event = { .event_number = arg->event_number };
	struct evd_ref ref;

	event.event_data.software_event_data.pointer =
		(DAT_PVOID)(uintptr_t)arg->pointer;
	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ret = kdapl_evd_post_se(&file->space, kdapl_dev_handle(arg->evd),
				     &event);
	/*
	 * When this call has returned, the process has to find the event in the ring, so
	 * wait until the runner has put it there.
	 */
	if (arg->ret == DAT_SUCCESS)
		kdapl_evd_await_run(ref.evd);
	evd_put(&ref);
	return 0;
}

/*
 * The time at which the wait ends.  It is kept in the structure of the call, so that a call
 * that is restarted after a signal ends at the same time.
 */
static ktime_t wait_deadline(struct kdapl_uapi_evd_wait *arg)
{
	if (!arg->deadline)
		arg->deadline = arg->timeout == DAT_TIMEOUT_INFINITE ? KTIME_MAX :
			ktime_add_us(ktime_get(), arg->timeout);
	if (arg->deadline > KTIME_MAX)
		arg->deadline = KTIME_MAX;
	return arg->deadline;
}

/* A threshold above 1 is allowed only on an EVD on which every event notifies (E31). */
static DAT_RETURN check_threshold(struct kdapl_evd *evd, s32 threshold)
{
	u32 config = kdapl_evd_config(evd);

	if (threshold < 1 || threshold > kdapl_evd_qlen(evd))
		return RET_BAD_ARG(3);
	if (threshold == 1 || config == KDAPL_EVD_CONFIG_THRESHOLD)
		return DAT_SUCCESS;
	return config == KDAPL_EVD_CONFIG_SOLICITED ?
		RET_BAD_STATE(EVD_CONFIG_SOLICITED) :
		RET_BAD_STATE(EVD_CONFIG_NOTIFY);
}

int kdapl_dev_evd_wait(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_wait *arg = data;
	struct evd_ref ref;

	arg->queued = 0;
	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ret = check_threshold(ref.evd, arg->threshold);
	if (arg->ret == DAT_SUCCESS)
		arg->ret = kdapl_ring_wait(ref.ring, ref.evd, arg->threshold,
					   wait_deadline(arg), &arg->queued);
	evd_put(&ref);
	/*
	 * If the signal has a handler, the call ends with EINTR; otherwise the kernel restarts
	 * it (E38).
	 */
	if (DAT_GET_TYPE(arg->ret) == DAT_INTERRUPTED_CALL)
		return -ERESTARTNOHAND;
	return 0;
}

int kdapl_dev_evd_dequeue(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_dequeue *arg = data;
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ret = kdapl_ring_take(ref.ring, ref.evd, &arg->event);
	evd_put(&ref);
	return 0;
}

/*
 * The event that was taken could not be copied to the process, and is lost.  If it was a
 * connection request, nobody can answer the request any more, so it is rejected (E60).
 */
void kdapl_dev_evd_dequeue_undo(struct kdapl_file *file, void *data)
{
	const struct kdapl_uapi_evd_dequeue *arg = data;

	if (arg->event.event_number == DAT_CONNECTION_REQUEST_EVENT)
		kdapl_cr_lost(&file->space, kdapl_dev_handle(arg->event.cr.cr));
}

int kdapl_dev_evd_refill(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_handle *arg = data;
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->handle, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	if (kdapl_ring_more(ref.ring))
		kdapl_ring_refill(ref.ring, ref.evd);
	else
		kdapl_ring_look(ref.evd);
	evd_put(&ref);
	return 0;
}

int kdapl_dev_evd_ring(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_ring *arg = data;
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	kdapl_ring_info(ref.ring, &arg->ring);
	evd_put(&ref);
	return 0;
}

/*
 * Reserves a descriptor, and makes the file *@filp for it.  The file is not installed yet, so the
 * process cannot use the descriptor.
 */
static void make_poll_fd(struct kdapl_file *file, struct kdapl_uapi_evd_poll_fd *arg,
			 struct file **filp)
{
	struct evd_ref ref;

	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return;
	arg->fd = get_unused_fd_flags(O_RDONLY | O_CLOEXEC);
	if (arg->fd >= 0) {
		*filp = kdapl_ring_poll_file(ref.ring);
		if (IS_ERR(*filp)) {
			put_unused_fd(arg->fd);
			arg->fd = -1;
		}
	}
	if (arg->fd < 0)
		arg->ret = RET_NO_RESOURCE(MEMORY);
	evd_put(&ref);
}

/**
 * kdapl_dev_evd_poll_fd - KDAPL_IOC_EVD_POLL_FD
 * @file: of /dev/kdapl
 * @uarg: the structure
 *
 * Not in the table of calls, because the file must be installed only after the number of the
 * descriptor was copied to the process.  A descriptor that is installed already could not be
 * taken back if the copy fails: another thread may have closed it, and have got the same number
 * for something else meanwhile.
 *
 * Return: 0; or -EFAULT: then there is no descriptor.
 */
long kdapl_dev_evd_poll_fd(struct kdapl_file *file,
			   struct kdapl_uapi_evd_poll_fd __user *uarg)
{
	struct kdapl_uapi_evd_poll_fd arg;
	struct file *filp = NULL;

	if (copy_from_user(&arg, uarg, sizeof(arg)))
		return -EFAULT;
	arg.fd = -1;
	make_poll_fd(file, &arg, &filp);
	if (copy_to_user(uarg, &arg, sizeof(arg))) {
		if (arg.fd >= 0) {
			put_unused_fd(arg.fd);
			fput(filp);
		}
		return -EFAULT;
	}
	if (arg.fd >= 0)
		fd_install(arg.fd, filp);
	return 0;
}

int kdapl_dev_evd_set_waitable(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_evd_set_waitable *arg = data;
	struct evd_ref ref;

	if (arg->waitable > 1)
		return -EINVAL;
	arg->ret = evd_get(file, arg->evd, &ref);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	kdapl_ring_set_waitable(ref.ring, arg->waitable);
	evd_put(&ref);
	return 0;
}
