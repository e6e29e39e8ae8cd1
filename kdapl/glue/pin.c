// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pages under a memory region (pin.h).  Pages of a process are pinned and
 * charged to it as the RDMA core does for its own users; pages of the kernel
 * are looked up, their owner keeps them (mt:M73).  Called by glue/mr.c.
 *
 * What was pinned is unpinned and uncharged by the last kdapl_pages_put(), in
 * whatever process that runs: the owner may have exited long ago.
 */
#include <linux/capability.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "pin.h"
#include "../compat.h"

/* Pages are handled in batches: as many pointers as fit into one page. */
#define BATCH	(PAGE_SIZE / sizeof(struct page *))

static unsigned long nr_pages(u64 start, u64 length)
{
	return ((start + length - 1) >> PAGE_SHIFT) - (start >> PAGE_SHIFT) + 1;
}

/**
 * kdapl_user_range - could the calling process have this memory at all?
 * @start: any number
 * @length: not 0
 *
 * Return: false for addresses that belong to the kernel, that wrap, or when
 * nobody's memory is there (a kernel thread).
 */
bool kdapl_user_range(u64 start, u64 length)
{
	return current->mm && start <= ULONG_MAX &&
	       length <= ULONG_MAX - start &&
	       access_ok((void __user *)(unsigned long)start, length);
}

static bool may_lock(u64 pages)
{
	return pages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       capable(CAP_IPC_LOCK);
}

/* For @writable memory: is @addr not there, or only to be read? */
static int why_not(unsigned long addr, long error, bool writable)
{
	struct page *page;

	if (error && error != -EFAULT)
		return error;
	if (!writable || pin_user_pages_fast(addr, 1, 0, &page) != 1)
		return -EFAULT;
	unpin_user_page(page);
	return -EACCES;
}

static struct kdapl_pages *pages_alloc(u64 start, u64 length, gfp_t gfp)
{
	struct kdapl_pages *pages = kzalloc(sizeof(*pages), gfp);

	if (!pages)
		return NULL;
	refcount_set(&pages->ref, 1);
	pages->start = start;
	pages->length = length;
	pages->writable = true;
	return pages;
}

static int append(struct kdapl_pages *pages, struct page **list,
		  unsigned int n, unsigned long left,
		  unsigned int max_segment, gfp_t gfp)
{
	return sg_alloc_append_table_from_pages(&pages->sg, list, n, 0,
						(unsigned long)n << PAGE_SHIFT,
						max_segment, left, gfp);
}

/*
 * Pages of a process
 */

static int charge(struct kdapl_pages *pages)
{
	unsigned long n = nr_pages(pages->start, pages->length);
	struct mm_struct *mm = current->mm;

	if (!may_lock(atomic64_add_return(n, &mm->pinned_vm))) {
		atomic64_sub(n, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	pages->mm = mm;
	return 0;
}

static void uncharge(struct kdapl_pages *pages)
{
	atomic64_sub(nr_pages(pages->start, pages->length),
		     &pages->mm->pinned_vm);
	mmdrop(pages->mm);
}

static long pin_batch(unsigned long addr, unsigned long n, bool writable,
		      struct page **list)
{
	long ret;

	if (writable)
		return pin_user_pages_fast(addr, n, FOLL_WRITE | FOLL_LONGTERM,
					   list);
	ret = pin_user_pages_fast(addr, n, KDAPL_FOLL_READ | FOLL_LONGTERM,
				  list);
	/* A shared mapping has no private copy to make: a plain pin will do. */
	if (ret == -EFAULT && KDAPL_FOLL_READ)
		ret = pin_user_pages_fast(addr, n, FOLL_LONGTERM, list);
	return ret;
}

/*
 * Before 6.3 a pin for long does not wait for the process's own pager
 * (userfaultfd), it fails; a short one waits, and brings the page.
 */
static long pin_waiting(unsigned long addr, unsigned long n, bool writable,
			struct page **list)
{
	long ret = pin_batch(addr, n, writable, list);

	if (ret != -EFAULT ||
	    pin_user_pages_fast(addr, 1, writable ? FOLL_WRITE : 0, list) != 1)
		return ret;
	unpin_user_page(*list);
	return pin_batch(addr, n, writable, list);
}

static int pin_all(struct kdapl_pages *pages, unsigned int max_segment)
{
	unsigned long left = nr_pages(pages->start, pages->length);
	unsigned long addr = pages->start & PAGE_MASK;
	struct page **list;
	int ret = 0;
	long n;

	list = (struct page **)__get_free_page(GFP_KERNEL_ACCOUNT);
	if (!list)
		return -ENOMEM;
	while (left && !ret) {
		cond_resched();
		n = pin_waiting(addr, min(left, BATCH), pages->writable, list);
		if (n <= 0) {
			ret = why_not(addr, n, pages->writable);
			break;
		}
		addr += n * PAGE_SIZE;
		left -= n;
		ret = append(pages, list, n, left, max_segment,
			     GFP_KERNEL_ACCOUNT);
		if (ret)
			unpin_user_pages(list, n);
	}
	free_page((unsigned long)list);
	return ret;
}

static void unpin_all(struct kdapl_pages *pages, bool dirty)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&pages->sg.sgt, sg, i)
		unpin_user_page_range_dirty_lock(sg_page(sg),
						 DIV_ROUND_UP(sg->offset +
							      sg->length,
							      PAGE_SIZE),
						 dirty);
}

/**
 * kdapl_pages_pin - pin memory of the calling process
 * @max_segment: bytes, the longest piece that the device takes
 * @start: an address of the process
 * @length: bytes, not 0
 * @writable: whether the device may write it
 *
 * Charged to the process's pinned_vm against RLIMIT_MEMLOCK.  Sleeps; no locks.
 *
 * Return: the pages, given back by kdapl_pages_put(); -EFAULT: not mapped, or not
 * to be read; -EACCES: mapped, but not to be written (mt:M13); -ENOMEM: beyond
 * the limit, or no memory; -E2BIG.
 */
struct kdapl_pages *kdapl_pages_pin(unsigned int max_segment, u64 start,
				    u64 length, bool writable)
{
	struct kdapl_pages *pages;
	int ret;

	if (!kdapl_user_range(start, length))
		return ERR_PTR(-EFAULT);
	/* The scatter list counts in unsigned int. */
	if (nr_pages(start, length) > UINT_MAX)
		return ERR_PTR(-E2BIG);
	if (!can_do_mlock())
		return ERR_PTR(-ENOMEM);
	pages = pages_alloc(start, length, GFP_KERNEL_ACCOUNT);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	pages->writable = writable;

	ret = charge(pages);
	if (ret)
		goto free;
	ret = pin_all(pages, max_segment);
	if (ret)
		goto unpin;
	return pages;

unpin:
	unpin_all(pages, false);
	sg_free_append_table(&pages->sg);
	uncharge(pages);
free:
	kfree(pages);
	return ERR_PTR(ret);
}

/*
 * Pages of the kernel
 */

static bool is_ram(u64 start, u64 length)
{
	return region_intersects(start, length, IORESOURCE_SYSTEM_RAM,
				 IORES_DESC_NONE) == REGION_INTERSECTS;
}

/* The vmalloc area, which holds kernel stacks too, and static data of modules. */
static bool is_vmapped(unsigned long addr)
{
#ifdef MODULES_VADDR
	if (addr >= MODULES_VADDR && addr < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr((void *)addr);
}

static struct page *virtual_page(u64 addr)
{
	struct page *page;

	if (addr > ULONG_MAX)
		return NULL;
	if (is_vmapped(addr)) {
		page = vmalloc_to_page((void *)(unsigned long)addr);
		/* Mapped registers of a device are no memory. */
		return page && pfn_valid(page_to_pfn(page)) &&
		       is_ram(page_to_phys(page), PAGE_SIZE) ? page : NULL;
	}
	return virt_addr_valid((void *)(unsigned long)addr) ?
	       virt_to_page((void *)(unsigned long)addr) : NULL;
}

static struct page *physical_page(u64 addr)
{
	return pfn_valid(PHYS_PFN(addr)) ? pfn_to_page(PHYS_PFN(addr)) : NULL;
}

static int find_all(struct kdapl_pages *pages, unsigned int max_segment,
		    bool physical)
{
	unsigned long left = nr_pages(pages->start, pages->length);
	u64 addr = pages->start & PAGE_MASK;
	struct page **list;
	unsigned int n, i;
	int ret = 0;

	if (left > UINT_MAX)
		return -E2BIG;
	list = (struct page **)__get_free_page(GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	while (left && !ret) {
		cond_resched();
		n = min(left, BATCH);
		for (i = 0; i < n && !ret; i++, addr += PAGE_SIZE) {
			list[i] = physical ? physical_page(addr) :
					     virtual_page(addr);
			if (!list[i])
				ret = -EFAULT;
		}
		left -= n;
		if (!ret)
			ret = append(pages, list, n, left, max_segment,
				     GFP_KERNEL);
	}
	free_page((unsigned long)list);
	return ret;
}

/**
 * kdapl_pages_kernel - look up memory of the kernel
 * @max_segment: bytes, the longest piece that the device takes
 * @start: a kernel virtual address (linear map, vmalloc, module data), or
 * @length: bytes, not 0
 * @physical: @start is a physical address
 *
 * The pages are not pinned: whoever owns them keeps them (mt:M73).  Only RAM is
 * accepted (mt:M74).  Sleeps; no locks.
 *
 * Return: the pages, given back by kdapl_pages_put(); -EFAULT: not all of it is
 * mapped, or RAM; -ENOMEM; -E2BIG.
 */
struct kdapl_pages *kdapl_pages_kernel(unsigned int max_segment, u64 start,
				       u64 length, bool physical)
{
	struct kdapl_pages *pages;
	int ret;

	if (physical && !is_ram(start, length))
		return ERR_PTR(-EFAULT);
	pages = pages_alloc(start, length, GFP_KERNEL);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	ret = find_all(pages, max_segment, physical);
	if (!ret)
		return pages;

	sg_free_append_table(&pages->sg);
	kfree(pages);
	return ERR_PTR(ret);
}

/*
 * All pages, once they are there
 */

/* Entries of the mapped list from one mark to the next. */
#define MARK_INTERVAL	64

/* So that a slice of a long list is found without walking through it. */
static int mark(struct kdapl_pages *pages)
{
	unsigned int i, n = pages->sg.sgt.nents / MARK_INTERVAL;
	struct scatterlist *sg;
	u64 offset = 0;

	if (!n)
		return 0;
	pages->marks = kvmalloc_array(n, sizeof(*pages->marks),
				      pages->mm ? GFP_KERNEL_ACCOUNT :
						  GFP_KERNEL);
	if (!pages->marks)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&pages->sg.sgt, sg, i) {
		if (i && !(i % MARK_INTERVAL))
			pages->marks[pages->nr_marks++] =
				(struct kdapl_mark){ sg, offset };
		offset += sg_dma_len(sg);
	}
	return 0;
}

/* Cuts the list, made of whole pages, down to the bytes asked for (mt:M16). */
static void trim(struct kdapl_pages *pages)
{
	unsigned int head = pages->start & ~PAGE_MASK;
	unsigned int tail = -(pages->start + pages->length) & ~PAGE_MASK;
	struct scatterlist *first = pages->sg.sgt.sgl;

	first->offset += head;
	first->length -= head;
	pages->sg.prv->length -= tail;
}

/**
 * kdapl_pages_map - map pages for DMA
 * @pages: pinned or looked up; those that are mapped already stay as they are
 * @ib: the one device that they are for
 *
 * Undone by the last kdapl_pages_put().  Caller is in the IA's section, and the
 * only one unless they are mapped.  May sleep.
 *
 * Return: 0, or an errno.
 */
int kdapl_pages_map(struct kdapl_pages *pages, struct ib_device *ib)
{
	int ret;

	if (pages->ib)
		return 0;
	trim(pages);
	/* Regions that share the pages may have any rights. */
	ret = ib_dma_map_sgtable_attrs(ib, &pages->sg.sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		return ret;
	pages->ib = ib;
	return mark(pages);
}

/* The last entry that has a mark and does not begin behind @offset. */
static struct kdapl_mark find_mark(const struct kdapl_pages *pages, u64 offset)
{
	unsigned int low = 0, high = pages->nr_marks, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (pages->marks[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? pages->marks[low - 1] :
		     (struct kdapl_mark){ pages->sg.sgt.sgl, 0 };
}

/**
 * kdapl_pages_slice - the part of a mapped list that holds some bytes
 * @pages: mapped
 * @start: the consumer's address of the first byte, inside
 * @length: bytes, inside, not 0
 * @to: gets DMA addresses and lengths, nothing else
 * @max: entries in @to
 *
 * Any context.
 *
 * Return: entries filled; -E2BIG when @max are not enough.
 */
int kdapl_pages_slice(const struct kdapl_pages *pages, u64 start, u64 length,
		      struct scatterlist *to, unsigned int max)
{
	u64 offset = start - pages->start, n;
	struct kdapl_mark at = find_mark(pages, offset);
	struct scatterlist *sg = at.sg;
	unsigned int i;

	for (offset -= at.offset; offset >= sg_dma_len(sg); sg = sg_next(sg))
		offset -= sg_dma_len(sg);
	for (i = 0; length && i < max; i++, sg = sg_next(sg), offset = 0) {
		n = min_t(u64, length, sg_dma_len(sg) - offset);
		sg_dma_address(&to[i]) = sg_dma_address(sg) + offset;
		sg_dma_len(&to[i]) = n;
		length -= n;
	}
	return length ? -E2BIG : i;
}

/**
 * kdapl_pages_put - a region over the pages is gone
 * @pages: no memory region names them through this reference any more
 *
 * The last one unmaps, unpins, uncharges and frees, exactly once (mt:M25).  Any
 * process; may sleep.
 */
void kdapl_pages_put(struct kdapl_pages *pages)
{
	if (!refcount_dec_and_test(&pages->ref))
		return;
	if (pages->ib)
		ib_dma_unmap_sgtable_attrs(pages->ib, &pages->sg.sgt,
					   DMA_BIDIRECTIONAL, 0);
	if (pages->mm) {
		unpin_all(pages, pages->ib && pages->writable);
		uncharge(pages);
	}
	kvfree(pages->marks);
	sg_free_append_table(&pages->sg);
	kfree(pages);
}
