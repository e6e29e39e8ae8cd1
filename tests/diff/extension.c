// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posts that DAT 1.2 does not have, and how their events look: of kernel consumers
 * (<dat/kdat_linux.h>) and of programs of DAT 2.0. A program of DAT 1.2 plays none of them.
 */
#ifdef __KERNEL__
#include <dat/kdat_linux.h>
#endif
#include "diff.h"

#if defined(__KERNEL__)

const bool has_extensions = true;
const DAT_EVD_FLAGS evd_extended = KDAT_EVD_EXTENDED_FLAG;
const DAT_MEM_PRIV_FLAGS priv_atomic = KDAT_MEM_PRIV_REMOTE_ATOMIC_FLAG;

DAT_RETURN post_extension(DAT_EP_HANDLE ep, const struct post *post)
{
	static const enum kdat_request_kind kinds[OPS] = {
		[OP_write_immed] = KDAT_RDMA_WRITE_IMMED,
		[OP_cmp_swap] = KDAT_CMP_SWAP,
		[OP_fetch_add] = KDAT_FETCH_ADD,
	};
	struct kdat_request request = {
		.kind = kinds[post->kind],
		.num_segments = post->segments,
		.local_iov = post->iov,
		.user_cookie = post->cookie,
		.remote_buffer = &post->remote,
		.completion_flags = post->flags,
	};
	DAT_COUNT posted;

	if (post->kind == OP_write_immed) {
		request.immediate = post->operand;
	} else {
		request.operand = post->operand;
		request.compare = post->compare;
	}
	return kdat_ep_post_requests(ep, 1, &request, &posted);
}

DAT_EVENT_NUMBER event_kind(const DAT_EVENT *event, u32 *word)
{
	*word = 0;
	if (event->event_number != KDAT_IMMED_EVENT)
		return event->event_number;
	*word = kdat_dto_completion(event)->immediate;
	return DAT_DTO_COMPLETION_EVENT;
}

#elif defined(RULES_FACE2_UDAT_H)

#include <dat2/dat_ib_extensions.h>

const bool has_extensions = true;
const DAT_EVD_FLAGS evd_extended;
const DAT_MEM_PRIV_FLAGS priv_atomic = (DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

DAT_RETURN post_extension(DAT_EP_HANDLE ep, const struct post *post)
{
	switch (post->kind) {
	case OP_write_immed:
		return dat_ib_post_rdma_write_immed(ep, post->segments, post->iov, post->cookie,
						    &post->remote, (u32)post->operand,
						    post->flags);
	case OP_cmp_swap:
		return dat_ib_post_cmp_and_swap(ep, post->compare, post->operand, post->iov,
						post->cookie, &post->remote, post->flags);
	default:
		return dat_ib_post_fetch_and_add(ep, post->operand, post->iov, post->cookie,
						 &post->remote, post->flags);
	}
}

DAT_EVENT_NUMBER event_kind(const DAT_EVENT *event, u32 *word)
{
	const DAT_IB_EXTENSION_EVENT_DATA *more = (const void *)event->event_extension_data;

	*word = 0;
	if ((u32)event->event_number != DAT_IB_DTO_EVENT)
		return event->event_number;
	if (more->type == DAT_IB_RDMA_WRITE_IMMED_DATA)
		*word = more->val.immed.data;
	return DAT_DTO_COMPLETION_EVENT;
}

#else

const bool has_extensions;
const DAT_EVD_FLAGS evd_extended;
const DAT_MEM_PRIV_FLAGS priv_atomic;

DAT_RETURN post_extension(DAT_EP_HANDLE ep, const struct post *post)
{
	(void)ep;
	(void)post;
	return DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;
}

DAT_EVENT_NUMBER event_kind(const DAT_EVENT *event, u32 *word)
{
	*word = 0;
	return event->event_number;
}

#endif
