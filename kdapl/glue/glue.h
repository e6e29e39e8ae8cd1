/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the core may ask of the glue: devices, completion queues, queue pairs,
 * CM ids, memory regions.  Everything goes through three tables of operations
 * of the device, with a kernel-verbs implementation here in glue/ and a
 * scripted one in tests/kunit/ (A9).  Errors are negative errno in the glue;
 * the core turns them into DAT_RETURN.
 *
 * Calls are process context and may sleep, except cq_arm, which works in any
 * context.
 */
#ifndef KDAPL_GLUE_H
#define KDAPL_GLUE_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <dat/kdat.h>

struct kdapl_device;
struct kdapl_conn;
struct kdapl_sp;

/* What one request or receive may carry; a work request lives on the stack. */
#define KDAPL_MAX_SGE	16
/* rdma_cm over InfiniBand and RoCE, RDMA_PS_TCP (facts 3) */
#define KDAPL_REQ_PRIVATE_DATA	56
#define KDAPL_REP_PRIVATE_DATA	196

/*
 * struct kdapl_cq - a completion queue, embedded in an EVD
 * @ib: the verbs object; NULL when there is none (no DTO stream, device gone)
 * @handler: called when armed and a completion arrived; any context, may only
 *	     schedule
 * @error: called when the queue overflowed or failed (E68); any context, may
 *	   only schedule; may be NULL
 * @armed: it was armed at least once; for cq_destroy
 */
struct kdapl_cq {
	struct kdapl_device *dev;
	struct ib_cq *ib;
	u32 size;
	void (*handler)(struct kdapl_cq *cq);
	void (*error)(struct kdapl_cq *cq);
	bool armed;
};

/*
 * struct kdapl_qp - the queue of one connection, embedded in it
 * @ib: the verbs object; NULL when there is none
 * @num: queue pair number, for the CM
 * @event: an event of the device about this queue (E70); any context, may only
 *	   schedule; may be NULL
 */
struct kdapl_qp {
	struct kdapl_device *dev;
	struct ib_qp *ib;
	u32 num;
	void (*event)(struct kdapl_qp *qp, enum ib_event_type event);
};

struct kdapl_qp_init {
	struct ib_pd *pd;
	struct kdapl_cq *send_cq;
	struct kdapl_cq *recv_cq;
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
};

/*
 * struct kdapl_qp_ops - completion queues and queue pairs
 *
 * What is done once in the life of a queue.  Posting and polling need no entry
 * here: the core calls ib_post_send(), ib_post_recv() and ib_poll_cq(), which go
 * through the table of the device itself, @ib of the queue.
 *
 * @cq_create: fill @cq->ib and @cq->size (at least @cqe)
 * @cq_resize: -EOPNOTSUPP where the device cannot
 * @cq_arm: > 0: completions came in meanwhile, poll again
 * @cq_destroy: waits until no handler can run any more (A10)
 * @create: the queue is in INIT and takes receives when this returns
 * @move: to RTR or RTS as @id's handshake says
 * @error: move to ERR; every posted request will be flushed
 * @in_error: is it in ERR or SQE by itself?  May sleep
 * @destroy: nothing posted may be left
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
	void (*destroy)(struct kdapl_qp *qp);
};

/*
 * struct kdapl_cm_params - what travels with a connect or an accept
 * @qp_num: of our queue
 * @rd_atomic_in: RDMA reads the peer may have outstanding here
 * @rd_atomic_out: RDMA reads we may have outstanding there
 */
struct kdapl_cm_params {
	u32 qp_num;
	u8 rd_atomic_in;
	u8 rd_atomic_out;
	const void *private_data;
	u8 private_data_len;
};

/*
 * struct kdapl_cm_ops - connections, on rdma_cm
 * @open: a new id for an active connection, bound to @dev's address, a local
 *	  port chosen; events go to core/input.h with @conn
 * @resolve: start address resolution; kdapl_conn_resolved() follows, or an
 *	     input
 * @connect: from within kdapl_conn_resolved() only
 * @established: answer the peer's acceptance; from within
 *		 kdapl_conn_answered() only
 * @accept: caller holds the id's handler lock (@lock)
 * @reject: @mark says that a consumer rejects (A.7)
 * @hand_over: @id's events go to @conn from here on; caller holds the id's
 *	       handler lock (@lock)
 * @disconnect: start or answer; never waits for the peer
 * @destroy: no callback runs or will run when this returns; not from a
 *	     callback of the same id.  Drops the callback's reference of conn
 * @listen: start listening at @dev's address on @port (0: any, filled in before
 *	    the first request); requests go to kdapl_sp_request().  -EADDRINUSE as
 *	    it says
 * @unlisten: no kdapl_sp_request() runs or will run when this returns
 */
struct kdapl_cm_ops {
	int (*open)(struct kdapl_conn *conn, struct kdapl_device *dev,
		    struct net *net, struct rdma_cm_id **id);
	int (*resolve)(struct rdma_cm_id *id, const struct sockaddr *to,
		       u32 timeout_ms);
	int (*connect)(struct rdma_cm_id *id, const struct kdapl_cm_params *p);
	int (*established)(struct rdma_cm_id *id);
	int (*accept)(struct rdma_cm_id *id, const struct kdapl_cm_params *p);
	int (*reject)(struct rdma_cm_id *id, bool mark);
	void (*hand_over)(struct rdma_cm_id *id, struct kdapl_conn *conn);
	int (*disconnect)(struct rdma_cm_id *id);
	void (*lock)(struct rdma_cm_id *id);
	void (*unlock)(struct rdma_cm_id *id);
	void (*destroy)(struct rdma_cm_id *id);
	int (*listen)(struct kdapl_sp *sp, struct kdapl_device *dev,
		      struct net *net, u16 *port, int backlog,
		      struct rdma_cm_id **id);
	void (*unlisten)(struct rdma_cm_id *id);
};

struct kdapl_zone;
struct kdapl_pages;
struct kdapl_window;

/*
 * struct kdapl_region_init - memory to register
 * @user: @start is an address of the calling process
 * @physical: @start is a physical address, else a kernel virtual address
 *	      (linear map or vmalloc)
 * @source: not NULL: the same pages as this region, which stay until the last
 *	    region over them is gone (mt:M8); @user, @physical are ignored
 * @start, @length: bytes; no alignment is asked
 * @access: IB_ACCESS_*; the glue adds local write where a device needs it
 * @pages: of a process, from @pin
 */
struct kdapl_region_init {
	bool user;
	bool physical;
	struct kdapl_region *source;
	u64 start;
	u64 length;
	int access;
	struct kdapl_pages *pages;
};

/* kdapl_region.share */
enum kdapl_share {
	KDAPL_SHARE_NONE,
	KDAPL_SHARE_READ,
	KDAPL_SHARE_WRITE,
};

/*
 * struct kdapl_region - registered memory: pages, their DMA mapping, one MR
 * @share: KDAPL_SHARE_*, what another region may do that has this one as its
 *	   source; for more the process has to pin the memory again
 *
 * The MR's address is @start (the consumer's own number), so that triplets, the
 * local check and the wire use the same addresses.
 */
struct kdapl_region {
	u64 start;
	u64 length;
	u32 lkey;
	u32 rkey;
	u8 share;
};

/*
 * struct kdapl_bind_wr - the work requests of one bind, in the poster's memory
 * @first, @last: a chain of one or two, to be posted together
 * @rkey: of the window once @last has completed; 0 when it is unbound
 * @inv, @reg, @nop: what they may be
 */
struct kdapl_bind_wr {
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 rkey;
	struct ib_send_wr inv;
	struct ib_reg_wr reg;
	struct ib_rdma_wr nop;
};

/*
 * struct kdapl_mr_ops - protection domains, memory regions, windows upon them
 * @zone_create: a protection domain and, where kernel memory can be
 *		 registered, its registrar (A6)
 * @zone_destroy: nothing registered may be left
 * @zone_pd: for queue pairs
 * @pin: memory of the calling process is pinned for @reg, outside the section of
 *	 an IA, for as long as the process's own pager likes (A10); does not
 *	 touch the device.  Errors as @reg.  May be NULL
 * @unpin: pages that @reg did not take over; with @pin
 * @reg: register; complete when it returns.  Takes @init->pages over, on failure
 *	 too.  -EFAULT: not mapped as asked, -EACCES: not writable as asked,
 *	 -ENOMEM, -E2BIG: beyond the device's limits
 * @dereg: neither key admits anything when this returns; unpin, unmap, free
 * @sync: for the CPU or for the device, on devices that need it; any context
 * @window_create: not bound.  -EOPNOTSUPP where the device has no fast
 *		   registration
 * @window_destroy: no key of the window admits anything when this returns
 * @window_renew: after a bind that failed: as if destroyed and created.  On
 *		  failure it is not to be bound, only to be renewed again or
 *		  destroyed
 * @window_bind: what to post, to show @length bytes of @region from @start on,
 *		 or nothing for @length 0; one bind at a time.  Any context.
 *		 -E2BIG: more pages than a window has
 * @window_bound: the bind has completed; any context
 */
struct kdapl_mr_ops {
	struct kdapl_zone *(*zone_create)(struct kdapl_device *dev);
	void (*zone_destroy)(struct kdapl_zone *zone);
	struct ib_pd *(*zone_pd)(struct kdapl_zone *zone);
	int (*pin)(struct kdapl_device *dev, struct kdapl_region_init *init);
	void (*unpin)(struct kdapl_pages *pages);
	struct kdapl_region *(*reg)(struct kdapl_zone *zone,
				    struct kdapl_region_init *init);
	void (*dereg)(struct kdapl_region *region);
	void (*sync)(struct kdapl_region *region, u64 offset, u64 length,
		     bool for_cpu);
	struct kdapl_window *(*window_create)(struct kdapl_zone *zone);
	void (*window_destroy)(struct kdapl_window *window);
	int (*window_renew)(struct kdapl_window *window);
	int (*window_bind)(struct kdapl_window *window,
			   struct kdapl_region *region, u64 start, u64 length,
			   int access, struct kdapl_bind_wr *wr);
	void (*window_bound)(struct kdapl_window *window);
};

/*
 * struct kdapl_device - one port of an RDMA device: what an IA opens
 * @name: "<device>-<port>", the registry name
 * @ref: open IAs and the client's own
 * @lock: @ias, @removing, changes of @gone; interrupts off.  Events go to the
 *	  IAs under it
 * @ias: open IAs (kdapl_ia.on_dev)
 * @removing: the one of @ias that kdapl_ia_removed() is running for
 * @wait: woken when @removing changes
 * @attrs: the device's limits as the kernel reports them
 * @max_frmr_pages: pages one fast-registration MR maps
 * @max_segment: bytes of the longest entry of a scatter list
 * @driver_pins: the driver can register memory of a process itself
 * @vendor: name of the driver, or the vendor's number
 * @sync_needed: memory has to be synchronised by hand (mr->sync)
 * @mute_faults: a request whose memory is gone may stop the send queue for ever,
 *		 and no completion tells
 * @address: the port's present address in a namespace, -ENODEV; may sleep
 * @async: raises port and device events to the IAs
 * @gone: the device is being removed or was: @ib must not be used any more
 */
struct kdapl_device {
	char name[DAT_NAME_MAX_LENGTH];
	refcount_t ref;
	struct list_head entry;
	spinlock_t lock;
	struct list_head ias;
	struct list_head *removing;
	wait_queue_head_t wait;
	struct ib_device *ib;
	u32 port;
	struct ib_device_attr attrs;
	u32 max_msg_sz;
	u32 max_frmr_pages;
	u32 max_segment;
	bool driver_pins;
	char vendor[32];
	bool sync_needed;
	bool mute_faults;
	const struct kdapl_qp_ops *qp;
	const struct kdapl_cm_ops *cm;
	const struct kdapl_mr_ops *mr;
	int (*address)(struct kdapl_device *dev, struct net *net,
		       struct sockaddr_storage *addr);
	struct ib_event_handler async;
	bool gone;
};

extern const struct kdapl_qp_ops kdapl_ib_qp_ops;
extern const struct kdapl_cm_ops kdapl_ib_cm_ops;
extern const struct kdapl_mr_ops kdapl_ib_mr_ops;
bool kdapl_driver_pins(const struct ib_device *ib);

/* device.c */
int kdapl_device_init(void);
void kdapl_device_exit(void);
struct kdapl_device *kdapl_device_alloc(void);
void kdapl_device_add(struct kdapl_device *dev);
void kdapl_device_remove(struct kdapl_device *dev);
/* The present address of the port, as @net's interfaces have it. -ENODEV */
int kdapl_device_address(struct kdapl_device *dev, struct net *net,
			 struct sockaddr_storage *addr);
/* A reference to the device of that name that @net may use, or NULL. */
struct kdapl_device *kdapl_device_get(const char *name, struct net *net);
void kdapl_device_put(struct kdapl_device *dev);
/* Calls @fn for each device with an address that @net may use, by name order
 * of registration; stops at a non-zero return.
 */
int kdapl_device_for_each(struct net *net,
			  int (*fn)(struct kdapl_device *dev, void *arg),
			  void *arg);
/* Ties an IA to its device; false when the device is being removed. */
bool kdapl_device_attach(struct kdapl_device *dev, struct list_head *on_dev);
/*
 * Ends that tie; waits for a kdapl_ia_removed() that is running for this IA.
 * Not from within it: the glue detaches an IA itself afterwards.
 */
void kdapl_device_detach(struct kdapl_device *dev, struct list_head *on_dev);
/* Calls @fn for each IA tied to the device, under @dev->lock; any context. */
void kdapl_device_walk_ias(struct kdapl_device *dev,
			   void (*fn)(struct list_head *on_dev, void *arg),
			   void *arg);

/* wc.c: the table of mt:T48 */
DAT_DTO_COMPLETION_STATUS kdapl_wc_status(enum ib_wc_status status);

#endif /* KDAPL_GLUE_H */
