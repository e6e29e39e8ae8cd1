// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Passthrough: adapters whose queue pairs, memory and completion queues their process has
 * made through uverbs.  The process posts and polls without the kernel.  It has to tell which
 * queue pair the next connection of an endpoint is to have, and what it alone can see of that
 * queue pair; both are here.  So is the watch, for connections that break while their process
 * does not look.
 *
 * A process may tell anything at any moment, and harms its own connection at most
 * (Documentation/life-of-a-connection.rst, Queue pairs of a process).  What becomes of a bound
 * queue pair is in conn_qp.c, what the process is shown in ep_view.c.
 *
 * Callers: face/dev_board.c.
 */
#include "conn.h"
#include "core.h"
#include "ep.h"
#include "ep_apply.h"
#include "ia.h"
#include "op.h"
#include "srq.h"

/* How long a broken queue pair may go unnoticed if its process does not look. */
#define WATCH_TIME	HZ

/* ---- the watch ------------------------------------------------------ */

/*
 * Asks the device for the state of the queue pair.  If it cannot be asked, nothing is known to
 * be broken, and the next look finds out.  On iWARP the CM has its time to tell how a
 * connection ended.
 */
static void conn_look(struct kdapl_conn *conn)
{
	/* Pairs with kdapl_conn_move_qp(). */
	if (!smp_load_acquire(&conn->rts) || !kdapl_conn_ask_qp(conn))
		return;
	if (conn->ia->dev->iwarp)
		kdapl_conn_await_cm(conn);
	else
		kdapl_conn_input(conn, KDAPL_EP_IN_BROKEN, 0);
}

/* Returns true if there is something to look at again. */
static bool ep_look(struct kdapl_ep *ep)
{
	struct kdapl_conn *conn = kdapl_ep_get_conn(ep);
	bool again;

	if (!conn)
		return READ_ONCE(ep->bound.ib);
	if (!READ_ONCE(conn->ends))
		conn_look(conn);
	again = !READ_ONCE(conn->ends);
	kdapl_conn_put(conn);
	return again;
}

/*
 * Enters the section for each endpoint anew, because the driver may take its time for an
 * answer, and a removal or a close must not wait for more than one.
 */
static void ia_watch(struct work_struct *work)
{
	struct kdapl_ia *ia = container_of(to_delayed_work(work), struct kdapl_ia, watch);
	struct kdapl_object *obj = NULL;
	unsigned long begin = jiffies, delay;
	bool again = false;
	int idx;

	while ((obj = kdapl_ia_next_object(ia, KDAPL_EP, obj))) {
		if (kdapl_ia_enter(ia, &idx)) {
			kdapl_object_put(obj);
			return;
		}
		again |= ep_look(kdapl_ep_of(obj));
		kdapl_ia_leave(ia, idx);
		cond_resched();
	}
	/* However many endpoints there are, the device is busy a tenth of the time at most. */
	delay = max_t(unsigned long, WATCH_TIME, 10 * (jiffies - begin));
	if (again)
		queue_delayed_work(kdapl_wq_of(ia->obj.space), &ia->watch, delay);
}

/* ---- the mode ------------------------------------------------------- */

/*
 * Whoever makes an object is counted before he looks at the mode (kdapl_object_init()).  So
 * either he sees passthrough, or the count is not what it must be, and the mode is not chosen.
 */
static DAT_RETURN ia_passthrough(struct kdapl_ia *ia, bool own_srqs)
{
	DAT_RETURN ret = RET(INVALID_STATE);

	mutex_lock(&ia->lock);
	if (!ia->passthrough && ia->nr_objects == ia->own_async && !ia->nr_unpublished) {
		INIT_DELAYED_WORK(&ia->watch, ia_watch);
		ia->qp = ia->dev->user_qp;
		ia->own_srqs = own_srqs;
		/* Pairs with kdapl_ia_is_passthrough(). */
		smp_store_release(&ia->passthrough, true);
		ret = DAT_SUCCESS;
	}
	mutex_unlock(&ia->lock);
	return ret;
}

/**
 * kdapl_ia_passthrough - an adapter's queue pairs will be its process's own
 * @space: of a process
 * @handle: of an IA on which nothing was made
 * @uverbs: file of the process's verbs context; NULL: it has named none
 * @hints: in: KDAPL_HINT_OWN_SRQS, if the process has those, and KDAPL_HINT_ASKED, if its
 *	   user asks for the mode; out: those of the device
 *
 * An object that another thread is making counts as one that is there.  May sleep.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_MODEL_NOT_SUPPORTED where the driver
 * does not let the kernel move a queue pair of a process, or damages what processes send
 * and the user has not asked; DAT_INVALID_PARAMETER/ARG2 if @uverbs is no uverbs file of
 * the device; DAT_INSUFFICIENT_RESOURCES/MEMORY; DAT_INVALID_STATE if there are objects,
 * the device is gone, or it was called before.
 */
DAT_RETURN kdapl_ia_passthrough(struct kdapl_space *space, DAT_IA_HANDLE handle,
				struct file *uverbs, u32 *hints)
{
	bool own_srqs = *hints & KDAPL_HINT_OWN_SRQS;
	struct kdapl_device *dev;
	struct kdapl_op op;
	DAT_RETURN ret;
	int err;

	ret = kdapl_op_find(&op, space, handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret) {
		dev = op.obj->ia->dev;
		if (!dev->user_qp || dev->verbs_hints & ~*hints & KDAPL_HINT_ASKED)
			ret = RET(MODEL_NOT_SUPPORTED);
	}
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret) {
		*hints = dev->verbs_hints & ~KDAPL_HINT_ASKED;
		err = uverbs ? dev->user_qp->check_file(dev, uverbs) : -EINVAL;
		if (err)
			ret = err == -ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET_BAD_ARG(2);
	}
	if (!ret)
		ret = ia_passthrough(op.obj->ia, own_srqs);
	return kdapl_op_end(&op, ret);
}

/* ---- bind ----------------------------------------------------------- */

/* The endpoint must be able to begin a connection, and have nothing bound yet. */
static DAT_RETURN ep_may_bind(struct kdapl_ep *ep)
{
	u8 state = READ_ONCE(ep->state);

	lockdep_assert_held(&ep->use_lock);
	if (!ep->bound.ib && (!kdapl_ep_fsm(state, KDAPL_EP_OP_CONNECT)->ret ||
			      !kdapl_ep_fsm(state, KDAPL_EP_OP_ACCEPT_OWN)->ret))
		return DAT_SUCCESS;
	return kdapl_ep_fsm_refusal(state);
}

static int ep_bind(struct kdapl_ep *ep, struct kdapl_qp_init *init, u32 *life,
		   DAT_RETURN *ret)
{
	struct kdapl_ia *ia = ep->obj.ia;
	int err = 0;

	if (ep->srq)
		init->srq = &ep->srq->rq;
	mutex_lock(&ep->use_lock);
	*ret = ep_may_bind(ep);
	if (!*ret)
		err = init->uverbs ? kdapl_ep_take_qp(ep, init) : -EBADF;
	*life = ep->bind_life;
	mutex_unlock(&ep->use_lock);
	if (!*ret && !err)
		queue_delayed_work(kdapl_wq_of(ia->obj.space), &ia->watch, WATCH_TIME);
	return err;
}

/**
 * kdapl_ep_bind - bring the queue pair of an endpoint's next connection
 * @space: of a process
 * @handle: of an EP
 * @uverbs: file whose object the queue pair is; NULL: the process has named none
 * @qp_num: its number
 * @life: out: what kdapl_ep_tell() wants, and kdapl_ep_view shows
 * @ret: out: DAT_SUCCESS, also with an errno; DAT_INVALID_HANDLE/EP; DAT_INVALID_STATE,
 *	 the adapter not being in passthrough, the endpoint in a state in which no
 *	 connection can begin, or with a queue pair
 *
 * May sleep.  Lock order: kdapl_ep.use_lock; uverbs' lock on the queue pair, only tried,
 * is a leaf.
 *
 * Return: 0; -EBADF without @uverbs; or an errno of kdapl_qp_ops.create.  With an errno
 * nothing is held.
 */
int kdapl_ep_bind(struct kdapl_space *space, DAT_EP_HANDLE handle, struct file *uverbs,
		  u32 qp_num, u32 *life, DAT_RETURN *ret)
{
	struct kdapl_qp_init init = { .uverbs = uverbs, .qp_num = qp_num };
	struct kdapl_op op;
	int err = 0;

	*life = 0;
	*ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!*ret)
		*ret = kdapl_op_enter(&op);
	if (!*ret && !kdapl_ia_is_passthrough(op.obj->ia))
		*ret = RET(INVALID_STATE);
	if (!*ret)
		err = ep_bind(kdapl_ep_of(op.obj), &init, life, ret);
	kdapl_op_end(&op, *ret);
	return err;
}

/* ---- tell ----------------------------------------------------------- */

static void conn_tell(struct kdapl_conn *conn, enum kdapl_tell what)
{
	switch (what) {
	case KDAPL_TOLD_CONFIRM:
		/* Nothing arrives before @rts.  Pairs with kdapl_conn_move_qp(). */
		if (smp_load_acquire(&conn->rts))
			kdapl_conn_input(conn, KDAPL_EP_IN_ESTABLISHED, 0);
		break;
	case KDAPL_TOLD_BROKEN:
		kdapl_conn_input(conn, KDAPL_EP_IN_BROKEN, 0);
		break;
	case KDAPL_TOLD_DRAINED:
		/*
		 * It is believed only after it was asked for: an earlier report does not
		 * cover what has been posted since.
		 */
		if (READ_ONCE(conn->ep->state) == KDAPL_EP_DRAINING ||
		    READ_ONCE(conn->answers_until))
			WRITE_ONCE(conn->says_drained, true);
		kdapl_conn_input(conn, KDAPL_EP_IN_DRAINED, 0);
		/* The work item may wait for answers (kdapl_leave_step()). */
		kdapl_conn_run(conn);
		break;
	case KDAPL_TOLD_FLUSH:
		/* Only again: the work item knows when the queue pair may be moved at first. */
		if (READ_ONCE(conn->flush) != KDAPL_FLUSH_NONE)
			kdapl_conn_error_qp(conn);
		break;
	default:
		break;
	}
}

/*
 * Lets go of the queue pair of a connection that is over.  A connection that has not begun to
 * end keeps it.
 */
static DAT_RETURN conn_tell_unbind(struct kdapl_ep *ep, struct kdapl_conn *conn)
{
	if (!READ_ONCE(conn->ends))
		return kdapl_ep_fsm_refusal(READ_ONCE(ep->state));
	/* The work item may not be through, although the connection event was raised. */
	kdapl_conn_finish(conn);
	kdapl_conn_drop_qp(conn, ep);
	return DAT_SUCCESS;
}

/*
 * Lets go of the queue pair of a bind, from the endpoint or from its connection.  Under the lock
 * no connection takes it over meanwhile: one that is about to is looked for when it has.
 */
static DAT_RETURN ep_unbind(struct kdapl_ep *ep, u32 life)
{
	struct kdapl_conn *conn;
	DAT_RETURN ret = DAT_SUCCESS;

	mutex_lock(&ep->use_lock);
	if (ep->bind_life == life)
		kdapl_ep_unbind(ep);
	conn = kdapl_ep_get_conn(ep);
	mutex_unlock(&ep->use_lock);
	if (!conn)
		return DAT_SUCCESS;
	if (conn->bind_life == life)
		ret = conn_tell_unbind(ep, conn);
	kdapl_conn_put(conn);
	return ret;
}

static DAT_RETURN ep_tell(struct kdapl_ep *ep, u32 life, enum kdapl_tell what)
{
	struct kdapl_conn *conn;

	if (what == KDAPL_TOLD_UNBIND)
		return ep_unbind(ep, life);
	conn = kdapl_ep_get_conn(ep);
	if (!conn)
		return DAT_SUCCESS;
	if (conn->bind_life == life)
		conn_tell(conn, what);
	kdapl_conn_put(conn);
	return DAT_SUCCESS;
}

/**
 * kdapl_ia_cq_fault - a process could not poll or arm a completion queue of its own
 * @space: of the process
 * @handle: of an IA
 *
 * Its async EVDs are told, as they are of a queue of the kernel's (kdapl_evd_cq_faulted()).  How
 * often is for the process to bound: it fills its own EVDs only.  May sleep.  Rule E72.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_STATE if the adapter is not in
 * passthrough, or the device is gone, of which they have been told.
 */
DAT_RETURN kdapl_ia_cq_fault(struct kdapl_space *space, DAT_IA_HANDLE handle)
{
	struct kdapl_ia *ia;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret && !kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret) {
		ia = op.obj->ia;
		kdapl_ia_async_event(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
				     kdapl_handle(&ia->obj), DAT_IA_OTHER_ERROR);
	}
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_ep_tell - what a process sees of a queue pair that it has bound
 * @space: of the process
 * @handle: of an EP
 * @life: of the bind; news of a former one change nothing
 * @what: below KDAPL_NR_TOLD
 *
 * May sleep.  On return from KDAPL_TOLD_UNBIND the process can destroy the queue pair.
 * Rules A7, D3, D11, D52.
 *
 * Return: DAT_SUCCESS, also if it changed nothing; DAT_INVALID_HANDLE/EP;
 * DAT_INVALID_STATE if the adapter is not in passthrough, or from KDAPL_TOLD_UNBIND
 * while a connection that has not begun to end needs the queue pair.
 */
DAT_RETURN kdapl_ep_tell(struct kdapl_space *space, DAT_EP_HANDLE handle, u32 life,
			 enum kdapl_tell what)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
	if (!ret && !kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret)
		ret = ep_tell(kdapl_ep_of(op.obj), life, what);
	return kdapl_op_end(&op, ret);
}
