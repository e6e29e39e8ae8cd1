// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The rare parts of the checks of a post (post_check.h), which would make the data path
 * longer.
 *
 * Callers: post.c and srq_post.c, by way of post_check.h.
 */
#include "post_check.h"

/**
 * kdapl_no_sink - the code for an LMR that the device may not write, or not at a read
 * @lmr: of a segment
 *
 * Any context.  Rules mt:T30, mt:T35.
 *
 * Return: DAT_PRIVILEGES_VIOLATION/WRITE or /RDMA_WRITE.
 */
DAT_RETURN kdapl_no_sink(const struct kdapl_lmr *lmr)
{
	return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
			 lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ?
			 DAT_PRIVILEGES_RDMA_WRITE : DAT_PRIVILEGES_WRITE);
}

/**
 * kdapl_check_outside - check a segment that is not inside a linear LMR
 * @to: what is posted to
 * @lmr: of @segment
 * @segment: bytes
 * @sink: KDAPL_SINK_*, what the device is to write there, or 0
 * @lists: true: any segment in a list is accepted; the caller finds its pieces with a walk
 * @shift: out: to be added to the segment's address to get the device's
 *
 * A segment within the first entry of a list is in one piece, as if the LMR were linear.  Any
 * context.
 *
 * Return: DAT_SUCCESS; HAS_LIST: the caller has to look again, with @lists;
 * DAT_INVALID_PARAMETER/ARG3.
 */
DAT_RETURN kdapl_check_outside(const struct kdapl_object *to, const struct kdapl_lmr *lmr,
			       const DAT_LMR_TRIPLET *segment, u32 sink, bool lists,
			       u64 *shift)
{
	const struct kdapl_list *list = &lmr->list;
	struct scatterlist *first;

	if (!lmr->max_pages || !kdapl_lmr_list_inside(lmr, segment))
		return RET_BAD_ARG(3);
	if (lists)
		return DAT_SUCCESS;
	if (read_names_whole(to, sink == KDAPL_SINK_READ))
		return HAS_LIST;
	first = READ_ONCE(list->sg);
	*shift = list->offset - list->start;
	if (!first || segment->virtual_address + *shift + segment->segment_length >
		      sg_dma_len(first))
		return HAS_LIST;
	*shift += sg_dma_address(first);
	return DAT_SUCCESS;
}

/**
 * kdapl_segments_trim - shorten the local segments of a read to the remote length
 * @from: local segments, which have room for @length
 * @length: bytes, not 0
 *
 * Any context.  Rule mt:T33.
 *
 * Return: how many of the segments it needs.
 */
u32 kdapl_segments_trim(struct post_segments from, u64 length)
{
	u32 i = 0;

	do {
		from.sge[i].length = min_t(u64, from.sge[i].length, length);
		length -= from.sge[i].length;
		i++;
	} while (length);
	return i;
}

/**
 * kdapl_segments_of_nothing - a read of nothing needs no segment, except on iWARP
 * @to: what is posted to
 * @sge: out: the one segment that iWARP devices want
 *
 * Any context.  Rule mt:T3.
 *
 * Return: how many segments there are.
 */
u32 kdapl_segments_of_nothing(const struct kdapl_object *to, struct ib_sge *sge)
{
	if (!to->ia->dev->iwarp)
		return 0;
	*sge = (struct ib_sge) {};
	return 1;
}
