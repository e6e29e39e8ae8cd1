// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdat-pingpong: parameters, adapters, and the files under
 * /sys/kernel/debug/kdat-pingpong:
 *
 *	run	a write, of anything, has the client play all games that the
 *		parameters ask for.  The write returns when they are over, with
 *		the error of the first that failed
 *	result	a line for each game of the last run
 *	status	how many connections the server has and had
 *
 * The parameters of games may be changed between runs, under
 * /sys/module/kdat_pingpong/parameters.
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "pp.h"

#define PP_MAX_SIZES	32
#define PP_LINE		256
#define PP_DEPTH	2
#define PP_ASYNC_QLEN	16

static char *role = "both";
module_param(role, charp, 0444);
MODULE_PARM_DESC(role, "server, client or both");

static char *ia = "rxe0-1";
module_param(ia, charp, 0444);
MODULE_PARM_DESC(ia, "name of the adapter, DEVICE-PORT");

static char *server_ia;
module_param(server_ia, charp, 0444);
MODULE_PARM_DESC(server_ia, "adapter of the server if it is another one");

static char *peer = "127.0.0.1";
module_param(peer, charp, 0644);
MODULE_PARM_DESC(peer, "address of the server, for the client");

static ushort port = PP_PORT;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "connection qualifier");

static char *mode = "all";
module_param(mode, charp, 0644);
MODULE_PARM_DESC(mode, "send, write, read or all");

static uint sizes[PP_MAX_SIZES] = { 1, 64, 4096, 65536, PP_MAX_SIZE };
static uint nr_sizes = 5;
module_param_array(sizes, uint, &nr_sizes, 0644);
MODULE_PARM_DESC(sizes, "bytes that a turn moves each way, up to 1048576");

static uint iterations = 100;
module_param(iterations, uint, 0644);
MODULE_PARM_DESC(iterations, "turns of a game");

static bool verify = true;
module_param(verify, bool, 0644);
MODULE_PARM_DESC(verify, "check every byte");

static bool abrupt;
module_param(abrupt, bool, 0644);
MODULE_PARM_DESC(abrupt, "end games with an abrupt disconnect");

static uint limit = 120;
module_param(limit, uint, 0644);
MODULE_PARM_DESC(limit, "seconds after which a game has failed");

static struct pp_ia client_adapter, server_adapter;
static struct dentry *debug_dir;

/* Protects the results of the last run.  A run holds it, so there is one at a time. */
static DEFINE_MUTEX(lines_lock);
static char lines[PP_MODES * PP_MAX_SIZES][PP_LINE];
static unsigned int nr_lines;

/* ---- adapters ----------------------------------------------------------- */

static int adapter_open(struct pp_ia *adapter, char *name)
{
	DAT_IA_ATTR *attr;
	DAT_RETURN ret;

	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return -ENOMEM;
	adapter->async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open(name, PP_ASYNC_QLEN, &adapter->async_evd,
			  &adapter->ia);
	if (ret)
		goto no_ia;
	ret = dat_ia_query(adapter->ia, NULL,
			   DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, attr,
			   DAT_PROVIDER_FIELD_NONE, NULL);
	if (!ret)
		ret = dat_pz_create(adapter->ia, &adapter->pz);
	if (ret)
		goto no_pz;
	adapter->max_block = attr->max_lmr_block_size;
	kfree(attr);
	return 0;

no_pz:
	dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	adapter->ia = DAT_HANDLE_NULL;
no_ia:
	kfree(attr);
	pr_err("kdat-pingpong: cannot open %s: %#x\n", name, ret);
	return -ENODEV;
}

/* Closes an adapter.  All connections on it have ended, so a graceful close must succeed. */
static void adapter_close(struct pp_ia *adapter)
{
	if (!adapter->ia)
		return;
	dat_pz_free(adapter->pz);
	if (dat_ia_close(adapter->ia, DAT_CLOSE_GRACEFUL_FLAG)) {
		pr_err("kdat-pingpong: objects are left\n");
		dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	}
}

/* ---- runs --------------------------------------------------------------- */

static bool mode_wanted(enum pp_mode which)
{
	return sysfs_streq(mode, "all") ||
	       sysfs_streq(mode, pp_mode_name(which));
}

static int play_game(enum pp_mode which, u32 size, struct sockaddr *addr)
{
	const struct pp_game game = {
		.mode = which,
		.size = size,
		.iterations = iterations,
		.depth = PP_DEPTH,
		.verify = verify,
		.abrupt = abrupt,
	};

	if (size > PP_MAX_SIZE || !game.iterations)
		return -EINVAL;
	return pp_client_run(&client_adapter, &game, addr, port, limit * 1000,
			     lines[nr_lines++], PP_LINE);
}

/* A game that fails does not keep the next ones from being played. */
static int play_all_games(void)
{
	struct sockaddr_storage addr;
	int which, ret, first = 0;
	unsigned int i;

	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, peer, NULL, &addr);
	if (ret)
		return ret;
	nr_lines = 0;
	for (which = 0; which < PP_MODES; which++) {
		if (!mode_wanted(which))
			continue;
		for (i = 0; i < nr_sizes; i++) {
			ret = play_game(which, sizes[i],
					(struct sockaddr *)&addr);
			if (ret == -ERESTARTSYS)
				return -EINTR;
			first = first ?: ret;
		}
	}
	return first;
}

static ssize_t run_write(struct file *file, const char __user *text,
			 size_t count, loff_t *pos)
{
	int ret;

	if (!client_adapter.ia)
		return -EOPNOTSUPP;
	ret = mutex_lock_interruptible(&lines_lock);
	if (ret)
		return ret;
	ret = play_all_games();
	mutex_unlock(&lines_lock);
	return ret ?: count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int result_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	mutex_lock(&lines_lock);
	for (i = 0; i < nr_lines; i++)
		seq_puts(file, lines[i]);
	mutex_unlock(&lines_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int status_show(struct seq_file *file, void *unused)
{
	unsigned int active, served, failed;

	pp_server_status(&active, &served, &failed);
	seq_printf(file, "active=%u served=%u failed=%u\n", active, served,
		   failed);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/* ---- module ------------------------------------------------------------- */

static void files_create(void)
{
	debug_dir = debugfs_create_dir("kdat-pingpong", NULL);
	debugfs_create_file("run", 0200, debug_dir, NULL, &run_fops);
	debugfs_create_file("result", 0444, debug_dir, NULL, &result_fops);
	debugfs_create_file("status", 0444, debug_dir, NULL, &status_fops);
}

static int __init pingpong_init(void)
{
	bool both = !strcmp(role, "both");
	int err;

	if (!both && strcmp(role, "server") && strcmp(role, "client"))
		return -EINVAL;
	if (both || !strcmp(role, "server")) {
		err = adapter_open(&server_adapter, server_ia ?: ia);
		if (err)
			return err;
		err = pp_server_start(&server_adapter, port);
		if (err)
			goto no_server;
	}
	if (both || !strcmp(role, "client")) {
		err = adapter_open(&client_adapter, ia);
		if (err)
			goto no_client;
	}
	files_create();
	return 0;

no_client:
	pp_server_stop();
no_server:
	adapter_close(&server_adapter);
	return err;
}

static void __exit pingpong_exit(void)
{
	debugfs_remove_recursive(debug_dir);
	adapter_close(&client_adapter);
	pp_server_stop();
	adapter_close(&server_adapter);
}

module_init(pingpong_init);
module_exit(pingpong_exit);
MODULE_DESCRIPTION("Ping-pong over kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
