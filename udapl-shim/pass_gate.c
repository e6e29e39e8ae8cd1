// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Cookies, and posts that do not go to a queue pair: receives before there is one, posts for which
 * it has no room, posts behind the end of a connection, and posts that the device does not take.
 * Called by pass_post.c and pass_rmr.c; by pass_conn.c, to give a new queue pair the receives that
 * wait for it; and by those who look for events, to give it posts that wait for room. The lock of
 * the direction is held, except where it says otherwise.
 */
#include "passthrough.h"

/*
 * pass_cookie_take - take the next cookie, if its last event was dequeued (mt:T13, mt:T14)
 *
 * Return: NULL if it is not free.
 */
struct pass_cookie *pass_cookie_take(struct pass_dir *dir, uint64_t user,
				     uint64_t length, uint32_t flags)
{
	struct pass_cookie *cookie = dir->next;

	if (!pass_cookie_is_free(cookie))
		return NULL;
	cookie->user = user;
	cookie->length = length;
	cookie->flags = flags;
	cookie->nr_sge = 0;
	pass_cookie_move(cookie, PASS_HERE);
	dir->next = cookie->after;
	return cookie;
}

/* How many work requests the queue pair of a direction that is deep takes; more as it completes. */
static uint32_t room_left(const struct pass_dir *dir)
{
	return dir->share - (dir->posted - atomic_load(&dir->completed));
}

/*
 * pass_cookie_room - poll the completion queues if no cookie is free, or the queue pair has no room
 *
 * Posts that are suppressed (mt:T15), and all posts whose completions go to a hidden EVD (mt:T11),
 * may have completed without the consumer having a reason to poll.
 */
void pass_cookie_room(struct pass_dir *dir)
{
	if (!pass_cookie_is_free(dir->next) || (dir->gate == PASS_DEEP && !room_left(dir)))
		pass_evd_pull(dir->evd);
	pass_refill(dir);
}

/* pass_dir_pull - poll the completion queues of a direction, whose lock is not held */
void pass_dir_pull(struct pass_dir *dir)
{
	shim_lock(&dir->lock);
	pass_evd_pull(dir->evd);
	shim_unlock(&dir->lock);
}

/* pass_cookie_put_back - undo pass_cookie_take(): the post failed, and has no completion */
void pass_cookie_put_back(struct pass_dir *dir, struct pass_cookie *cookie)
{
	cookie->rmr = NULL;
	cookie->rmr_obj = NULL;
	dir->next = cookie;
	pass_cookie_move(cookie, PASS_FREE);
}

/* ---- the gate is not open ---------------------------------------------- */

/*
 * Some libraries of devices cache the state of a queue pair, and take requests only after they have
 * seen a move to RTS. The kernel has made that move, so it is repeated here.
 */
static void sync_state(struct pass_dir *dir)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	if (dir->ep->pia->hints & KDAPL_VERBS_SYNC_STATE)
		ibv_modify_qp(dir->qp, &attr, IBV_QP_STATE);
}

/*
 * pass_gate_aside - what becomes of a post
 * @gate: out: PASS_POST if it goes to the queue pair, else what pass_put_aside() does with it
 *
 * Return: DAT_SUCCESS, or why the post is refused.
 */
DAT_RETURN pass_gate_aside(struct pass_dir *dir, enum pass_gate *gate)
{
	const struct kdapl_uapi_board_ep *board = dir->board;
	uint32_t state = pass_state(board);
	bool ended = dir->gate == PASS_LATE || dir->gate == PASS_FLUSH;
	DAT_RETURN refusal;

	/* A receive on an EP with an SRQ is refused in every state (RULING 31). */
	if (dir->srq)
		return RET_BAD_STATE(SRQ_IN_USE);
	refusal = pass_board_ret(dir->is_recv ? &board->refuse_recv : &board->refuse_request);
	/* The consumer may have ESTABLISHED before the board shows it... */
	if (pass_is_pending(state) && atomic_load(&dir->ep->established)) {
		state = DAT_EP_STATE_CONNECTED;
		refusal = DAT_SUCCESS;
	}
	*gate = dir->gate;
	/* ... and also the event of the end. */
	if (ended && (state != DAT_EP_STATE_DISCONNECT_PENDING ||
		      atomic_load(&dir->ep->over)))
		return DAT_SUCCESS;
	if (refusal)
		return refusal;
	if (ended)
		return DAT_SUCCESS;
	switch (state) {
	case DAT_EP_STATE_CONNECTED:
		if (dir->gate == PASS_ASIDE && !dir->is_recv && dir->qp)
			sync_state(dir);
		dir->gate = !dir->qp ? PASS_LATE : dir->deep ? PASS_DEEP : PASS_POST;
		*gate = dir->qp ? PASS_POST : PASS_LATE;
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		*gate = dir->qp && !(shim_load_acquire(&board->flags) &
				     KDAPL_BOARD_ERROR) ? PASS_POST : PASS_LATE;
		break;
	case DAT_EP_STATE_DISCONNECTED:
		*gate = PASS_LATE;
		break;
	default:
		/* While older receives are held, this one must not get to the queue pair first. */
		*gate = dir->qp && !dir->held ? PASS_POST : PASS_ASIDE;
	}
	if (*gate == PASS_POST && dir->deep && (dir->held || !room_left(dir)))
		*gate = PASS_ASIDE;
	/* Without a device there will be no queue pair to hold it for. */
	return *gate == PASS_ASIDE ? pass_ia_refusal(dir->ep->pia) : DAT_SUCCESS;
}

/* Will the queue pair take more of what waits for room? The lock of @dir is held. */
static bool dir_moves(const struct pass_dir *dir)
{
	return atomic_load(&dir->owing) && !pass_is_shut(dir->board);
}

/* pass_ep_moves - do posts of the EP wait for room that there will be? No lock is held. */
bool pass_ep_moves(struct pass_ep *ep)
{
	bool moves = false;
	int i;

	for (i = 0; i < PASS_DIRS && !moves; i++) {
		shim_lock(&ep->dir[i].lock);
		moves = dir_moves(&ep->dir[i]);
		shim_unlock(&ep->dir[i].lock);
	}
	return moves;
}

/*
 * Held posts wait for room on the queue pair, of which half is free when @due is reached. To be
 * followed by pass_refill(): the last completion may have been counted just now. The consumer may
 * wait for something that happens only when the peer has got all of these posts, and take no
 * completion meanwhile; so the thread of pass_keeper.c gives them to the queue pair as well.
 */
static void owe(struct pass_dir *dir)
{
	atomic_store(&dir->due, dir->posted - dir->share / 2);
	if (!atomic_exchange(&dir->owing, true))
		pass_keeper_add(dir->ep);
	/* ORDER: pairs with made_room() in pass_wc.c: it sees @owing, or we its count. */
	atomic_thread_fence(memory_order_seq_cst);
}

/* pass_owe_nothing - no post of the direction waits for room, or for nothing but the end */
void pass_owe_nothing(struct pass_dir *dir)
{
	atomic_store(&dir->owing, false);
}

/* pass_ep_owes - do posts of the EP wait for room? No lock is held. */
bool pass_ep_owes(const struct pass_ep *ep)
{
	return atomic_load(&ep->dir[PASS_REQ].owing) || atomic_load(&ep->dir[PASS_RECV].owing);
}

/* pass_ep_refill - give the queue pair of an EP the posts that have room now; no lock is held */
void pass_ep_refill(struct pass_ep *ep)
{
	int i;

	for (i = 0; i < PASS_DIRS; i++) {
		shim_lock(&ep->dir[i].lock);
		if (atomic_load(&ep->dir[i].owing))
			pass_evd_pull(ep->dir[i].evd);
		pass_refill(&ep->dir[i]);
		shim_unlock(&ep->dir[i].lock);
	}
}

/* pass_evd_refill - the same for all endpoints of an EVD */
void pass_evd_refill(struct pass_evd *evd)
{
	struct pass_ia *pia = evd->pia;
	struct pass_ep *ep;

	/* Before it looks: room that is made from here on sets it again. */
	pass_evd_set_aside(evd, PASS_DUE, false);
	pthread_mutex_lock(&pia->lock);
	for (ep = pia->eps; ep; ep = ep->next)
		if (pass_ep_owes(ep) &&
		    (ep->dir[PASS_REQ].evd == evd || ep->dir[PASS_RECV].evd == evd))
			pass_ep_refill(ep);
	pthread_mutex_unlock(&pia->lock);
}

/* pass_put_aside - keep a post that goes to no queue pair, or flush it */
void pass_put_aside(struct pass_dir *dir, struct pass_cookie *cookie,
		    enum pass_gate gate)
{
	pass_cookie_move(cookie, PASS_HERE);
	switch (gate) {
	case PASS_ASIDE:
		if (!dir->held++)
			dir->held_first = cookie;
		/*
		 * A new queue pair gets all that are held from pass_post_held(). Behind that, those
		 * that found no room wait for it; @kept are what it has got in this life.
		 */
		if (dir->deep && dir->qp && (dir->gate == PASS_DEEP || dir->kept)) {
			owe(dir);
			pass_refill(dir);
		}
		break;
	case PASS_LATE:
		cookie->late_next = NULL;
		*dir->late_end = cookie;
		dir->late_end = &cookie->late_next;
		pass_end_want(dir->ep);
		/* A sleeping waiter has to look, since there is something to be flushed now. */
		shim_lock(dir->evd->lock);
		pass_evd_wake(dir->evd);
		shim_unlock(dir->evd->lock);
		break;
	default:
		pass_fifo_flushed(dir->evd, cookie);
	}
}

/* pass_cookie_place - the place of a DTO's cookie while the queue pair has the DTO */
enum pass_place pass_cookie_place(const struct pass_cookie *cookie)
{
	return cookie->flags & DAT_COMPLETION_SUPPRESS_FLAG || cookie->dir->deep ||
	       pass_cookie_extends(cookie) ? PASS_OWED : PASS_PLAIN;
}

/* pass_give_recv - post a receive to the queue pair; 0 or an errno */
int pass_give_recv(struct pass_dir *dir, struct pass_cookie *cookie,
		   struct ibv_sge *sge, uint32_t nr)
{
	struct ibv_recv_wr wr = {
		.wr_id = (uintptr_t)cookie,
		.sg_list = sge,
		.num_sge = nr,
	}, *bad;
	struct ibv_sge nothing;

	if (!nr) {
		wr.sg_list = &nothing;
		wr.num_sge = pass_no_bytes(dir->pz, &nothing);
	}
	return ibv_post_recv(dir->qp, &wr, &bad);
}

static int give_request(struct pass_dir *dir, struct pass_cookie *cookie)
{
	return pass_give_request(dir, cookie, &pass_cookie_request(cookie)->dto, cookie->sge,
				 cookie->nr_sge);
}

/*
 * pass_dir_unpost - the device has refused a post that was counted
 *
 * An end or a drain may wait for no other, and its completion does not come. The direction is
 * locked.
 */
void pass_dir_unpost(struct pass_dir *dir)
{
	dir->posted--;
	if (atomic_load(&dir->ep->ending) || atomic_load(&dir->ep->draining))
		pass_keeper_look();
}

/* Gives the queue pair the oldest post that is held; 0 or an errno. */
static int give_held(struct pass_dir *dir)
{
	struct pass_cookie *cookie = dir->held_first;
	int err;

	pass_cookie_move(cookie, pass_cookie_place(cookie));
	dir->posted++;
	err = dir->is_recv ? pass_give_recv(dir, cookie, cookie->sge, cookie->nr_sge) :
			     give_request(dir, cookie);
	if (err) {
		pass_dir_unpost(dir);
		pass_cookie_move(cookie, PASS_HERE);
		return err;
	}
	dir->held_first = cookie->after;
	dir->held--;
	return 0;
}

/*
 * pass_post_held - give a new queue pair the receives that wait for one
 *
 * Their segments stay in the cookies, and the direction notes how many they are (@kept), so that
 * they can be held again if the attempt to connect is refused. Those that find no room wait on.
 *
 * Return: 0 or an errno; after an error some may have been posted.
 */
int pass_post_held(struct pass_dir *dir)
{
	struct pass_cookie *cookie;
	int err;

	while (dir->held && (!dir->deep || room_left(dir))) {
		cookie = dir->held_first;
		err = give_held(dir);
		if (err)
			return err;
		if (!dir->kept++)
			dir->kept_first = cookie;
	}
	if (dir->held)
		owe(dir);
	pass_refill(dir);
	return 0;
}

/*
 * Can the queue pair be given posts that wait for room? Not while the call that begins the
 * connection may be refused: what it gets then would not be held again (@kept).
 */
static bool has_room(const struct pass_dir *dir)
{
	return dir_moves(dir) && dir->qp && !atomic_load(&dir->ep->preparing) &&
	       (int32_t)(atomic_load(&dir->completed) - atomic_load(&dir->due)) >= 0;
}

/*
 * pass_refill - give the queue pair the posts that have waited for room, if half of it is free
 *
 * If the device refuses one, the connection has to break, for its consumer believes that it was
 * posted; unless it is ending anyhow. Either way the rest is flushed then.
 */
void pass_refill(struct pass_dir *dir)
{
	int err = 0;

	while (has_room(dir)) {
		while (!err && dir->held && room_left(dir))
			err = give_held(dir);
		if (dir->held && !err)
			owe(dir);
		else
			pass_owe_nothing(dir);
	}
	if (err && !pass_refused_late(dir, err))
		pass_tell(dir->ep, KDAPL_TELL_BROKEN);
}

/*
 * pass_refused_late - did the device refuse a post because the connection is ending?
 * @err: its errno
 *
 * On iWARP the board may not show the end yet. Such a post is no fault of the consumer's, so it
 * becomes PASS_LATE.
 */
bool pass_refused_late(const struct pass_dir *dir, int err)
{
	return err != ENOMEM && (dir->ep->pia->iwarp ||
				 pass_state(dir->board) != DAT_EP_STATE_CONNECTED);
}

/* pass_refusal - what a post returns that the device refused for another reason */
DAT_RETURN pass_refusal(int err)
{
	return err == ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET(INTERNAL_ERROR);
}

/* pass_post_refused - deal with a post that the device refused */
DAT_RETURN pass_post_refused(struct pass_dir *dir, struct pass_cookie *cookie, int err)
{
	pass_dir_unpost(dir);
	if (pass_refused_late(dir, err)) {
		pass_put_aside(dir, cookie, PASS_LATE);
		return DAT_SUCCESS;
	}
	pass_cookie_put_back(dir, cookie);
	return pass_refusal(err);
}
