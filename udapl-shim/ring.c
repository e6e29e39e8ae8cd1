// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The mapped event ring of an EVD, from which events are taken without a system
 * call: mapping it, and what the inline functions in shim.h do not do.
 * <rdma/kdapl.h> describes the protocol. Called by cmd_evd.c, forward.c and
 * pass_*.c; the EVD is locked, or no other thread has it yet or any more.
 *
 * ORDER: the kernel writes an event and then header->producer, with a release.
 * The library reads the producer with an acquire before it reads the event, and
 * writes index->consumer with a release afterwards; otherwise the kernel could
 * overwrite an event that is still being read.
 */
#include <sys/mman.h>

#include "shim.h"

/*
 * The header of a ring that could not be mapped. It says that the ring is empty
 * and that the kernel has more events, so that the kernel is always asked; it
 * gives them one by one.
 */
static const struct kdapl_uapi_ring_header not_mapped = {
	.flags = KDAPL_RING_MORE,
};

/*
 * shim_ring_map - map the ring of a new EVD, or of one that was resized
 *
 * If mmap(2) fails, the events are taken by ioctl, which works as well. But without the ring the
 * library cannot see how many there are; in passthrough it takes them all to find out
 * (pass_event_move_ring()).
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

/*
 * Asks the kernel to put into the ring the events that found no room there.
 */
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

/* shim_ring_count - how many events can be taken now; 0 for a ring that is not mapped */
uint32_t shim_ring_count(struct shim_ring *ring, uint64_t evd)
{
	if (!shim_ring_mapped(ring))
		return 0;
	if (shim_ring_more(ring))
		ring_refill(ring, evd);
	return shim_ring_filled(ring);
}
