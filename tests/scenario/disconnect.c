// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection: the graceful drain, abrupt disconnect, the peer, the
 * link, and disconnect while a connection is being made.
 */
#include "scenario.h"

/* ---- graceful ----------------------------------------------------------- */

/* The peer has no receive: sends stay outstanding. */
static void drain_waits_for_receives(void)
{
	struct pair p = {};
	int i;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < 4; i++)
		OK(node_send(&p.a, 0, 64, i, 0));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	state_is(p.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	silent(p.a.conn);
	for (i = 0; i < 4; i++)
		OK(node_recv(&p.b, 0, 64, 10 + i));
	for (i = 0; i < 4; i++)
		want_done(p.a.request, p.a.ep, i, DAT_DTO_SUCCESS);
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (i = 0; i < 4; i++)
		want_done(p.b.recv, p.b.ep, 10 + i, DAT_DTO_SUCCESS);
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	nothing_more(p.a.conn);
	nothing_more(p.b.conn);
}

static const struct scenario scenarios[] = {
	SCENARIO("D10 D11 D12 D17 graceful waits for withheld receives",
		 drain_waits_for_receives),
};

SCENARIO_TABLE(disconnect_table);
