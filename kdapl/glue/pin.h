/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The pages under a memory region: found, pinned if they belong to a process,
 * mapped for DMA, and shared by all regions over them.  glue/mr.c and
 * glue/window.c use them.
 */
#ifndef KDAPL_PIN_H
#define KDAPL_PIN_H

#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include "charge.h"

/**
 * struct kdapl_mark - a place in the mapped list of some pages
 * @sg: an entry of the list
 * @offset: of the first byte of @sg, counted from the first byte of the list
 */
struct kdapl_mark {
	struct scatterlist *sg;
	u64 offset;
};

/**
 * struct kdapl_pages - a range of bytes and the pages that hold it
 * @ref: one for each region over the pages
 * @ib: the device they are mapped for; NULL while they are not mapped
 * @start: the first byte as the consumer named it
 * @length: bytes
 * @sg: the list of the whole pages; once they are mapped, of exactly the bytes of
 *	the range
 * @marks: places in the mapped list, for kdapl_pages_slice(); NULL if the list is
 *	   short
 * @nr_marks: number of @marks
 * @user: the pages are pinned, and belong to a process
 * @charge: what that process was charged for them
 * @writable: they were pinned for writing (always true for kernel memory)
 */
struct kdapl_pages {
	refcount_t ref;
	struct ib_device *ib;
	u64 start;
	u64 length;
	struct sg_append_table sg;
	struct kdapl_mark *marks;
	unsigned int nr_marks;
	struct kdapl_charge charge;
	bool user;
	bool writable;
};

bool kdapl_user_range(u64 start, u64 length);
struct kdapl_pages *kdapl_pages_pin(unsigned int max_segment, u64 start,
				    u64 length, bool writable);
struct kdapl_pages *kdapl_pages_kernel(unsigned int max_segment, u64 start,
				       u64 length, bool physical);
int kdapl_pages_map(struct kdapl_pages *pages, struct ib_device *ib);
int kdapl_sg_slice(struct scatterlist *sg, u64 offset, u64 length,
		   struct scatterlist *to, unsigned int max);
int kdapl_pages_slice(const struct kdapl_pages *pages, u64 start, u64 length,
		      struct scatterlist *to, unsigned int max);
int kdapl_pages_charge(struct kdapl_pages *pages);
bool kdapl_pages_same(struct kdapl_pages *one, struct kdapl_pages *other);
void kdapl_pages_put(struct kdapl_pages *pages);

#endif /* KDAPL_PIN_H */
