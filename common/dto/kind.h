/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kinds of posts: a row for each, with everything in which one kind differs from another.
 * A new kind is a line in KDAPL_DTO_KINDS and a row here, and the call that posts it.
 *
 * The module and the library share this file; port_types.h of either has the names of verbs.
 */
#ifndef DTO_KIND_H
#define DTO_KIND_H

#include "port_types.h"

/*
 * Name, and name for people.  The first ones can be forwarded by a process, and have the numbers of
 * enum kdapl_uapi_op.
 */
#define KDAPL_DTO_FORWARDED(KIND)			\
	KIND(SEND, "send")				\
	KIND(RECV, "recv")				\
	KIND(RDMA_READ, "rdma_read")			\
	KIND(RDMA_WRITE, "rdma_write")			\
	KIND(RDMA_WRITE_IMMED, "rdma_write_immed")	\
	KIND(CMP_SWAP, "cmp_swap")			\
	KIND(FETCH_ADD, "fetch_add")			\
	KIND(SEND_INVALIDATE, "send_invalidate")	\
	KIND(RDMA_READ_TO_RMR, "rdma_read_to_rmr")

#define KDAPL_DTO_KINDS(KIND, LAST_KIND)		\
	KDAPL_DTO_FORWARDED(KIND)			\
	LAST_KIND(BIND, "bind")

#define DTO_NUMBER(kind, name)	KDAPL_DTO_##kind,
enum kdapl_dto_kind {
	KDAPL_DTO_KINDS(DTO_NUMBER, DTO_NUMBER)
	KDAPL_NR_DTO_KINDS
};

#undef DTO_NUMBER

/* For the files that know the ABI: its numbers are those of this file. */
#define DTO_IS_OP(name, text)	(int)KDAPL_DTO_##name == KDAPL_OP_##name &&
#define KDAPL_DTO_IS_ABI						\
	(KDAPL_DTO_FORWARDED(DTO_IS_OP)					\
	 KDAPL_CAN_IMMED == KDAPL_EXT_IMMED && KDAPL_CAN_ATOMIC == KDAPL_EXT_ATOMIC && \
	 KDAPL_MEM_PRIV_ATOMIC == KDAPL_PRIV_REMOTE_ATOMIC)

/* What has completed, as DAT 2.0 numbers it in events (DAT_DTOS, DAT_IB_DTOS). */
enum kdapl_operation {
	KDAPL_DID_SEND			= 0,
	KDAPL_DID_RDMA_WRITE		= 1,
	KDAPL_DID_RDMA_READ		= 2,
	KDAPL_DID_RECV			= 3,
	KDAPL_DID_RECV_INVALIDATE	= 4,	/* a receive whose message took a key of ours */
	KDAPL_DID_BIND			= 5,
	KDAPL_DID_RDMA_WRITE_IMMED	= 8,
	KDAPL_DID_RECV_IMMED		= 9,	/* a receive that such a write of the peer's took */
	KDAPL_DID_FETCH_ADD		= 10,
	KDAPL_DID_CMP_SWAP		= 11,
};

/* What not every device can: the values are those of KDAPL_EXT_* of the ABI. */
#define KDAPL_CAN_IMMED		1	/* RDMA write with immediate data */
#define KDAPL_CAN_ATOMIC	2	/* compare and swap, fetch and add */

/* In DAT_MEM_PRIV_FLAGS, beside those of DAT 1.2: peers may change the memory by atomics. */
#define KDAPL_MEM_PRIV_ATOMIC	0x40
/* Those that an LMR may have, and those of them that peers use */
#define KDAPL_LMR_PRIVILEGES	(DAT_MEM_PRIV_ALL_FLAG | KDAPL_MEM_PRIV_ATOMIC)
#define KDAPL_REMOTE_PRIVILEGES	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
				 DAT_MEM_PRIV_REMOTE_WRITE_FLAG | KDAPL_MEM_PRIV_ATOMIC)

/* Bytes that an atomic operation fetches and changes; the remote address is a multiple of it. */
#define KDAPL_ATOMIC_BYTES	8

/* What the device writes into memory of its own side */
#define KDAPL_SINK_READ		1	/* what a read has fetched */
#define KDAPL_SINK_RECV		2	/* a message */

/*
 * struct kdapl_dto_row - what one kind of post is
 * @opcode: of verbs, for a request
 * @sink: KDAPL_SINK_*, what the device writes into the local segments; 0: it reads them
 * @operation: enum kdapl_operation
 * @needs: KDAPL_CAN_*, what the device has to be able to do; 0: every device can.  A kind that
 *	   needs something is an extension: DAT 1.2 does not have it, and its completion says so
 * @remote: it names memory of the peer: an RDMA operation
 * @fetches: the peer's memory is read, as much of it as the remote segment says
 * @credit: the device has as many of these under way as the attributes say, which may be none
 *	    (mt:T16)
 * @atomic: an atomic operation, which takes operands
 * @word: it carries kdapl_dto.word to the peer's device
 * @chains: it may be several work requests, if its memory is in many pieces
 * @flags: completion flags that a post may carry, UNSIGNALLED aside (mt:T19)
 * @flags_arg: which argument of its call these are
 * @max_iov, @max_length: where in the attributes of an endpoint the limits of its local segments
 *	     are; a bind has none
 */
struct kdapl_dto_row {
	u8 opcode;
	u8 sink;
	u8 operation;
	u8 needs;
	bool remote;
	bool fetches;
	bool credit;
	bool atomic;
	bool word;
	bool chains;
	u16 max_iov;
	u16 max_length;
	u32 flags;
	u32 flags_arg;
};

#define DTO_REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define DTO_SEND_FLAGS		(DTO_REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)
#define DTO_LIMIT(attr)		offsetof(port_ep_attr, attr)

/* Where the kind is known when the code is compiled, so is its row. */
static const struct kdapl_dto_row kdapl_dto_rows[KDAPL_NR_DTO_KINDS] __maybe_unused = {
	[KDAPL_DTO_SEND] = {
		.opcode = PORT_WR(SEND),
		.operation = KDAPL_DID_SEND,
		.flags = DTO_SEND_FLAGS,
		.flags_arg = DAT_INVALID_ARG5,
		.max_iov = DTO_LIMIT(max_request_iov),
		.max_length = DTO_LIMIT(max_message_size),
	},
	[KDAPL_DTO_RECV] = {
		.sink = KDAPL_SINK_RECV,
		.operation = KDAPL_DID_RECV,
		.flags_arg = DAT_INVALID_ARG5,
		.max_iov = DTO_LIMIT(max_recv_iov),
		.max_length = DTO_LIMIT(max_message_size),
	},
	[KDAPL_DTO_RDMA_READ] = {
		.opcode = PORT_WR(RDMA_READ),
		.sink = KDAPL_SINK_READ,
		.operation = KDAPL_DID_RDMA_READ,
		.remote = true,
		.fetches = true,
		.credit = true,
		.chains = true,
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.max_iov = DTO_LIMIT(max_rdma_read_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_RDMA_WRITE] = {
		.opcode = PORT_WR(RDMA_WRITE),
		.operation = KDAPL_DID_RDMA_WRITE,
		.remote = true,
		.chains = true,
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.max_iov = DTO_LIMIT(max_rdma_write_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_RDMA_WRITE_IMMED] = {
		.opcode = PORT_WR(RDMA_WRITE_WITH_IMM),
		.operation = KDAPL_DID_RDMA_WRITE_IMMED,
		.needs = KDAPL_CAN_IMMED,
		.remote = true,
		.word = true,
		.flags = DTO_SEND_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.max_iov = DTO_LIMIT(max_rdma_write_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_CMP_SWAP] = {
		.opcode = PORT_WR(ATOMIC_CMP_AND_SWP),
		.sink = KDAPL_SINK_READ,
		.operation = KDAPL_DID_CMP_SWAP,
		.needs = KDAPL_CAN_ATOMIC,
		.remote = true,
		.credit = true,
		.atomic = true,
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.max_iov = DTO_LIMIT(max_rdma_read_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_FETCH_ADD] = {
		.opcode = PORT_WR(ATOMIC_FETCH_AND_ADD),
		.sink = KDAPL_SINK_READ,
		.operation = KDAPL_DID_FETCH_ADD,
		.needs = KDAPL_CAN_ATOMIC,
		.remote = true,
		.credit = true,
		.atomic = true,
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.max_iov = DTO_LIMIT(max_rdma_read_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_SEND_INVALIDATE] = {
		.opcode = PORT_WR(SEND_WITH_INV),
		.operation = KDAPL_DID_SEND,
		.word = true,
		.flags = DTO_SEND_FLAGS,
		.flags_arg = DAT_INVALID_ARG5,
		.max_iov = DTO_LIMIT(max_request_iov),
		.max_length = DTO_LIMIT(max_message_size),
	},
	/* Its one local segment names an RMR, and becomes the part of an LMR that this shows. */
	[KDAPL_DTO_RDMA_READ_TO_RMR] = {
		.opcode = PORT_WR(RDMA_READ),
		.sink = KDAPL_SINK_READ,
		.operation = KDAPL_DID_RDMA_READ,
		.remote = true,
		.fetches = true,
		.credit = true,
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.max_iov = DTO_LIMIT(max_rdma_read_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_BIND] = {
		.operation = KDAPL_DID_BIND,
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
	},
};

/*
 * struct kdapl_dto_limits - what the attributes of an endpoint allow one kind of post
 * @max_length: bytes; no device moves more than 32 bits can tell in one request
 * @max_iov: segments
 * @flags: completion flags that it may carry (mt:T19, mt:T21)
 */
struct kdapl_dto_limits {
	u32 max_length;
	u16 max_iov;
	u16 flags;
};

/* check.c */
void kdapl_dto_set_limits(struct kdapl_dto_limits *limits, const port_ep_attr *attr);

/*
 * struct kdapl_dto - a DTO as its consumer describes it
 * @kind: all but KDAPL_DTO_BIND
 * @segments: in @iov
 * @iov: local segments; copied (mt:T7)
 * @cookie: given back in the completion
 * @remote: of RDMA operations, may be NULL, which is refused; else ignored
 * @word: of a SEND_INVALIDATE: the key that the peer's device forgets; of an RDMA_WRITE_IMMED: the
 *	  immediate data, as the peer's device gives it to the peer
 * @flags: DAT_COMPLETION_*_FLAG
 * @operand: of an atomic: what is added, or what the memory becomes
 * @compare: of a CMP_SWAP: what it has to be for that
 */
struct kdapl_dto {
	enum kdapl_dto_kind kind;
	DAT_COUNT segments;
	const DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	const DAT_RMR_TRIPLET *remote;
	u32 word;
	DAT_COMPLETION_FLAGS flags;
	u64 operand;
	u64 compare;
};

#endif /* DTO_KIND_H */
