// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pages under a memory region (pin.h).  Pages of a process are pinned, and
 * charged to the process as the RDMA core charges its own users.  Pages of the
 * kernel are only looked up: their owner has to keep them (mt:M73).
 *
 * The last kdapl_pages_put() unpins and uncharges, in whatever process it runs:
 * the owner of the pages may have exited long ago.
 */
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "../compat.h"
#include "glue.h"
#include "pin.h"
#include "refused.h"

/* Pages are handled in batches: as many pointers as fit into one page. */
#define BATCH	(PAGE_SIZE / sizeof(struct page *))

static unsigned long nr_pages(u64 start, u64 length)
{
	return ((start + length - 1) >> PAGE_SHIFT) - (start >> PAGE_SHIFT) + 1;
}

/**
 * kdapl_user_range - could the calling process have this memory at all?
 * @start: any number
 * @length: bytes, not 0
 *
 * Process context.
 *
 * Return: false for addresses of the kernel, for a range that wraps, and in a
 * kernel thread, which has no memory of a process.
 */
bool kdapl_user_range(u64 start, u64 length)
{
	return current->mm && start <= ULONG_MAX &&
	       length <= ULONG_MAX - start &&
	       access_ok((void __user *)(unsigned long)start, length);
}

/*
 * Finds out why @addr could not be pinned, after pin_user_pages_fast() has returned @error.
 * That is -EFAULT both for memory that is not mapped and for memory that is only readable.
 * So if write access was asked for, the page is pinned for reading once more: if that
 * works, the answer is -EACCES.
 */
static int pin_error(unsigned long addr, long error, bool writable)
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

/* Adds the next @n pages to the list; @left more will follow. */
static int pages_append(struct kdapl_pages *pages, struct page **list,
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

/**
 * kdapl_pages_charge - charge the calling process for its pages
 * @pages: of that process, not charged yet
 *
 * The charge is given back by kdapl_pages_put(), or before that by
 * kdapl_uncharge_pages().
 *
 * Return: 0; -ENOMEM: more than the process may lock.
 */
int kdapl_pages_charge(struct kdapl_pages *pages)
{
	return kdapl_charge_pages(&pages->charge,
				  nr_pages(pages->start, pages->length));
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
	/*
	 * Where KDAPL_FOLL_READ is a forced write, it makes the process's private copy of
	 * a page.  A shared mapping has no private copies and refuses a forced write; there
	 * the page itself is the right one.
	 */
	if (ret == -EFAULT && KDAPL_FOLL_READ)
		ret = pin_user_pages_fast(addr, n, FOLL_LONGTERM, list);
	return ret;
}

/*
 * Pins pages, and waits for a page that the process's own pager (userfaultfd) has yet to
 * bring.  Before 6.3 a long-term pin fails then instead of waiting.  A short-term pin
 * waits, and after that the page is there for the long-term one.
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

static int pages_pin(struct kdapl_pages *pages, unsigned int max_segment)
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
			ret = pin_error(addr, n, pages->writable);
			break;
		}
		addr += n * PAGE_SIZE;
		left -= n;
		ret = pages_append(pages, list, n, left, max_segment,
				   GFP_KERNEL_ACCOUNT);
		if (ret)
			unpin_user_pages(list, n);
	}
	free_page((unsigned long)list);
	return ret;
}

static void pages_unpin(struct kdapl_pages *pages, bool dirty)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&pages->sg.sgt, sg, i) {
		/* There may be many millions of pages, with one entry each. */
		cond_resched();
		unpin_user_page_range_dirty_lock(sg_page(sg),
						 DIV_ROUND_UP(sg->offset +
							      sg->length,
							      PAGE_SIZE),
						 dirty);
	}
}

/**
 * kdapl_pages_pin - pin memory of the calling process
 * @max_segment: bytes of the longest piece that the device takes
 * @start: an address of the process
 * @length: bytes, not 0
 * @writable: whether the device may write it
 *
 * The pages are charged to the process's pinned_vm against RLIMIT_MEMLOCK.
 * Process context; may sleep for as long as the process's own pager likes, so
 * the caller holds no lock and is in no IA's section.
 *
 * Return: the pages, to be given back by kdapl_pages_put(); or an error
 * pointer: -EFAULT: not mapped, or not readable; -EACCES: mapped, but not
 * writable (mt:M13); -ENOMEM: no memory, or more than the process may lock;
 * -E2BIG: more pages than a list can count.
 */
struct kdapl_pages *kdapl_pages_pin(unsigned int max_segment, u64 start,
				    u64 length, bool writable)
{
	struct kdapl_pages *pages;
	int ret;

	if (!kdapl_user_range(start, length))
		return ERR_PTR(-EFAULT);
	/* The scatter list counts its entries in unsigned int. */
	if (nr_pages(start, length) > UINT_MAX)
		return ERR_PTR(-E2BIG);
	if (!can_do_mlock())
		return ERR_PTR(-ENOMEM);
	pages = pages_alloc(start, length, GFP_KERNEL_ACCOUNT);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	pages->user = true;
	pages->writable = writable;

	ret = kdapl_pages_charge(pages);
	if (ret)
		goto free;
	ret = pages_pin(pages, max_segment);
	if (ret)
		goto unpin;
	return pages;

unpin:
	pages_unpin(pages, false);
	sg_free_append_table(&pages->sg);
	kdapl_uncharge_pages(&pages->charge);
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

static struct page *virtual_page(u64 addr)
{
	struct page *page;

	if (addr > ULONG_MAX)
		return NULL;
	if (kdapl_is_vmapped((void *)(unsigned long)addr)) {
		page = vmalloc_to_page((void *)(unsigned long)addr);
		/* ioremap() maps registers of devices here, which are no RAM. */
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

static int pages_find(struct kdapl_pages *pages, unsigned int max_segment,
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
			ret = pages_append(pages, list, n, left, max_segment,
					   GFP_KERNEL);
	}
	free_page((unsigned long)list);
	return ret;
}

/**
 * kdapl_pages_kernel - look up memory of the kernel
 * @max_segment: bytes of the longest piece that the device takes
 * @start: a kernel virtual address (linear map, vmalloc, data of a module), or
 *	   with @physical a physical one
 * @length: bytes, not 0
 * @physical: @start is a physical address
 *
 * The pages are not pinned: their owner has to keep them (mt:M73).  Only RAM is
 * accepted (mt:M74).  May sleep.
 *
 * Return: the pages, to be given back by kdapl_pages_put(); or an error
 * pointer: -EFAULT: not all of it is mapped, or is RAM; -ENOMEM; -E2BIG: more
 * pages than a list can count.
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
	ret = pages_find(pages, max_segment, physical);
	if (!ret)
		return pages;

	sg_free_append_table(&pages->sg);
	kfree(pages);
	return ERR_PTR(ret);
}

/*
 * Pages of both kinds, once they are found
 */

/* Entries of the mapped list from one mark to the next. */
#define MARK_INTERVAL	64

/*
 * Notes the place of every MARK_INTERVAL-th entry of the mapped list, so that
 * kdapl_pages_slice() finds a byte in a long list quickly.
 */
static int pages_mark(struct kdapl_pages *pages)
{
	unsigned int i, n = pages->sg.sgt.nents / MARK_INTERVAL;
	struct scatterlist *sg;
	u64 offset = 0;

	if (!n)
		return 0;
	pages->marks = kvmalloc_array(n, sizeof(*pages->marks),
				      pages->user ? GFP_KERNEL_ACCOUNT :
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

/*
 * Cuts the list, which was made of whole pages, down to the bytes of the range: what lies
 * before and behind them must not be mapped for the device (mt:M16).
 */
static void pages_trim(struct kdapl_pages *pages)
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
 * @pages: pinned or looked up
 * @ib: the device of all regions over @pages
 *
 * Does nothing if they are mapped already.  Undone by the last
 * kdapl_pages_put().  Caller is in the IA's section; the first call for @pages
 * comes before a second region can share them.  May sleep.
 *
 * Return: 0; -ENOMEM; or the errno of the DMA mapping.
 */
int kdapl_pages_map(struct kdapl_pages *pages, struct ib_device *ib)
{
	int ret;

	if (pages->ib)
		return 0;
	pages_trim(pages);
	/* In both directions: a region that shares the pages later may have other rights. */
	ret = ib_dma_map_sgtable_attrs(ib, &pages->sg.sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		return kdapl_refused("dma_map", ret);
	pages->ib = ib;
	return pages_mark(pages);
}

/* The last mark at or before @offset; the head of the list when there is none. */
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
 * kdapl_sg_slice - the part of a mapped list that holds some bytes
 * @sg: first entry of the list
 * @offset: bytes of it in front of the first byte
 * @length: bytes, not 0; all of them inside the list
 * @to: out: DMA addresses and lengths, nothing else of an entry
 * @max: entries that @to has
 *
 * Any context.
 *
 * Return: how many entries were filled; -E2BIG when @max do not suffice.
 */
int kdapl_sg_slice(struct scatterlist *sg, u64 offset, u64 length,
		   struct scatterlist *to, unsigned int max)
{
	unsigned int i;
	u64 n;

	sg = kdapl_sg_seek(sg, &offset);
	for (i = 0; length && i < max; i++, sg = sg_next(sg), offset = 0) {
		n = min_t(u64, length, sg_dma_len(sg) - offset);
		sg_dma_address(&to[i]) = sg_dma_address(sg) + offset;
		sg_dma_len(&to[i]) = n;
		length -= n;
	}
	return length ? -E2BIG : i;
}

/**
 * kdapl_pages_slice - kdapl_sg_slice() for pages, also fast for long lists
 * @pages: mapped
 * @start: the consumer's address of the first byte, inside @pages
 * @length: bytes, not 0; the last one is inside @pages, too
 * @to: out: DMA addresses and lengths, nothing else of an entry
 * @max: entries that @to has
 *
 * Any context.
 *
 * Return: how many entries were filled; -E2BIG when @max do not suffice.
 */
int kdapl_pages_slice(const struct kdapl_pages *pages, u64 start, u64 length,
		      struct scatterlist *to, unsigned int max)
{
	u64 offset = start - pages->start;
	struct kdapl_mark at = find_mark(pages, offset);

	return kdapl_sg_slice(at.sg, offset - at.offset, length, to, max);
}

/**
 * kdapl_pages_same - are two ranges of bytes in the same pages?
 * @one: pinned or looked up; mapped or not
 * @other: the same
 *
 * May sleep.
 */
bool kdapl_pages_same(struct kdapl_pages *one, struct kdapl_pages *other)
{
	struct sg_page_iter a, b;

	__sg_page_iter_start(&a, one->sg.sgt.sgl, one->sg.sgt.orig_nents, 0);
	__sg_page_iter_start(&b, other->sg.sgt.sgl, other->sg.sgt.orig_nents, 0);
	while (__sg_page_iter_next(&a)) {
		cond_resched();
		if (!__sg_page_iter_next(&b) || sg_page_iter_page(&a) != sg_page_iter_page(&b))
			return false;
	}
	return !__sg_page_iter_next(&b);
}

/**
 * kdapl_pages_put - drop a reference to pages
 * @pages: not to be used by this caller afterwards
 *
 * The last call unmaps, unpins, uncharges and frees, exactly once (mt:M25).
 * Any process; may sleep.
 */
void kdapl_pages_put(struct kdapl_pages *pages)
{
	if (!refcount_dec_and_test(&pages->ref))
		return;
	if (pages->ib)
		ib_dma_unmap_sgtable_attrs(pages->ib, &pages->sg.sgt,
					   DMA_BIDIRECTIONAL, 0);
	if (pages->user)
		pages_unpin(pages, pages->ib && pages->writable);
	kdapl_uncharge_pages(&pages->charge);
	kvfree(pages->marks);
	sg_free_append_table(&pages->sg);
	kfree(pages);
}
