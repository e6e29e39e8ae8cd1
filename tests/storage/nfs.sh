#!/bin/bash
# The kernel's NFS client with a server of nfsd over RDMA, in the virtual machine: mounts of
# each version; operations, habits of programs and locks (fs_ops); a source tree and its
# checksums; mixed sizes and depths with every byte compared; memory that is given back; delegations
# that are recalled; many mounts. At the end nothing is left.
# usage: nfs.sh [--brief] MODE MODULES [PART...]
#   --brief  seconds instead of minutes
#   MODE     who listens: "stock" (svcrdma, "rdma 20050") or "kdat" (svckdat, "kdat 20049")
#   MODULES  folder that scripts/build-modules made; of no matter with "stock"
#   PART     only these: 3 4.0 4.1 4.2 memory delegation both raw mounts ipv6 taken; of these memory,
#            both, taken, and raw, what no real client sends, are not for "stock"
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
options "$@"

mnt=/mnt/nfs
minute=$(of 60 3)

# --- one version ----------------------------------------------------------------------

# Is the mount over RDMA? This does not look at locks and mounts of version 3, which have
# protocols of their own.
over_rdma() {
	grep -q " $mnt nfs.*proto=rdma.*port=${1-$port}" /proc/mounts &&
		awk -v m="$mnt" '$1 == "device" { at = $5 == m }
			at && /xprt:\trdma/ { yes = 1 } END { exit !yes }' /proc/self/mountstats
}

rightly_served() { over_rdma && right_one_serves; }
remount() { unmount $mnt && mount_at "$1" $mnt; }
nothing_behind() { [ -z "$(ls -A $exported)" ]; }

right_one_serves() {
	grep -qx "$listener" /proc/fs/nfsd/portlist &&
		{ [ "$mode" = stock ] || [ "$(cat /sys/module/svckdat/refcnt)" -gt 0 ]; }
}

# operations VERSION
operations() {
	mkdir $mnt/ops
	program "$1: the operations" "$programs/fs_ops" $mnt/ops $exported/ops "$1"
	rm -rf $mnt/ops
}

copied() { cp -r $work/tree $mnt/tree; }

same_sums() {
	sums $mnt/tree > $work/sums.there && sums $exported/tree > $work/sums.behind || return
	diff $work/sums $work/sums.there > $work/sums.diff &&
		diff $work/sums $work/sums.behind >> $work/sums.diff && return
	head $work/sums.diff
	return 1
}

# What people do with a source tree, done in the mounted folder. When a file is removed, the
# client keeps it under a name of its own until the request for its last pages has ended, and
# until then its folder cannot be removed.
general() {
	(cd $mnt/tree && tar -cf ../tree.tar . && find . -type f | sort > ../list &&
		xargs cat < ../list | sort > ../sorted && wc ../sorted > /dev/null &&
		cc -O -o ../fs_ops -D_GNU_SOURCE tests/storage/fs_ops.c && test -x ../fs_ops &&
		cp -r . ../copy && diff -r . ../copy &&
		mkdir ../from && tar -C ../from -xf ../tree.tar && diff -r . ../from) &&
		wait_for 60 rm -rf $mnt/{copy,from,tree.tar,list,sorted,fs_ops}
}

version() {
	local depth
	verdict "$1: mount" mount_at "$1" $mnt
	verdict "$1: over RDMA, and $listener serves it" rightly_served
	operations "$1"
	verdict "$1: copy a source tree of $(wc -l < $work/sums) files" within 600 copied
	verdict "$1: umount and mount" remount "$1"
	verdict "$1: the checksums are equal, here and at the server" within 600 same_sums
	$brief || verdict "$1: tar, sort, cc, cp, diff" within 1200 general
	truncate -s 32m $mnt/file
	for depth in $(of "1 4 32" "1 32"); do
		verdict "$1: 512 B to 1 MiB, depth $depth, all of it compared" \
			verified "$minute" "$depth" $mnt/file
	done
	verdict "$1: remove all of it" within 300 rm -rf $mnt/tree $mnt/file
	verdict "$1: ... at the server, too" wait_for 60 nothing_behind
	verdict "$1: umount" unmount $mnt
}

# --- memory that comes and goes ---------------------------------------------------------

# few: a connection has what it begins with
few() { pool_is sends 4 && pool_is maps 2 && pool_is spare 0; }
grew() { all_at_once $mnt/file && pool_grew sends 4 && pool_grew maps 2 && pool_grew spare 0; }

memory() {
	local before
	verdict "mount" mount_at 4.1 $mnt
	truncate -s 32m $mnt/file
	squeeze
	verdict "a connection with nothing to do: 4 sends and 2 maps" wait_for 60 few
	before=$(lmrs)
	verdict "I/O of depth 32: all of it compared" verified "$minute" 32 $mnt/file
	verdict "... all at once: there are more, and spare pages" wait_for 300 grew
	squeeze
	verdict "the kernel needs memory: 4 sends and 2 maps are left" wait_for 60 few
	verdict "... and as many LMRs as at first" wait_for 60 lmrs_are "$before"
	verdict "I/O after that: all of it compared" verified "$minute" 32 $mnt/file
	verdict "... all at once: there are more again" wait_for 300 grew
	verdict "I/O while the kernel needs memory: all of it compared" \
		squeezed delayed 5ms verified "$minute" 32 $mnt/file
	rm $mnt/file
	verdict "umount" unmount $mnt
}

# --- delegations ----------------------------------------------------------------------

delegated() {
	exec 5< $mnt/delegated
	grep -q 'type: deleg' /proc/fs/nfsd/clients/*/states && return
	exec 5<&-
	return 1
}

# A program at the server writes to the file. The server asks the client to return its
# delegation, and the program waits for that. A server that cannot ask waits until the lease of
# 90 seconds is over.
recalled() { echo new >> $exported/delegated; }

# delegation VERSION
delegation() {
	mount_at "$1" $mnt || return
	echo old > $mnt/delegated
	verdict "$1: the client is given a delegation" wait_for 120 delegated
	verdict "$1: ... which the server recalls when it must" within 45 recalled
	verdict "$1: ... and the client knows what was written then" \
		wait_for 120 grep -q new $mnt/delegated
	exec 5<&-
	rm $mnt/delegated
	unmount $mnt
}

# --- the other transport --------------------------------------------------------------

change_port() { unmount $mnt && mount_at 4.1 $mnt "$1" && over_rdma "$1"; }

# both: the tree is written through one transport and read through the other, both ways round.
both() {
	local first second
	verdict "nfsd listens as rdma 20050 as well" listen_at "rdma 20050"
	for first in 20049 20050; do
		second=$((20049 + 20050 - first))
		verdict "mount of port $first" mount_at 4.1 $mnt $first
		verdict "... copy a source tree" within 600 copied
		verdict "... umount, and mount of port $second" \
			change_port $second
		verdict "... the checksums are equal" within 600 same_sums
		verdict "... remove it" wait_for 60 rm -rf $mnt/tree
		verdict "... umount" unmount $mnt
	done
}

# --- many mounts ----------------------------------------------------------------------

many() {
	local i
	for i in $(seq "$1"); do
		{ mount_at 4.1 $mnt && unmount $mnt; } || { echo "at mount $i"; return 1; }
	done
}

mounts() {
	mount_at 4.1 $mnt && unmount $mnt
	count_objects mounts
	verdict "$(of 100 5) mounts" many "$(of 100 5)"
	verdict "... leave as many RDMA objects as there were" same_objects mounts
}

# --- IPv6 ---------------------------------------------------------------------------------

ipv6() {
	local version
	ipv6_addresses || die "no addresses of IPv6"
	for version in 3 4.2; do
		by_ipv6=1
		verdict "$version: mount of an IPv6 address" mount_at $version $mnt
		by_ipv6=
		verdict "$version: ... over RDMA, and $listener serves it" rightly_served
		verdict "$version: ... copy a source tree" within 600 copied
		verdict "$version: ... the checksums are equal" within 600 same_sums
		verdict "$version: ... remove it" wait_for 60 rm -rf $mnt/tree
		verdict "$version: ... umount" unmount $mnt
	done
}

# --- a port that somebody else has -------------------------------------------------------

# At the adapter that clients come to, while the other one can listen
taken() {
	within 60 rpc.nfsd 0
	verdict "another consumer listens at the port of one adapter" take_port rxe1-1 $port
	verdict "... nfsd listens all the same" nfsd_up
	verdict "... the other consumer goes" give_port
	verdict "... and svckdat listens there" wait_for 60 listens_again svckdat
	verdict "... a mount" mount_at 4.1 $mnt
	verdict "... umount" unmount $mnt
}

# --------------------------------------------------------------------------------------

begin_storage
server_modules_up
server_up 512M || die "the server is not set up"
mkdir -p $work/tree && source_tree | tar -C $work/tree -xf -
sums $work/tree > $work/sums
for v in 3 4.0 4.1 4.2; do
	! part $v "version $v" || version $v
done
[ "$mode" = stock ] || ! part memory || memory
for v in 4.1 4.2; do
	! part delegation "delegation, $v" || delegation $v
done
[ "$mode" = stock ] || ! part both || both
[ "$mode" = stock ] || ! part raw || program "messages by hand" "$programs/rpcrdma_raw" \
	$server $port $exported/by_hand
! part mounts || mounts
! part ipv6 || ipv6
[ "$mode" = stock ] || ! part taken || taken
log "the end"
server_down
server_modules_down
end_storage
