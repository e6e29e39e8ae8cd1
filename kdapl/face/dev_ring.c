// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of an event ring, and its sink, through which the core puts events in.
 * dev_ring.h describes the protocol, and who writes what.
 *
 * Called by dev_evd.c and dev_ia.c (create, drop, resize), and by the core's
 * runner (the sink).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <dat/kdat_linux.h>
#include "dev_ring.h"
#include "../core/evd.h"

/* ---- the sink ---------------------------------------------------------- */

/* kdapl_sink.room: is there room for one more event? */
static bool ring_room(struct kdapl_evd *evd, void *arg)
{
	struct kdapl_ring *ring = arg;
	struct kdapl_ring_buf *buf = ring->buf;

	/*
	 * Nobody is woken by completions that are not solicited, so MORE is always set, and
	 * the process asks the kernel whenever it finds the ring empty.
	 */
	if (kdapl_evd_is_quiet(evd) && !kdapl_ring_more(ring))
		atomic_or(KDAPL_RING_MORE, kdapl_ring_flags(buf));
	if (likely(kdapl_ring_held(buf, NULL) < buf->nr))
		return true;
	WRITE_ONCE(ring->full, true);
	atomic_or(KDAPL_RING_MORE, kdapl_ring_flags(buf));
	smp_mb(); /* between setting MORE and reading the index, see dev_ring.h */
	return kdapl_ring_held(buf, NULL) < buf->nr;
}

static void fill_cr_event(struct kdapl_uapi_cr_event *to,
			  const DAT_CR_ARRIVAL_EVENT_DATA *from)
{
	const struct sockaddr *at = from->local_ia_address_ptr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *in = (const struct sockaddr_in *)at;

	to->sp = kdapl_dev_u64(from->sp_handle.psp_handle);
	to->cr = kdapl_dev_u64(from->cr_handle);
	to->conn_qual = from->conn_qual;
	to->family = at->sa_family;
	if (at->sa_family == AF_INET) {
		memcpy(to->address, &in->sin_addr, sizeof(in->sin_addr));
	} else {
		memcpy(to->address, &in6->sin6_addr, sizeof(in6->sin6_addr));
		to->scope_id = in6->sin6_scope_id;
	}
}

/* Kernel consumers have these numbers from <dat/kdat_linux.h>, processes from <rdma/kdapl.h>. */
static_assert((u32)KDAT_IMMED_EVENT == KDAPL_EVENT_EXTENDED &&
	      (u32)KDAT_EVD_EXTENDED_FLAG == KDAPL_EVD_EXTENDED &&
	      (u32)KDAT_MEM_PRIV_REMOTE_ATOMIC_FLAG == KDAPL_PRIV_REMOTE_ATOMIC);

static void fill_dto_event(struct kdapl_uapi_event *to, const DAT_EVENT *from)
{
	const struct kdat_dto_completion_event_data *data = kdat_dto_completion(from);

	to->dto.ep = kdapl_dev_u64(data->ep_handle);
	to->dto.cookie = data->user_cookie.as_64;
	to->dto.length = data->transfered_length;
	to->dto.status = data->status;
	to->dto.operation = *kdapl_event_operation(from);
	if (to->dto.operation == KDAPL_DID_RECV_INVALIDATE)
		to->dto.rmr_context = data->rmr_context;
	else if (to->dto.operation == KDAPL_DID_RECV_IMMED)
		to->dto.immediate = data->immediate;
	else if (unlikely(data->operation))
		to->event_number = KDAPL_EVENT_EXTENDED;
}

static void fill_event(struct kdapl_uapi_event *to, const DAT_EVENT *from)
{
	const DAT_EVENT_DATA *data = &from->event_data;

	memset(to, 0, sizeof(*to));
	to->event_number = from->event_number;
	to->evd = kdapl_dev_u64(from->evd_handle);
	switch ((u32)from->event_number) {
	case (u32)KDAT_IMMED_EVENT:
	case DAT_DTO_COMPLETION_EVENT:
		fill_dto_event(to, from);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		to->rmr.rmr = kdapl_dev_u64(data->rmr_completion_event_data.rmr_handle);
		to->rmr.cookie = data->rmr_completion_event_data.user_cookie.as_64;
		to->rmr.status = data->rmr_completion_event_data.status;
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		fill_cr_event(&to->cr, &data->cr_arrival_event_data);
		break;
	case DAT_SOFTWARE_EVENT:
		to->software.pointer = (uintptr_t)data->software_event_data.pointer;
		break;
	default:
		if (from->event_number < DAT_ASYNC_ERROR_EVD_OVERFLOW) {
			to->connect.ep = kdapl_dev_u64(data->connect_event_data.ep_handle);
			to->connect.private_data_size =
				data->connect_event_data.private_data_size;
			/* For a process the core has put the life here, in each event. */
			to->connect.life =
				(uintptr_t)data->connect_event_data.private_data;
		} else {
			to->async.handle =
				kdapl_dev_u64(data->asynch_error_event_data.dat_handle);
			to->async.reason = data->asynch_error_event_data.reason;
		}
	}
}

/*
 * Is an event a completion?  The length of an EVD bounds all other events.  The number of
 * completions is bounded by the EPs that feed the EVD.
 */
static bool is_completion(u32 number)
{
	return number == DAT_DTO_COMPLETION_EVENT || number == KDAPL_EVENT_EXTENDED ||
	       number == DAT_RMR_BIND_COMPLETION_EVENT;
}

static void buf_append(struct kdapl_ring_buf *buf,
		       const struct kdapl_uapi_event *event)
{
	u32 slot = buf->producer & (buf->nr - 1);

	buf->events[slot] = *event;
	WRITE_ONCE(buf->before[slot], buf->others);
	WRITE_ONCE(buf->others, buf->others + !is_completion(event->event_number));
	/* Pairs with kdapl_ring_held(). */
	smp_store_release(&buf->producer, buf->producer + 1);
	/* Pairs with the process's load-acquire. */
	smp_store_release(&buf->header->producer, buf->producer);
}

static void ring_deliver(struct kdapl_evd *evd, void *arg,
			 const DAT_EVENT *event, bool more)
{
	struct kdapl_ring *ring = arg;
	struct kdapl_uapi_event uapi;

	fill_event(&uapi, event);
	buf_append(ring->buf, &uapi);
}

static void ring_done(struct kdapl_evd *evd, void *arg, bool notify)
{
	struct kdapl_ring *ring = arg;

	if (kdapl_evd_dead(evd)) {
		WRITE_ONCE(ring->dead, true);
		atomic_or(KDAPL_RING_DEAD, kdapl_ring_flags(ring->buf));
		wake_up_poll(&ring->wait, EPOLLHUP);
		return;
	}
	if (!notify)
		return;
	/* Pairs with wait_over(), which counts the events only when it sees a change. */
	smp_mb__before_atomic();
	atomic_inc(&ring->notified);
	if (wq_has_sleeper(&ring->wait))
		wake_up_poll(&ring->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * kdapl_sink.held: how many events in the ring count against the EVD's length, that is,
 * are no completions.  buf->others is the number of such events put in so far, and
 * buf->before[] of the first event that was not taken yet is what that number was before that
 * event; the result is the difference.  While events are being put in, or with a forged
 * index, it may be wrong, but it is never more than the number of events in a full ring.
 */
static u32 ring_held_others(struct kdapl_evd *evd, void *arg)
{
	struct kdapl_ring *ring = arg;
	struct kdapl_ring_buf *buf = READ_ONCE(ring->buf);
	u32 consumer, held = kdapl_ring_held(buf, &consumer);

	if (!held)
		return 0;
	return min(READ_ONCE(buf->others) -
		   READ_ONCE(buf->before[consumer & (buf->nr - 1)]), held);
}

static const struct kdapl_sink ring_sink = {
	.room = ring_room,
	.deliver = ring_deliver,
	.done = ring_done,
	.held = ring_held_others,
};

/* ---- life -------------------------------------------------------------- */

static void ring_free(struct kref *ref)
{
	struct kdapl_ring *ring = container_of(ref, struct kdapl_ring, ref);
	struct kdapl_ring_buf *buf, *next;

	list_for_each_entry_safe(buf, next, &ring->bufs, entry)
		kdapl_ring_buf_free(buf);
	kfree(ring);
}

/**
 * kdapl_ring_put - drop a reference
 * @ring: not to be used afterwards
 *
 * May sleep.
 */
void kdapl_ring_put(struct kdapl_ring *ring)
{
	kref_put(&ring->ref, ring_free);
}

/*
 * Ends the connection requests whose events are still in a ring that is dropped, because
 * nobody could answer them any more (P15, E60).  With a forged index a process can only end
 * requests of its own.
 */
static void ring_drop_requests(struct kdapl_file *file, const struct kdapl_ring_buf *buf)
{
	u32 consumer, held = kdapl_ring_held(buf, &consumer);

	for (; held; held--, consumer++) {
		const struct kdapl_uapi_event *event =
			&buf->events[consumer & (buf->nr - 1)];

		if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
			kdapl_cr_lost(&file->space, kdapl_dev_handle(event->cr.cr));
	}
}

/* Drops a ring that the caller has taken out of file->rings. */
static void ring_forget(struct kdapl_file *file, struct kdapl_ring *ring)
{
	struct kdapl_ring_buf *buf;

	mutex_lock(&ring->lock);
	ring_drop_requests(file, ring->buf);
	list_for_each_entry(buf, &ring->bufs, entry)
		kdapl_ring_buf_unpublish(file, buf);
	ring->forgotten = true;
	mutex_unlock(&ring->lock);
	kdapl_ring_put(ring);
}

static struct kdapl_ring *ring_alloc(u64 ia, u64 evd, u32 entries)
{
	struct kdapl_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (!ring)
		return NULL;
	ring->buf = kdapl_ring_buf_alloc(ring, entries);
	if (!ring->buf) {
		kfree(ring);
		return NULL;
	}
	kref_init(&ring->ref);
	ring->evd = evd;
	ring->ia = ia;
	mutex_init(&ring->lock);
	INIT_LIST_HEAD(&ring->bufs);
	list_add(&ring->buf->entry, &ring->bufs);
	init_waitqueue_head(&ring->wait);
	return ring;
}

/**
 * kdapl_ring_create - give a new EVD its ring
 * @file: of the caller
 * @ia: handle of the IA
 * @evd: handle of the EVD, made just now
 * @info: out: what the process needs to map it
 *
 * May sleep.  Undone by kdapl_ring_drop() after the EVD was freed.
 *
 * Return: 0, -ENOMEM; -ENODEV if the process closed the IA meanwhile.
 */
int kdapl_ring_create(struct kdapl_file *file, u64 ia, u64 evd,
		      struct kdapl_uapi_ring *info)
{
	struct kdapl_evd *e = kdapl_evd_find(&file->space, kdapl_dev_handle(evd));
	struct kdapl_ring *ring;
	int ret = -ENOMEM;

	if (!e)
		return -ENODEV;
	ring = ring_alloc(ia, evd, kdapl_evd_qlen(e));
	if (!ring)
		goto out;
	ret = kdapl_ring_buf_reserve(file, ring->buf);
	if (ret)
		goto err;
	kdapl_ring_info(ring, info);
	kdapl_ring_buf_publish(file, ring->buf);
	/*
	 * From here on another thread of the process that guesses the handle can find the
	 * ring, and can free the EVD and drop the ring.  So take another reference.
	 */
	kref_get(&ring->ref);
	ret = xa_insert(&file->rings, evd, ring, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_maps;
	/*
	 * This fails if another thread has closed the IA before the ring was in the table.  A
	 * third thread may be waiting on the ring already, and only ring_done() wakes it.
	 */
	if (kdapl_evd_set_sink(e, &ring_sink, ring, false)) {
		ring_done(e, ring, false);
		kdapl_ring_drop(file, evd);
		ret = -ENODEV;
	}
	kdapl_ring_put(ring);
	goto out;

err_maps:
	kdapl_ring_buf_unpublish(file, ring->buf);
	kdapl_ring_put(ring);
err:
	kdapl_ring_put(ring);
out:
	kdapl_evd_put(e);
	return ret;
}

/**
 * kdapl_ring_find - the ring of an EVD
 * @file: of the caller
 * @evd: any value
 *
 * Process context.
 *
 * Return: the ring with a reference, or NULL.
 */
struct kdapl_ring *kdapl_ring_find(struct kdapl_file *file, u64 evd)
{
	struct kdapl_ring *ring;

	xa_lock(&file->rings);
	ring = xa_load(&file->rings, evd);
	if (ring)
		kref_get(&ring->ref);
	xa_unlock(&file->rings);
	return ring;
}

/**
 * kdapl_ring_drop - drop the ring of an EVD that was freed
 * @file: of the caller
 * @evd: former handle of the EVD
 *
 * The core does not call the sink any more.  May sleep.
 */
void kdapl_ring_drop(struct kdapl_file *file, u64 evd)
{
	struct kdapl_ring *ring;

	xa_lock(&file->rings);
	ring = __xa_erase(&file->rings, evd);
	xa_unlock(&file->rings);
	if (ring)
		ring_forget(file, ring);
}

static void ring_drop_matching(struct kdapl_file *file, u64 ia, bool all)
{
	struct kdapl_ring *ring;
	unsigned long i;
	bool drop;

	/*
	 * kdapl_ring_drop() may run at the same time.  Whoever takes a ring out of the
	 * table drops it.
	 */
	xa_lock(&file->rings);
	xa_for_each(&file->rings, i, ring) {
		drop = all || ring->ia == ia;
		if (drop)
			__xa_erase(&file->rings, i);
		/* There may be very many rings, also of other IAs: unlock after each. */
		xa_unlock(&file->rings);
		if (drop)
			ring_forget(file, ring);
		cond_resched();
		xa_lock(&file->rings);
	}
	xa_unlock(&file->rings);
}

/**
 * kdapl_ring_drop_ia - drop the rings of an IA that was closed
 * @file: of the caller
 * @ia: former handle of the IA
 *
 * May sleep.
 */
void kdapl_ring_drop_ia(struct kdapl_file *file, u64 ia)
{
	ring_drop_matching(file, ia, false);
}

/**
 * kdapl_ring_drop_all - drop all rings of a file that is being released
 * @file: its IAs are closed, and nobody else uses the file
 *
 * May sleep.
 */
void kdapl_ring_drop_all(struct kdapl_file *file)
{
	ring_drop_matching(file, 0, true);
	xa_destroy(&file->rings);
	xa_destroy(&file->maps);
}

/**
 * kdapl_ring_info - what a process needs to map a ring
 * @ring: the ring
 * @info: out
 *
 * Any context.
 */
void kdapl_ring_info(struct kdapl_ring *ring, struct kdapl_uapi_ring *info)
{
	const struct kdapl_ring_buf *buf = READ_ONCE(ring->buf);

	info->data_offset = (u64)buf->id << (PAGE_SHIFT + 1);
	info->index_offset = info->data_offset + PAGE_SIZE;
	info->data_size = buf->data_size;
	info->index_size = PAGE_SIZE;
	info->nr_entries = buf->nr;
	info->entries = sizeof(struct kdapl_uapi_ring_header);
}

/* ---- resizing ---------------------------------------------------------- */

/*
 * Moves the events of a ring to its new memory.  The EVD has no sink meanwhile,
 * and the process must not take events during a resize (the ABI says so).
 */
static void ring_move(struct kdapl_ring *ring, struct kdapl_ring_buf *to)
{
	struct kdapl_ring_buf *from = ring->buf;
	u32 consumer, held = kdapl_ring_held(from, &consumer);

	for (; held; held--, consumer++)
		buf_append(to, &from->events[consumer & (from->nr - 1)]);
	list_add(&to->entry, &ring->bufs);
	/* Pairs with the pointer's dependency: who asks without the lock finds what was moved. */
	smp_store_release(&ring->buf, to);
	WRITE_ONCE(ring->full, false);
	atomic_or(KDAPL_RING_MOVED, kdapl_ring_flags(from));
}

static DAT_RETURN ring_resize(struct kdapl_file *file, struct kdapl_ring *ring,
			      struct kdapl_evd *evd, DAT_COUNT qlen)
{
	struct kdapl_ring_buf *buf = NULL;
	DAT_RETURN ret;

	/*
	 * ring_forget() has run already: the EVD was freed after our caller had found it.  Memory
	 * that we added now would stay in file->maps, and nobody would take it out.
	 */
	if (ring->forgotten)
		return RET_BAD_HANDLE(EVD_REQUEST);
	/* If the length is not valid, the core returns the right code. */
	if (!kdapl_evd_can_be(evd, qlen))
		return kdapl_evd_resize(&file->space, kdapl_dev_handle(ring->evd),
					qlen);
	if (qlen < kdapl_evd_backlog(evd) + kdapl_ring_count(ring))
		return RET_BAD_STATE(EVD_IN_USE);
	if (qlen > ring->buf->nr) {
		buf = kdapl_ring_buf_alloc(ring, qlen);
		if (!buf || kdapl_ring_buf_reserve(file, buf)) {
			ret = RET_NO_RESOURCE(MEMORY);
			goto err;
		}
	}
	ret = kdapl_evd_resize(&file->space, kdapl_dev_handle(ring->evd), qlen);
	if (ret != DAT_SUCCESS)
		goto err_reserve;
	if (!buf)
		return DAT_SUCCESS;

	kdapl_evd_set_sink(evd, NULL, NULL, true);
	ring_move(ring, buf);
	kdapl_ring_buf_publish(file, buf);
	/* If the EVD was freed while it had no sink, ring_done() was not called for that. */
	if (kdapl_evd_set_sink(evd, &ring_sink, ring, false))
		ring_done(evd, ring, false);
	/* What was queued while there was no sink may have been promised to the process. */
	kdapl_evd_await_run(evd);
	return DAT_SUCCESS;

err_reserve:
	if (buf)
		kdapl_ring_buf_unpublish(file, buf);
err:
	if (buf)
		kdapl_ring_buf_free(buf);
	return ret;
}

/**
 * kdapl_ring_resize - change the length of an EVD and, if need be, of its ring
 * @file: of the caller
 * @ring: of @evd
 * @evd: with a reference
 * @qlen: length that the process asked for
 *
 * If the memory of the ring is too small, the ring gets new memory, and the events
 * that were not taken move there (E49).  The old memory stays unchanged for a
 * process that has it mapped, except that KDAPL_RING_MOVED is set.  Takes @ring->lock;
 * may sleep. Rules E53..E57.
 *
 * Return: DAT_INVALID_STATE/EVD_WAITER while a thread waits, /EVD_IN_USE if more than @qlen
 * events are queued; DAT_INSUFFICIENT_RESOURCES/MEMORY; DAT_INVALID_HANDLE/EVD_REQUEST if the
 * EVD is being freed; or what kdapl_evd_resize() returns.
 */
DAT_RETURN kdapl_ring_resize(struct kdapl_file *file, struct kdapl_ring *ring,
			     struct kdapl_evd *evd, DAT_COUNT qlen)
{
	DAT_RETURN ret;

	if (qlen > 0 && kdapl_ring_waited(ring))
		return RET_BAD_STATE(EVD_WAITER);
	mutex_lock(&ring->lock);
	ret = ring_resize(file, ring, evd, qlen);
	mutex_unlock(&ring->lock);
	return ret;
}
