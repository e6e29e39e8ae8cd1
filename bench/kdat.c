// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections on kDAT, for the commands that compare.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include "bench.h"

#define CONNECT_US	(20 * 1000 * 1000)
#define EVENTS		64

static DAT_EP_ATTR ep_attr(const struct kdat_net *net)
{
	return (DAT_EP_ATTR) {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = 4096,
		.max_rdma_size = 4096,
		.max_recv_dtos = net->depth ?: BENCH_DEPTH,
		.max_request_dtos = net->depth ?: BENCH_DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
}

/* ---- ends --------------------------------------------------------------- */

static void server_end_work(struct work_struct *work)
{
	struct kdat_end *end = container_of(work, struct kdat_end, work);

	mutex_lock(&end->net->lock);
	list_del(&end->entry);
	mutex_unlock(&end->net->lock);
	kdat_end_free(end);
}

/**
 * kdat_end_new - an endpoint that nobody is connected to
 * @net: opened
 * @server: on which side
 *
 * May sleep.  Return: it, or NULL.
 */
struct kdat_end *kdat_end_new(struct kdat_net *net, bool server)
{
	struct kdat_end *end = kzalloc(sizeof(*end), GFP_KERNEL);
	const DAT_EP_ATTR attr = ep_attr(net);

	if (!end)
		return NULL;
	end->net = net;
	end->server = server;
	init_completion(&end->established);
	init_completion(&end->over);
	INIT_WORK(&end->work, server_end_work);
	if (!dat_ep_create(net->ia[server], net->pz[server],
			   net->dto_evd[server], net->dto_evd[server],
			   net->conn_evd[server], &attr, &end->ep)) {
		dat_set_consumer_context(end->ep,
					 (DAT_CONTEXT) { .as_ptr = end });
		return end;
	}
	kfree(end);
	return NULL;
}

/**
 * kdat_end_free - free an endpoint in any state
 * @end: from kdat_end_new() or kdat_connect()
 *
 * May sleep.
 */
void kdat_end_free(struct kdat_end *end)
{
	dat_ep_free(end->ep);
	kfree(end);
}

/* ---- events ------------------------------------------------------------- */

static void conn_upcall(DAT_PVOID data, const DAT_EVENT *event,
			DAT_BOOLEAN more)
{
	struct kdat_end *end;
	DAT_CONTEXT context;

	if (dat_get_consumer_context(event->event_data.connect_event_data
				     .ep_handle, &context))
		return;
	end = context.as_ptr;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		complete(&end->established);
		return;
	}
	if (event->event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		end->status = -ECONNREFUSED;
	if (end->server && !end->net->keep) {
		queue_work(end->net->wq, &end->work);
		return;
	}
	complete(&end->established);
	complete(&end->over);
}

static void cr_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct kdat_net *net = data;
	struct kdat_end *end = kdat_end_new(net, true);

	if (!end) {
		dat_cr_reject(cr);
		return;
	}
	mutex_lock(&net->lock);
	list_add_tail(&end->entry, &net->ends);
	net->newest = end;
	mutex_unlock(&net->lock);
	if (dat_cr_accept(cr, end->ep, 0, NULL)) {
		dat_cr_reject(cr);
		queue_work(net->wq, &end->work);
	}
}

/* ---- connections -------------------------------------------------------- */

/**
 * kdat_connect - make a connection and wait for both ends
 * @net: opened
 *
 * May sleep.  Return: the end that connected, or NULL; net->newest is the other.
 */
struct kdat_end *kdat_connect(struct kdat_net *net)
{
	struct kdat_end *end = kdat_end_new(net, false);
	DAT_RETURN ret;

	if (!end)
		return NULL;
	net->newest = NULL;
	ret = dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&bench_addr_b,
			     bench_port + 1, CONNECT_US, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (!ret &&
	    wait_for_completion_timeout(&end->established, BENCH_WAIT) &&
	    !end->status && net->newest &&
	    wait_for_completion_timeout(&net->newest->established, BENCH_WAIT))
		return end;
	bench_say("kdat connect: %#x %d\n", ret, end->status);
	kdat_end_free(end);
	return NULL;
}

/**
 * kdat_disconnect - end a connection and wait until it has ended
 * @end: from kdat_connect()
 *
 * May sleep.
 */
void kdat_disconnect(struct kdat_end *end)
{
	dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG);
	wait_for_completion_timeout(&end->over, BENCH_WAIT);
	kdat_end_free(end);
}

/* ---- adapters ----------------------------------------------------------- */

static int open_side(struct kdat_net *net, int side, char *name)
{
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = net,
		.upcall_func = conn_upcall,
	};

	if (dat_ia_open(name, EVENTS, &net->async_evd[side], &net->ia[side]))
		return -ENODEV;
	if (dat_pz_create(net->ia[side], &net->pz[side]) ||
	    dat_evd_kcreate(net->ia[side], EVENTS, DAT_UPCALL_DISABLE, NULL,
			    DAT_EVD_DTO_FLAG, &net->dto_evd[side]) ||
	    dat_evd_kcreate(net->ia[side], EVENTS, DAT_UPCALL_SINGLE_INSTANCE,
			    &upcall, DAT_EVD_CONNECTION_FLAG,
			    &net->conn_evd[side]))
		return -EIO;
	return 0;
}

/**
 * kdat_open - open both adapters and listen on the second
 * @net: zeroed, with keep and depth set
 *
 * May sleep.  Return: 0 or an errno; kdat_close() is due either way.
 */
int kdat_open(struct kdat_net *net)
{
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = net,
		.upcall_func = cr_upcall,
	};
	int ret;

	mutex_init(&net->lock);
	INIT_LIST_HEAD(&net->ends);
	net->wq = alloc_workqueue("kdapl-bench", WQ_UNBOUND, 0);
	if (!net->wq)
		return -ENOMEM;
	ret = open_side(net, 0, bench_ia_a);
	if (!ret)
		ret = open_side(net, 1, bench_ia_b);
	if (ret)
		return ret;
	if (dat_evd_kcreate(net->ia[1], EVENTS, DAT_UPCALL_SINGLE_INSTANCE,
			    &upcall, DAT_EVD_CR_FLAG, &net->cr_evd) ||
	    dat_psp_create(net->ia[1], bench_port + 1, net->cr_evd,
			   DAT_PSP_CONSUMER_FLAG, &net->psp))
		return -EIO;
	return 0;
}

/**
 * kdat_close - undo kdat_open()
 * @net: as far as it came
 *
 * What is left of endpoints goes with the adapters; after that no upcall runs.
 * May sleep.
 */
void kdat_close(struct kdat_net *net)
{
	struct kdat_end *end, *next;

	if (net->ia[1])
		dat_ia_close(net->ia[1], DAT_CLOSE_ABRUPT_FLAG);
	if (net->ia[0])
		dat_ia_close(net->ia[0], DAT_CLOSE_ABRUPT_FLAG);
	if (net->wq)
		destroy_workqueue(net->wq);
	list_for_each_entry_safe(end, next, &net->ends, entry)
		kfree(end);
}
