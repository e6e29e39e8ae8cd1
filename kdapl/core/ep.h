/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Endpoints, their two directions, and the connections they go through.
 *
 * core/ep.c holds the endpoint and applies the table (kdapl_ep_input), post.c
 * posts, conn.c runs one connection's life: CM id, queue pair, drain, flush.
 * A connection is the generation of A7: every CM context, timer and work item
 * carries it, and what belongs to a former one is dropped by comparing
 * kdapl_ep.conn.
 */
#ifndef KDAPL_EP_H
#define KDAPL_EP_H

#include <linux/wait.h>
#include "ep_fsm.h"
#include "input.h"
#include "evd.h"
#include "ia.h"
#include "lmr.h"

struct ep_use;
struct kdapl_ep;
struct kdapl_ring;
struct kdapl_rmr;

enum kdapl_dto {
	KDAPL_DTO_RECV,
	KDAPL_DTO_SEND,
	KDAPL_DTO_RDMA_READ,
	KDAPL_DTO_RDMA_WRITE,
	KDAPL_DTO_BIND,
};

/*
 * struct kdapl_cookie - one posted DTO or bind, from the post until its event is
 * taken
 * @node: in an EVD's FIFO, or in kdapl_dir.late
 * @dir: whose
 * @rmr: of a bind, with a reference; NULL for a DTO
 * @user: the consumer's 64 bits
 * @length: of the post; for a receive of the message (T48, T49)
 * @status: DAT_DTO_COMPLETION_STATUS
 * @flags: completion flags of the post
 * @busy: the slot is taken: from the post until the event is dequeued (T13)
 * @on_queue: given to the device, which owes a completion
 * @failed: a bind whose first work request failed
 */
struct kdapl_cookie {
	struct kdapl_node node;
	struct kdapl_dir *dir;
	struct kdapl_rmr *rmr;
	u64 user;
	u64 length;
	u32 status;
	u8 flags;
	bool busy;
	bool on_queue;
	bool failed;
};

/* What becomes of a post; follows the state, set with it. */
enum kdapl_gate {
	KDAPL_GATE_REFUSE,	/* kdapl_dir.refusal */
	KDAPL_GATE_HOLD,	/* receives, until a queue has those before */
	KDAPL_GATE_POST,
	KDAPL_GATE_LATE,	/* flushed in turn, after the old life's last event */
	KDAPL_GATE_FLUSH,	/* flushed at once */
};

/*
 * struct kdapl_dir - one direction of an endpoint
 * @lock: gate, ring, posted; the only lock of a post (A4)
 * @ep: whose
 * @evd: where completions go, never NULL (hidden if the consumer gave none)
 * @gate, @refusal: see above
 * @await: the connection is not confirmed yet; the first successful receive
 *	   confirms it (A7)
 * @posted: work requests given to the queue in this life; under @lock
 * @completed: of those, completions seen; under @evd's lock
 * @held: receives waiting for a queue, from @ring[@held_first] on
 * @late: posts of KDAPL_GATE_LATE
 * @ring: @size cookies, used round; @next is the next one
 * @sge: of held receives, @max_sge per cookie; of requests on the queue where
 *	 kdapl_ep_key_gone() looks for them (kdapl_device.mute_faults), else NULL
 * @nr_sge: of the same
 * @rings: memory of @ring and of the rings it replaced
 * @binds: of requests: the EVD takes completions of binds
 */
struct kdapl_dir {
	spinlock_t lock;
	struct kdapl_ep *ep;
	struct kdapl_evd *evd;
	u8 gate;
	bool await;
	bool is_recv;
	bool binds;
	DAT_RETURN refusal;
	u32 posted;
	u32 completed;
	u32 held;
	u32 held_first;
	struct list_head late;
	u32 size;
	u32 next;
	u32 max_sge;
	struct kdapl_cookie *ring;
	struct ib_sge *sge;
	u8 *nr_sge;
	struct kdapl_ring *rings;
};

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
 * @out, @out_len: private data to send
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
	u8 out[KDAPL_REP_PRIVATE_DATA];
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

/*
 * struct kdapl_ep - an Endpoint
 * @lock: state, @conn, @end_event; the directions' locks nest inside
 * @state: written by one function, ep.c:apply()
 * @conn: the present connection, or the last one until reset (its private data
 *	  stays readable, E7)
 * @end_event: the connection event that is due when the flush is over
 * @dirs: lock order: request before receive
 * @use: the objects it uses (ep.c); changed under @modify_lock and @lock
 * @pz, @connect_evd: out of @use; may be NULL
 * @modify_lock: one modify at a time
 * @attr: as granted
 * @remote, @remote_qual, @local_qual: of the present or last connection
 */
struct kdapl_ep {
	struct kdapl_object obj;
	spinlock_t lock;
	u8 state;
	struct kdapl_conn *conn;
	u32 end_event;
	struct kdapl_dir req;
	struct kdapl_dir recv;
	struct ep_use *use;
	struct kdapl_pz *pz;
	struct kdapl_evd *connect_evd;
	struct mutex modify_lock;
	DAT_EP_ATTR attr;
	struct sockaddr_storage remote;
	u64 remote_qual;
	u64 local_qual;
};

static inline struct kdapl_ep *kdapl_ep_of(struct kdapl_object *obj)
{
	return container_of(obj, struct kdapl_ep, obj);
}

/* ep.c */
u32 kdapl_ep_max_dtos(const struct kdapl_device *dev);
u32 kdapl_ep_request_wrs(const struct kdapl_ep *ep);
DAT_RETURN kdapl_ep_input(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input);
DAT_RETURN kdapl_ep_begin(struct kdapl_ep *ep, struct kdapl_conn *conn,
			  enum kdapl_ep_input input, bool queue);
DAT_RETURN kdapl_ep_take_queue(struct kdapl_ep *ep, struct kdapl_conn *conn);
DAT_RETURN kdapl_ep_ready(struct kdapl_ep *ep);
struct kdapl_ep *kdapl_ep_find(struct kdapl_space *space, DAT_EP_HANDLE ep);
struct kdapl_ep *kdapl_ep_create_tentative(struct kdapl_ia *ia);
void kdapl_ep_finish(struct kdapl_ep *ep);
void kdapl_ep_key_gone(struct kdapl_ep *ep, u32 lkey, unsigned long until);
void kdapl_ep_flush_rest(struct kdapl_ep *ep, bool lost);

/* conn.c */
struct kdapl_conn *kdapl_conn_alloc(struct kdapl_ia *ia);
u16 kdapl_port_of(const struct sockaddr_storage *addr);
int kdapl_conn_open(struct kdapl_conn *conn);
void kdapl_conn_start(struct kdapl_conn *conn);
int kdapl_conn_make_queue(struct kdapl_conn *conn, struct kdapl_ep *ep);
void kdapl_conn_drop_queue(struct kdapl_conn *conn, struct kdapl_ep *ep);
void kdapl_conn_queue(struct kdapl_conn *conn, unsigned long todo);
void kdapl_conn_progress(struct kdapl_conn *conn);
void kdapl_conn_finish(struct kdapl_conn *conn);
void kdapl_conn_destroy_id(struct kdapl_conn *conn);
void kdapl_conn_wait_handed(struct kdapl_conn *conn);
void kdapl_conn_handed(struct kdapl_conn *conn);
u8 kdapl_conn_rd_in(const struct kdapl_conn *conn, const struct kdapl_ep *ep);
u8 kdapl_conn_rd_out(const struct kdapl_conn *conn, const struct kdapl_ep *ep);

#endif /* KDAPL_EP_H */
