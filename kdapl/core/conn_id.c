// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of a connection's CM id: a table of (state, what happens), and the
 * users that must be through before the id is destroyed.
 *
 * Three parties say what happens to an id.  CM callbacks hold the handler mutex of the
 * id.  Operations that work on the id (connect, accept, hand-over) are its users.  The work
 * item of the connection disconnects the id, or retires it, and then the second work item
 * (conn_id_work()) destroys it.  Everybody else may only look at the state.
 *
 * Callers: conn_work.c, conn_cm.c, ep_connect.c, sp_request.c, cr.c.
 */
#include "conn.h"
#include "ia.h"
#include "../trace.h"

/*
 * On iWARP the first message of the peer confirms our acceptance.  It comes within this time or
 * never: siw waits 10 s for an acceptance (MPAREQ_TIMEOUT), and then closes.
 */
#define CONFIRM_LIMIT	(12 * HZ)

static const struct kdapl_cm_ops *cm_ops(const struct kdapl_conn *conn)
{
	return conn->ia->dev->cm;
}

/* ---- the table ------------------------------------------------------ */

#define GO(state)	{ .allowed = true, .next = KDAPL_ID_##state }
#define TELL(state)	{ .allowed = true, .next = KDAPL_ID_##state, \
			  .disconnect = true }
#define NEVER		{ .allowed = false }

#define ROW(s, open, accept, confirm, disc, peer_gone, retire, destroy) \
	[KDAPL_ID_##s] = { \
		[KDAPL_ID_IN_OPEN] = open, \
		[KDAPL_ID_IN_ACCEPT] = accept, \
		[KDAPL_ID_IN_CONFIRM] = confirm, \
		[KDAPL_ID_IN_DISCONNECT] = disc, \
		[KDAPL_ID_IN_PEER_GONE] = peer_gone, \
		[KDAPL_ID_IN_RETIRE] = retire, \
		[KDAPL_ID_IN_DESTROY] = destroy, \
	}

/*
 * LEAVING: the CM disconnects nothing before the peer has confirmed our acceptance, although
 * data may have confirmed the connection before.  So a disconnect of an ACCEPTED id waits, and
 * goes out as soon as the peer confirms (D35).
 * OVER: a peer that has disconnected waits for our answer, so a disconnect goes out here, too.
 * NONE: an id is bound to its address before it is OPEN, and may be told meanwhile that the
 * address has moved to another device.  That is ignored: the attempt finds out by itself.
 * DYING: a retired id is destroyed later, whereas one that is handed over is DESTROYED at once.
 */
static const struct kdapl_id_cell
id_table[KDAPL_ID_NR_STATES][KDAPL_ID_NR_INPUTS] = {
	/* state, open, accept, confirm, disconnect, peer gone, retire, destroy */
	ROW(NONE, GO(OPEN), NEVER, NEVER, NEVER, GO(NONE), NEVER, NEVER),
	ROW(OPEN, NEVER, GO(ACCEPTED), GO(OPEN), TELL(CLOSING), GO(OVER), GO(DYING), GO(DESTROYED)),
	ROW(ACCEPTED, NEVER, NEVER, GO(CONFIRMED), GO(LEAVING), GO(OVER), GO(DYING), NEVER),
	ROW(CONFIRMED, NEVER, NEVER, GO(CONFIRMED), TELL(CLOSING), GO(OVER), GO(DYING), NEVER),
	ROW(LEAVING, NEVER, NEVER, TELL(CLOSING), GO(LEAVING), GO(OVER), GO(DYING), NEVER),
	ROW(CLOSING, NEVER, NEVER, GO(CLOSING), GO(CLOSING), GO(OVER), GO(DYING), NEVER),
	ROW(OVER, NEVER, GO(OVER), GO(OVER), TELL(OVER), GO(OVER), GO(DYING), GO(DESTROYED)),
	ROW(DYING, NEVER, NEVER, GO(DYING), NEVER, GO(DYING), NEVER, GO(DESTROYED)),
	ROW(DESTROYED, NEVER, NEVER, NEVER, NEVER, GO(DESTROYED), NEVER, NEVER),
};

/**
 * kdapl_id_fsm - look a cell of the table up
 * @state: of the id now
 * @input: what happens to it
 *
 * Any context.  Return: the cell.
 */
const struct kdapl_id_cell *kdapl_id_fsm(enum kdapl_id_state state,
					 enum kdapl_id_input input)
{
	return &id_table[state][input];
}

/* The one writer of the state.  True: the peer is to be told. */
static bool id_apply(struct kdapl_conn *conn, enum kdapl_id_input input)
{
	const struct kdapl_id_cell *cell = kdapl_id_fsm(conn->id_state, input);

	lockdep_assert_held(&conn->id_lock);
	if (WARN_ON_ONCE(!cell->allowed))
		return false;
	WRITE_ONCE(conn->id_state, cell->next);
	return cell->disconnect;
}

static bool id_change(struct kdapl_conn *conn, enum kdapl_id_input input)
{
	bool tell, awaited = false;

	spin_lock(&conn->id_lock);
	if (input == KDAPL_ID_IN_ACCEPT)
		conn->confirm_until = jiffies + CONFIRM_LIMIT;
	tell = id_apply(conn, input);
	swap(awaited, conn->id_awaited);
	spin_unlock(&conn->id_lock);
	if (awaited)
		kdapl_conn_run(conn);
	return tell;
}

/**
 * kdapl_id_input - something has happened to an id
 * @conn: its connection
 * @input: any but OPEN, RETIRE and DESTROY, which have functions of their own
 *
 * Tells the peer when the table says so.  Context: the id's handler mutex is held;
 * may sleep.
 */
void kdapl_id_input(struct kdapl_conn *conn, enum kdapl_id_input input)
{
	int err;

	if (!id_change(conn, input))
		return;
	err = cm_ops(conn)->disconnect(conn->id);
	trace_kdapl_disconnect(conn, err);
	/* Nothing went out, so there is no answer to wait for. */
	if (err)
		id_change(conn, KDAPL_ID_IN_PEER_GONE);
}

/* ---- what the state says -------------------------------------------- */

/**
 * kdapl_id_is_there - is there an id?
 * @conn: the caller is the one who may destroy it, or one of its users
 */
bool kdapl_id_is_there(const struct kdapl_conn *conn)
{
	u8 state = READ_ONCE(conn->id_state);

	return state != KDAPL_ID_NONE && state != KDAPL_ID_DESTROYED;
}

/**
 * kdapl_id_was_accepted - does the peer have an acceptance of ours?
 * @conn: the caller is the work item, and nobody uses the id
 *
 * False again once the peer has gone, because then it need not be told anything.
 */
bool kdapl_id_was_accepted(const struct kdapl_conn *conn)
{
	u8 state = READ_ONCE(conn->id_state);

	return state == KDAPL_ID_ACCEPTED || state == KDAPL_ID_CONFIRMED;
}

/**
 * kdapl_id_awaits_peer - must the id stay for the peer's sake?
 * @conn: the caller is the work item
 *
 * True if we have disconnected, or will as soon as the peer confirms, and the peer has not
 * answered.  The CM repeats the disconnect until then, but only while the id is there.
 */
bool kdapl_id_awaits_peer(const struct kdapl_conn *conn)
{
	u8 state = READ_ONCE(conn->id_state);

	return state == KDAPL_ID_LEAVING || state == KDAPL_ID_CLOSING;
}

/* ---- users ---------------------------------------------------------- */

/**
 * kdapl_id_use - become a user of the id
 * @conn: its id is there, and nobody can destroy it yet
 *
 * Takes a reference of @conn.  Each call needs a kdapl_id_unuse() of its own.
 */
void kdapl_id_use(struct kdapl_conn *conn)
{
	kdapl_conn_get(conn);
	spin_lock(&conn->id_lock);
	conn->id_users++;
	spin_unlock(&conn->id_lock);
}

/**
 * kdapl_id_unuse - stop being a user of the id
 * @conn: its reference is put
 *
 * The caller does not touch the id any more, and its unlock of the handler mutex has
 * returned: the id may be destroyed at once.
 */
void kdapl_id_unuse(struct kdapl_conn *conn)
{
	bool last, awaited = false;

	spin_lock(&conn->id_lock);
	last = !--conn->id_users;
	if (last)
		swap(awaited, conn->id_awaited);
	spin_unlock(&conn->id_lock);
	if (last)
		wake_up_all(&conn->wait);
	if (awaited)
		kdapl_conn_run(conn);
	kdapl_conn_put(conn);
}

/**
 * kdapl_id_is_free - have all users left the id?
 * @conn: the caller is its work item; once it has an endpoint nobody becomes a user
 *
 * The work item does not wait for the users: the more a consumer has posted the longer a
 * user takes, and the work items of all connections share their threads.
 *
 * Return: true; or false: the last user makes the work item run when it leaves.
 */
bool kdapl_id_is_free(struct kdapl_conn *conn)
{
	bool ret;

	spin_lock(&conn->id_lock);
	ret = !conn->id_users;
	conn->id_awaited = !ret;
	spin_unlock(&conn->id_lock);
	return ret;
}

/**
 * kdapl_id_left_to_cm - must the queue pair be left to the CM for now?
 * @conn: the caller is its work item
 *
 * On iWARP a driver tells the CM of an end as soon as the queue pair leaves RTS.  But it may wait
 * for the peer's first message before it says that an accepted connection is established, and
 * the kernel's CM has a BUG() for an end that comes before that (cm_close_handler() in iwcm).
 * So after our acceptance the queue pair is neither put into the error state nor destroyed
 * before the CM has told of the one or the other.  That a message has completed does not do: the
 * driver may tell the CM later.
 *
 * Return: 0: it need not be; otherwise how many jiffies to wait at most.  The work item runs when
 * the CM has told.
 */
long kdapl_id_left_to_cm(struct kdapl_conn *conn)
{
	long left = 0;
	u8 state;

	if (!conn->ia->dev->iwarp)
		return 0;
	spin_lock(&conn->id_lock);
	state = conn->id_state;
	if (state == KDAPL_ID_ACCEPTED || state == KDAPL_ID_LEAVING)
		left = max_t(long, conn->confirm_until - jiffies, 0);
	conn->id_awaited = left;
	spin_unlock(&conn->id_lock);
	return left;
}

static bool id_unused(struct kdapl_conn *conn)
{
	bool ret;

	spin_lock(&conn->id_lock);
	ret = !conn->id_users;
	spin_unlock(&conn->id_lock);
	return ret;
}

/**
 * kdapl_id_wait_unused - wait until the users of the id are through
 * @conn: nobody becomes one meanwhile
 *
 * May sleep; not with the id's handler mutex held.
 */
void kdapl_id_wait_unused(struct kdapl_conn *conn)
{
	wait_event(conn->wait, id_unused(conn));
}

/* ---- birth and death ------------------------------------------------ */

/**
 * kdapl_id_open - make the id of an active connection, bound to a local port
 * @conn: without an id; its peer is known
 *
 * RULING 52: the port is known when the call returns.  May sleep.
 *
 * Return: 0 or an errno, and there is no id.
 */
int kdapl_id_open(struct kdapl_conn *conn)
{
	struct kdapl_ia *ia = conn->ia;
	int ret;

	ret = cm_ops(conn)->open(conn, ia->dev, ia->obj.space->net,
				 (struct sockaddr *)&conn->peer, &conn->id);
	if (ret)
		return ret;
	conn->local_port = kdapl_port_of(&conn->id->route.addr.src_addr);
	id_change(conn, KDAPL_ID_IN_OPEN);
	return 0;
}

/**
 * kdapl_id_given - the id of a request
 * @conn: without an id
 * @id: with the handler mutex held
 */
void kdapl_id_given(struct kdapl_conn *conn, struct rdma_cm_id *id)
{
	conn->id = id;
	id_change(conn, KDAPL_ID_IN_OPEN);
}

/**
 * kdapl_id_take_from - an id is handed over
 * @conn: was given it by kdapl_id_given()
 * @from: had it, and has none from here on; nobody uses it there
 *
 * If the peer has given up its request, that is passed on to @conn.  Context: the
 * handler mutex of the id is held.
 */
void kdapl_id_take_from(struct kdapl_conn *conn, struct kdapl_conn *from)
{
	if (kdapl_id_peer_gone(from))
		id_change(conn, KDAPL_ID_IN_PEER_GONE);
	cm_ops(conn)->hand_over(conn->id, conn);
	from->id = NULL;
	id_change(from, KDAPL_ID_IN_DESTROY);
}

/**
 * kdapl_id_disconnect - tell the peer that the connection ends, or answer it
 * @conn: the caller is its work item
 *
 * Does nothing when the id is gone, or about to go.  May sleep, not for memory; not
 * with the id's handler mutex held.
 */
void kdapl_id_disconnect(struct kdapl_conn *conn)
{
	if (!kdapl_id_is_there(conn) || kdapl_id_is_dying(conn))
		return;
	cm_ops(conn)->lock(conn->id);
	kdapl_id_input(conn, KDAPL_ID_IN_DISCONNECT);
	cm_ops(conn)->unlock(conn->id);
}

/**
 * kdapl_id_retire - have the id destroyed
 * @conn: the caller is its work item, and the users of the id are through
 *
 * Does not wait.  Destroying an id waits for work of the kernel's CM and address resolution,
 * which may wait for memory.  The end of a connection must not wait for memory
 * (kdapl_kernel_wq), so another work item destroys the id.
 *
 * Return: true: there is no id (any more), and no callback runs or will run; false: the
 * work item runs again when that is so.
 */
bool kdapl_id_retire(struct kdapl_conn *conn)
{
	if (!kdapl_id_is_there(conn))
		return true;
	if (!kdapl_id_is_dying(conn)) {
		id_change(conn, KDAPL_ID_IN_RETIRE);
		kdapl_conn_run_slow(conn);
	}
	return false;
}

/**
 * kdapl_id_destroy - destroy the id
 * @conn: the caller is its second work item, and it was retired
 *
 * No callback runs or will run on return.  May sleep, also for memory.
 */
void kdapl_id_destroy(struct kdapl_conn *conn)
{
	cm_ops(conn)->destroy(conn->id);
	conn->id = NULL;
	id_change(conn, KDAPL_ID_IN_DESTROY);
	wake_up_all(&conn->wait);
}
