/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A place is written again only after it was read: who has read gives it back with a release. That
 * the writer writes only what it has found free, a branch decides, which no processor overtakes
 * with a store; its acquire keeps the compiler from it.
 *
 * Kernel: kdapl_cookie.busy (kdapl_cookie_free(); cookie_take(), kdapl_dir_pinned()),
 * kdapl_evd_cq.nr_qps (kdapl_evd_release_cq(), cq_grow()), ib_uobject.usecnt of uverbs
 * (user_unlock(); the process's destroy), kdapl_ring.waiter.
 * Library: pass_cookie.place (pass_cookie_free(), take_plain(); pass_cookie_is_free(),
 * rings_busy()), kdapl_uapi_ring_index.consumer (shim_ring_pop(), kdapl_ring_held()),
 * pass_evd.users (pass_evd_unuse(), is_unused()), pass_srq.telling (report_low(), take_mark()).
 */
#include "steps.inc"

bit event, busy = 1, got = 1;

/* Takes event 0, which is there. */
active proctype reader()
{
	short done;

	BEGIN
	STEP(A, 0, got = event)
	STEP(B, BARRIER(1, A), busy = 0)
	END(A | B);
	over++
}

/* Puts in event 1 if there is room. */
active proctype writer()
{
	short done;
	bit taken;

	BEGIN
	STEP(A, 0, taken = busy)
	STEP(B, A, WHEN(!taken, event = 1))
	END(A | B);
	over++
}

CHECK(2, got == 0)
