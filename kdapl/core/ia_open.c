// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of an Interface Adapter: open, close, and what becomes of it when its
 * device is removed.  Close and removal may happen at once.  Each marks the IA, waits for the
 * operations inside the section (ia.c), and takes kdapl_ia.teardown_lock, so that the objects are
 * taken down by one after the other; Documentation/overview.rst, The IA, tells both.
 *
 * This file knows the order in which objects end; struct kdapl_object_ops has how those of a
 * type end.
 *
 * Callers: the faces, and the glue when it removes a device.
 */
#include <linux/slab.h>
#include "conn.h"
#include "ep.h"
#include "ep_apply.h"
#include "evd.h"
#include "ia.h"
#include "input.h"
#include "op.h"
#include "user.h"

/* ---- taking an IA down ---------------------------------------------- */

/* Has all objects of a type begin to end, and waits for none. */
static void begin_end_all(struct kdapl_ia *ia, enum kdapl_type type,
			  enum kdapl_end why)
{
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(ia, type, obj)))
		if (obj->ops->begin_end)
			obj->ops->begin_end(obj, why);
}

/* The device has reported a fatal error: every connection on it breaks. */
static void device_fatal(struct work_struct *work)
{
	struct kdapl_ia *ia = container_of(work, struct kdapl_ia, fatal);

	begin_end_all(ia, KDAPL_EP, KDAPL_END_BROKEN);
	kdapl_object_put(&ia->obj);
}

/* Children first, and sources before what they feed (I15). */
static const enum kdapl_type teardown_order[] = {
	KDAPL_PSP, KDAPL_RSP, KDAPL_CR, KDAPL_EP, KDAPL_RMR, KDAPL_SRQ, KDAPL_LMR,
	KDAPL_PZ, KDAPL_EVD,
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

static void teardown_all(struct kdapl_ia *ia, enum kdapl_type type,
			 const struct kdapl_object *except)
{
	struct kdapl_object *obj;

	while ((obj = first_object(ia, type, except))) {
		obj->ops->teardown(obj);
		kdapl_object_put(obj);
		/* If another thread is freeing it, that thread has to take it off the list. */
		cond_resched();
	}
}

static void release_verbs_all(struct kdapl_ia *ia, enum kdapl_type type)
{
	struct kdapl_object *obj = NULL;

	while ((obj = kdapl_ia_next_object(ia, type, obj)))
		obj->ops->release_verbs(obj);
}

/*
 * Takes its async EVD away from @ia and returns it, for async_give_back().  With
 * @lender only an EVD that belongs to that IA.
 */
static struct kdapl_evd *ia_take_async(struct kdapl_ia *ia,
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

/* Nobody starts the watch any more: no operation that does is in the section of @ia. */
static void ia_stop_watch(struct kdapl_ia *ia)
{
	if (kdapl_ia_is_passthrough(ia))
		cancel_delayed_work_sync(&ia->watch);
}

static void async_give_back(struct kdapl_evd *evd)
{
	if (!evd)
		return;
	kdapl_object_unuse(&evd->obj);
	kdapl_evd_put(evd);
}

/*
 * Takes the async EVDs of @ia back from the IAs that borrowed them.  These have no async EVD
 * afterwards (I13).
 */
static void ia_recall_lent(struct kdapl_ia *ia)
{
	struct kdapl_space *space = ia->obj.space;
	struct kdapl_object *obj;
	struct kdapl_ia *other;

	/* A process may have very many IAs, of which hardly one lends its EVD. */
	if (!READ_ONCE(ia->lent))
		return;
	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia) {
		other = container_of(obj, struct kdapl_ia, obj);
		if (other != ia)
			async_give_back(ia_take_async(other, ia));
	}
	mutex_unlock(&space->ia_lock);
}

static void ia_drop_async(struct kdapl_ia *ia)
{
	struct kdapl_evd *evd = ia_take_async(ia, NULL);

	if (ia->own_async)
		evd->obj.ops->teardown(&evd->obj);
	async_give_back(evd);
}

/*
 * An open adapter counts as an open device in the opener's rdma cgroup.  @ia is attached to
 * its device by now, so a removal waits for the section, and gives the charge back.
 */
static DAT_RETURN ia_charge(struct kdapl_ia *ia)
{
	int idx, ret = -ENODEV;

	if (!ia->obj.space->user)
		return DAT_SUCCESS;
	idx = srcu_read_lock(&ia->section->srcu);
	if (!READ_ONCE(ia->removed))
		ret = kdapl_charge_object(&ia->charge, ia->dev->ib,
					  RDMACG_RESOURCE_HCA_HANDLE);
	srcu_read_unlock(&ia->section->srcu, idx);
	if (ret == -ENODEV)
		return RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	return ret ? RET_NO_RESOURCE(MEMORY) : DAT_SUCCESS;
}

/* Idempotent.  Either the device is still there, or @ia has no charge any more. */
static void ia_uncharge(struct kdapl_ia *ia)
{
	lockdep_assert_held(&ia->teardown_lock);
	kdapl_uncharge_object(&ia->charge, ia->dev->ib, RDMACG_RESOURCE_HCA_HANDLE);
}

/*
 * Ends everything that was made on @ia.  @ia is closing, so that no operation begins any more,
 * and the caller has waited for those that had begun.
 */
static void ia_teardown(struct kdapl_ia *ia)
{
	struct kdapl_object *own = ia->own_async ? &ia->async_evd->obj : NULL;
	int i;

	ia_stop_watch(ia);
	mutex_lock(&ia->teardown_lock);
	for (i = 0; i < ARRAY_SIZE(teardown_order); i++) {
		if (teardown_order[i] == KDAPL_EVD)
			ia_recall_lent(ia);
		/* First all of a type begin to end, then each of them is waited for. */
		begin_end_all(ia, teardown_order[i], KDAPL_END_CLOSE);
		teardown_all(ia, teardown_order[i], own);
	}
	mutex_unlock(&ia->teardown_lock);
}

/*
 * Ends @ia itself, after ia_teardown().  This may wait for peers.  Memory and queue pairs have
 * been given back by then, so that nobody but the thread that closes @ia has to wait for that.
 */
static void ia_finish(struct kdapl_ia *ia)
{
	kdapl_ia_view_end(ia);
	kdapl_conn_linger_flush(ia);
	mutex_lock(&ia->teardown_lock);
	ia_drop_async(ia);
	ia_uncharge(ia);
	mutex_unlock(&ia->teardown_lock);
	kdapl_device_detach(ia->dev, &ia->on_dev);
	kdapl_object_retire(&ia->obj);
}

/* ---- removal of the device ------------------------------------------ */

/*
 * Marks @ia, whose device is being removed, and waits until its section is empty.  The IAs of
 * one process share a section, and may be very many.  So all of them are marked, and the wait
 * for the first one is enough for all.  An IA that is being opened is not on the list yet; it
 * has a wait of its own.
 */
static void mark_removed(struct kdapl_ia *ia)
{
	struct kdapl_space *space = ia->obj.space;
	struct kdapl_object *obj;
	struct kdapl_ia *other;

	if (ia->removed)
		return;
	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia) {
		other = container_of(obj, struct kdapl_ia, obj);
		if (other->section == ia->section)
			kdapl_ia_set_removed(other);
	}
	mutex_unlock(&space->ia_lock);
	kdapl_ia_set_removed(ia);
	synchronize_srcu(&ia->section->srcu);
}

/**
 * kdapl_ia_device_gone - the device of an IA is being removed
 * @ia: attached to it
 *
 * Returns when nothing of @ia refers to the device (A10); what the consumer
 * sees is the flush, then IA_CATASTROPHIC (E71).  One removal at a time calls it, for one
 * IA of the device after the other.  May sleep.
 */
void kdapl_ia_device_gone(struct kdapl_ia *ia)
{
	int i;

	mark_removed(ia);
	mutex_lock(&ia->teardown_lock);
	ia_stop_watch(ia);
	for (i = 0; i < ARRAY_SIZE(teardown_order); i++) {
		/* First all of a type begin to end, then each of them is waited for. */
		begin_end_all(ia, teardown_order[i], KDAPL_END_BROKEN);
		release_verbs_all(ia, teardown_order[i]);
	}
	kdapl_conn_linger_flush(ia);
	ia_uncharge(ia);
	mutex_unlock(&ia->teardown_lock);

	kdapl_ia_report(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, DAT_IA_CATASTROPHIC_ERROR);
}

/**
 * kdapl_ia_hurry - the device of an IA is about to be removed
 * @on_dev: of the IA; kdapl_device.gone is set
 *
 * A thread that is closing the IA may be waiting for peers, for which the removal would have to
 * wait in turn: that ends here.  May sleep.
 */
void kdapl_ia_hurry(struct list_head *on_dev)
{
	kdapl_conn_linger_flush(container_of(on_dev, struct kdapl_ia, on_dev));
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

/* ---- open ----------------------------------------------------------- */

/* Does the registry's entry have the version that was asked for (G9)? */
static DAT_RETURN match_version(u32 major, u32 minor)
{
	if (major != DAT_VERSION_MAJOR)
		return RET_NO_PROVIDER(MAJOR_NOT_FOUND);
	if (minor > DAT_VERSION_MINOR)
		return RET_NO_PROVIDER(MINOR_NOT_FOUND);
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
		return RET_BAD_ARG(1);
	if (!async_evd)
		return RET_BAD_ARG(3);
	if (!*async_evd && async_qlen <= 0)
		return RET_BAD_ARG(2);
	if (!ia)
		return RET_BAD_ARG(4);
	return DAT_SUCCESS;
}

static void ia_release(struct kdapl_object *obj)
{
	struct kdapl_ia *ia = container_of(obj, struct kdapl_ia, obj);
	struct kdapl_local *local, *next;

	list_for_each_entry_safe(local, next, &ia->locals, link)
		kfree(local);
	kdapl_section_put(obj->space, ia->section);
	xa_destroy(&ia->keys);
	kdapl_device_put(ia->dev);
	kfree(ia);
}

static const struct kdapl_object_ops ia_ops = { .release = ia_release };

/* A new IA, closing; takes over the reference of @dev if it succeeds. */
static struct kdapl_ia *ia_alloc(struct kdapl_space *space,
				 struct kdapl_device *dev)
{
	struct kdapl_ia *ia;
	int i;

	if (dev->iwarp && space->owner && !kdapl_user_open_iwarp(space->owner))
		return NULL;
	ia = kzalloc(sizeof(*ia), kdapl_gfp(space));
	if (!ia)
		return NULL;
	ia->section = kdapl_section_get(space, dev);
	if (!ia->section)
		goto err_free;
	ia->dev = dev;
	ia->qp = dev->qp;
	ia->closing = true;
	mutex_init(&ia->lock);
	mutex_init(&ia->teardown_lock);
	for (i = 0; i < KDAPL_NR_TYPES; i++)
		INIT_LIST_HEAD(&ia->objects[i]);
	spin_lock_init(&ia->async_lock);
	INIT_LIST_HEAD(&ia->locals);
	spin_lock_init(&ia->locals_lock);
	INIT_LIST_HEAD(&ia->on_dev);
	xa_init_flags(&ia->keys, space->owner ? XA_FLAGS_ACCOUNT : 0);
	INIT_LIST_HEAD(&ia->linger);
	spin_lock_init(&ia->linger_lock);
	INIT_WORK(&ia->fatal, device_fatal);
	if (kdapl_object_init(&ia->obj, KDAPL_IA, space, NULL, &ia_ops))
		goto err_section;
	return ia;

err_section:
	kdapl_section_put(space, ia->section);
err_free:
	kfree(ia);
	return NULL;
}

/* Has another IA of the opener on this device an async EVD (I6)? */
static bool ia_async_exists(struct kdapl_ia *ia)
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
static DAT_RETURN ia_borrow_async(struct kdapl_ia *ia, struct kdapl_evd *evd)
{
	if (evd->obj.ia->dev != ia->dev || !kdapl_object_use(&evd->obj))
		return RET_BAD_HANDLE(EVD_ASYNC);
	kdapl_object_get(&evd->obj);
	ia->async_evd = evd;
	/*
	 * If the lender begins to close at the same time, either ia_open_done() sees that, or
	 * ia_recall_lent(), after the lender's wait for its section, sees @lent.
	 */
	smp_store_mb(evd->obj.ia->lent, true);
	return DAT_SUCCESS;
}

/* Until @ia is open no look-up finds a handle on it, so nobody can free the EVD meanwhile. */
static DAT_RETURN ia_make_async(struct kdapl_ia *ia, DAT_COUNT qlen)
{
	struct kdapl_evd *evd;
	DAT_RETURN ret;

	if (qlen > kdapl_evd_max_qlen(ia->dev))
		return RET_NO_RESOURCE(TEVD);
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
static DAT_RETURN ia_set_async(struct kdapl_ia *ia, DAT_EVD_HANDLE handle,
			       struct kdapl_evd *given, DAT_COUNT qlen)
{
	if (given)
		return ia_borrow_async(ia, given);
	if (!handle)
		return ia_make_async(ia, qlen);
	return ia_async_exists(ia) ? DAT_SUCCESS : RET_BAD_HANDLE(EVD_ASYNC);
}

/*
 * The lender of @given may have been closed after ia_borrow_async().  Then its recall has not
 * found @ia, which was not on the list yet.
 */
static void ia_open_done(struct kdapl_ia *ia, const struct kdapl_evd *given)
{
	kdapl_object_publish(&ia->obj);
	if (given && READ_ONCE(given->obj.ia->closing))
		async_give_back(ia_take_async(ia, NULL));
	WRITE_ONCE(ia->closing, false);
}

static DAT_RETURN ia_open_on(struct kdapl_space *space, struct kdapl_device *dev,
			     struct kdapl_evd *given, DAT_COUNT async_qlen,
			     DAT_EVD_HANDLE *async_evd, const char *name,
			     DAT_IA_HANDLE *handle)
{
	struct kdapl_ia *ia;
	DAT_RETURN ret;

	ia = ia_alloc(space, dev);
	if (!ia) {
		kdapl_device_put(dev);
		return RET_NO_RESOURCE(MEMORY);
	}
	strscpy(ia->name, name, sizeof(ia->name));
	ret = ia_set_async(ia, *async_evd, given, async_qlen);
	if (ret != DAT_SUCCESS)
		goto err_abort;

	ret = RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	if (kdapl_device_address(dev, space->net, &ia->addr))
		goto err_async;
	if (!kdapl_device_attach(dev, &ia->on_dev))
		goto err_async;
	ret = ia_charge(ia);
	if (ret)
		goto err_detach;

	*handle = kdapl_handle(&ia->obj);
	if (!given)
		*async_evd = ia->own_async ? kdapl_handle(&ia->async_evd->obj) :
					     KDAPL_EVD_OUT_OF_SCOPE;
	ia_open_done(ia, given);
	return DAT_SUCCESS;

err_detach:
	kdapl_device_detach(dev, &ia->on_dev);
err_async:
	ia_drop_async(ia);
err_abort:
	kdapl_object_abort(&ia->obj);
	return ret;
}

/*
 * dat_ia_openv.  In a user space *@async_evd may be KDAPL_EVD_ASYNC_EXISTS (I6).
 * @thread_safe is what the program asks for; the core is thread safe, so either will do.
 * Nothing is written unless DAT_SUCCESS.
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
			return RET_BAD_HANDLE(EVD_ASYNC);
		ret = RET_BAD_HANDLE(EVD_ASYNC);
		if (!(kdapl_evd_flags(given) & DAT_EVD_ASYNC_FLAG))
			goto out;
	}
	ret = check_open(space, name, async_qlen, async_evd, handle);
	if (ret != DAT_SUCCESS)
		goto out;

	ret = RET_NO_PROVIDER(NAME_NOT_REGISTERED);
	dev = kdapl_device_get(name, space->net);
	if (!dev)
		goto out;
	ret = match_version(major, minor);
	if (ret == DAT_SUCCESS)
		ret = ia_open_on(space, dev, given, async_qlen, async_evd, name,
				 handle);
	else
		kdapl_device_put(dev);
out:
	if (given)
		kdapl_evd_put(given);
	return ret;
}

/* ---- close ---------------------------------------------------------- */

/* Is the caller an upcall of one of @ia's EVDs (I18)? */
static bool ia_in_upcall(struct kdapl_ia *ia)
{
	struct kdapl_object *obj;
	bool found = false;

	mutex_lock(&ia->lock);
	list_for_each_entry(obj, &ia->objects[KDAPL_EVD], on_ia) {
		if (kdapl_evd_in_upcall(kdapl_evd_of(obj)))
			found = true;
	}
	mutex_unlock(&ia->lock);
	return found;
}

/* Objects left (I12), or its async EVD lent to another open (I13)? */
static bool ia_in_use(const struct kdapl_ia *ia)
{
	if (!ia->own_async)
		return ia->nr_objects > 0;
	return ia->nr_objects > 1 || atomic_read(&ia->async_evd->obj.users) > 1;
}

/* On success no handle of @ia is found any more.  Of several callers one wins. */
static DAT_RETURN ia_begin_close(struct kdapl_ia *ia, bool graceful)
{
	DAT_RETURN ret = DAT_SUCCESS;

	mutex_lock(&ia->lock);
	if (ia->closing)
		ret = RET_BAD_HANDLE(IA);
	else if (graceful && ia_in_use(ia))
		ret = RET_BAD_STATE(IA_IN_USE);
	else
		WRITE_ONCE(ia->closing, true);
	mutex_unlock(&ia->lock);
	return ret;
}

/*
 * dat_ia_close.  Sleeps until nothing of the IA is left.  For peers it waits only as long as
 * kdapl_conn_linger_flush() says (A10).
 */
DAT_RETURN kdapl_ia_close(struct kdapl_space *space, DAT_IA_HANDLE handle,
			  DAT_CLOSE_FLAGS flags)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret && flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		ret = RET_BAD_ARG(2);
	if (!ret && ia_in_upcall(op.obj->ia))
		ret = RET_BAD_STATE(IA_IN_USE);
	/* Not in the section: the teardown waits for all that are in there. */
	if (!ret)
		ret = ia_begin_close(op.obj->ia, flags == DAT_CLOSE_GRACEFUL_FLAG);
	if (!ret) {
		synchronize_srcu(&op.obj->ia->section->srcu);
		ia_teardown(op.obj->ia);
		ia_finish(op.obj->ia);
	}
	return kdapl_op_end(&op, ret);
}

/* Marks all IAs, so that one wait for a section is enough for all adapters that use it. */
static void begin_close_all(struct kdapl_space *space)
{
	struct kdapl_object *obj;

	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia)
		ia_begin_close(container_of(obj, struct kdapl_ia, obj), false);
	mutex_unlock(&space->ia_lock);
}

/* Takes down what is on all IAs, before one is finished: so all peers have the same time. */
static void teardown_ias(struct kdapl_space *space)
{
	struct kdapl_object *obj;
	struct kdapl_ia *ia;

	/* Nobody changes the list while this goes on: no operation does any more. */
	list_for_each_entry(obj, &space->ias, on_ia) {
		ia = container_of(obj, struct kdapl_ia, obj);
		if (!ia->section->over)
			synchronize_srcu(&ia->section->srcu);
		ia->section->over = true;
		ia_teardown(ia);
		cond_resched();
	}
}

/* Ends connections as dat_ep_free does, without its waits. */
static void disconnect_all(struct kdapl_ia *ia)
{
	struct kdapl_object *obj = NULL;

	/* Refused where a service point or a request has the endpoint: these end first. */
	while ((obj = kdapl_ia_next_object(ia, KDAPL_EP, obj)))
		kdapl_ep_input(kdapl_ep_of(obj), NULL, KDAPL_EP_OP_FREE);
}

/**
 * kdapl_space_disconnect - begin to close every IA of a space abruptly (I19)
 * @space: nobody calls operations on it any more
 *
 * From here on no handle is found, and no endpoint is connected: the work items of the
 * connections see to the rest, on the user's workqueue.  Waits for nothing.  May sleep.
 */
void kdapl_space_disconnect(struct kdapl_space *space)
{
	struct kdapl_object *obj;

	begin_close_all(space);
	/* Nobody changes the list while this goes on: no operation does any more. */
	list_for_each_entry(obj, &space->ias, on_ia)
		disconnect_all(container_of(obj, struct kdapl_ia, obj));
}

/**
 * kdapl_space_teardown - give back what is on all IAs of a space (I19)
 * @space: after kdapl_space_disconnect(); at most once
 * @lingered: called when no connection waits for its peer any more, perhaps before this
 *	      returns, otherwise by a work item.  Then kdapl_ia_close_all() waits for none
 *
 * On return only the IAs are left, and ids of connections that wait for their peers.  Waits for
 * the device alone.  May sleep.
 */
void kdapl_space_teardown(struct kdapl_space *space,
			  void (*lingered)(struct kdapl_space *space))
{
	struct kdapl_object *obj;

	teardown_ias(space);
	list_for_each_entry(obj, &space->ias, on_ia)
		kdapl_conn_linger_hurry(container_of(obj, struct kdapl_ia, obj));
	space->lingered = lingered;
	/* A full barrier: who counts down last sees @lingered. */
	if (atomic_dec_and_test(&space->lingering))
		lingered(space);
}

/**
 * kdapl_ia_close_all - abruptly close every IA of a space (I19)
 * @space: nobody calls operations on it any more
 *
 * Alone, or after kdapl_space_teardown().  May sleep; waits for peers, as dat_ia_close does.
 */
void kdapl_ia_close_all(struct kdapl_space *space)
{
	struct kdapl_object *obj;

	begin_close_all(space);
	teardown_ias(space);
	for (;;) {
		mutex_lock(&space->ia_lock);
		obj = list_first_entry_or_null(&space->ias, struct kdapl_object,
					       on_ia);
		if (obj)
			kdapl_object_get(obj);
		mutex_unlock(&space->ia_lock);
		if (!obj)
			break;

		ia_finish(container_of(obj, struct kdapl_ia, obj));
		kdapl_object_put(obj);
		cond_resched();
	}
}
