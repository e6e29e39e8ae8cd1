/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Provider-specific additions in the kernel. Included by kdat.h; there are
 * none beyond the common ones.
 */
#ifndef _KDAT_VENDOR_SPECIFIC_H_
#define _KDAT_VENDOR_SPECIFIC_H_

#include <dat/dat_vendor_specific.h>

#endif /* _KDAT_VENDOR_SPECIFIC_H_ */
