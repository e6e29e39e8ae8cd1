// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whose a uverbs file is, and how a queue pair of a process is kept from being destroyed.
 *
 * With KDAPL_UVERBS_HOLDS (compat.h) uverbs does both.  Without, nothing that uverbs exports
 * does, and the rest of this file uses what it has inside: an attribute in sysfs, the lock of
 * a queue pair's object, and a reference of the file.  Documentation/upstream.rst compares the
 * two; Documentation/life-of-a-connection.rst, Queue pairs of a process, says why it has to be so.
 *
 * Called by qp_user.c.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>
#include "../compat.h"
#include "uverbs.h"

#ifdef KDAPL_UVERBS_HOLDS
/* ---- by functions of uverbs ----------------------------------------- */

#include <rdma/uverbs_qp.h>

/**
 * kdapl_uverbs_check_file - is a file the verbs context of a device?
 * @dev: the device
 * @uverbs: any file
 *
 * kdapl_qp_ops.check_file.  This check alone gives access to no queue pair.
 *
 * Return: 0; -EINVAL: no; -ENOMEM.
 */
int kdapl_uverbs_check_file(struct kdapl_device *dev, struct file *uverbs)
{
	return ib_uverbs_is_file_of(uverbs, dev->ib) ? 0 : -EINVAL;
}

/**
 * kdapl_uverbs_hold - keep a queue pair of a process from being destroyed
 * @dev: its device
 * @uverbs: the file that it has to be an object of
 * @num: its number
 *
 * Until kdapl_uverbs_let_go() the process's attempts to destroy it fail with EBUSY, and the close
 * of @uverbs leaves it alone.  The removal of the device does not: it has to be let go before.
 * The same queue pair can be held many times.  May sleep.
 *
 * Return: what kdapl_uverbs_let_go() frees; or an error pointer, -EINVAL: @uverbs is no uverbs
 * file of @dev; -ENOENT: it has no such queue pair; -EBUSY: that is being made or destroyed;
 * -ENOMEM.
 */
struct kdapl_user_hold *kdapl_uverbs_hold(struct kdapl_device *dev, struct file *uverbs,
					  u32 num)
{
	struct kdapl_user_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	struct ib_qp *qp;

	if (!hold)
		return ERR_PTR(-ENOMEM);
	qp = ib_uverbs_get_qp(uverbs, dev->ib, num);
	if (IS_ERR(qp)) {
		kfree(hold);
		return ERR_CAST(qp);
	}
	hold->qp = qp;
	return hold;
}

/**
 * kdapl_uverbs_let_go - undo kdapl_uverbs_hold()
 * @hold: what it has returned; freed
 *
 * When this returns, the process can destroy the queue pair.  If it has closed the file, a work
 * item destroys all that it has left: the caller may be in the removal of the device.
 */
void kdapl_uverbs_let_go(struct kdapl_user_hold *hold)
{
	ib_uverbs_put_qp(hold->qp);
	kfree(hold);
}

/**
 * kdapl_uverbs_init - get ready to hold queue pairs of processes
 *
 * May sleep.  Return: 0; -ENOMEM.
 */
int kdapl_uverbs_init(void)
{
	return 0;
}

/**
 * kdapl_uverbs_exit - undo kdapl_uverbs_init()
 *
 * No queue pair is held any more.  Waits until nothing that was done for one needs this module.
 * May sleep.
 */
void kdapl_uverbs_exit(void)
{
}

#else /* KDAPL_UVERBS_HOLDS */
/* ---- by what uverbs has inside: the file ------------------------------ */

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
 * uverbs exports neither its file operations nor the structures behind its files.  But from a file
 * of a character device one gets to its struct device, whose class and attributes are public.
 */
int kdapl_uverbs_check_file(struct kdapl_device *dev, struct file *uverbs)
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

/* ---- by what uverbs has inside: the hold ------------------------------ */

/*
 * struct own_hold - struct kdapl_user_hold, and what else it takes
 * @base: its queue pair's uverbs object is locked for reading
 * @uverbs: the file that the queue pair is an object of, with a reference
 * @put: drops that reference
 */
struct own_hold {
	struct kdapl_user_hold base;
	struct file *uverbs;
	struct work_struct put;
};

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
	struct own_hold *hold = container_of(work, struct own_hold, put);

	__fput_sync(hold->uverbs);
	kfree(hold);
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

struct kdapl_user_hold *kdapl_uverbs_hold(struct kdapl_device *dev, struct file *uverbs,
					  u32 num)
{
	struct own_hold *hold;
	struct ib_qp *qp;
	int ret;

	ret = kdapl_uverbs_check_file(dev, uverbs);
	if (ret)
		return ERR_PTR(ret);
	hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	if (!hold)
		return ERR_PTR(-ENOMEM);
	qp = user_find(dev->ib, num, uverbs);
	if (IS_ERR(qp)) {
		kfree(hold);
		return ERR_CAST(qp);
	}
	INIT_WORK(&hold->put, hold_put);
	hold->base.qp = qp;
	hold->uverbs = get_file(uverbs);
	return &hold->base;
}

void kdapl_uverbs_let_go(struct kdapl_user_hold *hold)
{
	struct own_hold *own = container_of(hold, struct own_hold, base);

	user_unlock(hold->qp);
	queue_work(put_wq, &own->put);
}

int kdapl_uverbs_init(void)
{
	put_wq = alloc_workqueue("kdapl_put", WQ_UNBOUND, 0);
	return put_wq ? 0 : -ENOMEM;
}

/* Waits also until those files are closed that nobody else had open. */
void kdapl_uverbs_exit(void)
{
	destroy_workqueue(put_wq);
}

#endif /* KDAPL_UVERBS_HOLDS */
