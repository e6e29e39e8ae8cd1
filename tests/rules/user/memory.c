// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory of processes: what cannot be registered, what is charged, what becomes
 * of it when it is unmapped, forked, or brought by a pager.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "../../user/proc.h"
#include "user.h"

static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT context;
static DAT_RMR_CONTEXT rmr;
static DAT_VLEN size;
static DAT_VADDR address;

static DAT_RETURN create_va(void *va, DAT_VLEN length,
			    DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };

	return dat_lmr_create(side_a.ia, DAT_MEM_TYPE_VIRTUAL, region, length,
			      side_a.pz, privileges, &lmr, &context, &rmr,
			      &size, &address);
}

static u8 *map(size_t length, int protection)
{
	void *memory = mmap(NULL, length, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* What cannot be pinned, or not for that. */
static void lmr_arguments(void)
{
	u8 *hole = map(3 * PAGE, PROT_READ | PROT_WRITE);
	u8 *readonly = map(PAGE, PROT_READ);
	DAT_REGION_DESCRIPTION region;

	CHECK(!munmap(hole + PAGE, PAGE));
	BAD_ARG(create_va(hole, 3 * PAGE, DAT_MEM_PRIV_ALL_FLAG), 3);
	BAD_ARG(create_va(hole + PAGE, 64, DAT_MEM_PRIV_ALL_FLAG), 3);
	BAD_ARG(create_va((void *)(uintptr_t)-PAGE, 64, DAT_MEM_PRIV_ALL_FLAG), 3);
	BAD_ARG(create_va(readonly, 64, DAT_MEM_PRIV_LOCAL_WRITE_FLAG), 6);
	BAD_ARG(create_va(readonly, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG), 6);
	region.for_va = hole;
	BAD_ARG(platform_lmr_create(side_a.ia, 3, region, 64, side_a.pz, 0, &lmr,
				    NULL, NULL), 2);
	BAD_ARG(platform_lmr_create(side_a.ia, 0x10, region, 64, side_a.pz, 0,
				    &lmr, NULL, NULL), 2);
	region.for_shared_memory.virtual_address = hole;
	region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)(hole + PAGE);
	BAD_ARG(platform_lmr_create(side_a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL,
				    region, 64, side_a.pz, 0, &lmr, NULL, NULL),
		3);
	OK(create_va(readonly, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	OK(dat_lmr_free(lmr));
	munmap(hole, 3 * PAGE);
	munmap(readonly, PAGE);
}

static void lmr_shared(void)
{
	static char id[DAT_LMR_COOKIE_SIZE] = "forty bytes that name shared memory";
	u8 *memory = map(PAGE, PROT_READ | PROT_WRITE);
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM param;

	region.for_shared_memory.virtual_address = memory;
	region.for_shared_memory.shared_memory_id = &id;
	if (OK(platform_lmr_create(side_a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region,
				   100, side_a.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
				   NULL, NULL)) &&
	    OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param))) {
		const DAT_SHARED_MEMORY *shared =
			&param.region_desc.for_shared_memory;

		CHECK_EQ(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
		CHECK(shared->virtual_address == memory);
		CHECK(!memcmp(shared->shared_memory_id, id, sizeof(id)));
	}
	OK(dat_lmr_free(lmr));
	munmap(memory, PAGE);
}

/* More segments than the library hands over in one go. */
static void lmr_sync(void)
{
	static DAT_LMR_TRIPLET segments[3000];
	struct mem mem;
	size_t i;

	if (!mem_new(&side_a, &mem, PAGE, DAT_MEM_PRIV_ALL_FLAG))
		return;
	for (i = 0; i < ARRAY_SIZE(segments); i++)
		segments[i] = piece(&mem, i, 16);
	OK(dat_lmr_sync_rdma_read(side_a.ia, segments, 3000));
	OK(dat_lmr_sync_rdma_write(side_a.ia, segments, 3000));
	segments[2999] = piece(&mem, PAGE - 8, 9);
	BAD_ARG(dat_lmr_sync_rdma_write(side_a.ia, segments, 3000), 2);
}

/* ---- children ----------------------------------------------------------- */

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

static struct mem parents;

static int use_parents_context(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_LMR_TRIPLET t = piece(&parents, 0, 64);
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	if (dat_ia_open(side_a.name, 8, &evd, &ia) || dat_pz_create(ia, &pz) ||
	    dat_ep_create(ia, pz, NULL, NULL, NULL, NULL, &ep))
		return 1;
	if (dat_ep_post_recv(ep, 1, &t, cookie(1), 0) !=
	    DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE))
		return 2;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) ? 3 : 0;
}

static void context_of_another(void)
{
	struct node node = {};

	if (!node_new(&node, &side_a, THREE_EVDS, NULL))
		return;
	parents = node.mem;
	CHECK_EQ(in_child(use_parents_context), 0);
	OK(node_recv(&node, 0, 64, 1));
}

#define TOO_MUCH	(1 << 20)

/* Is no page of this memory, which nobody has touched, there? */
static bool untouched(u8 *memory, size_t bytes)
{
	unsigned char there[256];
	size_t i;

	if (bytes > sizeof(there) * PAGE || mincore(memory, bytes, there))
		return false;
	for (i = 0; i < bytes / PAGE; i++)
		if (there[i] & 1)
			return false;
	return true;
}

static int register_too_much(void)
{
	const struct rlimit limit = { 65536, 65536 };
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE small, big;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE z;
	u64 zones;

	region.for_va = map(TOO_MUCH, PROT_READ | PROT_WRITE);
	if (dat_ia_open(side_a.name, 8, &evd, &ia) ||
	    dat_pz_create(ia, &z) || setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    setuid(65534))
		return 1;
	zones = pinned_kb();	/* by the zone itself (pass_pz.nothing) */
	if (dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, TOO_MUCH, z,
			   DAT_MEM_PRIV_ALL_FLAG, &big, NULL, NULL, NULL,
			   NULL) !=
	    DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY))
		return 2;
	if (pinned_kb() != zones)
		return 3;
	/* The limit is compared before the memory is paged in. */
	if (!untouched(region.for_va, TOO_MUCH))
		return 7;
	if (dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, z,
			   DAT_MEM_PRIV_ALL_FLAG, &small, NULL, NULL, NULL,
			   NULL))
		return 4;
	if (pinned_kb() < zones + 4)
		return 5;
	if (dat_lmr_free(small) || pinned_kb() != zones)
		return 6;
	return 0;
}

static void too_much(void)
{
	CHECK_EQ(in_child(register_too_much), 0);
}

/*
 * What it maps is locked, and it may not lock as much as the board has addresses.  The tables of
 * the library are the parent's (tests/user/handle_table.c and pass_queues.c).
 */
static int open_locked(void)
{
	const struct rlimit limit = { 3 << 20, 3 << 20 };
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE handle;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE z;
	DAT_EP_HANDLE ep;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(65534) || mlockall(MCL_FUTURE))
		return 1;
	region.for_va = map(PAGE, PROT_READ | PROT_WRITE);
	if (dat_ia_open(side_a.name, 8, &evd, &ia))
		return 2;
	if (dat_pz_create(ia, &z) ||
	    dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE, z, DAT_MEM_PRIV_ALL_FLAG,
			   &handle, NULL, NULL, NULL, NULL) ||
	    dat_ep_create(ia, z, NULL, NULL, NULL, NULL, &ep))
		return 3;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) ? 4 : 0;
}

static void locked(void)
{
	CHECK_EQ(in_child(open_locked), 0);
}

/* ---- what becomes of the pages ------------------------------------------ */

static void fill(u8 *at, size_t length, u8 seed)
{
	struct mem mem = { .va = at };

	mem_fill(&mem, 0, length, seed);
}

static bool verify(u8 *at, size_t length, u8 seed)
{
	struct mem mem = { .va = at };

	return mem_check(&mem, 0, length, seed);
}

/* The pages are the region's, whatever the process maps there. */
static void unmapped(void)
{
	const size_t length = 2 * PAGE;
	struct pair p = {};
	DAT_RMR_TRIPLET r;
	u8 *memory;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	memory = map(length, PROT_READ | PROT_WRITE);
	fill(memory, length, 5);
	OK(create_va(memory, length, DAT_MEM_PRIV_ALL_FLAG));
	r.rmr_context = rmr;
	r.target_address = address;
	r.segment_length = length;
	CHECK(!munmap(memory, length));
	OK(node_read(&p.b, 0, length, &r, 1, 0));
	want_done(p.b.request, p.b.ep, 1, DAT_DTO_SUCCESS);
	mem_check(&p.b.mem, 0, length, 5);
	mem_fill(&p.b.mem, 0, length, 6);
	OK(node_write(&p.b, 0, length, &r, 2, 0));
	want_done(p.b.request, p.b.ep, 2, DAT_DTO_SUCCESS);
	memset(p.b.mem.va, 0, length);
	OK(node_read(&p.b, 0, length, &r, 3, 0));
	want_done(p.b.request, p.b.ep, 3, DAT_DTO_SUCCESS);
	mem_check(&p.b.mem, 0, length, 6);
	OK(dat_lmr_free(lmr));
}

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

/* Others in the machine pin as well, for moments. */
static bool pins_at_most(unsigned long long pages)
{
	u64 end = deadline();

	while (proc_pins() > pages) {
		if (now_us() >= end)
			return false;
		sleep_us(1000);
	}
	return true;
}

/*
 * The pages of an LMR over another one are charged once, with that one; what the driver
 * needs to list them is charged for each.
 */
static void lists_charged(void)
{
	DAT_REGION_DESCRIPTION region;
	unsigned long long charged;
	DAT_LMR_HANDLE over[2];
	const size_t length = 512 * PAGE;
	u8 *memory = map(length, PROT_READ | PROT_WRITE);
	int i;

	/* In passthrough uverbs makes them, and charges all pages of each. */
	if (side_is_passthrough(&side_a))
		return;
	if (!OK(create_va(memory, length, DAT_MEM_PRIV_ALL_FLAG)))
		return;
	charged = pinned_kb();
	region.for_lmr_handle = lmr;
	for (i = 0; i < 2; i++) {
		OK(platform_lmr_create(side_a.ia, DAT_MEM_TYPE_LMR, region, 1, side_a.pz,
				       DAT_MEM_PRIV_ALL_FLAG, &over[i], NULL, NULL));
		CHECK_EQ(pinned_kb(), charged + 8 * (i + 1));
	}
	for (i = 0; i < 2; i++)
		OK(dat_lmr_free(over[i]));
	CHECK_EQ(pinned_kb(), charged);
	OK(dat_lmr_free(lmr));
	munmap(memory, length);
}

/*
 * An LMR over another one is over its memory, and not over what is at its address now.  If the
 * driver has to find that memory by the address, and it is not there any more, the region
 * cannot be named.
 */
static void region_has_moved(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE over;
	unsigned int i;
	DAT_RETURN ret;
	u8 *memory;

	/* In passthrough verbs register by address, and do not tell what they find there. */
	if (side_is_passthrough(&side_a))
		return;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		memory = map(kinds[i].length, PROT_READ | PROT_WRITE);
		if (!OK(create_va(memory, kinds[i].length, DAT_MEM_PRIV_ALL_FLAG)))
			break;
		region.for_lmr_handle = lmr;
		OK(platform_lmr_create(side_a.ia, DAT_MEM_TYPE_LMR, region, 1, side_a.pz,
				       DAT_MEM_PRIV_ALL_FLAG, &over, NULL, NULL));
		OK(dat_lmr_free(over));
		CHECK(mmap(memory, kinds[i].length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
		ret = platform_lmr_create(side_a.ia, DAT_MEM_TYPE_LMR, region, 1, side_a.pz,
					  DAT_MEM_PRIV_ALL_FLAG, &over, NULL, NULL);
		if (kinds[i].length > 512 * PAGE)
			BAD_ARG(ret, 3);
		else
			OK(ret);
		if (!ret)
			OK(dat_lmr_free(over));
		OK(dat_lmr_free(lmr));
		munmap(memory, kinds[i].length);
	}
}

/* Its last page is only to be read, then it is not there at all. */
static void partly_there(void)
{
	unsigned long long charged, pages;
	u8 *memory, *last;
	unsigned int i;
	bool writes;

	charged = pinned_kb();
	pages = proc_pins();
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		writes = kinds[i].privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		memory = map(kinds[i].length, PROT_READ | PROT_WRITE);
		last = memory + kinds[i].length - PAGE;
		CHECK(!mprotect(last, PAGE, PROT_READ));
		if (writes)
			BAD_ARG(create_va(memory, kinds[i].length,
					  kinds[i].privileges), 6);
		CHECK_EQ(pinned_kb(), charged);
		CHECK(!munmap(last, PAGE));
		BAD_ARG(create_va(memory, kinds[i].length, kinds[i].privileges),
			3);
		CHECK_EQ(pinned_kb(), charged);
		CHECK(pins_at_most(pages));
		munmap(memory, kinds[i].length - PAGE);
	}
}

/*
 * First and last page: what was there at the fork, or what the child wrote, and
 * that to the end.
 */
static int copy_of_child(int fd, u8 *memory, size_t length, bool writes)
{
	static u8 expected[PAGE];
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
static void same_pages(struct node *b, u8 *memory, size_t at,
		       bool writable, unsigned int seed)
{
	DAT_RMR_TRIPLET r = {
		.rmr_context = rmr,
		.target_address = address + at,
		.segment_length = PAGE,
	};

	fill(memory + at, PAGE, seed);
	OK(node_read(b, 0, PAGE, &r, seed, 0));
	want_done(b->request, b->ep, seed, DAT_DTO_SUCCESS);
	mem_check(&b->mem, 0, PAGE, seed);
	if (!writable)
		return;
	mem_fill(&b->mem, 0, PAGE, seed + 1);
	OK(node_write(b, 0, PAGE, &r, seed + 1, 0));
	want_done(b->request, b->ep, seed + 1, DAT_DTO_SUCCESS);
	verify(memory + at, PAGE, seed + 1);
}

static void fork_over(struct node *b, unsigned int i, bool child_writes)
{
	bool writable = kinds[i].privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	size_t length = kinds[i].length, last = length - PAGE;
	int fds[2], status;
	u8 *memory;
	pid_t pid;
	char c;

	memory = map(length, PROT_READ | PROT_WRITE);
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
	same_pages(b, memory, 0, writable, 2);
	same_pages(b, memory, last, writable, 2);
	CHECK(write(fds[0], &c, 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid);
	close(fds[0]);
	CHECK_EQ(status, 0);
	same_pages(b, memory, 0, writable, 4);
	same_pages(b, memory, last, writable, 4);
	OK(dat_lmr_free(lmr));
	munmap(memory, length);
}

static void forked(void)
{
	struct pair p = {};
	unsigned int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < 2 * ARRAY_SIZE(kinds); i++)
		fork_over(&p.b, i / 2, i % 2);
}

/* Brings each page that is missed. */
static void *pager(void *fd)
{
	static u8 page[PAGE];
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
	struct pair p = {};
	pthread_t thread;
	u8 *memory;
	unsigned int i;
	int fd;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	CHECK(fd >= 0 && !ioctl(fd, UFFDIO_API, &api));
	CHECK(!pthread_create(&thread, NULL, pager, &fd));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		memory = map(kinds[i].length, PROT_READ | PROT_WRITE);
		range.range.start = (uintptr_t)memory;
		range.range.len = kinds[i].length;
		CHECK(!ioctl(fd, UFFDIO_REGISTER, &range));
		OK(create_va(memory, kinds[i].length, kinds[i].privileges));
		verify(memory, PAGE, 1);
		verify(memory + kinds[i].length - PAGE, PAGE, 1);
		same_pages(&p.b, memory, kinds[i].length - PAGE,
			   kinds[i].privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			   2);
		OK(dat_lmr_free(lmr));
		munmap(memory, kinds[i].length);
	}
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	close(fd);
}

static const struct scenario scenarios[] = {
	SCENARIO("mt:M6 mt:M9..M13 mt:M17 what cannot be registered",
		 lmr_arguments),
	SCENARIO("mt:M9 shared memory", lmr_shared),
	SCENARIO("mt:M67 mt:M69 dat_lmr_sync, many segments", lmr_sync),
	SCENARIO("mt:M14 the context of another process", context_of_another),
	SCENARIO("mt:M19 more than may be locked", too_much),
	SCENARIO("mt:M19 I2 a process that locks all its memory", locked),
	SCENARIO_IB("mt:M7 mt:M19 what lists the pages of an LMR over another", lists_charged),
	SCENARIO_IB("mt:M7 an LMR over another one whose memory has moved", region_has_moved),
	SCENARIO_IB("mt:M13 mt:M19 memory that is not all there is not charged",
		    partly_there),
	SCENARIO("mt:M20 memory that is unmapped", unmapped),
	SCENARIO_IB("mt:M20 memory that is forked", forked),
	SCENARIO_IB("mt:M5 mt:M6 memory that a pager brings", paged),
};

SCENARIO_TABLE(user_memory_table);
