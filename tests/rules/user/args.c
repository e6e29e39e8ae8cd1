// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bad values and handles in calls that only applications have, and pointers that
 * lead nowhere.
 */
#include "user.h"

#define NOWHERE		((void *)0x1000)

void platform_refuse(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle, out;
	DAT_CNO_PARAM param;
	DAT_EVENT event;
	DAT_COUNT more;

	REFUSES(EVD, EVD_REQUEST, dat_evd_wait(h, 0, 1, &event, &more));
	REFUSES(EVD, EVD_REQUEST, dat_evd_modify_cno(h, NULL));
	REFUSES(EVD, EVD_REQUEST, dat_evd_enable(h));
	REFUSES(EVD, EVD_REQUEST, dat_evd_disable(h));
	REFUSES(EVD, EVD_REQUEST, dat_evd_set_unwaitable(h));
	REFUSES(EVD, EVD_REQUEST, dat_evd_clear_unwaitable(h));
	REFUSES_ANY(CNO, CNO, dat_evd_create(side_b.ia, 8, h, DAT_EVD_DTO_FLAG,
					     &out));
	REFUSES_ANY(CNO, CNO, dat_evd_modify_cno(side_b.async, h));
	REFUSES(CNO, CNO, dat_cno_query(h, DAT_CNO_FIELD_ALL, &param));
	REFUSES(CNO, CNO, dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL));
	REFUSES(CNO, CNO, dat_cno_wait(h, 0, &out));
	REFUSES(CNO, CNO, dat_cno_free(h));
	REFUSES(IA, IA, dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &out));
}

static void bad_pointers(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	BAD_ARG(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
			       listener.qual, CONNECT_US, 8, NOWHERE, 0, 0), 6);
	start_connect(&a, listener.qual);
	next_request(&listener, &cr);
	BAD_ARG(dat_cr_accept(cr, b.ep, 8, NOWHERE), 4);
	OK(dat_cr_accept(cr, b.ep, 0, NULL));
	want_conn(b.conn, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* In passthrough, and by DAT 2.0, the library reads the segments, as any library would. */
	if (!side_is_passthrough(&side_b) && DAT_VERSION_MAJOR == 1) {
		BAD_ARG(dat_ep_post_send(b.ep, 1, NOWHERE, cookie(1), 0), 3);
		BAD_ARG(dat_ep_post_recv(b.ep, 1, NOWHERE, cookie(1), 0), 3);
	}
	idle(b.ep);
}

/* An EVD that is no consumer's (I5). */
static void out_of_scope(void)
{
	DAT_EVD_HANDLE evd = DAT_EVD_OUT_OF_SCOPE;
	DAT_IA_HANDLE ia;

	BAD_HANDLE(dat_ia_open(side_a.name, 8, &evd, &ia), EVD_ASYNC);
	evd = DAT_HANDLE_NULL;
	/* An earlier minor version, if there is one */
	OK(dat_ia_openv(side_a.name, 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR / 2,
			DAT_TRUE));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static const struct scenario scenarios[] = {
	SCENARIO("mt:T1 P53 C13 pointers that lead nowhere", bad_pointers),
	SCENARIO("G9 I5 I6 dat_ia_open: what only applications say", out_of_scope),
};

SCENARIO_TABLE(user_args_table);
