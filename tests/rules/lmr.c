// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Local memory regions: what they admit, local checks of posts, and their end,
 * with transfers in flight too.
 */
#include "memory.h"

#define LOCAL_READ	DAT_MEM_PRIV_LOCAL_READ_FLAG
#define LOCAL_WRITE	DAT_MEM_PRIV_LOCAL_WRITE_FLAG
#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define ALL		DAT_MEM_PRIV_ALL_FLAG

/* ---- what an LMR admits ------------------------------------------------- */

/* Neither end is that of a page. */
static bool unaligned(struct mem *mem, struct mem *around)
{
	around->size = 3 * PAGE;
	around->va = scenario_alloc(around->size);
	mem->va = around->va + 1001;
	mem->size = 5003;
	return around->va;
}

static void exact_bytes(void)
{
	struct mem mem = {}, around;
	struct pair p = {};
	DAT_RMR_TRIPLET at;
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !unaligned(&mem, &around) ||
	    !mem_register(&side_b, side_b.pz, &mem, ALL))
		return;
	at = remote_piece(&mem, 0, mem.size);
	admits(&p, RDMA_WRITE, &at, mem.va);
	admits(&p, RDMA_READ, &at, mem.va);
	mem_fill(&around, 0, around.size, 1);
	for (i = 0; i < 8 && !failed(); i++) {
		/* One byte more at each end, alone and with the rest. */
		at = remote_piece(&mem, i & 1 ? mem.size : (size_t)-1, 1);
		if (i & 2)
			at.segment_length = mem.size + 1;
		if (i & 2 && i & 1)
			at.target_address -= mem.size;
		/* What lies inside may be written before the rest is refused. */
		if (i & 2 && !(i & 4) && side_is_iwarp(&side_a))
			continue;
		refuses(&p, i & 4 ? RDMA_READ : RDMA_WRITE, &at);
	}
	mem_check(&around, 0, around.size, 1);
}

/* mt:M15, mt:M46: each right alone, through an rmr_context that has it. */
static void remote_rights(void)
{
	struct pair p = {};
	struct mem mem;
	DAT_RMR_TRIPLET at;
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < 4 && !failed(); i++) {
		if (!mem_new(&side_b, &mem, PAGE, LOCAL_READ | LOCAL_WRITE |
			     (i & 1 ? REMOTE_READ : 0) |
			     (i & 2 ? REMOTE_WRITE : 0)))
			return;
		at = remote_piece(&mem, 100, 1000);
		/* 0 is no key, which nobody gets anywhere with. */
		CHECK(!!mem.rmr_context == !!i);
		mem_fill(&mem, 0, PAGE, i);
		if (i & 1)
			admits(&p, RDMA_READ, &at, mem.va + 100);
		else if (!i || reads_need_right())
			refuses(&p, RDMA_READ, &at);
		if (i & 2)
			admits(&p, RDMA_WRITE, &at, mem.va + 100);
		else
			refuses(&p, RDMA_WRITE, &at);
		mem_check(&mem, 0, 100, i);
		if (!i)
			mem_check(&mem, 0, PAGE, i);
		mem_free(&mem);
	}
}

/* mt:M2: the EP where it arrives has another PZ. */
static void remote_zone(void)
{
	DAT_PZ_HANDLE mine = side_b.pz;
	struct pair p = {};
	DAT_RMR_TRIPLET at;
	struct mem mem;

	if (!OK(dat_pz_create(side_b.ia, &side_b.pz)) ||
	    !pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	mem.size = PAGE;
	mem.va = scenario_alloc(PAGE);
	if (!mem.va || !mem_register(&side_b, mine, &mem, ALL))
		return;
	at = remote_piece(&mem, 0, 100);
	mem_fill(&mem, 0, PAGE, 3);
	refuses(&p, RDMA_WRITE, &at);
	refuses(&p, RDMA_READ, &at);
	mem_check(&mem, 0, PAGE, 3);
	/* The same memory once more, in that zone (mt:M18). */
	if (!mem_register(&side_b, side_b.pz, &mem, ALL))
		return;
	at = remote_piece(&mem, 0, 100);
	admits(&p, RDMA_WRITE, &at, mem.va);
}

/* Overlapping LMRs over the same pages; each lives for itself. */
static void overlapping(void)
{
	struct mem mem[3];
	struct footprint before;
	struct pair p = {};
	DAT_RMR_TRIPLET at;
	u8 *va = scenario_alloc(16 * PAGE);
	int i;

	if (!va || !pair_new(&p, ONE_EVD, NULL, NULL) || !footprint(&before))
		return;
	for (i = 0; i < 3; i++) {
		mem[i].va = va + i * PAGE;
		mem[i].size = 8 * PAGE;
		if (!mem_register(&side_b, side_b.pz, &mem[i], ALL))
			return;
	}
	footprint_grew(&before, 3 * 8 * PAGE, 3);
	for (i = 0; i < 3; i++) {
		at = remote_piece(&mem[2], PAGE, PAGE);
		admits(&p, RDMA_WRITE, &at, mem[2].va + PAGE);
		OK(dat_lmr_free(mem[i].lmr));
		if (i)
			footprint_grew(&before, (2 - i) * 8 * PAGE, 2 - i);
	}
	refuses(&p, RDMA_WRITE, &at);
}

/* mt:M7, mt:M8: rights and zone of its own, and no need of the original. */
static void lmr_of_lmr(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM param;
	struct footprint before;
	struct mem first, second;
	struct pair p = {};
	DAT_RMR_TRIPLET at;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !footprint(&before) ||
	    !mem_new(&side_b, &first, 4 * PAGE, LOCAL_READ | LOCAL_WRITE))
		return;
	region.for_lmr_handle = first.lmr;
	second = first;
	if (!OK(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_LMR, region, 1,
				    side_b.pz, ALL, &second.lmr,
				    &second.context, &second.rmr_context)))
		return;
	CHECK(second.context != first.context);
	at = remote_piece(&second, PAGE - 10, 2 * PAGE);
	admits(&p, RDMA_WRITE, &at, second.va + PAGE - 10);
	OK(dat_lmr_free(first.lmr));
	/* The pages stay pinned for the other one, and are charged, and its list of them. */
	footprint_grew_with(1, &before, 4 * PAGE, 1);
	admits(&p, RDMA_WRITE, &at, second.va + PAGE - 10);
	if (OK(dat_lmr_query(second.lmr, DAT_LMR_FIELD_ALL, &param)))
		CHECK(param.region_desc.for_lmr_handle == first.lmr);
	BAD_HANDLE(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_LMR, region, 1,
				       side_b.pz, ALL, &first.lmr, NULL, NULL),
		   LMR);
	region.for_lmr_handle = second.lmr;
	BAD_HANDLE(platform_lmr_create(side_a.ia, DAT_MEM_TYPE_LMR, region, 1,
				       side_a.pz, ALL, &first.lmr, NULL, NULL),
		   LMR);
	OK(dat_lmr_free(second.lmr));
	footprint_grew(&before, 0, 0);
	refuses(&p, RDMA_WRITE, &at);
}

/* Registered, looked at, freed, and once more over the same bytes. */
static void life(void)
{
	DAT_REGION_DESCRIPTION region;
	struct mem mem, first, second;
	DAT_LMR_PARAM param;
	DAT_VADDR address;
	DAT_VLEN size;

	first.size = 2 * PAGE;
	first.va = scenario_alloc(first.size);
	if (!first.va)
		return;
	mem.va = first.va + 5;
	mem.size = 5001;
	region.for_va = mem.va;
	if (!OK(platform_lmr_register(side_a.ia, DAT_MEM_TYPE_VIRTUAL, region,
				      mem.size, side_a.pz, ALL, &mem.lmr,
				      &mem.context, &mem.rmr_context, &size,
				      &address)))
		return;
	CHECK_EQ(size, mem.size);
	CHECK_EQ(address, (uintptr_t)mem.va);
	CHECK(mem.rmr_context);
	if (OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param))) {
		CHECK(param.ia_handle == side_a.ia);
		CHECK(param.pz_handle == side_a.pz);
		CHECK_EQ(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
		CHECK(param.region_desc.for_va == mem.va);
		CHECK_EQ(param.length, mem.size);
		CHECK_EQ(param.mem_priv, ALL);
		CHECK_EQ(param.lmr_context, mem.context);
		CHECK_EQ(param.rmr_context, mem.rmr_context);
		CHECK_EQ(param.registered_size, mem.size);
		CHECK_EQ(param.registered_address, address);
	}
	OK(dat_lmr_free(mem.lmr));
	BAD_HANDLE(dat_lmr_free(mem.lmr), LMR);
	BAD_HANDLE(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param), LMR);
	/* mt:M27: a context is not used again at once. */
	second = mem;
	mem_register(&side_a, side_a.pz, &second, ALL);
	CHECK(second.context != mem.context);
	CHECK(second.rmr_context != mem.rmr_context);
	OK(dat_lmr_free(second.lmr));
	/* mt:M15: without remote rights there is no rmr_context. */
	mem_register(&side_a, side_a.pz, &mem, REMOTE_READ);
	CHECK(mem.rmr_context);
	mem_register(&side_a, side_a.pz, &mem, LOCAL_READ);
	CHECK_EQ(mem.rmr_context, 0);
	mem_register(&side_a, side_a.pz, &first, 0);
	CHECK_EQ(first.rmr_context, 0);
	/* mt:M7: all of the original, whatever length is asked for. */
	region.for_lmr_handle = first.lmr;
	OK(platform_lmr_register(side_a.ia, DAT_MEM_TYPE_LMR, region, 1,
				 side_a.pz, ALL, &second.lmr, &second.context,
				 &second.rmr_context, &size, &address));
	CHECK_EQ(size, first.size);
	CHECK_EQ(address, (uintptr_t)first.va);
	CHECK(second.context != first.context);
	OK(dat_lmr_free(first.lmr));
	if (OK(dat_lmr_query(second.lmr, DAT_LMR_FIELD_ALL, &param))) {
		CHECK_EQ(param.mem_type, DAT_MEM_TYPE_LMR);
		CHECK(param.region_desc.for_lmr_handle == first.lmr);
		CHECK_EQ(param.registered_size, first.size);
	}
	OK(dat_lmr_free(second.lmr));
}

/* The same bytes three times, in two zones; each by itself (mt:M18). */
static void many_times(void)
{
	DAT_LMR_TRIPLET t[3];
	struct mem mem[3];
	struct pair p = {};
	DAT_PZ_HANDLE zone;
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_pz_create(side_a.ia, &zone)))
		return;
	for (i = 0; i < 3; i++) {
		mem[i].va = p.a.mem.va + 100 * i;
		mem[i].size = 5000;
		if (!mem_register(&side_a, i == 2 ? zone : side_a.pz, &mem[i],
				  ALL))
			return;
		CHECK(mem[i].context != p.a.mem.context);
		CHECK(!i || mem[i].context != mem[i - 1].context);
		t[i] = piece(&p.a.mem, 200, 64);
		t[i].lmr_context = mem[i].context;
	}
	mem_fill(&p.a.mem, 200, 64, 9);
	for (i = 0; i < 2; i++) {
		memset(p.b.mem.va, 0, 64);
		OK(node_recv(&p.b, 0, 64, i));
		OK(dat_ep_post_send(p.a.ep, 1, &t[i], cookie(i), 0));
		want_done(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS);
		mem_check(&p.b.mem, 0, 64, 9);
		OK(dat_lmr_free(mem[i].lmr));
	}
	IS(dat_ep_post_send(p.a.ep, 1, &t[2], cookie(1), 0),
	   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
}

/* mt:M68: a peer's RDMA and our own eyes, with a call between. */
static void sync_around_rdma(void)
{
	struct pair p = {};
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	t = piece(&p.b.mem, 0, 4096);
	r = remote_piece(&p.b.mem, 0, 4096);
	mem_fill(&p.a.mem, 0, 4096, 1);
	OK(node_write(&p.a, 0, 4096, &r, 1, 0));
	want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	OK(dat_lmr_sync_rdma_write(side_b.ia, &t, 1));
	mem_arrives(&p.b.mem, 0, 4096, 1);
	mem_fill(&p.b.mem, 0, 4096, 2);
	OK(dat_lmr_sync_rdma_read(side_b.ia, &t, 1));
	OK(node_read(&p.a, 8192, 4096, &r, 2, 0));
	want_done(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	mem_check(&p.a.mem, 8192, 4096, 2);
}

/* ---- the checks of posts ------------------------------------------------ */

enum transfer { SEND, RECEIVE, WRITE_FROM, READ_INTO, NR_DTOS };

static DAT_RETURN post_iov(struct pair *p, enum transfer dto, DAT_COUNT n,
			   DAT_LMR_TRIPLET *iov, u64 remote_length, u64 number)
{
	DAT_RMR_TRIPLET remote = remote_piece(&p->b.mem, 0, remote_length);
	DAT_EP_HANDLE ep = p->a.ep;

	switch (dto) {
	case SEND:
		return dat_ep_post_send(ep, n, iov, cookie(number), 0);
	case RECEIVE:
		return dat_ep_post_recv(ep, n, iov, cookie(number), 0);
	case WRITE_FROM:
		return dat_ep_post_rdma_write(ep, n, iov, cookie(number),
					      &remote, 0);
	default:
		return dat_ep_post_rdma_read(ep, n, iov, cookie(number),
					     &remote, 0);
	}
}

static bool is_sink(enum transfer dto)
{
	return dto == RECEIVE || dto == READ_INTO;
}

static DAT_RETURN no_protection(enum transfer dto)
{
	return DAT_ERROR(DAT_PROTECTION_VIOLATION, is_sink(dto) ?
			 DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

static DAT_RETURN no_privilege(void)
{
	return DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
}

/* One segment of 8 bytes, or two. */
static void post_is(struct pair *p, enum transfer dto, DAT_LMR_TRIPLET first,
		    const DAT_LMR_TRIPLET *second, DAT_RETURN ret)
{
	DAT_LMR_TRIPLET iov[2] = { first };

	/* On iWARP a read has one segment. */
	if (second && dto == READ_INTO &&
	    side_a.attr.max_iov_segments_per_rdma_read < 2)
		return;
	if (second)
		iov[1] = *second;
	if (!EXPECT(post_iov(p, dto, second ? 2 : 1, iov, 16, 40), ret))
		FAIL("kind of DTO %d", dto);
}

static void outside(struct pair *p, enum transfer dto, const struct mem *mem)
{
	const DAT_RETURN arg3 = DAT_ERROR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG3);
	DAT_LMR_TRIPLET s;

	post_is(p, dto, piece(mem, -1, 8), NULL, arg3);
	post_is(p, dto, piece(mem, mem->size - 7, 8), NULL, arg3);
	post_is(p, dto, piece(mem, mem->size, 1), NULL, arg3);
	s = piece(mem, 8, 0);
	s.segment_length = -8;
	post_is(p, dto, s, NULL, arg3);
	s.virtual_address = ~0ULL;
	s.segment_length = 8;
	post_is(p, dto, s, NULL, arg3);
}

/* mt:T30: local read is implied. */
static void source_works(struct pair *p, const struct mem *mem)
{
	DAT_LMR_TRIPLET iov = piece(mem, 0, 8);

	OK(node_recv(&p->b, 0, 8, 41));
	OK(post_iov(p, SEND, 1, &iov, 8, 42));
	want_done(p->b.recv, p->b.ep, 41, DAT_DTO_SUCCESS);
	want_done(p->a.request, p->a.ep, 42, DAT_DTO_SUCCESS);
	OK(post_iov(p, WRITE_FROM, 1, &iov, 8, 43));
	want_done(p->a.request, p->a.ep, 43, DAT_DTO_SUCCESS);
}

/* mt:T29: exists, range, zone, right, segment by segment; mt:T30. */
static void posts_checked(void)
{
	struct mem dead, foreign, no_rights[2], *without;
	DAT_LMR_TRIPLET good, bad;
	struct pair p = {};
	enum transfer dto;
	DAT_PZ_HANDLE pz;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_pz_create(side_a.ia, &pz)))
		return;
	foreign.size = PAGE;
	foreign.va = scenario_alloc(PAGE);
	/* A remote right is no local one. */
	if (!foreign.va || !mem_register(&side_a, pz, &foreign, LOCAL_READ) ||
	    !mem_new(&side_a, &dead, PAGE, ALL) ||
	    !OK(dat_lmr_free(dead.lmr)) ||
	    !mem_new(&side_a, &no_rights[0], PAGE, ALL & ~LOCAL_READ) ||
	    !mem_new(&side_a, &no_rights[1], PAGE, ALL & ~LOCAL_WRITE))
		return;
	good = piece(&p.a.mem, 0, 8);
	for (dto = 0; dto < NR_DTOS && !failed(); dto++) {
		without = &no_rights[is_sink(dto)];
		post_is(&p, dto, piece(&dead, 0, 8), NULL, no_protection(dto));
		outside(&p, dto, &p.a.mem);
		outside(&p, dto, &foreign);
		outside(&p, dto, without);
		post_is(&p, dto, piece(&foreign, 0, 8), NULL,
			no_protection(dto));
		/* The first segment that is wrong decides. */
		bad = piece(&dead, 0, 8);
		post_is(&p, dto, good, &bad, no_protection(dto));
		post_is(&p, dto, piece(without, 0, 8), &bad,
			is_sink(dto) ? no_privilege() : no_protection(dto));
		bad = piece(without, 0, 8);
		post_is(&p, dto, piece(&dead, 0, 8), &bad,
			no_protection(dto));
		if (!is_sink(dto))
			continue;
		post_is(&p, dto, bad, NULL, no_privilege());
		post_is(&p, dto, good, &bad, no_privilege());
	}
	source_works(&p, &no_rights[0]);
	/* mt:T31: nothing was posted, nothing has happened. */
	idle(p.a.ep);
	nothing_more(p.a.request);
	nothing_more(p.a.recv);
	nothing_more(p.a.conn);
	talks(&p.a, &p.b);
	talks(&p.b, &p.a);
}

/* mt:T33, mt:T34, mt:T35 */
static void rdma_lengths(void)
{
	DAT_LMR_TRIPLET iov[2];
	DAT_RMR_TRIPLET remote;
	struct mem sink;
	struct pair p = {};

	if (!pair_new(&p, ONE_EVD, NULL, NULL) ||
	    !mem_new(&side_a, &sink, PAGE, LOCAL_WRITE))
		return;
	iov[0] = piece(&sink, 0, 5);
	iov[1] = piece(&sink, 5, 5);
	IS(post_iov(&p, READ_INTO, 2, iov, 11, 1), DAT_LENGTH_ERROR, 0);
	iov[0] = piece(&p.a.mem, 0, 5);
	iov[1] = piece(&p.a.mem, 5, 5);
	IS(post_iov(&p, WRITE_FROM, 2, iov, 9, 1), DAT_LENGTH_ERROR, 0);
	remote = remote_piece(&p.b.mem, 0, 8);
	remote.target_address = ~0ULL - 6;
	BAD_ARG(node_write(&p.a, 0, 8, &remote, 1, 0), 5);
	BAD_ARG(node_read(&p.a, 0, 8, &remote, 1, 0), 5);
	nothing_more(p.a.request);
	/* Of the larger one only the beginning is used; local rights do. */
	mem_fill(&p.b.mem, 0, 100, 1);
	iov[0] = piece(&sink, 0, 6);
	iov[1] = piece(&sink, 6, 94);
	OK(post_iov(&p, READ_INTO, 2, iov, 10, 1));
	want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	mem_check(&sink, 0, 10, 1);
	CHECK(!sink.va[10] && !sink.va[99]);
	mem_fill(&p.a.mem, 0, 100, 2);
	memset(p.b.mem.va, 0, 100);
	iov[0] = piece(&p.a.mem, 0, 10);
	OK(post_iov(&p, WRITE_FROM, 1, iov, 100, 2));
	want_done(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	mem_check(&p.b.mem, 0, 10, 2);
	CHECK(!p.b.mem.va[10] && !p.b.mem.va[99]);
	talks(&p.a, &p.b);
}

/* ---- dat_lmr_free ------------------------------------------------------- */

static void dead_handle(void)
{
	DAT_LMR_PARAM param;
	DAT_LMR_TRIPLET segment;
	struct pair p = {};
	DAT_PZ_HANDLE pz;
	struct mem mem;

	mem.size = 3 * PAGE;
	mem.va = scenario_alloc(mem.size);
	if (!mem.va || !pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_pz_create(side_a.ia, &pz)) ||
	    !mem_register(&side_a, pz, &mem, ALL))
		return;
	mem_fill(&mem, 0, mem.size, 1);
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	/* L10 */
	BAD_HANDLE(dat_lmr_free(p.a.ep), LMR);
	BAD_HANDLE(dat_lmr_free(pz), LMR);
	BAD_HANDLE(dat_lmr_free(DAT_HANDLE_NULL), LMR);
	OK(dat_lmr_free(mem.lmr));
	BAD_HANDLE(dat_lmr_free(mem.lmr), LMR);
	BAD_HANDLE(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param), LMR);
	segment = piece(&mem, 0, 8);
	BAD_ARG(dat_lmr_sync_rdma_read(side_a.ia, &segment, 1), 2);
	mem_check(&mem, 0, mem.size, 1);
	OK(dat_pz_free(pz));
	/* L11 */
	state_is(p.a.ep, DAT_EP_STATE_CONNECTED);
	nothing_more(p.a.conn);
	nothing_more(p.a.recv);
	nothing_more(p.a.request);
	talks(&p.a, &p.b);
}

/* L4: each kind of post, and what is posted behind it goes on. */
static void local_use(void)
{
	DAT_LMR_TRIPLET segment;
	struct pair p = {};
	enum transfer dto;
	struct mem mem;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_a, &mem, PAGE, ALL))
		return;
	segment = piece(&mem, 0, 64);
	mem_fill(&mem, 0, PAGE, 1);
	OK(dat_lmr_free(mem.lmr));
	for (dto = 0; dto < NR_DTOS; dto++)
		EXPECT(post_iov(&p, dto, 1, &segment, 64, 1),
		       no_protection(dto));
	mem_check(&mem, 0, PAGE, 1);
	idle(p.a.ep);
	state_is(p.a.ep, DAT_EP_STATE_CONNECTED);
	talks(&p.a, &p.b);
	talks(&p.b, &p.a);
	nothing_more(p.a.conn);
}

/* Takes the completions of requests and receives that are queued. */
static bool take_all(struct account *account, struct node *node)
{
	DAT_EVENT event;

	while (event_within(node->request, 0, &event) ||
	       event_within(node->recv, 0, &event))
		if (!account_event(account, node, &event))
			return false;
	return true;
}

static DAT_DTO_COMPLETION_STATUS status_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.status;
}

/* Soft-RoCE has one status for all that is wrong with a local buffer. */
static bool is_local_failure(DAT_DTO_COMPLETION_STATUS status)
{
	return status == DAT_DTO_ERR_LOCAL_PROTECTION ||
	       status == DAT_DTO_ERR_LOCAL_EP;
}

/* L6: messages fill the receives up to that one. */
static void under_receive(void)
{
	struct account mine = {}, theirs = {};
	DAT_EVENT_NUMBER end;
	DAT_LMR_TRIPLET segment;
	struct pair p = {};
	DAT_EVENT event;
	struct mem mem;
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_b, &mem, PAGE, ALL))
		return;
	segment = piece(&mem, 0, 64);
	OK(node_recv(&p.b, 0, 64, RECV));
	OK(dat_ep_post_recv(p.b.ep, 1, &segment, cookie(RECV | 1), 0));
	OK(node_recv(&p.b, 64, 64, RECV | 2));
	mem_fill(&mem, 0, PAGE, 1);
	OK(dat_lmr_free(mem.lmr));
	state_is(p.b.ep, DAT_EP_STATE_CONNECTED);
	OK(node_send(&p.a, 0, 64, 0, 0));
	want_done(p.b.recv, p.b.ep, RECV, DAT_DTO_SUCCESS);
	silent(p.b.conn);
	for (i = 1; i < 4; i++)
		OK(node_send(&p.a, 0, 64, i, 0));
	if (!next_event(p.b.recv, &event) ||
	    !CHECK(is_local_failure(status_of(&event))))
		return;
	theirs.recv.next = 1;
	account_event(&theirs, &p.b, &event);
	/*
	 * Each side ends by the failure, or because the other one, which was told of it, has
	 * disconnected before this one was told.
	 */
	if (account_break(&theirs, &p.b, &end))
		account_closed(&theirs, 0, 3);
	if (ended(&p.a) && account_requests(&mine, &p.a, 4) &&
	    take_all(&mine, &p.a) && account_closed(&mine, 4, 0))
		CHECK_EQ(mine.request.good, 1);
	mem_check(&mem, 0, PAGE, 1);
}

/*
 * L5: requests over the memory wait behind a send that nobody receives; what the
 * region was over has other bytes meanwhile.  Soft-RoCE would stop then without a
 * word, and a graceful disconnect never end, even if the peer receives at last.
 */
static void under_requests(void)
{
	struct account mine;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET remote;
	struct mem mem;
	int i, n;

	for (i = 0; i < 4 && !failed(); i++) {
		struct pair p = {};

		memset(&mine, 0, sizeof(mine));
		if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
		    !mem_new(&side_a, &mem, PAGE, ALL))
			return;
		segment = piece(&mem, 0, PAGE);
		remote = remote_piece(&p.b.mem, 0, PAGE);
		/* What is under way already may arrive: the same bytes. */
		mem_fill(&mem, 0, PAGE, 1);
		mem_fill(&p.b.mem, 0, PAGE, 1);
		OK(node_send(&p.a, 0, 64, 0, 0));
		OK(i & 1 ? dat_ep_post_rdma_read(p.a.ep, 1, &segment,
						 cookie(1), &remote, 0) :
			   dat_ep_post_rdma_write(p.a.ep, 1, &segment,
						  cookie(1), &remote, 0));
		OK(node_send(&p.a, 0, 64, 2, 0));
		OK(dat_lmr_free(mem.lmr));
		mem_fill(&mem, 0, PAGE, 2);
		OK(dat_ep_disconnect(p.a.ep, i & 2 ? DAT_CLOSE_GRACEFUL_FLAG :
						     DAT_CLOSE_ABRUPT_FLAG));
		for (n = 0; n < 2 && i & 2; n++)
			OK(node_recv(&p.b, PAGE, 64, RECV | n));
		if (!ended(&p.a) || !ended(&p.b) || !idle(p.a.ep) ||
		    !take_all(&mine, &p.a) || !account_closed(&mine, 3, 0))
			return;
		CHECK(mine.request.good <= 1);
		mem_check(&mem, 0, PAGE, 2);
		mem_check(&p.b.mem, 0, PAGE, 1);
		pair_free(&p);
	}
}

/* L7, L9: the connection that used it, and another one of the same PZ. */
static void remote_use(void)
{
	struct pair p = {}, other = {};
	DAT_RMR_TRIPLET dead, live;
	struct mem mem, rest;
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) ||
	    !pair_new(&other, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < 4 && !failed(); i++) {
		if (!mem_new(&side_b, &mem, 2 * PAGE, ALL) ||
		    !mem_new(&side_b, &rest, PAGE, ALL))
			return;
		dead = remote_piece(&mem, 0, 2 * PAGE);
		live = remote_piece(&rest, 0, PAGE);
		admits(&p, i & 1 ? RDMA_READ : RDMA_WRITE, &dead, mem.va);
		mem_fill(&mem, 0, 2 * PAGE, i);
		OK(dat_lmr_free(mem.lmr));
		mem.lmr = DAT_HANDLE_NULL;
		silent(p.b.conn);
		refuses(&p, i & 1 ? RDMA_READ : RDMA_WRITE, &dead);
		mem_check(&mem, 0, 2 * PAGE, i);
		state_is(other.b.ep, DAT_EP_STATE_CONNECTED);
		nothing_more(other.b.conn);
		admits(&other, RDMA_WRITE, &live, rest.va);
		mem_free(&mem);
		mem_free(&rest);
	}
}

#define GENERATIONS	300

/* L13: over the same memory, again and again. */
static void contexts_anew(void)
{
	struct old {
		DAT_LMR_CONTEXT context;
		DAT_RMR_CONTEXT rmr_context;
	} *old = scenario_alloc(GENERATIONS * sizeof(*old));
	struct mem mem = { .va = scenario_alloc(PAGE), .size = PAGE };
	struct pair p = {};
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET segment;
	int i, j;

	if (!old || !mem.va || !pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < GENERATIONS && !failed(); i++) {
		if (!mem_register(&side_b, side_b.pz, &mem, ALL))
			return;
		for (j = 0; j < i; j++)
			if (old[j].context == mem.context ||
			    old[j].rmr_context == mem.rmr_context)
				FAIL("LMR %d has a context of LMR %d", i, j);
		old[i].context = mem.context;
		old[i].rmr_context = mem.rmr_context;
		if (i < GENERATIONS - 1)
			OK(dat_lmr_free(mem.lmr));
	}
	/* The last one lives; those before it reach nothing of it. */
	mem_fill(&mem, 0, PAGE, 7);
	for (i = 0; i < GENERATIONS - 1 && !failed(); i += 43) {
		segment = piece(&mem, 0, 8);
		segment.lmr_context = old[i].context;
		IS(dat_ep_post_recv(p.b.ep, 1, &segment, cookie(1), 0),
		   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
		remote = remote_piece(&mem, 0, 8);
		remote.rmr_context = old[i].rmr_context;
		refuses(&p, RDMA_WRITE, &remote);
	}
	mem_check(&mem, 0, PAGE, 7);
	remote = remote_piece(&mem, 0, PAGE);
	admits(&p, RDMA_WRITE, &remote, mem.va);
}

/* ---- what it costs ------------------------------------------------------ */

/* One page, all that a fast registration has, more, and scattered. */
static const struct {
	size_t pages;
	void *(*alloc)(size_t size);
} kinds[] = {
	{ 1, scenario_alloc },
	{ 512, scenario_alloc },
	{ PINS ? 600 : 5, scenario_alloc },
	{ 100, scenario_alloc_scattered },
};

static void pages_given_back(void)
{
	unsigned int i, j, n = rounds_in_full(10);
	struct footprint before;
	size_t sum = 0;
	struct mem mem;

	if (!footprint(&before))
		return;
	for (i = 0; i < ARRAY_SIZE(kinds) && !failed(); i++) {
		mem.size = lmr_size(kinds[i].pages);
		mem.va = kinds[i].alloc(mem.size);
		if (!mem.va)
			return;
		for (j = 0; j < n; j++) {
			mem_fill(&mem, 0, PAGE, j);
			if (!mem_register(&side_b, side_b.pz, &mem, ALL))
				return;
			if (!j)
				footprint_grew(&before, mem.size, 1);
			OK(dat_lmr_free(mem.lmr));
			mem_check(&mem, 0, PAGE, j);
		}
	}
	footprint_grew(&before, 0, 0);
	/* Their IA is closed with them. */
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		mem.size = lmr_size(kinds[i].pages);
		mem.va = kinds[i].alloc(mem.size);
		sum += mem.size;
		if (!mem.va ||
		    !mem_register(&side_b, side_b.pz, &mem, LOCAL_READ))
			return;
	}
	footprint_grew(&before, sum, ARRAY_SIZE(kinds));
	side_close(&side_b, DAT_CLOSE_ABRUPT_FLAG);
	if (side_open(&side_b))
		footprint_grew(&before, 0, 0);
}

/* ---- races -------------------------------------------------------------- */

#define VICTIM	NODE_MEMORY
#define RACES	12
/*
 * At most so many times as many, to have a quarter meet requests that are outstanding.  Only those
 * that the device has not begun with fail when the memory that they send goes, and on a machine
 * with one processor that may be one race in ten.
 */
#define MORE_RACES	24

/* What is going on over the memory of an LMR that is freed. */
enum race_kind { PEER_WRITES, PEER_READS, SOURCE, SINK, RECEIVES };

struct race {
	enum race_kind kind;
	struct pair pair;
	struct mem victim;
	struct account mine, theirs;
	struct thread poster;
	u64 posted;
	u64 recvs;
	u64 done;
	/* Posted before the free. */
	u64 before;
	/* Of side a's device, when the race began. */
	u64 repeats;
	bool misnumbered;
};

static bool is_remote(const struct race *race)
{
	return race->kind == PEER_WRITES || race->kind == PEER_READS;
}

/* The peer has a receive over the victim for each send. */
static DAT_RETURN race_send(struct race *race, u64 number)
{
	DAT_LMR_TRIPLET segment = piece(&race->victim, 0, VICTIM);
	DAT_RETURN ret;

	if (race->recvs == number) {
		ret = dat_ep_post_recv(race->pair.b.ep, 1, &segment,
				       cookie(RECV | number), 0);
		if (ret)
			return ret;
		race->recvs++;
	}
	return node_send(&race->pair.a, 0, VICTIM, number, 0);
}

static DAT_RETURN race_post(struct race *race, u64 number)
{
	DAT_LMR_TRIPLET local = piece(&race->victim, 0, VICTIM);
	DAT_RMR_TRIPLET remote = remote_piece(is_remote(race) ? &race->victim :
					      &race->pair.b.mem, 0, VICTIM);
	struct node *a = &race->pair.a;

	switch (race->kind) {
	case PEER_WRITES:
		return node_write(a, 0, VICTIM, &remote, number, 0);
	case PEER_READS:
		return node_read(a, 0, VICTIM, &remote, number, 0);
	case SOURCE:
		return dat_ep_post_rdma_write(a->ep, 1, &local, cookie(number),
					      &remote, 0);
	case SINK:
		return dat_ep_post_rdma_read(a->ep, 1, &local, cookie(number),
					     &remote, 0);
	default:
		return race_send(race, number);
	}
}

/* Until the end: the connection is broken, or the context is refused. */
static bool goes_on(struct race *race, DAT_RETURN ret)
{
	DAT_EP_STATE state = DAT_EP_STATE_CONNECTED;

	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		yield_cpu();
	else if (!is_remote(race) && ret == no_protection(race->kind == SOURCE ?
							   WRITE_FROM : READ_INTO))
		return false;
	else if (!OK(ret))
		return false;
	if (is_remote(race))
		OK(dat_ep_get_status(race->pair.a.ep, &state, NULL, NULL));
	return state == DAT_EP_STATE_CONNECTED && !failed() && !scenario_over();
}

static int race_poster(void *arg)
{
	struct race *race = arg;
	DAT_RETURN ret;

	do {
		ret = race_post(race, race->posted);
		if (!ret)
			add_u64(&race->posted, 1);
	} while (goes_on(race, ret));
	set_u64(&race->done, 1);
	return 0;
}

/*
 * The connection broke by itself, and not by the free: Soft-RoCE has repeated
 * requests, with wrong packet numbers, until the peer found one that made no sense
 * (facts 0).  REMOTE_RESPONDER is right for that (mt:T48); a refusal of the memory
 * would be REMOTE_ACCESS (L8).
 */
static bool is_misnumbered(struct race *race, DAT_DTO_COMPLETION_STATUS status)
{
	race->misnumbered = status == DAT_DTO_ERR_REMOTE_RESPONDER &&
			    side_repeats(&side_a) != race->repeats;
	return race->misnumbered;
}

/*
 * The first failure says what it is (mt:M23, L5..L8).  A target that is broken
 * refuses no more: who missed it (on Soft-RoCE whoever had a part of a read already)
 * tries until he gives up, or until the target, whose EP breaks by the refusal as well
 * (D52), has ended the connection.  Of a source that is gone the endpoint may hear nothing
 * but that the connection breaks: Soft-RoCE may stop there without a word.  Of the
 * peer's receive that failed, its refusal or its end may be first.
 */
static bool is_refusal(const struct race *race, DAT_DTO_COMPLETION_STATUS status)
{
	switch (race->kind) {
	case PEER_READS:
	case PEER_WRITES:
		return status == DAT_DTO_ERR_REMOTE_ACCESS ||
		       status == DAT_DTO_ERR_TRANSPORT || status == DAT_DTO_ERR_FLUSHED;
	case SOURCE:
		return is_local_failure(status) || status == DAT_DTO_ERR_FLUSHED;
	case SINK:
		return is_local_failure(status);
	default:
		return status == DAT_DTO_ERR_REMOTE_RESPONDER ||
		       status == DAT_DTO_ERR_FLUSHED;
	}
}

static bool race_event(struct race *race, const DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_STATUS status = status_of(event);

	if (status && !race->mine.request.over && !is_refusal(race, status) &&
	    !is_misnumbered(race, status))
		FAIL("the first failure is %d", status);
	return account_event(&race->mine, &race->pair.a, event);
}

/* The peer's receives: one fails for the memory, the others follow (L6). */
static bool race_recvs(struct race *race)
{
	struct tally *recv = &race->theirs.recv;
	DAT_EVENT event;

	while (event_within(race->pair.b.recv, 0, &event)) {
		if (status_of(&event) && !recv->over &&
		    !is_local_failure(status_of(&event)) &&
		    !is_misnumbered(race, status_of(&event)))
			FAIL("the first failure is %d", status_of(&event));
		if (!account_event(&race->theirs, &race->pair.b, &event))
			return false;
	}
	return true;
}

/* Takes completions until @want of them are here, or all of what was posted. */
static bool race_take(struct race *race, u64 want)
{
	u64 end = deadline(), *next = &race->mine.request.next;
	DAT_EVENT event;

	while (*next < want) {
		if (!race_recvs(race))
			return false;
		if (read_u64(&race->done) && *next == race->posted)
			return true;
		if (event_within(race->pair.a.request, 10, &event)) {
			if (!race_event(race, &event))
				return false;
		} else if (now_us() > end) {
			return FAIL("%llu completions, and no end", *next);
		}
	}
	return true;
}

/* New memory takes the place of what the LMR was over, or new bytes do. */
static bool race_renew(struct race *race, bool free_memory, u8 seed)
{
	if (free_memory) {
		scenario_free(race->victim.va);
		race->victim.va = scenario_alloc(VICTIM);
		if (!race->victim.va)
			return false;
	}
	mem_fill(&race->victim, 0, VICTIM, seed);
	return true;
}

/* Both ends, and all completions, on three EVDs. */
static bool race_end(struct race *race)
{
	struct pair *p = &race->pair;

	if (!is_remote(race))
		OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	return ended(&p->a) && ended(&p->b) && take_all(&race->mine, &p->a) &&
	       race_recvs(race) &&
	       account_closed(&race->mine, race->posted, 0) &&
	       account_closed(&race->theirs, 0, race->recvs) &&
	       idle(p->a.ep) && idle(p->b.ep);
}

static bool race_start(struct race *race)
{
	struct side *owner = race->kind == SOURCE || race->kind == SINK ?
			     &side_a : &side_b;

	race->repeats = side_repeats(&side_a);
	return pair_new(&race->pair, THREE_EVDS, NULL, NULL) &&
	       mem_new(owner, &race->victim, VICTIM, ALL) &&
	       thread_start(&race->poster, race_poster, race);
}

static bool race_once(struct race *race, int round)
{
	if (!race_start(race) || !race_take(race, 4 + round * 2))
		return false;
	race->before = read_u64(&race->posted);
	OK(dat_lmr_free(race->victim.lmr));
	race->victim.lmr = DAT_HANDLE_NULL;
	if (!race_renew(race, round & 1, round) || !race_take(race, -1))
		return false;
	thread_join(&race->poster);
	if (!race_end(race) || !mem_check(&race->victim, 0, VICTIM, round))
		return false;
	pair_free(&race->pair);
	mem_free(&race->victim);
	return true;
}

static void races(enum race_kind kind)
{
	struct race *race = scenario_alloc(sizeof(*race));
	unsigned int i, met = 0, n = rounds_in_full(RACES);
	struct footprint before;
	u64 posted = 0, good = 0;

	if (!race || !footprint(&before))
		return;
	/*
	 * On a busy machine each request may be over before the next one is posted, and a
	 * free meets none.  So if few did, requests take a while from then on.
	 */
	for (i = 0; i < n || (4 * met < n && i < MORE_RACES * n); i++) {
		if (i == n && !link_slow(&side_a))
			return;
		memset(race, 0, sizeof(*race));
		race->kind = kind;
		if (!race_once(race, i % RACES))
			return;
		posted += race->posted;
		good += race->mine.request.good;
		/* One that failed was not over when its memory went. */
		met += race->mine.request.good < race->before &&
		       !race->misnumbered;
	}
	footprint_grew(&before, 0, 0);
	note("requests: %llu posted, %llu succeeded; %u of %u frees met some",
	     posted, good, met, i);
	CHECK(good);
	CHECK(4 * met >= n);
}

static void race_peer_writes(void)
{
	races(PEER_WRITES);
}

static void race_peer_reads(void)
{
	races(PEER_READS);
}

static void race_source(void)
{
	races(SOURCE);
}

static void race_sink(void)
{
	races(SINK);
}

static void race_receives(void)
{
	races(RECEIVES);
}

static const struct scenario scenarios[] = {
	SCENARIO("L1 mt:M5 mt:M7 mt:M8 mt:M15 mt:M16 mt:M26 mt:M27 the life of an LMR",
		 life),
	SCENARIO("mt:M18 the same memory, many times", many_times),
	SCENARIO("mt:M68 dat_lmr_sync around RDMA", sync_around_rdma),
	SCENARIO("mt:M6 mt:M16 mt:M46 an LMR admits its bytes and no other",
		 exact_bytes),
	SCENARIO("mt:M15 mt:M46 mt:T32 an LMR admits the remote rights asked for, each",
		 remote_rights),
	SCENARIO("mt:M2 mt:T32 remote access through an EP of another PZ",
		 remote_zone),
	SCENARIO("mt:M5 mt:M18 mt:M21 LMRs that overlap", overlapping),
	SCENARIO("mt:M7 mt:M8 L3 an LMR of an LMR outlives it", lmr_of_lmr),
	SCENARIO("mt:M2 mt:M12 mt:T5 mt:T29..T31 posts: existence, range, zone, right",
		 posts_checked),
	SCENARIO_IB("mt:T33 mt:T34 mt:T35 lengths of RDMA", rdma_lengths),
	SCENARIO("L1 L3 L10..L12 mt:M3 mt:M25 mt:M26 mt:M69 LMR free: the handle is dead",
		 dead_handle),
	SCENARIO("L4 L11 mt:M24 mt:T5 LMR free: local posts are refused",
		 local_use),
	SCENARIO_IB("L5 L6 mt:M23 LMR free under a receive", under_receive),
	SCENARIO_IB("D17 D18 L5 mt:M23 mt:T36 LMR free under requests that wait",
		    under_requests),
	SCENARIO("L3 L7 L9 L11 mt:M24 mt:M46 mt:T55 LMR free: remote access ends its connection",
		 remote_use),
	SCENARIO("L13 mt:M27 LMR free: contexts are not used again",
		 contexts_anew),
	SCENARIO("L3 mt:M5 mt:M19 mt:M25 pages pinned, charged, registered: given back once",
		 pages_given_back),
	SCENARIO_IB("L5 L8 mt:M23 mt:T36 LMR free races with a peer's writes",
		    race_peer_writes),
	SCENARIO_IB("L5 L8 mt:M23 mt:T36 LMR free races with a peer's reads",
		    race_peer_reads),
	SCENARIO("L4 L5 mt:M23 mt:T36 LMR free races with writes from it",
		 race_source),
	SCENARIO_IB("L4 L5 mt:M23 mt:T36 LMR free races with reads into it",
		    race_sink),
	SCENARIO_IB("L5 L6 mt:M23 mt:T36 LMR free races with receives into it",
		    race_receives),
};

SCENARIO_TABLE(lmr_table);
