// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Cookies, and posts that do not go to a queue pair: receives before there is one, posts behind the
 * end of a connection, and posts that the device does not take. Called by pass_post.c and
 * pass_rmr.c; and by pass_conn.c, to give a new queue pair the receives that wait for it. The lock
 * of the direction is held, except where it says otherwise.
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

static void dir_pull(struct pass_dir *dir)
{
	if (!dir->evd)
		return;
	shim_lock(dir->evd->lock);
	pass_wc_pull(dir->evd);
	if (dir->evd->first)
		pass_evd_wake(dir->evd);
	shim_unlock(dir->evd->lock);
}

/*
 * pass_cookie_room - poll the completion queues if no cookie is free
 *
 * Posts that are suppressed (mt:T15), and all posts whose completions go to a hidden EVD (mt:T11),
 * may have completed without the consumer having a reason to poll.
 */
void pass_cookie_room(struct pass_dir *dir)
{
	if (!pass_cookie_is_free(dir->next))
		dir_pull(dir);
}

/* pass_dir_pull - poll the completion queues of a direction, whose lock is not held */
void pass_dir_pull(struct pass_dir *dir)
{
	shim_lock(&dir->lock);
	dir_pull(dir);
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
	refusal = shim_load_acquire(dir->is_recv ? &board->refuse_recv :
						   &board->refuse_request);
	*gate = dir->gate;
	/* The consumer may have the event of the end before the board shows it. */
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
		dir->gate = dir->qp ? PASS_POST : PASS_LATE;
		*gate = dir->gate;
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
	/* Without a device there will be no queue pair to hold it for. */
	return *gate == PASS_ASIDE ? pass_ia_refusal(dir->ep->pia) : DAT_SUCCESS;
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
	return cookie->flags & DAT_COMPLETION_SUPPRESS_FLAG ? PASS_OWED : PASS_PLAIN;
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

/*
 * pass_post_held - give a new queue pair the receives that wait for one
 *
 * Their segments stay in the cookies, and the direction notes how many they are (@kept), so that
 * they can be held again if the attempt to connect is refused.
 *
 * Return: 0 or an errno; after an error some may have been posted.
 */
int pass_post_held(struct pass_dir *dir)
{
	struct pass_cookie *cookie = dir->held_first;
	int err;

	for (; dir->held; cookie = cookie->after) {
		pass_cookie_move(cookie, pass_cookie_place(cookie));
		err = pass_give_recv(dir, cookie, cookie->sge, cookie->nr_sge);
		if (err) {
			pass_cookie_move(cookie, PASS_HERE);
			return err;
		}
		dir->posted++;
		dir->held--;
		dir->kept++;
	}
	return 0;
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
	dir->posted--;
	if (pass_refused_late(dir, err)) {
		pass_put_aside(dir, cookie, PASS_LATE);
		return DAT_SUCCESS;
	}
	pass_cookie_put_back(dir, cookie);
	return pass_refusal(err);
}
