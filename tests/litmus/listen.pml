/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A listener begins to listen while an address comes: it has read the address, or counts a change,
 * or is found in the list.
 *
 * kdapl_listen_follow(), update_listeners(); kdapl_cm_listen(), listen_follows(). The addresses are
 * read under RCU.
 */
#include "steps.inc"

bit address, changes, queued, locked, listed, told, has;

active proctype notifier()
{
	short done;

	BEGIN
	STEP(A, 0, address = 1)
	STEP(B, BARRIER(1, A), changes = 1)	/* smp_mb__before_atomic() */
	STEP(C, A | B, queued = 1)
	END(A | B | C);
	over++
}

active proctype worker()
{
	queued;
	atomic { !locked -> locked = 1 };
	WHEN(listed, told = 1);
	locked = 0;
	over++
}

active proctype listener()
{
	short done;
	bit seen, now;

	BEGIN
	STEP(A, 0, seen = changes)
	STEP(B, BARRIER(2, A), has = address)	/* smp_rmb() */
	END(A | B);
	atomic { !locked -> locked = 1 };
	listed = 1;
	now = changes;
	WHEN(now != seen, told = 1);
	locked = 0;
	over++
}

CHECK(3, has || told)
