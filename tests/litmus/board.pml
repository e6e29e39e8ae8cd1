/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A slot of the board goes from life 1 to life 2: no life is seen with the fields of another.
 *
 * Kernel: kdapl_board_show(). Library: drain_step() and others (Documentation/abi.rst).
 */
#include "steps.inc"

byte life = 1, flags = 1, state = 1;
byte before, after, saw_flags, saw_state;

active proctype kernel()
{
	short done;

	BEGIN
	STEP(A, 0, life = 0)
	STEP(B, BARRIER(1, A), flags = 2)		/* smp_wmb() */
	STEP(C, BARRIER(1, A) | BARRIER(2, B), state = 2)
	STEP(D, A | BARRIER(3, B | C), life = 2)
	END(A | B | C | D);
	over++
}

active proctype process()
{
	short done;

	BEGIN
	STEP(A, 0, before = life)
	STEP(B, BARRIER(4, A), saw_state = state)
	STEP(C, BARRIER(4, A) | BARRIER(5, B), saw_flags = flags)
	STEP(D, A | BARRIER(6, B | C), after = life)	/* the fence */
	END(A | B | C | D);
	over++
}

/* And who waits for a state finds its flags. */
CHECK(2, (!before || before != after || (saw_flags == before && saw_state == before)) &&
	 (saw_state != 2 || saw_flags == 2))
