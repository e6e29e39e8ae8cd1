# shellcheck shell=bash disable=SC2034
# Bugs of Soft-RoCE that 6.1 and newer kernels have alike, mended in the driver's source: scripts
# for sed, sourced by scripts/test-kernel and scripts/kernel.  Both make the name of what they keep
# in the cache from these, too.

# The driver uses a packet's queue pair once more when the packet has been handed over with the
# reference to it; the queue pair may be destroyed by then.  Take another before.  (rxe_comp.c,
# rxe_resp.c)
hold='/^void rxe_\(comp\|resp\)_queue_pkt/,/^}/{
	s/^\tskb_queue_tail/\trxe_get(qp);\n&/
	s/^}/\trxe_put(qp);\n&/
}'

# When it repeats what a peer has not confirmed, it executes the registrations and invalidations
# behind that again, which fail then, so that initiators of iSER lose their connections: not
# those that are done.  (rxe_req.c)
again='/^static int rxe_do_local_ops/,/^}/{
	s/^\tswitch (opcode) {/\tif (wqe->state == wqe_state_done) {\n\t\tqp->req.wqe_index = queue_next_index(qp->sq.queue, qp->req.wqe_index);\n\t\treturn 0;\n\t}\n\n&/
}'
