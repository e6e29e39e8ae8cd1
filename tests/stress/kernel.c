// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdapl_stress: the worlds of the stress test as kernel consumers.
 *
 * "SECONDS SEED" written to /sys/kernel/debug/kdapl_stress/run runs them, and
 * returns at the end, at most twice as late; `progress` shows the counts meanwhile,
 * `result` what came of it.  Two worlds live as long as the test, the others close
 * their adapter under the hands of their threads, or end well, and begin again.
 * tests/guest/stress.sh does it, at the same time as the program's run.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "stress.h"

#define STEADY		2
#define TEXT_SIZE	(64 << 10)

static DEFINE_MUTEX(run_lock);
static DEFINE_SPINLOCK(text_lock);
static char *text;
static size_t text_len;
static struct dentry *debug_dir;

/* Threads of all worlds report. */
void vsay(const char *format, va_list args)
{
	char line[256];

	vscnprintf(line, sizeof(line), format, args);
	spin_lock(&text_lock);
	text_len += scnprintf(text + text_len, TEXT_SIZE - text_len, "%s\n",
			      line);
	spin_unlock(&text_lock);
}

/* ---- worlds ------------------------------------------------------------ */

static enum world_end live(struct world *w)
{
	struct worker dice = { .rng = w->seed };
	u64 end = now_ms() + 300 + below(&dice, 4000);

	while (!load(&board->stop) && (w->number < STEADY || now_ms() < end))
		nap_us(10000);
	return w->number < STEADY || load(&board->stop) || below(&dice, 3) ?
	       END_DRAINED : END_ABRUPT;
}

static void lives(void *arg)
{
	u32 number = (uintptr_t)arg;
	u64 seed = board->seed + number * 1000003;
	struct world *w;

	do {
		w = mem_new(sizeof(*w));
		if (!w)
			break;
		w->number = number;
		w->ia_name = number % 2 ? "rxe1-1" : "rxe0-1";
		w->seed = seed++;
		board->places[number].device = number % 2;
		if (!world_run(w, live))
			nap_us(10000);
		mem_free(w);
	} while (!load(&board->stop));
}

static void verdicts(void)
{
	bool any = board->counts[COUNT_CONNECTED] && board->counts[COUNT_BINDS];
	u32 failed = tell_rules() + !any;

	say("%s there were connections and binds", any ? "ok" : "FAIL");
	say("%u passed, %u failed", RULES + 1 - failed, failed);
}

static void run(u32 seconds)
{
	struct thread *threads[WORLDS];
	u64 end = now_ms() + seconds * 1000ULL, late = end + LATE_MS;
	u32 i;

	for (i = 0; i < WORLDS; i++)
		threads[i] = thread_start(lives, (void *)(uintptr_t)i);
	while (now_ms() < end || (!enough() && now_ms() < late)) {
		store(&board->patient, now_ms() >= end);
		nap_us(20000);
	}
	store(&board->stop, 1);
	for (i = 0; i < WORLDS; i++) {
		if (threads[i])
			thread_join(threads[i]);
	}
	verdicts();
}

/* ---- files ------------------------------------------------------------- */

static ssize_t run_write(struct file *file, const char __user *data,
			 size_t count, loff_t *pos)
{
	char words[40] = "";
	u32 seconds;
	u64 seed;

	if (copy_from_user(words, data, min(count, sizeof(words) - 1)))
		return -EFAULT;
	if (sscanf(words, "%u %llu", &seconds, &seed) != 2)
		return -EINVAL;
	if (mutex_lock_interruptible(&run_lock))
		return -EINTR;
	text_len = 0;
	memset(board, 0, sizeof(*board));
	board->seed = seed;
	/* The program injects them, if anybody does. */
	board->faults = 1;
	run(seconds);
	mutex_unlock(&run_lock);
	return count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int progress_show(struct seq_file *file, void *unused)
{
	const u64 *n = board->counts;

	seq_printf(file, "%llu calls, %llu posts (%llu completed, %llu binds), %llu connections (%llu failed, %llu compared), %llu EPs freed\n",
		   n[COUNT_CALLS], n[COUNT_POSTS], n[COUNT_COMPLETED],
		   n[COUNT_BINDS], n[COUNT_CONNECTED], n[COUNT_UNCONNECTED],
		   n[COUNT_PAIRS], n[COUNT_FREED]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(progress);

static int result_show(struct seq_file *file, void *unused)
{
	mutex_lock(&run_lock);
	seq_write(file, text, text_len);
	mutex_unlock(&run_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init kdapl_stress_init(void)
{
	board = vzalloc(sizeof(*board));
	text = vzalloc(TEXT_SIZE);
	if (!board || !text) {
		vfree(board);
		vfree(text);
		return -ENOMEM;
	}
	debug_dir = debugfs_create_dir("kdapl_stress", NULL);
	debugfs_create_file("run", 0200, debug_dir, NULL, &run_fops);
	debugfs_create_file("progress", 0444, debug_dir, NULL, &progress_fops);
	debugfs_create_file("result", 0444, debug_dir, NULL, &result_fops);
	return 0;
}

static void __exit kdapl_stress_exit(void)
{
	debugfs_remove_recursive(debug_dir);
	vfree(text);
	vfree(board);
}

module_init(kdapl_stress_init);
module_exit(kdapl_stress_exit);
MODULE_DESCRIPTION("DAT stress test, worlds of kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
