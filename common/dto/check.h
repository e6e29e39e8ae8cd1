/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a post is checked against before it is let to a device: its arguments, the limits of what
 * it is posted to, and the LMRs of its segments.  Nothing here depends on the state of an
 * endpoint (RULING 35).
 *
 * Callers: whoever posts, in the module and in the library.  The caller holds the lock under which
 * what it posts to does not change, and keeps the LMRs that are found registered until the device
 * has their keys.  check.c has what is rare; port.h says what an LMR is.
 */
#ifndef DTO_CHECK_H
#define DTO_CHECK_H

#include "kind.h"
#include "port.h"

/*
 * struct kdapl_segments - the local segments of a DTO as the device is told of them
 *
 * Functions that are not inlined take it by value, so that the compiler can keep the fields in
 * registers.
 */
struct kdapl_segments {
	struct port_sge *sge;
	u32 nr;
	u64 length;
};

/* check.c */
u32 kdapl_segments_trim(struct kdapl_segments from, u64 length);
DAT_RETURN kdapl_check_extension(const struct port_target *to,
				 const struct kdapl_dto_limits *limits,
				 const struct kdapl_dto *dto, u32 extensions,
				 struct kdapl_segments *out);

/* A segment has no LMR, or one of another zone than what is posted to. */
static inline DAT_RETURN kdapl_protection_violation(u32 sink)
{
	return DAT_ERROR(DAT_PROTECTION_VIOLATION,
			 sink ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

/* The device may not write into the LMR at all, or not the data of a read (mt:T30, mt:T35). */
static inline DAT_RETURN kdapl_no_sink(const struct port_lmr *lmr)
{
	return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
			 lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ?
			 DAT_PRIVILEGES_RDMA_WRITE : DAT_PRIVILEGES_WRITE);
}

/*
 * Checks one segment, in the order of the rules (mt:T5, mt:T29).  Local read is implied by every
 * LMR; @sink: KDAPL_SINK_*, what the device is to write there, or 0.  A segment that is not inside
 * its LMR is for the port to judge, which may have memory of another form.  @length is that of
 * @segment, for callers that have it in a register.  @sge is written even if the check fails.
 */
static __always_inline DAT_RETURN
kdapl_check_segment(const struct port_target *to, const DAT_LMR_TRIPLET *segment, u64 length,
		    u32 sink, struct port_sge *sge)
{
	const struct port_lmr *lmr = port_lmr_peek(to, segment->lmr_context);
	const u64 address = segment->virtual_address;
	DAT_RETURN ret;

	if (unlikely(!lmr))
		return kdapl_protection_violation(sink);
	sge->addr = address;
	if (unlikely(!port_lmr_inside(lmr, address, length))) {
		ret = port_lmr_outside(to, lmr, segment, sink, &sge->addr);
		if (ret)
			return ret;
	}
	if (unlikely(lmr->pz != port_pz(to)))
		return kdapl_protection_violation(sink);
	if (unlikely(sink & ~lmr->sinks))
		return kdapl_no_sink(lmr);

	/* No message is longer than sge->length can tell: see kdapl_check_segments(). */
	sge->length = length;
	sge->lkey = READ_ONCE(lmr->lkey);
	return DAT_SUCCESS;
}

static __always_inline DAT_RETURN
kdapl_check_segments(const struct port_target *to, u64 max, const struct kdapl_dto *dto,
		     u32 sink, struct kdapl_segments *out)
{
	const DAT_LMR_TRIPLET *segment = dto->iov;
	const DAT_LMR_TRIPLET *end = segment + dto->segments;
	struct port_sge *sge = out->sge;
	u64 left = max;
	DAT_RETURN ret;

	for (; segment != end; segment++) {
		if (unlikely(!segment->segment_length))
			continue;	/* mt:T3 */
		ret = kdapl_check_segment(to, segment, segment->segment_length, sink, sge);
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
static __always_inline DAT_RETURN
kdapl_check_lengths(const struct port_target *to, const struct kdapl_dto *dto, bool fetches,
		    struct kdapl_segments *out)
{
	u64 remote = dto->remote->segment_length;

	if (!fetches)
		return remote < out->length ? RET(LENGTH_ERROR) : DAT_SUCCESS;
	if (out->length < remote)
		return RET(LENGTH_ERROR);
	out->nr = likely(remote) ? kdapl_segments_trim(*out, remote) : port_no_bytes(to, out->sge);
	out->length = remote;
	return DAT_SUCCESS;
}

/* Does the remote segment go beyond the end of all addresses? */
static inline bool kdapl_remote_wraps(const DAT_RMR_TRIPLET *remote)
{
	const u64 address = port_remote_address(remote);

	return address + remote->segment_length < address;
}

/*
 * Checks all that can be judged without the state of an endpoint.
 * @to: what is posted to
 * @limits: for posts of this kind
 * @kind: @dto->kind; of its own, for callers that know it when they are compiled
 * @out: its sge has room for as many segments as @limits allow; the rest of it is filled
 */
static __always_inline DAT_RETURN
kdapl_check_dto(const struct port_target *to, const struct kdapl_dto_limits *limits,
		const struct kdapl_dto *dto, enum kdapl_dto_kind kind,
		struct kdapl_segments *out)
{
	const struct kdapl_dto_row *row = &kdapl_dto_rows[kind];
	DAT_RETURN ret;

	if (unlikely((u32)dto->segments > limits->max_iov))
		return RET_BAD_ARG(2);
	if (unlikely(dto->segments && !dto->iov))
		return RET_BAD_ARG(3);
	if (unlikely(row->remote && (!dto->remote || kdapl_remote_wraps(dto->remote))))
		return RET_BAD_ARG(5);
	if (unlikely((u32)dto->flags & ~limits->flags))
		return DAT_ERROR(DAT_INVALID_PARAMETER, row->flags_arg);
	ret = kdapl_check_segments(to, limits->max_length, dto, row->sink, out);
	if (unlikely(ret) || !row->remote)
		return ret;
	return kdapl_check_lengths(to, dto, row->fetches, out);
}

#endif /* DTO_CHECK_H */
