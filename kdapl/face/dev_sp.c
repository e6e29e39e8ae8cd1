// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * /dev/kdapl: service points and connection requests.  Called through dev.c's table.
 */
#include "dev.h"

int kdapl_dev_psp_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_psp_create *arg = data;
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	arg->ret = kdapl_psp_create(&file->space, kdapl_dev_handle(arg->ia),
				    arg->conn_qual, kdapl_dev_handle(arg->evd),
				    arg->flags, &psp);
	arg->psp = kdapl_dev_u64(psp);
	return 0;
}

int kdapl_dev_psp_create_any(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_psp_create *arg = data;
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual = arg->conn_qual;

	arg->ret = kdapl_psp_create_any(&file->space, kdapl_dev_handle(arg->ia),
					&qual, kdapl_dev_handle(arg->evd),
					arg->flags, &psp);
	arg->conn_qual = qual;
	arg->psp = kdapl_dev_u64(psp);
	return 0;
}

int kdapl_dev_psp_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_psp_query *arg = data;
	DAT_PSP_PARAM param = {};

	arg->ret = kdapl_psp_query(&file->space, kdapl_dev_handle(arg->psp),
				   arg->mask, &param);
	arg->ia = kdapl_dev_u64(param.ia_handle);
	arg->conn_qual = param.conn_qual;
	arg->evd = kdapl_dev_u64(param.evd_handle);
	arg->flags = param.psp_flags;
	return 0;
}

int kdapl_dev_rsp_create(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_rsp_create *arg = data;
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

	arg->ret = kdapl_rsp_create(&file->space, kdapl_dev_handle(arg->ia),
				    arg->conn_qual, kdapl_dev_handle(arg->ep),
				    kdapl_dev_handle(arg->evd), &rsp);
	arg->rsp = kdapl_dev_u64(rsp);
	return 0;
}

int kdapl_dev_rsp_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_rsp_query *arg = data;
	DAT_RSP_PARAM param = {};

	arg->ret = kdapl_rsp_query(&file->space, kdapl_dev_handle(arg->rsp),
				   arg->mask, &param);
	arg->ia = kdapl_dev_u64(param.ia_handle);
	arg->conn_qual = param.conn_qual;
	arg->evd = kdapl_dev_u64(param.evd_handle);
	arg->ep = kdapl_dev_u64(param.ep_handle);
	return 0;
}

int kdapl_dev_cr_query(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_cr_query *arg = data;
	u8 buf[KDAPL_DEV_PRIVATE_DATA];
	u32 size = min_t(u32, arg->size, sizeof(buf));
	struct sockaddr_storage addr = {};
	DAT_CR_PARAM param = {};

	arg->ret = kdapl_cr_query_copy(&file->space, kdapl_dev_handle(arg->cr),
				       arg->mask, &param, &addr, buf, size);
	if (arg->ret != DAT_SUCCESS)
		return 0;
	kdapl_dev_put_addr(&arg->remote_address, (struct sockaddr *)&addr);
	arg->remote_port_qual = param.remote_port_qual;
	arg->private_data_size = param.private_data_size;
	arg->local_ep = kdapl_dev_u64(param.local_ep_handle);
	if (copy_to_user(u64_to_user_ptr(arg->private_data), buf,
			 min_t(u32, size, param.private_data_size)))
		return -EFAULT;
	return 0;
}

int kdapl_dev_cr_accept(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_cr_accept *arg = data;
	u8 buf[KDAPL_DEV_PRIVATE_DATA];
	const void *private_data;
	int ret;

	ret = kdapl_dev_get_private_data(buf, arg->private_data,
					 arg->private_data_size, &private_data);
	if (ret)
		return ret;
	arg->ret = kdapl_cr_accept(&file->space, kdapl_dev_handle(arg->cr),
				   kdapl_dev_handle(arg->ep),
				   arg->private_data_size, private_data);
	return 0;
}

int kdapl_dev_cr_reject(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_cr_reject *arg = data;
	u8 buf[KDAPL_DEV_PRIVATE_DATA];
	const void *private_data;
	int ret;

	ret = kdapl_dev_get_private_data(buf, arg->private_data,
					 arg->private_data_size, &private_data);
	if (ret)
		return ret;
	arg->ret = kdapl_cr_reject_with(&file->space, kdapl_dev_handle(arg->cr),
					arg->private_data_size, private_data);
	return 0;
}

int kdapl_dev_cr_handoff(struct kdapl_file *file, void *data)
{
	struct kdapl_uapi_cr_handoff *arg = data;

	arg->ret = kdapl_cr_handoff(&file->space, kdapl_dev_handle(arg->cr),
				    arg->conn_qual);
	return 0;
}
