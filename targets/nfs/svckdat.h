/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An NFS/RDMA server transport (RPC-over-RDMA version 1, RFC 8166 and RFC 8797) on kDAT, as a
 * transport class of sunrpc: its objects, and the functions that its files call in each other.
 *
 *	adapter		an RDMA port; comes and goes		main.c
 *	listener	"kdat PORT" in nfsd's portlist		listen.c
 *	point		a listener's service point at an adapter
 *	conn		a client's connection			xprt.c
 *	buf, map	memory for messages, for transfers	memory.c, pool.c
 *	recv		a message received, and its call	recv.c, read.c
 *	send		a message sent				send.c, back.c
 *
 * Locks, in this order: svckdat_lock, a mutex that no upcall takes (what waits for upcalls is done
 * under it); svckdat_listener.lock or pool_lock (pool.c); svckdat_conn.lock.
 */
#ifndef _SVCKDAT_H
#define _SVCKDAT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/rpc_rdma.h>	/* needs the headers before it */
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <dat/kdat_linux.h>
#include "compat.h"

/* "kd": differs from the identifiers of the kernel's own transports. */
#define SVCKDAT_IDENT		0x6b64

#define SVCKDAT_MAX_PAYLOAD	(1024u * 1024u)
/* Pages of a call: the payload, and one page in front of it and one behind it for the rest */
#define SVCKDAT_MAX_PAGES	(DIV_ROUND_UP(SVCKDAT_MAX_PAYLOAD, PAGE_SIZE) + 2)
/* Pieces of a reply: its pages, its head and its tail */
#define SVCKDAT_MAX_ENTRIES	(SVCKDAT_MAX_PAGES + 2)
/*
 * The shortest RPC call: ten words (RFC 5531).  In some kernels sunrpc reads the first
 * words without checking the length.
 */
#define SVCKDAT_MIN_CALL	40
/* How many requests of a connection can have RDMA transfers at the same time; others wait. */
#define SVCKDAT_MAPS		32u
/* Calls to the client (back.c) that may be outstanding */
#define SVCKDAT_BACK_SLOTS	2
/* Write chunks for results that a call may have; Linux clients send one. */
#define SVCKDAT_MAX_RESULTS	16
/* A message is contiguous, no longer than what the page allocator gives without great effort. */
#define SVCKDAT_MAX_INLINE	(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)
/* A call of up to so many pages has its list of them in the recv. */
#define SVCKDAT_FEW_PAGES	4
/* Read chunks that a call may have; Linux clients send one or two. */
#define SVCKDAT_MAX_CHUNKS	64
/* So many requests of a reply, its writes and the message, are posted at once. */
#define SVCKDAT_TOGETHER	8
/*
 * How long a thread waits, in all of one request, for a client that does not take what we
 * send; and how long a client may take to let us read a call
 */
#define SVCKDAT_PATIENCE	(60 * HZ)

struct svckdat_conn;

/* ---- adapters and listeners --------------------------------------------- */

/*
 * A DAT handle is a number that is looked up.  So whoever holds a reference to an adapter
 * may use its handles after it was closed, and the calls are refused.
 */
struct svckdat_adapter {
	struct kref ref;
	struct list_head entry;		/* svckdat_adapters, under svckdat_lock */
	struct list_head points;	/* under svckdat_lock */
	struct list_head conns;		/* under svckdat_lock */
	bool removed;			/* under svckdat_lock */
	struct completion closed;	/* the device uses none of its memory any more */
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	char name[DAT_NAME_MAX_LENGTH];
};

struct svckdat_listener {
	struct svc_xprt xprt;
	struct list_head entry;		/* svckdat_listeners, under svckdat_lock */
	struct list_head points;	/* under svckdat_lock */
	struct sockaddr_storage addr;
	spinlock_t lock;		/* protects what follows */
	bool ready;			/* @xprt may be enqueued */
	unsigned int nr_requests;
	struct list_head requests;	/* to be accepted by an nfsd thread */
};

struct svckdat_point {
	struct list_head entry;		/* svckdat_listener.points */
	struct list_head at_adapter;	/* svckdat_adapter.points */
	struct svckdat_listener *listener;
	struct svckdat_adapter *adapter;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;		/* null: it does not listen so far */
};

/* A connection request that waits for a thread */
struct svckdat_request {
	struct list_head entry;		/* svckdat_listener.requests */
	struct svckdat_adapter *adapter;
	DAT_CR_HANDLE cr;
	struct sockaddr_storage local, remote;
	struct rpcrdma_connect_private client;	/* zeros: none was sent */
};

/* ---- memory -------------------------------------------------------------- */

/* A buffer for messages, registered as long as it is there */
struct svckdat_buf {
	void *va;
	struct scatterlist sg;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

/*
 * The memory of one request while RDMA transfers its data.  For a reply, the map holds
 * references to the pages; for a call, the recv does.
 */
struct svckdat_map {
	struct list_head entry;		/* svckdat_conn.maps, or .surplus_maps */
	struct list_head all;		/* svckdat_conn.all_maps */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	struct scatterlist *list;
	unsigned int entries;
	bool holds_pages;
};

/* ---- messages ------------------------------------------------------------ */

/*
 * What the cookie of a DTO points to.  @done is called in softirq context for each
 * completion event.  A DTO whose success is suppressed has an event only if it fails.
 */
struct svckdat_dto {
	void (*done)(struct svckdat_conn *conn, struct svckdat_dto *dto, bool ok,
		     u32 length);
};

/* An RDMA segment: a piece of the client's memory */
struct svckdat_segment {
	u32 handle, length;
	u64 offset;
};

/*
 * A transport header that was received and checked.  The lists stay in the receive buffer.
 * @reads points to the first discriminator of the read list, @writes to the first
 * discriminator of the write list, @reply to the segment count of the reply chunk, or is
 * null.
 */
struct svckdat_header {
	__be32 xid, version;
	u32 proc;
	const __be32 *reads, *writes, *reply;
	unsigned int nr_reads, nr_writes;
	u32 long_call;			/* bytes of the position-zero chunk */
	u32 reads_length;		/* bytes of all read segments */
	u32 handle;			/* the handle that all segments have, or 0 */
	void *rpc;			/* what follows the header */
	u32 rpc_length;
};

/* Which part of the reply goes to a write chunk */
struct svckdat_result {
	u32 position, length;
};

struct svckdat_recv {
	struct svckdat_dto received;
	struct svckdat_dto read;	/* the last RDMA read of the call */
	struct list_head entry;		/* svckdat_conn.arrived or .complete */
	struct svckdat_buf buf;
	u32 length;
	bool counted;			/* among svckdat_conn.calls */
	struct svckdat_header header;
	struct svckdat_send *send;	/* for the reply */
	struct svckdat_map *map;	/* while the call is being read */
	unsigned long give_up;		/* until when to wait for room for its reads */
	unsigned long read_by;		/* valid with a map: when all of it has to be there */
	struct page **pages;		/* what was read: @few, or allocated */
	struct page *few[SVCKDAT_FEW_PAGES];
	unsigned int nr_pages;
	u32 read_length;
	bool misfit;			/* a result cannot go to its chunk */
	unsigned int nr_results;
	struct svckdat_result results[SVCKDAT_MAX_RESULTS];
};

struct svckdat_send {
	struct svckdat_dto sent;
	struct svckdat_dto written;	/* the RDMA writes of the reply, posted before it */
	struct list_head entry;		/* svckdat_conn.sends, or .surplus_sends */
	struct list_head all;		/* svckdat_conn.all_sends */
	struct svckdat_buf buf;
	struct svckdat_map *map;
	unsigned long give_up;		/* until when to wait for room for any of it */
	unsigned int nr_requests;	/* collected, and not posted yet (post.c) */
	struct kdat_request requests[SVCKDAT_TOGETHER];
	DAT_LMR_TRIPLET local[SVCKDAT_TOGETHER];
	DAT_RMR_TRIPLET remote[SVCKDAT_TOGETHER];
};

/* ---- connections --------------------------------------------------------- */

struct svckdat_conn {
	struct svc_xprt xprt;
	struct svckdat_adapter *adapter;
	struct list_head at_adapter;	/* svckdat_adapter.conns, under svckdat_lock */
	struct work_struct free_work;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE dto_evd, conn_evd;
	DAT_NAMED_ATTR reserve;
	char reserve_text[12];

	u32 credits;
	u32 buf_size;
	u32 send_limit;			/* the longest message that the client takes */
	bool may_invalidate;

	bool over;
	atomic_t calls;
	unsigned int completions;	/* counts them */
	wait_queue_head_t room;		/* something was completed or released */
	struct delayed_work read_timer;	/* queued while a recv has a map (read.c) */

	/*
	 * Protects the lists.  Taken with interrupts off and not only softirqs: enabling
	 * these again would run Soft-RoCE's work for one post before the next one is
	 * posted.
	 */
	spinlock_t lock;
	struct list_head arrived;	/* recvs: messages */
	struct list_head complete;	/* recvs: calls whose data were read */
	struct list_head maps, sends;	/* those that are free */
	struct list_head surplus_maps, surplus_sends;	/* to be freed by @pool_work */
	unsigned int free_maps, free_sends;	/* in @maps and @sends */
	unsigned int made_maps, made_sends;	/* without those that are surplus */
	bool more_maps, more_sends;	/* @pool_work is to make more */
	struct page **spare;		/* free pages to read calls into */
	unsigned int nr_spare;		/* SVCKDAT_MAX_PAGES at most */

	unsigned int nr_recvs;
	unsigned int nr_sends;		/* how many there may be */
	struct svckdat_recv *all_recvs;
	struct list_head all_sends, all_maps;	/* changed by @pool_work alone */
	struct work_struct pool_work;	/* makes and frees sends and maps (pool.c) */
	struct list_head pool_entry;	/* in the shrinker's list */
};

static inline struct svckdat_conn *svckdat_conn_of(struct svc_xprt *xprt)
{
	return container_of(xprt, struct svckdat_conn, xprt);
}

/* ---- main.c ---- */
extern struct mutex svckdat_lock;
extern struct list_head svckdat_adapters;
extern struct workqueue_struct *svckdat_wq;
extern struct svc_xprt_class svckdat_class;
extern unsigned int svckdat_credits, svckdat_buf_size;
void svckdat_adapter_put(struct svckdat_adapter *adapter);

/* ---- listen.c ---- */
struct svc_xprt *svckdat_create(struct svc_serv *serv, struct net *net,
				struct sockaddr *sa, int salen, int flags);
struct svc_xprt *svckdat_accept(struct svc_xprt *xprt);
void svckdat_listener_detach(struct svckdat_listener *listener);
void svckdat_listener_free(struct svckdat_listener *listener);
void svckdat_listen_at(struct svckdat_adapter *adapter);
void svckdat_unlisten_at(struct svckdat_adapter *adapter);
void svckdat_listen_exit(void);

/* ---- xprt.c ---- */
extern const struct svc_xprt_ops svckdat_ops;
struct svckdat_conn *svckdat_conn_accept(struct svckdat_listener *listener,
					 struct svckdat_request *request);
void svckdat_conn_over(struct svckdat_conn *conn);

/* ---- memory.c ---- */
int svckdat_lmr_allocate(struct svckdat_conn *conn, unsigned int pages, DAT_LMR_HANDLE *lmr);
bool svckdat_lmr_forget(DAT_LMR_HANDLE lmr);
int svckdat_buf_create(struct svckdat_conn *conn, struct svckdat_buf *buf,
		       DAT_MEM_PRIV_FLAGS privileges);
void svckdat_map_put_pages(struct svckdat_map *map);
int svckdat_memory_create(struct svckdat_conn *conn);
bool svckdat_memory_forget(struct svckdat_conn *conn);
void svckdat_memory_free(struct svckdat_conn *conn);
struct svckdat_map *svckdat_map_get(struct svckdat_conn *conn, unsigned long give_up);
bool svckdat_map_put(struct svckdat_conn *conn, struct svckdat_map *map);
int svckdat_map_call(struct svckdat_map *map, struct page **pages, u32 length);
int svckdat_map_reply(struct svckdat_map *map, const struct xdr_buf *reply, u32 from,
		      u32 length);

/* ---- pool.c ---- */
int svckdat_pools_init(void);
void svckdat_pools_exit(void);
void svckdat_pool_init(struct svckdat_conn *conn);
int svckdat_pool_create(struct svckdat_conn *conn);
void svckdat_pool_open(struct svckdat_conn *conn);
void svckdat_pool_close(struct svckdat_conn *conn);
bool svckdat_pool_forget(struct svckdat_conn *conn);
void svckdat_pool_free(struct svckdat_conn *conn);
struct svckdat_send *svckdat_send_take(struct svckdat_conn *conn);
void svckdat_send_give(struct svckdat_conn *conn, struct svckdat_send *send);
struct svckdat_map *svckdat_map_take(struct svckdat_conn *conn);
void svckdat_map_give(struct svckdat_conn *conn, struct svckdat_map *map);
unsigned int svckdat_spare_take(struct svckdat_conn *conn, struct page **pages, unsigned int n);
void svckdat_spare_keep(struct svckdat_conn *conn, struct page **pages, unsigned int n);

/* ---- post.c ---- */
DAT_LMR_TRIPLET svckdat_local(DAT_LMR_CONTEXT context, u32 offset, u32 length);
void svckdat_completed(struct svckdat_conn *conn);
int svckdat_post_recv(struct svckdat_conn *conn, struct svckdat_recv *recv);
int svckdat_post_read(struct svckdat_conn *conn, struct svckdat_recv *recv, u32 to,
		      const struct svckdat_segment *from, bool last);
int svckdat_post_write(struct svckdat_conn *conn, struct svckdat_send *send, u32 from,
		       const struct svckdat_segment *to);
int svckdat_post_send(struct svckdat_conn *conn, struct svckdat_send *send, u32 length,
		      u32 invalidate, bool wait);

/* ---- chunks.c ---- */
int svckdat_decode_header(struct svckdat_header *header, void *message, u32 length);
bool svckdat_next_position(const struct svckdat_header *header, u32 after,
			   u32 *position);
u32 svckdat_read_segment(const struct svckdat_header *header, unsigned int n,
			 struct svckdat_segment *segment);
const __be32 *svckdat_write_chunk(const struct svckdat_header *header, unsigned int n);
u64 svckdat_chunk_size(const __be32 *chunk);
void svckdat_chunk_segment(const __be32 *chunk, unsigned int n,
			   struct svckdat_segment *segment);
u32 svckdat_reply_size(const struct svckdat_recv *recv);
void svckdat_encode_reply(const struct svckdat_recv *recv, __be32 *p, u32 credits,
			  u32 in_reply_chunk);

/* ---- recv.c ---- */
void svckdat_recv_init(struct svckdat_recv *recv);
int svckdat_recvfrom(struct svc_rqst *rqstp);
void svckdat_recv_again(struct svckdat_conn *conn, struct svckdat_recv *recv);
void svckdat_release_ctxt(struct svc_xprt *xprt, void *ctxt);

/* ---- read.c ---- */
void svckdat_reads_init(struct svckdat_conn *conn);
void svckdat_free_pages_of(struct svckdat_recv *recv);
int svckdat_read_call(struct svc_rqst *rqstp, struct svckdat_conn *conn,
		      struct svckdat_recv *recv);
void svckdat_assemble_call(struct svc_rqst *rqstp, struct svckdat_conn *conn,
			   struct svckdat_recv *recv);

/* ---- send.c ---- */
void svckdat_send_init(struct svckdat_send *send);
struct svckdat_send *svckdat_send_get(struct svckdat_conn *conn);
void svckdat_send_put(struct svckdat_conn *conn, struct svckdat_send *send);
int svckdat_sendto(struct svc_rqst *rqstp);
int svckdat_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			   unsigned int length);
void svckdat_send_error(struct svckdat_conn *conn, struct svckdat_recv *recv, int err);

/* ---- back.c ---- */
extern struct xprt_class svckdat_back_class;
bool svckdat_is_back_reply(struct svckdat_conn *conn, const struct svckdat_header *header);
void svckdat_back_reply(struct svckdat_conn *conn, const struct svckdat_recv *recv);

#endif /* _SVCKDAT_H */
