#!/bin/bash
# Rounds of what wears a system out, in the virtual machine: connections are made and ended,
# messages go, processes are killed in their traffic, a device is taken away under it and comes
# back, kdapl is loaded and unloaded.  After each round a row of a table says what the system
# has; at the end, whether it has got back what the rounds had taken.  scripts/soak calls it.
# usage: soak.sh MODULES SHIM MINUTES ROUNDS CONNECTIONS KILLS REMOVALS RELOADS
#        rounds until the minutes are over, or ROUNDS if MINUTES is 0; the others of each round
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/../guest/count.sh"

modules=$1 shim=$2 minutes=$3 rounds=$4 connections=$5 kills=$6 removals=$7 reloads=$8

# The first rounds fill caches, of the kernel's allocators above all.
warm=2
# KiB that memory may have grown since, and for each connection, in bytes: an allocation of
# each that is not given back is more than that.
slack=512 each=24

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts rxe || die "no RDMA devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null

# ---- what the system has -----------------------------------------------------------

# field FILE NAME: the number behind a name
field() { awk -v name="$2" '$1 == name { print $2; found = 1 } END { if (!found) print 0 }' "$1"; }

# kmalloc: KiB in the caches of kmalloc, whoever asked for them
kmalloc() {
	awk '/^kmalloc|^dma-kmalloc/ { sum += $2 * $4 } END { print int(sum / 1024) }' /proc/slabinfo
}

# pinned: pages
pinned() {
	echo 1 > /proc/sys/vm/stat_refresh
	echo $(($(field /proc/vmstat nr_foll_pin_acquired) - $(field /proc/vmstat nr_foll_pin_released)))
}

# resources KIND: of both devices
resources() { rdma resource | grep -oP " $1 \K[0-9]+" | awk '{ sum += $1 } END { print sum + 0 }'; }

tasks() { find /proc/[0-9]*/task -mindepth 1 -maxdepth 1 2> /dev/null | wc -l; }

# settled: what is freed by RCU, and by work that nobody waits for, has gone: slab no longer
# becomes less
settled() {
	local before=$slab
	sync
	echo 3 > /proc/sys/vm/drop_caches
	slab=$(field /proc/meminfo SUnreclaim:)
	[ "$slab" -ge "$before" ]
}

columns=(available slab kmalloc percpu vmalloc pinned cm_id qp cq pd mr srq ctx fds tasks)

# measure: sets now[COLUMN]; memory in KiB
declare -A now first
measure() {
	local kind slab tries=0
	slab=$(field /proc/meminfo SUnreclaim:)
	until settled || [ $((tries += 1)) -ge 20 ]; do pause 0.1; done
	now[available]=$(field /proc/meminfo MemAvailable:)
	now[slab]=$slab
	now[kmalloc]=$(kmalloc)
	now[percpu]=$(field /proc/meminfo Percpu:)
	now[vmalloc]=$(field /proc/meminfo VmallocUsed:)
	now[pinned]=$(pinned)
	for kind in cm_id qp cq pd mr srq ctx; do
		now[$kind]=$(resources $kind)
	done
	now[fds]=$(cut -f1 /proc/sys/fs/file-nr)
	now[tasks]=$(tasks)
}

# row VALUE...: the round, what was done so far, what there is now
row() {
	local column
	printf '%5s %7s %6s %7s %6s %7s %7s %6s' "$@"
	for column in "${columns[@]}"; do printf ' %9s' "${now[$column]}"; done
	echo
}

heading() {
	printf '%5s %7s %6s %7s %6s %7s %7s %6s' round connect shared message killed removed \
		reloads seconds
	printf ' %9s' "${columns[@]}"
	echo
}

# ---- what is done to it ------------------------------------------------------------

all_connections=0 all_shared=0 all_messages=0 all_killed=0 all_removed=0 all_reloads=0 bad=0

# went_wrong WHAT: a failure of the round
went_wrong() {
	bad=$((bad + 1))
	echo "FAIL round $round: $*"
}

# traffic CONNECTIONS KILLS
traffic() {
	local got
	got=$("$shim/tests/udat_soak" "$1" "$2") || went_wrong "udat_soak $1 $2: $got"
	# shellcheck disable=SC2086 # four numbers
	set -- $got
	all_connections=$((all_connections + ${1-0})) all_shared=$((all_shared + ${2-0}))
	all_messages=$((all_messages + ${3-0})) all_killed=$((all_killed + ${4-0}))
}

# removal MODE KIND: the device goes while a process has traffic on it, of that kind of
# udat_soak's, and comes back
removal() {
	local log pid killer status=0
	log=$(mktemp)
	KDAPL_MODE=$1 "$shim/tests/udat_soak" "$2" > "$log" 2>&1 & pid=$!
	wait_for 120 grep -q traffic "$log" || status=1
	# In passthrough the driver may wait until the process ends.
	{ wait_for 60 test ! -e /sys/class/infiniband/rxe1; kill -9 $pid; } 2> /dev/null &
	killer=$!
	timeout 120 rdma link delete rxe1 || status=1
	wait $pid $killer 2> /dev/null
	rdma link add rxe1 type rxe netdev ve1 && wait_for 60 rxe_usable rxe1 10.9.0.2 || status=1
	[ $status -eq 0 ] || went_wrong "removal, $1, $2: $(tail -3 "$log")"
	rm -f "$log"
	all_removed=$((all_removed + 1))
}

load() { insmod "$modules/kdapl.ko" || went_wrong "kdapl does not load"; }

unload() {
	{ wait_for 60 nothing_left && unload_kdapl; } || went_wrong "kdapl does not unload"
	all_reloads=$((all_reloads + 1))
}

one_round() {
	local n modes=(forwarded passthrough) kinds=(hold hold-shared)
	load
	traffic "$connections" "$kills"
	for ((n = 0; n < removals; n++)); do
		removal "${modes[n % 2]}" "${kinds[(n + 1) / 2 % 2]}"
	done
	unload
	for ((n = 1; n < reloads; n++)); do
		load
		traffic 2 0
		unload
	done
}

heading
measure
row 0 0 0 0 0 0 0 0
end=$((minutes * 60))
for ((round = 1; round <= rounds || SECONDS < end || (!rounds && round <= warm + 1); round++)); do
	began=$SECONDS
	one_round
	measure
	row "$round" "$all_connections" "$all_shared" "$all_messages" "$all_killed" \
		"$all_removed" "$all_reloads" $((SECONDS - began))
	if [ "$round" -eq $warm ]; then
		for column in "${columns[@]}"; do first[$column]=${now[$column]}; done
		before=$all_connections
	fi
	# Nothing good comes after that.
	[ $bad -eq 0 ] || [ "$round" -le $warm ] || break
done

# ---- the verdict -------------------------------------------------------------------

# same COLUMN: as many as behind the first rounds
same() { [ "${now[$1]}" -eq "${first[$1]}" ]; }

# grown COLUMN: KiB since then
grown() { echo $((now[$1] - first[$1])); }

allowed=$((slack + (all_connections - before) * each / 1024))
echo "since round $warm: $((all_connections - before)) connections;" \
	"of memory $allowed KiB are allowed: slab $(grown slab), kmalloc $(grown kmalloc)," \
	"percpu $(grown percpu), vmalloc $(grown vmalloc), available $(grown available)"
verdict "each round came to its end" [ $bad -eq 0 ]
verdict "I19 no pinned page is left" same pinned
for column in cm_id qp cq pd mr srq ctx; do
	verdict "I19 no $column is left" same "$column"
done
# The kernel counts open files by processor, and adds 32 at a time to what it shows, or takes
# them away: each of the two readings may be so much beside the truth.
verdict "no descriptors are left" [ "$(grown fds)" -le $((2 * 32 * $(nproc))) ]
# Of those that the system has some come and go by themselves.
verdict "no tasks are left" [ "$(grown tasks)" -le 16 ]
for column in slab kmalloc percpu vmalloc; do
	verdict "memory comes back: $column" [ "$(grown $column)" -le $allowed ]
done

two_hosts_down rxe
result
