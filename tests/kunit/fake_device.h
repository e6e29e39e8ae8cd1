/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A device without hardware behind the operations of glue.h and the calls
 * ib_post_send(), ib_post_recv() and ib_poll_cq().  It records what the core
 * asks, and nothing happens by itself.  The test plays the device and the peer:
 * it completes what was posted (in any order, or not at all), brings CM events,
 * and lets any operation fail.
 *
 * Around it, struct bench: an open adapter on such a device in a space of its
 * own, with the objects that most tests need.  bench_exit() closes everything
 * and fails the test if the core left anything of the device behind.
 */
#ifndef KDAPL_FAKE_DEVICE_H
#define KDAPL_FAKE_DEVICE_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include "core/core.h"
#include "core/drain.h"
#include "core/ep.h"
#include "core/ep_apply.h"
#include "core/ep_attr.h"
#include "core/evd_fifo.h"
#include "core/evd_run.h"
#include "core/evd_streams.h"
#include "core/ia.h"
#include "core/lmr.h"
#include "core/srq.h"

/* The return values that most tests expect */
#define DONE		((DAT_RETURN)DAT_SUCCESS)
#define IH(which)	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
#define IP(n)		DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define IS(which)	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_##which)
#define IR(which)	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, \
				  DAT_RESOURCE_##which)
#define MNS		DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define EMPTY		DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE)

/* Emulated machines are slow.  What has not come by then will not come. */
#define BENCH_PATIENCE	(120 * HZ)
/* Longer than a test: for a limit of the core that must not be over before the test says so. */
#define BENCH_AGES	(3600 * HZ)

enum fake_op {
	FAKE_CQ_CREATE,
	FAKE_CQ_RESIZE,
	FAKE_CQ_POLL,
	FAKE_CQ_ARM,
	FAKE_QP_CREATE,
	FAKE_QP_RTR,
	FAKE_QP_RTS,
	FAKE_QP_ERROR,
	FAKE_QP_DESTROY,
	FAKE_POST_SEND,
	FAKE_POST_NEXT,		/* a request of a chain, but for its first one */
	FAKE_POST_RECV,
	FAKE_SRQ_CREATE,
	FAKE_SRQ_RESIZE,
	FAKE_SRQ_ARM,
	FAKE_POST_SRQ_RECV,
	FAKE_CM_OPEN,
	FAKE_CM_RESOLVE,
	FAKE_CM_CONNECT,
	FAKE_CM_ESTABLISHED,
	FAKE_CM_ACCEPT,
	FAKE_CM_REJECT,
	FAKE_CM_DISCONNECT,
	FAKE_CM_DESTROY,
	FAKE_CM_LISTEN,
	FAKE_CM_UNLISTEN,
	FAKE_ZONE_CREATE,
	FAKE_REG,
	FAKE_MAP,
	FAKE_WINDOW_CREATE,
	FAKE_WINDOW_RENEW,
	FAKE_WINDOW_BIND,
	FAKE_ADDRESS,
	FAKE_NR_OPS
};

#define FAKE_DEPTH	64
#define FAKE_MAX_CQE	1024
#define FAKE_MAX_QLEN	(8 * FAKE_MAX_CQE)	/* of an EVD (E13) */
#define FAKE_MAX_MSG	SZ_1M
#define FAKE_ZONE_KEY	0x51

/* A work request as it was posted */
struct fake_wr {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	int send_flags;
	u64 remote_addr;
	u32 rkey;
	u32 immediate;
	u64 operands[2];	/* of an atomic: what is compared or added; what is swapped in */
	int access;
	u32 nr_sge;
	struct ib_sge sge[KDAPL_MAX_SGE];
};

/* What is posted to one queue of a queue pair and has not completed, oldest first */
struct fake_wr_list {
	struct fake_wr wr[FAKE_DEPTH];
	u32 nr;
};

/**
 * struct fake_cq - a completion queue
 * @ib: what the core sees
 * @fake: the device
 * @cq: the core's, with the handler
 * @wc: a ring of FAKE_MAX_CQE completions
 * @size: completions that it holds
 * @head: the oldest one in @wc
 * @nr: completions in @wc
 * @armed: the next completion calls the handler
 * @solicited_only: only if it is solicited or an error
 */
struct fake_cq {
	struct ib_cq ib;
	struct fake_device *fake;
	struct kdapl_cq *cq;
	struct ib_wc *wc;
	u32 size;
	u32 head;
	u32 nr;
	bool armed;
	bool solicited_only;
};

/**
 * struct fake_srq - a shared receive queue
 * @ib: what the core sees
 * @fake: the device
 * @rq: the core's
 * @limit: as it was armed; 0: it is not
 * @recv: receives that no queue pair has taken
 */
struct fake_srq {
	struct ib_srq ib;
	struct fake_device *fake;
	struct kdapl_shared_rq *rq;
	u32 limit;
	struct fake_wr_list recv;
};

/**
 * struct fake_qp - a queue pair
 * @ib: what the core sees
 * @entry: in fake_device.qps
 * @fake: the device
 * @qp: the core's
 * @send_cq: where requests complete
 * @recv_cq: where receives complete
 * @state: as the core moved it
 * @broken: what the core finds when it asks whether the queue pair is in error
 * @send: requests
 * @recv: receives
 */
struct fake_qp {
	struct ib_qp ib;
	struct list_head entry;
	struct fake_device *fake;
	struct kdapl_qp *qp;
	struct fake_cq *send_cq;
	struct fake_cq *recv_cq;
	enum ib_qp_state state;
	bool broken;
	struct fake_wr_list send;
	struct fake_wr_list recv;
};

/**
 * struct fake_id - a CM id
 * @id: what the core sees
 * @entry: in fake_device.ids
 * @fake: the device
 * @conn: whom its events go to; NULL for a listening id
 * @sp: whom its requests go to, for a listening id
 * @ref: one until it is destroyed, one for each fake_handler_lock()
 * @handler: held in callbacks
 * @caller: the task that is in a callback, or NULL
 * @accepted: the core accepted
 * @rejected: the core rejected for its consumer
 * @disconnected: the core sent or answered a disconnect
 * @resolution: work that its destruction waits for
 * @resolve_ms: the time of the last try to resolve the peer's address
 * @data: private data of the connect, accept or reject
 * @data_len: bytes of it
 */
struct fake_id {
	struct rdma_cm_id id;
	struct list_head entry;
	struct fake_device *fake;
	struct kdapl_conn *conn;
	struct kdapl_sp *sp;
	refcount_t ref;
	struct mutex handler;
	struct task_struct *caller;
	bool accepted;
	bool rejected;
	bool disconnected;
	struct delayed_work resolution;
	u32 resolve_ms;
	u8 data[KDAPL_REP_PRIVATE_DATA];
	u8 data_len;
};

/**
 * struct fake_device - the device and its records
 * @ib: what the core posts and polls through
 * @dev: what else the core sees
 * @lock: everything below; interrupts off; takes no other lock
 * @fail: what a coming call of each operation returns; 0: all succeed
 * @fail_in: how many calls come before that one
 * @calls: how often each operation was called, failed calls included
 * @hook: called once, without a lock, in the next call of @hook_op, to do what
 *	  another thread would do at that very moment
 * @hook_arg: for @hook
 * @hook_op: the operation that calls @hook
 * @answers_aside: sends whose success comes only when the core asks for what the device
 *		   has put aside
 * @hold_flush: a queue pair in error flushes nothing before fake_flush(), and the core
 *		waits for it until bench_no_flush()
 * @hold_wcs: who polls a completion queue finds nothing
 * @no_resize: what a resize of a completion queue answers; 0: it can be resized
 * @nr_unpaid_cqs: completion queues that nobody has paid for, made so far
 * @cq_short: a completion queue has so many entries less than it was asked for
 * @second: how far behind its address is the one that requests are sent to
 * @qps: live queue pairs, newest last
 * @next_qps: where the next queue pairs are made, since an allocator gives memory again
 * @ids: live CM ids, newest last
 * @io: work of the core had the driver allocate in a way that may start I/O
 * @nr_cqs: live completion queues
 * @nr_srqs: live shared receive queues
 * @nr_zones: live zones
 * @nr_regions: live regions
 * @nr_lists: lists that are mapped
 * @nr_windows: live windows
 * @next_num: the number that the last queue pair got
 * @next_key: the key that the last region or window got
 * @wait: woken by every operation
 */
struct fake_device {
	struct ib_device ib;
	struct kdapl_device *dev;
	spinlock_t lock;
	int fail[FAKE_NR_OPS];
	u32 fail_in[FAKE_NR_OPS];
	u32 calls[FAKE_NR_OPS];
	void (*hook)(void *arg);
	void *hook_arg;
	enum fake_op hook_op;
	u32 answers_aside;
	bool hold_flush;
	bool hold_wcs;
	int no_resize;
	u32 nr_unpaid_cqs;
	u32 cq_short;
	u32 second;
	struct list_head qps;
	struct list_head next_qps;
	struct list_head ids;
	bool io;
	u32 nr_cqs;
	u32 nr_srqs;
	u32 nr_zones;
	u32 nr_regions;
	u32 nr_lists;
	u32 nr_windows;
	u32 next_num;
	u32 next_key;
	wait_queue_head_t wait;
};

static inline DAT_RETURN fake_post(struct kdapl_space *space, DAT_EP_HANDLE ep,
				   enum kdapl_dto_kind kind, DAT_COUNT segments,
				   const DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote, u32 flags)
{
	const struct kdapl_dto dto = {
		.kind = kind,
		.segments = segments,
		.iov = iov,
		.cookie = cookie,
		.remote = remote,
		.flags = flags,
	};

	return kdapl_ep_post(space, ep, &dto);
}

static inline DAT_RETURN fake_post_send(struct kdapl_space *space,
					DAT_EP_HANDLE ep, DAT_COUNT segments,
					const DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, u32 flags)
{
	return fake_post(space, ep, KDAPL_DTO_SEND, segments, iov, cookie, NULL,
			 flags);
}

static inline DAT_RETURN fake_post_recv(struct kdapl_space *space,
					DAT_EP_HANDLE ep, DAT_COUNT segments,
					const DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, u32 flags)
{
	return fake_post(space, ep, KDAPL_DTO_RECV, segments, iov, cookie, NULL,
			 flags);
}

/* Makes a device with one port, the adapter "fake-PORT"; that of the bench is 1. */
struct fake_device *fake_create(u32 port);
void fake_destroy(struct fake_device *fake);
/* The adapter is "NAME-PORT" from now on; @name stays as long as the device. */
void fake_rename(struct fake_device *fake, const char *name);

/* The @nth call of @op from now on (1 is the next one) returns @error, once. */
void fake_fail(struct fake_device *fake, enum fake_op op, u32 nth, int error);
/* False when that call has come. */
bool fake_fails(struct fake_device *fake, enum fake_op op);
void fake_hook(struct fake_device *fake, enum fake_op op, void (*hook)(void *arg),
	       void *arg);

/* The newest queue pair, or CM id, of @ep; NULL if there is none. */
struct fake_qp *fake_qp_of(struct fake_device *fake, struct kdapl_ep *ep);
struct fake_id *fake_id_of(struct fake_device *fake, struct kdapl_ep *ep);

/* Calls the handler of an armed CQ, as for a completion that somebody has polled already. */
void fake_cq_event(struct fake_cq *cq);

/* Completes the @index'th outstanding request (or receive) of @qp. */
void fake_complete_send(struct fake_qp *qp, u32 index, enum ib_wc_status status);
void fake_complete_recv(struct fake_qp *qp, u32 index, enum ib_wc_status status,
			u32 length, bool solicited);
/* Completes the oldest receive with @wc, whose wr_id is filled in. */
void fake_complete_recv_as(struct fake_qp *qp, const struct ib_wc *wc);
/* A queue pair takes the oldest receive of @srq; false: there is none. */
bool fake_srq_take(struct fake_srq *srq, struct fake_wr *wr);
/* @qp completes a receive that it has taken. */
void fake_complete_srq(struct fake_qp *qp, const struct fake_wr *wr,
		       enum ib_wc_status status, u32 length);
/*
 * Completes the oldest request of an endpoint, whose connection may be ending;
 * false if there is none.
 */
bool fake_complete_any(struct fake_device *fake, struct kdapl_ep *ep);
/* Flushes everything that is outstanding. */
void fake_flush(struct fake_qp *qp);
/* A completion that belongs to no post, or that comes a second time */
void fake_stray(struct fake_cq *cq, u64 wr_id, enum ib_wc_status status);
/* The device reports something about a queue pair. */
void fake_queue_event(struct fake_qp *qp, enum ib_event_type event);
/* The device reports something about itself or its port. */
void fake_device_event(struct fake_device *fake, enum ib_event_type event);
/* Waits until @op was called @calls times in all; false when it was not. */
bool fake_wait_calls(struct fake_device *fake, enum fake_op op, u32 calls);
/* Waits until the call of fake_fail() has come; false when it has not. */
bool fake_wait_failed(struct fake_device *fake, enum fake_op op);

/*
 * What rdma_cm does around a callback.  The callback may have the id destroyed,
 * so a reference keeps it until the mutex has been left.
 */
void fake_handler_lock(struct fake_id *id);
void fake_handler_unlock(struct fake_id *id);
/* CM events; each takes the handler mutex */
void fake_resolved(struct fake_id *id);
void fake_unresolved(struct fake_id *id);
void fake_answered(struct fake_id *id, const void *data, u8 len);
void fake_rejected(struct fake_id *id, const void *data, u8 len);
void fake_confirmed(struct fake_id *id);
void fake_input(struct fake_id *id, enum kdapl_ep_input input);
void fake_peer_disconnected(struct fake_id *id);
/*
 * A request arrives at the listener of @port.  @request, unless NULL, gets the
 * request's own id.  Return: as kdapl_sp_request(); -ENOENT: nobody listens.
 */
int fake_request(struct fake_device *fake, u16 port, const void *data, u8 len,
		 struct fake_id **request);

/* The address of the adapter, and of a peer */
extern const struct sockaddr_in fake_address;
extern const struct sockaddr_in fake_peer;
#define FAKE_PEER	((struct sockaddr *)&fake_peer)

/**
 * struct bench - an open adapter and what a test needs most
 * @test: the test that runs
 * @fake: its device
 * @space: its space, a kernel consumer's
 * @ia: the adapter
 * @async: its asynchronous EVD (16 entries)
 * @pz: a zone
 * @evd: for every stream, 64 entries
 * @memory: PAGE_SIZE bytes
 * @lmr: over @memory, with all rights
 * @lmr_context: of @lmr
 * @stopped: an operation of the device is where bench_stop_at() stops it
 * @go_on: it may go on
 * @more: what a suite needs besides
 */
struct bench {
	struct kunit *test;
	struct fake_device *fake;
	struct kdapl_space space;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	void *memory;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	struct completion stopped;
	struct completion go_on;
	void *more;
};

#define BENCH_EVD_FLAGS	(DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG)

/*
 * For kunit_suite.suite_init and .suite_exit.  They make, and destroy, what the
 * core needs of the module's init, since kernels before 6.8 run the suites of a
 * module before its init.
 */
int core_up(struct kunit_suite *suite);
void core_down(struct kunit_suite *suite);

/* For kunit_suite.init and .exit; test->priv is the bench. */
int bench_init(struct kunit *test);
void bench_exit(struct kunit *test);

/* A bench with a device and a space, and no adapter yet; NULL without memory. */
struct bench *bench_bare(struct kunit *test);

/* These fail the test if the operation fails. */
DAT_EVD_HANDLE bench_evd(struct bench *b, DAT_COUNT qlen, DAT_EVD_FLAGS flags);
/* All three streams of the EP go to @evd; 8 DTOs each way, 4 segments. */
DAT_EP_HANDLE bench_ep(struct bench *b, DAT_EVD_HANDLE evd);
DAT_EP_HANDLE bench_ep_attr(struct bench *b, DAT_EVD_HANDLE recv,
			    DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
			    const DAT_EP_ATTR *attr);
/*
 * Connect actively: bench_request() until the request is out, bench_connect()
 * until the EP is connected.  bench_attempt() is bench_request() where the attempt
 * may fail: NULL if it has by then.
 */
struct fake_id *bench_attempt(struct bench *b, DAT_EP_HANDLE ep);
struct fake_id *bench_request(struct bench *b, DAT_EP_HANDLE ep);
void bench_connect(struct bench *b, DAT_EP_HANDLE ep);
/* The object behind a handle, and what belongs to it; good while the handle is. */
struct kdapl_ep *bench_ep_of(struct bench *b, DAT_EP_HANDLE ep);
struct fake_qp *bench_qp(struct bench *b, DAT_EP_HANDLE ep);
struct fake_id *bench_id(struct bench *b, DAT_EP_HANDLE ep);
DAT_EP_STATE bench_state(struct bench *b, DAT_EP_HANDLE ep);
/* Posts of one byte */
DAT_RETURN bench_recv(struct bench *b, DAT_EP_HANDLE ep, u64 cookie);
DAT_RETURN bench_send(struct bench *b, DAT_EP_HANDLE ep, u64 cookie, u32 flags);

/* Waits for the next event.  Its number; 0: none came in BENCH_PATIENCE. */
u32 bench_event(struct bench *b, DAT_EVD_HANDLE evd, DAT_EVENT *event);
/*
 * The next event has to be this one, or there must be none.  A failure tells
 * the line of the caller.
 */
#define expect_event(b, evd, number) \
	__expect_event(b, evd, number, __LINE__)
#define expect_dto(b, evd, cookie, status) \
	__expect_dto(b, evd, cookie, status, __LINE__)
#define expect_empty(b, evd)	__expect_empty(b, evd, __LINE__)
void __expect_event(struct bench *b, DAT_EVD_HANDLE evd, u32 number, int line);
void __expect_dto(struct bench *b, DAT_EVD_HANDLE evd, u64 cookie,
		  DAT_DTO_COMPLETION_STATUS status, int line);
void __expect_empty(struct bench *b, DAT_EVD_HANDLE evd, int line);
/* Waits until no work of the core is under way. */
void bench_settle(struct bench *b);
/*
 * The next call of @op does not return before bench_go_on(), or the end of the test;
 * bench_stopped() waits until it has come.  It must not be a call that interrupts make.
 */
void bench_stop_at(struct bench *b, enum fake_op op);
void bench_stopped(struct bench *b);
void bench_go_on(struct bench *b);

#endif /* KDAPL_FAKE_DEVICE_H */
