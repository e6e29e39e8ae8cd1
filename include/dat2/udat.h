/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uDAPL: Direct Access Transport API 2.0 for user programs.
 *
 * This is the header that a program includes. <dat/udat.h> is that of DAT 1.2, and a source file
 * has one or the other.
 */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat2/udat_config.h>
#include <dat2/dat_platform_specific.h>

/* Marks of parameters, for programs that use them. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What dat.h needs from this level */

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0,
	DAT_MEM_TYPE_LMR		= 1,
	DAT_MEM_TYPE_SHARED_VIRTUAL	= 2
} DAT_MEM_TYPE;

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR	= 0,
	DAT_HANDLE_TYPE_EP	= 1,
	DAT_HANDLE_TYPE_EVD	= 2,
	DAT_HANDLE_TYPE_IA	= 3,
	DAT_HANDLE_TYPE_LMR	= 4,
	DAT_HANDLE_TYPE_PSP	= 5,
	DAT_HANDLE_TYPE_PZ	= 6,
	DAT_HANDLE_TYPE_RMR	= 7,
	DAT_HANDLE_TYPE_RSP	= 8,
	DAT_HANDLE_TYPE_CNO	= 9,
	DAT_HANDLE_TYPE_SRQ	= 10,
	DAT_HANDLE_TYPE_CSP	= 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE = 12
} DAT_HANDLE_TYPE;

/*
 * Three properties in one: enabled or not, waitable or not, and the configuration. Of the
 * latter, THRESHOLD is a value of its own, not NOTIFY and SOLICITED together.
 */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED		= 0x01,
	DAT_EVD_STATE_DISABLED		= 0x02,
	DAT_EVD_STATE_WAITABLE		= 0x04,
	DAT_EVD_STATE_UNWAITABLE	= 0x08,
	DAT_EVD_STATE_CONFIG_NOTIFY	= 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED	= 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD	= 0x30
} DAT_EVD_STATE;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE	= 0x01,
	DAT_EVD_FIELD_EVD_QLEN	= 0x02,
	DAT_EVD_FIELD_EVD_STATE	= 0x04,
	DAT_EVD_FIELD_CNO	= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS	= 0x10,
	DAT_EVD_FIELD_ALL	= 0x1f
} DAT_EVD_PARAM_MASK;

#ifdef __cplusplus
}
#endif

#include <dat2/dat.h>
#include <dat2/udat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Interface Adapter (IA) */

/* For dat_ia_openv: an earlier open of this IA has made the asynchronous EVD. */
#define DAT_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)1)
/* Returned by dat_ia_openv and dat_ia_query: that EVD is not this caller's. */
#define DAT_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)2)

/* Which PZs an EP and the memory it uses may have. */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE		= 0,
	DAT_PZ_SHAREABLE	= 1
} DAT_PZ_SUPPORT;

#define DAT_PROVIDER_FIELD_PZ_SUPPORT				((DAT_PROVIDER_ATTR_MASK)0x2000)

/*
 * Rows and columns of the merging matrix: software, connection request,
 * DTO, connection, RMR bind, asynchronous.
 */
struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment;
	const DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_COUNT rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_signal_safe;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

/* Local Memory Region (LMR) */

/* Length of the name of memory that processes share. */
#define DAT_LMR_COOKIE_SIZE	40

typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/* The memory type says which member is valid. */
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

/* Consumer Notification Object (CNO) */

typedef DAT_HANDLE DAT_CNO_HANDLE;

/* Called once when an event arrives at an EVD of the CNO. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data,
			       DAT_EVD_HANDLE evd_handle);

typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	((DAT_OS_WAIT_PROXY_AGENT) { (DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL })

/* A descriptor that is readable when events are there. */
typedef int DAT_FD;

/* How a CNO tells of events, apart from dat_cno_wait: which member of the proxy is valid. */
typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE	= 0,
	DAT_PROXY_TYPE_AGENT	= 1,
	DAT_PROXY_TYPE_FD	= 2
} DAT_PROXY_TYPE;

typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PROXY_TYPE proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;
		DAT_FD fd;
		DAT_PVOID none;
	} proxy;
} DAT_CNO_PARAM;

/* PROXY and ALL are numbers that programs have compiled in; neither is made of the others' bits. */
typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE		= 0x1,
	DAT_CNO_FIELD_PROXY_TYPE	= 0x2,
	DAT_CNO_FIELD_PROXY		= 0x3,
	DAT_CNO_FIELD_ALL		= 0x4
} DAT_CNO_PARAM_MASK;

/* Event Dispatcher (EVD) */

struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
};

/* LMR functions */

/*
 * Registers memory and pins it. DAT lets the registered range be larger than
 * the one asked for; kdapl's is exactly that.
 */
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description,
			  DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			  DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			  DAT_LMR_HANDLE *lmr_handle,
			  DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context,
			  DAT_VLEN *registered_length,
			  DAT_VADDR *registered_address);

/* EVD functions */

/* Creates an EVD for the streams in the flags, its CNO may be null. */
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle);

/* Changes the CNO, or removes it with a null handle. */
DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
			      DAT_CNO_HANDLE cno_handle);

/* Lets events trigger the CNO again. */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/* Keeps events from triggering the CNO. */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/*
 * Waits until the threshold number of events is there or the time is over,
 * then takes the oldest. Blocks.
 */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, DAT_EVENT *event,
			DAT_COUNT *n_more_events);

/* Wakes the waiter and lets dat_evd_wait fail from now on. */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/* Allows dat_evd_wait again. */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/* CNO functions */

/* Creates a CNO; the agent may be DAT_OS_WAIT_PROXY_AGENT_NULL. */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle,
			  DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle);

/* Creates a CNO with a descriptor, which is readable while the CNO is triggered. */
DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd,
			     DAT_CNO_HANDLE *cno_handle);

/* Takes the EVD that has triggered a CNO, or returns DAT_QUEUE_EMPTY. */
DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle,
			   DAT_EVD_HANDLE *evd_handle);

/* Changes the agent. */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				DAT_OS_WAIT_PROXY_AGENT agent);

/* Parameters of a CNO. */
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
			 DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param);

/*
 * Frees a CNO that no EVD uses and nobody waits on. Waits, as dat_ia_close does,
 * until a call of the agent that was due has returned, unless the agent itself calls
 * this. So the caller must not hold a lock that the agent takes.
 */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle);

/* Waits until an event arrives at one of the CNO's EVDs. Blocks. */
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* _UDAT_H_ */
