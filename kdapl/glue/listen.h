/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Listening at all addresses of a port: what listen.c has for cm.c's tables and for
 * device.c, and what listen.c and registrar_iw.c use of cm.c and cm_iw.c.
 */
#ifndef KDAPL_LISTEN_H
#define KDAPL_LISTEN_H

#include "address.h"

/*
 * How often rdma_cm is asked for a free port number.  It chooses one that is free at one
 * address, which may be in use at the next one, or, on iWARP, by a TCP socket.
 */
#define KDAPL_PORT_TRIES	8

/* listen.c */
int kdapl_cm_listen(struct kdapl_sp *sp, struct kdapl_device *dev,
		    struct net *net, u16 *port, int backlog,
		    struct kdapl_listener **listener);
void kdapl_cm_unlisten(struct kdapl_listener *listener);
void kdapl_listen_follow(void);
int kdapl_listen_init(void);
void kdapl_listen_exit(void);

/* cm_iw.c */
int kdapl_iw_backlog(int asked);
int kdapl_cm_listen_at(struct rdma_cm_id *id, const struct kdapl_device *dev,
		       int backlog);
int kdapl_iw_connect(struct rdma_cm_id *id, struct rdma_conn_param *param);

/* cm.c */
int kdapl_cm_sp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);
int kdapl_cm_bind(struct rdma_cm_id *id, const struct kdapl_device *dev,
		  const struct kdapl_address *addr, u16 port);

#endif /* KDAPL_LISTEN_H */
