// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RMRs of LMRs whose memory changes: what fmr.c asks of them; and the keys by which
 * peers reach memory, so that a message which takes one away is told from one that
 * should not (mt:M81, V3).
 *
 * A peer that was given a key may answer with a message that invalidates it: our device then
 * forgets the key, and the completion of the receive names it.  kdapl_ia.keys says which RMR
 * the key belongs to, by the part of the key that does not change when the window is bound
 * anew.  An entry is added or removed when a window is made, renewed or given back, and is
 * looked up under RCU.  It also leads a read that names a consumer's RMR to its memory (V5).
 *
 * Callers: fmr.c; rmr.c; evd_fifo.c when a completion is judged; post_check.c.
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
	ret = (rmr->now.lmr || rmr->cookie) && !rmr->now.taken && !rmr->next.taken;
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
	if (!rmr->now.taken && !rmr->next.taken)
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
 * @rmr: its window is new; does nothing if it is not one whose keys messages may invalidate
 *
 * Caller holds @rmr->window_lock.  May sleep.
 *
 * Return: false: there was no memory for an entry.  A message that invalidates such a key breaks
 * its connection, and no read finds the RMR by it.
 */
bool kdapl_rmr_add_keys(struct kdapl_rmr *rmr)
{
	struct xarray *keys = &rmr->obj.ia->keys;
	bool added = true;
	int i;

	lockdep_assert_held(&rmr->window_lock);
	if (!rmr->revocable)
		return true;
	rmr->obj.ia->dev->mr->window_keys(rmr->window, rmr->keys);
	for (i = 0; i < ARRAY_SIZE(rmr->keys); i++) {
		if (rmr->keys[i] &&
		    xa_err(xa_store(keys, key_index(rmr->keys[i]), rmr, GFP_KERNEL))) {
			rmr->keys[i] = 0;
			added = false;
		}
	}
	return added;
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

/**
 * kdapl_rmr_settle_soon - have an RMR put in order by rmr_work() in rmr.c
 * @rmr: no bind begins until then
 *
 * Caller holds @rmr->lock.
 */
void kdapl_rmr_settle_soon(struct kdapl_rmr *rmr)
{
	lockdep_assert_held(&rmr->lock);
	/* The work is queued already. */
	if (rmr->due)
		return;
	rmr->due = true;
	kdapl_object_get(&rmr->obj);
	if (!queue_work(kdapl_wq_of(rmr->obj.space), &rmr->work))
		kdapl_object_put(&rmr->obj);
}

/* The binding that peers reach by this key, or will; NULL: there is none. */
static struct kdapl_binding *rmr_binding(struct kdapl_rmr *rmr, u32 key)
{
	struct kdapl_binding *binding = rmr->now.context == key ? &rmr->now : &rmr->next;

	lockdep_assert_held(&rmr->lock);
	return binding->context == key && !binding->taken ? binding : NULL;
}

/*
 * A message of before the last bind may be seen after it: it has done what it is for, and what is
 * shown now is not concerned.  Once, since a key is invalidated once.
 */
static bool rmr_take_former(struct kdapl_rmr *rmr, u32 key)
{
	if (rmr->fmr || rmr->former != key)
		return false;
	rmr->former = 0;
	return true;
}

/*
 * The receive of the message, which is the next completion of @evd, waits until the RMR is unbound
 * and nothing of its window gives access (kdapl_evd_unbinds()).
 */
static void rmr_unbind_for(struct kdapl_rmr *rmr, struct kdapl_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	rmr->now.taken = true;
	kdapl_object_get(&evd->obj);
	rmr->taker = evd;
	WRITE_ONCE(evd->unbinding, rmr);
	kdapl_rmr_settle_soon(rmr);
}

/*
 * With a bind outstanding it is only noted, and the rest is done when the bind completes.  The
 * peer's answer may be seen before the completion of the bind that showed it the key: the
 * device executes the bind before it sends what tells the peer the key, but the two complete
 * in different queues.  An unbind that is outstanding completes as it would have without the
 * peer's invalidation.
 *
 * The message may be older than the binding: after 256 binds a key is there again, and siw does
 * not look at the part of it that binds change.  So it proves nothing about what the device does
 * for the present key.  A process, which can leave a message unseen for as long as it likes, must
 * not get its memory back while the device still has it: its window is renewed first.  An LMR of
 * a kernel consumer changes its memory with each transfer, for which that would take too long;
 * the consumer sees the messages in their turn.
 */
static bool rmr_take(struct kdapl_rmr *rmr, struct kdapl_evd *evd, u32 key)
{
	struct kdapl_binding *binding = rmr_binding(rmr, key);

	if (!rmr->window)
		return false;
	if (!binding)
		return rmr_take_former(rmr, key);
	if (rmr->cookie) {
		binding->taken = true;
	} else if (!rmr->fmr) {
		rmr_unbind_for(rmr, evd);
	} else {
		rmr->obj.ia->dev->mr->window_taken(rmr->window);
		kdapl_binding_drop(&rmr->now);
	}
	return true;
}

/**
 * kdapl_rmr_take_key - a message has invalidated a key: was it allowed to?
 * @evd: where its receive is the next completion
 * @ep: where it came in
 * @key: any value
 *
 * It was if the key is the present one of an RMR in the endpoint's zone for which that is allowed.
 * Peers then have no rights on what it has shown any more; or will not have them when
 * kdapl_evd_unbinds() says that the RMR is unbound; or, with a bind outstanding, when that is over.
 * Caller holds the lock of @evd, which is an RCU read section and keeps the RMR.  Any context.
 * Rules mt:M81, V3, V4.
 *
 * Return: whether it was allowed to.
 */
bool kdapl_rmr_take_key(struct kdapl_evd *evd, const struct kdapl_ep *ep, u32 key)
{
	struct kdapl_rmr *rmr = xa_load(&ep->obj.ia->keys, key_index(key));
	unsigned long flags;
	bool taken;

	if (!key || !rmr || rmr->pz != READ_ONCE(ep->pz))
		return false;
	spin_lock_irqsave(&rmr->lock, flags);
	taken = rmr_take(rmr, evd, key);
	spin_unlock_irqrestore(&rmr->lock, flags);
	return taken;
}

static DAT_RETURN check_sink(const struct kdapl_binding *binding, const DAT_LMR_TRIPLET *named)
{
	u64 offset;

	if (!binding)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	offset = named->virtual_address - binding->triplet.virtual_address;
	if (offset > binding->triplet.segment_length ||
	    named->segment_length > binding->triplet.segment_length - offset)
		return RET_BAD_ARG(3);
	return binding->privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? DAT_SUCCESS :
								      RET_NO_PRIVILEGE(RDMA_WRITE);
}

/**
 * kdapl_rmr_sink - the memory of an RMR, to which a read is to go
 * @ia: of the endpoint
 * @named: with an rmr_context in the place of the lmr_context
 * @segment: out: the same bytes, as a segment of the LMR; zones are compared when this is checked
 *
 * The key has to be that of the present binding, or of an outstanding bind, behind which the read
 * is posted.  A segment without bytes names nothing.  Caller is in an RCU read section.  Any
 * context.  Rule V5.
 *
 * Return: DAT_SUCCESS; DAT_PROTECTION_VIOLATION/WRITE: nothing is shown by that key;
 * DAT_INVALID_PARAMETER/ARG3: not inside of what is; DAT_PRIVILEGES_VIOLATION/RDMA_WRITE: it
 * does not admit writes.
 */
DAT_RETURN kdapl_rmr_sink(struct kdapl_ia *ia, const DAT_LMR_TRIPLET *named,
			  DAT_LMR_TRIPLET *segment)
{
	const struct kdapl_binding *binding;
	u32 key = named->lmr_context;
	struct kdapl_rmr *rmr;
	unsigned long flags;
	DAT_RETURN ret;

	*segment = *named;
	if (!named->segment_length)
		return DAT_SUCCESS;
	rmr = key ? xa_load(&ia->keys, key_index(key)) : NULL;
	if (!rmr)
		return check_sink(NULL, named);
	spin_lock_irqsave(&rmr->lock, flags);
	binding = rmr_binding(rmr, key);
	ret = check_sink(binding, named);
	if (!ret)
		segment->lmr_context = binding->triplet.lmr_context;
	spin_unlock_irqrestore(&rmr->lock, flags);
	return ret;
}
