// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The completion queues (CQs) of an EVD: how many there are, how large, and who
 * uses which.
 *
 * Each direction of an endpoint that completes on an EVD has a share of one of its CQs from the
 * moment it is attached, and a CQ has room for all its shares together, so it cannot overflow
 * (A3).  When a CQ grows, is replaced, or gets another one beside it (E57) is told in
 * Documentation/life-of-a-dto.rst, The completion queue.
 *
 * Callers: ep_attr.c takes and gives back shares; conn_qp.c holds a CQ while a queue
 * pair uses it; evd_fifo.c polls, evd_run.c arms; evd.c destroys.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include "evd_cq.h"
#include "evd_kick.h"
#include "evd_streams.h"
#include "ia.h"

/* ---- what the device calls ------------------------------------------ */

static void cq_handler(struct kdapl_cq *cq)
{
	struct kdapl_evd *evd = container_of(cq, struct kdapl_evd_cq, cq)->evd;

	if (!READ_ONCE(evd->sink) && !READ_ONCE(evd->drainers)) {
		kdapl_evd_watch(evd);
	} else if (READ_ONCE(evd->config) == KDAPL_EVD_CONFIG_SOLICITED) {
		/*
		 * Somebody else may have fetched the completion, and a run that is under way does
		 * not know that it wakes.  After a kick another run follows.
		 */
		WRITE_ONCE(evd->solicited, true);
		kdapl_evd_kick(evd);
	} else {
		kdapl_evd_schedule(evd);
	}
}

static void cq_error(struct kdapl_cq *cq)
{
	kdapl_evd_cq_failed(container_of(cq, struct kdapl_evd_cq, cq)->evd);
}

/* ---- what pollers find ---------------------------------------------- */

/*
 * To be called whenever a CQ came, went or changed its size.
 *
 * About @most_wcs: the CQs are polled in turn, a batch from each.  While the largest one is
 * being emptied the others may be filled again, so that as many completions may come out of
 * each of them as out of the largest.
 */
static void cqs_changed(struct kdapl_evd *evd)
{
	struct kdapl_evd_cq *c;
	u32 n = 0, largest = 0;

	lockdep_assert_held(&evd->streams_lock);
	lockdep_assert_held(&evd->lock);
	evd->cq_size = 0;
	list_for_each_entry(c, &evd->cqs, on_evd) {
		evd->cq_size += c->cq.size;
		largest = max(largest, c->cq.size);
		n++;
	}
	evd->most_wcs = n * (largest + KDAPL_WC_BATCH);
	c = list_first_entry_or_null(&evd->cqs, struct kdapl_evd_cq, on_evd);
	evd->polled = c;
	evd->only_cq = c && list_is_singular(&evd->cqs) ? c->cq.ib : NULL;
}

static void cq_link(struct kdapl_evd_cq *c)
{
	struct kdapl_evd *evd = c->evd;

	spin_lock_irq(&evd->lock);
	list_add_tail(&c->on_evd, &evd->cqs);
	cqs_changed(evd);
	spin_unlock_irq(&evd->lock);
}

/* Pollers must not find a CQ that is about to be destroyed, or that is being made. */
static void cq_unlink(struct kdapl_evd_cq *c)
{
	struct kdapl_evd *evd = c->evd;

	spin_lock_irq(&evd->lock);
	list_del(&c->on_evd);
	cqs_changed(evd);
	spin_unlock_irq(&evd->lock);
}

/**
 * kdapl_evd_poll_cqs - fetch a batch where there are several CQs, or none
 * @evd: its batch is empty and its lock is held
 *
 * Only if kdapl_evd.only_cq is NULL.  Each call begins with the CQ behind the one that was
 * polled last, so that a CQ which never runs empty does not keep the others waiting.
 *
 * Return: the first completion of the batch; NULL: there are none.
 */
struct ib_wc *kdapl_evd_poll_cqs(struct kdapl_evd *evd)
{
	struct kdapl_evd_cq *c = evd->polled;
	int n = 0;

	lockdep_assert_held(&evd->lock);
	if (!c)
		return NULL;
	do {
		c = list_next_entry_circular(c, &evd->cqs, on_evd);
		if (!c->cq.ib)
			continue;
		n = ib_poll_cq(c->cq.ib, KDAPL_WC_BATCH, evd->wc);
		if (unlikely(n < 0))
			kdapl_evd_cq_faulted(evd);
	} while (n <= 0 && c != evd->polled);
	evd->polled = c;
	if (n <= 0)
		return NULL;
	evd->wc_next = 0;
	evd->wc_end = n;
	return evd->wc;
}

/**
 * kdapl_evd_arm_cqs - have the next completion in any CQ call the CQ's handler
 * @evd: its lock is held
 * @used: only CQs that a queue pair uses
 * @solicited: only a completion that is solicited or an error
 * @failed: out: a CQ could not be armed
 *
 * Return: true: there may be completions that came before, for which no handler is called,
 * so poll again.
 */
bool kdapl_evd_arm_cqs(struct kdapl_evd *evd, bool used, bool solicited,
		       bool *failed)
{
	struct kdapl_evd_cq *c;
	bool missed = false;
	int ret;

	lockdep_assert_held(&evd->lock);
	*failed = false;
	list_for_each_entry(c, &evd->cqs, on_evd) {
		if (!c->cq.ib || (used && !atomic_read(&c->nr_qps)))
			continue;
		ret = c->cq.dev->qp->cq_arm(&c->cq, solicited);
		missed |= ret > 0;
		*failed |= ret < 0;
	}
	return missed;
}

/* ---- making and growing --------------------------------------------- */

/*
 * What to ask the device for if @entries are needed: one less than a power of two.
 * Most drivers add one entry and round up to a power of two, or only round; asked for
 * a power of two the former would allocate twice as much (Documentation/drivers.rst).
 * The length of the EVD says how many events the consumer expects, so that the first CQ is
 * not too small.
 */
static u32 cq_size_for(const struct kdapl_evd *evd, u32 entries)
{
	u32 limit = evd->obj.ia->dev->attrs.max_cqe;

	entries = max3(entries, evd->qlen - 1, 1U);
	return min_t(unsigned long, roundup_pow_of_two(entries + 1UL) - 1, limit);
}

/* Has the device make the CQ of @c, which no poller finds yet: it is not linked. */
static int cq_create(struct kdapl_evd_cq *c, u32 size)
{
	struct kdapl_device *dev = c->evd->obj.ia->dev;
	int ret;

	c->cq.dev = dev;
	c->cq.handler = cq_handler;
	c->cq.error = cq_error;
	c->cq.user = c->evd->obj.space->user;
	c->cq.unpaid = c->evd->unpaid;
	ret = dev->qp->cq_create(&c->cq, size);
	if (ret || c->cq.size >= size)
		return ret;
	dev->qp->cq_destroy(&c->cq);
	return -ENOSPC;
}

static int cq_add(struct kdapl_evd *evd, u32 size, struct kdapl_evd_cq **out)
{
	struct kdapl_evd_cq *c;
	int ret;

	c = kzalloc(sizeof(*c), kdapl_gfp(evd->obj.space));
	if (!c)
		return -ENOMEM;
	c->evd = evd;
	INIT_LIST_HEAD(&c->pools);
	ret = cq_create(c, size);
	if (ret) {
		kfree(c);
		return ret;
	}
	cq_link(c);
	*out = c;
	return 0;
}

/*
 * Makes a larger CQ in place of the one of @c, which no queue pair uses, and destroys that.
 * If a larger one cannot be made the old one stays.
 */
static int cq_replace(struct kdapl_evd_cq *c, u32 size)
{
	struct kdapl_cq old = c->cq;
	int ret;

	cq_unlink(c);
	ret = cq_create(c, size);
	if (ret)
		c->cq = old;
	else
		old.dev->qp->cq_destroy(&old);
	cq_link(c);
	return ret;
}

static int cq_resize(struct kdapl_evd_cq *c, u32 size)
{
	struct kdapl_evd *evd = c->evd;
	int ret = c->cq.dev->qp->cq_resize(&c->cq, size);

	if (ret)
		return ret;
	spin_lock_irq(&evd->lock);
	cqs_changed(evd);
	spin_unlock_irq(&evd->lock);
	return c->cq.size < size ? -ENOSPC : 0;
}

/*
 * Makes @c, which is smaller, large enough for @entries.  -EOPNOTSUPP: @c cannot grow so far,
 * or not while queue pairs use it.
 */
static int cq_grow(struct kdapl_evd_cq *c, u32 entries)
{
	struct kdapl_evd *evd = c->evd;
	struct kdapl_device *dev = evd->obj.ia->dev;
	u32 size = cq_size_for(evd, entries);
	int ret;

	if (size < entries)
		return -EOPNOTSUPP;
	if (!READ_ONCE(dev->cq_fixed)) {
		ret = cq_resize(c, size);
		/* Drivers have two errnos that say that they cannot resize. */
		if (ret != -EOPNOTSUPP && ret != -ENOSYS)
			return ret;
		WRITE_ONCE(dev->cq_fixed, true);
	}
	/* Pairs with kdapl_evd_release_cq(). */
	return atomic_read_acquire(&c->nr_qps) ? -EOPNOTSUPP : cq_replace(c, size);
}

/* ---- shares --------------------------------------------------------- */

/*
 * struct cq_pool - shares of a CQ that together take the room of the largest
 * @entry: in kdapl_evd_cq.pools
 * @key: kdapl_cq_share.pool
 * @entries: how many entries of the CQ they take together
 * @nr_shares: how many shares of this CQ are in the pool
 */
struct cq_pool {
	struct list_head entry;
	const void *key;
	u32 entries;
	u32 nr_shares;
};

static struct cq_pool *pool_find(const struct kdapl_evd_cq *c, const void *key)
{
	struct cq_pool *pool;

	list_for_each_entry(pool, &c->pools, entry) {
		if (pool->key == key)
			return pool;
	}
	return NULL;
}

/* How many entries of @c become free if @share leaves: in a pool, only the last one frees any. */
static u32 share_own(const struct kdapl_evd_cq *c, const struct kdapl_cq_share *share)
{
	struct cq_pool *pool = share->pool ? pool_find(c, share->pool) : NULL;

	if (!pool)
		return share->entries;
	return pool->nr_shares == 1 ? pool->entries : 0;
}

/* How many entries of @c are promised to other shares than those in @own. */
static u32 cq_promised(const struct kdapl_evd_cq *c, const struct kdapl_cq_share *own)
{
	u32 i, n = c->entries;

	for (i = 0; i < KDAPL_CQ_SHARES; i++)
		if (own[i].cq == c)
			n -= share_own(c, &own[i]);
	return n;
}

/* How many more entries of @c a new share takes, as if the endpoint's shares in @own were gone. */
static u32 share_needs(const struct kdapl_evd_cq *c, const struct kdapl_cq_share *share,
		       const struct kdapl_cq_share *own)
{
	struct cq_pool *pool = share->pool ? pool_find(c, share->pool) : NULL;
	u32 i, others = pool ? pool->nr_shares : 0;

	for (i = 0; i < KDAPL_CQ_SHARES; i++)
		if (others && own[i].cq == c && own[i].pool == share->pool)
			others--;
	if (!others)
		return share->entries;
	return share->entries - min(share->entries, pool->entries);
}

static u32 shares_need(const struct kdapl_evd_cq *c, const struct kdapl_cq_share *shares,
		       u32 n, const struct kdapl_cq_share *own)
{
	u32 i, entries = 0;

	for (i = 0; i < n; i++)
		entries += share_needs(c, &shares[i], own);
	return entries;
}

/*
 * Finds or makes a CQ with room for @n more shares.  Of several that have room the newest one
 * is taken, since it is the largest: so the smaller ones lose their shares in the course of
 * time, as endpoints come and go, and are given back.
 */
static int cq_provide(struct kdapl_evd *evd, const struct kdapl_cq_share *shares, u32 n,
		      const struct kdapl_cq_share *own, struct kdapl_evd_cq **out)
{
	u32 most = evd->obj.ia->dev->attrs.max_cqe;
	struct kdapl_evd_cq *c, *last = NULL;
	u32 i, entries = 0, need;
	u64 promised = 0;
	int ret;

	lockdep_assert_held(&evd->streams_lock);
	*out = NULL;
	for (i = 0; i < n; i++)
		entries += shares[i].entries;
	list_for_each_entry(c, &evd->cqs, on_evd) {
		last = c;
		promised += cq_promised(c, own);
		if (cq_promised(c, own) + shares_need(c, shares, n, own) <= c->cq.size)
			*out = c;
	}
	need = *out ? shares_need(*out, shares, n, own) : entries;
	if (entries > most || promised + need > (u64)most * KDAPL_EVD_MAX_CQS)
		return -ENOSPC;
	if (*out)
		return 0;
	if (!last)
		return cq_add(evd, cq_size_for(evd, entries), out);
	*out = last;
	ret = cq_grow(last, cq_promised(last, own) + shares_need(last, shares, n, own));
	if (ret != -EOPNOTSUPP)
		return ret;
	return cq_add(evd, cq_size_for(evd, max(entries, evd->cq_size)), out);
}

/* Counts a share in @c.  @spare: memory for its pool, used if that is not in @c yet, or NULL. */
static void share_enter(struct kdapl_evd_cq *c, struct kdapl_cq_share *share,
			struct cq_pool **spare)
{
	struct cq_pool *pool;

	share->cq = c;
	c->nr_shares++;
	if (!share->pool) {
		c->entries += share->entries;
		return;
	}
	pool = pool_find(c, share->pool);
	if (!pool) {
		pool = *spare;
		*spare = NULL;
		pool->key = share->pool;
		list_add(&pool->entry, &c->pools);
	}
	pool->nr_shares++;
	if (share->entries > pool->entries) {
		c->entries += share->entries - pool->entries;
		pool->entries = share->entries;
	}
}

static void share_leave(struct kdapl_evd_cq *c, const struct kdapl_cq_share *share)
{
	struct cq_pool *pool = share->pool ? pool_find(c, share->pool) : NULL;

	c->entries -= share_own(c, share);
	c->nr_shares--;
	if (pool && !--pool->nr_shares) {
		list_del(&pool->entry);
		kfree(pool);
	}
}

/**
 * kdapl_evd_take_shares - directions of an endpoint begin to complete on an EVD
 * @evd: they are attached to it
 * @shares: theirs, with entries and pool; the CQ is filled in here, the same for all.  At
 *	    most one of them has a pool
 * @n: 1, or 2 for both directions
 * @own: the KDAPL_CQ_SHARES shares that the endpoint has now and gives back after this
 *
 * May sleep; in the IA's section.
 *
 * Return: 0; -ENOSPC: no CQ of the device holds the shares together, or the EVD has all that
 * it may have; -ENOMEM.  On an error nothing has changed, except that a CQ may have become
 * larger.
 */
int kdapl_evd_take_shares(struct kdapl_evd *evd, struct kdapl_cq_share *shares,
			  u32 n, const struct kdapl_cq_share *own)
{
	struct cq_pool *spare = NULL;
	struct kdapl_evd_cq *c;
	bool changed;
	u32 i, size;
	int ret;

	for (i = 0; i < n; i++) {
		if (!shares[i].pool)
			continue;
		spare = kzalloc(sizeof(*spare), kdapl_gfp(evd->obj.space));
		if (!spare)
			return -ENOMEM;
	}
	mutex_lock(&evd->streams_lock);
	size = evd->cq_size;
	ret = cq_provide(evd, shares, n, own, &c);
	changed = evd->cq_size != size;
	for (i = 0; i < n && !ret; i++)
		share_enter(c, &shares[i], &spare);
	mutex_unlock(&evd->streams_lock);
	kfree(spare);
	/* If somebody waits for events already, the runner has to arm a new CQ. */
	if (changed)
		kdapl_evd_kick(evd);
	/* Other errnos of the device are not for our caller. */
	return ret && ret != -ENOSPC ? -ENOMEM : ret;
}

/* Makes room for @entries in @c itself; other than cq_provide() it takes no other CQ instead. */
static int cq_make_room(struct kdapl_evd_cq *c, u32 entries)
{
	if (entries <= c->cq.size)
		return 0;
	return c->cq.ib ? cq_grow(c, entries) : -ENODEV;
}

/**
 * kdapl_evd_grow_share - a direction may have more completions outstanding than before
 * @share: taken, with a pool; nobody takes it or gives it back meanwhile
 * @entries: how many it may have from now on
 *
 * May sleep; in the IA's section.
 *
 * Return: 0, and all shares of its pool in this CQ may together have as many; -EOPNOTSUPP:
 * the CQ cannot be made as large, or not while queue pairs use it; -ENODEV: it is gone with
 * the device; -ENOMEM, or an errno of the device's.
 */
int kdapl_evd_grow_share(struct kdapl_cq_share *share, u32 entries)
{
	struct kdapl_evd_cq *c = share->cq;
	struct kdapl_evd *evd = c->evd;
	struct cq_pool *pool;
	u32 more;
	int ret;

	mutex_lock(&evd->streams_lock);
	pool = pool_find(c, share->pool);
	more = entries - min(entries, pool->entries);
	ret = cq_make_room(c, c->entries + more);
	if (!ret) {
		c->entries += more;
		pool->entries += more;
		share->entries = entries;
	}
	mutex_unlock(&evd->streams_lock);
	if (!ret)
		kdapl_evd_kick(evd);
	return ret;
}

/**
 * kdapl_evd_give_share - undo kdapl_evd_take_shares() for one direction
 * @share: no queue pair of the endpoint uses its CQ; without a CQ, nothing is done
 *
 * If the EVD has several CQs, one in which no share is left is destroyed.  May sleep.
 */
void kdapl_evd_give_share(struct kdapl_cq_share *share)
{
	struct kdapl_evd_cq *c = share->cq;
	struct kdapl_evd *evd;

	if (!c)
		return;
	evd = c->evd;
	share->cq = NULL;
	mutex_lock(&evd->streams_lock);
	share_leave(c, share);
	if (!c->nr_shares && !list_is_singular(&evd->cqs)) {
		cq_unlink(c);
		if (c->cq.ib)
			c->cq.dev->qp->cq_destroy(&c->cq);
		kfree(c);
	}
	mutex_unlock(&evd->streams_lock);
}

/* ---- queue pairs ---------------------------------------------------- */

/**
 * kdapl_evd_hold_cq - a queue pair is about to use a CQ
 * @c: its endpoint has a share
 *
 * Until kdapl_evd_release_cq() the CQ is not replaced.  May sleep.
 *
 * Return: 0; -ENODEV when the CQ is gone with the device.
 */
int kdapl_evd_hold_cq(struct kdapl_evd_cq *c)
{
	struct kdapl_evd *evd = c->evd;
	bool first = false;
	int ret = 0;

	mutex_lock(&evd->streams_lock);
	if (!c->cq.ib)
		ret = -ENODEV;
	else
		first = atomic_inc_return(&c->nr_qps) == 1;
	mutex_unlock(&evd->streams_lock);
	/* The runner of the EVD arms the CQ. */
	if (first)
		kdapl_evd_kick(evd);
	return ret;
}

/**
 * kdapl_evd_release_cq - the queue pair is destroyed
 * @c: that of kdapl_evd_hold_cq()
 *
 * Any context.  It does not take kdapl_evd.streams_lock: the holder may be making a CQ and
 * wait for memory, for which the end of a connection must not wait (conn_work.c).
 */
void kdapl_evd_release_cq(struct kdapl_evd_cq *c)
{
	/* Pairs with cq_grow(), which replaces a CQ only if it sees that no queue pair uses it. */
	atomic_dec_return_release(&c->nr_qps);
}

/* ---- the end -------------------------------------------------------- */

/**
 * kdapl_evd_destroy_cqs - give all CQs back to the device
 * @evd: no queue pair uses its CQs
 *
 * Endpoints keep their shares, which are of no use any more.  Idempotent.  May sleep.
 */
void kdapl_evd_destroy_cqs(struct kdapl_evd *evd)
{
	struct kdapl_evd_cq *c;

	mutex_lock(&evd->streams_lock);
	list_for_each_entry(c, &evd->cqs, on_evd) {
		struct kdapl_cq cq = c->cq;

		if (!cq.ib)
			continue;
		spin_lock_irq(&evd->lock);
		c->cq.ib = NULL;
		cqs_changed(evd);
		spin_unlock_irq(&evd->lock);
		cq.dev->qp->cq_destroy(&cq);
	}
	mutex_unlock(&evd->streams_lock);
}

/**
 * kdapl_evd_free_cqs - free what is left of the CQs
 * @evd: they are destroyed, and nobody has a share
 */
void kdapl_evd_free_cqs(struct kdapl_evd *evd)
{
	struct kdapl_evd_cq *c, *next;

	list_for_each_entry_safe(c, next, &evd->cqs, on_evd)
		kfree(c);
}
