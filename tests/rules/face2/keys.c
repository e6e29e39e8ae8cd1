// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls of DAT 2.0 that are about keys of memory: messages that invalidate the peer's, reads to
 * what an RMR shows. In udat2_rules only; kernel consumers have some of it by <dat/kdat_linux.h>
 * (kernel/fmr_remote.c).
 */
#define TWELVE_ITSELF
#include "../memory.h"
#include "../user/user.h"

#define REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define BROKEN	DAT_CONNECTION_EVENT_BROKEN

/* RULING 75: can peers invalidate the keys of side b's RMRs? */
static bool revocable(void)
{
	const DAT_PROVIDER_ATTR *provider = &side_b.provider;
	DAT_COUNT i;

	for (i = 0; i < provider->num_provider_specific_attr; i++)
		if (!strcmp(provider->provider_specific_attr[i].name, "rmr_invalidation"))
			return CHECK(!strcmp(provider->provider_specific_attr[i].value, "PZ"));
	return false;
}

static DAT_RETURN post_invalidate(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				  u64 number, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT key)
{
	return dat_ep_post_send_with_invalidate(ep, segments, iov, cookie(number), flags,
						DAT_TRUE, key);
}

/* The next event is the completion of a DTO, which was this one. */
static bool did_at(int line, DAT_EVD_HANDLE evd, u64 number, DAT_DTO_COMPLETION_STATUS status,
		   DAT_DTOS operation, DAT_RMR_CONTEXT key)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!want_event_at(__FILE__, line, evd, DAT_DTO_COMPLETION_EVENT, &event))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	return CHECK_EQ(dto->user_cookie.as_64, number) && CHECK_EQ(dto->status, status) &&
	       CHECK_EQ(dto->operation, operation) && CHECK_EQ(dto->rmr_context, key);
}

#define did(...)	did_at(__LINE__, __VA_ARGS__)

static bool bind_now(struct node *node, DAT_RMR_HANDLE rmr, const struct mem *mem,
		     DAT_RMR_TRIPLET *window)
{
	DAT_LMR_TRIPLET triplet = piece(mem, 0, 64);

	*window = remote_piece(mem, 0, 64);
	return OK(dat_rmr_bind(rmr, mem->lmr, &triplet, REMOTE, DAT_VA_TYPE_VA, node->ep,
			       cookie(600), 0, &window->rmr_context)) &&
	       want_bound(node->request, rmr, 600, DAT_DTO_SUCCESS);
}

static DAT_RMR_CONTEXT shown(DAT_RMR_HANDLE rmr)
{
	DAT_RMR_PARAM param = { 0 };

	OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(!param.rmr_context, !param.lmr_triplet.segment_length);
	return param.rmr_context;
}

/* Side b has an RMR that shows the beginning of memory without rights of its own for peers. */
static bool shows_new(struct pair *p, struct mem *mem, DAT_RMR_HANDLE *rmr,
		      DAT_RMR_TRIPLET *window)
{
	return pair_new(p, THREE_EVDS, NULL, NULL) && mem_new(&side_b, mem, PAGE, LOCAL) &&
	       OK(dat_rmr_create(side_b.pz, rmr)) && bind_now(&p->b, *rmr, mem, window);
}

/* V1: it is a send in all but what it does to the key. */
static void as_a_send(void)
{
	DAT_LMR_TRIPLET iov;
	struct pair p = { 0 };
	DAT_EP_HANDLE ep;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL))
		return;
	ep = p.a.ep;
	iov = piece(&p.a.mem, 0, 64);
	BAD_STATE(post_invalidate(ep, 1, &iov, 1, 0, 5), EP_UNCONNECTED);
	BAD_HANDLE(post_invalidate(p.a.conn, 1, &iov, 1, 0, 5), EP);
	BAD_HANDLE(dat_ep_post_send_with_invalidate(p.a.conn, 1, &iov, cookie(1), 0, DAT_FALSE, 5),
		   EP);
	BAD_ARG(post_invalidate(ep, -1, &iov, 1, 0, 5), 2);
	BAD_ARG(post_invalidate(ep, 33, &iov, 1, 0, 5), 2);
	BAD_ARG(post_invalidate(ep, 1, NULL, 1, 0, 5), 3);
	BAD_ARG(post_invalidate(ep, 1, &iov, 1, 0x1000, 5), 5);
	iov.lmr_context ^= 0x5a5a5a;
	IS(post_invalidate(ep, 1, &iov, 1, 0, 5), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
	iov = piece(&p.a.mem, 0, 64);
	if (!pair_connect(&p.a, &p.b, &p.listener))
		return;
	/* Without the flag it is one. */
	OK(node_recv(&p.b, 0, 64, 1));
	OK(dat_ep_post_send_with_invalidate(ep, 1, &iov, cookie(2), 0, DAT_FALSE, 5));
	did(p.b.recv, 1, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE, 0);
	did(p.a.request, 2, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(post_invalidate(ep, 1, &iov, 3, 0, 5));
	did(p.a.request, 3, DAT_DTO_ERR_FLUSHED, DAT_DTO_SEND, 0);
}

/*
 * Is a message that takes a key told from others? libsiw passes on no completion that says so
 * (Documentation/drivers.rst).
 */
static bool told_apart(void)
{
	return !side_is_passthrough(&side_b) || !side_is_iwarp(&side_b);
}

/* The peer has no right to invalidate the key that it names: its message is not received. */
static void breaks(struct pair *p, DAT_RMR_CONTEXT key)
{
	DAT_LMR_TRIPLET iov = piece(&p->a.mem, 0, 64);

	OK(node_recv(&p->b, 128, 64, 11));
	OK(post_invalidate(p->a.ep, 1, &iov, 12, 0, key));
	did(p->b.recv, 11, DAT_DTO_ERR_BAD_RESPONSE, DAT_DTO_RECEIVE, 0);
	want_conn(p->b.conn, p->b.ep, BROKEN);
}

/* V2, V3: the receive says which key is gone; nothing is shown, and the LMR not in use. */
static void a_key(void)
{
	DAT_RMR_TRIPLET window, next;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_HANDLE rmr;
	struct pair p = { 0 };
	struct mem mem;

	CHECK_EQ(revocable(), !side_is_passthrough(&side_b));
	if (!shows_new(&p, &mem, &rmr, &window))
		return;
	iov = piece(&p.a.mem, 0, 64);
	OK(node_write(&p.a, 0, 64, &window, 1, 0));
	did(p.a.request, 1, DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE, 0);
	if (!told_apart())
		return;
	if (!revocable()) {
		breaks(&p, window.rmr_context);
		CHECK_EQ(shown(rmr), window.rmr_context);
		return;
	}
	OK(node_recv(&p.b, 0, 64, 2));
	OK(node_recv(&p.b, 64, 64, 3));
	OK(post_invalidate(p.a.ep, 1, &iov, 4, DAT_COMPLETION_BARRIER_FENCE_FLAG,
			   window.rmr_context));
	did(p.b.recv, 2, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE_WITH_INVALIDATE, window.rmr_context);
	did(p.a.request, 4, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	CHECK_EQ(shown(rmr), 0);
	mem_free(&mem);

	/* V4: bound again it has another key, and the connection is as it was. */
	if (!mem_new(&side_b, &mem, PAGE, LOCAL) || !bind_now(&p.b, rmr, &mem, &next))
		return;
	CHECK(next.rmr_context != window.rmr_context);
	OK(node_write(&p.a, 0, 64, &next, 5, 0));
	did(p.a.request, 5, DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE, 0);
	OK(node_send(&p.a, 0, 64, 6, 0));
	did(p.b.recv, 3, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE, 0);
	did(p.a.request, 6, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	/* The peer reaches nothing by the key that is gone. */
	window.virtual_address = next.virtual_address;
	refuses(&p, RDMA_WRITE, &window);
	CHECK_EQ(shown(rmr), next.rmr_context);
}

/* V4: an unbind of what is not shown any more, and the end of the RMR. */
static void unbound_and_freed(void)
{
	DAT_LMR_TRIPLET nothing = { 0 };
	DAT_RMR_CONTEXT context = 7;
	DAT_RMR_TRIPLET window;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_HANDLE rmr;
	struct pair p = { 0 };
	struct mem mem;

	if (!revocable() || !shows_new(&p, &mem, &rmr, &window))
		return;
	iov = piece(&p.a.mem, 0, 64);
	OK(node_recv(&p.b, 0, 64, 1));
	OK(post_invalidate(p.a.ep, 1, &iov, 2, 0, window.rmr_context));
	did(p.b.recv, 1, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE_WITH_INVALIDATE, window.rmr_context);
	did(p.a.request, 2, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	OK(dat_rmr_bind(rmr, DAT_HANDLE_NULL, &nothing, 0, DAT_VA_TYPE_VA, p.b.ep, cookie(3), 0,
			&context));
	want_bound(p.b.request, rmr, 3, DAT_DTO_SUCCESS);
	CHECK_EQ(context, 0);
	OK(dat_rmr_free(rmr));
	/* ... once more: it was there a moment ago. */
	breaks(&p, window.rmr_context);
}

/* V3 V4: the message is there before a bind, and its receive is looked at after it. */
static void before_a_bind(void)
{
	DAT_RMR_TRIPLET window, next;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_HANDLE rmr;
	struct pair p = { 0 };
	struct mem mem;

	if (!revocable() || !shows_new(&p, &mem, &rmr, &window))
		return;
	iov = piece(&p.a.mem, 0, 64);
	OK(node_recv(&p.b, 0, 64, 1));
	OK(post_invalidate(p.a.ep, 1, &iov, 2, 0, window.rmr_context));
	did(p.a.request, 2, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	if (!bind_now(&p.b, rmr, &mem, &next))
		return;
	did(p.b.recv, 1, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE_WITH_INVALIDATE, window.rmr_context);
	CHECK_EQ(shown(rmr), next.rmr_context);
	OK(node_write(&p.a, 0, 64, &next, 3, 0));
	did(p.a.request, 3, DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE, 0);
}

/* V3, mt:M81: the key of an LMR, and one that there never was. */
static void other_keys(void)
{
	unsigned int i;

	for (i = 0; i < 2 && told_apart() && !failed(); i++) {
		struct pair p = { 0 };
		struct mem mem;

		if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
		    !mem_new(&side_b, &mem, PAGE, DAT_MEM_PRIV_ALL_FLAG))
			return;
		breaks(&p, i ? mem.rmr_context ^ 0x5a5a00 : mem.rmr_context);
		pair_free(&p);
	}
}

/* V3: the RMR of another zone is none of this endpoint's. */
static void another_zone(void)
{
	DAT_RMR_TRIPLET window;
	struct pair p = { 0 };
	struct pair other = { 0 };
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE zone = side_b.pz, mine;
	struct mem mem;

	if (!told_apart() || !pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_pz_create(side_b.ia, &mine)))
		return;
	side_b.pz = mine;
	if (shows_new(&other, &mem, &rmr, &window))
		breaks(&p, window.rmr_context);
	side_b.pz = zone;
	state_is(other.b.ep, DAT_EP_STATE_CONNECTED);
	CHECK_EQ(shown(rmr), window.rmr_context);
}

/* V2: one of several messages; a receive of a shared receive queue says it, too. */
static void among_messages(void)
{
	DAT_RMR_TRIPLET window;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_HANDLE rmr;
	struct pair p = { 0 };
	struct mem mem;

	if (!revocable() || !shows_new(&p, &mem, &rmr, &window))
		return;
	iov = piece(&p.a.mem, 0, 64);
	OK(node_recv(&p.b, 0, 64, 1));
	OK(node_recv(&p.b, 64, 64, 2));
	OK(post_invalidate(p.a.ep, 1, &iov, 3, 0, window.rmr_context));
	OK(node_send(&p.a, 0, 64, 4, 0));
	did(p.b.recv, 1, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE_WITH_INVALIDATE, window.rmr_context);
	did(p.b.recv, 2, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE, 0);
	did(p.a.request, 3, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	did(p.a.request, 4, DAT_DTO_SUCCESS, DAT_DTO_SEND, 0);
	CHECK_EQ(shown(rmr), 0);
}

/* ---- reads to an RMR ------------------------------------------------------- */

static DAT_RETURN post_read(struct node *node, const DAT_RMR_TRIPLET *to, u64 number,
			    const DAT_RMR_TRIPLET *from, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_read_to_rmr(node->ep, to, cookie(number), from, flags);
}

/*
 * Memory of side b that an RMR of its shows from byte 64 to 192.  On iWARP what a read fetches goes
 * to memory that peers may write (mt:T35).
 */
static bool sink_new(struct pair *p, struct mem *mem, DAT_RMR_HANDLE *rmr, DAT_RMR_TRIPLET *sink,
		     DAT_MEM_PRIV_FLAGS rights)
{
	DAT_LMR_TRIPLET triplet;

	if (!pair_new(p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_b, mem, PAGE, side_is_iwarp(&side_b) ? DAT_MEM_PRIV_ALL_FLAG : LOCAL) ||
	    !OK(dat_rmr_create(side_b.pz, rmr)))
		return false;
	triplet = piece(mem, 64, 128);
	*sink = remote_piece(mem, 64, 128);
	return OK(dat_rmr_bind(*rmr, mem->lmr, &triplet, rights, DAT_VA_TYPE_VA, p->b.ep,
			       cookie(600), 0, &sink->rmr_context)) &&
	       want_bound(p->b.request, *rmr, 600, DAT_DTO_SUCCESS);
}

/* V5: the data come to the bytes that were named, and to no others. */
static void read_to(void)
{
	DAT_RMR_TRIPLET sink, from;
	DAT_LMR_TRIPLET nothing = { 0 }, next;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct pair p = { 0 };
	struct mem mem;
	u8 *bytes;

	if (!sink_new(&p, &mem, &rmr, &sink, REMOTE))
		return;
	bytes = mem.va;
	memset(bytes, 1, PAGE);
	memset(p.a.mem.va, 2, 256);
	from = remote_piece(&p.a.mem, 0, 128);
	OK(post_read(&p.b, &sink, 1, &from, 0));
	did(p.b.request, 1, DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ, 0);
	CHECK(bytes[63] == 1 && bytes[64] == 2 && bytes[191] == 2 && bytes[192] == 1);
	/* A part of it, and of less than there is room for; none at all. Soft-iWARP: no fence. */
	memset(bytes, 1, PAGE);
	sink.virtual_address += 16;
	sink.segment_length = 32;
	from.segment_length = 24;
	OK(post_read(&p.b, &sink, 2, &from,
		     side_is_iwarp(&side_b) ? 0 : DAT_COMPLETION_BARRIER_FENCE_FLAG));
	did(p.b.request, 2, DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ, 0);
	CHECK(bytes[79] == 1 && bytes[80] == 2 && bytes[103] == 2 && bytes[104] == 1);
	sink.segment_length = 0;
	from.segment_length = 0;
	OK(post_read(&p.b, &sink, 3, &from, 0));
	did(p.b.request, 3, DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ, 0);
	CHECK(bytes[80] == 2 && bytes[79] == 1);

	/* Behind a bind, by the key that this has given; and not any more behind an unbind. */
	from.segment_length = 16;
	sink = remote_piece(&mem, 1024, 16);
	next = piece(&mem, 1024, 16);
	OK(dat_rmr_bind(rmr, mem.lmr, &next, REMOTE, DAT_VA_TYPE_VA, p.b.ep, cookie(4), 0,
			&sink.rmr_context));
	OK(post_read(&p.b, &sink, 5, &from, 0));
	want_bound(p.b.request, rmr, 4, DAT_DTO_SUCCESS);
	did(p.b.request, 5, DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ, 0);
	CHECK(bytes[1023] == 1 && bytes[1024] == 2 && bytes[1039] == 2 && bytes[1040] == 1);
	OK(dat_rmr_bind(rmr, DAT_HANDLE_NULL, &nothing, 0, DAT_VA_TYPE_VA, p.b.ep, cookie(6), 0,
			&context));
	want_bound(p.b.request, rmr, 6, DAT_DTO_SUCCESS);
	IS(post_read(&p.b, &sink, 7, &from, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	OK(dat_rmr_free(rmr));
	IS(post_read(&p.b, &sink, 7, &from, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	sink.segment_length = 0;
	from.segment_length = 0;
	OK(post_read(&p.b, &sink, 8, &from, 0));
	did(p.b.request, 8, DAT_DTO_ERR_FLUSHED, DAT_DTO_RDMA_READ, 0);
}

/* V5: what is refused, and changes nothing. */
static void read_to_refused(void)
{
	DAT_RMR_TRIPLET sink, from, bad;
	DAT_RMR_HANDLE rmr, other;
	DAT_PZ_HANDLE zone = side_b.pz, mine;
	struct pair p = { 0 }, q = { 0 };
	struct mem mem, theirs;

	if (!sink_new(&p, &mem, &rmr, &sink, REMOTE))
		return;
	from = remote_piece(&p.a.mem, 0, 64);
	BAD_HANDLE(dat_ep_post_rdma_read_to_rmr(p.b.conn, &sink, cookie(1), &from, 0), EP);
	BAD_ARG(post_read(&p.b, NULL, 1, &from, 0), 2);
	BAD_ARG(post_read(&p.b, &sink, 1, NULL, 0), 4);
	BAD_ARG(post_read(&p.b, &sink, 1, &from, 0x1000), 5);
	BAD_ARG(post_read(&p.b, &sink, 1, &from, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 5);
	bad = from;
	bad.virtual_address = ~0ull - 8;
	BAD_ARG(post_read(&p.b, &sink, 1, &bad, 0), 4);
	/* Not all of it is shown. */
	bad = sink;
	bad.virtual_address--;
	BAD_ARG(post_read(&p.b, &bad, 1, &from, 0), 2);
	bad = sink;
	bad.virtual_address++;
	BAD_ARG(post_read(&p.b, &bad, 1, &from, 0), 2);
	bad = sink;
	bad.segment_length = ~0U;
	BAD_ARG(post_read(&p.b, &bad, 1, &from, 0), 2);
	/* No key of an RMR: an LMR's, and none at all */
	bad = sink;
	bad.rmr_context = mem.context;
	IS(post_read(&p.b, &bad, 1, &from, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	bad.rmr_context = 0;
	IS(post_read(&p.b, &bad, 1, &from, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	/* More comes than there is room for. */
	bad = from;
	bad.segment_length = 129;
	IS(post_read(&p.b, &sink, 1, &bad, 0), DAT_LENGTH_ERROR, 0);
	/* One that peers may not write to */
	if (!sink_new(&q, &theirs, &other, &bad, DAT_MEM_PRIV_REMOTE_READ_FLAG))
		return;
	IS(post_read(&q.b, &bad, 1, &from, 0), DAT_PRIVILEGES_VIOLATION,
	   DAT_PRIVILEGES_RDMA_WRITE);
	/* The order: key, range, rights; all of them before the peer's segment and the flags. */
	bad.virtual_address++;
	BAD_ARG(post_read(&q.b, &bad, 1, &from, 0), 2);
	bad.virtual_address--;
	IS(post_read(&q.b, &bad, 1, &from, 0x1000), DAT_PRIVILEGES_VIOLATION,
	   DAT_PRIVILEGES_RDMA_WRITE);
	bad.virtual_address++;
	bad.rmr_context = 0;
	IS(post_read(&q.b, &bad, 1, &from, 0x1000), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_WRITE);
	pair_free(&q);
	/* ... and one of another zone */
	if (!OK(dat_pz_create(side_b.ia, &mine)))
		return;
	side_b.pz = mine;
	if (sink_new(&q, &theirs, &other, &bad, REMOTE))
		IS(post_read(&p.b, &bad, 1, &from, 0), DAT_PROTECTION_VIOLATION,
		   DAT_PROTECTION_WRITE);
	side_b.pz = zone;
	nothing_more(p.b.request);
	state_is(p.b.ep, DAT_EP_STATE_CONNECTED);
}

static const struct scenario scenarios[] = {
	SCENARIO("V1 a send with invalidate is a send", as_a_send),
	SCENARIO("V2 V3 V4 a message invalidates a key", a_key),
	SCENARIO("V4 an RMR after that: unbound, freed", unbound_and_freed),
	SCENARIO("V3 V4 a message that is seen after a bind", before_a_bind),
	SCENARIO("V3 mt:M81 keys that no message may invalidate", other_keys),
	SCENARIO("V3 a key of another zone", another_zone),
	SCENARIO("V2 an invalidation among messages", among_messages, .srq = SRQ_B),
	SCENARIO("V5 a read to an RMR", read_to),
	SCENARIO("V5 reads to an RMR that are refused", read_to_refused),
};

SCENARIO_TABLE(keys_table);
