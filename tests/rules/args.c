// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bad values: what each call has to refuse, with the exact return code; and that
 * nothing has changed by it.  Bad handles are in handles.c.
 */
#ifdef __KERNEL__
#include <linux/limits.h>
#include <linux/stddef.h>
#else
#include <limits.h>
#include <stddef.h>
#endif
#include "memory.h"

#define QUAL		20000
#define IP_ARG(n)	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define NOT_SUPPORTED	DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

/* ---- IA and registry ---------------------------------------------------- */

static DAT_RETURN ia_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			  DAT_IA_HANDLE *ia)
{
	return dat_ia_open((DAT_NAME_PTR)name, qlen, evd, ia);
}

static void open_values(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, bad = &evd;
	char name[DAT_NAME_MAX_LENGTH + 1];
	DAT_IA_HANDLE ia;

	memset(name, 'x', sizeof(name));
	name[DAT_NAME_MAX_LENGTH] = '\0';
	BAD_ARG(ia_open(NULL, 8, &evd, &ia), 1);
	BAD_ARG(ia_open("", 8, &evd, &ia), 1);
	BAD_ARG(ia_open(name, 8, &evd, &ia), 1);
	name[DAT_NAME_MAX_LENGTH - 1] = '\0';
	IS(ia_open(name, 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND,
	   DAT_NAME_NOT_REGISTERED);
	IS(ia_open("no-such-1", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND,
	   DAT_NAME_NOT_REGISTERED);
	BAD_ARG(ia_open(side_b.name, 0, &evd, &ia), 2);
	BAD_ARG(ia_open(side_b.name, -1, &evd, &ia), 2);
	BAD_ARG(ia_open(side_b.name, 8, NULL, &ia), 3);
	BAD_ARG(ia_open(side_b.name, 8, &evd, NULL), 4);
	BAD_HANDLE(ia_open(side_b.name, 8, &bad, &ia), EVD_ASYNC);
	CHECK(bad == &evd);
	CHECK(!evd);
	IS(dat_ia_openv(side_b.name, 8, &evd, &ia, DAT_VERSION_MAJOR + 1, 0, DAT_TRUE),
	   DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	IS(dat_ia_openv(side_b.name, 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1,
			DAT_FALSE),
	   DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	IS(dat_ia_openv(side_b.name, 8, &evd, &ia, DAT_VERSION_MAJOR, 9, DAT_TRUE),
	   DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	CHECK(!evd);
	BAD_ARG(dat_ia_close(side_b.ia, 2), 2);
	BAD_ARG(dat_ia_close(side_b.ia, 0x80000000), 2);
}

static void ia_query_values(void)
{
	DAT_IA_HANDLE ia = side_b.ia;

	BAD_ARG(dat_ia_query(ia, NULL, DAT_IA_ALL + 1, &side_b.attr, 0, NULL), 3);
	BAD_ARG(dat_ia_query(ia, NULL, 1, NULL, 0, NULL), 4);
	BAD_ARG(dat_ia_query(ia, NULL, DAT_IA_ALL, NULL, 0, NULL), 4);
	BAD_ARG(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1,
			     &side_b.provider), 5);
	BAD_ARG(dat_ia_query(ia, NULL, 0, NULL, 1, NULL), 6);
	BAD_ARG(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), 6);
	OK(dat_ia_query(ia, NULL, 0, NULL, 0, NULL));
}

#define INFOS	64

static void registry_values(void)
{
	DAT_PROVIDER_INFO *infos = scenario_alloc(INFOS * sizeof(*infos));
	DAT_PROVIDER_INFO *list[INFOS];
	DAT_COUNT number = 0, i;
	bool a = false, b = false;

	if (!infos)
		return;
	for (i = 0; i < INFOS; i++)
		list[i] = &infos[i];
	BAD_ARG(dat_registry_list_providers(0, &number, NULL), 1);
	if (!CHECK(number >= 2 && number < INFOS))
		return;
	BAD_ARG(dat_registry_list_providers(number - 1, &i, list), 1);
	CHECK_EQ(i, number);
	BAD_ARG(dat_registry_list_providers(-1, &i, list), 1);
	BAD_ARG(dat_registry_list_providers(INFOS, NULL, list), 2);
	BAD_ARG(dat_registry_list_providers(INFOS, &i, NULL), 3);
	list[number - 1] = NULL;
	BAD_ARG(dat_registry_list_providers(INFOS, &i, list), 3);
	list[number - 1] = &infos[number - 1];
	OK(dat_registry_list_providers(number, &i, list));
	CHECK_EQ(i, number);
	OK(dat_registry_list_providers(INFOS, &i, list));
	for (i = 0; i < number; i++) {
		CHECK_EQ(infos[i].dapl_version_major, DAT_VERSION_MAJOR);
		CHECK_EQ(infos[i].dapl_version_minor, DAT_VERSION_MINOR);
		CHECK_EQ(infos[i].is_thread_safe, DAT_TRUE);
		a |= !strcmp(infos[i].ia_name, side_a.name);
		b |= !strcmp(infos[i].ia_name, side_b.name);
	}
	CHECK(a && b);
}

/* ---- EVD ---------------------------------------------------------------- */

static void evd_create_values(void)
{
	static const struct {
		DAT_COUNT qlen;
		u32 flags;
		DAT_RETURN ret;
	} rows[] = {
		{ 0, DAT_EVD_DTO_FLAG, IP_ARG(2) },
		{ -1, DAT_EVD_DTO_FLAG, IP_ARG(2) },
		{ INT_MIN, DAT_EVD_DTO_FLAG, IP_ARG(2) },
		{ 0, 0, IP_ARG(2) },
		{ 8, 0, DAT_ERROR(DAT_INVALID_PARAMETER, EVD_FLAGS_ARG) },
		{ 8, 0x2, DAT_ERROR(DAT_INVALID_PARAMETER, EVD_FLAGS_ARG) },
		{ 8, 0x3f1, DAT_ERROR(DAT_INVALID_PARAMETER, EVD_FLAGS_ARG) },
		{ 8, 0x80000001, DAT_ERROR(DAT_INVALID_PARAMETER, EVD_FLAGS_ARG) },
		{ INT_MAX, DAT_EVD_DTO_FLAG,
		  DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD) },
	};
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!EXPECT(platform_evd_create(side_b.ia, rows[i].qlen,
						rows[i].flags, &evd),
			    rows[i].ret))
			FAIL("length %d, flags %#x", rows[i].qlen, rows[i].flags);
	IS(platform_evd_create(side_b.ia, side_b.attr.max_evd_qlen + 1,
			       DAT_EVD_DTO_FLAG, &evd),
	   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	IS(platform_evd_create(side_b.ia, 8, DAT_EVD_DTO_FLAG, NULL),
	   DAT_INVALID_PARAMETER, EVD_OUT_ARG);
	CHECK(!evd);
	OK(platform_evd_create(side_b.ia, 8, 0x1f1, &evd));
	OK(dat_evd_free(evd));
	BAD_HANDLE(dat_evd_free(evd), EVD_REQUEST);
}

static void evd_values(void)
{
	DAT_EVENT event = { .event_number = DAT_DTO_COMPLETION_EVENT };
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	if (!evd_new(&side_b, 8, DAT_EVD_DTO_FLAG, &evd))
		return;
	BAD_ARG(dat_evd_query(evd, 0x20, &param), 2);
	BAD_ARG(dat_evd_query(evd, 1, NULL), 3);
	BAD_ARG(dat_evd_query(evd, 0, NULL), 3);
	BAD_ARG(dat_evd_resize(evd, 0), 2);
	BAD_ARG(dat_evd_resize(evd, -1), 2);
	BAD_ARG(dat_evd_resize(evd, INT_MIN), 2);
	BAD_ARG(dat_evd_resize(evd, INT_MAX), 2);
	BAD_ARG(dat_evd_resize(evd, side_b.attr.max_evd_qlen + 1), 2);
	BAD_ARG(dat_evd_dequeue(evd, NULL), 2);
	BAD_ARG(dat_evd_post_se(evd, NULL), 2);
	BAD_ARG(dat_evd_post_se(evd, &event), 2);
	nothing_more(evd);
}

/* ---- EP ----------------------------------------------------------------- */

struct bad_attr {
	const char *name;
	u32 offset, size;
	u64 value;
};

#define ATTR(field, value)						\
	{ #field, offsetof(DAT_EP_ATTR, field),				\
	  sizeof(((DAT_EP_ATTR *)NULL)->field), (u64)(value) }

static const struct bad_attr bad_attrs[] = {
	ATTR(service_type, 1),
	ATTR(max_message_size, ~0ULL),
	ATTR(max_rdma_size, ~0ULL),
	ATTR(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG),
	ATTR(recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG),
	ATTR(recv_completion_flags, 0x40),
	ATTR(request_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
	ATTR(request_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG),
	ATTR(request_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG),
	ATTR(request_completion_flags, 0x40),
	ATTR(max_recv_dtos, -1),
	ATTR(max_recv_dtos, INT_MAX),
	ATTR(max_request_dtos, -1),
	ATTR(max_request_dtos, INT_MAX),
	ATTR(max_recv_iov, -1),
	ATTR(max_recv_iov, INT_MAX),
	ATTR(max_request_iov, -1),
	ATTR(max_request_iov, INT_MAX),
	ATTR(max_rdma_read_in, -1),
	ATTR(max_rdma_read_in, INT_MAX),
	ATTR(max_rdma_read_out, -1),
	ATTR(max_rdma_read_out, INT_MAX),
	ATTR(max_rdma_read_iov, INT_MAX),
	ATTR(max_rdma_write_iov, INT_MAX),
};

static void refuse_attr(const struct node *node, const struct bad_attr *bad)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr = node_attr;
	char *field = (char *)&attr + bad->offset;

	if (bad->size == sizeof(u64))
		*(u64 *)field = bad->value;
	else
		*(u32 *)field = bad->value;
	BAD_ARG(dat_ep_create(side_b.ia, side_b.pz, node->recv, node->request,
			      node->conn, &attr, &ep), 6);
	if (ep)
		FAIL("with %s %#llx", bad->name, (u64)bad->value);
}

static void ep_attributes(void)
{
	const DAT_IA_ATTR *ia = &side_b.attr;
	const struct bad_attr limits[] = {
		ATTR(max_message_size, ia->max_message_size + 1),
		ATTR(max_rdma_size, ia->max_rdma_size + 1),
		ATTR(max_recv_dtos, ia->max_dto_per_ep + 1),
		ATTR(max_request_dtos, ia->max_dto_per_ep + 1),
		ATTR(max_recv_iov, ia->max_iov_segments_per_dto + 1),
		ATTR(max_request_iov, ia->max_iov_segments_per_dto + 1),
		ATTR(max_rdma_read_in, ia->max_rdma_read_per_ep_in + 1),
		ATTR(max_rdma_read_out, ia->max_rdma_read_per_ep_out + 1),
		ATTR(max_rdma_read_iov, ia->max_iov_segments_per_rdma_read + 1),
		ATTR(max_rdma_write_iov, ia->max_iov_segments_per_rdma_write + 1),
	};
	DAT_EP_ATTR attr = node_attr;
	struct node node = {};
	unsigned int i;

	if (!node_new(&node, &side_b, THREE_EVDS, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(bad_attrs); i++)
		refuse_attr(&node, &bad_attrs[i]);
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		refuse_attr(&node, &limits[i]);
	BAD_ARG(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL, NULL, &attr,
			      NULL), 7);
}

/* What an endpoint without attributes has: it can read from its peer. */
static void ep_defaults(void)
{
	const DAT_IA_ATTR *ia = &side_b.attr;
	DAT_EP_PARAM param = {};
	DAT_EP_HANDLE ep;

	if (!OK(dat_ep_create(side_b.ia, NULL, NULL, NULL, NULL, NULL, &ep)))
		return;
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(param.ep_attr.max_rdma_read_in,
		 ia->max_rdma_read_per_ep_in < 4 ?
		 ia->max_rdma_read_per_ep_in : 4);
	CHECK_EQ(param.ep_attr.max_rdma_read_out,
		 ia->max_rdma_read_per_ep_out < 4 ?
		 ia->max_rdma_read_per_ep_out : 4);
	OK(dat_ep_free(ep));
}

static void ep_values(void)
{
	static const DAT_EP_PARAM_MASK never[] = {
		DAT_EP_FIELD_IA_HANDLE, DAT_EP_FIELD_EP_STATE, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL, DAT_EP_FIELD_SRQ_HANDLE,
		DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, 0x800, 0x80000000, 1ULL << 40,
	};
	DAT_EP_PARAM param = {};
	struct node node = {};
	unsigned int i;

	if (!node_new(&node, &side_b, THREE_EVDS, NULL))
		return;
	if (!(DAT_EP_FIELD_ALL & 0x800))	/* there is no such bit in 1.2 */
		BAD_ARG(dat_ep_query(node.ep, 0x800, &param), 2);
	BAD_ARG(dat_ep_query(node.ep, 0x80000000, &param), 2);
	BAD_ARG(dat_ep_query(node.ep, 1ULL << 40, &param), 2);
	BAD_ARG(dat_ep_query(node.ep, 1, NULL), 3);
	BAD_ARG(dat_ep_query(node.ep, DAT_EP_FIELD_ALL, NULL), 3);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		BAD_ARG(dat_ep_modify(node.ep, never[i], &param), 2);
	BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	param.pz_handle = node.ep;
	BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_PZ_HANDLE, &param), 3);
	/* Neither has the flag of completions. */
	param.recv_evd_handle = side_b.async;
	BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);
	param.recv_evd_handle = node.conn;
	BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);
	OK(dat_ep_modify(node.ep, 0, &param));
	BAD_ARG(dat_ep_disconnect(node.ep, 2), 2);
	BAD_ARG(dat_ep_disconnect(node.ep, 0x80000000), 2);
	state_is(node.ep, DAT_EP_STATE_UNCONNECTED);
	nothing_more(node.conn);
}

struct bad_connect {
	u64 qual;
	u32 timeout;
	DAT_COUNT size;
	bool data;
	u32 flags;
	DAT_RETURN ret;
};

static const struct bad_connect bad_connects[] = {
	{ 0, 1, 0, false, 0, IP_ARG(3) },
	{ 5, 0, 0, false, 0, IP_ARG(4) },
	{ 5, 1, -1, true, 0, IP_ARG(5) },
	{ 5, 1, INT_MAX, true, 0, IP_ARG(5) },
	{ 5, 1, 1, false, 0, IP_ARG(6) },
	{ 5, 1, 8, false, 0, IP_ARG(6) },
	{ 5, 1, 0, false, 4, IP_ARG(8) },
	{ 5, 1, 0, false, DAT_CONNECT_MULTIPATH_FLAG, NOT_SUPPORTED },
};

static const struct {
	int family;
	u32 address;
	u32 subtype;
} bad_addresses[] = {
	{ AF_UNIX, 0, DAT_INVALID_ADDRESS_MALFORMED },
	{ 99, 0, DAT_INVALID_ADDRESS_MALFORMED },
	{ AF_INET, 0xe0000001, DAT_INVALID_ADDRESS_UNSUPPORTED },
	{ AF_INET, 0xffffffff, DAT_INVALID_ADDRESS_UNSUPPORTED },
};

static void connect_values(void)
{
	struct sockaddr_in to = *(struct sockaddr_in *)&side_b.addr;
	DAT_IA_ADDRESS_PTR addr = (DAT_IA_ADDRESS_PTR)&to;
	struct node node = {};
	unsigned int i;
	u8 data[8] = {};

	if (!node_new(&node, &side_a, THREE_EVDS, NULL))
		return;
	BAD_ARG(dat_ep_connect(node.ep, NULL, 5, 1, 0, NULL, 0, 0), 2);
	BAD_ARG(dat_ep_connect(node.ep, addr, 5, 1,
			       side_a.max_private_data + 1, data, 0, 0), 5);
	for (i = 0; i < ARRAY_SIZE(bad_connects); i++) {
		const struct bad_connect *bad = &bad_connects[i];

		if (!EXPECT(dat_ep_connect(node.ep, addr, bad->qual,
					   bad->timeout, bad->size,
					   bad->data ? data : NULL, 0, bad->flags),
			    bad->ret))
			FAIL("row %u", i);
	}
	for (i = 0; i < ARRAY_SIZE(bad_addresses); i++) {
		to.sin_family = bad_addresses[i].family;
		to.sin_addr.s_addr = htonl(bad_addresses[i].address);
		if (!EXPECT(dat_ep_connect(node.ep, addr, 5, 1, 0, NULL, 0, 0),
			    DAT_ERROR(DAT_INVALID_ADDRESS,
				      bad_addresses[i].subtype)))
			FAIL("address %u", i);
	}
	state_is(node.ep, DAT_EP_STATE_UNCONNECTED);
	nothing_more(node.conn);
}

/* All that tell the quality of an EP's connection: refused at once, and nothing changes. */
static void other_qos(void)
{
	static const u32 others[] = {
		DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY, DAT_QOS_ECONOMY,
		DAT_QOS_PREMIUM, 0x3, 0x10, 0x80000000,
	};
	DAT_EP_PARAM param = { .ep_attr = node_attr };
	struct node node = {};
	struct pair p = {};
	unsigned int i;
	DAT_EP_HANDLE ep;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !node_new(&node, &side_a, THREE_EVDS, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(others) && !failed(); i++) {
		const u32 qos = others[i];

		param.ep_attr.qos = qos;
		IS(dat_ep_create(side_a.ia, side_a.pz, NULL, NULL, NULL, &param.ep_attr, &ep),
		   DAT_MODEL_NOT_SUPPORTED, 0);
		BAD_ARG(dat_ep_modify(node.ep, DAT_EP_FIELD_EP_ATTR_QOS, &param), 3);
		IS(dat_ep_connect(node.ep, (DAT_IA_ADDRESS_PTR)&side_b.addr, 5, CONNECT_US, 0,
				  NULL, qos, 0), DAT_MODEL_NOT_SUPPORTED, 0);
		IS(dat_ep_dup_connect(node.ep, p.a.ep, CONNECT_US, 0, NULL, qos),
		   DAT_MODEL_NOT_SUPPORTED, 0);
		state_is(node.ep, DAT_EP_STATE_UNCONNECTED);
		if (failed())
			FAIL("QoS %#x", qos);
	}
	if (OK(dat_ep_query(node.ep, DAT_EP_FIELD_ALL, &param)))
		CHECK_EQ(param.ep_attr.qos, DAT_QOS_BEST_EFFORT);
	nothing_more(node.conn);
}

/* ---- service points ----------------------------------------------------- */

static void sp_values(void)
{
	struct listener listener = {};
	struct node node = {}, a = {};
	DAT_CONN_QUAL qual, second;
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE out;

	if (!node_new(&node, &side_b, THREE_EVDS, NULL) ||
	    !node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_PROVIDER_FLAG))
		return;
	evd = listener.requests;
	BAD_ARG(dat_psp_create(side_b.ia, 0, evd, 0, &out), 2);
	BAD_ARG(dat_psp_create(side_b.ia, QUAL, evd, 2, &out), 4);
	BAD_ARG(dat_psp_create(side_b.ia, QUAL, evd, 0, NULL), 5);
	BAD_ARG(dat_psp_create_any(side_b.ia, NULL, evd, 0, &out), 2);
	BAD_ARG(dat_psp_create_any(side_b.ia, &qual, evd, 2, &out), 4);
	BAD_ARG(dat_psp_create_any(side_b.ia, &qual, evd, 7, &out), 4);
	BAD_ARG(dat_psp_create_any(side_b.ia, &qual, evd, 0, NULL), 5);
	BAD_ARG(dat_rsp_create(side_b.ia, 0, node.ep, evd, &out), 2);
	BAD_ARG(dat_rsp_create(side_b.ia, QUAL, node.ep, evd, NULL), 5);
	BAD_HANDLE(dat_rsp_create(side_b.ia, QUAL, a.ep, evd, &out), EP);
	IS(dat_psp_create(side_b.ia, listener.qual, evd, 0, &out),
	   DAT_CONN_QUAL_IN_USE, 0);
	IS(dat_rsp_create(side_b.ia, listener.qual, node.ep, evd, &out),
	   DAT_CONN_QUAL_IN_USE, 0);
	state_is(node.ep, DAT_EP_STATE_UNCONNECTED);

	BAD_ARG(dat_psp_query(listener.psp, 0x10, &psp_param), 2);
	BAD_ARG(dat_psp_query(listener.psp, 1, NULL), 3);
	if (OK(dat_psp_query(listener.psp, DAT_PSP_FIELD_ALL, &psp_param))) {
		CHECK(psp_param.ia_handle == side_b.ia);
		CHECK(psp_param.evd_handle == evd);
		CHECK_EQ(psp_param.conn_qual, listener.qual);
		CHECK_EQ(psp_param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	}
	OK(dat_psp_free(listener.psp));
	OK(dat_psp_create(side_b.ia, listener.qual, evd, 0, &out));
	if (OK(dat_psp_query(out, DAT_PSP_FIELD_ALL, &psp_param)))
		CHECK_EQ(psp_param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	OK(dat_psp_free(out));
	OK(dat_psp_create_any(side_b.ia, &qual, evd, 0, &out));
	OK(dat_psp_create_any(side_b.ia, &second, evd, 0, &out));
	CHECK(qual != second && qual >= 1024 && second >= 1024);

	if (!OK(dat_rsp_create(side_b.ia, QUAL, node.ep, evd, &out)))
		return;
	BAD_ARG(dat_rsp_query(out, 0x10, &rsp_param), 2);
	BAD_ARG(dat_rsp_query(out, 1, NULL), 3);
	if (OK(dat_rsp_query(out, DAT_RSP_FIELD_ALL, &rsp_param))) {
		CHECK(rsp_param.ia_handle == side_b.ia);
		CHECK(rsp_param.evd_handle == evd);
		CHECK(rsp_param.ep_handle == node.ep);
		CHECK_EQ(rsp_param.conn_qual, QUAL);
	}
	BAD_STATE(dat_rsp_create(side_b.ia, QUAL + 1, node.ep, evd, &out),
		  EP_RESERVED);
}

/* ---- memory ------------------------------------------------------------- */

static void pz_values(void)
{
	DAT_PZ_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	BAD_ARG(dat_pz_create(side_b.ia, NULL), 2);
	if (!OK(dat_pz_create(side_b.ia, &pz)))
		return;
	BAD_ARG(dat_pz_query(pz, 2, &param), 2);
	BAD_ARG(dat_pz_query(pz, 1, NULL), 3);
	if (OK(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param)))
		CHECK(param.ia_handle == side_b.ia);
	OK(dat_ep_create(side_b.ia, pz, NULL, NULL, NULL, NULL, &ep));
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	OK(dat_ep_free(ep));
	OK(dat_pz_free(pz));
	BAD_HANDLE(dat_pz_free(pz), PZ);
}

static void lmr_values(void)
{
	const DAT_VLEN largest = side_b.attr.max_lmr_block_size;
	DAT_REGION_DESCRIPTION region = {};
	DAT_LMR_TRIPLET segments[2];
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	struct mem mem;

	if (!mem_new(&side_b, &mem, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG))
		return;
#define CREATE(type, length, privileges)				\
	platform_lmr_create(side_b.ia, type, region, length, side_b.pz,	\
			    privileges, &lmr, NULL, NULL)
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, 1, 0), 3);
	region.for_va = mem.va;
	BAD_ARG(CREATE(0x55, 1, 0), 2);
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, 0, 0), 4);
	/* DAT 2.0 shows no more than 32 bits (RULING 55). */
	if (largest + 1 != 1ULL << 32)
		BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, largest + 1, 0), 4);
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, ~0ULL, 0), 4);
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, -(u64)(uintptr_t)mem.va, 0), 4);
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, 64, 0x04), 6);
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, 64, 0x80), 6);
	BAD_ARG(CREATE(DAT_MEM_TYPE_VIRTUAL, 64, 0x133), 6);
#undef CREATE
	IS(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64,
			       side_b.pz, 0, NULL, NULL, NULL),
	   DAT_INVALID_PARAMETER, LMR_OUT_ARG);
	CHECK(!lmr);
	BAD_ARG(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL + 1, &param), 2);
	BAD_ARG(dat_lmr_query(mem.lmr, 1, NULL), 3);
	BAD_STATE(dat_pz_free(side_b.pz), PZ_IN_USE);

	segments[0] = piece(&mem, 0, NODE_MEMORY);
	segments[1] = segments[0];
	OK(dat_lmr_sync_rdma_read(side_b.ia, NULL, 0));
	OK(dat_lmr_sync_rdma_read(side_b.ia, segments, 2));
	OK(dat_lmr_sync_rdma_write(side_b.ia, segments, 2));
	BAD_ARG(dat_lmr_sync_rdma_read(side_b.ia, NULL, 1), 2);
	BAD_ARG(dat_lmr_sync_rdma_write(side_b.ia, NULL, 1), 2);
	segments[1].segment_length++;
	BAD_ARG(dat_lmr_sync_rdma_read(side_b.ia, segments, 2), 2);
	BAD_ARG(dat_lmr_sync_rdma_write(side_b.ia, segments, 2), 2);
	segments[1] = piece(&mem, 0, 1);
	segments[1].lmr_context ^= 0x5555;
	BAD_ARG(dat_lmr_sync_rdma_read(side_b.ia, segments, 2), 2);
	BAD_ARG(dat_lmr_sync_rdma_write(side_b.ia, segments, 2), 2);
}

/* ---- posts -------------------------------------------------------------- */

enum dto { DTO_SEND, DTO_RECV, DTO_WRITE, DTO_READ, NR_DTOS };

static const struct {
	const char *name;
	u32 flags_arg;		/* where the completion flags are */
	u32 flags;		/* those that it takes */
	DAT_RETURN unknown;	/* memory that no LMR has */
} posts[NR_DTOS] = {
	[DTO_SEND] = { "send", DAT_INVALID_ARG5, 0x0b,
		   DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ) },
	[DTO_RECV] = { "receive", DAT_INVALID_ARG5, 0,
		      DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE) },
	[DTO_WRITE] = { "RDMA write", DAT_INVALID_ARG6, 0x09,
		    DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ) },
	[DTO_READ] = { "RDMA read", DAT_INVALID_ARG6, 0x09,
		   DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE) },
};

static DAT_RETURN post(DAT_EP_HANDLE ep, enum dto what, DAT_COUNT n,
		       DAT_LMR_TRIPLET *iov, const DAT_RMR_TRIPLET *remote,
		       u32 flags)
{
	switch (what) {
	case DTO_SEND:
		return dat_ep_post_send(ep, n, iov, cookie(1), flags);
	case DTO_RECV:
		return dat_ep_post_recv(ep, n, iov, cookie(1), flags);
	case DTO_WRITE:
		return dat_ep_post_rdma_write(ep, n, iov, cookie(1), remote,
					      flags);
	default:
		return dat_ep_post_rdma_read(ep, n, iov, cookie(1), remote,
					     flags);
	}
}

/* mt:T1, mt:T2, mt:T34: the number of segments, and the two pointers. */
static void post_counts(struct pair *p, enum dto what)
{
	DAT_RMR_TRIPLET remote = remote_piece(&p->b.mem, 0, 100);
	DAT_LMR_TRIPLET iov[8];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = piece(&p->a.mem, i, 1);
	BAD_ARG(post(p->a.ep, what, -1, iov, &remote, 0), 2);
	BAD_ARG(post(p->a.ep, what, 5, iov, &remote, 0), 2);
	BAD_ARG(post(p->a.ep, what, 32, iov, &remote, 0), 2);
	BAD_ARG(post(p->a.ep, what, INT_MAX, iov, &remote, 0), 2);
	BAD_ARG(post(p->a.ep, what, 1, NULL, &remote, 0), 3);
	if (what != DTO_WRITE && what != DTO_READ)
		return;
	BAD_ARG(post(p->a.ep, what, 1, iov, NULL, 0), 5);
	BAD_ARG(post(p->a.ep, what, 0, NULL, NULL, 0), 5);
	remote.target_address = ~0ULL - 10;
	BAD_ARG(post(p->a.ep, what, 1, iov, &remote, 0), 5);
}

/* mt:T5, mt:T6: a segment that is not all of its LMR, and their sum. */
static void post_segments(struct pair *p, enum dto what, struct mem *large)
{
	DAT_RMR_TRIPLET remote = remote_piece(&p->b.mem, 0, 64);
	DAT_LMR_TRIPLET iov[2];

#define ONE(offset, length)						\
	(iov[0] = piece(&p->a.mem, offset, 0),				\
	 iov[0].segment_length = (__typeof__(iov->segment_length))(length), \
	 post(p->a.ep, what, 1, iov, &remote, 0))
	BAD_ARG(ONE(0, NODE_MEMORY + 1), 3);
	BAD_ARG(ONE(NODE_MEMORY - 7, 8), 3);
	BAD_ARG(ONE(NODE_MEMORY, 1), 3);
	BAD_ARG(ONE(-1, 4), 3);
	BAD_ARG(ONE(-8, 8), 3);
	BAD_ARG(ONE(8, -8), 3);
	BAD_ARG(ONE(8, ~0ULL), 3);
	iov[0] = piece(large, 0, large->size);
	iov[1] = iov[0];
	/* On iWARP a read has one segment. */
	if (what != DTO_READ || side_a.attr.max_iov_segments_per_rdma_read > 1)
		BAD_ARG(post(p->a.ep, what, 2, iov, &remote, 0), 3);
	iov[0] = piece(&p->a.mem, 0, 64);
	iov[0].lmr_context = ~p->a.mem.context;
	EXPECT(post(p->a.ep, what, 1, iov, &remote, 0), posts[what].unknown);
	iov[0].lmr_context = p->a.mem.context ^ 0x4141;
	EXPECT(post(p->a.ep, what, 1, iov, &remote, 0), posts[what].unknown);
	/* mt:T33: the remote end is 64 bytes. */
	if (what == DTO_WRITE)
		IS(ONE(0, 65), DAT_LENGTH_ERROR, 0);
	if (what == DTO_READ)
		IS(ONE(0, 63), DAT_LENGTH_ERROR, 0);
#undef ONE
}

/* mt:T19, mt:T21, mt:T25: each flag but those that the kind of DTO takes. */
static void post_flags(struct pair *p, enum dto what)
{
	DAT_RMR_TRIPLET remote = remote_piece(&p->b.mem, 0, 8);
	DAT_LMR_TRIPLET iov = piece(&p->a.mem, 0, 8);
	u32 flag;

	for (flag = 1; flag; flag <<= 1)
		if (!(flag & posts[what].flags) &&
		    !IS(post(p->a.ep, what, 1, &iov, &remote, flag),
			DAT_INVALID_PARAMETER, posts[what].flags_arg))
			FAIL("flag %#x", flag);
}

/* An endpoint is made with what the adapter has (RULING 68), and has exactly what it is given. */
static bool bound_rdma(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = {};

	if (!OK(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &param)) ||
	    !CHECK_EQ(param.ep_attr.max_rdma_size, side_a.attr.max_rdma_size))
		return false;
	param.ep_attr.max_rdma_size = node_attr.max_rdma_size;
	return OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &param));
}

static void post_values(void)
{
	struct pair p = {};
	struct mem large;
	enum dto what;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL) || !bound_rdma(p.a.ep) ||
	    !pair_connect(&p.a, &p.b, &p.listener) ||
	    !mem_new(&side_a, &large, node_attr.max_message_size,
		     DAT_MEM_PRIV_ALL_FLAG))
		return;
	for (what = 0; what < NR_DTOS && !failed(); what++) {
		post_counts(&p, what);
		post_segments(&p, what, &large);
		post_flags(&p, what);
		if (failed())
			FAIL("by a post of a %s", posts[what].name);
	}
	/* E2: nothing came of any of it. */
	nothing_more(p.a.recv);
	nothing_more(p.a.request);
	nothing_more(p.a.conn);
	idle(p.a.ep);
	talks(&p.a, &p.b);
}

static const struct scenario scenarios[] = {
	SCENARIO("G1 G9 I1 I2 I4 I5 I6 I8 I11 dat_ia_open, dat_ia_close: values",
		 open_values),
	SCENARIO("I20 dat_ia_query: values", ia_query_values),
	SCENARIO("G12 G13 the list of providers", registry_values),
	SCENARIO("E13 EVD creation: values", evd_create_values),
	SCENARIO("E12 E41 E50 E53 EVD: values", evd_values),
	SCENARIO("E.1 EP attributes", ep_attributes),
	SCENARIO("E.1 EP attributes: RDMA read depths of a default EP", ep_defaults),
	SCENARIO("D1 M4 E.3 E.4 EP: values", ep_values),
	SCENARIO("E.6 C12 C13 C18 dat_ep_connect: values", connect_values),
	SCENARIO("C14 E.1 E.3 nothing but the best effort", other_qos),
	SCENARIO("P1 P2 P3 P4 P14 P16 P17 P20 P32 service points: values",
		 sp_values),
	SCENARIO("mt:M1 mt:M3 protection zones: values", pz_values),
	SCENARIO("mt:M10..M13 mt:M17 mt:M67 mt:M69 LMR: values", lmr_values),
	SCENARIO("mt:T1 mt:T2 mt:T5 mt:T6 mt:T19 mt:T21 mt:T25 mt:T29 mt:T33 mt:T34 "
		 "E2 RULING 68 posts: values",
		 post_values),
};

SCENARIO_TABLE(args_table);
