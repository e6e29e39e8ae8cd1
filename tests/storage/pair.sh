#!/bin/bash
# Storage between two kernels, in two virtual machines on one wire (scripts/vm --pair): B has
# the disks and serves, A is the kernel's own initiator and NFS client. One session of each:
# a file system and a tree of files on iSER, the tree by NFS, mixed sizes with every byte
# compared. What serves is installed and not loaded by hand. At the end nothing is left in
# either.
# usage: pair.sh MODE MODULES
#   MODE     who serves: "stock" (ib_isert, svcrdma) or "kdat" (kdat_iser, svckdat)
#   MODULES  folder that scripts/build-modules made; of no matter with "stock"
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
options --brief "$@"

mnt=/mnt/pair
# shellcheck disable=SC2034 # of seconds, for the initiator
patience=120
long=900	# as long as one may have to wait for what the other one does

# The tree and its checksums; both machines have the same tree.
make_tree() { mkdir -p $work/tree && source_tree | tar -C $work/tree -xf - && sums $work/tree > $work/sums; }

copied() { cp -r $work/tree $mnt/tree && sync -f $mnt; }
same_sums() { sums "$1/tree" | diff $work/sums - > $work/sums.diff || { head $work/sums.diff; return 1; }; }

# --- B ----------------------------------------------------------------------------------

serve() {
	[ "$mode" = stock ] || install_modules || die "the modules are not installed"
	disks_up $((128 * 1024))
	target_modules_up
	target_up || die "the target is not set up"
	verdict "B: the portal has loaded $serving, and it alone" right_one_serves
	meet disks $long
	meet disks-used $long || die "the initiator has not come to its end"
	verdict "B: the target is removed" within 60 target_down
	target_modules_down
	disks_down

	server_modules_up
	server_up 256M || die "the server is not set up"
	verdict "B: nfsd has loaded $serving, and listens" loaded $serving
	meet exported $long
	meet tree-written $long
	verdict "B: NFS: the checksums are equal at the server" within 300 same_sums $exported
	meet tree-seen $long
	meet export-used $long || die "the client has not come to its end"
	server_down
	server_modules_down
}

# --- A ----------------------------------------------------------------------------------

use_disk() {
	local disk
	meet disks $long || die "there is no target"
	initiator_up
	node -o new -I iser > /dev/null
	verdict "iSER: login at the other machine" log_in 1
	disk=/dev/$(disk 0)
	verdict "iSER: 512 B to 1 MiB, depth 32, all of it compared" verified 3 32 "$disk"
	verdict "iSER: mkfs" within 120 mkfs.ext4 -qF "$disk"
	verdict "iSER: mount" within 60 mount -t ext4 "$disk" $mnt
	verdict "iSER: copy a source tree" within 300 copied
	forget_cache
	verdict "iSER: the checksums are equal" within 300 same_sums $mnt
	verdict "iSER: umount" unmount $mnt
	verdict "iSER: fsck finds nothing" within 120 quiet e2fsck -fn "$disk"
	verdict "iSER: logout" log_out
	initiator_down
	meet disks-used $long
}

use_export() {
	meet exported $long || die "there is no server"
	verdict "NFS: mount from the other machine" mount_at 4.1 $mnt
	verdict "NFS: copy a source tree" within 300 copied
	verdict "NFS: umount" unmount $mnt
	meet tree-written $long
	meet tree-seen $long
	verdict "NFS: mount again" mount_at 4.1 $mnt
	verdict "NFS: the checksums are equal" within 300 same_sums $mnt
	truncate -s 32m $mnt/file
	verdict "NFS: 512 B to 1 MiB, depth 32, all of it compared" verified 3 32 $mnt/file
	verdict "NFS: umount again" unmount $mnt
	meet export-used $long
	verdict "NFS: the client unloads" gone nfsv4 nfs rpcrdma
}

[ -n "${KDAPL_PEER-}" ] || die "not one of two machines: scripts/vm --pair"
begin_storage
mkdir -p $mnt
make_tree
case $KDAPL_HOST in
A) port=$([ "$mode" = stock ] && echo 20050 || echo 20049); use_disk; use_export;;
B) serve;;
esac
end_storage
