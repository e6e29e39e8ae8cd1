// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory for one transfer (dat_lmr_allocate, _fmr, _invalidate): pages from anywhere,
 * as in a request of a file system or a block device.  Also sends that invalidate a
 * key, and adapters that a consumer is told of (include/dat/kdat_linux.h).
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <dat/kdat_linux.h>
#include "../memory.h"
#include "kernel.h"

#define PAGES	256
#define SIZE	(PAGES * PAGE_SIZE)
/* What a DTO over all pages takes beyond its first work request, times four */
#define RESERVE	"64"

/*
 * struct scattered - pages, each at its own place
 * @lmr: they are given to it
 * @context: of the memory that it has
 */
struct scattered {
	struct page *pages[PAGES];
	struct scatterlist sg[PAGES];
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

/* In an order that is none, so that hardly any two pages follow each other. */
static bool scattered_new(struct scattered *s)
{
	int i, other;

	for (i = 0; i < PAGES; i++) {
		s->pages[i] = alloc_page(GFP_KERNEL);
		if (!CHECK(s->pages[i]))
			return false;
		other = (i * 97) % (i + 1);
		swap(s->pages[i], s->pages[other]);
	}
	sg_init_table(s->sg, PAGES);
	for (i = 0; i < PAGES; i++)
		sg_set_page(&s->sg[i], s->pages[i], PAGE_SIZE, 0);
	return OK(dat_lmr_allocate(side_a.ia, side_a.pz, PAGES, KDAT_LMR_SCOPE_LOCAL,
				   &s->lmr));
}

static void scattered_free(struct scattered *s)
{
	int i;

	if (s->lmr) {
		dat_lmr_invalidate(s->lmr, DAT_HANDLE_NULL, cookie(0), 0);
		OK(dat_lmr_free(s->lmr));
	}
	for (i = 0; i < PAGES; i++)
		if (s->pages[i])
			__free_page(s->pages[i]);
	kfree(s);
}

static u8 *byte_of(struct scattered *s, size_t at)
{
	return (u8 *)page_address(s->pages[at / PAGE_SIZE]) + at % PAGE_SIZE;
}

static u8 value_at(size_t at, u8 seed)
{
	return at * 31 + (at >> 12) * 7 + seed;
}

static void scattered_fill(struct scattered *s, u8 seed)
{
	size_t i;

	for (i = 0; i < SIZE; i++)
		*byte_of(s, i) = value_at(i, seed);
}

static bool scattered_has(struct scattered *s, size_t at, size_t length, u8 seed)
{
	size_t i;

	for (i = at; i < at + length; i++)
		if (*byte_of(s, i) != value_at(i, seed))
			return FAIL("byte %zu is %#x", i, *byte_of(s, i));
	return true;
}

static bool give(struct scattered *s, u32 offset, u64 length)
{
	struct kdat_memory memory = {
		.list = s->sg,
		.entries = PAGES,
		.offset = offset,
		.length = length,
	};
	DAT_REGION_DESCRIPTION region = { .for_platform = &memory };
	DAT_RMR_CONTEXT none = 1;

	return OK(dat_lmr_fmr(s->lmr, DAT_MEM_TYPE_PLATFORM, region, 0,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			      DAT_VA_TYPE_ZB, DAT_HANDLE_NULL, cookie(0), 0, &s->context,
			      &none)) &&
	       CHECK_EQ(none, 0);
}

static DAT_RETURN take(struct scattered *s)
{
	return dat_lmr_invalidate(s->lmr, DAT_HANDLE_NULL, cookie(0), 0);
}

static DAT_LMR_TRIPLET part_of(const struct scattered *s, size_t at, size_t length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = s->context,
		.virtual_address = at,
		.segment_length = length,
	};
}

static DAT_RETURN write_part(struct pair *p, const struct scattered *s, size_t at,
			     size_t length, const DAT_RMR_TRIPLET *to, u64 number)
{
	DAT_LMR_TRIPLET part = part_of(s, at, length);

	return dat_ep_post_rdma_write(p->a.ep, 1, &part, cookie(number), to, 0);
}

static DAT_RETURN read_part(struct pair *p, const struct scattered *s, size_t at,
			    size_t length, const DAT_RMR_TRIPLET *from, u64 number)
{
	DAT_LMR_TRIPLET part = part_of(s, at, length);

	return dat_ep_post_rdma_read(p->a.ep, 1, &part, cookie(number), from, 0);
}

/* A pair of which a can have its memory in pieces, and b has as much as a list. */
static struct scattered *begin(struct pair *p)
{
	static const DAT_NAMED_ATTR reserve = { KDAT_EP_REQUEST_RESERVE, RESERVE };
	struct scattered *s = kzalloc(sizeof(*s), GFP_KERNEL);
	DAT_EP_ATTR attr = node_attr;

	if (!CHECK(s))
		return NULL;
	attr.max_rdma_read_iov = side_a.attr.max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = side_a.attr.max_iov_segments_per_rdma_write;
	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = (DAT_NAMED_ATTR *)&reserve;
	if (scattered_new(s) &&
	    mem_new(&side_b, &p->b.mem, SIZE, DAT_MEM_PRIV_ALL_FLAG) &&
	    pair_new(p, THREE_EVDS, &attr, NULL))
		return s;
	scattered_free(s);
	return NULL;
}

/* mt:T2, mt:T33, mt:T36: a megabyte in scattered pages is one post and one completion. */
static void a_megabyte(void)
{
	struct pair p = {};
	struct scattered *s = begin(&p);
	DAT_RMR_TRIPLET remote;
	size_t i;

	if (!s)
		return;
	remote = remote_piece(&p.b.mem, 0, SIZE);
	scattered_fill(s, 3);
	if (give(s, 0, SIZE)) {
		OK(write_part(&p, s, 0, SIZE, &remote, 1));
		want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, SIZE);
		for (i = 0; i < SIZE && p.b.mem.va[i] == value_at(i, 3); i++)
			;
		CHECK_EQ(i, SIZE);
		scattered_fill(s, 0);
		OK(read_part(&p, s, 0, SIZE, &remote, 2));
		want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, SIZE);
		scattered_has(s, 0, SIZE, 3);
		nothing_more(p.a.request);
		OK(take(s));
	}
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	scattered_free(s);
}

/* mt:T5, mt:T33: any part of memory that begins anywhere, in turn with other memory. */
static void any_part(void)
{
	struct pair p = {};
	struct scattered *s = begin(&p);
	size_t at, length, offset, i;
	DAT_RMR_TRIPLET remote;
	u64 n;

	if (!s)
		return;
	scattered_fill(s, 9);
	for (n = 0; n < rounds(100) && !failed(); n++) {
		offset = get_random_u32() % (2 * PAGE_SIZE);
		length = 1 + get_random_u32() % (n % 4 ? 3 * PAGE_SIZE : SIZE / 4);
		at = get_random_u32() % (SIZE - offset - length);
		remote = remote_piece(&p.b.mem, n % 77, length);
		if (!give(s, offset, SIZE - offset))
			break;
		OK(write_part(&p, s, at, length, &remote, n));
		want_dto(p.a.request, p.a.ep, n, DAT_DTO_SUCCESS, length);
		for (i = 0; i < length; i++)
			if (p.b.mem.va[n % 77 + i] != value_at(offset + at + i, 9))
				break;
		CHECK_EQ(i, length);
		OK(take(s));
	}
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	scattered_free(s);
}

/* mt:T2, mt:T42: messages out of a list, and into one. */
static void messages(void)
{
	struct pair p = {};
	struct scattered *s = begin(&p);
	const size_t length = 3 * PAGE_SIZE;
	DAT_LMR_TRIPLET part;
	size_t i;

	if (!s)
		return;
	scattered_fill(s, 5);
	if (give(s, 100, SIZE - 100)) {
		part = part_of(s, 50, length);
		OK(node_recv(&p.b, 0, length, 1));
		OK(dat_ep_post_send(p.a.ep, 1, &part, cookie(2), 0));
		want_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS, length);
		want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, length);
		for (i = 0; i < length && p.b.mem.va[i] == value_at(150 + i, 5); i++)
			;
		CHECK_EQ(i, length);

		OK(dat_ep_post_recv(p.a.ep, 1, &part, cookie(3), 0));
		mem_fill(&p.b.mem, 0, length, 0x40);
		OK(node_send(&p.b, 0, length, 4, 0));
		want_dto(p.a.recv, p.a.ep, 3, DAT_DTO_SUCCESS, length);
		for (i = 0; i < length && *byte_of(s, 150 + i) == p.b.mem.va[i]; i++)
			;
		CHECK_EQ(i, length);
		/* A message is one work request. */
		part = part_of(s, 0, 40 * PAGE_SIZE);
		BAD_ARG(dat_ep_post_send(p.a.ep, 1, &part, cookie(5), 0), 2);
		OK(take(s));
	}
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	scattered_free(s);
}

/* mt:M46, mt:T32, D52: the peer's memory is shorter: one completion says so. */
static void refused_by_peer(void)
{
	struct pair p = {};
	struct scattered *s = begin(&p);
	DAT_RMR_TRIPLET remote;

	if (!s)
		return;
	remote = remote_piece(&p.b.mem, PAGE_SIZE, SIZE);
	scattered_fill(s, 1);
	if (give(s, 0, SIZE)) {
		OK(write_part(&p, s, 0, SIZE, &remote, 1));
		OK(node_send(&p.a, 0, 8, 2, 0));
		want_refused(&p.a, 1);
		want_done(p.a.request, p.a.ep, 2, DAT_DTO_ERR_FLUSHED);
		ended(&p.a);
		OK(take(s));
		ended(&p.b);
	}
	scattered_free(s);
}

/* D20, D40, T33: a link that is cut flushes it, once, and then the memory may go. */
static void cut(void)
{
	struct pair p = {};
	struct scattered *s = begin(&p);
	DAT_RMR_TRIPLET remote;
	u64 n;

	if (!s)
		return;
	remote = remote_piece(&p.b.mem, 0, SIZE);
	if (give(s, 0, SIZE) && link_down(&side_a)) {
		for (n = 0; n < 4; n++)
			OK(write_part(&p, s, 0, SIZE, &remote, n));
		IS(write_part(&p, s, 0, SIZE, &remote, n), DAT_INSUFFICIENT_RESOURCES,
		   DAT_RESOURCE_MEMORY);
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		for (n = 0; n < 4; n++)
			want_done(p.a.request, p.a.ep, n, DAT_DTO_ERR_FLUSHED);
		want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		OK(take(s));
		link_up(&side_a);
	}
	scattered_free(s);
}

static void has_state(DAT_LMR_HANDLE lmr, bool changes, bool has_memory)
{
	DAT_LMR_STATE state;

	if (OK(kdat_lmr_state(lmr, &state)))
		CHECK(state.fmr_support == changes && state.bound == has_memory);
}

/* mt:M1, mt:T5: what has been taken away is found by no context. */
static void taken_away(void)
{
	struct pair p = {};
	struct scattered *s = begin(&p);
	DAT_RMR_TRIPLET remote;

	if (!s)
		return;
	remote = remote_piece(&p.b.mem, 0, SIZE);
	IS(take(s), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
	has_state(s->lmr, true, false);
	if (give(s, 0, SIZE)) {
		has_state(s->lmr, true, true);
		OK(take(s));
		has_state(s->lmr, true, false);
		IS(write_part(&p, s, 0, 1, &remote, 1), DAT_PROTECTION_VIOLATION,
		   DAT_PROTECTION_READ);
	}
	has_state(p.a.mem.lmr, false, true);
	BAD_ARG(kdat_lmr_state(s->lmr, NULL), 2);
	BAD_HANDLE(kdat_lmr_state(p.a.ep, NULL), LMR);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	scattered_free(s);
}

/* mt:M81, mt:T59: a key that the peer has not given away for that breaks the connection. */
static void invalidates(void)
{
	struct pair p = {};
	DAT_LMR_TRIPLET part;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	part = piece(&p.a.mem, 0, 16);
	OK(node_recv(&p.b, 0, 64, 1));
	OK(dat_ep_post_send_with_invalidate(p.a.ep, 1, &part, cookie(2), 0, DAT_FALSE,
					    p.b.mem.rmr_context));
	want_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS, 16);
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 16);

	OK(node_recv(&p.b, 0, 64, 3));
	OK(dat_ep_post_send_with_invalidate(p.a.ep, 1, &part, cookie(4), 0, DAT_TRUE,
					    p.b.mem.rmr_context));
	want_done(p.b.recv, p.b.ep, 3, DAT_DTO_ERR_BAD_RESPONSE);
	ended(&p.b);
	ended(&p.a);
}

/* What a client was told, since it registered */
struct told {
	struct kdat_client client;
	unsigned int added;
	atomic_t removed;
	bool open;
};

static void told_add(struct kdat_client *client, const char *ia_name)
{
	struct told *told = container_of(client, struct told, client);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	told->added++;
	/* It can be opened there and then. */
	told->open &= OK(dat_ia_open((DAT_NAME_PTR)ia_name, 8, &async, &ia)) &&
		      OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void told_remove(struct kdat_client *client, const char *ia_name)
{
	atomic_inc(&container_of(client, struct told, client)->removed);
}

/* G12, I1: of all adapters that are listed, each once. */
static void clients(void)
{
	struct told told = {
		.client = { .add = told_add, .remove = told_remove },
		.open = true,
	};
	DAT_COUNT n = 0;

	dat_registry_list_providers(0, &n, NULL);
	kdat_client_register(&told.client);
	CHECK_EQ(told.added, n);
	CHECK(told.open);
	CHECK_EQ(atomic_read(&told.removed), 0);
	kdat_client_unregister(&told.client);
	CHECK_EQ(atomic_read(&told.removed), n);
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("mt:T2 mt:T33 mt:T36 list: a megabyte in scattered pages", a_megabyte),
	SCENARIO_IB("mt:T5 mt:T33 list: any part of memory that begins anywhere", any_part),
	SCENARIO_IB("mt:T2 mt:T42 list: messages", messages),
	SCENARIO_IB("mt:M46 mt:T32 D52 list: the peer refuses a part", refused_by_peer),
	SCENARIO_IB("D20 D40 T33 list: flushed by a link that is cut", cut),
	SCENARIO("mt:M1 mt:T5 list: taken away", taken_away),
	SCENARIO_IB("mt:M81 mt:T59 a send that invalidates", invalidates),
	SCENARIO("G12 I1 a client is told of each adapter", clients),
};

SCENARIO_TABLE(fmr_table);
