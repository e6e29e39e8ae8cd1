/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Event rings: how events reach a process without a system call.
 *
 * Every EVD of a process has one.  The EVD's sink (core/core.h) puts events in,
 * the process takes them out.  Two pieces of memory are mapped: the data (header
 * and events), which the process can only read, and a page with its consumer
 * index, which it can write and which is believed as far as it does no harm: a
 * forged index loses or repeats events of the process itself, nothing else.
 *
 *	dev_ring.c	a ring's life, its sink, resizing
 *	dev_mmap.c	the memory of a ring, and mmap(2)
 *	dev_wait.c	taking events by ioctl, waiting, poll(2)
 *
 * Barriers
 *	the producer's index	store-release in buf_append(), load-acquire in
 *				the process: who sees the index sees the event
 *	the consumer's index	store-release in the process, load-acquire in
 *				kdapl_ring_held(): a slot is written again only
 *				after it was read
 *	MORE before a last	full barrier in ring_room(): either the process
 *	look at consumer	finds MORE after its last event, or the sink
 *				finds the room that this made.  A process that
 *				looks at MORE without a barrier of its own may
 *				see it one look later; one that sleeps calls
 *				kdapl_ring_wait() first, which sees it
 *	notified before		a waiter reads `notified` after it has set its
 *	sleeping		state, the sink raises it before it wakes
 *
 * Who writes what
 *	The core runs the sink of an EVD on one processor at a time (E96):
 *	ring_room(), ring_deliver() and ring_done() never run twice at once for
 *	one ring.  Only ring_deliver() and a resize, during which there is no
 *	sink, write buf->producer and buf->before.
 *	kdapl_ring.lock (a mutex) is held by whoever takes events for the process
 *	by ioctl, and by a resize.  Nothing nests in it but the core's calls.
 *
 * Memory
 *	A ring lives as long as its file names it, a mapping shows it or a poll
 *	descriptor refers to it.  Memory that a resize replaced stays with the
 *	ring; a ring only ever grows by doubling, so this at most doubles it.
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

static inline atomic_t *kdapl_ring_flags(struct kdapl_ring_buf *buf)
{
	BUILD_BUG_ON(sizeof(buf->header->flags) != sizeof(atomic_t));
	return (atomic_t *)&buf->header->flags;
}

/*
 * Events not taken yet; a forged index makes it at most a full ring.  @consumer,
 * unless NULL, is set to the number of the first of them.
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

/* The same of the present memory of a ring. */
static inline u32 kdapl_ring_count(struct kdapl_ring *ring)
{
	return kdapl_ring_held(READ_ONCE(ring->buf), NULL);
}

/* Do events wait in the kernel that the process was told to ask for? */
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
int kdapl_ring_poll_fd(struct kdapl_ring *ring);

#endif /* KDAPL_DEV_RING_H */
