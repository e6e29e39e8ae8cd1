/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The generic netlink family "kdapl": it shows the adapters, open files and objects of kdapl
 * on a host to monitoring programs (kdaplctl), and changes nothing.  Documentation/netlink.rst
 * describes it in words.
 *
 * This is ABI: what is defined here never changes.  Attributes, values and commands may be
 * added after the present ones; a reader has to ignore those that it does not know.
 */
#ifndef _UAPI_RDMA_KDAPL_NETLINK_H
#define _UAPI_RDMA_KDAPL_NETLINK_H

#define KDAPL_NL_FAMILY		"kdapl"
#define KDAPL_NL_VERSION	1
/* At most this many addresses of an adapter are reported. */
#define KDAPL_NL_MAX_ADDRESSES	64

/* All commands are dumps, with one message for each adapter, open file or object. */
enum kdapl_nl_command {
	KDAPL_NL_CMD_UNSPEC,
	KDAPL_NL_CMD_ADAPTERS,	/* no attribute in the request */
	KDAPL_NL_CMD_FILES,	/* no attribute in the request */
	KDAPL_NL_CMD_OBJECTS,	/* KDAPL_NL_A_FILE, KDAPL_NL_A_TYPE: only objects of these */
	__KDAPL_NL_CMD_MAX,
	KDAPL_NL_CMD_MAX = __KDAPL_NL_CMD_MAX - 1
};

/* An attribute that does not apply, or means nothing at the moment, is left out of a message. */
enum kdapl_nl_attr {
	KDAPL_NL_A_UNSPEC,
	KDAPL_NL_A_PAD,

	/* of an adapter; KDAPL_NL_A_ADAPTER also of an object: the adapter of its IA */
	KDAPL_NL_A_ADAPTER,		/* string: its name in the registry */
	KDAPL_NL_A_DEVICE,		/* string: the RDMA device */
	KDAPL_NL_A_PORT,		/* u32: port of that */
	KDAPL_NL_A_PROTOCOL,		/* u32: KDAPL_NL_PROTOCOL_* */
	KDAPL_NL_A_PASSTHROUGH,		/* u32: KDAPL_NL_PASSTHROUGH_* */
	KDAPL_NL_A_ADDRESSES,		/* nest: KDAPL_NL_A_ADDRESS, the first of them */
	KDAPL_NL_A_ADDRESS,		/* struct sockaddr_in or sockaddr_in6 */
	KDAPL_NL_A_LIMITS,		/* nest: u64 by KDAPL_NL_LIMIT_* */
	KDAPL_NL_A_COUNTERS,		/* nest: u64 by KDAPL_NL_COUNT_* */

	/*
	 * of an open file of /dev/kdapl; the first three also of an object, for the file that it
	 * belongs to.  File 0 stands for the kernel consumers, which have no PID, UID or COMM
	 */
	KDAPL_NL_A_FILE,		/* u64: a number that is not used again */
	KDAPL_NL_A_PID,			/* u32: process that opened it, in the asker's namespace */
	KDAPL_NL_A_UID,			/* u32: user who opened it, in the asker's namespace */
	KDAPL_NL_A_COMM,		/* string: name of that process; only while it lives */
	KDAPL_NL_A_FORWARDED,		/* u32: IAs for which the kernel posts */
	KDAPL_NL_A_PASSTHROUGHS,	/* u32: IAs whose queues are the process's own */
	KDAPL_NL_A_OBJECTS,		/* nest: u32 by KDAPL_NL_TYPE_* */
	KDAPL_NL_A_PAGES,		/* u64: pages of memory; of a file: those charged to it */

	/* of an object */
	KDAPL_NL_A_TYPE,		/* u32: KDAPL_NL_TYPE_* */
	KDAPL_NL_A_HANDLE,		/* u64: means something within its file */
	KDAPL_NL_A_IA,			/* u64: handle of its IA */
	KDAPL_NL_A_REFS,		/* u32: references that keep its memory */
	KDAPL_NL_A_USERS,		/* u32: objects that depend on it */
	KDAPL_NL_A_PZ,			/* u64: handle of its PZ */
	KDAPL_NL_A_REMOVED,		/* flag; only of an IA: its device is gone */
	KDAPL_NL_A_MODE,		/* u32: KDAPL_NL_MODE_*; only of an IA */

	/*
	 * of an EP; REMOTE, REMOTE_QUAL and LOCAL_QUAL also of a CR, LOCAL_QUAL also of a service
	 * point, RECVS and MAX_RECVS also of an SRQ
	 */
	KDAPL_NL_A_STATE,		/* u32: KDAPL_NL_EP_* */
	KDAPL_NL_A_REMOTE,		/* struct sockaddr_in or sockaddr_in6, port 0 */
	KDAPL_NL_A_REMOTE_QUAL,		/* u64: the peer's qualifier */
	KDAPL_NL_A_LOCAL_QUAL,		/* u64: ours */
	KDAPL_NL_A_QP,			/* u32: number of the queue pair */
	KDAPL_NL_A_REQUESTS,		/* u32: outstanding; not in passthrough */
	KDAPL_NL_A_MAX_REQUESTS,	/* u32 */
	KDAPL_NL_A_RECVS,		/* u32: outstanding; not in passthrough or of an SRQ */
	KDAPL_NL_A_MAX_RECVS,		/* u32 */
	KDAPL_NL_A_LIFE,		/* u32: only in passthrough: counts its queue pairs */
	KDAPL_NL_A_RECV_EVD,		/* u64: handle */
	KDAPL_NL_A_REQUEST_EVD,		/* u64: handle */
	KDAPL_NL_A_CONNECT_EVD,		/* u64: handle */

	/* of an EVD, except KDAPL_NL_A_EVD */
	KDAPL_NL_A_EVD,			/* u64: of a service point: handle of its EVD */
	KDAPL_NL_A_QUEUED,		/* u32: events that nobody has taken */
	KDAPL_NL_A_QLEN,		/* u32: its length */
	KDAPL_NL_A_CQES,		/* u32: completions that its CQs hold */
	KDAPL_NL_A_OVERFLOWED,		/* flag: events were lost, and it is still full */
	KDAPL_NL_A_DROPPED,		/* u64: asynchronous events lost */

	/* of an LMR or an RMR */
	KDAPL_NL_A_LENGTH,		/* u64: bytes; of an RMR: bytes that it shows to peers */
	KDAPL_NL_A_LMR_CONTEXT,		/* u32 */
	KDAPL_NL_A_RMR_CONTEXT,		/* u32: not of kernel consumers */
	KDAPL_NL_A_PRIVILEGES,		/* u32: DAT_MEM_PRIV_* */
	KDAPL_NL_A_LMR,			/* u64: of an RMR: handle of the LMR it is bound to */

	/* of an SRQ, except KDAPL_NL_A_SRQ */
	KDAPL_NL_A_SRQ,			/* u64: of an EP: handle of its SRQ */
	KDAPL_NL_A_SRQ_STATE,		/* u32: KDAPL_NL_SRQ_* */
	KDAPL_NL_A_LOW_WATERMARK,	/* u32: receives; 0: none was set */

	__KDAPL_NL_A_MAX,
	KDAPL_NL_A_MAX = __KDAPL_NL_A_MAX - 1
};

enum kdapl_nl_protocol {
	KDAPL_NL_PROTOCOL_UNKNOWN,
	KDAPL_NL_PROTOCOL_IB,
	KDAPL_NL_PROTOCOL_ROCE,
	KDAPL_NL_PROTOCOL_IWARP,
};

/* Can an adapter be used in passthrough, and if not, why not? */
enum kdapl_nl_passthrough {
	KDAPL_NL_PASSTHROUGH_YES,
	KDAPL_NL_PASSTHROUGH_DRIVER,	/* the driver does not let the kernel move QPs */
	KDAPL_NL_PASSTHROUGH_UVERBS,	/* this kernel has no uverbs */
};

enum kdapl_nl_mode {
	KDAPL_NL_MODE_FORWARDED,
	KDAPL_NL_MODE_PASSTHROUGH,
};

/* Limits of a device, and of one endpoint on it.  A process may be allowed less. */
enum kdapl_nl_limit {
	KDAPL_NL_LIMIT_UNSPEC,
	KDAPL_NL_LIMIT_PAD,
	KDAPL_NL_LIMIT_EPS,
	KDAPL_NL_LIMIT_EVDS,
	KDAPL_NL_LIMIT_EVD_QLEN,
	KDAPL_NL_LIMIT_PZS,
	KDAPL_NL_LIMIT_LMRS,
	KDAPL_NL_LIMIT_LMR_LENGTH,
	KDAPL_NL_LIMIT_MESSAGE,		/* bytes */
	KDAPL_NL_LIMIT_DTOS,		/* of an endpoint, in each direction */
	KDAPL_NL_LIMIT_SEGMENTS,	/* of a DTO */
	KDAPL_NL_LIMIT_READS_IN,	/* RDMA reads of an endpoint */
	KDAPL_NL_LIMIT_READS_OUT,
	__KDAPL_NL_LIMIT_MAX,
	KDAPL_NL_LIMIT_MAX = __KDAPL_NL_LIMIT_MAX - 1
};

/* Counters: since the adapter appeared, for all of its consumers together. */
enum kdapl_nl_count {
	KDAPL_NL_COUNT_UNSPEC,
	KDAPL_NL_COUNT_PAD,
	KDAPL_NL_COUNT_ESTABLISHED,	/* connections made, at either end */
	KDAPL_NL_COUNT_DISCONNECTED,	/* ... and ended as they should */
	KDAPL_NL_COUNT_BROKEN,		/* ... and ended by an error */
	KDAPL_NL_COUNT_REJECTED,	/* attempts that the peer has refused */
	KDAPL_NL_COUNT_UNREACHABLE,	/* attempts that did not get to a peer */
	KDAPL_NL_COUNT_TIMED_OUT,	/* attempts whose time was over */
	KDAPL_NL_COUNT_ACCEPT_FAILED,	/* acceptances that made no connection */
	KDAPL_NL_COUNT_REQUESTS,	/* connection requests of peers */
	KDAPL_NL_COUNT_TURNED_AWAY,	/* ... for which there was no room */
	KDAPL_NL_COUNT_DRAINS,		/* graceful disconnects that had to wait */
	KDAPL_NL_COUNT_FLUSHES,		/* ends of queue pairs */
	KDAPL_NL_COUNT_POSTS_REFUSED,	/* by an endpoint's state; not in passthrough */
	__KDAPL_NL_COUNT_MAX,
	KDAPL_NL_COUNT_MAX = __KDAPL_NL_COUNT_MAX - 1
};

enum kdapl_nl_type {
	KDAPL_NL_TYPE_UNSPEC,
	KDAPL_NL_TYPE_IA,
	KDAPL_NL_TYPE_PZ,
	KDAPL_NL_TYPE_LMR,
	KDAPL_NL_TYPE_RMR,
	KDAPL_NL_TYPE_EVD,
	KDAPL_NL_TYPE_EP,
	KDAPL_NL_TYPE_PSP,
	KDAPL_NL_TYPE_RSP,
	KDAPL_NL_TYPE_CR,
	KDAPL_NL_TYPE_SRQ,
	__KDAPL_NL_TYPE_MAX,
	KDAPL_NL_TYPE_MAX = __KDAPL_NL_TYPE_MAX - 1
};

/*
 * Finer than DAT's states: where two of these stand for one state of DAT, the comment names
 * that state.
 */
enum kdapl_nl_ep_state {
	KDAPL_NL_EP_UNCONNECTED,
	KDAPL_NL_EP_RESERVED,
	KDAPL_NL_EP_PASSIVE_PENDING,
	KDAPL_NL_EP_TENTATIVE,
	KDAPL_NL_EP_RESOLVING,		/* ACTIVE_CONNECTION_PENDING: resolves the peer's address */
	KDAPL_NL_EP_REQUESTED,		/* ACTIVE_CONNECTION_PENDING: has asked the peer */
	KDAPL_NL_EP_COMPLETION_PENDING,
	KDAPL_NL_EP_CONNECTED,
	KDAPL_NL_EP_DRAINING,		/* DISCONNECT_PENDING: requests are outstanding */
	KDAPL_NL_EP_FLUSHING,		/* DISCONNECT_PENDING: flushes what is posted */
	KDAPL_NL_EP_DISC_FLUSHING,	/* DISCONNECTED: flushes; the event is still to come */
	KDAPL_NL_EP_DISC_IDLE,		/* DISCONNECTED */
	KDAPL_NL_EP_GONE,		/* being freed */
};

enum kdapl_nl_srq_state {
	KDAPL_NL_SRQ_OPERATIONAL,
	KDAPL_NL_SRQ_ERROR,		/* the device has lost it */
};

#endif /* _UAPI_RDMA_KDAPL_NETLINK_H */
