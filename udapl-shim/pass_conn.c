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
 * pass_await_board - wait until the board shows a change of state
 * @former: says which states the EP has left
 * @limit: ns
 *
 * The kernel writes the new state to the board after the event is in the ring. A thread that has
 * that event, or whose call made the state change, may look at the board a moment before that.
 * The moment lasts as long as a worker of the kernel has to wait for a processor.
 */
void pass_await_board(const struct pass_ep *ep, bool (*former)(uint32_t state),
		      uint64_t limit)
{
	const struct kdapl_uapi_board_ep *board;
	uint64_t until = shim_now() + limit;
	const uint32_t life = ep->life;
	unsigned int us = 10;
	uint32_t now;

	for (;;) {
		/* Read each time: if another thread frees the EP, it becomes another board. */
		board = ep->dir[PASS_REQ].board;
		/* While this is 0 the kernel is writing the entry. */
		now = shim_load_acquire(&board->life);
		if (!former(pass_state(board)) || (now && now != life) ||
		    shim_now() > until)
			return;
		pass_pause(us);
		us = us < 1000 ? us * 2 : us;
	}
}

static struct ibv_qp *qp_make(struct pass_ep *ep)
{
	const struct kdapl_uapi_ep_attr *attr = &ep->attr;
	const struct pass_pz *pz = ep->dir[PASS_REQ].pz;
	const struct pass_srq *srq = ep->dir[PASS_RECV].srq;
	struct ibv_qp_init_attr init = {
		.qp_context = ep,
		.send_cq = ep->dir[PASS_REQ].cq->cq,
		.recv_cq = ep->dir[PASS_RECV].cq->cq,
		.srq = srq ? srq->srq : NULL,
		.cap = {
			.max_send_wr = ep->dir[PASS_REQ].share ? ep->dir[PASS_REQ].share : 1,
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
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *qp;

	if (srq) {
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
	}
	qp = ibv_create_qp(pz->pd, &init);
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

/* EBUSY: the kernel still holds the queue pair, and lets go of it in a moment. */
static int qp_destroy(struct ibv_qp *qp)
{
	int err = ibv_destroy_qp(qp), tries;

	for (tries = 0; tries < 1000 && err == EBUSY; tries++) {
		pass_pause(1000);
		err = ibv_destroy_qp(qp);
	}
	return err;
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

static void qp_drop(struct pass_ep *ep, struct ibv_qp *qp)
{
	if (!qp)
		return;
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
}

/*
 * Polls the completions of a queue pair that is not used after all. The kernel moves it to the
 * error state before it lets go of it, and then the device flushes its receives. No consumer gets
 * these completions, but they take room in the completion queue that the next ones may need.
 */
static void forget_completions(struct pass_evd *evd)
{
	shim_lock(evd->lock);
	pass_wc_pull(evd);
	if (evd->first)
		pass_evd_wake(evd);
	shim_unlock(evd->lock);
}

static void unprepare(struct pass_ep *ep)
{
	struct pass_dir *recv = &ep->dir[PASS_RECV];

	qp_drop(ep, qp_take(ep, true));
	forget_completions(recv->evd);
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
	ep->life = arg.life;
	ep->bound = true;
	return DAT_SUCCESS;
}

/*
 * From here on the events of the connect EVD are about the new connection, but for those that are
 * there already (@ep->old_until). The kernel has raised none for the new one yet. What is not in
 * the ring cannot be counted there, so it is taken out of the kernel first. This is done anew for
 * each connection, since the EP may have got another connect EVD meanwhile.
 */
static void begin_events(struct pass_ep *ep)
{
	struct pass_evd *evd = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;

	if (evd) {
		shim_lock(evd->lock);
		if (shim_ring_more(evd->ring)) {
			pass_event_move_ring(evd);
			pass_evd_wake(evd);
		}
		ep->old_until = evd->taken + shim_ring_filled(evd->ring);
	}
	atomic_store(&ep->established, false);
	atomic_store(&ep->over, false);
	if (evd)
		shim_unlock(evd->lock);
}

/* A new connection or attempt: resets what the last one has left behind. */
static void begin_life(struct pass_ep *ep, struct ibv_qp *qp)
{
	int i;

	atomic_store(&ep->told, false);
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
	begin_events(ep);
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
	if (!ep->end)
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
	*prepared = true;
	return DAT_SUCCESS;
}

/* Makes the ioctl @cmd, which begins a connection of @ep. */
static DAT_RETURN begin(struct pass_ep *ep, unsigned long cmd, void *arg, DAT_RETURN fault)
{
	bool prepared;
	DAT_RETURN ret;

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
	pthread_mutex_unlock(&ep->use);
	return ret;
}

static DAT_RETURN begin_of(struct shim_object *obj, unsigned long cmd, void *arg,
			   DAT_RETURN fault)
{
	struct pass_ep *ep = pass_ep_get(obj);
	DAT_RETURN ret;

	if (!ep)
		return RET_BAD_HANDLE(EP);
	ret = begin(ep, cmd, arg, fault);
	pass_ep_put(ep);
	return ret;
}

DAT_RETURN pass_ep_connect(struct shim_object *obj, struct kdapl_uapi_ep_connect *arg)
{
	return begin_of(obj, KDAPL_IOC_EP_CONNECT, arg, RET_BAD_ARG(6));
}

DAT_RETURN pass_ep_dup_connect(struct shim_object *obj,
			       struct kdapl_uapi_ep_dup_connect *arg)
{
	return begin_of(obj, KDAPL_IOC_EP_DUP_CONNECT, arg, RET_BAD_ARG(5));
}

DAT_RETURN pass_cr_accept(struct shim_object *obj, struct kdapl_uapi_cr_accept *arg)
{
	if (!obj || !shim_lives(obj, SHIM_EP) || !obj->ops->passthrough)
		return shim_ioctl(KDAPL_IOC_CR_ACCEPT, arg, RET_BAD_ARG(4));
	return begin_of(obj, KDAPL_IOC_CR_ACCEPT, arg, RET_BAD_ARG(4));
}
