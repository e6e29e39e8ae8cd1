// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Times of applications that dat-pingpong does not take: how fast a stream of
 * messages is, how many connections are made and ended in a second, and how long
 * a look for an event takes while many end. The stream does what ib_send_bw does,
 * with which it is compared, and the connections what cmtime does, all of them one
 * step before any of them the next one. Called by bench/guest-times and
 * bench/guest-cost, which limit the time, once for each end; the mode is that of
 * KDAPL_MODE.
 *
 *	user-times stream|connections|ends IA PORT NUMBER [ADDRESS]
 *
 * NUMBER is that of messages or connections. Without ADDRESS it is the server,
 * which ends with its client. The client says the figure.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <dat/udat.h>
#include "user.h"

/* A message */
#define BYTES	65536
/* Those of ib_send_bw */
#define SENDS	128
#define RECVS	512

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, dto, conn;
static struct sockaddr_in to = { .sin_family = AF_INET };
static int port;

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static void open_ia(char *name, int dtos, int connections)
{
	DAT(dat_ia_open(name, 8, &async, &ia));
	DAT(dat_pz_create(ia, &pz));
	DAT(dat_evd_create(ia, dtos, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
	DAT(dat_evd_create(ia, 2 * connections + 8, DAT_HANDLE_NULL,
			   DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &conn));
}

static DAT_EP_HANDLE new_ep(int recvs, int sends)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = BYTES,
		.max_rdma_size = BYTES,
		.max_recv_dtos = recvs,
		.max_request_dtos = sends,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_EP_HANDLE ep;

	DAT(dat_ep_create(ia, pz, dto, dto, conn, &attr, &ep));
	return ep;
}

static void listen_there(void)
{
	DAT_PSP_HANDLE psp;

	DAT(dat_psp_create(ia, port, conn, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void begin_connect(DAT_EP_HANDLE ep)
{
	DAT(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, port,
			   DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG));
}

static void next_event(DAT_EVENT *event)
{
	DAT_COUNT more;

	DAT(dat_evd_wait(conn, DAT_TIMEOUT_INFINITE, 1, event, &more));
}

static DAT_EVENT expect(DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	next_event(&event);
	if (event.event_number != number)
		die("another event", event.event_number);
	return event;
}

static void accept_with(const DAT_EVENT *request, DAT_EP_HANDLE ep)
{
	DAT(dat_cr_accept(request->event_data.cr_arrival_event_data.cr_handle,
			  ep, 0, NULL));
}

/* ---- a stream ----------------------------------------------------------- */

static DAT_LMR_TRIPLET new_segment(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = aligned_alloc(4096, BYTES) };
	DAT_LMR_TRIPLET segment = {
		.virtual_address = (uintptr_t)region.for_va,
		.segment_length = BYTES,
	};
	DAT_LMR_HANDLE lmr;

	if (!region.for_va)
		die("memory", errno);
	memset(region.for_va, 0, BYTES);
	DAT(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, BYTES, pz,
			   DAT_MEM_PRIV_ALL_FLAG, &lmr, &segment.lmr_context,
			   NULL, NULL, NULL));
	return segment;
}

/* Looks until a transfer has completed. */
static void take(void)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	do {
		ret = dat_evd_dequeue(dto, &event);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	if (ret || event.event_data.dto_completion_event_data.status)
		die("a transfer failed", ret);
}

static void stream_out(int messages)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EP_HANDLE ep = new_ep(1, SENDS);
	DAT_LMR_TRIPLET segment = new_segment();
	int posted = 0, completed = 0;
	unsigned long long start;

	begin_connect(ep);
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	start = now_us();
	while (completed < messages) {
		for (; posted < messages && posted - completed < SENDS; posted++)
			DAT(dat_ep_post_send(ep, 1, &segment, cookie, 0));
		take();
		completed++;
	}
	start = now_us() - start;
	printf("messages=%d kib_per_second=%llu\n", messages,
	       1000000ULL * BYTES / 1024 * messages / start);
	DAT(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void stream_in(int messages)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EP_HANDLE ep = new_ep(RECVS, 1);
	DAT_LMR_TRIPLET segment = new_segment();
	DAT_EVENT request;
	int i, posted;

	for (posted = 0; posted < RECVS && posted < messages; posted++)
		DAT(dat_ep_post_recv(ep, 1, &segment, cookie, 0));
	listen_there();
	request = expect(DAT_CONNECTION_REQUEST_EVENT);
	accept_with(&request, ep);
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < messages; i++) {
		take();
		if (posted == messages)
			continue;
		DAT(dat_ep_post_recv(ep, 1, &segment, cookie, 0));
		posted++;
	}
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ---- connections -------------------------------------------------------- */

static unsigned long long lap(unsigned long long *since)
{
	unsigned long long now = now_us(), took = now - *since;

	*since = now;
	return took;
}

static void connections_out(int number)
{
	unsigned long long since = now_us(), took[4], all;
	DAT_EP_HANDLE *eps = calloc(number, sizeof(*eps));
	int i;

	for (i = 0; i < number; i++)
		eps[i] = new_ep(1, 1);
	took[0] = lap(&since);
	for (i = 0; i < number; i++)
		begin_connect(eps[i]);
	for (i = 0; i < number; i++)
		expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	took[1] = lap(&since);
	for (i = 0; i < number; i++)
		DAT(dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < number; i++)
		expect(DAT_CONNECTION_EVENT_DISCONNECTED);
	took[2] = lap(&since);
	for (i = 0; i < number; i++)
		DAT(dat_ep_free(eps[i]));
	took[3] = lap(&since);
	all = took[0] + took[1] + took[2] + took[3];
	printf("connections=%d per_second_x10=%llu", number, 10000000ULL * number / all);
	printf(" create_us=%llu connect_us=%llu disconnect_us=%llu free_us=%llu\n",
	       took[0], took[1], took[2], took[3]);
}

/*
 * All connections end, and their consumer polls. How long is the longest look for an event? None
 * has to destroy a queue pair, or to wait for anything.
 */
static void ends_out(int number)
{
	unsigned long long began, took, longest = 0;
	DAT_EP_HANDLE *eps = calloc(number, sizeof(*eps));
	int i, got = 0, looks = 0;
	DAT_EVENT event;

	for (i = 0; i < number; i++) {
		eps[i] = new_ep(1, 1);
		begin_connect(eps[i]);
	}
	for (i = 0; i < number; i++)
		expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	for (i = 0; i < number; i++)
		DAT(dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
	for (; got < number; looks++) {
		began = now_us();
		if (!dat_evd_dequeue(conn, &event))
			got += event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
		took = now_us() - began;
		longest = took > longest ? took : longest;
	}
	printf("ends=%d looks=%d longest_us=%llu\n", number, looks, longest);
}

static void connections_in(int number)
{
	DAT_EVENT event;
	int ended = 0;

	listen_there();
	while (ended < number) {
		next_event(&event);
		switch (event.event_number) {
		case DAT_CONNECTION_REQUEST_EVENT:
			accept_with(&event, new_ep(1, 1));
			break;
		case DAT_CONNECTION_EVENT_ESTABLISHED:
			break;
		case DAT_CONNECTION_EVENT_DISCONNECTED:
			DAT(dat_ep_free(event.event_data.connect_event_data.ep_handle));
			ended++;
			break;
		default:
			die("another event", event.event_number);
		}
	}
}

int main(int argc, char **argv)
{
	bool server = argc == 5;
	int number;

	if (!server && (argc != 6 || inet_pton(AF_INET, argv[5], &to.sin_addr) != 1))
		return 2;
	port = atoi(argv[3]);
	number = atoi(argv[4]);
	if (number < 1)
		return 2;
	if (!strcmp(argv[1], "stream")) {
		open_ia(argv[2], SENDS + RECVS, 1);
		(server ? stream_in : stream_out)(number);
	} else if (!strcmp(argv[1], "connections")) {
		open_ia(argv[2], 2 * number, number);
		(server ? connections_in : connections_out)(number);
	} else if (!strcmp(argv[1], "ends")) {
		open_ia(argv[2], 2 * number, number);
		(server ? connections_in : ends_out)(number);
	} else {
		return 2;
	}
	DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
