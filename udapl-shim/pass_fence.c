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

/* An endpoint that may have requests outstanding that name a key */
struct waiter {
	struct pass_ep *ep;
	uint32_t lkey;
};

/*
 * Does no outstanding request other than the oldest one name the key? The LMR is not found any
 * more, so no new post does. The newest ones may wait for room on the queue pair, and name it, too.
 */
static bool waits_no_more(void *arg)
{
	const struct waiter *w = arg;
	struct pass_dir *dir = &w->ep->dir[PASS_REQ];
	bool behind = false, found = false;
	const struct pass_cookie *cookie;
	uint32_t left;

	pass_dir_pull(dir);
	shim_lock(&dir->lock);
	/* In posting order: the cookie for the next post was used the longest ago. */
	cookie = dir->next;
	for (left = dir->qp ? dir->size : 0; left && !found; left--) {
		if (pass_cookie_owed(cookie) || left <= dir->held) {
			found = behind && names_key(cookie, w->lkey);
			behind = true;
		}
		cookie = cookie->after;
	}
	shim_unlock(&dir->lock);
	return !found;
}

/*
 * Finds the first endpoint of the IA that waits, and takes a reference; @w->ep is NULL if there is
 * none. Or breaks the connections of all of them (@last).
 */
static bool find_waiter(struct pass_ia *pia, struct waiter *w, bool last)
{
	pthread_mutex_lock(&pia->lock);
	for (w->ep = pia->eps; w->ep; w->ep = w->ep->next) {
		if (waits_no_more(w))
			continue;
		if (last)
			pass_tell(w->ep, KDAPL_TELL_BROKEN);
		else if (pass_ep_try_get(w->ep))
			break;
	}
	pthread_mutex_unlock(&pia->lock);
	return w->ep;
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
	struct waiter w = { .lkey = lkey };
	bool late = false;

	while (find_waiter(pia, &w, late)) {
		late = !pass_keeper_await(w.ep, waits_no_more, &w, until);
		pass_ep_put(w.ep);
	}
}
