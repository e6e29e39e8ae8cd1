// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What many ends of connections at once cost an application in passthrough: the threads and
 * the processor time of graceful disconnects that wait, and the longest look for an event
 * while connections end.
 *
 *	pass_drains [-a IA] [-b IA] [-n CONNECTIONS] [PART OF A NAME]...
 *
 * The threads are counted, and have a limit; the times are printed. The limit is what is so
 * today: a thread of the library's own for each disconnect that waits (start_drain_thread()
 * in pass_end.c), since a consumer that does not poll would otherwise never see its end. It is
 * there to be lowered.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"
#include "proc.h"

#define MOST	128
#define QUAL	23100
#define LONG	180000000u	/* us */
#define IDLE	1000000		/* us for which the processor time is taken */

static char *ia_names[2] = { "rxe0-1", "rxe1-1" };
static int number = 16;

static struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE conn, dto;
	DAT_EP_HANDLE ep[MOST];
	DAT_LMR_TRIPLET segment;
	struct sockaddr_storage addr;
	char memory[64];
} sides[2];

static DAT_PSP_HANDLE psp;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double processor_time(void)
{
	struct rusage use;

	CHECK(!getrusage(RUSAGE_SELF, &use));
	return use.ru_utime.tv_sec + use.ru_stime.tv_sec +
	       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static int threads(void)
{
	return proc_number("/proc/self/status", "Threads:");
}

static void side_open(struct side *side, char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = side->memory };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_HANDLE lmr;
	DAT_IA_ATTR attr;

	OK(dat_ia_open(name, 8, &async, &side->ia));
	OK(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&side->addr, attr.ia_address_ptr, attr.ia_address_ptr->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	OK(dat_pz_create(side->ia, &side->pz));
	OK(dat_evd_create(side->ia, 4 * MOST, NULL,
			  DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &side->conn));
	OK(dat_evd_create(side->ia, 8, NULL, DAT_EVD_DTO_FLAG, &side->dto));
	OK(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(side->memory), side->pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &side->segment.lmr_context, NULL, NULL,
			  NULL));
	side->segment.virtual_address = (uintptr_t)side->memory;
	side->segment.segment_length = sizeof(side->memory);
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;
	DAT_COUNT more;

	OK(dat_evd_wait(evd, LONG, 1, &event, &more));
	CHECK_EQ(event.event_number, wanted);
	return event;
}

static void connect_pair(int i)
{
	DAT_EP_ATTR attr = {
		.max_message_size = 64, .max_rdma_size = 64,
		.max_recv_dtos = 2, .max_request_dtos = 2,
		.max_recv_iov = 1, .max_request_iov = 1, .srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct side *a = &sides[0], *b = &sides[1];
	DAT_EVENT event;

	OK(dat_ep_create(a->ia, a->pz, a->dto, a->dto, a->conn, &attr, &a->ep[i]));
	OK(dat_ep_create(b->ia, b->pz, b->dto, b->dto, b->conn, &attr, &b->ep[i]));
	OK(dat_ep_connect(a->ep[i], (DAT_IA_ADDRESS_PTR)&b->addr, QUAL, LONG, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next_event(b->conn, DAT_CONNECTION_REQUEST_EVENT);
	OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b->ep[i], 0, NULL));
	next_event(a->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	next_event(b->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Connections with a message each for which the peer has no receive, so that a drain waits. */
static void begin(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	int i;

	side_open(&sides[0], ia_names[0]);
	side_open(&sides[1], ia_names[1]);
	OK(dat_psp_create(sides[1].ia, QUAL, sides[1].conn, DAT_PSP_CONSUMER_FLAG, &psp));
	for (i = 0; i < number; i++) {
		connect_pair(i);
		OK(dat_ep_post_send(sides[0].ep[i], 1, &sides[0].segment, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void end(void)
{
	OK(dat_ia_close(sides[0].ia, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_ia_close(sides[1].ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void case_threads(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	int i, before, while_waiting;
	double idle;

	begin();
	before = threads();
	for (i = 0; i < number; i++)
		OK(dat_ep_disconnect(sides[0].ep[i], DAT_CLOSE_GRACEFUL_FLAG));
	while_waiting = threads();
	idle = processor_time();
	usleep(IDLE);
	idle = processor_time() - idle;
	printf("-- %d graceful disconnects wait: %d threads, %.0f ms of processor time in 1 s\n",
	       number, while_waiting - before, idle * 1e3);
	/* Today's limit; see the top. */
	CHECK(while_waiting - before <= number);
	for (i = 0; i < number; i++)
		OK(dat_ep_post_recv(sides[1].ep[i], 1, &sides[1].segment, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < number; i++)
		next_event(sides[0].conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	while (threads() > before)
		usleep(1000);
	end();
}

static void case_looks(void)
{
	double start, began, took, longest = 0;
	int i, looks = 0, got = 0;
	DAT_EVENT event;

	begin();
	for (i = 0; i < number; i++)
		OK(dat_ep_disconnect(sides[0].ep[i], DAT_CLOSE_ABRUPT_FLAG));
	start = seconds();
	while (got < number && seconds() - start < LONG / 1e6) {
		began = seconds();
		if (!dat_evd_dequeue(sides[0].conn, &event))
			got++;
		took = seconds() - began;
		longest = took > longest ? took : longest;
		looks++;
	}
	printf("-- %d connections end: %d events in %.0f ms, %d looks, the longest %.1f ms\n",
	       number, got, (seconds() - start) * 1e3, looks, longest * 1e3);
	CHECK_EQ(got, number);
	end();
}

static const struct check_case cases[] = {
	{ "D11 threads for graceful disconnects that wait", case_threads },
	{ "D6 E41 looks while connections end", case_looks },
};

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:b:n:")) != -1) {
		if (c == '?')
			return 2;
		if (c == 'n')
			number = atoi(optarg);
		else
			ia_names[c == 'b'] = optarg;
	}
	if (number < 1 || number > MOST)
		return 2;
	argv[optind - 1] = argv[0];
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc - optind + 1,
			 argv + optind - 1);
}
