# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What bash offers behind "kdaplctl".
# shellcheck shell=bash disable=SC2207
_kdaplctl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	case $before in
	objects) COMPREPLY=($(compgen -W "ia pz lmr rmr evd ep psp rsp cr srq" -- "$word"));;
	-p|--pid|-n|--count|-d|--delay) COMPREPLY=();;
	*) COMPREPLY=($(compgen -W "adapters counters files processes objects show top
		--json --pid --count --delay --help" -- "$word"));;
	esac
}
complete -F _kdaplctl kdaplctl
