/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A thread that waits for an event ring is woken for an event, and counts it then. It counts only
 * when kdapl_ring.notified has changed, so a change without the event would be a lost wake-up.
 *
 * buf_append(), ring_done(); ring_sleep(), wait_over(), prepare_to_wait(), wq_has_sleeper().
 */
#include "steps.inc"

bit producer, notified, queued, woken;

active proctype sink()
{
	short done;
	bit sleeper;

	BEGIN
	STEP(A, 0, producer = 1)
	STEP(B, BARRIER(1, A), notified = 1)		/* smp_mb__before_atomic() */
	STEP(C, BARRIER(2, A | B), sleeper = queued)	/* wq_has_sleeper() */
	STEP(D, A | B | C, WHEN(sleeper, woken = 1))
	END(A | B | C | D);
	over++
}

active proctype waiter()
{
	short done;
	bit seen, now, held;

	BEGIN
	STEP(A, 0, seen = notified)
	STEP(B, BARRIER(3, A), held = producer)
	END(A | B);
	do
	:: held -> break
	:: else ->
		BEGIN
		/* prepare_to_wait(); who wakes has the lock of the queue, too. */
		STEP(A, 0, queued = 1; woken = 0)
		STEP(B, BARRIER(4, A), now = notified)
		STEP(C, BARRIER(4, A) | BARRIER(5, B), held = producer)
		END(A | B | C);
		WHEN(now == seen, held = 0);
		seen = now;
		WHEN(!held, woken)
	od;
	over++
}

CHECK(2, true)
