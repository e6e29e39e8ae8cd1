/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Provider-specific additions. There are none: the
 * header exists because programs may include it by name.
 */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */
