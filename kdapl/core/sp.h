/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Service points and connection requests: sp.c listens, sp_request.c makes the
 * requests, cr.c answers them.
 */
#ifndef KDAPL_SP_H
#define KDAPL_SP_H

#include "ep.h"

/*
 * struct kdapl_sp - a Public or Reserved Service Point, by obj.type
 * @evd: CR-EVD, attached
 * @on_port: in the table of all service points that listen (sp_request.c)
 * @qual: as the consumer gave it; 0: any, then it is the port
 * @port: where it listens
 * @flags: DAT_PSP_*_FLAG, of a PSP
 * @listener: what listens; NULL before, and once it was given back
 * @lock: @listener, @stopped, @spent
 * @unlisten_lock: held while it stops listening, so that another caller that wants the same
 *		   waits until nothing listens; @lock and those of the CM nest inside
 * @stopped: freed, or its device is gone; a listener that begins to listen only now is given
 *	     back at once
 * @ep: a RSP's endpoint, with a reference; NULL: made when the request arrives,
 *	which sets it
 * @spent: a RSP took its one request (P22)
 */
struct kdapl_sp {
	struct kdapl_object obj;
	struct kdapl_evd *evd;
	struct hlist_node on_port;
	DAT_CONN_QUAL qual;
	u16 port;
	DAT_PSP_FLAGS flags;
	struct kdapl_listener *listener;
	struct mutex lock;
	struct mutex unlisten_lock;
	struct kdapl_ep *ep;
	bool stopped;
	bool spent;
};

/*
 * struct kdapl_cr - a Connection Request
 * @conn: holds the id, the peer's address and private data; NULL once the
 *	  request was answered
 * @lock: one answer at a time
 * @ep: the endpoint it owns (RSP, or made by the provider), with a reference
 * @slot: its event
 */
struct kdapl_cr {
	struct kdapl_object obj;
	struct kdapl_conn *conn;
	struct mutex lock;
	struct kdapl_ep *ep;
	struct kdapl_event_slot slot;
};

/* The qualifier that consumers hear of. */
static inline DAT_CONN_QUAL kdapl_sp_qual(const struct kdapl_sp *sp)
{
	return sp->qual ?: READ_ONCE(sp->port);
}

static inline struct kdapl_cr *kdapl_cr_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_cr, obj);
}

/* sp_request.c */
void kdapl_sp_announce(struct kdapl_sp *sp);
void kdapl_sp_withdraw(struct kdapl_sp *sp);

/* cr.c */
struct kdapl_cr *kdapl_cr_alloc(struct kdapl_ia *ia, struct kdapl_conn *conn);
void kdapl_cr_end(struct kdapl_cr *cr, bool mark);

#endif /* KDAPL_SP_H */
