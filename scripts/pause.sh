# Sourced by the scripts that run machines, and in these by the tests: a short wait in a loop that
# looks for something. It begins no process. A process costs more than such a look, above all in the
# machines, and loops of ten looks a second took a third of their processor.
#
#   pause SECONDS    wait so long, 0.1 for example
# shellcheck shell=bash

# A pipe that nobody writes to: to read from it takes all the time that one has.
exec {never}<> <(:)

pause() { read -rt "$1" -u "$never" || :; }
