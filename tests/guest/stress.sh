#!/bin/bash
# Races, in the virtual machine: tests/stress (udat_stress) between two RDMA devices, and after it
# that no object is left and the module unloads. scripts/stress calls it.
# usage: stress.sh MODULES SHIM [OPTION OF stress...]
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"

modules=$1 shim=$2
shift 2
objects=/sys/kernel/debug/kdapl/objects
passed=0 failed=0

verdict() {
	if "${@:2}"; then
		passed=$((passed + 1)); echo "ok $1"
	else
		failed=$((failed + 1)); echo "FAIL $1"
	fi
}

nothing_left() { [ "$(cat $objects)" = 'space kernel: objects 0' ]; }

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts || die "no RDMA devices"
modprobe -a ib_core rdma_cm irq_poll 2> /dev/null
insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"

"$shim/tests/udat_stress" "$@" | tee /tmp/stress.log
[ "${PIPESTATUS[0]}" -le 1 ] || { failed=1; echo "FAIL stress ended badly"; }
last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' /tmp/stress.log | tail -1)
if [ -n "$last" ]; then
	read -r p _ f _ <<< "$last"
	passed=$((passed + p)) failed=$((failed + f))
else
	failed=$((failed + 1)); echo "FAIL stress: no result"
fi
verdict "I19 no object is left" wait_for 30 nothing_left
verdict "A10 kdapl unloads" rmmod kdapl

two_hosts_down
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
