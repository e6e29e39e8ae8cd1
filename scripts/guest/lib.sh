# Sourced by bash scripts that run in the virtual machines of scripts/vm: RDMA
# devices to test on, and waiting for conditions instead of sleeping.
#
#   two_hosts        two RDMA devices in this machine, as if of two hosts: rxe0 on ve0
#                    (10.9.0.1) and rxe1 on ve1 (10.9.0.2), the ends of a veth pair,
#                    and every packet between the two addresses crosses it
#   two_hosts_down   take all of that away again
#   rxe_on NIC DEVICE ADDRESS   make one Soft-RoCE device, and wait until it is usable
#   meet WHAT        two machines (vm --pair): wait until the other one is as far
#   wait_for SECONDS COMMAND... until it succeeds, or fail and say so
#   log, die         a message; a message and the end
# shellcheck shell=bash

export LC_ALL=C.UTF-8

log() { echo "-- $*"; }
die() { echo "FAIL: $*" >&2; exit 1; }

wait_for() {
	local seconds=$1 end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "no success in $seconds s: $*" >&2; return 1; }
		sleep 0.1
	done
}

# rxe_usable DEVICE ADDRESS: its port is active, and the address is one of its GIDs
rxe_usable() {
	local port=/sys/class/infiniband/$1/ports/1
	# shellcheck disable=SC2086 # four words, a byte each
	grep -q ACTIVE "$port/state" &&
		grep -qiF "$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${2//./ })" \
			"$port"/gids/* 2> /dev/null
}

rxe_on() {
	modprobe -a rdma_rxe ib_uverbs rdma_ucm || return
	[ -e "/sys/class/infiniband/$2" ] || rdma link add "$2" type rxe netdev "$1" || return
	wait_for 30 rxe_usable "$2" "$3"
}

# rule PREF SELECTOR...: a routing rule, once
rule() {
	[ -n "$(ip rule show pref "$1")" ] || ip rule add pref "$@"
}

# Both addresses are local, and local packets take the loopback device. So the rules
# look for the other end of the pair first, and for local addresses only in packets
# that have crossed it, or after that. The table of local addresses moves down for it.
two_hosts() {
	local end
	[ -e /sys/class/net/ve0 ] || ip link add ve0 type veth peer name ve1 || return
	for end in 0 1; do
		sysctl -qw net.ipv4.conf.ve$end.{accept_local=1,rp_filter=0,arp_announce=2,arp_ignore=1}
		ip addr replace 10.9.0.$((end + 1))/32 dev ve$end
		ip link set ve$end up
	done
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	# An RDMA read of 1 MiB is answered with more packets at once than the default
	# holds; what veth drops comes again only after a third of a second.
	sysctl -qw net.core.netdev_max_backlog=10000
	ip route replace 10.9.0.2/32 dev ve0 src 10.9.0.1 table 100
	ip route replace 10.9.0.1/32 dev ve1 src 10.9.0.2 table 101
	rule 10 iif ve0 lookup local
	rule 11 iif ve1 lookup local
	rule 20 from 10.9.0.1 to 10.9.0.2 lookup 100
	rule 21 from 10.9.0.2 to 10.9.0.1 lookup 101
	rule 22 to 10.9.0.2 lookup 100
	rule 23 to 10.9.0.1 lookup 101
	rule 40 lookup local
	[ -z "$(ip rule show pref 0)" ] || ip rule del pref 0
	rxe_on ve0 rxe0 10.9.0.1 && rxe_on ve1 rxe1 10.9.0.2
}

two_hosts_down() {
	local pref device
	for device in rxe0 rxe1; do
		[ ! -e /sys/class/infiniband/$device ] || rdma link del $device
	done
	[ ! -e /sys/class/net/ve0 ] || ip link del ve0	# with its routes
	rule 0 lookup local
	for pref in 10 11 20 21 22 23 40; do
		[ -z "$(ip rule show pref $pref)" ] || ip rule del pref $pref
	done
}

# One machine of a pair: its side of the network. Called by vm before the command.
one_of_a_pair() {
	modprobe virtio_net &&
		wait_for 10 test -e /sys/class/net/eth0 &&
		ip addr add "$KDAPL_ADDR/24" dev eth0 &&
		ip link set eth0 up &&
		rxe_on eth0 rxe0 "$KDAPL_ADDR"
}

meet() {
	: > "/ctl/meet.$1.$KDAPL_ADDR"
	wait_for 120 test -e "/ctl/meet.$1.$KDAPL_PEER"
}
