/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An end of a connection in passthrough as the library makes one, without the library: an
 * open IA, an EP, and verbs objects of the process's own behind it.  For the tests that do
 * to it what the library never would (bind_hostile.c, bind_states.c).
 */
#ifndef RAW_END_H
#define RAW_END_H

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "abi.h"

#define DTOS		16		/* of each direction of a queue pair */
#define MESSAGE		64
#define REFUSED		(-1)		/* by DAT, instead of by an errno */
#define PATIENCE	(LONG / 1000)	/* ms */
#define ESTABLISHED	DAT_CONNECTION_EVENT_ESTABLISHED
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED
#define BROKEN		DAT_CONNECTION_EVENT_BROKEN
#define UNCONNECTED	ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED)

struct end {
	const char *device;		/* "rxe0", of the IA "rxe0-1" */
	int fd;
	__u64 ia, pz, evd, ep, psp, qual;
	struct kdapl_uapi_ia_passthrough pass;
	const volatile struct kdapl_uapi_board_ep *board, *slot;
	const volatile struct kdapl_uapi_ring_header *ring;
	size_t ring_size;
	struct kdapl_uapi_addr address;
	__u32 life;			/* of the last bind */
	struct ibv_context *context;
	struct ibv_pd *verbs_pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char memory[DTOS][MESSAGE];
};

/* What DAT has refused last, of a bind or a tell. */
static __u32 refusal;

static inline struct ibv_context *context_open(const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	need(context, "open the uverbs device");
	return context;
}

static inline struct ibv_qp *qp_new(const struct end *end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq, .recv_cq = end->cq, .qp_type = type,
		.cap = { DTOS, DTOS, 1, 1, 0 }, .sq_sig_all = 1,
	};

	return ibv_create_qp(end->verbs_pd, &attr);
}

/* 0 or an errno. */
static inline int qp_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static inline int qp_move(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static inline enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN :
							     attr.qp_state;
}

/* A new one in INIT. */
static inline void end_qp(struct end *end)
{
	end->qp = qp_new(end, IBV_QPT_RC);
	need(end->qp && !qp_init(end->qp), "a queue pair in INIT");
}

static inline void end_verbs(struct end *end)
{
	end->context = context_open(end->device);
	end->verbs_pd = ibv_alloc_pd(end->context);
	end->channel = ibv_create_comp_channel(end->context);
	end->cq = ibv_create_cq(end->context, 8 * DTOS, NULL, end->channel, 0);
	need(end->verbs_pd && end->channel && end->cq, "a PD, a channel and a CQ");
	end->mr = ibv_reg_mr(end->verbs_pd, end->memory, sizeof(end->memory),
			     IBV_ACCESS_LOCAL_WRITE);
	need(end->mr, "a memory region");
}

static inline __u64 end_ia_open(struct end *end, int fd)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-1", end->device);
	return ia_open_named(fd, name).ia;
}

static inline const volatile struct kdapl_uapi_board_ep *
board_map(int fd, const struct kdapl_uapi_ia_passthrough *pass)
{
	void *map = mmap(NULL, pass->board_size, PROT_READ, MAP_SHARED, fd,
			 pass->board_offset);

	need(map != MAP_FAILED, "map the board");
	return map;
}

static inline const volatile struct kdapl_uapi_board_ep *
slot_of(const struct end *end, __u64 ep)
{
	struct kdapl_uapi_ep_board arg = { .ep = ep };

	need(!call(end->fd, KDAPL_IOC_EP_BOARD, &arg) && !arg.ret &&
	     arg.slot < end->pass.board_size / sizeof(*end->board), "the slot of an EP");
	return &end->board[arg.slot];
}

/* An EP of the IA, on the EVD that has everything. */
static inline __u64 end_new_ep(const struct end *end)
{
	return ep_create(end->fd, end->ia, end->pz, end->evd, end->evd);
}

/* Passthrough for the IA, which has just been opened, whatever the driver. */
static inline bool end_pass(struct end *end)
{
	end->pass = (struct kdapl_uapi_ia_passthrough) {
		.ia = end->ia, .uverbs_fd = end->context->cmd_fd,
		.hints = KDAPL_VERBS_ASKED,
	};
	return !call(end->fd, KDAPL_IOC_IA_PASSTHROUGH, &end->pass) && !end->pass.ret;
}

/*
 * Destroys a queue pair as soon as kdapl lets go of it: who closes the file of another process
 * does not wait for that. Return: 0 or an errno.
 */
static inline int end_destroy_qp(struct ibv_qp *qp)
{
	int err, tries = 0;

	while ((err = ibv_destroy_qp(qp)) == EBUSY && tries++ < 6000)
		usleep(10000);
	return err;
}

static inline void end_objects(struct end *end)
{
	struct kdapl_uapi_ia_query query = { .ia_mask = 0x40 };
	struct kdapl_uapi_evd_create evd;

	need(end_pass(end), "passthrough");
	end->board = board_map(end->fd, &end->pass);
	query.ia = end->ia;
	need(!call(end->fd, KDAPL_IOC_IA_QUERY, &query) && !query.ret, "query the IA");
	end->address = query.ia_attr.address;
	end->pz = pz_create(end->fd, end->ia);
	evd = evd_create(end->fd, end->ia, 64, DAT_EVD_DEFAULT_FLAG |
			 DAT_EVD_SOFTWARE_FLAG);
	end->evd = evd.evd;
	end->ring_size = evd.ring.data_size;
	end->ring = mmap(NULL, end->ring_size, PROT_READ, MAP_SHARED, end->fd,
			 evd.ring.data_offset);
	need(end->ring != MAP_FAILED, "map a ring");
	end->ep = end_new_ep(end);
	end->slot = slot_of(end, end->ep);
}

/* Everything but a queue pair. */
static inline void end_open(struct end *end, const char *device)
{
	memset(end, 0, sizeof(*end));
	end->device = device;
	end_verbs(end);
	end->fd = dev_open();
	end->ia = end_ia_open(end, end->fd);
	end_objects(end);
}

/* The file of kdapl: what was bound is not any more. */
static inline void end_close_file(struct end *end)
{
	munmap((void *)end->board, end->pass.board_size);
	munmap((void *)end->ring, end->ring_size);
	close(end->fd);
}

static inline void end_close(struct end *end)
{
	end_close_file(end);
	/* What stays is in the way of the device's removal until the process ends. */
	if (end->qp)
		need(!(errno = ibv_destroy_qp(end->qp)), "destroy the queue pair");
	ibv_dereg_mr(end->mr);
	ibv_destroy_cq(end->cq);
	ibv_destroy_comp_channel(end->channel);
	ibv_dealloc_pd(end->verbs_pd);
	ibv_close_device(end->context);
}

/* 0, an errno, or REFUSED. */
static inline int bind_as(int fd, __u64 ep, int uverbs_fd, __u32 qp_num, __u32 *life)
{
	struct kdapl_uapi_ep_bind arg = {
		.ep = ep, .uverbs_fd = uverbs_fd, .qp_num = qp_num,
	};
	int err = call(fd, KDAPL_IOC_EP_BIND, &arg);

	refusal = arg.ret;
	if (life)
		*life = arg.life;
	return err ? err : arg.ret ? REFUSED : 0;
}

static inline int end_bind(struct end *end)
{
	return bind_as(end->fd, end->ep, end->context->cmd_fd, end->qp->qp_num,
		       &end->life);
}

static inline int tell_as(int fd, __u64 ep, __u32 what, __u32 life)
{
	struct kdapl_uapi_ep_tell arg = { .ep = ep, .what = what, .life = life };
	int err = call(fd, KDAPL_IOC_EP_TELL, &arg);

	refusal = arg.ret;
	return err ? err : arg.ret ? REFUSED : 0;
}

static inline int end_tell(const struct end *end, __u32 what)
{
	return tell_as(end->fd, end->ep, what, end->life);
}

static inline __u32 end_state(const struct end *end)
{
	struct kdapl_uapi_ep_get_status arg = { .ep = end->ep };

	return call(end->fd, KDAPL_IOC_EP_GET_STATUS, &arg) || arg.ret ? ~0U : arg.state;
}

/* The number of the next event, 0 if none comes within @ms. */
static inline __u32 end_event_within(const struct end *end, unsigned int ms,
				     struct kdapl_uapi_event *event)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = end->evd };

	if (evd_wait(end->fd, end->evd, 1, ms * 1000, NULL) ||
	    call(end->fd, KDAPL_IOC_EVD_DEQUEUE, &arg) || arg.ret)
		return 0;
	if (event)
		*event = arg.event;
	return arg.event.event_number;
}

static inline __u32 end_event(const struct end *end, struct kdapl_uapi_event *event)
{
	return end_event_within(end, PATIENCE, event);
}

/* ---- connections ----------------------------------------------------------------- */

static inline void end_listen(struct end *end)
{
	struct kdapl_uapi_psp_create arg = { .ia = end->ia, .evd = end->evd };

	need(!call(end->fd, KDAPL_IOC_PSP_CREATE_ANY, &arg) && !arg.ret, "listen");
	end->psp = arg.psp;
	end->qual = arg.conn_qual;
}

/* The DAT_RETURN, or ~0. */
static inline __u32 end_connect(const struct end *end,
				const struct kdapl_uapi_addr *address, __u64 qual)
{
	struct kdapl_uapi_ep_connect arg = {
		.ep = end->ep, .timeout = LONG, .address = *address, .conn_qual = qual,
	};

	return call(end->fd, KDAPL_IOC_EP_CONNECT, &arg) ? ~0U : arg.ret;
}

static inline __u32 cr_accept(const struct end *end, __u64 cr)
{
	struct kdapl_uapi_cr_accept arg = { .cr = cr, .ep = end->ep };

	return call(end->fd, KDAPL_IOC_CR_ACCEPT, &arg) ? ~0U : arg.ret;
}

static inline __u64 end_request(const struct end *end)
{
	struct kdapl_uapi_event event;

	need(end_event(end, &event) == DAT_CONNECTION_REQUEST_EVENT, "a request");
	return event.cr.cr;
}

static inline __u32 end_disconnect(const struct end *end, __u32 flags)
{
	struct kdapl_uapi_handle_flags arg = { .handle = end->ep, .flags = flags };

	return call(end->fd, KDAPL_IOC_EP_DISCONNECT, &arg) ? ~0U : arg.ret;
}

/* @from connects to @to, which listens already; both get a new queue pair. */
static inline void ends_connect(struct end *from, struct end *to)
{
	end_qp(from);
	end_qp(to);
	need(!end_bind(from) && !end_bind(to), "both bound");
	need(!end_connect(from, &to->address, to->qual), "connect");
	need(!cr_accept(to, end_request(to)), "accept");
	need(end_event(from, NULL) == ESTABLISHED &&
	     end_event(to, NULL) == ESTABLISHED, "established");
}

/* The end of a connection, whatever comes before it. */
static inline __u32 end_of(const struct end *end)
{
	__u32 number;

	do
		number = end_event(end, NULL);
	while (number && number != DISCONNECTED && number != BROKEN);
	return number;
}

/* Back to Unconnected, whatever has become of it; without its queue pair, and nothing queued. */
static inline bool end_renew(struct end *end)
{
	struct kdapl_uapi_event event;
	struct ibv_wc wc;

	if (handle_call(end->fd, KDAPL_IOC_EP_FREE, end->ep) ||
	    (end->qp && ibv_destroy_qp(end->qp)))
		return false;
	end->qp = NULL;
	while (end_event_within(end, 0, &event) || ibv_poll_cq(end->cq, 1, &wc) > 0)
		;
	end->ep = end_new_ep(end);
	end->slot = slot_of(end, end->ep);
	return true;
}

/* ---- transfers ------------------------------------------------------------------- */

static inline int post_recv(struct end *end, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)end->memory[slot], MESSAGE, end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

static inline int post_send(struct end *end, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)end->memory[slot], MESSAGE, end->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	return ibv_post_send(end->qp, &wr, &bad);
}

/* The status of the next completion, -1 if none comes within @ms. */
static inline int completion_within(struct end *end, long ms)
{
	long last = now_ms() + ms;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(end->cq, 1, &wc)) && now_ms() < last)
		usleep(1000);
	return n == 1 ? (int)wc.status : -1;
}

/* A message from @from to @to arrives. */
static inline bool message_passes(struct end *from, struct end *to)
{
	return !post_recv(to, 0) && !post_send(from, 1) &&
	       completion_within(from, PATIENCE) == IBV_WC_SUCCESS &&
	       completion_within(to, PATIENCE) == IBV_WC_SUCCESS;
}

/* ---- between processes ------------------------------------------------------------- */

static inline void send_fd(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	need(sendmsg(to, &msg, 0) == 1, "pass a descriptor");
}

static inline int receive_fd(int from)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(from, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

#endif /* RAW_END_H */
