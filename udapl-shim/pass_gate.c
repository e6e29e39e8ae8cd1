// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Cookies, and posts that go to no queue pair: before there is one, behind the end of a
 * connection, or because the device does not take them. Called by pass_post.c and
 * pass_rmr.c; pass_conn.c gives a new queue pair the receives that wait for it. The lock of
 * the direction is held, except where it says otherwise.
 */
#include "passthrough.h"

/*
 * pass_cookie_take - the next cookie, if its last event was dequeued (mt:T13, mt:T14)
 *
 * The lock of the direction is held, as for all functions below. Return: NULL if there is
 * no room.
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
 * pass_cookie_room - poll for a free cookie, if there is none
 *
 * Of what is suppressed (mt:T15), and of all that goes to a hidden EVD (mt:T11), the
 * completions may be there, and the consumer has no reason to ask for them.
 */
void pass_cookie_room(struct pass_dir *dir)
{
	if (!pass_cookie_is_free(dir->next))
		dir_pull(dir);
}

/* pass_dir_pull - look what has completed; the lock of the direction is not held */
void pass_dir_pull(struct pass_dir *dir)
{
	shim_lock(&dir->lock);
	dir_pull(dir);
	shim_unlock(&dir->lock);
}

/* pass_cookie_put_back - the post failed, and nobody has seen the cookie */
void pass_cookie_put_back(struct pass_dir *dir, struct pass_cookie *cookie)
{
	cookie->rmr = NULL;
	cookie->rmr_obj = NULL;
	dir->next = cookie;
	pass_cookie_move(cookie, PASS_FREE);
}

/* ---- the gate is not open ---------------------------------------------- */

/* A library that caches the state refuses requests until it has seen RTS. */
static void sync_state(struct pass_dir *dir)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	if (dir->ep->pia->hints & KDAPL_VERBS_SYNC_STATE)
		ibv_modify_qp(dir->qp, &attr, IBV_QP_STATE);
}

/*
 * pass_gate_aside - what becomes of a post
 * @gate: out: PASS_POST, or how pass_put_aside() keeps it
 *
 * Return: DAT_SUCCESS, or why it is refused.
 */
DAT_RETURN pass_gate_aside(struct pass_dir *dir, enum pass_gate *gate)
{
	const struct kdapl_uapi_board_ep *board = dir->board;
	uint32_t state = pass_state(board);
	bool ended = dir->gate == PASS_LATE || dir->gate == PASS_FLUSH;
	DAT_RETURN refusal;

	/* Whatever the state is (RULING 31). */
	if (dir->srq)
		return RET_BAD_STATE(SRQ_IN_USE);
	refusal = shim_load_acquire(dir->is_recv ? &board->refuse_recv :
						   &board->refuse_request);
	*gate = dir->gate;
	/* The board may not show yet what the event of the end has told. */
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
		/* Not before the receives that the queue pair is about to be given. */
		*gate = dir->qp && !dir->held ? PASS_POST : PASS_ASIDE;
	}
	return DAT_SUCCESS;
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
		/* Who sleeps does not know that there is something to be looked at. */
		shim_lock(dir->evd->lock);
		pass_evd_wake(dir->evd);
		shim_unlock(dir->evd->lock);
		break;
	default:
		pass_fifo_flushed(dir->evd, cookie);
	}
}

/* pass_cookie_place - where a DTO is once the queue pair has it */
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
 * They stay where they are until the connection is there, in case it never is.
 *
 * Return: 0 or an errno; some may be posted then.
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
 * pass_refused_late - did the device not take a post because the connection is about to end?
 * @err: what it said
 *
 * The board may not show the end yet. Such a post is no fault of the consumer's: it is PASS_LATE.
 */
bool pass_refused_late(const struct pass_dir *dir, int err)
{
	return err != ENOMEM && (dir->ep->pia->iwarp ||
				 pass_state(dir->board) != DAT_EP_STATE_CONNECTED);
}

/* pass_refusal - what a post returns that the device did not take for another reason */
DAT_RETURN pass_refusal(int err)
{
	return err == ENOMEM ? RET_NO_RESOURCE(MEMORY) : RET(INTERNAL_ERROR);
}

/* pass_post_refused - the device did not take the post */
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
