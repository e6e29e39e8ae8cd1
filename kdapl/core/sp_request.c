// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests that arrive at a service point: from the CM, or handed over from another
 * service point (dat_cr_handoff).
 *
 * A request becomes a connection without endpoint and a CR that owns it (cr.c), or
 * is refused as if nobody listened: no room on the CR-EVD (P7), no memory (P10), a
 * RSP that had its request (P22).
 *
 * Callers: glue/cm.c, the faces; sp.c says which service points listen.
 */
#include <linux/hashtable.h>
#include "ep_apply.h"
#include "evd_fifo.h"
#include "ia.h"
#include "op.h"
#include "sp.h"
#include "../trace.h"

/*
 * All service points that listen, of every consumer, by their port numbers, for dat_cr_handoff.
 * The lock is a leaf.  It is a spinlock, and what is done under it is short, because a process
 * that takes it may have to wait for its turn to run, and all others would wait with it.
 */
static DEFINE_HASHTABLE(listening_sps, 10);
static DEFINE_SPINLOCK(listening_lock);

/* ---- who listens ---------------------------------------------------- */

/**
 * kdapl_sp_announce - a service point listens
 * @sp: its lock is held
 */
void kdapl_sp_announce(struct kdapl_sp *sp)
{
	lockdep_assert_held(&sp->lock);
	spin_lock(&listening_lock);
	hash_add(listening_sps, &sp->on_port, sp->port);
	spin_unlock(&listening_lock);
}

/**
 * kdapl_sp_withdraw - a service point listens no more, or never did
 * @sp: its lock is held
 */
void kdapl_sp_withdraw(struct kdapl_sp *sp)
{
	lockdep_assert_held(&sp->lock);
	spin_lock(&listening_lock);
	hash_del(&sp->on_port);
	spin_unlock(&listening_lock);
}

/*
 * The service point that listens at @port, on the device and in the network
 * namespace of @ia (P80); of any process, or a kernel consumer.  With a reference,
 * or NULL.
 */
static struct kdapl_sp *sp_listening(const struct kdapl_ia *ia, u16 port)
{
	struct kdapl_sp *sp, *found = NULL;

	spin_lock(&listening_lock);
	hash_for_each_possible(listening_sps, sp, on_port, port) {
		if (sp->port != port || sp->obj.ia->dev != ia->dev ||
		    !net_eq(sp->obj.space->net, ia->obj.space->net))
			continue;
		if (refcount_inc_not_zero(&sp->obj.ref))
			found = sp;
		break;
	}
	spin_unlock(&listening_lock);
	return found;
}

/* ---- arrival -------------------------------------------------------- */

/*
 * struct sp_request - what arrived
 * @id: its own CM id, with the handler mutex held
 * @from: the connection that had it before; NULL: it comes from the CM
 * @data, @len: private data
 * @rd_in: RDMA reads that the peer admits
 */
struct sp_request {
	struct rdma_cm_id *id;
	struct kdapl_conn *from;
	const void *data;
	u8 len;
	u8 rd_in;
};

static struct kdapl_conn *request_conn(struct kdapl_sp *sp,
				       const struct sp_request *r)
{
	const struct rdma_addr *addr = &r->id->route.addr;
	struct kdapl_conn *conn = kdapl_conn_alloc(sp->obj.ia);

	if (!conn)
		return NULL;
	conn->local = kdapl_ia_address(sp->obj.ia, addr);
	if (!conn->local) {
		kdapl_conn_put(conn);
		return NULL;
	}
	conn->qual = kdapl_sp_qual(sp);
	conn->peer = addr->dst_addr;
	/* A link-local address needs its link, in case somebody connects back to it. */
	kdapl_ia_set_link(&conn->peer, addr);
	conn->peer_port = kdapl_port_of(&conn->peer);
	conn->in_len = min_t(u8, r->len, sizeof(conn->in));
	memcpy(conn->in, r->data, conn->in_len);
	conn->peer_rd_in = r->rd_in;
	return conn;
}

/* The endpoint of a new request; NULL if the consumer chooses it at the accept. */
static int request_ep(struct kdapl_sp *sp, struct kdapl_ep **ep)
{
	lockdep_assert_held(&sp->lock);
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

static void request_fill_event(struct kdapl_sp *sp, struct kdapl_cr *cr)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data =
		&cr->slot.event.event_data.cr_arrival_event_data;

	cr->slot.event.event_number = DAT_CONNECTION_REQUEST_EVENT;
	data->sp_handle.psp_handle = kdapl_handle(&sp->obj);
	data->local_ia_address_ptr = kdapl_address(cr->conn->local);
	data->conn_qual = kdapl_sp_qual(sp);
	data->cr_handle = kdapl_handle(&cr->obj);
}

/* Does everything that can fail.  On success there is room for the event. */
static int request_admit(struct kdapl_sp *sp, struct kdapl_cr *cr)
{
	int ret;

	lockdep_assert_held(&sp->lock);
	/*
	 * As long as the service point does not listen everywhere it may still fail to, and then
	 * must not have taken a request: its caller would not know of it (E2, E.17).
	 */
	if (!sp->listener || sp->spent || READ_ONCE(sp->obj.ia->closing))
		return -ECONNREFUSED;
	if (!kdapl_evd_reserve(sp->evd))
		return -ENOBUFS;
	ret = request_ep(sp, &cr->ep);
	if (ret) {
		kdapl_evd_unreserve(sp->evd);
		return ret;
	}
	sp->spent = sp->obj.type == KDAPL_RSP;
	return 0;
}

/*
 * P13, all or nothing: @conn gets the id, and its CR is published.  If the id is handed over,
 * the caller becomes a user of it, until it has released the handler mutex.
 */
static void request_raise(struct kdapl_sp *sp, struct kdapl_cr *cr,
			  struct kdapl_conn *conn, const struct sp_request *r)
{
	kdapl_id_given(conn, r->id);
	if (r->from) {
		kdapl_id_use(conn);
		kdapl_id_take_from(conn, r->from);
	}
	request_fill_event(sp, cr);
	kdapl_object_get(&cr->obj);
	kdapl_object_publish(&cr->obj);
	trace_kdapl_request(&sp->obj, &cr->obj);
	/* There is room, and an EVD with a service point cannot be dead. */
	if (WARN_ON_ONCE(!kdapl_evd_post(sp->evd, &cr->slot)))
		kdapl_object_put(&cr->obj);
}

static int sp_take_request(struct kdapl_sp *sp, const struct sp_request *r,
			   struct kdapl_conn **out)
{
	struct kdapl_conn *conn = request_conn(sp, r);
	struct kdapl_cr *cr;
	int ret;

	if (!conn)
		return -ENOMEM;
	cr = kdapl_cr_alloc(sp->obj.ia, conn);
	if (!cr) {
		kdapl_conn_put(conn);
		return -ENOMEM;
	}
	/*
	 * A free of the service point waits for the lock before it detaches the EVD,
	 * so the EVD stays attached until the event is in it.
	 */
	mutex_lock(&sp->lock);
	ret = request_admit(sp, cr);
	if (!ret) {
		*out = conn;
		request_raise(sp, cr, conn, r);
	}
	mutex_unlock(&sp->lock);
	if (ret) {
		kdapl_object_abort(&cr->obj);
		kdapl_conn_put(conn);
	}
	return ret;
}

/**
 * kdapl_sp_request - a request arrived
 * @sp: the service point; it is listening, so it lives
 * @id: the request's own id; the core's on success
 * @data: private data
 * @len: of @data
 * @peer_rd_in: RDMA reads that the peer admits
 * @out: the connection, @id's context from here on
 *
 * Context: the handler mutexes of the listening id and of @id; may sleep.
 *
 * Return: 0; -ECONNREFUSED: nobody listens, or not yet; -ENOBUFS: no room on the CR-EVD;
 * -ENOMEM.  After an errno nothing has happened here, and the glue refuses the
 * request.
 */
int kdapl_sp_request(struct kdapl_sp *sp, struct rdma_cm_id *id,
		     const void *data, u8 len, u8 peer_rd_in,
		     struct kdapl_conn **out)
{
	const struct sp_request r = {
		.id = id,
		.data = data,
		.len = len,
		.rd_in = peer_rd_in,
	};
	int ret = sp_take_request(sp, &r, out);

	kdapl_count(sp->obj.ia->dev,
		    ret ? KDAPL_COUNT_TURNED_AWAY : KDAPL_COUNT_REQUESTS);
	return ret;
}

/* ---- dat_cr_handoff ------------------------------------------------- */

/*
 * The request arrives a second time, at @sp (P80).  On success @conn has no id any
 * more: it is that of the new CR's connection.
 */
static int sp_hand_over(struct kdapl_sp *sp, struct kdapl_conn *conn)
{
	const struct kdapl_cm_ops *cm = conn->ia->dev->cm;
	struct sp_request r = {
		.id = conn->id,
		.from = conn,
		.data = conn->in,
		.len = conn->in_len,
		.rd_in = conn->peer_rd_in,
	};
	struct kdapl_conn *new;
	int ret;

	/*
	 * @conn may have got the id by a hand-over just now.  Wait until that one has left the
	 * handler mutex, because we are about to take the id away.
	 */
	kdapl_id_wait_unused(conn);
	/*
	 * With the mutex held, the news that the active side has given up comes either
	 * before the hand-over, to @conn, or after it, to the new connection.
	 */
	cm->lock(r.id);
	ret = sp_take_request(sp, &r, &new);
	cm->unlock(r.id);
	if (!ret)
		kdapl_id_unuse(new);
	return ret;
}

/*
 * struct hand_over - a request on its way to another service point
 * @conn: the connection that the request has had so far
 * @port: where that service point listens
 * @ret: why the section of its IA could not be entered, or DAT_SUCCESS
 * @err: of sp_take_request(); -ECONNREFUSED if that was not called
 */
struct hand_over {
	struct work_struct work;
	struct kdapl_conn *conn;
	u16 port;
	DAT_RETURN ret;
	int err;
};

static void hand_over(struct work_struct *work)
{
	struct hand_over *h = container_of(work, struct hand_over, work);
	struct kdapl_sp *sp = sp_listening(h->conn->ia, h->port);
	int idx;

	h->err = -ECONNREFUSED;
	h->ret = DAT_SUCCESS;
	if (!sp)
		return;
	h->ret = kdapl_ia_enter(sp->obj.ia, &idx);
	if (!h->ret) {
		h->err = sp_hand_over(sp, h->conn);
		kdapl_ia_leave(sp->obj.ia, idx);
	}
	kdapl_object_put(&sp->obj);
}

/*
 * For a process a thread of the kernel hands over.  The process itself, at the limits of its
 * cgroups, might have to wait for memory or for its turn to run, while it holds locks, the
 * section and a reference of what may be another user's.  Then that user's requests, the end of
 * his service point and of his process, and the removal of the device would wait for it.
 */
static void hand_over_run(struct hand_over *h, const struct kdapl_space *space)
{
	INIT_WORK_ONSTACK(&h->work, hand_over);
	if (space->owner) {
		queue_work(kdapl_wq_of(space), &h->work);
		flush_work(&h->work);
	} else {
		hand_over(&h->work);
	}
	destroy_work_on_stack(&h->work);
}

/*
 * The CR's lock is held, and its IA's section entered.  If @qual has no room for the request,
 * the peer is refused as it would be on arrival, and the call succeeds (P83).
 */
static DAT_RETURN cr_hand_over(struct kdapl_cr *cr, DAT_CONN_QUAL qual)
{
	struct hand_over h = { .conn = cr->conn, .port = kdapl_port_of_qual(qual) };

	hand_over_run(&h, cr->obj.space);
	/* A removal of the device has reached the IA of the service point before ours (E71). */
	if (DAT_GET_TYPE(h.ret) == DAT_INVALID_STATE)
		return RET(INVALID_STATE);
	if (h.err == -ECONNREFUSED)
		return RET_BAD_ARG(2);
	kdapl_cr_end(cr, false);
	return DAT_SUCCESS;
}

static DAT_RETURN cr_handoff(struct kdapl_cr *cr, DAT_CONN_QUAL qual)
{
	DAT_RETURN ret;

	mutex_lock(&cr->lock);
	ret = cr->conn ? cr_hand_over(cr, qual) : RET_BAD_HANDLE(CR);
	mutex_unlock(&cr->lock);
	if (!ret)
		kdapl_object_retire(&cr->obj);
	return ret;
}

/*
 * dat_cr_handoff.  The service point may be another process's, in the same network
 * namespace; the handler mutex of the id is held while it gets the request.
 */
DAT_RETURN kdapl_cr_handoff(struct kdapl_space *space, DAT_CR_HANDLE handle,
			    DAT_CONN_QUAL qual)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_CR, DAT_INVALID_HANDLE_CR);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret)
		ret = cr_handoff(kdapl_cr_of(op.obj), qual);
	return kdapl_op_end(&op, ret);
}
