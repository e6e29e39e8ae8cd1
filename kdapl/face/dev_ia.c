// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: registry, Interface Adapters, Protection Zones, handle types.
 * Called through dev.c's table.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "dev_ring.h"
#include "../core/ia.h"

int kdapl_dev_handle_type(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_handle_type *arg = data;
	DAT_HANDLE_TYPE type = 0;

	arg->ret = kdapl_get_handle_type(&file->space,
					 kdapl_dev_handle(arg->handle), &type);
	/* The kernel's number of SRQ is that of CNO in <dat/udat.h>, where SRQ is 10. */
	arg->type = type == DAT_HANDLE_TYPE_SRQ ? 10 : type;
	return 0;
}

/* ---- registry -------------------------------------------------------------- */

static int put_provider_info(struct kdapl_uapi_provider_info __user *to,
			     const DAT_PROVIDER_INFO *from)
{
	struct kdapl_uapi_provider_info info = {
		.dapl_version_major = from->dapl_version_major,
		.dapl_version_minor = from->dapl_version_minor,
		.is_thread_safe = from->is_thread_safe,
	};

	strscpy(info.ia_name, from->ia_name, sizeof(info.ia_name));
	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

/*
 * Copies the list of adapters to the process.  If there are more than @number by now, the core
 * answers DAT_INVALID_PARAMETER.
 */
static int put_providers(struct kdapl_file *file,
			 struct kdapl_uapi_ia_list *arg, DAT_COUNT number)
{
	struct kdapl_uapi_provider_info __user *to = u64_to_user_ptr(arg->list);
	DAT_PROVIDER_INFO *infos, **list;
	int ret = -ENOMEM;
	DAT_COUNT i;

	infos = kvcalloc(number, sizeof(*infos), GFP_KERNEL_ACCOUNT);
	list = kvcalloc(number, sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!infos || !list)
		goto out;
	for (i = 0; i < number; i++)
		list[i] = &infos[i];

	ret = 0;
	arg->ret = kdapl_registry_list(&file->space, number, &number, list);
	arg->number = number;
	if (arg->ret != DAT_SUCCESS)
		goto out;
	for (i = 0; i < number && !ret; i++)
		ret = put_provider_info(&to[i], &infos[i]);
out:
	kvfree(list);
	kvfree(infos);
	return ret;
}

int kdapl_dev_ia_list(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ia_list *arg = data;
	DAT_COUNT number = 0;

	arg->ret = kdapl_registry_list(&file->space, 0, &number, NULL);
	arg->number = number;
	if (arg->ret == DAT_SUCCESS || arg->max < number)
		return 0;
	return put_providers(file, arg, number);
}

/* ---- Interface Adapters ---------------------------------------------------- */

static DAT_RETURN close_ia(struct kdapl_file *file, u64 ia, u32 flags)
{
	DAT_RETURN ret = kdapl_ia_close(&file->space, kdapl_dev_handle(ia), flags);

	if (ret == DAT_SUCCESS)
		kdapl_ring_drop_ia(file, ia);
	return ret;
}

int kdapl_dev_ia_open(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ia_open *arg = data;
	bool make_evd = !arg->async_evd;
	DAT_EVD_HANDLE evd = kdapl_dev_handle(arg->async_evd);
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	memset(&arg->ring, 0, sizeof(arg->ring));
	if (strnlen(arg->name, sizeof(arg->name)) == sizeof(arg->name)) {
		arg->ret = RET_BAD_ARG(1);
		return 0;
	}
	arg->ret = kdapl_ia_open(&file->space, arg->name, arg->async_qlen, &evd,
				 arg->version_major, arg->version_minor,
				 arg->thread_safe ? DAT_TRUE : DAT_FALSE, &ia);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	arg->ia = kdapl_dev_u64(ia);
	arg->async_evd = kdapl_dev_u64(evd);
	if (make_evd && kdapl_ring_create(file, arg->ia, arg->async_evd,
					  &arg->ring)) {
		close_ia(file, arg->ia, DAT_CLOSE_ABRUPT_FLAG);
		arg->ret = RET_NO_RESOURCE(MEMORY);
	}
	return 0;
}

void kdapl_dev_ia_open_undo(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ia_open *arg = data;

	close_ia(file, arg->ia, DAT_CLOSE_ABRUPT_FLAG);
}

int kdapl_dev_ia_close(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_handle_flags *arg = data;

	arg->ret = close_ia(file, arg->handle, arg->flags);
	return 0;
}

static void put_ia_attr(struct kdapl_uapi_ia_attr *to, const DAT_IA_ATTR *from)
{
	memset(to, 0, sizeof(*to));
	strscpy(to->adapter_name, from->adapter_name, sizeof(to->adapter_name));
	strscpy(to->vendor_name, from->vendor_name, sizeof(to->vendor_name));
	kdapl_dev_put_addr(&to->address, from->ia_address_ptr);
	to->hardware_version_major = from->hardware_version_major;
	to->hardware_version_minor = from->hardware_version_minor;
	to->firmware_version_major = from->firmware_version_major;
	to->firmware_version_minor = from->firmware_version_minor;
	to->max_lmr_block_size = from->max_lmr_block_size;
	to->max_lmr_virtual_address = from->max_lmr_virtual_address;
	to->max_message_size = from->max_message_size;
	to->max_rdma_size = from->max_rdma_size;
	to->max_rmr_target_address = from->max_rmr_target_address;
	to->max_eps = from->max_eps;
	to->max_dto_per_ep = from->max_dto_per_ep;
	to->max_rdma_read_per_ep_in = from->max_rdma_read_per_ep_in;
	to->max_rdma_read_per_ep_out = from->max_rdma_read_per_ep_out;
	to->max_evds = from->max_evds;
	to->max_evd_qlen = from->max_evd_qlen;
	to->max_iov_segments_per_dto = from->max_iov_segments_per_dto;
	to->max_lmrs = from->max_lmrs;
	to->max_pzs = from->max_pzs;
	to->max_rmrs = from->max_rmrs;
	to->max_srqs = from->max_srqs;
	to->max_ep_per_srq = from->max_ep_per_srq;
	to->max_recv_per_srq = from->max_recv_per_srq;
	to->max_iov_segments_per_rdma_read = from->max_iov_segments_per_rdma_read;
	to->max_iov_segments_per_rdma_write = from->max_iov_segments_per_rdma_write;
	to->max_rdma_read_in = from->max_rdma_read_in;
	to->max_rdma_read_out = from->max_rdma_read_out;
	to->max_rdma_read_per_ep_in_guaranteed =
		from->max_rdma_read_per_ep_in_guaranteed;
	to->max_rdma_read_per_ep_out_guaranteed =
		from->max_rdma_read_per_ep_out_guaranteed;
}

/*
 * The attributes of <dat/kdat.h> do not have pz_support.  In the copy it stays 0, which
 * is DAT_PZ_UNIQUE: an EP and the memory it uses have the same PZ.
 */
static void put_provider_attr(struct kdapl_uapi_provider_attr *to,
			      const DAT_PROVIDER_ATTR *from)
{
	int i, j;

	memset(to, 0, sizeof(*to));
	strscpy(to->provider_name, from->provider_name, sizeof(to->provider_name));
	to->provider_version_major = from->provider_version_major;
	to->provider_version_minor = from->provider_version_minor;
	to->dapl_version_major = from->dapl_version_major;
	to->dapl_version_minor = from->dapl_version_minor;
	to->lmr_mem_types_supported = from->lmr_mem_types_supported;
	to->iov_ownership_on_return = from->iov_ownership_on_return;
	to->dat_qos_supported = from->dat_qos_supported;
	to->completion_flags_supported = from->completion_flags_supported;
	to->is_thread_safe = from->is_thread_safe;
	to->max_private_data_size = from->max_private_data_size;
	to->supports_multipath = from->supports_multipath;
	to->ep_creator = from->ep_creator;
	to->optimal_buffer_alignment = from->optimal_buffer_alignment;
	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++)
			to->evd_stream_merging_supported[6 * i + j] =
				from->evd_stream_merging_supported[i][j];
	to->srq_supported = from->srq_supported;
	to->srq_watermarks_supported = from->srq_watermarks_supported;
	to->srq_ep_pz_difference_supported = from->srq_ep_pz_difference_supported;
	to->srq_info_supported = from->srq_info_supported;
	to->ep_recv_info_supported = from->ep_recv_info_supported;
	to->lmr_sync_req = from->lmr_sync_req;
	to->dto_async_return_guaranteed = from->dto_async_return_guaranteed;
	to->rdma_write_for_rdma_read_req = from->rdma_write_for_rdma_read_req;
}

static u32 extensions(const struct kdapl_device *dev)
{
	return dev->extensions | (dev->answers_atomics ? KDAPL_EXT_OWN_ATOMIC : 0);
}

int kdapl_dev_ia_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ia_query *arg = data;
	struct {
		DAT_IA_ATTR ia;
		DAT_PROVIDER_ATTR provider;
	} *attr;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	struct kdapl_object *ia;

	attr = kzalloc(sizeof(*attr), GFP_KERNEL_ACCOUNT);
	if (!attr)
		return -ENOMEM;
	/* The reference keeps the memory of the address to which @attr will point. */
	ia = kdapl_object_find(&file->space, kdapl_dev_handle(arg->ia), KDAPL_IA);
	arg->ret = kdapl_ia_query(&file->space, kdapl_dev_handle(arg->ia), &evd,
				  arg->ia_mask, &attr->ia, arg->provider_mask,
				  &attr->provider);
	arg->async_evd = kdapl_dev_u64(evd);
	if (ia && arg->ret == DAT_SUCCESS) {
		put_ia_attr(&arg->ia_attr, &attr->ia);
		put_provider_attr(&arg->provider_attr, &attr->provider);
		if (arg->provider_mask)
			arg->provider_attr.extensions = extensions(ia->ia->dev);
	}
	if (ia)
		kdapl_object_put(ia);
	kfree(attr);
	return 0;
}

/* ---- Protection Zones ------------------------------------------------------ */

int kdapl_dev_pz_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_pz_create *arg = data;
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	arg->ret = kdapl_pz_create(&file->space, kdapl_dev_handle(arg->ia), &pz);
	arg->pz = kdapl_dev_u64(pz);
	return 0;
}

int kdapl_dev_pz_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_pz_query *arg = data;
	DAT_PZ_PARAM param = {};

	arg->ret = kdapl_pz_query(&file->space, kdapl_dev_handle(arg->pz),
				  arg->mask, &param);
	arg->ia = kdapl_dev_u64(param.ia_handle);
	return 0;
}
