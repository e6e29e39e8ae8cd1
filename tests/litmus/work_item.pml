/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a work item is to do is noted before it is queued. If it is queued already, it has not begun
 * to look.
 *
 * kdapl_conn_schedule(), conn_run(); kdapl_evd_cq_failed(), kdapl_evd_cq_faulted(), evd_watch();
 * kdapl_srq_raise(), srq_work(). The workqueue has a full barrier on either side: in queueing, and
 * between clearing its bit and the work.
 */
#include "steps.inc"

bit todo, queued = 1, found;

active proctype scheduler()
{
	short done;

	BEGIN
	STEP(A, 0, todo = 1)
	STEP(B, BARRIER(1, A), queued = 1)
	END(A | B);
	over++
}

active proctype worker()
{
	short done;
	bit did;

end:	do
	:: queued ->
		BEGIN
		STEP(A, 0, queued = 0)
		STEP(B, BARRIER(2, A), did = todo; todo = 0)
		END(A | B);
		WHEN(did, found = 1)
	od
}

active proctype check()
{
	over == 1;
	found
}
