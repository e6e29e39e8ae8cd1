// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What DAT 2.0 has besides DAT 1.2, or otherwise: in udat2_rules only. The other scenarios of that
 * program are those of 1.2, by the calls of twelve.c.
 */
#define TWELVE_ITSELF
#include <fcntl.h>
#include <poll.h>
#include "../user/user.h"
#include <dat2/dat_ib_extensions.h>

#define REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

static void attributes(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	OK(dat_ia_query(side_a.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			&provider));
	CHECK_EQ(provider.dapl_version_major, 2);
	CHECK_EQ(provider.dapl_version_minor, 0);
	CHECK_EQ(provider.rmr_scope_supported, DAT_RMR_SCOPE_PZ);
	CHECK(!provider.ha_supported && !provider.ha_loadbalancing);
	CHECK(!provider.is_signal_safe && !provider.supports_multipath);
	CHECK_EQ(attr.zb_supported, DAT_FALSE);
	/* X2: Soft-RoCE has extensions, Soft-iWARP has none. */
	CHECK_EQ(attr.extension_supported,
		 side_is_iwarp(&side_a) ? DAT_EXTENSION_NONE : DAT_EXTENSION_IB);
	CHECK_EQ(attr.extension_version, side_is_iwarp(&side_a) ? 0 : 209);
	/* RULING 55: none is cut off to a small number. */
	CHECK(attr.max_message_size >= 1024 * 1024);
	CHECK(attr.max_lmr_block_size >= 1024 * 1024);
	BAD_ARG(dat_ia_query(side_a.ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL), 3);
	BAD_ARG(dat_ia_query(side_a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &provider), 5);
}

static void versions(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	IS(dat_ia_openv(side_a.name, 8, &evd, &ia, 1, 2, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	   DAT_MAJOR_NOT_FOUND);
	IS(dat_ia_openv(side_a.name, 8, &evd, &ia, 2, 1, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	   DAT_MINOR_NOT_FOUND);
	IS(dat_ia_openv(side_a.name, 8, &evd, &ia, 3, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	   DAT_MAJOR_NOT_FOUND);
	OK(dat_ia_openv(side_a.name, 8, &evd, &ia, 2, 0, DAT_FALSE));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN create(DAT_MEM_TYPE type, void *memory, DAT_MEM_PRIV_FLAGS privileges,
			 DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	return dat_lmr_create(side_a.ia, type, region, 4096, side_a.pz, privileges, va_type, lmr,
			      NULL, NULL, NULL, NULL);
}

static void lmr_places(void)
{
	void *memory = scenario_alloc(4096);
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	if (!memory)
		return;
	BAD_ARG(create(77, memory, REMOTE, DAT_VA_TYPE_VA, &lmr), 2);
	BAD_ARG(create(DAT_MEM_TYPE_VIRTUAL, memory, 0x1000, DAT_VA_TYPE_VA, &lmr), 6);
	BAD_ARG(create(DAT_MEM_TYPE_VIRTUAL, memory, REMOTE, 2, &lmr), 7);
	BAD_ARG(create(DAT_MEM_TYPE_VIRTUAL, memory, REMOTE, DAT_VA_TYPE_VA, NULL), 8);
	IS(create(DAT_MEM_TYPE_VIRTUAL, memory, REMOTE, DAT_VA_TYPE_ZB, &lmr),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	if (!OK(create(DAT_MEM_TYPE_VIRTUAL, memory, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr)))
		return;
	BAD_ARG(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL + 1, &param), 2);
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_VA_TYPE, &param));
	CHECK_EQ(param.va_type, DAT_VA_TYPE_VA);
	OK(dat_lmr_free(lmr));
}

static DAT_RETURN post_bind(struct node *node, DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
			    DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_VA_TYPE va_type, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(rmr, lmr, triplet, privileges, va_type, node->ep, cookie(5), flags,
			    &context);
}

static void two_names(void)
{
	DAT_LMR_TRIPLET triplet, nothing = { .lmr_context = ~0U };
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;
	struct pair p = { 0 };
	struct node *b = &p.b;
	struct mem other;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !OK(dat_rmr_create(side_b.pz, &rmr)) ||
	    !mem_new(&side_b, &other, 4096, DAT_MEM_PRIV_ALL_FLAG))
		return;
	triplet = piece(&b->mem, 0, 64);
	BAD_ARG(post_bind(b, rmr, other.lmr, &triplet, REMOTE, DAT_VA_TYPE_VA, 0), 3);
	BAD_HANDLE(post_bind(b, rmr, DAT_HANDLE_NULL, &triplet, REMOTE, DAT_VA_TYPE_VA, 0), LMR);
	BAD_HANDLE(post_bind(b, rmr, rmr, &triplet, REMOTE, DAT_VA_TYPE_VA, 0), LMR);
	BAD_HANDLE(post_bind(b, b->ep, other.lmr, &triplet, REMOTE, DAT_VA_TYPE_VA, 0), RMR);
	/* RULING 58 */
	BAD_ARG(post_bind(b, rmr, b->mem.lmr, NULL, REMOTE, DAT_VA_TYPE_VA, 0), 3);
	BAD_ARG(post_bind(b, rmr, b->mem.lmr, &triplet, 0x1000, DAT_VA_TYPE_VA, 0), 4);
	BAD_ARG(post_bind(b, rmr, b->mem.lmr, &triplet, REMOTE, 2, 0), 5);
	BAD_ARG(post_bind(b, rmr, b->mem.lmr, &triplet, REMOTE, DAT_VA_TYPE_VA, 0x1000), 8);
	BAD_ARG(dat_rmr_bind(rmr, b->mem.lmr, &triplet, REMOTE, DAT_VA_TYPE_VA, b->ep, cookie(5),
			     0, NULL), 9);
	IS(post_bind(b, rmr, b->mem.lmr, &triplet, REMOTE, DAT_VA_TYPE_ZB, 0),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	/* RULING 57 */
	OK(post_bind(b, rmr, b->mem.lmr, &triplet, REMOTE, DAT_VA_TYPE_VA, 0));
	want_bound(b->request, rmr, 5, DAT_DTO_SUCCESS);
	OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(param.rmr_scope, DAT_RMR_SCOPE_PZ);
	CHECK_EQ(param.va_type, DAT_VA_TYPE_VA);
	CHECK_EQ(param.lmr_triplet.lmr_context, b->mem.context);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL + 1, &param), 2);
	/* RULING 56: an unbind names no LMR. */
	OK(post_bind(b, rmr, DAT_HANDLE_NULL, &nothing, 0, DAT_VA_TYPE_VA, 0));
	want_bound(b->request, rmr, 5, DAT_DTO_SUCCESS);
	OK(dat_rmr_free(rmr));
	mem_free(&other);
}

/* RULING 61: the completion of a DTO says what it was. */
static bool was(DAT_EVD_HANDLE evd, u64 number, DAT_DTO_COMPLETION_STATUS status,
		DAT_DTOS operation)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!want_event(evd, DAT_DTO_COMPLETION_EVENT, &event))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	return CHECK_EQ(dto->user_cookie.as_64, number) && CHECK_EQ(dto->status, status) &&
	       CHECK_EQ(dto->operation, operation) && CHECK_EQ(dto->rmr_context, 0);
}

static void operations(void)
{
	/* Soft-iWARP refuses a read with a fence. */
	DAT_COMPLETION_FLAGS fence = side_is_iwarp(&side_a) ? 0 :
							      DAT_COMPLETION_BARRIER_FENCE_FLAG;
	DAT_COMPLETION_FLAGS all[] = { 0, fence };
	DAT_RMR_TRIPLET remote;
	struct pair p = { 0 };
	unsigned int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	remote = remote_piece(&p.b.mem, 0, 64);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		OK(node_recv(&p.b, 0, 64, 1));
		OK(node_send(&p.a, 0, 64, 2, all[i]));
		was(p.b.recv, 1, DAT_DTO_SUCCESS, DAT_DTO_RECEIVE);
		was(p.a.request, 2, DAT_DTO_SUCCESS, DAT_DTO_SEND);
		OK(node_write(&p.a, 0, 64, &remote, 3, all[i]));
		was(p.a.request, 3, DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE);
		OK(node_read(&p.a, 0, 64, &remote, 4, all[i]));
		was(p.a.request, 4, DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ);
	}
	/* What is flushed says it, too, also where no queue pair has had it. */
	OK(node_recv(&p.a, 0, 64, 5));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	was(p.a.recv, 5, DAT_DTO_ERR_FLUSHED, DAT_DTO_RECEIVE);
	OK(node_recv(&p.a, 0, 64, 6));
	was(p.a.recv, 6, DAT_DTO_ERR_FLUSHED, DAT_DTO_RECEIVE);
	OK(node_read(&p.a, 0, 64, &remote, 7, 0));
	was(p.a.request, 7, DAT_DTO_ERR_FLUSHED, DAT_DTO_RDMA_READ);
}

static void with_port(struct sockaddr_storage *to, DAT_CONN_QUAL port)
{
	*to = side_b.addr;
	if (to->ss_family == AF_INET)
		((struct sockaddr_in *)to)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)to)->sin6_port = htons(port);
}

static void common_connect(void)
{
	struct sockaddr_storage at;
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&at;
	struct pair p = { 0 };
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	char data[8] = "private";

	if (!pair_apart(&p, ONE_EVD, NULL, NULL))
		return;
	with_port(&at, 0);
	BAD_ARG(dat_ep_common_connect(p.a.ep, address, DAT_TIMEOUT_INFINITE, 0, NULL), 2);
	with_port(&at, p.listener.qual);
	BAD_HANDLE(dat_ep_common_connect(p.a.conn, address, 0, 0, NULL), EP);
	BAD_ARG(dat_ep_common_connect(p.a.ep, NULL, DAT_TIMEOUT_INFINITE, 0, NULL), 2);
	BAD_ARG(dat_ep_common_connect(p.a.ep, address, DAT_TIMEOUT_INFINITE, -1, NULL), 4);
	BAD_ARG(dat_ep_common_connect(p.a.ep, address, DAT_TIMEOUT_INFINITE, 8, NULL), 5);
	OK(dat_ep_common_connect(p.a.ep, address, DAT_TIMEOUT_INFINITE, 8, data));
	if (!want_event(p.listener.requests, DAT_CONNECTION_REQUEST_EVENT, &event))
		return;
	CHECK_EQ(event.event_data.cr_arrival_event_data.truncate_flag, DAT_FALSE);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	want_event(p.a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_COMM, &param));
	CHECK_EQ(param.comm.domain, at.ss_family);
	CHECK_EQ(param.comm.type, SOCK_STREAM);
	BAD_ARG(dat_ep_modify(p.a.ep, DAT_EP_FIELD_COMM, &param), 2);
	BAD_ARG(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL + 1, &param), 2);
}

static void common_service_point(void)
{
	DAT_COMM comm = { .domain = side_b.addr.ss_family, .type = SOCK_STREAM };
	DAT_COMM other = comm;
	struct sockaddr_storage at, taken;
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&at;
	DAT_EVD_HANDLE evd;
	DAT_CSP_HANDLE csp, second;
	DAT_HANDLE_TYPE type;
	DAT_CSP_PARAM param;
	DAT_PSP_HANDLE psp;
	struct pair p = { 0 };
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	DAT_CONN_QUAL port;

	if (!node_new(&p.a, &side_a, ONE_EVD, NULL) || !node_new(&p.b, &side_b, ONE_EVD, NULL) ||
	    !evd_new(&side_b, 8, DAT_EVD_CR_FLAG, &evd))
		return;
	with_port(&at, 0);
	BAD_HANDLE(dat_csp_create(evd, &comm, address, evd, &csp), IA);
	BAD_HANDLE(dat_csp_create(side_b.ia, &comm, address, side_b.ia, &csp), EVD_CR);
	BAD_ARG(dat_csp_create(side_b.ia, NULL, address, evd, &csp), 2);
	BAD_ARG(dat_csp_create(side_b.ia, &comm, NULL, evd, &csp), 3);
	BAD_ARG(dat_csp_create(side_b.ia, &comm, address, evd, NULL), 5);
	other.type = SOCK_DGRAM;
	IS(dat_csp_create(side_b.ia, &other, address, evd, &csp), DAT_COMM_NOT_SUPPORTED, 0);
	other = comm;
	other.protocol = IPPROTO_UDP;
	IS(dat_csp_create(side_b.ia, &other, address, evd, &csp), DAT_COMM_NOT_SUPPORTED, 0);
	if (!OK(dat_csp_create(side_b.ia, &comm, address, evd, &csp)))
		return;
	OK(dat_get_handle_type(csp, &type));
	CHECK_EQ(type, DAT_HANDLE_TYPE_CSP);
	BAD_HANDLE(dat_psp_free(csp), PSP);
	BAD_ARG(dat_csp_query(csp, 16, &param), 2);
	BAD_ARG(dat_csp_query(csp, DAT_CSP_FIELD_ALL, NULL), 3);
	OK(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	CHECK(param.ia_handle == side_b.ia && param.evd_handle == evd);
	CHECK_EQ(param.comm->type, SOCK_STREAM);
	memcpy(&taken, param.address_ptr, sizeof(struct sockaddr_in));
	port = ntohs(((struct sockaddr_in *)&taken)->sin_port);
	CHECK(port);
	with_port(&at, port);
	IS(dat_csp_create(side_b.ia, &comm, address, evd, &second), DAT_PORT_IN_USE, 0);
	IS(dat_psp_create(side_b.ia, port, evd, DAT_PSP_CONSUMER_FLAG, &psp),
	   DAT_CONN_QUAL_IN_USE, 0);

	OK(dat_ep_common_connect(p.a.ep, address, DAT_TIMEOUT_INFINITE, 0, NULL));
	if (!want_event(evd, DAT_CONNECTION_REQUEST_EVENT, &event))
		return;
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.csp_handle == csp);
	CHECK_EQ(event.event_data.cr_arrival_event_data.conn_qual, port);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	OK(dat_csp_free(csp));
	BAD_HANDLE(dat_csp_free(csp), CSP);
	BAD_HANDLE(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param), CSP);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	want_event(p.a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The answer is a rejection with @size bytes of @data, of which the peer sees all, or none. */
static void rejected_with(struct pair *p, DAT_CR_HANDLE cr, DAT_COUNT size, char *data, bool seen)
{
	const DAT_CONNECTION_EVENT_DATA *end;
	DAT_EVENT event;

	OK(dat_cr_reject(cr, size, data));
	BAD_HANDLE(dat_cr_reject(cr, size, data), CR);
	if (!want_event(p->a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, &event))
		return;
	end = &event.event_data.connect_event_data;
	CHECK(end->ep_handle == p->a.ep);
	if (!seen)
		CHECK(!end->private_data_size && !end->private_data);
	else if (CHECK(end->private_data_size >= size && end->private_data))
		CHECK(!memcmp(end->private_data, data, size));
	OK(dat_ep_reset(p->a.ep));
}

static void reject(void)
{
	char data[1024] = "no", zeros[8] = "";
	DAT_COUNT max = side_b.max_private_data, i;
	struct pair p = { 0 };
	DAT_CR_HANDLE cr;

	if (!pair_apart(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 3; i < max; i++)
		data[i] = i;
	for (i = 0; i < 5 && !failed(); i++) {
		if (!start_connect(&p.a, p.listener.qual) || !next_request(&p.listener, &cr))
			return;
		BAD_HANDLE(dat_cr_reject(p.a.ep, 0, NULL), CR);
		BAD_ARG(dat_cr_reject(cr, -1, data), 2);
		BAD_ARG(dat_cr_reject(cr, max + 1, data), 2);
		BAD_ARG(dat_cr_reject(cr, 2, NULL), 3);
		/* Each size as well as none, and what is the same as none. */
		if (i < 3)
			rejected_with(&p, cr, i == 0 ? 1 : i == 1 ? 3 : max, data, true);
		else
			rejected_with(&p, cr, i == 3 ? 0 : 8, zeros, false);
	}
}

static void cno_masks(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;
	unsigned int mask;

	if (!OK(dat_cno_create(side_a.ia, none, &cno)))
		return;
	for (mask = 0; mask < 8; mask++) {
		param.proxy_type = 9;
		OK(dat_cno_query(cno, mask, &param));
		CHECK_EQ(param.proxy_type, DAT_PROXY_TYPE_NONE);
	}
	BAD_ARG(dat_cno_query(cno, 8, &param), 2);
	OK(dat_cno_free(cno));
}

static void nothing_queued(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	EXPECT(dat_evd_dequeue(side_a.async, &event), DAT_QUEUE_EMPTY);
	if (!OK(dat_cno_create(side_a.ia, none, &cno)))
		return;
	EXPECT(dat_cno_wait(cno, 0, &evd), DAT_QUEUE_EMPTY);
	OK(dat_cno_free(cno));
}

/* Is the descriptor readable, now or within @ms? */
static bool shows(DAT_FD fd, int ms)
{
	struct pollfd at = { .fd = fd, .events = POLLIN };

	return poll(&at, 1, ms) == 1 && at.revents == POLLIN;
}

static void cno_descriptor(void)
{
	DAT_OS_WAIT_PROXY_AGENT ours = { NULL, (void (*)(DAT_PVOID, DAT_EVD_HANDLE))abort };
	DAT_EVD_HANDLE first, second, evd;
	DAT_CNO_HANDLE cno, plain;
	DAT_CNO_PARAM param;
	DAT_EVENT event;
	DAT_FD fd = -1;

	BAD_HANDLE(dat_cno_fd_create(side_a.async, &fd, &cno), IA);
	BAD_ARG(dat_cno_fd_create(side_a.ia, NULL, &cno), 2);
	BAD_ARG(dat_cno_fd_create(side_a.ia, &fd, NULL), 3);
	CHECK_EQ(fd, -1);
	if (!OK(dat_cno_fd_create(side_a.ia, &fd, &cno)) ||
	    !OK(dat_evd_create(side_a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &first)) ||
	    !OK(dat_evd_create(side_a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &second)))
		return;
	OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	CHECK_EQ(param.proxy_type, DAT_PROXY_TYPE_FD);
	CHECK_EQ(param.proxy.fd, fd);
	BAD_ARG(dat_cno_modify_agent(cno, ours), 2);
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	BAD_HANDLE(dat_cno_trigger(first, &evd), CNO);
	BAD_ARG(dat_cno_trigger(cno, NULL), 2);
	CHECK(!shows(fd, 0));
	EXPECT(dat_cno_trigger(cno, &evd), DAT_QUEUE_EMPTY);
	CHECK(!evd);

	/* Readable until the trigger is taken, by either call; E77: one is kept. */
	OK(post_se(first, 1));
	CHECK(shows(fd, WAIT_MS) && shows(fd, 0));
	OK(post_se(second, 1));
	OK(dat_cno_trigger(cno, &evd));
	CHECK(evd == first);
	OK(dat_evd_dequeue(first, &event));
	OK(dat_evd_dequeue(second, &event));
	EXPECT(dat_cno_trigger(cno, &evd), DAT_QUEUE_EMPTY);
	CHECK(!shows(fd, 0));
	OK(post_se(second, 1));
	CHECK(shows(fd, WAIT_MS));
	OK(dat_cno_wait(cno, 0, &evd));
	CHECK(evd == second && !shows(fd, 0));
	OK(dat_evd_dequeue(second, &event));

	/* E89: its EVD is freed, the trigger stays; E90: so it is when none is left. */
	OK(post_se(first, 1));
	CHECK(shows(fd, WAIT_MS));
	OK(dat_evd_free(first));
	OK(dat_cno_trigger(cno, &evd));
	CHECK(!evd && !shows(fd, 0));
	BAD_STATE(dat_cno_free(cno), CNO_IN_USE);
	OK(dat_evd_free(second));
	CHECK(shows(fd, 0));
	OK(dat_cno_trigger(cno, &evd));
	CHECK(!evd && !shows(fd, 0));
	OK(dat_cno_free(cno));
	CHECK(fcntl(fd, F_GETFD) == -1);
	BAD_HANDLE(dat_cno_trigger(cno, &evd), CNO);

	/* A CNO without a descriptor has a trigger, too. */
	if (!OK(dat_cno_create(side_a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &plain)) ||
	    !OK(dat_evd_create(side_a.ia, 8, plain, DAT_EVD_SOFTWARE_FLAG, &first)))
		return;
	OK(post_se(first, 1));
	OK(dat_cno_trigger(plain, &evd));
	CHECK(evd == first);
	OK(dat_evd_free(first));
	OK(dat_cno_free(plain));
}

/* A thread sleeps on the descriptor while a message comes, and while the IA is closed. */
static void *sleeps_on(void *arg)
{
	return (void *)(intptr_t)shows(*(DAT_FD *)arg, WAIT_MS);
}

static void descriptor_of_messages(void)
{
	struct pair p = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	pthread_t thread;
	void *seen = NULL;
	DAT_FD fd;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) || !OK(dat_cno_fd_create(side_b.ia, &fd, &cno)) ||
	    !OK(dat_evd_modify_cno(p.b.recv, cno)) || !OK(node_recv(&p.b, 0, 64, 1)))
		return;
	CHECK(!pthread_create(&thread, NULL, sleeps_on, &fd));
	OK(node_send(&p.a, 0, 64, 2, 0));
	pthread_join(thread, &seen);
	CHECK(seen);
	OK(dat_cno_trigger(cno, &evd));
	CHECK(evd == p.b.recv);
	want_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS, 64);
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, 64);
	OK(dat_evd_modify_cno(p.b.recv, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));

	if (!OK(dat_ia_openv(side_a.name, 8, &async, &ia, 2, 0, DAT_FALSE)) ||
	    !OK(dat_cno_fd_create(ia, &fd, &cno)))
		return;
	OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(fcntl(fd, F_GETFD) == -1);
}

static void related(void)
{
	DAT_HA_RELATIONSHIP is = DAT_HA_CONFLICTING;

	BAD_ARG(dat_registry_providers_related(NULL, side_b.name, &is), 1);
	BAD_ARG(dat_registry_providers_related(side_a.name, NULL, &is), 2);
	BAD_ARG(dat_registry_providers_related(side_a.name, side_b.name, NULL), 3);
	IS(dat_registry_providers_related("nobody", side_b.name, &is), DAT_PROVIDER_NOT_FOUND,
	   DAT_NAME_NOT_REGISTERED);
	IS(dat_registry_providers_related(side_a.name, "nobody", &is), DAT_PROVIDER_NOT_FOUND,
	   DAT_NAME_NOT_REGISTERED);
	CHECK_EQ(is, DAT_HA_CONFLICTING);
	OK(dat_registry_providers_related(side_a.name, side_b.name, &is));
	CHECK_EQ(is, DAT_HA_FALSE);
}

/* Two flags ask for multipath; the codes are those of DAT 1.2, which has one. */
static void multipath(void)
{
	static const struct {
		DAT_CONN_QUAL qual;
		DAT_CONNECT_FLAGS flags;
		DAT_RETURN ret;
	} connects[] = {
		{ 5, DAT_CONNECT_MULTIPATH_FLAG, DAT_MODEL_NOT_SUPPORTED },
		{ 5, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG, DAT_MODEL_NOT_SUPPORTED },
		{ 5, 3, DAT_MODEL_NOT_SUPPORTED },
		{ 0, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG,
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG3 },
		{ 5, 4, DAT_INVALID_PARAMETER | DAT_INVALID_ARG8 },
		{ 5, 6, DAT_INVALID_PARAMETER | DAT_INVALID_ARG8 },
	};
	struct node a = { 0 };
	unsigned int i;

	if (!node_new(&a, &side_a, ONE_EVD, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(connects); i++)
		EXPECT(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&side_b.addr, connects[i].qual,
				      1, 0, NULL, DAT_QOS_BEST_EFFORT, connects[i].flags),
		       DAT_CLASS_ERROR | connects[i].ret);
}

static void not_there(void)
{
	IS(dat_extension_op(side_a.ia, DAT_IB_COLLECTIVE_BARRIER_OP), DAT_NOT_IMPLEMENTED, 0);
	CHECK_EQ(DAT_GET_TYPE(dat_extension_op(side_a.ia, 0x7000)), 0x3fff0000);
	IS(dat_extension_op(side_a.ia, DAT_IB_UD_SEND_OP), DAT_MODEL_NOT_SUPPORTED, 0);
}

static void open_for_query(void)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	BAD_ARG(dat_ib_open_query(NULL, &ia, DAT_IA_FIELD_ALL, &attr, 0, NULL), 3);
	BAD_ARG(dat_ib_open_query(side_a.name, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), 4);
	BAD_ARG(dat_ib_open_query(side_a.name, &ia, DAT_IA_FIELD_ALL, NULL, 0, NULL), 6);
	BAD_ARG(dat_ib_open_query(side_a.name, &ia, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), 8);
	CHECK(!ia);
	if (!OK(dat_ib_open_query(side_a.name, &ia, DAT_IA_FIELD_ALL, &attr,
				  DAT_PROVIDER_FIELD_ALL, &provider)))
		return;
	CHECK_EQ(attr.max_eps, side_a.attr.max_eps);
	CHECK_EQ(provider.dapl_version_major, 2);
	OK(dat_ib_close_query(ia));
	BAD_HANDLE(dat_ib_close_query(ia), IA);
}

static DAT_UINT64 counter(DAT_HANDLE handle, int which)
{
	DAT_UINT64 value = ~0ull;

	OK(dat_ib_query_counters(handle, which, &value, 0));
	return value;
}

/* Side a counts, and this is what it has done. */
static void what_was_counted(void)
{
	DAT_UINT64 all[DCNT_EP_ALL_COUNTERS + 1] = {};
	DAT_RMR_TRIPLET remote;
	struct pair p = {};
	DAT_EVENT event;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	remote = remote_piece(&p.b.mem, 64, 64);
	OK(node_recv(&p.a, 0, 40, 1));
	OK(node_recv(&p.b, 0, 40, 2));
	OK(node_send(&p.a, 0, 24, 3, 0));
	want_dto(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS, 24);
	OK(node_send(&p.b, 0, 7, 4, 0));
	want_dto(p.a.recv, p.a.ep, 1, DAT_DTO_SUCCESS, 7);
	OK(node_write(&p.a, 0, 64, &remote, 5, 0));
	want_dto(p.a.request, p.a.ep, 5, DAT_DTO_SUCCESS, 64);
	/* What is refused is not counted. */
	BAD_ARG(dat_ep_post_send(p.a.ep, -1, NULL, cookie(6), 0), 2);
	CHECK(dat_evd_dequeue(p.a.request, &event));
	CHECK_EQ(counter(p.a.ep, DCNT_EP_POST_SEND), 1);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_POST_SEND_DATA), 24);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_POST_RECV), 1);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_POST_RECV_DATA), 40);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_POST_WRITE_DATA), 64);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_RECV), 1);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_RECV_DATA), 7);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_CONNECT), 1);
	CHECK_EQ(counter(p.a.request, DCNT_EVD_DTO_CALLBACK), 3);
	CHECK_EQ(counter(p.a.request, DCNT_EVD_CONN_CALLBACK), 1);
	CHECK(counter(p.a.request, DCNT_EVD_DEQUEUE_NOT_FOUND));
	CHECK_EQ(counter(side_a.ia, DCNT_IA_EP_CREATE), 1);
	CHECK_EQ(counter(side_a.ia, DCNT_IA_CM_ACTIVE_EST), 1);
	CHECK_EQ(counter(side_a.ia, DCNT_IA_CM_PASSIVE_EST), 0);
	/* All at once, in their order, and no word more; then from 0 on. */
	all[DCNT_EP_ALL_COUNTERS] = 99;
	OK(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, all, 1));
	CHECK_EQ(all[DCNT_EP_POST_SEND_DATA], 24);
	CHECK_EQ(all[DCNT_EP_POST_WRITE], 1);
	CHECK_EQ(all[DCNT_EP_POST_READ], 0);
	CHECK_EQ(all[DCNT_EP_ALL_COUNTERS], 99);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_POST_SEND_DATA), 0);
	OK(dat_ib_print_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, 0));
	/* Side b does not count. */
	IS(dat_ib_query_counters(p.b.ep, DCNT_EP_RECV, all, 0), DAT_NOT_IMPLEMENTED, 0);
	IS(dat_ib_query_counters(side_a.pz, 0, all, 0), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	BAD_ARG(dat_ib_query_counters(p.a.ep, -1, all, 0), 3);
	BAD_ARG(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS + 1, all, 0), 3);
	BAD_ARG(dat_ib_query_counters(p.a.ep, 0, NULL, 0), 4);
	BAD_ARG(dat_ib_print_counters(p.a.ep, 99, 0), 3);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_EQ(counter(p.a.ep, DCNT_EP_DISCONNECT), 1);
}

/* Side b counts, which has the service points. */
static void service_points_were_counted(void)
{
	struct pair p = {};
	DAT_CR_HANDLE cr;
	DAT_HANDLE sp;

	if (!pair_apart(&p, ONE_EVD, NULL, NULL) || !start_connect(&p.a, p.listener.qual) ||
	    !next_request(&p.listener, &cr))
		return;
	CHECK_EQ(counter(side_b.ia, DCNT_IA_PSP_CREATE_ANY), 1);
	BAD_ARG(dat_cr_reject(cr, -1, NULL), 2);
	CHECK_EQ(counter(side_b.ia, DCNT_IA_SP_CR_REJECTED), 0);
	OK(dat_cr_reject(cr, 0, NULL));
	CHECK_EQ(counter(side_b.ia, DCNT_IA_SP_CR_REJECTED), 1);
	CHECK_EQ(counter(side_b.ia, DCNT_IA_CM_USER_REJ_TX), 1);
	IS(dat_psp_create(side_b.ia, p.listener.qual, p.listener.requests, DAT_PSP_CONSUMER_FLAG,
			  &sp), DAT_CONN_QUAL_IN_USE, 0);
	OK(dat_psp_free(p.listener.psp));
	p.listener.psp = NULL;
	CHECK_EQ(counter(side_b.ia, DCNT_IA_PSP_FREE), 1);
	CHECK_EQ(counter(side_b.ia, DCNT_IA_PSP_CREATE), 0);
	if (OK(dat_psp_create(side_b.ia, p.listener.qual, p.listener.requests,
			      DAT_PSP_CONSUMER_FLAG, &sp)))
		OK(dat_psp_free(sp));
	CHECK_EQ(counter(side_b.ia, DCNT_IA_PSP_CREATE), 1);
	if (OK(dat_rsp_create(side_b.ia, p.listener.qual, p.b.ep, p.listener.requests, &sp)))
		OK(dat_rsp_free(sp));
	CHECK_EQ(counter(side_b.ia, DCNT_IA_RSP_CREATE), 1);
	CHECK_EQ(counter(side_b.ia, DCNT_IA_RSP_FREE), 1);
}

/* The IA of that side is opened anew by somebody who asks for counters. */
static void with_counters(struct side *side, void (*play)(void))
{
	side_close(side, DAT_CLOSE_ABRUPT_FLAG);
	setenv("KDAPL_COUNTERS", "1", 1);
	if (side_open(side))
		play();
	unsetenv("KDAPL_COUNTERS");
	side_close(side, DAT_CLOSE_ABRUPT_FLAG);
	side_open(side);
}

static void counters(void)
{
	with_counters(&side_a, what_was_counted);
	with_counters(&side_b, service_points_were_counted);
}

static const struct scenario scenarios[] = {
	SCENARIO("RULING 55 the attributes of DAT 2.0", attributes),
	SCENARIO("G9 versions of DAT 2.0", versions),
	SCENARIO("RULING 58 dat_lmr_create of DAT 2.0", lmr_places),
	SCENARIO("RULING 56 RULING 57 RULING 58 a bind of DAT 2.0", two_names),
	SCENARIO("RULING 61 a completion says what has completed", operations),
	SCENARIO("RULING 60 common connect", common_connect),
	SCENARIO("RULING 63 a common service point", common_service_point),
	SCENARIO("RULING 65 P70 a reject with private data", reject),
	SCENARIO("RULING 59 masks of a CNO", cno_masks),
	SCENARIO("RULING 64 nothing to take", nothing_queued),
	SCENARIO("RULING 66 E77 E89 E90 a CNO with a descriptor", cno_descriptor),
	SCENARIO("RULING 66 a descriptor, a message and a close", descriptor_of_messages),
	SCENARIO("RULING 67 no adapters are related", related),
	SCENARIO("RULING 62 connects with multipath", multipath),
	SCENARIO("RULING 62 operations that there are not", not_there),
	SCENARIO("X7 an IA that is opened for queries", open_for_query),
	SCENARIO("X8 counters of an IA, its EP and its EVD", counters),
};

SCENARIO_TABLE(face2_table);
