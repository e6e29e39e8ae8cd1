#!/bin/bash
# Does the fuzzer find a bug?  The module is built with one that is planted on purpose, several
# times with another one, and the fuzzer has to end in failure, with a message that fits this
# bug.  scripts/test --all calls it, outside of a machine, after the fuzzer has found nothing in
# the module as it is.
# usage: planted.sh [CALLS [NAME...]]
set -u -o pipefail
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
# shellcheck source=tests/guest/count.sh
. tests/guest/count.sh

calls=${1-20000}
shift $(($# > 0))
build=$PWD/build/modules-planted

# name | file | sed: what the file is without
bugs='bound of segments|kdapl/face/dev_dto.c|s/ || count > KDAPL_MAX_SGE)/)/
put of the endpoint|kdapl/face/dev_board.c|/^out:$/,/^}/s/kdapl_object_put(ep);/;/
padding of PZ_CREATE|kdapl/face/dev.c|s/FN(pz_create), PAD(pz_create)/FN(pz_create)/
a number in the place of a pointer|kdapl/face/dev_evd.c|s/arg->ia = kdapl_dev_u64(param.ia_handle);/arg->ia = (uintptr_t)ref.evd;/'

# What the log has to say of each, as a regular expression of grep -E.  A run that fails for
# another reason, because its time is up or the machine does not start, has found nothing.
complaint="^(FAIL the kernel complains after|(vm|uml): the guest's kernel complains:) .*"
declare -A signs=(
	# The segments go beyond their array on the kernel's stack, or beyond what can be read.
	['bound of segments']="^FAIL POST: |$complaint(KASAN|stack|general protection|unable to handle|NULL pointer)"
	# The close of the file waits for ever for the endpoint: the stack of a task.
	['put of the endpoint']='kdapl_space_destroy\+0x'
	['padding of PZ_CREATE']='^FAIL PZ_CREATE: padding is not zero, '
	['a number in the place of a pointer']='^FAIL EVD_QUERY: ia has 0x'
)

# shellcheck source=scripts/ground.sh
. scripts/ground.sh
debug_ground ''
kdir=$(scripts/test-kernel "${which[@]}" --print-kdir) || exit
# kdapl alone, without what scripts/build-modules adds
mkdir -p "$build"
cp -au --parents Kbuild kdapl common include "$build" || exit

# planted FILE SED: the module with it
planted() {
	sed "$2" "$1" > "$build/$1"
	! cmp -s "$1" "$build/$1" || { echo "nothing to plant in $1"; return 1; }
	make -j"$(nproc)" -C "$kdir" M="$build" modules > "$build/build.log" 2>&1
}

# found NAME: the fuzzer ran, and failed because of this bug
found() {
	local log="$build/${1// /-}.log" status
	KDAPL_FUZZ_MODULES=$build scripts/fuzz "$calls" -r 1 -s > "$log" 2>&1
	status=$?
	grep -m 3 -E '^FAIL|^(vm|uml): ' "$log" | cut -c1-160
	if [ $status -eq 0 ] || ! grep -q '^seed ' "$log" || ! grep -qE '^FAIL |^(vm|uml): ' "$log"; then
		echo "no failure of the fuzzer, see $log"
		return 1
	fi
	grep -qE -e "${signs[$1]}" "$log" || {
		echo "a failure, but not that of the planted bug, see $log"
		return 1
	}
}

while IFS='|' read -r name file edit <&3; do
	[ $# -eq 0 ] || [[ " $* " = *" ${name%% *} "* ]] || continue
	verdict "the bug can be planted: $name" planted "$file" "$edit" &&
		verdict "the fuzzer finds it: $name" found "$name"
	cp -p "$file" "$build/$file"
	touch "$build/$file"
done 3<<< "$bugs"
result
