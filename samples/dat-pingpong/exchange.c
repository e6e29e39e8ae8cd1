// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The round trips of ../pingpong-protocol.h, on both sides. Called by
 * client.c and server.c with connected links.
 */
#include <endian.h>
#include <string.h>

#include "pingpong.h"

enum { CLIENT = 0, SERVER = 1 };

/* Writes what side @s sends in iteration @k. */
static void fill_pattern(const struct test *test, uint8_t *data, uint32_t k,
			 uint32_t s)
{
	uint32_t i;

	if (test->verify)
		for (i = 0; i < test->size; i++)
			data[i] = pp_byte(k, i, s);
}

/* Are the data those that side @s sends in iteration @k? */
static bool check_pattern(struct link *link, const uint8_t *data, uint32_t k,
			  uint32_t s)
{
	uint32_t i;

	if (!link->test.verify)
		return true;
	for (i = 0; i < link->test.size; i++)
		if (data[i] != pp_byte(k, i, s))
			return fail(link, THIS_TEST,
				    "iteration %u, byte %u: 0x%02x, expected 0x%02x",
				    k, i, data[i], pp_byte(k, i, s));
	return true;
}

static bool notice_out(struct link *link, uint32_t k, enum pp_status status)
{
	struct pp_notice notice = {
		.iteration = htobe32(k),
		.status = htobe32(status),
	};

	memcpy(link_note(link), &notice, sizeof(notice));
	return link_send(link, link_note(link), sizeof(notice));
}

/* Takes the peer's notice of iteration @k. */
static bool notice_in(struct link *link, uint32_t k)
{
	struct pp_notice notice;
	const void *data;
	uint32_t length;

	if (!link_receive(link, &data, &length))
		return false;
	if (length != sizeof(notice))
		return fail(link, THIS_TEST, "a notice of %u bytes", length);
	memcpy(&notice, data, sizeof(notice));
	if (be32toh(notice.status) != PP_OK)
		return fail(link, THIS_TEST, "the peer found wrong data in iteration %u",
			    be32toh(notice.iteration));
	if (be32toh(notice.iteration) != k)
		return fail(link, THIS_TEST, "notice of iteration %u, expected %u",
			    be32toh(notice.iteration), k);
	return true;
}

/* Takes a message of PP_SEND from side @s. */
static bool message_in(struct link *link, uint32_t k, uint32_t s)
{
	const void *data;
	uint32_t length;

	if (!link_receive(link, &data, &length))
		return false;
	if (length != link->test.size)
		return fail(link, THIS_TEST, "a message of %u bytes, expected %u", length,
			    link->test.size);
	return check_pattern(link, data, k, s);
}

/* Sends our data of iteration @k, or tells the peer that it may fetch them. */
static bool send_data(struct link *link, uint32_t k)
{
	const struct test *test = &link->test;

	switch (test->mode) {
	case PP_SEND:
		return link_send(link, link_out(link), test->size);
	case PP_WRITE:
		return link_write(link, link_out(link), test->size) &&
		       notice_out(link, k, PP_OK);
	default:
		return notice_out(link, k, PP_OK);
	}
}

/* Writes our data of iteration @k, as side @s, to where send_data() finds them. */
static void prepare_data(struct link *link, uint32_t k, uint32_t s)
{
	fill_pattern(&link->test, link->test.mode == PP_READ ?
		     link->open.data : link_out(link), k, s);
}

/* Takes and checks the peer's data of iteration @k. The peer is side @s. */
static bool receive_data(struct link *link, uint32_t k, uint32_t s)
{
	switch (link->test.mode) {
	case PP_SEND:
		return message_in(link, k, s);
	case PP_WRITE:
		return notice_in(link, k) &&
		       check_pattern(link, link->open.data, k, s);
	default:
		return notice_in(link, k) &&
		       link_read(link, link_out(link), link->test.size) &&
		       check_pattern(link, link_out(link), k, s);
	}
}

/*
 * Tells the peer that its data were wrong. In PP_SEND there is no way to tell;
 * the caller disconnects.
 */
static void refuse_data(struct link *link, uint32_t k)
{
	if (link->test.mode != PP_SEND && link->established && !link->ended &&
	    notice_out(link, k, PP_BAD_DATA))
		link_wait_sent(link);
}

/*
 * One round trip. The slot of the answer is posted again after the time is taken. It is not
 * needed before: another slot is posted, so the peer's next message finds a receive.
 */
static bool client_round(struct link *link, uint32_t k, uint64_t *ns)
{
	uint64_t start;

	if (!link_wait_sent(link))
		return false;
	prepare_data(link, k, CLIENT);
	start = now_ns();
	if (!send_data(link, k) || !receive_data(link, k, SERVER))
		return false;
	*ns = now_ns() - start;
	return link_received(link);
}

/*
 * exchange_client - all iterations of the client on @nr connections, one round trip on each
 * in turn
 *
 * @ns gets the times of the first connection, then those of the second, and so on; @done is
 * how many times there are. False: it failed, and one of @links has the failure.
 */
bool exchange_client(struct link *links, unsigned int nr, uint64_t *ns, size_t *done)
{
	const struct test *test = &links->test;
	unsigned int i;
	uint32_t k;

	*done = 0;
	for (k = 0; k < test->iterations; k++) {
		for (i = 0; i < nr; i++) {
			if (!client_round(&links[i], k, &ns[(size_t)i * test->iterations + k])) {
				refuse_data(&links[i], k);
				return false;
			}
			++*done;
		}
		progress(links->opt, test, *done, (size_t)nr * test->iterations, now_ns());
	}
	return true;
}

static bool server_round(struct link *link, uint32_t k)
{
	if (!receive_data(link, k, CLIENT) || !link_wait_sent(link))
		return false;
	prepare_data(link, k, SERVER);
	return send_data(link, k) && link_received(link);
}

/* exchange_server - all iterations of the server; @done: how many succeeded */
bool exchange_server(struct link *link, uint32_t *done)
{
	for (*done = 0; *done < link->test.iterations; ++*done) {
		if (!server_round(link, *done)) {
			refuse_data(link, *done);
			return false;
		}
	}
	return true;
}
