/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The return codes of DAT, for the core and the faces. */
#ifndef KDAPL_RET_H
#define KDAPL_RET_H

#include <dat/kdat.h>
#include "dat_ret.h"

#endif /* KDAPL_RET_H */
