// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The rare parts of the checks of a post (check.h), which would make the data path longer, and the
 * limits that posts are checked against.
 *
 * Callers: check.h; whoever sets the attributes of an endpoint.
 */
#include "check.h"

/**
 * kdapl_dto_set_limits - work out what posts are checked against, once for all posts
 * @limits: out: KDAPL_NR_DTO_KINDS of them
 * @attr: of an endpoint, as granted
 *
 * Any context.  Rules mt:T19, mt:T21.
 */
void kdapl_dto_set_limits(struct kdapl_dto_limits *limits, const port_ep_attr *attr)
{
	u32 i, max_iov;
	u64 max_length;

	for (i = 0; i < KDAPL_NR_DTO_KINDS; i++) {
		const struct kdapl_dto_row *row = &kdapl_dto_rows[i];
		u32 of_dir = row->sink == KDAPL_SINK_RECV ? attr->recv_completion_flags :
							    attr->request_completion_flags;

		limits[i] = (struct kdapl_dto_limits) {
			.flags = row->flags | (of_dir & DAT_COMPLETION_UNSIGNALLED_FLAG),
		};
		if (i == KDAPL_DTO_BIND)
			continue;
		max_iov = *(const u32 *)((const char *)attr + row->max_iov);
		if (max_iov > PORT_MAX_SGE)
			max_iov = PORT_MAX_SGE;
		if (row->atomic && max_iov > 1)
			max_iov = 1;
		max_length = *(const u64 *)((const char *)attr + row->max_length);
		limits[i].max_iov = max_iov;
		limits[i].max_length = max_length < U32_MAX ? max_length : U32_MAX;
	}
}

/**
 * kdapl_check_extension - kdapl_check_dto() for a kind that not every device has
 * @to: what is posted to
 * @limits: for posts of this kind
 * @dto: of a kind whose row says what it needs
 * @extensions: KDAPL_CAN_*, what the device can
 * @out: as of kdapl_check_dto()
 *
 * What was fetched by an atomic needs a local segment of as many bytes; the remote segment may be
 * longer, as that of a write.  Any context.
 *
 * Return: as kdapl_check_dto(); DAT_MODEL_NOT_SUPPORTED; of an atomic DAT_INVALID_PARAMETER/ARG5
 * for a remote address that is not aligned, DAT_LENGTH_ERROR for another length.
 */
DAT_RETURN kdapl_check_extension(const struct port_target *to,
				 const struct kdapl_dto_limits *limits,
				 const struct kdapl_dto *dto, u32 extensions,
				 struct kdapl_segments *out)
{
	const struct kdapl_dto_row *row = &kdapl_dto_rows[dto->kind];
	DAT_RETURN ret;

	if (row->needs & ~extensions)
		return RET(MODEL_NOT_SUPPORTED);
	ret = kdapl_check_dto(to, limits, dto, dto->kind, out);
	if (ret || !row->atomic)
		return ret;
	if (port_remote_address(dto->remote) % KDAPL_ATOMIC_BYTES)
		return RET_BAD_ARG(5);
	return out->length == KDAPL_ATOMIC_BYTES ? DAT_SUCCESS : RET(LENGTH_ERROR);
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
u32 kdapl_segments_trim(struct kdapl_segments from, u64 length)
{
	u32 i = 0;

	do {
		if (from.sge[i].length > length)
			from.sge[i].length = length;
		length -= from.sge[i].length;
		i++;
	} while (length);
	return i;
}
