// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many connections at once.
 */
#include <linux/slab.h>
#include "kdat_rules.h"

#define MANY	200

struct crowd {
	struct collector *a_events;
	struct collector *b_events;
	struct listener listener;
	struct mem a_mem, b_mem;
	DAT_EP_HANDLE a[MANY];
	DAT_EP_HANDLE b[MANY];
};

static const DAT_EP_ATTR small = {
	.service_type = DAT_SERVICE_TYPE_RC,
	.max_message_size = 4096,
	.max_rdma_size = 4096,
	.max_recv_dtos = 2,
	.max_request_dtos = 2,
	.max_recv_iov = 1,
	.max_request_iov = 1,
	.max_rdma_read_iov = 1,
	.max_rdma_write_iov = 1,
};

static bool crowd_new(struct crowd *crowd)
{
	int i;

	crowd->a_events = collector_new(&side_a, 1024, DAT_EVD_DTO_FLAG |
					DAT_EVD_CONNECTION_FLAG);
	crowd->b_events = collector_new(&side_b, 1024, DAT_EVD_DTO_FLAG |
					DAT_EVD_CONNECTION_FLAG);
	if (!crowd->a_events || !crowd->b_events ||
	    !listener_new(&crowd->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !mem_new(&side_a, &crowd->a_mem, 4096, DAT_MEM_PRIV_ALL_FLAG) ||
	    !mem_new(&side_b, &crowd->b_mem, 4096, DAT_MEM_PRIV_ALL_FLAG))
		return false;
	for (i = 0; i < MANY; i++) {
		if (!OK(dat_ep_create(side_a.ia, side_a.pz,
				      crowd->a_events->evd,
				      crowd->a_events->evd,
				      crowd->a_events->evd, &small,
				      &crowd->a[i])) ||
		    !OK(dat_ep_create(side_b.ia, side_b.pz,
				      crowd->b_events->evd,
				      crowd->b_events->evd,
				      crowd->b_events->evd, &small,
				      &crowd->b[i])))
			return false;
	}
	return true;
}

static void crowd_free(struct crowd *crowd)
{
	int i;

	for (i = 0; i < MANY; i++) {
		if (crowd->a[i])
			OK(dat_ep_free(crowd->a[i]));
		if (crowd->b[i])
			OK(dat_ep_free(crowd->b[i]));
	}
	collector_free(crowd->a_events);
	collector_free(crowd->b_events);
	listener_free(&crowd->listener);
	mem_free(&crowd->a_mem);
	mem_free(&crowd->b_mem);
}

/* Each EP of @eps is named by exactly one event of the kind, in any order. */
static bool each_has(struct collector *collector, const DAT_EP_HANDLE *eps,
		     DAT_EVENT_NUMBER number)
{
	bool *seen = kcalloc(MANY, sizeof(*seen), GFP_KERNEL);
	bool ok = seen;
	DAT_EVENT event;
	int i, n;

	for (n = 0; ok && n < MANY; n++) {
		DAT_EP_HANDLE ep;

		ok = want_event(collector, number, &event);
		if (!ok)
			break;
		ep = number == DAT_DTO_COMPLETION_EVENT ?
			event.event_data.dto_completion_event_data.ep_handle :
			event.event_data.connect_event_data.ep_handle;
		if (number == DAT_DTO_COMPLETION_EVENT)
			ok = CHECK(event.event_data.dto_completion_event_data
				   .status == DAT_DTO_SUCCESS);
		for (i = 0; i < MANY && eps[i] != ep; i++)
			;
		ok = ok && CHECK(i < MANY) && CHECK(!seen[i]);
		if (ok)
			seen[i] = true;
	}
	if (!ok)
		fail("after %d of %d", n, MANY);
	kfree(seen);
	return ok;
}

static bool crowd_connect(struct crowd *crowd)
{
	struct node node = {};
	DAT_CR_HANDLE cr;
	int i;

	for (i = 0; i < MANY; i++) {
		node.ep = crowd->a[i];
		if (!start_connect(&node, crowd->listener.qual))
			return false;
	}
	for (i = 0; i < MANY; i++)
		if (!next_request(&crowd->listener, &cr) ||
		    !OK(dat_cr_accept(cr, crowd->b[i], 0, NULL)))
			return fail("request %d", i);
	return each_has(crowd->a_events, crowd->a,
			DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       each_has(crowd->b_events, crowd->b,
			DAT_CONNECTION_EVENT_ESTABLISHED);
}

static bool crowd_talk(struct crowd *crowd)
{
	DAT_LMR_TRIPLET from = piece(&crowd->a_mem, 0, 100);
	DAT_LMR_TRIPLET into = piece(&crowd->b_mem, 0, 100);
	const DAT_DTO_COOKIE cookie = {};
	int i;

	for (i = 0; i < MANY; i++)
		if (!OK(dat_ep_post_recv(crowd->b[i], 1, &into, cookie, 0)))
			return false;
	for (i = 0; i < MANY; i++)
		if (!OK(dat_ep_post_send(crowd->a[i], 1, &from, cookie, 0)))
			return false;
	return each_has(crowd->b_events, crowd->b, DAT_DTO_COMPLETION_EVENT) &&
	       each_has(crowd->a_events, crowd->a, DAT_DTO_COMPLETION_EVENT);
}

static void crowd_ends(struct crowd *crowd)
{
	int i;

	/* Requests came in any order: nobody knows who a peer of a[i] is. */
	for (i = 0; i < MANY; i++) {
		OK(dat_ep_disconnect(crowd->a[i], i & 1 ?
				     DAT_CLOSE_ABRUPT_FLAG :
				     DAT_CLOSE_GRACEFUL_FLAG));
		if (i & 2)
			OK(dat_ep_disconnect(crowd->b[i],
					     DAT_CLOSE_ABRUPT_FLAG));
	}
	each_has(crowd->a_events, crowd->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	each_has(crowd->b_events, crowd->b, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void connect_all(void)
{
	struct crowd *crowd = kvzalloc(sizeof(*crowd), GFP_KERNEL);

	if (!crowd)
		return;
	if (crowd_new(crowd) && crowd_connect(crowd) && crowd_talk(crowd))
		crowd_ends(crowd);
	crowd_free(crowd);
	kvfree(crowd);
}

const struct test_case many_cases[] = {
	{ "P6 D6", "200 connections at once", connect_all },
	{}
};
