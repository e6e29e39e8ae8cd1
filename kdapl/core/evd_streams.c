// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What feeds an EVD.
 *
 * A stream is one source that is attached to an EVD: a direction of an endpoint,
 * or anything that raises events which are no completions.  The flags of the
 * streams decide when the EVD notifies (E21, E22).
 *
 * Callers: ep_attr.c and sp.c attach and detach; evd_cq.c and evd_run.c start the watch for
 * completions that wake nobody; evd_cq.c tells of completions that the device has lost.
 */
#include "evd_streams.h"
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
 * E22.  While an endpoint replaces its streams they need not agree; then the flags prevail
 * that start the most runs, so that the CQ is armed for all that is awaited.
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
			  enum kdapl_stream_flags flags, int by)
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
	if (part)
		rest.other -= part->other;
	return rest;
}

/**
 * kdapl_streams_add - count a stream
 * @streams: one more in there
 * @stream: what kind of source
 * @flags: completion flags of the direction, for RECV and REQUEST
 */
void kdapl_streams_add(struct kdapl_streams *streams, enum kdapl_stream stream,
		       DAT_COMPLETION_FLAGS flags)
{
	streams_count(streams, stream, stream_flags(flags), 1);
}

/* ---- looking by itself ---------------------------------------------- */

/**
 * kdapl_evd_watch - look at a CQ in a while, unless its consumer has done so by then
 * @evd: no runner delivers its completions, and no drain waits for them
 *
 * The CQ of such an EVD is armed all the same.  Otherwise a broken connection would not be
 * noticed if the consumer does not look at the EVD (D52).  A consumer who does look is
 * disturbed ten times a second at most, and not at all while nothing completes.  Any context.
 */
void kdapl_evd_watch(struct kdapl_evd *evd)
{
	queue_delayed_work(kdapl_wq_of(evd->obj.space), &evd->watch, WATCH_DELAY);
}

/**
 * kdapl_evd_cq_failed - a CQ has lost completions, and nobody can tell whose (E68)
 * @evd: whose CQ
 *
 * Any context.
 */
void kdapl_evd_cq_failed(struct kdapl_evd *evd)
{
	WRITE_ONCE(evd->cq_failed, true);
	kdapl_evd_watch_now(evd);
}

/**
 * kdapl_evd_report - tell the async EVDs of an overflow or a fault, if they do not know of it
 * @evd: any EVD
 *
 * May sleep.
 */
void kdapl_evd_report(struct kdapl_evd *evd)
{
	struct kdapl_ia *ia = evd->obj.ia;

	if (xchg(&evd->overflow_unreported, false))
		kdapl_ia_async_event(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW,
				     kdapl_handle(&evd->obj), DAT_EVD_OVERFLOW_ERROR);
	if (xchg(&evd->cq_fault_unreported, false))
		kdapl_ia_async_event(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
				     kdapl_handle(&ia->obj), DAT_IA_OTHER_ERROR);
}

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
	kdapl_evd_report(evd);
	/* The consumer has not taken these completions.  Here it costs no time in softirq. */
	kdapl_evd_fetch(evd, U32_MAX, NULL);
	/* The runner arms the CQ again. */
	kdapl_evd_kick(evd);
}

/* ---- attaching ------------------------------------------------------ */

/*
 * The flags of the streams say what a consumer waits for, and so what the CQ is armed for.
 * When that changes the runner has to arm the CQ anew, or completions that are awaited now
 * would start nothing.
 */
static void evd_count_stream(struct kdapl_evd *evd, enum kdapl_stream stream,
			     DAT_COMPLETION_FLAGS flags, int by)
{
	u32 config;

	lockdep_assert_held(&evd->streams_lock);
	streams_count(&evd->streams, stream, stream_flags(flags), by);
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
 * @own: streams of the caller that the new ones replace, or NULL
 *
 * May sleep.
 *
 * Return: 0; -EINVAL: the flags do not agree with the other streams (E21); -ESTALE:
 * the EVD is being freed.
 */
int kdapl_evd_attach(struct kdapl_evd *evd, enum kdapl_stream stream,
		     DAT_COMPLETION_FLAGS flags, const struct kdapl_streams *own)
{
	struct kdapl_streams rest;
	int ret = -EINVAL;

	if (!kdapl_object_use(&evd->obj))
		return -ESTALE;
	mutex_lock(&evd->streams_lock);
	rest = streams_without(&evd->streams, own);
	if (streams_agree(&rest, stream_flags(flags))) {
		evd_count_stream(evd, stream, flags, 1);
		ret = 0;
	}
	mutex_unlock(&evd->streams_lock);
	if (ret)
		kdapl_object_unuse(&evd->obj);
	return ret;
}

/**
 * kdapl_evd_detach - undo kdapl_evd_attach()
 * @evd: loses a user
 * @stream: that of kdapl_evd_attach()
 * @flags: those of kdapl_evd_attach()
 *
 * Events already queued stay (E20).  May sleep.
 */
void kdapl_evd_detach(struct kdapl_evd *evd, enum kdapl_stream stream,
		      DAT_COMPLETION_FLAGS flags)
{
	mutex_lock(&evd->streams_lock);
	evd_count_stream(evd, stream, flags, -1);
	mutex_unlock(&evd->streams_lock);
	kdapl_object_unuse(&evd->obj);
}

/**
 * kdapl_evd_streams_init - nothing feeds a new EVD
 * @evd: zeroed
 */
void kdapl_evd_streams_init(struct kdapl_evd *evd)
{
	mutex_init(&evd->streams_lock);
	INIT_DELAYED_WORK(&evd->watch, evd_watch);
	evd->config = KDAPL_EVD_CONFIG_THRESHOLD;
}
