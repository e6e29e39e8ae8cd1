#!/bin/bash
# More addresses for the two hosts of the rules, for the scenarios of
# tests/rules/address.c, which call it as /run/kdapl-addresses (rules.sh).  It returns
# when the RDMA devices have them: those of Soft-RoCE, or where there is siw0, of siw.
# usage: addresses.sh WHAT add|del
#   ipv4        a second address each: 10.9.1.1 and 10.9.1.2
#   vlan        on a VLAN each: 10.9.5.1 and 10.9.5.2; status 77: the kernel has none
#   ipv6        fd00:9::1 and fd00:9::2
#   link-local  two more hosts, rxe2 and rxe3 or siw2 and siw3, with link-local addresses
#               alone
set -eu
# shellcheck source=scripts/guest/lib.sh
. "$(dirname "$(readlink -f "$0")")/../../scripts/guest/lib.sh"

kind=rxe
[ ! -e /sys/class/infiniband/siw0 ] || kind=siw

# has_gid DEVICE PATTERN: one of its GIDs matches, whole
has_gid() { cat "/sys/class/infiniband/$1/ports/1/gids/"* | grep -qxE "$2"; }

# have A B: patterns of what rxe0 and rxe1 wait for; siw has what its interface has
have() {
	[ $kind = siw ] || { wait_for 60 has_gid rxe0 "$1" && wait_for 60 has_gid rxe1 "$2"; }
}

v4gid() { echo "0000:0000:0000:0000:0000:ffff:$1"; }

ipv4() {
	ip addr "$1" 10.9.1.1/24 dev ve0
	ip addr "$1" 10.9.1.2/24 dev ve1
	[ "$1" = del ] || have "$(v4gid 0a09:0101)" "$(v4gid 0a09:0102)"
}

vlan() {
	local end conf
	if [ "$1" = del ]; then
		ip link del ve0.5
		ip link del ve1.5
		return
	fi
	modprobe 8021q 2> /dev/null || exit 77
	for end in 0 1; do
		ip link add link ve$end name ve$end.5 type vlan id 5
		conf=/proc/sys/net/ipv4/conf/ve$end.5
		echo 1 > "$conf/accept_local"
		echo 0 > "$conf/rp_filter"
		echo 2 > "$conf/arp_announce"
		echo 1 > "$conf/arp_ignore"
		ip addr add 10.9.5.$((end + 1))/24 dev ve$end.5
		ip link set ve$end.5 up
	done
	have "$(v4gid 0a09:0501)" "$(v4gid 0a09:0502)"
}

# As two_hosts does it for IPv4: the other end first, local addresses later.
ipv6() {
	ip -6 -batch - <<-E
		addr $1 fd00:9::1/128 dev ve0 $([ "$1" = del ] || echo nodad)
		addr $1 fd00:9::2/128 dev ve1 $([ "$1" = del ] || echo nodad)
	E
	if [ "$1" = del ]; then
		ip -6 -batch - <<-E
			rule add pref 0 lookup local
			rule del pref 10
			rule del pref 11
			rule del pref 22
			rule del pref 23
			rule del pref 40
			route flush table 100
			route flush table 101
		E
		return
	fi
	ip -6 -batch - <<-E
		route add fd00:9::2/128 dev ve0 src fd00:9::1 table 100
		route add fd00:9::1/128 dev ve1 src fd00:9::2 table 101
		rule add pref 10 iif ve0 lookup local
		rule add pref 11 iif ve1 lookup local
		rule add pref 22 to fd00:9::2 lookup 100
		rule add pref 23 to fd00:9::1 lookup 101
		rule add pref 40 lookup local
		rule del pref 0
	E
	have fd00:0009:0000:0000:0000:0000:0000:0001 \
		fd00:0009:0000:0000:0000:0000:0000:0002
}

# has_local END: the device on that interface has a link-local address
has_local() {
	if [ $kind = siw ]; then
		grep -qE "^fe80.* vl$1\$" /proc/net/if_inet6
	else
		has_gid "rxe$1" 'fe80:.*'
	fi
}

# The other end's link-local address is not looked for on this host, but on the link.
link-local() {
	local end
	if [ "$1" = del ]; then
		rdma link del ${kind}2
		rdma link del ${kind}3
		ip link del vl2
		return
	fi
	ip link add vl2 mtu 4200 type veth peer name vl3 mtu 4200
	for end in 2 3; do
		echo 0 > /proc/sys/net/ipv6/conf/vl$end/accept_dad
		ip link set vl$end up
	done
	# When both ends are up: siw does not hear of a carrier that comes later.
	for end in 2 3; do
		rdma link add $kind$end type $kind netdev vl$end
	done
	wait_for 60 has_local 2 && wait_for 60 has_local 3 &&
		wait_for 60 grep -q ACTIVE /sys/class/infiniband/${kind}2/ports/1/state &&
		wait_for 60 grep -q ACTIVE /sys/class/infiniband/${kind}3/ports/1/state
}

"$1" "$2"
