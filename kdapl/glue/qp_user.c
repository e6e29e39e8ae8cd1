// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs that a process has made through uverbs, and posts to by itself:
 * kdapl_user_qp_ops, the third implementation of kdapl_qp_ops.  The kernel moves such a
 * queue pair as it moves its own (qp.c), and never posts or polls.  With which drivers it can
 * is in driver.c; here is whose a queue pair is, and what keeps it.
 *
 * Whose it is.  A process names it by its number and by a uverbs file.  The file is the
 * capability, as it is in uverbs: the queue pair has to be one of that file's objects.
 *
 * What keeps it.  While it is bound we have the lock that uverbs takes for reading around
 * each use of an object, and a reference of the file.  So ibv_destroy_qp() is refused with
 * EBUSY, and the end of the file, which destroys its objects without asking, waits for
 * us.  The lock is only tried, so it is a leaf in the order of locks.  The RDMA core's own
 * count of users would let ibv_destroy_qp() sleep, and does not keep the driver's part in
 * all kernels: it is held during the look-up only.
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
 * The RDMA core takes a device from its clients in the opposite order of their
 * registration.  We have to let go of queue pairs before uverbs destroys them, so uverbs
 * has to be there first.  That is so if we need a symbol of its module.
 */
static const void *const after_uverbs __used = ib_copy_qp_attr_to_user;
#endif

/* The attribute of a uverbs device that names its RDMA device, in sysfs too */
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
 * Is the RDMA device of @dev that of @uverbs, which is of uverbs' class?  If not, -EINVAL; nor
 * while it is being renamed.
 */
static int uverbs_check(struct device *uverbs, const struct kdapl_device *dev)
{
	struct device_attribute *ibdev = find_ibdev(uverbs);
	bool same;
	char *buf;

	if (!ibdev || !ibdev->show)
		return -EINVAL;
	/* Whole and aligned: the core of sysfs asks for that. */
	buf = (char *)get_zeroed_page(GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	same = ibdev->show(uverbs, ibdev, buf) > 0 && sysfs_streq(buf, dev->ib_name);
	free_page((unsigned long)buf);
	return same ? 0 : -EINVAL;
}

/*
 * uverbs shows neither its file operations nor what is behind its files.  But a file of
 * a character device leads to the device, whose class and attributes are public.  What
 * opens a queue pair to us is not this, but that it is one of the file's objects.
 */
static int user_check_file(struct kdapl_device *dev, struct file *uverbs)
{
	const struct inode *inode = file_inode(uverbs);
	struct kobject *parent;
	struct device *device;

	if (!S_ISCHR(inode->i_mode) || !inode->i_cdev)
		return -EINVAL;
	parent = inode->i_cdev->kobj.parent;
	/* Only those that a struct device is a part of have a parent with this type. */
	if (!parent || !dev->ib->dev.kobj.ktype || parent->ktype != dev->ib->dev.kobj.ktype)
		return -EINVAL;
	device = kobj_to_dev(parent);
	if (!device->class || strcmp(device->class->name, "infiniband_verbs"))
		return -EINVAL;
	return uverbs_check(device, dev);
}

/* ---- taking hold ---------------------------------------------------- */

/*
 * struct kdapl_user_hold - what keeps a queue pair of a process
 * @entry: in @held
 * @qp: the queue pair; its object is locked for reading
 * @uverbs: the file whose object it is, with a reference
 * @put: gives that back
 */
struct kdapl_user_hold {
	struct hlist_node entry;
	struct ib_qp *qp;
	struct file *uverbs;
	struct work_struct put;
};

/* All that are held: uverbs lets many hold one. */
static DEFINE_HASHTABLE(held, 8);
static DEFINE_MUTEX(held_lock);
static struct workqueue_struct *put_wq;

/*
 * The last reference closes the file.  Inside the removal of a device that would wait for
 * the removal, and a system call that removes one would not give it back before its end.
 *
 * It is closed here and now.  fput() would leave that to a work item that closes the files
 * of all kernel threads of the host, one after the other: they would wait for uverbs, which
 * destroys what the process has left, and a removal that waits for uverbs would wait for
 * them.  A worker is a kernel thread, as __fput_sync() wants, and nothing is locked here.
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

	mutex_lock(&held_lock);
	hash_for_each_possible(held, other, entry, (unsigned long)hold->qp)
		if (other->qp == hold->qp)
			ret = -EBUSY;
	if (!ret)
		hash_add(held, &hold->entry, (unsigned long)hold->qp);
	mutex_unlock(&held_lock);
	return ret;
}

static void hold_del(struct kdapl_user_hold *hold)
{
	mutex_lock(&held_lock);
	hash_del(&hold->entry);
	mutex_unlock(&held_lock);
}

/*
 * The head of uverbs' private structure of a queue pair.  Whoever looks at it checks first
 * that it leads back to the queue pair.
 */
static struct ib_uobject *user_object(const struct ib_qp *qp)
{
	return (struct ib_uobject *)qp->uobject;
}

/*
 * The lock of uverbs on the object of @qp.  The caller has a reference of @qp->res, for
 * which its destruction waits, so the object is there; of the rest of @qp, only what does
 * not change is looked at before the lock.
 */
static int user_lock(const struct ib_qp *qp, const struct file *uverbs)
{
	struct ib_uobject *object;

	if (rdma_is_kernel_res(&qp->res) || qp->real_qp != qp || !qp->uobject)
		return -ENOENT;
	object = user_object(qp);
	/* Compared, and never followed: it is private to uverbs. */
	if (object->ufile != uverbs->private_data)
		return -ENOENT;
	if (qp->qp_type != IB_QPT_RC)
		return -EINVAL;
	/* Not made completely, or destroyed; who does either has the lock for writing. */
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
	/* What we did with it is over: the process may destroy it at once. */
	smp_mb__before_atomic();
	atomic_dec(&user_object(qp)->usecnt);
}

/* The queue pair of a number, locked; or an error pointer. */
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
 * Whose receives it takes has been settled when it was made.  Which of the process's shared
 * receive queues it is does not matter here: nothing is posted to it, and uverbs lets a queue
 * pair have none that is not of the same context.
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
	/* siw of 6.1 does not tell the state; the CM of iWARP refuses what is not idle. */
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

static bool user_in_error(struct kdapl_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret = ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init);

	return !kdapl_refused("user_qp_query", ret) &&
	       (attr.qp_state == IB_QPS_ERR || attr.qp_state == IB_QPS_SQE);
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
	.in_error = user_in_error,
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
 * None is held.  Waits until all files are given back, and those closed that nobody else
 * had.  May sleep.
 */
void kdapl_user_qp_exit(void)
{
	destroy_workqueue(put_wq);
}
