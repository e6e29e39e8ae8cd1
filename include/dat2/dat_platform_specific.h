/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What DAT takes from the platform: integer widths, pointers, socket
 * addresses, and the way from a handle to its provider.
 *
 * Included by udat.h before everything else; it needs no other header before it.
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <netinet/in.h>
#include <sys/socket.h>

typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;

typedef unsigned long long DAT_UVERYLONG;
typedef void *DAT_PVOID;
typedef int DAT_COUNT;
typedef DAT_UINT64 DAT_PADDR;	/* a physical address */

#define DAT_SOCK_ADDR		struct sockaddr
#define DAT_SOCK_ADDR6		struct sockaddr_in6
#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

/* Every object that a handle points to starts with its DAT_PROVIDER. */
#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle)	(*(DAT_PROVIDER **)(handle))
#endif

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
