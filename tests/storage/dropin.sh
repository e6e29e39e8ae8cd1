#!/bin/bash
# A host that serves with the kernel's own target and server is moved over to ours and back, by
# the commands of Documentation/dropin.rst, in the virtual machine: what targetcli has saved and
# what nfs.conf says mean ours then, also after all modules were gone, as after a reboot.
# usage: dropin.sh [--brief] kdat MODULES
#   MODULES  folder that scripts/build-modules made
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
options "$@"
[ "$mode" = kdat ] || die "there is nothing to move over to"

mnt=/mnt/dropin
port=20049
page=$here/../../Documentation/dropin.rst
# shellcheck disable=SC2034 # of seconds, for the initiator
patience=120

# There is no systemd: what it would start and stop, by the files of its services
systemctl() {
	local unit what=$1 line
	shift
	for unit; do
		while read -r line; do
			# shellcheck disable=SC2086 # a command with its arguments
			${line#-} || return
		done < <(case $what in
			 start) sed -nE 's/^ExecStart(Pre)?=//p' "/lib/systemd/system/$unit.service";;
			 stop) sed -nE 's/^ExecStop(Post)?=//p' "/lib/systemd/system/$unit.service";;
			 esac)
	done
}

# follow BLOCK: runs the commands of the page that are marked so, each of which has to succeed
follow() {
	local commands
	commands=$(awk -v name="$1" '
		/^\.\. tried: / { take = $3 == name; next }
		take && /^    / { print substr($0, 5); next }
		take && /^[^ :]/ { exit }' "$page")
	[ -n "$commands" ] && bash -ec "$(declare -f systemctl); $commands"
}

# --- as an administrator has set it up ----------------------------------------------------

save_target() {
	# It asks the message bus of the system for back ends.
	mkdir -p /run/dbus ~root/.targetcli && dbus-daemon --system --fork || return
	targetcli <<-C > $work/targetcli 2>&1 || { cat $work/targetcli; return 1; }
		set global auto_save_on_exit=false auto_add_default_portal=false
		/backstores/fileio create disk0 $work/shm/file
		/iscsi create $iqn
		/iscsi/$iqn/tpg1/luns create /backstores/fileio/disk0
		/iscsi/$iqn/tpg1/portals create $server 3260
		/iscsi/$iqn/tpg1/portals/$at enable_iser true
		/iscsi/$iqn/tpg1 set attribute generate_node_acls=1 demo_mode_write_protect=0 authentication=0
		saveconfig
		exit
	C
	[ "$(cat $tpg/np/$at/iser)" = 1 ]
}

daemons_up() {
	server_folders 128M || return
	mountpoint -q /proc/fs/nfsd || mount -t nfsd none /proc/fs/nfsd || return
	echo "$exported *(rw,no_root_squash,insecure,no_subtree_check,fsid=0)" > /etc/exports
	printf '[nfsd]\nrdma=y\nrdma-port=20049\ngrace-time=10\nlease-time=10\nthreads=4\n' > /etc/nfs.conf
	{ pidof rpcbind > /dev/null || rpcbind -w || rpcbind; } && rpc.statd --no-notify && rpc.mountd
}

# --- what initiators and clients see --------------------------------------------------------

luns=1
disk_is() {
	log_in 1 || return
	forget_cache
	[ "$(dd if="/dev/$(disk 0)" bs=4k count=256 iflag=direct status=none | sha256sum)" = \
		"$(sha256sum < $work/bytes)" ]
}

written_there() {
	dd if=$work/bytes of="/dev/$(disk 0)" bs=64k seek=32 oflag=direct status=none &&
		dd if=$work/shm/file bs=64k skip=32 count=16 status=none | cmp - $work/bytes &&
		dd if=/dev/zero of="/dev/$(disk 0)" bs=64k seek=32 count=16 oflag=direct status=none
}

# The grace period of nfsd lasts ten seconds, and what opens a file waits.
file_is() { mount_at 4.2 $mnt $port && within 60 cmp $work/bytes $mnt/file; }

both_as_before() {
	verdict "$1: login, and the disk is as it was" disk_is
	verdict "$1: what is written is at the target" written_there
	verdict "$1: logout" log_out
	verdict "$1: mount of port $port, and the file is as it was" file_is
	verdict "$1: it writes" within 120 dd if=/dev/zero of=$mnt/other bs=1M count=4 conv=fsync status=none
	verdict "$1: umount" unmount $mnt
}

# serve ISCSI NFS NOT...: who does it, and who does not
serve() {
	local module
	[ "$(cat "/sys/module/$1/refcnt")" -gt 0 ] && loaded "$2" || return
	for module in "${@:3}"; do ! loaded "$module" || return; done
}

name_is_taken() {
	! modprobe svckdat replace=1 2> /dev/null && ! loaded svckdat &&
		dmesg | grep 'svckdat: nfsd has a listener "rdma" already' > /dev/null
}

# As after a reboot: nothing is loaded. The client has made no mount since, so rpcrdma is loaded
# as Debian does it when an RDMA device appears.
reboot() {
	systemctl stop nfs-server rtslib-fb-targetctl && rmdir $target/iscsi &&
		gone kdat_iser rpcrdma svckdat kdapl iscsi_target_mod &&
		gone target_core_{iblock,file,pscsi,user} target_core_mod &&
		modprobe -a xprtrdma svcrdma && systemctl start rtslib-fb-targetctl nfs-server
}

begin_storage
mkdir -p $mnt $work/shm
mount -t tmpfs -o size=160m none $work/shm
truncate -s 128M $work/shm/file
head -c 1M /dev/urandom > $work/bytes
dd if=$work/bytes of=$work/shm/file conv=notrunc status=none
modprobe -a configfs target_core_mod iscsi_target_mod nfsd lockd sd_mod
initiator_up
node -o new -I iser > /dev/null

log "the kernel's own"
verdict "targetcli makes a target and saves it" save_target
[ $failed -eq 0 ] || die "there is nothing to move"
verdict "the daemons of nfsd" daemons_up
verdict "nfsd starts" systemctl start nfs-server
cp $work/bytes $exported/file
verdict "ib_isert and rpcrdma serve" serve ib_isert rpcrdma kdat_iser svckdat
both_as_before "stock"

log "over"
install_modules || die "the modules are not installed"
verdict "svckdat does not load beside rpcrdma under its name" name_is_taken
verdict "the page's names" follow names
verdict "the page's way over" follow over
verdict "the page's look at it" follow look
verdict "kdat_iser and svckdat serve" serve kdat_iser svckdat ib_isert rpcrdma
both_as_before "over"
verdict "the client's module has loaded beside it" loaded rpcrdma
verdict "nfsd starts anew" systemctl stop nfs-server
verdict "... and listens as before" systemctl start nfs-server
verdict "... at the port of nfs.conf" follow look

log "a reboot"
verdict "all modules go and come" reboot
verdict "the page's look at it" follow look
both_as_before "after a reboot"

log "back"
verdict "the page's way back" follow back
verdict "ib_isert and rpcrdma serve" serve ib_isert rpcrdma kdat_iser svckdat
both_as_before "back"

log "the end"
systemctl stop nfs-server rtslib-fb-targetctl
rmdir $target/iscsi
for daemon in rpc.mountd rpc.statd rpcbind dbus-daemon; do kill "$(pidof $daemon)"; done
initiator_down
verdict "ib_isert unloads" gone ib_isert
verdict "kdapl unloads" gone kdapl
verdict "LIO unloads" gone iscsi_target_mod
gone target_core_{iblock,file,pscsi,user} target_core_mod
verdict "the NFS client and rpcrdma unload" gone nfsv4 nfs rpcrdma
end_storage
