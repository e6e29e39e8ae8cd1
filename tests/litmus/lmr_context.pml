/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dat_lmr_invalidate() reads which memory an LMR has, and then whether peers have rights on it.
 * Another thread takes the rights and the memory away, and gives the LMR other memory, on which
 * nobody has rights. The rights that were found must not be taken for rights on the other memory.
 *
 * invalidate_do(), kdapl_rmr_opens(); kdapl_rmr_take_key(), fmr_take(), fmr_name(). What stands
 * before or behind the lock of the RMR may move into it, but nothing moves out: so that lock does
 * it, even without the acquire with which the context is read.
 */
#include "steps.inc"

bit locked, rights = 1, saw_rights;
byte context = 1, saw;

active proctype other()
{
	short done;

	BEGIN
	STEP_IF(A, 0, !locked, locked = 1)
	STEP(B, A, rights = 0)
	STEP(C, A | B, locked = 0)
	STEP(D, A, context = 2)
	END(A | B | C | D);
	over++
}

active proctype invalidate()
{
	short done;

	BEGIN
	STEP(A, 0, saw = context)
	STEP_IF(B, 0, !locked, locked = 1)
	STEP(C, B, saw_rights = rights)
	STEP(D, B | C | BARRIER(1, A), locked = 0)
	END(A | B | C | D);
	over++
}

CHECK(2, saw != 2 || !saw_rights)
