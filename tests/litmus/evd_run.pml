/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A kick of the runner of an EVD, and who waits until the runner has done what was there. An event
 * waits, because the ring was full; the process has taken one, and asks for more.
 *
 * kdapl_ring_refill(), kdapl_evd_await_run(), kdapl_evd_kick(); evd_deliver(), ring_room(),
 * evd_poll_softirq(), with irq_poll_sched() and irq_poll_complete() of the kernel.
 */
#include "steps.inc"

bit taken, more = 1, pending, scheduled = 1, delivered;
byte started, ended;

active proctype process()
{
	short done;
	byte upto;

	BEGIN
	STEP(A, 0, taken = 1)
	STEP(B, 0, more = 0)
	/* smp_mb__after_atomic() in kdapl_ring_refill() */
	STEP(C, BARRIER(1, A | B), upto = started + 1)
	STEP(D, A | B | C, pending = 1)
	STEP(E, D, scheduled = 1)
	END(A | B | C | D | E);
	/* It returns when the ring has what fits. */
	atomic { ended >= upto -> assert(delivered || more) };
	over++
}

active proctype runner()
{
	short done;
	byte n = 1;
	bit room, again;

end:	do
	:: scheduled ->
		BEGIN
		STEP(A, 0, pending = 0)
		STEP(B, BARRIER(2, A), started = n)
		STEP(C, 0, room = taken)
		STEP(D, C, WHEN(!room, more = 1))
		/* smp_mb() in ring_room() */
		STEP(E, C | BARRIER(3, A | B | D), room = taken)
		STEP(F, E, WHEN(room, delivered = 1))
		STEP(G, A | B | C | D | E | F, ended = n)
		STEP(H, G, scheduled = 0)
		/* smp_mb() in evd_poll_softirq() */
		STEP(I, A | BARRIER(4, H), again = pending)
		END(A | B | C | D | E | F | G | H | I);
		n++;
		WHEN(again, scheduled = 1)
	od
}

CHECK(1, true)
