/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The protocol of dat-pingpong (an application) and kdat-pingpong (a kernel
 * consumer). Both include this header, so that either can be the client of the
 * other. All numbers on the wire are big endian.
 *
 * 1. The server listens on a connection qualifier (PP_PORT unless told otherwise).
 * 2. The client connects; its private data is a struct pp_hello.
 * 3. The server rejects, or accepts with a struct pp_info.
 * 4. After ESTABLISHED the client's first Send is its own struct pp_info. The
 *    server posted the Recv for it before it accepted. (PP_F_RMR: a Send back.)
 * 5. hello.iterations round trips, k = 0, 1, ... (enum pp_mode).
 * 6. After the last one the client disconnects gracefully. The server may
 *    disconnect too when it sees DISCONNECTED.
 */
#ifndef PINGPONG_PROTOCOL_H
#define PINGPONG_PROTOCOL_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define PP_MAGIC	0x6b646174u	/* "kdat" */
#define PP_VERSION	1u
#define PP_PORT		18515u		/* not 4791, which RoCE uses itself */
#define PP_MAX_SIZE	(1u << 20)

/*
 * What a round trip is
 *
 * PP_SEND	client sends size bytes of pattern (k, 0); server checks them
 *		and sends size bytes of pattern (k, 1); client checks them.
 * PP_WRITE	client RDMA-writes size bytes of pattern (k, 0) into the
 *		server's buffer, then sends a struct pp_notice; server checks
 *		its buffer, RDMA-writes pattern (k, 1) into the client's
 *		buffer and sends a struct pp_notice; client checks its buffer.
 * PP_READ	client fills its buffer with pattern (k, 0) and sends a
 *		struct pp_notice; server RDMA-reads it, checks, fills its own
 *		buffer with pattern (k, 1) and sends a struct pp_notice;
 *		client RDMA-reads that and checks.
 *
 * An iteration takes one Recv of each side: for the message in PP_SEND, for the
 * notice in the other modes. Each side has the Recv for iteration k + 1 posted
 * before it answers iteration k, so no message finds a receiver that is not
 * ready. Notices are not received into the buffer that pp_info names.
 */
enum pp_mode {
	PP_SEND = 0,
	PP_WRITE = 1,
	PP_READ = 2,
	PP_MODES = 3,
};

/*
 * With PP_F_VERIFY, and only then, a side fills its buffer at every iteration,
 * and checks what it got.
 *
 * With PP_F_RMR each side reaches the other's buffer through an RMR, which can be
 * bound only when there is a connection. So the rmr_context of the acceptance
 * means nothing. The client binds its RMR before it sends its struct pp_info.
 * When the server has that, it binds its own RMR and answers with a Send of
 * another struct pp_info, for which the client has posted a Recv. A server that
 * can do this sets PP_F_RMR in the flags of its acceptance. If it is not set
 * (kdat-pingpong ignores the flag), the client disconnects.
 */
enum pp_flags {
	PP_F_VERIFY = 1u << 0,
	PP_F_RMR = 1u << 1,
};

/*
 * A side that finds a wrong byte sends the other one a notice with the status
 * PP_BAD_DATA, and both give up. PP_SEND has no notices: there the side that
 * found it disconnects abruptly.
 */
enum pp_status {
	PP_OK = 0,
	PP_BAD_DATA = 1,
};

/*
 * Private data of the connect request, 28 bytes. A server that cannot serve it
 * (magic, version, mode, size) rejects.
 */
struct pp_hello {
	__be32 magic;
	__be32 version;
	__be32 mode;		/* enum pp_mode */
	__be32 size;		/* bytes an iteration moves each way */
	__be32 iterations;
	__be32 flags;		/* enum pp_flags */
	__be32 depth;		/* Recvs each side keeps posted, at least 1 */
};

/*
 * A buffer open to the peer, 32 bytes: at least max(size, 1) bytes, with remote
 * read and write.
 */
struct pp_info {
	__be32 magic;
	__be32 version;
	__be64 address;
	__be64 length;
	__be32 rmr_context;
	__be32 flags;		/* of an acceptance: flags of the hello that the server supports */
};

/* Tells the peer that it is its turn, 8 bytes. */
struct pp_notice {
	__be32 iteration;
	__be32 status;		/* enum pp_status */
};

#ifdef __KERNEL__
static_assert(sizeof(struct pp_hello) == 28);
static_assert(sizeof(struct pp_info) == 32);
static_assert(sizeof(struct pp_notice) == 8);
#else
_Static_assert(sizeof(struct pp_hello) == 28, "layout on the wire");
_Static_assert(sizeof(struct pp_info) == 32, "layout on the wire");
_Static_assert(sizeof(struct pp_notice) == 8, "layout on the wire");
#endif

/* Byte i of the data of side s (0: client, 1: server) in iteration k */
static inline u8 pp_byte(u32 k, u32 i, u32 s)
{
	return (u8)(k * 31 + i * 7 + s * 101 + (i >> 8));
}

#endif /* PINGPONG_PROTOCOL_H */
