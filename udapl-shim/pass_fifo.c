// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The events of an EVD whose completion queues are the process's own: the FIFO, the kernel's
 * ring, and the completion queues behind them (passthrough.h tells their order). The EVD is
 * locked in all of this file, except where it says otherwise.
 *
 * What a completion says about its connection is told to the kernel before anybody can see
 * the completion: that the first message has come (A7), or that something has failed (D52).
 * An event that ends a connection is taken off the ring and given to pass_end.c, which puts
 * it into the FIFO behind the last completion (A5).
 */
#include <stdlib.h>
#include <string.h>

#include "passthrough.h"

/* ---- the FIFO ---------------------------------------------------------- */

static struct pass_cookie *cookie_of(struct pass_node *node)
{
	return (struct pass_cookie *)((char *)node - offsetof(struct pass_cookie, node));
}

static struct pass_ep *ep_of_end(struct pass_node *node)
{
	return (struct pass_ep *)((char *)node - offsetof(struct pass_ep, end_node));
}

/* An event of the kernel's ring in the FIFO */
struct moved {
	struct pass_node node;
	struct kdapl_uapi_event event;
};

/* pass_cookie_free - the consumer has the event, so the slot is free (mt:T13) */
inline void pass_cookie_free(struct pass_cookie *cookie)
{
	cookie->rmr_obj = NULL;
	/* ORDER: pairs with pass_cookie_take(): the event was read before. */
	atomic_store_explicit(&cookie->place, PASS_FREE, memory_order_release);
}

/* E35 */
static bool cookie_notifies(const struct pass_evd *evd, const struct pass_cookie *cookie)
{
	if (cookie->status != DAT_DTO_SUCCESS)
		return true;
	return !evd->solicited && !(cookie->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/*
 * pass_fifo_add - an event is there
 * @node: of a cookie, or the end of an EP; for that the caller has taken a reference
 */
void pass_fifo_add(struct pass_evd *evd, struct pass_node *node)
{
	node->next = NULL;
	node->mark = evd->taken + shim_ring_filled(evd->ring);
	if (!evd->first)
		pass_evd_set_aside(evd, PASS_FIFO, true);
	*evd->last = node;
	evd->last = &node->next;
	evd->nr_fifo++;
	evd->notified += node->notify;
	evd->dirty = true;
}

static void fifo_add_cookie(struct pass_evd *evd, struct pass_cookie *cookie)
{
	/* Nobody wants the completions of a hidden EVD (mt:T11). */
	if (!evd->obj) {
		pass_cookie_free(cookie);
		return;
	}
	cookie->node.kind = PASS_COOKIE;
	cookie->node.notify = cookie_notifies(evd, cookie);
	atomic_fetch_add(&cookie->dir->ep->refs, 1);
	pass_fifo_add(evd, &cookie->node);
}

/*
 * pass_fifo_flushed - complete a DTO that no queue pair will
 * @evd: not locked; NULL if the EP never had one
 */
void pass_fifo_flushed(struct pass_evd *evd, struct pass_cookie *cookie)
{
	cookie->status = DAT_DTO_ERR_FLUSHED;
	cookie->length = 0;
	if (!evd) {
		pass_cookie_free(cookie);
		return;
	}
	shim_lock(evd->lock);
	fifo_add_cookie(evd, cookie);
	pass_evd_wake(evd);
	shim_unlock(evd->lock);
}

static inline void fill_dto(struct shim_object *evd, const struct pass_cookie *cookie,
			    uint32_t status, uint64_t length, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = cookie->dir->handle;
	dto->user_cookie.as_64 = cookie->user;
	dto->status = status;
	dto->transfered_length = length;
}

static void fill_completion(const struct pass_evd *evd, const struct pass_cookie *cookie,
			    DAT_EVENT *event)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;

	if (!cookie->rmr_obj) {
		fill_dto(evd->obj, cookie, cookie->status, cookie->length, event);
		return;
	}
	event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	event->evd_handle = evd->obj;
	bind->rmr_handle = cookie->rmr_obj;
	bind->user_cookie.as_64 = cookie->user;
	bind->status = cookie->status;
}

static struct pass_node *fifo_remove(struct pass_evd *evd)
{
	struct pass_node *node = evd->first;

	evd->first = node->next;
	if (!evd->first) {
		evd->last = &evd->first;
		pass_evd_set_aside(evd, PASS_FIFO, false);
	}
	evd->nr_fifo--;
	return node;
}

/* Takes the first entry of the FIFO, into @event or @kernel. */
static enum pass_took fifo_take(struct pass_evd *evd, DAT_EVENT *event,
				struct kdapl_uapi_event *kernel)
{
	struct pass_node *node = fifo_remove(evd);
	struct pass_cookie *cookie;
	struct pass_ep *ep;

	if (node->kind == PASS_END) {
		ep = ep_of_end(node);
		*kernel = ep->end;
		pass_ep_put(ep);
		return PASS_TOOK_KERNEL;
	}
	if (node->kind == PASS_MOVED) {
		*kernel = ((struct moved *)node)->event;
		free(node);
		return PASS_TOOK_KERNEL;
	}
	cookie = cookie_of(node);
	ep = cookie->dir->ep;
	fill_completion(evd, cookie, event);
	pass_cookie_free(cookie);
	pass_ep_put(ep);
	return PASS_TOOK;
}

/* pass_fifo_drop - the EVD goes with what is in it */
void pass_fifo_drop(struct pass_evd *evd)
{
	struct kdapl_uapi_event kernel;
	DAT_EVENT event;

	while (evd->first)
		fifo_take(evd, &event, &kernel);
}

/* ---- judging completions ----------------------------------------------- */

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

static uint32_t wc_status(const struct ibv_wc *wc, const struct pass_dir *dir)
{
	uint32_t status = wc->status;

	if (status == IBV_WC_SUCCESS)
		return DAT_DTO_SUCCESS;
	/* The device has refused what DAT does not have: a key to be invalidated (mt:M81). */
	if (status == IBV_WC_REM_INV_REQ_ERR && dir->is_recv)
		return DAT_DTO_ERR_BAD_RESPONSE;
	if (status >= sizeof(dto_status) || !dto_status[status])
		return DAT_DTO_ERR_TRANSPORT;
	return dto_status[status];
}

static struct pass_cookie *wc_cookie(const struct ibv_wc *wc)
{
	return (struct pass_cookie *)(uintptr_t)wc->wr_id;
}

/*
 * Is it what a plain send of the peer's leaves behind (mt:T59)? The peer may use verbs that
 * DAT does not have.
 */
static inline bool wc_is_message(const struct ibv_wc *wc, const struct pass_cookie *cookie)
{
	return wc->opcode == IBV_WC_RECV && wc->byte_len <= cookie->length &&
	       !(wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV));
}

/* A success that nobody has to hear of but its consumer: nearly every completion. */
static inline bool wc_is_plain(const struct ibv_wc *wc, const struct pass_cookie *cookie)
{
	return wc->status == IBV_WC_SUCCESS &&
	       atomic_load_explicit(&cookie->place, memory_order_relaxed) == PASS_PLAIN &&
	       (!cookie->dir->is_recv ||
		(wc_is_message(wc, cookie) && !cookie->dir->await));
}

/* A receive that no plain send filled has failed, whatever the device says. */
static void wc_check_recv(struct ibv_wc *wc)
{
	const struct pass_cookie *cookie = wc_cookie(wc);

	if (wc->status != IBV_WC_SUCCESS || !cookie->dir->is_recv ||
	    wc_is_message(wc, cookie))
		return;
	wc->status = wc->byte_len > cookie->length ? IBV_WC_LOC_LEN_ERR :
						     IBV_WC_BAD_RESP_ERR;
	if (wc->wc_flags & IBV_WC_WITH_INV)
		pass_lmr_invalidated(pass_ia_of(cookie->dir->ep->ia),
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
static bool awaits_cm(struct pass_evd *evd, const struct ibv_wc *wc)
{
	uint64_t now;

	if (!evd->pia->iwarp || wc->status != IBV_WC_WR_FLUSH_ERR)
		return false;
	now = pass_now();
	if (!evd->wait_until)
		evd->wait_until = now + 10000000000;
	return now < evd->wait_until;
}

/* The kernel learns of the first failure, unless it knows already. False: not yet. */
static bool tell_failure(struct pass_evd *evd, struct pass_ep *ep, const struct ibv_wc *wc)
{
	if (atomic_load(&ep->told))
		return true;
	if (!ended_for_kernel(ep)) {
		if (awaits_cm(evd, wc))
			return false;
		pass_tell(ep, KDAPL_TELL_BROKEN);
	}
	evd->wait_until = 0;
	atomic_store(&ep->told, true);
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

static enum verdict wc_judge(struct pass_evd *evd, struct ibv_wc *wc)
{
	struct pass_cookie *cookie = wc_cookie(wc);

	/* Its queue pair failed to flush, and pass_end.c has completed it. */
	if (!pass_cookie_owed(cookie))
		return STALE;
	wc_check_recv(wc);
	if (wc->status != IBV_WC_SUCCESS)
		return tell_failure(evd, cookie->dir->ep, wc) ? VISIBLE : WAIT;
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
	struct pass_cookie *cookie = wc_cookie(wc);
	struct pass_dir *dir = cookie->dir;

	pass_cookie_move(cookie, PASS_HERE);
	cookie->status = wc_status(wc, dir);
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
		fifo_add_cookie(evd, cookie);
	atomic_store_explicit(&dir->completed, dir->completed + 1, memory_order_release);
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
 * pass_fifo_pull - bring what has completed into the FIFO
 *
 * Return: false if it came to a completion that has to wait.
 */
bool pass_fifo_pull(struct pass_evd *evd)
{
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
		if (verdict == VISIBLE)
			take_wc(evd);
		else
			wc_step(evd);
	}
	if (verdict == WAIT || pass_evd_aside(evd, PASS_WAITING))
		pass_evd_set_aside(evd, PASS_WAITING, verdict == WAIT);
	return verdict != WAIT;
}

/* ---- the kernel's ring ------------------------------------------------- */

/* The EP that an event of the ring is about, if the event ends its present connection. */
static struct pass_ep *ends_ep(const struct pass_evd *evd,
			       const struct kdapl_uapi_event *event, uint64_t index)
{
	struct shim_object *obj;
	struct pass_ep *ep;

	if (!pass_is_connection(event->event_number) ||
	    event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return NULL;
	obj = shim_by_token(event->connect.ep);
	ep = obj ? pass_ep_of(obj) : NULL;
	if (!ep || ep->token != event->connect.ep || ep->connect_evd != evd->obj ||
	    atomic_load(&ep->over) || (int64_t)(index - ep->old_until) < 0)
		return NULL;
	return ep;
}

/* Whoever has the event may post, so the board has to show the state of which it tells. */
static void note_established(const struct kdapl_uapi_event *event)
{
	struct shim_object *obj = shim_by_token(event->connect.ep);
	struct pass_ep *ep = obj ? pass_ep_of(obj) : NULL;

	if (!ep || ep->token != event->connect.ep)
		return;
	atomic_store(&ep->established, true);
	pass_await_board(ep, pass_is_pending);
}

/* Takes an event off the ring. False: it is held until its connection is flushed. */
static bool ring_take(struct pass_evd *evd, struct kdapl_uapi_event *event)
{
	uint64_t index = evd->taken;
	struct pass_ep *ep;

	if (!shim_ring_take(evd->ring, shim_token(evd->obj), event))
		return false;
	evd->taken++;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		note_established(event);
	ep = ends_ep(evd, event, index);
	if (ep)
		pass_end_hold(ep, event);
	return !ep;
}

/*
 * pass_fifo_move_ring - have the events of the ring in the FIFO
 *
 * For what has to follow an event in the ring that nobody has taken: the end of a connection
 * is held then. Each goes before what came later. Without memory the rest stays.
 */
void pass_fifo_move_ring(struct pass_evd *evd)
{
	struct pass_node **link;
	struct moved *moved;
	uint64_t index;

	while (shim_ring_filled(evd->ring)) {
		moved = malloc(sizeof(*moved));
		if (!moved)
			return;
		index = evd->taken;
		if (!ring_take(evd, &moved->event)) {
			free(moved);
			continue;
		}
		moved->node.kind = PASS_MOVED;
		moved->node.notify = true;
		moved->node.mark = index;
		for (link = &evd->first; *link && (*link)->mark <= index;
		     link = &(*link)->next)
			;
		if (!evd->first)
			pass_evd_set_aside(evd, PASS_FIFO, true);
		moved->node.next = *link;
		*link = &moved->node;
		if (!moved->node.next)
			evd->last = &moved->node.next;
		evd->nr_fifo++;
		evd->notified++;
	}
}

/* Events of the ring that could be taken. */
static uint32_t ring_ready(struct pass_evd *evd)
{
	const struct shim_ring *ring = evd->ring;
	uint32_t filled = shim_ring_count(evd->ring, shim_token(evd->obj));
	uint32_t ready = filled, i;
	struct pass_ep *ep;

	for (i = 0; i < filled; i++) {
		ep = ends_ep(evd, &ring->events[(ring->consumer + i) & ring->mask],
			     evd->taken + i);
		if (ep) {
			pass_end_want(ep);
			ready--;
		}
	}
	return ready;
}

/*
 * pass_fifo_count - events that can be taken now, completions among them
 * @kernels: out: those of them that are in the kernel's ring
 */
uint32_t pass_fifo_count(struct pass_evd *evd, uint32_t *kernels)
{
	pass_fifo_pull(evd);
	*kernels = ring_ready(evd);
	return evd->nr_fifo + *kernels;
}

/*
 * pass_fifo_take - take the oldest event
 * @event: out, for PASS_TOOK
 * @kernel: out, for PASS_TOOK_KERNEL: the caller makes the event of it, when the EVD is
 *	unlocked
 */
enum pass_took pass_fifo_take(struct pass_evd *evd, DAT_EVENT *event,
			      struct kdapl_uapi_event *kernel)
{
	evd->dirty = true;
	for (;;) {
		if (evd->first && (int64_t)(evd->first->mark - evd->taken) <= 0)
			return fifo_take(evd, event, kernel);
		if (shim_ring_has(evd->ring)) {
			uint64_t taken = evd->taken;

			if (ring_take(evd, kernel))
				return PASS_TOOK_KERNEL;
			if (evd->taken != taken)
				continue;
		}
		if (evd->first)
			return fifo_take(evd, event, kernel);
		pass_fifo_pull(evd);
		if (!evd->first)
			return PASS_TOOK_NONE;
	}
}

/* ---- dat_evd_dequeue --------------------------------------------------- */

/*
 * All but a plain completion behind an empty ring. Unlocks the EVD. If nothing is there,
 * connections that are ending get a look, since their last event may be what is wanted.
 */
static __attribute__((noinline)) DAT_RETURN dequeue_other(struct shim_object *obj,
							  DAT_EVENT *event)
{
	struct kdapl_uapi_event kernel;
	bool looked = false, watched;
	struct pass_evd *evd;
	enum pass_took took;
	DAT_RETURN ret;

	ret = shim_evd_check(obj, event);
	while (!ret) {
		evd = pass_evd_of(obj);
		if (!evd)
			break;
		took = pass_fifo_take(evd, event, &kernel);
		watched = pass_evd_watched(evd);
		if (took == PASS_TOOK_NONE && pass_evd_aside(evd, PASS_CNO) &&
		    (looked || !watched) && pass_evd_arm(evd))
			continue;
		if (took == PASS_TOOK_NONE && (looked || !watched))
			break;
		shim_unlock(&obj->lock);
		if (took == PASS_TOOK_KERNEL)
			shim_event(obj, &kernel, event);
		if (took != PASS_TOOK_NONE)
			return DAT_SUCCESS;
		pass_watch_run(evd->pia, evd);
		looked = true;
		shim_lock(&obj->lock);
		ret = shim_lives(obj, SHIM_EVD) ? DAT_SUCCESS : RET(QUEUE_EMPTY);
	}
	shim_unlock(&obj->lock);
	return ret ? ret : RET(QUEUE_EMPTY);
}

/*
 * Takes the next completion, if it is a plain one. Unlocks the EVD. @polled: completions that
 * are in @evd->wc now; 0: there are some left. Kept out of line, so that a look in vain saves
 * no registers for it.
 */
static __attribute__((noinline)) DAT_RETURN dequeue_plain(struct shim_object *obj,
							  DAT_EVENT *event, int polled)
{
	struct pass_evd *evd = pass_evd_of(obj);
	struct pass_cookie *cookie;
	struct pass_dir *dir;
	struct ibv_wc *wc;

	if (polled) {
		evd->wc_next = evd->wc;
		evd->wc_left = polled;
	}
	wc = evd->wc_next;
	cookie = wc_cookie(wc);
	if (SHIM_UNLIKELY(!wc_is_plain(wc, cookie)))
		return dequeue_other(obj, event);
	evd->wc_next = wc + 1;
	evd->wc_left--;
	dir = cookie->dir;
	fill_dto(obj, cookie, DAT_DTO_SUCCESS, dir->is_recv ? wc->byte_len : cookie->length,
		 event);
	atomic_store_explicit(&dir->completed,
			      atomic_load_explicit(&dir->completed,
						   memory_order_relaxed) + 1,
			      memory_order_release);
	/* ORDER: pairs with cookie_is_free(): the cookie was read before. */
	atomic_store_explicit(&cookie->place, PASS_FREE, memory_order_release);
	shim_unlock(&obj->lock);
	return DAT_SUCCESS;
}

/* All but a look at an EVD that is there, and has nothing but its completion queue. */
static __attribute__((noinline)) DAT_RETURN dequeue_aside(struct shim_object *obj,
							  DAT_EVENT *event)
{
	const struct pass_evd *evd = pass_evd_of(obj);

	if (SHIM_LIKELY(!shim_evd_check(obj, event) && evd && evd->wc_left &&
			!atomic_load_explicit(&evd->aside, memory_order_relaxed) &&
			!shim_ring_has(evd->ring)))
		return dequeue_plain(obj, event, 0);
	return dequeue_other(obj, event);
}

/* Can there be an event in the completion queue alone? Other flags are no reason, but rare. */
static inline bool has_queue_alone(const struct pass_evd *evd)
{
	const struct shim_ring *ring = evd->ring;
	const struct kdapl_uapi_ring_header *header = ring->header;

	return !(__atomic_load_n(&evd->not_idle, __ATOMIC_RELAXED) |
		 shim_load_acquire(&header->flags)) &&
	       shim_load_acquire(&header->producer) == ring->consumer;
}

DAT_RETURN pass_evd_dequeue(struct shim_object *obj, DAT_EVENT *event)
{
	struct pass_evd *evd;
	int polled;

	shim_lock(&obj->lock);
	evd = pass_evd_of(obj);
	if (SHIM_UNLIKELY(!shim_lives(obj, SHIM_EVD) || !evd || !event ||
			  !has_queue_alone(evd)))
		return dequeue_aside(obj, event);
	polled = ibv_poll_cq(evd->cqs[0].cq, PASS_WCS, evd->wc);
	if (polled > 0)
		return dequeue_plain(obj, event, polled);
	SHIM_FORGET(obj);
	shim_unlock(&obj->lock);
	return RET(QUEUE_EMPTY);
}
