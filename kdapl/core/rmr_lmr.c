// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RMRs of LMRs whose memory changes: what fmr.c asks of them, and the keys by which
 * peers reach the memory, so that a message which takes one away is told from one that
 * should not (mt:M81).
 *
 * A peer that was given a key may answer with a message that invalidates it: our device then
 * forgets the key, and the completion of the receive names it.  kdapl_ia.keys says which RMR
 * the key belongs to, by the part of the key that does not change when the window is bound
 * anew.  An entry is added or removed when a window is made, renewed or given back, and is
 * looked up under RCU.
 *
 * Callers: fmr.c; rmr.c; evd_fifo.c when a completion is judged.
 */
#include "ia.h"
#include "rmr.h"

/* ---- what it shows -------------------------------------------------- */

/**
 * kdapl_rmr_opens - can a peer reach the memory of an LMR, or will it be able to?
 * @rmr: of an LMR
 *
 * Any context.
 */
bool kdapl_rmr_opens(struct kdapl_rmr *rmr)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&rmr->lock, flags);
	ret = (rmr->now.lmr || rmr->cookie) && !rmr->taken;
	spin_unlock_irqrestore(&rmr->lock, flags);
	return ret;
}

/**
 * kdapl_rmr_shown - the key by which peers reach the memory of an LMR, or soon do
 * @rmr: of an LMR
 *
 * Any context.  Return: 0: they do not.
 */
u32 kdapl_rmr_shown(struct kdapl_rmr *rmr)
{
	unsigned long flags;
	u32 key = 0;

	spin_lock_irqsave(&rmr->lock, flags);
	if (!rmr->taken)
		key = rmr->now.context ?: rmr->next.context;
	spin_unlock_irqrestore(&rmr->lock, flags);
	return key;
}

/* ---- keys ----------------------------------------------------------- */

/* The lowest byte of a key changes with each bind. */
static unsigned long key_index(u32 key)
{
	return key >> 8;
}

/**
 * kdapl_rmr_add_keys - messages of peers may invalidate the keys of an RMR
 * @rmr: its window is new; does nothing if it is not one of an LMR
 *
 * If there is no memory for the entry, such a message breaks its connection.  Caller holds
 * @rmr->window_lock.  May sleep.
 */
void kdapl_rmr_add_keys(struct kdapl_rmr *rmr)
{
	struct xarray *keys = &rmr->obj.ia->keys;
	int i;

	lockdep_assert_held(&rmr->window_lock);
	if (!rmr->fmr)
		return;
	rmr->obj.ia->dev->mr->window_keys(rmr->window, rmr->keys);
	for (i = 0; i < ARRAY_SIZE(rmr->keys); i++)
		if (rmr->keys[i] &&
		    xa_err(xa_store(keys, key_index(rmr->keys[i]), rmr, GFP_KERNEL)))
			rmr->keys[i] = 0;
}

/**
 * kdapl_rmr_remove_keys - a message that invalidates a key breaks its connection from here on
 * @rmr: its window has its keys still, so that nobody else has them
 *
 * Caller holds @rmr->window_lock.
 */
void kdapl_rmr_remove_keys(struct kdapl_rmr *rmr)
{
	int i;

	lockdep_assert_held(&rmr->window_lock);
	for (i = 0; i < ARRAY_SIZE(rmr->keys); i++) {
		if (rmr->keys[i])
			xa_erase(&rmr->obj.ia->keys, key_index(rmr->keys[i]));
		rmr->keys[i] = 0;
	}
}

/*
 * With a bind outstanding @taken is set, and the rest is done when the bind completes.  The
 * peer's answer may be seen before the completion of the bind that showed it the key: the
 * device executes the bind before it sends what tells the peer the key, but the two complete
 * in different queues.  An unbind that is outstanding completes as it would have without the
 * peer's invalidation.
 */
static bool rmr_take(struct kdapl_rmr *rmr, u32 key)
{
	lockdep_assert_held(&rmr->lock);
	if (rmr->taken || !rmr->window ||
	    (rmr->now.context != key && rmr->next.context != key))
		return false;
	if (rmr->cookie) {
		rmr->taken = true;
		return true;
	}
	rmr->obj.ia->dev->mr->window_taken(rmr->window);
	kdapl_binding_drop(&rmr->now);
	return true;
}

/**
 * kdapl_rmr_take_key - a message has invalidated a key: was it allowed to?
 * @ep: where it came in
 * @key: any value
 *
 * It was if the key is the present one of an LMR in the endpoint's zone; peers then have no
 * rights on that LMR any more.  Caller holds the lock of an EVD, which is an RCU read section and
 * keeps the RMR.  Any context.  Rule mt:M81.
 *
 * Return: whether it was allowed to.
 */
bool kdapl_rmr_take_key(const struct kdapl_ep *ep, u32 key)
{
	struct kdapl_rmr *rmr = xa_load(&ep->obj.ia->keys, key_index(key));
	unsigned long flags;
	bool taken;

	if (!key || !rmr || rmr->pz != READ_ONCE(ep->pz))
		return false;
	spin_lock_irqsave(&rmr->lock, flags);
	taken = rmr_take(rmr, key);
	spin_unlock_irqrestore(&rmr->lock, flags);
	return taken;
}
