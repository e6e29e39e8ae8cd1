// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Service points and connection requests (ep: P). */
#include "rig.h"

static void psp_arguments(void)
{
	DAT_PSP_PARAM param;
	DAT_PSP_HANDLE psp, other;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual, second;

	rig_both();
	CHECK_RET(dat_psp_create(b.ia, 0, b.cr, 0, &psp), ARG(2));
	CHECK_RET(dat_psp_create(b.ia, 65536, b.cr, 0, &psp), ARG(2));
	CHECK_RET(dat_psp_create(b.ia, 20002, b.cr, 2, &psp), ARG(4));
	CHECK_RET(dat_psp_create(b.ia, 20002, b.cr, 0, NULL), ARG(5));
	CHECK_RET(dat_psp_create(b.ia, 20002, a.cr, 0, &psp), HANDLE(EVD_CR));
	CHECK_RET(dat_psp_create_any(b.ia, NULL, b.cr, 0, &psp), ARG(2));
	CHECK_RET(dat_psp_create_any(b.ia, &qual, b.cr, 2, &psp), ARG(4));
	CHECK_RET(dat_psp_create_any(b.ia, &qual, b.cr, 0, NULL), ARG(5));

	OK(dat_psp_create(b.ia, 20002, b.cr, DAT_PSP_PROVIDER_FLAG, &psp));
	CHECK_RET(dat_psp_create(b.ia, 20002, b.cr, 0, &other),
		  ERR2(CONN_QUAL_IN_USE, 0));
	CHECK_RET(dat_rsp_create(b.ia, 20002, new_ep(&b), b.cr, &rsp),
		  ERR2(CONN_QUAL_IN_USE, 0));
	CHECK_RET(dat_psp_query(psp, 0x10, &param), ARG(2));
	CHECK_RET(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), ARG(3));
	OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	CHECK(param.ia_handle == b.ia && param.evd_handle == b.cr);
	CHECK_EQ(param.conn_qual, 20002);
	CHECK_EQ(param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	CHECK_RET(dat_evd_free(b.cr), STATE(EVD_IN_USE));	/* P15 */
	OK(dat_psp_free(psp));
	CHECK_RET(dat_psp_free(psp), HANDLE(PSP));
	OK(dat_psp_create(b.ia, 20002, b.cr, 0, &psp));	/* P14 */
	OK(dat_psp_free(psp));

	psp = listen_any(0, &qual);
	other = listen_any(0, &second);
	CHECK(qual != second && qual >= 1024 && second >= 1024);
	OK(dat_psp_free(psp));
	OK(dat_psp_free(other));
	OK(dat_evd_free(b.cr));
}

static void backlog(void)
{
	DAT_EP_HANDLE eps[64];
	DAT_EVD_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE cr;
	DAT_COUNT qlen, i;

	rig_both();
	cr = new_evd(&b, 2, DAT_EVD_CR_FLAG);
	OK(dat_evd_query(cr, DAT_EVD_FIELD_ALL, &param));
	qlen = param.evd_qlen;
	CHECK(qlen >= 2 && qlen < 63);
	OK(dat_psp_create_any(b.ia, &qual, cr, 0, &psp));
	for (i = 0; i < qlen + 1; i++) {
		eps[i] = new_ep(&a);
		start_connect(eps[i], qual);
	}
	/* the one that found no room; no overflow is reported */
	next_event(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	no_event(b.async);
	/* P15 P45 RULING45: freeing EVD and PSP rejects the others */
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cr));
	for (i = 0; i < qlen; i++)
		next_event(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void psp_freed(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	psp = listen_any(0, &qual);
	start_connect(ep_a, qual);
	event = next_event(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	OK(dat_psp_free(psp));
	OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep_b,
			 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
	/* P14: while the connection lives */
	OK(dat_psp_create(b.ia, qual, b.cr, 0, &psp));
}

static void provider_ep(void)
{
	DAT_EP_PARAM param = { 0 }, seen;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM cr;
	DAT_CR_HANDLE h;

	rig_both();
	ep_a = new_ep(&a);
	listen_any(DAT_PSP_PROVIDER_FLAG, &qual);
	start_connect(ep_a, qual);
	h = next_request();
	OK(dat_cr_query(h, DAT_CR_FIELD_ALL, &cr));
	ep_b = cr.local_ep_handle;
	CHECK(ep_b);
	is_state(ep_b, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	OK(dat_ep_query(ep_b, DAT_EP_FIELD_ALL, &seen));
	CHECK(!seen.pz_handle && !seen.recv_evd_handle);
	CHECK(!seen.request_evd_handle && !seen.connect_evd_handle);
	CHECK_RET(dat_ep_free(ep_b), STATE(EP_TENTCONNPENDING));	/* F4 */
	CHECK_RET(dat_ep_reset(ep_b), STATE(EP_TENTCONNPENDING));
	CHECK_RET(dat_ep_disconnect(ep_b, 0), STATE(EP_TENTCONNPENDING));
	CHECK_RET(dat_cr_accept(h, ep_b, 0, NULL), HANDLE(EP));	/* P50 */
	CHECK_RET(dat_cr_accept(h, NULL, 0, NULL), STATE(EP_NOTREADY));
	param.pz_handle = b.pz;
	param.recv_evd_handle = b.recv;
	param.request_evd_handle = b.req;
	param.connect_evd_handle = b.conn;
	OK(dat_ep_modify(ep_b, DAT_EP_FIELD_PZ_HANDLE |
			 DAT_EP_FIELD_RECV_EVD_HANDLE |
			 DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	OK(post_recv(&b, ep_b, 0, 64, 3));
	OK(dat_cr_accept(h, NULL, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
	fill(a.mem, 64, 3);
	OK(post_send(&a, ep_a, 0, 64, 4, 0));
	completes(b.recv, ep_b, 3, DAT_DTO_SUCCESS);
	verify(b.mem, 64, 3);
	OK(dat_ep_free(ep_b));	/* P59: it is ours */
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);

	/* P71: a reject takes the EP along */
	OK(dat_ep_reset(ep_a));
	start_connect(ep_a, qual);
	h = next_request();
	OK(dat_cr_query(h, DAT_CR_FIELD_ALL, &cr));
	ep_b = cr.local_ep_handle;
	OK(dat_cr_reject(h));
	next_of(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, ep_a);
	CHECK_RET(dat_ep_query(ep_b, DAT_EP_FIELD_ALL, &seen), HANDLE(EP));
}

static void reserved(void)
{
	DAT_EP_HANDLE ep_a, ep_b, late;
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp, again;
	DAT_CR_PARAM cr;
	DAT_CR_HANDLE h;
	DAT_EVENT event;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	CHECK_RET(dat_rsp_create(b.ia, 0, ep_b, b.cr, &rsp), ARG(2));
	CHECK_RET(dat_rsp_create(b.ia, 65536, ep_b, b.cr, &rsp), ARG(2));
	CHECK_RET(dat_rsp_create(b.ia, 20003, ep_b, b.cr, NULL), ARG(5));
	CHECK_RET(dat_rsp_create(b.ia, 20003, ep_a, b.cr, &rsp), HANDLE(EP));
	OK(dat_rsp_create(b.ia, 20003, ep_b, b.cr, &rsp));
	is_state(ep_b, DAT_EP_STATE_RESERVED);
	CHECK_RET(dat_rsp_query(rsp, 0x10, &param), ARG(2));
	CHECK_RET(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), ARG(3));
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK(param.ia_handle == b.ia && param.evd_handle == b.cr);
	CHECK(param.ep_handle == ep_b);
	CHECK_EQ(param.conn_qual, 20003);
	/* P30 F2 */
	CHECK_RET(dat_ep_free(ep_b), STATE(EP_RESERVED));
	CHECK_RET(dat_ep_reset(ep_b), STATE(EP_RESERVED));
	CHECK_RET(dat_ep_disconnect(ep_b, 0), STATE(EP_RESERVED));
	CHECK_RET(dat_rsp_create(b.ia, 20004, ep_b, b.cr, &again),
		  STATE(EP_RESERVED));
	CHECK_RET(dat_ep_connect(ep_b, (DAT_IA_ADDRESS_PTR)&a.address, 5, LONG,
				 0, NULL, 0, 0), STATE(EP_RESERVED));
	OK(post_recv(&b, ep_b, 0, 64, 1));	/* P31 */

	start_connect(ep_a, 20003);
	event = next_event(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle ==
	      rsp);
	h = event.event_data.cr_arrival_event_data.cr_handle;
	is_state(ep_b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	OK(dat_cr_query(h, DAT_CR_FIELD_ALL, &cr));
	CHECK(cr.local_ep_handle == ep_b);
	CHECK_RET(dat_ep_free(ep_b), STATE(EP_PASSCONNPENDING));	/* F3 */
	CHECK_RET(dat_cr_accept(h, ep_b, 0, NULL), HANDLE(EP));	/* P24 */
	/* P22: one request, no more */
	late = new_ep(&a);
	start_connect(late, 20003);
	next_of(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, late);
	OK(dat_cr_accept(h, NULL, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
	OK(post_send(&a, ep_a, 0, 64, 2, 0));
	completes(b.recv, ep_b, 1, DAT_DTO_SUCCESS);
	/* P29: the handle is good until it is freed */
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	OK(dat_rsp_free(rsp));
	CHECK_RET(dat_rsp_free(rsp), HANDLE(RSP));
	is_state(ep_b, DAT_EP_STATE_CONNECTED);
}

static void reserved_back(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RSP_HANDLE rsp;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep(&b);
	/* P26 */
	OK(dat_rsp_create(b.ia, 20005, ep_b, b.cr, &rsp));
	OK(dat_rsp_free(rsp));
	is_state(ep_b, DAT_EP_STATE_UNCONNECTED);
	/* P25: a reject gives the EP back with its receives */
	OK(post_recv(&b, ep_b, 0, 64, 1));
	OK(dat_rsp_create(b.ia, 20005, ep_b, b.cr, &rsp));
	start_connect(ep_a, 20005);
	OK(dat_cr_reject(next_request()));
	next_of(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, ep_a);
	is_state(ep_b, DAT_EP_STATE_UNCONNECTED);
	OK(dat_rsp_free(rsp));
	no_event(b.recv);
	OK(dat_ep_reset(ep_a));
	connect_eps(ep_a, ep_b);
	OK(post_send(&a, ep_a, 0, 64, 2, 0));
	completes(b.recv, ep_b, 1, DAT_DTO_SUCCESS);
}

static void reserved_by_provider(void)
{
	DAT_EP_HANDLE ep_a;
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp;
	DAT_CR_PARAM cr;
	DAT_CR_HANDLE h;

	rig_both();
	ep_a = new_ep(&a);
	OK(dat_rsp_create(b.ia, 20006, DAT_HANDLE_NULL, b.cr, &rsp));
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK(!param.ep_handle);
	start_connect(ep_a, 20006);
	h = next_request();
	OK(dat_cr_query(h, DAT_CR_FIELD_ALL, &cr));
	is_state(cr.local_ep_handle,
		 DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK(param.ep_handle == cr.local_ep_handle);
	OK(dat_rsp_free(rsp));	/* P27: the CR stays */
	OK(dat_cr_reject(h));
	next_of(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, ep_a);
}

/* P46: requests are answered in any order; P61: an EP once. */
static void independent_requests(void)
{
	DAT_EP_HANDLE ep_a[3], ep_b[2];
	DAT_CR_HANDLE cr[3];
	DAT_CONN_QUAL qual;
	int i;

	rig_both();
	listen_any(0, &qual);
	for (i = 0; i < 3; i++) {
		ep_a[i] = new_ep(&a);
		start_connect(ep_a[i], qual);
		cr[i] = next_request();
	}
	ep_b[0] = new_ep(&b);
	ep_b[1] = new_ep(&b);
	OK(dat_cr_accept(cr[2], ep_b[0], 0, NULL));
	CHECK_EQ(DAT_GET_TYPE(dat_cr_accept(cr[0], ep_b[0], 0, NULL)),
		 DAT_INVALID_STATE);
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a[2]);
	OK(dat_cr_reject(cr[1]));
	next_of(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, ep_a[1]);
	OK(dat_cr_accept(cr[0], ep_b[1], 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a[0]);
}

/* P47: a closed IA rejects what was pending, seen or not. */
static void pending_at_close(void)
{
	DAT_EP_HANDLE first, second;
	DAT_CONN_QUAL qual;

	rig_both();
	first = new_ep(&a);
	second = new_ep(&a);
	listen_any(0, &qual);
	start_connect(first, qual);
	next_request();
	start_connect(second, qual);
	OK(dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG));
	next_event(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	next_event(a.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	is_state(first, DAT_EP_STATE_DISCONNECTED);
	is_state(second, DAT_EP_STATE_DISCONNECTED);
}

static const struct check_case cases[] = {
	{ "P1..P4 P14..P17 public service points: arguments", psp_arguments },
	{ "P7 P15 E67 backlog", backlog },
	{ "P12 P14 a PSP freed under its request", psp_freed },
	{ "T2 T8 T12 P2 P9 P50 P51 P59 P71 F4 D3 R3 the provider makes the EP", provider_ep },
	{ "T3 T5 T11 P20 P22..P24 P29..P32 F2 F3 E10 reserved service points", reserved },
	{ "T4 T6 P25 P26 the EP of an RSP comes back", reserved_back },
	{ "T2 P21 P27 an RSP without EP", reserved_by_provider },
	{ "P46 P61 requests are independent", independent_requests },
	{ "P47 I15 requests pending at close", pending_at_close },
};

SET(sp_set);
