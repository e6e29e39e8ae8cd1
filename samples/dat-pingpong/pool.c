// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Where messages are received: slots of memory, each of which is posted, or has a message that
 * is being read. A connection has a pool of its own; or, with --srq, the slots are receives of a
 * shared receive queue, which serves all current connections with messages of the same size.
 * Then any connection may find its message in any slot. Called by link.c and transfer.c.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

#define SHARED_BYTES	(4u << 20)	/* of all slots of an SRQ, which has SHARED_LEAST or more */
#define SHARED_LEAST	4

struct pool {
	struct buffer memory;
	size_t slot_size;
	unsigned int nr_slots;
	DAT_SRQ_HANDLE srq;
	unsigned int nr_links;
	struct pool *next;		/* in the list of shared pools */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *shared;

/* pool_slot - the memory of a slot */
uint8_t *pool_slot(const struct pool *pool, unsigned int slot)
{
	return pool->memory.data + slot * pool->slot_size;
}

/* pool_srq - the shared receive queue; null if the receives are posted to the endpoint */
DAT_SRQ_HANDLE pool_srq(const struct pool *pool)
{
	return pool->srq;
}

/* pool_post - post a slot (again) */
bool pool_post(struct link *link, unsigned int slot)
{
	const struct pool *pool = link->pool;
	DAT_LMR_TRIPLET iov = segment(&pool->memory, pool_slot(pool, slot), pool->slot_size);
	DAT_DTO_COOKIE cookie = { .as_64 = slot };
	DAT_RETURN ret;

	if (pool->srq) {
		ret = dat_srq_post_recv(pool->srq, 1, &iov, cookie);
		return !ret || fail_call(link, "dat_srq_post_recv", ret);
	}
	ret = dat_ep_post_recv(link->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return !ret || fail_call(link, "dat_ep_post_recv", ret);
}

/* pool_post_all - post all slots of a new pool */
bool pool_post_all(struct link *link)
{
	unsigned int slot;

	for (slot = 0; slot < link->pool->nr_slots; slot++)
		if (!pool_post(link, slot))
			return false;
	return true;
}

static void pool_free(struct pool *pool)
{
	if (pool->srq)
		dat_srq_free(pool->srq);
	buffer_close(&pool->memory);
	free(pool);
}

/* Makes a pool of @nr_slots slots and sets link->pool to it. */
static bool pool_make(struct link *link, unsigned int nr_slots)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return fail(link, THIS_TEST, "no memory");
	pool->slot_size = link->slot_size;
	pool->nr_slots = nr_slots;
	pool->nr_links = 1;
	if (!buffer_open(link, &pool->memory, nr_slots * pool->slot_size,
			 link->adapter->local)) {
		pool_free(pool);
		return false;
	}
	link->pool = pool;
	return true;
}

static bool srq_make(struct link *link)
{
	struct pool *pool = link->pool;
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = pool->nr_slots,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_RETURN ret;

	ret = dat_srq_create(link->adapter->ia, link->adapter->pz, &attr, &pool->srq);
	if (ret)
		return fail_call(link, "dat_srq_create", ret);
	return pool_post_all(link);
}

static bool shared_make(struct link *link)
{
	unsigned int nr_slots = SHARED_BYTES / link->slot_size;

	nr_slots = nr_slots < SHARED_LEAST ? SHARED_LEAST :
		   nr_slots > MAX_SLOTS ? MAX_SLOTS : nr_slots;
	if (!pool_make(link, nr_slots))
		return false;
	if (!srq_make(link)) {
		pool_free(link->pool);
		link->pool = NULL;
		return false;
	}
	link->pool->next = shared;
	shared = link->pool;
	return true;
}

static struct pool *shared_find(size_t slot_size)
{
	struct pool *pool = shared;

	while (pool && pool->slot_size != slot_size)
		pool = pool->next;
	return pool;
}

/* pool_open - give a connection a pool; the slots of one of its own are not posted yet */
bool pool_open(struct link *link)
{
	bool good = true;

	if (!link->opt->srq)
		return pool_make(link, NR_SLOTS);
	pthread_mutex_lock(&lock);
	link->pool = shared_find(link->slot_size);
	if (link->pool)
		link->pool->nr_links++;
	else
		good = shared_make(link);
	pthread_mutex_unlock(&lock);
	return good;
}

/* pool_close - free the pool of a connection, unless others use it; its endpoint is freed */
void pool_close(struct pool *pool)
{
	struct pool **entry;

	pthread_mutex_lock(&lock);
	if (!--pool->nr_links) {
		for (entry = &shared; *entry; entry = &(*entry)->next)
			if (*entry == pool) {
				*entry = pool->next;
				break;
			}
		pool_free(pool);
	}
	pthread_mutex_unlock(&lock);
}
