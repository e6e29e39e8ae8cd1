/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The records of dat.conf, as conf.c reads them and registry.c and cmd_ia.c use them.
 */
#ifndef SHIM_REGISTRY_H
#define SHIM_REGISTRY_H

#include "shim.h"

/**
 * struct shim_record - a valid record of dat.conf for uDAPL, marked default
 * @next: in the order of the file
 * @line: where it is, from 1 on
 * @info: what it offers
 * @library: for dlopen()
 * @parameters: for its dat_provider_init()
 * @own: it is an adapter of this library, of another name perhaps
 * @adapter: of the kernel's list, if it is
 * @mode: whose queues its IAs are to have, if it says so (@has_mode)
 * @users: IAs that are open, or being opened, through the library
 * @loaded: the library, while it has users
 * @fini: its dat_provider_fini(), or NULL
 *
 * What is read from the file never changes, and stays. The rest is protected by the lock for
 * loading (registry.c).
 */
struct shim_record {
	struct shim_record *next;
	unsigned int line;
	DAT_PROVIDER_INFO info;
	char *library;
	char *parameters;
	bool own;
	char adapter[DAT_NAME_MAX_LENGTH];
	bool has_mode;
	enum shim_mode mode;

	unsigned int users;
	void *loaded;
	DAT_PROVIDER_FINI_FUNC fini;
};

/* Why a line is malformed, in words. */
#define SHIM_WHY	200

/* conf.c */
bool shim_conf_line(const char *line, size_t length, struct shim_record **record,
		    char why[SHIM_WHY]);
const char *shim_conf_path(void);
bool shim_conf_read(struct shim_record **first, bool *readable);

/* cmd_ia.c */
DAT_RETURN shim_adapters(DAT_PROVIDER_INFO **infos, uint32_t *number);
DAT_RETURN shim_ia_open(const struct shim_record *record, const DAT_NAME_PTR ia_name,
			DAT_COUNT asynch_evd_min_qlen, DAT_EVD_HANDLE *asynch_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_version_major,
			DAT_UINT32 dat_version_minor, DAT_BOOLEAN thread_safety);

#endif /* SHIM_REGISTRY_H */
