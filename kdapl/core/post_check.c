// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the checks of a post (common/dto/check.h) ask of the module, and hardly ever.
 *
 * Callers: post.c and srq_post.c, by way of port.h; post.c.
 */
#include "post_check.h"
#include "rmr.h"

/**
 * kdapl_check_outside - check a segment that is not inside a linear LMR
 * @to: what is posted to
 * @lmr: of @segment
 * @segment: bytes
 * @sink: KDAPL_SINK_*, what the device is to write there, or 0
 * @lists: true: any segment in a list is accepted; the caller finds its pieces with a walk
 * @address: in: the segment's; out: the device's, unless @lists
 *
 * A segment within the first entry of a list is in one piece, as if the LMR were linear.  Any
 * context.
 *
 * Return: DAT_SUCCESS; HAS_LIST: the caller has to look again, with @lists;
 * DAT_INVALID_PARAMETER/ARG3.
 */
DAT_RETURN kdapl_check_outside(const struct kdapl_object *to, const struct kdapl_lmr *lmr,
			       const DAT_LMR_TRIPLET *segment, u32 sink, bool lists,
			       u64 *address)
{
	const struct kdapl_list *list = &lmr->list;
	struct scatterlist *first;
	u64 offset;

	if (!lmr->max_pages || !kdapl_lmr_list_inside(lmr, segment))
		return RET_BAD_ARG(3);
	if (lists)
		return DAT_SUCCESS;
	if (read_names_whole(to, sink == KDAPL_SINK_READ))
		return HAS_LIST;
	first = READ_ONCE(list->sg);
	offset = *address - list->start + list->offset;
	if (!first || offset + segment->segment_length > sg_dma_len(first))
		return HAS_LIST;
	*address = sg_dma_address(first) + offset;
	return DAT_SUCCESS;
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

/**
 * kdapl_check_read_to_rmr - check a read whose local segment names an RMR
 * @ep: where it is posted
 * @dto: a KDAPL_DTO_RDMA_READ_TO_RMR
 * @out: as of kdapl_check_dto()
 *
 * The LMR that the RMR shows may be freed before it is looked up, and then is not found.  Caller is
 * in an RCU read section, and holds the lock of the request direction.  Any context.  Rule V5.
 *
 * Return: as kdapl_check_dto() and kdapl_rmr_sink(); DAT_INVALID_PARAMETER/ARG2 for another number
 * of segments than 1.
 */
DAT_RETURN kdapl_check_read_to_rmr(const struct kdapl_ep *ep, const struct kdapl_dto *dto,
				   struct kdapl_segments *out)
{
	struct kdapl_dto read = *dto;
	DAT_LMR_TRIPLET segment;
	DAT_RETURN ret;

	if (dto->segments != 1)
		return RET_BAD_ARG(2);
	if (!dto->iov)
		return RET_BAD_ARG(3);
	ret = kdapl_rmr_sink(ep->obj.ia, dto->iov, &segment);
	if (ret)
		return ret;
	read.iov = &segment;
	return check_posted(&ep->obj, &ep->pz, &ep->limits[KDAPL_DTO_RDMA_READ_TO_RMR], &read,
			    KDAPL_DTO_RDMA_READ_TO_RMR, out, false);
}
