// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: posting.  One call posts many DTOs of any kind to one Endpoint
 * (A8, mt:T18).  Called by kdapl_dev_ioctl(), from any thread.
 *
 * This is the data path of an application in forwarded mode, so it is not in the table
 * of dev.c: it allocates nothing, and reads the fields from the process one by one,
 * which for so few bytes is several times cheaper than copy_from_user().
 *
 * A DTO and its segments are copied to the stack, where the process cannot
 * change them any more.  Then the core checks them against the process's LMRs
 * and posts the DTO, before the next one is copied.
 */
#include <linux/bottom_half.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>
#include "dev.h"
#include "../compat.h"
#include "../glue/glue.h"

/**
 * struct dto_copy - a DTO of a process, where the process cannot change it
 * @dto: for the core; points to @remote and @segments
 * @remote: the remote buffer of an RDMA operation
 * @segments: as many as @dto says; not filled in if that is more than a DTO can have
 */
struct dto_copy {
	struct kdapl_dto dto;
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET segments[KDAPL_MAX_SGE];
};

static_assert(KDAPL_DTO_IS_ABI);

/* A send or receive has no remote buffer: the fields for it are padding, and have to be zero. */
static __always_inline int check_remote(const struct dto_copy *copy)
{
	const DAT_RMR_TRIPLET *remote = &copy->remote;

	if (kdapl_dto_rows[copy->dto.kind].remote)
		return 0;
	return remote->rmr_context || remote->target_address ||
	       remote->segment_length ? -EINVAL : 0;
}

/* Copies what other kinds have besides, and sets the kind.  @segments: in and out */
static noinline int copy_more(struct dto_copy *copy, u32 op, u64 *segments)
{
	const struct kdapl_uapi_dto_more __user *from = u64_to_user_ptr(*segments);
	struct kdapl_uapi_dto_more more;

	if (op > KDAPL_OP_RDMA_READ_TO_RMR)
		return -EINVAL;
	if (copy_from_user(&more, from, sizeof(more)))
		return -EFAULT;
	if (op != KDAPL_OP_CMP_SWAP && more.compare)
		return -EINVAL;
	op = array_index_nospec(op, KDAPL_OP_RDMA_READ_TO_RMR + 1);
	if (!kdapl_dto_rows[op].atomic && more.operand > (kdapl_dto_rows[op].word ? U32_MAX : 0))
		return -EINVAL;
	copy->dto.kind = (enum kdapl_dto_kind)op;
	copy->dto.word = more.operand;
	copy->dto.operand = more.operand;
	copy->dto.compare = more.compare;
	*segments = more.segments;
	return check_remote(copy);
}

/* Sets the kind of the DTO. */
static __always_inline int copy_set_kind(struct dto_copy *copy, u32 op, u64 *segments)
{
	if (unlikely(op > KDAPL_OP_RDMA_WRITE))
		return copy_more(copy, op, segments);
	copy->dto.kind = (enum kdapl_dto_kind)array_index_nospec(op, KDAPL_OP_RDMA_WRITE + 1);
	return check_remote(copy);
}

/*
 * Copies the segments of a DTO.  Nothing is copied for a null pointer, or for a number of
 * segments that no DTO can have: the core refuses both before it reads a segment (mt:T1).
 */
static __always_inline int
copy_segments(struct dto_copy *copy,
	      const struct kdapl_uapi_segment __user *from)
{
	DAT_COUNT count = copy->dto.segments;
	DAT_LMR_TRIPLET *to = copy->segments;

	copy->dto.iov = from ? copy->segments : NULL;
	if (!from || count <= 0 || count > KDAPL_MAX_SGE)
		return 0;
	if (!user_access_begin(from, count * sizeof(*from)))
		return -EFAULT;
	/*
	 * Not by an index: UBSAN would check it with a function call, and no
	 * function may be called while user memory is accessible.
	 */
	for (; count; count--, to++, from++) {
		unsafe_get_user(to->lmr_context, &from->lmr_context, fault);
		unsafe_get_user(to->virtual_address, &from->address, fault);
		unsafe_get_user(to->segment_length, &from->length, fault);
	}
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

/*
 * Copies a DTO.  With page faults disabled no page can be brought in, so -EFAULT may also mean
 * then that a page is not in memory.
 */
static __always_inline int copy_dto(struct dto_copy *copy,
				    const struct kdapl_uapi_dto __user *from)
{
	struct kdapl_dto *dto = &copy->dto;
	DAT_RMR_TRIPLET *remote = &copy->remote;
	u64 segments;
	u32 op;
	int ret;

	if (!user_access_begin(from, sizeof(*from)))
		return -EFAULT;
	unsafe_get_user(op, &from->op, fault);
	unsafe_get_user(dto->flags, &from->flags, fault);
	unsafe_get_user(dto->segments, &from->num_segments, fault);
	unsafe_get_user(remote->rmr_context, &from->rmr_context, fault);
	unsafe_get_user(segments, &from->segments, fault);
	unsafe_get_user(dto->cookie.as_64, &from->cookie, fault);
	unsafe_get_user(remote->target_address, &from->target_address, fault);
	unsafe_get_user(remote->segment_length, &from->target_length, fault);
	user_access_end();

	dto->remote = remote;
	ret = copy_set_kind(copy, op, &segments);
	return ret ?: copy_segments(copy, u64_to_user_ptr(segments));
fault:
	user_access_end();
	return -EFAULT;
}

/*
 * Posts DTOs until one is refused or cannot be read.  @arg->ret and @arg->done are set
 * accordingly.
 *
 * Bottom halves are disabled meanwhile.  Some drivers, like Soft-RoCE, send in a
 * softirq.  A softirq that is raised in process context is left to ksoftirqd, which may have
 * to wait long for the processor if a process polls for the completion of this very post.
 * If it is raised while bottom halves are disabled, it runs in local_bh_enable(): at once, and
 * once for all DTOs of the call.
 *
 * Meanwhile no page may be brought in, which may take as long as a process likes.  Where bottom
 * halves are disabled by a lock, as with PREEMPT_RT, that alone does not keep the page fault from
 * doing so; it would sleep, and no softirq would run on this processor.  So page faults are
 * disabled, too.
 */
static __always_inline int post_dtos(struct kdapl_file *file,
				     struct kdapl_uapi_post *arg)
{
	const struct kdapl_uapi_dto __user *from = u64_to_user_ptr(arg->dtos);
	struct dto_copy copy kdapl_uninitialized;
	int ret = 0;

	local_bh_disable();
	for (; arg->done < arg->count; arg->done++, from++) {
		pagefault_disable();
		ret = copy_dto(&copy, from);
		pagefault_enable();
		if (unlikely(ret == -EFAULT)) {
			/* Try again where a page can be brought in. */
			local_bh_enable();
			ret = copy_dto(&copy, from);
			local_bh_disable();
		}
		if (ret)
			break;
		arg->ret = kdapl_ep_post(&file->space,
					 kdapl_dev_handle(arg->ep), &copy.dto);
		if (arg->ret != DAT_SUCCESS)
			break;
	}
	local_bh_enable();
	return ret;
}

/**
 * kdapl_dev_post - KDAPL_IOC_POST
 * @file: of the caller
 * @uarg: the caller's structure; only its fields `ret` and `done` are written
 *
 * May sleep.
 *
 * Return: 0, or the errno of an invalid call.  In both cases the first `done`
 * DTOs are posted.
 */
int kdapl_dev_post(struct kdapl_file *file, struct kdapl_uapi_post __user *uarg)
{
	struct kdapl_uapi_post arg kdapl_uninitialized;
	int ret;

	if (!user_access_begin(uarg, sizeof(*uarg)))
		return -EFAULT;
	unsafe_get_user(arg.count, &uarg->count, fault);
	unsafe_get_user(arg.ep, &uarg->ep, fault);
	unsafe_get_user(arg.dtos, &uarg->dtos, fault);
	unsafe_get_user(arg.pad, &uarg->pad, fault);
	user_access_end();
	if (arg.pad)
		return -EINVAL;
	arg.ret = DAT_SUCCESS;
	arg.done = 0;
	ret = arg.count <= KDAPL_UAPI_MAX_DTOS ? post_dtos(file, &arg) : -EINVAL;

	if (!user_access_begin(uarg, sizeof(*uarg)))
		return -EFAULT;
	unsafe_put_user(arg.ret, &uarg->ret, fault);
	unsafe_put_user(arg.done, &uarg->done, fault);
	user_access_end();
	return ret;
fault:
	user_access_end();
	return -EFAULT;
}
