// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer that speaks DAT: in a module, by kDAT, and in a program, by DAT 2.0. The program calls
 * nothing that OpenFabrics' library does not export.
 */
#include "peer.h"

static const unsigned int lengths[] = PEER_LENGTHS;
static const char asks[PEER_ROUNDS][PEER_WORDS] = PEER_ASKS;
static const char answers[PEER_ROUNDS][PEER_WORDS] = PEER_ANSWERS;

#define NR_LENGTHS	(sizeof(lengths) / sizeof(lengths[0]))

struct peer {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE requests;	/* for connections */
	DAT_EVD_HANDLE conn;
	DAT_EVD_HANDLE recv;
	DAT_EVD_HANDLE sent;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_EP_HANDLE ep;
	unsigned char *out, *in;
};

static bool good(const char *what, DAT_RETURN ret)
{
	if (ret)
		say(what, ret);
	return !ret;
}

static bool next(DAT_EVD_HANDLE evd, unsigned int number, DAT_EVENT *event)
{
	if (!port_wait(evd, event)) {
		say("no event has come, in the place of", number);
		return false;
	}
	if (event->event_number != number)
		say("an event has come that was not due", event->event_number);
	return event->event_number == number;
}

static bool peer_open(struct peer *p, const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	p->out = port_memory();
	if (!p->out)
		return good("memory", DAT_INSUFFICIENT_RESOURCES);
	p->in = p->out + PEER_LONGEST;
	return good("dat_ia_open", dat_ia_open((DAT_NAME_PTR)name, 8, &async, &p->ia)) &&
	       good("dat_pz_create", dat_pz_create(p->ia, &p->pz)) &&
	       good("EVD of requests", port_evd(p->ia, DAT_EVD_CR_FLAG, &p->requests)) &&
	       good("EVD of connections", port_evd(p->ia, DAT_EVD_CONNECTION_FLAG, &p->conn)) &&
	       good("EVD of receives", port_evd(p->ia, DAT_EVD_DTO_FLAG, &p->recv)) &&
	       good("EVD of sends", port_evd(p->ia, DAT_EVD_DTO_FLAG, &p->sent)) &&
	       good("LMR", port_lmr(p->ia, p->pz, p->out, &p->lmr, &p->context));
}

static void peer_close(struct peer *p)
{
	/* OpenFabrics' provider has crashed there, when all was over for its peer. */
	if (p->ia && port_is_kdapl())
		good("dat_ia_close", dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG));
	port_free(p->out);
}

static bool new_ep(struct peer *p)
{
	return good("dat_ep_create", dat_ep_create(p->ia, p->pz, p->recv, p->sent, p->conn, NULL,
						   &p->ep));
}

static DAT_LMR_TRIPLET piece(const struct peer *p, unsigned char *from, unsigned int length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = p->context,
		.virtual_address = (uintptr_t)from,
		.segment_length = length,
	};
}

static bool post_recv(struct peer *p)
{
	DAT_LMR_TRIPLET all = piece(p, p->in, PEER_LONGEST);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return good("dat_ep_post_recv", dat_ep_post_recv(p->ep, 1, &all, cookie,
							 DAT_COMPLETION_DEFAULT_FLAG));
}

static bool done(DAT_EVD_HANDLE evd, unsigned int length)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!next(evd, DAT_DTO_COMPLETION_EVENT, &event))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	if (dto->status != DAT_DTO_SUCCESS)
		say("a transfer has failed", dto->status);
	else if (dto->transfered_length != length)
		say("another length", dto->transfered_length);
	else
		return true;
	return false;
}

static bool send_one(struct peer *p, unsigned int length, unsigned int seed)
{
	DAT_LMR_TRIPLET what = piece(p, p->out, length);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	peer_fill(p->out, length, seed);
	return good("dat_ep_post_send", dat_ep_post_send(p->ep, 1, &what, cookie,
							 DAT_COMPLETION_DEFAULT_FLAG)) &&
	       done(p->sent, length);
}

static bool received(struct peer *p, unsigned int length, unsigned int seed)
{
	if (!done(p->recv, length))
		return false;
	if (!peer_is(p->in, length, seed))
		say("other bytes than were sent, of so many", length);
	return peer_is(p->in, length, seed);
}

/*
 * Do private data have @words? Of a rejection OpenFabrics' provider passes over the first bytes,
 * where it has a header of its own, whoever has sent them.
 */
static bool has(const char *data, DAT_COUNT size, const char *words)
{
	if (data && size >= PEER_WORDS && !memcmp(data, words, PEER_WORDS))
		return true;
	if (data && size >= PEER_WORDS && !port_is_kdapl() &&
	    !memcmp(data, words + PEER_HEADER, PEER_WORDS - PEER_HEADER))
		return true;
	say("other private data, or none, of so many bytes", size);
	return false;
}

/* One side disconnects, both see it. */
static bool ended(struct peer *p, bool ends)
{
	DAT_EVENT event;

	return (!ends || good("dat_ep_disconnect",
			      dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG))) &&
	       next(p->conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event) &&
	       good("dat_ep_free", dat_ep_free(p->ep));
}

/* ---- the server ------------------------------------------------------------ */

static bool answer(struct peer *p, DAT_CR_HANDLE cr, unsigned int round)
{
	DAT_EVENT event;
	unsigned int n;

	if (!round)
		return good("reject", port_reject(cr, PEER_WORDS, (void *)answers[round]));
	if (!new_ep(p) || !post_recv(p) ||
	    !good("dat_cr_accept", dat_cr_accept(cr, p->ep, PEER_WORDS, (void *)answers[round])) ||
	    !next(p->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event))
		return false;
	for (n = 0; n < NR_LENGTHS; n++)
		if (!received(p, lengths[n], PEER_SENT(round, n)) ||
		    (n + 1 < NR_LENGTHS && !post_recv(p)) ||
		    !send_one(p, lengths[n], PEER_ECHO(round, n)))
			return false;
	return ended(p, round == 2);
}

bool peer_serve(const char *name)
{
	struct peer p = { 0 };
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	unsigned int round = 0;
	bool ok;

	ok = peer_open(&p, name) &&
	     good("dat_psp_create", dat_psp_create(p.ia, PEER_PORT, p.requests,
						   DAT_PSP_CONSUMER_FLAG, &psp));
	for (; ok && round < PEER_ROUNDS; round++) {
		ok = next(p.requests, DAT_CONNECTION_REQUEST_EVENT, &event);
		if (!ok)
			break;
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		ok = good("dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)) &&
		     has(param.private_data, param.private_data_size, asks[round]) &&
		     answer(&p, cr, round);
	}
	if (!ok)
		say("the server has failed in round", round);
	peer_close(&p);
	return ok;
}

/* ---- the client ------------------------------------------------------------ */

static bool ask(struct peer *p, struct sockaddr_in *to, unsigned int round)
{
	DAT_CONNECTION_EVENT_DATA *came;
	DAT_EVENT event;
	unsigned int n;

	if (!new_ep(p) ||
	    !good("dat_ep_connect",
		  dat_ep_connect(p->ep, (DAT_IA_ADDRESS_PTR)to, PEER_PORT, 30000000, PEER_WORDS,
				 (void *)asks[round], DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG)) ||
	    !next(p->conn, round ? DAT_CONNECTION_EVENT_ESTABLISHED :
				   DAT_CONNECTION_EVENT_PEER_REJECTED, &event))
		return false;
	came = &event.event_data.connect_event_data;
	if (!has(came->private_data, came->private_data_size, answers[round]))
		return false;
	if (!round)
		return good("dat_ep_free", dat_ep_free(p->ep));
	for (n = 0; n < NR_LENGTHS; n++)
		if (!post_recv(p) || !send_one(p, lengths[n], PEER_SENT(round, n)) ||
		    !received(p, lengths[n], PEER_ECHO(round, n)))
			return false;
	return ended(p, round == 1);
}

bool peer_call(const char *name, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct peer p = { 0 };
	unsigned int round = 0;
	bool ok;

	ok = port_address(address, &to) && peer_open(&p, name);
	for (; ok && round < PEER_ROUNDS; round++)
		ok = ask(&p, &to, round);
	if (!ok)
		say("the client has failed in round", round - (round > 0));
	peer_close(&p);
	return ok;
}
