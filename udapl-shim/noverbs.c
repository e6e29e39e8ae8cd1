// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Takes the place of the pass_*.c in a library that is built without libibverbs (VERBS=): there
 * the kernel has all queues. Called by cmd_ia.c and dev.c.
 */
#include "shim.h"

void shim_pass_child(void)
{
}

/* shim_pass_open - refuse passthrough if it was asked for; other IAs stay forwarded */
DAT_RETURN shim_pass_open(struct shim_object *ia, const char *ia_name,
			  enum shim_mode mode, const char *asked_by)
{
	(void)ia;
	if (mode != SHIM_MODE_PASSTHROUGH)
		return DAT_SUCCESS;
	shim_mode_refused(ia_name, asked_by, "the library is built without libibverbs");
	return RET(MODEL_NOT_SUPPORTED);
}
