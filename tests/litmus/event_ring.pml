/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The event ring, of one slot here: the kernel puts in event 1, and event 2 when the process has
 * given the slot back; the process reads what the index says is there.
 *
 * Kernel: buf_append(), kdapl_ring_held(). Library: shim_ring_filled(), shim_ring_first(),
 * shim_ring_pop() (ring.c).
 */
#include "steps.inc"

byte slot, producer, consumer, got;

active proctype kernel()
{
	short done;
	byte taken;

	BEGIN
	STEP(A, 0, slot = 1)
	STEP(B, BARRIER(1, A), producer = 1)
	STEP(C, 0, taken = consumer)
	STEP(D, A | C, WHEN(taken == 1, slot = 2))
	STEP(E, B | BARRIER(1, D), WHEN(taken == 1, producer = 2))
	END(A | B | C | D | E);
	over++
}

active proctype process()
{
	short done;
	byte held;

	BEGIN
	STEP(A, 0, held = producer)
	STEP(B, BARRIER(2, A), got = slot)
	STEP(C, A | BARRIER(3, B), WHEN(held, consumer = 1))
	END(A | B | C);
	WHEN(!held, got = 1);
	over++
}

CHECK(2, got == 1)
