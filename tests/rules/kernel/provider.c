// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A provider beside kdapl in the registry of kernel consumers: this module is one, with a
 * handful of calls. What is sent on one of its endpoints arrives there.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "kernel.h"
#include <dat/dat_registry.h>

/* Any of its objects; of an EP @peer is the EVD, of an EVD @cookie what is queued. */
struct loop {
	const DAT_PROVIDER *provider;
	DAT_HANDLE_TYPE type;
	struct loop *peer;
	DAT_DTO_COOKIE cookie;
	bool queued;
};

static const DAT_PROVIDER loop_provider, other_provider;

static DAT_RETURN loop_make(DAT_HANDLE_TYPE type, struct loop *peer, DAT_HANDLE *handle)
{
	struct loop *loop = kzalloc(sizeof(*loop), GFP_KERNEL);

	if (!loop)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	loop->provider = &loop_provider;
	loop->type = type;
	loop->peer = peer;
	*handle = loop;
	return DAT_SUCCESS;
}

static DAT_RETURN loop_free(DAT_HANDLE handle)
{
	kfree(handle);
	return DAT_SUCCESS;
}

static DAT_RETURN loop_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			    DAT_IA_HANDLE *ia)
{
	return loop_make(DAT_HANDLE_TYPE_IA, NULL, ia);
}

static DAT_RETURN loop_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	if (flags != DAT_CLOSE_ABRUPT_FLAG)
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	return loop_free(ia);
}

static DAT_RETURN loop_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	*type = ((struct loop *)handle)->type;
	return DAT_SUCCESS;
}

static DAT_RETURN loop_evd(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			   const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			   DAT_EVD_HANDLE *evd)
{
	return loop_make(DAT_HANDLE_TYPE_EVD, NULL, evd);
}

static DAT_RETURN loop_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct loop *evd = handle;

	if (!evd->queued)
		return DAT_ERROR(DAT_QUEUE_EMPTY, 0);
	evd->queued = false;
	memset(event, 0, sizeof(*event));
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	event->event_data.dto_completion_event_data.user_cookie = evd->cookie;
	return DAT_SUCCESS;
}

static DAT_RETURN loop_ep(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep)
{
	return loop_make(DAT_HANDLE_TYPE_EP, recv, ep);
}

static DAT_RETURN loop_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct loop *evd = ((struct loop *)ep)->peer;

	evd->cookie = cookie;
	evd->queued = true;
	return DAT_SUCCESS;
}

static const DAT_PROVIDER loop_provider = {
	.device_name = "loop",
	.ia_open_func = loop_open,
	.ia_close_func = loop_close,
	.get_handle_type_func = loop_type,
	.evd_kcreate_func = loop_evd,
	.evd_dequeue_func = loop_dequeue,
	.evd_free_func = loop_free,
	.ep_create_func = loop_ep,
	.ep_post_send_func = loop_send,
	.ep_free_func = loop_free,
};

static const DAT_PROVIDER_INFO loop_info = {
	.ia_name = "loop0",
	.dapl_version_major = 1,
	.dapl_version_minor = 3,
	.is_thread_safe = DAT_TRUE,
};

static DAT_RETURN loop_ia(DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)"loop0", 8, &async, ia);
}

static DAT_RETURN openv(DAT_UINT32 major, DAT_UINT32 minor)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv((DAT_NAME_PTR)"loop0", 8, &async, &ia, major, minor, DAT_TRUE);
}

/* Kdapl's adapters come first, and another name is listed behind them. */
static void listed(DAT_COUNT before)
{
	DAT_PROVIDER_INFO *infos, **list;
	DAT_COUNT number, i;

	infos = kcalloc(before + 1, sizeof(*infos), GFP_KERNEL);
	list = kcalloc(before + 1, sizeof(*list), GFP_KERNEL);
	if (!CHECK(infos && list))
		goto out;
	for (i = 0; i <= before; i++)
		list[i] = &infos[i];
	BAD_ARG(dat_registry_list_providers(before, &number, list), 1);
	CHECK_EQ(number, before + 1);
	BAD_ARG(dat_registry_list_providers(before + 1, NULL, list), 2);
	BAD_ARG(dat_registry_list_providers(before + 1, &number, NULL), 3);
	if (OK(dat_registry_list_providers(before + 1, &number, list))) {
		CHECK_EQ(number, before + 1);
		CHECK(!strcmp(infos[before].ia_name, "loop0"));
		CHECK_EQ(infos[before].dapl_version_minor, 3);
	}
	list[before] = NULL;
	BAD_ARG(dat_registry_list_providers(before + 1, &number, list), 3);
out:
	kfree(infos);
	kfree(list);
}

static void added(void)
{
	DAT_PROVIDER_INFO own = loop_info, endless = loop_info;
	DAT_COUNT before;
	DAT_IA_HANDLE ia;

	IS(loop_ia(&ia), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	dat_registry_list_providers(0, &before, NULL);
	memset(endless.ia_name, 'x', sizeof(endless.ia_name));
	BAD_ARG(dat_registry_add_provider(NULL, &loop_info), 1);
	BAD_ARG(dat_registry_add_provider(&loop_provider, NULL), 2);
	BAD_ARG(dat_registry_add_provider(&loop_provider, &endless), 2);
	BAD_ARG(dat_registry_remove_provider(&loop_provider, &loop_info), 2);
	/* The key of an adapter of kdapl's */
	strscpy(own.ia_name, side_a.name, sizeof(own.ia_name));
	own.dapl_version_minor = 2;
	IS(dat_registry_add_provider(&loop_provider, &own), DAT_PROVIDER_ALREADY_REGISTERED, 0);

	if (!OK(dat_registry_add_provider(&loop_provider, &loop_info)))
		return;
	IS(dat_registry_add_provider(&other_provider, &loop_info),
	   DAT_PROVIDER_ALREADY_REGISTERED, 0);
	listed(before);
	IS(openv(1, 4), DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	IS(openv(2, 0), DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	BAD_ARG(dat_registry_remove_provider(NULL, &loop_info), 1);
	BAD_ARG(dat_registry_remove_provider(&other_provider, &loop_info), 1);
	BAD_ARG(dat_registry_remove_provider(&loop_provider, NULL), 2);
	if (OK(loop_ia(&ia))) {
		IS(dat_registry_remove_provider(&loop_provider, &loop_info),
		   DAT_PROVIDER_IN_USE, 0);
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	OK(dat_registry_remove_provider(&loop_provider, &loop_info));
	IS(loop_ia(&ia), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

/* What is no handle of anybody's, with memory behind it and without. */
static void forged(void)
{
	const DAT_PROVIDER *word = &other_provider;

	BAD_HANDLE(dat_pz_free(&word), PZ);
	BAD_HANDLE(dat_pz_free((DAT_HANDLE)-8L), PZ);
	BAD_HANDLE(dat_pz_free((DAT_HANDLE)(LONG_MIN + 4096)), PZ);
	BAD_HANDLE(dat_ia_close(&word, DAT_CLOSE_ABRUPT_FLAG), IA);
}

static void calls(DAT_IA_HANDLE ia)
{
	DAT_LMR_TRIPLET iov = {};
	DAT_EVD_HANDLE evd;
	DAT_HANDLE_TYPE type;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	OK(dat_get_handle_type(ia, &type));
	CHECK_EQ(type, DAT_HANDLE_TYPE_IA);
	if (!OK(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &evd)))
		return;
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	if (OK(dat_ep_create(ia, NULL, evd, evd, evd, NULL, &ep))) {
		OK(dat_ep_post_send(ep, 0, &iov, cookie(7), 0));
		OK(dat_evd_dequeue(evd, &event));
		CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 7);
		/* It has neither of these. */
		IS(dat_ep_post_recv(ep, 0, &iov, cookie(7), 0), DAT_NOT_IMPLEMENTED, 0);
		IS(dat_ep_reset(ep), DAT_NOT_IMPLEMENTED, 0);
		/* And it is nothing to kdapl's objects. */
		BAD_HANDLE(dat_ep_create(side_a.ia, ia, side_a.async, NULL, NULL, NULL, &ep), PZ);
		OK(dat_ep_free(ep));
	}
	IS(dat_pz_create(ia, &pz), DAT_NOT_IMPLEMENTED, 0);
	OK(dat_evd_free(evd));
}

static void used(void)
{
	int refs = module_refcount(THIS_MODULE);
	DAT_IA_HANDLE ia, second;

	if (!OK(dat_registry_add_provider(&loop_provider, &loop_info)))
		return;
	/* Without an open IA no handle is followed. */
	forged();
	if (OK(loop_ia(&ia))) {
		OK(loop_ia(&second));
		CHECK_EQ(module_refcount(THIS_MODULE), refs + 2);
		forged();
		calls(ia);
		OK(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
		BAD_STATE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
		CHECK_EQ(module_refcount(THIS_MODULE), refs + 1);
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		CHECK_EQ(module_refcount(THIS_MODULE), refs);
	}
	OK(dat_registry_remove_provider(&loop_provider, &loop_info));
}

static const struct scenario scenarios[] = {
	SCENARIO("G2 G5 G6 G7 G9 G12 G13 a module adds a provider", added),
	SCENARIO("E5 G2 a provider beside kdapl is called", used),
};

SCENARIO_TABLE(provider_table);
