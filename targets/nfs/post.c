// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting.  The writes of a reply and its message are collected, and posted together.  A thread
 * that finds no room in the queue waits until a completion wakes it.
 * Called by recv.c, read.c, send.c and back.c.
 */
#include "svckdat.h"

/*
 * Transfers whose success is suppressed make room without an event, so a waiting thread
 * also tries again after this time.
 */
#define LOOK_AGAIN	(HZ / 50 ?: 1)

/**
 * svckdat_local - describe a part of a buffer or map for a DTO
 * @context: LMR context of the buffer or map
 * @offset: where the part begins
 * @length: its bytes
 *
 * Return: the triplet.
 */
DAT_LMR_TRIPLET svckdat_local(DAT_LMR_CONTEXT context, u32 offset, u32 length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = context,
		.virtual_address = offset,
		.segment_length = length,
	};
}

/**
 * svckdat_completed - a completion was taken
 * @conn: its connection
 *
 * Called in the upcall for each completion, one at a time, after what it released has
 * become free.
 */
void svckdat_completed(struct svckdat_conn *conn)
{
	WRITE_ONCE(conn->completions, conn->completions + 1);
	if (wq_has_sleeper(&conn->room))
		wake_up_all(&conn->room);
}

static bool no_room(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
}

/*
 * Waits.  Returns whether it is worth trying again.  @seen: the number of completions
 * before the post that failed.
 */
static bool wait_for_room(struct svckdat_conn *conn, unsigned int seen,
			  unsigned long give_up)
{
	wait_event_timeout(conn->room,
			   READ_ONCE(conn->over) || READ_ONCE(conn->completions) != seen,
			   LOOK_AGAIN);
	return !READ_ONCE(conn->over) && time_before(jiffies, give_up);
}

/* The result of a post.  If it failed, the connection is of no use any more. */
static int posted(struct svckdat_conn *conn, DAT_RETURN ret)
{
	if (likely(!ret))
		return 0;
	svckdat_conn_over(conn);
	return -ENOTCONN;
}

/**
 * svckdat_post_recv - have a buffer receive a message
 * @conn: a connection
 * @recv: the recv with the buffer
 *
 * Any context.
 *
 * Return: 0; -ENOTCONN.
 */
int svckdat_post_recv(struct svckdat_conn *conn, struct svckdat_recv *recv)
{
	DAT_LMR_TRIPLET local = svckdat_local(recv->buf.context, 0, conn->buf_size);
	DAT_DTO_COOKIE cookie = { .as_ptr = &recv->received };

	return posted(conn, dat_ep_post_recv(conn->ep, 1, &local, cookie,
					     DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_RMR_TRIPLET remote_triplet(const struct svckdat_segment *segment)
{
	return (DAT_RMR_TRIPLET) {
		.rmr_context = segment->handle,
		.target_address = segment->offset,
		.segment_length = segment->length,
	};
}

/**
 * svckdat_post_read - read a segment of a call
 * @conn: a connection
 * @recv: the call; @recv->map has its memory
 * @to: where in the map
 * @from: the client's memory
 * @last: this is the last read of the call; only it has a completion event
 *
 * Process context.
 *
 * Return: 0; -ENOTCONN.
 */
int svckdat_post_read(struct svckdat_conn *conn, struct svckdat_recv *recv, u32 to,
		      const struct svckdat_segment *from, bool last)
{
	DAT_LMR_TRIPLET local = svckdat_local(recv->map->context, to, from->length);
	DAT_RMR_TRIPLET remote = remote_triplet(from);
	DAT_DTO_COOKIE cookie = { .as_ptr = &recv->read };
	unsigned int seen;
	DAT_RETURN ret;

	do {
		seen = READ_ONCE(conn->completions);
		ret = dat_ep_post_rdma_read(conn->ep, 1, &local, cookie, &remote,
					    last ? DAT_COMPLETION_DEFAULT_FLAG :
						   DAT_COMPLETION_SUPPRESS_FLAG);
	} while (unlikely(no_room(ret)) && wait_for_room(conn, seen, recv->give_up));
	return posted(conn, ret);
}

/*
 * Posts what a reply has collected.  @wait: for room until @send->give_up.  After an error it is
 * not known what of it the device has.
 */
static int post_collected(struct svckdat_conn *conn, struct svckdat_send *send, bool wait)
{
	const struct kdat_request *next = send->requests;
	unsigned int left = send->nr_requests, seen;
	DAT_COUNT done;
	DAT_RETURN ret;

	send->nr_requests = 0;
	do {
		seen = READ_ONCE(conn->completions);
		done = 0;
		ret = kdat_ep_post_requests(conn->ep, left, next, &done);
		next += done;
		left -= done;
	} while (unlikely(no_room(ret)) && wait && wait_for_room(conn, seen, send->give_up));
	return no_room(ret) && !wait ? -ENOBUFS : posted(conn, ret);
}

/* The next request of a reply, for the caller to fill in, with its memory, @local. */
static struct kdat_request *collect(struct svckdat_send *send, DAT_LMR_TRIPLET local)
{
	unsigned int n = send->nr_requests++;

	send->local[n] = local;
	send->requests[n] = (struct kdat_request) {
		.num_segments = 1,
		.local_iov = &send->local[n],
	};
	return &send->requests[n];
}

/**
 * svckdat_post_write - write a part of a reply
 * @conn: a connection
 * @send: the reply, which is posted after its writes; @send->map has the part
 * @from: where in the map
 * @to: the client's memory
 *
 * It is posted together with what comes after it, by svckdat_post_send() at the latest.
 * Process context.
 *
 * Return: 0; -ENOTCONN.
 */
int svckdat_post_write(struct svckdat_conn *conn, struct svckdat_send *send, u32 from,
		       const struct svckdat_segment *to)
{
	struct kdat_request *request;
	unsigned int n;
	int err;

	/* The message takes the last one. */
	if (send->nr_requests == SVCKDAT_TOGETHER - 1) {
		err = post_collected(conn, send, true);
		if (err)
			return err;
	}
	n = send->nr_requests;
	request = collect(send, svckdat_local(send->map->context, from, to->length));
	send->remote[n] = remote_triplet(to);
	request->kind = KDAT_RDMA_WRITE;
	request->remote_buffer = &send->remote[n];
	request->user_cookie.as_ptr = &send->written;
	request->completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	return 0;
}

/**
 * svckdat_post_send - send a message
 * @conn: a connection
 * @send: its buffer has the message; writes of the reply are posted before it
 * @length: bytes
 * @invalidate: a handle of the client's to be invalidated there, or 0
 * @wait: wait for room until @send->give_up, which needs process context; otherwise any
 *	context, and @send has no writes
 *
 * Return: 0, and @send is put when it has been sent; -ENOBUFS without room, unless @wait;
 * -ENOTCONN.
 */
int svckdat_post_send(struct svckdat_conn *conn, struct svckdat_send *send, u32 length,
		      u32 invalidate, bool wait)
{
	struct kdat_request *request;

	request = collect(send, svckdat_local(send->buf.context, 0, length));
	request->kind = invalidate ? KDAT_SEND_INVALIDATE : KDAT_SEND;
	request->rmr_context = invalidate;
	request->user_cookie.as_ptr = &send->sent;
	return post_collected(conn, send, wait);
}
