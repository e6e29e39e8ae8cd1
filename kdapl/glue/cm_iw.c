// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls of iWARP drivers that a kernel thread has to make, in place of the caller.
 *
 * siw and erdma make their sockets in the network namespace of the calling thread,
 * whatever the namespace of the CM id is.  The adapters have addresses in the initial
 * namespace only (iwarp_addresses() in address.c).  But a kernel consumer may call in the
 * context of a process of a container, where the address does not exist or belongs to
 * something else, or of a process that is exiting and has no namespace any more; and a
 * process may have moved to another namespace.  Kernel threads are in the initial one.  The
 * connect of an endpoint needs nothing from here, because it runs in a work item anyhow
 * (core/conn_work.c).
 *
 * Callers: listen.c, registrar_iw.c.
 */
#include <linux/completion.h>
#include <linux/workqueue.h>
#include "listen.h"

/*
 * Bounds of the backlog on iWARP.  rdma_cm and the driver make room for that many requests.
 * The lower bound: siw loses for ever a TCP connection for which it has no room, so a listener
 * whose own queue is short gets at least that much; kdapl_sp_request() refuses what does not
 * fit into that queue.  The upper bound: a long queue must not cost memory for each of its
 * entries here.
 */
#define LEAST_BACKLOG	128
#define MOST_BACKLOG	1024

/*
 * struct kernel_call - a call that a kernel thread makes
 * @work: the work item that makes it
 * @done: completed when the call has returned
 * @id: the CM id
 * @backlog: for rdma_listen()
 * @param: for rdma_connect()
 * @ret: what the call returned
 */
struct kernel_call {
	struct work_struct work;
	struct completion done;
	struct rdma_cm_id *id;
	int backlog;
	struct rdma_conn_param *param;
	int ret;
};

static void run_listen(struct work_struct *work)
{
	struct kernel_call *call = container_of(work, struct kernel_call, work);

	call->ret = rdma_listen(call->id, call->backlog);
	complete(&call->done);
}

static void run_connect(struct work_struct *work)
{
	struct kernel_call *call = container_of(work, struct kernel_call, work);

	call->ret = rdma_connect(call->id, call->param);
	complete(&call->done);
}

/*
 * The caller waits for a completion instead of calling flush_work().  A kernel consumer may
 * register memory, for which a registrar has to be connected, in a work item on a workqueue with
 * WQ_MEM_RECLAIM.  The kernel warns if such a work item flushes one on a workqueue without that
 * flag, because it then depends on memory being available.  It does so here as well, as it
 * depends on the CM; only the warning is avoided.
 */
static int call_as_kernel(struct kernel_call *call, work_func_t run)
{
	INIT_WORK_ONSTACK(&call->work, run);
	init_completion(&call->done);
	queue_work(system_unbound_wq, &call->work);
	wait_for_completion(&call->done);
	destroy_work_on_stack(&call->work);
	return call->ret;
}

/**
 * kdapl_iw_backlog - the number of requests for which an iWARP driver shall make room
 * @asked: the number for which the listener has room
 *
 * Any context.
 */
int kdapl_iw_backlog(int asked)
{
	return clamp(asked, LEAST_BACKLOG, MOST_BACKLOG);
}

/**
 * kdapl_cm_listen_at - rdma_listen()
 * @id: bound to an address of @dev
 * @dev: device of the IA
 * @backlog: requests that the listener has room for
 *
 * May sleep; not in a callback of the CM.
 *
 * Return: as rdma_listen().  On iWARP -EADDRINUSE may also mean that a TCP socket of
 * somebody else uses the port number: rdma_cm, which has chosen it, knows only its own.
 */
int kdapl_cm_listen_at(struct rdma_cm_id *id, const struct kdapl_device *dev,
		       int backlog)
{
	struct kernel_call call = { .id = id, .backlog = kdapl_iw_backlog(backlog) };

	if (!dev->iwarp)
		return rdma_listen(id, backlog);
	return call_as_kernel(&call, run_listen);
}

/**
 * kdapl_iw_connect - rdma_connect() on iWARP
 * @id: its route is resolved
 * @param: parameters of the request
 *
 * Waits as long as the driver waits for the peer's TCP.  May sleep; not in a callback of
 * the CM.
 *
 * Return: as rdma_connect().
 */
int kdapl_iw_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct kernel_call call = { .id = id, .param = param };

	return call_as_kernel(&call, run_connect);
}
