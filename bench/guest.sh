# Sourced by the guest scripts of the benchmarks: devices, modules, commands.
# shellcheck shell=bash
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/guest/lib.sh
. "$here/../scripts/guest/lib.sh"

bench=/sys/kernel/debug/kdapl-bench
# shellcheck disable=SC2034 # for those who source this
pingpong=/sys/kernel/debug/kdat-pingpong

# begin MODULES
begin() {
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
	two_hosts rxe || die "no RDMA devices"
	modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null
	insmod "$1/kdapl.ko" && insmod "$1/bench/kdapl-bench.ko" && return
	die "the modules do not load; see dmesg"
}

# ask WORDS...: a command to the module, and what it says
ask() {
	echo "$*" | tee $bench/run > /dev/null || { cat $bench/result >&2; return 1; }
	cat $bench/result
}

# value NAME: from lines of NAME=VALUE words
value() { grep -oE "(^| )$1=[0-9]+" | cut -d= -f2; }

# row LABEL UNIT SCALE < figures: median (smallest, largest), each divided by SCALE
row() {
	sort -g | awk -v label="$1" -v unit="$2" -v scale="$3" '
		{ v[NR] = $1 / scale }
		END {
			if (!NR) { printf "%-34s no figures\n", label; exit }
			m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
			printf "%-34s %10.1f %-6s (%.1f, %.1f) of %d\n",
				label, m, unit, v[1], v[NR], NR
		}'
}
