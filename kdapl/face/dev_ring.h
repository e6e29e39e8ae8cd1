/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Event rings: how events reach a process without a system call.
 *
 * Every EVD of a process has one.  The EVD's sink (struct kdapl_sink) puts events in, the process
 * takes them out, of memory that it maps: the data, which it can only read, and a page with the
 * consumer index, to which it may write any number.
 *
 *	dev_ring.c	a ring's life, its sink, resizing
 *	dev_mmap.c	the memory of a ring, and mmap(2)
 *	dev_wait.c	taking events by ioctl, waiting, poll(2)
 *
 * Who writes what, and how long the memory lives, is told in Documentation/life-of-a-dto.rst, The
 * event ring of a process; the barriers in locking.rst, Barriers, and in abi.rst.
 */
#ifndef KDAPL_DEV_RING_H
#define KDAPL_DEV_RING_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include "dev.h"

/**
 * struct kdapl_ring_buf - the memory of a ring, from one resize to the next
 * @ring: the ring that it belongs to
 * @entry: in kdapl_ring.bufs
 * @id: index in kdapl_file.maps
 * @nr: how many events it holds, a power of two
 * @data_size: bytes that the process maps as data
 * @header: start of the data
 * @events: the rest of the data
 * @index: the page with the consumer index
 * @before: for each event, the value of @others before that event was put in
 * @producer: number of events put in so far; header->producer is a copy of it
 *	      for the process
 * @others: how many of these events were no completions
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
 * @ref: held by the file's table, mappings, poll descriptors and running calls
 * @evd: handle of its EVD
 * @ia: handle of the EVD's IA
 * @lock: held while a call takes an event or resizes the ring
 * @buf: present memory
 * @bufs: present and former memory
 * @wait: the thread in kdapl_ring_wait(), and those that poll, sleep here
 * @notified: incremented after each batch of events in which one notifies (E35)
 * @waiter: 1 while a thread is in kdapl_ring_wait() (E36)
 * @unwaitable: odd while waiting is forbidden.  Incremented by each change, so that
 *		a waiter notices if waiting was forbidden and allowed again (E27)
 * @full: the sink has found no room; further events wait in the EVD's FIFO
 * @dead: the EVD was freed, or its IA closed
 * @forgotten: ring_forget() has run: no memory may be made mappable any more; under @lock
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
	bool forgotten;
};

static inline atomic_t *kdapl_ring_flags(struct kdapl_ring_buf *buf)
{
	BUILD_BUG_ON(sizeof(buf->header->flags) != sizeof(atomic_t));
	return (atomic_t *)&buf->header->flags;
}

/*
 * How many events were put in and not taken yet; with a forged index any number up to a
 * full ring.  @consumer: NULL, or out: the consumer index, which is the number of the first
 * of these events
 */
static inline u32 kdapl_ring_held(const struct kdapl_ring_buf *buf, u32 *consumer)
{
	/* Pairs with buf_append(). */
	u32 producer = smp_load_acquire(&buf->producer);
	/* Pairs with the process's store-release. */
	u32 held = producer - smp_load_acquire(&buf->index->consumer);

	held = min(held, buf->nr);
	if (consumer)
		*consumer = producer - held;
	return held;
}

/* How many events in a ring were not taken yet. */
static inline u32 kdapl_ring_count(struct kdapl_ring *ring)
{
	return kdapl_ring_held(READ_ONCE(ring->buf), NULL);
}

/* Is KDAPL_RING_MORE set, by which the process is told to ask the kernel for more events? */
static inline bool kdapl_ring_more(struct kdapl_ring *ring)
{
	return atomic_read(kdapl_ring_flags(READ_ONCE(ring->buf))) & KDAPL_RING_MORE;
}

/* dev_ring.c */
int kdapl_ring_create(struct kdapl_file *file, u64 ia, u64 evd,
		      struct kdapl_uapi_ring *info);
struct kdapl_ring *kdapl_ring_find(struct kdapl_file *file, u64 evd);
void kdapl_ring_put(struct kdapl_ring *ring);
void kdapl_ring_drop(struct kdapl_file *file, u64 evd);
void kdapl_ring_drop_ia(struct kdapl_file *file, u64 ia);
void kdapl_ring_drop_all(struct kdapl_file *file);
void kdapl_ring_info(struct kdapl_ring *ring, struct kdapl_uapi_ring *info);
DAT_RETURN kdapl_ring_resize(struct kdapl_file *file, struct kdapl_ring *ring,
			     struct kdapl_evd *evd, DAT_COUNT qlen);

/* dev_mmap.c */
struct kdapl_ring_buf *kdapl_ring_buf_alloc(struct kdapl_ring *ring,
					    u32 entries);
void kdapl_ring_buf_free(struct kdapl_ring_buf *buf);
int kdapl_ring_buf_reserve(struct kdapl_file *file, struct kdapl_ring_buf *buf);
void kdapl_ring_buf_publish(struct kdapl_file *file,
			    struct kdapl_ring_buf *buf);
void kdapl_ring_buf_unpublish(struct kdapl_file *file,
			      const struct kdapl_ring_buf *buf);

/* dev_wait.c */
void kdapl_ring_refill(struct kdapl_ring *ring, struct kdapl_evd *evd);
void kdapl_ring_look(struct kdapl_evd *evd);
bool kdapl_ring_waited(const struct kdapl_ring *ring);
bool kdapl_ring_waitable(const struct kdapl_ring *ring);
void kdapl_ring_set_waitable(struct kdapl_ring *ring, bool waitable);
DAT_RETURN kdapl_ring_take(struct kdapl_ring *ring, struct kdapl_evd *evd,
			   struct kdapl_uapi_event *event);
DAT_RETURN kdapl_ring_wait(struct kdapl_ring *ring, struct kdapl_evd *evd,
			   u32 threshold, ktime_t deadline, u32 *queued);
struct file *kdapl_ring_poll_file(struct kdapl_ring *ring);

#endif /* KDAPL_DEV_RING_H */
