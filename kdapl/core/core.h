/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the faces may ask of the core: one function for each DAT operation, with the operation's
 * own prototype behind the space in which handles, which are tokens (object.h), are looked up.
 * face/kdat*.c call them for kernel consumers, face/dev_*.c for processes.  Every argument
 * check is here, so that both faces give the same DAT_RETURN; which checks the library has as
 * well is told in Documentation/overview.rst, The two ways of an application.
 *
 * The contract of an operation, dat_<name> for kdapl_<name>, is written once: where
 * it is exported to kernel consumers, in face/kdat*.c.  Comments here and in the core say only
 * what is different for a process, and what consumers need not know.
 *
 * Context: process context, may sleep, unless a comment says "any context".
 * "any context" means: softirq and process, interrupts on or off, no locks of
 * ours held.  With PREEMPT_RT, where spinlocks sleep: interrupts and preemption on.
 */
#ifndef KDAPL_CORE_H
#define KDAPL_CORE_H

#include "dto/kind.h"
#include "object.h"

struct kdapl_evd;
struct kdat_request;
struct file;

/* ia_open.c, ia_query.c */
DAT_RETURN kdapl_registry_list(struct kdapl_space *space, DAT_COUNT max,
			       DAT_COUNT *number, DAT_PROVIDER_INFO *list[]);
DAT_RETURN kdapl_ia_open(struct kdapl_space *space, const char *name,
			 DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
			 u32 major, u32 minor, DAT_BOOLEAN thread_safe,
			 DAT_IA_HANDLE *ia);
DAT_RETURN kdapl_ia_close(struct kdapl_space *space, DAT_IA_HANDLE ia,
			  DAT_CLOSE_FLAGS flags);
void kdapl_space_disconnect(struct kdapl_space *space);
void kdapl_space_teardown(struct kdapl_space *space,
			  void (*lingered)(struct kdapl_space *space));
void kdapl_ia_close_all(struct kdapl_space *space);
DAT_RETURN kdapl_ia_query(struct kdapl_space *space, DAT_IA_HANDLE ia,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			  DAT_IA_ATTR *ia_attr,
			  DAT_PROVIDER_ATTR_MASK provider_mask,
			  DAT_PROVIDER_ATTR *provider_attr);

/*
 * passthrough.c: queue pairs that a process has made.  @uverbs is the file of its verbs
 * context.  May sleep.
 */
DAT_RETURN kdapl_ia_passthrough(struct kdapl_space *space, DAT_IA_HANDLE ia,
				struct file *uverbs, u32 *hints);
DAT_RETURN kdapl_ia_tell_last(struct kdapl_space *space, DAT_IA_HANDLE ia);
DAT_RETURN kdapl_ia_cq_fault(struct kdapl_space *space, DAT_IA_HANDLE ia);
int kdapl_ep_bind(struct kdapl_space *space, DAT_EP_HANDLE ep, struct file *uverbs,
		  u32 qp_num, u32 *life, DAT_RETURN *ret);

/* What only the process can see of such a queue pair */
enum kdapl_tell {
	KDAPL_TOLD_CONFIRM,	/* a receive has completed (A7) */
	KDAPL_TOLD_BROKEN,	/* something has failed (D52) */
	KDAPL_TOLD_DRAINED,	/* no request is outstanding */
	KDAPL_TOLD_FLUSH,	/* something was posted late: put the queue pair into ERR again */
	KDAPL_TOLD_UNBIND,	/* let go of it: the process waits for nothing on it any more */
	KDAPL_NR_TOLD
};

DAT_RETURN kdapl_ep_tell(struct kdapl_space *space, DAT_EP_HANDLE ep, u32 life,
			 enum kdapl_tell what);

/* Bits of kdapl_ep_view.flags */
#define KDAPL_VIEW_DRAIN	0x1	/* a graceful disconnect waits for TOLD_DRAINED */
#define KDAPL_VIEW_ERROR	0x2	/* the queue pair was put into the error state */
#define KDAPL_VIEW_UNBOUND	0x4	/* the queue pair was let go of */
#define KDAPL_VIEW_LEFT		0x8	/* the peer has left, its answers may still come */
#define KDAPL_VIEW_ESTABLISHED	0x10	/* ESTABLISHED of this life has been raised */

/*
 * struct kdapl_ep_view - what a process is shown of an endpoint with such queue pairs, or of
 *	the adapter itself, of which only the two @refuse_... mean something
 * @life: of the bind that this is about; 0: there was none
 * @state: DAT_EP_STATE
 * @refuse_request: what a post of a request returns; 0: it is not refused
 * @refuse_recv: the same of a receive
 * @flags: KDAPL_VIEW_*
 */
struct kdapl_ep_view {
	u32 life;
	u32 state;
	u32 refuse_request;
	u32 refuse_recv;
	u32 flags;
};

/* Shows @view to the process of @space at @place.  Any context; the object's lock is held. */
typedef void kdapl_show_fn(struct kdapl_space *space, void *place,
			   const struct kdapl_ep_view *view);

DAT_RETURN kdapl_ep_show(struct kdapl_space *space, DAT_EP_HANDLE ep,
			 kdapl_show_fn *show, void *place);
DAT_RETURN kdapl_ia_show(struct kdapl_space *space, DAT_IA_HANDLE ia,
			 kdapl_show_fn *show, void *place);

/* object.c; any context */
DAT_RETURN kdapl_get_handle_type(struct kdapl_space *space, DAT_HANDLE handle,
				 DAT_HANDLE_TYPE *type);
DAT_RETURN kdapl_get_context(struct kdapl_space *space, DAT_HANDLE handle,
			     DAT_CONTEXT *context);
DAT_RETURN kdapl_set_context(struct kdapl_space *space, DAT_HANDLE handle,
			     DAT_CONTEXT context);

/* pz.c */
DAT_RETURN kdapl_pz_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			   DAT_PZ_HANDLE *pz);
DAT_RETURN kdapl_pz_query(struct kdapl_space *space, DAT_PZ_HANDLE pz,
			  DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN kdapl_pz_free(struct kdapl_space *space, DAT_PZ_HANDLE pz);

/* lmr.c */
DAT_RETURN kdapl_lmr_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			    DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			    DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context,
			    DAT_VLEN *registered_size,
			    DAT_VADDR *registered_address);
DAT_RETURN kdapl_lmr_query(struct kdapl_space *space, DAT_LMR_HANDLE lmr,
			   DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN kdapl_lmr_free(struct kdapl_space *space, DAT_LMR_HANDLE lmr);
DAT_RETURN kdapl_lmr_sync(struct kdapl_space *space, DAT_IA_HANDLE ia,
			  const DAT_LMR_TRIPLET *segments, DAT_VLEN number,
			  bool rdma_read);
DAT_RETURN kdapl_memtype_hint(struct kdapl_space *space, DAT_IA_HANDLE ia,
			      DAT_MEM_TYPE mem_type, DAT_VLEN length,
			      DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			      DAT_VLEN *preferred_length,
			      DAT_VADDR *preferred_alignment);

/* rmr.c; the bind is a post: any context, never sleeps or allocates */
DAT_RETURN kdapl_rmr_create(struct kdapl_space *space, DAT_PZ_HANDLE pz,
			    DAT_RMR_HANDLE *rmr);
DAT_RETURN kdapl_rmr_create_revocable(struct kdapl_space *space, DAT_PZ_HANDLE pz,
				      DAT_RMR_HANDLE *rmr);
DAT_RETURN kdapl_rmr_query(struct kdapl_space *space, DAT_RMR_HANDLE rmr,
			   DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN kdapl_rmr_bind(struct kdapl_space *space, DAT_RMR_HANDLE rmr,
			  const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
			  DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			  DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN kdapl_rmr_free(struct kdapl_space *space, DAT_RMR_HANDLE rmr);

/* evd.c, evd_fifo.c */
DAT_RETURN kdapl_evd_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			    DAT_EVD_HANDLE *evd);
DAT_RETURN kdapl_evd_query(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			   DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN kdapl_evd_resize(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			    DAT_COUNT qlen);
DAT_RETURN kdapl_evd_free(struct kdapl_space *space, DAT_EVD_HANDLE evd);
/* any context */
DAT_RETURN kdapl_evd_post_se(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			     const DAT_EVENT *event);
/* any context */
DAT_RETURN kdapl_evd_dequeue(struct kdapl_space *space, DAT_EVD_HANDLE evd,
			     DAT_EVENT *event);

/* ep.c, ep_attr.c, ep_connect.c */
DAT_RETURN kdapl_ep_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			   DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd,
			   DAT_EVD_HANDLE connect_evd,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN kdapl_ep_create_with_srq(struct kdapl_space *space, DAT_IA_HANDLE ia,
				    DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd,
				    DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
				    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN kdapl_ep_query(struct kdapl_space *space, DAT_EP_HANDLE ep,
			  DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN kdapl_ep_modify(struct kdapl_space *space, DAT_EP_HANDLE ep,
			   DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
/* any context for kernel consumers; may sleep for a process */
DAT_RETURN kdapl_ep_get_status(struct kdapl_space *space, DAT_EP_HANDLE ep,
			       DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle);
/* any context for kernel consumers; may sleep for a process */
DAT_RETURN kdapl_ep_recv_query(struct kdapl_space *space, DAT_EP_HANDLE ep,
			       DAT_COUNT *allocated, DAT_COUNT *span);
DAT_RETURN kdapl_ep_connect(struct kdapl_space *space, DAT_EP_HANDLE ep,
			    DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			    DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			    const void *private_data, DAT_QOS qos,
			    DAT_CONNECT_FLAGS flags);
DAT_RETURN kdapl_ep_dup_connect(struct kdapl_space *space, DAT_EP_HANDLE ep,
				DAT_EP_HANDLE dup_ep, DAT_TIMEOUT timeout,
				DAT_COUNT private_data_size,
				const void *private_data, DAT_QOS qos);
/* any context */
DAT_RETURN kdapl_ep_disconnect(struct kdapl_space *space, DAT_EP_HANDLE ep,
			       DAT_CLOSE_FLAGS flags);
DAT_RETURN kdapl_ep_reset(struct kdapl_space *space, DAT_EP_HANDLE ep);
DAT_RETURN kdapl_ep_free(struct kdapl_space *space, DAT_EP_HANDLE ep);
DAT_RETURN kdapl_ep_private_data(struct kdapl_space *space, DAT_EP_HANDLE ep,
				 u32 life, void *buf, u32 size, u32 *length);

/* post.c */
DAT_RETURN kdapl_ep_post(struct kdapl_space *space, DAT_EP_HANDLE handle,
			 const struct kdapl_dto *dto);
DAT_RETURN kdapl_ep_post_requests(struct kdapl_space *space, DAT_EP_HANDLE handle, DAT_COUNT nr,
				  const struct kdat_request *requests, DAT_COUNT *done);

/* srq.c, srq_post.c */
DAT_RETURN kdapl_srq_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_PZ_HANDLE pz, const DAT_SRQ_ATTR *attr,
			    DAT_SRQ_HANDLE *srq);
DAT_RETURN kdapl_srq_free(struct kdapl_space *space, DAT_SRQ_HANDLE srq);
/* any context */
DAT_RETURN kdapl_srq_query(struct kdapl_space *space, DAT_SRQ_HANDLE srq,
			   DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN kdapl_srq_resize(struct kdapl_space *space, DAT_SRQ_HANDLE srq,
			    DAT_COUNT max);
DAT_RETURN kdapl_srq_set_lw(struct kdapl_space *space, DAT_SRQ_HANDLE srq,
			    DAT_COUNT lw);
DAT_RETURN kdapl_srq_tell(struct kdapl_space *space, DAT_SRQ_HANDLE srq, bool low);
/* any context */
DAT_RETURN kdapl_srq_post_recv(struct kdapl_space *space, DAT_SRQ_HANDLE handle,
			       const struct kdapl_dto *dto);

/* sp.c, sp_request.c, cr.c */
DAT_RETURN kdapl_psp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN kdapl_psp_create_any(struct kdapl_space *space, DAT_IA_HANDLE ia,
				DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN kdapl_psp_query(struct kdapl_space *space, DAT_PSP_HANDLE psp,
			   DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN kdapl_psp_free(struct kdapl_space *space, DAT_PSP_HANDLE psp);
DAT_RETURN kdapl_rsp_create(struct kdapl_space *space, DAT_IA_HANDLE ia,
			    DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			    DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN kdapl_rsp_query(struct kdapl_space *space, DAT_RSP_HANDLE rsp,
			   DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN kdapl_rsp_free(struct kdapl_space *space, DAT_RSP_HANDLE rsp);
/* Pointers in @param are good until the CR is destroyed (P43). */
DAT_RETURN kdapl_cr_query(struct kdapl_space *space, DAT_CR_HANDLE cr,
			  DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN kdapl_cr_query_copy(struct kdapl_space *space, DAT_CR_HANDLE cr,
			       DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param,
			       struct sockaddr_storage *address,
			       void *buf, u32 size);
void kdapl_cr_lost(struct kdapl_space *space, DAT_CR_HANDLE cr);
DAT_RETURN kdapl_cr_accept(struct kdapl_space *space, DAT_CR_HANDLE cr,
			   DAT_EP_HANDLE ep, DAT_COUNT private_data_size,
			   const void *private_data);
DAT_RETURN kdapl_cr_reject(struct kdapl_space *space, DAT_CR_HANDLE cr);
DAT_RETURN kdapl_cr_reject_with(struct kdapl_space *space, DAT_CR_HANDLE cr,
				DAT_COUNT private_data_size, const void *private_data);
DAT_RETURN kdapl_cr_handoff(struct kdapl_space *space, DAT_CR_HANDLE cr,
			    DAT_CONN_QUAL qual);

/*
 * Event delivery, for faces: evd.c, evd_run.c, evd_kick.c.
 *
 * A sink takes events from an EVD as they arrive: the upcall of a kernel
 * consumer (face/kdat_upcall.c), the mapped ring of a process
 * (face/dev_ring.c).  The core runs it single-instance (E96), in softirq
 * context, or in process context when @sleeps.  No lock is held.
 *
 *	room	false: stop for now; somebody will kdapl_evd_kick() later
 *	deliver	one event, already dequeued; @more as E94
 *	done	the end of a batch in which deliver was called, or for which there
 *		was no room; @notify: at least one of its events notifies, or of
 *		those that wait for room (E35)
 *	held	may be NULL.  Events other than completions that were delivered
 *		and not taken by the consumer yet: they count against the EVD's
 *		length (E51, E63).  Any context, the EVD's lock may be held
 */
struct kdapl_sink {
	bool (*room)(struct kdapl_evd *evd, void *arg);
	void (*deliver)(struct kdapl_evd *evd, void *arg,
			const DAT_EVENT *event, bool more);
	void (*done)(struct kdapl_evd *evd, void *arg, bool notify);
	u32 (*held)(struct kdapl_evd *evd, void *arg);
	bool sleeps;
};

struct kdapl_evd *kdapl_evd_find(struct kdapl_space *space, DAT_EVD_HANDLE evd);
void kdapl_evd_put(struct kdapl_evd *evd);
DAT_EVD_FLAGS kdapl_evd_flags(const struct kdapl_evd *evd);
bool kdapl_evd_sleeps(const struct kdapl_evd *evd);
DAT_COUNT kdapl_evd_qlen(struct kdapl_evd *evd);
bool kdapl_evd_can_be(const struct kdapl_evd *evd, DAT_COUNT qlen);
u32 kdapl_evd_backlog(struct kdapl_evd *evd);
void kdapl_evd_hush(struct kdapl_evd *evd, bool hush);
u32 kdapl_evd_arrivals(const struct kdapl_evd *evd);
u32 kdapl_evd_config(const struct kdapl_evd *evd);
bool kdapl_evd_is_quiet(const struct kdapl_evd *evd);
int kdapl_evd_set_sink(struct kdapl_evd *evd, const struct kdapl_sink *sink,
		       void *arg, bool sync);
void *kdapl_evd_set_face(struct kdapl_evd *evd, void *face);
void *kdapl_evd_face(const struct kdapl_evd *evd);
void kdapl_evd_kick(struct kdapl_evd *evd);
void kdapl_evd_await_run(struct kdapl_evd *evd);
bool kdapl_evd_hand_over(struct kdapl_evd *evd);
bool kdapl_evd_dead(const struct kdapl_evd *evd);

#endif /* KDAPL_CORE_H */
