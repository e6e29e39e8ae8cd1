#!/bin/bash
# Ends of different modes, in the virtual machine, between two Soft-RoCE devices: an
# application in passthrough against one whose posts go through the kernel, against a kernel
# consumer, and against a peer that is no DAT consumer (rdma_cm and verbs alone), in both
# directions, 1 byte to 1 MiB, every byte verified; then the rules of connections and
# transfers with one side in each mode. After that no object is left and the module unloads.
# usage: mixed.sh MODULES SHIM
#   MODULES   folder that scripts/build-modules made
#   SHIM      folder that the shim's Makefile made
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

modules=$1 shim=$2
sizes=1,64,4096,65536,1048576
turns=10
games=15		# that a client plays: three modes, five sizes
pingpong=/sys/kernel/debug/kdat-pingpong
# What the scenarios are about that a mixed connection runs.
texts='send and receive, 0 to 1 MiB|RDMA write and read|private data both ways'
texts+='|the consumer rejects|graceful waits|disconnect again, and posts after the end'
texts+='|nothing but receives: flushed|what reset keeps|EVDs and PZ are in use'
texts+='|window: each right|window: bound and unbound|the remote rights asked for'
texts+='|SRQ many endpoints on one|SRQ low watermark|SRQ serves others when one ends'

# played LOG: a line of each game, each passed
played() {
	[ "$(grep -cE '^(send|write|read) .* pass$' "$1")" -eq $games ] && return
	cat "$1" >&2
	return 1
}

server_up() { grep -q listening /tmp/server; }

# between CLIENT SERVER: two applications in these modes
between() {
	local server rc
	KDAPL_MODE=$2 "$shim/dat-pingpong" -s -i rxe1-1 -q --connections $games \
		> /tmp/server 2>&1 & server=$!
	wait_for 60 server_up || { cat /tmp/server >&2; return 1; }
	KDAPL_MODE=$1 "$shim/dat-pingpong" -i rxe0-1 -c 10.9.0.2 -v -q -n $turns \
		--sizes $sizes > /tmp/client 2>&1
	rc=$?
	[ $rc -eq 0 ] || { cat /tmp/client >&2; kill $server; }
	wait $server && [ $rc -eq 0 ] && played /tmp/client
}

insmod_pingpong() {
	insmod "$modules/samples/kdat-pingpong/kdat-pingpong.ko" "$@" sizes=$sizes \
		iterations=$turns
}

# The application asks the kernel consumer, which is the server.
to_kernel() {
	local rc
	insmod_pingpong role=server ia=rxe1-1 || return
	KDAPL_MODE=passthrough "$shim/dat-pingpong" -i rxe0-1 -c 10.9.0.2 -v -q -n $turns \
		--sizes $sizes > /tmp/client 2>&1
	rc=$?
	rmmod kdat_pingpong
	[ $rc -eq 0 ] && played /tmp/client
}

# The kernel consumer asks the application.
from_kernel() {
	local server
	KDAPL_MODE=passthrough "$shim/dat-pingpong" -s -i rxe1-1 -q --connections $games \
		> /tmp/server 2>&1 & server=$!
	wait_for 60 server_up || { cat /tmp/server >&2; return 1; }
	insmod_pingpong role=client ia=rxe0-1 peer=10.9.0.2 || return
	echo 1 | tee $pingpong/run > /dev/null
	cp $pingpong/result /tmp/client
	rmmod kdat_pingpong
	[ "$(grep -c ^pass /tmp/client)" -eq $games ] || { cat /tmp/client >&2; kill $server; }
	wait $server && [ "$(grep -c ^pass /tmp/client)" -eq $games ]
}

# scenarios NAME ARGUMENTS...: each passes, and there are some
scenarios() {
	local name=$1
	shift
	"$shim/tests/udat_rules" "$@" 2>&1 | tee /tmp/rules | sed -u -E "s/^(ok|FAIL) /\1 $name: /; /^[0-9]+ passed/d"
	passed=$((passed + $(grep -c '^ok ' /tmp/rules)))
	failed=$((failed + $(grep -c '^FAIL ' /tmp/rules)))
	verdict "$name: came to the end" grep -qE '^[0-9]+ passed, [0-9]+ failed$' /tmp/rules
}

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts rxe || die "no RDMA devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll sch_netem 2> /dev/null
for nic in ve0 ve1; do
	tc qdisc add dev $nic root netem limit 10000 || die "no sch_netem"
done
echo 16 > /run/kdapl-rules-share
insmod "$modules/kdapl.ko" ack_timeout=18 || die "kdapl.ko does not load; see dmesg"

verdict "passthrough to passthrough" between passthrough passthrough
verdict "passthrough to forwarded" between passthrough forwarded
verdict "forwarded to passthrough" between forwarded passthrough
verdict "passthrough to a kernel consumer" to_kernel
verdict "a kernel consumer to passthrough" from_kernel
KDAPL_MODE=passthrough scenarios "from rdma_cm" 'from a peer that has it|a peer invalidates a key'
scenarios "passthrough to forwarded" -A passthrough -B forwarded "$texts"
scenarios "forwarded to passthrough" -A forwarded -B passthrough "$texts"

verdict "I19 no object is left" wait_for 180 nothing_left
verdict "A10 kdapl unloads" unload_kdapl
result
