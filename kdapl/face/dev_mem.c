// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: Local and Remote Memory Regions.  Called through dev.c's table.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "dev.h"

int kdapl_dev_lmr_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_lmr_create *arg = data;
	DAT_REGION_DESCRIPTION region = {};
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT lmr_context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_VLEN size = 0;
	DAT_VADDR address = 0;

	if (arg->mem_type == DAT_MEM_TYPE_LMR)
		region.for_lmr_handle = kdapl_dev_handle(arg->region);
	else
		region.for_va = (DAT_PVOID)(uintptr_t)arg->region;
	arg->ret = kdapl_lmr_create(&file->space, kdapl_dev_handle(arg->ia),
				    arg->mem_type, region, arg->length,
				    kdapl_dev_handle(arg->pz), arg->privileges,
				    DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
				    &lmr_context, &rmr_context, &size, &address);
	arg->lmr = kdapl_dev_u64(lmr);
	arg->lmr_context = lmr_context;
	arg->rmr_context = rmr_context;
	arg->registered_size = size;
	arg->registered_address = address;
	return 0;
}

int kdapl_dev_lmr_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_lmr_query *arg = data;
	DAT_LMR_PARAM param = {};

	arg->ret = kdapl_lmr_query(&file->space, kdapl_dev_handle(arg->lmr),
				   arg->mask, &param);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ia = kdapl_dev_u64(param.ia_handle);
	arg->pz = kdapl_dev_u64(param.pz_handle);
	arg->region = (uintptr_t)param.region_desc.for_va;
	arg->length = param.length;
	arg->mem_type = param.mem_type;
	arg->privileges = param.mem_priv;
	arg->lmr_context = param.lmr_context;
	arg->rmr_context = param.rmr_context;
	arg->registered_size = param.registered_size;
	arg->registered_address = param.registered_address;
	return 0;
}

int kdapl_dev_lmr_sync(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_lmr_sync *arg = data;
	DAT_LMR_TRIPLET *segments = NULL;

	if (arg->direction > KDAPL_SYNC_RDMA_WRITE ||
	    arg->number > KDAPL_UAPI_MAX_SYNC)
		return -EINVAL;
	if (arg->number && arg->segments) {
		segments = vmemdup_user(u64_to_user_ptr(arg->segments),
					arg->number * sizeof(*segments));
		if (IS_ERR(segments))
			return PTR_ERR(segments);
	}
	arg->ret = kdapl_lmr_sync(&file->space, kdapl_dev_handle(arg->ia),
				  segments, arg->number,
				  arg->direction == KDAPL_SYNC_RDMA_READ);
	kvfree(segments);
	return 0;
}

int kdapl_dev_rmr_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_rmr_create *arg = data;
	DAT_PZ_HANDLE pz = kdapl_dev_handle(arg->pz);
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

	if (arg->flags & ~KDAPL_RMR_REVOCABLE)
		return -EINVAL;
	arg->ret = arg->flags ? kdapl_rmr_create_revocable(&file->space, pz, &rmr) :
				kdapl_rmr_create(&file->space, pz, &rmr);
	arg->rmr = kdapl_dev_u64(rmr);
	return 0;
}

int kdapl_dev_rmr_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_rmr_query *arg = data;
	DAT_RMR_PARAM param = {};

	arg->ret = kdapl_rmr_query(&file->space, kdapl_dev_handle(arg->rmr),
				   arg->mask, &param);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ia = kdapl_dev_u64(param.ia_handle);
	arg->pz = kdapl_dev_u64(param.pz_handle);
	arg->segment = (struct kdapl_uapi_segment) {
		.lmr_context = param.lmr_triplet.lmr_context,
		.address = param.lmr_triplet.virtual_address,
		.length = param.lmr_triplet.segment_length,
	};
	arg->privileges = param.mem_priv;
	arg->rmr_context = param.rmr_context;
	return 0;
}

int kdapl_dev_rmr_bind(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_rmr_bind *arg = data;
	DAT_RMR_COOKIE cookie = { .as_64 = arg->cookie };
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_LMR_TRIPLET triplet = {
		.lmr_context = arg->segment.lmr_context,
		.virtual_address = arg->segment.address,
		.segment_length = arg->segment.length,
	};

	if (arg->segment.unused)
		return -EINVAL;
	arg->ret = kdapl_rmr_bind(&file->space, kdapl_dev_handle(arg->rmr),
				  &triplet, arg->privileges,
				  kdapl_dev_handle(arg->ep), cookie, arg->flags,
				  &rmr_context);
	arg->rmr_context = rmr_context;
	return 0;
}
