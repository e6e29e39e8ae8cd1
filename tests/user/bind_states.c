// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections in passthrough whose process does not behave: what it tells is a lie or too
 * late, it disconnects while it is drained, it moves its queue pair behind the kernel's
 * back.  Both ends are of this process (raw_end.h); whatever is done to one, the other gets
 * its event, and both queue pairs are free in the end.
 *
 *	bind_states [DEVICE [OTHER-DEVICE]]
 */
#define _GNU_SOURCE
#include "raw_end.h"

static const char *device = "rxe0", *other_device = "rxe1";
/* b listens. */
static struct end a, b;

/* Both ends are as new. */
static void renew(const char *after)
{
	check(end_renew(&a) && end_renew(&b), "A8",
	      text_of("both ends are let go after", after), 0);
}

/* Soon it is so: what the kernel does by itself takes a moment. */
static bool state_gets(const struct end *end, __u32 state)
{
	long last = now_ms() + PATIENCE;

	while (end_state(end) != state && now_ms() < last)
		usleep(1000);
	return end_state(end) == state;
}

/* ---- a connection as it should be ------------------------------------------------- */

/*
 * Soon the board says so of the present life: it follows the event, and has no life while it
 * is written.
 */
static bool board_shows(const struct end *end, __u32 state)
{
	long last = now_ms() + PATIENCE;

	while (end->slot->life != end->life || end->slot->state != state) {
		if (now_ms() > last)
			return false;
		usleep(1000);
	}
	return true;
}

static bool board_flags(const struct end *end, __u32 flags)
{
	long last = now_ms() + PATIENCE;

	while (~end->slot->flags & flags && now_ms() < last)
		usleep(1000);
	return !(~end->slot->flags & flags);
}

static bool gates_are(const struct end *end, bool requests, bool recvs)
{
	return !end->slot->refuse_request == requests && !end->slot->refuse_recv == recvs;
}

static void test_life(void)
{
	__u32 life;
	int got;

	ends_connect(&a, &b);
	check(board_shows(&a, DAT_EP_STATE_CONNECTED) &&
	      board_shows(&b, DAT_EP_STATE_CONNECTED), "A7",
	      "the board is about the connection of the bind", a.slot->life);
	check(gates_are(&a, true, true) && gates_are(&b, true, true), "C1",
	      "Connected: posts go", a.slot->refuse_request);
	check(message_passes(&a, &b) && message_passes(&b, &a), "A7", "messages pass", 0);
	got = ibv_destroy_qp(a.qp);
	check(got == EBUSY, "A8", "a connected queue pair is not destroyed", got);
	got = end_bind(&a);
	check(got == REFUSED && DAT_GET_TYPE(refusal) == DAT_INVALID_STATE, "A8",
	      "bind: while connected", got);

	check(!end_disconnect(&a, DAT_CLOSE_ABRUPT_FLAG), "D5", "disconnect", 0);
	check(end_event(&a, NULL) == DISCONNECTED, "D5", "its event", 0);
	check(end_event(&b, NULL) == DISCONNECTED, "D50", "the peer's event", 0);
	check(board_shows(&a, DAT_EP_STATE_DISCONNECTED), "D8",
	      "the board says Disconnected", a.slot->state);

	/* The same EPs once more: another life. */
	life = a.life;
	check(!end_tell(&a, KDAPL_TELL_UNBIND) && !end_tell(&b, KDAPL_TELL_UNBIND), "A7",
	      "all is polled: let go", refusal);
	check(board_flags(&a, KDAPL_BOARD_UNBOUND), "A7", "the board says so", a.slot->flags);
	check(!ibv_destroy_qp(a.qp) && !ibv_destroy_qp(b.qp), "A7",
	      "and the queue pairs are the process's again", 0);
	check(!handle_call(a.fd, KDAPL_IOC_EP_RESET, a.ep) &&
	      !handle_call(b.fd, KDAPL_IOC_EP_RESET, b.ep), "D8", "reset", 0);
	ends_connect(&a, &b);
	check(a.life != life && board_shows(&a, DAT_EP_STATE_CONNECTED), "A7",
	      "another connection of the EP has another life", a.life);
	check(message_passes(&a, &b), "A7", "and messages pass", 0);
	check(!handle_call(a.fd, KDAPL_IOC_EP_FREE, a.ep), "F1", "free it while connected", 0);
	check(end_event(&b, NULL) == DISCONNECTED, "D50", "the peer's event", 0);
	check(!ibv_destroy_qp(a.qp), "F1", "what was bound is free", 0);
	a.ep = end_new_ep(&a);
	a.slot = slot_of(&a, a.ep);
	check(end_renew(&b), "F1", "the peer's as well", 0);
}

#define ORDERS	20

/* Spins until the board says @state: then the event of it is in the ring. */
static bool event_precedes(const struct end *end, __u32 state, __u32 before)
{
	long last = now_ms() + PATIENCE;

	while (end->slot->state != state)
		if (now_ms() > last)
			return false;
	return end->ring->producer != before;
}

static void test_order(void)
{
	int i, connected = 0, ended = 0;
	__u32 before;

	for (i = 0; i < ORDERS; i++) {
		end_qp(&a);
		end_qp(&b);
		need(!end_bind(&a) && !end_bind(&b), "both bound");
		before = a.ring->producer;
		need(!end_connect(&a, &b.address, b.qual) &&
		     !cr_accept(&b, end_request(&b)), "connect");
		connected += event_precedes(&a, DAT_EP_STATE_CONNECTED, before);
		need(end_event(&a, NULL) == ESTABLISHED && end_event(&b, NULL) == ESTABLISHED,
		     "established");
		before = a.ring->producer;
		end_disconnect(&b, DAT_CLOSE_ABRUPT_FLAG);
		ended += event_precedes(&a, DAT_EP_STATE_DISCONNECTED, before);
		need(end_of(&a) && end_of(&b) && end_renew(&a) && end_renew(&b), "the end");
	}
	check(connected == ORDERS, "A8", "the board says Connected behind the event", connected);
	check(ended == ORDERS, "D8", "the board says Disconnected behind the event", ended);
}

static void test_accept_without(void)
{
	__u64 cr;
	__u32 ret;

	end_qp(&a);
	end_qp(&b);
	need(!end_bind(&a) && !end_connect(&a, &b.address, b.qual), "connect");
	cr = end_request(&b);
	ret = cr_accept(&b, cr);
	check(DAT_GET_TYPE(ret) == DAT_INVALID_STATE, "A8", "accept without a queue pair", ret);
	check(!end_bind(&b), "A8", "bind it then", refusal);
	ret = cr_accept(&b, cr);
	check(!ret, "P53", "and accept", ret);
	check(end_event(&a, NULL) == ESTABLISHED && end_event(&b, NULL) == ESTABLISHED, "C1",
	      "connected", 0);
	check(message_passes(&a, &b), "A7", "a message passes", 0);
	renew("an accept in two steps");
}

/* ---- lies ------------------------------------------------------------------------- */

/* What is told changes nothing: the connection is there. */
static void still_connected(const char *what, int got)
{
	check(got == 0 || (got == REFUSED && DAT_GET_TYPE(refusal) == DAT_INVALID_STATE),
	      "A8", text_of("told", what), got);
	check(end_state(&a) == DAT_EP_STATE_CONNECTED && message_passes(&a, &b) &&
	      message_passes(&b, &a), "A8", text_of("and nothing changes", what),
	      end_state(&a));
}

static void test_stale_tells(void)
{
	static const struct {
		__u32 what;
		const char *name;
	} tells[] = {
		{ KDAPL_TELL_CONFIRM, "CONFIRM of another life" },
		{ KDAPL_TELL_BROKEN, "BROKEN of another life" },
		{ KDAPL_TELL_DRAINED, "DRAINED of another life" },
		{ KDAPL_TELL_FLUSH, "FLUSH of another life" },
		{ KDAPL_TELL_UNBIND, "UNBIND of another life" },
	};
	struct kdapl_uapi_ep_tell arg = { .ep = a.ep };
	unsigned int i;

	ends_connect(&a, &b);
	for (i = 0; i < ARRAY_SIZE(tells); i++) {
		still_connected(tells[i].name,
				tell_as(a.fd, a.ep, tells[i].what, a.life - 1));
		still_connected(tells[i].name,
				tell_as(a.fd, a.ep, tells[i].what, a.life + 1));
		still_connected(tells[i].name, tell_as(a.fd, a.ep, tells[i].what, 0));
	}
	check(ibv_destroy_qp(a.qp) == EBUSY, "A8", "and it is still bound", 0);
	still_connected("CONFIRM, once connected", end_tell(&a, KDAPL_TELL_CONFIRM));
	still_connected("DRAINED without a drain", end_tell(&a, KDAPL_TELL_DRAINED));
	still_connected("FLUSH while connected", end_tell(&a, KDAPL_TELL_FLUSH));
	arg.life = a.life;
	arg.what = KDAPL_TELL_UNBIND + 1;
	expect_errno(a.fd, KDAPL_IOC_EP_TELL, &arg, EINVAL, "A8", "told what there is not");
	arg.what = ~0U;
	expect_errno(a.fd, KDAPL_IOC_EP_TELL, &arg, EINVAL, "A8", "told all ones");
	check(message_passes(&a, &b), "A8", "and nothing changes", 0);
	renew("lies");
}

/* A healthy connection is told to be over: its process alone believed it. */
static void test_lies_that_end_it(void)
{
	int got;

	ends_connect(&a, &b);
	check(!end_tell(&a, KDAPL_TELL_BROKEN), "D52", "told BROKEN, which it is not", refusal);
	check(end_of(&a) == BROKEN, "D52", "BROKEN", 0);
	check(end_of(&b), "D50", "the peer's connection ends", 0);
	renew("a false BROKEN");

	/* Not twice, and nothing of another kind follows. */
	ends_connect(&a, &b);
	end_tell(&a, KDAPL_TELL_BROKEN);
	end_tell(&a, KDAPL_TELL_BROKEN);
	check(end_of(&a) == BROKEN && end_of(&b), "D52", "told BROKEN twice: one event", 0);
	end_tell(&a, KDAPL_TELL_BROKEN);
	check(!end_event_within(&a, 300, NULL), "D52", "and none after the end", 0);
	renew("BROKEN again and again");

	ends_connect(&a, &b);
	got = end_tell(&a, KDAPL_TELL_UNBIND);
	if (got)
		check(ibv_destroy_qp(a.qp) == EBUSY && message_passes(&a, &b), "A8",
		      "UNBIND while connected is refused, and it stays bound", got);
	else
		check(end_of(&a) && end_of(&b), "A8",
		      "UNBIND while connected ends the connection", got);
	renew("UNBIND while connected");
}

/* Before there is an answer. */
static void test_early_lies(void)
{
	__u64 cr;
	int got;

	end_qp(&a);
	end_qp(&b);
	need(!end_bind(&a) && !end_bind(&b), "bind");
	got = end_tell(&a, KDAPL_TELL_CONFIRM);
	check((got == 0 || got == REFUSED) && end_state(&a) == DAT_EP_STATE_UNCONNECTED, "A8",
	      "CONFIRM before connect changes nothing", got);
	got = end_tell(&a, KDAPL_TELL_DRAINED);
	check((got == 0 || got == REFUSED) && end_state(&a) == DAT_EP_STATE_UNCONNECTED, "A8",
	      "DRAINED before connect changes nothing", got);
	got = end_tell(&a, KDAPL_TELL_BROKEN);
	check((got == 0 || got == REFUSED) && end_state(&a) == DAT_EP_STATE_UNCONNECTED, "A8",
	      "BROKEN before connect changes nothing", got);
	need(!end_connect(&a, &b.address, b.qual), "connect");
	cr = end_request(&b);
	end_tell(&a, KDAPL_TELL_CONFIRM);
	check(end_state(&a) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, "A7",
	      "CONFIRM without an answer does not connect", end_state(&a));
	end_tell(&a, KDAPL_TELL_DRAINED);
	end_tell(&a, KDAPL_TELL_FLUSH);
	check(end_state(&a) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, "A7",
	      "nor do other lies", end_state(&a));
	need(!cr_accept(&b, cr), "accept");
	end_tell(&b, KDAPL_TELL_CONFIRM);
	check(end_event(&a, NULL) == ESTABLISHED && end_event(&b, NULL) == ESTABLISHED &&
	      message_passes(&a, &b), "A7", "and it connects all the same", 0);
	check(!end_event_within(&b, 100, NULL), "A7", "once", 0);
	renew("lies before the connection");
}

/* ---- graceful disconnects --------------------------------------------------------- */

/* A send that nobody receives holds the disconnect up. */
static void drain_begins(void)
{
	ends_connect(&a, &b);
	need(!post_recv(&a, 0) && !post_send(&a, 1), "post");
	check(!end_disconnect(&a, DAT_CLOSE_GRACEFUL_FLAG) &&
	      end_state(&a) == DAT_EP_STATE_DISCONNECT_PENDING, "D10",
	      "graceful: Disconnect Pending", end_state(&a));
	check(board_shows(&a, DAT_EP_STATE_DISCONNECT_PENDING) &&
	      board_flags(&a, KDAPL_BOARD_DRAIN) && gates_are(&a, false, true), "D10",
	      "the board asks for the drain, and shuts requests out",
	      a.slot->flags);
}

static void test_drain(void)
{
	int sent, received;

	drain_begins();
	check(!end_event_within(&a, 1500, NULL), "D17", "the drain waits", 0);
	tell_as(a.fd, a.ep, KDAPL_TELL_DRAINED, a.life - 1);
	tell_as(a.fd, a.ep, KDAPL_TELL_DRAINED, a.life + 1);
	check(!end_event_within(&a, 300, NULL) &&
	      end_state(&a) == DAT_EP_STATE_DISCONNECT_PENDING, "D11",
	      "DRAINED of another life does not end it", end_state(&a));
	need(!post_recv(&b, 0), "post");
	sent = completion_within(&a, PATIENCE);
	received = completion_within(&b, PATIENCE);
	check(sent == IBV_WC_SUCCESS && received == IBV_WC_SUCCESS, "D11",
	      "what was posted before is carried out", 100 * sent + received);
	check(!end_tell(&a, KDAPL_TELL_DRAINED) && end_event(&a, NULL) == DISCONNECTED &&
	      end_event(&b, NULL) == DISCONNECTED, "D11", "DRAINED ends it", 0);
	check(completion_within(&a, PATIENCE) == IBV_WC_WR_FLUSH_ERR, "D45",
	      "the receive is flushed", 0);
	renew("a drain");

	drain_begins();
	check(!end_tell(&a, KDAPL_TELL_DRAINED) && end_event(&a, NULL) == DISCONNECTED &&
	      end_event(&b, NULL) == DISCONNECTED, "D11",
	      "a false DRAINED: the process's own send is lost, no more", 0);
	check(completion_within(&a, PATIENCE) == IBV_WC_WR_FLUSH_ERR &&
	      completion_within(&a, PATIENCE) == IBV_WC_WR_FLUSH_ERR, "D45",
	      "both are flushed", 0);
	end_tell(&a, KDAPL_TELL_DRAINED);
	check(!end_event_within(&a, 300, NULL), "D8", "DRAINED again: no second event", 0);
	renew("a false DRAINED");

	drain_begins();
	check(!end_disconnect(&a, DAT_CLOSE_ABRUPT_FLAG) && end_event(&a, NULL) == DISCONNECTED &&
	      end_event(&b, NULL) == DISCONNECTED, "D17", "an abrupt disconnect ends a drain", 0);
	end_tell(&a, KDAPL_TELL_DRAINED);
	check(!end_event_within(&a, 300, NULL), "D8", "DRAINED after it: no second event", 0);
	renew("an abrupt disconnect in a drain");

	drain_begins();
	check(!end_disconnect(&b, DAT_CLOSE_ABRUPT_FLAG) && end_event(&b, NULL) == DISCONNECTED &&
	      end_event(&a, NULL) == DISCONNECTED, "D17", "the peer's disconnect ends a drain", 0);
	renew("the peer's disconnect in a drain");

	drain_begins();
	check(!end_tell(&a, KDAPL_TELL_BROKEN) && end_of(&a) && end_of(&b), "D17",
	      "BROKEN ends a drain", 0);
	renew("BROKEN in a drain");

	drain_begins();
	check(!qp_move(a.qp, IBV_QPS_ERR), "D17", "ERR by the process in a drain", 0);
	check(!end_tell(&a, KDAPL_TELL_DRAINED) && end_of(&a) && end_of(&b), "D17",
	      "it ends when it is told so", 0);
	renew("ERR in a drain");
}

/* ---- posts around the error state ------------------------------------------------- */

static void test_flush(void)
{
	int i, flushed = 0;
	struct ibv_wc wc;

	ends_connect(&a, &b);
	for (i = 0; i < 4; i++)
		need(!post_recv(&a, i), "post");
	end_disconnect(&a, DAT_CLOSE_ABRUPT_FLAG);
	need(end_event(&a, NULL) == DISCONNECTED, "the event");
	while (flushed < 4 && completion_within(&a, PATIENCE) == IBV_WC_WR_FLUSH_ERR)
		flushed++;
	check(flushed == 4, "D45", "what was posted before is flushed", flushed);
	check(board_flags(&a, KDAPL_BOARD_ERROR), "D46", "the board says that it is in error",
	      a.slot->flags);
	for (i = 0; i < 4; i++)
		need(!post_recv(&a, i), "post late");
	check(!end_tell(&a, KDAPL_TELL_FLUSH), "D46", "told that posts came late", refusal);
	flushed = 0;
	while (flushed < 4 && completion_within(&a, PATIENCE) == IBV_WC_WR_FLUSH_ERR)
		flushed++;
	check(flushed == 4, "D46", "they are flushed as well", flushed);
	for (i = 0; i < 100; i++)
		end_tell(&a, KDAPL_TELL_FLUSH);
	check(!end_event_within(&a, 300, NULL), "D46", "FLUSH a hundred times: no event", 0);
	for (i = 0; ibv_poll_cq(a.cq, 1, &wc) > 0; i++)
		;
	check(!i, "D46", "FLUSH a hundred times: no completion", i);
	need(end_event(&b, NULL) == DISCONNECTED, "the peer's event");
	renew("late receives");
}

/* ---- the process moves its queue pair itself -------------------------------------- */

static const struct move {
	enum ibv_qp_state state;
	const char *name;
	bool before;	/* it is tried before the connection as well */
	bool ends;	/* it ends a connection */
} moves[] = {
	{ IBV_QPS_ERR, "ERR", true, true }, { IBV_QPS_RESET, "RESET", true, true },
	{ IBV_QPS_INIT, "INIT", false, true }, { IBV_QPS_RTR, "RTR", false, true },
	{ IBV_QPS_SQD, "SQD", false, false },
};

#define RTR_ATTRS (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
		   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/* INIT and RTR are reached by RESET, with the peer that it has. */
static int move_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};
	int ret;

	if (state != IBV_QPS_INIT && state != IBV_QPS_RTR)
		return qp_move(qp, state);
	ret = ibv_query_qp(qp, &attr, RTR_ATTRS, &init);
	if (!ret)
		ret = qp_move(qp, IBV_QPS_RESET);
	if (!ret)
		ret = qp_init(qp);
	if (!ret && state == IBV_QPS_RTR) {
		attr.qp_state = IBV_QPS_RTR;
		ret = ibv_modify_qp(qp, &attr, RTR_ATTRS);
	}
	return ret;
}

/*
 * Whatever becomes of it, calls return, the peer's end comes when the EP is freed, and
 * both queue pairs are free then.
 */
static void test_moved(void)
{
	unsigned int i;
	__u32 ret;

	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		const struct move *move = &moves[i];

		if (move->before) {
			end_qp(&a);
			need(!end_bind(&a) && !qp_move(a.qp, move->state), "move");
			ret = end_connect(&a, &b.address, b.qual);
			if (!ret) {
				end_qp(&b);
				need(!end_bind(&b), "bind");
				cr_accept(&b, end_request(&b));
				/* The device may take it from RESET once more. */
				check(end_event(&a, NULL), "A8",
				      text_of("connect has an answer: moved to", move->name), 0);
				check(end_event(&b, NULL), "A8",
				      text_of("its peer has one", move->name), 0);
				check(end_renew(&b), "A8", text_of("and lets go", move->name), 0);
			} else {
				check(DAT_GET_TYPE(ret) == DAT_INVALID_STATE ||
				      DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES, "A8",
				      text_of("connect is refused: moved to", move->name), ret);
			}
			check(end_renew(&a), "A8", text_of("let go: moved before to", move->name),
			      0);
		}
		ends_connect(&a, &b);
		need(!post_recv(&a, 0), "post");
		check(!move_to(a.qp, move->state), "A8",
		      text_of("moved while connected to", move->name), 0);
		/* Nobody polls or tells: the kernel looks by itself. */
		if (move->ends)
			check(end_of(&a) == BROKEN && end_of(&b), "D52",
			      text_of("the kernel sees that it does not work, and the peer",
				      move->name), 0);
		check(!end_disconnect(&a, DAT_CLOSE_ABRUPT_FLAG) ||
		      end_state(&a) == DAT_EP_STATE_DISCONNECTED, "D5",
		      text_of("disconnect: moved to", move->name), 0);
		check(state_gets(&a, DAT_EP_STATE_DISCONNECTED) &&
		      state_gets(&b, DAT_EP_STATE_DISCONNECTED), "D5",
		      text_of("both end: moved to", move->name), end_state(&b));
		/* And again, after the end. */
		qp_move(a.qp, IBV_QPS_RESET);
		qp_init(a.qp);
		end_tell(&a, KDAPL_TELL_FLUSH);
		renew(text_of("moved to", move->name));
	}
}

/* The peer's key is bad: both are broken, and nobody polls or tells. */
static void test_watch(void)
{
	struct ibv_sge sge = { 0, MESSAGE, 0 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	long start;

	ends_connect(&a, &b);
	sge.addr = (uintptr_t)a.memory[0];
	sge.lkey = a.mr->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)b.memory[0];
	wr.wr.rdma.rkey = 0x12345678;
	need(!ibv_post_send(a.qp, &wr, &bad), "post");
	start = now_ms();
	check(end_of(&a) == BROKEN, "D52", "a break is seen though nobody polls", 0);
	check(end_of(&b), "D52", "by the peer as well", 0);
	printf("# after %ld ms\n", now_ms() - start);
	renew("a break");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		device = argv[1];
	if (argc > 2)
		other_device = argv[2];
	end_open(&a, device);
	end_open(&b, other_device);
	end_listen(&b);
	test_life();
	test_order();
	test_accept_without();
	test_stale_tells();
	test_lies_that_end_it();
	test_early_lies();
	test_drain();
	test_flush();
	test_moved();
	test_watch();
	end_close(&a);
	end_close(&b);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
