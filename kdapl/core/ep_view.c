// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a process in passthrough is shown of an endpoint: the state, and what the endpoint
 * table says of a post of either direction.  Of the adapter it is shown whether its device is
 * there (E71).  With that the process needs neither a table nor a system call for a post.
 *
 * What an event tells of is shown when the event is in the event ring, by the runner that has
 * put it there (evd_run.c).  Why, and what is shown until then, is told in
 * Documentation/life-of-a-connection.rst, Queue pairs of a process.
 *
 * Callers: ep_apply.c, which changes the state and raises events; conn_qp.c, which binds
 * queue pairs, puts them into the error state and lets go of them; drain.c, for a peer that
 * has left; ep.c; ia_open.c; the face, which says where it is shown.
 */
#include "ep_view.h"
#include "ep_apply.h"
#include "ia.h"
#include "op.h"

static void ep_view_show(struct kdapl_ep *ep)
{
	u8 state = ep->view_state;
	struct kdapl_ep_view view = {
		.life = ep->bind_life,
		.state = kdapl_ep_fsm_dat_state(state),
		.refuse_request = kdapl_ep_fsm(state, KDAPL_EP_OP_POST_REQUEST)->ret,
		.refuse_recv = kdapl_ep_fsm(state, KDAPL_EP_OP_POST_RECV)->ret,
		.flags = ep->view_flags,
	};

	if (ep->state == KDAPL_EP_DRAINING)
		view.flags |= KDAPL_VIEW_DRAIN;
	ep->show(ep->obj.space, ep->place, &view);
}

/**
 * kdapl_ep_view_update - show an endpoint as it is
 * @ep: its lock is held
 *
 * Shows nothing while an event is not in the ring yet, or if nobody asked.  Any context.
 */
void kdapl_ep_view_update(struct kdapl_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (ep->state != KDAPL_EP_DISC_FLUSHING)
		ep->last_state = ep->state;
	if (ep->unpublished)
		return;
	ep->view_state = ep->last_state;
	if (ep->show)
		ep_view_show(ep);
}

/**
 * kdapl_ep_view_flag - show what became of a queue pair
 * @ep: the endpoint that it was bound to
 * @life: of that bind; nothing is shown if another bind has followed
 * @what: KDAPL_VIEW_ERROR, _UNBOUND, _LEFT
 *
 * Any context.
 */
void kdapl_ep_view_flag(struct kdapl_ep *ep, u32 life, u32 what)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->bind_life == life) {
		ep->view_flags |= what;
		kdapl_ep_view_update(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * kdapl_ep_view_hold - show nothing more until the event that was just raised is in the ring
 * @ep: its lock is held
 * @what: KDAPL_VIEW_* that the event adds
 *
 * kdapl_ep_view_publish() follows.  Does nothing without passthrough.  Any context.
 */
void kdapl_ep_view_hold(struct kdapl_ep *ep, u32 what)
{
	lockdep_assert_held(&ep->lock);
	if (!kdapl_ia_is_passthrough(ep->obj.ia))
		return;
	ep->view_flags |= what;
	ep->unpublished++;
}

/**
 * kdapl_ep_view_publish - an event is in the ring: show what it tells of
 * @ep: of kdapl_ep_view_hold()
 *
 * Called by whoever has put the event there, or has thrown it away.  Any context.
 */
void kdapl_ep_view_publish(struct kdapl_ep *ep)
{
	unsigned long flags;

	if (!kdapl_ia_is_passthrough(ep->obj.ia))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	ep->unpublished--;
	kdapl_ep_view_update(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * kdapl_ep_view_end - show nothing more
 * @ep: is gone
 *
 * On return @ep->place may belong to another endpoint.  Process context.
 */
void kdapl_ep_view_end(struct kdapl_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->show = NULL;
	spin_unlock_irq(&ep->lock);
}

static DAT_RETURN ep_show(struct kdapl_ep *ep, kdapl_show_fn *show, void *place)
{
	DAT_RETURN ret = DAT_SUCCESS;

	spin_lock_irq(&ep->lock);
	if (ep->state == KDAPL_EP_GONE) {
		ret = RET_BAD_HANDLE(EP);
	} else {
		ep->show = show;
		ep->place = place;
		/* At once: the place may still show an endpoint that had it before. */
		ep_view_show(ep);
	}
	spin_unlock_irq(&ep->lock);
	return ret;
}

/**
 * kdapl_ep_show - from now on, show a process its endpoint
 * @space: of the caller
 * @handle: of an EP
 * @show: shows it; called at once, and after each change until the endpoint is freed
 * @place: for @show; the same in each call for one endpoint
 *
 * Process context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EP; DAT_INVALID_STATE if the adapter has not
 * been put into passthrough.
 */
DAT_RETURN kdapl_ep_show(struct kdapl_space *space, DAT_EP_HANDLE handle,
			 kdapl_show_fn *show, void *place)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_EP,
				   DAT_INVALID_HANDLE_EP);
	if (!ret && !kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret)
		ret = ep_show(kdapl_ep_of(op.obj), show, place);
	return kdapl_op_end(&op, ret);
}

/* ---- the adapter ---------------------------------------------------- */

static void ia_view_show(struct kdapl_ia *ia)
{
	struct kdapl_ep_view view = {};

	lockdep_assert_held(&ia->lock);
	if (ia->removed) {
		view.refuse_request = RET(INVALID_STATE);
		view.refuse_recv = RET(INVALID_STATE);
	}
	if (ia->show)
		ia->show(ia->obj.space, ia->place, &view);
}

/**
 * kdapl_ia_show - from now on, show a process whether the device of its adapter is there
 * @space: of the caller
 * @handle: of an IA
 * @show: shows it; called at once, and when the device goes
 * @place: for @show
 *
 * May sleep.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_STATE if the adapter has not
 * been put into passthrough.
 */
DAT_RETURN kdapl_ia_show(struct kdapl_space *space, DAT_IA_HANDLE handle,
			 kdapl_show_fn *show, void *place)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_begin_shell(&op, space, handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret && !kdapl_ia_is_passthrough(op.obj->ia))
		ret = RET(INVALID_STATE);
	if (!ret) {
		mutex_lock(&op.obj->ia->lock);
		op.obj->ia->show = show;
		op.obj->ia->place = place;
		ia_view_show(op.obj->ia);
		mutex_unlock(&op.obj->ia->lock);
	}
	return kdapl_op_end(&op, ret);
}

/**
 * kdapl_ia_view_end - show nothing more
 * @ia: is closing, and its section is empty
 *
 * On return @ia->place may belong to another object.  May sleep.
 */
void kdapl_ia_view_end(struct kdapl_ia *ia)
{
	mutex_lock(&ia->lock);
	ia->show = NULL;
	mutex_unlock(&ia->lock);
}

/**
 * kdapl_ia_set_removed - the device of an adapter is gone
 * @ia: the adapter
 *
 * May sleep.  Rule E71.
 */
void kdapl_ia_set_removed(struct kdapl_ia *ia)
{
	mutex_lock(&ia->lock);
	WRITE_ONCE(ia->removed, true);
	ia_view_show(ia);
	mutex_unlock(&ia->lock);
}
