/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The lines of DAT_DEBUG: what debug.c, which writes them, and refused.c share. */
#ifndef SHIM_DEBUG_H
#define SHIM_DEBUG_H

#include <stdarg.h>

#include "shim.h"

#define SHIM_LINE	1024

/* A line that is being composed; what does not fit into it is left out. */
struct shim_text {
	size_t length;
	char line[SHIM_LINE];
};

/* The arguments of a call; a structure, since a va_list may be an array */
struct shim_args {
	va_list list;
};

/* debug.c */
void shim_put(struct shim_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* refused.c */
void shim_put_refused(struct shim_text *text, const char *call, const char *params,
		      unsigned int number, struct shim_args *args);
bool shim_put_excess(struct shim_text *text, const char *call, const char *params,
		     struct shim_args *args);

#endif /* SHIM_DEBUG_H */
