/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Protection Zones and Local Memory Regions as the rest of the core sees them:
 * core/pz.c, core/lmr.c make them, core/post.c looks LMRs up for every segment.
 */
#ifndef KDAPL_LMR_H
#define KDAPL_LMR_H

#include "object.h"
#include "../glue/glue.h"

struct kdapl_pz {
	struct kdapl_object obj;
	struct kdapl_zone *zone;	/* NULL once the device is gone */
};

/**
 * struct kdapl_lmr - a Local Memory Region
 * @pz: its zone, with a use
 * @region: NULL once released; posts read it under RCU
 * @context: the lmr_context, key in kdapl_space.lmrs
 * @privileges: as asked; what local checks go by (T30)
 * @start, @length: the registered bytes
 * The rest is for queries.
 */
struct kdapl_lmr {
	struct kdapl_object obj;
	struct kdapl_pz *pz;
	struct kdapl_region __rcu *region;
	u32 context;
	u32 rmr_context;
	DAT_MEM_PRIV_FLAGS privileges;
	u64 start;
	u64 length;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION description;
	DAT_VLEN asked_length;
};

/* With a reference, or NULL. */
struct kdapl_pz *kdapl_pz_find(struct kdapl_space *space, DAT_PZ_HANDLE pz);

/*
 * The local checks of one segment (T5, T29), in their order.  Caller is in an
 * RCU read section that must last until the work request has been posted.
 *
 * @pz: zone of the endpoint, may be NULL (matches no LMR)
 * @right: DAT_MEM_PRIV_LOCAL_READ_FLAG for a source, ..LOCAL_WRITE.. for a sink
 * Return: DAT_SUCCESS and *@sge filled; DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION with /READ or /WRITE, DAT_INVALID_PARAMETER/ARG3.
 * Any context.
 */
DAT_RETURN kdapl_lmr_check(struct kdapl_space *space, const struct kdapl_pz *pz,
			   const DAT_LMR_TRIPLET *segment,
			   DAT_MEM_PRIV_FLAGS right, struct ib_sge *sge);

#endif /* KDAPL_LMR_H */
