/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A walk through the memory of a DTO, see walk.c. */
#ifndef KDAPL_WALK_H
#define KDAPL_WALK_H

#include <dat/kdat.h>
#include <rdma/ib_verbs.h>

struct kdapl_space;

/*
 * struct kdapl_walk - a walk through the memory of a DTO, piece by piece as the device has
 * to be told of it
 * @space: of the DTO
 * @segment: the next local segment of the consumer's
 * @named: the next of the segments as the checks have left them: without those of length 0,
 *	   each with its length and key, and with its address unless it is in a list
 * @end: of @named
 * @left: bytes of @named that have not been walked
 * @sg: the entry of the list at which the walk goes on, if @named is in a list
 * @done: bytes of @sg that have been walked
 * @lost: memory was taken away during the walk, which is at its end
 * @whole: memory of a list is one piece, named by the remote key of its LMR: for a read on
 *	   iWARP, which comes like a write of the peer (mt:T35)
 * @key: with @whole: that key, if @named is memory of a list; else 0
 */
struct kdapl_walk {
	const struct kdapl_space *space;
	const DAT_LMR_TRIPLET *segment;
	const struct ib_sge *named;
	const struct ib_sge *end;
	u32 left;
	struct scatterlist *sg;
	u32 done;
	bool lost;
	bool whole;
	u32 key;
};

void kdapl_walk_begin(struct kdapl_walk *walk, const struct kdapl_space *space,
		      const DAT_LMR_TRIPLET *segments, const struct ib_sge *named,
		      u32 nr);
u32 kdapl_walk_count(const struct kdapl_walk *walk);
u32 kdapl_walk_take(struct kdapl_walk *walk, struct ib_sge *pieces, u32 max, u64 *length);

#endif /* KDAPL_WALK_H */
