// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The IP addresses of a port: which there are, which one names the IA, and by
 * which one a peer is reached.
 *
 * A port has the addresses of all its net devices: on RoCE the Ethernet
 * interface, VLANs and other devices upon it and the bond that it is in, all of
 * which the RDMA core keeps in the port's GID table; on InfiniBand the IPoIB
 * interfaces; on iWARP the Ethernet interface alone, whose GID table says nothing of
 * addresses.
 *
 * rdma_cm finds the device of an id by the address that the id is bound to.  So
 * an address has to be chosen here before rdma_cm is asked for a connection.
 * What depends on nothing but its arguments is apart from what asks the kernel,
 * for tests/kunit/address_test.c.
 *
 * Callers: device.c, cm.c, listen.c.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_fib.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "../compat.h"
#include "address.h"

/* ---- addresses ------------------------------------------------------- */

static bool is_link_local(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	return sa->sa_family == AF_INET6 &&
	       ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

static void set_ipv4(struct kdapl_address *addr, __be32 ip, int ifindex)
{
	*addr = (struct kdapl_address) {
		.in.sin_family = AF_INET,
		.in.sin_addr.s_addr = ip,
		.ifindex = ifindex,
	};
}

static void set_ipv6(struct kdapl_address *addr, const struct in6_addr *ip,
		     int ifindex)
{
	*addr = (struct kdapl_address) {
		.in6.sin6_family = AF_INET6,
		.in6.sin6_addr = *ip,
		.ifindex = ifindex,
	};
	if (is_link_local(&addr->sa))
		addr->in6.sin6_scope_id = ifindex;
}

/**
 * kdapl_port_of - the port of a socket address
 * @addr: IPv4 or IPv6
 */
u16 kdapl_port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/**
 * kdapl_address_equal - are two addresses the same?
 * @a: an address
 * @b: another one, or the same
 *
 * A link-local one is a different address on each net device; any other is the
 * same wherever it is, and rdma_cm takes it so.
 */
bool kdapl_address_equal(const struct kdapl_address *a,
			 const struct kdapl_address *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return ipv6_addr_equal(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}

/* IPv4, then IPv6; a link-local address is reached from one link alone. */
static int address_rank(const struct kdapl_address *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return 2;
	return is_link_local(&addr->sa) ? 0 : 1;
}

/**
 * kdapl_address_better - does an address name an IA better than another one?
 * @a: of a port
 * @b: of the same port
 *
 * Return: false too if they are equally good; then the first one names it.
 */
bool kdapl_address_better(const struct kdapl_address *a,
			  const struct kdapl_address *b)
{
	return address_rank(a) > address_rank(b);
}

/**
 * kdapl_address_find - find an address among those of a port
 * @list: addresses of the port
 * @addr: looked for
 *
 * Return: the one of @list, or NULL.
 */
const struct kdapl_address *
kdapl_address_find(const struct kdapl_addresses *list,
		   const struct kdapl_address *addr)
{
	unsigned int i;

	for (i = 0; i < list->n; i++)
		if (kdapl_address_equal(&list->at[i], addr))
			return &list->at[i];
	return NULL;
}

/* ---- by which address a peer is reached -------------------------------- */

/* The first one that is link-local, on the device with this number if not 0. */
static const struct kdapl_address *
link_local_source(const struct kdapl_addresses *list, u32 scope)
{
	unsigned int i;

	for (i = 0; i < list->n; i++)
		if (is_link_local(&list->at[i].sa) &&
		    (!scope || list->at[i].in6.sin6_scope_id == scope))
			return &list->at[i];
	return NULL;
}

/* The first one of a net device that can talk to @to, which is not link-local. */
static const struct kdapl_address *
source_on(const struct kdapl_addresses *list, int ifindex,
	  const struct sockaddr *to)
{
	unsigned int i;

	for (i = 0; i < list->n; i++)
		if (list->at[i].ifindex == ifindex &&
		    list->at[i].sa.sa_family == to->sa_family &&
		    !is_link_local(&list->at[i].sa))
			return &list->at[i];
	return NULL;
}

static bool was_asked(const struct kdapl_addresses *list, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (list->at[k].ifindex == list->at[i].ifindex)
			return true;
	return false;
}

static const struct kdapl_address *
routed_source(const struct kdapl_addresses *list, struct net *net,
	      const struct sockaddr *to, kdapl_route_fn route)
{
	const struct kdapl_address *addr, *best = NULL;
	struct kdapl_address from;
	int bits, most = -1;
	unsigned int i;

	for (i = 0; i < list->n; i++) {
		if (was_asked(list, i))
			continue;
		bits = route(net, list->at[i].ifindex, to, &from);
		if (bits <= most)
			continue;
		addr = kdapl_address_find(list, &from) ?:
		       source_on(list, list->at[i].ifindex, to);
		if (!addr)
			continue;
		best = addr;
		most = bits;
	}
	return best;
}

/**
 * kdapl_address_source - the address of a port by which a peer is reached
 * @list: addresses of the port, at least one
 * @net: namespace that they are in
 * @to: the peer
 * @route: kdapl_route(); the tests have their own
 *
 * Routing is asked once for each net device of the port, since another device of
 * the host, with a better route, may not be taken: an IA stands for its port.
 * Among the port's devices the most specific route wins, as it would in one
 * table.  A link-local peer is reached from the device that its scope id names,
 * or without one from the first that has a link-local address.
 *
 * Return: one of @list.  If no route leads to the peer, the best of all: rdma_cm
 * then says so, or finds the peer on that link.
 */
const struct kdapl_address *
kdapl_address_source(const struct kdapl_addresses *list, struct net *net,
		     const struct sockaddr *to, kdapl_route_fn route)
{
	const struct kdapl_address *addr;
	unsigned int i;

	if (is_link_local(to))
		addr = link_local_source(list, ((const struct sockaddr_in6 *)to)->sin6_scope_id);
	else
		addr = routed_source(list, net, to, route);
	if (addr)
		return addr;
	addr = &list->at[0];
	for (i = 1; i < list->n; i++)
		if (kdapl_address_better(&list->at[i], addr))
			addr = &list->at[i];
	return addr;
}

/**
 * kdapl_address_scope - give a link-local peer the scope that it is reached in
 * @to: the peer; left alone if it is not link-local
 * @from: what kdapl_address_source() found for it
 *
 * rdma_cm looks for the peer on the device of @from, whatever the scope id says,
 * so one that names another device has to be refused here.
 *
 * Return: 0; -ENETUNREACH: the peer is on a link that the port has no address
 * on.
 */
int kdapl_address_scope(struct sockaddr_in6 *to, const struct sockaddr *from)
{
	u32 scope;

	if (!is_link_local((struct sockaddr *)to))
		return 0;
	if (!is_link_local(from))
		return -ENETUNREACH;
	scope = ((const struct sockaddr_in6 *)from)->sin6_scope_id;
	if (to->sin6_scope_id && to->sin6_scope_id != scope)
		return -ENETUNREACH;
	to->sin6_scope_id = scope;
	return 0;
}

/* ---- routing ----------------------------------------------------------- */

/*
 * The route's prefix and its source address come from two calls, because the
 * second one alone takes everything to be on the link if nothing leads there.
 */
static int route4(struct net *net, int ifindex, __be32 to,
		  struct kdapl_address *from)
{
	struct flowi4 fl4 = { .daddr = to, .flowi4_oif = ifindex };
	struct fib_result res = {};
	struct rtable *rt;
	int ret;

	rcu_read_lock();
	ret = fib_lookup(net, &fl4, &res, 0);
	rcu_read_unlock();
	if (ret)
		return ret;
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	ip_rt_put(rt);
	set_ipv4(from, fl4.saddr, ifindex);
	return res.prefixlen;
}

#if IS_ENABLED(CONFIG_IPV6)
static int route6(struct net *net, int ifindex, const struct in6_addr *to,
		  struct kdapl_address *from)
{
	struct flowi6 fl6 = { .daddr = *to, .flowi6_oif = ifindex };
	struct dst_entry *dst;
	int bits;

	dst = kdapl_ip6_route(net, &fl6);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	bits = container_of(dst, struct rt6_info, dst)->rt6i_dst.plen;
	dst_release(dst);
	set_ipv6(from, &fl6.saddr, ifindex);
	return bits;
}
#else
static int route6(struct net *net, int ifindex, const struct in6_addr *to,
		  struct kdapl_address *from)
{
	return -ENETUNREACH;
}
#endif

/* A kdapl_route_fn */
int kdapl_route(struct net *net, int ifindex, const struct sockaddr *to,
		struct kdapl_address *from)
{
	if (to->sa_family == AF_INET)
		return route4(net, ifindex,
			      ((const struct sockaddr_in *)to)->sin_addr.s_addr,
			      from);
	return route6(net, ifindex,
		      &((const struct sockaddr_in6 *)to)->sin6_addr, from);
}

/* ---- of a port of the RDMA core ---------------------------------------- */

/* Most devices have no more. */
#define FEW_GIDS	32

/*
 * A port has a GID of the form of a link-local address that was made of its
 * hardware address, whether or not the net device has that address.
 */
static bool has_ipv6(struct net_device *ndev, const struct in6_addr *ip)
{
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifa;
	bool found = false;

	if (!in6_dev)
		return false;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa, &in6_dev->addr_list, if_list)
		if (ipv6_addr_equal(&ifa->addr, ip))
			found = true;
	read_unlock_bh(&in6_dev->lock);
	return found;
}

/* The address that a GID stands for; false: of another namespace, or none. */
static bool gid_address(const struct ib_gid_attr *attr, struct net *net,
			struct kdapl_address *addr)
{
	const struct in6_addr *ip = (const struct in6_addr *)&attr->gid;
	struct net_device *ndev;
	bool found;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	found = !IS_ERR(ndev) && net_eq(dev_net(ndev), net);
	if (found && ipv6_addr_v4mapped(ip)) {
		set_ipv4(addr, ip->s6_addr32[3], ndev->ifindex);
	} else if (found) {
		set_ipv6(addr, ip, ndev->ifindex);
		found = !is_link_local(&addr->sa) || has_ipv6(ndev, ip);
	}
	rcu_read_unlock();
	return found;
}

static void one_gid(struct kdapl_device *dev, int index, struct net *net,
		    kdapl_address_fn fn, void *arg)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(dev->ib, dev->port, index);
	struct kdapl_address addr;

	if (IS_ERR(attr))
		return;
	if (gid_address(attr, net, &addr))
		fn(&addr, arg);
	rdma_put_gid_attr(attr);
}

/*
 * Devices have long tables with few entries.  Which these are is asked for at once: to
 * take the lock of the table for each place in it would cost a connection a fifth more.
 */
static void roce_addresses(struct kdapl_device *dev, struct net *net,
			   kdapl_address_fn fn, void *arg)
{
	int i, n = dev->ib->port_data[dev->port].immutable.gid_tbl_len;
	struct ib_uverbs_gid_entry *few;
	ssize_t found = -ENOMEM;

	few = kmalloc_array(FEW_GIDS, sizeof(*few), GFP_KERNEL);
	if (few)
		found = rdma_query_gid_table(dev->ib, few, FEW_GIDS);
	if (found < 0) {
		for (i = 0; i < n; i++)
			one_gid(dev, i, net, fn, arg);
	}
	for (i = 0; i < found; i++)
		if (few[i].port_num == dev->port)
			one_gid(dev, few[i].gid_index, net, fn, arg);
	kfree(few);
}

static void netdev_addresses(struct net_device *ndev, kdapl_address_fn fn,
			     void *arg)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	struct kdapl_address addr;
	struct inet6_ifaddr *ifa6;
	struct in_ifaddr *ifa;

	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			set_ipv4(&addr, ifa->ifa_local, ndev->ifindex);
			fn(&addr, arg);
		}
	}
	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa6, &in6_dev->addr_list, if_list) {
		set_ipv6(&addr, &ifa6->addr, ndev->ifindex);
		fn(&addr, arg);
	}
	read_unlock_bh(&in6_dev->lock);
}

/* Of the IPoIB interfaces on the port, and of the bonds that they are in. */
static void ipoib_addresses(struct kdapl_device *dev, struct net *net,
			    kdapl_address_fn fn, void *arg)
{
	struct net_device *ndev, *bond;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		if (ndev->type != ARPHRD_INFINIBAND ||
		    ndev->dev.parent != dev->ib->dev.parent ||
		    ndev->dev_port != dev->port - 1)
			continue;
		netdev_addresses(ndev, fn, arg);
		bond = netdev_master_upper_dev_get_rcu(ndev);
		if (bond)
			netdev_addresses(bond, fn, arg);
	}
	rcu_read_unlock();
}

/* The net device of a port, as its driver has named it. */
static bool is_port_netdev(struct kdapl_device *dev, struct net_device *ndev)
{
	struct ib_device *ib = ib_device_get_by_netdev(ndev, dev->ib->ops.driver_id);

	if (!ib)
		return false;
	ib_device_put(ib);
	return ib == dev->ib;
}

/*
 * A device has a net device for each port, whose hardware address is the port's GID:
 * by that rdma_cm finds the port.  Some drivers make their sockets in the namespace of the
 * thread that calls them, a thread of the kernel's (cm_iw.c): so in other namespaces than
 * the first one there are no addresses.
 */
static void iwarp_addresses(struct kdapl_device *dev, struct net *net,
			    kdapl_address_fn fn, void *arg)
{
	struct net_device *ndev;
	union ib_gid gid;

	if (!net_eq(net, &init_net) || rdma_query_gid(dev->ib, dev->port, 0, &gid))
		return;
	rcu_read_lock();
	for_each_netdev_rcu(net, ndev)
		if (ndev->addr_len == ETH_ALEN &&
		    ether_addr_equal_unaligned(ndev->dev_addr, gid.raw) &&
		    is_port_netdev(dev, ndev))
			netdev_addresses(ndev, fn, arg);
	rcu_read_unlock();
}

/**
 * kdapl_port_addresses - kdapl_device.addresses for a port of the RDMA core
 * @dev: not gone
 * @net: namespace; without access to the device there is no address in it
 * @fn: called for each address; some may come more than once
 * @arg: for @fn
 */
void kdapl_port_addresses(struct kdapl_device *dev, struct net *net,
			  kdapl_address_fn fn, void *arg)
{
	if (!rdma_dev_access_netns(dev->ib, net))
		return;
	if (rdma_protocol_roce(dev->ib, dev->port))
		roce_addresses(dev, net, fn, arg);
	else if (rdma_protocol_iwarp(dev->ib, dev->port))
		iwarp_addresses(dev, net, fn, arg);
	else
		ipoib_addresses(dev, net, fn, arg);
}
