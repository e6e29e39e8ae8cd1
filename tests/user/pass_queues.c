// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library's queues of a process's own (udapl-shim/pass_*.c), from the inside, with the
 * device of pass_rig.h.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pass_rig.h"
#include "pass_srq.h"
#include "locked.h"
#include "proc.h"

#define AWAIT(what) do {						\
	int _tries;							\
									\
	for (_tries = 0; !(what); _tries++) {				\
		CHECK(_tries < 10000);					\
		usleep(1000);					\
	}								\
} while (0)

/* ---- cases --------------------------------------------------------------------------- */

/* A made-up context leads to an entry all the same. */
static int make_lmr_table(void)
{
	if (!pass_lmrs_init())
		return 1;
	return pass_lmr_find(~0u) ? 2 : 0;
}

/* Has to be the first case. */
static void case_locked_in_future(void)
{
	in_locked_child(make_lmr_table);
}

static void case_first_message(void)
{
	setup();
	OK(post(false, 1, 0));
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	expect_nothing();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(1, DAT_DTO_SUCCESS);
	expect_nothing();
}

/* The kernel shows a state when its event is in the ring, and may take a moment. */
static void case_board_is_behind(void)
{
	setup();
	CHECK_RET(post(true, 1, 0), STATE(EP_ACTCONNPENDING));
	kernel_event(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 2, 0));
	OK(post(false, 3, 0));
	CHECK(nr_queue[PASS_REQ] == 1 && nr_queue[PASS_RECV] == 1);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect(2, DAT_DTO_SUCCESS);
}

static void case_never_connected(void)
{
	setup();
	OK(post(false, 1, 0));
	CHECK_RET(post(true, 2, 0), STATE(EP_ACTCONNPENDING));
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	kernel_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	board.state = DAT_EP_STATE_DISCONNECTED;
	expect(1, DAT_DTO_ERR_FLUSHED);
}

static void case_end_is_last(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 1, 0));
	OK(post(false, 2, 0));
	OK(post(true, 3, 0));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	disconnected();
	expect(1, DAT_DTO_SUCCESS);
	expect_nothing();
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	expect(3, DAT_DTO_ERR_FLUSHED);
	expect_nothing();
	/* The queue pair of this test cannot be destroyed. */
	ep->dir[PASS_REQ].qp = NULL;
	ep->dir[PASS_RECV].qp = NULL;
	OK(post(false, 4, 0));
	complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	expect(2, DAT_DTO_ERR_FLUSHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect(4, DAT_DTO_ERR_FLUSHED);
	OK(post(true, 5, 0));
	expect(5, DAT_DTO_ERR_FLUSHED);
	expect_nothing();
}

/* Who looks for events has nothing else to do, as long as that might take. */
static void case_dequeue_ends_nothing(void)
{
	DAT_EVENT event;

	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 1, 0));
	disconnected();
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	nr_destroyed = 0;
	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_RET(dat_evd_dequeue(evd_obj, &event), ERR2(QUEUE_EMPTY, DAT_NO_SUBTYPE));
	CHECK_RET(dat_evd_dequeue(evd_obj, &event), ERR2(QUEUE_EMPTY, DAT_NO_SUBTYPE));
	CHECK_EQ(nr_destroyed, 0);
	CHECK(ep->kept);
	pass_keeper_round();
	CHECK_EQ(nr_destroyed, 1);
	pass_keeper_round();
	CHECK(!ep->kept && !ep->ending && !ep->spent);
	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The call fails or not; until then nobody knows whose the flushed receive is. */
static void case_call_not_over(void)
{
	setup();
	ep->preparing = true;
	OK(post(false, 1, 0));
	complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	expect_nothing();
	ep->preparing = false;
	expect(1, DAT_DTO_ERR_FLUSHED);
}

/* It has failed, and the receive is on another queue pair. */
static void case_former_queue(void)
{
	setup();
	OK(post(false, 1, 0));
	on_queue[PASS_RECV][nr_queue[PASS_RECV]++] = on_queue[PASS_RECV][0];
	complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	done[0].qp_num--;
	expect_nothing();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	expect(1, DAT_DTO_SUCCESS);
}

/* The EP goes while another thread polls its EVD. */
static void case_closed_meanwhile(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 1, 0));
	OK(post(false, 2, 0));
	/* The queue pair of this test cannot be destroyed. */
	ep->dir[PASS_REQ].qp = NULL;
	ep->dir[PASS_RECV].qp = NULL;
	ep->refs = 1;
	ep_obj->pass = NULL;
	pass_end_close(ep);
	CHECK(evd->parked);
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	expect_nothing();
}

/* In the place of the C library's: the kernel's answer, if there is one. */
static bool (*kernel)(unsigned long cmd, void *arg);

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	(void)fd;
	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (kernel && kernel(cmd, arg))
		return 0;
	errno = ENOTTY;
	return -1;
}

/* Each structure begins with its return code. */
static bool lets_go(unsigned long cmd, void *arg)
{
	if (cmd != KDAPL_IOC_EP_FREE && cmd != KDAPL_IOC_EP_RESET)
		return false;
	*(uint32_t *)arg = DAT_SUCCESS;
	return true;
}

/* The event of the end is in the ring, and the completions are in the queue. */
static void case_freed_behind_end(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(false, 1, 0));
	disconnected();
	complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	kernel = lets_go;
	OK(ep_obj->ops->ep_free(ep_obj));
	kernel = NULL;
	CHECK(!ep_obj->pass);
	expect(1, DAT_DTO_ERR_FLUSHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_nothing();
}

/* A device may say that a connection is over before the kernel has heard of it (iWARP). */
static void case_kernel_is_behind(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	pass_end_want(ep);
	nr_destroyed = 0;
	pass_keeper_round();
	pass_keeper_round();
	CHECK_EQ(nr_destroyed, 0);
	CHECK(ep->ending && ep->kept);
	disconnected();
	pass_keeper_round();
	CHECK_EQ(nr_destroyed, 1);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
}

static bool tells_status(unsigned long cmd, void *arg)
{
	struct kdapl_uapi_ep_get_status *status = arg;

	if (cmd != KDAPL_IOC_EP_GET_STATUS)
		return false;
	status->state = board.state;
	status->ret = DAT_SUCCESS;
	return true;
}

static uint32_t nr_shown;

static void count_shown(void)
{
	nr_shown = evd->nr_fifo;
}

static bool flushes(unsigned long cmd, void *arg)
{
	struct kdapl_uapi_ep_tell *tell = arg;

	if (cmd != KDAPL_IOC_EP_TELL)
		return false;
	tell->ret = DAT_SUCCESS;
	if (tell->what == KDAPL_TELL_FLUSH && nr_queue[PASS_RECV])
		complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	return true;
}

/*
 * The receive came when the queue pair had been flushed already, and the device keeps it. Nobody
 * looks at the EVD that has the event of the end.
 */
static void case_end_elsewhere(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	pass_keeper_watch(ep);
	OK(post(false, 1, 0));
	pass_keeper_round();
	CHECK(!ep->kept);
	kernel = flushes;
	disconnected();
	nr_destroyed = 0;
	AWAIT((pass_keeper_round(), nr_destroyed));
	kernel = NULL;
	CHECK_EQ(evd->nr_fifo, 2);
	CHECK(!ep->watched);
	expect(1, DAT_DTO_ERR_FLUSHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_nothing();
}

/* It may take long to destroy a queue pair: all that is to be shown is shown before. */
static void case_one_at_a_time(void)
{
	static struct kdapl_uapi_board_ep other;
	struct pass_ep *one;
	int before;

	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	one = ep;
	disconnected();
	other = board;
	ep_setup(&other);
	disconnected();
	pass_end_want(one);
	pass_end_want(ep);
	before = nr_destroyed;
	nr_shown = 0;
	while_destroying = count_shown;
	CHECK_EQ(pass_keeper_round(), 0);
	CHECK_EQ(nr_shown, 2);
	CHECK_EQ(nr_destroyed, before + 1);
	CHECK_EQ(pass_keeper_round(), 0);
	CHECK_EQ(nr_destroyed, before + 2);
	pass_keeper_round();
	CHECK_EQ(nr_destroyed, before + 2);
	while_destroying = NULL;
}

/* Nobody dequeues: what was posted behind the end is flushed by who asks. */
static void case_asked_behind_end(void)
{
	struct kdapl_uapi_ep_get_status status = {};
	struct kdapl_uapi_ep_recv_query query = {};
	int i;

	for (i = 0; i < 2; i++) {
		setup();
		connected();
		expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
		OK(post(false, 1, 0));
		disconnected();
		complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
		OK(post(true, 2, 0));
		OK(post(false, 3, 0));
		kernel = tells_status;
		if (i)
			OK(ep_obj->ops->ep_recv_query(ep_obj, &query));
		else
			OK(ep_obj->ops->ep_status(ep_obj, &status));
		kernel = NULL;
		CHECK(i ? !query.allocated : status.request_idle && status.recv_idle);
		expect(1, DAT_DTO_ERR_FLUSHED);
		expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
		expect(2, DAT_DTO_ERR_FLUSHED);
		expect(3, DAT_DTO_ERR_FLUSHED);
		expect_nothing();
	}
}

/* Another thread has freed it while this one waited for it. */
static void case_left_already(void)
{
	setup();
	connected();
	OK(post(true, 1, 0));
	ep->dir[PASS_REQ].qp = NULL;
	ep->dir[PASS_RECV].qp = NULL;
	pthread_mutex_lock(&ep->use);
	pass_ep_leave(ep);
	pthread_mutex_unlock(&ep->use);
	CHECK_EQ(ep->refs, 1);
	pass_end_close(ep);
	CHECK_EQ(ep->refs, 1);
	CHECK(!evd->users && !pass_eps_use(pia, evd_obj));
}

/* An EP beside the first one, on the same EVD; and that one. */
static struct pass_ep *first;
static struct shim_object *first_obj;

static void another_ep(void)
{
	static const struct kdapl_uapi_board_ep other_board = {
		.life = 1,
		.state = DAT_EP_STATE_CONNECTED,
	};

	first = ep;
	first_obj = ep_obj;
	ep_setup(&other_board);
	ep->dir[PASS_RECV].await = false;
}

static void back_to_first(void)
{
	ep = first;
	ep_obj = first_obj;
}

/* Whatever has to wait: what is another EP's does not, and what is its own does. */
static void case_others_wait_not(void)
{
	setup();
	OK(post(false, 1, 0));
	OK(post(false, 2, 0));
	another_ep();
	OK(post(false, 3, 0));
	OK(post(true, 4, 0));
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	expect(3, DAT_DTO_SUCCESS);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect(4, DAT_DTO_SUCCESS);
	expect_nothing();
	back_to_first();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(1, DAT_DTO_SUCCESS);
	expect(2, DAT_DTO_SUCCESS);
	expect_nothing();
	CHECK(!pass_evd_aside(evd, PASS_WAITING));
}

/* On iWARP a flush waits until the kernel has heard of the end. */
static void case_flush_awaits_cm(void)
{
	setup();
	pia->iwarp = true;
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(false, 1, 0));
	OK(post(true, 2, 0));
	complete(PASS_RECV, IBV_WC_WR_FLUSH_ERR, 0);
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	another_ep();
	OK(post(true, 3, 0));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect(3, DAT_DTO_SUCCESS);
	expect_nothing();
	back_to_first();
	disconnected();
	expect(1, DAT_DTO_ERR_FLUSHED);
	expect(2, DAT_DTO_ERR_FLUSHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_nothing();
}

/* The time for that is over while the housekeeper looks, which has to look once more then. */
static void case_cm_is_late(void)
{
	uint64_t next = UINT64_MAX, until;

	setup();
	pia->iwarp = true;
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 1, 0));
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	expect_nothing();
	CHECK(pass_ep_waits(ep));
	until = shim_now() - 1;
	ep->cm_until = until;
	pass_end_next(ep, until - 1, &next);
	CHECK_EQ(next, until);
	/* This look has seen it. */
	next = UINT64_MAX;
	pass_end_next(ep, until, &next);
	CHECK_EQ(next, UINT64_MAX);
	expect(1, DAT_DTO_ERR_FLUSHED);
}

/* The EP is destroyed while its completions wait. */
static void case_waits_no_more(void)
{
	setup();
	OK(post(false, 1, 0));
	OK(post(false, 2, 0));
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	expect_nothing();
	CHECK(pass_evd_aside(evd, PASS_WAITING));
	ep_obj->pass = NULL;
	pass_end_close(ep);
	CHECK(!evd->waiting && !pass_evd_aside(evd, PASS_WAITING));
	expect_nothing();
}

/* The channel has told of a message that nobody could see then. */
static void case_solicited_early(void)
{
	uint32_t notified;

	setup();
	evd->solicited = 1;
	OK(post(false, 1, 0));
	notified = evd->notified;
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	expect_nothing();
	CHECK_EQ(evd->notified, notified);
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(1, DAT_DTO_SUCCESS);
	CHECK_EQ(evd->notified, notified + 1);
}

/* All the posts of a direction */
static void fill(bool request)
{
	uint64_t i;

	for (i = 0; i < DEPTH; i++)
		OK(post(request, i, 0));
}

static void case_room(void)
{
	setup();
	connected();
	fill(true);
	CHECK_RET(post(true, 99, 0), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	CHECK_RET(post(true, 99, 0), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(0, DAT_DTO_SUCCESS);
	OK(post(true, 99, 0));
}

static void case_suppressed(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post(true, 2, 0));
	OK(post(true, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	complete(PASS_REQ, IBV_WC_RETRY_EXC_ERR, 0);
	expect(2, DAT_DTO_SUCCESS);
	expect(3, DAT_DTO_ERR_TRANSPORT);
	expect_nothing();
}

static void case_foreign_message(void)
{
	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(false, 1, 0));
	OK(post(false, 2, 0));
	complete(PASS_RECV, IBV_WC_SUCCESS, 5);
	done[nr_done - 1].wc_flags = 0;
	expect(1, DAT_DTO_ERR_LOCAL_LENGTH);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	done[nr_done - 1].wc_flags = IBV_WC_WITH_IMM;
	expect(2, DAT_DTO_ERR_BAD_RESPONSE);
}

static void case_segments(void)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = 77, .segment_length = 1 };
	const DAT_DTO_COOKIE none = { .as_64 = 0 };

	setup();
	connected();
	CHECK_RET(dat_ep_post_send(ep_obj, 2, &iov, none, 0), ARG(2));
	CHECK_RET(dat_ep_post_send(ep_obj, 1, NULL, none, 0), ARG(3));
	CHECK_RET(dat_ep_post_send(ep_obj, 1, &iov, none,
				   DAT_COMPLETION_UNSIGNALLED_FLAG), ARG(5));
	CHECK_RET(dat_ep_post_send(ep_obj, 1, &iov, none, 0),
		  ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_READ));
	iov.lmr_context = 0;
	CHECK_RET(dat_ep_post_recv(ep_obj, 1, &iov, none, 0),
		  ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_WRITE));
	CHECK(!nr_queue[PASS_REQ] && !nr_queue[PASS_RECV]);
}

#define START	0x1000u
#define LENGTH	0x100u
#define PLAIN	0x80u

/* An LMR that the posts of @zone may name */
static struct pass_lmr *plain_setup(struct pass_pz *zone)
{
	struct pass_lmr *lmr;
	int i;

	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	ep->dir[PASS_RECV].await = false;
	for (i = 0; i < PASS_DIRS; i++) {
		ep->dir[i].pz = zone;
		ep->dir[i].max_plain = PLAIN;
		ep->dir[i].gate = PASS_POST;
	}
	lmr = &pass_lmrs[7];
	*lmr = (struct pass_lmr) {
		.context = (char *)lmr - (char *)pass_lmrs,
		.start = START,
		.length = LENGTH,
		.lkey = 5,
		.sinks = KDAPL_SINK_READ | KDAPL_SINK_RECV,
		.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG,
		.pz = zone,
	};
	return lmr;
}

static DAT_RETURN post_at(bool send, const struct pass_lmr *lmr, uint64_t address,
			  uint64_t length, uint64_t cookie)
{
	DAT_LMR_TRIPLET iov = {
		.lmr_context = lmr->context,
		.virtual_address = address,
		.segment_length = length,
	};
	const DAT_DTO_COOKIE user = { .as_64 = cookie };

	return send ? dat_ep_post_send(ep_obj, 1, &iov, user, 0) :
		      dat_ep_post_recv(ep_obj, 1, &iov, user, 0);
}

/* What the device was given last has one segment. */
static void expect_segment(int dir, uint64_t address, uint32_t length)
{
	const struct pass_cookie *cookie =
		(void *)(uintptr_t)on_queue[dir][nr_queue[dir] - 1];

	CHECK_EQ(cookie->nr_sge, 1);
	CHECK_EQ(cookie->sge->addr, address);
	CHECK_EQ(cookie->sge->length, length);
	CHECK_EQ(cookie->sge->lkey, 5);
}

static void case_plain(void)
{
	struct pass_pz zone = { .users = 1 };
	struct pass_lmr *lmr = plain_setup(&zone);
	DAT_EVENT event;

	OK(post_at(true, lmr, START, PLAIN, 1));
	expect_segment(PASS_REQ, START, PLAIN);
	OK(post_at(true, lmr, START + LENGTH - 1, 1, 2));
	expect_segment(PASS_REQ, START + LENGTH - 1, 1);
	OK(post_at(false, lmr, START, 9, 3));
	expect_segment(PASS_RECV, START, 9);
	complete(PASS_RECV, IBV_WC_SUCCESS, 7);
	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	CHECK_EQ(event.event_data.dto_completion_event_data.transfered_length, 7);
	/* Two that are polled at once, in their order. */
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect(1, DAT_DTO_SUCCESS);
	expect(2, DAT_DTO_SUCCESS);
	expect_nothing();
	CHECK_RET(dat_evd_dequeue(evd_obj, NULL), ARG(2));
	CHECK_EQ(ep->dir[PASS_REQ].completed, 2);
}

/* Short ones go to the device inside the work request, as long as it takes that. */
static void case_inline(void)
{
	const DAT_RMR_TRIPLET remote = { .segment_length = 8 };
	const DAT_DTO_COOKIE user = { .as_64 = 1 };
	struct pass_pz zone = { .users = 1 };
	struct pass_lmr *lmr = plain_setup(&zone);
	DAT_LMR_TRIPLET iov = { .lmr_context = lmr->context, .virtual_address = START };
	unsigned int i;
	static const struct {
		uint32_t length, flags;
		bool inside;
	} ways[] = {
		{ 64, DAT_COMPLETION_DEFAULT_FLAG, true },
		{ 65, DAT_COMPLETION_DEFAULT_FLAG, false },
		{ 64, DAT_COMPLETION_SUPPRESS_FLAG, true },
		{ 65, DAT_COMPLETION_SUPPRESS_FLAG, false },
		{ 0, DAT_COMPLETION_SUPPRESS_FLAG, false },
	};

	ep->dir[PASS_REQ].max_inline = 64;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		iov.segment_length = ways[i].length;
		OK(dat_ep_post_send(ep_obj, 1, &iov, user, ways[i].flags));
		CHECK_EQ(sent.send_flags,
			 IBV_SEND_SIGNALED | (ways[i].inside ? IBV_SEND_INLINE : 0));
		complete(PASS_REQ, IBV_WC_SUCCESS, 0);
		while (!dat_evd_dequeue(evd_obj, &(DAT_EVENT){}))
			;
	}
	/* What a read fetches comes from the peer. */
	ep->reads = true;
	for (i = 0; i < KDAPL_NR_DTO_KINDS; i++)
		ep->limits[i] = ep->limits[KDAPL_DTO_SEND];
	iov.segment_length = 8;
	OK(dat_ep_post_rdma_write(ep_obj, 1, &iov, user, &remote, 0));
	CHECK_EQ(sent.send_flags, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	OK(dat_ep_post_rdma_read(ep_obj, 1, &iov, user, &remote, 0));
	CHECK_EQ(sent.send_flags, IBV_SEND_SIGNALED);
	OK(dat_ep_post_rdma_read(ep_obj, 1, &iov, user, &remote, DAT_COMPLETION_SUPPRESS_FLAG));
	CHECK_EQ(sent.send_flags, IBV_SEND_SIGNALED);
}

/* One byte beside, around the end of all addresses, another zone, no right to write. */
static void case_not_plain(void)
{
	struct pass_pz zone = { .users = 1 }, other = { .users = 1 };
	struct pass_lmr *lmr = plain_setup(&zone);

	CHECK_RET(post_at(true, lmr, START - 1, 1, 1), ARG(3));
	CHECK_RET(post_at(true, lmr, START - 1, 2, 1), ARG(3));
	CHECK_RET(post_at(true, lmr, START + LENGTH - 1, 2, 1), ARG(3));
	CHECK_RET(post_at(true, lmr, START + LENGTH, 1, 1), ARG(3));
	CHECK_RET(post_at(true, lmr, UINT64_MAX, 2, 1), ARG(3));
	CHECK_RET(post_at(true, lmr, START + 1, UINT64_MAX, 1), ARG(3));
	CHECK_RET(post_at(true, lmr, 0, UINT64_MAX, 1), ARG(3));
	lmr->sinks = KDAPL_SINK_READ;
	CHECK_RET(post_at(false, lmr, START, 1, 1),
		  ERR2(PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE));
	lmr->pz = &other;
	CHECK_RET(post_at(true, lmr, START, 1, 1),
		  ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_READ));
	CHECK(!nr_queue[PASS_REQ] && !nr_queue[PASS_RECV]);
	lmr->pz = &zone;
	/* More than a plain one has, and as the attributes allow. */
	OK(post_at(true, lmr, START, PLAIN + 1, 1));
	CHECK_EQ(nr_queue[PASS_REQ], 1);
}

/* ---- shared receive queues ----------------------------------------------------------- */

/* In the place of libibverbs': one device, which can be opened, and whose events are in a pipe. */
static struct ibv_device adapter;
static struct ibv_device *adapters[] = { &adapter, NULL };
static int news[2];
static struct ibv_srq queue = { .context = &device };
static int refuse_srq;

/* libibverbs has a lock for this, which is not renewed in a child of fork(). */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*while_listing)(void);

struct ibv_device **ibv_get_device_list(int *number)
{
	pthread_mutex_lock(&list_lock);
	if (while_listing)
		while_listing();
	pthread_mutex_unlock(&list_lock);
	*number = 1;
	return adapters;
}

void ibv_free_device_list(struct ibv_device **list)
{
	(void)list;
}

const char *ibv_get_device_name(struct ibv_device *of)
{
	(void)of;
	return "rig0";
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	device.device = of;
	device.cmd_fd = -1;
	device.async_fd = news[0];
	return &device;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	return read(context->async_fd, event, sizeof(*event)) != sizeof(*event);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	(void)pd;
	queue.srq_context = attr->srq_context;
	return &queue;
}

static int take_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	(void)bad;
	if (!refuse_srq)
		on_queue[PASS_RECV][nr_queue[PASS_RECV]++] = wr->wr_id;
	return refuse_srq;
}

static struct pass_srq *srq_setup(struct shim_object **obj, uint32_t iov)
{
	struct kdapl_uapi_srq_create arg = { .max_recv_dtos = 2, .max_recv_iov = iov };
	static struct pass_pz zone;
	struct shim_object *pz;

	setup();
	/* As the library has made the descriptor of a context. */
	CHECK(!pipe2(news, O_NONBLOCK));
	refuse_srq = 0;
	device.ops.post_srq_recv = take_srq;
	if (!pia->context)
		pia->context = pass_context_get("rig0", 4);
	CHECK(pia->context);
	device.async_fd = news[0];
	pz = shim_object_get(++token, SHIM_PZ, ia, NULL);
	zone.obj = pz;
	pz->pass = &zone;
	arg.pz = token;
	*obj = shim_object_get(++token, SHIM_SRQ, ia, NULL);
	OK(pass_srq_made(*obj, &arg));
	return (*obj)->pass;
}

static void device_loses(void)
{
	struct ibv_async_event event = {
		.element.srq = &queue,
		.event_type = IBV_EVENT_SRQ_ERR,
	};

	CHECK(write(news[1], &event, sizeof(event)) == sizeof(event));
}

static DAT_RETURN srq_post(struct shim_object *obj)
{
	return dat_srq_post_recv(obj, 0, NULL, (DAT_DTO_COOKIE) { .as_64 = 1 });
}

/* There is no kernel that answers the rest of it. */
static void case_srq_lost(void)
{
	struct shim_object *obj;
	struct pass_srq *srq = srq_setup(&obj, 1);
	DAT_SRQ_PARAM param;

	dat_srq_query(obj, DAT_SRQ_FIELD_ALL, &param);
	CHECK(!srq->broken);
	device_loses();
	dat_srq_query(obj, DAT_SRQ_FIELD_ALL, &param);
	CHECK(srq->broken);
}

static void case_srq_full(void)
{
	struct shim_object *obj;
	struct pass_srq *srq = srq_setup(&obj, 1);

	OK(srq_post(obj));
	device_loses();
	OK(srq_post(obj));
	CHECK(!srq->broken);
	CHECK_RET(srq_post(obj), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK(srq->broken);
}

static void case_srq_refuses(void)
{
	struct shim_object *obj;
	struct pass_srq *srq = srq_setup(&obj, 1);

	refuse_srq = EIO;
	CHECK_RET(srq_post(obj), ERR2(INTERNAL_ERROR, 0));
	device_loses();
	OK(srq_post(obj));
	CHECK(srq->broken);
	CHECK_EQ(srq->outstanding, 1);
}

/*
 * Nobody has polled, so that the library still has to find out that there was a connection: a
 * receive that a message has filled is none that was flushed, since its sender has SUCCESS.
 */
static void case_message_before_end(void)
{
	struct shim_object *obj;
	int i;

	for (i = 0; i < 4; i++) {
		const bool shared = i & 1, freed = i & 2;

		if (shared) {
			struct pass_srq *srq = srq_setup(&obj, 1);

			srq->refs++;
			ep->dir[PASS_RECV].srq = srq;
			CHECK(pass_srq_enter(&ep->dir[PASS_RECV], QP_NUM));
			OK(srq_post(obj));
		} else {
			setup();
			OK(post(false, 1, 0));
		}
		connected();
		complete(PASS_RECV, IBV_WC_SUCCESS, 0);
		if (!freed)
			disconnected();
		kernel = lets_go;
		OK(freed ? ep_obj->ops->ep_free(ep_obj) : ep_obj->ops->ep_reset(ep_obj));
		kernel = NULL;
		expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
		expect(1, DAT_DTO_SUCCESS);
		if (!freed)
			expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_nothing();
	}
}

/* The consumer polls while the kernel frees its EP, whose entry of the board is another's then. */
static bool polled_while_freed(unsigned long cmd, void *arg)
{
	if (!lets_go(cmd, arg))
		return false;
	board = (struct kdapl_uapi_board_ep) { .state = DAT_EP_STATE_UNCONNECTED };
	pass_dir_pull(&ep->dir[PASS_RECV]);
	return true;
}

static void case_polled_while_freed(void)
{
	setup();
	OK(post(false, 1, 0));
	connected();
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	kernel = polled_while_freed;
	OK(ep_obj->ops->ep_free(ep_obj));
	kernel = NULL;
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(1, DAT_DTO_SUCCESS);
	expect_nothing();
}

/* The EP is freed before it was told of its connection; its entry becomes a connected EP's. */
static bool freed_while_confirmed(unsigned long cmd, void *arg)
{
	if (cmd != KDAPL_IOC_EP_TELL)
		return false;
	ep->leaving = true;
	board.state = DAT_EP_STATE_CONNECTED;
	*(uint32_t *)arg = DAT_SUCCESS;
	return true;
}

static void case_freed_while_confirmed(void)
{
	setup();
	OK(post(false, 1, 0));
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	kernel = freed_while_confirmed;
	pass_dir_pull(&ep->dir[PASS_RECV]);
	kernel = NULL;
	CHECK(!ep->established && ep->dir[PASS_RECV].await);
	CHECK(pass_ep_waits(ep));
}

/* Nobody has taken the end of the former connection when the next one is there. */
static void case_event_of_former_life(void)
{
	setup();
	connected();
	disconnected();
	ep->life++;
	board.life = ep->life;
	board.flags = 0;
	connected();
	OK(post(true, 1, 0));
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(!ep->ending);
	disconnected();
	expect_nothing();
	ep->dir[PASS_REQ].qp = NULL;
	ep->dir[PASS_RECV].qp = NULL;
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	expect(1, DAT_DTO_ERR_FLUSHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The message is taken from one EVD while a thread has the connect EVD locked. */
static void case_connect_evd_is_locked(void)
{
	struct shim_object *connect_obj;
	struct pass_evd *connect_evd;

	setup();
	connect_evd = pass_evd_hidden(pia);
	connect_obj = shim_object_get(++token, SHIM_EVD, ia, NULL);
	connect_obj->pass = connect_evd;
	ep->connect_evd = connect_obj;
	OK(post(false, 1, 0));
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	board.flags = KDAPL_BOARD_ESTABLISHED | KDAPL_BOARD_ERROR;
	board.state = DAT_EP_STATE_DISCONNECTED;
	shim_lock(connect_evd->lock);
	expect(1, DAT_DTO_SUCCESS);
	shim_unlock(connect_evd->lock);
}

/* ---- sleeping ------------------------------------------------------------------------ */

static int nr_armed;

static int count_armed(struct ibv_cq *of, int solicited)
{
	nr_armed++;
	return req_notify(of, solicited);
}

/* Has poll(2) find the descriptor broken, as verbs' own are when their device is gone. */
static void break_fd(int fd)
{
	int ends[2];

	CHECK(!pipe2(ends, O_NONBLOCK));
	CHECK(dup2(ends[1], fd) == fd);
	CHECK(!close(ends[0]) && !close(ends[1]));
}

/*
 * Who waits looks again once for each descriptor that tells, and arms the queues for it; also if
 * the housekeeper has found the channel broken before.
 */
static void case_device_gone(void)
{
	static struct ibv_comp_channel channel;
	struct shim_object *obj;
	DAT_EVENT event;
	DAT_COUNT more;
	int i;

	for (i = 0; i < 2; i++) {
		srq_setup(&obj, 1);
		device.ops.req_notify_cq = count_armed;
		channel.fd = eventfd(0, EFD_CLOEXEC);
		break_fd(channel.fd);
		evd->channel = &channel;
		evd->channel_fd.fd = channel.fd;
		evd->mute = i;
		break_fd(pass_context_fd(pia->context));
		evd->async = true;
		evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
		nr_armed = 0;
		CHECK_RET(dat_evd_wait(evd_obj, 50000, 1, &event, &more),
			  ERR2(TIMEOUT_EXPIRED, 0));
		CHECK(nr_armed <= 2);
		device.ops.req_notify_cq = req_notify;
	}
}

static atomic_bool channel_tells;	/* whoever asks next, and nobody else has seen it */

/* In the place of libibverbs': else a channel tells something, of no queue that there is. */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **of, void **context)
{
	uint64_t told;

	(void)context;
	*of = &cq;
	if (atomic_exchange(&channel_tells, false))
		return 0;
	return read(channel->fd, &told, sizeof(told)) < 0 ? -1 : -2;
}

static int nr_signals;

static void note_signal(int number)
{
	(void)number;
	nr_signals++;
}

/* The queues are armed before the first sleep and, after a channel event, before the second. */
static int signal_between(struct ibv_cq *of, int solicited)
{
	if (++nr_armed == 2)
		CHECK(!raise(SIGUSR1));
	return req_notify(of, solicited);
}

/* The thread was woken for nothing, and goes to sleep again. */
static void case_signal_between(void)
{
	struct sigaction action = { .sa_handler = note_signal };
	static struct ibv_comp_channel channel;
	DAT_EVENT event;
	DAT_COUNT more;

	setup();
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	channel.fd = eventfd(1, EFD_CLOEXEC);
	evd->channel = &channel;
	evd->channel_fd.fd = channel.fd;
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
	device.ops.req_notify_cq = signal_between;
	nr_armed = 0;
	nr_signals = 0;
	CHECK_RET(dat_evd_wait(evd_obj, 5000000, 1, &event, &more), ERR2(INTERRUPTED_CALL, 0));
	CHECK_EQ(nr_signals, 1);
	device.ops.req_notify_cq = req_notify;
	close(channel.fd);
}

static pthread_t idly;		/* this thread is woken for nothing... */
static bool idle_wake;		/* ... at its next sleep */
static int nr_sleeps;
static sem_t *held_asleep;	/* who waits sleeps until then, and the channel has woken him */

/* In the place of the C library's */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	static typeof(ppoll) *real;

	if (!real)
		real = (typeof(real))dlsym(RTLD_NEXT, "ppoll");
	nr_sleeps++;
	if (idle_wake && pthread_equal(idly, pthread_self())) {
		idle_wake = false;
		CHECK(!raise(SIGUSR1));
		fds[0].revents = POLLIN;
		return 1;
	}
	if (held_asleep) {
		while (sem_wait(held_asleep))
			;
		fds[0].revents = POLLIN;
		return 1;
	}
	return real(fds, n, limit, mask);
}

/* The same of a CNO: another waiter has taken the trigger for which both were woken. */
static void case_cno_signal_between(void)
{
	struct sigaction action = { .sa_handler = note_signal };
	DAT_EVD_HANDLE by;
	DAT_CNO_HANDLE cno;

	setup();
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	OK(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	nr_signals = 0;
	idly = pthread_self();
	idle_wake = true;
	CHECK_RET(dat_cno_wait(cno, 5000000, &by), ERR2(INTERRUPTED_CALL, 0));
	CHECK_EQ(nr_signals, 1);
	OK(dat_cno_free(cno));
}

static bool tells_length(unsigned long cmd, void *arg)
{
	struct kdapl_uapi_evd_query *query = arg;

	if (cmd != KDAPL_IOC_EVD_QUERY)
		return false;
	query->qlen = ENTRIES;
	query->state = 0;
	query->ret = DAT_SUCCESS;
	return true;
}

/* An event is there, and an EP whose connection ends; who waits for two events sleeps. */
static void case_too_few(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(true, 1, 0));
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
	kernel_event(DAT_SOFTWARE_EVENT);
	disconnected();
	kernel = tells_length;
	nr_sleeps = 0;
	CHECK_RET(dat_evd_wait(evd_obj, 200000, 2, &event, &more), ERR2(TIMEOUT_EXPIRED, 0));
	CHECK(nr_sleeps <= 2);
	CHECK_EQ(more, 1);
	kernel = NULL;
	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_number, DAT_SOFTWARE_EVENT);
}

/* Stands in for the kernel's descriptor of the ring. */
static void ring_fd_setup(void)
{
	setup();
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* Who is stopped in his sleep and continues has heard no signal, and sleeps on. */
static void case_stopped(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	char status[64];
	pid_t child;
	int how;

	fflush(stdout);
	child = fork();
	if (!child) {
		ring_fd_setup();
		_exit(dat_evd_wait(evd_obj, 1000000, 1, &event, &more) != ERR2(TIMEOUT_EXPIRED, 0));
	}
	snprintf(status, sizeof(status), "/proc/%d/status", child);
	while (!proc_sleeps(status))
		usleep(1000);
	CHECK(!kill(child, SIGSTOP));
	CHECK(waitpid(child, &how, WUNTRACED) == child && WIFSTOPPED(how));
	CHECK(!kill(child, SIGCONT));
	CHECK(waitpid(child, &how, 0) == child);
	CHECK_EQ(how, 0);
}

static void wait_takes(uint64_t cookie, DAT_DTO_COMPLETION_STATUS status, DAT_COUNT left)
{
	DAT_EVENT event;
	DAT_COUNT more;

	OK(dat_evd_wait(evd_obj, 1000000, 1, &event, &more));
	CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
	CHECK_EQ(event.event_data.dto_completion_event_data.status, status);
	CHECK_EQ(more, left);
}

/* Completions that are there already: one, two, one behind a suppressed one, a failed one. */
static void case_wait_at_once(void)
{
	ring_fd_setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	nr_sleeps = 0;
	OK(post(true, 1, 0));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	wait_takes(1, DAT_DTO_SUCCESS, 0);
	OK(post(true, 2, 0));
	OK(post(true, 3, 0));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	wait_takes(2, DAT_DTO_SUCCESS, 1);
	wait_takes(3, DAT_DTO_SUCCESS, 0);
	OK(post(true, 4, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post(true, 5, 0));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	wait_takes(5, DAT_DTO_SUCCESS, 0);
	OK(post(true, 6, 0));
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	wait_takes(6, DAT_DTO_ERR_FLUSHED, 0);
	CHECK_EQ(nr_sleeps, 0);
}

/* Returns when a thread sleeps in dat_evd_wait(). */
static void until_asleep(void)
{
	bool asleep;

	do {
		usleep(100);
		shim_lock(evd->lock);
		asleep = evd->sleepers;
		shim_unlock(evd->lock);
	} while (!asleep);
}

static void *event_for_sleeper(void *unused)
{
	const uint64_t one = 1;

	until_asleep();
	kernel_event(DAT_SOFTWARE_EVENT);
	CHECK(write(evd->kernel_fd.fd, &one, sizeof(one)) == sizeof(one));
	return unused;
}

/* A wait that sleeps, and is over before its time. */
static void wait_for_event(DAT_TIMEOUT timeout)
{
	pthread_t thread;
	DAT_EVENT event;
	DAT_COUNT more;
	uint64_t told;

	CHECK(!pthread_create(&thread, NULL, event_for_sleeper, NULL));
	OK(dat_evd_wait(evd_obj, timeout, 1, &event, &more));
	CHECK(!pthread_join(thread, NULL));
	CHECK(read(evd->kernel_fd.fd, &told, sizeof(told)) == sizeof(told));
}

/* A wait in vain. Return: how long it took; us */
static uint64_t wait_in_vain(DAT_TIMEOUT timeout)
{
	uint64_t since = shim_now();
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK_RET(dat_evd_wait(evd_obj, timeout, 1, &event, &more), ERR2(TIMEOUT_EXPIRED, 0));
	return (shim_now() - since) / 1000;
}

/* The alarm that an earlier wait has left is for a later time, or for one that is over. */
static void case_alarm_left(void)
{
	uint64_t took;

	ring_fd_setup();
	wait_for_event(10000000);
	took = wait_in_vain(50000);
	CHECK(took >= 50000 && took < 5000000);
	CHECK_EQ(evd->alarm_at, UINT64_MAX);
	wait_for_event(200000);
	CHECK(evd->alarm_at != UINT64_MAX);
	while (shim_now() < evd->alarm_at)
		usleep(1000);
	nr_sleeps = 0;
	CHECK(wait_in_vain(50000) >= 50000);
	CHECK(nr_sleeps <= 2);
}

/* Nothing wakes who has no descriptors, so he looks by the clock. */
static void case_no_descriptors(void)
{
	struct rlimit few, before;

	ring_fd_setup();
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	few.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	wait_for_event(60000000);
	CHECK(wait_in_vain(50000) >= 50000);
	CHECK(evd->bed.fd < 0);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	wait_for_event(60000000);
	CHECK(evd->bed.fd >= 0);
}

/* A thread in dat_evd_wait(), and what came of it. */
struct waiter {
	pthread_t thread;
	atomic_bool over;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT more;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	w->ret = dat_evd_wait(evd_obj, DAT_TIMEOUT_INFINITE, 1, &w->event, &w->more);
	atomic_store(&w->over, true);
	return NULL;
}

/* Returns when it sleeps. */
static void start_waiter(struct waiter *w)
{
	atomic_store(&w->over, false);
	CHECK(!pthread_create(&w->thread, NULL, wait_thread, w));
	until_asleep();
}

/* ... and hears of a solicited message, whose completion does not say that it is one. */
static void case_no_descriptors_solicited(void)
{
	static struct ibv_comp_channel channel = { .fd = -1 };
	struct timespec until;
	struct rlimit few, before;
	struct waiter w;
	bool came;

	ring_fd_setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(post(false, 1, 0));
	evd->channel = &channel;
	evd->solicited = 1;
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	few.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	start_waiter(&w);
	shim_lock(evd->lock);
	complete(PASS_RECV, IBV_WC_SUCCESS, 0);
	atomic_store(&channel_tells, true);
	shim_unlock(evd->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	came = !pthread_timedjoin_np(w.thread, NULL, &until);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK(came);
	evd->channel = NULL;
	OK(w.ret);
	CHECK_EQ(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
}

/*
 * While a waiter has an event, another one comes. The CNO is not told of what came for a waiter, so
 * the waiter is.
 */
static void case_event_for_waiter(void)
{
	const uint64_t one = 1;
	struct waiter w;

	setup();
	evd->cno = true;
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
	start_waiter(&w);
	kernel_event(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(write(evd->kernel_fd.fd, &one, sizeof(one)) == sizeof(one));
	while (!shim_load_acquire(&ring_index.consumer))
		usleep(100);
	kernel_event(DAT_SOFTWARE_EVENT);
	CHECK(!pthread_join(w.thread, NULL));
	OK(w.ret);
	CHECK_EQ(w.event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(w.more == 1 || evd_obj->ops->evd_notifies(evd_obj));
}

static bool timers_late;	/* no timer's interrupt comes */

/* In the place of the C library's */
int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *before)
{
	static typeof(timerfd_settime) *real;

	if (!real)
		real = (typeof(real))dlsym(RTLD_NEXT, "timerfd_settime");
	return timers_late ? 0 : real(fd, flags, at, before);
}

/* A waiter goes without the event, and who looks at the CNO without waiting has a trigger. */
static void case_trigger_at_once(void)
{
	static struct ibv_comp_channel channel;
	DAT_EVD_HANDLE by;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;
	DAT_COUNT more;

	ring_fd_setup();
	channel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	evd->channel = &channel;
	evd->channel_fd.fd = channel.fd;
	kernel = tells_length;
	timers_late = true;
	OK(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_evd_modify_cno(evd_obj, cno));
	kernel_event(DAT_SOFTWARE_EVENT);
	CHECK_RET(dat_evd_wait(evd_obj, 0, 2, &event, &more), ERR2(TIMEOUT_EXPIRED, 0));
	OK(dat_cno_wait(cno, 0, &by));
	CHECK(by == evd_obj);
	timers_late = false;
	OK(dat_evd_modify_cno(evd_obj, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));
	kernel = NULL;
	close(channel.fd);
}

#define TRIGGERS	200000

static atomic_int events_asked, events_raised;

/* The kernel, on another processor: an event for each that is asked for, then its descriptor. */
static void *raise_events(void *unused)
{
	int i;

	for (i = 1; i <= TRIGGERS; i++) {
		while (atomic_load(&events_asked) < i)
			;
		events[header.producer % ENTRIES].event_number = DAT_SOFTWARE_EVENT;
		__atomic_store_n(&header.producer, header.producer + 1, __ATOMIC_RELEASE);
		atomic_store(&events_raised, i);
	}
	return unused;
}

/* E76: an event comes while the CNO's thread looks, because of something else. */
static void case_trigger_beside_look(void)
{
	pthread_t thread;
	DAT_EVENT event;
	bool triggered;
	int i, lost = 0;

	setup();
	evd->cno = true;
	events_asked = 0;
	events_raised = 0;
	CHECK(!pthread_create(&thread, NULL, raise_events, NULL));
	for (i = 1; i <= TRIGGERS; i++) {
		triggered = false;
		atomic_store(&events_asked, i);
		while (atomic_load(&events_raised) < i)
			triggered |= evd_obj->ops->evd_notifies(evd_obj);
		/* Its descriptor has become readable. */
		triggered |= evd_obj->ops->evd_notifies(evd_obj);
		lost += !triggered;
		OK(dat_evd_dequeue(evd_obj, &event));
	}
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(lost, 0);
}

/* ---- a queue that cannot be polled or armed ---------------------------------------------- */

static int nr_told, nr_faults;

static bool hears_fault(unsigned long cmd, void *arg)
{
	struct kdapl_uapi_handle *handle = arg;

	if (cmd != KDAPL_IOC_IA_CQ_FAULT)
		return false;
	nr_told += handle->handle == pia->token;
	handle->ret = DAT_SUCCESS;
	return true;
}

static int poll_faulty(struct ibv_cq *of, int max, struct ibv_wc *wc)
{
	return nr_faults-- > 0 ? -1 : poll_cq(of, max, wc);
}

static int arm_faulty(struct ibv_cq *of, int solicited)
{
	(void)of;
	(void)solicited;
	return errno = EINVAL;
}

static void faulty_setup(void)
{
	setup();
	pia->token = 77;
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	nr_told = 0;
	nr_faults = 0;
	kernel = hears_fault;
}

/* By the short way and by the other one; told of once, and what has completed is late, not lost. */
static void case_poll_faults(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		faulty_setup();
		device.ops.poll_cq = poll_faulty;
		OK(post(true, 1, 0));
		complete(PASS_REQ, IBV_WC_SUCCESS, 0);
		nr_faults = 30;
		if (i)
			pass_dir_pull(&ep->dir[PASS_REQ]);
		else
			expect_nothing();
		CHECK_EQ(nr_told, 1);
		expect_nothing();
		nr_faults = 0;
		expect(1, DAT_DTO_SUCCESS);
		CHECK_EQ(nr_told, 1);
	}
	kernel = NULL;
	device.ops.poll_cq = poll_cq;
}

/* What has completed before the queue is armed wakes nobody, so who waits looks by itself. */
static void case_poll_faults_wait(void)
{
	struct waiter w;

	faulty_setup();
	device.ops.poll_cq = poll_faulty;
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
	OK(post(true, 1, 0));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	nr_faults = 10;
	start_waiter(&w);
	while (!atomic_load(&w.over)) {
		pass_keeper_round();
		usleep(1000);
	}
	CHECK(!pthread_join(w.thread, NULL));
	OK(w.ret);
	CHECK_EQ(w.event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK(nr_faults <= 0);
	CHECK_EQ(nr_told, 1);
	kernel = NULL;
	device.ops.poll_cq = poll_cq;
}

/* No completion wakes who waits, so the housekeeper does. */
static void case_arm_faults(void)
{
	struct waiter w;

	faulty_setup();
	device.ops.req_notify_cq = arm_faulty;
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
	OK(post(true, 1, 0));
	start_waiter(&w);
	shim_lock(evd->lock);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	shim_unlock(evd->lock);
	CHECK(pass_keeper_round() != UINT64_MAX);
	CHECK(!pthread_join(w.thread, NULL));
	OK(w.ret);
	CHECK_EQ(w.event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_EQ(nr_told, 1);
	CHECK(evd->nudged && evd->users == 2 + 1);
	pass_keeper_round();
	CHECK(!evd->nudged && evd->users == 2);
	kernel = NULL;
	device.ops.req_notify_cq = req_notify;
}

/* ---- the end of a completion queue --------------------------------------------------------- */

static int nr_settled, settled_before;

static bool settles(unsigned long cmd, void *arg)
{
	if (cmd == KDAPL_IOC_CQ_SETTLE)
		nr_settled++;
	else if (cmd != KDAPL_IOC_EP_FREE)
		return false;
	*(uint32_t *)arg = DAT_SUCCESS;
	return true;
}

/* In the place of libibverbs'. */
int ibv_destroy_cq(struct ibv_cq *of)
{
	(void)of;
	settled_before = nr_settled;
	return 0;
}

/* The driver may still call the handler of a queue that was armed. */
static void case_armed_queue_ends(void)
{
	bool armed, late;
	int i;

	for (i = 0; i < 4; i++) {
		armed = i & 1;
		late = i & 2;
		setup();
		pia->hints = late ? KDAPL_VERBS_LATE_CQS : 0;
		nr_settled = 0;
		settled_before = -1;
		if (armed) {
			shim_lock(evd->lock);
			evd_obj->ops->evd_rearm(evd_obj);
			shim_unlock(evd->lock);
		}
		kernel = settles;
		OK(ep_obj->ops->ep_free(ep_obj));
		CHECK_EQ(nr_settled, 0);
		shim_evd_body_free(evd_obj);
		kernel = NULL;
		CHECK_EQ(settled_before, armed && late);
		CHECK_EQ(nr_settled, armed && late);
	}
}

/* ---- room in a completion queue -------------------------------------------------------- */

static const struct kdapl_uapi_ep_param *shown;

static bool shows_ep(unsigned long cmd, void *arg)
{
	struct kdapl_uapi_ep_param *param = arg;

	if (cmd != KDAPL_IOC_EP_QUERY && cmd != KDAPL_IOC_EP_MODIFY)
		return false;
	if (cmd == KDAPL_IOC_EP_QUERY)
		*param = *shown;
	param->ret = DAT_SUCCESS;
	return true;
}

/* Another EP, which wants room in the same queue */
struct taker {
	pthread_t thread;
	atomic_bool over;
	atomic_uint tries;
	unsigned int got;
};

static void *take_room(void *arg)
{
	struct taker *t = arg;
	struct pass_cq *room;

	while (!t->over) {
		if (!pass_evd_reserve(evd, NULL, 1, &room)) {
			pass_evd_unreserve(evd, room, 1);
			t->got++;
		}
		t->tries++;
	}
	return NULL;
}

/*
 * The queue is full and cannot be larger. What the EP has there makes room for its own new
 * attributes, and for nobody else.
 */
static void case_full_queue(void)
{
	struct kdapl_uapi_ep_param param = {
		.mask = DAT_EP_FIELD_ALL,
		.attr.max_request_iov = 1,
		.attr.max_recv_iov = 1,
	}, asked = {};
	struct pass_cq *full;
	struct taker t = {};
	int i;

	setup();
	pia->max_cqe = 2 * DEPTH;
	/* There is no queue more. */
	evd->nr_cqs = PASS_MAX_CQS;
	full = &evd->cqs[0];
	full->promised = full->size;
	for (i = 0; i < PASS_DIRS; i++) {
		ep->dir[i].qp = NULL;
		ep->dir[i].cq = full;
		ep->dir[i].share = DEPTH;
	}
	param.ep = ep->token;
	param.request_evd = shim_token(evd_obj);
	param.recv_evd = shim_token(evd_obj);
	shown = &param;
	kernel = shows_ep;

	param.attr.max_request_dtos = 2 * DEPTH - 1;
	param.attr.max_recv_dtos = 1;
	OK(ep_obj->ops->ep_modify(ep_obj, &asked));
	CHECK_EQ(full->promised, full->size);
	CHECK_EQ(ep->dir[PASS_REQ].share, 2 * DEPTH - 1);

	param.attr.max_recv_dtos = 2;
	CHECK(!pthread_create(&t.thread, NULL, take_room, &t));
	for (i = 0; i < 1000 || t.tries < 1000; i++)
		CHECK_RET(ep_obj->ops->ep_modify(ep_obj, &asked),
			  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	t.over = true;
	CHECK(!pthread_join(t.thread, NULL));
	kernel = NULL;
	CHECK_EQ(t.got, 0);
	CHECK_EQ(full->promised, full->size);
}

/* The module may grant an endpoint more segments than a post has room for. */
static void case_many_segments(void)
{
	struct kdapl_uapi_ep_param param = {
		.mask = DAT_EP_FIELD_ALL,
		.attr.max_request_iov = 2 * PASS_MAX_SGE,
		.attr.max_recv_iov = 2 * PASS_MAX_SGE,
		.attr.max_rdma_read_iov = 2 * PASS_MAX_SGE,
		.attr.max_rdma_write_iov = 2 * PASS_MAX_SGE,
		.attr.max_recv_dtos = 2,
		.attr.max_request_dtos = 2,
		.attr.max_rdma_read_out = 1,
	}, asked = {};
	DAT_LMR_TRIPLET iov[PASS_MAX_SGE + 1] = {};
	const DAT_DTO_COOKIE none = { .as_64 = 0 };
	const DAT_RMR_TRIPLET remote = {};
	struct shim_object *srq;
	int i;

	setup();
	pia->max_cqe = 2 * DEPTH;
	for (i = 0; i < PASS_DIRS; i++)
		ep->dir[i].qp = NULL;
	param.ep = ep->token;
	param.request_evd = shim_token(evd_obj);
	param.recv_evd = shim_token(evd_obj);
	shown = &param;
	kernel = shows_ep;
	OK(ep_obj->ops->ep_modify(ep_obj, &asked));
	kernel = NULL;
	for (i = 0; i < PASS_DIRS; i++)
		ep->dir[i].qp = &qp;
	connected();
	OK(dat_ep_post_recv(ep_obj, PASS_MAX_SGE, iov, none, 0));
	CHECK_RET(dat_ep_post_recv(ep_obj, PASS_MAX_SGE + 1, iov, none, 0), ARG(2));
	CHECK_RET(dat_ep_post_send(ep_obj, PASS_MAX_SGE + 1, iov, none, 0), ARG(2));
	CHECK_RET(dat_ep_post_rdma_read(ep_obj, PASS_MAX_SGE + 1, iov, none, &remote, 0),
		  ARG(2));
	CHECK_RET(dat_ep_post_rdma_write(ep_obj, PASS_MAX_SGE + 1, iov, none, &remote, 0),
		  ARG(2));

	srq_setup(&srq, 2 * PASS_MAX_SGE);
	OK(dat_srq_post_recv(srq, PASS_MAX_SGE, iov, none));
	CHECK_RET(dat_srq_post_recv(srq, PASS_MAX_SGE + 1, iov, none), ARG(2));
}

/* ---- queues deeper than a completion queue ------------------------------------------- */

#define ROOM	4	/* what a completion queue holds */

/* Both directions may have DEPTH posts, of which the queue pair gets ROOM. */
static void deep_setup(void)
{
	static struct kdapl_uapi_ep_param param = {
		.mask = DAT_EP_FIELD_ALL,
		.attr.max_request_iov = 1,
		.attr.max_recv_iov = 1,
		.attr.max_rdma_write_iov = 1,
		.attr.max_message_size = LENGTH,
		.attr.max_rdma_size = LENGTH,
		.attr.max_recv_dtos = DEPTH,
		.attr.max_request_dtos = DEPTH,
	};
	struct kdapl_uapi_ep_param asked = {};
	int i;

	setup();
	pia->max_cqe = ROOM;
	for (i = 0; i < PASS_DIRS; i++)
		ep->dir[i].qp = NULL;
	param.ep = ep->token;
	param.request_evd = shim_token(evd_obj);
	param.recv_evd = shim_token(evd_obj);
	param.connect_evd = shim_token(evd_obj);
	shown = &param;
	kernel = shows_ep;
	OK(ep_obj->ops->ep_modify(ep_obj, &asked));
	kernel = NULL;
	for (i = 0; i < PASS_DIRS; i++) {
		CHECK_EQ(ep->dir[i].share, ROOM);
		ep->dir[i].qp = &qp;
	}
}

static void deep_connected(void)
{
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Half of the room has to be free, and then it is filled. */
static void case_deep(void)
{
	uint64_t i;
	int dir;

	for (dir = 0; dir < PASS_DIRS; dir++) {
		deep_setup();
		deep_connected();
		fill(dir == PASS_REQ);
		CHECK_EQ(nr_queue[dir], ROOM);
		CHECK_RET(post(dir == PASS_REQ, i, 0),
			  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
		complete(dir, IBV_WC_SUCCESS, 0);
		expect(0, DAT_DTO_SUCCESS);
		CHECK_EQ(nr_queue[dir], ROOM - 1);
		/* The slot is free; the post is behind those that wait already. */
		OK(post(dir == PASS_REQ, DEPTH, 0));
		CHECK_EQ(nr_queue[dir], ROOM - 1);
		complete(dir, IBV_WC_SUCCESS, 0);
		expect(1, DAT_DTO_SUCCESS);
		CHECK_EQ(nr_queue[dir], ROOM);
		for (i = 2; i <= DEPTH; i++) {
			complete(dir, IBV_WC_SUCCESS, 0);
			expect(i, DAT_DTO_SUCCESS);
		}
		CHECK(!nr_queue[dir] && !ep->dir[dir].held && !ep->dir[dir].owing);
		expect_nothing();
		CHECK(shim_holds(&evd->aside, 0));
		/* There is room again. */
		OK(post(dir == PASS_REQ, 1, 0));
		CHECK_EQ(nr_queue[dir], 1);
	}
}

/* The device gets what was posted, not only as many. */
static void case_deep_request(void)
{
	const DAT_DTO_COOKIE user = { .as_64 = ROOM };
	struct pass_pz zone = {};
	struct pass_lmr *lmr = plain_setup(&zone);
	DAT_LMR_TRIPLET iov = { .lmr_context = lmr->context };
	const DAT_RMR_TRIPLET remote = {
		.rmr_context = 9,
		.target_address = 0x5000,
		.segment_length = 3,
	};
	uint64_t i;

	deep_setup();
	ep->dir[PASS_REQ].pz = &zone;
	deep_connected();
	for (i = 0; i < ROOM; i++)
		OK(post(true, i, 0));
	iov.virtual_address = START + 1;
	iov.segment_length = 3;
	OK(dat_ep_post_rdma_write(ep_obj, 1, &iov, user, &remote,
				  DAT_COMPLETION_BARRIER_FENCE_FLAG));
	CHECK_EQ(sent.opcode, IBV_WR_SEND);
	for (i = 0; i < ROOM / 2; i++) {
		complete(PASS_REQ, IBV_WC_SUCCESS, 0);
		expect(i, DAT_DTO_SUCCESS);
	}
	CHECK_EQ(sent.opcode, IBV_WR_RDMA_WRITE);
	CHECK_EQ(sent.send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	CHECK_EQ(sent.wr.rdma.remote_addr, remote.target_address);
	CHECK_EQ(sent.wr.rdma.rkey, remote.rmr_context);
	CHECK_EQ(sent.num_sge, 1);
	CHECK(sent_sge.addr == START + 1 && sent_sge.length == 3 && sent_sge.lkey == lmr->lkey);
}

/* Receives that waited for the queue pair find no room there, and the call fails after all. */
static void case_deep_early(void)
{
	struct pass_dir *recv;
	uint64_t i;

	deep_setup();
	recv = &ep->dir[PASS_RECV];
	recv->qp = NULL;
	for (i = 0; i < DEPTH - 1; i++)
		OK(post(false, i, 0));
	CHECK_EQ(recv->held, DEPTH - 1);
	recv->qp = &qp;
	shim_lock(&recv->lock);
	OK(pass_post_held(recv));
	shim_unlock(&recv->lock);
	CHECK_EQ(nr_queue[PASS_RECV], ROOM);
	OK(post(false, i, 0));
	CHECK_EQ(recv->held, DEPTH - ROOM);
	CHECK_EQ(recv->kept, ROOM);
	deep_connected();
	for (i = 0; i < DEPTH; i++) {
		complete(PASS_RECV, IBV_WC_SUCCESS, 0);
		expect(i, DAT_DTO_SUCCESS);
	}
}

/* What waits for room is flushed behind what the device had, and before the event. */
static void case_deep_end(void)
{
	struct kdapl_uapi_ep_get_status status = {};
	uint64_t i;

	deep_setup();
	deep_connected();
	fill(true);
	kernel = tells_status;
	OK(ep_obj->ops->ep_status(ep_obj, &status));
	CHECK(!status.request_idle && status.recv_idle);
	kernel = NULL;
	disconnected();
	for (i = 0; i < ROOM; i++)
		complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	for (i = 0; i < DEPTH; i++)
		expect(i, DAT_DTO_ERR_FLUSHED);
	CHECK(!nr_queue[PASS_REQ]);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_nothing();
	CHECK(shim_holds(&evd->aside, 0));
}

/* The consumer has no reason to take completions: a post does, and a look for any event. */
static void case_deep_suppressed(void)
{
	uint64_t i;

	deep_setup();
	deep_connected();
	for (i = 0; i < ROOM + 1; i++)
		OK(post(true, i, DAT_COMPLETION_SUPPRESS_FLAG));
	CHECK(ep->dir[PASS_REQ].owing);
	for (i = 0; i < ROOM; i++)
		complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	CHECK_EQ(nr_queue[PASS_REQ], 0);
	OK(post(true, i, DAT_COMPLETION_SUPPRESS_FLAG));
	CHECK_EQ(nr_queue[PASS_REQ], 2);
	for (i = 0; i < ROOM - 1; i++)
		OK(post(true, i, DAT_COMPLETION_SUPPRESS_FLAG));
	for (i = 0; i < DEPTH; i++) {
		if (nr_queue[PASS_REQ])
			complete(PASS_REQ, IBV_WC_SUCCESS, 0);
		expect_nothing();
	}
	CHECK(!nr_queue[PASS_REQ] && !ep->dir[PASS_REQ].owing);
}

/* The consumer does nothing more. */
static void case_deep_kept(void)
{
	int dir;

	for (dir = 0; dir < PASS_DIRS; dir++) {
		uint64_t i;

		deep_setup();
		deep_connected();
		for (i = 0; i < ROOM + 1; i++)
			OK(post(dir == PASS_REQ, i, 0));
		CHECK(ep->kept && ep->refs == 3);
		for (i = 0; i < ROOM; i++)
			complete(dir, IBV_WC_SUCCESS, 0);
		pass_keeper_round();
		CHECK(!ep->kept && ep->refs == 2 + ROOM);
		CHECK_EQ(nr_queue[dir], 1);
		for (i = 0; i < ROOM; i++)
			expect(i, DAT_DTO_SUCCESS);
	}
}

/*
 * What was posted in a former life says nothing about this one: receives are held until the new
 * queue pair gets all that are, and nobody looks for room meanwhile.
 */
static void case_deep_second_life(void)
{
	int deep;

	for (deep = 0; deep < 2; deep++) {
		struct pass_dir *recv;

		deep_setup();
		recv = &ep->dir[PASS_RECV];
		recv->deep = deep;
		recv->posted = 2 * ROOM;
		recv->completed = 2 * ROOM;
		recv->qp = NULL;
		OK(post(false, 0, 0));
		CHECK(recv->held == 1 && !recv->owing && !ep->kept);
		/* A connection begins. Its call has made a queue pair, and gives it nothing yet. */
		ep->preparing = true;
		recv->qp = &qp;
		OK(post(false, 1, 0));
		CHECK(recv->held == 2 && !recv->owing && !nr_queue[PASS_RECV]);
		shim_lock(&recv->lock);
		OK(pass_post_held(recv));
		shim_unlock(&recv->lock);
		CHECK(recv->kept == 2 && nr_queue[PASS_RECV] == 2);
		ep->preparing = false;
	}
}

/* Nor does the queue pair get more than what can be held again if the call is refused. */
static void case_deep_preparing(void)
{
	struct pass_dir *recv;
	uint64_t i;

	deep_setup();
	recv = &ep->dir[PASS_RECV];
	ep->preparing = true;
	for (i = 0; i < ROOM + 1; i++)
		OK(post(false, i, 0));
	CHECK(recv->kept == ROOM && recv->held == 1 && recv->owing);
	recv->completed = ROOM;
	pass_ep_refill(ep);
	CHECK(recv->held == 1 && nr_queue[PASS_RECV] == ROOM);
	ep->preparing = false;
	pass_ep_refill(ep);
	CHECK(!recv->held && !recv->owing && nr_queue[PASS_RECV] == ROOM + 1);
}

static int refuse_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const int err = EIO;

	(void)of;
	(void)wr;
	(void)bad;
	return err;
}

static int told_broken;

static bool hears_broken(unsigned long cmd, void *arg)
{
	const struct kdapl_uapi_ep_tell *tell = arg;

	told_broken += cmd == KDAPL_IOC_EP_TELL && tell->what == KDAPL_TELL_BROKEN;
	return false;
}

/* The consumer believes that it was posted, so the connection breaks. */
static void case_deep_refused(void)
{
	uint64_t i;

	deep_setup();
	deep_connected();
	fill(true);
	device.ops.post_send = refuse_send;
	kernel = hears_broken;
	for (i = 0; i < ROOM / 2; i++) {
		complete(PASS_REQ, IBV_WC_SUCCESS, 0);
		expect(i, DAT_DTO_SUCCESS);
	}
	device.ops.post_send = take_send;
	kernel = NULL;
	CHECK_EQ(told_broken, 1);
	disconnected();
	while (nr_queue[PASS_REQ])
		complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	for (; i < DEPTH; i++)
		expect(i, DAT_DTO_ERR_FLUSHED);
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ---- fork ------------------------------------------------------------------------------ */

static atomic_bool listing, forked;

static bool forker_sleeps(void)
{
	char state = '?';
	FILE *file = fopen("/proc/self/stat", "r");

	CHECK(file);
	CHECK_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

/* The lock is held until the other thread has forked, or waits in its fork(). */
static void await_fork(void)
{
	listing = true;
	while (!forked && !forker_sleeps())
		sched_yield();
}

static void *list_devices(void *arg)
{
	(void)arg;
	return pass_context_get("rig0", 4);
}

static void case_forked_while_listing(void)
{
	pthread_t thread;
	void *context;
	int status;
	pid_t pid;

	CHECK(!pipe2(news, O_NONBLOCK));
	forked = false;
	listing = false;
	while_listing = await_fork;
	CHECK(!pthread_create(&thread, NULL, list_devices, NULL));
	while (!listing)
		sched_yield();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(20);
		while_listing = NULL;
		_exit(!pass_context_get("rig0", 4));
	}
	forked = true;
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK(!pthread_join(thread, &context));
	CHECK(context);
	while_listing = NULL;
}

/* ---- calls that wait for others ------------------------------------------------------------ */

struct call {
	void (*make)(void);
	atomic_int thread;
	atomic_bool over;
};

static void *call_thread(void *arg)
{
	struct call *call = arg;

	atomic_store(&call->thread, gettid());
	call->make();
	atomic_store(&call->over, true);
	return NULL;
}

/* A call sleeps, and does not look again and again, until something happens. */
static void sleeps_until(void (*make)(void), void (*happen)(void))
{
	struct call call = { .make = make };
	unsigned long long before, sleeps = 0;
	pthread_t thread;
	char status[64];
	int tries = 0;

	CHECK(!pthread_create(&thread, NULL, call_thread, &call));
	AWAIT(atomic_load(&call.thread));
	snprintf(status, sizeof(status), "/proc/self/task/%d/status", call.thread);
	do {
		CHECK(tries++ < 20);
		before = sleeps;
		usleep(50000);
		sleeps = proc_number(status, "voluntary_ctxt_switches:");
	} while (sleeps != before || !proc_sleeps(status));
	CHECK(!atomic_load(&call.over));
	happen();
	CHECK(!pthread_join(thread, NULL));
}

static struct shim_object *gone_obj;
static struct pass_evd *gone;

static void evd_goes(void)
{
	shim_evd_body_free(gone_obj);
}

static void unuse(void)
{
	pass_evd_unuse(gone);
}

/* An EP on the EVD is still being freed by another thread. */
static void case_evd_in_use(void)
{
	setup();
	gone_obj = evd_obj;
	gone = evd;
	evd->cqs[0] = (struct pass_cq) { 0 };
	evd->nr_cqs = 0;
	pass_ep_leave(ep);
	CHECK_EQ(evd->users, 0);
	evd->users = 1;
	sleeps_until(evd_goes, unuse);
	evd = NULL;
}

/* In the place of libibverbs' */
static atomic_int nr_srqs_destroyed;

int ibv_destroy_srq(struct ibv_srq *of)
{
	(void)of;
	atomic_fetch_add(&nr_srqs_destroyed, 1);
	return 0;
}

static struct shim_object *gone_srq;

static void srq_goes(void)
{
	pass_srq_close(gone_srq);
}

static void ep_leaves(void)
{
	CHECK_EQ(nr_srqs_destroyed, 0);
	pass_ep_leave(ep);
}

static void case_srq_in_use(void)
{
	srq_setup(&gone_srq, 1);
	ep->dir[PASS_RECV].srq = pass_srq_get(gone_srq);
	nr_srqs_destroyed = 0;
	sleeps_until(srq_goes, ep_leaves);
	CHECK_EQ(nr_srqs_destroyed, 1);
}

/* ---- a disconnect and the next life -------------------------------------------------------- */

static atomic_bool disconnecting;
static long sleeps_before;

static bool disconnects(unsigned long cmd, void *arg)
{
	if (cmd != KDAPL_IOC_EP_DISCONNECT)
		return false;
	board.state = DAT_EP_STATE_DISCONNECTED;
	*(uint32_t *)arg = DAT_SUCCESS;
	sleeps_before = proc_other_sleeps();
	atomic_store(&disconnecting, true);
	return true;
}

static void *disconnect_thread(void *unused)
{
	(void)unused;
	OK(ep_obj->ops->ep_disconnect(ep_obj, DAT_CLOSE_GRACEFUL_FLAG));
	return NULL;
}

/* Another thread resets the EP and connects it anew before a disconnect looks at it again. */
static void case_disconnect_of_former_life(void)
{
	pthread_t thread;

	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	kernel = disconnects;
	disconnecting = false;
	pthread_mutex_lock(&ep->use);
	CHECK(!pthread_create(&thread, NULL, disconnect_thread, NULL));
	/* When it has gone to sleep it has seen the board, and waits for this thread. */
	while (!atomic_load(&disconnecting) || proc_other_sleeps() == sleeps_before)
		usleep(1000);
	ep->life = 2;
	board.life = 2;
	board.state = DAT_EP_STATE_CONNECTED;
	pass_ep_unlock(ep);
	CHECK(!pthread_join(thread, NULL));
	kernel = NULL;
	CHECK(!ep->draining && !ep->kept);
	CHECK(shim_holds(&evd->aside, 0));
}

/* ---- the thread of the housekeeper ------------------------------------------------------- */

#define DRAINS	20

static struct kdapl_uapi_board_ep drain_boards[DRAINS];
static int board_news;
static atomic_int nr_drained;

/* The kernel, for an EP that disconnects while its request is outstanding */
static bool drains(unsigned long cmd, void *arg)
{
	struct kdapl_uapi_board_event *event = arg;
	struct kdapl_uapi_ep_tell *what = arg;
	struct kdapl_uapi_board_ep *of = (void *)(uintptr_t)ep->dir[PASS_REQ].board;

	switch (cmd) {
	case KDAPL_IOC_BOARD_EVENT:
		board_news = event->eventfd;
		event->ret = DAT_SUCCESS;
		return true;
	case KDAPL_IOC_EP_DISCONNECT:
		of->flags |= KDAPL_BOARD_DRAIN;
		__atomic_store_n(&of->state, DAT_EP_STATE_DISCONNECT_PENDING, __ATOMIC_RELEASE);
		break;
	case KDAPL_IOC_EP_TELL:
		atomic_fetch_add(&nr_drained, what->what == KDAPL_TELL_DRAINED);
		break;
	default:
		return false;
	}
	*(uint32_t *)arg = DAT_SUCCESS;
	return true;
}

static void write_one(int fd)
{
	const uint64_t one = 1;

	CHECK(write(fd, &one, sizeof(one)) == sizeof(one));
}

static struct ibv_comp_channel keeper_channel;

/* The thread stays, so after the first case that begins with this all cases have to. */
static void keeper_setup(void)
{
	static bool done_before;

	kernel = drains;
	nr_drained = 0;
	nr_queue[PASS_REQ] = 0;
	if (done_before)
		return;
	done_before = true;
	setup();
	keeper_channel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	evd->channel = &keeper_channel;
	evd->channel_fd.fd = keeper_channel.fd;
	evd->kernel_fd.fd = eventfd(0, EFD_CLOEXEC);
	CHECK(pass_keeper_start());
}

static void connected_ep(struct kdapl_uapi_board_ep *of)
{
	*of = (struct kdapl_uapi_board_ep) {
		.life = 1,
		.state = DAT_EP_STATE_CONNECTED,
		.flags = KDAPL_BOARD_ESTABLISHED,
	};
	ep_setup(of);
}

/*
 * Many disconnects wait, and one thread sleeps through that. Then their completions come, of which
 * the channel tells; and one has the end of its connection on the board. A child has no thread, and
 * can have its own.
 */
static void case_housekeeper(void)
{
	struct pass_ep *eps[DRAINS];
	int i, threads, status;
	pid_t child;

	keeper_setup();
	threads = proc_threads();
	for (i = 0; i < DRAINS; i++) {
		connected_ep(&drain_boards[i]);
		eps[i] = ep;
		OK(post(true, i, DAT_COMPLETION_SUPPRESS_FLAG));
		OK(ep_obj->ops->ep_disconnect(ep_obj, DAT_CLOSE_GRACEFUL_FLAG));
	}
	CHECK_EQ(proc_threads(), threads);
	/* The keeper has looked at all of its EPs when it has slept through a whole interval. */
	CHECK(proc_others_asleep(50000, 100));
	CHECK_EQ(nr_drained, 0);
	for (i = 1; i < DRAINS; i++)
		complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	write_one(keeper_channel.fd);
	AWAIT(atomic_load(&nr_drained) == DRAINS - 1);
	/* The peer has ended the last one, and nobody tells but the board. */
	for (i = 0; i < DRAINS && !atomic_load(&eps[i]->draining); i++)
		;
	CHECK(i < DRAINS);
	__atomic_store_n(&drain_boards[i].flags, KDAPL_BOARD_ESTABLISHED | KDAPL_BOARD_ERROR,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&drain_boards[i].state, DAT_EP_STATE_DISCONNECTED, __ATOMIC_RELEASE);
	write_one(board_news);
	AWAIT(!atomic_load(&eps[i]->kept));
	CHECK(!eps[i]->draining);
	CHECK_EQ(nr_drained, DRAINS - 1);
	CHECK_EQ(evd->aside, 0);
	child = fork();
	if (!child)
		_exit(proc_threads() != 1 || !pass_keeper_start() || proc_threads() != 2);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	kernel = NULL;
}

static atomic_bool keeper_armed;

static int arm_for_keeper(struct ibv_cq *of, int solicited)
{
	atomic_store(&keeper_armed, !solicited);
	return req_notify(of, solicited);
}

/*
 * The one event of the channel tells of a completion for which a thread waits. It takes the event
 * before the housekeeper has woken, and needs no other. The same thread of the housekeeper listens
 * again as well when completions begin to be told of only if they are solicited.
 */
static void case_event_taken(void)
{
	struct waiter w;
	sem_t awake;

	keeper_setup();
	CHECK(!sem_init(&awake, 0, 0));
	device.ops.req_notify_cq = arm_for_keeper;
	connected_ep(&drain_boards[0]);
	OK(post(true, 1, 0));
	connected_ep(&drain_boards[1]);
	OK(post(true, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(ep_obj->ops->ep_disconnect(ep_obj, DAT_CLOSE_GRACEFUL_FLAG));
	held_asleep = &awake;
	start_waiter(&w);
	CHECK(proc_others_asleep(50000, 100));
	CHECK(keeper_armed && !nr_drained);
	atomic_store(&keeper_armed, false);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	atomic_store(&channel_tells, true);
	CHECK(!sem_post(&awake));
	CHECK(!pthread_join(w.thread, NULL));
	held_asleep = NULL;
	OK(w.ret);
	CHECK_EQ(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	AWAIT(atomic_load(&keeper_armed));
	pass_evd_count_solicited(evd, 1);
	AWAIT(__atomic_load_n(&evd->kept_silent, __ATOMIC_RELAXED));
	pass_evd_count_solicited(evd, -1);
	AWAIT(!__atomic_load_n(&evd->kept_silent, __ATOMIC_RELAXED));
	CHECK_EQ(nr_drained, 0);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	write_one(keeper_channel.fd);
	AWAIT(atomic_load(&nr_drained) == 1);
	device.ops.req_notify_cq = req_notify;
	kernel = NULL;
}

static atomic_int nr_listened;

static int count_listening(struct ibv_cq *of, int solicited)
{
	atomic_fetch_add(&nr_listened, 1);
	return req_notify(of, solicited);
}

/* The kernel has let go of an EP, and the device has not flushed its post yet. */
static void reset_ep(void)
{
	OK(ep_obj->ops->ep_reset(ep_obj));
}

static void free_ep(void)
{
	OK(ep_obj->ops->ep_free(ep_obj));
}

static void device_flushes(void)
{
	complete(PASS_REQ, IBV_WC_WR_FLUSH_ERR, 0);
	write_one(keeper_channel.fd);
}

static void case_end_awaited(void)
{
	void (*const ends[])(void) = { reset_ep, free_ep };
	struct pass_ep *of;
	DAT_EVENT event;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		keeper_setup();
		kernel = lets_go;
		connected_ep(&drain_boards[0]);
		of = ep;
		OK(post(true, 1, 0));
		drain_boards[0].state = DAT_EP_STATE_UNCONNECTED;
		nr_destroyed = 0;
		sleeps_until(ends[i], device_flushes);
		CHECK_EQ(nr_destroyed, 1);
		CHECK(!of->ending && !of->lent && !of->spent);
		AWAIT(!atomic_load(&of->kept));
		OK(dat_evd_dequeue(evd_obj, &event));
		CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
		CHECK_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	}
	kernel = NULL;
}

static bool disconnects_late(unsigned long cmd, void *arg)
{
	if (cmd != KDAPL_IOC_EP_DISCONNECT)
		return false;
	*(uint32_t *)arg = DAT_SUCCESS;
	return true;
}

static void disconnect_ep(void)
{
	OK(ep_obj->ops->ep_disconnect(ep_obj, DAT_CLOSE_ABRUPT_FLAG));
}

static void board_catches_up(void)
{
	__atomic_store_n(&drain_boards[0].state, DAT_EP_STATE_DISCONNECTED, __ATOMIC_RELEASE);
	write_one(board_news);
}

static void case_board_awaited(void)
{
	keeper_setup();
	kernel = disconnects_late;
	connected_ep(&drain_boards[0]);
	sleeps_until(disconnect_ep, board_catches_up);
	kernel = NULL;
}

#define FREED	9	/* key of an LMR */

static void free_memory(void)
{
	pass_fence_key(pia, FREED);
}

static void first_completes(void)
{
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	write_one(keeper_channel.fd);
}

/* A request that names freed memory fails by itself as soon as it is the oldest one. */
static void case_key_awaited(void)
{
	struct pass_cookie *named;

	keeper_setup();
	connected_ep(&drain_boards[0]);
	OK(post(true, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	named = ep->dir[PASS_REQ].next;
	OK(post(true, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	named->nr_sge = 1;
	named->sge->lkey = FREED;
	sleeps_until(free_memory, first_completes);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	kernel = NULL;
}

static atomic_bool refuse_sleep;
static atomic_int nr_refused;

/* In the place of the C library's */
int epoll_wait(int fd, struct epoll_event *found, int most, int timeout)
{
	static typeof(epoll_wait) *real;

	if (atomic_load(&refuse_sleep)) {
		atomic_fetch_add(&nr_refused, 1);
		errno = EBADF;
		return -1;
	}
	if (!real)
		real = (typeof(real))dlsym(RTLD_NEXT, "epoll_wait");
	return real(fd, found, most, timeout);
}

/* Of looks since then, which are 10 ms apart: as many as that allows */
static int most_looks(uint64_t since)
{
	return (shim_now() - since) / 10000000 + 2;
}

/* The device is gone, or there is no sleep: the housekeeper looks by the clock. */
static void case_keeper_is_deaf(void)
{
	uint64_t since;

	keeper_setup();
	connected_ep(&drain_boards[0]);
	OK(post(true, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(ep_obj->ops->ep_disconnect(ep_obj, DAT_CLOSE_GRACEFUL_FLAG));
	CHECK(proc_others_asleep(50000, 100));
	device.ops.req_notify_cq = count_listening;
	break_fd(keeper_channel.fd);
	since = shim_now();
	atomic_store(&nr_listened, 0);
	pass_keeper_look();
	usleep(500000);
	CHECK(nr_listened > 1 && nr_listened <= most_looks(since));
	since = shim_now();
	atomic_store(&refuse_sleep, true);
	usleep(500000);
	atomic_store(&refuse_sleep, false);
	CHECK(nr_refused > 1 && nr_refused <= most_looks(since));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	AWAIT(atomic_load(&nr_drained) == 1);
	device.ops.req_notify_cq = req_notify;
	kernel = NULL;
	/* The cases behind this one have a device. */
	CHECK(dup2(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), keeper_channel.fd) >= 0);
	evd->mute = false;
}

static bool refuse_stacks;	/* of the library's own size */

/* In the place of the C library's, of which a program with many thread-local variables has less. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static typeof(pthread_create) *real;
	size_t size = 0;

	if (!real)
		real = (typeof(real))dlsym(RTLD_NEXT, "pthread_create");
	if (refuse_stacks)
		CHECK(attr && !pthread_attr_getstacksize(attr, &size));
	return refuse_stacks && size <= 256 << 10 ? EINVAL : real(thread, attr, run, arg);
}

static void case_small_stack(void)
{
	int status;
	pid_t child;

	keeper_setup();
	fflush(stdout);
	child = fork();
	if (!child) {
		refuse_stacks = true;
		_exit(!pass_keeper_start() || proc_threads() != 2);
	}
	kernel = NULL;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

static const struct check_case cases[] = {
	{ "E76 E83 an event comes while the thread of the CNO looks", case_trigger_beside_look },
	{ "mt:T5 a table of LMRs where all future memory is locked", case_locked_in_future },
	{ "A7 E45 the first message waits for ESTABLISHED", case_first_message },
	{ "mt:T9 E7 who has ESTABLISHED may post, whatever the board shows", case_board_is_behind },
	{ "D31 a message for an attempt that was given up", case_never_connected },
	{ "A5 D46 the event of the end is behind all completions", case_end_is_last },
	{ "A5 E41 a look for an event destroys no queue pair", case_dequeue_ends_nothing },
	{ "E2 a receive is flushed, and the call may yet fail", case_call_not_over },
	{ "E2 a receive was flushed on a queue pair of a call that failed", case_former_queue },
	{ "D45 E46 F8 the EP is freed, and nobody has taken its end", case_freed_behind_end },
	{ "D45 E41 two connections have ended, and then queue pairs are destroyed, one at a time",
	  case_one_at_a_time },
	{ "A8 D52 a connection ends, and the kernel does not know yet", case_kernel_is_behind },
	{ "D42 A10 a connection ends, and only the EVD of receives is polled", case_end_elsewhere },
	{ "D46 M5 posted behind the end, and only the status is asked for", case_asked_behind_end },
	{ "I15 completions of an EP whose IA was closed", case_closed_meanwhile },
	{ "I15 an EP was freed while its IA is closed", case_left_already },
	{ "A7 D43 E44 one completion waits, and those of another EP do not", case_others_wait_not },
	{ "D52 E44 a flush waits for the CM, and those of another EP do not",
	  case_flush_awaits_cm },
	{ "D52 the time in which a flush waits for the CM ends during a look", case_cm_is_late },
	{ "I15 an EP whose completions wait is destroyed", case_waits_no_more },
	{ "E35 A7 a solicited message waits for ESTABLISHED", case_solicited_early },
	{ "mt:T13 a slot is free when its event was taken", case_room },
	{ "mt:T21 what is suppressed is dropped, failures are not", case_suppressed },
	{ "mt:T59 what no plain send has filled has failed", case_foreign_message },
	{ "RULING 35 arguments of posts", case_segments },
	{ "mt:T13 mt:T48 posts of one segment, and their completions", case_plain },
	{ "A4 short requests take their data along", case_inline },
	{ "mt:T5 mt:T29 mt:T30 a segment that is one byte beside its LMR", case_not_plain },
	{ "mt:M65 a lost SRQ is found by a query", case_srq_lost },
	{ "mt:M65 mt:M58 a lost SRQ is found when it is full", case_srq_full },
	{ "mt:M65 mt:M59 a lost SRQ refuses a post, which succeeds", case_srq_refuses },
	{ "D42 mt:T48 F9 a message that nobody polled for is none that was flushed",
	  case_message_before_end },
	{ "D42 F9 a message of an EP that is being freed is none that was flushed",
	  case_polled_while_freed },
	{ "A7 F9 an EP is freed while its connection is confirmed", case_freed_while_confirmed },
	{ "D44 D45 R14 the end of a former life ends no other", case_event_of_former_life },
	{ "A7 E44 a first message waits for no other EVD", case_connect_evd_is_locked },
	{ "E30 who waits sleeps, though the device is gone", case_device_gone },
	{ "E38 a signal between two sleeps of a wait", case_signal_between },
	{ "E30 E34 a wait for what is there already", case_wait_at_once },
	{ "E38 a process is stopped in a wait, and continues", case_stopped },
	{ "E32 E33 the alarm that an earlier wait has left", case_alarm_left },
	{ "E30 E33 a wait without descriptors", case_no_descriptors },
	{ "E30 E35 a wait without descriptors, for a solicited message",
	  case_no_descriptors_solicited },
	{ "E85 dat_cno_wait loses no signal between two sleeps", case_cno_signal_between },
	{ "E30 E33 who waits for more than there is sleeps", case_too_few },
	{ "E34 E37 E76 an event comes when a waiter has one", case_event_for_waiter },
	{ "E37 E76 a waiter goes without the event, and the CNO is asked", case_trigger_at_once },
	{ "E72 a completion queue cannot be polled", case_poll_faults },
	{ "E72 E30 a completion queue cannot be polled by who waits", case_poll_faults_wait },
	{ "E72 E30 a completion queue cannot be armed", case_arm_faults },
	{ "A10 the handler of a queue that was armed, and its end", case_armed_queue_ends },
	{ "E2 E114 room in a queue that is full", case_full_queue },
	{ "mt:T5 more segments are granted than a post has room for", case_many_segments },
	{ "mt:T13 mt:T40 posts wait for room on the queue pair", case_deep },
	{ "mt:T13 mt:T7 a request that waits for room", case_deep_request },
	{ "mt:T13 A7 receives that wait for a queue pair, and then for room", case_deep_early },
	{ "mt:T13 D43 D45 M5 the end comes, and posts wait for room", case_deep_end },
	{ "mt:T13 mt:T15 posts wait for room that nobody need make", case_deep_suppressed },
	{ "mt:T13 A10 posts wait for room, and their consumer does nothing", case_deep_kept },
	{ "mt:T13 R14 a former life, and receives held for the next", case_deep_second_life },
	{ "mt:T13 E2 a call that begins a connection, and may be refused", case_deep_preparing },
	{ "mt:T13 D52 the device refuses what has waited for room", case_deep_refused },
	{ "D11 R14 a disconnect of a former life drains no other",
	  case_disconnect_of_former_life },
	{ "A8 a child opens, though it was forked while devices were listed",
	  case_forked_while_listing },
	{ "F9 A10 an EVD is freed, and another thread has not freed its EP yet", case_evd_in_use },
	{ "mt:M52 A10 an SRQ is freed, and another thread has not freed its EP yet",
	  case_srq_in_use },
	{ "D11 A10 many disconnects wait, and one thread sleeps", case_housekeeper },
	{ "R10 R15 F9 A10 reset and free wait for the device", case_end_awaited },
	{ "D6 A10 a disconnect waits for the board", case_board_awaited },
	{ "mt:T12 A10 a request is behind another, and its memory is freed", case_key_awaited },
	{ "D11 A10 who waits takes the event that another's drain needs", case_event_taken },
	{ "A10 E72 the device of what the housekeeper listens to is gone", case_keeper_is_deaf },
	{ "E2 A10 the housekeeper's stack is too small for the program", case_small_stack },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
