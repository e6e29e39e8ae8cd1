// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests that are posted together: kdat_ep_post_requests(), which only kernel consumers have. */
#include "kernel.h"
#include <dat/kdat_linux.h>

#define BROKEN		DAT_CONNECTION_EVENT_BROKEN
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define PART		4096
#define WRITES		12	/* with the message more than the device is told of at once */
#define ROUNDS		20

/* Each write to its own place, and a message behind them; only the message has an event. */
static bool write_and_tell(struct pair *p)
{
	struct kdat_request requests[WRITES + 1];
	DAT_LMR_TRIPLET from[WRITES + 1];
	DAT_RMR_TRIPLET to[WRITES];
	DAT_COUNT posted = 0;
	int i;

	for (i = 0; i < WRITES; i++) {
		from[i] = piece(&p->a.mem, i * PART, PART);
		to[i] = remote_piece(&p->b.mem, i * PART, PART);
		requests[i] = (struct kdat_request) {
			.kind = KDAT_RDMA_WRITE,
			.num_segments = 1,
			.local_iov = &from[i],
			.user_cookie = cookie(i),
			.remote_buffer = &to[i],
			.completion_flags = DAT_COMPLETION_SUPPRESS_FLAG,
		};
	}
	from[i] = piece(&p->a.mem, WRITES * PART, 8);
	requests[i] = (struct kdat_request) {
		.kind = KDAT_SEND,
		.num_segments = 1,
		.local_iov = &from[i],
		.user_cookie = cookie(i),
	};
	return OK(kdat_ep_post_requests(p->a.ep, WRITES + 1, requests, &posted)) &&
	       CHECK_EQ(posted, WRITES + 1);
}

static void together(void)
{
	struct pair p = {};
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < ROUNDS && !failed(); i++) {
		mem_fill(&p.a.mem, 0, WRITES * PART + 8, i);
		OK(node_recv(&p.b, NODE_MEMORY - 8, 8, 7));
		if (!write_and_tell(&p))
			return;
		want_dto(p.b.recv, p.b.ep, 7, DAT_DTO_SUCCESS, 8);
		mem_check(&p.b.mem, 0, WRITES * PART, i);
		want_dto(p.a.request, p.a.ep, WRITES, DAT_DTO_SUCCESS, 8);
	}
	nothing_more(p.a.request);
}

/* Nobody receives them, so the end flushes them. */
static void flushed(void)
{
	struct kdat_request requests[NODE_REQUESTS] = {};
	struct account account = {};
	struct pair p = {};
	DAT_COUNT posted = 0;
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < NODE_REQUESTS; i++)
		requests[i].user_cookie = cookie(i);
	OK(kdat_ep_post_requests(p.a.ep, NODE_REQUESTS, requests, &posted));
	CHECK_EQ(posted, NODE_REQUESTS);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	account_until(&account, &p.a, DISCONNECTED);
	account_closed(&account, NODE_REQUESTS, 0);
}

/* The EVD of receives of the peer was made by somebody who does not know of immediate data. */
static void unknown(void)
{
	struct pair p = {};
	DAT_LMR_TRIPLET from;
	DAT_RMR_TRIPLET to;
	struct kdat_request write = {
		.kind = KDAT_RDMA_WRITE_IMMED,
		.num_segments = 1,
		.local_iov = &from,
		.user_cookie = cookie(3),
		.remote_buffer = &to,
		.immediate = 7,
	};
	DAT_COUNT posted;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	from = piece(&p.a.mem, 0, 5);
	to = remote_piece(&p.b.mem, 0, 64);
	OK(node_recv(&p.b, 0, 64, 1));
	OK(kdat_ep_post_requests(p.a.ep, 1, &write, &posted));
	want_done(p.b.recv, p.b.ep, 1, DAT_DTO_ERR_BAD_RESPONSE);
	want_conn(p.b.conn, p.b.ep, BROKEN);
}

static const struct scenario scenarios[] = {
	SCENARIO("mt:T15 mt:T40 mt:T42 writes and a message are posted together", together),
	SCENARIO("D40 D43 D45 what was posted together is flushed, each once", flushed),
	SCENARIO_IB("X4 mt:T59 immediate data for somebody who does not know of it", unknown),
};

SCENARIO_TABLE(kernel_requests_table);
