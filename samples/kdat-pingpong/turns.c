// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The game: what each side does when a transfer has completed.
 *
 * All of this runs in the upcall of the connection's DTO EVD, for one
 * completion at a time, so nothing here needs a lock.  Only pp_turn_start() is
 * called from elsewhere, and that is before the first completion.
 */
#include <linux/ktime.h>
#include "pp.h"

/**
 * pp_mode_name - the name of a mode, as parameters and results have it
 * @mode: any of the enum
 *
 * Return: the name.
 */
const char *pp_mode_name(enum pp_mode mode)
{
	static const char * const names[] = {
		[PP_SEND] = "send",
		[PP_WRITE] = "write",
		[PP_READ] = "read",
	};

	return names[mode];
}

/* ---- the pattern -------------------------------------------------------- */

/* Writes our data of this turn. */
static void fill_pattern(struct pp_conn *conn, struct pp_buf *buf)
{
	u8 *byte = buf->va;
	u32 i;

	if (!conn->game.verify)
		return;
	for (i = 0; i < conn->game.size; i++)
		byte[i] = pp_byte(conn->turn, i, conn->server);
}

/* Do the bytes at @byte look as the peer has to send them in this turn? */
static bool is_pattern(struct pp_conn *conn, const u8 *byte)
{
	u32 i;

	if (!conn->game.verify)
		return true;
	for (i = 0; i < conn->game.size; i++)
		if (byte[i] != pp_byte(conn->turn, i, !conn->server))
			return false;
	return true;
}

/* ---- what both sides do ------------------------------------------------- */

static void *slot_of_turn(struct pp_conn *conn)
{
	return conn->slots.va + (conn->turn % conn->game.depth) *
	       (conn->slots.size / conn->game.depth);
}

static DAT_RETURN send_notice(struct pp_conn *conn, enum pp_status status)
{
	struct pp_control *control = conn->control.va;

	control->notice.iteration = cpu_to_be32(conn->turn);
	control->notice.status = cpu_to_be32(status);
	return pp_post_send(conn, &conn->control,
			    offsetof(struct pp_control, notice),
			    sizeof(control->notice));
}

/* Tells the peer that its data were wrong, and ends the game. */
static void refuse_data(struct pp_conn *conn)
{
	conn->error = "wrong data";
	if (conn->game.mode == PP_SEND) {
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
		return;
	}
	/* A graceful disconnect lets the notice complete first. */
	send_notice(conn, PP_BAD_DATA);
	dat_ep_disconnect(conn->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

/* The message of this turn is a notice.  Is it the right one? */
static bool notice_ok(struct pp_conn *conn)
{
	const struct pp_notice *notice = slot_of_turn(conn);

	if (be32_to_cpu(notice->status) != PP_OK) {
		conn->error = "peer saw wrong data";
		return false;
	}
	if (be32_to_cpu(notice->iteration) != conn->turn) {
		conn->error = "peer is out of step";
		return false;
	}
	return true;
}

/* The memory that the peer's data of this turn arrive in */
static const void *peer_data(struct pp_conn *conn)
{
	switch (conn->game.mode) {
	case PP_SEND:
		return slot_of_turn(conn);
	case PP_WRITE:
		return conn->open.va;
	default:
		return conn->work.va;
	}
}

/* Sends our data of this turn, or tells the peer that it may read them. */
static DAT_RETURN send_data(struct pp_conn *conn)
{
	DAT_RETURN ret;

	switch (conn->game.mode) {
	case PP_SEND:
		fill_pattern(conn, &conn->work);
		return pp_post_send(conn, &conn->work, 0, conn->game.size);
	case PP_WRITE:
		fill_pattern(conn, &conn->work);
		ret = pp_post_rdma(conn, PP_WRITTEN);
		return ret ?: send_notice(conn, PP_OK);
	default:
		fill_pattern(conn, &conn->open);
		return send_notice(conn, PP_OK);
	}
}

/*
 * Have the peer's data of this turn arrived?  In PP_READ, when the notice has
 * come, this posts the RDMA read that gets them.
 */
static bool data_arrived(struct pp_conn *conn)
{
	if (!conn->arrived)
		return false;
	if (conn->game.mode == PP_READ && !conn->reading) {
		conn->reading = true;
		if (pp_post_rdma(conn, PP_WAS_READ))
			pp_fail(conn, "RDMA read refused");
		return false;
	}
	return true;
}

/*
 * Checks the peer's data and posts their slot again.  False: the game is over.
 */
static bool take_data(struct pp_conn *conn)
{
	if (!is_pattern(conn, peer_data(conn))) {
		refuse_data(conn);
		return false;
	}
	if (pp_post_slot(conn, conn->turn % conn->game.depth)) {
		pp_fail(conn, "receive refused");
		return false;
	}
	conn->arrived--;
	conn->reading = false;
	return true;
}

/* ---- the client --------------------------------------------------------- */

/* Begins a turn. */
static void client_begin_turn(struct pp_conn *conn)
{
	conn->started = ktime_get_ns();
	if (send_data(conn))
		pp_fail(conn, "post refused");
}

/* Ends the turn if its data have arrived, and begins the next one. */
static void client_go_on(struct pp_conn *conn)
{
	if (conn->pending || !data_arrived(conn))
		return;
	if (!take_data(conn))
		return;
	conn->times[conn->turn] = ktime_get_ns() - conn->started;
	if (++conn->turn < conn->game.iterations)
		client_begin_turn(conn);
	else
		dat_ep_disconnect(conn->ep, conn->game.abrupt ?
				  DAT_CLOSE_ABRUPT_FLAG :
				  DAT_CLOSE_GRACEFUL_FLAG);
}

/**
 * pp_turn_start - send the server our info
 * @conn: a client's connection, just established
 *
 * The completion of this send starts the first turn.  Any context.
 */
void pp_turn_start(struct pp_conn *conn)
{
	struct pp_control *control = conn->control.va;

	pp_conn_own_info(conn, &control->info);
	if (pp_post_send(conn, &conn->control,
			 offsetof(struct pp_control, info),
			 sizeof(control->info)))
		pp_fail(conn, "post refused");
}

/* ---- the server --------------------------------------------------------- */

/* Answers the client if its data have arrived. */
static void server_go_on(struct pp_conn *conn)
{
	/* The buffer of a pending request must not change. */
	if (conn->pending || !data_arrived(conn))
		return;
	if (!take_data(conn))
		return;
	if (send_data(conn)) {
		pp_fail(conn, "post refused");
		return;
	}
	conn->turn++;
}

/* ---- the upcall --------------------------------------------------------- */

static void got_info(struct pp_conn *conn)
{
	const struct pp_control *control = conn->control.va;

	conn->peer = control->peer_info;
	if (be32_to_cpu(conn->peer.magic) != PP_MAGIC ||
	    be32_to_cpu(conn->peer.version) != PP_VERSION)
		pp_fail(conn, "bad info");
}

/* Counts and checks a message.  False: it is wrong, and the game is over. */
static bool got_message(struct pp_conn *conn, DAT_VLEN length)
{
	bool notice = conn->game.mode != PP_SEND;

	if (length != (notice ? sizeof(struct pp_notice) : conn->game.size)) {
		pp_fail(conn, "message of a wrong length");
		return false;
	}
	if (++conn->arrived > 1) {
		pp_fail(conn, "peer is out of step");
		return false;
	}
	if (notice && !notice_ok(conn)) {
		dat_ep_disconnect(conn->ep, DAT_CLOSE_GRACEFUL_FLAG);
		return false;
	}
	return true;
}

/**
 * pp_turn_event - go on with the game after a completion
 * @conn: the connection
 * @dto: what the event says
 *
 * Called from the upcall of the DTO EVD.
 */
void pp_turn_event(struct pp_conn *conn,
		   const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	enum pp_cookie what = dto->user_cookie.as_64;

	if (what != PP_GOT_INFO && what != PP_GOT_MESSAGE)
		conn->pending--;
	if (dto->status != DAT_DTO_SUCCESS) {
		/* The connection is ending, and its event will follow. */
		if (dto->status != DAT_DTO_ERR_FLUSHED && !conn->error)
			conn->error = "transfer failed";
		return;
	}
	if (conn->error)
		return;

	switch (what) {
	case PP_GOT_INFO:
		got_info(conn);
		return;
	case PP_GOT_MESSAGE:
		if (!got_message(conn, dto->transfered_length))
			return;
		break;
	default:
		break;
	}

	if (conn->server)
		server_go_on(conn);
	else if (!conn->started && !conn->pending)
		client_begin_turn(conn);
	else
		client_go_on(conn);
}
