// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdapl-bench: commands, written to /sys/kernel/debug/kdapl-bench/run, with what
 * they say in "result":
 *
 *	pingpong SIZE TURNS	round trips on ib_core
 *	rate raw|kdat N		N connections, one after the other
 *	hold raw|kdat N		makes and keeps N connections
 *	idle N			makes and keeps N unconnected endpoints
 *	release			lets go of what is kept
 *	cost N			instructions, in a machine that counts them
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include "bench.h"

#define TEXT_SIZE	8192

static char *addr_a = "10.9.0.1";
module_param(addr_a, charp, 0444);
MODULE_PARM_DESC(addr_a, "address of the side that connects");

static char *addr_b = "10.9.0.2";
module_param(addr_b, charp, 0444);
MODULE_PARM_DESC(addr_b, "address of the side that listens");

char *bench_ia_a = "rxe0-1";
module_param_named(ia_a, bench_ia_a, charp, 0444);
MODULE_PARM_DESC(ia_a, "its adapter");

char *bench_ia_b = "rxe1-1";
module_param_named(ia_b, bench_ia_b, charp, 0444);
MODULE_PARM_DESC(ia_b, "the other one's");

ushort bench_port = 18600;
module_param_named(port, bench_port, ushort, 0444);
MODULE_PARM_DESC(port, "to listen on; kDAT takes the next one");

struct sockaddr_storage bench_addr_a, bench_addr_b;

static struct dentry *debug_dir;
static DEFINE_MUTEX(run_lock);
static char text[TEXT_SIZE];
static size_t text_len;

/**
 * bench_say - add to the result of the present command
 * @fmt: as printf
 */
void bench_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_len += vscnprintf(text + text_len, TEXT_SIZE - text_len, fmt,
			       args);
	va_end(args);
}

static int run_command(const char *line)
{
	char which[8];
	unsigned int a, b;

	if (sscanf(line, "pingpong %u %u", &a, &b) == 2)
		return raw_pingpong(a, b);
	if (sscanf(line, "rate %7s %u", which, &a) == 2)
		return conn_rate(!strcmp(which, "kdat"), a);
	if (sscanf(line, "hold %7s %u", which, &a) == 2)
		return hold(!strcmp(which, "kdat"), a);
	if (sscanf(line, "idle %u", &a) == 1)
		return hold_idle(a);
	if (sscanf(line, "cost %u", &a) == 1)
		return cost(a);
	if (!strncmp(line, "release", 7)) {
		hold_release();
		return 0;
	}
	return -EINVAL;
}

static ssize_t run_write(struct file *file, const char __user *data,
			 size_t count, loff_t *pos)
{
	char line[64] = "";
	int ret;

	if (copy_from_user(line, data, min(count, sizeof(line) - 1)))
		return -EFAULT;
	mutex_lock(&run_lock);
	text_len = 0;
	ret = run_command(line);
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

static int __init bench_init(void)
{
	int ret;

	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, addr_a, NULL,
				   &bench_addr_a);
	if (!ret)
		ret = inet_pton_with_scope(&init_net, AF_UNSPEC, addr_b, NULL,
					   &bench_addr_b);
	if (ret)
		return ret;
	debug_dir = debugfs_create_dir("kdapl-bench", NULL);
	debugfs_create_file("run", 0200, debug_dir, NULL, &run_fops);
	debugfs_create_file("result", 0444, debug_dir, NULL, &result_fops);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove_recursive(debug_dir);
	hold_release();
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("kdapl beside raw verbs");
MODULE_LICENSE("Dual BSD/GPL");
