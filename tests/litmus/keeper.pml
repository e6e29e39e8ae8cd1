/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The thread of pass_keeper.c lets go of an endpoint, while another thread gives the endpoint
 * something to do and finds that the thread has it already.
 *
 * Library: pass_keeper_add(), whose exchange comes behind what there is to be done; let_go().
 */
#include "steps.inc"

bit ending, kept = 1, fresh;

active proctype adder()
{
	short done;
	bit was_kept;

	BEGIN
	STEP(A, 0, ending = 1)
	STEP(B, BARRIER(1, A), was_kept = kept; kept = 1)
	STEP(C, B, WHEN(!was_kept, fresh = 1))
	END(A | B | C);
	over++
}

active proctype keeper()
{
	short done;
	bit waits, was_kept;

	BEGIN
	STEP(A, 0, kept = 0)
	STEP(B, BARRIER(2, A), waits = ending)
	STEP(C, A | B, WHEN(waits, was_kept = kept; kept = 1; WHEN(!was_kept, fresh = 1)))
	END(A | B | C);
	over++
}

CHECK(2, fresh)
