#!/bin/bash
# The differential test in the virtual machine, between two Soft-RoCE devices: programs of calls
# in passthrough, forwarded, and by a kernel consumer (tests/diff); then that no object is left
# and the module unloads.
# usage: diff.sh [--dat2] MODULES SHIM [OPTION of udat_diff...]
#   --dat2  the applications use DAT 2.0, and the programs have its extensions
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

program=udat_diff
if [ "$1" = --dat2 ]; then program=udat2_diff; shift; fi
modules=$1 shim=$2
shift 2

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts rxe || die "no RDMA devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null
insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
insmod "$modules/tests/diff/kdapl_diff.ko" || die "kdapl_diff.ko does not load; see dmesg"
log=$(mktemp)
"$shim/tests/$program" "$@" | tee "$log"
status=${PIPESTATUS[0]}
read -r passed _ failed _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log")
[ "$status" -le 1 ] || { failed=$((failed + 1)); echo "FAIL $program ended badly"; }
rmmod kdapl_diff
verdict "I19 no object is left" wait_for 120 nothing_left
verdict "A10 kdapl unloads" unload_kdapl
two_hosts_down rxe
result
