// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: what is made for a connection when it is accepted, how it ends, and the
 * table of methods that sunrpc calls.
 *
 * Completions come to upcalls in softirq context, which only put things on lists and wake
 * nfsd threads; connection events come to an EVD of their own.  When a connection ends,
 * this is first noted (svckdat_conn_over()), then sunrpc detaches the transport, and when
 * nobody holds a reference any more a work item frees it.
 */
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include "svckdat.h"

#define CONNECTION_EVENTS	4
/* RDMA reads of one connection that may be under way */
#define MAX_READS		16
/* Pieces of memory that one work request names, if the device allows as many */
#define MAX_PIECES		16
/*
 * Transfers for which each request has room in the queue.  If a request has more segments,
 * its thread waits for room.
 */
#define TRANSFERS		4

/**
 * svckdat_conn_over - a connection can be used no more
 * @conn: a connection that sunrpc knows
 *
 * Has an nfsd thread close the transport, and makes threads that wait for room give up.
 * Any context.
 */
void svckdat_conn_over(struct svckdat_conn *conn)
{
	WRITE_ONCE(conn->over, true);
	wake_up_all(&conn->room);
	svc_xprt_deferred_close(&conn->xprt);
}

/* ---- events -------------------------------------------------------------- */

static void dto_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	const struct kdat_dto_completion_event_data *data = kdat_dto_completion(event);
	struct svckdat_dto *dto = data->user_cookie.as_ptr;
	struct svckdat_conn *conn = instance_data;
	bool ok = data->status == DAT_DTO_SUCCESS;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return;
	dto->done(conn, dto, ok, data->transfered_length);
	svckdat_completed(conn);
	if (!ok)
		svckdat_conn_over(conn);
}

/* Connection events: the outcome of the accept, or the end. */
static void conn_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			DAT_BOOLEAN more_events)
{
	if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		svckdat_conn_over(instance_data);
}

/* ---- make ---------------------------------------------------------------- */

static int evds_create(struct svckdat_conn *conn)
{
	DAT_UPCALL_OBJECT dto = { .instance_data = conn, .upcall_func = dto_upcall };
	DAT_UPCALL_OBJECT end = { .instance_data = conn, .upcall_func = conn_upcall };
	DAT_IA_HANDLE ia = conn->adapter->ia;

	/* Completions need no room here: it comes with the EP. */
	if (dat_evd_kcreate(ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &dto,
			    DAT_EVD_DTO_FLAG, &conn->dto_evd) ||
	    dat_evd_kcreate(ia, CONNECTION_EVENTS, DAT_UPCALL_SINGLE_INSTANCE, &end,
			    DAT_EVD_CONNECTION_FLAG, &conn->conn_evd))
		return -EIO;
	return 0;
}

/* The most work requests that one transfer can need */
static unsigned int transfer_reserve(const DAT_IA_ATTR *adapter)
{
	int pieces = min3(MAX_PIECES, adapter->max_iov_segments_per_rdma_read,
			  adapter->max_iov_segments_per_rdma_write);

	return DIV_ROUND_UP(SVCKDAT_MAX_ENTRIES, max(pieces, 1));
}

static int ep_create(struct svckdat_conn *conn)
{
	const DAT_IA_ATTR *adapter = &conn->adapter->attr;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = conn->buf_size,
		.max_rdma_size = min_t(u64, adapter->max_rdma_size,
				       SVCKDAT_MAX_PAGES * PAGE_SIZE),
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = conn->nr_recvs,
		.max_request_dtos = conn->nr_sends + SVCKDAT_MAPS * TRANSFERS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 0,
		.max_rdma_read_out = min(adapter->max_rdma_read_per_ep_out, MAX_READS),
		.max_rdma_read_iov = min(MAX_PIECES, adapter->max_iov_segments_per_rdma_read),
		.max_rdma_write_iov = min(MAX_PIECES, adapter->max_iov_segments_per_rdma_write),
		.ep_provider_specific_count = 1,
		.ep_provider_specific = &conn->reserve,
	};
	unsigned int least = transfer_reserve(adapter), reserve = least * SVCKDAT_MAPS;

	conn->reserve.name = KDAT_EP_REQUEST_RESERVE;
	conn->reserve.value = conn->reserve_text;
	/* Reserve as much as the device has, but no less than one transfer needs. */
	for (; reserve >= least; reserve /= 2) {
		snprintf(conn->reserve_text, sizeof(conn->reserve_text), "%u", reserve);
		if (!dat_ep_create(conn->adapter->ia, conn->adapter->pz, conn->dto_evd,
				   conn->dto_evd, conn->conn_evd, &attr, &conn->ep))
			return 0;
	}
	return -EIO;
}

static int conn_fill(struct svckdat_conn *conn)
{
	int err;

	err = svckdat_memory_create(conn);
	if (!err)
		err = evds_create(conn);
	if (!err)
		err = ep_create(conn);
	return err;
}

/* ---- free ---------------------------------------------------------------- */

/*
 * When the EP and the EVDs are gone, no transfer is under way and no upcall comes, so all
 * memory can be freed whatever it was used for.  If a call is refused, the adapter is being
 * closed at this moment; then the device is done with our memory when that close is over.
 */
static void conn_destroy(struct svckdat_conn *conn)
{
	bool refused = false;

	/*
	 * No thread uses the connection any more, so no further call is read and the timer
	 * is not queued again.
	 */
	cancel_delayed_work_sync(&conn->read_timer);
	if (conn->ep)
		refused |= dat_ep_free(conn->ep);
	if (conn->conn_evd)
		refused |= dat_evd_free(conn->conn_evd);
	if (conn->dto_evd)
		refused |= dat_evd_free(conn->dto_evd);
	svckdat_pool_close(conn);
	refused |= svckdat_memory_forget(conn);
	if (refused)
		wait_for_completion(&conn->adapter->closed);
	svckdat_memory_free(conn);
	svckdat_adapter_put(conn->adapter);
	kfree(conn);
}

static void conn_free_work(struct work_struct *work)
{
	struct svckdat_conn *conn = container_of(work, struct svckdat_conn, free_work);

	mutex_lock(&svckdat_lock);
	list_del_init(&conn->at_adapter);
	mutex_unlock(&svckdat_lock);
	conn_destroy(conn);
}

/* ---- accept -------------------------------------------------------------- */

static struct svckdat_conn *conn_alloc(struct svckdat_adapter *adapter)
{
	struct svckdat_conn *conn;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return NULL;
	kref_get(&adapter->ref);
	conn->adapter = adapter;
	INIT_LIST_HEAD(&conn->at_adapter);
	INIT_WORK(&conn->free_work, conn_free_work);
	init_waitqueue_head(&conn->room);
	svckdat_reads_init(conn);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->arrived);
	INIT_LIST_HEAD(&conn->complete);
	svckdat_pool_init(conn);
	/*
	 * A device with shorter queues gives clients fewer credits.  A request DTO takes
	 * two work requests of the device, and max_dto_per_ep counts such pairs; one of the
	 * reserve takes one work request, hence the half.
	 */
	conn->credits = clamp_t(int, adapter->attr.max_dto_per_ep - SVCKDAT_BACK_SLOTS -
				SVCKDAT_MAPS * TRANSFERS -
				DIV_ROUND_UP(transfer_reserve(&adapter->attr), 2),
				1, svckdat_credits);
	conn->buf_size = svckdat_buf_size;
	conn->nr_recvs = conn->credits + SVCKDAT_BACK_SLOTS;
	conn->nr_sends = conn->credits + SVCKDAT_BACK_SLOTS;
	return conn;
}

/* A client that sends no private data takes messages of 1024 bytes, as RFC 8166 promises. */
static void take_private_data(struct svckdat_conn *conn,
			      const struct rpcrdma_connect_private *client)
{
	conn->send_limit = RPCRDMA_V1_DEF_INLINE_SIZE;
	if (client->cp_magic != rpcrdma_cmp_magic ||
	    client->cp_version != RPCRDMA_CMP_VERSION)
		return;
	conn->send_limit = min(conn->buf_size,
			       rpcrdma_decode_buffer_size(client->cp_recv_size));
	conn->may_invalidate = client->cp_flags & RPCRDMA_CMP_F_SND_W_INV_OK;
}

/*
 * Initializes sunrpc's transport.  This has to be done before the first post, from which on
 * upcalls come; the transport is busy at first, so upcalls do not put it into a queue.  The
 * port of the client is set to 0, because it is arbitrary: so the duplicate reply cache
 * recognizes a client that has reconnected.
 */
static void conn_start(struct svckdat_conn *conn, struct svc_xprt *listener,
		       const struct sockaddr *remote, const struct sockaddr *local)
{
	struct svc_xprt *xprt = &conn->xprt;

	svc_xprt_init(listener->xpt_net, &svckdat_class, xprt, listener->xpt_server);
	set_bit(XPT_CONG_CTRL, &xprt->xpt_flags);
	svc_xprt_set_remote(xprt, remote, svc_addr_len(remote));
	rpc_set_port((struct sockaddr *)&xprt->xpt_remote, 0);
	svc_xprt_set_local(xprt, local, svc_addr_len(local));
}

/*
 * From here on the removal of the adapter also closes the connection.  False if the adapter
 * has been removed.
 */
static bool conn_publish(struct svckdat_conn *conn)
{
	bool there;

	mutex_lock(&svckdat_lock);
	there = !conn->adapter->removed;
	if (there)
		list_add_tail(&conn->at_adapter, &conn->adapter->conns);
	mutex_unlock(&svckdat_lock);
	return there;
}

static bool post_recvs(struct svckdat_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->nr_recvs; i++)
		if (svckdat_post_recv(conn, &conn->all_recvs[i]))
			return false;
	return true;
}

static bool cr_accept(struct svckdat_conn *conn, DAT_CR_HANDLE cr)
{
	struct rpcrdma_connect_private own = {
		.cp_magic = rpcrdma_cmp_magic,
		.cp_version = RPCRDMA_CMP_VERSION,
		.cp_send_size = rpcrdma_encode_buffer_size(conn->buf_size),
		.cp_recv_size = rpcrdma_encode_buffer_size(conn->buf_size),
	};

	return !dat_cr_accept(cr, conn->ep, sizeof(own), &own);
}

/**
 * svckdat_conn_accept - make a connection for a request
 * @listener: the listener that got it
 * @request: the request; its CR has been answered, unless NULL is returned
 *
 * Process context.
 *
 * Return: a transport for sunrpc, which closes it at once if its CR could not be accepted;
 * NULL without memory or other resources.
 */
struct svckdat_conn *svckdat_conn_accept(struct svckdat_listener *listener,
					 struct svckdat_request *request)
{
	struct svckdat_conn *conn;

	conn = conn_alloc(request->adapter);
	if (!conn)
		return NULL;
	take_private_data(conn, &request->client);
	if (conn_fill(conn)) {
		pr_warn_ratelimited("svckdat: no resources for a connection at %s\n",
				    conn->adapter->name);
		conn_destroy(conn);
		return NULL;
	}
	conn_start(conn, &listener->xprt, (struct sockaddr *)&request->remote,
		   (struct sockaddr *)&request->local);
	svckdat_pool_open(conn);
	if (!conn_publish(conn) || !post_recvs(conn) || !cr_accept(conn, request->cr)) {
		dat_cr_reject(request->cr);
		svckdat_conn_over(conn);
	}
	return conn;
}

/* ---- methods ------------------------------------------------------------- */

static bool is_listener(const struct svc_xprt *xprt)
{
	return test_bit(XPT_LISTENER, &xprt->xpt_flags);
}

/*
 * May a thread be given something to do?  A complete call has its send already.  A new
 * message needs a free send, and no thread may be waiting for room, so that the call can be
 * answered without waiting.  A thread that waits has a request, and sunrpc asks again when
 * that ends.
 */
static int has_wspace(struct svc_xprt *xprt)
{
	struct svckdat_conn *conn = svckdat_conn_of(xprt);

	if (is_listener(xprt))
		return 1;
	if (!list_empty_careful(&conn->complete))
		return 1;
	/*
	 * These tests race.  A wrong result does no harm: one thread more waits, or a call
	 * waits a little longer.
	 */
	return !list_empty_careful(&conn->sends) && !waitqueue_active(&conn->room);
}

static void detach(struct svc_xprt *xprt)
{
	struct svckdat_conn *conn = svckdat_conn_of(xprt);

	if (is_listener(xprt)) {
		svckdat_listener_detach(container_of(xprt, struct svckdat_listener, xprt));
		return;
	}
	/* Set before sunrpc looks for a backchannel: see setup_back(). */
	smp_store_mb(conn->over, true);
	wake_up_all(&conn->room);
	dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void free_xprt(struct svc_xprt *xprt)
{
	if (is_listener(xprt))
		svckdat_listener_free(container_of(xprt, struct svckdat_listener, xprt));
	else
		queue_work(svckdat_wq, &svckdat_conn_of(xprt)->free_work);
}

static void kill_temp_xprt(struct svc_xprt *xprt)
{
}

const struct svc_xprt_ops svckdat_ops = {
	.xpo_create = svckdat_create,
	.xpo_accept = svckdat_accept,
	.xpo_has_wspace = has_wspace,
	.xpo_recvfrom = svckdat_recvfrom,
	.xpo_sendto = svckdat_sendto,
	.xpo_result_payload = svckdat_result_payload,
	.xpo_release_ctxt = svckdat_release_ctxt,
	.xpo_detach = detach,
	.xpo_free = free_xprt,
	.xpo_kill_temp_xprt = kill_temp_xprt,
	SVCKDAT_COMPAT_OPS
};
