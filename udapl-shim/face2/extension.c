// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extensions of DAT 2.0: what dat_extension_op() does, and how events and attributes tell of it.
 * Which of them there are depends on what the device can (KDAPL_EXT_*), not on its transport.
 *
 * The places of refused arguments are those of dat_extension_op(): the handle is 1, the operation
 * 2, and its own arguments follow (RULING 70).
 */
#include "shim.h"

/* ---- requests -------------------------------------------------------------- */

/* What the device cannot is told before a remote segment that is not there (X2, mt:T2). */
static DAT_RETURN no_remote(struct shim_object *ep, uint32_t op)
{
	uint32_t needs = op == KDAPL_OP_RDMA_WRITE_IMMED ? KDAPL_EXT_IMMED : KDAPL_EXT_ATOMIC;
	struct shim_object *ia = ep->ia;
	const struct shim_ia *body;
	bool can;

	shim_lock(&ia->lock);
	body = ia->body;
	can = body && body->extensions & needs;
	shim_unlock(&ia->lock);
	return can ? RET_BAD_ARG(5) : RET(MODEL_NOT_SUPPORTED);
}

/* @places: where the arguments of dat_ep_post_rdma_write() are in this operation */
static DAT_RETURN post(DAT_HANDLE handle, const struct shim_request *request,
		       const uint8_t places[9])
{
	struct shim_object *ep = shim_find(handle, SHIM_EP);

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (!request->remote)
		return face_replaced(no_remote(ep, request->op), places);
	return face_replaced(ep->ops->post_extension(ep, request), places);
}

static DAT_RETURN rdma_write_immed(DAT_HANDLE handle, va_list args)
{
	static const uint8_t places[9] = { 1, 3, 4, 5, 6, 8 };
	struct shim_request request = { .op = KDAPL_OP_RDMA_WRITE_IMMED };

	request.segments = va_arg(args, DAT_COUNT);
	request.iov = va_arg(args, DAT_LMR_TRIPLET *);
	request.cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	request.remote = va_arg(args, const DAT_RMR_TRIPLET *);
	request.operand = va_arg(args, DAT_UINT32);
	request.flags = va_arg(args, DAT_COMPLETION_FLAGS);
	return post(handle, &request, places);
}

/* What all atomics have behind their operands */
static void atomic_args(struct shim_request *request, va_list args)
{
	request->segments = 1;
	request->iov = va_arg(args, DAT_LMR_TRIPLET *);
	request->cookie = va_arg(args, DAT_DTO_COOKIE).as_64;
	request->remote = va_arg(args, const DAT_RMR_TRIPLET *);
	request->flags = va_arg(args, DAT_COMPLETION_FLAGS);
}

static DAT_RETURN fetch_and_add(DAT_HANDLE handle, va_list args)
{
	static const uint8_t places[9] = { 1, 4, 4, 5, 6, 7 };
	struct shim_request request = { .op = KDAPL_OP_FETCH_ADD };

	request.operand = va_arg(args, DAT_UINT64);
	atomic_args(&request, args);
	return post(handle, &request, places);
}

static DAT_RETURN cmp_and_swap(DAT_HANDLE handle, va_list args)
{
	static const uint8_t places[9] = { 1, 5, 5, 6, 7, 8 };
	struct shim_request request = { .op = KDAPL_OP_CMP_SWAP };

	request.compare = va_arg(args, DAT_UINT64);
	request.operand = va_arg(args, DAT_UINT64);
	atomic_args(&request, args);
	return post(handle, &request, places);
}

/* ---- attributes without an open --------------------------------------------- */

/*
 * An IA that is only for queries is one like any other: it has an asynchronous EVD of its own, and
 * goes with its handle.
 */
static DAT_RETURN open_query(va_list args)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_NAME_PTR name = va_arg(args, DAT_NAME_PTR);
	DAT_IA_HANDLE *ia = va_arg(args, DAT_IA_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK provider_mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *provider_attr = va_arg(args, DAT_PROVIDER_ATTR *);
	DAT_RETURN ret;

	if (!name)
		return RET_BAD_ARG(3);
	if (!ia)
		return RET_BAD_ARG(4);
	ret = dat_ia_open(name, 1, &async, ia);
	if (ret)
		return ret;
	ret = dat_ia_query(*ia, NULL, ia_mask, ia_attr, provider_mask, provider_attr);
	if (ret) {
		/* dat_ia_query() has them two places earlier. */
		static const uint8_t places[9] = { 4, 4, 5, 6, 7, 8 };

		dat_ia_close(*ia, DAT_CLOSE_ABRUPT_FLAG);
		*ia = DAT_HANDLE_NULL;
		ret = face_replaced(ret, places);
	}
	return ret;
}

/* ---- the door --------------------------------------------------------------- */

/* dat_extension_op - @args: those of the operation */
DAT_RETURN face_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP extended_op, va_list args)
{
	DAT_UINT64 *out;
	int counter;

	switch ((int)extended_op) {
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return rdma_write_immed(handle, args);
	case DAT_IB_FETCH_AND_ADD_OP:
		return fetch_and_add(handle, args);
	case DAT_IB_CMP_AND_SWAP_OP:
		return cmp_and_swap(handle, args);
	case DAT_IB_OPEN_QUERY_OP:
		return open_query(args);
	case DAT_IB_QUERY_COUNTERS_OP:
		counter = va_arg(args, int);
		out = va_arg(args, DAT_UINT64 *);
		return face_query_counters(handle, counter, out, va_arg(args, int));
	case DAT_IB_PRINT_COUNTERS_OP:
		counter = va_arg(args, int);
		return face_print_counters(handle, counter, va_arg(args, int));
	case DAT_IB_CLOSE_QUERY_OP:
		return dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
	case DAT_IB_UD_SEND_OP:
	case DAT_IB_UD_CM_FREE_OP:
	case DAT_IB_UD_AH_FREE_OP:
		return RET(MODEL_NOT_SUPPORTED);
	default:
		return RET(NOT_IMPLEMENTED);
	}
}

/* ---- what is told of them ----------------------------------------------------- */

void face_extended(DAT_EVENT *event, uint32_t operation, uint32_t immediate)
{
	static const uint8_t types[] = {
		[DAT_IB_DTO_RDMA_WRITE_IMMED] = DAT_IB_RDMA_WRITE_IMMED,
		[DAT_IB_DTO_RECV_IMMED] = DAT_IB_RDMA_WRITE_IMMED_DATA,
		[DAT_IB_DTO_FETCH_ADD] = DAT_IB_FETCH_AND_ADD,
		[DAT_IB_DTO_CMP_SWAP] = DAT_IB_CMP_AND_SWAP,
	};
	DAT_IB_EXTENSION_EVENT_DATA *more = (void *)event->event_extension_data;
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	event->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	face_dto(dto, operation, 0);
	more->type = operation < sizeof(types) ? types[operation] : 0;
	more->status = (DAT_IB_STATUS)dto->status;
	more->val.immed.data = immediate;
}

void face_ia_attr(DAT_IA_ATTR *attr, bool any)
{
	attr->extension_supported = any ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
	attr->extension_version = any ? DAT_IB_EXTENSION_VERSION : 0;
}

uint32_t face_attrs(DAT_NAMED_ATTR *attrs, uint32_t extensions, bool counts, bool revocable)
{
	uint32_t n = 0;

	if (extensions & KDAPL_EXT_IMMED)
		attrs[n++] = (DAT_NAMED_ATTR) { (char *)DAT_IB_ATTR_IMMED_DATA, (char *)"TRUE" };
	if (extensions & KDAPL_EXT_ATOMIC) {
		attrs[n++] = (DAT_NAMED_ATTR) { (char *)DAT_IB_ATTR_CMP_AND_SWAP, (char *)"TRUE" };
		attrs[n++] = (DAT_NAMED_ATTR) { (char *)DAT_IB_ATTR_FETCH_AND_ADD, (char *)"TRUE" };
	}
	if (counts)
		attrs[n++] = (DAT_NAMED_ATTR) { (char *)DAT_IB_ATTR_COUNTERS, (char *)"TRUE" };
	if (revocable)
		attrs[n++] = (DAT_NAMED_ATTR) { (char *)"rmr_invalidation", (char *)"PZ" };
	return n;
}
