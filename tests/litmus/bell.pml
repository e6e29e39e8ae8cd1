/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bell of the thread of pass_keeper.c, which is rung once until the thread has heard it: the
 * thread says that it has, and looks then.
 *
 * Library: ring(), pass_keeper_look(); keeper_thread(), sleep_until(), pass_keeper_round().
 */
#include "steps.inc"

/* The thread was woken by an earlier ring, and has cleared the bell. */
bit work, rung = 1, bell;

active proctype ringer()
{
	short done;
	bit was_rung;

	BEGIN
	STEP(A, 0, work = 1)
	STEP(B, BARRIER(1, A), was_rung = rung; rung = 1)
	STEP(C, B, WHEN(!was_rung, bell = 1))
	END(A | B | C);
	over++
}

active proctype keeper()
{
	short done;
	bit found;

	do
	:: BEGIN
	   STEP(A, 0, rung = 0)
	   STEP(B, BARRIER(2, A), found = work)
	   END(A | B);
	   if
	   :: found -> break
	   :: else -> bell -> bell = 0
	   fi
	od;
	over++
}

CHECK(2, true)
