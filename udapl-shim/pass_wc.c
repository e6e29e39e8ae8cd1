// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completions in passthrough: they are polled, judged by what they say about their connection, and
 * put into the FIFO of their EVD. The EVD is locked in all of this file. Called by the files that
 * take events (pass_event.c, pass_wait.c) or have to know what has completed (pass_end.c,
 * pass_fence.c and others).
 *
 * If a completion says that the first message has come (A7), or that something has failed (D52),
 * the kernel is told before the consumer can see the completion. One that must not be seen yet
 * waits in its direction, and the later ones of that direction wait behind it (D43). Those of other
 * directions do not: between these no order is promised (E44).
 */
#include "pass_event.h"
#include "pass_srq.h"

/* How long a flushed completion on iWARP waits for the connection manager (awaits_cm()); ns */
#define CM_LIMIT	10000000000ull

/* mt:T48; a status that is missing here is 0, and means DAT_DTO_ERR_TRANSPORT. */
static const uint8_t dto_status[] = {
	[IBV_WC_LOC_LEN_ERR]	  = DAT_DTO_ERR_LOCAL_LENGTH,
	[IBV_WC_LOC_QP_OP_ERR]	  = DAT_DTO_ERR_LOCAL_EP,
	[IBV_WC_LOC_PROT_ERR]	  = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IBV_WC_WR_FLUSH_ERR]	  = DAT_DTO_ERR_FLUSHED,
	[IBV_WC_MW_BIND_ERR]	  = DAT_RMR_OPERATION_FAILED,
	[IBV_WC_BAD_RESP_ERR]	  = DAT_DTO_ERR_BAD_RESPONSE,
	[IBV_WC_LOC_ACCESS_ERR]	  = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IBV_WC_REM_INV_REQ_ERR]  = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_REM_ACCESS_ERR]	  = DAT_DTO_ERR_REMOTE_ACCESS,
	[IBV_WC_REM_OP_ERR]	  = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_RNR_RETRY_EXC_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IBV_WC_LOC_RDD_VIOL_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IBV_WC_REM_INV_RD_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_REM_ABORT_ERR]	  = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_RESP_TIMEOUT_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
};

static uint32_t wc_status(uint32_t status)
{
	if (status == IBV_WC_SUCCESS)
		return DAT_DTO_SUCCESS;
	if (status >= sizeof(dto_status) || !dto_status[status])
		return DAT_DTO_ERR_TRANSPORT;
	return dto_status[status];
}

/*
 * Turns a successful receive into a failed one if it was not filled by a plain send, since DAT has
 * no other operation that fills a receive.
 */
static void wc_check_recv(struct ibv_wc *wc)
{
	const struct pass_cookie *cookie = pass_wc_cookie(wc);

	if (!cookie->dir->is_recv)
		return;
	/* The device has refused what DAT does not have: a send that invalidates a key (mt:M81). */
	if (wc->status == IBV_WC_REM_INV_REQ_ERR)
		wc->status = IBV_WC_BAD_RESP_ERR;
	if (wc->status != IBV_WC_SUCCESS || pass_wc_is_message(wc, cookie) ||
	    pass_wc_is_immed(wc, cookie))
		return;
	wc->status = wc->byte_len > cookie->length ? IBV_WC_LOC_LEN_ERR :
						     IBV_WC_BAD_RESP_ERR;
	if (wc->wc_flags & IBV_WC_WITH_INV)
		pass_lmr_invalidated(cookie->dir->ep->pia,
				     wc->invalidated_rkey);
}

/* pass_ended_for_kernel - does the board show that the kernel knows of the end? */
bool pass_ended_for_kernel(const struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[0].board;
	uint32_t state = pass_state(board);

	return state == DAT_EP_STATE_DISCONNECTED || state == DAT_EP_STATE_UNCONNECTED ||
	       pass_is_shut(board);
}

/*
 * Has a failed completion to wait until the kernel has heard how the connection ended? An iWARP
 * device flushes a queue pair whenever its connection ends, in whatever way, and may do so before
 * the kernel has heard of it. So a flush counts as a break only when the kernel has heard nothing
 * for CM_LIMIT.
 */
static bool awaits_cm(struct pass_ep *ep, uint32_t status)
{
	uint64_t now, none = 0;

	if (!ep->pia->iwarp || status != IBV_WC_WR_FLUSH_ERR)
		return false;
	now = shim_now();
	/* Atomic, since another thread may poll the EVD of the other direction. */
	atomic_compare_exchange_strong(&ep->cm_until, &none, now + CM_LIMIT);
	return now < atomic_load(&ep->cm_until);
}

/*
 * Tells the kernel of a failed completion, unless it knows already that the connection is over.
 * Then has the end looked after (pass_end_want()), because the device may leave some posts
 * unflushed, of which no completion would come. Return: false if it is too early to tell, and the
 * completion has to wait.
 */
static bool tell_failure(struct pass_ep *ep, uint32_t status)
{
	if (atomic_load(&ep->end_known))
		return true;
	if (!pass_ended_for_kernel(ep)) {
		if (awaits_cm(ep, status))
			return false;
		pass_tell(ep, KDAPL_TELL_BROKEN);
	}
	atomic_store(&ep->end_known, true);
	pass_end_want(ep);
	return true;
}

/* Was a connection established that has ended for the kernel already? */
static bool was_established(const struct pass_ep *ep, const struct kdapl_uapi_board_ep *board)
{
	return atomic_load(&ep->established) ||
	       shim_load_acquire(&board->flags) & KDAPL_BOARD_ESTABLISHED;
}

/*
 * A message has come before the library has seen that the connection is established. Return:
 * false if its completion has to wait. If @dir->await is still set after true, the message came
 * for an attempt that was given up.
 */
static bool confirm(struct pass_dir *dir)
{
	const struct kdapl_uapi_board_ep *board = dir->board;
	struct pass_ep *ep = dir->ep;
	uint32_t state;
	bool over, established;

	/* Whoever frees the EP finds out from its events first, and polls again. */
	if (atomic_load(&ep->leaving))
		return false;
	state = pass_state(board);
	if (state != DAT_EP_STATE_CONNECTED &&
	    state != DAT_EP_STATE_DISCONNECT_PENDING &&
	    state != DAT_EP_STATE_DISCONNECTED && state != DAT_EP_STATE_UNCONNECTED) {
		pass_tell(ep, KDAPL_TELL_CONFIRM);
		state = pass_state(board);
	}
	over = state == DAT_EP_STATE_DISCONNECT_PENDING ||
	       state == DAT_EP_STATE_DISCONNECTED || state == DAT_EP_STATE_UNCONNECTED;
	if (state != DAT_EP_STATE_CONNECTED && !over)
		return false;
	established = !over || was_established(ep, board);
	/*
	 * All this may have been read of another EP, if this one was freed meanwhile. By the time
	 * that it is not leaving any more it is off the board (free_rest() in pass_end.c).
	 */
	if (atomic_load(&ep->leaving) || __atomic_load_n(&dir->board, __ATOMIC_RELAXED) != board)
		return false;
	if (!over)
		atomic_store(&ep->established, true);
	if (established)
		dir->await = false;
	return true;
}

/*
 * May the consumer see a completion that has arrived? If the call that begins a connection is
 * refused, the receives of its queue pair are held again (pass_conn.c). So as long as the call has
 * not returned, the consumer must not see that they were flushed.
 */
static bool may_show(const struct pass_cookie *cookie)
{
	struct pass_dir *dir = cookie->dir;

	if (cookie->status != IBV_WC_SUCCESS)
		return !atomic_load(&dir->ep->preparing) && tell_failure(dir->ep, cookie->status);
	return !dir->await || confirm(dir);
}

/*
 * Notes in its cookie what a completion says. Return: the cookie; NULL if the completion is to be
 * dropped: the cookie was completed or taken back without the device (pass_end.c, pass_conn.c), or
 * the completion is a failed one of a queue pair whose call was refused.
 */
static struct pass_cookie *wc_note(struct ibv_wc *wc)
{
	struct pass_cookie *cookie = pass_wc_cookie(wc);

	if (!pass_cookie_owed(cookie))
		return NULL;
	if (cookie->flags & PASS_COOKIE_SRQ && !pass_srq_claim(wc, cookie))
		return NULL;
	wc_check_recv(wc);
	if (wc->status != IBV_WC_SUCCESS &&
	    wc->qp_num != atomic_load(&cookie->dir->ep->qp_num))
		return NULL;
	cookie->status = wc->status;
	cookie->node.bytes = wc->byte_len;
	cookie->node.immed = cookie->dir->is_recv && pass_wc_is_immed(wc, cookie);
	cookie->node.word = wc->imm_data;
	return cookie;
}

/* Has whoever took a completion give the queue pair posts that waited for room, if that is due. */
static void made_room(struct pass_evd *evd, struct pass_dir *dir)
{
	/* ORDER: pairs with owe() in pass_gate.c. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&dir->owing) &&
	    (int32_t)(atomic_load(&dir->completed) - atomic_load(&dir->due)) >= 0)
		pass_evd_set_aside(evd, PASS_DUE, true);
}

/* Accounts for a completion, and puts it into the FIFO unless it is suppressed. */
static void take(struct pass_evd *evd, struct pass_cookie *cookie)
{
	const uint32_t status = cookie->status;
	struct pass_dir *dir = cookie->dir;

	pass_cookie_move(cookie, PASS_HERE);
	cookie->status = wc_status(status);
	if (cookie->rmr) {
		pass_rmr_completed(cookie, status == IBV_WC_SUCCESS);
		cookie->rmr = NULL;
		if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)
			cookie->status = DAT_RMR_OPERATION_FAILED;
	}
	/* Without ESTABLISHED nothing was received, so it counts as flushed (D31, RULING 46). */
	if (dir->await && status == IBV_WC_SUCCESS)
		cookie->status = DAT_DTO_ERR_FLUSHED;
	if (cookie->status != DAT_DTO_SUCCESS)
		cookie->length = 0;
	else if (dir->is_recv)
		cookie->length = cookie->node.bytes;
	if (cookie->status == DAT_DTO_SUCCESS &&
	    cookie->flags & DAT_COMPLETION_SUPPRESS_FLAG)
		pass_cookie_free(cookie);
	else
		pass_fifo_add_cookie(evd, cookie);
	if (!dir->srq)
		shim_count(&dir->completed);
	if (dir->deep)
		made_room(evd, dir);
}

/* ---- completions that wait ---------------------------------------------- */

/* The link to a direction, or at which it is to be added. */
static struct pass_dir **wait_place(struct pass_evd *evd, const struct pass_dir *dir)
{
	struct pass_dir **link = &evd->waiting;

	while (*link && *link != dir)
		link = &(*link)->next_waiting;
	return link;
}

static void wait_begins(struct pass_evd *evd, struct pass_cookie *cookie)
{
	struct pass_dir *dir = cookie->dir;

	if (!dir->waiting) {
		dir->waiting_end = &dir->waiting;
		dir->next_waiting = NULL;
		*wait_place(evd, dir) = dir;
		pass_evd_set_aside(evd, PASS_WAITING, true);
	}
	cookie->late_next = NULL;
	*dir->waiting_end = cookie;
	dir->waiting_end = &cookie->late_next;
	pass_keeper_add(dir->ep);
}

/* pass_ep_waits - are there completions of an EP that must not be shown yet? No lock is needed. */
bool pass_ep_waits(const struct pass_ep *ep)
{
	return __atomic_load_n(&ep->dir[PASS_REQ].waiting, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&ep->dir[PASS_RECV].waiting, __ATOMIC_RELAXED);
}

static struct pass_cookie *wait_next(struct pass_dir *dir)
{
	struct pass_cookie *cookie = dir->waiting;

	dir->waiting = cookie->late_next;
	return cookie;
}

static void wait_is_over(struct pass_evd *evd, const struct pass_dir *dir)
{
	*wait_place(evd, dir) = dir->next_waiting;
	if (!evd->waiting)
		pass_evd_set_aside(evd, PASS_WAITING, false);
}

/* Takes what has waited long enough, in the order in which it began to wait. */
static void look_at_waiting(struct pass_evd *evd)
{
	struct pass_dir *dir, *next;
	bool any = false;

	for (dir = evd->waiting; dir; dir = next) {
		next = dir->next_waiting;
		while (dir->waiting && may_show(dir->waiting)) {
			take(evd, wait_next(dir));
			any = true;
		}
		if (!dir->waiting)
			wait_is_over(evd, dir);
	}
	/*
	 * If one of them was solicited, the channel has told of it long before it could be seen; so
	 * it counts as one that notifies.
	 */
	if (any)
		evd->notified += !!evd->solicited;
}

/*
 * pass_wc_forget - completions of a direction do not wait any more
 *
 * What they are about is completed, or taken back, by the caller: but for receives of an SRQ, which
 * are flushed here.
 */
void pass_wc_forget(struct pass_evd *evd, struct pass_dir *dir)
{
	struct pass_cookie *cookie;

	if (!dir->waiting)
		return;
	while (dir->waiting) {
		cookie = wait_next(dir);
		if (!dir->srq)
			continue;
		cookie->status = IBV_WC_WR_FLUSH_ERR;
		take(evd, cookie);
	}
	wait_is_over(evd, dir);
}

/* ---- polling -------------------------------------------------------------- */

/*
 * pass_evd_faulted - the device could not poll or arm a completion queue (E72)
 *
 * It will be asked again, so a completion may be late, but none is lost: who waits is woken to ask
 * until the queues are armed once more (pass_keeper_nudge()). The kernel tells the asynchronous
 * EVDs, once only for each EVD: a device with such a fault may have it each time.
 */
void pass_evd_faulted(struct pass_evd *evd)
{
	struct kdapl_uapi_handle arg = { .handle = evd->pia->token };

	evd->deaf = true;
	pass_keeper_nudge(evd);
	if (evd->faulted)
		return;
	evd->faulted = true;
	shim_ioctl(KDAPL_IOC_IA_CQ_FAULT, &arg, RET_NO_FAULT);
}

/* The next completion, or NULL; the caller steps over it. */
static struct ibv_wc *next_wc(struct pass_evd *evd)
{
	uint32_t i;
	int n;

	for (i = 0; !evd->wc_left && i < evd->nr_cqs; i++) {
		n = ibv_poll_cq(evd->cqs[i].cq, PASS_WCS, evd->wc);
		if (SHIM_UNLIKELY(n < 0))
			pass_evd_faulted(evd);
		evd->wc_next = evd->wc;
		evd->wc_left = n > 0 ? n : 0;
	}
	return evd->wc_left ? evd->wc_next : NULL;
}

/*
 * pass_wc_pull - poll the completion queues, and put their completions into the FIFO
 *
 * All that were in the queues at the call are accounted for then, but for those that wait.
 */
void pass_wc_pull(struct pass_evd *evd)
{
	struct pass_cookie *cookie;
	struct ibv_wc *wc;
	uint32_t left = 0, i;

	if (pass_evd_aside(evd, PASS_WAITING))
		look_at_waiting(evd);
	for (i = 0; i < evd->nr_cqs; i++)
		left += evd->cqs[i].size;
	for (left += PASS_WCS; left; left--) {
		wc = next_wc(evd);
		if (!wc)
			break;
		evd->wc_left--;
		evd->wc_next++;
		cookie = wc_note(wc);
		if (!cookie)
			continue;
		if (cookie->dir->waiting || !may_show(cookie))
			wait_begins(evd, cookie);
		else
			take(evd, cookie);
	}
}

/*
 * pass_evd_pull - the same for an EVD that is not locked, or NULL; wakes waiters if there is
 * something for them
 */
void pass_evd_pull(struct pass_evd *evd)
{
	uint32_t before;

	if (!evd)
		return;
	shim_lock(evd->lock);
	before = evd->nr_fifo;
	pass_wc_pull(evd);
	if (evd->nr_fifo != before)
		pass_evd_wake(evd);
	shim_unlock(evd->lock);
}
