// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls with read chunks.  Their data is read into spare pages of the connection, and if
 * there are not enough, into pages of the nfsd thread that receives the call.  The recv
 * owns the pages until a thread takes the complete call.  Then they become that thread's
 * pages, and the pages that the thread had in their place become the spare ones.
 *
 * Most calls have one chunk, the data of a WRITE.  Then the pages begin with the chunk, so
 * that the data is in whole pages, and what precedes it stays in the receive buffer.  Any
 * other call is put together in the pages as it would have been sent without chunks: by
 * turns a part of the message (from the receive buffer, or from the position-zero chunk)
 * and a chunk, padded to the next multiple of 4.
 *
 * The xdr_buf of a call must not have a tail behind the pages: nfsd trusts the data length
 * that the client has written into its call, which may be more than the chunk has.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "svckdat.h"

/* What is done with each part of the call when its place is known */
enum task { DO_MEASURE, DO_READ, DO_COPY };

struct walk {
	struct svckdat_conn *conn;
	struct svckdat_recv *recv;
	enum task task;
	u32 at;			/* offset in the pages */
	u32 used;		/* bytes of the message placed so far */
	unsigned int reads;	/* counted by DO_MEASURE, posted by DO_READ */
};

/* Has the call one chunk only, and its message inline? */
static bool is_simple(const struct svckdat_header *header)
{
	u32 first, next;

	return header->proc == RDMA_MSG &&
	       svckdat_next_position(header, 0, &first) &&
	       !svckdat_next_position(header, first, &next);
}

/* ---- placing ------------------------------------------------------------- */

/*
 * These functions return 0 to go on, -errno, or HANDED_OVER when the last read was posted.
 * After that the completion may already have given the call to another thread, so the recv
 * must not be touched any more.
 */
#define HANDED_OVER	1

static int post_segment(struct walk *w, const struct svckdat_segment *segment)
{
	bool last = !--w->reads;
	int err;

	err = svckdat_post_read(w->conn, w->recv, w->at, segment, last);
	return err ?: last ? HANDED_OVER : 0;
}

static int place_segment(struct walk *w, const struct svckdat_segment *segment)
{
	int ret = 0;

	if (segment->length && w->task == DO_MEASURE)
		w->reads++;
	else if (segment->length && w->task == DO_READ)
		ret = post_segment(w, segment);
	w->at += segment->length;
	return ret;
}

static void copy_to_pages(struct page **pages, u32 at, const void *from, u32 left)
{
	u32 length;

	for (; left; left -= length, at += length, from += length) {
		length = min_t(u32, left, PAGE_SIZE - offset_in_page(at));
		memcpy(page_address(pages[at >> PAGE_SHIFT]) + offset_in_page(at), from,
		       length);
	}
}

/* The pages have old contents, so the padding is written, too. */
static void place_padding(struct walk *w)
{
	static const u8 zeros[4];
	u32 length = round_up(w->at, 4) - w->at;

	if (w->task == DO_COPY)
		copy_to_pages(w->recv->pages, w->at, zeros, length);
	w->at += length;
}

static int place_chunk(struct walk *w, u32 position)
{
	const struct svckdat_header *header = &w->recv->header;
	struct svckdat_segment segment;
	unsigned int i;
	int ret;

	for (i = 0; i < header->nr_reads; i++) {
		if (svckdat_read_segment(header, i, &segment) != position)
			continue;
		ret = place_segment(w, &segment);
		if (ret)
			return ret;
	}
	place_padding(w);
	return 0;
}

/* Places @length bytes of a message that is in the receive buffer. */
static void place_inline(struct walk *w, u32 length)
{
	if (w->task == DO_COPY)
		copy_to_pages(w->recv->pages, w->at, w->recv->header.rpc + w->used, length);
	w->at += length;
	w->used += length;
}

/* Places @length bytes of a message that is in the position-zero chunk. */
static int place_long(struct walk *w, u32 length)
{
	const struct svckdat_header *header = &w->recv->header;
	struct svckdat_segment segment;
	u32 end = w->used + length, start = 0, skip;
	unsigned int i;
	int ret;

	for (i = 0; i < header->nr_reads && w->used < end; i++) {
		if (svckdat_read_segment(header, i, &segment))
			continue;
		if (w->used < start + segment.length) {
			skip = w->used - start;
			start += segment.length;
			segment.offset += skip;
			segment.length = min(segment.length - skip, end - w->used);
			w->used += segment.length;
			ret = place_segment(w, &segment);
			if (ret)
				return ret;
		} else {
			start += segment.length;
		}
	}
	return 0;
}

static int place_message(struct walk *w, u32 length)
{
	if (w->recv->header.proc == RDMA_NOMSG)
		return place_long(w, length);
	place_inline(w, length);
	return 0;
}

/*
 * The position of a chunk is its offset in the whole call, with the other chunks and their
 * padding.
 */
static int place_all(struct walk *w)
{
	const struct svckdat_header *header = &w->recv->header;
	u32 whole = header->proc == RDMA_NOMSG ? header->long_call : header->rpc_length;
	unsigned int chunks = 0;
	u32 position = 0;
	int ret;

	/* Limited, because each chunk costs a pass over the whole list. */
	while (svckdat_next_position(header, position, &position)) {
		if (++chunks > SVCKDAT_MAX_CHUNKS)
			return -EINVAL;
		if (position < w->at || position - w->at > whole - w->used)
			return -EINVAL;
		ret = place_message(w, position - w->at);
		if (!ret)
			ret = place_chunk(w, position);
		if (ret)
			return ret;
	}
	ret = place_message(w, whole - w->used);
	return ret ?: w->at < SVCKDAT_MIN_CALL ? -EINVAL : 0;
}

static int place(struct walk *w)
{
	const struct svckdat_header *header = &w->recv->header;
	u32 position;
	int ret;

	if (!is_simple(header))
		return place_all(w);
	svckdat_next_position(header, 0, &position);
	if (position < SVCKDAT_MIN_CALL || position > header->rpc_length)
		return -EINVAL;
	ret = place_chunk(w, position);
	if (ret)
		return ret;
	w->used = position;
	place_inline(w, header->rpc_length - position);
	return 0;
}

/* ---- first: reading ------------------------------------------------------ */

static void unlist_pages(struct svckdat_recv *recv)
{
	if (recv->pages != recv->few)
		kfree(recv->pages);
	recv->pages = NULL;
}

/* False without memory for the list of pages. */
static bool list_pages(struct svckdat_recv *recv, unsigned int n)
{
	recv->pages = recv->few;
	if (n > SVCKDAT_FEW_PAGES)
		recv->pages = kmalloc_array(n, sizeof(*recv->pages), GFP_KERNEL);
	return recv->pages;
}

/**
 * svckdat_free_pages_of - release the pages that a call was to be read into, if there are any
 * @recv: its recv
 */
void svckdat_free_pages_of(struct svckdat_recv *recv)
{
	while (recv->nr_pages)
		put_page(recv->pages[--recv->nr_pages]);
	unlist_pages(recv);
}

static void take_pages(struct svc_rqst *rqstp, struct svckdat_conn *conn,
		       struct svckdat_recv *recv, unsigned int n)
{
	unsigned int spare = svckdat_spare_take(conn, recv->pages, n), i;

	for (i = 0; i < n - spare; i++) {
		recv->pages[spare + i] = rqstp->rq_pages[i];
		rqstp->rq_pages[i] = NULL;
	}
	recv->nr_pages = n;
	svckdat_pages_taken(rqstp, n - spare);
}

/*
 * Gives the pages a map.  From here on the call is being read, for which there is a limit
 * of time.
 */
static int map_pages(struct svckdat_conn *conn, struct svckdat_recv *recv)
{
	struct svckdat_map *map = svckdat_map_get(conn, recv->give_up);

	if (!map)
		return -ENOTCONN;
	if (svckdat_map_call(map, recv->pages, recv->read_length)) {
		svckdat_map_put(conn, map);
		return -ENOTCONN;
	}
	WRITE_ONCE(recv->read_by, jiffies + SVCKDAT_PATIENCE);
	/* The limit has to be visible before the map is: see oldest_read(). */
	smp_store_release(&recv->map, map);
	/*
	 * If the timer is queued already, it runs before this limit, and then queues itself
	 * for it.
	 */
	queue_delayed_work(svckdat_wq, &conn->read_timer, SVCKDAT_PATIENCE);
	return 0;
}

/*
 * If a read cannot be posted, it is not known which of those before it have completed.
 * Their map and pages stay with the recv, which is not used again: the connection is over,
 * and they are freed with it.
 */
static int start_reads(struct svckdat_conn *conn, struct svckdat_recv *recv,
		       unsigned int reads)
{
	struct walk w = { .conn = conn, .recv = recv, .task = DO_READ, .reads = reads };

	if (map_pages(conn, recv) || place(&w) < 0)
		svckdat_conn_over(conn);
	return 0;
}

/**
 * svckdat_read_call - start to read the chunks of a call
 * @rqstp: thread whose pages are used
 * @conn: a connection
 * @recv: a call with read chunks
 *
 * Waits for room, but not for the data.  If the data has not come after SVCKDAT_PATIENCE,
 * the connection is over.  Process context.
 *
 * Return: 0: the call will be listed as complete, or the connection is over; -EINVAL:
 * the chunks do not fit together, are empty, or too long.
 */
int svckdat_read_call(struct svc_rqst *rqstp, struct svckdat_conn *conn,
		      struct svckdat_recv *recv)
{
	struct walk w = { .recv = recv, .task = DO_MEASURE };
	unsigned int n;

	if (place(&w))
		return -EINVAL;
	n = DIV_ROUND_UP(w.at, PAGE_SIZE);
	if (!w.reads || n > SVCKDAT_MAX_PAGES || n > svckdat_call_pages(rqstp))
		return -EINVAL;
	recv->read_length = w.at;
	recv->give_up = jiffies + SVCKDAT_PATIENCE;
	if (!list_pages(recv, n)) {
		svckdat_conn_over(conn);
		return 0;
	}
	take_pages(rqstp, conn, recv, n);
	return start_reads(conn, recv, w.reads);
}

/* ---- reads that do not end ----------------------------------------------- */

/*
 * Is a call being read?  @by: the earliest time by which one of these calls has to be
 * complete.  A call whose last read completes at this moment may still be seen, perhaps
 * already with the limit of its recv's next call, which is later and does no harm.
 */
static bool oldest_read(struct svckdat_conn *conn, unsigned long *by)
{
	unsigned long read_by;
	bool found = false;
	unsigned int i;

	for (i = 0; i < conn->nr_recvs; i++) {
		/* Pairs with map_pages(). */
		if (!smp_load_acquire(&conn->all_recvs[i].map))
			continue;
		read_by = READ_ONCE(conn->all_recvs[i].read_by);
		if (!found || time_before(read_by, *by))
			*by = read_by;
		found = true;
	}
	return found;
}

/*
 * Ends a connection on which a call could not be read in time.  Without this, a client
 * whose device neither answers a read nor refuses it, but has ours repeat it again and
 * again, would keep pages and maps without ever having made a call.
 */
static void look_at_reads(struct work_struct *work)
{
	struct svckdat_conn *conn = container_of(to_delayed_work(work), struct svckdat_conn,
						 read_timer);
	unsigned long now = jiffies, by;

	if (READ_ONCE(conn->over) || !oldest_read(conn, &by))
		return;
	if (time_before(now, by)) {
		mod_delayed_work(svckdat_wq, &conn->read_timer, by - now);
		return;
	}
	pr_warn_ratelimited("svckdat: %s: a call could not be read in time\n",
			    conn->xprt.xpt_remotebuf);
	svckdat_conn_over(conn);
}

/**
 * svckdat_reads_init - prepare the limit of time for reads
 * @conn: a new connection
 *
 * Whoever frees the connection has to cancel @conn->read_timer.
 */
void svckdat_reads_init(struct svckdat_conn *conn)
{
	INIT_DELAYED_WORK(&conn->read_timer, look_at_reads);
}

/* ---- then: the call ------------------------------------------------------ */

/*
 * Exchanges the pages of the call for those that the thread has in their place, which it
 * does not need.  The next call is read into these, so that no pages have to be allocated,
 * and cleared, for each call.
 */
static void give_pages(struct svc_rqst *rqstp, struct svckdat_conn *conn,
		       struct svckdat_recv *recv)
{
	unsigned int i;

	for (i = 0; i < recv->nr_pages; i++)
		swap(rqstp->rq_pages[i], recv->pages[i]);
	svckdat_reply_follows(rqstp, recv->nr_pages);
	svckdat_spare_keep(conn, recv->pages, recv->nr_pages);
	recv->nr_pages = 0;
	unlist_pages(recv);
}

/* The chunk is in the pages; what precedes it is in the receive buffer. */
static void simple_call(struct xdr_buf *arg, const struct svckdat_recv *recv,
			struct page **pages)
{
	const struct svckdat_header *header = &recv->header;
	u32 position;

	svckdat_next_position(header, 0, &position);
	arg->head[0].iov_base = header->rpc;
	arg->head[0].iov_len = position;
	arg->pages = pages;
	arg->page_len = recv->read_length;
}

static void whole_call(struct xdr_buf *arg, const struct svckdat_recv *recv,
		       struct page **pages)
{
	arg->head[0].iov_base = page_address(pages[0]);
	arg->head[0].iov_len = min_t(u32, recv->read_length, PAGE_SIZE);
	arg->pages = pages + 1;
	arg->page_len = recv->read_length - arg->head[0].iov_len;
}

/**
 * svckdat_assemble_call - give a thread a call that was read
 * @rqstp: the thread
 * @conn: a connection
 * @recv: the call, complete
 *
 * Process context.
 */
void svckdat_assemble_call(struct svc_rqst *rqstp, struct svckdat_conn *conn,
			   struct svckdat_recv *recv)
{
	struct walk w = { .recv = recv, .task = DO_COPY };
	bool simple = is_simple(&recv->header);
	struct xdr_buf *arg = &rqstp->rq_arg;

	/* It succeeded for DO_MEASURE, so it cannot fail now. */
	place(&w);
	give_pages(rqstp, conn, recv);
	if (simple)
		simple_call(arg, recv, rqstp->rq_pages);
	else
		whole_call(arg, recv, rqstp->rq_pages);
	arg->page_base = 0;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;
	arg->len = arg->head[0].iov_len + arg->page_len;
	arg->buflen = arg->len;
}
