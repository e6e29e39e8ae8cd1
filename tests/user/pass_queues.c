// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library's queues of a process's own (udapl-shim/pass_*.c) and the choice of a mode
 * (mode.c), from the inside: needs neither the module nor a device. Linked with the
 * library's objects. The device is a list of work requests, and the test completes them;
 * the kernel's ring and its board are memory of this process.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "passthrough.h"
#include "check.h"

#define ENTRIES	16u	/* of each ring */
#define DEPTH	8	/* posts of a direction */

/* ---- a device ------------------------------------------------------------------ */

static struct ibv_wc done[64];
static int nr_done;
static uint64_t on_queue[2][64];	/* wr_ids, by direction */
static int nr_queue[2];

static int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int n = nr_done < max ? nr_done : max;

	(void)cq;
	memcpy(wc, done, n * sizeof(*wc));
	nr_done -= n;
	memmove(done, done + n, nr_done * sizeof(*wc));
	return n;
}

static int req_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static int take_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	on_queue[PASS_REQ][nr_queue[PASS_REQ]++] = wr->wr_id;
	return 0;
}

static int take_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	on_queue[PASS_RECV][nr_queue[PASS_RECV]++] = wr->wr_id;
	return 0;
}

/* The oldest post of a direction completes. */
static void complete(int dir, enum ibv_wc_status status, uint32_t bytes)
{
	CHECK(nr_queue[dir]);
	done[nr_done++] = (struct ibv_wc) {
		.wr_id = on_queue[dir][0],
		.status = status,
		.opcode = dir == PASS_RECV ? IBV_WC_RECV : IBV_WC_SEND,
		.byte_len = bytes,
	};
	nr_queue[dir]--;
	memmove(on_queue[dir], on_queue[dir] + 1, nr_queue[dir] * sizeof(uint64_t));
}

/* ---- an endpoint on one EVD ------------------------------------------------------ */

static struct ibv_context context = { .ops = {
	.poll_cq = poll_cq,
	.req_notify_cq = req_notify,
	.post_send = take_send,
	.post_recv = take_recv,
} };
static struct ibv_cq cq = { .context = &context };
static struct ibv_qp qp = { .context = &context };
static struct kdapl_uapi_ring_header header;
static struct kdapl_uapi_event events[ENTRIES];
static struct kdapl_uapi_ring_index ring_index;
static struct kdapl_uapi_board_ep board;
static struct shim_object *ia, *evd_obj, *ep_obj;
static struct pass_ia *pia;
static struct pass_ep *ep;
static struct pass_evd *evd;
static uint64_t token = 100;

static void dir_setup(int i)
{
	struct pass_dir *dir = &ep->dir[i];

	dir->is_recv = i == PASS_RECV;
	dir->ep = ep;
	dir->handle = ep_obj;
	dir->owner = ep_obj;
	dir->board = &board;
	dir->evd = evd;
	dir->late_end = &dir->late;
	dir->qp = &qp;
	pass_rings_install(dir, pass_rings_alloc(dir, DEPTH, 1));
}

/* As after a connect whose request is on its way. */
static void setup(void)
{
	struct shim_evd *body = calloc(1, sizeof(*body));
	int i;

	memset(&header, 0, sizeof(header));
	memset(&ring_index, 0, sizeof(ring_index));
	nr_done = 0;
	nr_queue[0] = 0;
	nr_queue[1] = 0;
	CHECK(pass_lmrs_init());
	ia = shim_object_get(++token, SHIM_IA, NULL, NULL);
	pia = calloc(1, sizeof(*pia));
	pthread_mutex_init(&pia->lock, NULL);
	ia->pass = pia;
	ia->ops = &shim_passthrough;
	body->poll_fd.fd = -1;
	body->ring.header = &header;
	body->ring.events = events;
	body->ring.index = &ring_index;
	body->ring.mask = ENTRIES - 1;
	evd_obj = shim_object_get(++token, SHIM_EVD, ia, NULL);
	CHECK(shim_object_dress(evd_obj, SHIM_EVD, token, body));
	OK(evd_obj->ops->evd_made(evd_obj));
	evd = evd_obj->pass;
	evd->cqs[0] = (struct pass_cq) { .cq = &cq, .size = 2 * DEPTH };
	evd->nr_cqs = 1;
	pass_evd_set_aside(evd, PASS_QUEUES, false);

	ep_obj = shim_object_get(++token, SHIM_EP, ia, NULL);
	ep = calloc(1, sizeof(*ep));
	pthread_mutex_init(&ep->use, NULL);
	ep->refs = 2;
	ep->bound = true;
	ep->ia = ia;
	ep->token = token;
	ep->connect_evd = evd_obj;
	for (i = 0; i < PASS_KINDS; i++)
		ep->limits[i] = (struct pass_limits) {
			.flags = DAT_COMPLETION_SUPPRESS_FLAG,
			.max_iov = 1,
			.max_length = 1 << 20,
		};
	dir_setup(PASS_REQ);
	dir_setup(PASS_RECV);
	ep->dir[PASS_RECV].await = true;
	ep->obj = ep_obj;
	ep_obj->pass = ep;
	pia->eps = ep;
	board = (struct kdapl_uapi_board_ep) {
		.life = 1,
		.state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		.refuse_request = STATE(EP_ACTCONNPENDING),
	};
}

static void kernel_event(uint32_t number)
{
	events[header.producer % ENTRIES] = (struct kdapl_uapi_event) {
		.event_number = number,
		.evd = shim_token(evd_obj),
		.connect.ep = ep->token,
	};
	header.producer++;
}

static void connected(void)
{
	kernel_event(DAT_CONNECTION_EVENT_ESTABLISHED);
	board.refuse_request = 0;
	board.state = DAT_EP_STATE_CONNECTED;
}

static void disconnected(void)
{
	kernel_event(DAT_CONNECTION_EVENT_DISCONNECTED);
	board.state = DAT_EP_STATE_DISCONNECTED;
	board.flags = KDAPL_BOARD_ERROR;
}

static DAT_RETURN post(bool send, uint64_t cookie, uint32_t flags)
{
	return send ? ep_obj->ops->post_send(ep_obj, 0, NULL, cookie, flags) :
		      ep_obj->ops->post_recv(ep_obj, 0, NULL, cookie, flags);
}

/* The next event is a completion with that cookie and status. */
static void expect(uint64_t cookie, uint32_t status)
{
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event.event_data.dto_completion_event_data;

	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_EQ(dto->user_cookie.as_64, cookie);
	CHECK_EQ(dto->status, status);
	CHECK(dto->ep_handle == ep_obj);
}

static void expect_connection(uint32_t number)
{
	DAT_EVENT event;

	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_number, number);
	CHECK(event.event_data.connect_event_data.ep_handle == ep_obj);
}

static void expect_nothing(void)
{
	DAT_EVENT event;

	CHECK_RET(dat_evd_dequeue(evd_obj, &event),
		  ERR2(QUEUE_EMPTY, DAT_NO_SUBTYPE));
}

/* ---- cases --------------------------------------------------------------------------- */

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

static void case_room(void)
{
	uint64_t i;

	setup();
	connected();
	for (i = 0; i < DEPTH; i++)
		OK(post(true, i, 0));
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

static void case_mode_line(void)
{
	enum shim_mode mode = SHIM_MODE_AUTO;

	CHECK(shim_mode_of_line("rxe0-1 u1.2 threadsafe default libdat.so.1 kdapl.1.0 "
				"\"a=b mode=passthrough\" \"\"\n", "rxe0-1", &mode));
	CHECK_EQ(mode, SHIM_MODE_PASSTHROUGH);
	CHECK(shim_mode_of_line("a u1.2 x d l p mode=forwarded", "a", &mode));
	CHECK_EQ(mode, SHIM_MODE_FORWARDED);
	CHECK(!shim_mode_of_line("ab u1.2 x d l p mode=auto", "a", &mode));
	CHECK(!shim_mode_of_line("a u1.2 x d l p \"\" \"\"", "a", &mode));
	CHECK(!shim_mode_of_line("a u1.2 x d l p mode=fast", "a", &mode));
	CHECK(!shim_mode_of_line("# a u1.2 x d l p mode=auto", "a", &mode));
	CHECK(!shim_mode_of_line("a u1.2", "a", &mode));
	CHECK(!shim_mode_of_line("", "a", &mode));
}

static const struct check_case cases[] = {
	{ "A7 E45 the first message waits for ESTABLISHED", case_first_message },
	{ "D31 a message for an attempt that was given up", case_never_connected },
	{ "A5 D46 the event of the end is behind all completions", case_end_is_last },
	{ "mt:T13 a slot is free when its event was taken", case_room },
	{ "mt:T21 what is suppressed is dropped, failures are not", case_suppressed },
	{ "mt:T59 what no plain send has filled has failed", case_foreign_message },
	{ "RULING 35 arguments of posts", case_segments },
	{ "the mode of an IA in a line of dat.conf", case_mode_line },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
