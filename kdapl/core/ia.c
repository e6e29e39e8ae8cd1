// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interface Adapters: the registry, open, query and close; the section that
 * operations run in; what becomes of an IA when its device is removed.
 *
 * An IA ends in one of two ways, and both may happen at once.  Close marks it
 * closing: no handle of it is found any more; then everything is torn down,
 * children first (I15), and the memory goes with the last reference.  Removal of
 * the device marks it removed: everything gives its verbs objects back in the
 * same order, and shells stay until the consumer closes (A10, E71).  After the
 * mark each waits for the operations inside the section; kdapl_ia.teardown
 * keeps the two apart.
 */
#include <linux/slab.h>
#include "core.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "input.h"
#include "lmr.h"

#define PROVIDER_NAME		"kdapl"
#define PROVIDER_VERSION_MAJOR	1
#define PROVIDER_VERSION_MINOR	0

#define IH_IA		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)
#define IH_EVD_ASYNC	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC)
#define IP(n)		DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define NOT_REGISTERED	DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED)
#define IA_IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE)

/* The section */

/**
 * kdapl_ia_enter_shell - enter the section of an IA, device gone or not
 * @ia: the caller has a reference of it or of an object on it
 * @idx: for kdapl_ia_leave()
 *
 * For frees and queries.  Any context; may sleep inside.
 *
 * Return: DAT_SUCCESS and the section was entered; DAT_INVALID_HANDLE without
 * subtype when the IA is closing (I15).
 */
DAT_RETURN kdapl_ia_enter_shell(struct kdapl_ia *ia, int *idx)
{
	*idx = srcu_read_lock(&ia->srcu);
	/* sparse cannot follow a section entered on a condition. */
	__release(&ia->srcu);
	if (!READ_ONCE(ia->closing))
		return DAT_SUCCESS;
	kdapl_ia_leave(ia, *idx);
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_NO_SUBTYPE);
}

/**
 * kdapl_ia_enter - enter the section of an IA whose device is there
 * @ia: the caller has a reference of it or of an object on it
 * @idx: for kdapl_ia_leave()
 *
 * Until kdapl_ia_leave() the device stays.  Any context; may sleep inside.
 *
 * Return: DAT_SUCCESS and the section was entered; DAT_INVALID_HANDLE without
 * subtype when the IA is closing (I15); DAT_INVALID_STATE without subtype when
 * the device is gone (E71).
 */
DAT_RETURN kdapl_ia_enter(struct kdapl_ia *ia, int *idx)
{
	DAT_RETURN ret = kdapl_ia_enter_shell(ia, idx);

	if (ret != DAT_SUCCESS || !READ_ONCE(ia->removed))
		return ret;
	kdapl_ia_leave(ia, *idx);
	return DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
}

/**
 * kdapl_ia_find - look an IA up
 * @space: in which the handle is valid
 * @ia: any value
 *
 * Any context.
 *
 * Return: the IA with a reference; NULL for anything but an open IA of @space.
 */
struct kdapl_ia *kdapl_ia_find(struct kdapl_space *space, DAT_IA_HANDLE ia)
{
	struct kdapl_object *obj = kdapl_object_find(space, ia, KDAPL_IA);

	return obj ? container_of(obj, struct kdapl_ia, obj) : NULL;
}

/**
 * kdapl_ia_next_object - to walk the objects of an adapter
 * @ia: adapter
 * @type: of object
 * @prev: what it returned before, whose reference it drops; NULL to begin
 *
 * If @prev was freed meanwhile, begins again: the caller may meet an object
 * twice.  May sleep.
 *
 * Return: the object after @prev, with a reference; NULL: there is none.
 */
struct kdapl_object *kdapl_ia_next_object(struct kdapl_ia *ia,
					  enum kdapl_type type,
					  struct kdapl_object *prev)
{
	struct kdapl_object *obj, *found = NULL;
	struct list_head *head = &ia->objects[type];

	mutex_lock(&ia->lock);
	obj = list_entry(prev && !list_empty(&prev->on_ia) ? &prev->on_ia : head,
			 struct kdapl_object, on_ia);
	list_for_each_entry_continue(obj, head, on_ia) {
		if (refcount_inc_not_zero(&obj->ref)) {
			found = obj;
			break;
		}
	}
	mutex_unlock(&ia->lock);
	if (prev)
		kdapl_object_put(prev);
	return found;
}

/* Asynchronous events */

struct async_event {
	struct kdapl_ia *from;
	u32 number;
	DAT_HANDLE handle;
	DAT_COUNT reason;
};

/* Each async EVD of @ia gets its own copy (E16, E75).  True if there is one. */
static bool async_deliver(struct kdapl_ia *ia, const struct async_event *e)
{
	struct kdapl_evd *evd;
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&ia->async_lock, flags);
	any = !list_empty(&ia->async_evds);
	list_for_each_entry(evd, &ia->async_evds, on_async)
		kdapl_evd_post_async(evd, e->number, e->handle, e->reason);
	if (ia->async_evd && !ia->own_async) {
		any = true;
		kdapl_evd_post_async(ia->async_evd, e->number, e->handle,
				     e->reason);
	}
	spin_unlock_irqrestore(&ia->async_lock, flags);
	return any;
}

static void async_deliver_other(struct list_head *on_dev, void *arg)
{
	struct kdapl_ia *ia = container_of(on_dev, struct kdapl_ia, on_dev);
	const struct async_event *e = arg;

	if (ia != e->from && ia->obj.space == e->from->obj.space)
		async_deliver(ia, e);
}

/**
 * kdapl_ia_async_event - raise an asynchronous event about an object of an IA
 * @ia: the object's adapter
 * @number: DAT_ASYNC_ERROR_*
 * @handle: of the object
 * @reason: of that kind of object
 *
 * Goes to the IA's async EVDs; if it has none of its own, to those of the
 * opener's other IAs on the device (I7, E75).  Any context; an EP's lock may be
 * held, an EVD's may not.
 */
void kdapl_ia_async_event(struct kdapl_ia *ia, u32 number, DAT_HANDLE handle,
			  DAT_COUNT reason)
{
	struct async_event e = {
		.from = ia,
		.number = number,
		.handle = handle,
		.reason = reason,
	};

	if (!async_deliver(ia, &e))
		kdapl_device_walk_ias(ia->dev, async_deliver_other, &e);
}

/* @evd: only the EPs whose completions come here; NULL: all */
static void eps_input(struct kdapl_ia *ia, const struct kdapl_evd *evd,
		      enum kdapl_ep_input input)
{
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(ia, KDAPL_EP, obj))) {
		struct kdapl_ep *ep = kdapl_ep_of(obj);

		if (!evd || READ_ONCE(ep->req.evd) == evd ||
		    READ_ONCE(ep->recv.evd) == evd)
			kdapl_ep_input(ep, NULL, input);
	}
}

/**
 * kdapl_ia_break_eps - no connection of an IA works any more
 * @ia: the IA
 * @evd: only those whose completions come here (E68); NULL: all (E71)
 *
 * May sleep.
 */
void kdapl_ia_break_eps(struct kdapl_ia *ia, const struct kdapl_evd *evd)
{
	eps_input(ia, evd, KDAPL_EP_IN_BROKEN);
}

/* The device failed. */
static void device_fatal(struct work_struct *work)
{
	struct kdapl_ia *ia = container_of(work, struct kdapl_ia, fatal);

	kdapl_ia_break_eps(ia, NULL);
	kdapl_object_put(&ia->obj);
}

/**
 * kdapl_ia_async - an event of the device or its port
 * @on_dev: of an IA on that port
 * @event: as the device gave it
 *
 * Every IA of the port is told, so there is nobody to pass it on to.  Rules E71,
 * E72, E74.  Any context, kdapl_device.lock held.
 */
void kdapl_ia_async(struct list_head *on_dev, const struct ib_event *event)
{
	struct kdapl_ia *ia = container_of(on_dev, struct kdapl_ia, on_dev);
	struct async_event e = {
		.from = ia,
		.handle = kdapl_handle(&ia->obj),
	};

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		e.number = DAT_ASYNC_ERROR_IA_CATASTROPHIC;
		e.reason = DAT_IA_CATASTROPHIC_ERROR;
		kdapl_object_get(&ia->obj);
		if (!queue_work(kdapl_wq, &ia->fatal))
			kdapl_object_put(&ia->obj);
		break;
	case IB_EVENT_PORT_ERR:
		e.number = DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR;
		e.reason = DAT_IA_OTHER_ERROR;
		break;
	default:
		return;
	}
	async_deliver(ia, &e);
}

/* Taking an IA down */

struct teardown_step {
	enum kdapl_type type;
	void (*release_verbs)(struct kdapl_object *obj);
	void (*teardown)(struct kdapl_object *obj);
};

/* Children first, sources before sinks (I15). */
static const struct teardown_step teardown_steps[] = {
	{ KDAPL_PSP, kdapl_sp_release_verbs, kdapl_sp_teardown },
	{ KDAPL_RSP, kdapl_sp_release_verbs, kdapl_sp_teardown },
	{ KDAPL_CR, kdapl_cr_release_verbs, kdapl_cr_teardown },
	{ KDAPL_EP, kdapl_ep_release_verbs, kdapl_ep_teardown },
	{ KDAPL_RMR, kdapl_rmr_release_verbs, kdapl_rmr_teardown },
	{ KDAPL_LMR, kdapl_lmr_release_verbs, kdapl_lmr_teardown },
	{ KDAPL_PZ, kdapl_pz_release_verbs, kdapl_pz_teardown },
	{ KDAPL_EVD, kdapl_evd_release_verbs, kdapl_evd_teardown },
};

/* The first object of a type but @except, with a reference; NULL: none. */
static struct kdapl_object *first_object(struct kdapl_ia *ia,
					 enum kdapl_type type,
					 const struct kdapl_object *except)
{
	struct kdapl_object *obj, *found = NULL;

	mutex_lock(&ia->lock);
	list_for_each_entry(obj, &ia->objects[type], on_ia) {
		if (obj != except && refcount_inc_not_zero(&obj->ref)) {
			found = obj;
			break;
		}
	}
	mutex_unlock(&ia->lock);
	return found;
}

static void teardown_all(struct kdapl_ia *ia, const struct teardown_step *step,
			 const struct kdapl_object *except)
{
	struct kdapl_object *obj;

	while ((obj = first_object(ia, step->type, except))) {
		step->teardown(obj);
		kdapl_object_put(obj);
		/* Somebody else may still be taking it off the list. */
		cond_resched();
	}
}

static void release_verbs_all(struct kdapl_ia *ia,
			      const struct teardown_step *step)
{
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(ia, step->type, obj)))
		step->release_verbs(obj);
}

/*
 * Takes @ia's async EVD away from it, if it has one that belongs to @lender;
 * NULL: to anybody.  To be given back.
 */
static struct kdapl_evd *take_async(struct kdapl_ia *ia,
				    const struct kdapl_ia *lender)
{
	struct kdapl_evd *evd;

	spin_lock_irq(&ia->async_lock);
	evd = ia->async_evd;
	if (evd && lender && evd->obj.ia != lender)
		evd = NULL;
	if (evd)
		ia->async_evd = NULL;
	spin_unlock_irq(&ia->async_lock);
	return evd;
}

static void give_back(struct kdapl_evd *evd)
{
	if (!evd)
		return;
	kdapl_object_unuse(&evd->obj);
	kdapl_evd_put(evd);
}

/* EVDs of @ia that other IAs borrowed go: those IAs have none then (I13). */
static void recall_lent(struct kdapl_ia *ia)
{
	struct kdapl_space *space = ia->obj.space;
	struct kdapl_object *obj;
	struct kdapl_ia *other;

	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia) {
		other = container_of(obj, struct kdapl_ia, obj);
		if (other != ia)
			give_back(take_async(other, ia));
	}
	mutex_unlock(&space->ia_lock);
}

static void drop_async(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = take_async(ia, NULL);

	if (ia->own_async)
		kdapl_evd_teardown(&evd->obj);
	give_back(evd);
}

/*
 * Everything made on @ia goes, and @ia off its device.  It is closing, so that
 * nothing new comes; what is inside the section is waited for.
 */
static void ia_teardown(struct kdapl_ia *ia)
{
	struct kdapl_object *own = ia->own_async ? &ia->async_evd->obj : NULL;
	const struct teardown_step *step;
	int i;

	synchronize_srcu(&ia->srcu);
	mutex_lock(&ia->teardown);
	for (i = 0; i < ARRAY_SIZE(teardown_steps); i++) {
		step = &teardown_steps[i];
		if (step->type == KDAPL_EVD)
			recall_lent(ia);
		/* All begin to flush, then each is waited for. */
		if (step->type == KDAPL_EP)
			eps_input(ia, NULL, KDAPL_EP_IN_TEARDOWN);
		teardown_all(ia, step, own);
		if (step->type == KDAPL_EP)
			kdapl_conn_linger_flush(ia);
	}
	drop_async(ia);
	mutex_unlock(&ia->teardown);
	kdapl_device_detach(ia->dev, &ia->on_dev);
}

/* Device removal */

/**
 * kdapl_ia_device_gone - the device of an IA is being removed
 * @ia: attached to it
 *
 * Returns when nothing of @ia refers to the device (A10); what the consumer
 * sees is the flush, then IA_CATASTROPHIC (E71).  May sleep.
 */
void kdapl_ia_device_gone(struct kdapl_ia *ia)
{
	int i;

	mutex_lock(&ia->teardown);
	WRITE_ONCE(ia->removed, true);
	synchronize_srcu(&ia->srcu);
	for (i = 0; i < ARRAY_SIZE(teardown_steps); i++) {
		/* All begin to flush, then each is waited for. */
		if (teardown_steps[i].type == KDAPL_EP)
			kdapl_ia_break_eps(ia, NULL);
		release_verbs_all(ia, &teardown_steps[i]);
		if (teardown_steps[i].type == KDAPL_EP)
			kdapl_conn_linger_flush(ia);
	}
	mutex_unlock(&ia->teardown);

	kdapl_ia_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
			     kdapl_handle(&ia->obj), DAT_IA_CATASTROPHIC_ERROR);
}

/**
 * kdapl_ia_removed - the glue's name for kdapl_ia_device_gone()
 * @on_dev: of the IA
 *
 * The glue detaches the IA afterwards.  May sleep.
 */
void kdapl_ia_removed(struct list_head *on_dev)
{
	kdapl_ia_device_gone(container_of(on_dev, struct kdapl_ia, on_dev));
}

/* The registry */

struct registry_walk {
	int max;
	int n;
	struct dat_provider_info **list;
};

static int registry_count(struct kdapl_device *dev, void *arg)
{
	struct registry_walk *walk = arg;

	walk->n++;
	return 0;
}

static int registry_fill(struct kdapl_device *dev, void *arg)
{
	struct registry_walk *walk = arg;
	DAT_PROVIDER_INFO *info;

	if (walk->n >= walk->max)
		return 1;
	info = walk->list[walk->n++];
	memset(info, 0, sizeof(*info));
	strscpy(info->ia_name, dev->name, sizeof(info->ia_name));
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_TRUE;
	return 0;
}

/**
 * kdapl_registry_list - dat_registry_list_providers (G12, G13)
 * @space: of the caller
 * @max: pointers in @list
 * @number: out: entries there are; also with ARG1
 * @list: pointers to structures of the caller, filled in order of registration
 *
 * A device is an entry while it has an address.  May sleep.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER /ARG1 for a @max too small, /ARG2
 * for a null @number, /ARG3 for a null @list or a null pointer in it.
 */
DAT_RETURN kdapl_registry_list(struct kdapl_space *space, DAT_COUNT max,
			       DAT_COUNT *number, DAT_PROVIDER_INFO *list[])
{
	struct registry_walk walk = { .list = list };
	DAT_COUNT i;

	if (!number)
		return IP(2);
	kdapl_device_for_each(space->net, registry_count, &walk);
	if (max < walk.n) {
		*number = walk.n;
		return IP(1);
	}
	if (max > 0 && !list)
		return IP(3);
	for (i = 0; i < walk.n; i++) {
		if (!list[i])
			return IP(3);
	}

	/* Devices that appeared since then do not count. */
	walk.max = walk.n;
	walk.n = 0;
	kdapl_device_for_each(space->net, registry_fill, &walk);
	*number = walk.n;
	return DAT_SUCCESS;
}

/* Open */

/* How far an entry of the registry answers a request (G9). */
static DAT_RETURN match_version(u32 major, u32 minor)
{
	if (major != DAT_VERSION_MAJOR)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	if (minor > DAT_VERSION_MINOR)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	return DAT_SUCCESS;
}

static bool wants_existing(const struct kdapl_space *space,
			   DAT_EVD_HANDLE async_evd)
{
	return space->user && async_evd == KDAPL_EVD_ASYNC_EXISTS;
}

static DAT_RETURN check_open(const struct kdapl_space *space, const char *name,
			     DAT_COUNT async_qlen,
			     const DAT_EVD_HANDLE *async_evd,
			     const DAT_IA_HANDLE *ia)
{
	size_t len = name ? strnlen(name, DAT_NAME_MAX_LENGTH) : 0;

	if (!len || len == DAT_NAME_MAX_LENGTH)
		return IP(1);
	if (!async_evd)
		return IP(3);
	if (!*async_evd && async_qlen <= 0)
		return IP(2);
	if (!ia)
		return IP(4);
	return DAT_SUCCESS;
}

static void ia_release(struct kdapl_object *obj)
{
	struct kdapl_ia *ia = container_of(obj, struct kdapl_ia, obj);

	cleanup_srcu_struct(&ia->srcu);
	kdapl_device_put(ia->dev);
	atomic_dec(&obj->space->nr_ias);
	kfree(ia);
}

/* A new IA, closing; takes over the reference of @dev if it succeeds. */
static struct kdapl_ia *ia_alloc(struct kdapl_space *space,
				 struct kdapl_device *dev)
{
	struct kdapl_ia *ia;
	int i;

	if (!atomic_add_unless(&space->nr_ias, 1, space->max_ias))
		return NULL;
	ia = kzalloc(sizeof(*ia), kdapl_gfp(space));
	if (!ia)
		goto err_count;
	if (init_srcu_struct(&ia->srcu))
		goto err_free;
	ia->dev = dev;
	ia->closing = true;
	mutex_init(&ia->lock);
	mutex_init(&ia->teardown);
	for (i = 0; i < KDAPL_NR_TYPES; i++)
		INIT_LIST_HEAD(&ia->objects[i]);
	INIT_LIST_HEAD(&ia->async_evds);
	spin_lock_init(&ia->async_lock);
	INIT_LIST_HEAD(&ia->on_dev);
	INIT_LIST_HEAD(&ia->linger);
	spin_lock_init(&ia->linger_lock);
	INIT_WORK(&ia->fatal, device_fatal);
	if (kdapl_object_init(&ia->obj, KDAPL_IA, space, NULL, ia_release))
		goto err_srcu;
	return ia;

err_srcu:
	cleanup_srcu_struct(&ia->srcu);
err_free:
	kfree(ia);
err_count:
	atomic_dec(&space->nr_ias);
	return NULL;
}

/* Has another IA of the opener on this device an async EVD (I6)? */
static bool async_exists(struct kdapl_ia *ia)
{
	struct kdapl_space *space = ia->obj.space;
	struct kdapl_object *obj;
	bool found = false;

	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia) {
		struct kdapl_ia *other = container_of(obj, struct kdapl_ia, obj);

		if (other->dev == ia->dev && !READ_ONCE(other->closing) &&
		    READ_ONCE(other->async_evd)) {
			found = true;
			break;
		}
	}
	mutex_unlock(&space->ia_lock);
	return found;
}

/* Binds @evd, an EVD of another open, to @ia (I5). */
static DAT_RETURN borrow_async(struct kdapl_ia *ia, struct kdapl_evd *evd)
{
	if (evd->obj.ia->dev != ia->dev || !kdapl_object_use(&evd->obj))
		return IH_EVD_ASYNC;
	kdapl_object_get(&evd->obj);
	ia->async_evd = evd;
	return DAT_SUCCESS;
}

/* No handle of an IA being opened is found, so nobody can free the EVD. */
static DAT_RETURN make_async(struct kdapl_ia *ia, DAT_COUNT qlen)
{
	struct kdapl_evd *evd;
	DAT_RETURN ret;

	if (qlen > ia->dev->attrs.max_cqe)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ret = kdapl_evd_create_async(ia, qlen, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	kdapl_object_get(&evd->obj);
	kdapl_object_use(&evd->obj);
	ia->async_evd = evd;
	ia->own_async = true;
	return DAT_SUCCESS;
}

/* @given: the EVD behind @handle, or NULL */
static DAT_RETURN set_async(struct kdapl_ia *ia, DAT_EVD_HANDLE handle,
			    struct kdapl_evd *given, DAT_COUNT qlen)
{
	if (given)
		return borrow_async(ia, given);
	if (!handle)
		return make_async(ia, qlen);
	return async_exists(ia) ? DAT_SUCCESS : IH_EVD_ASYNC;
}

/*
 * @given may have been closed with its IA after borrow_async(), by a recall that
 * did not see @ia yet.
 */
static void open_done(struct kdapl_ia *ia, const struct kdapl_evd *given)
{
	kdapl_object_publish(&ia->obj);
	if (given && READ_ONCE(given->obj.ia->closing))
		give_back(take_async(ia, NULL));
	WRITE_ONCE(ia->closing, false);
}

static DAT_RETURN open_on(struct kdapl_space *space, struct kdapl_device *dev,
			  struct kdapl_evd *given, DAT_COUNT async_qlen,
			  DAT_EVD_HANDLE *async_evd, const char *name,
			  DAT_IA_HANDLE *handle)
{
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ia = ia_alloc(space, dev);
	if (!ia) {
		kdapl_device_put(dev);
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	}
	strscpy(ia->name, name, sizeof(ia->name));
	ret = set_async(ia, *async_evd, given, async_qlen);
	if (ret != DAT_SUCCESS)
		goto err_abort;

	ret = NOT_REGISTERED;
	if (kdapl_device_address(dev, space->net, &ia->addr))
		goto err_async;
	if (!kdapl_device_attach(dev, &ia->on_dev))
		goto err_async;

	*handle = kdapl_handle(&ia->obj);
	if (!given)
		*async_evd = ia->own_async ? kdapl_handle(&ia->async_evd->obj) :
					     KDAPL_EVD_OUT_OF_SCOPE;
	open_done(ia, given);
	return DAT_SUCCESS;

err_async:
	drop_async(ia);
err_abort:
	kdapl_object_abort(&ia->obj);
	return ret;
}

/**
 * kdapl_ia_open - dat_ia_openv
 * @space: of the caller
 * @name: registry name, ends within DAT_NAME_MAX_LENGTH
 * @async_qlen: length of the async EVD if one is made
 * @async_evd: in: null, an EVD to use as well (I5), or in a user space
 *	       KDAPL_EVD_ASYNC_EXISTS; out: its handle
 * @major: version asked for
 * @minor: version asked for
 * @thread_safe: what the program asks for; the core is, so either will do
 * @handle: out
 *
 * May sleep.  Rules I1..I10, G9.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_ASYNC; DAT_INVALID_PARAMETER
 * /ARG1..ARG4; DAT_PROVIDER_NOT_FOUND /NAME_NOT_REGISTERED, /MAJOR_NOT_FOUND,
 * /MINOR_NOT_FOUND; DAT_INSUFFICIENT_RESOURCES /TEVD, /MEMORY.  Nothing was
 * made and nothing written unless DAT_SUCCESS.
 */
DAT_RETURN kdapl_ia_open(struct kdapl_space *space, const char *name,
			 DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
			 u32 major, u32 minor, DAT_BOOLEAN thread_safe,
			 DAT_IA_HANDLE *handle)
{
	struct kdapl_evd *given = NULL;
	struct kdapl_device *dev;
	DAT_RETURN ret;

	if (async_evd && *async_evd && !wants_existing(space, *async_evd)) {
		given = kdapl_evd_find(space, *async_evd);
		if (!given)
			return IH_EVD_ASYNC;
		ret = IH_EVD_ASYNC;
		if (!(kdapl_evd_flags(given) & DAT_EVD_ASYNC_FLAG))
			goto out;
	}
	ret = check_open(space, name, async_qlen, async_evd, handle);
	if (ret != DAT_SUCCESS)
		goto out;

	ret = NOT_REGISTERED;
	dev = kdapl_device_get(name, space->net);
	if (!dev)
		goto out;
	ret = match_version(major, minor);
	if (ret == DAT_SUCCESS)
		ret = open_on(space, dev, given, async_qlen, async_evd, name,
			      handle);
	else
		kdapl_device_put(dev);
out:
	if (given)
		kdapl_evd_put(given);
	return ret;
}

/* Close */

/* Is the caller an upcall of one of @ia's EVDs (I18)? */
static bool in_upcall(struct kdapl_ia *ia)
{
	struct kdapl_object *obj;
	bool found = false;

	mutex_lock(&ia->lock);
	list_for_each_entry(obj, &ia->objects[KDAPL_EVD], on_ia) {
		struct kdapl_evd *evd = kdapl_evd_of(obj);

		if (READ_ONCE(evd->running) && READ_ONCE(evd->runner) == current)
			found = true;
	}
	mutex_unlock(&ia->lock);
	return found;
}

/* Objects left (I12), or its async EVD lent to another open (I13)? */
static bool in_use(const struct kdapl_ia *ia)
{
	if (!ia->own_async)
		return ia->nr_objects > 0;
	return ia->nr_objects > 1 || atomic_read(&ia->async_evd->obj.users) > 1;
}

/* From here on no handle of @ia is found; of several callers one wins. */
static DAT_RETURN begin_close(struct kdapl_ia *ia, bool graceful)
{
	DAT_RETURN ret = DAT_SUCCESS;

	mutex_lock(&ia->lock);
	if (ia->closing)
		ret = IH_IA;
	else if (graceful && in_use(ia))
		ret = IA_IN_USE;
	else
		WRITE_ONCE(ia->closing, true);
	mutex_unlock(&ia->lock);
	return ret;
}

/**
 * kdapl_ia_close - dat_ia_close
 * @space: of the caller
 * @handle: of an IA
 * @flags: DAT_CLOSE_ABRUPT_FLAG or DAT_CLOSE_GRACEFUL_FLAG
 *
 * When it has returned DAT_SUCCESS every handle of the IA is dead and no upcall
 * or event of it comes any more (I17).  May sleep; not from an upcall of the
 * IA.  Rules I11..I18.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, also for all but the first of
 * several closers; DAT_INVALID_PARAMETER/ARG2; DAT_INVALID_STATE/IA_IN_USE from
 * an upcall, or for a graceful close with objects left or the async EVD lent.
 */
DAT_RETURN kdapl_ia_close(struct kdapl_space *space, DAT_IA_HANDLE handle,
			  DAT_CLOSE_FLAGS flags)
{
	struct kdapl_ia *ia = kdapl_ia_find(space, handle);
	DAT_RETURN ret;

	if (!ia)
		return IH_IA;
	ret = IP(2);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		goto out;
	ret = IA_IN_USE;
	if (in_upcall(ia))
		goto out;
	ret = begin_close(ia, flags == DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS)
		goto out;
	ia_teardown(ia);
	kdapl_object_retire(&ia->obj);
out:
	kdapl_object_put(&ia->obj);
	return ret;
}

/**
 * kdapl_ia_close_all - abruptly close every IA of a space (I19)
 * @space: nobody calls operations on it any more
 *
 * May sleep.
 */
void kdapl_ia_close_all(struct kdapl_space *space)
{
	struct kdapl_object *obj;
	struct kdapl_ia *ia;

	for (;;) {
		mutex_lock(&space->ia_lock);
		obj = list_first_entry_or_null(&space->ias, struct kdapl_object,
					       on_ia);
		if (obj)
			kdapl_object_get(obj);
		mutex_unlock(&space->ia_lock);
		if (!obj)
			break;

		ia = container_of(obj, struct kdapl_ia, obj);
		if (begin_close(ia, false) == DAT_SUCCESS) {
			ia_teardown(ia);
			kdapl_object_retire(obj);
		}
		kdapl_object_put(obj);
		cond_resched();
	}
}

/* Query */

static DAT_COUNT count(int n)
{
	return max(n, 0);
}

/* The CM carries 8 bits. */
static DAT_COUNT rd_atomic(int n)
{
	return clamp(n, 0, U8_MAX);
}

static DAT_COUNT sges(int n)
{
	return clamp(n, 0, KDAPL_MAX_SGE);
}

static void fill_limits(DAT_IA_ATTR *attr, const struct kdapl_device *dev)
{
	const struct ib_device_attr *ib = &dev->attrs;

	attr->max_eps = count(ib->max_qp);
	attr->max_dto_per_ep = kdapl_ep_max_dtos(dev);
	attr->max_rdma_read_per_ep_in = rd_atomic(ib->max_qp_rd_atom);
	attr->max_rdma_read_per_ep_out = rd_atomic(ib->max_qp_init_rd_atom);
	attr->max_evds = count(ib->max_cq);
	attr->max_evd_qlen = count(ib->max_cqe);
	attr->max_iov_segments_per_dto = sges(min(ib->max_send_sge,
						  ib->max_recv_sge));
	attr->max_lmrs = count(ib->max_mr);
	attr->max_lmr_block_size = kdapl_lmr_max_length(dev);
	attr->max_lmr_virtual_address = U64_MAX;
	attr->max_pzs = count(ib->max_pd);
	attr->max_message_size = dev->max_msg_sz;
	attr->max_rdma_size = dev->max_msg_sz;
	/* Each has two memory regions, which take turns (A6). */
	attr->max_rmrs = count(ib->max_mr) / 2;
	attr->max_rmr_target_address = U64_MAX;
	attr->max_iov_segments_per_rdma_read =
		ib->max_sge_rd > 0 ? sges(ib->max_sge_rd) :
				     attr->max_iov_segments_per_dto;
	attr->max_iov_segments_per_rdma_write = sges(ib->max_send_sge);
	attr->max_rdma_read_in = count(ib->max_res_rd_atom);
	attr->max_rdma_read_out = count(ib->max_res_rd_atom);
	attr->max_rdma_read_per_ep_in_guaranteed =
		attr->max_rdma_read_in >=
		(u64)attr->max_eps * attr->max_rdma_read_per_ep_in;
	attr->max_rdma_read_per_ep_out_guaranteed =
		attr->max_rdma_read_out >=
		(u64)attr->max_eps * attr->max_rdma_read_per_ep_out;
}

/* SRQs are not offered: their numbers stay 0. */
static void fill_ia_attr(DAT_IA_ATTR *attr, struct kdapl_ia *ia)
{
	const struct kdapl_device *dev = ia->dev;

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->adapter_name, ia->name, sizeof(attr->adapter_name));
	strscpy(attr->vendor_name, dev->vendor, sizeof(attr->vendor_name));
	attr->hardware_version_major = dev->attrs.hw_ver;
	attr->firmware_version_major = upper_32_bits(dev->attrs.fw_ver);
	attr->firmware_version_minor = dev->attrs.fw_ver >> 16 & 0xffff;
	attr->ia_address_ptr = (struct sockaddr *)&ia->addr;
	fill_limits(attr, dev);
	attr->max_rmrs = min(attr->max_rmrs, ia->obj.space->max_rmrs);
}

/* What is the same for every IA; max_private_data_size: facts 3. */
static const DAT_PROVIDER_ATTR provider = {
	.provider_name = PROVIDER_NAME,
	.provider_version_major = PROVIDER_VERSION_MAJOR,
	.provider_version_minor = PROVIDER_VERSION_MINOR,
	.dapl_version_major = DAT_VERSION_MAJOR,
	.dapl_version_minor = DAT_VERSION_MINOR,
	.iov_ownership_on_return = DAT_IOV_CONSUMER,
	.dat_qos_supported = DAT_QOS_BEST_EFFORT,
	.is_thread_safe = DAT_TRUE,
	.max_private_data_size = KDAPL_REQ_PRIVATE_DATA,
	.supports_multipath = DAT_FALSE,
	.ep_creator = DAT_PSP_CREATES_EP_IFASKED,
	.upcall_policy = DAT_UPCALL_SINGLE_INSTANCE,
	.optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT,
	.evd_stream_merging_supported = {
		[0 ... 5] = { [0 ... 5] = DAT_TRUE },
	},
	.srq_ep_pz_difference_supported = DAT_TRUE,
};

/* uDAPL's memory types: LMR 1, SHARED_VIRTUAL 2; VIRTUAL is 0. */
#define USER_MEM_TYPES		3
#define KERNEL_MEM_TYPES	(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_PHYSICAL)
#define USER_COMPLETION_FLAGS	0x1f
#define KERNEL_COMPLETION_FLAGS	0x0f

static void fill_provider_attr(DAT_PROVIDER_ATTR *attr,
			       const struct kdapl_ia *ia)
{
	bool user = ia->obj.space->user;

	memcpy(attr, &provider, sizeof(*attr));
	attr->lmr_mem_types_supported = user ? USER_MEM_TYPES :
					       KERNEL_MEM_TYPES;
	attr->completion_flags_supported = user ? USER_COMPLETION_FLAGS :
						  KERNEL_COMPLETION_FLAGS;
	attr->lmr_sync_req = ia->dev->sync_needed;
}

static DAT_EVD_HANDLE async_handle(struct kdapl_ia *ia)
{
	DAT_EVD_HANDLE handle;

	spin_lock_irq(&ia->async_lock);
	handle = ia->async_evd ? kdapl_handle(&ia->async_evd->obj) :
				 KDAPL_EVD_OUT_OF_SCOPE;
	spin_unlock_irq(&ia->async_lock);
	return handle;
}

/**
 * kdapl_ia_query - dat_ia_query
 * @space: of the caller
 * @handle: of an IA
 * @async_evd: out: the async EVD; may be NULL
 * @ia_mask: DAT_IA_FIELD_*
 * @ia_attr: out; all fields are filled if @ia_mask is not 0
 * @provider_mask: DAT_PROVIDER_FIELD_*
 * @provider_attr: out; all fields are filled if @provider_mask is not 0
 *
 * Addresses are good until the IA is closed.  In a user space upcall_policy,
 * which is pz_support there, means nothing.  May sleep.  Rules I20..I22.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER /ARG3, /ARG5
 * for unknown bits, /ARG4, /ARG6 for a null structure with a mask.
 */
DAT_RETURN kdapl_ia_query(struct kdapl_space *space, DAT_IA_HANDLE handle,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			  DAT_IA_ATTR *ia_attr,
			  DAT_PROVIDER_ATTR_MASK provider_mask,
			  DAT_PROVIDER_ATTR *provider_attr)
{
	struct kdapl_ia *ia = kdapl_ia_find(space, handle);
	DAT_RETURN ret;

	if (!ia)
		return IH_IA;
	ret = IP(3);
	if (ia_mask & ~DAT_IA_FIELD_ALL)
		goto out;
	ret = IP(4);
	if (ia_mask && !ia_attr)
		goto out;
	ret = IP(5);
	if (provider_mask & ~DAT_PROVIDER_FIELD_ALL)
		goto out;
	ret = IP(6);
	if (provider_mask && !provider_attr)
		goto out;

	if (async_evd)
		*async_evd = async_handle(ia);
	if (ia_mask)
		fill_ia_attr(ia_attr, ia);
	if (provider_mask)
		fill_provider_attr(provider_attr, ia);
	ret = DAT_SUCCESS;
out:
	kdapl_object_put(&ia->obj);
	return ret;
}
