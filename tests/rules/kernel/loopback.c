// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A provider of kDAT as another module might be one: it knows only the headers of kDAT.
 * What is sent on one of its endpoints arrives at the same endpoint.  It has a handful
 * of calls; the others are missing.
 *
 * Loaded and unloaded by a scenario of provider.c.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <dat/kdat.h>
#include <dat/dat_registry.h>

#define FAILED(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | DAT_##type | DAT_##subtype))

/* Any of its objects; an EP has the EVD of its receives, an EVD room for one event. */
struct object {
	const DAT_PROVIDER *provider;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	struct object *evd;
	DAT_DTO_COOKIE posted;
	DAT_EVENT event;
	bool queued;
};

static const DAT_PROVIDER table;

static DAT_RETURN make(DAT_HANDLE_TYPE type, DAT_HANDLE *handle)
{
	struct object *obj = kzalloc(sizeof(*obj), GFP_KERNEL);

	if (!obj)
		return FAILED(INSUFFICIENT_RESOURCES, RESOURCE_MEMORY);
	obj->provider = &table;
	obj->type = type;
	*handle = obj;
	return DAT_SUCCESS;
}

static DAT_RETURN drop(DAT_HANDLE handle)
{
	kfree(handle);
	return DAT_SUCCESS;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia)
{
	if (strcmp(name, "loopback"))
		return FAILED(INVALID_PARAMETER, INVALID_ARG1);
	if (qlen <= 0)
		return FAILED(INVALID_PARAMETER, INVALID_ARG2);
	return make(DAT_HANDLE_TYPE_IA, ia);
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	if (flags != DAT_CLOSE_ABRUPT_FLAG)
		return FAILED(INVALID_STATE, INVALID_STATE_IA_IN_USE);
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

static DAT_RETURN evd_kcreate(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			      const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			      DAT_EVD_HANDLE *evd)
{
	return make(DAT_HANDLE_TYPE_EVD, evd);
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct object *evd = handle;

	if (!evd->queued)
		return FAILED(QUEUE_EMPTY, NO_SUBTYPE);
	*event = evd->event;
	evd->queued = false;
	return DAT_SUCCESS;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			    DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DAT_RETURN ret = make(DAT_HANDLE_TYPE_EP, ep);

	if (ret == DAT_SUCCESS)
		((struct object *)*ep)->evd = recv;
	return ret;
}

static DAT_RETURN ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	((struct object *)handle)->posted = cookie;
	return DAT_SUCCESS;
}

/* The sender hears nothing of it: his completions are always suppressed. */
static DAT_RETURN ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct object *ep = handle, *evd = ep->evd;

	memset(&evd->event, 0, sizeof(evd->event));
	evd->event.event_number = DAT_DTO_COMPLETION_EVENT;
	evd->event.evd_handle = evd;
	evd->event.event_data.dto_completion_event_data.ep_handle = ep;
	evd->event.event_data.dto_completion_event_data.user_cookie = ep->posted;
	evd->queued = true;
	return DAT_SUCCESS;
}

static const DAT_PROVIDER table = {
	.device_name = "loopback",
	.ia_open_func = ia_open,
	.ia_close_func = ia_close,
	.set_consumer_context_func = set_context,
	.get_consumer_context_func = get_context,
	.get_handle_type_func = get_type,
	.evd_kcreate_func = evd_kcreate,
	.evd_dequeue_func = evd_dequeue,
	.evd_free_func = drop,
	.ep_create_func = ep_create,
	.ep_post_send_func = ep_post_send,
	.ep_post_recv_func = ep_post_recv,
	.ep_free_func = drop,
};

static const DAT_PROVIDER_INFO info = {
	.ia_name = "loopback",
	.dapl_version_major = DAT_VERSION_MAJOR,
	.dapl_version_minor = DAT_VERSION_MINOR,
	.is_thread_safe = DAT_TRUE,
};

static int __init loopback_init(void)
{
	return dat_registry_add_provider(&table, &info) == DAT_SUCCESS ? 0 : -EEXIST;
}

/* No IA is open: the module would not be unloaded. */
static void __exit loopback_exit(void)
{
	WARN_ON(dat_registry_remove_provider(&table, &info) != DAT_SUCCESS);
}

module_init(loopback_init);
module_exit(loopback_exit);
MODULE_DESCRIPTION("A provider of kDAT beside kdapl");
MODULE_LICENSE("Dual BSD/GPL");
