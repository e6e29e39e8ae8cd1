#!/bin/bash
# Storage while its network, its portal or server, or memory are away for a while, in the
# virtual machine, by iSER and by NFS/RDMA: data are as written or there is an I/O error,
# nothing hangs, and when it is over all goes on. At the end nothing is left.
# usage: cuts.sh [--brief] MODE MODULES [PART...]
#   --brief  each fault once
#   MODE     who serves: "stock" (ib_isert, svcrdma) or "kdat" (kdat_iser, svckdat)
#   MODULES  folder that scripts/build-modules made; of no matter with "stock"
#   PART     only these: iser-drop iser-wire iser-link iser-portal iser-group iser-memory
#            iser-failures nfs-wire nfs-link nfs-server nfs-memory nfs-failures
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
# shellcheck source=tests/storage/faults.sh
. "$(dirname "$(readlink -f "$0")")/faults.sh"
options "$@"

mnt=/mnt/nfs
often=$(of 8 2)

# --- faults, several times ------------------------------------------------------------

# By turns a cut that is over before the devices give up, and one that ends the connection.
wire() {
	local i
	for i in $(seq "$often"); do
		cut_wire
		sleep $((i % 2 ? 2 : 12))
		mend_wire
		sleep $((i % 2 ? 3 : 10))
	done
}

link() {
	local i
	for i in $(seq "$often"); do
		unplug $((i % 2))
		sleep 10
		plug $((i % 2))
		sleep 10
	done
}

# The initiator gives its session up and logs in again, every few seconds.
drop() {
	local i
	for i in $(seq $((often * 3))); do
		sleep 3
		sg_reset -N -t "$file" || return
	done
}

switch_portal() {
	local i
	for i in $(seq "$often"); do
		sleep 3
		portal 0 && sleep 2 && portal 1 || return
	done
}

# The portal group ends its sessions.
switch_group() {
	local i
	for i in $(seq "$often"); do
		sleep 3
		within 60 group 0 && sleep 2 && group 1 || return
	done
}

switch_server() {
	local i
	for i in $(seq "$often"); do
		sleep 3
		within 60 rpc.nfsd 0 && sleep 2 && nfsd_up || return
	done
}

# during NAME COMMAND...: runs COMMAND, which makes the faults, under traffic; then verdicts on
# that
during() {
	local name=$1
	shift
	traffic "$file"
	verdict "$name: under I/O" within 600 "$@"
	through "$name" "$file"
}

# --- memory ---------------------------------------------------------------------------

# copies FOLDER: copies trees through the page cache, for which there is little memory
copies() {
	local i
	for i in $(seq "$(of 5 1)"); do
		cp -r $work/tree "$1/copy$i" && sync -f "$1" &&
			sums "$1/copy$i" | cmp - $work/sums || return
	done
	rm -rf "$1"/copy*
}

# memory NAME FOLDER
memory() {
	[ -s $work/sums ] || {
		mkdir -p $work/tree && source_tree | tar -C $work/tree -xf - &&
			sums $work/tree > $work/sums
	}
	traffic "$file"
	verdict "$1: memory is taken" hogged 48
	verdict "$1: trees are copied and equal" within 900 copies "$2"
	verdict "$1: memory was little all the time" unhogged
	through "$1" "$file"
}

# The kernel writes pages out to a file system that is on the target's disk.
memory_iser() {
	local disk
	disk=/dev/$(disk 1)
	mkdir -p /mnt/iser
	mkfs.ext4 -qF "$disk" && mount -t ext4 "$disk" /mnt/iser || return
	memory "iSER, little memory" /mnt/iser
	verdict "iSER, little memory: umount" within 300 umount /mnt/iser
	verdict "iSER, little memory: fsck finds nothing" within 300 quiet e2fsck -fn "$disk"
}

# --- allocations that fail ------------------------------------------------------------

# I/O itself allocates little or nothing. So if no allocation has failed, the connection is
# ended under I/O.
end_connection_iser() { sg_reset -N -t "$file"; }
end_connection_nfs() { cut_wire; sleep 12; mend_wire; }

some_failed() {
	[ "$(nr_failed)" -gt 0 ] || { "end_connection_$what"; sleep 5; [ "$(nr_failed)" -gt 0 ]; }
}

# failures_in NAME MODULE...: under I/O, and while connections are made
failures_in() {
	local name=$1 module
	shift
	for module; do
		traffic "$file"
		fail_in "$module" 3 || die "no module $module"
		sleep "$(of 60 10)"
		wait_for 300 some_failed
		verdict "$name: allocations of $module failed under I/O" fail_no_more
		through "$name, $module" "$file"
		fail_in "$module" 20
		"reconnect_$what" || :
		verdict "$name: allocations of $module failed while connecting" fail_no_more
		verdict "$name, $module: connections come again" "reconnected_$what"
	done
}

reconnect_iser() {
	local i
	log_out
	for i in $(seq "$(of 10 3)"); do
		within 60 node -l > /dev/null 2>&1
		within 60 node -u > /dev/null 2>&1
	done
}

# iscsid continues a login whose iscsiadm has given up, and begins no other before that one has
# ended. So this looks for a session first.
has_session() { { logged_in 1 && disks_there 1; } || log_in 1 > /dev/null; }

reconnected_iser() {
	wait_for 600 has_session || { cat $work/login; return 1; }
	file=/dev/$(disk 0)
}

reconnect_nfs() {
	local i
	unmount $mnt
	for i in $(seq "$(of 10 3)"); do
		timeout 30 mount -t nfs -o "vers=4.1,proto=rdma,port=$port,retry=0" $server:/ $mnt &&
			unmount $mnt
	done 2> /dev/null
}

reconnected_nfs() { mountpoint -q $mnt || mount_at 4.1 $mnt; }

# --- the two --------------------------------------------------------------------------

cuts_iser() {
	what=iser
	disks_up $((384 * 1024))
	target_modules_up
	target_up || die "the target is not set up"
	initiator_up
	node -o new -I iser > /dev/null
	verdict "login" log_in 1
	verdict "the right target serves it ($serving)" right_one_serves
	file=/dev/$(disk 0)
	keep "$file"
	! part iser-drop || during "iSER, sessions are dropped" drop
	! part iser-wire || during "iSER, packets are lost" wire
	! part iser-link || during "iSER, links go down" link
	! part iser-portal || during "iSER, the portal goes off and on" switch_portal
	! part iser-group || during "iSER, the portal group goes off and on" switch_group
	! part iser-memory || memory_iser
	if can_fail && part iser-failures; then
		if [ "$mode" = stock ]; then failures_in "iSER" ib_isert
		else failures_in "iSER" kdat_iser kdapl; fi
	fi
	verdict "logout" log_out
	initiator_down
	verdict "the target is removed" within 60 target_down
	target_modules_down
	disks_down
}

cuts_nfs() {
	what=nfs
	server_modules_up
	server_up 700M || die "the server is not set up"
	verdict "mount" mount_at 4.1 $mnt
	file=$mnt/file
	truncate -s 330m "$file"
	keep "$file"
	! part nfs-wire || during "NFS, packets are lost" wire
	! part nfs-link || during "NFS, links go down" link
	! part nfs-server || during "NFS, the server stops and starts" switch_server
	! part nfs-memory || memory "NFS, little memory" $mnt
	if [ "$mode" = kdat ] && can_fail && part nfs-failures; then
		failures_in "NFS" svckdat kdapl
	fi
	verdict "umount" unmount $mnt
	server_down
	server_modules_down
}

# shellcheck disable=SC2034 # for begin_storage
cabling=switch
begin_storage
modprobe sch_netem || die "no sch_netem"
! part_of iser || cuts_iser
! part_of nfs || cuts_nfs
end_storage
