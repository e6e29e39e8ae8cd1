// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: open, release, the table of calls and how a call is made.  The
 * ABI is include/uapi/rdma/kdapl.h, told in Documentation/abi.rst.
 *
 * A file is a space of its own (core/object.h).  The last close tears it down
 * whatever state it is in, which is what happens to a killed process, too.
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
#include "../glue/glue.h"

static unsigned int max_objects = 65536;
module_param(max_objects, uint, 0444);
MODULE_PARM_DESC(max_objects, "DAT objects that one open file of /dev/kdapl may have");

LIST_HEAD(kdapl_dev_files);
DEFINE_MUTEX(kdapl_dev_files_lock);	/* of the list */

/* ---- conversions that several calls need ------------------------------------ */

/**
 * kdapl_dev_put_addr - an address for a process
 * @to: zeroed if there is none
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
 * kdapl_dev_get_addr - an address from a process
 * @to: zeroed behind what is there, so that the core may look at all of it
 * @from: @len 0 means none
 *
 * Return: 0, -EINVAL for a length that no address has.
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
 * kdapl_dev_get_private_data - private data from a process
 * @to: KDAPL_DEV_PRIVATE_DATA bytes
 * @from: user pointer
 * @size: as the process says; the core refuses what is negative or too long
 *	  before it looks at the data
 * @data: out: @to, or NULL for a null pointer
 *
 * Return: 0, -EFAULT.
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

/* ---- the calls ---------------------------------------------------------------- */

static int kdapl_dev_query_abi(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_query_abi *arg = data;

	arg->min_version = KDAPL_ABI_VERSION;
	arg->max_version = KDAPL_ABI_VERSION;
	arg->max_dtos = KDAPL_UAPI_MAX_DTOS;
	arg->max_segments = KDAPL_MAX_SGE;
	arg->features = 0;
	if (arg->version != KDAPL_ABI_VERSION)
		return -EPROTONOSUPPORT;
	WRITE_ONCE(file->agreed, true);
	return 0;
}

/**
 * struct kdapl_dev_call - one call
 * @cmd: whole ioctl number: a structure of another size is another call
 * @pad: offset of the field `pad`
 * @pad_size: 0 if there is none
 * @fn: does it
 * @undo: the caller cannot be told of what @fn made; NULL if there is nothing
 */
struct kdapl_dev_call {
	unsigned int cmd;
	u16 pad;
	u16 pad_size;
	kdapl_dev_fn *fn;
	kdapl_dev_undo *undo;
};

#define CALL(_cmd, _fn, _undo)						\
	[_IOC_NR(KDAPL_IOC_##_cmd)] = {					\
		.cmd = KDAPL_IOC_##_cmd, .fn = kdapl_dev_##_fn, .undo = _undo }
#define CALL_PAD(_cmd, _struct, _fn, _undo)				\
	[_IOC_NR(KDAPL_IOC_##_cmd)] = {					\
		.cmd = KDAPL_IOC_##_cmd,				\
		.pad = offsetof(struct kdapl_uapi_##_struct, pad),	\
		.pad_size = sizeof_field(struct kdapl_uapi_##_struct, pad), \
		.fn = kdapl_dev_##_fn, .undo = _undo }

static const struct kdapl_dev_call calls[] = {
	CALL_PAD(QUERY_ABI, query_abi, query_abi, NULL),
	CALL(HANDLE_TYPE, handle_type, NULL),
	CALL_PAD(IA_LIST, ia_list, ia_list, NULL),
	CALL_PAD(IA_OPEN, ia_open, ia_open, kdapl_dev_ia_open_undo),
	CALL(IA_CLOSE, ia_close, NULL),
	CALL_PAD(IA_QUERY, ia_query, ia_query, NULL),

	CALL_PAD(PZ_CREATE, pz_create, pz_create, kdapl_dev_pz_create_undo),
	CALL(PZ_QUERY, pz_query, NULL),
	CALL_PAD(PZ_FREE, handle, pz_free, NULL),

	CALL_PAD(LMR_CREATE, lmr_create, lmr_create, kdapl_dev_lmr_create_undo),
	CALL(LMR_QUERY, lmr_query, NULL),
	CALL_PAD(LMR_FREE, handle, lmr_free, NULL),
	CALL(LMR_SYNC, lmr_sync, NULL),

	CALL_PAD(EVD_CREATE, evd_create, evd_create, kdapl_dev_evd_create_undo),
	CALL_PAD(EVD_QUERY, evd_query, evd_query, NULL),
	CALL(EVD_RESIZE, evd_resize, NULL),
	CALL_PAD(EVD_FREE, handle, evd_free, NULL),
	CALL(EVD_POST_SE, evd_post_se, NULL),
	CALL(EVD_WAIT, evd_wait, NULL),
	CALL_PAD(EVD_DEQUEUE, evd_dequeue, evd_dequeue,
		 kdapl_dev_evd_dequeue_undo),
	CALL_PAD(EVD_REFILL, handle, evd_refill, NULL),
	CALL_PAD(EVD_RING, evd_ring, evd_ring, NULL),
	CALL(EVD_POLL_FD, evd_poll_fd, kdapl_dev_evd_poll_fd_undo),
	CALL(EVD_SET_WAITABLE, evd_set_waitable, NULL),

	CALL(EP_CREATE, ep_create, kdapl_dev_ep_create_undo),
	CALL(EP_QUERY, ep_query, NULL),
	CALL(EP_MODIFY, ep_modify, NULL),
	CALL(EP_GET_STATUS, ep_get_status, NULL),
	CALL_PAD(EP_CONNECT, ep_connect, ep_connect, NULL),
	CALL(EP_DUP_CONNECT, ep_dup_connect, NULL),
	CALL(EP_DISCONNECT, ep_disconnect, NULL),
	CALL_PAD(EP_RESET, handle, ep_reset, NULL),
	CALL_PAD(EP_FREE, handle, ep_free, NULL),
	CALL_PAD(EP_PRIVATE_DATA, ep_private_data, ep_private_data, NULL),

	CALL(PSP_CREATE, psp_create, kdapl_dev_psp_create_undo),
	CALL(PSP_CREATE_ANY, psp_create_any, kdapl_dev_psp_create_undo),
	CALL_PAD(PSP_QUERY, psp_query, psp_query, NULL),
	CALL_PAD(PSP_FREE, handle, psp_free, NULL),
	CALL_PAD(RSP_CREATE, rsp_create, rsp_create, kdapl_dev_rsp_create_undo),
	CALL(RSP_QUERY, rsp_query, NULL),
	CALL_PAD(RSP_FREE, handle, rsp_free, NULL),

	CALL(CR_QUERY, cr_query, NULL),
	CALL(CR_ACCEPT, cr_accept, NULL),
	CALL_PAD(CR_REJECT, handle, cr_reject, NULL),
	CALL_PAD(CR_HANDOFF, cr_handoff, cr_handoff, NULL),

	CALL_PAD(RMR_CREATE, rmr_create, rmr_create, kdapl_dev_rmr_create_undo),
	CALL(RMR_QUERY, rmr_query, NULL),
	CALL(RMR_BIND, rmr_bind, NULL),
	CALL_PAD(RMR_FREE, handle, rmr_free, NULL),
};

static const struct kdapl_dev_call *find_call(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= ARRAY_SIZE(calls))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(calls));
	return calls[nr].cmd == cmd && calls[nr].fn ? &calls[nr] : NULL;
}

/* @data has the size that @call's number says. */
static int run_call(struct kdapl_file *file, const struct kdapl_dev_call *call,
		    void *data, void __user *uarg)
{
	size_t size = _IOC_SIZE(call->cmd);
	int ret;

	if (copy_from_user(data, uarg, size))
		return -EFAULT;
	if (memchr_inv(data + call->pad, 0, call->pad_size))
		return -EINVAL;
	ret = call->fn(file, data);
	if (copy_to_user(uarg, data, size)) {
		/* `ret` comes first in every structure that @undo knows. */
		if (!ret && call->undo && *(u32 *)data == DAT_SUCCESS)
			call->undo(file, data);
		return -EFAULT;
	}
	return ret;
}

static long call_by_table(struct kdapl_file *file, unsigned int cmd,
			  void __user *uarg)
{
	const struct kdapl_dev_call *call = find_call(cmd);
	u64 small[32];
	void *large;
	long ret;

	if (!call)
		return -ENOTTY;
	if (cmd != KDAPL_IOC_QUERY_ABI && !READ_ONCE(file->agreed))
		return -EPROTO;

	if (_IOC_SIZE(cmd) <= sizeof(small))
		return run_call(file, call, small, uarg);

	large = kmalloc(_IOC_SIZE(cmd), GFP_KERNEL_ACCOUNT);
	if (!large)
		return -ENOMEM;
	ret = run_call(file, call, large, uarg);
	kfree(large);
	return ret;
}

static long kdapl_dev_ioctl(struct file *filp, unsigned int cmd,
			    unsigned long arg)
{
	struct kdapl_file *file = filp->private_data;

	if (likely(cmd == KDAPL_IOC_POST))
		return READ_ONCE(file->agreed) ?
			kdapl_dev_post(file, (void __user *)arg) : -EPROTO;
	return call_by_table(file, cmd, (void __user *)arg);
}

/* ---- the file ------------------------------------------------------------------ */

static int kdapl_dev_open(struct inode *inode, struct file *filp)
{
	struct kdapl_file *file;
	int ret;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	xa_init(&file->rings);
	xa_init_flags(&file->maps, XA_FLAGS_ALLOC1);
	file->pid = task_tgid_nr(current);
	ret = kdapl_space_init(&file->space, current->nsproxy->net_ns, true,
			       max_objects);
	if (ret) {
		kfree(file);
		return ret;
	}
	filp->private_data = file;

	mutex_lock(&kdapl_dev_files_lock);
	list_add_tail(&file->entry, &kdapl_dev_files);
	mutex_unlock(&kdapl_dev_files_lock);
	return nonseekable_open(inode, filp);
}

/* No call is running and nothing is mapped: both hold the file. */
static int kdapl_dev_release(struct inode *inode, struct file *filp)
{
	struct kdapl_file *file = filp->private_data;

	mutex_lock(&kdapl_dev_files_lock);
	list_del(&file->entry);
	mutex_unlock(&kdapl_dev_files_lock);

	kdapl_ia_close_all(&file->space);
	kdapl_ring_drop_all(file);
	kdapl_space_destroy(&file->space);
	kfree(file);
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
 * The core works already.  May sleep.
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
 * No file is open: they hold the module.  May sleep.
 */
void kdapl_dev_exit(void)
{
	misc_deregister(&kdapl_dev);
}

/*
 * The ABI is for ever.  Sizes are in the ioctl numbers; what is in the rings
 * and in arrays is pinned here as well.
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
SIZE(ep_param, 232);
SIZE(ep_get_status, 24);
SIZE(ep_connect, 80);
SIZE(ep_dup_connect, 40);
SIZE(ep_private_data, 32);
SIZE(post, 32);
SIZE(psp_create, 40);
SIZE(psp_query, 48);
SIZE(rsp_create, 48);
SIZE(rsp_query, 48);
SIZE(cr_query, 80);
SIZE(cr_accept, 32);
SIZE(cr_handoff, 24);

SIZE(event, 64);
OFFSET(event, event_number, 0);
OFFSET(event, evd, 8);
OFFSET(event, dto.ep, 16);
OFFSET(event, dto.cookie, 24);
OFFSET(event, dto.length, 32);
OFFSET(event, dto.status, 40);
OFFSET(event, rmr.rmr, 16);
OFFSET(event, rmr.cookie, 24);
OFFSET(event, rmr.status, 32);
OFFSET(event, cr.sp, 16);
OFFSET(event, cr.cr, 24);
OFFSET(event, cr.conn_qual, 32);
OFFSET(event, connect.ep, 16);
OFFSET(event, connect.private_data_size, 24);
OFFSET(event, async.handle, 16);
OFFSET(event, async.reason, 24);
OFFSET(event, software.pointer, 16);
OFFSET(event, raw, 16);

SIZE(ring_header, 64);
OFFSET(ring_header, producer, 0);
OFFSET(ring_header, flags, 4);
OFFSET(ring_header, nr_entries, 8);
SIZE(ring_index, 4);

SIZE(dto, 48);
OFFSET(dto, op, 0);
OFFSET(dto, flags, 4);
OFFSET(dto, num_segments, 8);
OFFSET(dto, rmr_context, 12);
OFFSET(dto, segments, 16);
OFFSET(dto, cookie, 24);
OFFSET(dto, target_address, 32);
OFFSET(dto, target_length, 40);

/* A process's DAT_LMR_TRIPLETs are taken as they are. */
SIZE(segment, sizeof(DAT_LMR_TRIPLET));
OFFSET(segment, lmr_context, offsetof(DAT_LMR_TRIPLET, lmr_context));
OFFSET(segment, address, offsetof(DAT_LMR_TRIPLET, virtual_address));
OFFSET(segment, length, offsetof(DAT_LMR_TRIPLET, segment_length));
