// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device of side b is removed while transfers run.  The script that asked
 * for this scenario removes it when the file REMOVAL_READY is there.
 */
#include "pool.h"

/*
 * Traffic, an idle connection, a request that nobody has answered, and what side b has without
 * a connection.
 */
struct removal {
	struct pair busy, idle;
	struct node single;
	struct pool pool;
	DAT_EVD_HANDLE async;	/* of side b */
	struct node waiting;
	DAT_CR_HANDLE cr;
	struct thread sender;
};

static bool new_pair(struct pair *p)
{
	return platform_node(&p->a, &side_a) && platform_node(&p->b, &side_b) &&
	       listener_new(&p->listener, DAT_PSP_CONSUMER_FLAG) &&
	       pair_connect(&p->a, &p->b, &p->listener);
}

/* On iWARP nobody waits for a receive; writes need none. */
static DAT_RETURN one_more(struct pair *p)
{
	DAT_RMR_TRIPLET to = remote_piece(&p->b.mem, 0, 1024);

	if (side_is_iwarp(&side_a))
		return node_write(&p->a, 0, 1024, &to, 1, 0);
	return node_send(&p->a, 0, 1024, 1, 0);
}

static bool was_good(const DAT_EVENT *event)
{
	return event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       event->event_data.dto_completion_event_data.status ==
	       DAT_DTO_SUCCESS;
}

/* The thread: posts again whatever completes, until the connection event comes. */
static int keep_sending(void *arg)
{
	struct pair *p = arg;
	DAT_EVENT event;
	int i;

	for (i = 0; i < 8; i++)
		OK(one_more(p));
	do {
		if (!next_event(p->a.conn, &event))
			return -1;
		if (was_good(&event))
			one_more(p);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	return 0;
}

static bool start_traffic(struct removal *r)
{
	struct pair *p = &r->busy;
	int i;

	if (!new_pair(p))
		return false;
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&p->b, 0, 4096, 1));
	return platform_receive_again(&p->b) &&
	       thread_start(&r->sender, keep_sending, p);
}

/* E71: nothing new, and everything can be looked at. */
static void shells_refuse(struct node *node, struct listener *listener)
{
	DAT_EP_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_IA_HANDLE ia;
	DAT_HANDLE out;

	IS(dat_pz_create(side_b.ia, &out), DAT_INVALID_STATE, 0);
	IS(dat_ep_create(side_b.ia, side_b.pz, NULL, NULL, NULL, NULL, &out),
	   DAT_INVALID_STATE, 0);
	IS(platform_evd_create(side_b.ia, 1, 1, &out), DAT_INVALID_STATE, 0);
	IS(dat_psp_create_any(side_b.ia, &qual, listener->requests, 0, &out),
	   DAT_INVALID_STATE, 0);
	OK(dat_ep_query(node->ep, DAT_EP_FIELD_ALL, &param));
	/* G8: nor can it be opened; the other one can. */
	out = DAT_HANDLE_NULL;
	IS(dat_ia_open(side_b.name, 1, &out, &ia), DAT_PROVIDER_NOT_FOUND,
	   DAT_NAME_NOT_REGISTERED);
	out = DAT_HANDLE_NULL;
	if (OK(dat_ia_open(side_a.name, 1, &out, &ia)))
		OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* The same for what passes the kernel by in passthrough. */
static void shells_refuse_data(struct removal *r)
{
	DAT_LMR_TRIPLET segment = piece(&r->single.mem, 0, 64);
	DAT_REGION_DESCRIPTION region = { .for_va = r->single.mem.va };
	DAT_LMR_CONTEXT context;
	DAT_HANDLE out;

	state_is(r->single.ep, DAT_EP_STATE_UNCONNECTED);
	IS(node_recv(&r->single, 0, 64, 1), DAT_INVALID_STATE, 0);
	if (r->pool.srq)
		IS(pool_post(&r->pool, 1), DAT_INVALID_STATE, 0);
	IS(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, side_b.pz,
			       DAT_MEM_PRIV_ALL_FLAG, &out, &context, NULL),
	   DAT_INVALID_STATE, 0);
	IS(dat_rmr_create(side_b.pz, &out), DAT_INVALID_STATE, 0);
	IS(dat_lmr_sync_rdma_read(side_b.ia, &segment, 1), DAT_INVALID_STATE, 0);
	IS(dat_lmr_sync_rdma_write(side_b.ia, &segment, 1), DAT_INVALID_STATE, 0);
#ifndef __KERNEL__
	IS(dat_cno_create(side_b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &out), DAT_INVALID_STATE, 0);
#endif
}

static bool next_is_flushed(struct node *node, DAT_EVENT *event)
{
	return want_event(node->conn, DAT_DTO_COMPLETION_EVENT, event) &&
	       CHECK(event->event_data.dto_completion_event_data.status ==
		     DAT_DTO_ERR_FLUSHED);
}

/* Side b after its device is gone: all flushed, one BROKEN, shells remain. */
static void shells_remain(struct removal *r)
{
	struct node *node = &r->busy.b;
	DAT_EVENT event;
	DAT_RETURN ret;

	do {
		if (!next_event(node->conn, &event))
			return;
		if (was_good(&event))
			node_recv(node, 0, 4096, 1);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	if (event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		FAIL("%s at the removed side", event_name(event.event_number));
	state_is(node->ep, DAT_EP_STATE_DISCONNECTED);
	if (!want_event(r->async, DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event))
		return;
	CHECK(event.event_data.asynch_error_event_data.dat_handle == side_b.ia);
	CHECK(event.event_data.asynch_error_event_data.reason ==
	      DAT_IA_CATASTROPHIC_ERROR);
	shells_refuse(node, &r->busy.listener);
	shells_refuse_data(r);
	/*
	 * When the connection was over, the loop above and the upcall may have posted receives
	 * for messages that came before.  These are flushed, and until their events are taken
	 * there may be no room for another one.
	 */
	do {
		ret = node_recv(node, 0, 8, 5);
	} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
		 next_is_flushed(node, &event));
	if (!OK(ret))
		return;
	while (next_is_flushed(node, &event) &&
	       event.event_data.dto_completion_event_data.user_cookie.as_64 != 5)
		;
}

/* ... and can be freed, one by one; then the IA closes gracefully. */
static void shells_go(struct removal *r)
{
	node_free(&r->busy.b);
	node_free(&r->idle.b);
	node_free(&r->single);
	if (r->pool.srq) {
		OK(dat_srq_free(r->pool.srq));
		mem_free(&r->pool.mem);
	}
	listener_free(&r->busy.listener);
	listener_free(&r->idle.listener);
	OK(dat_evd_free(r->async));
	OK(dat_pz_free(side_b.pz));
	side_close(&side_b, DAT_CLOSE_GRACEFUL_FLAG);
}

static void removal(void)
{
	struct removal *r = scenario_alloc(sizeof(*r));

	if (!r || !evd_new(&side_b, 4, DAT_EVD_ASYNC_FLAG, &r->async) ||
	    !node_new(&r->single, &side_b, THREE_EVDS, NULL) ||
	    (srqs_here() && !pool_new(&r->pool)) ||
	    !new_pair(&r->idle) || !start_traffic(r) ||
	    !node_new(&r->waiting, &side_a, THREE_EVDS, NULL) ||
	    !start_connect(&r->waiting, r->busy.listener.qual) ||
	    !next_request(&r->busy.listener, &r->cr))
		return;
	CHECK(!run_command("touch " REMOVAL_READY));
	shells_remain(r);
	thread_join(&r->sender);
	want_conn(r->idle.b.conn, r->idle.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	OK(dat_cr_reject(r->cr));
	shells_go(r);
}

static const struct scenario scenarios[] = {
	SCENARIO("E71 G8 I19 A10 mt:M79 the device goes, under traffic",
		 removal),
};

SCENARIO_TABLE(removal_table);
