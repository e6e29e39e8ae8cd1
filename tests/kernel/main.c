// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdat_rules: the runner.  Files under /sys/kernel/debug/kdat_rules:
 *
 *	run	write anything: all cases; write "removal": the case that waits
 *		for the removal of side b's device
 *	removal	1 when that case has traffic going and waits
 *	result	a line for each case, and the sum
 *
 * The same lines go to the kernel log.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "kdat_rules.h"

#define TEXT_SIZE	(256 * 1024)
#define WHY_SIZE	512

static char *ia_a = "rxe0-1";
module_param(ia_a, charp, 0444);
MODULE_PARM_DESC(ia_a, "adapter that connects");

static char *ia_b = "rxe1-1";
module_param(ia_b, charp, 0444);
MODULE_PARM_DESC(ia_b, "adapter that listens");

static char *only = "";
module_param(only, charp, 0644);
MODULE_PARM_DESC(only, "run only cases that have this text in their line");

static struct dentry *debug_dir;
static DEFINE_MUTEX(run_lock);
static char *text;
static size_t text_len;
static unsigned int nr_passed, nr_failed;

/* Of the present case: its failures, as far as they fit. */
static char why[WHY_SIZE];
static size_t why_len;

static const struct test_case * const lists[] = {
	args_cases, memory_cases, rmr_cases, connect_cases, passive_cases,
	dto_cases, disconnect_cases, upcall_cases, many_cases, modify_cases,
};

/* ---- verdicts ----------------------------------------------------------- */

bool fail(const char *fmt, ...)
{
	va_list args;

	if (why_len)
		why_len += scnprintf(why + why_len, WHY_SIZE - why_len, "; ");
	va_start(args, fmt);
	why_len += vscnprintf(why + why_len, WHY_SIZE - why_len, fmt, args);
	va_end(args);
	return false;
}

bool ret_is(const char *call, DAT_RETURN got, DAT_RETURN wanted)
{
	const char *major = "?", *minor = "?", *want_major, *want_minor;

	if (got == wanted)
		return true;
	dat_strerror(got, &major, &minor);
	want_major = "?";
	want_minor = "?";
	dat_strerror(wanted, &want_major, &want_minor);
	return fail("%.*s: %#x %s %s, not %s %s", (int)min_t(size_t, strlen(call), 120),
		    call, got, major, minor, want_major, want_minor);
}

__printf(1, 2)
static void say(const char *fmt, ...)
{
	va_list args;
	size_t start = text_len;

	va_start(args, fmt);
	text_len += vscnprintf(text + text_len, TEXT_SIZE - text_len, fmt,
			       args);
	va_end(args);
	pr_info("kdat_rules: %s", text + start);
}

/* ---- running ------------------------------------------------------------ */

static bool wanted(const struct test_case *test)
{
	return !*only || strstr(test->rules, only) || strstr(test->what, only);
}

static void run_case(const struct test_case *test)
{
	why_len = 0;
	why[0] = '\0';
	test->run();
	if (why_len) {
		nr_failed++;
		say("FAIL %s %s: %s\n", test->rules, test->what, why);
	} else {
		nr_passed++;
		say("ok %s %s\n", test->rules, test->what);
	}
}

static void run_list(const struct test_case *list)
{
	for (; list->run; list++)
		if (wanted(list))
			run_case(list);
}

static void open_sides(void)
{
	side_a.name = ia_a;
	side_b.name = ia_b;
	if (!side_open(&side_a))
		fail("on %s", ia_a);
	if (!side_open(&side_b))
		fail("on %s", ia_b);
}

static void close_sides(void)
{
	side_close(&side_a);
	side_close(&side_b);
}

static const struct test_case open_case = {
	"I1 I4 I20", "open both adapters, query, make zones", open_sides
};

static const struct test_case close_case = {
	"I12 F11", "every object is gone: graceful close", close_sides
};

static void run_all(bool removal)
{
	unsigned int i;

	text_len = 0;
	nr_passed = 0;
	nr_failed = 0;
	run_case(&open_case);
	if (!nr_failed && removal)
		run_list(removal_cases);
	else if (!nr_failed)
		for (i = 0; i < ARRAY_SIZE(lists); i++)
			run_list(lists[i]);
	run_case(&close_case);
	say("%u passed, %u failed\n", nr_passed, nr_failed);
}

/* ---- files -------------------------------------------------------------- */

static ssize_t run_write(struct file *file, const char __user *data,
			 size_t count, loff_t *pos)
{
	char word[16] = "";
	int ret;

	if (copy_from_user(word, data, min(count, sizeof(word) - 1)))
		return -EFAULT;
	ret = mutex_lock_interruptible(&run_lock);
	if (ret)
		return ret;
	run_all(sysfs_streq(word, "removal"));
	ret = nr_failed ? -EIO : 0;
	mutex_unlock(&run_lock);
	return ret ?: count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int result_show(struct seq_file *file, void *unused)
{
	mutex_lock(&run_lock);
	seq_write(file, text, text_len);
	mutex_unlock(&run_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init kdat_rules_init(void)
{
	text = vzalloc(TEXT_SIZE);
	if (!text)
		return -ENOMEM;
	debug_dir = debugfs_create_dir("kdat_rules", NULL);
	debugfs_create_file("run", 0200, debug_dir, NULL, &run_fops);
	debugfs_create_file("result", 0444, debug_dir, NULL, &result_fops);
	debugfs_create_bool("removal", 0444, debug_dir, &removal_ready);
	return 0;
}

static void __exit kdat_rules_exit(void)
{
	debugfs_remove_recursive(debug_dir);
	vfree(text);
}

module_init(kdat_rules_init);
module_exit(kdat_rules_exit);
MODULE_DESCRIPTION("DAT rules, tested through the kernel face");
MODULE_LICENSE("Dual BSD/GPL");
