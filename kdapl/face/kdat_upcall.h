/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Upcalls of kernel consumers: the interface between face/kdat_evd.c, which has the entry
 * points and checks the arguments, and face/kdat_upcall.c, which runs the upcalls.
 */
#ifndef KDAPL_KDAT_UPCALL_H
#define KDAPL_KDAT_UPCALL_H

#include <dat/kdat_linux.h>
#include "core/core.h"

/* Does the policy of DAT 1.2 allow upcalls?  MANY is run as SINGLE_INSTANCE (E97). */
static inline bool kdat_upcall_active(DAT_UPCALL_POLICY policy)
{
	return policy == DAT_UPCALL_SINGLE_INSTANCE ||
	       policy == DAT_UPCALL_MANY;
}

int kdat_upcall_init(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall);
int kdat_upcall_modify(struct kdapl_evd *evd, DAT_UPCALL_POLICY policy,
		       const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);
void kdat_upcall_query(struct kdapl_evd *evd, DAT_EVD_PARAM *param);

#endif /* KDAPL_KDAT_UPCALL_H */
