// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Remote Memory Regions: the calls and their events (mt:M22, mt:M28..M47). */
#include <sys/mman.h>
#include "rig.h"

#define PROTECTION(op)	ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_##op)
#define PRIVILEGES(op)	ERR2(PRIVILEGES_VIOLATION, DAT_PRIVILEGES_##op)

#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG

/* Of side a: where binds complete, an EP that does so, an RMR. */
static DAT_EVD_HANDLE binds;
static DAT_EP_HANDLE ep;
static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT context;

static void setup(void)
{
	rig_both();
	binds = new_evd(&a, 64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	ep = new_ep_flags(&a, a.recv, binds, DAT_COMPLETION_DEFAULT_FLAG,
			  DAT_COMPLETION_DEFAULT_FLAG);
	OK(dat_rmr_create(a.pz, &rmr));
}

static DAT_LMR_HANDLE new_lmr(DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			      DAT_LMR_TRIPLET *all)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a.mem };
	DAT_LMR_HANDLE lmr;

	*all = seg(&a, 0, 4096);
	OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz,
			  privileges, &lmr, &all->lmr_context, NULL, NULL,
			  NULL));
	return lmr;
}

static DAT_RETURN post_bind(const DAT_LMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS privileges, uint64_t number,
			    DAT_COMPLETION_FLAGS flags)
{
	return dat_rmr_bind(rmr, triplet, privileges, ep, cookie(number), flags,
			    &context);
}

static DAT_RETURN bind_to(const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS privileges, uint64_t number)
{
	return post_bind(triplet, privileges, number,
			 DAT_COMPLETION_DEFAULT_FLAG);
}

static void bound(DAT_RMR_HANDLE expected, uint64_t number,
		  DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = next_event(binds, DAT_RMR_BIND_COMPLETION_EVENT);
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&event.event_data.rmr_completion_event_data;

	CHECK(event.evd_handle == binds);
	CHECK(data->rmr_handle == expected);
	CHECK_EQ(data->user_cookie.as_64, number);
	CHECK_EQ(data->status, status);
}

static void is_bound_to(const DAT_LMR_TRIPLET *triplet,
			DAT_MEM_PRIV_FLAGS privileges,
			DAT_RMR_CONTEXT expected)
{
	DAT_RMR_PARAM param;

	memset(&param, 0xff, sizeof(param));
	OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia);
	CHECK(param.pz_handle == a.pz);
	CHECK_EQ(param.lmr_triplet.lmr_context, triplet->lmr_context);
	CHECK_EQ(param.lmr_triplet.virtual_address, triplet->virtual_address);
	CHECK_EQ(param.lmr_triplet.segment_length, triplet->segment_length);
	CHECK_EQ(param.mem_priv, privileges);
	CHECK_EQ(param.rmr_context, expected);
}

static void is_unbound(void)
{
	DAT_LMR_TRIPLET none = { 0 };

	is_bound_to(&none, 0, 0);
}

static void life(void)
{
	DAT_HANDLE_TYPE type;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE own;
	DAT_PZ_HANDLE pz;

	setup();
	CHECK(a.attr.max_rmrs > 0);
	OK(dat_pz_create(a.ia, &pz));
	CHECK_RET(dat_rmr_create(a.ia, &own), HANDLE(PZ));
	CHECK_RET(dat_rmr_create(pz, NULL), ARG(2));
	OK(dat_rmr_create(pz, &own));
	OK(dat_get_handle_type(own, &type));
	CHECK_EQ(type, DAT_HANDLE_TYPE_RMR);
	CHECK_RET(dat_pz_free(pz), STATE(PZ_IN_USE));
	CHECK_RET(dat_rmr_query(a.pz, DAT_RMR_FIELD_ALL, &param), HANDLE(RMR));
	CHECK_RET(dat_rmr_query(own, DAT_RMR_FIELD_ALL + 1, &param), ARG(2));
	CHECK_RET(dat_rmr_query(own, DAT_RMR_FIELD_ALL, NULL), ARG(3));
	OK(dat_rmr_query(own, DAT_RMR_FIELD_ALL, &param));
	CHECK(param.pz_handle == pz);
	is_unbound();
	OK(dat_rmr_free(own));
	CHECK_RET(dat_rmr_free(own), HANDLE(RMR));
	CHECK_RET(dat_rmr_query(own, DAT_RMR_FIELD_ALL, &param), HANDLE(RMR));
	OK(dat_pz_free(pz));
	/* One that is left goes with the IA. */
}

static void outside(size_t offset, uint64_t length)
{
	DAT_LMR_TRIPLET t = seg(&a, offset, length);

	CHECK_RET(bind_to(&t, REMOTE_READ, 0), ARG(2));
}

/* What can be judged without the EP's state is judged before it. */
static void arguments(void)
{
	DAT_LMR_TRIPLET good, bad;

	setup();
	good = seg(&a, 0, 4096);
	CHECK_RET(dat_rmr_bind(a.lmr, &good, REMOTE_READ, ep, cookie(0), 0, &context),
		  HANDLE(RMR));
	CHECK_RET(dat_rmr_bind(rmr, &good, REMOTE_READ, a.lmr, cookie(0), 0, &context),
		  HANDLE(EP));
	CHECK_RET(dat_rmr_bind(rmr, &good, REMOTE_READ, new_ep(&b), cookie(0), 0,
			       &context), HANDLE(EP));
	CHECK_RET(dat_rmr_bind(rmr, &good, REMOTE_READ, new_ep(&a), cookie(0), 0,
			       &context), HANDLE(EVD_REQUEST));	/* E18 */

	CHECK_RET(bind_to(NULL, REMOTE_READ, 0), ARG(2));
	bad = good;
	bad.lmr_context = ~a.context;
	CHECK_RET(bind_to(&bad, REMOTE_READ, 0), ARG(2));
	bad.lmr_context = 0;
	CHECK_RET(bind_to(&bad, REMOTE_READ, 0), ARG(2));
	outside(0, MEM + 1);
	outside(MEM, 1);
	outside(-1, 1);
	outside(-1, 2);
	outside(1, ~0ull);
	outside(0, ~0ull);
	outside(4096, -4096ull);
	bad = good;
	bad.virtual_address = 0;
	bad.segment_length = ~0ull;
	CHECK_RET(bind_to(&bad, REMOTE_READ, 0), ARG(2));

	CHECK_RET(bind_to(&good, REMOTE_READ | 0x04, 0), ARG(3));
	CHECK_RET(bind_to(&good, REMOTE_READ | 0x40, 0), ARG(3));
	CHECK_RET(bind_to(&good, 0x80000000u, 0), ARG(3));
	CHECK_RET(post_bind(&good, REMOTE_READ, 0, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		  ARG(6));
	CHECK_RET(post_bind(&good, REMOTE_READ, 0, DAT_COMPLETION_EVD_THRESHOLD_FLAG),
		  ARG(6));
	CHECK_RET(post_bind(&good, REMOTE_READ, 0, DAT_COMPLETION_UNSIGNALLED_FLAG),
		  ARG(6));	/* mt:T21 */
	CHECK_RET(post_bind(&good, REMOTE_READ, 0, 0x20), ARG(6));
	CHECK_RET(dat_rmr_bind(rmr, &good, REMOTE_READ, ep, cookie(0), 0, NULL),
		  ARG(7));

	/* mt:M32 */
	CHECK_RET(bind_to(&good, REMOTE_READ, 0), STATE(EP_UNCONNECTED));
	good.segment_length = 0;
	CHECK_RET(bind_to(&good, REMOTE_READ, 0), STATE(EP_UNCONNECTED));
	is_unbound();
	no_event(binds);
}

static void privileges(void)
{
	DAT_LMR_TRIPLET none, reads, writes;

	setup();
	new_lmr(a.pz, DAT_MEM_PRIV_REMOTE_READ_FLAG |
		DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &none);
	new_lmr(a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &reads);
	new_lmr(a.pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &writes);
	CHECK_RET(bind_to(&none, REMOTE_READ, 0), PRIVILEGES(RDMA_READ));
	CHECK_RET(bind_to(&none, REMOTE_WRITE, 0), PRIVILEGES(RDMA_WRITE));
	CHECK_RET(bind_to(&none, REMOTE_READ | REMOTE_WRITE, 0), PRIVILEGES(RDMA_READ));
	CHECK_RET(bind_to(&reads, REMOTE_WRITE, 0), PRIVILEGES(RDMA_WRITE));
	CHECK_RET(bind_to(&reads, REMOTE_READ | REMOTE_WRITE, 0), PRIVILEGES(RDMA_WRITE));
	CHECK_RET(bind_to(&writes, REMOTE_READ, 0), PRIVILEGES(RDMA_READ));
	/* Remote rights of the LMR are not needed, local ones not looked at. */
	CHECK_RET(bind_to(&reads, REMOTE_READ, 0), STATE(EP_UNCONNECTED));
	CHECK_RET(bind_to(&writes, REMOTE_WRITE, 0), STATE(EP_UNCONNECTED));
	CHECK_RET(bind_to(&none, DAT_MEM_PRIV_LOCAL_READ_FLAG |
		       DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0),
		  STATE(EP_UNCONNECTED));
}

static void zones(void)
{
	DAT_LMR_TRIPLET there, here;
	DAT_RMR_HANDLE foreign;
	DAT_PZ_HANDLE pz;

	setup();
	OK(dat_pz_create(a.ia, &pz));
	OK(dat_rmr_create(pz, &foreign));
	new_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &there);
	here = seg(&a, 0, 64);
	CHECK_RET(bind_to(&there, REMOTE_READ, 0), PROTECTION(RDMA_READ));
	CHECK_RET(bind_to(&there, REMOTE_WRITE, 0), PROTECTION(RDMA_WRITE));
	CHECK_RET(bind_to(&there, REMOTE_READ | REMOTE_WRITE, 0), PROTECTION(RDMA_READ));
	/* RMR and LMR in one zone, the EP in another */
	CHECK_RET(dat_rmr_bind(foreign, &there, REMOTE_WRITE, ep, cookie(0), 0,
			       &context), PROTECTION(RDMA_WRITE));
	CHECK_RET(dat_rmr_bind(foreign, &here, REMOTE_READ, ep, cookie(0), 0,
			       &context), PROTECTION(RDMA_READ));
}

static void binding(void)
{
	DAT_RMR_CONTEXT first, second;
	DAT_LMR_TRIPLET one, two, part;
	DAT_LMR_HANDLE lmr_one, lmr_two;

	setup();
	connect_eps(ep, new_ep(&b));
	lmr_one = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &one);
	lmr_two = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &two);
	part = one;
	part.virtual_address += 17;
	part.segment_length = 1001;
	OK(bind_to(&part, REMOTE_READ | REMOTE_WRITE, 1));
	first = context;
	CHECK(first);
	bound(rmr, 1, DAT_DTO_SUCCESS);
	is_bound_to(&part, REMOTE_READ | REMOTE_WRITE, first);
	CHECK_RET(dat_lmr_free(lmr_one), STATE(LMR_IN_USE));
	OK(dat_lmr_free(lmr_two));
	lmr_two = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &two);

	/* mt:M40: the old LMR is free of it, the new one is not */
	OK(bind_to(&two, REMOTE_READ, 2));
	second = context;
	CHECK(second && second != first);	/* mt:M36 */
	bound(rmr, 2, DAT_DTO_SUCCESS);
	is_bound_to(&two, REMOTE_READ, second);
	CHECK_RET(dat_lmr_free(lmr_two), STATE(LMR_IN_USE));
	OK(dat_lmr_free(lmr_one));

	/* mt:M37, twice; what is not looked at may be anything */
	part.lmr_context = ~0u;
	part.segment_length = 0;
	OK(bind_to(&part, 0xffff, 3));
	CHECK_EQ(context, 0);
	bound(rmr, 3, DAT_DTO_SUCCESS);
	is_unbound();
	OK(bind_to(&part, 0, 4));
	bound(rmr, 4, DAT_DTO_SUCCESS);
	is_unbound();
	OK(dat_lmr_free(lmr_two));

	/* mt:M43: freed while bound */
	lmr_two = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &two);
	OK(bind_to(&two, REMOTE_WRITE, 5));
	bound(rmr, 5, DAT_DTO_SUCCESS);
	CHECK_RET(dat_lmr_free(lmr_two), STATE(LMR_IN_USE));
	OK(dat_rmr_free(rmr));
	CHECK_RET(bind_to(&two, REMOTE_READ, 6), HANDLE(RMR));
	OK(dat_lmr_free(lmr_two));
	no_event(binds);
}

/* mt:M36: a value comes back after 255 others at the earliest. */
static void contexts(void)
{
	DAT_RMR_CONTEXT seen[256];
	DAT_LMR_TRIPLET all;
	unsigned int i, k;

	setup();
	connect_eps(ep, new_ep(&b));
	all = seg(&a, 0, MEM);
	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		OK(bind_to(&all, REMOTE_READ, i));
		bound(rmr, i, DAT_DTO_SUCCESS);
		seen[i] = context;
		for (k = 0; k < i; k++)
			CHECK(seen[k] != context);
	}
}

static void completion_flags(void)
{
	DAT_LMR_TRIPLET all;
	DAT_EP_HANDLE quiet;
	DAT_RMR_TRIPLET to;

	setup();
	connect_eps(ep, new_ep(&b));
	all = seg(&a, 0, MEM);
	to = remote(&b, 0, 8);
	OK(post_bind(&all, REMOTE_READ, 1, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	bound(rmr, 1, DAT_DTO_SUCCESS);
	/* Suppressed: it happens, and no event tells. */
	OK(post_bind(&all, REMOTE_WRITE, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post_write(&a, ep, 0, &to, 8, 3, 0));
	completes(binds, ep, 3, DAT_DTO_SUCCESS);
	is_bound_to(&all, REMOTE_WRITE, context);

	binds = new_evd(&a, 64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	quiet = new_ep_flags(&a, a.recv, binds, DAT_COMPLETION_DEFAULT_FLAG,
			     DAT_COMPLETION_UNSIGNALLED_FLAG);
	connect_eps(quiet, new_ep(&b));
	ep = quiet;
	OK(post_bind(&all, REMOTE_READ, 4, DAT_COMPLETION_UNSIGNALLED_FLAG));
	/* Its event is there, and does not wake: one behind it does. */
	OK(post_write(&a, ep, 0, &to, 8, 5, 0));
	bound(rmr, 4, DAT_DTO_SUCCESS);
	completes(binds, ep, 5, DAT_DTO_SUCCESS);
	no_event(binds);
}

/*
 * A bind behind a send that the peer does not take: outstanding for as long as
 * the test wants.
 */
static void outstanding(void)
{
	DAT_LMR_TRIPLET one, two;
	DAT_LMR_HANDLE lmr_one, lmr_two;
	DAT_RMR_HANDLE freed;
	DAT_EP_HANDLE ep_b;

	setup();
	ep_b = new_ep(&b);
	connect_eps(ep, ep_b);
	lmr_one = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &one);
	lmr_two = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &two);
	OK(bind_to(&one, REMOTE_READ, 1));
	bound(rmr, 1, DAT_DTO_SUCCESS);
	OK(post_send(&a, ep, 8192, 64, 2, 0));
	OK(bind_to(&two, REMOTE_READ, 3));
	CHECK_RET(bind_to(&one, REMOTE_READ, 4),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
	CHECK_RET(dat_lmr_free(lmr_one), STATE(LMR_IN_USE));	/* mt:M40 */
	CHECK_RET(dat_lmr_free(lmr_two), STATE(LMR_IN_USE));
	OK(dat_rmr_free(rmr));
	freed = rmr;
	CHECK_RET(dat_rmr_free(freed), HANDLE(RMR));
	no_event(binds);
	OK(post_recv(&b, ep_b, 0, 64, 5));
	completes(binds, ep, 2, DAT_DTO_SUCCESS);
	bound(freed, 3, DAT_DTO_SUCCESS);
	OK(dat_lmr_free(lmr_one));
	OK(dat_lmr_free(lmr_two));
	no_event(binds);
}

static void disconnected(void)
{
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET all;

	setup();
	connect_eps(ep, new_ep(&b));
	lmr = new_lmr(a.pz, DAT_MEM_PRIV_ALL_FLAG, &all);
	OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep);
	is_state(ep, DAT_EP_STATE_DISCONNECTED);
	OK(bind_to(&all, REMOTE_READ, 1));
	bound(rmr, 1, DAT_DTO_ERR_FLUSHED);
	is_unbound();
	OK(dat_lmr_free(lmr));
}

#define LARGE	(8u << 20)

/* A part of an LMR that is larger than any window */
static void large_lmr(void)
{
	DAT_LMR_TRIPLET part = { .segment_length = 4096 };
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;

	setup();
	connect_eps(ep, new_ep(&b));
	region.for_va = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region.for_va != MAP_FAILED);
	OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, LARGE, a.pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &part.lmr_context, NULL,
			  NULL, &part.virtual_address));
	part.virtual_address += LARGE - 8192;
	OK(bind_to(&part, REMOTE_READ, 1));
	bound(rmr, 1, DAT_DTO_SUCCESS);
	is_bound_to(&part, REMOTE_READ, context);
	OK(dat_rmr_free(rmr));
	OK(dat_lmr_free(lmr));
	munmap(region.for_va, LARGE);
}

static const struct check_case cases[] = {
	{ "mt:M3 mt:M28 mt:M41 mt:M43 the life of an RMR", life },
	{ "mt:M29 mt:M31 mt:M32 mt:M37 mt:M38 E18 mt:T21 bind: arguments",
	  arguments },
	{ "mt:M31 bind: privileges", privileges },
	{ "mt:M30 bind: zones", zones },
	{ "mt:M22 mt:M33 mt:M36 mt:M37 mt:M40 mt:M41 mt:M43 bind, unbind, free",
	  binding },
	{ "mt:M36 contexts do not come back soon", contexts },
	{ "mt:M29 mt:M33 bind: a part of a large LMR", large_lmr },
	{ "mt:M38 mt:T20 mt:T21 completion flags of a bind", completion_flags },
	{ "mt:M22 mt:M40 mt:M44 mt:M45 an outstanding bind", outstanding },
	{ "mt:M32 mt:M39 mt:M40 a bind in state Disconnected", disconnected },
};

SET(rmr_set);
