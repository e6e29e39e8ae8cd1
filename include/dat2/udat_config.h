/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compile-time choices of a user-level DAT program. Included by udat.h.
 */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

/*
 * The thread safety that dat_ia_open asks the provider for. The value is
 * fixed: dat.conf entries written for existing programs rely on it.
 */
#undef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_FALSE

/* dat_extension_op is always declared; programs for other libraries ask for it by this. */
#undef DAT_EXTENSIONS
#define DAT_EXTENSIONS		1

#endif /* _UDAT_CONFIG_H_ */
