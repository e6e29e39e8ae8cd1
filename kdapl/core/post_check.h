/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a post is checked against before it is let to a device: its arguments, the limits
 * of what it is posted to, and the LMRs of its segments.  Compiled into post.c, for
 * endpoints, and srq_post.c, for shared receive queues; post_check.c has what is rare.
 */
#ifndef KDAPL_POST_CHECK_H
#define KDAPL_POST_CHECK_H

#include "ep.h"
#include "ia.h"
#include "lmr.h"

/*
 * The local segments of a DTO as the device is told of them.  Functions that are not
 * inlined take it by value, so that the compiler can keep the fields in registers.
 */
struct post_segments {
	struct ib_sge *sge;
	u32 nr;
	u64 length;
};

/* What the checks say of a DTO with a list; no return code of DAT. */
#define HAS_LIST	((DAT_RETURN)U32_MAX)

static inline bool kind_is_rdma(enum kdapl_dto_kind kind)
{
	return kind == KDAPL_DTO_RDMA_READ || kind == KDAPL_DTO_RDMA_WRITE;
}

/* What the device writes to the segments of a DTO: KDAPL_SINK_*; 0: nothing, it reads them. */
static __always_inline u32 sink_of(enum kdapl_dto_kind kind)
{
	return kind == KDAPL_DTO_RECV ? KDAPL_SINK_RECV :
	       kind == KDAPL_DTO_RDMA_READ ? KDAPL_SINK_READ : 0;
}

/* A segment has no LMR, or one of another zone than what is posted to. */
static inline DAT_RETURN protection_violation(u32 sink)
{
	return DAT_ERROR(DAT_PROTECTION_VIOLATION,
			 sink ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

/* Is the memory of a list to be named as a whole, by its remote key (mt:T35, kdapl_walk.whole)? */
static inline bool read_names_whole(const struct kdapl_object *to, bool is_read)
{
	return is_read && to->ia->dev->iwarp;
}

DAT_RETURN kdapl_no_sink(const struct kdapl_lmr *lmr);
DAT_RETURN kdapl_check_outside(const struct kdapl_object *to, const struct kdapl_lmr *lmr,
			       const DAT_LMR_TRIPLET *segment, u32 sink, bool lists,
			       u64 *shift);
u32 kdapl_segments_trim(struct post_segments from, u64 length);
u32 kdapl_segments_of_nothing(const struct kdapl_object *to, struct ib_sge *sge);

/*
 * Checks one segment, in the order of the rules (mt:T5, mt:T29).  Local read is implied by
 * every LMR; @sink: KDAPL_SINK_*, what the device is to write there, or 0.  @lists:
 * it may be in a list; the address in @sge is the consumer's then, not the device's.
 */
static __always_inline DAT_RETURN check_segment(const struct kdapl_object *to,
						struct kdapl_pz *const *pz,
						const DAT_LMR_TRIPLET *segment,
						u32 sink, struct ib_sge *sge, bool lists)
{
	const struct kdapl_lmr *lmr;
	u64 shift = 0;
	DAT_RETURN ret;

	lmr = kdapl_lmr_peek(to->space, segment->lmr_context);
	if (unlikely(!lmr))
		return protection_violation(sink);
	if (unlikely(!kdapl_lmr_inside(lmr, segment))) {
		ret = kdapl_check_outside(to, lmr, segment, sink, lists, &shift);
		if (ret)
			return ret;
	}
	if (unlikely(lmr->pz != *pz))
		return protection_violation(sink);
	if (unlikely(sink & ~lmr->sinks))
		return kdapl_no_sink(lmr);

	sge->addr = segment->virtual_address + shift;
	/* No message is longer than sge->length can tell: see check_segments(). */
	sge->length = segment->segment_length;
	sge->lkey = READ_ONCE(lmr->lkey);
	return DAT_SUCCESS;
}

static __always_inline DAT_RETURN check_segments(const struct kdapl_object *to,
						 struct kdapl_pz *const *pz, u64 max,
						 const struct kdapl_dto *dto,
						 enum kdapl_dto_kind kind,
						 struct post_segments *out, bool lists)
{
	u32 sink = sink_of(kind);
	const DAT_LMR_TRIPLET *segment = dto->iov;
	const DAT_LMR_TRIPLET *end = segment + dto->segments;
	u64 left = max;
	struct ib_sge *sge = out->sge;
	DAT_RETURN ret;

	for (; segment != end; segment++) {
		if (unlikely(!segment->segment_length))
			continue;	/* mt:T3 */
		ret = check_segment(to, pz, segment, sink, sge, lists);
		if (unlikely(ret))
			return ret;
		if (unlikely(segment->segment_length > left))
			return RET_BAD_ARG(3);	/* mt:T6 */
		left -= segment->segment_length;
		sge++;
	}
	out->nr = sge - out->sge;
	out->length = max - left;
	return DAT_SUCCESS;
}

/* The remote segment of an RDMA operation against the local ones. */
static __always_inline DAT_RETURN check_lengths(const struct kdapl_object *to,
						const struct kdapl_dto *dto,
						enum kdapl_dto_kind kind,
						struct post_segments *out)
{
	u64 remote = dto->remote->segment_length;

	if (kind == KDAPL_DTO_RDMA_WRITE)
		return remote < out->length ? RET(LENGTH_ERROR) : DAT_SUCCESS;
	if (out->length < remote)
		return RET(LENGTH_ERROR);
	out->nr = likely(remote) ? kdapl_segments_trim(*out, remote) :
				  kdapl_segments_of_nothing(to, out->sge);
	out->length = remote;
	return DAT_SUCCESS;
}

static inline bool remote_is_bad(const DAT_RMR_TRIPLET *remote)
{
	return !remote || remote->target_address + remote->segment_length <
			  remote->target_address;
}

/*
 * Checks all that can be judged without the endpoint's state (RULING 35).  @to: what is
 * posted to; @pz: where its zone is; @limits: for DTOs of this kind.  Both are parts of @to,
 * which the compiler sees when this is inlined.  The caller holds the lock under which they
 * change.
 */
static __always_inline DAT_RETURN check_posted(const struct kdapl_object *to,
					       struct kdapl_pz *const *pz,
					       const struct kdapl_dto_limits *limits,
					       const struct kdapl_dto *dto,
					       enum kdapl_dto_kind kind,
					       struct post_segments *out, bool lists)
{
	bool rdma = kind_is_rdma(kind);
	DAT_RETURN ret;

	if (unlikely((u32)dto->segments > limits->max_iov))
		return RET_BAD_ARG(2);
	if (unlikely(dto->segments && !dto->iov))
		return RET_BAD_ARG(3);
	if (unlikely(rdma && remote_is_bad(dto->remote)))
		return RET_BAD_ARG(5);
	if (unlikely((u32)dto->flags & ~limits->flags))
		return rdma ? RET_BAD_ARG(6) : RET_BAD_ARG(5);
	ret = check_segments(to, pz, limits->max_length, dto, kind, out, lists);
	if (unlikely(ret) || !rdma)
		return ret;
	return check_lengths(to, dto, kind, out);
}

#endif /* KDAPL_POST_CHECK_H */
