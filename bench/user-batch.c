// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a post costs an application that hands over many at once: KDAPL_IOC_POST of
 * 64 DTOs, by the time stamp counter (user-cost.c tells why), for one of them. The
 * calls of DAT post one DTO each, so this speaks the ABI itself. Both ends of the
 * connection are in this process, on two devices.
 *
 *	user-batch IA_A IA_B ADDRESS_B PORT SAMPLES
 *
 * It runs as a real time program: the device's tasks, which a send wakes, begin
 * when the call has returned and the program waits.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <dat/udat.h>
#include <rdma/kdapl.h>
#include "user.h"

#define BATCH	64
#define BYTES	64
#define LIMIT_S	60

struct side {
	__u64 ia, pz, dto_evd, conn_evd, ep;
	struct kdapl_uapi_segment segment;
	struct kdapl_uapi_dto dtos[BATCH];
	char buffer[BYTES];
};

static int fd;

/* `ret` is the first field of every structure but that of the query. */
static __u32 call(unsigned int cmd, void *arg, const char *what)
{
	if (ioctl(fd, cmd, arg))
		die(what, errno);
	return *(__u32 *)arg;
}

#define CALL(cmd, arg)						\
	do {							\
		__u32 ret_ = call(cmd, arg, #cmd);		\
								\
		if (ret_)					\
			die(#cmd, ret_);			\
	} while (0)

static void open_device(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION };

	fd = open(KDAPL_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, KDAPL_IOC_QUERY_ABI, &abi))
		die(KDAPL_DEVICE, errno);
}

static __u64 new_evd(__u64 ia, int entries, __u32 flags)
{
	struct kdapl_uapi_evd_create arg = {
		.ia = ia, .qlen = entries, .flags = flags,
	};

	CALL(KDAPL_IOC_EVD_CREATE, &arg);
	return arg.evd;
}

static void new_ep(struct side *side)
{
	struct kdapl_uapi_ep_create arg = {
		.flags = KDAPL_EP_HAS_ATTR,
		.ia = side->ia,
		.pz = side->pz,
		.recv_evd = side->dto_evd,
		.request_evd = side->dto_evd,
		.connect_evd = side->conn_evd,
		.attr = {
			.service_type = DAT_SERVICE_TYPE_RC,
			.max_message_size = 4096,
			.max_rdma_size = 4096,
			.max_recv_dtos = BATCH,
			.max_request_dtos = BATCH,
			.max_recv_iov = 1,
			.max_request_iov = 1,
			.max_rdma_read_iov = 1,
			.max_rdma_write_iov = 1,
		},
	};

	CALL(KDAPL_IOC_EP_CREATE, &arg);
	side->ep = arg.ep;
}

static void new_memory(struct side *side)
{
	struct kdapl_uapi_lmr_create arg = {
		.mem_type = DAT_MEM_TYPE_VIRTUAL,
		.ia = side->ia,
		.pz = side->pz,
		.region = (uintptr_t)side->buffer,
		.length = BYTES,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
	};

	CALL(KDAPL_IOC_LMR_CREATE, &arg);
	side->segment = (struct kdapl_uapi_segment) {
		.lmr_context = arg.lmr_context,
		.address = (uintptr_t)side->buffer,
		.length = BYTES,
	};
}

static void open_side(struct side *side, const char *name, __u32 op)
{
	struct kdapl_uapi_ia_open ia = {
		.async_qlen = 8, .version_major = 1, .version_minor = 2,
		.thread_safe = 1,
	};
	struct kdapl_uapi_pz_create pz = {};
	int i;

	strncpy(ia.name, name, sizeof(ia.name) - 1);
	CALL(KDAPL_IOC_IA_OPEN, &ia);
	side->ia = ia.ia;
	pz.ia = ia.ia;
	CALL(KDAPL_IOC_PZ_CREATE, &pz);
	side->pz = pz.pz;
	side->dto_evd = new_evd(ia.ia, 2 * BATCH, DAT_EVD_DTO_FLAG);
	side->conn_evd = new_evd(ia.ia, 8, DAT_EVD_CONNECTION_FLAG |
				 DAT_EVD_CR_FLAG);
	new_ep(side);
	new_memory(side);
	for (i = 0; i < BATCH; i++)
		side->dtos[i] = (struct kdapl_uapi_dto) {
			.op = op,
			.num_segments = 1,
			.segments = (uintptr_t)&side->segment,
		};
}

/* The next event; nobody waits for ever. */
static struct kdapl_uapi_event next_event(__u64 evd)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = evd };
	const struct timespec moment = { .tv_nsec = 10000 };
	time_t since = time(NULL);

	while (call(KDAPL_IOC_EVD_DEQUEUE, &arg, "dequeue")) {
		if (DAT_GET_TYPE(arg.ret) != DAT_QUEUE_EMPTY)
			die("dequeue", arg.ret);
		if (time(NULL) - since > LIMIT_S)
			die("no event", 0);
		nanosleep(&moment, NULL);
	}
	return arg.event;
}

static struct kdapl_uapi_event expect(__u64 evd, __u32 number)
{
	struct kdapl_uapi_event event = next_event(evd);

	if (event.event_number != number)
		die("another event", event.event_number);
	return event;
}

static void link_up(struct side *a, struct side *b, const char *address, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct kdapl_uapi_psp_create psp = {
		.flags = DAT_PSP_CONSUMER_FLAG, .ia = b->ia, .conn_qual = port,
		.evd = b->conn_evd,
	};
	struct kdapl_uapi_ep_connect connect = {
		.timeout = LIMIT_S * 1000000, .ep = a->ep, .conn_qual = port,
		.address.len = sizeof(to),
	};
	struct kdapl_uapi_cr_accept accept = { .ep = b->ep };

	inet_pton(AF_INET, address, &to.sin_addr);
	memcpy(connect.address.sa, &to, sizeof(to));
	CALL(KDAPL_IOC_PSP_CREATE, &psp);
	CALL(KDAPL_IOC_EP_CONNECT, &connect);
	accept.cr = expect(b->conn_evd, DAT_CONNECTION_REQUEST_EVENT).cr.cr;
	CALL(KDAPL_IOC_CR_ACCEPT, &accept);
	expect(a->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(b->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static unsigned long long post(struct side *side)
{
	struct kdapl_uapi_post arg = {
		.count = BATCH, .ep = side->ep, .dtos = (uintptr_t)side->dtos,
	};
	unsigned long long start = ticks(), took;
	__u32 ret;

	ret = call(KDAPL_IOC_POST, &arg, "post");
	took = ticks() - start;
	if (ret || arg.done != BATCH)
		die("post", ret);
	return took;
}

static void take_all(struct side *side)
{
	int i;

	for (i = 0; i < BATCH; i++)
		if (expect(side->dto_evd, DAT_DTO_COMPLETION_EVENT).dto.status)
			die("a transfer failed", 0);
}

int main(int argc, char **argv)
{
	const struct sched_param priority = { .sched_priority = 1 };
	struct side *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	unsigned long long *sends, *recvs;
	int i, n;

	if (argc != 6 || atoi(argv[5]) < 1)
		return 2;
	n = atoi(argv[5]);
	sends = calloc(n, sizeof(*sends));
	recvs = calloc(n, sizeof(*recvs));
	open_device();
	open_side(a, argv[1], KDAPL_OP_SEND);
	open_side(b, argv[2], KDAPL_OP_RECV);
	link_up(a, b, argv[3], atoi(argv[4]));
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		die("sched_setscheduler", errno);
	measure_overhead();
	for (i = 0; i < n; i++) {
		recvs[i] = post(b);
		sends[i] = post(a);
		take_all(a);
		take_all(b);
	}
	say("ioctl", "batch_send", sends, n, BATCH);
	say("ioctl", "batch_recv", recvs, n, BATCH);
	return 0;
}
