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

/* A send or receive has no remote buffer: its fields are padding. */
static int dto_check(const struct kdapl_uapi_dto *dto)
{
	switch (dto->op) {
	case KDAPL_OP_SEND:
	case KDAPL_OP_RECV:
		return dto->rmr_context | dto->target_address |
		       dto->target_length ? -EINVAL : 0;
	case KDAPL_OP_RDMA_READ:
	case KDAPL_OP_RDMA_WRITE:
		return 0;
	default:
		return -EINVAL;
	}
}

static __always_inline int
segments_get(DAT_LMR_TRIPLET *to, const struct kdapl_uapi_segment __user *from,
	     u32 count)
{
	u32 i;

	if (!user_access_begin(from, count * sizeof(*from)))
		return -EFAULT;
	for (i = 0; i < count; i++) {
		unsafe_get_user(to[i].lmr_context, &from[i].lmr_context, fault);
		unsafe_get_user(to[i].virtual_address, &from[i].address, fault);
		unsafe_get_user(to[i].segment_length, &from[i].length, fault);
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
 *
 * A null pointer to segments and a number of segments that no DTO may have are
 * the core's to refuse, before it looks at any segment (mt:T1).
 */
static __always_inline int dto_get(struct kdapl_uapi_dto *dto,
				   DAT_LMR_TRIPLET *segments,
				   const struct kdapl_uapi_dto __user *from)
{
	int ret;

	if (!user_access_begin(from, sizeof(*from)))
		return -EFAULT;
	unsafe_get_user(dto->op, &from->op, fault);
	unsafe_get_user(dto->flags, &from->flags, fault);
	unsafe_get_user(dto->num_segments, &from->num_segments, fault);
	unsafe_get_user(dto->rmr_context, &from->rmr_context, fault);
	unsafe_get_user(dto->segments, &from->segments, fault);
	unsafe_get_user(dto->cookie, &from->cookie, fault);
	unsafe_get_user(dto->target_address, &from->target_address, fault);
	unsafe_get_user(dto->target_length, &from->target_length, fault);
	user_access_end();

	ret = dto_check(dto);
	if (ret || !dto->segments || dto->num_segments <= 0 ||
	    dto->num_segments > KDAPL_MAX_SGE)
		return ret;
	return segments_get(segments, u64_to_user_ptr(dto->segments),
			    dto->num_segments);
fault:
	user_access_end();
	return -EFAULT;
}

static __always_inline DAT_RETURN
dto_post(struct kdapl_file *file, DAT_EP_HANDLE ep,
	 const struct kdapl_uapi_dto *from, const DAT_LMR_TRIPLET *segments)
{
	static const u8 kinds[] = {
		[KDAPL_OP_SEND] = KDAPL_DTO_SEND,
		[KDAPL_OP_RECV] = KDAPL_DTO_RECV,
		[KDAPL_OP_RDMA_READ] = KDAPL_DTO_RDMA_READ,
		[KDAPL_OP_RDMA_WRITE] = KDAPL_DTO_RDMA_WRITE,
	};
	const DAT_RMR_TRIPLET remote = {
		.rmr_context = from->rmr_context,
		.target_address = from->target_address,
		.segment_length = from->target_length,
	};
	const struct kdapl_dto dto = {
		.kind = kinds[from->op],
		.segments = from->num_segments,
		.iov = from->segments ? segments : NULL,
		.cookie = { .as_64 = from->cookie },
		.remote = &remote,
		.flags = from->flags,
	};

	return kdapl_ep_post(&file->space, ep, &dto);
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
static __always_inline int dtos_post(struct kdapl_file *file,
				      struct kdapl_uapi_post *arg)
{
	DAT_LMR_TRIPLET segments[KDAPL_MAX_SGE] kdapl_uninitialized;
	const struct kdapl_uapi_dto __user *from = u64_to_user_ptr(arg->dtos);
	struct kdapl_uapi_dto dto kdapl_uninitialized;
	int ret = 0;

	local_bh_disable();
	for (; arg->done < arg->count; arg->done++, from++) {
		ret = dto_get(&dto, segments, from);
		if (unlikely(ret == -EFAULT)) {
			/* Once more, now that a page can be brought in. */
			local_bh_enable();
			ret = dto_get(&dto, segments, from);
			local_bh_disable();
		}
		if (ret)
			break;
		arg->ret = dto_post(file, kdapl_dev_handle(arg->ep), &dto,
				    segments);
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
	ret = arg.count <= KDAPL_UAPI_MAX_DTOS ? dtos_post(file, &arg) : -EINVAL;

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
