/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The return codes of DAT, for every file of the library that has dat_* calls. */
#ifndef SHIM_RET_H
#define SHIM_RET_H

#include "dat_ret.h"

/*
 * The @fault of shim_ioctl() for calls that pass no pointer of the consumer's
 * to the kernel: if the kernel finds a bad one, the library has a bug.
 */
#define RET_NO_FAULT		RET(INTERNAL_ERROR)

#endif /* SHIM_RET_H */
