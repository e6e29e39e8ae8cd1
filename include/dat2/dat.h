/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Direct Access Transport API 2.0, but for what only user programs have: handles,
 * attributes, parameters, events and 67 functions.
 *
 * Included by udat.h, never directly: memory types, handle types and EVD parameters have to
 * be there first.
 *
 * A program that was written for DAT 1.2 compiles with few changes, but is not binary
 * compatible: segments, events, attributes and many numbers differ.
 */
#ifndef _DAT_H_
#define _DAT_H_

#ifndef _UDAT_H_
#error "include <dat2/udat.h> instead"
#endif

#include <dat2/dat_platform_specific.h>
#include <dat2/dat_error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_VERSION_MAJOR	2
#define DAT_VERSION_MINOR	0

/* Basic types */

typedef enum dat_boolean {
	DAT_FALSE	= 0,
	DAT_TRUE	= 1
} DAT_BOOLEAN;

typedef DAT_UINT64 DAT_VADDR;		/* host byte order, 64 bits everywhere */
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT32 DAT_SEG_LENGTH;	/* of a segment, of a message */
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

/* What a Common Service Point listens for, in the terms of socket(2). */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;

typedef DAT_UINT32 DAT_TIMEOUT;		/* microseconds */

#define DAT_TIMEOUT_INFINITE	((DAT_TIMEOUT)0xffffffff)

typedef char *DAT_NAME_PTR;

#define DAT_NAME_MAX_LENGTH	256	/* with the terminating NUL */

typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;

#define DAT_WATERMARK_INFINITE	((DAT_COUNT)(-1))
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0
#define DAT_VALUE_UNKNOWN	((DAT_COUNT)(-2))

/* A buffer alignment that suits any provider; a program may set its own. */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT	256
#endif

/* A name and its value, both constant strings. */
typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

/* What a consumer attaches to an object or a transfer and gets back. */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/*
 * Handles. All are one type to the compiler: passing an EVD where an EP is
 * asked for is found out at run time, as DAT_INVALID_HANDLE.
 */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_CSP_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;

#define DAT_HANDLE_NULL		((DAT_HANDLE)NULL)

/* Flags of calls and objects */

/* One EVD may carry several of these streams. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x001,
	DAT_EVD_CR_FLAG		= 0x010,
	DAT_EVD_DTO_FLAG	= 0x020,
	DAT_EVD_CONNECTION_FLAG	= 0x040,
	DAT_EVD_RMR_BIND_FLAG	= 0x080,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1f0,
	DAT_EVD_EXTENSION_BASE	= 0x200
} DAT_EVD_FLAGS;

typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG		= 0x00,
	DAT_COMPLETION_SUPPRESS_FLAG		= 0x01,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG	= 0x02,
	DAT_COMPLETION_UNSIGNALLED_FLAG		= 0x04,
	DAT_COMPLETION_BARRIER_FENCE_FLAG	= 0x08,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG	= 0x10,
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20
} DAT_COMPLETION_FLAGS;

/* What is registered can be read locally, with or without LOCAL_READ. */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
	DAT_MEM_PRIV_EXTENSION_BASE	= 0x40
} DAT_MEM_PRIV_FLAGS;

/* Do the addresses of a region count from the address of its memory, or from zero? */
typedef enum dat_va_type {
	DAT_VA_TYPE_VA	= 0,
	DAT_VA_TYPE_ZB	= 1
} DAT_VA_TYPE;

/* Through which endpoints an RMR can be used. */
typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP	= 0,
	DAT_RMR_SCOPE_PZ	= 1,
	DAT_RMR_SCOPE_ANY	= 2
} DAT_RMR_SCOPE;

#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG		= 0x0,
	DAT_CONNECT_MULTIPATH_FLAG		= 0x1,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG	= 0x2
} DAT_CONNECT_FLAGS;

#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG	DAT_CONNECT_MULTIPATH_FLAG

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0,
	DAT_CLOSE_GRACEFUL_FLAG	= 1
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT	DAT_CLOSE_ABRUPT_FLAG

/* From here on, what dat_ia_open and dat_ia_close of extensions add to their arguments. */
#define DAT_OPEN_EXTENSION_BASE		0x1000
#define DAT_CLOSE_EXTENSION_BASE	0x2000

/* Who creates the EP of a connection request that a PSP receives. */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0,
	DAT_PSP_PROVIDER_FLAG	= 1
} DAT_PSP_FLAGS;

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0x0,
	DAT_QOS_HIGH_THROUGHPUT	= 0x1,
	DAT_QOS_LOW_LATENCY	= 0x2,
	DAT_QOS_ECONOMY		= 0x4,
	DAT_QOS_PREMIUM		= 0x8
} DAT_QOS;

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC		= 0,
	DAT_SERVICE_TYPE_EXTENSION_BASE	= 1
} DAT_SERVICE_TYPE;

/*
 * Scatter/gather elements. Addresses and lengths are in host byte order,
 * the contexts as the provider gave them.
 */
typedef struct dat_lmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_LMR_CONTEXT lmr_context;
} DAT_LMR_TRIPLET;

typedef struct dat_rmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_TRIPLET;

/* Interface Adapter (IA) */

/* Whose extensions an IA has. */
typedef enum dat_extension {
	DAT_EXTENSION_NONE	= 0,
	DAT_EXTENSION_IB	= 1,
	DAT_EXTENSION_IW	= 2
} DAT_EXTENSION;

/* Do two IAs make a pair, of which one takes over when the other fails? */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE		= 0,
	DAT_HA_TRUE		= 1,
	DAT_HA_UNKNOWN		= 2,
	DAT_HA_CONFLICTING	= 3,
	DAT_HA_EXTENSION_BASE	= 4
} DAT_HA_RELATIONSHIP;

typedef struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN zb_supported;
	DAT_EXTENSION extension_supported;
	DAT_COUNT extension_version;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

/*
 * Names of earlier versions of DAT. They are macros, so they also replace identifiers of
 * these names that have nothing to do with DAT.
 */
#define max_rdma_read_per_ep	max_rdma_read_per_ep_in
#define max_mtu_size		max_message_size

typedef DAT_UINT64 DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_NONE					((DAT_IA_ATTR_MASK)0x0)
#define DAT_IA_FIELD_IA_ADAPTER_NAME				((DAT_IA_ATTR_MASK)0x1)
#define DAT_IA_FIELD_IA_VENDOR_NAME				((DAT_IA_ATTR_MASK)0x2)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION			((DAT_IA_ATTR_MASK)0x4)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION			((DAT_IA_ATTR_MASK)0x8)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION			((DAT_IA_ATTR_MASK)0x10)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION			((DAT_IA_ATTR_MASK)0x20)
#define DAT_IA_FIELD_IA_ADDRESS_PTR				((DAT_IA_ATTR_MASK)0x40)
#define DAT_IA_FIELD_IA_MAX_EPS					((DAT_IA_ATTR_MASK)0x80)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP				((DAT_IA_ATTR_MASK)0x100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN			((DAT_IA_ATTR_MASK)0x200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT		((DAT_IA_ATTR_MASK)0x400)
#define DAT_IA_FIELD_IA_MAX_EVDS				((DAT_IA_ATTR_MASK)0x800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN				((DAT_IA_ATTR_MASK)0x1000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO		((DAT_IA_ATTR_MASK)0x2000)
#define DAT_IA_FIELD_IA_MAX_LMRS				((DAT_IA_ATTR_MASK)0x4000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE			((DAT_IA_ATTR_MASK)0x8000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS			((DAT_IA_ATTR_MASK)0x10000)
#define DAT_IA_FIELD_IA_MAX_PZS					((DAT_IA_ATTR_MASK)0x20000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE			((DAT_IA_ATTR_MASK)0x40000)
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE				((DAT_IA_ATTR_MASK)0x40000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE				((DAT_IA_ATTR_MASK)0x80000)
#define DAT_IA_FIELD_IA_MAX_RMRS				((DAT_IA_ATTR_MASK)0x100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS			((DAT_IA_ATTR_MASK)0x200000)
#define DAT_IA_FIELD_IA_MAX_SRQS				((DAT_IA_ATTR_MASK)0x400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ				((DAT_IA_ATTR_MASK)0x800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ			((DAT_IA_ATTR_MASK)0x1000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ		((DAT_IA_ATTR_MASK)0x2000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE		((DAT_IA_ATTR_MASK)0x4000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN			((DAT_IA_ATTR_MASK)0x8000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT			((DAT_IA_ATTR_MASK)0x10000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	((DAT_IA_ATTR_MASK)0x20000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	((DAT_IA_ATTR_MASK)0x40000000)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED				((DAT_IA_ATTR_MASK)0x80000000)
#define DAT_IA_FIELD_IA_EXTENSION				((DAT_IA_ATTR_MASK)0x100000000ULL)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION			((DAT_IA_ATTR_MASK)0x200000000ULL)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR			((DAT_IA_ATTR_MASK)0x400000000ULL)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR				((DAT_IA_ATTR_MASK)0x800000000ULL)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR				((DAT_IA_ATTR_MASK)0x1000000000ULL)
#define DAT_IA_FIELD_IA_VENDOR_ATTR				((DAT_IA_ATTR_MASK)0x2000000000ULL)
#define DAT_IA_FIELD_ALL					((DAT_IA_ATTR_MASK)0x3fffffffffULL)

#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED			DAT_IA_FIELD_IA_EXTENSION
#define DAT_IA_ALL						DAT_IA_FIELD_ALL

/* Provider of an IA; udat.h completes the structure. */

typedef struct dat_provider_attr DAT_PROVIDER_ATTR;

/* Who owns the IOV array of a post once the call has returned. */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER	= 0,
	DAT_IOV_PROVIDER_NOMOD	= 1,
	DAT_IOV_PROVIDER_MOD	= 2
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2
} DAT_EP_CREATOR_FOR_PSP;

/* How traffic is spread over the paths of a connection; kdapl has one path. */
typedef DAT_UINT32 DAT_HA_LB;

#define DAT_HA_LB_NONE		((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM	((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM	((DAT_HA_LB)2)

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

/* Bit 0x2000 is in udat.h. */
#define DAT_PROVIDER_FIELD_NONE					((DAT_PROVIDER_ATTR_MASK)0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME			((DAT_PROVIDER_ATTR_MASK)0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR		((DAT_PROVIDER_ATTR_MASK)0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR		((DAT_PROVIDER_ATTR_MASK)0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR			((DAT_PROVIDER_ATTR_MASK)0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR			((DAT_PROVIDER_ATTR_MASK)0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED		((DAT_PROVIDER_ATTR_MASK)0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP			((DAT_PROVIDER_ATTR_MASK)0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED			((DAT_PROVIDER_ATTR_MASK)0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED		((DAT_PROVIDER_ATTR_MASK)0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE			((DAT_PROVIDER_ATTR_MASK)0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE		((DAT_PROVIDER_ATTR_MASK)0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH			((DAT_PROVIDER_ATTR_MASK)0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR				((DAT_PROVIDER_ATTR_MASK)0x1000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT		((DAT_PROVIDER_ATTR_MASK)0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED		((DAT_PROVIDER_ATTR_MASK)0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED			((DAT_PROVIDER_ATTR_MASK)0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED		((DAT_PROVIDER_ATTR_MASK)0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	((DAT_PROVIDER_ATTR_MASK)0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED			((DAT_PROVIDER_ATTR_MASK)0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED		((DAT_PROVIDER_ATTR_MASK)0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ				((DAT_PROVIDER_ATTR_MASK)0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED		((DAT_PROVIDER_ATTR_MASK)0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ		((DAT_PROVIDER_ATTR_MASK)0x800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	((DAT_PROVIDER_ATTR_MASK)0x1000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED			((DAT_PROVIDER_ATTR_MASK)0x2000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE			((DAT_PROVIDER_ATTR_MASK)0x4000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED				((DAT_PROVIDER_ATTR_MASK)0x8000000)
#define DAT_PROVIDER_FIELD_HA_LB				((DAT_PROVIDER_ATTR_MASK)0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR		((DAT_PROVIDER_ATTR_MASK)0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR		((DAT_PROVIDER_ATTR_MASK)0x40000000)
#define DAT_PROVIDER_FIELD_ALL					((DAT_PROVIDER_ATTR_MASK)0x7fffffff)

/* An entry of the registry. */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

/* Event Dispatcher (EVD); udat.h completes the structure. */

typedef struct dat_evd_param DAT_EVD_PARAM;

/* Protection Zone (PZ) */

typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x1,
	DAT_PZ_FIELD_ALL	= 0x1
} DAT_PZ_PARAM_MASK;

/* Local Memory Region (LMR); udat.h completes the structure. */

typedef struct dat_lmr_param DAT_LMR_PARAM;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_VA_TYPE			= 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x400,
	DAT_LMR_FIELD_ALL			= 0x7ff
} DAT_LMR_PARAM_MASK;

/* Remote Memory Region (RMR) */

typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7f
} DAT_RMR_PARAM_MASK;

/* Endpoint (EP) */

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED			= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED		= 1,
	DAT_EP_STATE_RESERVED				= 2,
	DAT_EP_STATE_UNCONFIGURED_RESERVED		= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING		= 4,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE		= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING		= 6,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING	= 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE		= 8,
	DAT_EP_STATE_CONNECTED				= 9,
	DAT_EP_STATE_DISCONNECT_PENDING			= 10,
	DAT_EP_STATE_DISCONNECTED			= 11,
	DAT_EP_STATE_COMPLETION_PENDING			= 12,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH		= 13,
	DAT_EP_STATE_CONNECTED_MULTI_PATH		= 14
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR	DAT_EP_STATE_DISCONNECTED	/* its old name */

typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_COMM comm;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64 DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE					((DAT_EP_PARAM_MASK)0x1)
#define DAT_EP_FIELD_EP_STATE					((DAT_EP_PARAM_MASK)0x2)
#define DAT_EP_FIELD_COMM					((DAT_EP_PARAM_MASK)0x4)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR			((DAT_EP_PARAM_MASK)0x8)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL				((DAT_EP_PARAM_MASK)0x10)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR			((DAT_EP_PARAM_MASK)0x20)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL				((DAT_EP_PARAM_MASK)0x40)
#define DAT_EP_FIELD_PZ_HANDLE					((DAT_EP_PARAM_MASK)0x80)
#define DAT_EP_FIELD_RECV_EVD_HANDLE				((DAT_EP_PARAM_MASK)0x100)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE				((DAT_EP_PARAM_MASK)0x200)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE				((DAT_EP_PARAM_MASK)0x400)
#define DAT_EP_FIELD_SRQ_HANDLE					((DAT_EP_PARAM_MASK)0x800)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE			((DAT_EP_PARAM_MASK)0x1000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE			((DAT_EP_PARAM_MASK)0x2000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE			((DAT_EP_PARAM_MASK)0x4000)
#define DAT_EP_FIELD_EP_ATTR_QOS				((DAT_EP_PARAM_MASK)0x8000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS		((DAT_EP_PARAM_MASK)0x10000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS		((DAT_EP_PARAM_MASK)0x20000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS			((DAT_EP_PARAM_MASK)0x40000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS			((DAT_EP_PARAM_MASK)0x80000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV			((DAT_EP_PARAM_MASK)0x100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV			((DAT_EP_PARAM_MASK)0x200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN			((DAT_EP_PARAM_MASK)0x400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT			((DAT_EP_PARAM_MASK)0x800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW			((DAT_EP_PARAM_MASK)0x1000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV			((DAT_EP_PARAM_MASK)0x2000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV			((DAT_EP_PARAM_MASK)0x4000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR			((DAT_EP_PARAM_MASK)0x8000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR		((DAT_EP_PARAM_MASK)0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR			((DAT_EP_PARAM_MASK)0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR		((DAT_EP_PARAM_MASK)0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL				((DAT_EP_PARAM_MASK)0x7ffff000)
#define DAT_EP_FIELD_ALL					((DAT_EP_PARAM_MASK)0x7fffffff)

/* Shared Receive Queue (SRQ) */

typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR		= 0,
	DAT_SRQ_STATE_OPERATIONAL	= 1,
	DAT_SRQ_STATE_SHUTDOWN		= 2
} DAT_SRQ_STATE;

typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

/* The counts are DAT_VALUE_UNKNOWN where the provider cannot tell. */
typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;
	DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x01,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x02,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x04,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x08,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x80,
	DAT_SRQ_FIELD_ALL			= 0xff
} DAT_SRQ_PARAM_MASK;

/* Public, Reserved and Common Service Points (PSP, RSP, CSP) */

typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x1,
	DAT_PSP_FIELD_CONN_QUAL		= 0x2,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x4,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x8,
	DAT_PSP_FIELD_ALL		= 0xf
} DAT_PSP_PARAM_MASK;

typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x1,
	DAT_RSP_FIELD_CONN_QUAL		= 0x2,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x4,
	DAT_RSP_FIELD_EP_HANDLE		= 0x8,
	DAT_RSP_FIELD_ALL		= 0xf
} DAT_RSP_PARAM_MASK;

/* A service point at an address with a port, as sockets have it. */
typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x1,
	DAT_CSP_FIELD_COMM		= 0x2,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x4,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x8,
	DAT_CSP_FIELD_ALL		= 0xf
} DAT_CSP_PARAM_MASK;

/* Connection Request (CR) */

typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1f
} DAT_CR_PARAM_MASK;

/* Events */

typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	DAT_DTO_ERR_FLUSHED		= 1,
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,
	DAT_DTO_ERR_LOCAL_EP		= 3,
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,
	DAT_DTO_ERR_BAD_RESPONSE	= 5,
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,
	DAT_DTO_ERR_TRANSPORT		= 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,
	DAT_RMR_OPERATION_FAILED	= 11,
	DAT_DTO_ERR_LOCAL_MM_ERROR	= 12
} DAT_DTO_COMPLETION_STATUS;

/* Old names, and those of the RMR bind completion. */
#define DAT_DTO_LENGTH_ERROR		DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE			DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_COMPLETION_STATUS	DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS		DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE		DAT_DTO_ERR_FLUSHED

/* What has completed. */
typedef enum dat_dtos {
	DAT_DTO_SEND			= 0,
	DAT_DTO_RDMA_WRITE		= 1,
	DAT_DTO_RDMA_READ		= 2,
	DAT_DTO_RECEIVE			= 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE	= 4,
	DAT_DTO_BIND_MW			= 5,
	DAT_DTO_LMR_FMR			= 6,
	DAT_DTO_LMR_INVALIDATE		= 7,
	DAT_DTO_EXTENSION_BASE		= 8
} DAT_DTOS;

/*
 * Completion of a transfer; rmr_context is what a RECEIVE_WITH_INVALIDATE has made invalid.
 */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length;
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context;
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/* The service point that a connection request came in on. */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag;	/* private data were cut off */
} DAT_CR_ARRIVAL_EVENT_DATA;

/*
 * Private data, if any: of ESTABLISHED and PEER_REJECTED. They stay readable until the EP is
 * reset or freed.
 */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

/*
 * An asynchronous error: the object concerned and, for its kind, one of the
 * reasons below.
 */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;
	DAT_COUNT reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR		= 0,
	DAT_EP_OTHER_ERROR			= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT	= 2
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR	= 0,
	DAT_EVD_OTHER_ERROR	= 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR	= 0
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR	= 0
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR	= 0
} DAT_PZ_ASYNC_ERROR_REASON;

typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x01001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x04002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x04003,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x04004,
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x04005,
	DAT_CONNECTION_EVENT_BROKEN			= 0x04006,
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x08005,
	DAT_HA_DOWN_TO_1				= 0x08101,
	DAT_HA_UP_TO_MULTI_PATH				= 0x08102,
	DAT_SOFTWARE_EVENT				= 0x10001,

	DAT_EXTENSION_EVENT				= 0x20000,
	DAT_IB_EXTENSION_RANGE_BASE			= 0x40000,
	DAT_IW_EXTENSION_RANGE_BASE			= 0x80000
} DAT_EVENT_NUMBER;

/* The event number says which member is valid. */
typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

/*
 * The last member belongs to the events of extensions, DAT_IB_EXTENSION_RANGE_BASE and above. No
 * other event writes to it.
 */
typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
	DAT_UINT64 event_extension_data[8];
} DAT_EVENT;

/* IA functions */

/*
 * Opens an IA by name. *asynch_evd_handle null asks for an EVD for its
 * asynchronous errors.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name,
			DAT_COUNT asynch_evd_min_qlen,
			DAT_EVD_HANDLE *asynch_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_version_major,
			DAT_UINT32 dat_version_minor,
			DAT_BOOLEAN thread_safety);

/* Asks for the DAT version and thread safety of these headers. */
#define dat_ia_open(ia_name, evd_min_qlen, async_evd_handle, ia_handle)	\
	dat_ia_openv((ia_name), (evd_min_qlen), (async_evd_handle),	\
		     (ia_handle), DAT_VERSION_MAJOR, DAT_VERSION_MINOR,	\
		     DAT_THREADSAFE)

/* Attributes of the IA and its provider, those that the masks name. */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr);

/*
 * Closes an IA: abruptly with all its objects, gracefully only if none is
 * left.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);

/* Functions of every object */

/* Attaches a context that the provider does not look at. */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);

/* Gives the context back, 0 if none was set. */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle,
				    DAT_CONTEXT *context);

/* Says what a handle is. */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type);

/* PZ functions */

/* Creates a protection zone, which ties EPs to memory. */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/* Parameters of a PZ. */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
			DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param);

/* Frees a PZ that no LMR, RMR, SRQ or EP uses. */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/* LMR functions; udat.h has the call that creates one */

/* Parameters of an LMR. */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param);

/* Deregisters memory; its contexts are invalid on return. */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/* Makes local writes visible to incoming RDMA reads. */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments);

/* Makes incoming RDMA writes visible to local reads. */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

/* RMR functions */

/* Creates an RMR that is bound to no memory yet. */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/* As dat_rmr_create; what is bound can be reached through one EP only. */
DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				 DAT_RMR_HANDLE *rmr_handle);

/* Parameters of an RMR. */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param);

/*
 * Posts a bind to part of an LMR, or an unbind if the length is 0, in order
 * with the EP's other posts. The completion is an event.
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *context);

/* Unbinds and frees an RMR. */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* EVD functions; udat.h has the call that creates one */

/* Parameters of an EVD. */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param);

/*
 * Changes the queue length, keeping what is queued; a provider may keep a
 * longer queue than is asked for.
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/* Queues an event of the consumer's own. */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/* Takes the oldest event, or returns DAT_QUEUE_EMPTY. */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/* Frees an EVD that no object uses any more. */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/* EP functions */

/*
 * Creates an unconnected EP. Null attributes stand for the defaults, among them
 * RDMA reads in both directions, up to 4 at a time. Handles that are null have to
 * be set by dat_ep_modify before they are needed.
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_completion_evd_handle,
			 DAT_EVD_HANDLE request_completion_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle);

/* As dat_ep_create, with receives taken from a shared queue. */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle);

/* State, addresses and attributes of an EP. */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param);

/* Changes what the EP's state allows to be changed. */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);

/*
 * Starts to connect; the outcome is an event on the connect EVD, within
 * the timeout.
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data,
			  DAT_QOS quality_of_service,
			  DAT_CONNECT_FLAGS connect_flags);

/* Connects to a Common Service Point: the port is in the address. As dat_ep_connect. */
DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				 DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout,
				 DAT_COUNT private_data_size,
				 const DAT_PVOID private_data);

/* Connects to the peer that another EP is connected to. As dat_ep_connect. */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data,
			      DAT_QOS quality_of_service);

/*
 * Starts to disconnect: at once (abruptly), or when the posted requests have completed
 * (gracefully). The end is an event.
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS close_flags);

/* Posts a send. The completion is an event. */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/* As dat_ep_post_send; with the flag the peer's RMR context dies when the message arrives. */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context);

/* Posts a buffer for one incoming message. */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/* Posts an RDMA read into local memory. */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_iov,
				 DAT_COMPLETION_FLAGS completion_flags);

/* Posts an RDMA read into memory that an RMR is bound to. */
DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					const DAT_RMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_iov,
					DAT_COMPLETION_FLAGS completion_flags);

/* Posts an RDMA write from local memory. */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov,
				  DAT_COMPLETION_FLAGS completion_flags);

/* State of an EP, and whether its queues are idle. */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/* Frees an EP that no service point or request holds. */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/* Makes a disconnected EP unconnected again. */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/* Receive buffers that the EP holds. */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);

/* Bounds on the buffers an EP may hold from its SRQ. */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark);

/* SRQ functions */

/* Creates a receive queue for many EPs. */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/* Parameters and counts of an SRQ. */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param);

/* Posts a buffer for a message to any of the EPs. */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie);

/* Changes the queue length, keeping what is posted. */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle,
			  DAT_COUNT srq_max_recv_dto);

/* Arms an event that comes when fewer buffers than the mark are left. */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/* Frees an SRQ that no EP uses. */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/* Service point functions */

/* Listens on a connection qualifier until freed. */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);

/* As dat_psp_create, on a qualifier that the provider picks. */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle);

/* Parameters of a PSP. */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param);

/* Stops listening; requests that have arrived stay. */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/* Listens for one connection, for the given EP. */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);

/* Parameters of an RSP. */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param);

/* Stops listening; a request that has arrived stays. */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/* Listens at an address and port until freed. */
DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle);

/* Parameters of a CSP. */
DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle,
			 DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param);

/* Stops listening; requests that have arrived stay. */
DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle);

/* CR functions */

/* The requester's address and private data. */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
			DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param);

/*
 * Accepts; the CR is gone and the outcome an event on the EP's connect EVD.
 * The EP is null if the CR has one already.
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const DAT_PVOID private_data);

/* Rejects; the CR is gone, and the private data are in the peer's event. */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data);

/*
 * Hands the request to the service point that listens on another qualifier
 * of the same adapter, which may be another consumer's; the CR is gone.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

/* Registry functions */

/*
 * Lists the registered IAs into an array of pointers to structures, both
 * the caller's.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[]);

/* Do two IAs make a pair, of which one takes over when the other fails? */
DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR ia_name_1,
					  const DAT_NAME_PTR ia_name_2,
					  DAT_HA_RELATIONSHIP *relationship);

/* Extensions */

typedef int DAT_EXTENDED_OP;

/*
 * Carries out an operation of an extension, whose arguments follow. The headers of extensions
 * have a macro for each.
 */
DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...);

/*
 * Names of a return value's type and subtype, as constant strings. The
 * subtype may be left out with a null pointer.
 */
DAT_RETURN dat_strerror(DAT_RETURN dat_return, const char **major_message,
			const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_H_ */
