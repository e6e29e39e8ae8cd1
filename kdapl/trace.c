// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The one place that makes the tracepoints of trace.h. */
#include "compat.h"
#include "core/ep.h"
#include "core/ia.h"
#include "core/srq.h"

/* A kernel without tracepoints has no use for the two. */

/* Of the SRQ that the receive was posted to, or 0. */
static u64 __maybe_unused cookie_srq(const struct kdapl_cookie *cookie)
{
	if (!(cookie->flags & KDAPL_COOKIE_SRQ))
		return 0;
	return kdapl_srq_cookie_of(cookie)->srq->obj.token;
}

/* Which one it is of its endpoint's requests or receives; of an SRQ, which post. */
static u32 __maybe_unused cookie_slot(const struct kdapl_cookie *cookie)
{
	if (cookie->flags & KDAPL_COOKIE_SRQ)
		return kdapl_srq_cookie_of(cookie)->number;
	return cookie - cookie->dir->ring;
}

#define CREATE_TRACE_POINTS
#include "trace.h"
