/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The checks of posts (common/dto/check.h) in the module, where memory may be a list.  Compiled
 * into post.c, for endpoints, and srq_post.c, for shared receive queues.
 */
#ifndef KDAPL_POST_CHECK_H
#define KDAPL_POST_CHECK_H

#include "dto/check.h"
#include "ep.h"

/* What the checks say of a DTO with a list; no return code of DAT. */
#define HAS_LIST	((DAT_RETURN)U32_MAX)

/* post_check.c */
DAT_RETURN kdapl_check_read_to_rmr(const struct kdapl_ep *ep, const struct kdapl_dto *dto,
				   struct kdapl_segments *out);

/* Is the memory of a list to be named as a whole, by its remote key (mt:T35, kdapl_walk.whole)? */
static inline bool read_names_whole(const struct kdapl_object *to, bool is_read)
{
	return is_read && to->ia->dev->iwarp;
}

/*
 * Checks a DTO with kdapl_check_dto().  @to: what is posted to; @pz: where its zone is, a part of
 * @to, which the compiler sees when this is inlined; @lists: as in struct port_target.
 */
static __always_inline DAT_RETURN check_posted(const struct kdapl_object *to,
					       struct kdapl_pz *const *pz,
					       const struct kdapl_dto_limits *limits,
					       const struct kdapl_dto *dto,
					       enum kdapl_dto_kind kind,
					       struct kdapl_segments *out, bool lists)
{
	const struct port_target target = { .obj = to, .pz = pz, .lists = lists };

	return kdapl_check_dto(&target, limits, dto, kind, out);
}

#endif /* KDAPL_POST_CHECK_H */
