#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# linux-source.sh SERIES: print a directory with the sources of one of Debian's
# kernels, for example 7.2, unpacked in the cache from whichever suite has it.
# Nothing is installed.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

[ $# -eq 1 ] || die "usage: linux-source.sh SERIES"
series=$1
entry=$PANE_CACHE/linux-source/$series

# The newest suite first: it has the newest release of a series.
suite_with_source()
{
	local suite

	for suite in $("$here/suite-apt.sh" suites | tac); do
		if "$here/suite-apt.sh" candidates "$suite" \
				"^linux-source-${series/./\\.}\$" >/dev/null; then
			printf '%s\n' "$suite"
			return
		fi
	done
	return 1
}

unpack()
{
	local deb=$1 tree=$2 work=$2.work

	rm -rf "$work" "$tree"
	mkdir -p "$work" "$tree"
	dpkg -x "$deb" "$work"
	tar -xf "$work/usr/src/linux-source-$series.tar.xz" -C "$tree" \
		--strip-components=1
	rm -rf "$work"
}

fetch()
{
	local suite

	[ ! -e "$entry/complete" ] || return 0
	suite=$(suite_with_source) || die "no suite has linux-source-$series"
	say "kernel: fetching and unpacking linux-source-$series from $suite"
	rm -rf "$entry"
	mkdir -p "$entry"
	"$here/suite-apt.sh" binary "$suite" "$entry" "linux-source-$series"
	unpack "$entry"/*.deb "$entry/tree"
	rm -f "$entry"/*.deb
	touch "$entry/complete"
}

with_lock "linux-source-$series" fetch
printf '%s\n' "$entry/tree"
