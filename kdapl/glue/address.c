// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The IP addresses of a port: which addresses it has, which of them names the IA,
 * and from which of them a peer is reached.  Documentation/overview.rst, The IA, tells whose
 * addresses these are on RoCE, InfiniBand and iWARP.
 *
 * rdma_cm finds the device of an id by the address that the id is bound to.  So
 * an address has to be chosen here before rdma_cm is asked for a connection.
 * The functions that depend only on their arguments are separate from those that
 * ask the kernel, so that tests/kunit/address_test.c can test them.
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
 * A link-local address on another net device is a different address.  Any other
 * address is the same on every net device; rdma_cm treats it so, too.
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

/*
 * IPv4 is preferred to IPv6, and a link-local address comes last, because it can be reached
 * from one link only.
 */
static int address_rank(const struct kdapl_address *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return 2;
	return is_link_local(&addr->sa) ? 0 : 1;
}

/**
 * kdapl_address_better - does an address name an IA better than another one?
 * @a: an address of a port
 * @b: another one of the same port
 *
 * Return: whether @a is the better name.  False if both are equally good: then the
 * first address of the port stays the name.
 */
bool kdapl_address_better(const struct kdapl_address *a,
			  const struct kdapl_address *b)
{
	return address_rank(a) > address_rank(b);
}

/**
 * kdapl_address_find - find an address among those of a port
 * @list: addresses of the port
 * @addr: the address to look for
 *
 * Return: the entry of @list that equals @addr, or NULL.
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

/* The first link-local address; if @scope is not 0, on the net device with that number. */
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

/*
 * The first address of a net device that has the family of @to and is not link-local.  @to is
 * not link-local either.
 */
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
 * Routing is asked for each net device of the port separately, because an IA stands
 * for its port: another net device of the host must not be used, even if it has a
 * better route.  Among the port's net devices the most specific route wins, as it
 * would in one routing table.  A link-local peer is reached from the net device that
 * its scope id names, or, without a scope id, from the first net device that has a
 * link-local address.
 *
 * Return: one of @list.  If no route leads to the peer, the address that names the
 * IA: rdma_cm then reports an error, or finds the peer on that link.
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
 * @to: the peer; not changed if it is not link-local
 * @from: the address that kdapl_address_source() has found for it
 *
 * rdma_cm looks for the peer on the net device of @from, whatever the scope id of
 * @to says.  So a scope id that names another net device has to be refused here.
 *
 * Return: 0; -ENETUNREACH: the peer is on a link on which the port has no address.
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
 * fib_lookup() gives the prefix of the route, ip_route_output_key() the source address.
 * The second call alone would not do: where no route leads to @to, it assumes that @to is
 * on the link, and succeeds.
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

/* ---- the addresses of a port of the RDMA core -------------------------- */

/* Entries of the GID tables that are fetched in one call; most devices have no more. */
#define FEW_GIDS	32

/*
 * Does the net device have this IPv6 address?  To be asked for link-local addresses: a port
 * always has a GID of that form, made of its hardware address, whether or not the net device
 * has it as an address.
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

/* The address that a GID stands for; false: it is in another namespace, or is no address. */
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
 * GID tables are long and have few valid entries.  rdma_query_gid_table() gives these in one
 * call.  To look at each index instead takes the lock of the table each time, which makes a
 * connection cost a fifth more; it is done only if the call fails, because there are more than
 * FEW_GIDS entries or no memory.
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

/* The addresses of the IPoIB interfaces on the port, and of the bonds that these are in. */
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

/* Is @ndev the net device of a port of @dev, by what the driver has registered? */
static bool is_port_netdev(struct kdapl_device *dev, struct net_device *ndev)
{
	struct ib_device *ib = ib_device_get_by_netdev(ndev, dev->ib->ops.driver_id);

	if (!ib)
		return false;
	ib_device_put(ib);
	return ib == dev->ib;
}

/*
 * An iWARP device has one net device for each port, with the port's GID as its hardware
 * address; rdma_cm finds the port by that.  There are addresses in the initial network namespace
 * only: some drivers make their sockets in the namespace of the calling thread, and kdapl calls
 * them in a kernel thread (cm_iw.c).
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
 * @net: namespace; if it has no access to the device, there are no addresses
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
