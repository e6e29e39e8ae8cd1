// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A walk through the memory of a DTO, piece by piece as the device has to be told of it:
 * segments may name memory that is a scatterlist (fmr.c).
 *
 * Callers: post.c, srq_post.c.
 */
#include <linux/scatterlist.h>
#include "lmr.h"
#include "walk.h"

/* Prepares for the segment @walk->named, or for the end. */
static void walk_enter(struct kdapl_walk *walk)
{
	const struct kdapl_lmr *lmr;
	u64 skip;

	walk->sg = NULL;
	walk->key = 0;
	if (walk->named == walk->end)
		return;
	walk->left = walk->named->length;
	while (!walk->segment->segment_length)
		walk->segment++;
	lmr = kdapl_lmr_peek(walk->space, walk->segment->lmr_context);
	if (lmr && !lmr->max_pages)
		return;
	walk->sg = lmr ? READ_ONCE(lmr->list.sg) : NULL;
	if (!walk->sg) {
		/* The consumer, or a peer, is taking the memory away at this moment (mt:T12). */
		walk->lost = true;
		walk->named = walk->end;
		return;
	}
	if (walk->whole) {
		walk->sg = NULL;
		walk->key = lmr->rmr_context;
		return;
	}
	skip = walk->segment->virtual_address - lmr->list.start + lmr->list.offset;
	walk->sg = kdapl_sg_seek(walk->sg, &skip);
	walk->done = skip;
}

/* Takes the next piece. */
static void walk_step(struct kdapl_walk *walk, struct ib_sge *piece)
{
	*piece = *walk->named;
	if (walk->key)
		piece->lkey = walk->key;
	if (walk->sg) {
		piece->addr = sg_dma_address(walk->sg) + walk->done;
		piece->length = min(walk->left, sg_dma_len(walk->sg) - walk->done);
	}
	walk->left -= piece->length;
	if (walk->left) {
		walk->sg = sg_next(walk->sg);
		walk->done = 0;
		return;
	}
	walk->named++;
	walk->segment++;
	walk_enter(walk);
}

/**
 * kdapl_walk_begin - begin a walk through the memory of a DTO
 * @walk: filled in, except for @whole, which the caller has set
 * @space: of the DTO
 * @segments: its local segments, checked
 * @named: the same as the checks have left them (kdapl_walk.named)
 * @nr: of @named
 *
 * Until the walk is over, the caller is in an RCU read section, and the consumer leaves the memory
 * of its LMRs as it is.  Any context.
 */
void kdapl_walk_begin(struct kdapl_walk *walk, const struct kdapl_space *space,
		      const DAT_LMR_TRIPLET *segments, const struct ib_sge *named,
		      u32 nr)
{
	walk->space = space;
	walk->segment = segments;
	walk->named = named;
	walk->end = named + nr;
	walk->lost = false;
	walk_enter(walk);
}

/**
 * kdapl_walk_count - how many pieces are left?
 * @walk: stays as it is
 *
 * Any context.  Return: 0: the memory is not there any more.
 */
u32 kdapl_walk_count(const struct kdapl_walk *walk)
{
	struct kdapl_walk probe = *walk;
	struct ib_sge piece;
	u32 n;

	for (n = 0; probe.named != probe.end; n++)
		walk_step(&probe, &piece);
	return probe.lost ? 0 : n;
}

/**
 * kdapl_walk_take - the next pieces
 * @walk: goes on behind them
 * @pieces: out: as the device is told of them
 * @max: at most so many
 * @length: out: their bytes
 *
 * Any context.  Return: how many; fewer than @max: these were the last.  With @walk->lost
 * they are not what was asked for, and are not to be posted.
 */
u32 kdapl_walk_take(struct kdapl_walk *walk, struct ib_sge *pieces, u32 max, u64 *length)
{
	u32 n;

	*length = 0;
	for (n = 0; n < max && walk->named != walk->end; n++) {
		walk_step(walk, &pieces[n]);
		*length += pieces[n].length;
	}
	return n;
}
