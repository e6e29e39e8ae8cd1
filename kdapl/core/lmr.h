/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Protection Zones and Local Memory Regions as the rest of the core sees them:
 * core/pz.c, core/lmr.c make them, core/post.c looks LMRs up for every segment.
 */
#ifndef KDAPL_LMR_H
#define KDAPL_LMR_H

#include "dto/kind.h"
#include "object.h"
#include "../glue/glue.h"

/*
 * struct kdapl_pz - a Protection Zone
 * @obj: head; users are the LMRs, RMRs, SRQs and EPs in it (mt:M3)
 * @zone: NULL once the device is gone
 * @zone_lock: @zone is given back under it
 */
struct kdapl_pz {
	struct kdapl_object obj;
	struct kdapl_zone *zone;
	struct mutex zone_lock;	/* a leaf */
};

static inline struct kdapl_pz *kdapl_pz_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_pz, obj);
}

/*
 * struct kdapl_lmr - a Local Memory Region
 * @obj: head; users are the RMRs bound to it or being bound (mt:M22)
 * @pz: its zone, with a use and a reference
 * @start: the first byte, as triplets name it
 * @length: registered bytes
 * @sinks: KDAPL_SINK_*, what posts may have the device write there (mt:T30, mt:T35)
 * @lkey: the device's key; 0 once the device is gone
 * @context: the lmr_context, by which posts find it; 0, which names nothing, as soon as its
 *	     end has begun
 * @rmr_context: the device's remote key; 0 without remote rights (mt:M15)
 * @privileges: as asked; what binds are checked against (mt:M31)
 * @region: NULL once the device is gone
 * @share: kdapl_region.share of @region, as it was when the region was made
 * @region_lock: @region is given back under it, and in use by dat_lmr_sync_*
 * @mem_type: for queries
 * @description: for queries, as given
 * @max_pages: of an LMR whose memory changes (fmr.c): the most it can have; else 0
 * @fmrs: how often such an LMR has been given memory
 * @list_lock: @list and what depends on it; a leaf
 * @list: the memory that such an LMR has now.  The LMR's own @start and @length stay 0, so that
 *	  no bytes are inside for the quick check of a post, which then looks here
 * @rmr: the RMR through which peers reach that memory; NULL if it may have no remote rights.
 *	 Set before others find the LMR, and freed with it
 */
struct kdapl_lmr {
	struct kdapl_object obj;
	/* what the check of a post reads */
	struct kdapl_pz *pz;
	u64 start;
	u64 length;
	u32 sinks;
	u32 lkey;
	/* the rest */
	u32 context;
	u32 rmr_context;
	DAT_MEM_PRIV_FLAGS privileges;
	struct kdapl_region *region;
	u8 share;
	struct mutex region_lock;	/* a leaf */
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION description;
	/* of one whose memory changes */
	u32 max_pages;
	u32 fmrs;
	spinlock_t list_lock;
	struct kdapl_list list;
	struct kdapl_rmr *rmr;
};

static inline struct kdapl_lmr *kdapl_lmr_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_lmr, obj);
}

/* dat_lmr_create's, which kdat.h does not name */
#define KDAPL_MEM_TYPE_SHARED_VIRTUAL	((DAT_MEM_TYPE)0x02)

u64 kdapl_lmr_max_length(const struct kdapl_device *dev);

/*
 * KDAPL_SINK_* of an LMR with these rights.  mt:T35: on iWARP the data of a read come like a
 * write of the peer, which is told the key of the local memory for that.
 */
static inline u32 kdapl_lmr_sinks(const struct kdapl_device *dev,
				  DAT_MEM_PRIV_FLAGS privileges)
{
	if (!(privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return 0;
	if (dev->iwarp && !(privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return KDAPL_SINK_RECV;
	return KDAPL_SINK_RECV | KDAPL_SINK_READ;
}

void kdapl_lmr_invalidated(struct kdapl_ia *ia, u32 key);

/* With a reference, or NULL. */
struct kdapl_pz *kdapl_pz_find(struct kdapl_space *space, DAT_PZ_HANDLE pz);

struct kdapl_lmr *kdapl_lmr_of_segment(const struct kdapl_ia *ia,
				       const DAT_LMR_TRIPLET *segment);

/*
 * The lmr_context of an LMR: the index of its slot, and as much of the slot's
 * generation as there is room for, so that the context of a freed LMR names no
 * other one for long (mt:M27).
 */
static inline u32 kdapl_lmr_context(const struct kdapl_object *obj)
{
	return (u32)(obj->token >> 32) << KDAPL_INDEX_BITS | (u32)obj->token;
}

/*
 * The LMR of @space with that lmr_context, or NULL.  An LMR that is being freed is not
 * found.  Caller is in an RCU read section, which keeps the LMR.
 */
static inline struct kdapl_lmr *kdapl_lmr_peek(const struct kdapl_space *space,
					       DAT_LMR_CONTEXT context)
{
	struct kdapl_object *obj;
	struct kdapl_lmr *lmr;

	obj = kdapl_slot_object(space, context & (BIT(KDAPL_INDEX_BITS) - 1));
	if (unlikely(!obj || obj->type != KDAPL_LMR))
		return NULL;
	lmr = container_of(obj, struct kdapl_lmr, obj);
	return likely(READ_ONCE(lmr->context) == context) ? lmr : NULL;
}

static inline bool kdapl_lmr_has(const struct kdapl_lmr *lmr, u64 address, u64 length)
{
	/* For an address below the start it wraps, and is larger than any length. */
	u64 offset = address - lmr->start;

	return offset <= lmr->length && length <= lmr->length - offset;
}

static inline bool kdapl_lmr_inside(const struct kdapl_lmr *lmr,
				    const DAT_LMR_TRIPLET *segment)
{
	return kdapl_lmr_has(lmr, segment->virtual_address, segment->segment_length);
}

/* The same for an LMR whose memory is a list. */
static inline bool kdapl_lmr_list_inside(const struct kdapl_lmr *lmr,
					 const DAT_LMR_TRIPLET *segment)
{
	const struct kdapl_list *list = &lmr->list;
	/* For an address below the start it wraps, and is larger than any length. */
	u64 offset = segment->virtual_address - list->start;

	return list->sg && offset <= list->length &&
	       segment->segment_length <= list->length - offset;
}

#endif /* KDAPL_LMR_H */
