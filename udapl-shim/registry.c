// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registry: which adapters there are, who provides each, and the calls that open, close and
 * list them. Three places are looked at, in this order:
 *
 *	providers that the program has added by dat_registry_add_provider();
 *	the records of dat.conf (conf.c), whose libraries are loaded at the first open of their
 *	name, and their dat_provider_fini() called after the last close, or which are other
 *	names of kdapl's adapters;
 *	the adapters that the kernel lists, which need no record.
 *
 * A handle of another provider begins with the address of that provider's table, by which
 * calls.c finds it (shim_other()).
 *
 * Locks: the lock for loading is the outermost of the library, so that a provider may do
 * in its dat_provider_init() what any program may. The registry's own lock is held for
 * moments, and no other is taken inside.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"

#define RET_NOT_FOUND(why)	DAT_ERROR(DAT_PROVIDER_NOT_FOUND, why)

/**
 * struct entry - a provider that is registered
 * @table: its functions; NULL while the entry is free
 * @next: an older one
 * @info: its name, version and thread safety, which no other entry has
 * @record: whose library has added it, or NULL
 * @opens: IAs that are open
 *
 * The memory is never given back, so that a handle can be looked up without a lock.
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

/* Whose library this thread is loading. */
static __thread struct shim_record *loading;

/* ---- fork ---------------------------------------------------------------- */

/* shim_registry_lock - for fork(): nobody is in here, and no library half loaded */
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
 * shim_registry_child - in a child of fork()
 *
 * Providers stay, and so do IAs of other providers, of which only they know what becomes.
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

/* ---- which one is meant -------------------------------------------------- */

static bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       !a->is_thread_safe == !b->is_thread_safe && !strcmp(a->ia_name, b->ia_name);
}

/*
 * The best of several for what is asked for, and how far the others got (G9): the subtypes
 * for that have the order of the comparisons.
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

/* The entry of that key, or NULL; the lock is held. */
static struct entry *find_entry(const DAT_PROVIDER_INFO *info)
{
	struct entry *e;

	for (e = registry.entries; e; e = e->next)
		if (e->table && same_key(&e->info, info))
			return e;
	return NULL;
}

/* An entry that is free, or NULL without memory; the lock is held. */
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
 * dat_registry_add_provider - enter a provider
 * @provider: its functions; NULL for those that it does not have. The table stays where it
 *	is until the provider is removed, and the first word of each of its handles is the
 *	table's address
 * @provider_info: copied
 *
 * Called by a provider, from its dat_provider_init() with what that was given, or by the
 * program itself at any time. Rules G2, G4, G5.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1, /ARG2 for null pointers, /ARG2 for a name
 * that is empty or has no end, and from dat_provider_init() for other info than its own;
 * DAT_PROVIDER_ALREADY_REGISTERED; DAT_INSUFFICIENT_RESOURCES/MEMORY; DAT_INVALID_STATE when
 * the library has come to its end in this process (G11).
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
 * dat_registry_remove_provider - take a provider out
 * @provider: as it was added
 * @provider_info: the same
 *
 * Rules G6, G7.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER/ARG1 for a null pointer, and for another provider
 * than that of @provider_info, /ARG2 for a null pointer, a bad name, and one that is not
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
 * shim_other - the table of the provider that a handle belongs to; NULL: no other than this
 * library
 *
 * While an IA of another provider is open, a value that no handle of this library can have is
 * followed, as DAT says of handles: its first word has to be the address of a table.
 */
const DAT_PROVIDER *shim_other(DAT_HANDLE handle)
{
	const DAT_PROVIDER *table;
	struct entry *e;

	if (shim_points_to_object(handle) ||
	    !atomic_load_explicit(&others_open, memory_order_acquire))
		return NULL;
	/* Neither null nor one of the constants that an asynchronous EVD may be. */
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
	/* The table of a provider that has not removed itself is about to go. */
	pthread_mutex_lock(&registry.lock);
	for (e = registry.entries; e; e = e->next)
		if (e->table && e->record == record)
			e->table = NULL;
	pthread_mutex_unlock(&registry.lock);
}

/* Return: DAT_PROVIDER_NOT_FOUND if that library will not do. */
static DAT_RETURN load(struct shim_record *record)
{
	struct shim_record *outer = loading;
	DAT_RETURN ret = RET_NOT_FOUND(DAT_NAME_NOT_REGISTERED);
	DAT_PROVIDER_INIT_FUNC init;

	loading = record;
	/* After its last close a thread may still be in there, on its way back to the program. */
	record->loaded = dlopen(record->library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!record->loaded) {
		shim_why("%s:%u: %s", shim_conf_path(), record->line, dlerror());
		/* It opens one file at a time, and does not say what it failed for. */
		if (shim_few_descriptors(1))
			ret = RET_NO_RESOURCE(MEMORY);
		goto out;
	}
	init = (DAT_PROVIDER_INIT_FUNC)dlsym(record->loaded, DAT_PROVIDER_INIT_FUNC_STR);
	if (!init) {
		shim_why("%s:%u: %s has no " DAT_PROVIDER_INIT_FUNC_STR ", so it is no provider",
			 shim_conf_path(), record->line, record->library);
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

/* Has the library of a record begin, unless it has; it ends in drop_library(). */
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

/* What dat_ia_openv() was called with. */
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

/* Has the provider of an entry open the adapter; the entry counts it already. */
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
 * Opens an adapter of a provider that is registered, by the program or by the library of
 * @record. Return: false if none is, of that key.
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

/* Return: DAT_PROVIDER_NOT_FOUND if the next record of that key is to be tried (G10). */
static DAT_RETURN open_record(struct shim_record *record, const struct call *call)
{
	DAT_RETURN ret;

	/* Why the record before this one would not do has no part in what this one returns. */
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
		shim_why("%s:%u: %s has registered no adapter of that name and version",
			 shim_conf_path(), record->line, record->library);
		ret = RET_NOT_FOUND(DAT_NAME_NOT_REGISTERED);
	}
	if (ret)
		drop_library(record);
	return ret;
}

static DAT_RETURN open_records(const DAT_PROVIDER_INFO *key, const struct call *call)
{
	DAT_RETURN ret = RET_NOT_FOUND(DAT_NAME_NOT_REGISTERED);
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
 * The records, which do not change once they were read. Return: false: there is no room to
 * read them; the next call tries again.
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

/* The key of the provider that the program has added for what it asks for now. */
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
	/* These are refused, for one of several reasons. */
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
		ret = RET_NOT_FOUND(m.why);
	return ret;
}

/*
 * dat_ia_openv - open an adapter
 *
 * Which one a name stands for is told at the head of this file; rules G3, G4, G9, G10.
 *
 * Return: in addition DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED if the module is not loaded
 * or the process may not open its device (G9), and if no library of a record can be loaded
 * and registers what the record says; what the other provider returns.
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
	return ret ? shim_open_failed(ia_name, ret) : ret;
}

/* The open IA of another provider that a handle names, which nobody else closes now. */
static struct open_ia *begin_close(DAT_IA_HANDLE handle)
{
	struct open_ia *open;

	pthread_mutex_lock(&registry.lock);
	for (open = registry.opens; open; open = open->next)
		if (open->handle == handle)
			break;
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
 * After the last close the library of another provider has its dat_provider_fini() called (G3).
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

/* A list that grows, without memory after a failure. */
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

/* A record for the adapter itself, with parameters, is not another one. */
static bool lists_adapter(const struct list *list, const DAT_PROVIDER_INFO *info)
{
	size_t i;

	for (i = 0; i < list->number; i++)
		if (!strcmp(list->infos[i].ia_name, info->ia_name) &&
		    list->infos[i].dapl_version_major == info->dapl_version_major)
			return true;
	return false;
}

/* Everything that can be opened, each once. */
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
	/* There is a registry if there is a file, even without the module. */
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
 * First the records of dat.conf, in its order and each key once, whether its library is there
 * or not; then providers that were added; then the adapters of the kernel. Rules G12, G13,
 * G25.
 *
 * Return: in addition DAT_INTERNAL_ERROR if there is no registry to ask: the module is not
 * loaded, or the process may not open its device, and there is neither a dat.conf nor a
 * provider that was added (G14).
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	DAT_RETURN ret = list_providers(max_to_return, entries_returned, dat_provider_list);

	return ret ? shim_failed("dat_registry_list_providers",
				 "(max_to_return, entries_returned, dat_provider_list)", ret) :
		     ret;
}
