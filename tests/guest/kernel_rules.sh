#!/bin/bash
# The rules through the kernel face, between two RDMA devices, in the virtual machine:
# all cases of tests/kernel, then the removal of a device under traffic, and after each
# of them that nothing is left and the module unloads.
# usage: kernel_rules.sh MODULES [TEXT]   (folder that scripts/build-modules made; only
# cases with TEXT in their line)
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"

modules=$1 only=${2-}
rules=/sys/kernel/debug/kdat_rules
passed=0 failed=0

verdict() {
	if "${@:2}"; then
		passed=$((passed + 1)); echo "ok $1"
	else
		failed=$((failed + 1)); echo "FAIL $1"
	fi
}

# Lines of the module, without its sum; it is counted here.
lines() {
	grep -E '^(ok|FAIL) ' $rules/result
	passed=$((passed + $(grep -c '^ok ' $rules/result)))
	failed=$((failed + $(grep -c '^FAIL ' $rules/result)))
}

nothing_left() {
	grep -qx 'space kernel: objects 0' /sys/kernel/debug/kdapl/objects && return
	cat /sys/kernel/debug/kdapl/objects
	return 1
}

load() {
	insmod "$modules/kdapl.ko" &&
		insmod "$modules/tests/kernel/kdat_rules.ko" "only=$only"
}

unload() {
	verdict "I9 kdapl does not unload while it is used ($1)" still_used
	rmmod kdat_rules || die "kdat_rules does not unload"
	verdict "I19 no object is left ($1)" nothing_left
	verdict "kdapl unloads ($1)" rmmod kdapl
}

still_used() { ! rmmod kdapl 2> /dev/null; }

removal_ready() { [ "$(cat $rules/removal)" = Y ]; }

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts || die "no RDMA devices"
modprobe -a ib_core rdma_cm irq_poll 2> /dev/null
load || die "the modules do not load; see dmesg"

echo all | tee $rules/run > /dev/null
lines
unload "all cases"

load || die "the modules do not load again"
echo removal | tee $rules/run > /dev/null & run=$!
if wait_for 60 removal_ready; then
	verdict "rdma link delete returns" timeout 60 rdma link delete rxe1
else
	verdict "traffic for the removal" false
fi
wait $run
lines
unload "device removal"

two_hosts_down
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
