// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: open, release, the table of calls and how a call is carried out.  The
 * ABI is include/uapi/rdma/kdapl.h, and is described in Documentation/abi.rst.
 *
 * Each open file has its own table of handles (struct kdapl_space).  The last
 * close of the file frees all objects in it, whatever state they are in.  The objects
 * of a process that is killed end in the same way.
 *
 * Called by main.c (init, exit) and by processes.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include "dev_ring.h"
#include "../core/user.h"
#include "../glue/glue.h"

static unsigned int max_objects = 65536;
module_param(max_objects, uint, 0444);
MODULE_PARM_DESC(max_objects, "DAT objects that one open file of /dev/kdapl may have");

static unsigned int max_user_objects = 262144;
module_param(max_user_objects, uint, 0444);
MODULE_PARM_DESC(max_user_objects, "DAT objects that all open files of one user may have");

/*
 * A process has one file, and so many processes are several for each processor of a large host.
 * An adapter that is opened takes memory for each processor, which no limit counts: with so many
 * files, on 64 processors, some 100 MiB for each device (struct kdapl_section).
 */
static unsigned int max_user_files = 4096;
module_param(max_user_files, uint, 0444);
MODULE_PARM_DESC(max_user_files, "Files of /dev/kdapl that one user may have open");

/* All open files by number, for those who look; each until its close is almost through */
static DEFINE_XARRAY_FLAGS(files, XA_FLAGS_ACCOUNT);
static atomic64_t last_id;

/* ---- conversions that several calls need ----------------------------------- */

/**
 * kdapl_dev_put_addr - make an address ready to be copied to a process
 * @to: out; all zero if @from is NULL
 * @from: IPv4, IPv6, or NULL
 */
void kdapl_dev_put_addr(struct kdapl_uapi_addr *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	if (!from)
		return;
	if (from->sa_family == AF_INET)
		to->len = sizeof(struct sockaddr_in);
	else if (from->sa_family == AF_INET6)
		to->len = sizeof(struct sockaddr_in6);
	memcpy(to->sa, from, to->len);
}

/**
 * kdapl_dev_get_addr - take an address from a process
 * @to: out; zeroed behind the address, so that the core may read all of it
 * @from: its len is 0 if the process gave no address
 *
 * Return: 0; -EINVAL if its len is longer than any address.
 */
int kdapl_dev_get_addr(struct sockaddr_storage *to,
		       const struct kdapl_uapi_addr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->len > sizeof(from->sa))
		return -EINVAL;
	memcpy(to, from->sa, from->len);
	return 0;
}

/**
 * kdapl_dev_get_private_data - copy private data from a process
 * @to: KDAPL_DEV_PRIVATE_DATA bytes
 * @from: user pointer
 * @size: as the process says.  If it is negative or too large, nothing is
 *	  copied: the core refuses such a size before it reads the data
 * @data: out: @to, or NULL if @from is a null pointer
 *
 * Return: 0; -EFAULT.
 */
int kdapl_dev_get_private_data(void *to, u64 from, s32 size, const void **data)
{
	BUILD_BUG_ON(KDAPL_REP_PRIVATE_DATA > KDAPL_DEV_PRIVATE_DATA);

	*data = from ? to : NULL;
	if (!from || size <= 0 || size > KDAPL_DEV_PRIVATE_DATA)
		return 0;
	if (copy_from_user(to, u64_to_user_ptr(from), size))
		return -EFAULT;
	return 0;
}

/* ---- the calls ------------------------------------------------------------- */

static int kdapl_dev_query_abi(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_query_abi *arg = data;

	arg->min_version = KDAPL_ABI_VERSION;
	arg->max_version = KDAPL_ABI_VERSION;
	arg->max_dtos = KDAPL_UAPI_MAX_DTOS;
	arg->max_segments = KDAPL_MAX_SGE;
	arg->features = KDAPL_FEATURE_PASSTHROUGH | KDAPL_FEATURE_SRQ |
			KDAPL_FEATURE_OWN_SRQS | KDAPL_FEATURE_CQ_FAULT |
			KDAPL_FEATURE_CQ_SETTLE | KDAPL_FEATURE_IA_BOARD |
			KDAPL_FEATURE_EVENT_LIFE | KDAPL_FEATURE_BOARD_EVENT |
			KDAPL_FEATURE_EXTENSIONS | KDAPL_FEATURE_REJECT_DATA |
			KDAPL_FEATURE_TELL_LAST | KDAPL_FEATURE_OPERATION |
			KDAPL_FEATURE_INVALIDATE | KDAPL_FEATURE_READ_TO_RMR;
	if (arg->version != KDAPL_ABI_VERSION)
		return -EPROTONOSUPPORT;
	WRITE_ONCE(file->agreed, true);
	return 0;
}

/* An operation of the core that takes a handle and nothing else. */
typedef DAT_RETURN kdapl_dev_handle_fn(struct kdapl_space *space,
				       DAT_HANDLE handle);

/**
 * struct kdapl_dev_call - how one call is carried out
 * @cmd: the whole ioctl number.  The size of the structure is part of it, so a
 *	 structure of another size is an unknown call
 * @pad: offset of the structure's field `pad`, which has to be zero
 * @pad_size: its size; 0 if the structure has none
 * @fn: carries the call out
 * @of_handle: used in place of @fn if the call passes one handle to the
 *	       core and nothing else; the structure is a struct
 *	       kdapl_uapi_handle then
 * @made: offset of the handle of the object that the call makes
 * @unmake: frees that object.  Called if the call succeeded but its result could not be
 *	    copied to the process, which then does not know the handle
 * @undo: called in the same case, where freeing one object is not enough; NULL if there is
 *	  nothing more to undo
 */
struct kdapl_dev_call {
	unsigned int cmd;
	u16 pad;
	u16 pad_size;
	kdapl_dev_fn *fn;
	kdapl_dev_handle_fn *of_handle;
	u16 made;
	kdapl_dev_handle_fn *unmake;
	kdapl_dev_undo *undo;
};

#define CALL(_cmd, ...)							\
	[_IOC_NR(KDAPL_IOC_##_cmd)] = { .cmd = KDAPL_IOC_##_cmd, __VA_ARGS__ }
#define FN(_fn)		.fn = kdapl_dev_##_fn
#define PAD(_struct)							\
	.pad = offsetof(struct kdapl_uapi_##_struct, pad),		\
	.pad_size = sizeof_field(struct kdapl_uapi_##_struct, pad)
#define OF_HANDLE(_fn)	.of_handle = _fn, PAD(handle)
#define MAKES(_struct, _field, _free)					\
	.made = offsetof(struct kdapl_uapi_##_struct, _field), .unmake = _free

/*
 * Two calls are not in the table: KDAPL_IOC_POST, which is the data path (dev_dto.c), and
 * KDAPL_IOC_EVD_POLL_FD (dev_evd.c).
 */
static const struct kdapl_dev_call call_table[] = {
	CALL(QUERY_ABI, FN(query_abi), PAD(query_abi)),
	CALL(HANDLE_TYPE, FN(handle_type)),
	CALL(IA_LIST, FN(ia_list), PAD(ia_list)),
	CALL(IA_OPEN, FN(ia_open), PAD(ia_open),
	     .undo = kdapl_dev_ia_open_undo),
	CALL(IA_CLOSE, FN(ia_close)),
	CALL(IA_QUERY, FN(ia_query), PAD(ia_query)),
	CALL(IA_PASSTHROUGH, FN(ia_passthrough)),
	CALL(IA_CQ_FAULT, OF_HANDLE(kdapl_ia_cq_fault)),
	CALL(IA_TELL_LAST, OF_HANDLE(kdapl_ia_tell_last)),

	CALL(PZ_CREATE, FN(pz_create), PAD(pz_create),
	     MAKES(pz_create, pz, kdapl_pz_free)),
	CALL(PZ_QUERY, FN(pz_query)),
	CALL(PZ_FREE, OF_HANDLE(kdapl_pz_free)),

	CALL(LMR_CREATE, FN(lmr_create), PAD(lmr_create),
	     MAKES(lmr_create, lmr, kdapl_lmr_free)),
	CALL(LMR_QUERY, FN(lmr_query)),
	CALL(LMR_FREE, OF_HANDLE(kdapl_lmr_free)),
	CALL(LMR_SYNC, FN(lmr_sync)),

	CALL(EVD_CREATE, FN(evd_create), PAD(evd_create),
	     .undo = kdapl_dev_evd_create_undo),
	CALL(EVD_QUERY, FN(evd_query), PAD(evd_query)),
	CALL(EVD_RESIZE, FN(evd_resize)),
	CALL(EVD_FREE, FN(evd_free), PAD(handle)),
	CALL(EVD_POST_SE, FN(evd_post_se)),
	CALL(EVD_WAIT, FN(evd_wait)),
	CALL(EVD_DEQUEUE, FN(evd_dequeue), PAD(evd_dequeue),
	     .undo = kdapl_dev_evd_dequeue_undo),
	CALL(EVD_REFILL, FN(evd_refill), PAD(handle)),
	CALL(EVD_RING, FN(evd_ring), PAD(evd_ring)),
	CALL(EVD_SET_WAITABLE, FN(evd_set_waitable)),
	CALL(CQ_SETTLE, FN(cq_settle), PAD(cq_settle)),

	CALL(EP_CREATE, FN(ep_create), MAKES(ep_create, ep, kdapl_ep_free)),
	CALL(EP_QUERY, FN(ep_query)),
	CALL(EP_MODIFY, FN(ep_modify)),
	CALL(EP_GET_STATUS, FN(ep_get_status)),
	CALL(EP_CONNECT, FN(ep_connect), PAD(ep_connect)),
	CALL(EP_DUP_CONNECT, FN(ep_dup_connect)),
	CALL(EP_DISCONNECT, FN(ep_disconnect)),
	CALL(EP_RESET, OF_HANDLE(kdapl_ep_reset)),
	CALL(EP_FREE, OF_HANDLE(kdapl_ep_free)),
	CALL(EP_PRIVATE_DATA, FN(ep_private_data)),
	CALL(EP_BOARD, FN(ep_board)),
	CALL(EP_BIND, FN(ep_bind), .undo = kdapl_dev_ep_bind_undo),
	CALL(EP_TELL, FN(ep_tell), PAD(ep_tell)),
	CALL(EP_CREATE_WITH_SRQ, FN(ep_create_with_srq),
	     MAKES(ep_create_with_srq, ep, kdapl_ep_free)),
	CALL(EP_RECV_QUERY, FN(ep_recv_query), PAD(ep_recv_query)),
	CALL(BOARD_EVENT, FN(board_event)),

	CALL(PSP_CREATE, FN(psp_create),
	     MAKES(psp_create, psp, kdapl_psp_free)),
	CALL(PSP_CREATE_ANY, FN(psp_create_any),
	     MAKES(psp_create, psp, kdapl_psp_free)),
	CALL(PSP_QUERY, FN(psp_query), PAD(psp_query)),
	CALL(PSP_FREE, OF_HANDLE(kdapl_psp_free)),
	CALL(RSP_CREATE, FN(rsp_create), PAD(rsp_create),
	     MAKES(rsp_create, rsp, kdapl_rsp_free)),
	CALL(RSP_QUERY, FN(rsp_query)),
	CALL(RSP_FREE, OF_HANDLE(kdapl_rsp_free)),

	CALL(CR_QUERY, FN(cr_query)),
	CALL(CR_ACCEPT, FN(cr_accept)),
	CALL(CR_REJECT, OF_HANDLE(kdapl_cr_reject)),
	CALL(CR_HANDOFF, FN(cr_handoff), PAD(cr_handoff)),
	CALL(CR_REJECT_DATA, FN(cr_reject)),

	CALL(RMR_CREATE, FN(rmr_create),
	     MAKES(rmr_create, rmr, kdapl_rmr_free)),
	CALL(RMR_QUERY, FN(rmr_query)),
	CALL(RMR_BIND, FN(rmr_bind)),
	CALL(RMR_FREE, OF_HANDLE(kdapl_rmr_free)),

	CALL(SRQ_CREATE, FN(srq_create), MAKES(srq_create, srq, kdapl_srq_free)),
	CALL(SRQ_QUERY, FN(srq_query)),
	CALL(SRQ_RESIZE, FN(srq_resize)),
	CALL(SRQ_SET_LW, FN(srq_set_lw)),
	CALL(SRQ_POST, FN(srq_post), PAD(post)),
	CALL(SRQ_FREE, OF_HANDLE(kdapl_srq_free)),
	CALL(SRQ_TELL, FN(srq_tell)),
};

static const struct kdapl_dev_call *call_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= ARRAY_SIZE(call_table))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(call_table));
	return call_table[nr].cmd == cmd ? &call_table[nr] : NULL;
}

static int call_core(struct kdapl_file *file, const struct kdapl_dev_call *call,
		     void *data)
{
	struct kdapl_uapi_handle *arg = data;

	if (!call->of_handle)
		return call->fn(file, data);
	arg->ret = call->of_handle(&file->space, kdapl_dev_handle(arg->handle));
	return 0;
}

/*
 * Undoes a call whose result could not be copied to the process.  The first
 * word of every structure is its DAT_RETURN.
 */
static void call_undo(struct kdapl_file *file, const struct kdapl_dev_call *call,
		      void *data)
{
	if (*(u32 *)data != DAT_SUCCESS)
		return;
	if (call->unmake)
		call->unmake(&file->space,
			     kdapl_dev_handle(*(u64 *)(data + call->made)));
	if (call->undo)
		call->undo(file, data);
}

/* Carries a call out.  @data is a buffer of the size that is part of the call's ioctl number. */
static int call_run(struct kdapl_file *file, const struct kdapl_dev_call *call,
		    void *data, void __user *uarg)
{
	size_t size = _IOC_SIZE(call->cmd);
	int ret;

	if (copy_from_user(data, uarg, size))
		return -EFAULT;
	if (memchr_inv(data + call->pad, 0, call->pad_size))
		return -EINVAL;
	ret = call_core(file, call, data);
	if (copy_to_user(uarg, data, size)) {
		if (!ret)
			call_undo(file, call, data);
		return -EFAULT;
	}
	return ret;
}

static long call_by_table(struct kdapl_file *file, unsigned int cmd,
			  void __user *uarg)
{
	const struct kdapl_dev_call *call = call_find(cmd);
	u64 small[32];
	void *large;
	long ret;

	if (!call)
		return -ENOTTY;

	if (_IOC_SIZE(cmd) <= sizeof(small))
		return call_run(file, call, small, uarg);

	large = kmalloc(_IOC_SIZE(cmd), GFP_KERNEL_ACCOUNT);
	if (!large)
		return -ENOMEM;
	ret = call_run(file, call, large, uarg);
	kfree(large);
	return ret;
}

/* A call before KDAPL_IOC_QUERY_ABI has succeeded */
static long call_early(struct kdapl_file *file, unsigned int cmd, void __user *uarg)
{
	if (cmd == KDAPL_IOC_QUERY_ABI)
		return call_by_table(file, cmd, uarg);
	if (cmd == KDAPL_IOC_POST || cmd == KDAPL_IOC_EVD_POLL_FD || call_find(cmd))
		return -EPROTO;
	return -ENOTTY;
}

static long kdapl_dev_ioctl(struct file *filp, unsigned int cmd,
			    unsigned long arg)
{
	struct kdapl_file *file = filp->private_data;

	if (unlikely(!READ_ONCE(file->agreed)))
		return call_early(file, cmd, (void __user *)arg);
	if (likely(cmd == KDAPL_IOC_POST))
		return kdapl_dev_post(file, (void __user *)arg);
	if (cmd == KDAPL_IOC_EVD_POLL_FD)
		return kdapl_dev_evd_poll_fd(file, (void __user *)arg);
	return call_by_table(file, cmd, (void __user *)arg);
}

/* ---- the file -------------------------------------------------------------- */

/**
 * kdapl_dev_file_next - find an open file, and keep it from being freed
 * @id: find the first one with this number or a larger one
 * @last: and with this number or a smaller one
 * @want: looks whether it is one that the caller wants; NULL: all are
 * @arg: for @want
 *
 * The close of the file waits for kdapl_dev_file_put(), so only one that is wanted is kept:
 * whoever looks for his own files may have to wait for his turn to run, and nobody else's close
 * must wait with him.  No lock is taken that the open or the close of another file needs, however
 * many there are.  May sleep.
 *
 * Return: NULL: there is none.
 */
struct kdapl_file *kdapl_dev_file_next(u64 id, u64 last, kdapl_dev_want_fn *want,
				       const void *arg)
{
	unsigned long at = id;
	struct kdapl_file *file;
	bool held;

	for (;;) {
		rcu_read_lock();
		file = xa_find(&files, &at, last, XA_PRESENT);
		/* One that nobody can look at any more is almost closed. */
		held = file && (!want || want(file, arg)) &&
			  refcount_inc_not_zero(&file->refs);
		rcu_read_unlock();
		if (!file || held)
			return file;
		at++;
		cond_resched();
	}
}

/**
 * kdapl_dev_file_put - undo kdapl_dev_file_next()
 * @file: must not be touched any more
 *
 * Any context.
 */
void kdapl_dev_file_put(struct kdapl_file *file)
{
	if (refcount_dec_and_test(&file->refs))
		complete(&file->released);
}

static void file_close(struct kdapl_file *file)
{
	kdapl_ia_close_all(&file->space);
	/* Only now, so that whoever looks can see what a process that has exited still holds. */
	xa_erase(&files, file->id);
	kdapl_dev_file_put(file);
	wait_for_completion(&file->released);

	kdapl_ring_drop_all(file);
	kdapl_board_free(file);
	kdapl_space_destroy(&file->space);
	put_pid(file->pid);
	kfree_rcu(file, rcu);
}

static void close_finish(struct work_struct *work)
{
	file_close(container_of(work, struct kdapl_file, finish));
	/* The unloading destroys the workqueue, and so waits until this has returned. */
	module_put(THIS_MODULE);
}

static void close_lingered(struct kdapl_space *space)
{
	struct kdapl_file *file = container_of(space, struct kdapl_file, space);

	queue_work(kdapl_user_close_wq(space->owner), &file->finish);
}

static void close_teardown(struct work_struct *work)
{
	struct kdapl_file *file = container_of(work, struct kdapl_file, teardown);

	kdapl_space_teardown(&file->space, close_lingered);
}

static struct kdapl_file *file_alloc(const struct cred *cred)
{
	struct kdapl_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	xa_init_flags(&file->rings, XA_FLAGS_ACCOUNT);
	xa_init_flags(&file->maps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	INIT_WORK(&file->teardown, close_teardown);
	INIT_WORK(&file->finish, close_finish);
	refcount_set(&file->refs, 1);
	init_completion(&file->released);
	file->id = atomic64_inc_return(&last_id);
	file->pid = get_pid(task_tgid(current));
	file->uid = cred->uid;
	file->plain_user = uid_eq(cred->uid, cred->euid) && uid_eq(cred->uid, cred->suid);
	return file;
}

static int kdapl_dev_open(struct inode *inode, struct file *filp)
{
	const struct cred *cred = current_cred();
	struct kdapl_file *file;
	struct kdapl_user *user;
	int ret;

	file = file_alloc(cred);
	if (!file)
		return -ENOMEM;
	user = kdapl_user_get(cred->uid, max_user_files, max_user_objects);
	ret = PTR_ERR_OR_ZERO(user);
	if (ret)
		goto err_file;
	ret = kdapl_space_init(&file->space, current->nsproxy->net_ns, user,
			       max_objects);
	if (ret)
		goto err_user;
	ret = xa_err(xa_store(&files, file->id, file, GFP_KERNEL_ACCOUNT));
	if (ret)
		goto err_space;
	filp->private_data = file;
	return nonseekable_open(inode, filp);

err_space:
	kdapl_space_destroy(&file->space);
	goto err_file;
err_user:
	kdapl_user_put(user);
err_file:
	put_pid(file->pid);
	kfree(file);
	return ret;
}

/*
 * No call is running and nothing is mapped any more, since both would hold the file open.
 *
 * The connections end here.  Then the close waits until all objects are freed, and for the
 * peers.  Only the process that has opened the file waits for that.  The last reference may also
 * be dropped by a process that was sent the descriptor without asking for it, or by the kernel
 * thread that closes files for all other kernel threads, one after the other.  These must not be
 * held up, so work items do the rest then.  The first one begins at once, and gives back
 * memory, queue pairs and all else that waits for no peer, whatever other files of the user do;
 * the second one is queued when no peer has to be waited for any more.
 */
static int kdapl_dev_release(struct inode *inode, struct file *filp)
{
	struct kdapl_file *file = filp->private_data;

	kdapl_space_disconnect(&file->space);
	if (task_tgid(current) == file->pid) {
		file_close(file);
		return 0;
	}
	/* Until the end of close_finish(), so that nobody has to wait for it in the unloading. */
	__module_get(THIS_MODULE);
	queue_work(kdapl_user_close_wq(file->space.owner), &file->teardown);
	return 0;
}

static const struct file_operations kdapl_dev_fops = {
	.owner = THIS_MODULE,
	.open = kdapl_dev_open,
	.release = kdapl_dev_release,
	.unlocked_ioctl = kdapl_dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = kdapl_dev_mmap,
};

static struct miscdevice kdapl_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kdapl",
	.mode = 0666,
	.fops = &kdapl_dev_fops,
};

/**
 * kdapl_dev_init - make /dev/kdapl appear
 *
 * The core has to be set up before, since a process may open the file at once.  May
 * sleep.
 *
 * Return: 0 or an errno.
 */
int kdapl_dev_init(void)
{
	return misc_register(&kdapl_dev);
}

/**
 * kdapl_dev_exit - take /dev/kdapl away
 *
 * No file is open or being closed, since both hold the module.  May sleep.
 */
void kdapl_dev_exit(void)
{
	misc_deregister(&kdapl_dev);
}

/*
 * Checks of the layout of the ABI, which must never change.  The size of a call's structure
 * is part of its ioctl number.  The structures in event rings, on the board and in arrays have
 * no ioctl number, so the offset of each of their fields is checked as well.
 */
#define SIZE(_struct, _size) \
	static_assert(sizeof(struct kdapl_uapi_##_struct) == (_size))
#define OFFSET(_struct, _field, _offset) \
	static_assert(offsetof(struct kdapl_uapi_##_struct, _field) == (_offset))

SIZE(query_abi, 32);
SIZE(handle, 16);
SIZE(handle_flags, 16);
SIZE(handle_type, 16);
SIZE(addr, 32);
SIZE(provider_info, 272);
SIZE(ia_list, 24);
SIZE(ia_open, 328);
SIZE(ia_attr, 680);
SIZE(provider_attr, 384);
SIZE(ia_query, 1104);
SIZE(ia_passthrough, 32);
SIZE(pz_create, 24);
SIZE(pz_query, 24);
SIZE(lmr_create, 80);
SIZE(lmr_query, 80);
SIZE(lmr_sync, 32);
SIZE(rmr_create, 24);
SIZE(rmr_query, 64);
SIZE(rmr_bind, 64);
SIZE(ring, 32);
SIZE(evd_create, 64);
SIZE(evd_query, 40);
SIZE(evd_resize, 48);
SIZE(evd_ring, 48);
SIZE(evd_post_se, 24);
SIZE(evd_wait, 32);
SIZE(evd_dequeue, 80);
SIZE(evd_poll_fd, 16);
SIZE(evd_set_waitable, 16);
SIZE(ep_attr, 80);
SIZE(ep_create, 136);
SIZE(ep_create_with_srq, 144);
SIZE(ep_param, 232);
SIZE(ep_get_status, 24);
SIZE(ep_recv_query, 24);
SIZE(ep_connect, 80);
SIZE(ep_dup_connect, 40);
SIZE(ep_private_data, 32);
SIZE(ep_board, 16);
SIZE(ep_bind, 24);
SIZE(ep_tell, 24);
SIZE(board_event, 8);
SIZE(cq_settle, 8);
SIZE(post, 32);
SIZE(srq_create, 40);
SIZE(srq_query, 56);
SIZE(srq_count, 16);
SIZE(srq_tell, 16);
SIZE(psp_create, 40);
SIZE(psp_query, 48);
SIZE(rsp_create, 48);
SIZE(rsp_query, 48);
SIZE(cr_query, 80);
SIZE(cr_accept, 32);
SIZE(cr_handoff, 24);
SIZE(cr_reject, 24);

SIZE(event, 64);
OFFSET(event, event_number, 0);
OFFSET(event, evd, 8);
OFFSET(event, dto.ep, 16);
OFFSET(event, dto.cookie, 24);
OFFSET(event, dto.length, 32);
OFFSET(event, dto.status, 40);
OFFSET(event, dto.operation, 44);
OFFSET(event, dto.immediate, 48);
OFFSET(event, rmr.rmr, 16);
OFFSET(event, rmr.cookie, 24);
OFFSET(event, rmr.status, 32);
OFFSET(event, cr.sp, 16);
OFFSET(event, cr.cr, 24);
OFFSET(event, cr.conn_qual, 32);
OFFSET(event, cr.address, 40);
OFFSET(event, cr.scope_id, 56);
OFFSET(event, cr.family, 60);
OFFSET(event, connect.ep, 16);
OFFSET(event, connect.private_data_size, 24);
OFFSET(event, connect.life, 28);
OFFSET(event, async.handle, 16);
OFFSET(event, async.reason, 24);
OFFSET(event, software.pointer, 16);
OFFSET(event, raw, 16);

SIZE(ring_header, 64);
OFFSET(ring_header, producer, 0);
OFFSET(ring_header, flags, 4);
OFFSET(ring_header, nr_entries, 8);
SIZE(ring_index, 4);

SIZE(board_ep, 64);
OFFSET(board_ep, life, 0);
OFFSET(board_ep, state, 4);
OFFSET(board_ep, refuse_request, 8);
OFFSET(board_ep, refuse_recv, 12);
OFFSET(board_ep, flags, 16);

SIZE(dto, 48);
OFFSET(dto, op, 0);
OFFSET(dto, flags, 4);
OFFSET(dto, num_segments, 8);
OFFSET(dto, rmr_context, 12);
OFFSET(dto, segments, 16);
OFFSET(dto, cookie, 24);
OFFSET(dto, target_address, 32);
OFFSET(dto, target_length, 40);

SIZE(dto_more, 24);
OFFSET(dto_more, segments, 0);
OFFSET(dto_more, operand, 8);
OFFSET(dto_more, compare, 16);

/* libdat passes the application's array of DAT_LMR_TRIPLET unchanged. */
SIZE(segment, sizeof(DAT_LMR_TRIPLET));
OFFSET(segment, lmr_context, offsetof(DAT_LMR_TRIPLET, lmr_context));
OFFSET(segment, address, offsetof(DAT_LMR_TRIPLET, virtual_address));
OFFSET(segment, length, offsetof(DAT_LMR_TRIPLET, segment_length));
