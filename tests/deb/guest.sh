#!/bin/bash
# In a virtual machine whose root has kdapl's packages installed: the module that DKMS built
# loads as the installation loads it, and as the machine's start does, udev sees to its
# device, the programs of the packages work, the storage targets load, and what takes the
# package away unloads the module. Called by tests/deb/run.
set -u -o pipefail
# shellcheck source=scripts/guest/lib.sh
. /out/lib.sh
# shellcheck source=tests/guest/count.sh
. /out/count.sh

# DKMS has built everything, and would take long here.
printf '#!/bin/sh\n' | tee /usr/lib/dkms/common.postinst > /usr/sbin/dkms

scripts=/var/lib/dpkg/info/kdapl-dkms

start_udev() {
	/lib/systemd/systemd-udevd --daemon && udevadm settle --timeout 60
}

loaded() { [ -e /sys/module/kdapl ]; }

not_loaded() { $scripts.postinst configure '' && ! loaded; }

installs_loaded() {
	$scripts.postinst configure '' > /tmp/postinst && loaded && cat /tmp/postinst &&
		[ ! -s /tmp/postinst ]
}

# The message of an upgrade under a module that is in use.
tells_of_old() {
	mount -o bind /tmp/postinst /sys/module/kdapl/srcversion &&
		$scripts.postinst configure '' | grep -q 'modprobe -r kdapl' &&
		umount /sys/module/kdapl/srcversion
}

device() {
	udevadm settle --timeout 60
	[ "$(stat -c %a /dev/kdapl)" = 666 ] &&
		udevadm info -q property /dev/kdapl | grep -E '^TAGS=.*:systemd:'
}

# Server and client are the package's, passthrough as far as the device has it.
pingpong() {
	local server
	dat-pingpong --list | grep rxe0-1 || return
	dat-pingpong -s -i rxe1-1 -q --connections 9 > /tmp/server 2>&1 & server=$!
	wait_for 60 grep -q listening /tmp/server &&
		dat-pingpong -i rxe0-1 -c 10.9.0.2 -v -q -n 5 --sizes 1,4096,65536 && wait $server
}

targets() {
	modprobe kdat_iser && modprobe svckdat && rmmod kdat_iser svckdat
}

removal_unloads() { $scripts.prerm remove && ! loaded; }

boot_loads() { /lib/systemd/systemd-modules-load && loaded; }

# What a machine without headers is told
tells_of_headers() {
	mount -t tmpfs none "/lib/modules/$(uname -r)" &&
		$scripts.postinst configure '' | grep "linux-headers-$(uname -r)"
}

# Before udev is there to give the ends of the wire other addresses
verdict "two Soft-RoCE devices" two_hosts rxe
verdict "without udev, as in a container, nothing is loaded" not_loaded
verdict "udev starts" start_udev
verdict "the installation loads kdapl" installs_loaded
verdict "udev gives its device to everybody, and to systemd" device
verdict "dat-pingpong moves data, and verifies it" pingpong
verdict "the storage targets load and go" targets
verdict "an upgrade tells of the module that is loaded" tells_of_old
two_hosts_down rxe
verdict "the removal unloads kdapl" removal_unloads
verdict "the machine's start loads kdapl" boot_loads
rmmod kdapl
verdict "without a module the installation says what to do" tells_of_headers
result
