// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an iWARP driver is asked by a thread of the kernel, whoever wants it.
 *
 * siw and erdma make their sockets in the network namespace of the calling thread,
 * whatever that of the CM id is.  The adapters have addresses of the first namespace only
 * (iwarp_addresses(), address.c).  But a kernel consumer may call in a process of a
 * container, where the address does not exist, or does and is another, or in a process
 * that is exiting and has no namespace any more; and a process may have moved to another
 * one.  The kernel's own threads are in the first one.  A consumer's connect comes from a
 * work item anyhow (core/conn_work.c).
 *
 * Callers: listen.c, registrar_iw.c.
 */
#include <linux/completion.h>
#include <linux/workqueue.h>
#include "listen.h"

/*
 * rdma_cm and the driver make room for so many requests, and siw never hears of a TCP
 * connection again for which it had none.  So it is not made short for a consumer whose
 * queue is, which holds nothing but requests; nor does a long queue take memory for each.
 */
#define LEAST_BACKLOG	128
#define MOST_BACKLOG	1024

/*
 * struct kernel_call - a call that a thread of the kernel makes
 * @work: of that thread
 * @done: it has returned
 * @id: the CM id
 * @backlog: for rdma_listen()
 * @param: for rdma_connect()
 * @ret: what it returned
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
 * Not flush_work(): a kernel consumer may register memory, for which a registrar is connected,
 * in a work item of a queue that memory is reclaimed through, and the kernel warns if one of
 * these flushes a queue that waits for memory.  It does wait for memory then, as for the CM.
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
 * kdapl_iw_backlog - requests that an iWARP driver is to make room for
 * @asked: that the listener has room for
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
 * Return: as rdma_listen().  On iWARP -EADDRINUSE may also say that somebody else has the
 * port number for TCP: rdma_cm, which chose it, knows its own only.
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
 * @id: its route is known
 * @param: of the request
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
