/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the glue offers to the core: devices, CQs, queue pairs, CM ids, memory regions.
 *
 * The core reaches a device only through the three tables of operations in struct kdapl_device,
 * but for posting and polling, which it has verbs do (struct kdapl_qp_ops); which implementations
 * there are (A9) is told in Documentation/overview.rst, The layers.  The contract of an operation
 * is here, at the table; the comments at the implementations say only how.
 *
 * Errors are negative errno here; the core turns them into DAT_RETURN.  When a device
 * or rdma_cm refuses a call, the glue traces that once, at the call (kdapl_error).
 *
 * Operations are called in process context and may sleep, except those marked "any
 * context", which may also be called in softirq context or, but not with PREEMPT_RT, with
 * interrupts off.
 */
#ifndef KDAPL_GLUE_H
#define KDAPL_GLUE_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <dat/kdat.h>
#include "dto/kind.h"
#include "charge.h"

struct file;
struct kdapl_device;
struct kdapl_conn;
struct kdapl_sp;
struct kdapl_listener;

/*
 * The most segments that one DTO can have.  A post builds the scatter list on the
 * stack, so this number bounds the stack that it needs.
 */
#define KDAPL_MAX_SGE	16
/*
 * Bytes of private data that rdma_cm carries on InfiniBand and RoCE with
 * RDMA_PS_TCP: the first number with a request, the second with an acceptance (facts 3).
 */
#define KDAPL_REQ_PRIVATE_DATA	56
#define KDAPL_REP_PRIVATE_DATA	196

/**
 * struct kdapl_cq - a completion queue, of an EVD or a registrar
 * @dev: the device it is on
 * @ib: the verbs object; NULL while there is none, and once the device is gone
 * @size: completions that it is sure to hold.  Never more than was asked for, even if the
 *	  device reports more (cq_holds())
 * @handler: called when the CQ is armed and a completion arrives.  On some
 *	     devices that is in hard interrupt context, so it may only schedule
 * @error: called when the CQ overflowed or failed (E68), in the same contexts
 *	   as @handler; may be NULL
 * @armed: the CQ was armed at least once, so a handler may have been started
 *	   that cq_destroy has to wait for
 * @user: made for a process, which is charged for it
 * @unpaid: made for a process, but not at its request (a service point provides the
 *	    endpoint), so no process was charged.  The process that first makes a queue pair
 *	    with it is charged (kdapl_cq_pay())
 * @charge: what the process was charged that made this CQ, or made it larger
 */
struct kdapl_cq {
	struct kdapl_device *dev;
	struct ib_cq *ib;
	u32 size;
	void (*handler)(struct kdapl_cq *cq);
	void (*error)(struct kdapl_cq *cq);
	bool armed;
	bool user;
	bool unpaid;
	struct kdapl_charge charge;
};

struct kdapl_user_hold;

/**
 * struct kdapl_qp - the queue pair of one connection, embedded in it
 * @dev: the device it is on
 * @ib: the verbs object; NULL while there is none
 * @hold: of a queue pair that a process has made: keeps it from being destroyed (uverbs.c)
 * @num: the queue pair number, which the CM tells the peer
 * @event: called with an event of the device about this queue pair (E70), in
 *	   any context, so it may only schedule; may be NULL
 * @charge: what the process was charged for which it was made
 */
struct kdapl_qp {
	struct kdapl_device *dev;
	struct ib_qp *ib;
	struct kdapl_user_hold *hold;
	u32 num;
	void (*event)(struct kdapl_qp *qp, enum ib_event_type event);
	struct kdapl_charge charge;
};

/**
 * struct kdapl_shared_rq - a shared receive queue of the device, embedded in its SRQ
 * @dev: the device it is on
 * @ib: the verbs object; NULL while there is none, and once the device is gone
 * @size: receives that it holds, no less than was asked for
 * @max_sge: segments of a receive
 * @event: called with an event of the device about it, in any context, so it may only schedule
 * @user: made for a process, which is charged for it
 * @charge: what the process was charged that made this queue, or made it larger
 */
struct kdapl_shared_rq {
	struct kdapl_device *dev;
	struct ib_srq *ib;
	u32 size;
	u32 max_sge;
	void (*event)(struct kdapl_shared_rq *rq, enum ib_event_type event);
	bool user;
	struct kdapl_charge charge;
};

/**
 * struct kdapl_qp_init - what a queue pair is made of
 * @pd: protection domain, from zone_pd
 * @send_cq: where requests complete
 * @recv_cq: where receives complete; may be @send_cq
 * @max_send_wr: work requests in the send queue at once
 * @srq: where it takes its receives from; NULL: it has a receive queue of its own
 * @max_recv_wr: receives in the receive queue at once; 0 with @srq
 * @max_send_sge: segments of a request, at least 1
 * @max_recv_sge: segments of a receive, at least 1
 * @user: made for the calling process, which is charged for it
 * @uverbs: only for a queue pair that a process has made: the uverbs file to which it
 *	    belongs.  Then only @qp_num, and whether @srq is NULL, matter of the other fields
 * @qp_num: number of that queue pair
 */
struct kdapl_qp_init {
	struct ib_pd *pd;
	struct kdapl_cq *send_cq;
	struct kdapl_cq *recv_cq;
	struct kdapl_shared_rq *srq;
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	bool user;
	struct file *uverbs;
	u32 qp_num;
};

/**
 * struct kdapl_qp_ops - operations on completion queues and queue pairs
 * @cq_create: make the CQ of a struct kdapl_cq whose @dev, @handler and @user
 *	       are set, for at least @cqe completions; fills @ib and @size,
 *	       which is below @cqe if the device gives less.
 *	       The caller is in the IA's section.  0; -EINVAL for a size that
 *	       the device cannot have; -EAGAIN: the process may have no more
 *	       objects; -ENOMEM: no memory, or more than the process may lock;
 *	       or another errno of the device
 * @cq_resize: give a CQ room for at least @cqe completions while it is
 *	       in use; what it holds stays in it.  Sets @size, as above.  The
 *	       caller is in the IA's section.  0; -EOPNOTSUPP or -ENOSYS where
 *	       the device cannot, which is every device from kernel 7.1 on;
 *	       -EINVAL for a size that the device cannot have or that is too
 *	       small for what the CQ holds; -EAGAIN and -ENOMEM as in cq_create
 * @cq_arm: have @handler called for the next completion, or with
 *	    @solicited only for the next one that is solicited or an error;
 *	    where the device cannot tell these apart, for any.
 *	    Any context. 0: armed; above 0: armed, but the CQ already holds
 *	    completions for which @handler may never be called, so the caller
 *	    has to poll again; or an errno
 * @cq_destroy: destroy a CQ that no queue pair uses and nobody arms any more;
 *	the completions in it are lost.  When this returns, @handler
 *	neither runs nor will be called (A10)
 * @create: make a queue pair.  On return it is in INIT, where receives
 *	    can be posted to it, and @num is set.  The caller is in the IA's
 *	    section.  0; -EAGAIN and -ENOMEM as in cq_create; or an errno of
 *	    the device
 * @move: move a queue pair to @state, RTR or RTS, with the attributes that
 *	  the handshake of @id has determined; @rd_atomic_in and @rd_atomic_out
 *	  are the RDMA reads that the peer and this side may have outstanding.
 *	  Only checks the port where the CM moves the queue pair
 *	  (kdapl_device.iwarp).  -ENODEV: the connection uses another port
 *	  than that of @dev
 * @error: move a queue pair to ERR, which flushes everything that is posted
 * @in_error: whether a queue pair is in ERR or SQE, or cannot even be queried.  Not
 *	 called on iWARP (kdapl_device.iwarp), where every end of a connection moves the
 *	 queue pair to ERR.  In kdapl_device.user_qp it is called on iWARP as well, and a
 *	 queue pair that cannot be queried does not count as broken, because the caller
 *	 asks again later; but one that its process has taken from RTS does, whatever its
 *	 state (not on iWARP).  Only asked once it has been in RTS
 * @seek_answers: for a queue pair whose peer has left.  Stops the sending of requests, and
 *	  makes the device process, soon after the return, the answers that it has
 *	  received and put aside.  False: the device puts no answers aside, or refused,
 *	  and nothing was done
 * @destroy: destroy a queue pair.  What is still posted gives no completion.  In
 *	     kdapl_device.user_qp: only let go of the queue pair; its process keeps it
 *	     unchanged, and can destroy it when this returns
 * @srq_create: make the queue of a struct kdapl_shared_rq whose @dev, @event and @user are
 *	set, for at least @max_wr receives of @max_sge segments.  The caller is in the
 *	IA's section.  0; -EAGAIN and -ENOMEM as in cq_create; or an errno of the device
 * @srq_resize: enlarge the queue, while it is in use, to at least @max_wr receives.  0;
 *	-ENOMEM as in cq_create; or an errno of the device, if it cannot
 * @srq_arm: ask for one IB_EVENT_SRQ_LIMIT_REACHED when the queue holds fewer than @limit
 *	receives; 0: for none.  Some devices check this only when a receive is taken.  0, or
 *	an errno
 * @srq_destroy: destroy a queue that no queue pair uses; the receives in it are lost
 * @check_file: in kdapl_device.user_qp only: 0 if @uverbs is a uverbs file of @dev;
 *	-EINVAL; -ENOMEM
 *
 * In kdapl_device.user_qp, @create takes hold of the queue pair that @init names, so that
 * its process cannot destroy it.  0; -EINVAL: @uverbs is not a uverbs file of the device, or
 * the queue pair is not RC, not in INIT (not checked on iWARP), or has a shared receive queue
 * while @init has none, or the other way round; -ENOENT: that file has no such queue pair;
 * -EBUSY: the queue pair is held already, or is being made or destroyed; -ENOMEM; or an errno
 * of the device.  There, the cq_* and srq_* operations are NULL.
 *
 * There are no entries for posting and polling: the core calls ib_post_send(),
 * ib_post_recv(), ib_post_srq_recv() and ib_poll_cq(), which go through the device's own
 * table, struct ib_device_ops.
 */
struct kdapl_qp_ops {
	int (*cq_create)(struct kdapl_cq *cq, u32 cqe);
	int (*cq_resize)(struct kdapl_cq *cq, u32 cqe);
	int (*cq_arm)(struct kdapl_cq *cq, bool solicited);
	void (*cq_destroy)(struct kdapl_cq *cq);

	int (*create)(struct kdapl_qp *qp, const struct kdapl_qp_init *init);
	int (*move)(struct kdapl_qp *qp, struct rdma_cm_id *id,
		    enum ib_qp_state state, u8 rd_atomic_in, u8 rd_atomic_out);
	int (*error)(struct kdapl_qp *qp);
	bool (*in_error)(struct kdapl_qp *qp);
	bool (*seek_answers)(struct kdapl_qp *qp);
	void (*destroy)(struct kdapl_qp *qp);
	int (*srq_create)(struct kdapl_shared_rq *rq, struct ib_pd *pd, u32 max_wr,
			  u32 max_sge);
	int (*srq_resize)(struct kdapl_shared_rq *rq, u32 max_wr);
	int (*srq_arm)(struct kdapl_shared_rq *rq, u32 limit);
	void (*srq_destroy)(struct kdapl_shared_rq *rq);
	int (*check_file)(struct kdapl_device *dev, struct file *uverbs);
};

/**
 * struct kdapl_cm_params - what travels with a connect or an accept
 * @qp_num: number of our queue pair
 * @rd_atomic_in: RDMA reads of the peer that may be outstanding at this side
 * @rd_atomic_out: RDMA reads of this side that may be outstanding at the peer
 * @private_data: the consumer's, may be NULL
 * @private_data_len: bytes, up to KDAPL_REQ_PRIVATE_DATA for a connect and
 *		      KDAPL_REP_PRIVATE_DATA for an accept
 */
struct kdapl_cm_params {
	u32 qp_num;
	u8 rd_atomic_in;
	u8 rd_atomic_out;
	const void *private_data;
	u8 private_data_len;
};

/**
 * struct kdapl_cm_ops - operations on CM ids: connections and listeners
 * @open: make an id for an active connection to @to, bound to a free local port
 *	  and to the address of @dev from which routing reaches @to.  Its events go
 *	  to the functions of core/input.h, with @conn
 * @resolve: start to resolve the peer's address, the same that open was given.
 *	     On success kdapl_conn_resolved() is called, on failure
 *	     kdapl_conn_unresolved() or kdapl_conn_input().  A link-local peer
 *	     without a scope id is looked for on the link of the address that open
 *	     has bound
 * @connect: send the request; only from within kdapl_conn_resolved().  On iWARP
 *	 (kdapl_device.iwarp) after it has returned, in a thread of the kernel and
 *	 without the handler mutex, because drivers wait here for the peer's TCP.
 *	 -ECONNREFUSED (iWARP): nobody listens there; other CMs report that by an event
 * @established: answer the peer's acceptance; only from within
 *	 kdapl_conn_answered()
 * @accept: accept a request; the caller holds the id's handler mutex (@lock)
 * @reject: reject a request for its consumer (A.7); @data: his private data, up to
 *	    KDAPL_REQ_PRIVATE_DATA bytes
 * @hand_over: have the id's events go to @conn from here on; the caller
 *	       holds the id's handler mutex (@lock)
 * @disconnect: start to disconnect, or answer a disconnect of the peer.
 *	Does not wait for the peer
 * @lock: take the id's handler mutex, which rdma_cm holds while it reports an
 *	  event of the id
 * @unlock: release the handler mutex
 * @destroy: destroy an id.  On return no callback of it runs or will
 *	     run, so it must not be called from one.  Drops the reference that
 *	     the id held on its conn
 * @listen: start to listen on @port at all addresses that @dev has in @net,
 *	    and at those that it gets later.  With @port 0 a port is chosen, and is
 *	    filled in.  Requests go to kdapl_sp_request(), which has room for @backlog of
 *	    them and refuses more; it refuses all that come before this has returned,
 *	    since it may still fail.  Each address takes an id (kdapl_sp_take_id()).
 *	    -EDQUOT: there are no more of them for its user.  -EADDRINUSE: @port is in use
 *	    at one of these addresses, or at all addresses of the host.  -EADDRNOTAVAIL: no
 *	    address can be bound, or no port is free
 * @unlisten: stop listening.  On return no kdapl_sp_request() runs or will run
 */
struct kdapl_cm_ops {
	int (*open)(struct kdapl_conn *conn, struct kdapl_device *dev,
		    struct net *net, const struct sockaddr *to,
		    struct rdma_cm_id **id);
	int (*resolve)(struct rdma_cm_id *id, const struct sockaddr *to,
		       u32 timeout_ms);
	int (*connect)(struct rdma_cm_id *id, const struct kdapl_cm_params *p);
	int (*established)(struct rdma_cm_id *id);
	int (*accept)(struct rdma_cm_id *id, const struct kdapl_cm_params *p);
	int (*reject)(struct rdma_cm_id *id, const void *data, u8 len);
	void (*hand_over)(struct rdma_cm_id *id, struct kdapl_conn *conn);
	int (*disconnect)(struct rdma_cm_id *id);
	void (*lock)(struct rdma_cm_id *id);
	void (*unlock)(struct rdma_cm_id *id);
	void (*destroy)(struct rdma_cm_id *id);
	int (*listen)(struct kdapl_sp *sp, struct kdapl_device *dev,
		      struct net *net, u16 *port, int backlog,
		      struct kdapl_listener **listener);
	void (*unlisten)(struct kdapl_listener *listener);
};

struct kdapl_zone;
struct kdapl_pages;
struct kdapl_window;

/**
 * struct kdapl_list - memory that comes as a scatterlist, for one transfer
 * @sg: the consumer's list; NULL: there is none
 * @entries: number of entries of @sg
 * @offset: bytes of the list in front of the memory
 * @length: bytes of memory
 * @start: the address of the first byte for the consumer and its peers: 0, or the byte's
 *	   offset in its page if a window may show the memory
 * @direction: what the device does with the memory
 */
struct kdapl_list {
	struct scatterlist *sg;
	u32 entries;
	u32 offset;
	u64 length;
	u64 start;
	enum dma_data_direction direction;
};

/*
 * Finds the entry of a mapped list that holds the byte at *@offset, and makes *@offset relative
 * to the start of that entry.
 */
static inline struct scatterlist *kdapl_sg_seek(struct scatterlist *sg, u64 *offset)
{
	for (; *offset >= sg_dma_len(sg); sg = sg_next(sg))
		*offset -= sg_dma_len(sg);
	return sg;
}

/**
 * struct kdapl_region_init - memory to register
 * @user: @start is an address of the calling process
 * @physical: only without @user: @start is a physical address; otherwise it is a
 *	      kernel virtual address, of the linear map, of vmalloc or of module data
 * @source: not NULL: register the pages of this region once more; they stay
 *	    until the last region over them is gone (mt:M8).  @user, @physical,
 *	    @start, @length and @pages are ignored then
 * @former: not NULL: a region whose pages cannot be registered once more.  @start and @length
 *	    are its own, and @pages have to be the same pages (mt:M7)
 * @start: first byte; need not be aligned
 * @length: bytes, not 0; need not be whole pages
 * @access: IB_ACCESS_*; reg adds local write where verbs require it
 * @pages: the pages of a process, which pin has filled in
 */
struct kdapl_region_init {
	bool user;
	bool physical;
	struct kdapl_region *source;
	struct kdapl_region *former;
	u64 start;
	u64 length;
	int access;
	struct kdapl_pages *pages;
};

/*
 * The access that another region may have that has this region as its source (mt:M7).
 * For more access the process has to pin the memory again (kdapl_region_init.former).
 */
enum kdapl_share {
	KDAPL_SHARE_NONE,
	KDAPL_SHARE_READ,
	KDAPL_SHARE_WRITE,
};

/**
 * struct kdapl_region - registered memory: pages, their DMA mapping, one MR
 * @start: the first byte as the consumer named it.  It is the MR's address too,
 *	   so the segments of a post, the local check and the peer's RDMA all
 *	   count from the same number
 * @length: bytes
 * @lkey: the device's key for local access
 * @rkey: the device's key for the peer; 0 without remote access
 * @share: an enum kdapl_share
 */
struct kdapl_region {
	u64 start;
	u64 length;
	u32 lkey;
	u32 rkey;
	u8 share;
};

/**
 * struct kdapl_bind_wr - the work requests of one bind, on the poster's stack
 * @first: head of a chain of one or two work requests, to be posted together
 * @last: end of that chain; its completion is that of the bind
 * @rkey: the window's key once @last has completed; 0 for an unbind
 * @inv: room for a request that takes the former key back
 * @reg: room for a request that registers the new range
 * @nop: room for a request that does nothing but complete
 */
struct kdapl_bind_wr {
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 rkey;
	struct ib_send_wr inv;
	struct ib_reg_wr reg;
	struct ib_rdma_wr nop;
};

/**
 * struct kdapl_mr_ops - operations on zones, memory regions and windows
 * @zone_create: make a protection domain.  With @user the calling process is
 *		 charged for it, and a process that makes something in it is
 *		 charged for that.  The caller is in the IA's section.  The
 *		 zone, or an error pointer: -EAGAIN: the process may have no more
 *		 objects; -ENOMEM; or what the device says
 * @zone_destroy: undo zone_create; no region, window or queue pair is left in
 *		  the zone
 * @zone_pd: the protection domain, for queue pairs.  Any context
 * @pin: pin memory of the calling process, fill in @pages.  Does not touch the
 *	 device, so it runs outside the IA's section: a process whose own pager
 *	 does not answer must not hold up the removal of the device (A10).  0;
 *	 -EFAULT: not mapped, or not readable; -EACCES: mapped, but not writable;
 *	 -ENOMEM: no memory, or more than the process may lock; -E2BIG: more
 *	 pages than can be counted.  NULL where regions need no pages
 * @unpin: give back pages that reg did not take over; NULL if pin is NULL
 * @reg: register memory; both keys work when this returns.  Memory of a process
 *	 is registered in that process, after pin.  Takes @pages over, even if
 *	 it fails.  The caller is in the IA's section.  The region, or an
 *	 error pointer: the codes of pin; -EFAULT also for memory that is not
 *	 RAM, or not that of @former any more; -E2BIG also for more pages than
 *	 the device can map at once; or what the device says
 * @dereg: unregister a region that no post names any more.  When this returns,
 *	   neither key gives access, and the pages are unmapped and unpinned unless
 *	   another region shares them.  In any process, also while the device is
 *	   being removed
 * @sync: make @length bytes at @offset of a region coherent for the CPU or for
 *	  the device, on machines that need it.  Any context
 * @map: map a scatterlist of the kernel for DMA; its entries then have DMA addresses,
 *	 which work requests use with @zone_key.  Any context.  0; -ENOMEM
 * @unmap: undo map.  The device does not touch the memory any more.  Any context
 * @zone_key: the local key for the DMA addresses of map.  Any context
 * @window_create: make a window that shows nothing and can show at most @pages pages, which
 *		   is no more than kdapl_device.max_window_pages.  The caller is in the IA's
 *		   section.  The window, or an error pointer: -EOPNOTSUPP if @pages is 0: the
 *		   device can have no windows
 * @window_destroy: destroy a window whose last bind is complete, or whose queue
 *		    pair is gone.  When this returns, no key of the window gives
 *		    access
 * @window_renew: after a bind that failed: replace the window's memory regions, as
 *		  window_destroy and window_create together would.  0, or an errno: then
 *		  the window cannot be bound, only be renewed again or destroyed
 * @window_empty: give the window's memory regions back, which leaves it as a renewal does that
 *		  has failed
 * @window_bind: fill in the work requests that make the window show @length bytes of
 *		 @region from @start on, or nothing if @length is 0.  The region must
 *		 stay until the window shows something else.  Any context; one bind
 *		 at a time.  0; -E2BIG: more pages than the window can show; -ENOMEM: the
 *		 last renewal has failed
 * @window_bind_list: the same for a whole mapped list, at kdapl_list.start.  -E2BIG also
 *		      if the list has gaps within a page
 * @window_bound: the work requests of window_bind have completed.  Any context
 * @window_taken: a peer has invalidated the key of what the window shows, so the next
 *		  window_bind must not invalidate it again.  Any context
 * @window_keys: the keys of both memory regions of a window; 0 for one that does not
 *		 exist.  Only their lowest byte changes with binds.  Not during window_renew
 */
struct kdapl_mr_ops {
	struct kdapl_zone *(*zone_create)(struct kdapl_device *dev, bool user);
	void (*zone_destroy)(struct kdapl_zone *zone);
	struct ib_pd *(*zone_pd)(struct kdapl_zone *zone);
	int (*pin)(struct kdapl_device *dev, struct kdapl_region_init *init);
	void (*unpin)(struct kdapl_pages *pages);
	struct kdapl_region *(*reg)(struct kdapl_zone *zone,
				    struct kdapl_region_init *init);
	void (*dereg)(struct kdapl_region *region);
	void (*sync)(struct kdapl_region *region, u64 offset, u64 length,
		     bool for_cpu);
	int (*map)(struct kdapl_device *dev, struct kdapl_list *list);
	void (*unmap)(struct kdapl_device *dev, const struct kdapl_list *list);
	u32 (*zone_key)(struct kdapl_zone *zone);
	struct kdapl_window *(*window_create)(struct kdapl_zone *zone, u32 pages);
	void (*window_destroy)(struct kdapl_window *window);
	int (*window_renew)(struct kdapl_window *window);
	void (*window_empty)(struct kdapl_window *window);
	int (*window_bind)(struct kdapl_window *window,
			   struct kdapl_region *region, u64 start, u64 length,
			   int access, struct kdapl_bind_wr *wr);
	int (*window_bind_list)(struct kdapl_window *window,
				const struct kdapl_list *list, int access,
				struct kdapl_bind_wr *wr);
	void (*window_bound)(struct kdapl_window *window);
	void (*window_taken)(struct kdapl_window *window);
	void (*window_keys)(const struct kdapl_window *window, u32 *keys);
};

/**
 * struct kdapl_pager - a thread whose memory the driver pins, and that may thus wait for a
 * page that its process has to provide itself (FUSE, userfaultfd), while it holds the device
 * @entry: in kdapl_device.pagers
 * @task: the thread
 */
struct kdapl_pager {
	struct list_head entry;
	struct task_struct *task;
};

/**
 * struct kdapl_address - an IP address of a port
 * @sa: its family says whether @in or @in6 is valid
 * @in: IPv4
 * @in6: IPv6, with the scope id if it is link-local
 * @ifindex: number of the net device that has it
 */
struct kdapl_address {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	};
	int ifindex;
};

typedef void (*kdapl_address_fn)(const struct kdapl_address *addr, void *arg);

/*
 * What a process in passthrough has to know about a device and its verbs library.  The values
 * are those of KDAPL_VERBS_* of the ABI.
 */
#define KDAPL_HINT_SYNC_STATE	0x1	/* the library caches the state of queue pairs */
#define KDAPL_HINT_MUTE_FAULTS	0x2	/* see kdapl_device.mute_faults */
#define KDAPL_HINT_WIDE_WINDOWS	0x4	/* a window gives access to all of its region */
#define KDAPL_HINT_TELLS_LAST	0x8	/* see kdapl_device.srq_tells_last */
#define KDAPL_HINT_SRQ_KEEPS	0x10	/* see kdapl_device.srq_keeps */
#define KDAPL_HINT_UNSOLICITED	0x20	/* see kdapl_driver_never_solicited() */
#define KDAPL_HINT_LATE_CQS	0x40	/* see kdapl_driver_leaves_tasklet() */
/* From the process to the kernel: the process also makes the queues of its SRQs. */
#define KDAPL_HINT_OWN_SRQS	0x10000
/*
 * From the process: its user has asked for passthrough.  In kdapl_device.verbs_hints: the device
 * allows passthrough only to a process that has said so.
 */
#define KDAPL_HINT_ASKED	0x20000

/* Counters of an adapter, for monitoring.  A DTO that is posted and completes touches none. */
enum kdapl_count {
	KDAPL_COUNT_ESTABLISHED,
	KDAPL_COUNT_DISCONNECTED,
	KDAPL_COUNT_BROKEN,
	KDAPL_COUNT_REJECTED,		/* by the peer */
	KDAPL_COUNT_UNREACHABLE,
	KDAPL_COUNT_TIMED_OUT,
	KDAPL_COUNT_ACCEPT_FAILED,
	KDAPL_COUNT_REQUESTS,		/* requests of peers that became CRs */
	KDAPL_COUNT_TURNED_AWAY,	/* requests of peers that did not */
	KDAPL_COUNT_DRAINS,
	KDAPL_COUNT_FLUSHES,
	KDAPL_COUNT_POSTS_REFUSED,	/* because of the state of the endpoint */
	KDAPL_NR_COUNTS
};

/**
 * struct kdapl_device - one port of an RDMA device: what an IA opens
 * @name: "<device>-<port>", the name in the registry
 * @ib_name: "<device>", a copy of the name of @ib, because a rename frees that name even
 *	     while somebody reads it
 * @ref: one reference for each open IA, and one until kdapl_device_remove()
 * @entry: in the registry (glue/device.c)
 * @visit_lock: held during a walk over all IAs, so that walks come one after the other
 * @ias_lock: protects @ias, @pagers and @visited, and is held when @gone is set; a leaf
 *	      lock, taken in process context only
 * @ias: open IAs (kdapl_ia.on_dev)
 * @visited: the entry of the IA for which a walk calls its function just now
 *	     (kdapl_ia_removed(), kdapl_ia_async(), ...), or NULL
 * @wait: woken when @visited changes, and when @pagers is empty again
 * @ib: the RDMA device, not to be used any more once @gone
 * @port: number of the port
 * @attrs: the device's limits as the kernel reports them, but for
 *	   kdapl_driver_page_sizes()
 * @max_msg_sz: bytes of the longest message
 * @mr_shift: of the pages, in its terms, of most MRs (kdapl_mr_first_shift()): those of the kernel,
 *	      or smaller ones
 * @max_frmr_pages: pages of the device that one fast-registration MR maps
 * @max_window_pages: pages of the kernel that a window maps; 0: there can be no windows
 * @max_segment: bytes of the longest entry of a scatter list
 * @driver_pins: the driver can register memory of a process itself
 * @driver_only: the driver has to register memory of processes itself, because
 *		 registration by work requests does not work for it with this driver
 *		 (kdapl_driver_only())
 * @vendor: name of the driver's module, or the vendor's number
 * @sync_needed: memory has to be synchronised by hand (mr->sync)
 * @cq_fixed: CQs cannot be resized.  Known from the beginning, or set once cq_resize has
 *	      said so; it is not called then any more, because some devices print a line
 *	      at each attempt
 * @iwarp: the port speaks iWARP: the CM moves a queue pair to RTS, the device moves it to
 *	   ERR when the connection ends, however it ends, and the CM tells of that end
 * @mute_faults: if the memory of a request is gone, the send queue may stop for
 *		 ever without a completion that reports it
 * @extensions: KDAPL_CAN_*, requests that DAT 1.2 does not have and the kernel can post
 * @answers_atomics: the device carries out atomics of a peer, and those that a process posts to a
 *		     queue pair of its own
 * @srq_arms: the device has a low watermark for shared receive queues (srq_arm works)
 * @srq_tells_last: the device raises IB_EVENT_QP_LAST_WQE_REACHED when a queue pair in the
 *		    error state takes no more receives from its shared receive queue and has
 *		    completed those that it took
 * @srq_keeps: a queue pair takes receives from a shared receive queue in the order of
 *	       posting, and may be destroyed without having completed the last one it took
 * @srq_zone_of_qp: the memory of a receive from a shared receive queue is checked against the
 *		    zone of the queue pair that takes it, not against that of the shared
 *		    receive queue
 * @answer_time: jiffies; how much later than a peer's disconnect its answers to our requests
 *		 may arrive, since the disconnect travels through another queue pair; 0:
 *		 they are never later
 * @close_time: jiffies; how long a close waits for a peer to answer a disconnect
 * @qp: operations on CQs and queue pairs
 * @user_qp: operations on queue pairs that processes have made; NULL where the driver does
 *	     not let the kernel move these
 * @verbs_hints: KDAPL_HINT_*, what such processes need to know
 * @cm: operations on CM ids
 * @mr: operations on memory
 * @addresses: calls @fn for each present address of the port in the namespace @net, and
 *	       not at all if that namespace may not use the device; may sleep, but @fn
 *	       must not
 * @async: receives port and device events
 * @pagers: threads whose memory the driver pins just now (struct kdapl_pager), under
 *	    @ias_lock
 * @gone: the device is being removed or was removed: @ib must not be used any more
 * @told: how often a client has been told of the device (clients.c); written with the
 *	  registry's lock held
 * @renames: how often @name has changed; written with the registry's lock held
 * @number: counts the devices in the order in which they appeared, and is never used again;
 *	    the registry is in this order
 * @counts: kdapl_count()
 */
struct kdapl_device {
	char name[DAT_NAME_MAX_LENGTH];
	char ib_name[IB_DEVICE_NAME_MAX];
	refcount_t ref;
	struct list_head entry;
	struct mutex visit_lock;
	spinlock_t ias_lock;
	struct list_head ias;
	struct list_head *visited;
	wait_queue_head_t wait;
	struct ib_device *ib;
	u32 port;
	struct ib_device_attr attrs;
	u32 max_msg_sz;
	unsigned int mr_shift;
	u32 max_frmr_pages;
	u32 max_window_pages;
	u32 max_segment;
	bool driver_pins;
	bool driver_only;
	char vendor[32];
	bool sync_needed;
	bool cq_fixed;
	bool iwarp;
	bool mute_faults;
	u32 extensions;
	bool answers_atomics;
	bool srq_arms;
	bool srq_tells_last;
	bool srq_keeps;
	bool srq_zone_of_qp;
	unsigned long answer_time;
	unsigned long close_time;
	const struct kdapl_qp_ops *qp;
	const struct kdapl_qp_ops *user_qp;
	u32 verbs_hints;
	const struct kdapl_cm_ops *cm;
	const struct kdapl_mr_ops *mr;
	void (*addresses)(struct kdapl_device *dev, struct net *net,
			  kdapl_address_fn fn, void *arg);
	struct ib_event_handler async;
	struct list_head pagers;
	bool gone;
	u32 told;
	u32 renames;
	u64 number;
	atomic64_t counts[KDAPL_NR_COUNTS];
};

/* Any context. */
static inline void kdapl_count(struct kdapl_device *dev, enum kdapl_count what)
{
	atomic64_inc(&dev->counts[what]);
}

/* On kernel verbs: in qp.c, cq.c and srq.c; cm.c and listen.c; mr.c, sgl.c and window.c */
extern const struct kdapl_qp_ops kdapl_ib_qp_ops;
extern const struct kdapl_cm_ops kdapl_ib_cm_ops;
extern const struct kdapl_mr_ops kdapl_ib_mr_ops;
/* Variants for ports that speak iWARP */
extern const struct kdapl_qp_ops kdapl_iw_qp_ops;
extern const struct kdapl_cm_ops kdapl_iw_cm_ops;

/* address.c */
u16 kdapl_port_of(const struct sockaddr_storage *addr);

/* qp_user.c */
const struct kdapl_qp_ops *kdapl_user_qp_ops_of(const struct ib_device *ib, bool iwarp,
						u32 *hints);

/* mr.c */
unsigned int kdapl_mr_first_shift(u64 sizes, unsigned int most);

/* window.c */
u32 kdapl_window_pages(const struct ib_device *ib, unsigned int mr_shift);

/* device.c */
int kdapl_device_init(void);
void kdapl_device_exit(void);
struct kdapl_device *kdapl_device_alloc(void);
void kdapl_device_add(struct kdapl_device *dev);
void kdapl_device_remove(struct kdapl_device *dev);
void kdapl_device_renamed(struct ib_device *ib);
int kdapl_device_address(struct kdapl_device *dev, struct net *net,
			 struct sockaddr_storage *addr);
struct kdapl_device *kdapl_device_get(const char *name, struct net *net);
void kdapl_device_put(struct kdapl_device *dev);
int kdapl_device_for_each(struct net *net,
			  int (*fn)(struct kdapl_device *dev, void *arg),
			  void *arg);
bool kdapl_device_attach(struct kdapl_device *dev, struct list_head *on_dev);
void kdapl_device_detach(struct kdapl_device *dev, struct list_head *on_dev);
int kdapl_device_begin_paging(struct kdapl_device *dev, struct kdapl_pager *pager);
void kdapl_device_end_paging(struct kdapl_device *dev, struct kdapl_pager *pager);
void kdapl_device_walk_ias(struct kdapl_device *dev,
			   void (*fn)(struct list_head *on_dev, void *arg),
			   void *arg);

/* cq.c */
void kdapl_cq_sync_handlers(void);

/* wc.c */
DAT_DTO_COMPLETION_STATUS kdapl_wc_status(enum ib_wc_status status);

#endif /* KDAPL_GLUE_H */
