// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections written straight on ib_core and rdma_cm, the way a kernel consumer
 * without kDAT writes them.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "bench.h"

#define RESOLVE_MS	2000
#define RETRIES		6

static int raw_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

static void set_port(struct sockaddr_storage *addr, u16 port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static int create_qp(struct raw_end *end)
{
	struct ib_qp_init_attr attr = {
		.send_cq = end->net->cq[end->server],
		.recv_cq = end->net->cq[end->server],
		.cap = {
			.max_send_wr = end->net->depth ?: BENCH_DEPTH,
			.max_recv_wr = end->net->depth ?: BENCH_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(end->id, end->net->pd[end->server], &attr);
	if (!ret && end->net->prepare)
		end->net->prepare(end);
	return ret;
}

static void end_free(struct raw_end *end)
{
	if (end->id->qp)
		rdma_destroy_qp(end->id);
	rdma_destroy_id(end->id);
	kfree(end);
}

static void server_end_work(struct work_struct *work)
{
	struct raw_end *end = container_of(work, struct raw_end, work);

	mutex_lock(&end->net->lock);
	list_del(&end->entry);
	mutex_unlock(&end->net->lock);
	end_free(end);
}

static struct raw_end *end_new(struct raw_net *net, struct rdma_cm_id *id,
			       bool server)
{
	struct raw_end *end = kzalloc(sizeof(*end), GFP_KERNEL);

	if (!end)
		return NULL;
	end->net = net;
	end->id = id;
	end->server = server;
	init_completion(&end->established);
	init_completion(&end->over);
	INIT_WORK(&end->work, server_end_work);
	return end;
}

/* ---- events ------------------------------------------------------------- */

static int request(struct raw_net *net, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = 7,
	};
	struct raw_end *end = end_new(net, id, true);
	int ret;

	if (!end)
		return -ENOMEM;
	ret = create_qp(end);
	if (ret)
		goto no_qp;
	id->context = end;
	mutex_lock(&net->lock);
	list_add_tail(&end->entry, &net->ends);
	net->newest = end;
	mutex_unlock(&net->lock);
	ret = rdma_accept(id, &param);
	if (!ret)
		return 0;

	mutex_lock(&net->lock);
	list_del(&end->entry);
	net->newest = NULL;
	mutex_unlock(&net->lock);
	rdma_destroy_qp(id);
no_qp:
	/* The caller destroys the id when the handler says so. */
	kfree(end);
	return ret;
}

static int client_connect(struct raw_end *end)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = 7,
	};

	return create_qp(end) ?: rdma_connect_locked(end->id, &param);
}

static void over(struct raw_end *end, int status)
{
	end->status = status;
	complete(&end->established);
	complete(&end->over);
}

static void disconnected(struct raw_end *end)
{
	if (end->server)
		rdma_disconnect(end->id);
	if (end->server && !end->net->keep)
		queue_work(end->net->wq, &end->work);
	else
		over(end, end->status);
}

static int raw_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct raw_end *end = id->context;
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = rdma_resolve_route(id, RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = client_connect(end);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return request(id->context, id);
	case RDMA_CM_EVENT_ESTABLISHED:
		complete(&end->established);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		disconnected(end);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		ret = event->status ?: -EIO;
		break;
	}
	if (ret)
		over(end, ret);
	return 0;
}

/* ---- connections -------------------------------------------------------- */

/**
 * raw_connect - make a connection and wait for both ends
 * @net: opened
 *
 * May sleep.  Return: the end that connected, or NULL; net->newest is the other.
 */
struct raw_end *raw_connect(struct raw_net *net)
{
	struct sockaddr_storage to = bench_addr_b;
	struct rdma_cm_id *id;
	struct raw_end *end;
	int ret;

	set_port(&to, bench_port);
	id = rdma_create_id(&init_net, raw_handler, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return NULL;
	end = end_new(net, id, false);
	if (!end) {
		rdma_destroy_id(id);
		return NULL;
	}
	id->context = end;
	net->newest = NULL;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&bench_addr_a,
				(struct sockaddr *)&to, RESOLVE_MS);
	if (!ret && !wait_for_completion_timeout(&end->established, BENCH_WAIT))
		ret = -ETIMEDOUT;
	ret = ret ?: end->status;
	if (!ret && net->newest &&
	    !wait_for_completion_timeout(&net->newest->established, BENCH_WAIT))
		ret = -ETIMEDOUT;
	if (!ret)
		return end;
	bench_say("raw connect: %d\n", ret);
	end_free(end);
	return NULL;
}

/**
 * raw_disconnect - end a connection and wait until it has ended
 * @end: from raw_connect()
 *
 * May sleep.
 */
void raw_disconnect(struct raw_end *end)
{
	rdma_disconnect(end->id);
	wait_for_completion_timeout(&end->over, BENCH_WAIT);
	end_free(end);
}

/* ---- devices ------------------------------------------------------------ */

static struct rdma_cm_id *bound_id(struct raw_net *net,
				   struct sockaddr_storage addr, u16 port)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, raw_handler, net, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return NULL;
	set_port(&addr, port);
	if (!rdma_bind_addr(id, (struct sockaddr *)&addr) && id->device)
		return id;
	rdma_destroy_id(id);
	return NULL;
}

static int open_device(struct raw_net *net, int side, struct ib_device *dev,
		       unsigned int cqe)
{
	struct ib_cq_init_attr attr = { .cqe = cqe };
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	struct ib_cq *cq;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	net->pd[side] = pd;
	if (net->direct)
		cq = ib_create_cq(dev, NULL, NULL, NULL, &attr);
	else
		cq = ib_alloc_cq(dev, NULL, cqe, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	net->cq[side] = cq;
	return 0;
}

/**
 * raw_open - open both devices and listen on the second
 * @net: zeroed, with prepare, keep and depth set
 * @direct: completions are polled by the caller
 * @cqe: entries of the two completion queues
 *
 * May sleep.  Return: 0 or an errno; raw_close() is due either way.
 */
int raw_open(struct raw_net *net, bool direct, unsigned int cqe)
{
	int ret;

	net->direct = direct;
	mutex_init(&net->lock);
	INIT_LIST_HEAD(&net->ends);
	net->wq = alloc_workqueue("kdapl-bench", WQ_UNBOUND, 0);
	net->holder = bound_id(net, bench_addr_a, 0);
	net->listener = bound_id(net, bench_addr_b, bench_port);
	if (!net->wq || !net->holder || !net->listener)
		return -ENODEV;
	ret = open_device(net, 0, net->holder->device, cqe);
	if (!ret)
		ret = open_device(net, 1, net->listener->device, cqe);
	return ret ?: rdma_listen(net->listener, 16);
}

static void close_device(struct raw_net *net, int side)
{
	if (net->cq[side] && net->direct)
		ib_destroy_cq(net->cq[side]);
	else if (net->cq[side])
		ib_free_cq(net->cq[side]);
	if (net->pd[side])
		ib_dealloc_pd(net->pd[side]);
}

/**
 * raw_close - undo raw_open(); no client end is left
 * @net: as far as it came
 *
 * May sleep.
 */
void raw_close(struct raw_net *net)
{
	struct raw_end *end, *next;

	if (net->listener)
		rdma_destroy_id(net->listener);
	if (net->holder)
		rdma_destroy_id(net->holder);
	if (net->wq)
		destroy_workqueue(net->wq);
	list_for_each_entry_safe(end, next, &net->ends, entry)
		end_free(end);
	close_device(net, 0);
	close_device(net, 1);
}
