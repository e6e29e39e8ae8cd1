/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A thread of a program sleeps until another one has changed something, and says so.
 *
 * Library: shim_await(), shim_wake() (lock.c), for pass_ia.news and pass_ep.news. The futex
 * compares the count and sleeps in one.
 */
#include "steps.inc"

bit change, waiters, asleep;
byte count;

active proctype teller()
{
	short done;
	bit any;

	BEGIN
	STEP(A, 0, change = 1)
	STEP(B, BARRIER(1, A), any = waiters)
	STEP(C, A | B, WHEN(any, count++))
	STEP(D, C, WHEN(any, asleep = 0))
	END(A | B | C | D);
	over++
}

active proctype waiter()
{
	short done;
	byte seen;
	bit is_done;

	do
	:: BEGIN
	   STEP(A, 0, waiters = 1)
	   STEP(B, BARRIER(2, A), seen = count)
	   STEP(C, BARRIER(2, A) | BARRIER(3, B), is_done = change)
	   END(A | B | C);
	   if
	   :: is_done -> break
	   :: else -> atomic { WHEN(count == seen, asleep = 1) }; !asleep
	   fi
	od;
	over++
}

CHECK(2, true)
