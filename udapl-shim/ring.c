// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The mapped event ring of an EVD: events are taken without a system call.
 * <rdma/kdapl.h> tells the protocol. The caller holds the EVD's lock.
 *
 * ORDER: the kernel writes an event, then releases header->producer; we acquire
 * the producer before we read the event, and release index->consumer after, so
 * that the kernel does not overwrite what is still being read.
 */
#include <sys/mman.h>

#include "shim.h"

/* C11 atomics cannot be laid over the ABI's plain fields. */
static uint32_t load_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/*
 * shim_ring_map - map the ring of a new EVD, or the new one of a resized EVD
 *
 * Cannot fail: an EVD whose ring is not mapped works by ioctl.
 */
void shim_ring_map(struct shim_ring *ring, const struct kdapl_uapi_ring *where)
{
	void *data, *index;

	ring->header = NULL;
	ring->consumer = 0;
	ring->where = *where;
	data = mmap(NULL, where->data_size, PROT_READ, MAP_SHARED, shim_fd(),
		    where->data_offset);
	if (data == MAP_FAILED)
		return;
	index = mmap(NULL, where->index_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED, shim_fd(), where->index_offset);
	if (index == MAP_FAILED) {
		munmap(data, where->data_size);
		return;
	}
	ring->header = data;
	ring->events = (const void *)((const char *)data + where->entries);
	ring->index = index;
	ring->mask = where->nr_entries - 1;
	ring->consumer = ring->index->consumer;
}

void shim_ring_unmap(struct shim_ring *ring)
{
	if (!ring->header)
		return;
	munmap((void *)ring->header, ring->where.data_size);
	munmap(ring->index, ring->where.index_size);
	ring->header = NULL;
}

static uint32_t ring_filled(const struct shim_ring *ring)
{
	return load_acquire(&ring->header->producer) - ring->consumer;
}

/* Asks for what waits in the kernel, if anything does. */
static void ring_refill(const struct shim_ring *ring, uint64_t evd)
{
	struct kdapl_uapi_handle arg = { .handle = evd };

	if (load_acquire(&ring->header->flags) & KDAPL_RING_MORE)
		shim_ioctl(KDAPL_IOC_EVD_REFILL, &arg, SHIM_NO_FAULT);
}

static bool take_by_ioctl(uint64_t evd, struct kdapl_uapi_event *event)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = evd };

	if (shim_ioctl(KDAPL_IOC_EVD_DEQUEUE, &arg, SHIM_NO_FAULT))
		return false;
	*event = arg.event;
	return true;
}

/* Takes the oldest event; false if there is none. */
bool shim_ring_take(struct shim_ring *ring, uint64_t evd,
		    struct kdapl_uapi_event *event)
{
	if (!ring->header)
		return take_by_ioctl(evd, event);
	if (!ring_filled(ring)) {
		ring_refill(ring, evd);
		if (!ring_filled(ring))
			return false;
	}
	*event = ring->events[ring->consumer & ring->mask];
	ring->consumer++;
	__atomic_store_n(&ring->index->consumer, ring->consumer,
			 __ATOMIC_RELEASE);
	return true;
}

/* Events that can be taken now. */
uint32_t shim_ring_count(struct shim_ring *ring, uint64_t evd)
{
	if (!ring->header)
		return 0;
	ring_refill(ring, evd);
	return ring_filled(ring);
}
