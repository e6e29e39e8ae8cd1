#!/bin/bash
# Failures and races, in the virtual machine, between two RDMA devices: each allocation
# of each call fails once (tests/user/alloc_fail, where the kernel can do that); then
# tests/stress, as processes and as a module at the same time, the processes half of the
# time with queues of their own; after each that no object is left and the module unloads.
# scripts/stress calls it.
# usage: stress.sh MODULES SHIM [SECONDS [OPTION of udat_stress...]]
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

modules=$1 shim=$2 seconds=$((${3-60} / 2))
shift 2
shift $(($# > 0))

# run NAME SUMS COMMAND...: so many lines tell what it counted; nothing of it is left
run() {
	local name=$1 wanted=$2 sums=0 log p f
	shift 2
	log=$(mktemp)
	insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
	"$@" | tee "$log"
	[ "${PIPESTATUS[0]}" -le 1 ] || { failed=$((failed + 1)); echo "FAIL $name ended badly"; }
	while read -r p _ f _; do
		passed=$((passed + p)) failed=$((failed + f)) sums=$((sums + 1))
	done < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log")
	[ $sums -eq "$wanted" ] || { failed=$((failed + 1)); echo "FAIL $name: no result"; }
	verdict "I19 no object is left ($name)" wait_for 120 nothing_left
	verdict "A10 kdapl unloads ($name)" unload_kdapl
}

# races MODE [OPTION...]: the worlds of the kernel and those of the processes; the latter
# make allocations fail
races() {
	local status
	export KDAPL_MODE=$1
	shift
	insmod "$modules/tests/stress/kdapl_stress.ko" || return 2
	echo "$seconds $RANDOM" > /sys/kernel/debug/kdapl_stress/run & run=$!
	"$shim/tests/udat_stress" -s "$seconds" "$@"
	status=$?
	wait $run
	echo "in the kernel: $(cat /sys/kernel/debug/kdapl_stress/progress)"
	sed -E 's/^(ok|FAIL) /\1 kernel: /' /sys/kernel/debug/kdapl_stress/result
	rmmod kdapl_stress
	return $status
}

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts rxe || die "no RDMA devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null

if [ -e /sys/kernel/debug/failslab ]; then
	# Which allocations a call makes depends on the mode; this one leaves all to the kernel.
	run alloc_fail 1 env KDAPL_MODE=forwarded "$shim/tests/alloc_fail"
fi
for mode in passthrough forwarded; do
	run "races, $mode" 2 races $mode "$@"
done

two_hosts_down rxe
result
