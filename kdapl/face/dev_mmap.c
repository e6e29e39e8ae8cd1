// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of an event ring, and how a process maps it.  dev_ring.h describes
 * what is in it.
 *
 * Called by dev_ring.c (memory), and by mmap(2) of /dev/kdapl, also for the board.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "dev_ring.h"
#include "../compat.h"

/* No EVD can be longer, because no device has a larger completion queue. */
#define RING_MAX_ENTRIES	4194304
/*
 * The mmap offset of a piece of memory, counted in pages, is id << 1, plus 1 for the index.  It
 * has to fit into the mmap offset of a 32-bit process.
 */
#define RING_MAX_ID		0x3fffffff

/* ---- memory ------------------------------------------------------------ */

/**
 * kdapl_ring_buf_free - free the memory of a ring
 * @buf: neither mapped nor in a file's table
 *
 * May sleep.
 */
void kdapl_ring_buf_free(struct kdapl_ring_buf *buf)
{
	kvfree(buf->before);
	free_page((unsigned long)buf->index);
	vfree(buf->header);
	kfree(buf);
}

/**
 * kdapl_ring_buf_alloc - allocate memory for a ring
 * @ring: the ring that it is for
 * @entries: how many events it has to hold at least
 *
 * May sleep.
 *
 * Return: the ring memory, empty and without an mmap offset; NULL if there is no memory,
 * or if @entries is too large.
 */
struct kdapl_ring_buf *kdapl_ring_buf_alloc(struct kdapl_ring *ring,
					    u32 entries)
{
	struct kdapl_ring_buf *buf;

	if (entries > RING_MAX_ENTRIES)
		return NULL;
	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return NULL;
	buf->ring = ring;
	/* At least half a page of events: whole pages are mapped anyhow. */
	entries = max_t(u32, entries, PAGE_SIZE / sizeof(*buf->events) / 2);
	buf->nr = roundup_pow_of_two(entries);
	buf->data_size = PAGE_ALIGN(sizeof(*buf->header) +
				    buf->nr * sizeof(*buf->events));
	buf->header = __vmalloc(buf->data_size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	buf->index = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	buf->before = kvcalloc(buf->nr, sizeof(*buf->before), GFP_KERNEL_ACCOUNT);
	if (!buf->header || !buf->index || !buf->before) {
		kdapl_ring_buf_free(buf);
		return NULL;
	}
	buf->header->nr_entries = buf->nr;
	buf->events = (void *)(buf->header + 1);
	return buf;
}

/**
 * kdapl_ring_buf_reserve - choose the mmap offset of a ring's memory
 * @file: of the process
 * @buf: gets an @id
 *
 * The process cannot map it before kdapl_ring_buf_publish().  May sleep.
 *
 * Return: 0; -ENOMEM; -EBUSY when all ids are taken.
 */
int kdapl_ring_buf_reserve(struct kdapl_file *file, struct kdapl_ring_buf *buf)
{
	return xa_alloc(&file->maps, &buf->id, NULL,
			XA_LIMIT(1, RING_MAX_ID), GFP_KERNEL_ACCOUNT);
}

/**
 * kdapl_ring_buf_publish - let a process map a ring's memory
 * @file: of the process
 * @buf: reserved; is freed with its ring
 *
 * Cannot fail, because kdapl_ring_buf_reserve() has allocated the entry.  May
 * sleep.
 */
void kdapl_ring_buf_publish(struct kdapl_file *file,
			    struct kdapl_ring_buf *buf)
{
	xa_store(&file->maps, buf->id, buf, GFP_KERNEL_ACCOUNT);
}

/**
 * kdapl_ring_buf_unpublish - keep a process from mapping a ring's memory
 * @file: of the process
 * @buf: reserved or published; existing mappings stay
 *
 * Process context.
 */
void kdapl_ring_buf_unpublish(struct kdapl_file *file,
			      const struct kdapl_ring_buf *buf)
{
	xa_erase(&file->maps, buf->id);
}

/* ---- mmap(2) ----------------------------------------------------------- */

static void map_open(struct vm_area_struct *vma)
{
	struct kdapl_ring_buf *buf = vma->vm_private_data;

	kref_get(&buf->ring->ref);
}

static void map_close(struct vm_area_struct *vma)
{
	struct kdapl_ring_buf *buf = vma->vm_private_data;

	kdapl_ring_put(buf->ring);
}

static vm_fault_t map_data_fault(struct vm_fault *vmf)
{
	struct kdapl_ring_buf *buf = vmf->vma->vm_private_data;
	unsigned long offset = (vmf->pgoff - (buf->id << 1)) << PAGE_SHIFT;

	if (offset >= buf->data_size)
		return VM_FAULT_SIGBUS;
	vmf->page = vmalloc_to_page((void *)buf->header + offset);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_data_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_data_fault,
};

static vm_fault_t map_index_fault(struct vm_fault *vmf)
{
	struct kdapl_ring_buf *buf = vmf->vma->vm_private_data;

	if (vmf->pgoff != (buf->id << 1 | 1))
		return VM_FAULT_SIGBUS;
	vmf->page = virt_to_page(buf->index);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_index_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_index_fault,
};

/* Finds memory by its id, and takes a reference to its ring; or returns NULL. */
static struct kdapl_ring_buf *map_find(struct kdapl_file *file, unsigned long id)
{
	struct kdapl_ring_buf *buf;

	xa_lock(&file->maps);
	buf = xa_load(&file->maps, id);
	if (buf && !kref_get_unless_zero(&buf->ring->ref))
		buf = NULL;
	xa_unlock(&file->maps);
	return buf;
}

static int map_data(struct vm_area_struct *vma, struct kdapl_ring_buf *buf)
{
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (vma->vm_end - vma->vm_start != buf->data_size)
		return -EINVAL;
	kdapl_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND,
			   VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &map_data_ops;
	return 0;
}

static int map_index(struct vm_area_struct *vma, struct kdapl_ring_buf *buf)
{
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	kdapl_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, VM_MAYEXEC);
	vma->vm_ops = &map_index_ops;
	return 0;
}

/**
 * kdapl_dev_mmap - mmap(2) of /dev/kdapl
 * @filp: the file
 * @vma: the area; its offset comes from struct kdapl_uapi_ring or
 *	 struct kdapl_uapi_ia_passthrough
 *
 * The mapping of a ring holds a reference of it, so the memory stays even when the
 * EVD is freed.  The board stays as long as the file.
 *
 * Return: 0; -EINVAL for an offset that is not in use, a size that is not that of the
 * whole piece, or a private mapping; -EPERM for a writable mapping of the data or the
 * board, and for any executable mapping.
 */
int kdapl_dev_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct kdapl_ring_buf *buf;
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* The ids of rings begin with 1: here is the board. */
	if (!(vma->vm_pgoff >> 1))
		return kdapl_board_mmap(filp->private_data, vma);
	buf = map_find(filp->private_data, vma->vm_pgoff >> 1);
	if (!buf)
		return -EINVAL;
	ret = vma->vm_pgoff & 1 ? map_index(vma, buf) : map_data(vma, buf);
	if (ret)
		kdapl_ring_put(buf->ring);
	else
		vma->vm_private_data = buf;
	return ret;
}
