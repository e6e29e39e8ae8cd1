/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compile-time choices of a kernel DAT consumer. Included by kdat.h.
 */
#ifndef _KDAT_CONFIG_H_
#define _KDAT_CONFIG_H_

/* Kernel providers have to be thread safe, so dat_ia_open always asks for it. */
#undef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_TRUE

#endif /* _KDAT_CONFIG_H_ */
