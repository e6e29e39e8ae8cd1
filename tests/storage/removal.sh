#!/bin/bash
# Storage of which something is taken away for good, in the virtual machine, by iSER and by
# NFS/RDMA, while data are written: the target or server, the RDMA device of either end, the
# initiator's module. Data are as written or there is an I/O error, nothing hangs; when it is
# there again all goes on. At the end nothing is left.
# usage: removal.sh [--brief] MODE MODULES [PART...]
#   --brief  each once
#   MODE     who serves: "stock" (ib_isert, svcrdma) or "kdat" (kdat_iser, svckdat)
#   MODULES  folder that scripts/build-modules made; of no matter with "stock"
#   PART     only these: iser-target iser-far iser-near iser-module nfs-server nfs-far
#            nfs-near
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
# shellcheck source=tests/storage/faults.sh
. "$(dirname "$(readlink -f "$0")")/faults.sh"
options "$@"

mnt=/mnt/nfs
times=$(of 3 1)

refused() { ! rmmod "$1" 2> /dev/null; }

# --- iSER -----------------------------------------------------------------------------

# again: a new session after what has happened
again() {
	logged_in 0 || log_out || return
	log_in 1 || return
	file=/dev/$(disk 0)
}

target_goes() {
	traffic "$file"
	sleep 2
	verdict "iSER, the target is removed under I/O" within 120 target_down
	verdict "... no request hangs" ended_in_time 400
	verdict "... data as written, or an I/O error" no_wrong_byte
	verdict "... logout" log_out
	verdict "... the target is set up again" target_up
	verdict "... login" again
	verdict "... what was there before is there" within 60 kept "$file"
}

# device_goes END NAME
device_goes() {
	traffic "$file"
	sleep 2
	verdict "$2: rdma link delete returns under I/O" delete_link "$1"
	sleep 2
	verdict "$2: the device is there again" add_link "$1"
	if [ "$what" = iser ] && [ "$1" = rxe1 ]; then
		# A portal is bound to an address of the device that has gone.
		verdict "$2: the portal goes off" within 60 portal 0
		verdict "$2: ... and on" within 60 portal 1
	fi
	verdict "$2: no request hangs" ended_in_time 400
	verdict "$2: data as written, or an I/O error" no_wrong_byte
	[ "$what" != iser ] || verdict "$2: logout, login" again
	verdict "$2: it goes on" works_again "$file"
	verdict "$2: what was there before is there" within 60 kept "$file"
}

# The initiator's module cannot be unloaded while a disk is in use. Otherwise unloading it may
# end its sessions.
module_goes() {
	exec 6< "$file"
	verdict "iSER, the initiator's module stays while a disk is used" refused ib_iser
	exec 6<&-
	log "rmmod ib_iser: $(within 60 rmmod ib_iser 2>&1 && echo gone)"
	verdict "... without it there is no session" within 120 module_gone
	initiator_up
	node -o new -I iser > /dev/null
	verdict "... login again" log_in 1
	file=/dev/$(disk 0)
	verdict "... what was there before is there" within 60 kept "$file"
}

# If rmmod was refused, it succeeds after a logout.
module_gone() {
	! loaded ib_iser || log_out
	stop_iscsid
	gone ib_iser && logged_in 0
}

removal_iser() {
	local i
	what=iser
	disks_up $((384 * 1024))
	target_modules_up
	target_up || die "the target is not set up"
	initiator_up
	node -o new -I iser > /dev/null
	verdict "login" log_in 1
	verdict "$serving does not unload while it serves" refused "$serving"
	file=/dev/$(disk 0)
	keep "$file"
	for i in $(seq "$times"); do
		! part iser-target || target_goes
		! part iser-far || device_goes rxe1 "iSER, the target's device"
		! part iser-near || device_goes rxe0 "iSER, the initiator's device"
		! part iser-module || module_goes
	done
	verdict "logout" log_out
	initiator_down
	verdict "the target is removed" within 60 target_down
	target_modules_down
	disks_down
}

# --- NFS ------------------------------------------------------------------------------

# A soft mount: requests end with an error, instead of waiting for the server for ever.
server_goes() {
	unmount $mnt
	verdict "NFS, a soft mount" mount_at 4.1 $mnt "$port" soft,timeo=30,retrans=2
	traffic "$file"
	sleep 2
	verdict "NFS, the server stops under I/O" within 60 rpc.nfsd 0
	sleep 5
	touch $work/stop
	verdict "... no request hangs" ended_in_time 400
	verdict "... data as written, or an I/O error" no_wrong_byte
	verdict "... umount" within 60 umount -f $mnt
	verdict "... the server starts again" nfsd_up
	verdict "... mount" mount_at 4.1 $mnt
	verdict "... what was there before is there" within 60 kept "$file"
}

removal_nfs() {
	local i
	what=nfs
	server_modules_up
	server_up 700M || die "the server is not set up"
	verdict "mount" mount_at 4.1 $mnt
	verdict "$serving does not unload while it serves" refused "$serving"
	file=$mnt/file
	truncate -s 330m "$file"
	keep "$file"
	for i in $(seq "$times"); do
		! part nfs-server || server_goes
		! part nfs-far || device_goes rxe1 "NFS, the server's device"
		! part nfs-near || device_goes rxe0 "NFS, the client's device"
	done
	verdict "umount" unmount $mnt
	server_down
	server_modules_down
}

begin_storage
! part_of iser || removal_iser
! part_of nfs || removal_nfs
end_storage
