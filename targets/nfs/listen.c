// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listeners: one for each "kdat PORT" of nfsd, with a service point at every adapter.  An
 * upcall puts a connection request on the listener's list, and an nfsd thread takes it from
 * there and accepts it (svckdat_accept()), since accepting allocates memory and sleeps.
 * Called by sunrpc through svckdat_ops, and by main.c when adapters come and go.
 */
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <net/ipv6.h>
#include "svckdat.h"

#define BACKLOG		64

/* How long after a failure a port is tried again */
#define RETRY_TIME	(5 * HZ)

static LIST_HEAD(svckdat_listeners);

static void retry_points(struct work_struct *work);
static DECLARE_DELAYED_WORK(retry_work, retry_points);

/* ---- requests ------------------------------------------------------------ */

static void request_free(struct svckdat_request *request)
{
	svckdat_adapter_put(request->adapter);
	kfree(request);
}

static bool is_wildcard(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)sa)->sin6_addr);
	return ((const struct sockaddr_in *)sa)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* A listener for one address takes only requests that were sent to that address. */
static bool is_for(const struct svckdat_listener *listener, const struct sockaddr *local)
{
	const struct sockaddr *own = (const struct sockaddr *)&listener->addr;

	return is_wildcard(own) || rpc_cmp_addr(own, local);
}

static bool enqueue_request(struct svckdat_listener *listener,
			    struct svckdat_request *request)
{
	bool room, ready;

	spin_lock_bh(&listener->lock);
	room = listener->nr_requests < BACKLOG;
	ready = listener->ready;
	if (room) {
		list_add_tail(&request->entry, &listener->requests);
		listener->nr_requests++;
		if (ready)
			set_bit(XPT_CONN, &listener->xprt.xpt_flags);
	}
	spin_unlock_bh(&listener->lock);
	if (room && ready)
		svc_xprt_enqueue(&listener->xprt);
	return room;
}

static struct svckdat_request *dequeue_request(struct svckdat_listener *listener)
{
	struct svckdat_request *request;

	spin_lock_bh(&listener->lock);
	request = list_first_entry_or_null(&listener->requests, struct svckdat_request,
					   entry);
	if (request) {
		list_del(&request->entry);
		listener->nr_requests--;
	}
	if (list_empty(&listener->requests))
		clear_bit(XPT_CONN, &listener->xprt.xpt_flags);
	spin_unlock_bh(&listener->lock);
	return request;
}

/*
 * Everything that the CR says is copied here, in the upcall: the adapter may be closed
 * while an nfsd thread handles the request, and the CR is freed with it.
 */
static struct svckdat_request *new_request(struct svckdat_point *point,
					   const DAT_CR_ARRIVAL_EVENT_DATA *arrival)
{
	const struct sockaddr *local = arrival->local_ia_address_ptr;
	struct svckdat_request *request;
	DAT_CR_PARAM param;

	if (!is_for(point->listener, local) ||
	    dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param))
		return NULL;
	/* Does not wait for memory: it may be another upcall that has to give some back. */
	request = kzalloc(sizeof(*request), GFP_NOWAIT | __GFP_NOWARN);
	if (!request)
		return NULL;
	request->cr = arrival->cr_handle;
	memcpy(&request->local, local, svc_addr_len(local));
	memcpy(&request->remote, param.remote_ia_address_ptr,
	       svc_addr_len(param.remote_ia_address_ptr));
	if (param.private_data_size >= (int)sizeof(request->client))
		memcpy(&request->client, param.private_data, sizeof(request->client));
	kref_get(&point->adapter->ref);
	request->adapter = point->adapter;
	return request;
}

static void request_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			   DAT_BOOLEAN more_events)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event->event_data.cr_arrival_event_data;
	struct svckdat_point *point = instance_data;
	struct svckdat_request *request;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	request = new_request(point, arrival);
	if (request && enqueue_request(point->listener, request))
		return;
	dat_cr_reject(arrival->cr_handle);
	if (request)
		request_free(request);
}

/**
 * svckdat_accept - accept a connection request
 * @xprt: a listener
 *
 * Called by an nfsd thread while XPT_CONN is set, one at a time for a listener.  May
 * sleep, but does not wait for the client.
 *
 * Return: the new transport, or NULL.
 */
struct svc_xprt *svckdat_accept(struct svc_xprt *xprt)
{
	struct svckdat_listener *listener = container_of(xprt, struct svckdat_listener,
							 xprt);
	struct svckdat_request *request = dequeue_request(listener);
	struct svckdat_conn *conn;

	if (!request)
		return NULL;
	conn = svckdat_conn_accept(listener, request);
	if (!conn)
		dat_cr_reject(request->cr);
	request_free(request);
	return conn ? &conn->xprt : NULL;
}

/* ---- points -------------------------------------------------------------- */

/*
 * Listens, or tries again later: another consumer may listen at the port, or the adapter have
 * lost its addresses.
 */
static int point_listen(struct svckdat_point *point)
{
	u16 port = rpc_get_port((struct sockaddr *)&point->listener->addr);
	DAT_RETURN ret;

	ret = dat_psp_create(point->adapter->ia, port, point->evd, DAT_PSP_CONSUMER_FLAG,
			     &point->psp);
	if (!ret)
		return 0;
	point->psp = DAT_HANDLE_NULL;
	schedule_delayed_work(&retry_work, RETRY_TIME);
	return DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ? -EADDRINUSE : -EIO;
}

/*
 * Tries once more to listen where that was not possible.  Nobody tells when it is, so this goes
 * on as long as there is such a point.
 */
static void retry_points(struct work_struct *work)
{
	struct svckdat_listener *listener;
	struct svckdat_point *point;

	mutex_lock(&svckdat_lock);
	list_for_each_entry(listener, &svckdat_listeners, entry)
		list_for_each_entry(point, &listener->points, entry)
			if (!point->psp && !point_listen(point))
				pr_info("svckdat: listening at %s now\n",
					point->adapter->name);
	mutex_unlock(&svckdat_lock);
}

/*
 * Makes the point of a listener at an adapter, and has it listen.  Returns 0; -ENOMEM, and
 * there is no point; or an errno with which the point does not listen yet.
 */
static int point_open(struct svckdat_listener *listener, struct svckdat_adapter *adapter)
{
	struct svckdat_point *point;
	DAT_UPCALL_OBJECT upcall;
	int err;

	point = kzalloc(sizeof(*point), GFP_KERNEL);
	if (!point)
		return -ENOMEM;
	point->listener = listener;
	point->adapter = adapter;
	upcall = (DAT_UPCALL_OBJECT) {
		.instance_data = point,
		.upcall_func = request_upcall,
	};
	if (dat_evd_kcreate(adapter->ia, BACKLOG, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			    DAT_EVD_CR_FLAG, &point->evd)) {
		kfree(point);
		return -ENOMEM;
	}
	list_add_tail(&point->entry, &listener->points);
	list_add_tail(&point->at_adapter, &adapter->points);
	err = point_listen(point);
	if (err)
		pr_warn("svckdat: cannot listen at %s: %d\n", adapter->name, err);
	return err;
}

/* When this returns, no upcall of the point runs or will run. */
static void point_close(struct svckdat_point *point)
{
	list_del(&point->entry);
	list_del(&point->at_adapter);
	if (point->psp)
		dat_psp_free(point->psp);
	dat_evd_free(point->evd);
	kfree(point);
}

/**
 * svckdat_listen_at - have all listeners listen at a new adapter
 * @adapter: on the list of adapters
 *
 * Process context, under svckdat_lock.
 */
void svckdat_listen_at(struct svckdat_adapter *adapter)
{
	struct svckdat_listener *listener;

	list_for_each_entry(listener, &svckdat_listeners, entry)
		if (point_open(listener, adapter) == -ENOMEM)
			pr_warn("svckdat: no memory to listen at %s\n", adapter->name);
}

/**
 * svckdat_unlisten_at - end all listening at an adapter
 * @adapter: an adapter that is not closed yet
 *
 * Process context, under svckdat_lock.
 */
void svckdat_unlisten_at(struct svckdat_adapter *adapter)
{
	struct svckdat_point *point, *next;

	list_for_each_entry_safe(point, next, &adapter->points, at_adapter)
		point_close(point);
}

/* ---- listeners ----------------------------------------------------------- */

static void close_points(struct svckdat_listener *listener)
{
	struct svckdat_point *point, *next;

	list_for_each_entry_safe(point, next, &listener->points, entry)
		point_close(point);
}

static void reject_requests(struct svckdat_listener *listener)
{
	struct svckdat_request *request;

	while ((request = dequeue_request(listener))) {
		dat_cr_reject(request->cr);
		request_free(request);
	}
}

/*
 * Listens at all adapters, or at none if that fails.  It is enough if one adapter listens at the
 * port, or if there is no adapter yet.
 */
static int open_points(struct svckdat_listener *listener)
{
	struct svckdat_adapter *adapter;
	bool one = false;
	int err = 0;

	mutex_lock(&svckdat_lock);
	list_for_each_entry(adapter, &svckdat_adapters, entry) {
		err = point_open(listener, adapter);
		one |= !err;
		if (err == -ENOMEM)
			break;
	}
	if (one && err != -ENOMEM)
		err = 0;
	if (err)
		close_points(listener);
	else
		list_add_tail(&listener->entry, &svckdat_listeners);
	mutex_unlock(&svckdat_lock);
	return err;
}

/* Requests that came before @xprt was initialized are accepted when sunrpc gets it. */
static void listener_start(struct svckdat_listener *listener, struct svc_serv *serv,
			   struct net *net, struct sockaddr *sa, int salen)
{
	struct svc_xprt *xprt = &listener->xprt;

	svc_xprt_init(net, &svckdat_class, xprt, serv);
	set_bit(XPT_LISTENER, &xprt->xpt_flags);
	set_bit(XPT_CONG_CTRL, &xprt->xpt_flags);
	svc_xprt_set_local(xprt, sa, salen);
	strscpy(xprt->xpt_remotebuf, "listener", sizeof(xprt->xpt_remotebuf));

	spin_lock_bh(&listener->lock);
	listener->ready = true;
	if (!list_empty(&listener->requests))
		set_bit(XPT_CONN, &xprt->xpt_flags);
	spin_unlock_bh(&listener->lock);
}

/**
 * svckdat_create - make a listener
 * @serv: RPC service
 * @net: network namespace; adapters are in the initial one
 * @sa: address and port
 * @salen: length of @sa
 * @flags: ignored
 *
 * A service point also serves the IPv6 addresses of its adapter.  So nothing is made for
 * the IPv6 wildcard address; nfsd accepts -EAFNOSUPPORT there.
 *
 * Return: the transport; -EAFNOSUPPORT; -EINVAL without a port; -EADDRINUSE or -EIO when no
 * adapter could listen; -ENOMEM.
 */
struct svc_xprt *svckdat_create(struct svc_serv *serv, struct net *net,
				struct sockaddr *sa, int salen, int flags)
{
	struct svckdat_listener *listener;
	int err;

	if (net != &init_net || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6) ||
	    (sa->sa_family == AF_INET6 && is_wildcard(sa)))
		return ERR_PTR(-EAFNOSUPPORT);
	if (!rpc_get_port(sa))
		return ERR_PTR(-EINVAL);

	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	memcpy(&listener->addr, sa, salen);
	spin_lock_init(&listener->lock);
	INIT_LIST_HEAD(&listener->points);
	INIT_LIST_HEAD(&listener->requests);
	err = open_points(listener);
	if (err) {
		reject_requests(listener);
		kfree(listener);
		return ERR_PTR(err);
	}
	listener_start(listener, serv, net, sa, salen);
	return &listener->xprt;
}

/**
 * svckdat_listen_exit - try no port again
 *
 * There is no listener any more.  May sleep.
 */
void svckdat_listen_exit(void)
{
	cancel_delayed_work_sync(&retry_work);
}

/**
 * svckdat_listener_detach - stop listening
 * @listener: a listener
 *
 * When this returns, no upcall uses @listener any more.  Process context.
 */
void svckdat_listener_detach(struct svckdat_listener *listener)
{
	mutex_lock(&svckdat_lock);
	list_del_init(&listener->entry);
	close_points(listener);
	mutex_unlock(&svckdat_lock);
	reject_requests(listener);
}

/**
 * svckdat_listener_free - free a listener
 * @listener: detached
 */
void svckdat_listener_free(struct svckdat_listener *listener)
{
	kfree(listener);
}
