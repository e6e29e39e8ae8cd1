# shellcheck shell=bash disable=SC2034
# Changes to Soft-RoCE for bugs that 6.1 and newer kernels have alike: sed scripts for the
# driver's source. Sourced by scripts/test-kernel and scripts/kernel, both of which also put
# a hash of them into the names of what they keep in the cache.

# The driver uses a packet's queue pair once more after it has queued the packet, and with
# it the reference to the queue pair, which may have been destroyed by then. Take another
# reference before. (rxe_comp.c, rxe_resp.c)
hold='/^void rxe_\(comp\|resp\)_queue_pkt/,/^}/{
	s/^\tskb_queue_tail/\trxe_get(qp);\n&/
	s/^}/\trxe_put(qp);\n&/
}'

# When the driver repeats what a peer has not acknowledged, it also executes the
# registrations and invalidations behind that again. These fail then, and initiators of iSER
# lose their connections. Skip those that are done. (rxe_req.c)
again='/^static int rxe_do_local_ops/,/^}/{
	s/^\tswitch (opcode) {/\tif (wqe->state == wqe_state_done) {\n\t\tqp->req.wqe_index = queue_next_index(qp->sq.queue, qp->req.wqe_index);\n\t\treturn 0;\n\t}\n\n&/
}'
