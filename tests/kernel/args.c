// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bad arguments: each function of the kernel face, each kind of bad handle, and
 * the parameter values that it has to refuse, with the exact return code.  And
 * afterwards nothing has changed: the objects that took part still work.
 */
#include <linux/limits.h>
#include <linux/slab.h>
#include "kdat_rules.h"

/* One live object of each type, a dead one, and numbers that are none. */
static struct {
	struct node node;
	struct listener listener;
	DAT_HANDLE freed;
} it;

static bool it_new(void)
{
	DAT_PZ_HANDLE pz;

	memset(&it, 0, sizeof(it));
	if (!node_new(&it.node, &side_b, NULL) ||
	    !listener_new(&it.listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_pz_create(side_b.ia, &pz)) || !OK(dat_pz_free(pz)))
		return false;
	it.freed = pz;
	return true;
}

static void it_free(void)
{
	node_free(&it.node);
	listener_free(&it.listener);
}

/*
 * The bad handles for a function that takes objects like @live, one after the
 * other; false after the last.
 */
static bool bad_handle(unsigned int i, DAT_HANDLE live, DAT_HANDLE wrong,
		       DAT_HANDLE *bad)
{
	uintptr_t number = (uintptr_t)live;

	switch (i) {
	case 0:
		*bad = DAT_HANDLE_NULL;
		return true;
	case 1:
		*bad = (DAT_HANDLE)1;
		return true;
	case 2:
		*bad = (DAT_HANDLE)2;
		return true;
	case 3:
		*bad = (DAT_HANDLE)~0UL;
		return true;
	case 4:
		*bad = it.freed;
		return true;
	case 5:
		*bad = wrong;
		return true;
	default:
		/* Each bit of a good handle turned over. */
		i -= 6;
		if (i >= BITS_PER_LONG)
			return false;
		*bad = (DAT_HANDLE)(number ^ (1UL << i));
		return true;
	}
}

/* A turned bit may happen to name another live object of the same type. */
static bool is_type(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_HANDLE_TYPE is;

	return !dat_get_handle_type(handle, &is) && is == type;
}

/*
 * Steps through the bad handles for a function that takes objects of @type like
 * @live.
 */
static bool next_bad(unsigned int *i, DAT_HANDLE live, DAT_HANDLE wrong,
		     DAT_HANDLE_TYPE type, DAT_HANDLE *bad)
{
	do {
		if (!bad_handle((*i)++, live, wrong, bad))
			return false;
	} while (is_type(*bad, type));
	return true;
}

static void ia_handles(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = it.node.mem.va };
	DAT_CONN_QUAL qual = 4000;
	DAT_SRQ_ATTR srq = {};
	DAT_HANDLE out, bad;
	unsigned int i;
	DAT_VLEN length;

	if (!it_new())
		goto out;
	i = 0;
	while (next_bad(&i, side_b.ia, it.node.ep, DAT_HANDLE_TYPE_IA, &bad)) {
		BAD_HANDLE(dat_ia_query(bad, NULL, 0, NULL, 0, NULL), IA);
		BAD_HANDLE(dat_ia_close(bad, DAT_CLOSE_ABRUPT_FLAG), IA);
		BAD_HANDLE(dat_ia_memtype_hint(bad, DAT_MEM_TYPE_VIRTUAL, 1, 0,
					       &length, NULL), IA);
		BAD_HANDLE(dat_pz_create(bad, &out), IA);
		BAD_HANDLE(dat_lmr_kcreate(bad, DAT_MEM_TYPE_VIRTUAL, region, 1,
					   side_b.pz, 0, 0, &out, NULL, NULL,
					   NULL, NULL), IA);
		BAD_HANDLE(dat_lmr_sync_rdma_read(bad, NULL, 0), IA);
		BAD_HANDLE(dat_lmr_sync_rdma_write(bad, NULL, 0), IA);
		BAD_HANDLE(dat_evd_kcreate(bad, 1, DAT_UPCALL_DISABLE, NULL,
					   DAT_EVD_DTO_FLAG, &out), IA);
		BAD_HANDLE(dat_ep_create(bad, side_b.pz, NULL, NULL, NULL, NULL,
					 &out), IA);
		BAD_HANDLE(dat_ep_create_with_srq(bad, NULL, NULL, NULL, NULL,
						  NULL, &node_attr, &out), IA);
		BAD_HANDLE(dat_srq_create(bad, side_b.pz, &srq, &out), IA);
		BAD_HANDLE(dat_psp_create(bad, qual, it.listener.requests->evd,
					  DAT_PSP_CONSUMER_FLAG, &out), IA);
		BAD_HANDLE(dat_psp_create_any(bad, &qual,
					      it.listener.requests->evd,
					      DAT_PSP_CONSUMER_FLAG, &out), IA);
		BAD_HANDLE(dat_rsp_create(bad, qual, it.node.ep,
					  it.listener.requests->evd, &out), IA);
	}
out:
	it_free();
}

static void evd_handles(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_PARAM param;
	DAT_HANDLE out, bad;
	unsigned int i;

	if (!it_new())
		goto out;
	i = 0;
	while (next_bad(&i, it.node.events->evd, it.node.ep,
			DAT_HANDLE_TYPE_EVD, &bad)) {
		BAD_HANDLE(dat_evd_query(bad, 0, &param), EVD_REQUEST);
		BAD_HANDLE(dat_evd_resize(bad, 1), EVD_REQUEST);
		BAD_HANDLE(dat_evd_post_se(bad, &event), EVD_REQUEST);
		BAD_HANDLE(dat_evd_dequeue(bad, &event), EVD_REQUEST);
		BAD_HANDLE(dat_evd_free(bad), EVD_REQUEST);
		BAD_HANDLE(dat_evd_modify_upcall(bad, DAT_UPCALL_DISABLE, NULL),
			   EVD_REQUEST);
		BAD_HANDLE(dat_psp_create(side_b.ia, 4000, bad,
					  DAT_PSP_CONSUMER_FLAG, &out), EVD_CR);
		BAD_HANDLE(dat_rsp_create(side_b.ia, 4000, it.node.ep, bad,
					  &out), EVD_CR);
		if (!bad)
			continue;	/* null is legal for an EP */
		BAD_HANDLE(dat_ep_create(side_b.ia, side_b.pz, bad, NULL, NULL,
					 NULL, &out), EVD_RECV);
		BAD_HANDLE(dat_ep_create(side_b.ia, side_b.pz, NULL, bad, NULL,
					 NULL, &out), EVD_REQUEST);
		BAD_HANDLE(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL, bad,
					 NULL, &out), EVD_CONN);
	}
	/* Right type, wrong stream; another IA's. */
	BAD_HANDLE(dat_psp_create(side_b.ia, 4000, it.node.events->evd,
				  DAT_PSP_CONSUMER_FLAG, &out), EVD_CR);
	BAD_HANDLE(dat_ep_create(side_b.ia, side_b.pz,
				 it.listener.requests->evd, NULL, NULL, NULL,
				 &out), EVD_RECV);
	BAD_HANDLE(dat_ep_create(side_b.ia, side_b.pz, NULL,
				 it.listener.requests->evd, NULL, NULL, &out),
		   EVD_REQUEST);
	BAD_HANDLE(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL,
				 it.listener.requests->evd, NULL, &out),
		   EVD_CONN);
	BAD_HANDLE(dat_ep_create(side_a.ia, side_a.pz, it.node.events->evd,
				 NULL, NULL, NULL, &out), EVD_RECV);
	nothing_more(it.node.events);
out:
	it_free();
}

static void ep_handles(void)
{
	DAT_DTO_COOKIE cookie = {};
	DAT_RMR_TRIPLET remote = {};
	DAT_EP_PARAM param;
	DAT_EP_STATE state;
	DAT_HANDLE out, bad;
	unsigned int i;

	if (!it_new())
		goto out;
	i = 0;
	while (next_bad(&i, it.node.ep, it.node.events->evd,
			DAT_HANDLE_TYPE_EP, &bad)) {
		BAD_HANDLE(dat_ep_query(bad, 0, &param), EP);
		BAD_HANDLE(dat_ep_modify(bad, 0, &param), EP);
		BAD_HANDLE(dat_ep_get_status(bad, &state, NULL, NULL), EP);
		BAD_HANDLE(dat_ep_connect(bad, (void *)&side_b.addr, 1, 1, 0,
					  NULL, 0, 0), EP);
		BAD_HANDLE(dat_ep_dup_connect(bad, it.node.ep, 1, 0, NULL, 0),
			   EP);
		BAD_HANDLE(dat_ep_dup_connect(it.node.ep, bad, 1, 0, NULL, 0),
			   EP);
		BAD_HANDLE(dat_ep_disconnect(bad, DAT_CLOSE_ABRUPT_FLAG), EP);
		BAD_HANDLE(dat_ep_reset(bad), EP);
		BAD_HANDLE(dat_ep_free(bad), EP);
		BAD_HANDLE(dat_ep_recv_query(bad, NULL, NULL), EP);
		BAD_HANDLE(dat_ep_set_watermark(bad, 1, 1), EP);
		BAD_HANDLE(dat_ep_post_send(bad, 0, NULL, cookie, 0), EP);
		BAD_HANDLE(dat_ep_post_recv(bad, 0, NULL, cookie, 0), EP);
		BAD_HANDLE(dat_ep_post_rdma_read(bad, 0, NULL, cookie, &remote,
						 0), EP);
		BAD_HANDLE(dat_ep_post_rdma_write(bad, 0, NULL, cookie, &remote,
						  0), EP);
		if (bad)
			BAD_HANDLE(dat_rsp_create(side_b.ia, 4000, bad,
						  it.listener.requests->evd,
						  &out), EP);
	}
	state_is(it.node.ep, DAT_EP_STATE_UNCONNECTED);
out:
	it_free();
}

static void other_handles(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = it.node.mem.va };
	DAT_CONTEXT context = {};
	DAT_HANDLE_TYPE type;
	DAT_PZ_PARAM pz_param;
	DAT_LMR_PARAM lmr_param;
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_CR_PARAM cr_param;
	DAT_SRQ_ATTR srq = {};
	DAT_HANDLE out, bad;
	unsigned int i;

	if (!it_new())
		goto out;
	i = 0;
	while (next_bad(&i, side_b.pz, it.node.ep, DAT_HANDLE_TYPE_PZ, &bad)) {
		BAD_HANDLE(dat_pz_query(bad, 1, &pz_param), PZ);
		BAD_HANDLE(dat_pz_free(bad), PZ);
		BAD_HANDLE(dat_lmr_kcreate(side_b.ia, DAT_MEM_TYPE_VIRTUAL,
					   region, 1, bad, 0, 0, &out, NULL,
					   NULL, NULL, NULL), PZ);
		BAD_HANDLE(dat_srq_create(side_b.ia, bad, &srq, &out), PZ);
		if (bad)
			BAD_HANDLE(dat_ep_create(side_b.ia, bad, NULL, NULL,
						 NULL, NULL, &out), PZ);
	}
	i = 0;
	while (next_bad(&i, it.node.mem.lmr, it.node.ep,
			DAT_HANDLE_TYPE_LMR, &bad)) {
		BAD_HANDLE(dat_lmr_query(bad, 1, &lmr_param), LMR);
		BAD_HANDLE(dat_lmr_free(bad), LMR);
		region.for_lmr_handle = bad;
		BAD_HANDLE(dat_lmr_kcreate(side_b.ia, DAT_MEM_TYPE_LMR, region,
					   0, side_b.pz, 0, 0, &out, NULL, NULL,
					   NULL, NULL), LMR);
	}
	i = 0;
	while (next_bad(&i, it.listener.psp, it.node.ep,
			DAT_HANDLE_TYPE_PSP, &bad)) {
		BAD_HANDLE(dat_psp_query(bad, 1, &psp_param), PSP);
		BAD_HANDLE(dat_psp_free(bad), PSP);
	}
	i = 0;
	while (next_bad(&i, it.listener.psp, it.listener.psp,
			DAT_HANDLE_TYPE_RSP, &bad)) {
		BAD_HANDLE(dat_rsp_query(bad, 1, &rsp_param), RSP);
		BAD_HANDLE(dat_rsp_free(bad), RSP);
	}
	i = 0;
	while (next_bad(&i, it.listener.psp, it.listener.psp,
			DAT_HANDLE_TYPE_CR, &bad)) {
		BAD_HANDLE(dat_cr_query(bad, 1, &cr_param), CR);
		BAD_HANDLE(dat_cr_accept(bad, it.node.ep, 0, NULL), CR);
		BAD_HANDLE(dat_cr_reject(bad), CR);
		BAD_HANDLE(dat_cr_handoff(bad, 1), CR);
	}
	for (i = 0; i < 5; i++) {
		bad_handle(i, side_b.pz, it.node.ep, &bad);
		IS(dat_get_handle_type(bad, &type), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
		IS(dat_get_consumer_context(bad, &context), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
		IS(dat_set_consumer_context(bad, context), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
	}
out:
	it_free();
}

static void rmr_handles(void)
{
	DAT_LMR_TRIPLET none = {};
	DAT_RMR_CONTEXT rmr_context;
	DAT_CONTEXT cookie = {};
	DAT_RMR_PARAM param;
	DAT_HANDLE rmr, out, bad;
	unsigned int i;

	if (!it_new() || !OK(dat_rmr_create(side_b.pz, &rmr)))
		goto out;
	i = 0;
	while (next_bad(&i, rmr, it.node.ep, DAT_HANDLE_TYPE_RMR, &bad)) {
		BAD_HANDLE(dat_rmr_query(bad, 1, &param), RMR);
		BAD_HANDLE(dat_rmr_bind(bad, &none, 0, it.node.ep, cookie, 0,
					&rmr_context), RMR);
		BAD_HANDLE(dat_rmr_free(bad), RMR);
	}
	i = 0;
	while (next_bad(&i, it.node.ep, rmr, DAT_HANDLE_TYPE_EP, &bad))
		BAD_HANDLE(dat_rmr_bind(rmr, &none, 0, bad, cookie, 0,
					&rmr_context), EP);
	i = 0;
	while (next_bad(&i, side_b.pz, rmr, DAT_HANDLE_TYPE_PZ, &bad))
		BAD_HANDLE(dat_rmr_create(bad, &out), PZ);
	OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	OK(dat_rmr_free(rmr));
out:
	it_free();
}

static void ia_values(void)
{
	static char long_name[DAT_NAME_MAX_LENGTH + 1];
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_PROVIDER_INFO *list[1] = { NULL };
	DAT_IA_ATTR *attr = NULL;
	DAT_IA_HANDLE ia;
	DAT_VLEN length;
	DAT_COUNT n;

	memset(long_name, 'x', DAT_NAME_MAX_LENGTH);
	BAD_ARG(dat_ia_open(NULL, 1, &evd, &ia), 1);
	BAD_ARG(dat_ia_open("", 1, &evd, &ia), 1);
	BAD_ARG(dat_ia_open(long_name, 1, &evd, &ia), 1);
	BAD_ARG(dat_ia_open((char *)side_b.name, 0, &evd, &ia), 2);
	BAD_ARG(dat_ia_open((char *)side_b.name, -1, &evd, &ia), 2);
	BAD_ARG(dat_ia_open((char *)side_b.name, 1, NULL, &ia), 3);
	BAD_ARG(dat_ia_open((char *)side_b.name, 1, &evd, NULL), 4);
	IS(dat_ia_open("no-such-1", 1, &evd, &ia), DAT_PROVIDER_NOT_FOUND,
	   DAT_NAME_NOT_REGISTERED);
	IS(dat_ia_openv((char *)side_b.name, 1, &evd, &ia, 2, 0, DAT_TRUE),
	   DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	IS(dat_ia_openv((char *)side_b.name, 1, &evd, &ia, 1, 9, DAT_TRUE),
	   DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	CHECK(!evd);
	evd = (DAT_HANDLE)1;
	IS(dat_ia_open((char *)side_b.name, 1, &evd, &ia), DAT_INVALID_HANDLE,
	   DAT_INVALID_HANDLE_EVD_ASYNC);
	CHECK(evd == (DAT_HANDLE)1);

	BAD_ARG(dat_ia_close(side_b.ia, 2), 2);
	BAD_ARG(dat_ia_query(side_b.ia, NULL, DAT_IA_ALL + 1, attr, 0, NULL), 3);
	BAD_ARG(dat_ia_query(side_b.ia, NULL, 1, NULL, 0, NULL), 4);
	BAD_ARG(dat_ia_query(side_b.ia, NULL, 0, NULL,
			     DAT_PROVIDER_FIELD_ALL + 1, NULL), 5);
	BAD_ARG(dat_ia_query(side_b.ia, NULL, 0, NULL, 1, NULL), 6);
	OK(dat_ia_query(side_b.ia, NULL, 0, NULL, 0, NULL));

	BAD_ARG(dat_registry_list_providers(0, &n, NULL), 1);
	CHECK(n >= 2);
	BAD_ARG(dat_registry_list_providers(1, NULL, list), 2);
	BAD_ARG(dat_registry_list_providers(100, &n, NULL), 3);

	BAD_ARG(dat_ia_memtype_hint(side_b.ia, 3, 1, 0, &length, NULL), 2);
	BAD_ARG(dat_ia_memtype_hint(side_b.ia, 0, 0, 0, &length, NULL), 3);
	BAD_ARG(dat_ia_memtype_hint(side_b.ia, 0, 1, 8, &length, NULL), 4);
	IS(dat_ia_memtype_hint(side_b.ia, DAT_MEM_TYPE_BYPASS, 1, 0, &length,
			       NULL), DAT_MODEL_NOT_SUPPORTED, 0);
	OK(dat_ia_memtype_hint(side_b.ia, 0, 1, 0, &length, NULL));
	CHECK(length == PAGE_SIZE);
}

static void evd_values(void)
{
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_UPCALL_OBJECT good = { .upcall_func = collect };
	DAT_EVENT event = { .event_number = DAT_DTO_COMPLETION_EVENT };
	DAT_EVD_HANDLE out = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;

	if (!it_new())
		goto out;
	BAD_ARG(dat_evd_kcreate(side_b.ia, 0, 2, &good, 0, NULL), 2);
	BAD_ARG(dat_evd_kcreate(side_b.ia, -1, 0, NULL, 1, &out), 2);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 2, NULL, 0, NULL), 3);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, DAT_UPCALL_TEARDOWN, &good, 1,
				&out), 3);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, DAT_UPCALL_SINGLE_INSTANCE, NULL,
				0, NULL), 4);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, DAT_UPCALL_MANY, &none, 1, &out),
		4);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 0, NULL), 5);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 0x2, &out), 5);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 0x80000001, &out), 5);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 1, NULL), 6);
	IS(dat_evd_kcreate(side_b.ia, INT_MAX, 0, NULL, 1, &out),
	   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	CHECK(!out);

	BAD_ARG(dat_evd_modify_upcall(it.node.events->evd, 2, &good), 2);
	BAD_ARG(dat_evd_modify_upcall(it.node.events->evd, -2, &good), 2);
	BAD_ARG(dat_evd_modify_upcall(it.node.events->evd, DAT_UPCALL_MANY,
				      &none), 3);
	BAD_ARG(dat_evd_modify_upcall(side_b.async_evd, DAT_UPCALL_MANY,
				      DAT_UPCALL_SAME), 3);
	BAD_ARG(dat_evd_query(it.node.events->evd, 0x20, &param), 2);
	BAD_ARG(dat_evd_query(it.node.events->evd, 1, NULL), 3);
	BAD_ARG(dat_evd_query(it.node.events->evd, 0, NULL), 3);
	BAD_ARG(dat_evd_resize(it.node.events->evd, 0), 2);
	BAD_ARG(dat_evd_resize(it.node.events->evd, INT_MIN), 2);
	BAD_ARG(dat_evd_resize(it.node.events->evd, INT_MAX), 2);
	BAD_ARG(dat_evd_dequeue(it.node.events->evd, NULL), 2);
	BAD_ARG(dat_evd_post_se(it.node.events->evd, NULL), 2);
	BAD_ARG(dat_evd_post_se(it.node.events->evd, &event), 2);
	event.event_number = DAT_SOFTWARE_EVENT;
	BAD_ARG(dat_evd_post_se(side_b.async_evd, &event), 1);
	BAD_STATE(dat_evd_free(side_b.async_evd), EVD_IN_USE);
	BAD_STATE(dat_evd_free(it.node.events->evd), EVD_IN_USE);
	BAD_STATE(dat_evd_free(it.listener.requests->evd), EVD_IN_USE);
	nothing_more(it.node.events);
out:
	it_free();
}

/* One attribute changed at a time. */
static void ep_attributes(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr;

#define WITH(field, value)						\
	do {								\
		attr = node_attr;					\
		attr.field = value;					\
		BAD_ARG(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL,	\
				      NULL, &attr, &ep), 6);		\
	} while (0)

	WITH(service_type, 1);
	WITH(max_message_size, ~0ULL);
	WITH(max_rdma_size, ~0ULL);
	WITH(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG);
	WITH(recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	WITH(recv_completion_flags, 0x40);
	WITH(request_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	WITH(request_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG);
	WITH(max_recv_dtos, -1);
	WITH(max_recv_dtos, INT_MAX);
	WITH(max_request_dtos, -1);
	WITH(max_request_dtos, INT_MAX);
	WITH(max_recv_iov, -1);
	WITH(max_recv_iov, INT_MAX);
	WITH(max_request_iov, -1);
	WITH(max_request_iov, INT_MAX);
	WITH(max_rdma_read_in, -1);
	WITH(max_rdma_read_in, INT_MAX);
	WITH(max_rdma_read_out, -1);
	WITH(max_rdma_read_out, INT_MAX);
	WITH(max_rdma_read_iov, INT_MAX);
	WITH(max_rdma_write_iov, INT_MAX);
#undef WITH
	attr = node_attr;
	attr.qos = DAT_QOS_PREMIUM;
	IS(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL, NULL, &attr, &ep),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_ARG(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL, NULL,
			      &node_attr, NULL), 7);
	CHECK(!ep);
}

static void ep_defaults(void)
{
	static DAT_IA_ATTR ia;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	if (!OK(dat_ia_query(side_b.ia, NULL, DAT_IA_ALL, &ia, 0, NULL)) ||
	    !OK(dat_ep_create(side_b.ia, NULL, NULL, NULL, NULL, NULL, &ep)))
		return;
	if (OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param))) {
		CHECK(param.ep_attr.max_rdma_read_in ==
		      min(4, ia.max_rdma_read_per_ep_in));
		CHECK(param.ep_attr.max_rdma_read_out ==
		      min(4, ia.max_rdma_read_per_ep_out));
	}
	OK(dat_ep_free(ep));
}

static void ep_values(void)
{
	u8 data[8] = {};
	struct sockaddr_in where = *(struct sockaddr_in *)&side_b.addr;
	void *addr = &where;
	DAT_EP_PARAM param = {};
	DAT_EP_HANDLE ep, bare;
	DAT_COUNT big = side_b.max_private_data + 1;

	if (!it_new())
		goto out;
	ep = it.node.ep;
	BAD_ARG(dat_ep_query(ep, 0x800, &param), 2);
	BAD_ARG(dat_ep_query(ep, 1ULL << 40, &param), 2);
	BAD_ARG(dat_ep_query(ep, 1, NULL), 3);
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE, &param), 2);
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &param), 2);
	BAD_ARG(dat_ep_modify(ep, 1ULL << 31, &param), 2);
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	param.pz_handle = ep;
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), 3);
	param.recv_evd_handle = side_b.async_evd;
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);

	BAD_ARG(dat_ep_connect(ep, NULL, 1, 1, 0, NULL, 0, 0), 2);
	BAD_ARG(dat_ep_connect(ep, addr, 0, 1, 0, NULL, 0, 0), 3);
	BAD_ARG(dat_ep_connect(ep, addr, 65536, 1, 0, NULL, 0, 0), 3);
	BAD_ARG(dat_ep_connect(ep, addr, 1ULL << 32 | 5, 1, 0, NULL, 0, 0), 3);
	BAD_ARG(dat_ep_connect(ep, addr, 1, 0, 0, NULL, 0, 0), 4);
	BAD_ARG(dat_ep_connect(ep, addr, 1, 1, -1, data, 0, 0), 5);
	BAD_ARG(dat_ep_connect(ep, addr, 1, 1, big, data, 0, 0), 5);
	BAD_ARG(dat_ep_connect(ep, addr, 1, 1, INT_MAX, data, 0, 0), 5);
	BAD_ARG(dat_ep_connect(ep, addr, 1, 1, 8, NULL, 0, 0), 6);
	BAD_ARG(dat_ep_connect(ep, addr, 1, 1, 0, NULL, 0, 2), 8);
	IS(dat_ep_connect(ep, addr, 1, 1, 0, NULL, DAT_QOS_LOW_LATENCY, 0),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	IS(dat_ep_connect(ep, addr, 1, 1, 0, NULL, 0,
			  DAT_CONNECT_MULTIPATH_FLAG),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	where.sin_family = AF_UNIX;
	IS(dat_ep_connect(ep, addr, 1, 1, 0, NULL, 0, 0), DAT_INVALID_ADDRESS,
	   DAT_INVALID_ADDRESS_MALFORMED);
	where.sin_family = AF_INET;
	where.sin_addr.s_addr = htonl(0xe0000001);
	IS(dat_ep_connect(ep, addr, 1, 1, 0, NULL, 0, 0), DAT_INVALID_ADDRESS,
	   DAT_INVALID_ADDRESS_UNSUPPORTED);
	where.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	IS(dat_ep_connect(ep, addr, 1, 1, 0, NULL, 0, 0), DAT_INVALID_ADDRESS,
	   DAT_INVALID_ADDRESS_UNSUPPORTED);

	BAD_ARG(dat_ep_disconnect(ep, 2), 2);
	BAD_ARG(dat_ep_disconnect(ep, 0x80000000), 2);
	BAD_ARG(dat_ep_set_watermark(ep, -2, 1), 2);
	BAD_ARG(dat_ep_set_watermark(ep, -1, -2), 3);
	IS(dat_ep_set_watermark(ep, -1, -1), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(dat_ep_recv_query(ep, NULL, NULL), DAT_MODEL_NOT_SUPPORTED, 0);

	/* Without a zone and a connect EVD it is not ready (A.5). */
	where = *(struct sockaddr_in *)&side_b.addr;
	if (OK(dat_ep_create(side_b.ia, NULL, NULL, NULL, NULL, NULL, &bare))) {
		BAD_STATE(dat_ep_connect(bare, addr, 1, 1, 0, NULL, 0, 0),
			  EP_NOTREADY);
		OK(dat_ep_free(bare));
	}
	state_is(ep, DAT_EP_STATE_UNCONNECTED);
	nothing_more(it.node.events);
out:
	it_free();
}

static void sp_values(void)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE out;

	if (!it_new())
		goto out;
	evd = it.listener.requests->evd;
	BAD_ARG(dat_psp_create(side_b.ia, 0, evd, 0, &out), 2);
	BAD_ARG(dat_psp_create(side_b.ia, 65536, evd, 0, &out), 2);
	BAD_ARG(dat_psp_create(side_b.ia, 4000, evd, 2, &out), 4);
	BAD_ARG(dat_psp_create(side_b.ia, 4000, evd, 0, NULL), 5);
	IS(dat_psp_create(side_b.ia, it.listener.qual, evd, 0, &out),
	   DAT_CONN_QUAL_IN_USE, 0);
	BAD_ARG(dat_psp_create_any(side_b.ia, NULL, evd, 0, &out), 2);
	BAD_ARG(dat_psp_create_any(side_b.ia, &qual, evd, 7, &out), 4);
	BAD_ARG(dat_psp_create_any(side_b.ia, &qual, evd, 0, NULL), 5);
	BAD_ARG(dat_rsp_create(side_b.ia, 0, it.node.ep, evd, &out), 2);
	BAD_ARG(dat_rsp_create(side_b.ia, 1 << 16, it.node.ep, evd, &out), 2);
	BAD_ARG(dat_rsp_create(side_b.ia, 4000, it.node.ep, evd, NULL), 5);
	IS(dat_rsp_create(side_b.ia, it.listener.qual, it.node.ep, evd, &out),
	   DAT_CONN_QUAL_IN_USE, 0);
	BAD_ARG(dat_psp_query(it.listener.psp, 0x10, &param), 2);
	BAD_ARG(dat_psp_query(it.listener.psp, 1, NULL), 3);
	if (OK(dat_psp_query(it.listener.psp, DAT_PSP_FIELD_ALL, &param))) {
		CHECK(param.ia_handle == side_b.ia);
		CHECK(param.conn_qual == it.listener.qual);
		CHECK(param.evd_handle == evd);
		CHECK(param.psp_flags == DAT_PSP_CONSUMER_FLAG);
	}
	state_is(it.node.ep, DAT_EP_STATE_UNCONNECTED);
out:
	it_free();
}

static void memory_values(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_TRIPLET segment;
	DAT_LMR_PARAM param;
	DAT_PZ_PARAM pz_param;

	if (!it_new())
		goto out;
#define CREATE(type, length, priv, opt, out) \
	dat_lmr_kcreate(side_b.ia, type, region, length, side_b.pz, priv, opt, \
			out, NULL, NULL, NULL, NULL)
	region.for_va = it.node.mem.va;
	BAD_ARG(CREATE(2, 1, 0, 0, &lmr), 2);
	BAD_ARG(CREATE(0x55, 1, 0, 0, &lmr), 2);
	IS(CREATE(DAT_MEM_TYPE_PLATFORM, 1, 0, 0, &lmr),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	IS(CREATE(DAT_MEM_TYPE_IA, 1, 0, 0, &lmr), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(CREATE(DAT_MEM_TYPE_BYPASS, 1, 0, 0, &lmr),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_ARG(CREATE(0, 0, 0, 0, &lmr), 4);
	BAD_ARG(CREATE(0, side_b.max_block + 1, 0, 0, &lmr), 4);
	BAD_ARG(CREATE(0, ~0ULL, 0, 0, &lmr), 4);
	BAD_ARG(CREATE(0, 1, 0x04, 0, &lmr), 6);
	BAD_ARG(CREATE(0, 1, 0, 8, &lmr), 7);
	BAD_ARG(CREATE(0, 1, 0, 0, NULL), 8);
	region.for_va = (void *)0x1000;		/* a user's */
	BAD_ARG(CREATE(0, 1, 0, 0, &lmr), 3);
	region.for_va = NULL;
	BAD_ARG(CREATE(0, 1, 0, 0, &lmr), 3);
	region.for_pa = 1ULL << 51;		/* no RAM */
	BAD_ARG(CREATE(DAT_MEM_TYPE_PHYSICAL, 1, 0, 0, &lmr), 3);
	CHECK(!lmr);
#undef CREATE
	BAD_ARG(dat_lmr_query(it.node.mem.lmr, 0x400, &param), 2);
	BAD_ARG(dat_lmr_query(it.node.mem.lmr, 1, NULL), 3);
	BAD_ARG(dat_pz_query(side_b.pz, 2, &pz_param), 2);
	BAD_ARG(dat_pz_query(side_b.pz, 1, NULL), 3);
	BAD_ARG(dat_pz_create(side_b.ia, NULL), 2);
	BAD_STATE(dat_pz_free(side_b.pz), PZ_IN_USE);

	BAD_ARG(dat_lmr_sync_rdma_read(side_b.ia, NULL, 1), 2);
	segment = piece(&it.node.mem, 0, NODE_MEMORY);
	OK(dat_lmr_sync_rdma_read(side_b.ia, &segment, 1));
	OK(dat_lmr_sync_rdma_write(side_b.ia, &segment, 1));
	segment.segment_length++;
	BAD_ARG(dat_lmr_sync_rdma_write(side_b.ia, &segment, 1), 2);
	segment = piece(&it.node.mem, 0, 1);
	segment.lmr_context ^= 0x5555;
	BAD_ARG(dat_lmr_sync_rdma_read(side_b.ia, &segment, 1), 2);
out:
	it_free();
}

static void srq_values(void)
{
	DAT_COUNT n = 1;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	DAT_SRQ_PARAM param;
	DAT_HANDLE out;

	BAD_ARG(dat_srq_create(side_b.ia, side_b.pz, NULL, &out), 3);
	BAD_ARG(dat_srq_create(side_b.ia, side_b.pz, &attr, NULL), 4);
	IS(dat_srq_create(side_b.ia, side_b.pz, &attr, &out),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_HANDLE(dat_srq_query(side_b.pz, 1, &param), SRQ);
	BAD_HANDLE(dat_srq_post_recv(side_b.pz, 0, NULL, (DAT_CONTEXT) {}),
		   SRQ);
	BAD_HANDLE(dat_srq_resize(side_b.pz, n), SRQ);
	BAD_HANDLE(dat_srq_set_lw(side_b.pz, n), SRQ);
	BAD_HANDLE(dat_srq_free(side_b.pz), SRQ);
	BAD_HANDLE(dat_ep_create_with_srq(side_b.ia, side_b.pz, NULL, NULL,
					  NULL, side_b.pz, &node_attr, &out),
		   SRQ);
}

static void contexts_and_types(void)
{
	DAT_CONTEXT context = { .as_64 = 0x123456789abcdef0ULL };
	DAT_HANDLE_TYPE type;

	if (!it_new())
		goto out;
	BAD_ARG(dat_get_handle_type(side_b.ia, NULL), 2);
	BAD_ARG(dat_get_consumer_context(side_b.ia, NULL), 2);
	CHECK(OK(dat_get_handle_type(side_b.ia, &type)) &&
	      type == DAT_HANDLE_TYPE_IA);
	CHECK(OK(dat_get_handle_type(side_b.pz, &type)) &&
	      type == DAT_HANDLE_TYPE_PZ);
	CHECK(OK(dat_get_handle_type(it.node.mem.lmr, &type)) &&
	      type == DAT_HANDLE_TYPE_LMR);
	CHECK(OK(dat_get_handle_type(it.node.events->evd, &type)) &&
	      type == DAT_HANDLE_TYPE_EVD);
	CHECK(OK(dat_get_handle_type(it.node.ep, &type)) &&
	      type == DAT_HANDLE_TYPE_EP);
	CHECK(OK(dat_get_handle_type(it.listener.psp, &type)) &&
	      type == DAT_HANDLE_TYPE_PSP);
	OK(dat_set_consumer_context(it.node.ep, context));
	context.as_64 = 0;
	CHECK(OK(dat_get_consumer_context(it.node.ep, &context)) &&
	      context.as_64 == 0x123456789abcdef0ULL);
	CHECK(OK(dat_get_consumer_context(it.listener.psp, &context)) &&
	      !context.as_64);
out:
	it_free();
}

const struct test_case args_cases[] = {
	{ "E5", "bad IA handles, everywhere", ia_handles },
	{ "E5 E17 E19", "bad EVD handles, everywhere", evd_handles },
	{ "E5 D2 R4", "bad EP handles, everywhere", ep_handles },
	{ "E5 mt:M29", "bad RMR handles, everywhere", rmr_handles },
	{ "E5 L10 G29", "bad PZ, LMR, PSP, RSP, CR handles, everywhere",
	  other_handles },
	{ "I2 I4 I5 I6 I8 I11 I20 G9 G13 mt:M80", "bad values: IA and registry",
	  ia_values },
	{ "E13 E17 E41 E50 E53 E58 E59 E110", "bad values: EVD", evd_values },
	{ "E.1", "bad endpoint attributes", ep_attributes },
	{ "E.1", "default endpoint: RDMA read depths", ep_defaults },
	{ "D1 C12 C13 C14 C18 M4 A.5 mt:M66", "bad values: EP", ep_values },
	{ "P1 P4 P17 P32", "bad values: service points", sp_values },
	{ "mt:M3 mt:M10..M12 mt:M17 mt:M69 mt:M71 mt:M73 mt:M75 mt:M76",
	  "bad values: memory",
	  memory_values },
	{ "D48 R16 mt:M48..M65 mt:T57 mt:T58",
	  "shared receive queues are not offered", srq_values },
	{ "G28 G29 G30", "handle types and contexts", contexts_and_types },
	{}
};
