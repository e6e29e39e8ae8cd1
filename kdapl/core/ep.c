// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints: dat_ep_*, and the one function that changes an endpoint's state.
 *
 * apply() takes a cell of the table (ep_fsm.c) and does, under the EP's lock,
 * what the cell asks: state, gates of the two directions, events.  What sleeps
 * is handed to the connection's work item (conn.c).  Everything that happens to
 * an endpoint, from above or from below, comes through kdapl_ep_input() or
 * kdapl_ep_begin().
 */
#include <linux/inet.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "ep.h"
#include "rmr.h"
#include "../trace.h"

#define IH_EP	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/*
 * Posts moved or completed in one go, with interrupts off; an endpoint may have
 * as many as the device's queues are long.
 */
#define BATCH	64

/* What the second group of actions is. */
#define ACT_WORK	(KDAPL_EP_ACT_ABORT | KDAPL_EP_ACT_DRAIN | \
			 KDAPL_EP_ACT_DISC | KDAPL_EP_ACT_FLUSH)

static inline DAT_RETURN bad_arg(enum dat_return_subtype arg)
{
	return DAT_ERROR(DAT_INVALID_PARAMETER, arg);
}

static inline DAT_RETURN no_memory(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* ---- the state ------------------------------------------------------------ */

static void lock_dirs(struct kdapl_ep *ep)
	__acquires(&ep->req.lock) __acquires(&ep->recv.lock)
{
	lockdep_assert_held(&ep->lock);
	spin_lock(&ep->req.lock);
	spin_lock_nested(&ep->recv.lock, SINGLE_DEPTH_NESTING);
}

static void unlock_dirs(struct kdapl_ep *ep)
	__releases(&ep->recv.lock) __releases(&ep->req.lock)
{
	spin_unlock(&ep->recv.lock);
	spin_unlock(&ep->req.lock);
}

static void set_gate(struct kdapl_ep *ep, struct kdapl_dir *dir,
		     enum kdapl_ep_input post)
{
	const struct kdapl_ep_cell *cell = kdapl_ep_fsm(ep->state, post);

	lockdep_assert_held(&dir->lock);
	dir->refusal = cell->ret;
	if (cell->ret) {
		dir->gate = KDAPL_GATE_REFUSE;
		return;
	}
	switch (ep->state) {
	case KDAPL_EP_REQUESTED:
	case KDAPL_EP_COMPLETION_PENDING:
	case KDAPL_EP_CONNECTED:
	case KDAPL_EP_DRAINING:
		/* What waits goes first: post_held(). */
		dir->gate = dir->held ? KDAPL_GATE_HOLD : KDAPL_GATE_POST;
		break;
	case KDAPL_EP_FLUSHING:
	case KDAPL_EP_DISC_FLUSHING:
		dir->gate = KDAPL_GATE_LATE;
		break;
	case KDAPL_EP_DISC_IDLE:
		/* The same: flush_late(). */
		dir->gate = list_empty(&dir->late) ? KDAPL_GATE_FLUSH :
						     KDAPL_GATE_LATE;
		break;
	default:
		dir->gate = KDAPL_GATE_HOLD;
	}
}

/*
 * Posts that came while the old life was being flushed follow it (D46), a batch
 * at a time; those that come meanwhile queue up behind them.
 */
static void flush_late(struct kdapl_dir *dir)
{
	struct kdapl_cookie *cookie;
	unsigned long flags;
	bool more;
	u32 n;

	do {
		spin_lock_irqsave(&dir->lock, flags);
		for (n = 0; n < BATCH && !list_empty(&dir->late); n++) {
			cookie = list_first_entry(&dir->late, struct kdapl_cookie,
						  node.link);
			list_del(&cookie->node.link);
			kdapl_evd_post_flushed(dir->evd, cookie);
		}
		more = !list_empty(&dir->late);
		if (!more && dir->gate == KDAPL_GATE_LATE)
			dir->gate = KDAPL_GATE_FLUSH;
		spin_unlock_irqrestore(&dir->lock, flags);
	} while (more);
}

static void connection_slot_done(struct kdapl_event_slot *slot, bool lost)
{
	struct kdapl_conn *conn;

	if (slot->event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		conn = container_of(slot, struct kdapl_conn, established);
	else
		conn = container_of(slot, struct kdapl_conn, end);
	kdapl_conn_put(conn);
}

/* False: there was no room for it; the overflow is reported (E65, E67). */
static bool raise_event(struct kdapl_ep *ep, u32 number)
{
	struct kdapl_conn *conn = ep->conn;
	bool established = number == DAT_CONNECTION_EVENT_ESTABLISHED;
	struct kdapl_event_slot *slot = established ? &conn->established :
						      &conn->end;
	DAT_CONNECTION_EVENT_DATA *data =
		&slot->event.event_data.connect_event_data;

	slot->event.event_number = number;
	slot->done = connection_slot_done;
	data->ep_handle = kdapl_handle(&ep->obj);
	/* E7, E8: the acceptance's data, on the active side only. */
	data->private_data_size = established ? conn->in_len : 0;
	data->private_data = data->private_data_size ? conn->in : NULL;
	if (established && !conn->active) {
		data->private_data_size = 0;
		data->private_data = NULL;
	}
	kdapl_conn_get(conn);
	if (kdapl_evd_post(ep->connect_evd, slot))
		return true;
	kdapl_conn_put(conn);
	kdapl_evd_overflow(ep->connect_evd);
	return false;
}

/*
 * Does what @cell says; the only writer of the state.  Returns an input that
 * must follow once the lock is dropped, or KDAPL_EP_NR_INPUTS.
 */
static enum kdapl_ep_input apply(struct kdapl_ep *ep,
				 const struct kdapl_ep_cell *cell,
				 enum kdapl_ep_input input)
{
	enum kdapl_ep_input follow = KDAPL_EP_NR_INPUTS;
	struct kdapl_conn *conn = ep->conn;
	u16 act = cell->actions;

	lockdep_assert_held(&ep->lock);
	if (cell->next != ep->state)
		trace_kdapl_ep_state(ep, ep->state, input, cell->next);

	lock_dirs(ep);
	WRITE_ONCE(ep->state, cell->next);
	set_gate(ep, &ep->req, KDAPL_EP_OP_POST_REQUEST);
	set_gate(ep, &ep->recv, KDAPL_EP_OP_POST_RECV);

	if (act & KDAPL_EP_ACT_STOP_TIMER && cancel_delayed_work(&conn->timer))
		kdapl_conn_put(conn);
	if (act & KDAPL_EP_ACT_EVENT && !raise_event(ep, cell->event) &&
	    cell->event == DAT_CONNECTION_EVENT_ESTABLISHED)
		follow = KDAPL_EP_OP_DISC_ABRUPT;
	if (act & KDAPL_EP_ACT_SET_END && !ep->end_event)
		ep->end_event = cell->event;
	if (act & KDAPL_EP_ACT_FLUSH && conn)
		WRITE_ONCE(conn->told, true);
	/* Not before the event: it goes ahead of the first receive (E45). */
	if (cell->next == KDAPL_EP_CONNECTED)
		WRITE_ONCE(ep->recv.await, false);
	if (act & KDAPL_EP_ACT_END)
		raise_event(ep, ep->end_event);
	unlock_dirs(ep);

	if (act & ACT_WORK && conn)
		kdapl_conn_queue(conn, act & ACT_WORK);
	return follow;
}

/**
 * kdapl_ep_input - the one way to change an endpoint's state
 * @ep: the endpoint
 * @conn: the connection that the input comes from; NULL for operations
 * @input: what happened or is asked
 *
 * An input of a former connection is dropped.  Any context; no lock of an EP or
 * EVD held.
 *
 * Return: the operation's DAT_RETURN as the table has it; DAT_ABORT for a
 * dropped input.
 */
DAT_RETURN kdapl_ep_input(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input)
{
	enum kdapl_ep_input follow = KDAPL_EP_NR_INPUTS;
	const struct kdapl_ep_cell *cell;
	unsigned long flags;
	DAT_RETURN ret;

	spin_lock_irqsave(&ep->lock, flags);
	if (conn && ep->conn != conn) {
		spin_unlock_irqrestore(&ep->lock, flags);
		return DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
	}
	cell = kdapl_ep_fsm(ep->state, input);
	ret = cell->ret;
	if (!ret)
		follow = apply(ep, cell, input);
	conn = ep->conn;
	/* What follows is meant for this connection and no later one. */
	if (follow != KDAPL_EP_NR_INPUTS)
		kdapl_conn_get(conn);
	spin_unlock_irqrestore(&ep->lock, flags);

	/* Before the connection's work is done: nothing starts a new life yet. */
	if (!ret && cell->actions & KDAPL_EP_ACT_END) {
		flush_late(&ep->req);
		flush_late(&ep->recv);
	}
	if (follow != KDAPL_EP_NR_INPUTS) {
		kdapl_ep_input(ep, conn, follow);
		kdapl_conn_put(conn);
	}
	return ret;
}

/* Nothing was given to the queue of a new connection. */
static void start_count(struct kdapl_ep *ep)
{
	lock_dirs(ep);
	ep->req.posted = 0;
	ep->req.completed = 0;
	ep->recv.posted = 0;
	ep->recv.completed = 0;
	ep->recv.await = true;
	unlock_dirs(ep);
}

/* One of @dir's held receives goes to the queue. */
static int post_one_held(struct kdapl_dir *dir, struct kdapl_conn *conn)
{
	u32 i = dir->held_first;
	struct ib_recv_wr wr = {
		.wr_id = (uintptr_t)&dir->ring[i],
		.sg_list = &dir->sge[i * dir->max_sge],
		.num_sge = dir->nr_sge[i],
	};
	int ret;

	dir->ring[i].on_queue = true;
	dir->posted++;
	ret = conn->qp.dev->qp->post_recv(&conn->qp, &wr);
	if (ret) {
		dir->posted--;
		dir->ring[i].on_queue = false;
		return ret;
	}
	dir->held--;
	dir->held_first = (i + 1) % dir->size;
	return 0;
}

/*
 * Receives that waited go to the queue of @conn, which @ep has just taken, in
 * order and a batch at a time; until the last of them new ones wait behind them.
 * Should the connection end meanwhile, the rest stays held and is flushed with
 * it; so it is when a device refuses one, which breaks the connection.
 */
static void post_held(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	struct kdapl_dir *dir = &ep->recv;
	unsigned long flags;
	bool more;
	int ret = 0;
	u32 n;

	do {
		spin_lock_irqsave(&dir->lock, flags);
		/* Set under the lock, before the queue goes. */
		more = dir->held && !conn->told;
		for (n = 0; more && !ret && n < BATCH; n++) {
			ret = post_one_held(dir, conn);
			more = dir->held;
		}
		if (!dir->held && dir->gate == KDAPL_GATE_HOLD && !conn->told)
			dir->gate = KDAPL_GATE_POST;
		spin_unlock_irqrestore(&dir->lock, flags);
	} while (more && !ret);
	if (ret)
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_BROKEN);
}

static void set_peer(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	ep->remote = conn->peer;
	ep->remote_qual = conn->active ? conn->qual : conn->peer_port;
	ep->local_qual = conn->active ? conn->local_port : conn->qual;
}

/**
 * kdapl_ep_begin - an input that begins a connection
 * @ep: gets @conn
 * @conn: without an endpoint yet; a reference is taken on success, and an
 *	  active attempt is started
 * @input: OP_CONNECT, OP_ACCEPT or OP_ACCEPT_OWN
 * @queue: @conn has its queue; the receives held by @ep go there
 *
 * May be called with the handler mutex of @conn's id held.
 *
 * Return: as the table has it; on failure nothing changed.
 */
DAT_RETURN kdapl_ep_begin(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input, bool queue)
{
	const struct kdapl_ep_cell *cell;
	unsigned long flags;
	DAT_RETURN ret;

	spin_lock_irqsave(&ep->lock, flags);
	cell = kdapl_ep_fsm(ep->state, input);
	ret = cell->ret ?: kdapl_ep_ready(ep);
	if (!ret) {
		WARN_ON_ONCE(ep->conn);
		kdapl_conn_get(conn);
		ep->conn = conn;
		ep->end_event = KDAPL_EP_NO_EVENT;
		kdapl_object_get(&ep->obj);
		conn->ep = ep;
		set_peer(ep, conn);
		if (queue)
			start_count(ep);
		if (conn->active)
			kdapl_conn_start(conn);
		apply(ep, cell, input);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!ret && queue)
		post_held(ep, conn);
	return ret;
}

/**
 * kdapl_ep_take_queue - the route is known, the queue is there (RESOLVED)
 * @ep: in RESOLVING
 * @conn: with its queue made
 *
 * Return: DAT_SUCCESS; anything else: the attempt is over, @conn's work cleans
 * up.
 */
DAT_RETURN kdapl_ep_take_queue(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	DAT_RETURN ret = DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
	const struct kdapl_ep_cell *cell;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->conn == conn && ep->state == KDAPL_EP_RESOLVING) {
		cell = kdapl_ep_fsm(ep->state, KDAPL_EP_IN_RESOLVED);
		start_count(ep);
		apply(ep, cell, KDAPL_EP_IN_RESOLVED);
		ret = DAT_SUCCESS;
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	if (ret)
		return ret;
	post_held(ep, conn);
	return READ_ONCE(conn->told) ? DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE) :
				       DAT_SUCCESS;
}

static DAT_RETURN peek(struct kdapl_ep *ep, enum kdapl_ep_input input)
{
	return kdapl_ep_fsm(READ_ONCE(ep->state), input)->ret;
}

/**
 * kdapl_ep_ready - has the endpoint what a connection needs (A.5)?
 * @ep: the endpoint
 *
 * Return: DAT_SUCCESS; DAT_INVALID_STATE/EP_NOTREADY without PZ or connect EVD.
 */
DAT_RETURN kdapl_ep_ready(struct kdapl_ep *ep)
{
	if (READ_ONCE(ep->pz) && READ_ONCE(ep->connect_evd))
		return DAT_SUCCESS;
	return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
}

/* At most a batch of held receives; true: there are more. */
static bool flush_held(struct kdapl_dir *dir)
{
	u32 n;

	lockdep_assert_held(&dir->lock);
	for (n = 0; n < BATCH && dir->held; n++) {
		kdapl_evd_post_flushed(dir->evd, &dir->ring[dir->held_first]);
		dir->held_first = (dir->held_first + 1) % dir->size;
		dir->held--;
	}
	return dir->held;
}

/* At most a batch of the ring from @i on, for a dead device. */
static u32 flush_lost(struct kdapl_dir *dir, u32 i, u32 n)
{
	lockdep_assert_held(&dir->lock);
	for (; n; n--, i = (i + 1) % dir->size) {
		struct kdapl_cookie *cookie = &dir->ring[i];

		if (cookie->busy && kdapl_evd_disown(dir->evd, cookie))
			kdapl_evd_post_flushed(dir->evd, cookie);
	}
	return i;
}

/* The RMR of a bind that is owed, with a reference; NULL: it is none. */
static struct kdapl_rmr *owed_bind(struct kdapl_dir *dir,
				   struct kdapl_cookie *cookie)
{
	struct kdapl_rmr *rmr = NULL;

	spin_lock_irq(&dir->evd->lock);
	if (cookie->on_queue && cookie->rmr) {
		rmr = cookie->rmr;
		kdapl_object_get(&rmr->obj);
	}
	spin_unlock_irq(&dir->evd->lock);
	return rmr;
}

/*
 * The queue is gone, and the CQ was pulled.  A bind that its RMR held up was none
 * of those: what is behind it comes in now.
 */
static void settle_binds(struct kdapl_dir *dir)
{
	struct kdapl_rmr *rmr;
	u32 i;

	for (i = 0; i < dir->size; i++) {
		rmr = owed_bind(dir, &dir->ring[i]);
		if (!rmr)
			continue;
		kdapl_rmr_lost(rmr, &dir->ring[i]);
		kdapl_object_put(&rmr->obj);
	}
	kdapl_evd_pull(dir->evd);
}

/*
 * Completes what a dead device never flushed, and then held receives, which were
 * posted later.  New posts are late, and take only slots that owe nothing.
 */
static void flush_dir(struct kdapl_dir *dir, bool lost)
{
	u32 i, n, left = lost ? dir->size : 0;
	unsigned long flags;
	bool more;

	/* In posting order; the ring is used round, @next is the oldest. */
	for (i = READ_ONCE(dir->next); left; left -= n) {
		n = min_t(u32, left, BATCH);
		spin_lock_irqsave(&dir->lock, flags);
		i = flush_lost(dir, i, n);
		spin_unlock_irqrestore(&dir->lock, flags);
	}
	do {
		spin_lock_irqsave(&dir->lock, flags);
		more = flush_held(dir);
		spin_unlock_irqrestore(&dir->lock, flags);
	} while (more);
}

/**
 * kdapl_ep_flush_rest - complete what no queue will ever complete
 * @ep: its queue has drained, was destroyed, or never was; no post is held any
 *	more
 * @lost: the device did not flush; what it still owes is completed here
 */
void kdapl_ep_flush_rest(struct kdapl_ep *ep, bool lost)
{
	if (lost)
		settle_binds(&ep->req);
	flush_dir(&ep->req, lost);
	flush_dir(&ep->recv, lost);
}

/* ---- attributes ------------------------------------------------------------- */

#define DEFAULT_DTOS	16
#define DEFAULT_IOV	4

static void default_attr(const struct kdapl_device *dev, DAT_EP_ATTR *attr)
{
	*attr = (DAT_EP_ATTR) {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = dev->max_msg_sz,
		.max_rdma_size = dev->max_msg_sz,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = DEFAULT_DTOS,
		.max_request_dtos = DEFAULT_DTOS,
		.max_recv_iov = DEFAULT_IOV,
		.max_request_iov = DEFAULT_IOV,
		.max_rdma_read_iov = DEFAULT_IOV,
		.max_rdma_write_iov = DEFAULT_IOV,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
}

static bool count_ok(DAT_COUNT value, u32 limit)
{
	return value >= 0 && value <= limit;
}

/* E18.  The EVD that stands in for none takes binds, too. */
static bool evd_takes_binds(const struct kdapl_evd *request_evd)
{
	return !request_evd || request_evd->flags & DAT_EVD_RMR_BIND_FLAG;
}

/* Requests and binds; a bind takes two work requests (A6). */
static u32 request_wrs(const DAT_EP_ATTR *attr, const struct kdapl_evd *evd)
{
	return attr->max_request_dtos * (evd_takes_binds(evd) ? 2 : 1);
}

/**
 * kdapl_ep_max_dtos - the most that each direction of an endpoint can have
 * @dev: device
 *
 * The IA attribute max_dto_per_ep.  Half a queue: every request may be a bind.
 */
u32 kdapl_ep_max_dtos(const struct kdapl_device *dev)
{
	return min_t(u32, dev->attrs.max_qp_wr, INT_MAX / 2) / 2;
}

/* Within the IA's limits, and with what 0 means filled in. */
static bool attr_check(const struct kdapl_device *dev, DAT_EP_ATTR *attr)
{
	const struct ib_device_attr *a = &dev->attrs;
	u32 send_sge = min_t(u32, a->max_send_sge, KDAPL_MAX_SGE);
	u32 recv_sge = min_t(u32, a->max_recv_sge, KDAPL_MAX_SGE);
	u32 read_sge = min_t(u32, a->max_sge_rd ?: send_sge, send_sge);
	u32 dtos = kdapl_ep_max_dtos(dev);

	if (attr->service_type != DAT_SERVICE_TYPE_RC ||
	    attr->max_message_size > dev->max_msg_sz ||
	    attr->max_rdma_size > dev->max_msg_sz ||
	    !count_ok(attr->max_recv_dtos, dtos) ||
	    !count_ok(attr->max_request_dtos, dtos) ||
	    !count_ok(attr->max_recv_iov, recv_sge) ||
	    !count_ok(attr->max_request_iov, send_sge) ||
	    !count_ok(attr->max_rdma_read_iov, read_sge) ||
	    !count_ok(attr->max_rdma_write_iov, send_sge) ||
	    !count_ok(attr->max_rdma_read_in, a->max_qp_rd_atom) ||
	    !count_ok(attr->max_rdma_read_out, a->max_qp_init_rd_atom))
		return false;

	switch (attr->recv_completion_flags) {
	case DAT_COMPLETION_DEFAULT_FLAG:
		attr->recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
		break;
	case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
	case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
		break;
	default:
		return false;
	}
	switch (attr->request_completion_flags) {
	case DAT_COMPLETION_DEFAULT_FLAG:
		attr->request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
		break;
	case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
		break;
	default:
		return false;
	}
	/* At least what was asked is granted (E.1); no limit asked: the IA's. */
	attr->max_message_size = attr->max_message_size ?: dev->max_msg_sz;
	attr->max_rdma_size = attr->max_rdma_size ?: dev->max_msg_sz;
	attr->max_rdma_read_iov = attr->max_rdma_read_iov ?: attr->max_request_iov;
	attr->max_rdma_write_iov = attr->max_rdma_write_iov ?: attr->max_request_iov;
	/* Named attributes: none is known; the caller's pointers are not kept. */
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
	return true;
}

/* ---- directions --------------------------------------------------------------- */

/*
 * A ring stays until the endpoint goes, although a modify may replace it:
 * events that nobody dequeued yet are in its cookies.
 */
struct kdapl_ring {
	struct kdapl_ring *former;
	u32 size;
	struct ib_sge *sge;
	u8 *nr_sge;
	struct kdapl_cookie cookies[];
};

static struct kdapl_ring *ring_alloc(struct kdapl_dir *dir, u32 size,
				     u32 max_sge, gfp_t gfp)
{
	struct kdapl_ring *ring;
	u32 i;

	ring = kvzalloc(struct_size(ring, cookies, size), gfp);
	if (!ring)
		return NULL;
	if ((dir->is_recv || max_sge) && size) {
		ring->sge = kvcalloc(size, max_t(size_t, max_sge, 1) * sizeof(*ring->sge), gfp);
		ring->nr_sge = kvcalloc(size, sizeof(*ring->nr_sge), gfp);
		if (!ring->sge || !ring->nr_sge) {
			kvfree(ring->nr_sge);
			kvfree(ring->sge);
			kvfree(ring);
			return NULL;
		}
	}
	ring->size = size;
	for (i = 0; i < size; i++) {
		ring->cookies[i].dir = dir;
		ring->cookies[i].node.is_cookie = true;
	}
	return ring;
}

static void rings_free(struct kdapl_ring *ring)
{
	while (ring) {
		struct kdapl_ring *former = ring->former;

		kvfree(ring->nr_sge);
		kvfree(ring->sge);
		kvfree(ring);
		ring = former;
	}
}

/*
 * Are there events in the rings before the present one that nobody dequeued?
 * Then it cannot be replaced now: two rings are enough for one endpoint.
 */
static bool ring_pinned(const struct kdapl_dir *dir)
{
	const struct kdapl_ring *ring = dir->rings ? dir->rings->former : NULL;
	u32 i;

	for (i = 0; ring && i < ring->size; i++) {
		/* Pairs with cookie_release(): nobody reads a free one. */
		if (smp_load_acquire(&ring->cookies[i].busy))
			return true;
	}
	return false;
}

/*
 * Held receives move along; the caller made sure that they fit.  What the ring
 * before the present one was is for the caller to free.
 */
static struct kdapl_ring *ring_install(struct kdapl_dir *dir,
				       struct kdapl_ring *ring, u32 max_sge)
{
	struct kdapl_ring *unused = NULL;
	u32 size = ring->size;
	u32 i, n;

	for (n = 0; n < dir->held; n++) {
		i = (dir->held_first + n) % dir->size;
		ring->cookies[n].user = dir->ring[i].user;
		ring->cookies[n].length = dir->ring[i].length;
		ring->cookies[n].flags = dir->ring[i].flags;
		ring->cookies[n].busy = true;
		ring->nr_sge[n] = dir->nr_sge[i];
		memcpy(&ring->sge[n * max_sge], &dir->sge[i * dir->max_sge],
		       dir->nr_sge[i] * sizeof(*dir->sge));
		dir->ring[i].busy = false;
	}
	if (dir->rings)
		swap(unused, dir->rings->former);
	ring->former = dir->rings;
	dir->rings = ring;
	dir->ring = ring->cookies;
	dir->sge = ring->sge;
	dir->nr_sge = ring->nr_sge;
	dir->size = size;
	dir->max_sge = max_sge;
	dir->held_first = 0;
	dir->next = size ? dir->held % size : 0;
	return unused;
}

static void dir_init(struct kdapl_dir *dir, struct kdapl_ep *ep, bool is_recv)
{
	spin_lock_init(&dir->lock);
	INIT_LIST_HEAD(&dir->late);
	dir->ep = ep;
	dir->is_recv = is_recv;
}

/* ---- what an endpoint uses ---------------------------------------------------- */

/*
 * The objects of an endpoint, each with a use and a reference: taken as a whole
 * before anything changes, given back as a whole.  @hidden stands in for an EVD
 * that the consumer did not give; @attached has USE_* for what is attached, by
 * @..._flags and @..._entries.  @lent: @hidden belongs to another ep_use.
 */
struct ep_use {
	struct kdapl_pz *pz;
	struct kdapl_evd *recv_evd;
	struct kdapl_evd *request_evd;
	struct kdapl_evd *connect_evd;
	struct kdapl_evd *hidden;
	bool lent;
	u32 recv_flags;
	u32 recv_entries;
	u32 request_flags;
	u32 request_entries;
	u8 attached;
};

#define USE_PZ		0x1
#define USE_RECV	0x2
#define USE_REQUEST	0x4
#define USE_CONNECT	0x8

static struct kdapl_evd *recv_target(const struct ep_use *use)
{
	return use->recv_evd ?: use->hidden;
}

static struct kdapl_evd *request_target(const struct ep_use *use)
{
	return use->request_evd ?: use->hidden;
}

static void use_put(struct ep_use *use)
{
	if (use->attached & USE_CONNECT)
		kdapl_evd_detach(use->connect_evd, KDAPL_STREAM_OTHER, 0, 0);
	if (use->attached & USE_REQUEST)
		kdapl_evd_detach(request_target(use), KDAPL_STREAM_REQUEST,
				 use->request_flags, use->request_entries);
	if (use->attached & USE_RECV)
		kdapl_evd_detach(recv_target(use), KDAPL_STREAM_RECV,
				 use->recv_flags, use->recv_entries);
	if (use->attached & USE_PZ)
		kdapl_object_unuse(&use->pz->obj);
	if (!use->lent)
		kdapl_evd_free_hidden(use->hidden);
	if (use->connect_evd)
		kdapl_evd_put(use->connect_evd);
	if (use->request_evd)
		kdapl_evd_put(use->request_evd);
	if (use->recv_evd)
		kdapl_evd_put(use->recv_evd);
	if (use->pz)
		kdapl_object_put(&use->pz->obj);
	memset(use, 0, sizeof(*use));
}

static bool find_evd(struct kdapl_ia *ia, DAT_EVD_HANDLE handle, u32 flag,
		     struct kdapl_evd **evd)
{
	*evd = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	*evd = kdapl_evd_find(ia->obj.space, handle);
	return *evd && (*evd)->obj.ia == ia && (*evd)->flags & flag;
}

/* The handles of an EP in parameter order (E.1, E17, E19). */
static DAT_RETURN use_find(struct ep_use *use, struct kdapl_ia *ia,
			   DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd,
			   DAT_EVD_HANDLE connect_evd)
{
	memset(use, 0, sizeof(*use));
	if (pz != DAT_HANDLE_NULL) {
		use->pz = kdapl_pz_find(ia->obj.space, pz);
		if (!use->pz || use->pz->obj.ia != ia)
			return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	}
	if (!find_evd(ia, recv_evd, DAT_EVD_DTO_FLAG, &use->recv_evd))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	if (!find_evd(ia, request_evd, DAT_EVD_DTO_FLAG, &use->request_evd))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!find_evd(ia, connect_evd, DAT_EVD_CONNECTION_FLAG, &use->connect_evd))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	return DAT_SUCCESS;
}

static DAT_RETURN attach_error(int err, enum dat_return_subtype handle,
			       enum dat_return_subtype attr)
{
	switch (err) {
	case -ESTALE:
		return DAT_ERROR(DAT_INVALID_HANDLE, handle);
	case -EINVAL:
		return bad_arg(attr);
	case -ENOSPC:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	default:
		return no_memory();
	}
}

/* The streams of @use on @evd. */
static struct kdapl_streams use_streams(const struct ep_use *use,
					const struct kdapl_evd *evd)
{
	struct kdapl_streams s = {};

	if (use->attached & USE_RECV && recv_target(use) == evd)
		kdapl_streams_add(&s, KDAPL_STREAM_RECV, use->recv_flags,
				  use->recv_entries);
	if (use->attached & USE_REQUEST && request_target(use) == evd)
		kdapl_streams_add(&s, KDAPL_STREAM_REQUEST, use->request_flags,
				  use->request_entries);
	if (use->attached & USE_CONNECT && use->connect_evd == evd)
		kdapl_streams_add(&s, KDAPL_STREAM_OTHER, 0, 0);
	return s;
}

/* One of the streams of a use that replaces @old. */
static int attach_stream(struct kdapl_evd *evd, enum kdapl_stream stream,
			 u32 flags, u32 entries, const struct ep_use *old)
{
	struct kdapl_streams own = use_streams(old, evd);

	return kdapl_evd_attach(evd, stream, flags, entries, &own);
}

/*
 * @old is what the endpoint uses now, empty for a new one; it stays attached
 * and can be kept, but what takes its place is judged as if it were gone (E21).
 * @attr_arg: position of the attributes in the call.
 */
static DAT_RETURN use_attach(struct ep_use *use, const struct ep_use *old,
			     struct kdapl_ia *ia, const DAT_EP_ATTR *attr,
			     enum dat_return_subtype attr_arg)
{
	int err;

	if (!use->recv_evd || !use->request_evd) {
		use->hidden = old->hidden ?: kdapl_evd_create_hidden(ia);
		if (!use->hidden)
			return no_memory();
	}
	if (use->pz) {
		if (!kdapl_object_use(&use->pz->obj))
			return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		use->attached |= USE_PZ;
	}
	use->recv_flags = use->recv_evd ? attr->recv_completion_flags : 0;
	use->recv_entries = attr->max_recv_dtos;
	err = attach_stream(recv_target(use), KDAPL_STREAM_RECV, use->recv_flags,
			    use->recv_entries, old);
	if (err)
		return attach_error(err, DAT_INVALID_HANDLE_EVD_RECV, attr_arg);
	use->attached |= USE_RECV;

	use->request_flags = use->request_evd ? attr->request_completion_flags : 0;
	use->request_entries = request_wrs(attr, use->request_evd);
	err = attach_stream(request_target(use), KDAPL_STREAM_REQUEST,
			    use->request_flags, use->request_entries, old);
	if (err)
		return attach_error(err, DAT_INVALID_HANDLE_EVD_REQUEST, attr_arg);
	use->attached |= USE_REQUEST;

	if (use->connect_evd) {
		err = attach_stream(use->connect_evd, KDAPL_STREAM_OTHER, 0, 0, old);
		if (err)
			return attach_error(err, DAT_INVALID_HANDLE_EVD_CONN, attr_arg);
		use->attached |= USE_CONNECT;
	}
	return DAT_SUCCESS;
}

/* @use is @ep's from here on; what it had before comes back in @use. */
static void use_install(struct kdapl_ep *ep, struct ep_use *use)
{
	swap(*ep->use, *use);
	WRITE_ONCE(ep->pz, ep->use->pz);
	WRITE_ONCE(ep->connect_evd, ep->use->connect_evd);
	ep->recv.evd = recv_target(ep->use);
	ep->req.evd = request_target(ep->use);
	WRITE_ONCE(ep->req.binds, evd_takes_binds(ep->use->request_evd));
}

/**
 * kdapl_ep_request_wrs - work requests that the send queue has to hold
 * @ep: nobody modifies it meanwhile
 */
u32 kdapl_ep_request_wrs(const struct kdapl_ep *ep)
{
	return ep->use->request_entries;
}

/* ---- life --------------------------------------------------------------------- */

static void ep_release(struct kdapl_object *obj)
{
	struct kdapl_ep *ep = kdapl_ep_of(obj);

	rings_free(ep->req.rings);
	rings_free(ep->recv.rings);
	kfree(ep->use);
	kfree(ep);
}

static struct kdapl_ep *ep_alloc(struct kdapl_ia *ia, enum kdapl_ep_state state)
{
	gfp_t gfp = kdapl_gfp(ia->obj.space);
	struct kdapl_ep *ep;

	ep = kzalloc(sizeof(*ep), gfp);
	if (!ep)
		return NULL;
	ep->use = kzalloc(sizeof(*ep->use), gfp);
	if (!ep->use || kdapl_object_init(&ep->obj, KDAPL_EP, ia->obj.space, ia,
					  ep_release)) {
		kfree(ep->use);
		kfree(ep);
		return NULL;
	}
	spin_lock_init(&ep->lock);
	mutex_init(&ep->modify_lock);
	dir_init(&ep->req, ep, false);
	dir_init(&ep->recv, ep, true);
	ep->state = state;
	spin_lock_irq(&ep->lock);
	lock_dirs(ep);
	set_gate(ep, &ep->req, KDAPL_EP_OP_POST_REQUEST);
	set_gate(ep, &ep->recv, KDAPL_EP_OP_POST_RECV);
	unlock_dirs(ep);
	spin_unlock_irq(&ep->lock);
	return ep;
}

/* Segments per request to be kept, for kdapl_ep_key_gone(). */
static u32 noted_sge(const struct kdapl_ep *ep, const DAT_EP_ATTR *attr)
{
	if (!ep->obj.ia->dev->mute_faults)
		return 0;
	return max3(attr->max_request_iov, attr->max_rdma_read_iov,
		    attr->max_rdma_write_iov);
}

/* Rings as @attr asks, where they change; DAT_SUCCESS or no memory. */
static DAT_RETURN rings_for(struct kdapl_ep *ep, const DAT_EP_ATTR *attr,
			    struct kdapl_ring **req, struct kdapl_ring **recv)
{
	gfp_t gfp = kdapl_gfp(ep->obj.space);
	u32 req_sge = noted_sge(ep, attr);

	*req = NULL;
	*recv = NULL;
	if (!ep->req.rings || attr->max_request_dtos != ep->req.size ||
	    req_sge != ep->req.max_sge) {
		*req = ring_alloc(&ep->req, attr->max_request_dtos, req_sge, gfp);
		if (!*req)
			return no_memory();
	}
	if (!ep->recv.rings || attr->max_recv_dtos != ep->recv.size ||
	    attr->max_recv_iov != ep->recv.max_sge) {
		*recv = ring_alloc(&ep->recv, attr->max_recv_dtos,
				   attr->max_recv_iov, gfp);
		if (!*recv) {
			rings_free(*req);
			*req = NULL;
			return no_memory();
		}
	}
	return DAT_SUCCESS;
}

/* *@req and *@recv become what is to be freed. */
static void configure(struct kdapl_ep *ep, struct ep_use *use,
		      const DAT_EP_ATTR *attr, struct kdapl_ring **req,
		      struct kdapl_ring **recv)
{
	use_install(ep, use);
	if (*req)
		*req = ring_install(&ep->req, *req, noted_sge(ep, attr));
	if (*recv)
		*recv = ring_install(&ep->recv, *recv, attr->max_recv_iov);
	ep->attr = *attr;
}

/* An unpublished endpoint with its objects attached. */
static DAT_RETURN ep_build(struct kdapl_ia *ia, struct ep_use *use,
			   const DAT_EP_ATTR *attr, enum kdapl_ep_state state,
			   struct kdapl_ep **out)
{
	struct kdapl_ring *req, *recv;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	ep = ep_alloc(ia, state);
	if (!ep)
		return no_memory();
	ret = use_attach(use, ep->use, ia, attr, DAT_INVALID_ARG6);
	if (!ret)
		ret = rings_for(ep, attr, &req, &recv);
	if (ret) {
		kdapl_object_abort(&ep->obj);
		return ret;
	}
	configure(ep, use, attr, &req, &recv);
	*out = ep;
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_create_tentative - the provider's own endpoint for a request (P9)
 * @ia: of the service point
 *
 * PZ and EVDs are null until the consumer sets them.  May sleep; the handler
 * mutex of the request's id may be held.
 *
 * Return: published in TENTATIVE, with a reference for the caller; or NULL.
 */
struct kdapl_ep *kdapl_ep_create_tentative(struct kdapl_ia *ia)
{
	struct kdapl_ep *ep = NULL;
	struct ep_use use = {};
	DAT_EP_ATTR attr;

	default_attr(ia->dev, &attr);
	if (ep_build(ia, &use, &attr, KDAPL_EP_TENTATIVE, &ep)) {
		use_put(&use);
		return NULL;
	}
	kdapl_object_get(&ep->obj);
	kdapl_object_publish(&ep->obj);
	return ep;
}

/*
 * A process looks for its events in rings, which the runners fill: what was
 * raised is there before a call that ends something returns (R6, F8).
 */
static void settle(struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->modify_lock);
	/* Freed by another thread since: its EVDs may be gone. */
	if (!ep->obj.space->user || !ep->use->attached)
		return;
	kdapl_evd_settle(ep->req.evd);
	kdapl_evd_settle(ep->recv.evd);
	if (ep->connect_evd)
		kdapl_evd_settle(ep->connect_evd);
}

/**
 * kdapl_ep_finish - destroy an endpoint whose state is GONE
 * @ep: the caller has a reference
 *
 * On return no device and no callback touches the endpoint (F12), its handle is
 * dead, its uses are given back (F10, F11).  May sleep; drives the drain itself
 * (A10).
 */
void kdapl_ep_finish(struct kdapl_ep *ep)
{
	struct kdapl_conn *conn = ep->conn;

	if (conn) {
		kdapl_conn_finish(conn);
		spin_lock_irq(&ep->lock);
		ep->conn = NULL;
		spin_unlock_irq(&ep->lock);
		kdapl_conn_put(conn);
	} else {
		kdapl_ep_flush_rest(ep, false);
	}
	/* What came while the old life was flushed; nothing more does. */
	flush_late(&ep->req);
	flush_late(&ep->recv);
	mutex_lock(&ep->modify_lock);
	settle(ep);
	use_put(ep->use);
	WRITE_ONCE(ep->pz, NULL);
	WRITE_ONCE(ep->connect_evd, NULL);
	mutex_unlock(&ep->modify_lock);
	/* ORDER: the removal of the device finds it until that is done. */
	kdapl_object_retire(&ep->obj);
}

static bool names_key(const struct kdapl_dir *dir, u32 i, u32 lkey)
{
	const struct ib_sge *sge = &dir->sge[i * dir->max_sge];
	u32 n;

	for (n = 0; n < dir->nr_sge[i]; n++)
		if (sge[n].lkey == lkey)
			return true;
	return false;
}

/* Does a request that is not the oldest one name @lkey?  No new post does. */
static bool waits_with_key(struct kdapl_dir *dir, u32 lkey)
{
	bool behind = false, found = false;
	u32 i = READ_ONCE(dir->next), left;

	/* In posting order; the ring is used round, @next is the oldest. */
	for (left = dir->size; left && !found; left--, i = (i + 1) % dir->size) {
		if (!READ_ONCE(dir->ring[i].on_queue))
			continue;
		/* Who posts fills the slot under the lock. */
		spin_lock_irq(&dir->lock);
		found = behind && READ_ONCE(dir->ring[i].on_queue) &&
			names_key(dir, i, lkey);
		spin_unlock_irq(&dir->lock);
		behind = true;
	}
	return found;
}

/* The connection of such a request, with a reference; NULL: there is none. */
static struct kdapl_conn *conn_with_key(struct kdapl_ep *ep, u32 lkey)
{
	struct kdapl_conn *conn;
	bool waits = false;

	mutex_lock(&ep->modify_lock);
	spin_lock_irq(&ep->lock);
	conn = ep->conn;
	if (conn)
		kdapl_conn_get(conn);
	spin_unlock_irq(&ep->lock);
	if (conn && ep->req.sge) {
		/* What the device has completed waits no more. */
		kdapl_evd_pull(ep->req.evd);
		waits = waits_with_key(&ep->req, lkey);
	}
	mutex_unlock(&ep->modify_lock);
	if (conn && !waits) {
		kdapl_conn_put(conn);
		conn = NULL;
	}
	return conn;
}

/**
 * kdapl_ep_key_gone - requests whose memory is gone stop no endpoint for ever
 * @ep: of the LMR's IA; its device has mute_faults
 * @lkey: of an LMR that was freed; the device does not know it any more
 * @until: jiffies; how long they may take to end by themselves
 *
 * Soft-RoCE ends a queue at such a request.  If one before it has to be repeated,
 * that is never done, and neither completes: a graceful disconnect would not end.
 * The connection breaks here instead, as it would there (mt:M23).  The oldest
 * request alone fails by itself, with a completion that says why.  Sleeps.
 */
void kdapl_ep_key_gone(struct kdapl_ep *ep, u32 lkey, unsigned long until)
{
	struct kdapl_conn *conn;

	while ((conn = conn_with_key(ep, lkey)) && time_before(jiffies, until)) {
		kdapl_conn_put(conn);
		usleep_range(1000, 2000);
	}
	if (conn) {
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_BROKEN);
		kdapl_conn_put(conn);
	}
}

/**
 * kdapl_ep_release_verbs - the device of an endpoint goes
 * @obj: the endpoint
 *
 * A connection breaks (E71); its queue and CM id are gone on return.  May sleep.
 */
void kdapl_ep_release_verbs(struct kdapl_object *obj)
{
	struct kdapl_ep *ep = kdapl_ep_of(obj);
	struct kdapl_conn *conn;

	kdapl_ep_input(ep, NULL, KDAPL_EP_IN_BROKEN);
	spin_lock_irq(&ep->lock);
	conn = ep->conn;
	if (conn)
		kdapl_conn_get(conn);
	spin_unlock_irq(&ep->lock);
	if (conn) {
		kdapl_conn_finish(conn);
		kdapl_conn_destroy_id(conn);
		kdapl_conn_put(conn);
	}
	/* It has no handle, so nobody else finds it. */
	mutex_lock(&ep->modify_lock);
	if (ep->use->hidden)
		kdapl_evd_release_verbs(&ep->use->hidden->obj);
	mutex_unlock(&ep->modify_lock);
}

/**
 * kdapl_ep_teardown - the IA of an endpoint goes (I15, I19)
 * @obj: the endpoint, in any state
 */
void kdapl_ep_teardown(struct kdapl_object *obj)
{
	struct kdapl_ep *ep = kdapl_ep_of(obj);

	kdapl_object_get(obj);
	kdapl_ep_input(ep, NULL, KDAPL_EP_IN_TEARDOWN);
	kdapl_ep_finish(ep);
	kdapl_object_put(obj);
}

/* ---- operations --------------------------------------------------------------- */

/**
 * kdapl_ep_find - look an endpoint up
 * @space: in which the handle is valid
 * @ep: any value
 *
 * Any context.  Return: with a reference, or NULL.
 */
struct kdapl_ep *kdapl_ep_find(struct kdapl_space *space, DAT_EP_HANDLE ep)
{
	struct kdapl_object *obj = kdapl_object_find(space, ep, KDAPL_EP);

	return obj ? kdapl_ep_of(obj) : NULL;
}

/**
 * kdapl_ep_create - dat_ep_create
 * @space: of the caller
 * @ia: handle of an open IA
 * @pz: null or a PZ of @ia
 * @recv_evd: null or an EVD of @ia with DAT_EVD_DTO_FLAG
 * @request_evd: the same
 * @connect_evd: null or an EVD of @ia with DAT_EVD_CONNECTION_FLAG
 * @attr: null for defaults
 * @handle: out
 *
 * May sleep.  Rules T1, E17..E22, E.1 of endpoints.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /PZ, /EVD_RECV, /EVD_REQUEST,
 * /EVD_CONN; DAT_INVALID_PARAMETER/ARG6 for attributes outside the limits or
 * flags that do not agree (E21), /ARG7 for a null @handle;
 * DAT_MODEL_NOT_SUPPORTED for a qos; DAT_INSUFFICIENT_RESOURCES/MEMORY, /TEVD;
 * DAT_INVALID_STATE when the device is gone.
 */
DAT_RETURN kdapl_ep_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			   DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd,
			   DAT_EVD_HANDLE connect_evd,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	struct kdapl_ia *adapter = kdapl_ia_find(space, ia);
	struct ep_use use;
	DAT_EP_ATTR granted;
	struct kdapl_ep *ep;
	DAT_RETURN ret;
	int idx;

	if (!adapter)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = use_find(&use, adapter, pz, recv_evd, request_evd, connect_evd);
	if (ret)
		goto out;

	default_attr(adapter->dev, &granted);
	if (attr)
		granted = *attr;
	ret = bad_arg(DAT_INVALID_ARG6);
	if (!attr_check(adapter->dev, &granted))
		goto out;
	ret = bad_arg(DAT_INVALID_ARG7);
	if (!handle)
		goto out;
	ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (granted.qos != DAT_QOS_BEST_EFFORT)
		goto out;

	ret = kdapl_ia_enter(adapter, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_IA);
		goto out;
	}
	ret = ep_build(adapter, &use, &granted, KDAPL_EP_UNCONNECTED, &ep);
	if (!ret) {
		*handle = kdapl_handle(&ep->obj);
		kdapl_object_publish(&ep->obj);
	}
	/* A hidden EVD may have a CQ: inside the section. */
	use_put(&use);
	kdapl_ia_leave(adapter, idx);
out:
	use_put(&use);
	kdapl_object_put(&adapter->obj);
	return ret;
}

/**
 * kdapl_ep_query - dat_ep_query
 * @space: of the caller
 * @handle: handle of an EP
 * @mask: DAT_EP_FIELD_*
 * @param: out, filled whole; its pointers are good as long as the EP
 *
 * Any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for
 * unknown bits of @mask, /ARG3 for a null @param.
 */
DAT_RETURN kdapl_ep_query(struct kdapl_space *space, DAT_EP_HANDLE handle,
			  DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	unsigned long flags;
	DAT_RETURN ret;

	if (!ep)
		return IH_EP;
	ret = bad_arg(DAT_INVALID_ARG2);
	if (mask & ~DAT_EP_FIELD_ALL)
		goto out;
	ret = bad_arg(DAT_INVALID_ARG3);
	if (!param)
		goto out;

	spin_lock_irqsave(&ep->lock, flags);
	/* What one that is gone has used may be gone, too. */
	ret = IH_EP;
	if (ep->state == KDAPL_EP_GONE)
		goto unlock;
	*param = (DAT_EP_PARAM) {
		.ia_handle = kdapl_handle(&ep->obj.ia->obj),
		.ep_state = kdapl_ep_fsm_dat_state(ep->state),
		.local_ia_address_ptr = kdapl_address(&ep->obj.ia->addr),
		.local_port_qual = ep->local_qual,
		.remote_ia_address_ptr = kdapl_address(&ep->remote),
		.remote_port_qual = ep->remote_qual,
		.pz_handle = kdapl_handle_or_null(ep->use->pz),
		.recv_evd_handle = kdapl_handle_or_null(ep->use->recv_evd),
		.request_evd_handle = kdapl_handle_or_null(ep->use->request_evd),
		.connect_evd_handle = kdapl_handle_or_null(ep->use->connect_evd),
		.srq_handle = DAT_HANDLE_NULL,
		.ep_attr = ep->attr,
	};
	ret = DAT_SUCCESS;
unlock:
	spin_unlock_irqrestore(&ep->lock, flags);
out:
	kdapl_object_put(&ep->obj);
	return ret;
}

#define MODIFY_NEVER	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | \
			 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | \
			 DAT_EP_FIELD_LOCAL_PORT_QUAL | \
			 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
			 DAT_EP_FIELD_REMOTE_PORT_QUAL | \
			 DAT_EP_FIELD_SRQ_HANDLE | \
			 DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)
#define MODIFY_SPECIFIC	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
#define MODIFY_COMMON	(DAT_EP_FIELD_ALL & ~(MODIFY_NEVER | MODIFY_SPECIFIC | \
					      DAT_EP_FIELD_PZ_HANDLE))

/*
 * The state must allow each group that @mask names (M4).  With none it is still no
 * endpoint that has given everything back.
 */
static DAT_RETURN modify_allowed(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask)
{
	DAT_RETURN ret = READ_ONCE(ep->state) == KDAPL_EP_GONE ? IH_EP :
								 DAT_SUCCESS;

	if (!ret && mask & DAT_EP_FIELD_PZ_HANDLE)
		ret = peek(ep, KDAPL_EP_OP_MODIFY_PZ);
	if (!ret && mask & MODIFY_COMMON)
		ret = peek(ep, KDAPL_EP_OP_MODIFY_COMMON);
	if (!ret && mask & MODIFY_SPECIFIC)
		ret = peek(ep, KDAPL_EP_OP_MODIFY_SPECIFIC);
	return ret;
}

static void modify_attr(DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *from,
			DAT_EP_ATTR *to)
{
	if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE)
		to->service_type = from->service_type;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		to->max_message_size = from->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
		to->max_rdma_size = from->max_rdma_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_QOS)
		to->qos = from->qos;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)
		to->recv_completion_flags = from->recv_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
		to->request_completion_flags = from->request_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		to->max_recv_dtos = from->max_recv_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
		to->max_request_dtos = from->max_request_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV)
		to->max_recv_iov = from->max_recv_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
		to->max_request_iov = from->max_request_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN)
		to->max_rdma_read_in = from->max_rdma_read_in;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)
		to->max_rdma_read_out = from->max_rdma_read_out;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV)
		to->max_rdma_read_iov = from->max_rdma_read_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV)
		to->max_rdma_write_iov = from->max_rdma_write_iov;
}

/* All or nothing; the state, and that held receives fit, is judged last. */
static DAT_RETURN modify_install(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
				 struct ep_use *use, const DAT_EP_ATTR *attr,
				 struct kdapl_ring **req, struct kdapl_ring **recv)
{
	u32 held_sge = 0, i;
	DAT_RETURN ret;

	spin_lock_irq(&ep->lock);
	lock_dirs(ep);
	ret = modify_allowed(ep, mask);
	if (ret)
		goto out;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS && ep->recv.held) {
		ret = kdapl_ep_fsm_refusal(ep->state);
		goto out;
	}
	for (i = 0; i < ep->recv.held; i++) {
		u32 at = (ep->recv.held_first + i) % ep->recv.size;

		held_sge = max_t(u32, held_sge, ep->recv.nr_sge[at]);
	}
	ret = bad_arg(DAT_INVALID_ARG3);
	if (attr->max_recv_dtos < ep->recv.held || attr->max_recv_iov < held_sge)
		goto out;
	ret = no_memory();
	if ((*req && ring_pinned(&ep->req)) || (*recv && ring_pinned(&ep->recv)))
		goto out;
	configure(ep, use, attr, req, recv);
	ret = DAT_SUCCESS;
out:
	unlock_dirs(ep);
	spin_unlock_irq(&ep->lock);
	return ret;
}

static DAT_RETURN ep_modify(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
			    const DAT_EP_PARAM *param)
{
	struct kdapl_ring *req, *recv;
	struct kdapl_ia *ia = ep->obj.ia;
	struct ep_use *old = ep->use, use;
	DAT_EP_ATTR attr = ep->attr;
	DAT_RETURN ret;

	/* A handle inside the structure is part of argument 3 (RULING 36). */
	ret = use_find(&use, ia,
		       mask & DAT_EP_FIELD_PZ_HANDLE ? param->pz_handle :
				kdapl_handle_or_null(old->pz),
		       mask & DAT_EP_FIELD_RECV_EVD_HANDLE ? param->recv_evd_handle :
				kdapl_handle_or_null(old->recv_evd),
		       mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE ? param->request_evd_handle :
				kdapl_handle_or_null(old->request_evd),
		       mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE ? param->connect_evd_handle :
				kdapl_handle_or_null(old->connect_evd));
	modify_attr(mask, &param->ep_attr, &attr);
	if (ret || !attr_check(ia->dev, &attr) || attr.qos != DAT_QOS_BEST_EFFORT) {
		ret = bad_arg(DAT_INVALID_ARG3);
		goto out;
	}
	ret = modify_allowed(ep, mask);
	if (ret)
		goto out;
	ret = use_attach(&use, old, ia, &attr, DAT_INVALID_ARG3);
	/* One of them was freed meanwhile: as if it had been before. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		ret = bad_arg(DAT_INVALID_ARG3);
	if (ret)
		goto out;
	ret = rings_for(ep, &attr, &req, &recv);
	if (ret)
		goto out;
	ret = modify_install(ep, mask, &use, &attr, &req, &recv);
	rings_free(req);
	rings_free(recv);
out:
	/* Whichever of the two goes now, the other keeps it. */
	use.lent = use.hidden == ep->use->hidden;
	use_put(&use);
	return ret;
}

/**
 * kdapl_ep_modify - dat_ep_modify
 * @space: of the caller
 * @handle: handle of an EP
 * @mask: DAT_EP_FIELD_* to change
 * @param: the new values
 *
 * All or nothing.  May sleep.  Rules M4, E.4 of endpoints.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for a
 * bit that is unknown or never modifiable, /ARG3 for a null @param, a bad value
 * or a bad handle in it; DAT_INVALID_STATE with the EP's state;
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdapl_ep_modify(struct kdapl_space *space, DAT_EP_HANDLE handle,
			   DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	DAT_RETURN ret;
	int idx;

	if (!ep)
		return IH_EP;
	ret = bad_arg(DAT_INVALID_ARG2);
	if (mask & ~DAT_EP_FIELD_ALL || mask & MODIFY_NEVER)
		goto out;
	ret = bad_arg(DAT_INVALID_ARG3);
	if (!param)
		goto out;
	ret = kdapl_ia_enter(ep->obj.ia, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_EP);
		goto out;
	}
	mutex_lock(&ep->modify_lock);
	ret = ep_modify(ep, mask, param);
	mutex_unlock(&ep->modify_lock);
	kdapl_ia_leave(ep->obj.ia, idx);
out:
	kdapl_object_put(&ep->obj);
	return ret;
}

/* Nothing outstanding or in progress (RULING 44); completions may be queued. */
static bool dir_idle(const struct kdapl_dir *dir)
{
	return !dir->held && list_empty(&dir->late) &&
	       READ_ONCE(dir->completed) == dir->posted;
}

/**
 * kdapl_ep_get_status - dat_ep_get_status
 * @space: of the caller
 * @handle: handle of an EP
 * @state: out, may be null
 * @recv_idle: out, may be null
 * @request_idle: out, may be null
 *
 * Any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP.
 */
DAT_RETURN kdapl_ep_get_status(struct kdapl_space *space, DAT_EP_HANDLE handle,
			       DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	bool recv, request;
	unsigned long flags;
	u8 s;

	if (!ep)
		return IH_EP;
	spin_lock_irqsave(&ep->lock, flags);
	lock_dirs(ep);
	s = ep->state;
	recv = dir_idle(&ep->recv);
	request = dir_idle(&ep->req);
	unlock_dirs(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_object_put(&ep->obj);

	if (s == KDAPL_EP_GONE)
		return IH_EP;
	if (state)
		*state = kdapl_ep_fsm_dat_state(s);
	if (recv_idle)
		*recv_idle = recv ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = request ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

/* RULING 37: only what the bytes show. */
static DAT_RETURN check_address(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)sa;
	__be32 ip = sin->sin_addr.s_addr;

	if (sa->sa_family == AF_INET) {
		if (ipv4_is_multicast(ip) || ipv4_is_lbcast(ip))
			return DAT_ERROR(DAT_INVALID_ADDRESS,
					 DAT_INVALID_ADDRESS_UNSUPPORTED);
		if (!ipv4_is_zeronet(ip) && (ntohl(ip) >> 28) != 0xf)
			return DAT_SUCCESS;
	} else if (sa->sa_family == AF_INET6) {
		if (ipv6_addr_is_multicast(&sin6->sin6_addr))
			return DAT_ERROR(DAT_INVALID_ADDRESS,
					 DAT_INVALID_ADDRESS_UNSUPPORTED);
		if (!ipv6_addr_any(&sin6->sin6_addr))
			return DAT_SUCCESS;
	}
	return DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
}

static void set_sockaddr(struct sockaddr_storage *to, const struct sockaddr *from,
			 u16 port)
{
	if (from->sa_family == AF_INET6) {
		memcpy(to, from, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)to)->sin6_port = htons(port);
	} else {
		memcpy(to, from, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)to)->sin_port = htons(port);
	}
}

/*
 * The common end of connect and dup_connect: everything was checked but the
 * state, which is judged again with the change.
 */
static DAT_RETURN ep_connect(struct kdapl_ep *ep, const struct sockaddr *to,
			     u64 qual, u32 flags, DAT_TIMEOUT timeout,
			     DAT_COUNT size, const void *data)
{
	struct kdapl_conn *conn;
	DAT_RETURN ret;
	int err;

	conn = kdapl_conn_alloc(ep->obj.ia);
	if (!conn)
		return no_memory();
	conn->active = true;
	conn->qual = qual;
	conn->flags = flags;
	conn->timeout = timeout;
	set_sockaddr(&conn->peer, to, qual);
	memcpy(conn->out, data, size);
	conn->out_len = size;

	err = kdapl_conn_open(conn);
	if (err) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
		goto put;
	}
	ret = kdapl_ep_begin(ep, conn, KDAPL_EP_OP_CONNECT, false);
	if (ret)
		kdapl_conn_destroy_id(conn);
put:
	kdapl_conn_put(conn);
	return ret;
}

static DAT_RETURN check_private_data(DAT_COUNT size, const void *data,
				     enum dat_return_subtype size_arg,
				     enum dat_return_subtype data_arg)
{
	if (size < 0 || size > KDAPL_REQ_PRIVATE_DATA)
		return bad_arg(size_arg);
	if (size && !data)
		return bad_arg(data_arg);
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_connect - dat_ep_connect
 * @space: of the caller
 * @handle: handle of an EP in UNCONNECTED, with PZ and connect EVD
 * @address: IPv4 or IPv6 address of the remote IA; its port is not looked at
 * @qual: remote connection qualifier, 1 .. 65535
 * @timeout: microseconds until TIMED_OUT, not 0; DAT_TIMEOUT_INFINITE
 * @size: bytes of @data, 0 .. max_private_data_size
 * @data: private data for the remote CR
 * @qos: DAT_QOS_BEST_EFFORT
 * @flags: DAT_CONNECT_DEFAULT_FLAG
 *
 * Asynchronous: exactly one connection event follows (C11).  May sleep for
 * memory, never for the peer.  Rules C3..C13, C18, C21, RULING 35, 37, 47..50.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2..ARG6,
 * /ARG8; DAT_INVALID_STATE with the EP's state or /EP_NOTREADY;
 * DAT_MODEL_NOT_SUPPORTED; DAT_INVALID_ADDRESS/MALFORMED, /UNSUPPORTED;
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdapl_ep_connect(struct kdapl_space *space, DAT_EP_HANDLE handle,
			    DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			    DAT_TIMEOUT timeout, DAT_COUNT size,
			    const void *data, DAT_QOS qos,
			    DAT_CONNECT_FLAGS flags)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	DAT_RETURN ret;
	int idx;

	if (!ep)
		return IH_EP;
	ret = bad_arg(DAT_INVALID_ARG2);
	if (!address)
		goto out;
	ret = bad_arg(DAT_INVALID_ARG3);
	if (!qual || qual > U16_MAX)
		goto out;
	ret = bad_arg(DAT_INVALID_ARG4);
	if (!timeout)
		goto out;
	ret = check_private_data(size, data, DAT_INVALID_ARG5, DAT_INVALID_ARG6);
	if (ret)
		goto out;
	ret = bad_arg(DAT_INVALID_ARG8);
	if (flags & ~DAT_CONNECT_MULTIPATH_FLAG)
		goto out;

	ret = kdapl_ia_enter(ep->obj.ia, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_EP);
		goto out;
	}
	ret = peek(ep, KDAPL_EP_OP_CONNECT) ?: kdapl_ep_ready(ep);
	if (ret)
		goto leave;
	ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (qos != DAT_QOS_BEST_EFFORT || flags & DAT_CONNECT_MULTIPATH_FLAG)
		goto leave;
	ret = check_address(address);
	if (ret)
		goto leave;
	ret = ep_connect(ep, address, qual, flags, timeout, size, data);
leave:
	kdapl_ia_leave(ep->obj.ia, idx);
out:
	kdapl_object_put(&ep->obj);
	return ret;
}

/* How @dup was connected; the states as C1 orders them, then C15, C16, C18. */
static DAT_RETURN dup_source(struct kdapl_ep *dup, struct sockaddr_storage *to,
			     u64 *qual, u32 *flags, bool *active)
{
	DAT_RETURN ret;

	spin_lock_irq(&dup->lock);
	ret = kdapl_ep_fsm(dup->state, KDAPL_EP_OP_DUP_SOURCE)->ret;
	if (!ret) {
		*to = dup->conn->peer;
		*qual = dup->conn->qual;
		*flags = dup->conn->flags;
		*active = dup->conn->active;
	}
	spin_unlock_irq(&dup->lock);
	return ret;
}

/**
 * kdapl_ep_dup_connect - dat_ep_dup_connect
 * @space: of the caller
 * @handle: handle of an EP in UNCONNECTED, with PZ and connect EVD
 * @dup_handle: handle of a connected EP of the same IA that connected actively
 * @timeout: as kdapl_ep_connect()
 * @size: as kdapl_ep_connect()
 * @data: as kdapl_ep_connect()
 * @qos: as kdapl_ep_connect()
 *
 * Rules C1..C21.  Asynchronous.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2 for a
 * duplicated EP of the passive side (RULING 33), /ARG3..ARG5;
 * DAT_INVALID_STATE; DAT_MODEL_NOT_SUPPORTED; DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdapl_ep_dup_connect(struct kdapl_space *space, DAT_EP_HANDLE handle,
				DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
				DAT_COUNT size, const void *data, DAT_QOS qos)
{
	struct kdapl_ep *dup = kdapl_ep_find(space, dup_handle);
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	struct sockaddr_storage to;
	bool active = false;
	DAT_RETURN ret;
	u32 flags = 0;
	u64 qual = 0;
	int idx;

	ret = IH_EP;
	if (!ep || !dup || ep->obj.ia != dup->obj.ia)
		goto out;
	ret = bad_arg(DAT_INVALID_ARG3);
	if (!timeout)
		goto out;
	ret = check_private_data(size, data, DAT_INVALID_ARG4, DAT_INVALID_ARG5);
	if (ret)
		goto out;

	ret = kdapl_ia_enter(ep->obj.ia, &idx);
	if (ret) {
		ret = kdapl_ia_refused(ret, DAT_INVALID_HANDLE_EP);
		goto out;
	}
	ret = dup_source(dup, &to, &qual, &flags, &active);
	if (!ret)
		ret = peek(ep, KDAPL_EP_OP_CONNECT);
	if (!ret && !active)
		ret = bad_arg(DAT_INVALID_ARG2);
	if (!ret)
		ret = kdapl_ep_ready(ep);
	if (!ret && qos != DAT_QOS_BEST_EFFORT)
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ret)
		ret = ep_connect(ep, (struct sockaddr *)&to, qual, flags, timeout,
				 size, data);
	kdapl_ia_leave(ep->obj.ia, idx);
out:
	if (dup)
		kdapl_object_put(&dup->obj);
	if (ep)
		kdapl_object_put(&ep->obj);
	return ret;
}

/**
 * kdapl_ep_disconnect - dat_ep_disconnect
 * @space: of the caller
 * @handle: handle of an EP
 * @flags: DAT_CLOSE_ABRUPT_FLAG or DAT_CLOSE_GRACEFUL_FLAG
 *
 * Asynchronous (D5): what it starts ends with one DISCONNECTED event.  Any
 * context.  Rules D1..D54.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_PARAMETER/ARG2;
 * DAT_INVALID_STATE/EP_UNCONNECTED, /EP_RESERVED, /EP_PASSCONNPENDING,
 * /EP_TENTCONNPENDING.
 */
DAT_RETURN kdapl_ep_disconnect(struct kdapl_space *space, DAT_EP_HANDLE handle,
			       DAT_CLOSE_FLAGS flags)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	DAT_RETURN ret;

	if (!ep)
		return IH_EP;
	switch ((u32)flags) {
	case DAT_CLOSE_ABRUPT_FLAG:
		ret = kdapl_ep_input(ep, NULL, KDAPL_EP_OP_DISC_ABRUPT);
		break;
	case DAT_CLOSE_GRACEFUL_FLAG:
		ret = kdapl_ep_input(ep, NULL, KDAPL_EP_OP_DISC_GRACEFUL);
		break;
	default:
		ret = bad_arg(DAT_INVALID_ARG2);
	}
	kdapl_object_put(&ep->obj);
	return ret;
}

/* The old life's connection, to be dropped by whoever leaves DISC_IDLE. */
static DAT_RETURN ep_reset(struct kdapl_ep *ep)
{
	const struct kdapl_ep_cell *cell;
	struct kdapl_conn *conn;
	DAT_RETURN ret;

	for (;;) {
		spin_lock_irq(&ep->lock);
		cell = kdapl_ep_fsm(ep->state, KDAPL_EP_OP_RESET);
		ret = cell->ret;
		conn = ep->conn;
		if (ret || !conn || (!(cell->actions & KDAPL_EP_ACT_WAIT) &&
				     READ_ONCE(conn->done))) {
			if (!ret) {
				ep->conn = NULL;
				apply(ep, cell, KDAPL_EP_OP_RESET);
			}
			spin_unlock_irq(&ep->lock);
			break;
		}
		/* R15: the flush first; R10: the queue must be gone as well. */
		kdapl_conn_get(conn);
		spin_unlock_irq(&ep->lock);
		kdapl_conn_finish(conn);
		kdapl_conn_put(conn);
	}
	if (!ret && conn) {
		kdapl_conn_put(conn);
		mutex_lock(&ep->modify_lock);
		settle(ep);
		mutex_unlock(&ep->modify_lock);
	}
	return ret;
}

/**
 * kdapl_ep_reset - dat_ep_reset
 * @space: of the caller
 * @handle: handle of an EP
 *
 * Synchronous; may sleep until the old life's flush is over (R10, R15).  Rules
 * R1..R16.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_STATE with the EP's
 * state.
 */
DAT_RETURN kdapl_ep_reset(struct kdapl_space *space, DAT_EP_HANDLE handle)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	DAT_RETURN ret;
	int idx;

	if (!ep)
		return IH_EP;
	ret = kdapl_ia_enter_shell(ep->obj.ia, &idx);
	if (ret) {
		ret = IH_EP;
	} else {
		ret = ep_reset(ep);
		kdapl_ia_leave(ep->obj.ia, idx);
	}
	kdapl_object_put(&ep->obj);
	return ret;
}

/**
 * kdapl_ep_free - dat_ep_free
 * @space: of the caller
 * @handle: handle of an EP
 *
 * A connection ends abruptly, without an event here (F7, F8).  Synchronous; may
 * sleep, never for the peer or for an upcall (A10).  Rules F1..F18.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_STATE/EP_RESERVED,
 * /EP_PASSCONNPENDING, /EP_TENTCONNPENDING.
 */
DAT_RETURN kdapl_ep_free(struct kdapl_space *space, DAT_EP_HANDLE handle)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	DAT_RETURN ret;
	int idx;

	if (!ep)
		return IH_EP;
	ret = kdapl_ia_enter_shell(ep->obj.ia, &idx);
	if (ret) {
		ret = IH_EP;
	} else {
		/* Of two frees the table lets one through. */
		ret = kdapl_ep_input(ep, NULL, KDAPL_EP_OP_FREE);
		if (!ret)
			kdapl_ep_finish(ep);
		kdapl_ia_leave(ep->obj.ia, idx);
	}
	kdapl_object_put(&ep->obj);
	return ret;
}

/**
 * kdapl_ep_private_data - the acceptance's private data (E7)
 * @space: of the caller
 * @handle: handle of an EP
 * @buf: gets at most @size bytes
 * @size: of @buf
 * @length: out: all there is; 0 on the passive side and without a connection
 *
 * Any context.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP.
 */
DAT_RETURN kdapl_ep_private_data(struct kdapl_space *space, DAT_EP_HANDLE handle,
				 void *buf, u32 size, u32 *length)
{
	struct kdapl_ep *ep = kdapl_ep_find(space, handle);
	unsigned long flags;

	if (!ep)
		return IH_EP;
	spin_lock_irqsave(&ep->lock, flags);
	*length = 0;
	if (ep->conn && ep->conn->active) {
		*length = ep->conn->in_len;
		memcpy(buf, ep->conn->in, min(size, *length));
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_object_put(&ep->obj);
	return DAT_SUCCESS;
}
