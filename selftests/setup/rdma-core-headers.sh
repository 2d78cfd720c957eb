#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma-core-headers.sh [ROOT]: stage rdma-core's private headers, which no -dev
# package ships, and print the directory: .../include for the compiler,
# .../make_abi_structs.py beside it.
#
# They come from Debian's source package of the version that is installed, on
# the machine or below ROOT. Where the archive lacks its original tarball,
# another version with the same private ABI serves, and the output says so.

set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/lib.sh"

installed_version()
{
	# shellcheck disable=SC2016 # dpkg-query expands it
	dpkg-query --root="$root/" -W -f '${source:Version}\n' libibverbs1
}

# The private ABI is in the names of the library's symbol versions, for example
# IBVERBS_PRIVATE_34.
installed_pabi()
{
	local lib

	lib=$(dpkg-query --root="$root/" -L libibverbs1 |
		grep '/libibverbs\.so\.1$')
	grep -ao 'IBVERBS_PRIVATE_[0-9]*' "$root$lib" | head -n 1 |
		sed 's/.*_//'
}

# cmake_value NAME TREE: what set(NAME "value") says in a source tree.
cmake_value()
{
	sed -n "s/^set($1 \"\(.*\)\")\$/\1/p" "$2/CMakeLists.txt"
}

# unpack_orig DOWNLOADS TREE: false when the original tarball did not come.
unpack_orig()
{
	local tar

	tar=$(find "$1" -name 'rdma-core_*.orig.tar.*' ! -name '*.asc' \
		-print -quit 2>/dev/null)
	[ -n "$tar" ] || return 1
	mkdir -p "$2"
	tar -xf "$tar" -C "$2" --strip-components=1
}

# fetch_tree SUITE TREE SPEC: one source package, if it has the right ABI.
fetch_tree()
{
	local suite=$1 tree=$2 spec=$3 down=$2.download

	rm -rf "$tree" "$down"
	"$here/suite-apt.sh" source "$suite" "$down" "$spec"
	unpack_orig "$down" "$tree" || return 1
	rm -rf "$down"
	[ "$(cmake_value IBVERBS_PABI_VERSION "$tree")" = "$pabi" ]
}

find_tree()
{
	local tree=$1 suite spec

	for spec in "rdma-core=$version" rdma-core; do
		for suite in $("$here/suite-apt.sh" suites); do
			fetch_tree "$suite" "$tree" "$spec" && return
		done
	done
	die "no source of rdma-core with private ABI $pabi in the archive"
}

# Only what libibverbs-dev does not ship. Its own headers must be used where it
# has them: structures that the application and the library share, such as
# ibv_qp_ex, differ between versions of the same private ABI.
stage_headers()
{
	local src=$1 out=$2/include name

	mkdir -p "$out"/{infiniband,kernel-abi}
	for name in driver kern-abi cmd_ioctl cmd_write; do
		cp "$src/libibverbs/$name.h" "$out/infiniband/"
	done
	cp -r "$src/kernel-headers/rdma" "$out/rdma"
	mkdir -p "$out"/{ccan,util}
	cp "$src"/ccan/*.h "$out/ccan/"
	cp "$src"/util/*.h "$out/util/"
	cp "$src/buildlib/make_abi_structs.py" "$2/"
	python3 "$2/make_abi_structs.py" \
		"$src/kernel-headers/rdma/ib_user_verbs.h" \
		"$out/kernel-abi/ib_user_verbs.h"
}

# What cmake would find out about this machine's compiler.
write_config_h()
{
	local headers=$1

	cat <<-CONFIG
		#ifndef CONFIG_H_IN
		#define CONFIG_H_IN

		#define HAVE_STATEMENT_EXPR 1
		#define HAVE_BUILTIN_TYPES_COMPATIBLE_P 1
		#define HAVE_TYPEOF 1
		#define HAVE_ISBLANK 1
		#define HAVE_BUILTIN_CLZ 1
		#define HAVE_BUILTIN_CLZL 1
		#define HAVE_FUNC_ATTRIBUTE_ALWAYS_INLINE 1
		#define HAVE_FUNC_ATTRIBUTE_IFUNC 1
		#define HAVE_FUNC_ATTRIBUTE_SYMVER 1
		#define HAVE_WORKING_IF_H 1
		#define HAVE_FULL_SYMBOL_VERSIONS 1

		#define PACKAGE_VERSION "$headers"
		#define IBVERBS_PABI_VERSION $pabi
		#define VERBS_PROVIDER_SUFFIX "-rdmav$pabi.so"
		#define VERBS_IOCTL_ONLY 0
		#define VERBS_WRITE_ONLY 0
		#define SIZEOF_LONG $(($(getconf LONG_BIT) / 8))

		/* the version that these headers are from */
		#define RDMA_CORE_MAJOR ${headers%%.*}
		/* the version of the library that is installed */
		#define RDMA_CORE_LIB_MAJOR ${version%%.*}

		#endif
	CONFIG
}

make_entry()
{
	local entry=$1 tree=$1.src headers

	[ -e "$entry/complete" ] && return
	say "provider: fetching the headers of rdma-core $version"
	mkdir -p "$(dirname "$entry")"
	rm -rf "$entry"
	find_tree "$tree"
	headers=$(cmake_value PACKAGE_VERSION "$tree")
	stage_headers "$tree" "$entry"
	write_config_h "$headers" >"$entry/include/config.h"
	printf '%s\n' "$headers" >"$entry/headers-version"
	rm -rf "$tree" "$tree.download"
	touch "$entry/complete"
}

report()
{
	local headers

	headers=$(cat "$1/headers-version")
	if [ "$headers" = "${version%-*}" ]; then
		say "provider: headers of rdma-core $headers"
		return
	fi
	say "provider: rdma-core $version is installed, but the archive lacks" \
	    "its original tarball; using the headers of $headers, which has" \
	    "the same private ABI ($pabi)"
}

root=${1:-}
version=$(installed_version)
pabi=$(installed_pabi)
[ -n "$pabi" ] || die "cannot read the private ABI of libibverbs"
entry=$PANE_CACHE/rdma-core/$version-$(hash_of "${BASH_SOURCE[0]}")

with_lock rdma-core make_entry "$entry"
report "$entry"
printf '%s\n' "$entry"
