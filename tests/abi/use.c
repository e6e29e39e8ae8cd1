// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A consumer and a provider as written for DAT 1.2, for what the tables
 * cannot check; with USE_DAT2 for DAT 2.0, where nothing of it changes. It has
 * to compile in every dialect of C, at user level in C++ as well, and in the
 * kernel without any user header.
 */
#ifdef __KERNEL__
#include <dat/kdat.h>
#include <dat/kdat.h>
#elif defined(USE_DAT2)
#include <dat2/udat.h>
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_ib_extensions.h>
#else
#include <dat/udat.h>
#include <dat/udat.h>
#include <netinet/in.h>
#endif
#ifndef USE_DAT2
#include <dat/dat_registry.h>
#include <dat/dat_registry.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

DAT_RETURN consumer(DAT_EP_HANDLE ep, DAT_IA_ATTR *attr, DAT_EVENT *event);
DAT_RETURN provider_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

#ifdef __cplusplus
}
#endif

DAT_RETURN consumer(DAT_EP_HANDLE ep, DAT_IA_ATTR *attr, DAT_EVENT *event)
{
	char name[DAT_NAME_MAX_LENGTH] = "ia0";
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_SOCK_ADDR6 address;
	DAT_DTO_COOKIE cookie;
	DAT_RETURN ret;

	ret = dat_ia_open(name, 8, &async_evd, &ia);
	if (ret != DAT_SUCCESS) {
		if (DAT_IS_WARNING(ret))
			return DAT_GET_SUBTYPE(ret);
		switch (DAT_GET_TYPE(ret)) {
		case DAT_NAME_NOT_FOUND:
		case DAT_NOT_IMPLEMENTED:
			return ret;
		}
	}

	ret = dat_ia_query(ia, &async_evd, DAT_IA_ALL, attr,
			   DAT_PROVIDER_FIELD_NONE, NULL);
	cookie.as_64 = (DAT_UINT64)attr->max_message_size + sizeof(address);
	ret |= dat_ep_post_send(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	ret |= DAT_EP_POST_SEND(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	ret |= DAT_EP_RESET(ep);

	switch (event->event_data.rmr_completion_event_data.status) {
	case DAT_RMR_BIND_SUCCESS:
	case DAT_RMR_BIND_FAILURE:
		break;
	default:
		ret = (DAT_RETURN)event->event_data.asynch_error_event_data.reason;
	}
	return ret;
}

#ifdef __KERNEL__

static const DAT_UPCALL_OBJECT no_upcall = DAT_UPCALL_NULL;

DAT_RETURN kernel_consumer(DAT_EVD_HANDLE evd);
DAT_RETURN kernel_consumer(DAT_EVD_HANDLE evd)
{
	return dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE, &no_upcall) |
	       dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, DAT_UPCALL_SAME) |
	       dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, &DAT_UPCALL_NULL);
}

#else

static DAT_RETURN user_consumer(IN DAT_IA_HANDLE ia, IN const DAT_IA_ATTR *attr,
				OUT DAT_CNO_HANDLE *cno, INOUT DAT_COUNT *n)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;

	/* members under the names they had in 1.1 */
	*n += (DAT_COUNT)attr->max_mtu_size + attr->max_rdma_read_per_ep;

	return dat_cno_create(ia, agent, cno) |
	       dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, cno);
}

void DAT_PROVIDER_INIT_FUNC_NAME(const DAT_PROVIDER_INFO *info,
				 const char *instance_data);
void DAT_PROVIDER_FINI_FUNC_NAME(const DAT_PROVIDER_INFO *info);

#endif

DAT_RETURN provider_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	static DAT_PROVIDER table;
	static DAT_PROVIDER *object = &table;
	DAT_PROVIDER_INFO info = {
		"ia0", DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE
	};

	table.device_name = name;
	table.ia_open_func = provider_ia_open;
	table.ep_reset_func = dat_ep_reset;
#ifndef __KERNEL__
	if (user_consumer(*ia, NULL, async_evd, &qlen))
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1;
#endif
	if (qlen < 0 || DAT_HANDLE_TO_PROVIDER(*ia) == *async_evd)
		return DAT_HW_DEFAULT;
	*ia = &object;
	return dat_registry_add_provider(&table, &info);
}
