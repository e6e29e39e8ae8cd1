/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between the kernels that kdat_iser builds for: 6.1, 6.12 and newer. */
#ifndef KDAT_ISER_COMPAT_H
#define KDAT_ISER_COMPAT_H

#include <linux/version.h>

/* The header moved in 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#endif /* KDAT_ISER_COMPAT_H */
