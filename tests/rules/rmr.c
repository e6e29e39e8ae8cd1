// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Remote memory regions: binds, what a window admits, and what keeps an LMR in
 * use.  Side b has the memory and the windows, side a uses them.
 */
#include "memory.h"
#ifdef __KERNEL__
#include <linux/io.h>
#endif

#define LOCAL		(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define REMOTE		(REMOTE_READ | REMOTE_WRITE)

#define IN_USE(mem)	BAD_STATE(dat_lmr_free((mem)->lmr), LMR_IN_USE)

/* Of [offset, offset + length) of @mem; @window is how the peer names it. */
static DAT_RETURN post_bind(struct node *node, DAT_RMR_HANDLE rmr,
			    const struct mem *mem, size_t offset, size_t length,
		       DAT_MEM_PRIV_FLAGS privileges, u64 number,
		       DAT_COMPLETION_FLAGS flags, DAT_RMR_TRIPLET *window)
{
	DAT_LMR_TRIPLET segment = piece(mem, offset, length);

	*window = remote_piece(mem, offset, length);
	return dat_rmr_bind(rmr, &segment, privileges, node->ep,
			    cookie(number), flags, &window->rmr_context);
}

static DAT_RETURN post_unbind(struct node *node, DAT_RMR_HANDLE rmr, u64 number,
			      DAT_COMPLETION_FLAGS flags)
{
	/* Nothing else is looked at (mt:M37). */
	DAT_LMR_TRIPLET nothing = { .lmr_context = ~0U };
	DAT_RMR_CONTEXT context = 7;
	DAT_RETURN ret;

	ret = dat_rmr_bind(rmr, &nothing, 0x40, node->ep, cookie(number),
			   flags, &context);
	if (!ret)
		CHECK(!context);
	return ret;
}

/* ... and its completion. */
static bool bind_now(struct node *node, DAT_RMR_HANDLE rmr,
		     const struct mem *mem, size_t offset, size_t length,
		     DAT_RMR_TRIPLET *window)
{
	return OK(post_bind(node, rmr, mem, offset, length, REMOTE, 600, 0,
		       window)) &&
	       want_bound(node->request, rmr, 600, DAT_DTO_SUCCESS);
}

static bool unbind_now(struct node *node, DAT_RMR_HANDLE rmr)
{
	return OK(post_unbind(node, rmr, 601, 0)) &&
	       want_bound(node->request, rmr, 601, DAT_DTO_SUCCESS);
}

/* What a query says: this window, or none. */
static bool shows(DAT_RMR_HANDLE rmr, const DAT_RMR_TRIPLET *window)
{
	static const DAT_RMR_TRIPLET none;
	DAT_RMR_PARAM param;

	memset(&param, 0xff, sizeof(param));
	if (!window)
		window = &none;
	return OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param)) &&
	       CHECK(param.ia_handle == side_b.ia) &&
	       CHECK_EQ(param.rmr_context, window->rmr_context) &&
	       CHECK_EQ(param.lmr_triplet.virtual_address,
			window->target_address) &&
	       CHECK_EQ(param.lmr_triplet.segment_length,
			window->segment_length) &&
	       CHECK(!param.lmr_triplet.lmr_context ==
		     !window->segment_length) &&
	       CHECK(window->segment_length || !param.mem_priv);
}

static bool rmr_new(DAT_RMR_HANDLE *rmr)
{
	return OK(dat_rmr_create(side_b.pz, rmr));
}

/* Memory of side b without remote rights of its own, and an RMR. */
static bool windows_new(struct pair *pair, enum evds evds, struct mem *mem,
			DAT_RMR_HANDLE *rmr)
{
	return pair_new(pair, evds, NULL, NULL) &&
	       mem_new(&side_b, mem, 4 * PAGE, LOCAL) && rmr_new(rmr);
}

/* Side b's request 0 waits for a receive, and so does all behind it. */
static bool withhold(struct pair *pair)
{
	return OK(node_send(&pair->b, 0, 64, 0, 0));
}

static bool let_go(struct pair *pair)
{
	return OK(node_recv(&pair->a, 0, 64, 1)) &&
	       want_done(pair->a.recv, pair->a.ep, 1, DAT_DTO_SUCCESS) &&
	       want_done(pair->b.request, pair->b.ep, 0, DAT_DTO_SUCCESS);
}

/* ---- handles and arguments ---------------------------------------------- */

static void life(void)
{
	struct footprint before;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	if (!OK(dat_pz_create(side_b.ia, &pz)) || !footprint(&before))
		return;
	BAD_ARG(dat_rmr_create(pz, NULL), 2);
	BAD_HANDLE(dat_rmr_create(DAT_HANDLE_NULL, &rmr), PZ);
	BAD_HANDLE(dat_rmr_create(side_b.async, &rmr), PZ);
	if (!OK(dat_rmr_create(pz, &rmr)))
		return;
	/* Two regions that take turns, or a window. */
	footprint_grew(&before, 0, side_is_passthrough(&side_b) ? 0 : 2);
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	shows(rmr, NULL);
	if (OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param)))
		CHECK(param.pz_handle == pz);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL + 1, &param), 2);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), 3);
	BAD_HANDLE(dat_rmr_query(pz, DAT_RMR_FIELD_ALL, &param), RMR);
	BAD_HANDLE(dat_rmr_free(pz), RMR);
	BAD_HANDLE(dat_rmr_free(DAT_HANDLE_NULL), RMR);
	OK(dat_rmr_free(rmr));
	BAD_HANDLE(dat_rmr_free(rmr), RMR);
	BAD_HANDLE(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), RMR);
	/* A zone may have memory of its own (pass_pz.nothing). */
	footprint_grew(&before, 0, 0);
	OK(dat_pz_free(pz));
	BAD_HANDLE(dat_rmr_create(pz, &rmr), PZ);
}

/* mt:M29, mt:M38: what is wrong with the range, the flags, the pointers. */
static void bind_values(struct pair *p, DAT_RMR_HANDLE rmr,
			const struct mem *mem)
{
	static const DAT_COMPLETION_FLAGS flags[] = {
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG, 0x10, 0x20, 0x40000000,
		DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	DAT_RMR_TRIPLET window;
	DAT_LMR_TRIPLET s = piece(mem, 0, 64);
	struct mem dead = *mem;
	unsigned int i;

	BAD_ARG(dat_rmr_bind(rmr, NULL, REMOTE, p->b.ep, cookie(1), 0,
			     &window.rmr_context), 2);
	BAD_ARG(dat_rmr_bind(rmr, &s, REMOTE, p->b.ep, cookie(1), 0, NULL), 7);
	BAD_ARG(post_bind(&p->b, rmr, mem, -1, 64, REMOTE, 1, 0, &window), 2);
	BAD_ARG(post_bind(&p->b, rmr, mem, mem->size - 63, 64, REMOTE, 1, 0,
			  &window), 2);
	BAD_ARG(post_bind(&p->b, rmr, mem, mem->size, 1, REMOTE, 1, 0, &window), 2);
	BAD_ARG(post_bind(&p->b, rmr, mem, 8, -8, REMOTE, 1, 0, &window), 2);
	dead.context = p->a.mem.context ^ 0x5a5a5a;
	BAD_ARG(post_bind(&p->b, rmr, &dead, 0, 64, REMOTE, 1, 0, &window), 2);
	BAD_ARG(post_bind(&p->b, rmr, &p->a.mem, 0, 64, REMOTE, 1, 0, &window), 2);
	BAD_ARG(post_bind(&p->b, rmr, mem, 0, 64, 0x40, 1, 0, &window), 3);
	BAD_ARG(post_bind(&p->b, rmr, mem, 0, 64, REMOTE | 0x100, 1, 0, &window),
		3);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		BAD_ARG(post_bind(&p->b, rmr, mem, 0, 64, REMOTE, 1, flags[i],
				  &window), 6);
		BAD_ARG(post_unbind(&p->b, rmr, 1, flags[i]), 6);
	}
}

static void bind_arguments(void)
{
	struct node no_binds = { .side = &side_b }, unconnected = {};
	DAT_RMR_TRIPLET window;
	DAT_RMR_HANDLE rmr, dead;
	struct pair p = {};
	struct mem mem;

	if (!windows_new(&p, THREE_EVDS, &mem, &rmr) || !rmr_new(&dead) ||
	    !OK(dat_rmr_free(dead)) ||
	    !node_new(&unconnected, &side_b, THREE_EVDS, NULL) ||
	    !evd_new(&side_b, NODE_EVENTS, DAT_EVD_DTO_FLAG,
		     &no_binds.request) ||
	    !node_new(&no_binds, &side_b, THREE_EVDS, NULL))
		return;
	BAD_HANDLE(post_bind(&p.b, dead, &mem, 0, 64, REMOTE, 1, 0, &window), RMR);
	BAD_HANDLE(post_bind(&p.b, mem.lmr, &mem, 0, 64, REMOTE, 1, 0, &window),
		   RMR);
	BAD_HANDLE(post_bind(&p.a, rmr, &mem, 0, 64, REMOTE, 1, 0, &window), EP);
	BAD_HANDLE(post_bind(&no_binds, rmr, &mem, 0, 64, REMOTE, 1, 0, &window),
		   EVD_REQUEST);
	bind_values(&p, rmr, &mem);
	BAD_STATE(post_bind(&unconnected, rmr, &mem, 0, 64, REMOTE, 1, 0, &window),
		  EP_UNCONNECTED);
	/* Nothing has happened, and the LMR is not in use. */
	shows(rmr, NULL);
	idle(p.b.ep);
	nothing_more(p.b.request);
	OK(dat_lmr_free(mem.lmr));
	BAD_ARG(post_bind(&p.b, rmr, &mem, 0, 64, REMOTE, 1, 0, &window), 2);
	talks(&p.b, &p.a);
}

/* mt:M30: one PZ for all three; the subtype is the first right's. */
static void bind_zones(void)
{
	struct pair p = {}, foreign = {};
	DAT_RMR_HANDLE rmr, other;
	DAT_RMR_TRIPLET window;
	DAT_PZ_HANDLE pz = side_b.pz;
	struct mem mem, theirs;

	if (!windows_new(&p, THREE_EVDS, &mem, &rmr) ||
	    !OK(dat_pz_create(side_b.ia, &side_b.pz)) ||
	    !windows_new(&foreign, THREE_EVDS, &theirs, &other))
		return;
	side_b.pz = pz;
	IS(post_bind(&p.b, rmr, &theirs, 0, 64, REMOTE, 1, 0, &window),
	   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_READ);
	IS(post_bind(&p.b, rmr, &theirs, 0, 64, REMOTE_WRITE, 1, 0, &window),
	   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE);
	IS(post_bind(&p.b, other, &mem, 0, 64, REMOTE_READ, 1, 0, &window),
	   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_READ);
	IS(post_bind(&foreign.b, rmr, &mem, 0, 64, REMOTE_WRITE, 1, 0, &window),
	   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE);
	IS(post_unbind(&p.b, other, 1, 0), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_RDMA_READ);
	shows(rmr, NULL);
	OK(dat_lmr_free(theirs.lmr));
	/* mt:M2: a window is for the EPs of its PZ alone. */
	if (!bind_now(&p.b, rmr, &mem, 0, PAGE, &window))
		return;
	mem_fill(&mem, 0, PAGE, 1);
	refuses(&foreign, RDMA_WRITE, &window);
	refuses(&foreign, RDMA_READ, &window);
	mem_check(&mem, 0, PAGE, 1);
	admits(&p, RDMA_WRITE, &window, mem.va);
}

/* mt:M31: local rights of the LMR, remote ones of the window. */
static void bind_rights(void)
{
	DAT_RMR_TRIPLET window;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	struct mem mem;
	int lmr, asked;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !rmr_new(&rmr))
		return;
	for (lmr = 0; lmr < 4 && !failed(); lmr++) {
		/* Its own remote rights do not matter. */
		if (!mem_new(&side_b, &mem, PAGE,
			     (lmr & 1 ? DAT_MEM_PRIV_LOCAL_READ_FLAG : 0) |
			     (lmr & 2 ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : 0) |
			     (lmr ? 0 : REMOTE)))
			return;
		for (asked = 1; asked < 4; asked++) {
			DAT_RETURN ret;

			ret = post_bind(&p.b, rmr, &mem, 0, 64,
					(asked & 1 ? REMOTE_READ : 0) |
				   (asked & 2 ? REMOTE_WRITE : 0) | LOCAL, 1, 0,
				   &window);
			if (asked & ~lmr & 1)
				IS(ret, DAT_PRIVILEGES_VIOLATION,
				   DAT_PRIVILEGES_RDMA_READ);
			else if (asked & ~lmr & 2)
				IS(ret, DAT_PRIVILEGES_VIOLATION,
				   DAT_PRIVILEGES_RDMA_WRITE);
			else if (OK(ret))
				want_bound(p.b.request, rmr, 1,
					   DAT_DTO_SUCCESS);
		}
		if (lmr && unbind_now(&p.b, rmr))
			mem_free(&mem);
	}
}

/* ---- what a window admits ----------------------------------------------- */

/* One byte beyond each end, by reads and writes. */
static void refuses_around(struct pair *p, const DAT_RMR_TRIPLET *window)
{
	DAT_RMR_TRIPLET at;
	int i;

	for (i = 0; i < 6 && !failed(); i++) {
		at = *window;
		if (i < 2) {
			at.target_address--;
			at.segment_length = 1;
		} else if (i < 4) {
			at.target_address += at.segment_length;
			at.segment_length = 1;
		} else {
			at.segment_length++;
			/* What lies inside may be written before the rest is refused. */
			if (!(i & 1) && side_is_iwarp(&side_a))
				continue;
		}
		refuses(p, i & 1 ? RDMA_READ : RDMA_WRITE, &at);
	}
}

static void window_life(void)
{
	DAT_RMR_TRIPLET first, second;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;
	struct mem mem;

	if (!windows_new(&p, ONE_EVD, &mem, &rmr) ||
	    !bind_now(&p.b, rmr, &mem, 1001, 5003, &first))
		return;
	CHECK(!mem.rmr_context && first.rmr_context);
	shows(rmr, &first);
	if (OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param)))
		CHECK(param.mem_priv == REMOTE &&
		      param.lmr_triplet.lmr_context == mem.context &&
		      param.pz_handle == side_b.pz);
	admits(&p, RDMA_WRITE, &first, mem.va + 1001);
	admits(&p, RDMA_READ, &first, mem.va + 1001);
	mem_fill(&mem, 0, mem.size, 1);
	refuses_around(&p, &first);
	mem_check(&mem, 0, mem.size, 1);
	/* It stays bound though the EP was broken and reset (mt:M42). */
	admits(&p, RDMA_WRITE, &first, mem.va + 1001);

	if (!bind_now(&p.b, rmr, &mem, 0, PAGE, &second))
		return;
	CHECK(second.rmr_context != first.rmr_context);
	shows(rmr, &second);
	admits(&p, RDMA_READ, &second, mem.va);
	mem_fill(&mem, 0, mem.size, 2);
	refuses(&p, RDMA_WRITE, &first);
	/* Nor does the new range do for the old context. */
	first.target_address = second.target_address;
	first.segment_length = 1;
	refuses(&p, RDMA_READ, &first);
	IN_USE(&mem);

	unbind_now(&p.b, rmr);
	shows(rmr, NULL);
	refuses(&p, RDMA_WRITE, &second);
	unbind_now(&p.b, rmr);
	shows(rmr, NULL);
	mem_check(&mem, 0, mem.size, 2);
	OK(dat_lmr_free(mem.lmr));
	OK(dat_rmr_free(rmr));
}

static void window_rights(void)
{
	static const DAT_MEM_PRIV_FLAGS rights[] = {
		0, REMOTE_READ, REMOTE_WRITE, REMOTE,
	};
	DAT_RMR_TRIPLET window;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	unsigned int i;
	struct mem mem;

	if (!windows_new(&p, ONE_EVD, &mem, &rmr))
		return;
	for (i = 0; i < ARRAY_SIZE(rights) && !failed(); i++) {
		OK(post_bind(&p.b, rmr, &mem, 8, 100, rights[i], 1, 0, &window));
		want_bound(p.b.request, rmr, 1, DAT_DTO_SUCCESS);
		mem_fill(&mem, 0, PAGE, i);
		if (rights[i] & REMOTE_READ)
			admits(&p, RDMA_READ, &window, mem.va + 8);
		else if (reads_need_right())
			refuses(&p, RDMA_READ, &window);
		mem_fill(&mem, 0, PAGE, i);
		if (rights[i] & REMOTE_WRITE)
			admits(&p, RDMA_WRITE, &window, mem.va + 8);
		else
			refuses(&p, RDMA_WRITE, &window);
		if (!(rights[i] & REMOTE_WRITE))
			mem_check(&mem, 0, PAGE, i);
		IN_USE(&mem);
	}
}

/* mt:M36: no context comes again among 256. */
static void contexts_anew(void)
{
	DAT_RMR_CONTEXT *old = scenario_alloc(600 * sizeof(*old));
	DAT_RMR_TRIPLET window, stale;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	struct mem mem;
	int i, j;

	if (!old || !windows_new(&p, ONE_EVD, &mem, &rmr))
		return;
	for (i = 0; i < 600 && !failed(); i++) {
		if (!bind_now(&p.b, rmr, &mem, i, PAGE, &window))
			return;
		old[i] = window.rmr_context;
		for (j = i < 255 ? 0 : i - 255; j < i; j++)
			if (old[j] == old[i])
				FAIL("bind %d has the context of %d", i, j);
		if (i % 7 == 6 && !unbind_now(&p.b, rmr))
			return;
	}
	admits(&p, RDMA_WRITE, &window, mem.va + 599);
	mem_fill(&mem, 0, mem.size, 1);
	for (j = 1; j < 256 && !failed(); j = 2 * j + 1) {
		stale = window;
		stale.rmr_context = old[599 - j];
		refuses(&p, RDMA_WRITE, &stale);
	}
	mem_check(&mem, 0, mem.size, 1);
}

/* ---- binds as requests -------------------------------------------------- */

static const DAT_COMPLETION_FLAGS bind_flags[] = {
	0,
	DAT_COMPLETION_SUPPRESS_FLAG,
	DAT_COMPLETION_UNSIGNALLED_FLAG,
	DAT_COMPLETION_BARRIER_FENCE_FLAG,
	DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG,
	/* On a success SUPPRESS wins (mt:T21). */
	DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG,
};

/* Each flag on a bind and an unbind, both behind a read. */
static void flags_of_binds(void)
{
	DAT_EP_ATTR attr = node_attr;
	DAT_RMR_TRIPLET much, little, window;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	unsigned int i, j;
	struct mem mem;

	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (!pair_new(&p, THREE_EVDS, NULL, &attr) || !rmr_new(&rmr) ||
	    !mem_new(&side_b, &mem, PAGE, LOCAL))
		return;
	much = remote_piece(&p.a.mem, 0, 30000);
	little = remote_piece(&p.a.mem, 0, 8);
	for (i = 0; i < ARRAY_SIZE(bind_flags) && !failed(); i++) {
		for (j = 0; j < 2; j++) {
			OK(node_read(&p.b, 0, 30000, &much, 1, 0));
			if (j)
				OK(post_unbind(&p.b, rmr, 2, bind_flags[i]));
			else
				OK(post_bind(&p.b, rmr, &mem, 0, PAGE, REMOTE, 2,
					     bind_flags[i], &window));
			want_done(p.b.request, p.b.ep, 1, DAT_DTO_SUCCESS);
			/* Wakes somebody also for one that does not. */
			OK(node_read(&p.b, 0, 8, &little, 3, 0));
			if (!(bind_flags[i] & DAT_COMPLETION_SUPPRESS_FLAG))
				want_bound(p.b.request, rmr, 2,
					   DAT_DTO_SUCCESS);
			want_done(p.b.request, p.b.ep, 3, DAT_DTO_SUCCESS);
			nothing_more(p.b.request);
			shows(rmr, j ? NULL : &window);
			if (!j)
				admits(&p, RDMA_WRITE, &window, mem.va);
		}
	}
	idle(p.b.ep);
}

/* mt:M34: the peer uses at once what a message tells it. */
static void send_behind_bind(void)
{
	DAT_COMPLETION_FLAGS flags;
	DAT_RMR_TRIPLET window;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	struct mem mem;
	int i;

	if (!windows_new(&p, THREE_EVDS, &mem, &rmr))
		return;
	for (i = 0; i < 100 && !failed(); i++) {
		flags = i & 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0;
		OK(node_recv(&p.a, NODE_MEMORY - 8, 8, 1));
		OK(post_bind(&p.b, rmr, &mem, i, PAGE + i, REMOTE, 2, flags,
			     &window));
		memcpy(p.b.mem.va, &window.rmr_context, 4);
		OK(node_send(&p.b, 0, 4, 3, 0));
		if (!want_done(p.a.recv, p.a.ep, 1, DAT_DTO_SUCCESS))
			return;
		memcpy(&window.rmr_context, p.a.mem.va + NODE_MEMORY - 8, 4);
		admits(&p, i & 2 ? RDMA_READ : RDMA_WRITE, &window,
		       mem.va + i);
		if (!flags)
			want_bound(p.b.request, rmr, 2, DAT_DTO_SUCCESS);
		want_done(p.b.request, p.b.ep, 3, DAT_DTO_SUCCESS);
	}
	nothing_more(p.b.request);
}

/* mt:T11: no EVD for its completion, which a query sees all the same. */
static void bind_without_evd(void)
{
	u64 end = deadline();
	struct listener listener = {};
	struct node a = {}, b = { .side = &side_b };
	DAT_RMR_TRIPLET window;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	int i;

	if (!evd_new(&side_b, 16, DAT_EVD_CONNECTION_FLAG, &b.conn) ||
	    !mem_new(&side_b, &b.mem, NODE_MEMORY, LOCAL) ||
	    !node_ep(&b, NULL) || !node_new(&a, &side_a, ONE_EVD, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !pair_connect(&a, &b, &listener) || !rmr_new(&rmr))
		return;
	for (i = 0; i < 3 * NODE_REQUESTS && !failed(); i++) {
		OK(post_bind(&b, rmr, &b.mem, i, PAGE, REMOTE, 1, 0, &window));
		do {
			OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
			yield_cpu();
		} while (param.rmr_context != window.rmr_context &&
			 now_us() < end);
		shows(rmr, &window);
	}
	idle(b.ep);
	nothing_more(b.conn);
}

/* mt:M47: as many as the EP has requests, first alone, then behind a send. */
static void many_binds(void)
{
	DAT_RMR_TRIPLET window[NODE_REQUESTS], none;
	DAT_RMR_HANDLE rmr[NODE_REQUESTS];
	struct pair p = {};
	struct mem mem;
	int i, first;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_b, &mem, 4 * PAGE, LOCAL))
		return;
	for (i = 0; i < NODE_REQUESTS; i++)
		if (!rmr_new(&rmr[i]))
			return;
	for (first = 0; first < 2; first++) {
		if (first)
			withhold(&p);
		for (i = first; i < NODE_REQUESTS; i++)
			OK(post_bind(&p.b, rmr[i], &mem, 64 * i + first, 64,
				     REMOTE, i, 0, &window[i]));
		if (first) {
			IS(post_bind(&p.b, rmr[0], &mem, 0, 64, REMOTE, i, 0,
				     &none),
			   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
			shows(rmr[0], &window[0]);
			let_go(&p);
		}
		for (i = first; i < NODE_REQUESTS; i++)
			want_bound(p.b.request, rmr[i], i, DAT_DTO_SUCCESS);
		nothing_more(p.b.request);
	}
	for (i = 0; i < NODE_REQUESTS; i++)
		shows(rmr[i], &window[i]);
	idle(p.b.ep);
}

/* D11: a graceful disconnect waits for binds, and they succeed. */
static void binds_in_drain(void)
{
	struct account mine = { .request.suppressed = 1 << 3 }, theirs = {};
	DAT_RMR_TRIPLET window[NODE_REQUESTS] = {}, none;
	DAT_RMR_HANDLE rmr[NODE_REQUESTS];
	struct pair p = {}, other = {};
	struct mem mem;
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) ||
	    !pair_new(&other, ONE_EVD, NULL, NULL) ||
	    !mem_new(&side_b, &mem, 4 * PAGE, LOCAL) || !withhold(&p))
		return;
	for (i = 1; i < NODE_REQUESTS; i++)
		if (!rmr_new(&rmr[i]) ||
		    !OK(post_bind(&p.b, rmr[i], &mem, 64 * i, 64, REMOTE, i,
			     i == 3 ? DAT_COMPLETION_SUPPRESS_FLAG : 0,
			     &window[i])))
			return;
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	state_is(p.b.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	BAD_STATE(post_bind(&p.b, rmr[1], &mem, 0, 64, REMOTE, 99, 0, &none),
		  EP_DISCPENDING);
	IN_USE(&mem);
	OK(node_recv(&p.a, 0, 64, RECV));
	if (!account_until(&mine, &p.b, DAT_CONNECTION_EVENT_DISCONNECTED) ||
	    !account_until(&theirs, &p.a, DAT_CONNECTION_EVENT_DISCONNECTED))
		return;
	account_closed(&mine, NODE_REQUESTS, 0);
	CHECK_EQ(mine.request.good, NODE_REQUESTS);
	for (i = 1; i < NODE_REQUESTS && !failed(); i++) {
		shows(rmr[i], &window[i]);
		admits(&other, RDMA_WRITE, &window[i], mem.va + 64 * i);
	}
}

/* ---- what keeps an LMR in use ------------------------------------------- */

/* L14: transfers through window and LMR go on around a free that is refused. */
static void refused_free(void)
{
	DAT_RMR_TRIPLET window, direct;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	struct mem mem;
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) || !rmr_new(&rmr) ||
	    !mem_new(&side_b, &mem, 4 * PAGE, DAT_MEM_PRIV_ALL_FLAG) ||
	    !bind_now(&p.b, rmr, &mem, PAGE, 2 * PAGE, &window))
		return;
	direct = remote_piece(&mem, 0, 4 * PAGE);
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(node_write(&p.a, 0, 2 * PAGE, i & 1 ? &window : &direct, i,
			      0));
	IN_USE(&mem);
	for (i = 0; i < NODE_REQUESTS; i++)
		want_done(p.a.request, p.a.ep, i, DAT_DTO_SUCCESS);
	IN_USE(&mem);
	shows(rmr, &window);
	admits(&p, RDMA_WRITE, &window, mem.va + PAGE);
	admits(&p, RDMA_WRITE, &direct, mem.va);
	/* Local access, too: a receive into it. */
	p.b.mem = mem;
	talks(&p.a, &p.b);
	nothing_more(p.b.conn);
	unbind_now(&p.b, rmr);
	OK(dat_lmr_free(mem.lmr));
	OK(dat_rmr_free(rmr));
}

/* mt:M40, mt:M41, mt:M45: between the post and the completion. */
static void outstanding(void)
{
	DAT_RMR_TRIPLET before, after, none;
	struct pair p = {}, other = {};
	struct mem old, new;
	DAT_RMR_HANDLE rmr;

	if (!windows_new(&p, THREE_EVDS, &old, &rmr) ||
	    !mem_new(&side_b, &new, 4 * PAGE, LOCAL) ||
	    !pair_new(&other, THREE_EVDS, NULL, NULL) ||
	    !bind_now(&p.b, rmr, &old, 0, PAGE, &before) || !withhold(&p))
		return;
	OK(post_bind(&p.b, rmr, &new, PAGE, PAGE, REMOTE, 2, 0, &after));
	IN_USE(&old);
	IN_USE(&new);
	shows(rmr, &before);
	admits(&other, RDMA_WRITE, &before, old.va);
	IS(post_bind(&p.b, rmr, &old, 0, PAGE, REMOTE, 3, 0, &none),
	   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	IS(post_bind(&other.b, rmr, &old, 0, PAGE, REMOTE, 3, 0, &none),
	   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	IS(post_unbind(&other.b, rmr, 3, 0), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_MEMORY_REGION);
	silent(p.b.request);
	shows(rmr, &before);
	let_go(&p);
	want_bound(p.b.request, rmr, 2, DAT_DTO_SUCCESS);
	OK(dat_lmr_free(old.lmr));
	IN_USE(&new);
	shows(rmr, &after);
	admits(&other, RDMA_WRITE, &after, new.va + PAGE);
	refuses(&other, RDMA_WRITE, &before);

	/* The same for an unbind, upon the other EP. */
	if (!withhold(&other))
		return;
	OK(post_unbind(&other.b, rmr, 4, 0));
	IN_USE(&new);
	shows(rmr, &after);
	let_go(&other);
	want_bound(other.b.request, rmr, 4, DAT_DTO_SUCCESS);
	OK(dat_lmr_free(new.lmr));
	shows(rmr, NULL);
	refuses(&p, RDMA_WRITE, &after);
}

/* mt:M44: the completion is that of a handle that is dead. */
static void freed_outstanding(void)
{
	DAT_RMR_TRIPLET before, after;
	struct pair p = {}, other = {};
	struct footprint empty;
	struct mem old, new;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	if (!footprint(&empty) || !windows_new(&p, THREE_EVDS, &old, &rmr) ||
	    !mem_new(&side_b, &new, PAGE, LOCAL) ||
	    !pair_new(&other, ONE_EVD, NULL, NULL) ||
	    !bind_now(&p.b, rmr, &old, 0, PAGE, &before) || !withhold(&p))
		return;
	OK(post_bind(&p.b, rmr, &new, 0, PAGE, REMOTE, 2, 0, &after));
	OK(dat_rmr_free(rmr));
	BAD_HANDLE(dat_rmr_free(rmr), RMR);
	BAD_HANDLE(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), RMR);
	BAD_HANDLE(post_unbind(&p.b, rmr, 3, 0), RMR);
	IN_USE(&old);
	IN_USE(&new);
	let_go(&p);
	want_bound(p.b.request, rmr, 2, DAT_DTO_SUCCESS);
	OK(dat_lmr_free(old.lmr));
	OK(dat_lmr_free(new.lmr));
	mem_fill(&old, 0, PAGE, 1);
	mem_fill(&new, 0, PAGE, 2);
	refuses(&other, RDMA_WRITE, &before);
	refuses(&other, RDMA_WRITE, &after);
	mem_check(&old, 0, PAGE, 1);
	mem_check(&new, 0, PAGE, 2);
	idle(p.b.ep);
	/* The four nodes' own memory is left. */
	footprint_grew_with(4, &empty, 4 * NODE_MEMORY, 4);
}

/* How an EP may end with a bind upon it. */
enum bind_end { END_SELF, END_PEER, END_FREE, END_BREAK, NR_BIND_ENDS };

static bool end_binding(struct pair *p, enum bind_end how)
{
	DAT_RMR_TRIPLET nowhere = remote_piece(&p->a.mem, 0, 8);

	switch (how) {
	case END_SELF:
		return OK(dat_ep_disconnect(p->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	case END_PEER:
		return OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	case END_FREE:
		return OK(dat_ep_free(p->b.ep));
	default:
		/* Its failure is at the peer: the queue breaks there. */
		nowhere.rmr_context ^= 0x5a5a00;
		return OK(node_write(&p->a, 0, 8, &nowhere, 9, 0));
	}
}

/* The flushes, in order, that end a connection; none of an EP that is free. */
static bool flushed(struct pair *p, DAT_RMR_HANDLE rmr, enum bind_end how)
{
	if (how == END_FREE)
		return want_conn(p->a.conn, p->a.ep,
				 DAT_CONNECTION_EVENT_DISCONNECTED);
	return want_done(p->b.request, p->b.ep, 0, DAT_DTO_ERR_FLUSHED) &&
	       want_bound(p->b.request, rmr, 2, DAT_DTO_ERR_FLUSHED) &&
	       ended(&p->b) && idle(p->b.ep);
}

/* mt:M40, F15: unbound, and both LMRs can go. */
static void flushed_bind(enum bind_end how)
{
	DAT_RMR_TRIPLET before, after, again;
	struct pair p = {}, other = {};
	struct mem old, new;
	DAT_RMR_HANDLE rmr;

	if (!windows_new(&p, THREE_EVDS, &old, &rmr) ||
	    !mem_new(&side_b, &new, PAGE, LOCAL) ||
	    !pair_new(&other, THREE_EVDS, NULL, NULL) ||
	    !bind_now(&p.b, rmr, &old, 0, PAGE, &before) || !withhold(&p))
		return;
	OK(post_bind(&p.b, rmr, &new, 0, PAGE, REMOTE, 2, 0, &after));
	if (!end_binding(&p, how) || !flushed(&p, rmr, how))
		return;
	shows(rmr, NULL);
	OK(dat_lmr_free(old.lmr));
	OK(dat_lmr_free(new.lmr));
	mem_fill(&old, 0, PAGE, 1);
	mem_fill(&new, 0, PAGE, 2);
	refuses(&other, RDMA_WRITE, &before);
	refuses(&other, RDMA_WRITE, &after);
	mem_check(&old, 0, PAGE, 1);
	mem_check(&new, 0, PAGE, 2);
	/* And it can be bound again. */
	if (!bind_now(&other.b, rmr, &other.b.mem, 0, PAGE, &again))
		return;
	admits(&other, RDMA_WRITE, &again, other.b.mem.va);
	CHECK(again.rmr_context != before.rmr_context &&
	      again.rmr_context != after.rmr_context);
}

static void flushed_by_self(void)
{
	flushed_bind(END_SELF);
}

static void flushed_by_peer(void)
{
	flushed_bind(END_PEER);
}

static void flushed_by_free(void)
{
	flushed_bind(END_FREE);
}

static void flushed_by_break(void)
{
	flushed_bind(END_BREAK);
}

/* mt:M32: in Disconnected it never reaches the device; the RMR is as it was. */
static void bind_disconnected(void)
{
	struct pair p = {}, other = {};
	DAT_RMR_TRIPLET window, none;
	DAT_RMR_HANDLE rmr;
	struct mem mem, new;

	if (!windows_new(&p, THREE_EVDS, &mem, &rmr) ||
	    !mem_new(&side_b, &new, PAGE, LOCAL) ||
	    !pair_new(&other, ONE_EVD, NULL, NULL) ||
	    !bind_now(&p.b, rmr, &mem, 0, PAGE, &window))
		return;
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(post_bind(&p.b, rmr, &new, 0, PAGE, REMOTE, 5,
		     DAT_COMPLETION_SUPPRESS_FLAG, &none));
	CHECK(!none.rmr_context);
	OK(post_unbind(&p.b, rmr, 6, 0));
	want_bound(p.b.request, rmr, 5, DAT_DTO_ERR_FLUSHED);
	want_bound(p.b.request, rmr, 6, DAT_DTO_ERR_FLUSHED);
	OK(dat_lmr_free(new.lmr));
	IN_USE(&mem);
	shows(rmr, &window);
	admits(&other, RDMA_WRITE, &window, mem.va);
}

/* mt:M42: other EPs of the PZ, and the end of the one that carried the bind. */
static void other_endpoints(void)
{
	struct pair p = {}, other = {};
	DAT_RMR_TRIPLET window;
	DAT_RMR_HANDLE rmr;
	struct mem mem;

	if (!windows_new(&p, ONE_EVD, &mem, &rmr) ||
	    !pair_new(&other, ONE_EVD, NULL, NULL) ||
	    !bind_now(&p.b, rmr, &mem, 0, PAGE, &window))
		return;
	admits(&other, RDMA_WRITE, &window, mem.va);
	admits(&p, RDMA_WRITE, &window, mem.va);
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	ended(&p.b);
	admits(&other, RDMA_WRITE, &window, mem.va);
	OK(dat_ep_free(p.b.ep));
	admits(&other, RDMA_READ, &window, mem.va);
	shows(rmr, &window);
	IN_USE(&mem);
	/* mt:M43 */
	OK(dat_rmr_free(rmr));
	refuses(&other, RDMA_READ, &window);
	OK(dat_lmr_free(mem.lmr));
}

/*
 * A window goes while a peer writes through it; its memory is given other bytes
 * then, which stay.  When it is unbound they are given once the writes are over:
 * Soft-RoCE invalidates a region without waiting for the packet that it is about to
 * copy into it (Documentation/drivers.rst).
 */
static bool window_goes_once(struct pair *p, int round)
{
	struct account mine = {}, theirs = {};
	DAT_RMR_TRIPLET window;
	DAT_EVENT_NUMBER end;
	DAT_RMR_HANDLE rmr;
	struct mem mem;
	DAT_EVENT event;
	u64 posted = NODE_REQUESTS;
	int i, before = round % NODE_REQUESTS;

	if (!mem_new(&side_b, &mem, 2 * PAGE, LOCAL) || !rmr_new(&rmr) ||
	    !bind_now(&p->b, rmr, &mem, 0, 2 * PAGE, &window))
		return false;
	for (i = 0; i < NODE_REQUESTS; i++)
		OK(node_write(&p->a, 0, 2 * PAGE, &window, i, 0));
	if (!account_requests(&mine, &p->a, before))
		return false;
	if (round & 1) {
		/* The queue may be broken by then. */
		if (!OK(post_unbind(&p->b, rmr, 0, 0)) ||
		    !next_event(p->b.request, &event) ||
		    !account_event(&theirs, &p->b, &event))
			return false;
	} else {
		OK(dat_rmr_free(rmr));
	}
	OK(dat_lmr_free(mem.lmr));
	mem.lmr = DAT_HANDLE_NULL;
	if (!(round & 1))
		mem_fill(&mem, 0, 2 * PAGE, round);
	if (!account_requests(&mine, &p->a, NODE_REQUESTS))
		return false;
	if (round & 1)
		mem_fill(&mem, 0, 2 * PAGE, round);
	/* All of them came through before: the next one does not. */
	if (!mine.request.over)
		OK(node_write(&p->a, 0, 8, &window, posted++, 0));
	if (!account_break(&mine, &p->a, &end) ||
	    !account_closed(&mine, posted, 0) ||
	    !CHECK(mine.request.over) || !ended(&p->b) ||
	    !account_closed(&theirs, round & 1, 0) ||
	    !mem_check(&mem, 0, 2 * PAGE, round))
		return false;
	nothing_more(p->b.request);
	mem_free(&mem);
	return (!(round & 1) || OK(dat_rmr_free(rmr))) && pair_again(p);
}

static void window_goes(void)
{
	struct footprint before;
	struct pair p = {};
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) || !footprint(&before))
		return;
	for (i = 0; i < 32; i++)
		if (!window_goes_once(&p, i))
			return;
	footprint_grew(&before, 0, 0);
}

/* ---- kinds of memory ---------------------------------------------------- */

/* Windows at both ends and in the middle of an LMR, aligned and not. */
static bool windows_upon(struct pair *p, DAT_RMR_HANDLE rmr,
			 const struct mem *mem, u8 *va)
{
	const struct {
		size_t offset, length;
	} parts[] = {
		{ 0, mem->size < NODE_MEMORY ? mem->size : NODE_MEMORY },
		{ mem->size / 2 - 77, PAGE + 33 },
		{ mem->size - 1, 1 },
		{ mem->size - 10001, 10001 },
		{ 0, mem->size < 511 * PAGE ? mem->size : 511 * PAGE },
	};
	DAT_RMR_TRIPLET window, at;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!bind_now(&p->b, rmr, mem, parts[i].offset,
			      parts[i].length, &window))
			return FAIL("part %u", i);
		at = window;
		if (at.segment_length > PAGE)
			at.segment_length = PAGE;
		admits(p, RDMA_WRITE, &at, va + parts[i].offset);
		at.target_address += window.segment_length - at.segment_length;
		admits(p, RDMA_READ, &at, va + parts[i].offset +
		       window.segment_length - at.segment_length);
		if (failed())
			return FAIL("part %u", i);
	}
	at.target_address = window.target_address + window.segment_length;
	at.segment_length = 1;
	return refuses(p, RDMA_WRITE, &at) && unbind_now(&p->b, rmr);
}

/* LMRs of 4 pages to more than 2 MiB, neither end aligned. */
static void unaligned_lmrs(void)
{
	static const size_t pages[] = { 4, 40, 512, PINS ? 700 : 500 };
	struct footprint before;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	unsigned int i;
	struct mem mem;
	u8 *va;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !rmr_new(&rmr) ||
	    !footprint(&before))
		return;
	for (i = 0; i < 2 * ARRAY_SIZE(pages) && !failed(); i++) {
		mem.size = lmr_size(pages[i / 2]) - 200;
		va = i & 1 ? scenario_alloc(mem.size + PAGE) :
			     scenario_alloc_scattered(mem.size + PAGE);
		if (!va)
			return;
		mem.va = va + 123;
		if (!mem_register(&side_b, side_b.pz, &mem, LOCAL) ||
		    !windows_upon(&p, rmr, &mem, mem.va))
			return;
		OK(dat_lmr_free(mem.lmr));
		scenario_free(va);
	}
	footprint_grew(&before, 0, 0);
}

/*
 * What has more pages than a window, in no order.  The kernel's LMRs of such
 * memory are no larger than windows.
 */
static void too_large(void)
{
	const size_t most = lmr_size(512);
	DAT_RMR_TRIPLET window, none;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;
	struct mem mem;

	mem.size = PINS ? lmr_size(600) : most;
	mem.va = scenario_alloc_scattered(mem.size);
	if (!mem.va || !pair_new(&p, ONE_EVD, NULL, NULL) || !rmr_new(&rmr) ||
	    !mem_register(&side_b, side_b.pz, &mem, LOCAL) ||
	    !bind_now(&p.b, rmr, &mem, mem.size - most, most, &window))
		return;
	/* The kernel's windows; those of a process and its regions have what it needs. */
	if (mem.size > most && !side_is_passthrough(&side_b)) {
		IS(post_bind(&p.b, rmr, &mem, 0, mem.size, REMOTE, 1, 0, &none),
		   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
		IS(post_bind(&p.b, rmr, &mem, 1, most, REMOTE, 1, 0, &none),
		   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	}
	/* As it was. */
	shows(rmr, &window);
	nothing_more(p.b.request);
	window.segment_length = PAGE;
	admits(&p, RDMA_WRITE, &window, mem.va + mem.size - most);
}

/* An LMR of another one, and physical memory where there is such a thing. */
static void other_kinds(void)
{
	DAT_REGION_DESCRIPTION region;
	struct mem mem, derived;
	struct pair p = {};
	DAT_RMR_HANDLE rmr;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !rmr_new(&rmr) ||
	    !mem_new(&side_b, &mem, 16 * PAGE, DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return;
	derived = mem;
	region.for_lmr_handle = mem.lmr;
	if (!OK(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_LMR, region, 1,
				    side_b.pz, LOCAL, &derived.lmr,
				    &derived.context, &derived.rmr_context)))
		return;
	OK(dat_lmr_free(mem.lmr));
	if (windows_upon(&p, rmr, &derived, mem.va))
		OK(dat_lmr_free(derived.lmr));
#ifdef __KERNEL__
	region.for_pa = virt_to_phys(mem.va);
	/* It is named by its physical address (mt:M74). */
	derived.va = (u8 *)(uintptr_t)region.for_pa;
	if (OK(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_PHYSICAL, region,
				   mem.size, side_b.pz, LOCAL, &derived.lmr,
				   &derived.context, &derived.rmr_context)) &&
	    windows_upon(&p, rmr, &derived, mem.va))
		OK(dat_lmr_free(derived.lmr));
#endif
}

/* ---- many at once ------------------------------------------------------- */

#define BINDERS	4
#define ROUNDS	200

/* One RMR, bound by several threads upon an EP each, and freed at last. */
struct binders {
	DAT_RMR_HANDLE rmr;
	struct mem mem;
	u64 next;
	u64 bound, busy;
};

struct binder {
	struct binders *all;
	struct pair pair;
	struct thread thread;
};

static int binder_fn(void *arg)
{
	struct binder *me = arg;
	struct binders *all = me->all;
	DAT_RMR_TRIPLET window;
	DAT_RETURN ret;
	int i;

	for (i = 0; !failed() && !scenario_over(); i++) {
		ret = i % 5 ? post_bind(&me->pair.b, all->rmr, &all->mem, i % 100,
				   PAGE, REMOTE, i, 0, &window) :
			      post_unbind(&me->pair.b, all->rmr, i, 0);
		if (!ret) {
			add_u64(&all->bound, 1);
			if (!want_bound(me->pair.b.request, all->rmr, i,
					DAT_DTO_SUCCESS))
				break;
		} else if (ret == DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					    DAT_RESOURCE_MEMORY_REGION)) {
			add_u64(&all->busy, 1);
			yield_cpu();
		} else {
			BAD_HANDLE(ret, RMR);
			break;
		}
	}
	return 0;
}

static void binds_by_threads(void)
{
	struct binder *binders = scenario_alloc(BINDERS * sizeof(*binders));
	struct binders all = {};
	DAT_RMR_PARAM param;
	int i;

	if (!binders || !rmr_new(&all.rmr) ||
	    !mem_new(&side_b, &all.mem, 2 * PAGE, LOCAL))
		return;
	for (i = 0; i < BINDERS; i++) {
		binders[i].all = &all;
		if (!pair_new(&binders[i].pair, THREE_EVDS, NULL, NULL))
			return;
	}
	for (i = 0; i < BINDERS; i++)
		if (!thread_start(&binders[i].thread, binder_fn, &binders[i]))
			break;
	while (read_u64(&all.bound) < ROUNDS && !failed()) {
		if (OK(dat_rmr_query(all.rmr, DAT_RMR_FIELD_ALL, &param)))
			CHECK(!param.rmr_context ==
			      !param.lmr_triplet.segment_length);
		yield_cpu();
	}
	OK(dat_rmr_free(all.rmr));
	for (i = 0; i < BINDERS; i++)
		thread_join(&binders[i].thread);
	note("binds: %llu done, %llu refused", all.bound, all.busy);
	for (i = 0; i < BINDERS; i++) {
		nothing_more(binders[i].pair.b.request);
		idle(binders[i].pair.b.ep);
		nothing_more(binders[i].pair.b.conn);
	}
	OK(dat_lmr_free(all.mem.lmr));
}

/* I15: an IA is closed with binds outstanding, bound windows, freed ones. */
static void closed_with_binds(void)
{
	DAT_RMR_HANDLE rmr[8];
	DAT_RMR_TRIPLET window;
	struct footprint before;
	struct pair p = {};
	struct mem mem;
	int i;

	if (!footprint(&before) || !pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !mem_new(&side_b, &mem, PAGE, LOCAL))
		return;
	for (i = 0; i < 8; i++)
		if (!rmr_new(&rmr[i]) ||
		    !bind_now(&p.b, rmr[i], &mem, 0, PAGE, &window))
			return;
	withhold(&p);
	for (i = 0; i < 6; i++)
		OK(post_bind(&p.b, rmr[i], &mem, i, 64, REMOTE, 1 + i, 0, &window));
	for (i = 4; i < 8; i++)
		OK(dat_rmr_free(rmr[i]));
	side_close(&side_b, DAT_CLOSE_ABRUPT_FLAG);
	BAD_HANDLE(dat_rmr_free(rmr[0]), RMR);
	/* The memory of the node of side a is left. */
	if (side_open(&side_b))
		footprint_grew_with(1, &before, NODE_MEMORY, 1);
}

static const struct scenario scenarios[] = {
	SCENARIO("mt:M3 mt:M28 mt:M41 mt:M43 RMR: created, queried, freed", life),
	SCENARIO("E18 mt:M29 mt:M31 mt:M32 mt:M38 mt:T19 bind: arguments",
		 bind_arguments),
	SCENARIO("mt:M2 mt:M30 bind: EP, RMR and LMR have one PZ", bind_zones),
	SCENARIO("mt:M31 bind: a remote right needs the local one", bind_rights),
	SCENARIO("L2 mt:M16 mt:M29 mt:M35 mt:M37 mt:M41 mt:M42 mt:M46 window: bound and unbound",
		 window_life),
	SCENARIO("mt:M31 mt:M46 mt:T32 window: each right", window_rights,
		 .srq = SRQ_B),
	SCENARIO("mt:M35 mt:M36 window: 600 binds", contexts_anew),
	SCENARIO_IB("mt:M33 mt:M38 mt:T20 mt:T21 mt:T23 mt:T26 mt:T45 bind: each completion flag",
		    flags_of_binds),
	SCENARIO("mt:M34 mt:M35 mt:T45 bind: a message behind it tells the context",
		 send_behind_bind),
	SCENARIO("mt:T11 bind: an EP without request EVD", bind_without_evd),
	SCENARIO_IB("mt:M33 mt:M47 mt:T13 mt:T14 bind: as many as requests",
		    many_binds),
	SCENARIO_IB("D11 D14 mt:M32 mt:M33 bind: a graceful disconnect waits",
		    binds_in_drain),
	SCENARIO("L2 L14 mt:M22 LMR free: refused while a window is there, and nothing suffers",
		 refused_free),
	SCENARIO_IB("L2 mt:M22 mt:M35 mt:M40 mt:M41 mt:M45 bind outstanding: both LMRs are in use",
		    outstanding),
	SCENARIO_IB("mt:M40 mt:M43 mt:M44 bind outstanding: the RMR is freed",
		    freed_outstanding),
	SCENARIO_IB("F15 L2 mt:M39 mt:M40 bind outstanding: flushed by an abrupt disconnect",
		    flushed_by_self),
	SCENARIO_IB("F15 L2 mt:M39 mt:M40 bind outstanding: flushed by the peer",
		    flushed_by_peer),
	SCENARIO_IB("F15 L2 mt:M40 mt:M42 bind outstanding: its EP is freed",
		    flushed_by_free),
	SCENARIO_IB("F15 L2 mt:M39 mt:M40 bind outstanding: the connection breaks",
		    flushed_by_break),
	SCENARIO("mt:M32 mt:M40 bind upon a Disconnected EP", bind_disconnected),
	SCENARIO("mt:M42 mt:M43 window: other EPs of its PZ", other_endpoints),
	SCENARIO_IB("L5 L8 mt:M35 mt:M43 mt:M46 window: gone while a peer writes",
		    window_goes),
	SCENARIO("L3 mt:M6 mt:M16 mt:M25 mt:M29 windows upon LMRs of any size and kind of pages",
		 unaligned_lmrs),
	SCENARIO("mt:M40 windows have at most 512 pages", too_large),
	SCENARIO("mt:M7 mt:M8 mt:M74 windows upon LMRs of other kinds",
		 other_kinds),
	SCENARIO("E114 mt:M44 mt:M45 binds of one RMR by several threads",
		 binds_by_threads),
	SCENARIO_IB("I15 F17 mt:M43 an IA is closed with binds outstanding",
		    closed_with_binds),
};

SCENARIO_TABLE(rmr_table);
