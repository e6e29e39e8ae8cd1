// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The adapters of kDAT.  Each one that is there is opened, so that portals can listen at
 * its addresses, and what all connections of it share is made: a zone, and the EVD for
 * requests.
 *
 * When an adapter goes, everything on it ends before kiser_remove() returns: the service
 * points, requests that are being answered, connections.  LIO closes its connections by
 * itself when they have ended; what they have open here is freed early in that, before
 * anything waits for the back end (conn.c).
 *
 * Callers: kdapl, one call at a time, in process context; conn.c.
 */
#include <linux/slab.h>
#include "kdat_iser.h"

#define ASYNC_EVENTS	8
/* Requests that are not answered yet. */
#define BACKLOG		128
/*
 * Requests, connections that have not logged in, and discovery sessions, which need no
 * password.  A connection has its queue pair, its EVD and memory from the beginning, a session
 * two threads of LIO's besides, and LIO takes the logins of a portal one after the other, so
 * that anybody could have as many as he likes.  How long each may last is bounded in login.c.
 */
#define MAX_STRANGERS	128

DEFINE_MUTEX(kiser_mutex);
LIST_HEAD(kiser_adapters);

/* ---- connections -------------------------------------------------------------------- */

/* A connection has something open at an adapter ... */
void kiser_adapter_attach(struct kiser_adapter *adapter, struct kiser_conn *conn)
{
	conn->adapter = adapter;
	spin_lock(&adapter->lock);
	list_add_tail(&conn->adapter_entry, &adapter->conns);
	spin_unlock(&adapter->lock);
}

/* ... and has not any more. The adapter may be gone when this returns. */
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
 * kiser_stranger_comes - is there room for one more whom nobody knows?
 * @adapter: where the request has come in
 *
 * If there is, the caller has a place, and gives it back (kiser_stranger_goes()) or to a
 * connection (conn->stranger), which has it until the login to a target or the end.  Process
 * context.
 *
 * Return: whether there is.
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

/* A request has been rejected. */
void kiser_stranger_goes(struct kiser_adapter *adapter)
{
	spin_lock(&adapter->lock);
	adapter->strangers--;
	spin_unlock(&adapter->lock);
}

/* A connection has logged in to a target. */
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
 * On iWARP a peer from which data is read writes it, and may do so at any time.  The pages
 * of LIO's commands are not offered to peers, so the data of writes could not be fetched.
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

/* What a connection can have here: what we want, or what there is. */
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

/* No more requests: no upcall of theirs runs when this returns, and none will. */
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

/* Ends everything on an adapter, which is in no list any more. */
static void adapter_end(struct kiser_adapter *adapter)
{
	refuse_requests(adapter);
	/* Requests that are being answered become connections, or are rejected. */
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

/* Opens the adapters that there are, and those that come. May sleep. */
void kiser_adapters_init(void)
{
	kdat_client_register(&kiser_client);
}

/* Closes them. May sleep. */
void kiser_adapters_exit(void)
{
	kdat_client_unregister(&kiser_client);
}
