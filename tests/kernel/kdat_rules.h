/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kdat_rules: scenario tests of the rules through the kernel face, between two
 * adapters.  main.c runs the cases one after the other; rig.c has what they are
 * built from; the other files hold the cases, each named by the rules it keeps.
 *
 * A case never sleeps to wait: it waits for an event with a generous limit.
 * That something does not come is shown by a marker, a software event posted
 * behind where it would have been.
 */
#ifndef KDAT_RULES_H
#define KDAT_RULES_H

#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <dat/kdat.h>
#include "dat_private.h"

#define WAIT_MS		30000
#define CONNECT_US	(20 * 1000 * 1000)
#define RING		1024

/* ---- verdicts (main.c) -------------------------------------------------- */

struct test_case {
	const char *rules;
	const char *what;
	void (*run)(void);
};

/* The lists, each ended by an empty entry. */
extern const struct test_case args_cases[], connect_cases[], passive_cases[],
	dto_cases[], disconnect_cases[], memory_cases[], rmr_cases[],
	upcall_cases[], many_cases[], modify_cases[], removal_cases[];

/* The present case has failed.  Returns false. */
__printf(1, 2) bool fail(const char *fmt, ...);
bool ret_is(const char *call, DAT_RETURN got, DAT_RETURN wanted);

#define OK(call)		ret_is(#call, (call), DAT_SUCCESS)
#define IS(call, type, subtype)	ret_is(#call, (call), DAT_ERROR(type, subtype))
/* The usual two kinds. */
#define BAD_ARG(call, n) \
	IS(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define BAD_HANDLE(call, which) \
	IS(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
#define BAD_STATE(call, which) \
	IS(call, DAT_INVALID_STATE, DAT_INVALID_STATE_##which)
#define CHECK(cond)		check((cond), #cond)

static inline bool check(bool so, const char *text)
{
	return so || fail("not so: %s", text);
}

/* ---- the rig (rig.c) ---------------------------------------------------- */

struct side {
	const char *name;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	struct sockaddr_storage addr;
	int max_private_data;
	DAT_VLEN max_block;
};

/* a connects, b listens. */
extern struct side side_a, side_b;

bool side_open(struct side *side);
void side_close(struct side *side);

/* An EVD whose upcall collects. */
struct collector {
	DAT_EVD_HANDLE evd;
	wait_queue_head_t wait;
	spinlock_t lock;
	u32 put;
	u32 got;
	DAT_EVENT ring[RING];
};

#define COLLECT_ALL	(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | \
			 DAT_EVD_SOFTWARE_FLAG)

struct collector *collector_new(struct side *side, DAT_COUNT qlen,
				DAT_EVD_FLAGS flags);
void collector_free(struct collector *collector);
void collect(DAT_PVOID instance_data, const DAT_EVENT *event,
	     DAT_BOOLEAN more_events);
/* The next event; false, and the case has failed, when none comes. */
bool next_event(struct collector *collector, DAT_EVENT *event);
bool want_event(struct collector *collector, DAT_EVENT_NUMBER number,
		DAT_EVENT *event);
/* A connection event that names @ep and has no private data. */
bool want_conn(struct collector *collector, DAT_EP_HANDLE ep,
	       DAT_EVENT_NUMBER number);
bool want_dto(struct collector *collector, DAT_EP_HANDLE ep, u64 cookie,
	      DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length);
/* No event is there that was raised before this call. */
bool nothing_more(struct collector *collector);
bool post_marker(struct collector *collector, unsigned long number);
const char *event_name(DAT_EVENT_NUMBER number);

/* Registered memory. */
struct mem {
	u8 *va;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

bool mem_new(struct side *side, struct mem *mem, size_t size,
	     DAT_MEM_PRIV_FLAGS privileges);
void mem_free(struct mem *mem);
void mem_fill(struct mem *mem, size_t offset, size_t length, u8 seed);
bool mem_check(const struct mem *mem, size_t offset, size_t length, u8 seed);
DAT_LMR_TRIPLET piece(const struct mem *mem, size_t offset, size_t length);
DAT_RMR_TRIPLET remote_piece(const struct mem *mem, size_t offset,
			     size_t length);

/* An endpoint with memory and a collector for all of its events. */
struct node {
	struct side *side;
	struct collector *events;
	DAT_EP_HANDLE ep;
	struct mem mem;
};

extern const DAT_EP_ATTR node_attr;

#define NODE_RECVS	16
#define NODE_REQUESTS	16
#define NODE_MEMORY	65536

bool node_new(struct node *node, struct side *side, const DAT_EP_ATTR *attr);
void node_free(struct node *node);
bool state_is(DAT_EP_HANDLE ep, DAT_EP_STATE state);

/* Transfers between offset and offset + length of the node's memory. */
DAT_RETURN node_recv(struct node *node, size_t offset, size_t length,
		     u64 cookie);
DAT_RETURN node_send(struct node *node, size_t offset, size_t length,
		     u64 cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN node_write(struct node *node, size_t offset, size_t length,
		      const DAT_RMR_TRIPLET *to, u64 cookie,
		      DAT_COMPLETION_FLAGS flags);
DAT_RETURN node_read(struct node *node, size_t offset, size_t length,
		     const DAT_RMR_TRIPLET *from, u64 cookie,
		     DAT_COMPLETION_FLAGS flags);

/* A listener on side b. */
struct listener {
	struct collector *requests;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

bool listener_new(struct listener *listener, DAT_PSP_FLAGS flags);
void listener_free(struct listener *listener);
bool next_request(struct listener *listener, DAT_CR_HANDLE *cr);
bool start_connect(struct node *node, DAT_CONN_QUAL qual);

/* Two connected nodes. */
struct link {
	struct node a;
	struct node b;
	struct listener listener;
};

bool link_new(struct link *link, const DAT_EP_ATTR *attr_a,
	      const DAT_EP_ATTR *attr_b);
/* The same for two nodes and a listener that are there. */
bool link_connect(struct node *a, struct node *b, struct listener *listener);
bool link_disconnect(struct link *link, DAT_CLOSE_FLAGS flags);
void link_free(struct link *link);

/* removal.c: how far the case that waits for the removal of a device is. */
extern bool removal_ready;

#endif /* KDAT_RULES_H */
