/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Endpoints: a state, two directions (dir.h), and the connection that they go
 * through (conn.h).  ep.c has their life, ep_apply.c their state, ep_attr.c what
 * they are made of, ep_connect.c how a connection begins.
 */
#ifndef KDAPL_EP_H
#define KDAPL_EP_H

#include "dto/kind.h"
#include "conn.h"
#include "dir.h"
#include "ep_fsm.h"
#include "evd_cq.h"
#include "object.h"

struct kdapl_pz;
struct kdapl_srq;

/* Index in kdapl_ep_use.shares: of the CQ in which receives, or requests, complete */
#define KDAPL_CQ_SHARE_RECV	0
#define KDAPL_CQ_SHARE_REQUEST	1

/*
 * struct kdapl_ep_use - the objects of an endpoint, each with a use and a reference
 * @pz, @recv_evd, @request_evd, @connect_evd, @srq: as the consumer gave them, or NULL
 * @hidden: takes the place of EVDs for completions that the consumer did not give
 * @lent: @hidden belongs to another kdapl_ep_use
 * @unpaid: the provider made the endpoint, for which its consumer has not asked so far and
 *	    is not charged
 * @reserve: work requests that the request queue has beyond those for its DTOs; no object,
 *	     but taken and given back with the share of the CQ
 * @recv_flags, @request_flags: completion flags with which the streams are attached
 * @shares: of the CQs; by direction, KDAPL_CQ_SHARE_*
 * @attached: which of the above were attached and have to be detached
 *
 * Taken as a whole before anything changes, and given back as a whole.
 */
struct kdapl_ep_use {
	struct kdapl_pz *pz;
	struct kdapl_evd *recv_evd;
	struct kdapl_evd *request_evd;
	struct kdapl_evd *connect_evd;
	struct kdapl_srq *srq;
	struct kdapl_evd *hidden;
	bool lent;
	bool unpaid;
	u8 attached;
	u32 reserve;
	u32 recv_flags;
	u32 request_flags;
	struct kdapl_cq_share shares[KDAPL_CQ_SHARES];
};

/*
 * struct kdapl_ep - an Endpoint
 * @lock: state, @conn, @end_event; the directions' locks nest inside
 * @state: written by one function, ep_apply(), once the endpoint is made
 * @conn: the present connection, or the last one until reset (its private data
 *	  stays readable, E7)
 * @life: counts the connections that were given up; under @lock
 * @end_event: the connection event that is due when the flush is over
 * @req, @recv: the two directions; their locks are taken in this order
 * @use: the objects it uses; changed under @use_lock and @lock
 * @pz, @connect_evd: those of @use; may be NULL
 * @srq: where it takes its receives from, for life; NULL: it has receives of its own.  With
 *	 a reference of its own, because completions that nobody has dequeued have their
 *	 cookies there
 * @use_lock: @use; one modify, connect or accept at a time
 * @attr: as granted
 * @limits: of @attr, by kind of post
 * @local: our address in the present or last connection, in memory of the IA.  Before the
 *	   first connection: that of the IA
 * @remote, @remote_qual, @local_qual: of the present or last connection
 * @bound: the queue pair that its process has brought for the next connection; under
 *	   @use_lock
 * @bind_life: counts such queue pairs, and is never 0 after the first; written under
 *	       @use_lock and @lock
 * @view_flags: KDAPL_VIEW_*, of the last such queue pair; under @lock, as all that follows
 * @view_state: the state that the process is shown
 * @last_state: the newest state that it may be shown, as soon as @unpublished is 0
 * @unpublished: how many events have been raised that are not yet in the ring where the process
 *	       looks for them; until they are, @view_state does not change
 * @show, @place: the function that shows the process what has changed, and where; NULL: the
 *		  process did not ask
 */
struct kdapl_ep {
	struct kdapl_object obj;
	spinlock_t lock;
	u8 state;
	struct kdapl_conn *conn;
	u32 life;
	u32 end_event;
	struct kdapl_dir req;
	struct kdapl_dir recv;
	struct kdapl_ep_use use;
	struct kdapl_pz *pz;
	struct kdapl_evd *connect_evd;
	struct kdapl_srq *srq;
	struct mutex use_lock;
	DAT_EP_ATTR attr;
	struct kdapl_dto_limits limits[KDAPL_NR_DTO_KINDS];
	struct sockaddr_storage *local;
	struct sockaddr_storage remote;
	u64 remote_qual;
	u64 local_qual;
	struct kdapl_qp bound;
	u32 bind_life;
	u32 view_flags;
	u8 view_state;
	u8 last_state;
	u32 unpublished;
	kdapl_show_fn *show;
	void *place;
};

static inline struct kdapl_ep *kdapl_ep_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_ep, obj);
}

/* With a reference; NULL if the handle names no endpoint of @space. */
static inline struct kdapl_ep *kdapl_ep_find(struct kdapl_space *space,
					     DAT_EP_HANDLE ep)
{
	struct kdapl_object *obj = kdapl_object_find(space, ep, KDAPL_EP);

	return obj ? kdapl_ep_of(obj) : NULL;
}

/* The present connection, with a reference; or NULL.  Process context. */
static inline struct kdapl_conn *kdapl_ep_get_conn(struct kdapl_ep *ep)
{
	struct kdapl_conn *conn;

	spin_lock_irq(&ep->lock);
	conn = ep->conn;
	if (conn)
		kdapl_conn_get(conn);
	spin_unlock_irq(&ep->lock);
	return conn;
}

struct kdapl_ep *kdapl_ep_create_tentative(struct kdapl_ia *ia);
void kdapl_ep_finish(struct kdapl_ep *ep);

#endif /* KDAPL_EP_H */
