// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection Zones: dat_pz_create, dat_pz_query, dat_pz_free.  A zone is a
 * protection domain of the device and what registers memory in it (glue/mr.c);
 * core/lmr.c and core/ep.c put their objects into it.
 */
#include <linux/slab.h>
#include "core.h"
#include "ia.h"
#include "lmr.h"
#include "op.h"

static void pz_release(struct kdapl_object *obj)
{
	struct kdapl_pz *pz = kdapl_pz_of(obj);

	mutex_destroy(&pz->zone_lock);
	kfree(pz);
}

static DAT_RETURN pz_failed(int error)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, error == -ENOMEM ?
			 DAT_RESOURCE_MEMORY : DAT_RESOURCE_PROTECTION_DOMAIN);
}

static const struct kdapl_object_ops pz_ops;

/* Makes and publishes the zone.  Caller is in the section of @ia. */
static DAT_RETURN pz_make(struct kdapl_ia *ia, DAT_PZ_HANDLE *handle)
{
	struct kdapl_zone *zone;
	struct kdapl_pz *pz;

	pz = kdapl_object_alloc(sizeof(*pz), KDAPL_PZ, ia, &pz_ops);
	if (!pz)
		return pz_failed(-ENOMEM);
	mutex_init(&pz->zone_lock);
	/* In passthrough the process has a protection domain of its own. */
	zone = kdapl_ia_is_passthrough(ia) ? NULL :
	       ia->dev->mr->zone_create(ia->dev, ia->obj.space->user);
	if (IS_ERR(zone)) {
		kdapl_object_abort(&pz->obj);
		return pz_failed(PTR_ERR(zone));
	}
	pz->zone = zone;
	*handle = kdapl_handle(&pz->obj);
	kdapl_object_publish(&pz->obj);
	return DAT_SUCCESS;
}

/* dat_pz_create */
DAT_RETURN kdapl_pz_create(struct kdapl_space *space, DAT_IA_HANDLE ia_handle,
			   DAT_PZ_HANDLE *pz_handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia_handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret && !pz_handle)
		ret = RET_BAD_ARG(2);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = pz_make(op.obj->ia, pz_handle);
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_pz_find - look a zone up
 * @space: in which @handle is valid
 * @handle: any value
 *
 * Any context.
 *
 * Return: the zone with a reference, or NULL.
 */
struct kdapl_pz *kdapl_pz_find(struct kdapl_space *space, DAT_PZ_HANDLE handle)
{
	struct kdapl_object *obj = kdapl_object_find(space, handle, KDAPL_PZ);

	return obj ? kdapl_pz_of(obj) : NULL;
}

/* dat_pz_query.  Any context. */
DAT_RETURN kdapl_pz_query(struct kdapl_space *space, DAT_PZ_HANDLE pz_handle,
			  DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, pz_handle, KDAPL_PZ,
				  DAT_INVALID_HANDLE_PZ,
				  mask & ~DAT_PZ_FIELD_ALL, param);
	if (!ret)
		param->ia_handle = kdapl_handle(&op.obj->ia->obj);
	return kdapl_op_end(&op, ret);
}

/*
 * Give back what belongs to the device
 * @obj: a PZ; nothing is registered in it and no queue pair is left
 *
 * Idempotent; the PZ stays as a shell.  If there are several callers at once, each of them
 * returns only when the device does not know the zone any more, because the removal of the
 * device goes on then.  May sleep.  A10.
 */
static void pz_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_pz *pz = kdapl_pz_of(obj);

	mutex_lock(&pz->zone_lock);
	if (pz->zone)
		obj->ia->dev->mr->zone_destroy(pz->zone);
	pz->zone = NULL;
	mutex_unlock(&pz->zone_lock);
}

/*
 * Take a zone away from its consumer
 * @obj: a PZ that nobody uses any more
 *
 * For a free, and for the tear-down of the IA (I15).  May sleep.
 */
static void pz_teardown(struct kdapl_object *obj)
{
	pz_release_verbs(obj);
	kdapl_object_retire(obj);
}

static const struct kdapl_object_ops pz_ops = {
	.release = pz_release,
	.release_verbs = pz_release_verbs,
	.teardown = pz_teardown,
};

/* dat_pz_free.  Of two racing calls one wins (E114). */
DAT_RETURN kdapl_pz_free(struct kdapl_space *space, DAT_PZ_HANDLE pz_handle)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, pz_handle, KDAPL_PZ,
				   DAT_INVALID_HANDLE_PZ);
	if (!ret)
		ret = kdapl_op_kill(&op, RET_BAD_STATE(PZ_IN_USE));
	/* Retired last: until then a removal of the device finds the zone, and waits for us. */
	if (!ret)
		pz_teardown(op.obj);
	return kdapl_op_end(&op, ret);
}
