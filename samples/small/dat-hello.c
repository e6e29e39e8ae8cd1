// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat-hello: a server that answers one message, and its client, in about 100 lines.
 *
 *	dat-hello IA			wait for a client
 *	dat-hello IA ADDRESS [TEXT]	send TEXT to the server there, and print the answer
 *
 * Both have one EVD for everything, so they wait in one place.
 */
#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dat/udat.h>

#define PORT	7471
#define SIZE	256

static char data[2][SIZE];		/* what is received, what is sent */
static DAT_LMR_TRIPLET in, out;
static DAT_EVD_HANDLE evd;
static DAT_EP_HANDLE ep;

static void try(DAT_RETURN ret, const char *call)
{
	const char *type, *subtype;

	if (!ret)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "dat-hello: %s: %s %s\n", call, type, subtype);
	exit(1);
}

#define TRY(call)	try(call, #call)

/* The next event, which has to be this one. */
static DAT_EVENT expect(DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	TRY(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	if (event.event_number == number)
		return event;
	fprintf(stderr, "dat-hello: event 0x%x came, not 0x%x\n", event.event_number, number);
	exit(1);
}

static void send_text(size_t length)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	out.segment_length = length;
	/* Nobody has to hear that it went well: what follows would not come otherwise. */
	TRY(dat_ep_post_send(ep, 1, &out, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
}

static size_t receive(void)
{
	DAT_EVENT event = expect(DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status == DAT_DTO_SUCCESS)
		return dto->transfered_length;
	fprintf(stderr, "dat-hello: no message came: status %d\n", dto->status);
	exit(1);
}

static void serve(DAT_IA_HANDLE ia)
{
	DAT_PSP_HANDLE psp;
	size_t i, length;
	DAT_EVENT event;

	TRY(dat_psp_create(ia, PORT, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	printf("waiting\n");
	fflush(stdout);
	event = expect(DAT_CONNECTION_REQUEST_EVENT);
	TRY(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	length = receive();
	for (i = 0; i < length; i++)
		data[1][i] = toupper((unsigned char)data[0][i]);
	send_text(length);
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);	/* the client has it */
}

static void ask(const char *host, const char *text)
{
	struct addrinfo *address;

	if (getaddrinfo(host, NULL, NULL, &address)) {
		fprintf(stderr, "dat-hello: there is no %s\n", host);
		exit(1);
	}
	TRY(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)address->ai_addr, PORT, DAT_TIMEOUT_INFINITE,
			   0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	freeaddrinfo(address);
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	snprintf(data[1], SIZE, "%s", text);
	send_text(strlen(data[1]));
	printf("%.*s\n", (int)receive(), data[0]);
	TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	DAT_REGION_DESCRIPTION region = { .for_va = data };
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_LMR_HANDLE lmr;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	if (argc < 2) {
		fprintf(stderr, "usage: dat-hello IA [ADDRESS [TEXT]]\n");
		return 2;
	}
	TRY(dat_ia_open(argv[1], 8, &async_evd, &ia));
	TRY(dat_pz_create(ia, &pz));
	TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(data), pz,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			   &lmr, &in.lmr_context, NULL, NULL, NULL));
	out.lmr_context = in.lmr_context;
	in.virtual_address = (uintptr_t)data[0];
	in.segment_length = SIZE;
	out.virtual_address = (uintptr_t)data[1];
	TRY(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
			   DAT_EVD_DTO_FLAG, &evd));
	TRY(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep));
	/* Before there is a connection, so that nothing can come too early. */
	TRY(dat_ep_post_recv(ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	if (argc == 2)
		serve(ia);
	else
		ask(argv[2], argc > 3 ? argv[3] : "hello");
	/* Takes along what is left: endpoint, service point, memory. */
	TRY(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
