#!/bin/bash
# The small samples and the ways of dat-pingpong, in the virtual machine, between two Soft-RoCE
# devices, each in both modes of applications: what they print is what they are there to show.
# After that no object is left and the module unloads.
# usage: samples.sh MODULES SHIM
#   MODULES   folder that scripts/build-modules made
#   SHIM      folder that the shim's Makefile made
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"
# shellcheck source=tests/guest/pingpong.sh
. "$(dirname "$(readlink -f "$0")")/pingpong.sh"

modules=$1 shim=$2 samples=$2/samples
many=3000

waiting() { grep -q waiting /tmp/server; }

# against SERVER... -- CLIENT...: both end well. What the server prints is in /tmp/server, what
# the client does in /tmp/client.  Input of the server's never comes, and never ends.
against() {
	local command=() server rc
	while [ "$1" != -- ]; do command+=("$1"); shift; done
	shift
	"${command[@]}" <&8 > /tmp/server 2>&1 & server=$!
	if wait_for 60 waiting; then
		timeout 600 "$@" > /tmp/client 2>&1
		rc=$?
	fi
	# A server that waits for the end of a connection of which it has not heard would wait on.
	if [ "${rc-1}" -ne 0 ] || ! wait_for 120 is_over $server; then kill $server; fi
	wait $server && [ "$rc" -eq 0 ] && return
	cat /tmp/server /tmp/client >&2
	return 1
}

hello() {
	against "$samples/dat-hello" rxe1-1 -- "$samples/dat-hello" rxe0-1 10.9.0.2 "Hello, world" &&
		[ "$(cat /tmp/client)" = "HELLO, WORLD" ]
}

# fails_unwritten CLIENT...: it cannot write what it prints, and its status says so
fails_unwritten() {
	"$@" > /dev/full
	[ $? -eq 1 ]
}

unwritten_answers() {
	export -f fails_unwritten
	against "$samples/dat-hello" rxe1-1 -- \
		bash -c 'fails_unwritten "$@"' - "$samples/dat-hello" rxe0-1 10.9.0.2 &&
		grep -q 'No space left' /tmp/client &&
	against "$samples/dat-many" rxe1-1 -- \
		bash -c 'fails_unwritten "$@"' - "$samples/dat-many" rxe0-1 10.9.0.2 3 &&
		grep -q 'No space left' /tmp/client
}

lines() { for i in $(seq 20); do echo "line $i"; done; }
poll() {
	lines > /tmp/lines
	against "$samples/dat-poll" rxe1-1 -- \
		sh -c "exec $samples/dat-poll rxe0-1 10.9.0.2 < /tmp/lines" &&
		grep -v waiting /tmp/server | diff /tmp/lines - >&2
}

thousands() {
	against "$samples/dat-many" rxe1-1 -- "$samples/dat-many" rxe0-1 10.9.0.2 $many 3 &&
		grep -qx "$many connections, $((3 * many)) messages there and back" /tmp/client
}

at_once() {
	local n clients=()
	for n in 1 2 3 4 5; do
		"$samples/dat-hello" rxe0-1 10.9.0.2 "client $n" > "/tmp/answer.$n" & clients+=($!)
	done
	wait "${clients[@]}"
	cat /tmp/answer.*
}

shared() {
	export -f at_once && export samples
	against "$samples/dat-srq" rxe1-1 5 -- bash -c at_once &&
		diff <(seq -f 'CLIENT %g' 5) /tmp/client >&2 &&
		grep -qx '5 clients, 16 buffers' /tmp/server
}

two_hosts rxe || die "no RDMA devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll 2> /dev/null
# Hosts that are busy answer late, above all to thousands of first messages.
insmod "$modules/kdapl.ko" ack_timeout=20 || die "kdapl.ko does not load; see dmesg"
ulimit -l unlimited
mkfifo /tmp/silence && exec 8<> /tmp/silence
for mode in passthrough forwarded; do
	export KDAPL_MODE=$mode
	verdict "dat-hello: a message and its answer, $mode" hello
	verdict "dat-poll: lines, and poll(2), $mode" poll
	verdict "dat-many: $many connections in one thread, $mode" thousands
	verdict "dat-srq: five clients at once, and a receive for whoever speaks, $mode" shared
	pingpong_ways $mode
done
pingpong_ends
verdict "dat-hello, dat-many: output that cannot be written is an error" unwritten_answers
verdict "I19 no object is left" wait_for 180 nothing_left
verdict "A10 kdapl unloads" unload_kdapl
verdict "dat-pingpong: no module, and how to get it" pingpong_lonely
verdict "... with a dat.conf" lonely_by_file
verdict "... and not where something else is missing" no_module_no_matter
two_hosts_down rxe
result
