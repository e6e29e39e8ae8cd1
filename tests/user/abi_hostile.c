// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A hostile process at /dev/kdapl: calls that are no calls, padding, pointers,
 * handles, counts and flags that are wrong, mappings that must not be had, a
 * forged ring index, threads that wait, files closed and processes killed with
 * everything open.  Speaks the ABI itself, without the library.
 *
 * Needs the module and one RDMA device with an address.  Prints a line a check
 * (the rule it comes from, what it does) and `N passed, N failed`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "abi.h"

#define IH_EVD		ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)

static char ia_name[KDAPL_UAPI_NAME_LEN];

static void find_ia(int fd)
{
	struct kdapl_uapi_provider_info infos[16];
	struct kdapl_uapi_ia_list list = {
		.max = ARRAY_SIZE(infos), .list = (uintptr_t)infos,
	};

	need(!call(fd, KDAPL_IOC_IA_LIST, &list) && !list.ret && list.number,
	     "an IA to open");
	memcpy(ia_name, infos[0].ia_name, sizeof(ia_name));
}

static struct kdapl_uapi_ia_open ia_args(void)
{
	return ia_args_of(ia_name);
}

static struct kdapl_uapi_ia_open ia_open(int fd)
{
	return ia_open_named(fd, ia_name);
}

static __u32 post_se(int fd, __u64 evd, __u64 pointer)
{
	struct kdapl_uapi_evd_post_se arg = {
		.evd = evd, .event_number = DAT_SOFTWARE_EVENT,
		.pointer = pointer,
	};

	return call(fd, KDAPL_IOC_EVD_POST_SE, &arg) ? ~0U : arg.ret;
}

/* The event's pointer, -1 for an empty EVD, -2 for anything else. */
static long dequeue(int fd, __u64 evd)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = evd };

	if (call(fd, KDAPL_IOC_EVD_DEQUEUE, &arg))
		return -2;
	if (DAT_GET_TYPE(arg.ret) == DAT_QUEUE_EMPTY)
		return -1;
	return arg.ret ? -2 : (long)arg.event.software.pointer;
}

struct map {
	volatile struct kdapl_uapi_ring_header *header;
	struct kdapl_uapi_event *events;
	volatile struct kdapl_uapi_ring_index *index;
	struct kdapl_uapi_ring ring;
};

static struct map ring_map(int fd, const struct kdapl_uapi_ring *ring)
{
	struct map map = { .ring = *ring };

	map.header = mmap(NULL, ring->data_size, PROT_READ, MAP_SHARED, fd,
			  ring->data_offset);
	map.index = mmap(NULL, ring->index_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, ring->index_offset);
	need(map.header != MAP_FAILED && map.index != MAP_FAILED, "map a ring");
	map.events = (void *)((char *)map.header + ring->entries);
	return map;
}

static void ring_unmap(struct map *map)
{
	munmap((void *)map->header, map->ring.data_size);
	munmap((void *)map->index, map->ring.index_size);
}

static long ring_take(struct map *map)
{
	__u32 consumer = map->index->consumer;
	long pointer;

	if (consumer == __atomic_load_n(&map->header->producer, __ATOMIC_ACQUIRE))
		return -1;
	pointer = map->events[consumer & (map->ring.nr_entries - 1)].software.pointer;
	__atomic_store_n(&map->index->consumer, consumer + 1, __ATOMIC_RELEASE);
	return pointer;
}

/* ---- every call there is --------------------------------------------------------- */

#define NO_PAD		0xffff
#define CALL(cmd, type, ...)	{ #cmd, KDAPL_IOC_##cmd, \
	sizeof(struct kdapl_uapi_##type), { __VA_ARGS__ } }
#define PAD(type)	offsetof(struct kdapl_uapi_##type, pad)
#define AT(type, field)	offsetof(struct kdapl_uapi_##type, field)

/*
 * pad: of a call's padding; handle: the first handle it looks at, 0 if none;
 * subtype: of DAT_INVALID_HANDLE for it.
 */
static const struct every_call {
	const char *name;
	unsigned int cmd;
	unsigned int size;
	struct {
		unsigned int pad, handle, subtype;
	};
} every_call[] = {
	CALL(QUERY_ABI, query_abi, PAD(query_abi), 0, 0),
	CALL(HANDLE_TYPE, handle_type, NO_PAD, AT(handle_type, handle),
	     DAT_INVALID_HANDLE1),
	CALL(IA_LIST, ia_list, PAD(ia_list), 0, 0),
	CALL(IA_OPEN, ia_open, PAD(ia_open), 0, 0),
	CALL(IA_CLOSE, handle_flags, NO_PAD, AT(handle_flags, handle),
	     DAT_INVALID_HANDLE_IA),
	CALL(IA_QUERY, ia_query, PAD(ia_query), AT(ia_query, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(IA_PASSTHROUGH, ia_passthrough, NO_PAD, AT(ia_passthrough, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(IA_CQ_FAULT, handle, PAD(handle), AT(handle, handle), DAT_INVALID_HANDLE_IA),
	CALL(IA_TELL_LAST, handle, PAD(handle), AT(handle, handle), DAT_INVALID_HANDLE_IA),
	CALL(PZ_CREATE, pz_create, PAD(pz_create), AT(pz_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(PZ_QUERY, pz_query, NO_PAD, AT(pz_query, pz),
	     DAT_INVALID_HANDLE_PZ),
	CALL(PZ_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_PZ),
	CALL(LMR_CREATE, lmr_create, PAD(lmr_create), AT(lmr_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(LMR_QUERY, lmr_query, NO_PAD, AT(lmr_query, lmr),
	     DAT_INVALID_HANDLE_LMR),
	CALL(LMR_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_LMR),
	CALL(LMR_SYNC, lmr_sync, NO_PAD, AT(lmr_sync, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(EVD_CREATE, evd_create, PAD(evd_create), AT(evd_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(EVD_QUERY, evd_query, PAD(evd_query), AT(evd_query, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_RESIZE, evd_resize, NO_PAD, AT(evd_resize, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_POST_SE, evd_post_se, NO_PAD, AT(evd_post_se, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_WAIT, evd_wait, NO_PAD, AT(evd_wait, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_DEQUEUE, evd_dequeue, PAD(evd_dequeue), AT(evd_dequeue, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_REFILL, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_RING, evd_ring, PAD(evd_ring), AT(evd_ring, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_POLL_FD, evd_poll_fd, NO_PAD, AT(evd_poll_fd, evd),
	     DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(EVD_SET_WAITABLE, evd_set_waitable, NO_PAD,
	     AT(evd_set_waitable, evd), DAT_INVALID_HANDLE_EVD_REQUEST),
	CALL(CQ_SETTLE, cq_settle, PAD(cq_settle), 0, 0),
	CALL(EP_CREATE, ep_create, AT(ep_create, attr.pad), AT(ep_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(EP_QUERY, ep_param, AT(ep_param, attr.pad), AT(ep_param, ep),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_MODIFY, ep_param, AT(ep_param, attr.pad), AT(ep_param, ep),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_GET_STATUS, ep_get_status, NO_PAD, AT(ep_get_status, ep),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_CONNECT, ep_connect, PAD(ep_connect), AT(ep_connect, ep),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_DUP_CONNECT, ep_dup_connect, NO_PAD, AT(ep_dup_connect, ep),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_DISCONNECT, handle_flags, NO_PAD, AT(handle_flags, handle),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_RESET, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_EP),
	CALL(EP_PRIVATE_DATA, ep_private_data, NO_PAD,
	     AT(ep_private_data, ep), DAT_INVALID_HANDLE_EP),
	CALL(EP_BOARD, ep_board, NO_PAD, AT(ep_board, ep), DAT_INVALID_HANDLE_EP),
	CALL(EP_BIND, ep_bind, NO_PAD, AT(ep_bind, ep), DAT_INVALID_HANDLE_EP),
	CALL(EP_TELL, ep_tell, PAD(ep_tell), AT(ep_tell, ep), DAT_INVALID_HANDLE_EP),
	CALL(EP_CREATE_WITH_SRQ, ep_create_with_srq, AT(ep_create_with_srq, attr.pad),
	     AT(ep_create_with_srq, ia), DAT_INVALID_HANDLE_IA),
	CALL(EP_RECV_QUERY, ep_recv_query, PAD(ep_recv_query), AT(ep_recv_query, ep),
	     DAT_INVALID_HANDLE_EP),
	CALL(BOARD_EVENT, board_event, NO_PAD, 0, 0),
	CALL(POST, post, PAD(post), 0, 0),
	CALL(PSP_CREATE, psp_create, NO_PAD, AT(psp_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(PSP_CREATE_ANY, psp_create, NO_PAD, AT(psp_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(PSP_QUERY, psp_query, PAD(psp_query), AT(psp_query, psp),
	     DAT_INVALID_HANDLE_PSP),
	CALL(PSP_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_PSP),
	CALL(RSP_CREATE, rsp_create, PAD(rsp_create), AT(rsp_create, ia),
	     DAT_INVALID_HANDLE_IA),
	CALL(RSP_QUERY, rsp_query, NO_PAD, AT(rsp_query, rsp),
	     DAT_INVALID_HANDLE_RSP),
	CALL(RSP_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_RSP),
	CALL(CR_QUERY, cr_query, NO_PAD, AT(cr_query, cr),
	     DAT_INVALID_HANDLE_CR),
	CALL(CR_ACCEPT, cr_accept, NO_PAD, AT(cr_accept, cr),
	     DAT_INVALID_HANDLE_CR),
	CALL(CR_REJECT, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_CR),
	CALL(CR_HANDOFF, cr_handoff, PAD(cr_handoff), AT(cr_handoff, cr),
	     DAT_INVALID_HANDLE_CR),
	CALL(CR_REJECT_DATA, cr_reject, NO_PAD, AT(cr_reject, cr), DAT_INVALID_HANDLE_CR),
	CALL(RMR_CREATE, rmr_create, NO_PAD, AT(rmr_create, pz),
	     DAT_INVALID_HANDLE_PZ),
	CALL(RMR_QUERY, rmr_query, NO_PAD, AT(rmr_query, rmr),
	     DAT_INVALID_HANDLE_RMR),
	CALL(RMR_BIND, rmr_bind, NO_PAD, AT(rmr_bind, rmr),
	     DAT_INVALID_HANDLE_RMR),
	CALL(RMR_FREE, handle, PAD(handle), AT(handle, handle),
	     DAT_INVALID_HANDLE_RMR),
	CALL(SRQ_CREATE, srq_create, NO_PAD, AT(srq_create, ia), DAT_INVALID_HANDLE_IA),
	CALL(SRQ_QUERY, srq_query, NO_PAD, AT(srq_query, srq), DAT_INVALID_HANDLE_SRQ),
	CALL(SRQ_RESIZE, srq_count, NO_PAD, AT(srq_count, srq),
	     DAT_INVALID_HANDLE_SRQ),
	CALL(SRQ_SET_LW, srq_count, NO_PAD, AT(srq_count, srq),
	     DAT_INVALID_HANDLE_SRQ),
	CALL(SRQ_POST, post, PAD(post), 0, 0),
	CALL(SRQ_FREE, handle, PAD(handle), AT(handle, handle), DAT_INVALID_HANDLE_SRQ),
	CALL(SRQ_TELL, srq_tell, NO_PAD, AT(srq_tell, srq), DAT_INVALID_HANDLE_SRQ),
};

static void test_versions(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION + 1 };
	int fd = open(KDAPL_DEVICE, O_RDWR);
	char arg[2048] = {};
	unsigned int i;

	need(fd >= 0, "open " KDAPL_DEVICE);
	for (i = 1; i < ARRAY_SIZE(every_call); i++)
		expect_errno(fd, every_call[i].cmd, arg, EPROTO, "A8",
			     text_of(every_call[i].name, "before the query"));
	expect_errno(fd, KDAPL_IOC_QUERY_ABI, &abi, EPROTONOSUPPORT, "A8",
		     "a version from the future");
	check(abi.min_version == KDAPL_ABI_VERSION &&
	      abi.max_version == KDAPL_ABI_VERSION, "A8",
	      "the reply tells the versions there are", abi.max_version);
	abi.version = 0;
	expect_errno(fd, KDAPL_IOC_QUERY_ABI, &abi, EPROTONOSUPPORT, "A8",
		     "version 0");
	expect_errno(fd, KDAPL_IOC_IA_LIST, arg, EPROTO, "A8",
		     "no call after a refused query");
	abi.version = KDAPL_ABI_VERSION;
	expect_errno(fd, KDAPL_IOC_QUERY_ABI, &abi, 0, "A8", "our version");
	check(abi.max_dtos >= 1 && abi.max_segments >= 1, "A8",
	      "the reply tells the limits", abi.max_dtos);
	check(abi.features == (KDAPL_FEATURE_PASSTHROUGH | KDAPL_FEATURE_SRQ |
			       KDAPL_FEATURE_OWN_SRQS | KDAPL_FEATURE_CQ_FAULT |
			       KDAPL_FEATURE_CQ_SETTLE | KDAPL_FEATURE_IA_BOARD |
			       KDAPL_FEATURE_EVENT_LIFE | KDAPL_FEATURE_BOARD_EVENT |
			       KDAPL_FEATURE_EXTENSIONS | KDAPL_FEATURE_REJECT_DATA |
			       KDAPL_FEATURE_TELL_LAST | KDAPL_FEATURE_OPERATION |
			       KDAPL_FEATURE_INVALIDATE | KDAPL_FEATURE_READ_TO_RMR), "A8",
	      "the reply tells what was added, and nothing else", abi.features);
	close(fd);
}

static void test_numbers(int fd)
{
	char arg[4096] = {};
	unsigned int i, nr;

	for (i = 0; i < ARRAY_SIZE(every_call); i++) {
		const struct every_call *c = &every_call[i];

		nr = _IOC_NR(c->cmd);
		expect_errno(fd, _IOC(_IOC_READ | _IOC_WRITE, KDAPL_IOC_MAGIC, nr,
				      c->size + 8), arg, ENOTTY, "A8",
			     text_of(c->name, "larger structure"));
		expect_errno(fd, _IOC(_IOC_READ | _IOC_WRITE, KDAPL_IOC_MAGIC, nr,
				      c->size - 8), arg, ENOTTY, "A8",
			     text_of(c->name, "smaller structure"));
		expect_errno(fd, _IOC(_IOC_WRITE, KDAPL_IOC_MAGIC, nr, c->size),
			     arg, ENOTTY, "A8", text_of(c->name, "direction"));
		expect_errno(fd, _IOC(_IOC_READ | _IOC_WRITE, 'x', nr, c->size),
			     arg, ENOTTY, "A8", text_of(c->name, "other magic"));
	}
	for (nr = 0; nr < 256; nr++) {
		for (i = 0; i < ARRAY_SIZE(every_call); i++)
			if (_IOC_NR(every_call[i].cmd) == nr)
				break;
		if (i == ARRAY_SIZE(every_call) &&
		    call(fd, _IOC(_IOC_READ | _IOC_WRITE, KDAPL_IOC_MAGIC, nr, 16),
			 arg) != ENOTTY)
			break;
	}
	check(nr == 256, "A8", "numbers without a call", nr);
	expect_errno(fd, FIONREAD, arg, ENOTTY, "A8", "somebody else's call");
}

static void test_padding(int fd)
{
	unsigned int i, byte;

	for (i = 0; i < ARRAY_SIZE(every_call); i++) {
		const struct every_call *c = &every_call[i];

		if (c->pad == NO_PAD)
			continue;
		for (byte = 0; byte < 4; byte++) {
			unsigned char arg[2048] = {};

			arg[c->pad + byte] = 0x80;
			expect_errno(fd, c->cmd, arg, EINVAL, "A8",
				     text_of(c->name, "padding not zero"));
		}
	}
}

static void test_pointers(int fd)
{
	char *last = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	need(last != MAP_FAILED, "mmap");
	munmap(last + page_size(), page_size());
	for (i = 0; i < ARRAY_SIZE(every_call); i++) {
		const struct every_call *c = &every_call[i];

		expect_errno(fd, c->cmd, NULL, EFAULT, "A8",
			     text_of(c->name, "null pointer"));
		expect_errno(fd, c->cmd, (void *)KERNEL_ADDRESS, EFAULT, "A8",
			     text_of(c->name, "kernel address"));
		expect_errno(fd, c->cmd, last + page_size() - c->size + 4, EFAULT, "A8",
			     text_of(c->name, "runs off its page"));
	}
	munmap(last, page_size());
}

/*
 * The structure can be read and not written: what the call made is undone.
 * A graceful close afterwards succeeds only if nothing is left.
 */
static void test_undeliverable(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_DEFAULT_FLAG);
	__u64 ep = ep_create(fd, ia.ia, pz, evd.evd, evd.evd);
	static char memory[4096];
	void *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kdapl_uapi_ia_open ia2 = ia_args();
	struct kdapl_uapi_pz_create pz2 = { .ia = ia.ia };
	struct kdapl_uapi_evd_create evd2 = {
		.ia = ia.ia, .qlen = 4, .flags = DAT_EVD_SOFTWARE_FLAG };
	struct kdapl_uapi_ep_create ep2 = {
		.ia = ia.ia, .pz = pz, .recv_evd = evd.evd,
		.request_evd = evd.evd, .connect_evd = evd.evd };
	struct kdapl_uapi_lmr_create lmr2 = {
		.ia = ia.ia, .pz = pz, .region = (uintptr_t)memory,
		.length = sizeof(memory), .privileges = DAT_MEM_PRIV_ALL_FLAG };
	struct kdapl_uapi_psp_create psp2 = { .ia = ia.ia, .evd = evd.evd };
	struct kdapl_uapi_rsp_create rsp2 = {
		.ia = ia.ia, .conn_qual = 4321, .ep = ep, .evd = evd.evd };
	struct kdapl_uapi_rmr_create rmr2 = { .pz = pz };
	struct kdapl_uapi_srq_create srq2 = {
		.ia = ia.ia, .pz = pz, .max_recv_dtos = 4, .max_recv_iov = 1 };
	struct kdapl_uapi_evd_poll_fd poll2 = { .evd = evd.evd };
	const struct {
		const char *name;
		unsigned int cmd;
		void *arg;
	} makers[] = {
		{ "IA_OPEN", KDAPL_IOC_IA_OPEN, &ia2 },
		{ "PZ_CREATE", KDAPL_IOC_PZ_CREATE, &pz2 },
		{ "EVD_CREATE", KDAPL_IOC_EVD_CREATE, &evd2 },
		{ "EP_CREATE", KDAPL_IOC_EP_CREATE, &ep2 },
		{ "LMR_CREATE", KDAPL_IOC_LMR_CREATE, &lmr2 },
		{ "RMR_CREATE", KDAPL_IOC_RMR_CREATE, &rmr2 },
		{ "PSP_CREATE_ANY", KDAPL_IOC_PSP_CREATE_ANY, &psp2 },
		{ "RSP_CREATE", KDAPL_IOC_RSP_CREATE, &rsp2 },
		{ "SRQ_CREATE", KDAPL_IOC_SRQ_CREATE, &srq2 },
		{ "EVD_POLL_FD", KDAPL_IOC_EVD_POLL_FD, &poll2 },
	};
	int before = dup(fd), after;
	unsigned int i;

	close(before);
	need(page != MAP_FAILED, "mmap");
	for (i = 0; i < ARRAY_SIZE(makers); i++) {
		mprotect(page, page_size(), PROT_READ | PROT_WRITE);
		memcpy(page, makers[i].arg, _IOC_SIZE(makers[i].cmd));
		mprotect(page, page_size(), PROT_READ);
		expect_errno(fd, makers[i].cmd, page, EFAULT, "A8",
			     text_of(makers[i].name, "result undeliverable"));
	}
	munmap(page, page_size());
	after = dup(fd);
	close(after);
	check(after == before, "A8", "no descriptor is left", after);

	check(!handle_call(fd, KDAPL_IOC_EP_FREE, ep), "A8", "free the EP", 0);
	check(!handle_call(fd, KDAPL_IOC_EVD_FREE, evd.evd), "A8",
	      "free the EVD that undone objects used", 0);
	check(!handle_call(fd, KDAPL_IOC_PZ_FREE, pz), "A8",
	      "free the PZ that undone objects used", 0);
	check(!ia_close(fd, ia.ia, DAT_CLOSE_GRACEFUL_FLAG), "I12",
	      "graceful close: no undone object is left", 0);
}

static void test_handles(int fd)
{
	int fd2 = dev_open();
	struct kdapl_uapi_ia_open ia = ia_open(fd), foreign = ia_open(fd2);
	__u64 freed = pz_create(fd, ia.ia);
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_DEFAULT_FLAG);
	const struct {
		const char *name;
		__u64 handle;
	} bad[] = {
		{ "null handle", 0 }, { "reserved handle 1", 1 },
		{ "reserved handle 2", 2 }, { "all ones", ~0ULL },
		{ "forged generation", ia.ia ^ (1ULL << 33) },
		{ "forged index", ia.ia ^ 0x40000000 },
		{ "an address", (uintptr_t)&ia }, { "freed handle", freed },
		{ "kernel address", KERNEL_ADDRESS },
	};
	unsigned int i, j;

	handle_call(fd, KDAPL_IOC_PZ_FREE, freed);
	for (i = 0; i < ARRAY_SIZE(every_call); i++) {
		const struct every_call *c = &every_call[i];
		__u32 want = ERR(DAT_INVALID_HANDLE, c->subtype);
		__u64 arg[256] = {};

		if (!c->handle)
			continue;
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			memset(arg, 0, sizeof(arg));
			arg[c->handle / 8] = bad[j].handle;
			expect_ret(fd, c->cmd, arg, want, "E5",
				   text_of(c->name, bad[j].name));
		}
		/* of another file: all kinds would do for one that takes any */
		memset(arg, 0, sizeof(arg));
		arg[c->handle / 8] = foreign.async_evd ^ 0x10000;
		expect_ret(fd, c->cmd, arg, want, "E5",
			   text_of(c->name, "foreign handle"));
		if (c->subtype == DAT_INVALID_HANDLE1)
			continue;
		memset(arg, 0, sizeof(arg));
		arg[c->handle / 8] = c->subtype == DAT_INVALID_HANDLE_PZ ?
				     evd.evd : pz;
		expect_ret(fd, c->cmd, arg, want, "E5",
			   text_of(c->name, "handle of another type"));
	}
	check(!handle_call(fd, KDAPL_IOC_PZ_FREE, pz), "E2",
	      "the objects are untouched", 0);
	check(!handle_call(fd, KDAPL_IOC_EVD_FREE, evd.evd), "E2",
	      "and can be freed", 0);
	check(handle_call(fd, KDAPL_IOC_EVD_FREE, evd.evd) == IH_EVD, "E5",
	      "once", 0);
	check(!ia_close(fd, ia.ia, DAT_CLOSE_GRACEFUL_FLAG), "I12", "graceful close", 0);
	check(ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG) ==
	      ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA), "I18",
	      "close again", 0);
	close(fd2);
}

static void test_arguments(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd), bad_ia = ia_args();
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd = {
		.ia = ia.ia, .qlen = 8, .flags = 0x2 };
	struct kdapl_uapi_evd_query evd_query = {
		.evd = ia.async_evd, .mask = 0x20 };
	struct kdapl_uapi_pz_query pz_query = { .pz = pz, .mask = 0x2 };
	struct kdapl_uapi_ia_query ia_query = {
		.ia = ia.ia, .ia_mask = 1ULL << 63 };
	struct kdapl_uapi_evd_set_waitable waitable = {
		.evd = ia.async_evd, .waitable = 2 };
	struct kdapl_uapi_ep_create ep = { .ia = ia.ia, .pz = pz, .flags = 2 };
	struct kdapl_uapi_lmr_sync sync = { .ia = ia.ia, .direction = 2 };
	struct kdapl_uapi_ia_list list = { .max = ~0U, .list = KERNEL_ADDRESS };
	struct kdapl_uapi_evd_post_se se = {
		.evd = ia.async_evd, .event_number = DAT_SOFTWARE_EVENT };

	expect_ret(fd, KDAPL_IOC_EVD_CREATE, &evd, ARG(4), "E13", "unknown EVD flag");
	evd.flags = 0;
	expect_ret(fd, KDAPL_IOC_EVD_CREATE, &evd, ARG(4), "E13", "no EVD flag");
	evd.flags = DAT_EVD_SOFTWARE_FLAG;
	evd.qlen = 0;
	expect_ret(fd, KDAPL_IOC_EVD_CREATE, &evd, ARG(2), "E13", "EVD of length 0");
	evd.qlen = -1;
	expect_ret(fd, KDAPL_IOC_EVD_CREATE, &evd, ARG(2), "E13", "negative length");
	evd.qlen = 0x7fffffff;
	expect_ret(fd, KDAPL_IOC_EVD_CREATE, &evd,
		   ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD), "E13",
		   "EVD longer than the device allows");
	expect_ret(fd, KDAPL_IOC_EVD_QUERY, &evd_query, ARG(2), "ev11.1", "unknown mask");
	expect_ret(fd, KDAPL_IOC_PZ_QUERY, &pz_query, ARG(2), "ev11", "unknown PZ mask");
	expect_ret(fd, KDAPL_IOC_IA_QUERY, &ia_query, ARG(3), "I20", "unknown IA mask");
	ia_query.ia_mask = 0;
	ia_query.provider_mask = 1ULL << 63;
	expect_ret(fd, KDAPL_IOC_IA_QUERY, &ia_query, ARG(5), "I20",
		   "unknown provider mask");
	expect_errno(fd, KDAPL_IOC_EVD_SET_WAITABLE, &waitable, EINVAL, "A8",
		     "waitable neither 0 nor 1");
	expect_errno(fd, KDAPL_IOC_EP_CREATE, &ep, EINVAL, "A8", "unknown EP flag");
	expect_errno(fd, KDAPL_IOC_LMR_SYNC, &sync, EINVAL, "A8", "unknown direction");
	sync.direction = 0;
	sync.number = 1ULL << 62;
	expect_errno(fd, KDAPL_IOC_LMR_SYNC, &sync, EINVAL, "A8", "huge number to sync");
	sync.number = 2;
	sync.segments = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_LMR_SYNC, &sync, EFAULT, "A8",
		     "segments at a kernel address");
	sync.segments = 0;
	expect_ret(fd, KDAPL_IOC_LMR_SYNC, &sync, ARG(2), "mt:M69", "null segments");
	check(ia_close(fd, ia.ia, 2) == ARG(2), "I11", "unknown close flag", 0);
	expect_errno(fd, KDAPL_IOC_IA_LIST, &list, EFAULT, "A8",
		     "list to a kernel address");
	list.max = 0;
	expect_ret(fd, KDAPL_IOC_IA_LIST, &list, ARG(1), "G13", "list without room");
	check(list.number >= 1, "G13", "tells how many there are", list.number);
	expect_ret(fd, KDAPL_IOC_EVD_POST_SE, &se, ARG(1), "E17",
		   "software event to an EVD not made for it");

	memset(bad_ia.name, 'x', sizeof(bad_ia.name));
	expect_ret(fd, KDAPL_IOC_IA_OPEN, &bad_ia, ARG(1), "I2", "unterminated name");
	memset(bad_ia.name, 0, sizeof(bad_ia.name));
	expect_ret(fd, KDAPL_IOC_IA_OPEN, &bad_ia, ARG(1), "I2", "empty name");
	strcpy(bad_ia.name, "no such adapter");
	expect_ret(fd, KDAPL_IOC_IA_OPEN, &bad_ia,
		   ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED), "G9",
		   "unknown name");
	bad_ia = ia_args();
	bad_ia.async_qlen = 0;
	expect_ret(fd, KDAPL_IOC_IA_OPEN, &bad_ia, ARG(2), "I4", "async EVD of length 0");
	bad_ia = ia_args();
	bad_ia.async_evd = pz;
	expect_ret(fd, KDAPL_IOC_IA_OPEN, &bad_ia,
		   ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC), "I5",
		   "a PZ for an async EVD");
	check(handle_call(fd, KDAPL_IOC_EVD_FREE, ia.async_evd) ==
	      ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE), "E58",
	      "free the async EVD of an IA", 0);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void test_memory(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	__u64 pz = pz_create(fd, ia.ia);
	char *page = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *readonly = mmap(NULL, page_size(), PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct {
		const char *name;
		__u64 address, length;
		__u32 privileges, mem_type;
	} bad[] = {
		{ "unmapped", (uintptr_t)page + page_size(), page_size(), 0x33, 0 },
		{ "half unmapped", (uintptr_t)page, 2 * page_size(), 0x33, 0 },
		{ "null", 0, page_size(), 0x33, 0 },
		{ "kernel address", KERNEL_ADDRESS, page_size(), 0x33, 0 },
		{ "length 0", (uintptr_t)page, 0, 0x33, 0 },
		{ "wraps", (uintptr_t)page, ~0ULL, 0x33, 0 },
		{ "huge", (uintptr_t)page, 1ULL << 46, 0x33, 0 },
		{ "unknown privilege", (uintptr_t)page, page_size(), 0x44, 0 },
		{ "read-only for writing", (uintptr_t)readonly, page_size(), 0x33, 0 },
		{ "unknown type", (uintptr_t)page, page_size(), 0x33, 99 },
		{ "physical", 0x100000, page_size(), 0x33, 0x10 },
		{ "of a forged LMR", 0x1234, page_size(), 0x33, DAT_MEM_TYPE_LMR },
		{ "of a PZ as LMR", pz, page_size(), 0x33, DAT_MEM_TYPE_LMR },
	};
	unsigned int i;

	need(page != MAP_FAILED && readonly != MAP_FAILED, "mmap");
	munmap(page + page_size(), page_size());
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kdapl_uapi_lmr_create arg = {
			.ia = ia.ia, .pz = pz, .region = bad[i].address,
			.length = bad[i].length, .privileges = bad[i].privileges,
			.mem_type = bad[i].mem_type };
		int err = call(fd, KDAPL_IOC_LMR_CREATE, &arg);

		check(!err && arg.ret & DAT_CLASS_ERROR, "M",
		      text_of("LMR refused", bad[i].name), err ? -err : (long)arg.ret);
	}
	/* Ring data cannot become writable through a registration either. */
	struct kdapl_uapi_lmr_create arg = {
		.ia = ia.ia, .pz = pz, .length = page_size(), .privileges = 0x33 };
	struct map map = ring_map(fd, &ia.ring);

	arg.region = (uintptr_t)map.header;
	call(fd, KDAPL_IOC_LMR_CREATE, &arg);
	check(arg.ret & DAT_CLASS_ERROR, "A8", "ring data as a writable LMR", arg.ret);
	ring_unmap(&map);
	check(!handle_call(fd, KDAPL_IOC_PZ_FREE, pz), "E2", "no LMR is left", 0);
	check(!ia_close(fd, ia.ia, DAT_CLOSE_GRACEFUL_FLAG), "I12", "graceful close", 0);
	munmap(page, page_size());
	munmap(readonly, page_size());
}

/* Each field of a bind, and what a query shows of it. */
static void test_rmr(int fd)
{
	static char memory[8192];
	int fd2 = dev_open();
	struct kdapl_uapi_ia_open ia = ia_open(fd), foreign = ia_open(fd2);
	__u64 pz = pz_create(fd, ia.ia), pz2 = pz_create(fd2, foreign.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_DEFAULT_FLAG);
	struct kdapl_uapi_rmr_create rmr = { .pz = pz };
	struct kdapl_uapi_rmr_query query = { .mask = DAT_RMR_FIELD_ALL };
	struct kdapl_uapi_lmr_create lmr = {
		.ia = ia.ia, .pz = pz, .region = (uintptr_t)memory,
		.length = sizeof(memory), .privileges = DAT_MEM_PRIV_ALL_FLAG };
	struct kdapl_uapi_lmr_create lmr2 = lmr;
	struct kdapl_uapi_rmr_bind good, bind;
	__u32 unconnected = ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);

	lmr2.ia = foreign.ia;
	lmr2.pz = pz2;
	rmr.flags = KDAPL_RMR_REVOCABLE << 1;
	expect_errno(fd, KDAPL_IOC_RMR_CREATE, &rmr, EINVAL, "A8", "a flag of an RMR that is none");
	rmr.flags = KDAPL_RMR_REVOCABLE;
	need(!call(fd, KDAPL_IOC_RMR_CREATE, &rmr) && !rmr.ret, "create an RMR");
	need(!call(fd, KDAPL_IOC_LMR_CREATE, &lmr) && !lmr.ret, "create an LMR");
	need(!call(fd2, KDAPL_IOC_LMR_CREATE, &lmr2) && !lmr2.ret, "and another");

	query.rmr = rmr.rmr;
	query.segment.unused = ~0U;
	query.rmr_context = ~0U;
	expect_ret(fd, KDAPL_IOC_RMR_QUERY, &query, DAT_SUCCESS, "mt:M41", "query an RMR");
	check(query.ia == ia.ia && query.pz == pz && !query.segment.lmr_context &&
	      !query.segment.unused && !query.segment.address &&
	      !query.segment.length && !query.privileges && !query.rmr_context,
	      "mt:M41", "an unbound RMR shows nothing", query.rmr_context);
	query.mask = 0x20;
	expect_ret(fd, KDAPL_IOC_RMR_QUERY, &query, ARG(2), "mt:M41", "unknown RMR mask");
	check(handle_call(fd, KDAPL_IOC_PZ_FREE, pz) ==
	      ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE), "mt:M3",
	      "free a PZ with an RMR", 0);

	good = (struct kdapl_uapi_rmr_bind) {
		.rmr = rmr.rmr, .ep = ep_create(fd, ia.ia, pz, evd.evd, evd.evd),
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG,
		.segment = { .lmr_context = lmr.lmr_context,
			     .address = (uintptr_t)memory, .length = 4096 },
	};
	bind = good;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, unconnected, "mt:M32",
		   "a good bind, on an unconnected EP");
	bind = good;
	bind.segment.unused = 0x80000000;
	expect_errno(fd, KDAPL_IOC_RMR_BIND, &bind, EINVAL, "A8",
		     "padding of the segment not zero");
	bind = good;
	bind.ep = 0;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind,
		   ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), "E5", "no EP");
	bind.ep = pz;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind,
		   ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), "E5",
		   "a PZ for an EP");
	bind = good;
	bind.segment.lmr_context = 0;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M29", "no LMR");
	bind.segment.lmr_context = lmr.lmr_context ^ 0x10000;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M29", "a forged LMR");
	if (lmr2.lmr_context != lmr.lmr_context) {
		bind.segment.lmr_context = lmr2.lmr_context;
		expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M14",
			   "an LMR of another file");
	}
	bind = good;
	bind.segment.address = KERNEL_ADDRESS;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M29", "kernel memory");
	bind = good;
	bind.segment.address--;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M29", "a byte before the LMR");
	bind = good;
	bind.segment.length = sizeof(memory) + 1;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M29", "a byte beyond the LMR");
	bind.segment.length = ~0ULL;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(2), "mt:M29", "a length that wraps");
	bind = good;
	bind.privileges = 0x100;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(3), "mt:M31", "unknown privilege");
	bind.privileges = ~0U;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(3), "mt:M31", "every privilege");
	bind = good;
	bind.flags = 0x40;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(6), "mt:M38", "unknown flag");
	bind.flags = ~0U;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, ARG(6), "mt:M38", "every flag");
	bind = good;
	bind.rmr_context = ~0U;
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &bind, unconnected, "A8",
		   "what is out is not looked at");
	check(!handle_call(fd, KDAPL_IOC_LMR_FREE, lmr.lmr), "mt:M22",
	      "the LMR is in nobody's use", 0);
	check(!handle_call(fd, KDAPL_IOC_RMR_FREE, rmr.rmr), "mt:M43", "free the RMR", 0);
	expect_ret(fd, KDAPL_IOC_RMR_BIND, &good,
		   ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR), "E5",
		   "bind a freed RMR");
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
	close(fd2);
}

/* What an extension has besides is behind another pointer. */
static void test_extension(int fd, __u64 ep)
{
	const DAT_RETURN unconnected = ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
	struct kdapl_uapi_dto_more more = { .operand = ~0U };
	struct kdapl_uapi_dto dto = { .op = KDAPL_OP_RDMA_WRITE_IMMED };
	struct kdapl_uapi_segment segment = { .lmr_context = ~0U, .length = 8 };
	struct kdapl_uapi_post post = { .ep = ep, .dtos = (uintptr_t)&dto, .count = 1 };

	expect_errno(fd, KDAPL_IOC_POST, &post, EFAULT, "A8", "an extension's rest at null");
	dto.segments = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_POST, &post, EFAULT, "A8", "its rest in the kernel");
	dto.segments = (uintptr_t)&more;
	expect_ret(fd, KDAPL_IOC_POST, &post, unconnected, "X1", "on an unconnected EP");
	more.operand++;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "33 bits of immediate data");
	more.operand = 0;
	more.compare = 1;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "immediate data to be compared");
	dto.op = KDAPL_OP_FETCH_ADD;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "an addition to be compared");
	more.compare = 0;
	dto.num_segments = 1;
	more.segments = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_POST, &post, EFAULT, "A8", "its segments in the kernel");
	more.segments = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(3), "X1", "its segments at null");
	dto.op = KDAPL_OP_SEND_INVALIDATE;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(3), "V1", "its segments at null");
	more.operand = 1ULL << 32;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "33 bits of a key");
	more.operand = ~0U;
	dto.rmr_context = 1;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "a key and a remote segment");
	dto.rmr_context = 0;
	dto.target_length = 1;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "a remote segment of a send");
	dto.target_length = 0;
	dto.num_segments = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post, unconnected, "V1", "on an unconnected EP");
	dto.op = KDAPL_OP_RDMA_READ_TO_RMR;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "a read with an operand");
	more.operand = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(2), "V5", "a read to no RMR");
	dto.num_segments = 1;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(3), "V5", "a read to a segment at null");
	more.segments = (uintptr_t)&segment;
	expect_ret(fd, KDAPL_IOC_POST, &post,
		   ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE), "V5", "a key of no RMR");
	segment.lmr_context = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post,
		   ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE), "V5", "the key 0");
	segment.length = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post, unconnected, "V5", "a read of nothing");
	dto.op = KDAPL_OP_RDMA_READ_TO_RMR + 1;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "the operation behind the last");
	check(!post.done, "mt:T18", "none done", post.done);
}

static void test_post(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 64, DAT_EVD_DEFAULT_FLAG);
	__u64 ep = ep_create(fd, ia.ia, pz, evd.evd, evd.evd);
	struct kdapl_uapi_dto dtos[4] = {
		{ .op = KDAPL_OP_RECV, .cookie = 1 },
		{ .op = KDAPL_OP_RECV, .cookie = 2 },
		{ .op = KDAPL_OP_RECV, .cookie = 3 },
	};
	struct kdapl_uapi_post post = {
		.ep = ep, .dtos = (uintptr_t)dtos, .count = 257 };
	struct kdapl_uapi_ep_connect connect = {
		.ep = ep, .private_data = (uintptr_t)dtos,
		.private_data_size = 0x7fffffff, .conn_qual = 5,
		.address = { .len = 29 } };
	struct sockaddr_in sin = { .sin_family = AF_INET };

	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "257 DTOs");
	post.count = ~0U;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "4 G DTOs");
	post.count = 1;
	post.dtos = 0;
	expect_errno(fd, KDAPL_IOC_POST, &post, EFAULT, "A8", "DTOs at null");
	post.dtos = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_POST, &post, EFAULT, "A8", "DTOs in the kernel");
	post.count = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post, DAT_SUCCESS, "mt:T18", "no DTO at all");

	post.dtos = (uintptr_t)dtos;
	post.count = 3;
	dtos[1].op = 99;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8", "unknown operation");
	check(post.done == 1, "mt:T18", "the one before it was posted", post.done);
	dtos[1].op = KDAPL_OP_RECV;
	dtos[1].rmr_context = 1;
	expect_errno(fd, KDAPL_IOC_POST, &post, EINVAL, "A8",
		     "a receive with a remote triplet");
	dtos[1].rmr_context = 0;
	dtos[1].num_segments = 1;
	dtos[1].segments = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_POST, &post, EFAULT, "A8",
		     "segments at a kernel address");
	dtos[1].segments = 0;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(3), "mt:T1", "null segments");
	check(post.done == 1, "mt:T18", "the one before it was posted", post.done);
	dtos[1].segments = (uintptr_t)dtos;
	dtos[1].num_segments = 0x7fffffff;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(2), "mt:T1", "2 G segments");
	dtos[1].num_segments = -1;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(2), "mt:T1", "-1 segments");
	dtos[1].num_segments = 0;
	dtos[1].flags = 0x80;
	expect_ret(fd, KDAPL_IOC_POST, &post, ARG(5), "mt:T19", "unknown flag");
	dtos[1].flags = 0;
	dtos[1].op = KDAPL_OP_SEND;
	expect_ret(fd, KDAPL_IOC_POST, &post,
		   ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED), "mt:T9",
		   "a send on an unconnected EP");
	check(post.done == 1, "mt:T18", "done says which", post.done);
	post.ep = pz;
	expect_ret(fd, KDAPL_IOC_POST, &post,
		   ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), "E5",
		   "posts to a PZ");
	check(!post.done, "mt:T18", "none done", post.done);
	test_extension(fd, ep);

	expect_errno(fd, KDAPL_IOC_EP_CONNECT, &connect, EINVAL, "A8",
		     "address longer than any");
	connect.address.len = sizeof(sin);
	memcpy(connect.address.sa, &sin, sizeof(sin));
	call(fd, KDAPL_IOC_EP_CONNECT, &connect);
	check(connect.ret & DAT_CLASS_ERROR, "A8", "2 G of private data", connect.ret);
	connect.private_data_size = -1;
	call(fd, KDAPL_IOC_EP_CONNECT, &connect);
	check(connect.ret & DAT_CLASS_ERROR, "A8", "-1 bytes of private data",
	      connect.ret);
	connect.private_data_size = 16;
	connect.private_data = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_EP_CONNECT, &connect, EFAULT, "A8",
		     "private data in the kernel");
	check(!handle_call(fd, KDAPL_IOC_EP_FREE, ep), "F1", "free the EP", 0);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- rings ---------------------------------------------------------------------------- */

/* The same for a shared receive queue, where the only operation is a receive. */
static void test_srq(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_srq_create srq = {
		.ia = ia.ia, .pz = pz_create(fd, ia.ia),
		.max_recv_dtos = 5, .max_recv_iov = 1 };
	struct kdapl_uapi_dto dtos[3] = {
		{ .op = KDAPL_OP_RECV, .cookie = 1 },
		{ .op = KDAPL_OP_RECV, .cookie = 2 },
		{ .op = KDAPL_OP_RECV, .cookie = 3 },
	};
	struct kdapl_uapi_post post = { .dtos = (uintptr_t)dtos, .count = 257 };
	struct kdapl_uapi_srq_query query = { 0 };
	struct kdapl_uapi_srq_tell tell = { .what = KDAPL_SRQ_TELL_ERROR };

	need(!call(fd, KDAPL_IOC_SRQ_CREATE, &srq) && !srq.ret, "create an SRQ");
	post.ep = srq.srq;
	expect_errno(fd, KDAPL_IOC_SRQ_POST, &post, EINVAL, "A8", "257 receives");
	post.count = 3;
	post.dtos = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_SRQ_POST, &post, EFAULT, "A8", "receives in the kernel");
	post.dtos = (uintptr_t)dtos;
	dtos[1].op = KDAPL_OP_SEND;
	expect_errno(fd, KDAPL_IOC_SRQ_POST, &post, EINVAL, "A8", "a send to an SRQ");
	check(post.done == 1, "mt:T18", "the one before it was posted", post.done);
	dtos[1].op = KDAPL_OP_RECV;
	dtos[1].flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	expect_errno(fd, KDAPL_IOC_SRQ_POST, &post, EINVAL, "mt:M58",
		     "a receive of an SRQ with flags");
	dtos[1].flags = 0;
	dtos[1].num_segments = 1;
	dtos[1].segments = KERNEL_ADDRESS;
	expect_errno(fd, KDAPL_IOC_SRQ_POST, &post, EFAULT, "A8",
		     "an SRQ's segments at a kernel address");
	dtos[1].segments = (uintptr_t)dtos;
	dtos[1].num_segments = 0x7fffffff;
	expect_ret(fd, KDAPL_IOC_SRQ_POST, &post, ARG(2), "mt:T57", "2 G segments");
	dtos[1].num_segments = -1;
	expect_ret(fd, KDAPL_IOC_SRQ_POST, &post, ARG(2), "mt:T57", "-1 segments");
	/* Each of these five has posted the first. */
	query.srq = srq.srq;
	expect_ret(fd, KDAPL_IOC_SRQ_QUERY, &query, DAT_SUCCESS, "mt:M57", "query");
	check(query.outstanding == 5, "mt:M58", "what was posted is outstanding",
	      query.outstanding);
	tell.srq = srq.srq;
	expect_ret(fd, KDAPL_IOC_SRQ_TELL, &tell, ERR(DAT_INVALID_STATE, 0), "A8",
		   "nothing is told of the kernel's queues");
	tell.what = KDAPL_SRQ_TELL_ERROR + 1;
	expect_errno(fd, KDAPL_IOC_SRQ_TELL, &tell, EINVAL, "A8", "no such news");
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void test_mappings(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 300, DAT_EVD_SOFTWARE_FLAG);
	struct kdapl_uapi_ring *r = &evd.ring;
	int rdonly = open(KDAPL_DEVICE, O_RDONLY), status;
	struct map map;
	void *moved;
	pid_t pid;

	expect_no_map(rdonly, 0, page_size(), PROT_READ, MAP_SHARED, EINVAL, "no board");
	expect_no_map(fd, 1ULL << 40, page_size(), PROT_READ, MAP_SHARED, EINVAL,
		      "an offset without a ring");
	expect_no_map(fd, r->data_offset + 2 * r->index_size, page_size(), PROT_READ,
		      MAP_SHARED, EINVAL, "inside a ring");
	expect_no_map(fd, r->data_offset, r->data_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED, EPERM, "data writable");
	expect_no_map(fd, r->data_offset, r->data_size, PROT_READ | PROT_EXEC,
		      MAP_SHARED, EPERM, "data executable");
	expect_no_map(fd, r->data_offset, r->data_size, PROT_READ, MAP_PRIVATE,
		      EINVAL, "data private");
	expect_no_map(fd, r->data_offset, r->data_size + page_size(), PROT_READ,
		      MAP_SHARED, EINVAL, "more than the data");
	expect_no_map(fd, r->data_offset, page_size(), PROT_READ, MAP_SHARED, EINVAL,
		      "less than the data");
	expect_no_map(fd, r->index_offset, 2 * r->index_size,
		      PROT_READ | PROT_WRITE, MAP_SHARED, EINVAL,
		      "more than the index page");
	expect_no_map(fd, r->index_offset, r->index_size, PROT_READ | PROT_EXEC,
		      MAP_SHARED, EPERM, "index executable");
	expect_no_map(rdonly, r->data_offset, r->data_size, PROT_READ, MAP_SHARED,
		      EINVAL, "another file's ring");
	close(rdonly);

	map = ring_map(fd, r);
	check(mprotect((void *)map.header, r->data_size, PROT_READ | PROT_WRITE) < 0 &&
	      errno == EACCES, "A8", "data made writable later", errno);
	check(mprotect((void *)map.header, r->data_size, PROT_READ | PROT_EXEC) < 0 &&
	      errno == EACCES, "A8", "data made executable later", errno);
	moved = mremap((void *)map.header, r->data_size, r->data_size + page_size(),
		       MREMAP_MAYMOVE);
	check(moved == MAP_FAILED, "A8", "data stretched", errno);
	check(map.header->nr_entries == r->nr_entries && r->nr_entries >= 300 &&
	      !(r->nr_entries & (r->nr_entries - 1)), "A8",
	      "entries: a power of two, at least the length", r->nr_entries);
	post_se(fd, evd.evd, 77);
	check(map.header->producer == 1 &&
	      map.events[0].event_number == DAT_SOFTWARE_EVENT &&
	      map.events[0].evd == evd.evd && map.events[0].software.pointer == 77 &&
	      !map.events[0].pad, "A8", "an event is there after the post",
	      map.header->producer);

	/* Two halves of it unmapped one by one, the end first. */
	munmap((char *)map.header + page_size(), r->data_size - page_size());
	check(map.header->producer == 1, "A8", "half a mapping lives", 0);
	madvise((void *)map.header, page_size(), MADV_DONTNEED);
	check(map.header->producer == 1, "A8", "and comes back when dropped", 0);

	pid = fork();
	if (!pid) {
		volatile __u32 seen = map.header->producer;

		_exit(seen != 0);
	}
	waitpid(pid, &status, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "A8",
	      "a forked child has no ring", status);
	check(map.header->producer == 1, "A8", "its parent still has", 0);

	check(!handle_call(fd, KDAPL_IOC_EVD_FREE, evd.evd), "E60", "EVD freed", 0);
	check(map.header->producer == 1 && map.header->flags & KDAPL_RING_DEAD, "A8",
	      "its mapping lives and says so", map.header->flags);
	map.index->consumer = 1;
	expect_no_map(fd, r->data_offset, r->data_size, PROT_READ, MAP_SHARED,
		      EINVAL, "a freed EVD's ring");
	ring_unmap(&map);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void test_forged_index(int fd)
{
	static const __u32 forged[] = {
		1, 5, 63, 64, 65, 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff };
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_SOFTWARE_FLAG);
	struct map map = ring_map(fd, &evd.ring);
	unsigned int i, n;
	__u32 queued;

	for (i = 0; i < ARRAY_SIZE(forged); i++) {
		for (n = 0; n < 3; n++)
			post_se(fd, evd.evd, n);
		map.index->consumer = map.header->producer - forged[i];
		for (n = 0; n < 200; n++)
			post_se(fd, evd.evd, n);
		evd_wait(fd, evd.evd, 1, 0, &queued);
		check(queued <= evd.ring.nr_entries, "A8",
		      "a forged index: never more than a full ring", queued);
		for (n = 0; n < 1000 && dequeue(fd, evd.evd) >= 0; n++)
			;
		check(n < 1000 && dequeue(fd, evd.evd) == -1, "A8",
		      "and it drains", n);
		check(!post_se(fd, evd.evd, 42) && dequeue(fd, evd.evd) == 42, "A8",
		      "and works again", 0);
	}
	ring_unmap(&map);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void test_queue(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_SOFTWARE_FLAG);
	struct kdapl_uapi_evd_query query = { .evd = evd.evd, .mask = 0x1f };
	struct map map = ring_map(fd, &evd.ring);
	int i, qlen;

	expect_ret(fd, KDAPL_IOC_EVD_QUERY, &query, DAT_SUCCESS, "E12", "query");
	qlen = query.qlen;
	check(qlen >= 8 && query.flags == DAT_EVD_SOFTWARE_FLAG &&
	      query.ia == ia.ia, "E12", "length, flags, IA", qlen);
	check(query.state == (DAT_EVD_STATE_WAITABLE | DAT_EVD_STATE_CONFIG_THRESHOLD),
	      "E22", "state", query.state);
	for (i = 0; i < qlen + 10 && !post_se(fd, evd.evd, i); i++)
		;
	check(i == qlen, "E63", "full with exactly its length", i);
	check(post_se(fd, evd.evd, 0) == ERR(DAT_QUEUE_FULL, 0), "E51", "QUEUE_FULL", 0);
	check(ring_take(&map) == 0 && !post_se(fd, evd.evd, qlen) &&
	      post_se(fd, evd.evd, 0) == ERR(DAT_QUEUE_FULL, 0), "E51",
	      "room for one after one was taken", 0);
	for (i = 1; i <= qlen; i++)
		if ((i & 1 ? ring_take(&map) : dequeue(fd, evd.evd)) != i)
			break;
	check(i == qlen + 1, "E43", "order, taken in both ways", i);
	check(dequeue(fd, evd.evd) == -1, "E41", "empty", 0);
	for (i = 0; i < 100000; i++)
		if (post_se(fd, evd.evd, i) || ring_take(&map) != i)
			break;
	check(i == 100000, "E43", "100000 events through the ring", i);
	check(handle_call(fd, KDAPL_IOC_EVD_REFILL, evd.evd) == DAT_SUCCESS, "A8",
	      "refill of an empty EVD", 0);
	ring_unmap(&map);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void test_resize(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_SOFTWARE_FLAG);
	struct kdapl_uapi_evd_resize resize = { .evd = evd.evd };
	struct map old = ring_map(fd, &evd.ring), map;
	int i;

	for (i = 0; i < 8; i++)
		post_se(fd, evd.evd, i);
	resize.qlen = 7;
	expect_ret(fd, KDAPL_IOC_EVD_RESIZE, &resize,
		   ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE), "E54",
		   "shorter than what is queued");
	resize.qlen = 0;
	expect_ret(fd, KDAPL_IOC_EVD_RESIZE, &resize, ARG(2), "E53", "length 0");
	resize.qlen = 0x7fffffff;
	call(fd, KDAPL_IOC_EVD_RESIZE, &resize);
	check(resize.ret & DAT_CLASS_ERROR, "E53", "length 2 G", resize.ret);
	ring_take(&old);
	ring_take(&old);
	resize.qlen = 1000;
	expect_ret(fd, KDAPL_IOC_EVD_RESIZE, &resize, DAT_SUCCESS, "E53", "to 1000");
	check(resize.ring.data_offset != evd.ring.data_offset &&
	      resize.ring.nr_entries >= 1000, "A8", "a new ring", resize.ring.nr_entries);
	check(old.header->flags & KDAPL_RING_MOVED && old.header->producer == 8, "A8",
	      "the old one says that it moved", old.header->flags);
	map = ring_map(fd, &resize.ring);
	check(!map.index->consumer && map.header->producer == 6, "E49",
	      "six events moved", map.header->producer);
	for (i = 8; i < 1002 && !post_se(fd, evd.evd, i); i++)
		;
	check(i == 1002, "E63", "room for its new length", i);
	for (i = 2; i < 1002; i++)
		if (ring_take(&map) != i)
			break;
	check(i == 1002, "E49", "none lost, doubled, reordered", i);
	check(old.events[2].software.pointer == 2, "A8", "the old mapping is untouched", 0);
	ring_unmap(&old);
	ring_unmap(&map);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* Takes as the protocol says: MORE asks for a refill. */
static bool ring_take_event(int fd, __u64 evd, struct map *map,
			    struct kdapl_uapi_event *event)
{
	__u32 consumer = map->index->consumer;

	if (consumer == __atomic_load_n(&map->header->producer, __ATOMIC_ACQUIRE)) {
		if (!(__atomic_load_n(&map->header->flags, __ATOMIC_ACQUIRE) &
		      KDAPL_RING_MORE))
			return false;
		handle_call(fd, KDAPL_IOC_EVD_REFILL, evd);
		if (consumer == __atomic_load_n(&map->header->producer,
						__ATOMIC_ACQUIRE))
			return false;
	}
	*event = map->events[consumer & (map->ring.nr_entries - 1)];
	__atomic_store_n(&map->index->consumer, consumer + 1, __ATOMIC_RELEASE);
	return true;
}

/* The same, while they still come. */
static bool ring_await_event(int fd, __u64 evd, struct map *map,
			     struct kdapl_uapi_event *event)
{
	long end = now_ms() + LONG / 1000;

	while (!ring_take_event(fd, evd, map, event)) {
		if (now_ms() > end)
			return false;
		usleep(1000);
	}
	return true;
}

/*
 * More completions than the ring has room for: receives that are flushed when
 * the peer refuses.  What does not fit waits in the kernel, in order.
 */
static void test_more(int fd)
{
	enum { RECEIVES = 200 };
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 4, DAT_EVD_DEFAULT_FLAG);
	struct kdapl_uapi_ia_query query = { .ia = ia.ia, .ia_mask = 0x40 };
	struct kdapl_uapi_ep_create ep = {
		.ia = ia.ia, .pz = pz, .recv_evd = evd.evd,
		.request_evd = evd.evd, .connect_evd = evd.evd };
	struct kdapl_uapi_ep_param param = { .mask = DAT_EP_FIELD_ALL };
	struct kdapl_uapi_dto dtos[RECEIVES] = {};
	struct kdapl_uapi_post post = {
		.dtos = (uintptr_t)dtos, .count = RECEIVES };
	struct kdapl_uapi_ep_connect connect = { .timeout = LONG,
						 .conn_qual = 9 };
	struct map map = ring_map(fd, &evd.ring);
	struct kdapl_uapi_event event;
	long end = now_ms() + LONG / 1000;
	int i;

	/* Default attributes, with more receives. */
	param.ep = ep_create(fd, ia.ia, pz, evd.evd, evd.evd);
	need(!call(fd, KDAPL_IOC_EP_QUERY, &param) && !param.ret, "query an EP");
	handle_call(fd, KDAPL_IOC_EP_FREE, param.ep);
	ep.flags = KDAPL_EP_HAS_ATTR;
	ep.attr = param.attr;
	ep.attr.max_recv_dtos = RECEIVES;
	need(!call(fd, KDAPL_IOC_EP_CREATE, &ep) && !ep.ret, "create a deep EP");
	need(!call(fd, KDAPL_IOC_IA_QUERY, &query) && !query.ret, "query the IA");

	for (i = 0; i < RECEIVES; i++)
		dtos[i] = (struct kdapl_uapi_dto) { .op = KDAPL_OP_RECV, .cookie = i };
	post.ep = ep.ep;
	expect_ret(fd, KDAPL_IOC_POST, &post, DAT_SUCCESS, "mt:T18", "200 DTOs in a call");
	check(post.done == RECEIVES, "mt:T18", "all of them", post.done);
	connect.ep = ep.ep;
	connect.address = query.ia_attr.address;
	expect_ret(fd, KDAPL_IOC_EP_CONNECT, &connect, DAT_SUCCESS, "C",
		   "connect to where nobody listens");
	check(!evd_wait(fd, evd.evd, 4, LONG, NULL), "E30", "events come", 0);
	while (!(map.header->flags & KDAPL_RING_MORE) && now_ms() < end)
		usleep(1000);
	check(map.header->producer == map.ring.nr_entries &&
	      map.header->flags & KDAPL_RING_MORE, "A8", "the ring is full and says MORE",
	      map.header->producer);
	for (i = 0; i < RECEIVES; i++)
		if (!ring_await_event(fd, evd.evd, &map, &event) ||
		    event.event_number != DAT_DTO_COMPLETION_EVENT ||
		    event.dto.cookie != (__u64)i || event.dto.ep != ep.ep ||
		    event.dto.status != DAT_DTO_ERR_FLUSHED)
			break;
	check(i == RECEIVES, "E43", "200 flushed receives, in order", i);
	check(ring_await_event(fd, evd.evd, &map, &event) &&
	      event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED &&
	      event.connect.ep == ep.ep && !event.connect.private_data_size, "E46",
	      "then the connection event", event.event_number);
	check(!ring_take_event(fd, evd.evd, &map, &event) &&
	      !(map.header->flags & KDAPL_RING_MORE), "A8", "then nothing, and no MORE",
	      map.header->flags);
	ring_unmap(&map);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- waiting --------------------------------------------------------------------------- */

struct waiter {
	int fd, threshold;
	__u64 evd;
	__u32 timeout, ret, queued;
	pthread_t thread;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = evd_wait(w->fd, w->evd, w->threshold, w->timeout, &w->queued);
	return NULL;
}

/* Returns when the thread waits: a resize to the present length tells. */
static void waiter_start(struct waiter *w)
{
	struct kdapl_uapi_evd_resize resize = { .evd = w->evd, .qlen = 8 };
	int i;

	pthread_create(&w->thread, NULL, waiter_main, w);
	for (i = 0; i < 1000; i++) {
		usleep(10000);
		if (!call(w->fd, KDAPL_IOC_EVD_RESIZE, &resize) &&
		    DAT_GET_SUBTYPE(resize.ret) == DAT_INVALID_STATE_EVD_WAITER)
			return;
	}
}

static __u32 waiter_end(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	return w->ret;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void test_wait(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_SOFTWARE_FLAG);
	struct waiter w = { .fd = fd, .evd = evd.evd, .threshold = 3,
			    .timeout = LONG };
	struct kdapl_uapi_evd_set_waitable waitable = { .evd = evd.evd };
	struct kdapl_uapi_evd_resize resize = { .evd = evd.evd, .qlen = 100 };
	struct kdapl_uapi_evd_wait raw = { .evd = evd.evd, .threshold = 1,
					   .timeout = 5, .deadline = ~0ULL };
	struct sigaction sa = { .sa_handler = on_signal };
	__u32 waiting = ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER), queued = 0;
	__u32 unwaitable = ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	__u32 expired = ERR(DAT_TIMEOUT_EXPIRED, 0);
	long start, anew;
	pid_t pid;
	int status;

	check(evd_wait(fd, evd.evd, 0, 0, NULL) == ARG(3), "E31", "threshold 0", 0);
	check(evd_wait(fd, evd.evd, -1, 0, NULL) == ARG(3), "E31", "threshold -1", 0);
	check(evd_wait(fd, evd.evd, 9, 0, NULL) == ARG(3), "E31",
	      "threshold above the length", 0);
	check(evd_wait(fd, evd.evd, 1, 0, &queued) == expired && !queued, "E33",
	      "timeout 0 on an empty EVD", queued);
	start = now_ms();
	check(evd_wait(fd, evd.evd, 1, 300000, NULL) == expired &&
	      now_ms() - start >= 300, "E32", "timeout", now_ms() - start);
	post_se(fd, evd.evd, 1);
	check(evd_wait(fd, evd.evd, 2, 0, &queued) == expired && queued == 1, "E33",
	      "short of the threshold", queued);
	check(!evd_wait(fd, evd.evd, 1, 0, &queued) && queued == 1, "E30",
	      "enough is there", queued);

	waiter_start(&w);
	check(dequeue(fd, evd.evd) == -2, "E36", "dequeue beside a waiter", 0);
	check(evd_wait(fd, evd.evd, 1, 0, NULL) == waiting, "E36", "a second waiter", 0);
	expect_ret(fd, KDAPL_IOC_EVD_RESIZE, &resize, waiting, "E55",
		   "resize under a waiter");
	check(handle_call(fd, KDAPL_IOC_EVD_FREE, evd.evd) == waiting, "E62",
	      "free under a waiter", 0);
	post_se(fd, evd.evd, 2);
	usleep(100000);
	check(evd_wait(fd, evd.evd, 1, 0, NULL) == waiting, "E30",
	      "two of three: it waits on", 0);
	post_se(fd, evd.evd, 3);
	check(!waiter_end(&w) && w.queued == 3, "E35", "three of three", w.queued);

	w.threshold = 8;
	waiter_start(&w);
	expect_ret(fd, KDAPL_IOC_EVD_SET_WAITABLE, &waitable, DAT_SUCCESS, "E27",
		   "unwaitable");
	waitable.waitable = 1;
	call(fd, KDAPL_IOC_EVD_SET_WAITABLE, &waitable);
	check(waiter_end(&w) == unwaitable, "E27", "the waiter is out for good", w.ret);
	waitable.waitable = 0;
	call(fd, KDAPL_IOC_EVD_SET_WAITABLE, &waitable);
	check(evd_wait(fd, evd.evd, 1, 0, NULL) == unwaitable, "E26",
	      "unwaitable with events queued", 0);
	check(dequeue(fd, evd.evd) == 1, "E28", "dequeue from an unwaitable EVD", 0);
	waitable.waitable = 1;
	call(fd, KDAPL_IOC_EVD_SET_WAITABLE, &waitable);
	check(!evd_wait(fd, evd.evd, 1, 0, NULL), "E26", "waitable again", 0);
	expect_ret(fd, KDAPL_IOC_EVD_WAIT, &raw, DAT_SUCCESS, "A8",
		   "a forged deadline");

	/* A handler ends the wait; a stopped and continued process waits on. */
	sigaction(SIGUSR1, &sa, NULL);
	pid = fork();
	if (!pid) {
		struct kdapl_uapi_evd_wait arg = { .evd = evd.evd, .threshold = 8,
						   .timeout = LONG };
		int err = call(fd, KDAPL_IOC_EVD_WAIT, &arg);

		_exit(err == EINTR && arg.ret == ERR(DAT_INTERRUPTED_CALL, 0) &&
		      arg.queued == 2 ? 0 : 1);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		usleep(200000);
		kill(pid, SIGUSR1);
	}
	check(!status, "E38", "a signal ends the wait", status);
	start = now_ms();
	pid = fork();
	if (!pid)
		_exit(evd_wait(fd, evd.evd, 8, 4000000, NULL) == expired ? 0 : 1);
	usleep(1500000);
	kill(pid, SIGSTOP);
	usleep(500000);
	kill(pid, SIGCONT);
	usleep(500000);
	kill(pid, SIGSTOP);
	/* A wait that began anew would last as long again. */
	anew = now_ms() + 4000;
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	check(!status && now_ms() - start >= 4000 && now_ms() < anew, "E38",
	      "stopped and continued: the same deadline", now_ms() - start);

	w.threshold = 8;
	w.timeout = ~0U;
	waiter_start(&w);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
	check(waiter_end(&w) == ERR(DAT_ABORT, 0), "E39", "the IA is closed", w.ret);
}

static void test_poll(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_SOFTWARE_FLAG);
	struct kdapl_uapi_evd_poll_fd arg = { .evd = evd.evd };
	struct pollfd pfd = { .events = POLLIN };
	int status;
	pid_t pid;

	expect_ret(fd, KDAPL_IOC_EVD_POLL_FD, &arg, DAT_SUCCESS, "A8", "a descriptor");
	pfd.fd = arg.fd;
	check(fcntl(arg.fd, F_GETFD) & FD_CLOEXEC, "A8", "closed on exec", 0);
	check(!poll(&pfd, 1, 50), "A8", "not readable when empty", pfd.revents);
	pid = fork();
	if (!pid) {
		usleep(300000);
		_exit(post_se(fd, evd.evd, 5) ? 1 : 0);
	}
	check(poll(&pfd, 1, LONG / 1000) == 1 && pfd.revents == POLLIN, "A8",
	      "readable when an event comes", pfd.revents);
	waitpid(pid, &status, 0);
	check(dequeue(fd, evd.evd) == 5 && !poll(&pfd, 1, 50), "A8",
	      "not any more when it was taken", pfd.revents);
	check(read(arg.fd, &status, 4) < 0, "A8", "nothing can be read from it", 0);
	handle_call(fd, KDAPL_IOC_EVD_FREE, evd.evd);
	check(poll(&pfd, 1, LONG / 1000) == 1 && pfd.revents & POLLHUP, "A8",
	      "hung up when the EVD is gone", pfd.revents);
	close(arg.fd);
	ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- ends ------------------------------------------------------------------------------- */

/* One of everything, in states that are not easy to leave. */
static struct map make_everything(int fd)
{
	static char memory[65536];
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 64, DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG);
	struct kdapl_uapi_lmr_create lmr = {
		.ia = ia.ia, .pz = pz, .region = (uintptr_t)memory,
		.length = sizeof(memory), .privileges = DAT_MEM_PRIV_ALL_FLAG };
	struct kdapl_uapi_rmr_create rmr = { .pz = pz };
	struct kdapl_uapi_psp_create psp = { .ia = ia.ia, .evd = evd.evd };
	struct kdapl_uapi_ia_query query = { .ia = ia.ia, .ia_mask = 0x40 };
	struct kdapl_uapi_ep_connect connect = { .timeout = ~0U };
	struct kdapl_uapi_evd_poll_fd poll_fd = { .evd = evd.evd };
	struct kdapl_uapi_segment segment = { .address = (uintptr_t)memory,
					      .length = 4096 };
	struct kdapl_uapi_dto dtos[8] = {};
	struct kdapl_uapi_post post = { .dtos = (uintptr_t)dtos };
	__u64 ep;
	int i;

	need(!call(fd, KDAPL_IOC_LMR_CREATE, &lmr) && !lmr.ret, "create an LMR");
	need(!call(fd, KDAPL_IOC_RMR_CREATE, &rmr) && !rmr.ret, "create an RMR");
	need(!call(fd, KDAPL_IOC_PSP_CREATE_ANY, &psp) && !psp.ret, "create a PSP");
	need(!call(fd, KDAPL_IOC_IA_QUERY, &query) && !query.ret, "query the IA");
	need(!call(fd, KDAPL_IOC_EVD_POLL_FD, &poll_fd) && !poll_fd.ret, "a poll fd");
	segment.lmr_context = lmr.lmr_context;
	for (i = 0; i < 8; i++)
		dtos[i] = (struct kdapl_uapi_dto) {
			.op = KDAPL_OP_RECV, .num_segments = 1,
			.segments = (uintptr_t)&segment };
	for (i = 0; i < 4; i++) {
		ep = ep_create(fd, ia.ia, pz, evd.evd, evd.evd);
		post.ep = ep;
		post.count = 8;
		need(!call(fd, KDAPL_IOC_POST, &post) && post.done == 8, "post");
		connect.ep = ep;
		connect.address = query.ia_attr.address;
		connect.conn_qual = psp.conn_qual;
		need(!call(fd, KDAPL_IOC_EP_CONNECT, &connect), "connect");
	}
	post_se(fd, evd.evd, 1);
	return ring_map(fd, &evd.ring);
}

static void test_ends(void)
{
	int fd = dev_open(), status, i;
	struct map map = make_everything(fd);
	pid_t pid;

	close(fd);
	check(map.header->producer >= 1, "A8", "file closed: its mapping lives", 0);
	ring_unmap(&map);
	check(true, "I19", "everything open, closed", 0);

	fd = dev_open();
	map = make_everything(fd);
	usleep(300000);
	ring_unmap(&map);
	close(fd);
	check(true, "I19", "everything open, requests pending, closed", 0);

	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			fd = dev_open();
			make_everything(fd);
			usleep(i * 20000);
			raise(SIGKILL);
		}
		waitpid(pid, &status, 0);
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "I19",
		      "killed with everything open", status);
	}
	fd = dev_open();
	check(!ia_close(fd, ia_open(fd).ia, DAT_CLOSE_GRACEFUL_FLAG), "I19",
	      "the adapter still works", 0);
	close(fd);
}

/* Service point on @port, if that is free by now. */
static bool listens(int fd, __u64 port)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd = evd_create(fd, ia.ia, 8, DAT_EVD_CR_FLAG);
	struct kdapl_uapi_psp_create psp = {
		.ia = ia.ia, .conn_qual = port, .evd = evd.evd,
		.flags = DAT_PSP_CONSUMER_FLAG };
	bool good = !call(fd, KDAPL_IOC_PSP_CREATE, &psp) && !psp.ret;

	if (!good)
		ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG);
	return good;
}

/* The last close is a child's, which then does not wait for it; it is made all the same. */
static void test_stranger_closes(void)
{
	int fd = dev_open(), other = dev_open(), status, tries;
	__u64 port = 4400;
	bool free = false;
	pid_t child;

	while (!listens(fd, port))
		port++;
	child = fork();
	need(child >= 0, "fork");
	if (!child)
		_exit(listens(other, port));
	close(fd);
	need(waitpid(child, &status, 0) == child && WIFEXITED(status), "wait");
	check(!WEXITSTATUS(status), "I19", "what a file has stays while a child has it", 0);
	for (tries = 0; tries < 6000 && !free; tries++) {
		free = listens(other, port);
		if (!free)
			usleep(10000);
	}
	check(free, "I19", "a file whose last close is another process's is closed", 0);
	close(other);
}

/* Threads on the same objects; whatever they are told, nothing may break. */
struct racer {
	int fd, seed;
	__u64 ia, pz;
	volatile __u64 *evd;
	volatile bool *stop;
	pthread_t thread;
};

static void *racer_main(void *arg)
{
	struct racer *r = arg;
	unsigned int seed = r->seed;

	while (!*r->stop) {
		__u64 evd = *r->evd;
		struct kdapl_uapi_evd_resize resize = {
			.evd = evd, .qlen = 1 + rand_r(&seed) % 2000 };
		struct kdapl_uapi_evd_create create = {
			.ia = r->ia, .qlen = 8, .flags = DAT_EVD_SOFTWARE_FLAG };

		switch (rand_r(&seed) % 8) {
		case 0:
			call(r->fd, KDAPL_IOC_EVD_RESIZE, &resize);
			break;
		case 1:
			if (rand_r(&seed) % 8)
				break;
			handle_call(r->fd, KDAPL_IOC_EVD_FREE, evd);
			if (!call(r->fd, KDAPL_IOC_EVD_CREATE, &create) && !create.ret)
				*r->evd = create.evd;
			break;
		case 2:
			evd_wait(r->fd, evd, 1 + rand_r(&seed) % 8,
				 rand_r(&seed) % 2000, NULL);
			break;
		case 3:
			handle_call(r->fd, KDAPL_IOC_EVD_REFILL, evd);
			break;
		case 4:
		case 5:
			dequeue(r->fd, evd);
			break;
		default:
			post_se(r->fd, evd, 1);
		}
	}
	return NULL;
}

static void test_races(int fd)
{
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 8, DAT_EVD_SOFTWARE_FLAG);
	volatile __u64 shared = evd.evd;
	volatile bool stop = false;
	struct racer racers[6];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(racers); i++) {
		racers[i] = (struct racer) { .fd = fd, .seed = i + 1, .ia = ia.ia,
					     .evd = &shared, .stop = &stop };
		pthread_create(&racers[i].thread, NULL, racer_main, &racers[i]);
	}
	sleep(4);
	/* The IA goes while they are at it. */
	check(!ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG), "E114",
	      "six threads on one EVD, and its IA closed under them", 0);
	usleep(200000);
	stop = true;
	for (i = 0; i < ARRAY_SIZE(racers); i++)
		pthread_join(racers[i].thread, NULL);
	check(true, "E114", "all six came back", 0);
}

/* Calls of random content, with true handles among it. */
static void test_random(void)
{
	int fd = dev_open(), i, n;
	struct kdapl_uapi_ia_open ia = ia_open(fd);
	__u64 pz = pz_create(fd, ia.ia);
	struct kdapl_uapi_evd_create evd =
		evd_create(fd, ia.ia, 16, DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG);
	__u64 ep = ep_create(fd, ia.ia, pz, evd.evd, evd.evd);
	struct kdapl_uapi_rmr_create rmr = { .pz = pz };
	__u64 handles[5] = { ia.ia, pz, evd.evd, ep };
	unsigned int seed = 1;
	long calls = 0;

	need(!call(fd, KDAPL_IOC_RMR_CREATE, &rmr) && !rmr.ret, "create an RMR");
	handles[4] = rmr.rmr;
	for (i = 0; i < 30000; i++) {
		const struct every_call *c =
			&every_call[rand_r(&seed) % ARRAY_SIZE(every_call)];
		__u64 arg[256];

		/* Closing is for the tests before; waiting would take long. */
		if (c->cmd == KDAPL_IOC_IA_CLOSE || c->cmd == KDAPL_IOC_EVD_WAIT ||
		    c->cmd == KDAPL_IOC_EVD_POLL_FD)
			continue;
		for (n = 0; n < 256; n++) {
			switch (rand_r(&seed) % 6) {
			case 0:
				arg[n] = handles[rand_r(&seed) % ARRAY_SIZE(handles)];
				break;
			case 1:
				arg[n] = rand_r(&seed) % 512;
				break;
			case 2:
				arg[n] = (uintptr_t)arg;
				break;
			case 3:
				arg[n] = (__u64)rand_r(&seed) << 33 ^ rand_r(&seed);
				break;
			default:
				arg[n] = 0;
			}
		}
		/* Free what carries on only now and then. */
		if ((c->cmd == KDAPL_IOC_EVD_FREE || c->cmd == KDAPL_IOC_EP_FREE ||
		     c->cmd == KDAPL_IOC_PZ_FREE || c->cmd == KDAPL_IOC_RMR_FREE) &&
		    rand_r(&seed) % 64)
			continue;
		if (c->pad != NO_PAD && rand_r(&seed) % 8)
			memset((char *)arg + c->pad, 0, 4);
		call(fd, c->cmd, arg);
		calls++;
	}
	check(!ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG), "A8",
	      "thousands of random calls, and the IA closes", calls);
	close(fd);
}

int main(void)
{
	int fd;

	test_versions();
	fd = dev_open();
	find_ia(fd);
	printf("# adapter %s\n", ia_name);
	test_numbers(fd);
	test_padding(fd);
	test_pointers(fd);
	test_undeliverable(fd);
	test_handles(fd);
	test_arguments(fd);
	test_memory(fd);
	test_rmr(fd);
	test_post(fd);
	test_srq(fd);
	test_mappings(fd);
	test_forged_index(fd);
	test_queue(fd);
	test_resize(fd);
	test_more(fd);
	test_wait(fd);
	test_poll(fd);
	close(fd);
	test_ends();
	test_stranger_closes();
	fd = dev_open();
	test_races(fd);
	close(fd);
	test_random();
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
