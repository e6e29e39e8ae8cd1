// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_cm_event: what each event of the CM means to an endpoint, and each
 * error of an iWARP driver's connect.  The expectations are those of section A.7;
 * whether a failure is the active or the passive side's is the endpoint table's
 * business (suite kdapl_ep_fsm).
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <rdma/ib_cm.h>
#include "glue/cm_event.h"

struct expectation {
	const char *name;
	enum rdma_cm_event_type event;
	int status;
	bool mark;
	enum kdapl_ep_input input;
};

static const struct expectation sheet[] = {
	{ "ADDR_ERROR, no device (RULING 37)",
	  RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, false, KDAPL_EP_IN_UNREACHABLE },
	{ "ADDR_ERROR, no answer (RULING 3)",
	  RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, false, KDAPL_EP_IN_UNREACHABLE },
	{ "ROUTE_ERROR",
	  RDMA_CM_EVENT_ROUTE_ERROR, -EHOSTUNREACH, false,
	  KDAPL_EP_IN_UNREACHABLE },
	{ "UNREACHABLE, the request was not answered",
	  RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, false,
	  KDAPL_EP_IN_UNREACHABLE },
	{ "CONNECT_ERROR, timed out",
	  RDMA_CM_EVENT_CONNECT_ERROR, -ETIMEDOUT, false,
	  KDAPL_EP_IN_UNREACHABLE },
	{ "CONNECT_ERROR, anything else",
	  RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, false,
	  KDAPL_EP_IN_NON_PEER_REJECT },
	{ "CONNECT_ERROR, a mark means nothing",
	  RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET, true,
	  KDAPL_EP_IN_NON_PEER_REJECT },
	{ "REJECTED by a consumer (P70)",
	  RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, true,
	  KDAPL_EP_IN_PEER_REJECT },
	{ "REJECTED, the reason alone is no proof (RULING 45)",
	  RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, false,
	  KDAPL_EP_IN_NON_PEER_REJECT },
	{ "REJECTED, nobody listens (C8)",
	  RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_SERVICE_ID, false,
	  KDAPL_EP_IN_NON_PEER_REJECT },
	{ "REJECTED by a consumer, iWARP (P70)",
	  RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, true, KDAPL_EP_IN_PEER_REJECT },
	{ "REJECTED by a consumer, iWARP on siw (P70)",
	  RDMA_CM_EVENT_REJECTED, -ECONNRESET, true, KDAPL_EP_IN_PEER_REJECT },
	{ "REJECTED, iWARP, nobody listens (C8)",
	  RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, false,
	  KDAPL_EP_IN_NON_PEER_REJECT },
	{ "REJECTED by the transport with data of its own",
	  RDMA_CM_EVENT_REJECTED, IB_CM_REJ_STALE_CONN, true,
	  KDAPL_EP_IN_NON_PEER_REJECT },
	{ "ESTABLISHED",
	  RDMA_CM_EVENT_ESTABLISHED, 0, false, KDAPL_EP_IN_ESTABLISHED },
	{ "DISCONNECTED",
	  RDMA_CM_EVENT_DISCONNECTED, 0, false, KDAPL_EP_IN_PEER_DISCONNECT },
	{ "DEVICE_REMOVAL (E71)",
	  RDMA_CM_EVENT_DEVICE_REMOVAL, 0, false, KDAPL_EP_IN_BROKEN },
	{ "ADDR_CHANGE (amendment of A.7)",
	  RDMA_CM_EVENT_ADDR_CHANGE, 0, false, KDAPL_EP_IN_BROKEN },
	{ "TIMEWAIT_EXIT is nothing (amendment of A.7)",
	  RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, false, KDAPL_CM_NO_INPUT },
	{ "ADDR_RESOLVED is a step",
	  RDMA_CM_EVENT_ADDR_RESOLVED, 0, false, KDAPL_CM_NO_INPUT },
	{ "ROUTE_RESOLVED is a step",
	  RDMA_CM_EVENT_ROUTE_RESOLVED, 0, false, KDAPL_CM_NO_INPUT },
	{ "CONNECT_REQUEST goes to the service point",
	  RDMA_CM_EVENT_CONNECT_REQUEST, 0, false, KDAPL_CM_NO_INPUT },
	{ "CONNECT_RESPONSE is a step (amendment of A.7)",
	  RDMA_CM_EVENT_CONNECT_RESPONSE, 0, false, KDAPL_CM_NO_INPUT },
	{ "MULTICAST_JOIN never happens",
	  RDMA_CM_EVENT_MULTICAST_JOIN, 0, false, KDAPL_CM_NO_INPUT },
	{ "MULTICAST_ERROR never happens",
	  RDMA_CM_EVENT_MULTICAST_ERROR, 0, false, KDAPL_CM_NO_INPUT },
	{ "an event of a later kernel",
	  RDMA_CM_EVENT_TIMEWAIT_EXIT + 100, 0, true, KDAPL_CM_NO_INPUT },
};

static void describe(const struct expectation *e, char *desc)
{
	strscpy(desc, e->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sheet, sheet, describe);

static void input(struct kunit *test)
{
	const struct expectation *e = test->param_value;

	KUNIT_EXPECT_EQ(test, e->input,
			kdapl_cm_event_input(e->event, e->status, e->mark));
}

/* Each event that the kernel has is judged above. */
static void no_event_is_forgotten(struct kunit *test)
{
	int event, i;

	for (event = 0; event <= RDMA_CM_EVENT_TIMEWAIT_EXIT; event++) {
		for (i = 0; i < ARRAY_SIZE(sheet); i++)
			if ((int)sheet[i].event == event)
				break;
		KUNIT_EXPECT_LT_MSG(test, i, (int)ARRAY_SIZE(sheet), "%s",
				    rdma_event_msg(event));
	}
}

static void mark_is_any_byte(struct kunit *test)
{
	u8 data[148] = {};
	int i;

	KUNIT_EXPECT_FALSE(test, kdapl_cm_reject_mark(NULL, 0));
	KUNIT_EXPECT_FALSE(test, kdapl_cm_reject_mark(NULL, sizeof(data)));
	KUNIT_EXPECT_FALSE(test, kdapl_cm_reject_mark(data, 0));
	KUNIT_EXPECT_FALSE(test, kdapl_cm_reject_mark(data, sizeof(data)));
	for (i = 0; i < sizeof(data); i++) {
		data[i] = 1;
		KUNIT_EXPECT_TRUE(test,
				  kdapl_cm_reject_mark(data, sizeof(data)));
		KUNIT_EXPECT_FALSE(test, kdapl_cm_reject_mark(data, i));
		data[i] = 0;
	}
}

/* RULING 65: behind our mark or OpenFabrics' header, or all; never nothing but zeros. */
static void data_behind_the_mark(struct kunit *test)
{
	static const struct {
		const char *from;
		u8 len;
		u8 skipped;
		u8 left;
	} rows[] = {
		{ "kDRJ", 4, 4, 0 },
		{ "kDRJ\0\0\0\0", 8, 4, 0 },
		{ "kDRJno\0\0", 8, 4, 4 },
		{ "kDRJ\0\0\0x", 8, 4, 4 },
		{ "kDRKno\0\0", 8, 0, 8 },
		{ "kDR", 3, 0, 3 },
		{ "\2\0\2\0no", 6, 4, 2 },
		{ "\1\2\0\5no", 6, 4, 2 },
		{ "\2\0\2\0\0\0", 6, 4, 0 },
		{ "\3\0\2\0no", 6, 0, 6 },
		{ "\2\3\2\0no", 6, 0, 6 },
		{ "\2\0\2", 3, 0, 3 },
		{ "\0\0\0\0\0", 5, 0, 0 },
		{ "", 0, 0, 0 },
	};
	u8 len;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = rows[i].len;
		KUNIT_EXPECT_PTR_EQ(test, (const void *)rows[i].from + rows[i].skipped,
				    kdapl_cm_reject_data(rows[i].from, &len));
		KUNIT_EXPECT_EQ(test, rows[i].left, len);
	}
	len = 9;
	KUNIT_EXPECT_NULL(test, kdapl_cm_reject_data(NULL, &len));
	KUNIT_EXPECT_EQ(test, 0, len);
}

/* C8, P13: the peer's host resets what nobody listens for, sooner or later. */
static void reset_is_refused(struct kunit *test)
{
	static const int same[] = {
		0, -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -ENETUNREACH,
		-ECONNABORTED, -EADDRINUSE, -ENOMEM, -EINVAL,
	};
	int i;

	KUNIT_EXPECT_EQ(test, -ECONNREFUSED,
			kdapl_cm_connect_error(-ECONNRESET));
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, kdapl_cm_connect_error(-EPIPE));
	for (i = 0; i < ARRAY_SIZE(same); i++)
		KUNIT_EXPECT_EQ(test, same[i], kdapl_cm_connect_error(same[i]));
}

static struct kunit_case kdapl_cm_event_cases[] = {
	KUNIT_CASE_PARAM(input, sheet_gen_params),
	KUNIT_CASE(no_event_is_forgotten),
	KUNIT_CASE(mark_is_any_byte),
	KUNIT_CASE(data_behind_the_mark),
	KUNIT_CASE(reset_is_refused),
	{}
};

static struct kunit_suite kdapl_cm_event_suite = {
	.name = "kdapl_cm_event",
	.test_cases = kdapl_cm_event_cases,
};

kunit_test_suite(kdapl_cm_event_suite);
