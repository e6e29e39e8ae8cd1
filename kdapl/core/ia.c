// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An Interface Adapter as its objects see it: the section that operations run in,
 * and the list of its objects.  It is opened and closed in ia_open.c, queried in
 * ia_query.c; its asynchronous events are in ia_async.c.
 *
 * Callers: every operation of the core.
 */
#include "ia.h"

/* ---- the section ---------------------------------------------------- */

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
	return RET(INVALID_HANDLE);
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
	return RET(INVALID_STATE);
}

/* ---- its objects ---------------------------------------------------- */

/**
 * kdapl_ia_next_object - to walk the objects of an adapter
 * @ia: adapter
 * @type: of object
 * @prev: what it returned before, whose reference it drops; NULL to begin
 *
 * Each object is met once, in the order in which they were made, also if @prev was freed
 * meanwhile.  May sleep.
 *
 * Return: the object after @prev, with a reference; NULL: there is none.
 */
struct kdapl_object *kdapl_ia_next_object(struct kdapl_ia *ia,
					  enum kdapl_type type,
					  struct kdapl_object *prev)
{
	struct kdapl_object *obj, *found = NULL;
	struct list_head *head = &ia->objects[type];
	u64 after = prev ? prev->number : 0;

	mutex_lock(&ia->lock);
	obj = list_entry(prev && !list_empty(&prev->on_ia) ? &prev->on_ia : head,
			 struct kdapl_object, on_ia);
	list_for_each_entry_continue(obj, head, on_ia) {
		if (obj->number > after && refcount_inc_not_zero(&obj->ref)) {
			found = obj;
			break;
		}
	}
	mutex_unlock(&ia->lock);
	if (prev)
		kdapl_object_put(prev);
	return found;
}
