/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For the tests that speak the ABI of /dev/kdapl themselves, without the library: verdicts,
 * a line each, and the good calls that the bad ones start from.  Included by one file of a
 * program.
 */
#ifndef ABI_H
#define ABI_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <dat/udat.h>
#include <rdma/kdapl.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ERR(type, sub)	(DAT_CLASS_ERROR | (type) | (sub))
#define ARG(n)		ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define KERNEL_ADDRESS	0xffff888000000000ULL
/* In us; there to end a deadlock. */
#define LONG		180000000

static int passed, failed;

/* Not everywhere 4096: arm64 and ppc64el have kernels with 64 KiB. */
static inline size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static inline void check(bool good, const char *rule, const char *what, long got)
{
	if (good)
		printf("ok %s %s\n", rule, what);
	else
		printf("FAIL %s %s (got %ld = 0x%lx)\n", rule, what, got, got);
	*(good ? &passed : &failed) += 1;
	fflush(stdout);
}

/* The ioctl's errno, 0 for none. */
static inline int call(int fd, unsigned int cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? errno : 0;
}

static inline void expect_errno(int fd, unsigned int cmd, void *arg, int want,
				const char *rule, const char *what)
{
	int got = call(fd, cmd, arg);

	check(got == want, rule, what, got);
}

/* `ret` is the first field of every structure but that of the query. */
static inline void expect_ret(int fd, unsigned int cmd, void *arg, __u32 want,
			      const char *rule, const char *what)
{
	int err = call(fd, cmd, arg);
	__u32 ret = *(__u32 *)arg;

	check(!err && ret == want, rule, what, err ? -err : (long)ret);
}

static inline void need(bool good, const char *what)
{
	if (good)
		return;
	printf("FAIL - cannot go on: %s (%s)\n", what, strerror(errno));
	printf("%d passed, %d failed\n", passed, failed + 1);
	exit(1);
}

/* Good until it was called twice more. */
static inline const char *text_of(const char *a, const char *b)
{
	static char texts[2][256];
	static int last;

	last = !last;
	snprintf(texts[last], sizeof(texts[last]), "%s: %s", a, b);
	return texts[last];
}

static inline long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- good calls ---------------------------------------------------------------- */

static inline int dev_open(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION };
	int fd = open(KDAPL_DEVICE, O_RDWR | O_CLOEXEC);

	need(fd >= 0, "open " KDAPL_DEVICE);
	need(!call(fd, KDAPL_IOC_QUERY_ABI, &abi), "query the ABI");
	return fd;
}

static inline struct kdapl_uapi_ia_open ia_args_of(const char *name)
{
	struct kdapl_uapi_ia_open arg = {
		.async_qlen = 8, .version_major = 1, .version_minor = 2,
		.thread_safe = 1,
	};

	snprintf(arg.name, sizeof(arg.name), "%s", name);
	return arg;
}

static inline struct kdapl_uapi_ia_open ia_open_named(int fd, const char *name)
{
	struct kdapl_uapi_ia_open arg = ia_args_of(name);

	need(!call(fd, KDAPL_IOC_IA_OPEN, &arg) && !arg.ret, "open the IA");
	return arg;
}

static inline __u32 ia_close(int fd, __u64 ia, __u32 flags)
{
	struct kdapl_uapi_handle_flags arg = { .handle = ia, .flags = flags };

	return call(fd, KDAPL_IOC_IA_CLOSE, &arg) ? ~0U : arg.ret;
}

static inline struct kdapl_uapi_evd_create evd_create(int fd, __u64 ia, int qlen,
						      __u32 flags)
{
	struct kdapl_uapi_evd_create arg = {
		.ia = ia, .qlen = qlen, .flags = flags,
	};

	need(!call(fd, KDAPL_IOC_EVD_CREATE, &arg) && !arg.ret, "create an EVD");
	return arg;
}

static inline __u64 pz_create(int fd, __u64 ia)
{
	struct kdapl_uapi_pz_create arg = { .ia = ia };

	need(!call(fd, KDAPL_IOC_PZ_CREATE, &arg) && !arg.ret, "create a PZ");
	return arg.pz;
}

static inline __u64 ep_create(int fd, __u64 ia, __u64 pz, __u64 dto_evd,
			      __u64 conn_evd)
{
	struct kdapl_uapi_ep_create arg = {
		.ia = ia, .pz = pz, .recv_evd = dto_evd, .request_evd = dto_evd,
		.connect_evd = conn_evd,
	};

	need(!call(fd, KDAPL_IOC_EP_CREATE, &arg) && !arg.ret, "create an EP");
	return arg.ep;
}

static inline __u32 handle_call(int fd, unsigned int cmd, __u64 handle)
{
	struct kdapl_uapi_handle arg = { .handle = handle };

	return call(fd, cmd, &arg) ? ~0U : arg.ret;
}

static inline __u32 evd_wait(int fd, __u64 evd, int threshold, __u32 timeout,
			     __u32 *queued)
{
	struct kdapl_uapi_evd_wait arg = {
		.evd = evd, .threshold = threshold, .timeout = timeout,
	};
	int err = call(fd, KDAPL_IOC_EVD_WAIT, &arg);

	if (queued)
		*queued = arg.queued;
	return err && err != EINTR ? ~0U : arg.ret;
}

static inline void expect_no_map(int fd, __u64 offset, size_t size, int prot,
				 int flags, int want, const char *what)
{
	void *map = mmap(NULL, size, prot, flags, fd, offset);

	check(map == MAP_FAILED && errno == want, "A8", what,
	      map == MAP_FAILED ? errno : 0);
	if (map != MAP_FAILED)
		munmap(map, size);
}

#endif /* ABI_H */
