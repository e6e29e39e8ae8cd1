# Sourced by the tests and the benchmark of storage, in the virtual machine. Two RDMA devices
# stand for two hosts: the target or server is at 10.9.0.2 (rxe1), the kernel's own initiator or
# client at 10.9.0.1 (rxe0). Or there are two machines (pair.sh). MODE says what serves: stock is
# the kernel's own (ib_isert, svcrdma), kdat is ours (kdat_iser, svckdat, over kdapl). Everything
# else is the same, and is set up as an administrator does it: configfs, iscsiadm, exportfs, mount.
#
#   options "$@"            reads [--brief] MODE MODULES [PART...], as all scripts here take them
#   part NAME [TITLE]       false if PARTs were asked for, and NAME is none of them
#   begin_storage           makes the devices, and counts what is there before anything is set
#                           up; cabling=switch: with a switch between them (two_hosts)
#   end_storage             the last verdicts: nothing is left of what was set up
#
#   disks_up KIB, disks_down      the back ends: a RAM disk, a file, a disk that can be held
#   target_modules_up, _down      the modules that serve iSER
#   target_up, target_down        the target with these back ends as LUNs 0, 1, 2
#   portal 1|0, group 1|0         iSER at its portal, and the portal group, on and off
#   initiator_up, initiator_down  iscsid and ib_iser
#   discover, log_in, log_out     one session, or nr_sessions many
#   disk LUN [N]                  the name of the initiator's disk (of its Nth session)
#
#   server_modules_up, _down      the modules that serve NFS/RDMA
#   server_up, server_down        nfsd with its daemons, and the export $exported
#   listen_at PORTS               "rdma 20050", "kdat 20049"
#   mount_at VERSION FOLDER [PORT [OPTIONS]], unmount FOLDER    by_ipv6=1: of the IPv6 address
#
#   pool WHAT, pool_is WHAT N     what a connection of the target or server has by use
#   pool_grew WHAT N              it has more than N
#   all_at_once FILE              has 32 requests under way at the same time
#   squeeze                       the kernel asks for memory back that is not used
#   squeezed COMMAND...           while the command runs, again and again
#
#   take_port ADAPTER PORT, give_port   another consumer of kDAT listens there
#   listens_again MODULE          its log says that a port which was taken is its own now
#
#   within SECONDS COMMAND...     false if it fails, or has not ended by then; shows what hangs
#   quiet COMMAND...              its output is shown only if it fails
#   program NAME COMMAND...       one that prints and counts verdicts of its own
#   fio_verify SECONDS DEPTH FILE [OPTION...]   mixed sizes, all read back and compared
#   sums FOLDER                   the checksum of each file
# shellcheck shell=bash
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/guest/lib.sh
. "$here/../../scripts/guest/lib.sh"
# shellcheck source=tests/guest/count.sh
. "$here/../guest/count.sh"

# In one of two machines, KDAPL_PEER is the other host.
client=10.9.0.1 server=10.9.0.2
[ -z "${KDAPL_PEER-}" ] || client=10.9.1.1 server=10.9.1.2
work=/tmp/storage
# shellcheck disable=SC2034 # for those who source this
programs=${KDAPL_STORAGE_PROGRAMS:-$here/../../build/storage}
mkdir -p $work

usage() { sed -n '2,/^set -u/{/^set -u/d; s/^# \{0,1\}//p}' "$0"; }

options() {
	brief=false
	[ "${1-}" != --brief ] || { brief=true; shift; }
	mode=${1-} modules=${2-}
	case $mode in stock|kdat) ;; *) usage >&2; exit 2;; esac
	[ $# -ge 2 ] || { usage >&2; exit 2; }
	[ -x "$programs/fs_ops" ] || die "no $programs/fs_ops: make -C tests/storage"
	shift 2
	parts=("$@")
}

part() {
	[ ${#parts[@]} -eq 0 ] || [[ " ${parts[*]} " = *" $1 "* ]] || return
	log "${2-$1}"
}

# part_of PREFIX: is any PREFIX-PART wanted?
part_of() {
	local p
	[ ${#parts[@]} -eq 0 ] && return
	for p in "${parts[@]}"; do [[ $p = $1-* ]] && return; done
	return 1
}

# of FULL BRIEF: how much of something
of() { if $brief; then echo "$2"; else echo "$1"; fi; }

# --- time limits ----------------------------------------------------------------------

# hanging [PID]: prints where that process waits, the tasks that are stuck in the kernel, and the
# kernel's workers that are not idle, with their stacks
hanging() {
	local task idle=' worker_thread\| rescuer_thread\| kthread\| ret_from_fork\| new_thread_handler'
	for task in ${1:+"/proc/$1/task/"*} /proc/[0-9]*; do
		[[ $task = /proc/*/task/* ]] || grep -q '^State:.*D' "$task/status" ||
			{ grep -q '^kworker' "$task/comm" && grep -qv "$idle" "$task/stack"; } ||
			continue
		echo "hangs: $(cat "$task/comm") $(tr '\0' ' ' < "$task/cmdline")"
		cat "$task/stack"
	done >&2 2> /dev/null
}

# A process that hangs in the kernel would make wait hang as well, so this polls.
within() {
	local seconds=$1 end=$((SECONDS + $1)) pid
	shift
	"$@" & pid=$!
	until is_over $pid; do
		if [ $SECONDS -ge $end ]; then
			echo "has not ended after $seconds s: $*" >&2
			hanging $pid
			kill -KILL $pid
			return 1
		fi
		pause 0.1
	done
	wait $pid
}

# quiet COMMAND...: its output is shown only if it fails
quiet() {
	"$@" > $work/said 2>&1 && return
	tail -20 $work/said
	return 1
}

# program NAME COMMAND...: counts the verdicts that it prints, and has one more: it came to its
# end
program() {
	local name=$1 log=$work/program.log
	shift
	within 900 "$@" > $log 2>&1
	sed '/^[0-9]* passed, /d' $log
	passed=$((passed + $(grep -c '^ok ' $log)))
	failed=$((failed + $(grep -c '^FAIL ' $log)))
	verdict "$name: came to the end" grep -qE '^[0-9]+ passed, [0-9]+ failed$' $log
}

# --- devices and modules --------------------------------------------------------------

# RDMA objects of both devices: "rxe0: pd 1 qp 1 cm_id 0 mr 0 ...". The kernel keeps the CQs
# that it lends to the initiator and to its own target, so they are not counted; one that is
# still there when the device goes is reported by the kernel, and that fails the run.
rdma_objects() { rdma resource show | sed 's/^[0-9]*: //; s/ cq [0-9]*//' | sort; }

begin_storage() {
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
	modprobe configfs 2> /dev/null
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || die "no configfs"
	[ -n "${KDAPL_PEER-}" ] || two_hosts rxe "${cabling-}" || die "no RDMA devices"
	[ -n "${KDAPL_PEER-}" ] || neighbours || die "no neighbours"
	modprobe -a ib_core rdma_cm irq_poll 2> /dev/null
	count_objects begin
	log "$(uname -r), $mode, $($brief && echo brief || echo full)"
}

# second_address: gives the target's host the address $second as well, on the same device
second=10.9.0.3
second_address() {
	ip -batch - <<-E
		addr add $second/32 dev ve1
		route add $second/32 dev ve0 src $client table 100
		rule add pref 20 from $client to $second lookup 100
		rule add pref 21 from $second to $client lookup 101
		rule add pref 22 to $second lookup 100
	E
	ip neigh replace $second dev ve0 nud permanent lladdr "$(cat /sys/class/net/ve1/address)"
}

# ipv6_addresses: gives both hosts an address of IPv6, and has packets cross the pair as
# two_hosts does for those of IPv4
client6=fd00:9::1 server6=fd00:9::2
ipv6_addresses() {
	ip -6 -batch - <<-E &&
		addr add $client6/128 dev ve0 nodad
		addr add $server6/128 dev ve1 nodad
		route add $server6/128 dev ve0 src $client6 table 100
		route add $client6/128 dev ve1 src $server6 table 101
		rule add pref 10 iif ve0 lookup local
		rule add pref 11 iif ve1 lookup local
		rule add pref 20 from $client6 to $server6 lookup 100
		rule add pref 21 from $server6 to $client6 lookup 101
		rule add pref 22 to $server6 lookup 100
		rule add pref 23 to $client6 lookup 101
		rule add pref 40 lookup local
		rule del pref 0
		neigh replace $server6 dev ve0 nud permanent lladdr $(cat /sys/class/net/ve1/address)
		neigh replace $client6 dev ve1 nud permanent lladdr $(cat /sys/class/net/ve0/address)
	E
		wait_for 60 grep -qsx 'fd00:0009:.*:0001' /sys/class/infiniband/rxe0/ports/1/gids/* &&
		wait_for 60 grep -qsx 'fd00:0009:.*:0002' /sys/class/infiniband/rxe1/ports/1/gids/*
}

# Permanent neighbour entries, so that no request has to wait for ARP.
neighbours() {
	ip neigh replace $server dev ve0 nud permanent lladdr "$(cat /sys/class/net/ve1/address)" &&
		ip neigh replace $client dev ve1 nud permanent lladdr "$(cat /sys/class/net/ve0/address)"
}

# count_objects WHEN notes the RDMA objects; same_objects WHEN: are there as many as then? It
# waits, since objects are destroyed with a delay.
count_objects() { rdma_objects > "$work/objects.$1"; }
are_as_many() { rdma_objects | diff "$work/objects.$1" - > $work/objects.more; }
same_objects() { wait_for 60 are_as_many "$1" || { cat $work/objects.more; return 1; }; }

end_storage() {
	verdict "no RDMA object is left on any device" same_objects begin
	[ -n "${KDAPL_PEER-}" ] || verdict "the RDMA devices can go" within 60 two_hosts_down rxe
	result
}

loaded() { [ -e "/sys/module/$1" ]; }

# install_modules: as `make install-storage` does; LIO and nfsd load them then when they need
# them. The machine has the folder of modules read-only, so an overlay is mounted on it.
installed() { modinfo -n kdat_iser svckdat > /dev/null 2>&1; }
install_modules() {
	local release over=$work/over
	release=$(uname -r)
	mkdir -p $over && mount -t tmpfs none $over && mkdir $over/{upper,work} &&
		mount -t overlay none "/lib/modules/$release" -o \
			"lowerdir=/lib/modules/$release,upperdir=$over/upper,workdir=$over/work" ||
		return
	make -s -C "$here/../.." -o modules install-storage MODULES="$(readlink -f "$modules")" \
		RELEASE="$release" KDIR="/lib/modules/$release/build" && installed
}

kdapl_up() {
	loaded kdapl || insmod "$modules/kdapl.ko" || die "kdapl.ko does not load; see dmesg"
}

unloads() { ! loaded "$1" || rmmod "$1" 2> /dev/null; }

# delayed TIME COMMAND...: while all that the server sends takes so much longer
delayed() {
	local result time=$1
	shift
	modprobe sch_netem && tc qdisc replace dev ve1 root netem delay "$time" limit 10000 ||
		die "no sch_netem"
	"$@"; result=$?
	tc qdisc del dev ve1 root
	return $result
}

# gone MODULE...: unloads them; waits, since their last work items may still have to run
gone() {
	local module
	for module; do wait_for 120 unloads "$module" || return; done
}

kdapl_down() {
	[ "$mode" = kdat ] || return 0
	verdict "no kDAT object is left" wait_for 120 nothing_left
	verdict "kdapl unloads" gone kdapl
}

ended() { ! pidof "$@" > /dev/null; }

# --- back ends ------------------------------------------------------------------------

# disks_up KIB: RAM disk ram0, file $work/file, and the device mapper's "held" on ram1
disks_up() {
	modprobe brd rd_nr=2 rd_size="$1" max_part=0 || die "no RAM disk (brd)"
	modprobe -a target_core_mod target_core_iblock target_core_file dm_mod 2> /dev/null
	mkdir -p $work/shm
	mount -t tmpfs -o size="$(($1 + 1024))k" none $work/shm
	truncate -s "${1}K" $work/shm/file
	dmsetup create held --noudevsync --table "0 $(($1 * 2)) linear /dev/ram1 0" ||
		die "no device mapper"
	held=/dev/$(dmsetup info -c --noheadings -o blkdevname held)
}

# hold, let_go: I/O to the disk waits from hold until let_go
hold() { dmsetup suspend --noflush --nolockfs --noudevsync held; }
let_go() { dmsetup resume --noudevsync held; }

disks_down() {
	wait_for 120 dmsetup remove --noudevsync held
	umount $work/shm
	wait_for 120 rmmod brd
}

# --- the iSER target ------------------------------------------------------------------

target=/sys/kernel/config/target
iqn=iqn.2003-01.org.example:disks
at=$server:3260
tpg=$target/iscsi/$iqn/tpgt_1

target_modules_up() {
	modprobe iscsi_target_mod || die "no iscsi_target_mod"
	mkdir -p /run/modprobe.d
	if [ "$mode" = stock ]; then
		rm -f /run/modprobe.d/storage.conf
		modprobe ib_isert || die "no ib_isert"
		serving=ib_isert
	else
		serving=kdat_iser
		! installed || return 0
		# LIO asks for ib_isert when a portal is made; it must not serve in our place.
		echo "install ib_isert /bin/true" > /run/modprobe.d/storage.conf
		kdapl_up
		insmod "$modules/targets/iser/kdat_iser.ko" ||
			die "kdat_iser.ko does not load; see dmesg"
	fi
}

# The module of the MODE serves, and the other one is not loaded.
right_one_serves() {
	local other=kdat_iser
	[ "$serving" != kdat_iser ] || other=ib_isert
	! loaded $other && [ "$(cat "/sys/module/$serving/refcnt")" -gt 0 ]
}

target_modules_down() {
	verdict "$serving unloads" gone "$serving"
	kdapl_down
	verdict "LIO unloads" gone iscsi_target_mod
	# LIO has loaded all the back ends that it knows.
	gone target_core_{iblock,file,pscsi,user} target_core_mod
}

# lun NUMBER KIND NAME CONTROL: with a serial number that is the same in each run, but for pscsi,
# whose disks have their own
lun() {
	local core=$target/core/$2_0/$3
	mkdir -p "$core" "$tpg/lun/lun_$1" &&
		echo "$4" > "$core/control" && echo 1 > "$core/enable" &&
		{ [ "$2" = pscsi ] || echo "d15c-$1" > "$core/wwn/vpd_unit_serial"; } &&
		ln -s "$core" "$tpg/lun/lun_$1/port"
}

target_up() {
	mkdir -p $target/iscsi/$iqn/tpgt_1/np/$at || return
	lun 0 iblock ram udev_path=/dev/ram0 &&
		lun 1 fileio file "fd_dev_name=$work/shm/file,fd_dev_size=$(stat -c %s $work/shm/file)" &&
		lun 2 iblock held "udev_path=$held" ||
		return
	echo 0 > $tpg/attrib/authentication
	echo 1 > $tpg/attrib/generate_node_acls
	echo 1 > $tpg/attrib/cache_dynamic_acls
	echo 0 > $tpg/attrib/demo_mode_write_protect
	portal 1 && group 1
}

# portal 1|0, group 1|0: what listens, and whether anybody may log in
portal() { echo "$1" > "$tpg/np/$at/iser"; }
group() { echo "$1" > $tpg/enable; }

target_down() {
	local i core
	[ -d $target/iscsi/$iqn ] || return 0
	group 0
	for i in "$tpg"/lun/lun_*; do
		rm -f "$i/port" && rmdir "$i" || return
	done
	rmdir $tpg/np/$at && rmdir $tpg && rmdir $target/iscsi/$iqn || return
	rmdir $target/iscsi
	for core in iblock_0/ram fileio_0/file iblock_0/held; do
		rmdir "$target/core/$core" || return
	done
	rmdir $target/core/iblock_0 $target/core/fileio_0
}

# --- the initiator --------------------------------------------------------------------

initiator_up() {
	modprobe -a ib_iser sd_mod || die "no ib_iser"
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo "InitiatorName=iqn.2003-01.org.example:initiator" > /etc/iscsi/initiatorname.iscsi
	# Outages last seconds in these tests, and should be over, or have become an I/O error,
	# soon after. A login may have to wait until LIO has given up an earlier one, which
	# takes 15 s. A test that cuts nothing sets patience to a larger limit, so that the
	# initiator does not take a slow machine for an outage.
	cat > /etc/iscsi/iscsid.conf <<-E
		node.startup = manual
		node.session.timeo.replacement_timeout = 30
		node.conn[0].timeo.login_timeout = ${patience-40}
		node.conn[0].timeo.logout_timeout = 15
		node.conn[0].timeo.noop_out_interval = 5
		node.conn[0].timeo.noop_out_timeout = ${patience-10}
		node.session.err_timeo.abort_timeout = ${patience-15}
		node.session.err_timeo.lu_reset_timeout = ${patience-20}
		node.session.err_timeo.tgt_reset_timeout = ${patience-20}
		node.session.initial_login_retry_max = 3
		node.session.cmds_max = 128
		node.session.queue_depth = 32
	E
	rm -rf /etc/iscsi/nodes /etc/iscsi/send_targets /var/lib/iscsi/nodes /var/lib/iscsi/send_targets
	iscsid
	wait_for 120 test -s /run/iscsid.pid
}

stop_iscsid() {
	local pid
	# There are two processes; one of them ends when the other does.
	for pid in $(pidof iscsid); do kill "$pid"; done 2> /dev/null
	wait_for 120 ended iscsid
}

initiator_down() {
	stop_iscsid
	verdict "ib_iser unloads" gone ib_iser
}

node() { iscsiadm -m node -T $iqn -p $at "$@"; }

# setting NAME VALUE: for sessions that are begun from now on
setting() { node -o update -n "$1" -v "$2"; }

# discover: what the portal offers. iscsiadm reads from one socket both the portal's answer and
# the notice that its request has been sent. If the answer comes before the notice, it puts the
# answer aside, waits 30 s for another one, and crashes, and then nobody can end its session.
# So the answer is delayed.
discover() { delayed 500ms within 60 iscsiadm -m discovery -t st -p $at -I iser; }

sessions() { find /sys/class/iscsi_session -name 'session*' 2> /dev/null | wc -l; }

logged_in() { [ "$(sessions)" -eq "$1" ]; }

# How many LUNs the target has
luns=3

# disks_there N: each session has its LUNs
disks_there() {
	[ "$(find /sys/class/iscsi_session/session*/device/target*/*/block/ -mindepth 1 \
		-maxdepth 1 2> /dev/null | wc -l)" -eq $(($1 * luns)) ]
}

# Turns runtime power management of the targets off. If there is a request to suspend a target,
# the initiator's logout waits for it in a workqueue that must not wait for such work, and the
# kernel warns of that. The debug kernel has no power management: no such file, and no such
# request.
awake() {
	local control
	for control in /sys/class/iscsi_session/session*/device/target*/power/control; do
		[ ! -e "$control" ] || echo on > "$control" || return
	done
}

# log_in [SESSIONS]
log_in() {
	within 300 node -l > $work/login 2>&1 && wait_for 60 disks_there "${1-1}" && awake && return
	cat $work/login
	return 1
}

log_out() {
	within 120 node -u > $work/logout 2>&1 && wait_for 120 logged_in 0 && return
	cat $work/logout
	return 1
}

disk() {
	local session
	session=$(find /sys/class/iscsi_session -name 'session*' | sort -V | sed -n "${2-1}p")
	basename "$(echo "$session"/device/target*/*:*:*:"$1"/block/*)"
}

# --- the NFS server -------------------------------------------------------------------

exported=/srv/exported

server_modules_up() {
	modprobe nfsd || die "no nfsd"
	if [ "$mode" = stock ]; then
		modprobe rpcrdma || die "no rpcrdma"
		serving=rpcrdma port=20050 listener="rdma 20050"
	else
		serving=svckdat port=20049 listener="kdat 20049"
		! installed || return 0
		kdapl_up
		insmod "$modules/targets/nfs/svckdat.ko" || die "svckdat.ko does not load; see dmesg"
	fi
}

server_modules_down() {
	if [ "$serving" = svckdat ]; then
		verdict "svckdat unloads" gone svckdat
		kdapl_down
	fi
	verdict "the NFS client and rpcrdma unload" gone nfsv4 nfsv3 nfs rpcrdma
}

# The daemons keep their state in a tmpfs, so it is gone with the machine.
server_folders() {
	mountpoint -q /var/lib/nfs && return
	mkdir -p /var/lib/nfs $exported
	mount -t tmpfs none /var/lib/nfs &&
		mkdir -p /var/lib/nfs/{sm,sm.bak,rpc_pipefs,v4recovery,nfsdcltrack} /run/rpcbind /run/sendsigs.omit.d &&
		touch /var/lib/nfs/{etab,rmtab,state,xtab} &&
		mount -t rpc_pipefs none /var/lib/nfs/rpc_pipefs &&
		mount -t tmpfs -o size="${1-512M}" none $exported
}

# server_up [SIZE]
server_up() {
	server_folders "$@" || die "no folders for the NFS server"
	mountpoint -q /proc/fs/nfsd || mount -t nfsd none /proc/fs/nfsd || die "no nfsd"
	# After a start clients have this long to claim their locks again.
	modprobe lockd && echo 3 > /proc/sys/fs/nfs/nlm_timeout &&
		echo 3 > /proc/sys/fs/nfs/nlm_grace_period
	pidof rpcbind > /dev/null || rpcbind -w 2> /dev/null || rpcbind || die "no rpcbind"
	pidof rpc.statd > /dev/null || rpc.statd --no-notify || die "no rpc.statd"
	exportfs -o rw,no_root_squash,insecure,fsid=0 "*:$exported" || return
	pidof rpc.mountd > /dev/null || rpc.mountd || die "no rpc.mountd"
	nfsd_up
}

# nfsd_up: also once more after rpc.nfsd 0
nfsd_up() {
	rpc.nfsd --grace-time 10 --lease-time 10 8 || return
	# EBUSY: the grace period has ended by itself, because there is no client to wait for.
	echo Y 2> /dev/null > /proc/fs/nfsd/v4_end_grace
	listen_at "$listener"
}

listen_at() { echo "$1" > /proc/fs/nfsd/portlist && grep -qx "$1" /proc/fs/nfsd/portlist; }

server_down() {
	local pid
	within 60 rpc.nfsd 0
	exportfs -ua
	for pid in $(pidof rpc.mountd rpc.statd rpcbind); do kill "$pid"; done
	wait_for 120 ended rpc.mountd rpc.statd rpcbind
	umount $exported /proc/fs/nfsd /var/lib/nfs/rpc_pipefs /var/lib/nfs
}

mount_at() {
	local version=$1 folder=$2 to=${3-$port} more=${4-} file=/ from=$server proto=rdma
	[ -z "${by_ipv6-}" ] || { from="[$server6]" proto=rdma6; }
	[ "$version" != 3 ] || { file=$exported more+=,mountproto=tcp${by_ipv6:+6}; }
	mkdir -p "$folder"
	within "${patience-60}" mount -t nfs -o "vers=$version,proto=$proto,port=$to${more:+,$more}" "$from:$file" "$folder"
}

unmount() { within 60 umount "$1"; }

# --- memory that comes and goes ---------------------------------------------------------

# Of the first connection; what is there of what there may be, 16/80, counts as 16.
pool() {
	awk -v what="$1" '{ for (i = 2; i < NF; i++) if ($i == what) { print $(i + 1) + 0; exit } }' \
		"/sys/kernel/debug/$serving/pools"
}

pool_is() { [ "$(pool "$1")" = "$2" ]; }
pool_grew() { [ "$(pool "$1")" -gt "$2" ]; }

# All LMRs of kernel consumers, of which ours is the only one
lmrs() { grep -c '^ *lmr ' /sys/kernel/debug/kdapl/objects; }
lmrs_are() { [ "$(lmrs)" -eq "$1" ]; }

# A fast machine has done with a request before the next one comes.  So each has to wait for the
# client's device.
all_at_once() {
	delayed 50ms within 120 fio --name=burst --filename="$1" --size=8m --rw=randread --bs=16k \
		--direct=1 --ioengine=libaio --iodepth=32 --number_ios=256 --allow_file_create=0 \
		--output=$work/fio.burst
}

squeeze() { echo 2 > /proc/sys/vm/drop_caches; }

# Not before it has been done while the command was at work
squeezed() {
	local pid times=0
	"$@" & pid=$!
	until is_over $pid; do
		squeeze
		times=$((times + 1))
		pause 0.1
	done
	wait $pid && [ $times -ge 3 ]
}

# --- ports ------------------------------------------------------------------------------

take_port() {
	insmod "$modules/samples/kdat-pingpong/kdat-pingpong.ko" role=server ia="$1" port="$2"
}

give_port() { rmmod kdat_pingpong; }

listens_again() { dmesg | grep -q "$1: listening at .*now"; }

# --- input and output -----------------------------------------------------------------

# fio_once FILE DEPTH [OPTION...]: writes 32 MiB, or in the brief case 12, in blocks of 512 B to
# 1 MiB and reads them back; each block contains its offset and its checksum
fio_once() {
	local file=$1 depth=$2
	shift 2
	fio --name=verify --filename="$file" --size="$(of 32 12)m" --rw=randwrite --direct=1 \
		--ioengine=libaio --iodepth="$depth" --bssplit=512/20:4k/30:16k/10:64k/20:256k/10:1m/10 \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 --allow_file_create=0 \
		--randseed=$RANDOM$RANDOM \
		--output=$work/fio."$(basename "$file")" "$@" > $work/fio.out 2>&1
}

# fio_verify SECONDS DEPTH FILE [OPTION...]: fio_once until the time is up, and at least twice:
# by turns, blocks are read back when all are written, or while others are being written
fio_verify() {
	local end=$((SECONDS + $1)) depth=$2 file=$3 round=0 backlog
	shift 3
	while :; do
		backlog=$((round++ % 2 ? 64 : 0))
		fio_once "$file" "$depth" --verify_backlog=$backlog "$@" || return
		[ $SECONDS -lt $end ] || [ $round -lt 2 ] || return 0
	done
}

# fio_told FILE: what fio said when it failed
fio_told() {
	grep -E 'verify|err=|error|bad|[Aa]ssert|signal' $work/fio."$(basename "$1")" $work/fio.out | head -5
}

# verified SECONDS DEPTH FILE: it ends in time, and all is as it was written
verified() {
	within $(($1 + 900)) fio_verify "$@" && return
	fio_told "$3"
	return 1
}

sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

debug_kernel() { [ -e /sys/kernel/debug/kmemleak ]; }

# source_tree: a folder with a source tree to copy, as tar has it on standard output; in the
# brief case and in the debug kernel, where a file takes several times as long, a part of it
source_tree() {
	local part=.
	if $brief || debug_kernel; then part=./kdapl; fi
	tar -C "$here/../.." --exclude=./build --exclude=./.git -cf - $part
}

# forget_cache: what is read from now on comes from the other end
forget_cache() { sync; echo 3 > /proc/sys/vm/drop_caches; }
