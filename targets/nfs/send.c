// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Replies.  The parts of a reply that belong into the client's write chunks and reply chunk
 * are written there.  The rest goes out as a message, which is posted last.  When the send
 * has completed, the writes before it have too, and what they used is released; the nfsd
 * thread does not wait for that.
 *
 * The part that is not in chunks is copied into the send's buffer, up to the length of a
 * message that the client takes.  RDMA writes take their data from where it is, usually the
 * page cache: the map holds these pages until the send has completed.
 */
#include <linux/mm.h>
#include <linux/sunrpc/xdr.h>
#include "svckdat.h"

/* ---- sends --------------------------------------------------------------- */

static void sent(struct svckdat_conn *conn, struct svckdat_dto *dto, bool ok, u32 length)
{
	struct svckdat_send *send = container_of(dto, struct svckdat_send, sent);

	svckdat_send_put(conn, send);
	svc_xprt_enqueue(&conn->xprt);
}

/*
 * Called only for writes that have failed.  Nothing to do: what they used is released when
 * the send behind them completes.
 */
static void written(struct svckdat_conn *conn, struct svckdat_dto *dto, bool ok,
		    u32 length)
{
}

/**
 * svckdat_send_init - prepare a send
 * @send: zeroed
 */
void svckdat_send_init(struct svckdat_send *send)
{
	send->sent.done = sent;
	send->written.done = written;
}

/**
 * svckdat_send_get - take a free send
 * @conn: a connection
 *
 * Any context.
 *
 * Return: the send, or NULL.
 */
struct svckdat_send *svckdat_send_get(struct svckdat_conn *conn)
{
	struct svckdat_send *send;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	send = svckdat_send_take(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
	return send;
}

/**
 * svckdat_send_put - free a send, with its map
 * @conn: its connection
 * @send: no DTO of it is outstanding
 *
 * Any context.
 */
void svckdat_send_put(struct svckdat_conn *conn, struct svckdat_send *send)
{
	unsigned long flags;

	if (send->map) {
		svckdat_map_put(conn, send->map);
		send->map = NULL;
	}
	spin_lock_irqsave(&conn->lock, flags);
	svckdat_send_give(conn, send);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* ---- what belongs where -------------------------------------------------- */

/**
 * svckdat_result_payload - nfsd names a result that may go to a write chunk
 * @rqstp: the thread, which encodes the reply
 * @offset: where in the reply
 * @length: bytes
 *
 * Results go to the chunks in order.  The writes are posted when the reply is complete.  A
 * result is not conveyed if it is longer than its chunk, does not begin at a multiple of 4,
 * or begins before the end of the previous one; the client is told of that when the reply
 * is complete (-E2BIG in plan()).  If this returned an error, nfsd would abandon a
 * half-encoded reply.
 *
 * Return: 0.
 */
int svckdat_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			   unsigned int length)
{
	struct svckdat_recv *recv = rqstp->rq_xprt_ctxt;
	unsigned int n = recv->nr_results;
	const struct svckdat_result *last = n ? &recv->results[n - 1] : NULL;

	if (!length || n == recv->header.nr_writes)
		return 0;
	if (length > svckdat_chunk_size(svckdat_write_chunk(&recv->header, n)) ||
	    offset % 4 || (last && offset < round_up(last->position + last->length, 4))) {
		recv->misfit = true;
		return 0;
	}
	recv->results[n] = (struct svckdat_result) {
		.position = offset,
		.length = length,
	};
	recv->nr_results++;
	return 0;
}

/* Iterates over the parts of a reply that no write chunk takes */
struct rest {
	const struct svckdat_recv *recv;
	u32 length;		/* of the reply */
	unsigned int n;		/* parts so far */
	u32 from, to;
	bool last;
};

/* The next part; false if there is none.  The padding of a result is not conveyed at all. */
static bool next_rest(struct rest *r)
{
	const struct svckdat_result *result = &r->recv->results[r->n];

	if (r->last)
		return false;
	r->from = r->n ? min(round_up(result[-1].position + result[-1].length, 4),
			     r->length) : 0;
	r->last = r->n == r->recv->nr_results;
	r->to = r->last ? r->length : result->position;
	r->n++;
	return true;
}

static u32 rest_length(const struct svckdat_recv *recv, const struct xdr_buf *reply)
{
	struct rest r = { .recv = recv, .length = reply->len };
	u32 length = 0;

	while (next_rest(&r))
		length += r.to - r.from;
	return length;
}

static int copy_rest(const struct svckdat_recv *recv, const struct xdr_buf *reply, void *to)
{
	struct rest r = { .recv = recv, .length = reply->len };

	for (; next_rest(&r); to += r.to - r.from)
		if (r.to > r.from &&
		    read_bytes_from_xdr_buf(reply, r.from, to, r.to - r.from))
			return -EMSGSIZE;
	return 0;
}

/* ---- writing ------------------------------------------------------------- */

/* A reply on its way */
struct reply {
	struct svckdat_conn *conn;
	struct svckdat_recv *recv;
	struct svckdat_send *send;
	const struct xdr_buf *xdr;
	u32 header;		/* bytes of the transport header */
	u32 rest;		/* bytes that no write chunk takes */
	bool whole;		/* the rest is inline, not in the reply chunk */
	u32 from, to;		/* the part that is mapped */
};

/* Where in a chunk the next bytes are written */
struct target {
	const __be32 *chunk;
	unsigned int n;
	u32 offset;
};

/* The chunk is known to be large enough. */
static int write_part(struct reply *reply, struct target *t, u32 from, u32 left)
{
	struct svckdat_segment segment;
	int err;

	while (left) {
		svckdat_chunk_segment(t->chunk, t->n, &segment);
		segment.offset += t->offset;
		segment.length -= t->offset;
		if (segment.length <= left) {
			t->n++;
			t->offset = 0;
		} else {
			segment.length = left;
			t->offset += left;
		}
		if (!segment.length)
			continue;
		err = svckdat_post_write(reply->conn, reply->send, from - reply->from,
					 &segment);
		if (err)
			return err;
		from += segment.length;
		left -= segment.length;
	}
	return 0;
}

static int write_results(struct reply *reply)
{
	const struct svckdat_recv *recv = reply->recv;
	unsigned int i;
	int err = 0;

	for (i = 0; i < recv->nr_results && !err; i++) {
		struct target t = { .chunk = svckdat_write_chunk(&recv->header, i) };

		err = write_part(reply, &t, recv->results[i].position,
				 recv->results[i].length);
	}
	return err;
}

static int write_rest(struct reply *reply)
{
	struct rest r = { .recv = reply->recv, .length = reply->xdr->len };
	struct target t = { .chunk = reply->recv->header.reply };
	int err = 0;

	while (!err && next_rest(&r))
		err = write_part(reply, &t, r.from, r.to - r.from);
	return err;
}

static int map_written(struct reply *reply)
{
	struct svckdat_send *send = reply->send;

	send->map = svckdat_map_get(reply->conn, send->give_up);
	if (!send->map)
		return -ENOTCONN;
	return svckdat_map_reply(send->map, reply->xdr, reply->from,
				 reply->to - reply->from);
}

/* ---- replying ------------------------------------------------------------ */

/* Drops results that nfsd has named and then cut off because the reply became too long. */
static void drop_cut_off(struct svckdat_recv *recv, const struct xdr_buf *xdr)
{
	const struct svckdat_result *last;

	for (; recv->nr_results; recv->nr_results--) {
		last = &recv->results[recv->nr_results - 1];
		if (last->position + last->length <= xdr->len)
			break;
	}
}

/*
 * Decides what goes where.  A reply that fits into a message is sent inline even if there
 * is a reply chunk, which is then returned unused: that takes fewer transfers.
 */
static int plan(struct reply *reply)
{
	struct svckdat_recv *recv = reply->recv;
	const struct svckdat_result *last;

	if (recv->misfit)
		return -E2BIG;
	drop_cut_off(recv, reply->xdr);
	reply->header = svckdat_reply_size(recv);
	reply->rest = rest_length(recv, reply->xdr);
	if (reply->header > reply->conn->send_limit)
		return -E2BIG;
	reply->whole = reply->rest <= reply->conn->send_limit - reply->header;
	if (!reply->whole && (!recv->header.reply ||
			      reply->rest > svckdat_chunk_size(recv->header.reply)))
		return -E2BIG;
	if (!reply->whole) {
		reply->to = reply->xdr->len;
	} else if (recv->nr_results) {
		last = &recv->results[recv->nr_results - 1];
		reply->from = recv->results[0].position;
		reply->to = last->position + last->length;
	}
	return 0;
}

/* Writes the message into the send's buffer. */
static int encode(struct reply *reply)
{
	struct svckdat_conn *conn = reply->conn;
	void *message = reply->send->buf.va;

	svckdat_encode_reply(reply->recv, message, conn->credits,
			     reply->whole ? 0 : reply->rest);
	if (!reply->whole)
		return 0;
	return copy_rest(reply->recv, reply->xdr, message + reply->header);
}

static int write_all(struct reply *reply)
{
	int err;

	if (reply->from == reply->to)
		return 0;
	err = write_results(reply);
	if (!err && !reply->whole)
		err = write_rest(reply);
	return err;
}

/*
 * The call's receive buffer is posted before the reply goes out, since the client may send
 * its next call at once.  After an error here it is not known which writes have completed,
 * so the send keeps the map until the connection is freed.
 */
static int post(struct reply *reply)
{
	struct svckdat_conn *conn = reply->conn;
	struct svckdat_recv *recv = reply->recv;
	u32 length = reply->header + (reply->whole ? reply->rest : 0);
	u32 handle = conn->may_invalidate ? recv->header.handle : 0;
	int err;

	recv->send = NULL;
	err = write_all(reply);
	svckdat_recv_again(conn, recv);
	if (!err)
		err = svckdat_post_send(conn, reply->send, length, handle, true);
	return err;
}

/*
 * May the thread use the first page of the reply again?  Head and tail are in that page; it
 * must not be the source of an RDMA write.
 */
static bool first_page_copied(const struct reply *reply)
{
	const struct xdr_buf *xdr = reply->xdr;
	u32 head = xdr->head[0].iov_len;

	return reply->whole &&
	       (reply->from == reply->to ||
		(reply->from >= head && reply->to <= head + xdr->page_len));
}

static int send_reply(struct reply *reply)
{
	int err;

	err = plan(reply);
	if (!err && reply->from < reply->to)
		err = map_written(reply);
	if (!err)
		err = encode(reply);
	return err;
}

/*
 * nfsd may have put pages of a file into the reply, and then dropped what it had encoded,
 * for example because the reply became longer than the session allows.  These pages are the
 * next ones of the thread, and sunrpc would leave them to it: then a later call would be
 * read into the file's pages, or a reply written there.  So they are released together with
 * the pages of the reply.
 */
static void release_given_up(struct svc_rqst *rqstp)
{
	struct page **next = rqstp->rq_next_page;

	if (next < rqstp->rq_page_end && *next && page_count(*next) > 1)
		rqstp->rq_next_page = rqstp->rq_page_end;
}

/**
 * svckdat_sendto - send a reply
 * @rqstp: the thread, with the reply in rq_res
 *
 * May wait for room, which means for the client to take what was sent before, but no longer
 * than SVCKDAT_PATIENCE.  Process context.
 *
 * Return: 0; -ENOTCONN.
 */
int svckdat_sendto(struct svc_rqst *rqstp)
{
	struct svckdat_recv *recv = rqstp->rq_xprt_ctxt;
	struct reply reply = {
		.conn = svckdat_conn_of(rqstp->rq_xprt),
		.recv = recv,
		.send = recv->send,
		.xdr = &rqstp->rq_res,
	};
	int err;

	release_given_up(rqstp);
	if (READ_ONCE(reply.conn->over))
		return -ENOTCONN;
	reply.send->give_up = jiffies + SVCKDAT_PATIENCE;
	err = send_reply(&reply);
	if (err == -E2BIG || err == -EMSGSIZE) {
		rqstp->rq_xprt_ctxt = NULL;
		svckdat_send_error(reply.conn, recv, err);
		return 0;
	}
	if (err) {
		svckdat_conn_over(reply.conn);
		return -ENOTCONN;
	}
	rqstp->rq_xprt_ctxt = NULL;
	err = post(&reply);
	if (!err && first_page_copied(&reply))
		svckdat_keep_first_page(rqstp);
	return err;
}

/**
 * svckdat_send_error - tell a client that its call, or the reply, cannot be conveyed
 * @conn: a connection
 * @recv: the call, with its send; its receive is posted again before the message goes out,
 *	as for a reply
 * @err: -EPROTONOSUPPORT: the version is not spoken; else: the chunks are bad
 *
 * Process context.
 */
void svckdat_send_error(struct svckdat_conn *conn, struct svckdat_recv *recv, int err)
{
	struct svckdat_send *send = recv->send;
	__be32 *start = send->buf.va, *p = start;

	*p++ = recv->header.xid;
	*p++ = recv->header.version;
	*p++ = cpu_to_be32(conn->credits);
	*p++ = rdma_error;
	if (err == -EPROTONOSUPPORT) {
		*p++ = err_vers;
		*p++ = rpcrdma_version;
		*p++ = rpcrdma_version;
	} else {
		*p++ = err_chunk;
	}
	recv->send = NULL;
	send->give_up = jiffies + SVCKDAT_PATIENCE;
	svckdat_recv_again(conn, recv);
	svckdat_post_send(conn, send, (void *)p - (void *)start, 0, true);
}
