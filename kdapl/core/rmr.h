/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Remote Memory Regions as the rest of the core sees them: core/rmr.c makes
 * them and judges binds, core/post.c posts a bind as it posts a DTO, core/evd.c
 * asks what its completion means before anybody sees it.
 */
#ifndef KDAPL_RMR_H
#define KDAPL_RMR_H

#include "ep.h"

/*
 * struct kdapl_binding - what an RMR shows, or is to show
 * @lmr: with a use and a reference; NULL: nothing
 * @triplet, @privileges: as asked for
 * @context: the rmr_context, 0 for nothing
 */
struct kdapl_binding {
	struct kdapl_lmr *lmr;
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_RMR_CONTEXT context;
};

/*
 * struct kdapl_rmr - a Remote Memory Region
 * @pz: its zone, with a use and a reference
 * @lock: what follows, and the turns of @window; a leaf
 * @window: NULL once the RMR or its device is gone
 * @now: what it shows (mt:M41)
 * @next: what it shows once the outstanding bind has completed
 * @cookie: of the outstanding bind, or NULL
 * @dead: freed; what is outstanding ends it (mt:M44)
 * @due: the RMR has to be settled; if @cookie has completed, before that is seen
 * @window_lock: @window is renewed and given back under it, @gone set
 * @gone: nothing of it is left but the memory
 * @work: runs rmr_settle()
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

/*
 * struct kdapl_bind - a bind on its way through post.c
 * @rmr: with a reference
 * @triplet, @privileges, @context: arguments of the call
 * @lmr: found by the check; the caller's RCU section keeps it
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

/* A bind's first work request has its cookie's address and this bit. */
#define KDAPL_WR_INVALIDATE	1UL

/* post.c */
DAT_RETURN kdapl_ep_post_bind(struct kdapl_space *space, DAT_EP_HANDLE ep,
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
