// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The passive side: service points of both kinds, who makes the endpoint, what
 * becomes of requests.
 */
#include "kdat_rules.h"

/* Events of @node again, for an endpoint that somebody else made. */
static bool adopt(struct node *node, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = {
		.pz_handle = node->side->pz,
		.recv_evd_handle = node->events->evd,
		.request_evd_handle = node->events->evd,
		.connect_evd_handle = node->events->evd,
	};

	node->ep = ep;
	return OK(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
				DAT_EP_FIELD_RECV_EVD_HANDLE |
				DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
}

/* A node without an endpoint. */
static bool node_new_empty(struct node *node, struct side *side)
{
	if (!node_new(node, side, NULL) || !OK(dat_ep_free(node->ep)))
		return false;
	node->ep = DAT_HANDLE_NULL;
	return true;
}

/* A message from @a arrives at @b. */
static bool message(struct node *a, struct node *b)
{
	mem_fill(&a->mem, 0, 100, 7);
	return OK(node_recv(b, 0, 100, 11)) && OK(node_send(a, 0, 100, 12, 0)) &&
	       want_dto(b->events, b->ep, 11, DAT_DTO_SUCCESS, 100) &&
	       want_dto(a->events, a->ep, 12, DAT_DTO_SUCCESS, 100) &&
	       mem_check(&b->mem, 0, 100, 7);
}

static void provider_makes_ep(void)
{
	struct node a = {}, b = {}, spare = {};
	struct listener listener = {};
	DAT_CR_PARAM cr;
	DAT_CR_HANDLE handle;
	DAT_EP_HANDLE ep;

	if (!node_new(&a, &side_a, NULL) || !node_new(&spare, &side_b, NULL) ||
	    !node_new_empty(&b, &side_b) ||
	    !listener_new(&listener, DAT_PSP_PROVIDER_FLAG) ||
	    !start_connect(&a, listener.qual) ||
	    !next_request(&listener, &handle) ||
	    !OK(dat_cr_query(handle, DAT_CR_FIELD_ALL, &cr)))
		goto out;
	ep = cr.local_ep_handle;
	if (!CHECK(ep))
		goto out;
	state_is(ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	BAD_STATE(dat_cr_accept(handle, NULL, 0, NULL), EP_NOTREADY);
	BAD_HANDLE(dat_cr_accept(handle, ep, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(handle, spare.ep, 0, NULL), EP);
	BAD_STATE(dat_ep_free(ep), EP_TENTCONNPENDING);
	BAD_STATE(dat_ep_reset(ep), EP_TENTCONNPENDING);
	BAD_STATE(dat_ep_disconnect(ep, 0), EP_TENTCONNPENDING);
	BAD_STATE(dat_ep_connect(ep, (void *)&side_b.addr, 1, 1, 0, NULL, 0, 0),
		  EP_TENTCONNPENDING);
	if (!adopt(&b, ep) || !OK(dat_cr_accept(handle, NULL, 0, NULL)) ||
	    !want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED) ||
	    !want_conn(b.events, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED))
		goto out;
	message(&a, &b);
out:
	node_free(&a);
	node_free(&b);
	node_free(&spare);
	listener_free(&listener);
}

static void provider_ep_rejected(void)
{
	struct listener listener = {};
	struct node a = {};
	DAT_CR_PARAM cr;
	DAT_CR_HANDLE handle;

	if (node_new(&a, &side_a, NULL) &&
	    listener_new(&listener, DAT_PSP_PROVIDER_FLAG) &&
	    start_connect(&a, listener.qual) &&
	    next_request(&listener, &handle) &&
	    OK(dat_cr_query(handle, DAT_CR_FIELD_ALL, &cr)) &&
	    OK(dat_cr_reject(handle))) {
		BAD_HANDLE(dat_ep_get_status(cr.local_ep_handle, NULL, NULL,
					     NULL), EP);
		want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	node_free(&a);
	listener_free(&listener);
}

/* ---- the service point and its requests --------------------------------- */

static void psp_freed(void)
{
	struct node a = {}, b = {}, c = {};
	struct listener listener = {};
	DAT_PSP_PARAM param;
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, NULL) || !node_new(&b, &side_b, NULL) ||
	    !node_new(&c, &side_a, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !start_connect(&a, listener.qual) || !next_request(&listener, &cr) ||
	    !OK(dat_psp_free(listener.psp)))
		goto out;
	BAD_HANDLE(dat_psp_query(listener.psp, 1, &param), PSP);
	BAD_HANDLE(dat_psp_free(listener.psp), PSP);
	listener.psp = DAT_HANDLE_NULL;
	/* P11 */
	if (start_connect(&c, listener.qual))
		want_conn(c.events, c.ep,
			  DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* P12 */
	if (OK(dat_cr_accept(cr, b.ep, 0, NULL))) {
		want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		want_conn(b.events, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	/* P14: the qualifier is free, while a connection over it lives. */
	if (OK(dat_psp_create(side_b.ia, listener.qual, listener.requests->evd,
			      DAT_PSP_CONSUMER_FLAG, &listener.psp)))
		message(&a, &b);
out:
	node_free(&a);
	node_free(&b);
	node_free(&c);
	listener_free(&listener);
}

/* The queue of the CR EVD is the backlog. */
static void backlog(void)
{
	enum { MANY = 8 };
	struct node nodes[MANY] = {};
	struct collector *connects = NULL;
	DAT_EVD_PARAM evd_param;
	DAT_PSP_HANDLE psp = NULL;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	int i, n, used = 0;

	if (!OK(dat_evd_kcreate(side_b.ia, 2, DAT_UPCALL_DISABLE, NULL,
				DAT_EVD_CR_FLAG, &evd)))
		return;
	if (!OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &evd_param)) ||
	    !OK(dat_psp_create_any(side_b.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
				   &psp)))
		goto out;
	n = evd_param.evd_qlen;
	if (!CHECK(n >= 2 && n < MANY))
		goto out;
	connects = collector_new(&side_a, 64, DAT_EVD_CONNECTION_FLAG);
	if (!connects)
		goto out;
	for (; used < n + 1; used++)
		if (!OK(dat_ep_create(side_a.ia, side_a.pz, NULL, NULL,
				      connects->evd, NULL, &nodes[used].ep)) ||
		    !start_connect(&nodes[used], qual))
			goto out;
	/* One of them, whichever came last. */
	if (!want_event(connects, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
			&event))
		goto out;
	if (!OK(dat_evd_dequeue(evd, &event)))
		goto out;
	OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	want_event(connects, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	/* P15, E60: the rest is lost with the EVD. */
	BAD_STATE(dat_evd_free(evd), EVD_IN_USE);
	if (!OK(dat_psp_free(psp)) || !OK(dat_evd_free(evd)))
		goto out;
	psp = DAT_HANDLE_NULL;
	evd = DAT_HANDLE_NULL;
	for (i = 1; i < n; i++)
		want_event(connects, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
			   &event);
out:
	for (i = 0; i < MANY; i++)
		if (nodes[i].ep)
			OK(dat_ep_free(nodes[i].ep));
	collector_free(connects);
	if (psp)
		OK(dat_psp_free(psp));
	if (evd)
		OK(dat_evd_free(evd));
}

static void one_ep_two_requests(void)
{
	struct node a = {}, b = {}, c = {};
	struct listener listener = {};
	DAT_CR_HANDLE first, second;

	if (!node_new(&a, &side_a, NULL) || !node_new(&b, &side_b, NULL) ||
	    !node_new(&c, &side_a, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !start_connect(&a, listener.qual) ||
	    !next_request(&listener, &first) ||
	    !start_connect(&c, listener.qual) ||
	    !next_request(&listener, &second))
		goto out;
	/* P46: in any order. */
	if (!OK(dat_cr_accept(second, b.ep, 0, NULL)) ||
	    !want_conn(b.events, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED) ||
	    !want_conn(c.events, c.ep, DAT_CONNECTION_EVENT_ESTABLISHED))
		goto out;
	BAD_STATE(dat_cr_accept(first, b.ep, 0, NULL), EP_CONNECTED);
	OK(dat_cr_reject(first));
	want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
out:
	node_free(&a);
	node_free(&b);
	node_free(&c);
	listener_free(&listener);
}

/* ---- reserved service points -------------------------------------------- */

struct reserved {
	struct node a, b;
	struct collector *requests;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
};

/* @b's endpoint waits for one request. */
static bool reserved_new(struct reserved *r)
{
	struct listener finder = {};
	bool ok;

	ok = listener_new(&finder, DAT_PSP_CONSUMER_FLAG);
	r->qual = finder.qual;
	listener_free(&finder);
	if (!ok || !node_new(&r->a, &side_a, NULL) ||
	    !node_new(&r->b, &side_b, NULL))
		return false;
	r->requests = collector_new(&side_b, 8, DAT_EVD_CR_FLAG |
				    DAT_EVD_SOFTWARE_FLAG);
	return r->requests &&
	       OK(dat_rsp_create(side_b.ia, r->qual, r->b.ep, r->requests->evd,
				 &r->rsp)) &&
	       state_is(r->b.ep, DAT_EP_STATE_RESERVED);
}

static void reserved_free(struct reserved *r)
{
	if (r->rsp)
		OK(dat_rsp_free(r->rsp));
	node_free(&r->a);
	node_free(&r->b);
	collector_free(r->requests);
}

static bool reserved_request(struct reserved *r, DAT_CR_HANDLE *cr)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event;

	if (!start_connect(&r->a, r->qual) ||
	    !want_event(r->requests, DAT_CONNECTION_REQUEST_EVENT, &event))
		return false;
	data = &event.event_data.cr_arrival_event_data;
	*cr = data->cr_handle;
	return CHECK(data->sp_handle.rsp_handle == r->rsp) &&
	       state_is(r->b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

static void rsp_accept(void)
{
	struct reserved r = {};
	DAT_RSP_PARAM param;
	DAT_CR_PARAM cr_param;
	DAT_HANDLE other;
	DAT_CR_HANDLE cr;
	struct node c = {};

	if (!reserved_new(&r) || !node_new(&c, &side_a, NULL))
		goto out;
	if (OK(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &param)))
		CHECK(param.conn_qual == r.qual && param.ep_handle == r.b.ep);
	BAD_ARG(dat_rsp_query(r.rsp, 0x10, &param), 2);
	BAD_ARG(dat_rsp_query(r.rsp, 1, NULL), 3);
	/* P30, F2 */
	BAD_STATE(dat_ep_free(r.b.ep), EP_RESERVED);
	BAD_STATE(dat_ep_reset(r.b.ep), EP_RESERVED);
	BAD_STATE(dat_ep_disconnect(r.b.ep, 0), EP_RESERVED);
	BAD_STATE(dat_rsp_create(side_b.ia, r.qual + 1, r.b.ep, r.requests->evd,
				 &other), EP_RESERVED);
	/* P31: a receive from before the connection serves it. */
	mem_fill(&r.a.mem, 0, 50, 3);
	OK(node_recv(&r.b, 0, 50, 1));
	if (!reserved_request(&r, &cr) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param)))
		goto out;
	CHECK(cr_param.local_ep_handle == r.b.ep);
	/* F3, P24 */
	BAD_STATE(dat_ep_free(r.b.ep), EP_PASSCONNPENDING);
	BAD_STATE(dat_ep_disconnect(r.b.ep, 0), EP_PASSCONNPENDING);
	BAD_HANDLE(dat_cr_accept(cr, r.b.ep, 0, NULL), EP);
	/* P22 */
	if (start_connect(&c, r.qual))
		want_conn(c.events, c.ep,
			  DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	if (!OK(dat_cr_accept(cr, NULL, 0, NULL)) ||
	    !want_conn(r.a.events, r.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED) ||
	    !want_conn(r.b.events, r.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED))
		goto out;
	OK(node_send(&r.a, 0, 50, 2, 0));
	want_dto(r.b.events, r.b.ep, 1, DAT_DTO_SUCCESS, 50);
	want_dto(r.a.events, r.a.ep, 2, DAT_DTO_SUCCESS, 50);
	mem_check(&r.b.mem, 0, 50, 3);
	/* P27, P29 */
	OK(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &param));
	OK(dat_rsp_free(r.rsp));
	BAD_HANDLE(dat_rsp_free(r.rsp), RSP);
	r.rsp = DAT_HANDLE_NULL;
	state_is(r.b.ep, DAT_EP_STATE_CONNECTED);
out:
	node_free(&c);
	reserved_free(&r);
}

static void rsp_reject(void)
{
	struct reserved r = {};
	struct listener listener = {};
	DAT_RSP_HANDLE second;
	DAT_CR_HANDLE cr;

	if (!reserved_new(&r) || !OK(node_recv(&r.b, 0, 100, 1)) ||
	    !reserved_request(&r, &cr) || !OK(dat_cr_reject(cr)))
		goto out;
	want_conn(r.a.events, r.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	state_is(r.b.ep, DAT_EP_STATE_UNCONNECTED);
	/* In the hands of another RSP it is no business of the first one's. */
	if (!OK(dat_rsp_create(side_b.ia, r.qual + 1, r.b.ep, r.requests->evd,
			       &second)))
		goto out;
	OK(dat_rsp_free(r.rsp));
	r.rsp = DAT_HANDLE_NULL;
	state_is(r.b.ep, DAT_EP_STATE_RESERVED);
	OK(dat_rsp_free(second));
	state_is(r.b.ep, DAT_EP_STATE_UNCONNECTED);
	/* P25: usable at once, with the receive that was posted. */
	if (!OK(dat_ep_reset(r.a.ep)) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !link_connect(&r.a, &r.b, &listener))
		goto out;
	OK(node_send(&r.a, 0, 100, 2, 0));
	want_dto(r.b.events, r.b.ep, 1, DAT_DTO_SUCCESS, 100);
	want_dto(r.a.events, r.a.ep, 2, DAT_DTO_SUCCESS, 100);
out:
	reserved_free(&r);
	listener_free(&listener);
}

static void rsp_freed(void)
{
	struct reserved r = {};
	DAT_PSP_HANDLE psp;

	if (!reserved_new(&r) || !OK(dat_rsp_free(r.rsp)))
		goto out;
	r.rsp = DAT_HANDLE_NULL;
	state_is(r.b.ep, DAT_EP_STATE_UNCONNECTED);
	if (OK(dat_psp_create(side_b.ia, r.qual, r.requests->evd, 0, &psp)))
		OK(dat_psp_free(psp));
out:
	reserved_free(&r);
}

static void rsp_without_ep(void)
{
	struct node a = {}, b = {};
	struct listener listener = {};
	DAT_RSP_HANDLE rsp = NULL;
	DAT_RSP_PARAM param;
	DAT_CR_PARAM cr_param;
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, NULL) || !node_new_empty(&b, &side_b) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_psp_free(listener.psp)))
		goto out;
	listener.psp = DAT_HANDLE_NULL;
	if (!OK(dat_rsp_create(side_b.ia, listener.qual, NULL,
			       listener.requests->evd, &rsp)))
		goto out;
	if (OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param)))
		CHECK(!param.ep_handle);
	listener.psp = rsp;		/* what the event names */
	if (start_connect(&a, listener.qual) && next_request(&listener, &cr) &&
	    OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param)) &&
	    OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param)) &&
	    CHECK(param.ep_handle == cr_param.local_ep_handle) &&
	    state_is(param.ep_handle,
		     DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) &&
	    adopt(&b, param.ep_handle) &&
	    OK(dat_cr_accept(cr, NULL, 0, NULL)) &&
	    want_conn(a.events, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED) &&
	    want_conn(b.events, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED))
		message(&a, &b);
	listener.psp = DAT_HANDLE_NULL;
out:
	if (rsp)
		OK(dat_rsp_free(rsp));
	node_free(&a);
	node_free(&b);
	listener_free(&listener);
}

const struct test_case passive_cases[] = {
	{ "T2 T12 P2 P50 P51 P54 P59 F4 D3 R3", "PSP, the provider makes the EP",
	  provider_makes_ep },
	{ "T8 P71", "an EP of the provider's goes with the reject",
	  provider_ep_rejected },
	{ "P11 P12 P14", "a PSP is freed: requests stay, new ones do not come",
	  psp_freed },
	{ "P7 P15 E60 E67", "the CR EVD is the backlog; requests die with it",
	  backlog },
	{ "P46 P61", "one EP, two requests", one_ep_two_requests },
	{ "T3 T5 T11 P20 P22 P23 P24 P27 P29 P30 P31 F2 F3 D3 R3",
	  "RSP, accept",
	  rsp_accept },
	{ "T6 P25 F3", "RSP, reject: the EP is free again", rsp_reject },
	{ "T4 P26", "RSP, freed before a request", rsp_freed },
	{ "T2 P21", "RSP without an EP", rsp_without_ep },
	{}
};
