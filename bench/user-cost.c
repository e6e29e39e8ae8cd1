// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What one post and one completion taken cost an application, in ticks of the
 * time stamp counter: through the library, in the mode that KDAPL_MODE says,
 * and on libibverbs. Both ends of the connection are in this process, on two
 * devices. In a machine that counts instructions (scripts/vm --icount) a tick
 * is an instruction. Called by bench/guest-cost and bench/guest-path.
 *
 *	user-cost dat IA_A IA_B ADDRESS_B PORT SAMPLES [NAME]
 *	user-cost verbs ADDRESS_A ADDRESS_B PORT SAMPLES
 *
 * NAME is what the library is called in the figures. With DAT2 this is a program of DAT 2.0, whose
 * library may be anybody's.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef DAT2
#include <dat2/udat.h>
#define VA_TYPE	DAT_VA_TYPE_VA,
#else
#include <dat/udat.h>
#define VA_TYPE
#endif
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include "user.h"

#define BYTES	64
#define DEPTH	16
#define LIMIT_S	60

struct samples {
	unsigned long long *post, *recv, *take, *empty, *doorbell;
};

static struct samples samples_new(int n)
{
	return (struct samples) {
		calloc(n, sizeof(long long)), calloc(n, sizeof(long long)),
		calloc(n, sizeof(long long)), calloc(n, sizeof(long long)),
		calloc(n, sizeof(long long)),
	};
}

/* ---- the doorbell ------------------------------------------------------- */

static unsigned long long in_doorbell;

/*
 * In the place of the C library's. Soft-RoCE's library has a write(2) where that
 * of hardware writes to a register of the device, and within it the kernel sends
 * the message. A post is what the libraries do before and after that.
 */
ssize_t write(int fd, const void *from, size_t bytes)
{
	unsigned long long start = ticks();
	ssize_t ret;

	ret = syscall(SYS_write, fd, from, bytes);
	in_doorbell = ticks() - start;
	return ret;
}

static unsigned long long post_begins(void)
{
	in_doorbell = 0;
	return ticks();
}

/* The doorbell is told apart, with the reading of the counter around it. */
static void post_ends(struct samples *s, int i, unsigned long long start)
{
	unsigned long long took = ticks() - start;

	s->doorbell[i] = in_doorbell;
	s->post[i] = in_doorbell ? took - in_doorbell - overhead : took;
}

static void say_all(const char *who, struct samples *s, int n)
{
	say(who, "post_send", s->post, n, 1);
	say(who, "post_recv", s->recv, n, 1);
	say(who, "dequeue", s->take, n, 1);
	say(who, "dequeue_empty", s->empty, n, 1);
	say(who, "doorbell", s->doorbell, n, 1);
}

static void late(time_t since)
{
	if (time(NULL) - since > LIMIT_S)
		die("no completion", 0);
	sched_yield();
}

/* ---- through the library ------------------------------------------------ */

struct dat_side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, dto, conn;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET iov;
	char buffer[BYTES];
};

static void dat_open(struct dat_side *side, char *name)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = 4096,
		.max_rdma_size = 4096,
		.max_recv_dtos = DEPTH,
		.max_request_dtos = DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_REGION_DESCRIPTION region = { .for_va = side->buffer };

	side->async = DAT_HANDLE_NULL;
	DAT(dat_ia_open(name, 8, &side->async, &side->ia));
	DAT(dat_pz_create(side->ia, &side->pz));
	DAT(dat_evd_create(side->ia, 2 * DEPTH, DAT_HANDLE_NULL,
			   DAT_EVD_DTO_FLAG, &side->dto));
	DAT(dat_evd_create(side->ia, 8, DAT_HANDLE_NULL,
			   DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
			   &side->conn));
	DAT(dat_ep_create(side->ia, side->pz, side->dto, side->dto, side->conn,
			  &attr, &side->ep));
	DAT(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, BYTES,
			   side->pz, DAT_MEM_PRIV_ALL_FLAG, VA_TYPE &side->lmr,
			   &side->iov.lmr_context, NULL, NULL, NULL));
	side->iov.virtual_address = (DAT_VADDR)(uintptr_t)side->buffer;
	side->iov.segment_length = BYTES;
}

/* By the mode that it has, not by the one that was asked for. */
static const char *name_of(struct dat_side *side)
{
	DAT_PROVIDER_ATTR provider;
	int i;

	DAT(dat_ia_query(side->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
			 &provider));
	for (i = 0; i < provider.num_provider_specific_attr; i++)
		if (!strcmp(provider.provider_specific_attr[i].name, "mode") &&
		    !strcmp(provider.provider_specific_attr[i].value,
			    "passthrough"))
			return "pass";
	return "shim";
}

static void dat_wait(struct dat_side *side, DAT_EVENT_NUMBER number,
		     DAT_EVENT *event)
{
	DAT_COUNT more;

	DAT(dat_evd_wait(side->conn, LIMIT_S * 1000000, 1, event, &more));
	if (event->event_number != number)
		die("another event", event->event_number);
}

static void dat_link(struct dat_side *a, struct dat_side *b,
		     const char *address, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	inet_pton(AF_INET, address, &to.sin_addr);
	DAT(dat_psp_create(b->ia, port, b->conn, DAT_PSP_CONSUMER_FLAG, &psp));
	DAT(dat_ep_connect(a->ep, (DAT_IA_ADDRESS_PTR)&to, port,
			   LIMIT_S * 1000000, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG));
	dat_wait(b, DAT_CONNECTION_REQUEST_EVENT, &event);
	DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			  b->ep, 0, NULL));
	dat_wait(a, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	dat_wait(b, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* Nothing is there; what polling finds empty may depend on who runs when. */
static unsigned long long dat_look_in_vain(struct dat_side *side)
{
	unsigned long long start = ticks(), took;
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_evd_dequeue(side->dto, &event);
	took = ticks() - start;
	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		die("an event too many", ret);
	return took;
}

static void dat_take(struct dat_side *side, unsigned long long *took)
{
	time_t since = time(NULL);
	unsigned long long start;
	DAT_EVENT event;
	DAT_RETURN ret;

	for (;;) {
		start = ticks();
		ret = dat_evd_dequeue(side->dto, &event);
		*took = ticks() - start;
		if (!ret)
			break;
		late(since);
	}
	if (event.event_data.dto_completion_event_data.status)
		die("a transfer failed", 0);
}

static void cost_dat(char **argv, int n, const char *name)
{
	struct dat_side *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	const DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	struct samples s = samples_new(n);
	unsigned long long start, unused;
	int i;

	dat_open(a, argv[2]);
	dat_open(b, argv[3]);
	dat_link(a, b, argv[4], atoi(argv[5]));
	for (i = 0; i < n; i++) {
		start = ticks();
		DAT(dat_ep_post_recv(b->ep, 1, &b->iov, cookie, 0));
		s.recv[i] = ticks() - start;
		start = post_begins();
		DAT(dat_ep_post_send(a->ep, 1, &a->iov, cookie, 0));
		post_ends(&s, i, start);
		dat_take(a, &s.take[i]);
		dat_take(b, &unused);
		s.empty[i] = dat_look_in_vain(a);
	}
	say_all(name ? name : name_of(a), &s, n);
	DAT(dat_ia_close(a->ia, DAT_CLOSE_ABRUPT_FLAG));
	DAT(dat_ia_close(b->ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* ---- on libibverbs ------------------------------------------------------ */

struct verbs_side {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	char buffer[BYTES];
};

static struct rdma_event_channel *channel;

static struct rdma_cm_id *cm_wait(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event))
		die("rdma_get_cm_event", 0);
	if (event->event != type)
		die(rdma_event_str(event->event), event->status);
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void verbs_open(struct verbs_side *side)
{
	struct ibv_qp_init_attr attr = {
		.cap = { DEPTH, DEPTH, 1, 1, BYTES },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	side->cq = ibv_create_cq(side->id->verbs, 2 * DEPTH, NULL, NULL, 0);
	attr.send_cq = side->cq;
	attr.recv_cq = side->cq;
	if (!side->cq || rdma_create_qp(side->id, NULL, &attr))
		die("rdma_create_qp", 0);
	side->mr = ibv_reg_mr(side->id->qp->pd, side->buffer, BYTES,
			      IBV_ACCESS_LOCAL_WRITE);
	if (!side->mr)
		die("ibv_reg_mr", 0);
	side->sge = (struct ibv_sge) {
		.addr = (uintptr_t)side->buffer,
		.length = BYTES,
		.lkey = side->mr->lkey,
	};
}

static void verbs_link(struct verbs_side *a, struct verbs_side *b, char **argv)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct rdma_conn_param param = {
		.retry_count = 6,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *listener;

	inet_pton(AF_INET, argv[2], &from.sin_addr);
	inet_pton(AF_INET, argv[3], &to.sin_addr);
	to.sin_port = htons(atoi(argv[4]));
	channel = rdma_create_event_channel();
	if (!channel ||
	    rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&to) ||
	    rdma_listen(listener, 4) ||
	    rdma_create_id(channel, &a->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(a->id, (struct sockaddr *)&from,
			      (struct sockaddr *)&to, 5000))
		die("rdma_resolve_addr", 0);
	cm_wait(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(a->id, 5000))
		die("rdma_resolve_route", 0);
	cm_wait(RDMA_CM_EVENT_ROUTE_RESOLVED);
	verbs_open(a);
	if (rdma_connect(a->id, &param))
		die("rdma_connect", 0);
	b->id = cm_wait(RDMA_CM_EVENT_CONNECT_REQUEST);
	verbs_open(b);
	if (rdma_accept(b->id, &param))
		die("rdma_accept", 0);
	cm_wait(RDMA_CM_EVENT_ESTABLISHED);
	cm_wait(RDMA_CM_EVENT_ESTABLISHED);
}

static unsigned long long verbs_look_in_vain(struct verbs_side *side)
{
	unsigned long long start = ticks(), took;
	struct ibv_wc wc;
	int n;

	n = ibv_poll_cq(side->cq, 1, &wc);
	took = ticks() - start;
	if (n)
		die("a completion too many", n);
	return took;
}

static void verbs_take(struct verbs_side *side, unsigned long long *took)
{
	time_t since = time(NULL);
	unsigned long long start;
	struct ibv_wc wc;
	int n;

	for (;;) {
		start = ticks();
		n = ibv_poll_cq(side->cq, 1, &wc);
		*took = ticks() - start;
		if (n)
			break;
		late(since);
	}
	if (n < 0 || wc.status)
		die("a transfer failed", wc.status);
}

static void cost_verbs(char **argv, int n)
{
	struct verbs_side *a = calloc(1, sizeof(*a));
	struct verbs_side *b = calloc(1, sizeof(*b));
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .num_sge = 1 }, *bad_send;
	struct samples s = samples_new(n);
	unsigned long long start, unused;
	int i, ret;

	verbs_link(a, b, argv);
	recv.sg_list = &b->sge;
	send.sg_list = &a->sge;
	send.opcode = IBV_WR_SEND;
	/* As in passthrough, and as programs do that count: so few bytes go inside the request. */
	send.send_flags = IBV_SEND_INLINE;
	for (i = 0; i < n; i++) {
		start = ticks();
		ret = ibv_post_recv(b->id->qp, &recv, &bad_recv);
		s.recv[i] = ticks() - start;
		if (ret)
			die("ibv_post_recv", ret);
		start = post_begins();
		ret = ibv_post_send(a->id->qp, &send, &bad_send);
		post_ends(&s, i, start);
		if (ret)
			die("ibv_post_send", ret);
		verbs_take(a, &s.take[i]);
		verbs_take(b, &unused);
		s.empty[i] = verbs_look_in_vain(a);
	}
	say_all("verbs", &s, n);
}

int main(int argc, char **argv)
{
	measure_overhead();
	if ((argc == 7 || argc == 8) && !strcmp(argv[1], "dat"))
		cost_dat(argv, atoi(argv[6]), argv[7]);
	else if (argc == 6 && !strcmp(argv[1], "verbs"))
		cost_verbs(argv, atoi(argv[5]));
	else
		return 2;
	return 0;
}
