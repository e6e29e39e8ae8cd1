// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_ep_modify: what it changes and what it leaves alone; and endpoints with
 * more posts than the core moves in one go.
 */
#include <linux/slab.h>
#include "kdat_rules.h"

#define FLAGS_BOTH	(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS | \
			 DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)

#define THRESHOLD	DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define UNSIGNALLED	DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED	DAT_COMPLETION_SOLICITED_WAIT_FLAG

static bool attr_of(DAT_EP_HANDLE ep, DAT_EP_ATTR *attr)
{
	DAT_EP_PARAM param;

	if (!OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param)))
		return false;
	*attr = param.ep_attr;
	return true;
}

static DAT_RETURN set_flags(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			    DAT_COMPLETION_FLAGS recv,
			    DAT_COMPLETION_FLAGS request)
{
	DAT_EP_PARAM param = {
		.ep_attr.recv_completion_flags = recv,
		.ep_attr.request_completion_flags = request,
	};

	return dat_ep_modify(ep, mask, &param);
}

static bool flags_are(DAT_EP_HANDLE ep, DAT_COMPLETION_FLAGS recv,
		      DAT_COMPLETION_FLAGS request)
{
	DAT_EP_ATTR attr;

	return attr_of(ep, &attr) && CHECK(attr.recv_completion_flags == recv) &&
	       CHECK(attr.request_completion_flags == request);
}

static DAT_RETURN ep_on(struct collector *recv, struct collector *request,
			struct collector *connect, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(side_b.ia, side_b.pz, recv ? recv->evd : NULL,
			     request ? request->evd : NULL,
			     connect ? connect->evd : NULL, &node_attr, ep);
}

/* One EVD for both directions, and two endpoints on it. */
static void flags_shared(struct collector *evd)
{
	DAT_EP_HANDLE ep, other;
	int i;

	if (!OK(ep_on(evd, evd, NULL, &ep)))
		return;
	OK(set_flags(ep, FLAGS_BOTH, UNSIGNALLED, UNSIGNALLED));
	flags_are(ep, UNSIGNALLED, UNSIGNALLED);
	/* The two directions of one endpoint are two streams. */
	BAD_ARG(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
			  THRESHOLD, 0), 3);
	BAD_ARG(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
			  SOLICITED, 0), 3);
	flags_are(ep, UNSIGNALLED, UNSIGNALLED);
	/* A refused change leaves the EVD as it was. */
	BAD_ARG(ep_on(evd, NULL, NULL, &other), 6);
	OK(set_flags(ep, FLAGS_BOTH, DAT_COMPLETION_DEFAULT_FLAG, THRESHOLD));
	flags_are(ep, THRESHOLD, THRESHOLD);

	/* An endpoint that is not alone. */
	if (OK(ep_on(evd, NULL, NULL, &other))) {
		BAD_ARG(set_flags(ep, FLAGS_BOTH, UNSIGNALLED, UNSIGNALLED), 3);
		BAD_ARG(set_flags(other, FLAGS_BOTH, UNSIGNALLED, THRESHOLD), 3);
		OK(set_flags(other, FLAGS_BOTH, THRESHOLD, UNSIGNALLED));
		flags_are(ep, THRESHOLD, THRESHOLD);
		OK(dat_ep_free(other));
	}
	for (i = 0; i < 20; i++) {
		OK(set_flags(ep, FLAGS_BOTH, UNSIGNALLED, UNSIGNALLED));
		OK(set_flags(ep, FLAGS_BOTH, THRESHOLD, THRESHOLD));
	}
	OK(dat_ep_free(ep));
}

/* Receives alone on their EVD; then with connection events. */
static void flags_alone(struct collector *evd)
{
	DAT_EP_PARAM param = { .connect_evd_handle = evd->evd };
	DAT_EP_HANDLE ep;

	if (!OK(ep_on(evd, NULL, NULL, &ep)))
		return;
	OK(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, SOLICITED,
		     0));
	OK(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, UNSIGNALLED,
		     0));
	flags_are(ep, UNSIGNALLED, THRESHOLD);
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), 3);
	/* Both at once. */
	param.ep_attr.recv_completion_flags = THRESHOLD;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	BAD_ARG(set_flags(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
			  SOLICITED, 0), 3);
	param.connect_evd_handle = DAT_HANDLE_NULL;
	param.ep_attr.recv_completion_flags = SOLICITED;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			 DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	flags_are(ep, SOLICITED, THRESHOLD);
	OK(dat_ep_free(ep));
}

static void completion_flags(void)
{
	struct collector *evd = collector_new(&side_b, 16, COLLECT_ALL);

	if (evd) {
		flags_shared(evd);
		flags_alone(evd);
	}
	/* Freed: not one stream was left behind. */
	collector_free(evd);
}

/* dat_ep_modify of one attribute changes that one and nothing else. */
#define SET(field, mask, value) do { \
	param.ep_attr = node_attr; \
	param.ep_attr.field = (value); \
	want.field = (value); \
	if (OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_##mask, &param)) && \
	    attr_of(ep, &now) && memcmp(&now, &want, sizeof(now))) \
		fail("%s alone, or something else, changed", #field); \
	} while (0)

static void each_attribute(void)
{
	DAT_EP_ATTR want, now;
	DAT_EP_PARAM param = {};
	struct node node = {};
	DAT_EP_HANDLE ep;

	if (!node_new(&node, &side_b, NULL) || !attr_of(node.ep, &want))
		goto out;
	ep = node.ep;
	SET(max_message_size, MAX_MESSAGE_SIZE, 12345);
	SET(max_rdma_size, MAX_RDMA_SIZE, 23456);
	SET(max_recv_dtos, MAX_RECV_DTOS, 99);
	SET(max_request_dtos, MAX_REQUEST_DTOS, 77);
	SET(max_recv_iov, MAX_RECV_IOV, 2);
	SET(max_request_iov, MAX_REQUEST_IOV, 3);
	SET(max_rdma_read_in, MAX_RDMA_READ_IN, 2);
	SET(max_rdma_read_out, MAX_RDMA_READ_OUT, 1);
	SET(max_rdma_read_iov, MAX_RDMA_READ_IOV, 1);
	SET(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, 2);
	SET(max_recv_dtos, MAX_RECV_DTOS, 5);
out:
	node_free(&node);
}

/* The completion queue need not hold what an endpoint had and what it gets. */
static void large_queues(void)
{
	struct collector *evd = collector_new(&side_b, 16, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = node_attr;
	DAT_EP_PARAM param = {};
	DAT_IA_ATTR ia;
	DAT_EP_HANDLE ep;
	int i;

	if (!evd || !OK(dat_ia_query(side_b.ia, NULL, DAT_IA_ALL, &ia, 0, NULL)))
		goto out;
	attr.max_recv_iov = 1;
	attr.max_request_dtos = 10;
	attr.max_recv_dtos = min(ia.max_evd_qlen - 100, ia.max_dto_per_ep);
	if (!OK(dat_ep_create(side_b.ia, side_b.pz, evd->evd, evd->evd, NULL,
			      &attr, &ep)))
		goto out;
	param.ep_attr.max_message_size = 4096;
	for (i = 0; i < 3; i++)
		OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
				 &param));
	param.ep_attr.max_recv_dtos = attr.max_recv_dtos - 1;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	if (ia.max_dto_per_ep > ia.max_evd_qlen) {
		param.ep_attr.max_recv_dtos = ia.max_evd_qlen;
		IS(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
		CHECK(attr_of(ep, &attr) && attr.max_recv_dtos < ia.max_evd_qlen);
	}
	OK(dat_ep_free(ep));
out:
	collector_free(evd);
}

#define LOTS	300

static bool post_lots(struct node *node, u64 first, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!OK(node_recv(node, 0, 16, first + i)))
			return false;
	return true;
}

static bool flushed_lots(struct node *node, u64 first, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!want_dto(node->events, node->ep, first + i,
			      DAT_DTO_ERR_FLUSHED, 0))
			return false;
	return true;
}

/* Receives held before there is a queue, posted on one, and after its end. */
static void held_lots(void)
{
	struct link *link = kzalloc(sizeof(*link), GFP_KERNEL);
	DAT_EP_ATTR attr = node_attr;
	int i;

	if (!link)
		return;
	attr.max_recv_dtos = LOTS;
	if (!node_new(&link->a, &side_a, &attr) ||
	    !node_new(&link->b, &side_b, &attr) ||
	    !listener_new(&link->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !post_lots(&link->a, 1000, LOTS) || !post_lots(&link->b, 2000, LOTS) ||
	    !link_connect(&link->a, &link->b, &link->listener))
		goto out;
	for (i = 0; i < 100; i++)
		if (!OK(node_send(&link->a, 0, 16, i, 0)) ||
		    !want_dto(link->a.events, link->a.ep, i, DAT_DTO_SUCCESS, 16) ||
		    !want_dto(link->b.events, link->b.ep, 2000 + i,
			      DAT_DTO_SUCCESS, 16))
			goto out;
	if (!post_lots(&link->b, 2000 + LOTS, 100) ||
	    !OK(dat_ep_disconnect(link->a.ep, DAT_CLOSE_ABRUPT_FLAG)))
		goto out;
	if (flushed_lots(&link->a, 1000, LOTS))
		want_conn(link->a.events, link->a.ep,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
	if (flushed_lots(&link->b, 2100, LOTS))
		want_conn(link->b.events, link->b.ep,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
	if (post_lots(&link->b, 3000, LOTS))
		flushed_lots(&link->b, 3000, LOTS);
	nothing_more(link->a.events);
	nothing_more(link->b.events);
out:
	link_free(link);
	kfree(link);
}

/* Requests may have come before their attempts were aborted. */
static void reject_all(struct listener *listener)
{
	DAT_EVENT event;

	if (!listener->psp || !OK(dat_psp_free(listener->psp)))
		return;
	listener->psp = DAT_HANDLE_NULL;
	if (!post_marker(listener->requests, 0))
		return;
	while (next_event(listener->requests, &event) &&
	       event.event_number == DAT_CONNECTION_REQUEST_EVENT)
		OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
}

/* The attempt is over before the receives are anywhere; more come meanwhile. */
static void aborted_lots(void)
{
	struct listener listener = {};
	DAT_EP_ATTR attr = node_attr;
	int round, i, done, posted;
	struct node node = {};
	DAT_EVENT event;

	attr.max_recv_dtos = LOTS;
	if (!node_new(&node, &side_a, &attr) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		goto out;
	for (round = 0; round < 10; round++) {
		if (!post_lots(&node, 0, LOTS / 2) ||
		    !start_connect(&node, listener.qual) ||
		    !OK(dat_ep_disconnect(node.ep, DAT_CLOSE_ABRUPT_FLAG)))
			break;
		/* Posts in DIS: behind the event, in order. */
		posted = LOTS / 2;
		for (i = 0; i < LOTS / 2; i++, posted++)
			if (!OK(node_recv(&node, 0, 16, posted)))
				goto out;
		for (done = 0; done < LOTS / 2; done++)
			if (!want_dto(node.events, node.ep, done,
				      DAT_DTO_ERR_FLUSHED, 0))
				goto out;
		if (!want_event(node.events, DAT_CONNECTION_EVENT_DISCONNECTED,
				&event) ||
		    !flushed_lots(&node, done, posted - done) ||
		    !OK(dat_ep_reset(node.ep)))
			break;
	}
	nothing_more(node.events);
out:
	node_free(&node);
	reject_all(&listener);
	listener_free(&listener);
}

const struct test_case modify_cases[] = {
	{ "E21 E.4", "modify: completion flags; other endpoints' count",
	  completion_flags },
	{ "E.4 M4", "modify: each attribute, and no other", each_attribute },
	{ "E.4 A3", "modify: a queue larger than half of the device's",
	  large_queues },
	{ "D43 D45 D46 A7", "300 receives, held, posted, flushed, in order",
	  held_lots },
	{ "T20 D31 D43 D46", "300 receives, and the attempt is aborted",
	  aborted_lots },
	{}
};
