// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: posting.  One call posts many DTOs of any kind to one Endpoint
 * (A8, mt:T18).  Called by dev.c's table, from any thread.
 *
 * Nothing is allocated: a DTO and its segments are copied to the stack, checked
 * by the core against the process's LMRs and posted, one after the other.
 */
#include "dev.h"
#include "../glue/glue.h"

/*
 * More segments than any DTO may have are not copied: the core refuses the
 * number before it looks at the segments (mt:T1).
 */
static int get_segments(DAT_LMR_TRIPLET *to, const struct kdapl_uapi_dto *dto)
{
	if (dto->num_segments <= 0 || dto->num_segments > KDAPL_MAX_SGE)
		return 0;
	if (copy_from_user(to, u64_to_user_ptr(dto->segments),
			   dto->num_segments * sizeof(*to)))
		return -EFAULT;
	return 0;
}

static int check_dto(const struct kdapl_uapi_dto *dto)
{
	switch (dto->op) {
	case KDAPL_OP_SEND:
	case KDAPL_OP_RECV:
		if (dto->rmr_context || dto->target_address || dto->target_length)
			return -EINVAL;
		return 0;
	case KDAPL_OP_RDMA_READ:
	case KDAPL_OP_RDMA_WRITE:
		return 0;
	default:
		return -EINVAL;
	}
}

static DAT_RETURN post_dto(struct kdapl_file *file, DAT_EP_HANDLE ep,
			   const struct kdapl_uapi_dto *from,
			   const DAT_LMR_TRIPLET *segments)
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

/* A null pointer to segments is the core's to refuse (mt:T1). */
static int get_dto(struct kdapl_uapi_dto *dto, DAT_LMR_TRIPLET *segments,
		   const struct kdapl_uapi_dto __user *from)
{
	int ret;

	if (copy_from_user(dto, from, sizeof(*dto)))
		return -EFAULT;
	ret = check_dto(dto);
	if (ret || !dto->segments)
		return ret;
	return get_segments(segments, dto);
}

int kdapl_dev_post(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_post *arg = data;
	const struct kdapl_uapi_dto __user *dtos = u64_to_user_ptr(arg->dtos);
	DAT_LMR_TRIPLET segments[KDAPL_MAX_SGE];
	struct kdapl_uapi_dto dto;
	int ret;

	arg->done = 0;
	arg->ret = DAT_SUCCESS;
	if (arg->count > KDAPL_UAPI_MAX_DTOS)
		return -EINVAL;
	for (; arg->done < arg->count; arg->done++) {
		ret = get_dto(&dto, segments, &dtos[arg->done]);
		if (ret)
			return ret;
		arg->ret = post_dto(file, kdapl_dev_handle(arg->ep), &dto,
				    segments);
		if (arg->ret != DAT_SUCCESS)
			break;
	}
	return 0;
}
