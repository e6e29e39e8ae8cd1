// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registry: which adapters there are, who provides each, and the calls that open, close and
 * list them. An open looks among the providers that the program has added, then in the records of
 * dat.conf (conf.c), then among the adapters that the kernel lists: Documentation/overview.rst, The
 * library, from call to file.
 *
 * Locks: load_lock is the outermost of the library and is recursive, so that a provider may
 * make any call in its dat_provider_init(). The lock of the registry is held for short times
 * only, and no other lock of the library is taken inside it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"

/**
 * struct entry - a provider that is registered
 * @table: its functions; NULL while the entry is free
 * @next: the entry that was made before this one, or NULL
 * @info: name, version and thread safety of its adapter, its key: no other entry has the same
 * @record: the record of dat.conf whose library has added it; NULL: the program has
 * @opens: IAs of it that are open or being opened
 *
 * Entries are never freed, so that shim_other() can walk the list without a lock.
 */
struct entry {
	const DAT_PROVIDER *_Atomic table;
	struct entry *next;
	DAT_PROVIDER_INFO info;
	struct shim_record *record;
	unsigned int opens;
};

/**
 * struct open_ia - an IA of another provider
 * @closing: a thread is closing it
 */
struct open_ia {
	struct open_ia *next;
	DAT_IA_HANDLE handle;
	struct entry *entry;
	bool closing;
};

static struct {
	pthread_mutex_t lock;
	bool read;			/* dat.conf */
	bool readable;
	struct shim_record *records;
	struct entry *_Atomic entries;
	struct open_ia *opens;
	bool ended;			/* the process is about to end (G11) */
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* How many IAs of other providers are open, or being opened. */
static atomic_uint others_open;

static pthread_mutex_t load_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* The record whose library this thread is loading, or NULL. */
static __thread struct shim_record *loading;

/* ---- fork ---------------------------------------------------------------- */

/* shim_registry_lock - before fork(): wait until no thread changes the registry or loads */
void shim_registry_lock(void)
{
	pthread_mutex_lock(&load_lock);
	pthread_mutex_lock(&registry.lock);
}

void shim_registry_unlock(void)
{
	pthread_mutex_unlock(&registry.lock);
	pthread_mutex_unlock(&load_lock);
}

/*
 * shim_registry_child - make the registry usable in a child of fork()
 *
 * The providers stay registered, and their IAs stay in the list: only the provider itself knows
 * whether an IA of the parent works in the child.
 */
void shim_registry_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	pthread_mutex_init(&registry.lock, NULL);
	load_lock = fresh;
}

static __attribute__((destructor)) void registry_ends(void)
{
	pthread_mutex_lock(&registry.lock);
	registry.ended = true;
	pthread_mutex_unlock(&registry.lock);
}

/* ---- which adapter a name means ------------------------------------------ */

static bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       !a->is_thread_safe == !b->is_thread_safe && !strcmp(a->ia_name, b->ia_name);
}

/*
 * The search for the adapter that fits an open best (G9).
 *
 * @asked: what the open asks for
 * @best: the best that was found, or NULL
 * @why: the subtype for a search that finds none: what was wrong with the adapter that passed
 *	most of the comparisons in consider(). The values of the subtypes have the order of these
 *	comparisons, so the greatest one is kept
 */
struct match {
	DAT_PROVIDER_INFO asked;
	const DAT_PROVIDER_INFO *best;
	uint32_t why;
};

static bool is_better(const struct match *m, const DAT_PROVIDER_INFO *info)
{
	if (!m->best || info->dapl_version_minor != m->best->dapl_version_minor)
		return !m->best || info->dapl_version_minor < m->best->dapl_version_minor;
	return !info->is_thread_safe == !m->asked.is_thread_safe &&
	       !m->best->is_thread_safe != !m->asked.is_thread_safe;
}

static void consider(struct match *m, const DAT_PROVIDER_INFO *info)
{
	uint32_t why = DAT_NO_SUBTYPE;

	if (strcmp(info->ia_name, m->asked.ia_name))
		why = DAT_NAME_NOT_REGISTERED;
	else if (info->dapl_version_major != m->asked.dapl_version_major)
		why = DAT_MAJOR_NOT_FOUND;
	else if (info->dapl_version_minor < m->asked.dapl_version_minor)
		why = DAT_MINOR_NOT_FOUND;
	else if (m->asked.is_thread_safe && !info->is_thread_safe)
		why = DAT_THREAD_SAFETY_NOT_FOUND;
	else if (is_better(m, info))
		m->best = info;
	if (why > m->why)
		m->why = why;
}

/* ---- entries ------------------------------------------------------------- */

static bool is_name(const DAT_PROVIDER_INFO *info)
{
	size_t length = strnlen(info->ia_name, sizeof(info->ia_name));

	return length && length < sizeof(info->ia_name);
}

/* The entry whose key is @info, or NULL; the registry is locked. */
static struct entry *find_entry(const DAT_PROVIDER_INFO *info)
{
	struct entry *e;

	for (e = registry.entries; e; e = e->next)
		if (e->table && same_key(&e->info, info))
			return e;
	return NULL;
}

/* A free entry, or NULL if there is no memory; the registry is locked. */
static struct entry *new_entry(void)
{
	struct entry *e;

	for (e = registry.entries; e; e = e->next)
		if (!e->table)
			return e;
	e = calloc(1, sizeof(*e));
	if (e) {
		e->next = registry.entries;
		registry.entries = e;
	}
	return e;
}

static DAT_RETURN add_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	struct entry *e;

	if (registry.ended)
		return RET(INVALID_STATE);
	if (find_entry(info))
		return RET(PROVIDER_ALREADY_REGISTERED);
	e = new_entry();
	if (!e)
		return RET_NO_RESOURCE(MEMORY);
	e->info = *info;
	e->record = loading;
	e->opens = 0;
	e->table = table;
	return DAT_SUCCESS;
}

/*
 * dat_registry_add_provider - register a provider
 * @provider: the table of its functions; a function that it does not have is NULL. The table
 *	has to stay where it is until the provider is removed, and the first word of each of the
 *	provider's handles has to be the table's address
 * @provider_info: name, version and thread safety; copied
 *
 * Called by a provider from its dat_provider_init(), with the info that was passed to it, or
 * by the program itself at any time. Rules G2, G4, G5.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1, /ARG2 for null pointers, /ARG2 for a name
 * that is empty or has no end, and in dat_provider_init() for other info than was passed to it;
 * DAT_PROVIDER_ALREADY_REGISTERED; DAT_INSUFFICIENT_RESOURCES/MEMORY; DAT_INVALID_STATE after
 * the library's destructor has run, at the end of the process (G11).
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret;

	if (!provider) {
		ret = RET_BAD_ARG(1);
	} else if (!provider_info || !is_name(provider_info) ||
		   (loading && !same_key(provider_info, &loading->info))) {
		ret = RET_BAD_ARG(2);
	} else {
		pthread_mutex_lock(&registry.lock);
		ret = add_provider(provider, provider_info);
		pthread_mutex_unlock(&registry.lock);
	}
	return ret ? shim_failed("dat_registry_add_provider", "(provider, provider_info)", ret) :
		     ret;
}

static DAT_RETURN remove_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	struct entry *e = find_entry(info);

	if (registry.ended)
		return RET(INVALID_STATE);
	if (!e)
		return RET_BAD_ARG(2);
	if (e->table != table)
		return RET_BAD_ARG(1);
	if (e->opens)
		return RET(PROVIDER_IN_USE);
	e->table = NULL;
	return DAT_SUCCESS;
}

/*
 * dat_registry_remove_provider - remove a provider from the registry
 * @provider: the table that it was added with
 * @provider_info: the info that it was added with
 *
 * Rules G6, G7.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a null pointer, and if another table is
 * registered for @provider_info, /ARG2 for a null pointer, a bad name, and info that is not
 * registered; DAT_PROVIDER_IN_USE while an IA of it is open; DAT_INVALID_STATE as
 * dat_registry_add_provider().
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret;

	if (!provider) {
		ret = RET_BAD_ARG(1);
	} else if (!provider_info || !is_name(provider_info)) {
		ret = RET_BAD_ARG(2);
	} else {
		pthread_mutex_lock(&registry.lock);
		ret = remove_provider(provider, provider_info);
		pthread_mutex_unlock(&registry.lock);
	}
	return ret ? shim_failed("dat_registry_remove_provider", "(provider, provider_info)",
				 ret) : ret;
}

/*
 * shim_other - find the other provider that a handle belongs to
 *
 * While an IA of another provider is open, a value that cannot be a handle of this library is
 * dereferenced: DAT says that the first word of a handle is the address of the provider's table.
 *
 * Return: the table of that provider; NULL if the handle belongs to no other provider.
 */
const DAT_PROVIDER *shim_other(DAT_HANDLE handle)
{
	const DAT_PROVIDER *table;
	struct entry *e;

	if (shim_points_to_object(handle) ||
	    !atomic_load_explicit(&others_open, memory_order_acquire))
		return NULL;
	/* Null, and the small constants that stand for asynchronous EVDs, are not pointers. */
	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % sizeof(void *))
		return NULL;
	table = *(const DAT_PROVIDER *const *)handle;
	for (e = table ? registry.entries : NULL; e; e = e->next)
		if (atomic_load_explicit(&e->table, memory_order_acquire) == table)
			return table;
	return NULL;
}

/* ---- libraries ----------------------------------------------------------- */

static void call_fini(struct shim_record *record)
{
	struct entry *e;

	if (record->fini)
		record->fini(&record->info);
	/* A provider that has not removed itself is unregistered, as its library is closed next. */
	pthread_mutex_lock(&registry.lock);
	for (e = registry.entries; e; e = e->next)
		if (e->table && e->record == record)
			e->table = NULL;
	pthread_mutex_unlock(&registry.lock);
}

/*
 * Loads the library of a record and calls its dat_provider_init(). load_lock is held.
 *
 * Return: DAT_SUCCESS; DAT_PROVIDER_NOT_FOUND if the library cannot be loaded or is no provider;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY if descriptors are short.
 */
static DAT_RETURN load(struct shim_record *record)
{
	struct shim_record *outer = loading;
	DAT_RETURN ret = RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	DAT_PROVIDER_INIT_FUNC init;

	loading = record;
	/*
	 * RTLD_NODELETE: at the last close another thread may still be in a function of the
	 * library, about to return to the program. So dlclose() must not unmap its code.
	 */
	record->loaded = dlopen(record->library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!record->loaded) {
		shim_why_theirs("%s:%u: %s", shim_conf_path(), record->line, dlerror());
		/* dlopen() sets no errno. It needs one descriptor at a time. */
		if (shim_few_descriptors(1))
			ret = RET_NO_RESOURCE(MEMORY);
		goto out;
	}
	init = (DAT_PROVIDER_INIT_FUNC)dlsym(record->loaded, DAT_PROVIDER_INIT_FUNC_STR);
	if (!init) {
		shim_why_theirs("%s:%u: %s has no " DAT_PROVIDER_INIT_FUNC_STR
				", so it is no provider", shim_conf_path(), record->line,
				record->library);
		dlclose(record->loaded);
		goto out;
	}
	record->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(record->loaded,
						     DAT_PROVIDER_FINI_FUNC_STR);
	init(&record->info, record->parameters);
	ret = DAT_SUCCESS;
out:
	loading = outer;
	return ret;
}

/*
 * Counts a user of the library of a record, and loads the library for the first one.
 * drop_library() undoes it: after the last user it calls the library's dat_provider_fini().
 *
 * Return: as load().
 */
static DAT_RETURN take_library(struct shim_record *record)
{
	DAT_RETURN ret = DAT_SUCCESS;

	pthread_mutex_lock(&load_lock);
	if (!record->users++) {
		ret = load(record);
		if (ret)
			record->users = 0;
	}
	pthread_mutex_unlock(&load_lock);
	return ret;
}

static void drop_library(struct shim_record *record)
{
	pthread_mutex_lock(&load_lock);
	if (!--record->users) {
		call_fini(record);
		dlclose(record->loaded);
		record->loaded = NULL;
	}
	pthread_mutex_unlock(&load_lock);
}

/* ---- opening and closing ------------------------------------------------- */

/* The arguments of dat_ia_openv() */
struct call {
	DAT_NAME_PTR name;
	DAT_COUNT qlen;
	DAT_EVD_HANDLE *async_evd;
	DAT_IA_HANDLE *ia;
	DAT_UINT32 major;
	DAT_UINT32 minor;
	DAT_BOOLEAN thread_safe;
};

static void entry_put(struct entry *e)
{
	pthread_mutex_lock(&registry.lock);
	e->opens--;
	pthread_mutex_unlock(&registry.lock);
	atomic_fetch_sub(&others_open, 1);
}

/* Calls the open function of another provider. The caller has counted the IA in @e->opens. */
static DAT_RETURN provider_open(struct entry *e, const struct call *call)
{
	const DAT_PROVIDER *table = e->table;
	struct open_ia *open = calloc(1, sizeof(*open));
	DAT_RETURN ret;

	if (!open)
		return RET_NO_RESOURCE(MEMORY);
	ret = table->ia_open_func ?
	      table->ia_open_func(call->name, call->qlen, call->async_evd, &open->handle) :
	      RET(NOT_IMPLEMENTED);
	if (!ret && (!open->handle || *(const DAT_PROVIDER **)open->handle != table)) {
		shim_why("the provider's handle does not begin with the address of the table "
			 "that it has registered");
		ret = RET(INTERNAL_ERROR);
		if (open->handle && table->ia_close_func)
			table->ia_close_func(open->handle, DAT_CLOSE_ABRUPT_FLAG);
	}
	if (ret) {
		free(open);
		return ret;
	}
	open->entry = e;
	*call->ia = open->handle;
	pthread_mutex_lock(&registry.lock);
	open->next = registry.opens;
	registry.opens = open;
	pthread_mutex_unlock(&registry.lock);
	return DAT_SUCCESS;
}

/*
 * Opens the adapter @key of a registered provider. @record: the record whose library has
 * registered the provider; NULL: the program has. *@ret: what the open returns. Return: false,
 * and *@ret is not set, if no such provider is registered for @key.
 */
static bool open_entry(const DAT_PROVIDER_INFO *key, const struct shim_record *record,
		       const struct call *call, DAT_RETURN *ret)
{
	struct entry *e;

	pthread_mutex_lock(&registry.lock);
	e = find_entry(key);
	if (e && e->record != record)
		e = NULL;
	if (e) {
		e->opens++;
		atomic_fetch_add(&others_open, 1);
	}
	pthread_mutex_unlock(&registry.lock);
	if (!e)
		return false;
	*ret = provider_open(e, call);
	if (*ret)
		entry_put(e);
	return true;
}

static DAT_RETURN own_open(const struct shim_record *record, const struct call *call)
{
	return shim_ia_open(record, call->name, call->qlen, call->async_evd, call->ia,
			    call->major, call->minor, call->thread_safe);
}

/*
 * Opens an adapter by a record of dat.conf. Return: DAT_PROVIDER_NOT_FOUND if the caller has to
 * try the next record of the same key (G10).
 */
static DAT_RETURN open_record(struct shim_record *record, const struct call *call)
{
	DAT_RETURN ret;

	/* Forget why the record before this one has failed: it does not explain this result. */
	shim_why(NULL);
	if (record->own) {
		ret = own_open(record, call);
		if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
			shim_why("%s:%u says that it is %s", shim_conf_path(), record->line,
				 record->adapter);
		return ret;
	}
	ret = take_library(record);
	if (ret)
		return ret;
	if (!open_entry(&record->info, record, call, &ret)) {
		shim_why_theirs("%s:%u: %s has registered no adapter of that name and version",
				shim_conf_path(), record->line, record->library);
		ret = RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	}
	if (ret)
		drop_library(record);
	return ret;
}

static DAT_RETURN open_records(const DAT_PROVIDER_INFO *key, const struct call *call)
{
	DAT_RETURN ret = RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	struct shim_record *record;

	for (record = registry.records; record; record = record->next) {
		if (!same_key(&record->info, key))
			continue;
		ret = open_record(record, call);
		if (DAT_GET_TYPE(ret) != DAT_PROVIDER_NOT_FOUND)
			break;
	}
	return ret;
}

/*
 * Reads dat.conf, unless it was read before; after that the list of records does not change.
 * Return: false if memory or descriptors are too short to open the file; then the next call
 * tries again.
 */
static bool read_conf(void)
{
	bool read;

	pthread_mutex_lock(&registry.lock);
	if (!registry.read)
		registry.read = shim_conf_read(&registry.records, &registry.readable);
	read = registry.read;
	pthread_mutex_unlock(&registry.lock);
	return read;
}

/*
 * Finds the best match for an open among the providers that the program itself has added, and
 * copies its key to @key. Return: false if none matches.
 */
static bool match_added(struct match *m, DAT_PROVIDER_INFO *key)
{
	struct entry *e;

	pthread_mutex_lock(&registry.lock);
	for (e = registry.entries; e; e = e->next)
		if (e->table && !e->record)
			consider(m, &e->info);
	if (m->best)
		*key = *m->best;
	pthread_mutex_unlock(&registry.lock);
	return m->best;
}

static DAT_RETURN registry_open(const struct call *call)
{
	struct match m = { .why = DAT_NAME_NOT_REGISTERED };
	const struct shim_record *record;
	DAT_PROVIDER_INFO key;
	DAT_RETURN ret;
	size_t length;

	length = call->name ? strnlen(call->name, sizeof(key.ia_name)) : 0;
	/* own_open() refuses these, with the code that fits. */
	if (!length || length == sizeof(key.ia_name) || !call->async_evd || !call->ia)
		return own_open(NULL, call);
	memcpy(m.asked.ia_name, call->name, length + 1);
	m.asked.dapl_version_major = call->major;
	m.asked.dapl_version_minor = call->minor;
	m.asked.is_thread_safe = call->thread_safe;

	if (match_added(&m, &key) && open_entry(&key, NULL, call, &ret))
		return ret;
	m.best = NULL;
	if (!read_conf())
		return RET_NO_RESOURCE(MEMORY);
	for (record = registry.records; record; record = record->next)
		consider(&m, &record->info);
	if (m.best)
		return open_records(m.best, call);
	ret = own_open(NULL, call);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND && DAT_GET_SUBTYPE(ret) < m.why)
		ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, m.why);
	return ret;
}

/*
 * dat_ia_openv - open an adapter
 *
 * The head of this file says which adapter a name stands for; rules G3, G4, G9, G10.
 *
 * Return: what the call of kernel modules returns, and in addition
 * DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED if the module is not loaded or the process may not
 * open its device (G9), and if none of the records' libraries both can be loaded and registers
 * what its record says. For an adapter of another provider: what that provider returns.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_version_major, DAT_UINT32 dat_version_minor,
			DAT_BOOLEAN thread_safety)
{
	const struct call call = {
		.name = ia_name,
		.qlen = asynch_evd_min_qlen,
		.async_evd = asynch_evd_handle,
		.ia = ia_handle,
		.major = dat_version_major,
		.minor = dat_version_minor,
		.thread_safe = thread_safety,
	};
	DAT_RETURN ret;

	shim_why(NULL);
	ret = registry_open(&call);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		return shim_refused("dat_ia_open", "(DAT_NAME_PTR ia_name, "
				    "DAT_COUNT async_evd_min_qlen, "
				    "DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle)",
				    ret, ia_name, asynch_evd_min_qlen, asynch_evd_handle,
				    ia_handle);
	return ret ? shim_open_failed(ia_name, ret) : ret;
}

/* The open IA of another provider that @handle names, or NULL. The registry's lock is held. */
static struct open_ia *find_open(DAT_IA_HANDLE handle)
{
	struct open_ia *open;

	for (open = registry.opens; open; open = open->next)
		if (open->handle == handle)
			break;
	return open;
}

/*
 * dats_get_ia_handle - what a provider calls an open IA
 *
 * Providers written for OpenFabrics' library, which gives consumers other handles than it has
 * from providers, call this to translate. Here consumers get the provider's handles.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA if @handle names no open IA; DAT_INVALID_PARAMETER
 * /ARG2 if @ia_handle is null.
 */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle)
{
	bool open = shim_find(handle, SHIM_IA);

	if (!open) {
		pthread_mutex_lock(&registry.lock);
		open = find_open(handle);
		pthread_mutex_unlock(&registry.lock);
	}
	if (!open)
		return RET_BAD_HANDLE(IA);
	if (!ia_handle)
		return RET_BAD_ARG(2);
	*ia_handle = handle;
	return DAT_SUCCESS;
}

/* shim_ia_shown - the handle of an IA of kdapl, as the consumer knows it */
DAT_IA_HANDLE shim_ia_shown(uint64_t token)
{
	return shim_handle(token);
}

/* shim_ia_safety - the attribute is_thread_safe of an IA of kdapl: its @own */
DAT_BOOLEAN shim_ia_safety(const struct shim_object *ia, DAT_BOOLEAN own)
{
	(void)ia;
	return own;
}

/*
 * Finds the open IA of another provider that @handle names, and marks it as being closed. NULL
 * if there is none, or if another thread is closing it.
 */
static struct open_ia *begin_close(DAT_IA_HANDLE handle)
{
	struct open_ia *open;

	pthread_mutex_lock(&registry.lock);
	open = find_open(handle);
	if (open && open->closing)
		open = NULL;
	if (open)
		open->closing = true;
	pthread_mutex_unlock(&registry.lock);
	return open;
}

static void end_close(struct open_ia *open, bool closed)
{
	struct open_ia **link;

	pthread_mutex_lock(&registry.lock);
	open->closing = false;
	if (closed) {
		for (link = &registry.opens; *link != open;)
			link = &(*link)->next;
		*link = open->next;
	}
	pthread_mutex_unlock(&registry.lock);
}

static DAT_RETURN other_close(struct open_ia *open, DAT_CLOSE_FLAGS flags)
{
	struct entry *e = open->entry;
	const DAT_PROVIDER *table = e->table;
	struct shim_record *record = e->record;
	DAT_RETURN ret;

	ret = table->ia_close_func ? table->ia_close_func(open->handle, flags) :
				     RET(NOT_IMPLEMENTED);
	end_close(open, !ret);
	if (ret)
		return ret;
	free(open);
	entry_put(e);
	if (record)
		drop_library(record);
	return DAT_SUCCESS;
}

/*
 * dat_ia_close - close an adapter
 *
 * After the last close of an adapter of another provider's library, its dat_provider_fini() is
 * called (G3).
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct open_ia *open = NULL;
	DAT_RETURN ret;

	if (!shim_points_to_object(ia_handle) && ia_handle)
		open = begin_close(ia_handle);
	ret = open ? other_close(open, close_flags) : own_ia_close(ia_handle, close_flags);
	return ret ? shim_failed("dat_ia_close", "(ia_handle, close_flags)", ret) : ret;
}

/* ---- listing ------------------------------------------------------------- */

/* A list that grows. @failed: there was no memory for an element, which is missing. */
struct list {
	DAT_PROVIDER_INFO *infos;
	size_t number;
	size_t room;
	bool failed;
};

static void list_add(struct list *list, const DAT_PROVIDER_INFO *info)
{
	DAT_PROVIDER_INFO *more;

	if (list->number == list->room) {
		list->room = list->room ? 2 * list->room : 16;
		more = realloc(list->infos, list->room * sizeof(*more));
		list->failed |= !more;
		if (!more) {
			list->room = list->number;
			return;
		}
		list->infos = more;
	}
	list->infos[list->number++] = *info;
}

static bool lists(const struct list *list, const DAT_PROVIDER_INFO *info)
{
	size_t i;

	for (i = 0; i < list->number; i++)
		if (same_key(&list->infos[i], info))
			return true;
	return false;
}

/*
 * Does the list have an adapter of this name and major version already? A record of dat.conf
 * may name an adapter of kdapl by the adapter's own name, to give it parameters; then the
 * adapter is not listed a second time.
 */
static bool lists_adapter(const struct list *list, const DAT_PROVIDER_INFO *info)
{
	size_t i;

	for (i = 0; i < list->number; i++)
		if (!strcmp(list->infos[i].ia_name, info->ia_name) &&
		    list->infos[i].dapl_version_major == info->dapl_version_major)
			return true;
	return false;
}

/* Lists everything that can be opened, each once. */
static DAT_RETURN list_all(struct list *list)
{
	const struct shim_record *record;
	DAT_PROVIDER_INFO *adapters;
	uint32_t number, i;
	struct entry *e;
	DAT_RETURN ret;

	if (!read_conf())
		return RET_NO_RESOURCE(MEMORY);
	ret = shim_adapters(&adapters, &number);
	pthread_mutex_lock(&registry.lock);
	for (record = registry.records; record; record = record->next)
		if (!lists(list, &record->info))
			list_add(list, &record->info);
	for (e = registry.entries; e; e = e->next)
		if (e->table && !lists(list, &e->info))
			list_add(list, &e->info);
	pthread_mutex_unlock(&registry.lock);
	for (i = 0; !ret && i < number; i++)
		if (!lists_adapter(list, &adapters[i]))
			list_add(list, &adapters[i]);
	if (!ret)
		free(adapters);
	if (list->failed)
		return RET_NO_RESOURCE(MEMORY);
	/* A dat.conf or an added provider is a registry to ask, even without the module (G14). */
	if (DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR && (registry.readable || list->number))
		ret = DAT_SUCCESS;
	return ret;
}

static DAT_RETURN list_out(const struct list *all, DAT_COUNT max, DAT_COUNT *number,
			   DAT_PROVIDER_INFO *list[])
{
	size_t i;

	if (all->number > (size_t)max) {
		*number = all->number;
		return RET_BAD_ARG(1);
	}
	for (i = 0; i < all->number; i++)
		if (!list || !list[i])
			return RET_BAD_ARG(3);
	for (i = 0; i < all->number; i++)
		*list[i] = all->infos[i];
	*number = all->number;
	return DAT_SUCCESS;
}

static DAT_RETURN list_providers(DAT_COUNT max, DAT_COUNT *number, DAT_PROVIDER_INFO *list[])
{
	struct list all = { 0 };
	DAT_RETURN ret;

	if (max < 0)
		return RET_BAD_ARG(1);
	if (!number)
		return RET_BAD_ARG(2);
	if (max && !list)
		return RET_BAD_ARG(3);
	ret = list_all(&all);
	if (!ret)
		ret = list_out(&all, max, number, list);
	free(all.infos);
	return ret;
}

/*
 * dat_registry_list_providers - list what can be opened
 *
 * First come the records of dat.conf, in the order of the file and each key once, whether their
 * libraries are there or not; then the providers that were added; then the adapters that the
 * kernel lists. Rules G12, G13, G25.
 *
 * Return: what the call of kernel modules returns, and in addition DAT_INTERNAL_ERROR if there
 * is no registry to ask: the module is not loaded, or the process may not open its device, and
 * there is neither a dat.conf that can be read nor a provider that was added (G14).
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	DAT_RETURN ret = list_providers(max_to_return, entries_returned, dat_provider_list);

	return ret ? shim_failed("dat_registry_list_providers",
				 "(max_to_return, entries_returned, dat_provider_list)", ret) :
		     ret;
}
