// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /sys/kernel/debug/kdapl/objects: every live DAT object, one line each, with its
 * counts and its state (A13).  Called by main.c.  For those who work on kdapl, and
 * for tests.  The format may change; the netlink family (netlink.c) is stable, and shows
 * more.
 *
 *	space kernel | pid N: objects O
 *	  ia <device> token T refs R users U
 *	    ep token T refs R users U state CONNECTED req 3/16 recv 2/16
 *	  ia <device> token T refs R users U passthrough
 *	    ep token T refs R users U state CONNECTED life 2
 *	    evd token T refs R users U queued 0/64 dropped 0
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "dev.h"
#include "../core/ep.h"
#include "../core/look.h"

static struct dentry *debugfs_dir;

static const char *const type_names[KDAPL_NR_TYPES] = {
	[KDAPL_IA]  = "ia",
	[KDAPL_PZ]  = "pz",
	[KDAPL_LMR] = "lmr",
	[KDAPL_RMR] = "rmr",
	[KDAPL_EVD] = "evd",
	[KDAPL_EP]  = "ep",
	[KDAPL_PSP] = "psp",
	[KDAPL_RSP] = "rsp",
	[KDAPL_CR]  = "cr",
	[KDAPL_SRQ] = "srq",
};

static void show_details(struct seq_file *seq, const struct kdapl_look *look)
{
	const struct kdapl_ia *ia = look->obj->ia;

	switch (look->obj->type) {
	case KDAPL_IA:
		if (kdapl_ia_is_passthrough(ia))
			seq_puts(seq, " passthrough");
		break;
	case KDAPL_EP:
		seq_printf(seq, " state %s", kdapl_ep_state_name(look->ep.state));
		/* In passthrough only the process knows what it has posted. */
		if (kdapl_ia_is_passthrough(ia))
			seq_printf(seq, " life %u", look->ep.life);
		else
			seq_printf(seq, " req %u/%u recv %u/%u",
				   look->ep.requests, look->ep.max_requests,
				   look->ep.recvs, look->ep.max_recvs);
		break;
	case KDAPL_SRQ:
		seq_printf(seq, " recv %u/%u%s", look->srq.recvs, look->srq.max_recvs,
			   look->srq.broken ? " error" : "");
		break;
	case KDAPL_EVD:
		seq_printf(seq, " queued %u/%u dropped %llu", look->event.queued,
			   look->event.qlen, look->event.dropped);
		break;
	default:
		break;
	}
}

static void show_object(struct seq_file *seq, struct kdapl_object *obj)
{
	struct kdapl_look look;

	/* The object stays as long as it is on its list, and the caller holds the list's lock. */
	kdapl_object_get(obj);
	kdapl_look_at(&look, obj);
	seq_printf(seq, " token %016llx refs %u users %u", obj->token, look.refs,
		   look.users);
	show_details(seq, &look);
	seq_putc(seq, '\n');
	kdapl_object_put(obj);
}

static void show_ia(struct seq_file *seq, struct kdapl_ia *ia)
{
	struct kdapl_object *obj;
	int type;

	seq_printf(seq, "  ia %s", ia->dev ? ia->dev->name : "-");
	show_object(seq, &ia->obj);
	mutex_lock(&ia->lock);
	for (type = 0; type < KDAPL_NR_TYPES; type++) {
		list_for_each_entry(obj, &ia->objects[type], on_ia) {
			seq_printf(seq, "    %s", type_names[obj->type]);
			show_object(seq, obj);
		}
	}
	mutex_unlock(&ia->lock);
}

/*
 * Holding the list's lock keeps every IA on it: an IA leaves the list before the reference of
 * its handle is dropped.
 */
static void show_space(struct seq_file *seq, struct kdapl_space *space)
{
	struct kdapl_object *obj;

	seq_printf(seq, ": objects %u\n", READ_ONCE(space->nr_objects));
	mutex_lock(&space->ia_lock);
	list_for_each_entry(obj, &space->ias, on_ia)
		show_ia(seq, container_of(obj, struct kdapl_ia, obj));
	mutex_unlock(&space->ia_lock);
}

static int objects_show(struct seq_file *seq, void *unused)
{
	struct kdapl_file *file;
	u64 id;

	seq_puts(seq, "space kernel");
	show_space(seq, &kdapl_kernel_space);
	for (id = 0; (file = kdapl_dev_file_next(id, U64_MAX, NULL, NULL)); id++) {
		id = file->id;
		seq_printf(seq, "space pid %d", pid_nr(file->pid));
		show_space(seq, &file->space);
		kdapl_dev_file_put(file);
		cond_resched();
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

/**
 * kdapl_debugfs_init - make the files appear
 *
 * May sleep.
 *
 * Return: 0, also when debugfs is not there: the module works without the
 * files.
 */
int kdapl_debugfs_init(void)
{
	debugfs_dir = debugfs_create_dir("kdapl", NULL);
	debugfs_create_file("objects", 0400, debugfs_dir, NULL, &objects_fops);
	return 0;
}

/**
 * kdapl_debugfs_exit - take the files away
 *
 * On return nobody reads them any more.  May sleep.
 */
void kdapl_debugfs_exit(void)
{
	debugfs_remove_recursive(debugfs_dir);
}
