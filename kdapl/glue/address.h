/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The addresses of a port, and which of them to use for what.  Implemented by address.c;
 * used by device.c, listen.c and cm.c.
 */
#ifndef KDAPL_ADDRESS_H
#define KDAPL_ADDRESS_H

#include "glue.h"

/*
 * struct kdapl_addresses - the addresses of a port, each once
 * @max: addresses for which @at has room
 * @n: addresses in @at
 * @left_out: while the list is being made: addresses for which there was no room
 * @at: the addresses; freed by kvfree()
 */
struct kdapl_addresses {
	unsigned int max;
	unsigned int n;
	unsigned int left_out;
	struct kdapl_address *at;
};

/**
 * typedef kdapl_route_fn - asks the routing of a namespace
 * @net: the namespace
 * @ifindex: net device by which the route has to leave
 * @to: where it has to lead, not link-local
 * @from: out: the source address of the route
 *
 * May sleep.  Return: bits of the route's prefix; a negative errno if no route
 * leads there.
 */
typedef int (*kdapl_route_fn)(struct net *net, int ifindex,
			      const struct sockaddr *to,
			      struct kdapl_address *from);

void kdapl_port_addresses(struct kdapl_device *dev, struct net *net,
			  kdapl_address_fn fn, void *arg);
int kdapl_route(struct net *net, int ifindex, const struct sockaddr *to,
		struct kdapl_address *from);

bool kdapl_address_equal(const struct kdapl_address *a,
			 const struct kdapl_address *b);
bool kdapl_address_better(const struct kdapl_address *a,
			  const struct kdapl_address *b);
const struct kdapl_address *
kdapl_address_find(const struct kdapl_addresses *list,
		   const struct kdapl_address *addr);
const struct kdapl_address *
kdapl_address_source(const struct kdapl_addresses *list, struct net *net,
		     const struct sockaddr *to, kdapl_route_fn route);
int kdapl_address_scope(struct sockaddr_in6 *to, const struct sockaddr *from);

/* device.c */
int kdapl_device_addresses(struct kdapl_device *dev, struct net *net,
			   struct kdapl_addresses *list);

#endif /* KDAPL_ADDRESS_H */
