/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The thread of pass_keeper.c finds pass_ep.use taken, and passes the endpoint over: who has it
 * sees that when he gives it back, and has the thread look again.
 *
 * Library: use_taken(), pass_ep_unlock().
 */
#include "steps.inc"

bit use = 1, passed_over, looks, got;

active proctype keeper()
{
	short done;

	BEGIN
	STEP(A, 0, passed_over = 1)
	STEP(B, BARRIER(1, A), WHEN(!use, use = 1; got = 1))
	END(A | B);
	over++
}

active proctype caller()
{
	short done;

	BEGIN
	STEP(A, 0, use = 0)
	STEP(B, BARRIER(2, A), looks = passed_over; passed_over = 0)
	END(A | B);
	over++
}

CHECK(2, got || looks)
