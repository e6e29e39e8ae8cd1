// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A client that speaks RPC-over-RDMA version 1 by hand.  It sends messages that no real
 * client sends, well-formed and malformed, and checks what the server answers.  Each case
 * has one connection of its own, or more.  The call is NFS's NULL with an AUTH_SYS
 * credential.  Read chunks are used for parts of that credential: the server accepts the
 * call only if it puts these together correctly.  Then there are calls that read and write
 * FILE.  The program makes that file, and looks at it, without NFS; the file's folder is
 * the root of NFS 4 at the server.
 *
 *	rpcrdma_raw ADDRESS PORT FILE [warned]
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define BUF	4096
#define RECVS	16
#define MEMORY	(64 * 1024)
#define XID	0x12345678

/* What the server does */
enum outcome {
	ACCEPTED,	/* an RPC reply that accepts the call */
	ERR_VERS,	/* RDMA_ERROR: version */
	ERR_CHUNK,	/* RDMA_ERROR: chunks */
	SILENCE,	/* no answer, and the connection goes on */
	CLOSED		/* ends the connection */
};

static const char *const outcomes[] = {
	"accepted", "ERR_VERS", "ERR_CHUNK", "silence", "closed"
};

struct conn {
	struct rdma_cm_id *id;
	uint8_t *buf;			/* the message, RECVS replies, MEMORY bytes */
	struct ibv_mr *mr;		/* of @buf; the server may read and write it */
	const uint32_t *reply;		/* the last reply, without transport header */
};

static const char *address, *port, *file;

static uint8_t *memory(struct conn *c)
{
	return c->buf + (1 + RECVS) * BUF;
}

/* ---- connections --------------------------------------------------------- */

static int conn_open(struct conn *c)
{
	/* RFC 8797: 4096 bytes each way, and no remote invalidation */
	uint8_t hello[8] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = RECVS,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_conn_param param = {
		.private_data = hello,
		.private_data_len = sizeof(hello),
		.responder_resources = 4,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int i;

	if (rdma_getaddrinfo(address, port, &hints, &res) ||
	    rdma_create_ep(&c->id, res, NULL, &attr))
		return -1;
	rdma_freeaddrinfo(res);
	c->buf = calloc(1, (1 + RECVS) * BUF + MEMORY);
	c->mr = ibv_reg_mr(c->id->pd, c->buf, (1 + RECVS) * BUF + MEMORY,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE);
	if (!c->mr)
		return -1;
	for (i = 1; i <= RECVS; i++)
		if (rdma_post_recv(c->id, c->buf + i * BUF, c->buf + i * BUF, BUF, c->mr))
			return -1;
	return rdma_connect(c->id, &param);
}

static void conn_close(struct conn *c)
{
	rdma_disconnect(c->id);
	ibv_dereg_mr(c->mr);
	rdma_destroy_ep(c->id);
	free(c->buf);
}

/* Where the transport header of a reply ends, which returns the chunks of the call. */
static const uint32_t *behind_header(const uint32_t *p)
{
	for (p += 5; *p; p += 2 + 4 * ntohl(p[1]))
		;
	p++;
	return *p ? p + 2 + 4 * ntohl(p[1]) : p + 1;
}

/* What the server does within @ms: a reply, the end of the connection, or nothing. */
static enum outcome wait_outcome(struct conn *c, int ms)
{
	struct pollfd cm = { .fd = c->id->channel->fd, .events = POLLIN };
	struct ibv_wc wc;
	const uint32_t *p;

	for (; ms > 0; ms -= 10) {
		if (ibv_poll_cq(c->id->recv_cq, 1, &wc) > 0) {
			if (wc.status != IBV_WC_SUCCESS)
				return CLOSED;
			p = (uint32_t *)(uintptr_t)wc.wr_id;
			if (ntohl(p[0]) != XID)
				return SILENCE;
			if (ntohl(p[3]) == 4)
				return ntohl(p[4]) == 1 ? ERR_VERS : ERR_CHUNK;
			/*
			 * RDMA_NOMSG: the reply is at the beginning of the memory;
			 * otherwise it is inline.
			 */
			p = ntohl(p[3]) == 1 ? (uint32_t *)memory(c) : behind_header(p);
			c->reply = p;
			return ntohl(p[1]) == 1 && !p[2] && !p[5] ? ACCEPTED : SILENCE;
		}
		/* An event of the CM: the server has disconnected. */
		if (poll(&cm, 1, 10) > 0)
			return CLOSED;
	}
	return SILENCE;
}

/* ---- messages ------------------------------------------------------------ */

static uint8_t *put(uint8_t *p, uint32_t word)
{
	word = htonl(word);
	memcpy(p, &word, 4);
	return p + 4;
}

static uint8_t *put_segment(uint8_t *p, uint32_t handle, uint32_t length, uint64_t offset)
{
	p = put(put(p, handle), length);
	return put(put(p, offset >> 32), offset);
}

static uint8_t *put_read(uint8_t *p, uint32_t position, uint32_t handle, uint32_t length,
			 uint64_t offset)
{
	return put_segment(put(put(p, 1), position), handle, length, offset);
}

static uint8_t *put_fixed(uint8_t *p, uint32_t version, uint32_t proc)
{
	return put(put(put(put(p, XID), version), 8), proc);
}

static uint8_t *put_no_lists(uint8_t *p)
{
	return put(put(put(p, 0), 0), 0);
}

/* A call of 68 bytes: the credential's stamp is at 32, its name of 5 bytes at 40. */
#define CALL	68
static uint8_t *put_call(uint8_t *p)
{
	static const uint32_t start[] = { XID, 0, 2, 100003, 3, 0, 1, 28, 77, 5 };
	static const uint32_t end[] = { 0, 0, 0, 0, 0 };
	unsigned int i;

	for (i = 0; i < 10; i++)
		p = put(p, start[i]);
	memcpy(p, "hello\0\0", 8);
	p += 8;
	for (i = 0; i < 5; i++)
		p = put(p, end[i]);
	return p;
}

/* ---- cases ---------------------------------------------------------------- */

/* Writes a message, and returns its end. */
typedef uint8_t *(*writer)(struct conn *c, uint8_t *p);

static uint8_t *plain(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_call(put_no_lists(put_fixed(p, 1, 0)));
}

static uint8_t *version_2(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_call(put_no_lists(put_fixed(p, 2, 0)));
}

static uint8_t *version_0(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_call(put_no_lists(put_fixed(p, 0, 0)));
}

static uint8_t *proc_msgp(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_call(put_no_lists(put_fixed(p, 1, 2)));
}

static uint8_t *proc_99(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_call(put_no_lists(put_fixed(p, 1, 99)));
}

static uint8_t *proc_done(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_fixed(p, 1, 3);
}

static uint8_t *proc_error(struct conn *c, uint8_t *p)
{
	(void)c;
	return put(put_fixed(p, 1, 4), 2);
}

static uint8_t *three_words(struct conn *c, uint8_t *p)
{
	(void)c;
	return put(put(put(p, XID), 1), 8);
}

static uint8_t *one_byte(struct conn *c, uint8_t *p)
{
	(void)c;
	*p++ = 1;
	return p;
}

static uint8_t *no_list(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_fixed(p, 1, 0);
}

static uint8_t *bad_discriminator(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_call(put(put(put(put_fixed(p, 1, 0), 2), 0), 0));
}

static uint8_t *cut_read_list(struct conn *c, uint8_t *p)
{
	uint32_t key = c->mr->rkey;

	return put(put(put(put_fixed(p, 1, 0), 1), 0), key);
}

static uint8_t *endless_reads(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;
	int i = 0;

	p = put_fixed(p, 1, 0);
	while (i++ < 168)
		p = put_read(p, 40, key, 4, at);
	return p;
}

static uint8_t *endless_writes(struct conn *c, uint8_t *p)
{
	int i = 0;

	(void)c;
	p = put(put_fixed(p, 1, 0), 0);
	while (i++ < 200)
		p = put(put(p, 1), 0);
	return put_call(put(put(p, 0), 0));
}

static uint8_t *huge_read(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put_read(put_fixed(p, 1, 0), 40, key, 0xffffffff, at);
	return put_call(put_no_lists(p));
}

static uint8_t *huge_reads(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;
	int i = 0;

	p = put_fixed(p, 1, 0);
	while (i++ < 8)
		p = put_read(p, 40, key, 0x20000000, at);
	return put_call(put_no_lists(p));
}

/* A call with one read segment, of @length bytes at @position of the call */
static uint8_t *one_read(struct conn *c, uint8_t *p, uint32_t position, uint32_t length)
{
	uint64_t at = (uintptr_t)memory(c);

	p = put_read(put_fixed(p, 1, 0), position, c->mr->rkey, length, at);
	return put_call(put_no_lists(p));
}

static uint8_t *odd_position(struct conn *c, uint8_t *p)
{
	return one_read(c, p, 41, 4);
}

static uint8_t *early_position(struct conn *c, uint8_t *p)
{
	return one_read(c, p, 8, 4);
}

static uint8_t *late_position(struct conn *c, uint8_t *p)
{
	return one_read(c, p, 72, 4);
}

static uint8_t *empty_read(struct conn *c, uint8_t *p)
{
	return one_read(c, p, 40, 0);
}

static uint8_t *overlapping(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put_read(put_fixed(p, 1, 0), 40, key, 16, at);
	return put_call(put_no_lists(put_read(p, 48, key, 16, at)));
}

static uint8_t *wrapping(struct conn *c, uint8_t *p)
{
	uint32_t key = c->mr->rkey;

	p = put_read(put_fixed(p, 1, 0), 40, key, 4096, -16ull);
	return put_call(put_no_lists(p));
}

static uint8_t *segments_max(struct conn *c, uint8_t *p)
{
	(void)c;
	p = put(put(put(put_fixed(p, 1, 0), 0), 1), 0xffffffff);
	return put_call(p);
}

static uint8_t *segments_wrap(struct conn *c, uint8_t *p)
{
	(void)c;
	p = put(put(put(put_fixed(p, 1, 0), 0), 1), 0x40000000);
	return put_call(put(put(p, 0), 0));
}

static uint8_t *long_without_chunk(struct conn *c, uint8_t *p)
{
	(void)c;
	return put_no_lists(put_fixed(p, 1, 1));
}

static uint8_t *long_and_inline(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put_read(put_fixed(p, 1, 0), 0, key, CALL, at);
	return put_call(put_no_lists(p));
}

static uint8_t *long_too_short(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	return put_no_lists(put_read(put_fixed(p, 1, 1), 0, key, 12, at));
}

static uint8_t *short_call(struct conn *c, uint8_t *p)
{
	(void)c;
	return put(put_no_lists(put_fixed(p, 1, 0)), XID);
}

static uint8_t *a_reply(struct conn *c, uint8_t *p)
{
	int i = 0;

	(void)c;
	p = put_no_lists(put_fixed(p, 1, 0));
	p = put(put(p, XID), 1);
	while (i++ < 10)
		p = put(p, 0);
	return p;
}

static uint8_t *bad_key(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put_read(put_fixed(p, 1, 0), 40, key ^ 0x5500, 8, at);
	return put_call(put_no_lists(p));
}

static uint8_t *reply_chunk(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put(put(put(put(put_fixed(p, 1, 0), 0), 0), 1), 1);
	return put_call(put_segment(p, key, BUF, at));
}

static uint8_t *write_chunk(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put(put(put(put_fixed(p, 1, 0), 0), 1), 1);
	return put_call(put(put(put_segment(p, key, BUF, at), 0), 0));
}

static uint8_t *long_call(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	put_call(memory(c));
	return put_no_lists(put_read(put_fixed(p, 1, 1), 0, key, CALL, at));
}

static uint8_t *long_pieces(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	put_call(memory(c));
	p = put_read(put_fixed(p, 1, 1), 0, key, 33, at);
	p = put_read(p, 0, key, 0, at);
	return put_no_lists(put_read(p, 0, key, CALL - 33, at + 33));
}

/*
 * The chunk is behind everything that NULL looks at, since kernels want the RPC header in
 * one piece.
 */
static uint8_t *one_chunk(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put_no_lists(put_read(put_fixed(p, 1, 0), CALL, key, 3001, at));
	return put_call(p);
}

static uint8_t *chunk_in_pieces(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put_read(put_fixed(p, 1, 0), CALL, key, 2, at + 40);
	p = put_read(p, CALL, key, 0, at);
	p = put_no_lists(put_read(p, CALL, key, 3000, at + 42));
	return put_call(p);
}

/* The server goes through the whole list for each chunk, so it takes no more than 64. */
static uint8_t *chunks_of_4(struct conn *c, uint8_t *p, uint32_t count)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey, i;

	p = put_fixed(p, 1, 0);
	for (i = 0; i < count; i++)
		p = put_read(p, CALL + 4 * i, key, 4, at);
	return put_call(put_no_lists(p));
}

static uint8_t *most_chunks(struct conn *c, uint8_t *p) { return chunks_of_4(c, p, 64); }
static uint8_t *too_many_chunks(struct conn *c, uint8_t *p) { return chunks_of_4(c, p, 65); }

/* Writes a call without its stamp and name, which come in read chunks. */
static uint8_t *put_reduced(uint8_t *p, const uint8_t *call)
{
	memcpy(p, call, 32);
	memcpy(p + 32, call + 36, 4);
	memcpy(p + 36, call + 48, CALL - 48);
	return p + CALL - 12;
}

static uint8_t *two_chunks(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	put_call(memory(c));
	p = put_read(put_fixed(p, 1, 0), 32, key, 4, at + 32);
	p = put_no_lists(put_read(p, 40, key, 5, at + 40));
	return put_reduced(p, memory(c));
}

static uint8_t *two_chunks_turned(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	put_call(memory(c));
	p = put_read(put_fixed(p, 1, 0), 40, key, 5, at + 40);
	p = put_no_lists(put_read(p, 32, key, 4, at + 32));
	return put_reduced(p, memory(c));
}

static uint8_t *long_with_chunks(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	put_call(memory(c));
	put_reduced(memory(c) + 1024, memory(c));
	p = put_read(put_fixed(p, 1, 1), 40, key, 5, at + 40);
	p = put_read(p, 0, key, 50, at + 1024);
	p = put_read(p, 32, key, 4, at + 32);
	return put_no_lists(put_read(p, 0, key, CALL - 12 - 50, at + 1024 + 50));
}

static const struct {
	const char *name;
	writer write;
	enum outcome outcome;
} cases[] = {
	{ "a plain call", plain, ACCEPTED },
	{ "an unused reply chunk", reply_chunk, ACCEPTED },
	{ "an unused write chunk", write_chunk, ACCEPTED },
	{ "a long call", long_call, ACCEPTED },
	{ "a long call in pieces", long_pieces, ACCEPTED },
	{ "a read chunk", one_chunk, ACCEPTED },
	{ "a read chunk in pieces", chunk_in_pieces, ACCEPTED },
	{ "two read chunks", two_chunks, ACCEPTED },
	{ "64 read chunks", most_chunks, ACCEPTED },
	{ "two read chunks, the last one first", two_chunks_turned, ACCEPTED },
	{ "a long call with read chunks", long_with_chunks, ACCEPTED },
	{ "version 2", version_2, ERR_VERS },
	{ "version 0", version_0, ERR_VERS },
	{ "RDMA_MSGP", proc_msgp, ERR_CHUNK },
	{ "an unknown procedure", proc_99, ERR_CHUNK },
	{ "RDMA_DONE", proc_done, SILENCE },
	{ "RDMA_ERROR", proc_error, SILENCE },
	{ "three words", three_words, CLOSED },
	{ "one byte", one_byte, CLOSED },
	{ "no lists", no_list, ERR_CHUNK },
	{ "a bad discriminator", bad_discriminator, ERR_CHUNK },
	{ "a read list cut off", cut_read_list, ERR_CHUNK },
	{ "a read list without end", endless_reads, ERR_CHUNK },
	{ "200 write chunks", endless_writes, ERR_CHUNK },
	{ "a read of 4 GiB", huge_read, ERR_CHUNK },
	{ "reads of 4 GiB in all", huge_reads, ERR_CHUNK },
	{ "an odd position", odd_position, ERR_CHUNK },
	{ "a position in the RPC header", early_position, ERR_CHUNK },
	{ "a position behind the call", late_position, ERR_CHUNK },
	{ "an empty read chunk", empty_read, ERR_CHUNK },
	{ "65 read chunks", too_many_chunks, ERR_CHUNK },
	{ "overlapping read chunks", overlapping, ERR_CHUNK },
	{ "an address that wraps", wrapping, ERR_CHUNK },
	{ "2^32 - 1 segments", segments_max, ERR_CHUNK },
	{ "2^30 segments", segments_wrap, ERR_CHUNK },
	{ "RDMA_NOMSG without a call", long_without_chunk, ERR_CHUNK },
	{ "two calls in one", long_and_inline, ERR_CHUNK },
	{ "a long call of 12 bytes", long_too_short, ERR_CHUNK },
	{ "a call of 4 bytes", short_call, CLOSED },
	{ "a reply to nothing", a_reply, SILENCE },
	{ "a key that is none", bad_key, CLOSED },
	{ }
};

static int send_one(struct conn *c, writer write)
{
	uint8_t *end = write(c, c->buf);

	return rdma_post_send(c->id, NULL, c->buf, end - c->buf, c->mr, 0);
}

static bool run(unsigned int i)
{
	enum outcome expected = cases[i].outcome, got = CLOSED, then;
	struct conn c = {};
	int ms = 5000;

	if (expected == SILENCE)
		ms = 300;
	if (conn_open(&c)) {
		printf("FAIL: %s: cannot connect\n", cases[i].name);
		return false;
	}
	if (!send_one(&c, cases[i].write))
		got = wait_outcome(&c, ms);
	then = expected;
	if (got == expected && expected != CLOSED && !send_one(&c, plain))
		then = wait_outcome(&c, 5000);
	conn_close(&c);
	if (got != expected || (expected != CLOSED && then != ACCEPTED)) {
		printf("FAIL %s: %s, not %s; a call after that: %s\n", cases[i].name,
		       outcomes[got], outcomes[expected], outcomes[then]);
		return false;
	}
	printf("ok %s: %s\n", cases[i].name, outcomes[got]);
	return true;
}

/* ---- calls with a file ----------------------------------------------------- */

#define FILE_SIZE	(64 * 1024)

static bool file_make(void)
{
	uint8_t content[FILE_SIZE];
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	bool done;

	memset(content, 'f', sizeof(content));
	done = fd >= 0 && write(fd, content, sizeof(content)) == sizeof(content);
	close(fd);
	return done;
}

/*
 * Does the file begin with @data bytes that a call has written and @zeros zero bytes, and
 * is the rest unchanged?
 */
static bool file_is(size_t data, size_t zeros)
{
	uint8_t expected[FILE_SIZE], content[FILE_SIZE] = {};
	int fd = open(file, O_RDONLY);
	bool same;
	size_t i = 0;

	memset(expected, 'f', sizeof(expected));
	memset(expected, 'd', data);
	memset(expected + data, 0, zeros);
	same = fd >= 0 && read(fd, content, sizeof(content)) == sizeof(content) &&
	       !memcmp(content, expected, sizeof(content));
	close(fd);
	if (!same) {
		while (i < sizeof(content) && content[i] == expected[i])
			i++;
		printf("at %zu of the file: %#x, not %#x\n", i, content[i], expected[i]);
	}
	return same;
}

/* An NFS 4 call, up to its operations */
static uint8_t *put_compound(uint8_t *p, uint32_t minor_version, uint32_t operations)
{
	uint8_t *call = p;

	p = put_call(p);
	put(put(call + 16, 4), 1);
	return put(put(put(p, 0), minor_version), operations);
}

/*
 * Two operations that find the file, and the beginning of a third one: its number and a
 * stateid that needs no open.
 */
static uint8_t *put_file(uint8_t *p, uint32_t operation)
{
	const char *name = strrchr(file, '/') + 1;
	uint32_t length = strlen(name);

	p = put(p, 24);
	p = put(put(p, 15), length);
	memset(p, 0, length + 3);
	memcpy(p, name, length);
	p = put(p + (length + 3) / 4 * 4, operation);
	memset(p, 0xff, 16);
	return p + 16;
}

static uint8_t *put_with_file(uint8_t *p, uint32_t operation)
{
	return put_file(put_compound(p, 0, 3), operation);
}

static uint8_t *short_write_chunk(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put(put(put(put_fixed(p, 1, 0), 0), 1), 1);
	p = put(put(put_segment(p, key, 4, at), 0), 0);
	return put(put(put(put_with_file(p, 25), 0), 0), FILE_SIZE);
}

static uint8_t *exchange_id(struct conn *c, uint8_t *p)
{
	(void)c;
	p = put_compound(put_no_lists(put_fixed(p, 1, 0)), 1, 1);
	p = put(put(put(p, 42), 0), 0);
	p = put(put(p, 4), XID);
	return put(put(put(p, 0), 0), 0);
}

/* The result of the first operation in the reply to a compound */
static const void *result(const struct conn *c)
{
	return c->reply + 11;
}

/*
 * Attributes of a session's channel: the most bytes of a call, of a reply and of a reply
 * that is cached; operations of a call; calls at a time
 */
static uint8_t *put_channel(uint8_t *p, uint32_t reply)
{
	p = put(put(put(put(p, 0), BUF), reply), BUF);
	return put(put(put(p, 8), 1), 0);
}

/*
 * Not a multiple of 4: the data of a READ fills the reply, and then there is no room for
 * its padding.
 */
#define MOST_OF_REPLY	40001

/* For the client ID that exchange_id() has got */
static uint8_t *create_session(struct conn *c, uint8_t *p)
{
	const void *client = result(c);

	p = put_compound(put_no_lists(put_fixed(p, 1, 0)), 1, 1);
	p = put(p, 43);
	memcpy(p, client, 12);
	p = put_channel(put(p + 12, 0), MOST_OF_REPLY);
	p = put_channel(p, BUF);
	return put(put(put(p, 0x40000000), 1), 0);
}

/*
 * In the session, reads more data than a reply may have.  No operation follows the READ: if
 * one did, nfsd would copy the data instead of putting the pages of the file into the
 * reply.
 */
static uint8_t *put_read_too_much(struct conn *c, uint8_t *p)
{
	p = put_compound(p, 1, 4);
	p = put(p, 53);
	memcpy(p, result(c), 16);
	p = put(put(put(put(p + 16, 1), 0), 0), 0);
	return put(put(put(put_file(p, 25), 0), 0), FILE_SIZE);
}

static uint8_t *read_too_much(struct conn *c, uint8_t *p)
{
	return put_read_too_much(c, put_no_lists(put_fixed(p, 1, 0)));
}

/* With a write chunk for the data; the reply has none, since it is an error. */
static uint8_t *read_to_chunk(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey;

	p = put(put(put(put_fixed(p, 1, 0), 0), 1), 1);
	return put_read_too_much(c, put(put(put_segment(p, key, MEMORY, at), 0), 0));
}

static uint8_t *page_read(struct conn *c, uint8_t *p)
{
	memset(memory(c), 's', BUF);
	return one_read(c, p, CALL, BUF);
}

static uint8_t *much_read(struct conn *c, uint8_t *p)
{
	memset(memory(c), 's', MEMORY);
	return one_read(c, p, CALL, MEMORY);
}

static bool told(const char *name, bool right)
{
	printf("%s %s\n", right ? "ok" : "FAIL", name);
	return right;
}

static bool accepted(struct conn *c, writer write)
{
	return !send_one(c, write) && wait_outcome(c, 5000) == ACCEPTED;
}

static bool is_longer_than_chunk(struct conn *c)
{
	return !send_one(c, short_write_chunk) && wait_outcome(c, 5000) == ERR_CHUNK;
}

/* The server has to answer NFS4ERR_REP_TOO_BIG, after it has put the data into the reply. */
static bool is_refused(struct conn *c, writer read)
{
	return accepted(c, exchange_id) && accepted(c, create_session) &&
	       accepted(c, read) && ntohl(c->reply[6]) == 10066;
}

static bool is_too_big(struct conn *c)
{
	return is_refused(c, read_too_much);
}

static bool is_too_big_with_chunk(struct conn *c)
{
	return is_refused(c, read_to_chunk);
}

/*
 * Calls that read the file, and whose replies the server gives up.  @warns: nfsd of Linux 6.1 warns
 * of it, as it does for clients of other transports (xdr_truncate_encode()), and a warning fails
 * the run of a test; newer ones answer otherwise.
 */
static const struct {
	const char *name;
	bool (*given_up)(struct conn *c);
	bool warns;
} reads[] = {
	{ "a result that is longer than its chunk: ERR_CHUNK", is_longer_than_chunk, false },
	{ "a reply that is longer than the session allows: an error", is_too_big, true },
	{ "... and with a chunk for the data", is_too_big_with_chunk, true },
	{ }
};

/*
 * After a reply that was given up, an nfsd thread must not keep pages of the file: it would
 * have a later call read into them, or write a reply there.  So calls with data follow, and
 * the file must not change.
 */
static bool given_up(unsigned int n)
{
	bool right = true;
	struct conn c;
	int i = 0;

	if (!file_make())
		return told("no file", false);
	while (i++ < 16) {
		if (conn_open(&c))
			return told("cannot connect", false);
		right &= reads[n].given_up(&c);
		if (!send_one(&c, i % 2 ? page_read : much_read))
			wait_outcome(&c, 5000);
		conn_close(&c);
	}
	return told(reads[n].name, right) &
	       told("... and the file that it is from stays as it was", file_is(0, 0));
}

/* A WRITE up to its data, of which there are @count bytes */
static uint8_t *put_write(uint8_t *p, uint32_t count)
{
	return put(put(put(put(put_with_file(p, 38), 0), 0), 2), count);
}

/*
 * A WRITE of @count bytes: @chunk of them are in a chunk, @behind in the message after the
 * chunk.  The calls differ in @count, because nfsd answers a call that it has seen before
 * from its cache.
 */
static uint8_t *write_inline(struct conn *c, uint8_t *p, uint32_t count, uint32_t chunk,
			     uint32_t behind)
{
	uint64_t at = (uintptr_t)memory(c);
	uint8_t call[256];
	uint32_t length = put_write(call, count) - call;

	p = put_read(put_fixed(p, 1, 0), length, c->mr->rkey, chunk, at);
	p = put_write(put_no_lists(p), count);
	memset(p, 'd', behind);
	return p + behind;
}

static uint8_t *write_behind(struct conn *c, uint8_t *p)
{
	return write_inline(c, p, 3000, 4, 2996);
}

static uint8_t *write_behind_page(struct conn *c, uint8_t *p)
{
	return write_inline(c, p, BUF + 3000, BUF, 3000);
}

static uint8_t *write_padding(struct conn *c, uint8_t *p)
{
	return write_inline(c, p, 3004, 3001, 0);
}

static uint8_t *write_padding_behind(struct conn *c, uint8_t *p)
{
	return write_inline(c, p, 1004, 1001, 2000);
}

static uint8_t *write_long(struct conn *c, uint8_t *p)
{
	uint64_t at = (uintptr_t)memory(c);
	uint32_t key = c->mr->rkey, length;

	length = put_write(memory(c) + BUF, 2004) - memory(c) - BUF;
	p = put_read(put_fixed(p, 1, 1), 0, key, length, at + BUF);
	return put_no_lists(put_read(p, length, key, 2001, at));
}

static const struct {
	const char *name;
	writer write;
	size_t data, zeros;
} writes[] = {
	{ "data that go on behind their chunk", write_behind, 3000, 0 },
	{ "data that go on behind a chunk of a page", write_behind_page, BUF + 3000, 0 },
	{ "data that take the padding of a chunk", write_padding, 3001, 3 },
	{ "data that take it, and something behind it", write_padding_behind, 1001, 3 },
	{ "data of a long call that take it", write_long, 2001, 3 },
	{ }
};

/*
 * First, other calls leave their data in the server's pages.  So if the server uses bytes
 * beyond those that a WRITE has sent, the file shows it.
 */
static bool written(unsigned int n)
{
	struct conn c;
	int i = 0;

	if (!file_make() || conn_open(&c))
		return told("no file, or no connection", false);
	while (i++ < RECVS - 1)
		if (send_one(&c, much_read) || wait_outcome(&c, 5000) != ACCEPTED)
			return told("cannot send data", false);
	memset(memory(&c), 'd', MEMORY);
	if (send_one(&c, writes[n].write) || wait_outcome(&c, 5000) != ACCEPTED)
		return told(writes[n].name, false);
	conn_close(&c);
	return told(writes[n].name, file_is(writes[n].data, writes[n].zeros));
}

int main(int argc, char **argv)
{
	unsigned int i, n, k, left_out = 0, failed = 0;
	bool warned = argc == 5 && !strcmp(argv[4], "warned");

	if (argc != 4 + warned || !strchr(argv[3], '/')) {
		fprintf(stderr, "usage: rpcrdma_raw ADDRESS PORT FILE [warned]\n");
		return 2;
	}
	address = argv[1];
	port = argv[2];
	file = argv[3];
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; cases[i].name; i++)
		failed += !run(i);
	for (n = 0; writes[n].name; n++)
		failed += !written(n);
	for (k = 0; reads[k].name; k++) {
		if (reads[k].warns && !warned)
			left_out++;
		else
			failed += !given_up(k);
	}
	printf("%u passed, %u failed\n", i + n + k - left_out - failed, failed);
	return failed > 0;
}
