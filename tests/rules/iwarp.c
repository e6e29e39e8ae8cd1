// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is different on an adapter that speaks iWARP (Documentation/drivers.rst);
 * skipped on any other.  Side a, the active side, sends first: MPA demands that, and
 * siw does not ensure it.
 */
#include "memory.h"

#define SINK_RIGHTS	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG | \
			 DAT_MEM_PRIV_REMOTE_READ_FLAG)

/* mt:T35: the right of remote write, of the sink of a read alone. */
static void read_sink(void)
{
	DAT_RMR_TRIPLET from;
	DAT_LMR_TRIPLET to;
	struct pair p = {};
	struct mem sink;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_a, &sink, PAGE, SINK_RIGHTS))
		return;
	CHECK_EQ(side_a.attr.max_iov_segments_per_rdma_read, 1);
	from = remote_piece(&p.b.mem, 0, 64);
	to = piece(&sink, 0, 64);
	IS(dat_ep_post_rdma_read(p.a.ep, 1, &to, cookie(1), &from, 0),
	   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE);
	OK(dat_ep_post_recv(p.a.ep, 1, &to, cookie(2), 0));
	/* Those of the nodes have every right. */
	admits(&p, RDMA_READ, &from, p.b.mem.va);
	admits(&p, RDMA_WRITE, &from, p.b.mem.va);
	talks(&p.a, &p.b);
	OK(node_send(&p.b, 0, 64, 3, 0));
	want_dto(p.a.recv, p.a.ep, 2, DAT_DTO_SUCCESS, 64);
	/* With a request outstanding the end may be BROKEN. */
	want_dto(p.b.request, p.b.ep, 3, DAT_DTO_SUCCESS, 64);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* mt:T51: nobody waits for a receive. */
static void no_receive(void)
{
	struct pair p = {};
	DAT_EVENT event;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	OK(node_send(&p.a, 0, 64, 1, 0));
	want_event(p.a.request, DAT_DTO_COMPLETION_EVENT, &event);
	ended(&p.a);
	ended(&p.b);
	pair_again(&p);
	talks(&p.a, &p.b);
}

/* mt:T32, mt:M46: the peer's device closes, and the memory is as it was. */
static void bad_key(void)
{
	DAT_RMR_TRIPLET remote;
	struct pair p = {};

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	mem_fill(&p.b.mem, 0, PAGE, 7);
	remote = remote_piece(&p.b.mem, 0, PAGE);
	remote.rmr_context ^= 0x5a00;
	refuses(&p, RDMA_WRITE, &remote);
	refuses(&p, RDMA_READ, &remote);
	mem_check(&p.b.mem, 0, PAGE, 7);
	talks(&p.a, &p.b);
}

/* D20, D50: reads that the peer has no time to answer are flushed, each once. */
static void reads_outstanding(void)
{
	struct account account = {};
	DAT_RMR_TRIPLET from;
	struct pair p = {};
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	from = remote_piece(&p.b.mem, 0, NODE_MEMORY);
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&p.a, 0, 64, RECV | i));
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(node_read(&p.a, 0, NODE_MEMORY, &from, i, 0));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	account_until(&account, &p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	account_closed(&account, NODE_REQUESTS, NODE_RECVS);
	/* Its device may report the answers that it could not send. */
	ended(&p.b);
}

/* Requests 0 to NODE_REQUESTS - 1 have failed, each once, whatever their order. */
static bool all_fail(struct node *node)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	u64 seen = 0;
	int i;

	for (i = 0; i < NODE_REQUESTS; i++) {
		if (!want_event(node->request, DAT_DTO_COMPLETION_EVENT, &event))
			return false;
		dto = &event.event_data.dto_completion_event_data;
		if (!CHECK(dto->user_cookie.as_64 < NODE_REQUESTS) ||
		    !CHECK(dto->status != DAT_DTO_SUCCESS))
			return false;
		seen |= 1ULL << dto->user_cookie.as_64;
	}
	return CHECK_EQ(seen, (1ULL << NODE_REQUESTS) - 1) &&
	       nothing_more(node->request);
}

/*
 * L5, D40: reads into an LMR that is freed before the peer has answered.  siw loses those
 * behind the first one that fails, and they are flushed when the device's time is over.
 * Nothing is written into the memory.
 */
static void read_sink_freed(void)
{
	DAT_RMR_TRIPLET from;
	DAT_LMR_TRIPLET to;
	struct pair p = {};
	struct mem sink;
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_a, &sink, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG) ||
	    !link_down(&side_b))
		return;
	from = remote_piece(&p.b.mem, 0, NODE_MEMORY);
	to = piece(&sink, 0, NODE_MEMORY);
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(dat_ep_post_rdma_read(p.a.ep, 1, &to, cookie(i), &from, 0));
	OK(dat_lmr_free(sink.lmr));
	mem_fill(&sink, 0, NODE_MEMORY, 9);
	link_up(&side_b);
	all_fail(&p.a);
	ended(&p.a);
	ended(&p.b);
	mem_check(&sink, 0, NODE_MEMORY, 9);
	pair_again(&p);
	talks(&p.a, &p.b);
}

/* D52, T33: the host gives up a peer that does not answer: DISCONNECTED, not BROKEN. */
static void peer_is_gone(void)
{
	struct account account = {};
	struct pair p = {};
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&p.a, 0, 64, RECV | i));
	if (!link_down(&side_a))
		return;
	OK(node_send(&p.a, 0, 64, 0, 0));
	account_until(&account, &p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	account_closed(&account, 1, NODE_RECVS);
	link_up(&side_a);
	OK(dat_ep_free(p.a.ep));
	OK(dat_ep_free(p.b.ep));
}

static const struct scenario scenarios[] = {
	SCENARIO_IWARP("mt:T35 iWARP: the sink of a read", read_sink),
	SCENARIO_IWARP("mt:T51 iWARP: a message without a receive", no_receive),
	SCENARIO_IWARP("mt:T32 mt:M46 iWARP: memory that is not there", bad_key),
	SCENARIO_IWARP("D20 D50 iWARP: abrupt with reads outstanding",
		       reads_outstanding),
	SCENARIO_IWARP("D40 L5 mt:M23 iWARP: LMR free under reads", read_sink_freed),
	SCENARIO_IWARP("D52 T33 iWARP: the peer is gone", peer_is_gone),
};

SCENARIO_TABLE(iwarp_table);
