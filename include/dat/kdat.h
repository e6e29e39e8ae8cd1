/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kDAPL: Direct Access Transport API 1.2 for kernel consumers.
 *
 * This is the header that a kernel module includes. It adds to dat.h what
 * user programs do not have: upcalls in the place of waiting, registration
 * of kernel and physical memory, and hints about memory.
 */
#ifndef _KDAT_H_
#define _KDAT_H_

#include <dat/kdat_config.h>
#include <dat/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What dat.h needs from this level */

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL	= 0x00,
	DAT_MEM_TYPE_LMR	= 0x01,
	DAT_MEM_TYPE_PHYSICAL	= 0x10,
	DAT_MEM_TYPE_PLATFORM	= 0x20,
	DAT_MEM_TYPE_IA		= 0x40,
	DAT_MEM_TYPE_BYPASS	= 0x80
} DAT_MEM_TYPE;

/* The kernel has no CNO: SRQ has the number that CNO has at user level. */
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
	DAT_HANDLE_TYPE_SRQ	= 9
} DAT_HANDLE_TYPE;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE		= 0x01,
	DAT_EVD_FIELD_EVD_QLEN		= 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY	= 0x04,
	DAT_EVD_FIELD_UPCALL		= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS		= 0x10,
	DAT_EVD_FIELD_ALL		= 0x1f
} DAT_EVD_PARAM_MASK;

#ifdef __cplusplus
}
#endif

#include <dat/dat.h>
#include <dat/kdat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Upcalls */

/*
 * How many upcalls of an EVD may run at a time. With DISABLE none starts any
 * more; TEARDOWN also waits for the one that runs.
 */
typedef enum dat_upcall_policy {
	DAT_UPCALL_TEARDOWN		= -1,
	DAT_UPCALL_DISABLE		= 0,
	DAT_UPCALL_SINGLE_INSTANCE	= 1,
	DAT_UPCALL_MANY			= 100
} DAT_UPCALL_POLICY;

/*
 * Called with an event already taken from the EVD; the pointer is good
 * during the upcall. An upcall of an EVD for DTO, RMR bind and software
 * events alone runs in softirq context, unless the EVD was created with
 * KDAT_EVD_PROCESS_FLAG (kdat_linux.h); any other runs in process context.
 */
typedef void (*DAT_UPCALL_FUNC)(DAT_PVOID instance_data, const DAT_EVENT *event,
				DAT_BOOLEAN more_events);

typedef struct dat_upcall_object {
	DAT_PVOID instance_data;
	DAT_UPCALL_FUNC upcall_func;
} DAT_UPCALL_OBJECT;

/* No upcall. */
#define DAT_UPCALL_NULL \
	((DAT_UPCALL_OBJECT) { (DAT_PVOID)NULL, (DAT_UPCALL_FUNC)NULL })

/* For dat_evd_modify_upcall: keep the upcall object that the EVD has. */
#define DAT_UPCALL_SAME		((DAT_UPCALL_OBJECT *)NULL)

/* Interface Adapter (IA) */

#define DAT_PROVIDER_FIELD_UPCALL_POLICY			((DAT_PROVIDER_ATTR_MASK)0x2000)

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
	DAT_UPCALL_POLICY upcall_policy;
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
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

/* Local Memory Region (LMR) */

/* What a registration should be optimized for. */
typedef enum dat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE	= 0,
	DAT_MEM_OPTIMIZE_IA		= 1,
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE	= 2,
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE	= 4
} DAT_MEM_OPTIMIZE_FLAGS;

#define DAT_MEM_OPT		DAT_MEM_OPTIMIZE_FLAGS

/* The memory type says which member is valid; for_pa goes with PHYSICAL. */
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_PVOID for_platform;
	DAT_PADDR for_pa;
	DAT_PADDR for_ia;
} DAT_REGION_DESCRIPTION;

struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

/* Event Dispatcher (EVD) */

struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UPCALL_OBJECT upcall;
	DAT_EVD_FLAGS evd_flags;
};

/* IA functions */

/* The length and alignment with which such registrations work best. May sleep. */
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			       DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment);

/* LMR functions */

/*
 * Registers memory. DAT lets the registered range be larger than the one asked
 * for; kdapl's is exactly that. May sleep.
 */
DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS privileges,
			   DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle,
			   DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);

/* EVD functions */

/* Creates an EVD for the streams in the flags, with its upcall. May sleep. */
DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle);

/*
 * Changes the policy and the upcall. If events are queued, an active policy starts
 * upcalls for them at once. May sleep; with TEARDOWN waits for the running upcall.
 */
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall);

#ifdef __cplusplus
}
#endif

#endif /* _KDAT_H_ */
