# Sourced by samples.sh: each way of dat-pingpong(1), briefly, between rxe0-1 and rxe1-1. It
# uses $shim, $modules and verdict.
#
#   pingpong_ways MODE     what applications of a mode do with one another
#   pingpong_ends          what it says when there is no point in going on
#   pingpong_lonely, lonely_by_file   and when the module is not there
# shellcheck shell=bash disable=SC2154

# serve OPTION...: starts a server on rxe1-1, and returns when it listens. Its process is $server,
# its output in /tmp/server, where nothing is left of the server before it.
serve() {
	rm -f /tmp/server
	"$shim/dat-pingpong" -s -i rxe1-1 "$@" > /tmp/server 2>&1 & server=$!
	wait_for 60 grep -qs . /tmp/server
}

# game SERVER-OPTION... -- CLIENT-OPTION...: their output is in /tmp/server and /tmp/client,
# the status is the client's, or the server's if that is worse.
game() {
	local options=() server rc
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	serve "${options[@]}"
	"$shim/dat-pingpong" -c 10.9.0.2 -i rxe0-1 -q "$@" > /tmp/client 2>&1
	rc=$?
	[ $rc -eq 0 ] || kill "$server" 2> /dev/null
	wait "$server" && [ $rc -eq 0 ] && return
	cat /tmp/server /tmp/client >&2
	return 1
}

# says FILE LINE: it has that line; if not it is shown
says() { grep -qE "$2" "$1" || { cat "$1" >&2; return 1; }; }

# sums N...: the histograms of the client's output have so many times, one after the other
sums() {
	[ "$(awk '/^ +[0-9.]+ \.\. / { sum += $4; next }
		  $1 != "..." && sum { print sum; sum = 0 }
		  END { if (sum) print sum }' /tmp/client | xargs)" = "$*" ] ||
		{ cat /tmp/client >&2; return 1; }
}

# plots N: the picture is XML, and has as many plots
plots() {
	python3 -c '
import sys, xml.etree.ElementTree as tree
root = tree.parse("/tmp/times.svg").getroot()
found = len(root.findall("{http://www.w3.org/2000/svg}polyline"))
sys.exit(root.tag != "{http://www.w3.org/2000/svg}svg" or found != int(sys.argv[1]))' "$1"
}

listed() {
	"$shim/dat-pingpong" --list > /tmp/client &&
		says /tmp/client "^rxe0-1 +10\.9\.0\.1 +$1 +rdma_rxe$" &&
		says /tmp/client "^rxe1-1 +10\.9\.0\.2 +$1 +rdma_rxe$"
}

spread() {
	game --connections 6 -- -v -n 20 --sizes 1,4K --histogram --svg /tmp/times.svg &&
		sums 20 20 20 20 20 20 && plots 6 &&
		says /tmp/client '^6 passed, 0 failed$' &&
		says /tmp/server '^6 connections, 0 failed, 0 refused$'
}

# Whole ones: a request without a hello becomes none. dat-hello's port is 7471.
counted() {
	game --connections 5 -- --connections 5 --histogram &&
		sums 5 && says /tmp/client '^send +1 +5 .* pass$' &&
		says /tmp/server '^5 connections, 0 failed, 0 refused$'
}

stranger() {
	local server
	serve -p 7471 --connections 1
	if "$shim/samples/dat-hello" rxe0-1 10.9.0.2 "who are you" > /dev/null 2>&1 ||
	   ! "$shim/dat-pingpong" -c 10.9.0.2 -i rxe0-1 -p 7471 -q --connections 1 \
		> /tmp/client 2>&1; then
		kill "$server"
	fi
	wait "$server" && says /tmp/server '^1 connections, 0 failed, 1 refused$'
}

many_endpoints() {
	game --connections 20 -- -v -m send,write -n 10 --sizes 64 --endpoints 10 --histogram &&
		sums 100 100 && says /tmp/client '^send +64 +100 .* pass$' &&
		[ "$(grep -c '^  endpoint ' /tmp/client)" -eq 20 ] &&
		says /tmp/server '^20 connections, 0 failed, 0 refused$'
}

# The LMR has no rights for peers; only the RMR lets them in.
windows() {
	game --connections 4 -- -v --rmr -n 20 --sizes 1,64K &&
		says /tmp/client '^4 passed, 0 failed$'
}

no_windows_in_the_kernel() {
	local rc
	insmod "$modules/samples/kdat-pingpong/kdat-pingpong.ko" role=server ia=rxe1-1 || return
	"$shim/dat-pingpong" -c 10.9.0.2 -i rxe0-1 -q --rmr > /tmp/client 2>&1
	rc=$?
	rmmod kdat_pingpong
	[ $rc -eq 1 ] && says /tmp/client 'FAIL: the server has no RMRs .*leave --rmr out' &&
		says /tmp/client '^0 passed, 1 failed, 11 not tried$'
}

# Both ends, with more connections than the queue has receives of the largest size
pooled() {
	game --srq --connections 20 -- --srq -v -n 2 --sizes 64,1M --endpoints 5 -m send,write &&
		says /tmp/client '^4 passed, 0 failed$' &&
		says /tmp/server '^20 connections, 0 failed, 0 refused$'
}

pingpong_ways() {
	verdict "dat-pingpong: --list names driver and mode, $1" listed "$1"
	verdict "dat-pingpong: histogram and picture have every time, $1" spread
	verdict "dat-pingpong: --connections counts whole ones, $1" counted
	verdict "dat-pingpong: a stranger's request is no connection, $1" stranger
	verdict "dat-pingpong: 10 endpoints in turn, $1" many_endpoints
	verdict "dat-pingpong: --rmr, verified, $1" windows
	verdict "dat-pingpong: --srq on both sides, $1" pooled
}

# ---- ends --------------------------------------------------------------------

# gives_up STATUS PATTERN: the client's one FAIL says why, and nothing was tried after it
gives_up() {
	[ "$1" -eq 1 ] && [ "$(grep -c FAIL /tmp/client)" -eq 1 ] &&
		says /tmp/client "FAIL: $2" && says /tmp/client ' 1 failed, [0-9]+ not tried$'
}

nobody_there() {
	"$shim/dat-pingpong" -c 10.9.0.2 -i rxe0-1 > /tmp/client 2>&1
	gives_up $? 'nobody listens there'
}

server_killed() {
	local server client
	serve
	"$shim/dat-pingpong" -c 10.9.0.2 -i rxe0-1 -m send --sizes 64,128 -n 10000000 \
		> /tmp/client 2>&1 & client=$!
	wait_for 60 grep -qs '64 bytes: ' /tmp/client
	kill -9 "$server"
	wait $client
	gives_up $? 'the (peer disconnected|connection broke)'
}

adapter_removed() {
	local server rc
	serve
	rdma link del rxe1
	wait "$server"
	rc=$?
	two_hosts rxe
	[ $rc -eq 1 ] && says /tmp/server '^dat-pingpong: rxe1-1 is gone: '
}

wrong_name() {
	! "$shim/dat-pingpong" -s -i rxe7-1 > /tmp/client 2>&1 && [ "$(wc -l < /tmp/client)" -eq 1 ] &&
		says /tmp/client '^dat-pingpong: rxe7-1: .*: dat-pingpong --list shows the names$'
}

# One line; the second field says what is wrong with the name, and only a missing module is to be
# loaded. $1: the name, $2: the line's end.
advised() {
	! "$shim/dat-pingpong" -s -i "$1" > /tmp/client 2>&1 &&
		[ "$(wc -l < /tmp/client)" -eq 1 ] && says /tmp/client ": $2\$" &&
		! grep modprobe /tmp/client >&2
}

wrong_entries() (
	conf
	cat > /tmp/dat.conf <<-'E'
	gone u1.2 threadsafe default /nowhere/lib.so x.1.0 "" ""
	two u2.0 threadsafe default /nowhere/lib.so x.1.0 "" ""
	older u1.1 threadsafe default /nowhere/lib.so x.1.0 "" ""
	away u1.2 threadsafe default libdat.so.1 kdapl.1.0 "rxe7-1" ""
	E
	advised gone 'dat.conf has that name, but .* DAT_DEBUG=1 says which' &&
		advised away 'dat.conf has that name, but .* DAT_DEBUG=1 says which' &&
		advised two 'dat.conf has that name for another version of DAT; .* u1.2' &&
		advised older 'dat.conf has that name for another version of DAT; .* u1.2' &&
		advised '' 'dat-pingpong --list shows the names' &&
		advised "$(printf 'x%.0s' {1..300})" 'dat-pingpong --list shows the names'
)

# unwritten COMMAND...: what it prints cannot be written; it says so, and its status is 1
unwritten() {
	"$@" > /dev/full 2> /tmp/client
	[ $? -eq 1 ] && says /tmp/client 'No space left on device$'
}

# game_unwritten CLIENT-OPTION...: the same of a client, whose round trips the server has had
game_unwritten() {
	local server rc
	serve --connections 1
	unwritten "$shim/dat-pingpong" -c 10.9.0.2 -i rxe0-1 -q -n 20 -m send --sizes 1 "$@"
	rc=$?
	wait_for 60 grep -q '^1 connections, 0 failed, 0 refused$' /tmp/server || kill "$server"
	wait "$server" && [ $rc -eq 0 ]
}

nothing_is_lost_quietly() {
	unwritten "$shim/dat-pingpong" --help && unwritten "$shim/dat-pingpong" --list &&
		unwritten "$shim/kdaplctl" --help && unwritten "$shim/kdaplctl" show &&
		unwritten "$shim/kdaplctl" -n 2 -d 0.1 top && game_unwritten &&
		game_unwritten --json && game_unwritten --histogram &&
		game_unwritten --histogram --json
}

# conf: a file of an installation for DAT 2, with an entry for DAT 1 that somebody has added
conf() {
	cat > /tmp/dat.conf <<-'E'
	ofa-v2-mlx5_0-1u u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "mlx5_0 1" ""
	ofa-v2-ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""
	old-name u1.2 threadsafe default libdat.so.1 kdapl.1.0 "rxe0-1" ""
	E
	export DAT_OVERRIDE=/tmp/dat.conf
}

listed_by_file() (
	conf
	listed "$KDAPL_MODE" && says /tmp/client '^old-name +10\.9\.0\.1 ' &&
		! grep ofa-v2 /tmp/client
)

# The two names are of one adapter, so there is nothing to choose.
one_by_two_names() (
	conf
	rdma link del rxe1
	"$shim/dat-pingpong" -s > /tmp/server 2>&1 & server=$!
	wait_for 60 grep -qs . /tmp/server
	kill "$server"
	wait "$server"
	two_hosts rxe
	says /tmp/server '^listening on old-name port '
)

# Of a provider that has no memory for it, which is how the test ends. What is no ASCII is shown
# as Latin-1, whatever it is.
odd_name() (
	name=$'odd "name" \\ \e\xe4'
	printf '"odd \\"name\\" \\\\ \033\344" u1.2 threadsafe default %s loopback.1.0 "" ""\n' \
		"$shim/tests/provider/loopback.so" > /tmp/dat.conf
	export DAT_OVERRIDE=/tmp/dat.conf
	"$shim/dat-pingpong" -c 10.9.0.2 -i "$name" --json > /tmp/client 2> /tmp/server
	python3 -c '
import json, sys
told = json.load(open("/tmp/client", "rb"))
sys.exit(told["ia"] != "odd \"name\" \\ \x1b\xe4" or told["server"] != "10.9.0.2")' && return
	cat /tmp/client /tmp/server >&2
	return 1
)

pingpong_ends() {
	verdict "dat-pingpong: --list with a dat.conf, which has entries for DAT 2" listed_by_file
	verdict "dat-pingpong: one adapter with two names need not be chosen" one_by_two_names
	verdict "dat-pingpong: any name of an adapter is JSON" odd_name
	verdict "dat-pingpong: it gives up where nobody listens" nobody_there
	verdict "dat-pingpong: it gives up when the server is killed" server_killed
	verdict "dat-pingpong: a server ends with its adapter" adapter_removed
	verdict "dat-pingpong: a wrong name in one line" wrong_name
	verdict "dat-pingpong: wrong entries of dat.conf, and bad names, each with its advice" wrong_entries
	verdict "dat-pingpong, kdaplctl: output that cannot be written is an error" \
		nothing_is_lost_quietly
	verdict "dat-pingpong: --rmr of a kernel consumer is refused" no_windows_in_the_kernel
}

pingpong_lonely() {
	! "$shim/dat-pingpong" --list > /tmp/client 2>&1 && [ "$(wc -l < /tmp/client)" -eq 1 ] &&
		says /tmp/client '/dev/kdapl is missing; load the module: modprobe kdapl$'
}

# The module is not what is missing, and is named only for an entry that may be of kdapl.
no_module_no_matter() (
	conf
	! "$shim/dat-pingpong" -s -i ofa-v2-ib0 > /tmp/client 2>&1 &&
		says /tmp/client 'for another version of DAT; ' && ! grep modprobe /tmp/client >&2
)

lonely_by_file() (
	conf
	! "$shim/dat-pingpong" --list > /tmp/client 2>&1 && [ "$(wc -l < /tmp/client)" -eq 1 ] &&
		says /tmp/client '^dat-pingpong: old-name: .* /dev/kdapl is missing; load the module'
)
