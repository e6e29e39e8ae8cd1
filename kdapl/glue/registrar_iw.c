// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The connection of a registrar on iWARP.  Called by registrar.c.
 *
 * An iWARP driver moves a queue pair to RTS only when the CM connects it.  So a registrar
 * on iWARP has a second queue pair, and the CM connects the two, through an address of the
 * port and a free port number.  Nothing is ever sent between them.  The ids of both ends stay
 * as long as the registrar, because destroying an id disconnects it.
 *
 * There are three ids: of the listener, of the active and of the passive end.  Their handler,
 * kdapl_iw_link_event(), takes the next step of the handshake, except for those that a kernel
 * thread has to take outside callbacks (cm_iw.c).  It takes no lock besides the mutex of the
 * id, which rdma_cm holds.  The thread that opens the registrar waits until the handler has
 * reported success or failure, and checks in between whether the device is being removed.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "listen.h"
#include "refused.h"
#include "registrar_iw.h"

/* Only our own request is expected. */
#define BACKLOG		1
/* Resolving our own address and route takes no time. */
#define RESOLVE_MS	2000

static void link_failed(struct kdapl_iw_link *link, const char *what, int err)
{
	/* The first error is kept: it says most. */
	if (!cmpxchg(&link->err, 0, err))
		kdapl_refused(what, err);
	wake_up_all(&link->wait);
}

static void link_reaches(struct kdapl_iw_link *link, enum kdapl_iw_link_state state)
{
	/* Pairs with kdapl_iw_link_wait(): what led to the state is seen with it. */
	smp_store_release(&link->state, state);
	wake_up_all(&link->wait);
}

static void set_conn_param(const struct kdapl_iw_link *link,
			   const struct ib_qp *qp, struct rdma_conn_param *to)
{
	/* One RDMA read each way: some drivers begin a connection with a read of no bytes. */
	*to = (struct rdma_conn_param) {
		.private_data = link->secret,
		.private_data_len = sizeof(link->secret),
		.responder_resources = 1,
		.initiator_depth = 1,
		.qp_num = qp->qp_num,
	};
}

static int link_request(struct kdapl_iw_link *link)
{
	struct rdma_conn_param param;

	set_conn_param(link, link->near, &param);
	return kdapl_refused("registrar_request",
			     kdapl_iw_connect(link->active, &param));
}

/*
 * Accepts a request if it has our secret: anybody who finds the port number can send one.  If
 * this returns an error, rdma_cm rejects the request and destroys @id.
 */
static int link_accept(struct kdapl_iw_link *link, struct rdma_cm_id *id,
		       const struct rdma_conn_param *from)
{
	struct rdma_conn_param param;
	int ret;

	if (link->passive || from->private_data_len != sizeof(link->secret) ||
	    memcmp(from->private_data, link->secret, sizeof(link->secret)))
		return -EACCES;
	set_conn_param(link, link->far, &param);
	param.private_data_len = 0;
	ret = rdma_accept(id, &param);
	if (ret) {
		link_failed(link, "registrar_accept", ret);
		return ret;
	}
	link->passive = id;
	return 0;
}

/**
 * kdapl_iw_link_event - handle the events of the ids of a link, and connection requests
 * @id: an id of the link, or of a request
 * @event: the event
 *
 * Any event that is not a step of the handshake ends the link: a rejection; a disconnect,
 * which the driver also reports for a queue pair that has failed; and the removal of
 * the device.  We learn of the removal before rdma_cm does, because our ib_client was
 * registered after its own.
 *
 * Context: the handler mutex of @id is held; may sleep.
 *
 * Return: 0; for a request that is not ours, or cannot be accepted, an errno.
 */
int kdapl_iw_link_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_iw_link *link = id->context;
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = rdma_resolve_route(id, RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		link_reaches(link, KDAPL_IW_ROUTED);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return link_accept(link, id, &event->param.conn);
	case RDMA_CM_EVENT_ESTABLISHED:
		if (id == link->active)
			link_reaches(link, KDAPL_IW_UP);
		break;
	default:
		ret = event->status ?: -ECONNRESET;
	}
	if (ret)
		link_failed(link, "registrar_link", ret);
	return 0;
}

/**
 * kdapl_iw_link_wait - wait until a link has reached a state
 * @link: the link; its handshake has begun
 * @state: the state
 * @limit: how long to wait, in jiffies
 * @step: how often to check whether the device is being removed, in jiffies
 *
 * Return: 0; -ETIMEDOUT; -ENODEV: the device is being removed; or the errno with which the
 * link has failed.
 */
int kdapl_iw_link_wait(struct kdapl_iw_link *link, enum kdapl_iw_link_state state,
		       unsigned long limit, unsigned long step)
{
	unsigned long until = jiffies + limit;

	/* Pairs with link_reaches(). */
	while (!wait_event_timeout(link->wait, smp_load_acquire(&link->state) >= state ||
				   READ_ONCE(link->err), step)) {
		if (READ_ONCE(link->dev->gone))
			return kdapl_refused("registrar_gone", -ENODEV);
		if (time_after(jiffies, until))
			return kdapl_refused("registrar_connect", -ETIMEDOUT);
	}
	return READ_ONCE(link->err);
}

/*
 * Makes an id that is bound to @addr and to a port number that rdma_cm chooses.  The id belongs
 * to the initial network namespace, because iWARP adapters have addresses only there.  (The
 * sockets of the driver depend on the calling thread, see cm_iw.c.)
 */
static int link_id(struct kdapl_iw_link *link, const struct kdapl_address *addr,
		   struct rdma_cm_id **id)
{
	struct rdma_cm_id *new;
	int ret;

	new = rdma_create_id(&init_net, kdapl_iw_link_event, link, RDMA_PS_TCP,
			     IB_QPT_RC);
	if (IS_ERR(new))
		return PTR_ERR(new);
	ret = kdapl_cm_bind(new, link->dev, addr, 0);
	if (ret) {
		rdma_destroy_id(new);
		return ret;
	}
	*id = new;
	return 0;
}

static void drop_id(struct rdma_cm_id **id)
{
	if (*id)
		rdma_destroy_id(*id);
	*id = NULL;
}

static int link_listen(struct kdapl_iw_link *link, const struct kdapl_address *addr)
{
	int ret = link_id(link, addr, &link->listener);

	if (ret)
		return ret;
	ret = kdapl_cm_listen_at(link->listener, link->dev, BACKLOG);
	if (ret)
		drop_id(&link->listener);
	return ret;
}

static int link_begin(struct kdapl_iw_link *link, const struct kdapl_address *addr)
{
	int ret, tries = KDAPL_PORT_TRIES;

	do {
		ret = link_listen(link, addr);
	} while (ret == -EADDRINUSE && --tries);
	if (!ret)
		ret = link_id(link, addr, &link->active);
	if (!ret)
		ret = rdma_resolve_addr(link->active, NULL, (struct sockaddr *)
					&link->listener->route.addr.src_addr,
					RESOLVE_MS);
	if (ret) {
		drop_id(&link->active);
		drop_id(&link->listener);
	}
	return ret;
}

/*
 * Begins the link at the first address that can be bound.  An IPv6 address cannot while duplicate
 * address detection is going on.
 */
static int link_begin_somewhere(struct kdapl_iw_link *link)
{
	struct kdapl_addresses list;
	unsigned int i;
	int ret;

	ret = kdapl_device_addresses(link->dev, &init_net, &list);
	if (ret)
		return ret;
	ret = -EADDRNOTAVAIL;
	for (i = 0; i < list.n && ret; i++)
		ret = link_begin(link, &list.at[i]);
	kvfree(list.at);
	return ret;
}

/**
 * kdapl_iw_link_alloc - make a link that has no queue pair at its far end yet
 * @dev: device
 * @near: the queue pair to be connected, in INIT; it outlives the link
 *
 * Return: the link, to be given back by kdapl_iw_link_close(); NULL without memory.
 */
struct kdapl_iw_link *kdapl_iw_link_alloc(struct kdapl_device *dev,
					  struct ib_qp *near)
{
	struct kdapl_iw_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->dev = dev;
	link->near = near;
	get_random_bytes(link->secret, sizeof(link->secret));
	init_waitqueue_head(&link->wait);
	return link;
}

/**
 * kdapl_iw_link_connect - connect the two queue pairs of a link
 * @link: has both queue pairs, in INIT
 * @limit: jiffies that each half of the handshake may take: resolving address and route, and
 *	   waiting for the answer to the request
 * @step: as for kdapl_iw_link_wait()
 *
 * Between the two halves the driver makes a TCP connection to the host itself.  That takes no
 * time, unless a packet filter drops the packet: then it takes as long as TCP tries, whatever
 * @limit is.  Caller is in the IA's section; may sleep.
 *
 * Return: 0: the near queue pair is in RTS; -ENODEV: the device is being removed;
 * -EADDRNOTAVAIL: the port has no address; -ETIMEDOUT; or an errno of rdma_cm or the driver.
 */
int kdapl_iw_link_connect(struct kdapl_iw_link *link, unsigned long limit,
			  unsigned long step)
{
	int ret;

	ret = link_begin_somewhere(link);
	if (ret)
		return kdapl_refused("registrar_address", ret);
	ret = kdapl_iw_link_wait(link, KDAPL_IW_ROUTED, limit, step);
	if (!ret)
		ret = link_request(link);
	if (!ret)
		ret = kdapl_iw_link_wait(link, KDAPL_IW_UP, limit, step);
	if (!ret)
		drop_id(&link->listener);
	return ret;
}

/**
 * kdapl_iw_link_close - disconnect, and give the link back
 * @link: connected or not; NULL: nothing to do
 *
 * The listener is destroyed first, since its handler sets the passive id.  Destroying an id
 * whose request has not been answered waits until the driver gives up, which it does after
 * some time.  May sleep.
 */
void kdapl_iw_link_close(struct kdapl_iw_link *link)
{
	if (!link)
		return;
	drop_id(&link->listener);
	drop_id(&link->active);
	drop_id(&link->passive);
	if (link->far)
		kdapl_refused("registrar_qp_destroy", ib_destroy_qp(link->far));
	kfree(link);
}
