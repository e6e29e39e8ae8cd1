/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The port of the suites of this folder: the shared rules of DTOs (common/dto/) over LMRs of a
 * test's own, with neither device nor endpoint.  The same sources are compiled as programs of
 * the host (udapl-shim/Makefile) and into the KUnit build of the module (tests/kunit/Kbuild).
 */
#ifndef DTO_PORT_TYPES_H
#define DTO_PORT_TYPES_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
#include <dat/kdat.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dat/udat.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define U32_MAX		UINT32_MAX

#define likely(x)	(x)
#define unlikely(x)	(x)
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define __maybe_unused	__attribute__((unused))
#endif
#include "dat_private.h"
#include "dat_ret.h"

/* A segment, with the names that verbs have. */
struct port_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

/* An LMR: what the checks look at. */
struct port_lmr {
	u32 context;
	u64 start;
	u64 length;
	const int *pz;
	u32 sinks;
	u32 lkey;
	u32 privileges;
};

/* The numbers that verbs have; tests only compare them. */
enum {
	PORT_WR_RDMA_WRITE,
	PORT_WR_RDMA_WRITE_WITH_IMM,
	PORT_WR_SEND,
	PORT_WR_RDMA_READ = 4,
	PORT_WR_ATOMIC_CMP_AND_SWP,
	PORT_WR_ATOMIC_FETCH_AND_ADD,
	PORT_WR_SEND_WITH_INV = 9,
};

#define PORT_WR(opcode)	PORT_WR_##opcode

typedef DAT_EP_ATTR port_ep_attr;

/* The module has functions of these names, too. */
#define kdapl_dto_set_limits	port_dto_set_limits
#define kdapl_segments_trim	port_segments_trim
#define kdapl_check_extension	port_check_extension

#endif /* DTO_PORT_TYPES_H */
