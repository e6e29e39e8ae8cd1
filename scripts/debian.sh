# Fetches packages of Debian's and unpacks them into a folder; nothing is installed. Sourced by
# scripts/kernel and scripts/cross.
# shellcheck shell=bash disable=SC2154
#
# The caller has die(), and sets
#   me       its name, for what is shown
#   folder   where everything goes: the packages in $root, all that was said in $log
#   mirror   where packages come from; keyring is that of its signatures
#   cpu      Debian's name of the processors that kernels are fetched for
#   cc       the compiler for these
#   suite, release   which kernel, for those functions that are about one
root=$folder/root
debs=$folder/debs		# packages as they come
log=$folder/log
apt=(-q -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=-
     -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache"
     -o Dir::State::status=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root
     -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o "APT::Architectures::=$cpu")

# index SUITE: from now on packages come from there
index() {
	mkdir -p "$folder"/{lists/partial,cache/archives/partial} &&
		echo "deb [arch=amd64,$cpu signed-by=$keyring] $mirror $1 main" \
			> "$folder/sources.list" &&
		apt-get "${apt[@]}" update >> "$log" 2>&1 &&
		[ -n "$(find "$folder/lists" -name "*_$1_*_Packages*")" ] && return
	tail -5 "$log" >&2
	die "cannot read the packages of $1 at $mirror"
}

# progress PID TOTAL: how many bytes are there, until process PID ends
progress() {
	local start=$SECONDS every=15 format='%s\n' next=0 now
	[ ! -t 1 ] || every=1 format='\r%s '
	while kill -0 "$1" 2> /dev/null; do
		now=$((SECONDS - start))
		if [ $now -ge $next ]; then
			next=$((now + every))
			# shellcheck disable=SC2059 # the format depends on the terminal
			printf "$format" "$me: $(($(du -sk "$debs" | cut -f1) / 1024)) of $((
				$2 >> 20)) MiB fetched, $now s"
		fi
		sleep 0.5
	done
	[ ! -t 1 ] || echo
}

# fetch FOLDER PACKAGE...: into the folder
fetch() {
	local to=$1 size deb get
	shift
	rm -rf "$debs" && mkdir "$debs" && cd "$debs" || return
	size=$(apt-get "${apt[@]}" download --print-uris "$@" 2>> "$log" |
	       awk '{ size += $3 } END { print size + 0 }') || {
		tail -5 "$log" >&2
		die "these are not all in $suite at $mirror: $*"
	}
	apt-get "${apt[@]}" download "$@" >> "$log" 2>&1 &
	get=$!
	# shellcheck disable=SC2064 # this very process
	trap "kill $get 2> /dev/null; exit 130" INT TERM HUP
	progress $get "$size"
	wait $get || return
	trap - INT TERM HUP
	for deb in *.deb; do
		dpkg-deb -x "$deb" "$to" || return
	done >> "$log" 2>&1
	cd / && rm -rf "$debs"
}

has() { apt-cache "${apt[@]}" pkgnames "$1" | grep -xF -- "$1" > /dev/null; }

# field NAME PACKAGE: what the index says of it
field() { apt-cache "${apt[@]}" show --no-all-versions "$2" | sed -n "s/^$1: //p"; }

# newest NAME FLAVOUR: prints the release of the newest kernel of that name
newest() {
	apt-cache "${apt[@]}" pkgnames "linux-headers-$1." | sort -V |
		sed -n "s/^linux-headers-\([0-9.]*[-+][a-z0-9]*-$2\)$/\1/p" | tail -1
}

# What it takes to build modules for $release: its headers, those that it has in common with other
# flavours, and tools, which are those for this machine.
header_packages() {
	local package
	echo "linux-headers-$release:$cpu"
	field Depends "linux-headers-$release:$cpu" | tr ',' '\n' | sed 's/(.*//; s/ //g' |
		grep -E '^linux-(headers|kbuild)-' | while read -r package; do
		case $package in
		linux-kbuild-*) echo "${package%:*}:amd64";;
		*) echo "$package";;
		esac
	done
}

# The packages of headers refer to each other in /usr/src, and to the tools of their suite:
# a compiler, and pahole, which describes a module's types by the kernel's (vmlinux).
# Modules do without the latter.
mend_headers() {
	local build=$root/usr/src/linux-headers-$release theirs
	sed -i "s,/usr/src/,$root/usr/src/,g" "$build/Makefile" &&
		rm -f "$build/vmlinux" &&
		sed -i "s/^\(PAHOLE_VERSION *=\).*/\1 \$(CONFIG_PAHOLE_VERSION)/" \
			"$root"/usr/src/linux-headers-*-common*/Makefile || return
	theirs=$(grep -oE 'gcc-[0-9]+$' "$build/.kernelvariables") || return
	[ -z "$(type -P "${cc%gcc}$theirs")" ] || return 0
	sed -i 's/gcc-[0-9]*$/gcc/' "$build/.kernelvariables" || return
	echo 'int x;' | "$cc" -fmin-function-alignment=16 -x c -c -o /dev/null - 2> /dev/null ||
		sed -i '/CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT/d' \
			"$build"/include/{config/auto.conf,generated/autoconf.h}
}

# Tools of a newer Debian need its C library: it is fetched, and they are started by its
# loader.
mend_tools() {
	local tool tools lib=$folder/libc/usr/lib/x86_64-linux-gnu
	mapfile -t tools < <(find "$root"/usr/lib/linux-kbuild-* -type f -perm /111)
	for tool in "${tools[@]}"; do
		ldd "$tool" 2>&1 | grep 'version .GLIBC_.* not found' > /dev/null || continue
		[ -e "$lib" ] || { index "${suite%-backports}" && fetch "$folder/libc" libc6:amd64 &&
			index "$suite"; } || return
		mv "$tool" "$tool.bin" &&
			printf '#!/bin/sh\nexec %q --library-path %q %q "$@"\n' \
				"$lib/ld-linux-x86-64.so.2" "$lib" "$tool.bin" > "$tool" &&
			chmod +x "$tool" || return
	done
}
