// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue pair for the next connection of an EP in passthrough.
 *
 * Connect and accept make a queue pair, move it to INIT, have the kernel bind it, and post the
 * receives to it that wait for one. Then they make the same ioctl as on a forwarded IA. If the
 * kernel refuses that, all of it is undone. A queue pair serves one connection. Called through the
 * table of operations (pass_ia.c); by other pass_*.c, to tell the kernel what they see
 * (pass_tell()); and by pass_end.c, to destroy the queue pair.
 */
#include <unistd.h>

#include "pass_event.h"
#include "pass_srq.h"

/* pass_tell - tell the kernel something about the present connection or attempt of an EP */
void pass_tell(struct pass_ep *ep, enum kdapl_uapi_tell what)
{
	struct kdapl_uapi_ep_tell arg = {
		.what = what,
		.ep = ep->token,
		.life = ep->life,
	};

	shim_ioctl(KDAPL_IOC_EP_TELL, &arg, RET_NO_FAULT);
}

/*
 * Bytes of a message that goes to the device inside its work request, which then need not be
 * fetched from memory: the headers and commands of most protocols. More would make the entries of
 * the send queue larger.
 */
#define INLINE_BYTES	64u

/* If the device has no room for them beside so many segments, it has none. */
static struct ibv_qp *qp_make_inline(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr without = *init;
	struct ibv_qp *qp;

	init->cap.max_inline_data = INLINE_BYTES;
	qp = ibv_create_qp(pd, init);
	if (qp)
		return qp;
	*init = without;
	return ibv_create_qp(pd, init);
}

static struct ibv_qp *qp_make(struct pass_ep *ep)
{
	const struct kdapl_uapi_ep_attr *attr = &ep->attr;
	const struct pass_srq *srq = ep->dir[PASS_RECV].srq;
	struct pass_dir *req = &ep->dir[PASS_REQ];
	struct ibv_qp_init_attr init = {
		.qp_context = ep,
		.send_cq = req->cq->cq,
		.recv_cq = ep->dir[PASS_RECV].cq->cq,
		.srq = srq ? srq->srq : NULL,
		.cap = {
			.max_send_wr = req->share ? req->share : 1,
			.max_recv_wr = ep->dir[PASS_RECV].share ? ep->dir[PASS_RECV].share : 1,
			.max_send_sge = pass_max3(attr->max_request_iov,
						  attr->max_rdma_read_iov,
						  attr->max_rdma_write_iov),
			.max_recv_sge = attr->max_recv_iov,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr to_init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = ep->pia->port,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				   (ep->pia->extensions & KDAPL_CAN_ATOMIC ?
				    IBV_ACCESS_REMOTE_ATOMIC : 0),
	};
	struct ibv_qp *qp;

	if (srq) {
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
	}
	qp = qp_make_inline(req->pz->pd, &init);
	shim_lock(&req->lock);
	req->max_inline = init.cap.max_inline_data < INLINE_BYTES ? init.cap.max_inline_data :
								    INLINE_BYTES;
	shim_unlock(&req->lock);
	/* The device's library takes receives only after it has made the move to INIT itself. */
	if (qp && ibv_modify_qp(qp, &to_init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
		ibv_destroy_qp(qp);
		qp = NULL;
	}
	return qp;
}

/*
 * Makes a queue pair, and enters it into the table of the SRQ if there is one. Completions that
 * were not polled yet may name a former queue pair of an EP on the SRQ by the number that the new
 * queue pair has got. Then another one is made, before the first is destroyed, so that it gets
 * another number.
 */
static struct ibv_qp *qp_create(struct pass_ep *ep)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];
	struct ibv_qp *qp = qp_make(ep), *taken = NULL;
	int tries = 8;

	while (qp && recv->srq && !pass_srq_enter(recv, qp->qp_num)) {
		if (taken)
			ibv_destroy_qp(taken);
		taken = qp;
		qp = tries-- ? qp_make(ep) : NULL;
	}
	if (taken)
		ibv_destroy_qp(taken);
	return qp;
}

/*
 * Takes back the receives that the queue pair has, so that they wait for another one. Completions
 * of this queue pair that come from now on are dropped. The lock of the direction is held.
 */
static void unpost_receives(struct pass_dir *dir)
{
	struct pass_cookie *cookie = dir->kept_first;
	uint32_t n;

	pass_owe_nothing(dir);
	shim_lock(dir->evd->lock);
	pass_wc_forget(dir->evd, dir);
	for (n = 0; n < dir->kept; n++, cookie = cookie->after)
		pass_cookie_move(cookie, PASS_HERE);
	shim_unlock(dir->evd->lock);
	if (dir->kept)
		dir->held_first = dir->kept_first;
	dir->held += dir->kept;
	dir->kept = 0;
	dir->posted = atomic_load(&dir->completed);
}

/*
 * Takes the queue pair off the EP, so that no post finds it. @unpost: its receives are held again,
 * as if it had never been there.
 */
static struct ibv_qp *qp_take(struct pass_ep *ep, bool unpost)
{
	struct ibv_qp *qp = NULL;
	int i;

	for (i = 0; i < PASS_DIRS; i++) {
		shim_lock(&ep->dir[i].lock);
		qp = ep->dir[i].qp;
		ep->dir[i].qp = NULL;
		if (unpost && i == PASS_RECV)
			unpost_receives(&ep->dir[i]);
		shim_unlock(&ep->dir[i].lock);
	}
	return qp;
}

/*
 * EBUSY: the kernel still holds the queue pair. It lets go of it before it answers the call that
 * asks for that, but once it has begun to close the IA it answers nothing, and lets go of the queue
 * pairs of all its EPs one after the other. Nobody tells when it has come to this one.
 */
static int qp_destroy(struct ibv_qp *qp)
{
	int err = ibv_destroy_qp(qp), tries;

	for (tries = 0; tries < 1000 && err == EBUSY; tries++) {
		usleep(1000);
		err = ibv_destroy_qp(qp);
	}
	return err;
}

static void qp_drop(struct pass_ep *ep, struct ibv_qp *qp)
{
	if (!qp)
		return;
	pass_keeper_unwatch(ep);
	/* When this call returns the kernel has let go of it. */
	if (ep->bound)
		pass_tell(ep, KDAPL_TELL_UNBIND);
	ep->bound = false;
	/* Completions of one that the device keeps may name cookies of the EP: these stay. */
	if (!pass_let_go(qp_destroy(qp)))
		atomic_fetch_add(&ep->refs, 1);
}

/*
 * pass_drop_qp - destroy the queue pair of an EP, if it has one
 *
 * @ep->use is held. All that was posted has been polled, or has been given up.
 */
void pass_drop_qp(struct pass_ep *ep)
{
	qp_drop(ep, qp_take(ep, false));
	atomic_store(&ep->spent, false);
}

static void unprepare(struct pass_ep *ep)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];

	qp_drop(ep, qp_take(ep, true));
	/*
	 * The kernel moves it to the error state before it lets go of it, and then the device
	 * flushes its receives. No consumer gets these completions, but they take room in the
	 * completion queue that the next ones may need.
	 */
	pass_evd_pull(recv->evd);
	pass_srq_leave(recv, true);
	atomic_store(&ep->over, true);
	atomic_store(&ep->preparing, false);
}

static DAT_RETURN bind_qp(struct pass_ep *ep, struct ibv_qp *qp)
{
	struct kdapl_uapi_ep_bind arg = {
		.uverbs_fd = ep->pia->ctx->cmd_fd,
		.ep = ep->token,
		.qp_num = qp->qp_num,
	};
	DAT_RETURN ret;

	ret = shim_ioctl(KDAPL_IOC_EP_BIND, &arg, RET(INTERNAL_ERROR));
	/* The kernel finds queue pairs by number, but had no memory to note this one's. */
	if (ret == RET(INTERNAL_ERROR) && errno == ENOENT)
		ret = RET_NO_RESOURCE(MEMORY);
	if (ret)
		return ret;
	/* ORDER: pairs with present_ep() in pass_event.c: @over is cleared for this life only. */
	atomic_store(&ep->life, arg.life);
	atomic_store(&ep->over, false);
	ep->bound = true;
	return DAT_SUCCESS;
}

/* A new connection or attempt: resets what the last one has left behind. */
static void begin_life(struct pass_ep *ep, struct ibv_qp *qp)
{
	int i;

	atomic_store(&ep->end_known, false);
	atomic_store(&ep->established, false);
	atomic_store(&ep->last_wqe, false);
	atomic_store(&ep->qp_num, qp->qp_num);
	atomic_store(&ep->preparing, true);
	atomic_store(&ep->cm_until, 0);
	ep->flush_until = 0;
	for (i = 0; i < PASS_DIRS; i++) {
		struct pass_dir *dir = &ep->dir[i];

		shim_lock(&dir->lock);
		dir->gate = PASS_ASIDE;
		dir->await = dir->is_recv;
		dir->kept = 0;
		dir->qp = qp;
		shim_unlock(&dir->lock);
	}
}

/* May the consumer look for the EP's receives, and never at the EVD of the event of its end? */
static bool ends_apart(const struct pass_ep *ep)
{
	return !ep->connect_evd || pass_evd_of(ep->connect_evd) != ep->dir[PASS_RECV].evd;
}

static bool may_connect(const struct pass_ep *ep)
{
	const struct pass_dir *dir = &ep->dir[PASS_REQ];

	switch (pass_state(dir->board)) {
	case DAT_EP_STATE_UNCONNECTED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return dir->pz && dir->cq && !dir->qp;
	default:
		return false;
	}
}

/*
 * Makes the queue pair that the connection will have. If the call is one that the kernel is going
 * to refuse, none is made (*@prepared is false), and the kernel's answer to the call says why.
 * @ep->use is held.
 */
static DAT_RETURN prepare(struct pass_ep *ep, bool *prepared)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];
	struct ibv_qp *qp;
	DAT_RETURN ret;
	int err;

	*prepared = false;
	if (!may_connect(ep))
		return DAT_SUCCESS;
	if (!ep->end)
		ep->end = pass_moved_new();
	if (!ep->end || !pass_keeper_start())
		return RET_NO_RESOURCE(MEMORY);
	qp = qp_create(ep);
	if (!qp)
		return RET_NO_RESOURCE(MEMORY);
	begin_life(ep, qp);
	ret = bind_qp(ep, qp);
	if (ret) {
		unprepare(ep);
		return DAT_GET_TYPE(ret) == DAT_INVALID_STATE ? DAT_SUCCESS : ret;
	}
	shim_lock(&recv->lock);
	err = pass_post_held(recv);
	shim_unlock(&recv->lock);
	if (err) {
		unprepare(ep);
		return RET_NO_RESOURCE(MEMORY);
	}
	if (ends_apart(ep))
		pass_keeper_watch(ep);
	*prepared = true;
	return DAT_SUCCESS;
}

/* Makes the ioctl @cmd, which begins a connection of an EP. */
static DAT_RETURN begin(struct shim_object *obj, unsigned long cmd, void *arg, DAT_RETURN fault)
{
	struct pass_ep *ep = pass_ep_get(obj);
	bool prepared;
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	pthread_mutex_lock(&ep->use);
	ret = prepare(ep, &prepared);
	if (!ret) {
		ret = shim_ioctl(cmd, arg, fault);
		if (ret && prepared)
			unprepare(ep);
		atomic_store(&ep->preparing, false);
		if (pass_ep_owes(ep))
			pass_ep_refill(ep);
	}
	pass_ep_unlock(ep);
	pass_ep_put(ep);
	return ret;
}

DAT_RETURN pass_ep_connect(struct shim_object *obj, struct kdapl_uapi_ep_connect *arg)
{
	return begin(obj, KDAPL_IOC_EP_CONNECT, arg, RET_BAD_ARG(6));
}

DAT_RETURN pass_ep_dup_connect(struct shim_object *obj,
			       struct kdapl_uapi_ep_dup_connect *arg)
{
	return begin(obj, KDAPL_IOC_EP_DUP_CONNECT, arg, RET_BAD_ARG(5));
}

DAT_RETURN pass_cr_accept(struct shim_object *obj, struct kdapl_uapi_cr_accept *arg)
{
	if (!obj || !shim_lives(obj, SHIM_EP) || !obj->ops->passthrough)
		return shim_ioctl(KDAPL_IOC_CR_ACCEPT, arg, RET_BAD_ARG(4));
	return begin(obj, KDAPL_IOC_CR_ACCEPT, arg, RET_BAD_ARG(4));
}
