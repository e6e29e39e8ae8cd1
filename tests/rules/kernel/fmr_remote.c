// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory for one transfer that a peer reaches: a small initiator of storage on side a and
 * its target on side b.  With each request the initiator registers the memory and sends the
 * key, address and length; the target reads or writes there, and answers with a message
 * that takes the key away (include/dat/kdat_linux.h).
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <dat/kdat_linux.h>
#include "../memory.h"
#include "kernel.h"

/* Requests that are outstanding at once, and the pages of each */
#define REQUESTS	4
#define PAGES		16
#define SIZE		(PAGES * PAGE_SIZE)
#define FENCE		DAT_COMPLETION_BARRIER_FENCE_FLAG

/* What the initiator sends */
struct message {
	u64 key;
	u64 address;
	u64 length;
	u8 write;	/* the target's direction */
	u8 seed;
};

/*
 * struct request - of the initiator
 * @to: the memory as the peer has to name it
 * @tell: is sent
 */
struct request {
	struct page *pages[PAGES];
	struct scatterlist sg[PAGES];
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	u32 offset;
	DAT_RMR_TRIPLET to;
	struct message tell;
};

static u8 *byte_of(struct request *r, size_t at)
{
	at += r->offset;
	return (u8 *)page_address(r->pages[at / PAGE_SIZE]) + at % PAGE_SIZE;
}

static u8 value_at(size_t at, u8 seed)
{
	return at * 31 + (at >> 12) * 7 + seed;
}

static bool request_new(struct request *r)
{
	int i;

	sg_init_table(r->sg, PAGES);
	for (i = 0; i < PAGES; i++) {
		r->pages[i] = alloc_page(GFP_KERNEL);
		if (!CHECK(r->pages[i]))
			return false;
		sg_set_page(&r->sg[i], r->pages[i], PAGE_SIZE, 0);
	}
	/* Hardly any two pages follow each other. */
	for (i = 0; i < PAGES / 2; i += 2)
		swap(r->pages[i], r->pages[PAGES - 1 - i]);
	for (i = 0; i < PAGES; i++)
		sg_set_page(&r->sg[i], r->pages[i], PAGE_SIZE, 0);
	return OK(dat_lmr_allocate(side_a.ia, side_a.pz, PAGES, DAT_LMR_SCOPE_EP, &r->lmr));
}

static void requests_free(struct request *r)
{
	int i, n;

	for (n = 0; n < REQUESTS; n++) {
		if (r[n].lmr)
			OK(dat_lmr_free(r[n].lmr));
		for (i = 0; i < PAGES; i++)
			if (r[n].pages[i])
				__free_page(r[n].pages[i]);
	}
	kfree(r);
}

/* A pair of which b, the target, has room for all requests and messages. */
static struct request *begin(struct pair *p)
{
	struct request *r = kcalloc(REQUESTS, sizeof(*r), GFP_KERNEL);
	int n;

	if (!CHECK(r))
		return NULL;
	for (n = 0; n < REQUESTS && request_new(&r[n]); n++)
		;
	if (n == REQUESTS &&
	    mem_new(&side_b, &p->b.mem, (REQUESTS + 1) * SIZE, DAT_MEM_PRIV_ALL_FLAG) &&
	    pair_new(p, THREE_EVDS, NULL, NULL))
		return r;
	requests_free(r);
	return NULL;
}

/* Where the messages of request @n are in the memory of either side */
static size_t message_at(const struct node *node, int n)
{
	return node->mem.size - PAGE_SIZE + n * 64;
}

/* What is registered with @flags, and what the peer has to know of it is in @r->to. */
static DAT_RETURN give(struct pair *p, struct request *r, u64 length, u64 number,
		       DAT_MEM_PRIV_FLAGS privileges, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_memory memory = {
		.list = r->sg,
		.entries = PAGES,
		.offset = r->offset,
		.length = length,
	};
	DAT_REGION_DESCRIPTION region = { .for_platform = &memory };
	DAT_LMR_PARAM param = {};
	DAT_RETURN ret;

	ret = dat_lmr_fmr(r->lmr, DAT_MEM_TYPE_PLATFORM, region, 0, privileges,
			  DAT_VA_TYPE_ZB, p->a.ep, cookie(number), flags, &r->context,
			  &r->to.rmr_context);
	if (ret)
		return ret;
	OK(dat_lmr_query(r->lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(param.registered_address, r->offset % PAGE_SIZE);
	CHECK_EQ(param.rmr_context, r->to.rmr_context);
	CHECK_EQ(param.length, length);
	r->to.target_address = param.registered_address;
	r->to.segment_length = length;
	return DAT_SUCCESS;
}

static DAT_RETURN take(struct pair *p, struct request *r, u64 number)
{
	return dat_lmr_invalidate(r->lmr, p->a.ep, cookie(number), 0);
}

/* Memory with other rights and another length and offset each time, and its message. */
static bool ask(struct pair *p, struct request *r, int n, u64 round)
{
	size_t at = message_at(&p->a, n), i;
	bool write = get_random_u32() % 2;
	u64 length;

	r->offset = get_random_u32() % (2 * PAGE_SIZE);
	length = 1 + get_random_u32() % (round % 4 ? 2 * PAGE_SIZE : SIZE - r->offset);
	r->tell = (struct message) { .write = write, .length = length, .seed = round + n };
	for (i = 0; i < length; i++)
		*byte_of(r, i) = write ? 0 : value_at(i, r->tell.seed);
	if (!OK(node_recv(&p->a, at, 8, n)) ||
	    !OK(give(p, r, length, 50, write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
					       DAT_MEM_PRIV_REMOTE_READ_FLAG,
		     DAT_COMPLETION_SUPPRESS_FLAG)))
		return false;
	r->tell.key = r->to.rmr_context;
	r->tell.address = r->to.target_address;
	memcpy(p->a.mem.va + at, &r->tell, sizeof(r->tell));
	return OK(node_send(&p->a, at, sizeof(r->tell), 100 + n, 0));
}

static DAT_RETURN answer(struct pair *p, int n, bool takes, u32 key,
			 DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET part = piece(&p->b.mem, message_at(&p->b, n), 8);

	return dat_ep_post_send_with_invalidate(p->b.ep, 1, &part, cookie(200 + n), flags,
						takes, key);
}

/* The target does what request @n asks for, and answers. */
static bool serve(struct pair *p, int n, bool takes)
{
	struct message m;
	DAT_RMR_TRIPLET to;
	size_t i;

	if (!want_dto(p->b.recv, p->b.ep, n, DAT_DTO_SUCCESS, sizeof(m)))
		return false;
	memcpy(&m, p->b.mem.va + message_at(&p->b, n), sizeof(m));
	to = (DAT_RMR_TRIPLET) {
		.rmr_context = m.key,
		.target_address = m.address,
		.segment_length = m.length,
	};
	for (i = 0; i < m.length; i++)
		p->b.mem.va[n * SIZE + i] = m.write ? value_at(i, m.seed) : 0;
	OK(m.write ? node_write(&p->b, n * SIZE, m.length, &to, 300, DAT_COMPLETION_SUPPRESS_FLAG) :
		     node_read(&p->b, n * SIZE, m.length, &to, 300, DAT_COMPLETION_SUPPRESS_FLAG));
	/* A read has to be over when its key goes. */
	return OK(answer(p, n, takes, m.key, m.write ? 0 : FENCE));
}

/* The answer to request @n is there, and the data where they are to be. */
static bool answered(struct pair *p, struct request *r, int n, u32 key)
{
	const struct kdat_dto_completion_event_data *dto;
	DAT_EVENT event;
	size_t i;
	u8 got;

	if (!want_event(p->a.recv, DAT_DTO_COMPLETION_EVENT, &event))
		return false;
	dto = kdat_dto_completion(&event);
	CHECK_EQ(dto->user_cookie.as_64, n);
	CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
	CHECK_EQ(dto->rmr_context, key);
	if (!want_dto(p->b.request, p->b.ep, 200 + n, DAT_DTO_SUCCESS, 8))
		return false;
	for (i = 0; i < r->tell.length; i++) {
		got = r->tell.write ? *byte_of(r, i) : p->b.mem.va[n * SIZE + i];
		if (got != value_at(i, r->tell.seed))
			return FAIL("byte %zu of %llu is %#x", i, r->tell.length, got);
	}
	return true;
}

static bool one_round(struct pair *p, struct request *r, u64 round, bool takes)
{
	int n;

	for (n = 0; n < REQUESTS; n++)
		if (!OK(node_recv(&p->b, message_at(&p->b, n), sizeof(struct message), n)))
			return false;
	for (n = 0; n < REQUESTS; n++)
		if (!ask(p, &r[n], n, round))
			return false;
	for (n = 0; n < REQUESTS; n++)
		if (!serve(p, n, takes))
			return false;
	for (n = 0; n < REQUESTS; n++)
		if (!answered(p, &r[n], n, takes ? r[n].tell.key : 0) ||
		    !want_done(p->a.request, p->a.ep, 100 + n, DAT_DTO_SUCCESS))
			return false;
	for (n = 0; n < REQUESTS; n++) {
		if (!takes)
			BAD_STATE(dat_lmr_free(r[n].lmr), LMR_IN_USE);
		if (!OK(take(p, &r[n], 400 + n)))
			return false;
		if (!takes)
			want_dto(p->a.request, p->a.ep, 400 + n, DAT_DTO_SUCCESS, 0);
		BAD_STATE(take(p, &r[n], 0), LMR_FREE);
	}
	return true;
}

/* What @to names is no one's to read any more: both sides end. */
static void key_is_dead(struct pair *p, const DAT_RMR_TRIPLET *to)
{
	OK(node_write(&p->b, 0, 1, to, 7, 0));
	want_refused(&p->b, 7);
	ended(&p->b);
	ended(&p->a);
}

/* mt:M81, mt:T59: the target takes the key with its answer, a thousand times. */
static void target_takes(void)
{
	struct pair p = {};
	struct request *r = begin(&p);
	DAT_RMR_TRIPLET old;
	u64 n;

	if (!r)
		return;
	for (n = 0; n < rounds(1000) / REQUESTS && one_round(&p, r, n, true); n++)
		;
	nothing_more(p.a.request);
	nothing_more(p.a.recv);
	old = r[0].to;
	old.segment_length = 1;
	key_is_dead(&p, &old);
	requests_free(r);
}

/* mt:M37, mt:T36: a target that does not: the initiator does, with a request of its own. */
static void initiator_takes(void)
{
	struct pair p = {};
	struct request *r = begin(&p);
	DAT_RMR_TRIPLET old;
	u64 n;

	if (!r)
		return;
	for (n = 0; n < rounds(400) / REQUESTS && one_round(&p, r, n, false); n++)
		;
	/* In turn with one that does */
	for (n = 0; n < rounds(80) / REQUESTS && one_round(&p, r, n, n % 2); n++)
		;
	nothing_more(p.a.request);
	old = r[1].to;
	old.segment_length = 1;
	key_is_dead(&p, &old);
	requests_free(r);
}

/* mt:M81: a key of before is none: the message that takes it breaks the connection. */
static void stale_key(void)
{
	struct pair p = {};
	struct request *r = begin(&p);

	if (!r)
		return;
	if (OK(give(&p, r, SIZE, 1, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0))) {
		want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, 0);
		OK(take(&p, r, 2));
		want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 0);
	}
	OK(node_recv(&p.a, 0, 64, 3));
	OK(answer(&p, 0, true, r->to.rmr_context, 0));
	ended(&p.a);
	ended(&p.b);
	requests_free(r);
}

/* D20, mt:M40: with the link cut, and Disconnected: the memory comes back, each time. */
static void cut(void)
{
	struct pair p = {};
	struct request *r = begin(&p);
	int n;

	if (!r)
		return;
	/* r[0]: rights, and nothing outstanding; r[1]: being taken away; r[2]: being given */
	for (n = 0; n < 2; n++)
		if (OK(give(&p, &r[n], SIZE, n, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0)))
			want_dto(p.a.request, p.a.ep, n, DAT_DTO_SUCCESS, 0);
	OK(node_recv(&p.b, 0, 64, 1));
	if (link_down(&side_a)) {
		/* What is posted behind it waits with it. */
		OK(node_send(&p.a, 0, 8, 2, 0));
		OK(take(&p, &r[1], 3));
		OK(give(&p, &r[2], SIZE, 4, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0));
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		want_done(p.a.request, p.a.ep, 2, DAT_DTO_ERR_FLUSHED);
		want_done(p.a.request, p.a.ep, 3, DAT_DTO_ERR_FLUSHED);
		want_done(p.a.request, p.a.ep, 4, DAT_DTO_ERR_FLUSHED);
		want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		BAD_STATE(take(&p, &r[1], 5), LMR_FREE);
		OK(take(&p, &r[2], 6));
		BAD_STATE(dat_lmr_free(r[0].lmr), LMR_IN_USE);
		OK(take(&p, &r[0], 7));
		want_done(p.a.request, p.a.ep, 7, DAT_DTO_ERR_FLUSHED);
		BAD_STATE(take(&p, &r[0], 8), LMR_FREE);
		nothing_more(p.a.request);
		link_up(&side_a);
	}
	requests_free(r);
}

/* I15: the adapters are closed with rights that nobody took away. */
static void left_behind(void)
{
	struct pair p = {};
	struct request *r = begin(&p);
	int n;

	if (!r)
		return;
	for (n = 0; n < REQUESTS; n++)
		OK(give(&p, &r[n], SIZE, n, DAT_MEM_PRIV_ALL_FLAG, 0));
	/* The registration of this one may be outstanding still. */
	take(&p, &r[0], 9);
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
	for (n = 0; n < REQUESTS; n++)
		r[n].lmr = DAT_HANDLE_NULL;
	side_open(&side_a);
	requests_free(r);
}

/* mt:M45, E3: what cannot be shown to a peer is refused, and nothing is left of it. */
static void refused(void)
{
	struct pair p = {};
	struct request *r = begin(&p);
	DAT_LMR_HANDLE local;

	if (!r)
		return;
	/* A gap within a page */
	r->sg[3].length -= 8;
	BAD_ARG(give(&p, r, SIZE - 8, 1, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0), 3);
	r->sg[3].length += 8;
	BAD_ARG(give(&p, r, SIZE, 1, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0x80), 9);
	if (OK(dat_lmr_allocate(side_a.ia, side_a.pz, PAGES, KDAT_LMR_SCOPE_LOCAL, &local))) {
		swap(local, r->lmr);
		BAD_ARG(give(&p, r, SIZE, 1, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0), 5);
		swap(local, r->lmr);
		OK(dat_lmr_free(local));
	}
	BAD_STATE(take(&p, r, 2), LMR_FREE);
	nothing_more(p.a.request);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	requests_free(r);
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("mt:M81 mt:T59 list: for a peer, who takes the key with the answer",
		    target_takes),
	SCENARIO_IB("mt:M37 mt:T36 list: for a peer, taken away here", initiator_takes),
	SCENARIO_IB("mt:M81 list: a key of before breaks the connection", stale_key),
	SCENARIO_IB("D20 mt:M40 list: for a peer, the link is cut", cut),
	SCENARIO("I15 list: for a peer, and the adapter is closed", left_behind),
	SCENARIO("mt:M45 E3 list: not for a peer", refused),
};

SCENARIO_TABLE(fmr_remote_table);
