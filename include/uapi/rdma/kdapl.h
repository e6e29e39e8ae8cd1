/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * kdapl: the character device /dev/kdapl, through which a process uses the DAT objects that the
 * kernel module holds.  Every call is an ioctl with a structure of fixed layout, the same for
 * 32-bit and 64-bit callers: pointers, handles and masks are 64 bits wide.  The first is
 * KDAPL_IOC_QUERY_ABI.  Documentation/abi.rst tells all of it, which errno means what as well.
 *
 *  - What DAT says about an operation is in `ret`, a DAT_RETURN.  The ioctl itself fails only if
 *    the call is malformed or cannot be made.
 *  - Fields marked "out" mean nothing unless `ret` is DAT_SUCCESS; the exceptions are `number` of
 *    KDAPL_IOC_IA_LIST, `done` of the posts, and `queued` of KDAPL_IOC_EVD_WAIT (abi.rst).
 *  - Fields named `pad` have to be zero.
 *  - Enumerations, flags and masks are those of <dat/udat.h>.
 *  - Handles are numbers that mean something on this file only.
 */
#ifndef _UAPI_RDMA_KDAPL_H
#define _UAPI_RDMA_KDAPL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KDAPL_DEVICE		"/dev/kdapl"

/* Changes only if the ABI breaks compatibility; an addition gets a KDAPL_FEATURE_* bit instead. */
#define KDAPL_ABI_VERSION	1

/* Bounds of one call */
#define KDAPL_UAPI_MAX_DTOS	256	/* per KDAPL_IOC_POST */
#define KDAPL_UAPI_MAX_SYNC	1024	/* segments per KDAPL_IOC_LMR_SYNC */
#define KDAPL_UAPI_NAME_LEN	256	/* strings, with their NUL */

/**
 * struct kdapl_uapi_query_abi - the first call on a file
 * @version: in: the version that the caller speaks
 * @min_version: out: the oldest version that the module speaks
 * @max_version: out: the newest
 * @max_dtos: out: KDAPL_UAPI_MAX_DTOS of the module
 * @features: out: KDAPL_FEATURE_*, what was added to the version
 * @max_segments: out: segments of one DTO
 *
 * A version that the module does not speak fails with EPROTONOSUPPORT; the out
 * fields are filled all the same.  This call never changes.
 */
struct kdapl_uapi_query_abi {
	__u32 version;
	__u32 min_version;
	__u32 max_version;
	__u32 max_dtos;
	__aligned_u64 features;
	__u32 max_segments;
	__u32 pad;
};

/* KDAPL_IOC_IA_PASSTHROUGH, and the calls for an IA in that mode: EP_BOARD, EP_BIND, EP_TELL */
#define KDAPL_FEATURE_PASSTHROUGH	0x1
/* KDAPL_IOC_SRQ_*, KDAPL_IOC_EP_CREATE_WITH_SRQ and KDAPL_IOC_EP_RECV_QUERY */
#define KDAPL_FEATURE_SRQ		0x2
/* KDAPL_VERBS_OWN_SRQS and KDAPL_IOC_SRQ_TELL */
#define KDAPL_FEATURE_OWN_SRQS		0x4
/* KDAPL_IOC_IA_CQ_FAULT */
#define KDAPL_FEATURE_CQ_FAULT		0x8
/* KDAPL_VERBS_LATE_CQS and KDAPL_IOC_CQ_SETTLE */
#define KDAPL_FEATURE_CQ_SETTLE		0x10
/* KDAPL_IOC_EP_BOARD also takes the handle of an IA */
#define KDAPL_FEATURE_IA_BOARD		0x20
/* The life in each connection event, in passthrough that of the bind; KDAPL_BOARD_ESTABLISHED */
#define KDAPL_FEATURE_EVENT_LIFE	0x40
/* KDAPL_IOC_BOARD_EVENT */
#define KDAPL_FEATURE_BOARD_EVENT	0x80
/* The operations from KDAPL_OP_RDMA_WRITE_IMMED on, KDAPL_EVD_EXTENDED, KDAPL_PRIV_REMOTE_ATOMIC */
#define KDAPL_FEATURE_EXTENSIONS	0x100
/* KDAPL_IOC_CR_REJECT_DATA, and the private data of a rejection */
#define KDAPL_FEATURE_REJECT_DATA	0x200
/* KDAPL_IOC_IA_TELL_LAST */
#define KDAPL_FEATURE_TELL_LAST		0x400
/* The operation in each event of a DTO; without it: 0, but for KDAPL_EVENT_EXTENDED */
#define KDAPL_FEATURE_OPERATION		0x800
/* KDAPL_OP_SEND_INVALIDATE, KDAPL_RMR_REVOCABLE and receives of operation 4 */
#define KDAPL_FEATURE_INVALIDATE	0x1000
/* KDAPL_OP_RDMA_READ_TO_RMR */
#define KDAPL_FEATURE_READ_TO_RMR	0x2000

/* For the calls that take only a handle; the next structure, for those that also take flags. */
struct kdapl_uapi_handle {
	__u32 ret;
	__u32 pad;
	__aligned_u64 handle;
};

struct kdapl_uapi_handle_flags {
	__u32 ret;
	__u32 flags;		/* DAT_CLOSE_FLAGS */
	__aligned_u64 handle;
};

struct kdapl_uapi_handle_type {
	__u32 ret;
	__u32 type;		/* out: DAT_HANDLE_TYPE */
	__aligned_u64 handle;
};

/* A struct sockaddr_in or sockaddr_in6 of @len bytes; 0 means none. */
struct kdapl_uapi_addr {
	__u8 sa[28];
	__u32 len;
};

/* Events */

/*
 * Padding of an event is zero.  The library fills in the fields that are pointers in
 * DAT_EVENT: for the local address of a connection request it takes the address in the
 * event, and for the private data of ESTABLISHED and PEER_REJECTED it calls
 * KDAPL_IOC_EP_PRIVATE_DATA.
 */
struct kdapl_uapi_dto_event {
	__aligned_u64 ep;
	__aligned_u64 cookie;
	__aligned_u64 length;
	__u32 status;
	__u32 operation;		/* DAT_DTOS of DAT 2.0; see KDAPL_FEATURE_OPERATION */
	__u32 immediate;		/* of operation 9 */
	__u32 rmr_context;		/* of operation 4: the key that the message took away */
};

/*
 * The event of a transfer that DAT 1.2 does not have: of a request (@operation 8: RDMA write with
 * immediate data, 10: fetch and add, 11: compare and swap), or, on an EVD that was made with
 * KDAPL_EVD_EXTENDED, of a receive that such a write of the peer's has taken (9).
 */
#define KDAPL_EVENT_EXTENDED	0x40000

struct kdapl_uapi_rmr_event {
	__aligned_u64 rmr;
	__aligned_u64 cookie;
	__u32 status;
	__u32 pad;
};

struct kdapl_uapi_cr_event {
	__aligned_u64 sp;
	__aligned_u64 cr;
	__aligned_u64 conn_qual;
	__u8 address[16];		/* to which the request was sent; IPv4: in the first 4 */
	__u32 scope_id;			/* of a link-local address */
	__u16 family;			/* AF_INET or AF_INET6 */
	__u16 pad;
};

struct kdapl_uapi_connect_event {
	__aligned_u64 ep;
	__u32 private_data_size;
	__u32 life;			/* of the EP; KDAPL_FEATURE_EVENT_LIFE: of each event */
};

struct kdapl_uapi_async_event {
	__aligned_u64 handle;
	__s32 reason;
	__u32 pad;
};

struct kdapl_uapi_software_event {
	__aligned_u64 pointer;
};

struct kdapl_uapi_event {
	__u32 event_number;
	__u32 pad;
	__aligned_u64 evd;
	union {
		struct kdapl_uapi_dto_event dto;
		struct kdapl_uapi_rmr_event rmr;
		struct kdapl_uapi_cr_event cr;
		struct kdapl_uapi_connect_event connect;
		struct kdapl_uapi_async_event async;
		struct kdapl_uapi_software_event software;
		__aligned_u64 raw[6];
	};
};

/*
 * The event ring of an EVD, two mappings of the device file.
 *
 * data, PROT_READ, MAP_SHARED: struct kdapl_uapi_ring_header, and @nr_entries
 * events from byte @entries on.  index, PROT_READ | PROT_WRITE, MAP_SHARED:
 * struct kdapl_uapi_ring_index.  Map each as a whole.
 *
 * Both indices only count up and wrap at 32 bits; event n is in slot n % nr_entries.  The
 * process takes an event like this:
 *
 *	if (index->consumer != load_acquire(&header->producer)) {
 *		event = slot[index->consumer % nr_entries];
 *		store_release(&index->consumer, index->consumer + 1);
 *	} else if (load_acquire(&header->flags) & KDAPL_RING_MORE) {
 *		KDAPL_IOC_EVD_REFILL, and look again
 *	} else {
 *		the EVD is empty
 *	}
 *
 * Only one thread may do so at a time: the process needs a lock of its own around it.
 */
struct kdapl_uapi_ring {
	__aligned_u64 data_offset;	/* for mmap(2) */
	__aligned_u64 index_offset;
	__u32 data_size;
	__u32 index_size;
	__u32 nr_entries;		/* a power of two */
	__u32 entries;			/* offset of the first event in the data */
};

/*
 * The process has to ask for further events with KDAPL_IOC_EVD_REFILL: either events wait in
 * the kernel because the ring was full, or the receives of this EVD are SOLICITED_WAIT, so that
 * unsolicited completions arrive without anybody being woken. The latter does not concern an IA
 * in passthrough, whose completions do not come this way.
 */
#define KDAPL_RING_MORE		0x1
/* This ring is not used any more: KDAPL_IOC_EVD_RESIZE moved its events to a new one. */
#define KDAPL_RING_MOVED	0x2
/* The EVD is gone; what is in the ring can still be taken. */
#define KDAPL_RING_DEAD		0x4

struct kdapl_uapi_ring_header {
	__u32 producer;
	__u32 flags;
	__u32 nr_entries;
	__u32 pad[13];
};

struct kdapl_uapi_ring_index {
	__u32 consumer;
};

/* Interface Adapter */

struct kdapl_uapi_provider_info {
	char ia_name[KDAPL_UAPI_NAME_LEN];
	__u32 dapl_version_major;
	__u32 dapl_version_minor;
	__u32 is_thread_safe;
	__u32 pad;			/* out: zero */
};

struct kdapl_uapi_ia_list {
	__u32 ret;
	__u32 max;			/* entries at @list */
	__aligned_u64 list;		/* struct kdapl_uapi_provider_info[] */
	__u32 number;			/* out: how many adapters there are */
	__u32 pad;
};

struct kdapl_uapi_ia_open {
	__u32 ret;
	__s32 async_qlen;
	char name[KDAPL_UAPI_NAME_LEN];
	__u32 version_major;
	__u32 version_minor;
	__u32 thread_safe;
	__u32 pad;
	__aligned_u64 async_evd;	/* in and out */
	__aligned_u64 ia;		/* out */
	struct kdapl_uapi_ring ring;	/* out: if the open made async_evd */
};

struct kdapl_uapi_ia_attr {
	char adapter_name[KDAPL_UAPI_NAME_LEN];
	char vendor_name[KDAPL_UAPI_NAME_LEN];
	struct kdapl_uapi_addr address;
	__u32 hardware_version_major;
	__u32 hardware_version_minor;
	__u32 firmware_version_major;
	__u32 firmware_version_minor;
	__aligned_u64 max_lmr_block_size;
	__aligned_u64 max_lmr_virtual_address;
	__aligned_u64 max_message_size;
	__aligned_u64 max_rdma_size;
	__aligned_u64 max_rmr_target_address;
	__s32 max_eps;
	__s32 max_dto_per_ep;
	__s32 max_rdma_read_per_ep_in;
	__s32 max_rdma_read_per_ep_out;
	__s32 max_evds;
	__s32 max_evd_qlen;
	__s32 max_iov_segments_per_dto;
	__s32 max_lmrs;
	__s32 max_pzs;
	__s32 max_rmrs;
	__s32 max_srqs;
	__s32 max_ep_per_srq;
	__s32 max_recv_per_srq;
	__s32 max_iov_segments_per_rdma_read;
	__s32 max_iov_segments_per_rdma_write;
	__s32 max_rdma_read_in;
	__s32 max_rdma_read_out;
	__u32 max_rdma_read_per_ep_in_guaranteed;
	__u32 max_rdma_read_per_ep_out_guaranteed;
	__u32 pad;			/* out: zero */
};

struct kdapl_uapi_provider_attr {
	char provider_name[KDAPL_UAPI_NAME_LEN];
	__u32 provider_version_major;
	__u32 provider_version_minor;
	__u32 dapl_version_major;
	__u32 dapl_version_minor;
	__u32 lmr_mem_types_supported;
	__u32 iov_ownership_on_return;
	__u32 dat_qos_supported;
	__u32 completion_flags_supported;
	__u32 is_thread_safe;
	__s32 max_private_data_size;
	__u32 supports_multipath;
	__u32 ep_creator;
	__u32 pz_support;
	__u32 optimal_buffer_alignment;
	__u8 evd_stream_merging_supported[36];	/* [6][6] */
	__u32 srq_supported;
	__s32 srq_watermarks_supported;
	__u32 srq_ep_pz_difference_supported;
	__s32 srq_info_supported;
	__s32 ep_recv_info_supported;
	__u32 lmr_sync_req;
	__u32 dto_async_return_guaranteed;
	__u32 rdma_write_for_rdma_read_req;
	__u32 extensions;		/* KDAPL_EXT_* */
};

/* What the device can besides (KDAPL_FEATURE_EXTENSIONS) */
#define KDAPL_EXT_IMMED		0x1	/* KDAPL_OP_RDMA_WRITE_IMMED */
#define KDAPL_EXT_ATOMIC	0x2	/* KDAPL_OP_CMP_SWAP, KDAPL_OP_FETCH_ADD */
#define KDAPL_EXT_OWN_ATOMIC	0x4	/* the same by a queue pair of the process's own */

struct kdapl_uapi_ia_query {
	__u32 ret;
	__u32 pad;
	__aligned_u64 ia;
	__aligned_u64 ia_mask;
	__aligned_u64 provider_mask;
	__aligned_u64 async_evd;	/* out */
	struct kdapl_uapi_ia_attr ia_attr;			/* out */
	struct kdapl_uapi_provider_attr provider_attr;		/* out */
};

/*
 * Passthrough: the process makes its protection domains, memory regions, completion queues
 * and queue pairs itself, through uverbs, and posts and polls without a system call.  The
 * module keeps the connection and the state of the EP, and moves the queue pair.
 */

/* Bits of kdapl_uapi_ia_passthrough.hints: peculiarities of the device's verbs library */
/* It caches the state of a queue pair: once connected, modify the queue pair from RTS to RTS. */
#define KDAPL_VERBS_SYNC_STATE		0x1
/*
 * A queue pair may fail without a completion that says so: when its peer has broken it, or when
 * the memory of a posted request is gone.
 */
#define KDAPL_VERBS_MUTE_FAULTS		0x2
/* A window gives peers access to the whole region that it is bound to. */
#define KDAPL_VERBS_WIDE_WINDOWS	0x4
/* A queue pair in ERR raises IBV_EVENT_QP_LAST_WQE_REACHED when it takes no more from its SRQ. */
#define KDAPL_VERBS_TELLS_LAST		0x8
/* A queue pair that ends may never complete the last receive that it took from an SRQ. */
#define KDAPL_VERBS_SRQ_KEEPS		0x10
/* A CQ that is armed only for solicited completions raises no event at all: arm it for all. */
#define KDAPL_VERBS_UNSOLICITED		0x20
/* The handler of a CQ that was armed may run after its end: first call KDAPL_IOC_CQ_SETTLE. */
#define KDAPL_VERBS_LATE_CQS		0x40
/* In: the process also makes the queues of its SRQs, and itself counts the receives of its EPs. */
#define KDAPL_VERBS_OWN_SRQS		0x10000
/* In: the user has asked for passthrough.  Drivers that may damage what is sent require it. */
#define KDAPL_VERBS_ASKED		0x20000

/**
 * struct kdapl_uapi_ia_passthrough - queues of the process's own for an IA
 * @ret: DAT_MODEL_NOT_SUPPORTED if the kernel cannot modify a process's queue pairs with
 *	 this driver, or if the driver requires KDAPL_VERBS_ASKED and it is missing;
 *	 DAT_INVALID_STATE if anything besides the async EVD was made on the IA, or if the
 *	 IA is in this mode already; DAT_INVALID_PARAMETER/ARG2 if the fd is not a uverbs file
 *	 of the IA's device
 * @uverbs_fd: the process's context of the device (struct ibv_context.cmd_fd)
 * @ia: just opened
 * @board_offset: out: for mmap(2), PROT_READ, MAP_SHARED:
 *		  struct kdapl_uapi_board_ep[board_size / 64].  Map it as a whole, or its
 *		  beginning, which all modules with KDAPL_FEATURE_IA_BOARD allow
 * @board_size: out: in bytes.  One board serves all IAs of the file
 * @hints: in: KDAPL_VERBS_OWN_SRQS, without which the IA has no SRQs, and KDAPL_VERBS_ASKED,
 *	   without which some drivers do not allow the mode; other bits are ignored.
 *	   Out: the other KDAPL_VERBS_*
 *
 * From now on the kernel makes no queue pair for an EP of the IA, no CQ for an EVD, no
 * protection domain for a PZ and no queue for an SRQ.  KDAPL_IOC_POST, SRQ_POST, LMR_* and
 * RMR_* give DAT_INVALID_STATE on such an IA.
 */
struct kdapl_uapi_ia_passthrough {
	__u32 ret;
	__s32 uverbs_fd;
	__aligned_u64 ia;
	__aligned_u64 board_offset;
	__u32 board_size;
	__u32 hints;
};

/* Protection Zone */

struct kdapl_uapi_pz_create {
	__u32 ret;
	__u32 pad;
	__aligned_u64 ia;
	__aligned_u64 pz;		/* out */
};

struct kdapl_uapi_pz_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 pz;
	__aligned_u64 ia;		/* out */
};

/* Local Memory Region */

/* A privilege besides those of DAT 1.2, with KDAPL_EXT_ATOMIC: peers may use atomics. */
#define KDAPL_PRIV_REMOTE_ATOMIC	0x40

struct kdapl_uapi_lmr_create {
	__u32 ret;
	__u32 mem_type;
	__aligned_u64 ia;
	__aligned_u64 pz;
	__aligned_u64 region;		/* address or LMR handle */
	__aligned_u64 length;
	__u32 privileges;
	__u32 pad;
	__aligned_u64 lmr;		/* out, and all that follows */
	__u32 lmr_context;
	__u32 rmr_context;
	__aligned_u64 registered_size;
	__aligned_u64 registered_address;
};

struct kdapl_uapi_lmr_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 lmr;
	__aligned_u64 ia;		/* out, and all that follows */
	__aligned_u64 pz;
	__aligned_u64 region;
	__aligned_u64 length;
	__u32 mem_type;
	__u32 privileges;
	__u32 lmr_context;
	__u32 rmr_context;
	__aligned_u64 registered_size;
	__aligned_u64 registered_address;
};

/*
 * Has the layout of DAT_LMR_TRIPLET, so a caller may pass an array of these unchanged.  @unused
 * is ignored.
 */
struct kdapl_uapi_segment {
	__u32 lmr_context;
	__u32 unused;
	__aligned_u64 address;
	__aligned_u64 length;
};

#define KDAPL_SYNC_RDMA_READ	0
#define KDAPL_SYNC_RDMA_WRITE	1

struct kdapl_uapi_lmr_sync {
	__u32 ret;
	__u32 direction;		/* KDAPL_SYNC_... */
	__aligned_u64 ia;
	__aligned_u64 segments;		/* struct kdapl_uapi_segment[] */
	__aligned_u64 number;		/* at most KDAPL_UAPI_MAX_SYNC */
};

/* Remote Memory Region */

/*
 * A message of the peer's may invalidate the key of the RMR, through any EP of its zone: the RMR is
 * unbound then, and the receive is of operation 4.  Without this it breaks the connection.
 */
#define KDAPL_RMR_REVOCABLE	0x1

struct kdapl_uapi_rmr_create {
	__u32 ret;
	__u32 flags;			/* KDAPL_RMR_REVOCABLE */
	__aligned_u64 pz;
	__aligned_u64 rmr;		/* out */
};

struct kdapl_uapi_rmr_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 rmr;
	__aligned_u64 ia;		/* out, and all that follows */
	__aligned_u64 pz;
	struct kdapl_uapi_segment segment;
	__u32 privileges;
	__u32 rmr_context;
};

/* @segment.unused is padding here: it has to be zero. */
struct kdapl_uapi_rmr_bind {
	__u32 ret;
	__u32 privileges;
	__aligned_u64 rmr;
	struct kdapl_uapi_segment segment;
	__aligned_u64 ep;
	__aligned_u64 cookie;
	__u32 flags;			/* DAT_COMPLETION_FLAGS */
	__u32 rmr_context;		/* out */
};

/* Event Dispatcher */

/* A flag besides DAT_EVD_FLAGS: the process knows KDAPL_EVENT_EXTENDED with @operation 9. */
#define KDAPL_EVD_EXTENDED	0x20000

struct kdapl_uapi_evd_create {
	__u32 ret;
	__s32 qlen;
	__aligned_u64 ia;
	__u32 flags;			/* DAT_EVD_FLAGS */
	__u32 pad;
	__aligned_u64 evd;		/* out */
	struct kdapl_uapi_ring ring;	/* out */
};

struct kdapl_uapi_evd_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 evd;
	__aligned_u64 ia;		/* out, and all that follows */
	__s32 qlen;
	__u32 flags;
	__u32 state;	/* DAT_EVD_STATE without ENABLED and DISABLED */
	__u32 pad;			/* in and out: zero */
};

/*
 * The process must not take events during this call.  @ring is the ring to use from now on;
 * it may be the same one.  A new ring has a consumer index of 0 and holds the events that
 * had not been taken from the old one.
 */
struct kdapl_uapi_evd_resize {
	__u32 ret;
	__s32 qlen;
	__aligned_u64 evd;
	struct kdapl_uapi_ring ring;	/* out */
};

struct kdapl_uapi_evd_ring {
	__u32 ret;
	__u32 pad;
	__aligned_u64 evd;
	struct kdapl_uapi_ring ring;	/* out */
};

struct kdapl_uapi_evd_post_se {
	__u32 ret;
	__u32 event_number;
	__aligned_u64 evd;
	__aligned_u64 pointer;
};

/*
 * Waits until @threshold events are in the ring; takes none of them.
 *
 * A signal that has a handler ends the call with EINTR.  @ret is DAT_INTERRUPTED_CALL then,
 * and @queued is valid, as it is with DAT_SUCCESS and DAT_TIMEOUT_EXPIRED.  The caller
 * sets @deadline to 0; the kernel stores the end of the timeout there (CLOCK_MONOTONIC,
 * ns), so that a call that is restarted after a signal ends at the same time.
 */
struct kdapl_uapi_evd_wait {
	__u32 ret;
	__u32 timeout;			/* microseconds, all ones: for ever */
	__aligned_u64 evd;
	__s32 threshold;
	__u32 queued;			/* out: events in the ring */
	__aligned_u64 deadline;
};

/* Takes one event, for a process that has not mapped the ring. */
struct kdapl_uapi_evd_dequeue {
	__u32 ret;
	__u32 pad;
	__aligned_u64 evd;
	struct kdapl_uapi_event event;	/* out */
};

/*
 * A file descriptor of the EVD, for poll(2) and its like: readable while events
 * are there, POLLHUP when the EVD is gone.  Closed on exec.
 */
struct kdapl_uapi_evd_poll_fd {
	__u32 ret;
	__s32 fd;			/* out */
	__aligned_u64 evd;
};

struct kdapl_uapi_evd_set_waitable {
	__u32 ret;
	__u32 waitable;			/* 0 or 1 */
	__aligned_u64 evd;
};

/* Endpoint */

struct kdapl_uapi_ep_attr {
	__aligned_u64 max_message_size;
	__aligned_u64 max_rdma_size;
	__u32 service_type;
	__u32 qos;
	__u32 recv_completion_flags;
	__u32 request_completion_flags;
	__s32 max_recv_dtos;
	__s32 max_request_dtos;
	__s32 max_recv_iov;
	__s32 max_request_iov;
	__s32 max_rdma_read_in;
	__s32 max_rdma_read_out;
	__s32 srq_soft_hw;
	__s32 max_rdma_read_iov;
	__s32 max_rdma_write_iov;
	__s32 transport_specific_count;
	__s32 provider_specific_count;
	__u32 pad;
};

#define KDAPL_EP_HAS_ATTR	0x1	/* use @attr; without it: the default attributes */

struct kdapl_uapi_ep_create {
	__u32 ret;
	__u32 flags;			/* KDAPL_EP_HAS_ATTR */
	__aligned_u64 ia;
	__aligned_u64 pz;
	__aligned_u64 recv_evd;
	__aligned_u64 request_evd;
	__aligned_u64 connect_evd;
	struct kdapl_uapi_ep_attr attr;
	__aligned_u64 ep;		/* out */
};

/* dat_ep_create_with_srq, which requires attributes */
struct kdapl_uapi_ep_create_with_srq {
	__u32 ret;
	__u32 flags;			/* KDAPL_EP_HAS_ATTR; without it @ret is an error */
	__aligned_u64 ia;
	__aligned_u64 pz;
	__aligned_u64 recv_evd;
	__aligned_u64 request_evd;
	__aligned_u64 connect_evd;
	__aligned_u64 srq;
	struct kdapl_uapi_ep_attr attr;
	__aligned_u64 ep;		/* out */
};

/* For a query, which fills the parameters in, and for a modify, which takes them */
struct kdapl_uapi_ep_param {
	__u32 ret;
	__u32 ep_state;
	__aligned_u64 ep;
	__aligned_u64 mask;
	__aligned_u64 ia;
	struct kdapl_uapi_addr local_address;
	__aligned_u64 local_port_qual;
	struct kdapl_uapi_addr remote_address;
	__aligned_u64 remote_port_qual;
	__aligned_u64 pz;
	__aligned_u64 recv_evd;
	__aligned_u64 request_evd;
	__aligned_u64 connect_evd;
	__aligned_u64 srq;
	struct kdapl_uapi_ep_attr attr;
};

struct kdapl_uapi_ep_get_status {
	__u32 ret;
	__u32 state;			/* out */
	__u32 recv_idle;		/* out */
	__u32 request_idle;		/* out */
	__aligned_u64 ep;
};

struct kdapl_uapi_ep_recv_query {
	__u32 ret;
	__u32 pad;
	__aligned_u64 ep;
	__s32 allocated;		/* out */
	__s32 span;			/* out */
};

struct kdapl_uapi_ep_connect {
	__u32 ret;
	__u32 flags;			/* DAT_CONNECT_FLAGS */
	__u32 timeout;
	__u32 qos;
	__aligned_u64 ep;
	struct kdapl_uapi_addr address;
	__aligned_u64 conn_qual;
	__aligned_u64 private_data;
	__s32 private_data_size;
	__u32 pad;
};

struct kdapl_uapi_ep_dup_connect {
	__u32 ret;
	__u32 timeout;
	__u32 qos;
	__s32 private_data_size;
	__aligned_u64 ep;
	__aligned_u64 dup_ep;
	__aligned_u64 private_data;
};

/* The private data that came with ESTABLISHED or PEER_REJECTED; none once the EP has been reset. */
struct kdapl_uapi_ep_private_data {
	__u32 ret;
	__u32 size;			/* bytes at @buf */
	__aligned_u64 ep;
	__aligned_u64 buf;
	__u32 length;			/* out: bytes of private data */
	__u32 life;			/* as in the event, kdapl_uapi_connect_event.life */
};

/* Endpoints in passthrough (KDAPL_IOC_IA_PASSTHROUGH) */

/* A graceful disconnect waits until the process sends KDAPL_TELL_DRAINED. */
#define KDAPL_BOARD_DRAIN	0x1
/* The kernel has moved the queue pair to the error state. */
#define KDAPL_BOARD_ERROR	0x2
/* The kernel has let go of the queue pair: the process can destroy it. */
#define KDAPL_BOARD_UNBOUND	0x4
/*
 * The peer has disconnected.  Its answers to our requests may still be on their way.  The kernel
 * gives them a moment, but stops waiting when the process sends KDAPL_TELL_DRAINED, because
 * then nothing is outstanding.
 */
#define KDAPL_BOARD_LEFT	0x8
/* The connection was established: the event that says so was raised, and had room. */
#define KDAPL_BOARD_ESTABLISHED	0x10

/**
 * struct kdapl_uapi_board_ep - what the kernel shows of an EP
 * @life: the number of the connection or attempt that the other fields are about; 0: there
 *	  was none so far, or the fields are just being changed to another one
 * @state: DAT_EP_STATE
 * @refuse_request: DAT_RETURN with which a post of a request has to be refused; 0: it is
 *		    allowed
 * @refuse_recv: the same for a post of a receive
 * @flags: KDAPL_BOARD_*
 *
 * The kernel writes it after the event that reports the change is in its ring.  @life is 0
 * while the other fields change to those of another life.  A reader that wants fields which
 * belong to one life loads @life with acquire, then the fields, then, after a read barrier,
 * @life again, and compares.
 */
struct kdapl_uapi_board_ep {
	__u32 life;
	__u32 state;
	__u32 refuse_request;
	__u32 refuse_recv;
	__u32 flags;
	__u32 pad[11];
};

/*
 * The slot of an EP on its file's board; stays the same until the EP is freed. Or that of an IA in
 * passthrough, where only the two @refuse_... mean something: 0 while the device is there, and
 * once it is gone what a call that makes something, or needs the device, has to return.
 */
struct kdapl_uapi_ep_board {
	__u32 ret;
	__u32 slot;			/* out */
	__aligned_u64 ep;		/* or IA */
};

/**
 * struct kdapl_uapi_board_event - an eventfd that tells of changes of the board
 * @ret: DAT_INVALID_STATE if the file has one already
 * @eventfd: 1 is added to its count after each change of the file's board; it may be opened
 *	     EFD_NONBLOCK.  The file keeps it until it is released
 *
 * The ioctl fails with EBADF: no such fd; EINVAL: the fd is no eventfd.
 */
struct kdapl_uapi_board_event {
	__u32 ret;
	__s32 eventfd;
};

/**
 * struct kdapl_uapi_ep_bind - the queue pair of the next connection
 * @ret: DAT_INVALID_STATE unless the EP is Unconnected (or awaits an accept) and has no queue
 *	 pair bound
 * @uverbs_fd: uverbs file of the context to which the queue pair belongs
 * @ep: on an IA in passthrough
 * @qp_num: number of a queue pair of the process: RC, in INIT, on the IA's device, with an
 *	    ibv_srq if the EP is on an SRQ and without one otherwise
 * @life: out: the life of the attempt that the queue pair is for, as on the board
 *
 * The ioctl fails, and nothing is bound, with: EBADF: no such fd; EINVAL: the fd is not a
 * uverbs file of this device, or the queue pair is not RC, not in INIT (on iWARP that is not
 * checked), or has an ibv_srq while the EP is not on an SRQ, or the other way round; ENOENT:
 * the context has no such queue pair; EBUSY: the queue pair is bound already, or is being
 * made or destroyed.  While a queue pair is bound, ibv_destroy_qp() fails with EBUSY.
 * Connect, dup_connect and accept need a bound queue pair, and give DAT_INVALID_STATE
 * without one.
 */
struct kdapl_uapi_ep_bind {
	__u32 ret;
	__s32 uverbs_fd;
	__aligned_u64 ep;
	__u32 qp_num;
	__u32 life;
};

enum kdapl_uapi_tell {
	KDAPL_TELL_CONFIRM,	/* a receive completed before ESTABLISHED */
	KDAPL_TELL_BROKEN,	/* a completion has an error (on iWARP: other than a flush), or
				 * a post has failed
				 */
	KDAPL_TELL_DRAINED,	/* after KDAPL_BOARD_DRAIN or _LEFT: no request is outstanding */
	KDAPL_TELL_FLUSH,	/* something was posted after the move to ERR: repeat it */
	KDAPL_TELL_UNBIND,	/* all is polled, or it was waited for long enough: let go */
};

/* What the process reports about a bound queue pair.  A report for an older @life is ignored. */
struct kdapl_uapi_ep_tell {
	__u32 ret;
	__u32 what;			/* enum kdapl_uapi_tell */
	__aligned_u64 ep;
	__u32 life;
	__u32 pad;
};

/*
 * KDAPL_VERBS_LATE_CQS: returns when the handlers have run of all CQs in which nothing completes
 * any more, so that these can be destroyed.
 */
struct kdapl_uapi_cq_settle {
	__u32 ret;			/* out: DAT_SUCCESS */
	__u32 pad;
};

/* Data transfer */

enum kdapl_uapi_op {
	KDAPL_OP_SEND,
	KDAPL_OP_RECV,
	KDAPL_OP_RDMA_READ,
	KDAPL_OP_RDMA_WRITE,
	KDAPL_OP_RDMA_WRITE_IMMED,
	KDAPL_OP_CMP_SWAP,
	KDAPL_OP_FETCH_ADD,
	KDAPL_OP_SEND_INVALIDATE,
	KDAPL_OP_RDMA_READ_TO_RMR,
};

/*
 * The remote triplet of sends and receives has to be zero.  From KDAPL_OP_RDMA_WRITE_IMMED on,
 * @segments points to a struct kdapl_uapi_dto_more.  The one segment of a
 * KDAPL_OP_RDMA_READ_TO_RMR has an rmr_context in the place of the lmr_context, of an RMR that was
 * made with KDAPL_RMR_REVOCABLE.
 */
struct kdapl_uapi_dto {
	__u32 op;			/* enum kdapl_uapi_op */
	__u32 flags;			/* DAT_COMPLETION_FLAGS */
	__s32 num_segments;
	__u32 rmr_context;
	__aligned_u64 segments;		/* struct kdapl_uapi_segment[] */
	__aligned_u64 cookie;
	__aligned_u64 target_address;
	__aligned_u64 target_length;
};

/**
 * struct kdapl_uapi_dto_more - the rest of a DTO that does not fit into the structure of all
 * @segments: struct kdapl_uapi_segment[]
 * @operand: what is added or becomes the value; or, in the lower half, immediate data, whose bytes
 *	     are sent as they lie there, or the key that the peer's device forgets;
 *	     else zero
 * @compare: of KDAPL_OP_CMP_SWAP, else zero
 */
struct kdapl_uapi_dto_more {
	__aligned_u64 segments;
	__aligned_u64 operand;
	__aligned_u64 compare;
};

/*
 * Posts @count DTOs in order, and stops at the first one that is refused.  @ret is the
 * DAT_RETURN of that one.  @done is the number of DTOs posted before it; it is valid with
 * every @ret, and also when the call fails with EFAULT or EINVAL in the middle.
 */
struct kdapl_uapi_post {
	__u32 ret;
	__u32 count;			/* at most KDAPL_UAPI_MAX_DTOS */
	__aligned_u64 ep;
	__aligned_u64 dtos;		/* struct kdapl_uapi_dto[] */
	__u32 done;			/* out */
	__u32 pad;
};

/* Shared receive queues.  KDAPL_IOC_SRQ_POST takes struct kdapl_uapi_post, with the SRQ in @ep */
struct kdapl_uapi_srq_create {
	__u32 ret;
	__s32 max_recv_dtos;
	__s32 max_recv_iov;
	__s32 low_watermark;
	__aligned_u64 ia;
	__aligned_u64 pz;
	__aligned_u64 srq;		/* out */
};

struct kdapl_uapi_srq_query {
	__u32 ret;
	__u32 mask;			/* DAT_SRQ_PARAM_MASK */
	__aligned_u64 srq;
	__aligned_u64 ia;		/* out, and all that follows */
	__aligned_u64 pz;
	__u32 state;			/* DAT_SRQ_STATE */
	__s32 max_recv_dtos;
	__s32 max_recv_iov;
	__s32 low_watermark;
	__s32 available;
	__s32 outstanding;
};

/* KDAPL_IOC_SRQ_RESIZE and KDAPL_IOC_SRQ_SET_LW */
struct kdapl_uapi_srq_count {
	__u32 ret;
	__s32 count;
	__aligned_u64 srq;
};

enum kdapl_uapi_srq_news {
	KDAPL_SRQ_TELL_LOW,	/* fewer receives are left than the low watermark */
	KDAPL_SRQ_TELL_ERROR,	/* the device has lost the queue */
};

/*
 * What the process reports about the queue of an SRQ that it has made.  The kernel raises the
 * asynchronous event: for _LOW only if the low watermark is armed, for _ERROR only if the SRQ
 * is not known to be in error yet.  DAT_INVALID_STATE on an IA that is not in passthrough.
 */
struct kdapl_uapi_srq_tell {
	__u32 ret;
	__u32 what;			/* enum kdapl_uapi_srq_news */
	__aligned_u64 srq;
};

/* Service points and connection requests */

struct kdapl_uapi_psp_create {
	__u32 ret;
	__u32 flags;			/* DAT_PSP_FLAGS */
	__aligned_u64 ia;
	__aligned_u64 conn_qual;	/* in; for KDAPL_IOC_PSP_CREATE_ANY: out */
	__aligned_u64 evd;
	__aligned_u64 psp;		/* out */
};

struct kdapl_uapi_psp_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 psp;
	__aligned_u64 ia;		/* out, and all that follows */
	__aligned_u64 conn_qual;
	__aligned_u64 evd;
	__u32 flags;
	__u32 pad;			/* in and out: zero */
};

struct kdapl_uapi_rsp_create {
	__u32 ret;
	__u32 pad;
	__aligned_u64 ia;
	__aligned_u64 conn_qual;
	__aligned_u64 ep;
	__aligned_u64 evd;
	__aligned_u64 rsp;		/* out */
};

struct kdapl_uapi_rsp_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 rsp;
	__aligned_u64 ia;		/* out, and all that follows */
	__aligned_u64 conn_qual;
	__aligned_u64 evd;
	__aligned_u64 ep;
};

struct kdapl_uapi_cr_query {
	__u32 ret;
	__u32 mask;
	__aligned_u64 cr;
	__aligned_u64 private_data;	/* buffer of @size bytes */
	__u32 size;
	__u32 private_data_size;	/* out: bytes of private data */
	struct kdapl_uapi_addr remote_address;	/* out */
	__aligned_u64 remote_port_qual;	/* out */
	__aligned_u64 local_ep;		/* out */
};

struct kdapl_uapi_cr_accept {
	__u32 ret;
	__s32 private_data_size;
	__aligned_u64 cr;
	__aligned_u64 ep;
	__aligned_u64 private_data;
};

struct kdapl_uapi_cr_reject {
	__u32 ret;
	__s32 private_data_size;
	__aligned_u64 cr;
	__aligned_u64 private_data;
};

struct kdapl_uapi_cr_handoff {
	__u32 ret;
	__u32 pad;
	__aligned_u64 cr;
	__aligned_u64 conn_qual;
};

#define KDAPL_IOC_MAGIC		0xda
#define KDAPL_IOC(nr, type)	_IOWR(KDAPL_IOC_MAGIC, nr, struct kdapl_uapi_##type)

#define KDAPL_IOC_QUERY_ABI		KDAPL_IOC(0x00, query_abi)
#define KDAPL_IOC_HANDLE_TYPE		KDAPL_IOC(0x01, handle_type)
#define KDAPL_IOC_IA_LIST		KDAPL_IOC(0x02, ia_list)
#define KDAPL_IOC_IA_OPEN		KDAPL_IOC(0x03, ia_open)
#define KDAPL_IOC_IA_CLOSE		KDAPL_IOC(0x04, handle_flags)
#define KDAPL_IOC_IA_QUERY		KDAPL_IOC(0x05, ia_query)
#define KDAPL_IOC_IA_PASSTHROUGH	KDAPL_IOC(0x06, ia_passthrough)
/* A CQ of the process's own could not be polled or armed: has its async EVDs told (E72) */
#define KDAPL_IOC_IA_CQ_FAULT		KDAPL_IOC(0x07, handle)

#define KDAPL_IOC_PZ_CREATE		KDAPL_IOC(0x08, pz_create)
#define KDAPL_IOC_PZ_QUERY		KDAPL_IOC(0x09, pz_query)
#define KDAPL_IOC_PZ_FREE		KDAPL_IOC(0x0a, handle)

/* From now on each EP of the IA on an SRQ raises EP_BROKEN when it takes no more receives. */
#define KDAPL_IOC_IA_TELL_LAST		KDAPL_IOC(0x0b, handle)

#define KDAPL_IOC_LMR_CREATE		KDAPL_IOC(0x10, lmr_create)
#define KDAPL_IOC_LMR_QUERY		KDAPL_IOC(0x11, lmr_query)
#define KDAPL_IOC_LMR_FREE		KDAPL_IOC(0x12, handle)
#define KDAPL_IOC_LMR_SYNC		KDAPL_IOC(0x13, lmr_sync)

#define KDAPL_IOC_EVD_CREATE		KDAPL_IOC(0x18, evd_create)
#define KDAPL_IOC_EVD_QUERY		KDAPL_IOC(0x19, evd_query)
#define KDAPL_IOC_EVD_RESIZE		KDAPL_IOC(0x1a, evd_resize)
#define KDAPL_IOC_EVD_FREE		KDAPL_IOC(0x1b, handle)
#define KDAPL_IOC_EVD_POST_SE		KDAPL_IOC(0x1c, evd_post_se)
#define KDAPL_IOC_EVD_WAIT		KDAPL_IOC(0x1d, evd_wait)
#define KDAPL_IOC_EVD_DEQUEUE		KDAPL_IOC(0x1e, evd_dequeue)
#define KDAPL_IOC_EVD_REFILL		KDAPL_IOC(0x1f, handle)
#define KDAPL_IOC_EVD_RING		KDAPL_IOC(0x20, evd_ring)
#define KDAPL_IOC_EVD_POLL_FD		KDAPL_IOC(0x21, evd_poll_fd)
#define KDAPL_IOC_EVD_SET_WAITABLE	KDAPL_IOC(0x22, evd_set_waitable)
#define KDAPL_IOC_CQ_SETTLE		KDAPL_IOC(0x23, cq_settle)

#define KDAPL_IOC_EP_CREATE		KDAPL_IOC(0x28, ep_create)
#define KDAPL_IOC_EP_QUERY		KDAPL_IOC(0x29, ep_param)
#define KDAPL_IOC_EP_MODIFY		KDAPL_IOC(0x2a, ep_param)
#define KDAPL_IOC_EP_GET_STATUS		KDAPL_IOC(0x2b, ep_get_status)
#define KDAPL_IOC_EP_CONNECT		KDAPL_IOC(0x2c, ep_connect)
#define KDAPL_IOC_EP_DUP_CONNECT	KDAPL_IOC(0x2d, ep_dup_connect)
#define KDAPL_IOC_EP_DISCONNECT		KDAPL_IOC(0x2e, handle_flags)
#define KDAPL_IOC_EP_RESET		KDAPL_IOC(0x2f, handle)
#define KDAPL_IOC_EP_FREE		KDAPL_IOC(0x30, handle)
#define KDAPL_IOC_EP_PRIVATE_DATA	KDAPL_IOC(0x31, ep_private_data)
#define KDAPL_IOC_EP_BOARD		KDAPL_IOC(0x32, ep_board)
#define KDAPL_IOC_EP_BIND		KDAPL_IOC(0x33, ep_bind)
#define KDAPL_IOC_EP_TELL		KDAPL_IOC(0x34, ep_tell)
#define KDAPL_IOC_EP_CREATE_WITH_SRQ	KDAPL_IOC(0x35, ep_create_with_srq)
#define KDAPL_IOC_EP_RECV_QUERY		KDAPL_IOC(0x36, ep_recv_query)
#define KDAPL_IOC_BOARD_EVENT		KDAPL_IOC(0x37, board_event)

#define KDAPL_IOC_POST			KDAPL_IOC(0x38, post)

#define KDAPL_IOC_PSP_CREATE		KDAPL_IOC(0x40, psp_create)
#define KDAPL_IOC_PSP_CREATE_ANY	KDAPL_IOC(0x41, psp_create)
#define KDAPL_IOC_PSP_QUERY		KDAPL_IOC(0x42, psp_query)
#define KDAPL_IOC_PSP_FREE		KDAPL_IOC(0x43, handle)
#define KDAPL_IOC_RSP_CREATE		KDAPL_IOC(0x44, rsp_create)
#define KDAPL_IOC_RSP_QUERY		KDAPL_IOC(0x45, rsp_query)
#define KDAPL_IOC_RSP_FREE		KDAPL_IOC(0x46, handle)

#define KDAPL_IOC_CR_QUERY		KDAPL_IOC(0x48, cr_query)
#define KDAPL_IOC_CR_ACCEPT		KDAPL_IOC(0x49, cr_accept)
#define KDAPL_IOC_CR_REJECT		KDAPL_IOC(0x4a, handle)
#define KDAPL_IOC_CR_HANDOFF		KDAPL_IOC(0x4b, cr_handoff)
#define KDAPL_IOC_CR_REJECT_DATA	KDAPL_IOC(0x4c, cr_reject)

#define KDAPL_IOC_RMR_CREATE		KDAPL_IOC(0x50, rmr_create)
#define KDAPL_IOC_RMR_QUERY		KDAPL_IOC(0x51, rmr_query)
#define KDAPL_IOC_RMR_BIND		KDAPL_IOC(0x52, rmr_bind)
#define KDAPL_IOC_RMR_FREE		KDAPL_IOC(0x53, handle)

#define KDAPL_IOC_SRQ_CREATE		KDAPL_IOC(0x58, srq_create)
#define KDAPL_IOC_SRQ_QUERY		KDAPL_IOC(0x59, srq_query)
#define KDAPL_IOC_SRQ_RESIZE		KDAPL_IOC(0x5a, srq_count)
#define KDAPL_IOC_SRQ_SET_LW		KDAPL_IOC(0x5b, srq_count)
#define KDAPL_IOC_SRQ_POST		KDAPL_IOC(0x5c, post)
#define KDAPL_IOC_SRQ_FREE		KDAPL_IOC(0x5d, handle)
#define KDAPL_IOC_SRQ_TELL		KDAPL_IOC(0x5e, srq_tell)

#endif /* _UAPI_RDMA_KDAPL_H */
