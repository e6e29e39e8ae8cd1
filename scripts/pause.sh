# Sourced by the scripts that run machines, and in these by the tests: a short wait in a loop that
# looks for something. It begins no process. A process costs more than such a look, above all in the
# machines, and loops of ten looks a second took a third of their processor.
#
#   pause SECONDS    wait so long, 0.1 for example
#   is_over PID      this job, or other process, is over
# shellcheck shell=bash

# A pipe that nobody writes to: to read from it takes all the time that one has.
exec {never}<> <(:)

# A shell that waits in read has been seen to miss the end of its own child, which then is there
# until it is waited for, and takes signals: so what tells is its state.
is_over() {
	local stat
	{ read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 0
	[[ $stat = *') Z '* ]]
}

pause() { read -rt "$1" -u "$never" || :; }
