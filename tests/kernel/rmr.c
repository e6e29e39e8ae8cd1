// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Remote memory regions: the calls, their return codes and their events.
 */
#include "kdat_rules.h"

#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG

/* A link whose side a completes binds, an RMR there, and two LMRs. */
static struct {
	struct link link;
	struct collector *binds;
	DAT_RMR_HANDLE rmr;
	struct mem one;
	struct mem two;
} it;

static bool ep_takes_binds(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { .request_evd_handle = it.binds->evd };

	return OK(dat_ep_modify(ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
}

/* Everything but the connection. */
static bool it_new(void)
{
	memset(&it, 0, sizeof(it));
	it.binds = collector_new(&side_a, 64, DAT_EVD_DTO_FLAG |
				 DAT_EVD_RMR_BIND_FLAG | DAT_EVD_SOFTWARE_FLAG);
	return it.binds && node_new(&it.link.a, &side_a, NULL) &&
	       node_new(&it.link.b, &side_b, NULL) &&
	       ep_takes_binds(it.link.a.ep) &&
	       mem_new(&side_a, &it.one, 8192, DAT_MEM_PRIV_ALL_FLAG) &&
	       mem_new(&side_a, &it.two, 8192, DAT_MEM_PRIV_ALL_FLAG) &&
	       OK(dat_rmr_create(side_a.pz, &it.rmr));
}

static bool it_connected(void)
{
	return it_new() &&
	       listener_new(&it.link.listener, DAT_PSP_CONSUMER_FLAG) &&
	       link_connect(&it.link.a, &it.link.b, &it.link.listener);
}

static void it_free(void)
{
	if (it.rmr)
		OK(dat_rmr_free(it.rmr));
	link_free(&it.link);
	mem_free(&it.one);
	mem_free(&it.two);
	collector_free(it.binds);
}

static DAT_RETURN bind_flags(const DAT_LMR_TRIPLET *triplet,
			     DAT_MEM_PRIV_FLAGS privileges, u64 cookie,
			     DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *context)
{
	return dat_rmr_bind(it.rmr, triplet, privileges, it.link.a.ep,
			    (DAT_RMR_COOKIE) { .as_64 = cookie }, flags,
			    context);
}

static DAT_RETURN bind(const DAT_LMR_TRIPLET *triplet,
		       DAT_MEM_PRIV_FLAGS privileges, u64 cookie,
		       DAT_RMR_CONTEXT *context)
{
	return bind_flags(triplet, privileges, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, context);
}

static bool want_bind(DAT_RMR_HANDLE rmr, u64 cookie,
		      DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event(it.binds, DAT_RMR_BIND_COMPLETION_EVENT, &event))
		return false;
	data = &event.event_data.rmr_completion_event_data;
	return (event.evd_handle == it.binds->evd ||
		fail("completion names another EVD")) &&
	       (data->rmr_handle == rmr ||
		fail("completion of another RMR")) &&
	       (data->user_cookie.as_64 == cookie ||
		fail("cookie %llu, not %llu", data->user_cookie.as_64,
		     cookie)) &&
	       (data->status == status ||
		fail("cookie %llu: status %d, not %d", cookie, data->status,
		     status));
}

static bool bound_to(const DAT_LMR_TRIPLET *triplet,
		     DAT_MEM_PRIV_FLAGS privileges, DAT_RMR_CONTEXT context)
{
	const DAT_LMR_TRIPLET *is;
	DAT_RMR_PARAM param;

	memset(&param, 0xff, sizeof(param));
	if (!OK(dat_rmr_query(it.rmr, DAT_RMR_FIELD_ALL, &param)))
		return false;
	is = &param.lmr_triplet;
	return CHECK(param.ia_handle == side_a.ia) &&
	       CHECK(param.pz_handle == side_a.pz) &&
	       CHECK(is->lmr_context == triplet->lmr_context) &&
	       CHECK(is->virtual_address == triplet->virtual_address) &&
	       CHECK(is->segment_length == triplet->segment_length) &&
	       CHECK(param.mem_priv == privileges) &&
	       CHECK(param.rmr_context == context);
}

static bool unbound(void)
{
	const DAT_LMR_TRIPLET none = {};

	return bound_to(&none, 0, 0);
}

static void life(void)
{
	DAT_RMR_PARAM param;
	DAT_HANDLE_TYPE type;
	DAT_RMR_HANDLE rmr;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;

	if (OK(dat_ia_query(side_a.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL)))
		CHECK(attr.max_rmrs > 0);
	if (!OK(dat_pz_create(side_a.ia, &pz)))
		return;
	BAD_ARG(dat_rmr_create(pz, NULL), 2);
	if (!OK(dat_rmr_create(pz, &rmr)))
		goto out;
	if (OK(dat_get_handle_type(rmr, &type)))
		CHECK(type == DAT_HANDLE_TYPE_RMR);
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL + 1, &param), 2);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), 3);
	if (OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param)))
		CHECK(param.pz_handle == pz && !param.rmr_context);
	OK(dat_rmr_free(rmr));
	BAD_HANDLE(dat_rmr_free(rmr), RMR);
	BAD_HANDLE(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), RMR);
out:
	OK(dat_pz_free(pz));
}

/* From @address of the first LMR on, @length bytes. */
static void outside(u64 address, u64 length)
{
	DAT_LMR_TRIPLET bad = piece(&it.one, 0, 0);
	DAT_RMR_CONTEXT context;

	bad.virtual_address += address;
	bad.segment_length = length;
	BAD_ARG(bind(&bad, REMOTE_READ, 0, &context), 2);
}

static void bad_parts(void)
{
	DAT_LMR_TRIPLET bad = piece(&it.one, 0, 4096);
	DAT_RMR_CONTEXT context;

	BAD_ARG(bind(NULL, REMOTE_READ, 0, &context), 2);
	bad.lmr_context = 0;
	BAD_ARG(bind(&bad, REMOTE_READ, 0, &context), 2);
	bad.lmr_context = ~it.one.context;
	BAD_ARG(bind(&bad, REMOTE_READ, 0, &context), 2);
	outside(0, 8193);
	outside(8192, 1);
	outside(-1, 1);
	outside(-1, 2);
	outside(1, U64_MAX);
	outside(0, U64_MAX);
	outside(4096, -4096ULL);
}

/* What can be judged without the endpoint's state is judged before it. */
static void arguments(void)
{
	DAT_LMR_TRIPLET good;
	DAT_RMR_CONTEXT context;
	DAT_EP_HANDLE ep;

	if (!it_new())
		goto out;
	good = piece(&it.one, 0, 4096);
	bad_parts();
	BAD_ARG(bind(&good, REMOTE_READ | 0x04, 0, &context), 3);
	BAD_ARG(bind(&good, 0x40, 0, &context), 3);
	BAD_ARG(bind_flags(&good, REMOTE_READ, 0, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
			   &context), 6);
	BAD_ARG(bind_flags(&good, REMOTE_READ, 0, DAT_COMPLETION_UNSIGNALLED_FLAG,
			   &context), 6);
	BAD_ARG(bind_flags(&good, REMOTE_READ, 0, 0x20, &context), 6);
	BAD_ARG(bind(&good, REMOTE_READ, 0, NULL), 7);
	BAD_HANDLE(dat_rmr_bind(it.rmr, &good, REMOTE_READ, it.link.b.ep,
				(DAT_CONTEXT) {}, 0, &context), EP);
	/* E18: an EVD that takes no completions of binds */
	if (OK(dat_ep_create(side_a.ia, side_a.pz, NULL,
			     it.link.a.events->evd, NULL, &node_attr, &ep))) {
		BAD_HANDLE(dat_rmr_bind(it.rmr, &good, REMOTE_READ, ep,
					(DAT_CONTEXT) {}, 0, &context),
			   EVD_REQUEST);
		OK(dat_ep_free(ep));
	}
	BAD_STATE(bind(&good, REMOTE_READ, 0, &context), EP_UNCONNECTED);
	good.segment_length = 0;
	BAD_STATE(bind(&good, REMOTE_READ, 0, &context), EP_UNCONNECTED);
	unbound();
	nothing_more(it.binds);
out:
	it_free();
}

/* One LMR of @privileges, and a bind that it does not allow. */
static void not_allowed(DAT_MEM_PRIV_FLAGS privileges,
			DAT_MEM_PRIV_FLAGS asked,
			enum dat_return_subtype subtype)
{
	struct mem mem = {};
	DAT_LMR_TRIPLET part;
	DAT_RMR_CONTEXT context;

	if (!mem_new(&side_a, &mem, 4096, privileges))
		return;
	part = piece(&mem, 0, 4096);
	IS(bind(&part, asked, 0, &context), DAT_PRIVILEGES_VIOLATION, subtype);
	/* Remote privileges of the LMR are not needed, local ones not asked. */
	BAD_STATE(bind(&part, DAT_MEM_PRIV_LOCAL_READ_FLAG |
		       DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0, &context),
		  EP_UNCONNECTED);
	mem_free(&mem);
}

static void privileges(void)
{
	if (it_new()) {
		not_allowed(REMOTE_READ | REMOTE_WRITE, REMOTE_READ, DAT_PRIVILEGES_RDMA_READ);
		not_allowed(REMOTE_READ | REMOTE_WRITE, REMOTE_WRITE, DAT_PRIVILEGES_RDMA_WRITE);
		not_allowed(0, REMOTE_READ | REMOTE_WRITE, DAT_PRIVILEGES_RDMA_READ);
		not_allowed(DAT_MEM_PRIV_LOCAL_READ_FLAG, REMOTE_WRITE,
			    DAT_PRIVILEGES_RDMA_WRITE);
		not_allowed(DAT_MEM_PRIV_LOCAL_READ_FLAG, REMOTE_READ | REMOTE_WRITE,
			    DAT_PRIVILEGES_RDMA_WRITE);
		not_allowed(DAT_MEM_PRIV_LOCAL_WRITE_FLAG, REMOTE_READ,
			    DAT_PRIVILEGES_RDMA_READ);
	}
	it_free();
}

static void zones(void)
{
	struct side other = side_a;
	struct mem there = {};
	DAT_RMR_HANDLE foreign;
	DAT_LMR_TRIPLET part;
	DAT_RMR_CONTEXT context;

	if (!it_new() || !OK(dat_pz_create(side_a.ia, &other.pz)))
		goto out;
	if (!OK(dat_rmr_create(other.pz, &foreign)))
		goto free_pz;
	if (!mem_new(&other, &there, 4096, DAT_MEM_PRIV_ALL_FLAG))
		goto free_rmr;
	part = piece(&there, 0, 64);
	IS(bind(&part, REMOTE_READ, 0, &context), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_RDMA_READ);
	IS(bind(&part, REMOTE_WRITE, 0, &context), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_RDMA_WRITE);
	IS(bind(&part, REMOTE_READ | REMOTE_WRITE, 0, &context), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_RDMA_READ);
	IS(dat_rmr_bind(foreign, &part, REMOTE_WRITE, it.link.a.ep, (DAT_CONTEXT) {},
			0, &context), DAT_PROTECTION_VIOLATION,
	   DAT_PROTECTION_RDMA_WRITE);
	mem_free(&there);
free_rmr:
	OK(dat_rmr_free(foreign));
free_pz:
	OK(dat_pz_free(other.pz));
out:
	it_free();
}

/* Unbinding: what is not looked at may be anything; twice is as good. */
static void unbind(void)
{
	DAT_LMR_TRIPLET none = { .lmr_context = ~0U, .virtual_address = 1 };
	DAT_RMR_CONTEXT context = 1;

	OK(bind(&none, 0xffff, 3, &context));
	CHECK(!context);
	want_bind(it.rmr, 3, DAT_DTO_SUCCESS);
	unbound();
	OK(bind(&none, 0, 4, &context));
	want_bind(it.rmr, 4, DAT_DTO_SUCCESS);
	unbound();
}

static void binding(void)
{
	DAT_RMR_CONTEXT first, second;
	DAT_LMR_TRIPLET part, all;

	if (!it_connected())
		goto out;
	part = piece(&it.one, 17, 1001);
	all = piece(&it.two, 0, 8192);
	if (!OK(bind(&part, REMOTE_READ | REMOTE_WRITE, 1, &first)) ||
	    !want_bind(it.rmr, 1, DAT_DTO_SUCCESS))
		goto out;
	CHECK(first);
	bound_to(&part, REMOTE_READ | REMOTE_WRITE, first);
	BAD_STATE(dat_lmr_free(it.one.lmr), LMR_IN_USE);
	/* mt:M40: the old LMR is free of it, the new one is not. */
	if (!OK(bind(&all, REMOTE_READ, 2, &second)) ||
	    !want_bind(it.rmr, 2, DAT_DTO_SUCCESS))
		goto out;
	CHECK(second && second != first);
	bound_to(&all, REMOTE_READ, second);
	BAD_STATE(dat_lmr_free(it.two.lmr), LMR_IN_USE);
	mem_free(&it.one);
	unbind();
	/* mt:M43: freed while bound. */
	OK(bind(&all, REMOTE_WRITE, 5, &first));
	want_bind(it.rmr, 5, DAT_DTO_SUCCESS);
	BAD_STATE(dat_lmr_free(it.two.lmr), LMR_IN_USE);
	OK(dat_rmr_free(it.rmr));
	BAD_HANDLE(bind(&all, REMOTE_READ, 6, &first), RMR);
	it.rmr = DAT_HANDLE_NULL;
	mem_free(&it.two);
	nothing_more(it.binds);
out:
	it_free();
}

/* mt:M36: a value comes back after 255 others at the earliest. */
static void contexts(void)
{
	static DAT_RMR_CONTEXT seen[256];
	DAT_LMR_TRIPLET all;
	unsigned int i, k;

	if (!it_connected())
		goto out;
	all = piece(&it.one, 0, 8192);
	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		if (!OK(bind(&all, REMOTE_READ, i, &seen[i])) ||
		    !want_bind(it.rmr, i, DAT_DTO_SUCCESS))
			break;
		for (k = 0; k < i; k++)
			if (!CHECK(seen[k] != seen[i]))
				goto out;
	}
out:
	it_free();
}

/*
 * A bind behind a send that the peer does not take: outstanding for as long as
 * the case wants.
 */
static void outstanding(void)
{
	DAT_RMR_CONTEXT first, context;
	DAT_LMR_TRIPLET one, two;
	DAT_RMR_HANDLE freed;

	if (!it_connected())
		goto out;
	one = piece(&it.one, 0, 64);
	two = piece(&it.two, 0, 64);
	OK(bind(&one, REMOTE_READ, 1, &first));
	if (!want_bind(it.rmr, 1, DAT_DTO_SUCCESS))
		goto out;
	OK(node_send(&it.link.a, 0, 64, 2, 0));
	OK(bind(&two, REMOTE_READ, 3, &context));
	IS(bind(&one, REMOTE_READ, 4, &context), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_MEMORY_REGION);
	bound_to(&one, REMOTE_READ, first);			/* mt:M41 */
	BAD_STATE(dat_lmr_free(it.one.lmr), LMR_IN_USE);	/* mt:M40 */
	BAD_STATE(dat_lmr_free(it.two.lmr), LMR_IN_USE);
	freed = it.rmr;
	OK(dat_rmr_free(freed));
	it.rmr = DAT_HANDLE_NULL;
	BAD_HANDLE(dat_rmr_free(freed), RMR);
	nothing_more(it.binds);
	OK(node_recv(&it.link.b, 0, 64, 5));
	want_dto(it.binds, it.link.a.ep, 2, DAT_DTO_SUCCESS, 64);
	want_bind(freed, 3, DAT_DTO_SUCCESS);
	mem_free(&it.one);
	mem_free(&it.two);
	nothing_more(it.binds);
out:
	it_free();
}

static void disconnected(void)
{
	DAT_LMR_TRIPLET part;
	DAT_RMR_CONTEXT context;

	if (!it_connected() ||
	    !link_disconnect(&it.link, DAT_CLOSE_ABRUPT_FLAG))
		goto out;
	part = piece(&it.one, 0, 64);
	OK(bind(&part, REMOTE_READ, 1, &context));
	want_bind(it.rmr, 1, DAT_DTO_ERR_FLUSHED);
	unbound();
	mem_free(&it.one);
out:
	it_free();
}

const struct test_case rmr_cases[] = {
	{ "mt:M3 mt:M28 mt:M41 mt:M43", "RMR: create, query, free", life },
	{ "mt:M29 mt:M31 mt:M32 mt:M37 mt:M38 E18 mt:T21",
	  "RMR bind: arguments", arguments },
	{ "mt:M31", "RMR bind: privileges", privileges },
	{ "mt:M30", "RMR bind: zones", zones },
	{ "mt:M22 mt:M33 mt:M36 mt:M37 mt:M40 mt:M41 mt:M43",
	  "RMR: bind, rebind, unbind, free",
	  binding },
	{ "mt:M36", "RMR: contexts do not come back soon", contexts },
	{ "mt:M22 mt:M40 mt:M41 mt:M44 mt:M45", "RMR: an outstanding bind", outstanding },
	{ "mt:M32 mt:M39 mt:M40", "RMR: a bind in state Disconnected", disconnected },
	{}
};
