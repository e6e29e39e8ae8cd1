# Sourced by the tests of this folder: what they count, and that kdapl is left by all.
#
#   verdict NAME COMMAND...   a line "ok NAME" or "FAIL NAME", which is counted
#   nothing_left              no object is there, of any process
#   unload_kdapl              once no file is open or being closed, which no object shows
#   result                    the last line of a test; false if anything failed
# shellcheck shell=bash

objects=/sys/kernel/debug/kdapl/objects
passed=0 failed=0

verdict() {
	if "${@:2}"; then
		passed=$((passed + 1)); echo "ok $1"
	else
		failed=$((failed + 1)); echo "FAIL $1"
	fi
}

nothing_left() { [ "$(cat $objects)" = 'space kernel: objects 0' ]; }

not_used() { [ "$(cat /sys/module/kdapl/refcnt)" = 0 ]; }
unload_kdapl() { wait_for 180 not_used && rmmod kdapl; }

result() {
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ] && [ $passed -gt 0 ]
}
