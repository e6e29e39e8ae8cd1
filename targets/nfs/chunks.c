// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transport headers of RPC-over-RDMA version 1 (RFC 8166).  Received headers are checked
 * here once, and then read in the receive buffer; headers of replies are written here.
 * Nothing here knows connections.
 *
 *	xid  version  credits  procedure
 *	[1 position handle length offset]...  0			read list
 *	[1 count [handle length offset]...]...  0		write list
 *	1 count [handle length offset]...  or  0		reply chunk
 *
 * Every item has 4 bytes, except an offset, which has 8.
 */
#include <linux/sunrpc/xdr.h>
#include "svckdat.h"

#define FIXED_WORDS	rpcrdma_fixed_maxsz
#define SEGMENT_WORDS	rpcrdma_segment_maxsz
#define READ_WORDS	rpcrdma_readchunk_maxsz	/* with its discriminator */

#define MAX_READ	(SVCKDAT_MAX_PAGES * PAGE_SIZE)

/* ---- decoding ------------------------------------------------------------ */

/* The part of a message that has not been decoded yet */
struct cursor {
	const __be32 *p, *end;
};

/* The next @words, or NULL if there are not so many. */
static const __be32 *take(struct cursor *c, size_t words)
{
	const __be32 *p = c->p;

	if (words > (size_t)(c->end - p))
		return NULL;
	c->p += words;
	return p;
}

/* Decodes a discriminator: returns 1 or 0, or a negative value if it is neither or missing. */
static int take_bool(struct cursor *c)
{
	const __be32 *p = take(c, 1);

	if (!p)
		return -EINVAL;
	if (*p == xdr_one)
		return 1;
	return *p == xdr_zero ? 0 : -EINVAL;
}

static const __be32 *get_segment(const __be32 *p, struct svckdat_segment *segment)
{
	return xdr_decode_rdma_segment((__be32 *)p, &segment->handle, &segment->length,
				       &segment->offset);
}

/* Decodes a segment.  It is invalid if its end is beyond the last address. */
static bool check_segment(const __be32 *p, struct svckdat_segment *segment)
{
	get_segment(p, segment);
	return segment->offset + segment->length >= segment->offset;
}

/* The handle of all segments of a message, until a second one is found */
struct only_handle {
	u32 handle;
	bool several;
};

static void note_handle(struct only_handle *only, u32 handle)
{
	if (!only->handle)
		only->handle = handle;
	else if (only->handle != handle)
		only->several = true;
}

static int check_reads(struct svckdat_header *header, struct cursor *c,
		       struct only_handle *only)
{
	struct svckdat_segment segment;
	const __be32 *p;
	int more;

	header->reads = c->p;
	while ((more = take_bool(c)) > 0) {
		p = take(c, READ_WORDS - 1);
		if (!p || !check_segment(p + 1, &segment))
			return -EINVAL;
		if (segment.length > MAX_READ - header->reads_length)
			return -EINVAL;
		header->reads_length += segment.length;
		if (*p == xdr_zero)
			header->long_call += segment.length;
		else if (be32_to_cpu(*p) % 4)
			return -EINVAL;
		note_handle(only, segment.handle);
		header->nr_reads++;
	}
	return more;
}

static int check_chunk(struct cursor *c, struct only_handle *only)
{
	struct svckdat_segment segment;
	const __be32 *p = take(c, 1);
	u32 count;

	if (!p)
		return -EINVAL;
	for (count = be32_to_cpu(*p); count; count--) {
		p = take(c, SEGMENT_WORDS);
		if (!p || !check_segment(p, &segment))
			return -EINVAL;
		note_handle(only, segment.handle);
	}
	return 0;
}

static int check_writes(struct svckdat_header *header, struct cursor *c,
			struct only_handle *only)
{
	int more;

	header->writes = c->p;
	while ((more = take_bool(c)) > 0)
		if (++header->nr_writes > SVCKDAT_MAX_RESULTS || check_chunk(c, only))
			return -EINVAL;
	return more;
}

static int check_reply(struct svckdat_header *header, struct cursor *c,
		       struct only_handle *only)
{
	int there = take_bool(c);

	if (there <= 0)
		return there;
	header->reply = c->p;
	return check_chunk(c, only);
}

/*
 * RDMA_MSG has its RPC message inline, RDMA_NOMSG in the position-zero chunk.  A header
 * with both, or with neither, is invalid.
 */
static int check_lists(struct svckdat_header *header, struct cursor *c)
{
	struct only_handle only = {};

	if (check_reads(header, c, &only) || check_writes(header, c, &only) ||
	    check_reply(header, c, &only))
		return -EINVAL;
	if (header->proc == RDMA_MSG ? header->long_call : !header->long_call)
		return -EINVAL;
	header->handle = only.several ? 0 : only.handle;
	return 0;
}

/**
 * svckdat_decode_header - check a transport header
 * @header: out
 * @message: the message; it must stay as long as @header is used
 * @length: bytes
 *
 * Return: 1: a call or a reply; 0: to be ignored (RDMA_DONE and RDMA_ERROR);
 * -EPROTONOSUPPORT for another version; -EINVAL for a bad header; both are to be answered
 * with RDMA_ERROR; -EPROTO for a header too short to be answered.
 */
int svckdat_decode_header(struct svckdat_header *header, void *message, u32 length)
{
	struct cursor c = { .p = message, .end = message + round_down(length, 4) };
	const __be32 *fixed = take(&c, FIXED_WORDS);

	if (!fixed)
		return -EPROTO;
	*header = (struct svckdat_header) {
		.xid = fixed[0],
		.version = fixed[1],
		.proc = be32_to_cpu(fixed[3]),
	};
	if (header->version != rpcrdma_version)
		return -EPROTONOSUPPORT;
	switch (header->proc) {
	case RDMA_MSG:
	case RDMA_NOMSG:
		break;
	case RDMA_DONE:
	case RDMA_ERROR:
		return 0;
	default:
		return -EINVAL;
	}
	if (check_lists(header, &c))
		return -EINVAL;
	header->rpc = (void *)c.p;
	header->rpc_length = message + length - (void *)c.p;
	return 1;
}

/* ---- reading what was checked -------------------------------------------- */

/**
 * svckdat_read_segment - a segment of the read list
 * @header: checked
 * @n: which, below @header->nr_reads
 * @segment: out
 *
 * Return: its position.
 */
u32 svckdat_read_segment(const struct svckdat_header *header, unsigned int n,
			 struct svckdat_segment *segment)
{
	const __be32 *p = header->reads + n * READ_WORDS + 1;

	get_segment(p + 1, segment);
	return be32_to_cpu(*p);
}

/**
 * svckdat_next_position - the position of the next read chunk
 * @header: checked
 * @after: position of the previous one, 0 for the first
 * @position: out
 *
 * The read list need not be in the order of positions.
 *
 * Return: false: there is none.
 */
bool svckdat_next_position(const struct svckdat_header *header, u32 after, u32 *position)
{
	bool found = false;
	unsigned int i;
	u32 here;

	for (i = 0; i < header->nr_reads; i++) {
		here = be32_to_cpu(header->reads[i * READ_WORDS + 1]);
		if (here > after && (!found || here < *position)) {
			*position = here;
			found = true;
		}
	}
	return found;
}

/**
 * svckdat_write_chunk - a chunk of the write list
 * @header: checked
 * @n: which, below @header->nr_writes
 *
 * Return: the chunk, at its segment count.
 */
const __be32 *svckdat_write_chunk(const struct svckdat_header *header, unsigned int n)
{
	const __be32 *p = header->writes;

	for (p++; n; n--)
		p += 1 + be32_to_cpu(*p) * SEGMENT_WORDS + 1;
	return p;
}

/**
 * svckdat_chunk_size - bytes that a write or reply chunk has room for
 * @chunk: at its segment count
 *
 * Return: bytes.
 */
u64 svckdat_chunk_size(const __be32 *chunk)
{
	unsigned int i, count = be32_to_cpu(*chunk);
	struct svckdat_segment segment;
	u64 size = 0;

	for (i = 0; i < count; i++) {
		svckdat_chunk_segment(chunk, i, &segment);
		size += segment.length;
	}
	return size;
}

/**
 * svckdat_chunk_segment - a segment of a write or reply chunk
 * @chunk: at its segment count
 * @n: which, below that count
 * @segment: out
 */
void svckdat_chunk_segment(const __be32 *chunk, unsigned int n,
			   struct svckdat_segment *segment)
{
	get_segment(chunk + 1 + n * SEGMENT_WORDS, segment);
}

/* ---- replies ------------------------------------------------------------- */

static u32 chunk_words(const __be32 *chunk)
{
	return 2 + be32_to_cpu(*chunk) * SEGMENT_WORDS;
}

/**
 * svckdat_reply_size - bytes of a reply's transport header
 * @recv: the call
 *
 * The reply returns all write and reply chunks of the call.
 *
 * Return: bytes, no more than the header of the call has.
 */
u32 svckdat_reply_size(const struct svckdat_recv *recv)
{
	const struct svckdat_header *header = &recv->header;
	u32 words = FIXED_WORDS + 3;
	unsigned int i;

	for (i = 0; i < header->nr_writes; i++)
		words += chunk_words(svckdat_write_chunk(header, i));
	if (header->reply)
		words += chunk_words(header->reply) - 1;
	return words * sizeof(__be32);
}

/*
 * Writes a chunk as it came in the call, with the bytes that were written to each segment
 * as lengths.
 */
static __be32 *put_chunk(__be32 *p, const __be32 *chunk, u32 left)
{
	unsigned int i, count = be32_to_cpu(*chunk);
	struct svckdat_segment segment;
	u32 length;

	*p++ = xdr_one;
	*p++ = *chunk;
	for (i = 0; i < count; i++) {
		svckdat_chunk_segment(chunk, i, &segment);
		length = min(left, segment.length);
		left -= length;
		p = xdr_encode_rdma_segment(p, segment.handle, length, segment.offset);
	}
	return p;
}

/**
 * svckdat_encode_reply - write the transport header of a reply
 * @recv: the call, with the results that go to its write chunks
 * @p: room for svckdat_reply_size() bytes
 * @credits: credits granted
 * @in_reply_chunk: bytes of the reply in the reply chunk; 0: it is inline
 */
void svckdat_encode_reply(const struct svckdat_recv *recv, __be32 *p, u32 credits,
			  u32 in_reply_chunk)
{
	const struct svckdat_header *header = &recv->header;
	unsigned int i;

	*p++ = header->xid;
	*p++ = rpcrdma_version;
	*p++ = cpu_to_be32(credits);
	*p++ = in_reply_chunk ? rdma_nomsg : rdma_msg;
	*p++ = xdr_zero;
	for (i = 0; i < header->nr_writes; i++)
		p = put_chunk(p, svckdat_write_chunk(header, i),
			      i < recv->nr_results ? recv->results[i].length : 0);
	*p++ = xdr_zero;
	if (header->reply)
		put_chunk(p, header->reply, in_reply_chunk);
	else
		*p = xdr_zero;
}
