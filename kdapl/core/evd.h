/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Event Dispatchers: one ordered FIFO each, fed by the objects' events and by
 * the completion queues (CQs) behind it (A3).  evd.c has their life and operations,
 * evd_post.c raises the events that do not come from a CQ, evd_fifo.c fetches completions
 * and takes events out, evd_run.c has the runner that feeds a sink, evd_streams.c counts
 * the sources that feed an EVD, evd_cq.c has its CQs.
 *
 * Nothing is allocated when an event is raised: an entry of the FIFO is either
 * the cookie of a posted DTO (cookie.h) or a slot that its source owns: two in
 * every connection, one in every connection request, a pool in an EVD that
 * takes software or asynchronous events.
 */
#ifndef KDAPL_EVD_H
#define KDAPL_EVD_H

#include <linux/interrupt.h>
#include <linux/irq_poll.h>
#include <linux/wait.h>
#include "core.h"
#include "object.h"
#include "../glue/glue.h"

/* Completions taken from the device at a time (E113). */
#define KDAPL_WC_BATCH	16
/* Events a runner handles before it yields (E113). */
#define KDAPL_EVD_BUDGET 256

/*
 * struct kdapl_node - an entry of a FIFO
 * @link: in kdapl_evd.fifo, or free for other use by the owner
 * @is_cookie: part of struct kdapl_cookie, else of struct kdapl_event_slot
 * @notify: the event wakes a waiter and starts an upcall (E35)
 */
struct kdapl_node {
	struct list_head link;
	bool is_cookie;
	bool notify;
};

/*
 * struct kdapl_event_slot - room for one event that is not a completion
 * @reserved: kdapl_evd_reserve() has made room for it already
 * @done: called once the consumer or the sink has the event, with no lock held; any
 *	  context.  @lost: the EVD was freed with the event still in it (E60).  NULL: the
 *	  slot belongs to the EVD's own pool
 */
struct kdapl_event_slot {
	struct kdapl_node node;
	bool reserved;
	DAT_EVENT event;
	void (*done)(struct kdapl_event_slot *slot, bool lost);
};

/*
 * What a completion is of (enum kdapl_operation), in its event: behind the number, where DAT_EVENT
 * has padding.  Sinks read it; consumers in the kernel know it by their cookies.
 */
static inline u32 *kdapl_event_operation(const DAT_EVENT *event)
{
	BUILD_BUG_ON(sizeof(event->event_number) + sizeof(u32) > offsetof(DAT_EVENT, evd_handle));
	return (u32 *)((char *)event + sizeof(event->event_number));
}

enum kdapl_evd_config {
	KDAPL_EVD_CONFIG_NOTIFY = 0x10,
	KDAPL_EVD_CONFIG_SOLICITED = 0x20,
	KDAPL_EVD_CONFIG_THRESHOLD = 0x30,
};

/* What a stream is, for attaching it (E17, E21). */
enum kdapl_stream {
	KDAPL_STREAM_RECV,
	KDAPL_STREAM_REQUEST,
	KDAPL_STREAM_OTHER,	/* connection, connection request, async */
};

/* The completion flags of E21; DEFAULT is THRESHOLD. */
enum kdapl_stream_flags {
	KDAPL_STREAM_THRESHOLD,
	KDAPL_STREAM_UNSIGNALLED,
	KDAPL_STREAM_SOLICITED,
	KDAPL_STREAM_NR_FLAGS,
};

/*
 * struct kdapl_streams - streams that feed an EVD, all or one endpoint's
 * @recv, @request: of endpoints, by their completion flags
 * @other: those that are not completions
 */
struct kdapl_streams {
	u32 recv[KDAPL_STREAM_NR_FLAGS];
	u32 request[KDAPL_STREAM_NR_FLAGS];
	u32 other;
};

struct kdapl_evd_cq;

/*
 * struct kdapl_evd - an Event Dispatcher
 * @lock: protects what follows down to @dead, and @runs_started and @runs_ended.  The two
 *	  @..._untold are set under it and cleared without
 * @only_cq: the CQ, if there is exactly one; what a poller looks at first
 * @cqs: all CQs (evd_cq.c); changed under both @lock and @streams_lock
 * @polled: of several CQs the one that was polled last; the next poll begins behind it
 * @cq_size: completions that they hold together
 * @most_wcs: how many completions one has to take to be sure that none is left of those that
 *	      were in the CQs when one began; others may come meanwhile (cqs_changed())
 * @wc: completions that were taken from a CQ and not looked at yet: @wc_next .. @wc_end
 * @waiting: the completion that was looked at last cannot be shown yet (WC_WAIT), or the
 *	     oldest event cannot, because its RMR is not in order yet (rmr_settle()); a hint
 *	     that another look would find the same
 * @unbinding: the RMR that is being unbound for the receive that was looked at last, which waits
 *	       until the RMR has cleared this (rmr_unbound()); not to be looked into
 * @fifo: events in order
 * @aside: cookies of flushes that wait for the CM of an iWARP connection, in the order in which
 *	   they came; those of a connection go to @fifo when its work item pulls, once it was told
 * @nr_fifo: entries in @fifo
 * @nr_slots: those that are not completions, bounded by @qlen (E63)
 * @nr_notify: those that notify
 * @arrivals: how many that notify have come into @fifo so far, modulo 2^32; a call of the handler
 *	      for solicited completions counts as one, too, and an event that was hidden until then
 * @hushed: what was queued when @arrivals was @hushed_at starts no run of the sink (E107)
 * @qlen: as reported
 * @overflowed: an overflow was reported, and no room has been made since (E65)
 * @overflow_unreported: the async EVDs have not been told of it yet; @watch does that
 * @cq_faulted: a CQ could not be polled or armed (E72).  Nothing is lost, and the device is
 *		asked again; told of once in the life of the EVD.  Otherwise @cq_failed
 * @cq_fault_unreported: the async EVDs have not been told of it yet; @watch does that
 * @drainers: connections that wait for completions to come in
 * @free_slots: pool for software and asynchronous events
 * @dropped: asynchronous events lost for lack of room (E66)
 * @sink, @sink_arg: who takes events as they arrive; NULL: nobody
 * @runner: the task in whose context the runner is running; NULL while it is not
 * @dead: freed or its IA closed; set once
 * @unpaid: it is hidden, and was made with an endpoint that its consumer has not asked for, so
 *	    nobody is charged when its CQs are made (kdapl_cq.unpaid of each); never changes
 * @sleeps: its sink runs in process context (E98); never changes
 * @unfinished: the last run ended by its budget (E106); written by the runner, read without a
 *		lock by who waits for it (kdapl_evd_await_run())
 * @for_solicited: what is in the CQs now has come since they were armed for solicited completions:
 *		   if one of these is solicited, or a failure, their handler is called; under @lock
 * @solicited: the handler was called, and no run has told the sink yet; no lock
 * @cq_failed: a CQ has lost completions, as the device reports at any time (E68): @watch breaks
 *	       all endpoints that complete here, and clears this; no lock
 * @pending: set by a kick, cleared when the runner starts
 * @runs_started, @runs_ended: of the runner, for kdapl_evd_await_run()
 * @idle: woken when @runner is NULL again, or with @dead
 * @iop, @work: the runner in softirq or in process context
 * @streams_lock: @streams, and the CQs with who uses them
 * @watch: looks at the CQ of an EVD that nobody is woken by, a while after a
 *	   completion, so that a broken connection is noticed (D52)
 * @streams: what is attached
 * @config: what follows from @streams by E22; written under @streams_lock, read without it; the
 *	    values are those of DAT_EVD_STATE_CONFIG_*
 * @pool: memory of @free_slots, the newest first; a resize adds to it
 * @face: kdapl_evd_set_face()
 */
struct kdapl_evd {
	struct kdapl_object obj;
	DAT_EVD_FLAGS flags;

	spinlock_t lock;
	struct ib_cq *only_cq;
	struct list_head cqs;
	struct kdapl_evd_cq *polled;
	u32 cq_size;
	u32 most_wcs;
	struct ib_wc wc[KDAPL_WC_BATCH];
	u8 wc_next;
	u8 wc_end;
	bool waiting;
	struct kdapl_rmr *unbinding;
	struct list_head fifo;
	struct list_head aside;
	u32 nr_fifo;
	u32 nr_slots;
	u32 nr_notify;
	u32 arrivals;
	u32 hushed_at;
	bool hushed;
	u32 qlen;
	bool overflowed;
	bool overflow_unreported;
	bool cq_faulted;
	bool cq_fault_unreported;
	u32 drainers;
	struct list_head free_slots;
	u64 dropped;
	const struct kdapl_sink *sink;
	void *sink_arg;
	struct task_struct *runner;
	bool dead;
	bool unpaid;
	bool sleeps;
	bool unfinished;
	bool for_solicited;
	bool solicited;
	bool cq_failed;

	atomic_t pending;
	u32 runs_started;
	u32 runs_ended;
	wait_queue_head_t idle;
	struct irq_poll iop;
	struct work_struct work;

	struct mutex streams_lock;
	struct delayed_work watch;
	struct kdapl_streams streams;
	u32 config;

	struct kdapl_event_pool *pool;
	void *face;
};

static inline struct kdapl_evd *kdapl_evd_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_evd, obj);
}

/* Does a receive wait until the RMR is unbound whose key its message has taken? */
static inline bool kdapl_evd_unbinds(struct kdapl_evd *evd)
{
	/* Pairs with rmr_unbound(). */
	return smp_load_acquire(&evd->unbinding);
}

/* Is the caller an upcall of @evd?  Waiting for the runner, it would wait for itself (E108). */
static inline bool kdapl_evd_in_upcall(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->runner) == current;
}

struct kdapl_evd *kdapl_evd_create_hidden(struct kdapl_ia *ia, bool unpaid);
void kdapl_evd_free_hidden(struct kdapl_evd *evd);

u32 kdapl_evd_max_qlen(const struct kdapl_device *dev);
DAT_RETURN kdapl_evd_create_async(struct kdapl_ia *ia, DAT_COUNT qlen,
				  struct kdapl_evd **evd);

#endif /* KDAPL_EVD_H */
