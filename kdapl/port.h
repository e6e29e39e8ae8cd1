/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the shared rules of DTOs (common/dto/) ask of the module.
 *
 * Memory that is a list (core/fmr.c) hooks in here: its LMR has length 0, so that for the shared
 * check no segment is inside, and posts without lists pay nothing for them.
 */
#ifndef DTO_PORT_H
#define DTO_PORT_H

#include "port_types.h"
#include "core/ia.h"
#include "core/lmr.h"

/* No post has more segments, whatever the device can do. */
#define PORT_MAX_SGE	KDAPL_MAX_SGE

/*
 * struct port_target - what is posted to
 * @obj: an endpoint or SRQ
 * @pz: where its zone is, a part of @obj
 * @lists: segments may be in a list; what the checks give as their address is the consumer's then
 */
struct port_target {
	const struct kdapl_object *obj;
	struct kdapl_pz *const *pz;
	bool lists;
};

static inline const struct kdapl_pz *port_pz(const struct port_target *to)
{
	return *to->pz;
}

/* The LMR that a segment names, or NULL.  It stays as long as interrupts are off. */
static __always_inline const struct kdapl_lmr *port_lmr_peek(const struct port_target *to,
							     DAT_LMR_CONTEXT context)
{
	return kdapl_lmr_peek(to->obj->space, context);
}

static inline bool port_lmr_inside(const struct kdapl_lmr *lmr, u64 address, u64 length)
{
	return kdapl_lmr_has(lmr, address, length);
}

static inline u64 port_remote_address(const DAT_RMR_TRIPLET *remote)
{
	return remote->target_address;
}

/* core/post_check.c */
DAT_RETURN kdapl_check_outside(const struct kdapl_object *to, const struct kdapl_lmr *lmr,
			       const DAT_LMR_TRIPLET *segment, u32 sink, bool lists,
			       u64 *address);
u32 kdapl_segments_of_nothing(const struct kdapl_object *to, struct ib_sge *sge);

static __always_inline DAT_RETURN port_lmr_outside(const struct port_target *to,
						   const struct kdapl_lmr *lmr,
						   const DAT_LMR_TRIPLET *segment, u32 sink,
						   u64 *address)
{
	return kdapl_check_outside(to->obj, lmr, segment, sink, to->lists, address);
}

/* Segments of a read of nothing: @sge, if the device wants one. */
static __always_inline u32 port_no_bytes(const struct port_target *to, struct ib_sge *sge)
{
	return kdapl_segments_of_nothing(to->obj, sge);
}

#endif /* DTO_PORT_H */
