#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# debian-kernel.sh KVER: print a directory that holds boot/vmlinuz-KVER and
# lib/modules/KVER of one of Debian's kernels. That is / when the kernel is
# installed; else its package is fetched from whichever suite has it, and
# unpacked in the cache. Nothing is installed.
#
# debian-kernel.sh --latest SUITE: print the version of a suite's newest kernel.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

is_complete()
{
	[ -r "$1/boot/vmlinuz-$kver" ] &&
		[ -d "$1/lib/modules/$kver/kernel" ]
}

# Newer kernels are split: the image's package holds nothing itself.
packages_of()
{
	"$here/suite-apt.sh" candidates "$1" \
		"^linux-(image|binary|modules|base)-$(regex_quote "$kver")\$" || true
}

regex_quote()
{
	local text=${1//./\\.}

	printf '%s\n' "${text//+/\\+}"
}

# unpack ROOT: all that has been downloaded to ROOT.deb
unpack()
{
	local root=$1 deb

	rm -rf "$root"
	mkdir -p "$root"
	for deb in "$root.deb"/*.deb; do
		dpkg -x "$deb" "$root" || die "cannot unpack $deb"
	done
	rm -rf "$root.deb"
	normalise "$root"
}

# try_suite SUITE ROOT: false when this suite does not have the kernel.
try_suite()
{
	local suite=$1 root=$2
	local -a packages

	mapfile -t packages < <(packages_of "$suite")
	[ "${#packages[@]}" -gt 0 ] || return 1
	say "kernel: fetching ${packages[*]} from $suite"
	"$here/suite-apt.sh" binary "$suite" "$root.deb" "${packages[@]}" ||
		return
	unpack "$root"
}

# Whatever the layout of the packages, boot/vmlinuz-KVER and lib/modules/KVER.
normalise()
{
	local root=$1

	if [ ! -e "$root/lib" ] && [ -e "$root/usr/lib/modules" ]; then
		ln -s usr/lib "$root/lib"
	fi
	if [ ! -e "$root/boot/vmlinuz-$kver" ]; then
		mkdir -p "$root/boot"
		ln -s "../lib/modules/$kver/vmlinuz" "$root/boot/vmlinuz-$kver"
	fi
	rm -rf "${root:?}/usr/share" "${root:?}/usr/lib/debug"
	depmod -b "$root" "$kver"
}

own_packages()
{
	local root=$1

	(mkdir -p "$root.deb" && cd "$root.deb" &&
		apt-get download "linux-image-$kver" >/dev/null 2>&1)
}

# The machine's own sources first: they alone have its security updates.
from_own_sources()
{
	local root=$1

	rm -rf "$root.deb"
	own_packages "$root" || { rm -rf "$root.deb"; return 1; }
	say "kernel: unpacking linux-image-$kver"
	unpack "$root"
}

fetch()
{
	local root=$1 suite

	if is_complete "$root"; then
		return
	fi
	mkdir -p "$(dirname "$root")"
	from_own_sources "$root" && return
	for suite in $("$here/suite-apt.sh" suites); do
		try_suite "$suite" "$root" && return
	done
	die "no Debian suite has the kernel $kver"
}

latest()
{
	"$here/suite-apt.sh" candidates "$1" \
		'^linux-image-[0-9][0-9.]*[-+][-+a-z0-9.~]*amd64$' |
		grep -vE 'cloud|rt-|dbg|unsigned' |
		sed 's/^linux-image-//' | tail -n 1
}

case ${1:-} in
"" | -h) die "usage: debian-kernel.sh KVER | --latest SUITE" ;;
--latest) latest "$2"; exit ;;
esac

kver=$1
if is_complete ""; then
	printf '/\n'
	exit
fi
with_lock "kernel-$kver" fetch "$PANE_CACHE/kernel/$kver"
is_complete "$PANE_CACHE/kernel/$kver" || die "the package of $kver is incomplete"
printf '%s\n' "$PANE_CACHE/kernel/$kver"
