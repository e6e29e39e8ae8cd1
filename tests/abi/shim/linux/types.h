/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few names that kdat.h and kdat_linux.h take from kernel headers, so that the kernel
 * face can be compiled without a kernel, and with nothing else in sight.
 */
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef __SIZE_TYPE__ size_t;

#define NULL		((void *)0)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define EXPORT_SYMBOL(s)
#ifdef __cplusplus
#define BUILD_BUG_ON(c)	static_assert(!(c), #c)
#else
#define BUILD_BUG_ON(c)	_Static_assert(!(c), #c)
#endif
#define offsetof(t, m)	__builtin_offsetof(t, m)

struct list_head {
	struct list_head *next, *prev;
};

struct scatterlist;

struct sockaddr {
	unsigned short sa_family;
	char sa_data[14];
};

struct sockaddr_in6 {
	char bytes[28];
};

#define AF_INET		2
#define AF_INET6	10

#endif /* _SHIM_LINUX_TYPES_H */
