/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the shared rules of DTOs ask of the suites of this folder (port_types.h). */
#ifndef DTO_PORT_H
#define DTO_PORT_H

#include "port_types.h"

#define PORT_MAX_SGE	32

/*
 * struct port_target - what is posted to
 * @lmrs, @nr: its LMRs
 * @pz: its zone
 * @outside: what the port says of a segment that is not inside its LMR
 * @shift: ... and by how much its address differs from the device's
 * @wants_one: the device wants a segment for a read of nothing
 * @looks: how often an LMR was looked for
 */
struct port_target {
	const struct port_lmr *lmrs;
	u32 nr;
	const int *pz;
	DAT_RETURN outside;
	u64 shift;
	bool wants_one;
	u32 *looks;
};

static inline const int *port_pz(const struct port_target *to)
{
	return to->pz;
}

static inline const struct port_lmr *port_lmr_peek(const struct port_target *to, u32 context)
{
	u32 i;

	++*to->looks;
	for (i = 0; i < to->nr; i++)
		if (to->lmrs[i].context == context)
			return &to->lmrs[i];
	return NULL;
}

static inline bool port_lmr_inside(const struct port_lmr *lmr, u64 address, u64 length)
{
	u64 offset = address - lmr->start;

	return offset <= lmr->length && length <= lmr->length - offset;
}

static inline u64 port_remote_address(const DAT_RMR_TRIPLET *remote)
{
	return remote->target_address;
}

static inline DAT_RETURN port_lmr_outside(const struct port_target *to,
					  const struct port_lmr *lmr,
					  const DAT_LMR_TRIPLET *segment, u32 sink, u64 *address)
{
	(void)lmr;
	(void)segment;
	(void)sink;
	*address += to->shift;
	return to->outside;
}

static inline u32 port_no_bytes(const struct port_target *to, struct port_sge *sge)
{
	if (to->wants_one)
		*sge = (struct port_sge) {};
	return to->wants_one;
}

#endif /* DTO_PORT_H */
