// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: Endpoints, all but posting (dev_dto.c).  Called through dev.c's table.
 */
#include "dev.h"

/*
 * The named attributes (transport and provider specific) stay in the process, and only their
 * numbers are copied: kdapl has none for processes, and the core ignores those of a process.
 */
static void get_attr(DAT_EP_ATTR *to, const struct kdapl_uapi_ep_attr *from)
{
	memset(to, 0, sizeof(*to));
	to->service_type = from->service_type;
	to->max_message_size = from->max_message_size;
	to->max_rdma_size = from->max_rdma_size;
	to->qos = from->qos;
	to->recv_completion_flags = from->recv_completion_flags;
	to->request_completion_flags = from->request_completion_flags;
	to->max_recv_dtos = from->max_recv_dtos;
	to->max_request_dtos = from->max_request_dtos;
	to->max_recv_iov = from->max_recv_iov;
	to->max_request_iov = from->max_request_iov;
	to->max_rdma_read_in = from->max_rdma_read_in;
	to->max_rdma_read_out = from->max_rdma_read_out;
	to->srq_soft_hw = from->srq_soft_hw;
	to->max_rdma_read_iov = from->max_rdma_read_iov;
	to->max_rdma_write_iov = from->max_rdma_write_iov;
	to->ep_transport_specific_count = from->transport_specific_count;
	to->ep_provider_specific_count = from->provider_specific_count;
}

static void put_attr(struct kdapl_uapi_ep_attr *to, const DAT_EP_ATTR *from)
{
	memset(to, 0, sizeof(*to));
	to->service_type = from->service_type;
	to->max_message_size = from->max_message_size;
	to->max_rdma_size = from->max_rdma_size;
	to->qos = from->qos;
	to->recv_completion_flags = from->recv_completion_flags;
	to->request_completion_flags = from->request_completion_flags;
	to->max_recv_dtos = from->max_recv_dtos;
	to->max_request_dtos = from->max_request_dtos;
	to->max_recv_iov = from->max_recv_iov;
	to->max_request_iov = from->max_request_iov;
	to->max_rdma_read_in = from->max_rdma_read_in;
	to->max_rdma_read_out = from->max_rdma_read_out;
	to->srq_soft_hw = from->srq_soft_hw;
	to->max_rdma_read_iov = from->max_rdma_read_iov;
	to->max_rdma_write_iov = from->max_rdma_write_iov;
}

int kdapl_dev_ep_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_create *arg = data;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr;

	if (arg->flags & ~KDAPL_EP_HAS_ATTR || arg->attr.pad)
		return -EINVAL;
	get_attr(&attr, &arg->attr);
	arg->ret = kdapl_ep_create(&file->space, kdapl_dev_handle(arg->ia),
				   kdapl_dev_handle(arg->pz),
				   kdapl_dev_handle(arg->recv_evd),
				   kdapl_dev_handle(arg->request_evd),
				   kdapl_dev_handle(arg->connect_evd),
				   arg->flags & KDAPL_EP_HAS_ATTR ? &attr : NULL,
				   &ep);
	arg->ep = kdapl_dev_u64(ep);
	return 0;
}

int kdapl_dev_ep_create_with_srq(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_create_with_srq *arg = data;
	bool has_attr = arg->flags & KDAPL_EP_HAS_ATTR;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr;

	if (arg->flags & ~KDAPL_EP_HAS_ATTR || arg->attr.pad)
		return -EINVAL;
	get_attr(&attr, &arg->attr);
	arg->ret = kdapl_ep_create_with_srq(&file->space, kdapl_dev_handle(arg->ia),
					    kdapl_dev_handle(arg->pz),
					    kdapl_dev_handle(arg->recv_evd),
					    kdapl_dev_handle(arg->request_evd),
					    kdapl_dev_handle(arg->connect_evd),
					    kdapl_dev_handle(arg->srq),
					    has_attr ? &attr : NULL, &ep);
	arg->ep = kdapl_dev_u64(ep);
	return 0;
}

static void put_param(struct kdapl_uapi_ep_param *arg, const DAT_EP_PARAM *param)
{
	arg->ep_state = param->ep_state;
	arg->ia = kdapl_dev_u64(param->ia_handle);
	kdapl_dev_put_addr(&arg->local_address, param->local_ia_address_ptr);
	arg->local_port_qual = param->local_port_qual;
	kdapl_dev_put_addr(&arg->remote_address, param->remote_ia_address_ptr);
	arg->remote_port_qual = param->remote_port_qual;
	arg->pz = kdapl_dev_u64(param->pz_handle);
	arg->recv_evd = kdapl_dev_u64(param->recv_evd_handle);
	arg->request_evd = kdapl_dev_u64(param->request_evd_handle);
	arg->connect_evd = kdapl_dev_u64(param->connect_evd_handle);
	arg->srq = kdapl_dev_u64(param->srq_handle);
	put_attr(&arg->attr, &param->ep_attr);
}

int kdapl_dev_ep_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_param *arg = data;
	struct kdapl_object *ep;
	DAT_EP_PARAM param = {};

	if (arg->attr.pad)
		return -EINVAL;
	/* The reference keeps the memory of the addresses to which @param will point. */
	ep = kdapl_object_find(&file->space, kdapl_dev_handle(arg->ep), KDAPL_EP);
	arg->ret = kdapl_ep_query(&file->space, kdapl_dev_handle(arg->ep),
				  arg->mask, &param);
	if (ep && arg->ret == DAT_SUCCESS)
		put_param(arg, &param);
	if (ep)
		kdapl_object_put(ep);
	return 0;
}

/* All fields are passed to the core, which checks by the mask whether they may be modified. */
int kdapl_dev_ep_modify(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_param *arg = data;
	DAT_EP_PARAM param = {
		.ia_handle = kdapl_dev_handle(arg->ia),
		.ep_state = arg->ep_state,
		.local_port_qual = arg->local_port_qual,
		.remote_port_qual = arg->remote_port_qual,
		.pz_handle = kdapl_dev_handle(arg->pz),
		.recv_evd_handle = kdapl_dev_handle(arg->recv_evd),
		.request_evd_handle = kdapl_dev_handle(arg->request_evd),
		.connect_evd_handle = kdapl_dev_handle(arg->connect_evd),
		.srq_handle = kdapl_dev_handle(arg->srq),
	};

	if (arg->attr.pad)
		return -EINVAL;
	get_attr(&param.ep_attr, &arg->attr);
	arg->ret = kdapl_ep_modify(&file->space, kdapl_dev_handle(arg->ep),
				   arg->mask, &param);
	return 0;
}

int kdapl_dev_ep_get_status(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_get_status *arg = data;
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	arg->ret = kdapl_ep_get_status(&file->space, kdapl_dev_handle(arg->ep),
				       &state, &recv_idle, &request_idle);
	arg->state = state;
	arg->recv_idle = recv_idle;
	arg->request_idle = request_idle;
	return 0;
}

int kdapl_dev_ep_recv_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_recv_query *arg = data;
	DAT_COUNT allocated = 0, span = 0;

	arg->ret = kdapl_ep_recv_query(&file->space, kdapl_dev_handle(arg->ep),
				       &allocated, &span);
	arg->allocated = allocated;
	arg->span = span;
	return 0;
}

int kdapl_dev_ep_connect(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_connect *arg = data;
	u8 buf[KDAPL_DEV_PRIVATE_DATA];
	struct sockaddr_storage addr;
	DAT_IA_ADDRESS_PTR to = (DAT_IA_ADDRESS_PTR)&addr;
	const void *private_data;
	int ret;

	ret = kdapl_dev_get_addr(&addr, &arg->address) ?:
	      kdapl_dev_get_private_data(buf, arg->private_data,
					 arg->private_data_size, &private_data);
	if (ret)
		return ret;
	arg->ret = kdapl_ep_connect(&file->space, kdapl_dev_handle(arg->ep),
				    arg->address.len ? to : NULL,
				    arg->conn_qual, arg->timeout,
				    arg->private_data_size, private_data,
				    arg->qos, arg->flags);
	return 0;
}

int kdapl_dev_ep_dup_connect(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_dup_connect *arg = data;
	u8 buf[KDAPL_DEV_PRIVATE_DATA];
	const void *private_data;
	int ret;

	ret = kdapl_dev_get_private_data(buf, arg->private_data,
					 arg->private_data_size, &private_data);
	if (ret)
		return ret;
	arg->ret = kdapl_ep_dup_connect(&file->space, kdapl_dev_handle(arg->ep),
					kdapl_dev_handle(arg->dup_ep),
					arg->timeout, arg->private_data_size,
					private_data, arg->qos);
	return 0;
}

int kdapl_dev_ep_disconnect(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_handle_flags *arg = data;

	arg->ret = kdapl_ep_disconnect(&file->space,
				       kdapl_dev_handle(arg->handle), arg->flags);
	return 0;
}

int kdapl_dev_ep_private_data(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_ep_private_data *arg = data;
	u8 buf[KDAPL_DEV_PRIVATE_DATA];
	u32 size = min_t(u32, arg->size, sizeof(buf));
	u32 length = 0;

	arg->ret = kdapl_ep_private_data(&file->space, kdapl_dev_handle(arg->ep),
					 arg->life, buf, size, &length);
	arg->length = length;
	if (arg->ret == DAT_SUCCESS &&
	    copy_to_user(u64_to_user_ptr(arg->buf), buf, min(size, length)))
		return -EFAULT;
	return 0;
}
