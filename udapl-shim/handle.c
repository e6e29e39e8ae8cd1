// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles: the table of the process's objects, and the way from a kernel token
 * to an object.
 *
 * A handle has to be a pointer whose first word is the provider, and yet a
 * freed or invented one must never be followed. So all objects lie in one
 * address range, reserved once and made accessible piece by piece: a handle is
 * good if it lies in the range, on a boundary, and its object is alive. That is
 * one comparison and one load, without a lock, and what is read stays readable
 * for as long as the process lives.
 *
 * The objects of tokens are in a hash whose chains are read without a lock.
 * A dead object keeps its token and its place there: events that name it may
 * still be queued and have to show the old pointer. It is used again only when
 * DEAD_KEPT others have died after it, which also keeps a stale handle stale
 * for that long.
 */
#include <string.h>
#include <sys/mman.h>

#include "shim.h"

#define OBJECT		sizeof(struct shim_object)
#define MAX_OBJECTS	(1u << 22)	/* 512 MiB of addresses */
#define MIN_OBJECTS	(1u << 16)	/* for small RLIMIT_AS */
#define CHUNK		512u		/* made accessible at a time */
#define DEAD_KEPT	32768u

struct shim_table shim_table;
atomic_uint_least32_t shim_table_heads[1 << SHIM_HASH_BITS];

/* Numbers of objects start at 1; 0 ends lists. */
static struct {
	pthread_mutex_t lock;
	uint32_t max;
	uint32_t used;		/* numbers given out so far */
	uint32_t ready;		/* numbers whose memory is accessible */
	uint32_t first_dead;
	uint32_t last_dead;
	uint32_t nr_dead;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t nr_of(const struct shim_object *obj)
{
	return obj - shim_object_nr(1) + 1;
}

/*
 * Walks a chain. Without the lock the walk may end early when an object of the
 * chain was used again meanwhile; whoever needs to be sure asks with the lock.
 */
static struct shim_object *hash_find(uint64_t token)
{
	uint32_t nr = atomic_load_explicit(shim_table_head(token),
					   memory_order_acquire);
	struct shim_object *obj;
	unsigned int steps;

	for (steps = 0; nr && steps < MAX_OBJECTS; steps++) {
		obj = shim_object_nr(nr);
		if (shim_token(obj) == token)
			return obj;
		nr = atomic_load_explicit(&obj->hash_next,
					  memory_order_acquire);
	}
	return NULL;
}

static void hash_add(struct shim_object *obj)
{
	atomic_uint_least32_t *head = shim_table_head(shim_token(obj));

	atomic_store_explicit(&obj->hash_next, atomic_load(head),
			      memory_order_relaxed);
	atomic_store_explicit(head, nr_of(obj), memory_order_release);
}

static void hash_remove(struct shim_object *obj)
{
	atomic_uint_least32_t *link = shim_table_head(shim_token(obj));
	uint32_t nr = nr_of(obj);

	while (*link && *link != nr)
		link = &shim_object_nr(*link)->hash_next;
	if (*link)
		atomic_store_explicit(link, atomic_load(&obj->hash_next),
				      memory_order_release);
}

/* Reserves the addresses. A child gets them empty, so all its handles are bad. */
static bool table_reserve(void)
{
	uint32_t max;
	void *base;

	for (max = MAX_OBJECTS; max >= MIN_OBJECTS; max /= 2) {
		base = mmap(NULL, max * OBJECT, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base == MAP_FAILED)
			continue;
		madvise(base, max * OBJECT, MADV_WIPEONFORK);
		table.max = max;
		atomic_store_explicit(&shim_table.base, (uintptr_t)base,
				      memory_order_relaxed);
		return true;
	}
	return false;
}

static bool table_grow(void)
{
	if (!table.max && !table_reserve())
		return false;
	if (table.ready == table.max ||
	    mprotect(shim_object_nr(table.ready + 1), CHUNK * OBJECT,
		     PROT_READ | PROT_WRITE))
		return false;
	table.ready += CHUNK;
	/* ORDER: after the base, see shim_points_to_object() */
	atomic_store_explicit(&shim_table.size, table.ready * OBJECT,
			      memory_order_release);
	return true;
}

static struct shim_object *reuse_dead(void)
{
	struct shim_object *obj;

	if (!table.nr_dead)
		return NULL;
	obj = shim_object_nr(table.first_dead);
	table.first_dead = obj->next_dead;
	table.nr_dead--;
	if (shim_token(obj))
		hash_remove(obj);
	return obj;
}

/* A dead object that nothing refers to; the lock is held. */
static struct shim_object *object_alloc(void)
{
	struct shim_object *obj;

	if (table.nr_dead > DEAD_KEPT)
		return reuse_dead();
	if (table.used < table.ready || table_grow())
		return shim_object_nr(++table.used);
	obj = reuse_dead();
	return obj;
}

/*
 * A new object; the lock is held. None without memory, and none on an IA that is
 * closed: whoever closes it goes over its objects once.
 */
static struct shim_object *object_start(uint64_t token, uint32_t type,
					struct shim_object *ia, void *body)
{
	struct shim_object *obj;

	if (ia && atomic_load(&ia->type) != SHIM_IA)
		return NULL;
	obj = object_alloc();
	if (!obj)
		return NULL;
	obj->provider = &shim_provider;
	obj->body = body;
	obj->next_dead = 0;
	atomic_store_explicit(&obj->context, 0, memory_order_relaxed);
	atomic_store_explicit(&obj->ia, ia ? ia : obj, memory_order_relaxed);
	atomic_store_explicit(&obj->token, token, memory_order_relaxed);
	if (token)
		hash_add(obj);
	atomic_store_explicit(&obj->type, type, memory_order_release);
	return obj;
}

/*
 * shim_object_get - the object of a kernel token, made if it was never seen
 *
 * An event can show an object before the call that makes it has returned (P5);
 * both sides end up with the same object. @ia is NULL for an IA; @made may be.
 *
 * Return: NULL without memory, and when the IA has been closed meanwhile.
 */
struct shim_object *shim_object_get(uint64_t token, uint32_t type,
				    struct shim_object *ia, bool *made)
{
	struct shim_object *obj;
	bool fresh = false;

	pthread_mutex_lock(&table.lock);
	obj = hash_find(token);
	if (!obj) {
		obj = object_start(token, type, ia, NULL);
		fresh = obj;
	}
	pthread_mutex_unlock(&table.lock);
	if (made)
		*made = fresh;
	return obj;
}

/* An object that the kernel does not know: a CNO. Return: as shim_object_get. */
struct shim_object *shim_object_new(uint32_t type, struct shim_object *ia,
				    void *body)
{
	struct shim_object *obj;

	pthread_mutex_lock(&table.lock);
	obj = object_start(0, type, ia, body);
	pthread_mutex_unlock(&table.lock);
	return obj;
}

/*
 * Gives an object its body, unless its IA was closed since it was made: then
 * false, and the body is still the caller's.
 */
bool shim_object_dress(struct shim_object *obj, uint32_t type, uint64_t token,
		       void *body)
{
	bool live;

	shim_lock(&obj->lock);
	live = shim_is(obj, type, token);
	if (live)
		obj->body = body;
	shim_unlock(&obj->lock);
	return live;
}

/* The handle is bad from here on. Only who destroyed the object calls this. */
void shim_object_kill(struct shim_object *obj)
{
	uint32_t nr = nr_of(obj);

	pthread_mutex_lock(&table.lock);
	if (atomic_exchange(&obj->type, 0)) {
		obj->next_dead = 0;
		if (table.nr_dead++)
			shim_object_nr(table.last_dead)->next_dead = nr;
		else
			table.first_dead = nr;
		table.last_dead = nr;
	}
	pthread_mutex_unlock(&table.lock);
}

/* shim_table_search - shim_by_token() for what is not the first of its bucket */
struct shim_object *shim_table_search(uint64_t token)
{
	struct shim_object *obj;

	if (!token)
		return NULL;
	obj = hash_find(token);
	if (obj)
		return obj;
	pthread_mutex_lock(&table.lock);
	obj = hash_find(token);
	pthread_mutex_unlock(&table.lock);
	return obj;
}

/* Calls @func for every live object of an IA but the IA itself. */
void shim_for_each(struct shim_object *ia,
		   void (*func)(struct shim_object *obj, void *arg), void *arg)
{
	struct shim_object *obj;
	uint32_t used, nr;

	pthread_mutex_lock(&table.lock);
	used = table.used;
	pthread_mutex_unlock(&table.lock);
	for (nr = 1; nr <= used; nr++) {
		obj = shim_object_nr(nr);
		if (obj != ia && atomic_load(&obj->type) &&
		    atomic_load(&obj->ia) == ia)
			func(obj, arg);
	}
}

/* Around fork() */
void shim_table_lock(void)
{
	pthread_mutex_lock(&table.lock);
}

void shim_table_unlock(void)
{
	pthread_mutex_unlock(&table.lock);
}

/*
 * In the child: all objects are wiped already. The numbers of the parent's are
 * not used again, so that its handles never name an object of the child.
 */
void shim_table_child(void)
{
	pthread_mutex_init(&table.lock, NULL);
	table.first_dead = 0;
	table.nr_dead = 0;
	memset(shim_table_heads, 0, sizeof(shim_table_heads));
}
