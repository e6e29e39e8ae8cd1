/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A connection, or one attempt: a CM id and a queue pair, made for one endpoint
 * and never used again (A7).  conn.c has references and scheduling, conn_work.c the
 * work item, conn_cm.c the events of the CM, conn_id.c the life of the id, conn_qp.c
 * the queue pair, drain.c the end of what was posted on it.
 *
 * An endpoint has one connection after the other.  Every CM context, timer and work item
 * belongs to one connection.  So late news of a former connection is recognised, and
 * dropped, by comparing its connection with kdapl_ep.conn.
 */
#ifndef KDAPL_CONN_H
#define KDAPL_CONN_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include "evd.h"
#include "input.h"

struct kdapl_dir;
struct kdapl_ep;
struct kdapl_ia;

/*
 * RULING 47.  The port that a connection qualifier means, 0 if it means none.  Above the ports
 * it is what OpenFabrics' provider takes (33534 to 65534), so that the two meet; several
 * qualifiers mean one port then, which whoever listens there first keeps (P4).
 */
static inline u16 kdapl_port_of_qual(DAT_CONN_QUAL qual)
{
	return qual <= U16_MAX ? qual : 33534 + qual % 32001;
}

/* Bits of kdapl_conn.todo besides KDAPL_EP_ACT_* */
#define KDAPL_CONN_ID_WORK	0x1000	/* @id_work is to resolve the address, or ask the peer */
#define KDAPL_CONN_DESTROY_ID	0x2000
#define KDAPL_CONN_FATAL	0x4000	/* the device lost the queue pair */
#define KDAPL_CONN_ERROR	0x8000	/* the device reported an error, or took half a post */
#define KDAPL_CONN_PEER_LEFT	0x10000	/* the peer disconnected, and requests are outstanding */
#define KDAPL_CONN_POST_HELD	0x40000	/* a receive was refused for now, or there is room again */

/*
 * The life of the CM id (conn_id.c).  The active side does not use ACCEPTED and
 * CONFIRMED: its id is OPEN from the attempt on until either side ends the connection.
 */
enum kdapl_id_state {
	KDAPL_ID_NONE,		/* not made yet */
	KDAPL_ID_OPEN,		/* active: see above; passive: the request has no answer yet */
	KDAPL_ID_ACCEPTED,	/* passive: our acceptance went out */
	KDAPL_ID_CONFIRMED,	/* passive: the peer has confirmed it */
	KDAPL_ID_LEAVING,	/* ACCEPTED, and to be disconnected once the peer confirms */
	KDAPL_ID_CLOSING,	/* we disconnected, the peer has not answered */
	KDAPL_ID_OVER,		/* the peer disconnected or answered us, or the CM gave up */
	KDAPL_ID_DYING,		/* @id_work is destroying it, or will soon */
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
	KDAPL_FLUSH_BEGUN,	/* it is in the error state, or was empty and is destroyed */
	KDAPL_FLUSH_LOST,	/* it is destroyed; what it left in the CQs is being taken */
	KDAPL_FLUSH_OVER,	/* nothing is left; only a process's queue pair may stay bound */
};

/*
 * struct kdapl_conn - one connection, or one attempt
 *
 * "The work item" below is @work.  It has one run at a time, so what only it writes needs no
 * lock for that.  Whoever reads a flag without the lock under which it is written may miss that
 * it is set at that moment.  That does no harm: some flags have a release and an acquire, and
 * for the others whoever has set one makes the work item run, or the reader looks again.
 *
 * @ref: held by the EP or CR, the CM id and its users, queued events, queued work and
 *	 timer, and the list @linger is in
 * @ia: with a reference
 * @ep: set together with kdapl_ep.conn (kdapl_ep_begin()), and never changed afterwards;
 *	NULL before that
 * @id: CM id; NULL before OPEN and once DESTROYED
 * @id_lock: @id_state, @id_users, @id_awaited, @confirm_until; a leaf
 * @id_state: enum kdapl_id_state, written by one function, id_apply()
 * @id_users: how many operations hold the id's handler mutex or work on the id, callbacks
 *	      of the CM and @work not counted; the id is not destroyed before they are
 *	      through
 * @id_awaited: @work waits for the users, or for the CM (kdapl_id_left_to_cm()); the last user,
 *		or who changes @id_state, has to make it run
 * @confirm_until: jiffies; until when the CM may confirm our acceptance; set with ACCEPTED
 * @qp: the queue pair
 * @qp_lock: held to make and destroy @qp, and to ask the device for its state
 * @bind_life: kdapl_ep.bind_life of a queue pair that the process has made; else 0.  Set by
 *	       kdapl_conn_make_qp()
 * @says_drained: the process was asked (a graceful disconnect, a peer that has left), and
 *	  has said since that no request is outstanding.  Set once, by conn_tell(), an ioctl
 *	  of the process, which then makes the work item run; that reads it
 * @moved: the queue pair may have left INIT, and so may have received.  Set by
 *	   kdapl_conn_make_qp() on iWARP, elsewhere by kdapl_conn_move_qp() before it moves
 *	   anything.  The work item reads it when the connection ends: by then whoever moves
 *	   the queue pair is through with an attempt that failed (conn_work.c), or @rts was
 *	   set, after @moved
 * @rts: the queue pair can send.  Set once, by kdapl_conn_move_qp(), with a release.  Pollers
 *	 read it with an acquire under the EVD's lock (wc_judge()), passthrough.c does without a
 *	 lock: who sees it set also sees @in and @moved
 * @qp_failed: the device has reported an error of the queue pair.  Set by conn_qp_event(), in
 *	       whatever context the driver has; cleared by kdapl_conn_make_qp(), because an
 *	       accept that failed may be tried again.  Read without a lock, on iWARP only
 *	       (kdapl_conn_qp_in_error())
 * @last_wqe: the device has said that it takes no more receives of an SRQ.  Set and cleared as
 *	      @qp_failed; the work item reads it, and is made to run after it was set
 * @holds_cqs: it keeps the CQs of its endpoint from being replaced.  Set by
 *	       kdapl_conn_make_qp(), cleared by kdapl_conn_release_cqs(): if the connection
 *	       does not come about by the same caller, else by the work item.  Nobody else reads it
 * @srq_key: its key in kdapl_srq.qps; 0: it is not there
 * @srq_taken: the newest receive of its endpoint's SRQ that its queue pair has completed,
 *	       or that others had taken before it was made; under kdapl_srq.lock
 * @ends: the endpoint knows that this connection ends: completions with errors
 *	  are no news.  Set once, by ep_apply(), under the locks of the endpoint and of both its
 *	  directions, so that whoever holds one of these sees it at once.  Pollers, callbacks of
 *	  the CM, the work items and the process's calls read it without them
 * @active: our side has asked for the connection; does not change
 * @resolved: on iWARP: address and route are known, and @id_work is to send the request.
 *	  Set once, in a callback of the CM, which then has @id_work run; that reads it
 * @todo: what @work has to do: KDAPL_EP_ACT_* (second group), KDAPL_CONN_*
 * @doing: those bits of @todo that take several runs of @work
 * @flush: enum kdapl_flush_state, written by the work item (drain.c), OVER with a release; who
 *	   waits for the end reads it without a lock (kdapl_conn_has_flushed())
 * @awaits_wcs: a drain, a flush or kdapl_leave_step() waits for completions, each of which
 *	      makes @work run; written by the work item (conn_await_wcs()), read by whoever
 *	      accounts for a completion, under the EVD's lock
 * @flush_until: jiffies; a device that has not flushed by then is taken to be dead
 * @answers_until: jiffies; what the peer answered before it disconnected is waited for so
 *	   long; 0 before that wait.  The work item's; conn_tell() reads whether it is 0
 * @answers_sought: the device was asked for answers that it had put aside; the work item's
 * @cm_until: jiffies; the device has ended the connection, and the CM may tell so long how
 *	  it has ended; 0 while nobody waits for that.  Set by kdapl_conn_await_cm(), which then
 *	  makes the work item run; that reads it without a lock
 * @backoff: jiffies until @work looks again
 * @wait: woken when a change of @id_users, @id_state, @linger or @flush lets a waiter go on
 * @work: does everything that sleeps, one run at a time
 * @id_work: does what may wait for the kernel's CM and address resolution, and on iWARP
 *	     for the driver's TCP
 * @timer: timeout of the attempt
 * @established, @end: room for its two events
 * @out, @out_len: private data to send; an acceptance has no more than a request
 * @in, @in_len: private data that came, for ESTABLISHED, PEER_REJECTED or the CR
 * @peer, @qual, @flags: as the connect had them, for dup_connect; on the passive side the
 *	  active endpoint's address and the service point's qualifier
 * @local: our address, in memory of the IA (kdapl_ia_address())
 * @peer_port, @local_port: ports of the two sides
 * @timeout, @deadline: of the attempt: microseconds, and the time at which they are over
 * @resolve_until, @resolve_ms: when address resolution ends, and how long its next try
 *	  takes; 0 before the first one
 * @peer_rd_in: RDMA reads that the peer admits, as its request said
 * @linger: entry in kdapl_ia.linger, while only the id is left; changed by @work
 * @hurried: by kdapl_conn_linger_hurry(); under kdapl_ia.linger_lock
 * @linger_until: jiffies; the id waits so long for the peer to answer our disconnect
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
	unsigned long confirm_until;
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
	bool ends;
	bool active;
	bool resolved;
	bool awaits_wcs;
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
	bool hurried;
	unsigned long linger_until;
	unsigned long close_until;
};

/*
 * Has everything ended that was on the queue pair?  Then the queue pair is destroyed as well,
 * but one of a process stays bound.  kdapl_conn_finish() waits for this.
 */
static inline bool kdapl_conn_has_flushed(const struct kdapl_conn *conn)
{
	/* Pairs with kdapl_flush_over(). */
	return smp_load_acquire(&conn->flush) == KDAPL_FLUSH_OVER;
}

/* Has the peer disconnected, or the CM given it up?  If not, it may at any moment. */
static inline bool kdapl_id_peer_gone(const struct kdapl_conn *conn)
{
	return READ_ONCE(conn->id_state) == KDAPL_ID_OVER;
}

/* Was the id handed to @id_work to be destroyed? */
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
void kdapl_conn_half_posted(struct kdapl_conn *conn);
void kdapl_conn_run(struct kdapl_conn *conn);
void kdapl_conn_run_later(struct kdapl_conn *conn, unsigned long delay);
void kdapl_conn_run_slow(struct kdapl_conn *conn);
void kdapl_conn_await_cm(struct kdapl_conn *conn);
void kdapl_conn_seek_room(struct kdapl_conn *conn, const struct kdapl_dir *dir);

/* conn_work.c */
struct kdapl_conn *kdapl_conn_alloc(struct kdapl_ia *ia);
void kdapl_conn_resolve(struct kdapl_conn *conn);
void kdapl_conn_finish(struct kdapl_conn *conn);
void kdapl_conn_destroy_id(struct kdapl_conn *conn);
void kdapl_conn_linger_hurry(struct kdapl_ia *ia);
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
long kdapl_id_left_to_cm(struct kdapl_conn *conn);
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
