// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A connection of either side: its memory, its event dispatchers, its endpoint,
 * and the upcall that gets all its events.  Called by client.c, server.c and
 * turns.c.
 *
 * The upcall of an EVD that has only completions runs in softirq context, which
 * is the fastest.  A game without verification uses that.  Checking a megabyte
 * in softirq context would hold up the processor.  So a game with verification
 * has completions and connection events on one EVD, whose upcall runs in
 * process context.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "pp.h"

/* ESTABLISHED, and the event of the end */
#define PP_CONNECTION_EVENTS	2
/* Room for the requests of a turn (RDMA write and notice, or RDMA read), and for the first info */
#define PP_REQUESTS		4

static int pp_buf_create(struct pp_ia *ia, struct pp_buf *buf, size_t size,
			 DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region;

	buf->size = max_t(size_t, size, 1);
	if (buf->size > ia->max_block)
		return -E2BIG;
	buf->va = kvzalloc(buf->size, GFP_KERNEL);
	if (!buf->va)
		return -ENOMEM;
	region.for_va = buf->va;
	if (dat_lmr_kcreate(ia->ia, DAT_MEM_TYPE_VIRTUAL, region, buf->size,
			    ia->pz, privileges, DAT_MEM_OPTIMIZE_DONT_CARE,
			    &buf->lmr, &buf->context, &buf->rmr_context, NULL,
			    NULL)) {
		kvfree(buf->va);
		buf->va = NULL;
		return -EIO;
	}
	return 0;
}

static void pp_buf_destroy(struct pp_buf *buf)
{
	if (!buf->va)
		return;
	dat_lmr_free(buf->lmr);
	kvfree(buf->va);
	buf->va = NULL;
}

/*
 * All messages of a game have the same size, except the info at its start,
 * which is received into @control.
 */
static size_t slot_size(const struct pp_game *game)
{
	return game->mode == PP_SEND ? max_t(size_t, game->size, 1) :
				       sizeof(struct pp_notice);
}

static int pp_bufs_create(struct pp_conn *conn)
{
	const struct pp_game *game = &conn->game;
	const DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG |
					 DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	int err;

	err = pp_buf_create(conn->ia, &conn->open, game->size,
			    DAT_MEM_PRIV_ALL_FLAG);
	if (!err)
		err = pp_buf_create(conn->ia, &conn->work, game->size, local);
	if (!err)
		err = pp_buf_create(conn->ia, &conn->slots,
				    slot_size(game) * game->depth, local);
	if (!err)
		err = pp_buf_create(conn->ia, &conn->control,
				    sizeof(struct pp_control), local);
	return err;
}

static void pp_bufs_destroy(struct pp_conn *conn)
{
	pp_buf_destroy(&conn->control);
	pp_buf_destroy(&conn->slots);
	pp_buf_destroy(&conn->work);
	pp_buf_destroy(&conn->open);
}

/* ---- the upcall --------------------------------------------------------- */

/* The outcome of connecting, or the end of the connection. */
static void connection_event(struct pp_conn *conn, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		/* On the client the private data describe the server's buffer. */
		if (conn->server)
			return;
		if (data->private_data_size >= (int)sizeof(conn->peer)) {
			memcpy(&conn->peer, data->private_data,
			       sizeof(conn->peer));
			pp_turn_start(conn);
		} else {
			pp_fail(conn, "short answer");
		}
		return;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		if (conn->turn < conn->game.iterations && !conn->error)
			conn->error = "peer disconnected";
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		conn->error = "peer rejected";
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		conn->error = "nobody listens";
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		conn->error = "unreachable";
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		conn->error = "connecting timed out";
		break;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		conn->error = "peer went away";
		break;
	default:
		conn->error = conn->error ?: "connection broken";
		break;
	}
	conn->ended(conn);
}

static void pp_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		      DAT_BOOLEAN more_events)
{
	struct pp_conn *conn = instance_data;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		pp_turn_event(conn,
			      &event->event_data.dto_completion_event_data);
	else
		connection_event(conn, event);
}

/* ---- make and free ------------------------------------------------------ */

static int pp_evds_create(struct pp_conn *conn)
{
	DAT_IA_HANDLE ia = conn->ia->ia;
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = conn,
		.upcall_func = pp_upcall,
	};
	int completions = PP_REQUESTS + conn->game.depth + 1;

	if (conn->game.verify) {
		if (dat_evd_kcreate(ia, completions + PP_CONNECTION_EVENTS,
				    DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
				    &conn->dto_evd))
			return -EIO;
		conn->conn_evd = conn->dto_evd;
		return 0;
	}
	if (dat_evd_kcreate(ia, completions, DAT_UPCALL_SINGLE_INSTANCE,
			    &upcall, DAT_EVD_DTO_FLAG, &conn->dto_evd))
		return -EIO;
	if (dat_evd_kcreate(ia, PP_CONNECTION_EVENTS,
			    DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			    DAT_EVD_CONNECTION_FLAG, &conn->conn_evd))
		return -EIO;
	return 0;
}

static int pp_ep_create(struct pp_conn *conn)
{
	const struct pp_game *game = &conn->game;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = max_t(u32, game->size,
					  sizeof(struct pp_info)),
		.max_rdma_size = max_t(u32, game->size, 1),
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = game->depth + 1,
		.max_request_dtos = PP_REQUESTS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	if (dat_ep_create(conn->ia->ia, conn->ia->pz, conn->dto_evd,
			  conn->dto_evd, conn->conn_evd, &attr, &conn->ep))
		return -EIO;
	return 0;
}

/**
 * pp_conn_create - make what a connection needs
 * @conn: zeroed, with @ia, @game, @server and @ended set
 *
 * May sleep.
 *
 * Return: 0; -EIO, -ENOMEM, -E2BIG.  Either way the caller has to call
 * pp_conn_destroy() in the end.
 */
int pp_conn_create(struct pp_conn *conn)
{
	int err;

	err = pp_bufs_create(conn);
	if (!err)
		err = pp_evds_create(conn);
	if (!err)
		err = pp_ep_create(conn);
	return err;
}

/**
 * pp_conn_destroy - free what pp_conn_create() made, as far as it came
 * @conn: a connection in any state
 *
 * The order matters: once the EP is free the device leaves the buffers alone,
 * and an EVD can be freed when no EP uses it any more.  May sleep; not from the
 * upcall, since dat_evd_free() waits for that to return.
 */
void pp_conn_destroy(struct pp_conn *conn)
{
	if (conn->ep)
		dat_ep_free(conn->ep);
	if (conn->conn_evd && conn->conn_evd != conn->dto_evd)
		dat_evd_free(conn->conn_evd);
	if (conn->dto_evd)
		dat_evd_free(conn->dto_evd);
	pp_bufs_destroy(conn);
}

/**
 * pp_fail - give a game up: note why, and disconnect
 * @conn: the connection
 * @why: a constant string
 *
 * Any context.
 */
void pp_fail(struct pp_conn *conn, const char *why)
{
	if (!conn->error)
		conn->error = why;
	dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- posting ------------------------------------------------------------ */

static DAT_LMR_TRIPLET buf_segment(const struct pp_buf *buf, size_t offset,
				   size_t length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = buf->context,
		.virtual_address = (uintptr_t)buf->va + offset,
		.segment_length = length,
	};
}

static DAT_RETURN post_recv(struct pp_conn *conn, struct pp_buf *buf,
			    size_t offset, size_t length, enum pp_cookie what)
{
	DAT_LMR_TRIPLET iov = buf_segment(buf, offset, length);
	DAT_DTO_COOKIE cookie = { .as_64 = what };

	return dat_ep_post_recv(conn->ep, 1, &iov, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

/**
 * pp_post_slot - post a receive slot (again)
 * @conn: the connection
 * @slot: number of the slot, below @conn->game.depth
 *
 * Any context.
 *
 * Return: what dat_ep_post_recv() says.
 */
DAT_RETURN pp_post_slot(struct pp_conn *conn, u32 slot)
{
	size_t size = slot_size(&conn->game);

	return post_recv(conn, &conn->slots, slot * size, size,
			 PP_GOT_MESSAGE);
}

/**
 * pp_conn_post_recvs - post all receives that have to be there before the peer
 * sends
 * @conn: a new connection
 *
 * The first message to a server is the client's info, so its receive comes
 * first.  Any context.
 *
 * Return: 0; -EIO when a post was refused.
 */
int pp_conn_post_recvs(struct pp_conn *conn)
{
	u32 slot;

	if (conn->server &&
	    post_recv(conn, &conn->control,
		      offsetof(struct pp_control, peer_info),
		      sizeof(struct pp_info), PP_GOT_INFO))
		return -EIO;
	for (slot = 0; slot < conn->game.depth; slot++)
		if (pp_post_slot(conn, slot))
			return -EIO;
	return 0;
}

/**
 * pp_post_send - post a send
 * @conn: connected
 * @buf: buffer of @conn that holds the message
 * @offset: where in @buf it begins
 * @length: bytes
 *
 * Any context.
 *
 * Return: what dat_ep_post_send() says.
 */
DAT_RETURN pp_post_send(struct pp_conn *conn, struct pp_buf *buf, size_t offset,
			size_t length)
{
	DAT_LMR_TRIPLET iov = buf_segment(buf, offset, length);
	DAT_DTO_COOKIE cookie = { .as_64 = PP_SENT };
	DAT_RETURN ret;

	conn->pending++;
	ret = dat_ep_post_send(conn->ep, 1, &iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret)
		conn->pending--;
	return ret;
}

/**
 * pp_post_rdma - post an RDMA transfer between @conn->work and the peer's
 * buffer
 * @conn: connected, and @conn->peer is known
 * @what: PP_WRITTEN: write to the peer; PP_WAS_READ: read from the peer
 *
 * Any context.
 *
 * Return: what dat_ep_post_rdma_write() or dat_ep_post_rdma_read() says.
 */
DAT_RETURN pp_post_rdma(struct pp_conn *conn, enum pp_cookie what)
{
	DAT_LMR_TRIPLET iov = buf_segment(&conn->work, 0, conn->game.size);
	DAT_RMR_TRIPLET remote = {
		.rmr_context = be32_to_cpu(conn->peer.rmr_context),
		.target_address = be64_to_cpu(conn->peer.address),
		.segment_length = conn->game.size,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = what };
	DAT_RETURN ret;

	conn->pending++;
	if (what == PP_WRITTEN)
		ret = dat_ep_post_rdma_write(conn->ep, 1, &iov, cookie, &remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_read(conn->ep, 1, &iov, cookie, &remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	if (ret)
		conn->pending--;
	return ret;
}

/**
 * pp_conn_own_info - describe the buffer that the peer may use
 * @conn: the connection
 * @info: out, as it goes over the wire
 *
 * Any context.
 */
void pp_conn_own_info(struct pp_conn *conn, struct pp_info *info)
{
	*info = (struct pp_info) {
		.magic = cpu_to_be32(PP_MAGIC),
		.version = cpu_to_be32(PP_VERSION),
		.address = cpu_to_be64((uintptr_t)conn->open.va),
		.length = cpu_to_be64(conn->open.size),
		.rmr_context = cpu_to_be32(conn->open.rmr_context),
	};
}
