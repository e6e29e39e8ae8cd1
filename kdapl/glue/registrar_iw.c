// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The connection of a registrar on iWARP.  Called by registrar.c.
 *
 * An iWARP driver moves a queue pair to RTS when the CM has connected it, and at no
 * other time.  So a registrar there has a second queue pair, and the CM connects the
 * two, by an address of the port and a port number that is free.  Nothing is ever sent
 * between them.  Both ids stay as long as the registrar: to destroy one is to disconnect.
 *
 * Whoever opens the registrar waits, and looks at the removal of the device between its
 * waits.  The handler of the three ids does what comes next, but for what a thread of the
 * kernel has to do outside callbacks (cm_iw.c), and tells it how it ended.  It takes no
 * lock but that of its id, which rdma_cm holds for it.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "listen.h"
#include "refused.h"
#include "registrar_iw.h"

/* Our request */
#define BACKLOG		1
/* Our own address is found at once. */
#define RESOLVE_MS	2000

static void link_failed(struct kdapl_iw_link *link, const char *what, int err)
{
	/* The first one says most. */
	if (!cmpxchg(&link->err, 0, err))
		kdapl_refused(what, err);
	wake_up_all(&link->wait);
}

static void link_reaches(struct kdapl_iw_link *link, enum kdapl_iw_link_state state)
{
	WRITE_ONCE(link->state, state);
	wake_up_all(&link->wait);
}

static void set_conn_param(const struct kdapl_iw_link *link,
			   const struct ib_qp *qp, struct rdma_conn_param *to)
{
	/* Some drivers begin a connection with a read of no bytes. */
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
 * Anybody may ask who finds the port number.  An error makes rdma_cm reject and destroy
 * @id.
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
 * kdapl_iw_link_event - events of the ids of a link, and requests
 * @id: of the link
 * @event: of rdma_cm
 *
 * Anything but the steps of the handshake is the link's end: a rejection, a disconnect,
 * which the driver reports of a queue pair that has failed as well, and the removal of
 * the device, of which we know before rdma_cm does, because our ib_client was registered
 * after its own.
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
 * kdapl_iw_link_wait - wait until a link has come so far
 * @link: has begun
 * @state: so far
 * @limit: for so many jiffies
 * @step: how often to look whether the device is being removed, in jiffies
 *
 * Return: 0; -ETIMEDOUT; -ENODEV: the device is being removed; or why it failed.
 */
int kdapl_iw_link_wait(struct kdapl_iw_link *link, enum kdapl_iw_link_state state,
		       unsigned long limit, unsigned long step)
{
	unsigned long until = jiffies + limit;

	while (!wait_event_timeout(link->wait, READ_ONCE(link->state) >= state ||
				   READ_ONCE(link->err), step)) {
		if (READ_ONCE(link->dev->gone))
			return kdapl_refused("registrar_gone", -ENODEV);
		if (time_after(jiffies, until))
			return kdapl_refused("registrar_connect", -ETIMEDOUT);
	}
	return READ_ONCE(link->err);
}

/*
 * Bound to @addr and a port number that rdma_cm chooses.  iWARP adapters have addresses in
 * the first namespace only, and that is where rdma_cm looks; where the driver has its sockets
 * is cm_iw.c's matter.
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

/* The first address that can be had: one of IPv6 may still be checked by the host. */
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
 * kdapl_iw_link_alloc - a link with nothing at its far end yet
 * @dev: device
 * @near: the queue pair to be connected, in INIT; it outlives the link
 *
 * Return: the link, for kdapl_iw_link_close(); NULL without memory.
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
 * @link: has both, in INIT
 * @limit: jiffies that either half of it may take: to find itself, to be answered
 * @step: as kdapl_iw_link_wait()
 *
 * In between the driver connects by TCP with the host itself, which is a matter of no time,
 * unless a filter drops the packet: then it takes as long as TCP tries, whatever @limit.
 * Caller is in the IA's section; may sleep.
 *
 * Return: 0, and the near one is in RTS; -ENODEV: the device is being removed, or the
 * port has no address; -ETIMEDOUT; or what rdma_cm or the driver says.
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
 * The listener goes first, since its handler makes the passive id.  An id whose request
 * has not been answered goes when the driver gives up, which has a time for that.  May
 * sleep.
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
