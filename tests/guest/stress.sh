#!/bin/bash
# Failures and races, in the virtual machine: each allocation of each call fails once
# (tests/user/alloc_fail, where the kernel can do that), then tests/stress between two
# RDMA devices; after each that no object is left and the module unloads.
# scripts/stress calls it.
# usage: stress.sh MODULES SHIM [OPTION of udat_stress...]
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

# run NAME COMMAND...: what it counts in its last line, and that nothing of it is left
run() {
	local name=$1 log last p=0 f=0
	shift
	log=$(mktemp)
	insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
	"$@" | tee "$log"
	[ "${PIPESTATUS[0]}" -le 1 ] || { failed=$((failed + 1)); echo "FAIL $name ended badly"; }
	last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
	[ -z "$last" ] || read -r p _ f _ <<< "$last"
	[ $((p + f)) -gt 0 ] || { failed=$((failed + 1)); echo "FAIL $name: no result"; }
	passed=$((passed + p)) failed=$((failed + f))
	verdict "I19 no object is left ($name)" wait_for 30 nothing_left
	verdict "A10 kdapl unloads ($name)" rmmod kdapl
}

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts || die "no RDMA devices"
modprobe -a ib_core rdma_cm irq_poll 2> /dev/null

if [ -e /sys/kernel/debug/failslab ]; then
	run alloc_fail "$shim/tests/alloc_fail"
fi
run udat_stress "$shim/tests/udat_stress" "$@"

two_hosts_down
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
