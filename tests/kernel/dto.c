// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transfers: all kinds, all flags, every byte looked at; what a post refuses;
 * and transfers that fail.
 */
#include <linux/string.h>
#include "kdat_rules.h"

static void sends(void)
{
	static const size_t sizes[] = { 1, 2, 1023, 1024, 1025, 4096, 65536 };
	struct link link = {};
	unsigned int i;

	if (!link_new(&link, NULL, NULL))
		goto out;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		mem_fill(&link.a.mem, 0, sizes[i], i);
		if (!OK(node_recv(&link.b, 0, NODE_MEMORY, i)) ||
		    !OK(node_send(&link.a, 0, sizes[i], 100 + i, 0)) ||
		    !want_dto(link.b.events, link.b.ep, i, DAT_DTO_SUCCESS,
			      sizes[i]) ||
		    !want_dto(link.a.events, link.a.ep, 100 + i,
			      DAT_DTO_SUCCESS, sizes[i]) ||
		    !mem_check(&link.b.mem, 0, sizes[i], i))
			goto out;
	}
	/* The other way, and in order (mt:T42). */
	for (i = 0; i < 8; i++) {
		mem_fill(&link.b.mem, i * 100, 100, 40 + i);
		OK(node_recv(&link.a, i * 100, 100, 200 + i));
	}
	for (i = 0; i < 8; i++)
		OK(node_send(&link.b, i * 100, 100, 300 + i, 0));
	for (i = 0; i < 8; i++) {
		want_dto(link.a.events, link.a.ep, 200 + i, DAT_DTO_SUCCESS,
			 100);
		want_dto(link.b.events, link.b.ep, 300 + i, DAT_DTO_SUCCESS,
			 100);
		mem_check(&link.a.mem, i * 100, 100, 40 + i);
	}
out:
	link_free(&link);
}

static void zero_length(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET nonsense = { .lmr_context = 77, .virtual_address = 5 };
	DAT_RMR_TRIPLET remote;
	struct link link = {};

	if (!link_new(&link, NULL, NULL))
		goto out;
	remote = remote_piece(&link.b.mem, 0, 0);
	/* No segment; and one of length 0, which is not looked at (mt:T3). */
	OK(dat_ep_post_recv(link.b.ep, 0, NULL, cookie, 0));
	OK(dat_ep_post_recv(link.b.ep, 1, &nonsense, cookie, 0));
	OK(node_recv(&link.b, 0, 10, 1));
	OK(dat_ep_post_send(link.a.ep, 1, &nonsense, cookie, 0));
	OK(dat_ep_post_send(link.a.ep, 0, NULL, cookie, 0));
	OK(dat_ep_post_rdma_write(link.a.ep, 0, NULL, cookie, &remote, 0));
	OK(dat_ep_post_rdma_read(link.a.ep, 0, NULL, cookie, &remote, 0));
	OK(node_send(&link.a, 0, 0, 1, 0));
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 0);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 0);
out:
	link_free(&link);
}

static void segments(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET from[4], into[3];
	DAT_RMR_TRIPLET remote;
	struct link link = {};
	struct mem *a = &link.a.mem, *b = &link.b.mem;

	if (!link_new(&link, NULL, NULL))
		goto out;
	/* Out of order, with one of length 0 among them: 1000 bytes. */
	mem_fill(a, 5000, 300, 0);
	mem_fill(a, 100, 600, 1);
	mem_fill(a, 9000, 100, 2);
	from[0] = piece(a, 5000, 300);
	from[1] = piece(a, 0, 0);
	from[2] = piece(a, 100, 600);
	from[3] = piece(a, 9000, 100);
	into[0] = piece(b, 20000, 300);
	into[1] = piece(b, 10000, 600);
	into[2] = piece(b, 30000, 500);
	OK(dat_ep_post_recv(link.b.ep, 3, into, cookie, 0));
	OK(dat_ep_post_send(link.a.ep, 4, from, cookie, 0));
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 1000);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 1000);
	mem_check(b, 20000, 300, 0);
	mem_check(b, 10000, 600, 1);
	mem_check(b, 30000, 100, 2);
	CHECK(!b->va[30100]);			/* mt:T4 */

	/* RDMA write gathers, RDMA read scatters. */
	remote = remote_piece(b, 40000, 1000);
	OK(dat_ep_post_rdma_write(link.a.ep, 4, from, cookie, &remote, 0));
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 1000);
	from[0] = piece(a, 50000, 300);
	from[2] = piece(a, 51000, 600);
	from[3] = piece(a, 52000, 500);
	OK(dat_ep_post_rdma_read(link.a.ep, 4, from, cookie, &remote, 0));
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, 1000);
	mem_check(a, 50000, 300, 0);
	mem_check(a, 51000, 600, 1);
	mem_check(a, 52000, 100, 2);
	CHECK(!a->va[52100]);			/* mt:T33 */
out:
	link_free(&link);
}

static void rdma(void)
{
	DAT_RMR_TRIPLET remote;
	struct link link = {};

	if (!link_new(&link, NULL, NULL))
		goto out;
	/* mt:T43: what a write wrote is there when a later send arrives. */
	mem_fill(&link.a.mem, 0, 30000, 9);
	remote = remote_piece(&link.b.mem, 1, 32000);	/* longer: mt:T33 */
	OK(node_recv(&link.b, 40000, 8, 1));
	OK(node_write(&link.a, 0, 30000, &remote, 2, 0));
	OK(node_send(&link.a, 0, 8, 3, 0));
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 8);
	mem_check(&link.b.mem, 1, 30000, 9);
	CHECK(!link.b.mem.va[0] && !link.b.mem.va[30001]);
	want_dto(link.a.events, link.a.ep, 2, DAT_DTO_SUCCESS, 30000);
	want_dto(link.a.events, link.a.ep, 3, DAT_DTO_SUCCESS, 8);

	/* The passive side reads; a fence before the send (mt:T23). */
	remote = remote_piece(&link.a.mem, 0, 30000);
	OK(node_recv(&link.a, 40000, 8, 4));
	OK(node_read(&link.b, 33000, 32000, &remote, 5, 0));
	OK(node_send(&link.b, 0, 8, 6, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	want_dto(link.b.events, link.b.ep, 5, DAT_DTO_SUCCESS, 30000);
	want_dto(link.b.events, link.b.ep, 6, DAT_DTO_SUCCESS, 8);
	want_dto(link.a.events, link.a.ep, 4, DAT_DTO_SUCCESS, 8);
	mem_check(&link.b.mem, 33000, 30000, 9);
	nothing_more(link.a.events);
	nothing_more(link.b.events);
out:
	link_free(&link);
}

static void large(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	const size_t size = 1 << 20;
	struct mem from = {}, into = {};
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET remote;
	struct link link = {};

	if (!link_new(&link, NULL, NULL) ||
	    !mem_new(&side_a, &from, size, DAT_MEM_PRIV_ALL_FLAG) ||
	    !mem_new(&side_b, &into, size, DAT_MEM_PRIV_ALL_FLAG))
		goto out;
	mem_fill(&from, 0, size, 1);
	segment = piece(&into, 0, size);
	OK(dat_ep_post_recv(link.b.ep, 1, &segment, cookie, 0));
	segment = piece(&from, 0, size);
	OK(dat_ep_post_send(link.a.ep, 1, &segment, cookie, 0));
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, size);
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, size);
	mem_check(&into, 0, size, 1);

	mem_fill(&from, 0, size, 2);
	remote = remote_piece(&into, 0, size);
	OK(dat_ep_post_rdma_write(link.a.ep, 1, &segment, cookie, &remote, 0));
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, size);
	mem_fill(&from, 0, size, 3);
	OK(dat_ep_post_rdma_read(link.a.ep, 1, &segment, cookie, &remote, 0));
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_SUCCESS, size);
	mem_check(&from, 0, size, 2);
out:
	link_free(&link);
	mem_free(&from);
	mem_free(&into);
}

/* ---- completion flags --------------------------------------------------- */

static void suppressed(void)
{
	struct link link = {};
	int i, n;

	if (!link_new(&link, NULL, NULL))
		goto out;
	/* Several queues full; a slot is free once a later one completed. */
	for (n = 0; n < 6; n++) {
		for (i = 0; i < NODE_REQUESTS / 2; i++)
			OK(node_recv(&link.b, 0, 64, i));
		for (i = 0; i < NODE_REQUESTS / 2 - 1; i++)
			OK(node_send(&link.a, 0, 64, i,
				     DAT_COMPLETION_SUPPRESS_FLAG));
		OK(node_send(&link.a, 0, 64, 99, 0));
		if (!want_dto(link.a.events, link.a.ep, 99, DAT_DTO_SUCCESS,
			      64))
			goto out;
		for (i = 0; i < NODE_REQUESTS / 2; i++)
			want_dto(link.b.events, link.b.ep, i, DAT_DTO_SUCCESS,
				 64);
	}
	nothing_more(link.a.events);
	/* mt:T20: a flush is reported all the same. */
	OK(node_send(&link.a, 0, 64, 5, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(dat_ep_disconnect(link.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_dto(link.a.events, link.a.ep, 5, DAT_DTO_ERR_FLUSHED, 0);
	want_conn(link.a.events, link.a.ep,
		  DAT_CONNECTION_EVENT_DISCONNECTED);
out:
	link_free(&link);
}

static void only_suppressed(void)
{
	struct link link = {};
	int i;

	if (!link_new(&link, NULL, NULL))
		goto out;
	/* mt:T15: the queue drains by itself; the receiver's pace is the limit. */
	for (i = 0; i < 8 * NODE_REQUESTS; i++) {
		OK(node_recv(&link.b, 0, 64, i));
		OK(node_send(&link.a, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		if (!want_dto(link.b.events, link.b.ep, i, DAT_DTO_SUCCESS,
			      64))
			goto out;
	}
	nothing_more(link.a.events);
out:
	link_free(&link);
}

static void unsignalled(void)
{
	DAT_EP_ATTR attr = node_attr;
	struct link link = {};

	if (!link_new(&link, NULL, NULL))
		goto out;
	/* mt:T21: only on an endpoint that is set up for it. */
	BAD_ARG(node_send(&link.a, 0, 8, 1, DAT_COMPLETION_UNSIGNALLED_FLAG),
		5);
	link_free(&link);
	memset(&link, 0, sizeof(link));

	/* E21: such an EVD has no other kind of stream. */
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	link.a.side = &side_a;
	link.a.events = collector_new(&side_a, 64, COLLECT_ALL);
	if (!link.a.events)
		goto out;
	BAD_ARG(dat_ep_create(side_a.ia, side_a.pz, NULL, link.a.events->evd,
			      link.a.events->evd, &attr, &link.a.ep), 6);
out:
	link_free(&link);
}

/* A separate EVD for the requests of @node, with @attr. */
static bool node_new_split(struct node *node, struct side *side,
			   const DAT_EP_ATTR *attr, struct collector **recvs,
			   struct collector **requests)
{
	node->side = side;
	node->events = collector_new(side, 16, DAT_EVD_CONNECTION_FLAG |
				     DAT_EVD_SOFTWARE_FLAG);
	*recvs = collector_new(side, 64, DAT_EVD_DTO_FLAG);
	*requests = collector_new(side, 64, DAT_EVD_DTO_FLAG);
	return node->events && *recvs && *requests &&
	       mem_new(side, &node->mem, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG) &&
	       OK(dat_ep_create(side->ia, side->pz, (*recvs)->evd,
				(*requests)->evd, node->events->evd, attr,
				&node->ep));
}

static void unsignalled_and_solicited(void)
{
	const DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	struct collector *a_recvs = NULL, *a_requests = NULL;
	struct collector *b_recvs = NULL, *b_requests = NULL;
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_EP_ATTR attr = node_attr;
	int i;

	attr.request_completion_flags = quiet;
	if (!node_new_split(&a, &side_a, &attr, &a_recvs, &a_requests))
		goto out;
	attr = node_attr;
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (!node_new_split(&b, &side_b, &attr, &b_recvs, &b_requests) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !link_connect(&a, &b, &listener))
		goto out;
	/*
	 * The last of each kind notifies: by then all have completed, and the
	 * upcall sees them in order (E106, mt:T22, mt:T27).
	 */
	for (i = 0; i < 5; i++)
		OK(node_recv(&b, 0, 64, i));
	for (i = 0; i < 4; i++)
		OK(node_send(&a, 0, 64, 10 + i, quiet));
	OK(node_send(&a, 0, 64, 14, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	for (i = 0; i < 5; i++) {
		want_dto(b_recvs, b.ep, i, DAT_DTO_SUCCESS, 64);
		want_dto(a_requests, a.ep, 10 + i, DAT_DTO_SUCCESS, 64);
	}
	/* mt:T28: an end notifies, whatever the flags. */
	OK(node_recv(&b, 0, 64, 6));
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_dto(b_recvs, b.ep, 6, DAT_DTO_ERR_FLUSHED, 0);
	want_conn(b.events, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
out:
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
	collector_free(a_recvs);
	collector_free(a_requests);
	collector_free(b_recvs);
	collector_free(b_requests);
}

/* ---- what a post refuses ------------------------------------------------ */

static void refused_posts(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET one, many[32];
	DAT_RMR_TRIPLET remote;
	struct link link = {};
	DAT_EP_HANDLE ep;
	unsigned int i;

	if (!link_new(&link, NULL, NULL))
		goto out;
	ep = link.a.ep;
	one = piece(&link.a.mem, 0, 64);
	remote = remote_piece(&link.b.mem, 0, 64);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = one;
#define SEND(n, iov, flags)	dat_ep_post_send(ep, n, iov, cookie, flags)
#define RECV(n, iov, flags)	dat_ep_post_recv(ep, n, iov, cookie, flags)
#define RDMA_READ(n, iov, to, flags) \
	dat_ep_post_rdma_read(ep, n, iov, cookie, to, flags)
#define RDMA_WRITE(n, iov, to, flags) \
	dat_ep_post_rdma_write(ep, n, iov, cookie, to, flags)
	/* mt:T1 */
	BAD_ARG(SEND(-1, &one, 0), 2);
	BAD_ARG(RECV(-1, &one, 0), 2);
	BAD_ARG(RDMA_READ(-1, &one, &remote, 0), 2);
	BAD_ARG(RDMA_WRITE(-1, &one, &remote, 0), 2);
	BAD_ARG(SEND(5, many, 0), 2);
	BAD_ARG(RECV(5, many, 0), 2);
	BAD_ARG(RDMA_READ(5, many, &remote, 0), 2);
	BAD_ARG(RDMA_WRITE(5, many, &remote, 0), 2);
	BAD_ARG(SEND(0x7fffffff, many, 0), 2);
	BAD_ARG(SEND(1, NULL, 0), 3);
	BAD_ARG(RECV(1, NULL, 0), 3);
	BAD_ARG(RDMA_READ(1, NULL, &remote, 0), 3);
	BAD_ARG(RDMA_WRITE(1, NULL, &remote, 0), 3);
	/* mt:T2, mt:T34 */
	BAD_ARG(RDMA_READ(1, &one, NULL, 0), 5);
	BAD_ARG(RDMA_WRITE(1, &one, NULL, 0), 5);
	remote.target_address = ~0ULL - 10;
	BAD_ARG(RDMA_READ(1, &one, &remote, 0), 5);
	BAD_ARG(RDMA_WRITE(1, &one, &remote, 0), 5);
	remote = remote_piece(&link.b.mem, 0, 64);
	/* mt:T19 */
	BAD_ARG(SEND(1, &one, DAT_COMPLETION_EVD_THRESHOLD_FLAG), 5);
	BAD_ARG(SEND(1, &one, 0x20), 5);
	BAD_ARG(SEND(1, &one, 0x80000000), 5);
	BAD_ARG(RECV(1, &one, DAT_COMPLETION_SUPPRESS_FLAG), 5);
	BAD_ARG(RECV(1, &one, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 5);
	BAD_ARG(RECV(1, &one, DAT_COMPLETION_UNSIGNALLED_FLAG), 5);
	BAD_ARG(RECV(1, &one, DAT_COMPLETION_BARRIER_FENCE_FLAG), 5);
	BAD_ARG(RDMA_READ(1, &one, &remote, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 6);
	BAD_ARG(RDMA_WRITE(1, &one, &remote, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 6);
	BAD_ARG(RDMA_WRITE(1, &one, &remote, DAT_COMPLETION_UNSIGNALLED_FLAG), 6);
	/* mt:T5 */
	one = piece(&link.a.mem, 0, NODE_MEMORY + 1);
	BAD_ARG(SEND(1, &one, 0), 3);
	one = piece(&link.a.mem, NODE_MEMORY - 3, 4);
	BAD_ARG(RECV(1, &one, 0), 3);
	one = piece(&link.a.mem, -1, 4);
	BAD_ARG(RDMA_WRITE(1, &one, &remote, 0), 3);
	one = piece(&link.a.mem, 8, ~0ULL);
	BAD_ARG(SEND(1, &one, 0), 3);
	one = piece(&link.a.mem, 0, 64);
	one.lmr_context ^= 0x4141;
	IS(SEND(1, &one, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
	IS(RECV(1, &one, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	IS(RDMA_READ(1, &one, &remote, 0), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_WRITE);
	IS(RDMA_WRITE(1, &one, &remote, 0), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_READ);
	/* mt:T33 */
	one = piece(&link.a.mem, 0, 65);
	IS(RDMA_WRITE(1, &one, &remote, 0), DAT_LENGTH_ERROR, 0);
	one = piece(&link.a.mem, 0, 63);
	IS(RDMA_READ(1, &one, &remote, 0), DAT_LENGTH_ERROR, 0);
#undef SEND
#undef RECV
#undef RDMA_READ
#undef RDMA_WRITE
	/* E2: nothing came of any of it. */
	nothing_more(link.a.events);
	OK(node_recv(&link.b, 0, 64, 2));
	OK(node_send(&link.a, 0, 64, 3, 0));
	want_dto(link.b.events, link.b.ep, 2, DAT_DTO_SUCCESS, 64);
	want_dto(link.a.events, link.a.ep, 3, DAT_DTO_SUCCESS, 64);
out:
	link_free(&link);
}

/* What reads @iov gives @wanted; what writes it. */
static void sends_give(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov,
		       const DAT_RMR_TRIPLET *remote, DAT_RETURN wanted)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	ret_is("dat_ep_post_send", dat_ep_post_send(ep, 1, iov, cookie, 0),
	       wanted);
	ret_is("dat_ep_post_rdma_write",
	       dat_ep_post_rdma_write(ep, 1, iov, cookie, remote, 0), wanted);
}

static void receives_give(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov,
			  const DAT_RMR_TRIPLET *remote, DAT_RETURN wanted)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	ret_is("dat_ep_post_recv", dat_ep_post_recv(ep, 1, iov, cookie, 0),
	       wanted);
	ret_is("dat_ep_post_rdma_read",
	       dat_ep_post_rdma_read(ep, 1, iov, cookie, remote, 0), wanted);
}

/* mt:T30: local read is implied. */
static void source_works(struct link *link, DAT_LMR_TRIPLET *iov,
			 const DAT_RMR_TRIPLET *remote)
{
	const DAT_DTO_COOKIE sent = { .as_64 = 2 }, written = { .as_64 = 3 };
	struct node *a = &link->a, *b = &link->b;

	OK(node_recv(b, 0, 64, 1));
	OK(dat_ep_post_send(a->ep, 1, iov, sent, 0));
	want_dto(b->events, b->ep, 1, DAT_DTO_SUCCESS, 64);
	want_dto(a->events, a->ep, 2, DAT_DTO_SUCCESS, 64);
	OK(dat_ep_post_rdma_write(a->ep, 1, iov, written, remote, 0));
	want_dto(a->events, a->ep, 3, DAT_DTO_SUCCESS, 64);
}

static void rights_and_zones(void)
{
	const DAT_RETURN no_right_to_write = DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
						       DAT_PRIVILEGES_WRITE);
	struct mem read_only = {}, write_only = {}, none = {}, other = {};
	DAT_PZ_HANDLE own = side_a.pz, pz = NULL;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET remote;
	struct link link = {};
	DAT_EP_HANDLE ep;

	if (!link_new(&link, NULL, NULL) ||
	    !mem_new(&side_a, &read_only, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG) ||
	    !mem_new(&side_a, &write_only, 64, DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ||
	    !mem_new(&side_a, &none, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG) ||
	    !OK(dat_pz_create(side_a.ia, &pz)))
		goto out;
	side_a.pz = pz;
	if (!mem_new(&side_a, &other, 64, DAT_MEM_PRIV_ALL_FLAG))
		goto out;
	side_a.pz = own;
	ep = link.a.ep;
	remote = remote_piece(&link.b.mem, 0, 64);
	iov = piece(&read_only, 0, 64);
	receives_give(ep, &iov, &remote, no_right_to_write);
	iov = piece(&write_only, 0, 64);
	source_works(&link, &iov, &remote);
	iov = piece(&none, 0, 64);
	source_works(&link, &iov, &remote);
	receives_give(ep, &iov, &remote, no_right_to_write);
	iov = piece(&other, 0, 64);
	sends_give(ep, &iov, &remote, DAT_ERROR(DAT_PROTECTION_VIOLATION,
						DAT_PROTECTION_READ));
	receives_give(ep, &iov, &remote, DAT_ERROR(DAT_PROTECTION_VIOLATION,
						   DAT_PROTECTION_WRITE));
	nothing_more(link.a.events);
out:
	side_a.pz = own;
	link_free(&link);
	mem_free(&read_only);
	mem_free(&write_only);
	mem_free(&none);
	mem_free(&other);
	if (pz)
		OK(dat_pz_free(pz));
}

static void full_queues(void)
{
	DAT_EP_ATTR no_reads = node_attr;
	DAT_RMR_TRIPLET remote;
	struct link link = {};
	int i;

	no_reads.max_rdma_read_out = 0;
	if (!link_new(&link, &no_reads, NULL))
		goto out;
	remote = remote_piece(&link.b.mem, 0, 8);
	IS(node_read(&link.a, 0, 8, &remote, 1, 0), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_CREDITS);
	/* mt:T13, mt:T14, mt:T51: sends wait for the receives, and none is lost. */
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(node_send(&link.a, 0, 8, i, 0));
	IS(node_send(&link.a, 0, 8, 99, 0), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_MEMORY);
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&link.b, 0, 8, i));
	for (i = 0; i < NODE_RECVS; i++)
		want_dto(link.b.events, link.b.ep, i, DAT_DTO_SUCCESS, 8);
	for (i = 0; i < NODE_REQUESTS; i++)
		want_dto(link.a.events, link.a.ep, i, DAT_DTO_SUCCESS, 8);
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&link.b, 0, 8, i));
	IS(node_recv(&link.b, 0, 8, 99), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_MEMORY);
out:
	link_free(&link);
}

static void requests_by_state(void)
{
	DAT_RMR_TRIPLET remote;
	struct node a = {};

	if (!node_new(&a, &side_a, NULL))
		goto out;
	remote = remote_piece(&a.mem, 0, 8);
	BAD_STATE(node_send(&a, 0, 8, 1, 0), EP_UNCONNECTED);
	BAD_STATE(node_write(&a, 0, 8, &remote, 1, 0), EP_UNCONNECTED);
	BAD_STATE(node_read(&a, 0, 8, &remote, 1, 0), EP_UNCONNECTED);
	OK(node_recv(&a, 0, 8, 1));
	nothing_more(a.events);
out:
	node_free(&a);
}

/* ---- transfers that fail ------------------------------------------------ */

static bool ended(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_EVENT_BROKEN ||
	       number == DAT_CONNECTION_EVENT_DISCONNECTED;
}

/* The far side of a transfer that failed: all flushed, one event. */
static void far_side_ends(struct node *node, int flushes)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < flushes; i++)
		want_dto(node->events, node->ep, i, DAT_DTO_ERR_FLUSHED, 0);
	if (!next_event(node->events, &event))
		return;
	if (!ended(event.event_number))
		fail("%s, not BROKEN or DISCONNECTED",
		     event_name(event.event_number));
	state_is(node->ep, DAT_EP_STATE_DISCONNECTED);
	nothing_more(node->events);
}

static void too_long(void)
{
	struct link link = {};

	if (!link_new(&link, NULL, NULL))
		goto out;
	OK(node_recv(&link.b, 0, 32, 50));
	OK(node_recv(&link.b, 0, 32, 0));
	OK(node_recv(&link.a, 0, 64, 2));
	OK(node_send(&link.a, 0, 64, 1, 0));
	want_dto(link.a.events, link.a.ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER, 0);
	want_dto(link.a.events, link.a.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	want_conn(link.a.events, link.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	state_is(link.a.ep, DAT_EP_STATE_DISCONNECTED);
	nothing_more(link.a.events);
	/* rxe reports an operation error where hardware says length (facts 4) */
	want_dto(link.b.events, link.b.ep, 50, DAT_DTO_ERR_LOCAL_EP, 0);
	far_side_ends(&link.b, 1);
out:
	link_free(&link);
}

static void bad_remote(struct link *link, const DAT_RMR_TRIPLET *remote,
		       bool read)
{
	if (!link_new(link, NULL, NULL))
		return;
	/* Held up until all is posted: the peer has no receive yet. */
	OK(node_send(&link->a, 0, 8, 6, 0));
	if (read)
		OK(node_read(&link->a, 0, 64, remote, 7, 0));
	else
		OK(node_write(&link->a, 0, 64, remote, 7, 0));
	OK(node_send(&link->a, 0, 8, 8, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(node_recv(&link->b, 0, 32, 5));
	want_dto(link->b.events, link->b.ep, 5, DAT_DTO_SUCCESS, 8);
	want_dto(link->a.events, link->a.ep, 6, DAT_DTO_SUCCESS, 8);
	want_dto(link->a.events, link->a.ep, 7, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	want_dto(link->a.events, link->a.ep, 8, DAT_DTO_ERR_FLUSHED, 0);
	want_conn(link->a.events, link->a.ep, DAT_CONNECTION_EVENT_BROKEN);
	state_is(link->a.ep, DAT_EP_STATE_DISCONNECTED);
	OK(dat_ep_disconnect(link->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	nothing_more(link->a.events);
	far_side_ends(&link->b, 0);
}

static void remote_access(void)
{
	struct mem no_write = {}, elsewhere = {};
	DAT_PZ_HANDLE own = side_b.pz, pz = NULL;
	struct link link = {};
	DAT_RMR_TRIPLET remote;

	if (!mem_new(&side_b, &no_write, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG |
		     DAT_MEM_PRIV_REMOTE_READ_FLAG))
		goto out;
	/* No right; beyond the end; a context that is none. */
	remote = remote_piece(&no_write, 0, 64);
	bad_remote(&link, &remote, false);
	link_free(&link);
	memset(&link, 0, sizeof(link));
	remote = remote_piece(&no_write, 4096 - 63, 64);
	bad_remote(&link, &remote, true);
	link_free(&link);
	memset(&link, 0, sizeof(link));
	remote = remote_piece(&no_write, 0, 64);
	remote.rmr_context ^= 0x10000;
	bad_remote(&link, &remote, true);
	link_free(&link);
	memset(&link, 0, sizeof(link));
	/* mt:M2: all rights, but another zone than the endpoint's. */
	if (!OK(dat_pz_create(side_b.ia, &pz)))
		goto out;
	side_b.pz = pz;
	mem_new(&side_b, &elsewhere, 4096, DAT_MEM_PRIV_ALL_FLAG);
	side_b.pz = own;
	remote = remote_piece(&elsewhere, 0, 64);
	bad_remote(&link, &remote, false);
out:
	link_free(&link);
	mem_free(&no_write);
	mem_free(&elsewhere);
	if (pz)
		OK(dat_pz_free(pz));
}

const struct test_case dto_cases[] = {
	{ "mt:T42 mt:T48 mt:T49", "send and receive, 1 B to 64 KiB", sends },
	{ "mt:T2 mt:T3", "transfers of length 0", zero_length },
	{ "mt:T4 mt:T33", "many segments", segments },
	{ "mt:T33 mt:T43 mt:T48", "RDMA write, RDMA read, fence", rdma },
	{ "mt:T48 mt:T49", "1 MiB of each kind", large },
	{ "mt:T15 mt:T20 mt:T24 D40", "suppressed completions", suppressed },
	{ "mt:T15", "nothing but suppressed completions", only_suppressed },
	{ "mt:T21 E21", "unsignalled: only where it is set up", unsignalled },
	{ "mt:T21 mt:T22 mt:T24 mt:T28 E106",
	  "unsignalled and solicited completions",
	  unsignalled_and_solicited },
	{ "mt:T1 mt:T2 mt:T5 mt:T19 mt:T33 mt:T34 E2",
	  "posts that are refused", refused_posts },
	{ "mt:T29 mt:T30", "rights and zones of local memory", rights_and_zones },
	{ "mt:T13 mt:T14 mt:T16 mt:T51", "full queues, and a peer that is not ready",
	  full_queues },
	{ "mt:T9 mt:T10", "requests before the connection", requests_by_state },
	{ "mt:T50 mt:T52 E48", "a message longer than the receive", too_long },
	{ "T33 D52 D53 mt:M2 mt:M46 mt:T32 mt:T41 mt:T55",
	  "remote memory that is not there",
	  remote_access },
	{}
};
