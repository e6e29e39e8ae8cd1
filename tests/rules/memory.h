/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What lmr.c and rmr.c have in common: memory in any zone, transfers that succeed or
 * are refused, and what registered memory costs.
 */
#ifndef RULES_MEMORY_H
#define RULES_MEMORY_H

#include "rules.h"

/* Memory of a process is pinned and charged to it, that of the kernel is not. */
#ifdef __KERNEL__
#define PINS	0
#else
#define PINS	1
#endif

#define PAGE	4096

/*
 * The bytes of @pages pages, or of the most that an LMR of side b can have if that is
 * less (256 pages on siw).
 */
size_t lmr_size(size_t pages);
/* Makes another LMR over mem->va, mem->size, in @pz. */
bool mem_register(struct side *side, DAT_PZ_HANDLE pz, struct mem *mem,
		  DAT_MEM_PRIV_FLAGS privileges);

/*
 * Transfers over a pair on which nothing is outstanding.  The remote memory is on side
 * b; the local memory of side a is at the beginning of its node's memory.
 */
enum access { RDMA_WRITE, RDMA_READ };

/* Connects the pair anew, after the end of its connection. */
bool pair_again(struct pair *pair);
/* The connection of an idle EP has ended: BROKEN or DISCONNECTED, depending on the device. */
bool ended(struct node *node);
bool accepted_in_vain(struct node *node);

bool admits_at(const char *file, int line, struct pair *pair,
	       enum access access, const DAT_RMR_TRIPLET *remote, u8 *at);
bool refuses_at(const char *file, int line, struct pair *pair,
		enum access access, const DAT_RMR_TRIPLET *remote);
bool talks_at(const char *file, int line, struct node *from, struct node *to);

/*
 * Does side b's device check the right of remote read before it answers a read?  siw
 * does not: there any key of the zone can be read (faults of siw,
 * Documentation/drivers.rst).
 */
bool reads_need_right(void);

/* The transfer succeeds and the bytes arrive at @at: (pair, access, &remote, at) */
#define admits(...)	admits_at(__FILE__, __LINE__, __VA_ARGS__)
/*
 * The transfer ends with REMOTE_ACCESS and the connection ends on both sides (mt:M46);
 * then the pair is connected anew: (pair, access, &remote)
 */
#define refuses(...)	refuses_at(__FILE__, __LINE__, __VA_ARGS__)
/* A message arrives: (from, to) */
#define talks(...)	talks_at(__FILE__, __LINE__, __VA_ARGS__)

/* What is registered and pinned at a moment. */
struct footprint {
	u64 charged_kb;		/* to the process: VmPin */
	u64 locked_kb;		/* by the process: VmLck */
	u64 pins;		/* of the whole kernel */
	int regions;		/* of both sides' devices */
};

bool footprint(struct footprint *now);
bool footprint_grew_at(const char *file, int line,
		       const struct footprint *before, size_t bytes,
		       int regions, int nodes);
#define footprint_grew(...)	\
	footprint_grew_at(__FILE__, __LINE__, __VA_ARGS__, 0)
/*
 * The same when @nodes nodes have been made as well, whose queues are charged, too, or
 * something as small.
 */
#define footprint_grew_with(nodes, ...) \
	footprint_grew_at(__FILE__, __LINE__, __VA_ARGS__, nodes)

#endif
