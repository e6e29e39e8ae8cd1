/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How the library writes a DAT_RETURN: a macro for each type, whose argument is
 * the part of the subtype's name that differs. The same macros as in the
 * kernel's kdapl/core/ret.h. Used by every file that has dat_* calls.
 */
#ifndef SHIM_RET_H
#define SHIM_RET_H

/* DAT_<type> without a subtype */
#define RET(type)		DAT_ERROR(DAT_##type, DAT_NO_SUBTYPE)
/* The handle of an IA, EP, EVD_REQUEST, ... */
#define RET_BAD_HANDLE(which)	\
	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
/* A handle that may be of any type */
#define RET_BAD_HANDLE1		\
	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
/* Argument n of the call, from 1 on */
#define RET_BAD_ARG(n)		\
	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define RET_BAD_STATE(which)	\
	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##which)
/* MEMORY, TEP, TEVD, ... */
#define RET_NO_RESOURCE(which)	\
	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##which)

/*
 * The @fault of shim_ioctl() for calls that pass no pointer of the consumer's
 * to the kernel: if the kernel finds a bad one, the library has a bug.
 */
#define RET_NO_FAULT		RET(INTERNAL_ERROR)

#endif /* SHIM_RET_H */
