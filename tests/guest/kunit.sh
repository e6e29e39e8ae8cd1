#!/bin/bash
# The KUnit suites, in the virtual machine: they run while their module is loaded;
# unloading it checks that they left nothing behind. What they say comes to /out/ktap.
# usage: kunit.sh MODULE   (a kdapl.ko with the suites)
set -e

# They let allocations fail, also of those who could wait for memory, and there is
# nothing to tell about that.
faults=/sys/kernel/debug/failslab
if [ -d $faults ]; then
	echo N > $faults/ignore-gfp-wait
	echo 0 > $faults/verbose
fi
# While a case runs, who loads the module waits for it without a break. A case has 300
# seconds, by KUnit; on a busy machine some need more than the two minutes after which
# the kernel complains.
echo 360 > /proc/sys/kernel/hung_task_timeout_secs
for module in $(modinfo -F depends "$1" | tr , ' '); do modprobe "$module"; done
dmesg -C
insmod "$1" && loaded=1 || loaded=
dmesg > /out/ktap
[ "$loaded" ]
rmmod kdapl
sed -E 's/^\[[^]]*\] ?(\[[^]]*\] ?)?//' /out/ktap | grep -E '^(    )*not ok|^# Totals' || true
