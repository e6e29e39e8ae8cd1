// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening.  A service point listens at all addresses of its RDMA port, and these come
 * and go.  So a listener has one CM id for each address, all with the same port number, and a work
 * item of its own (follow_addresses()) adds and drops ids when addresses come and go.
 *
 * The ids of a listener are touched by one thread at a time: first by the one that makes the
 * listener, then by its work item, and last by the one that ends it, when the work item is over.
 * So no lock is held during a call of rdma_cm, and nobody waits for the listeners of others.
 *
 * Documentation/life-of-a-connection.rst, Listening, tells more; what rdma_cm does not wait for
 * when an id goes is in threat-model.rst, What a process can do.
 *
 * Called through the tables of cm.c, by its event handler, and by device.c.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include "../core/input.h"
#include "clients.h"
#include "listen.h"
#include "refused.h"

/*
 * How long follow_addresses() waits before it tries again to bind an address.  The wait is
 * doubled each time; when it exceeds LAST_WAIT, there is no further try before the next event.
 * An IPv6 address cannot be bound before duplicate address detection is done, and no notifier
 * tells when that is.
 */
#define FIRST_WAIT	HZ
#define LAST_WAIT	(32 * HZ)

/*
 * The shortest time between two runs of follow_addresses() that events ask for.  Somebody who adds
 * and removes addresses all the time, perhaps in a network namespace of his own, must not cause
 * all listeners to be looked at all the time.
 */
#define FOLLOW_PAUSE	(HZ / 20)

/*
 * struct listen_id - an id that listens at one address
 * @entry: in kdapl_listener.ids
 * @id: bound to @addr
 * @addr: an address of the port
 * @listens: kdapl_cm_listen_at() has succeeded
 */
struct listen_id {
	struct list_head entry;
	struct rdma_cm_id *id;
	struct kdapl_address addr;
	bool listens;
};

/*
 * struct kdapl_listener - what listens for a service point
 * @sp: the service point that requests go to
 * @dev: device of its IA
 * @net: namespace of its IA
 * @port: port number; 0 until the first id was bound, if any port will do
 * @backlog: for kdapl_cm_listen_at()
 * @ids: one struct listen_id for each address at which it listens
 * @entry: in listeners, or in outdated; under listeners_lock
 * @follow: follow_addresses(); only queued while @entry is in a list
 * @wait: until the next run of @follow, if an address could not be bound
 * @unbound: an address could not be bound, and may be later; of the one thread that has @ids
 */
struct kdapl_listener {
	struct kdapl_sp *sp;
	struct kdapl_device *dev;
	struct net *net;
	u16 port;
	int backlog;
	struct list_head ids;
	struct list_head entry;
	struct delayed_work follow;
	unsigned long wait;
	bool unbound;
};

static DEFINE_SPINLOCK(listeners_lock);	/* a leaf but for queueing work; process context */
static LIST_HEAD(listeners);
/* Those that update_listeners() has not come to yet. */
static LIST_HEAD(outdated);
/* Counts how often addresses may have changed, modulo 2^32. */
static atomic_t changes;

static void update_listeners(struct work_struct *work);
static DECLARE_DELAYED_WORK(update_work, update_listeners);
/* When update_listeners() ended last; events start it again at the earliest FOLLOW_PAUSE later. */
static unsigned long updated = INITIAL_JIFFIES;

/* ---- the ids of a listener --------------------------------------------- */

static void drop_id(struct kdapl_listener *l, struct listen_id *at)
{
	list_del(&at->entry);
	rdma_destroy_id(at->id);
	kdapl_sp_give_id(l->sp);
	kfree(at);
}

static void drop_ids(struct kdapl_listener *l)
{
	struct listen_id *at, *next;

	list_for_each_entry_safe(at, next, &l->ids, entry)
		drop_id(l, at);
}

static bool is_bound(const struct kdapl_listener *l,
		     const struct kdapl_address *addr)
{
	const struct listen_id *at;

	list_for_each_entry(at, &l->ids, entry)
		if (kdapl_address_equal(&at->addr, addr))
			return true;
	return false;
}

static struct rdma_cm_id *new_id(const struct kdapl_listener *l)
{
	return rdma_create_id(l->net, kdapl_cm_sp_handler, l->sp, RDMA_PS_TCP, IB_QPT_RC);
}

/* Is there any port number to which the address can be bound? */
static bool can_bind(const struct kdapl_listener *l, const struct kdapl_address *addr)
{
	struct rdma_cm_id *id = new_id(l);
	bool ret;

	if (IS_ERR(id))
		return false;
	ret = kdapl_cm_bind(id, l->dev, addr, 0) != -EADDRNOTAVAIL;
	rdma_destroy_id(id);
	return ret;
}

/*
 * Binds an id.  rdma_cm says -EADDRNOTAVAIL in two cases: the address cannot be bound (yet), or
 * somebody uses the port number at all addresses of the host.  They are told apart by binding
 * another id to the same address and any port number, which fails in the first case only.  The
 * address may have become usable between the two attempts, so the wanted number is tried once
 * more; if it is refused again, it is in use: -EADDRINUSE.
 */
static int bind_at(const struct listen_id *at, const struct kdapl_listener *l)
{
	int ret = kdapl_cm_bind(at->id, l->dev, &at->addr, l->port);

	if (ret != -EADDRNOTAVAIL || !l->port || !can_bind(l, &at->addr))
		return ret;
	ret = kdapl_cm_bind(at->id, l->dev, &at->addr, l->port);
	return ret == -EADDRNOTAVAIL ? -EADDRINUSE : ret;
}

static int bind_id(struct kdapl_listener *l, const struct kdapl_address *addr)
{
	struct listen_id *at;
	int ret;

	if (!kdapl_sp_take_id(l->sp))
		return -EDQUOT;
	at = kzalloc(sizeof(*at), GFP_KERNEL_ACCOUNT);
	if (!at) {
		ret = -ENOMEM;
		goto err_give;
	}
	at->addr = *addr;
	at->id = new_id(l);
	if (IS_ERR(at->id)) {
		ret = PTR_ERR(at->id);
		goto err_free;
	}
	ret = bind_at(at, l);
	if (ret)
		goto err_destroy;
	l->port = kdapl_port_of(&at->id->route.addr.src_addr);
	list_add_tail(&at->entry, &l->ids);
	return 0;

err_destroy:
	rdma_destroy_id(at->id);
err_free:
	kfree(at);
err_give:
	kdapl_sp_give_id(l->sp);
	return ret;
}

/*
 * Does an error concern one address only?  -EADDRNOTAVAIL: it cannot be bound yet; -ENODEV: another
 * RDMA device has the same address, and rdma_cm has found that device.
 */
static bool is_skipped(int err)
{
	return err == -EADDRNOTAVAIL || err == -ENODEV;
}

/*
 * Binds an id for each address, and skips addresses that cannot be bound now.  Returns 0 if at
 * least one is bound.
 */
static int bind_all(struct kdapl_listener *l, const struct kdapl_addresses *list)
{
	unsigned int i;
	int ret;

	l->unbound = false;
	for (i = 0; i < list->n; i++) {
		ret = bind_id(l, &list->at[i]);
		if (ret && !is_skipped(ret))
			return ret;
		l->unbound |= ret == -EADDRNOTAVAIL;
	}
	if (!list_empty(&l->ids))
		return 0;
	return l->unbound ? -EADDRNOTAVAIL : -ENODEV;
}

/* Has all ids listen that do not yet.  Returns the first failure, but tries them all. */
static int listen_all(struct kdapl_listener *l)
{
	struct listen_id *at;
	int ret, err = 0;

	list_for_each_entry(at, &l->ids, entry) {
		if (at->listens)
			continue;
		ret = kdapl_cm_listen_at(at->id, l->dev, l->backlog);
		at->listens = !ret;
		err = err ?: ret;
	}
	return err;
}

/* ---- following the addresses -------------------------------------------- */

static void drop_gone(struct kdapl_listener *l, const struct kdapl_addresses *list)
{
	struct listen_id *at, *next;

	list_for_each_entry_safe(at, next, &l->ids, entry)
		if (!kdapl_address_find(list, &at->addr))
			drop_id(l, at);
}

/*
 * Listens at addresses that are new.  Where somebody else uses the port number at a new address,
 * the listener does without that address.  True: try again later, because an address could not be
 * bound yet or there was no memory.
 */
static bool add_new(struct kdapl_listener *l, const struct kdapl_addresses *list)
{
	bool wait = false;
	unsigned int i;
	int ret;

	for (i = 0; i < list->n; i++) {
		if (is_bound(l, &list->at[i]))
			continue;
		ret = bind_id(l, &list->at[i]);
		if (ret == -EADDRNOTAVAIL || ret == -ENOMEM)
			wait = true;
		else if (!is_skipped(ret))
			kdapl_refused("listen_more", ret);
	}
	return kdapl_refused("listen_at", listen_all(l)) == -ENOMEM || wait;
}

/*
 * If an address could not be bound, there will be another try, unless there have been enough since
 * the last event.
 */
static void follow_later(struct kdapl_listener *l)
{
	unsigned long delay = READ_ONCE(l->wait);

	if (delay > LAST_WAIT)
		return;
	queue_delayed_work(kdapl_sp_wq(l->sp), &l->follow, delay);
	/* Unless an event has reset it just now. */
	cmpxchg(&l->wait, delay, 2 * delay);
}

static void follow_addresses(struct work_struct *work)
{
	struct kdapl_listener *l = container_of(to_delayed_work(work), struct kdapl_listener,
						follow);
	struct kdapl_addresses list;
	int ret;

	/* -ENODEV: the listener goes with its device.  -ENOMEM: try again later. */
	ret = kdapl_device_addresses(l->dev, l->net, &list);
	if (!ret) {
		drop_gone(l, &list);
		if (add_new(l, &list))
			ret = -ENOMEM;
		kvfree(list.at);
	}
	if (ret == -ENOMEM)
		follow_later(l);
}

/*
 * Has each listener look at its addresses.  The lock is dropped after each, so that nobody who
 * begins or stops to listen waits for more than one.
 */
static void update_listeners(struct work_struct *work)
{
	struct kdapl_listener *l;

	spin_lock(&listeners_lock);
	list_splice_init(&listeners, &outdated);
	while (!list_empty(&outdated)) {
		l = list_first_entry(&outdated, struct kdapl_listener, entry);
		list_move_tail(&l->entry, &listeners);
		WRITE_ONCE(l->wait, FIRST_WAIT);
		mod_delayed_work(kdapl_sp_wq(l->sp), &l->follow, 0);
		cond_resched_lock(&listeners_lock);
	}
	spin_unlock(&listeners_lock);
	WRITE_ONCE(updated, jiffies);
}

/**
 * kdapl_listen_follow - the addresses of a port may have changed
 *
 * Any context.
 */
void kdapl_listen_follow(void)
{
	unsigned long next = READ_ONCE(updated) + FOLLOW_PAUSE, now = jiffies;

	/*
	 * After the change: pairs with kdapl_cm_listen().  Before the work item takes
	 * listeners_lock: pairs with listen_follows().
	 */
	smp_mb__before_atomic();
	atomic_inc(&changes);
	mod_delayed_work(system_unbound_wq, &update_work,
			 time_after(next, now) ? next - now : 0);
	kdapl_clients_look();
}

/*
 * Does an RDMA device belong to the net device?  Meant for iWARP; that it also finds other RDMA
 * devices does no harm.
 */
static bool has_rdma(struct net_device *ndev)
{
	struct ib_device *ib = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);

	if (ib)
		ib_device_put(ib);
	return ib;
}

/*
 * Called when an interface of the host gets or loses an address.  Needed for IPoIB, where an
 * address has no GID of its own, and for iWARP, where no address has one.  A RoCE port raises
 * IB_EVENT_GID_CHANGE instead, when its GID table has the new address (device_event()).
 */
static int address_event(struct net_device *ndev)
{
	if (ndev->type == ARPHRD_INFINIBAND || has_rdma(ndev))
		kdapl_listen_follow();
	return NOTIFY_DONE;
}

static int inet_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	return address_event(((struct in_ifaddr *)ptr)->ifa_dev->dev);
}

static int inet6_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	return address_event(((struct inet6_ifaddr *)ptr)->idev->dev);
}

static struct notifier_block inet_notifier = { .notifier_call = inet_event };
static struct notifier_block inet6_notifier = { .notifier_call = inet6_event };

/**
 * kdapl_listen_init - begin to follow the addresses of IPoIB and iWARP interfaces
 *
 * May sleep.  Return: 0, or an errno.
 */
int kdapl_listen_init(void)
{
	int ret;

	ret = register_inetaddr_notifier(&inet_notifier);
	if (ret)
		return ret;
	ret = register_inet6addr_notifier(&inet6_notifier);
	if (ret)
		unregister_inetaddr_notifier(&inet_notifier);
	return ret;
}

/**
 * kdapl_listen_exit - undo kdapl_listen_init()
 *
 * There is no listener any more, and no event of a device will come.  May sleep.
 */
void kdapl_listen_exit(void)
{
	unregister_inet6addr_notifier(&inet6_notifier);
	unregister_inetaddr_notifier(&inet_notifier);
	cancel_delayed_work_sync(&update_work);
}

/* ---- kdapl_cm_ops -------------------------------------------------------- */

/* Binds and listens at the addresses of @list.  If it fails, nothing stays bound. */
static int listen_at_list(struct kdapl_listener *l, u16 *port,
			  const struct kdapl_addresses *list)
{
	int ret = bind_all(l, list);

	if (!ret) {
		*port = l->port;
		ret = listen_all(l);
	}
	if (ret)
		drop_ids(l);
	return ret;
}

/*
 * Listens on the port number *@port.  If it is 0, rdma_cm chooses a number that is free at the
 * first address, but it may be in use at another address.  Then rdma_cm is asked for another
 * number, KDAPL_PORT_TRIES times in all.  If that does not help, the caller gets -EADDRNOTAVAIL
 * instead of -EADDRINUSE, because it has not asked for a number that is in use.
 */
static int listen_at_port(struct kdapl_listener *l, u16 *port,
			  const struct kdapl_addresses *list)
{
	int tries = *port ? 1 : KDAPL_PORT_TRIES;
	const u16 asked = *port;
	int ret;

	if (!list->n)
		return -ENODEV;
	do {
		l->port = asked;
		ret = listen_at_list(l, port, list);
	} while (ret == -EADDRINUSE && --tries);
	return ret == -EADDRINUSE && !asked ? -EADDRNOTAVAIL : ret;
}

/*
 * A listener that listens follows its addresses from here on.  @seen: @changes before it looked at
 * them.  A change that came later either finds the listener in the list, or has counted before we
 * had the lock.
 */
static void listen_follows(struct kdapl_listener *l, int seen)
{
	spin_lock(&listeners_lock);
	list_add_tail(&l->entry, &listeners);
	if (atomic_read(&changes) != seen)
		queue_delayed_work(kdapl_sp_wq(l->sp), &l->follow, 0);
	else if (l->unbound)
		queue_delayed_work(kdapl_sp_wq(l->sp), &l->follow, FIRST_WAIT);
	spin_unlock(&listeners_lock);
}

/* kdapl_cm_ops.listen */
int kdapl_cm_listen(struct kdapl_sp *sp, struct kdapl_device *dev,
		    struct net *net, u16 *port, int backlog,
		    struct kdapl_listener **listener)
{
	int seen = atomic_read(&changes), ret;
	struct kdapl_addresses list;
	struct kdapl_listener *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return -ENOMEM;
	l->sp = sp;
	l->dev = dev;
	l->net = net;
	l->backlog = backlog;
	l->wait = FIRST_WAIT;
	INIT_LIST_HEAD(&l->ids);
	INIT_DELAYED_WORK(&l->follow, follow_addresses);

	/* Not earlier than @changes was read; pairs with kdapl_listen_follow(). */
	smp_rmb();
	ret = kdapl_device_addresses(dev, net, &list);
	if (!ret) {
		ret = listen_at_port(l, port, &list);
		kvfree(list.at);
	}
	if (ret) {
		kfree(l);
		return ret;
	}
	listen_follows(l, seen);
	*listener = l;
	return 0;
}

/* kdapl_cm_ops.unlisten */
void kdapl_cm_unlisten(struct kdapl_listener *l)
{
	spin_lock(&listeners_lock);
	list_del(&l->entry);
	spin_unlock(&listeners_lock);
	cancel_delayed_work_sync(&l->follow);
	drop_ids(l);
	kfree(l);
}
