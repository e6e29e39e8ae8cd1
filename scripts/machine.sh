# Sourced by scripts/vm and scripts/uml: how the two halves of a machine that runs one command
# speak to each other (scripts/guest-init is the other half), and how its end is judged.
#
# All machines of a call share one control folder, $ctl; files in it end in the machine's name.
# The callers set, besides what they pass:
#   here work out        this folder, a temporary folder, and what --out names or nothing
#   release inside       the guest's kernel, and its modules' folder as the guest sees it
#   limit kmemleak       seconds until it is killed; whether leaks are looked for
#   project              this project's folder, if the guest's root does not have it
#   pair folder console  two machines, or empty; where COMMAND runs; whether to show the log
# shellcheck shell=bash disable=SC2154
# shellcheck source=scripts/pause.sh
. "$here/pause.sh"

# --- what the kernel must not say -------------------------------------------------
# "general protection fault ip:" is the fault of a process, and no complaint about the
# kernel.
reports='WARNING: |\bBUG: |kernel BUG at|\bOops\b|general protection fault[,:]|Kernel panic'
reports+='|UBSAN: |ODEBUG: |refcount_t: |(list_add|list_del) corruption'
reports+='|INFO: task .* blocked for more than|rcu: INFO: .*stall|detected stalls'
reports+='|INFO: trying to register non-static key|unregister_netdevice: waiting for'

# control_folder: makes it, and $shared, which the guest sees as /out
control_folder() {
	ctl=$work/ctl
	mkdir "$ctl"
	cp "$here/guest-init" "$ctl/init"
	if [ -n "$out" ]; then
		mkdir -p "$out" || return
		out=$(readlink -e "$out")
	fi
	shared=${out:-$work/out}
	mkdir -p "$shared"
}

# prepare NAME COMMAND...: writes down what the guest is to run, and its variables
prepare() {
	local name=$1 var
	shift
	{
		printf 'RELEASE=%q MODULES=%q PROJECT=%q\n' "$release" "$inside" "${project-}"
		printf 'LIMIT=%q KMEMLEAK=%q\n' "$limit" "$kmemleak"
		for var in "${!KDAPL_@}"; do printf 'export %s=%q\n' "$var" "${!var}"; done
		echo "export KDAPL_HOST=$name"
		[ -z "$pair" ] || case $name in
		A) echo export KDAPL_ADDR=10.9.1.1 KDAPL_PEER=10.9.1.2;;
		B) echo export KDAPL_ADDR=10.9.1.2 KDAPL_PEER=10.9.1.1;;
		esac
	} > "$ctl/env.$name"
	{
		[ -z "$pair" ] || printf '. %q && one_of_a_pair || exit\n' "$here/guest/lib.sh"
		printf 'cd %q && exec' "$folder"
		printf ' %q' "$@"
		echo
	} > "$ctl/command.$name"
	: > "$ctl/output.$name"
}

# judge NAME LOG CONSOLE LATE SAID: the exit status of a machine that has ended. Its kernel's log
# is put into the file LOG, from its console if it ended before it could hand that over. LATE is
# not empty if its time was up; in SAID is what the program said in which it ran.
judge() {
	local name=$1 log=$2 late=$4 said=$5 bad='' taint status
	if [ -s "$ctl/dmesg.$name" ]; then
		cp "$ctl/dmesg.$name" "$log"
	else
		tr -d '\r' < "$3" > "$log"
	fi
	[ -z "$console" ] || cat "$log"
	# taints: an oops, a bad page, a warning, a lockup
	taint=$(cat "$ctl/tainted.$name" 2> /dev/null)
	if grep -qE "$reports" "$log"; then
		echo "$(basename "$0"): the guest's kernel complains: $(grep -m 1 -E "$reports" "$log")"
		grep -E -B 3 -A 60 "$reports" "$log" | head -300
		bad=1
	elif [ $((${taint:-0} & 0x42a0)) -ne 0 ]; then
		echo "$(basename "$0"): the guest's kernel is tainted ($taint), see its log"
		bad=1
	fi
	if [ -s "$ctl/leaks.$name" ]; then
		echo "$(basename "$0"): the guest's kernel leaks memory:"
		cat "$ctl/leaks.$name"
		bad=1
	fi
	if [ -n "$late" ]; then
		cat "$ctl/stacks.$name" 2> /dev/null
		tail -40 "$log"
		echo "$(basename "$0"): killed after $limit s; --timeout sets another limit"
	fi
	[ -z "$bad" ] || return 3
	[ -z "$late" ] || return 124
	status=$(cat "$ctl/status.$name" 2> /dev/null) && return "$status"
	cat "$said"
	tail -40 "$log"
	echo "$(basename "$0"): the machine ended before the command did"
	return 125
} >&2

