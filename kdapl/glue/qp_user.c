// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs that a process has made through uverbs, and posts to by itself:
 * kdapl_user_qp_ops, another implementation of kdapl_qp_ops.  The kernel moves such a
 * queue pair as it moves its own (qp.c), but never posts to it or polls its CQs.  The drivers
 * with which it can do that are listed in driver.c.
 *
 * This file checks to whom a queue pair belongs, by the uverbs file that the process names, and
 * keeps it from being destroyed while it is bound, by the lock of uverbs and a reference of that
 * file.  Why so is told in Documentation/life-of-a-connection.rst, Queue pairs of a process.
 *
 * Called by core/conn_qp.c and core/passthrough.c through the table, and by device.c.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>
#include "driver.h"
#include "qp.h"
#include "refused.h"

/* ---- the uverbs file ------------------------------------------------ */

#if IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
/*
 * When a device is removed, the RDMA core tells its clients in the reverse order of their
 * registration.  We have to let go of queue pairs before uverbs destroys them, so uverbs has to
 * be registered first.  A reference to a symbol of its module makes sure that it is loaded
 * before us.
 */
static const void *const after_uverbs __used = ib_copy_qp_attr_to_user;
#endif

/* The attribute by which a uverbs device names its RDMA device in sysfs */
static struct device_attribute *find_ibdev(const struct device *uverbs)
{
	const struct attribute_group **group;
	struct attribute **attr;

	for (group = uverbs->groups; group && *group; group++) {
		for (attr = (*group)->attrs; attr && *attr; attr++)
			if (!strcmp((*attr)->name, "ibdev"))
				return container_of(*attr, struct device_attribute, attr);
	}
	return NULL;
}

/*
 * Does @uverbs, a device of uverbs' class, belong to the RDMA device of @dev?  Returns 0; -EINVAL
 * if not, or while the RDMA device is being renamed; -ENOMEM.
 */
static int uverbs_check(struct device *uverbs, const struct kdapl_device *dev)
{
	struct device_attribute *ibdev = find_ibdev(uverbs);
	bool same;
	char *buf;

	if (!ibdev || !ibdev->show)
		return -EINVAL;
	/* A whole page, aligned: sysfs requires that of its buffers. */
	buf = (char *)get_zeroed_page(GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	same = ibdev->show(uverbs, ibdev, buf) > 0 && sysfs_streq(buf, dev->ib_name);
	free_page((unsigned long)buf);
	return same ? 0 : -EINVAL;
}

/*
 * kdapl_qp_ops.check_file.  uverbs exports neither its file operations nor the structures
 * behind its files.  But from a file of a character device one gets to its struct device, whose
 * class and attributes are public.  This check alone gives access to no queue pair: user_lock()
 * also checks that the queue pair is an object of the file.
 */
static int user_check_file(struct kdapl_device *dev, struct file *uverbs)
{
	const struct inode *inode = file_inode(uverbs);
	struct kobject *parent;
	struct device *device;

	if (!S_ISCHR(inode->i_mode) || !inode->i_cdev)
		return -EINVAL;
	parent = inode->i_cdev->kobj.parent;
	/* Only a cdev that belongs to a struct device has a parent of this type. */
	if (!parent || !dev->ib->dev.kobj.ktype || parent->ktype != dev->ib->dev.kobj.ktype)
		return -EINVAL;
	device = kobj_to_dev(parent);
	if (!device->class || strcmp(device->class->name, "infiniband_verbs"))
		return -EINVAL;
	return uverbs_check(device, dev);
}

/* ---- taking hold ---------------------------------------------------- */

/*
 * struct kdapl_user_hold - keeps a queue pair of a process from being destroyed
 * @entry: in @held
 * @qp: the queue pair; its uverbs object is locked for reading
 * @uverbs: the file that the queue pair is an object of, with a reference
 * @put: drops that reference
 */
struct kdapl_user_hold {
	struct hlist_node entry;
	struct ib_qp *qp;
	struct file *uverbs;
	struct work_struct put;
};

/*
 * All queue pairs that are held.  The lock of uverbs does not keep two endpoints from holding the
 * same one, since it can be taken for reading many times.  All processes of the host take
 * held_lock, a spinlock, for one of which must not have to wait for its turn to run meanwhile.
 */
static DEFINE_HASHTABLE(held, 8);
static DEFINE_SPINLOCK(held_lock);
static struct workqueue_struct *put_wq;

/*
 * Drops the reference to the uverbs file, which closes the file if it is the last one.  This is
 * left to a work item because inside the removal of a device the close would wait for that
 * removal, and fput() in a system call that removes a device would drop the reference only when
 * the system call returns.
 *
 * The work item does not use fput() either.  In a kernel thread fput() leaves the close to a work
 * item that closes the files of all kernel threads of the host, one after the other.  All these
 * would wait for uverbs, which destroys what the process has left, and a removal that waits for
 * uverbs would wait for them.  __fput_sync() closes the file here and now; it has to be called in
 * a kernel thread, which a worker is, and no lock is held here.
 */
static void hold_put(struct work_struct *work)
{
	struct kdapl_user_hold *hold = container_of(work, struct kdapl_user_hold, put);

	__fput_sync(hold->uverbs);
	kfree(hold);
}

static int hold_add(struct kdapl_user_hold *hold)
{
	struct kdapl_user_hold *other;
	int ret = 0;

	spin_lock(&held_lock);
	hash_for_each_possible(held, other, entry, (unsigned long)hold->qp)
		if (other->qp == hold->qp)
			ret = -EBUSY;
	if (!ret)
		hash_add(held, &hold->entry, (unsigned long)hold->qp);
	spin_unlock(&held_lock);
	return ret;
}

static void hold_del(struct kdapl_user_hold *hold)
{
	spin_lock(&held_lock);
	hash_del(&hold->entry);
	spin_unlock(&held_lock);
}

/*
 * The head of uverbs' private structure of a queue pair.  Before user_lock() relies on it, it
 * checks that it points back to the queue pair.
 */
static struct ib_uobject *user_object(const struct ib_qp *qp)
{
	return (struct ib_uobject *)qp->uobject;
}

/*
 * Takes the lock of uverbs on the object of @qp for reading.  The caller has a reference to
 * @qp->res, for which the destruction of the queue pair waits, so the object exists.  Before the
 * lock is taken, only those fields of @qp are used that never change.
 */
static int user_lock(const struct ib_qp *qp, const struct file *uverbs)
{
	struct ib_uobject *object;

	if (rdma_is_kernel_res(&qp->res) || qp->real_qp != qp || !qp->uobject)
		return -ENOENT;
	object = user_object(qp);
	/* The pointers are only compared: what they point to is private to uverbs. */
	if (object->ufile != uverbs->private_data)
		return -ENOENT;
	if (qp->qp_type != IB_QPT_RC)
		return -EINVAL;
	/*
	 * The object is not completely made, or is destroyed.  Whoever makes or destroys it
	 * holds the lock for writing: usecnt is -1.
	 */
	if (READ_ONCE(object->object) != qp ||
	    atomic_fetch_add_unless(&object->usecnt, 1, -1) == -1)
		return -EBUSY;
	if (READ_ONCE(object->object) == qp)
		return 0;
	atomic_dec(&object->usecnt);
	return -EBUSY;
}

static void user_unlock(const struct ib_qp *qp)
{
	/* Our use of the queue pair ends before the process can destroy it. */
	smp_mb__before_atomic();
	atomic_dec(&user_object(qp)->usecnt);
}

/* Finds the queue pair with a number, and locks it; or returns an error pointer. */
static struct ib_qp *user_find(struct ib_device *ib, u32 num, const struct file *uverbs)
{
	struct rdma_restrack_entry *res;
	struct ib_qp *qp;
	int ret;

	res = rdma_restrack_get_byid(ib, RDMA_RESTRACK_QP, num);
	if (IS_ERR(res))
		return ERR_PTR(-ENOENT);
	qp = container_of(res, struct ib_qp, res);
	ret = user_lock(qp, uverbs);
	rdma_restrack_put(res);
	return ret ? ERR_PTR(ret) : qp;
}

/*
 * Checks that a queue pair is as its endpoint needs it: in INIT, and with a shared receive queue
 * just if the endpoint is on an SRQ.  That was fixed when the queue pair was made.  It does not
 * matter which of the process's shared receive queues it has: the kernel posts nothing to it, and
 * uverbs allows only one of the same context.
 */
static int user_check_init(const struct kdapl_qp *qp, bool on_srq)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret;

	if (on_srq != !!qp->ib->srq)
		return -EINVAL;
	ret = ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init);
	if (kdapl_refused("user_qp_query", ret))
		return ret;
	/* siw of 6.1 does not report the state.  On iWARP the CM refuses one that is not idle. */
	return attr.qp_state == IB_QPS_INIT || qp->dev->iwarp ? 0 : -EINVAL;
}

static void user_destroy(struct kdapl_qp *qp)
{
	struct kdapl_user_hold *hold = qp->hold;

	hold_del(hold);
	user_unlock(qp->ib);
	qp->ib = NULL;
	qp->hold = NULL;
	queue_work(put_wq, &hold->put);
}

static int user_create(struct kdapl_qp *qp, const struct kdapl_qp_init *init)
{
	struct kdapl_user_hold *hold;
	struct ib_qp *ib;
	int ret;

	ret = user_check_file(qp->dev, init->uverbs);
	if (ret)
		return ret;
	hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	if (!hold)
		return -ENOMEM;
	ib = user_find(qp->dev->ib, init->qp_num, init->uverbs);
	if (IS_ERR(ib)) {
		ret = PTR_ERR(ib);
		goto err_free;
	}
	INIT_WORK(&hold->put, hold_put);
	hold->qp = ib;
	hold->uverbs = init->uverbs;
	ret = hold_add(hold);
	if (ret)
		goto err_unlock;
	get_file(hold->uverbs);

	qp->ib = ib;
	qp->num = ib->qp_num;
	qp->hold = hold;
	ret = user_check_init(qp, init->srq);
	if (ret)
		user_destroy(qp);
	return ret;

err_unlock:
	user_unlock(ib);
err_free:
	kfree(hold);
	return ret;
}

/* ---- the tables ----------------------------------------------------- */

/* The state of a queue pair; RTS if it cannot be asked: nothing is known to be broken then. */
static enum ib_qp_state user_state(struct kdapl_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret = ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init);

	return kdapl_refused("user_qp_query", ret) ? IB_QPS_RTS : attr.qp_state;
}

/*
 * A process can move its queue pair by verbs to where it does not serve the connection any more:
 * not only to ERR, but to RESET, and on to INIT and RTR.  The peer would never hear of that.
 */
static bool user_in_error(struct kdapl_qp *qp)
{
	enum ib_qp_state state = user_state(qp);

	return state != IB_QPS_RTS && state != IB_QPS_SQD;
}

/* On iWARP only the CM moves it to RTS, and none leaves that but to end.  siw of 6.1 says RESET. */
static bool user_iw_in_error(struct kdapl_qp *qp)
{
	enum ib_qp_state state = user_state(qp);

	return state == IB_QPS_ERR || state == IB_QPS_SQE;
}

static const struct kdapl_qp_ops kdapl_user_qp_ops = {
	.create = user_create,
	.move = kdapl_qp_move,
	.error = kdapl_qp_error,
	.in_error = user_in_error,
	.seek_answers = kdapl_qp_seek_answers,
	.destroy = user_destroy,
	.check_file = user_check_file,
};

static const struct kdapl_qp_ops kdapl_user_iw_qp_ops = {
	.create = user_create,
	.move = kdapl_qp_iw_move,
	.error = kdapl_qp_error,
	.in_error = user_iw_in_error,
	.seek_answers = kdapl_qp_seek_answers,
	.destroy = user_destroy,
	.check_file = user_check_file,
};

/**
 * kdapl_user_qp_ops_of - the operations on queue pairs that processes have made
 * @ib: an RDMA device
 * @iwarp: of a port that speaks iWARP
 * @hints: out: KDAPL_HINT_*
 *
 * Any context.
 *
 * Return: the table; NULL if the driver is not among those that let the kernel move such
 * a queue pair.
 */
const struct kdapl_qp_ops *kdapl_user_qp_ops_of(const struct ib_device *ib, bool iwarp,
						u32 *hints)
{
	if (!kdapl_driver_user_qp(ib, hints))
		return NULL;
	return iwarp ? &kdapl_user_iw_qp_ops : &kdapl_user_qp_ops;
}

/**
 * kdapl_user_qp_init - get ready to hold queue pairs of processes
 *
 * May sleep.  Return: 0; -ENOMEM.
 */
int kdapl_user_qp_init(void)
{
	put_wq = alloc_workqueue("kdapl_put", WQ_UNBOUND, 0);
	return put_wq ? 0 : -ENOMEM;
}

/**
 * kdapl_user_qp_exit - undo kdapl_user_qp_init()
 *
 * No queue pair is held any more.  Waits until the references to all uverbs files are dropped,
 * and until those files are closed that nobody else had open.  May sleep.
 */
void kdapl_user_qp_exit(void)
{
	destroy_workqueue(put_wq);
}
