/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A connection, or one attempt: a CM id and a queue pair, made for one endpoint
 * and never used again (A7).  conn.c has the id and the work item, conn_qp.c the
 * queue pair, drain.c the end of what was posted on it.
 *
 * A connection is also the generation of its endpoint's lives: every CM context,
 * timer and work item carries it, and what belongs to a former one is dropped by
 * comparing kdapl_ep.conn.
 */
#ifndef KDAPL_CONN_H
#define KDAPL_CONN_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include "evd.h"
#include "input.h"

struct kdapl_ep;
struct kdapl_ia;

/* Bits of kdapl_conn.todo besides KDAPL_EP_ACT_* */
#define KDAPL_CONN_RESOLVE	0x1000
#define KDAPL_CONN_REAP		0x2000	/* destroy the id */
#define KDAPL_CONN_LINGER	0x4000	/* the same, when it is time */
#define KDAPL_CONN_FATAL	0x8000	/* the device lost the queue pair */
#define KDAPL_CONN_ERROR	0x10000	/* the device reported an error of it */

/*
 * struct kdapl_conn - one connection, or one attempt
 * @ref: the EP or CR, the CM id, queued events, the work while it is due
 * @ia: with a reference
 * @ep: set with kdapl_ep.conn, for ever; NULL while it is a request
 * @id: CM id; NULL once destroyed
 * @qp: the queue
 * @queue_lock: making and destroying @qp, asking for its state
 * @rts: the queue may send
 * @told: the endpoint knows that this connection ends: completions with errors
 *	  are no news
 * @active: we asked for it
 * @peer_gone: the peer disconnected, or answered, or the CM gave it up; a request:
 *	  it gave up
 * @asked: we sent a disconnect, or do when @confirmed; set under the id's handler
 *	  lock
 * @accepted, @confirmed: of a passive one: our acceptance went out, the peer's
 *	  confirmation came in; under the id's handler lock
 * @handed: who hands the id over to this connection holds its handler lock still,
 *	    which must not be destroyed before its unlock returns
 * @todo: KDAPL_EP_ACT_* (second group) still to be done by @work
 * @doing: of those, what takes several runs of @work
 * @errored, @flush_until: the queue was put into error; give up waiting then
 * @backoff: jiffies until @work looks again
 * @watching: @work wants to be queued when a direction has drained
 * @done: nothing of the queue is left; the id may linger
 * @wait: woken with @done
 * @work: everything that sleeps, one at a time
 * @timer: of the attempt
 * @established, @end: room for its two events
 * @out, @out_len: private data to send; an acceptance has no more than a request
 * @in, @in_len: private data that came, for ESTABLISHED or the CR
 * @peer, @qual, @flags: as asked, for dup_connect; on the passive side the
 *	  active endpoint's address and the service point's qualifier
 * @peer_port, @local_port: of the addresses
 * @timeout, @deadline: of the attempt, microseconds, and when that is over
 * @resolve_until, @resolve_ms: end of address resolution, length of its next try
 * @peer_rd_in, @peer_rd_out: what the request offered
 * @linger: in kdapl_ia.linger
 * @linger_until: the id waits for the peer so long
 */
struct kdapl_conn {
	refcount_t ref;
	struct kdapl_ia *ia;
	struct kdapl_ep *ep;
	struct rdma_cm_id *id;
	struct kdapl_qp qp;
	struct mutex queue_lock;
	bool rts;
	bool told;
	bool active;
	bool peer_gone;
	bool asked;
	bool accepted;
	bool confirmed;
	bool handed;
	atomic_long_t todo;
	unsigned long doing;
	bool errored;
	unsigned long flush_until;
	unsigned long backoff;
	bool watching;
	bool done;
	wait_queue_head_t wait;
	struct delayed_work work;
	struct delayed_work timer;
	struct kdapl_event_slot established;
	struct kdapl_event_slot end;
	u8 out[KDAPL_REQ_PRIVATE_DATA];
	u8 out_len;
	u8 in[KDAPL_REP_PRIVATE_DATA];
	u8 in_len;
	struct sockaddr_storage peer;
	u16 peer_port;
	u16 local_port;
	u64 qual;
	u32 flags;
	u32 timeout;
	ktime_t deadline;
	unsigned long resolve_until;
	u32 resolve_ms;
	u8 peer_rd_in;
	u8 peer_rd_out;
	struct list_head linger;
	unsigned long linger_until;
};

/* conn.c */
struct kdapl_conn *kdapl_conn_alloc(struct kdapl_ia *ia);
u16 kdapl_port_of(const struct sockaddr_storage *addr);
int kdapl_conn_open(struct kdapl_conn *conn);
void kdapl_conn_start(struct kdapl_conn *conn);
void kdapl_conn_queue(struct kdapl_conn *conn, unsigned long todo);
void kdapl_conn_half_posted(struct kdapl_conn *conn, int err);
void kdapl_conn_run(struct kdapl_conn *conn);
void kdapl_conn_run_later(struct kdapl_conn *conn, unsigned long delay);
void kdapl_conn_finish(struct kdapl_conn *conn);
void kdapl_conn_destroy_id(struct kdapl_conn *conn);
void kdapl_conn_wait_handed(struct kdapl_conn *conn);
void kdapl_conn_handed(struct kdapl_conn *conn);
/* Destroys the ids in ia->linger. */
void kdapl_conn_linger_flush(struct kdapl_ia *ia);

/* conn_qp.c */
int kdapl_conn_make_queue(struct kdapl_conn *conn, struct kdapl_ep *ep);
void kdapl_conn_drop_queue(struct kdapl_conn *conn, struct kdapl_ep *ep);
bool kdapl_conn_queue_in_error(struct kdapl_conn *conn);
u8 kdapl_conn_rd_in(const struct kdapl_conn *conn, const struct kdapl_ep *ep);
u8 kdapl_conn_rd_out(const struct kdapl_conn *conn, const struct kdapl_ep *ep);

#endif /* KDAPL_CONN_H */
