// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receiving.  A message arrives in an upcall, which lists it.  An nfsd thread takes it from
 * the list (svckdat_recvfrom()).  Either the message is a complete call, or the thread
 * starts to read the rest of it from the client (read.c) and goes on with other work.  When
 * the rest has arrived, the call is listed again, and the next thread that comes gets all
 * of it.
 *
 * A receive buffer is posted again before the reply to its call goes out.  So it is enough
 * to have as many buffers as the client has credits, and a few for the replies to our own
 * calls.  A client that sends more than that finds no receive.
 */
#include "svckdat.h"

/* ---- completions --------------------------------------------------------- */

static void list_recv(struct svckdat_conn *conn, struct svckdat_recv *recv,
		      struct list_head *list)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	list_add_tail(&recv->entry, list);
	set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock_irqrestore(&conn->lock, flags);
	svc_xprt_enqueue(&conn->xprt);
}

static void received(struct svckdat_conn *conn, struct svckdat_dto *dto, bool ok,
		     u32 length)
{
	struct svckdat_recv *recv = container_of(dto, struct svckdat_recv, received);

	if (!ok)
		return;
	recv->length = length;
	list_recv(conn, recv, &conn->arrived);
}

/* The last read has completed, and so have those before it. */
static void was_read(struct svckdat_conn *conn, struct svckdat_dto *dto, bool ok,
		     u32 length)
{
	struct svckdat_recv *recv = container_of(dto, struct svckdat_recv, read);

	/*
	 * If a read failed, others may still be under way: map and pages stay until the
	 * connection is freed.
	 */
	if (!ok || !svckdat_map_put(conn, recv->map))
		return;
	WRITE_ONCE(recv->map, NULL);
	list_recv(conn, recv, &conn->complete);
}

/**
 * svckdat_recv_init - prepare a recv
 * @recv: zeroed
 */
void svckdat_recv_init(struct svckdat_recv *recv)
{
	recv->received.done = received;
	recv->read.done = was_read;
}

/* ---- the life of a recv -------------------------------------------------- */

/**
 * svckdat_recv_again - a call is dealt with: release what it has, and post its receive
 * again
 * @conn: a connection
 * @recv: the recv, which nobody else uses any more
 *
 * Process context.
 */
void svckdat_recv_again(struct svckdat_conn *conn, struct svckdat_recv *recv)
{
	if (recv->send) {
		svckdat_send_put(conn, recv->send);
		recv->send = NULL;
	}
	if (recv->counted) {
		recv->counted = false;
		atomic_dec(&conn->calls);
	}
	recv->misfit = false;
	recv->nr_results = 0;
	if (!READ_ONCE(conn->over))
		svckdat_post_recv(conn, recv);
}

/**
 * svckdat_release_ctxt - a call will not be answered
 * @xprt: its connection
 * @ctxt: the recv, or NULL when it was answered
 *
 * Process context.
 */
void svckdat_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		svckdat_recv_again(svckdat_conn_of(xprt), ctxt);
}

/*
 * Takes the next thing to do.  Complete calls go first, since they hold memory.  A message
 * is taken only together with a send for its answer.  XPT_DATA stays set while anything is
 * listed, because nobody would set it again.
 */
static struct svckdat_recv *next_recv(struct svckdat_conn *conn, bool *complete)
{
	struct svckdat_recv *recv;
	struct svckdat_send *send;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	recv = list_first_entry_or_null(&conn->complete, struct svckdat_recv, entry);
	*complete = recv;
	if (!recv && !list_empty(&conn->arrived)) {
		send = svckdat_send_take(conn);
		if (send) {
			recv = list_first_entry(&conn->arrived, struct svckdat_recv, entry);
			recv->send = send;
		}
	}
	if (recv)
		list_del(&recv->entry);
	if (list_empty(&conn->complete) && list_empty(&conn->arrived))
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock_irqrestore(&conn->lock, flags);
	return recv;
}

/* ---- calls --------------------------------------------------------------- */

static int give_call(struct svc_rqst *rqstp, struct svckdat_recv *recv)
{
	rqstp->rq_xprt_ctxt = recv;
	rqstp->rq_prot = IPPROTO_MAX;
	svckdat_secure_port(rqstp);
	svc_xprt_copy_addrs(rqstp, rqstp->rq_xprt);
	return rqstp->rq_arg.len;
}

static void inline_call(struct svc_rqst *rqstp, const struct svckdat_header *header)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = header->rpc;
	arg->head[0].iov_len = header->rpc_length;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;
	arg->page_base = 0;
	arg->page_len = 0;
	arg->buflen = header->rpc_length;
	arg->len = header->rpc_length;
}

/*
 * A client with more calls than credits is disconnected: they would take what is kept for
 * replies to our own calls.
 */
static bool count_call(struct svckdat_conn *conn, struct svckdat_recv *recv)
{
	recv->counted = true;
	if (atomic_inc_return(&conn->calls) <= conn->credits)
		return true;
	pr_warn_ratelimited("svckdat: %s: more calls than credits\n",
			    conn->xprt.xpt_remotebuf);
	return false;
}

/*
 * Returns the length of a call that is complete; 0 for a call that has to be read first;
 * -errno.
 */
static int take_call(struct svc_rqst *rqstp, struct svckdat_conn *conn,
		     struct svckdat_recv *recv)
{
	const struct svckdat_header *header = &recv->header;

	if (!count_call(conn, recv))
		return -EPROTO;
	if (header->rpc_length < SVCKDAT_MIN_CALL && header->proc == RDMA_MSG)
		return -EPROTO;
	if (header->nr_reads)
		return svckdat_read_call(rqstp, conn, recv);
	inline_call(rqstp, header);
	return give_call(rqstp, recv);
}

/*
 * The client is told of -EINVAL and -EPROTONOSUPPORT (RFC 8166, 4.5).  An error that cannot
 * be answered ends the connection.
 */
static int take_message(struct svc_rqst *rqstp, struct svckdat_conn *conn,
			struct svckdat_recv *recv)
{
	int ret;

	ret = svckdat_decode_header(&recv->header, recv->buf.va, recv->length);
	if (ret > 0 && svckdat_is_back_reply(conn, &recv->header)) {
		svckdat_back_reply(conn, recv);
		ret = 0;
	} else if (ret > 0) {
		ret = take_call(rqstp, conn, recv);
		if (ret >= 0)
			return ret;
	}
	if (ret == -EINVAL || ret == -EPROTONOSUPPORT) {
		svckdat_send_error(conn, recv, ret);
		return 0;
	}
	if (ret < 0)
		svckdat_conn_over(conn);
	svckdat_recv_again(conn, recv);
	return 0;
}

/**
 * svckdat_recvfrom - give an nfsd thread a call
 * @rqstp: the thread; rq_xprt is busy until svc_xprt_received()
 *
 * Does not wait for the client's data.  Process context.
 *
 * Return: length of the call; 0: nothing yet.
 */
int svckdat_recvfrom(struct svc_rqst *rqstp)
{
	struct svckdat_conn *conn = svckdat_conn_of(rqstp->rq_xprt);
	struct svckdat_recv *recv;
	bool complete;

	svckdat_no_reply_pages(rqstp);
	rqstp->rq_xprt_ctxt = NULL;
	recv = next_recv(conn, &complete);
	svc_xprt_received(rqstp->rq_xprt);
	if (!recv)
		return 0;
	if (!complete)
		return take_message(rqstp, conn, recv);
	svckdat_assemble_call(rqstp, conn, recv);
	return give_call(rqstp, recv);
}
