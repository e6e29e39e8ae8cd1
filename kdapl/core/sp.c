// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service points: dat_psp_*, dat_rsp_*, and the arrival of requests.
 *
 * A service point is a listening CM id.  A request that arrives becomes a
 * connection without endpoint and a CR that owns it (cr.c), or is refused as if
 * nobody listened: no room on the CR-EVD (P7), no memory (P10), a RSP that had
 * its request (P22).
 */
#include <linux/slab.h>
#include "ep_apply.h"
#include "evd_fifo.h"
#include "evd_size.h"
#include "ia.h"
#include "sp.h"
#include "../trace.h"

static const struct kdapl_cm_ops *cm_ops(const struct kdapl_object *obj)
{
	return obj->ia->dev->cm;
}

/* All that listen, of every consumer, for dat_cr_handoff. */
static LIST_HEAD(listening);
static DEFINE_MUTEX(listening_lock);	/* a leaf */

/* ---- arrival ------------------------------------------------------------------- */

/* What the endpoint of a new request is; the sp's lock is held. */
static int request_ep(struct kdapl_sp *sp, struct kdapl_ep **ep)
{
	*ep = NULL;
	if (sp->obj.type == KDAPL_RSP && sp->ep) {
		kdapl_ep_input(sp->ep, NULL, KDAPL_EP_IN_REQUEST);	/* T5 */
		*ep = sp->ep;
		kdapl_object_get(&sp->ep->obj);
	} else if (sp->obj.type == KDAPL_RSP || sp->flags == DAT_PSP_PROVIDER_FLAG) {
		*ep = kdapl_ep_create_tentative(sp->obj.ia);
		if (!*ep)
			return -ENOMEM;
		if (sp->obj.type == KDAPL_RSP) {
			kdapl_object_get(&(*ep)->obj);
			WRITE_ONCE(sp->ep, *ep);	/* for queries */
		}
	}
	return 0;
}

static void fill_event(struct kdapl_sp *sp, struct kdapl_cr *cr)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data =
		&cr->slot.event.event_data.cr_arrival_event_data;

	cr->slot.event.event_number = DAT_CONNECTION_REQUEST_EVENT;
	data->sp_handle.psp_handle = kdapl_handle(&sp->obj);
	data->local_ia_address_ptr = kdapl_address(&sp->obj.ia->addr);
	data->conn_qual = sp->qual;
	data->cr_handle = kdapl_handle(&cr->obj);
}

static void fill_conn(struct kdapl_conn *conn, struct kdapl_sp *sp,
		      struct rdma_cm_id *id, const void *data, u8 len,
		      u8 peer_rd_in, u8 peer_rd_out)
{
	conn->id = id;
	conn->qual = sp->qual;
	conn->peer = id->route.addr.dst_addr;
	conn->peer_port = kdapl_port_of(&conn->peer);
	conn->in_len = min_t(u8, len, sizeof(conn->in));
	memcpy(conn->in, data, conn->in_len);
	conn->peer_rd_in = peer_rd_in;
	conn->peer_rd_out = peer_rd_out;
}

/* kdapl_sp_request(); with @handed_over the caller has to call kdapl_conn_handed(). */
static int request(struct kdapl_sp *sp, struct rdma_cm_id *id, const void *data,
		   u8 len, u8 peer_rd_in, u8 peer_rd_out, bool handed_over,
		   struct kdapl_conn **out)
{
	struct kdapl_ia *ia = sp->obj.ia;
	struct kdapl_conn *conn;
	struct kdapl_cr *cr;
	struct kdapl_ep *ep;
	int ret;

	conn = kdapl_conn_alloc(ia);
	if (!conn)
		return -ENOMEM;
	fill_conn(conn, sp, id, data, len, peer_rd_in, peer_rd_out);
	cr = kdapl_cr_alloc(ia, conn);
	ret = -ENOMEM;
	if (!cr)
		goto put_conn;

	mutex_lock(&sp->lock);
	ret = -ECONNREFUSED;
	if (sp->spent || sp->stopped || READ_ONCE(ia->closing))
		goto unlock;
	ret = -ENOBUFS;
	if (!kdapl_evd_reserve(sp->evd))
		goto unlock;
	ret = request_ep(sp, &ep);
	if (ret)
		goto unreserve;
	cr->ep = ep;
	sp->spent = sp->obj.type == KDAPL_RSP;

	/*
	 * From here on nothing fails: P13, all or nothing.  Who stops the service
	 * point waits for the lock, and detaches the EVD afterwards.
	 */
	*out = conn;
	if (handed_over) {
		kdapl_conn_get(conn);
		conn->handed = true;
	}
	fill_event(sp, cr);
	kdapl_object_get(&cr->obj);
	kdapl_object_publish(&cr->obj);
	trace_kdapl_request(&sp->obj, &cr->obj);
	/* There is room, and an EVD with a service point cannot be dead. */
	if (WARN_ON_ONCE(!kdapl_evd_post(sp->evd, &cr->slot)))
		kdapl_object_put(&cr->obj);
	mutex_unlock(&sp->lock);
	return 0;

unreserve:
	kdapl_evd_unreserve(sp->evd);
unlock:
	mutex_unlock(&sp->lock);
	kdapl_object_abort(&cr->obj);
put_conn:
	/* The id stays the glue's. */
	conn->id = NULL;
	kdapl_conn_put(conn);
	return ret;
}

/**
 * kdapl_sp_request - a request arrived
 * @sp: the service point; it is listening, so it lives
 * @id: the request's own id; the core's on success
 * @data: private data
 * @len: of @data
 * @peer_rd_in: RDMA reads that the peer admits
 * @peer_rd_out: RDMA reads that the peer wants to have outstanding here
 * @out: the connection, @id's context from here on
 *
 * Context: the handler mutexes of the listening id and of @id; may sleep.
 *
 * Return: 0; -ECONNREFUSED: nobody listens; -ENOBUFS: no room on the CR-EVD;
 * -ENOMEM.  After an errno nothing has happened here, and the glue refuses the
 * request.
 */
int kdapl_sp_request(struct kdapl_sp *sp, struct rdma_cm_id *id,
		     const void *data, u8 len, u8 peer_rd_in, u8 peer_rd_out,
		     struct kdapl_conn **out)
{
	return request(sp, id, data, len, peer_rd_in, peer_rd_out, false, out);
}

/**
 * kdapl_sp_listening - the service point that listens at a port (P80)
 * @ia: on the same device and in the same network namespace as this one
 * @qual: the port
 *
 * Of any process, or a kernel consumer.  May sleep.
 *
 * Return: the service point with a reference, or NULL.
 */
struct kdapl_sp *kdapl_sp_listening(const struct kdapl_ia *ia, u16 qual)
{
	struct kdapl_sp *sp, *found = NULL;

	mutex_lock(&listening_lock);
	list_for_each_entry(sp, &listening, on_port) {
		if (sp->qual != qual || sp->obj.ia->dev != ia->dev ||
		    !net_eq(sp->obj.space->net, ia->obj.space->net))
			continue;
		if (refcount_inc_not_zero(&sp->obj.ref))
			found = sp;
		break;
	}
	mutex_unlock(&listening_lock);
	return found;
}

/**
 * kdapl_sp_hand_over - a request arrives a second time, here (P80)
 * @sp: caller is in the section of its IA
 * @conn: of a CR that nobody answers; without an id on success, what came with
 *	  it is @sp's new CR's
 *
 * May sleep.
 *
 * Return: 0, or an errno of kdapl_sp_request() and nothing has changed.
 */
int kdapl_sp_hand_over(struct kdapl_sp *sp, struct kdapl_conn *conn)
{
	const struct kdapl_cm_ops *cm = cm_ops(&sp->obj);
	struct rdma_cm_id *id = conn->id;
	struct kdapl_conn *new;
	int ret;

	/* It came by a hand-over itself, just now. */
	kdapl_conn_wait_handed(conn);
	/* The active side giving up goes to one of the two, whole. */
	cm->lock(id);
	ret = request(sp, id, conn->in, conn->in_len, conn->peer_rd_in,
		      conn->peer_rd_out, true, &new);
	if (!ret) {
		WRITE_ONCE(new->peer_gone, conn->peer_gone);
		cm->hand_over(id, new);
		conn->id = NULL;
	}
	cm->unlock(id);
	if (!ret)
		kdapl_conn_handed(new);
	return ret;
}

/* ---- life ------------------------------------------------------------------------- */

static void sp_release(struct kdapl_object *obj)
{
	struct kdapl_sp *sp = container_of(obj, struct kdapl_sp, obj);

	if (sp->ep)
		kdapl_object_put(&sp->ep->obj);
	if (sp->evd)
		kdapl_evd_put(sp->evd);
	kfree(sp);
}

static const struct kdapl_object_ops sp_ops;

static struct kdapl_sp *sp_alloc(struct kdapl_ia *ia, enum kdapl_type type)
{
	struct kdapl_sp *sp = kzalloc(sizeof(*sp), kdapl_gfp(ia->obj.space));

	if (!sp)
		return NULL;
	if (kdapl_object_init(&sp->obj, type, ia->obj.space, ia, &sp_ops)) {
		kfree(sp);
		return NULL;
	}
	mutex_init(&sp->lock);
	INIT_LIST_HEAD(&sp->on_port);
	return sp;
}

static DAT_RETURN listen_error(int err)
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
static DAT_RETURN attach_error(int err)
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

/* The backlog is the CR-EVD's length (P7); rdma_cm's own is not in the way. */
static DAT_RETURN sp_listen(struct kdapl_sp *sp)
{
	struct kdapl_space *space = sp->obj.space;
	struct rdma_cm_id *id;
	bool stopped;
	int err;

	err = cm_ops(&sp->obj)->listen(sp, sp->obj.ia->dev, space->net, &sp->qual,
				       kdapl_evd_qlen(sp->evd), &id);
	if (err)
		return listen_error(err);
	/* Published already: somebody may have guessed the handle and freed it. */
	mutex_lock(&sp->lock);
	stopped = sp->stopped;
	if (!stopped) {
		sp->id = id;
		mutex_lock(&listening_lock);
		list_add(&sp->on_port, &listening);
		mutex_unlock(&listening_lock);
	}
	mutex_unlock(&sp->lock);
	if (stopped)
		cm_ops(&sp->obj)->unlisten(id);
	return DAT_SUCCESS;
}

static void sp_unlisten(struct kdapl_sp *sp)
{
	struct rdma_cm_id *id;

	mutex_lock(&sp->lock);
	sp->stopped = true;
	id = sp->id;
	sp->id = NULL;
	mutex_lock(&listening_lock);
	list_del_init(&sp->on_port);
	mutex_unlock(&listening_lock);
	mutex_unlock(&sp->lock);
	/* Not under the lock: it waits for a request that is just arriving. */
	if (id)
		cm_ops(&sp->obj)->unlisten(id);
}

/*
 * P26, P28: the endpoint is untouched once the request came: it may even be
 * reserved by another service point by now.  Nothing arrives any more.
 */
static void sp_unreserve(struct kdapl_sp *sp)
{
	if (sp->ep && !sp->spent)
		kdapl_ep_input(sp->ep, NULL, KDAPL_EP_OP_UNRESERVE);
}

/* After the handle was retired: nothing of it listens on return. */
static void sp_stop(struct kdapl_sp *sp)
{
	sp_unlisten(sp);
	sp_unreserve(sp);
	kdapl_evd_detach(sp->evd, KDAPL_STREAM_OTHER, 0, 0);
}

/*
 * Publishes first: a request may arrive before the listen call returns, and its
 * event names this handle (P5).
 */
static DAT_RETURN sp_start(struct kdapl_sp *sp)
{
	DAT_RETURN ret;

	ret = attach_error(kdapl_evd_attach(sp->evd, KDAPL_STREAM_OTHER, 0, 0,
					    NULL));
	if (ret) {
		sp_unreserve(sp);
		kdapl_object_abort(&sp->obj);
		return ret;
	}
	kdapl_object_get(&sp->obj);
	kdapl_object_publish(&sp->obj);
	ret = sp_listen(sp);
	/* Otherwise it was freed meanwhile, and stopped with that. */
	if (ret && kdapl_object_retire(&sp->obj))
		sp_stop(sp);
	kdapl_object_put(&sp->obj);
	return ret;
}

/*
 * The device goes: stop listening
 * @obj: a PSP or RSP
 */
static void sp_release_verbs(struct kdapl_object *obj)
{
	sp_unlisten(container_of(obj, struct kdapl_sp, obj));
}

/*
 * The IA of a service point goes
 * @obj: a PSP or RSP
 */
static void sp_teardown(struct kdapl_object *obj)
{
	kdapl_object_get(obj);
	if (kdapl_object_retire(obj))
		sp_stop(container_of(obj, struct kdapl_sp, obj));
	kdapl_object_put(obj);
}

static const struct kdapl_object_ops sp_ops = {
	.release = sp_release,
	.release_verbs = sp_release_verbs,
	.teardown = sp_teardown,
};

static struct kdapl_evd *cr_evd_find(struct kdapl_ia *ia, DAT_EVD_HANDLE handle)
{
	struct kdapl_evd *evd = kdapl_evd_find(ia->obj.space, handle);

	if (!evd)
		return NULL;
	if (evd->obj.ia == ia && evd->flags & DAT_EVD_CR_FLAG)
		return evd;
	kdapl_evd_put(evd);
	return NULL;
}

static struct kdapl_sp *sp_find(struct kdapl_space *space, DAT_HANDLE handle,
				enum kdapl_type type)
{
	struct kdapl_object *obj = kdapl_object_find(space, handle, type);

	return obj ? container_of(obj, struct kdapl_sp, obj) : NULL;
}

static DAT_RETURN sp_free(struct kdapl_space *space, DAT_HANDLE handle,
			  enum kdapl_type type, enum dat_return_subtype sub)
{
	struct kdapl_sp *sp = sp_find(space, handle, type);
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, sub);
	int idx;

	if (!sp)
		return ret;
	if (!kdapl_ia_enter_shell(sp->obj.ia, &idx)) {
		if (kdapl_object_retire(&sp->obj)) {
			sp_stop(sp);
			ret = DAT_SUCCESS;
		}
		kdapl_ia_leave(sp->obj.ia, idx);
	}
	kdapl_object_put(&sp->obj);
	return ret;
}

/* ---- PSP ------------------------------------------------------------------------------ */

/* @any: the qualifier is chosen here and its argument checked by the caller. */
static DAT_RETURN psp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			     DAT_CONN_QUAL *qual, bool any,
			     DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			     DAT_PSP_HANDLE *psp)
{
	struct kdapl_ia *adapter = kdapl_ia_find(space, ia);
	struct kdapl_evd *evd = NULL;
	struct kdapl_sp *sp;
	DAT_RETURN ret;
	int idx;

	if (!adapter)
		return RET_BAD_HANDLE(IA);
	evd = cr_evd_find(adapter, evd_handle);
	ret = RET_BAD_HANDLE(EVD_CR);
	if (!evd)
		goto out;
	ret = RET_BAD_ARG(2);
	if (!qual || (!any && (!*qual || *qual > U16_MAX)))
		goto out;
	ret = RET_BAD_ARG(4);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		goto out;
	ret = RET_BAD_ARG(5);
	if (!psp)
		goto out;

	ret = kdapl_ia_enter(adapter, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_IA);
		goto out;
	}
	sp = sp_alloc(adapter, KDAPL_PSP);
	ret = RET_NO_RESOURCE(MEMORY);
	if (!sp)
		goto leave;
	sp->evd = evd;
	evd = NULL;
	sp->qual = any ? 0 : *qual;
	sp->flags = flags;
	/* sp_start() may leave the handle's reference only: keep one. */
	kdapl_object_get(&sp->obj);
	ret = sp_start(sp);
	if (!ret) {
		*qual = sp->qual;
		*psp = kdapl_handle(&sp->obj);
	}
	kdapl_object_put(&sp->obj);
leave:
	kdapl_ia_leave(adapter, idx);
out:
	if (evd)
		kdapl_evd_put(evd);
	kdapl_object_put(&adapter->obj);
	return ret;
}

/**
 * kdapl_psp_create - dat_psp_create
 * @space: of the caller
 * @ia: handle of an open IA
 * @qual: 1 .. 65535, a port of RDMA_PS_TCP
 * @evd: EVD of @ia with DAT_EVD_CR_FLAG
 * @flags: DAT_PSP_CONSUMER_FLAG or DAT_PSP_PROVIDER_FLAG
 * @psp: out
 *
 * The service point listens on return; a request may arrive before (P5).  May
 * sleep.  Rules P1..P10.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /EVD_CR;
 * DAT_INVALID_PARAMETER/ARG2, /ARG4, /ARG5; DAT_CONN_QUAL_IN_USE;
 * DAT_PRIVILEGES_VIOLATION for a port below 1024 without the right to bind it;
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdapl_psp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return psp_create(space, ia, &qual, false, evd, flags, psp);
}

/**
 * kdapl_psp_create_any - dat_psp_create_any (P16)
 * @space: of the caller
 * @ia: handle of an open IA
 * @qual: out: the qualifier chosen, 1024 or above
 * @evd: as kdapl_psp_create()
 * @flags: as kdapl_psp_create()
 * @psp: out
 *
 * Return: as kdapl_psp_create(), with DAT_CONN_QUAL_UNAVAILABLE for none free.
 */
DAT_RETURN kdapl_psp_create_any(struct kdapl_space *space, DAT_IA_HANDLE ia,
				DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return psp_create(space, ia, qual, true, evd, flags, psp);
}

/**
 * kdapl_psp_query - dat_psp_query (P17)
 * @space: of the caller
 * @psp: handle of a PSP
 * @mask: DAT_PSP_FIELD_*
 * @param: out, filled whole
 *
 * Any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PSP; DAT_INVALID_PARAMETER/ARG2, /ARG3.
 */
DAT_RETURN kdapl_psp_query(struct kdapl_space *space, DAT_PSP_HANDLE psp,
			   DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct kdapl_sp *sp = sp_find(space, psp, KDAPL_PSP);
	DAT_RETURN ret;

	if (!sp)
		return RET_BAD_HANDLE(PSP);
	if (mask & ~DAT_PSP_FIELD_ALL) {
		ret = RET_BAD_ARG(2);
	} else if (!param) {
		ret = RET_BAD_ARG(3);
	} else {
		param->ia_handle = kdapl_handle(&sp->obj.ia->obj);
		param->conn_qual = sp->qual;
		param->evd_handle = kdapl_handle(&sp->evd->obj);
		param->psp_flags = sp->flags;
		ret = DAT_SUCCESS;
	}
	kdapl_object_put(&sp->obj);
	return ret;
}

/**
 * kdapl_psp_free - dat_psp_free
 * @space: of the caller
 * @psp: handle of a PSP
 *
 * Requests already raised and connections stay (P12).  May sleep.  Rules
 * P11..P15.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/PSP.
 */
DAT_RETURN kdapl_psp_free(struct kdapl_space *space, DAT_PSP_HANDLE psp)
{
	return sp_free(space, psp, KDAPL_PSP, DAT_INVALID_HANDLE_PSP);
}

/* ---- RSP ---------------------------------------------------------------------------------- */

/* Reserves the endpoint before a request can reach it (E.17). */
static DAT_RETURN rsp_start(struct kdapl_ia *ia, DAT_CONN_QUAL qual,
			    struct kdapl_ep *ep, struct kdapl_evd *evd,
			    DAT_RSP_HANDLE *rsp)
{
	struct kdapl_sp *sp;
	DAT_RETURN ret;

	if (ep) {
		ret = kdapl_ep_input(ep, NULL, KDAPL_EP_OP_RESERVE);
		if (ret)
			return ret;
	}
	sp = sp_alloc(ia, KDAPL_RSP);
	if (!sp) {
		ret = RET_NO_RESOURCE(MEMORY);
		goto unreserve;
	}
	kdapl_object_get(&evd->obj);
	sp->evd = evd;
	sp->qual = qual;
	if (ep) {
		kdapl_object_get(&ep->obj);
		sp->ep = ep;
	}
	kdapl_object_get(&sp->obj);
	ret = sp_start(sp);
	if (!ret)
		*rsp = kdapl_handle(&sp->obj);
	kdapl_object_put(&sp->obj);
	/* A failed start has unreserved it. */
	return ret;

unreserve:
	if (ep)
		kdapl_ep_input(ep, NULL, KDAPL_EP_OP_UNRESERVE);
	return ret;
}

/**
 * kdapl_rsp_create - dat_rsp_create
 * @space: of the caller
 * @ia: handle of an open IA
 * @qual: 1 .. 65535
 * @ep_handle: of an EP in UNCONNECTED; null: made when the request arrives (P21)
 * @evd_handle: of an EVD of @ia with DAT_EVD_CR_FLAG
 * @rsp: out
 *
 * May sleep.  Rules P20..P32.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /EP, /EVD_CR;
 * DAT_INVALID_PARAMETER/ARG2, /ARG5; DAT_INVALID_STATE with the EP's state;
 * DAT_CONN_QUAL_IN_USE; DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdapl_rsp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
			    DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp)
{
	struct kdapl_ia *adapter = kdapl_ia_find(space, ia);
	struct kdapl_evd *evd = NULL;
	struct kdapl_ep *ep = NULL;
	DAT_RETURN ret;
	int idx;

	if (!adapter)
		return RET_BAD_HANDLE(IA);
	if (ep_handle != DAT_HANDLE_NULL) {
		ep = kdapl_ep_find(space, ep_handle);
		ret = RET_BAD_HANDLE(EP);
		if (!ep || ep->obj.ia != adapter)
			goto out;
	}
	evd = cr_evd_find(adapter, evd_handle);
	ret = RET_BAD_HANDLE(EVD_CR);
	if (!evd)
		goto out;
	ret = RET_BAD_ARG(2);
	if (!qual || qual > U16_MAX)
		goto out;
	ret = RET_BAD_ARG(5);
	if (!rsp)
		goto out;

	ret = kdapl_ia_enter(adapter, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_IA);
		goto out;
	}
	ret = rsp_start(adapter, qual, ep, evd, rsp);
	kdapl_ia_leave(adapter, idx);
out:
	if (evd)
		kdapl_evd_put(evd);
	if (ep)
		kdapl_object_put(&ep->obj);
	kdapl_object_put(&adapter->obj);
	return ret;
}

/**
 * kdapl_rsp_query - dat_rsp_query
 * @space: of the caller
 * @rsp: handle of a RSP
 * @mask: DAT_RSP_FIELD_*
 * @param: out, filled whole
 *
 * Any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RSP; DAT_INVALID_PARAMETER/ARG2, /ARG3.
 */
DAT_RETURN kdapl_rsp_query(struct kdapl_space *space, DAT_RSP_HANDLE rsp,
			   DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct kdapl_sp *sp = sp_find(space, rsp, KDAPL_RSP);
	DAT_RETURN ret;

	if (!sp)
		return RET_BAD_HANDLE(RSP);
	if (mask & ~DAT_RSP_FIELD_ALL) {
		ret = RET_BAD_ARG(2);
	} else if (!param) {
		ret = RET_BAD_ARG(3);
	} else {
		param->ia_handle = kdapl_handle(&sp->obj.ia->obj);
		param->conn_qual = sp->qual;
		param->evd_handle = kdapl_handle(&sp->evd->obj);
		param->ep_handle = kdapl_handle_or_null(READ_ONCE(sp->ep));
		ret = DAT_SUCCESS;
	}
	kdapl_object_put(&sp->obj);
	return ret;
}

/**
 * kdapl_rsp_free - dat_rsp_free
 * @space: of the caller
 * @rsp: handle of a RSP
 *
 * Before a request arrived the endpoint becomes UNCONNECTED, afterwards it and
 * the request stay (P26, P27).  May sleep.  Rules P26..P29.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/RSP.
 */
DAT_RETURN kdapl_rsp_free(struct kdapl_space *space, DAT_RSP_HANDLE rsp)
{
	return sp_free(space, rsp, KDAPL_RSP, DAT_INVALID_HANDLE_RSP);
}
