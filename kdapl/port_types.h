/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The types by which the shared rules of DTOs (common/dto/) name things of the module; port.h has
 * the functions.  The library has files of the same names for the same purpose.
 */
#ifndef DTO_PORT_TYPES_H
#define DTO_PORT_TYPES_H

#include <linux/stddef.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <dat/kdat.h>
#include "dat_private.h"
#include "dat_ret.h"

/* A segment as the device is told of it, an LMR, a number of verbs for a request. */
#define port_sge	ib_sge
#define port_lmr	kdapl_lmr
#define PORT_WR(opcode)	IB_WR_##opcode

typedef DAT_EP_ATTR port_ep_attr;

#endif /* DTO_PORT_TYPES_H */
