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
 * Number, and name for people.  The first ones have the numbers of enum kdapl_uapi_op: these can
 * be forwarded by a process.
 */
#define KDAPL_DTO_KINDS(KIND, LAST_KIND)		\
	KIND(SEND, "send")				\
	KIND(RECV, "recv")				\
	KIND(RDMA_READ, "rdma_read")			\
	KIND(RDMA_WRITE, "rdma_write")			\
	KIND(SEND_INVALIDATE, "send_invalidate")	\
	LAST_KIND(BIND, "bind")

#define DTO_NUMBER(kind, name)	KDAPL_DTO_##kind,
enum kdapl_dto_kind {
	KDAPL_DTO_KINDS(DTO_NUMBER, DTO_NUMBER)
	KDAPL_NR_DTO_KINDS
};

#undef DTO_NUMBER

/* What the device writes into memory of its own side */
#define KDAPL_SINK_READ		1	/* what a read has fetched */
#define KDAPL_SINK_RECV		2	/* a message */

/*
 * struct kdapl_dto_row - what one kind of post is
 * @opcode: of verbs, for a request
 * @flags: completion flags that a post may carry, UNSIGNALLED aside (mt:T19)
 * @flags_arg: which argument of its call these are
 * @sink: KDAPL_SINK_*, what the device writes into the local segments; 0: it reads them
 * @remote: it names memory of the peer: an RDMA operation
 * @fetches: the peer's memory is read; the device has as many of these under way as the
 *	     attributes say, which may be none (mt:T16)
 * @max_iov, @max_length: where in the attributes of an endpoint the limits of its local segments
 *	     are; a bind has none
 */
struct kdapl_dto_row {
	u8 opcode;
	u8 sink;
	bool remote;
	bool fetches;
	u32 flags;
	u32 flags_arg;
	u16 max_iov;
	u16 max_length;
};

#define DTO_REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define DTO_SEND_FLAGS		(DTO_REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)
#define DTO_LIMIT(attr)		offsetof(port_ep_attr, attr)

/* Where the kind is known when the code is compiled, so is its row. */
static const struct kdapl_dto_row kdapl_dto_rows[KDAPL_NR_DTO_KINDS] __maybe_unused = {
	[KDAPL_DTO_SEND] = {
		.opcode = PORT_WR(SEND),
		.flags = DTO_SEND_FLAGS,
		.flags_arg = DAT_INVALID_ARG5,
		.max_iov = DTO_LIMIT(max_request_iov),
		.max_length = DTO_LIMIT(max_message_size),
	},
	[KDAPL_DTO_RECV] = {
		.flags_arg = DAT_INVALID_ARG5,
		.sink = KDAPL_SINK_RECV,
		.max_iov = DTO_LIMIT(max_recv_iov),
		.max_length = DTO_LIMIT(max_message_size),
	},
	[KDAPL_DTO_RDMA_READ] = {
		.opcode = PORT_WR(RDMA_READ),
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.sink = KDAPL_SINK_READ,
		.remote = true,
		.fetches = true,
		.max_iov = DTO_LIMIT(max_rdma_read_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_RDMA_WRITE] = {
		.opcode = PORT_WR(RDMA_WRITE),
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
		.remote = true,
		.max_iov = DTO_LIMIT(max_rdma_write_iov),
		.max_length = DTO_LIMIT(max_rdma_size),
	},
	[KDAPL_DTO_SEND_INVALIDATE] = {
		.opcode = PORT_WR(SEND_WITH_INV),
		.flags = DTO_SEND_FLAGS,
		.flags_arg = DAT_INVALID_ARG5,
		.max_iov = DTO_LIMIT(max_request_iov),
		.max_length = DTO_LIMIT(max_message_size),
	},
	[KDAPL_DTO_BIND] = {
		.flags = DTO_REQUEST_FLAGS,
		.flags_arg = DAT_INVALID_ARG6,
	},
};

/*
 * struct kdapl_dto_limits - what the attributes of an endpoint allow one kind of post
 * @flags: completion flags that it may carry (mt:T19, mt:T21)
 * @max_iov: segments
 * @max_length: bytes
 */
struct kdapl_dto_limits {
	u32 flags;
	u32 max_iov;
	u64 max_length;
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
 * @invalidate: of a SEND_INVALIDATE: the key that the peer's device forgets
 * @flags: DAT_COMPLETION_*_FLAG
 */
struct kdapl_dto {
	enum kdapl_dto_kind kind;
	DAT_COUNT segments;
	const DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	const DAT_RMR_TRIPLET *remote;
	DAT_RMR_CONTEXT invalidate;
	DAT_COMPLETION_FLAGS flags;
};

#endif /* DTO_KIND_H */
