/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What kDAT has under Linux beyond DAT 1.2, for storage: memory that comes as a
 * scatterlist and is registered for one transfer, with the calls of DAT 2.0 and their
 * signatures; sends that take a key away from the peer; adapters that come and go; and
 * events in process context.  Included by kernel consumers in the place of kdat.h.
 *
 * The contracts are told at the exported functions (kdapl/face/kdat_linux.c).
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

/* What the addresses of triplets count from: a virtual address, or 0. */
typedef enum dat_va_type {
	DAT_VA_TYPE_VA	= 0,
	DAT_VA_TYPE_ZB	= 1
} DAT_VA_TYPE;

/*
 * Which endpoints an LMR of dat_lmr_allocate() can be used with: kdapl has no narrower
 * scope than the zone.  LOCAL is kdapl's own: such an LMR never gets a remote right, and
 * costs nothing of the device where that can do without.  Any other takes two of its
 * memory regions.
 */
typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP	= 0,
	DAT_LMR_SCOPE_PZ	= 1,
	DAT_LMR_SCOPE_ANY	= 2,
	KDAT_LMR_SCOPE_LOCAL	= 0x100
} DAT_LMR_SCOPE;

/*
 * What DAT_MEM_TYPE_PLATFORM is: for_platform points to one of these.  The structure is
 * read during the call; the list stays the consumer's, in place and as it is, until
 * dat_lmr_invalidate().  Its dma_address and dma_length fields are kdapl's meanwhile.
 */
struct kdat_memory {
	struct scatterlist *list;	/* not mapped; may be chained */
	u32 entries;
	u32 offset;			/* bytes of the list in front of the memory */
	u64 length;			/* bytes of memory, 1 or more */
};

/* Makes an LMR without memory, for up to so many pages at a time. May sleep. */
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT max_physical_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle);

/* Gives it memory. Never sleeps. */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN number_of_pages, DAT_MEM_PRIV_FLAGS mem_privileges,
		       DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
		       DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);

/*
 * Takes it away again. Never sleeps. Memory that a peer may reach is taken away by a
 * request, unless the peer has given its key back (dat_ep_post_send_with_invalidate).
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags);

/*
 * How many work requests the request queue of an EP has in reserve, for transfers whose
 * memory is in more pieces than the device takes at once, as a decimal number in the
 * provider-specific attributes of dat_ep_create(). A work request takes as many pieces as
 * the EP's attribute max_rdma_read_iov or max_rdma_write_iov says; of those that a transfer
 * needs all but the first come out of the reserve, until it has completed.
 */
#define KDAT_EP_REQUEST_RESERVE	"kdapl_request_reserve"

/* Sends */

/* dat_ep_post_send; with the flag the peer's key is taken away from its device, too. */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context);

/*
 * The data of a DTO completion event, with what the event of DAT 1.2 does not name:
 * rmr_context is that of the LMR whose remote rights the message has taken away, 0 for none.
 */
struct kdat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_RMR_CONTEXT rmr_context;
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
 * A flag for dat_evd_kcreate(): upcalls come in process context and may sleep, also those
 * of an EVD for DTO, RMR bind and software events alone. Others come so anyhow.
 */
#define KDAT_EVD_PROCESS_FLAG	((DAT_EVD_FLAGS)0x10000)

/* Adapters */

/*
 * A kernel consumer that wants to know which adapters there are, by their names in the
 * registry. One is there from its first address on, until its RDMA device goes; remove
 * comes before that, and closes what the consumer has open there. When a device is renamed,
 * the consumer goes on with the name that it was told, and is told of no other adapter by
 * that one before remove has come; but if it was just being told, remove comes at once, and
 * add with the new name. The calls come one at a time, in process context, and may make any
 * call of kDAT but the two below.
 */
struct kdat_client {
	void (*add)(struct kdat_client *client, const char *ia_name);
	void (*remove)(struct kdat_client *client, const char *ia_name);
	struct list_head entry;		/* these are kdapl's */
	struct list_head told;
};

/* From here on the calls come, for adapters that are there before it returns. */
void kdat_client_register(struct kdat_client *client);

/* remove has come for all of them when it returns. */
void kdat_client_unregister(struct kdat_client *client);

#ifdef __cplusplus
}
#endif

#endif /* _KDAT_LINUX_H_ */
