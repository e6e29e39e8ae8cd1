/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queues and memory of the process's own, made through uverbs (passthrough): what the
 * pass_*.c share. The kernel keeps the connection and the state of an EP, and moves its
 * queue pair; it shows what it knows in memory that the process maps, the board, which has
 * 64 bytes for each handle that the file can have. So posts and polls need no system call,
 * and the library has no table of states.
 *
 *	pass_ia.c	opening and closing, the table of operations
 *	pass_ctx.c	contexts of devices, and the board
 *	pass_mem.c	protection zones and memory regions
 *	pass_rmr.c	windows
 *	pass_ring.c	the cookies of an EP's two directions
 *	pass_ep.c	an EP: its objects and attributes
 *	pass_conn.c	the queue pair of its next connection
 *	pass_post.c	posts
 *	pass_srq.c	shared receive queues
 *	pass_gate.c	posts that go to no queue pair
 *	pass_fifo.c	the FIFO of an EVD
 *	pass_wc.c	completions
 *	pass_event.c	taking events
 *	pass_wait.c	waiting, and the completion queues of an EVD
 *	pass_end.c	drain and flush
 *	pass_fence.c	memory that goes while requests name it
 *
 * Counting. Each direction of an EP counts what its queue pair took (@posted, under the
 * direction's lock) and what was polled of that (@completed, under the EVD's lock). Every
 * work request is signalled, so the two become equal, and then nothing of the direction is
 * in the device or in a completion queue. What the consumer does not want to see is dropped
 * when it is polled. Receives of an SRQ are not counted by EPs (pass_srq.c).
 *
 * Order of events. An EVD has three places: its FIFO, the kernel's ring, and the completion
 * queues. They are taken from in that order, except that an entry of the FIFO remembers how
 * far the ring was when it came, and lets older events go first.
 *
 * Locks, the outer one first: pass_ep.use; pass_srq.use; pass_ia.lock; pass_dir.lock of an EP;
 * the lock of an EVD; a window's, and that of an SRQ, which is a pass_dir.lock; the lock of a PZ,
 * whose users are counted under it. Who has an EVD locked only tries the lock of another one, the
 * connect EVD of an EP (pass_wc.c): another thread may have that one and want this one. No lock
 * that two endpoints share is taken on the way of a post.
 */
#ifndef PASSTHROUGH_H
#define PASSTHROUGH_H

#include <infiniband/verbs.h>

#include "shim.h"

#define PASS_MAX_SGE	32
#define PASS_MAX_CQS	8
#define PASS_WCS	16

struct pass_context;
struct pass_dir;
struct pass_ep;
struct pass_evd;
struct pass_moved;
struct pass_rmr;
struct pass_share;
struct pass_srq;

/**
 * struct pass_ia - an IA with queues of the process's own
 * @context, @ctx: of the device, which all IAs of the process share
 * @port: of the IA
 * @iwarp: its transport
 * @hints: KDAPL_VERBS_*
 * @windows: it has memory windows whose bounds hold
 * @max_region: bytes of a memory region at most; @max_message: of a message
 * @max_cqe: entries of a completion queue at most
 * @board, @board_size: the page
 * @refs: of the IA, of each EVD, and of each call that makes or frees something of the
 *	context; without any the context is given back
 * @closing: its objects are being given up; who makes one looks at this afterwards
 * @lock: @eps, @zones, @srqs, and what is linked there
 * @eps, @zones, @srqs: all of the IA
 */
struct pass_ia {
	struct pass_context *context;
	struct ibv_context *ctx;
	uint8_t port;
	bool iwarp;
	bool windows;
	uint32_t hints;
	uint64_t max_region;
	uint64_t max_message;
	uint32_t max_cqe;
	const struct kdapl_uapi_board_ep *board;
	uint32_t board_size;
	atomic_uint refs;
	atomic_bool closing;
	pthread_mutex_t lock;
	struct pass_ep *eps;
	struct pass_pz *zones;
	struct pass_srq *srqs;
	struct pass_ia *next_free;
};

/**
 * struct pass_pz - a zone
 * @pd: its protection domain
 * @nothing: on iWARP, the memory of work requests that have none (pass_no_bytes())
 * @users: EPs, LMRs, RMRs and SRQs in it; under the lock of the object
 * @next: of the IA
 */
struct pass_pz {
	struct shim_object *obj;
	struct ibv_pd *pd;
	struct ibv_mr *nothing;
	uint32_t users;
	struct pass_pz *next;
};

/* What a device may write into an LMR at the request of its own side */
#define PASS_SINK_READ		1	/* what a read has fetched */
#define PASS_SINK_RECV		2	/* a message */

/**
 * struct pass_lmr - an entry of the table of LMRs
 * @context: the lmr_context; another one, or 0, from the beginning of its end
 * @refuses: PASS_SINK_* that it may not be
 * @start, @length: the memory
 * @lkey: the device's key
 * @privileges: as asked
 * @mem_type: for queries
 * @generation: how often the entry was used, a part of @context
 * @pz: its zone
 * @users: RMRs that show it, and binds; -1 once it is being freed
 * @next_free: in the list of free entries
 * @ia: object of its IA, which can be looked at when @pz may have been freed with the LMR
 */
struct pass_lmr {
	atomic_uint_least32_t context;
	uint32_t refuses;
	uint64_t start;
	uint64_t length;
	uint32_t lkey;
	uint8_t privileges;
	uint8_t mem_type;
	uint16_t generation;
	struct pass_pz *pz;
	struct ibv_mr *mr;
	atomic_int users;
	uint32_t next_free;
	struct shim_object *_Atomic ia;
} __attribute__((aligned(64)));

/*
 * An lmr_context has the place of the entry in the table, in bytes, in the middle, and the
 * entry's generation around it.
 */
#define PASS_LMRS	(1u << 20)
#define PASS_LMR_PLACE	((PASS_LMRS - 1) * (uint32_t)sizeof(struct pass_lmr))

_Static_assert(!(sizeof(struct pass_lmr) & (sizeof(struct pass_lmr) - 1)),
	       "the places of LMRs are a field of bits");

extern struct pass_lmr *pass_lmrs __attribute__((visibility("hidden")));

/* The entry that a context leads to, of that LMR or of another one */
static inline struct pass_lmr *pass_lmr_at(uint32_t context)
{
	return (struct pass_lmr *)((char *)pass_lmrs + (context & PASS_LMR_PLACE));
}

static inline bool pass_lmr_is(const struct pass_lmr *lmr, uint32_t context)
{
	return shim_holds(&lmr->context, context);
}

/*
 * The LMR of a context, or NULL. It stays registered as long as the caller has a lock that
 * dat_lmr_free() waits for: that of a direction.
 */
static inline struct pass_lmr *pass_lmr_find(uint32_t context)
{
	struct pass_lmr *lmr = pass_lmr_at(context);

	return SHIM_LIKELY(pass_lmr_is(lmr, context)) ? lmr : NULL;
}

/*
 * The same, if it is one of that IA. No lock of the caller's keeps those of others: such an
 * entry may have become another LMR between the looks at its context and at its IA.
 */
static inline struct pass_lmr *pass_lmr_find_on(const struct shim_object *ia, uint32_t context)
{
	struct pass_lmr *lmr = pass_lmr_find(context);

	return lmr && atomic_load(&lmr->ia) == ia && pass_lmr_is(lmr, context) ? lmr : NULL;
}

static inline bool pass_lmr_inside(const struct pass_lmr *lmr,
				   uint64_t address, uint64_t length)
{
	uint64_t end;

	/* The offset is larger than any length for an address below the start. */
	return !__builtin_add_overflow(address - lmr->start, length, &end) &&
	       end <= lmr->length;
}

/**
 * struct pass_node - an entry of an EVD's FIFO
 * @mark: events of the kernel's ring that are older
 * @kind: PASS_COOKIE: in a pass_cookie; PASS_MOVED: in a pass_moved, an event that was moved
 *	here from the kernel's ring
 * @notify: it wakes a waiter (E35)
 */
struct pass_node {
	struct pass_node *next;
	uint64_t mark;
	uint8_t kind;
	bool notify;
};

enum { PASS_COOKIE, PASS_MOVED };

/* Where a cookie is. From PASS_OWED on the device owes a completion. */
enum pass_place {
	PASS_FREE,	/* for the next post */
	PASS_HERE,	/* in the library: kept aside, or its event is in a FIFO */
	PASS_OWED,
	PASS_PLAIN,	/* owed, and a success is an event that needs nothing else */
};

/**
 * struct pass_cookie - one DTO or bind, from the post until its event is taken
 * @dir: whose
 * @after: the next one of the ring
 * @sge: room for its segments: of receives that were posted before the connection was
 *	there, and keys of requests where pass_fence.c wants them
 * @user: the consumer's 64 bits
 * @length: of the post, then of the transfer
 * @place: enum pass_place
 * @flags: completion flags
 * @nr_sge: segments kept in @sge
 * @course: these three in one word
 * @status: DAT_DTO_COMPLETION_STATUS
 * @node: in an EVD's FIFO
 * @late_next: in pass_dir.late
 * @rmr: of a bind on a queue pair
 * @rmr_obj: object of a bind, else NULL
 */
struct pass_cookie {
	struct pass_dir *dir;
	struct pass_cookie *after;
	struct ibv_sge *sge;
	uint64_t user;
	uint64_t length;
	union {
		struct {
			atomic_uchar place;
			uint8_t flags;
			uint16_t nr_sge;
		};
		uint32_t course;
	};
	uint32_t status;
	struct pass_node node;
	struct pass_cookie *late_next;
	struct pass_rmr *rmr;
	struct shim_object *rmr_obj;
};

static inline bool pass_cookie_owed(const struct pass_cookie *cookie)
{
	return atomic_load_explicit(&cookie->place, memory_order_acquire) >= PASS_OWED;
}

static inline bool pass_cookie_is_free(const struct pass_cookie *cookie)
{
	/* ORDER: pairs with pass_cookie_free(): its old event was read before. */
	return shim_byte_holds(&cookie->place, PASS_FREE);
}

static inline void pass_cookie_move(struct pass_cookie *cookie, enum pass_place place)
{
	atomic_store_explicit(&cookie->place, place, memory_order_relaxed);
}

/* A plain post goes to the device: it has no flags, and keeps its one segment. */
static inline void pass_cookie_move_plain(struct pass_cookie *cookie)
{
	static const struct pass_cookie plain = { .place = PASS_PLAIN, .nr_sge = 1 };

	__atomic_store_n(&cookie->course, plain.course, __ATOMIC_RELAXED);
}

/* What becomes of a post, as far as the library decides it */
enum pass_gate {
	PASS_ASIDE,	/* look at the board */
	PASS_POST,	/* to the queue pair, while the board says Connected */
	PASS_LATE,	/* kept, and flushed behind the last event of the connection */
	PASS_FLUSH,	/* flushed at once */
};

/**
 * struct pass_dir - one direction of an EP
 * @lock: all of it but @completed; the only lock of a post
 * @gate: enum pass_gate
 * @is_recv: of receives
 * @await: of receives: the connection is not known to be established (A7)
 * @posted: see above
 * @max_plain: bytes of a send or receive of one segment; 0: there is none
 * @owner: the object of the EP; NULL once that is freed
 * @ep: whose
 * @handle: its handle, which events show after it was freed, too
 * @qp: the queue pair, NULL while there is none
 * @board: the entry of the EP
 * @pz: the zone of the EP
 * @evd: where completions go; a hidden one if the consumer gave none; NULL before the EP
 *	has attributes
 * @cq: that of @evd which the queue pair uses
 * @share: completions that are reserved there
 * @next: the cookie of the next post, which is the oldest one
 * @wr: work requests of plain posts; what differs by post is written anew
 * @bad: for verbs
 * @parked, @next_parked: the EVD that keeps the EP because completions may name it, and the
 *	next one that it keeps
 * @rings: the cookies
 * @size: their number
 * @max_sge: segments of one post at most
 * @held, @held_first: receives without a queue pair, and the oldest
 * @kept: of those posted, how many of the first may have to be held again
 * @late, @late_end: PASS_LATE
 * @completed: see above
 * @srq: of receives of an EP on an SRQ: that, for life
 * @shared: the room of these in @cq, in the stead of @share
 * @in_srq: a queue pair of the number @srq_qp may have completions there
 * @srq_next, @srq_taken: of the SRQ, under its lock: the next one of the table, and the last
 *	receive that this one has completed, or that others had taken before
 */
struct pass_dir {
	struct shim_lock lock;
	uint8_t gate;
	bool is_recv;
	bool await;
	uint32_t posted;
	uint64_t max_plain;
	struct shim_object *owner;
	struct ibv_qp *qp;
	const struct kdapl_uapi_board_ep *board;
	struct pass_pz *pz;
	struct pass_cookie *next;
	union {
		struct {
			struct ibv_send_wr send;
			struct ibv_send_wr rdma;
		};
		struct ibv_recv_wr recv;
	} wr;
	union {
		struct ibv_send_wr *send;
		struct ibv_recv_wr *recv;
	} bad;
	uint32_t size;
	uint32_t max_sge;
	struct pass_ep *ep;
	struct shim_object *handle;
	struct pass_evd *evd;
	struct pass_cq *cq;
	uint32_t share;
	uint32_t held;
	uint32_t kept;
	struct pass_cookie *held_first;
	struct pass_cookie *late;
	struct pass_cookie **late_end;
	const struct pass_evd *parked;
	struct pass_dir *next_parked;
	struct pass_rings *rings;
	atomic_uint_least32_t completed;
	bool in_srq;
	uint32_t srq_qp;
	struct pass_srq *srq;
	struct pass_share *shared;
	struct pass_dir *srq_next;
	uint64_t srq_taken;
};

enum { PASS_REQ, PASS_RECV, PASS_DIRS };

/* Kinds of posts, in the order of enum kdapl_uapi_op; a bind is the last. */
#define PASS_BIND	4
#define PASS_KINDS	5

/**
 * struct pass_limits - what the attributes allow one kind of post
 * @flags: completion flags
 * @max_iov: segments
 * @max_length: bytes
 */
struct pass_limits {
	uint32_t flags;
	uint32_t max_iov;
	uint64_t max_length;
};

/**
 * struct pass_ep - an EP
 * @obj: its object; NULL once it is freed. Written under the locks of both directions
 * @pia: of its IA; @left: it is not in the IA's list any more, or about to leave it
 * @dir: the two directions
 * @limits: of posts
 * @reads: an RDMA read may be posted (mt:T16)
 * @binds: the request EVD takes completions of binds (E18)
 * @keys: keep the keys of requests (pass_fence.c)
 * @solicited: its receives are counted in pass_evd.solicited
 * @refs: of the object, of each entry in a FIFO, of who works on it without a lock
 * @life: of the connection or attempt
 * @told: the kernel knows that the connection is over; atomic
 * @over: its end has been dealt with; atomic
 * @established: the consumer has, or could have, the event ESTABLISHED
 * @token: the kernel's handle
 * @slot: entry of the board
 * @use: held by operations
 * @attr: as granted
 * @connect_evd: object of the connect EVD, or NULL
 * @old_until: events of @connect_evd before this are about former connections
 * @end: room for the event that ends the connection, which goes into the FIFO of the connect
 *	EVD when all is flushed; one for each connection, since that of the last one may be in
 *	the FIFO still
 * @end_held: the event is there, and waits for the flush
 * @ending, @draining: somebody has to look whether all has completed
 * @bound: the kernel may have the queue pair
 * @preparing: the call that begins the connection has not returned, and may be refused
 * @qp_num: of the queue pair; a failure of another one is of a call that was refused
 * @cm_until: on iWARP, how long a flush waits for the kernel to hear how the connection ended;
 *	ns, 0: nothing was flushed yet
 * @last_wqe: the device has said that the queue pair takes no more receives of an SRQ
 * @flush_until, @flush_next: when a device is given up, and told again; ns
 * @hidden: the EVD for what the consumer has no EVD for
 */
struct pass_ep {
	struct shim_object *_Atomic obj;
	struct pass_ia *pia;
	bool left;
	struct pass_dir dir[PASS_DIRS];
	struct pass_limits limits[PASS_KINDS];
	bool reads;
	bool binds;
	bool keys;
	bool solicited;
	atomic_uint refs;
	uint32_t life;
	atomic_bool told;
	atomic_bool over;
	atomic_bool established;
	uint64_t token;
	struct shim_object *ia;
	uint32_t slot;
	pthread_mutex_t use;
	struct kdapl_uapi_ep_attr attr;
	struct shim_object *connect_evd;
	uint64_t old_until;
	struct pass_moved *end;
	bool end_held;
	atomic_bool ending;
	atomic_bool draining;
	bool bound;
	atomic_bool preparing;
	atomic_uint_least32_t qp_num;
	atomic_uint_least64_t cm_until;
	atomic_bool last_wqe;
	uint64_t flush_until;
	uint64_t flush_next;
	struct pass_evd *hidden;
	struct pass_ep *next;
	struct pass_ep *next_free;
};

/**
 * struct pass_cq - a completion queue of an EVD
 * @size: what it holds; @promised: of that, reserved
 * @qps: queue pairs on it
 */
struct pass_cq {
	struct ibv_cq *cq;
	uint32_t size;
	uint32_t promised;
	uint32_t qps;
};

/* pass_evd.aside */
#define PASS_FIFO	1u	/* the FIFO is not empty */
#define PASS_QUEUES	2u	/* not just one completion queue */
#define PASS_WAITING	4u	/* the next completion has to wait */
#define PASS_WAITER	8u	/* a thread is in dat_evd_wait() */
#define PASS_WATCHED	16u	/* an endpoint; they are counted */

/**
 * struct pass_evd - the library's half of an EVD
 * @lock: that of the object, or @own_lock of a hidden EVD
 * @obj: NULL for a hidden one
 * @ring: the kernel's
 * @taken: events taken off the ring since the EVD was made
 * @first, @last: the FIFO; @nr_fifo: entries
 * @cqs: the completion queues, @nr_cqs of them
 * @wc: polled; @wc_left of these, from @wc_next on, are not looked at. The first of them has
 *	to wait if @aside has PASS_WAITING
 * @users: directions of EPs that have it, or are not through with giving it up
 * @parked: directions whose cookies its completions may still name, though their EPs are gone
 * @channel, @channel_fd: of the completion queues
 * @mute: the device of the channel is gone
 * @kernel_fd: readable while the ring has events
 * @wake: an eventfd, for what comes by neither
 * @later: a timer, which has a CNO look again for what comes by none of these
 * @notified: counts what wakes a waiter
 * @unwaitables: counts dat_evd_set_unwaitable
 * @solicited: directions of receives that are SOLICITED_WAIT
 * @async: it takes asynchronous events, of which the device tells by the context
 * @cno: it has had a CNO, and its queues are armed
 * @told_notified, @told_ring: @notified, and the events that had come to the ring, when the
 *	CNO was last triggered or a waiter had its event
 * @dead: freed; a waiter has to return
 * @sleepers: threads in poll(2)
 * @aside: why a look for an event is more than a look at the ring and the one completion
 *	queue: PASS_FIFO ..., which change under the lock, and PASS_WATCHED for each endpoint
 *	that ends or drains and has something here
 * @not_idle: @aside and @wc_left, for one look at both
 * @event: where dat_evd_dequeue(), which has the EVD locked, puts what it polls; a register
 *	that is to outlive a call has to be saved, which costs more
 */
struct pass_evd {
	struct shim_lock *lock;
	union {
		struct {
			atomic_uint aside;
			int wc_left;
		};
		uint64_t not_idle;
	};
	struct shim_ring *ring;
	struct ibv_wc *wc_next;
	DAT_EVENT *event;
	struct shim_object *obj;
	struct pass_cq cqs[PASS_MAX_CQS];
	uint32_t nr_cqs;
	struct pass_node *first;
	uint64_t taken;
	struct pass_ia *pia;
	struct pass_node **last;
	uint32_t nr_fifo;
	struct ibv_wc wc[PASS_WCS];
	atomic_uint users;
	struct pass_dir *parked;
	struct ibv_comp_channel *channel;
	struct shim_fd channel_fd;
	struct shim_fd kernel_fd;
	struct shim_fd wake;
	struct shim_fd later;
	bool mute;
	bool async;
	bool cno;
	uint32_t told_notified;
	uint64_t told_ring;
	uint32_t notified;
	uint32_t unwaitables;
	uint32_t solicited;
	bool dead;
	uint32_t sleepers;
	struct shim_lock own_lock;
};

/**
 * struct pass_binding - what an RMR shows, or will show
 * @mr: a region of its own; NULL: the window of the RMR
 * @lmr: the memory; NULL: nothing is shown
 */
struct pass_binding {
	struct ibv_mr *mr;
	struct pass_lmr *lmr;
	struct kdapl_uapi_segment segment;
	uint32_t privileges;
	uint32_t context;
};

/**
 * struct pass_rmr - an RMR
 * @lock: all of it
 * @now: what it shows; @next: once the outstanding bind has completed
 * @mw: a memory window, or NULL; @keys: how many of its keys were used
 * @cookie: of that bind, or NULL
 * @dead: it was freed
 */
struct pass_rmr {
	struct shim_lock lock;
	struct shim_object *obj;
	struct pass_pz *pz;
	struct ibv_mw *mw;
	struct pass_binding now;
	struct pass_binding next;
	struct pass_cookie *cookie;
	uint32_t keys;
	bool dead;
};

/*
 * May windows be bound to a region that was registered with these privileges? Uverbs wants
 * memory for that which can be written, whatever the window is to allow.
 */
static inline bool pass_has_windows(const struct pass_ia *pia, uint32_t privileges)
{
	return pia->windows && privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
}

static inline struct pass_ia *pass_ia_of(const struct shim_object *obj)
{
	return atomic_load_explicit(&obj->ia->pass, memory_order_relaxed);
}

/*
 * A work request of no bytes needs no segment (mt:T2, mt:T3). But iWARP devices want just one
 * for a read, and the library of siw for a receive. @pz: NULL if it goes to no device.
 * Return: how many segments it has, @sge if it is one.
 */
static inline uint32_t pass_no_bytes(const struct pass_pz *pz, struct ibv_sge *sge)
{
	if (!pz || !pz->nothing)
		return 0;
	*sge = (struct ibv_sge) {
		.addr = (uintptr_t)pz->nothing->addr,
		.lkey = pz->nothing->lkey,
	};
	return 1;
}

static inline struct pass_ep *pass_ep_of(struct shim_object *obj)
{
	return atomic_load_explicit(&obj->pass, memory_order_acquire);
}

static inline struct pass_evd *pass_evd_of(const struct shim_object *obj)
{
	return atomic_load_explicit(&obj->pass, memory_order_relaxed);
}

static inline bool pass_evd_aside(const struct pass_evd *evd, uint32_t why)
{
	return atomic_load_explicit(&evd->aside, memory_order_relaxed) & why;
}

/* Is an endpoint of the EVD ending or draining? */
static inline bool pass_evd_watched(const struct pass_evd *evd)
{
	return pass_evd_aside(evd, ~(PASS_WATCHED - 1));
}

/* @why holds from now on, or no more. */
static inline void pass_evd_set_aside(struct pass_evd *evd, uint32_t why, bool now)
{
	if (now)
		atomic_fetch_or(&evd->aside, why);
	else
		atomic_fetch_and(&evd->aside, ~why);
}

static inline uint32_t pass_max3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t most = a > b ? a : b;

	return most > c ? most : c;
}

/* The board's words are written by the kernel while they are read here. */
static inline uint32_t pass_state(const struct kdapl_uapi_board_ep *board)
{
	return shim_load_acquire(&board->state);
}

/* Events about a connection, as opposed to requests for one */
static inline bool pass_is_connection(uint32_t number)
{
	return number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
	       number <= DAT_CONNECTION_EVENT_UNREACHABLE;
}

static inline bool pass_is_pending(uint32_t state)
{
	return state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
	       state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
	       state == DAT_EP_STATE_COMPLETION_PENDING;
}

static inline bool pass_is_connected(uint32_t state)
{
	return state == DAT_EP_STATE_CONNECTED || pass_is_pending(state);
}

uint64_t pass_now(void);
void pass_pause(unsigned int us);

/* pass_ia.c */
struct pass_ia *pass_ia_get(const struct shim_object *obj);
void pass_ia_put(struct pass_ia *pia);

/* pass_ctx.c */
void pass_shared_child(void);
struct pass_context *pass_context_get(const char *name, size_t length);
void pass_context_put(struct pass_context *context);
struct ibv_context *pass_context_verbs(const struct pass_context *context);
void pass_context_events(struct pass_context *context);
int pass_context_fd(const struct pass_context *context);
void pass_context_count_srqs(struct pass_context *context, int by);
bool pass_context_has_srqs(struct pass_context *context);
const void *pass_board_get(uint64_t offset, size_t size);
void pass_board_put(void);

/* pass_mem.c */
bool pass_lmrs_init(void);
void pass_lmrs_child(void);
DAT_RETURN pass_pz_made(struct shim_object *pz);
DAT_RETURN pass_pz_free(struct shim_object *pz);
void pass_pz_drop(struct pass_pz *pz);
struct pass_pz *pass_pz_use(struct shim_object *pz, uint64_t token);
void pass_pz_unuse(struct pass_pz *pz);
DAT_RETURN pass_reg(struct pass_ia *pia, struct ibv_pd *pd, uint64_t start,
		    uint64_t length, uint32_t privileges, struct ibv_mr **mr);
DAT_RETURN pass_lmr_create(struct kdapl_uapi_lmr_create *arg, struct shim_object *pz,
			   struct shim_lmr *body, struct shim_object **lmr);
DAT_RETURN pass_lmr_query(struct shim_object *lmr, struct kdapl_uapi_lmr_query *arg);
DAT_RETURN pass_lmr_free(struct shim_object *lmr);
DAT_RETURN pass_lmr_sync(struct shim_object *ia, struct kdapl_uapi_lmr_sync *arg);
void pass_lmr_close(struct shim_object *lmr);
void pass_lmr_invalidated(struct pass_ia *pia, uint32_t key);
bool pass_lmr_use(struct pass_lmr *lmr);
void pass_lmr_unuse(struct pass_lmr *lmr);

/* pass_rmr.c */
DAT_RETURN pass_rmr_create(struct shim_object *pz, struct shim_object **rmr);
DAT_RETURN pass_rmr_query(struct shim_object *rmr, struct kdapl_uapi_rmr_query *arg);
DAT_RETURN pass_rmr_bind(struct shim_object *rmr, struct shim_object *ep,
			 struct kdapl_uapi_rmr_bind *arg);
DAT_RETURN pass_rmr_free(struct shim_object *rmr);
void pass_rmr_close(struct shim_object *rmr);
void pass_rmr_completed(struct pass_cookie *cookie, bool success);

/* pass_ring.c */
struct pass_rings *pass_rings_alloc(struct pass_dir *dir, uint32_t size, uint32_t max_sge);
void pass_rings_install(struct pass_dir *dir, struct pass_rings *rings);
void pass_rings_drop(struct pass_rings *rings);
void pass_rings_free(struct pass_dir *dir);

/* pass_ep.c */
void pass_eps_child(void);
struct pass_ep *pass_ep_get(struct shim_object *obj);
void pass_ep_put(struct pass_ep *ep);
DAT_RETURN pass_ep_made(struct shim_object *ep);
DAT_RETURN pass_ep_modify(struct shim_object *ep, struct kdapl_uapi_ep_param *arg);
DAT_RETURN pass_ep_status(struct shim_object *ep, struct kdapl_uapi_ep_get_status *arg);
DAT_RETURN pass_ep_recv_query(struct shim_object *ep, struct kdapl_uapi_ep_recv_query *arg);
void pass_ep_gone(struct shim_object *ep);
void pass_ep_leave(struct pass_ep *ep);
void pass_dir_park(struct pass_dir *dir);

/* pass_conn.c */
void pass_await_board(const struct pass_ep *ep, bool (*former)(uint32_t state),
		      uint64_t limit);
void pass_tell(struct pass_ep *ep, enum kdapl_uapi_tell what);
void pass_drop_qp(struct pass_ep *ep);
DAT_RETURN pass_ep_connect(struct shim_object *ep, struct kdapl_uapi_ep_connect *arg);
DAT_RETURN pass_ep_dup_connect(struct shim_object *ep,
			       struct kdapl_uapi_ep_dup_connect *arg);
DAT_RETURN pass_cr_accept(struct shim_object *ep, struct kdapl_uapi_cr_accept *arg);

/* pass_post.c */
DAT_RETURN pass_post_send(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags);
DAT_RETURN pass_post_recv(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags);
DAT_RETURN pass_post_read(struct shim_object *ep, DAT_COUNT segments,
			  const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			  const DAT_RMR_TRIPLET *remote, uint32_t flags);
DAT_RETURN pass_post_write(struct shim_object *ep, DAT_COUNT segments,
			   const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			   const DAT_RMR_TRIPLET *remote, uint32_t flags);

DAT_RETURN pass_srq_post_recv(struct shim_object *srq, DAT_COUNT segments,
			      const DAT_LMR_TRIPLET *iov, uint64_t cookie);

/* pass_gate.c */
struct pass_cookie *pass_cookie_take(struct pass_dir *dir, uint64_t user,
				     uint64_t length, uint32_t flags);
void pass_cookie_room(struct pass_dir *dir);
void pass_cookie_put_back(struct pass_dir *dir, struct pass_cookie *cookie);
enum pass_place pass_cookie_place(const struct pass_cookie *cookie);
void pass_dir_pull(struct pass_dir *dir);
DAT_RETURN pass_gate_aside(struct pass_dir *dir, enum pass_gate *gate);
void pass_put_aside(struct pass_dir *dir, struct pass_cookie *cookie,
		    enum pass_gate gate);
int pass_give_recv(struct pass_dir *dir, struct pass_cookie *cookie,
		   struct ibv_sge *sge, uint32_t nr);
int pass_post_held(struct pass_dir *dir);
bool pass_refused_late(const struct pass_dir *dir, int err);
DAT_RETURN pass_refusal(int err);
DAT_RETURN pass_post_refused(struct pass_dir *dir, struct pass_cookie *cookie, int err);

/* pass_fifo.c */
enum pass_took {
	PASS_TOOK_NONE,
	PASS_TOOK,
	PASS_TOOK_KERNEL,
};

void pass_fifo_add(struct pass_evd *evd, struct pass_node *node);
void pass_fifo_flushed(struct pass_evd *evd, struct pass_cookie *cookie);
void pass_fifo_drop(struct pass_evd *evd);
void pass_cookie_free(struct pass_cookie *cookie);

/* pass_wc.c */
bool pass_wc_pull(struct pass_evd *evd);

/* pass_event.c */
uint32_t pass_event_count(struct pass_evd *evd, uint32_t *kernels);
enum pass_took pass_event_take(struct pass_evd *evd, DAT_EVENT *event,
			       struct kdapl_uapi_event *kernel);
void pass_event_move_ring(struct pass_evd *evd);
DAT_RETURN pass_evd_dequeue(struct shim_object *evd, DAT_EVENT *event);

/* pass_wait.c */
DAT_RETURN pass_evd_made(struct shim_object *evd);
void pass_evd_gone(struct shim_object *evd, struct shim_evd *body);
DAT_RETURN pass_evd_poll_fd(struct shim_object *evd, struct shim_evd *body);
bool pass_evd_hears(const struct pass_evd *evd);
void pass_evd_rearm(struct shim_object *evd);
bool pass_evd_notifies(struct shim_object *evd);
uint32_t pass_evd_queued(struct shim_object *evd);
DAT_RETURN pass_evd_wait(struct shim_object *evd, struct kdapl_uapi_evd_wait *arg,
			 DAT_EVENT *event, DAT_COUNT *more);
DAT_RETURN pass_evd_set_waitable(struct shim_object *evd, bool waitable);
struct pass_evd *pass_evd_use(struct shim_object *evd);
void pass_evd_unuse(struct pass_evd *evd);
struct pass_evd *pass_evd_hidden(struct pass_ia *pia);
void pass_evd_hidden_free(struct pass_evd *evd);
DAT_RETURN pass_evd_reserve(struct pass_evd *evd, const struct pass_ep *ep, uint32_t entries,
			    struct pass_cq **cq);
bool pass_evd_extend(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries);
void pass_evd_unreserve(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries);
void pass_evd_wake(struct pass_evd *evd);
void pass_evd_count_solicited(struct pass_evd *evd, int by);

/* pass_end.c */
DAT_RETURN pass_ep_disconnect(struct shim_object *ep, uint32_t flags);
DAT_RETURN pass_ep_reset(struct shim_object *ep);
DAT_RETURN pass_ep_free(struct shim_object *ep);
void pass_end_close(struct pass_ep *ep);
void pass_end_hold(struct pass_ep *ep, const struct kdapl_uapi_event *event);
bool pass_end_look(struct pass_ep *ep);
void pass_end_want(struct pass_ep *ep);
bool pass_eps_connect_with(struct pass_ia *pia, const struct shim_object *evd);
void pass_watch_run(struct pass_ia *pia, struct pass_evd *evd);

/* pass_fence.c */
void pass_fence_posts(struct pass_ia *pia);
void pass_fence_binds(struct pass_ia *pia);
void pass_fence_key(struct pass_ia *pia, uint32_t lkey);

#endif /* PASSTHROUGH_H */
