/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the shared rules of DTOs (common/dto/) ask of the library, for posts to its own queue
 * pairs. What is posted to is a direction, of an EP or of an SRQ.
 */
#ifndef DTO_PORT_H
#define DTO_PORT_H

#include "port_types.h"
#include "passthrough.h"

#define port_target	pass_dir

/* No post has more segments, whatever the module grants. */
#define PORT_MAX_SGE	PASS_MAX_SGE

static inline const struct pass_pz *port_pz(const struct pass_dir *to)
{
	return to->pz;
}

/* The LMR that a segment names, or NULL. It stays as long as the lock of @to is held. */
static __always_inline const struct pass_lmr *port_lmr_peek(const struct pass_dir *to,
							    DAT_LMR_CONTEXT context)
{
	(void)to;
	return pass_lmr_find(context);
}

static inline bool port_lmr_inside(const struct pass_lmr *lmr, u64 address, u64 length)
{
	return pass_lmr_inside(lmr, address, length);
}

static inline u64 port_remote_address(const DAT_RMR_TRIPLET *remote)
{
	return face_remote_address(remote);
}

/* Memory is never a list here. */
static inline DAT_RETURN port_lmr_outside(const struct pass_dir *to, const struct pass_lmr *lmr,
					  const DAT_LMR_TRIPLET *segment, u32 sink, u64 *address)
{
	(void)to, (void)lmr, (void)segment, (void)sink, (void)address;
	return RET_BAD_ARG(3);
}

/* Segments of a read of nothing: @sge, if the device wants one. */
static inline u32 port_no_bytes(const struct pass_dir *to, struct ibv_sge *sge)
{
	return pass_no_bytes(to->pz, sge);
}

#endif /* DTO_PORT_H */
