#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# debian-headers.sh KVER: print a directory to compile modules in (KDIR) for one
# of Debian's kernels. That is its headers package when installed. For a kernel
# of a newer suite, whose packaged tools do not run here, it is made from that
# kernel's source, configuration and symbol versions in the cache, with this
# machine's compiler.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

[ $# -eq 1 ] || die "usage: debian-headers.sh KVER"
kver=$1
series=$(sed -n 's/^\([0-9]*\.[0-9]*\).*/\1/p' <<<"$kver")
entry=$PANE_CACHE/headers/$kver

suite_with_headers()
{
	local suite pattern

	pattern=${kver//./\\.}
	pattern=^linux-headers-${pattern//+/\\+}\$
	for suite in $("$here/suite-apt.sh" suites); do
		if "$here/suite-apt.sh" candidates "$suite" "$pattern" \
				>/dev/null; then
			printf '%s\n' "$suite"
			return
		fi
	done
	return 1
}

unpack_headers()
{
	local suite

	suite=$(suite_with_headers) || die "no suite has the headers of $kver"
	"$here/suite-apt.sh" binary "$suite" "$entry" "linux-headers-$kver"
	dpkg -x "$entry"/*.deb "$entry/package"
	rm -f "$entry"/*.deb
}

# find_in_package NAME: one of the files that the package has brought
find_in_package()
{
	find "$entry/package" -name "$1" -type f -print -quit
}

kernel_make()
{
	make -C "$tree" O="$entry/build" KERNELRELEASE="$kver" \
		-j"$(nproc)" "$@"
}

# An option that is lost can change the layout of a structure, so all but those
# that only describe the tools are worth a line.
report_lost_options()
{
	local lost

	lost=$(grep '^CONFIG_' "$(find_in_package .config)" |
		grep -vE '^CONFIG_(AS|CC|GCC|LD|CLANG|LLD|PAHOLE|RUSTC?|TOOLS)_' |
		grep -vE '^CONFIG_(SYSTEM_TRUSTED_KEYS|BUILD_SALT)=' |
		grep -vxF -f "$entry/build/.config") || return 0
	say "kernel: this machine's tools lose: ${lost//$'\n'/ }"
}

prepare_build()
{
	local tree

	tree=$("$here/linux-source.sh" "$series")
	mkdir -p "$entry/build"
	cp "$(find_in_package .config)" "$entry/build/.config"
	# the distribution's certificates are not in its source
	"$tree/scripts/config" --file "$entry/build/.config" \
		--set-str SYSTEM_TRUSTED_KEYS ""
	log_run "configuration for $kver" kernel_make olddefconfig
	report_lost_options
	log_run "preparation for $kver" kernel_make modules_prepare
	cp "$(find_in_package Module.symvers)" "$entry/build/"
	printf '%s\n' "$kver" >"$entry/build/include/config/kernel.release"
}

make_entry()
{
	[ ! -e "$entry/complete" ] || return 0
	"$here/setup.sh" kernel
	say "kernel: preparing to compile modules for $kver"
	rm -rf "$entry"
	mkdir -p "$entry"
	unpack_headers
	prepare_build
	touch "$entry/complete"
}

if has_build_dir "$kver"; then
	printf '/lib/modules/%s/build\n' "$kver"
	exit
fi
with_lock "headers-$kver" make_entry
printf '%s\n' "$entry/build"
