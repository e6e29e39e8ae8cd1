// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a connection has by use: sends, maps, and spare pages.  A connection begins with a few
 * sends and maps.  Whoever takes the last one has a work item of the connection double them, up to
 * what the client's credits can use.  When memory is short, a shrinker takes back what nobody uses.
 *
 * Sends and maps are made and freed by the work item alone, once the connection is there.  The
 * shrinker only takes them off the lists: freeing an LMR takes mutexes that others hold while they
 * wait for memory.  Spare pages it frees by itself.
 *
 * Called by memory.c and xprt.c when a connection begins and ends, on the data path by recv.c,
 * read.c, send.c and back.c, by main.c, and by the kernel when it needs memory.
 */
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "svckdat.h"

/* So many a connection begins with, and so many unused ones stay with it. */
#define FEW_SENDS	4u
#define FEW_MAPS	2u
/* Spare pages are freed so many at a time. */
#define PAGES_AT_ONCE	16u

/*
 * Makes and frees what connections have by use.  Not the queue of the module's other work: where
 * there is no memory for threads a queue has one, and that may just be waiting for a device to let
 * go of a connection.
 */
static struct workqueue_struct *pool_wq;

static struct shrinker *pool_shrinker;
static struct dentry *pool_dir;

/* Protects the list.  Inside it: svckdat_conn.lock.  Nothing is allocated under it. */
static DEFINE_SPINLOCK(pool_lock);
static LIST_HEAD(pools);		/* connections */

/* ---- sends ---------------------------------------------------------------- */

static void send_free(struct svckdat_send *send)
{
	list_del(&send->all);
	kfree(send->buf.va);
	kfree(send);
}

/*
 * Frees a send that nobody uses.  If the device is not made to forget it, because the adapter is
 * being closed, it stays in the list of all, for svckdat_pool_forget().
 */
static void send_drop(struct svckdat_send *send)
{
	if (!svckdat_lmr_forget(send->buf.lmr))
		send_free(send);
}

static int send_add(struct svckdat_conn *conn)
{
	struct svckdat_send *send = kzalloc(sizeof(*send), GFP_KERNEL);
	int err;

	if (!send)
		return -ENOMEM;
	list_add_tail(&send->all, &conn->all_sends);
	svckdat_send_init(send);
	err = svckdat_buf_create(conn, &send->buf, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	if (err) {
		send_drop(send);
		return err;
	}
	spin_lock_irq(&conn->lock);
	list_add_tail(&send->entry, &conn->sends);
	conn->free_sends++;
	conn->made_sends++;
	spin_unlock_irq(&conn->lock);
	return 0;
}

/**
 * svckdat_send_take - take a free send, with the connection's lock
 * @conn: a connection
 *
 * Return: the send, or NULL.
 */
struct svckdat_send *svckdat_send_take(struct svckdat_conn *conn)
{
	struct svckdat_send *send;

	lockdep_assert_held(&conn->lock);
	send = list_first_entry_or_null(&conn->sends, struct svckdat_send, entry);
	if (send) {
		list_del(&send->entry);
		conn->free_sends--;
	}
	if (list_empty(&conn->sends) && conn->made_sends < conn->nr_sends) {
		conn->more_sends = true;
		queue_work(pool_wq, &conn->pool_work);
	}
	return send;
}

/* Gives a send back that nobody uses, with the connection's lock. */
void svckdat_send_give(struct svckdat_conn *conn, struct svckdat_send *send)
{
	lockdep_assert_held(&conn->lock);
	list_add(&send->entry, &conn->sends);
	conn->free_sends++;
}

/* ---- maps ----------------------------------------------------------------- */

static void map_free(struct svckdat_map *map)
{
	list_del(&map->all);
	svckdat_map_put_pages(map);
	kvfree(map->list);
	kfree(map);
}

/* As send_drop() */
static void map_drop(struct svckdat_map *map)
{
	if (!svckdat_lmr_forget(map->lmr))
		map_free(map);
}

static int map_fill(struct svckdat_conn *conn, struct svckdat_map *map)
{
	map->list = kvmalloc_array(SVCKDAT_MAX_ENTRIES, sizeof(*map->list), GFP_KERNEL);
	if (!map->list)
		return -ENOMEM;
	sg_init_table(map->list, SVCKDAT_MAX_ENTRIES);
	return svckdat_lmr_allocate(conn, SVCKDAT_MAX_ENTRIES, &map->lmr);
}

static int map_add(struct svckdat_conn *conn)
{
	struct svckdat_map *map = kzalloc(sizeof(*map), GFP_KERNEL);
	int err;

	if (!map)
		return -ENOMEM;
	list_add_tail(&map->all, &conn->all_maps);
	err = map_fill(conn, map);
	if (err) {
		map_drop(map);
		return err;
	}
	spin_lock_irq(&conn->lock);
	list_add_tail(&map->entry, &conn->maps);
	conn->free_maps++;
	conn->made_maps++;
	spin_unlock_irq(&conn->lock);
	return 0;
}

/**
 * svckdat_map_take - take a free map, with the connection's lock
 * @conn: a connection
 *
 * Return: the map, or NULL.
 */
struct svckdat_map *svckdat_map_take(struct svckdat_conn *conn)
{
	struct svckdat_map *map;

	lockdep_assert_held(&conn->lock);
	map = list_first_entry_or_null(&conn->maps, struct svckdat_map, entry);
	if (map) {
		list_del(&map->entry);
		conn->free_maps--;
	}
	if (list_empty(&conn->maps) && conn->made_maps < SVCKDAT_MAPS) {
		conn->more_maps = true;
		queue_work(pool_wq, &conn->pool_work);
	}
	return map;
}

/* Gives a map back that has no memory, with the connection's lock. */
void svckdat_map_give(struct svckdat_conn *conn, struct svckdat_map *map)
{
	lockdep_assert_held(&conn->lock);
	list_add(&map->entry, &conn->maps);
	conn->free_maps++;
}

/* ---- spare pages ---------------------------------------------------------- */

/**
 * svckdat_spare_take - take pages that earlier calls have left over
 * @conn: a connection
 * @pages: out
 * @n: how many are wanted
 *
 * Any context.
 *
 * Return: how many there were.
 */
unsigned int svckdat_spare_take(struct svckdat_conn *conn, struct page **pages, unsigned int n)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	n = min(n, conn->nr_spare);
	conn->nr_spare -= n;
	memcpy(pages, &conn->spare[conn->nr_spare], n * sizeof(*pages));
	spin_unlock_irqrestore(&conn->lock, flags);
	return n;
}

/**
 * svckdat_spare_keep - keep pages for later calls, and release those that are too many
 * @conn: a connection
 * @pages: the pages
 * @n: how many
 *
 * Any context.
 */
void svckdat_spare_keep(struct svckdat_conn *conn, struct page **pages, unsigned int n)
{
	unsigned long flags;
	unsigned int kept;

	spin_lock_irqsave(&conn->lock, flags);
	kept = min(n, SVCKDAT_MAX_PAGES - conn->nr_spare);
	memcpy(&conn->spare[conn->nr_spare], pages, kept * sizeof(*pages));
	conn->nr_spare += kept;
	spin_unlock_irqrestore(&conn->lock, flags);
	while (kept < n)
		put_page(pages[kept++]);
}

static unsigned long free_spare(struct svckdat_conn *conn, unsigned long wanted)
{
	struct page *pages[PAGES_AT_ONCE];
	unsigned long freed = 0;
	unsigned int n, i;

	do {
		n = svckdat_spare_take(conn, pages,
				       min_t(unsigned long, wanted - freed, PAGES_AT_ONCE));
		for (i = 0; i < n; i++)
			put_page(pages[i]);
		freed += n;
	} while (n);
	return freed;
}

/* ---- growing, and giving memory back -------------------------------------- */

static void free_surplus(struct svckdat_conn *conn)
{
	struct svckdat_send *send, *next_send;
	struct svckdat_map *map, *next_map;
	LIST_HEAD(sends);
	LIST_HEAD(maps);

	spin_lock_irq(&conn->lock);
	list_splice_init(&conn->surplus_sends, &sends);
	list_splice_init(&conn->surplus_maps, &maps);
	spin_unlock_irq(&conn->lock);
	list_for_each_entry_safe(send, next_send, &sends, entry)
		send_drop(send);
	list_for_each_entry_safe(map, next_map, &maps, entry)
		map_drop(map);
}

static void add_sends(struct svckdat_conn *conn, unsigned int n)
{
	while (n-- && !send_add(conn))
		;
	/* A thread takes a message only together with a send. */
	svc_xprt_enqueue(&conn->xprt);
}

static void add_maps(struct svckdat_conn *conn, unsigned int n)
{
	while (n-- && !map_add(conn))
		;
	wake_up_all(&conn->room);
}

/*
 * If there is no memory, those that wait go on when something is given back, as they do when there
 * may be no more, and the next one asks again.
 */
static void pool_work(struct work_struct *work)
{
	struct svckdat_conn *conn = container_of(work, struct svckdat_conn, pool_work);
	unsigned int sends = 0, maps = 0, noio;

	spin_lock_irq(&conn->lock);
	if (conn->more_sends)
		sends = min(max(conn->made_sends, 1u), conn->nr_sends - conn->made_sends);
	if (conn->more_maps)
		maps = min(max(conn->made_maps, 1u), SVCKDAT_MAPS - conn->made_maps);
	conn->more_sends = false;
	conn->more_maps = false;
	spin_unlock_irq(&conn->lock);
	/* Threads wait for this: it must not wait for a file that they may be writing. */
	noio = memalloc_noio_save();
	free_surplus(conn);
	if (sends && !READ_ONCE(conn->over))
		add_sends(conn, sends);
	if (maps && !READ_ONCE(conn->over))
		add_maps(conn, maps);
	memalloc_noio_restore(noio);
}

static unsigned int beyond(unsigned int n, unsigned int few)
{
	return n > few ? n - few : 0;
}

static unsigned long unused(const struct svckdat_conn *conn)
{
	return beyond(READ_ONCE(conn->free_sends), FEW_SENDS) +
	       beyond(READ_ONCE(conn->free_maps), FEW_MAPS) + READ_ONCE(conn->nr_spare);
}

/* Takes unused sends and maps off the lists, those that were not used for longest. */
static unsigned long take_unused(struct svckdat_conn *conn, unsigned long wanted)
{
	unsigned long flags, taken = 0;

	spin_lock_irqsave(&conn->lock, flags);
	for (; taken < wanted && conn->free_maps > FEW_MAPS; taken++) {
		list_move(conn->maps.prev, &conn->surplus_maps);
		conn->free_maps--;
		conn->made_maps--;
	}
	for (; taken < wanted && conn->free_sends > FEW_SENDS; taken++) {
		list_move(conn->sends.prev, &conn->surplus_sends);
		conn->free_sends--;
		conn->made_sends--;
	}
	if (taken)
		queue_work(pool_wq, &conn->pool_work);
	spin_unlock_irqrestore(&conn->lock, flags);
	return taken;
}

static unsigned long pool_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct svckdat_conn *conn;
	unsigned long n = 0;

	spin_lock(&pool_lock);
	list_for_each_entry(conn, &pools, pool_entry)
		n += unused(conn);
	spin_unlock(&pool_lock);
	return n;
}

static unsigned long pool_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned long left = sc->nr_to_scan;
	struct svckdat_conn *conn;

	spin_lock(&pool_lock);
	list_for_each_entry(conn, &pools, pool_entry) {
		left -= free_spare(conn, left);
		left -= take_unused(conn, left);
	}
	/* The next time others come first. */
	list_rotate_left(&pools);
	spin_unlock(&pool_lock);
	return sc->nr_to_scan - left ?: SHRINK_STOP;
}

/* ---- begin and end -------------------------------------------------------- */

/* Prepares a new connection; called before anything can fail. */
void svckdat_pool_init(struct svckdat_conn *conn)
{
	INIT_LIST_HEAD(&conn->maps);
	INIT_LIST_HEAD(&conn->sends);
	INIT_LIST_HEAD(&conn->all_maps);
	INIT_LIST_HEAD(&conn->all_sends);
	INIT_LIST_HEAD(&conn->surplus_maps);
	INIT_LIST_HEAD(&conn->surplus_sends);
	INIT_LIST_HEAD(&conn->pool_entry);
	INIT_WORK(&conn->pool_work, pool_work);
}

/**
 * svckdat_pool_create - make the first sends and maps
 * @conn: a new connection; its counts and sizes are set
 *
 * Process context.
 *
 * Return: 0; -ENOMEM, -EIO: the caller frees what was made, with svckdat_pool_forget() and
 * svckdat_pool_free().
 */
int svckdat_pool_create(struct svckdat_conn *conn)
{
	int err = 0;

	conn->spare = kcalloc(SVCKDAT_MAX_PAGES, sizeof(*conn->spare), GFP_KERNEL);
	if (!conn->spare)
		return -ENOMEM;
	while (!err && conn->made_sends < min(FEW_SENDS, conn->nr_sends))
		err = send_add(conn);
	while (!err && conn->made_maps < FEW_MAPS)
		err = map_add(conn);
	return err;
}

/* Lets the shrinker know a connection that sunrpc knows. */
void svckdat_pool_open(struct svckdat_conn *conn)
{
	spin_lock(&pool_lock);
	list_add_tail(&conn->pool_entry, &pools);
	spin_unlock(&pool_lock);
}

/**
 * svckdat_pool_close - neither grow nor give anything back any more
 * @conn: a connection that nobody takes anything from any more
 *
 * Waits for the work item.  Process context.
 */
void svckdat_pool_close(struct svckdat_conn *conn)
{
	spin_lock(&pool_lock);
	list_del_init(&conn->pool_entry);
	spin_unlock(&pool_lock);
	cancel_work_sync(&conn->pool_work);
}

/**
 * svckdat_pool_forget - take all sends and maps away from the device
 * @conn: a connection without an EP, closed here
 *
 * Process context.
 *
 * Return: whether a call was refused, which happens while the adapter is closed.
 */
bool svckdat_pool_forget(struct svckdat_conn *conn)
{
	struct svckdat_send *send;
	struct svckdat_map *map;
	bool refused = false;

	list_for_each_entry(send, &conn->all_sends, all)
		refused |= svckdat_lmr_forget(send->buf.lmr);
	list_for_each_entry(map, &conn->all_maps, all)
		refused |= svckdat_lmr_forget(map->lmr);
	return refused;
}

/* Frees all of it; the device uses nothing of it any more. */
void svckdat_pool_free(struct svckdat_conn *conn)
{
	struct svckdat_send *send, *next_send;
	struct svckdat_map *map, *next_map;

	list_for_each_entry_safe(send, next_send, &conn->all_sends, all)
		send_free(send);
	list_for_each_entry_safe(map, next_map, &conn->all_maps, all)
		map_free(map);
	free_spare(conn, SVCKDAT_MAX_PAGES);
	kfree(conn->spare);
}

/* ---- what there is -------------------------------------------------------- */

/* A line for each connection: "10.9.0.1 sends 4/66 maps 2/32 spare 0" */
static int pools_show(struct seq_file *seq, void *unused)
{
	struct svckdat_conn *conn;

	spin_lock(&pool_lock);
	list_for_each_entry(conn, &pools, pool_entry)
		seq_printf(seq, "%s sends %u/%u maps %u/%u spare %u\n",
			   conn->xprt.xpt_remotebuf, READ_ONCE(conn->made_sends),
			   conn->nr_sends, READ_ONCE(conn->made_maps), SVCKDAT_MAPS,
			   READ_ONCE(conn->nr_spare));
	spin_unlock(&pool_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pools);

/**
 * svckdat_pools_init - have a queue for pools, and offer memory to the kernel when it needs some
 *
 * Return: 0 or an errno.
 */
int svckdat_pools_init(void)
{
	int err = -ENOMEM;

	pool_wq = alloc_workqueue("svckdat_pools", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pool_wq)
		return err;
	pool_shrinker = svckdat_shrinker_alloc("svckdat");
	if (!pool_shrinker)
		goto no_shrinker;
	pool_shrinker->count_objects = pool_count;
	pool_shrinker->scan_objects = pool_scan;
	pool_shrinker->seeks = DEFAULT_SEEKS;
	err = svckdat_shrinker_register(pool_shrinker, "svckdat");
	if (err)
		goto no_shrinker;
	pool_dir = debugfs_create_dir("svckdat", NULL);
	debugfs_create_file("pools", 0400, pool_dir, NULL, &pools_fops);
	return 0;

no_shrinker:
	destroy_workqueue(pool_wq);
	return err;
}

/* There is no connection any more. */
void svckdat_pools_exit(void)
{
	debugfs_remove_recursive(pool_dir);
	svckdat_shrinker_free(pool_shrinker);
	destroy_workqueue(pool_wq);
}
