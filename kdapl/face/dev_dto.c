// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: posting.  One call posts many DTOs of any kind to one Endpoint
 * (A8, mt:T18).  Called by kdapl_dev_ioctl(), from any thread.
 *
 * This is the data path of an application, so it has a way in of its own: dev.c
 * does not copy the structure in and out, nothing is allocated, and what a DTO
 * consists of is read from the process word by word, which for so few bytes is
 * several times cheaper than copy_from_user().  A DTO and its segments are on the
 * stack then, where the process cannot change them any more; the core checks
 * them against the process's LMRs and posts them, one DTO after the other.
 */
#include <linux/bottom_half.h>
#include "dev.h"
#include "../compat.h"
#include "../glue/glue.h"

/**
 * struct dto_copy - a DTO of a process, where the process cannot change it
 * @dto: for the core; points to the others
 * @remote: of an RDMA operation
 * @segments: as many as @dto says, if that is a number that a DTO can have
 */
struct dto_copy {
	struct kdapl_dto dto;
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET segments[KDAPL_MAX_SGE];
};

/* What kind it is.  A send or receive has no remote buffer, only padding there. */
static __always_inline int copy_set_kind(struct dto_copy *copy, u32 op)
{
	const DAT_RMR_TRIPLET *remote = &copy->remote;

	switch (op) {
	case KDAPL_OP_SEND:
		copy->dto.kind = KDAPL_DTO_SEND;
		break;
	case KDAPL_OP_RECV:
		copy->dto.kind = KDAPL_DTO_RECV;
		break;
	case KDAPL_OP_RDMA_READ:
		copy->dto.kind = KDAPL_DTO_RDMA_READ;
		return 0;
	case KDAPL_OP_RDMA_WRITE:
		copy->dto.kind = KDAPL_DTO_RDMA_WRITE;
		return 0;
	default:
		return -EINVAL;
	}
	return remote->rmr_context || remote->target_address ||
	       remote->segment_length ? -EINVAL : 0;
}

/*
 * A null pointer to segments and a number of segments that no DTO may have are
 * the core's to refuse, before it looks at any segment (mt:T1).
 */
static __always_inline int
copy_segments(struct dto_copy *copy,
	      const struct kdapl_uapi_segment __user *from)
{
	DAT_COUNT i, count = copy->dto.segments;

	copy->dto.iov = from ? copy->segments : NULL;
	if (!from || count <= 0 || count > KDAPL_MAX_SGE)
		return 0;
	if (!user_access_begin(from, count * sizeof(*from)))
		return -EFAULT;
	for (i = 0; i < count; i++) {
		DAT_LMR_TRIPLET *to = &copy->segments[i];

		unsafe_get_user(to->lmr_context, &from[i].lmr_context, fault);
		unsafe_get_user(to->virtual_address, &from[i].address, fault);
		unsafe_get_user(to->segment_length, &from[i].length, fault);
	}
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

/*
 * With bottom halves disabled no page is brought in: then -EFAULT may also mean
 * that one was not there just now.
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
	ret = copy_set_kind(copy, op);
	return ret ?: copy_segments(copy, u64_to_user_ptr(segments));
fault:
	user_access_end();
	return -EFAULT;
}

/*
 * Posts up to the first DTO that is refused or cannot be read; @arg->ret and
 * @arg->done tell how far that was.
 *
 * Bottom halves are disabled meanwhile.  A driver may leave the sending to a
 * softirq (Soft-RoCE does); raised in process context it would be left to
 * ksoftirqd, which has to wait for a processor while a process that polls for
 * its completion keeps it busy.  So it runs in local_bh_enable(), at once, for
 * all DTOs of the call.
 */
static __always_inline int post_dtos(struct kdapl_file *file,
				     struct kdapl_uapi_post *arg)
{
	const struct kdapl_uapi_dto __user *from = u64_to_user_ptr(arg->dtos);
	struct dto_copy copy kdapl_uninitialized;
	int ret = 0;

	local_bh_disable();
	for (; arg->done < arg->count; arg->done++, from++) {
		ret = copy_dto(&copy, from);
		if (unlikely(ret == -EFAULT)) {
			/* Once more, now that a page can be brought in. */
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
 * @uarg: its structure; only the fields `ret` and `done` of it are written
 *
 * Return: 0, or the errno of an invalid call; `done` DTOs are posted for good
 * either way.
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
