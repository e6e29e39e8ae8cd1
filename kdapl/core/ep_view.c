// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a process is shown of an endpoint that it posts to by itself: the state, and what
 * the table says of a post of either direction.  With that it needs neither a table nor a
 * system call for a post.
 *
 * A change that an event tells of is shown when the event is where the process looks for
 * it, in its event ring: who sees CONNECTED finds ESTABLISHED there, and hands out nothing
 * that was received before he has taken it.  If the ring has no room, the event is the
 * next to get in, and the ring says so.  Until then the process sees what was before,
 * whatever else happens.  Of DISC_FLUSHING nothing is shown but that the queue pair is in
 * the error state: the event comes with the state after it.
 *
 * Callers: ep_apply.c, which changes the state; conn_qp.c, which binds, moves and lets go;
 * ep.c; the face, which says where it is shown.
 */
#include "ep_view.h"
#include "ep_apply.h"
#include "ia.h"
#include "op.h"

/**
 * kdapl_ep_view_update - show an endpoint as it is
 * @ep: its lock is held
 *
 * Does nothing while an event is on its way, or if nobody asked.  Any context.
 */
void kdapl_ep_view_update(struct kdapl_ep *ep)
{
	struct kdapl_ep_view view;
	u8 state;

	lockdep_assert_held(&ep->lock);
	if (ep->unsettled)
		return;
	if (ep->state != KDAPL_EP_DISC_FLUSHING)
		ep->view_state = ep->state;
	if (!ep->show)
		return;
	state = ep->view_state;
	view = (struct kdapl_ep_view) {
		.life = ep->bind_life,
		.state = kdapl_ep_fsm_dat_state(state),
		.refuse_request = kdapl_ep_fsm(state, KDAPL_EP_OP_POST_REQUEST)->ret,
		.refuse_recv = kdapl_ep_fsm(state, KDAPL_EP_OP_POST_RECV)->ret,
		.flags = ep->view_flags,
	};
	if (ep->state == KDAPL_EP_DRAINING)
		view.flags |= KDAPL_VIEW_DRAIN;
	ep->show(ep->place, &view);
}

/**
 * kdapl_ep_view_flag - show what became of a queue pair
 * @ep: the endpoint that it was bound to
 * @life: of the bind; of one that was followed by another nothing is shown
 * @flag: KDAPL_VIEW_ERROR or _UNBOUND
 *
 * Any context.
 */
void kdapl_ep_view_flag(struct kdapl_ep *ep, u32 life, u32 flag)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->bind_life == life) {
		ep->view_flags |= flag;
		kdapl_ep_view_update(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * kdapl_ep_view_hold - show nothing of what is about to be applied until its event is there
 * @ep: its lock is held
 * @actions: of the cell that is about to be applied
 *
 * Any context.
 *
 * Return: NULL: there is no event; else the EVD that it goes to, with a reference, for
 * kdapl_ep_view_settle(), which has to follow when the lock is dropped.
 */
struct kdapl_evd *kdapl_ep_view_hold(struct kdapl_ep *ep, u16 actions)
{
	lockdep_assert_held(&ep->lock);
	if (!kdapl_ia_is_passthrough(ep->obj.ia) ||
	    !(actions & (KDAPL_EP_ACT_EVENT | KDAPL_EP_ACT_END)))
		return NULL;
	ep->unsettled++;
	kdapl_object_get(&ep->connect_evd->obj);
	return ep->connect_evd;
}

/**
 * kdapl_ep_view_settle - wait until an event is there, and show what it tells of
 * @ep: the caller has a reference
 * @evd: of kdapl_ep_view_hold(); its reference is put
 *
 * May sleep, neither for the consumer nor for the peer; the handler mutex of a CM id may
 * be held.
 */
void kdapl_ep_view_settle(struct kdapl_ep *ep, struct kdapl_evd *evd)
{
	kdapl_evd_settle(evd);
	kdapl_object_put(&evd->obj);
	spin_lock_irq(&ep->lock);
	ep->unsettled--;
	kdapl_ep_view_update(ep);
	spin_unlock_irq(&ep->lock);
}

/**
 * kdapl_ep_view_end - show nothing more
 * @ep: is gone
 *
 * On return its place may belong to another one.  Process context.
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
		kdapl_ep_view_update(ep);
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
