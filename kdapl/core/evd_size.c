// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What feeds an EVD, and how large its completion queue (CQ) has to be.
 *
 * A stream is one source that is attached to an EVD: a direction of an endpoint,
 * or anything that raises events which are no completions.  The flags of the
 * streams decide when the EVD notifies (E21, E22).  The CQ has room for all work
 * requests that they may have outstanding together, so that it cannot overflow (A3).
 *
 * Callers: ep_attr.c and sp.c attach and detach; conn_qp.c holds the CQ while a
 * queue pair uses it; evd.c destroys it.
 */
#include "evd_size.h"
#include "ep_apply.h"
#include "evd_fifo.h"
#include "evd_kick.h"
#include "ia.h"
#include "../trace.h"

/* After a completion; kdapl_evd_watch() */
#define WATCH_DELAY	msecs_to_jiffies(100)

/* ---- streams -------------------------------------------------------- */

static enum kdapl_stream_flags stream_flags(DAT_COMPLETION_FLAGS flags)
{
	switch (flags) {
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
		return KDAPL_STREAM_UNSIGNALLED;
	case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
		return KDAPL_STREAM_SOLICITED;
	default:
		return KDAPL_STREAM_THRESHOLD;
	}
}

static u32 streams_sum(const u32 *by_flags)
{
	u32 i, n = 0;

	for (i = 0; i < KDAPL_STREAM_NR_FLAGS; i++)
		n += by_flags[i];
	return n;
}

/* E21: may a stream with @flags be added to @s?  OTHER is always THRESHOLD. */
static bool streams_agree(const struct kdapl_streams *s,
			  enum kdapl_stream_flags flags)
{
	if (streams_sum(s->recv) != s->recv[flags] ||
	    streams_sum(s->request) != s->request[flags])
		return false;
	return flags == KDAPL_STREAM_THRESHOLD || !s->other;
}

/*
 * E22.  While an endpoint replaces its streams they need not agree; then what
 * starts most runs prevails, so that the CQ is armed for all that is awaited.
 */
static u32 streams_config(const struct kdapl_streams *s)
{
	if (s->recv[KDAPL_STREAM_THRESHOLD] || s->request[KDAPL_STREAM_THRESHOLD])
		return KDAPL_EVD_CONFIG_THRESHOLD;
	if (s->recv[KDAPL_STREAM_UNSIGNALLED] ||
	    s->request[KDAPL_STREAM_UNSIGNALLED])
		return KDAPL_EVD_CONFIG_NOTIFY;
	if (s->recv[KDAPL_STREAM_SOLICITED])
		return KDAPL_EVD_CONFIG_SOLICITED;
	return KDAPL_EVD_CONFIG_THRESHOLD;
}

static void streams_count(struct kdapl_streams *s, enum kdapl_stream stream,
			  enum kdapl_stream_flags flags, u32 entries, int by)
{
	switch (stream) {
	case KDAPL_STREAM_RECV:
		s->recv[flags] += by;
		break;
	case KDAPL_STREAM_REQUEST:
		s->request[flags] += by;
		break;
	case KDAPL_STREAM_OTHER:
		s->other += by;
		break;
	}
	s->entries += by * entries;
}

/* What is left of @s without @part, which is counted in it. */
static struct kdapl_streams streams_without(const struct kdapl_streams *s,
					    const struct kdapl_streams *part)
{
	struct kdapl_streams rest = *s;
	u32 i;

	for (i = 0; part && i < KDAPL_STREAM_NR_FLAGS; i++) {
		rest.recv[i] -= part->recv[i];
		rest.request[i] -= part->request[i];
	}
	if (part) {
		rest.other -= part->other;
		rest.entries -= part->entries;
	}
	return rest;
}

/**
 * kdapl_streams_add - count a stream
 * @streams: one more in there
 * @stream: what kind of source
 * @flags: completion flags of the direction, for RECV and REQUEST
 * @entries: CQ entries that it may need at once
 */
void kdapl_streams_add(struct kdapl_streams *streams, enum kdapl_stream stream,
		       DAT_COMPLETION_FLAGS flags, u32 entries)
{
	streams_count(streams, stream, stream_flags(flags), entries, 1);
}

/* ---- the CQ --------------------------------------------------------- */

/**
 * kdapl_evd_watch - look at a CQ in a while, unless its consumer has
 * @evd: nobody is woken by it
 *
 * Its CQ is armed all the same, so that a broken connection is noticed whose consumer
 * does not look (D52).  A consumer who does is disturbed ten times a second at most, and
 * not at all while nothing completes.  Any context.
 */
void kdapl_evd_watch(struct kdapl_evd *evd)
{
	queue_delayed_work(kdapl_wq_of(evd->obj.space), &evd->watch, WATCH_DELAY);
}

static void evd_cq_handler(struct kdapl_cq *cq)
{
	struct kdapl_evd *evd = container_of(cq, struct kdapl_evd, cq);

	if (READ_ONCE(evd->sink) || READ_ONCE(evd->drainers))
		kdapl_evd_schedule(evd);
	else
		kdapl_evd_watch(evd);
}

/* The CQ has lost completions, and nobody can tell whose they were (E68). */
static void evd_cq_error(struct kdapl_cq *cq)
{
	struct kdapl_evd *evd = container_of(cq, struct kdapl_evd, cq);

	WRITE_ONCE(evd->cq_failed, true);
	mod_delayed_work(kdapl_wq_of(evd->obj.space), &evd->watch, 0);
}

/**
 * kdapl_evd_destroy_cq - give the CQ back
 * @evd: no queue pair uses its CQ
 *
 * Idempotent.  May sleep.
 */
void kdapl_evd_destroy_cq(struct kdapl_evd *evd)
{
	struct kdapl_cq cq;

	mutex_lock(&evd->streams_lock);
	/* Pollers must not find the CQ while it is being destroyed. */
	spin_lock_irq(&evd->lock);
	cq = evd->cq;
	evd->cq.ib = NULL;
	spin_unlock_irq(&evd->lock);
	if (cq.ib)
		cq.dev->qp->cq_destroy(&cq);
	mutex_unlock(&evd->streams_lock);
}

static int cq_create(struct kdapl_evd *evd, u32 entries)
{
	evd->cq.dev = evd->obj.ia->dev;
	evd->cq.handler = evd_cq_handler;
	evd->cq.error = evd_cq_error;
	evd->cq.user = evd->obj.space->user;
	return evd->cq.dev->qp->cq_create(&evd->cq, entries);
}

/*
 * Makes a larger CQ and destroys the old one, which no queue pair uses.  If that
 * fails the old one stays.
 */
static int cq_replace(struct kdapl_evd *evd, u32 entries)
{
	struct kdapl_cq old;
	int ret;

	spin_lock_irq(&evd->lock);
	old = evd->cq;
	evd->cq.ib = NULL;
	spin_unlock_irq(&evd->lock);
	ret = cq_create(evd, entries);
	if (!ret) {
		old.dev->qp->cq_destroy(&old);
		return 0;
	}
	spin_lock_irq(&evd->lock);
	evd->cq = old;
	spin_unlock_irq(&evd->lock);
	return ret;
}

/*
 * Makes sure that the CQ has @entries entries at least.  Queue pairs that use it go
 * on working (A3, E57).
 */
static int cq_provide(struct kdapl_evd *evd, u32 entries)
{
	struct kdapl_device *dev = evd->obj.ia->dev;
	u32 limit = dev->attrs.max_cqe;
	int ret;

	lockdep_assert_held(&evd->streams_lock);
	if (entries > limit)
		return -ENOSPC;
	if (entries < evd->qlen)
		entries = evd->qlen;
	entries = min_t(unsigned long, roundup_pow_of_two(entries), limit);
	if (!evd->cq.ib)
		return cq_create(evd, entries);
	if (evd->cq.size >= entries)
		return 0;
	ret = dev->qp->cq_resize(&evd->cq, entries);
	if (ret != -EOPNOTSUPP)
		return ret;
	return evd->nr_qps ? -ENOSPC : cq_replace(evd, entries);
}

/* ---- attaching ------------------------------------------------------ */

/*
 * The streams say what a consumer waits for, and so what the CQ is armed for: when that
 * changes the runner arms it anew, or completions that are awaited now would start
 * nothing.
 */
static void evd_count_stream(struct kdapl_evd *evd, enum kdapl_stream stream,
			     DAT_COMPLETION_FLAGS flags, u32 entries, int by)
{
	u32 config;

	lockdep_assert_held(&evd->streams_lock);
	streams_count(&evd->streams, stream, stream_flags(flags), entries, by);
	config = streams_config(&evd->streams);
	if (config == evd->config)
		return;
	WRITE_ONCE(evd->config, config);
	kdapl_evd_kick(evd);
}

/**
 * kdapl_evd_attach - a source begins to feed an EVD
 * @evd: gets a user
 * @stream: what kind of source
 * @flags: completion flags of the direction, for RECV and REQUEST
 * @entries: CQ entries that it may need at once
 * @own: streams of the caller that the new ones replace, or NULL
 *
 * May sleep; in the IA's section.
 *
 * Return: 0; -EINVAL: the flags do not agree with the other streams (E21);
 * -ENOSPC: no CQ can be that large; -ENOMEM; -ESTALE: the EVD is being freed.
 */
int kdapl_evd_attach(struct kdapl_evd *evd, enum kdapl_stream stream,
		     DAT_COMPLETION_FLAGS flags, u32 entries,
		     const struct kdapl_streams *own)
{
	struct kdapl_streams rest;
	struct ib_cq *ib;
	bool changed;
	u32 size;
	int ret;

	if (!kdapl_object_use(&evd->obj))
		return -ESTALE;
	mutex_lock(&evd->streams_lock);
	ib = evd->cq.ib;
	size = evd->cq.size;
	rest = streams_without(&evd->streams, own);
	ret = -EINVAL;
	if (!streams_agree(&rest, stream_flags(flags)))
		goto err;
	/*
	 * No queue pair can be made without a CQ, so a direction without DTOs
	 * needs one as well.
	 */
	ret = stream == KDAPL_STREAM_OTHER ? 0 :
	      cq_provide(evd, rest.entries + entries);
	/* What the device returned must not be taken for a code of ours. */
	if (ret && ret != -ENOSPC)
		ret = -ENOMEM;
	if (ret)
		goto err;
	evd_count_stream(evd, stream, flags, entries, 1);
	changed = evd->cq.ib != ib || evd->cq.size != size;
	mutex_unlock(&evd->streams_lock);
	/* If somebody waits for events already, a new CQ has to be armed. */
	if (changed)
		kdapl_evd_kick(evd);
	return 0;

err:
	mutex_unlock(&evd->streams_lock);
	kdapl_object_unuse(&evd->obj);
	return ret;
}

/**
 * kdapl_evd_detach - undo kdapl_evd_attach()
 * @evd: loses a user
 * @stream: as attached
 * @flags: as attached
 * @entries: as attached
 *
 * Events already queued stay (E20).  May sleep.
 */
void kdapl_evd_detach(struct kdapl_evd *evd, enum kdapl_stream stream,
		      DAT_COMPLETION_FLAGS flags, u32 entries)
{
	mutex_lock(&evd->streams_lock);
	evd_count_stream(evd, stream, flags, entries, -1);
	mutex_unlock(&evd->streams_lock);
	kdapl_object_unuse(&evd->obj);
}

/* ---- queue pairs ---------------------------------------------------- */

/* The CQ has lost completions of @evd: its connections do not work any more (E68). */
static void evd_break_eps(struct kdapl_evd *evd)
{
	struct kdapl_object *obj = NULL;
	struct kdapl_ep *ep;

	while ((obj = kdapl_ia_next_object(evd->obj.ia, KDAPL_EP, obj))) {
		ep = kdapl_ep_of(obj);
		if (READ_ONCE(ep->req.evd) == evd ||
		    READ_ONCE(ep->recv.evd) == evd)
			kdapl_ep_input(ep, NULL, KDAPL_EP_IN_BROKEN);
	}
}

static void evd_watch(struct work_struct *work)
{
	struct kdapl_evd *evd = container_of(to_delayed_work(work),
					     struct kdapl_evd, watch);

	if (xchg(&evd->cq_failed, false)) {
		kdapl_evd_overflow(evd);
		evd_break_eps(evd);
	}
	/* What the consumer has not taken, here rather than in softirq. */
	kdapl_evd_fetch(evd, U32_MAX, NULL);
	/* The runner arms the CQ again. */
	kdapl_evd_kick(evd);
}

/**
 * kdapl_evd_hold_cq - a queue pair is about to use the CQ
 * @evd: of one of its directions, attached
 *
 * Until kdapl_evd_release_cq() the CQ is not replaced.  May sleep.
 *
 * Return: 0; -ENODEV when the CQ is gone with the device.
 */
int kdapl_evd_hold_cq(struct kdapl_evd *evd)
{
	bool first = false;
	int ret = 0;

	mutex_lock(&evd->streams_lock);
	if (!evd->cq.ib)
		ret = -ENODEV;
	else
		first = !evd->nr_qps++;
	mutex_unlock(&evd->streams_lock);
	/* Its runner arms the CQ. */
	if (first)
		kdapl_evd_kick(evd);
	return ret;
}

/**
 * kdapl_evd_release_cq - the queue pair is destroyed
 * @evd: as held
 */
void kdapl_evd_release_cq(struct kdapl_evd *evd)
{
	mutex_lock(&evd->streams_lock);
	WRITE_ONCE(evd->nr_qps, evd->nr_qps - 1);
	mutex_unlock(&evd->streams_lock);
}

/**
 * kdapl_evd_size_init - nothing feeds a new EVD
 * @evd: zeroed
 */
void kdapl_evd_size_init(struct kdapl_evd *evd)
{
	mutex_init(&evd->streams_lock);
	INIT_DELAYED_WORK(&evd->watch, evd_watch);
	evd->config = KDAPL_EVD_CONFIG_THRESHOLD;
}
