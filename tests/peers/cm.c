// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer that speaks no DAT: rdma_cm and verbs.
 * usage: cm_peer ADDRESS              a server there, for one client
 *        cm_peer ADDRESS SERVER       a client from there
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include "words.h"

static const unsigned int lengths[] = PEER_LENGTHS;
static const char asks[PEER_ROUNDS][PEER_WORDS] = PEER_ASKS;
static const char answers[PEER_ROUNDS][PEER_WORDS] = PEER_ANSWERS;
static unsigned char out[PEER_LONGEST], in[PEER_LONGEST];
static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static struct ibv_mr *out_mr, *in_mr;

#define NR_LENGTHS	(sizeof(lengths) / sizeof(lengths[0]))

static bool say(const char *what)
{
	fprintf(stderr, "cm_peer: %s: %s\n", what, strerror(errno));
	return false;
}

/*
 * The next event of the CM is @type, and has @words, if any, in front of its private data, or
 * behind a header of DAT's (a rejection by kdapl or OpenFabrics).
 */
static bool next(enum rdma_cm_event_type type, const char *words, struct rdma_cm_id **from)
{
	const struct rdma_conn_param *param;
	struct rdma_cm_event *event;
	const char *data;
	bool good;

	if (rdma_get_cm_event(channel, &event))
		return say("rdma_get_cm_event");
	param = &event->param.conn;
	data = param->private_data;
	good = event->event == type;
	if (!good)
		fprintf(stderr, "cm_peer: %s in the place of %s, status %d\n",
			rdma_event_str(event->event), rdma_event_str(type), event->status);
	if (good && words) {
		if (type == RDMA_CM_EVENT_REJECTED && data && memcmp(data, words, PEER_WORDS))
			data += PEER_HEADER;
		good = data && param->private_data_len >= PEER_WORDS &&
		       !memcmp(data, words, PEER_WORDS);
		if (!good)
			fprintf(stderr, "cm_peer: other private data, or none\n");
	}
	if (from)
		*from = event->id;
	rdma_ack_cm_event(event);
	return good;
}

static bool make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (rdma_create_qp(id, NULL, &attr))
		return say("rdma_create_qp");
	out_mr = rdma_reg_msgs(id, out, sizeof(out));
	in_mr = rdma_reg_msgs(id, in, sizeof(in));
	return (out_mr && in_mr) || say("rdma_reg_msgs");
}

static bool post_recv(void)
{
	return !rdma_post_recv(id, NULL, in, sizeof(in), in_mr) || say("rdma_post_recv");
}

static bool sent(unsigned int length, unsigned int seed)
{
	struct ibv_wc wc;

	peer_fill(out, length, seed);
	if (rdma_post_send(id, NULL, out, length, out_mr, 0) || rdma_get_send_comp(id, &wc) != 1)
		return say("a send");
	return wc.status == IBV_WC_SUCCESS || say(ibv_wc_status_str(wc.status));
}

static bool received(unsigned int length, unsigned int seed)
{
	struct ibv_wc wc;

	if (rdma_get_recv_comp(id, &wc) != 1)
		return say("a receive");
	if (wc.status != IBV_WC_SUCCESS)
		return say(ibv_wc_status_str(wc.status));
	return (wc.byte_len == length && peer_is(in, length, seed)) || say("other bytes");
}

static bool ended(bool ends)
{
	if (ends && rdma_disconnect(id))
		return say("rdma_disconnect");
	if (!next(RDMA_CM_EVENT_DISCONNECTED, NULL, NULL))
		return false;
	if (!ends)
		rdma_disconnect(id);
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(in_mr);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return true;
}

static struct rdma_conn_param with(const char *words)
{
	return (struct rdma_conn_param) {
		.private_data = words,
		.private_data_len = PEER_WORDS,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static bool answer(unsigned int round)
{
	struct rdma_conn_param param = with(answers[round]);
	unsigned int n;

	if (!next(RDMA_CM_EVENT_CONNECT_REQUEST, asks[round], &id))
		return false;
	if (!round) {
		if (rdma_reject(id, answers[round], PEER_WORDS))
			return say("rdma_reject");
		rdma_destroy_id(id);
		return true;
	}
	if (!make_qp() || !post_recv())
		return false;
	if (rdma_accept(id, &param))
		return say("rdma_accept");
	if (!next(RDMA_CM_EVENT_ESTABLISHED, NULL, NULL))
		return false;
	for (n = 0; n < NR_LENGTHS; n++)
		if (!received(lengths[n], PEER_SENT(round, n)) ||
		    (n + 1 < NR_LENGTHS && !post_recv()) ||
		    !sent(lengths[n], PEER_ECHO(round, n)))
			return false;
	return ended(round == 2);
}

static bool ask(struct sockaddr_in *from, struct sockaddr_in *to, unsigned int round)
{
	struct rdma_conn_param param = with(asks[round]);
	unsigned int n;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return say("rdma_create_id");
	if (rdma_resolve_addr(id, (struct sockaddr *)from, (struct sockaddr *)to, 10000))
		return say("rdma_resolve_addr");
	if (!next(RDMA_CM_EVENT_ADDR_RESOLVED, NULL, NULL))
		return false;
	if (rdma_resolve_route(id, 10000))
		return say("rdma_resolve_route");
	if (!next(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL, NULL) || !make_qp() || !post_recv())
		return false;
	if (rdma_connect(id, &param))
		return say("rdma_connect");
	if (!round) {
		if (!next(RDMA_CM_EVENT_REJECTED, answers[round], NULL))
			return false;
		rdma_dereg_mr(out_mr);
		rdma_dereg_mr(in_mr);
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
		return true;
	}
	if (!next(RDMA_CM_EVENT_ESTABLISHED, answers[round], NULL))
		return false;
	for (n = 0; n < NR_LENGTHS; n++)
		if (!sent(lengths[n], PEER_SENT(round, n)) ||
		    !received(lengths[n], PEER_ECHO(round, n)) ||
		    (n + 1 < NR_LENGTHS && !post_recv()))
			return false;
	return ended(round == 1);
}

int main(int argc, char **argv)
{
	struct sockaddr_in here = { .sin_family = AF_INET }, there = { .sin_family = AF_INET };
	struct rdma_cm_id *listener;
	unsigned int round;
	bool serves = argc == 2;

	if (argc < 2 || argc > 3 || inet_pton(AF_INET, argv[1], &here.sin_addr) != 1 ||
	    (!serves && inet_pton(AF_INET, argv[2], &there.sin_addr) != 1))
		return 2;
	there.sin_port = htons(PEER_PORT);
	channel = rdma_create_event_channel();
	if (!channel)
		return !say("rdma_create_event_channel");
	if (serves) {
		here.sin_port = htons(PEER_PORT);
		if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(listener, (struct sockaddr *)&here) ||
		    rdma_listen(listener, 4))
			return !say("rdma_listen");
	}
	for (round = 0; round < PEER_ROUNDS; round++)
		if (!(serves ? answer(round) : ask(&here, &there, round))) {
			fprintf(stderr, "cm_peer: failed in round %u\n", round);
			return 1;
		}
	return 0;
}
