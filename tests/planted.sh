#!/bin/bash
# Do the tests find a bug?  The modules are built with one that is planted on purpose, several
# times with another one, and a test has to end in failure, with a message that fits this bug: the
# fuzzer (scripts/fuzz), or a scenario of the rules through the kernel face.  scripts/test --all
# calls it, after these have found nothing in the modules as they are.
# usage: planted.sh [--vm] [-c CALLS] [TEXT...]
#        planted.sh --check
#   --check   run nothing; does each edit still match the file that it is for?
#   --vm      in the debug kernel of the virtual machine, though User Mode Linux may run
#   -c CALLS  that the fuzzer makes at most (20000)
#   TEXT      only the bugs with this text in their name
set -u -o pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 1
# shellcheck source=tests/guest/count.sh
. tests/guest/count.sh

kernel='' calls=20000 check=false
while :; do
	case ${1-} in
	--vm) kernel=vm; shift;;
	--check) check=true; shift;;
	-c) calls=$2; shift 2;;
	-*) sed -n '2,/^set -u/{/^set -u/d; s/^# \{0,1\}//p}' "$0" >&2; exit 2;;
	*) break;;
	esac
done
texts=("$@")

# name | "fuzz", or the text of a scenario | file | sed: what the file is without.  The first six
# are one of each kind: use after free, order of locks, sleep in atomic context, leak, order of
# events, a lost completion.
bugs='freed: the reference that an event has of its connection|private data both ways|kdapl/core/ep_apply.c|/^static bool ep_raise_event/,/^}/s/kdapl_conn_get(conn);/;/
locks: that of an endpoint inside that of its direction|private data both ways|kdapl/core/ep_apply.c|/^static int dir_post_held/,/^}/s/spin_lock_irqsave(&dir->lock, flags);/&spin_lock(\&dir->ep->lock); spin_unlock(\&dir->ep->lock);/
sleeps: who has the lock of a direction|private data both ways|kdapl/core/ep_apply.c|/^static int dir_post_held/,/^}/s/spin_lock_irqsave(&dir->lock, flags);/&might_sleep();/
leaked: what the face has of an EVD|private data both ways|kdapl/core/evd.c|/^static void evd_release/,/^}/s/kfree(evd->face);/;/
order: an event of the state goes before completions|D44 D45|kdapl/core/evd_post.c|/^bool kdapl_evd_post(/,/^}/s/kdapl_fifo_add(evd, &slot->node);/&list_move(\&slot->node.link, \&evd->fifo);/
lost: the last completion of a full batch|nobody takes completions|kdapl/core/evd_fifo.c|/^static inline struct ib_wc \*next_wc/,/^}/s/evd->wc_end = n;/evd->wc_end = n - (n == KDAPL_WC_BATCH);/
bound of segments|fuzz|kdapl/face/dev_dto.c|s/ || count > KDAPL_MAX_SGE)/)/
put of the endpoint|fuzz|kdapl/face/dev_board.c|/^int kdapl_dev_ep_board/,/^}/s/kdapl_object_put(obj);/;/
padding of PZ_CREATE|fuzz|kdapl/face/dev.c|s/FN(pz_create), PAD(pz_create)/FN(pz_create)/
a number in the place of a pointer|fuzz|kdapl/face/dev_evd.c|s/arg->ia = kdapl_dev_u64(param.ia_handle);/arg->ia = (uintptr_t)ref.evd;/'

# What the log has to say of each, as a regular expression of grep -E.  A run that fails for
# another reason, because its time is up or the machine does not start, has found nothing.
kernel_says="^(FAIL the kernel complains after|(vm|uml): the guest's kernel complains:) .*"
declare -A signs=(
	[freed]="${kernel_says}use-after-free"
	[locks]="${kernel_says}possible circular locking dependency"
	[sleeps]="${kernel_says}sleeping function called from invalid context"
	[leaked]="^(vm|uml): the guest's kernel leaks memory"
	[order]='^FAIL kernel: .*D44 D45'
	[lost]='^FAIL kernel: .*nobody takes completions'
	# The segments go beyond their array on the kernel's stack, or beyond what can be read.
	['bound of segments']="^FAIL POST: |${kernel_says}(KASAN|stack|general protection|unable to handle|NULL pointer)"
	# The close of the file waits for ever for the endpoint: the stack of a task.
	['put of the endpoint']='kdapl_space_destroy\+0x'
	['padding of PZ_CREATE']='^FAIL PZ_CREATE: padding is not zero, '
	['a number in the place of a pointer']='^FAIL EVD_QUERY: ia has 0x'
)

# matches FILE SED: whether the file is another one with the bug
matches() {
	! sed "$2" "$1" | cmp -s "$1" - || { echo "nothing to plant in $1"; return 1; }
}

if $check; then
	while IFS='|' read -r name _ file edit; do
		verdict "the bug can be planted: $name" matches "$file" "$edit"
	done <<< "$bugs"
	result
	exit
fi

# shellcheck source=scripts/ground.sh
. scripts/ground.sh
debug_ground "$kernel"
build=$PWD/build/modules-planted-$ground
debug_modules "$build" &&
	make --no-print-directory -s -C udapl-shim tests || exit

# planted FILE SED: the modules with it
planted() {
	matches "$1" "$2" && sed "$2" "$1" > "$build/$1" && debug_modules "$build"
}

run() {
	if [ "$1" = fuzz ]; then
		KDAPL_FUZZ_MODULES=$build scripts/fuzz ${kernel:+--vm} "$calls" -r 1 -s
	else
		"${machine[@]}" --timeout 900 -- tests/guest/rules.sh --brief --face kernel \
			"$build" "$PWD/build/shim" "$1"
	fi
}

# found NAME TEST: it ran, and failed because of this bug
found() {
	local log="$build/${1// /-}.log" status
	run "$2" > "$log" 2>&1
	status=$?
	grep -m 3 -E '^FAIL|^(vm|uml): ' "$log" | cut -c1-160
	if [ $status -eq 0 ] || ! grep -qE '^FAIL |^(vm|uml): ' "$log"; then
		echo "no failure, see $log"
		return 1
	fi
	grep -qE -e "${signs[${1%%:*}]}" "$log" || {
		echo "a failure, but not that of the planted bug, see $log"
		return 1
	}
}

wanted() {
	local text
	[ ${#texts[@]} -gt 0 ] || return 0
	for text in "${texts[@]}"; do [[ $1 != *"$text"* ]] || return 0; done
	return 1
}

file=''
restore() {
	[ -z "$file" ] || { cp -p "$file" "$build/$file" && touch "$build/$file"; }
}
trap restore EXIT
while IFS='|' read -r name test file edit <&3; do
	if wanted "$name"; then
		verdict "the bug can be planted: $name" planted "$file" "$edit" &&
			verdict "it is found: $name" found "$name" "$test"
		restore
	fi
	file=''
done 3<<< "$bugs"
result
