/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How the core and the faces write a DAT_RETURN: a macro for each type, whose argument is the
 * part of the subtype's name that differs.  Where the subtype is in a variable, DAT_ERROR() is
 * written out.
 */
#ifndef KDAPL_RET_H
#define KDAPL_RET_H

#include <dat/kdat.h>

/* DAT_<type> without a subtype */
#define RET(type)		DAT_ERROR(DAT_##type, DAT_NO_SUBTYPE)
/* The handle of an IA, EP, EVD_RECV, ... */
#define RET_BAD_HANDLE(which)	\
	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
/* Argument n of the call, from 1 on */
#define RET_BAD_ARG(n)		\
	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define RET_BAD_STATE(which)	\
	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##which)
/* MEMORY, TEP, TEVD, ... */
#define RET_NO_RESOURCE(which)	\
	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##which)

#endif /* KDAPL_RET_H */
