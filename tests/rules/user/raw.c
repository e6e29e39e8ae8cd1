// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer on side a that does not use DAT: it connects with rdma_cm and posts with
 * libibverbs, which have requests that DAT does not have.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include "user.h"
#if DAT_VERSION_MAJOR > 1
#include <dat2/dat_ib_extensions.h>
#endif

#define MESSAGE		64

/* The raw peer, and the node on side b that it is connected to. */
struct raw {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	u8 *memory;
	struct node b;
	struct listener listener;
};

static bool raw_event(struct raw *raw, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type came;

	if (!CHECK(!rdma_get_cm_event(raw->channel, &event)))
		return false;
	came = event->event;
	rdma_ack_cm_event(event);
	return came == wanted || FAIL("%s came, not %s", rdma_event_str(came),
				      rdma_event_str(wanted));
}

static bool raw_resolve(struct raw *raw)
{
	struct sockaddr_storage to = side_b.addr;

	((struct sockaddr_in *)&to)->sin_port = htons(raw->listener.qual);
	return CHECK(!rdma_resolve_addr(raw->id, (struct sockaddr *)&side_a.addr,
					(struct sockaddr *)&to, WAIT_MS)) &&
	       raw_event(raw, RDMA_CM_EVENT_ADDR_RESOLVED) &&
	       CHECK(!rdma_resolve_route(raw->id, WAIT_MS)) &&
	       raw_event(raw, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static bool raw_queues(struct raw *raw)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 4, .max_recv_wr = 4,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};

	raw->memory = scenario_alloc(PAGE);
	if (!raw->memory || !CHECK(!rdma_create_qp(raw->id, NULL, &init)))
		return false;
	raw->mr = ibv_reg_mr(raw->id->pd, raw->memory, PAGE,
			     IBV_ACCESS_LOCAL_WRITE);
	return CHECK(raw->mr);
}

static bool raw_connect(struct raw *raw)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7,
	};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	return CHECK(!rdma_connect(raw->id, &param)) &&
	       next_request(&raw->listener, &cr) &&
	       OK(dat_cr_accept(cr, raw->b.ep, 0, NULL)) &&
	       raw_event(raw, RDMA_CM_EVENT_ESTABLISHED) &&
	       want_event(raw->b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* On EVDs of its own, with three receives posted. */
static bool raw_new(struct raw *raw)
{
	memset(raw, 0, sizeof(*raw));
	raw->channel = rdma_create_event_channel();
	return CHECK(raw->channel) &&
	       CHECK(!rdma_create_id(raw->channel, &raw->id, NULL, RDMA_PS_TCP)) &&
	       node_new(&raw->b, &side_b, THREE_EVDS, NULL) &&
	       listener_new(&raw->listener, DAT_PSP_CONSUMER_FLAG) &&
	       raw_resolve(raw) && raw_queues(raw) &&
	       OK(node_recv(&raw->b, 0, MESSAGE, 1)) &&
	       OK(node_recv(&raw->b, 0, MESSAGE, 2)) &&
	       OK(node_recv(&raw->b, 0, MESSAGE, 3)) && raw_connect(raw);
}

static void raw_free(struct raw *raw)
{
	if (raw->mr)
		ibv_dereg_mr(raw->mr);
	if (raw->id && raw->id->qp)
		rdma_destroy_qp(raw->id);
	if (raw->id)
		rdma_destroy_id(raw->id);
	if (raw->channel)
		rdma_destroy_event_channel(raw->channel);
	node_free(&raw->b);
	listener_free(&raw->listener);
}

/* Posts @wr, with MESSAGE bytes. */
static bool raw_post(struct raw *raw, struct ibv_send_wr *wr)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)raw->memory,
		.length = MESSAGE,
		.lkey = raw->mr->lkey,
	};
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	return CHECK(!ibv_post_send(raw->id->qp, wr, &bad));
}

/* A plain send is a message; what follows it as @wr breaks the connection. */
static void breaks(struct raw *raw, struct ibv_send_wr *wr)
{
	struct ibv_send_wr plain = { .opcode = IBV_WR_SEND };
	struct node *b = &raw->b;

	mem_fill(&b->mem, 0, MESSAGE, 1);
	memset(raw->memory, 0x5a, MESSAGE);
	if (!raw_post(raw, &plain) ||
	    !want_dto(b->recv, b->ep, 1, DAT_DTO_SUCCESS, MESSAGE) ||
	    !CHECK(!memcmp(b->mem.va, raw->memory, MESSAGE)) ||
	    !raw_post(raw, wr))
		return;
	want_dto(b->recv, b->ep, 2, DAT_DTO_ERR_BAD_RESPONSE, 0);
	want_dto(b->recv, b->ep, 3, DAT_DTO_ERR_FLUSHED, 0);
	want_conn(b->conn, b->ep, DAT_CONNECTION_EVENT_BROKEN);
	state_is(b->ep, DAT_EP_STATE_DISCONNECTED);
	idle(b->ep);
	nothing_more(b->recv);
	nothing_more(b->conn);
}

/* X4: a program of DAT 2.0 knows of a write with immediate data. */
#if DAT_VERSION_MAJOR > 1
static void tells(struct raw *raw, struct ibv_send_wr *wr)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	const DAT_IB_EXTENSION_EVENT_DATA *more;
	DAT_EVENT event = {};

	if (!raw_post(raw, wr) || !next_event(raw->b.recv, &event))
		return;
	dto = &event.event_data.dto_completion_event_data;
	more = (const void *)event.event_extension_data;
	CHECK_EQ(event.event_number, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	CHECK_EQ(dto->operation, (DAT_DTOS)DAT_IB_DTO_RECV_IMMED);
	CHECK_EQ(dto->user_cookie.as_64, 1);
	CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
	CHECK_EQ(dto->transfered_length, MESSAGE);
	CHECK_EQ(more->type, DAT_IB_RDMA_WRITE_IMMED_DATA);
	CHECK_EQ(ntohl(more->val.immed.data), 0xfeedf00d);
}
#else
#define tells	breaks
#endif

static void immediate(void)
{
	struct ibv_send_wr wr = {};
	struct raw raw;
	struct mem mem;
	int i;

	for (i = 0; i < 2 && !failed(); i++) {
		if (raw_new(&raw) && mem_new(&side_b, &mem, PAGE,
					     DAT_MEM_PRIV_ALL_FLAG)) {
			wr.opcode = i ? IBV_WR_SEND_WITH_IMM :
					IBV_WR_RDMA_WRITE_WITH_IMM;
			wr.imm_data = htonl(0xfeedf00d);
			wr.wr.rdma.remote_addr = (uintptr_t)mem.va;
			wr.wr.rdma.rkey = mem.rmr_context;
			if (i)
				breaks(&raw, &wr);
			else
				tells(&raw, &wr);
			mem_free(&mem);
		}
		raw_free(&raw);
	}
}

/*
 * Waits until posts of @mem are refused.  There is room for few, so each time twice as
 * long: a minute altogether.
 */
static bool refused_soon(struct node *node, const struct mem *mem)
{
	DAT_LMR_TRIPLET segment = piece(mem, 0, 8);
	u64 end = deadline(), n = 0;

	while (dat_ep_post_recv(node->ep, 1, &segment, cookie(n), 0) ==
	       DAT_SUCCESS) {
		if (++n == NODE_RECVS || now_us() > end)
			return FAIL("the LMR is still good");
		sleep_us(1000 << n);
	}
	return true;
}

/*
 * The region whose key the peer takes away has two users: this connection, which
 * breaks, and another one, which goes on.  Another region is not concerned.  Regions of
 * uverbs are not made for that: Soft-RoCE refuses, and the key stays.  siw would not, and its
 * library tells nobody (Documentation/drivers.rst): there the peer names no key of ours.
 */
static void invalidate(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV };
	struct mem mem, rest;
	DAT_LMR_TRIPLET segment;
	DAT_LMR_PARAM param;
	struct pair other = {};
	struct raw raw = {};

	if (pair_new(&other, THREE_EVDS, NULL, NULL) &&
	    mem_new(&side_b, &mem, PAGE, DAT_MEM_PRIV_ALL_FLAG) &&
	    mem_new(&side_b, &rest, PAGE, DAT_MEM_PRIV_ALL_FLAG) && raw_new(&raw)) {
		wr.invalidate_rkey = mem.rmr_context;
		/* Where siw's library takes the key from, whatever is sent */
		if (!side_is_passthrough(&side_b))
			wr.wr.rdma.rkey = mem.rmr_context;
		breaks(&raw, &wr);
		segment = piece(&mem, 0, 8);
		if (side_is_passthrough(&side_b)) {
			OK(dat_ep_post_recv(other.b.ep, 1, &segment, cookie(0), 0));
		} else {
			refused_soon(&other.b, &mem);
			IS(dat_ep_post_send(other.b.ep, 1, &segment, cookie(0), 0),
			   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
		}
		state_is(other.b.ep, DAT_EP_STATE_CONNECTED);
		segment = piece(&rest, 0, 8);
		OK(dat_ep_post_send(other.b.ep, 1, &segment, cookie(0), 0));
		OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param));
		mem_free(&mem);
	}
	raw_free(&raw);
}

/*
 * Another program listens, at the address of side b or at all of the host.  Its number is
 * in use as long as it does.
 */
static void others_listen(void)
{
	struct sockaddr_in all = { .sin_family = AF_INET };
	struct sockaddr *at[] = { (struct sockaddr *)&side_b.addr, (struct sockaddr *)&all };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	u32 i;

	if (!CHECK(channel) || !evd_new(&side_b, 4, DAT_EVD_CR_FLAG, &evd))
		return;
	for (i = 0; i < 2; i++) {
		if (!CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)))
			break;
		CHECK(!rdma_bind_addr(id, at[i]));
		CHECK(!rdma_listen(id, 1));
		qual = ntohs(rdma_get_src_port(id));
		IS(dat_psp_create(side_b.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   DAT_CONN_QUAL_IN_USE, 0);
		rdma_destroy_id(id);
		if (OK(dat_psp_create(side_b.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp)))
			OK(dat_psp_free(psp));
	}
	rdma_destroy_event_channel(channel);
}

static const struct scenario scenarios[] = {
	SCENARIO("P4 another program listens there, or everywhere", others_listen),
	SCENARIO_IB("mt:T59 immediate data from a peer that has it", immediate),
	SCENARIO("mt:T59 mt:M81 a peer invalidates a key", invalidate),
};

SCENARIO_TABLE(raw_table);
