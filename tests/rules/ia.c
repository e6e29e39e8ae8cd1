// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interface adapters: what a query says, opening one twice, both ways to close.
 */
#include "memory.h"

static void query(void)
{
	DAT_IA_ATTR *attr = scenario_alloc(sizeof(*attr));
	DAT_PROVIDER_ATTR *again = scenario_alloc(2 * sizeof(*again));
	const DAT_PROVIDER_ATTR *provider = &side_a.provider;
	const DAT_IA_ATTR *ia = &side_a.attr;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	struct node node = {};
	int i;

	if (!attr || !again)
		return;
	OK(dat_ia_query(side_a.ia, &evd, 0, NULL, 0, NULL));
	CHECK(evd == side_a.async);
	CHECK(!strcmp(ia->adapter_name, side_a.name));
	CHECK_EQ(ia->ia_address_ptr->sa_family, AF_INET);
	CHECK(ia->max_eps > 0 && ia->max_evds > 0 && ia->max_rmrs > 0);
	CHECK(ia->max_evd_qlen > 0 && ia->max_dto_per_ep > 0);
	CHECK(ia->max_lmr_block_size >= 1 << 20);
	CHECK(ia->max_message_size >= 1 << 20 && ia->max_rdma_size >= 1 << 20);
	CHECK_EQ(ia->num_transport_attr, 0);
	CHECK_EQ(ia->num_vendor_attr, 0);
	CHECK(!strcmp(provider->provider_name, "kdapl"));
	CHECK_EQ(provider->dapl_version_major, DAT_VERSION_MAJOR);
	CHECK_EQ(provider->dapl_version_minor, DAT_VERSION_MINOR);
	CHECK_EQ(provider->iov_ownership_on_return, DAT_IOV_CONSUMER);
	CHECK_EQ(provider->completion_flags_supported,
		 FACE_COMPLETION_FLAGS);
	CHECK_EQ(provider->is_thread_safe, DAT_TRUE);
	CHECK_EQ(provider->ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	CHECK_EQ(provider->supports_multipath, DAT_FALSE);
	CHECK(provider->max_private_data_size >= 56);
	/* I22: promised to each only if there is enough for all. */
	CHECK_EQ(ia->max_rdma_read_per_ep_in_guaranteed,
		 (u64)ia->max_rdma_read_in >=
		 (u64)ia->max_eps * ia->max_rdma_read_per_ep_in);
	CHECK_EQ(ia->max_rdma_read_per_ep_out_guaranteed,
		 (u64)ia->max_rdma_read_out >=
		 (u64)ia->max_eps * ia->max_rdma_read_per_ep_out);
	CHECK_EQ(provider->rdma_write_for_rdma_read_req, side_has_rnic(&side_a));
	CHECK_EQ(provider->srq_supported, ia->max_srqs > 0);
	for (i = 0; i < 36; i++)
		CHECK_EQ(provider->evd_stream_merging_supported[i / 6][i % 6],
			 DAT_TRUE);
	/* I21: it does not change, whatever there is. */
	OK(dat_ia_query(side_a.ia, NULL, DAT_IA_ALL, attr,
			DAT_PROVIDER_FIELD_ALL, &again[0]));
	node_new(&node, &side_a, ONE_EVD, NULL);
	OK(dat_ia_query(side_a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
			&again[1]));
	CHECK(!memcmp(&again[0], &again[1], sizeof(*again)));
	CHECK_EQ(attr->max_eps, ia->max_eps);
	CHECK_EQ(attr->max_evds, ia->max_evds);
	CHECK_EQ(attr->max_lmrs, ia->max_lmrs);
	CHECK(!strcmp(attr->adapter_name, side_a.name));
	CHECK(attr->ia_address_ptr == ia->ia_address_ptr);
}

static void async_evd(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	if (!OK(dat_ia_open(side_a.name, 5, &evd, &ia)))
		return;
	if (OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param))) {
		CHECK_EQ(param.evd_flags, DAT_EVD_ASYNC_FLAG);
		CHECK(param.evd_qlen >= 5 && param.ia_handle == ia);
	}
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	BAD_STATE(dat_evd_free(evd), EVD_IN_USE);
	OK(dat_evd_resize(evd, 10));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	BAD_HANDLE(dat_evd_query(evd, 1, &param), EVD_REQUEST);
	BAD_HANDLE(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), IA);
}

/* Two opens of one name are strangers. */
static void two_opens(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	struct node node = {};
	DAT_IA_HANDLE ia;
	DAT_HANDLE out;
	DAT_PZ_HANDLE pz;

	if (!node_new(&node, &side_a, THREE_EVDS, NULL) ||
	    !OK(dat_ia_open(side_a.name, 8, &evd, &ia)) ||
	    !OK(dat_pz_create(ia, &pz)))
		return;
	CHECK(ia != side_a.ia && evd != side_a.async);
	BAD_HANDLE(dat_ep_create(side_a.ia, pz, NULL, NULL, NULL, NULL, &out), PZ);
	BAD_HANDLE(dat_ep_create(ia, pz, node.recv, NULL, NULL, NULL, &out),
		   EVD_RECV);
	BAD_HANDLE(dat_ep_create(ia, pz, NULL, node.request, NULL, NULL, &out),
		   EVD_REQUEST);
	BAD_HANDLE(dat_ep_create(ia, pz, NULL, NULL, node.conn, NULL, &out),
		   EVD_CONN);
	BAD_HANDLE(dat_ep_create(side_a.ia, side_a.pz, NULL, NULL, evd, NULL,
				 &out), EVD_CONN);
	region.for_va = node.mem.va;
	BAD_HANDLE(platform_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64,
				       side_a.pz, DAT_MEM_PRIV_ALL_FLAG, &out,
				       NULL, NULL), PZ);
	OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* I12: one object is enough. */
static void close_graceful(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	if (!OK(dat_ia_open(side_a.name, 8, &async, &ia)))
		return;
	OK(dat_pz_create(ia, &pz));
	BAD_STATE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_pz_free(pz));
	OK(platform_evd_create(ia, 8, DAT_EVD_SOFTWARE_FLAG, &evd));
	BAD_STATE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_evd_free(evd));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	BAD_HANDLE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA);
}

/* With everything on it: a connection, posts that wait, a listener, memory. */
static void close_abrupt(void)
{
	struct pair p = {};
	DAT_EP_PARAM param;
	DAT_EVENT event;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	OK(node_recv(&p.b, 0, 64, 1));
	/* Held up, since nobody receives it; on iWARP that would end the connection. */
	if (!side_is_iwarp(&side_b))
		OK(node_send(&p.b, 0, 64, 1, 0));
	OK(dat_ia_close(side_b.ia, DAT_CLOSE_ABRUPT_FLAG));
	BAD_HANDLE(dat_ia_close(side_b.ia, DAT_CLOSE_ABRUPT_FLAG), IA);
	BAD_HANDLE(dat_ep_query(p.b.ep, 1, &param), EP);
	BAD_HANDLE(dat_ep_free(p.b.ep), EP);
	BAD_HANDLE(dat_lmr_free(p.b.mem.lmr), LMR);
	BAD_HANDLE(dat_evd_free(p.b.recv), EVD_REQUEST);
	BAD_HANDLE(dat_evd_dequeue(p.b.conn, &event), EVD_REQUEST);
	BAD_HANDLE(dat_evd_dequeue(side_b.async, &event), EVD_REQUEST);
	BAD_HANDLE(dat_psp_free(p.listener.psp), PSP);
	BAD_HANDLE(dat_pz_free(side_b.pz), PZ);
	side_b.ia = DAT_HANDLE_NULL;
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* I17: the memory is the consumer's again. */
	scenario_free(p.b.mem.va);
}

static const struct scenario scenarios[] = {
	SCENARIO("I1 I4 I20 I21 I22 E15 mt:M80 mt:T35 dat_ia_query", query),
	SCENARIO("E58 I3 I4 I12 the async EVD, a second open", async_evd),
	SCENARIO("I3 E19 mt:M1 RULING36 two opens of one IA", two_opens),
	SCENARIO("I12 F11 graceful close", close_graceful),
	SCENARIO("I14 I15 I17 F7 abrupt close with everything on it",
		 close_abrupt),
};

SCENARIO_TABLE(ia_table);
