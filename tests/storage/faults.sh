# Sourced by cuts.sh and removal.sh after setup.sh: traffic that goes on while something is
# taken away, what is said of it then, and the faults.
#
#   keep FILE              puts data where no traffic goes, to be there to the end
#   traffic FILE           writes, reads and compares in FILE, again and again
#   through NAME FILE [SECONDS]   ends the traffic; verdicts: it did not hang, no byte was
#                          wrong, FILE works again and what was kept is still there
#   cut_wire, mend_wire    every packet is lost; or none
#   unplug END, plug END   the interface of host 0 or 1 has no carrier; or has one
#   delete_link END, add_link END   the RDMA device rxe0 or rxe1 is deleted; or made
#   hogged MIB, unhogged   only MIB of memory are left; or all is. unhogged is false if
#                          the kernel has killed the hog, so that more was left meanwhile
#   fail_in MODULE PERCENT, fail_no_more   so many allocations of a module fail; or none
#   nr_failed              how many have failed since fail_in
# shellcheck shell=bash disable=SC2154,SC2086

kept_at=320	# MiB

keep() {
	dd if=/dev/urandom of=$work/kept bs=1M count=4 status=none &&
		dd if=$work/kept of="$1" bs=1M seek=$kept_at oflag=direct conv=notrunc status=none
}

kept() {
	dd if="$1" bs=1M skip=$kept_at count=4 iflag=direct status=none | cmp - $work/kept
}

# Runs fio_once again and again until $work/stop exists; writes a line for each: right, wrong or
# error.
rounds() {
	local end
	while [ ! -e $work/stop ]; do
		if fio_once "$1" 8; then
			echo right
		elif grep -qE 'verify: bad|verify: got|Invalid or incomplete|err=84' \
			$work/fio.out $work/fio."$(basename "$1")"; then
			echo wrong
			cp $work/fio.out $work/fio.wrong
		else
			echo "error $(grep -oE 'err=[0-9]+' $work/fio.out | head -1)"
			sleep 1
		fi
	done > $work/rounds
}

under_way() { pidof fio > /dev/null; }

traffic() {
	rm -f $work/stop
	rounds "$1" & writer=$!
	wait_for 60 under_way
}

ended_in_time() {
	touch $work/stop
	wait_for "$1" is_over $writer && return
	hanging $writer
	kill -KILL $writer
	return 1
}

no_wrong_byte() {
	log "rounds: $(sort $work/rounds | uniq -c | xargs)"
	! grep -q wrong $work/rounds || { tail -5 $work/fio.wrong; return 1; }
}

through() {
	verdict "$1: no request hangs" ended_in_time "${3-400}"
	verdict "$1: data as written, or an I/O error" no_wrong_byte
	verdict "$1: it goes on" works_again "$2"
	verdict "$1: what was there before is there" within 60 kept "$2"
}

# initiator_says: the state of the initiator's sessions, and of the devices of each
initiator_says() {
	local session
	for session in /sys/class/iscsi_session/session*; do
		[ -e $session ] || continue
		echo "${session##*/}: $(cat $session/state); devices: $(cat $session/device/target*/*/state | xargs)"
	done
	[ -n "$(pidof iscsid)" ] || echo "no iscsid"
}

# After an outage a new try works at once. The limits are there for what never ends.
works_again() { wait_for 600 verified_once "$1" || { hanging; initiator_says; return 1; }; }
verified_once() { within 500 fio_once "$1" 8 > /dev/null 2>&1; }

# --- faults ---------------------------------------------------------------------------

cut_wire() {
	local end
	for end in ve0 ve1; do
		tc qdisc replace dev $end root netem loss 100% limit 10000 || die "no sch_netem"
	done
}

mend_wire() { tc qdisc del dev ve0 root; tc qdisc del dev ve1 root; }

# Takes the switch's side of the cable down, not the host's own interface: then Soft-RoCE could
# not send what the connection manager asks it to, and would from then on hear no message from
# another host (decisions.rst, facts 3).
unplug() { ip link set "sw$1" down; }
plug() { ip link set "sw$1" up; }

delete_link() { within 120 rdma link delete "$1"; }

add_link() {
	local end=${1#rxe}
	rdma link add "$1" type rxe netdev "ve$end" &&
		wait_for 120 rxe_usable "$1" "10.9.0.$((end + 1))"
}

hogged() {
	"$programs/hog" "$1" > $work/hog & hog=$!
	wait_for 600 grep -q taken $work/hog || return
	log "memory: $(cat $work/hog)"
}

unhogged() {
	local alive=true
	kill $hog 2> /dev/null || alive=false
	wait $hog 2> /dev/null
	$alive
}

# Can allocations be made to fail? Only in the debug kernel.
can_fail() { [ -d /sys/kernel/debug/failslab ] && [ -d /sys/kernel/debug/fail_page_alloc ]; }

# module_range NAME: first and last address
module_range() {
	awk -v name="$1" '$1 == name { print $2, $6 }' /proc/modules | while read -r size first; do
		printf '0x%x 0x%x\n' "$first" $((first + size))
	done
}

failures=1000000	# more than there will be; the kernel counts down

fail_in() {
	local first last rxe_first rxe_last knobs
	read -r first last <<< "$(module_range "$1")"
	# Allocations of Soft-RoCE do not fail: what it does without memory is not tested here.
	read -r rxe_first rxe_last <<< "$(module_range rdma_rxe)"
	[ -n "$last" ] && [ -n "$rxe_last" ] || return
	for knobs in /sys/kernel/debug/{failslab,fail_page_alloc}; do
		echo 0 > $knobs/verbose
		echo N > $knobs/task-filter
		echo N > $knobs/ignore-gfp-wait
		echo 1 > $knobs/interval
		echo $failures > $knobs/times
		echo 32 > $knobs/stacktrace-depth
		echo "$first" > $knobs/require-start
		echo "$last" > $knobs/require-end
		echo "$rxe_first" > $knobs/reject-start
		echo "$rxe_last" > $knobs/reject-end
		[ ! -e $knobs/min-order ] || echo 0 > $knobs/min-order
		[ ! -e $knobs/ignore-gfp-highmem ] || echo N > $knobs/ignore-gfp-highmem
		echo "$2" > $knobs/probability
	done
}

nr_failed() {
	local knobs sum=0
	for knobs in /sys/kernel/debug/{failslab,fail_page_alloc}; do
		sum=$((sum + failures - $(cat $knobs/times)))
	done
	echo $sum
}

fail_no_more() {
	local knobs
	for knobs in /sys/kernel/debug/{failslab,fail_page_alloc}; do
		echo 0 > $knobs/probability
	done
	log "allocations that failed: $(nr_failed)"
	[ "$(nr_failed)" -gt 0 ]
}
