/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Each of two threads says what it has done, and then looks what the other one has: with a full
 * barrier on both sides one of them sees the other.
 *
 * Kernel: kdapl_conn_seek_room(), of which one thread has held a post and the other has counted a
 * completion; kdapl_board_show() and kdapl_dev_board_event(); kdapl_ia.lent
 * (ia_borrow_async(), ia_recall_lent()); KDAPL_RING_MORE (ring_room(); a process in
 * kdapl_ring_wait(), whose exchange of kdapl_ring.waiter is the barrier, or in ring_poll(), where
 * poll_wait() has it); whoever uses wq_has_sleeper().
 * Library: owe() and made_room(); pass_ia.closing and the object that is made meanwhile
 * (lmr_keep(), pass_srq_made(), ia_closing()).
 */
#include "steps.inc"

bit held, completed, saw_held, saw_completed;

active proctype holder()
{
	short done;

	BEGIN
	STEP(A, 0, held = 1)
	STEP(B, BARRIER(1, A), saw_completed = completed)
	END(A | B);
	over++
}

active proctype counter()
{
	short done;

	BEGIN
	STEP(A, 0, completed = 1)
	STEP(B, BARRIER(2, A), saw_held = held)
	END(A | B);
	over++
}

CHECK(2, saw_held || saw_completed)
