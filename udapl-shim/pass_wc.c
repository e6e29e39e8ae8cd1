// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completions of the process's own queues: what they say about their connection, and into
 * the FIFO of their EVD, which is locked in all of this file. Called by whoever takes events
 * (pass_event.c, pass_wait.c) or has to know what has completed (pass_end.c, pass_fence.c).
 *
 * The kernel is told before anybody can see the completion: that the first message has come
 * (A7), or that something has failed (D52).
 */
#include "pass_event.h"
#include "pass_srq.h"

/* How long a flush on iWARP waits for the connection manager; ns */
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

/* A receive that no plain send filled has failed, whatever the device says. */
static void wc_check_recv(struct ibv_wc *wc)
{
	const struct pass_cookie *cookie = pass_wc_cookie(wc);

	if (!cookie->dir->is_recv)
		return;
	/* The device has refused what DAT does not have: a key to be invalidated (mt:M81). */
	if (wc->status == IBV_WC_REM_INV_REQ_ERR)
		wc->status = IBV_WC_BAD_RESP_ERR;
	if (wc->status != IBV_WC_SUCCESS || pass_wc_is_message(wc, cookie))
		return;
	wc->status = wc->byte_len > cookie->length ? IBV_WC_LOC_LEN_ERR :
						     IBV_WC_BAD_RESP_ERR;
	if (wc->wc_flags & IBV_WC_WITH_INV)
		pass_lmr_invalidated(cookie->dir->ep->pia,
				     wc->invalidated_rkey);
}

static bool ended_for_kernel(const struct pass_ep *ep)
{
	const struct kdapl_uapi_board_ep *board = ep->dir[0].board;
	uint32_t state = pass_state(board);

	return state == DAT_EP_STATE_DISCONNECTED || state == DAT_EP_STATE_UNCONNECTED ||
	       shim_load_acquire(&board->flags) & (KDAPL_BOARD_ERROR | KDAPL_BOARD_UNBOUND);
}

/*
 * An iWARP device flushes a queue pair whenever its connection ends, and may do so before
 * the kernel has heard how it ended.
 */
static bool awaits_cm(struct pass_ep *ep, const struct ibv_wc *wc)
{
	uint64_t now, none = 0;

	if (!ep->pia->iwarp || wc->status != IBV_WC_WR_FLUSH_ERR)
		return false;
	now = pass_now();
	/* The other direction's EVD may be polled by another thread. */
	atomic_compare_exchange_strong(&ep->cm_until, &none, now + CM_LIMIT);
	return now < atomic_load(&ep->cm_until);
}

/*
 * The kernel learns of the first failure, unless it knows already. False: not yet. From then
 * on the flush has its time: what the device does not flush nobody would look for.
 */
static bool tell_failure(struct pass_ep *ep, const struct ibv_wc *wc)
{
	if (atomic_load(&ep->told))
		return true;
	if (!ended_for_kernel(ep)) {
		if (awaits_cm(ep, wc))
			return false;
		pass_tell(ep, KDAPL_TELL_BROKEN);
	}
	atomic_store(&ep->told, true);
	pass_end_want(ep);
	return true;
}

/* Is ESTABLISHED of an EP's present connection in the ring of its connect EVD? */
static bool established_in_ring(const struct pass_ep *ep, const struct pass_evd *evd)
{
	const struct shim_ring *ring = evd->ring;
	uint32_t filled = shim_ring_filled(ring), i;

	for (i = 0; i < filled; i++) {
		const struct kdapl_uapi_event *event =
			&ring->events[(ring->consumer + i) & ring->mask];

		if ((int64_t)(evd->taken + i - ep->old_until) >= 0 &&
		    event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED &&
		    event->connect.ep == ep->token)
			return true;
	}
	return false;
}

/*
 * Was the connection there that has ended already? Its ESTABLISHED is in the ring then, or
 * was taken. The connect EVD may be another one, and locked by somebody who wants this one.
 */
static bool was_established(struct pass_evd *evd, struct pass_ep *ep, bool *known)
{
	struct pass_evd *connect = ep->connect_evd ? pass_evd_of(ep->connect_evd) : NULL;
	bool established;

	*known = true;
	if (atomic_load(&ep->established) || !connect)
		return atomic_load(&ep->established);
	if (connect != evd && !shim_trylock(connect->lock)) {
		*known = false;
		return false;
	}
	if (!shim_ring_mapped(connect->ring))
		pass_event_move_ring(connect);
	established = established_in_ring(ep, connect);
	/* Whoever took it from the ring has set this before. */
	established |= atomic_load(&ep->established);
	if (connect != evd)
		shim_unlock(connect->lock);
	return established;
}

/*
 * A message has come before the connection was seen to be there. False: it has to wait.
 * If @dir->await stays, the message came for an attempt that was given up.
 */
static bool confirm(struct pass_evd *evd, struct pass_dir *dir)
{
	struct pass_ep *ep = dir->ep;
	uint32_t state = pass_state(dir->board);
	bool known;

	if (state != DAT_EP_STATE_CONNECTED &&
	    state != DAT_EP_STATE_DISCONNECT_PENDING &&
	    state != DAT_EP_STATE_DISCONNECTED && state != DAT_EP_STATE_UNCONNECTED) {
		pass_tell(ep, KDAPL_TELL_CONFIRM);
		state = pass_state(dir->board);
	}
	switch (state) {
	case DAT_EP_STATE_CONNECTED:
		atomic_store(&ep->established, true);
		dir->await = false;
		return true;
	case DAT_EP_STATE_DISCONNECT_PENDING:
	case DAT_EP_STATE_DISCONNECTED:
	case DAT_EP_STATE_UNCONNECTED:
		if (was_established(evd, ep, &known))
			dir->await = false;
		return known;
	default:
		return false;
	}
}

enum verdict { VISIBLE, WAIT, STALE };

/*
 * If the call that begins a connection is refused, the receives that the queue pair was
 * given go back (pass_conn.c); until it has returned nobody is told that they were flushed.
 */
static enum verdict judge_failure(struct pass_ep *ep, const struct ibv_wc *wc)
{
	if (wc->qp_num != atomic_load(&ep->qp_num))
		return STALE;
	if (atomic_load(&ep->preparing))
		return WAIT;
	return tell_failure(ep, wc) ? VISIBLE : WAIT;
}

static enum verdict wc_judge(struct pass_evd *evd, struct ibv_wc *wc)
{
	struct pass_cookie *cookie = pass_wc_cookie(wc);

	/* Its queue pair failed to flush, and pass_end.c has completed it. */
	if (!pass_cookie_owed(cookie))
		return STALE;
	if (cookie->flags & PASS_COOKIE_SRQ && !pass_srq_claim(wc, cookie))
		return STALE;
	wc_check_recv(wc);
	if (wc->status != IBV_WC_SUCCESS)
		return judge_failure(cookie->dir->ep, wc);
	if (cookie->dir->await)
		return confirm(evd, cookie->dir) ? VISIBLE : WAIT;
	return VISIBLE;
}

/* The next completion is looked at. */
static struct ibv_wc *wc_step(struct pass_evd *evd)
{
	evd->wc_left--;
	return evd->wc_next++;
}

/* Accounts for the next completion, which goes to the FIFO if it is an event at all. */
static void take_wc(struct pass_evd *evd)
{
	const struct ibv_wc *wc = wc_step(evd);
	struct pass_cookie *cookie = pass_wc_cookie(wc);
	struct pass_dir *dir = cookie->dir;

	pass_cookie_move(cookie, PASS_HERE);
	cookie->status = wc_status(wc->status);
	if (cookie->rmr) {
		pass_rmr_completed(cookie, wc->status == IBV_WC_SUCCESS);
		cookie->rmr = NULL;
		if (wc->status != IBV_WC_SUCCESS && wc->status != IBV_WC_WR_FLUSH_ERR)
			cookie->status = DAT_RMR_OPERATION_FAILED;
	}
	/* Nothing is received before ESTABLISHED (D31, RULING 46). */
	if (dir->await && wc->status == IBV_WC_SUCCESS)
		cookie->status = DAT_DTO_ERR_FLUSHED;
	if (cookie->status != DAT_DTO_SUCCESS)
		cookie->length = 0;
	else if (dir->is_recv)
		cookie->length = wc->byte_len;
	if (cookie->status == DAT_DTO_SUCCESS &&
	    cookie->flags & DAT_COMPLETION_SUPPRESS_FLAG)
		pass_cookie_free(cookie);
	else
		pass_fifo_add_cookie(evd, cookie);
	if (!dir->srq)
		atomic_store_explicit(&dir->completed, dir->completed + 1,
				      memory_order_release);
}

/* The next completion not looked at yet; it stays the next until it is taken. */
static struct ibv_wc *next_wc(struct pass_evd *evd)
{
	uint32_t i;
	int n;

	for (i = 0; !evd->wc_left && i < evd->nr_cqs; i++) {
		n = ibv_poll_cq(evd->cqs[i].cq, PASS_WCS, evd->wc);
		evd->wc_next = evd->wc;
		evd->wc_left = n > 0 ? n : 0;
	}
	return evd->wc_left ? evd->wc_next : NULL;
}

/*
 * pass_wc_pull - bring what has completed into the FIFO
 *
 * Return: false if it came to a completion that has to wait.
 */
bool pass_wc_pull(struct pass_evd *evd)
{
	bool waited = pass_evd_aside(evd, PASS_WAITING);
	enum verdict verdict = STALE;
	struct ibv_wc *wc;
	uint32_t left = 0, i;

	for (i = 0; i < evd->nr_cqs; i++)
		left += evd->cqs[i].size;
	for (left += PASS_WCS; left; left--) {
		wc = next_wc(evd);
		if (!wc)
			break;
		verdict = wc_judge(evd, wc);
		if (verdict == WAIT)
			break;
		/* The channel has told of it before anybody could see it. */
		if (waited)
			evd->notified += !!evd->solicited;
		waited = false;
		if (verdict == VISIBLE)
			take_wc(evd);
		else
			wc_step(evd);
	}
	if (verdict == WAIT || pass_evd_aside(evd, PASS_WAITING))
		pass_evd_set_aside(evd, PASS_WAITING, verdict == WAIT);
	return verdict != WAIT;
}
