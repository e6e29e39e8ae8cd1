#!/bin/bash
# The programs of Debian's dapl2-utils as they are shipped, in the virtual machine between two
# Soft-RoCE devices: over OpenFabrics' libdat2.so.2 with kdapl's provider, and over kdapl's own
# libdat2.so.2, each in both modes of applications.  After that no object is left and the module
# unloads.
# usage: dat2.sh [--brief] [--only TEXT] MODULES SHIM STOCK
#   --brief   fewer of them, and with less memory
#   --only    only what has TEXT in its name
#   MODULES   folder that scripts/build-modules made
#   SHIM      folder that the shim's Makefile made
#   STOCK     folder into which the packages libdapl2 and dapl2-utils are unpacked (scripts/dapl2)
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$(dirname "$(readlink -f "$0")")/count.sh"

only='' which=all
[ "${1-}" != --brief ] || { which=few; shift; }
[ "${1-}" != --only ] || { only=$2; shift 2; }
modules=$1 shim=$2 stock=$3
server=10.9.0.2
export LD_BIND_NOW=1 DAT_OVERRIDE=/tmp/dat.conf DAT_DEBUG=1

# with PRODUCT MODE: which library programs load, and what dat.conf says
with() {
	local end
	case $1 in
	stock) LD_LIBRARY_PATH=/tmp/stock;;
	own) LD_LIBRARY_PATH=$shim;;
	esac
	export LD_LIBRARY_PATH
	for end in 0 1; do
		echo "rxe$end-1 u2.0 nonthreadsafe default $shim/libdaplkdapl.so.2 kdapl.2.0 \"mode=$2 last=tell\" \"\""
	done > $DAT_OVERRIDE
}

# A service point, or a socket by which client and server of dtest tell each other theirs
listening() {
	grep -qi '^ *psp' $objects || grep -qE 'waiting for client|waiting to snd addr' /tmp/server
}

# against SERVER... -- CLIENT...: both end well.  The client begins when the server listens.
against() {
	local command=() rc=1 pid
	while [ "$1" != -- ]; do command+=("$1"); shift; done
	shift
	stdbuf -oL "${command[@]}" > /tmp/server 2>&1 & pid=$!
	if wait_for 60 listening; then
		timeout 300 "$@" > /tmp/client 2>&1
		rc=$?
	fi
	if [ $rc -ne 0 ] || ! wait_for 60 is_over $pid; then kill $pid 2> /dev/null; rc=1; fi
	wait $pid && [ $rc -eq 0 ] && ! grep -qE 'FAILED|ERROR| Error' /tmp/client && return
	tail -n 25 /tmp/server /tmp/client >&2
	return 1
}

# pair PROGRAM [OPTION...]: PROGRAM of dapl2-utils, between both devices
pair() {
	local program=$stock/usr/bin/$1
	shift
	against "$program" -P rxe1-1 -s "$@" -- "$program" -P rxe0-1 -h $server "$@"
}

# dtestx says of each extension that it has passed, and skips those that an adapter has not.
extensions() {
	local test
	pair dtestx -b 4096 || return
	for test in RDMA_WRITE_WITH_IMMEDIATE_DATA CMP_SWAP FETCH_ADD; do
		grep -q " $test test - PASSED" /tmp/client || { cat /tmp/client >&2; return 1; }
	done
}

dapltest() {
	local program=$stock/usr/bin/dapltest
	against "$program" -T S -D rxe1-1 -- \
		sh -c "$program -T $1 -D rxe0-1 -s $server $2 && $program -T Q -D rxe0-1 -s $server"
}

# functions FEATURE: the cases of one feature, each of which says what came of it
functions() {
	timeout 300 "$stock/usr/bin/dapltest" -T F -D rxe0-1 -f "$1" > /tmp/client 2>&1
	grep -q 'Result: PASS' /tmp/client && ! grep -q 'Result: FAIL' /tmp/client && return
	tail -n 60 /tmp/client >&2
	return 1
}

limits() {
	timeout 300 "$stock/usr/bin/dapltest" -T L -D rxe0-1 -m 200 > /tmp/client 2>&1 ||
		{ tail -n 20 /tmp/client >&2; return 1; }
}

# is NAME COMMAND...: a verdict, if its name is asked for
is() {
	[[ "$1" != *"$only"* ]] || verdict "$@"
}

transactions="-t 1 -w 2 -V client SR 4096 2 server SR 4096 2 client RW 8192 1 server RR 4096 1"

# Each program once, and each mode with each library once. By itself dtest moves 4 MiB at a time, for
# which each end takes 840 MiB of memory: in a machine of 4 GiB it does that as well.
few() {
	local how="$1, $2"
	with "$1" "$2"
	is "RULING 68 dtest, $how" pair dtest -b 131072
	case $how in
	"stock, passthrough") is "dtestcm, $how" pair dtestcm -c 20 -b 10;;
	"stock, forwarded") is "dapltest P blocking, $how" dapltest P "-i 50 -m b RW 4096 2";;
	"own, passthrough")
		is "RULING 69 dtestsrq, $how" pair dtestsrq -b 4096
		is "dapltest T, $how" dapltest T "-i 20 $transactions"
		;;
	"own, forwarded") is "dtest with a CNO, $how" pair dtest -b 4096 -c;;
	esac
}

all() {
	local feature how="$1, $2"
	with "$1" "$2"
	is "RULING 68 dtest, $how" pair dtest -b 1048576
	is "dtest polling, $how" pair dtest -b 4096 -p
	is "dtest with a CNO, $how" pair dtest -b 4096 -c
	is "dtestcm, $how" pair dtestcm -c 100 -b 20
	is "RULING 69 dtestsrq, $how" pair dtestsrq -b 4096
	is "dtestx, $how" extensions
	is "dapltest T, $how" dapltest T "-i 100 $transactions"
	is "dapltest P blocking, $how" dapltest P "-i 200 -m b RW 4096 2"
	is "dapltest P polling, $how" dapltest P "-i 200 -m p RR 4096 1"
	is "dapltest L, $how" limits
	for feature in hwconn endpoint pz mem queryinfo; do
		# OpenFabrics' library follows the null pointer with which this one asks.
		[ "$1 $feature" = "stock queryinfo" ] ||
			is "dapltest F $feature, $how" functions $feature
	done
}

# A program of DAT 1.2, with the library of DAT 2.0 in the same process and in front.
both() {
	local program=(env -u LD_LIBRARY_PATH -u DAT_OVERRIDE "LD_PRELOAD=$shim/libdat2.so.2"
		       "$shim/dat-pingpong")
	against "${program[@]}" -s -i rxe1-1 -q --connections 6 -- \
		"${program[@]}" -i rxe0-1 -c $server -v -q -n 5 --sizes 1,4096
}

mkdir -p /tmp/stock
for lib in libdat2 libdaplofa libdaploscm libdaploucm; do
	ln -sf "$stock/usr/lib/x86_64-linux-gnu/$lib.so.2.0.0" /tmp/stock/$lib.so.2
done
two_hosts rxe || die "no devices"
modprobe -a ib_core ib_uverbs rdma_cm irq_poll
insmod "$modules/kdapl.ko" || die "no module"
for product in stock own; do
	for mode in passthrough forwarded; do
		$which $product $mode
	done
done
is "both libraries in one process" both
verdict "no object is left" wait_for 60 nothing_left
verdict "kdapl unloads" unload_kdapl
result
