// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory for messages: slots of one size, in chunks of contiguous pages.  Each chunk has an
 * LMR of its own, and stays registered as long as the pool is there.
 *
 * Callers: login.c and rx.c, room.c, and conn.c when a connection is closed.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "kdat_iser.h"

/* No chunk is larger than what the page allocator gives without great effort. */
#define MAX_ORDER_OF_CHUNK	PAGE_ALLOC_COSTLY_ORDER

static u32 chunk_size(const struct kiser_pool *pool)
{
	return PAGE_SIZE << pool->order;
}

static u32 slots_per_chunk(const struct kiser_pool *pool)
{
	return chunk_size(pool) / pool->slot_size;
}

static int chunk_register(struct kiser_chunk *chunk, u32 size,
			  const struct kiser_adapter *adapter, DAT_MEM_PRIV_FLAGS privileges)
{
	struct kdat_memory memory = {
		.list = &chunk->sg,
		.entries = 1,
		.length = size,
	};
	DAT_REGION_DESCRIPTION region = { .for_platform = &memory };
	DAT_LMR_COOKIE cookie = {};

	sg_init_one(&chunk->sg, chunk->va, size);
	if (dat_lmr_allocate(adapter->ia, adapter->pz, size / PAGE_SIZE,
			     KDAT_LMR_SCOPE_LOCAL, &chunk->lmr))
		return -ENOMEM;
	if (dat_lmr_fmr(chunk->lmr, DAT_MEM_TYPE_PLATFORM, region, 0, privileges,
			DAT_VA_TYPE_ZB, DAT_HANDLE_NULL, cookie,
			DAT_COMPLETION_DEFAULT_FLAG, &chunk->context, NULL)) {
		dat_lmr_free(chunk->lmr);
		chunk->lmr = DAT_HANDLE_NULL;
		return -ENOMEM;
	}
	return 0;
}

/**
 * kiser_pool_create - allocate and register slots
 * @pool: zeroed
 * @adapter: where they are registered
 * @slots: how many, at least
 * @slot_size: bytes of each
 * @privileges: LOCAL_READ for what is sent, LOCAL_WRITE for what is received
 *
 * May sleep.  If it fails, nothing is left to undo.
 *
 * Return: 0 or -ENOMEM.
 */
int kiser_pool_create(struct kiser_pool *pool, const struct kiser_adapter *adapter,
		      u32 slots, u32 slot_size, DAT_MEM_PRIV_FLAGS privileges)
{
	struct kiser_chunk *chunk;
	u32 count;

	pool->slot_size = slot_size;
	pool->order = min(get_order(slots * slot_size), MAX_ORDER_OF_CHUNK);
	count = DIV_ROUND_UP(slots, slots_per_chunk(pool));
	pool->chunks = kcalloc(count, sizeof(*pool->chunks), GFP_KERNEL);
	if (!pool->chunks)
		return -ENOMEM;
	for (; pool->nr_chunks < count; pool->nr_chunks++) {
		chunk = &pool->chunks[pool->nr_chunks];
		/*
		 * Compound pages: write data may be used in its receive buffer (rx.c), and
		 * a back end may take references to pages of it.
		 */
		chunk->va = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
						     pool->order);
		if (!chunk->va)
			goto fail;
		if (chunk_register(chunk, chunk_size(pool), adapter, privileges)) {
			free_pages((unsigned long)chunk->va, pool->order);
			goto fail;
		}
	}
	return 0;

fail:
	kiser_pool_unregister(pool);
	kiser_pool_free(pool);
	return -ENOMEM;
}

/**
 * kiser_pool_slot - where a slot is
 * @pool: a pool
 * @slot: number of the slot, below the count it was made with
 * @offset: where in the slot the message begins
 * @iov: out: the rest of the slot, as a segment for a post
 *
 * Return: the address of the message.
 */
void *kiser_pool_slot(const struct kiser_pool *pool, u32 slot, u32 offset,
		      DAT_LMR_TRIPLET *iov)
{
	u32 per_chunk = slots_per_chunk(pool);
	const struct kiser_chunk *chunk = &pool->chunks[slot / per_chunk];
	u32 start = slot % per_chunk * pool->slot_size + offset;

	*iov = (DAT_LMR_TRIPLET) {
		.lmr_context = chunk->context,
		.virtual_address = start,
		.segment_length = pool->slot_size - offset,
	};
	return chunk->va + start;
}

/**
 * kiser_pool_unregister - free the LMRs, and keep the memory
 * @pool: a pool, or a zeroed struct; no outstanding DTO names its memory
 *
 * May sleep.
 */
void kiser_pool_unregister(struct kiser_pool *pool)
{
	DAT_LMR_COOKIE cookie = {};
	u32 i;

	for (i = 0; i < pool->nr_chunks; i++) {
		dat_lmr_invalidate(pool->chunks[i].lmr, DAT_HANDLE_NULL, cookie,
				   DAT_COMPLETION_DEFAULT_FLAG);
		dat_lmr_free(pool->chunks[i].lmr);
	}
}

/* Frees the memory of a pool that has been unregistered. */
void kiser_pool_free(struct kiser_pool *pool)
{
	while (pool->nr_chunks)
		free_pages((unsigned long)pool->chunks[--pool->nr_chunks].va, pool->order);
	kfree(pool->chunks);
	pool->chunks = NULL;
}
