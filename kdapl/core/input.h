/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the glue may tell the core: the one way up.  glue/ includes this header
 * and nothing else of core/.
 */
#ifndef KDAPL_INPUT_H
#define KDAPL_INPUT_H

#include "ep_fsm.h"
#include "../glue/glue.h"

/*
 * CM events.  Context: the CM's handler mutex of @id is held, may sleep.  A
 * connection's id keeps a reference of @conn until cm->destroy() returned.
 */

/*
 * An event that needs no more than an input of the endpoint table; @status is the
 * CM event's, or an errno.
 */
void kdapl_conn_input(struct kdapl_conn *conn, enum kdapl_ep_input input,
		      int status);
/*
 * The address was not found in the time given to cm->resolve: the core may ask
 * again.
 */
void kdapl_conn_unresolved(struct kdapl_conn *conn);
/*
 * Address and route are known.  The core calls cm->connect, on iWARP later from a
 * work item.
 */
void kdapl_conn_resolved(struct kdapl_conn *conn);
/*
 * The peer accepted.  The core moves the queue pair and calls
 * cm->established.  @data is the acceptance's private data.
 */
void kdapl_conn_answered(struct kdapl_conn *conn, const void *data, u8 len);
/*
 * The peer's consumer rejected.  @data is his private data.
 */
void kdapl_conn_rejected(struct kdapl_conn *conn, const void *data, u8 len, int status);
/*
 * The peer has confirmed our acceptance.
 */
void kdapl_conn_confirmed(struct kdapl_conn *conn);
/*
 * The peer disconnected, or answered our disconnect.
 */
void kdapl_conn_peer_disconnected(struct kdapl_conn *conn);
/*
 * A request arrived.  Return: 0 and the core owns @id from here on, with *@conn
 * as its context (the glue sets id->context and event handler, and takes the
 * id's reference; *@conn stays while @id's handler mutex is held); an errno:
 * the glue refuses the request, the peer sees nobody listening (P7, P10).
 */
int kdapl_sp_request(struct kdapl_sp *sp, struct rdma_cm_id *id,
		     const void *data, u8 len, u8 peer_rd_in,
		     struct kdapl_conn **conn);

/*
 * A service point's listener needs one more CM id, or has destroyed one.  False: its user has as
 * many as he may have.  Any context.
 */
bool kdapl_sp_take_id(struct kdapl_sp *sp);
void kdapl_sp_give_id(struct kdapl_sp *sp);
/* The workqueue on which a service point's listener does what is done later. */
struct workqueue_struct *kdapl_sp_wq(const struct kdapl_sp *sp);

/* kdapl_conn's references, for the glue's id contexts */
void kdapl_conn_get(struct kdapl_conn *conn);
void kdapl_conn_put(struct kdapl_conn *conn);

/*
 * Device.  Called for the IA whose on_dev entry this is, one at a time and with no lock
 * that an IA takes; may sleep.  On return of kdapl_ia_removed() nothing of the IA refers
 * to the device (A10).
 */
void kdapl_ia_hurry(struct list_head *on_dev);
void kdapl_ia_removed(struct list_head *on_dev);
void kdapl_ia_async(struct list_head *on_dev, const struct ib_event *event);

#endif /* KDAPL_INPUT_H */
