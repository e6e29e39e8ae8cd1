// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory that goes while posts use it. Called by pass_mem.c.
 */
#include "pass_srq.h"

#define KEY_GONE_LIMIT	2000000000ull	/* ns */

/*
 * pass_fence_posts - wait for posts that are under way
 *
 * Whoever posts now has given the queue pair what it posts when this returns (mt:T12).
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

/* pass_fence_binds - see what binds are over, which keep LMRs from being freed (mt:M22) */
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

/* Does a request that is not the oldest one name the key? No new post does. */
static bool waits_with_key(struct pass_dir *dir, uint32_t lkey)
{
	bool behind = false, found = false;
	const struct pass_cookie *cookie;
	uint32_t left;

	pass_dir_pull(dir);
	shim_lock(&dir->lock);
	/* In posting order: the next one is the oldest. */
	cookie = dir->next;
	for (left = dir->qp ? dir->size : 0; left && !found; left--) {
		if (pass_cookie_owed(cookie)) {
			found = behind && names_key(cookie, lkey);
			behind = true;
		}
		cookie = cookie->after;
	}
	shim_unlock(&dir->lock);
	return found;
}

/* One look at all endpoints; @last: those that still wait are broken. */
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
 * pass_fence_key - break connections that wait for a request with freed memory
 * @lkey: of an LMR that was freed; the device does not know it any more
 *
 * Soft-RoCE ends a queue pair at such a request. If one before it has to be repeated, that
 * is never done, and neither completes (kdapl_ep_key_gone()). The oldest request alone fails
 * by itself, with a completion that says why.
 */
void pass_fence_key(struct pass_ia *pia, uint32_t lkey)
{
	uint64_t until = pass_now() + KEY_GONE_LIMIT;
	bool last = false;

	/* The clock is read once for each look: that which ends the wait is the one that breaks. */
	while (any_waits(pia, lkey, last) && !last) {
		pass_pause(1500);
		last = pass_now() >= until;
	}
}
