// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libdaplkdapl.so.2: the library as a provider for OpenFabrics' libdat2.so.2, in the place of
 * registry.c. That library reads dat.conf, loads this one for a line that names it, and calls
 * dat_provider_init() with the name of the adapter and the parameters of the line.
 *
 * It shows consumers a small number for an IA, where this library has a pointer. It translates the
 * handles that are arguments, and has a function to translate those that queries show. When an IA
 * is closed it finds the line again by the name in the IA's table and by the attribute
 * is_thread_safe. So each line has a table of its own, and an IA the attribute of its line.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"

/**
 * struct line - a line of dat.conf for which the library was loaded
 * @table: what the first word of an IA's handle points to; has the name of the line
 * @used: dat_provider_fini() has not been called for it
 *
 * Lines are never freed: an IA that was not closed may still refer to one.
 */
struct line {
	DAT_PROVIDER table;
	struct shim_record record;
	struct line *next;
	bool used;
};

#pragma GCC visibility push(default)
void dat_provider_init(const DAT_PROVIDER_INFO *provider_info, const char *instance_data);
void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info);
DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP extended_op, va_list args);
#pragma GCC visibility pop

static struct line *lines;
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;

/* Not there if a program loads the library without OpenFabrics' registry. */
extern __typeof__(dats_get_ia_handle) dats_get_ia_handle __attribute__((weak));
extern __typeof__(dat_registry_add_provider) dat_registry_add_provider __attribute__((weak));
extern __typeof__(dat_registry_remove_provider) dat_registry_remove_provider __attribute__((weak));

/*
 * A function of the registry that has loaded the library. The library is not linked with that
 * registry, so its references to it have no version: where the process has libdat.so.1 too, and
 * has it first, they are bound to the registry of DAT 1.2. So the version is asked for by its name.
 * A registry that has no versions is what the references are bound to.
 */
#define OF_REGISTRY(name)	((__typeof__(name) *)of_registry(#name, (void *)(name)))

static void *of_registry(const char *name, void *bound)
{
	void *found = dlvsym(RTLD_DEFAULT, name, "DAT_2.0");

	return found ? found : bound;
}

/* dats_get_ia_handle(), which queries use: looked up once, when the first line is there. */
static __typeof__(dats_get_ia_handle) *_Atomic get_ia_handle;

void shim_registry_lock(void)
{
	pthread_mutex_lock(&lines_lock);
}

void shim_registry_unlock(void)
{
	pthread_mutex_unlock(&lines_lock);
}

void shim_registry_child(void)
{
	pthread_mutex_init(&lines_lock, NULL);
}

/* The handles of other providers do not come here. */
const DAT_PROVIDER *shim_other(DAT_HANDLE handle)
{
	(void)handle;
	return NULL;
}

DAT_IA_HANDLE shim_ia_shown(uint64_t token)
{
	__typeof__(dats_get_ia_handle) *get = get_ia_handle;
	DAT_IA_HANDLE ia = shim_handle(token), shown;

	return ia && get && !get(ia, &shown) ? shown : ia;
}

/* shim_ia_safety - the attribute is_thread_safe of an IA, by which the registry finds its line */
DAT_BOOLEAN shim_ia_safety(const struct shim_object *ia, DAT_BOOLEAN own)
{
	const struct line *line = (const struct line *)ia->provider;

	return ia->provider == &shim_provider ? own : line->record.info.is_thread_safe;
}

/* The line of an adapter, or NULL; the lock is held. */
static struct line *find_line(const char *name, DAT_BOOLEAN thread_safe)
{
	struct line *line;

	for (line = lines; line; line = line->next)
		if (line->used && !strcmp(line->record.info.ia_name, name) &&
		    !line->record.info.is_thread_safe == !thread_safe)
			break;
	return line;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_version_major, DAT_UINT32 dat_version_minor,
			DAT_BOOLEAN thread_safety)
{
	struct line *line = NULL;
	struct shim_object *ia;
	DAT_RETURN ret;

	shim_why(NULL);
	pthread_mutex_lock(&lines_lock);
	if (ia_name)
		line = find_line(ia_name, thread_safety);
	pthread_mutex_unlock(&lines_lock);
	ret = shim_ia_open(line ? &line->record : NULL, ia_name, asynch_evd_min_qlen,
			   asynch_evd_handle, ia_handle, dat_version_major, dat_version_minor,
			   DAT_FALSE);
	if (ret)
		return shim_open_failed(ia_name, ret);
	ia = *ia_handle;
	if (line)
		ia->provider = &line->table;
	return DAT_SUCCESS;
}

/* A table's function has no argument for the thread safety, so there is one for either. */
static DAT_RETURN open_safe(const DAT_NAME_PTR ia_name, DAT_COUNT asynch_evd_min_qlen,
			    DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle)
{
	return dat_ia_openv(ia_name, asynch_evd_min_qlen, asynch_evd_handle, ia_handle,
			    DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_TRUE);
}

static DAT_RETURN open_plain(const DAT_NAME_PTR ia_name, DAT_COUNT asynch_evd_min_qlen,
			     DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle)
{
	return dat_ia_openv(ia_name, asynch_evd_min_qlen, asynch_evd_handle, ia_handle,
			    DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	DAT_RETURN ret = own_ia_close(ia_handle, close_flags);

	return ret ? shim_failed("dat_ia_close", "(ia_handle, close_flags)", ret) : ret;
}

/* A new line, or one that is unused; NULL: no memory. The lock is held. */
static struct line *new_line(void)
{
	struct line *line;

	for (line = lines; line; line = line->next)
		if (!line->used)
			return line;
	line = calloc(1, sizeof(*line));
	if (line) {
		line->next = lines;
		lines = line;
	}
	return line;
}

/*
 * dat_provider_init - the registry has loaded the library for a line of dat.conf
 * @provider_info: name, version and thread safety of the line
 * @instance_data: its parameters, as dat.conf(5) describes them for kdapl
 *
 * Without an entry in the registry the open fails there; the reason is printed here.
 */
void dat_provider_init(const DAT_PROVIDER_INFO *provider_info, const char *instance_data)
{
	__typeof__(dat_registry_add_provider) *add = OF_REGISTRY(dat_registry_add_provider);
	char why[SHIM_WHY];
	struct line *line;

	get_ia_handle = OF_REGISTRY(dats_get_ia_handle);
	pthread_mutex_lock(&lines_lock);
	line = new_line();
	if (line) {
		free(line->record.parameters);
		line->record = (struct shim_record) {
			.info = *provider_info,
			.parameters = strdup(instance_data ? instance_data : ""),
			.own = true,
		};
		line->table = shim_provider;
		line->table.device_name = line->record.info.ia_name;
		line->table.ia_open_func = provider_info->is_thread_safe ? open_safe : open_plain;
		line->used = line->record.parameters;
	}
	if (!line || !line->used) {
		shim_say("%s: no memory", provider_info->ia_name);
	} else if (!shim_conf_parameters(&line->record, why)) {
		shim_say("%s: %s", provider_info->ia_name, why);
		line->used = false;
	}
	pthread_mutex_unlock(&lines_lock);
	if (!line || !line->used)
		return;
	if (!add || add(&line->table, &line->record.info))
		line->used = false;
}

/* dat_provider_fini - the registry is about to unload the library for a line */
void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info)
{
	__typeof__(dat_registry_remove_provider) *drop = OF_REGISTRY(dat_registry_remove_provider);
	struct line *line;

	pthread_mutex_lock(&lines_lock);
	line = find_line(provider_info->ia_name, provider_info->is_thread_safe);
	if (line)
		line->used = false;
	pthread_mutex_unlock(&lines_lock);
	if (line && drop)
		drop(&line->table, &line->record.info);
}

/* dapl_extensions - the registry looks for this function, and calls the table's instead */
DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP extended_op, va_list args)
{
	return face_extendedop(handle, extended_op, args);
}
