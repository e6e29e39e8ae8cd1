// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of a connection: buffers for messages, registered as long as they are there, and maps,
 * which have the pages of a call or a reply while RDMA transfers them.  Buffers for receives are
 * allocated when the connection is made, since the client may use all of them at any moment; the
 * others come by use (pool.c).  The pages themselves come from nfsd's threads; up to 1 MiB of pages
 * that are left over stays with the connection until the kernel needs memory (read.c).  Called by
 * xprt.c and pool.c, and on the data path by read.c and send.c.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/xdr.h>
#include "svckdat.h"

static DAT_RETURN map_list(DAT_LMR_HANDLE lmr, struct scatterlist *list,
			   unsigned int entries, u64 length, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_CONTEXT *context)
{
	struct kdat_memory memory = {
		.list = list,
		.entries = entries,
		.length = length,
	};
	DAT_REGION_DESCRIPTION region = { .for_platform = &memory };
	DAT_LMR_COOKIE cookie = { .as_64 = 0 };

	return dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 0, privileges,
			   DAT_VA_TYPE_ZB, DAT_HANDLE_NULL, cookie,
			   DAT_COMPLETION_DEFAULT_FLAG, context, NULL);
}

/**
 * svckdat_lmr_allocate - make an LMR without memory
 * @conn: a connection
 * @pages: that it may have
 * @lmr: out
 *
 * Process context.
 *
 * Return: 0; -EIO.
 */
int svckdat_lmr_allocate(struct svckdat_conn *conn, unsigned int pages, DAT_LMR_HANDLE *lmr)
{
	return dat_lmr_allocate(conn->adapter->ia, conn->adapter->pz, pages,
				KDAT_LMR_SCOPE_LOCAL, lmr) ? -EIO : 0;
}

/**
 * svckdat_lmr_forget - free an LMR
 * @lmr: no outstanding DTO names its memory; or a null handle
 *
 * It can be freed only without memory, so that is taken away first.  Process context.
 *
 * Return: whether the call was refused.
 */
bool svckdat_lmr_forget(DAT_LMR_HANDLE lmr)
{
	DAT_LMR_COOKIE cookie = {};

	if (!lmr)
		return false;
	dat_lmr_invalidate(lmr, DAT_HANDLE_NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return dat_lmr_free(lmr);
}

/* ---- buffers ------------------------------------------------------------- */

/**
 * svckdat_buf_create - allocate and register a buffer
 * @conn: a connection
 * @buf: zeroed
 * @privileges: LOCAL_READ for what is sent, LOCAL_WRITE for what is received
 *
 * Process context.
 *
 * Return: 0; -ENOMEM, -EIO: the caller frees what was made.
 */
int svckdat_buf_create(struct svckdat_conn *conn, struct svckdat_buf *buf,
		       DAT_MEM_PRIV_FLAGS privileges)
{
	buf->va = kzalloc(conn->buf_size, GFP_KERNEL);
	if (!buf->va)
		return -ENOMEM;
	sg_init_one(&buf->sg, buf->va, conn->buf_size);
	if (svckdat_lmr_allocate(conn, PAGE_ALIGN(conn->buf_size) / PAGE_SIZE + 1, &buf->lmr) ||
	    map_list(buf->lmr, &buf->sg, 1, conn->buf_size, privileges, &buf->context))
		return -EIO;
	return 0;
}

static int recvs_create(struct svckdat_conn *conn)
{
	unsigned int i;
	int err;

	conn->all_recvs = kvcalloc(conn->nr_recvs, sizeof(*conn->all_recvs), GFP_KERNEL);
	if (!conn->all_recvs)
		return -ENOMEM;
	for (i = 0; i < conn->nr_recvs; i++) {
		struct svckdat_recv *recv = &conn->all_recvs[i];

		svckdat_recv_init(recv);
		err = svckdat_buf_create(conn, &recv->buf, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
		if (err)
			return err;
	}
	return 0;
}

/**
 * svckdat_memory_create - make the memory that a connection begins with
 * @conn: a new connection; its counts and sizes are set
 *
 * Process context.
 *
 * Return: 0; -ENOMEM, -EIO: the caller frees what was made, with
 * svckdat_memory_forget() and svckdat_memory_free().
 */
int svckdat_memory_create(struct svckdat_conn *conn)
{
	return recvs_create(conn) ?: svckdat_pool_create(conn);
}

/**
 * svckdat_memory_forget - take all memory away from the device
 * @conn: a connection without an EP, whose pool is closed
 *
 * Process context.
 *
 * Return: whether a call was refused, which happens while the adapter is closed.
 */
bool svckdat_memory_forget(struct svckdat_conn *conn)
{
	bool refused = svckdat_pool_forget(conn);
	unsigned int i;

	for (i = 0; conn->all_recvs && i < conn->nr_recvs; i++)
		refused |= svckdat_lmr_forget(conn->all_recvs[i].buf.lmr);
	return refused;
}

/* Drops the references to pages that a map has. */
void svckdat_map_put_pages(struct svckdat_map *map)
{
	unsigned int i;

	if (!map->holds_pages)
		return;
	map->holds_pages = false;
	for (i = 0; i < map->entries; i++)
		put_page(sg_page(&map->list[i]));
}

/**
 * svckdat_memory_free - free all memory, whatever it was used for
 * @conn: a connection of whose memory the device uses nothing any more
 */
void svckdat_memory_free(struct svckdat_conn *conn)
{
	unsigned int i;

	for (i = 0; conn->all_recvs && i < conn->nr_recvs; i++) {
		svckdat_free_pages_of(&conn->all_recvs[i]);
		kfree(conn->all_recvs[i].buf.va);
	}
	kvfree(conn->all_recvs);
	svckdat_pool_free(conn);
}

/* ---- maps ---------------------------------------------------------------- */

static struct svckdat_map *map_try_get(struct svckdat_conn *conn)
{
	struct svckdat_map *map;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	map = svckdat_map_take(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
	return map;
}

/**
 * svckdat_map_get - take a free map
 * @conn: a connection
 * @give_up: until when to wait for one, in jiffies
 *
 * A thread may wait here, because completions put maps back and need no thread for that.
 * Process context.
 *
 * Return: the map; NULL when the connection is over, or when @give_up has passed since the
 * client has not taken what was sent to it.
 */
struct svckdat_map *svckdat_map_get(struct svckdat_conn *conn, unsigned long give_up)
{
	struct svckdat_map *map = map_try_get(conn);

	if (likely(map))
		return map;
	wait_event_timeout(conn->room, READ_ONCE(conn->over) || (map = map_try_get(conn)),
			   max_t(long, give_up - jiffies, 0));
	return map;
}

/**
 * svckdat_map_put - take the memory of a map away, and free the map
 * @conn: its connection
 * @map: a map that no outstanding DTO names
 *
 * Any context.
 *
 * Return: true: done.  False: the call was refused, because the adapter is being closed;
 * the device may still use the memory, and the map keeps it until the connection is freed.
 */
bool svckdat_map_put(struct svckdat_conn *conn, struct svckdat_map *map)
{
	DAT_LMR_COOKIE cookie = { .as_64 = 0 };
	unsigned long flags;

	if (map->entries && dat_lmr_invalidate(map->lmr, DAT_HANDLE_NULL, cookie,
					       DAT_COMPLETION_DEFAULT_FLAG))
		return false;
	svckdat_map_put_pages(map);
	map->entries = 0;
	spin_lock_irqsave(&conn->lock, flags);
	svckdat_map_give(conn, map);
	spin_unlock_irqrestore(&conn->lock, flags);
	return true;
}

/* Registers the memory in a map.  If that fails, the map has no memory. */
static int map_fill(struct svckdat_map *map, u32 length, DAT_MEM_PRIV_FLAGS privileges)
{
	if (!map_list(map->lmr, map->list, map->entries, length, privileges,
		      &map->context))
		return 0;
	svckdat_map_put_pages(map);
	map->entries = 0;
	return -EIO;
}

/**
 * svckdat_map_call - map pages that a call is read into
 * @map: without memory
 * @pages: whole pages
 * @length: bytes, 1 .. SVCKDAT_MAX_PAGES pages
 *
 * Any context.
 *
 * Return: 0; -EIO.
 */
int svckdat_map_call(struct svckdat_map *map, struct page **pages, u32 length)
{
	unsigned int n = DIV_ROUND_UP(length, PAGE_SIZE);

	for (map->entries = 0; map->entries < n; map->entries++)
		sg_set_page(&map->list[map->entries], pages[map->entries], PAGE_SIZE, 0);
	return map_fill(map, length, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

static bool add_entry(struct svckdat_map *map, struct page *page, unsigned int offset,
		      unsigned int length)
{
	if (map->entries == SVCKDAT_MAX_ENTRIES)
		return false;
	get_page(page);
	sg_set_page(&map->list[map->entries++], page, length, offset);
	return true;
}

/* @address: in the kernel's linear mapping */
static bool add_vector(struct svckdat_map *map, void *address, size_t left)
{
	unsigned int length;

	for (; left; left -= length, address += length) {
		length = min_t(size_t, left, PAGE_SIZE - offset_in_page(address));
		if (!add_entry(map, virt_to_page(address), offset_in_page(address),
			       length))
			return false;
	}
	return true;
}

static bool add_page_list(struct svckdat_map *map, const struct xdr_buf *xdr)
{
	struct page **page = xdr->pages + (xdr->page_base >> PAGE_SHIFT);
	unsigned int offset = offset_in_page(xdr->page_base);
	unsigned int left, length;

	for (left = xdr->page_len; left; left -= length, offset = 0) {
		length = min_t(unsigned int, left, PAGE_SIZE - offset);
		if (!add_entry(map, *page++, offset, length))
			return false;
	}
	return true;
}

/**
 * svckdat_map_reply - map a part of a reply, and hold its pages
 * @map: without memory
 * @reply: the whole reply
 * @from: where the part begins
 * @length: its bytes, 1 or more
 *
 * Offset 0 of the map is at @from.  Any context.
 *
 * Return: 0; -EIO; -EMSGSIZE if the part is not in @reply; -E2BIG if it has too many
 * pieces.
 */
int svckdat_map_reply(struct svckdat_map *map, const struct xdr_buf *reply, u32 from,
		      u32 length)
{
	struct xdr_buf part;

	if (xdr_buf_subsegment(reply, &part, from, length))
		return -EMSGSIZE;
	map->holds_pages = true;
	if (add_vector(map, part.head[0].iov_base, part.head[0].iov_len) &&
	    add_page_list(map, &part) &&
	    add_vector(map, part.tail[0].iov_base, part.tail[0].iov_len))
		return map_fill(map, length, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	svckdat_map_put_pages(map);
	map->entries = 0;
	return -E2BIG;
}
