// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The active side: every way in which an attempt to connect can end, each with
 * its one event, and private data both ways.
 */
#include <linux/ktime.h>
#include <linux/string.h>
#include "kdat_rules.h"

#define QUAL_UNUSED	2

static void private_data_both_ways(void)
{
	u8 asked[256], answer[256];
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_EP_PARAM local;
	DAT_CR_PARAM cr_param;
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int n = side_a.max_private_data, i;

	CHECK(n >= 56 && n <= (int)sizeof(asked));
	for (i = 0; i < n; i++) {
		asked[i] = i + 1;
		answer[i] = 255 - i;
	}
	if (!node_new(&a, &side_a, NULL) || !node_new(&b, &side_b, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		goto out;
	if (!OK(dat_ep_connect(a.ep, (void *)&side_b.addr, listener.qual,
			       CONNECT_US, n, asked, 0, 0)))
		goto out;
	memset(asked, 0, sizeof(asked));	/* it was copied */
	state_is(a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	if (!next_request(&listener, &cr) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param)))
		goto out;
	CHECK(cr_param.private_data_size >= n);
	for (i = 0; i < n; i++)
		CHECK(((u8 *)cr_param.private_data)[i] == (u8)(i + 1));
	CHECK(!cr_param.local_ep_handle);
	BAD_ARG(dat_cr_query(cr, 0x20, &cr_param), 2);
	BAD_ARG(dat_cr_query(cr, 1, NULL), 3);
	/* P41 */
	if (OK(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &local)))
		CHECK(local.local_port_qual == cr_param.remote_port_qual);
	CHECK(((struct sockaddr_in *)cr_param.remote_ia_address_ptr)
	      ->sin_addr.s_addr ==
	      ((struct sockaddr_in *)&side_a.addr)->sin_addr.s_addr);

	/* P52, P50, P54: refused, and the request is still good. */
	BAD_ARG(dat_cr_accept(cr, b.ep, -1, answer), 3);
	BAD_ARG(dat_cr_accept(cr, b.ep, side_b.max_private_data + 200, answer),
		3);
	BAD_ARG(dat_cr_accept(cr, b.ep, 4, NULL), 4);
	BAD_HANDLE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, a.ep, 0, NULL), EP);	/* another IA */
	BAD_HANDLE(dat_cr_accept(cr, side_b.pz, 0, NULL), EP);
	state_is(b.ep, DAT_EP_STATE_UNCONNECTED);
	if (!OK(dat_cr_accept(cr, b.ep, n, answer)))
		goto out;
	BAD_HANDLE(dat_cr_query(cr, 1, &cr_param), CR);
	BAD_HANDLE(dat_cr_reject(cr), CR);

	if (!want_event(a.events, DAT_CONNECTION_EVENT_ESTABLISHED, &event))
		goto out;
	data = &event.event_data.connect_event_data;
	CHECK(data->ep_handle == a.ep);
	CHECK(data->private_data_size >= n);
	for (i = 0; i < n; i++)
		CHECK(((u8 *)data->private_data)[i] == (u8)(255 - i));
	if (!want_event(b.events, DAT_CONNECTION_EVENT_ESTABLISHED, &event))
		goto out;
	CHECK(data->ep_handle == b.ep);
	CHECK(!data->private_data_size && !data->private_data);
	state_is(a.ep, DAT_EP_STATE_CONNECTED);
	state_is(b.ep, DAT_EP_STATE_CONNECTED);
	nothing_more(a.events);
	nothing_more(b.events);
out:
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
}

/* An attempt of @a ends with @number: its receive is flushed before. */
static bool ends_with(struct node *a, DAT_EVENT_NUMBER number)
{
	return want_dto(a->events, a->ep, 1, DAT_DTO_ERR_FLUSHED, 0) &&
	       want_conn(a->events, a->ep, number) &&
	       state_is(a->ep, DAT_EP_STATE_DISCONNECTED) &&
	       nothing_more(a->events);
}

static void consumer_rejects(void)
{
	struct listener listener = {};
	struct node a = {};
	DAT_CR_HANDLE cr;

	if (node_new(&a, &side_a, NULL) &&
	    listener_new(&listener, DAT_PSP_CONSUMER_FLAG) &&
	    OK(node_recv(&a, 0, 64, 1)) && start_connect(&a, listener.qual) &&
	    next_request(&listener, &cr) && OK(dat_cr_reject(cr)) &&
	    ends_with(&a, DAT_CONNECTION_EVENT_PEER_REJECTED))
		BAD_HANDLE(dat_cr_accept(cr, a.ep, 0, NULL), CR);
	node_free(&a);
	listener_free(&listener);
}

static void nobody_listens(void)
{
	struct node a = {};

	if (node_new(&a, &side_a, NULL) && OK(node_recv(&a, 0, 64, 1)) &&
	    start_connect(&a, QUAL_UNUSED))
		ends_with(&a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	node_free(&a);
}

static void nobody_answers(void)
{
	const u32 timeout_us = 700 * 1000;
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	ktime_t start;

	if (!node_new(&a, &side_a, NULL) || !node_new(&b, &side_b, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(node_recv(&a, 0, 64, 1)) || !OK(node_recv(&b, 0, 64, 1)))
		goto out;
	start = ktime_get();
	if (!OK(dat_ep_connect(a.ep, (void *)&side_b.addr, listener.qual,
			       timeout_us, 0, NULL, 0, 0)) ||
	    !next_request(&listener, &cr) ||
	    !ends_with(&a, DAT_CONNECTION_EVENT_TIMED_OUT))
		goto out;
	CHECK(ktime_us_delta(ktime_get(), start) >= timeout_us);
	/* P56: what the request's end does to the accept. */
	if (OK(dat_cr_accept(cr, b.ep, 0, NULL)))
		ends_with(&b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	if (OK(dat_ep_reset(a.ep)) && OK(dat_ep_reset(b.ep)))
		link_connect(&a, &b, &listener);
out:
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
}

static void nobody_there(void)
{
	struct sockaddr_in nowhere = *(struct sockaddr_in *)&side_b.addr;
	struct node a = {};

	/* The same network, an address that nobody has. */
	nowhere.sin_addr.s_addr ^= htonl(0xf0);
	if (node_new(&a, &side_a, NULL) && OK(node_recv(&a, 0, 64, 1)) &&
	    OK(dat_ep_connect(a.ep, (void *)&nowhere, 4000, 2000 * 1000, 0,
			      NULL, 0, 0)))
		ends_with(&a, DAT_CONNECTION_EVENT_UNREACHABLE);
	node_free(&a);
}

static void abort_attempt(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, NULL) || !node_new(&b, &side_b, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(node_recv(&a, 0, 64, 1)) || !OK(node_recv(&b, 0, 64, 1)) ||
	    !start_connect(&a, listener.qual) || !next_request(&listener, &cr))
		goto out;
	state_is(a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	state_is(a.ep, DAT_EP_STATE_DISCONNECTED);
	ends_with(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* D34 */
	if (OK(dat_cr_accept(cr, b.ep, 0, NULL)))
		ends_with(&b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	/* D36 */
	if (OK(dat_ep_reset(a.ep)) && OK(dat_ep_reset(b.ep)))
		link_connect(&a, &b, &listener);
out:
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
}

static void abort_while_resolving(void)
{
	struct sockaddr_in nowhere = *(struct sockaddr_in *)&side_b.addr;
	struct node a = {};

	nowhere.sin_addr.s_addr ^= htonl(0xf0);
	if (node_new(&a, &side_a, NULL) && OK(node_recv(&a, 0, 64, 1)) &&
	    OK(dat_ep_connect(a.ep, (void *)&nowhere, 4000, CONNECT_US, 0, NULL,
			      0, 0)) &&
	    OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG)))
		ends_with(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
	node_free(&a);
}

static void gone_before_reject(void)
{
	struct listener listener = {};
	struct node a = {};
	DAT_CR_HANDLE cr;

	if (node_new(&a, &side_a, NULL) &&
	    listener_new(&listener, DAT_PSP_CONSUMER_FLAG) &&
	    start_connect(&a, listener.qual) && next_request(&listener, &cr) &&
	    OK(dat_ep_free(a.ep))) {
		BAD_HANDLE(dat_ep_free(a.ep), EP);
		a.ep = DAT_HANDLE_NULL;
		OK(dat_cr_reject(cr));
		nothing_more(a.events);
	}
	node_free(&a);
	listener_free(&listener);
}

/* D35: the passive side gives up what it has accepted. */
static void abort_accepted(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (!node_new(&a, &side_a, NULL) || !node_new(&b, &side_b, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !start_connect(&a, listener.qual) ||
	    !next_request(&listener, &cr) ||
	    !OK(dat_cr_accept(cr, b.ep, 0, NULL)) ||
	    !OK(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG)))
		goto out;
	/* It may have been established in the meantime, on either side. */
	if (!next_event(b.events, &event))
		goto out;
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED &&
	    !next_event(b.events, &event))
		goto out;
	CHECK(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	if (!next_event(a.events, &event))
		goto out;
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	else
		CHECK(event.event_number ==
		      DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	nothing_more(a.events);
	nothing_more(b.events);
out:
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
}

static void dup_connect(void)
{
	struct node c = {}, d = {};
	struct link link = {};
	DAT_CR_PARAM cr_param;
	DAT_EP_PARAM first;
	DAT_CR_HANDLE cr;
	u8 data[4] = { 1, 2, 3, 4 };

	if (!link_new(&link, NULL, NULL) || !node_new(&c, &side_a, NULL) ||
	    !node_new(&d, &side_b, NULL))
		goto out;
#define DUP(ep, of, timeout, size, data, qos) \
	dat_ep_dup_connect(ep, of, timeout, size, data, qos)
	BAD_STATE(DUP(c.ep, c.ep, 1, 0, NULL, 0), EP_UNCONNECTED);
	BAD_STATE(DUP(link.a.ep, link.a.ep, 1, 0, NULL, 0), EP_CONNECTED);
	BAD_ARG(DUP(d.ep, link.b.ep, CONNECT_US, 0, NULL, 0), 2);
	BAD_HANDLE(DUP(d.ep, link.a.ep, CONNECT_US, 0, NULL, 0), EP);
	BAD_ARG(DUP(c.ep, link.a.ep, 0, 0, NULL, 0), 3);
	BAD_ARG(DUP(c.ep, link.a.ep, 1, -1, data, 0), 4);
	BAD_ARG(DUP(c.ep, link.a.ep, 1, 1000, data, 0), 4);
	BAD_ARG(DUP(c.ep, link.a.ep, 1, 4, NULL, 0), 5);
	IS(DUP(c.ep, link.a.ep, 1, 0, NULL, DAT_QOS_ECONOMY),
	   DAT_MODEL_NOT_SUPPORTED, 0);
	state_is(c.ep, DAT_EP_STATE_UNCONNECTED);
	if (!OK(DUP(c.ep, link.a.ep, CONNECT_US, 4, data, 0)) ||
	    !next_request(&link.listener, &cr) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param)))
		goto out;
#undef DUP
	CHECK(!memcmp(cr_param.private_data, data, 4));
	if (OK(dat_ep_query(link.a.ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &first)))
		CHECK(first.local_port_qual != cr_param.remote_port_qual);
	if (OK(dat_cr_accept(cr, d.ep, 0, NULL))) {
		want_conn(c.events, c.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		want_conn(d.events, d.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	state_is(link.a.ep, DAT_EP_STATE_CONNECTED);
	nothing_more(link.a.events);
out:
	node_free(&c);
	node_free(&d);
	link_free(&link);
}

const struct test_case connect_cases[] = {
	{ "T10 T13 T15 T22 E7 E9 P8 P40 P41 P42 P45 P50 P52 P53 P54 P55",
	  "connect, accept, private data both ways", private_data_both_ways },
	{ "T16 C7 P45 P70 E8", "the consumer rejects", consumer_rejects },
	{ "T17 C8", "nobody listens", nobody_listens },
	{ "T19 T23 C10 P44 P56 P57", "nobody answers in time", nobody_answers },
	{ "T18 C9", "nobody has the address", nobody_there },
	{ "T20 D30 D31 D32 D34 D36", "disconnect while connecting",
	  abort_attempt },
	{ "T20 D30 D32", "disconnect while the address is looked for",
	  abort_while_resolving },
	{ "D35", "disconnect right after accepting", abort_accepted },
	{ "T21 F6 P72", "the active side is freed before the reject",
	  gone_before_reject },
	{ "T14 C1 C2 C3 C5 C6 C12 C13 C14 C15 C16 C17", "dup_connect",
	  dup_connect },
	{}
};
