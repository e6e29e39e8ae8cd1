// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA devices: kdapl's ib_client, which makes one struct kdapl_device for every
 * port that can carry an IA; the present addresses of a port, which address.c finds; and
 * the list of the IAs that are open on each device.  core/ia_open.c opens devices here and
 * core/ia_query.c lists them; core/ia_async.c is told of their events, and core/ia_open.c of
 * their removal (core/input.h).
 *
 * A struct kdapl_device outlives its RDMA device: an IA that is still open
 * keeps it, with @gone set.  Only two kinds of code may use @ib.  The first is an operation
 * in the section of an attached IA: client_remove() waits until all of these have left
 * the section.  The second is code that holds devices_lock and has seen that @gone is not
 * set.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "../compat.h"
#include "../core/input.h"
#include "clients.h"
#include "driver.h"
#include "listen.h"
#include "refused.h"
#include "uverbs.h"

/*
 * How long the removal of a device waits for a driver that pins memory of a process.  Normally
 * that takes much less: kdapl has pinned the same memory just before, so it is present.
 */
#define PAGER_LIMIT	(30 * HZ)

/*
 * How much later than the peer's disconnect the answer to a request may arrive.  Both are
 * under way at the same time, so this is ample.  It is what a peer costs that has left
 * without answering.
 */
#define ANSWER_TIME	(HZ / 5)
/*
 * How long the close of an adapter waits for a peer to answer a disconnect.  rdma_cm repeats a
 * disconnect every 4.3 s, so two of them may get lost, as happens when very many arrive at one
 * host at once.  Not needed on iWARP, where TCP delivers the disconnect.
 */
#define CLOSE_TIME	(9 * HZ)

/*
 * Room that the list of a port's addresses has at first.  Most ports have no more addresses, so
 * their GID table, which may be long, is walked only once.
 */
#define FEW_ADDRESSES	16
/*
 * At most this many addresses of a port are used.  Each address is compared with all before it,
 * in part under a lock of the net device (netdev_addresses()), and root of a network namespace
 * can add as many as he likes.
 */
#define MANY_ADDRESSES	1024U

/*
 * The registry.  The lock also protects the names and @number of the devices, and is held when
 * @gone is set.  Processes only ever take it for reading, because each of them may have to wait
 * for its turn to run while it has it: then others do not wait with it, unless a device comes or
 * goes just then.
 */
static DECLARE_RWSEM(devices_lock);
static LIST_HEAD(devices);
static u64 last_number;

/* Keeps the best address seen so far in @arg, whose family is 0 before the first one. */
static void keep_better(const struct kdapl_address *addr, void *arg)
{
	struct kdapl_address *best = arg;

	if (!best->sa.sa_family || kdapl_address_better(addr, best))
		*best = *addr;
}

static int device_address(struct kdapl_device *dev, struct net *net,
			  struct kdapl_address *addr)
{
	lockdep_assert_held(&devices_lock);
	addr->sa.sa_family = 0;
	if (!dev->gone)
		dev->addresses(dev, net, keep_better, addr);
	return addr->sa.sa_family ? 0 : -ENODEV;
}

/**
 * kdapl_device_address - the present address of a port, by which an IA is named
 * @dev: may be gone
 * @net: namespace in which the address must be
 * @addr: out, with port 0: the first IPv4 address; if there is none, the first IPv6
 *	  address; a link-local one only if there is no other
 *
 * Takes devices_lock; may sleep.
 *
 * Return: 0; -ENODEV when the port has no address in @net, the device is gone,
 * or @net may not use it.
 */
int kdapl_device_address(struct kdapl_device *dev, struct net *net,
			 struct sockaddr_storage *addr)
{
	struct kdapl_address best;
	int ret;

	down_read(&devices_lock);
	ret = device_address(dev, net, &best);
	up_read(&devices_lock);
	if (ret)
		return ret;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &best, best.sa.sa_family == AF_INET ? sizeof(best.in) :
							   sizeof(best.in6));
	return 0;
}

static bool may_open(struct kdapl_device *dev, struct net *net)
{
	struct kdapl_address addr;

	return !device_address(dev, net, &addr);
}

/*
 * Adds an address to a list, unless it is there already: where a port speaks both versions of
 * RoCE, an address has two GIDs.
 */
static void add_one(const struct kdapl_address *addr, void *arg)
{
	struct kdapl_addresses *list = arg;

	if (list->n == MANY_ADDRESSES || kdapl_address_find(list, addr))
		return;
	if (list->n < list->max)
		list->at[list->n++] = *addr;
	else
		list->left_out++;
}

/*
 * Fills a list with all addresses.  If there was no room for some, it is made larger and filled
 * again.
 */
static int all_addresses(struct kdapl_device *dev, struct net *net,
			 struct kdapl_addresses *list)
{
	lockdep_assert_held(&devices_lock);
	if (dev->gone)
		return -ENODEV;
	list->left_out = FEW_ADDRESSES;
	do {
		kvfree(list->at);
		list->max = min(list->max + list->left_out, MANY_ADDRESSES);
		list->n = 0;
		list->left_out = 0;
		list->at = kvcalloc(list->max, sizeof(*list->at), GFP_KERNEL);
		if (!list->at)
			return -ENOMEM;
		dev->addresses(dev, net, add_one, list);
	} while (list->left_out);
	return 0;
}

/**
 * kdapl_device_addresses - all present addresses of a port
 * @dev: may be gone
 * @net: namespace in which they must be
 * @list: out: the addresses, with port 0; may be none.  The caller has to kvfree()
 *	  kdapl_addresses.at
 *
 * Takes devices_lock; may sleep.
 *
 * Return: 0; -ENODEV when the device is gone; -ENOMEM.  After an errno there is
 * nothing to free.
 */
int kdapl_device_addresses(struct kdapl_device *dev, struct net *net,
			   struct kdapl_addresses *list)
{
	int ret;

	*list = (struct kdapl_addresses) {};
	down_read(&devices_lock);
	ret = all_addresses(dev, net, list);
	up_read(&devices_lock);
	return ret;
}

/**
 * kdapl_device_get - find a device by its registry name
 * @name: "<device>-<port>"
 * @net: namespace of the process, or of the kernel consumer, that wants to open
 *	 it
 *
 * Takes devices_lock; may sleep.
 *
 * Return: the device with a reference; NULL if there is none of that name, it
 * has no address in @net, or @net may not use it.
 */
struct kdapl_device *kdapl_device_get(const char *name, struct net *net)
{
	struct kdapl_device *dev, *found = NULL;

	down_read(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		if (strcmp(dev->name, name))
			continue;
		if (may_open(dev, net)) {
			refcount_inc(&dev->ref);
			found = dev;
		}
		break;
	}
	up_read(&devices_lock);
	return found;
}

/**
 * kdapl_device_put - drop a reference to a device
 * @dev: not to be used by this caller afterwards
 *
 * Any context.
 */
void kdapl_device_put(struct kdapl_device *dev)
{
	if (refcount_dec_and_test(&dev->ref))
		kfree(dev);
}

/**
 * kdapl_device_for_each - walk the devices that a namespace may open
 * @net: namespace; devices without an address in it are left out
 * @fn: called for each device, in the order in which they appeared (G12), with
 *	devices_lock held, so it must not call functions of this file; what it
 *	returns other than 0 ends the walk
 * @arg: for @fn
 *
 * Takes devices_lock; may sleep.
 *
 * Return: 0, or what @fn returned to end the walk.
 */
int kdapl_device_for_each(struct net *net,
			  int (*fn)(struct kdapl_device *dev, void *arg),
			  void *arg)
{
	struct kdapl_device *dev;
	int ret = 0;

	down_read(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		if (!may_open(dev, net))
			continue;
		ret = fn(dev, arg);
		if (ret)
			break;
	}
	up_read(&devices_lock);
	return ret;
}

/**
 * kdapl_device_attach - put an IA on its device's list
 * @dev: the device; the IA has a reference of it
 * @on_dev: the IA's entry, in no list
 *
 * From here on kdapl_ia_async() and kdapl_ia_removed() may be called for the
 * IA. Process context; takes @dev->ias_lock.
 *
 * Return: true; or false when the device is being removed: then the IA is not put
 * on the list.
 */
bool kdapl_device_attach(struct kdapl_device *dev, struct list_head *on_dev)
{
	bool attached;

	spin_lock(&dev->ias_lock);
	attached = !dev->gone;
	if (attached)
		list_add_tail(on_dev, &dev->ias);
	spin_unlock(&dev->ias_lock);
	return attached;
}

/**
 * kdapl_device_detach - take an IA off its device's list
 * @dev: its device, gone or not
 * @on_dev: the IA's entry; may be off the list already
 *
 * When this returns, neither kdapl_ia_async() nor kdapl_ia_removed() runs or
 * will run for the IA.  It waits for such a call that is running, so it must not be
 * called from within one.  After kdapl_ia_removed() this file takes the IA off the
 * list itself.  Takes @dev->ias_lock; may sleep.
 */
void kdapl_device_detach(struct kdapl_device *dev, struct list_head *on_dev)
{
	spin_lock(&dev->ias_lock);
	wait_event_cmd(dev->wait, dev->visited != on_dev,
		       spin_unlock(&dev->ias_lock), spin_lock(&dev->ias_lock));
	list_del_init(on_dev);
	spin_unlock(&dev->ias_lock);
}

/*
 * Calls @fn for each IA, one after the other, with @visit_lock but no spinlock held, and moves
 * the IAs to the list @to.  kdapl_device_detach() of an IA waits until the call for that IA has
 * returned.
 */
static void visit_ias(struct kdapl_device *dev, struct list_head *to,
		      void (*fn)(struct list_head *on_dev, void *arg), void *arg)
{
	struct list_head *on_dev;
	LIST_HEAD(todo);

	mutex_lock(&dev->visit_lock);
	spin_lock(&dev->ias_lock);
	list_splice_init(&dev->ias, &todo);
	while (!list_empty(&todo)) {
		on_dev = todo.next;
		list_move_tail(on_dev, to);
		dev->visited = on_dev;
		spin_unlock(&dev->ias_lock);

		fn(on_dev, arg);

		spin_lock(&dev->ias_lock);
		dev->visited = NULL;
		wake_up_all(&dev->wait);
	}
	spin_unlock(&dev->ias_lock);
	mutex_unlock(&dev->visit_lock);
}

/**
 * kdapl_device_walk_ias - walk the IAs that are open on a device
 * @dev: device
 * @fn: called for each, with no spinlock held; may sleep
 * @arg: for @fn
 *
 * Processes can open any number of IAs, so @dev->ias_lock is not held during the walk.  An
 * IA that is opened meanwhile may be left out.  May sleep.
 */
void kdapl_device_walk_ias(struct kdapl_device *dev,
			   void (*fn)(struct list_head *on_dev, void *arg),
			   void *arg)
{
	visit_ias(dev, &dev->ias, fn, arg);
}

static void ia_raise_event(struct list_head *on_dev, void *event)
{
	kdapl_ia_async(on_dev, event);
}

/* Does an event concern the port of @dev?  Port events concern one port, all others every port. */
static bool event_concerns(const struct kdapl_device *dev,
			   const struct ib_event *event)
{
	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		return event->element.port_num == dev->port;
	default:
		return true;
	}
}

static void device_event(struct ib_event_handler *handler,
			 struct ib_event *event)
{
	struct kdapl_device *dev = container_of(handler, struct kdapl_device,
						async);

	if (!event_concerns(dev, event))
		return;
	if (event->event == IB_EVENT_GID_CHANGE)
		kdapl_listen_follow();
	kdapl_device_walk_ias(dev, ia_raise_event, event);
}

static bool port_iwarp(struct ib_device *ib, u32 port)
{
	return rdma_cap_iw_cm(ib, port) && rdma_protocol_iwarp(ib, port);
}

static bool port_ib(struct ib_device *ib, u32 port)
{
	return rdma_cap_ib_cm(ib, port) &&
	       (rdma_protocol_ib(ib, port) || rdma_protocol_roce(ib, port));
}

static bool port_usable(struct ib_device *ib, u32 port)
{
	return (port_ib(ib, port) || port_iwarp(ib, port)) &&
	       ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
	       kdapl_driver_takes_iova(ib);
}

static void set_name(struct kdapl_device *dev)
{
	strscpy(dev->ib_name, dev_name(&dev->ib->dev), sizeof(dev->ib_name));
	snprintf(dev->name, sizeof(dev->name), "%s-%u", dev->ib_name, dev->port);
}

/*
 * Names the driver's module.  If the driver is built in, and so has no module, the driver of
 * the parent device is named instead.  The parent does not come first, because that of a
 * software device is the parent of its net device, and says nothing about the RDMA driver.
 */
static void set_vendor(struct kdapl_device *dev)
{
	const struct device *parent = dev->ib->dev.parent;

	if (dev->ib->ops.owner)
		strscpy(dev->vendor, module_name(dev->ib->ops.owner), sizeof(dev->vendor));
	else if (parent && parent->driver)
		strscpy(dev->vendor, parent->driver->name, sizeof(dev->vendor));
	else
		snprintf(dev->vendor, sizeof(dev->vendor), "0x%06x",
			 dev->attrs.vendor_id);
}

/* Sets what differs between drivers about shared receive queues. */
static void set_srq(struct kdapl_device *dev)
{
	const struct ib_device *ib = dev->ib;

	if (!ib->ops.create_srq || !ib->ops.post_srq_recv || !kdapl_driver_srq_safe(ib))
		dev->attrs.max_srq = 0;
	dev->srq_arms = ib->ops.modify_srq;
	dev->srq_tells_last = kdapl_driver_srq_tells_last(ib);
	dev->srq_keeps = kdapl_driver_srq_keeps(ib);
	dev->srq_zone_of_qp = kdapl_driver_srq_zone_of_qp(ib);
	if (dev->srq_tells_last)
		dev->verbs_hints |= KDAPL_HINT_TELLS_LAST;
	if (dev->srq_keeps)
		dev->verbs_hints |= KDAPL_HINT_SRQ_KEEPS;
}

/**
 * kdapl_device_begin_paging - the driver is about to pin memory of the calling process
 * @dev: device
 * @pager: memory of the caller's, in use until kdapl_device_end_paging()
 *
 * While the driver pins, it needs the device, so the removal of the device has to wait.  But
 * a page that a process provides by itself (FUSE, userfaultfd) may never come, and
 * wait_for_pagers() has to know which thread to kill then.  Caller is in the IA's section.
 *
 * Return: 0; -ENODEV when the device is being removed.
 */
int kdapl_device_begin_paging(struct kdapl_device *dev, struct kdapl_pager *pager)
{
	int ret = 0;

	pager->task = current;
	spin_lock(&dev->ias_lock);
	if (dev->gone)
		ret = -ENODEV;
	else
		list_add_tail(&pager->entry, &dev->pagers);
	spin_unlock(&dev->ias_lock);
	return ret;
}

/**
 * kdapl_device_end_paging - the driver has pinned the memory, or has failed
 * @dev: as for kdapl_device_begin_paging()
 * @pager: as for kdapl_device_begin_paging()
 */
void kdapl_device_end_paging(struct kdapl_device *dev, struct kdapl_pager *pager)
{
	spin_lock(&dev->ias_lock);
	list_del(&pager->entry);
	if (list_empty(&dev->pagers))
		wake_up_all(&dev->wait);
	spin_unlock(&dev->ias_lock);
}

/*
 * Waits until no driver pins memory of a process any more; @gone is set, so none begins to.  A
 * driver that waits for a page of a process gives up only if the process is killed, so that is
 * done when PAGER_LIMIT is over.
 */
static void wait_for_pagers(struct kdapl_device *dev)
{
	struct kdapl_pager *pager;

	if (wait_event_timeout(dev->wait, list_empty_careful(&dev->pagers),
			       PAGER_LIMIT))
		return;
	spin_lock(&dev->ias_lock);
	list_for_each_entry(pager, &dev->pagers, entry) {
		trace_kdapl_error("pager_killed", -ETIMEDOUT);
		send_sig(SIGKILL, pager->task, 1);
	}
	spin_unlock(&dev->ias_lock);
}

static void ia_remove(struct list_head *on_dev, void *unused)
{
	kdapl_ia_removed(on_dev);
}

/* Makes every IA give back what it has of the device.  No IA can be attached any more. */
static void release_ias(struct kdapl_device *dev)
{
	LIST_HEAD(removed);

	visit_ias(dev, &removed, ia_remove, NULL);
	/* kdapl_device_detach() may take some off at the same time. */
	spin_lock(&dev->ias_lock);
	while (!list_empty(&removed))
		list_del_init(removed.next);
	spin_unlock(&dev->ias_lock);
}

/**
 * kdapl_device_alloc - make a struct kdapl_device, not in the registry yet
 *
 * May sleep.
 *
 * Return: the device with one reference, which kdapl_device_remove() drops;
 * NULL when there is no memory.
 */
struct kdapl_device *kdapl_device_alloc(void)
{
	struct kdapl_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	refcount_set(&dev->ref, 1);
	spin_lock_init(&dev->ias_lock);
	mutex_init(&dev->visit_lock);
	INIT_LIST_HEAD(&dev->ias);
	INIT_LIST_HEAD(&dev->pagers);
	init_waitqueue_head(&dev->wait);
	return dev;
}

/**
 * kdapl_device_add - put a device on the registry
 * @dev: name, limits, operations and @addresses are filled in
 *
 * From here on IAs can be opened on it.  Undone by kdapl_device_remove().
 * Takes devices_lock; may sleep.
 */
void kdapl_device_add(struct kdapl_device *dev)
{
	down_write(&devices_lock);
	dev->number = ++last_number;
	list_add_tail(&dev->entry, &devices);
	up_write(&devices_lock);
	kdapl_clients_look();
}

static void ia_hurry(struct list_head *on_dev, void *unused)
{
	kdapl_ia_hurry(on_dev);
}

/**
 * kdapl_device_remove - take a device off the registry and away from its IAs
 * @dev: afterwards only holders of a reference may use it, and nobody its @ib
 *
 * On return no IA refers to anything of the RDMA device (A10).  Kills a process if the
 * driver has not finished pinning its memory within PAGER_LIMIT.  Takes devices_lock and
 * @dev->ias_lock; may sleep.
 */
void kdapl_device_remove(struct kdapl_device *dev)
{
	down_write(&devices_lock);
	list_del(&dev->entry);
	spin_lock(&dev->ias_lock);
	dev->gone = true;
	spin_unlock(&dev->ias_lock);
	up_write(&devices_lock);
	/*
	 * Before the clients are told: one of them may be closing an adapter just now, and all
	 * others wait for it.
	 */
	kdapl_device_walk_ias(dev, ia_hurry, NULL);
	kdapl_clients_gone(dev);
	wait_for_pagers(dev);
	release_ias(dev);
	kdapl_device_put(dev);
}

static int add_port(struct ib_device *ib, u32 port)
{
	struct ib_port_attr attr;
	struct kdapl_device *dev;
	int ret;

	ret = ib_query_port(ib, port, &attr);
	if (ret)
		return kdapl_refused("device_port", ret);
	dev = kdapl_device_alloc();
	if (!dev)
		return -ENOMEM;

	dev->ib = ib;
	dev->port = port;
	dev->attrs = ib->attrs;
	dev->attrs.page_size_cap = kdapl_driver_page_sizes(ib);
	dev->max_msg_sz = attr.max_msg_sz;
	dev->max_frmr_pages = kdapl_driver_frmr_pages(ib);
	dev->mr_shift = kdapl_mr_first_shift(dev->attrs.page_size_cap, PAGE_SHIFT);
	dev->max_window_pages = kdapl_window_pages(ib, dev->mr_shift);
	dev->max_segment = ib_dma_max_seg_size(ib);
	dev->driver_pins = kdapl_driver_pins(ib);
	dev->driver_only = kdapl_driver_only(ib);
	dev->addresses = kdapl_port_addresses;
	dev->iwarp = port_iwarp(ib, port);
	dev->qp = dev->iwarp ? &kdapl_iw_qp_ops : &kdapl_ib_qp_ops;
	dev->user_qp = kdapl_user_qp_ops_of(ib, dev->iwarp, &dev->verbs_hints);
	if (kdapl_driver_never_solicited(ib))
		dev->verbs_hints |= KDAPL_HINT_UNSOLICITED;
	if (kdapl_driver_leaves_tasklet(ib))
		dev->verbs_hints |= KDAPL_HINT_LATE_CQS;
	dev->cm = dev->iwarp ? &kdapl_iw_cm_ops : &kdapl_ib_cm_ops;
	dev->mr = &kdapl_ib_mr_ops;
	dev->cq_fixed = !kdapl_ib_has_resize_cq(ib);
	dev->sync_needed = IS_ENABLED(CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE) &&
			   !ib_uses_virt_dma(ib);
	/* On iWARP answers and disconnect come in order, through the same TCP stream. */
	dev->answer_time = dev->iwarp ? 0 : ANSWER_TIME;
	dev->close_time = dev->iwarp ? 0 : CLOSE_TIME;
	dev->mute_faults = kdapl_driver_mute_faults(ib);
	if (kdapl_driver_immed(ib, dev->iwarp))
		dev->extensions |= KDAPL_CAN_IMMED;
	dev->answers_atomics = ib->attrs.atomic_cap != IB_ATOMIC_NONE;
	if (dev->answers_atomics && kdapl_driver_posts_atomics(ib))
		dev->extensions |= KDAPL_CAN_ATOMIC;
	set_srq(dev);
	set_name(dev);
	set_vendor(dev);
	INIT_IB_EVENT_HANDLER(&dev->async, ib, device_event);
	ib_register_event_handler(&dev->async);
	kdapl_device_add(dev);
	return 0;
}

/* Finds a port of @ib that is still on the registry; NULL if there is none. */
static struct kdapl_device *find_port(struct ib_device *ib)
{
	struct kdapl_device *dev, *found = NULL;

	down_read(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		if (dev->ib == ib) {
			found = dev;
			break;
		}
	}
	up_read(&devices_lock);
	return found;
}

/* ib_client.remove: the RDMA device @ib goes away, or this module does. */
static void client_remove(struct ib_device *ib, void *client_data)
{
	struct kdapl_device *dev;

	while ((dev = find_port(ib))) {
		ib_unregister_event_handler(&dev->async);
		kdapl_device_remove(dev);
	}
}

/* ib_client.add: an RDMA device appeared, or was there before this module. */
static int client_add(struct ib_device *ib)
{
	u32 port;
	int ret;

	rdma_for_each_port(ib, port) {
		if (!port_usable(ib, port))
			continue;
		ret = add_port(ib, port);
		if (ret)
			goto err_remove;
	}
	return 0;

err_remove:
	client_remove(ib, NULL);
	return ret;
}

/**
 * kdapl_device_renamed - the RDMA device has another name from now on
 * @ib: the RDMA device
 *
 * An open IA keeps the name it was opened by (I21).  Takes devices_lock; may sleep.
 */
void kdapl_device_renamed(struct ib_device *ib)
{
	struct kdapl_device *dev;

	down_write(&devices_lock);
	list_for_each_entry(dev, &devices, entry) {
		if (dev->ib != ib)
			continue;
		set_name(dev);
		WRITE_ONCE(dev->renames, dev->renames + 1);
	}
	up_write(&devices_lock);
	kdapl_clients_look();
}

/* ib_client.rename */
static void client_rename(struct ib_device *ib, void *client_data)
{
	kdapl_device_renamed(ib);
}

static struct ib_client kdapl_client = {
	.name = "kdapl",
	.add = client_add,
	.remove = client_remove,
	.rename = client_rename,
};

/**
 * kdapl_device_init - begin to follow RDMA devices as they come and go
 *
 * On return the registry has all devices that are present.  May sleep.
 *
 * Return: 0, or what the kernel refuses to register.
 */
int kdapl_device_init(void)
{
	int ret;

	ret = kdapl_uverbs_init();
	if (ret)
		return ret;
	ret = kdapl_listen_init();
	if (ret)
		goto err_uverbs;
	ret = ib_register_client(&kdapl_client);
	if (ret)
		goto err_listen;
	return 0;

err_listen:
	kdapl_listen_exit();
	kdapl_clients_exit();
err_uverbs:
	kdapl_uverbs_exit();
	return ret;
}

/**
 * kdapl_device_exit - undo kdapl_device_init()
 *
 * IAs that are still open lose their device as if it had been removed.  May
 * sleep.
 */
void kdapl_device_exit(void)
{
	ib_unregister_client(&kdapl_client);
	kdapl_listen_exit();
	kdapl_clients_exit();
	kdapl_uverbs_exit();
}
