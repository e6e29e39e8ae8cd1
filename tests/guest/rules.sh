#!/bin/bash
# The suite of rules between two RDMA devices, in the virtual machine: tests/rules as a
# module on kDAT and as a program on the library, the same scenarios in both and those
# of one face; the removal of a device; and without TEXT what hostile processes do, and
# those that are killed.  After each that no object is left and the module unloads.
# usage: rules.sh [--mode MODE] [--face FACE] [--disorder FACE] [--own FACE] [--brief] [--windows]
#                 [--dat2] [--iwarp [--few]] [--trace] [--no-programs] [--program NAME]
#                 MODULES SHIM [TEXT]
#   --mode      of the applications: "forwarded" (unless given), "passthrough", or "mixed":
#               side a in passthrough, side b forwarded
#   --face      only the face "kernel" or "user", or the "programs" or the "removal" of a
#               device that come after them; with "user" the programs come, too, and with
#               either face the removal under its traffic
#   --disorder  the packets of the face "kernel" or "user" may overtake each other
#   --own       of the face "kernel" or "user" only the scenarios that the other has not
#   --brief     fewer rounds of what is done many times
#   --windows   in passthrough RMRs are memory windows of Soft-RoCE, which admit too much;
#               without TEXT what they can do
#   --dat2      the applications use DAT 2.0
#   --iwarp     between iWARP devices, in the debug kernel, without what iWARP does not have
#   --few       only some scenarios of each kind
#   --trace     after each failure of a scenario the last events that kdapl has traced
#   --no-programs  without them
#   --program   of the programs only this one, and of its cases those with TEXT in their name
#   MODULES     folder that scripts/build-modules made
#   SHIM        folder that the shim's Makefile made
#   TEXT        only scenarios with TEXT in their name; TEXT|TEXT...: with one of them
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

# --few: on iWARP, in emulation, and in the debug kernel there, most things take several times as
# long.  These are one or two scenarios for each part of the interface, and (the last ones) what is
# different on iWARP.
some=(
	'private data both ways' 'the consumer rejects' 'C8 P11 nobody listens'
	'a RSP, its one request accepted' 'a PSP is freed over its requests'
	'send and receive, 0 to 1 MiB' 'RDMA write and read' 'data before the message'
	'transfers of length 0' 'unsignalled and solicited'
	'nothing but receives: flushed' 'disconnect again, and posts after the end'
	'what reset keeps' 'Reserved, passive, tentative: refused' 'EVDs and PZ are in use'
	'the remote rights asked for' 'remote access ends its connection'
	'window: each right' 'window: bound and unbound'
	'SRQ many endpoints on one' 'SRQ low watermark' 'SRQ serves others when one ends'
	'iWARP:'
)

# ... and, but on iWARP, what is done in part or not at all in the debug kernel.
whole=(
	'an address of a VLAN' 'more messages than a completion queue holds'
	'fifty thousand DTOs on one EP' 'a thousand adapters of one process'
)

# --windows: what Soft-RoCE's windows do.  A bind behind a send that has no receive and is
# to succeed is not among it: the driver does it too early, and once more when it repeats the
# send, and then the queue hangs.
windowed=(
	'RMR: created' 'bind: arguments' 'bind: EP, RMR' 'the local one' 'window: each right'
	'window: 600 binds' 'each completion flag' 'tells the context' 'without request EVD'
	'refused while a window' 'a Disconnected EP' 'other EPs of its PZ' 'while a peer writes'
	'LMRs of other kinds' 'binds of one RMR' 'bind outstanding: flushed'
	'bind outstanding: its EP' 'bind outstanding: the connection' 'closed with binds'
)
# ... and what shows that it is they, because their bounds are not what DAT wants.
too_wide='window: bound and unbound'

disorder='' own='' brief=false windows=false few=false trace=false kind=rxe face=''
with_programs=true
mode=forwarded alone='' rules=udat_rules
while :; do
	case ${1-} in
	--mode) mode=$2; shift;;
	--face) face=$2; shift;;
	--disorder) disorder=$2; shift;;
	--own) own=$2; shift;;
	--brief) brief=true;;
	--windows) windows=true;;
	--dat2) rules=udat2_rules;;
	--iwarp) kind=siw;;
	--few) few=true;;
	--trace) trace=true;;
	--no-programs) with_programs=false;;
	--program) alone=$2 face=programs; shift;;
	*) break;;
	esac
	shift
done
modules=$1 shim=$2 only=${3-}
# Is there to come what comes after the scenarios?
after=true
if [ -n "$only" ] || $windows; then after=false; fi
[ -z "$alone" ] || after=true
[ $kind = siw ] || some+=("${whole[@]}")
! $few || only=$(IFS='|'; echo "${some[*]}")
! $windows || only=${only:-$(IFS='|'; echo "${windowed[*]}")}
debug=/sys/kernel/debug/kdapl_rules
logs=$(mktemp -d)

still_used() { ! rmmod kdapl 2> /dev/null; }

# Whoever ran has left nothing.
unload() {
	verdict "I19 no object is left ($1)" wait_for 180 nothing_left
	verdict "A10 kdapl unloads ($1)" unload_kdapl
}

# counted NAME LOG: the lines of a suite in its log; its last line says that it ended
counted() {
	passed=$((passed + $(grep -cE '^(ok|pass) ' "$2")))
	failed=$((failed + $(grep -c '^FAIL ' "$2")))
	verdict "the $1 came to its end" grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$2"
}

tracing=/sys/kernel/tracing

# traced: copies lines, and inserts after each failure what was traced since the verdict before
traced() {
	local line
	if ! $trace; then
		cat
		return
	fi
	echo 1 > $tracing/events/kdapl/enable
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in FAIL*) sed -E '/^#/d; s/^/      /' $tracing/trace | tail -n 40;; esac
		case $line in ok*|FAIL*) : > $tracing/trace;; esac
	done
	echo 0 > $tracing/events/kdapl/enable
}

# face NAME COMMAND...: its lines, each with the face in its name
face() {
	local name=$1 log=$logs/$1
	shift
	neighbours || die "no neighbours"
	[ "$disorder" != "$name" ] || in_order 0
	# A disconnect that gets lost is repeated after 4.3 s: requests to a peer that has
	# gone are given up later than that, after 7 times 1.1 s, or the peer would seem dead.
	insmod "$modules/kdapl.ko" ack_timeout=18 || die "kdapl.ko does not load; see dmesg"
	"$@" 2>&1 | traced | tee "$log" | sed -u -E "s/^(ok|FAIL) /\1 $name: /; /^[0-9]+ passed/d"
	counted "$name face" "$log"
	unload "$name face"
	in_order 1
}

# wanted FACE: which of its scenarios
wanted() {
	if [ "$own" = "$1" ]; then echo own; else echo "$only"; fi
}

insmod_rules() {
	insmod "$modules/tests/rules/kdapl_rules.ko" ia_a=${kind}0-1 ia_b=${kind}1-1 \
		loopback="$modules/tests/rules/kdapl_loopback.ko"
}

# The lines come out while the scenarios run.
in_kernel() {
	local run shown=0 more=true lines
	insmod_rules || return
	lines=$(wanted kernel)
	echo "${lines:-all}" | tee $debug/run > /dev/null 2>&1 & run=$!
	while $more; do
		if is_over $run; then more=false; else pause 1; fi
		mapfile -t -s $shown lines < $debug/result
		[ ${#lines[@]} -eq 0 ] || printf '%s\n' "${lines[@]}"
		shown=$((shown + ${#lines[@]}))
	done
	rmmod kdapl_rules
}

# The two sides of the suite have their modes; whoever has one IA, or says nothing, that of b.
modes=()
case $mode in
forwarded|passthrough) export KDAPL_MODE=$mode;;
mixed) export KDAPL_MODE=forwarded; modes=(-A passthrough -B forwarded);;
*) die "no mode: $mode";;
esac

preload=()
! $windows || preload=(env "LD_PRELOAD=$shim/tests/windows.so")

rules_user() {
	"${preload[@]}" "$shim/tests/$rules" -a ${kind}0-1 -b ${kind}1-1 \
		"${modes[@]}" "$1"
}

in_user() {
	if $windows; then
		if [ "$(rules_user "$too_wide" | grep -c '^FAIL ')" -gt 0 ]; then
			echo "ok RMRs are windows of Soft-RoCE, whose bounds do not hold"
		else
			echo "FAIL RMRs are windows of Soft-RoCE, whose bounds do not hold"
		fi
	fi
	rules_user "$(wanted user)"
}

# runs PIECE: it is wanted
runs() { [ -z "$face" ] || [ "$face" = "$1" ]; }

# While the link is cut nobody answers for an address, and none may be forgotten: only
# packets of RDMA are to be missed. A scenario that wants an address to be missed takes
# it away, and gives it back.
neighbours() {
	ip neigh replace 10.9.0.2 dev ve0 nud permanent lladdr "$(< /sys/class/net/ve1/address)" &&
		ip neigh replace 10.9.0.1 dev ve1 nud permanent lladdr "$(< /sys/class/net/ve0/address)"
}

# each_ran FACE TEXT...: a scenario for each TEXT, or the list names what is no longer there
each_ran() {
	local log=$logs/$1 text missing=0
	shift
	for text; do
		grep -qE "^(ok|FAIL) .*$text" "$log" && continue
		echo "no scenario: $text" >&2
		missing=1
	done
	return $missing
}

# program NAME PARAMETERS COMMAND...: with those parameters of the module
program() {
	local name=$1 parameters=$2 log=$logs/$1
	shift 2
	if [ -n "$alone" ]; then
		[[ " $* " = *"/$alone "* ]] || return 0
		[ $# -gt 1 ] || set -- "$1" ${only:+"$only"}
	fi
	# shellcheck disable=SC2086 # a list of words
	insmod "$modules/kdapl.ko" $parameters || die "kdapl.ko does not load; see dmesg"
	timeout 600 "$@" 2>&1 | tee "$log" | sed -u '/^[0-9]* passed, /d'
	counted "$name" "$log"
	unload "$name"
}

removal_ready() { [ -e /run/kdapl-removal ]; }

removal_kernel() { echo removal | tee $debug/run > /dev/null 2>&1; }
removal_user() { "$shim/tests/$rules" -a ${kind}0-1 -b ${kind}1-1 "${modes[@]}" removal; }

# removal FACE: under its traffic; the device is there again at the end.  Where the driver
# cannot take contexts back the command waits for the application to close its own.
removal() {
	local run log=$logs/removal-$1
	insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
	[ "$1" = user ] || insmod_rules || die "kdapl_rules.ko does not load"
	rm -f /run/kdapl-removal
	"removal_$1" > "$log" & run=$!
	if wait_for 180 removal_ready; then
		verdict "I9 kdapl does not unload while it is used ($1)" still_used
		verdict "rdma link delete returns ($1)" timeout 180 rdma link delete ${kind}1
	else
		verdict "traffic for the removal ($1)" false
	fi
	wait $run
	if [ "$1" = kernel ]; then
		cp $debug/result "$log"
		rmmod kdapl_rules
	fi
	sed -E "s/^(ok|FAIL) /\1 $1: /; /^[0-9]+ passed/d" "$log"
	counted "removal ($1)" "$log"
	unload "device removal, $1 face"
	two_hosts $kind || die "no RDMA devices"
}

programs() {
	program abi_hostile "" "$shim/tests/abi_hostile"
	# A library that was built without verbs has none of these.
	if [ -x "$shim/tests/bind_hostile" ]; then
		program bind_hostile "" "$shim/tests/bind_hostile"
		program bind_races "" "$shim/tests/bind_races"
		# Soft-RoCE counts the time for which a message waits for a receive against
		# the time-outs (Documentation/drivers.rst).
		program bind_states "ack_timeout=18" "$shim/tests/bind_states"
		program bind_ends "ack_timeout=18" "$shim/tests/bind_ends"
		program bind_removal "" "$shim/tests/bind_ends" removal
		# User Mode Linux does not tell who traces which system call it is.
		grep -q 'User Mode Linux' /proc/cpuinfo ||
			program pass_syscalls "" "$shim/tests/pass_syscalls"
		program pass_drains "rnr_timer=31 ack_timeout=18" env KDAPL_MODE=passthrough "$shim/tests/pass_drains"
		# It tells processes of either mode apart.
		program kdaplctl "" tests/guest/ctl.py "$modules" "$shim"
	fi
	program registry "" env -u KDAPL_MODE "$shim/tests/registry"
	program registry_adapters "" env -u KDAPL_MODE "$shim/tests/registry_adapters"
	program reload "" "$shim/tests/reload" rxe0-1
	program kill9 "" "$shim/tests/kill9"
	program kill9_srq "" "$shim/tests/kill9" -q "killed in traffic"
	program closes "" "$shim/tests/closes"
	# It counts what the kernel makes for a process that has no verbs of its own.
	program charge "max_objects=40 max_user_objects=64 max_user_files=8" \
		env KDAPL_MODE=forwarded "$shim/tests/charge"
}

# Processes that are hostile, and that are killed, as far as a test needs nothing that iWARP
# has not: above all messages that wait for a receive.
processes_iwarp() {
	program bind_hostile "" "$shim/tests/bind_hostile" siw0 siw1
	program iwarp_early "" "$shim/tests/iwarp_early" siw0-1 10.9.0.1 10.9.0.2
	program kill9 "" "$shim/tests/kill9" -a siw0-1 -b siw1-1 "with a request" \
		"killed listening" "at any moment" "outlives its parent"
}

mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
two_hosts $kind || die "no RDMA devices"
# What rounds() divides by.
share=1
[ ! -e /sys/kernel/debug/kmemleak ] || share=4
! $brief || share=16
echo $share > /run/kdapl-rules-share
ln -sf "$(dirname "$(readlink -f "$0")")/addresses.sh" /run/kdapl-addresses
modprobe -a ib_core ib_uverbs rdma_cm irq_poll sch_netem 2> /dev/null
# What cuts the link is there from the beginning: while a queue is put in the place of
# another one packets are refused, and Soft-RoCE of 6.12 breaks a connection for that.
for nic in ve0 ve1; do
	tc qdisc add dev $nic root netem limit 10000 || die "no sch_netem"
done

if [ $kind = siw ]; then
	# A peer that does not answer is given up after seconds, not a quarter of an hour.
	echo 4 > /proc/sys/net/ipv4/tcp_retries2
	for name in kernel user; do
		runs $name || continue
		face $name in_$name
		! $few || verdict "each of the few has run ($name)" each_ran $name "${some[@]}"
	done
	if $after; then
		! runs user || processes_iwarp
		! runs kernel || removal kernel
		! runs user || removal user
	fi
	two_hosts_down $kind
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ] && [ $passed -gt 0 ]
	exit
fi

runs kernel && face kernel in_kernel
runs user && face user in_user
[ -n "$own$face" ] || verdict "both faces ran the same scenarios" \
	tests/guest/same-scenarios "$logs/kernel" "$logs/user"
if $after; then
	case $face in ''|user|programs) ! $with_programs || programs;; esac
	case $face in ''|user|removal) removal user;; esac
	case $face in ''|kernel|removal) removal kernel;; esac
fi

two_hosts_down rxe
result
