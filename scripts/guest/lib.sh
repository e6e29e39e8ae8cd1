# Sourced by bash scripts that run in the virtual machines of scripts/vm: RDMA
# devices to test on, and waiting for conditions instead of sleeping.
#
#   two_hosts KIND   two RDMA devices in this machine, as if of two hosts: rxe0 on ve0
#                    (10.9.0.1) and rxe1 on ve1 (10.9.0.2), the ends of a veth pair,
#                    and every packet between the two addresses crosses it. KIND is rxe,
#                    or siw: these speak iWARP, and are siw0 and siw1
#   two_hosts KIND switch   the same with a switch between them: ve0 is plugged into its
#                    port sw0, and ve1 into sw1, and loses its carrier when that goes down
#   in_order 1|0     packets between the two stay in order, as two_hosts leaves it, or
#                    may overtake each other
#   two_hosts_down KIND     take all of that away again
#   rxe_on NIC DEVICE ADDRESS   make one Soft-RoCE device, and wait until it is usable
#   meet WHAT [SECONDS]     two machines (vm --pair): wait until the other one is as far
#   wait_for SECONDS COMMAND... until it succeeds, or fail and say so
#   is_over, pause   see scripts/pause.sh
#   log, die         a message; a message and the end
# shellcheck shell=bash

# shellcheck source=scripts/pause.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../pause.sh"

export LC_ALL=C.UTF-8

log() { echo "-- $*"; }
die() { echo "FAIL: $*" >&2; exit 1; }

wait_for() {
	local seconds=$1 end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "no success in $seconds s: $*" >&2; return 1; }
		pause 0.1
	done
}

# rxe_usable DEVICE ADDRESS: its port is active, and the address is one of its GIDs
rxe_usable() {
	local port=/sys/class/infiniband/$1/ports/1 state gid wanted
	# shellcheck disable=SC2086 # four words, a byte each
	printf -v wanted '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${2//./ }
	{ read -r state < "$port/state"; } 2> /dev/null && [[ $state = *ACTIVE ]] || return
	for gid in "$port"/gids/*; do
		{ read -r gid < "$gid"; } 2> /dev/null && [ "$gid" = "$wanted" ] && return
	done
	return 1
}

# siw_usable DEVICE: its port is active; its addresses are those of its net device
siw_usable() {
	local state
	{ read -r state < "/sys/class/infiniband/$1/ports/1/state"; } 2> /dev/null &&
		[[ $state = *ACTIVE ]]
}

rdma_modules() { modprobe -a rdma_rxe ib_uverbs rdma_ucm; }

rxe_on() {
	rdma_modules || return
	[ -e "/sys/class/infiniband/$2" ] || rdma link add "$2" type rxe netdev "$1" || return
	wait_for 120 rxe_usable "$2" "$3"
}

# Both addresses are local, and packets between local addresses would take the loopback
# device. So the routing rules look for the other end of the pair first. They look at the
# table of local addresses only for packets that have crossed the pair, or after that. For
# this the rule for that table, which the kernel has at the first place, is moved down. That
# is done last, so that its absence there shows that the network is complete. Programs start
# slowly in emulation, so few calls do as much as possible.
# usage: two_hosts_network [switch]
two_hosts_network() {
	local end conf=/proc/sys/net/ipv4/conf
	[ -n "$(ip rule show pref 0)" ] || return 0
	# Frames that hold RDMA's largest packet (4096 bytes): with the usual ones there
	# would be four times as many packets, and as much queueing.
	if [ -z "${1-}" ]; then
		ip link add ve0 mtu 4200 type veth peer name ve1 mtu 4200 || return
	else
		modprobe bridge && ip -batch - <<-E || return
			link add switch mtu 4200 type bridge
			link add ve0 mtu 4200 type veth peer name sw0 mtu 4200
			link add ve1 mtu 4200 type veth peer name sw1 mtu 4200
			link set sw0 master switch up
			link set sw1 master switch up
			link set switch up
		E
	fi
	echo 0 > $conf/all/rp_filter
	for end in ve0 ve1; do
		echo 1 > $conf/$end/accept_local
		echo 0 > $conf/$end/rp_filter
		echo 2 > $conf/$end/arp_announce
		echo 1 > $conf/$end/arp_ignore
	done
	ip -batch - <<-E
		addr add 10.9.0.1/32 dev ve0
		addr add 10.9.0.2/32 dev ve1
		link set ve0 up
		link set ve1 up
		route add 10.9.0.2/32 dev ve0 src 10.9.0.1 table 100
		route add 10.9.0.1/32 dev ve1 src 10.9.0.2 table 101
		rule add pref 10 iif ve0 lookup local
		rule add pref 11 iif ve1 lookup local
		rule add pref 20 from 10.9.0.1 to 10.9.0.2 lookup 100
		rule add pref 21 from 10.9.0.2 to 10.9.0.1 lookup 101
		rule add pref 22 to 10.9.0.2 lookup 100
		rule add pref 23 to 10.9.0.1 lookup 101
		rule add pref 40 lookup local
		rule del pref 0
	E
}

# With two processors a connection's packets land in the backlogs of both, and overtake
# each other; Soft-RoCE then asks for them again. With one processor for each end they
# keep their order. A kernel with PREEMPT_RT complains of how one processor tells the other of
# packets; there they overtake each other.
in_order() {
	local end
	[[ $(uname -v) != *PREEMPT_RT* ]] || return 0
	for end in ve0 ve1 sw0 sw1; do
		[ ! -e /sys/class/net/$end/queues/rx-0/rps_cpus ] ||
			echo "$1" > /sys/class/net/$end/queues/rx-0/rps_cpus
	done
}

two_hosts() {
	local end kind=$1
	rdma_modules && two_hosts_network "${2-}" && in_order 1 || return
	# A thousand connections that send at once would overflow a queue of the usual
	# length, and Soft-RoCE does not always repeat correctly what is lost.
	echo 100000 > /proc/sys/net/core/netdev_max_backlog
	[ "$kind" != siw ] || modprobe siw || return
	for end in 0 1; do
		[ -e "/sys/class/infiniband/$kind$end" ] ||
			echo "link add $kind$end type $kind netdev ve$end"
	done | rdma -b - || return
	wait_for 120 "${kind}_usable" "${kind}0" 10.9.0.1 &&
		wait_for 120 "${kind}_usable" "${kind}1" 10.9.0.2
}

two_hosts_down() {
	local end kind=$1
	for end in 0 1; do
		[ ! -e "/sys/class/infiniband/$kind$end" ] || echo "link del $kind$end"
	done | rdma -b -
	[ -z "$(ip rule show pref 0)" ] || return 0
	[ ! -e /sys/class/net/switch ] || printf 'link del %s\n' ve1 switch | ip -batch -
	ip -batch - <<-E
		link del ve0
		rule add pref 0 lookup local
		rule del pref 10
		rule del pref 11
		rule del pref 20
		rule del pref 21
		rule del pref 22
		rule del pref 23
		rule del pref 40
	E
}

# Sets up the network and the RDMA device of one machine of a pair. vm calls it before the
# command.
one_of_a_pair() {
	modprobe virtio_net &&
		wait_for 120 test -e /sys/class/net/eth0 &&
		ip addr add "$KDAPL_ADDR/24" dev eth0 &&
		ip link set eth0 up &&
		rxe_on eth0 rxe0 "$KDAPL_ADDR"
}

meet() {
	: > "/ctl/meet.$1.$KDAPL_ADDR"
	wait_for "${2-120}" test -e "/ctl/meet.$1.$KDAPL_PEER"
}
