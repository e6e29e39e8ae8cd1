#!/bin/bash
# Suites that others have written, over the kernel's iSER initiator and NFS client, in the virtual
# machine. scripts/suites calls it, once for the kernel's own target and server and once for ours,
# and compares: a case that fails is no failure here. Each case is a line
#   pass|fail|skip SUITE: CASE
# which a reason may follow, and what it has said and what has to be the same for both is a file
# of SUITE and CASE in /out/said.MODE.
# usage: suites.sh [--brief] MODE MODULES [SUITE...]
#        suites.sh --list
#   --brief  a part of the cases, and seconds instead of minutes
#   MODE     who serves: "stock" (ib_isert, svcrdma) or "kdat" (kdat_iser, svckdat)
#   MODULES  folder that scripts/build-modules made; of no matter with "stock"
#   SUITE    only these: scsi-tcp scsi-iser scsi-disk sg3 fio-disk multipath for disks, and
#            fs-random dbench stress-ng two-clients nconnect krb5 for files
# KDAPL_SEED makes the choices of an earlier run.
set -u -o pipefail
# shellcheck source=tests/storage/setup.sh
. "$(dirname "$(readlink -f "$0")")/setup.sh"
of_disks='scsi-tcp scsi-iser scsi-disk sg3 fio-disk multipath'
of_files='fs-random dbench stress-ng two-clients nconnect krb5'
[ "${1-}" != --list ] || { echo "$of_disks $of_files"; exit; }
options "$@"

mnt=/mnt/suites
# shellcheck disable=SC2034 # of seconds, for the initiator
patience=120
seed=${KDAPL_SEED:-1}
suite=''
said=/out/said.$mode
mkdir -p "$said"

# --- cases ------------------------------------------------------------------------------

# needs COMMAND...: does this machine have them?
needs() {
	local need
	for need; do
		[ -z "$(type -P "$need")" ] || continue
		echo "skip $suite: all of it (there is no $need: scripts/setup suites)"
		return 1
	done
}

# wanted SUITE: begins it
wanted() { suite=$1; part "$1"; }

# check CASE COMMAND...
check() {
	local name=$1
	shift
	if within 600 "$@" > $work/case 2>&1; then
		echo "pass $suite: $name"
	else
		echo "fail $suite: $name ($(tail -1 $work/case | tr -c '[:print:]' ' '))"
		cp $work/case "/out/failed.$mode.$suite: ${name//\//_}"
		return 1
	fi
}

# same CASE COMMAND...: what it says has to be the same for both modes, whatever it is
same() {
	local name=$1
	check "$@"
	cp $work/case "$said/$suite: ${name//\//_}"
}

# --- libiscsi's iscsi-test-cu -------------------------------------------------------------

# In brief those of its suites which move data, and those about which targets differ most.
scsi_suites=$(of "$(iscsi-test-cu --list 2> /dev/null | sed -n 's/^SCSI\.\([^.]*\)$/\1/p')" \
	"CompareAndWrite Inquiry ProutRegister ProutReserve Read10 Read16 Unmap Write10 Write16 WriteSame16")

# Reads what iscsi-test-cu says, and prints its cases. One that has said neither has crashed.
cu_cases() {
	awk -v suite="$suite" -v of="$1" '
		/^ *Test: / { over(); name = $0; sub(/^ *Test: /, "", name); sub(/ *\.\.\..*/, "", name) }
		name != "" && /\[SKIPPED\]/ { skipped = 1 }
		name != "" && /\.*passed *$/ { over(skipped ? "skip" : "pass") }
		name != "" && /\.*FAILED *$/ { over("fail") }
		END {
			over()
			if (!cases)
				print "fail " suite ": " of " (no case was run)"
		}
		function over(result) {
			cases += name != ""
			if (name != "")
				print (result ? result : "fail"), suite ": " of "." name \
					(result ? "" : " (it has not ended)")
			name = ""
			skipped = 0
		}' $work/cu
}

# test_cu ADDRESS FAMILY SUITE...: each by itself, since the program may crash
test_cu() {
	local address=$1 family=$2 one
	shift 2
	for one; do
		within 900 iscsi-test-cu --dataloss --test="$family.$one" "$address" > $work/cu 2>&1
		cu_cases "$one"
		cp $work/cu "/out/cu.$mode.$suite.$one"
	done
}

# Its own initiator over TCP, where no RDMA is: what LIO says
scsi_tcp() {
	needs iscsi-test-cu || return
	# shellcheck disable=SC2086 # a list of words
	test_cu "iscsi://$server/$iqn/1" SCSI $scsi_suites
	$brief || test_cu "iscsi://$server/$iqn/1" iSCSI iSCSI{cmdsn,datasn,Residuals,TMF}
}

# again COMMAND...: up to five times. The thread in which libiscsi handles connections races with
# the one that uses them, at the first login as well.
again() {
	local i
	for i in 1 2 3 4 5; do "$@" && return; done
	return 1
}

# Its own initiator over iSER. The tools log in once and work; iscsi-test-cu does so a second time,
# which its library does not survive in 1.19.0, with any target. It announces immediate data, and
# does not send them.
scsi_iser() {
	local lun=iser://$server/$iqn/1
	needs iscsi-inq iscsi-perf iscsi-test-cu || return
	echo No > $tpg/param/ImmediateData
	check "iscsi-inq" again iscsi-inq "$lun"
	check "iscsi-inq, designators" again iscsi-inq --evpd=1 --pagecode=131 "$lun"
	check "iscsi-readcapacity16" again iscsi-readcapacity16 "$lun"
	check "iscsi-perf, in order" again iscsi-perf -m 32 -b 8 -t "$(of 20 3)" "$lun"
	check "iscsi-perf, random" again iscsi-perf --random -m 32 -b 64 -t "$(of 20 3)" "$lun"
	test_cu "$lun" SCSI Read10
	echo Yes > $tpg/param/ImmediateData
}

# The kernel's initiator
scsi_disk() {
	needs iscsi-test-cu || return
	# shellcheck disable=SC2086
	test_cu "/dev/$(disk 1)" LINUX $scsi_suites
}

# --- sg3-utils ----------------------------------------------------------------------------

# pr DISK ARGUMENT...
pr() { sg_persist --no-inquiry "${@:2}" "/dev/$1"; }
refused() { ! "$@"; }
written() { dd if=/dev/zero of="/dev/$1" bs=4k count=1 oflag=direct status=none; }
read_from() { dd if="/dev/$1" of=/dev/null bs=4k count=1 iflag=direct status=none; }

# Two sessions, which are two initiators to persistent reservations
reservations() {
	local a=$1 b=$2
	check "register the first" pr "$a" --out --register --param-sark=0xa1
	check "register the second" pr "$b" --out --register --param-sark=0xb2
	same "both keys are there" pr "$a" --in --read-keys
	check "reserve: write exclusive" pr "$a" --out --reserve --param-rk=0xa1 --prout-type=1
	same "the reservation is seen" pr "$b" --in --read-reservation
	check "who has it writes" written "$a"
	check "the other one does not" refused written "$b"
	check "the other one reads" read_from "$b"
	check "the other one cannot release it" refused pr "$b" --out --release --param-rk=0xbad --prout-type=1
	check "release" pr "$a" --out --release --param-rk=0xa1 --prout-type=1
	check "reserve: exclusive access" pr "$b" --out --reserve --param-rk=0xb2 --prout-type=3
	check "who has it not does not read" refused read_from "$a"
	check "preempt" pr "$a" --out --preempt --param-rk=0xa1 --param-sark=0xb2 --prout-type=3
	same "the reservation is the first one's" pr "$a" --in --read-reservation
	check "who was preempted does not write" refused written "$b"
	check "clear" pr "$a" --out --clear --param-rk=0xa1
	same "no key is there" pr "$a" --in --read-keys
	check "all write" written "$b"
	same "all that is known of who is registered" pr "$a" --in --read-full-status
	same "what it can" pr "$a" --in --report-capabilities
}

# second_initiator: logs in under another name, beside the one who is there. Its record takes the
# place of the first one's.
second_initiator() {
	mkdir -p /etc/iscsi/ifaces && cat > /etc/iscsi/ifaces/second <<-E &&
		iface.iscsi_ifacename = second
		iface.transport_name = iser
		iface.initiatorname = iqn.2003-01.org.example:second
	E
		node -o new -I second > /dev/null && within 300 node -I second -l > $work/login 2>&1 &&
		wait_for 60 disks_there 2
}

sg3() {
	local page disk second
	needs sg_inq sg_persist || return
	{ log_in 1 && second_initiator; } || { cat $work/login; return; }
	disk=$(disk 1 1) second=$(disk 1 2)
	same "sg_inq" sg_inq "/dev/$disk"
	for page in 0x00 0x80 0x83 0xb0 0xb1 0xb2; do
		same "sg_vpd $page" sg_vpd --page=$page "/dev/$disk"
	done
	same "sg_luns" sg_luns "/dev/$disk"
	same "sg_readcap" sg_readcap --long "/dev/$disk"
	same "sg_modes" sg_modes --all "/dev/$disk"
	same "sg_opcodes" sg_opcodes "/dev/$disk"
	same "sg_requests" sg_requests "/dev/$disk"
	same "sg_rtpg" sg_rtpg "/dev/$disk"
	check "sg_turs" sg_turs --number=16 "/dev/$disk"
	check "sg_sync" sg_sync "/dev/$disk"
	check "sg_verify" sg_verify --lba=0 --count=64 "/dev/$disk"
	check "sg_write_same" sg_write_same --16 --lba=8 --num=64 --in=/dev/zero --xferlen=512 "/dev/$disk"
	check "sg_write_same, unmap" sg_write_same --16 --unmap --lba=8 --num=64 "/dev/$disk"
	check "sg_unmap" sg_unmap --lba=64 --num=64 --force "/dev/$disk"
	check "sg_dd" sg_dd if=/dev/urandom of="/dev/$disk" bs=512 count=2048 bpt=256 oflag=sgio
	check "sg_read" sg_read if="/dev/$disk" bs=512 count=4096 bpt=256 blk_sgio=1
	check "sg_read_buffer" sg_read_buffer "/dev/$disk"
	check "sg_compare_and_write" compared_and_written "$disk"
	check "sg_reset" sg_reset --no-esc -d "/dev/$disk"
	# Each session is told once that it was reset.
	sg_turs "/dev/$disk"; sg_turs "/dev/$second"
	reservations "$disk" "$second"
	within 120 iscsiadm -m session -u > /dev/null && wait_for 120 logged_in 0
	node -I second -o delete && rm /etc/iscsi/ifaces/second
	node -o new -I iser > /dev/null
}

# The first half of what is given is compared, the second written.
compared_and_written() {
	dd if="/dev/$1" of=$work/both bs=512 count=1 iflag=direct status=none &&
		dd if=/dev/urandom bs=512 count=1 status=none >> $work/both &&
		sg_compare_and_write --lba=0 --num=1 --xferlen=1024 --in=$work/both "/dev/$1" &&
		dd if="/dev/$1" bs=512 count=1 iflag=direct status=none |
			cmp - <(tail -c 512 $work/both)
}

# --- fio ----------------------------------------------------------------------------------

# job FILE NAME OPTION...: what it writes is read back and compared
job() {
	local file=$1 name=$2
	shift 2
	check "$name" fio --name=job --filename="$file" --allow_file_create=0 --randseed="$seed" \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 --ioengine=libaio "$@"
}

# trimmed DISK: blocks in its middle, and no other ones
trimmed() {
	dd if=/dev/urandom of=$work/before bs=64k count=48 status=none &&
		dd if=$work/before of="$1" bs=64k oflag=direct status=none &&
		blkdiscard --offset=1M --length=1M "$1" &&
		dd if=/dev/zero of=$work/before bs=64k seek=16 count=16 conv=notrunc status=none &&
		dd if="$1" bs=64k count=48 iflag=direct status=none | cmp - $work/before
}

fio_disk() {
	local disk
	needs fio || return
	log_in 1 || return
	disk=/dev/$(disk 1)
	check "trimmed blocks are zero" trimmed "$disk"
	job "$disk" "trimmed, then written" --rw=randtrimwrite --bs=16k --size=16m --direct=1 --iodepth=8
	job "$disk" "O_DIRECT from buffers at any sector" --rw=randwrite --bsrange=512-64k --size=16m \
		--direct=1 --iodepth=16 --mem_align=512
	job "$disk" "O_DIRECT, offsets at any sector" --rw=randwrite --bs=3584 \
		--blockalign=512 --size=16m --direct=1 --iodepth=8
	job "$disk" "buffered" --rw=randwrite --bsrange=512-64k --size=16m --direct=0 --fsync=32
	job "$disk" "lists of buffers" --rw=randrw --bs=128k --size=16m --direct=1 --ioengine=pvsync2
	log_out
}

# --- one disk by two portals ----------------------------------------------------------------

# of_second COMMAND...: of the session at the second portal, or its node
of_second() { at=$second:3260 "$@"; }

impatient() {
	setting 'node.conn[0].timeo.noop_out_interval' 2 && setting 'node.conn[0].timeo.noop_out_timeout' 5 &&
		setting 'node.conn[0].timeo.login_timeout' 15 &&
		setting node.session.timeo.replacement_timeout 5
}

# active N: so many paths to the disk work
active() {
	[ "$(multipathd show paths raw format '%t %T %m' | grep -c '^active ready mpath')" -eq "$1" ]
}

# Frames to an address go astray, or arrive.
astray() { ip neigh replace "$1" dev ve0 nud permanent lladdr 02:00:00:00:00:99; }
arrive() { ip neigh replace "$1" dev ve0 nud permanent lladdr "$(cat /sys/class/net/ve1/address)"; }

# without ADDRESS: I/O goes on when the path by it goes.
without() {
	local pid
	fio --name=job --filename=/dev/mapper/mpatha --allow_file_create=0 --rw=randwrite --bs=16k \
		--size=16m --direct=1 --iodepth=8 --ioengine=libaio --verify=crc32c \
		--verify_state_save=0 --loops="$(of 20 4)" --randseed="$seed" & pid=$!
	sleep 1
	astray "$1"
	wait_for 120 active 1 && wait $pid
}

multipath_of_two() {
	needs multipathd fio || return
	modprobe -a dm_multipath scsi_dh_alua && /lib/systemd/systemd-udevd --daemon || return
	second_address
	mkdir "$tpg/np/$second:3260" && of_second portal 1 || return
	of_second node -o new -I iser > /dev/null
	impatient && of_second impatient || return
	cat > /etc/multipath.conf <<-E
		defaults {
			user_friendly_names yes
			find_multipaths no
			polling_interval 1
			max_polling_interval 2
			path_checker tur
			no_path_retry queue
		}
		blacklist {
			devnode ".*"
		}
		blacklist_exceptions {
			devnode "^sd"
		}
	E
	multipathd
	luns=1
	rm -f "$tpg"/lun/lun_[02]/port
	rmdir "$tpg"/lun/lun_[02]
	check "login at both portals" node_logins
	check "one disk with two paths" wait_for 120 active 2
	check "a path goes, I/O goes on" without $second
	arrive $second
	if check "... and comes back" wait_for 180 active 2; then
		check "the other one goes, I/O goes on" without $server
		arrive $server
	fi
	check "the disk goes" wait_for 60 multipath -F
	multipathd shutdown > /dev/null
	udevadm control --exit
	iscsiadm -m node -u > /dev/null
	wait_for 120 logged_in 0
	of_second node -o delete
	of_second portal 0 && rmdir "$tpg/np/$second:3260"
}

node_logins() { iscsiadm -m node -l && wait_for 60 logged_in 2 && wait_for 60 disks_there 2 && awake; }

# --- files: random operations, loads, stresses ----------------------------------------------

# With version 4.2, whose operations make holes and copies, the client of Linux 6.1 loses bytes
# when O_DIRECT comes between them, over TCP as well. So there is none of it.
fs_random() {
	local version one how
	for version in $(of "3 4.0 4.1 4.2" "3 4.2"); do
		mount_at "$version" $mnt || return
		how=
		[ "$version" != 4.2 ] || how=buffered
		for one in $(seq "$seed" $((seed + $(of 7 1)))); do
			check "NFS $version, seed $one" "$programs/fs_random" $mnt/random \
				$exported/random "$one" "$(of 3000 600)" $how
		done
		unmount $mnt
	done
}

# load CLIENTS: something is written, and nothing fails. dbench says "failed to create barrier
# semaphore" in any case.
load() {
	dbench --directory=$mnt --timelimit="$(of 30 10)" --loadfile=/usr/share/dbench/client.txt "$1" &&
		grep -q '^ WriteX' $work/case && ! grep -qE 'ERROR|^\[' $work/case
}

dbench_load() {
	local version
	needs dbench || return
	for version in $(of "3 4.1 4.2" 4.2); do
		mount_at "$version" $mnt || return
		check "NFS $version, $(of 8 4) clients" load "$(of 8 4)"
		rm -rf $mnt/clients
		unmount $mnt
	done
}

# Its stressors of file systems, but for those that use no file of the folder that they are
# given, and those that move a file system.
stressors() {
	local none=" bind-mount binderfs eventfd fanotify inotify dnotify ioprio procfs xattr "
	local few=" access chmod copy-file dentry fallocate fcntl flock hdd lease link lockf mknod rename symlink utime "
	local one
	for one in $(stress-ng --class 'filesystem?' 2>&1 | sed 's/.*stressors: //'); do
		[[ $none != *" $one "* ]] && { ! $brief || [[ $few = *" $one "* ]]; } && echo "$one"
	done
}

stressed() {
	local what
	stress-ng --"$1" 1 --timeout "$(of 5 2)" --temp-path $mnt --verify --seed "$seed" \
		--oomable > $work/stress 2>&1
	what=$?
	case $what in
	0) echo "pass $suite: $1";;
	3|4) echo "skip $suite: $1 ($(grep -m 1 -iE 'skip|not ' $work/stress))";;
	*) echo "fail $suite: $1 ($(grep -m 1 -E 'fail|error' $work/stress))";;
	esac
	cp $work/stress "/out/stress.$mode.$1"
	find $mnt -mindepth 1 -delete 2> /dev/null
}

stress_ng() {
	local one
	needs stress-ng || return
	mount_at 4.2 $mnt || return
	for one in $(stressors); do
		within 900 stressed "$one" || echo "fail $suite: $one (it has not ended)"
	done
	wait_for 60 find $mnt -mindepth 1 -delete
	unmount $mnt
}

# --- two clients ----------------------------------------------------------------------------

# The clients of NFS 4.1 and 4.2 of one machine are two to the server, and so is that of 3.
a=/mnt/a b=/mnt/b

# locked FILE: somebody else has it
locked() { ! flock --nonblock "$1" true; }

# lock FOLDER: this shell has it
lock() { exec 6<> "$1/locked" && flock 6; }
let_lock_go() { flock --unlock 6; exec 6>&-; }

# FOLDER FIRST LENGTH COMMAND...: locks these bytes while it runs; 9: somebody else has them
lock_bytes='import fcntl, subprocess, sys
f = open(sys.argv[1] + "/bytes", "r+")
try:
	fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, int(sys.argv[3]), int(sys.argv[2]))
except BlockingIOError:
	sys.exit(9)
sys.exit(subprocess.call(sys.argv[4:]))'

# one_and_other FIRST LENGTH: one client has the first 100 bytes, the other wants these
one_and_other() {
	python3 -c "$lock_bytes" $a 0 100 python3 -c "$lock_bytes" $b "$1" "$2" true
}
not_twice() { one_and_other 50 100; [ $? -eq 9 ]; }

add_one() {
	local n
	(flock 7 && read -r n < "$1/counter" && echo $((n + 1)) > "$1/counter") 7<> "$1/locked"
}

# Both add to a counter, which the lock protects.
counted() {
	local one i pids=()
	echo 0 > $a/counter
	for one in $a $b; do
		for i in $(seq "$(of 100 20)"); do
			add_one "$one" || exit
		done & pids+=($!)
	done
	wait "${pids[0]}" && wait "${pids[1]}" && [ "$(cat $b/counter)" -eq $(($(of 100 20) * 2)) ]
}

# A client may keep to itself what it reads or writes, until the other one wants it.
has_delegation() { grep -q 'type: deleg' /proc/fs/nfsd/clients/*/states; }

# given: opens the file until a delegation comes with it: there are none just after nfsd's start.
given() { exec 5< $a/delegated; has_delegation || { exec 5<&-; return 1; }; }
written_by_other() { echo new > $b/delegated; }
known() { wait_for 30 grep -q new $a/delegated; }
removed_by_other() { rm $b/delegated; }
renamed_by_other() { mv $b/renamed $b/delegated && wait_for 60 test -e $a/delegated; }

two_clients() {
	local versions waiter
	needs python3 flock || return
	for versions in $(of "4.1+4.2 4.0+4.1 3+4.2" 4.1+4.2); do
		mount_at "${versions%+*}" $a && mount_at "${versions#*+}" $b || return
		touch $a/locked $a/bytes
		lock $a
		check "$versions: what one has locked the other cannot" locked $b/locked
		let_lock_go
		check "$versions: ... and then it can" flock --wait 60 $b/locked true
		lock $b
		check "$versions: and the other way round" locked $a/locked
		flock $a/locked true & waiter=$!
		let_lock_go
		check "$versions: who waits for it gets it" wait_for 60 is_over $waiter
		check "$versions: halves of a file" one_and_other 100 100
		check "$versions: not the same bytes" not_twice
		check "$versions: a counter" counted
		[ "${versions%+*}" = 3 ] || {
			echo old > $a/delegated
			wait_for 60 given
			check "$versions: a delegation" has_delegation
			check "$versions: ... is recalled when the other writes" written_by_other
			check "$versions: ... whose data are seen" known
			exec 5<&-
			cat $a/delegated > /dev/null
			check "$versions: ... and when it removes the file" removed_by_other
			touch $a/renamed
			check "$versions: ... or renames another one to it" renamed_by_other
			rm $a/delegated
		}
		rm -f $a/* 
		unmount $a; unmount $b
	done
}

# --- several connections for one mount ------------------------------------------------------

nconnect() {
	needs fio || return
	check "mount" mount_at 4.1 $mnt $port nconnect=4
	same "so many connections as there are" grep -c 'xprt:.rdma' /proc/self/mountstats
	truncate -s 16m $mnt/file
	job $mnt/file "O_DIRECT, depth 32" --rw=randwrite --bsrange=512-128k --size=16m --direct=1 --iodepth=32
	job $mnt/file "O_DIRECT, any offset and length" --rw=randwrite --bs=4999 --size="$(of 16m 2m)" \
		--direct=1 --iodepth=8 --mem_align=1
	rm -f $mnt/file
	check "umount" unmount $mnt
}

# ----------------------------------------------------------------------------------------

# any SUITE...: is one of them wanted?
any() {
	local one
	[ ${#parts[@]} -eq 0 ] && return
	for one; do [[ " ${parts[*]} " != *" $one "* ]] || return 0; done
	return 1
}

disks() {
	# LIO keeps reservations there, if asked to, and refuses all of them if it cannot write there.
	mkdir -p /var/target/pr /etc/target/pr
	local core
	for core in "$target"/core/*_0/*; do
		[ ! -d "$core/wwn" ] || echo "kdapl-suites-${core##*/}" > "$core/wwn/vpd_unit_serial" || return
	done
}

disks() {
	# LIO keeps reservations there, if asked to, and refuses all of them if it cannot write there.
	mkdir -p /var/target/pr /etc/target/pr
	disks_up $((64 * 1024))
	target_modules_up
	target_up || die "the target is not set up"
	echo 1 > $target/core/fileio_0/file/attrib/emulate_tpu
	echo 1 > $target/core/fileio_0/file/attrib/emulate_tpws
	initiator_up
	node -o new -I iser > /dev/null
	! wanted scsi-tcp || scsi_tcp
	! wanted scsi-iser || scsi_iser
	! wanted scsi-disk || { log_in 1 && scsi_disk; log_out; }
	! wanted sg3 || sg3
	! wanted fio-disk || fio_disk
	! wanted multipath || multipath_of_two
	log "the end of the disks"
	initiator_down
	verdict "the target is removed" within 300 target_down
	target_modules_down
	disks_down
}

# --- Kerberos -------------------------------------------------------------------------------

realm=EXAMPLE.ORG
kerberos_up() {
	local name
	printf '%s client.example.org\n%s server.example.org\n' $client $server >> /etc/hosts
	hostname client.example.org
	cat > /etc/krb5.conf <<-E
		[libdefaults]
			default_realm = $realm
			dns_lookup_kdc = false
			dns_canonicalize_hostname = false
		[realms]
			$realm = {
				kdc = 127.0.0.1
			}
		[domain_realm]
			.example.org = $realm
	E
	mkdir -p /etc/krb5kdc /var/lib/krb5kdc && kdb5_util create -s -r $realm -P secret && krb5kdc || return
	for name in nfs/client.example.org nfs/server.example.org; do
		kadmin.local -q "addprinc -randkey $name" && kadmin.local -q "ktadd $name" || return
	done
	modprobe -a auth_rpcgss rpcsec_gss_krb5 && rpc.svcgssd && rpc.gssd -p /var/lib/nfs/rpc_pipefs
}

with_kerberos() {
	local flavour
	needs krb5kdc kadmin.local rpc.gssd rpc.svcgssd || return
	check "a realm with its keys" kerberos_up
	exportfs -o rw,no_root_squash,insecure,fsid=0,sec=krb5:krb5i:krb5p "*:$exported"
	chmod 1777 $exported
	for flavour in krb5 krb5i krb5p; do
		check "$flavour: mount" krb5_mount $flavour || continue
		check "$flavour: seed $seed" "$programs/fs_random" $mnt/random $exported/random "$seed" \
			"$(of 3000 300)" buffered
		check "$flavour: umount" unmount $mnt
	done
	exportfs -o rw,no_root_squash,insecure,fsid=0,sec=sys "*:$exported"
	pkill -x rpc.gssd
	pkill -x rpc.svcgssd
	pkill -x krb5kdc
}

krb5_mount() {
	patience=300 server=server.example.org mount_at 4.2 $mnt "$port" sec="$1" &&
		grep -q " $mnt nfs4 .*proto=rdma.*sec=$1," /proc/mounts
}

files() {
	server_modules_up
	server_up 512M || die "the server is not set up"
	! wanted fs-random || fs_random
	! wanted dbench || dbench_load
	! wanted stress-ng || stress_ng
	! wanted two-clients || two_clients
	! wanted nconnect || nconnect
	! wanted krb5 || with_kerberos
	log "the end of the files"
	server_down
	server_modules_down
}

begin_storage
# shellcheck disable=SC2086 # lists of words
! any $of_disks || disks
# shellcheck disable=SC2086
! any $of_files || files
end_storage
