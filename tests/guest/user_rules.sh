#!/bin/bash
# The rules through the user face, between two RDMA devices, in the virtual machine:
# tests/user/udat_rules, hostile ioctls, killed processes, and the module's unload after
# each of them.
# usage: user_rules.sh MODULES SHIM   (folders that scripts/build-modules and the shim's
# Makefile made)
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"

modules=$1 shim=$2
objects=/sys/kernel/debug/kdapl/objects
passed=0 failed=0

verdict() {
	if "${@:2}"; then
		passed=$((passed + 1)); echo "ok $1"
	else
		failed=$((failed + 1)); echo "FAIL $1"
	fi
}

# Without a process there is the kernel's space alone, and it is empty.
nothing_left() { [ "$(cat $objects)" = 'space kernel: objects 0' ]; }

# run NAME COMMAND...: what it counts in its last line, and that nothing of it is left
run() {
	local name=$1 log last p=0 f=0
	shift
	log=$(mktemp)
	insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
	timeout 600 "$@" 2>&1 | tee "$log"
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

run udat_rules "$shim/tests/udat_rules"
run abi_hostile "$shim/tests/abi_hostile"
run kill9 "$shim/tests/kill9"

two_hosts_down
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
