// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The backchannel (RFC 8167): nfsd calls a client of NFSv4.1 or later on the client's own
 * connection, for example to recall a delegation.  Sunrpc's client side sees that
 * connection as a transport of the class svckdat_back_class; nfsd asks for it by our
 * identifier with XPRT_TRANSPORT_BC.  Calls and replies are messages without chunks.
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xprt.h>
#include "svckdat.h"

/* ---- replies ------------------------------------------------------------- */

/**
 * svckdat_is_back_reply - is this a reply to a call of ours?
 * @conn: where it arrived
 * @header: checked
 *
 * Return: whether it is; then the connection has a backchannel.
 */
bool svckdat_is_back_reply(struct svckdat_conn *conn, const struct svckdat_header *header)
{
	const __be32 *rpc = header->rpc;

	if (!READ_ONCE(conn->xprt.xpt_bc_xprt) || header->proc != RDMA_MSG ||
	    header->nr_reads || header->nr_writes || header->reply)
		return false;
	return header->rpc_length >= 2 * sizeof(*rpc) && rpc[1] == cpu_to_be32(RPC_REPLY);
}

/* The client says how many calls it takes at a time; at least one is assumed. */
static void take_credits(struct rpc_xprt *xprt, u32 credits)
{
	credits = clamp_t(u32, credits, 1, SVCKDAT_BACK_SLOTS);
	spin_lock(&xprt->transport_lock);
	xprt->cwnd = credits << RPC_CWNDSHIFT;
	spin_unlock(&xprt->transport_lock);
}

/*
 * Two threads may handle the same reply if it was sent twice, so all of this is under the
 * lock.
 */
static bool complete_call(struct rpc_xprt *xprt, const struct svckdat_header *header)
{
	struct rpc_rqst *call;

	lockdep_assert_held(&xprt->queue_lock);
	call = xprt_lookup_rqst(xprt, *(const __be32 *)header->rpc);
	if (!call || header->rpc_length > call->rq_rcv_buf.head[0].iov_len)
		return false;
	memcpy(&call->rq_private_buf, &call->rq_rcv_buf, sizeof(call->rq_private_buf));
	memcpy(call->rq_private_buf.head[0].iov_base, header->rpc, header->rpc_length);
	xprt_complete_rqst(call->rq_task, header->rpc_length);
	return true;
}

/**
 * svckdat_back_reply - give a reply to the call that it answers
 * @conn: where it arrived
 * @recv: the message
 *
 * A reply that answers no call, or is too long for it, is dropped.  Process context.
 */
void svckdat_back_reply(struct svckdat_conn *conn, const struct svckdat_recv *recv)
{
	struct rpc_xprt *xprt = conn->xprt.xpt_bc_xprt;
	const __be32 *fixed = recv->buf.va;
	bool known;

	spin_lock(&xprt->queue_lock);
	known = complete_call(xprt, &recv->header);
	spin_unlock(&xprt->queue_lock);
	if (known)
		take_credits(xprt, be32_to_cpu(fixed[2]));
}

/* ---- calls --------------------------------------------------------------- */

/* Returns the length of the message, or -EMSGSIZE. */
static int encode_call(const struct svckdat_conn *conn, const struct rpc_rqst *call,
		       void *message)
{
	u32 length = RPCRDMA_HDRLEN_MIN + call->rq_snd_buf.len;
	__be32 *p = message;

	if (length > conn->send_limit)
		return -EMSGSIZE;
	*p++ = call->rq_xid;
	*p++ = rpcrdma_version;
	*p++ = cpu_to_be32(SVCKDAT_BACK_SLOTS);
	*p++ = rdma_msg;
	*p++ = xdr_zero;
	*p++ = xdr_zero;
	*p++ = xdr_zero;
	if (read_bytes_from_xdr_buf(&call->rq_snd_buf, 0, p, call->rq_snd_buf.len))
		return -EMSGSIZE;
	return length;
}

/* Some kernels do not export rpc_malloc() to modules. */
static int alloc_buffers(struct rpc_task *task)
{
	struct rpc_rqst *call = task->tk_rqstp;

	call->rq_buffer = kmalloc(call->rq_callsize, GFP_NOIO | __GFP_NOWARN);
	call->rq_rbuffer = kmalloc(call->rq_rcvsize, GFP_NOIO | __GFP_NOWARN);
	if (call->rq_buffer && call->rq_rbuffer)
		return 0;
	kfree(call->rq_buffer);
	kfree(call->rq_rbuffer);
	call->rq_buffer = NULL;
	return -ENOMEM;
}

static void free_buffers(struct rpc_task *task)
{
	kfree(task->tk_rqstp->rq_buffer);
	kfree(task->tk_rqstp->rq_rbuffer);
}

static int send_call(struct svckdat_conn *conn, struct rpc_rqst *call)
{
	struct svckdat_send *send;
	int ret;

	if (READ_ONCE(conn->over))
		return -ENOTCONN;
	send = svckdat_send_get(conn);
	if (!send)
		return -ENOBUFS;
	call->rq_xtime = ktime_get();
	ret = encode_call(conn, call, send->buf.va);
	if (ret > 0)
		ret = svckdat_post_send(conn, send, ret, 0, false);
	if (ret)
		svckdat_send_put(conn, send);
	else
		call->rq_xmit_bytes_sent += call->rq_snd_buf.len;
	return ret;
}

/* ---- the transport ------------------------------------------------------- */

static void close_back(struct rpc_xprt *xprt)
{
	xprt_disconnect_done(xprt);
	xprt->cwnd = RPC_CWNDSHIFT;
}

/*
 * Must not wait: that would hold up the calls to all clients.  Sunrpc tries a call again at
 * once as long as the transport counts as connected.  So a connection that is over is
 * closed right here, not when an nfsd thread gets to it.  svc_xprt_close() leaves that to
 * the thread if the connection is already queued for one, so close_back() is called first.
 */
static int send_request(struct rpc_rqst *call)
{
	struct svckdat_conn *conn = svckdat_conn_of(call->rq_xprt->bc_xprt);
	int ret;

	ret = send_call(conn, call);
	if (ret == -ENOTCONN) {
		close_back(call->rq_xprt);
		svc_xprt_close(&conn->xprt);
	}
	return ret;
}

static void free_names(struct rpc_xprt *xprt)
{
	kfree(xprt->address_strings[RPC_DISPLAY_ADDR]);
	kfree(xprt->address_strings[RPC_DISPLAY_PORT]);
}

static void destroy_back(struct rpc_xprt *xprt)
{
	free_names(xprt);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static void print_stats(struct rpc_xprt *xprt, struct seq_file *seq)
{
	seq_printf(seq, "\txprt:\tkdat-bc 0 %lu %lu %lu 0 %lu %lu %lu %llu %llu\n",
		   xprt->stat.bind_count, xprt->stat.connect_count,
		   xprt->stat.connect_time, xprt->stat.sends, xprt->stat.recvs,
		   xprt->stat.bad_xids, xprt->stat.req_u, xprt->stat.bklog_u);
}

static const struct rpc_xprt_ops back_ops = {
	.reserve_xprt = xprt_reserve_xprt_cong,
	.release_xprt = xprt_release_xprt_cong,
	.alloc_slot = xprt_alloc_slot,
	.free_slot = xprt_free_slot,
	.release_request = xprt_release_rqst_cong,
	.buf_alloc = alloc_buffers,
	.buf_free = free_buffers,
	.send_request = send_request,
	.wait_for_reply_request = xprt_wait_for_reply_request_def,
	.close = close_back,
	.destroy = destroy_back,
	.print_stats = print_stats,
};

static const struct rpc_timeout back_timeout = {
	.to_initval = 60 * HZ,
	.to_maxval = 60 * HZ,
};

static int set_names(struct rpc_xprt *xprt, const struct sockaddr *peer)
{
	xprt->address_strings[RPC_DISPLAY_ADDR] = kasprintf(GFP_KERNEL, "%pISc", peer);
	xprt->address_strings[RPC_DISPLAY_PORT] = kstrdup("0", GFP_KERNEL);
	xprt->address_strings[RPC_DISPLAY_PROTO] = "kdat";
	xprt->address_strings[RPC_DISPLAY_NETID] = "kdat";
	if (xprt->address_strings[RPC_DISPLAY_ADDR] &&
	    xprt->address_strings[RPC_DISPLAY_PORT])
		return 0;
	free_names(xprt);
	return -ENOMEM;
}

/*
 * Makes the backchannel's transport.  It never connects by itself: it is connected until
 * the client's connection ends.  The server's transport holds a reference to it for its
 * whole life, so that the backchannel can be set up again (svc_xprt_free() drops that
 * reference).
 */
static struct rpc_xprt *setup_back(struct xprt_create *args)
{
	struct svckdat_conn *conn;
	struct rpc_xprt *xprt;

	if (!args->bc_xprt || args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EINVAL);
	conn = svckdat_conn_of(args->bc_xprt);
	if (READ_ONCE(conn->over))
		return ERR_PTR(-ENOTCONN);
	xprt = xprt_alloc(args->net, sizeof(*xprt), SVCKDAT_BACK_SLOTS, SVCKDAT_BACK_SLOTS);
	if (!xprt)
		return ERR_PTR(-ENOMEM);
	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	xprt->addrlen = args->addrlen;
	if (set_names(xprt, (struct sockaddr *)&xprt->addr)) {
		xprt_free(xprt);
		return ERR_PTR(-ENOMEM);
	}
	xprt->prot = svckdat_back_class.ident;
	xprt->xprt_class = &svckdat_back_class;
	xprt->ops = &back_ops;
	xprt->timeout = &back_timeout;
	xprt->max_payload = conn->send_limit;
	xprt_set_bound(xprt);
	xprt_set_connected(xprt);

	__module_get(THIS_MODULE);
	xprt_get(xprt);
	xprt->bc_xprt = args->bc_xprt;
	/*
	 * Another client ID on the same connection may be set up at the same time; only one
	 * can have the backchannel.  This is also a barrier: either the thread that closes
	 * the connection finds this transport (see detach()), or we see here that it is
	 * over and close it.
	 */
	if (cmpxchg(&args->bc_xprt->xpt_bc_xprt, NULL, xprt)) {
		destroy_back(xprt);
		return ERR_PTR(-EBUSY);
	}
	if (READ_ONCE(conn->over))
		close_back(xprt);
	return xprt;
}

struct xprt_class svckdat_back_class = {
	.list = LIST_HEAD_INIT(svckdat_back_class.list),
	.ident = SVCKDAT_IDENT | XPRT_TRANSPORT_BC,
	.setup = setup_back,
	.owner = THIS_MODULE,
	.name = "kdat backchannel",
	.netid = { "" },
};
