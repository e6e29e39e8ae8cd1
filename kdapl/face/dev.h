/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * /dev/kdapl: what its files share.
 *
 *	dev.c		open, release, the table of calls
 *	dev_<what>.c	the calls.  Each takes the structure that dev.c has copied from the
 *			process, refuses unknown flags, calls the core with the file's
 *			space, and fills in the structure, which dev.c copies back.  A call
 *			that only passes a handle to the core is a line of the table
 *	dev_dto.c	posting, which is not in the table; nor is
 *			KDAPL_IOC_EVD_POLL_FD (dev_evd.c)
 *	dev_board.c	calls for passthrough: queue pairs that the process has
 *			made, and the board, which shows it their endpoints
 *	dev_ring.h	event rings: dev_ring.c, dev_mmap.c, dev_wait.c
 */
#ifndef KDAPL_DEV_H
#define KDAPL_DEV_H

#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/kdapl.h>
#include "../core/core.h"
#include "../core/ret.h"

/* Size of buffers for private data on its way to the core, which checks the true limit. */
#define KDAPL_DEV_PRIVATE_DATA	512

struct eventfd_ctx;
struct kdapl_board;

/**
 * struct kdapl_file - an open file of /dev/kdapl
 * @space: the handles of the file
 * @agreed: KDAPL_IOC_QUERY_ABI has succeeded; no other call works before
 * @rings: event rings, with a reference each, indexed by the handle of their
 *	   EVD.  The index is the whole handle, not only its slot, because the slot
 *	   can get a new EVD while the ring of the old one is still being dropped
 * @maps: memory of rings, indexed by the id that is part of its mmap offset
 * @board: shows the endpoints of IAs in passthrough; NULL before the first such IA
 * @board_event: tells the process that the board has changed; NULL: it did not ask for that
 * @late_cqs: an IA was put into passthrough on a device that leaves handlers of CQs behind
 *	      (KDAPL_VERBS_LATE_CQS)
 * @pid: the process that opened the file, with a reference
 * @uid: the real user of that process then
 * @plain_user: its real, effective and saved user were the same then.  Otherwise the file may
 *		be that of a set-user-ID program, which its real user has started
 * @id: number of the file, from 1, never used again
 * @refs: counts results of kdapl_dev_file_next(), and one for being found by it
 * @released: completed when @refs is 0
 * @teardown: closes the file, if somebody else than the process that has opened it drops the
 *	      last reference, but for what waits for peers
 * @finish: does the rest then
 * @rcu: frees the file
 */
struct kdapl_file {
	struct kdapl_space space;
	bool agreed;
	struct xarray rings;
	struct xarray maps;
	struct kdapl_board *board;
	struct eventfd_ctx *board_event;
	bool late_cqs;
	struct pid *pid;
	kuid_t uid;
	bool plain_user;
	u64 id;
	refcount_t refs;
	struct completion released;
	struct work_struct teardown;
	struct work_struct finish;
	struct rcu_head rcu;
};

/*
 * Is it a file that is wanted?  Called in an RCU read section; the file may be almost closed, so
 * what its space refers to may be gone.
 */
typedef bool kdapl_dev_want_fn(const struct kdapl_file *file, const void *arg);

struct kdapl_file *kdapl_dev_file_next(u64 id, u64 last, kdapl_dev_want_fn *want,
				       const void *arg);
void kdapl_dev_file_put(struct kdapl_file *file);
int kdapl_dev_init(void);
void kdapl_dev_exit(void);
int kdapl_netlink_init(void);
void kdapl_netlink_exit(void);
int kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

static inline DAT_HANDLE kdapl_dev_handle(u64 handle)
{
	return (DAT_HANDLE)(uintptr_t)handle;
}

static inline u64 kdapl_dev_u64(DAT_HANDLE handle)
{
	return (uintptr_t)handle;
}

void kdapl_dev_put_addr(struct kdapl_uapi_addr *to, const struct sockaddr *from);
int kdapl_dev_get_addr(struct sockaddr_storage *to,
		       const struct kdapl_uapi_addr *from);
int kdapl_dev_get_private_data(void *to, u64 from, s32 size,
			       const void **data);

/* dev_mmap.c */
int kdapl_dev_mmap(struct file *filp, struct vm_area_struct *vma);

/*
 * Carries a call out.  @data is the structure of the call; its padding has been
 * checked.  Return: 0, or the errno of an invalid call.  The structure is
 * copied back to the process in both cases.
 */
typedef int kdapl_dev_fn(struct kdapl_file *file, void *data);
/* Undoes a call whose structure could not be copied to the process. */
typedef void kdapl_dev_undo(struct kdapl_file *file, void *data);

/* dev_ia.c */
kdapl_dev_fn kdapl_dev_handle_type, kdapl_dev_ia_list, kdapl_dev_ia_open,
	kdapl_dev_ia_close, kdapl_dev_ia_query, kdapl_dev_pz_create,
	kdapl_dev_pz_query;
kdapl_dev_undo kdapl_dev_ia_open_undo;

/* dev_mem.c */
kdapl_dev_fn kdapl_dev_lmr_create, kdapl_dev_lmr_query, kdapl_dev_lmr_sync,
	kdapl_dev_rmr_create, kdapl_dev_rmr_query, kdapl_dev_rmr_bind;

/* dev_evd.c */
kdapl_dev_fn kdapl_dev_evd_create, kdapl_dev_evd_query, kdapl_dev_evd_resize,
	kdapl_dev_evd_free, kdapl_dev_evd_post_se, kdapl_dev_evd_wait,
	kdapl_dev_evd_dequeue, kdapl_dev_evd_refill, kdapl_dev_evd_ring,
	kdapl_dev_evd_set_waitable;
kdapl_dev_undo kdapl_dev_evd_create_undo, kdapl_dev_evd_dequeue_undo;
long kdapl_dev_evd_poll_fd(struct kdapl_file *file,
			   struct kdapl_uapi_evd_poll_fd __user *uarg);

/* dev_ep.c */
kdapl_dev_fn kdapl_dev_ep_create, kdapl_dev_ep_query, kdapl_dev_ep_modify,
	kdapl_dev_ep_get_status, kdapl_dev_ep_connect,
	kdapl_dev_ep_dup_connect, kdapl_dev_ep_disconnect,
	kdapl_dev_ep_private_data, kdapl_dev_ep_create_with_srq,
	kdapl_dev_ep_recv_query;

/* dev_srq.c */
kdapl_dev_fn kdapl_dev_srq_create, kdapl_dev_srq_query, kdapl_dev_srq_resize,
	kdapl_dev_srq_set_lw, kdapl_dev_srq_tell, kdapl_dev_srq_post;

/* dev_board.c */
kdapl_dev_fn kdapl_dev_ia_passthrough, kdapl_dev_ep_board, kdapl_dev_ep_bind,
	kdapl_dev_ep_tell, kdapl_dev_cq_settle, kdapl_dev_board_event;
kdapl_dev_undo kdapl_dev_ep_bind_undo;
int kdapl_board_mmap(struct kdapl_file *file, struct vm_area_struct *vma);
void kdapl_board_free(struct kdapl_file *file);
void kdapl_board_show(struct kdapl_space *space, void *place,
		      const struct kdapl_ep_view *view);

/* dev_dto.c */
int kdapl_dev_post(struct kdapl_file *file,
		   struct kdapl_uapi_post __user *uarg);

/* dev_sp.c */
kdapl_dev_fn kdapl_dev_psp_create, kdapl_dev_psp_create_any,
	kdapl_dev_psp_query, kdapl_dev_rsp_create, kdapl_dev_rsp_query,
	kdapl_dev_cr_query, kdapl_dev_cr_accept, kdapl_dev_cr_handoff, kdapl_dev_cr_reject;

#endif /* KDAPL_DEV_H */
