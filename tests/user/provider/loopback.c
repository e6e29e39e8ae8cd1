// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A provider as somebody else would write it: a shared object that knows the installed headers
 * of DAT, and no more. What is sent on one of its endpoints arrives there. It has a handful of
 * calls; of the others one answers that it is not supported, and the rest are missing.
 *
 * The instance data of its record may have it register nothing ("silent"), another name
 * ("other"), or a handle with a table of its own ("astray"), or have no room for IAs ("full").
 */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>

#define FAILED(type, subtype)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

/* Counted by the test, if it is one that counts. */
extern int loopback_inits, loopback_finis;
#pragma weak loopback_inits
#pragma weak loopback_finis

/* How many threads wait, and whether the test lets those return whose IA is closed. */
extern _Atomic int loopback_waiters, loopback_let_go;
#pragma weak loopback_waiters
#pragma weak loopback_let_go

struct object {
	DAT_PROVIDER *provider;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	struct object *recv_evd;	/* of an EP */
	struct object *request_evd;
	DAT_LMR_TRIPLET buffer;		/* posted to it */
	DAT_DTO_COOKIE cookie;
	DAT_EVENT events[8];		/* of an EVD */
	int first;
	int number;
};

static DAT_PROVIDER table, stray_table;
static _Atomic int open_ias;
static int astray, full;

static DAT_RETURN make(DAT_HANDLE_TYPE type, DAT_HANDLE *handle)
{
	struct object *obj = calloc(1, sizeof(*obj));

	if (!obj)
		return FAILED(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	obj->provider = &table;
	obj->type = type;
	*handle = obj;
	return DAT_SUCCESS;
}

static DAT_RETURN drop(DAT_HANDLE handle)
{
	free(handle);
	return DAT_SUCCESS;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia)
{
	DAT_RETURN ret;

	(void)name;
	(void)async_evd;
	if (qlen <= 0)
		return FAILED(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (full)
		return FAILED(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = make(DAT_HANDLE_TYPE_IA, ia);
	if (!ret && astray)
		((struct object *)*ia)->provider = &stray_table;
	open_ias += !ret;
	return ret;
}

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK mask,
			   DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			   DAT_PROVIDER_ATTR *provider_attr)
{
	(void)ia;
	(void)async_evd;
	(void)mask;
	(void)attr;
	if (provider_mask)
		strcpy(provider_attr->provider_name, "loopback");
	return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	if (flags != DAT_CLOSE_ABRUPT_FLAG)
		return FAILED(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	open_ias--;
	return drop(ia);
}

static DAT_RETURN set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	((struct object *)handle)->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = ((struct object *)handle)->context;
	return DAT_SUCCESS;
}

static DAT_RETURN get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	*type = ((struct object *)handle)->type;
	return DAT_SUCCESS;
}

static DAT_RETURN evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			     DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	(void)ia;
	(void)cno;
	(void)flags;
	if (qlen > 8)
		return FAILED(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	return make(DAT_HANDLE_TYPE_EVD, evd);
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct object *evd = handle;

	if (!evd->number)
		return FAILED(DAT_QUEUE_EMPTY, 0);
	*event = evd->events[evd->first++ % 8];
	evd->number--;
	return DAT_SUCCESS;
}

/* What comes of a wait here is that its IA is closed. */
static DAT_RETURN evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			   DAT_EVENT *event, DAT_COUNT *more)
{
	(void)evd;
	(void)timeout;
	(void)threshold;
	(void)event;
	(void)more;
	loopback_waiters++;
	while (!loopback_let_go)
		sched_yield();
	return FAILED(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
}

static void completed(struct object *evd, struct object *ep, DAT_DTO_COOKIE cookie, size_t length)
{
	DAT_EVENT *event = &evd->events[(evd->first + evd->number++) % 8];

	memset(event, 0, sizeof(*event));
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	event->event_data.dto_completion_event_data.ep_handle = ep;
	event->event_data.dto_completion_event_data.user_cookie = cookie;
	event->event_data.dto_completion_event_data.transfered_length = length;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *handle)
{
	DAT_RETURN ret = make(DAT_HANDLE_TYPE_EP, handle);
	struct object *ep = *handle;

	(void)ia;
	(void)pz;
	(void)connect_evd;
	(void)attr;
	if (!ret) {
		ep->recv_evd = recv_evd;
		ep->request_evd = request_evd;
	}
	return ret;
}

static DAT_RETURN post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct object *ep = handle;

	(void)flags;
	if (segments != 1)
		return FAILED(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ep->buffer = *iov;
	ep->cookie = cookie;
	return DAT_SUCCESS;
}

static DAT_RETURN post_send(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct object *ep = handle;

	(void)flags;
	if (segments != 1 || iov->segment_length > ep->buffer.segment_length)
		return FAILED(DAT_LENGTH_ERROR, 0);
	memcpy((void *)(uintptr_t)ep->buffer.virtual_address,
	       (const void *)(uintptr_t)iov->virtual_address, iov->segment_length);
	completed(ep->recv_evd, ep, ep->cookie, iov->segment_length);
	completed(ep->request_evd, ep, cookie, iov->segment_length);
	return DAT_SUCCESS;
}

static DAT_RETURN no_rmr(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	(void)pz;
	(void)rmr;
	return FAILED(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	(void)ia;
	return make(DAT_HANDLE_TYPE_PZ, pz);
}

static DAT_PROVIDER table = {
	.device_name = "loopback",
	.ia_open_func = ia_open,
	.ia_query_func = ia_query,
	.ia_close_func = ia_close,
	.set_consumer_context_func = set_context,
	.get_consumer_context_func = get_context,
	.get_handle_type_func = get_type,
	.evd_create_func = evd_create,
	.evd_wait_func = evd_wait,
	.evd_dequeue_func = evd_dequeue,
	.evd_free_func = drop,
	.ep_create_func = ep_create,
	.ep_post_recv_func = post_recv,
	.ep_post_send_func = post_send,
	.ep_free_func = drop,
	.pz_create_func = pz_create,
	.pz_free_func = drop,
	.rmr_create_func = no_rmr,
};

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	DAT_PROVIDER_INFO other = *info;

	if (&loopback_inits)
		loopback_inits++;
	stray_table = table;
	astray = !strcmp(instance_data, "astray");
	full = !strcmp(instance_data, "full");
	other.dapl_version_minor += 7;
	if (!strcmp(instance_data, "other"))
		dat_registry_add_provider(&table, &other);
	else if (strcmp(instance_data, "silent"))
		dat_registry_add_provider(&table, info);
}

/* While an IA is open it would be refused. */
void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	if (!open_ias && &loopback_finis)
		loopback_finis++;
	dat_registry_remove_provider(&table, info);
}
