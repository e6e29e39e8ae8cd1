// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes the DAT_EVENT of a kernel event: tokens become handles, and data that
 * DAT passes by a pointer is put into the memory of an object. Called by
 * forward.c and pass_*.c for the events that they have taken, with no lock held.
 * Completions, which are frequent, have an inline function in shim.h.
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

/*
 * The object of a token, or NULL. The library may not know the object yet,
 * because the call that creates it has not returned yet in another thread. Then
 * the kernel is asked for its type, and the object is made here.
 */
static struct shim_object *object_seen(uint64_t token, struct shim_object *ia)
{
	struct kdapl_uapi_handle_type arg = { .handle = token };
	struct shim_object *obj = shim_by_token(token);

	if (obj || !token ||
	    shim_ioctl(KDAPL_IOC_HANDLE_TYPE, &arg, RET_NO_FAULT))
		return obj;
	return shim_object_get(token, LIVE(arg.type), ia, NULL);
}

/* The object that an asynchronous error is about, as the consumer knows it. */
static DAT_HANDLE handle_shown(uint64_t token, struct shim_object *ia)
{
	struct shim_object *obj = object_seen(token, ia);

	return obj && atomic_load(&obj->type) == SHIM_IA ? shim_ia_shown(token) : obj;
}

/*
 * The address to which a connection request was sent, in memory that stays as long as the IA.
 * The port has few addresses, so each is kept, once. NULL if there is no memory, or if the IA
 * was closed.
 */
static DAT_IA_ADDRESS_PTR local_address(struct shim_object *ia,
					const struct kdapl_uapi_cr_event *from)
{
	struct sockaddr_storage at = { .ss_family = from->family };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at;
	struct sockaddr_in *in = (struct sockaddr_in *)&at;
	struct shim_local *local = NULL;
	struct shim_ia *body;

	if (from->family == AF_INET) {
		memcpy(&in->sin_addr, from->address, sizeof(in->sin_addr));
	} else {
		memcpy(&in6->sin6_addr, from->address, sizeof(in6->sin6_addr));
		in6->sin6_scope_id = from->scope_id;
	}
	shim_lock(&ia->lock);
	body = ia->body;
	if (body) {
		for (local = body->locals; local; local = local->next)
			if (!memcmp(&local->address, &at, sizeof(at)))
				break;
		if (!local) {
			local = calloc(1, sizeof(*local));
			if (local) {
				local->address = at;
				local->next = body->locals;
				body->locals = local;
			}
		}
	}
	shim_unlock(&ia->lock);
	return local ? (DAT_IA_ADDRESS_PTR)&local->address : NULL;
}

static void cr_event(struct shim_object *ia,
		     const struct kdapl_uapi_cr_event *from,
		     DAT_CR_ARRIVAL_EVENT_DATA *to)
{
	to->sp_handle.psp_handle = object_seen(from->sp, ia);
	to->local_ia_address_ptr = local_address(ia, from);
	to->conn_qual = from->conn_qual;
	to->cr_handle = shim_object_get(from->cr, SHIM_CR, ia, NULL);
	face_cr_arrival(to);
}

/*
 * Copies the peer's private data into memory of the EP, where it stays (E7). If the EP was reset
 * after the event, the kernel gives none, as it compares @from->life. Then the EP may already
 * have the private data of its next connection, which is left alone.
 */
static void fetch_private_data(struct shim_object *ep,
			       const struct kdapl_uapi_connect_event *from,
			       DAT_CONNECTION_EVENT_DATA *to)
{
	uint32_t size = from->private_data_size;
	struct kdapl_uapi_ep_private_data arg = {
		.size = size,
		.life = from->life,
	};
	void *data = calloc(1, size), *old;
	struct shim_ep *body;

	arg.ep = shim_token(ep);
	arg.buf = (uintptr_t)data;
	if (!data ||
	    shim_ioctl(KDAPL_IOC_EP_PRIVATE_DATA, &arg, RET_NO_FAULT) ||
	    !arg.length) {
		free(data);
		return;
	}

	shim_lock(&ep->lock);
	body = shim_is(ep, SHIM_EP, arg.ep) ? shim_ep_body(ep) : NULL;
	if (body) {
		old = body->private_data;
		body->private_data = data;
		to->private_data = data;
		to->private_data_size = arg.length < size ? arg.length : size;
	} else {
		old = data;
	}
	shim_unlock(&ep->lock);
	free(old);
}

static void connect_event(struct shim_object *ia, uint32_t number,
			  const struct kdapl_uapi_connect_event *from,
			  DAT_CONNECTION_EVENT_DATA *to)
{
	struct shim_object *ep = object_seen(from->ep, ia);

	to->ep_handle = ep;
	to->private_data_size = 0;
	to->private_data = NULL;
	if (ep && from->private_data_size && face_has_private_data(number))
		fetch_private_data(ep, from, to);
}

/* shim_event - make the DAT_EVENT of an event that was taken from @evd */
void shim_event(struct shim_object *evd, const struct kdapl_uapi_event *from,
		DAT_EVENT *event)
{
	DAT_EVENT_DATA *data = &event->event_data;
	struct shim_object *ia = evd->ia;

	event->event_number = from->event_number;
	event->evd_handle = evd;
	switch (from->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		shim_dto_event(evd, &from->dto, event);
		break;
	case KDAPL_EVENT_EXTENDED:
		shim_dto_event(evd, &from->dto, event);
		face_extended(event, from->dto.operation, from->dto.immediate);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		data->rmr_completion_event_data.rmr_handle =
			shim_handle(from->rmr.rmr);
		data->rmr_completion_event_data.user_cookie.as_64 =
			from->rmr.cookie;
		data->rmr_completion_event_data.status = from->rmr.status;
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		cr_event(ia, &from->cr, &data->cr_arrival_event_data);
		break;
	case DAT_SOFTWARE_EVENT:
		data->software_event_data.pointer =
			(void *)(uintptr_t)from->software.pointer;
		break;
	default:
		if (from->event_number >= DAT_ASYNC_ERROR_EVD_OVERFLOW) {
			data->asynch_error_event_data.dat_handle =
				handle_shown(from->async.handle, ia);
			data->asynch_error_event_data.reason =
				from->async.reason;
			break;
		}
		connect_event(ia, from->event_number, &from->connect,
			      &data->connect_event_data);
	}
}
