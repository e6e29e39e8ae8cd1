/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A rig for tests of the library's queues of a process's own (udapl-shim/pass_*.c) from the
 * inside, which needs neither the module nor a device: one EP on one EVD. The device is a
 * list of work requests, and the test completes them; the kernel's ring and its board are
 * memory of this process. For programs that are linked with the library's objects.
 */
#ifndef PASS_RIG_H
#define PASS_RIG_H

#include <stdlib.h>

#include "pass_event.h"
#include "check.h"

#define ENTRIES	16u	/* of each ring */
#define DEPTH	8	/* posts of a direction */
#define QP_NUM	3	/* of the queue pair */

/* ---- a device ------------------------------------------------------------------ */

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_wc done[64];
static int nr_done;
static uint64_t on_queue[2][64];	/* wr_ids, by direction */
static int nr_queue[2];
static struct ibv_send_wr sent;		/* the newest request, and its first segment */
static struct ibv_sge sent_sge;

static inline int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int n;

	(void)cq;
	pthread_mutex_lock(&device_lock);
	n = nr_done < max ? nr_done : max;
	memcpy(wc, done, n * sizeof(*wc));
	nr_done -= n;
	memmove(done, done + n, nr_done * sizeof(*wc));
	pthread_mutex_unlock(&device_lock);
	return n;
}

static inline int req_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static inline int take_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	on_queue[PASS_REQ][nr_queue[PASS_REQ]++] = wr->wr_id;
	sent = *wr;
	if (wr->num_sge)
		sent_sge = wr->sg_list[0];
	return 0;
}

static inline int take_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	on_queue[PASS_RECV][nr_queue[PASS_RECV]++] = wr->wr_id;
	return 0;
}

static int nr_destroyed;
static void (*while_destroying)(void);

/* These two are in the place of libibverbs': there is no driver behind the queue pair. */
int ibv_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	nr_destroyed++;
	if (while_destroying)
		while_destroying();
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return 0;
}

/* The oldest post of a direction completes. */
static inline void complete(int dir, enum ibv_wc_status status, uint32_t bytes)
{
	CHECK(nr_queue[dir]);
	pthread_mutex_lock(&device_lock);
	done[nr_done++] = (struct ibv_wc) {
		.wr_id = on_queue[dir][0],
		.status = status,
		.opcode = dir == PASS_RECV ? IBV_WC_RECV : IBV_WC_SEND,
		.byte_len = bytes,
		.qp_num = QP_NUM,
	};
	nr_queue[dir]--;
	memmove(on_queue[dir], on_queue[dir] + 1, nr_queue[dir] * sizeof(uint64_t));
	pthread_mutex_unlock(&device_lock);
}

/* ---- an endpoint on one EVD ------------------------------------------------------ */

static struct ibv_context device = { .ops = {
	.poll_cq = poll_cq,
	.req_notify_cq = req_notify,
	.post_send = take_send,
	.post_recv = take_recv,
} };
static struct ibv_cq cq = { .context = &device };
static struct ibv_qp qp = { .context = &device, .qp_num = QP_NUM };
static struct kdapl_uapi_ring_header header;
static struct kdapl_uapi_event events[ENTRIES];
static struct kdapl_uapi_ring_index ring_index;
static struct kdapl_uapi_board_ep board, ia_board;
static struct shim_object *ia, *evd_obj, *ep_obj;
static struct pass_ia *pia;
static struct pass_ep *ep;
static struct pass_evd *evd;
static uint64_t token = 100;

static inline void dir_setup(int i, const struct kdapl_uapi_board_ep *of)
{
	struct pass_dir *dir = &ep->dir[i];

	dir->is_recv = i == PASS_RECV;
	dir->ep = ep;
	dir->handle = ep_obj;
	dir->owner = ep_obj;
	dir->board = of;
	dir->evd = evd;
	evd->users++;
	dir->late_end = &dir->late;
	dir->qp = &qp;
	pass_rings_install(dir, pass_rings_alloc(dir, DEPTH, 1, false));
}

/* Makes the EP; a test that has several switches between them by @ep and @ep_obj. */
static inline void ep_setup(const struct kdapl_uapi_board_ep *of)
{
	int i;

	ep_obj = shim_object_get(++token, SHIM_EP, ia, NULL);
	ep = calloc(1, sizeof(*ep));
	pthread_mutex_init(&ep->use, NULL);
	ep->refs = 2;
	ep->bound = true;
	ep->life = 1;
	ep->qp_num = QP_NUM;
	ep->ia = ia;
	ep->pia = pia;
	ep->token = token;
	ep->connect_evd = evd_obj;
	ep->end = pass_moved_new();
	for (i = 0; i < KDAPL_NR_DTO_KINDS; i++)
		ep->limits[i] = (struct kdapl_dto_limits) {
			.flags = DAT_COMPLETION_SUPPRESS_FLAG,
			.max_iov = 1,
			.max_length = 1 << 20,
		};
	dir_setup(PASS_REQ, of);
	dir_setup(PASS_RECV, of);
	ep->dir[PASS_RECV].await = true;
	ep->obj = ep_obj;
	ep_obj->pass = ep;
	ep->next = pia->eps;
	pia->eps = ep;
}

/* The EPs of the case before are none of the housekeeper's any more. */
static inline void retire(void)
{
	struct pass_ep *old;

	for (old = pia ? pia->eps : NULL; old; old = old->next)
		old->obj = NULL;
	pass_keeper_round();
}

/* As after a connect whose request is on its way. */
static inline void setup(void)
{
	struct shim_evd *body = calloc(1, sizeof(*body));

	retire();
	memset(&header, 0, sizeof(header));
	memset(&ring_index, 0, sizeof(ring_index));
	nr_done = 0;
	nr_queue[0] = 0;
	nr_queue[1] = 0;
	CHECK(pass_lmrs_init());
	ia = shim_object_get(++token, SHIM_IA, NULL, NULL);
	pia = calloc(1, sizeof(*pia));
	pthread_mutex_init(&pia->lock, NULL);
	pia->refs = 1;
	ia_board = (struct kdapl_uapi_board_ep) { 0 };
	pia->entry = &ia_board;
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

	ep_setup(&board);
	board = (struct kdapl_uapi_board_ep) {
		.life = 1,
		.state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		.refuse_request = STATE(EP_ACTCONNPENDING),
	};
}

static inline void kernel_event(uint32_t number)
{
	events[header.producer % ENTRIES] = (struct kdapl_uapi_event) {
		.event_number = number,
		.evd = shim_token(evd_obj),
		.connect.ep = ep->token,
		.connect.life = ep->life,
	};
	header.producer++;
}

static inline void connected(void)
{
	kernel_event(DAT_CONNECTION_EVENT_ESTABLISHED);
	board.refuse_request = 0;
	board.flags |= KDAPL_BOARD_ESTABLISHED;
	board.state = DAT_EP_STATE_CONNECTED;
}

static inline void disconnected(void)
{
	kernel_event(DAT_CONNECTION_EVENT_DISCONNECTED);
	board.state = DAT_EP_STATE_DISCONNECTED;
	board.flags |= KDAPL_BOARD_ERROR;
}

static inline DAT_RETURN post(bool send, uint64_t cookie, uint32_t flags)
{
	return send ? ep_obj->ops->post_send(ep_obj, 0, NULL, cookie, flags) :
		      ep_obj->ops->post_recv(ep_obj, 0, NULL, cookie, flags);
}

/*
 * What a consumer sees who asks again until there is an event. There is no housekeeper's thread
 * here (but in the case about that), so what it does is done between two looks.
 */
static inline DAT_RETURN next_event(DAT_EVENT *event)
{
	DAT_RETURN ret = dat_evd_dequeue(evd_obj, event);
	int i;

	for (i = 0; ret && i < 3; i++) {
		pass_keeper_round();
		ret = dat_evd_dequeue(evd_obj, event);
	}
	return ret;
}

/* The next event is a completion with that cookie and status. */
static inline void expect(uint64_t cookie, uint32_t status)
{
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event.event_data.dto_completion_event_data;

	OK(next_event(&event));
	CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_EQ(dto->user_cookie.as_64, cookie);
	CHECK_EQ(dto->status, status);
	CHECK(dto->ep_handle == ep_obj);
}

static inline void expect_connection(uint32_t number)
{
	DAT_EVENT event;

	OK(next_event(&event));
	CHECK_EQ(event.event_number, number);
	CHECK(event.event_data.connect_event_data.ep_handle == ep_obj);
}

static inline void expect_nothing(void)
{
	DAT_EVENT event;

	CHECK_RET(next_event(&event), ERR2(QUEUE_EMPTY, DAT_NO_SUBTYPE));
}

#endif /* PASS_RIG_H */
