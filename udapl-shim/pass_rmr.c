// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Remote Memory Regions in passthrough. There are two ways to show a range to peers, and each bind
 * uses one of them: a memory window of verbs, of type 1, or, where there is no window, a memory
 * region of its own. The rules are a copy of those of kdapl/core/rmr.c.
 *
 * How either is bound and unbound, and when a window is given up, is told in
 * Documentation/life-of-memory.rst, Windows in passthrough.
 */
#include <stdlib.h>
#include <string.h>

#include "passthrough.h"

/* Each bind of a window changes 8 bits of its key, in which the device's library counts. */
#define WINDOW_KEYS	256

#define REMOTE_FLAGS	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/*
 * Ends a binding. If the device does not let go of its region, peers may still have access to the
 * memory; so its LMR stays in use, and the consumer cannot free it before the IA is closed.
 */
static void binding_drop(struct pass_binding *binding)
{
	bool gone = !binding->mr || pass_let_go(ibv_dereg_mr(binding->mr));

	if (binding->lmr && gone)
		pass_lmr_unuse(binding->lmr);
	memset(binding, 0, sizeof(*binding));
}

/*
 * Makes the window of an RMR, if it has none. Return: false if the next bind cannot use a window,
 * and has to register a region.
 */
static bool window_make(struct pass_rmr *rmr)
{
	if (!rmr->mw) {
		rmr->mw = ibv_alloc_mw(rmr->pz->pd, IBV_MW_TYPE_1);
		rmr->keys = 0;
	}
	return rmr->mw && rmr->keys < WINDOW_KEYS;
}

static bool by_window(const struct pass_binding *binding)
{
	return binding->lmr && !binding->mr;
}

/* Frees the window. If the device keeps it, so does the LMR that it may show, as above. */
static void window_drop(struct pass_rmr *rmr)
{
	if (rmr->mw && !pass_let_go(ibv_dealloc_mw(rmr->mw))) {
		if (by_window(&rmr->now))
			rmr->now.lmr = NULL;
		if (by_window(&rmr->next))
			rmr->next.lmr = NULL;
	}
	rmr->mw = NULL;
}

static DAT_RETURN rmr_make(struct pass_ia *pia, struct shim_object *pz,
			   struct shim_object **rmrp)
{
	struct pass_rmr *rmr = calloc(1, sizeof(*rmr));
	struct shim_object *obj = NULL;

	if (!rmr)
		return RET_NO_RESOURCE(MEMORY);
	rmr->pz = pass_pz_use(pz, shim_token(pz));
	if (!rmr->pz) {
		free(rmr);
		return RET_BAD_HANDLE(PZ);
	}
	obj = shim_object_new(SHIM_RMR, pz->ia, NULL);
	if (!obj) {
		pass_pz_unuse(rmr->pz);
		free(rmr);
		return RET_NO_RESOURCE(MEMORY);
	}
	rmr->obj = obj;
	/* The first bind would make the window, too, but binds are to be fast. */
	if (pia->windows)
		window_make(rmr);
	atomic_store(&obj->pass, rmr);
	/* A close of the IA at the same time has either seen the RMR, or is seen here. */
	if (atomic_load(&pia->closing)) {
		pass_rmr_close(obj);
		return RET_BAD_HANDLE(PZ);
	}
	*rmrp = obj;
	return DAT_SUCCESS;
}

DAT_RETURN pass_rmr_create(struct shim_object *pz, struct shim_object **rmrp)
{
	struct pass_ia *pia = pass_ia_get(pz);
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(PZ);
	ret = pass_ia_refusal(pia);
	if (!ret)
		ret = rmr_make(pia, pz, rmrp);
	pass_ia_put(pia);
	return ret;
}

/* Locks an object and its RMR. Return: NULL, and nothing is locked, if the RMR was freed. */
static struct pass_rmr *rmr_lock(struct shim_object *obj)
{
	struct pass_rmr *rmr;

	shim_lock(&obj->lock);
	rmr = shim_lives(obj, SHIM_RMR) ? atomic_load(&obj->pass) : NULL;
	if (rmr)
		shim_lock(&rmr->lock);
	else
		shim_unlock(&obj->lock);
	return rmr;
}

static void rmr_unlock(struct shim_object *obj, struct pass_rmr *rmr)
{
	shim_unlock(&rmr->lock);
	shim_unlock(&obj->lock);
}

/*
 * Polls for the outstanding bind of an RMR. It may have completed without the consumer having a
 * reason to poll: it is suppressed, or its EVD is hidden. The EP exists as long as it owes the
 * completion.
 */
static void rmr_pull(struct shim_object *obj)
{
	struct pass_rmr *rmr = rmr_lock(obj);
	struct pass_ep *ep = NULL;

	if (!rmr)
		return;
	if (rmr->cookie) {
		ep = rmr->cookie->dir->ep;
		atomic_fetch_add(&ep->refs, 1);
	}
	rmr_unlock(obj, rmr);
	if (!ep)
		return;
	pass_dir_pull(&ep->dir[PASS_REQ]);
	pass_ep_put(ep);
}

DAT_RETURN pass_rmr_query(struct shim_object *obj, struct kdapl_uapi_rmr_query *arg)
{
	struct pass_rmr *rmr;

	rmr_pull(obj);
	rmr = rmr_lock(obj);
	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	arg->ia = shim_token(obj->ia);
	arg->pz = shim_token(rmr->pz->obj);
	arg->segment = rmr->now.segment;
	arg->privileges = rmr->now.privileges;
	arg->rmr_context = rmr->now.context;
	rmr_unlock(obj, rmr);
	return DAT_SUCCESS;
}

/* ---- binds ------------------------------------------------------------- */

/* Checks the range and the rights (mt:M29, mt:M31, mt:M37). *@lmr: out: NULL for an unbind */
static DAT_RETURN check_region(const struct shim_object *ia,
			       const struct kdapl_uapi_rmr_bind *arg,
			       struct pass_lmr **lmr)
{
	*lmr = NULL;
	if (!arg->segment.length)
		return DAT_SUCCESS;
	*lmr = pass_lmr_find_on(ia, arg->segment.lmr_context);
	if (!*lmr || !pass_lmr_inside(*lmr, arg->segment.address, arg->segment.length))
		return RET_BAD_ARG(2);
	return arg->privileges & ~DAT_MEM_PRIV_ALL_FLAG ? RET_BAD_ARG(3) :
							  DAT_SUCCESS;
}

/* Checks the zones, and the rights against those of the LMR (mt:M30, mt:M31). */
static DAT_RETURN check_rights(const struct pass_dir *dir, const struct pass_rmr *rmr,
			       const struct pass_lmr *lmr, uint32_t privileges)
{
	uint32_t asked = privileges & REMOTE_FLAGS;

	if (dir->pz != rmr->pz || (lmr && lmr->pz != rmr->pz))
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 asked == DAT_MEM_PRIV_REMOTE_WRITE_FLAG ?
				 DAT_PROTECTION_RDMA_WRITE :
				 DAT_PROTECTION_RDMA_READ);
	if (!lmr)
		return DAT_SUCCESS;
	if (asked & DAT_MEM_PRIV_REMOTE_READ_FLAG &&
	    !(lmr->privileges & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return RET_NO_PRIVILEGE(RDMA_READ);
	if (asked & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !(lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return RET_NO_PRIVILEGE(RDMA_WRITE);
	return DAT_SUCCESS;
}

static DAT_RETURN check_bind(const struct pass_ep *ep, const struct pass_rmr *rmr,
			     const struct kdapl_uapi_rmr_bind *arg,
			     struct pass_lmr **lmr)
{
	DAT_RETURN ret;

	if (ep->ia != rmr->obj->ia)
		return RET_BAD_HANDLE(EP);
	if (!ep->binds)
		return RET_BAD_HANDLE(EVD_REQUEST);
	ret = check_region(ep->ia, arg, lmr);
	if (ret)
		return ret;
	if (arg->flags & ~ep->limits[KDAPL_DTO_BIND].flags)
		return RET_BAD_ARG(6);
	return check_rights(&ep->dir[PASS_REQ], rmr, *lmr, arg->privileges);
}

/*
 * Makes @rmr->next, what the RMR will show; @lmr is NULL for an unbind. The memory is registered
 * and checked already. So to register it again can fail only for lack of resources.
 */
static DAT_RETURN binding_make(struct pass_rmr *rmr, struct pass_lmr *lmr,
			       const struct kdapl_uapi_rmr_bind *arg)
{
	struct pass_ia *pia = pass_ia_of(rmr->obj);
	struct pass_binding *next = &rmr->next;
	DAT_RETURN ret;

	if (!lmr)
		return DAT_SUCCESS;
	if (!pass_lmr_use(lmr))
		return RET_BAD_ARG(2);
	if (!pass_has_windows(pia, lmr->privileges) || !window_make(rmr)) {
		ret = pass_reg(pia, rmr->pz->pd, arg->segment.address, arg->segment.length,
			       arg->privileges & REMOTE_FLAGS, &next->mr);
		if (ret) {
			pass_lmr_unuse(lmr);
			return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ?
			       ret : RET_NO_RESOURCE(MEMORY_REGION);
		}
		next->context = next->mr->rkey;
	}
	next->lmr = lmr;
	next->segment = arg->segment;
	next->privileges = arg->privileges;
	return DAT_SUCCESS;
}

/* Posts an RDMA write of no bytes, for which the peer's device checks neither address nor key. */
static int post_nothing(struct pass_dir *dir, const struct pass_cookie *cookie, int flags)
{
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)cookie,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = flags,
	}, *bad;

	return ibv_post_send(dir->qp, &wr, &bad);
}

/* Posts the bind of a window. @of: the new binding, or for an unbind the one that ends */
static int post_window(struct pass_dir *dir, struct pass_rmr *rmr,
		       const struct pass_binding *of, const struct pass_cookie *cookie,
		       int flags)
{
	struct pass_binding *next = &rmr->next;
	struct ibv_mw_bind bind = {
		.wr_id = (uintptr_t)cookie,
		.send_flags = flags,
		.bind_info = {
			.mr = of->lmr->mr,
			.addr = of->segment.address,
			.length = next->segment.length,
		},
	};
	int err;

	if (next->privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		bind.bind_info.mw_access_flags |= IBV_ACCESS_REMOTE_READ;
	if (next->privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		bind.bind_info.mw_access_flags |= IBV_ACCESS_REMOTE_WRITE;
	err = ibv_bind_mw(dir->qp, rmr->mw, &bind);
	if (err)
		return err;
	rmr->keys++;
	/* The device's library has chosen the key. */
	if (next->lmr)
		next->context = rmr->mw->rkey;
	return 0;
}

static int post_next(struct pass_dir *dir, struct pass_rmr *rmr,
		     const struct pass_cookie *cookie)
{
	const struct pass_binding *of = rmr->next.lmr ? &rmr->next : &rmr->now;
	int flags = IBV_SEND_SIGNALED;

	if (cookie->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		flags |= IBV_SEND_FENCE;
	return by_window(of) ? post_window(dir, rmr, of, cookie, flags) :
			       post_nothing(dir, cookie, flags);
}

/*
 * Posts a bind to the queue pair. *@gate becomes PASS_LATE if the device refused it because the
 * connection is ending; the caller has to put the cookie aside then.
 */
static DAT_RETURN bind_post(struct pass_dir *dir, struct pass_rmr *rmr,
			    struct pass_cookie *cookie, struct pass_lmr *lmr,
			    struct kdapl_uapi_rmr_bind *arg, enum pass_gate *gate)
{
	DAT_RETURN ret;
	int err;

	if (rmr->cookie)
		return RET_NO_RESOURCE(MEMORY_REGION);	/* A6 */
	ret = binding_make(rmr, lmr, arg);
	if (ret)
		return ret;
	rmr->cookie = cookie;
	cookie->rmr = rmr;
	pass_cookie_move(cookie, PASS_OWED);
	dir->posted++;
	err = post_next(dir, rmr, cookie);
	if (!err) {
		arg->rmr_context = rmr->next.context;
		return DAT_SUCCESS;
	}
	pass_dir_unpost(dir);
	rmr->cookie = NULL;
	cookie->rmr = NULL;
	binding_drop(&rmr->next);
	if (!pass_refused_late(dir, err))
		return pass_refusal(err);
	*gate = PASS_LATE;
	return DAT_SUCCESS;
}

/*
 * Checks and makes a bind. The lock of the direction and those of the RMR and its object are held.
 * *@aside: out: a cookie that the caller has to put aside as *@gate says, after it has dropped the
 * locks of the RMR and its object
 */
static DAT_RETURN bind_locked(struct pass_ep *ep, struct pass_rmr *rmr,
			      struct kdapl_uapi_rmr_bind *arg,
			      struct pass_cookie **aside, enum pass_gate *gate)
{
	struct pass_dir *dir = &ep->dir[PASS_REQ];
	struct pass_cookie *cookie;
	struct pass_lmr *lmr;
	DAT_RETURN ret;

	ret = check_bind(ep, rmr, arg, &lmr);
	if (ret)
		return ret;
	ret = pass_gate_aside(dir, gate);
	if (ret)
		return ret;
	/* A bind does not wait for room on the queue pair: the RMR, and its key, would have to. */
	if (*gate == PASS_ASIDE)
		return RET_NO_RESOURCE(MEMORY);
	cookie = pass_cookie_take(dir, arg->cookie, 0, arg->flags);
	if (!cookie)
		return RET_NO_RESOURCE(MEMORY);
	cookie->rmr_obj = rmr->obj;
	arg->rmr_context = 0;
	if (*gate == PASS_POST) {
		ret = bind_post(dir, rmr, cookie, lmr, arg, gate);
		if (ret)
			pass_cookie_put_back(dir, cookie);
		if (ret || *gate == PASS_POST)
			return ret;
	}
	*aside = cookie;
	return DAT_SUCCESS;
}

DAT_RETURN pass_rmr_bind(struct shim_object *obj, struct shim_object *ep_obj,
			 struct kdapl_uapi_rmr_bind *arg)
{
	struct pass_ep *ep = pass_ep_get(ep_obj);
	struct pass_cookie *aside = NULL;
	enum pass_gate gate;
	struct pass_dir *dir;
	struct pass_rmr *rmr;
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	rmr_pull(obj);
	dir = &ep->dir[PASS_REQ];
	shim_lock(&dir->lock);
	if (ep->obj != ep_obj) {
		ret = RET_BAD_HANDLE(EP);
	} else {
		pass_cookie_room(dir);
		rmr = rmr_lock(obj);
		ret = RET_BAD_HANDLE(RMR);
		if (rmr) {
			ret = bind_locked(ep, rmr, arg, &aside, &gate);
			rmr_unlock(obj, rmr);
		}
		if (aside)
			pass_put_aside(dir, aside, gate);
	}
	shim_unlock(&dir->lock);
	pass_ep_put(ep);
	return ret;
}

/* ---- the sink of a read ---------------------------------------------------- */

/*
 * struct named - a segment by the key of an RMR, and what became of it
 * @ia: of the RMR
 * @found: the RMR was
 */
struct named {
	const struct shim_object *ia;
	const DAT_LMR_TRIPLET *segment;
	bool found;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RETURN ret;
};

/* What an RMR of @ia shows by a key, or will; NULL: nothing */
static const struct pass_binding *shown_by(const struct pass_rmr *rmr,
					   const struct shim_object *ia, uint32_t key)
{
	/* It may have become an object of another IA. */
	if (atomic_load(&rmr->obj->ia) != ia)
		return NULL;
	if (rmr->now.lmr && rmr->now.context == key)
		return &rmr->now;
	return rmr->next.lmr && rmr->next.context == key ? &rmr->next : NULL;
}

static DAT_RETURN check_sink(const struct pass_binding *binding, const DAT_LMR_TRIPLET *named)
{
	uint64_t offset = named->virtual_address - binding->segment.address;

	if (offset > binding->segment.length ||
	    named->segment_length > binding->segment.length - offset)
		return RET_BAD_ARG(3);
	return binding->privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? DAT_SUCCESS :
								      RET_NO_PRIVILEGE(RDMA_WRITE);
}

/* Is it this RMR that was named? No object but an RMR is locked, which may be in use elsewhere. */
static void look_for_sink(struct shim_object *obj, void *arg)
{
	const struct pass_binding *binding;
	struct named *named = arg;
	struct pass_rmr *rmr;

	if (named->found || !shim_lives(obj, SHIM_RMR))
		return;
	rmr = rmr_lock(obj);
	if (!rmr)
		return;
	binding = shown_by(rmr, named->ia, named->segment->lmr_context);
	if (binding) {
		named->found = true;
		named->ret = check_sink(binding, named->segment);
		named->lmr_context = binding->segment.lmr_context;
	}
	rmr_unlock(obj, rmr);
}

/*
 * pass_rmr_sink - the memory of an RMR, to which a read is to go
 * @named: with an rmr_context in the place of the lmr_context
 * @segment: out: the same bytes, as a segment of the LMR
 *
 * A copy of kdapl_rmr_sink() (V5). Nothing leads from a key to its RMR, since no other post needs
 * that; so objects are looked at one by one, and such a read takes the longer the more there are.
 *
 * Return: as kdapl_rmr_sink().
 */
DAT_RETURN pass_rmr_sink(struct shim_object *ia, const DAT_LMR_TRIPLET *named,
			 DAT_LMR_TRIPLET *segment)
{
	struct named what = {
		.ia = ia,
		.segment = named,
		.ret = DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
	};

	*segment = *named;
	if (!named->segment_length)
		return DAT_SUCCESS;
	shim_for_each(ia, look_for_sink, &what);
	segment->lmr_context = what.lmr_context;
	return what.ret;
}

/* ---- the end ----------------------------------------------------------- */

static void rmr_finish(struct pass_rmr *rmr)
{
	window_drop(rmr);
	binding_drop(&rmr->now);
	binding_drop(&rmr->next);
	pass_pz_unuse(rmr->pz);
	free(rmr);
}

/*
 * pass_rmr_completed - a bind has completed; called before the consumer can see the completion
 * @cookie: of the bind, which was on a queue pair
 *
 * After a failure the RMR shows nothing (mt:M40). An RMR that was freed while the bind was
 * outstanding is destroyed here (mt:M44). The EVD is locked.
 */
void pass_rmr_completed(struct pass_cookie *cookie, bool success)
{
	struct pass_rmr *rmr = cookie->rmr;
	bool dead = false, shown;

	shim_lock(&rmr->lock);
	if (rmr->cookie == cookie) {
		rmr->cookie = NULL;
		shown = success && !rmr->dead;
		/* The window goes before the binding: after that its LMR may be freed. */
		if (!shown || rmr->next.mr)
			window_drop(rmr);
		binding_drop(&rmr->now);
		if (shown) {
			rmr->now = rmr->next;
			memset(&rmr->next, 0, sizeof(rmr->next));
		} else {
			binding_drop(&rmr->next);
		}
		dead = rmr->dead;
	}
	shim_unlock(&rmr->lock);
	if (dead)
		rmr_finish(rmr);
}

/* Takes the RMR off its object. Return: NULL if the object has none any more. */
static struct pass_rmr *rmr_take(struct shim_object *obj)
{
	struct pass_rmr *rmr;

	shim_lock(&obj->lock);
	rmr = atomic_exchange(&obj->pass, NULL);
	shim_unlock(&obj->lock);
	return rmr;
}

static DAT_RETURN rmr_free(struct shim_object *obj)
{
	struct pass_rmr *rmr = rmr_take(obj);
	bool busy;

	if (!rmr)
		return RET_BAD_HANDLE(RMR);
	shim_lock(&rmr->lock);
	rmr->dead = true;
	busy = rmr->cookie;
	shim_unlock(&rmr->lock);
	if (!busy)
		rmr_finish(rmr);
	return DAT_SUCCESS;
}

DAT_RETURN pass_rmr_free(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(RMR);
	ret = rmr_free(obj);
	pass_ia_put(pia);
	return ret;
}

/* pass_rmr_close - its IA is closed, and no bind is on a queue pair */
void pass_rmr_close(struct shim_object *obj)
{
	struct pass_rmr *rmr = rmr_take(obj);

	if (rmr)
		rmr_finish(rmr);
}
