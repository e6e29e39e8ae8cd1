/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The types by which the shared rules of DTOs (common/dto/) name things of the library; port.h has
 * the functions. The module has files of the same names for the same purpose.
 */
#ifndef DTO_PORT_TYPES_H
#define DTO_PORT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/kdapl.h>
#include "shim.h"
#include "ret.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define U32_MAX		UINT32_MAX

#define likely(x)	SHIM_LIKELY(x)
#define unlikely(x)	SHIM_UNLIKELY(x)
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define __maybe_unused	__attribute__((unused))

/* A segment as the device is told of it, an LMR, a number of verbs for a request. */
#define port_sge	ibv_sge
#define port_lmr	pass_lmr
#define PORT_WR(opcode)	IBV_WR_##opcode

typedef struct kdapl_uapi_ep_attr port_ep_attr;

#endif /* DTO_PORT_TYPES_H */
