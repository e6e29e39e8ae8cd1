#!/bin/bash
# Peers of all kinds, each with each, between two Soft-RoCE devices: a kernel consumer, applications
# of DAT 2.0 in both modes, one over OpenFabrics' library and provider, and a program that speaks no
# DAT.  A client is rejected, with private data, and connects twice; data goes both ways, and each
# side disconnects once (tests/peers).  And 400 opens and closes with 50 descriptors.  After that no
# object is left and the module unloads.
# usage: peers.sh [--brief] [--only TEXT] MODULES SHIM [STOCK]
#   --brief   each kind against one other each way, instead of against all
#   --only    only what has TEXT in its name
#   MODULES   folder that scripts/build-modules made
#   SHIM      folder that the shim's Makefile made
#   STOCK     folder into which the package libdapl2 is unpacked (scripts/dapl2)
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

only='' brief=
[ "${1-}" != --brief ] || { brief=1; shift; }
[ "${1-}" != --only ] || { only=$2; shift 2; }
modules=$1 shim=$2 stock=${3-}
kinds=(kernel forwarded passthrough cm)
[ -z "$stock" ] || kinds+=(openfabrics)
export LD_BIND_NOW=1 DAT_DEBUG=1
outcome=/sys/module/kdapl_peer/parameters/result

# peer KIND END [ADDRESS]: a client, or a server; END is 0 or 1
peer() {
	local program=$shim/tests/peer
	case $1 in
	kernel) in_kernel "rxe$2-1" "${3-}";;
	forwarded|passthrough)
		KDAPL_MODE=$1 LD_LIBRARY_PATH=$shim "$program" -k "rxe$2-1" "${@:3}";;
	openfabrics)
		DAT_OVERRIDE=/tmp/ofa.conf LD_LIBRARY_PATH=/tmp/stock "$program" "ofa$2" "${@:3}";;
	cm) "$shim/tests/cm_peer" "10.9.0.$(($2 + 1))" "${@:3}";;
	esac
}

has_result() { [ "$(cat $outcome)" != 0 ]; }

in_kernel() {
	local is
	insmod "$modules/tests/peers/kdapl_peer.ko" "ia=$1" ${2:+"address=$2"} || return
	wait_for 240 has_result
	is=$(cat $outcome)
	rmmod kdapl_peer && [ "$is" = 1 ]
}

listens() { rdma resource show cm_id 2> /dev/null | grep -q 'LISTEN.*:7500 *'; }

# pair CLIENT SERVER
pair() {
	local pid rc=1
	peer "$2" 1 > /tmp/server 2>&1 & pid=$!
	if wait_for 60 listens; then
		peer "$1" 0 10.9.0.2 > /tmp/client 2>&1
		rc=$?
	fi
	if ! wait_for 60 is_over $pid; then pkill -P $pid; rc=1; fi
	wait $pid && [ $rc -eq 0 ] && return
	tail -n 12 /tmp/server /tmp/client >&2
	dmesg | grep 'kdapl_peer' | tail -n 5 >&2
	return 1
}

# opens MODE LIBRARIES
opens() {
	KDAPL_MODE=$1 LD_LIBRARY_PATH=$2 DAT_OVERRIDE=/tmp/kdapl.conf \
		timeout 300 "$shim/tests/peer" -n rxe0-1
}

# is NAME COMMAND...: a verdict, if its name is asked for
is() { [[ "$1" != *"$only"* ]] || verdict "$@"; }

mkdir -p /tmp/stock
[ -z "$stock" ] || for lib in libdat2 libdaplofa; do
	ln -sf "$stock/usr/lib/x86_64-linux-gnu/$lib.so.2.0.0" /tmp/stock/$lib.so.2
done
for end in 0 1; do
	echo "ofa$end u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"10.9.0.$((end + 1)) 0\" \"\""
done > /tmp/ofa.conf
echo "rxe0-1 u2.0 nonthreadsafe default $shim/libdaplkdapl.so.2 kdapl.2.0 \"\" \"\"" > /tmp/kdapl.conf
two_hosts rxe || die "no devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll
insmod "$modules/kdapl.ko" || die "no module"
for ((i = 0; i < ${#kinds[@]}; i++)); do
	for ((k = 0; k < ${#kinds[@]}; k++)); do
		client=${kinds[i]} server=${kinds[k]}
		# A module is loaded once; the rules have kernel consumers on both sides.
		[ "$client$server" != kernelkernel ] || continue
		[ -z "$brief" ] || [ $k -eq $(((i + 2) % ${#kinds[@]})) ] || continue
		is "RULING 65 from $client to $server" pair "$client" "$server"
	done
done
for mode in passthrough forwarded; do
	is "opens and closes, $mode" opens $mode "$shim"
	[ -z "$stock" ] || is "opens and closes, stock library, $mode" opens $mode /tmp/stock
done
verdict "no object is left" wait_for 60 nothing_left
verdict "kdapl unloads" unload_kdapl
result
