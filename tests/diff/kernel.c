// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdapl_diff: the player as a kernel consumer.  A program that is written to
 * /sys/kernel/debug/kdapl_diff/play, at once, is played there; `transcript` shows what came of
 * it.  user.c does both.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "diff.h"

#define TEXT_SIZE	(256 << 10)
#define QUAL		33000

static DEFINE_MUTEX(play_lock);
static char *text;
static size_t text_len;
static struct program program;
static struct dentry *debug_dir;

void vsay(const char *format, va_list args)
{
	text_len += vscnprintf(text + text_len, TEXT_SIZE - text_len - 1, format, args);
	text[text_len++] = '\n';
}

static ssize_t play_write(struct file *file, const char __user *data, size_t count, loff_t *pos)
{
	char *lines;
	int bad;

	if (count > PAGE_SIZE)
		return -EINVAL;
	lines = memdup_user_nul(data, count);
	if (IS_ERR(lines))
		return PTR_ERR(lines);
	mutex_lock(&play_lock);
	text_len = 0;
	bad = parse(&program, lines);
	if (!bad)
		play(&program, QUAL);
	mutex_unlock(&play_lock);
	kfree(lines);
	return bad ? -EINVAL : count;
}

static const struct file_operations play_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = play_write,
};

static int transcript_show(struct seq_file *file, void *unused)
{
	mutex_lock(&play_lock);
	seq_write(file, text, text_len);
	mutex_unlock(&play_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(transcript);

static int __init kdapl_diff_init(void)
{
	text = vzalloc(TEXT_SIZE);
	if (!text)
		return -ENOMEM;
	debug_dir = debugfs_create_dir("kdapl_diff", NULL);
	debugfs_create_file("play", 0200, debug_dir, NULL, &play_fops);
	debugfs_create_file("transcript", 0444, debug_dir, NULL, &transcript_fops);
	return 0;
}

static void __exit kdapl_diff_exit(void)
{
	debugfs_remove_recursive(debug_dir);
	vfree(text);
}

module_init(kdapl_diff_init);
module_exit(kdapl_diff_exit);
MODULE_DESCRIPTION("DAT differential test, the kernel consumer");
MODULE_LICENSE("Dual BSD/GPL");
