/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What pass_fifo.c, pass_wc.c and pass_event.c share besides passthrough.h.
 */
#ifndef PASS_EVENT_H
#define PASS_EVENT_H

#include "passthrough.h"

/* An event that was moved from the kernel's ring into the FIFO */
struct pass_moved {
	struct pass_node node;
	struct kdapl_uapi_event event;
};

struct pass_moved *pass_moved_new(void);
void pass_fifo_add_cookie(struct pass_evd *evd, struct pass_cookie *cookie);
void pass_fifo_insert(struct pass_evd *evd, struct pass_moved *moved);
enum pass_took pass_fifo_take(struct pass_evd *evd, DAT_EVENT *event,
			      struct kdapl_uapi_event *kernel);

static inline void pass_fill_dto(struct shim_object *evd, const struct pass_cookie *cookie,
				 uint32_t status, uint64_t length,
				 DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = cookie->dir->handle;
	dto->user_cookie.as_64 = cookie->user;
	dto->status = status;
	dto->transfered_length = face_length(length);
	face_dto(dto, cookie->dir->is_recv ? KDAPL_DID_RECV : cookie->operation, 0);
}

static inline struct pass_cookie *pass_wc_cookie(const struct ibv_wc *wc)
{
	return (struct pass_cookie *)(uintptr_t)wc->wr_id;
}

/* Was this receive taken by a peer's write with immediate data, and may the consumer know? */
static inline bool pass_wc_is_immed(const struct ibv_wc *wc, const struct pass_cookie *cookie)
{
	return FACE_EXTENDED && wc->status == IBV_WC_SUCCESS &&
	       wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc->wc_flags & IBV_WC_WITH_IMM &&
	       cookie->dir->evd->obj && cookie->dir->ep->pia->extensions & KDAPL_CAN_IMMED;
}

/*
 * Was this receive filled by a plain send (mt:T59)? The peer may also use operations of verbs that
 * DAT does not have.
 */
static inline bool pass_wc_is_message(const struct ibv_wc *wc,
				      const struct pass_cookie *cookie)
{
	return wc->opcode == IBV_WC_RECV && wc->byte_len <= cookie->length &&
	       !(wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV));
}

#endif /* PASS_EVENT_H */
