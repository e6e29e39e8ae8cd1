// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Registered memory and its use, for the scenarios of lmr.c and rmr.c.
 */
#include "memory.h"

size_t lmr_size(size_t pages)
{
	DAT_VLEN most = side_b.attr.max_lmr_block_size;

	return pages * PAGE < most ? pages * PAGE : most;
}

bool mem_register(struct side *side, DAT_PZ_HANDLE pz, struct mem *mem,
		  DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem->va };

	return OK(platform_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region,
				      mem->size, pz, privileges, &mem->lmr,
				      &mem->context, &mem->rmr_context));
}

/* ---- transfers ---------------------------------------------------------- */

bool pair_again(struct pair *pair)
{
	return OK(dat_ep_reset(pair->a.ep)) && OK(dat_ep_reset(pair->b.ep)) &&
	       pair_connect(&pair->a, &pair->b, &pair->listener);
}

bool ended(struct node *node)
{
	DAT_EVENT event;

	return next_event(node->conn, &event) &&
	       (event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		FAIL("%s came, not an end", event_name(event.event_number))) &&
	       state_is(node->ep, DAT_EP_STATE_DISCONNECTED);
}

/*
 * What the passive side gets when it has accepted a request after the active side had
 * given up.  The CM of iWARP takes no request back: there the connection is established
 * and the active side ends it, or the active side has waited so long for an answer that
 * it is gone.
 */
bool accepted_in_vain(struct node *node)
{
	const DAT_EVENT_NUMBER error = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	DAT_EVENT event;

	if (!side_is_iwarp(node->side))
		return want_conn(node->conn, node->ep, error);
	if (!next_event(node->conn, &event))
		return false;
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return ended(node);
	return CHECK_EQ(event.event_number, error);
}

static DAT_RETURN post_access(struct node *node, enum access access,
			      const DAT_RMR_TRIPLET *remote, u64 number)
{
	return access == RDMA_WRITE ?
		node_write(node, 0, remote->segment_length, remote, number, 0) :
		node_read(node, 0, remote->segment_length, remote, number, 0);
}

bool admits_at(const char *file, int line, struct pair *pair,
	       enum access access, const DAT_RMR_TRIPLET *remote, u8 *at)
{
	struct mem there = { .va = at }, *here = &pair->a.mem;
	size_t length = remote->segment_length;
	static u8 seed;

	seed++;
	mem_fill(access == RDMA_WRITE ? here : &there, 0, length, seed);
	memset(access == RDMA_WRITE ? at : here->va, 0, length);
	return ret_at(file, line, "post",
		      post_access(&pair->a, access, remote, 700),
		      DAT_SUCCESS) &&
	       want_dto_at(file, line, pair->a.request, pair->a.ep, 700,
			   DAT_DTO_SUCCESS, ANY_LENGTH) &&
	       (mem_arrives(access == RDMA_WRITE ? &there : here, 0, length, seed) ||
		fail_at(file, line, "other bytes"));
}

/*
 * An iWARP device closes the connection, and no completion says why; on the side of the
 * memory the device reports an error of the queue pair.
 */
static bool refuses_silently(const char *file, int line, struct pair *pair)
{
	DAT_EVENT event;

	return want_event_at(file, line, pair->a.request, DAT_DTO_COMPLETION_EVENT,
			     &event) &&
	       ended(&pair->a) && ended(&pair->b) && pair_again(pair);
}

bool refuses_at(const char *file, int line, struct pair *pair,
		enum access access, const DAT_RMR_TRIPLET *remote)
{
	if (side_is_iwarp(&side_a))
		return (ret_at(file, line, "post",
			       post_access(&pair->a, access, remote, 701),
			       DAT_SUCCESS) &&
			refuses_silently(file, line, pair)) ||
		       fail_at(file, line, "a silent refusal and a new connection");
	return (ret_at(file, line, "post",
		       post_access(&pair->a, access, remote, 701),
		       DAT_SUCCESS) &&
		want_refused_at(file, line, &pair->a, 701) &&
		ended(&pair->a) && ended(&pair->b) && pair_again(pair)) ||
	       fail_at(file, line, "a refusal and a new connection");
}

bool reads_need_right(void)
{
	return strncmp(side_b.name, "siw", 3);
}

bool talks_at(const char *file, int line, struct node *from, struct node *to)
{
	return ret_at(file, line, "dat_ep_post_recv", node_recv(to, 0, 64, 702),
		      DAT_SUCCESS) &&
	       ret_at(file, line, "dat_ep_post_send",
		      node_send(from, 0, 64, 703, 0), DAT_SUCCESS) &&
	       want_dto_at(file, line, to->recv, to->ep, 702,
			   DAT_DTO_SUCCESS, ANY_LENGTH) &&
	       want_dto_at(file, line, from->request, from->ep, 703,
			   DAT_DTO_SUCCESS, ANY_LENGTH);
}

/* ---- what it costs ------------------------------------------------------ */

/* The memory regions of the whole device: so few that an exit status can return them. */
static int device_regions(const struct side *side)
{
	char command[120];

	snprintf(command, sizeof(command),
		 "set -- $(rdma resource show %.*s); while [ $1 != mr ]; do shift; done; exit $2",
		 (int)strcspn(side->name, "-"), side->name);
	return run_command(command);
}

bool footprint(struct footprint *now)
{
	int a = device_regions(&side_a), b = device_regions(&side_b);

	now->charged_kb = pinned_kb();
	now->locked_kb = locked_kb();
	now->pins = pins();
	now->regions = a + b;
	return CHECK(a >= 0) && CHECK(b >= 0);
}

/* The most that is charged for the queues of a node. */
#define NODE_QUEUES_KB	32

bool footprint_grew_at(const char *file, int line,
		       const struct footprint *before, size_t bytes,
		       int regions, int nodes)
{
	u64 kb = PINS * bytes / 1024, queues_kb = nodes * NODE_QUEUES_KB, grown;
	struct footprint now;

	if (!footprint(&now))
		return false;
	/* What the driver registers is pinned once more, for windows, and charged once. */
	grown = 4 * (now.pins - before->pins);
	return ((grown >= kb && grown <= 2 * kb) ||
		fail_at(file, line, "%llu kB more are pinned, expected %llu",
			grown, kb)) &&
	       ((now.charged_kb >= before->charged_kb + kb &&
		 now.charged_kb <= before->charged_kb + kb + queues_kb) ||
		fail_at(file, line, "VmPin: %llu kB, expected %llu + %llu",
			now.charged_kb, before->charged_kb, kb)) &&
	       (now.locked_kb == before->locked_kb ||
		fail_at(file, line, "VmLck: %llu kB, it was %llu",
			now.locked_kb, before->locked_kb)) &&
	       (now.regions == before->regions + regions ||
		fail_at(file, line, "%d regions, expected %d + %d",
			now.regions, before->regions, regions));
}
