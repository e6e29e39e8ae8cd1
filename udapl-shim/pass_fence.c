// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Freeing memory while posts use it: what dat_lmr_free() has to wait for. Called by pass_mem.c.
 */
#include "pass_srq.h"

#define KEY_GONE_LIMIT	2000000000ull	/* ns */

/*
 * pass_fence_posts - wait for posts that are being made
 *
 * When this returns, each thread that was in a post has given its work request to the queue pair
 * (mt:T12). A post holds the lock of its direction or SRQ from the look-up of the LMR until then.
 */
void pass_fence_posts(struct pass_ia *pia)
{
	struct pass_srq *srq;
	struct pass_ep *ep;
	int i;

	pthread_mutex_lock(&pia->lock);
	for (ep = pia->eps; ep; ep = ep->next)
		for (i = 0; i < PASS_DIRS; i++) {
			shim_lock(&ep->dir[i].lock);
			shim_unlock(&ep->dir[i].lock);
		}
	for (srq = pia->srqs; srq; srq = srq->next) {
		shim_lock(&srq->dir.lock);
		shim_unlock(&srq->dir.lock);
	}
	pthread_mutex_unlock(&pia->lock);
}

/* pass_fence_binds - poll for completed binds, which keep LMRs from being freed (mt:M22) */
void pass_fence_binds(struct pass_ia *pia)
{
	struct pass_ep *ep;

	pthread_mutex_lock(&pia->lock);
	for (ep = pia->eps; ep; ep = ep->next)
		pass_dir_pull(&ep->dir[PASS_REQ]);
	pthread_mutex_unlock(&pia->lock);
}

static bool names_key(const struct pass_cookie *cookie, uint32_t lkey)
{
	uint32_t n;

	for (n = 0; n < cookie->nr_sge; n++)
		if (cookie->sge[n].lkey == lkey)
			return true;
	return false;
}

/*
 * Does an outstanding request other than the oldest one name the key? The LMR is not found any
 * more, so no new post does. The newest ones may wait for room on the queue pair, and name it, too.
 */
static bool waits_with_key(struct pass_dir *dir, uint32_t lkey)
{
	bool behind = false, found = false;
	const struct pass_cookie *cookie;
	uint32_t left;

	pass_dir_pull(dir);
	shim_lock(&dir->lock);
	/* In posting order: the cookie for the next post was used the longest ago. */
	cookie = dir->next;
	for (left = dir->qp ? dir->size : 0; left && !found; left--) {
		if (pass_cookie_owed(cookie) || left <= dir->held) {
			found = behind && names_key(cookie, lkey);
			behind = true;
		}
		cookie = cookie->after;
	}
	shim_unlock(&dir->lock);
	return found;
}

/*
 * Does an endpoint of the IA wait for a request that names the key? @last: break the connections
 * of those that do
 */
static bool any_waits(struct pass_ia *pia, uint32_t lkey, bool last)
{
	struct pass_ep *ep;
	bool any = false;

	pthread_mutex_lock(&pia->lock);
	for (ep = pia->eps; ep; ep = ep->next) {
		if (!waits_with_key(&ep->dir[PASS_REQ], lkey))
			continue;
		any = true;
		if (last)
			pass_tell(ep, KDAPL_TELL_BROKEN);
	}
	pthread_mutex_unlock(&pia->lock);
	return any;
}

/*
 * pass_fence_key - break connections that have requests outstanding on freed memory
 * @lkey: the key of an LMR that was freed; the device does not know it any more
 *
 * Soft-RoCE stops a queue pair at a request that names such a key. If a request before that one
 * has to be repeated the device never does so, and neither of them completes
 * (kdapl_ep_key_gone()). Only if it is the oldest request it fails by itself, with a completion
 * that says why.
 */
void pass_fence_key(struct pass_ia *pia, uint32_t lkey)
{
	uint64_t until = shim_now() + KEY_GONE_LIMIT;
	bool last = false;

	/* The clock is read once for each look, so that the last look is one with @last set. */
	while (any_waits(pia, lkey, last) && !last) {
		pass_pause(1500);
		last = shim_now() >= until;
	}
}
