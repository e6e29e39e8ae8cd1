// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The one place that makes the tracepoints of trace.h. */
#include "compat.h"
#include "core/ep.h"
#include "core/ia.h"
#define CREATE_TRACE_POINTS
#include "trace.h"
