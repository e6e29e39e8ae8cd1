// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Portals, the service points behind them, and connection requests.
 *
 * Each adapter has one service point for each port that portals of LIO have
 * (Documentation/kernel-consumers.rst, A portal).
 *
 * A work item answers a request, since the upcall of the adapter must not wait for the
 * memory of a connection.  The connection belongs to the portal until its first login
 * request has come and LIO's thread takes it.
 *
 * Callers: LIO, in process context; adapter.c, which opens and closes the ports of an
 * adapter; the upcall of an adapter's requests.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include "kdat_iser.h"

DEFINE_SPINLOCK(kiser_np_lock);
struct workqueue_struct *kiser_wq;

/* How long after a failure a port is tried again */
#define RETRY_TIME	(5 * HZ)

/* Protected by kiser_mutex */
static LIST_HEAD(portals);

static void retry_ports(struct work_struct *work);
static DECLARE_DELAYED_WORK(retry_work, retry_ports);

struct kiser_port {
	struct list_head entry;		/* in adapter->ports */
	u16 port;
	u32 users;			/* portals with this port */
	DAT_PSP_HANDLE psp;		/* null: another consumer listens at the port, so far */
};

/* A request that waits to be answered. */
struct request {
	struct work_struct work;
	struct kiser_adapter *adapter;
	DAT_CR_HANDLE cr;
	struct sockaddr_storage local;
};

/* ---- addresses ---------------------------------------------------------------------- */

static u16 port_of(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

static void set_port(struct sockaddr_storage *address, u16 port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

static void copy_address(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->sa_family == AF_INET6)
		memcpy(to, from, sizeof(struct sockaddr_in6));
	else
		memcpy(to, from, sizeof(struct sockaddr_in));
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool same_address(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
	if (one->ss_family == AF_INET6)
		return ipv6_addr_equal(&((const struct sockaddr_in6 *)one)->sin6_addr,
				       &((const struct sockaddr_in6 *)other)->sin6_addr);
	return ((const struct sockaddr_in *)one)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)other)->sin_addr.s_addr;
}

/* The portal that a request to @local is for. With kiser_mutex. */
static struct kiser_np *find_portal(const struct sockaddr_storage *local)
{
	const struct sockaddr_storage *address;
	struct kiser_np *knp, *any = NULL;

	list_for_each_entry(knp, &portals, entry) {
		address = &knp->np->np_sockaddr;
		if (address->ss_family != local->ss_family ||
		    port_of(address) != port_of(local))
			continue;
		if (same_address(address, local))
			return knp;
		if (is_wildcard(address))
			any = knp;
	}
	return any;
}

/* ---- ports -------------------------------------------------------------------------- */

static struct kiser_port *find_port(struct kiser_adapter *adapter, u16 number)
{
	struct kiser_port *port;

	list_for_each_entry(port, &adapter->ports, entry)
		if (port->port == number)
			return port;
	return NULL;
}

static bool port_listen(struct kiser_adapter *adapter, struct kiser_port *port)
{
	if (port->psp)
		return true;
	if (!dat_psp_create(adapter->ia, port->port, adapter->cr_evd, DAT_PSP_CONSUMER_FLAG,
			    &port->psp))
		return true;
	port->psp = DAT_HANDLE_NULL;
	schedule_delayed_work(&retry_work, RETRY_TIME);
	return false;
}

/*
 * Tries once more to listen where another consumer did.  Nobody tells when he stops, so this
 * goes on as long as there is such a port.
 */
static void retry_ports(struct work_struct *work)
{
	struct kiser_adapter *adapter;
	struct kiser_port *port;

	mutex_lock(&kiser_mutex);
	list_for_each_entry(adapter, &kiser_adapters, entry)
		list_for_each_entry(port, &adapter->ports, entry)
			if (!port->psp && port_listen(adapter, port))
				pr_info("kdat_iser: listening at port %u of %s now\n",
					port->port, adapter->name);
	mutex_unlock(&kiser_mutex);
}

/*
 * Has an adapter listen at the port of one more portal.  Returns 0 if it listens there;
 * -EADDRINUSE if another consumer does, so that the portal is not served at this adapter
 * before he stops; -ENOMEM.
 */
static int port_get(struct kiser_adapter *adapter, u16 number)
{
	struct kiser_port *port = find_port(adapter, number);

	if (!port) {
		port = kzalloc(sizeof(*port), GFP_KERNEL);
		if (!port)
			return -ENOMEM;
		port->port = number;
		list_add_tail(&port->entry, &adapter->ports);
	}
	port->users++;
	if (port_listen(adapter, port))
		return 0;
	pr_warn("kdat_iser: cannot listen at port %u of %s\n", number, adapter->name);
	return -EADDRINUSE;
}

static void port_close(struct kiser_port *port)
{
	if (port->psp)
		dat_psp_free(port->psp);
	list_del(&port->entry);
	kfree(port);
}

static void port_put(struct kiser_adapter *adapter, u16 number)
{
	struct kiser_port *port = find_port(adapter, number);

	if (port && !--port->users)
		port_close(port);
}

/**
 * kiser_ports_open - have a new adapter listen for all portals
 * @adapter: the adapter; kiser_mutex is held
 *
 * Return: 0 or -ENOMEM; a port that is in use causes a warning, and is tried again.
 */
int kiser_ports_open(struct kiser_adapter *adapter)
{
	struct kiser_np *knp;

	list_for_each_entry(knp, &portals, entry)
		if (port_get(adapter, port_of(&knp->np->np_sockaddr)) == -ENOMEM)
			return -ENOMEM;
	return 0;
}

/* No port is tried again.  There is no adapter any more; may sleep. */
void kiser_ports_exit(void)
{
	cancel_delayed_work_sync(&retry_work);
}

/* Ends all listening at an adapter that is removed.  With kiser_mutex. */
void kiser_ports_close(struct kiser_adapter *adapter)
{
	struct kiser_port *port, *next;

	list_for_each_entry_safe(port, next, &adapter->ports, entry)
		port_close(port);
}

/* ---- requests ----------------------------------------------------------------------- */

static bool is_enabled(struct iscsi_np *np)
{
	bool enabled;

	spin_lock_bh(&np->np_thread_lock);
	enabled = np->enabled;
	spin_unlock_bh(&np->np_thread_lock);
	return enabled;
}

/*
 * Does the initiator allow, in the private data of its request, that a response invalidates
 * its key?  Without private data it does not.  But InfiniBand and RoCE pad private data
 * with zeros to the full length, so an initiator without any looks there like one that
 * allows it; iSER initiators do send private data.
 */
static bool may_invalidate(const DAT_CR_PARAM *param)
{
	const struct iser_cm_hdr *hdr = param->private_data;

	return param->private_data_size >= (int)sizeof(*hdr) &&
	       !(hdr->flags & ISER_SEND_W_INV_NOT_SUP);
}

static int accept(struct kiser_conn *conn, DAT_CR_HANDLE cr)
{
	struct iser_cm_hdr hdr = { .flags = ISERT_ZBVA_NOT_USED };

	if (!conn->invalidate)
		hdr.flags |= ISERT_SEND_W_INV_NOT_USED;
	return dat_cr_accept(cr, conn->ep, sizeof(hdr), &hdr) ? -EIO : 0;
}

/*
 * Gives a connection to its portal and accepts it.  The mutex keeps the portal alive
 * meanwhile, so the connection is in the portal's list before any event of it comes.
 */
static int give_to_portal(struct kiser_conn *conn, DAT_CR_HANDLE cr)
{
	struct kiser_np *knp;
	int err = -ENOENT;

	mutex_lock(&kiser_mutex);
	knp = find_portal(&conn->local);
	if (knp && is_enabled(knp->np)) {
		spin_lock(&kiser_np_lock);
		conn->np = knp;
		list_add_tail(&conn->np_entry, &knp->fresh);
		spin_unlock(&kiser_np_lock);
		err = accept(conn, cr);
		if (err) {
			spin_lock(&kiser_np_lock);
			list_del_init(&conn->np_entry);
			conn->np = NULL;
			spin_unlock(&kiser_np_lock);
		}
	}
	mutex_unlock(&kiser_mutex);
	return err;
}

static bool is_wanted(const struct request *request)
{
	bool wanted;

	mutex_lock(&kiser_mutex);
	wanted = !request->adapter->going && find_portal(&request->local);
	mutex_unlock(&kiser_mutex);
	return wanted;
}

/* Rejects a request, and gives back its place among the strangers. */
static void refuse(struct kiser_adapter *adapter, DAT_CR_HANDLE cr)
{
	kiser_stranger_goes(adapter);
	dat_cr_reject(cr);
}

static void answer_request(struct request *request)
{
	struct kiser_conn *conn;
	DAT_CR_PARAM param;

	if (!is_wanted(request) || dat_cr_query(request->cr, DAT_CR_FIELD_ALL, &param))
		goto reject;
	conn = kiser_conn_create(request->adapter, may_invalidate(&param));
	if (!conn)
		goto reject;
	/*
	 * The connection takes over the request's place among the strangers; this becomes
	 * final when it is accepted.
	 */
	conn->stranger = true;
	conn->local = request->local;
	copy_address(&conn->remote, param.remote_ia_address_ptr);
	set_port(&conn->remote, param.remote_port_qual);
	if (!give_to_portal(conn, request->cr))
		return;
	conn->stranger = false;
	kiser_conn_destroy(conn);
reject:
	refuse(request->adapter, request->cr);
}

static void request_work(struct work_struct *work)
{
	struct request *request = container_of(work, struct request, work);

	answer_request(request);
	kfree(request);
}

/**
 * kiser_request_upcall - a connection request has come
 * @instance: the adapter
 * @event: the request
 * @more: not looked at
 *
 * Process context.
 */
void kiser_request_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;
	struct request *request;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	if (!kiser_stranger_comes(instance)) {
		dat_cr_reject(data->cr_handle);
		return;
	}
	request = kzalloc(sizeof(*request), GFP_NOWAIT | __GFP_NOWARN);
	if (!request) {
		refuse(instance, data->cr_handle);
		return;
	}
	INIT_WORK(&request->work, request_work);
	request->adapter = instance;
	request->cr = data->cr_handle;
	copy_address(&request->local, data->local_ia_address_ptr);
	set_port(&request->local, data->conn_qual);
	queue_work(kiser_wq, &request->work);
}

/* ---- LIO ---------------------------------------------------------------------------- */

/*
 * Listens at all adapters, or at none if that fails.  It is enough if one adapter listens
 * at the port, or if there is no adapter yet.
 */
static int listen(u16 port)
{
	struct kiser_adapter *adapter;
	bool one = false;
	int err = 0;

	list_for_each_entry(adapter, &kiser_adapters, entry) {
		err = port_get(adapter, port);
		if (err == -ENOMEM)
			goto undo;
		one |= !err;
	}
	if (one || !err)
		return 0;
undo:
	list_for_each_entry_continue_reverse(adapter, &kiser_adapters, entry)
		port_put(adapter, port);
	return err;
}

static void unlisten(u16 port)
{
	struct kiser_adapter *adapter;

	list_for_each_entry(adapter, &kiser_adapters, entry)
		port_put(adapter, port);
}

/**
 * kiser_setup_np - a portal is switched on
 * @np: the portal
 * @address: its address and port
 *
 * Return: 0; -EADDRINUSE when no adapter could listen there; -ENOMEM.
 */
int kiser_setup_np(struct iscsi_np *np, struct sockaddr_storage *address)
{
	struct kiser_np *knp = kzalloc(sizeof(*knp), GFP_KERNEL);
	int err;

	if (!knp)
		return -ENOMEM;
	np->np_sockaddr = *address;
	knp->np = np;
	init_waitqueue_head(&knp->wait);
	INIT_LIST_HEAD(&knp->fresh);
	INIT_LIST_HEAD(&knp->ready);

	mutex_lock(&kiser_mutex);
	err = listen(port_of(address));
	if (!err)
		list_add_tail(&knp->entry, &portals);
	mutex_unlock(&kiser_mutex);
	if (err) {
		kfree(knp);
		return err;
	}
	np->np_context = knp;
	return 0;
}

/* Gives LIO the next connection that has a login request; false if there is none. */
static bool take_ready(struct kiser_np *knp, struct iscsit_conn *lio)
{
	struct kiser_conn *conn;

	spin_lock(&kiser_np_lock);
	conn = list_first_entry_or_null(&knp->ready, struct kiser_conn, np_entry);
	if (conn) {
		list_del_init(&conn->np_entry);
		conn->lio = lio;
		lio->context = conn;
		conn->login = KISER_LOGIN_LIO;
		knp->busy = conn;
	}
	spin_unlock(&kiser_np_lock);
	return conn;
}

/**
 * kiser_accept_np - wait for the next connection, in the portal's thread
 * @np: the portal
 * @lio: LIO's new connection, which gets ours
 *
 * Return: 0; -ENODEV when the thread was signalled.
 */
int kiser_accept_np(struct iscsi_np *np, struct iscsit_conn *lio)
{
	struct kiser_np *knp = np->np_context;
	struct kiser_conn *conn;

	spin_lock(&kiser_np_lock);
	kiser_login_let_go(knp);
	spin_unlock(&kiser_np_lock);
	if (wait_event_interruptible(knp->wait, take_ready(knp, lio)))
		return -ENODEV;
	conn = lio->context;
	lio->login_family = np->np_sockaddr.ss_family;
	lio->login_sockaddr = conn->remote;
	lio->local_sockaddr = conn->local;
	return 0;
}

/**
 * kiser_free_np - a portal is switched off; its thread is gone
 * @np: the portal
 *
 * Connections that LIO has taken stay; the others are disconnected.
 */
void kiser_free_np(struct iscsi_np *np)
{
	struct kiser_np *knp = np->np_context;
	struct kiser_conn *conn;

	mutex_lock(&kiser_mutex);
	list_del(&knp->entry);
	unlisten(port_of(&np->np_sockaddr));
	mutex_unlock(&kiser_mutex);

	spin_lock(&kiser_np_lock);
	kiser_login_let_go(knp);
	list_splice_tail_init(&knp->ready, &knp->fresh);
	while ((conn = list_first_entry_or_null(&knp->fresh, struct kiser_conn, np_entry))) {
		list_del_init(&conn->np_entry);
		conn->np = NULL;
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	}
	spin_unlock(&kiser_np_lock);
	np->np_context = NULL;
	kfree(knp);
}
