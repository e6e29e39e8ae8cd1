/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What lmr.c and rmr.c have in common: memory of any zone, transfers that work
 * or are refused, and what registered memory costs.
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
 * The bytes of @pages, or of as many as an LMR of side b can have if that is less:
 * on siw they are 256.
 */
size_t lmr_size(size_t pages);
/* Another LMR over mem->va, mem->size, in @pz. */
bool mem_register(struct side *side, DAT_PZ_HANDLE pz, struct mem *mem,
		  DAT_MEM_PRIV_FLAGS privileges);

/*
 * Transfers over a pair with nothing outstanding.  Remote memory is that of
 * side b; what is local to side a lies at the beginning of its node's memory.
 */
enum access { RDMA_WRITE, RDMA_READ };

/* A connection that is new, after the end of the one before. */
bool pair_again(struct pair *pair);
/* BROKEN or DISCONNECTED, as a device sees it, of an idle EP. */
bool ended(struct node *node);
bool accepted_in_vain(struct node *node);

bool admits_at(const char *file, int line, struct pair *pair,
	       enum access access, const DAT_RMR_TRIPLET *remote, u8 *at);
bool refuses_at(const char *file, int line, struct pair *pair,
		enum access access, const DAT_RMR_TRIPLET *remote);
bool talks_at(const char *file, int line, struct node *from, struct node *to);

/*
 * Does side b's device look for the right of remote read before it answers a read?
 * siw does not: any key of the zone reads (faults of siw, Documentation/drivers.rst).
 */
bool reads_need_right(void);

/* The bytes arrive; they lie at @at: (pair, access, &remote, at) */
#define admits(...)	admits_at(__FILE__, __LINE__, __VA_ARGS__)
/*
 * REMOTE_ACCESS, and the connection ends on both sides (mt:M46); then there is
 * a new one: (pair, access, &remote)
 */
#define refuses(...)	refuses_at(__FILE__, __LINE__, __VA_ARGS__)
/* A message arrives: (from, to) */
#define talks(...)	talks_at(__FILE__, __LINE__, __VA_ARGS__)

/* What is registered and pinned at a moment. */
struct footprint {
	u64 charged_kb;		/* to the process: VmPin */
	u64 locked_kb;		/* by the process: VmLck */
	u64 pins;		/* of the whole kernel */
	int regions;		/* of side b's device */
};

bool footprint(struct footprint *now);
bool footprint_grew_at(const char *file, int line,
		       const struct footprint *before, size_t bytes,
		       int regions, int nodes);
#define footprint_grew(...)	\
	footprint_grew_at(__FILE__, __LINE__, __VA_ARGS__, 0)
/* And @nodes have been made, whose queues are charged as well, or something as small. */
#define footprint_grew_with(nodes, ...) \
	footprint_grew_at(__FILE__, __LINE__, __VA_ARGS__, nodes)

#endif
