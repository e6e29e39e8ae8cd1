/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How the library writes a DAT_RETURN of its own, in the words of the kernel's
 * kdapl/core/ret.h: one way for each type, with the part of the subtype's name
 * that differs.
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
 * For shim_ioctl(), by calls that hand the kernel no pointer of the consumer's:
 * the kernel finding a bad one is the library's own mistake.
 */
#define RET_NO_FAULT		RET(INTERNAL_ERROR)

#endif /* SHIM_RET_H */
