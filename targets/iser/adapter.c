// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The adapters of kDAT.  Each one is opened when it appears, so that portals can listen at
 * its addresses, and gets what all its connections share: a PZ, and the EVD for connection
 * requests.
 *
 * When an adapter is removed, everything on it ends before kiser_remove() returns: the
 * service points, the requests that are being answered, the connections.  LIO closes its
 * connections by itself when they have ended; early in that, before anything waits for the
 * back end, their kDAT objects are freed (conn.c).
 *
 * Callers: kdapl, one call at a time, in process context; np.c, login.c and conn.c.
 */
#include <linux/slab.h>
#include "kdat_iser.h"

#define ASYNC_EVENTS	8
/* Room in the EVD for connection requests that have not been taken. */
#define BACKLOG		128
/*
 * Strangers are requests, connections that have not logged in, and discovery sessions, none
 * of which needs a password.  A connection has a queue pair, an EVD and memory from the
 * beginning, a session also two threads of LIO's, and LIO handles the logins of a portal
 * one after the other.  Without this limit anybody could have any number of them.  How long
 * each may last is limited in login.c.
 */
#define MAX_STRANGERS	128

DEFINE_MUTEX(kiser_mutex);
LIST_HEAD(kiser_adapters);

/* ---- connections -------------------------------------------------------------------- */

/* A connection is about to have kDAT objects at an adapter ... */
void kiser_adapter_attach(struct kiser_adapter *adapter, struct kiser_conn *conn)
{
	conn->adapter = adapter;
	spin_lock(&adapter->lock);
	list_add_tail(&conn->adapter_entry, &adapter->conns);
	spin_unlock(&adapter->lock);
}

/* ... and has none any more.  The adapter may be freed as soon as this returns. */
void kiser_adapter_detach(struct kiser_conn *conn)
{
	struct kiser_adapter *adapter = conn->adapter;

	spin_lock(&adapter->lock);
	adapter->strangers -= conn->stranger;
	list_del(&conn->adapter_entry);
	if (list_empty(&adapter->conns))
		wake_up(&adapter->idle);
	spin_unlock(&adapter->lock);
}

/**
 * kiser_stranger_comes - take a place among the strangers
 * @adapter: the adapter at which the request has come in
 *
 * A caller that gets a place either gives it back (kiser_stranger_goes()), or passes it to
 * a connection (conn->stranger).  The connection has it until it has logged in to a target,
 * or until its end.  Process context.
 *
 * Return: whether there was a place left.
 */
bool kiser_stranger_comes(struct kiser_adapter *adapter)
{
	bool room;

	spin_lock(&adapter->lock);
	room = adapter->strangers < MAX_STRANGERS;
	adapter->strangers += room;
	spin_unlock(&adapter->lock);
	return room;
}

/* Gives the place of a request back that has been rejected. */
void kiser_stranger_goes(struct kiser_adapter *adapter)
{
	spin_lock(&adapter->lock);
	adapter->strangers--;
	spin_unlock(&adapter->lock);
}

/* A connection has logged in to a target, and is no stranger any more. */
void kiser_stranger_known(struct kiser_conn *conn)
{
	struct kiser_adapter *adapter = conn->adapter;

	spin_lock(&adapter->lock);
	adapter->strangers -= conn->stranger;
	conn->stranger = false;
	spin_unlock(&adapter->lock);
}

static void disconnect_all(struct kiser_adapter *adapter)
{
	struct kiser_conn *conn;

	spin_lock(&adapter->lock);
	list_for_each_entry(conn, &adapter->conns, adapter_entry)
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	spin_unlock(&adapter->lock);
}

static bool is_idle(struct kiser_adapter *adapter)
{
	bool idle;

	spin_lock(&adapter->lock);
	idle = list_empty(&adapter->conns);
	spin_unlock(&adapter->lock);
	return idle;
}

/* ---- open and close ----------------------------------------------------------------- */

/*
 * On iWARP the answer to an RDMA read is a write by the peer.  So memory that is read into
 * has to be open to the peer, which may write there at any time.  We do not open the pages
 * of LIO's commands to peers, so the data of writes could not be fetched.
 */
static int check_reads(const struct kiser_adapter *adapter)
{
	DAT_PROVIDER_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	int err = 0;

	if (!attr)
		return -ENOMEM;
	if (dat_ia_query(adapter->ia, NULL, DAT_IA_FIELD_NONE, NULL,
			 DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ, attr))
		err = -EIO;
	else if (attr->rdma_write_for_rdma_read_req)
		err = -EOPNOTSUPP;
	kfree(attr);
	if (err == -EOPNOTSUPP)
		pr_warn("kdat_iser: %s speaks iWARP, where memory that is read into is open to the peer\n",
			adapter->name);
	return err;
}

/* What a connection at this adapter can have: what we want, or what the device has. */
static int query(struct kiser_adapter *adapter)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);

	if (!attr)
		return -ENOMEM;
	if (dat_ia_query(adapter->ia, NULL, DAT_IA_FIELD_ALL, attr, DAT_PROVIDER_FIELD_NONE,
			 NULL)) {
		kfree(attr);
		return -EIO;
	}
	adapter->recvs = min(KISER_MAX_RX, attr->max_dto_per_ep);
	adapter->requests = min(KISER_REQUESTS, attr->max_dto_per_ep - KISER_RESERVE);
	adapter->reads = attr->max_rdma_read_per_ep_out;
	adapter->read_iov = min(KISER_PIECES, attr->max_iov_segments_per_rdma_read);
	adapter->write_iov = min(KISER_PIECES, attr->max_iov_segments_per_rdma_write);
	adapter->step_pages = min(adapter->read_iov, adapter->write_iov) * KISER_STEP_WRS;
	kfree(attr);
	/* An adapter that cannot read, or takes next to nothing at a time, is of no use. */
	return adapter->reads > 0 && adapter->step_pages &&
	       adapter->requests > KISER_LOGIN_TX + 2 ? 0 : -EOPNOTSUPP;
}

/* Ends connection requests: when this returns, no upcall for them runs or will run. */
static void refuse_requests(struct kiser_adapter *adapter)
{
	if (adapter->cr_evd)
		dat_evd_free(adapter->cr_evd);
	adapter->cr_evd = DAT_HANDLE_NULL;
}

static void adapter_close(struct kiser_adapter *adapter)
{
	refuse_requests(adapter);
	if (adapter->pz)
		dat_pz_free(adapter->pz);
	if (adapter->ia)
		dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	kfree(adapter);
}

static int adapter_open(struct kiser_adapter *adapter)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = adapter,
		.upcall_func = kiser_request_upcall,
	};
	int err;

	if (dat_ia_open(adapter->name, ASYNC_EVENTS, &adapter->async_evd, &adapter->ia)) {
		adapter->ia = DAT_HANDLE_NULL;
		return -ENODEV;
	}
	err = check_reads(adapter) ?: query(adapter);
	if (err)
		return err;
	if (dat_pz_create(adapter->ia, &adapter->pz))
		return -ENOMEM;
	return dat_evd_kcreate(adapter->ia, BACKLOG, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			       DAT_EVD_CR_FLAG, &adapter->cr_evd) ? -ENOMEM : 0;
}

/* Ends everything on an adapter that is in no list any more, and closes it. */
static void adapter_end(struct kiser_adapter *adapter)
{
	refuse_requests(adapter);
	/*
	 * The work items for requests end: each has made a connection, or rejected the
	 * request.
	 */
	flush_workqueue(kiser_wq);
	disconnect_all(adapter);
	wait_event(adapter->idle, is_idle(adapter));
	adapter_close(adapter);
}

/* ---- kDAT's calls ------------------------------------------------------------------- */

static void kiser_add(struct kdat_client *client, const char *ia_name)
{
	struct kiser_adapter *adapter = kzalloc(sizeof(*adapter), GFP_KERNEL);
	int err;

	if (!adapter)
		return;
	strscpy(adapter->name, ia_name, sizeof(adapter->name));
	INIT_LIST_HEAD(&adapter->ports);
	INIT_LIST_HEAD(&adapter->conns);
	spin_lock_init(&adapter->lock);
	init_waitqueue_head(&adapter->idle);
	err = adapter_open(adapter);
	if (err) {
		pr_warn("kdat_iser: cannot use %s: %d\n", ia_name, err);
		adapter_close(adapter);
		return;
	}
	mutex_lock(&kiser_mutex);
	err = kiser_ports_open(adapter);
	if (err) {
		adapter->going = true;
		kiser_ports_close(adapter);
	} else {
		list_add_tail(&adapter->entry, &kiser_adapters);
	}
	mutex_unlock(&kiser_mutex);
	if (err)
		adapter_end(adapter);
}

static struct kiser_adapter *take_adapter(const char *name)
{
	struct kiser_adapter *adapter;

	list_for_each_entry(adapter, &kiser_adapters, entry) {
		if (strcmp(adapter->name, name))
			continue;
		list_del(&adapter->entry);
		adapter->going = true;
		kiser_ports_close(adapter);
		return adapter;
	}
	return NULL;
}

static void kiser_remove(struct kdat_client *client, const char *ia_name)
{
	struct kiser_adapter *adapter;

	mutex_lock(&kiser_mutex);
	adapter = take_adapter(ia_name);
	mutex_unlock(&kiser_mutex);
	if (adapter)
		adapter_end(adapter);
}

static struct kdat_client kiser_client = {
	.add = kiser_add,
	.remove = kiser_remove,
};

/* Opens all adapters, those that there are and those that come.  May sleep. */
void kiser_adapters_init(void)
{
	kdat_client_register(&kiser_client);
}

/* Closes all adapters.  May sleep. */
void kiser_adapters_exit(void)
{
	kdat_client_unregister(&kiser_client);
}
