/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* DAT 2.0 in the place of DAT 1.2, see udat.h beside it. */
#include <dat2/dat_registry.h>
