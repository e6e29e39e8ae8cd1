// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA writes with immediate data and atomic operations, which DAT 1.2 does not have: kernel
 * consumers have them by <dat/kdat_linux.h>, programs by the extensions of DAT 2.0. The scenarios
 * are the same for both; what differs is at the beginning.
 */
#ifdef __KERNEL__
#include "../kernel/kernel.h"
#include <dat/kdat_linux.h>
#else
#define TWELVE_ITSELF
#include "../user/user.h"
#include <dat2/dat_ib_extensions.h>
#endif

#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define BROKEN		DAT_CONNECTION_EVENT_BROKEN
#define WORD		0xfeedbeefu
#define FENCE		DAT_COMPLETION_BARRIER_FENCE_FLAG
#define SUPPRESS	DAT_COMPLETION_SUPPRESS_FLAG

enum did { WROTE = 8, RECEIVED = 9, ADDED = 10, SWAPPED = 11 };

/* ---- what differs ------------------------------------------------------------ */

#ifdef __KERNEL__

#define ATOMIC		KDAT_MEM_PRIV_REMOTE_ATOMIC_FLAG
#define EXTENDED	KDAT_EVD_EXTENDED_FLAG
/* The places of arguments are those of dat_ep_post_rdma_write(). */
#define WRITE_ARGS	{ 2, 3, 5, 6 }
#define ADD_ARGS	{ 2, 3, 5, 6 }
#define SWAP_ARGS	{ 2, 3, 5, 6 }

static DAT_RETURN post_request(DAT_EP_HANDLE ep, struct kdat_request *request)
{
	DAT_COUNT posted;

	return kdat_ep_post_requests(ep, 1, request, &posted);
}

static DAT_RETURN post_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			     u64 number, const DAT_RMR_TRIPLET *to, u32 word,
			     DAT_COMPLETION_FLAGS flags)
{
	struct kdat_request request = {
		.kind = KDAT_RDMA_WRITE_IMMED,
		.num_segments = segments,
		.local_iov = iov,
		.user_cookie = cookie(number),
		.remote_buffer = to,
		.immediate = word,
		.completion_flags = flags,
	};

	return post_request(ep, &request);
}

static DAT_RETURN post_add(DAT_EP_HANDLE ep, u64 add, DAT_LMR_TRIPLET *iov, u64 number,
			   const DAT_RMR_TRIPLET *at, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_request request = {
		.kind = KDAT_FETCH_ADD,
		.num_segments = 1,
		.local_iov = iov,
		.user_cookie = cookie(number),
		.remote_buffer = at,
		.completion_flags = flags,
		.operand = add,
	};

	return post_request(ep, &request);
}

static DAT_RETURN post_swap(DAT_EP_HANDLE ep, u64 compare, u64 swap, DAT_LMR_TRIPLET *iov,
			    u64 number, const DAT_RMR_TRIPLET *at, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_request request = {
		.kind = KDAT_CMP_SWAP,
		.num_segments = 1,
		.local_iov = iov,
		.user_cookie = cookie(number),
		.remote_buffer = at,
		.completion_flags = flags,
		.operand = swap,
		.compare = compare,
	};

	return post_request(ep, &request);
}

/* What an event says of an extension */
static bool says(const DAT_EVENT *event, enum did did, u32 word)
{
	const struct kdat_dto_completion_event_data *dto = kdat_dto_completion(event);

	if (did == RECEIVED)
		return CHECK_EQ(event->event_number, KDAT_IMMED_EVENT) &&
		       CHECK_EQ(dto->immediate, word);
	return CHECK_EQ(event->event_number, DAT_DTO_COMPLETION_EVENT) &&
	       CHECK_EQ(dto->operation, did);
}

static bool is_named(const DAT_NAMED_ATTR *attr, const char *name)
{
	return !strcmp(attr->name, name) && !strcmp(attr->value, "TRUE");
}

#else

#define ATOMIC		((DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
#define EXTENDED	0
/* The places are those of dat_extension_op(). */
#define WRITE_ARGS	{ 3, 4, 6, 8 }
#define ADD_ARGS	{ 4, 4, 6, 7 }
#define SWAP_ARGS	{ 5, 5, 7, 8 }

static DAT_RETURN post_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			     u64 number, const DAT_RMR_TRIPLET *to, u32 word,
			     DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_rdma_write_immed(ep, segments, iov, cookie(number), to, word, flags);
}

static DAT_RETURN post_add(DAT_EP_HANDLE ep, u64 add, DAT_LMR_TRIPLET *iov, u64 number,
			   const DAT_RMR_TRIPLET *at, DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_fetch_and_add(ep, add, iov, cookie(number), at, flags);
}

static DAT_RETURN post_swap(DAT_EP_HANDLE ep, u64 compare, u64 swap, DAT_LMR_TRIPLET *iov,
			    u64 number, const DAT_RMR_TRIPLET *at, DAT_COMPLETION_FLAGS flags)
{
	return dat_ib_post_cmp_and_swap(ep, compare, swap, iov, cookie(number), at, flags);
}

static bool says(const DAT_EVENT *event, enum did did, u32 word)
{
	static const DAT_IB_EXT_TYPE types[] = {
		[WROTE] = DAT_IB_RDMA_WRITE_IMMED,
		[RECEIVED] = DAT_IB_RDMA_WRITE_IMMED_DATA,
		[ADDED] = DAT_IB_FETCH_AND_ADD,
		[SWAPPED] = DAT_IB_CMP_AND_SWAP,
	};
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	const DAT_IB_EXTENSION_EVENT_DATA *more = (const void *)event->event_extension_data;

	return CHECK_EQ((u32)event->event_number, DAT_IB_DTO_EVENT) &&
	       CHECK_EQ(dto->operation, did) && CHECK_EQ(more->type, types[did]) &&
	       CHECK_EQ((u32)more->status, dto->status) &&
	       (did != RECEIVED || CHECK_EQ(more->val.immed.data, word));
}

static bool is_named(const DAT_NAMED_ATTR *attr, const char *name)
{
	return !strcmp(attr->name, name) && !strcmp(attr->value, "TRUE");
}

#endif

/* ---- what scenarios are made of ---------------------------------------------- */

/* The next event is of an extension. */
static bool want(DAT_EVD_HANDLE evd, enum did did, u64 number, u32 status, u64 length)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!next_event(evd, &event))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	return says(&event, did, WORD) && CHECK_EQ(dto->user_cookie.as_64, number) &&
	       CHECK_EQ(dto->status, status) &&
	       (status || CHECK_EQ(dto->transfered_length, length));
}

/* Pairs whose side b knows of writes with immediate data, and lets peers change its memory. */
static bool extended_pair(struct pair *p)
{
	return evd_new(&side_b, NODE_EVENTS, DAT_EVD_DTO_FLAG | EXTENDED, &p->b.recv) &&
	       mem_new(&side_b, &p->b.mem, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG | ATOMIC) &&
	       pair_new(p, THREE_EVDS, NULL, NULL);
}

static DAT_RETURN write_immed(struct node *node, size_t length, const DAT_RMR_TRIPLET *to,
			      u64 number, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, 0, length);

	return post_write(node->ep, 1, &iov, number, to, WORD, flags);
}

static u64 word_at(const struct mem *mem, size_t offset)
{
	u64 word;

	memcpy(&word, mem->va + offset, sizeof(word));
	return word;
}

/* ---- writes with immediate data ------------------------------------------------ */

static void writes(void)
{
	static const u32 sizes[] = { 0, 1, 4097, NODE_MEMORY };
	DAT_RMR_TRIPLET to;
	struct pair p = {};
	unsigned int i;

	if (!extended_pair(&p))
		return;
	to = remote_piece(&p.b.mem, 0, NODE_MEMORY);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		mem_fill(&p.a.mem, 0, NODE_MEMORY, i);
		/* The receive is shorter than the write, which does not go there. */
		OK(node_recv(&p.b, 8, 1, i));
		OK(write_immed(&p.a, sizes[i], &to, 10 + i, i % 2 ? FENCE : 0));
		want(p.b.recv, RECEIVED, i, DAT_DTO_SUCCESS, sizes[i]);
		mem_check(&p.b.mem, 0, sizes[i], i);
		want(p.a.request, WROTE, 10 + i, DAT_DTO_SUCCESS, sizes[i]);
	}
	nothing_more(p.a.request);
	nothing_more(p.b.recv);
}

/* Receives are taken in the order of what takes them. */
static void in_order(void)
{
	DAT_RMR_TRIPLET to;
	struct pair p = {};
	u64 i;

	if (!extended_pair(&p))
		return;
	to = remote_piece(&p.b.mem, 0, 64);
	for (i = 0; i < 9; i++)
		OK(node_recv(&p.b, 64 * i, 64, i));
	for (i = 0; i < 9; i += 3) {
		OK(node_send(&p.a, 0, 3, i, SUPPRESS));
		OK(write_immed(&p.a, 5, &to, i, SUPPRESS));
		OK(node_send(&p.a, 0, 7, i, i == 6 ? 0 : SUPPRESS));
	}
	for (i = 0; i < 9; i += 3) {
		want_dto(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS, 3);
		want(p.b.recv, RECEIVED, i + 1, DAT_DTO_SUCCESS, 5);
		want_dto(p.b.recv, p.b.ep, i + 2, DAT_DTO_SUCCESS, 7);
	}
	want_dto(p.a.request, p.a.ep, 6, DAT_DTO_SUCCESS, 7);
	nothing_more(p.a.request);
}

/* It ends with the connection, as any post does. */
static void ends(void)
{
	DAT_RMR_TRIPLET to;
	struct pair p = {};

	if (!extended_pair(&p))
		return;
	to = remote_piece(&p.b.mem, 0, 64);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DISCONNECTED);
	OK(write_immed(&p.a, 5, &to, 3, 0));
	want(p.a.request, WROTE, 3, DAT_DTO_ERR_FLUSHED, 0);
	OK(write_immed(&p.a, 5, &to, 3, SUPPRESS));
	want(p.a.request, WROTE, 3, DAT_DTO_ERR_FLUSHED, 0);
	nothing_more(p.a.request);
}

/* ---- atomics ------------------------------------------------------------------- */

static void atomics(void)
{
	const u64 first = 0x1122334455667788ull;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET at;
	struct pair p = {};

	if (!extended_pair(&p))
		return;
	memcpy(p.b.mem.va + 16, &first, sizeof(first));
	iov = piece(&p.a.mem, 8, 8);
	at = remote_piece(&p.b.mem, 16, 8);
	OK(post_add(p.a.ep, 5, &iov, 1, &at, 0));
	want(p.a.request, ADDED, 1, DAT_DTO_SUCCESS, 8);
	CHECK_EQ(word_at(&p.a.mem, 8), first);
	CHECK_EQ(word_at(&p.b.mem, 16), first + 5);
	/* It is something else: it stays. */
	OK(post_swap(p.a.ep, first, 7, &iov, 2, &at, FENCE));
	want(p.a.request, SWAPPED, 2, DAT_DTO_SUCCESS, 8);
	CHECK_EQ(word_at(&p.a.mem, 8), first + 5);
	CHECK_EQ(word_at(&p.b.mem, 16), first + 5);
	OK(post_swap(p.a.ep, first + 5, 7, &iov, 3, &at, 0));
	want(p.a.request, SWAPPED, 3, DAT_DTO_SUCCESS, 8);
	CHECK_EQ(word_at(&p.a.mem, 8), first + 5);
	CHECK_EQ(word_at(&p.b.mem, 16), 7);
	/* It wraps, and takes nothing of its neighbours. */
	OK(post_add(p.a.ep, ~7ull, &iov, 4, &at, 0));
	want(p.a.request, ADDED, 4, DAT_DTO_SUCCESS, 8);
	CHECK_EQ(word_at(&p.b.mem, 16), ~0ull);
	OK(post_add(p.a.ep, 3, &iov, 5, &at, SUPPRESS));
	OK(post_add(p.a.ep, 4, &iov, 6, &at, 0));
	want(p.a.request, ADDED, 6, DAT_DTO_SUCCESS, 8);
	CHECK_EQ(word_at(&p.a.mem, 8), 2);
	CHECK_EQ(word_at(&p.b.mem, 16), 6);
	CHECK_EQ(word_at(&p.b.mem, 8), 0);
	CHECK_EQ(word_at(&p.b.mem, 24), 0);
	nothing_more(p.a.request);
}

/* More than the device has under way at once; a graceful disconnect waits for all of them. */
static void drained(void)
{
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET at;
	struct pair p = {};
	u64 i;

	if (!extended_pair(&p))
		return;
	at = remote_piece(&p.b.mem, 0, 8);
	for (i = 0; i < NODE_REQUESTS; i++) {
		iov = piece(&p.a.mem, 8 * i, 8);
		OK(post_add(p.a.ep, 1, &iov, i, &at, 0));
	}
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (i = 0; i < NODE_REQUESTS; i++) {
		want(p.a.request, ADDED, i, DAT_DTO_SUCCESS, 8);
		CHECK_EQ(word_at(&p.a.mem, 8 * i), i);
	}
	want_conn(p.a.conn, p.a.ep, DISCONNECTED);
	nothing_more(p.a.request);
	CHECK_EQ(word_at(&p.b.mem, 0), NODE_REQUESTS);
}

/* The peer refuses the atomic, as want_refused() has it, and the connection is over. */
static void refused(struct node *node, u64 number)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!next_event(node->request, &event))
		return;
	dto = &event.event_data.dto_completion_event_data;
	says(&event, ADDED, 0);
	CHECK_EQ(dto->user_cookie.as_64, number);
	CHECK(dto->status == DAT_DTO_ERR_REMOTE_ACCESS || dto->status == DAT_DTO_ERR_FLUSHED);
	if (next_event(node->conn, &event))
		CHECK(event.event_number == BROKEN || event.event_number == DISCONNECTED);
}

/* Without the privilege a peer may write, but not by an atomic. */
static void rights(void)
{
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET at;
	struct pair p = {};

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	iov = piece(&p.a.mem, 0, 8);
	at = remote_piece(&p.b.mem, 0, 8);
	OK(node_write(&p.a, 0, 8, &at, 1, 0));
	want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	OK(post_add(p.a.ep, 1, &iov, 2, &at, 0));
	refused(&p.a, 2);
	CHECK_EQ(word_at(&p.b.mem, 0), 0);
}

/* ... and by it alone, but not write or read. */
static void only_atomics(void)
{
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET at;
	struct pair p = {};
	struct mem mem;

	if (!mem_new(&side_b, &mem, 4096, ATOMIC) || !pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	CHECK(mem.rmr_context);
	iov = piece(&p.a.mem, 0, 8);
	at = remote_piece(&mem, 8, 8);
	OK(post_add(p.a.ep, 9, &iov, 1, &at, 0));
	want(p.a.request, ADDED, 1, DAT_DTO_SUCCESS, 8);
	CHECK_EQ(word_at(&mem, 8), 9);
	OK(node_write(&p.a, 0, 8, &at, 2, 0));
	want_refused(&p.a, 2);
	CHECK_EQ(word_at(&mem, 8), 9);
}

/* ---- arguments ----------------------------------------------------------------- */

static bool is_arg(DAT_RETURN ret, u32 place)
{
	return CHECK_EQ(ret, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + place - 1));
}

static void bad_writes(void)
{
	static const u32 args[] = WRITE_ARGS;
	DAT_LMR_TRIPLET iov[5], far;
	DAT_RMR_TRIPLET to, small;
	struct pair p = {};
	unsigned int i;

	if (!extended_pair(&p))
		return;
	for (i = 0; i < 5; i++)
		iov[i] = piece(&p.a.mem, 8 * i, 8);
	to = remote_piece(&p.b.mem, 0, 64);
	small = remote_piece(&p.b.mem, 0, 7);
	far = piece(&p.a.mem, NODE_MEMORY - 4, 8);
	BAD_HANDLE(post_write(p.a.conn, 1, iov, 1, &to, WORD, 0), EP);
	is_arg(post_write(p.a.ep, 5, iov, 1, &to, WORD, 0), args[0]);
	is_arg(post_write(p.a.ep, -1, iov, 1, &to, WORD, 0), args[0]);
	is_arg(post_write(p.a.ep, 1, NULL, 1, &to, WORD, 0), args[1]);
	is_arg(post_write(p.a.ep, 1, &far, 1, &to, WORD, 0), args[1]);
	is_arg(post_write(p.a.ep, 1, iov, 1, NULL, WORD, 0), args[2]);
	is_arg(post_write(p.a.ep, 1, iov, 1, &to, WORD, 0x100), args[3]);
	IS(post_write(p.a.ep, 1, iov, 1, &small, WORD, 0), DAT_LENGTH_ERROR, 0);
	iov[0].lmr_context ^= 1 << 20;
	IS(post_write(p.a.ep, 1, iov, 1, &to, WORD, 0), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_READ);
	nothing_more(p.a.request);
	idle(p.a.ep);
}

static void bad_atomics(void)
{
	static const u32 adds[] = ADD_ARGS, swaps[] = SWAP_ARGS;
	DAT_RMR_TRIPLET at, odd, small;
	DAT_LMR_TRIPLET iov, far, half;
	struct pair p = {};
	struct mem fixed;

	if (!extended_pair(&p) || !mem_new(&side_a, &fixed, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return;
	iov = piece(&p.a.mem, 0, 8);
	half = piece(&p.a.mem, 0, 4);
	far = piece(&p.a.mem, NODE_MEMORY - 4, 8);
	at = remote_piece(&p.b.mem, 0, 8);
	odd = remote_piece(&p.b.mem, 4, 8);
	small = remote_piece(&p.b.mem, 0, 7);
	BAD_HANDLE(post_add(p.a.conn, 1, &iov, 1, &at, 0), EP);
	is_arg(post_add(p.a.ep, 1, NULL, 1, &at, 0), adds[1]);
	is_arg(post_add(p.a.ep, 1, &far, 1, &at, 0), adds[1]);
	is_arg(post_add(p.a.ep, 1, &iov, 1, NULL, 0), adds[2]);
	is_arg(post_add(p.a.ep, 1, &iov, 1, &odd, 0), adds[2]);
	is_arg(post_add(p.a.ep, 1, &iov, 1, &at, DAT_COMPLETION_SOLICITED_WAIT_FLAG), adds[3]);
	BAD_HANDLE(post_swap(p.a.conn, 1, 2, &iov, 1, &at, 0), EP);
	is_arg(post_swap(p.a.ep, 1, 2, NULL, 1, &at, 0), swaps[1]);
	is_arg(post_swap(p.a.ep, 1, 2, &iov, 1, NULL, 0), swaps[2]);
	is_arg(post_swap(p.a.ep, 1, 2, &iov, 1, &odd, 0), swaps[2]);
	is_arg(post_swap(p.a.ep, 1, 2, &iov, 1, &at, 0x100), swaps[3]);
	IS(post_swap(p.a.ep, 1, 2, &iov, 1, &small, 0), DAT_LENGTH_ERROR, 0);
	IS(post_add(p.a.ep, 1, &half, 1, &at, 0), DAT_LENGTH_ERROR, 0);
	iov = piece(&fixed, 0, 8);
	IS(post_add(p.a.ep, 1, &iov, 1, &at, 0), DAT_PRIVILEGES_VIOLATION,
	   DAT_PRIVILEGES_WRITE);
	nothing_more(p.a.request);
	idle(p.a.ep);
	mem_free(&fixed);
}

/* They count as reads. */
static void no_credits(void)
{
	DAT_EP_ATTR attr = node_attr;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET at;
	struct pair p = {};

	attr.max_rdma_read_out = 0;
	if (!pair_new(&p, ONE_EVD, &attr, NULL))
		return;
	iov = piece(&p.a.mem, 0, 8);
	at = remote_piece(&p.b.mem, 0, 8);
	IS(post_add(p.a.ep, 1, &iov, 1, &at, 0), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_CREDITS);
	nothing_more(p.a.request);
}

/* ---- what the device has ----------------------------------------------------------- */

static bool has(const struct side *side, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < side->provider.num_provider_specific_attr; i++)
		if (is_named(&side->provider.provider_specific_attr[i], name))
			return true;
	return false;
}

static void told(void)
{
	CHECK(has(&side_a, "DAT_IB_IMMED_DATA"));
	CHECK(has(&side_a, "DAT_IB_CMP_AND_SWAP"));
	CHECK(has(&side_a, "DAT_IB_FETCH_AND_ADD"));
}

static void not_there(void)
{
	DAT_REGION_DESCRIPTION region = {};
	DAT_LMR_TRIPLET iov = {};
	DAT_RMR_TRIPLET at = {};
	struct node a = {};
	DAT_LMR_HANDLE lmr;
	void *memory = scenario_alloc(4096);

	if (!memory || !node_new(&a, &side_a, ONE_EVD, NULL))
		return;
	CHECK(!has(&side_a, "DAT_IB_IMMED_DATA"));
	CHECK(!has(&side_a, "DAT_IB_CMP_AND_SWAP"));
	CHECK(!has(&side_a, "DAT_IB_FETCH_AND_ADD"));
	region.for_va = memory;
	IS(platform_lmr_create(side_a.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, side_a.pz, ATOMIC,
			       &lmr, NULL, NULL), DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_HANDLE(post_write(a.conn, 1, &iov, 1, &at, WORD, 0), EP);
	IS(post_write(a.ep, 1, &iov, 1, &at, WORD, 0), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(post_add(a.ep, 1, &iov, 1, &at, 0), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(post_swap(a.ep, 1, 2, &iov, 1, &at, 0), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(post_write(a.ep, 1, &iov, 1, NULL, WORD, 0), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(post_add(a.ep, 1, &iov, 1, NULL, 0), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(post_swap(a.ep, 1, 2, &iov, 1, NULL, 0), DAT_MODEL_NOT_SUPPORTED, 0);
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("X1 X3 X4 an RDMA write with immediate data takes a receive", writes,
		    .srq = SRQ_BOTH),
	SCENARIO_IB("X1 X4 writes with immediate data and messages, in order", in_order,
		    .srq = SRQ_B),
	SCENARIO_IB("X1 X3 D46 writes with immediate data behind the end", ends),
	SCENARIO_IB("X1 X3 X5 compare and swap, fetch and add", atomics),
	SCENARIO_IB("X1 X5 D4 a graceful disconnect waits for atomics", drained),
	SCENARIO_IB("X6 no atomic without the privilege", rights),
	SCENARIO_IB("X6 the privilege of atomics is no other one", only_atomics),
	SCENARIO_IB("X1 arguments of writes with immediate data", bad_writes),
	SCENARIO_IB("X1 X5 arguments of atomics", bad_atomics),
	SCENARIO_IB("X5 mt:T16 atomics of an endpoint without reads", no_credits),
	SCENARIO_IB("X2 attributes name the extensions", told),
	SCENARIO_IWARP("X2 a device without extensions", not_there),
};

SCENARIO_TABLE(extension_table);
