// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat-srq: a server for many clients of dat-hello at a time, which share its receives.
 *
 *	dat-srq IA N			answer N clients (dat-hello IA ADDRESS [TEXT])
 *
 * The receives are in a shared receive queue (SRQ): a few buffers are enough for any number of
 * clients, as long as not all of them send at once.  One EVD has the events of connections,
 * another one those of messages, and the thread waits for both at a CNO.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <dat/udat.h>

#define PORT		7471
#define SIZE		256
#define NR_BUFFERS	16
#define NR_EVENTS	1024

/* The answer is sent from the buffer of the message, which is posted again after that. */
static char buffers[NR_BUFFERS][SIZE];
static DAT_EVD_HANDLE connections, messages;
static unsigned int nr_served;
static DAT_LMR_CONTEXT context;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_SRQ_HANDLE srq;

static void try(DAT_RETURN ret, const char *call)
{
	const char *type, *subtype;

	if (!ret)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "dat-srq: %s: %s %s\n", call, type, subtype);
	exit(1);
}

#define TRY(call)	try(call, #call)

static DAT_LMR_TRIPLET segment(unsigned int n, size_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = context, .segment_length = length,
				  .virtual_address = (uintptr_t)buffers[n] };
}

static void post_receive(unsigned int n)
{
	DAT_LMR_TRIPLET in = segment(n, SIZE);
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	TRY(dat_srq_post_recv(srq, 1, &in, cookie));
}

/* Answers message @n, on the endpoint that its completion names: any may take a receive. */
static void answer(DAT_EP_HANDLE ep, unsigned int n, size_t length)
{
	DAT_LMR_TRIPLET out = segment(n, length);
	DAT_DTO_COOKIE cookie = { .as_64 = NR_BUFFERS + n };
	size_t i;

	for (i = 0; i < length; i++)
		buffers[n][i] = toupper((unsigned char)buffers[n][i]);
	TRY(dat_ep_post_send(ep, 1, &out, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* A message that came is answered; in all other cases its buffer is free, and is posted again. */
static void completed(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	unsigned int n = dto->user_cookie.as_64 % NR_BUFFERS;

	if (dto->user_cookie.as_64 < NR_BUFFERS && dto->status == DAT_DTO_SUCCESS)
		answer(dto->ep_handle, n, dto->transfered_length);
	else
		post_receive(n);
}

static void take_messages(void)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(messages, &event))
		completed(&event.event_data.dto_completion_event_data);
}

static void accept_request(DAT_CR_HANDLE cr)
{
	static const DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = SIZE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep;

	TRY(dat_ep_create_with_srq(ia, pz, messages, messages, connections, srq, &attr, &ep));
	TRY(dat_cr_accept(cr, ep, 0, NULL));
}

static void connection_event(const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		accept_request(event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	default:
		/*
		 * Disconnected, or broken: either way this client is done.  The completions of its
		 * messages are queued by now.  They name the endpoint, so they are taken before it
		 * is freed.
		 */
		take_messages();
		TRY(dat_ep_free(event->event_data.connect_event_data.ep_handle));
		nr_served++;
	}
}

int main(int argc, char **argv)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = NR_BUFFERS, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_REGION_DESCRIPTION region = { .for_va = buffers };
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, woken;
	unsigned int n, nr_clients = 0;
	DAT_PROVIDER_ATTR provider;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;

	if (argc == 3)
		nr_clients = strtoul(argv[2], NULL, 0);
	if (!nr_clients) {
		fprintf(stderr, "usage: dat-srq IA N\n");
		return 2;
	}
	TRY(dat_ia_open(argv[1], 8, &async_evd, &ia));
	TRY(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_SRQ_SUPPORTED, &provider));
	if (!provider.srq_supported) {
		fprintf(stderr, "dat-srq: %s has no shared receive queues\n", argv[1]);
		return 1;
	}
	TRY(dat_pz_create(ia, &pz));
	TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(buffers), pz,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			   &lmr, &context, NULL, NULL, NULL));
	TRY(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	TRY(dat_evd_create(ia, NR_EVENTS, cno, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			   &connections));
	TRY(dat_evd_create(ia, NR_EVENTS, cno, DAT_EVD_DTO_FLAG, &messages));
	TRY(dat_srq_create(ia, pz, &attr, &srq));
	for (n = 0; n < NR_BUFFERS; n++)
		post_receive(n);
	TRY(dat_psp_create(ia, PORT, connections, DAT_PSP_CONSUMER_FLAG, &psp));
	printf("waiting\n");
	fflush(stdout);
	while (nr_served < nr_clients) {
		TRY(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &woken));
		/* The CNO names one EVD; the other one may have events as well. */
		take_messages();
		while (!dat_evd_dequeue(connections, &event))
			connection_event(&event);
	}
	printf("%u clients, %d buffers\n", nr_served, NR_BUFFERS);
	TRY(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	if (fflush(stdout) || ferror(stdout)) {
		perror("dat-srq: standard output");
		return 1;
	}
	return 0;
}
