// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event rings: how events reach a process without a system call.
 *
 * Every EVD of a process has one.  The EVD's sink (core.h) puts events in, the
 * process takes them out; waiting, poll(2) and the slow path are here, too.
 * Two pieces of memory are mapped: the data (header and events), which the
 * process can only read, and a page with its consumer index, which it can
 * write and which is believed as far as it does no harm: a forged index loses
 * or repeats events of the process itself, nothing else.
 *
 * Barriers
 *	the producer's index	store-release in buf_put(), load-acquire in the
 *				process: who sees the index sees the event
 *	the consumer's index	store-release in the process, load-acquire in
 *				buf_held(): a slot is written again only after
 *				it was read
 *	MORE before a last	full barrier in ring_room(): either the process
 *	look at consumer	finds MORE after its last event, or the sink
 *				finds the room that this made.  A process that
 *				looks at MORE without a barrier of its own may
 *				see it one look later; one that sleeps comes
 *				here first, and here it is seen
 *	notified before		a waiter reads `notified` after it has set its
 *	sleeping		state, the sink raises it before it wakes
 *
 * What is where
 *	The core delivers single-instance (E96): ring_room(), ring_deliver() and
 *	ring_done() never run twice at once for one ring; room and deliver are
 *	the only writers of buf->producer and buf->before.
 *	kdapl_ring.lock (mutex) is held by whoever takes events for the process
 *	and by a resize.  Nothing nests in it but the core's calls.
 *	Memory: a ring lives as long as its file names it, a mapping shows it or
 *	a poll descriptor refers to it.  Memory that a resize replaced stays with
 *	the ring; it only ever grows by doubling, so this at most doubles it.
 */
#include <linux/anon_inodes.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>
#include "dev.h"
#include "../compat.h"
#include "../core/evd.h"

/* As many entries as the largest completion queue of today's devices. */
#define RING_MAX_ENTRIES	4194304
/* mmap offsets of 32-bit callers end at 2^44. */
#define RING_MAX_ID		0x3fffffff

/**
 * struct kdapl_ring_buf - the memory of a ring, from one resize to the next
 * @ring: whose
 * @entry: in kdapl_ring.bufs
 * @id: in kdapl_file.maps
 * @nr: events, a power of two
 * @data_size: bytes mapped as data
 * @header: start of the data
 * @events: the rest of it
 * @index: the index page
 * @before: how many events that are no completions came before an entry's
 * @producer: the true one; header->producer is the process's copy
 * @others: events that are no completions, ever
 */
struct kdapl_ring_buf {
	struct kdapl_ring *ring;
	struct list_head entry;
	u32 id;
	u32 nr;
	u32 data_size;
	struct kdapl_uapi_ring_header *header;
	struct kdapl_uapi_event *events;
	struct kdapl_uapi_ring_index *index;
	u32 *before;
	u32 producer;
	u32 others;
};

/**
 * struct kdapl_ring - the event ring of one EVD
 * @ref: the file's table, mappings, poll descriptors, running calls
 * @evd: handle of its EVD
 * @ia: handle of the EVD's IA
 * @lock: see the head of this file
 * @buf: present memory
 * @bufs: present and former memory
 * @wait: the waiter and pollers
 * @notified: counts batches with an event that notifies (E35)
 * @waiter: a thread is in kdapl_ring_wait() (E36)
 * @unwaitable: odd while waiting is not allowed; each change counts (E27)
 * @full: the sink found no room; events wait in the kernel
 * @dead: the EVD is gone
 */
struct kdapl_ring {
	struct kref ref;
	u64 evd;
	u64 ia;
	struct mutex lock;	/* taking events, resizing */
	struct kdapl_ring_buf *buf;
	struct list_head bufs;
	wait_queue_head_t wait;
	atomic_t notified;
	atomic_t waiter;
	atomic_t unwaitable;
	bool full;
	bool dead;
};

static atomic_t *buf_flags(struct kdapl_ring_buf *buf)
{
	BUILD_BUG_ON(sizeof(buf->header->flags) != sizeof(atomic_t));
	return (atomic_t *)&buf->header->flags;
}

/* Events not taken yet; a forged index makes it at most a full ring. */
static u32 buf_held(const struct kdapl_ring_buf *buf, u32 *consumer)
{
	/* pairs with buf_put() */
	u32 producer = smp_load_acquire(&buf->producer);
	/* pairs with the process's store-release */
	u32 held = producer - smp_load_acquire(&buf->index->consumer);

	held = min(held, buf->nr);
	if (consumer)
		*consumer = producer - held;
	return held;
}

static u32 ring_count(struct kdapl_ring *ring)
{
	return buf_held(READ_ONCE(ring->buf), NULL);
}

static bool ring_more(struct kdapl_ring *ring)
{
	return atomic_read(buf_flags(READ_ONCE(ring->buf))) & KDAPL_RING_MORE;
}

/* ---- the producer: the EVD's sink ---------------------------------------------- */

static bool ring_room(struct kdapl_evd *evd, void *arg)
{
	struct kdapl_ring *ring = arg;
	struct kdapl_ring_buf *buf = ring->buf;

	/* Its CQ stays silent for most completions: one has to come and ask. */
	if (kdapl_evd_config(evd) == KDAPL_EVD_CONFIG_SOLICITED && !ring_more(ring))
		atomic_or(KDAPL_RING_MORE, buf_flags(buf));
	if (likely(buf_held(buf, NULL) < buf->nr))
		return true;
	WRITE_ONCE(ring->full, true);
	atomic_or(KDAPL_RING_MORE, buf_flags(buf));
	smp_mb(); /* see the head of this file */
	return buf_held(buf, NULL) < buf->nr;
}

static void fill_event(struct kdapl_uapi_event *to, const DAT_EVENT *from)
{
	const DAT_EVENT_DATA *data = &from->event_data;

	memset(to, 0, sizeof(*to));
	to->event_number = from->event_number;
	to->evd = kdapl_dev_u64(from->evd_handle);
	switch (from->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		to->dto.ep = kdapl_dev_u64(data->dto_completion_event_data.ep_handle);
		to->dto.cookie = data->dto_completion_event_data.user_cookie.as_64;
		to->dto.length = data->dto_completion_event_data.transfered_length;
		to->dto.status = data->dto_completion_event_data.status;
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		to->rmr.rmr = kdapl_dev_u64(data->rmr_completion_event_data.rmr_handle);
		to->rmr.cookie = data->rmr_completion_event_data.user_cookie.as_64;
		to->rmr.status = data->rmr_completion_event_data.status;
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		to->cr.sp = kdapl_dev_u64(data->cr_arrival_event_data.sp_handle.psp_handle);
		to->cr.cr = kdapl_dev_u64(data->cr_arrival_event_data.cr_handle);
		to->cr.conn_qual = data->cr_arrival_event_data.conn_qual;
		break;
	case DAT_SOFTWARE_EVENT:
		to->software.pointer = (uintptr_t)data->software_event_data.pointer;
		break;
	default:
		if (from->event_number < DAT_ASYNC_ERROR_EVD_OVERFLOW) {
			to->connect.ep = kdapl_dev_u64(data->connect_event_data.ep_handle);
			to->connect.private_data_size =
				data->connect_event_data.private_data_size;
		} else {
			to->async.handle =
				kdapl_dev_u64(data->asynch_error_event_data.dat_handle);
			to->async.reason = data->asynch_error_event_data.reason;
		}
	}
}

static bool is_completion(const DAT_EVENT *event)
{
	return event->event_number == DAT_DTO_COMPLETION_EVENT ||
	       event->event_number == DAT_RMR_BIND_COMPLETION_EVENT;
}

static void buf_put(struct kdapl_ring_buf *buf, const struct kdapl_uapi_event *event,
		    bool completion)
{
	u32 slot = buf->producer & (buf->nr - 1);

	buf->events[slot] = *event;
	WRITE_ONCE(buf->before[slot], buf->others);
	WRITE_ONCE(buf->others, buf->others + !completion);
	/* pairs with buf_held() */
	smp_store_release(&buf->producer, buf->producer + 1);
	/* pairs with the process's load-acquire */
	smp_store_release(&buf->header->producer, buf->producer);
}

static void ring_deliver(struct kdapl_evd *evd, void *arg,
			 const DAT_EVENT *event, bool more)
{
	struct kdapl_ring *ring = arg;
	struct kdapl_uapi_event uapi;

	fill_event(&uapi, event);
	buf_put(ring->buf, &uapi, is_completion(event));
}

static void ring_done(struct kdapl_evd *evd, void *arg, bool notify)
{
	struct kdapl_ring *ring = arg;

	if (kdapl_evd_dead(evd)) {
		WRITE_ONCE(ring->dead, true);
		atomic_or(KDAPL_RING_DEAD, buf_flags(ring->buf));
		wake_up_poll(&ring->wait, EPOLLHUP);
		return;
	}
	if (!notify)
		return;
	atomic_inc(&ring->notified);
	if (wq_has_sleeper(&ring->wait))
		wake_up_poll(&ring->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * The first event not taken knows how many others came before it.  A racing
 * delivery or a forged index gives a number that is off, never beyond nr.
 */
static u32 ring_held(struct kdapl_evd *evd, void *arg)
{
	struct kdapl_ring *ring = arg;
	struct kdapl_ring_buf *buf = READ_ONCE(ring->buf);
	u32 consumer, held = buf_held(buf, &consumer);

	if (!held)
		return 0;
	return min(READ_ONCE(buf->others) -
		   READ_ONCE(buf->before[consumer & (buf->nr - 1)]), held);
}

static const struct kdapl_sink ring_sink = {
	.room = ring_room,
	.deliver = ring_deliver,
	.done = ring_done,
	.held = ring_held,
};

/* ---- memory ------------------------------------------------------------------------- */

static void buf_free(struct kdapl_ring_buf *buf)
{
	kvfree(buf->before);
	free_page((unsigned long)buf->index);
	vfree(buf->header);
	kfree(buf);
}

static struct kdapl_ring_buf *buf_alloc(struct kdapl_ring *ring, u32 entries)
{
	struct kdapl_ring_buf *buf;

	if (entries > RING_MAX_ENTRIES)
		return NULL;
	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return NULL;
	buf->ring = ring;
	/* What fits beside the header in a page is there anyway. */
	entries = max_t(u32, entries, PAGE_SIZE / sizeof(*buf->events) / 2);
	buf->nr = roundup_pow_of_two(entries);
	buf->data_size = PAGE_ALIGN(sizeof(*buf->header) +
				    buf->nr * sizeof(*buf->events));
	buf->header = __vmalloc(buf->data_size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	buf->index = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	buf->before = kvcalloc(buf->nr, sizeof(*buf->before), GFP_KERNEL_ACCOUNT);
	if (!buf->header || !buf->index || !buf->before) {
		buf_free(buf);
		return NULL;
	}
	buf->header->nr_entries = buf->nr;
	buf->events = (void *)(buf->header + 1);
	return buf;
}

/* Gives @buf an offset; nobody can map it there before buf_publish(). */
static int buf_reserve(struct kdapl_file *file, struct kdapl_ring_buf *buf)
{
	return xa_alloc(&file->maps, &buf->id, NULL,
			XA_LIMIT(1, RING_MAX_ID), GFP_KERNEL_ACCOUNT);
}

/* Does not fail: the entry is there.  @buf belongs to its ring for good. */
static void buf_publish(struct kdapl_file *file, struct kdapl_ring_buf *buf)
{
	xa_store(&file->maps, buf->id, buf, GFP_KERNEL_ACCOUNT);
}

static void ring_free(struct kref *ref)
{
	struct kdapl_ring *ring = container_of(ref, struct kdapl_ring, ref);
	struct kdapl_ring_buf *buf, *next;

	list_for_each_entry_safe(buf, next, &ring->bufs, entry)
		buf_free(buf);
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
 * P15, E60: a request whose event goes with the ring ends, since nobody could
 * name it.  A forged index can only end requests of the process itself.
 */
static void drop_requests(struct kdapl_file *file, const struct kdapl_ring_buf *buf)
{
	u32 consumer, held = buf_held(buf, &consumer);

	for (; held; held--, consumer++) {
		const struct kdapl_uapi_event *event =
			&buf->events[consumer & (buf->nr - 1)];

		if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
			kdapl_cr_lost(&file->space, kdapl_dev_handle(event->cr.cr));
	}
}

/* The file forgets @ring; the caller has unlinked it from file->rings. */
static void ring_forget(struct kdapl_file *file, struct kdapl_ring *ring)
{
	struct kdapl_ring_buf *buf;

	mutex_lock(&ring->lock);
	drop_requests(file, ring->buf);
	list_for_each_entry(buf, &ring->bufs, entry)
		xa_erase(&file->maps, buf->id);
	mutex_unlock(&ring->lock);
	kdapl_ring_put(ring);
}

static struct kdapl_ring *ring_alloc(u64 ia, u64 evd, u32 entries)
{
	struct kdapl_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (!ring)
		return NULL;
	ring->buf = buf_alloc(ring, entries);
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
 * @info: out: for the process
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
	ret = buf_reserve(file, ring->buf);
	if (ret)
		goto err;
	kdapl_ring_info(ring, info);
	buf_publish(file, ring->buf);
	/* From here on a guessed handle finds it, and may free EVD and ring. */
	kref_get(&ring->ref);
	ret = xa_insert(&file->rings, evd, ring, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_maps;
	/* Closed by another thread, which never met the ring. */
	if (kdapl_evd_set_sink(e, &ring_sink, ring, false)) {
		kdapl_ring_drop(file, evd);
		ret = -ENODEV;
	}
	kdapl_ring_put(ring);
	goto out;

err_maps:
	xa_erase(&file->maps, ring->buf->id);
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
 * Return: with a reference, or NULL.
 */
struct kdapl_ring *kdapl_ring_find(struct kdapl_file *file, u64 evd)
{
	struct kdapl_ring *ring;

	xa_lock(&file->rings);
	ring = xa_load(&file->rings, evd);
	if (ring && ring->evd == evd)
		kref_get(&ring->ref);
	else
		ring = NULL;
	xa_unlock(&file->rings);
	return ring;
}

/**
 * kdapl_ring_drop - the EVD of a ring was freed
 * @file: of the caller
 * @evd: its former handle
 *
 * The core does not touch the ring any more.  May sleep.
 */
void kdapl_ring_drop(struct kdapl_file *file, u64 evd)
{
	struct kdapl_ring *ring;

	xa_lock(&file->rings);
	ring = xa_load(&file->rings, evd);
	if (ring && ring->evd == evd)
		__xa_erase(&file->rings, evd);
	else
		ring = NULL;
	xa_unlock(&file->rings);
	if (ring)
		ring_forget(file, ring);
}

static void drop_matching(struct kdapl_file *file, u64 ia, bool all)
{
	struct kdapl_ring *ring;
	unsigned long i;

	/* Whoever unlinks a ring drops it: dat_evd_free may be at it, too. */
	xa_lock(&file->rings);
	xa_for_each(&file->rings, i, ring) {
		if (!all && ring->ia != ia)
			continue;
		__xa_erase(&file->rings, i);
		xa_unlock(&file->rings);
		ring_forget(file, ring);
		cond_resched();
		xa_lock(&file->rings);
	}
	xa_unlock(&file->rings);
}

/**
 * kdapl_ring_drop_ia - an IA was closed
 * @file: of the caller, who closed it
 * @ia: its former handle
 */
void kdapl_ring_drop_ia(struct kdapl_file *file, u64 ia)
{
	drop_matching(file, ia, false);
}

/**
 * kdapl_ring_drop_all - the file is closed, and so are its IAs
 * @file: nobody else uses it
 */
void kdapl_ring_drop_all(struct kdapl_file *file)
{
	drop_matching(file, 0, true);
	xa_destroy(&file->rings);
	xa_destroy(&file->maps);
}

/**
 * kdapl_ring_info - what a process needs to map a ring
 * @ring: the ring
 * @info: out
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

/* ---- taking, waiting, resizing -------------------------------------------------------- */

/**
 * kdapl_ring_refill - bring in what waits in the kernel
 * @ring: of @evd
 * @evd: with a reference
 *
 * Whatever does not fit raises KDAPL_RING_MORE again.  May sleep.
 */
void kdapl_ring_refill(struct kdapl_ring *ring, struct kdapl_evd *evd)
{
	WRITE_ONCE(ring->full, false);
	atomic_andnot(KDAPL_RING_MORE, buf_flags(READ_ONCE(ring->buf)));
	kdapl_evd_settle(evd);
}

/**
 * kdapl_ring_waited - is a thread waiting (E36)?
 * @ring: any ring
 */
bool kdapl_ring_waited(const struct kdapl_ring *ring)
{
	return atomic_read(&ring->waiter);
}

/**
 * kdapl_ring_waitable - may a thread wait (E26)?
 * @ring: any ring
 */
bool kdapl_ring_waitable(const struct kdapl_ring *ring)
{
	return !(atomic_read(&ring->unwaitable) & 1);
}

/**
 * kdapl_ring_set_waitable - dat_evd_set_unwaitable and its opposite (E26, E27)
 * @ring: any ring
 * @waitable: as it shall be
 *
 * Any waiter is woken for good when it becomes unwaitable.
 */
void kdapl_ring_set_waitable(struct kdapl_ring *ring, bool waitable)
{
	int old = atomic_read(&ring->unwaitable);

	do {
		if (!(old & 1) == waitable)
			return;
	} while (!atomic_try_cmpxchg(&ring->unwaitable, &old, old + 1));
	wake_up_all(&ring->wait);
}

/**
 * kdapl_ring_take - take an event for a process that has not mapped the ring
 * @ring: of @evd
 * @evd: with a reference
 * @event: out
 *
 * A process that takes events from the mapped ring at the same time gets one
 * twice; it has been told to have a lock.  May sleep.  Rules E36, E41.
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY, DAT_INVALID_STATE/EVD_WAITER.
 */
DAT_RETURN kdapl_ring_take(struct kdapl_ring *ring, struct kdapl_evd *evd,
			   struct kdapl_uapi_event *event)
{
	DAT_RETURN ret = DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	struct kdapl_ring_buf *buf;
	u32 consumer;

	if (kdapl_ring_waited(ring))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	mutex_lock(&ring->lock);
	buf = ring->buf;
	if (!ring_count(ring))
		kdapl_ring_refill(ring, evd);
	if (buf_held(buf, &consumer)) {
		*event = buf->events[consumer & (buf->nr - 1)];
		/* pairs with buf_held() */
		smp_store_release(&buf->index->consumer, consumer + 1);
		ret = DAT_SUCCESS;
	}
	mutex_unlock(&ring->lock);
	return ret;
}

/* One look; true: the wait is over, with *@ret. */
static bool wait_over(struct kdapl_ring *ring, struct kdapl_evd *evd,
		      u32 threshold, int unwaitable, int *notified,
		      bool expired, DAT_RETURN *ret)
{
	int now = atomic_read(&ring->notified);
	bool look = expired || now != *notified;

	*notified = now;
	if (kdapl_evd_dead(evd))
		*ret = DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
	else if (atomic_read(&ring->unwaitable) != unwaitable)
		*ret = DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_EVD_UNWAITABLE);
	else if (look && ring_count(ring) >= threshold)
		*ret = DAT_SUCCESS;
	else if (expired)
		*ret = DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	else if (signal_pending(current))
		*ret = DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	else
		return false;
	return true;
}

static DAT_RETURN ring_sleep(struct kdapl_ring *ring, struct kdapl_evd *evd,
			     u32 threshold, int unwaitable, ktime_t deadline)
{
	bool forever = deadline == KTIME_MAX;
	int notified = atomic_read(&ring->notified);
	bool expired;
	DAT_RETURN ret;
	DEFINE_WAIT(wait);

	/* What is there already counts, whether it notifies or not (E30). */
	if (ring_count(ring) >= threshold)
		return DAT_SUCCESS;
	expired = ktime_compare(ktime_get(), deadline) >= 0;
	for (;;) {
		prepare_to_wait(&ring->wait, &wait, TASK_INTERRUPTIBLE);
		if (wait_over(ring, evd, threshold, unwaitable, &notified,
			      expired, &ret))
			break;
		expired = !schedule_hrtimeout_range(forever ? NULL : &deadline,
						    current->timer_slack_ns,
						    HRTIMER_MODE_ABS);
	}
	finish_wait(&ring->wait, &wait);
	return ret;
}

/**
 * kdapl_ring_wait - wait until a number of events is there
 * @ring: of @evd
 * @evd: with a reference
 * @threshold: at least 1, at most the EVD's length
 * @deadline: KTIME_MAX for none
 * @queued: out: events in the ring
 *
 * Takes no event.  May sleep.  Rules E26, E27, E30, E32..E36, E38, E39.
 *
 * Return: DAT_SUCCESS, DAT_TIMEOUT_EXPIRED, DAT_INTERRUPTED_CALL, DAT_ABORT,
 * DAT_INVALID_STATE/EVD_UNWAITABLE, /EVD_WAITER.
 */
DAT_RETURN kdapl_ring_wait(struct kdapl_ring *ring, struct kdapl_evd *evd,
			   u32 threshold, ktime_t deadline, u32 *queued)
{
	int unwaitable = atomic_read(&ring->unwaitable);
	DAT_RETURN ret;

	if (unwaitable & 1)
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_EVD_UNWAITABLE);
	if (atomic_xchg(&ring->waiter, 1))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	if (ring_more(ring))
		kdapl_ring_refill(ring, evd);
	ret = ring_sleep(ring, evd, threshold, unwaitable, deadline);
	/* What came without a word counts as well (E33, E34). */
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED && ring_more(ring)) {
		kdapl_ring_refill(ring, evd);
		if (ring_count(ring) >= threshold)
			ret = DAT_SUCCESS;
	}
	*queued = ring_count(ring);
	atomic_set_release(&ring->waiter, 0);
	return ret;
}

/* The sink is off and the process takes nothing (it has been told). */
static void ring_move(struct kdapl_ring *ring, struct kdapl_ring_buf *to)
{
	struct kdapl_ring_buf *from = ring->buf;
	u32 consumer, held = buf_held(from, &consumer);

	for (; held; held--, consumer++) {
		u32 slot = consumer & (from->nr - 1);
		u32 number = from->events[slot].event_number;

		buf_put(to, &from->events[slot],
			number == DAT_DTO_COMPLETION_EVENT ||
			number == DAT_RMR_BIND_COMPLETION_EVENT);
	}
	list_add(&to->entry, &ring->bufs);
	WRITE_ONCE(ring->buf, to);
	WRITE_ONCE(ring->full, false);
	atomic_or(KDAPL_RING_MOVED, buf_flags(from));
}

static DAT_RETURN ring_resize(struct kdapl_file *file, struct kdapl_ring *ring,
			      struct kdapl_evd *evd, DAT_COUNT qlen)
{
	struct kdapl_ring_buf *buf = NULL;
	DAT_RETURN ret;

	/* The core refuses it; nothing is made before. */
	if (!kdapl_evd_can_be(evd, qlen))
		return kdapl_evd_resize(&file->space, kdapl_dev_handle(ring->evd),
					qlen);
	if (qlen < kdapl_evd_backlog(evd) + ring_count(ring))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	if (qlen > ring->buf->nr) {
		buf = buf_alloc(ring, qlen);
		if (!buf || buf_reserve(file, buf)) {
			ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					DAT_RESOURCE_MEMORY);
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
	buf_publish(file, buf);
	/* It may have died unseen in between. */
	if (kdapl_evd_set_sink(evd, &ring_sink, ring, false))
		ring_done(evd, ring, false);
	return DAT_SUCCESS;

err_reserve:
	if (buf)
		xa_erase(&file->maps, buf->id);
err:
	if (buf)
		buf_free(buf);
	return ret;
}

/**
 * kdapl_ring_resize - dat_evd_resize
 * @file: of the caller
 * @ring: of @evd
 * @evd: with a reference
 * @qlen: as asked
 *
 * If the ring is too small the EVD gets a larger one and the events that were
 * not taken move there (E49); the old one stays as it is for whoever has it
 * mapped, with KDAPL_RING_MOVED.  May sleep.  Rules E53..E57.
 *
 * Return: DAT_INVALID_STATE/EVD_WAITER, /EVD_IN_USE with more than @qlen events
 * queued; DAT_INSUFFICIENT_RESOURCES/MEMORY; what kdapl_evd_resize() returns.
 */
DAT_RETURN kdapl_ring_resize(struct kdapl_file *file, struct kdapl_ring *ring,
			     struct kdapl_evd *evd, DAT_COUNT qlen)
{
	DAT_RETURN ret;

	if (qlen > 0 && kdapl_ring_waited(ring))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	mutex_lock(&ring->lock);
	ret = ring_resize(file, ring, evd, qlen);
	mutex_unlock(&ring->lock);
	return ret;
}

/* ---- poll(2) ---------------------------------------------------------------------------- */

static __poll_t ring_poll(struct file *filp, poll_table *table)
{
	struct kdapl_ring *ring = filp->private_data;
	__poll_t mask = 0;

	poll_wait(filp, &ring->wait, table);
	if (ring_count(ring) || READ_ONCE(ring->full))
		mask = EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ring->dead))
		mask |= EPOLLHUP;
	return mask;
}

static int ring_poll_release(struct inode *inode, struct file *filp)
{
	kdapl_ring_put(filp->private_data);
	return 0;
}

static const struct file_operations ring_poll_fops = {
	.owner = THIS_MODULE,
	.poll = ring_poll,
	.release = ring_poll_release,
};

/**
 * kdapl_ring_poll_fd - a descriptor that is readable while events are there
 * @ring: any ring; the descriptor takes a reference
 *
 * It outlives EVD and file.  May sleep.
 *
 * Return: the descriptor, or an errno.
 */
int kdapl_ring_poll_fd(struct kdapl_ring *ring)
{
	int fd;

	kref_get(&ring->ref);
	fd = anon_inode_getfd("[kdapl-evd]", &ring_poll_fops, ring,
			      O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		kdapl_ring_put(ring);
	return fd;
}

/* ---- mmap(2) ---------------------------------------------------------------------------- */

static void map_open(struct vm_area_struct *vma)
{
	struct kdapl_ring_buf *buf = vma->vm_private_data;

	kref_get(&buf->ring->ref);
}

static void map_close(struct vm_area_struct *vma)
{
	struct kdapl_ring_buf *buf = vma->vm_private_data;

	kdapl_ring_put(buf->ring);
}

static vm_fault_t map_data_fault(struct vm_fault *vmf)
{
	struct kdapl_ring_buf *buf = vmf->vma->vm_private_data;
	unsigned long offset = (vmf->pgoff - (buf->id << 1)) << PAGE_SHIFT;

	if (offset >= buf->data_size)
		return VM_FAULT_SIGBUS;
	vmf->page = vmalloc_to_page((void *)buf->header + offset);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_data_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_data_fault,
};

static vm_fault_t map_index_fault(struct vm_fault *vmf)
{
	struct kdapl_ring_buf *buf = vmf->vma->vm_private_data;

	if (vmf->pgoff != (buf->id << 1 | 1))
		return VM_FAULT_SIGBUS;
	vmf->page = virt_to_page(buf->index);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_index_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_index_fault,
};

/* With a reference of the ring. */
static struct kdapl_ring_buf *map_find(struct kdapl_file *file, unsigned long id)
{
	struct kdapl_ring_buf *buf;

	xa_lock(&file->maps);
	buf = xa_load(&file->maps, id);
	if (buf && !kref_get_unless_zero(&buf->ring->ref))
		buf = NULL;
	xa_unlock(&file->maps);
	return buf;
}

static int map_data(struct vm_area_struct *vma, struct kdapl_ring_buf *buf)
{
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (vma->vm_end - vma->vm_start != buf->data_size)
		return -EINVAL;
	kdapl_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND,
			   VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &map_data_ops;
	return 0;
}

static int map_index(struct vm_area_struct *vma, struct kdapl_ring_buf *buf)
{
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	kdapl_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, VM_MAYEXEC);
	vma->vm_ops = &map_index_ops;
	return 0;
}

/**
 * kdapl_dev_mmap - mmap(2) of /dev/kdapl
 * @filp: the file
 * @vma: the area; its offset comes from struct kdapl_uapi_ring
 *
 * The mapping keeps the memory, whatever happens to EVD and ring.
 *
 * Return: 0; -EINVAL for an offset that is no ring's, another size, a private
 * mapping; -EPERM for writable data, or executable anything.
 */
int kdapl_dev_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct kdapl_ring_buf *buf;
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	buf = map_find(filp->private_data, vma->vm_pgoff >> 1);
	if (!buf)
		return -EINVAL;
	ret = vma->vm_pgoff & 1 ? map_index(vma, buf) : map_data(vma, buf);
	if (ret)
		kdapl_ring_put(buf->ring);
	else
		vma->vm_private_data = buf;
	return ret;
}
