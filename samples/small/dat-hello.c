// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat-hello: a server that answers one message, and its client, in about 100 lines.
 *
 *	dat-hello IA			wait for a client
 *	dat-hello IA ADDRESS [TEXT]	send TEXT to the server there, and print the answer
 *
 * Each has one EVD for all its events, so it waits in one place.
 */
#include <ctype.h>
#include <err.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <dat/udat.h>

#define PORT		7471
#define SIZE		256
#define TRY(call)	try(call, #call)

static char data[2][SIZE];		/* what is received, what is sent */
static DAT_LMR_TRIPLET in, out;
static DAT_EVD_HANDLE evd;
static DAT_EP_HANDLE ep;

static void try(DAT_RETURN ret, const char *call)
{
	const char *type, *subtype;

	if (!ret)
		return;
	if (dat_strerror(ret, &type, &subtype))
		errx(1, "%s: 0x%x", call, ret);
	errx(1, "%s: %s %s", call, type, subtype);
}

/* Waits for the next event, which has to have this number. */
static DAT_EVENT expect(DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	TRY(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	if (event.event_number != number)
		errx(1, "event 0x%x came, not 0x%x", event.event_number, number);
	return event;
}

static void send_text(size_t length)
{
	out.segment_length = length;
	/* No event for a success: the next one, the answer or the disconnect, shows it as well. */
	TRY(dat_ep_post_send(ep, 1, &out, (DAT_DTO_COOKIE) { .as_64 = 1 },
			     DAT_COMPLETION_SUPPRESS_FLAG));
}

static size_t receive(void)
{
	DAT_EVENT event = expect(DAT_DTO_COMPLETION_EVENT);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS)
		errx(1, "no message came: status %d", dto->status);
	return dto->transfered_length;
}

static void serve(DAT_IA_HANDLE ia)
{
	DAT_PSP_HANDLE psp;
	size_t i, length;
	DAT_EVENT event;

	TRY(dat_psp_create(ia, PORT, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	fputs("waiting\n", stderr);
	event = expect(DAT_CONNECTION_REQUEST_EVENT);
	TRY(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	length = receive();
	for (i = 0; i < length; i++)
		data[1][i] = toupper((unsigned char)data[0][i]);
	send_text(length);
}

static void ask(const char *host, const char *text)
{
	struct addrinfo *to;

	if (getaddrinfo(host, NULL, NULL, &to))
		errx(1, "there is no %s", host);
	TRY(dat_ep_connect(ep, to->ai_addr, PORT, DAT_TIMEOUT_INFINITE, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	freeaddrinfo(to);
	expect(DAT_CONNECTION_EVENT_ESTABLISHED);
	snprintf(data[1], SIZE, "%s", text);
	send_text(strlen(data[1]));
	printf("%.*s\n", (int)receive(), data[0]);
	TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
}

int main(int argc, char **argv)
{
	DAT_EVD_FLAGS all = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG;
	DAT_MEM_PRIV_FLAGS rights = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_LMR_HANDLE lmr;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	if (argc < 2)
		errx(2, "usage: dat-hello IA [ADDRESS [TEXT]]");
	TRY(dat_ia_open(argv[1], 8, &async_evd, &ia));
	TRY(dat_pz_create(ia, &pz));
	TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION) { .for_va = data },
			   sizeof(data), pz, rights, &lmr, &in.lmr_context, NULL, NULL, NULL));
	in.virtual_address = (uintptr_t)data[0];
	in.segment_length = SIZE;
	out.lmr_context = in.lmr_context;
	out.virtual_address = (uintptr_t)data[1];
	TRY(dat_evd_create(ia, 8, DAT_HANDLE_NULL, all, &evd));
	TRY(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep));
	/* The receive is posted before there is a connection, so no message can come too early. */
	TRY(dat_ep_post_recv(ep, 1, &in, (DAT_DTO_COOKIE) { .as_64 = 2 }, 0));
	argc == 2 ? serve(ia) : ask(argv[2], argc > 3 ? argv[3] : "hello");
	expect(DAT_CONNECTION_EVENT_DISCONNECTED);	/* the client disconnects */
	/* An abrupt close also frees what is left: endpoint, service point, memory. */
	TRY(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	if (fflush(stdout) || ferror(stdout))
		err(1, "standard output");
	return 0;
}
