// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls of Endpoints, except those that post (post.c).
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

/* What dat_ep_modify() can never change. For some of it the ioctl has no field. */
#define EP_NEVER	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE |	\
			 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |		\
			 DAT_EP_FIELD_LOCAL_PORT_QUAL |			\
			 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR |		\
			 DAT_EP_FIELD_REMOTE_PORT_QUAL |		\
			 DAT_EP_FIELD_SRQ_HANDLE |			\
			 DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW | FACE_EP_NEVER)

/*
 * shim_ep_body - the body of an EP, made when first needed
 *
 * The lock of @ep is held. Return: NULL without memory.
 */
struct shim_ep *shim_ep_body(struct shim_object *ep)
{
	if (!ep->body)
		ep->body = calloc(1, sizeof(struct shim_ep));
	return ep->body;
}

/* shim_ep_end - the kernel has destroyed the EP */
void shim_ep_end(struct shim_object *ep)
{
	struct shim_ep *body = shim_object_end(ep);

	if (body)
		free(body->private_data);
	free(body);
}

/*
 * shim_ep_seen - the object of the EP that a CR or RSP is for
 *
 * The kernel may have made that EP for the request. Then the consumer sees it
 * now for the first time, and its object is made here.
 */
struct shim_object *shim_ep_seen(uint64_t token, struct shim_object *ia)
{
	struct shim_object *ep;
	struct shim_ep *body;
	bool made;

	if (!token)
		return NULL;
	ep = shim_object_get(token, SHIM_EP, ia, &made);
	if (!ep || !made)
		return ep;
	shim_lock(&ep->lock);
	body = shim_is(ep, SHIM_EP, token) ? shim_ep_body(ep) : NULL;
	if (body)
		body->provider_made = true;
	shim_unlock(&ep->lock);
	return ep;
}

static void ep_attr_in(struct kdapl_uapi_ep_attr *to, const DAT_EP_ATTR *from)
{
	to->max_message_size = from->max_message_size;
	to->max_rdma_size = from->max_rdma_size;
	to->service_type = from->service_type;
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
	to->transport_specific_count = from->ep_transport_specific_count;
	to->provider_specific_count = from->ep_provider_specific_count;
}

static void ep_attr_out(DAT_EP_ATTR *to, const struct kdapl_uapi_ep_attr *from)
{
	to->service_type = from->service_type;
	to->max_message_size = face_length(from->max_message_size);
	to->max_rdma_size = face_length(from->max_rdma_size);
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
	to->ep_transport_specific_count = 0;
	to->ep_transport_specific = NULL;
	to->ep_provider_specific_count = 0;
	to->ep_provider_specific = NULL;
}

/* The tokens of a PZ and three EVDs, each of which may be null. */
static DAT_RETURN ep_handles_in(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				uint64_t tokens[4])
{
	if (!shim_optional(pz, SHIM_PZ, &tokens[0]))
		return RET_BAD_HANDLE(PZ);
	if (!shim_optional(recv, SHIM_EVD, &tokens[1]))
		return RET_BAD_HANDLE(EVD_RECV);
	if (!shim_optional(request, SHIM_EVD, &tokens[2]))
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (!shim_optional(connect, SHIM_EVD, &tokens[3]))
		return RET_BAD_HANDLE(EVD_CONN);
	return DAT_SUCCESS;
}

/* Makes the object of an EP that the kernel has made, or frees the EP if that fails. */
static DAT_RETURN ep_made(struct shim_object *ia, uint64_t token, DAT_EP_HANDLE *ep_handle)
{
	struct shim_object *ep = shim_object_get(token, SHIM_EP, ia, NULL);
	struct kdapl_uapi_handle undo = { .handle = token };
	DAT_RETURN ret = ep ? ep->ops->ep_made(ep) : RET_NO_RESOURCE(MEMORY);

	if (ret) {
		if (ep)
			shim_object_kill(ep);
		shim_ioctl(KDAPL_IOC_EP_FREE, &undo, RET_NO_FAULT);
		return ret;
	}
	*ep_handle = ep;
	return DAT_SUCCESS;
}

DAT_RETURN own_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_completion_evd_handle,
			 DAT_EVD_HANDLE request_completion_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	struct kdapl_uapi_ep_create arg = { 0 };
	uint64_t tokens[4];
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	ret = ep_handles_in(pz_handle, recv_completion_evd_handle,
			    request_completion_evd_handle, connect_evd_handle,
			    tokens);
	if (ret)
		return ret;
	if (!ep_handle)
		return RET_BAD_ARG(7);
	arg.ia = shim_token(ia);
	arg.pz = tokens[0];
	arg.recv_evd = tokens[1];
	arg.request_evd = tokens[2];
	arg.connect_evd = tokens[3];
	if (ep_attributes) {
		arg.flags = KDAPL_EP_HAS_ATTR;
		ep_attr_in(&arg.attr, ep_attributes);
	}
	ret = shim_ioctl(KDAPL_IOC_EP_CREATE, &arg, RET_BAD_ARG(6));
	return ret ? ret : ep_made(ia, arg.ep, ep_handle);
}

DAT_RETURN own_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA), *srq;
	struct kdapl_uapi_ep_create_with_srq arg = { .flags = KDAPL_EP_HAS_ATTR };
	uint64_t tokens[4];
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	ret = ep_handles_in(pz_handle, recv_evd_handle, request_evd_handle,
			    connect_evd_handle, tokens);
	if (ret)
		return ret;
	srq = shim_find(srq_handle, SHIM_SRQ);
	if (!srq)
		return RET_BAD_HANDLE(SRQ);
	if (!ep_attributes)
		return RET_BAD_ARG(7);
	if (!ep_handle)
		return RET_BAD_ARG(8);
	arg.ia = shim_token(ia);
	arg.pz = tokens[0];
	arg.recv_evd = tokens[1];
	arg.request_evd = tokens[2];
	arg.connect_evd = tokens[3];
	arg.srq = shim_token(srq);
	ep_attr_in(&arg.attr, ep_attributes);
	ret = shim_ioctl(KDAPL_IOC_EP_CREATE_WITH_SRQ, &arg, RET_NO_FAULT);
	return ret ? ret : ep_made(ia, arg.ep, ep_handle);
}

static DAT_IA_ADDRESS_PTR ep_address_out(struct sockaddr_storage *to,
					 const struct kdapl_uapi_addr *from)
{
	shim_addr_out(to, from);
	return (DAT_IA_ADDRESS_PTR)to;
}

/*
 * Copies the addresses into the body of the EP, where they stay until it is
 * freed.
 */
static DAT_RETURN ep_addresses_out(struct shim_object *ep, DAT_EP_PARAM *to,
				   const struct kdapl_uapi_ep_param *from)
{
	DAT_RETURN ret = RET_BAD_HANDLE(EP);
	struct shim_ep *body = NULL;

	shim_lock(&ep->lock);
	if (shim_is(ep, SHIM_EP, from->ep)) {
		body = shim_ep_body(ep);
		ret = body ? DAT_SUCCESS : RET_NO_RESOURCE(MEMORY);
	}
	if (body) {
		to->local_ia_address_ptr =
			ep_address_out(&body->local, &from->local_address);
		to->remote_ia_address_ptr =
			ep_address_out(&body->remote, &from->remote_address);
		face_ep_param(to, body->local.ss_family);
	}
	shim_unlock(&ep->lock);
	return ret;
}

DAT_RETURN own_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_ep_param arg = { .mask = face_ep_mask(ep_param_mask) };
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!ep_param)
		return RET_BAD_ARG(3);
	arg.ep = shim_token(ep);
	ret = shim_ioctl(KDAPL_IOC_EP_QUERY, &arg, RET_BAD_ARG(2));
	if (!ret)
		ret = ep_addresses_out(ep, ep_param, &arg);
	if (ret)
		return ret;
	ep_param->ia_handle = shim_ia_shown(arg.ia);
	ep_param->ep_state = arg.ep_state;
	ep_param->local_port_qual = arg.local_port_qual;
	ep_param->remote_port_qual = arg.remote_port_qual;
	ep_param->pz_handle = shim_handle(arg.pz);
	ep_param->recv_evd_handle = shim_handle(arg.recv_evd);
	ep_param->request_evd_handle = shim_handle(arg.request_evd);
	ep_param->connect_evd_handle = shim_handle(arg.connect_evd);
	ep_param->srq_handle = shim_handle(arg.srq);
	ep_attr_out(&ep_param->ep_attr, &arg.attr);
	return DAT_SUCCESS;
}

/*
 * Only the fields that the mask names are read; the others may hold anything.
 */
static DAT_RETURN ep_param_in(struct kdapl_uapi_ep_param *to, DAT_EP_PARAM_MASK mask,
			      const DAT_EP_PARAM *from)
{
	uint64_t tokens[4];

	if (ep_handles_in(mask & DAT_EP_FIELD_PZ_HANDLE ?
			  from->pz_handle : NULL,
			  mask & DAT_EP_FIELD_RECV_EVD_HANDLE ?
			  from->recv_evd_handle : NULL,
			  mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE ?
			  from->request_evd_handle : NULL,
			  mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE ?
			  from->connect_evd_handle : NULL, tokens))
		return RET_BAD_ARG(3);
	to->pz = tokens[0];
	to->recv_evd = tokens[1];
	to->request_evd = tokens[2];
	to->connect_evd = tokens[3];
	if (mask & DAT_EP_FIELD_EP_ATTR_ALL)
		ep_attr_in(&to->attr, &from->ep_attr);
	return DAT_SUCCESS;
}

DAT_RETURN own_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_ep_param arg = { .mask = face_ep_mask(ep_param_mask) };
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (ep_param_mask & (EP_NEVER | ~DAT_EP_FIELD_ALL))
		return RET_BAD_ARG(2);
	if (!ep_param)
		return RET_BAD_ARG(3);
	arg.ep = shim_token(ep);
	ret = ep_param_in(&arg, ep_param_mask, ep_param);
	if (ret)
		return ret;
	return ep->ops->ep_modify(ep, &arg);
}

DAT_RETURN own_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_ep_get_status arg = { 0 };
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	arg.ep = shim_token(ep);
	ret = ep->ops->ep_status(ep, &arg);
	if (ret)
		return ret;
	if (ep_state)
		*ep_state = arg.state;
	if (recv_idle)
		*recv_idle = arg.recv_idle;
	if (request_idle)
		*request_idle = arg.request_idle;
	return DAT_SUCCESS;
}

DAT_RETURN own_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data,
			  DAT_QOS quality_of_service,
			  DAT_CONNECT_FLAGS connect_flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_ep_connect arg = {
		.flags = face_connect_flags(connect_flags),
		.timeout = timeout,
		.qos = quality_of_service,
		.conn_qual = remote_conn_qual,
		.private_data = (uintptr_t)private_data,
		.private_data_size = private_data_size,
	};

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!remote_ia_address)
		return RET_BAD_ARG(2);
	arg.ep = shim_token(ep);
	if (!shim_addr_in(&arg.address, remote_ia_address)) {
		/* An unknown family: the kernel knows which code to return for it. */
		arg.address.len = sizeof(*remote_ia_address);
		memcpy(arg.address.sa, remote_ia_address, arg.address.len);
	}
	return ep->ops->ep_connect(ep, &arg);
}

DAT_RETURN own_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data,
			      DAT_QOS quality_of_service)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct shim_object *dup_ep = shim_find(ep_dup_handle, SHIM_EP);
	struct kdapl_uapi_ep_dup_connect arg = {
		.timeout = timeout,
		.qos = quality_of_service,
		.private_data_size = private_data_size,
		.private_data = (uintptr_t)private_data,
	};

	if (!ep || !dup_ep)
		return RET_BAD_HANDLE(EP);
	arg.ep = shim_token(ep);
	arg.dup_ep = shim_token(dup_ep);
	return ep->ops->ep_dup_connect(ep, &arg);
}

DAT_RETURN own_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS close_flags)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);

	if (!ep)
		return RET_BAD_HANDLE(EP);
	return ep->ops->ep_disconnect(ep, close_flags);
}

DAT_RETURN own_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	void *private_data = NULL;
	struct shim_ep *body;
	DAT_EP_STATE before;
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	ret = own_ep_get_status(ep, &before, NULL, NULL);
	if (ret)
		return ret;
	ret = ep->ops->ep_reset(ep);
	if (ret || before == DAT_EP_STATE_UNCONNECTED)
		return ret;

	/* The private data of the former connection is gone, too (R13). */
	shim_lock(&ep->lock);
	body = ep->body;
	if (body) {
		private_data = body->private_data;
		body->private_data = NULL;
	}
	shim_unlock(&ep->lock);
	free(private_data);
	return DAT_SUCCESS;
}

DAT_RETURN own_ep_free(DAT_EP_HANDLE ep_handle)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	ret = ep->ops->ep_free(ep);
	if (ret)
		return ret;
	shim_ep_end(ep);
	return DAT_SUCCESS;
}

/*
 * An older module has no ioctl for this. An EP on an SRQ has no count to give, and is refused,
 * too (RULING 43).
 */
DAT_RETURN own_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	struct shim_object *ep = shim_find(ep_handle, SHIM_EP);
	struct kdapl_uapi_ep_recv_query arg = { 0 };
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!(shim_dev_features() & KDAPL_FEATURE_SRQ))
		return RET(MODEL_NOT_SUPPORTED);
	arg.ep = shim_token(ep);
	ret = ep->ops->ep_recv_query(ep, &arg);
	if (!ret && nbufs_allocated)
		*nbufs_allocated = arg.allocated;
	if (!ret && bufs_alloc_span)
		*bufs_alloc_span = arg.span;
	return ret;
}

/*
 * Not offered (mt:M66): how many receives of an SRQ an EP holds cannot be counted. The arguments
 * are checked here, and the kernel is not asked.
 */
DAT_RETURN own_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	if (!shim_find(ep_handle, SHIM_EP))
		return RET_BAD_HANDLE(EP);
	if (soft_high_watermark < DAT_WATERMARK_INFINITE)
		return RET_BAD_ARG(2);
	if (hard_high_watermark < DAT_WATERMARK_INFINITE)
		return RET_BAD_ARG(3);
	return RET(MODEL_NOT_SUPPORTED);
}
