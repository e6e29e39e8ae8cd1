/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How module and library write a DAT_RETURN: a macro for each type, whose argument is the part
 * of the subtype's name that differs.  DAT_ERROR() is written out where the type or the
 * subtype is chosen when the code runs.  The file that includes this one includes the headers
 * of DAT first.
 */
#ifndef DAT_RET_H
#define DAT_RET_H

/* DAT_<type> without a subtype */
#define RET(type)		DAT_ERROR(DAT_##type, DAT_NO_SUBTYPE)
/* The handle of an IA, EP, EVD_RECV, ... */
#define RET_BAD_HANDLE(which)	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
/* A handle that may be of any type */
#define RET_BAD_HANDLE1		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
/* Argument n of the call, from 1 on */
#define RET_BAD_ARG(n)		DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
/* UNSUPPORTED, MALFORMED, ... */
#define RET_BAD_ADDRESS(why)	DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_##why)
#define RET_BAD_STATE(which)	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##which)
/* MEMORY, TEP, TEVD, ... */
#define RET_NO_RESOURCE(which)	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_##which)
/* The right to READ, RDMA_WRITE, ... is missing. */
#define RET_NO_PRIVILEGE(which)	DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_##which)
/* NAME_NOT_REGISTERED, MAJOR_NOT_FOUND, ... */
#define RET_NO_PROVIDER(why)	DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_##why)

#endif /* DAT_RET_H */
