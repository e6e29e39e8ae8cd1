/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What kDAT offers on Linux beyond DAT 1.2, for storage: memory that comes as a
 * scatterlist and is registered for one transfer (the calls and signatures are those of
 * DAT 2.0); sends that invalidate a key at the peer; RDMA writes with immediate data, and atomic
 * operations; rejections with private data; a report of adapters that come and go; and upcalls in
 * process context.  A kernel consumer includes this header instead of
 * kdat.h.
 *
 * The contracts are at the exported functions (kdapl/face/kdat_linux.c).
 */
#ifndef _KDAT_LINUX_H_
#define _KDAT_LINUX_H_

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/stddef.h>
#include <dat/kdat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for one transfer */

typedef DAT_CONTEXT DAT_LMR_COOKIE;

/* What the addresses in triplets are: virtual addresses, or offsets that count from 0 (ZB). */
typedef enum dat_va_type {
	DAT_VA_TYPE_VA	= 0,
	DAT_VA_TYPE_ZB	= 1
} DAT_VA_TYPE;

/*
 * Which endpoints can use an LMR of dat_lmr_allocate().  kdapl has no narrower scope than
 * the zone, so EP, PZ and ANY mean the same.  LOCAL is kdapl's own: such an LMR never gets
 * a remote privilege, and takes no memory region of the device.  An LMR of any other scope
 * takes two.
 */
typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP	= 0,
	DAT_LMR_SCOPE_PZ	= 1,
	DAT_LMR_SCOPE_ANY	= 2,
	KDAT_LMR_SCOPE_LOCAL	= 0x100
} DAT_LMR_SCOPE;

/*
 * Memory of type DAT_MEM_TYPE_PLATFORM: for_platform points to this structure.  The
 * structure is read only during the call.  The list belongs to the consumer, who must
 * neither free nor change it until dat_lmr_invalidate(); until then kdapl uses its
 * dma_address and dma_length fields.
 */
struct kdat_memory {
	struct scatterlist *list;	/* not mapped; may be chained */
	u32 entries;
	u32 offset;			/* bytes of the list in front of the memory */
	u64 length;			/* bytes of memory, 1 or more */
};

/* Makes an LMR that has no memory yet and can have max_physical_pages at a time. May sleep. */
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT max_physical_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle);

/* Gives an LMR of dat_lmr_allocate() memory. Never sleeps. */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN number_of_pages, DAT_MEM_PRIV_FLAGS mem_privileges,
		       DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
		       DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);

/*
 * Takes the memory away again. Never sleeps. Where a peer may reach the memory, this posts
 * a request, unless the peer has invalidated the key already
 * (dat_ep_post_send_with_invalidate).
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags);

/* Can the LMR change its memory, and does it have any at this moment? */
typedef struct dat_lmr_state {
	DAT_BOOLEAN fmr_support;
	DAT_BOOLEAN bound;
} DAT_LMR_STATE;

/* lmr_state of dat_lmr_query() of DAT 2.0 */
DAT_RETURN kdat_lmr_state(DAT_LMR_HANDLE lmr_handle, DAT_LMR_STATE *lmr_state);

/*
 * DAT_RESERVED_LMR of DAT 2.0 names all memory by bus addresses. kdapl does not give it away
 * (RULING 77): DAT_MODEL_NOT_SUPPORTED. An LMR of scope KDAT_LMR_SCOPE_LOCAL costs the device as
 * little.
 */
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *reserved_lmr_handle,
			       DAT_LMR_CONTEXT *reserved_lmr_context);

/*
 * A provider-specific attribute for dat_ep_create() and dat_ep_create_with_srq(), a decimal
 * number: how many work requests the request queue of the EP holds in reserve for RDMA
 * operations whose memory is in more pieces than one work request takes. One work request
 * takes as many pieces as the EP's attribute max_rdma_read_iov or max_rdma_write_iov says. If
 * an operation needs several work requests, all but the first come out of the reserve and go
 * back to it when the operation has completed.
 */
#define KDAT_EP_REQUEST_RESERVE	"kdapl_request_reserve"

/* Sends */

/*
 * As dat_ep_post_send; with the flag, the peer's device also invalidates the peer's key
 * rmr_context.
 */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context);

/* Rejections */

/*
 * dat_cr_reject() of DAT 2.0: with private data, 0 .. max_private_data_size bytes. The peer finds
 * them in connect_event_data of its DAT_CONNECTION_EVENT_PEER_REJECTED. A kernel consumer finds
 * there what its peer has rejected with.
 */
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const void *private_data);

/* Several requests at once, and requests that DAT 1.2 does not have */

enum kdat_request_kind {
	KDAT_SEND,
	KDAT_SEND_INVALIDATE,
	KDAT_RDMA_READ,
	KDAT_RDMA_WRITE,
	KDAT_RDMA_WRITE_IMMED,
	KDAT_CMP_SWAP,
	KDAT_FETCH_ADD,
};

/*
 * A request, with the arguments of the dat_ep_post_* call of its kind. What it does not have is
 * ignored: remote_buffer is for RDMA and atomics, the others are said below.
 *
 * KDAT_RDMA_WRITE_IMMED is an RDMA write that also takes a receive of the peer's, without filling
 * it, and gives the peer the 32 bits of immediate.  They are sent as they lie in memory: with a peer
 * of the other order of bytes, or one that speaks verbs, use htonl() and ntohl().
 *
 * KDAT_CMP_SWAP and KDAT_FETCH_ADD change 8 bytes of the peer's, a number in the byte order of the
 * peer's device, at an address that is a multiple of 8, in an LMR that has
 * KDAT_MEM_PRIV_REMOTE_ATOMIC_FLAG; what they were before comes into the one local segment, which
 * has 8 bytes. CMP_SWAP makes them operand if they are compare; FETCH_ADD adds operand. Like RDMA
 * reads they count against max_rdma_read_out.
 */
struct kdat_request {
	enum kdat_request_kind kind;
	DAT_COUNT num_segments;
	const DAT_LMR_TRIPLET *local_iov;
	DAT_DTO_COOKIE user_cookie;
	const DAT_RMR_TRIPLET *remote_buffer;
	union {
		DAT_RMR_CONTEXT rmr_context;	/* KDAT_SEND_INVALIDATE */
		DAT_UINT32 immediate;		/* KDAT_RDMA_WRITE_IMMED */
	};
	DAT_COMPLETION_FLAGS completion_flags;
	DAT_UINT64 operand;			/* KDAT_CMP_SWAP, KDAT_FETCH_ADD */
	DAT_UINT64 compare;			/* KDAT_CMP_SWAP */
};

/*
 * Which of these kinds an IA has is said by provider-specific attributes of dat_ia_query(), whose
 * value is "TRUE". If there is no attribute of this name, requests of the kind are refused with
 * DAT_MODEL_NOT_SUPPORTED.
 */
#define KDAT_ATTR_IMMED		"DAT_IB_IMMED_DATA"
#define KDAT_ATTR_CMP_SWAP	"DAT_IB_CMP_AND_SWAP"
#define KDAT_ATTR_FETCH_ADD	"DAT_IB_FETCH_AND_ADD"

/* A privilege of an LMR: peers may change its memory by atomic operations. */
#define KDAT_MEM_PRIV_REMOTE_ATOMIC_FLAG	((DAT_MEM_PRIV_FLAGS)0x40)

#define KDAT_MAX_REQUESTS	64

/*
 * Posts them in this order; the device is told of several at a time. posted: how many were posted,
 * the first ones: all of them if the call succeeds, else those before the one that was refused.
 */
DAT_RETURN kdat_ep_post_requests(DAT_EP_HANDLE ep_handle, DAT_COUNT num_requests,
				 const struct kdat_request *requests, DAT_COUNT *posted);

/*
 * The data of a DTO completion event, with a field that DAT 1.2 does not have. rmr_context: of a
 * receive whose message has invalidated a key, that key; immediate: of KDAT_IMMED_EVENT;
 * operation: of a request that DAT 1.2 does not have, DAT 2.0's number for it (8, 11, 10 in the
 * order above). Otherwise it is 0.
 */
struct kdat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	union {
		DAT_RMR_CONTEXT rmr_context;
		DAT_UINT32 immediate;
		DAT_UINT32 operation;
	};
	DAT_VLEN transfered_length;
};

static inline const struct kdat_dto_completion_event_data *
kdat_dto_completion(const DAT_EVENT *event)
{
	BUILD_BUG_ON(offsetof(struct kdat_dto_completion_event_data, transfered_length) !=
		     offsetof(DAT_DTO_COMPLETION_EVENT_DATA, transfered_length));
	return (const struct kdat_dto_completion_event_data *)
		&event->event_data.dto_completion_event_data;
}

/* Events */

/*
 * The number of the event of a receive that a peer's write with immediate data has taken; its data
 * are those of a DTO completion, and transfered_length is that of the write. Only on an EVD with
 * KDAT_EVD_EXTENDED_FLAG: elsewhere such a receive fails, and the connection breaks.
 */
#define KDAT_IMMED_EVENT	((DAT_EVENT_NUMBER)0x40000)

/* A flag for dat_evd_kcreate(): the EVD takes KDAT_IMMED_EVENT. */
#define KDAT_EVD_EXTENDED_FLAG	((DAT_EVD_FLAGS)0x20000)

/*
 * A flag for dat_evd_kcreate(): the upcalls of this EVD run in process context and may
 * sleep. It matters only for an EVD that takes nothing but DTO, RMR bind and software events:
 * the upcalls of any other EVD run in process context anyhow.
 */
#define KDAT_EVD_PROCESS_FLAG	((DAT_EVD_FLAGS)0x10000)

/* Upcalls */

/* Of what is queued when a policy is set: leave it until something new comes, or begin at once. */
typedef enum dat_upcall_flag {
	DAT_UPCALL_INVOC_NEW	= 0,
	DAT_UPCALL_INVOC_ANY	= 1
} DAT_UPCALL_FLAG;

/*
 * A policy for kdat_evd_modify_upcall(): the upcall tells that something has come, with a null
 * event, and the consumer takes the events with dat_evd_dequeue(), in the upcall or elsewhere.
 */
#define KDAT_UPCALL_NOTIFY	((DAT_UPCALL_POLICY)2)

/* dat_evd_modify_upcall() of DAT 2.0. May sleep. */
DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG upcall_flag);

/* Adapters */

/*
 * A kernel consumer that wants to be told which adapters there are, by their names in the
 * registry.
 *
 * add is called when an adapter has got its first address. remove is called before its RDMA
 * device goes, and has to close what the consumer has open on that adapter. When a device
 * is renamed, the consumer keeps using the name that it was told, and add is not called for
 * another adapter of that name before remove was called for this one. But if the device is
 * renamed during the call of add, remove is called right after it, and then add with the
 * new name.
 *
 * kdapl makes these calls one at a time, in process context, but for those that
 * kdat_client_unregister() waits for: remove is called for all adapters at the same time then,
 * each in a thread of its own. They may make any call of kDAT except the two below.
 */
struct kdat_client {
	void (*add)(struct kdat_client *client, const char *ia_name);
	void (*remove)(struct kdat_client *client, const char *ia_name);
	struct list_head entry;		/* this and the next field are for kdapl only */
	struct list_head told;
};

/*
 * Registers a client. add is called for the adapters that are there before this returns,
 * and later for new ones.
 */
void kdat_client_register(struct kdat_client *client);

/* Unregisters a client. remove has been called for all of its adapters when this returns. */
void kdat_client_unregister(struct kdat_client *client);

#ifdef __cplusplus
}
#endif

#endif /* _KDAT_LINUX_H_ */
