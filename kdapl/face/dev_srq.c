// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: Shared Receive Queues.  Called through dev.c's table.
 */
#include "dev.h"
#include "../glue/glue.h"

int kdapl_dev_srq_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_srq_create *arg = data;
	const DAT_SRQ_ATTR attr = {
		.max_recv_dtos = arg->max_recv_dtos,
		.max_recv_iov = arg->max_recv_iov,
		.low_watermark = arg->low_watermark,
	};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	arg->ret = kdapl_srq_create(&file->space, kdapl_dev_handle(arg->ia),
				    kdapl_dev_handle(arg->pz), &attr, &srq);
	arg->srq = kdapl_dev_u64(srq);
	return 0;
}

int kdapl_dev_srq_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_srq_query *arg = data;
	DAT_SRQ_PARAM param = {};

	arg->ret = kdapl_srq_query(&file->space, kdapl_dev_handle(arg->srq), arg->mask,
				   &param);
	arg->ia = kdapl_dev_u64(param.ia_handle);
	arg->pz = kdapl_dev_u64(param.pz_handle);
	arg->state = param.srq_state;
	arg->max_recv_dtos = param.max_recv_dtos;
	arg->max_recv_iov = param.max_recv_iov;
	arg->low_watermark = param.low_watermark;
	arg->available = param.available_dto_count;
	arg->outstanding = param.outstanding_dto_count;
	return 0;
}

int kdapl_dev_srq_resize(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_srq_count *arg = data;

	arg->ret = kdapl_srq_resize(&file->space, kdapl_dev_handle(arg->srq), arg->count);
	return 0;
}

int kdapl_dev_srq_set_lw(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_srq_count *arg = data;

	arg->ret = kdapl_srq_set_lw(&file->space, kdapl_dev_handle(arg->srq), arg->count);
	return 0;
}

int kdapl_dev_srq_tell(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_srq_tell *arg = data;

	if (arg->what != KDAPL_SRQ_TELL_LOW && arg->what != KDAPL_SRQ_TELL_ERROR)
		return -EINVAL;
	arg->ret = kdapl_srq_tell(&file->space, kdapl_dev_handle(arg->srq),
				  arg->what == KDAPL_SRQ_TELL_LOW);
	return 0;
}

/*
 * Copies a receive to where the process cannot change it.  If the number of segments is one that
 * no receive can have, no segment is copied: the core checks the number first.
 */
static int get_recv(const struct kdapl_uapi_dto __user *from, struct kdapl_dto *to,
		    DAT_LMR_TRIPLET *iov)
{
	struct kdapl_uapi_segment segments[KDAPL_MAX_SGE];
	struct kdapl_uapi_dto dto;
	s32 i;

	if (copy_from_user(&dto, from, sizeof(dto)))
		return -EFAULT;
	if (dto.op != KDAPL_OP_RECV || dto.flags || dto.rmr_context ||
	    dto.target_address || dto.target_length)
		return -EINVAL;
	*to = (struct kdapl_dto) {
		.kind = KDAPL_DTO_RECV,
		.segments = dto.num_segments,
		.iov = dto.segments ? iov : NULL,
		.cookie.as_64 = dto.cookie,
	};
	if (!dto.segments || dto.num_segments <= 0 || dto.num_segments > KDAPL_MAX_SGE)
		return 0;
	if (copy_from_user(segments, u64_to_user_ptr(dto.segments),
			   dto.num_segments * sizeof(*segments)))
		return -EFAULT;
	for (i = 0; i < dto.num_segments; i++) {
		iov[i] = (DAT_LMR_TRIPLET) {
			.lmr_context = segments[i].lmr_context,
			.virtual_address = segments[i].address,
			.segment_length = segments[i].length,
		};
	}
	return 0;
}

/* Posts receives until one is refused or cannot be read; `done` is the number posted. */
int kdapl_dev_srq_post(struct kdapl_file *file, void *data)
{
	const struct kdapl_uapi_dto __user *from;
	struct kdapl_uapi_post *arg = data;
	DAT_LMR_TRIPLET iov[KDAPL_MAX_SGE];
	struct kdapl_dto dto;
	int ret = 0;

	arg->ret = DAT_SUCCESS;
	arg->done = 0;
	if (arg->count > KDAPL_UAPI_MAX_DTOS)
		return -EINVAL;
	from = u64_to_user_ptr(arg->dtos);
	for (; arg->done < arg->count; arg->done++, from++) {
		ret = get_recv(from, &dto, iov);
		if (ret)
			break;
		arg->ret = kdapl_srq_post_recv(&file->space, kdapl_dev_handle(arg->ep),
					       &dto);
		if (arg->ret != DAT_SUCCESS)
			break;
	}
	return ret;
}
