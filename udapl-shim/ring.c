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

/*
 * What a ring that is not mapped looks like: empty, with more events in the
 * kernel, which are taken by ioctl.
 */
static const struct kdapl_uapi_ring_header not_mapped = {
	.flags = KDAPL_RING_MORE,
};

/*
 * shim_ring_map - map the ring of a new EVD, or the new one of a resized EVD
 *
 * Cannot fail: an EVD whose ring is not mapped works by ioctl.
 */
void shim_ring_map(struct shim_ring *ring, const struct kdapl_uapi_ring *where)
{
	void *data, *index;

	ring->header = &not_mapped;
	ring->consumer = 0;
	ring->patience = SHIM_RING_PATIENCE;
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

bool shim_ring_mapped(const struct shim_ring *ring)
{
	return ring->header != &not_mapped;
}

void shim_ring_unmap(struct shim_ring *ring)
{
	if (!shim_ring_mapped(ring))
		return;
	munmap((void *)ring->header, ring->where.data_size);
	munmap(ring->index, ring->where.index_size);
	ring->header = &not_mapped;
}

/* Has the kernel bring into the ring what waits for it. */
static void ring_refill(struct shim_ring *ring, uint64_t evd)
{
	struct kdapl_uapi_handle arg = { .handle = evd };

	ring->patience = SHIM_RING_PATIENCE;
	shim_ioctl(KDAPL_IOC_EVD_REFILL, &arg, RET_NO_FAULT);
}

static bool take_by_ioctl(uint64_t evd, struct kdapl_uapi_event *event)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = evd };

	if (shim_ioctl(KDAPL_IOC_EVD_DEQUEUE, &arg, RET_NO_FAULT))
		return false;
	*event = arg.event;
	return true;
}

/* shim_ring_take - take the oldest event; false if there is none */
bool shim_ring_take(struct shim_ring *ring, uint64_t evd,
		    struct kdapl_uapi_event *event)
{
	if (!shim_ring_mapped(ring))
		return take_by_ioctl(evd, event);
	if (!shim_ring_filled(ring)) {
		ring_refill(ring, evd);
		if (!shim_ring_filled(ring))
			return false;
	}
	*event = *shim_ring_first(ring);
	shim_ring_pop(ring);
	return true;
}

/* shim_ring_count - events that can be taken now */
uint32_t shim_ring_count(struct shim_ring *ring, uint64_t evd)
{
	if (!shim_ring_mapped(ring))
		return 0;
	if (shim_load_acquire(&ring->header->flags) & KDAPL_RING_MORE)
		ring_refill(ring, evd);
	return shim_ring_filled(ring);
}
