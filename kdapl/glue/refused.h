/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How the glue traces what a device or rdma_cm refuses: once, at the call that
 * was refused, under a name that is used at no other call.
 */
#ifndef KDAPL_REFUSED_H
#define KDAPL_REFUSED_H

#include "../trace.h"

/**
 * kdapl_refused - trace a refusal
 * @what: name of the call, which no other call has
 * @ret: what it returned: 0, or an errno
 *
 * Any context.
 *
 * Return: @ret.
 */
static inline int kdapl_refused(const char *what, int ret)
{
	if (ret)
		trace_kdapl_error(what, ret);
	return ret;
}

#endif /* KDAPL_REFUSED_H */
