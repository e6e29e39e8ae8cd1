// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Module init and exit in order; the one file that knows all layers.  The faces
 * come last and go first, since through them calls come in.
 */
#include <linux/module.h>
#include "compat.h"
#include "core/core.h"
#include "face/dev.h"
#include "glue/cq.h"
#include "glue/glue.h"

MODULE_DESCRIPTION("Direct Access Transport API (DAT 1.2)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KDAPL_VERSION);

/* All kernel consumers together; far more than they will ever have. */
#define KERNEL_MAX_OBJECTS	1000000

/* Attempts that wait for an iWARP driver at a time, where they share a workqueue. */
#define IWARP_ATTEMPTS	512

struct kdapl_space kdapl_kernel_space;
struct workqueue_struct *kdapl_barrier_wq;
struct workqueue_struct *kdapl_users_wq;
struct workqueue_struct *kdapl_kernel_wq;
struct workqueue_struct *kdapl_slow_wq;
struct workqueue_struct *kdapl_iwarp_wq;
struct workqueue_struct *kdapl_users_iwarp_wq;
struct workqueue_struct *kdapl_users_close_wq;
struct workqueue_struct *kdapl_upcall_wq;

static const struct {
	struct workqueue_struct **wq;
	const char *name;
	unsigned int flags;
	int max_active;
} queues[] = {
	{ &kdapl_barrier_wq, "kdapl_barrier", WQ_UNBOUND | WQ_MEM_RECLAIM },
	{ &kdapl_users_wq, "kdapl_users", WQ_UNBOUND },
	{ &kdapl_kernel_wq, "kdapl_kernel", WQ_UNBOUND | WQ_MEM_RECLAIM },
	{ &kdapl_slow_wq, "kdapl_slow", WQ_UNBOUND },
	{ &kdapl_iwarp_wq, "kdapl_iwarp", WQ_UNBOUND, IWARP_ATTEMPTS },
	{ &kdapl_users_iwarp_wq, "kdapl_users_iwarp", WQ_UNBOUND, IWARP_ATTEMPTS },
	{ &kdapl_users_close_wq, "kdapl_users_close", WQ_UNBOUND, WQ_MAX_ACTIVE },
	/*
	 * The work stays on its processor: events that arrive while an upcall runs there are
	 * delivered by the same worker afterwards, without a switch of threads for each.
	 */
	{ &kdapl_upcall_wq, "kdapl_upcall", KDAPL_WQ_PERCPU | WQ_HIGHPRI | WQ_MEM_RECLAIM,
	  WQ_MAX_ACTIVE },
};

/* Destroyed in reverse order: work on a later workqueue may wait for work on an earlier one. */
static void queues_exit(void)
{
	int i = ARRAY_SIZE(queues);

	while (i--)
		if (*queues[i].wq)
			destroy_workqueue(*queues[i].wq);
}

static int __init queues_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		*queues[i].wq = alloc_workqueue("%s", queues[i].flags, queues[i].max_active,
						queues[i].name);
		if (!*queues[i].wq) {
			queues_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

static int __init kdapl_init(void)
{
	int ret = queues_init();

	if (ret)
		return ret;
	ret = kdapl_space_init(&kdapl_kernel_space, &init_net, NULL,
			       KERNEL_MAX_OBJECTS);
	if (ret)
		goto err_queues;
	ret = kdapl_debugfs_init();
	if (ret)
		goto err_space;
	ret = kdapl_device_init();
	if (ret)
		goto err_debugfs;
	ret = kdapl_netlink_init();
	if (ret)
		goto err_device;
	/* Last: the file may be opened at once, and after that the module must not fail to load. */
	ret = kdapl_dev_init();
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	kdapl_netlink_exit();
err_device:
	kdapl_device_exit();
err_debugfs:
	kdapl_debugfs_exit();
err_space:
	kdapl_space_destroy(&kdapl_kernel_space);
err_queues:
	queues_exit();
	return ret;
}

static void __exit kdapl_exit(void)
{
	kdapl_dev_exit();
	kdapl_netlink_exit();
	/*
	 * A kernel consumer that was unloaded with IAs open cannot close them
	 * any more.
	 */
	kdapl_ia_close_all(&kdapl_kernel_space);
	kdapl_device_exit();
	kdapl_debugfs_exit();
	kdapl_space_destroy(&kdapl_kernel_space);
	/*
	 * Objects are released by work that an RCU callback queues.  No such
	 * callback may be due when the workqueues are destroyed, nor any other
	 * one of ours when the code goes.
	 */
	rcu_barrier();
	queues_exit();
	rcu_barrier();
}

module_init(kdapl_init);
module_exit(kdapl_exit);
