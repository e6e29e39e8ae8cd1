/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who sees a word sees what was written before it: store-release, load-acquire.
 *
 * Kernel: kdapl_conn.rts (conn_move_qp(), wc_judge()), kdapl_conn.flush, kdapl_ia.passthrough,
 * kdapl_cq.ib, kdapl_evd.runs_ended, kdapl_evd.runner (evd_deliver(), kdapl_evd_set_sink()),
 * kdapl_ring.buf (ring_move(), kdapl_ring_count()), kdapl_iw_link.state, kdapl_ring_buf.producer.
 * Library: shim_object.type (object_start(), shim_names()), shim_object.pass, shim_table_heads,
 * pass_lmr.context, pass_dir.completed (shim_count(), dir_drained()), pass_ep.life and .over.
 */
#include "steps.inc"

bit data, word, saw_data, saw_word;

active proctype writer()
{
	short done;

	BEGIN
	STEP(A, 0, data = 1)
	STEP(B, BARRIER(1, A), word = 1)	/* the release */
	END(A | B);
	over++
}

active proctype reader()
{
	short done;

	BEGIN
	STEP(A, 0, saw_word = word)		/* the acquire */
	STEP(B, BARRIER(2, A), saw_data = data)
	END(A | B);
	over++
}

CHECK(2, !saw_word || saw_data)
