// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection Zones and Local Memory Regions (mt:M1..M27, mt:M67..M69). */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "../proc.h"
#include "rig.h"

static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT context;
static DAT_RMR_CONTEXT rmr;
static DAT_VLEN size;
static DAT_VADDR address;

static DAT_RETURN create_va(void *va, DAT_VLEN length,
			    DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };

	return dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, length, a.pz,
			      privileges, &lmr, &context, &rmr, &size,
			      &address);
}

static DAT_RETURN create_type(DAT_MEM_TYPE type)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a.mem };

	return dat_lmr_create(a.ia, type, region, 64, a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr,
			      &size, &address);
}

static void pz(void)
{
	DAT_PZ_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE z;

	rig_open(&a);
	CHECK_RET(dat_pz_create(a.ia, NULL), ARG(2));
	OK(dat_pz_create(a.ia, &z));
	CHECK_RET(dat_pz_query(z, 2, &param), ARG(2));
	CHECK_RET(dat_pz_query(z, DAT_PZ_FIELD_ALL, NULL), ARG(3));
	OK(dat_pz_query(z, DAT_PZ_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia);
	OK(dat_ep_create(a.ia, z, NULL, NULL, NULL, NULL, &ep));
	CHECK_RET(dat_pz_free(z), STATE(PZ_IN_USE));
	OK(dat_ep_free(ep));
	OK(dat_pz_free(z));
	CHECK_RET(dat_pz_free(z), HANDLE(PZ));
	CHECK_RET(dat_pz_free(a.pz), STATE(PZ_IN_USE));
}

static void lmr_arguments(void)
{
	DAT_REGION_DESCRIPTION region;
	uint8_t *hole, *readonly;

	rig_open(&a);
	hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	CHECK(hole != MAP_FAILED && readonly != MAP_FAILED);
	CHECK(!munmap(hole + 4096, 4096));

	CHECK_RET(create_type(3), ARG(2));
	CHECK_RET(create_type(0x10), ARG(2));
	CHECK_RET(create_va(hole, 3 * 4096, DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va(hole + 4096, 64, DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va(NULL, 64, DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va((void *)0xffff800000000000, 64,
			    DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va(a.mem, 0, DAT_MEM_PRIV_ALL_FLAG), ARG(4));
	CHECK_RET(create_va(a.mem, -(uint64_t)a.mem, DAT_MEM_PRIV_ALL_FLAG),
		  ARG(4));
	CHECK_RET(create_va(a.mem, ~0ull, DAT_MEM_PRIV_ALL_FLAG), ARG(4));
	CHECK_RET(create_va(a.mem, 64, 0x40), ARG(6));
	CHECK_RET(create_va(a.mem, 64, 0x133), ARG(6));
	CHECK_RET(create_va(readonly, 64, DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
		  ARG(6));
	CHECK_RET(create_va(readonly, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG),
		  ARG(6));
	region.for_va = a.mem;
	CHECK_RET(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, NULL, NULL,
				 NULL), ARG(7));
	region.for_shared_memory.virtual_address = a.mem;
	region.for_shared_memory.shared_memory_id =
		(DAT_LMR_COOKIE)(hole + 4096);
	CHECK_RET(dat_lmr_create(a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 64,
				 a.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL,
				 NULL, NULL), ARG(3));
	OK(create_va(readonly, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	OK(dat_lmr_free(lmr));
	munmap(hole, 3 * 4096);
	munmap(readonly, 4096);
}

static void lmr_life(void)
{
	DAT_LMR_CONTEXT first;
	DAT_RMR_CONTEXT first_rmr;
	DAT_LMR_PARAM param;

	rig_open(&a);
	OK(create_va(a.mem + 5, 5001, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(size, 5001);
	CHECK_EQ(address, (uintptr_t)a.mem + 5);
	CHECK(rmr);
	CHECK_RET(dat_lmr_query(lmr, 0x400, &param), ARG(2));
	CHECK_RET(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, NULL), ARG(3));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia && param.pz_handle == a.pz);
	CHECK_EQ(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	CHECK(param.region_desc.for_va == a.mem + 5);
	CHECK_EQ(param.length, 5001);
	CHECK_EQ(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_EQ(param.lmr_context, context);
	CHECK_EQ(param.rmr_context, rmr);
	CHECK_EQ(param.registered_size, 5001);
	CHECK_EQ(param.registered_address, (uintptr_t)a.mem + 5);

	/* mt:M27: a context is not used again at once */
	first = context;
	first_rmr = rmr;
	OK(dat_lmr_free(lmr));
	CHECK_RET(dat_lmr_free(lmr), HANDLE(LMR));
	CHECK_RET(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), HANDLE(LMR));
	OK(create_va(a.mem + 5, 5001, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(context != first);
	CHECK(rmr != first_rmr);
	OK(dat_lmr_free(lmr));

	/* mt:M15: without remote rights there is no rmr_context */
	OK(create_va(a.mem, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	CHECK_EQ(rmr, 0);
	OK(dat_lmr_free(lmr));
	OK(create_va(a.mem, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG));
	CHECK(rmr);
	OK(dat_lmr_free(lmr));
	OK(create_va(a.mem, 64, DAT_MEM_PRIV_NONE_FLAG));
	CHECK_EQ(rmr, 0);
	OK(dat_lmr_free(lmr));
}

static void lmr_of_lmr(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE original;
	DAT_LMR_PARAM param;

	rig_open(&a);
	OK(create_va(a.mem, 4096, DAT_MEM_PRIV_NONE_FLAG));
	original = lmr;
	region.for_lmr_handle = original;
	OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_LMR, region, 1, a.pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr, &size,
			  &address));
	CHECK_EQ(size, 4096);
	CHECK_EQ(address, (uintptr_t)a.mem);
	OK(dat_lmr_free(original));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(param.mem_type, DAT_MEM_TYPE_LMR);
	CHECK(param.region_desc.for_lmr_handle == original);
	OK(dat_lmr_free(lmr));
}

static void lmr_shared(void)
{
	static char id[DAT_LMR_COOKIE_SIZE] = "forty bytes that name shared memory";
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM param;

	rig_open(&a);
	region.for_shared_memory.virtual_address = a.mem;
	region.for_shared_memory.shared_memory_id = &id;
	OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 100, a.pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr, &size,
			  &address));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	CHECK(param.region_desc.for_shared_memory.virtual_address == a.mem);
	CHECK(!memcmp(param.region_desc.for_shared_memory.shared_memory_id, id,
		      sizeof(id)));
	OK(dat_lmr_free(lmr));
}

static void lmr_sync(void)
{
	DAT_LMR_TRIPLET segments[3000];
	size_t i;

	rig_open(&a);
	for (i = 0; i < ARRAY_SIZE(segments); i++)
		segments[i] = seg(&a, i, 16);
	OK(dat_lmr_sync_rdma_read(a.ia, segments, 3000));
	OK(dat_lmr_sync_rdma_write(a.ia, segments, 3000));
	OK(dat_lmr_sync_rdma_read(a.ia, NULL, 0));
	CHECK_RET(dat_lmr_sync_rdma_read(a.ia, NULL, 1), ARG(2));
	segments[1].lmr_context = ~a.context;
	CHECK_RET(dat_lmr_sync_rdma_read(a.ia, segments, 2), ARG(2));
	segments[1] = seg(&a, MEM - 8, 9);
	CHECK_RET(dat_lmr_sync_rdma_write(a.ia, segments, 2), ARG(2));
}

/* A peer's RDMA and our own eyes, with a call between. */
static void sync_around_rdma(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;

	rig_both();
	connected(&ep_a, &ep_b);
	t = seg(&b, 0, 4096);
	r = remote(&b, 0, 4096);
	fill(a.mem, 4096, 1);
	OK(post_write(&a, ep_a, 0, &r, 4096, 1, 0));
	completes(a.req, ep_a, 1, DAT_DTO_SUCCESS);
	OK(dat_lmr_sync_rdma_write(b.ia, &t, 1));
	verify(b.mem, 4096, 1);
	fill(b.mem, 4096, 2);
	OK(dat_lmr_sync_rdma_read(b.ia, &t, 1));
	OK(post_read(&a, ep_a, 8192, &r, 4096, 2, 0));
	completes(a.req, ep_a, 2, DAT_DTO_SUCCESS);
	verify(a.mem + 8192, 4096, 2);
}

/* In a process of its own, with what the parent's objects are worth there. */
static int in_child(int (*child)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(child());
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static int use_parents_context(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	if (dat_ia_open((DAT_NAME_PTR)a.name, 8, &evd, &ia) ||
	    dat_pz_create(ia, &pz) ||
	    dat_ep_create(ia, pz, NULL, NULL, NULL, NULL, &ep))
		return 1;
	if (dat_ep_post_recv(ep, 1, &t, cookie(1), 0) !=
	    ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_WRITE))
		return 2;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) ? 3 : 0;
}

static void context_of_another(void)
{
	DAT_EP_HANDLE ep;

	rig_open(&a);
	CHECK_EQ(in_child(use_parents_context), 0);
	ep = new_ep(&a);
	OK(post_recv(&a, ep, 0, 64, 1));
}

/* The same bytes three times, in two zones; each by itself. */
static void many_times(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET t[3];
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_LMR_HANDLE lmrs[3];
	DAT_PZ_HANDLE zone;
	int i;

	rig_both();
	connected(&ep_a, &ep_b);
	OK(dat_pz_create(a.ia, &zone));
	for (i = 0; i < 3; i++) {
		region.for_va = a.mem + 100 * i;
		t[i] = seg(&a, 200, 64);
		OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, 5000,
				  i == 2 ? zone : a.pz, DAT_MEM_PRIV_ALL_FLAG,
				  &lmrs[i], &t[i].lmr_context, NULL, NULL,
				  NULL));
		CHECK(t[i].lmr_context != a.context);
		CHECK(!i || t[i].lmr_context != t[i - 1].lmr_context);
	}
	fill(a.mem + 200, 64, 9);
	for (i = 0; i < 2; i++) {
		OK(post_recv(&b, ep_b, 0, 64, i));
		OK(dat_ep_post_send(ep_a, 1, &t[i], cookie(i), 0));
		completes(b.recv, ep_b, i, DAT_DTO_SUCCESS);
		verify(b.mem, 64, 9);
		OK(dat_lmr_free(lmrs[i]));
	}
	CHECK_RET(dat_ep_post_send(ep_a, 1, &t[2], cookie(1), 0),
		  ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_READ));
}

/* In KiB, of this process */
static unsigned long long pinned(void)
{
	return proc_number("/proc/self/status", "VmPin:");
}

static int register_too_much(void)
{
	const struct rlimit limit = { 65536, 65536 };
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE small, big;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE z;

	region.for_va = a.mem;
	if (dat_ia_open((DAT_NAME_PTR)a.name, 8, &evd, &ia) ||
	    dat_pz_create(ia, &z) || setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    setuid(65534))
		return 1;
	if (dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, z,
			   DAT_MEM_PRIV_ALL_FLAG, &big, NULL, NULL, NULL,
			   NULL) !=
	    ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY))
		return 2;
	if (pinned())
		return 3;
	if (dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, z,
			   DAT_MEM_PRIV_ALL_FLAG, &small, NULL, NULL, NULL,
			   NULL))
		return 4;
	if (pinned() < 4)
		return 5;
	if (dat_lmr_free(small) || pinned())
		return 6;
	return 0;
}

static void too_much(void)
{
	rig_open(&a);
	CHECK_EQ(in_child(register_too_much), 0);
}

/* The pages are the region's, whatever the process maps there. */
static void unmapped(void)
{
	const size_t length = 8192;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	uint8_t *memory;

	rig_both();
	connected(&ep_a, &ep_b);
	memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	fill(memory, length, 5);
	OK(create_va(memory, length, DAT_MEM_PRIV_ALL_FLAG));
	r.rmr_context = rmr;
	r.target_address = address;
	r.segment_length = length;
	CHECK(!munmap(memory, length));
	OK(post_read(&b, ep_b, 0, &r, length, 1, 0));
	completes(b.req, ep_b, 1, DAT_DTO_SUCCESS);
	verify(b.mem, length, 5);
	fill(b.mem, length, 6);
	OK(post_write(&b, ep_b, 0, &r, length, 2, 0));
	completes(b.req, ep_b, 2, DAT_DTO_SUCCESS);
	memset(b.mem, 0, length);
	OK(post_read(&b, ep_b, 0, &r, length, 3, 0));
	completes(b.req, ep_b, 3, DAT_DTO_SUCCESS);
	verify(b.mem, length, 6);
	OK(dat_lmr_free(lmr));
}

#define PAGE	4096
/* Some of it is more than one fast registration can have. */
static const struct {
	size_t length;
	DAT_MEM_PRIV_FLAGS privileges;
} kinds[] = {
	{ 2 * PAGE, DAT_MEM_PRIV_ALL_FLAG },
	{ 2 * PAGE, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG },
	{ 700 * PAGE, DAT_MEM_PRIV_ALL_FLAG },
	{ 700 * PAGE, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG },
};

/* Its last page is only to be read, then it is not there at all. */
static void partly_there(void)
{
	unsigned long long charged, pages;
	uint8_t *memory, *last;
	unsigned int i;
	bool writes;

	rig_open(&a);
	charged = pinned();
	pages = proc_pins();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		writes = kinds[i].privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		memory = mmap(NULL, kinds[i].length, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(memory != MAP_FAILED);
		last = memory + kinds[i].length - PAGE;
		CHECK(!mprotect(last, PAGE, PROT_READ));
		if (writes)
			CHECK_RET(create_va(memory, kinds[i].length,
					    kinds[i].privileges), ARG(6));
		CHECK_EQ(pinned(), charged);
		CHECK(!munmap(last, PAGE));
		CHECK_RET(create_va(memory, kinds[i].length,
				    kinds[i].privileges), ARG(3));
		CHECK_EQ(pinned(), charged);
		CHECK(proc_pins() <= pages);
		munmap(memory, kinds[i].length - PAGE);
	}
}

/*
 * First and last page: what was there at the fork, or what the child wrote, and
 * that to the end.
 */
static int copy_of_child(int fd, uint8_t *memory, size_t length, bool writes)
{
	static uint8_t expected[PAGE];
	char c = 0;

	fill(expected, PAGE, writes ? 9 : 1);
	if (writes) {
		memcpy(memory, expected, PAGE);
		memcpy(memory + length - PAGE, expected, PAGE);
	}
	if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
		return 1;
	return memcmp(memory, expected, PAGE) ||
	       memcmp(memory + length - PAGE, expected, PAGE) ? 2 : 0;
}

/* The device has the pages that the owner sees, in both directions. */
static void same_pages(DAT_EP_HANDLE ep, uint8_t *memory, size_t at,
		       bool writable, unsigned int seed)
{
	DAT_RMR_TRIPLET r = {
		.rmr_context = rmr,
		.target_address = address + at,
		.segment_length = PAGE,
	};

	fill(memory + at, PAGE, seed);
	OK(post_read(&b, ep, 0, &r, PAGE, seed, 0));
	completes(b.req, ep, seed, DAT_DTO_SUCCESS);
	verify(b.mem, PAGE, seed);
	if (!writable)
		return;
	fill(b.mem, PAGE, seed + 1);
	OK(post_write(&b, ep, 0, &r, PAGE, seed + 1, 0));
	completes(b.req, ep, seed + 1, DAT_DTO_SUCCESS);
	verify(memory + at, PAGE, seed + 1);
}

static void fork_over(DAT_EP_HANDLE ep, unsigned int i, bool child_writes)
{
	bool writable = kinds[i].privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	size_t length = kinds[i].length, last = length - PAGE;
	int fds[2], status;
	uint8_t *memory;
	pid_t pid;
	char c;

	memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	fill(memory, PAGE, 1);
	fill(memory + last, PAGE, 1);
	OK(create_va(memory, length, kinds[i].privileges));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	pid = fork();
	if (!pid) {
		close(fds[0]);
		_exit(copy_of_child(fds[1], memory, length, child_writes));
	}
	close(fds[1]);
	CHECK(read(fds[0], &c, 1) == 1);
	same_pages(ep, memory, 0, writable, 2);
	same_pages(ep, memory, last, writable, 2);
	CHECK(write(fds[0], &c, 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid);
	close(fds[0]);
	CHECK_EQ(status, 0);
	same_pages(ep, memory, 0, writable, 4);
	same_pages(ep, memory, last, writable, 4);
	OK(dat_lmr_free(lmr));
	munmap(memory, length);
}

static void forked(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	unsigned int i;

	rig_both();
	connected(&ep_a, &ep_b);
	for (i = 0; i < 2 * ARRAY_SIZE(kinds); i++)
		fork_over(ep_b, i / 2, i % 2);
}

/* Brings each page that is missed. */
static void *pager(void *fd)
{
	static uint8_t page[PAGE];
	struct uffdio_copy copy = { .src = (uintptr_t)page, .len = PAGE };
	struct uffd_msg msg;

	fill(page, PAGE, 1);
	while (read(*(int *)fd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT) {
		copy.dst = msg.arg.pagefault.address & -PAGE;
		ioctl(*(int *)fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/* The process is its own pager: registration waits for it. */
static void paged(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	DAT_EP_HANDLE ep_a, ep_b;
	pthread_t thread;
	uint8_t *memory;
	unsigned int i;
	int fd;

	rig_both();
	connected(&ep_a, &ep_b);
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	CHECK(fd >= 0 && !ioctl(fd, UFFDIO_API, &api));
	CHECK(!pthread_create(&thread, NULL, pager, &fd));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		memory = mmap(NULL, kinds[i].length, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(memory != MAP_FAILED);
		range.range.start = (uintptr_t)memory;
		range.range.len = kinds[i].length;
		CHECK(!ioctl(fd, UFFDIO_REGISTER, &range));
		OK(create_va(memory, kinds[i].length, kinds[i].privileges));
		verify(memory, PAGE, 1);
		verify(memory + kinds[i].length - PAGE, PAGE, 1);
		same_pages(ep_b, memory, kinds[i].length - PAGE,
			   kinds[i].privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			   2);
		OK(dat_lmr_free(lmr));
		munmap(memory, kinds[i].length);
	}
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	close(fd);
}

static const struct check_case cases[] = {
	{ "mt:M1 mt:M3 protection zones", pz },
	{ "mt:M6 mt:M9..M13 mt:M17 dat_lmr_create: arguments", lmr_arguments },
	{ "L1 mt:M5 mt:M15 mt:M16 mt:M26 mt:M27 the life of an LMR", lmr_life },
	{ "mt:M7 mt:M8 an LMR of an LMR", lmr_of_lmr },
	{ "mt:M9 shared memory", lmr_shared },
	{ "mt:M67 mt:M69 dat_lmr_sync", lmr_sync },
	{ "mt:M68 dat_lmr_sync around RDMA", sync_around_rdma },
	{ "mt:M14 the context of another process", context_of_another },
	{ "mt:M18 the same memory, many times", many_times },
	{ "mt:M19 more than may be locked", too_much },
	{ "mt:M13 mt:M19 memory that is not all there is not charged", partly_there },
	{ "mt:M20 memory that is unmapped", unmapped },
	{ "mt:M20 memory that is forked", forked },
	{ "mt:M5 mt:M6 memory that a pager brings", paged },
};

SET(memory_set);
