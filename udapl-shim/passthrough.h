/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Passthrough: the process makes its queue pairs, completion queues and memory regions itself,
 * through uverbs. This header is what the pass_*.c share. The kernel keeps the connection and
 * the state of each EP, shows the state on the board, and moves the process's queue pair from INIT
 * on through its states. So posts and polls need no system call, and the library needs no table of
 * states. The board also shows when the device of an IA has gone.
 *
 * Documentation/overview.rst, The library, from call to file, has a table of the pass_*.c;
 * life-of-a-dto.rst, In passthrough, tells how posts are counted, in which order events are taken,
 * how a thread waits, and how a connection ends; locking.rst, The library, has the locks.
 */
#ifndef PASSTHROUGH_H
#define PASSTHROUGH_H

#include <infiniband/verbs.h>
#include <sys/eventfd.h>

#include "dto/kind.h"
#include "shim.h"

#define PASS_MAX_SGE	32	/* segments of a post, whatever the module grants */
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
 * struct pass_ia - an IA in passthrough
 * @token: the kernel's handle
 * @context, @ctx: the context of the device, which all IAs of the process on it share
 * @port: the port of the device
 * @iwarp: the transport is iWARP
 * @hints: KDAPL_VERBS_*
 * @extensions: KDAPL_CAN_*
 * @windows: the device has memory windows that admit no more than the range they are bound to
 * @max_region: bytes of a memory region at most; @max_message: of a message
 * @max_cqe: entries of a completion queue at most
 * @board, @board_size: the board, and its size in bytes
 * @entry: the IA's own entry there, which says whether the device has gone
 * @refs: references: one of the IA, one of each EVD, and one of each call that makes or frees
 *	something on the context; the context is given back with the last one
 * @closing: dat_ia_close() is giving up the objects of the IA. A call that makes an object
 *	looks at this after the object can be found, and gives it up itself if this is set
 * @news: of EPs that leave, and of threads that an EVD of the IA waits for when it is freed
 * @lock: protects @eps, @zones, @srqs, and the links of these lists
 * @eps, @zones, @srqs: lists of all EPs, zones and SRQs of the IA
 */
struct pass_ia {
	uint64_t token;
	struct pass_context *context;
	struct ibv_context *ctx;
	uint8_t port;
	bool iwarp;
	bool windows;
	uint32_t hints;
	uint32_t extensions;
	uint64_t max_region;
	uint64_t max_message;
	uint32_t max_cqe;
	const struct kdapl_uapi_board_ep *board;
	const struct kdapl_uapi_board_ep *entry;
	uint32_t board_size;
	atomic_uint refs;
	atomic_bool closing;
	struct shim_news news;
	pthread_mutex_t lock;
	struct pass_ep *eps;
	struct pass_pz *zones;
	struct pass_srq *srqs;
	struct pass_ia *next_free;
};

/**
 * struct pass_pz - a protection zone
 * @pd: its protection domain
 * @nothing: on iWARP, a region for work requests that transfer no bytes (pass_no_bytes())
 * @users: number of EPs, LMRs, RMRs and SRQs in it; protected by the lock of @obj
 * @next: in pass_ia.zones
 */
struct pass_pz {
	struct shim_object *obj;
	struct ibv_pd *pd;
	struct ibv_mr *nothing;
	uint32_t users;
	struct pass_pz *next;
};

/**
 * struct pass_lmr - an entry of the table of LMRs
 * @context: the lmr_context by which posts find the LMR; 0 once the LMR is being freed, or a
 *	peer has invalidated its key. When the entry is used again it gets another context
 * @sinks: KDAPL_SINK_*, what posts may have the device write there (mt:T30, mt:T35)
 * @start, @length: the memory
 * @lkey: the device's local key
 * @privileges: as the consumer asked for them
 * @mem_type: for queries
 * @generation: how often the entry was used, a part of @context
 * @pz: its zone
 * @users: bindings of RMRs to it, present and outstanding; -1 once it is being freed
 * @next_free: the entry that became free after this one, while this one is free
 * @ia: object of its IA. It may be looked at without a lock, as @pz may not: the zone may have
 *	been freed together with the LMR
 */
struct pass_lmr {
	atomic_uint_least32_t context;
	uint32_t sinks;
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
 * An lmr_context has in its middle bits the offset of the entry in the table, in bytes, and in
 * the bits above and below that the generation of the entry.
 */
#define PASS_LMRS	(1u << 20)
#define PASS_LMR_PLACE	((PASS_LMRS - 1) * (uint32_t)sizeof(struct pass_lmr))

_Static_assert(!(sizeof(struct pass_lmr) & (sizeof(struct pass_lmr) - 1)),
	       "the places of LMRs are a field of bits");

extern struct pass_lmr *pass_lmrs __attribute__((visibility("hidden")));

/* The entry that a context leads to. It may belong to another LMR, or to none. */
static inline struct pass_lmr *pass_lmr_at(uint32_t context)
{
	struct pass_lmr *lmr = (struct pass_lmr *)((char *)pass_lmrs + (context & PASS_LMR_PLACE));

	/* So that a post, which has just compared the context, does not look for NULL as well. */
	if (!lmr)
		__builtin_unreachable();
	return lmr;
}

static inline bool pass_lmr_is(const struct pass_lmr *lmr, uint32_t context)
{
	return shim_holds(&lmr->context, context);
}

/*
 * The LMR of a context, or NULL. It stays registered as long as the caller holds the lock of a
 * direction of its IA, since dat_lmr_free() waits for these locks (pass_fence_posts()).
 */
static inline struct pass_lmr *pass_lmr_find(uint32_t context)
{
	struct pass_lmr *lmr = pass_lmr_at(context);

	return SHIM_LIKELY(pass_lmr_is(lmr, context)) ? lmr : NULL;
}

/*
 * The LMR of a context if it is on this IA, else NULL. The locks of the caller do not keep the
 * LMRs of other IAs from being freed, so such an entry may become another LMR between the look at
 * its context and the one at its IA. Hence the context is compared once more.
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

	/* For an address below the start the offset wraps, and is larger than any length. */
	return !__builtin_add_overflow(address - lmr->start, length, &end) &&
	       end <= lmr->length;
}

/**
 * struct pass_node - an entry of an EVD's FIFO
 * @mark: the value of pass_evd.taken at which all older events of the kernel's ring were taken
 * @bytes: of a completion that is not in a FIFO yet: of the message that was received
 * @kind: PASS_COOKIE: part of a pass_cookie, a completion; PASS_MOVED: part of a pass_moved, an
 *	event that was moved here from the kernel's ring
 * @notify: the event wakes a waiter (E35)
 * @immed: of a receive that has succeeded, unless as a plain one: a peer's write has taken it, with
 *	immediate data
 * @word: the immediate data
 */
struct pass_node {
	struct pass_node *next;
	union {
		uint64_t mark;
		uint64_t bytes;
	};
	uint8_t kind;
	bool notify;
	bool immed;
	uint32_t word;
};

enum { PASS_COOKIE, PASS_MOVED };

/* Where a cookie is. From PASS_OWED on the device owes a completion for it. */
enum pass_place {
	PASS_FREE,	/* a post may take it */
	PASS_HERE,	/* in the library: the post is kept aside, or its event is in a FIFO */
	PASS_OWED,	/* on the queue pair; what its completion means has to be looked at */
	PASS_PLAIN,	/* on the queue pair; a success only has to be given to the consumer */
};

/**
 * struct pass_cookie - one DTO or bind, from the post until its event is taken
 * @dir: the direction it belongs to; of a receive of an SRQ that is the SRQ's own until the
 *	completion is claimed (pass_srq_claim())
 * @after: the next cookie of the ring
 * @sge: room for its segments. It holds those of a plain post, those of a receive that was
 *	posted before the connection was there, and those of requests if pass_ep.keys is set
 * @user: the consumer's 64 bits
 * @length: bytes of the post, and after the completion those of the transfer
 * @place: enum pass_place
 * @flags: completion flags
 * @nr_sge: number of segments kept in @sge
 * @operation: of a request, for DAT 2.0, whose events show it
 * @course: @place, @flags, @nr_sge and @operation in one word
 * @status: DAT_DTO_COMPLETION_STATUS; of a completion that is not in a FIFO yet: that of verbs
 * @node: in an EVD's FIFO
 * @late_next: in pass_dir.late or pass_dir.waiting
 * @rmr: the RMR of a bind that is on a queue pair, else NULL
 * @rmr_obj: the object of the RMR of a bind, else NULL
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
			uint8_t nr_sge;
			uint8_t operation;
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

/* Is it of a request that DAT 1.2 does not have? Its event says what it was. */
static inline bool pass_cookie_extends(const struct pass_cookie *cookie)
{
	return cookie->operation >= KDAPL_DID_RDMA_WRITE_IMMED;
}

static inline bool pass_cookie_is_free(const struct pass_cookie *cookie)
{
	/* ORDER: pairs with pass_cookie_free(): the old event was read before this is seen. */
	return shim_byte_holds(&cookie->place, PASS_FREE);
}

static inline void pass_cookie_move(struct pass_cookie *cookie, enum pass_place place)
{
	atomic_store_explicit(&cookie->place, place, memory_order_relaxed);
}

/* For a plain post, which goes to the queue pair: it has no flags, and one segment in @sge. */
static inline void pass_cookie_move_plain(struct pass_cookie *cookie, enum kdapl_dto_kind kind)
{
	const struct pass_cookie plain = {
		.place = PASS_PLAIN,
		.nr_sge = 1,
		.operation = kdapl_dto_rows[kind].operation,
	};

	__atomic_store_n(&cookie->course, plain.course, __ATOMIC_RELAXED);
}

/*
 * What becomes of a post, as far as the library decides it. In pass_dir.gate PASS_ASIDE leaves
 * the decision to the board. As the outcome for one post (pass_gate_aside()) it means: hold this
 * post until there is a queue pair, or room on it.
 */
enum pass_gate {
	PASS_ASIDE,
	PASS_POST,	/* it goes to the queue pair, while the board says Connected */
	PASS_DEEP,	/* of a deep direction: the same if there is room, else it is held */
	PASS_LATE,	/* it is kept, and flushed behind the last event of the connection */
	PASS_FLUSH,	/* it is flushed at once */
};

/**
 * struct pass_dir - one direction of an EP
 * @lock: protects all of it but @completed; the only lock that a plain post takes
 * @gate: enum pass_gate
 * @is_recv: it is the direction of receives
 * @await: of receives: the connection is not known to be established (A7)
 * @posted: work requests that the queue pair took (Counting, at the top)
 * @max_inline: a request with so many bytes at most of our memory takes them along; 0: none does
 * @max_plain: a plain send or receive has at most so many bytes; 0: none is possible
 * @owner: the object of the EP; NULL once that is freed
 * @ep: the EP it belongs to
 * @handle: the handle of the EP, which events still show after the EP was freed
 * @qp: the queue pair, NULL while there is none
 * @board: the EP's entry of the board
 * @pz: the zone of the EP
 * @evd: where completions go: a hidden EVD if the consumer gave none; NULL before the EP
 *	has attributes and after it was freed
 * @cq: the completion queue of @evd that the queue pair uses
 * @share: completions that are reserved there
 * @deep: the attributes ask for more posts than a completion queue holds. The queue pair is given
 *	@share of them at most; the others are held, and given to it when half of these have
 *	completed (pass_refill())
 * @next: the cookie for the next post, which is the one whose last use was the longest ago
 * @wr: work requests for plain posts; a post writes only the fields that differ
 * @bad: where verbs say which work request failed; nobody reads it
 * @parked, @next_parked: the EVD that keeps a reference of the EP because its completion queues
 *	may name cookies of this direction, and the next direction that this EVD keeps
 * @rings: the memory of the cookies
 * @size: number of cookies
 * @max_sge: segments of one post at most
 * @held, @held_first: number of posts that wait for a queue pair, which only receives do, or for
 *	room on it, and the oldest of them
 * @kept, @kept_first: how many of the oldest posted receives have to be held again if the call that
 *	begins the connection is refused, and the first of them
 * @requests: what the cookies of held requests do not say; NULL unless @deep
 * @owing: the held posts wait for room; atomic
 * @due: the value of @completed at which they get it; atomic
 * @late, @late_end: list of posts of PASS_LATE
 * @completed: work requests whose completion was polled (Counting, at the top)
 * @waiting, @waiting_end: list of cookies whose completions were polled and must not be shown yet;
 *	they still count as owed. Protected by the lock of @evd, as is @next_waiting
 * @next_waiting: in pass_evd.waiting
 * @srq: of receives of an EP on an SRQ: the SRQ, which stays the same for the life of the EP
 * @shared: of such receives: their room in @cq, instead of @share
 * @in_srq: a queue pair with the number @srq_qp may still complete receives of @srq
 * @srq_next, @srq_taken: protected by the lock of the SRQ: the next direction in a chain of
 *	pass_srq.qps, and the number of the last receive that this queue pair has completed, or
 *	that others had taken before it came
 */
struct pass_dir {
	struct shim_lock lock;
	uint8_t gate;
	bool is_recv;
	bool await;
	bool deep;
	uint32_t posted;
	uint32_t max_inline;
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
	struct pass_cookie *kept_first;
	struct pass_request *requests;
	atomic_bool owing;
	atomic_uint_least32_t due;
	struct pass_cookie *late;
	struct pass_cookie **late_end;
	const struct pass_evd *parked;
	struct pass_dir *next_parked;
	struct pass_rings *rings;
	atomic_uint_least32_t completed;
	struct pass_cookie *waiting;
	struct pass_cookie **waiting_end;
	struct pass_dir *next_waiting;
	bool in_srq;
	uint32_t srq_qp;
	struct pass_srq *srq;
	struct pass_share *shared;
	struct pass_dir *srq_next;
	uint64_t srq_taken;
};

enum { PASS_REQ, PASS_RECV, PASS_DIRS };

/**
 * struct pass_request - a request that waits for room on the queue pair
 * @dto: the post; what it points to is not there any more
 * @remote: of RDMA operations
 */
struct pass_request {
	struct kdapl_dto dto;
	DAT_RMR_TRIPLET remote;
};

/**
 * struct pass_ep - an EP
 * @obj: its object; NULL once it is freed. Written under the locks of both directions
 * @pia: its IA; @left: it is not in the IA's list any more, or about to leave it
 * @dir: the two directions
 * @limits: of each kind of post
 * @reads: an RDMA read may be posted (mt:T16)
 * @binds: the request EVD takes completions of binds (E18)
 * @keys: the cookies of requests keep their segments, for pass_fence.c
 * @solicited: its direction of receives is counted in pass_evd.solicited
 * @refs: references: of the object, of each of its completions in a FIFO, of an EVD that keeps a
 *	direction parked, and of each thread that works on it without a lock
 * @life: the kernel's number of the present connection or attempt, which its events name; atomic
 * @end_known: the kernel knows that the connection is over; atomic
 * @over: the event of the end was shown or given up, or its place is known, or there is no
 *	connection yet; atomic
 * @established: the consumer has the event ESTABLISHED, or could have taken it
 * @leaving: the kernel is freeing the EP, so that its entry of the board may be another EP's
 *	before the library knows; atomic
 * @token: the kernel's handle
 * @use: held by operations that change the EP
 * @attr: the attributes, as granted
 * @connect_evd: object of the connect EVD, or NULL
 * @end: memory for the event that ends the connection, which goes into the FIFO of the connect
 *	EVD when all is flushed. Each connection gets its own, since the one of the connection
 *	before may still be in the FIFO
 * @end_held: the event is in @end, and waits for the flush
 * @ending, @draining: an end, or a graceful disconnect, waits until all has completed
 * @spent: all has completed that the queue pair ever will, and it is to be destroyed; atomic
 * @lost: some of what was posted has not completed then
 * @lent: a thread in reset or free has @use, and waits until the thread of pass_keeper.c, which
 *	works on the EP meanwhile, gives it back; atomic
 * @news: that thread has looked at the EP
 * @kept, @next_kept: the EP is in the list of the thread of pass_keeper.c, which has a reference
 * @listened: that thread has looked at it in vain, and listens to its EVDs
 * @passed_over: that thread has found @use taken; atomic
 * @watched: that thread begins the end of the EP as soon as the board shows it; atomic
 * @watch_link, @next_watched: link it into the list of those
 * @bound: the kernel may hold the queue pair
 * @preparing: the call that begins the connection has not returned, and may be refused
 * @qp_num: number of the queue pair. A failed completion of another one comes from an attempt
 *	whose call was refused
 * @cm_until: on iWARP: until when a flushed completion waits for the kernel to hear how the
 *	connection ended; ns, 0: nothing was flushed yet
 * @last_wqe: the device has said that the queue pair takes no more receives of an SRQ
 * @flush_until, @flush_next: when the library stops waiting for the device to flush, and when it
 *	has the queue pair moved to the error state again; ns
 * @hidden: stands in for an EVD that the consumer did not give
 */
struct pass_ep {
	struct shim_object *_Atomic obj;
	struct pass_ia *pia;
	bool left;
	struct pass_dir dir[PASS_DIRS];
	struct kdapl_dto_limits limits[KDAPL_NR_DTO_KINDS];
	bool reads;
	bool binds;
	bool keys;
	bool solicited;
	atomic_uint refs;
	atomic_uint_least32_t life;
	atomic_bool end_known;
	atomic_bool over;
	atomic_bool established;
	atomic_bool leaving;
	uint64_t token;
	struct shim_object *ia;
	pthread_mutex_t use;
	struct kdapl_uapi_ep_attr attr;
	struct shim_object *connect_evd;
	struct pass_moved *end;
	bool end_held;
	atomic_bool ending;
	atomic_bool draining;
	atomic_bool spent;
	bool lost;
	atomic_bool lent;
	struct shim_news news;
	atomic_bool kept;
	atomic_bool passed_over;
	bool listened;
	struct pass_ep *next_kept;
	atomic_bool watched;
	struct pass_ep **watch_link;
	struct pass_ep *next_watched;
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
 * @size: number of its entries; @promised: how many of them are reserved
 * @armed: it has been armed at least once
 */
struct pass_cq {
	struct ibv_cq *cq;
	uint32_t size;
	uint32_t promised;
	bool armed;
};

/* Bits of pass_evd.aside */
#define PASS_FIFO	1u	/* the FIFO is not empty */
#define PASS_QUEUES	2u	/* the number of completion queues is not one */
#define PASS_WAITING	4u	/* there are completions that must not be shown yet */
#define PASS_WAITER	8u	/* a thread is in dat_evd_wait() */
#define PASS_DUE	16u	/* there is room for posts that have waited for it */

/**
 * struct pass_evd - the library's half of an EVD
 * @lock: the lock of @obj, or @own_lock of a hidden EVD
 * @obj: its object; NULL for a hidden EVD
 * @ring: the kernel's ring
 * @taken: events taken off the ring since the EVD was made
 * @first, @last: the FIFO; @nr_fifo: number of its entries
 * @cqs: the completion queues; @nr_cqs: their number
 * @wc: completions that were polled. The @wc_left of them from @wc_next on are not accounted for
 *	yet
 * @waiting: list of directions that have completions which must not be shown yet
 * @users: directions of EPs that use it, or are about to stop using it
 * @parked: directions whose cookies its completions may still name although nobody waits for
 *	these completions any more
 * @channel, @channel_fd: the completion channel of @cqs
 * @mute: the device of the channel is gone
 * @deaf: a queue could not be armed when that was tried last, or could not be polled since, so
 *	there may be completions of which nothing tells
 * @nudged: the thread of pass_keeper.c has it in that list, and counts as a user
 * @faulted: a queue could not be polled or armed, and the kernel was told (E72)
 * @kernel_fd: readable while the ring has events
 * @bell: an eventfd for what is told by neither of these two descriptors
 * @rung: it is readable
 * @alarm: a timerfd, which tells a waiter that its time is over
 * @alarm_at: when it goes off, or has gone off since it was looked at; ns, UINT64_MAX: it is not
 *	set
 * @bed: what a waiter sleeps on: an epoll descriptor of those of them that there are; it is made
 *	when there are the latter three
 * @channel_in_bed: the first one is in it
 * @next_deaf: the next EVD whose waiters the thread of pass_keeper.c wakes by the clock
 * @kept_round, @kept_silent: of the thread of pass_keeper.c: when it has listened to this EVD, and
 *	whether completions may come then of which nothing tells
 * @kept_armed: that thread has armed the queues, and relies on it
 * @notified: counts what wakes a waiter
 * @unwaitables: counts calls of dat_evd_set_unwaitable()
 * @solicited: number of directions of receives that are SOLICITED_WAIT
 * @async: it takes asynchronous events, some of which the device tells by the descriptor of the
 *	context (async_fd()); not set any more when the device is gone
 * @cno: it has had a CNO, so its queues are kept armed
 * @known_notified, @known_ring: the values of @notified and of the events that had come to the
 *	ring when the CNO was last triggered, or when a waiter last got its event
 * @dead: freed; a waiter has to return
 * @sleepers: threads that sleep in ppoll(2), or have dropped the lock in the middle of a call and
 *	will look at the EVD again; pass_evd_gone() waits for them
 * @aside: 0 if a look for an event is a look at the ring and at the one completion queue. Else
 *	the reasons why it takes more: bits PASS_FIFO ..., which change under the lock
 * @not_idle: @aside and @wc_left, for one look at both
 * @event: the argument of dat_evd_dequeue() while it polls, with the EVD locked. To keep it in a
 *	register across the call of the poll would cost more: that register has to be saved
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
	struct pass_dir *waiting;
	struct pass_dir *parked;
	struct ibv_comp_channel *channel;
	struct shim_fd channel_fd;
	struct shim_fd kernel_fd;
	struct shim_fd bell;
	struct shim_fd alarm;
	uint64_t alarm_at;
	struct shim_fd bed;
	bool channel_in_bed;
	struct pass_evd *next_deaf;
	bool nudged;
	uint32_t kept_round;
	bool kept_silent;
	bool kept_armed;
	bool mute;
	bool deaf;
	bool faulted;
	bool rung;
	bool async;
	bool cno;
	uint32_t known_notified;
	uint64_t known_ring;
	uint32_t notified;
	uint32_t unwaitables;
	uint32_t solicited;
	bool dead;
	uint32_t sleepers;
	struct shim_lock own_lock;
};

/**
 * struct pass_binding - what an RMR shows to peers, or will show
 * @mr: the memory region made for this binding; NULL if the window of the RMR shows it
 * @lmr: the LMR it shows a part of; NULL: nothing is shown
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
 * @lock: protects all of it
 * @now: what it shows; @next: what it will show when the outstanding bind has completed
 * @mw: a memory window, or NULL; @keys: how many of its keys were used
 * @cookie: of the outstanding bind, or NULL
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
 * Has the device let go of an object, by what ibv_dereg_mr() or the like has returned? EIO: the
 * device is gone, and all its objects with it. After any other error it still has the object, until
 * the context is closed with the last IA on the device.
 */
static inline bool pass_let_go(int err)
{
	return !err || err == EIO;
}

/*
 * May windows be bound to a region that was registered with these privileges? Uverbs allows it
 * only for a region with local write access, whatever the window itself is to allow.
 */
static inline bool pass_has_windows(const struct pass_ia *pia, uint32_t privileges)
{
	return pia->windows && privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
}

/*
 * ORDER: pairs with shim_pass_open(): who finds it finds it made. An object that is alive was found
 * by its type, which is behind that as well; but @obj may be dead, and its IA another one by now.
 */
static inline struct pass_ia *pass_ia_of(const struct shim_object *obj)
{
	return atomic_load_explicit(&obj->ia->pass, memory_order_acquire);
}

/* A DAT_RETURN that the kernel shows on a board. */
static inline DAT_RETURN pass_board_ret(const uint32_t *ret)
{
	return face_ret(shim_load_acquire(ret));
}

/*
 * What a call returns that makes something on an IA, or needs its device: DAT_SUCCESS as long as
 * that is there (E71). For calls that the kernel does not see; it answers all others so itself.
 */
static inline DAT_RETURN pass_ia_refusal(const struct pass_ia *pia)
{
	return pass_board_ret(&pia->entry->refuse_request);
}

/*
 * The segments of a work request that transfers no bytes. It needs none (mt:T2, mt:T3), but iWARP
 * devices want exactly one for an RDMA read, and the library of siw wants one for a receive.
 * @pz: the zone; NULL for a direction without one, whose posts go to no device
 * Return: the number of segments, 0 or 1; the one is written to @sge.
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

/* Sets or clears the reason @why (PASS_FIFO ...) to look aside. */
static inline void pass_evd_set_aside(struct pass_evd *evd, uint32_t why, bool now)
{
	if (now)
		atomic_fetch_or(&evd->aside, why);
	else
		atomic_fetch_and(&evd->aside, ~why);
}

/* Segments that a post may have of those that the module has granted. */
static inline uint32_t pass_iov(int32_t granted)
{
	return granted < PASS_MAX_SGE ? granted : PASS_MAX_SGE;
}

static inline uint32_t pass_max3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t most = a > b ? a : b;

	return most > c ? most : c;
}

/* The state of an EP on the board, which the kernel may be writing at this moment. */
static inline uint32_t pass_state(const struct kdapl_uapi_board_ep *board)
{
	return shim_load_acquire(&board->state);
}

/* Is it an event about a connection? Requests for one (CR arrival) are not. */
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

/* Reads an eventfd, or fails if nobody has written since the last time. */
static inline void pass_event_clear(const struct shim_fd *fd)
{
	eventfd_t count;

	eventfd_read(fd->fd, &count);
}

/*
 * Does the board show that the queue pair is in the error state, or that the kernel has let go of
 * it? Then the peer does not reach our memory through it any more, and nothing is posted there.
 */
static inline bool pass_is_shut(const struct kdapl_uapi_board_ep *board)
{
	return shim_load_acquire(&board->flags) & (KDAPL_BOARD_ERROR | KDAPL_BOARD_UNBOUND);
}

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
const void *pass_board_get(uint64_t offset, size_t *size);
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
DAT_RETURN pass_rmr_sink(struct shim_object *ia, const DAT_LMR_TRIPLET *named,
			 DAT_LMR_TRIPLET *segment);
void pass_rmr_completed(struct pass_cookie *cookie, bool success);

/* pass_ring.c */
struct pass_rings *pass_rings_alloc(struct pass_dir *dir, uint32_t size, uint32_t max_sge,
				    bool requests);
struct pass_request *pass_cookie_request(const struct pass_cookie *cookie);
void pass_rings_install(struct pass_dir *dir, struct pass_rings *rings);
void pass_rings_drop(struct pass_rings *rings);
void pass_rings_free(struct pass_dir *dir);

/* pass_ep.c */
void pass_eps_child(void);
bool pass_ep_try_get(struct pass_ep *ep);
struct pass_ep *pass_ep_get(struct shim_object *obj);
void pass_ep_put(struct pass_ep *ep);
DAT_RETURN pass_ep_made(struct shim_object *ep);
DAT_RETURN pass_ep_modify(struct shim_object *ep, struct kdapl_uapi_ep_param *arg);
DAT_RETURN pass_ep_status(struct shim_object *ep, struct kdapl_uapi_ep_get_status *arg);
DAT_RETURN pass_ep_recv_query(struct shim_object *ep, struct kdapl_uapi_ep_recv_query *arg);
void pass_ep_gone(struct shim_object *ep);
void pass_ep_off_board(struct pass_ep *ep);
void pass_ep_leave(struct pass_ep *ep);
bool pass_eps_use(struct pass_ia *pia, const void *object);
void pass_dir_park(struct pass_dir *dir);

/* pass_conn.c */
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

DAT_RETURN pass_post_extension(struct shim_object *ep, const struct shim_request *request);

int pass_give_request(struct pass_dir *dir, const struct pass_cookie *cookie,
		      const struct kdapl_dto *dto, struct ibv_sge *sge, uint32_t nr);
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
void pass_dir_unpost(struct pass_dir *dir);
int pass_post_held(struct pass_dir *dir);
void pass_refill(struct pass_dir *dir);
void pass_owe_nothing(struct pass_dir *dir);
bool pass_ep_owes(const struct pass_ep *ep);
bool pass_ep_moves(struct pass_ep *ep);
void pass_ep_refill(struct pass_ep *ep);
void pass_evd_refill(struct pass_evd *evd);
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
void pass_evd_faulted(struct pass_evd *evd);
void pass_wc_pull(struct pass_evd *evd);
void pass_evd_pull(struct pass_evd *evd);
bool pass_ended_for_kernel(const struct pass_ep *ep);
bool pass_ep_waits(const struct pass_ep *ep);
void pass_wc_forget(struct pass_evd *evd, struct pass_dir *dir);

/* pass_event.c */
uint32_t pass_event_count(struct pass_evd *evd, uint32_t *kernels);
bool pass_event_take_only(struct pass_evd *evd, DAT_EVENT *event);
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
void pass_evd_back(struct pass_evd *evd);
struct pass_evd *pass_evd_hidden(struct pass_ia *pia);
void pass_evd_free(struct pass_evd *evd);
DAT_RETURN pass_evd_reserve(struct pass_evd *evd, const struct pass_ep *ep, uint32_t entries,
			    struct pass_cq **cq);
bool pass_evd_extend(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries);
void pass_evd_unreserve(struct pass_evd *evd, struct pass_cq *cq, uint32_t entries);
void pass_evd_wake(struct pass_evd *evd);
bool pass_evd_listen(struct pass_evd *evd);
void pass_evd_count_solicited(struct pass_evd *evd, int by);

/* pass_end.c */
DAT_RETURN pass_ep_disconnect(struct shim_object *ep, uint32_t flags);
DAT_RETURN pass_ep_reset(struct shim_object *ep);
DAT_RETURN pass_ep_free(struct shim_object *ep);
void pass_end_close(struct pass_ep *ep);
void pass_end_hold(struct pass_ep *ep, const struct kdapl_uapi_event *event);
void pass_end_go(struct pass_ep *ep);
bool pass_end_here(struct pass_ep *ep);
void pass_end_next(const struct pass_ep *ep, uint64_t looked, uint64_t *next);
void pass_end_want(struct pass_ep *ep);
bool pass_ended_unseen(const struct pass_ep *ep);

/* pass_keeper.c */
void pass_keeper_child(void);
bool pass_keeper_start(void);
uint64_t pass_keeper_round(void);
void pass_keeper_add(struct pass_ep *ep);
void pass_keeper_watch(struct pass_ep *ep);
void pass_keeper_unwatch(struct pass_ep *ep);
void pass_keeper_look(void);
void pass_keeper_nudge(struct pass_evd *evd);
bool pass_keeper_await(struct pass_ep *ep, bool (*done)(void *arg), void *arg, uint64_t until);
void pass_keeper_listen(void);
void pass_ep_unlock(struct pass_ep *ep);

/* pass_fence.c */
void pass_fence_posts(struct pass_ia *pia);
void pass_fence_binds(struct pass_ia *pia);
void pass_fence_key(struct pass_ia *pia, uint32_t lkey);

#endif /* PASSTHROUGH_H */
