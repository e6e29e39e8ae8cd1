/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A connection, or one attempt: a CM id and a queue pair, made for one endpoint
 * and never used again (A7).  conn.c has references and scheduling, conn_work.c the
 * work item, conn_cm.c what the CM tells, conn_id.c the life of the id, conn_qp.c
 * the queue pair, drain.c the end of what was posted on it.
 *
 * An endpoint has one after the other.  Every CM context, timer and work item
 * carries the connection that it was made for, so what a former one still says is
 * known for that, and dropped, by comparing it with kdapl_ep.conn.
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
#define KDAPL_CONN_ID_WORK	0x1000	/* the id is for @id_work: resolve, or ask the peer */
#define KDAPL_CONN_DESTROY_ID	0x2000
#define KDAPL_CONN_FATAL	0x4000	/* the device lost the queue pair */
#define KDAPL_CONN_ERROR	0x8000	/* the device reported an error of it */
#define KDAPL_CONN_PEER_LEFT	0x10000	/* it disconnected, and requests are outstanding */
#define KDAPL_CONN_POST_HELD	0x40000	/* the device did not take a receive, and may now */

/*
 * The life of the CM id (conn_id.c).  The active side has no use for ACCEPTED and
 * CONFIRMED: its connection is OPEN until one of the two ends it.
 */
enum kdapl_id_state {
	KDAPL_ID_NONE,		/* not made yet */
	KDAPL_ID_OPEN,		/* asked by us, or a request without an answer */
	KDAPL_ID_ACCEPTED,	/* passive: our acceptance went out */
	KDAPL_ID_CONFIRMED,	/* passive: the peer has confirmed it */
	KDAPL_ID_LEAVING,	/* ACCEPTED, to be disconnected once confirmed */
	KDAPL_ID_CLOSING,	/* we disconnected, the peer has not answered */
	KDAPL_ID_OVER,		/* the peer has gone or answered, or the CM gave up */
	KDAPL_ID_DYING,		/* is being destroyed, or will be soon */
	KDAPL_ID_DESTROYED,	/* or handed over to another connection */
	KDAPL_ID_NR_STATES
};

enum kdapl_id_input {
	KDAPL_ID_IN_OPEN,
	KDAPL_ID_IN_ACCEPT,	/* our acceptance goes out */
	KDAPL_ID_IN_CONFIRM,	/* the peer has confirmed it */
	KDAPL_ID_IN_DISCONNECT,	/* the endpoint disconnects, or answers the peer */
	KDAPL_ID_IN_PEER_GONE,
	KDAPL_ID_IN_RETIRE,	/* nobody needs it any more */
	KDAPL_ID_IN_DESTROY,
	KDAPL_ID_NR_INPUTS
};

/*
 * struct kdapl_id_cell - what an input does to an id in one state
 * @allowed: it can happen; otherwise the id stays as it is, with a warning
 * @next: the state afterwards
 * @disconnect: the CM is to tell the peer, or to answer it
 */
struct kdapl_id_cell {
	bool allowed;
	u8 next;
	bool disconnect;
};

/* How far the end of what was posted has come (drain.c); it only goes forward. */
enum kdapl_flush_state {
	KDAPL_FLUSH_NONE,	/* the queue pair works, or there never was one */
	KDAPL_FLUSH_BEGUN,	/* in the error state, where all completes, or gone */
	KDAPL_FLUSH_LOST,	/* gone before all was complete; what it left is reaped */
	KDAPL_FLUSH_OVER,	/* nothing is left, it is destroyed */
};

/*
 * struct kdapl_conn - one connection, or one attempt
 * @ref: the EP or CR, the CM id, queued events, the work while it is due
 * @ia: with a reference
 * @ep: set with kdapl_ep.conn, for ever; NULL while it is a request
 * @id: CM id; NULL before OPEN and once DESTROYED
 * @id_lock: @id_state, @id_users, @id_awaited; a leaf
 * @id_state: enum kdapl_id_state, written by one function, id_apply()
 * @id_users: who holds the id's handler mutex, or works on the id, besides
 *	      callbacks of the CM and @work; the id is not destroyed before they
 *	      are through
 * @id_awaited: the last of @id_users has to make @work run
 * @qp: the queue pair
 * @qp_lock: making and destroying @qp, asking for its state
 * @bind_life: of a queue pair that the process has made: kdapl_ep.bind_life; else 0
 * @says_drained: its process says that no request is outstanding, having been asked (a
 *	  graceful disconnect, a peer that has left); set once
 * @moved: the queue pair may have left INIT, and have received
 * @rts: the queue pair can send; set once
 * @qp_failed: the device has reported an error of the queue pair; set once
 * @last_wqe: the device has said that it takes no more receives of an SRQ; set once
 * @holds_cqs: the CQs of its endpoint are not replaced (kdapl_conn_release_cqs())
 * @srq_key: in kdapl_srq.qps; 0: it is not there
 * @srq_taken: of its endpoint's SRQ: the last receive that its queue pair has completed,
 *	       or that others had taken before; under kdapl_srq.lock
 * @told: the endpoint knows that this connection ends: completions with errors
 *	  are no news; set once, by ep_apply()
 * @active: we asked for it
 * @resolved: address and route are known, and the second work item is to send the
 *	  request; set once
 * @todo: what @work has to do: KDAPL_EP_ACT_* (second group), KDAPL_CONN_*
 * @doing: of those, what takes several runs of @work
 * @flush: enum kdapl_flush_state, written by drain.c
 * @watching: a drain or flush waits for completions: each makes @work run;
 *	      written by drain.c
 * @flush_until: a device that has not flushed by then never will
 * @answers_until: what the peer answered before it disconnected is here by then; 0
 *	   while it has not disconnected
 * @answers_sought: the device was asked for those that it had put aside
 * @cm_until: the device has ended the connection, and the CM tells how by then; 0 while
 *	  nobody waits for that
 * @backoff: jiffies until @work looks again
 * @wait: woken when @id_users, @id_state, @linger or @flush says that somebody may go on
 * @work: everything that sleeps, one at a time
 * @id_work: what may wait for the kernel's CM and address resolution, and on iWARP for
 *	     the driver's TCP
 * @timer: of the attempt
 * @established, @end: room for its two events
 * @out, @out_len: private data to send; an acceptance has no more than a request
 * @in, @in_len: private data that came, for ESTABLISHED or the CR
 * @peer, @qual, @flags: as asked, for dup_connect; on the passive side the
 *	  active endpoint's address and the service point's qualifier
 * @local: our address, which the IA keeps (kdapl_ia_address())
 * @peer_port, @local_port: of the addresses
 * @timeout, @deadline: of the attempt, microseconds, and when that is over
 * @resolve_until, @resolve_ms: end of address resolution, length of its next try; 0
 *	  before the first one
 * @peer_rd_in: RDMA reads that the peer admits, as its request said
 * @linger: in kdapl_ia.linger, while only the id is left; changed by @work
 * @linger_until: the id waits for the peer so long
 * @close_until: the same once the IA is being closed
 */
struct kdapl_conn {
	refcount_t ref;
	struct kdapl_ia *ia;
	struct kdapl_ep *ep;
	struct rdma_cm_id *id;
	spinlock_t id_lock;
	u8 id_state;
	u8 id_users;
	bool id_awaited;
	struct kdapl_qp qp;
	struct mutex qp_lock;
	u32 bind_life;
	bool says_drained;
	bool moved;
	bool rts;
	bool qp_failed;
	bool last_wqe;
	bool holds_cqs;
	unsigned long srq_key;
	u64 srq_taken;
	bool told;
	bool active;
	bool resolved;
	bool watching;
	u8 flush;
	atomic_long_t todo;
	unsigned long doing;
	unsigned long flush_until;
	unsigned long answers_until;
	bool answers_sought;
	unsigned long cm_until;
	unsigned long backoff;
	wait_queue_head_t wait;
	struct delayed_work work;
	struct work_struct id_work;
	struct delayed_work timer;
	struct kdapl_event_slot established;
	struct kdapl_event_slot end;
	u8 out[KDAPL_REQ_PRIVATE_DATA];
	u8 out_len;
	u8 in[KDAPL_REP_PRIVATE_DATA];
	u8 in_len;
	struct sockaddr_storage *local;
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
	struct list_head linger;
	unsigned long linger_until;
	unsigned long close_until;
};

/* Is the queue pair gone, and all that was on it?  kdapl_conn_finish() waits. */
static inline bool kdapl_conn_has_flushed(const struct kdapl_conn *conn)
{
	/* Pairs with kdapl_flush_over(). */
	return smp_load_acquire(&conn->flush) == KDAPL_FLUSH_OVER;
}

/* Has the peer gone, or the CM given it up?  It may at any moment. */
static inline bool kdapl_id_peer_gone(const struct kdapl_conn *conn)
{
	return READ_ONCE(conn->id_state) == KDAPL_ID_OVER;
}

/* Is it left to @id_work to destroy the id? */
static inline bool kdapl_id_is_dying(const struct kdapl_conn *conn)
{
	return READ_ONCE(conn->id_state) == KDAPL_ID_DYING;
}

/* Has the peer of a passive connection confirmed our acceptance to the CM? */
static inline bool kdapl_id_confirmed(const struct kdapl_conn *conn)
{
	return READ_ONCE(conn->id_state) == KDAPL_ID_CONFIRMED;
}

/* conn.c */
void kdapl_conn_start_timer(struct kdapl_conn *conn);
void kdapl_conn_schedule(struct kdapl_conn *conn, unsigned long todo);
bool kdapl_conn_not_now(const struct kdapl_conn *conn, int err);
void kdapl_conn_half_posted(struct kdapl_conn *conn, int err);
void kdapl_conn_run(struct kdapl_conn *conn);
void kdapl_conn_run_later(struct kdapl_conn *conn, unsigned long delay);
void kdapl_conn_run_slow(struct kdapl_conn *conn);
void kdapl_conn_await_cm(struct kdapl_conn *conn);

/* conn_work.c */
struct kdapl_conn *kdapl_conn_alloc(struct kdapl_ia *ia);
void kdapl_conn_resolve(struct kdapl_conn *conn);
void kdapl_conn_finish(struct kdapl_conn *conn);
void kdapl_conn_destroy_id(struct kdapl_conn *conn);
void kdapl_conn_linger_flush(struct kdapl_ia *ia);

/* conn_id.c */
const struct kdapl_id_cell *kdapl_id_fsm(enum kdapl_id_state state,
					 enum kdapl_id_input input);
int kdapl_id_open(struct kdapl_conn *conn);
void kdapl_id_given(struct kdapl_conn *conn, struct rdma_cm_id *id);
void kdapl_id_take_from(struct kdapl_conn *conn, struct kdapl_conn *from);
void kdapl_id_input(struct kdapl_conn *conn, enum kdapl_id_input input);
void kdapl_id_use(struct kdapl_conn *conn);
void kdapl_id_unuse(struct kdapl_conn *conn);
void kdapl_id_wait_unused(struct kdapl_conn *conn);
bool kdapl_id_is_free(struct kdapl_conn *conn);
void kdapl_id_disconnect(struct kdapl_conn *conn);
bool kdapl_id_retire(struct kdapl_conn *conn);
void kdapl_id_destroy(struct kdapl_conn *conn);
bool kdapl_id_is_there(const struct kdapl_conn *conn);
bool kdapl_id_was_accepted(const struct kdapl_conn *conn);
bool kdapl_id_awaits_peer(const struct kdapl_conn *conn);

/* conn_cm.c; what the CM calls is in input.h */
void kdapl_conn_send_request(struct kdapl_conn *conn);
void kdapl_conn_left(struct kdapl_conn *conn);

/* conn_qp.c */
int kdapl_conn_make_qp(struct kdapl_conn *conn, struct kdapl_ep *ep);
int kdapl_conn_move_qp(struct kdapl_conn *conn, struct kdapl_ep *ep);
void kdapl_conn_drop_qp(struct kdapl_conn *conn, struct kdapl_ep *ep);
void kdapl_conn_release_cqs(struct kdapl_conn *conn, struct kdapl_ep *ep);
void kdapl_conn_undo_qp(struct kdapl_conn *conn, struct kdapl_ep *ep);
int kdapl_conn_error_qp(struct kdapl_conn *conn);
bool kdapl_conn_ask_qp(struct kdapl_conn *conn);
bool kdapl_conn_qp_in_error(struct kdapl_conn *conn);
int kdapl_ep_take_qp(struct kdapl_ep *ep, const struct kdapl_qp_init *init);
bool kdapl_ep_lacks_qp(const struct kdapl_ep *ep);
void kdapl_ep_unbind(struct kdapl_ep *ep);
u8 kdapl_conn_rd_in(const struct kdapl_ep *ep);
u8 kdapl_conn_rd_out(const struct kdapl_conn *conn, const struct kdapl_ep *ep);

#endif /* KDAPL_CONN_H */
