// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: passthrough, where the process makes its queue pairs through uverbs: the calls
 * for it, and the board, which shows the endpoints to the process.
 *
 * A file has one board, for all its endpoints and IAs.  The slot of such an object on the board has
 * the index of the slot in its handle, so two never share one.  A page of the board is
 * allocated when a slot in it is first asked for.  Pages stay until the file is released,
 * which does not happen while the board is mapped.  A process that has something to wait for on
 * its board need not look again and again: an eventfd of its own is told of each change.
 *
 * Called through dev.c's table, and by mmap(2) and the release of the file.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "dev.h"
#include "../compat.h"
#include "../glue/glue.h"

/* The mmap offset of the board; the ids of rings begin with 1 (dev_mmap.c). */
#define BOARD_OFFSET	0

#define SLOTS_PER_PAGE	(PAGE_SIZE / sizeof(struct kdapl_uapi_board_ep))

/**
 * struct kdapl_board - what the process maps
 * @nr_pages: pages for all handles that the file can have
 * @pages: the pages; NULL for those that were not needed so far
 */
struct kdapl_board {
	u32 nr_pages;
	struct page *pages[];
};

/* ---- memory ---------------------------------------------------------------- */

/* The board of @file, which is made by the first call; NULL without memory. */
static struct kdapl_board *board_get(struct kdapl_file *file)
{
	struct kdapl_board *board = READ_ONCE(file->board), *old;
	u32 pages = DIV_ROUND_UP(round_up(file->space.max_objects + 1, KDAPL_CHUNK_SLOTS),
				 SLOTS_PER_PAGE);

	if (board)
		return board;
	board = kvzalloc(struct_size(board, pages, pages), GFP_KERNEL_ACCOUNT);
	if (!board)
		return NULL;
	board->nr_pages = pages;
	old = cmpxchg(&file->board, NULL, board);
	if (!old)
		return board;
	kvfree(board);
	return old;
}

/*
 * A slot of @board, with memory; or NULL.  Slots beyond the board exist only if the process has
 * worn out handles: a slot of the handle table can be used a limited number of times, and is
 * replaced by a further slot then.
 */
static struct kdapl_uapi_board_ep *board_slot(struct kdapl_board *board, u32 slot)
{
	struct kdapl_uapi_board_ep *slots;
	struct page **place, *page;

	if (slot / SLOTS_PER_PAGE >= board->nr_pages)
		return NULL;
	place = &board->pages[slot / SLOTS_PER_PAGE];
	if (!READ_ONCE(*place)) {
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page)
			return NULL;
		if (cmpxchg(place, NULL, page))
			__free_page(page);
	}
	slots = page_address(READ_ONCE(*place));
	return &slots[slot % SLOTS_PER_PAGE];
}

/**
 * kdapl_board_free - free the board of a file that is being released
 * @file: its IAs are closed
 */
void kdapl_board_free(struct kdapl_file *file)
{
	struct kdapl_board *board = file->board;
	u32 i;

	if (file->board_event)
		eventfd_ctx_put(file->board_event);
	if (!board)
		return;
	for (i = 0; i < board->nr_pages; i++)
		if (board->pages[i])
			__free_page(board->pages[i]);
	kvfree(board);
}

/* ---- mmap(2) --------------------------------------------------------------- */

static vm_fault_t board_fault(struct vm_fault *vmf)
{
	struct kdapl_board *board = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= board->nr_pages)
		return VM_FAULT_SIGBUS;
	page = READ_ONCE(board->pages[vmf->pgoff]);
	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct board_vm_ops = {
	.fault = board_fault,
};

/**
 * kdapl_board_mmap - map the board of a file
 * @file: the file
 * @vma: a shared area at BOARD_OFFSET
 *
 * Return: 0; -EINVAL if there is no board, or for what is not the board or its beginning; -EPERM
 * for an area that is writable or executable.
 */
int kdapl_board_mmap(struct kdapl_file *file, struct vm_area_struct *vma)
{
	struct kdapl_board *board = READ_ONCE(file->board);

	if (!board || vma->vm_pgoff != BOARD_OFFSET >> PAGE_SHIFT)
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (vma_pages(vma) > board->nr_pages)
		return -EINVAL;
	kdapl_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &board_vm_ops;
	vma->vm_private_data = board;
	return 0;
}

/* ---- the calls ------------------------------------------------------------- */

static bool slot_is(const struct kdapl_uapi_board_ep *slot, const struct kdapl_ep_view *view)
{
	return slot->life == view->life && slot->state == view->state &&
	       slot->flags == view->flags && slot->refuse_request == view->refuse_request &&
	       slot->refuse_recv == view->refuse_recv;
}

/**
 * kdapl_board_show - show a process its endpoint or its IA: the board's kdapl_show_fn
 * @space: of the file of the board
 * @place: a slot of a board
 * @view: what to show
 *
 * When the life changes, it is set to 0 before the other fields are written.  The process
 * reads the life before and after the other fields: if it is the same and not 0, all it has
 * read belongs to that life.  But of two changes within one life it may have read some fields
 * of either.  The state is written after the other fields, so that a process which waits for a
 * state finds the flags that belong to it.  There is one writer at a time: it holds the
 * object's lock.  Any context.
 */
void kdapl_board_show(struct kdapl_space *space, void *place,
		      const struct kdapl_ep_view *view)
{
	struct kdapl_file *file = container_of(space, struct kdapl_file, space);
	struct kdapl_uapi_board_ep *slot = place;
	struct eventfd_ctx *event;

	BUILD_BUG_ON(KDAPL_VIEW_DRAIN != KDAPL_BOARD_DRAIN);
	BUILD_BUG_ON(KDAPL_VIEW_ERROR != KDAPL_BOARD_ERROR);
	BUILD_BUG_ON(KDAPL_VIEW_UNBOUND != KDAPL_BOARD_UNBOUND);
	BUILD_BUG_ON(KDAPL_VIEW_LEFT != KDAPL_BOARD_LEFT);
	BUILD_BUG_ON(KDAPL_VIEW_ESTABLISHED != KDAPL_BOARD_ESTABLISHED);
	if (slot_is(slot, view))
		return;
	if (READ_ONCE(slot->life) != view->life) {
		WRITE_ONCE(slot->life, 0);
		/* Pairs with the process's read barrier before it reads the life again. */
		smp_wmb();
	}
	WRITE_ONCE(slot->refuse_request, view->refuse_request);
	WRITE_ONCE(slot->refuse_recv, view->refuse_recv);
	WRITE_ONCE(slot->flags, view->flags);
	/* Pairs with the load-acquire of a process that waits for a state. */
	smp_store_release(&slot->state, view->state);
	/* Pairs with the load-acquire by which the process first reads the life. */
	smp_store_release(&slot->life, view->life);
	/* Pairs with kdapl_dev_board_event(): who registers then sees this, or is told. */
	smp_mb();
	event = READ_ONCE(file->board_event);
	if (event)
		kdapl_eventfd_signal(event);
}

int kdapl_dev_board_event(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_board_event *arg = data;
	struct eventfd_ctx *event = eventfd_ctx_fdget(arg->eventfd);

	if (IS_ERR(event))
		return PTR_ERR(event);
	arg->ret = DAT_SUCCESS;
	/* A full barrier, for kdapl_board_show() */
	if (cmpxchg(&file->board_event, NULL, event)) {
		eventfd_ctx_put(event);
		arg->ret = RET(INVALID_STATE);
	}
	return 0;
}

int kdapl_dev_ia_passthrough(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ia_passthrough *arg = data;
	struct kdapl_board *board = board_get(file);
	struct file *uverbs;
	u32 hints = arg->hints;

	BUILD_BUG_ON(KDAPL_HINT_SYNC_STATE != KDAPL_VERBS_SYNC_STATE);
	BUILD_BUG_ON(KDAPL_HINT_MUTE_FAULTS != KDAPL_VERBS_MUTE_FAULTS);
	BUILD_BUG_ON(KDAPL_HINT_WIDE_WINDOWS != KDAPL_VERBS_WIDE_WINDOWS);
	BUILD_BUG_ON(KDAPL_HINT_TELLS_LAST != KDAPL_VERBS_TELLS_LAST);
	BUILD_BUG_ON(KDAPL_HINT_SRQ_KEEPS != KDAPL_VERBS_SRQ_KEEPS);
	BUILD_BUG_ON(KDAPL_HINT_UNSOLICITED != KDAPL_VERBS_UNSOLICITED);
	BUILD_BUG_ON(KDAPL_HINT_LATE_CQS != KDAPL_VERBS_LATE_CQS);
	BUILD_BUG_ON(KDAPL_HINT_OWN_SRQS != KDAPL_VERBS_OWN_SRQS);
	BUILD_BUG_ON(KDAPL_HINT_ASKED != KDAPL_VERBS_ASKED);
	if (!board)
		return -ENOMEM;
	uverbs = fget(arg->uverbs_fd);
	arg->ret = kdapl_ia_passthrough(&file->space, kdapl_dev_handle(arg->ia), uverbs,
					&hints);
	if (uverbs)
		fput(uverbs);
	if (arg->ret == DAT_SUCCESS && hints & KDAPL_HINT_LATE_CQS)
		WRITE_ONCE(file->late_cqs, true);
	arg->board_offset = BOARD_OFFSET;
	arg->board_size = board->nr_pages * PAGE_SIZE;
	arg->hints = hints;
	return 0;
}

/*
 * Gives an endpoint or an IA its slot.  If the object has been freed meanwhile, the slot may belong
 * to another one by now.  kdapl_ep_show() and kdapl_ia_show() look the handle up again, and write
 * nothing in that case.
 */
static DAT_RETURN board_add(struct kdapl_file *file, const struct kdapl_object *obj,
			    DAT_HANDLE handle, u32 *slot)
{
	struct kdapl_board *board = READ_ONCE(file->board);
	struct kdapl_uapi_board_ep *place;

	if (!board)
		return RET(INVALID_STATE);
	*slot = (u32)obj->token;
	place = board_slot(board, *slot);
	if (!place)
		return RET_NO_RESOURCE(MEMORY);
	return obj->type == KDAPL_IA ?
	       kdapl_ia_show(&file->space, handle, kdapl_board_show, place) :
	       kdapl_ep_show(&file->space, handle, kdapl_board_show, place);
}

int kdapl_dev_ep_board(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_board *arg = data;
	DAT_HANDLE handle = kdapl_dev_handle(arg->ep);
	struct kdapl_object *obj = kdapl_object_find(&file->space, handle, 0);

	arg->ret = RET_BAD_HANDLE(EP);
	if (obj && (obj->type == KDAPL_EP || obj->type == KDAPL_IA))
		arg->ret = board_add(file, obj, handle, &arg->slot);
	if (obj)
		kdapl_object_put(obj);
	return 0;
}

int kdapl_dev_ep_bind(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_bind *arg = data;
	struct file *uverbs = fget(arg->uverbs_fd);
	DAT_RETURN ret;
	int err;

	err = kdapl_ep_bind(&file->space, kdapl_dev_handle(arg->ep), uverbs, arg->qp_num,
			    &arg->life, &ret);
	if (uverbs)
		fput(uverbs);
	arg->ret = ret;
	return err;
}

void kdapl_dev_ep_bind_undo(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_bind *arg = data;

	kdapl_ep_tell(&file->space, kdapl_dev_handle(arg->ep), arg->life,
		      KDAPL_TOLD_UNBIND);
}

int kdapl_dev_ep_tell(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_tell *arg = data;

	BUILD_BUG_ON((u32)KDAPL_TELL_CONFIRM != (u32)KDAPL_TOLD_CONFIRM);
	BUILD_BUG_ON((u32)KDAPL_TELL_BROKEN != (u32)KDAPL_TOLD_BROKEN);
	BUILD_BUG_ON((u32)KDAPL_TELL_DRAINED != (u32)KDAPL_TOLD_DRAINED);
	BUILD_BUG_ON((u32)KDAPL_TELL_FLUSH != (u32)KDAPL_TOLD_FLUSH);
	BUILD_BUG_ON((u32)KDAPL_TELL_UNBIND != (u32)KDAPL_TOLD_UNBIND);
	if (arg->what >= KDAPL_NR_TOLD)
		return -EINVAL;
	arg->ret = kdapl_ep_tell(&file->space, kdapl_dev_handle(arg->ep), arg->life,
				 arg->what);
	return 0;
}

/* It keeps all processors busy for a moment, so it is only for those who may need it. */
int kdapl_dev_cq_settle(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_cq_settle *arg = data;

	if (READ_ONCE(file->late_cqs))
		kdapl_cq_sync_handlers();
	arg->ret = DAT_SUCCESS;
	return 0;
}
