// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Room for commands: the struct kiser_tx of a connection, each with a slot for its answer and an
 * LMR for its data.  They come in batches.  A connection begins with one batch, and gets another
 * one when commands have taken the last kiser_tx, until it has as many as there may be commands.
 * When memory is short, a shrinker takes batches back that no command uses.
 *
 * Batches are made and freed by a work item of the connection alone.  The shrinker only takes them
 * off: freeing an LMR takes mutexes that others hold while they wait for memory.  Locks and the
 * order at the end of a connection: Documentation/kernel-consumers.rst, Memory that comes and goes.
 *
 * Callers: tx.c under its lock; rx.c and conn.c, when a connection begins and ends; main.c; the
 * kernel, when it needs memory.
 */
#include <linux/debugfs.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include "compat.h"
#include "kdat_iser.h"

/*
 * Not the other workqueues: what gives memory back must not wait until there is memory for another
 * thread, and nothing is freed here that others would have to wait for.
 */
static struct workqueue_struct *room_wq;
static struct shrinker *room_shrinker;
static struct dentry *room_dir;

/* Protects the list.  Inside it: tx_lock.  Nothing is allocated under it. */
static DEFINE_SPINLOCK(room_lock);
static LIST_HEAD(rooms);		/* connections that have batches */

/* ---- batches ------------------------------------------------------------------------ */

static void batch_free(struct kiser_batch *batch)
{
	while (batch->nr_tx)
		dat_lmr_free(batch->tx[--batch->nr_tx].lmr);
	kiser_pool_unregister(&batch->pool);
	kiser_pool_free(&batch->pool);
	kfree(batch);
}

static int batch_fill(struct kiser_batch *batch, const struct kiser_adapter *adapter, u32 count)
{
	struct kiser_tx *tx;

	if (kiser_pool_create(&batch->pool, adapter, count, KISER_TX_SLOT,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return -ENOMEM;
	for (; batch->nr_tx < count; batch->nr_tx++) {
		tx = &batch->tx[batch->nr_tx];
		if (dat_lmr_allocate(adapter->ia, adapter->pz, adapter->step_pages + 1,
				     KDAT_LMR_SCOPE_LOCAL, &tx->lmr))
			return -ENOMEM;
		tx->batch = batch;
		tx->pdu = kiser_pool_slot(&batch->pool, batch->nr_tx, 0, &tx->iov[0]);
	}
	return 0;
}

/* Adds a batch to what a connection has.  Only one caller at a time. */
static int batch_add(struct kiser_conn *conn)
{
	struct kiser_batch *batch = kzalloc(sizeof(*batch), GFP_KERNEL);
	u32 count, i;

	if (!batch)
		return -ENOMEM;
	/* The shrinker may be taking some off: then there may be more than this. */
	count = min(KISER_BATCH, conn->max_tx - READ_ONCE(conn->nr_tx));
	if (batch_fill(batch, conn->adapter, count)) {
		batch_free(batch);
		return -ENOMEM;
	}
	spin_lock_irq(&conn->tx_lock);
	list_add_tail(&batch->entry, &conn->batches);
	for (i = 0; i < batch->nr_tx; i++)
		list_add_tail(&batch->tx[i].entry, &conn->tx_free);
	conn->nr_tx += batch->nr_tx;
	conn->idle_batches++;
	spin_unlock_irq(&conn->tx_lock);
	return 0;
}

static void free_list(struct list_head *list)
{
	struct kiser_batch *batch;

	while ((batch = list_first_entry_or_null(list, struct kiser_batch, entry))) {
		list_del(&batch->entry);
		batch_free(batch);
	}
}

/* ---- taking and giving -------------------------------------------------------------- */

/**
 * kiser_tx_take - a free kiser_tx, for a command
 * @conn: the connection, with its tx_lock; not closed
 *
 * Whoever takes the last one has more made, if there may be more; the commands that wait are tried
 * again when they are there.
 *
 * Return: it, or null.
 */
struct kiser_tx *kiser_tx_take(struct kiser_conn *conn)
{
	struct kiser_tx *tx;

	lockdep_assert_held(&conn->tx_lock);
	tx = list_first_entry_or_null(&conn->tx_free, struct kiser_tx, entry);
	if (tx) {
		list_del(&tx->entry);
		if (!tx->batch->busy++)
			conn->idle_batches--;
	}
	if (list_empty(&conn->tx_free) && conn->nr_tx < conn->max_tx) {
		conn->more_tx = true;
		queue_work(room_wq, &conn->room_work);
	}
	return tx;
}

/* Gives a kiser_tx back, which has no memory and no command.  With tx_lock. */
void kiser_tx_give(struct kiser_conn *conn, struct kiser_tx *tx)
{
	lockdep_assert_held(&conn->tx_lock);
	/* The last one goes first, so that a few commands at a time leave whole batches idle. */
	list_add(&tx->entry, &conn->tx_free);
	if (!--tx->batch->busy)
		conn->idle_batches++;
}

/* ---- growing, and giving memory back ------------------------------------------------ */

static bool more_wanted(struct kiser_conn *conn)
{
	bool more;

	spin_lock_irq(&conn->tx_lock);
	more = conn->more_tx && conn->nr_tx < conn->max_tx;
	conn->more_tx = false;
	spin_unlock_irq(&conn->tx_lock);
	return more;
}

static void free_surplus(struct kiser_conn *conn)
{
	LIST_HEAD(surplus);

	spin_lock_irq(&conn->tx_lock);
	list_splice_init(&conn->surplus, &surplus);
	spin_unlock_irq(&conn->tx_lock);
	free_list(&surplus);
}

/*
 * If there is no memory for another batch, the commands that wait go on when a completion comes, as
 * they do when there may be no more, and the next command asks again.
 */
static void room_work(struct work_struct *work)
{
	struct kiser_conn *conn = container_of(work, struct kiser_conn, room_work);
	unsigned int noio;
	bool grown;

	/* Commands wait for this: it must not wait for a disk that they may be for. */
	noio = memalloc_noio_save();
	free_surplus(conn);
	grown = more_wanted(conn) && !batch_add(conn);
	memalloc_noio_restore(noio);
	if (grown)
		kiser_tx_retry(conn);
}

/* One idle batch stays, so that not every command has one made. */
static u32 spare_batches(const struct kiser_conn *conn)
{
	u32 idle = READ_ONCE(conn->idle_batches);

	return idle ? idle - 1 : 0;
}

/* Takes the kiser_tx of a batch that no command uses off the connection; returns how many. */
static u32 detach(struct kiser_conn *conn, struct kiser_batch *batch)
{
	u32 i;

	lockdep_assert_held(&conn->tx_lock);
	for (i = 0; i < batch->nr_tx; i++)
		list_del(&batch->tx[i].entry);
	list_move(&batch->entry, &conn->surplus);
	conn->nr_tx -= batch->nr_tx;
	conn->idle_batches--;
	return batch->nr_tx;
}

/* Takes at least @wanted kiser_tx off a connection, if it has as many to spare. */
static unsigned long detach_spare(struct kiser_conn *conn, unsigned long wanted)
{
	struct kiser_batch *batch, *before;
	unsigned long taken = 0, flags;

	spin_lock_irqsave(&conn->tx_lock, flags);
	list_for_each_entry_safe_reverse(batch, before, &conn->batches, entry) {
		if (taken >= wanted || !spare_batches(conn))
			break;
		if (!batch->busy)
			taken += detach(conn, batch);
	}
	if (taken)
		queue_work(room_wq, &conn->room_work);
	spin_unlock_irqrestore(&conn->tx_lock, flags);
	return taken;
}

static unsigned long count_spare(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct kiser_conn *conn;
	unsigned long spare = 0;

	spin_lock(&room_lock);
	list_for_each_entry(conn, &rooms, room_entry)
		spare += spare_batches(conn) * KISER_BATCH;
	spin_unlock(&room_lock);
	return spare;
}

static unsigned long take_spare(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned long taken = 0;
	struct kiser_conn *conn;

	spin_lock(&room_lock);
	list_for_each_entry(conn, &rooms, room_entry) {
		if (taken >= sc->nr_to_scan)
			break;
		taken += detach_spare(conn, sc->nr_to_scan - taken);
	}
	/* The next time others come first. */
	if (taken)
		list_rotate_left(&rooms);
	spin_unlock(&room_lock);
	return taken ?: SHRINK_STOP;
}

/* ---- begin and end ------------------------------------------------------------------ */

/* Prepares a new connection; called before anything can fail. */
void kiser_room_init(struct kiser_conn *conn)
{
	INIT_LIST_HEAD(&conn->tx_free);
	INIT_LIST_HEAD(&conn->batches);
	INIT_LIST_HEAD(&conn->surplus);
	INIT_LIST_HEAD(&conn->room_entry);
	INIT_WORK(&conn->room_work, room_work);
}

/**
 * kiser_room_open - make room for the first commands
 * @conn: a connection
 * @max: how many commands may have something to post at a time; the others wait
 *
 * May sleep.  kiser_room_close() and kiser_room_free() undo it, also after a failure.
 *
 * Return: 0 or -ENOMEM.
 */
int kiser_room_open(struct kiser_conn *conn, u32 max)
{
	conn->max_tx = max;
	if (batch_add(conn))
		return -ENOMEM;
	spin_lock(&room_lock);
	list_add_tail(&conn->room_entry, &rooms);
	spin_unlock(&room_lock);
	return 0;
}

/**
 * kiser_room_close - neither grow nor give anything back any more
 * @conn: a connection that is closed for posts, or never had room
 *
 * Waits for the work item.  May sleep.
 */
void kiser_room_close(struct kiser_conn *conn)
{
	spin_lock(&room_lock);
	list_del_init(&conn->room_entry);
	spin_unlock(&room_lock);
	cancel_work_sync(&conn->room_work);
}

/* Frees all of it; no command has a kiser_tx.  After kiser_room_close().  May sleep. */
void kiser_room_free(struct kiser_conn *conn)
{
	free_list(&conn->surplus);
	free_list(&conn->batches);
}

/* ---- what there is ------------------------------------------------------------------ */

static u32 busy_tx(struct kiser_conn *conn)
{
	struct kiser_batch *batch;
	unsigned long flags;
	u32 busy = 0;

	spin_lock_irqsave(&conn->tx_lock, flags);
	list_for_each_entry(batch, &conn->batches, entry)
		busy += batch->busy;
	spin_unlock_irqrestore(&conn->tx_lock, flags);
	return busy;
}

static unsigned long bytes_of(const struct kiser_pool *pool)
{
	return (unsigned long)READ_ONCE(pool->nr_chunks) * PAGE_SIZE << pool->order;
}

/*
 * A line for each connection in full feature phase, with bytes of memory for messages:
 * "10.9.0.1:51322 room 16/80 busy 0 receives 884736 login 0"
 */
static int pools_show(struct seq_file *seq, void *unused)
{
	struct kiser_conn *conn;

	spin_lock(&room_lock);
	list_for_each_entry(conn, &rooms, room_entry)
		seq_printf(seq, "%pISpc room %u/%u busy %u receives %lu login %lu\n",
			   &conn->remote, READ_ONCE(conn->nr_tx), conn->max_tx, busy_tx(conn),
			   bytes_of(&conn->rx_pool), bytes_of(&conn->login_pool));
	spin_unlock(&room_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pools);

/**
 * kiser_rooms_init - offer memory to the kernel when it needs some
 *
 * May sleep.  kiser_rooms_exit() undoes it.
 *
 * Return: 0 or an errno.
 */
int kiser_rooms_init(void)
{
	int err = -ENOMEM;

	room_wq = alloc_workqueue("kdat_iser_room", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!room_wq)
		return err;
	room_shrinker = kiser_shrinker_alloc("kdat_iser");
	if (!room_shrinker)
		goto no_shrinker;
	room_shrinker->count_objects = count_spare;
	room_shrinker->scan_objects = take_spare;
	room_shrinker->seeks = DEFAULT_SEEKS;
	err = kiser_shrinker_register(room_shrinker, "kdat_iser");
	if (err)
		goto no_shrinker;
	room_dir = debugfs_create_dir("kdat_iser", NULL);
	debugfs_create_file("pools", 0400, room_dir, NULL, &pools_fops);
	return 0;

no_shrinker:
	destroy_workqueue(room_wq);
	return err;
}

/* There is no connection any more.  May sleep. */
void kiser_rooms_exit(void)
{
	debugfs_remove_recursive(room_dir);
	kiser_shrinker_free(room_shrinker);
	destroy_workqueue(room_wq);
}
