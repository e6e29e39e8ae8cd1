/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Provider-specific additions at user level. Included by udat.h; there are
 * none beyond the common ones.
 */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat2/dat_vendor_specific.h>

#endif /* _UDAT_VENDOR_SPECIFIC_H_ */
