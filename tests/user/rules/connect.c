// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connecting, disconnecting, reset, free (ep: C, D, R, F, T). */
#include "rig.h"

#define ADDRESS_OF(side)	((DAT_IA_ADDRESS_PTR)&(side).address)

static DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address,
			     DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			     DAT_COUNT size, void *data)
{
	return dat_ep_connect(ep, address, qual, timeout, size, data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void connect_arguments(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	DAT_IA_ADDRESS_PTR to = (DAT_IA_ADDRESS_PTR)&in;
	DAT_COUNT max;
	char data[1024] = { 0 };
	DAT_EP_HANDLE ep;

	rig_both();
	ep = new_ep(&a);
	max = a.provider.max_private_data_size;
	CHECK_RET(connect_to(ep, NULL, 5, LONG, 0, NULL), ARG(2));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 0, LONG, 0, NULL), ARG(3));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 65536, LONG, 0, NULL), ARG(3));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 5, 0, 0, NULL), ARG(4));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 5, LONG, -1, data), ARG(5));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 5, LONG, max + 1, data),
		  ARG(5));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 5, LONG, 1, NULL), ARG(6));
	CHECK_RET(connect_to(ep, ADDRESS_OF(b), 5, LONG, 8, (void *)0x1000),
		  ARG(6));
	CHECK_RET(dat_ep_connect(ep, ADDRESS_OF(b), 5, LONG, 0, NULL,
				 DAT_QOS_BEST_EFFORT, 2), ARG(8));
	CHECK_RET(dat_ep_connect(ep, ADDRESS_OF(b), 5, LONG, 0, NULL,
				 DAT_QOS_PREMIUM, 0),
		  ERR2(MODEL_NOT_SUPPORTED, 0));
	CHECK_RET(dat_ep_connect(ep, ADDRESS_OF(b), 5, LONG, 0, NULL,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_MULTIPATH_FLAG),
		  ERR2(MODEL_NOT_SUPPORTED, 0));
	in.sin_family = 99;
	CHECK_RET(connect_to(ep, to, 5, LONG, 0, NULL),
		  ERR2(INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
	in.sin_family = AF_INET;
	in.sin_addr.s_addr = htonl(0xe0000001);
	CHECK_RET(connect_to(ep, to, 5, LONG, 0, NULL),
		  ERR2(INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED));
	in.sin_addr.s_addr = htonl(0xffffffff);
	CHECK_RET(connect_to(ep, to, 5, LONG, 0, NULL),
		  ERR2(INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED));
	is_state(ep, DAT_EP_STATE_UNCONNECTED);
	no_event(a.conn);
}

static void private_data(void)
{
	DAT_CONNECTION_EVENT_DATA est;
	DAT_COUNT max;
	uint8_t out[512], back[512];
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_EP_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM cr;
	DAT_EVENT event;
	DAT_CR_HANDLE h;
	int i;

	rig_both();
	max = a.provider.max_private_data_size;
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	psp = listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	fill(out, max, 1);
	fill(back, max, 2);
	OK(connect_to(ep_a, ADDRESS_OF(b), qual, LONG, max, out));
	is_state(ep_a, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);

	event = next_event(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	h = event.event_data.cr_arrival_event_data.cr_handle;
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.psp_handle ==
	      psp);
	CHECK_EQ(event.event_data.cr_arrival_event_data.conn_qual, qual);
	CHECK(!memcmp(event.event_data.cr_arrival_event_data
			      .local_ia_address_ptr, &b.address,
		      sizeof(struct sockaddr_in)));
	CHECK_RET(dat_cr_query(h, 0x20, &cr), ARG(2));
	CHECK_RET(dat_cr_query(h, DAT_CR_FIELD_ALL, NULL), ARG(3));
	OK(dat_cr_query(h, DAT_CR_FIELD_ALL, &cr));
	CHECK(cr.private_data_size >= max);
	verify(cr.private_data, max, 1);
	for (i = max; i < cr.private_data_size; i++)	/* P42 */
		CHECK(!((uint8_t *)cr.private_data)[i]);
	CHECK(!cr.local_ep_handle);
	OK(dat_ep_query(ep_a, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(param.local_port_qual, cr.remote_port_qual);
	CHECK_EQ(param.remote_port_qual, qual);
	CHECK_EQ(((struct sockaddr_in *)cr.remote_ia_address_ptr)->sin_addr
			 .s_addr,
		 ((struct sockaddr_in *)&a.address)->sin_addr.s_addr);

	CHECK_RET(dat_cr_accept(h, NULL, 0, NULL), HANDLE(EP));	/* P50 */
	CHECK_RET(dat_cr_accept(h, ep_b, -1, NULL), ARG(3));
	CHECK_RET(dat_cr_accept(h, ep_b, 10000, back), ARG(3));
	CHECK_RET(dat_cr_accept(h, ep_b, 1, NULL), ARG(4));
	CHECK_RET(dat_cr_accept(h, ep_b, 8, (void *)0x1000), ARG(4));
	OK(dat_cr_accept(h, ep_b, max, back));
	CHECK_RET(dat_cr_accept(h, ep_b, 0, NULL), HANDLE(CR));	/* P45 */
	CHECK_RET(dat_cr_query(h, DAT_CR_FIELD_ALL, &cr), HANDLE(CR));
	CHECK_RET(dat_cr_reject(h), HANDLE(CR));

	event = next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	est = event.event_data.connect_event_data;
	CHECK(est.private_data_size >= max);
	verify(est.private_data, max, 2);
	event = next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
	CHECK_EQ(event.event_data.connect_event_data.private_data_size, 0);
	CHECK(!event.event_data.connect_event_data.private_data);
	is_state(ep_a, DAT_EP_STATE_CONNECTED);
	is_state(ep_b, DAT_EP_STATE_CONNECTED);

	/* E7: it stays until the EP is reset */
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	event = next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	CHECK_EQ(event.event_data.connect_event_data.private_data_size, 0);
	verify(est.private_data, max, 2);
	next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
	OK(dat_ep_reset(ep_a));
}

static void rejected(void)
{
	DAT_EP_HANDLE ep;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	rig_both();
	ep = new_ep(&a);
	listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	OK(post_recv(&a, ep, 0, 8, 77));
	start_connect(ep, qual);
	cr = next_request();
	OK(dat_cr_reject(cr));
	CHECK_RET(dat_cr_reject(cr), HANDLE(CR));
	event = next_of(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
	CHECK_EQ(event.event_data.connect_event_data.private_data_size, 0);
	is_state(ep, DAT_EP_STATE_DISCONNECTED);
	completes(a.recv, ep, 77, DAT_DTO_ERR_FLUSHED);
	no_event(b.conn);
}

static void nobody_listens(void)
{
	DAT_EP_HANDLE ep;
	DAT_CONN_QUAL qual;

	rig_both();
	ep = new_ep(&a);
	OK(dat_psp_free(listen_any(DAT_PSP_CONSUMER_FLAG, &qual)));
	OK(post_recv(&a, ep, 0, 8, 1));
	start_connect(ep, qual);
	next_of(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
	is_state(ep, DAT_EP_STATE_DISCONNECTED);
	completes(a.recv, ep, 1, DAT_DTO_ERR_FLUSHED);
}

static void times_out(void)
{
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	double start;

	rig_both();
	ep = new_ep(&a);
	listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	start = check_now();
	OK(connect_to(ep, ADDRESS_OF(b), qual, 700000, 0, NULL));
	cr = next_request();
	next_of(a.conn, DAT_CONNECTION_EVENT_TIMED_OUT, ep);
	CHECK(check_now() - start >= 0.7);
	is_state(ep, DAT_EP_STATE_DISCONNECTED);

	/* P44 P56: the CR is still there; accepting it comes to nothing */
	ep = new_ep(&b);
	OK(dat_cr_accept(cr, ep, 0, NULL));
	next_of(b.conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, ep);
	is_state(ep, DAT_EP_STATE_DISCONNECTED);
}

/* 192.0.2.0/24 is nobody's; 10.9.0.99 is not on this network. */
static void unreachable(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	DAT_EP_HANDLE ep;

	rig_both();
	ep = new_ep(&a);
	in.sin_addr.s_addr = inet_addr("192.0.2.1");
	OK(connect_to(ep, (DAT_IA_ADDRESS_PTR)&in, 5, LONG, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_UNREACHABLE, ep);
	is_state(ep, DAT_EP_STATE_DISCONNECTED);
	OK(dat_ep_reset(ep));
	in.sin_addr.s_addr = inet_addr("10.9.0.99");
	OK(connect_to(ep, (DAT_IA_ADDRESS_PTR)&in, 5, 300000, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_UNREACHABLE, ep);
}

static void graceful(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	int i;

	rig_both();
	connected(&ep_a, &ep_b);
	CHECK_RET(dat_ep_disconnect(ep_a, 2), ARG(2));
	CHECK_RET(dat_ep_disconnect(ep_a, 0x80000000u), ARG(2));
	is_state(ep_a, DAT_EP_STATE_CONNECTED);
	for (i = 0; i < 4; i++)
		OK(post_recv(&b, ep_b, i * 4096, 4096, 10 + i));
	OK(post_recv(&a, ep_a, 0, 64, 50));
	for (i = 0; i < 4; i++) {
		fill(a.mem + 65536 + i * 4096, 4096, i);
		OK(post_send(&a, ep_a, 65536 + i * 4096, 4096, 20 + i,
			     i == 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0));
	}
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));	/* D16 */
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	is_state(ep_a, DAT_EP_STATE_DISCONNECTED);	/* D8 */
	/* D11, D45: all were sent, and all completions are there by now */
	for (i = 0; i < 4; i++)
		if (i != 1)
			completes(a.req, ep_a, 20 + i, DAT_DTO_SUCCESS);
	completes(a.recv, ep_a, 50, DAT_DTO_ERR_FLUSHED);
	next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
	for (i = 0; i < 4; i++) {
		completes(b.recv, ep_b, 10 + i, DAT_DTO_SUCCESS);
		verify(b.mem + i * 4096, 4096, i);
	}
	/* D4 D6: no more events, whatever is called */
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_ep_disconnect(ep_b, DAT_CLOSE_ABRUPT_FLAG));
	stays_silent(a.conn);
	no_event(b.conn);
}

/* D45 to the letter: nothing is waited for once DISCONNECTED was seen. */
static void all_before_the_event(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_EVENT event;
	int i, round;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	for (round = 0; round < 20; round++) {
		connect_eps(ep_a, ep_b);
		for (i = 0; i < 8; i++)
			OK(post_recv(&a, ep_a, 0, 64, i));
		for (i = 0; i < 8; i++)
			OK(post_send(&a, ep_a, 0, 64, i, 0));
		OK(dat_ep_disconnect(ep_a, DAT_CLOSE_ABRUPT_FLAG));
		next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
		OK(dat_ep_get_status(ep_a, NULL, &recv_idle, &request_idle));
		CHECK(recv_idle && request_idle);
		for (i = 0; i < 8; i++) {
			OK(dat_evd_dequeue(a.recv, &event));
			CHECK_EQ(event.event_data.dto_completion_event_data
				 .user_cookie.as_64, i);
			OK(dat_evd_dequeue(a.req, &event));
			CHECK_EQ(event.event_data.dto_completion_event_data
				 .user_cookie.as_64, i);
		}
		no_event(a.recv);
		no_event(a.req);
		next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
		OK(dat_ep_reset(ep_a));
		OK(dat_ep_reset(ep_b));
	}
}

/* The peer posts no receive, so a drain hangs until it is given up. */
static void drain_given_up(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET to;
	DAT_EVENT event;
	bool failed = false;
	int i;

	rig_both();
	connected(&ep_a, &ep_b);
	for (i = 0; i < 3; i++)
		OK(post_send(&a, ep_a, 0, 64, i, 0));
	OK(post_recv(&a, ep_a, 0, 64, 9));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	is_state(ep_a, DAT_EP_STATE_DISCONNECT_PENDING);
	stays_silent(a.conn);
	/* D14 D15 */
	to = remote(&b, 0, 8);
	CHECK_RET(post_send(&a, ep_a, 0, 8, 1, 0), STATE(EP_DISCPENDING));
	CHECK_RET(post_write(&a, ep_a, 0, &to, 8, 1, 0),
		  STATE(EP_DISCPENDING));
	CHECK_RET(post_read(&a, ep_a, 0, &to, 8, 1, 0), STATE(EP_DISCPENDING));
	CHECK_RET(dat_ep_reset(ep_a), STATE(EP_DISCPENDING));
	OK(post_recv(&a, ep_a, 64, 64, 10));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_ABRUPT_FLAG));	/* D22 */
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	for (i = 0; i < 3; i++) {
		event = next_event(a.req, DAT_DTO_COMPLETION_EVENT);
		data = &event.event_data.dto_completion_event_data;
		CHECK_EQ(data->user_cookie.as_64, i);
		if (failed)
			CHECK(data->status != DAT_DTO_SUCCESS);	/* D21 */
		failed |= data->status != DAT_DTO_SUCCESS;
	}
	CHECK(failed);
	completes(a.recv, ep_a, 9, DAT_DTO_ERR_FLUSHED);
	completes(a.recv, ep_a, 10, DAT_DTO_ERR_FLUSHED);
	next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);	/* D24 */
	stays_silent(a.conn);
}

static void both_at_once(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	int round;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	for (round = 0; round < 10; round++) {
		connect_eps(ep_a, ep_b);
		OK(dat_ep_disconnect(ep_a, round & 1));
		OK(dat_ep_disconnect(ep_b, round >> 1 & 1));
		next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
		next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
		OK(dat_ep_reset(ep_a));
		OK(dat_ep_reset(ep_b));
		no_event(a.conn);
		no_event(b.conn);
	}
}

/* What is posted in DISCONNECTED is flushed at once, after all else (D46). */
static void disconnected(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET to;

	rig_both();
	connected(&ep_a, &ep_b);
	to = remote(&b, 0, 64);
	OK(post_recv(&a, ep_a, 0, 64, 1));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_ABRUPT_FLAG));
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	OK(post_recv(&a, ep_a, 0, 64, 2));
	OK(post_send(&a, ep_a, 0, 64, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post_write(&a, ep_a, 0, &to, 64, 4, 0));
	OK(post_read(&a, ep_a, 0, &to, 64, 5, 0));
	completes(a.recv, ep_a, 1, DAT_DTO_ERR_FLUSHED);
	completes(a.recv, ep_a, 2, DAT_DTO_ERR_FLUSHED);
	completes(a.req, ep_a, 3, DAT_DTO_ERR_FLUSHED);
	completes(a.req, ep_a, 4, DAT_DTO_ERR_FLUSHED);
	completes(a.req, ep_a, 5, DAT_DTO_ERR_FLUSHED);
	/* arguments are still looked at */
	CHECK_RET(post_send(&a, ep_a, MEM, 64, 3, 0), ARG(3));
}

static void abort_attempt(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	OK(post_recv(&a, ep_a, 0, 64, 1));
	start_connect(ep_a, qual);
	cr = next_request();
	CHECK_RET(dat_ep_reset(ep_a), STATE(EP_ACTCONNPENDING));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	is_state(ep_a, DAT_EP_STATE_DISCONNECTED);	/* D30 */
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	completes(a.recv, ep_a, 1, DAT_DTO_ERR_FLUSHED);
	/* D36: and again, with the other request still pending */
	OK(dat_ep_reset(ep_a));
	start_connect(ep_a, qual);
	OK(dat_cr_accept(next_request(), ep_b, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
	OK(dat_cr_reject(cr));	/* P72 */
	stays_silent(a.conn);
}

static void reset_and_again(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	int round;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	for (round = 0; round < 30; round++) {
		/* R14: full depth; R6: nothing of the old life */
		OK(post_recv(&b, ep_b, 0, 64, round));
		connect_eps(ep_a, ep_b);
		CHECK_RET(dat_ep_reset(ep_a), STATE(EP_CONNECTED));
		fill(a.mem, 64, round);
		OK(post_send(&a, ep_a, 0, 64, 1000 + round, 0));
		completes(b.recv, ep_b, round, DAT_DTO_SUCCESS);
		verify(b.mem, 64, round);
		completes(a.req, ep_a, 1000 + round, DAT_DTO_SUCCESS);
		OK(dat_ep_disconnect(round & 1 ? ep_a : ep_b, round >> 1 & 1));
		next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
		next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
		OK(dat_ep_reset(ep_a));
		OK(dat_ep_reset(ep_b));
		is_state(ep_a, DAT_EP_STATE_UNCONNECTED);
		no_event(a.recv);
		no_event(b.recv);
	}
}

static void freed(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	rig_both();
	connected(&ep_a, &ep_b);
	OK(post_recv(&b, ep_b, 0, 64, 5));
	OK(dat_ep_free(ep_a));
	CHECK_RET(dat_ep_free(ep_a), HANDLE(EP));
	next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
	stays_silent(a.conn);	/* F8 */
	/* F8 E20: what was queued names the dead handle */
	OK(dat_ep_free(ep_b));
	event = next_event(b.recv, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.ep_handle == ep_b);
	CHECK_RET(dat_ep_reset(ep_b), HANDLE(EP));
	/* F10 F11: its EVDs and PZ are free */
	OK(dat_evd_free(a.conn));
	OK(dat_evd_free(a.recv));
	OK(dat_lmr_free(a.lmr));
	OK(dat_pz_free(a.pz));

	/* F6: while connecting */
	a.conn = new_evd(&a, 8, DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(a.ia, NULL, NULL, NULL, a.conn, NULL, &ep_a));
	OK(dat_ep_free(ep_a));
	OK(dat_pz_create(a.ia, &a.pz));
	OK(dat_ep_create(a.ia, a.pz, NULL, NULL, a.conn, NULL, &ep_a));
	listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	start_connect(ep_a, qual);
	cr = next_request();
	OK(dat_ep_free(ep_a));
	no_event(a.conn);
	ep_b = new_ep(&b);
	OK(dat_cr_accept(cr, ep_b, 0, NULL));
	next_of(b.conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, ep_b);
}

static void dup_connect(void)
{
	DAT_EP_HANDLE ep_a, ep_b, dup, dup_b;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_PARAM one, two;
	DAT_CR_PARAM param;
	uint8_t data[32];
	DAT_CR_HANDLE cr;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	dup = new_ep(&a);
	dup_b = new_ep(&b);
	psp = listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	start_connect(ep_a, qual);
	OK(dat_cr_accept(next_request(), ep_b, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);

	CHECK_RET(dat_ep_dup_connect(ep_a, ep_a, LONG, 0, NULL, 0),
		  STATE(EP_CONNECTED));	/* C15 */
	CHECK_RET(dat_ep_dup_connect(dup, dup, LONG, 0, NULL, 0),
		  STATE(EP_UNCONNECTED));
	CHECK_RET(dat_ep_dup_connect(dup, ep_a, 0, 0, NULL, 0), ARG(3));
	CHECK_RET(dat_ep_dup_connect(dup, ep_a, LONG, -1, NULL, 0), ARG(4));
	CHECK_RET(dat_ep_dup_connect(dup, ep_a, LONG, 1, NULL, 0), ARG(5));
	CHECK_RET(dat_ep_dup_connect(dup, ep_a, LONG, 0, NULL, DAT_QOS_PREMIUM),
		  ERR2(MODEL_NOT_SUPPORTED, 0));
	CHECK_RET(dat_ep_dup_connect(dup_b, ep_b, LONG, 0, NULL, 0), ARG(2));
	CHECK_RET(dat_ep_dup_connect(dup, ep_b, LONG, 0, NULL, 0), HANDLE(EP));

	fill(data, sizeof(data), 9);
	OK(dat_ep_dup_connect(dup, ep_a, LONG, sizeof(data), data, 0));
	cr = next_request();
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	verify(param.private_data, sizeof(data), 9);
	OK(dat_ep_query(ep_a, DAT_EP_FIELD_ALL, &one));
	OK(dat_ep_query(dup, DAT_EP_FIELD_ALL, &two));
	CHECK(one.local_port_qual != two.local_port_qual);	/* C3 */
	CHECK_EQ(param.remote_port_qual, two.local_port_qual);
	CHECK_EQ(two.remote_port_qual, qual);
	OK(dat_cr_accept(cr, dup_b, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, dup);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, dup_b);
	is_state(ep_a, DAT_EP_STATE_CONNECTED);	/* C2 */

	/* C20: a duplicate of the duplicate; C8: nobody listens any more */
	OK(dat_psp_free(psp));
	ep_b = new_ep(&a);
	OK(dat_ep_dup_connect(ep_b, dup, LONG, 0, NULL, 0));
	next_of(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep_b);
}

#define MANY	200

static void many(void)
{
	static DAT_EP_HANDLE eps_a[MANY], eps_b[MANY];
	DAT_EP_ATTR attr = small_attr();
	DAT_EVD_HANDLE conn_a, conn_b, cr;
	DAT_CR_HANDLE request;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM param;
	unsigned int i, n;
	DAT_EVENT event;

	rig_both();
	attr.max_recv_dtos = 2;
	attr.max_request_dtos = 2;
	conn_a = new_evd(&a, 2 * MANY, DAT_EVD_CONNECTION_FLAG);
	conn_b = new_evd(&b, 2 * MANY, DAT_EVD_CONNECTION_FLAG);
	cr = new_evd(&b, MANY, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(b.ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_evd_resize(b.recv, 2 * MANY));
	OK(dat_evd_resize(a.req, 2 * MANY));
	OK(dat_evd_resize(a.recv, 2 * MANY));
	OK(dat_evd_resize(b.req, 2 * MANY));
	for (i = 0; i < MANY; i++) {
		OK(dat_ep_create(a.ia, a.pz, a.recv, a.req, conn_a, &attr,
				 &eps_a[i]));
		OK(dat_ep_create(b.ia, b.pz, b.recv, b.req, conn_b, &attr,
				 &eps_b[i]));
		OK(post_recv(&b, eps_b[i], i * 8, 8, i));
	}
	/* Requests come in any order: each says whose it is. */
	for (i = 0; i < MANY; i++)
		OK(connect_to(eps_a[i], ADDRESS_OF(b), qual, 60 * SECOND,
			      sizeof(i), &i));
	for (i = 0; i < MANY; i++) {
		event = next_event(cr, DAT_CONNECTION_REQUEST_EVENT);
		request = event.event_data.cr_arrival_event_data.cr_handle;
		OK(dat_cr_query(request, DAT_CR_FIELD_ALL, &param));
		memcpy(&n, param.private_data, sizeof(n));
		CHECK(n < MANY);
		OK(dat_cr_accept(request, eps_b[n], 0, NULL));
	}
	for (i = 0; i < MANY; i++) {
		next_event(conn_a, DAT_CONNECTION_EVENT_ESTABLISHED);
		next_event(conn_b, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	for (i = 0; i < MANY; i++)
		OK(post_send(&a, eps_a[i], 0, 8, i, 0));
	for (i = 0; i < MANY; i++) {
		event = next_event(b.recv, DAT_DTO_COMPLETION_EVENT);
		CHECK_EQ(event.event_data.dto_completion_event_data.status,
			 DAT_DTO_SUCCESS);
	}
	for (i = 0; i < MANY; i++)
		OK(dat_ep_disconnect(i & 1 ? eps_a[i] : eps_b[i], i >> 1 & 1));
	for (i = 0; i < MANY; i++) {
		next_event(conn_a, DAT_CONNECTION_EVENT_DISCONNECTED);
		next_event(conn_b, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	for (i = 0; i < MANY; i++) {
		OK(dat_ep_free(eps_a[i]));
		OK(dat_ep_free(eps_b[i]));
	}
	no_event(a.async);
	no_event(b.async);
}

static const struct check_case cases[] = {
	{ "E.6 C12 C13 C14 dat_ep_connect: arguments", connect_arguments },
	{ "T10 T13 T15 T22 E7 E9 E11 P8 P40 P41 P42 P45 P50 P52..P55 private data",
	  private_data },
	{ "T16 C7 P70 E8 peer reject", rejected },
	{ "T17 C8 P11 nobody listens", nobody_listens },
	{ "T19 T23 C10 P44 P56 timeout", times_out },
	{ "T18 C9 C10 RULING3 unreachable", unreachable },
	{ "D1 D4 D6 D8 D11 D12 D13 D16 graceful disconnect", graceful },
	{ "T27 D20 D45 everything before DISCONNECTED", all_before_the_event },
	{ "T29 D10 D14 D15 D17 D21 D22 D24 a drain given up", drain_given_up },
	{ "D6 D9 D51 both disconnect at once", both_at_once },
	{ "D46 mt:T9 mt:T10 mt:T54 posts in DISCONNECTED", disconnected },
	{ "T20 D30 D31 D36 R3 P72 an attempt aborted", abort_attempt },
	{ "T35 R1 R3 R6 R10 R11 reset and again", reset_and_again },
	{ "T21 T34 F1 F5..F8 F10 F11 E20 free", freed },
	{ "T14 C1..C6 C8 C12..C17 C20 dat_ep_dup_connect", dup_connect },
	{ "T15 T22 P6 mt:M21 200 connections at once", many },
};

SET(connect_set);
