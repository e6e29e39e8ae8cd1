// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device of side b is removed while transfers run.  The script that asked
 * for this case removes it when "removal" reads 1.
 */
#include <linux/string.h>
#include "kdat_rules.h"

bool removal_ready;

/* Posts again whatever completes, until the connection event comes. */
static DAT_EVENT_NUMBER keep_sending(struct link *link)
{
	struct collector *events = link->a.events;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	for (;;) {
		if (!next_event(events, &event))
			return 0;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			return event.event_number;
		dto = &event.event_data.dto_completion_event_data;
		if (dto->status == DAT_DTO_SUCCESS)
			node_send(&link->a, 0, 1024, 1, 0);
	}
}

/* What arrives at side b, in its upcall: post the receive again. */
static void receive_again(DAT_PVOID instance_data, const DAT_EVENT *event,
			  DAT_BOOLEAN more_events)
{
	struct link *link = instance_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT &&
	    dto->status == DAT_DTO_SUCCESS)
		node_recv(&link->b, 0, 4096, 1);
	else
		collect(link->b.events, event, more_events);
}

static bool start_traffic(struct link *link)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = link,
		.upcall_func = receive_again,
	};
	int i;

	if (!link_new(link, NULL, NULL) ||
	    !OK(dat_evd_modify_upcall(link->b.events->evd,
				      DAT_UPCALL_SINGLE_INSTANCE, &upcall)))
		return false;
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&link->b, 0, 4096, 1));
	for (i = 0; i < 8; i++)
		OK(node_send(&link->a, 0, 1024, 1, 0));
	return true;
}

/* Side b after its device is gone: all flushed, one BROKEN, shells remain. */
static void shells_remain(struct link *link, struct collector *async)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	struct collector *events = link->b.events;
	DAT_EP_PARAM param;
	DAT_EVENT event;
	DAT_HANDLE out;
	DAT_CONN_QUAL qual;
	DAT_IA_HANDLE ia;

	do {
		if (!next_event(events, &event))
			return;
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	if (event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		fail("%s at the removed side", event_name(event.event_number));
	state_is(link->b.ep, DAT_EP_STATE_DISCONNECTED);

	if (!want_event(async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event))
		return;
	CHECK(event.event_data.asynch_error_event_data.dat_handle == side_b.ia);
	CHECK(event.event_data.asynch_error_event_data.reason ==
	      DAT_IA_CATASTROPHIC_ERROR);

	/* E71: nothing new, and everything can be looked at and freed. */
	IS(dat_pz_create(side_b.ia, &out), DAT_INVALID_STATE, 0);
	IS(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL, NULL, NULL, &out),
	   DAT_INVALID_STATE, 0);
	IS(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 1, &out), DAT_INVALID_STATE,
	   0);
	IS(dat_psp_create_any(side_b.ia, &qual, link->listener.requests->evd, 0,
			      &out), DAT_INVALID_STATE, 0);
	OK(dat_ep_query(link->b.ep, DAT_EP_FIELD_ALL, &param));
	/* G8: nor can it be opened; the other one can. */
	out = DAT_HANDLE_NULL;
	IS(dat_ia_open((char *)side_b.name, 1, &out, &ia),
	   DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	out = DAT_HANDLE_NULL;
	if (OK(dat_ia_open((char *)side_a.name, 1, &out, &ia)))
		OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	/* The upcall may have posted some, too, when it was over already. */
	OK(node_recv(&link->b, 0, 8, 5));
	do {
		if (!want_event(events, DAT_DTO_COMPLETION_EVENT, &event))
			return;
		dto = &event.event_data.dto_completion_event_data;
		CHECK(dto->status == DAT_DTO_ERR_FLUSHED);
	} while (dto->user_cookie.as_64 != 5);
}

static void removal(void)
{
	struct collector *connects = NULL, *async = NULL;
	DAT_EVENT_NUMBER number;
	struct link link = {}, idle = {};
	DAT_EP_HANDLE waiting = NULL;
	struct node node = {};
	DAT_CR_HANDLE cr;

	/* Traffic, an idle connection, a request that nobody has answered. */
	async = collector_new(&side_b, 4, DAT_EVD_ASYNC_FLAG);
	if (!async)
		goto out;
	connects = collector_new(&side_a, 4, DAT_EVD_CONNECTION_FLAG);
	if (!connects || !link_new(&idle, NULL, NULL) ||
	    !start_traffic(&link) ||
	    !OK(dat_ep_create(side_a.ia, side_a.pz, NULL, NULL, connects->evd,
			      NULL, &waiting)))
		goto out;
	node.ep = waiting;
	if (!start_connect(&node, link.listener.qual) ||
	    !next_request(&link.listener, &cr))
		goto out;

	WRITE_ONCE(removal_ready, true);
	number = keep_sending(&link);
	WRITE_ONCE(removal_ready, false);
	CHECK(number == DAT_CONNECTION_EVENT_BROKEN ||
	      number == DAT_CONNECTION_EVENT_DISCONNECTED);
	shells_remain(&link, async);
	want_conn(idle.b.events, idle.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	OK(dat_cr_reject(cr));
out:
	link_free(&link);
	link_free(&idle);
	if (waiting)
		OK(dat_ep_free(waiting));
	collector_free(connects);
	collector_free(async);
}

const struct test_case removal_cases[] = {
	{ "E71 G8 I19 A10 mt:M79", "the device goes, under traffic", removal },
	{}
};
