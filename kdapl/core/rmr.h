/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Remote Memory Regions as the rest of the core sees them.  core/rmr.c makes
 * them and judges binds, core/post_bind.c posts a bind like a DTO, and
 * core/evd_fifo.c has each completion of a bind judged before anybody sees it.
 */
#ifndef KDAPL_RMR_H
#define KDAPL_RMR_H

#include "ep.h"
#include "lmr.h"

/**
 * struct kdapl_binding - what an RMR shows, or will show
 * @lmr: LMR, with a use and a reference; NULL: nothing is shown
 * @triplet: as the consumer asked
 * @privileges: as the consumer asked
 * @context: the rmr_context; 0: nothing is shown
 * @taken: a peer has invalidated the key: this binding is not shown any more, and is dropped when
 *	   the outstanding bind completes, or the window has been renewed
 */
struct kdapl_binding {
	struct kdapl_lmr *lmr;
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_RMR_CONTEXT context;
	bool taken;
};

/**
 * struct kdapl_rmr - a Remote Memory Region
 * @obj: the object it is
 * @pz: its zone, with a use and a reference
 * @lock: protects what follows up to @former, @takes, and the turns of @window; takes no other
 *	  lock
 * @window: NULL once the RMR or its device is gone
 * @now: what it shows (mt:M41)
 * @next: what it will show once the outstanding bind has completed
 * @cookie: of the outstanding bind, or NULL
 * @evd: where that bind completes
 * @dead: it was freed; the completion of the outstanding bind ends it (mt:M44)
 * @due: rmr_settle() in rmr.c has to run; until then no bind begins, and the
 *	 completion of the outstanding one is not seen
 * @taker: the EVD in which the receive of a message waits until this RMR is unbound, with a
 *	   reference; NULL: none does
 * @former: the key that the last bind has replaced, if no message has invalidated it; 0: there is
 *	    none.  A message may have done so before the bind, and be seen after it
 * @window_lock: held while @window is renewed or given back; takes no other lock
 *	     but @lock
 * @gone: its end is over, and only the memory of the object is left; under
 *	  @window_lock
 * @work: rmr_work() in rmr.c
 * @fmr: the LMR (fmr.c) whose memory peers reach by this RMR, which then has no handle and
 *	 shows nothing but memory of that LMR; NULL for the RMR of a consumer
 * @takes: of such an RMR: the outstanding bind takes the memory with this lmr_context away;
 *	   0: it does not
 * @revocable: messages of peers may invalidate its key: it is that of an LMR, or a process's
 * @keys: with @revocable: the keys of its window, as they are in kdapl_ia.keys; under
 *	  @window_lock
 */
struct kdapl_rmr {
	struct kdapl_object obj;
	struct kdapl_pz *pz;
	spinlock_t lock;
	struct kdapl_window *window;
	struct kdapl_binding now;
	struct kdapl_binding next;
	struct kdapl_cookie *cookie;
	struct kdapl_evd *evd;
	bool dead;
	bool due;
	struct kdapl_evd *taker;
	u32 former;
	struct mutex window_lock;	/* inside it only @lock */
	bool gone;
	struct work_struct work;
	struct kdapl_lmr *fmr;
	u32 takes;
	bool revocable;
	u32 keys[2];
};

/**
 * struct kdapl_bind - a bind on its way through post_bind.c
 * @rmr: with a reference
 * @triplet: argument of the call
 * @privileges: argument of the call
 * @context: argument of the call
 * @list: for an RMR with an @fmr: the memory to show; NULL: none, it is an unbind.  Otherwise
 *	  not looked at
 * @lmr: the LMR to show.  For the RMR of a consumer kdapl_rmr_check_region() finds it, and the
 *	 caller's RCU read section keeps it; for an RMR with an @fmr the caller sets it to that
 * @takes: of a dat_lmr_invalidate(): the lmr_context of the memory that it takes away
 * @rkey: what *@context becomes
 */
struct kdapl_bind {
	struct kdapl_rmr *rmr;
	const DAT_LMR_TRIPLET *triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_RMR_CONTEXT *context;
	const struct kdapl_list *list;
	struct kdapl_lmr *lmr;
	u32 takes;
	u32 rkey;
};

/* Caller holds the lock of the RMR. */
static inline void kdapl_binding_drop(struct kdapl_binding *binding)
{
	if (binding->lmr) {
		kdapl_object_unuse(&binding->lmr->obj);
		kdapl_object_put(&binding->lmr->obj);
	}
	memset(binding, 0, sizeof(*binding));
}

/* post_bind.c */
DAT_RETURN kdapl_ep_post_bind(struct kdapl_space *space, DAT_EP_HANDLE handle,
			      struct kdapl_bind *bind, DAT_DTO_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags);

/* rmr.c */
DAT_RETURN kdapl_rmr_check_region(const struct kdapl_ep *ep,
				  struct kdapl_bind *bind);
DAT_RETURN kdapl_rmr_check_rights(const struct kdapl_ep *ep,
				  const struct kdapl_bind *bind);
DAT_RETURN kdapl_rmr_begin(const struct kdapl_bind *bind,
			   struct kdapl_cookie *cookie,
			   struct kdapl_bind_wr *wr);
void kdapl_rmr_cancel(struct kdapl_rmr *rmr);
bool kdapl_rmr_complete(struct kdapl_rmr *rmr, struct kdapl_cookie *cookie,
			bool success);
void kdapl_rmr_settle_bind(struct kdapl_rmr *rmr, struct kdapl_cookie *cookie);

/* RMRs of LMRs; rmr.c */
DAT_RETURN kdapl_rmr_create_for(struct kdapl_lmr *lmr);
void kdapl_rmr_end(struct kdapl_rmr *rmr);

/* rmr_lmr.c */
void kdapl_rmr_settle_soon(struct kdapl_rmr *rmr);
bool kdapl_rmr_opens(struct kdapl_rmr *rmr);
u32 kdapl_rmr_shown(struct kdapl_rmr *rmr);
bool kdapl_rmr_add_keys(struct kdapl_rmr *rmr);
void kdapl_rmr_remove_keys(struct kdapl_rmr *rmr);
bool kdapl_rmr_take_key(struct kdapl_evd *evd, const struct kdapl_ep *ep, u32 key);
DAT_RETURN kdapl_rmr_sink(struct kdapl_ia *ia, const DAT_LMR_TRIPLET *named,
			  DAT_LMR_TRIPLET *segment);

#endif /* KDAPL_RMR_H */
