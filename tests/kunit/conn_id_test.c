// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_conn_id: the life of a CM id, every state with everything that can
 * happen to it.  The expectations say what a peer must be told, and when (D35), and
 * what must never happen; which of the latter they are is checked in the table, since
 * trying them would be a warning.
 */
#include <kunit/test.h>
#include <rdma/rdma_cm.h>
#include "core/conn.h"
#include "core/ia.h"
#include "glue/glue.h"
#include "fake_device.h"

/* What becomes of an id: TELL disconnects, or answers the peer; NEVER warns. */
enum outcome { NEVER, GO, TELL };

struct expectation {
	enum kdapl_id_state state;
	enum kdapl_id_input input;
	enum outcome outcome;
	enum kdapl_id_state after;
	const char *why;
};

#define CELL(state, input, outcome, after, why) \
	{ KDAPL_ID_##state, KDAPL_ID_IN_##input, outcome, KDAPL_ID_##after, why }

static const struct expectation sheet[] = {
	CELL(NONE, OPEN, GO, OPEN, "a connect, or a request"),
	CELL(NONE, ACCEPT, NEVER, NONE, "there is no id"),
	CELL(NONE, CONFIRM, NEVER, NONE, "there is no id"),
	CELL(NONE, DISCONNECT, NEVER, NONE, "there is no id"),
	CELL(NONE, PEER_GONE, GO, NONE, "the address has moved during the bind"),
	CELL(NONE, RETIRE, NEVER, NONE, "there is no id"),
	CELL(NONE, DESTROY, NEVER, NONE, "nothing to destroy"),

	CELL(OPEN, OPEN, NEVER, OPEN, "one id for one connection (A7)"),
	CELL(OPEN, ACCEPT, GO, ACCEPTED, "P50"),
	CELL(OPEN, CONFIRM, GO, OPEN, "changes nothing"),
	CELL(OPEN, DISCONNECT, TELL, CLOSING, "the active side disconnects"),
	CELL(OPEN, PEER_GONE, GO, OVER, "the peer was first, or gave up (P56)"),
	CELL(OPEN, RETIRE, GO, DYING, "an attempt ends"),
	CELL(OPEN, DESTROY, GO, DESTROYED, "handed over (P80)"),

	CELL(ACCEPTED, OPEN, NEVER, ACCEPTED, "one id for one connection (A7)"),
	CELL(ACCEPTED, ACCEPT, NEVER, ACCEPTED, "a request is answered once (P50)"),
	CELL(ACCEPTED, CONFIRM, GO, CONFIRMED, "the peer has our acceptance"),
	CELL(ACCEPTED, DISCONNECT, GO, LEAVING, "the CM cannot tell the peer yet (D35)"),
	CELL(ACCEPTED, PEER_GONE, GO, OVER, "gone before it confirmed"),
	CELL(ACCEPTED, RETIRE, GO, DYING, "the device goes"),
	CELL(ACCEPTED, DESTROY, NEVER, ACCEPTED, "it is retired first"),

	CELL(CONFIRMED, OPEN, NEVER, CONFIRMED, "one id for one connection (A7)"),
	CELL(CONFIRMED, ACCEPT, NEVER, CONFIRMED, "a request is answered once (P50)"),
	CELL(CONFIRMED, CONFIRM, GO, CONFIRMED, "changes nothing"),
	CELL(CONFIRMED, DISCONNECT, TELL, CLOSING, "the passive side disconnects"),
	CELL(CONFIRMED, PEER_GONE, GO, OVER, "the peer was first"),
	CELL(CONFIRMED, RETIRE, GO, DYING, "the device goes"),
	CELL(CONFIRMED, DESTROY, NEVER, CONFIRMED, "it is retired first"),

	CELL(LEAVING, OPEN, NEVER, LEAVING, "one id for one connection (A7)"),
	CELL(LEAVING, ACCEPT, NEVER, LEAVING, "a request is answered once (P50)"),
	CELL(LEAVING, CONFIRM, TELL, CLOSING, "now the CM can tell the peer (D35)"),
	CELL(LEAVING, DISCONNECT, GO, LEAVING, "asked for already"),
	CELL(LEAVING, PEER_GONE, GO, OVER, "gone before it confirmed"),
	CELL(LEAVING, RETIRE, GO, DYING, "it lingered for too long"),
	CELL(LEAVING, DESTROY, NEVER, LEAVING, "it is retired first"),

	CELL(CLOSING, OPEN, NEVER, CLOSING, "one id for one connection (A7)"),
	CELL(CLOSING, ACCEPT, NEVER, CLOSING, "an ended connection is not accepted"),
	CELL(CLOSING, CONFIRM, GO, CLOSING, "crossed our disconnect"),
	CELL(CLOSING, DISCONNECT, GO, CLOSING, "the peer was told, and is told once"),
	CELL(CLOSING, PEER_GONE, GO, OVER, "the peer has answered"),
	CELL(CLOSING, RETIRE, GO, DYING, "it lingered for too long"),
	CELL(CLOSING, DESTROY, NEVER, CLOSING, "it is retired first"),

	CELL(OVER, OPEN, NEVER, OVER, "one id for one connection (A7)"),
	CELL(OVER, ACCEPT, GO, OVER, "the peer gave up meanwhile (P56)"),
	CELL(OVER, CONFIRM, GO, OVER, "crossed the peer's disconnect"),
	CELL(OVER, DISCONNECT, TELL, OVER, "the peer's disconnect is answered"),
	CELL(OVER, PEER_GONE, GO, OVER, "changes nothing"),
	CELL(OVER, RETIRE, GO, DYING, "nobody waits for it"),
	CELL(OVER, DESTROY, GO, DESTROYED, "handed over (P80)"),

	CELL(DYING, OPEN, NEVER, DYING, "one id for one connection (A7)"),
	CELL(DYING, ACCEPT, NEVER, DYING, "its users are through"),
	CELL(DYING, CONFIRM, GO, DYING, "nobody listens any more"),
	CELL(DYING, DISCONNECT, NEVER, DYING, "its destruction tells the peer"),
	CELL(DYING, PEER_GONE, GO, DYING, "nobody listens any more"),
	CELL(DYING, RETIRE, NEVER, DYING, "it is destroyed once"),
	CELL(DYING, DESTROY, GO, DESTROYED, "nobody needs it"),

	CELL(DESTROYED, OPEN, NEVER, DESTROYED, "one id for one connection (A7)"),
	CELL(DESTROYED, ACCEPT, NEVER, DESTROYED, "there is no id"),
	CELL(DESTROYED, CONFIRM, NEVER, DESTROYED, "there is no id"),
	CELL(DESTROYED, DISCONNECT, NEVER, DESTROYED, "there is no id"),
	CELL(DESTROYED, PEER_GONE, GO, DESTROYED, "told as the id is handed over (P80)"),
	CELL(DESTROYED, RETIRE, NEVER, DESTROYED, "there is no id"),
	CELL(DESTROYED, DESTROY, NEVER, DESTROYED, "nothing to destroy"),
};

static void describe(const struct expectation *want, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "state %d, input %d: %s", want->state,
		 want->input, want->why);
}

KUNIT_ARRAY_PARAM(id_cell, sheet, describe);

/* ---- a connection with an id that counts what is done to it ---------------- */

struct counted_id {
	struct rdma_cm_id id;
	u32 disconnected;
	u32 destroyed;
	u32 locked;
};

static struct counted_id *counted(struct rdma_cm_id *id)
{
	return container_of(id, struct counted_id, id);
}

static int count_disconnect(struct rdma_cm_id *id)
{
	counted(id)->disconnected++;
	return 0;
}

static void count_destroy(struct rdma_cm_id *id)
{
	counted(id)->destroyed++;
}

static void count_lock(struct rdma_cm_id *id)
{
	counted(id)->locked++;
}

static void count_unlock(struct rdma_cm_id *id)
{
	counted(id)->locked--;
}

static const struct kdapl_cm_ops counting_ops = {
	.disconnect = count_disconnect,
	.lock = count_lock,
	.unlock = count_unlock,
	.destroy = count_destroy,
};

/* In the place of the second work item, which destroys the id. */
static void id_work(struct work_struct *work)
{
	kdapl_id_destroy(container_of(work, struct kdapl_conn, id_work));
}

static struct kdapl_conn *conn_in(struct kunit *test, enum kdapl_id_state state)
{
	struct kdapl_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct counted_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	struct kdapl_conn *conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);
	struct kdapl_ia *ia = kunit_kzalloc(test, sizeof(*ia), GFP_KERNEL);
	struct kdapl_space *space = kunit_kzalloc(test, sizeof(*space), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, id);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_NOT_NULL(test, ia);
	KUNIT_ASSERT_NOT_NULL(test, space);
	dev->cm = &counting_ops;
	ia->dev = dev;
	ia->obj.space = space;
	refcount_set(&conn->ref, 1);
	INIT_WORK(&conn->id_work, id_work);
	conn->ia = ia;
	conn->id = &id->id;
	conn->id_state = state;
	spin_lock_init(&conn->id_lock);
	init_waitqueue_head(&conn->wait);
	return conn;
}

/* ---- cases ----------------------------------------------------------------- */

/* Each state with each input is in the table above, once. */
static void sheet_is_whole(struct kunit *test)
{
	u32 found[KDAPL_ID_NR_STATES][KDAPL_ID_NR_INPUTS] = {};
	int i, j;

	for (i = 0; i < ARRAY_SIZE(sheet); i++)
		found[sheet[i].state][sheet[i].input]++;
	for (i = 0; i < KDAPL_ID_NR_STATES; i++)
		for (j = 0; j < KDAPL_ID_NR_INPUTS; j++)
			KUNIT_EXPECT_EQ_MSG(test, found[i][j], 1U,
					    "state %d, input %d", i, j);
}

static void cell_says(struct kunit *test)
{
	const struct expectation *want = test->param_value;
	const struct kdapl_id_cell *cell = kdapl_id_fsm(want->state, want->input);

	KUNIT_EXPECT_EQ(test, cell->allowed, want->outcome != NEVER);
	KUNIT_EXPECT_EQ(test, cell->disconnect, want->outcome == TELL);
	if (cell->allowed)
		KUNIT_EXPECT_EQ(test, (int)cell->next, (int)want->after);
}

/* What is allowed is done: to the state, and to the id. */
static void cell_is_applied(struct kunit *test)
{
	const struct expectation *want = test->param_value;
	struct kdapl_conn *conn = conn_in(test, want->state);
	struct counted_id *id = counted(conn->id);

	if (want->outcome == NEVER)
		return;
	switch (want->input) {
	case KDAPL_ID_IN_OPEN:
		kdapl_id_given(conn, &id->id);
		break;
	case KDAPL_ID_IN_RETIRE:
		KUNIT_EXPECT_FALSE(test, kdapl_id_retire(conn));
		flush_work(&conn->id_work);
		KUNIT_EXPECT_EQ(test, id->destroyed, 1U);
		KUNIT_EXPECT_TRUE(test, kdapl_id_retire(conn));
		return;
	case KDAPL_ID_IN_DESTROY:
		kdapl_id_destroy(conn);
		KUNIT_EXPECT_EQ(test, id->destroyed, 1U);
		KUNIT_EXPECT_FALSE(test, kdapl_id_is_there(conn));
		return;
	case KDAPL_ID_IN_DISCONNECT:
		kdapl_id_disconnect(conn);
		break;
	default:
		kdapl_id_input(conn, want->input);
	}
	KUNIT_EXPECT_EQ(test, (int)conn->id_state, (int)want->after);
	KUNIT_EXPECT_EQ(test, id->disconnected, (u32)(want->outcome == TELL));
	KUNIT_EXPECT_EQ(test, id->destroyed, 0U);
	KUNIT_EXPECT_EQ(test, id->locked, 0U);
}

/* The work item may be told to disconnect when there is no id (any more). */
static void no_id_is_left_alone(struct kunit *test)
{
	static const enum kdapl_id_state without[] = {
		KDAPL_ID_NONE, KDAPL_ID_DESTROYED,
	};
	struct kdapl_conn *conn;
	int i;

	for (i = 0; i < ARRAY_SIZE(without); i++) {
		conn = conn_in(test, without[i]);
		kdapl_id_disconnect(conn);
		KUNIT_EXPECT_TRUE(test, kdapl_id_retire(conn));
		KUNIT_EXPECT_EQ(test, (int)conn->id_state, (int)without[i]);
		KUNIT_EXPECT_EQ(test, counted(conn->id)->disconnected, 0U);
		KUNIT_EXPECT_EQ(test, counted(conn->id)->destroyed, 0U);
	}
}

/* What the rest of the core asks about an id, in each state. */
static void states_answer(struct kunit *test)
{
	static const struct {
		bool there, accepted, awaits_peer, over;
	} want[KDAPL_ID_NR_STATES] = {
		[KDAPL_ID_NONE]		= {},
		[KDAPL_ID_OPEN]		= { .there = true },
		[KDAPL_ID_ACCEPTED]	= { .there = true, .accepted = true },
		[KDAPL_ID_CONFIRMED]	= { .there = true, .accepted = true },
		[KDAPL_ID_LEAVING]	= { .there = true, .awaits_peer = true },
		[KDAPL_ID_CLOSING]	= { .there = true, .awaits_peer = true },
		[KDAPL_ID_OVER]		= { .there = true, .over = true },
		[KDAPL_ID_DYING]	= { .there = true },
		[KDAPL_ID_DESTROYED]	= {},
	};
	struct kdapl_conn *conn;
	int i;

	for (i = 0; i < KDAPL_ID_NR_STATES; i++) {
		conn = conn_in(test, i);
		KUNIT_EXPECT_EQ_MSG(test, kdapl_id_is_there(conn), want[i].there,
				    "state %d", i);
		KUNIT_EXPECT_EQ_MSG(test, kdapl_id_was_accepted(conn),
				    want[i].accepted, "state %d", i);
		KUNIT_EXPECT_EQ_MSG(test, kdapl_id_awaits_peer(conn),
				    want[i].awaits_peer, "state %d", i);
		KUNIT_EXPECT_EQ_MSG(test, kdapl_id_peer_gone(conn), want[i].over,
				    "state %d", i);
	}
}

static struct kunit_case kdapl_conn_id_cases[] = {
	KUNIT_CASE(sheet_is_whole),
	KUNIT_CASE_PARAM(cell_says, id_cell_gen_params),
	KUNIT_CASE_PARAM(cell_is_applied, id_cell_gen_params),
	KUNIT_CASE(no_id_is_left_alone),
	KUNIT_CASE(states_answer),
	{}
};

static struct kunit_suite kdapl_conn_id_suite = {
	.name = "kdapl_conn_id",
	.suite_init = core_up,
	.suite_exit = core_down,
	.test_cases = kdapl_conn_id_cases,
};

kunit_test_suite(kdapl_conn_id_suite);
