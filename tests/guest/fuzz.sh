#!/bin/bash
# The fuzzer of /dev/kdapl (tests/fuzz), in the virtual machine, between two RDMA devices;
# at its end no object is left, and the module unloads.  scripts/fuzz calls it.
# usage: fuzz.sh MODULES SHIM [OPTION of udat_fuzz...]
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

modules=$1 shim=$2
shift 2

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts rxe || die "no RDMA devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null
insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"

# Leaks are looked for at the end of the machine; meanwhile that would take a processor.
leaks=/sys/kernel/debug/kmemleak
[ ! -e $leaks ] || echo scan=off > $leaks

# Its output goes through a file: a process that hangs in the kernel would hold a pipe open.
log=$(mktemp)
"$shim/tests/udat_fuzz" "$@" > "$log" 2>&1 &
tail --pid=$! -s 0.2 -n +1 -f "$log" | sed -u -E '/^[0-9]+ passed, /d'
passed=$(grep -c '^ok ' "$log") failed=$(grep -c '^FAIL ' "$log")
verdict "the fuzzer came to its end" grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$log"
verdict "I19 no object is left" wait_for 60 nothing_left
if nothing_left; then
	verdict "A10 kdapl unloads" unload_kdapl
	two_hosts_down rxe
else
	# What is left holds the devices, and taking these away would wait for it.
	verdict "A10 kdapl unloads" false
fi
result
