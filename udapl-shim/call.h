/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CALL() makes an exported dat_* function. calls.c has those that are the same in all versions of
 * DAT, face1/calls.c and face2/calls.c the others.
 */
#ifndef SHIM_CALL_H
#define SHIM_CALL_H

#include "shim.h"

/* Calls the function of another provider's table, which is NULL if the provider has none. */
#define THEIRS(other, call, args)	\
	((other)->call##_func ? (other)->call##_func args : RET(NOT_IMPLEMENTED))

/* BARE (a, b): a, b */
#define BARE(...)	__VA_ARGS__

#define CALL(call, handle, params, args)					\
DAT_RETURN dat_##call params							\
{										\
	const DAT_PROVIDER *other = shim_other(handle);				\
	DAT_RETURN ret = other ? THEIRS(other, call, args) : own_##call args;	\
										\
	return SHIM_UNLIKELY(ret) ?						\
	       shim_refused("dat_" #call, #params, ret, BARE args) : ret;		\
}

#endif /* SHIM_CALL_H */
