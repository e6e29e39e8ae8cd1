// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asynchronous events of an Interface Adapter: about its device, its port, or one
 * of its objects (E64..E75).
 *
 * An adapter may have any number of async EVDs, and each gets a copy of each event.  So
 * this is done in process context, one EVD at a time and without a lock.
 *
 * Callers: the glue, for what the device reports; evd_streams.c, for an EVD that
 * overflowed; srq.c; conn_work.c, for an endpoint whose queue pair the device reported
 * broken, or on an SRQ has ended; ia_open.c, for a device that is removed.
 */
#include "evd_fifo.h"
#include "ia.h"
#include "input.h"
#include "op.h"

struct async_event {
	struct kdapl_ia *from;
	u32 number;
	DAT_HANDLE handle;
	DAT_COUNT reason;
};

static void async_post(struct kdapl_evd *evd, const struct async_event *e)
{
	kdapl_evd_post_async(evd, e->number, e->handle, e->reason);
}

/* The async EVD that @ia has borrowed from another IA, with a reference; or NULL. */
static struct kdapl_evd *async_borrowed(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd;

	spin_lock_irq(&ia->async_lock);
	evd = ia->own_async ? NULL : ia->async_evd;
	if (evd)
		kdapl_object_get(&evd->obj);
	spin_unlock_irq(&ia->async_lock);
	return evd;
}

/* Each async EVD of @ia gets its own copy (E16, E75).  True if there is one. */
static bool async_deliver(struct kdapl_ia *ia, const struct async_event *e)
{
	struct kdapl_evd *borrowed = async_borrowed(ia);
	struct kdapl_object *obj = NULL;
	bool any = borrowed;

	while ((obj = kdapl_ia_next_object(ia, KDAPL_EVD, obj))) {
		if (kdapl_evd_of(obj)->flags & DAT_EVD_ASYNC_FLAG) {
			async_post(kdapl_evd_of(obj), e);
			any = true;
		}
		cond_resched();
	}
	if (borrowed) {
		async_post(borrowed, e);
		kdapl_evd_put(borrowed);
	}
	return any;
}

static void async_deliver_others(const struct async_event *e)
{
	struct kdapl_space *space = e->from->obj.space;
	struct kdapl_object *obj;
	struct kdapl_ia *ia;

	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia) {
		ia = container_of(obj, struct kdapl_ia, obj);
		if (ia != e->from && ia->dev == e->from->dev)
			async_deliver(ia, e);
	}
	mutex_unlock(&space->ia_lock);
}

/**
 * kdapl_ia_async_event - raise an asynchronous event about an object of an IA
 * @ia: the object's adapter
 * @number: DAT_ASYNC_ERROR_*
 * @handle: of the object
 * @reason: DAT's number of what happened, for that type of object
 *
 * Goes to the IA's async EVDs; if it has none of its own, to those of the
 * opener's other IAs on the device (I7, E75).  Takes kdapl_space.ia_lock and
 * kdapl_ia.lock; may sleep, not for memory.
 */
void kdapl_ia_async_event(struct kdapl_ia *ia, u32 number, DAT_HANDLE handle,
			  DAT_COUNT reason)
{
	struct async_event e = {
		.from = ia,
		.number = number,
		.handle = handle,
		.reason = reason,
	};

	if (!async_deliver(ia, &e))
		async_deliver_others(&e);
}

/**
 * kdapl_ia_report - raise an asynchronous event about the device of an IA
 * @ia: adapter
 * @number: DAT_ASYNC_ERROR_*
 * @reason: DAT_IA_*_ERROR
 *
 * Every IA of the device is told, so there is nobody to pass it on to if @ia has no async
 * EVD (I7).  May sleep.
 */
void kdapl_ia_report(struct kdapl_ia *ia, u32 number, DAT_COUNT reason)
{
	struct async_event e = {
		.from = ia,
		.number = number,
		.handle = kdapl_handle(&ia->obj),
		.reason = reason,
	};

	async_deliver(ia, &e);
}

/**
 * kdapl_ia_tell_last - from now on endpoints on an SRQ tell when they take no more receives
 * @space: of the process
 * @handle: of an IA
 *
 * Each raises EP_BROKEN after its connection has ended, as providers of OpenFabrics do (RULING 69).
 * Process context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA.
 */
DAT_RETURN kdapl_ia_tell_last(struct kdapl_space *space, DAT_IA_HANDLE handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		WRITE_ONCE(op.obj->ia->tells_last, true);
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_ia_async - an event of the device or its port
 * @on_dev: of an IA on that port
 * @event: as the device gave it
 *
 * Rules E71, E72, E74.  May sleep.
 */
void kdapl_ia_async(struct list_head *on_dev, const struct ib_event *event)
{
	struct kdapl_ia *ia = container_of(on_dev, struct kdapl_ia, on_dev);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		kdapl_object_get(&ia->obj);
		if (!queue_work(kdapl_wq_of(ia->obj.space), &ia->fatal))
			kdapl_object_put(&ia->obj);
		kdapl_ia_report(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				DAT_IA_CATASTROPHIC_ERROR);
		break;
	case IB_EVENT_PORT_ERR:
		kdapl_ia_report(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
				DAT_IA_OTHER_ERROR);
		break;
	default:
		break;
	}
}
