/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the scenarios of the kernel face have in addition: EVDs whose upcall collects
 * the events.  platform_evd_wait() on such an EVD returns what was collected, so that
 * everything in rules.h works with them.
 */
#ifndef RULES_KERNEL_H
#define RULES_KERNEL_H

#include <linux/spinlock.h>
#include <linux/wait.h>
#include "../rules.h"
#include <dat/dat_registry.h>

#define COLLECTED	1024

/* The consumer context of such an EVD. */
struct collector {
	DAT_EVD_HANDLE evd;
	wait_queue_head_t wait;
	spinlock_t lock;		/* protects the rest */
	u32 put;
	u32 got;
	DAT_EVENT ring[COLLECTED];
};

#define COLLECT_ALL	(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | \
			 DAT_EVD_SOFTWARE_FLAG)

/*
 * Makes an EVD with policy SINGLE_INSTANCE; it stays until the scenario is over.  NULL:
 * the scenario has failed.
 */
struct collector *collector_new(struct side *side, DAT_COUNT qlen,
				DAT_EVD_FLAGS flags);
/* The upcall: @instance_data is the collector. */
void collect(DAT_PVOID instance_data, const DAT_EVENT *event,
	     DAT_BOOLEAN more_events);
/* Makes a node with one collector for all of its events. */
bool collected_node(struct node *node, struct side *side,
		    struct collector **events);
bool collected_pair(struct pair *pair);

extern const struct scenario_table upcall_table, kernel_args_table,
				   kernel_memory_table, fmr_table,
				   fmr_remote_table, provider_table,
				   kernel_requests_table, extension_table;

#endif /* RULES_KERNEL_H */
