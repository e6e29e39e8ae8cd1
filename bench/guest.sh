# Sourced by the guest scripts of the benchmarks: devices, modules, commands; figures of
# several runs; applications, of which two processes are the ends. The programs of these are
# found in $shim and $programs, two folders that the script has.
# shellcheck shell=bash disable=SC2154
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/guest/lib.sh
. "$here/../scripts/guest/lib.sh"

bench=/sys/kernel/debug/kdapl-bench
# shellcheck disable=SC2034 # for those who source this
pingpong=/sys/kernel/debug/kdat-pingpong

dir=$(mktemp -d)
turns=${KDAPL_BENCH_TURNS:-500}
messages=${KDAPL_BENCH_STREAM:-300}
connections=${KDAPL_BENCH_CONNS:-30}
ends=${KDAPL_BENCH_ENDS:-80}

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

# --- figures of several runs ----------------------------------------------------------

# figure WHAT COMMAND...: goes to the others of that kind. It is tried again, since the tools
# of others fail at times: ib_send_lat crashes where it cannot connect on a busy machine.
figure() {
	local value i
	for i in 1 2 3; do
		if value=$("${@:2}") && [ -n "$value" ]; then
			echo "$value" >> "$dir/$1"
			return
		fi
		echo "-- no figure at try $i of 3: ${*:2}" >&2
		tail -n 3 "$dir/server" "$dir/client" >&2 2> /dev/null
	done
}

# show WHAT LABEL UNIT SCALE
show() {
	touch "$dir/$1"
	row "${@:2}" < "$dir/$1"
}

# tell NAME WHAT: the median, the smallest and the largest, for bench/judge
tell() {
	row '' '' 1 < "$dir/$2" | tr -d '(),' |
		awk -v name="$1" '$1 != "no" { print name, $1, $2, $3 }'
}

# --- applications ---------------------------------------------------------------------

patience=60	# s, that one run may take

# listening PORT SERVER: it is ready, or has ended
listening() {
	rdma resource show cm_id 2> /dev/null | grep -qE "LISTEN.*:$1( |$)" ||
		! kill -0 "$2" 2> /dev/null
}

# against SERVER CLIENT: the client's output. PORT in the two is a free one. A server that
# goes on is ended.
against() {
	local rc port=$((19000 + RANDOM % 10000))
	timeout $patience bash -c "${1//PORT/$port}" > "$dir/server" 2>&1 & local server=$!
	wait_for $patience listening $port $server || return
	timeout $patience bash -c "${2//PORT/$port}" 2> "$dir/client"; rc=$?
	kill $server 2> /dev/null
	wait $server 2> /dev/null
	return $rc
}

# dat_turn MODE OPTION: a round trip, us
dat_turn() {
	local program="KDAPL_MODE=$1 $shim/dat-pingpong -q -t 4000 -p PORT $2"
	against "$program -s -i rxe1-1 --connections 1" \
		"$program -c 10.9.0.2 -i rxe0-1 -m send --sizes 64 -n $turns" |
		awk '$1 == "send" && $NF == "pass" { print $5 }'
}

# It says half a round trip.
verbs_turn() {
	local program="ib_send_lat -R -F -s 64 -n $turns -p PORT $1"
	against "$program -d rxe1" "$program -d rxe0 --source_ip 10.9.0.1 10.9.0.2" |
		awk '$1 == 64 { print 2 * $5 }'
}

# dat_times MODE WHAT NUMBER
dat_times() {
	against "KDAPL_MODE=$1 $programs/user-times $2 rxe1-1 PORT $3" \
		"KDAPL_MODE=$1 $programs/user-times $2 rxe0-1 PORT $3 10.9.0.2"
}

dat_stream() { dat_times "$1" stream "$messages" | value kib_per_second; }

# It says MiB.
verbs_stream() {
	local program="ib_send_bw -R -F -s 65536 -n $messages -p PORT"
	against "$program -d rxe1" "$program -d rxe0 --source_ip 10.9.0.1 10.9.0.2" |
		awk '$1 == 65536 { print 1024 * $4 }'
}

dat_ends() { dat_times "$1" ends "$ends" | value longest_us; }

dat_connections() { dat_times "$1" connections "$connections" | value per_second_x10; }

# It says for each of its steps how many ms that took with all connections.
verbs_connections() {
	against "cmtime -b 10.9.0.2 -p PORT" \
		"cmtime -b 10.9.0.1 -s 10.9.0.2 -p PORT -c $connections" |
		awk -F ': *' -v n="$connections" '
			$2 ~ /^[0-9]/ { ms += $2 + 0 }
			END { if (ms) print 10000 * n / ms }'
}
