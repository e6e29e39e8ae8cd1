// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A whole program of DAT 2.0, which runs on any library and provider of that version: it opens an
 * adapter, connects, moves small messages, and ends. Called by bench/guest-cost, once for each
 * end, with kdapl and with OpenFabrics' provider.
 *
 *	user-whole sends|writes poll|wait DEPTH IA PORT NUMBER [ADDRESS]
 *
 * sends: each end sends NUMBER messages, in answer to one of the other end's. writes: the client
 * makes NUMBER RDMA writes, DEPTH of them outstanding at most. poll: by dat_evd_dequeue(); wait: by
 * dat_evd_wait(). Without ADDRESS it is the server, which ends with its client. The client says
 * how long an operation took, and how long the whole program did.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <dat2/udat.h>
#include "user.h"

#define BYTES	64
#define PATIENCE	100000000u	/* us */
#define QUEUE	64		/* operations outstanding at most */

/* Where the client may write; the server gives it in the private data of its accept. */
struct target {
	DAT_UINT64 address;
	DAT_UINT32 context;
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, requests, receives, conn;
static DAT_EP_HANDLE ep;
static DAT_LMR_TRIPLET out, in;
static DAT_RMR_CONTEXT shown;
static const DAT_DTO_COOKIE none;
static bool polls;
static int number, depth, port;

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void set_up(char *name)
{
	static char memory[2 * BYTES];
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = BYTES, .max_rdma_size = BYTES,
		.max_recv_dtos = QUEUE, .max_request_dtos = QUEUE,
		.max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_iov = 1, .max_rdma_write_iov = 1,
	};
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_VLEN length;
	DAT_VADDR address;

	DAT(dat_ia_open(name, 8, &async, &ia));
	DAT(dat_pz_create(ia, &pz));
	DAT(dat_evd_create(ia, QUEUE, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &requests));
	DAT(dat_evd_create(ia, QUEUE, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &receives));
	DAT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
			   &conn));
	DAT(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &out.lmr_context, &shown,
			   &length, &address));
	out.virtual_address = (uintptr_t)memory;
	out.segment_length = BYTES;
	in = out;
	in.virtual_address += BYTES;
	DAT(dat_ep_create(ia, pz, receives, requests, conn, &attr, &ep));
}

static DAT_EVENT expect(DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	DAT(dat_evd_wait(conn, PATIENCE, 1, &event, &more));
	if (event.event_number != number)
		die("another event", event.event_number);
	return event;
}

static void take(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		ret = polls ? dat_evd_dequeue(evd, &event) :
			      dat_evd_wait(evd, PATIENCE, 1, &event, &more);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	if (ret || event.event_data.dto_completion_event_data.status)
		die("a transfer failed", ret);
}

static void post_recv(void)
{
	DAT(dat_ep_post_recv(ep, 1, &in, none, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(void)
{
	DAT(dat_ep_post_send(ep, 1, &out, none, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Each end has a receive posted before the other one can send. */
static void sends(bool server)
{
	int i;

	for (i = 0; i < number; i++) {
		if (server)
			take(receives);
		if (server && i + 1 < number)
			post_recv();
		post_send();
		take(requests);
		if (!server)
			take(receives);
		if (!server && i + 1 < number)
			post_recv();
	}
}

static void writes(const struct target *target)
{
	DAT_RMR_TRIPLET to = {
		.rmr_context = target->context,
		.virtual_address = target->address,
		.segment_length = BYTES,
	};
	int posted = 0, completed;

	for (completed = 0; completed < number; completed++) {
		for (; posted < number && posted - completed < depth; posted++)
			DAT(dat_ep_post_rdma_write(ep, 1, &out, none, &to,
						   DAT_COMPLETION_DEFAULT_FLAG));
		take(requests);
	}
}

static void serve(bool sending)
{
	struct target target = { .address = in.virtual_address, .context = shown };
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	post_recv();
	DAT(dat_psp_create(ia, port, conn, DAT_PSP_CONSUMER_FLAG, &psp));
	event = expect(DAT_CONNECTION_REQUEST_EVENT);
	DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, sizeof(target),
			  &target));
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	if (sending)
		sends(true);
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);
	DAT(dat_psp_free(psp));
}

static void call(const char *address, bool sending, unsigned long long began)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	unsigned long long start, took;
	struct target target;
	DAT_EVENT event;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("address", errno);
	post_recv();
	DAT(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, port, PATIENCE, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	memcpy(&target, event.event_data.connect_event_data.private_data, sizeof(target));
	start = now_ns();
	if (sending)
		sends(false);
	else
		writes(&target);
	took = now_ns() - start;
	DAT(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);
	DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	printf("operations=%d ns_each=%llu whole_us=%llu\n", number, took / number,
	       (now_ns() - began) / 1000);
}

int main(int argc, char **argv)
{
	unsigned long long began = now_ns();
	bool sending;

	if (argc < 7 || argc > 8)
		return 2;
	sending = !strcmp(argv[1], "sends");
	polls = !strcmp(argv[2], "poll");
	depth = atoi(argv[3]);
	port = atoi(argv[5]);
	number = atoi(argv[6]);
	if (depth < 1 || depth > QUEUE || number < 1)
		return 2;
	set_up(argv[4]);
	if (argc == 8) {
		call(argv[7], sending, began);
		return 0;
	}
	serve(sending);
	DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
