# Sourced by the scripts that test in a debug kernel: which one, and how.
# shellcheck shell=bash
#
#   debug_ground vm|patched|''   sets
#     ground    "uml" if this host can run User Mode Linux, with "patched" "uml-patched";
#               otherwise, and with "vm", "debug"
#     which     the options of scripts/test-kernel for its kernel
#     machine   the command that runs others in it
#
#   debug_modules DIR   then builds its kernel, if need be, and the modules for it in DIR

debug_ground() {
	local scripts
	scripts=$(dirname "${BASH_SOURCE[0]}")
	# shellcheck disable=SC2034 # for those who source this
	if [ "$1" != vm ] && "$scripts/uml" --works; then
		ground=uml which=(--uml) machine=("$scripts/uml")
		[ "$1" != patched ] || ground=uml-patched which+=(--patched) machine+=(--patched)
	else
		ground=debug which=() machine=("$scripts/vm" --debug)
	fi
}

debug_modules() {
	local scripts
	scripts=$(dirname "${BASH_SOURCE[0]}")
	"$scripts/test-kernel" "${which[@]}" && "$scripts/build-modules" \
		"$("$scripts/test-kernel" "${which[@]}" --print-kdir)" "$1"
}
