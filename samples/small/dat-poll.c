// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat-poll: sends lines from standard input to a peer, and writes the peer's lines to standard
 * output. One poll(2) waits for both.
 *
 *	dat-poll IA			wait for a peer
 *	dat-poll IA ADDRESS		connect to the peer at ADDRESS
 *
 * DAT 1.2 has no descriptors for poll(2). But a CNO may have an agent, a function that the
 * library calls once, when an event has arrived at one of its EVDs. The agent here writes to an
 * eventfd, which wakes poll(2). Then the program sets the agent again and takes all events from
 * the EVD.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <dat/udat.h>

#define PORT	7472
#define SIZE	1024
#define NR_IN	8			/* receives: lines of the peer that may be on their way */

static char in[NR_IN][SIZE], out[SIZE];
static DAT_LMR_CONTEXT in_context, out_context;
static DAT_EVD_HANDLE evd;
static DAT_EP_HANDLE ep;
static bool connected, sending, over;
static int wake;

static void try(DAT_RETURN ret, const char *call)
{
	const char *type, *subtype;

	if (!ret)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "dat-poll: %s: %s %s\n", call, type, subtype);
	exit(1);
}

#define TRY(call)	try(call, #call)

/* Called by a thread of the library. */
static void agent(DAT_PVOID data, DAT_EVD_HANDLE triggered)
{
	(void)data;
	(void)triggered;
	eventfd_write(wake, 1);
}

static const DAT_OS_WAIT_PROXY_AGENT wake_up = { .proxy_agent_func = agent };

static DAT_LMR_CONTEXT region(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *start, size_t size)
{
	DAT_REGION_DESCRIPTION where = { .for_va = start };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, size, pz,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			   &lmr, &context, NULL, NULL, NULL));
	return context;
}

static void post_receive(unsigned int slot)
{
	DAT_LMR_TRIPLET segment = { .lmr_context = in_context,
				    .virtual_address = (uintptr_t)in[slot],
				    .segment_length = SIZE };
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	TRY(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void send_line(size_t length)
{
	DAT_LMR_TRIPLET segment = { .lmr_context = out_context,
				    .virtual_address = (uintptr_t)out,
				    .segment_length = length };
	DAT_DTO_COOKIE cookie = { .as_64 = NR_IN };

	TRY(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	sending = true;
}

static void completed(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	unsigned int slot = dto->user_cookie.as_64;

	if (slot == NR_IN) {
		sending = false;
	} else if (dto->status == DAT_DTO_SUCCESS) {
		fwrite(in[slot], 1, dto->transfered_length, stdout);
		if (fflush(stdout)) {
			perror("dat-poll: standard output");
			exit(1);
		}
		post_receive(slot);
	}
}

static void handle(const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		TRY(dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		connected = true;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		completed(&event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		over = true;
		break;
	default:
		fprintf(stderr, "dat-poll: the connection ended with event 0x%x\n",
			event->event_number);
		exit(1);
	}
}

/*
 * Sends the next line of the input. At the end of the input it disconnects gracefully, so that
 * what was posted is sent before the connection ends.
 */
static void input(void)
{
	ssize_t length = read(STDIN_FILENO, out, SIZE);

	if (length > 0)
		send_line(length);
	else
		TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	connected = length > 0;
}

static void loop(DAT_CNO_HANDLE cno)
{
	struct pollfd fds[2] = { { .fd = wake, .events = POLLIN },
				 { .fd = STDIN_FILENO, .events = POLLIN } };
	DAT_EVENT event;
	eventfd_t count;

	while (!over) {
		/* Input is waited for only while it could be sent. */
		if (poll(fds, connected && !sending ? 2 : 1, -1) < 0 && errno != EINTR)
			exit(1);
		if (fds[0].revents & POLLIN) {
			eventfd_read(wake, &count);
			/* Set before the EVD is emptied, so that an event after that calls it. */
			TRY(dat_cno_modify_agent(cno, wake_up));
		}
		while (!dat_evd_dequeue(evd, &event))
			handle(&event);
		if (connected && !sending && fds[1].revents)
			input();
		fds[1].revents = 0;
	}
}

static void connect_to(const char *host)
{
	struct addrinfo *address;

	if (getaddrinfo(host, NULL, NULL, &address)) {
		fprintf(stderr, "dat-poll: there is no %s\n", host);
		exit(1);
	}
	TRY(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)address->ai_addr, PORT, DAT_TIMEOUT_INFINITE,
			   0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	freeaddrinfo(address);
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = SIZE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = NR_IN,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_CNO_HANDLE cno;
	DAT_PSP_HANDLE psp;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	unsigned int i;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: dat-poll IA [ADDRESS]\n");
		return 2;
	}
	wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (wake < 0) {
		perror("dat-poll: eventfd");
		return 1;
	}
	TRY(dat_ia_open(argv[1], 8, &async_evd, &ia));
	TRY(dat_pz_create(ia, &pz));
	in_context = region(ia, pz, in, sizeof(in));
	out_context = region(ia, pz, out, sizeof(out));
	TRY(dat_cno_create(ia, wake_up, &cno));
	TRY(dat_evd_create(ia, NR_IN + 8, cno, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
			   DAT_EVD_DTO_FLAG, &evd));
	TRY(dat_ep_create(ia, pz, evd, evd, evd, &attr, &ep));
	for (i = 0; i < NR_IN; i++)
		post_receive(i);
	if (argc == 3) {
		connect_to(argv[2]);
	} else {
		TRY(dat_psp_create(ia, PORT, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		fprintf(stderr, "waiting\n");
	}
	loop(cno);
	TRY(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
