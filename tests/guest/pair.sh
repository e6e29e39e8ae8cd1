#!/bin/bash
# One smoke test of the main job between two kernels: application to application, in
# two virtual machines on one wire (scripts/vm --pair). B is the server.
# usage: pair.sh MODULES SHIM
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"

modules=$1 shim=$2
modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null
insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
if [ "$KDAPL_HOST" = B ]; then
	"$shim/dat-pingpong" -s -i rxe0-1 -q --connections 15 > /tmp/server 2>&1 & server=$!
	wait_for 120 grep -q listening /tmp/server
	meet listening
	wait $server || die "the server failed: $(cat /tmp/server)"
	meet finished
else
	meet listening
	"$shim/dat-pingpong" -i rxe0-1 -c "$KDAPL_PEER" -v -q -n 20 \
		--sizes 1,64,4096,65536,1048576 || die "the client failed"
	meet finished
fi
rmmod kdapl || die "kdapl does not unload"
