// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles: the table of the objects of this process, and how the object of a
 * kernel handle (a token) is found. Called by all files that make, find or end
 * objects.
 *
 * All objects lie in one range of addresses, so that a handle that was freed or made up is never
 * followed to memory that may not be there. Tokens are looked up in a hash whose chains are read
 * without a lock. A dead object stays in the hash for a while. Why, and what makes this safe, is
 * told in Documentation/overview.rst, Handles and spaces.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim.h"

#define OBJECT		sizeof(struct shim_object)
/* 512 MiB of addresses; 32 MiB in a 32-bit process, which has few addresses */
#define MAX_OBJECTS	(sizeof(void *) > 4 ? 1u << 22 : 1u << 18)
#define MIN_OBJECTS	(1u << 16)	/* if RLIMIT_AS allows no more */
#define CHUNK		512u		/* made writable at a time */
#define DEAD_KEPT	32768u

/*
 * Until the range is reserved shim_points_to_object() accepts no address: this base has a bit that
 * is in no mask, neither in 0 nor in the later one. So it does not matter in which order another
 * thread comes to see the two words.
 */
struct shim_table shim_table = { .base = OBJECT };
atomic_uint_least32_t shim_table_heads[1 << SHIM_HASH_BITS];

/*
 * Objects are numbered by their place in the table, from 1; 0 ends a list. The
 * list of dead objects begins with the one that has been dead longest.
 */
static struct {
	pthread_mutex_t lock;
	uint32_t max;
	uint32_t used;		/* objects that are or were alive */
	uint32_t ready;		/* objects whose memory is writable */
	uint32_t first_dead;
	uint32_t last_dead;
	uint32_t nr_dead;
} object_table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t object_nr(const struct shim_object *obj)
{
	return obj - shim_object_nr(1) + 1;
}

/*
 * Walks the chain of a token. If the caller does not hold the lock, the walk
 * can miss the object: it may lead into another chain, if an object that it
 * passes is removed from this chain and reused in that one. A caller that finds
 * nothing has to look again with the lock held.
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
	atomic_store_explicit(head, object_nr(obj), memory_order_release);
}

static void hash_remove(struct shim_object *obj)
{
	atomic_uint_least32_t *link = shim_table_head(shim_token(obj));
	uint32_t nr = object_nr(obj);

	while (*link && *link != nr)
		link = &shim_object_nr(*link)->hash_next;
	if (*link)
		atomic_store_explicit(link, atomic_load(&obj->hash_next),
				      memory_order_release);
}

static void *map_readable(size_t size)
{
	void *range = mmap(NULL, size, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return range == MAP_FAILED ? NULL : range;
}

/*
 * Where the process has its future memory locked (mlockall(2)), and may not lock so much, a new
 * range is refused. But a range that is not locked may grow. So this begins with a page.
 */
static void *map_unlocked(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *first = map_readable(page), *range;

	if (!first)
		return NULL;
	range = munlock(first, page) ? MAP_FAILED : mremap(first, page, size, MREMAP_MAYMOVE);
	if (range != MAP_FAILED)
		return range;
	munmap(first, page);
	return NULL;
}

/*
 * shim_reserve - reserve addresses for a table, which the process never gives back
 * @size: bytes
 *
 * They are mapped only readable, and are zero. So the kernel counts none of it as memory of the
 * process; the table makes its memory writable piece by piece (mprotect(2)). If the process locks
 * its memory, as it has a right to lock so much, it is locked as well.
 *
 * Return: NULL if there is no room.
 */
void *shim_reserve(size_t size)
{
	void *range = map_readable(size);

	return range || errno != EAGAIN ? range : map_unlocked(size);
}

/*
 * Reserves a range of @size addresses that begins at a multiple of @size, a power of two: twice as
 * many, of which it gives back what lies in front of and behind such a range.
 */
static void *reserve_aligned(size_t size)
{
	uintptr_t start, base;
	void *all = shim_reserve(2 * size);

	if (!all)
		return NULL;
	start = (uintptr_t)all;
	base = (start + size - 1) & ~(size - 1);
	if (base != start)
		munmap(all, base - start);
	munmap((void *)(base + size), start + size - base);
	return (void *)base;
}

/*
 * Reserves the range of addresses for objects. In a child of fork() the kernel
 * zeroes its memory (MADV_WIPEONFORK), so every handle of the parent is bad
 * there.
 */
static bool table_reserve(void)
{
	uint32_t max;
	void *base;

	for (max = MAX_OBJECTS; max >= MIN_OBJECTS; max /= 2) {
		base = reserve_aligned(max * OBJECT);
		if (!base)
			continue;
		madvise(base, max * OBJECT, MADV_WIPEONFORK);
		object_table.max = max;
		shim_table.base = (uintptr_t)base;
		shim_table.mask = ~(max * OBJECT - 1) | (OBJECT - 1);
		return true;
	}
	return false;
}

static bool table_grow(void)
{
	if (!object_table.max && !table_reserve())
		return false;
	if (object_table.ready == object_table.max ||
	    mprotect(shim_object_nr(object_table.ready + 1), CHUNK * OBJECT,
		     PROT_READ | PROT_WRITE))
		return false;
	object_table.ready += CHUNK;
	return true;
}

/*
 * Removes the object that has been dead longest from the list and the hash, and
 * returns it; NULL if no object is dead. The lock is held.
 */
static struct shim_object *reuse_dead(void)
{
	struct shim_object *obj;

	if (!object_table.nr_dead)
		return NULL;
	obj = shim_object_nr(object_table.first_dead);
	object_table.first_dead = obj->next_dead;
	object_table.nr_dead--;
	if (shim_token(obj))
		hash_remove(obj);
	return obj;
}

/* Memory for a new object, or NULL; the lock is held. */
static struct shim_object *object_alloc(void)
{
	if (object_table.nr_dead > DEAD_KEPT)
		return reuse_dead();
	if (object_table.used < object_table.ready || table_grow())
		return shim_object_nr(++object_table.used);
	return reuse_dead();
}

/*
 * Makes an object; the lock is held. Return: NULL if there is no memory, or if
 * the IA has been closed: dat_ia_close() goes over the objects of the IA only
 * once, and would leave an object alive that is made after that.
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
	obj->ops = ia ? ia->ops : &shim_forwarded;
	atomic_store_explicit(&obj->pass, NULL, memory_order_relaxed);
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
 * shim_object_get - find the object of a token, or make it
 * @ia: the IA that it belongs to; NULL for an IA
 * @made: NULL, or out: whether this call has made it
 *
 * Two threads may ask for the same new object: an event can name it before the
 * call that creates it has returned (P5). The second thread gets the object
 * that the first one made.
 *
 * Return: the object; NULL if there is no memory, or if the IA was closed
 * meanwhile.
 */
struct shim_object *shim_object_get(uint64_t token, uint32_t type,
				    struct shim_object *ia, bool *made)
{
	struct shim_object *obj;
	bool fresh = false;

	pthread_mutex_lock(&object_table.lock);
	obj = hash_find(token);
	if (!obj) {
		obj = object_start(token, type, ia, NULL);
		fresh = obj;
	}
	pthread_mutex_unlock(&object_table.lock);
	if (made)
		*made = fresh;
	return obj;
}

/*
 * shim_object_new - make an object that the kernel does not know: a CNO
 *
 * Return: as shim_object_get().
 */
struct shim_object *shim_object_new(uint32_t type, struct shim_object *ia,
				    void *body)
{
	struct shim_object *obj;

	pthread_mutex_lock(&object_table.lock);
	obj = object_start(0, type, ia, body);
	pthread_mutex_unlock(&object_table.lock);
	return obj;
}

/*
 * shim_object_dress - give an object its body
 *
 * Return: false if the object has died meanwhile, because its IA was closed.
 * Then the body still is the caller's, which has to free it.
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

/*
 * shim_object_hide - make a handle invalid, and keep the memory of the object
 *
 * For a caller that goes on using the object, perhaps for long: the memory does not become
 * another object before shim_object_bury(). Return: the handle was valid, and the caller calls
 * that function.
 */
bool shim_object_hide(struct shim_object *obj)
{
	bool lived;

	pthread_mutex_lock(&object_table.lock);
	lived = atomic_exchange(&obj->type, 0);
	pthread_mutex_unlock(&object_table.lock);
	return lived;
}

/* shim_object_bury - let the memory of a hidden object become another one */
void shim_object_bury(struct shim_object *obj)
{
	uint32_t nr = object_nr(obj);

	pthread_mutex_lock(&object_table.lock);
	obj->next_dead = 0;
	if (object_table.nr_dead++)
		shim_object_nr(object_table.last_dead)->next_dead = nr;
	else
		object_table.first_dead = nr;
	object_table.last_dead = nr;
	pthread_mutex_unlock(&object_table.lock);
}

/*
 * shim_object_kill - make a handle invalid
 *
 * Called when the kernel has destroyed the object. To call it more than once
 * does no harm.
 */
void shim_object_kill(struct shim_object *obj)
{
	if (shim_object_hide(obj))
		shim_object_bury(obj);
}

/*
 * shim_object_end - make a handle invalid, and take the body of the object
 *
 * Both are done under one hold of the object's lock: a thread that locked the
 * object in between would find it alive, and could give it a new body, which
 * would never be freed. Return: the body, which no other thread can reach any
 * more, or NULL.
 */
void *shim_object_end(struct shim_object *obj)
{
	void *body;

	shim_lock(&obj->lock);
	body = obj->body;
	obj->body = NULL;
	shim_object_kill(obj);
	shim_unlock(&obj->lock);
	return body;
}

/*
 * shim_table_search - the slow half of shim_by_token(), for a token that is not
 *	the first in its bucket
 */
struct shim_object *shim_table_search(uint64_t token)
{
	struct shim_object *obj;

	if (!token)
		return NULL;
	obj = hash_find(token);
	if (obj)
		return obj;
	pthread_mutex_lock(&object_table.lock);
	obj = hash_find(token);
	pthread_mutex_unlock(&object_table.lock);
	return obj;
}

/* shim_for_each - call @func for every live object of an IA, except the IA itself */
void shim_for_each(struct shim_object *ia,
		   void (*func)(struct shim_object *obj, void *arg), void *arg)
{
	struct shim_object *obj;
	uint32_t used, nr;

	pthread_mutex_lock(&object_table.lock);
	used = object_table.used;
	pthread_mutex_unlock(&object_table.lock);
	for (nr = 1; nr <= used; nr++) {
		obj = shim_object_nr(nr);
		if (obj != ia && atomic_load(&obj->type) &&
		    atomic_load(&obj->ia) == ia)
			func(obj, arg);
	}
}

/* The lock is held during fork(), so that the child gets a consistent table. */
void shim_table_lock(void)
{
	pthread_mutex_lock(&object_table.lock);
}

void shim_table_unlock(void)
{
	pthread_mutex_unlock(&object_table.lock);
}

/*
 * shim_table_child - empty the table, in a child of fork()
 *
 * The kernel has zeroed the objects already (MADV_WIPEONFORK). object_table.used
 * stays as it is, so that the child makes its objects behind those of the
 * parent, and a handle of the parent never names one of them.
 *
 * Those handles point to the provider's table again, as any handle does: OpenFabrics' library calls
 * the function that it finds there without a look, and the function returns DAT_INVALID_HANDLE.
 */
void shim_table_child(void)
{
	uint32_t nr;

	for (nr = 1; nr <= object_table.used; nr++)
		shim_object_nr(nr)->provider = &shim_provider;
	pthread_mutex_init(&object_table.lock, NULL);
	object_table.first_dead = 0;
	object_table.nr_dead = 0;
	memset(shim_table_heads, 0, sizeof(shim_table_heads));
}
