/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The connection of a registrar on iWARP (registrar_iw.c).  Callers: registrar.c, and
 * the suite kdapl_registrar.
 */
#ifndef KDAPL_REGISTRAR_IW_H
#define KDAPL_REGISTRAR_IW_H

#include <linux/wait.h>
#include <rdma/rdma_cm.h>
#include "glue.h"

/* Length of the secret of a link, in bytes: nobody else can guess it. */
#define KDAPL_IW_SECRET		16

/* How far the handshake of a link has come; it only goes forward. */
enum kdapl_iw_link_state {
	KDAPL_IW_BEGUN,
	KDAPL_IW_ROUTED,	/* the request can be sent */
	KDAPL_IW_UP,		/* the near queue pair can register memory */
};

/**
 * struct kdapl_iw_link - the connection of a registrar's queue pair on iWARP
 * @dev: the device it is on
 * @near: the registrar's queue pair
 * @far: the queue pair at the other end, to which nothing is posted
 * @listener: the id that waits for the request; NULL before and after that
 * @active: the id of @near
 * @passive: the id of @far, made by the CM; set once, by the handler of @listener
 * @secret: travels with the request, so that it can be told from requests of others
 * @wait: woken when one of the following fields changes
 * @state: how far the handshake has come
 * @err: the errno with which the link has failed, before or after it was up; set once
 */
struct kdapl_iw_link {
	struct kdapl_device *dev;
	struct ib_qp *near;
	struct ib_qp *far;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *active;
	struct rdma_cm_id *passive;
	u8 secret[KDAPL_IW_SECRET];
	wait_queue_head_t wait;
	enum kdapl_iw_link_state state;
	int err;
};

struct kdapl_iw_link *kdapl_iw_link_alloc(struct kdapl_device *dev,
					  struct ib_qp *near);
int kdapl_iw_link_connect(struct kdapl_iw_link *link, unsigned long limit,
			  unsigned long step);
void kdapl_iw_link_close(struct kdapl_iw_link *link);
int kdapl_iw_link_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
int kdapl_iw_link_wait(struct kdapl_iw_link *link, enum kdapl_iw_link_state state,
		       unsigned long limit, unsigned long step);

/* Has the link failed, so that a request would only be flushed?  It may fail at any moment. */
static inline bool kdapl_iw_link_lost(const struct kdapl_iw_link *link)
{
	return READ_ONCE(link->err);
}

#endif /* KDAPL_REGISTRAR_IW_H */
