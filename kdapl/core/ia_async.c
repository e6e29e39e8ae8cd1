// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asynchronous events of an Interface Adapter: about its device, its port, or one
 * of its objects (E64..E75).
 *
 * Callers: the glue, for what the device reports; evd_fifo.c, for an EVD that
 * overflowed; conn.c, for an endpoint whose queue pair the device reported broken.
 */
#include "evd_fifo.h"
#include "ia.h"
#include "input.h"

struct async_event {
	struct kdapl_ia *from;
	u32 number;
	DAT_HANDLE handle;
	DAT_COUNT reason;
};

/* Each async EVD of @ia gets its own copy (E16, E75).  True if there is one. */
static bool async_deliver(struct kdapl_ia *ia, const struct async_event *e)
{
	struct kdapl_evd *evd;
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&ia->async_lock, flags);
	any = !list_empty(&ia->async_evds);
	list_for_each_entry(evd, &ia->async_evds, on_async)
		kdapl_evd_post_async(evd, e->number, e->handle, e->reason);
	if (ia->async_evd && !ia->own_async) {
		any = true;
		kdapl_evd_post_async(ia->async_evd, e->number, e->handle,
				     e->reason);
	}
	spin_unlock_irqrestore(&ia->async_lock, flags);
	return any;
}

static void async_deliver_other(struct list_head *on_dev, void *arg)
{
	struct kdapl_ia *ia = container_of(on_dev, struct kdapl_ia, on_dev);
	const struct async_event *e = arg;

	if (ia != e->from && ia->obj.space == e->from->obj.space)
		async_deliver(ia, e);
}

/**
 * kdapl_ia_async_event - raise an asynchronous event about an object of an IA
 * @ia: the object's adapter
 * @number: DAT_ASYNC_ERROR_*
 * @handle: of the object
 * @reason: of that kind of object
 *
 * Goes to the IA's async EVDs; if it has none of its own, to those of the
 * opener's other IAs on the device (I7, E75).  Any context; an EP's lock may be
 * held, an EVD's may not.
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
		kdapl_device_walk_ias(ia->dev, async_deliver_other, &e);
}

/**
 * kdapl_ia_async - an event of the device or its port
 * @on_dev: of an IA on that port
 * @event: as the device gave it
 *
 * Every IA of the port is told, so there is nobody to pass it on to.  Rules E71,
 * E72, E74.  Any context, kdapl_device.lock held.
 */
void kdapl_ia_async(struct list_head *on_dev, const struct ib_event *event)
{
	struct kdapl_ia *ia = container_of(on_dev, struct kdapl_ia, on_dev);
	struct async_event e = {
		.from = ia,
		.handle = kdapl_handle(&ia->obj),
	};

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		e.number = DAT_ASYNC_ERROR_IA_CATASTROPHIC;
		e.reason = DAT_IA_CATASTROPHIC_ERROR;
		kdapl_object_get(&ia->obj);
		if (!queue_work(kdapl_wq_of(ia->obj.space), &ia->fatal))
			kdapl_object_put(&ia->obj);
		break;
	case IB_EVENT_PORT_ERR:
		e.number = DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR;
		e.reason = DAT_IA_OTHER_ERROR;
		break;
	default:
		return;
	}
	async_deliver(ia, &e);
}
