// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * In which order completions and the end of the connection are reported, on one
 * EVD and on three.
 */
#include "scenario.h"

/* A marker posted after the end comes back flushed, and last, on each queue. */
static void markers_last(void)
{
	struct pair p = {};
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < 4; i++) {
		OK(node_recv(&p.a, 0, 64, i));
		OK(node_send(&p.a, 0, 64, 10 + i, 0));
	}
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(node_recv(&p.a, 0, 64, 100));
	OK(node_send(&p.a, 0, 64, 101, 0));
	for (i = 0; i < 4; i++) {
		want_done(p.a.recv, p.a.ep, i, DAT_DTO_ERR_FLUSHED);
		want_done(p.a.request, p.a.ep, 10 + i, DAT_DTO_ERR_FLUSHED);
	}
	want_done(p.a.recv, p.a.ep, 100, DAT_DTO_ERR_FLUSHED);
	want_done(p.a.request, p.a.ep, 101, DAT_DTO_ERR_FLUSHED);
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	nothing_more(p.a.recv);
	nothing_more(p.a.request);
	nothing_more(p.a.conn);
}

static const struct scenario scenarios[] = {
	SCENARIO("D43 D45 D46 R7 R8 R9 three EVDs: the markers come back flushed, and last",
		 markers_last),
};

SCENARIO_TABLE(order_table);
