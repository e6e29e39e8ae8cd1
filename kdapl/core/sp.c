// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service points: dat_psp_* and dat_rsp_*.  A service point is a listener;
 * what arrives there is sp_request.c's.
 *
 * Callers: the faces; ia_open.c (tear-down); glue/listen.c, by input.h.
 */
#include <linux/slab.h>
#include "ep_apply.h"
#include "evd_streams.h"
#include "ia.h"
#include "op.h"
#include "sp.h"
#include "user.h"

static const struct kdapl_cm_ops *cm_ops(const struct kdapl_object *obj)
{
	return obj->ia->dev->cm;
}

/* ---- life -------------------------------------------------------------- */

static struct kdapl_sp *sp_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_sp, obj);
}

static void sp_release(struct kdapl_object *obj)
{
	struct kdapl_sp *sp = sp_of(obj);

	if (sp->ep)
		kdapl_object_put(&sp->ep->obj);
	kdapl_evd_put(sp->evd);
	kfree(sp);
}

static const struct kdapl_object_ops sp_ops;

/*
 * A service point that is not published yet, or NULL.  Besides the reference of the
 * handle it has one for the caller, because somebody may free it as soon as it is
 * published.  @ep: the endpoint of a RSP, or NULL.
 */
static struct kdapl_sp *sp_alloc(struct kdapl_ia *ia, enum kdapl_type type,
				 DAT_CONN_QUAL qual, struct kdapl_evd *evd,
				 struct kdapl_ep *ep)
{
	struct kdapl_sp *sp;

	sp = kdapl_object_alloc(sizeof(*sp), type, ia, &sp_ops);
	if (!sp)
		return NULL;
	mutex_init(&sp->lock);
	mutex_init(&sp->unlisten_lock);
	INIT_HLIST_NODE(&sp->on_port);
	kdapl_object_get(&evd->obj);
	sp->evd = evd;
	sp->qual = qual;
	sp->port = kdapl_port_of_qual(qual);
	if (ep)
		kdapl_object_get(&ep->obj);
	sp->ep = ep;
	kdapl_object_get(&sp->obj);
	return sp;
}

static DAT_RETURN sp_listen_error(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return RET(CONN_QUAL_IN_USE);
	case -EADDRNOTAVAIL:
		return RET(CONN_QUAL_UNAVAILABLE);
	case -EACCES:
		return RET(PRIVILEGES_VIOLATION);
	default:
		return RET_NO_RESOURCE(TEP);
	}
}

/* E21: only DTO streams that always notify can share the CR-EVD. */
static DAT_RETURN sp_attach_error(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EINVAL:
	case -ESTALE:
		return RET_BAD_HANDLE(EVD_CR);
	default:
		return RET_NO_RESOURCE(MEMORY);
	}
}

/*
 * The backlog is the CR-EVD's length (P7): a request for which there is no room is refused
 * when it comes.  What rdma_cm and an iWARP driver are told is the glue's matter.
 */
static DAT_RETURN sp_listen(struct kdapl_sp *sp)
{
	struct kdapl_space *space = sp->obj.space;
	struct kdapl_listener *listener;
	bool stopped;
	int err;

	err = cm_ops(&sp->obj)->listen(sp, sp->obj.ia->dev, space->net, &sp->port,
				       kdapl_evd_qlen(sp->evd), &listener);
	if (err)
		return sp_listen_error(err);
	/* Published already: somebody may have guessed the handle and freed it. */
	mutex_lock(&sp->lock);
	stopped = sp->stopped;
	if (!stopped) {
		sp->listener = listener;
		kdapl_sp_announce(sp);
	}
	mutex_unlock(&sp->lock);
	if (stopped)
		cm_ops(&sp->obj)->unlisten(listener);
	return DAT_SUCCESS;
}

bool kdapl_sp_take_id(struct kdapl_sp *sp)
{
	struct kdapl_user *owner = sp->obj.space->owner;

	return !owner || kdapl_user_take_id(owner);
}

void kdapl_sp_give_id(struct kdapl_sp *sp)
{
	if (sp->obj.space->owner)
		kdapl_user_give_id(sp->obj.space->owner);
}

struct workqueue_struct *kdapl_sp_wq(const struct kdapl_sp *sp)
{
	return kdapl_slow_wq_of(sp->obj.space);
}

/* Of several callers at the same time each waits until nothing listens any more. */
static void sp_unlisten(struct kdapl_sp *sp)
{
	struct kdapl_listener *listener;

	mutex_lock(&sp->unlisten_lock);
	mutex_lock(&sp->lock);
	sp->stopped = true;
	listener = sp->listener;
	sp->listener = NULL;
	kdapl_sp_withdraw(sp);
	mutex_unlock(&sp->lock);
	/* Not under @lock: it waits for a request that is just arriving, which takes @lock. */
	if (listener)
		cm_ops(&sp->obj)->unlisten(listener);
	mutex_unlock(&sp->unlisten_lock);
}

/*
 * P26, P28.  Makes the endpoint of a RSP UNCONNECTED again, unless the one request has come:
 * then the endpoint went to its CR, and may even be reserved by another service point by now.
 * Nothing arrives any more when this looks at @spent.
 */
static void sp_unreserve(struct kdapl_sp *sp)
{
	if (sp->ep && !sp->spent)
		kdapl_ep_input(sp->ep, NULL, KDAPL_EP_OP_UNRESERVE);
}

/*
 * On return nothing listens for @sp, and its handle is dead.  The handle is retired only when
 * a request that was just arriving has its objects: a removal of the device looks for the
 * objects that there are, and so finds the service point or them.  Of several callers one wins
 * (E114); the others get false.
 */
static bool sp_stop(struct kdapl_sp *sp)
{
	sp_unlisten(sp);
	if (!kdapl_object_retire(&sp->obj))
		return false;
	sp_unreserve(sp);
	kdapl_evd_detach(sp->evd, KDAPL_STREAM_OTHER, 0);
	return true;
}

/*
 * Publishes first: a request may arrive before the call of the consumer returns, and its event
 * names this handle (P5).  When it fails the handle is dead, no request was taken, and an endpoint
 * that was reserved is free again.
 */
static DAT_RETURN sp_start(struct kdapl_sp *sp)
{
	DAT_RETURN ret;

	ret = sp_attach_error(kdapl_evd_attach(sp->evd, KDAPL_STREAM_OTHER, 0,
					       NULL));
	if (ret) {
		sp_unreserve(sp);
		kdapl_object_abort(&sp->obj);
		return ret;
	}
	kdapl_object_publish(&sp->obj);
	ret = sp_listen(sp);
	/* It may have been freed meanwhile, and stopped with that. */
	if (ret)
		sp_stop(sp);
	return ret;
}

/* The device goes. */
static void sp_release_verbs(struct kdapl_object *obj)
{
	sp_unlisten(sp_of(obj));
}

/* The IA goes. */
static void sp_teardown(struct kdapl_object *obj)
{
	kdapl_object_get(obj);
	sp_stop(sp_of(obj));
	kdapl_object_put(obj);
}

static const struct kdapl_object_ops sp_ops = {
	.release = sp_release,
	.release_verbs = sp_release_verbs,
	.teardown = sp_teardown,
};

/* The CR-EVD of a service point on @ia, with a reference. */
static DAT_RETURN sp_evd_find(struct kdapl_ia *ia, DAT_EVD_HANDLE handle,
			      struct kdapl_evd **out)
{
	struct kdapl_evd *evd = kdapl_evd_find(ia->obj.space, handle);

	if (!evd)
		return RET_BAD_HANDLE(EVD_CR);
	if (evd->obj.ia != ia || !(evd->flags & DAT_EVD_CR_FLAG)) {
		kdapl_evd_put(evd);
		return RET_BAD_HANDLE(EVD_CR);
	}
	*out = evd;
	return DAT_SUCCESS;
}

static DAT_RETURN sp_free(struct kdapl_space *space, DAT_HANDLE handle,
			  enum kdapl_type type, enum dat_return_subtype sub)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, type, sub);
	if (!ret && !sp_stop(sp_of(op.obj)))
		ret = op.bad_handle;
	return kdapl_op_end(&op, ret);
}

/* ---- PSP --------------------------------------------------------------- */

/* @qual: 0: rdma_cm chooses the port.  Out: the qualifier. */
static DAT_RETURN psp_start(struct kdapl_ia *ia, struct kdapl_evd *evd,
			    DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual,
			    DAT_PSP_HANDLE *psp)
{
	struct kdapl_sp *sp = sp_alloc(ia, KDAPL_PSP, *qual, evd, NULL);
	DAT_RETURN ret;

	if (!sp)
		return RET_NO_RESOURCE(MEMORY);
	sp->flags = flags;
	ret = sp_start(sp);
	if (!ret) {
		*qual = kdapl_sp_qual(sp);
		*psp = kdapl_handle(&sp->obj);
	}
	kdapl_object_put(&sp->obj);
	return ret;
}

/* @qual: as psp_start() has it; @bad_qual: the consumer's argument is not valid */
static DAT_RETURN psp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			     DAT_CONN_QUAL *qual, bool bad_qual,
			     DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			     DAT_PSP_HANDLE *psp)
{
	struct kdapl_evd *evd = NULL;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = sp_evd_find(op.obj->ia, evd_handle, &evd);
	if (!ret && bad_qual)
		ret = RET_BAD_ARG(2);
	if (!ret && flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		ret = RET_BAD_ARG(4);
	if (!ret && !psp)
		ret = RET_BAD_ARG(5);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = psp_start(op.obj->ia, evd, flags, qual, psp);
	if (evd)
		kdapl_evd_put(evd);
	return kdapl_op_end(&op, ret);
}

/* dat_psp_create.  The event of a request may come before the call returns (P5). */
DAT_RETURN kdapl_psp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return psp_create(space, ia, &qual, !kdapl_port_of_qual(qual), evd, flags, psp);
}

/* dat_psp_create_any.  rdma_cm chooses the port when it binds to port 0. */
DAT_RETURN kdapl_psp_create_any(struct kdapl_space *space, DAT_IA_HANDLE ia,
				DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	DAT_CONN_QUAL chosen = 0;
	DAT_RETURN ret;

	ret = psp_create(space, ia, &chosen, !qual, evd, flags, psp);
	if (!ret)
		*qual = chosen;
	return ret;
}

/* dat_psp_query.  Any context. */
DAT_RETURN kdapl_psp_query(struct kdapl_space *space, DAT_PSP_HANDLE psp,
			   DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct kdapl_sp *sp;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, psp, KDAPL_PSP, DAT_INVALID_HANDLE_PSP,
				  mask & ~DAT_PSP_FIELD_ALL, param);
	if (!ret) {
		sp = sp_of(op.obj);
		param->ia_handle = kdapl_handle(&sp->obj.ia->obj);
		param->conn_qual = kdapl_sp_qual(sp);
		param->evd_handle = kdapl_handle(&sp->evd->obj);
		param->psp_flags = sp->flags;
	}
	return kdapl_op_end(&op, ret);
}

/*
 * dat_psp_free.  Waits for a request that is just arriving, which is raised or refused
 * before this returns.
 */
DAT_RETURN kdapl_psp_free(struct kdapl_space *space, DAT_PSP_HANDLE psp)
{
	return sp_free(space, psp, KDAPL_PSP, DAT_INVALID_HANDLE_PSP);
}

/* ---- RSP --------------------------------------------------------------- */

/* Reserves the endpoint before a request can reach it (E.17). */
static DAT_RETURN rsp_start(struct kdapl_ia *ia, DAT_CONN_QUAL qual,
			    struct kdapl_ep *ep, struct kdapl_evd *evd,
			    DAT_RSP_HANDLE *rsp)
{
	struct kdapl_sp *sp;
	DAT_RETURN ret;

	ret = ep ? kdapl_ep_input(ep, NULL, KDAPL_EP_OP_RESERVE) : DAT_SUCCESS;
	if (ret)
		return ret;
	sp = sp_alloc(ia, KDAPL_RSP, qual, evd, ep);
	if (!sp) {
		if (ep)
			kdapl_ep_input(ep, NULL, KDAPL_EP_OP_UNRESERVE);
		return RET_NO_RESOURCE(MEMORY);
	}
	ret = sp_start(sp);
	if (!ret)
		*rsp = kdapl_handle(&sp->obj);
	kdapl_object_put(&sp->obj);
	return ret;
}

/* The endpoint that a RSP on @ia names, with a reference; *@ep stays NULL if it names none. */
static DAT_RETURN rsp_ep_find(struct kdapl_ia *ia, DAT_EP_HANDLE handle,
			      struct kdapl_ep **ep)
{
	if (handle == DAT_HANDLE_NULL)
		return DAT_SUCCESS;
	*ep = kdapl_ep_find(ia->obj.space, handle);
	return *ep && (*ep)->obj.ia == ia ? DAT_SUCCESS : RET_BAD_HANDLE(EP);
}

/* dat_rsp_create.  The endpoint is reserved before a request can reach it. */
DAT_RETURN kdapl_rsp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
			    DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp)
{
	struct kdapl_evd *evd = NULL;
	struct kdapl_ep *ep = NULL;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, ia, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = rsp_ep_find(op.obj->ia, ep_handle, &ep);
	if (!ret)
		ret = sp_evd_find(op.obj->ia, evd_handle, &evd);
	if (!ret && !kdapl_port_of_qual(qual))
		ret = RET_BAD_ARG(2);
	if (!ret && !rsp)
		ret = RET_BAD_ARG(5);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = rsp_start(op.obj->ia, qual, ep, evd, rsp);
	if (evd)
		kdapl_evd_put(evd);
	if (ep)
		kdapl_object_put(&ep->obj);
	return kdapl_op_end(&op, ret);
}

/* dat_rsp_query.  Any context. */
DAT_RETURN kdapl_rsp_query(struct kdapl_space *space, DAT_RSP_HANDLE rsp,
			   DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct kdapl_sp *sp;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, rsp, KDAPL_RSP, DAT_INVALID_HANDLE_RSP,
				  mask & ~DAT_RSP_FIELD_ALL, param);
	if (!ret) {
		sp = sp_of(op.obj);
		param->ia_handle = kdapl_handle(&sp->obj.ia->obj);
		param->conn_qual = kdapl_sp_qual(sp);
		param->evd_handle = kdapl_handle(&sp->evd->obj);
		param->ep_handle = kdapl_handle_or_null(READ_ONCE(sp->ep));
	}
	return kdapl_op_end(&op, ret);
}

/* dat_rsp_free.  Waits like kdapl_psp_free(). */
DAT_RETURN kdapl_rsp_free(struct kdapl_space *space, DAT_RSP_HANDLE rsp)
{
	return sp_free(space, rsp, KDAPL_RSP, DAT_INVALID_HANDLE_RSP);
}
