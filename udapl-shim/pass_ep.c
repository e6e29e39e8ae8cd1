// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints in passthrough: the library's half of an EP, beside the kernel's object. pass_conn.c
 * makes the queue pair of the next connection, pass_end.c carries out its end.
 */
#include <stdlib.h>
#include <string.h>

#include "pass_srq.h"

/*
 * The memory of an EP is used for other EPs, but never given back: a post may look at an EP that
 * was freed just now.
 */
static struct {
	pthread_mutex_t lock;
	struct pass_ep *free;
} ep_pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* pass_eps_child - a child of fork() has none of its parent's EPs */
void pass_eps_child(void)
{
	pthread_mutex_init(&ep_pool.lock, NULL);
	ep_pool.free = NULL;
}

/* Stands in for the board of a freed EP: it refuses posts, and there is nothing to end. */
static const struct kdapl_uapi_board_ep no_board = {
	.state = DAT_EP_STATE_DISCONNECTED,
	.refuse_request = RET_BAD_HANDLE(EP),
	.refuse_recv = RET_BAD_HANDLE(EP),
};

static struct pass_ep *pool_take(void)
{
	struct pass_ep *ep;

	pthread_mutex_lock(&ep_pool.lock);
	ep = ep_pool.free;
	if (ep)
		ep_pool.free = ep->next_free;
	pthread_mutex_unlock(&ep_pool.lock);
	if (ep)
		return ep;
	ep = calloc(1, sizeof(*ep));
	if (ep)
		pthread_mutex_init(&ep->use, NULL);
	return ep;
}

/* pass_ep_put - drop a reference; the last one gives the cookies back */
void pass_ep_put(struct pass_ep *ep)
{
	if (atomic_fetch_sub(&ep->refs, 1) != 1)
		return;
	pass_rings_free(&ep->dir[PASS_REQ]);
	pass_rings_free(&ep->dir[PASS_RECV]);
	free(ep->end);
	ep->end = NULL;
	if (ep->dir[PASS_RECV].srq)
		pass_srq_put(ep->dir[PASS_RECV].srq);
	ep->dir[PASS_RECV].srq = NULL;
	pthread_mutex_lock(&ep_pool.lock);
	ep->next_free = ep_pool.free;
	ep_pool.free = ep;
	pthread_mutex_unlock(&ep_pool.lock);
}

/* pass_ep_try_get - take a reference; false: the EP is gone */
bool pass_ep_try_get(struct pass_ep *ep)
{
	unsigned int refs = atomic_load(&ep->refs);

	while (refs)
		if (atomic_compare_exchange_weak(&ep->refs, &refs, refs + 1))
			return true;
	return false;
}

/*
 * pass_ep_get - the library's half of an EP, with a reference
 *
 * If the kernel has made the EP, for a request, the library's half may not be there yet; then it
 * is made now. Return: NULL if the EP was freed, or without memory.
 */
struct pass_ep *pass_ep_get(struct shim_object *obj)
{
	struct pass_ep *ep;

	for (;;) {
		ep = pass_ep_of(obj);
		if (!ep) {
			if (!shim_lives(obj, SHIM_EP) || pass_ep_made(obj))
				return NULL;
			continue;
		}
		if (pass_ep_try_get(ep)) {
			if (ep->obj == obj)
				return ep;
			pass_ep_put(ep);
		}
		if (pass_ep_of(obj) == ep)
			return NULL;
	}
}

/* ---- attributes and objects -------------------------------------------- */

/* What posts are checked against, from the attributes */
static void set_limits(struct pass_ep *ep)
{
	const struct kdapl_uapi_ep_attr *attr = &ep->attr;

	kdapl_dto_set_limits(ep->limits, attr);
	ep->dir[PASS_REQ].max_plain = attr->max_request_iov ? attr->max_message_size : 0;
	ep->dir[PASS_RECV].max_plain = attr->max_recv_iov ? attr->max_message_size : 0;
	ep->reads = attr->max_rdma_read_out;
}

/*
 * All that the attributes of an EP have it use. A change takes the new ones as a whole before
 * anything of the EP changes, and then gives the old ones back (use_install(), use_drop()).
 */
struct use {
	struct pass_evd *evd[PASS_DIRS];
	struct pass_cq *cq[PASS_DIRS];
	uint32_t share[PASS_DIRS];
	struct pass_rings *rings[PASS_DIRS];
	struct pass_share *shared;
	struct pass_pz *pz;
	bool deep[PASS_DIRS];
	bool solicited;
	bool binds;
};

static void use_drop(struct use *use)
{
	int i;

	for (i = 0; i < PASS_DIRS; i++) {
		pass_rings_drop(use->rings[i]);
		if (use->cq[i])
			pass_evd_unreserve(use->evd[i], use->cq[i], use->share[i]);
	}
	pass_share_put(use->shared);
	if (use->solicited)
		pass_evd_count_solicited(use->evd[PASS_RECV], -1);
	if (use->pz)
		pass_pz_unuse(use->pz);
	/* This is last: a thread that frees the EVD waits for it, and then frees the memory. */
	for (i = 0; i < PASS_DIRS; i++)
		if (use->evd[i])
			pass_evd_unuse(use->evd[i]);
}

static struct pass_evd *evd_by_token(struct pass_ep *ep, uint64_t token)
{
	struct shim_object *obj = token ? shim_by_token(token) : NULL;

	if (obj)
		return pass_evd_use(obj);
	if (!ep->hidden)
		ep->hidden = pass_evd_hidden(ep->pia);
	if (ep->hidden)
		atomic_fetch_add(&ep->hidden->users, 1);
	return ep->hidden;
}

/* E18: binds need a request EVD that takes their completions, or none at all. */
static bool takes_binds(uint64_t token)
{
	struct kdapl_uapi_evd_query arg = { .evd = token, .mask = DAT_EVD_FIELD_ALL };

	return !token || (!shim_ioctl(KDAPL_IOC_EVD_QUERY, &arg, RET_NO_FAULT) &&
			  arg.flags & DAT_EVD_RMR_BIND_FLAG);
}

static bool rings_for(struct pass_ep *ep, int i, uint32_t size, uint32_t max_sge,
		      struct use *use)
{
	const struct pass_dir *dir = &ep->dir[i];
	bool requests = use->deep[i] && !dir->is_recv;

	if (dir->rings && dir->size == size && dir->max_sge == (max_sge ? max_sge : 1) &&
	    (dir->requests || !requests))
		return true;
	use->rings[i] = pass_rings_alloc(&ep->dir[i], size, max_sge, requests);
	return use->rings[i];
}

/* So many posts of @dtos the queue pair is given at most: a completion queue has room for them. */
static uint32_t share_of(const struct pass_ep *ep, uint32_t dtos)
{
	return dtos < ep->pia->max_cqe ? dtos : ep->pia->max_cqe;
}

/*
 * Reserves room for the completions of a direction. Receives of an SRQ have no ring of cookies in
 * the EP, and share their room with other EPs on the SRQ.
 */
static DAT_RETURN reserve(const struct pass_ep *ep, int i, struct use *use)
{
	struct pass_srq *srq = ep->dir[i].srq;
	DAT_RETURN ret;

	if (!srq)
		return pass_evd_reserve(use->evd[i], ep, use->share[i], &use->cq[i]);
	ret = pass_share_take(srq, use->evd[i], &use->shared);
	if (!ret)
		use->cq[i] = use->shared->cq;
	return ret;
}

static DAT_RETURN use_take(struct pass_ep *ep, const struct kdapl_uapi_ep_param *param,
			   struct use *use)
{
	const struct kdapl_uapi_ep_attr *attr = &param->attr;
	uint32_t recvs = ep->dir[PASS_RECV].srq ? 0 : attr->max_recv_dtos;
	uint32_t requests = attr->max_request_dtos, req_sge = 1;
	struct shim_object *pz = param->pz ? shim_by_token(param->pz) : NULL;
	DAT_RETURN ret = DAT_SUCCESS;
	int i;

	memset(use, 0, sizeof(*use));
	use->share[PASS_REQ] = share_of(ep, requests);
	use->share[PASS_RECV] = share_of(ep, recvs);
	use->deep[PASS_REQ] = requests > use->share[PASS_REQ];
	use->deep[PASS_RECV] = recvs > use->share[PASS_RECV];
	if (ep->keys || use->deep[PASS_REQ])
		req_sge = pass_max3(attr->max_request_iov, attr->max_rdma_read_iov,
				    attr->max_rdma_write_iov);
	if (!rings_for(ep, PASS_REQ, requests, req_sge, use) ||
	    !rings_for(ep, PASS_RECV, recvs, attr->max_recv_iov, use))
		return RET_NO_RESOURCE(MEMORY);
	use->evd[PASS_REQ] = evd_by_token(ep, param->request_evd);
	use->evd[PASS_RECV] = evd_by_token(ep, param->recv_evd);
	if (!use->evd[PASS_REQ] || !use->evd[PASS_RECV])
		return RET_NO_RESOURCE(MEMORY);
	use->pz = pz ? pass_pz_use(pz, param->pz) : NULL;
	for (i = 0; i < PASS_DIRS && !ret; i++)
		ret = reserve(ep, i, use);
	use->binds = takes_binds(param->request_evd);
	if (!ret && param->recv_evd &&
	    attr->recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG) {
		use->solicited = true;
		pass_evd_count_solicited(use->evd[PASS_RECV], 1);
	}
	return ret;
}

/*
 * The receives that wait for a queue pair must fit into the new attributes. The kernel does not
 * know of these receives; it only checks that the state allows the change. The lock of the
 * direction is held. @asked: the argument of dat_ep_modify()
 */
static DAT_RETURN check_held(const struct pass_ep *ep,
			     const struct kdapl_uapi_ep_param *asked)
{
	const struct pass_dir *dir = &ep->dir[PASS_RECV];
	const struct pass_cookie *cookie = dir->held_first;
	uint32_t n;

	if (!dir->held)
		return DAT_SUCCESS;
	if (asked->mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS &&
	    (uint32_t)asked->attr.max_recv_dtos < dir->held)
		return RET_BAD_ARG(3);
	for (n = 0; n < dir->held; n++, cookie = cookie->after)
		if (asked->mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV &&
		    cookie->nr_sge > asked->attr.max_recv_iov)
			return RET_BAD_ARG(3);
	return asked->mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS ?
	       RET_BAD_STATE(EP_UNCONNECTED) :
	       DAT_SUCCESS;
}

/*
 * Gives the EP what is in @use, and puts what it had before there, for the caller to drop. Its
 * directions are locked.
 */
static void use_swap(struct pass_ep *ep, struct use *use)
{
	struct use old = { .solicited = ep->solicited };
	struct pass_dir *dir;

	for (dir = ep->dir; dir < &ep->dir[PASS_DIRS]; dir++) {
		old.evd[dir->is_recv] = dir->evd;
		old.cq[dir->is_recv] = dir->cq;
		old.share[dir->is_recv] = dir->share;
		old.pz = dir->pz;
		dir->evd = use->evd[dir->is_recv];
		dir->cq = use->cq[dir->is_recv];
		dir->share = use->share[dir->is_recv];
		dir->deep = use->deep[dir->is_recv];
		dir->pz = use->pz;
		if (use->rings[dir->is_recv])
			pass_rings_install(dir, use->rings[dir->is_recv]);
	}
	old.shared = ep->dir[PASS_RECV].shared;
	ep->dir[PASS_RECV].shared = use->shared;
	ep->solicited = use->solicited;
	*use = old;
}

/*
 * The same when the attributes are given or changed.
 * @asked: NULL, or the argument of dat_ep_modify(), which is refused if receives have been posted
 * meanwhile that do not fit into the new attributes
 */
static DAT_RETURN use_install(struct pass_ep *ep, const struct kdapl_uapi_ep_param *param,
			      const struct kdapl_uapi_ep_param *asked, struct use *use)
{
	DAT_RETURN ret;

	shim_lock(&ep->dir[PASS_REQ].lock);
	shim_lock(&ep->dir[PASS_RECV].lock);
	ret = asked ? check_held(ep, asked) : DAT_SUCCESS;
	if (ret)
		goto out;
	ep->binds = use->binds;
	ep->attr = param->attr;
	ep->connect_evd = param->connect_evd ? shim_by_token(param->connect_evd) : NULL;
	set_limits(ep);
	use_swap(ep, use);
out:
	shim_unlock(&ep->dir[PASS_RECV].lock);
	shim_unlock(&ep->dir[PASS_REQ].lock);
	return ret;
}

/*
 * Finds the SRQ of an EP, which it has from its creation. The SRQ is not freed meanwhile, since the
 * kernel refuses that while an EP is on it (mt:M52). Return: false if it is not found.
 */
static bool find_srq(struct pass_ep *ep, uint64_t token)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];
	struct shim_object *obj;

	if (!token || recv->srq)
		return true;
	obj = shim_by_token(token);
	recv->srq = obj && shim_is(obj, SHIM_SRQ, token) ? pass_srq_get(obj) : NULL;
	return recv->srq;
}

/* Brings the library's half in line with the kernel's object. @asked: as for use_install() */
static DAT_RETURN ep_configure(struct pass_ep *ep, struct kdapl_uapi_ep_param *param,
			       const struct kdapl_uapi_ep_param *asked)
{
	struct use use;
	DAT_RETURN ret;

	memset(param, 0, sizeof(*param));
	param->ep = ep->token;
	param->mask = FACE_KERNEL_EP_ALL;
	ret = shim_ioctl(KDAPL_IOC_EP_QUERY, param, RET_NO_FAULT);
	if (ret)
		return ret;
	if (!find_srq(ep, param->srq))
		return RET_BAD_HANDLE(SRQ);
	ret = use_take(ep, param, &use);
	if (!ret)
		ret = use_install(ep, param, asked, &use);
	use_drop(&use);
	return ret;
}

/* ---- life -------------------------------------------------------------- */

static void init_requests(struct pass_dir *dir)
{
	memset(&dir->wr, 0, sizeof(dir->wr));
	if (dir->is_recv) {
		dir->wr.recv.num_sge = 1;
		return;
	}
	dir->wr.send.num_sge = 1;
	dir->wr.send.opcode = IBV_WR_SEND;
	dir->wr.send.send_flags = IBV_SEND_SIGNALED;
	dir->wr.rdma = dir->wr.send;
}

static void dir_init(struct pass_ep *ep, int i, struct shim_object *obj)
{
	struct pass_dir *dir = &ep->dir[i];

	shim_lock(&dir->lock);
	dir->gate = PASS_ASIDE;
	dir->is_recv = i == PASS_RECV;
	dir->await = false;
	dir->qp = NULL;
	dir->ep = ep;
	dir->handle = obj;
	dir->owner = obj;
	dir->evd = NULL;
	dir->cq = NULL;
	dir->shared = NULL;
	dir->in_srq = false;
	dir->waiting = NULL;
	dir->parked = NULL;
	dir->held = 0;
	dir->kept = 0;
	dir->deep = false;
	atomic_store(&dir->owing, false);
	dir->late = NULL;
	dir->late_end = &dir->late;
	dir->posted = 0;
	atomic_store(&dir->completed, 0);
	init_requests(dir);
	shim_unlock(&dir->lock);
}

static struct pass_ep *ep_alloc(struct shim_object *obj, struct pass_ia *pia, uint32_t slot)
{
	struct pass_ep *ep = pool_take();

	if (!ep)
		return NULL;
	ep->pia = pia;
	ep->left = false;
	ep->ia = obj->ia;
	ep->token = shim_token(obj);
	ep->keys = pia->hints & KDAPL_VERBS_MUTE_FAULTS;
	atomic_store(&ep->life, 0);
	ep->end_held = false;
	ep->bound = false;
	ep->solicited = false;
	ep->hidden = NULL;
	ep->connect_evd = NULL;
	atomic_store(&ep->over, true);
	atomic_store(&ep->end_known, false);
	atomic_store(&ep->established, false);
	atomic_store(&ep->leaving, false);
	atomic_store(&ep->ending, false);
	atomic_store(&ep->draining, false);
	atomic_store(&ep->spent, false);
	ep->lost = false;
	atomic_store(&ep->passed_over, false);
	atomic_store(&ep->preparing, false);
	dir_init(ep, PASS_REQ, obj);
	dir_init(ep, PASS_RECV, obj);
	ep->dir[PASS_REQ].board = &pia->board[slot];
	ep->dir[PASS_RECV].board = &pia->board[slot];
	return ep;
}

/*
 * pass_ep_off_board - the kernel has destroyed the EP
 *
 * Its entry of the board may belong to another EP from now on.
 */
void pass_ep_off_board(struct pass_ep *ep)
{
	int i;

	for (i = 0; i < PASS_DIRS; i++) {
		shim_lock(&ep->dir[i].lock);
		__atomic_store_n(&ep->dir[i].board, &no_board, __ATOMIC_RELAXED);
		shim_unlock(&ep->dir[i].lock);
	}
}

/*
 * pass_ep_leave - end an EP: no post finds it any more, and what it uses is given back
 *
 * It has no queue pair. Its cookies stay until their events are taken. @ep->use is held. The EP
 * leaves the list of the IA last, so that threads that close the IA or free its connect EVD or its
 * SRQ wait until this is done.
 */
void pass_ep_leave(struct pass_ep *ep)
{
	struct pass_ia *pia = ep->pia;
	struct use use = { 0 };
	struct pass_ep **link;

	ep->left = true;
	pass_ep_off_board(ep);
	shim_lock(&ep->dir[PASS_REQ].lock);
	shim_lock(&ep->dir[PASS_RECV].lock);
	atomic_store(&ep->obj, NULL);
	ep->dir[PASS_REQ].owner = NULL;
	ep->dir[PASS_RECV].owner = NULL;
	use_swap(ep, &use);
	shim_unlock(&ep->dir[PASS_RECV].lock);
	shim_unlock(&ep->dir[PASS_REQ].lock);
	use_drop(&use);
	if (ep->hidden)
		pass_evd_free(ep->hidden);
	ep->hidden = NULL;
	pthread_mutex_lock(&pia->lock);
	ep->connect_evd = NULL;
	for (link = &pia->eps; *link != ep; link = &(*link)->next)
		;
	*link = ep->next;
	pthread_mutex_unlock(&pia->lock);
	shim_wake(&pia->news);
	pass_ep_put(ep);
}

/*
 * pass_eps_use - does an EP of the IA still use an object: its connect EVD, or its struct pass_srq?
 *
 * The kernel frees such an object as soon as it has freed the EPs on it, at a time when the library
 * may still have to finish its half of such an EP.
 */
bool pass_eps_use(struct pass_ia *pia, const void *object)
{
	const struct pass_ep *ep;
	bool used = false;

	pthread_mutex_lock(&pia->lock);
	for (ep = pia->eps; ep && !used; ep = ep->next)
		used = ep->connect_evd == object || ep->dir[PASS_RECV].srq == object;
	pthread_mutex_unlock(&pia->lock);
	return used;
}

/*
 * pass_dir_park - keep the cookies of a direction for completions that nobody waits for
 *
 * Such completions may still be in a completion queue of the EVD and name the cookies. So the EVD
 * keeps a reference of the EP until it destroys its queues. The lock of the direction is held. If
 * another EVD keeps the direction already, this reference is never dropped, and neither is the
 * memory given back.
 */
void pass_dir_park(struct pass_dir *dir)
{
	struct pass_evd *evd = dir->evd;

	if (dir->parked == evd)
		return;
	atomic_fetch_add(&dir->ep->refs, 1);
	if (dir->parked)
		return;
	dir->parked = evd;
	shim_lock(evd->lock);
	dir->next_parked = evd->parked;
	evd->parked = dir;
	shim_unlock(evd->lock);
}

/*
 * Has the kernel destroyed the EP meanwhile? Either pass_ep_gone() finds the library's half, or
 * this finds that the kernel does not have the EP any more.
 */
static DAT_RETURN ep_still_there(struct shim_object *obj, struct pass_ep *ep)
{
	struct kdapl_uapi_ep_board arg = { .ep = ep->token };
	DAT_RETURN ret = shim_ioctl(KDAPL_IOC_EP_BOARD, &arg, RET_NO_FAULT);

	if (ret) {
		atomic_store(&obj->pass, NULL);
		pass_ep_leave(ep);
	}
	return ret;
}

/*
 * Makes the library's half. If another thread closes the IA meanwhile it finds the EP in the list,
 * and waits for @ep->use.
 */
static DAT_RETURN ep_make(struct shim_object *obj, struct pass_ia *pia)
{
	struct kdapl_uapi_ep_board arg = { .ep = shim_token(obj) };
	struct kdapl_uapi_ep_param param;
	struct pass_ep *ep;
	void *none = NULL;
	DAT_RETURN ret;

	ret = shim_ioctl(KDAPL_IOC_EP_BOARD, &arg, RET_NO_FAULT);
	if (ret)
		return ret;
	if (arg.slot >= pia->board_size / sizeof(*pia->board))
		return RET_NO_RESOURCE(MEMORY);
	ep = ep_alloc(obj, pia, arg.slot);
	if (!ep)
		return RET_NO_RESOURCE(MEMORY);
	/* One reference of the object, and one of this function. */
	atomic_store(&ep->refs, 2);
	pthread_mutex_lock(&ep->use);
	pthread_mutex_lock(&pia->lock);
	ep->next = pia->eps;
	pia->eps = ep;
	pthread_mutex_unlock(&pia->lock);
	ret = ep_configure(ep, &param, NULL);
	if (!ret)
		atomic_store(&ep->obj, obj);
	/* It failed, or another thread has made the library's half first. */
	if (ret || !atomic_compare_exchange_strong(&obj->pass, &none, ep))
		pass_ep_leave(ep);
	else
		ret = ep_still_there(obj, ep);
	pass_ep_unlock(ep);
	pass_ep_put(ep);
	return ret;
}

DAT_RETURN pass_ep_made(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(EP);
	ret = ep_make(obj, pia);
	pass_ia_put(pia);
	return ret;
}

/* pass_ep_gone - the kernel has destroyed the EP that it had made for a request */
void pass_ep_gone(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_ep *ep = pia ? pass_ep_of(obj) : NULL;

	if (ep && pass_ep_try_get(ep)) {
		if (ep->obj == obj) {
			atomic_store(&obj->pass, NULL);
			pass_end_close(ep);
		}
		pass_ep_put(ep);
	}
	if (pia)
		pass_ia_put(pia);
}

/* ---- dat_ep_modify ----------------------------------------------------- */

DAT_RETURN pass_ep_modify(struct shim_object *obj, struct kdapl_uapi_ep_param *arg)
{
	struct pass_ep *ep = pass_ep_get(obj);
	struct kdapl_uapi_ep_param before = { .mask = FACE_KERNEL_EP_ALL }, now;
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	pthread_mutex_lock(&ep->use);
	before.ep = ep->token;
	ret = shim_ioctl(KDAPL_IOC_EP_QUERY, &before, RET_NO_FAULT);
	if (!ret) {
		shim_lock(&ep->dir[PASS_RECV].lock);
		ret = check_held(ep, arg);
		shim_unlock(&ep->dir[PASS_RECV].lock);
	}
	if (!ret)
		ret = shim_ioctl(KDAPL_IOC_EP_MODIFY, arg, RET_BAD_ARG(3));
	if (!ret) {
		ret = ep_configure(ep, &now, arg);
		if (ret) {
			/* A call that fails changes nothing (E2). */
			before.mask = arg->mask;
			shim_ioctl(KDAPL_IOC_EP_MODIFY, &before, RET_NO_FAULT);
		}
	}
	pass_ep_unlock(ep);
	pass_ep_put(ep);
	return ret;
}

/* ---- dat_ep_get_status, dat_ep_recv_query ------------------------------ */

static bool dir_idle(struct pass_dir *dir)
{
	bool idle;

	shim_lock(&dir->lock);
	idle = !dir->held && !dir->late && dir->posted == atomic_load(&dir->completed);
	shim_unlock(&dir->lock);
	return idle;
}

/*
 * Is a direction idle: was all that was posted polled? The kernel cannot tell, since it does not
 * see the queues.
 */
static bool dir_pull_idle(struct pass_dir *dir)
{
	if (dir_idle(dir))
		return true;
	pass_evd_pull(dir->evd);
	return dir_idle(dir);
}

/*
 * Carries on the end of the connection, for a consumer who looks at nothing else: what was posted
 * behind the end has to become flushed and idle (D46), and what waits for room, posted.
 */
DAT_RETURN pass_ep_status(struct shim_object *obj, struct kdapl_uapi_ep_get_status *arg)
{
	struct pass_ep *ep = pass_ep_get(obj);
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	ret = shim_ioctl(KDAPL_IOC_EP_GET_STATUS, arg, RET_NO_FAULT);
	if (!ret) {
		pthread_mutex_lock(&ep->use);
		pass_end_go(ep);
		arg->recv_idle = dir_pull_idle(&ep->dir[PASS_RECV]);
		arg->request_idle = dir_pull_idle(&ep->dir[PASS_REQ]);
		pass_ep_refill(ep);
		pass_ep_unlock(ep);
	}
	pass_ep_put(ep);
	return ret;
}

/* Number of posts that have not completed: held, on the queue pair, or late. */
static uint32_t dir_held(struct pass_dir *dir)
{
	const struct pass_cookie *late;
	uint32_t n;

	shim_lock(&dir->lock);
	n = dir->held + dir->posted - atomic_load(&dir->completed);
	for (late = dir->late; late; late = late->late_next)
		n++;
	shim_unlock(&dir->lock);
	return n;
}

/*
 * The library answers this alone, as the kernel sees none of the receives, and carries on the end
 * of the connection like pass_ep_status(). How many an EP has taken from an SRQ nobody knows
 * (mt:M57).
 */
DAT_RETURN pass_ep_recv_query(struct shim_object *obj, struct kdapl_uapi_ep_recv_query *arg)
{
	struct pass_ep *ep = pass_ep_get(obj);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	if (ep->dir[PASS_RECV].srq)
		ret = RET(MODEL_NOT_SUPPORTED);
	pthread_mutex_lock(&ep->use);
	pass_end_go(ep);
	arg->allocated = dir_held(&ep->dir[PASS_RECV]);
	pass_ep_unlock(ep);
	arg->span = arg->allocated;
	pass_ep_put(ep);
	return ret;
}
