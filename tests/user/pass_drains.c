// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What many ends of connections at once cost an application in passthrough: the threads of
 * graceful disconnects that wait and how often these run, the longest look for an event while
 * connections end, and how long all of them take, for one thread and for several.
 *
 *	pass_drains [-a IA] [-b IA] [-n CONNECTIONS] [PART OF A NAME]...
 *
 * The process has one thread of the library's, from its first connection on, which sleeps as long
 * as nothing happens (udapl-shim/pass_keeper.c). The times are printed only.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"
#include "proc.h"

#define MOST	1024
#define THREADS	8
#define QUAL	23100
#define LONG	180000000u	/* us */
#define IDLE	1000000		/* us through which the thread has to sleep */
#define TRIES	100

static char *ia_names[2] = { "rxe0-1", "rxe1-1" };
static int number = 80;

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
static atomic_int next_end;	/* of those that threads reset */

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

static void begin(void)
{
	int i;

	side_open(&sides[0], ia_names[0]);
	side_open(&sides[1], ia_names[1]);
	OK(dat_psp_create(sides[1].ia, QUAL, sides[1].conn, DAT_PSP_CONSUMER_FLAG, &psp));
	for (i = 0; i < number; i++)
		connect_pair(i);
}

/*
 * Each with a message for which the peer has no receive, so that a drain waits. With a long
 * rnr_timer of the module the devices do not keep the processors busy meanwhile. Soft-RoCE repeats
 * such a message for some eight seconds only, which is why no connection has one before all are
 * there.
 */
static void disconnect_all(DAT_CLOSE_FLAGS how)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	int i;

	for (i = 0; i < number; i++) {
		OK(dat_ep_post_send(sides[0].ep[i], 1, &sides[0].segment, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_disconnect(sides[0].ep[i], how));
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
	before = proc_threads();
	disconnect_all(DAT_CLOSE_GRACEFUL_FLAG);
	while_waiting = proc_threads();
	/* The kernel tells of the beginning of each, and may take its time for that. */
	CHECK(proc_others_asleep(IDLE, TRIES));
	idle = processor_time();
	usleep(IDLE);
	idle = processor_time() - idle;
	printf("-- %d graceful disconnects wait: %d threads, %.0f ms of processor time in 1 s\n",
	       number, while_waiting - before, idle * 1e3);
	CHECK_EQ(while_waiting, before);
	for (i = 0; i < number; i++)
		OK(dat_ep_post_recv(sides[1].ep[i], 1, &sides[1].segment, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < number; i++)
		next_event(sides[0].conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_EQ(proc_threads(), before);
	end();
}

static void case_looks(void)
{
	double start, began, took, longest = 0;
	int looks = 0, got = 0;
	DAT_EVENT event;

	begin();
	disconnect_all(DAT_CLOSE_ABRUPT_FLAG);
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

static void *reset_some(void *unused)
{
	int i;

	(void)unused;
	while ((i = atomic_fetch_add(&next_end, 1)) < number)
		OK(dat_ep_reset(sides[0].ep[i]));
	return NULL;
}

/* What a thread waits for in a reset does not keep those of other threads waiting. */
static void case_resets(void)
{
	pthread_t threads[THREADS];
	double start;
	int i;

	begin();
	start = seconds();
	disconnect_all(DAT_CLOSE_ABRUPT_FLAG);
	printf("-- %d disconnects took %.0f ms\n", number, (seconds() - start) * 1e3);
	atomic_store(&next_end, 0);
	start = seconds();
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, reset_some, NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("-- %d connections are reset by %d threads in %.0f ms\n", number, THREADS,
	       (seconds() - start) * 1e3);
	for (i = 0; i < number; i++)
		next_event(sides[0].conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	start = seconds();
	end();
	printf("-- the rest is closed in %.0f ms\n", (seconds() - start) * 1e3);
}

static const struct check_case cases[] = {
	{ "D11 threads for graceful disconnects that wait", case_threads },
	{ "D6 E41 looks while connections end", case_looks },
	{ "R10 R15 connections that have ended are reset by several threads", case_resets },
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
