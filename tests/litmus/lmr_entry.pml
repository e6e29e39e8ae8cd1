/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An entry of the table of LMRs goes from context 1 on IA 1 to context 2 on IA 2, while a post on
 * IA 2 looks for context 1, which is bad there.
 *
 * Library: lmr_hide(), pass_lmr_create(), lmr_publish(); pass_lmr_find_on().
 */
#include "steps.inc"

byte context = 1, ia = 1;
byte first, on, second;

active proctype owner()
{
	short done;

	BEGIN
	STEP(A, 0, context = 0)
	STEP(B, BARRIER(1, A), ia = 2)
	STEP(C, A | B, context = 2)
	END(A | B | C);
	over++
}

active proctype post()
{
	short done;

	BEGIN
	STEP(A, 0, first = context)
	STEP(B, 0, on = ia)
	STEP(C, A | BARRIER(2, B), second = context)
	END(A | B | C);
	over++
}

CHECK(2, first != 1 || on != 2 || second != 1)
