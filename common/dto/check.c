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
	u32 i;

	for (i = 0; i < KDAPL_NR_DTO_KINDS; i++) {
		const struct kdapl_dto_row *row = &kdapl_dto_rows[i];
		u32 of_dir = row->sink == KDAPL_SINK_RECV ? attr->recv_completion_flags :
							    attr->request_completion_flags;

		limits[i] = (struct kdapl_dto_limits) {
			.flags = row->flags | (of_dir & DAT_COMPLETION_UNSIGNALLED_FLAG),
		};
		if (i == KDAPL_DTO_BIND)
			continue;
		limits[i].max_iov = *(const u32 *)((const char *)attr + row->max_iov);
		if (limits[i].max_iov > PORT_MAX_SGE)
			limits[i].max_iov = PORT_MAX_SGE;
		limits[i].max_length = *(const u64 *)((const char *)attr + row->max_length);
	}
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
