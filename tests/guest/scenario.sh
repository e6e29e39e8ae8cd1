#!/bin/bash
# The scenario suite of tests/scenario between two RDMA devices, in the virtual machine:
# as a module on kDAT and as a program on the library, the same scenarios in both.
# usage: scenario.sh MODULES SHIM [TEXT]   (folders that scripts/build-modules and the
# shim's Makefile made; only scenarios with TEXT in their name)
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"

modules=$1 shim=$2 only=${3-}
objects=/sys/kernel/debug/kdapl/objects
debug=/sys/kernel/debug/kdapl_scenario
logs=$(mktemp -d)
passed=0 failed=0

verdict() {
	if "${@:2}"; then
		passed=$((passed + 1)); echo "ok $1"
	else
		failed=$((failed + 1)); echo "FAIL $1"
	fi
}

# face NAME COMMAND...: its lines, counted, each with the face in its name
face() {
	local name=$1 log=$logs/$1
	shift
	neighbours || die "no neighbours"
	"$@" 2>&1 | tee "$log" | sed -u -E "s/^(ok|FAIL) /\1 $name: /; /^[0-9]+ passed/d"
	passed=$((passed + $(grep -c '^ok ' "$log")))
	failed=$((failed + $(grep -c '^FAIL ' "$log")))
	verdict "the $name face came to its end" grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$log"
}

in_kernel() {
	insmod "$modules/tests/scenario/kdapl_scenario.ko" || return
	echo "${only:-all}" | tee $debug/run > /dev/null 2>&1
	cat $debug/result
	rmmod kdapl_scenario
}

in_user() { "$shim/tests/udat_scenario" ${only:+"$only"}; }

# While the link is cut nobody answers for an address, and none may be forgotten: only
# packets of RDMA are to be missed. A scenario that wants an address to be missed takes
# it away, and gives it back.
neighbours() {
	ip neigh replace 10.9.0.2 dev ve0 nud permanent lladdr "$(< /sys/class/net/ve1/address)" &&
		ip neigh replace 10.9.0.1 dev ve1 nud permanent lladdr "$(< /sys/class/net/ve0/address)"
}

names() { grep -oP '^(ok|FAIL) \K.*(?= \(\d+ ms\)$)' "$logs/$1"; }
same_names() { diff <(names kernel) <(names user) >&2; }
nothing_left() { [ "$(cat $objects)" = 'space kernel: objects 0' ]; }

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts || die "no RDMA devices"
modprobe -a ib_core rdma_cm irq_poll sch_netem 2> /dev/null
insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"

face kernel in_kernel
face user in_user
verdict "both faces ran the same scenarios" same_names
verdict "no object is left" wait_for 30 nothing_left
verdict "kdapl unloads" rmmod kdapl

two_hosts_down
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
