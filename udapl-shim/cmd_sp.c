// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls of Public and Reserved Service Points, and of the connection
 * requests that arrive at them.
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

static void called(struct shim_object *ia, enum shim_sp_call call)
{
	if (ia->ops->sp_called)
		ia->ops->sp_called(ia, call);
}

/* Common to both calls that make a PSP; @cmd says who picks the qualifier. */
static DAT_RETURN psp_create(unsigned long cmd, struct shim_object *ia,
			     struct kdapl_uapi_psp_create *arg,
			     DAT_PSP_HANDLE *psp_handle)
{
	struct kdapl_uapi_handle undo = { 0 };
	struct shim_object *psp;
	DAT_RETURN ret;

	arg->ia = shim_token(ia);
	ret = shim_ioctl(cmd, arg, RET_BAD_ARG(4));
	if (ret)
		return ret;
	psp = shim_object_get(arg->psp, SHIM_PSP, ia, NULL);
	if (!psp) {
		undo.handle = arg->psp;
		shim_ioctl(KDAPL_IOC_PSP_FREE, &undo, RET_NO_FAULT);
		return RET_NO_RESOURCE(MEMORY);
	}
	*psp_handle = psp;
	called(ia, cmd == KDAPL_IOC_PSP_CREATE ? SHIM_PSP_CREATE : SHIM_PSP_CREATE_ANY);
	return DAT_SUCCESS;
}

DAT_RETURN own_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);
	struct kdapl_uapi_psp_create arg = {
		.conn_qual = conn_qual,
		.flags = psp_flags,
	};

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!evd)
		return RET_BAD_HANDLE(EVD_CR);
	if (!psp_handle)
		return RET_BAD_ARG(5);
	arg.evd = shim_token(evd);
	return psp_create(KDAPL_IOC_PSP_CREATE, ia, &arg, psp_handle);
}

DAT_RETURN own_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);
	struct kdapl_uapi_psp_create arg = { .flags = psp_flags };
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!evd)
		return RET_BAD_HANDLE(EVD_CR);
	if (!conn_qual)
		return RET_BAD_ARG(2);
	if (!psp_handle)
		return RET_BAD_ARG(5);
	arg.evd = shim_token(evd);
	ret = psp_create(KDAPL_IOC_PSP_CREATE_ANY, ia, &arg, psp_handle);
	if (!ret)
		*conn_qual = arg.conn_qual;
	return ret;
}

DAT_RETURN own_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	struct shim_object *psp = shim_find(psp_handle, SHIM_PSP);
	struct kdapl_uapi_psp_query arg = { .mask = psp_param_mask };
	DAT_RETURN ret;

	if (!psp)
		return RET_BAD_HANDLE(PSP);
	if (psp_param_mask & ~DAT_PSP_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!psp_param)
		return RET_BAD_ARG(3);
	arg.psp = shim_token(psp);
	ret = shim_ioctl(KDAPL_IOC_PSP_QUERY, &arg, RET_BAD_ARG(2));
	if (ret)
		return ret;
	psp_param->ia_handle = shim_ia_shown(arg.ia);
	psp_param->conn_qual = arg.conn_qual;
	psp_param->evd_handle = shim_handle(arg.evd);
	psp_param->psp_flags = arg.flags;
	return DAT_SUCCESS;
}

DAT_RETURN own_psp_free(DAT_PSP_HANDLE psp_handle)
{
	struct shim_object *psp = shim_find(psp_handle, SHIM_PSP), *ia;
	DAT_RETURN ret;

	if (!psp)
		return RET_BAD_HANDLE(PSP);
	ia = psp->ia;
	ret = shim_handle_call(KDAPL_IOC_PSP_FREE, psp);
	if (ret)
		return ret;
	shim_object_kill(psp);
	called(ia, SHIM_PSP_FREE);
	return DAT_SUCCESS;
}

DAT_RETURN own_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA), *rsp;
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);
	struct kdapl_uapi_rsp_create arg = { .conn_qual = conn_qual };
	struct kdapl_uapi_handle undo = { 0 };
	DAT_RETURN ret;
	uint64_t ep;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!shim_optional(ep_handle, SHIM_EP, &ep))
		return RET_BAD_HANDLE(EP);
	if (!evd)
		return RET_BAD_HANDLE(EVD_CR);
	if (!rsp_handle)
		return RET_BAD_ARG(5);
	arg.ia = shim_token(ia);
	arg.ep = ep;
	arg.evd = shim_token(evd);
	ret = shim_ioctl(KDAPL_IOC_RSP_CREATE, &arg, RET_BAD_ARG(2));
	if (ret)
		return ret;
	rsp = shim_object_get(arg.rsp, SHIM_RSP, ia, NULL);
	if (!rsp) {
		undo.handle = arg.rsp;
		shim_ioctl(KDAPL_IOC_RSP_FREE, &undo, RET_NO_FAULT);
		return RET_NO_RESOURCE(MEMORY);
	}
	*rsp_handle = rsp;
	called(ia, SHIM_RSP_CREATE);
	return DAT_SUCCESS;
}

DAT_RETURN own_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	struct shim_object *rsp = shim_find(rsp_handle, SHIM_RSP);
	struct kdapl_uapi_rsp_query arg = { .mask = rsp_param_mask };
	DAT_RETURN ret;

	if (!rsp)
		return RET_BAD_HANDLE(RSP);
	if (rsp_param_mask & ~DAT_RSP_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!rsp_param)
		return RET_BAD_ARG(3);
	arg.rsp = shim_token(rsp);
	ret = shim_ioctl(KDAPL_IOC_RSP_QUERY, &arg, RET_BAD_ARG(2));
	if (ret)
		return ret;
	rsp_param->ia_handle = shim_ia_shown(arg.ia);
	rsp_param->conn_qual = arg.conn_qual;
	rsp_param->evd_handle = shim_handle(arg.evd);
	rsp_param->ep_handle = shim_ep_seen(arg.ep, rsp->ia);
	return DAT_SUCCESS;
}

DAT_RETURN own_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	struct shim_object *rsp = shim_find(rsp_handle, SHIM_RSP), *ia;
	DAT_RETURN ret;

	if (!rsp)
		return RET_BAD_HANDLE(RSP);
	ia = rsp->ia;
	ret = shim_handle_call(KDAPL_IOC_RSP_FREE, rsp);
	if (ret)
		return ret;
	shim_object_kill(rsp);
	called(ia, SHIM_RSP_FREE);
	return DAT_SUCCESS;
}

/*
 * Queries a CR, which is locked. The kernel copies the peer's address and
 * private data into the body of the CR. The pointers in DAT_CR_PARAM point
 * there, and are valid until the CR is destroyed (P43).
 */
static DAT_RETURN cr_query(struct shim_object *cr,
			   struct kdapl_uapi_cr_query *arg)
{
	struct shim_cr *body = cr->body;
	DAT_RETURN ret;

	if (atomic_load(&cr->type) != SHIM_CR)
		return RET_BAD_HANDLE(CR);
	if (!body) {
		body = calloc(1, sizeof(*body));
		cr->body = body;
	}
	if (!body)
		return RET_NO_RESOURCE(MEMORY);
	arg->cr = shim_token(cr);
	arg->private_data = (uintptr_t)body->private_data;
	arg->size = sizeof(body->private_data);
	ret = shim_ioctl(KDAPL_IOC_CR_QUERY, arg, RET_BAD_ARG(2));
	if (ret)
		return ret;
	shim_addr_out(&body->remote, &arg->remote_address);
	body->local_ep = arg->local_ep;
	return DAT_SUCCESS;
}

DAT_RETURN own_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	struct shim_object *cr = shim_find(cr_handle, SHIM_CR);
	struct kdapl_uapi_cr_query arg = { .mask = DAT_CR_FIELD_ALL };
	struct shim_cr *body;
	DAT_RETURN ret;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	if (cr_param_mask & ~DAT_CR_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!cr_param)
		return RET_BAD_ARG(3);

	shim_lock(&cr->lock);
	ret = cr_query(cr, &arg);
	if (!ret) {
		body = cr->body;
		cr_param->remote_ia_address_ptr =
			(DAT_IA_ADDRESS_PTR)&body->remote;
		cr_param->remote_port_qual = arg.remote_port_qual;
		cr_param->private_data_size = arg.private_data_size;
		cr_param->private_data = body->private_data;
	}
	shim_unlock(&cr->lock);
	if (!ret)
		cr_param->local_ep_handle = shim_ep_seen(arg.local_ep, cr->ia);
	return ret;
}

/*
 * Kills a CR that the kernel has destroyed. Return: the EP that the request is
 * for, if dat_cr_query() has found one; else NULL.
 */
static struct shim_object *cr_gone(struct shim_object *cr)
{
	struct shim_cr *body = shim_object_end(cr);
	uint64_t ep = body ? body->local_ep : 0;

	free(body);
	return shim_by_token(ep);
}

/*
 * The EP that an accept connects: the one that @handle names; or else the EP that the request is
 * for; or else NULL. In passthrough the library has a part in the accept. So the kernel is asked
 * which EP it is, if dat_cr_query() has not been called yet; the body of the CR keeps the answer
 * for cr_gone().
 */
static struct shim_object *accepted_ep(struct shim_object *cr, DAT_EP_HANDLE handle)
{
	struct kdapl_uapi_cr_query arg = { .mask = DAT_CR_FIELD_ALL };
	const struct shim_cr *body;
	uint64_t known;

	if (handle != DAT_HANDLE_NULL)
		return handle;
	shim_lock(&cr->lock);
	body = cr->body;
	known = body ? body->local_ep : 0;
	if (!body && cr->ops->passthrough && cr_query(cr, &arg))
		arg.local_ep = 0;
	shim_unlock(&cr->lock);
	return known ? shim_by_token(known) : shim_ep_seen(arg.local_ep, cr->ia);
}

DAT_RETURN own_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	struct shim_object *cr = shim_find(cr_handle, SHIM_CR), *own;
	struct kdapl_uapi_cr_accept arg = {
		.private_data = (uintptr_t)private_data,
		.private_data_size = private_data_size,
	};
	struct shim_ep *body;
	DAT_RETURN ret;
	uint64_t ep;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	if (!shim_optional(ep_handle, SHIM_EP, &ep))
		return RET_BAD_HANDLE(EP);
	arg.cr = shim_token(cr);
	arg.ep = ep;
	ret = cr->ops->cr_accept(accepted_ep(cr, ep_handle), &arg);
	if (ret)
		return ret;
	own = cr_gone(cr);
	if (own) {
		/* The consumer has to free the EP from here on (P59). */
		shim_lock(&own->lock);
		body = own->body;
		if (body && atomic_load(&own->type) == SHIM_EP)
			body->provider_made = false;
		shim_unlock(&own->lock);
	}
	return DAT_SUCCESS;
}

/*
 * Kills a CR that was rejected or handed off, and with it an EP that the kernel
 * had made for the request and has destroyed as well (P71).
 */
static void cr_refused(struct shim_object *cr)
{
	struct shim_object *own = cr_gone(cr);
	const struct shim_ep *body;
	bool provider_made = false;

	if (own && atomic_load(&own->type) == SHIM_EP) {
		shim_lock(&own->lock);
		body = own->body;
		provider_made = body && body->provider_made;
		shim_unlock(&own->lock);
	}
	if (provider_made) {
		own->ops->ep_gone(own);
		shim_ep_end(own);
	}
}

/*
 * shim_cr_reject - dat_cr_reject(), as own_cr_reject() of either face asks for it
 *
 * Return: DAT_MODEL_NOT_SUPPORTED if there are private data, and the module is too old for them.
 */
DAT_RETURN shim_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const void *private_data)
{
	struct shim_object *cr = shim_find(cr_handle, SHIM_CR), *ia;
	struct kdapl_uapi_cr_reject arg = {
		.private_data_size = private_data_size,
		.private_data = (uintptr_t)private_data,
	};
	DAT_RETURN ret;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	ia = cr->ia;
	arg.cr = shim_token(cr);
	if (!private_data_size)
		ret = shim_handle_call(KDAPL_IOC_CR_REJECT, cr);
	else if (shim_dev_features() & KDAPL_FEATURE_REJECT_DATA)
		ret = shim_ioctl(KDAPL_IOC_CR_REJECT_DATA, &arg, RET_BAD_ARG(3));
	else
		ret = RET(MODEL_NOT_SUPPORTED);
	if (ret)
		return ret;
	cr_refused(cr);
	called(ia, SHIM_CR_REJECT);
	return DAT_SUCCESS;
}

DAT_RETURN own_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	struct shim_object *cr = shim_find(cr_handle, SHIM_CR);
	struct kdapl_uapi_cr_handoff arg = { .conn_qual = handoff };
	DAT_RETURN ret;

	if (!cr)
		return RET_BAD_HANDLE(CR);
	arg.cr = shim_token(cr);
	ret = shim_ioctl(KDAPL_IOC_CR_HANDOFF, &arg, RET_BAD_ARG(2));
	if (!ret)
		cr_refused(cr);
	return ret;
}
