/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The records of dat.conf, as conf.c reads them and registry.c and cmd_ia.c use them.
 */
#ifndef SHIM_REGISTRY_H
#define SHIM_REGISTRY_H

#include "shim.h"

/**
 * struct shim_record - a valid record of dat.conf for uDAPL, marked default
 * @next: the next one in the order of the file
 * @line: the number of its line, from 1 on
 * @info: name, version and thread safety that it offers
 * @library: the file for dlopen()
 * @parameters: what the library's dat_provider_init() is given
 * @own: it stands for an adapter of kdapl, whose name may be another one; no library is loaded
 * @adapter: if @own, the name of that adapter in the kernel's list
 * @has_mode: if @own, the record says which mode its IAs get
 * @mode: that mode
 * @tells_last: if @own, its EPs on an SRQ tell when they take no more receives (RULING 69)
 * @counts: if @own, its IAs have counters
 * @users: IAs that are open, or being opened, through the library
 * @loaded: what dlopen() returned, while the library has users
 * @fini: the library's dat_provider_fini(), or NULL
 *
 * The fields up to @counts are read from the file; they never change, and the record is never
 * freed. The others are protected by load_lock (registry.c).
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
	bool tells_last;
	bool counts;

	unsigned int users;
	void *loaded;
	DAT_PROVIDER_FINI_FUNC fini;
};

/* Size of the text that says why a line is malformed */
#define SHIM_WHY	200

/* conf.c */
bool shim_conf_parameters(struct shim_record *record, char why[SHIM_WHY]);
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
