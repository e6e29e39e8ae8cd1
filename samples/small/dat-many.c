// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat-many: thousands of connections in one thread, with one EVD for all of them.
 *
 *	dat-many IA			a server that sends back what it receives
 *	dat-many IA ADDRESS N [ROUNDS]	N connections to it, ROUNDS messages there and back on each
 *
 * An event leads to its connection, by its cookie or by the context of its endpoint. So the loop
 * searches no list, and an event takes no longer with thousands of connections than with two.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dat/udat.h>

#define PORT		7473
#define SIZE		64
#define MOST		8192		/* connections at a time */
#define UNDER_WAY	64		/* connections that a client is making at a time */
#define NR_EVENTS	(3 * MOST + 1024)

/* A connection, with the buffers for a message in each direction */
struct peer {
	DAT_EP_HANDLE ep;
	struct peer *next;		/* in the list of free ones */
	unsigned int rounds;		/* that are left to do */
	char in[SIZE], out[SIZE];
};

static struct peer *peers, *spare;
static DAT_LMR_CONTEXT context;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE evd;
static unsigned int nr_open, nr_most, nr_asked, nr_wanted, nr_rounds, nr_echoed;
static struct addrinfo *server;

static void try(DAT_RETURN ret, const char *call)
{
	const char *type, *subtype;

	if (!ret)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "dat-many: %s: %s %s\n", call, type, subtype);
	exit(1);
}

#define TRY(call)	try(call, #call)

static DAT_LMR_TRIPLET segment(void *start, size_t size)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = context, .virtual_address = (uintptr_t)start,
				  .segment_length = size };
}

static void post_receive(struct peer *peer)
{
	DAT_LMR_TRIPLET in = segment(peer->in, SIZE);
	DAT_DTO_COOKIE cookie = { .as_ptr = peer };

	TRY(dat_ep_post_recv(peer->ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * The event of a success is suppressed: the client sees by the answer that the message was sent,
 * and the server has nothing to do then.
 */
static void post_send(struct peer *peer, size_t length)
{
	DAT_LMR_TRIPLET out = segment(peer->out, length);
	DAT_DTO_COOKIE cookie = { .as_ptr = peer };

	TRY(dat_ep_post_send(peer->ep, 1, &out, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
}

/*
 * Makes an endpoint with a receive posted. It is made for few transfers, since the completions
 * of thousands of endpoints have to fit into one EVD. NULL: there are MOST connections already.
 */
static struct peer *peer_new(void)
{
	static DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = SIZE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = 1,
		.max_request_dtos = 2,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct peer *peer = spare;
	DAT_CONTEXT whose = { .as_ptr = peer };

	if (!peer)
		return NULL;
	spare = peer->next;
	peer->rounds = nr_rounds;
	TRY(dat_ep_create(ia, pz, evd, evd, evd, &attr, &peer->ep));
	TRY(dat_set_consumer_context(peer->ep, whose));
	post_receive(peer);
	return peer;
}

/* An event of a connection names its endpoint; the endpoint's context is the struct peer. */
static struct peer *peer_of(DAT_EP_HANDLE ep)
{
	DAT_CONTEXT whose;

	TRY(dat_get_consumer_context(ep, &whose));
	return whose.as_ptr;
}

static void peer_gone(struct peer *peer)
{
	TRY(dat_ep_free(peer->ep));
	peer->next = spare;
	spare = peer;
	nr_open--;
}

static void accept_request(DAT_CR_HANDLE cr)
{
	struct peer *peer = peer_new();

	if (!peer) {
		TRY(dat_cr_reject(cr));
		return;
	}
	TRY(dat_cr_accept(cr, peer->ep, 0, NULL));
	nr_asked++;
}

static void connect_more(void)
{
	struct peer *peer;

	while (nr_asked < nr_wanted && nr_asked - nr_most < UNDER_WAY) {
		peer = peer_new();
		TRY(dat_ep_connect(peer->ep, (DAT_IA_ADDRESS_PTR)server->ai_addr, PORT,
				   DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG));
		nr_asked++;
	}
}

/* A client sends nothing before all its connections are made, so they exist at the same time. */
static void established(void)
{
	unsigned int i;

	nr_open++;
	nr_most++;
	if (!server)
		return;
	connect_more();
	if (nr_most < nr_wanted)
		return;
	printf("%u connections\n", nr_open);
	for (i = 0; i < nr_wanted; i++) {
		snprintf(peers[i].out, SIZE, "message %u", i);
		post_send(&peers[i], SIZE);
	}
}

static void received(struct peer *peer, size_t length)
{
	if (!server) {
		memcpy(peer->out, peer->in, length);
		post_receive(peer);
		post_send(peer, length);
		return;
	}
	if (memcmp(peer->in, peer->out, SIZE)) {
		fprintf(stderr, "dat-many: another message came back than was sent\n");
		exit(1);
	}
	nr_echoed++;
	if (--peer->rounds) {
		post_receive(peer);
		post_send(peer, SIZE);
	} else {
		TRY(dat_ep_disconnect(peer->ep, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

static void handle(const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *connection = &event->event_data.connect_event_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		accept_request(event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		established();
		break;
	case DAT_DTO_COMPLETION_EVENT:
		if (dto->status == DAT_DTO_SUCCESS)
			received(dto->user_cookie.as_ptr, dto->transfered_length);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		peer_gone(peer_of(connection->ep_handle));
		break;
	default:
		fprintf(stderr, "dat-many: a connection ended with event 0x%x\n",
			event->event_number);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_COUNT more;
	unsigned int i;

	if (argc != 2 && argc != 4 && argc != 5) {
		fprintf(stderr, "usage: dat-many IA [ADDRESS N [ROUNDS]]\n");
		return 2;
	}
	nr_wanted = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	nr_rounds = argc > 4 ? strtoul(argv[4], NULL, 0) : 1;
	if (argc > 2 && (!nr_wanted || nr_wanted > MOST || !nr_rounds)) {
		fprintf(stderr, "dat-many: 1 to %d connections, and a round at least\n", MOST);
		return 2;
	}
	if (argc > 2 && getaddrinfo(argv[2], NULL, NULL, &server)) {
		fprintf(stderr, "dat-many: there is no %s\n", argv[2]);
		return 1;
	}
	peers = calloc(MOST, sizeof(*peers));
	if (!peers) {
		fprintf(stderr, "dat-many: no memory\n");
		return 1;
	}
	for (i = MOST; i--; spare = &peers[i])
		peers[i].next = spare;
	TRY(dat_ia_open(argv[1], 8, &async_evd, &ia));
	TRY(dat_pz_create(ia, &pz));
	region.for_va = peers;
	TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, MOST * sizeof(*peers), pz, local,
			   &lmr, &context, NULL, NULL, NULL));
	TRY(dat_evd_create(ia, NR_EVENTS, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG |
			   DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &evd));
	if (server) {
		connect_more();
	} else {
		TRY(dat_psp_create(ia, PORT, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		printf("waiting\n");
		fflush(stdout);
	}
	do {
		TRY(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
		handle(&event);
	} while (nr_open || nr_asked - nr_most || !nr_most);
	printf("%u connections, %u messages there and back\n", nr_most, nr_echoed);
	TRY(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	if (fflush(stdout) || ferror(stdout)) {
		perror("dat-many: standard output");
		return 1;
	}
	return 0;
}
