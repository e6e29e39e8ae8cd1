#!/bin/bash
# The kernel's iSER initiator with a target of LIO, in the virtual machine: discovery, logins
# with and without CHAP, what is negotiated, several sessions, file systems, mixed sizes and
# depths with every byte compared, memory that is given back, aborts and resets, many logins. At
# the end nothing is left.
# usage: iser.sh [--brief] MODE MODULES [PART...]
#   --brief  seconds instead of minutes
#   MODE     who is the target: "stock" (ib_isert) or "kdat" (kdat_iser)
#   MODULES  folder that scripts/build-modules made; of no matter with "stock"
#   PART     only these: login address negotiated sessions ext4 xfs verify memory blocks reset
#            logins bad taken chap; of these memory, taken, and bad, what no good initiator sends,
#            are not for "stock"
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
options "$@"

mnt=/mnt/iser
# shellcheck disable=SC2034 # of seconds, for the initiator
patience=120
minute=$(of 60 3)

# --- login ----------------------------------------------------------------------------

tcp_opens() { awk '$1 == "Tcp:" && $6 ~ /^[0-9]/ { print $6 }' /proc/net/snmp; }

# The portal answers on TCP as well, so this checks that no TCP connection was opened: the
# answer has come over RDMA.
discovered() {
	local before
	before=$(tcp_opens)
	discover > $work/discovered || return
	grep -q "^$at,1 $iqn\$" $work/discovered && [ "$(tcp_opens)" -eq "$before" ]
}

over_iser() { iscsiadm -m session | grep -q "^iser: .*$iqn"; }

# What the initiator writes has to be at the same place of the disk behind the target, and the
# other way round.
same_bytes() {
	local disk
	disk=/dev/$(disk 0)
	dd if=/dev/urandom of=$work/bytes bs=4k count=300 status=none &&
		dd if=$work/bytes of="$disk" bs=1200k seek=1 oflag=direct status=none &&
		dd if=/dev/ram0 of=$work/behind bs=1200k skip=1 count=1 iflag=direct status=none &&
		cmp $work/bytes $work/behind &&
		dd if=/dev/urandom of=$work/bytes bs=4k count=300 status=none &&
		dd if=$work/bytes of=/dev/ram0 bs=1200k seek=2 oflag=direct status=none &&
		dd if="$disk" of=$work/behind bs=1200k skip=2 count=1 iflag=direct status=none &&
		cmp $work/bytes $work/behind
}

login() {
	verdict "discovery, over RDMA alone" discovered
	verdict "login: the LUNs are there" log_in 1
	verdict "the session is one of iSER" over_iser
	verdict "the right target serves it ($serving)" right_one_serves
	verdict "1.2 MB written are behind the target, and read from there" within 60 same_bytes
	verdict "logout: the session is gone" log_out
}

# --- a second address -----------------------------------------------------------------

# portal_at ADDRESS KIND: has the portal there for a while
portal_at() {
	portal 0
	at=$1:3260
	mkdir "$tpg/np/$at" && portal 1
	node -o new -I iser > /dev/null
	verdict "login at $2 of the adapter" log_in 1
	verdict "... and its data" verified 1 4 "/dev/$(disk 0)"
	verdict "... and out again" log_out
	node -o delete
	portal 0 && rmdir "$tpg/np/$at"
	at=$server:3260
	portal 1
}

# A portal has one address. This adapter has several, and a request that comes to one is not for a
# portal at another.
other_portals() {
	second_address
	portal_at $second "a second address"
	ipv6_addresses || die "no addresses of IPv6"
	portal_at "[$server6]" "an IPv6 address"
}

# --- CHAP -----------------------------------------------------------------------------

# chap PASSWORD PASSWORD-BACK: the initiator's own password, and the one that it expects of the
# target
chap() {
	setting node.session.auth.authmethod CHAP &&
		setting node.session.auth.username one &&
		setting node.session.auth.password "$1" &&
		setting node.session.auth.username_in other &&
		setting node.session.auth.password_in "$2"
}

# refused WHY: no session comes up, iscsiadm says WHY, and at the target nothing is left of it
refused() {
	! within 150 node -l > $work/login 2>&1 && grep -q "$1" $work/login &&
		wait_for 120 logged_in 0 && same_objects chap && return
	cat $work/login
	return 1
}

with_chap() {
	count_objects chap
	echo 1 > $tpg/attrib/authentication
	echo -n one > $tpg/auth/userid
	echo -n secret-of-one > $tpg/auth/password
	echo -n other > $tpg/auth/userid_mutual
	echo -n secret-of-other > $tpg/auth/password_mutual
	chap secret-of-one secret-of-other
	verdict "CHAP: both know each other's password" log_in
	verdict "... and out again" log_out
	chap wrong-secret-of-one secret-of-other
	verdict "CHAP: the initiator's wrong password is refused" \
		refused "authorization failure"
	# ib_isert has been seen to answer nobody after a login that was refused.
	[ "$mode" != stock ] || return
	# Here it is the initiator who breaks the login off.
	chap secret-of-one wrong-secret-of-other
	verdict "CHAP: the target's wrong password is refused" \
		refused "non-retryable iSCSI login failure"
	setting node.session.auth.authmethod None
	# LIO rejects the method, and the initiator has no other one.
	verdict "CHAP: who says nothing of himself is refused" \
		refused "non-retryable iSCSI login failure"
	chap secret-of-one secret-of-other
	verdict "CHAP: who knows the password is let in after them" log_in
	verdict "... and out again" log_out
	echo 0 > $tpg/attrib/authentication
	setting node.session.auth.authmethod None
}

# --- what is negotiated ---------------------------------------------------------------

# The data of a write comes with the command (immediate), in PDUs behind it (unsolicited), or is
# read by the target. Which of these, and how much, is negotiated.
negotiated() {
	local immediate r2t
	for immediate in Yes No; do
		for r2t in Yes No; do
			echo $immediate > $tpg/param/ImmediateData
			echo $r2t > $tpg/param/InitialR2T
			echo 16384 > $tpg/param/FirstBurstLength
			setting node.session.iscsi.ImmediateData $immediate
			setting node.session.iscsi.InitialR2T $r2t
			verdict "login with ImmediateData=$immediate InitialR2T=$r2t" log_in 1
			verdict "... and its data" verified $((minute / 6)) 8 "/dev/$(disk 0)"
			log_out
		done
	done
	setting node.session.iscsi.ImmediateData Yes
	setting node.session.iscsi.InitialR2T No
}

# --- sessions -------------------------------------------------------------------------

# each_verified N: the disk of each of N sessions, all at the same time, each in another part of
# it
each_verified() {
	local n pids=() failed=0
	for n in $(seq "$1"); do
		fio_verify $((minute / 3)) 4 "/dev/$(disk 0 "$n")" --offset=$(((n - 1) * 32))m &
		pids+=($!)
	done
	for n in "${pids[@]}"; do wait "$n" || failed=1; done
	return $failed
}

several() {
	setting node.session.nr_sessions 8
	verdict "8 sessions" log_in 8
	verdict "all 8 write and read at once" within $((minute + 1200)) each_verified 8
	verdict "8 sessions log out" log_out
	setting node.session.nr_sessions 1
}

# --- file systems ---------------------------------------------------------------------

trees() {
	mkdir "$1/tree" && source_tree | tar -C "$1/tree" -xf - || return
	$brief || cp -r /usr/src/linux-headers-*-common/include "$1/tree/include"
	rm -rf "$1/tree/build"
}

# filesystem NAME LUN
filesystem() {
	local disk fs=$1
	mkdir -p $mnt $work/tree
	[ -d $work/tree/tree ] || trees $work/tree
	sums $work/tree/tree > $work/sums
	verdict "$fs: login" log_in 1
	disk=/dev/$(disk "$2")
	case $fs in
	ext4) verdict "ext4: mkfs" within 300 mkfs.ext4 -qF "$disk";;
	xfs) verdict "xfs: mkfs" within 300 mkfs.xfs -qf "$disk";;
	esac
	verdict "$fs: mount" within 120 mount -t "$fs" "$disk" $mnt
	verdict "$fs: copy a source tree of $(wc -l < $work/sums) files" within 600 copied
	verdict "$fs: umount" within 300 umount $mnt
	verdict "$fs: logout and login" log_out
	log_in 1
	disk=/dev/$(disk "$2")
	verdict "$fs: mount again" within 120 mount -t "$fs" "$disk" $mnt
	verdict "$fs: the checksums are equal" within 600 same_sums
	verdict "$fs: remove half of it, and umount" within 300 halved
	case $fs in
	ext4) verdict "ext4: fsck finds nothing" within 300 quiet e2fsck -fn "$disk";;
	xfs) verdict "xfs: repair finds nothing" within 300 quiet xfs_repair -n "$disk";;
	esac
	log_out
}

copied() { cp -r $work/tree/tree $mnt/ && sync -f $mnt; }

same_sums() {
	sums $mnt/tree > $work/sums.there && diff $work/sums $work/sums.there > $work/sums.diff &&
		return
	head $work/sums.diff
	return 1
}

halved() {
	find $mnt/tree -type f | awk 'NR % 2' | xargs rm -f &&
		[ "$(find $mnt/tree -type f | wc -l)" -eq $(($(wc -l < $work/sums) / 2)) ] &&
		umount $mnt
}

# --- mixed sizes and depths -----------------------------------------------------------

verify() {
	local depth kind=0
	verdict "login" log_in 1
	for depth in 1 4 32; do
		for kind in 0 1; do
			verdict "512 B to 1 MiB, depth $depth, all of it compared, LUN $kind" \
				verified $((minute / 2)) $depth "/dev/$(disk $kind)"
		done
	done
	verdict "logout" log_out
}

# --- memory that comes and goes ---------------------------------------------------------

# grown DISK: there is more room, after I/O that takes it.  How much of that is under way at a time
# is the initiator's choice, so it may take several attempts.
grown() { all_at_once "$1" && pool_grew room 16; }

# A session has room for 16 commands, and gets more when more of them are under way.
memory() {
	local before
	verdict "login: with room for 16 commands" log_in 1
	verdict "... and no more" pool_is room 16
	verdict "... the memory of the login is given back" wait_for 60 pool_is login 0
	before=$(lmrs)
	verdict "I/O of depth 32: there is more room" wait_for 300 grown "/dev/$(disk 0)"
	verdict "... all of it compared" verified $((minute / 2)) 32 "/dev/$(disk 0)"
	squeeze
	verdict "the kernel needs memory: room for 16 commands is left" wait_for 60 pool_is room 16
	verdict "... and as many LMRs as at first" wait_for 60 lmrs_are "$before"
	verdict "I/O after that: all of it compared" verified $((minute / 2)) 32 "/dev/$(disk 0)"
	verdict "... of depth 32: there is more room again" wait_for 300 grown "/dev/$(disk 0)"
	verdict "I/O while the kernel needs memory: all of it compared" \
		squeezed delayed 5ms verified $((minute / 2)) 32 "/dev/$(disk 1)"
	verdict "logout" log_out
}

# --- disks that take whole pages ------------------------------------------------------

# blocks_arrive BEHIND BLOCK SIZE: writes that are short enough to come with their commands, to
# a disk with blocks of BLOCK bytes
blocks_arrive() {
	local disk behind=$1 block=$2 size=$3
	disk=/dev/$(disk 3)
	[ "$(cat "/sys/block/${disk#/dev/}/queue/logical_block_size")" -eq "$block" ] &&
		dd if=/dev/urandom of=$work/bytes bs="$size" count=500 status=none &&
		dd if=$work/bytes of="$disk" bs="$size" oflag=direct status=none &&
		dd if="$behind" of=$work/behind bs="$size" count=500 iflag=direct status=none &&
		cmp $work/bytes $work/behind
}

# The driver of such a disk takes each page from its beginning, at whatever offset the data is.
# So the target must not use data in place that does not begin with a page.
large_blocks() {
	# The debug kernel has no such disk.
	! debug_kernel || return 0
	modprobe zram num_devices=1 || die "no zram"
	echo 64M > /sys/block/zram0/disksize
	lun 3 iblock pages udev_path=/dev/zram0 || die "no disk of compressed memory"
	luns=4
	verdict "login: with a disk of 4 KiB blocks" log_in 1
	verdict "... each block of 4 KiB is as it was written" \
		within 120 blocks_arrive /dev/zram0 4096 4k
	verdict "... and two in one write" within 120 blocks_arrive /dev/zram0 4096 8k
	verdict "... and out again" log_out
	luns=3
	rm $tpg/lun/lun_3/port
	rmdir $tpg/lun/lun_3 $target/core/iblock_0/pages
	verdict "... and the disk can go" gone zram
}

# host_disk: of scsi_debug, at the target's host
host_disk() { ls /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block 2> /dev/null; }

# LIO passes commands on to a SCSI disk (pscsi). It refuses data in which one entry goes from
# one page into the next. The kernel's own target hands such data to it, so this is not for
# stock.
passed_on() {
	local core=$target/core/pscsi_0/passed first=scsi_channel_id=0,scsi_target_id=0,scsi_lun_id=0
	local behind host
	[ "$mode" != stock ] || return 0
	modprobe scsi_debug dev_size_mb=64 delay=0 || die "no scsi_debug"
	wait_for 120 host_disk > /dev/null || die "no disk of scsi_debug"
	behind=/dev/$(host_disk)
	host=$(basename /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*)
	mkdir -p $core || die "LIO does not pass commands on"
	echo -n "$behind" > $core/udev_path
	lun 3 pscsi passed "scsi_host_id=${host#host},$first" || die "not to scsi_debug"
	luns=4
	verdict "login: with a disk that commands are passed on to" log_in 1
	verdict "... writes of 4 KiB are as they were made" \
		within 120 blocks_arrive "$behind" 512 4k
	verdict "... and of 8 KiB" within 120 blocks_arrive "$behind" 512 8k
	verdict "... and out again" log_out
	luns=3
	rm $tpg/lun/lun_3/port
	rmdir $tpg/lun/lun_3 $core ${core%/*}
	verdict "... and the disk can go" gone scsi_debug
}

# --- aborts and resets ----------------------------------------------------------------

statistics() { cat "$target/core/iblock_0/$1/statistics/$2"; }

said() { [ "$(dmesg | grep -c "$1")" -gt "$2" ]; }

# The initiator aborts a command that the disk holds back; the target answers that when the disk
# lets go.
aborted() {
	local disk writer before after found
	disk=$(disk 2)
	before=$(statistics held scsi_tgt_dev/aborts_complete)
	found=$(dmesg | grep -c 'ABORT_TASK: Found')
	echo 2 > "/sys/block/$disk/device/timeout"
	hold
	dd if=/dev/urandom of="/dev/$disk" bs=64k count=1 oflag=direct status=none & writer=$!
	wait_for 60 said 'ABORT_TASK: Found' "$found"; found=$?
	let_go
	wait $writer || return
	after=$(statistics held scsi_tgt_dev/aborts_complete)
	echo 30 > "/sys/block/$disk/device/timeout"
	[ $found -eq 0 ] && [ "$after" -gt "$before" ]
}

# resets WHAT COUNT PAUSE: sg_reset under I/O, all of which has to succeed
resets() {
	local disk i pid
	disk=/dev/$(disk 0)
	fio_verify "$minute" 8 "$disk" & pid=$!
	for i in $(seq "$2"); do
		sleep "$3"
		sg_reset -N "$1" "$disk" || {
			wait $pid
			dmesg | grep -iE 'iscsi|iser|connection[0-9]|scsi' | tail -15
			return 1
		}
	done
	wait $pid || { fio_told "$disk"; return 1; }
}

# lun_resets COUNT
lun_resets() {
	local before
	before=$(statistics ram scsi_lu/resets)
	resets -d "$1" 0.3 && [ "$(statistics ram scsi_lu/resets)" -ge $((before + $1)) ]
}

# kdapl_late has some commands that are complete when a reset comes handed over only after LIO
# has answered the reset. The kernel's own target then sends answers to commands that the
# initiator knows no more.
late_resets() {
	local rc
	insmod "$modules/tests/storage/late/kdapl_late.ko" || return
	lun_resets 60
	rc=$?
	rmmod kdapl_late
	return $rc
}

reset() {
	verdict "login" log_in 1
	verdict "task abort: of a command that the disk keeps" within 180 aborted
	verdict "... and the disk goes on" verified 1 8 "/dev/$(disk 2)"
	verdict "LUN resets under I/O: counted, and all data as written" \
		within $((minute + 240)) lun_resets "$(of 40 10)"
	[ "$mode" = stock ] || verdict "... and while LIO hands some commands over late" \
		within $((minute + 240)) late_resets
	# LIO refuses a target reset, and the initiator logs in again.
	verdict "target resets under I/O: all data as written" \
		within $((minute + 300)) resets -t "$(of 10 2)" 1
	verdict "logout" log_out
}

# --- many logins ----------------------------------------------------------------------

many() {
	local i
	for i in $(seq "$1"); do
		{ log_in 1 && log_out; } || { echo "at login $i"; return 1; }
	done
}

logins() {
	log_in 1 && log_out
	count_objects logins
	verdict "$(of 200 10) logins and logouts" many "$(of 200 10)"
	verdict "... leave as many RDMA objects as there were" same_objects logins
}

# --- bad initiators -------------------------------------------------------------------

bad() {
	# Of the good PDUs among the bad ones, some are unsolicited data.
	echo Yes > $tpg/param/ImmediateData
	echo No > $tpg/param/InitialR2T
	program "bad initiators" "$programs/bad_pdus" $client $server $iqn
	verdict "after them: login" log_in 1
	verdict "... and logout" log_out
}

# --- a port that somebody else has -------------------------------------------------------

# At the adapter that initiators come to, while the other one can listen
taken() {
	verdict "the portal goes off" within 60 portal 0
	verdict "another consumer listens at the port of one adapter" take_port rxe1-1 3260
	verdict "... the portal goes on all the same" within 60 portal 1
	verdict "... the other consumer goes" give_port
	verdict "... and kdat_iser listens there" wait_for 60 listens_again kdat_iser
	verdict "... login" log_in 1
	verdict "... logout" log_out
}

# --------------------------------------------------------------------------------------

begin_storage
disks_up $((384 * 1024))
target_modules_up
target_up || die "the target is not set up"
initiator_up
node -o new -I iser > /dev/null
! part login || login
! part address || other_portals
! part negotiated || negotiated
! part sessions || several
! part ext4 || filesystem ext4 0
! part xfs || filesystem xfs 1
! part verify || verify
[ "$mode" = stock ] || ! part memory || memory
! part blocks || { large_blocks; passed_on; }
! part reset || reset
! part logins || logins
[ "$mode" = stock ] || ! part bad || bad
[ "$mode" = stock ] || ! part taken || taken
! part chap || with_chap
log "the end"
initiator_down
verdict "the target is removed" within 60 target_down
target_modules_down
disks_down
end_storage
