/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Remote Memory Regions as the rest of the core sees them.  core/rmr.c makes
 * them and judges binds, core/post.c posts a bind like a DTO, and
 * core/evd_fifo.c has each completion of a bind judged before anybody sees it.
 */
#ifndef KDAPL_RMR_H
#define KDAPL_RMR_H

#include "ep.h"

/**
 * struct kdapl_binding - what an RMR shows, or will show
 * @lmr: LMR, with a use and a reference; NULL: nothing is shown
 * @triplet: as the consumer asked
 * @privileges: as the consumer asked
 * @context: the rmr_context; 0: nothing is shown
 */
struct kdapl_binding {
	struct kdapl_lmr *lmr;
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_RMR_CONTEXT context;
};

/**
 * struct kdapl_rmr - a Remote Memory Region
 * @obj: the object it is
 * @pz: its zone, with a use and a reference
 * @lock: what follows up to @due, and the turns of @window; takes no other lock
 * @window: NULL once the RMR or its device is gone
 * @now: what it shows (mt:M41)
 * @next: what it will show once the outstanding bind has completed
 * @cookie: of the outstanding bind, or NULL
 * @dead: it was freed; the completion of the outstanding bind ends it (mt:M44)
 * @due: rmr_settle() in rmr.c has to run; until then no bind begins, and the
 *	 completion of the outstanding one is not seen
 * @window_lock: held while @window is renewed or given back; takes no other lock
 *	     but @lock
 * @gone: the end is over, and only the memory of the object is left; under
 *	  @window_lock
 * @work: rmr_work() in rmr.c
 */
struct kdapl_rmr {
	struct kdapl_object obj;
	struct kdapl_pz *pz;
	spinlock_t lock;
	struct kdapl_window *window;
	struct kdapl_binding now;
	struct kdapl_binding next;
	struct kdapl_cookie *cookie;
	bool dead;
	bool due;
	struct mutex window_lock;	/* inside it only @lock */
	bool gone;
	struct work_struct work;
};

/**
 * struct kdapl_bind - a bind on its way through post.c
 * @rmr: with a reference
 * @triplet: argument of the call
 * @privileges: argument of the call
 * @context: argument of the call
 * @lmr: found by kdapl_rmr_check_region(); the caller's RCU read section keeps
 *	 it
 * @rkey: what *@context becomes
 */
struct kdapl_bind {
	struct kdapl_rmr *rmr;
	const DAT_LMR_TRIPLET *triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_RMR_CONTEXT *context;
	struct kdapl_lmr *lmr;
	u32 rkey;
};

/*
 * The wr_id of a bind's first work request is the address of the bind's cookie
 * with this bit set, so that its completion is not taken for that of the bind.
 */
#define KDAPL_WR_INVALIDATE	1UL

/* post.c */
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
void kdapl_rmr_lost(struct kdapl_rmr *rmr, struct kdapl_cookie *cookie);

#endif /* KDAPL_RMR_H */
