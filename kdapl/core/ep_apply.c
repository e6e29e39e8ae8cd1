// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Applying the endpoint table (ep_fsm.c): the one place that changes the state of
 * an endpoint.
 *
 * Everything that happens to an endpoint, an operation of its consumer or news
 * from below, is an input.  ep_apply() does, under the endpoint's lock, what the cell
 * of the table asks: state, gates of the two directions, events.  What sleeps is
 * handed to the work item of the connection (conn_work.c).
 *
 * Once the endpoint is made (ep.c), nothing else writes the state.  Which functions call
 * ep_apply(), and why there are four, is told in Documentation/life-of-a-connection.rst, Who may
 * do what.
 */
#include "ep_apply.h"
#include "drain.h"
#include "ep_view.h"
#include "evd_fifo.h"
#include "ia.h"
#include "../trace.h"

/* The second group of actions: those of the work item */
#define ACT_WORK	(KDAPL_EP_ACT_ABORT | KDAPL_EP_ACT_DRAIN | \
			 KDAPL_EP_ACT_DISC | KDAPL_EP_ACT_FLUSH)

/* ---- gates ---------------------------------------------------------- */

void kdapl_ep_lock_dirs(struct kdapl_ep *ep)
	__acquires(&ep->req.lock) __acquires(&ep->recv.lock)
{
	lockdep_assert_held(&ep->lock);
	spin_lock(&ep->req.lock);
	spin_lock_nested(&ep->recv.lock, SINGLE_DEPTH_NESTING);
}

void kdapl_ep_unlock_dirs(struct kdapl_ep *ep)
	__releases(&ep->recv.lock) __releases(&ep->req.lock)
{
	spin_unlock(&ep->recv.lock);
	spin_unlock(&ep->req.lock);
}

static void dir_set_gate(struct kdapl_ep *ep, struct kdapl_dir *dir,
			 enum kdapl_ep_input post)
{
	const struct kdapl_ep_cell *cell = kdapl_ep_fsm(ep->state, post);

	lockdep_assert_held(&dir->lock);
	dir->refusal = cell->ret;
	/* In passthrough the process posts by itself, and is shown the answer (ep_view.c). */
	if (kdapl_ia_is_passthrough(ep->obj.ia))
		dir->refusal = RET(INVALID_STATE);
	/* Only its SRQ has receives (mt:M51), whatever the state is. */
	if (dir->is_recv && ep->srq && ep->state != KDAPL_EP_GONE)
		dir->refusal = RET_BAD_STATE(SRQ_IN_USE);
	if (dir->refusal) {
		dir->gate = KDAPL_GATE_REFUSE;
		return;
	}
	switch (ep->state) {
	case KDAPL_EP_RESOLVING:
	case KDAPL_EP_REQUESTED:
	case KDAPL_EP_COMPLETION_PENDING:
	case KDAPL_EP_CONNECTED:
	case KDAPL_EP_DRAINING:
		/* Posts that are held go first: kdapl_ep_post_held(). */
		if (dir->deep && !dir->spoilt)
			dir->gate = KDAPL_GATE_DEEP;
		else
			dir->gate = dir->held ? KDAPL_GATE_HOLD : KDAPL_GATE_POST;
		break;
	case KDAPL_EP_FLUSHING:
	case KDAPL_EP_DISC_FLUSHING:
		dir->gate = KDAPL_GATE_LATE;
		break;
	case KDAPL_EP_DISC_IDLE:
		/* Late posts that wait go first: kdapl_dir_flush_late(). */
		dir->gate = list_empty(&dir->late) ? KDAPL_GATE_FLUSH :
						     KDAPL_GATE_LATE;
		break;
	default:
		dir->gate = KDAPL_GATE_HOLD;
	}
}

/* The gates of both directions follow the state; their locks are held. */
void kdapl_ep_set_gates(struct kdapl_ep *ep)
{
	dir_set_gate(ep, &ep->req, KDAPL_EP_OP_POST_REQUEST);
	dir_set_gate(ep, &ep->recv, KDAPL_EP_OP_POST_RECV);
}

/* ---- events --------------------------------------------------------- */

static void conn_slot_done(struct kdapl_event_slot *slot, bool lost)
{
	struct kdapl_conn *conn;

	if (slot->event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		conn = container_of(slot, struct kdapl_conn, established);
	else
		conn = container_of(slot, struct kdapl_conn, end);
	kdapl_ep_view_publish(conn->ep);
	kdapl_conn_put(conn);
}

/**
 * kdapl_ep_event_life - the life that the connection events of an endpoint name to a process
 * @ep: has a connection; its lock is held
 *
 * In passthrough it is that of the bind, which the process has from kdapl_ep_bind() and is shown
 * (ep_view.c): so it knows of each event in its ring whether it is about the present connection.
 * Any context.
 */
u32 kdapl_ep_event_life(const struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	return ep->conn->bind_life ?: ep->life;
}

/*
 * E7, E8, RULING 65: the acceptance's data, or the rejection's, on the active side only.  A
 * process cannot use a pointer of the kernel's.  It gets the number of the endpoint's life
 * instead, with each event, and fetches the data with it (kdapl_ep_private_data()).  The event
 * may be in its ring when that life is over; then the number tells that the data are gone.
 */
static void ep_fill_private_data(const struct kdapl_ep *ep, u32 number,
				 DAT_CONNECTION_EVENT_DATA *data)
{
	bool answered = number == DAT_CONNECTION_EVENT_ESTABLISHED ||
			number == DAT_CONNECTION_EVENT_PEER_REJECTED;
	struct kdapl_conn *conn = ep->conn;

	data->private_data_size = 0;
	data->private_data = NULL;
	if (answered && conn->active && conn->in_len) {
		data->private_data_size = conn->in_len;
		data->private_data = conn->in;
	}
	if (ep->obj.space->user)
		data->private_data = (void *)(uintptr_t)kdapl_ep_event_life(ep);
}

static void ep_count_event(const struct kdapl_ep *ep, u32 number)
{
	static const struct {
		u32 event;
		enum kdapl_count count;
	} counted[] = {
		{ DAT_CONNECTION_EVENT_ESTABLISHED, KDAPL_COUNT_ESTABLISHED },
		{ DAT_CONNECTION_EVENT_DISCONNECTED, KDAPL_COUNT_DISCONNECTED },
		{ DAT_CONNECTION_EVENT_BROKEN, KDAPL_COUNT_BROKEN },
		{ DAT_CONNECTION_EVENT_PEER_REJECTED, KDAPL_COUNT_REJECTED },
		{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, KDAPL_COUNT_REJECTED },
		{ DAT_CONNECTION_EVENT_UNREACHABLE, KDAPL_COUNT_UNREACHABLE },
		{ DAT_CONNECTION_EVENT_TIMED_OUT, KDAPL_COUNT_TIMED_OUT },
		{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		  KDAPL_COUNT_ACCEPT_FAILED },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(counted); i++)
		if (counted[i].event == number)
			kdapl_count(ep->obj.ia->dev, counted[i].count);
}

/* Returns false if there was no room for the event; the overflow is reported (E65, E67). */
static bool ep_raise_event(struct kdapl_ep *ep, u32 number)
{
	struct kdapl_conn *conn = ep->conn;
	bool established = number == DAT_CONNECTION_EVENT_ESTABLISHED;
	struct kdapl_event_slot *slot = established ? &conn->established :
						      &conn->end;
	DAT_CONNECTION_EVENT_DATA *data =
		&slot->event.event_data.connect_event_data;

	ep_count_event(ep, number);
	slot->event.event_number = number;
	slot->done = conn_slot_done;
	data->ep_handle = kdapl_handle(&ep->obj);
	ep_fill_private_data(ep, number, data);
	kdapl_conn_get(conn);
	if (kdapl_evd_post(ep->connect_evd, slot)) {
		kdapl_ep_view_hold(ep, established ? KDAPL_VIEW_ESTABLISHED : 0);
		return true;
	}
	kdapl_conn_put(conn);
	kdapl_evd_overflow(ep->connect_evd);
	return false;
}

/* ---- inputs --------------------------------------------------------- */

/*
 * Does what @cell says; the only writer of the state.  Returns an input that
 * must follow once the lock is dropped, or KDAPL_EP_NR_INPUTS.
 */
static enum kdapl_ep_input ep_apply(struct kdapl_ep *ep,
				    const struct kdapl_ep_cell *cell,
				    enum kdapl_ep_input input)
{
	enum kdapl_ep_input follow = KDAPL_EP_NR_INPUTS;
	struct kdapl_conn *conn = ep->conn;
	u16 act = cell->actions;

	lockdep_assert_held(&ep->lock);
	if (cell->next != ep->state)
		trace_kdapl_ep_state(ep, ep->state, input, cell->next);

	kdapl_ep_lock_dirs(ep);
	WRITE_ONCE(ep->state, cell->next);
	kdapl_ep_set_gates(ep);

	if (act & KDAPL_EP_ACT_STOP_TIMER && cancel_delayed_work(&conn->timer))
		kdapl_conn_put(conn);
	if (act & KDAPL_EP_ACT_EVENT && !ep_raise_event(ep, cell->event) &&
	    cell->event == DAT_CONNECTION_EVENT_ESTABLISHED)
		follow = KDAPL_EP_OP_DISC_ABRUPT;
	if (act & KDAPL_EP_ACT_SET_END && !ep->end_event)
		ep->end_event = cell->event;
	if (act & KDAPL_EP_ACT_FLUSH && conn)
		WRITE_ONCE(conn->ends, true);
	if (act & KDAPL_EP_ACT_FLUSH)
		kdapl_count(ep->obj.ia->dev, KDAPL_COUNT_FLUSHES);
	if (act & KDAPL_EP_ACT_DRAIN)
		kdapl_count(ep->obj.ia->dev, KDAPL_COUNT_DRAINS);
	/*
	 * After the event was raised: once @await is clear receives go to the EVD, and
	 * the event has to be ahead of them (E45).
	 */
	if (cell->next == KDAPL_EP_CONNECTED)
		WRITE_ONCE(ep->recv.await, false);
	if (act & KDAPL_EP_ACT_END)
		ep_raise_event(ep, ep->end_event);
	kdapl_ep_unlock_dirs(ep);

	kdapl_ep_view_update(ep);
	if (act & ACT_WORK && conn)
		kdapl_conn_schedule(conn, act & ACT_WORK);
	return follow;
}

/**
 * kdapl_ep_input - what happened to an endpoint, or is asked of it: apply its cell
 * @ep: the endpoint
 * @conn: the connection that the input comes from; NULL for operations
 * @input: any but those of kdapl_ep_begin(), kdapl_ep_resolved() and kdapl_ep_reset_flushed()
 *
 * An input of a former connection is dropped.  Any context; no lock of an EP or
 * EVD held.  In passthrough only process context; that may be a callback of the CM, for
 * nothing is waited for.
 *
 * Return: the operation's DAT_RETURN as the table has it; DAT_ABORT for a
 * dropped input.
 */
DAT_RETURN kdapl_ep_input(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input)
{
	bool passthrough = kdapl_ia_is_passthrough(ep->obj.ia);
	enum kdapl_ep_input follow = KDAPL_EP_NR_INPUTS;
	const struct kdapl_ep_cell *cell = NULL;
	DAT_RETURN ret = RET(ABORT);
	unsigned long flags;

	/* So that the EVD's runner, a softirq, runs at local_bh_enable(), not in ksoftirqd. */
	if (passthrough)
		local_bh_disable();
	spin_lock_irqsave(&ep->lock, flags);
	if (!conn || ep->conn == conn) {
		cell = kdapl_ep_fsm(ep->state, input);
		ret = cell->ret;
	}
	if (!ret)
		follow = ep_apply(ep, cell, input);
	conn = ep->conn;
	/* What follows is meant for this connection, not for a later one. */
	if (follow != KDAPL_EP_NR_INPUTS)
		kdapl_conn_get(conn);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (passthrough)
		local_bh_enable();

	/*
	 * FLUSHED comes from the connection's work item, and a reset waits until that has
	 * called kdapl_flush_over().  So no new life of the endpoint begins while posts of
	 * the old one are flushed here.
	 */
	if (!ret && cell->actions & KDAPL_EP_ACT_END) {
		kdapl_dir_flush_late(&ep->req);
		kdapl_dir_flush_late(&ep->recv);
	}
	if (follow != KDAPL_EP_NR_INPUTS) {
		kdapl_ep_input(ep, conn, follow);
		kdapl_conn_put(conn);
	}
	return ret;
}

/* ---- the beginning of a connection ---------------------------------- */

/* The counts begin at 0: the queue pair of a new connection was given nothing yet. */
static void ep_start_count(struct kdapl_ep *ep)
{
	kdapl_ep_lock_dirs(ep);
	ep->req.posted = 0;
	ep->req.completed = 0;
	ep->req.spoilt = false;
	ep->recv.posted = 0;
	ep->recv.completed = 0;
	ep->recv.await = true;
	kdapl_ep_unlock_dirs(ep);
}

static int post_held_recv(const struct kdapl_dir *dir, u32 i, struct ib_qp *qp)
{
	struct ib_recv_wr wr = {
		.wr_id = (uintptr_t)&dir->ring[i],
		.sg_list = &dir->rings->sge[i * dir->max_sge],
		.num_sge = dir->nr_sge[i],
	};

	return ib_post_recv(qp, &wr, NULL);
}

/* Gives the oldest of @dir's held posts to the queue pair. */
static int dir_post_one_held(struct kdapl_dir *dir, struct kdapl_conn *conn)
{
	u32 i = dir->held_first;
	struct kdapl_cookie *cookie = &dir->ring[i];
	const struct kdapl_held_wr *wrs = dir->rings->wrs;
	int ret;

	cookie->owed = true;
	if (dir->deep)
		cookie->flags |= KDAPL_COOKIE_DEEP;
	dir->posted++;
	trace_kdapl_post(dir->ep, cookie, dir->is_recv ? KDAPL_DTO_RECV : wrs[i].kind);
	ret = dir->is_recv ? post_held_recv(dir, i, conn->qp.ib) :
			     ib_post_send(conn->qp.ib, &wrs[i].wr.rdma.wr, NULL);
	if (ret) {
		trace_kdapl_post_kept(cookie, ret);
		dir->posted--;
		cookie->owed = false;
		return ret;
	}
	WRITE_ONCE(dir->held, dir->held - 1);
	dir->held_first = (i + 1) % dir->size;
	return 0;
}

/* May the queue pair be given a held post now? */
static bool dir_may_post_held(const struct kdapl_dir *dir, const struct kdapl_conn *conn)
{
	lockdep_assert_held(&dir->lock);
	/* @ends is set under this lock, and only then is the queue pair destroyed. */
	return dir->held && !dir->spoilt && !conn->ends && (!dir->deep || kdapl_dir_left(dir));
}

/* Returns an errno if the device has refused one. */
static int dir_post_held(struct kdapl_dir *dir, struct kdapl_conn *conn)
{
	unsigned long flags;
	bool more;
	int ret = 0;
	u32 n;

	do {
		spin_lock_irqsave(&dir->lock, flags);
		more = dir_may_post_held(dir, conn);
		for (n = 0; more && !ret && n < KDAPL_DIR_BATCH; n++) {
			ret = dir_post_one_held(dir, conn);
			more = dir_may_post_held(dir, conn);
		}
		/* What is posted to a deep direction is held behind those that found no room. */
		if (!ret && !more && !dir->spoilt && dir->gate == KDAPL_GATE_HOLD && !conn->ends)
			dir->gate = dir->deep ? KDAPL_GATE_DEEP : KDAPL_GATE_POST;
		/* Nor is a request held for the moment only: the connection is about to end. */
		if (kdapl_conn_not_now(conn, ret) && !dir->is_recv)
			dir->spoilt = true;
		spin_unlock_irqrestore(&dir->lock, flags);
		/* It goes on as long as others post and what was posted completes. */
		cond_resched();
	} while (more && !ret);
	return ret;
}

/**
 * kdapl_ep_post_held - give held posts to the queue pair, as far as it has room
 * @ep: has begun @conn
 * @conn: with its queue pair
 *
 * In order and a batch at a time; new posts wait behind them until the last one is posted.
 * If the connection ends meanwhile, the rest stays held and is flushed with it.  If the device
 * refuses one, the connection breaks, with the same end; if it only does not take a receive now,
 * the work item tries again.
 *
 * The more a consumer has posted the longer it takes.  So the handler mutex of the id must not
 * be held, or the CM, which serves all connections of the host with one thread, would wait
 * for this consumer.
 */
void kdapl_ep_post_held(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	int recv, req;

	/* In passthrough the process posts by itself. */
	if (kdapl_ia_is_passthrough(ep->obj.ia))
		return;
	recv = dir_post_held(&ep->recv, conn);
	req = dir_post_held(&ep->req, conn);
	if (kdapl_conn_not_now(conn, recv)) {
		atomic_long_or(KDAPL_CONN_POST_HELD, &conn->todo);
		kdapl_conn_run_later(conn, 1);
		recv = 0;
	}
	if (kdapl_conn_not_now(conn, req)) {
		kdapl_conn_await_cm(conn);
		req = 0;
	}
	if (recv || req)
		kdapl_ep_input(ep, conn, KDAPL_EP_IN_BROKEN);
}

static void ep_set_peer(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	ep->local = conn->local;
	ep->remote = conn->peer;
	ep->remote_qual = conn->active ? conn->qual : conn->peer_port;
	ep->local_qual = conn->active ? conn->local_port : conn->qual;
}

/**
 * kdapl_ep_begin - an input that begins a connection
 * @ep: gets @conn
 * @conn: with its queue pair, without an endpoint yet; a reference is taken on
 *	  success, and the timer of an active attempt is started
 * @input: OP_CONNECT, OP_ACCEPT or OP_ACCEPT_OWN
 *
 * On success kdapl_ep_post_held() has to follow.  May be called with the handler mutex
 * of @conn's id held.
 *
 * Return: as the table has it; on failure nothing changed.
 */
DAT_RETURN kdapl_ep_begin(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input)
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
		ep_set_peer(ep, conn);
		ep_start_count(ep);
		if (conn->active)
			kdapl_conn_start_timer(conn);
		ep_apply(ep, cell, input);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return ret;
}

/**
 * kdapl_ep_resolved - address and route are known (RESOLVED)
 * @ep: began @conn
 * @conn: with its queue pair
 *
 * Return: true: the request may go out; false: the attempt is over.
 */
bool kdapl_ep_resolved(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	unsigned long flags;
	bool goes_on;

	spin_lock_irqsave(&ep->lock, flags);
	goes_on = ep->conn == conn && ep->state == KDAPL_EP_RESOLVING;
	if (goes_on)
		ep_apply(ep, kdapl_ep_fsm(ep->state, KDAPL_EP_IN_RESOLVED),
			 KDAPL_EP_IN_RESOLVED);
	spin_unlock_irqrestore(&ep->lock, flags);
	return goes_on;
}

/**
 * kdapl_ep_leave_conn - make an endpoint give its connection up
 * @ep: has one, which is over; its lock is held
 *
 * The endpoint's reference of the connection becomes the caller's.
 */
void kdapl_ep_leave_conn(struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	/* A process has no pointer to them, and the number still says whose the event is. */
	if (!ep->obj.space->user)
		kdapl_evd_drop_data(ep->connect_evd, &ep->conn->established);
	ep->conn = NULL;
	ep->life++;
}

/**
 * kdapl_ep_reset_flushed - apply OP_RESET, unless something has to end first
 * @ep: the endpoint
 * @ret: out: what the table says of the reset
 * @conn: out: the connection of the old life, with a reference that the caller
 *	  drops; may be NULL if true is returned
 *
 * Return: true: the reset is decided, and done if @ret is DAT_SUCCESS; false: @conn
 * has not flushed yet, or still has its queue pair.  Then the caller waits for the flush
 * (kdapl_conn_finish()), lets go of the queue pair if it is a process's
 * (kdapl_conn_drop_qp()), and calls again.  As long as there is a queue pair @ep->conn leads
 * to it, because a removal of the device has to find it.
 */
bool kdapl_ep_reset_flushed(struct kdapl_ep *ep, DAT_RETURN *ret,
			    struct kdapl_conn **conn)
{
	const struct kdapl_ep_cell *cell;
	bool judged;

	spin_lock_irq(&ep->lock);
	cell = kdapl_ep_fsm(ep->state, KDAPL_EP_OP_RESET);
	*ret = cell->ret;
	*conn = cell->ret ? NULL : ep->conn;
	judged = !*conn || (!(cell->actions & KDAPL_EP_ACT_WAIT) &&
			    kdapl_conn_has_flushed(*conn) && !READ_ONCE((*conn)->qp.ib));
	if (!judged) {
		kdapl_conn_get(*conn);
	} else if (!cell->ret) {
		/* The endpoint's reference is the caller's now. */
		if (*conn)
			kdapl_ep_leave_conn(ep);
		ep_apply(ep, cell, KDAPL_EP_OP_RESET);
	}
	spin_unlock_irq(&ep->lock);
	return judged;
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
	return RET_BAD_STATE(EP_NOTREADY);
}
