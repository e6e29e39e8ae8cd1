// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event Dispatchers: their life, and dat_evd_*.  evd_fifo.c has the events in an EVD,
 * evd_run.c delivers them, evd_streams.c counts what feeds an EVD, evd_cq.c has its CQs.
 *
 * Callers: the faces (dat_evd_*), ia_open.c and ia_async.c (asynchronous EVDs), ep_attr.c
 * (hidden EVDs), sp.c (CR-EVDs).
 */
#include <linux/slab.h>
#include <dat/kdat_linux.h>
#include "evd.h"
#include "evd_cq.h"
#include "evd_fifo.h"
#include "evd_run.h"
#include "evd_streams.h"
#include "ia.h"
#include "op.h"

#define EVD_FLAGS_ALL	(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)
#define EVD_FLAGS_DTO	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

#define EVD_FLAGS_SLEEP	(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | \
			 DAT_EVD_ASYNC_FLAG | KDAT_EVD_PROCESS_FLAG)
#define EVD_FLAGS_POOL	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_ASYNC_FLAG)

/* ---- slots ---------------------------------------------------------- */

/*
 * struct kdapl_event_pool - slots for software and asynchronous events
 * @next: slots that the EVD had before
 * @slots: free, or with an event in the FIFO
 */
struct kdapl_event_pool {
	struct kdapl_event_pool *next;
	struct kdapl_event_slot slots[];
};

/*
 * Adds @entries slots to the pool of @evd.  An EVD with a pool is as long as it has slots,
 * so its length grows by as many.  The list of the new slots is made before the lock is
 * taken, because they may be many and interrupts are off under it.  False without memory.
 */
static bool pool_grow(struct kdapl_evd *evd, u32 entries)
{
	struct kdapl_event_pool *pool;
	LIST_HEAD(fresh);
	u32 i;

	pool = kvzalloc(struct_size(pool, slots, entries), kdapl_gfp(evd->obj.space));
	if (!pool)
		return false;
	for (i = 0; i < entries; i++)
		list_add_tail(&pool->slots[i].node.link, &fresh);
	pool->next = evd->pool;
	evd->pool = pool;
	spin_lock_irq(&evd->lock);
	list_splice_tail(&fresh, &evd->free_slots);
	evd->qlen += entries;
	spin_unlock_irq(&evd->lock);
	return true;
}

static void pool_free(struct kdapl_event_pool *pool)
{
	struct kdapl_event_pool *next;

	for (; pool; pool = next) {
		next = pool->next;
		kvfree(pool);
		/* A process may have grown its EVD by one entry at a time. */
		cond_resched();
	}
}

/* ---- life ----------------------------------------------------------- */

static void evd_release(struct kdapl_object *obj)
{
	struct kdapl_evd *evd = kdapl_evd_of(obj);

	kdapl_evd_free_cqs(evd);
	pool_free(evd->pool);
	kfree(evd->face);
	kfree(evd);
}

static const struct kdapl_object_ops evd_ops;

static struct kdapl_evd *evd_alloc(struct kdapl_ia *ia, u32 qlen, u32 flags)
{
	struct kdapl_evd *evd;

	evd = kdapl_object_alloc(sizeof(*evd), KDAPL_EVD, ia, &evd_ops);
	if (!evd)
		return NULL;
	spin_lock_init(&evd->lock);
	INIT_LIST_HEAD(&evd->cqs);
	INIT_LIST_HEAD(&evd->fifo);
	INIT_LIST_HEAD(&evd->aside);
	INIT_LIST_HEAD(&evd->free_slots);
	kdapl_evd_run_init(evd);
	kdapl_evd_streams_init(evd);
	evd->flags = flags;
	/*
	 * Upcalls for these events accept, create and free, which may sleep (E98); for
	 * others a kernel consumer may ask for it (KDAT_EVD_PROCESS_FLAG).
	 */
	evd->sleeps = !ia->obj.space->user && flags & EVD_FLAGS_SLEEP;
	if (!(flags & EVD_FLAGS_POOL)) {
		evd->qlen = qlen;
	} else if (!pool_grow(evd, qlen)) {
		kdapl_object_abort(&evd->obj);
		return NULL;
	}
	return evd;
}

/*
 * Give the CQs back to the device
 * @obj: an EVD on which no queue pair is left
 *
 * Events stay (A10).  May sleep.
 */
static void evd_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_evd *evd = kdapl_evd_of(obj);

	cancel_delayed_work_sync(&evd->watch);
	kdapl_evd_report(evd);
	kdapl_evd_pull(evd);
	kdapl_evd_destroy_cqs(evd);
	/* Until its CQ was destroyed the device may have reported an error, which queues this. */
	cancel_delayed_work_sync(&evd->watch);
}

/*
 * From here on no event comes in, and the sink does not run any more.  What is queued is
 * lost (E60).
 */
static void evd_shutdown(struct kdapl_evd *evd)
{
	const struct kdapl_sink *sink;
	void *arg;

	spin_lock_irq(&evd->lock);
	WRITE_ONCE(evd->dead, true);
	sink = evd->sink;
	arg = evd->sink_arg;
	spin_unlock_irq(&evd->lock);
	wake_up_all(&evd->idle);
	kdapl_evd_set_sink(evd, NULL, NULL, true);
	if (sink)
		sink->done(evd, arg, true);

	evd_release_verbs(&evd->obj);
	irq_poll_disable(&evd->iop);

	kdapl_evd_drop_events(evd);
}

/*
 * The IA of an EVD is being closed
 * @obj: an EVD; nothing feeds it any more
 */
static void evd_teardown(struct kdapl_object *obj)
{
	kdapl_object_get(obj);
	if (kdapl_object_retire(obj))
		evd_shutdown(kdapl_evd_of(obj));
	kdapl_object_put(obj);
}

static const struct kdapl_object_ops evd_ops = {
	.release = evd_release,
	.release_verbs = evd_release_verbs,
	.teardown = evd_teardown,
};

/* ---- EVDs without a handle ------------------------------------------ */

static void hidden_deliver(struct kdapl_evd *evd, void *arg,
			   const DAT_EVENT *event, bool more)
{
}

static void hidden_done(struct kdapl_evd *evd, void *arg, bool notify)
{
}

static bool hidden_room(struct kdapl_evd *evd, void *arg)
{
	return true;
}

static const struct kdapl_sink hidden_sink = {
	.room = hidden_room,
	.deliver = hidden_deliver,
	.done = hidden_done,
};

/**
 * kdapl_evd_create_hidden - an EVD for completions that nobody wants (mt:T11)
 * @ia: its adapter
 * @unpaid: for an endpoint that its consumer has not asked for (kdapl_cq.unpaid)
 *
 * It has no handle.  It drops each completion, so that the cookie becomes free.  May sleep.
 *
 * Return: the EVD, or NULL.
 */
struct kdapl_evd *kdapl_evd_create_hidden(struct kdapl_ia *ia, bool unpaid)
{
	struct kdapl_evd *evd = evd_alloc(ia, 1, EVD_FLAGS_DTO);

	if (!evd)
		return NULL;
	evd->unpaid = unpaid;
	kdapl_evd_set_sink(evd, &hidden_sink, NULL, false);
	return evd;
}

/**
 * kdapl_evd_free_hidden - free what kdapl_evd_create_hidden() made
 * @evd: nothing is attached any more; NULL is fine
 */
void kdapl_evd_free_hidden(struct kdapl_evd *evd)
{
	if (!evd)
		return;
	evd_shutdown(evd);
	kdapl_object_abort(&evd->obj);
}

/**
 * kdapl_evd_create_async - the EVD that dat_ia_open makes (I4)
 * @ia: being opened; until that is over, no look-up finds a handle on it, nor this EVD's
 * @qlen: at least 1
 * @evd: out, with the handle's reference only
 *
 * Return: DAT_SUCCESS; DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN kdapl_evd_create_async(struct kdapl_ia *ia, DAT_COUNT qlen,
				  struct kdapl_evd **evd)
{
	*evd = evd_alloc(ia, qlen, DAT_EVD_ASYNC_FLAG);
	if (!*evd)
		return RET_NO_RESOURCE(MEMORY);
	kdapl_object_publish(&(*evd)->obj);
	return DAT_SUCCESS;
}

/* ---- operations ----------------------------------------------------- */

/**
 * kdapl_evd_find - look an EVD up
 * @space: in which the handle is valid
 * @evd: any value
 *
 * Any context.  Return: with a reference, or NULL.
 */
struct kdapl_evd *kdapl_evd_find(struct kdapl_space *space, DAT_EVD_HANDLE evd)
{
	struct kdapl_object *obj = kdapl_object_find(space, evd, KDAPL_EVD);

	return obj ? kdapl_evd_of(obj) : NULL;
}

/**
 * kdapl_evd_put - drop the reference of kdapl_evd_find()
 * @evd: the EVD
 */
void kdapl_evd_put(struct kdapl_evd *evd)
{
	kdapl_object_put(&evd->obj);
}

/**
 * kdapl_evd_flags - the streams an EVD was made for
 * @evd: the EVD
 */
DAT_EVD_FLAGS kdapl_evd_flags(const struct kdapl_evd *evd)
{
	return evd->flags;
}

/**
 * kdapl_evd_sleeps - do its upcalls come in process context?
 * @evd: the EVD
 */
bool kdapl_evd_sleeps(const struct kdapl_evd *evd)
{
	return evd->sleeps;
}

/**
 * kdapl_evd_qlen - the reported length
 * @evd: the EVD
 */
DAT_COUNT kdapl_evd_qlen(struct kdapl_evd *evd)
{
	return READ_ONCE(evd->qlen);
}

/* A length that programs ask for on any device. */
#define LONG_EVD	65535

/**
 * kdapl_evd_max_qlen - the greatest length of an EVD (E13, E53)
 * @dev: device
 *
 * The length of an EVD is no matter of the device's: events wait in the FIFO, and completions
 * in as many completion queues as it takes.  Yet programs make an EVD as long as the
 * completions that they expect are many, and there are no more of these than its completion
 * queues together have room for.
 */
u32 kdapl_evd_max_qlen(const struct kdapl_device *dev)
{
	u32 one = max(dev->attrs.max_cqe, 0);

	return max_t(u64, one, min_t(u64, (u64)one * KDAPL_EVD_MAX_CQS, LONG_EVD));
}

/**
 * kdapl_evd_can_be - may an EVD have this length (E53)?
 * @evd: the EVD
 * @qlen: any number
 */
bool kdapl_evd_can_be(const struct kdapl_evd *evd, DAT_COUNT qlen)
{
	return qlen > 0 && qlen <= kdapl_evd_max_qlen(evd->obj.ia->dev);
}

/**
 * kdapl_evd_config - E22, one of enum kdapl_evd_config
 * @evd: the EVD
 */
u32 kdapl_evd_config(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->config);
}

/**
 * kdapl_evd_is_quiet - may completions come to an EVD without anybody being told?
 * @evd: the EVD
 *
 * They may where its CQs are armed only for solicited completions (E22).  In passthrough it
 * has none: the process polls its own.  Any context.
 */
bool kdapl_evd_is_quiet(const struct kdapl_evd *evd)
{
	return kdapl_evd_config(evd) == KDAPL_EVD_CONFIG_SOLICITED &&
	       !kdapl_ia_is_passthrough(evd->obj.ia);
}

/**
 * kdapl_evd_dead - was an EVD freed, or its IA closed?
 * @evd: the EVD
 *
 * A waiter in the face then gives up with DAT_ABORT (E39).  What wakes it is
 * kdapl_sink.done, which runs once after this has become true.
 */
bool kdapl_evd_dead(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->dead);
}

/**
 * kdapl_evd_set_face - attach what the face keeps with an EVD
 * @evd: the EVD
 * @face: kmalloc memory.  If nothing was attached before, it is, and is freed with the
 *	  EVD; otherwise it stays the caller's
 *
 * Any context.  Return: what is attached from now on.
 */
void *kdapl_evd_set_face(struct kdapl_evd *evd, void *face)
{
	void *old = cmpxchg(&evd->face, NULL, face);

	return old ?: face;
}

/**
 * kdapl_evd_face - what kdapl_evd_set_face() attached
 * @evd: the EVD
 *
 * Return: what is attached, valid as long as @evd; NULL if there is nothing.
 */
void *kdapl_evd_face(const struct kdapl_evd *evd)
{
	return READ_ONCE(evd->face);
}

/* The last two arguments have other positions in dat_evd_create than in dat_evd_kcreate. */
static DAT_RETURN check_create(const struct kdapl_space *space, DAT_COUNT qlen,
			       DAT_EVD_FLAGS flags, const DAT_EVD_HANDLE *handle)
{
	if (qlen <= 0)
		return RET_BAD_ARG(2);
	if (!(flags & EVD_FLAGS_ALL) ||
	    flags & ~(EVD_FLAGS_ALL | KDAT_EVD_EXTENDED_FLAG |
		      (space->user ? 0 : KDAT_EVD_PROCESS_FLAG)))
		return space->user ? RET_BAD_ARG(4) : RET_BAD_ARG(5);
	if (!handle)
		return space->user ? RET_BAD_ARG(5) : RET_BAD_ARG(6);
	return DAT_SUCCESS;
}

/* Makes and publishes an EVD.  Caller is in the section of @ia. */
static DAT_RETURN evd_make(struct kdapl_ia *ia, DAT_COUNT qlen,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *handle)
{
	struct kdapl_evd *evd;

	if (qlen > kdapl_evd_max_qlen(ia->dev))
		return RET_NO_RESOURCE(TEVD);
	evd = evd_alloc(ia, qlen, flags);
	if (!evd)
		return RET_NO_RESOURCE(MEMORY);
	*handle = kdapl_handle(&evd->obj);
	kdapl_object_publish(&evd->obj);
	return DAT_SUCCESS;
}

/*
 * dat_evd_create and the common part of dat_evd_kcreate.  The numbers of the last two
 * arguments are those of the caller's call: flags 4 and EVD 5 in a user space, 5 and 6
 * in the kernel space, where the upcall comes before them.
 */
DAT_RETURN kdapl_evd_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			    DAT_EVD_HANDLE *evd)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = check_create(space, qlen, flags, evd);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = evd_make(op.obj->ia, qlen, flags, evd);
	return kdapl_op_end(&op, ret);
}

static void evd_fill(struct kdapl_evd *evd, DAT_EVD_PARAM *param)
{
	param->ia_handle = kdapl_handle(&evd->obj.ia->obj);
	param->evd_qlen = kdapl_evd_qlen(evd);
	param->evd_flags = evd->flags;
}

/*
 * dat_evd_query: the fields that the core knows.  The face adds the upcall or the CNO.
 */
DAT_RETURN kdapl_evd_query(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			   DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, evd, KDAPL_EVD,
				  DAT_INVALID_HANDLE_EVD_REQUEST,
				  mask & ~DAT_EVD_FIELD_ALL, param);
	if (!ret)
		evd_fill(kdapl_evd_of(op.obj), param);
	return kdapl_op_end(&op, ret);
}

/* @qlen is a length that the EVD can have. */
static DAT_RETURN evd_resize(struct kdapl_evd *evd, u32 qlen)
{
	DAT_RETURN ret = DAT_SUCCESS;
	u32 queued;

	lockdep_assert_held(&evd->streams_lock);
	kdapl_evd_pull(evd);
	spin_lock_irq(&evd->lock);
	queued = evd->nr_fifo - evd->nr_slots + kdapl_evd_queued(evd);
	if (qlen < queued)
		ret = RET_BAD_STATE(EVD_IN_USE);
	else if (qlen <= evd->qlen || !(evd->flags & EVD_FLAGS_POOL))
		evd->qlen = max(qlen, evd->qlen);
	spin_unlock_irq(&evd->lock);
	if (ret || qlen <= evd->qlen)
		return ret;
	return pool_grow(evd, qlen - evd->qlen) ? DAT_SUCCESS : RET_NO_RESOURCE(MEMORY);
}

/*
 * dat_evd_resize.  A smaller length succeeds and the larger one stays in force (E56).
 * The CQs grow with what is attached, not here (A3).
 */
DAT_RETURN kdapl_evd_resize(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			    DAT_COUNT qlen)
{
	struct kdapl_evd *e;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, evd, KDAPL_EVD, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!ret && !kdapl_evd_can_be(kdapl_evd_of(op.obj), qlen))
		ret = RET_BAD_ARG(2);
	if (!ret) {
		e = kdapl_evd_of(op.obj);
		mutex_lock(&e->streams_lock);
		ret = evd_resize(e, qlen);
		mutex_unlock(&e->streams_lock);
	}
	return kdapl_op_end(&op, ret);
}

/*
 * dat_evd_free.  The connection requests among the events that are lost are rejected
 * (E60, P15).
 */
DAT_RETURN kdapl_evd_free(struct kdapl_space *space, DAT_EVD_HANDLE evd)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, evd, KDAPL_EVD,
				   DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!ret && kdapl_evd_in_upcall(kdapl_evd_of(op.obj)))
		ret = RET_BAD_STATE(EVD_IN_USE);
	if (!ret)
		ret = kdapl_op_kill(&op, RET_BAD_STATE(EVD_IN_USE));
	/*
	 * The handle is retired last.  Until then the removal of the device finds
	 * the EVD and waits for its CQ, and a dat_ia_close() from its upcall finds
	 * that upcall and is refused (E108).
	 */
	if (!ret) {
		evd_shutdown(kdapl_evd_of(op.obj));
		kdapl_object_retire(op.obj);
	}
	return kdapl_op_end(&op, ret);
}

static DAT_RETURN evd_post_se(struct kdapl_evd *evd, const DAT_EVENT *event)
{
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return RET_BAD_ARG(1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return RET_BAD_ARG(2);
	if (kdapl_evd_post_pooled(evd, event))
		return DAT_SUCCESS;
	return READ_ONCE(evd->dead) ? RET_BAD_HANDLE(EVD_REQUEST) : RET(QUEUE_FULL);
}

/* dat_evd_post_se.  Any context. */
DAT_RETURN kdapl_evd_post_se(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			     const DAT_EVENT *event)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, evd, KDAPL_EVD, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!ret)
		ret = evd_post_se(kdapl_evd_of(op.obj), event);
	return kdapl_op_end(&op, ret);
}
