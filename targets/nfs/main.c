// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The module, its transport class, and the adapters.  nfsd loads the module when somebody
 * writes "kdat PORT" to /proc/fs/nfsd/portlist, or "rdma PORT" where it has the place of the
 * kernel's own server.  kdapl calls here when adapters come and go.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/xprt.h>
#include "svckdat.h"

#define ASYNC_EVENTS	8

uint svckdat_credits = 64;
module_param_named(credits, svckdat_credits, uint, 0444);
MODULE_PARM_DESC(credits, "calls that a client may have outstanding on a connection");

uint svckdat_buf_size = 4096;
module_param_named(inline_size, svckdat_buf_size, uint, 0444);
MODULE_PARM_DESC(inline_size,
		 "bytes of a message without chunks, 1024 to 65536, 8 pages at most");

static bool replace;
module_param(replace, bool, 0444);
MODULE_PARM_DESC(replace, "be the listener \"rdma\" of nfsd, in the place of the kernel's own");

/*
 * Protects the lists of adapters and listeners, the points of both, and the connections of
 * an adapter.  Held while points are opened and closed; see svckdat.h.
 */
DEFINE_MUTEX(svckdat_lock);
LIST_HEAD(svckdat_adapters);

/* Frees connections, which has to wait for devices, and runs the timers of reads. */
struct workqueue_struct *svckdat_wq;

struct svc_xprt_class svckdat_class = {
	.xcl_name = "kdat",
	.xcl_owner = THIS_MODULE,
	.xcl_ops = &svckdat_ops,
	.xcl_max_payload = SVCKDAT_MAX_PAYLOAD,
	.xcl_ident = SVCKDAT_IDENT,
};

/* ---- adapters ------------------------------------------------------------ */

static void adapter_release(struct kref *ref)
{
	kfree(container_of(ref, struct svckdat_adapter, ref));
}

/**
 * svckdat_adapter_put - drop a reference to an adapter
 * @adapter: an adapter
 *
 * Any context.
 */
void svckdat_adapter_put(struct svckdat_adapter *adapter)
{
	kref_put(&adapter->ref, adapter_release);
}

/*
 * On iWARP the answer to an RDMA read is a write by the peer.  So memory that is read into
 * has to be open to the peer, which may write there at any time.  We do not open the pages
 * of nfsd's calls to peers, so the read lists of writes could not be fetched.
 */
static int query(struct svckdat_adapter *adapter)
{
	DAT_PROVIDER_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	int err = 0;

	if (!attr)
		return -ENOMEM;
	if (dat_ia_query(adapter->ia, NULL, DAT_IA_FIELD_ALL, &adapter->attr,
			 DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ, attr))
		err = -EIO;
	else if (attr->rdma_write_for_rdma_read_req)
		err = -EOPNOTSUPP;
	kfree(attr);
	return err;
}

static int adapter_open(struct svckdat_adapter *adapter)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	int err;

	if (dat_ia_open(adapter->name, ASYNC_EVENTS, &async_evd, &adapter->ia))
		return -ENODEV;
	err = query(adapter);
	if (!err && dat_pz_create(adapter->ia, &adapter->pz))
		err = -EIO;
	if (err)
		dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	return err;
}

static void adapter_add(struct kdat_client *client, const char *ia_name)
{
	struct svckdat_adapter *adapter;
	int err = -ENOMEM;

	adapter = kzalloc(sizeof(*adapter), GFP_KERNEL);
	if (!adapter)
		goto out;
	kref_init(&adapter->ref);
	INIT_LIST_HEAD(&adapter->points);
	INIT_LIST_HEAD(&adapter->conns);
	init_completion(&adapter->closed);
	strscpy(adapter->name, ia_name, sizeof(adapter->name));
	err = adapter_open(adapter);
	if (err) {
		svckdat_adapter_put(adapter);
		goto out;
	}

	mutex_lock(&svckdat_lock);
	list_add_tail(&adapter->entry, &svckdat_adapters);
	svckdat_listen_at(adapter);
	mutex_unlock(&svckdat_lock);
	return;
out:
	if (err == -EOPNOTSUPP)
		pr_warn("svckdat: %s speaks iWARP, where memory that is read into is open to the peer\n",
			ia_name);
	else
		pr_warn("svckdat: cannot serve at %s: %d\n", ia_name, err);
}

static struct svckdat_adapter *adapter_find(const char *ia_name)
{
	struct svckdat_adapter *adapter;

	list_for_each_entry(adapter, &svckdat_adapters, entry)
		if (!strcmp(adapter->name, ia_name))
			return adapter;
	return NULL;
}

/*
 * Takes the first connection off the adapter's list, with a reference.  A connection whose
 * last reference is gone is only taken off: its work item is about to free it, and waits
 * until the adapter is closed if it has to.
 */
static struct svckdat_conn *first_conn(struct svckdat_adapter *adapter)
{
	struct svckdat_conn *conn;

	while (!list_empty(&adapter->conns)) {
		conn = list_first_entry(&adapter->conns, struct svckdat_conn, at_adapter);
		list_del_init(&conn->at_adapter);
		if (kref_get_unless_zero(&conn->xprt.xpt_ref))
			return conn;
	}
	return NULL;
}

static void close_conns(struct svckdat_adapter *adapter)
{
	struct svckdat_conn *conn;

	for (;;) {
		mutex_lock(&svckdat_lock);
		conn = first_conn(adapter);
		mutex_unlock(&svckdat_lock);
		if (!conn)
			return;
		svckdat_conn_over(conn);
		svc_xprt_close(&conn->xprt);
		svc_xprt_put(&conn->xprt);
	}
}

/*
 * An nfsd thread may be at work for a connection, and cannot be waited for here.  So its
 * transport may remain as a shell: all its kDAT objects are closed with the adapter, from
 * then on calls with its handles are refused, and its transfers are over
 * (svckdat_conn_over()).  It is freed when the thread lets go of it.  Pages and lists that
 * the device was given are not touched before @closed.
 */
static void adapter_remove(struct kdat_client *client, const char *ia_name)
{
	struct svckdat_adapter *adapter;

	mutex_lock(&svckdat_lock);
	adapter = adapter_find(ia_name);
	if (adapter) {
		list_del(&adapter->entry);
		adapter->removed = true;
		svckdat_unlisten_at(adapter);
	}
	mutex_unlock(&svckdat_lock);
	if (!adapter)
		return;
	close_conns(adapter);
	dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	complete_all(&adapter->closed);
	svckdat_adapter_put(adapter);
}

static struct kdat_client client = {
	.add = adapter_add,
	.remove = adapter_remove,
};

/* ---- module -------------------------------------------------------------- */

static int __init svckdat_init(void)
{
	int err = -ENOMEM;

	if (!svckdat_credits || svckdat_credits > 1024 || svckdat_buf_size < 1024 ||
	    svckdat_buf_size > 65536 || svckdat_buf_size % 1024)
		return -EINVAL;
	svckdat_buf_size = min_t(u32, svckdat_buf_size, SVCKDAT_MAX_INLINE);
	/* The first class of a name has it, and rpcrdma loads without its own as well. */
	if (replace)
		svckdat_class.xcl_name = "rdma";
	svckdat_wq = alloc_workqueue("svckdat", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!svckdat_wq)
		return err;
	err = svckdat_pools_init();
	if (err)
		goto no_pools;
	kdat_client_register(&client);
	err = xprt_register_transport(&svckdat_back_class);
	if (err)
		goto no_back;
	err = svc_reg_xprt_class(&svckdat_class);
	if (err) {
		pr_err("svckdat: nfsd has a listener \"%s\" already: unload rpcrdma first\n",
		       svckdat_class.xcl_name);
		/* modprobe takes EEXIST to mean that the module is loaded. */
		err = -EBUSY;
		goto no_class;
	}
	return 0;

no_class:
	xprt_unregister_transport(&svckdat_back_class);
no_back:
	kdat_client_unregister(&client);
	svckdat_pools_exit();
no_pools:
	destroy_workqueue(svckdat_wq);
	return err;
}

/*
 * No transport is left in sunrpc, but the last ones may still have to be freed by their
 * work items.
 */
static void __exit svckdat_exit(void)
{
	svc_unreg_xprt_class(&svckdat_class);
	xprt_unregister_transport(&svckdat_back_class);
	kdat_client_unregister(&client);
	svckdat_listen_exit();
	/*
	 * Frees the last connections.  Their timers must not queue anything while the queue
	 * is being destroyed.
	 */
	flush_workqueue(svckdat_wq);
	svckdat_pools_exit();
	destroy_workqueue(svckdat_wq);
}

module_init(svckdat_init);
module_exit(svckdat_exit);
MODULE_DESCRIPTION("NFS/RDMA server transport over kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
