// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Module init and exit in order; the one file that knows all layers.  The faces
 * come last and go first, since through them calls come in.
 */
#include <linux/module.h>
#include "compat.h"
#include "core/core.h"
#include "face/dev.h"
#include "glue/glue.h"

MODULE_DESCRIPTION("Direct Access Transport API (DAT 1.2)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KDAPL_VERSION);

/* All kernel consumers together; far more than they will ever have. */
#define KERNEL_MAX_OBJECTS	1000000

/* Attempts of kernel consumers that wait for an iWARP driver at a time. */
#define IWARP_ATTEMPTS	512

struct kdapl_space kdapl_kernel_space;
struct workqueue_struct *kdapl_users_wq;
struct workqueue_struct *kdapl_kernel_wq;
struct workqueue_struct *kdapl_slow_wq;
struct workqueue_struct *kdapl_iwarp_wq;
struct workqueue_struct *kdapl_upcall_wq;

static int __init kdapl_init(void)
{
	int ret = -ENOMEM;

	kdapl_users_wq = alloc_workqueue("kdapl_users", WQ_UNBOUND, 0);
	if (!kdapl_users_wq)
		return ret;
	kdapl_kernel_wq = alloc_workqueue("kdapl_kernel",
					  WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_kernel_wq)
		goto err_users_wq;
	kdapl_slow_wq = alloc_workqueue("kdapl_slow", WQ_UNBOUND, 0);
	if (!kdapl_slow_wq)
		goto err_kernel_wq;
	kdapl_iwarp_wq = alloc_workqueue("kdapl_iwarp", WQ_UNBOUND, IWARP_ATTEMPTS);
	if (!kdapl_iwarp_wq)
		goto err_slow_wq;
	/*
	 * The work stays on its processor: what arrives while one upcall runs there is
	 * taken by the same worker behind it, without a switch for each event.
	 */
	kdapl_upcall_wq = alloc_workqueue("kdapl_upcall", KDAPL_WQ_PERCPU | WQ_HIGHPRI |
					  WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	if (!kdapl_upcall_wq)
		goto err_iwarp_wq;
	ret = kdapl_space_init(&kdapl_kernel_space, &init_net, NULL,
			       KERNEL_MAX_OBJECTS);
	if (ret)
		goto err_upcall_wq;
	ret = kdapl_debugfs_init();
	if (ret)
		goto err_space;
	ret = kdapl_device_init();
	if (ret)
		goto err_debugfs;
	ret = kdapl_dev_init();
	if (ret)
		goto err_device;
	ret = kdapl_netlink_init();
	if (ret)
		goto err_dev;
	return 0;

err_dev:
	kdapl_dev_exit();
err_device:
	kdapl_device_exit();
err_debugfs:
	kdapl_debugfs_exit();
err_space:
	kdapl_space_destroy(&kdapl_kernel_space);
err_upcall_wq:
	destroy_workqueue(kdapl_upcall_wq);
err_iwarp_wq:
	destroy_workqueue(kdapl_iwarp_wq);
err_slow_wq:
	destroy_workqueue(kdapl_slow_wq);
err_kernel_wq:
	destroy_workqueue(kdapl_kernel_wq);
err_users_wq:
	destroy_workqueue(kdapl_users_wq);
	return ret;
}

static void __exit kdapl_exit(void)
{
	kdapl_netlink_exit();
	kdapl_dev_exit();
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
	destroy_workqueue(kdapl_upcall_wq);
	destroy_workqueue(kdapl_iwarp_wq);
	destroy_workqueue(kdapl_slow_wq);
	destroy_workqueue(kdapl_kernel_wq);
	destroy_workqueue(kdapl_users_wq);
	rcu_barrier();
}

module_init(kdapl_init);
module_exit(kdapl_exit);
