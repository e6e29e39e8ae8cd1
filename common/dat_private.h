/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the module and the library share beyond the public headers. These have
 * to be included first: <dat/kdat.h> in the module, <dat/udat.h> in the library.
 */
#ifndef _DAT_PRIVATE_H_
#define _DAT_PRIVATE_H_

/* The return value of a failed call: the error class, a type, a subtype. */
#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#endif /* _DAT_PRIVATE_H_ */
