/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Listening at all addresses of a port: listen.c for cm.c's table and device.c,
 * and what it uses of cm.c.
 */
#ifndef KDAPL_LISTEN_H
#define KDAPL_LISTEN_H

#include "address.h"

/* listen.c */
int kdapl_cm_listen(struct kdapl_sp *sp, struct kdapl_device *dev,
		    struct net *net, u16 *port, int backlog,
		    struct kdapl_listener **listener);
void kdapl_cm_unlisten(struct kdapl_listener *listener);
void kdapl_listen_follow(void);
int kdapl_listen_init(void);
void kdapl_listen_exit(void);

/* cm.c */
int kdapl_cm_sp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int kdapl_cm_bind(struct rdma_cm_id *id, const struct kdapl_device *dev,
		  const struct kdapl_address *addr, u16 port);
u16 kdapl_cm_port(const struct rdma_cm_id *id);

#endif /* KDAPL_LISTEN_H */
