# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the set-up and build scripts share. Source it; it defines functions and
# two variables and does nothing else.

# shellcheck disable=SC2034 # read by the scripts that source this file
PANE_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Things that are expensive to make and valid for every clone live outside the
# tree: unpacked kernels, header sets, package lists.
PANE_CACHE=${PANE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/pane}

say()
{
	printf '%s\n' "$*" >&2
}

die()
{
	say "${0##*/}: $*"
	exit 1
}

# log_run NAME COMMAND...: run a long command quietly, and show the end of what
# it printed only when it fails.
log_run()
{
	local name=$1 log rc=0

	shift
	log=$(mktemp)
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	if [ "$rc" -ne 0 ]; then
		say "$name failed with status $rc:"
		tail -n 40 "$log" >&2
	fi
	rm -f "$log"
	return "$rc"
}

# hash_of FILE...: one short name for the contents of some files.
hash_of()
{
	cat -- "$@" | sha256sum | cut -c1-12
}

# with_lock NAME COMMAND...: two makes at once must not fill the same cache
# entry; the second waits and then finds it there. The command is not part of a
# list, where `set -e` would be off for all that it does.
with_lock()
{
	local name=$1 fd

	shift
	mkdir -p "$PANE_CACHE/locks"
	exec {fd}>"$PANE_CACHE/locks/$name"
	flock "$fd"
	"$@"
	exec {fd}>&-
}

# has_build_dir KVER: can modules for this kernel be compiled here?
has_build_dir()
{
	[ -e "/lib/modules/$1/build/Makefile" ]
}

# default_kver: the running kernel when its headers are here, else the newest
# kernel whose headers are.
default_kver()
{
	local dir

	if has_build_dir "$(uname -r)"; then
		uname -r
		return
	fi
	for dir in /lib/modules/*; do
		if has_build_dir "${dir##*/}"; then
			printf '%s\n' "${dir##*/}"
		fi
	done | sort -V | tail -n 1
}

# sources_in PATH...: the project's files there, without what a build in the tree
# has made for its own kernel. git knows best; a source archive has no repository.
sources_in()
{
	if [ -e "$PANE_TOP/.git" ]; then
		git -C "$PANE_TOP" ls-files -co --exclude-standard -- "$@" &&
			return
	fi
	(cd "$PANE_TOP" && find "$@" -type f \
		! -name '*.o' ! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' \
		! -name '.*' ! -name features.h)
}

# copy_sources DIR PATH...: bring a copy of them up to date. What is unchanged
# keeps its time, so that make has little to do; what has gone is removed; what
# is replaced may be a link to a file of others.
copy_sources()
{
	local dir=$1 file

	shift
	mkdir -p "$dir"
	sources_in "$@" | sort >"$dir/.sources.new"
	while read -r file; do
		[ -e "$PANE_TOP/$file" ] || continue
		cmp -s "$PANE_TOP/$file" "$dir/$file" && continue
		mkdir -p "$(dirname "$dir/$file")"
		cp --remove-destination --preserve=mode "$PANE_TOP/$file" \
			"$dir/$file"
	done <"$dir/.sources.new"
	if [ -e "$dir/.sources" ]; then
		comm -23 "$dir/.sources" "$dir/.sources.new" |
			(cd "$dir" && xargs -r rm -f)
	fi
	mv "$dir/.sources.new" "$dir/.sources"
}
