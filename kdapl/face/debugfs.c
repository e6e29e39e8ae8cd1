// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /sys/kernel/debug/kdapl/objects: every live DAT object, a line each, with its
 * counts and its state (A13).  Called by main.c.  The one file of the faces
 * that looks into the core's structures, and only to read them.
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
#include "../core/ia.h"

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

/*
 * No lock is taken, so the numbers of a line are not of the same moment: one
 * may have changed before the next one was read.
 */
static void show_details(struct seq_file *seq, struct kdapl_object *obj)
{
	struct kdapl_evd *evd;
	struct kdapl_ep *ep;

	switch (obj->type) {
	case KDAPL_IA:
		if (kdapl_ia_is_passthrough(obj->ia))
			seq_puts(seq, " passthrough");
		break;
	case KDAPL_EP:
		ep = kdapl_ep_of(obj);
		seq_printf(seq, " state %s", kdapl_ep_state_name(READ_ONCE(ep->state)));
		/* What the process has posted by itself only it knows. */
		if (kdapl_ia_is_passthrough(obj->ia)) {
			seq_printf(seq, " life %u", READ_ONCE(ep->bind_life));
			break;
		}
		seq_printf(seq, " req %u/%u recv %u/%u",
			   READ_ONCE(ep->req.posted) - READ_ONCE(ep->req.completed),
			   ep->req.size,
			   READ_ONCE(ep->recv.posted) - READ_ONCE(ep->recv.completed),
			   ep->recv.size);
		break;
	case KDAPL_EVD:
		evd = kdapl_evd_of(obj);
		seq_printf(seq, " queued %u/%d dropped %llu",
			   READ_ONCE(evd->nr_fifo), kdapl_evd_qlen(evd),
			   READ_ONCE(evd->dropped));
		break;
	default:
		break;
	}
}

static void show_object(struct seq_file *seq, struct kdapl_object *obj)
{
	/* An object that is being freed has a count of users far below zero. */
	seq_printf(seq, " token %016llx refs %u users %d", obj->token,
		   refcount_read(&obj->ref), max(atomic_read(&obj->users), 0));
	show_details(seq, obj);
	seq_putc(seq, '\n');
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
 * An IA leaves the list before the reference of its handle is dropped, so the
 * list's lock keeps it.
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

	seq_puts(seq, "space kernel");
	show_space(seq, &kdapl_kernel_space);
	mutex_lock(&kdapl_dev_files_lock);
	list_for_each_entry(file, &kdapl_dev_files, entry) {
		seq_printf(seq, "space pid %d", file->pid);
		show_space(seq, &file->space);
	}
	mutex_unlock(&kdapl_dev_files_lock);
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
