// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Has the library use the memory windows of a device though the kernel says that they admit
 * more than they should (KDAPL_VERBS_WIDE_WINDOWS): Soft-RoCE is the only device that tests
 * have. Preloaded by tests/guest/rules.sh --windows; the library knows nothing of it.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <rdma/kdapl.h>

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int fd, unsigned long request, void *arg);
	struct kdapl_uapi_ia_passthrough *opened;
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!real)
		real = dlsym(RTLD_NEXT, "ioctl");
	if (!real)
		abort();
	ret = real(fd, request, arg);
	if (!ret && request == KDAPL_IOC_IA_PASSTHROUGH) {
		opened = arg;
		opened->hints &= ~KDAPL_VERBS_WIDE_WINDOWS;
	}
	return ret;
}
