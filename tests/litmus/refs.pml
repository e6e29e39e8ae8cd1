/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A reference is taken of what a pointer led to, which may have been given up and used again
 * meanwhile: who gets one sees what was written before the first reference, as long as he has it.
 * For that the pointer itself need not be ordered, as the memory stays what it is for ever.
 *
 * Library: shim_pass_open() sets pass_ia.refs, pass_ia_get() takes one, pass_ia_put() gives it
 * back; pass_ep_made(), pass_ep_try_get(), pass_ep_put(); pass_srq.refs, pass_lmr.users.
 */
#include "steps.inc"

bit fields, pointer, good = 1;
byte refs;

/* Makes it, takes the pointer away, and drops the first reference. */
active proctype owner()
{
	short done;
	bit last;

	BEGIN
	STEP(A, 0, fields = 1)
	STEP(B, BARRIER(1, A), refs = 1)
	STEP(C, 0, pointer = 1)
	STEP(D, C, pointer = 0)
	STEP(E, A | B | C | D, refs--; last = !refs)
	STEP(F, E, WHEN(last, fields = 0))
	END(A | B | C | D | E | F);
	over++
}

active proctype user()
{
	short done;
	bit found, got, last, early = 1, late = 1;

	BEGIN
	STEP(A, 0, found = pointer)
	STEP(B, A, WHEN(found && refs, refs++; got = 1))
	STEP(C, BARRIER(2, B), early = fields)
	STEP(D, C, late = fields)
	STEP(E, B | BARRIER(3, C | D), WHEN(got, refs--; last = !refs))
	STEP(F, C | D | E, WHEN(last, fields = 0))
	END(A | B | C | D | E | F);
	good = !got || (early && late);
	over++
}

CHECK(2, good)
